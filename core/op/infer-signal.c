/* Inference of operators on signals. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

/**
 * ir_infer_signal_window:
 * @call: size, a whole number
 * @error: return location for an error
 *
 * Sets the output to [size]; HannWindow, HammingWindow and BlackmanWindow.
 *
 * Source: ONNX HannWindow 17.
 *
 * Returns: %TRUE if the output type was set
 */
gboolean
ir_infer_signal_window (IrCall *call, GError **error)
{
  gint64 code = ir_call_int (call, "output_datatype", IR_DTYPE_FLOAT);
  g_autofree IrNumber *size = NULL;
  IrDim dim = IR_DIM_UNKNOWN;
  guint n = 0;

  if (!ir_dtype_is_valid (code) || code == IR_DTYPE_UNDEFINED)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "output_datatype is %" G_GINT64_FORMAT ", not an element type", code);
  if (!ir_call_check_integers (call, 0, 1, error))
    return FALSE;
  if (ir_call_input_numbers (call, 0, &size, &n) && n == 1)
    {
      if (size[0].known && size[0].value < 0)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "size is %" G_GINT64_FORMAT,
                             size[0].value);
      dim = ir_dim_from_number (size[0]);
    }
  ir_call_set_output_tensor_type (call, 0, (IrDtype) code, 1, &dim);
  return TRUE;
}

/**
 * ir_infer_det:
 * @call: X [.., M, M]
 * @error: return location for an error
 *
 * Sets the output to the leading dims.
 *
 * Source: ONNX Det 22.
 *
 * Returns: %TRUE if the output type was set
 */
gboolean
ir_infer_det (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  IrDim same;

  if (rank != IR_RANK_UNKNOWN && rank < 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has %d dims, matrices are needed",
                         rank);
  if (rank != IR_RANK_UNKNOWN &&
      !ir_call_same_dim (call, dims[rank - 2], dims[rank - 1], "rows and columns", &same, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0),
                                  rank == IR_RANK_UNKNOWN ? rank : rank - 2, dims);
  return TRUE;
}
