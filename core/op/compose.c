/* How compositions are followed, and the two that need no kernels: types and FLOPs. */
#include "config.h"

#include "core/op/compose.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

/* -- parts -- */

static void
part_free (gpointer data)
{
  IrPart *part = data;

  g_clear_pointer (&part->own, ir_tensor_unref);
  g_free (part->data);
  g_free (part);
}

/**
 * ir_compose_part:
 * @c: a composition
 * @type: (nullable): the type of the part
 *
 * Returns: (transfer none): a new part, which lives as long as @c
 */
IrPart *
ir_compose_part (IrCompose *c, const IrType *type)
{
  IrPart *part = g_new0 (IrPart, 1);

  part->type = type;
  g_ptr_array_add (c->parts, part);
  return part;
}

static gboolean
is_over (const IrCompose *c)
{
  return c->failed || c->unknown;
}

/**
 * ir_compose_input:
 * @c: a composition
 * @slot: an input of its call
 *
 * Returns: (transfer none) (nullable): the input; %NULL: it is not given
 */
IrPart *
ir_compose_input (IrCompose *c, guint slot)
{
  if (is_over (c) || slot >= c->call->n_inputs || !ir_call_has_input (c->call, slot))
    return NULL;
  if (c->inputs[slot] != NULL)
    return c->inputs[slot];
  IrPart *part = ir_compose_part (c, ir_call_input_type (c->call, slot));
  const IrShapeData *known = c->call->inputs[slot].data;

  part->tensor = ir_call_input (c->call, slot);
  if (known != NULL)
    part->data = g_memdup2 (known, sizeof *known + known->n * sizeof known->numbers[0]);
  c->inputs[slot] = part;
  return part;
}

/**
 * ir_compose_constant:
 * @c: a composition
 * @tensor: (transfer full): contents
 *
 * Returns: (transfer none) (nullable): a part that holds them
 */
IrPart *
ir_compose_constant (IrCompose *c, IrTensor *tensor)
{
  IrPart *part = ir_compose_part (c, ir_tensor_type (tensor, c->call->context));

  part->tensor = part->own = tensor;
  return is_over (c) ? NULL : part;
}

/**
 * ir_compose_ints:
 * @c: a composition
 * @n: how many
 * @values: (array length=n): whole numbers
 *
 * Returns: (transfer none) (nullable): a constant int64 [n]
 */
IrPart *
ir_compose_ints (IrCompose *c, guint n, const gint64 *values)
{
  return ir_compose_constant (c, ir_tensor_new_int64s (values, n));
}

/**
 * ir_compose_number:
 * @c: a composition
 * @dtype: element type; undefined: float
 * @value: a number
 *
 * Fails the composition where @dtype has no such numbers.
 *
 * Returns: (transfer none) (nullable): a constant scalar
 */
IrPart *
ir_compose_number (IrCompose *c, IrDtype dtype, double value)
{
  if (dtype == IR_DTYPE_STRING || ir_dtype_kind (dtype) == IR_DTYPE_KIND_COMPLEX)
    {
      ir_compose_fail (c, IR_OP_ERROR_DTYPE, "an input is %s, needed are real numbers",
                       ir_dtype_name (dtype));
      return NULL;
    }
  return ir_compose_constant (
      c, ir_tensor_new_scalar (dtype != IR_DTYPE_UNDEFINED ? dtype : IR_DTYPE_FLOAT, value));
}

/**
 * ir_compose_rank:
 * @c: a composition
 * @part: (nullable): a part
 *
 * Returns: its rank; 0 where it is not known, and then the composition is over
 */
guint
ir_compose_rank (IrCompose *c, const IrPart *part)
{
  if (!is_over (c) && part != NULL && part->type != NULL && ir_type_has_rank (part->type))
    return (guint) part->type->rank;
  c->unknown = TRUE;
  return 0;
}

/**
 * ir_compose_dim:
 * @c: a composition
 * @part: (nullable): a part
 * @axis: which axis; below 0: from the end
 *
 * Returns: its size; 0 where it is not known, and then the composition is over
 */
gint64
ir_compose_dim (IrCompose *c, const IrPart *part, int axis)
{
  int rank = (int) ir_compose_rank (c, part), at = axis < 0 ? axis + rank : axis;

  if (is_over (c))
    return 0;
  if (at < 0 || at >= rank)
    {
      ir_compose_fail (c, IR_OP_ERROR_SHAPE, "an input of rank %d has too few axes", rank);
      return 0;
    }
  if (ir_dim_is_known (part->type->dims[at]))
    return part->type->dims[at];
  c->unknown = TRUE;
  return 0;
}

/**
 * ir_compose_dtype:
 * @part: (nullable): a part
 *
 * Returns: its element type; undefined where it is not known
 */
IrDtype
ir_compose_dtype (const IrPart *part)
{
  return part != NULL && part->type != NULL && ir_type_is_tensor (part->type) ? part->type->dtype
                                                                              : IR_DTYPE_UNDEFINED;
}

/* -- attributes of the next inner call -- */

/**
 * ir_compose_set_int:
 * @c: a composition
 * @name: an attribute of the next inner call
 * @value: what it is
 */
void
ir_compose_set_int (IrCompose *c, const char *name, gint64 value)
{
  g_ptr_array_add (c->attrs, (gpointer) ir_attr_int (c->call->context, name, value));
}

/**
 * ir_compose_set_float:
 * @c: a composition
 * @name: an attribute of the next inner call
 * @value: what it is
 */
void
ir_compose_set_float (IrCompose *c, const char *name, double value)
{
  g_ptr_array_add (c->attrs, (gpointer) ir_attr_float (c->call->context, name, (float) value));
}

/**
 * ir_compose_set_ints:
 * @c: a composition
 * @name: an attribute of the next inner call
 * @n: how many
 * @values: (array length=n): what it is
 */
void
ir_compose_set_ints (IrCompose *c, const char *name, guint n, const gint64 *values)
{
  g_ptr_array_add (c->attrs, (gpointer) ir_attr_ints (c->call->context, name, values, n));
}

/**
 * ir_compose_set_string:
 * @c: a composition
 * @name: an attribute of the next inner call
 * @value: what it is
 */
void
ir_compose_set_string (IrCompose *c, const char *name, const char *value)
{
  g_ptr_array_add (c->attrs, (gpointer) ir_attr_string (c->call->context, name, value, -1));
}

/**
 * ir_compose_pass_attrs:
 * @c: a composition
 * @op: the operator of the next inner call
 *
 * Gives the next inner call the attributes of the call that @op has, too.
 */
void
ir_compose_pass_attrs (IrCompose *c, IrOpId op)
{
  const IrOp *row = ir_op_by_id (op);

  for (guint i = 0; i < c->call->n_attrs; i++)
    if (c->call->attrs[i]->ref_name == NULL && ir_op_attr (row, c->call->attrs[i]->name) != NULL)
      g_ptr_array_add (c->attrs, (gpointer) c->call->attrs[i]);
}

/* -- inner calls -- */

/* Lays out a call of @op with what the outer one has of the run around it. */
static void
lay_out (IrCompose *c, IrCall *inner, IrOpId op, guint n, IrPart *const *inputs, guint n_outputs)
{
  const IrCall *outer = c->call;

  *inner = (IrCall){
    .node = outer->node,
    .op = ir_op_by_id (op),
    .context = outer->context,
    .n_inputs = n,
    .n_outputs = n_outputs,
    .n_attrs = c->attrs->len,
    .inputs = g_new0 (IrCallInput, MAX (n, 1)),
    .outputs = g_new0 (IrCallOutput, MAX (n_outputs, 1)),
    .attrs = g_new0 (const IrAttr *, MAX (c->attrs->len, 1)),
    .threads = outer->threads,
    .cancellable = outer->cancellable,
    .watch = outer->watch,
    .max_output_bytes = outer->max_output_bytes,
    .equal = outer->equal,
    .equal_data = outer->equal_data,
  };
  for (guint i = 0; i < n; i++)
    if (inputs[i] != NULL)
      inner->inputs[i] = (IrCallInput){ .type = inputs[i]->type,
                                        .tensor = inputs[i]->tensor,
                                        .data = inputs[i]->data,
                                        .present = TRUE };
  for (guint i = 0; i < n_outputs; i++)
    inner->outputs[i].present = TRUE;
  for (guint i = 0; i < c->attrs->len; i++)
    inner->attrs[i] = c->attrs->pdata[i];
  while (inner->n_inputs > 0 && !inner->inputs[inner->n_inputs - 1].present)
    inner->n_inputs--;
}

/**
 * ir_compose_many:
 * @c: a composition
 * @op: an operator
 * @n: number of inputs
 * @inputs: (array length=n): parts, %NULL where an input is left out
 * @n_outputs: number of outputs
 * @outputs: (array length=n_outputs) (out caller-allocates): the outputs; %NULL once the composition
 *   is over
 *
 * Applies @op, with the attributes that were set for it.
 */
void
ir_compose_many (
    IrCompose *c, IrOpId op, guint n, IrPart *const *inputs, guint n_outputs, IrPart **outputs)
{
  IrCall inner;

  for (guint i = 0; i < n_outputs; i++)
    outputs[i] = NULL;
  if (!is_over (c))
    {
      lay_out (c, &inner, op, n, inputs, n_outputs);
      if (!ir_call_check (&inner, &c->error) || !c->apply (c, &inner, inputs, outputs, &c->error))
        c->failed = TRUE;
      ir_call_clear (&inner);
    }
  g_ptr_array_set_size (c->attrs, 0);
}

/**
 * ir_compose:
 * @c: a composition
 * @op: an operator
 * @n: number of inputs
 * @...: that many parts, %NULL where an input is left out
 *
 * Returns: (transfer none) (nullable): output 0 of @op, with the attributes that were set for it
 */
IrPart *
ir_compose (IrCompose *c, IrOpId op, guint n, ...)
{
  IrPart *inputs[8], *output;
  va_list list;

  g_return_val_if_fail (n <= G_N_ELEMENTS (inputs), NULL);
  va_start (list, n);
  for (guint i = 0; i < n; i++)
    inputs[i] = va_arg (list, IrPart *);
  va_end (list);
  ir_compose_many (c, op, n, inputs, 1, &output);
  return output;
}

/**
 * ir_compose_result:
 * @c: a composition
 * @slot: an output of its call; one that it does not have: nothing is done
 * @part: (nullable): what it is
 */
void
ir_compose_result (IrCompose *c, guint slot, IrPart *part)
{
  if (!is_over (c) && slot < c->call->n_outputs)
    c->results[slot] = part;
}

/**
 * ir_compose_wants:
 * @c: a composition
 * @slot: an output of its call
 *
 * Returns: whether somebody wants it
 */
gboolean
ir_compose_wants (const IrCompose *c, guint slot)
{
  return slot < c->call->n_outputs && c->call->outputs[slot].present;
}

/**
 * ir_compose_fail:
 * @c: a composition, which is over then
 * @code: kind of error
 * @format: what was found against what was needed
 * @...: its arguments
 */
void
ir_compose_fail (IrCompose *c, IrOpErrorCode code, const char *format, ...)
{
  va_list list;

  if (is_over (c))
    return;
  va_start (list, format);
  g_autofree char *text = g_strdup_vprintf (format, list);
  va_end (list);
  ir_call_fail (c->call, &c->error, code, "%s", text);
  c->failed = TRUE;
}

/* -- following -- */

/**
 * ir_compose_init:
 * @c: (out caller-allocates): a composition
 * @call: the call of an operator whose row has a COMPOSE column
 *
 * The caller sets what applies inner calls.
 */
void
ir_compose_init (IrCompose *c, IrCall *call)
{
  *c = (IrCompose){
    .call = call,
    .apply = ir_compose_infer,
    .parts = g_ptr_array_new_with_free_func (part_free),
    .attrs = g_ptr_array_new (),
    .inputs = g_new0 (IrPart *, call->n_inputs + 1),
    .results = g_new0 (IrPart *, call->n_outputs + 1),
  };
}

/**
 * ir_compose_clear:
 * @c: a composition
 *
 * Frees its parts.
 */
void
ir_compose_clear (IrCompose *c)
{
  g_clear_pointer (&c->parts, g_ptr_array_unref);
  g_clear_pointer (&c->attrs, g_ptr_array_unref);
  g_clear_pointer (&c->inputs, g_free);
  g_clear_pointer (&c->results, g_free);
  g_clear_error (&c->error);
}

/**
 * ir_compose_follow:
 * @c: a composition
 * @error: return location for an error
 *
 * Returns: %FALSE with @error set if it has failed, with @error unset if it depends on a type that is
 *   not known
 */
gboolean
ir_compose_follow (IrCompose *c, GError **error)
{
  c->call->op->compose (c);
  if (c->failed)
    g_propagate_error (error, g_steal_pointer (&c->error));
  return !c->failed && !c->unknown;
}

/* -- types -- */

/**
 * ir_compose_infer:
 * @c: a composition
 * @inner: an inner call
 * @inputs: its inputs
 * @outputs: (out caller-allocates): its outputs, with types and what is known of their contents
 * @error: return location for an error
 *
 * Returns: whether the types of the inputs fit
 */
gboolean
ir_compose_infer (
    IrCompose *c, IrCall *inner, IrPart *const *inputs, IrPart **outputs, GError **error)
{
  if (!inner->op->infer (inner, error))
    return FALSE;
  for (guint i = 0; i < inner->n_outputs; i++)
    {
      const IrShapeData *data = inner->outputs[i].data;

      outputs[i] = ir_compose_part (c, inner->outputs[i].type);
      if (data != NULL)
        outputs[i]->data = g_memdup2 (data, sizeof *data + data->n * sizeof data->numbers[0]);
    }
  return TRUE;
}

/* Whatever the row is composed of. Sets the types of the outputs that follow from those of its
 * parts. */
gboolean
ir_infer_composed (IrCall *call, GError **error)
{
  g_auto (IrCompose) c = { 0 };
  g_autoptr (GError) local = NULL;

  ir_compose_init (&c, call);
  if (!ir_compose_follow (&c, &local))
    {
      if (local != NULL)
        g_propagate_error (error, g_steal_pointer (&local));
      return !c.failed;
    }
  for (guint i = 0; i < call->n_outputs; i++)
    {
      if (c.results[i] == NULL)
        continue;
      ir_call_set_output_type (call, i, c.results[i]->type);
      const IrShapeData *data = c.results[i]->data;
      if (data != NULL)
        ir_call_set_output_data (call, i, data->numbers, data->n, data->scalar);
    }
  return TRUE;
}

/* -- FLOPs -- */

static gboolean
add_cost (IrCompose *c, IrCall *inner, IrPart *const *inputs, IrPart **outputs, GError **error)
{
  guint64 *sum = c->data;

  if (!ir_compose_infer (c, inner, inputs, outputs, error))
    return FALSE;
  guint64 cost = inner->op->cost (inner);
  *sum = *sum > G_MAXUINT64 - cost ? G_MAXUINT64 : *sum + cost;
  return TRUE;
}

/* Those of its parts. */
guint64
ir_cost_composed (const IrCall *call)
{
  g_auto (IrCompose) c = { 0 };
  guint64 sum = 0;

  ir_compose_init (&c, (IrCall *) call);
  c.apply = add_cost;
  c.data = &sum;
  ir_compose_follow (&c, NULL);
  return sum;
}
