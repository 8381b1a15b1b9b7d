/* Blocks of elements as doubles. Every type up to 32 bits fits a double exactly. */
#include "config.h"

#include "core/exec/ref/block.h"

/**
 * ir_block_load:
 * @tensor: a numeric tensor
 * @first: index of the first element
 * @n: number of elements
 * @values: (out caller-allocates) (array length=n): the elements, widened
 */
void
ir_block_load (const IrTensor *tensor, guint64 first, guint64 n, double *values)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  const void *data = ir_tensor_data (tensor);

  if (dtype == IR_DTYPE_FLOAT)
    for (guint64 i = 0; i < n; i++)
      values[i] = (double) ((const float *) data)[first + i];
  else if (dtype == IR_DTYPE_DOUBLE)
    for (guint64 i = 0; i < n; i++)
      values[i] = ((const double *) data)[first + i];
  else
    for (guint64 i = 0; i < n; i++)
      ir_dtype_get_double (dtype, data, first + i, &values[i]);
}

/**
 * ir_block_store:
 * @tensor: a numeric tensor that may be written
 * @first: index of the first element
 * @n: number of elements
 * @values: (array length=n): the elements; rounded to the type of @tensor
 */
void
ir_block_store (IrTensor *tensor, guint64 first, guint64 n, const double *values)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  void *data = ir_tensor_data_writable (tensor);

  if (dtype == IR_DTYPE_FLOAT)
    for (guint64 i = 0; i < n; i++)
      ((float *) data)[first + i] = (float) values[i];
  else if (dtype == IR_DTYPE_DOUBLE)
    for (guint64 i = 0; i < n; i++)
      ((double *) data)[first + i] = values[i];
  else
    for (guint64 i = 0; i < n; i++)
      ir_dtype_set_double (dtype, data, first + i, values[i]);
}

/**
 * ir_block_round:
 * @dtype: a numeric type
 * @value: a value
 *
 * Returns: @value as an element of @dtype would hold it
 */
double
ir_block_round (IrDtype dtype, double value)
{
  guint64 element = 0;

  if (dtype == IR_DTYPE_FLOAT)
    return (double) (float) value;
  ir_dtype_set_double (dtype, &element, 0, value);
  ir_dtype_get_double (dtype, &element, 0, &value);
  return value;
}

/**
 * ir_block_new:
 * @call: a call, for the message
 * @n: number of elements
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): room for @n doubles; free with g_free()
 */
double *
ir_block_new (const IrCall *call, guint64 n, GError **error)
{
  double *values = n < G_MAXSIZE / sizeof (double)
                       ? g_try_malloc (sizeof (double) * MAX ((gsize) n, 1))
                       : NULL;

  if (values == NULL)
    ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                  "no memory for %" G_GUINT64_FORMAT " elements of scratch", n);
  return values;
}

/**
 * ir_block_load_new:
 * @call: a call
 * @slot: an input with contents
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): all its elements as doubles; free with g_free()
 */
double *
ir_block_load_new (const IrCall *call, guint slot, GError **error)
{
  const IrTensor *tensor = ir_call_input (call, slot);
  guint64 n = ir_tensor_n_elements (tensor);
  double *values = ir_block_new (call, n, error);

  if (values != NULL)
    ir_block_load (tensor, 0, n, values);
  return values;
}

/**
 * ir_block_check_float:
 * @call: a call with contents
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_OP_ERROR_DTYPE if input 0 is not of a floating-point type
 */
gboolean
ir_block_check_float (const IrCall *call, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (ir_call_input (call, 0));

  return ir_dtype_is_float (dtype) ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                       "input 0 is %s, needed is a floating-point type", ir_dtype_name (dtype));
}

/**
 * ir_block_new_output:
 * @call: a call whose inference has set the type of @slot
 * @slot: output slot
 * @error: return location for an error
 *
 * Returns: (transfer none) (nullable): the output's tensor, to be written
 */
IrTensor *
ir_block_new_output (IrCall *call, guint slot, GError **error)
{
  const IrType *type = call->outputs[slot].type;

  if (type == NULL || !ir_type_is_static (type))
    {
      ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the shape of output %u is not known", slot);
      return NULL;
    }
  return ir_call_new_output (call, slot, type->dtype, (guint) type->rank, type->dims, error);
}

/**
 * ir_block_cancelled:
 * @call: a call
 * @error: return location for an error
 *
 * Returns: %TRUE with an error if the run was cancelled or has used up its time
 */
gboolean
ir_block_cancelled (const IrCall *call, GError **error)
{
  return ir_call_fail_if_stopped (call, error);
}
