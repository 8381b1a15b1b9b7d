/* Derivatives of sequences and optional values: a derivative by a sequence is a sequence of as many
 * tensors, each the derivative by the one in its place. */
#include "config.h"

#include "core/grad/body.h"
#include "core/grad/rules.h"
#include "core/op/op.h"

/* -- what is the same for all containers -- */

static gboolean
type_is_float (const IrType *type)
{
  while (type != NULL && (type->kind == IR_TYPE_SEQUENCE || type->kind == IR_TYPE_OPTIONAL))
    type = type->element;
  return ir_type_is_tensor (type) && ir_dtype_is_float (type->dtype);
}

gboolean
ir_emit_is_float (const IrValue *value)
{
  return type_is_float (value->type);
}

/* A SequenceMap over @n sequences, whose body is open and has their items as inputs. */
static IrNode *
open_map (const IrVjp *vjp, guint n, IrValue *const *sequences, IrGradBody *body)
{
  IrNode *node = ir_emit_node (vjp, "SequenceMap", n, sequences, 1);

  ir_grad_body_open (body, vjp, NULL, node, "body");
  for (guint i = 0; i < n; i++)
    ir_grad_body_add_input (body, sequences[i]->type->element);
  return node;
}

static IrValue *
close_map (const IrVjp *vjp, IrNode *node, IrGradBody *body, IrValue *result)
{
  ir_grad_body_add_output (body, result);
  ir_grad_body_close (body);
  if (result->type != NULL)
    ir_edit_set_type (vjp->edit, node->outputs[0],
                      ir_type_sequence (ir_edit_model (vjp->edit)->context, result->type));
  return node->outputs[0];
}

/* Of the same lengths and shapes as the container @like, filled with @element */
IrValue *
ir_emit_filled_container (const IrVjp *vjp, IrValue *like, double element)
{
  g_auto (IrGradBody) body = { 0 };

  if (like->type->kind == IR_TYPE_OPTIONAL)
    return ir_emit1 (vjp, "Optional",
                     ir_emit_filled (vjp, ir_emit1 (vjp, "OptionalGetElement", like), element));
  IrNode *map = open_map (vjp, 1, &like, &body);
  return close_map (vjp, map, &body, ir_emit_filled (&body.emit, body.inputs->pdata[0], element));
}

IrValue *
ir_emit_add (const IrVjp *vjp, IrValue *a, IrValue *b)
{
  IrValue *both[] = { a, b };
  g_auto (IrGradBody) body = { 0 };

  if (!ir_type_is_container (a->type))
    return ir_emit2 (vjp, "Sum", a, b);
  if (a->type->kind == IR_TYPE_OPTIONAL)
    return ir_emit1 (vjp, "Optional",
                     ir_emit_add (vjp, ir_emit1 (vjp, "OptionalGetElement", a),
                                  ir_emit1 (vjp, "OptionalGetElement", b)));
  IrNode *map = open_map (vjp, 2, both, &body);
  return close_map (vjp, map, &body,
                    ir_emit_add (&body.emit, body.inputs->pdata[0], body.inputs->pdata[1]));
}

/* The sum of all tensors of @sequence, in the shape of @like; 0 if there are none. */
static IrValue *
sum_of_items (const IrVjp *vjp, IrValue *sequence, IrValue *like)
{
  static const gint64 first = 0;
  IrValue *all = ir_emit2 (vjp, "SequenceInsert", sequence, ir_emit_filled (vjp, like, 0));
  IrNode *stack = ir_emit_node (vjp, "ConcatFromSequence", 1, &all, 1);

  ir_emit_attr_int (vjp, stack, "axis", 0);
  ir_emit_attr_int (vjp, stack, "new_axis", 1);
  IrValue *sum = ir_emit_reduce (vjp, "ReduceSum", ir_emit_end (vjp, stack), &first, 1, FALSE);
  ir_edit_set_type (vjp->edit, sum, like->type);
  return sum;
}

/* -- places -- */

static IrValue *
number (const IrVjp *vjp, gint64 value)
{
  return ir_emit_ints (vjp, &value, -1);
}

/* Positions from the end count from the start: of as many tensors as @like has, and @more */
static IrValue *
place_of (const IrVjp *vjp, IrValue *position, IrValue *like, gint64 more)
{
  const IrTensor *known = ir_value_constant (position);
  IrValue *n;

  if (known != NULL && ir_tensor_n_elements (known) == 1 && ir_tensor_get_int64 (known, 0) >= 0)
    return position;
  position = ir_emit_cast (vjp, position, IR_DTYPE_INT64);
  n = ir_emit2 (vjp, "Add", ir_emit1 (vjp, "SequenceLength", like), number (vjp, more));
  return ir_emit3 (vjp, "Where", ir_emit2 (vjp, "Less", position, number (vjp, 0)),
                   ir_emit2 (vjp, "Add", position, n), position);
}

/* @sequence with @tensor before @place; (nullable) at the end */
static IrValue *
insert (const IrVjp *vjp, IrValue *sequence, IrValue *tensor, IrValue *place)
{
  return place != NULL ? ir_emit3 (vjp, "SequenceInsert", sequence, tensor, place)
                       : ir_emit2 (vjp, "SequenceInsert", sequence, tensor);
}

/* -- the operators -- */

gboolean
ir_vjp_sequence_construct (IrVjp *vjp, GError **error)
{
  for (guint i = 0; i < vjp->node->n_inputs; i++)
    if (vjp->wanted[i])
      vjp->dx[i] = ir_emit2 (vjp, "SequenceAt", vjp->dy[0], number (vjp, i));
  return TRUE;
}

gboolean
ir_vjp_sequence_at (IrVjp *vjp, GError **error)
{
  IrValue *sequence = vjp->node->inputs[0];
  IrValue *place = place_of (vjp, vjp->node->inputs[1], sequence, 0);
  IrValue *others = ir_emit2 (vjp, "SequenceErase", ir_emit_filled (vjp, sequence, 0), place);

  vjp->dx[0] = insert (vjp, others, vjp->dy[0], place);
  return TRUE;
}

gboolean
ir_vjp_sequence_insert (IrVjp *vjp, GError **error)
{
  IrValue *position = ir_node_input (vjp->node, 2), *dy = vjp->dy[0];
  IrValue *place = position != NULL ? place_of (vjp, position, dy, -1) : number (vjp, -1);

  if (vjp->wanted[0])
    vjp->dx[0] = ir_emit2 (vjp, "SequenceErase", dy, place);
  if (vjp->wanted[1])
    vjp->dx[1] = ir_emit2 (vjp, "SequenceAt", dy, place);
  return TRUE;
}

gboolean
ir_vjp_sequence_erase (IrVjp *vjp, GError **error)
{
  IrValue *sequence = vjp->node->inputs[0], *position = ir_node_input (vjp->node, 1);
  IrValue *place = position != NULL ? place_of (vjp, position, vjp->dy[0], 1) : NULL;
  IrValue *erased = ir_emit2 (vjp, "SequenceAt", sequence,
                              place != NULL ? place : number (vjp, -1));

  vjp->dx[0] = insert (vjp, vjp->dy[0], ir_emit_filled (vjp, erased, 0), place);
  return TRUE;
}

gboolean
ir_vjp_split_to_sequence (IrVjp *vjp, GError **error)
{
  const gboolean drops = ir_node_input (vjp->node, 1) == NULL &&
                         ir_node_attr_int (vjp->node, "keepdims", 1) == 0;
  IrNode *concat = ir_emit_node (vjp, "ConcatFromSequence", 1, vjp->dy, 1);

  ir_emit_attr_int (vjp, concat, "axis", ir_node_attr_int (vjp->node, "axis", 0));
  ir_emit_attr_int (vjp, concat, "new_axis", drops);
  vjp->dx[0] = ir_emit_end (vjp, concat);
  return TRUE;
}

/* The sizes of the tensors of @sequence along @axis */
static IrValue *
sizes_along (const IrVjp *vjp, IrValue *sequence, gint64 axis)
{
  g_auto (IrGradBody) body = { 0 };
  IrNode *map = open_map (vjp, 1, &sequence, &body);
  IrValue *shape = ir_emit1 (&body.emit, "Shape", body.inputs->pdata[0]);
  IrValue *sizes = close_map (
      vjp, map, &body, ir_emit2 (&body.emit, "Gather", shape, ir_emit_ints (&body.emit, &axis, 1)));
  IrNode *concat = ir_emit_node (vjp, "ConcatFromSequence", 1, &sizes, 1);

  ir_emit_attr_int (vjp, concat, "axis", 0);
  return ir_emit_end (vjp, concat);
}

gboolean
ir_vjp_concat_from_sequence (IrVjp *vjp, GError **error)
{
  const gboolean stacks = ir_node_attr_int (vjp->node, "new_axis", 0) != 0;
  const gint64 axis = ir_node_attr_int (vjp->node, "axis", 0);
  IrValue *inputs[] = { vjp->dy[0], stacks ? NULL : sizes_along (vjp, vjp->node->inputs[0], axis) };
  IrNode *split = ir_emit_node (vjp, "SplitToSequence", stacks ? 1 : 2, inputs, 1);

  ir_emit_attr_int (vjp, split, "axis", axis);
  if (stacks)
    ir_emit_attr_int (vjp, split, "keepdims", 0);
  vjp->dx[0] = ir_emit_end (vjp, split);
  return TRUE;
}

gboolean
ir_vjp_optional (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = ir_emit1 (vjp, "OptionalGetElement", vjp->dy[0]);
  return TRUE;
}

gboolean
ir_vjp_optional_get_element (IrVjp *vjp, GError **error)
{
  const IrType *type = vjp->node->inputs[0]->type;

  vjp->dx[0] = type != NULL && type->kind == IR_TYPE_OPTIONAL
                   ? ir_emit1 (vjp, "Optional", vjp->dy[0])
                   : vjp->dy[0];
  return TRUE;
}

/* -- SequenceMap -- */

static gboolean
is_sequence (const IrValue *value)
{
  return value->type != NULL && value->type->kind == IR_TYPE_SEQUENCE;
}

/* Over the items again, and over what came to the results. */
gboolean
ir_vjp_sequence_map (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  const IrGraph *from = ir_node_attr_graph (node, "body");
  g_auto (IrGradBody) body = { 0 };
  g_autoptr (GPtrArray) inputs = g_ptr_array_new (), by = g_ptr_array_new ();
  g_autoptr (GPtrArray) parts = g_ptr_array_new ();

  if (from == NULL || ir_graph_n_inputs (from) != node->n_inputs ||
      ir_graph_n_outputs (from) < node->n_outputs)
    return ir_emit_fail (vjp, error, "its body does not fit its inputs and outputs");
  if (!ir_grad_refuse_random (vjp, from, error))
    return FALSE;
  for (guint i = 0; i < vjp->n_captured; i++)
    if (is_sequence (vjp->captured[i]))
      return ir_emit_fail (vjp, error,
                           "its body reads the sequence %s, and what comes to that would be a "
                           "sequence of sequences; give it as an input",
                           vjp->captured[i]->name);
  IrNode *back = ir_emit_node (vjp, "SequenceMap", 0, NULL, 0);
  ir_grad_body_open (&body, vjp, from, back, "body");
  for (guint i = 0; i < node->n_inputs; i++)
    {
      g_ptr_array_add (inputs, node->inputs[i]);
      g_ptr_array_add (body.inputs, ir_grad_body_stand_for (&body, ir_graph_input (from, i)));
    }
  ir_grad_body_copy (&body);
  g_autoptr (IrReverse) reverse = ir_grad_body_reverse (&body);
  for (guint i = 0; i < node->n_outputs; i++)
    if (vjp->dy[i] != NULL)
      {
        IrValue *item = ir_graph_output (from, i);
        g_ptr_array_add (inputs, vjp->dy[i]);
        ir_reverse_give (reverse, ir_grad_body_at (&body, item),
                         ir_grad_body_add_input (&body, item->type));
      }
  for (guint i = 0; i < node->n_inputs; i++)
    if (vjp->wanted[i])
      {
        ir_reverse_by (reverse, body.inputs->pdata[i]);
        g_ptr_array_add (by, body.inputs->pdata[i]);
      }
  for (guint i = 0; i < vjp->n_captured; i++)
    g_ptr_array_add (by, vjp->captured[i]);
  if (!ir_reverse_run (reverse, NULL, NULL, (IrNode *const *) body.path->pdata, body.path->len,
                       error))
    return FALSE;
  ir_edit_set_n_outputs (vjp->edit, back, by->len);
  for (guint i = 0; i < by->len; i++)
    {
      IrValue *value = by->pdata[i], *gradient = ir_reverse_gradient (reverse, value);
      ir_grad_body_add_output (&body,
                               gradient != NULL ? gradient : ir_emit_filled (&body.emit, value, 0));
      g_ptr_array_add (
          parts,
          ir_edit_add_value (vjp->edit, vjp->graph, NULL,
                             ir_type_sequence (ir_edit_model (vjp->edit)->context, value->type)));
      ir_edit_set_output (vjp->edit, back, i, parts->pdata[i]);
    }
  ir_grad_body_close (&body);
  ir_edit_set_n_inputs (vjp->edit, back, inputs->len);
  for (guint i = 0; i < inputs->len; i++)
    ir_edit_set_input (vjp->edit, back, i, inputs->pdata[i]);
  guint slot = 0;
  for (guint i = 0; i < node->n_inputs; i++)
    if (vjp->wanted[i])
      {
        IrValue *part = parts->pdata[slot++];
        vjp->dx[i] = is_sequence (node->inputs[i]) ? part
                                                   : sum_of_items (vjp, part, node->inputs[i]);
      }
  for (guint i = 0; i < vjp->n_captured; i++)
    vjp->by_captured[i] = sum_of_items (vjp, parts->pdata[slot++], vjp->captured[i]);
  return TRUE;
}
