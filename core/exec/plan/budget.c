/* Plans that hold a budget: values are dropped and their nodes run again, as nodes of their own, until
 * the memory plan of the graph with these fits (core/exec/recompute). What a run allocates is that plan's
 * arena, so that what is planned and what is measured are the same bytes. */
#include "config.h"

#include "core/exec/kernel/size.h"
#include "core/exec/plan/plan.h"
#include "core/exec/recompute/recompute.h"
#include "core/ir/pages.h"

#define MAX_TIGHTER  4    /* attempts to make up for what the plan of the graph needs beyond */
#define SEARCH_STEPS 5000 /* of one placement: many are judged on the way */

typedef IrBudgetRefusal IrBudgetErrorPrivate;

static void
ir_budget_error_private_init (IrBudgetErrorPrivate *refusal)
{
  *refusal = (IrBudgetRefusal){ 0 };
}

static void
ir_budget_error_private_copy (const IrBudgetErrorPrivate *from, IrBudgetErrorPrivate *to)
{
  *to = *from;
  to->least_at = g_strdup (from->least_at);
}

static void
ir_budget_error_private_clear (IrBudgetErrorPrivate *refusal)
{
  g_free (refusal->least_at);
}

/**
 * ir_budget_error_quark:
 *
 * Returns: the domain of budgets that no plan holds, %IR_BUDGET_ERROR
 */
G_DEFINE_EXTENDED_ERROR (IrBudgetError, ir_budget_error)

/**
 * ir_budget_refusal:
 * @error: (nullable): any error
 *
 * Returns: (nullable): what an error of %IR_BUDGET_ERROR says, in numbers
 */
const IrBudgetRefusal *
ir_budget_refusal (const GError *error)
{
  return error != NULL && error->domain == IR_BUDGET_ERROR ? ir_budget_error_get_private (error)
                                                           : NULL;
}

typedef struct
{
  const IrPreparing *from;
  IrMemFlags flags;
  IrModel *model;
  IrSchedule *schedule;
  IrMemPlan *plan;
  guint64 least_bytes;
  char *least_at; /* (nullable) */
} Attempt;

static void
drop_plan (Attempt *attempt)
{
  g_clear_pointer (&attempt->plan, ir_mem_plan_unref);
  g_clear_pointer (&attempt->schedule, ir_schedule_unref);
}

static void
attempt_clear (Attempt *attempt)
{
  drop_plan (attempt);
  g_clear_pointer (&attempt->model, ir_model_unref);
  g_clear_pointer (&attempt->least_at, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Attempt, attempt_clear)

static gboolean
plan_attempt (Attempt *attempt, GError **error)
{
  const IrMemOptions options = { .align_bytes = IR_ALIGN_BYTES,
                                 .max_steps = IR_MEM_DEFAULT_STEPS,
                                 .cancellable = attempt->from->cancellable };

  drop_plan (attempt);
  attempt->schedule = ir_schedule_new (attempt->model, attempt->from->backend,
                                       attempt->from->n_threads, error);
  if (attempt->schedule == NULL)
    return FALSE;
  attempt->plan = ir_mem_plan_new_full (attempt->model, attempt->schedule, attempt->flags,
                                        &options);
  return attempt->plan != NULL;
}

/* The least that was found so far, and where it is reached */
static void
note_least (Attempt *attempt, guint64 bytes, const IrNode *node)
{
  if (attempt->least_bytes != 0 && bytes >= attempt->least_bytes)
    return;
  attempt->least_bytes = bytes;
  g_free (attempt->least_at);
  attempt->least_at = node != NULL ? ir_node_label (node) : NULL;
}

static void
note_plan (Attempt *attempt)
{
  const IrMemPlan *plan = attempt->plan;
  const IrNode *node = NULL;

  for (guint i = 0; i < plan->items->len && node == NULL; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (item->offset + item->size == plan->peak_bytes &&
          item->first < attempt->schedule->items->len)
        node = ir_model_node (
            attempt->model,
            g_array_index (attempt->schedule->items, IrScheduleItem, item->first).node);
    }
  note_least (attempt, plan->peak_bytes, node);
}

static void
fail (const Attempt *attempt, const IrHeld *held, GError **error)
{
  GError *own = g_error_new (IR_BUDGET_ERROR, 0,
                             "the budget of %" G_GUINT64_FORMAT
                             " bytes cannot be held: the least that was found is %" G_GUINT64_FORMAT
                             " bytes, which %s reaches; without a budget it is %" G_GUINT64_FORMAT,
                             held->budget_bytes, attempt->least_bytes,
                             attempt->least_at != NULL ? attempt->least_at : "a node",
                             held->plain_bytes);

  *ir_budget_error_get_private (own) = (IrBudgetRefusal){ held->budget_bytes, held->plain_bytes,
                                                          attempt->least_bytes,
                                                          g_strdup (attempt->least_at) };
  g_propagate_error (error, own);
}

/* Makes nodes run again in the model of @attempt; FALSE: no plan holds @asked. */
static gboolean
run_again (Attempt *attempt, guint64 asked, IrHeld *held, GError **error)
{
  const IrMemOptions options = { .align_bytes = IR_ALIGN_BYTES,
                                 .max_steps = SEARCH_STEPS,
                                 .cancellable = attempt->from->cancellable };
  g_autoptr (IrRecomputeGraph)
      graph = ir_recompute_graph_new (attempt->model, attempt->schedule, attempt->flags, &options);

  if (graph == NULL)
    return FALSE;
  ir_recompute_hold_captured (graph, attempt->model);
  g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&graph->problem, asked, &options);
  if (plan == NULL)
    return FALSE;
  if (!plan->feasible)
    {
      if (asked == held->budget_bytes) /* a tighter one only makes up for what came before */
        note_least (attempt, plan->peak_bytes,
                    ir_recompute_peak_node (attempt->model, graph, plan));
      fail (attempt, held, error);
      return FALSE;
    }
  g_autoptr (IrModel) open = ir_model_clone (attempt->model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (open);
  held->n_again = ir_recompute_apply (edit, graph, plan);
  held->extra_flops = plan->extra_flops;
  held->flops = plan->flops;
  g_clear_pointer (&attempt->model, ir_model_unref);
  attempt->model = ir_model_snapshot (open);
  ir_model_order (attempt->model);
  return TRUE;
}

/**
 * ir_plan_hold_budget:
 * @from: what a plan is made from, with a budget
 * @held: (out): what it took
 * @error: return location for an error
 *
 * Fails with %IR_BUDGET_ERROR where no plan holds the budget: the message has the least bytes that were
 * found, and the node that reaches them; and with %IR_EXEC_ERROR_INPUT where it is no size. Sets no
 * error where it was cancelled.
 *
 * Returns: (transfer full) (nullable): the model with its sizes, in which nodes stand again
 */
IrModel *
ir_plan_hold_budget (const IrPreparing *from, IrHeld *held, GError **error)
{
  g_auto (Attempt) attempt = { .from = from,
                               .flags = from->without & IR_DECISION_SHARING ? IR_MEM_SEPARATE : 0 };
  guint64 asked = 0;

  *held = (IrHeld){ 0 };
  for (guint i = 0; i < MAX_TIGHTER; i++)
    {
      g_clear_pointer (&attempt.model, ir_model_unref);
      attempt.model = ir_prepared_bind_shapes (from->base, from->inputs, from->cancellable);
      if (attempt.model == NULL || !plan_attempt (&attempt, error))
        return NULL;
      held->plain_bytes = attempt.plan->peak_bytes;
      if (i == 0 && !ir_size_parse (from->budget, MAX (held->plain_bytes, 1), &held->budget_bytes))
        {
          g_set_error (
              error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
              "the budget %s is no size; give bytes, such as 20M, or a part of what it takes "
              "without, such as 50%%",
              from->budget);
          return NULL;
        }
      asked = i == 0 ? held->budget_bytes : asked;
      if (held->plain_bytes <= held->budget_bytes)
        return g_steal_pointer (&attempt.model);
      if (!run_again (&attempt, asked, held, error) || !plan_attempt (&attempt, error))
        return NULL;
      if (attempt.plan->peak_bytes <= held->budget_bytes)
        return g_steal_pointer (&attempt.model);
      const guint64 above = attempt.plan->peak_bytes - held->budget_bytes;
      note_plan (&attempt);
      asked -= MIN (above, asked - 1);
    }
  fail (&attempt, held, error);
  return NULL;
}
