/* What is noted of a step: by the plan, what is known before; by a run, its times. */
#pragma once

#include "core/ir/model.h"

/* A copy of a value between two memories. */
typedef struct
{
  IrValueId value;
  gboolean to_host;
  guint64 bytes;
  gint64 start_ns, end_ns; /* from the start of the run */
} IrTraceCopy;

/* The kernel of a node that did not run. */
#define IR_TRACE_REUSED "kept from the run before, as nothing that leads to it has changed"

typedef struct
{
  IrNodeId node;
  const char *device, *kernel;
  gboolean by_ref; /* the kernel has left the node to the reference kernel */
  guint worker;
  guint stream;            /* of its device, from 1 on; 0: it ran on the host */
  gint64 start_ns, end_ns; /* from the start of the run */
  guint64 bytes, flops;
} IrTraceItem;

/* Whether its times are of no kernel. */
static inline gboolean
ir_trace_item_is_reused (const IrTraceItem *item)
{
  return g_strcmp0 (item->kernel, IR_TRACE_REUSED) == 0;
}
