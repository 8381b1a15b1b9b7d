/* Values of two runs on the same inputs that hold the same, and that no other value holds. */
#pragma once

#include "core/exec/exec.h"

typedef struct _IrAlike IrAlike;

IrAlike *ir_alike_new (const IrModel *a, IrRun *run_a, const IrModel *b, IrRun *run_b);
void ir_alike_free (IrAlike *self);
/* The one value of a that holds what @b holds, up to rounding, where no other one of b holds that. (nullable) */
const IrValue *ir_alike_find (IrAlike *self, const IrValue *b);
gboolean ir_alike_agree (IrAlike *self, const IrValue *a, const IrValue *b);
