#include "config.h"

#include "passes/debug/what-if.h"

#include <math.h>
#include <string.h>

#define N_RUNS 9 /* measured of each result */

static const IrTensor *
output_of (IrTrial *trial, const IrRun *run, guint index)
{
  const IrGraph *graph = run->model->main;

  return index < ir_graph_n_outputs (graph)
             ? ir_trial_contents (trial, run, ir_graph_output (graph, index)->id)
             : NULL;
}

static void
compare_output (IrWhatIf *self, IrTrial *const *trials, IrRun *const *runs, IrRun *start, guint i)
{
  const IrTensor *first = output_of (trials[IR_WITH], start, i);
  const IrTensor *outputs[IR_N_RESULTS];
  IrDifference difference;

  for (guint k = 0; k < IR_N_RESULTS; k++)
    {
      outputs[k] = output_of (trials[k], runs[k], i);
      if (first == NULL || outputs[k] == NULL)
        continue;
      ir_trial_difference (first, outputs[k], &difference);
      ir_difference_take_larger (&self->from_start[k], &difference);
    }
  if (outputs[IR_WITH] == NULL || outputs[IR_WITHOUT] == NULL)
    return;
  ir_trial_difference (outputs[IR_WITH], outputs[IR_WITHOUT], &difference);
  if (difference.max_abs > self->between.max_abs)
    {
      g_free (self->worst);
      self->worst = g_strdup (ir_graph_output (runs[IR_WITH]->model->main, i)->name);
    }
  ir_difference_take_larger (&self->between, &difference);
}

static IrRun *
run_end (IrTrial *trial, guint step, GError **error)
{
  g_autoptr (GArray) none = g_array_new (FALSE, FALSE, sizeof (IrValueId));

  return ir_trial_run (trial, step, none, error);
}

static gboolean
compare_numbers (IrWhatIf *self, IrTrial *const *trials, GError **error)
{
  g_autoptr (IrRun) start = run_end (trials[IR_WITH], 0, error);
  g_autoptr (IrRun) with = NULL, without = NULL;
  IrRun *runs[IR_N_RESULTS];

  if (start != NULL)
    with = run_end (trials[IR_WITH], self->n_steps[IR_WITH], error);
  if (with != NULL)
    without = run_end (trials[IR_WITHOUT], self->n_steps[IR_WITHOUT], error);
  if (without == NULL)
    return FALSE;
  runs[IR_WITH] = with;
  runs[IR_WITHOUT] = without;
  for (guint i = 0; i < ir_graph_n_outputs (start->model->main); i++)
    compare_output (self, trials, runs, start, i);
  for (guint k = 0; k < IR_N_RESULTS; k++)
    if (!ir_trial_time (trials[k], self->n_steps[k], N_RUNS, &self->run[k], error))
      return FALSE;
  return TRUE;
}

/**
 * ir_what_if_new:
 * @with: the original result, with its history
 * @without: the result without something, with its history; of the same graph
 * @inputs: value id -> #IrTensor for the inputs of the graph before all steps
 * @backend: what both run on
 * @limits: (nullable): of the runs; %NULL: those of any run
 * @run: %FALSE compares costs alone
 * @cancellable: (nullable): asked while running
 *
 * Returns: (transfer full): both results beside each other; its @problem says why a graph did not
 *   run
 */
IrWhatIf *
ir_what_if_new (IrModel *with,
                IrModel *without,
                GHashTable *inputs,
                const IrBackend *backend,
                const IrRunLimits *limits,
                gboolean run,
                GCancellable *cancellable)
{
  IrWhatIf *self = g_new0 (IrWhatIf, 1);
  IrModel *const models[IR_N_RESULTS] = { with, without };
  IrTrial *trials[IR_N_RESULTS];
  g_autoptr (GError) error = NULL;

  for (guint k = 0; k < IR_N_RESULTS; k++)
    {
      trials[k] = ir_trial_new (models[k], inputs, backend, 0, cancellable);
      if (limits != NULL)
        ir_trial_limit (trials[k], limits);
      self->n_steps[k] = ir_history_n_steps (models[k]);
      ir_scores_measure (trials[k], self->n_steps[k], self->scores[k], NULL);
    }
  if (run)
    self->ran = compare_numbers (self, trials, &error);
  if (!self->ran)
    self->problem = g_strdup (error != NULL ? error->message : "the graph is large");
  for (guint k = 0; k < IR_N_RESULTS; k++)
    ir_trial_free (trials[k]);
  return self;
}

/**
 * ir_what_if_free:
 * @what_if: (transfer full): two results
 */
void
ir_what_if_free (IrWhatIf *what_if)
{
  g_free (what_if->worst);
  g_free (what_if->problem);
  g_free (what_if);
}
