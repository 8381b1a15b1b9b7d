/* What a run has in the memory of a back end beside the values of its plan, all the time. */
#pragma once

#include "core/exec/memory/memory.h"

typedef struct
{
  guint64 constant_bytes; /* which stay for all runs */
  guint64 late_bytes;     /* of values that are kept until they are copied to the host */
  guint64 stats_bytes;    /* of what is counted of one value after the other */
} IrMemBeside;

const IrMemBeside *ir_mem_plan_beside (const IrMemPlan *plan);
void ir_mem_plan_set_beside (IrMemPlan *plan, const IrMemBeside *beside);
