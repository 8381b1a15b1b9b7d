/* Binary search over the steps of a history. Both ends are checked first; then the interval keeps
 * this promise: its lower end passes, its upper end fails. So it ends at a step that fails where
 * the one before passes, even if the predicate changes its mind several times on the way:
 *
 *     checks <= ceil (log2 (steps)) + 2
 *
 * A value that a fusion has swallowed cannot be measured any more. A value that is gone does not
 * come back, so the last step that has all values named is searched for too; that costs no check.
 */
#include "config.h"

#include "passes/debug/bisect.h"

#include "core/exec/run/loop-table.h"

#include <string.h>

/**
 * ir_bisect_answer_name:
 * @answer: an answer
 *
 * Returns: (transfer none): "found", "original-fails" or "nothing-fails"
 */
const char *
ir_bisect_answer_name (IrBisectAnswer answer)
{
  static const char *const names[] = { "found", "original-fails", "nothing-fails" };

  return answer < G_N_ELEMENTS (names) ? names[answer] : "";
}

static GArray *
broken_steps (const IrModel *model)
{
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    if (ir_history_step (model, i)->proof.verdict == IR_VERDICT_BROKEN)
      g_array_append_val (steps, i);
  return steps;
}

/**
 * ir_bisection_note_broken:
 * @result: an answer
 * @model: its history, whose steps have been proved meanwhile
 *
 * Lists the steps that the proof found broken.
 */
void
ir_bisection_note_broken (IrBisection *result, const IrModel *model)
{
  g_clear_pointer (&result->broken, g_array_unref);
  result->broken = broken_steps (model);
}

/**
 * ir_bisection_clear:
 * @result: what ir_bisect() filled
 */
void
ir_bisection_clear (IrBisection *result)
{
  ir_first_iteration_clear (&result->iteration);
  g_clear_pointer (&result->finding, g_free);
  g_clear_pointer (&result->problem, g_free);
  g_clear_pointer (&result->broken, g_array_unref);
}

static guint
last_measurable (const IrPredicate *predicate, IrTrial *trial)
{
  guint low = 0, high = ir_history_n_steps (ir_trial_history (trial));

  if (ir_predicate_is_there (predicate, trial, high))
    return high;
  while (high - low > 1)
    {
      guint middle = low + (high - low) / 2;

      if (ir_predicate_is_there (predicate, trial, middle))
        low = middle;
      else
        high = middle;
    }
  return low;
}

typedef struct
{
  IrTrial *trial;
  const IrPredicate *predicate;
  IrBisection *result;
  guint expected;
  void (*progress) (guint checks, guint expected, gpointer data);
  gpointer data;
} Search;

static gboolean
check (Search *search, guint step, gboolean *fails, GError **error)
{
  g_auto (IrCheck) found = { 0 };

  if (!ir_predicate_check (search->predicate, search->trial, step, &found, error))
    {
      g_prefix_error (error, "step %u: ", step);
      return FALSE;
    }
  search->result->checks++;
  if (search->progress != NULL)
    search->progress (search->result->checks, search->expected, search->data);
  *fails = found.fails;
  if (found.fails || search->result->answer == IR_BISECT_NOTHING_FAILS)
    {
      search->result->value = found.value;
      g_free (search->result->finding);
      search->result->finding = g_steal_pointer (&found.finding);
      g_free (search->result->problem);
      search->result->problem = g_steal_pointer (&found.problem);
    }
  return TRUE;
}

static gboolean
narrow (Search *search, GError **error)
{
  guint low = 0, high = search->result->last;

  while (high - low > 1)
    {
      guint middle = low + (high - low) / 2;
      gboolean fails;

      if (!check (search, middle, &fails, error))
        return FALSE;
      if (fails)
        high = middle;
      else
        low = middle;
    }
  search->result->step = high;
  return TRUE;
}

/**
 * ir_bisect:
 * @trial: the history, inputs and back end
 * @predicate: what to look for; it is bound here
 * @progress: (nullable): called after each check
 * @data: for @progress
 * @result: (out caller-allocates): the answer; clear with ir_bisection_clear()
 * @error: return location for an error
 *
 * Checks the original graph and the last step first: that the original fails already, or that
 * nothing fails, are answers. Needs at most ceil (log2 (steps)) + 2 checks.
 *
 * Fails with %IR_PREDICATE_ERROR_VALUE if the original graph lacks a value that is named, and as
 * ir_predicate_check() does.
 *
 * Returns: %FALSE if it could not be told
 */
gboolean
ir_bisect (IrTrial *trial,
           IrPredicate *predicate,
           void (*progress) (guint checks, guint expected, gpointer data),
           gpointer data,
           IrBisection *result,
           GError **error)
{
  Search search = { trial, predicate, result, 0, progress, data };
  gboolean fails;

  memset (result, 0, sizeof *result);
  result->broken = broken_steps (ir_trial_history (trial));
  if (!ir_predicate_bind (predicate, trial, error))
    return FALSE;
  result->last = last_measurable (predicate, trial);
  search.expected = 2 + (result->last > 1 ? g_bit_storage (result->last - 1) : 0);
  result->answer = IR_BISECT_NOTHING_FAILS;
  if (!check (&search, 0, &fails, error))
    return FALSE;
  if (fails)
    result->answer = IR_BISECT_ORIGINAL_FAILS;
  if (fails || result->last == 0)
    return TRUE;
  if (!check (&search, result->last, &fails, error))
    return FALSE;
  if (!fails)
    return TRUE;
  result->answer = IR_BISECT_FOUND;
  return narrow (&search, error);
}

/* -- the first tensor that diverges -- */

typedef struct
{
  IrTrial *trial;
  const IrStep *step;
  IrRun *before, *after; /* (owned), all values kept */
} Sides;

static void
sides_clear (Sides *sides)
{
  g_clear_pointer (&sides->before, ir_run_unref);
  g_clear_pointer (&sides->after, ir_run_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Sides, sides_clear)

static gboolean
differ (const Sides *sides, IrValueId before, IrValueId after, IrBisection *result)
{
  const IrTensor *a = ir_trial_contents (sides->trial, sides->before, before);
  const IrTensor *b = ir_trial_contents (sides->trial, sides->after, after);
  IrDifference change;

  if (a == NULL || b == NULL)
    return FALSE;
  ir_trial_difference (a, b, &change);
  if (change.max_abs == 0)
    return FALSE;
  result->stood = before;
  result->diverges = after;
  result->change = change;
  return TRUE;
}

/* Against itself before the step, and against all that it stands for since the step. */
static gboolean
diverges (const Sides *sides, IrValueId value, IrBisection *result)
{
  const GArray *pairs = sides->step->values;

  if (differ (sides, value, value, result))
    return TRUE;
  for (guint i = 0; pairs != NULL && i < pairs->len; i++)
    {
      IrIdPair pair = g_array_index (pairs, IrIdPair, i);

      if (pair.after == value && differ (sides, pair.before, value, result))
        return TRUE;
    }
  return FALSE;
}

/* Graph inputs, then what the nodes make, in the order of execution. */
static GArray *
values_in_order (const IrGraph *graph)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);
      if (input != NULL)
        g_array_append_val (ids, input->id);
    }
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < order[i]->n_outputs; k++)
      if (order[i]->outputs[k] != NULL)
        g_array_append_val (ids, order[i]->outputs[k]->id);
  return ids;
}

static gboolean
note_original (const Sides *sides, IrBisection *result, GError **error)
{
  IrTrial *trial = sides->trial;
  IrRun *original = ir_trial_original (trial, error);
  const IrTensor *a, *b = ir_trial_contents (trial, sides->after, result->diverges);

  if (original == NULL)
    return FALSE;
  result->original = ir_lineage_original_value (ir_trial_history (trial), result->diverges);
  a = result->original != 0 ? ir_trial_contents (trial, original, result->original) : NULL;
  if (a == NULL)
    result->original = 0;
  else
    ir_trial_difference (a, b, &result->from_original);
  return TRUE;
}

/* Of what loops compute before and after the step: in which iteration it differs first */
static gboolean
note_iteration (const Sides *sides, const IrModel *now, IrBisection *result, GError **error)
{
  g_autoptr (IrModel)
      before = ir_history_snapshot (ir_trial_history (sides->trial), result->step - 1);
  g_autoptr (GArray) in_loops = ir_loop_values (now), was_in_loops = ir_loop_values (before);
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (IrIdPair));

  for (guint i = 0; i < in_loops->len; i++)
    {
      const IrValueId id = g_array_index (in_loops, IrValueId, i);
      const IrIdPair pair = { id, id };

      if (ir_model_live_value (before, id) != NULL)
        g_array_append_val (pairs, pair);
    }
  if (sides->step->values != NULL)
    g_array_append_vals (pairs, sides->step->values->data, sides->step->values->len);
  if (in_loops->len == 0 || was_in_loops->len == 0)
    return TRUE;
  g_autoptr (IrRun)
      a = ir_trial_run_iterations (sides->trial, result->step - 1, was_in_loops, error);
  g_autoptr (IrRun)
      b = a != NULL ? ir_trial_run_iterations (sides->trial, result->step, in_loops, error) : NULL;
  if (b != NULL)
    ir_first_iteration_find (a, b, pairs, &result->iteration);
  return b != NULL;
}

/**
 * ir_bisect_find_divergence:
 * @trial: the trial that was bisected
 * @result: an answer of ir_bisect() that found a step
 * @error: return location for an error
 *
 * Runs the graph before and after the step, keeping every value, and looks in the order of
 * execution for the first value that differs from the one before the step that it stands for: what
 * this step changed, whatever earlier ones have. Leaves @result->diverges 0 if there is none, or if
 * the graph does not run after the step.
 *
 * Returns: %FALSE if a run failed
 */
gboolean
ir_bisect_find_divergence (IrTrial *trial, IrBisection *result, GError **error)
{
  g_auto (Sides) sides = { .trial = trial };
  g_autoptr (IrModel) now = NULL;
  g_autoptr (GArray) ids = NULL;

  g_return_val_if_fail (result->answer == IR_BISECT_FOUND, FALSE);
  if (result->problem != NULL)
    return TRUE;
  sides.step = ir_history_step (ir_trial_history (trial), result->step);
  sides.before = ir_trial_run (trial, result->step - 1, NULL, error);
  sides.after = sides.before != NULL ? ir_trial_run (trial, result->step, NULL, error) : NULL;
  if (sides.after == NULL)
    return FALSE;
  now = ir_history_snapshot (ir_trial_history (trial), result->step);
  ids = values_in_order (now->main);
  for (guint i = 0; i < ids->len; i++)
    if (diverges (&sides, g_array_index (ids, IrValueId, i), result))
      return note_original (&sides, result, error) && note_iteration (&sides, now, result, error);
  return TRUE;
}
