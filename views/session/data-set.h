/* Inputs with the outputs that belong to them, in folders beside the model. */
#pragma once

#include "views/session/session.h"

/* The inputs of @dir for the next run, whose outputs are compared; (nullable) NULL: no longer. */
gboolean ir_session_set_data_set (IrSession *self, const char *dir, GError **error);
const char *ir_session_get_data_set (IrSession *self); /* (nullable) */
/* What came of it in the last run; (transfer full) (nullable): it has not been run. */
char *ir_session_data_set_text (IrSession *self, gboolean *differs);
