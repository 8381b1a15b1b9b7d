/* Inference of reductions, ArgMax and ArgMin. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

/* Sets output 0 to input 0's shape without (or with 1 at) the axes of @mask. */
static void
set_reduced (IrCall *call, IrDtype dtype, const gboolean *mask, gboolean keepdims)
{
  int rank = ir_call_input_rank (call, 0), kept = 0;
  const IrDim *dims = ir_call_input_dims (call, 0);
  IrDim result[IR_MAX_RANK];
  for (int i = 0; i < rank; i++)
    if (!mask[i])
      result[kept++] = dims[i];
    else if (keepdims)
      result[kept++] = 1;
  ir_call_set_output_tensor_type (call, 0, dtype, kept, result);
}

static void
set_all_unknown (IrCall *call, IrDtype dtype, int rank)
{
  IrDim dims[IR_MAX_RANK];
  for (int i = 0; i < rank; i++)
    dims[i] = IR_DIM_UNKNOWN;
  ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
}

/* Without axes everything is reduced, or nothing with noop_with_empty_axes. Axes that are not
 * known leave the rank with keepdims, and nothing without. */
gboolean
ir_infer_reduce (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  gboolean keepdims = ir_call_int (call, "keepdims", 1) != 0;
  g_autofree gint64 *axes = NULL;
  guint n_axes = 0;
  if (ir_call_has_input (call, 1) && !ir_call_input_ints (call, 1, &axes, &n_axes))
    {
      set_all_unknown (call, dtype, keepdims ? rank : IR_RANK_UNKNOWN);
      return TRUE;
    }
  gboolean all = n_axes == 0 && ir_call_int (call, "noop_with_empty_axes", 0) == 0;
  if (rank == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, all && !keepdims ? 0 : IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  gboolean mask[IR_MAX_RANK];
  if (!ir_call_axes (call, axes, n_axes, rank, mask, error))
    return FALSE;
  for (int i = 0; all && i < rank; i++)
    mask[i] = TRUE;
  set_reduced (call, dtype, mask, keepdims);
  return TRUE;
}

typedef IrNumber (*NumberFunc) (IrContext *context, IrNumber a, IrNumber b);

/* Contents of a full reduction of a small vector, e.g. the product of a shape. */
static gboolean
reduce_data (IrCall *call, NumberFunc function, const IrNumber *neutral, GError **error)
{
  if (!ir_infer_reduce (call, error))
    return FALSE;
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  gboolean scalar = FALSE;
  const IrType *type = call->n_outputs > 0 ? call->outputs[0].type : NULL;
  if (type == NULL || !ir_type_has_rank (type) || type->rank > 1 ||
      (type->rank == 1 && type->dims[0] != 1) ||
      !ir_call_input_data (call, 0, &numbers, &n, &scalar) || (n == 0 && neutral == NULL) ||
      (n != 1 && ir_call_input_rank (call, 0) == 1 &&
       ir_call_int (call, "noop_with_empty_axes", 0) != 0))
    return TRUE;
  IrNumber result = n > 0 ? numbers[0] : *neutral;
  for (guint i = 1; i < n; i++)
    result = function (call->context, result, numbers[i]);
  ir_call_set_output_data (call, 0, &result, 1, type->rank == 0);
  return TRUE;
}

gboolean
ir_infer_reduce_prod (IrCall *call, GError **error)
{
  IrNumber one = ir_number_known (1);
  return reduce_data (call, ir_number_mul, &one, error);
}

gboolean
ir_infer_reduce_sum (IrCall *call, GError **error)
{
  IrNumber zero = ir_number_known (0);
  return reduce_data (call, ir_number_add, &zero, error);
}

static IrNumber
number_max (IrContext *context, IrNumber a, IrNumber b)
{
  return a.known && b.known ? ir_number_known (MAX (a.value, b.value)) : ir_number_unknown ();
}

static IrNumber
number_min (IrContext *context, IrNumber a, IrNumber b)
{
  return a.known && b.known ? ir_number_known (MIN (a.value, b.value)) : ir_number_unknown ();
}

gboolean
ir_infer_reduce_max (IrCall *call, GError **error)
{
  return reduce_data (call, number_max, NULL, error);
}

gboolean
ir_infer_reduce_min (IrCall *call, GError **error)
{
  return reduce_data (call, number_min, NULL, error);
}

/* ArgMax and ArgMin: one axis, int64 indices. */
gboolean
ir_infer_arg_reduce (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  gboolean keepdims = ir_call_int (call, "keepdims", 1) != 0;
  gint64 axis;
  if (rank == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, IR_DTYPE_INT64, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), rank, &axis, error))
    return FALSE;
  gboolean mask[IR_MAX_RANK] = { FALSE };
  mask[axis] = TRUE;
  set_reduced (call, IR_DTYPE_INT64, mask, keepdims);
  return TRUE;
}

/* Sets the output to the type of x; CumSum and CumProd. Source: ONNX CumSum 14, CumProd 26. */
gboolean
ir_infer_cumulate (IrCall *call, GError **error)
{
  g_autofree gint64 *axes = NULL;
  int rank = ir_call_input_rank (call, 0);
  gint64 axis;
  guint n;

  ir_call_set_output_type (call, 0, ir_call_input_type (call, 0));
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  if (!ir_call_input_ints (call, 1, &axes, &n) || rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (n != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "axis must be one integer");
  return ir_call_axis (call, axes[0], rank, &axis, error);
}
