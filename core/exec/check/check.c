/* The check observes a plain run: before a node it copies what the node reads,
 * in plain order, and behind it it reads what the node has written; then the node is computed
 * again from the copies (judge.c). A value is hashed when its producer has written it, and
 * when somebody reads it: where that differs, something else lies in its place. Nothing is kept for
 * the check, as keeping changes the plan. */
#include "config.h"

#include "core/exec/check/check-private.h"

#include "core/exec/schedule/kernel-choice.h"
#include "core/exec/replay/replay.h"
#include "core/op/infer.h"

#include <string.h>

static void
seen_free (gpointer data)
{
  IrSeen *seen = data;

  g_hash_table_unref (seen->given);
  g_free (seen);
}

static const IrScheduleItem *
item_at (const IrChecker *checker, guint step)
{
  return &g_array_index (checker->prepared->schedule->items, IrScheduleItem, step);
}

static guint
index_of (const IrChecker *checker, const IrRunStep *step)
{
  return (guint) (step - checker->prepared->steps);
}

/* -- who judges what -- */

/* @node as it would be if it asked for a kernel that is not its own. (nullable) */
static const IrNode *
find_other (IrChecker *checker, const IrNode *node, IrNodeCheck *item)
{
  const IrBackend *backend = checker->state->options->backend;
  g_auto (GStrv) names = ir_kernel_choices (backend, node);

  for (guint i = 0; names[i] != NULL; i++)
    {
      const char *why;
      if (strcmp (names[i], ir_backend_ref.name) == 0)
        continue;
      if (checker->asking == NULL)
        checker->asking = ir_model_clone (checker->prepared->model);
      IrNode *other = ir_model_live_node (checker->asking, node->id);
      g_autoptr (IrEdit) edit = ir_edit_new (checker->asking);
      ir_edit_begin_pass (edit, "edit");
      ir_edit_ask_for_kernel (edit, other, names[i]);
      ir_edit_end_pass (edit);
      const char *taken = ir_kernel_taken (backend, other, &why);
      if (taken == NULL || strcmp (taken, item->kernel) == 0)
        continue;
      item->judge = taken;
      return other;
    }
  return NULL;
}

static char *
over_budget (const IrChecker *checker, guint64 flops)
{
  gboolean alone = flops > checker->budget.node_flops;

  return g_strdup_printf (
      "it has %.3g GFLOP, and the budget of %s is %.3g", (double) flops / 1e9,
      alone ? "one node" : "all nodes together",
      (double) (alone ? checker->budget.node_flops : checker->budget.total_flops) / 1e9);
}

static gboolean
afford (IrChecker *checker, guint64 flops)
{
  if (flops > checker->budget.node_flops || flops > checker->left_flops)
    return FALSE;
  checker->left_flops -= flops;
  return TRUE;
}

/* What is not known before is afforded when the node has run. */
static gboolean
is_known_before (const IrChecker *checker, const IrNode *node)
{
  gboolean partial = FALSE;

  ir_cost_node_flops (node, &partial);
  return !partial && !ir_prepared_is_control (checker->prepared, node);
}

static void
plan_step (IrChecker *checker, guint step)
{
  const IrPrepared *prepared = checker->prepared;
  const IrNode *node = prepared->steps[step].node;
  const IrScheduleItem *item = item_at (checker, step);
  IrNodeCheck *found = &checker->items[step];
  gboolean partial = FALSE;

  *found = (IrNodeCheck){ .node = node->id,
                          .kernel = item->kernel,
                          .layout = item->layout != item->choice ? item->layout : NULL };
  if (!is_known_before (checker, node))
    return;
  found->flops = ir_cost_node_flops (node, &partial);
  if (afford (checker, found->flops))
    return;
  checker->others[step] = find_other (checker, node, found);
  checker->judges[step] = checker->others[step] != NULL ? IR_JUDGE_OTHER : IR_JUDGE_NONE;
  if (checker->others[step] == NULL)
    ir_check_leave (found, over_budget (checker, found->flops));
}

/* -- values -- */

static void
note_written (IrChecker *checker,
              const IrValue *value,
              const IrTensor *kept,
              const IrTensor *plain, /* (nullable) it was never whole */
              guint step)
{
  IrWritten *written = &checker->written[value->id];

  *written = (IrWritten){ .known = plain != NULL, .step = step };
  if (plain != NULL)
    written->hash = ir_tensor_hash (plain);
  if (kept != NULL && !ir_tensor_is_container (kept))
    {
      written->data = ir_tensor_data (kept);
      written->bytes = ir_tensor_n_bytes (kept);
    }
}

/* What the call of the node reads, or the value holds. (nullable) */
static const IrTensor *
tensor_for (const IrChecker *checker, const IrRunStep *step, const IrValue *value)
{
  if (step != NULL && step->bound && !checker->state->diverged)
    for (guint i = 0; i < step->node->n_inputs; i++)
      if (step->node->inputs[i] == value && step->call.inputs[i].present &&
          step->call.inputs[i].tensor != NULL && !step->call.inputs[i].there)
        return step->call.inputs[i].tensor;
  return ir_run_state_tensor (checker->state, value);
}

static void
note_loss (IrChecker *checker, const IrValue *value, guint item, guint step)
{
  const IrLoss loss = { value->id, item, step };

  g_mutex_lock (&checker->lock);
  g_array_append_val (checker->losses, loss);
  g_mutex_unlock (&checker->lock);
}

/* @step: %NULL: in a body, around which nothing is written meanwhile */
static gboolean
see_value (
    IrChecker *checker, IrSeen *seen, const IrRunStep *step, const IrValue *value, GError **error)
{
  const IrTensor *constant = ir_value_constant (value);
  const IrTensor *tensor = constant == NULL ? tensor_for (checker, step, value) : constant;
  const IrWritten *written = &checker->written[value->id];

  if (tensor == NULL || g_hash_table_contains (seen->given, GUINT_TO_POINTER (value->id)))
    return TRUE;
  IrTensor *plain = constant != NULL
                        ? ir_tensor_ref ((IrTensor *) constant)
                        : ir_check_plain (checker->state, value, tensor,
                                          step != NULL || value->producer != NULL, error);
  if (plain == NULL)
    return FALSE;
  g_hash_table_insert (seen->given, GUINT_TO_POINTER (value->id), plain);
  if (constant == NULL && written->known && ir_tensor_hash (plain) != written->hash && step != NULL)
    note_loss (checker, value, index_of (checker, step), index_of (checker, step));
  return TRUE;
}

static gboolean
see_reads (
    IrChecker *checker, IrSeen *seen, const IrRunStep *step, const IrNode *node, GError **error)
{
  g_autoptr (GPtrArray) reads = ir_replay_reads (node);

  for (guint i = 0; i < reads->len; i++)
    if (!see_value (checker, seen, step, reads->pdata[i], error))
      return FALSE;
  return TRUE;
}

/* -- steps -- */

static IrSeen *
seen_new (const IrChecker *checker, const IrNode *node)
{
  GHashTable *draws = checker->state->draws;
  IrSeen *seen = g_new0 (IrSeen, 1);

  seen->given = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  seen->round = draws != NULL && !checker->state->concurrent
                    ? GPOINTER_TO_UINT (g_hash_table_lookup (draws, GUINT_TO_POINTER (node->id)))
                    : 0;
  seen->body_flops = checker->body_flops;
  return seen;
}

static gboolean
is_made_in_chain (const IrRunStep *head, const IrValue *value)
{
  for (guint i = 0; i < head->chain; i++)
    if (head[i].link != 0 && head[i].node == value->producer)
      return TRUE;
  return FALSE;
}

static gboolean
see_chain (IrChecker *checker, IrSeen *seen, const IrRunStep *head, GError **error)
{
  for (guint i = 0; i < head->chain; i++)
    ir_node_for_each_input (head[i].node, slot, value)
      {
        if (head[i].link != 0 && !is_made_in_chain (head, value) &&
            !see_value (checker, seen, &head[i], value, error))
          return FALSE;
      }
  return TRUE;
}

/* Whether nothing later in the chain is written where a step of it has written. */
static gboolean
stays_whole (const IrRunStep *head, guint at)
{
  const IrTensor *tensor = head[at].outputs[0];
  const char *data = ir_tensor_data (tensor);

  for (guint i = at + 1; i < head->chain; i++)
    {
      const IrTensor *other = head[i].link != 0 ? head[i].outputs[0] : NULL;
      const char *there = other != NULL ? ir_tensor_data (other) : NULL;
      if (there != NULL && there < data + ir_tensor_n_bytes (tensor) &&
          data < there + ir_tensor_n_bytes (other))
        return FALSE;
    }
  return TRUE;
}

/* A chain of which one node is beyond the budget is left as a whole. */
static gboolean
leaves_chain (IrChecker *checker, const IrRunStep *head)
{
  guint first = index_of (checker, head);
  gboolean some = FALSE;

  for (guint i = 0; i < head->chain; i++)
    some = some || (head[i].link != 0 && checker->judges[first + i] != IR_JUDGE_REF);
  for (guint i = 0; some && i < head->chain; i++)
    if (head[i].link != 0)
      ir_check_leave (
          &checker->items[first + i],
          g_strdup ("it runs tile by tile with others, whose work together is beyond the "
                    "budget"));
  return some;
}

static gboolean
after_chain (IrChecker *checker, const IrRunStep *head, IrSeen *seen, GError **error)
{
  g_autofree IrTensor **outputs = g_new0 (IrTensor *, head->chain);
  guint first = index_of (checker, head);
  gboolean going = TRUE;

  for (guint i = 0; going && i < head->chain; i++)
    {
      if (head[i].link == 0)
        continue;
      const IrValue *value = head[i].node->outputs[0];
      if (stays_whole (head, i))
        {
          outputs[i] = ir_check_plain (checker->state, value, head[i].outputs[0], FALSE, error);
          going = outputs[i] != NULL;
        }
      note_written (checker, value, head[i].outputs[0], outputs[i], first + i + 1);
      checker->items[first + i].rounds++;
    }
  if (going && !leaves_chain (checker, head))
    going = ir_check_judge_chain (checker, head, seen, outputs, error);
  for (guint i = 0; i < head->chain; i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
  return going;
}

/* Work of nodes whose sizes were not known before, or that run others. */
static IrJudge
judge_later (IrChecker *checker,
             const IrNode *node,
             const IrSeen *seen,
             IrNodeCheck *item,
             IrTensor *const *outputs)
{
  gboolean control = ir_prepared_is_control (checker->prepared, node);
  guint64 flops = control ? checker->body_flops - seen->body_flops
                          : ir_check_work (node, seen->given, outputs);

  item->flops += flops;
  if (afford (checker, flops))
    return IR_JUDGE_REF;
  ir_check_leave (item, over_budget (checker, flops));
  return IR_JUDGE_NONE;
}

/* Whether it runs others that may have drawn random numbers: by itself it would draw the first ones again. */
static gboolean
draws_inside (const IrChecker *checker, const IrNode *node)
{
  return ir_prepared_is_control (checker->prepared, node) && checker->state->draws != NULL &&
         (node->op->flags & IR_OP_RANDOM) != 0;
}

/* @step: G_MAXUINT: in a body */
static gboolean
after_node (IrChecker *checker,
            const IrNode *node,
            IrSeen *seen,
            IrNodeCheck *item,
            guint step,
            GError **error)
{
  g_autofree IrTensor **outputs = g_new0 (IrTensor *, node->n_outputs + 1);
  IrJudging judging = { checker, IR_JUDGE_REF, NULL, seen, item };
  gboolean going = TRUE, in_body = step == G_MAXUINT;

  for (guint i = 0; going && i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      const IrTensor *kept = value != NULL ? ir_run_state_tensor (checker->state, value) : NULL;
      if (kept == NULL)
        continue;
      outputs[i] = ir_check_plain (checker->state, value, kept, checker->state->concurrent, error);
      going = outputs[i] != NULL;
      if (going && !in_body)
        note_written (checker, value, kept, outputs[i], step + 1);
    }
  item->rounds++;
  if (!in_body)
    {
      judging.by = checker->judges[step];
      judging.other = checker->others[step];
    }
  if (going && (in_body || !is_known_before (checker, node)))
    judging.by = judge_later (checker, node, seen, item, outputs);
  if (judging.by != IR_JUDGE_NONE && draws_inside (checker, node))
    {
      ir_check_leave (
          item, g_strdup ("it calls what draws random numbers, which is judged node by node"));
      judging.by = IR_JUDGE_NONE;
    }
  if (going && judging.by != IR_JUDGE_NONE)
    going = ir_check_judge (&judging, node, outputs, error);
  for (guint i = 0; i < node->n_outputs; i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
  return going;
}

/* -- bodies -- */

static IrNodeCheck *
body_item (IrChecker *checker, const IrNode *node)
{
  const IrKernelChoice *choice = ir_prepared_choice (checker->prepared, node);
  gpointer key = GUINT_TO_POINTER (node->id);
  guint found = GPOINTER_TO_UINT (g_hash_table_lookup (checker->body_of, key));

  if (found == 0)
    {
      IrBodyCheck body = { { .node = node->id }, checker->step };
      body.item.kernel = choice->kernel != NULL ? choice->name : "control flow";
      g_array_append_val (checker->bodies, body);
      found = checker->bodies->len;
      g_hash_table_insert (checker->body_of, key, GUINT_TO_POINTER (found));
    }
  return &g_array_index (checker->bodies, IrBodyCheck, found - 1).item;
}

/* What owns subgraphs within one is judged with the node of the main graph around it. */
static gboolean
after_body (IrChecker *checker, const IrNode *node, GError **error)
{
  g_autoptr (GError) local = NULL;
  IrSeen *seen = g_ptr_array_steal_index (checker->inner, checker->inner->len - 1);
  gboolean going = TRUE;

  if (!ir_prepared_is_control (checker->prepared, node))
    {
      IrNodeCheck *item = body_item (checker, node);
      guint64 before = item->flops;
      going = after_node (checker, node, seen, item, G_MAXUINT, error);
      checker->body_flops += item->flops - before;
    }
  seen_free (seen);
  return going;
}

/* -- observing the run -- */

static gboolean
begin (IrObserver *observer, IrRunState *state, GError **error)
{
  IrChecker *checker = (IrChecker *) observer;
  const IrPrepared *prepared = state->prepared;

  checker->state = state;
  checker->prepared = prepared;
  checker->n_steps = prepared->schedule->items->len;
  checker->items = g_new0 (IrNodeCheck, checker->n_steps + 1);
  checker->judges = g_new0 (guint8, checker->n_steps + 1);
  checker->others = g_new0 (const IrNode *, checker->n_steps + 1);
  checker->seen = g_new0 (IrSeen *, checker->n_steps + 1);
  checker->written = g_new0 (IrWritten, prepared->n_values + 1);
  for (guint step = 0; step < checker->n_steps; step++)
    {
      if (ir_exec_cancelled (state->cancellable, step, error))
        return FALSE;
      plan_step (checker, step);
    }
  for (guint i = 0; i < ir_graph_n_inputs (prepared->model->main); i++)
    {
      const IrValue *input = ir_graph_input (prepared->model->main, i);
      const IrTensor *tensor = input != NULL && ir_value_constant (input) == NULL
                                   ? ir_run_state_tensor (state, input)
                                   : NULL;
      g_autoptr (IrTensor)
          plain = tensor != NULL ? ir_check_plain (state, input, tensor, FALSE, error) : NULL;
      if (plain != NULL)
        note_written (checker, input, tensor, plain, 0);
    }
  return TRUE;
}

static gboolean
before (IrObserver *observer,
        IrRunState *state,
        const IrNode *node,
        const IrRunStep *step,
        GError **error)
{
  IrChecker *checker = (IrChecker *) observer;

  if (step != NULL && step->link > 1 && !state->diverged)
    return TRUE; /* the first of its chain has run it */
  IrSeen *seen = seen_new (checker, node);
  if (step != NULL && !state->concurrent)
    checker->step = index_of (checker, step);
  if (step == NULL)
    g_ptr_array_add (checker->inner, seen);
  else
    checker->seen[index_of (checker, step)] = seen;
  if (step != NULL && step->chain > 0 && !state->diverged)
    return see_chain (checker, seen, step, error);
  return see_reads (checker, seen, step, node, error);
}

static gboolean
after (IrObserver *observer,
       IrRunState *state,
       const IrNode *node,
       const IrRunStep *step,
       GError **error)
{
  IrChecker *checker = (IrChecker *) observer;

  if (step == NULL)
    return after_body (checker, node, error);
  guint index = index_of (checker, step);
  IrSeen *seen = g_steal_pointer (&checker->seen[index]);
  if (seen == NULL)
    return TRUE;
  gboolean going = step->chain > 0 && !state->diverged
                       ? after_chain (checker, step, seen, error)
                       : after_node (checker, node, seen, &checker->items[index], index, error);
  seen_free (seen);
  return going;
}

/* -- what was lost -- */

/* The first step that wrote into the bytes of @value behind its producer. */
static guint
find_writer (const IrChecker *checker, IrValueId value, guint until)
{
  const IrWritten *lost = &checker->written[value];
  guint found = 0;

  for (guint id = 1; lost->data != NULL && id < checker->prepared->n_values; id++)
    {
      const IrWritten *other = &checker->written[id];
      if (id != value && other->data != NULL && other->step > lost->step && other->step <= until &&
          !(checker->prepared->steps[other->step - 1].no_op &&
            checker->prepared->steps[other->step - 1].link == 0) &&
          other->data < lost->data + lost->bytes && lost->data < other->data + other->bytes &&
          (found == 0 || other->step < found))
        found = other->step;
    }
  return found;
}

static char *
explain_loss (const IrChecker *checker, const IrLoss *loss, guint writer)
{
  const IrValue *value = ir_model_value (checker->prepared->model, loss->value);
  GString *text = g_string_new (value->name);

  if (value->producer != NULL)
    {
      g_autofree char *label = ir_node_label (value->producer);
      g_string_append_printf (text, " is no longer what %s wrote", label);
    }
  else
    g_string_append (text, " is no longer what was given");
  g_string_append (text,
                   loss->step == checker->n_steps ? " when the run ends" : " when it is read");
  if (writer != 0)
    {
      g_autofree char *label = ir_node_label (checker->prepared->steps[writer - 1].node);
      g_string_append_printf (text, "; %s has written over it", label);
    }
  return g_string_free (text, FALSE);
}

static void
settle_losses (IrChecker *checker)
{
  for (guint i = 0; i < checker->losses->len; i++)
    {
      const IrLoss *loss = &g_array_index (checker->losses, IrLoss, i);
      IrNodeCheck *item = &checker->items[loss->item];
      guint writer = find_writer (checker, loss->value, loss->step);
      if (item->verdict == IR_CHECKED_OVERWRITTEN)
        continue;
      g_free (item->reason);
      item->verdict = IR_CHECKED_OVERWRITTEN;
      item->value = loss->value;
      item->reason = explain_loss (checker, loss, writer);
      item->writer = writer != 0 ? checker->prepared->steps[writer - 1].node->id : 0;
      item->found = (IrComparison){ 0 };
    }
}

/* What leaves the graph is read by whoever wanted it. */
static gboolean
end (IrObserver *observer, IrRunState *state, GError **error)
{
  IrChecker *checker = (IrChecker *) observer;
  const IrGraph *main = state->prepared->model->main;

  for (guint i = 0; i < ir_graph_n_outputs (main); i++)
    {
      const IrValue *value = ir_graph_output (main, i);
      const IrWritten *written = value != NULL ? &checker->written[value->id] : NULL;
      const IrTensor *tensor = written != NULL && written->known && written->step > 0
                                   ? ir_run_state_tensor (state, value)
                                   : NULL;
      if (tensor == NULL)
        continue;
      g_autoptr (IrTensor) plain = ir_check_plain (state, value, tensor, FALSE, error);
      if (plain == NULL)
        return FALSE;
      if (ir_tensor_hash (plain) != written->hash)
        note_loss (checker, value, written->step - 1, checker->n_steps);
    }
  return TRUE;
}

/* -- the whole -- */

static void
item_clear (gpointer data)
{
  IrNodeCheck *item = data;

  g_free (item->reason);
  g_free (item->place);
}

static void
take_item (IrChecker *checker, IrNodeCheck *item)
{
  IrExecutionCheck *check = checker->check;

  if (item->rounds == 0)
    ir_check_leave (item, g_strdup ("the run did not come to it"));
  if (ir_checked_is_fault (item->verdict))
    item->place = ir_check_place (checker->prepared->memplan, item->value);
  check->n[item->verdict]++;
  g_array_append_val (check->nodes, *item);
  if (check->first == 0 && ir_checked_is_fault (item->verdict))
    check->first = check->nodes->len;
  *item = (IrNodeCheck){ 0 };
}

/* No-op members of chains, and what the first run computed for all, count as having run. */
static void
gather (IrChecker *checker)
{
  guint body = 0;

  settle_losses (checker);
  for (guint step = 0; step < checker->n_steps; step++)
    {
      for (; body < checker->bodies->len; body++)
        {
          IrBodyCheck *inner = &g_array_index (checker->bodies, IrBodyCheck, body);
          if (inner->step > step)
            break;
          take_item (checker, &inner->item);
        }
      take_item (checker, &checker->items[step]);
    }
}

static void
checker_clear (IrChecker *checker)
{
  for (guint step = 0; step < checker->n_steps; step++)
    {
      g_clear_pointer (&checker->seen[step], seen_free);
      item_clear (&checker->items[step]);
    }
  for (guint i = 0; i < checker->bodies->len; i++)
    item_clear (&g_array_index (checker->bodies, IrBodyCheck, i).item);
  g_free (checker->items);
  g_free (checker->judges);
  g_free (checker->others);
  g_free (checker->seen);
  g_free (checker->written);
  g_clear_pointer (&checker->asking, ir_model_unref);
  g_ptr_array_unref (checker->inner);
  g_array_unref (checker->bodies);
  g_array_unref (checker->losses);
  g_hash_table_unref (checker->body_of);
  g_mutex_clear (&checker->lock);
}

/**
 * ir_execution_check_free:
 * @check: (transfer full) (nullable): a check
 */
void
ir_execution_check_free (IrExecutionCheck *check)
{
  if (check == NULL)
    return;
  g_array_unref (check->nodes);
  g_clear_pointer (&check->schedule, ir_schedule_unref);
  g_clear_pointer (&check->model, ir_model_unref);
  g_clear_error (&check->error);
  g_free (check);
}

/**
 * ir_execution_check_new_failed:
 * @error: (transfer full): why nothing ran
 *
 * Returns: (transfer full): a check in which no node was judged
 */
IrExecutionCheck *
ir_execution_check_new_failed (GError *error)
{
  IrExecutionCheck *check = g_new0 (IrExecutionCheck, 1);

  check->nodes = g_array_new (FALSE, TRUE, sizeof (IrNodeCheck));
  check->error = error;
  return check;
}

static void
checker_init (IrChecker *checker, const IrCheckBudget *budget)
{
  *checker = (IrChecker){ .observer = { begin, before, after, end } };
  if (budget != NULL)
    checker->budget = *budget;
  if (checker->budget.node_flops == 0)
    checker->budget.node_flops = IR_CHECK_NODE_FLOPS;
  if (checker->budget.total_flops == 0)
    checker->budget.total_flops = IR_CHECK_TOTAL_FLOPS;
  checker->left_flops = checker->budget.total_flops;
  checker->inner = g_ptr_array_new_with_free_func (seen_free);
  checker->bodies = g_array_new (FALSE, TRUE, sizeof (IrBodyCheck));
  checker->body_of = g_hash_table_new (NULL, NULL);
  checker->losses = g_array_new (FALSE, FALSE, sizeof (IrLoss));
  g_mutex_init (&checker->lock);
}

/* @run: to its end, or to where it failed */
static IrExecutionCheck *
check_new (IrChecker *checker, const IrRun *run)
{
  IrExecutionCheck *check = g_new0 (IrExecutionCheck, 1);

  check->model = ir_model_ref (run->model);
  check->schedule = ir_schedule_ref (run->schedule);
  check->nodes = g_array_new (FALSE, TRUE, sizeof (IrNodeCheck));
  g_array_set_clear_func (check->nodes, item_clear);
  checker->check = check;
  gather (checker);
  return check;
}

/**
 * ir_executable_check:
 * @executable: an executable that keeps no values but outputs, and has not run
 * @inputs: value id -> #IrTensor; overridable inputs may be left out
 * @budget: (nullable): how much work reference kernels may have; %NULL: the defaults
 * @cancellable: (nullable): polled between nodes
 * @error: return location for an error
 *
 * Runs once and judges every node. Nodes beyond the budget are judged by another candidate of the
 * back end, or are not judged. Where the run fails at some node, those before it are judged all the
 * same, and the check says so.
 *
 * Fails as ir_executable_run() where nothing has run, and if it was cancelled.
 *
 * Returns: (transfer full) (nullable): what was found
 */
IrExecutionCheck *
ir_executable_check (IrExecutable *executable,
                     GHashTable *inputs,
                     const IrCheckBudget *budget,
                     GCancellable *cancellable,
                     GError **error)
{
  IrExecutionCheck *check = NULL;
  g_autoptr (GError) local = NULL;
  g_autoptr (IrRun) partial = NULL;
  IrChecker checker;

  checker_init (&checker, budget);
  g_autoptr (IrRun) run = ir_executable_run_observed (executable, inputs, &checker.observer,
                                                      cancellable, &partial, &local);
  if (run != NULL)
    check = check_new (&checker, run);
  else if (partial != NULL && checker.prepared != NULL &&
           !g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED))
    {
      check = check_new (&checker, partial);
      check->error = g_steal_pointer (&local);
    }
  else
    g_propagate_error (error, g_steal_pointer (&local));
  checker_clear (&checker);
  return check;
}

/**
 * ir_execution_check:
 * @model: a model
 * @inputs: value id -> #IrTensor
 * @options: (nullable): how to run; what it keeps is left out
 * @budget: (nullable): how much work reference kernels may have; %NULL: the defaults
 * @cancellable: (nullable): polled between nodes
 * @error: return location for an error
 *
 * Prepares, runs once and judges as ir_executable_check(), and frees.
 *
 * Returns: (transfer full) (nullable): what was found
 */
IrExecutionCheck *
ir_execution_check (IrModel *model,
                    GHashTable *inputs,
                    const IrRunOptions *options,
                    const IrCheckBudget *budget,
                    GCancellable *cancellable,
                    GError **error)
{
  IrRunOptions plain = options != NULL ? *options : (IrRunOptions){ 0 };

  plain.capture = IR_CAPTURE_NONE;
  plain.chosen = NULL;
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &plain, error);
  return executable != NULL ? ir_executable_check (executable, inputs, budget, cancellable, error)
                            : NULL;
}

/* -- while a run is controlled -- */

/* What is wrong with the node that has just run. (transfer full) (nullable) */
static char *
say_fault (IrObserver *observer, const IrNode *node)
{
  const IrChecker *checker = (IrChecker *) observer;
  const guint body = GPOINTER_TO_UINT (
      g_hash_table_lookup (checker->body_of, GUINT_TO_POINTER (node->id)));
  const IrNodeCheck *item = body != 0 ? &g_array_index (checker->bodies, IrBodyCheck, body - 1).item
                                      : &checker->items[checker->step];

  if (item->node != node->id || item->verdict != IR_CHECKED_BEYOND)
    return NULL;
  return item->reason != NULL ? g_strdup (item->reason)
                              : ir_check_difference (checker->prepared->model, item);
}

/**
 * ir_run_control_check:
 * @control: of a run that has not begun
 * @budget: (nullable): as of ir_executable_check()
 *
 * Computes each node once more by the reference kernels, so that breakpoints know where the run leaves
 * them. To be undone by ir_run_control_uncheck() when the run has ended.
 */
void
ir_run_control_check (IrRunControl *control, const IrCheckBudget *budget)
{
  IrChecker *checker = g_new0 (IrChecker, 1);

  checker_init (checker, budget);
  ir_run_control_watch (control, &checker->observer, say_fault);
}

/**
 * ir_run_control_uncheck:
 * @control: whose run has ended
 */
void
ir_run_control_uncheck (IrRunControl *control)
{
  IrChecker *checker = (IrChecker *) ir_run_control_watcher (control);

  if (checker == NULL)
    return;
  ir_run_control_watch (control, NULL, NULL);
  checker_clear (checker);
  g_free (checker);
}
