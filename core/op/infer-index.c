/* Inference of operators that gather, scatter and select. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"
#include <string.h>

static gboolean
too_many_dims (const IrCall *call, int rank, GError **error)
{
  return !ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                        "output would have %d dims, at most %d are supported", rank, IR_MAX_RANK);
}

/* Elements of a small vector, e.g. one dim of a shape. */
static void
gather_data (IrCall *call)
{
  g_autofree IrNumber *data = NULL;
  g_autofree IrNumber *indices = NULL;
  guint n = 0, n_indices = 0;
  gboolean scalar_data = FALSE, scalar = FALSE;
  if (!ir_call_input_data (call, 0, &data, &n, &scalar_data) || scalar_data ||
      !ir_call_input_data (call, 1, &indices, &n_indices, &scalar))
    return;
  g_autofree IrNumber *taken = g_new (IrNumber, MAX (n_indices, 1));
  for (guint i = 0; i < n_indices; i++)
    {
      gint64 index = indices[i].value < 0 ? indices[i].value + n : indices[i].value;
      taken[i] = indices[i].known && index >= 0 && index < n ? data[index] : ir_number_unknown ();
    }
  ir_call_set_output_data (call, 0, taken, n_indices, scalar);
}

gboolean
ir_infer_gather (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0), n_indices = ir_call_input_rank (call, 1), n = 0;
  const IrDim *dims = ir_call_input_dims (call, 0), *indices = ir_call_input_dims (call, 1);
  gint64 axis;
  if (rank == IR_RANK_UNKNOWN || n_indices == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), rank, &axis, error))
    return FALSE;
  if (rank - 1 + n_indices > IR_MAX_RANK)
    return !too_many_dims (call, rank - 1 + n_indices, error);
  IrDim result[IR_MAX_RANK];
  for (int i = 0; i < axis; i++)
    result[n++] = dims[i];
  for (int i = 0; i < n_indices; i++)
    result[n++] = indices[i];
  for (int i = (int) axis + 1; i < rank; i++)
    result[n++] = dims[i];
  ir_call_set_output_tensor_type (call, 0, dtype, n, result);
  if (rank == 1)
    gather_data (call);
  return TRUE;
}

gboolean
ir_infer_gather_elements (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  ir_call_same_shape (call, 0, 1, ir_call_input_dtype (call, 0));
  return TRUE;
}

gboolean
ir_infer_gather_nd (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0), n_indices = ir_call_input_rank (call, 1), n = 0;
  const IrDim *dims = ir_call_input_dims (call, 0), *indices = ir_call_input_dims (call, 1);
  gint64 batch = ir_call_int (call, "batch_dims", 0);
  if (rank == IR_RANK_UNKNOWN || n_indices == IR_RANK_UNKNOWN ||
      (n_indices > 0 && !ir_dim_is_known (indices[n_indices - 1])))
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if (n_indices < 1 || batch < 0 || batch >= MIN (rank, n_indices) ||
      indices[n_indices - 1] > rank - batch || indices[n_indices - 1] < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "indices of %d dims and batch_dims %" G_GINT64_FORMAT
                         " do not fit data of %d dims",
                         n_indices, batch, rank);
  int from = (int) (batch + indices[n_indices - 1]);
  if (n_indices - 1 + rank - from > IR_MAX_RANK)
    return !too_many_dims (call, n_indices - 1 + rank - from, error);
  IrDim result[IR_MAX_RANK];
  for (int i = 0; i < n_indices - 1; i++)
    result[n++] = indices[i];
  for (int i = from; i < rank; i++)
    result[n++] = dims[i];
  ir_call_set_output_tensor_type (call, 0, dtype, n, result);
  return TRUE;
}

/* Contents of depth, which files give in any numeric type. */
static IrDim
one_hot_depth (const IrCall *call)
{
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  const IrTensor *tensor = ir_call_input (call, 1);
  if (tensor != NULL && ir_tensor_n_elements (tensor) == 1 &&
      ir_dtype_is_float (ir_tensor_dtype (tensor)))
    {
      double depth = ir_tensor_get_double (tensor, 0);
      return depth >= 0 && depth < 9e15 ? (IrDim) depth : IR_DIM_UNKNOWN;
    }
  if (!ir_call_input_numbers (call, 1, &numbers, &n) || n != 1)
    return IR_DIM_UNKNOWN;
  return ir_dim_from_number (numbers[0]);
}

gboolean
ir_infer_one_hot (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 2);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  gint64 axis;
  if (rank == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if (rank + 1 > IR_MAX_RANK)
    return !too_many_dims (call, rank + 1, error);
  if (!ir_call_axis (call, ir_call_int (call, "axis", -1), rank + 1, &axis, error))
    return FALSE;
  IrDim result[IR_MAX_RANK];
  for (int i = 0; i <= rank; i++)
    result[i] = i == axis ? one_hot_depth (call) : dims[i > axis ? i - 1 : i];
  ir_call_set_output_tensor_type (call, 0, dtype, rank + 1, result);
  return TRUE;
}

gboolean
ir_infer_non_zero (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  IrDim dims[2] = { rank == IR_RANK_UNKNOWN ? IR_DIM_UNKNOWN : rank, IR_DIM_UNKNOWN };
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_INT64, 2, dims);
  return TRUE;
}

gboolean
ir_infer_top_k (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  IrDim result[IR_MAX_RANK];
  gint64 axis;
  if (rank == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      ir_call_set_output_tensor_type (call, 1, IR_DTYPE_INT64, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if (!ir_call_axis (call, ir_call_int (call, "axis", -1), rank, &axis, error))
    return FALSE;
  g_autofree IrNumber *k = NULL;
  guint n = 0;
  memcpy (result, dims, (gsize) rank * sizeof *result);
  result[axis] = IR_DIM_UNKNOWN;
  if (ir_call_input_numbers (call, 1, &k, &n) && n == 1)
    result[axis] = ir_dim_from_number (k[0]);
  if (ir_dim_is_known (result[axis]) && ir_dim_is_known (dims[axis]) && result[axis] > dims[axis])
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "K is %" G_GINT64_FORMAT ", the axis has %" G_GINT64_FORMAT " elements",
                         result[axis], dims[axis]);
  ir_call_set_output_tensor_type (call, 0, dtype, rank, result);
  ir_call_set_output_tensor_type (call, 1, IR_DTYPE_INT64, rank, result);
  return TRUE;
}

gboolean
ir_infer_compress (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  g_autofree gint64 *condition = NULL;
  guint n = 0;
  IrDim count = IR_DIM_UNKNOWN;
  gint64 axis;
  if (rank != IR_RANK_UNKNOWN && ir_call_input_ints (call, 1, &condition, &n))
    {
      count = 0;
      for (guint i = 0; i < n; i++)
        count += condition[i] != 0;
    }
  if (ir_call_attr (call, "axis") == NULL)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, 1, &count);
      return TRUE;
    }
  if (rank == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), rank, &axis, error))
    return FALSE;
  IrDim result[IR_MAX_RANK];
  memcpy (result, dims, (gsize) rank * sizeof *result);
  result[axis] = count;
  ir_call_set_output_tensor_type (call, 0, dtype, rank, result);
  return TRUE;
}
