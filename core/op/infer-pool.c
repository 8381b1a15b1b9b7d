/* Inference and cost of pooling. */
#include "config.h"

#include "core/op/infer-window.h"

#include "core/op/rows.h"

static gboolean
set_pool_output (IrCall *call, const IrWindow *window, guint slot, IrDtype dtype)
{
  const IrDim *x = ir_call_input_dims (call, 0);
  IrDim dims[IR_WINDOW_MAX_AXES + 2];

  dims[0] = x != NULL ? x[0] : IR_DIM_UNKNOWN;
  dims[1] = x != NULL ? x[1] : IR_DIM_UNKNOWN;
  for (guint i = 0; i < window->n_axes; i++)
    dims[i + 2] = window->out[i];
  ir_call_set_output_tensor_type (call, slot, dtype, (int) window->n_axes + 2, dims);
  return TRUE;
}

/* X [N, C, ...]. Sets the output to [N, C, ...] with the sizes of ir_window_init(); AveragePool
 * and LpPool. Source: ONNX AveragePool 22, LpPool 22. */
gboolean
ir_infer_average_pool (IrCall *call, GError **error)
{
  IrWindow window;

  return ir_window_of_pool (&window, call, error) &&
         set_pool_output (call, &window, 0, ir_call_input_dtype (call, 0));
}

/* X [N, C, ...]. As ir_infer_average_pool(), and output 1, int64 indices into the flattened X,
 * of the same shape. Source: ONNX MaxPool 22. */
gboolean
ir_infer_max_pool (IrCall *call, GError **error)
{
  IrWindow window;

  if (!ir_window_of_pool (&window, call, error))
    return FALSE;
  set_pool_output (call, &window, 0, ir_call_input_dtype (call, 0));
  if (call->n_outputs > 1)
    set_pool_output (call, &window, 1, IR_DTYPE_INT64);
  return TRUE;
}

/* X [N, C, ...]. Sets the output to [N, C, 1, ...]. Source: ONNX GlobalAveragePool 22,
 * GlobalMaxPool 22, GlobalLpPool 22. */
gboolean
ir_infer_global_pool (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *x = ir_call_input_dims (call, 0);
  IrDim dims[IR_MAX_RANK];

  if (rank != IR_RANK_UNKNOWN && rank < 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "X has rank %d, needed are at least the axes batch and channel", rank);
  for (int i = 0; i < rank; i++)
    dims[i] = i < 2 ? x[i] : 1;
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, dims);
  return TRUE;
}

/* -- cost: one operation per element of a window -- */

guint64
ir_cost_pool (const IrCall *call)
{
  guint64 per_output = 1;
  guint n;
  const gint64 *kernel = ir_call_ints (call, "kernel_shape", &n);

  for (guint i = 0; kernel != NULL && i < n; i++)
    per_output = ir_mul_saturated (per_output, (guint64) MAX (kernel[i], 1));
  return ir_mul_saturated (per_output, ir_type_count (call->outputs[0].type));
}

guint64
ir_cost_global_pool (const IrCall *call)
{
  return ir_type_count (ir_call_input_type (call, 0));
}
