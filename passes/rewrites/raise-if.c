/* Switches of one predicate, and the Merges that bring their two sides together, as an If.
 *
 * Source: functionalize_cond.cc of TensorFlow's bridge to XLA names the task; here each predicate value
 * is one construct, so that pred_id of tf.cond, or what lower-control-flow makes, is found again. */
#include "config.h"

#include "passes/rewrites/raise-private.h"
#include "passes/rule/move.h"
#include "passes/rule/step.h"

typedef struct
{
  IrRaise *raise;
  const IrRaiseChoice *choice;
  IrRaiseReach sides[2]; /* of the else branch, of the then branch */
  GPtrArray *merges;     /* of IrNode */
  IrValue **results[2];  /* by Merge: what each side gives */
  IrNode *node;          /* the If */
  IrGraph *branches[2];
} Choice;

static void
choice_clear (Choice *c)
{
  for (guint side = 0; side < 2; side++)
    {
      ir_raise_reach_clear (&c->sides[side]);
      g_free (c->results[side]);
    }
  g_clear_pointer (&c->merges, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Choice, choice_clear)

/* -- what belongs to it -- */

static gboolean
takes (IrRaiseReach *reach, IrNode *node, const IrValue *value)
{
  Choice *c = reach->data;
  IrTokens tokens = ir_node_tokens (node);

  if (tokens == IR_TOKENS_MERGE)
    {
      if (!g_ptr_array_find (c->merges, node, NULL))
        g_ptr_array_add (c->merges, node);
      return FALSE;
    }
  g_autofree char *label = ir_node_label (node);
  if (tokens != IR_TOKENS_STRICT)
    ir_raise_reach_fail (reach, "%s is reached from it before a Merge", label);
  else if (g_hash_table_contains (c->sides[reach == &c->sides[0]].set, node))
    ir_raise_reach_fail (reach, "%s needs both sides, so it is never computed", label);
  return reach->why == NULL;
}

/* 0, 1, or 2: from neither side */
static guint
side_of (const Choice *c, const IrValue *value)
{
  if (value == NULL || value->producer == NULL)
    return 2;
  if (g_ptr_array_find (c->choice->switches, value->producer, NULL))
    return value->output_slot;
  for (guint side = 0; side < 2; side++)
    if (g_hash_table_contains (c->sides[side].set, value->producer))
      return side;
  return 2;
}

static int
compare_ids (gconstpointer a, gconstpointer b)
{
  const IrNodeId x = (*(const IrNode *const *) a)->id, y = (*(const IrNode *const *) b)->id;

  return x < y ? -1 : x > y;
}

static char *
find_results (Choice *c)
{
  g_ptr_array_sort (c->merges, compare_ids); /* as the outputs of an If were lowered */
  for (guint side = 0; side < 2; side++)
    c->results[side] = g_new0 (IrValue *, c->merges->len + 1);
  for (guint i = 0; i < c->merges->len; i++)
    {
      const IrNode *merge = c->merges->pdata[i];
      g_autofree char *label = ir_node_label (merge);
      if (merge->n_inputs != 2)
        return g_strdup_printf ("%s has %u inputs, needed two", label, merge->n_inputs);
      if (ir_node_output (merge, 1) != NULL && ir_node_output (merge, 1)->n_uses > 0)
        return g_strdup_printf ("the index that %s gives is read", label);
      for (guint k = 0; k < 2; k++)
        {
          guint side = side_of (c, merge->inputs[k]);
          if (side == 2 || c->results[side][i] != NULL)
            return g_strdup_printf ("the inputs of %s do not come from the two sides", label);
          c->results[side][i] = merge->inputs[k];
        }
    }
  return NULL;
}

static gboolean
takes_all (IrRaiseReach *reach, IrNode *node, const IrValue *value)
{
  const Choice *c = reach->data;

  if (g_ptr_array_find (c->choice->switches, node, NULL) ||
      g_hash_table_contains (c->sides[0].set, node) ||
      g_hash_table_contains (c->sides[1].set, node))
    {
      g_autofree char *label = ir_node_label (node);
      ir_raise_reach_fail (reach,
                           "what it gives comes back to it at %s; give each If a predicate of "
                           "its own by Identity",
                           label);
    }
  return ir_node_tokens (node) != IR_TOKENS_NEXT_ITERATION;
}

/* An If may not read what it gives. */
static char *
find_cycle (Choice *c)
{
  g_auto (IrRaiseReach) reach = { 0 };

  ir_raise_reach_init (&reach, c->raise);
  reach.takes = takes_all;
  reach.data = c;
  reach.outputs_too = TRUE;
  for (guint i = 0; i < c->merges->len; i++)
    ir_raise_reach_from (&reach, ((IrNode *) c->merges->pdata[i])->outputs[0]);
  ir_raise_reach_all (&reach);
  return g_steal_pointer (&reach.why);
}

static char *
find_parts (Choice *c)
{
  for (guint side = 0; side < 2; side++)
    {
      ir_raise_reach_init (&c->sides[side], c->raise);
      c->sides[side].takes = takes;
      c->sides[side].primitives = c->choice->switches;
      c->sides[side].data = c;
    }
  for (guint i = 0; i < c->choice->switches->len; i++)
    for (guint side = 0; side < 2; side++)
      {
        const IrNode *node = c->choice->switches->pdata[i];
        if (node->outputs[side] != NULL)
          ir_raise_reach_from (&c->sides[side], node->outputs[side]);
      }
  for (guint side = 0; side < 2; side++)
    {
      ir_raise_reach_all (&c->sides[side]);
      if (c->sides[side].why != NULL)
        return g_steal_pointer (&c->sides[side].why);
    }
  char *why = find_results (c);
  if (why == NULL)
    why = ir_raise_find_waited_for (c->raise, c->choice->switches);
  if (why == NULL)
    why = ir_raise_find_waited_for (c->raise, c->merges);
  return why != NULL ? why : find_cycle (c);
}

/* -- the If -- */

static void
add_if (Choice *c)
{
  static const char *const names[] = { "else_branch", "then_branch" };
  IrRaise *raise = c->raise;
  IrNode *first = c->choice->switches->pdata[0];
  IrValue *predicate = first->inputs[1]; /* as it is now: inner constructs were raised */

  c->node = ir_raise_add (raise, raise->graph, first, "If", 1, &predicate, c->merges->len);
  for (guint side = 0; side < 2; side++)
    {
      c->branches[side] = ir_edit_add_graph (raise->edit, IR_GRAPH_SUBGRAPH, names[side]);
      ir_edit_set_attr (
          raise->edit, c->node,
          ir_attr_graph (raise->context->model->context, names[side], c->branches[side]->id));
    }
}

static gboolean
is_read_inside (const Choice *c, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    if (ir_value_use (value, i).graph != c->raise->graph)
      return TRUE;
  return FALSE;
}

/* What it was dead with it still is, although it need not read it: the Switches said so. */
static void
keep_gate (Choice *c, IrValue *const *data, guint n)
{
  IrRaise *raise = c->raise;

  if (c->choice->condition == NULL || c->choice->condition->n == 0 || n == 0)
    return;
  for (guint i = 0; i < n; i++)
    if (is_read_inside (c, data[i]) || data[i] == c->node->inputs[0])
      return;
  IrValue *gate = ir_raise_identity (raise, raise->graph, c->node, data[0]);
  ir_raise_let_wait (raise, c->node, gate->producer);
}

/* In the branches what a Switch brought in is read as it is. */
static void
remove_switches (Choice *c)
{
  IrRaise *raise = c->raise;
  const GPtrArray *switches = c->choice->switches;
  g_autofree IrValue **data = g_new0 (IrValue *, switches->len);

  for (guint i = 0; i < switches->len; i++)
    {
      IrNode *node = switches->pdata[i];
      data[i] = node->inputs[0];
      for (guint side = 0; side < 2; side++)
        {
          for (guint k = 0; k < c->merges->len; k++)
            if (c->results[side][k] == node->outputs[side])
              c->results[side][k] = data[i];
          if (node->outputs[side] != NULL)
            ir_edit_replace_uses (raise->edit, node->outputs[side], data[i]);
        }
      ir_raise_take_controls (raise, node, c->node);
      ir_edit_remove_node (raise->edit, node);
    }
  for (guint side = 0; side < 2; side++)
    ir_raise_move_in (raise, &c->sides[side], c->branches[side]);
  keep_gate (c, data, switches->len);
}

static void
set_branch_outputs (Choice *c, guint side)
{
  IrRaise *raise = c->raise;
  IrValue **results = c->results[side];

  for (guint i = 0; i < c->merges->len; i++)
    if (results[i]->graph != c->branches[side])
      results[i] = ir_raise_identity (raise, c->branches[side], c->node, results[i]);
  ir_edit_set_graph_outputs (raise->edit, c->branches[side], results, c->merges->len);
}

static gboolean
replace_merges (Choice *c)
{
  IrRaise *raise = c->raise;

  for (guint i = 0; i < c->merges->len; i++)
    {
      IrNode *merge = c->merges->pdata[i];
      IrValue *old = merge->outputs[0];
      if (!ir_pass_fit_type (raise->context, old, c->node->outputs[i]))
        return FALSE;
      ir_edit_replace_uses (raise->edit, old, c->node->outputs[i]);
      ir_raise_take_controls (raise, merge, c->node);
      ir_edit_remove_node (raise->edit, merge);
      ir_pass_take_name (raise->context, old, c->node->outputs[i]);
    }
  return TRUE;
}

/* The Identity that told this predicate from others. */
static void
drop_predicate_copy (Choice *c)
{
  IrRaise *raise = c->raise;
  const IrValue *predicate = c->node->inputs[0];
  IrNode *copy = predicate->producer;

  if (copy == NULL || !ir_node_is (copy, "Identity") || copy->graph != raise->graph ||
      ir_raise_is_waited_for (raise, copy) || predicate->n_uses != 1)
    return;
  ir_edit_set_input (raise->edit, c->node, 0, copy->inputs[0]);
  ir_raise_take_controls (raise, copy, c->node);
  ir_edit_remove_node (raise->edit, copy);
}

/* Nothing comes out of it, so nothing of it is needed. */
static void
remove_all (Choice *c)
{
  for (guint side = 0; side < 2; side++)
    ir_raise_remove_unread (c->raise, c->sides[side].nodes);
  ir_raise_remove_unread (c->raise, c->choice->switches);
  ir_raise_end (c->raise, c->choice->switches->len);
}

static gboolean
may_be_one_bool (const IrValue *value)
{
  guint64 n;

  return ir_value_dtype (value) == IR_DTYPE_BOOL &&
         (!ir_type_n_elements (value->type, &n) || n == 1);
}

char *
ir_raise_choice (IrRaise *raise, const IrRaiseChoice *choice)
{
  g_auto (Choice) c = { .raise = raise, .choice = choice };
  char *why;

  if (choice->is_mixed)
    return g_strdup (
        "its Switches are not all under the same condition; give each If a predicate of "
        "its own by Identity");
  const IrValue *predicate = ((IrNode *) choice->switches->pdata[0])->inputs[1];
  if (!may_be_one_bool (predicate))
    return g_strdup_printf ("its predicate %s is not one bool", predicate->name);
  c.merges = g_ptr_array_new ();
  why = find_parts (&c);
  if (why != NULL ||
      !ir_pass_begin (raise->context, IR_RAISE_IF, IR_CLASS_EXACT, choice->switches->pdata[0]))
    return why;
  if (c.merges->len == 0)
    {
      remove_all (&c);
      return NULL;
    }
  add_if (&c);
  remove_switches (&c);
  for (guint side = 0; side < 2; side++)
    set_branch_outputs (&c, side);
  if (!replace_merges (&c))
    {
      ir_pass_abort (raise->context);
      return g_strdup ("less would be known of the type of an output");
    }
  drop_predicate_copy (&c);
  ir_raise_end (raise, choice->switches->len + c.merges->len);
  return NULL;
}
