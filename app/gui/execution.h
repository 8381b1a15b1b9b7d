/* The list of what a check of the execution found. */
#pragma once

#include "views/session/execution.h"

void ir_execution_dialog_present (GtkWindow *parent, IrSession *session);
