/* The file, for the folder alone. */
#pragma once

#include "views/session/file.h"

/* There are edits that are in no file; tells nobody. */
void ir_session_set_modified (IrSession *self);
