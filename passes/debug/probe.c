/* Running the graph as it was after a step, and measuring it against the original. The original's
 * run keeps every value, as predicates and the search for the first diverging tensor may ask for
 * any of them. A probe of a step starts from it: values get numbers (evaluate.c), and only nodes
 * whose numbers neither the original nor an earlier probe had are run, in the order of a whole run,
 * so that the same nodes fail. Where memory does not hold what that needs, the whole graph is run.
 */
#include "config.h"

#include "passes/debug/probe.h"

#include "core/exec/check/first-iteration.h"

#include "core/op/infer.h"
#include "core/exec/check/difference.h"
#include "core/exec/measure/times.h"
#include "passes/proof/evaluate.h"

#include <math.h>
#include <stdlib.h>

#define ALIGN_BYTES 64 /* of values in the arena, as the runner places them */

struct _IrTrial
{
  IrModel *model;
  GHashTable *inputs; /* value id -> IrTensor */
  const IrBackend *backend;
  guint n_threads;
  IrRunLimits limits;        /* of a run */
  GCancellable *cancellable; /* (nullable) */
  IrRun *original;           /* (nullable) until it is asked for */
  IrBackend plain;           /* the back end as probes use it: without NCHWc */
  IrBackend silent;          /* the back end for plans: says nothing of its choices */
  IrEvaluator *evaluator;    /* (nullable) until the first probe */
  IrModel *traveller;        /* (nullable) a copy that stands at the step that was sized last */
  gboolean follows;          /* whole runs of the back end, by the plan below */
  IrTrialPlan plan;
  void (*progress) (guint done, guint total, const IrNode *node, gpointer data); /* (nullable) */
  gpointer progress_data;
};

/**
 * ir_trial_new:
 * @model: a model with a history; its cursor stays where it is
 * @inputs: value id -> #IrTensor for the inputs of the original graph
 * @backend: (nullable): what every step runs on; %NULL: reference kernels
 * @n_threads: threads of a run; 0: number of cores
 * @cancellable: (nullable): asked while running
 *
 * Returns: (transfer full): a trial; nothing is run yet
 */
IrTrial *
ir_trial_new (IrModel *model,
              GHashTable *inputs,
              const IrBackend *backend,
              guint n_threads,
              GCancellable *cancellable)
{
  IrTrial *trial = g_new0 (IrTrial, 1);

  trial->model = ir_model_ref (model);
  trial->inputs = g_hash_table_ref (inputs);
  trial->backend = backend != NULL ? backend : ir_backend_find ("ref");
  trial->plain = *trial->backend;
  trial->plain.plan_blocks = NULL;
  trial->silent = *trial->backend;
  trial->silent.explain_blocks = NULL;
  trial->silent.explain_choice = NULL;
  trial->n_threads = n_threads;
  trial->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
  return trial;
}

/**
 * ir_trial_limit:
 * @trial: a trial that has run nothing yet
 * @limits: of its runs, and of what a probe runs
 */
void
ir_trial_limit (IrTrial *trial, const IrRunLimits *limits)
{
  trial->limits = *limits;
}

/**
 * ir_trial_tell:
 * @trial: a trial
 * @progress: (nullable): told of the nodes of each run from here on, on its thread
 * @data: for @progress
 */
void
ir_trial_tell (IrTrial *trial,
               void (*progress) (guint done, guint total, const IrNode *node, gpointer data),
               gpointer data)
{
  trial->progress = progress;
  trial->progress_data = data;
  if (trial->evaluator != NULL)
    ir_evaluator_tell (trial->evaluator, progress, data);
}

/**
 * ir_trial_follow:
 * @trial: a trial
 * @plan: what its runs decide from here on; what it points to lives until it is told another
 *
 * Every probe is then a whole run as any other, in which but the values that are asked for are kept.
 * The original's run is one without any decision.
 */
void
ir_trial_follow (IrTrial *trial, const IrTrialPlan *plan)
{
  trial->follows = TRUE;
  trial->plan = *plan;
}

/**
 * ir_trial_follows_plans:
 * @trial: a trial
 *
 * Returns: whether ir_trial_follow() was called
 */
gboolean
ir_trial_follows_plans (const IrTrial *trial)
{
  return trial->follows;
}

/**
 * ir_trial_free:
 * @trial: (transfer full): a trial
 */
void
ir_trial_free (IrTrial *trial)
{
  g_clear_pointer (&trial->original, ir_run_unref);
  g_clear_pointer (&trial->traveller, ir_model_unref);
  g_clear_pointer (&trial->evaluator, ir_evaluator_free);
  g_clear_object (&trial->cancellable);
  g_hash_table_unref (trial->inputs);
  ir_model_unref (trial->model);
  g_free (trial);
}

/**
 * ir_trial_history:
 * @trial: a trial
 *
 * Returns: (transfer none): the model whose steps are tried
 */
IrModel *
ir_trial_history (const IrTrial *trial)
{
  return trial->model;
}

/**
 * ir_trial_cancellable:
 * @trial: a trial
 *
 * Returns: (transfer none) (nullable): what stops it
 */
GCancellable *
ir_trial_cancellable (const IrTrial *trial)
{
  return trial->cancellable;
}

static IrRun *
run_at (IrTrial *trial, guint step, GArray *chosen, const IrIterations *iterations, GError **error)
{
  g_autoptr (IrModel) snapshot = ir_history_snapshot (trial->model, step);
  g_autoptr (IrExecutable) executable = NULL;
  IrRunOptions options = {
    .backend = trial->follows ? trial->backend : &trial->plain,
    .n_threads = trial->n_threads,
    .parallel = trial->plan.parallel,
    .without = trial->plan.without,
    .except = trial->plan.except,
    .capture = chosen != NULL ? IR_CAPTURE_CHOSEN : IR_CAPTURE_ALL,
    .chosen = chosen,
    .progress = trial->progress,
    .progress_data = trial->progress_data,
  };

  if (iterations != NULL)
    options.iterations = *iterations;
  ir_run_options_limit (&options, &trial->limits);
  executable = ir_executable_new (snapshot, &options, error);
  if (executable == NULL)
    return NULL;
  return ir_executable_run (executable, trial->inputs, trial->cancellable, NULL, error);
}

/**
 * ir_trial_run:
 * @trial: a trial
 * @step: 0 .. number of steps
 * @chosen: (nullable): of #IrValueId, the values to keep; %NULL: all of them
 * @error: return location for an error
 *
 * Fails as ir_executable_new() and ir_executable_run() do.
 *
 * Returns: (transfer full): a run of the graph as it was after @step
 */
IrRun *
ir_trial_run (IrTrial *trial, guint step, GArray *chosen, GError **error)
{
  return run_at (trial, step, chosen, NULL, error);
}

/**
 * ir_trial_run_iterations:
 * @trial: a trial
 * @step: 0 .. number of steps
 * @chosen: of #IrValueId
 * @error: return location for an error
 *
 * Returns: (transfer full): as ir_trial_run(), with every iteration of @chosen that the budget has room for
 */
IrRun *
ir_trial_run_iterations (IrTrial *trial, guint step, GArray *chosen, GError **error)
{
  const IrIterations all = IR_ITERATIONS_ALL;

  return run_at (trial, step, chosen, &all, error);
}

/**
 * ir_trial_run_picked:
 * @trial: a trial
 * @step: 0 .. number of steps
 * @picks: of #IrIterationPick, values of the graph after @step
 * @error: return location for an error
 *
 * Returns: (transfer full): as ir_trial_run(), with these iterations of these values
 */
IrRun *
ir_trial_run_picked (IrTrial *trial, guint step, GArray *picks, GError **error)
{
  const IrIterations named = { .kind = IR_ITERATIONS_NAMED, .names = picks };
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));

  for (guint i = 0; i < picks->len; i++)
    g_array_append_val (chosen, g_array_index (picks, IrIterationPick, i).value);
  return run_at (trial, step, chosen, &named, error);
}

/**
 * ir_trial_time:
 * @trial: a trial
 * @step: 0 .. number of steps
 * @n_runs: how many runs are measured, at least 1
 * @time: (out caller-allocates): what they took, ms
 * @error: return location for an error
 *
 * Measures the graph as it was after @step as it is run in earnest: by the kernels of the back end,
 * keeping outputs alone, with one more run before that is not counted. Fails as ir_trial_run()
 * does.
 *
 * Returns: %TRUE if all runs were made
 */
gboolean
ir_trial_time (IrTrial *trial, guint step, guint n_runs, IrRunTime *time, GError **error)
{
  g_autoptr (IrModel) snapshot = ir_history_snapshot (trial->model, step);
  g_autoptr (GArray) none = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_autoptr (GArray) samples = g_array_new (FALSE, FALSE, sizeof (double));
  IrRunOptions options = { .backend = trial->backend,
                           .n_threads = trial->n_threads,
                           .capture = IR_CAPTURE_CHOSEN,
                           .chosen = none };
  g_autoptr (IrExecutable) executable = NULL;

  ir_run_options_limit (&options, &trial->limits);
  executable = ir_executable_new (snapshot, &options, error);
  for (guint i = 0; i <= n_runs; i++)
    {
      g_autoptr (IrRun)
          run = executable != NULL
                    ? ir_executable_run (executable, trial->inputs, trial->cancellable, NULL, error)
                    : NULL;

      if (run == NULL)
        return FALSE;
      const double ms = run->trace != NULL ? run->trace->duration_ns / 1e6 : NAN;
      if (i > 0)
        g_array_append_val (samples, ms);
    }
  const IrTimes times = ir_times (samples);
  *time = (IrRunTime){ n_runs, times.median, times.min, times.max };
  return TRUE;
}

/**
 * ir_trial_original:
 * @trial: a trial
 * @error: return location for an error
 *
 * Runs the original graph at the first call, keeping every value; later calls give the same run.
 *
 * Returns: (transfer none): the run of step 0, or %NULL if it failed
 */
IrRun *
ir_trial_original (IrTrial *trial, GError **error)
{
  if (trial->original == NULL)
    {
      const IrTrialPlan plan = trial->plan;

      if (trial->follows)
        trial->plan = (IrTrialPlan){ .without = IR_DECISION_ALL };
      trial->original = ir_trial_run (trial, 0, NULL, error);
      trial->plan = plan;
    }
  return trial->original;
}

/* The graph after @step as it is run: without function calls. */
static IrModel *
flat_after (IrTrial *trial, guint step, GError **error)
{
  g_autoptr (IrModel) snapshot = ir_history_snapshot (trial->model, step);

  return ir_model_has_calls (snapshot) ? ir_exec_expand (snapshot, error)
                                       : g_steal_pointer (&snapshot);
}

static gboolean
start_evaluator (IrTrial *trial, GError **error)
{
  g_autoptr (IrModel) flat = NULL;
  IrRun *original = ir_trial_original (trial, error);

  if (trial->evaluator != NULL || original == NULL)
    return original != NULL;
  flat = flat_after (trial, 0, error);
  if (flat == NULL)
    return FALSE;
  trial->evaluator = ir_evaluator_new (&trial->plain, trial->n_threads, trial->cancellable);
  ir_evaluator_limit (trial->evaluator, &trial->limits);
  ir_evaluator_tell (trial->evaluator, trial->progress, trial->progress_data);
  ir_evaluator_take_run (trial->evaluator, flat, original, trial->inputs, NULL);
  return TRUE;
}

static GHashTable *
run_whole (IrTrial *trial, guint step, GArray *chosen, GError **error)
{
  g_autoptr (IrRun) run = ir_trial_run (trial, step, chosen, error);
  GHashTable *contents;

  if (run == NULL)
    return NULL;
  contents = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  for (guint i = 0; i < chosen->len; i++)
    {
      IrValueId id = g_array_index (chosen, IrValueId, i);
      const IrTensor *tensor = ir_trial_contents (trial, run, id);

      if (tensor != NULL)
        g_hash_table_insert (contents, GUINT_TO_POINTER (id), ir_tensor_ref ((IrTensor *) tensor));
    }
  return contents;
}

/**
 * ir_trial_probe:
 * @trial: a trial
 * @step: 0 .. number of steps
 * @chosen: of #IrValueId: values of the main graph after @step
 * @error: return location for an error
 *
 * Runs the nodes that neither the original's run nor an earlier probe has run on the same contents.
 * Fails as ir_trial_run() does.
 *
 * Returns: (transfer full): value id -> #IrTensor of the values chosen
 */
GHashTable *
ir_trial_probe (IrTrial *trial, guint step, GArray *chosen, GError **error)
{
  g_autoptr (GHashTable)
      contents = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_autoptr (IrModel) flat = NULL;

  if (trial->follows)
    return run_whole (trial, step, chosen, error);
  if (!start_evaluator (trial, error))
    return NULL;
  if (ir_evaluator_is_full (trial->evaluator))
    return run_whole (trial, step, chosen, error);
  flat = flat_after (trial, step, error);
  ir_evaluator_start (trial->evaluator);
  if (flat == NULL ||
      !ir_evaluator_run (trial->evaluator, flat, trial->inputs, chosen, contents, error))
    return NULL;
  return g_steal_pointer (&contents);
}

/**
 * ir_trial_n_nodes_run:
 * @trial: a trial
 *
 * Returns: how many nodes its probes have run
 */
guint
ir_trial_n_nodes_run (const IrTrial *trial)
{
  return trial->evaluator != NULL ? ir_evaluator_work (trial->evaluator)->n_nodes : 0;
}

/* -- sizes -- */

/* A step is a few records away from the one before, and a copy of the graph is all of it. */
static IrModel *
travel (IrTrial *trial, guint step)
{
  if (trial->traveller != NULL &&
      ir_history_n_steps (trial->traveller) != ir_history_n_steps (trial->model))
    g_clear_pointer (&trial->traveller, ir_model_unref);
  if (trial->traveller == NULL)
    trial->traveller = ir_history_clone (trial->model);
  ir_history_goto (trial->traveller, step);
  return trial->traveller;
}

/* Gives the inputs the shapes of the trial's, and all values the types that follow. */
static void
bind_sizes (IrTrial *trial, IrEdit *edit)
{
  IrModel *model = ir_edit_model (edit);
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, trial->inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      IrValue *input = ir_model_live_value (model, GPOINTER_TO_UINT (id));

      if (input != NULL && ir_value_is_graph_input (input) && !ir_tensor_is_container (tensor))
        ir_infer_bind_input (edit, input, ir_tensor_rank (tensor), ir_tensor_dims (tensor));
    }
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
}

/**
 * ir_trial_sized:
 * @trial: a trial
 * @step: 0 .. number of steps
 *
 * Returns: (transfer full): a copy of the graph after @step in which the inputs have the shapes of
 * the trial's, so that sizes and costs are those of the run
 */
IrModel *
ir_trial_sized (IrTrial *trial, guint step)
{
  IrModel *copy = ir_model_clone (travel (trial, step));
  g_autoptr (IrEdit) edit = ir_edit_new_import (copy);

  bind_sizes (trial, edit);
  return copy;
}

/**
 * ir_trial_plan:
 * @trial: a trial
 * @step: 0 .. number of steps
 * @error: return location for an error
 *
 * Returns: (transfer full): the memory plan of the graph after @step on one worker
 */
IrMemPlan *
ir_trial_plan (IrTrial *trial, guint step, GError **error)
{
  IrModel *model = travel (trial, step);
  g_autoptr (IrEdit) edit = ir_edit_new_passing (model);
  g_autoptr (IrSchedule) schedule = NULL;

  bind_sizes (trial, edit);
  schedule = ir_schedule_new (model, &trial->silent, 1, error);
  return schedule != NULL ? ir_mem_plan_new (model, schedule, ALIGN_BYTES) : NULL;
}

/**
 * ir_trial_contents:
 * @trial: a trial
 * @run: a run of one of its steps
 * @value: id of a value of its model
 *
 * Returns: (transfer none) (nullable): what the value held, inputs and constants included; %NULL if
 * it was not kept or is not there
 */
const IrTensor *
ir_trial_contents (const IrTrial *trial, const IrRun *run, IrValueId value)
{
  const IrTensor *tensor = ir_run_value (run, value);
  const IrValue *found = tensor == NULL ? ir_model_live_value (run->model, value) : NULL;

  if (found == NULL)
    return tensor;
  tensor = ir_value_constant (found);
  return tensor != NULL ? tensor : g_hash_table_lookup (trial->inputs, GUINT_TO_POINTER (value));
}

static gboolean
has_numbers (const IrTensor *tensor)
{
  IrDtypeKind kind = ir_dtype_kind (ir_tensor_dtype (tensor));

  return kind != IR_DTYPE_KIND_STRING && kind != IR_DTYPE_KIND_COMPLEX &&
         !ir_tensor_is_container (tensor) && ir_tensor_sparse_values (tensor) == NULL;
}

/* FALSE if they are no integers. */
static gboolean
integers_differ (const IrTensor *before, const IrTensor *after, IrComparison *found)
{
  if (ir_dtype_is_float (ir_tensor_dtype (before)))
    return FALSE;
  *found = (IrComparison){ 0 };
  for (guint64 i = 0; i < ir_tensor_n_elements (before); i++)
    {
      double a = ir_tensor_get_double (before, i), b = ir_tensor_get_double (after, i);
      double distance = fabs (a - b);

      found->max_abs = MAX (found->max_abs, distance);
      found->scale = MAX (found->scale, fabs (a));
      if (a != 0)
        found->max_rel = MAX (found->max_rel, distance / fabs (a));
    }
  return TRUE;
}

/**
 * ir_trial_difference:
 * @before: what it was
 * @after: what it is now
 * @difference: (out caller-allocates): zeros if both hold the same numbers
 *
 * Any NaN is as good as another, and 0 as good as -0. Elements that are finite on one side only,
 * other shapes and other types are infinitely far apart; so are strings and complex numbers that
 * are not the same. O(elements).
 */
void
ir_trial_difference (const IrTensor *before, const IrTensor *after, IrDifference *difference)
{
  const IrDifference endless = { INFINITY, INFINITY, INFINITY };
  IrComparison found;

  *difference = (IrDifference){ 0 };
  if (!ir_tensors_compare (before, after, &found) ||
      ir_tensor_dtype (before) != ir_tensor_dtype (after) ||
      (found.non_finite_differs && !has_numbers (before)))
    *difference = endless;
  else if (found.non_finite_differs && !integers_differ (before, after, &found))
    *difference = endless;
  else
    *difference = (IrDifference){ found.max_abs, found.max_rel, ir_comparison_of_scale (&found) };
}

/**
 * ir_difference_take_larger:
 * @largest: (inout): of the tensors so far
 * @difference: of one more
 *
 * Each figure for itself: they may come from different tensors.
 */
void
ir_difference_take_larger (IrDifference *largest, const IrDifference *difference)
{
  largest->max_abs = MAX (largest->max_abs, difference->max_abs);
  largest->max_rel = MAX (largest->max_rel, difference->max_rel);
  largest->of_scale = MAX (largest->of_scale, difference->of_scale);
}
