/* What the machine can do at most, measured, and what the nodes of a run got of it; traces with
 * more than one run in them. */
#pragma once

#include "core/exec/exec.h"

typedef struct
{
  double gflops, gbps; /* billions of operations, and of bytes moved, per second */
  guint n_threads;
} IrRoofline;

/* A product of matrices and an elementwise operator, a few times each: a quarter of a second. */
gboolean ir_roofline_measure (const IrBackend *backend,
                              guint n_threads,
                              IrRoofline *roofline,
                              GError **error);
/* How much of what is attainable @item got: the least time that its operations and its bytes need,
 * over the time it took; above 1 where values came from caches. 0: nothing is known. */
double ir_roofline_share (const IrRoofline *roofline, const IrTraceItem *item);

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
