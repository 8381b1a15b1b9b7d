/* Running the spans of a schedule: concurrent nodes. */
#pragma once

#include "core/exec/run/state.h"

void ir_parallel_free (IrParallel *parallel);
const IrScheduleSpan *ir_parallel_span (IrRunState *state, guint step);
gboolean ir_parallel_run (IrRunState *state,
                          const IrScheduleSpan *span,
                          IrTraceItem *trace,
                          guint *done,
                          const IrNode **failed,
                          GError **error);
