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
  if (code != 0 && (!ir_dtype_is_valid (code) || code == IR_DTYPE_STRING ||
                    ir_dtype_kind ((IrDtype) code) == IR_DTYPE_KIND_COMPLEX))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "output_dtype is %" G_GINT64_FORMAT ", not a numeric element type", code);
  if (code != 0)
    *dtype = (IrDtype) code;
  else if (ir_call_has_input (call, slot))
    *dtype = ir_call_input_dtype (call, slot);
  return TRUE;
}

/* The zero point is of the type of what is quantized, and as many as there are scales. */
static gboolean
check_zero_point (const IrCall *call, IrDtype quantized, GError **error)
{
  IrDtype zero = ir_call_input_dtype (call, 2);
  const IrType *scales = ir_call_input_type (call, 1), *zeros = ir_call_input_type (call, 2);
  guint64 n_scales = 0, n_zeros = 0;

  if (!ir_call_has_input (call, 2))
    return TRUE;
  if (zero != IR_DTYPE_UNDEFINED && quantized != IR_DTYPE_UNDEFINED && zero != quantized)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "the zero point is %s, needed is %s",
                         ir_dtype_name (zero), ir_dtype_name (quantized));
  if (ir_type_n_elements (scales, &n_scales) && ir_type_n_elements (zeros, &n_zeros) &&
      n_scales != n_zeros)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "there are %" G_GUINT64_FORMAT " zero points for %" G_GUINT64_FORMAT
                         " scales",
                         n_zeros, n_scales);
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

/* Source: ONNX QuantizeLinear 28 */
gboolean
ir_infer_quantize_linear (IrCall *call, GError **error)
{
  IrDtype dtype;

  if (!check_scale (call, error) || !output_dtype (call, 2, IR_DTYPE_UINT8, &dtype, error) ||
      !check_zero_point (call, dtype, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, dtype);
  return TRUE;
}

/* Source: ONNX DequantizeLinear 28 */
gboolean
ir_infer_dequantize_linear (IrCall *call, GError **error)
{
  IrDtype dtype;

  if (!check_scale (call, error) || !output_dtype (call, 1, IR_DTYPE_FLOAT, &dtype, error) ||
      !check_zero_point (call, ir_call_input_dtype (call, 0), error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, dtype);
  return TRUE;
}

/* Source: ONNX DynamicQuantizeLinear 11 */
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

/* The operators below take numbers of 8 bits, whose products add up exactly in double: integers, or
 * floats too. */
static gboolean
check_quantized (const IrCall *call, guint slot, gboolean floats, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, slot);

  if (dtype == IR_DTYPE_UNDEFINED ||
      (ir_dtype_bits (dtype) <= 8 &&
       (ir_dtype_is_integer (dtype) || (floats && ir_dtype_is_float (dtype)))))
    return TRUE;
  return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "input %u is %s, needed are %s", slot,
                       ir_dtype_name (dtype),
                       floats ? "int8, uint8 or floats of 8 bits" : "int8 or uint8");
}

static gboolean
infer_product (IrCall *call, guint b, IrDtype dtype, GError **error)
{
  IrDim dims[IR_MAX_RANK];
  int rank;

  if (!ir_matmul_dims (call, ir_call_input_type (call, 0), ir_call_input_type (call, b), &rank,
                       dims, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
  return TRUE;
}

/* A [.., M, K], B [.., K, N], zero points. Source: ONNX MatMulInteger 10. */
gboolean
ir_infer_matmul_integer (IrCall *call, GError **error)
{
  return check_quantized (call, 0, FALSE, error) && check_quantized (call, 1, FALSE, error) &&
         infer_product (call, 1, IR_DTYPE_INT32, error);
}

/* Source: ONNX QLinearMatMul 21 */
gboolean
ir_infer_q_linear_matmul (IrCall *call, GError **error)
{
  return check_quantized (call, 0, TRUE, error) && check_quantized (call, 3, TRUE, error) &&
         check_quantized (call, 7, TRUE, error) &&
         infer_product (call, 3, ir_call_input_dtype (call, 7), error);
}

/* -- convolutions -- */

/**
 * ir_call_as_conv:
 * @call: a call of a convolution whose inputs stand in other slots
 * @w: slot of the weight
 * @bias: slot of the bias; one that does not exist: none
 * @inputs: (out caller-allocates) (array fixed-size=3): the inputs of @view
 * @view: (out caller-allocates): the same call as Conv sees it
 *
 * @view shares all but the inputs with @call, which must outlive it; it is not to be cleared. Its
 * inputs have shapes of their own but one element type, that of X.
 */
void
ir_call_as_conv (const IrCall *call, guint w, guint bias, IrCallInput inputs[3], IrCall *view)
{
  inputs[0] = call->inputs[0];
  inputs[1] = w < call->n_inputs ? call->inputs[w] : (IrCallInput){ .present = FALSE };
  inputs[2] = bias < call->n_inputs ? call->inputs[bias] : (IrCallInput){ .present = FALSE };
  for (guint i = 1; i < 3; i++)
    if (inputs[i].type != NULL && ir_type_is_tensor (inputs[i].type))
      inputs[i].type = ir_type_tensor (call->context, ir_call_input_dtype (call, 0),
                                       inputs[i].type->rank, inputs[i].type->dims);
  *view = *call;
  view->inputs = inputs;
  view->n_inputs = 3;
}

/* One number, or one per output channel. */
static gboolean
check_per_channel (const IrCall *call, guint w, guint slot, GError **error)
{
  const IrType *type = ir_call_input_type (call, slot);
  const IrDim *weight = ir_call_input_dims (call, w);
  guint64 n;

  if (type == NULL || !ir_type_n_elements (type, &n) || n == 1 || weight == NULL)
    return TRUE;
  if (type->rank != 1 || (ir_dim_is_known (weight[0]) && type->dims[0] != weight[0]))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "input %u must be one number or one per output channel", slot);
  return TRUE;
}

static gboolean
check_single (const IrCall *call, guint slot, GError **error)
{
  const IrType *type = ir_call_input_type (call, slot);
  guint64 n;

  return type == NULL || !ir_type_n_elements (type, &n) || n == 1 ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u must be one number", slot);
}

static gboolean
infer_conv (IrCall *call, guint w, guint bias, IrDtype dtype, GError **error)
{
  IrCallInput inputs[3];
  IrCall view;

  ir_call_as_conv (call, w, bias, inputs, &view);
  if (!check_quantized (call, 0, FALSE, error) || !check_quantized (call, w, FALSE, error) ||
      !ir_infer_conv (&view, error))
    return FALSE;
  const IrType *type = call->n_outputs > 0 ? call->outputs[0].type : NULL;
  gboolean ranked = type != NULL && ir_type_has_rank (type);
  ir_call_set_output_tensor_type (call, 0, dtype, ranked ? type->rank : IR_RANK_UNKNOWN,
                                  ranked ? type->dims : NULL);
  return TRUE;
}

/* X [N, C, ...], w [M, C / group, ...], zero points. Source: ONNX ConvInteger 10. */
gboolean
ir_infer_conv_integer (IrCall *call, GError **error)
{
  return check_single (call, 2, error) && check_per_channel (call, 1, 3, error) &&
         infer_conv (call, 1, G_MAXUINT, IR_DTYPE_INT32, error);
}

/* X [N, C, ...], w [M, C / group, ...] and y with their scales and zero points, B [M]. Source:
 * ONNX QLinearConv 10. */
gboolean
ir_infer_q_linear_conv (IrCall *call, GError **error)
{
  static const guint single[] = { 1, 2, 6, 7 };

  for (guint i = 0; i < G_N_ELEMENTS (single); i++)
    if (!check_single (call, single[i], error))
      return FALSE;
  return check_per_channel (call, 3, 4, error) && check_per_channel (call, 3, 5, error) &&
         check_quantized (call, 7, FALSE, error) && ir_call_check_integers (call, 8, 1, error) &&
         infer_conv (call, 3, 8, ir_call_input_dtype (call, 7), error);
}

/* -- cost: that of the operator on real numbers, and one operation per number that is rescaled --
 */

guint64
ir_cost_conv_integer (const IrCall *call)
{
  IrCallInput inputs[3];
  IrCall view;

  ir_call_as_conv (call, 1, G_MAXUINT, inputs, &view);
  return ir_cost_conv (&view);
}

guint64
ir_cost_q_linear_conv (const IrCall *call)
{
  IrCallInput inputs[3];
  IrCall view;

  ir_call_as_conv (call, 3, 8, inputs, &view);
  return ir_cost_conv (&view) + ir_cost_elementwise (call);
}

guint64
ir_cost_q_linear_matmul (const IrCall *call)
{
  return ir_cost_matmul (call) + ir_cost_elementwise (call);
}
