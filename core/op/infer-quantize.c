/* Inference of quantization. */
#include "config.h"

#include "core/op/infer-window.h"

#include "core/op/rows.h"

/* What output_dtype says, or the type of input @slot, or @fallback. */
static gboolean
output_dtype (const IrCall *call, guint slot, IrDtype fallback, IrDtype *dtype, GError **error)
{
  gint64 code = ir_call_int (call, "output_dtype", 0);

  *dtype = fallback;
  if (code != 0 && !ir_dtype_is_valid (code))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "output_dtype is %" G_GINT64_FORMAT ", not an element type", code);
  if (code != 0)
    *dtype = (IrDtype) code;
  else if (ir_call_has_input (call, slot))
    *dtype = ir_call_input_dtype (call, slot);
  return TRUE;
}

/* One scale, one per place of the axis, or one per block. */
static gboolean
check_scale (const IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0), n = ir_call_input_rank (call, 1);
  gint64 block = ir_call_int (call, "block_size", 0), axis;

  if (rank == IR_RANK_UNKNOWN || n == IR_RANK_UNKNOWN)
    return TRUE;
  if (block < 0 || (block == 0 && n > 1) || (block > 0 && n != rank))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "scale has %d dims, which block_size %" G_GINT64_FORMAT " does not allow",
                         n, block);
  if (n == 0 || (n == 1 && block == 0 && ir_call_input_dims (call, 1)[0] == 1))
    return TRUE;
  return ir_call_axis (call, ir_call_int (call, "axis", 1), rank, &axis, error);
}

/**
 * ir_infer_quantize_linear:
 * @call: x, y_scale, y_zero_point or none
 * @error: return location for an error
 *
 * Source: ONNX QuantizeLinear 21.
 *
 * Returns: %TRUE if the output type was set
 */
gboolean
ir_infer_quantize_linear (IrCall *call, GError **error)
{
  IrDtype dtype;

  if (!check_scale (call, error) || !output_dtype (call, 2, IR_DTYPE_UINT8, &dtype, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, dtype);
  return TRUE;
}

/**
 * ir_infer_dequantize_linear:
 * @call: x, x_scale, x_zero_point or none
 * @error: return location for an error
 *
 * Source: ONNX DequantizeLinear 21.
 *
 * Returns: %TRUE if the output type was set
 */
gboolean
ir_infer_dequantize_linear (IrCall *call, GError **error)
{
  IrDtype dtype;

  if (!check_scale (call, error) || !output_dtype (call, 1, IR_DTYPE_FLOAT, &dtype, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, dtype);
  return TRUE;
}

/**
 * ir_infer_dynamic_quantize_linear:
 * @call: x
 * @error: return location for an error
 *
 * Source: ONNX DynamicQuantizeLinear 11.
 *
 * Returns: %TRUE if the output types were set
 */
gboolean
ir_infer_dynamic_quantize_linear (IrCall *call, GError **error)
{
  static const IrDtype dtypes[] = { IR_DTYPE_UINT8, IR_DTYPE_FLOAT, IR_DTYPE_UINT8 };
  IrDtype dtype = ir_call_input_dtype (call, 0);

  if (dtype != IR_DTYPE_UNDEFINED && dtype != IR_DTYPE_FLOAT)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "x is %s, needed is float",
                         ir_dtype_name (dtype));
  ir_call_same_shape (call, 0, 0, dtypes[0]);
  for (guint slot = 1; slot < MIN (call->n_outputs, 3); slot++)
    ir_call_set_output_tensor_type (call, slot, dtypes[slot], 0, NULL);
  return TRUE;
}

static gboolean
infer_product (IrCall *call, guint b, IrDtype dtype, GError **error)
{
  IrDim dims[IR_MAX_RANK];
  int rank;

  if (!ir_call_check_integers (call, 0, 1, error) || !ir_call_check_integers (call, b, 1, error) ||
      !ir_matmul_dims (call, ir_call_input_type (call, 0), ir_call_input_type (call, b), &rank,
                       dims, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
  return TRUE;
}

/**
 * ir_infer_matmul_integer:
 * @call: A [.., M, K], B [.., K, N], zero points
 * @error: return location for an error
 *
 * Source: ONNX MatMulInteger 10.
 *
 * Returns: %TRUE if the output type was set
 */
gboolean
ir_infer_matmul_integer (IrCall *call, GError **error)
{
  return infer_product (call, 1, IR_DTYPE_INT32, error);
}

/**
 * ir_infer_q_linear_matmul:
 * @call: a, b and y with their scales and zero points
 * @error: return location for an error
 *
 * Source: ONNX QLinearMatMul 21.
 *
 * Returns: %TRUE if the output type was set
 */
gboolean
ir_infer_q_linear_matmul (IrCall *call, GError **error)
{
  return ir_call_check_integers (call, 7, 1, error) &&
         infer_product (call, 3, ir_call_input_dtype (call, 7), error);
}
