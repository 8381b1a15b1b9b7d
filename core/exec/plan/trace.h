/* What is noted of a step: by the plan, what is known before; by a run, its times. */
#pragma once

#include "core/ir/model.h"

typedef struct
{
  IrNodeId node;
  const char *device, *kernel;
  gboolean by_ref; /* the kernel has left the node to the reference kernel */
  guint worker;
  gint64 start_ns, end_ns; /* from the start of the run */
  guint64 bytes, flops;
} IrTraceItem;
