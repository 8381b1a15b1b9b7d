/* What a frame collects, and whether it is a Scan or a SequenceMap:
 *
 *     SequenceEmpty () .. SequenceInsert (s, r) .. Stack (s)     r is a scan output
 *     i < Shape (x) [axis], and i is read by Gather (x, i)       a Scan of x
 *     i < SequenceLength (x), and i is read by SequenceAt (x, i) a SequenceMap of x
 *
 * These are the forms that lowering makes. Nothing else may read the sequence, or the number; there is no
 * further condition. */
#include "config.h"

#include "passes/rewrites/raise-loop-private.h"

/* -- sequences -- */

static gboolean
is_free (const IrRaiseLoop *l, const IrNode *node)
{
  return node->controls == NULL && !ir_raise_is_waited_for (l->raise, node);
}

static IrNode *
find_insert (const IrRaiseLoop *l, const IrRaiseVariable *variable)
{
  const IrNode *empty = variable->enter->inputs[0]->producer;
  IrNode *insert = variable->next->inputs[0]->producer;

  if (empty == NULL || !ir_node_is (empty, "SequenceEmpty") || insert == NULL ||
      !ir_node_is (insert, "SequenceInsert") || ir_node_input (insert, 2) != NULL ||
      ir_node_input (insert, 1) == NULL || !g_hash_table_contains (l->members.set, insert) ||
      !is_free (l, insert) || ir_raise_variable_of (l, insert->inputs[0], TRUE) != variable)
    return NULL;
  return variable->merge->outputs[0]->n_uses == 1 && insert->inputs[0]->n_uses == 1 &&
                 insert->outputs[0]->n_uses == 1
             ? insert
             : NULL;
}

/* (nullable) The Exit of @variable, where there is one alone */
static IrNode *
find_exit (const IrRaiseLoop *l, const IrRaiseVariable *variable)
{
  const IrValue *last = variable->exit_switch->outputs[0];
  IrNode *exit = last != NULL && last->n_uses == 1 ? ir_value_use (last, 0).node : NULL;

  return exit != NULL && g_ptr_array_find (l->exits, exit, NULL) ? exit : NULL;
}

static IrNode *
find_stack (const IrRaiseLoop *l, const IrRaiseVariable *variable)
{
  const IrNode *exit = find_exit (l, variable);
  const IrValue *value = exit != NULL ? exit->outputs[0] : NULL;
  IrNode *stack = value != NULL && value->n_uses == 1 ? ir_value_use (value, 0).node : NULL;

  return stack != NULL && stack->graph == l->raise->graph && stack->op != NULL &&
                 stack->op->id == IR_OP_STACK && is_free (l, stack)
             ? stack
             : NULL;
}

void
ir_raise_find_collected (IrRaiseLoop *l)
{
  for (guint i = 0; i < l->variables->len; i++)
    {
      IrRaiseVariable *variable = ir_raise_variable_at (l, i);
      if (variable->exit_switch == NULL)
        continue;
      variable->insert = find_insert (l, variable);
      variable->stack = variable->insert != NULL ? find_stack (l, variable) : NULL;
    }
}

/* -- what is read by number -- */

/* Negative where it is not known */
static gint64
from_front (gint64 axis, const IrType *type)
{
  return axis < 0 && ir_type_is_tensor (type) && ir_type_has_rank (type) ? axis + type->rank : axis;
}

static gint64
axis_of (const IrNode *node, const IrType *type)
{
  return from_front (ir_node_attr_int (node, "axis", 0), type);
}

static gboolean
add_part (IrRaiseLoop *l, IrUse use, gboolean is_backward)
{
  IrNode *node = use.node;

  if (node == NULL || use.slot != 1 || !g_hash_table_contains (l->members.set, node) ||
      !ir_node_is (node, l->form == IR_RAISE_TO_MAP ? "SequenceAt" : "Gather") ||
      node->inputs[0] == NULL || !is_free (l, node))
    return FALSE;
  const IrRaisePart part = { node, ir_raise_outside (l, node->inputs[0]),
                             axis_of (node, node->inputs[0]->type), is_backward };
  if (part.whole != NULL)
    g_array_append_val (l->parts, part);
  return part.whole != NULL;
}

/* Readers of -(i + 1) */
static gboolean
add_backward (IrRaiseLoop *l, IrUse use)
{
  IrNode *neg = use.node;
  gboolean good = neg != NULL && l->form == IR_RAISE_TO_SCAN && ir_node_is (neg, "Neg") &&
                  g_hash_table_contains (l->members.set, neg) && is_free (l, neg);

  for (guint i = 0; good && i < neg->outputs[0]->n_uses; i++)
    good = add_part (l, ir_value_use (neg->outputs[0], i), TRUE);
  if (good)
    g_ptr_array_add (l->steps, neg);
  return good;
}

static int
compare_parts (gconstpointer a, gconstpointer b)
{
  const IrNodeId x = ((const IrRaisePart *) a)->node->id, y = ((const IrRaisePart *) b)->node->id;

  return x < y ? -1 : x > y;
}

/* What others wait for, or did before they went, reads the number for that alone, and goes when they are in a body. */
static gboolean
is_pivot (const IrRaiseLoop *l, const IrNode *node)
{
  return node != NULL && ir_node_is (node, "Identity") && node->outputs[0]->n_uses == 0 &&
         g_hash_table_contains (l->members.set, node) &&
         g_hash_table_contains (l->raise->waiting, node);
}

/* Whether the number of the iteration is read by parts alone */
static gboolean
find_number (IrRaiseLoop *l)
{
  const IrRaiseVariable *counter = l->counter;
  gboolean good = counter != NULL && counter->is_left_out && counter->exit_switch != NULL &&
                  l->loop_condition == NULL && l->limit != NULL &&
                  counter->merge->outputs[0]->n_uses == 2; /* the Switch and Less */
  const IrValue *number = good ? counter->exit_switch->outputs[1] : NULL;
  const IrNode *add = good ? counter->next->inputs[0]->producer : NULL;

  for (guint i = 0; good && i < number->n_uses; i++)
    {
      const IrUse use = ir_value_use (number, i);
      good = use.node == add || is_pivot (l, use.node) || add_part (l, use, FALSE);
    }
  for (guint i = 0; good && i < add->outputs[0]->n_uses; i++)
    {
      const IrUse use = ir_value_use (add->outputs[0], i);
      good = use.node == counter->next || add_backward (l, use);
    }
  g_array_sort (l->parts, compare_parts);
  return good && l->parts->len > 0;
}

/* -- Scan -- */

/* (nullable) The tensor of whose @axis the limit is the size */
static const IrValue *
measured (const IrValue *limit, gint64 *axis)
{
  const IrNode *gather = limit->producer;
  const IrNode *shape = gather != NULL && ir_node_is (gather, "Gather") &&
                                gather->inputs[0] != NULL &&
                                ir_node_attr_int (gather, "axis", 0) == 0
                            ? gather->inputs[0]->producer
                            : NULL;
  const IrTensor *index = shape != NULL && gather->inputs[1] != NULL
                              ? ir_value_constant (gather->inputs[1])
                              : NULL;

  if (index == NULL || !ir_node_is (shape, "Shape") || ir_node_attr (shape, "start") != NULL ||
      ir_node_attr (shape, "end") != NULL || shape->inputs[0] == NULL ||
      ir_tensor_rank (index) != 0 || ir_tensor_data (index) == NULL)
    return NULL;
  *axis = from_front (ir_tensor_get_int64 (index, 0), shape->inputs[0]->type);
  return *axis >= 0 ? shape->inputs[0] : NULL;
}

/* Size along @axis, where that is known */
static IrDim
dim_of (const IrType *type, gint64 axis)
{
  return ir_type_is_tensor (type) && ir_type_has_rank (type) && axis >= 0 && axis < type->rank
             ? type->dims[axis]
             : IR_DIM_UNKNOWN;
}

static gboolean
is_scan (IrRaiseLoop *l)
{
  gint64 axis = 0;
  const IrValue *first = find_number (l) ? measured (l->limit, &axis) : NULL;
  gboolean found = FALSE;

  for (guint i = 0; first != NULL && i < l->parts->len; i++)
    {
      const IrRaisePart *part = &g_array_index (l->parts, IrRaisePart, i);
      if (part->whole == first && part->axis == axis)
        found = TRUE;
      else if (dim_of (first->type, axis) == IR_DIM_UNKNOWN ||
               dim_of (part->whole->type, part->axis) != dim_of (first->type, axis))
        return FALSE;
    }
  for (guint i = 0; found && i < l->variables->len; i++)
    found = ir_raise_variable_at (l, i)->insert == NULL ||
            ir_raise_variable_at (l, i)->stack != NULL;
  return found && ir_graph_opset (l->raise->graph, "") >= 9;
}

/* -- SequenceMap -- */

static gboolean
is_map (IrRaiseLoop *l)
{
  const IrNode *length = find_number (l) ? l->limit->producer : NULL;
  guint n = 0;

  if (length == NULL || !ir_node_is (length, "SequenceLength") ||
      ir_graph_opset (l->raise->graph, "") < 17)
    return FALSE;
  for (guint i = 0; i < l->parts->len; i++)
    if (g_array_index (l->parts, IrRaisePart, i).whole != length->inputs[0])
      return FALSE;
  for (guint i = 0; i < l->variables->len; i++)
    {
      const IrRaiseVariable *variable = ir_raise_variable_at (l, i);
      if (variable == l->counter)
        continue;
      if (variable->insert == NULL || variable->stack != NULL ||
          !ir_type_is_tensor (variable->insert->inputs[1]->type))
        return FALSE;
      n++;
    }
  return n > 0;
}

/* A node gives something: where nothing is read, the number of the iterations. */
static void
keep_counter (IrRaiseLoop *l)
{
  gboolean some = FALSE;

  for (guint i = 0; i < l->variables->len; i++)
    some = some || !ir_raise_variable_at (l, i)->is_left_out;
  if (!some && l->counter != NULL)
    l->counter->is_left_out = FALSE;
}

/* What is not collected in the way of the form is carried. */
static void
keep_collected (IrRaiseLoop *l)
{
  for (guint i = 0; l->form == IR_RAISE_TO_LOOP && i < l->variables->len; i++)
    {
      IrRaiseVariable *variable = ir_raise_variable_at (l, i);
      if (variable->stack != NULL &&
          (axis_of (variable->stack, variable->stack->outputs[0]->type) != 0 ||
           ir_node_attr_int (variable->stack, "direction", 0) != 0))
        variable->stack = NULL;
      if (variable->stack == NULL)
        variable->insert = NULL;
    }
}

void
ir_raise_find_loop_form (IrRaiseLoop *l)
{
  keep_counter (l);
  gboolean (*const forms[]) (
      IrRaiseLoop *) = { [IR_RAISE_TO_SCAN] = is_scan, [IR_RAISE_TO_MAP] = is_map };

  for (guint form = IR_RAISE_TO_SCAN; form < G_N_ELEMENTS (forms); form++)
    {
      l->form = (IrRaiseForm) form;
      g_array_set_size (l->parts, 0);
      if (forms[form](l))
        return;
    }
  l->form = IR_RAISE_TO_LOOP;
  g_array_set_size (l->parts, 0);
  keep_collected (l);
}
