/* What the machine can do at most, measured, and what the nodes of a run got of it; traces with
 * more than one run in them. */
#pragma once

#include "core/exec/run/run.h"
#include "core/exec/schedule/tasks.h"

/* A product of matrices and an elementwise operator, a few times each: a quarter of a second. */
gboolean ir_roofline_measure (const IrBackend *backend,
                              guint n_threads,
                              IrRoofline *roofline,
                              GError **error);
/* How much of what is attainable @item got: the least time that its operations and its bytes need,
 * over the time it took; above 1 where values came from caches. 0: nothing is known. */
double ir_roofline_share (const IrRoofline *roofline, const IrTraceItem *item);
/* Which of the two takes longer at best. */
gboolean ir_roofline_bound_by_compute (const IrRoofline *roofline, const IrTraceItem *item);

/* How long one step took in all runs. */
typedef struct
{
  guint n; /* runs that had it; 0: all else is 0 */
  double median_ns, min_ns, max_ns, q1_ns, q3_ns;
} IrTraceSpread;

/* One for each item of @trace, which is one of @runs: those of the same node, in their order,
 * though the schedule may have changed from run to run. (transfer full) */
GArray *ir_trace_spreads (const IrTrace *trace, const GPtrArray *runs);

/* What may stand in a trace beside the last run. */
typedef struct
{
  const IrRoofline *roofline; /* (nullable) */
  const IrTrace *warmup;      /* (nullable) a run before those that count: a process of its own */
  GPtrArray
      *runs; /* (nullable) of IrTrace: all that count, of which nodes get median and quartiles */
} IrTraceExtras;


char *ir_trace_to_chrome_json_with (const IrTrace *trace,
                                    const IrModel *model,
                                    const IrTraceExtras *extras);
