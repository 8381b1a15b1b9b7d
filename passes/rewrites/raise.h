/* Tokens become control flow where that alone will do. */
#pragma once

#include "passes/pass.h"

/* Raises all that tokens move through, by steps of the pass that runs. FALSE: some has no such form; @error, as
 * of @who, names it and says why. */
gboolean ir_raise_tokens (IrPassContext *context, const char *who, GError **error);
/* The same of closures. */
gboolean ir_raise_closures (IrPassContext *context, const char *who, GError **error);
