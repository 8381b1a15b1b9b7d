/* The values of both sides on screen, compared. */
#pragma once

#include "passes/proof/value-table.h"
#include "views/session/session.h"

gboolean ir_session_can_compare_values (IrSession *self);
/* Runs both sides on the same inputs; %IR_CHANGED_VALUES says when. */
void ir_session_compare_values (IrSession *self);
const IrComparedValues *ir_session_get_values (IrSession *self); /* (nullable) */
/* Writes all of them as CSV, in that order, and says so, or why not. */
void ir_session_save_values (IrSession *self, const char *path, IrValueOrder order);
