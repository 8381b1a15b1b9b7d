/* Graphs with an imaginary part, for derivatives by the complex step. */
#pragma once

#include "core/exec/run/run.h"

const char *ir_complex_why_not (const IrNode *node);
gboolean ir_complex_step (IrModel *model,
                          const IrRun *real,
                          GHashTable *inputs,
                          const IrValue *of,
                          const IrValue *value,
                          const double *direction,
                          double h,
                          double *slope,
                          const IrNode **stop,
                          GError **error);
