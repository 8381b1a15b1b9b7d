/* What Loop, Scan and SequenceMap have in common as loops that count: how often they run, what an iteration gets, and
 * how what iterations give is collected. */
#include "config.h"

#include "passes/rewrites/lower-private.h"
#include "passes/rewrites/trips.h"

/* -- what each is -- */

static gboolean
is_output_read (const IrNode *node, guint i)
{
  return node->outputs[i] != NULL && node->outputs[i]->n_uses > 0;
}

gboolean
ir_lower_is_collected (const IrLowerForm *form, const IrNode *node, guint i)
{
  gboolean some = form->n_states > 0;

  for (guint k = 0; k < node->n_outputs; k++)
    some = some || is_output_read (node, k);
  return i >= form->n_states && (is_output_read (node, i) || (!some && i == 0));
}

static const IrValue *
result_of (const IrLowerForm *form, guint output)
{
  return ir_graph_output (form->body, form->result + output);
}

static gint64
list_entry (const IrNode *node, const char *attr, guint i)
{
  guint n = 0;
  const gint64 *numbers = ir_node_attr_ints (node, attr, &n);

  return numbers != NULL && i < n ? numbers[i] : 0;
}

/* Axis that scanned input @i is cut along; negative where that is not known */
static gint64
scan_axis (const IrLowerForm *form, const IrNode *node, guint i)
{
  const gint64 axis = list_entry (node, "scan_input_axes", i);
  const IrType *type = node->inputs[form->n_states + i]->type;

  return axis < 0 && ir_type_is_tensor (type) && ir_type_has_rank (type) ? axis + type->rank : axis;
}

static gboolean
is_scalar_for_sure (const IrValue *value)
{
  return value == NULL || (value->type != NULL && value->type->rank == 0);
}

/* (nullable) */
static const char *
why_not_loop (const IrNode *node, const IrLowerForm *form)
{
  /* A body is given a scalar, whatever the condition's shape is. */
  if (ir_graph_input (form->body, 1)->n_uses > 0 &&
      (!is_scalar_for_sure (ir_node_input (node, 1)) ||
       !is_scalar_for_sure (ir_graph_output (form->body, 0))))
    return "the body reads a condition that may not be a scalar";
  return NULL;
}

/* Whether it is the first one along the same axis */
static gboolean
is_measured_alike (const IrLowerForm *form, const IrNode *node, guint i)
{
  return node->inputs[form->n_states + i] == node->inputs[form->n_states] &&
         scan_axis (form, node, i) == scan_axis (form, node, 0);
}

/* (nullable) Parts are cut where all are equally long: a Scan of others fails. */
static const char *
why_not_scan (const IrNode *node, const IrLowerForm *form)
{
  IrDim length = IR_DIM_UNKNOWN;

  for (guint i = 0; i < form->n_items; i++)
    {
      const IrType *type = node->inputs[form->n_states + i]->type;
      const gint64 axis = scan_axis (form, node, i);
      const gboolean is_known = ir_type_is_tensor (type) && ir_type_has_rank (type);
      if (axis < 0 || (is_known && axis >= type->rank))
        return "an axis of scan_input_axes is out of range, or the rank is not known";
      if (list_entry (node, "scan_input_directions", i) == 1 &&
          ir_graph_opset (node->graph, "") < 11)
        return "Gather counts from the end from opset 11 on";
      if (i > 0 && !is_measured_alike (form, node, i) &&
          (!is_known || type->dims[axis] == IR_DIM_UNKNOWN || type->dims[axis] != length))
        return "what is scanned is not known to be equally long";
      if (i == 0)
        length = is_known ? type->dims[axis] : IR_DIM_UNKNOWN;
    }
  return NULL;
}

/* (nullable) */
static const char *
why_not_map (const IrNode *node, const IrLowerForm *form)
{
  for (guint i = 0; i < form->n_items; i++)
    {
      const IrType *type = node->inputs[i]->type;
      if (type == NULL || (i == 0 && type->kind != IR_TYPE_SEQUENCE))
        return "it is not known which inputs are sequences";
      if (i > 0 && type->kind == IR_TYPE_SEQUENCE && node->inputs[i] != node->inputs[0])
        return "its sequences are not known to be equally long";
    }
  return NULL;
}

/* (nullable) */
static const char *
why_not_collected (const IrNode *node, const IrLowerForm *form)
{
  for (guint i = form->n_states; i < node->n_outputs; i++)
    {
      if (!ir_lower_is_collected (form, node, i))
        continue;
      const IrValue *result = result_of (form, i);
      if (!ir_type_is_tensor (result->type) || result->type->dtype == IR_DTYPE_UNDEFINED)
        return "what is stacked is not known to be a tensor of one element type";
      if (ir_graph_opset (node->graph, "") < 11)
        return "sequences are there from opset 11 on";
    }
  return NULL;
}

static gboolean
find_form (const IrNode *node, IrLowerForm *form)
{
  const gint64 n_scanned = ir_node_attr_int (node, "num_scan_inputs", 0);

  *form = (IrLowerForm){ .body = ir_node_attr_graph (node, "body") };
  if (ir_op_is (node, IR_OP_LOOP))
    {
      form->is_loop = TRUE;
      form->n_states = MAX (node->n_inputs, 2) - 2;
      form->input = form->inner = 2;
      form->result = 1;
      return TRUE;
    }
  form->is_map = ir_op_is (node, IR_OP_SEQUENCE_MAP);
  if (!form->is_map && (n_scanned < 1 || n_scanned > node->n_inputs))
    return FALSE;
  form->n_items = form->is_map ? node->n_inputs : (guint) n_scanned;
  form->n_states = node->n_inputs - form->n_items;
  return form->n_items > 0;
}

/* Whether the body has what the form says */
static gboolean
fits (const IrNode *node, const IrLowerForm *form)
{
  const guint n = form->n_states + form->n_items;

  if (ir_graph_n_inputs (form->body) != form->inner + n || node->n_outputs < form->n_states ||
      ir_graph_n_outputs (form->body) < form->result + node->n_outputs)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (ir_node_input (node, form->input + i) == NULL)
      return FALSE;
  return TRUE;
}

const char *
ir_lower_find_form (const IrLowering *l, const IrNode *node, IrLowerForm *form)
{
  const gboolean found = find_form (node, form);
  const char *why = ir_lower_why_not_moved (l, form->body);

  if (why != NULL)
    return why;
  if (!found || !fits (node, form))
    return "its body does not fit it";
  if (ir_graph_opset (node->graph, "") < 9)
    return "Less takes integers, and a Scan is one, from opset 9 on";
  why = form->is_loop  ? why_not_loop (node, form)
        : form->is_map ? why_not_map (node, form)
                       : why_not_scan (node, form);
  return why != NULL ? why : why_not_collected (node, form);
}

/* -- in front of the loop -- */

const IrType *
ir_lower_scalar_type (const IrLowerConstruct *c, IrDtype dtype)
{
  return ir_type_tensor (c->l->context->model->context, dtype, 0, NULL);
}

IrValue *
ir_lower_add_scalar (IrLowerConstruct *c, const char *name, IrDtype dtype, gint64 number)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (dtype, (double) number);

  return ir_pass_add_constant (c->l->context, c->graph, name, tensor);
}

/* A node in front of the loop; it runs where the loop does. */
static IrValue *
add_before (
    IrLowerConstruct *c, const char *op, guint n_inputs, IrValue *const *inputs, const IrType *type)
{
  IrNode *node = ir_lower_add_node (c, op, NULL, n_inputs, inputs, 1, type);
  gboolean conditional = FALSE;

  ir_lower_guard (c, node);
  for (guint i = 0; i < n_inputs; i++)
    conditional = conditional || g_hash_table_contains (c->l->conditional, inputs[i]);
  if (conditional || node->controls != NULL)
    g_hash_table_add (c->l->conditional, node->outputs[0]);
  return node->outputs[0];
}

IrValue *
ir_lower_add_true (IrLowerConstruct *c, IrValue *number)
{
  IrValue *inputs[] = { number, number };

  return add_before (c, "Equal", 2, inputs, ir_lower_scalar_type (c, IR_DTYPE_BOOL));
}

IrValue *
ir_lower_add_limit (IrLowerConstruct *c, const IrLowerForm *form)
{
  const IrNode *node = c->node;
  const IrType *count = ir_lower_scalar_type (c, IR_DTYPE_INT64);
  IrContext *context = c->l->context->model->context;

  if (form->is_loop)
    return ir_node_input (node, 0);
  IrValue *first = node->inputs[form->input + form->n_states];
  const IrType *type = first->type;
  const IrDim rank = ir_type_is_tensor (type) && ir_type_has_rank (type) ? type->rank
                                                                         : IR_DIM_UNKNOWN;
  if (form->is_map)
    return add_before (c, "SequenceLength", 1, &first, count);
  IrValue *inputs[] = {
    add_before (c, "Shape", 1, &first, ir_type_tensor (context, IR_DTYPE_INT64, 1, &rank)),
    ir_lower_add_scalar (c, "axis", IR_DTYPE_INT64, scan_axis (form, node, 0))
  };
  return add_before (c, "Gather", 2, inputs, count);
}

IrValue *
ir_lower_add_empty (IrLowerConstruct *c, const IrValue *result)
{
  IrContext *context = c->l->context->model->context;
  const IrType *element = ir_type_tensor (context, result->type->dtype, IR_RANK_UNKNOWN, NULL);
  IrValue *first = add_before (c, "SequenceEmpty", 0, NULL, ir_type_sequence (context, element));

  ir_edit_set_attr (c->l->edit, first->producer,
                    ir_attr_int (context, "dtype", (gint64) result->type->dtype));
  return first;
}

/* -- in the loop -- */

IrValue *
ir_lower_add_test (IrLowerConstruct *c, IrValue *number, IrValue *limit, IrValue *condition)
{
  const IrType *type = ir_type_tensor (c->l->context->model->context, IR_DTYPE_BOOL,
                                       IR_RANK_UNKNOWN, NULL);
  IrValue *less_inputs[] = { number, limit };

  if (limit == NULL)
    return condition;
  IrNode *less = ir_lower_add_node (c, "Less", NULL, 2, less_inputs, 1, type);
  IrValue *and_inputs[] = { less->outputs[0], condition };
  return condition == NULL ? less->outputs[0]
                           : ir_lower_add_node (c, "And", NULL, 2, and_inputs, 1, type)->outputs[0];
}

IrValue *
ir_lower_add_next (IrLowerConstruct *c, IrValue *number)
{
  IrValue *sum[] = { number, ir_lower_add_scalar (c, "one", IR_DTYPE_INT64, 1) };

  return ir_lower_add_node (c, "Add", NULL, 2, sum, 1, number->type)->outputs[0];
}

gboolean
ir_lower_is_backward (const IrLowerConstruct *c, const IrLowerForm *form, guint i)
{
  return !form->is_map && list_entry (c->node, "scan_input_directions", i) == 1;
}

IrValue *
ir_lower_add_part (IrLowerConstruct *c,
                   const IrLowerForm *form,
                   guint i,
                   IrValue *whole,
                   const IrType *type,
                   IrValue *number,
                   IrValue *next)
{
  const gint64 axis = form->is_map ? 0 : scan_axis (form, c->node, i);
  IrValue *inputs[] = { whole, number };

  if (form->is_map && whole->type->kind != IR_TYPE_SEQUENCE)
    return whole;
  if (ir_lower_is_backward (c, form, i))
    inputs[1] = ir_lower_add_node (c, "Neg", NULL, 1, &next, 1, next->type)->outputs[0];
  IrNode *node = ir_lower_add_node (c, form->is_map ? "SequenceAt" : "Gather", NULL, 2, inputs, 1,
                                    type);
  if (axis != 0)
    ir_edit_set_attr (c->l->edit, node, ir_attr_int (c->l->context->model->context, "axis", axis));
  return node->outputs[0];
}

IrValue *
ir_lower_add_insert (IrLowerConstruct *c, IrValue *sequence, IrValue *item)
{
  IrValue *inputs[] = { sequence, item };

  return ir_lower_add_node (c, "SequenceInsert", NULL, 2, inputs, 1, sequence->type)->outputs[0];
}

/* -- behind the loop -- */

IrValue *
ir_lower_add_stack (
    IrLowerConstruct *c, const IrLowerForm *form, IrValue *sequence, guint i, const IrValue *result)
{
  IrContext *context = c->l->context->model->context;
  const gint64 axis = form->is_loop ? 0 : list_entry (c->node, "scan_output_axes", i);
  const gint64 direction = form->is_loop ? 0 : list_entry (c->node, "scan_output_directions", i);
  IrNode *node = ir_lower_add_node (c, "Stack", IR_LOWER_DOMAIN, 1, &sequence, 1, NULL);

  if (axis != 0)
    ir_edit_set_attr (c->l->edit, node, ir_attr_int (context, "axis", axis));
  if (direction != 0)
    ir_edit_set_attr (c->l->edit, node, ir_attr_int (context, "direction", direction));
  const IrType *type = ir_pass_stacked_type (context, ir_value_shown_type (result), axis);
  if (type != NULL)
    {
      ir_edit_set_claim (c->l->edit, node->outputs[0], type);
      ir_edit_set_flags (c->l->edit, node->outputs[0], node->outputs[0]->flags | IR_VALUE_DECLARED);
    }
  return node->outputs[0];
}
