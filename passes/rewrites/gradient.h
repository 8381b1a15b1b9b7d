/* What the pass gradient derives, by what, and why nothing comes to a value. */
#pragma once

#include "core/ir/model.h"

GPtrArray *ir_gradient_wrt (const IrModel *model, const char *wrt, GError **error);
IrValue *ir_gradient_of (const IrModel *model, const char *of, GError **error);
char *ir_gradient_end (const IrValue *value, const IrValue *of, const IrNode **node);
