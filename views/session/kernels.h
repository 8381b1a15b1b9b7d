/* Which kernel runs a node, asking for another, and what each takes. */
#pragma once

#include "core/exec/measure/times.h"
#include "passes/debug/bisect.h"
#include "views/session/session.h"

typedef struct
{
  char *name;     /* (nullable) as IR_META_KERNEL asks for it */
  char *kernel;   /* as the schedule calls it */
  char *why;      /* (nullable) why it is not the back end's own */
  gboolean taken; /* the graph at that step runs it */
  IrTimes ms;     /* n 0: the run did not come that far */
  gboolean compared;
  IrDifference difference; /* of the node's outputs, from those of the kernel that is taken */
} IrKernelTime;

/* A step in which @node asks for a kernel; @kernel: (nullable): the back end chooses. */
void ir_session_ask_for_kernel (IrSession *self, IrNodeId node, const char *kernel);
/* Runs the graph with each kernel that @node could have, in turn; %IR_CHANGED_KERNELS says when. */
void ir_session_measure_kernels (IrSession *self, IrNodeId node);
/* (transfer none) (nullable): of IrKernelTime, those of @node that were measured last, at @step */
GPtrArray *ir_session_get_kernel_times (IrSession *self, IrNodeId node, guint *step);
/* What runs @node at the cursor, by the last run or by what the back end says: the kernel, (out)
 * (nullable) why, and in words what it does about the layout of values. (nullable) */
GPtrArray *ir_session_get_kernel_facts (IrSession *self, const IrNode *node);
const char *ir_session_get_kernel (IrSession *self,
                                   const IrNode *node,
                                   const char **why,
                                   const char **layout);
