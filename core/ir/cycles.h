/* Cycles: nodes that wait for each other, so that their graph has no order. */
#pragma once

#include "core/ir/model.h"
#include "core/ir/problem.h"

/* What a cycle is left out of: cut, or brought into a form that has an order. */
#define IR_CYCLE_HINT                                                                              \
  "cut one of these edges, write what is meant as a Loop, or unrolled, or let it go through "      \
  "NextIteration to a Merge; “irscope render FILE --cycle” draws these nodes alone"

/* One node of a cycle, and what the next one waits for. */
typedef struct
{
  IrNodeId node;
  IrValueId value; /* 0: a control dependency */
} IrCycleStep;

gboolean ir_model_is_cyclic (const IrModel *model);
GPtrArray *ir_model_cycles (const IrModel *model);
void ir_model_report_cycles (const IrModel *model, GPtrArray *problems);
char *ir_cycle_text (const IrModel *model, const GArray *cycle);
char *ir_model_cycle_message (const IrModel *model);
