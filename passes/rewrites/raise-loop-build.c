/* The Loop, Scan or SequenceMap that a frame becomes. */
#include "config.h"

#include "passes/rewrites/raise-loop-private.h"

#include <string.h>
#include "passes/rewrites/trips.h"
#include "passes/rule/move.h"
#include "passes/rule/step.h"

/* What is carried as it is */
static gboolean
is_state (const IrRaiseVariable *variable)
{
  return !variable->is_left_out && variable->insert == NULL;
}

/* -- its condition -- */

static const IrType *
scalar (const IrRaiseLoop *l, IrDtype dtype)
{
  return ir_type_tensor (l->raise->context->model->context, dtype, 0, NULL);
}

/* Computes the condition of @map's values (Merge's output -> value) in @graph. */
static IrValue *
copy_condition (IrRaiseLoop *l, GHashTable *map, IrGraph *graph)
{
  IrRaise *raise = l->raise;
  IrValue *result = l->cond->inputs[0], *found;

  for (guint i = 0; i < l->steps->len; i++)
    {
      IrNode *from = l->steps->pdata[i];
      g_autofree IrValue **inputs = g_memdup2 (from->inputs,
                                               (from->n_inputs + 1) * sizeof (IrValue *));
      for (guint k = 0; k < from->n_inputs; k++)
        if (inputs[k] != NULL && (found = g_hash_table_lookup (map, inputs[k])) != NULL)
          inputs[k] = found;
      IrNode *copy = ir_raise_add (raise, graph, from, from->op_type, from->n_inputs, inputs,
                                   from->n_outputs);
      ir_edit_set_op (raise->edit, copy, from->op_type, from->domain, from->overload);
      for (guint k = 0; k < from->n_attrs; k++)
        ir_edit_set_attr (raise->edit, copy, from->attrs[k]);
      for (guint k = 0; k < from->n_outputs; k++)
        if (from->outputs[k] != NULL)
          g_hash_table_insert (map, from->outputs[k], copy->outputs[k]);
    }
  found = g_hash_table_lookup (map, result);
  return found != NULL ? found : result;
}

/* As what is left out becomes: a number that equals itself */
static gboolean
is_left_out (const IrValue *condition)
{
  const IrNode *node = condition->producer;

  return node != NULL && ir_node_is (node, "Equal") && node->n_inputs == 2 &&
         node->inputs[0] == node->inputs[1] &&
         ir_raise_is_number (node->inputs[0], IR_DTYPE_INT64, 0);
}

static IrValue *
first_condition (IrRaiseLoop *l)
{
  g_autoptr (GHashTable) map = g_hash_table_new (NULL, NULL);

  if (l->loop_condition != NULL)
    {
      IrValue *first = l->loop_condition->enter->inputs[0];
      return is_left_out (first) ? NULL : first;
    }
  if (l->limit != NULL)
    return NULL;
  for (guint i = 0; i < l->variables->len; i++)
    g_hash_table_insert (map, ir_raise_variable_at (l, i)->merge->outputs[0],
                         ir_raise_variable_at (l, i)->enter->inputs[0]);
  return copy_condition (l, map, l->raise->graph);
}

/* -- the body -- */

/* Of a Loop alone: the iteration's number and the condition. */
static void
add_own_inputs (IrRaiseLoop *l, GPtrArray *inputs)
{
  IrEdit *edit = l->raise->edit;

  g_ptr_array_add (inputs,
                   ir_edit_add_value (edit, l->body, ir_edit_unique_name (edit, "iteration"),
                                      scalar (l, IR_DTYPE_INT64)));
  g_ptr_array_add (inputs,
                   ir_edit_add_value (edit, l->body, ir_edit_unique_name (edit, "condition"),
                                      scalar (l, IR_DTYPE_BOOL)));
  if (l->counter != NULL && l->counter->is_left_out)
    l->counter->inside = inputs->pdata[0];
  if (l->loop_condition != NULL && l->loop_condition->is_left_out)
    l->loop_condition->inside = inputs->pdata[1];
}

static IrValue *
add_input (IrRaiseLoop *l, const IrValue *like, GPtrArray *inputs)
{
  IrEdit *edit = l->raise->edit;
  IrValue *input = ir_edit_add_value (edit, l->body, ir_edit_unique_name (edit, like->name),
                                      like->type);

  g_ptr_array_add (inputs, input);
  return input;
}

/* What an iteration reads by its number it gets. */
static void
take_part (IrRaiseLoop *l, const IrRaisePart *part, GPtrArray *inputs)
{
  IrValue *input = add_input (l, part->node->outputs[0], inputs);

  ir_edit_replace_uses (l->raise->edit, part->node->outputs[0], input);
  ir_edit_remove_node (l->raise->edit, part->node);
}

static void
add_body (IrRaiseLoop *l)
{
  IrRaise *raise = l->raise;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  l->body = ir_edit_add_graph (raise->edit, IR_GRAPH_SUBGRAPH, "body");
  ir_edit_set_attr (raise->edit, l->node,
                    ir_attr_graph (raise->context->model->context, "body", l->body->id));
  if (l->form == IR_RAISE_TO_LOOP)
    add_own_inputs (l, inputs);
  for (guint i = 0; i < l->variables->len; i++)
    {
      IrRaiseVariable *variable = ir_raise_variable_at (l, i);
      if (is_state (variable))
        variable->inside = add_input (l, variable->merge->outputs[0], inputs);
    }
  for (guint i = 0; i < l->parts->len; i++)
    take_part (l, &g_array_index (l->parts, IrRaisePart, i), inputs);
  ir_edit_set_graph_inputs (raise->edit, l->body, (IrValue *const *) inputs->pdata, inputs->len);
}

/* What an iteration ends with, as the body calls it: what it carries, or what is collected */
static IrValue *
next_value (const IrRaiseLoop *l, const IrRaiseVariable *variable)
{
  IrValue *value = variable->insert != NULL ? variable->insert->inputs[1]
                                            : variable->next->inputs[0];
  const IrRaiseVariable *other = ir_raise_variable_of (l, value, FALSE);

  return other != NULL ? other->inside : value;
}

static IrValue *
last_condition (IrRaiseLoop *l)
{
  g_autoptr (GHashTable) map = NULL;

  if (l->loop_condition != NULL)
    return next_value (l, l->loop_condition);
  if (l->limit != NULL)
    return ir_raise_identity (l->raise, l->body, l->node, ir_graph_input (l->body, 1));
  map = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < l->variables->len; i++)
    g_hash_table_insert (map, ir_raise_variable_at (l, i)->merge->outputs[0],
                         next_value (l, ir_raise_variable_at (l, i)));
  return copy_condition (l, map, l->body);
}

/* What all iterations see is read as it is. */
static void
capture_invariants (IrRaiseLoop *l)
{
  for (guint i = 0; i < l->primitives->len; i++)
    {
      IrNode *node = l->primitives->pdata[i];
      if (ir_node_tokens (node) == IR_TOKENS_ENTER &&
          ir_raise_outside (l, node->outputs[0]) != NULL && node->outputs[0]->n_uses > 0 &&
          ir_node_attr_int (node, "is_constant", 0) != 0)
        ir_edit_replace_uses (l->raise->edit, node->outputs[0], node->inputs[0]);
    }
}

static void
read_inside (IrRaiseLoop *l, IrValue *value, const IrRaiseVariable *variable)
{
  if (value != NULL && variable->inside != NULL)
    ir_edit_replace_uses (l->raise->edit, value, variable->inside);
}

/* (transfer container) of IrValue: outputs of the body */
static GPtrArray *
collect_outputs (IrRaiseLoop *l)
{
  GPtrArray *outputs = g_ptr_array_new ();

  if (l->form == IR_RAISE_TO_LOOP)
    g_ptr_array_add (outputs, last_condition (l));
  for (guint collected = 0; collected < 2; collected++)
    for (guint i = 0; i < l->variables->len; i++)
      {
        const IrRaiseVariable *variable = ir_raise_variable_at (l, i);
        if (collected ? variable->insert != NULL : is_state (variable))
          g_ptr_array_add (outputs, next_value (l, variable));
      }
  return outputs;
}

static void
fill_body (IrRaiseLoop *l)
{
  IrRaise *raise = l->raise;
  g_autoptr (GPtrArray) outputs = NULL;

  for (guint i = 0; i < l->variables->len; i++)
    if (ir_raise_variable_at (l, i)->exit_switch != NULL)
      read_inside (l, ir_raise_variable_at (l, i)->exit_switch->outputs[1],
                   ir_raise_variable_at (l, i));
  outputs = collect_outputs (l);
  for (guint i = 0; i < l->variables->len; i++)
    {
      const IrRaiseVariable *variable = ir_raise_variable_at (l, i);
      read_inside (l, variable->merge->outputs[0], variable);
      if (variable->insert == NULL)
        continue;
      ir_edit_set_input (raise->edit, variable->next, 0, NULL);
      ir_edit_remove_node (raise->edit, variable->insert);
    }
  ir_raise_move_in (raise, &l->members, l->body);
  for (guint i = 0; i < outputs->len; i++)
    {
      IrValue *value = outputs->pdata[i];
      if (value->graph != l->body)
        outputs->pdata[i] = ir_raise_identity (raise, l->body, l->node, value);
    }
  ir_edit_set_graph_outputs (raise->edit, l->body, (IrValue *const *) outputs->pdata, outputs->len);
}

/* -- the node -- */

static void
set_inputs (IrRaiseLoop *l)
{
  IrEdit *edit = l->raise->edit;
  guint n = 0;

  ir_edit_set_n_inputs (edit, l->node, l->variables->len + l->parts->len + 2);
  if (l->form == IR_RAISE_TO_LOOP)
    {
      ir_edit_set_input (edit, l->node, n++, l->limit);
      ir_edit_set_input (edit, l->node, n++, first_condition (l));
    }
  for (guint i = 0; i < l->variables->len; i++)
    if (is_state (ir_raise_variable_at (l, i)))
      ir_edit_set_input (edit, l->node, n++, ir_raise_variable_at (l, i)->enter->inputs[0]);
  for (guint i = 0; i < l->parts->len; i++)
    ir_edit_set_input (edit, l->node, n++, g_array_index (l->parts, IrRaisePart, i).whole);
  ir_edit_set_n_inputs (edit, l->node, n);
}

/* A list of numbers that are all 0 is left out. */
static void
set_list (IrRaiseLoop *l, const char *name, const GArray *numbers)
{
  gboolean some = FALSE;

  for (guint i = 0; i < numbers->len; i++)
    some = some || g_array_index (numbers, gint64, i) != 0;
  if (some)
    ir_edit_set_attr (l->raise->edit, l->node,
                      ir_attr_ints (l->raise->context->model->context, name,
                                    (const gint64 *) (gconstpointer) numbers->data, numbers->len));
}

static void
set_scan_attributes (IrRaiseLoop *l)
{
  g_autoptr (GArray) axes = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GArray) directions = g_array_new (FALSE, FALSE, sizeof (gint64));

  ir_edit_set_attr (
      l->raise->edit, l->node,
      ir_attr_int (l->raise->context->model->context, "num_scan_inputs", l->parts->len));
  for (guint i = 0; i < l->parts->len; i++)
    {
      const IrRaisePart *part = &g_array_index (l->parts, IrRaisePart, i);
      const gint64 direction = part->is_backward;
      g_array_append_val (axes, part->axis);
      g_array_append_val (directions, direction);
    }
  set_list (l, "scan_input_axes", axes);
  set_list (l, "scan_input_directions", directions);
  g_array_set_size (axes, 0);
  g_array_set_size (directions, 0);
  for (guint i = 0; i < l->variables->len; i++)
    {
      const IrNode *stack = ir_raise_variable_at (l, i)->stack;
      const gint64 axis = stack != NULL ? ir_node_attr_int (stack, "axis", 0) : 0;
      const gint64 direction = stack != NULL ? ir_node_attr_int (stack, "direction", 0) : 0;
      if (stack == NULL)
        continue;
      g_array_append_val (axes, axis);
      g_array_append_val (directions, direction);
    }
  set_list (l, "scan_output_axes", axes);
  set_list (l, "scan_output_directions", directions);
}

/* -- what it stands for -- */

static const IrRaiseVariable *
variable_behind (const IrRaiseLoop *l, const IrNode *exit)
{
  guint i = 0;

  while (ir_raise_variable_at (l, i)->exit_switch != exit->inputs[0]->producer)
    i++;
  return ir_raise_variable_at (l, i);
}

/* The output of the node that @variable is: what is carried comes first. */
static IrValue *
output_of (const IrRaiseLoop *l, const IrRaiseVariable *variable)
{
  const gboolean collected = variable->insert != NULL;
  guint place = 0;

  for (guint i = 0; i < l->variables->len; i++)
    {
      const IrRaiseVariable *other = ir_raise_variable_at (l, i);
      place += other < variable && other->insert != NULL && collected;
      place += (other < variable || collected) && is_state (other);
    }
  return l->node->outputs[place];
}

/* Where inference cannot say what is stacked, the Stack may: a loop of no iterations has these sizes. Only what is
 * declared stays claimed. */
static void
declare_row (const IrRaiseLoop *l, const IrNode *stack, IrValue *row)
{
  const IrType *stacked = stack != NULL ? ir_value_shown_type (stack->outputs[0]) : NULL,
               *known = row->type;
  const gint64 given = stack != NULL ? ir_node_attr_int (stack, "axis", 0) : 0;
  IrDim dims[IR_MAX_RANK];

  if (stacked == NULL || !ir_type_has_rank (stacked) || stacked->rank == 0 ||
      row->graph != l->body || (known != NULL && ir_type_has_rank (known)))
    return;
  const gint64 axis = given < 0 ? given + stacked->rank : given;
  for (int i = 0, k = 0; i < stacked->rank; i++)
    if (i != axis)
      dims[k++] = stacked->dims[i];
  ir_edit_set_claim (
      l->raise->edit, row,
      ir_type_tensor (l->raise->context->model->context, stacked->dtype, stacked->rank - 1, dims));
  ir_edit_set_flags (l->raise->edit, row, row->flags | IR_VALUE_DECLARED);
}

static void
set_stacked_type (const IrRaiseLoop *l, const IrRaiseVariable *variable, IrValue *output)
{
  const guint place = output->output_slot + (l->form == IR_RAISE_TO_LOOP ? 1 : 0);
  const IrType *row = ir_graph_output (l->body, place)->type;

  declare_row (l, variable->stack, ir_graph_output (l->body, place));
  const IrType *type = variable->stack != NULL
                           ? ir_pass_stacked_type (l->raise->context->model->context, row,
                                                   ir_node_attr_int (variable->stack, "axis", 0))
                           : NULL;

  if (type != NULL)
    ir_edit_set_type (l->raise->edit, output, type);
}

static gboolean
replace_exits (IrRaiseLoop *l)
{
  IrRaise *raise = l->raise;

  for (guint i = 0; i < l->exits->len; i++)
    {
      IrNode *exit = l->exits->pdata[i];
      const IrRaiseVariable *variable = variable_behind (l, exit);
      IrValue *old = variable->stack != NULL ? variable->stack->outputs[0] : exit->outputs[0];
      IrValue *with = output_of (l, variable);
      set_stacked_type (l, variable, with);
      if (!ir_pass_fit_type (raise->context, old, with))
        return FALSE;
      ir_edit_replace_uses (raise->edit, old, with);
      if (variable->stack != NULL)
        ir_edit_remove_node (raise->edit, variable->stack);
      ir_edit_remove_node (raise->edit, exit);
      ir_pass_take_name (raise->context, old, with);
    }
  return TRUE;
}

/* What stood in front of the loop for it alone; the loop waits for what that waited for. (nullable) @node */
static void
remove_before (IrRaiseLoop *l, IrNode *node)
{
  IrRaise *raise = l->raise;

  if (node == NULL || node->state != IR_STATE_LIVE || ir_raise_is_waited_for (raise, node))
    return;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && node->outputs[i]->n_uses > 0)
      return;
  ir_raise_take_controls (raise, node, l->node);
  ir_pass_remove_node (raise->context, node);
}

static void
remove_primitives (IrRaiseLoop *l)
{
  IrRaise *raise = l->raise;
  IrNode *limit = l->form != IR_RAISE_TO_LOOP ? l->limit->producer : NULL;
  IrNode *shape = l->form == IR_RAISE_TO_SCAN ? limit->inputs[0]->producer : NULL;
  IrNode *first = l->loop_condition != NULL ? l->loop_condition->enter->inputs[0]->producer : NULL;
  g_autoptr (GPtrArray) empties = g_ptr_array_new ();

  if (l->counter != NULL)
    g_ptr_array_add (l->steps, l->counter->next->inputs[0]->producer);
  for (guint i = 0; i < l->variables->len; i++)
    {
      const IrRaiseVariable *variable = ir_raise_variable_at (l, i);
      if (variable->insert != NULL)
        g_ptr_array_add (empties, variable->enter->inputs[0]->producer);
      for (guint k = 0; k < 2; k++)
        ir_edit_set_input (raise->edit, variable->merge, k, NULL);
    }
  for (guint i = 0; i < l->primitives->len; i++)
    ir_raise_take_controls (raise, l->primitives->pdata[i], l->node);
  for (guint i = 0; i < l->primitives->len; i++)
    g_ptr_array_add (l->steps, l->primitives->pdata[i]);
  ir_raise_remove_unread (raise, l->steps);
  for (guint i = 0; i < empties->len; i++)
    remove_before (l, empties->pdata[i]);
  if (first != NULL && ir_node_is (first, "Equal"))
    remove_before (l, first);
  remove_before (l, limit);
  remove_before (l, shape);
}

/* A Stack tells less of the sizes than the row that is stacked: what read it may be a Scan's input. The bodies of
 * the whole graph would be looked through again if the node itself was inferred. */
static void
tell_readers (IrRaiseLoop *l)
{
  IrEdit *edit = l->raise->edit;

  for (guint i = 0; i < l->variables->len; i++)
    {
      const IrRaiseVariable *variable = ir_raise_variable_at (l, i);
      IrValue *output = variable->insert != NULL ? output_of (l, variable) : NULL;
      for (guint k = 0; variable->stack != NULL && k < output->n_uses; k++)
        if (ir_value_use (output, k).node != NULL)
          ir_infer_node (edit, ir_value_use (output, k).node, NULL);
    }
}

/* Iterations are called as those of the frame were: by what the loop gives first, or else by its name. */
static void
take_frame_name (IrRaiseLoop *l)
{
  const IrValue *first = ir_node_output (l->node, 0);

  if (!l->raise->in_step && (first == NULL || strcmp (first->name, l->frame->name) != 0))
    ir_edit_rename_node (l->raise->edit, l->node, l->frame->name);
}

static guint
count_outputs (const IrRaiseLoop *l)
{
  guint n = 0;

  for (guint i = 0; i < l->variables->len; i++)
    n += is_state (ir_raise_variable_at (l, i)) || ir_raise_variable_at (l, i)->insert != NULL;
  return n;
}

gboolean
ir_raise_build_loop (IrRaiseLoop *l)
{
  static const char *const operators[] = {
    [IR_RAISE_TO_LOOP] = "Loop", [IR_RAISE_TO_SCAN] = "Scan", [IR_RAISE_TO_MAP] = "SequenceMap"
  };
  guint n_stacks = 0;

  for (guint i = 0; i < l->variables->len; i++)
    n_stacks += ir_raise_variable_at (l, i)->stack != NULL;
  l->node = ir_raise_add (l->raise, l->raise->graph, l->cond, operators[l->form], 0, NULL,
                          count_outputs (l));
  capture_invariants (l);
  set_inputs (l);
  if (l->form == IR_RAISE_TO_SCAN)
    set_scan_attributes (l);
  add_body (l);
  fill_body (l);
  if (!replace_exits (l))
    return FALSE;
  remove_primitives (l);
  take_frame_name (l);
  tell_readers (l);
  ir_raise_end (l->raise, l->primitives->len + l->exits->len + n_stacks);
  return TRUE;
}
