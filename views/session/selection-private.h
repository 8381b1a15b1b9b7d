/* The selection, for the folder alone. None of these tells. */
#pragma once

#include "views/session/hub.h"
#include "views/session/selection.h"

void ir_session_forget_selection (IrSession *self);
void ir_session_forget_hover (IrSession *self);
void ir_session_keep_live_selection (IrSession *self); /* what is there no more is forgotten */
