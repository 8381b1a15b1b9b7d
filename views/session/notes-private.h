/* Notes, for the folder alone. */
#pragma once

#include "views/session/saved.h"

void ir_session_forget_notes (IrSession *self); /* of another model; tells nobody */
