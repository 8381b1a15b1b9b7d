/* A frame as a Loop: what goes round is carried, what all iterations see is captured.
 *
 *     LoopCond (And (Less (i, M), c))     i counts from 0: Loop (M, c); the form that lowering makes
 *     LoopCond (f (v..))                  f is computed before the loop, and at the end of its body
 *
 * Source: ONNX, Loop; functionalize_while.cc of TensorFlow's bridge to XLA names the task. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rewrites/raise-loop-private.h"
#include "passes/rule/step.h"

static void
loop_clear (IrRaiseLoop *l)
{
  g_clear_pointer (&l->variables, g_array_unref);
  g_clear_pointer (&l->primitives, g_ptr_array_unref);
  g_clear_pointer (&l->exits, g_ptr_array_unref);
  g_clear_pointer (&l->condition, g_hash_table_unref);
  g_clear_pointer (&l->steps, g_ptr_array_unref);
  g_clear_pointer (&l->parts, g_array_unref);
  ir_raise_reach_clear (&l->members);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrRaiseLoop, loop_clear)

IrRaiseVariable *
ir_raise_variable_at (const IrRaiseLoop *l, guint i)
{
  return &g_array_index (l->variables, IrRaiseVariable, i);
}

gboolean
ir_raise_is_primitive (const IrRaiseLoop *l, IrNode *node)
{
  return g_ptr_array_find (l->primitives, node, NULL);
}

/* (nullable) The variable whose Merge, or with @inside whose Switch, gives @value */
IrRaiseVariable *
ir_raise_variable_of (const IrRaiseLoop *l, const IrValue *value, gboolean inside)
{
  for (guint i = 0; value != NULL && i < l->variables->len; i++)
    {
      IrRaiseVariable *variable = ir_raise_variable_at (l, i);
      const IrNode *node = inside ? variable->exit_switch : variable->merge;
      if (node != NULL && value->producer == node && value->output_slot == (inside ? 1 : 0))
        return variable;
    }
  return NULL;
}

/* -- its primitives -- */

static char *
say (const char *format, const IrNode *node)
{
  g_autofree char *label = ir_node_label (node);

  return g_strdup_printf (format, label);
}

static IrNode *
live_node (const IrRaiseLoop *l, IrNodeId id)
{
  return ir_model_live_node (l->raise->context->model, id);
}

/* A file may leave out what a node needs. */
static gboolean
is_whole (const IrNode *node)
{
  return node != NULL && ir_node_is_well_formed (node);
}

static char *
find_exit_switch (IrRaiseLoop *l, IrRaiseVariable *variable)
{
  const IrValue *value = variable->merge->outputs[0];

  for (guint i = 0; i < value->n_uses; i++)
    {
      IrNode *node = ir_value_use (value, i).node;
      if (node == NULL || ir_node_tokens (node) != IR_TOKENS_SWITCH || node->inputs[0] != value ||
          node->inputs[1] != l->cond->outputs[0] || !is_whole (node))
        continue;
      if (variable->exit_switch != NULL)
        return say ("%s goes to two Switches", variable->merge);
      variable->exit_switch = node;
      g_ptr_array_add (l->primitives, node);
    }
  return NULL;
}

static char *
find_variables (IrRaiseLoop *l)
{
  for (guint i = 0; i < l->frame->variables->len; i++)
    {
      const IrLoopVariable *parts = &g_array_index (l->frame->variables, IrLoopVariable, i);
      IrRaiseVariable variable = { .merge = live_node (l, parts->merge),
                                   .enter = live_node (l, parts->enter),
                                   .next = live_node (l, parts->next) };
      if (!is_whole (variable.merge) || !is_whole (variable.enter) || !is_whole (variable.next) ||
          variable.merge->n_inputs != 2)
        return g_strdup ("a variable has no Merge of an Enter and a NextIteration");
      if (ir_node_output (variable.merge, 1) != NULL &&
          ir_node_output (variable.merge, 1)->n_uses > 0)
        return say ("the index that %s gives is read", variable.merge);
      g_ptr_array_add (l->primitives, variable.merge);
      g_ptr_array_add (l->primitives, variable.enter);
      g_ptr_array_add (l->primitives, variable.next);
      char *why = find_exit_switch (l, &variable);
      if (why != NULL)
        return why;
      g_array_append_val (l->variables, variable);
    }
  for (guint i = 0; i < l->frame->invariants->len; i++)
    {
      IrNode *enter = live_node (l, g_array_index (l->frame->invariants, IrNodeId, i));
      if (enter == NULL)
        continue;
      if (!is_whole (enter))
        return say ("%s takes or gives nothing", enter);
      g_ptr_array_add (l->primitives, enter);
    }
  if (l->frame->n_enters != l->frame->variables->len + l->frame->invariants->len)
    return g_strdup ("an Enter leads to no Merge");
  return l->frame->variables->len == 0 ? g_strdup ("nothing goes round in it") : NULL;
}

/* -- what is in the frame -- */

static gboolean
is_end (const IrRaiseLoop *l, const IrNode *exit)
{
  const IrValue *value = exit->inputs[0];

  for (guint i = 0; i < l->variables->len; i++)
    if (ir_raise_variable_at (l, i)->exit_switch != NULL &&
        value->producer == ir_raise_variable_at (l, i)->exit_switch && value->output_slot == 0)
      return TRUE;
  return FALSE;
}

/* In the first, in all but the first, or in the last: the body of a Loop does the same in all. (nullable)
 * @value */
static gboolean
is_of_some_iterations (const IrRaiseLoop *l, const IrValue *value)
{
  const IrNode *node = value != NULL ? value->producer : NULL;
  const IrTokens tokens = node != NULL ? ir_node_tokens (node) : IR_TOKENS_STRICT;

  if (tokens == IR_TOKENS_NEXT_ITERATION)
    return TRUE;
  if (tokens == IR_TOKENS_ENTER)
    return ir_node_attr_int (node, "is_constant", 0) == 0;
  for (guint i = 0; tokens == IR_TOKENS_SWITCH && i < l->variables->len; i++)
    if (ir_raise_variable_at (l, i)->exit_switch == node && value->output_slot == 0)
      return TRUE;
  return FALSE;
}

static gboolean
takes (IrRaiseReach *reach, IrNode *node, const IrValue *value)
{
  IrRaiseLoop *l = reach->data;
  const IrTokens tokens = ir_node_tokens (node);
  g_autofree char *label = NULL;

  if (ir_raise_is_primitive (l, node))
    return FALSE;
  label = ir_node_label (node);
  if (tokens != IR_TOKENS_EXIT && is_of_some_iterations (l, value))
    {
      ir_raise_reach_fail (reach, "%s runs in some iterations only, by %s", label, value->name);
      return FALSE;
    }
  if (tokens == IR_TOKENS_STRICT)
    return TRUE;
  if (tokens != IR_TOKENS_EXIT)
    ir_raise_reach_fail (reach, "%s in it stays as it is", label);
  else if (!is_end (l, node))
    ir_raise_reach_fail (reach, "%s brings out what is not carried", label);
  else if (!g_ptr_array_find (l->exits, node, NULL))
    g_ptr_array_add (l->exits, node);
  return FALSE;
}

static char *
find_members (IrRaiseLoop *l)
{
  ir_raise_reach_init (&l->members, l->raise);
  l->members.takes = takes;
  l->members.primitives = l->primitives;
  l->members.data = l;
  for (guint i = 0; i < l->primitives->len; i++)
    {
      IrNode *node = l->primitives->pdata[i];
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          ir_raise_reach_from (&l->members, node->outputs[k]);
    }
  ir_raise_reach_all (&l->members);
  if (l->members.why == NULL)
    l->members.why = ir_raise_find_waited_for (l->raise, l->primitives);
  if (l->members.why == NULL)
    l->members.why = ir_raise_find_waited_for (l->raise, l->exits);
  return g_steal_pointer (&l->members.why);
}

/* -- its condition -- */

/* (nullable) Why what @node computes cannot be computed before the loop too */
static char *
why_not_before (const IrNode *node)
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  if (graphs->len > 0)
    return say ("its condition is computed by %s, which owns a graph", node);
  return node->controls != NULL
             ? say ("its condition is computed by %s, which waits for another node", node)
             : NULL;
}

/* (nullable) The node of the frame that computes @value of what goes round; @why: or why not */
static IrNode *
step_of (IrRaiseLoop *l, const IrValue *value, char **why)
{
  IrNode *node = value != NULL ? value->producer : NULL;

  if (node != NULL && ir_raise_variable_of (l, value, TRUE) != NULL)
    *why = say ("its condition reads %s", node);
  if (node == NULL || *why != NULL || !g_hash_table_contains (l->members.set, node) ||
      !g_hash_table_add (l->condition, node))
    return NULL;
  *why = why_not_before (node);
  return *why == NULL ? node : NULL;
}

/* What computes the condition, each behind what it reads */
static char *
find_steps (IrRaiseLoop *l)
{
  typedef struct
  {
    IrNode *node;
    guint next;
  } Place;
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (Place));
  char *why = NULL;
  Place place = { step_of (l, l->cond->inputs[0], &why), 0 };

  if (place.node != NULL)
    g_array_append_val (stack, place);
  while (stack->len > 0 && why == NULL)
    {
      Place *top = &g_array_index (stack, Place, stack->len - 1);
      if (top->next == top->node->n_inputs)
        {
          g_ptr_array_add (l->steps, top->node);
          g_array_set_size (stack, stack->len - 1);
          continue;
        }
      place.node = step_of (l, top->node->inputs[top->next++], &why);
      if (place.node != NULL)
        g_array_append_val (stack, place);
    }
  return why;
}

gboolean
ir_raise_is_number (const IrValue *value, IrDtype dtype, double number)
{
  const IrTensor *tensor = value != NULL ? ir_value_constant (value) : NULL;

  return tensor != NULL && ir_tensor_dtype (tensor) == dtype && ir_tensor_rank (tensor) == 0 &&
         ir_tensor_get_double (tensor, 0) == number;
}

/* Starts at 0 and grows by 1, as what an ONNX Loop counts */
static gboolean
is_counter (const IrRaiseLoop *l, const IrRaiseVariable *variable)
{
  const IrNode *add = variable->next->inputs[0]->producer;

  if (!ir_raise_is_number (variable->enter->inputs[0], IR_DTYPE_INT64, 0) || add == NULL ||
      !ir_node_is (add, "Add") || add->n_inputs != 2)
    return FALSE;
  for (guint i = 0; i < 2; i++)
    if (ir_raise_variable_of (l, add->inputs[i], TRUE) == variable &&
        ir_raise_is_number (add->inputs[1 - i], IR_DTYPE_INT64, 1))
      return TRUE;
  return FALSE;
}

/* (nullable) What does not change in the loop, as it is called outside */
IrValue *
ir_raise_outside (const IrRaiseLoop *l, IrValue *value)
{
  IrNode *node = value->producer;

  if (node != NULL && ir_node_tokens (node) == IR_TOKENS_ENTER && ir_raise_is_primitive (l, node))
    return ir_raise_variable_of (l, value, FALSE) == NULL ? node->inputs[0] : NULL;
  return node != NULL && g_hash_table_contains (l->members.set, node) ? NULL
         : node != NULL && ir_raise_is_primitive (l, node)            ? NULL
                                                                      : value;
}

/* Less (i, M), read by nobody else */
static gboolean
match_limit (IrRaiseLoop *l, const IrValue *value)
{
  const IrNode *less = value->producer;

  if (less == NULL || !ir_node_is (less, "Less") || less->n_inputs != 2 ||
      less->inputs[1] == NULL || value->n_uses != 1 || ir_value_rank (less->inputs[1]) > 1)
    return FALSE;
  l->counter = ir_raise_variable_of (l, less->inputs[0], FALSE);
  l->limit = l->counter != NULL && is_counter (l, l->counter)
                 ? ir_raise_outside (l, less->inputs[1])
                 : NULL;
  return l->limit != NULL && ir_value_dtype (l->limit) == IR_DTYPE_INT64;
}

static gboolean
match_loop_condition (IrRaiseLoop *l, const IrValue *value)
{
  l->loop_condition = ir_raise_variable_of (l, value, FALSE);
  return l->loop_condition != NULL;
}

static gboolean
has_exit (const IrRaiseLoop *l, const IrRaiseVariable *variable)
{
  return variable->exit_switch != NULL && variable->exit_switch->outputs[0] != NULL &&
         variable->exit_switch->outputs[0]->n_uses > 0;
}

/* The forms that need nothing to be computed twice. */
static gboolean
match_form (IrRaiseLoop *l)
{
  const IrValue *value = l->cond->inputs[0];
  const IrNode *both = value->producer;

  if (match_loop_condition (l, value) || match_limit (l, value))
    return TRUE;
  return both != NULL && ir_node_is (both, "And") && both->n_inputs == 2 && value->n_uses == 1 &&
         match_limit (l, both->inputs[0]) && match_loop_condition (l, both->inputs[1]);
}

static void
find_form (IrRaiseLoop *l)
{
  if (!match_form (l))
    {
      l->counter = l->loop_condition = NULL;
      l->limit = NULL;
    }
  for (guint i = 0; l->counter == NULL && i < l->variables->len; i++)
    if (is_counter (l, ir_raise_variable_at (l, i)))
      l->counter = ir_raise_variable_at (l, i);
  if (l->counter != NULL)
    l->counter->is_left_out = !has_exit (l, l->counter);
  if (l->loop_condition != NULL)
    l->loop_condition->is_left_out = !has_exit (l, l->loop_condition);
}

static char *
find_parts (IrRaiseLoop *l)
{
  char *why;

  if (!is_whole (l->cond) || l->frame->n_conds != 1)
    return g_strdup ("it has no LoopCond, or more than one");
  g_ptr_array_add (l->primitives, l->cond);
  if ((why = find_variables (l)) != NULL || (why = find_members (l)) != NULL ||
      (why = find_steps (l)) != NULL)
    return why;
  for (guint i = 0; i < l->cond->outputs[0]->n_uses; i++)
    {
      const IrNode *reader = ir_value_use (l->cond->outputs[0], i).node;
      if (reader == NULL || !ir_raise_is_primitive (l, (IrNode *) reader))
        return say ("what %s gives is read by more than the Switches of variables", l->cond);
    }
  find_form (l);
  ir_raise_find_collected (l);
  ir_raise_find_loop_form (l);
  return NULL;
}

/* -- the step -- */

static const char *const rules[] = { [IR_RAISE_TO_LOOP] = IR_RAISE_LOOP,
                                     [IR_RAISE_TO_SCAN] = IR_RAISE_SCAN,
                                     [IR_RAISE_TO_MAP] = IR_RAISE_MAP };

char *
ir_raise_loop (IrRaise *raise, guint frame)
{
  g_auto (IrRaiseLoop)
      l = { .raise = raise, .frame = &g_array_index (raise->frames->frames, IrFrame, frame) };
  char *why;

  l.cond = ir_model_live_node (raise->context->model, l.frame->loop_cond);
  l.variables = g_array_new (FALSE, FALSE, sizeof (IrRaiseVariable));
  l.primitives = g_ptr_array_new ();
  l.exits = g_ptr_array_new ();
  l.condition = g_hash_table_new (NULL, NULL);
  l.steps = g_ptr_array_new ();
  l.parts = g_array_new (FALSE, FALSE, sizeof (IrRaisePart));
  why = find_parts (&l);
  if (why != NULL ||
      (!raise->in_step && !ir_pass_begin (raise->context, rules[l.form], IR_CLASS_EXACT, l.cond)))
    return why;
  if (ir_raise_build_loop (&l))
    return NULL;
  if (!raise->in_step)
    ir_pass_abort (raise->context);
  return g_strdup ("less would be known of the type of an output");
}
