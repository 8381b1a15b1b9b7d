/* Bisection of a plan. Decisions are left out one after the other, as long as the predicate still
 * fails: what is left is needed, all of it. Then each decision is taken for the first values of the
 * graph only, in the order of execution, and the number of them is halved, up to the value with
 * which it fails and before which it does not. Where that one alone is not enough, the search goes
 * on with it, for the next one. */
#include "config.h"

#include "passes/debug/bisect-plan.h"

#include <string.h>

/* Constants are prepacked all or not at all. */
#define BY_VALUE (IR_DECISION_BLOCKS | IR_DECISION_SHARING | IR_DECISION_CHAINS | IR_DECISION_SPANS)

static void
culprit_clear (gpointer data)
{
  IrPlanCulprit *culprit = data;

  g_free (culprit->value);
  g_free (culprit->node);
  g_free (culprit->how);
}

/**
 * ir_plan_bisection_clear:
 * @result: what ir_bisect_plan() filled
 */
void
ir_plan_bisection_clear (IrPlanBisection *result)
{
  g_clear_pointer (&result->culprits, g_array_unref);
  g_clear_pointer (&result->finding, g_free);
  g_clear_pointer (&result->problem, g_free);
}

typedef struct
{
  IrTrial *trial;
  const IrPredicate *predicate;
  IrPlanBisection *result;
  IrTrialPlan plan;        /* of the next check */
  IrPlanExceptions except; /* of it, where values are searched */
  guint8 *left_out;        /* by value id */
  IrRun *run;              /* (nullable) by the plan with the decisions found */
  GArray *values;          /* of IrValueId, in the order of execution */
  guint expected;
  void (*progress) (guint checks, guint expected, gpointer data);
  gpointer data;
} Search;

static void
search_clear (Search *search)
{
  g_clear_pointer (&search->left_out, g_free);
  g_clear_pointer (&search->run, ir_run_unref);
  g_clear_pointer (&search->values, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Search, search_clear)

static gboolean
check (Search *search, gboolean *fails, GError **error)
{
  IrPlanBisection *result = search->result;
  g_auto (IrCheck) found = { 0 };

  ir_trial_follow (search->trial, &search->plan);
  if (!ir_predicate_check (search->predicate, search->trial, 0, &found, error))
    return FALSE;
  result->checks++;
  if (search->progress != NULL)
    search->progress (result->checks, MAX (search->expected, result->checks), search->data);
  *fails = found.fails;
  if (found.fails || result->answer == IR_BISECT_NOTHING_FAILS)
    {
      result->value = found.value;
      g_free (result->finding);
      result->finding = g_steal_pointer (&found.finding);
      g_free (result->problem);
      result->problem = g_steal_pointer (&found.problem);
    }
  return TRUE;
}

static gboolean
check_without (Search *search, IrDecisions without, gboolean *fails, GError **error)
{
  search->plan.without = without;
  return check (search, fails, error);
}

/* Leaves what is needed in result->decisions. */
static gboolean
narrow_decisions (Search *search, GError **error)
{
  IrDecisions *needed = &search->result->decisions;

  *needed = IR_DECISION_ALL;
  for (guint bit = 0; bit < IR_N_DECISIONS; bit++)
    {
      IrDecisions fewer = (IrDecisions) (*needed & ~(1u << bit));
      gboolean fails;

      if (!check_without (search, (IrDecisions) (IR_DECISION_ALL & ~fewer), &fails, error))
        return FALSE;
      if (fails)
        *needed = fewer;
    }
  search->plan.without = (IrDecisions) (IR_DECISION_ALL & ~*needed);
  return TRUE;
}

/* -- values -- */

static gboolean
find_values (Search *search, GError **error)
{
  g_autoptr (GArray) none = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_autoptr (GError) local = NULL;

  ir_trial_follow (search->trial, &search->plan);
  search->run = ir_trial_run (search->trial, 0, none, &local);
  search->values = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  if (search->run == NULL)
    {
      if (g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED))
        {
          g_propagate_error (error, g_steal_pointer (&local));
          return FALSE;
        }
      return TRUE; /* by this plan it does not run, which is what is wrong */
    }
  for (guint i = 0; i < search->run->schedule->items->len; i++)
    {
      IrNodeId id = g_array_index (search->run->schedule->items, IrScheduleItem, i).node;
      const IrNode *node = ir_model_node (search->run->model, id);

      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          g_array_append_val (search->values, node->outputs[k]->id);
    }
  search->except.n_values = search->run->n_values;
  search->left_out = g_new0 (guint8, search->run->n_values + 1);
  search->except.values = search->left_out;
  search->expected = search->result->checks + 2 + g_bit_storage (search->values->len);
  return TRUE;
}

/* With the decision for the first @n values and @kept alone. */
static gboolean
check_first (Search *search, guint n, const GArray *kept, gboolean *fails, GError **error)
{
  memset (search->left_out, 0, search->except.n_values);
  for (guint i = n; i < search->values->len; i++)
    search->left_out[g_array_index (search->values, IrValueId, i)] = 1;
  for (guint i = 0; i < kept->len; i++)
    search->left_out[g_array_index (kept, IrValueId, i)] = 0;
  return check (search, fails, error);
}

/* The fewest first values beside @kept with which it fails, though not with @kept alone. */
static gboolean
find_next (Search *search, guint *end, const GArray *kept, GError **error)
{
  guint low = 0, high = *end;

  while (high - low > 1)
    {
      guint middle = low + (high - low) / 2;
      gboolean fails;

      if (!check_first (search, middle, kept, &fails, error))
        return FALSE;
      if (fails)
        high = middle;
      else
        low = middle;
    }
  *end = high;
  return TRUE;
}

static char *
describe_sharing (const IrRun *run, IrValueId value)
{
  for (guint i = 0; run->memplan != NULL && i < run->memplan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (run->memplan->items, IrMemItem, i);
      IrValueId other = item->over != 0      ? item->over
                        : item->view_of != 0 ? item->view_of
                                             : item->part_of;

      if (item->value == value && other != 0)
        return g_strdup_printf ("%s %s",
                                item->over != 0      ? "written over"
                                : item->view_of != 0 ? "a view of"
                                                     : "a part of",
                                ir_model_value (run->model, other)->name);
    }
  return NULL;
}

static char *
describe (const IrRun *run, IrDecisions decision, IrValueId value)
{
  const IrSchedule *schedule = run->schedule;

  if (decision == IR_DECISION_SHARING)
    return describe_sharing (run, value);
  if (decision == IR_DECISION_BLOCKS && schedule->blocks != NULL && value < schedule->n_blocks)
    return g_strdup_printf ("in NCHW%uc", schedule->blocks[value]);
  if (decision == IR_DECISION_CHAINS)
    return g_strdup ("computed in pieces, with the nodes before or behind");
  if (decision == IR_DECISION_SPANS)
    return g_strdup ("computed concurrently with others");
  return NULL;
}

static void
note (Search *search, IrValueId id)
{
  const IrValue *value = ir_model_value (search->run->model, id);
  IrPlanCulprit culprit = { .decision = search->except.decisions,
                            .value = g_strdup (value->name),
                            .node = ir_node_label (value->producer),
                            .how = describe (search->run, search->except.decisions, id) };

  g_array_append_val (search->result->culprits, culprit);
}

/* Nothing is noted where values do not explain it. */
static gboolean
narrow_values (Search *search, IrDecisions decision, GError **error)
{
  g_autoptr (GArray) kept = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  guint end = search->values->len;
  gboolean fails = TRUE;

  search->except.decisions = decision;
  search->plan.except = &search->except;
  if (end == 0 || !check_first (search, 0, kept, &fails, error))
    return end == 0;
  while (!fails && kept->len < IR_PLAN_BISECTION_VALUES)
    {
      if (!find_next (search, &end, kept, error))
        return FALSE;
      g_array_append_val (kept, g_array_index (search->values, IrValueId, end - 1));
      end--; /* those before are not enough without this one */
      if (!check_first (search, 0, kept, &fails, error))
        return FALSE;
      if (end == 0)
        break;
    }
  for (guint i = 0; i < kept->len; i++)
    note (search, g_array_index (kept, IrValueId, i));
  return TRUE;
}

static gboolean
search_values (Search *search, GError **error)
{
  if (!find_values (search, error))
    return FALSE;
  for (guint bit = 0; bit < IR_N_DECISIONS && search->values->len > 0; bit++)
    {
      IrDecisions decision = (IrDecisions) (1u << bit);

      if ((search->result->decisions & BY_VALUE & decision) &&
          !narrow_values (search, decision, error))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_bisect_plan:
 * @trial: the graph, without steps, its inputs and back end
 * @predicate: what to look for, which computes values; it is bound here
 * @parallel: whether nodes run concurrently
 * @progress: (nullable): called after each check
 * @data: for @progress
 * @result: (out caller-allocates): the answer; clear with ir_plan_bisection_clear()
 * @error: return location for an error
 *
 * Runs the graph by plans that leave decisions out, and compares with a run without any of them:
 * that it fails there too, or that nothing fails, are answers.
 *
 * Fails as ir_predicate_bind() and ir_predicate_check() do.
 *
 * Returns: %FALSE if it could not be told
 */
gboolean
ir_bisect_plan (IrTrial *trial,
                IrPredicate *predicate,
                IrParallelMode parallel,
                void (*progress) (guint checks, guint expected, gpointer data),
                gpointer data,
                IrPlanBisection *result,
                GError **error)
{
  g_auto (Search) search = { .trial = trial,
                             .predicate = predicate,
                             .result = result,
                             .plan.parallel = parallel,
                             .expected = 2 + IR_N_DECISIONS,
                             .progress = progress,
                             .data = data };
  gboolean fails;

  memset (result, 0, sizeof *result);
  result->culprits = g_array_new (FALSE, FALSE, sizeof (IrPlanCulprit));
  g_array_set_clear_func (result->culprits, culprit_clear);
  ir_trial_follow (trial, &search.plan);
  if (!ir_predicate_bind (predicate, trial, error))
    return FALSE;
  result->answer = IR_BISECT_NOTHING_FAILS;
  if (!check_without (&search, IR_DECISION_ALL, &fails, error))
    return FALSE;
  if (fails)
    {
      result->answer = IR_BISECT_ORIGINAL_FAILS;
      return TRUE;
    }
  if (!check_without (&search, (IrDecisions) 0, &fails, error))
    return FALSE;
  if (!fails)
    return TRUE;
  result->answer = IR_BISECT_FOUND;
  gboolean done = narrow_decisions (&search, error) && search_values (&search, error);
  ir_trial_follow (trial, &(IrTrialPlan){ .parallel = parallel }); /* nothing of the search */
  return done;
}
