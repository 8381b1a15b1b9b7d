/* Where two runs of loops part: the first value of an iteration that is not the same in both. */
#pragma once

#include "core/exec/check/difference.h"
#include "core/exec/run/iterations.h"
#include "core/ir/history.h"

/* Cleared with ir_first_iteration_clear(). */
typedef struct
{
  IrValueId a, b;
  char *frame; /* (nullable) of b: "outer@3/inner"; NULL: they agree as far as they were kept */
  gint64 iteration;
  gboolean comparable; /* FALSE: other shapes or types */
  IrComparison result; /* where comparable */
} IrFirstIteration;
void ir_first_iteration_clear (IrFirstIteration *first);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrFirstIteration, ir_first_iteration_clear)
/* What runs that are compared keep: contents of all iterations, as far as the budget goes. */
#define IR_ITERATIONS_ALL ((IrIterations){ .kind = IR_ITERATIONS_RANGE, .last = G_MAXINT64 })
/* @pairs: of IrIdPair: values of @a (before) and @b (after) that are the same value */
void ir_first_iteration_find (const IrRun *a,
                              const IrRun *b,
                              const GArray *pairs,
                              IrFirstIteration *first);
