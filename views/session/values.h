/* The values of both sides on screen, compared. */
#pragma once

#include "passes/proof/compare-values.h"
#include "views/session/session.h"

gboolean ir_session_can_compare_values (IrSession *self);
/* Runs both sides on the same inputs; %IR_CHANGED_VALUES says when. */
void ir_session_compare_values (IrSession *self);
const IrComparedValues *ir_session_get_values (IrSession *self); /* (nullable) */
