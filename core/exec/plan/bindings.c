/* The tensors of bound steps: which types can have them, and telling the calls that read a value
 * where it lies. */
#include "config.h"

#include "core/exec/plan/plan.h"

#include <string.h>

/**
 * ir_step_is_plain:
 * @type: (nullable): a type
 *
 * Returns: whether its tensors have a size that is known, and elements with bytes of their own
 */
gboolean
ir_step_is_plain (const IrType *type)
{
  return type != NULL && type->kind == IR_TYPE_TENSOR && type->dtype != IR_DTYPE_UNDEFINED &&
         type->dtype != IR_DTYPE_STRING && ir_type_is_static (type);
}

/**
 * ir_step_has_type:
 * @tensor: contents
 * @type: (nullable): a type
 *
 * Returns: whether @tensor is a dense one of the element type and the sizes that @type says, and it says all of them
 */
gboolean
ir_step_has_type (const IrTensor *tensor, const IrType *type)
{
  return !ir_tensor_is_container (tensor) && ir_step_is_plain (type) &&
         ir_tensor_sparse_values (tensor) == NULL && ir_tensor_dtype (tensor) == type->dtype &&
         ir_tensor_rank (tensor) == (guint) type->rank &&
         memcmp (ir_tensor_dims (tensor), type->dims, sizeof (gint64) * (guint) type->rank) == 0;
}

/**
 * ir_step_is_shape_static:
 * @call: a call with the types of its inputs, and the contents of those that are constant
 *
 * Contents that inference may read, and that can differ from run to run, have it asked again.
 *
 * Returns: whether nothing but those types decides what the types of its outputs are
 */
gboolean
ir_step_is_shape_static (const IrCall *call)
{
  if (call->op->flags & IR_OP_ELEMENTWISE)
    return TRUE;
  for (guint i = 1; i < call->n_inputs; i++)
    if (call->inputs[i].present && call->inputs[i].tensor == NULL &&
        ir_dtype_kind (call->inputs[i].type->dtype) != IR_DTYPE_KIND_FLOAT)
      return FALSE;
  return TRUE;
}

/**
 * ir_step_bytes:
 * @type: (nullable): a type
 *
 * Returns: bytes of a tensor of it; 0 where they are not known
 */
guint64
ir_step_bytes (const IrType *type)
{
  gsize bytes = 0;

  return ir_type_n_bytes (type, &bytes) ? bytes : 0;
}

/**
 * ir_prepared_kept_bytes:
 * @prepared: a plan
 * @value: one of its values
 *
 * Returns: bytes of @value in the layout in which it is kept; 0 where they are not known
 */
guint64
ir_prepared_kept_bytes (const IrPrepared *prepared, const IrValue *value)
{
  return ir_step_bytes (ir_schedule_kept_type (prepared->schedule, value));
}

/**
 * ir_step_is_view:
 * @prepared: a plan
 * @node: a node
 *
 * Returns: whether @node only says that the bytes of its first input have another shape
 */
gboolean
ir_step_is_view (const IrPrepared *prepared, const IrNode *node)
{
  const IrValue *in = ir_node_input (node, 0), *out = ir_node_output (node, 0);

  return node->op != NULL && (node->op->flags & IR_OP_VIEW) && node->n_outputs == 1 && in != NULL &&
         out != NULL && ir_step_is_plain (in->type) && ir_step_is_plain (out->type) &&
         in->type->dtype == out->type->dtype &&
         ir_step_bytes (in->type) == ir_step_bytes (out->type) &&
         ir_schedule_block (prepared->schedule, in) == 0 &&
         ir_schedule_block (prepared->schedule, out) == 0;
}

/**
 * ir_steps_tell:
 * @prepared: a plan with its steps
 * @id: a value
 * @tensor: (nullable): what it holds
 *
 * Gives @tensor to the bound calls that read the value.
 */
void
ir_steps_tell (const IrPrepared *prepared, IrValueId id, const IrTensor *tensor)
{
  const IrBinding *binding = &prepared->values[id].binding;

  for (guint i = 0; i < binding->n; i++)
    prepared->readers[binding->first + i]->tensor = tensor;
}

/**
 * ir_steps_rebind:
 * @prepared: a plan with its steps
 * @id: a value that is bound
 * @tensor: (transfer full) (nullable): its tensor from now on
 */
void
ir_steps_rebind (IrPrepared *prepared, IrValueId id, IrTensor *tensor)
{
  IrBinding *binding = &prepared->values[id].binding;

  g_clear_pointer (&binding->tensor, ir_tensor_unref);
  binding->tensor = tensor;
  if (binding->producer_slot != NULL)
    *binding->producer_slot = tensor;
  ir_steps_tell (prepared, id, tensor);
}

/**
 * ir_steps_holds:
 * @prepared: a plan
 * @id: a value
 * @tensor: what it holds
 *
 * Returns: whether @tensor belongs to the bindings, so that the run has no reference to it
 */
gboolean
ir_steps_holds (const IrPrepared *prepared, IrValueId id, const IrTensor *tensor)
{
  return id < prepared->n_values && prepared->values[id].binding.tensor == tensor;
}
