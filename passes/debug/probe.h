/* A trial: the steps of a history, one set of inputs, one back end. Bisection and its predicates
 * ask it for runs, sizes and differences; the original graph is run once and captured. */
#pragma once

#include "core/exec/exec.h"
#include "core/ir/history.h"

typedef struct _IrTrial IrTrial;

/* Measured runs of one graph, behind a first one that packs weights and is not counted. */
typedef struct
{
  guint n;
  double median_ms, min_ms, max_ms;
} IrRunTime;

/* What whole runs decide, where plans are tried and not steps. */
typedef struct
{
  IrDecisions without;
  const IrPlanExceptions *except; /* (nullable) */
  IrParallelMode parallel;
} IrTrialPlan;

typedef struct
{
  double max_abs;  /* infinite where only one side is NaN, or shapes or types differ */
  double max_rel;  /* |new - old| / |old|, over elements whose old side is not 0 */
  double of_scale; /* max_abs over the largest finite magnitude of the old side */
} IrDifference;

IrTrial *ir_trial_new (IrModel *model,
                       GHashTable *inputs,
                       const IrBackend *backend,
                       guint n_threads,
                       GCancellable *cancellable);
void ir_trial_limit (IrTrial *trial, const IrRunLimits *limits);
void ir_trial_tell (IrTrial *trial,
                    void (*progress) (guint done, guint total, const IrNode *node, gpointer data),
                    gpointer data);
void ir_trial_follow (IrTrial *trial, const IrTrialPlan *plan);
gboolean ir_trial_follows_plans (const IrTrial *trial);
void ir_trial_free (IrTrial *trial);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTrial, ir_trial_free)

IrModel *ir_trial_history (const IrTrial *trial); /* (transfer none): the model with its steps */
GCancellable *ir_trial_cancellable (const IrTrial *trial); /* (transfer none) (nullable) */
IrRun *ir_trial_original (IrTrial *trial, GError **error); /* (transfer none): made once */
IrRun *ir_trial_run (IrTrial *trial, guint step, GArray *chosen, GError **error);
/* Likewise, with all iterations of @chosen, as far as the budget for captured values goes. */
IrRun *ir_trial_run_iterations (IrTrial *trial, guint step, GArray *chosen, GError **error);
IrRun *ir_trial_run_picked (IrTrial *trial, guint step, GArray *picks, GError **error);
/* Contents of @chosen after @step, computing only what no earlier run or probe has: value id ->
 * IrTensor. (transfer full) */
GHashTable *ir_trial_probe (IrTrial *trial, guint step, GArray *chosen, GError **error);
guint ir_trial_n_nodes_run (const IrTrial *trial); /* by probes */
gboolean ir_trial_time (IrTrial *trial, guint step, guint n_runs, IrRunTime *time, GError **error);
IrModel *ir_trial_sized (IrTrial *trial, guint step);
IrMemPlan *ir_trial_plan (IrTrial *trial, guint step, GError **error);
const IrTensor *ir_trial_contents (const IrTrial *trial, const IrRun *run, IrValueId value);
void ir_trial_difference (const IrTensor *before, const IrTensor *after, IrDifference *difference);
void ir_difference_take_larger (IrDifference *largest, const IrDifference *difference);
