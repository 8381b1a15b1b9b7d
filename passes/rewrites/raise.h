/* Tokens and closures become control flow where that alone will do. */
#pragma once

#include "passes/pass.h"

gboolean ir_raise_control_flow (IrPassContext *context, const char *who, GError **error);
gboolean ir_raise_closures (IrPassContext *context, const char *who, GError **error);
const IrNode *ir_pass_find_closure (const IrModel *model);
