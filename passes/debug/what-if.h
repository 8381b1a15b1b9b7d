/* What if: two results of a pipeline on one graph, one of them without some rewrites, beside each
 * other. */
#pragma once

#include "passes/pass.h"
#include "passes/debug/scoreboard.h"

typedef enum
{
  IR_WITH,    /* the original result */
  IR_WITHOUT, /* something was skipped */
  IR_N_RESULTS
} IrResult;

typedef struct
{
  guint n_steps[IR_N_RESULTS];
  double scores[IR_N_RESULTS][IR_N_SCORES]; /* NaN: not known */
  gboolean ran;                             /* the numbers below are there */
  IrDifference from_start[IR_N_RESULTS];    /* largest, of outputs to the graph before all steps */
  IrDifference between;                     /* largest, of outputs of both results */
  IrRunTime run[IR_N_RESULTS];
  char *worst;                              /* (nullable) output with the largest @between */
  char *problem;                            /* (nullable) why there are no numbers */
} IrWhatIf;

IrWhatIf *ir_what_if_new (IrModel *with,
                          IrModel *without,
                          GHashTable *inputs,
                          const IrBackend *backend,
                          const IrRunLimits *limits,
                          gboolean run,
                          GCancellable *cancellable);
void ir_what_if_free (IrWhatIf *what_if);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrWhatIf, ir_what_if_free)
