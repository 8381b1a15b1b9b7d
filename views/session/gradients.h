/* Derivatives of the graph on screen, as the session keeps them. */
#pragma once

#include "passes/debug/gradients.h"
#include "views/session/session.h"

/* Derives @of, an output, by @wrt ("params", "inputs", "all") in a run with all values. */
void ir_session_derive (IrSession *self, const char *of, const char *wrt);
IrGradients *ir_session_get_gradients (IrSession *self); /* (transfer none) (nullable) */
void ir_session_forget_gradients (IrSession *self);
/* (nullable): why it could not be derived when that was asked for last */
const char *ir_session_get_gradients_error (IrSession *self);
/* (transfer full) (nullable): why they are not those of what is on screen */
char *ir_session_gradients_stale_text (IrSession *self);
