/* Inference, cost and adapters of normalization. */
#include "config.h"

#include "core/op/infer-util.h"

#include "core/op/rows.h"

/* Inputs [first, end) are vectors of one entry per channel of X. */
static gboolean
check_channel_vectors (const IrCall *call, guint first, guint end, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  IrDim channels = rank >= 2 ? ir_call_input_dims (call, 0)[1] : IR_DIM_UNKNOWN;

  for (guint slot = first; slot < end; slot++)
    {
      g_autofree char *name = ir_op_input_name (call->op, slot);
      int slot_rank = ir_call_input_rank (call, slot);
      if (slot_rank == IR_RANK_UNKNOWN)
        continue;
      if (slot_rank != 1)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%s has rank %d, needed is 1", name,
                             slot_rank);
      if (!ir_call_same_dim (call, ir_call_input_dims (call, slot)[0], channels, name, &channels,
                             error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_rank (const IrCall *call, int least, GError **error)
{
  int rank = ir_call_input_rank (call, 0);

  return rank == IR_RANK_UNKNOWN || rank >= least ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has rank %d, needed is at least %d", rank,
                       least);
}

/* X [N, C, ...]; scale, B, mean and var [C]. Sets output 0 to X's type; in training mode outputs
 * 1 and 2 to the types of mean and var. Source: ONNX BatchNormalization 15. */
gboolean
ir_infer_batch_norm (IrCall *call, GError **error)
{
  /* Before opset 9, spatial = 0 had one statistic per element. */
  if (ir_call_int (call, "spatial", 1) != 0 && !check_channel_vectors (call, 1, 5, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  for (guint i = 1; i < call->n_outputs; i++)
    ir_call_same_shape (call, i, i % 2 == 1 ? 3 : 4,
                        ir_call_input_dtype (call, i % 2 == 1 ? 3 : 4));
  return TRUE;
}

/* X [N, C, ...]; scale and bias with one entry per channel (or per group). Sets the output to
 * X's type; InstanceNormalization and GroupNormalization. Source: ONNX InstanceNormalization 22,
 * GroupNormalization 21. */
gboolean
ir_infer_channel_norm (IrCall *call, GError **error)
{
  gint64 groups = ir_call_int (call, "num_groups", 0);

  if (!check_rank (call, 3, error))
    return FALSE;
  if (groups == 0)
    {
      if (!check_channel_vectors (call, 1, 3, error))
        return FALSE;
    }
  else if (ir_call_input_rank (call, 0) >= 2)
    {
      IrDim channels = ir_call_input_dims (call, 0)[1];
      if (groups < 0 || (ir_dim_is_known (channels) && channels % groups != 0))
        return ir_call_fail (
            call, error, IR_OP_ERROR_ATTRIBUTE,
            "num_groups is %" G_GINT64_FORMAT ", which must divide the channels of X", groups);
    }
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* X; scale and bias broadcast to X's axes from axis on. Sets output 0 to X's type, and the
 * optional outputs (mean, inverse deviation) to float of X's shape with 1 for the normalized
 * axes. LayerNormalization and RMSNormalization. Source: ONNX LayerNormalization 17,
 * RMSNormalization 23. */
gboolean
ir_infer_layer_norm (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  gint64 axis = 0;
  IrDim dims[IR_MAX_RANK];
  /* stash_type: the type in which the statistics are computed, float unless given. */
  gint64 stash = ir_call_int (call, "stash_type", IR_DTYPE_FLOAT);

  if (!ir_dtype_is_valid (stash) || !ir_dtype_is_float ((IrDtype) stash))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "stash_type is %" G_GINT64_FORMAT ", needed is a floating-point type",
                         stash);
  if (rank != IR_RANK_UNKNOWN &&
      !ir_call_axis (call, ir_call_int (call, "axis", -1), rank, &axis, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  for (int i = 0; i < rank; i++)
    dims[i] = i < axis ? ir_call_input_dims (call, 0)[i] : 1;
  for (guint i = 1; i < call->n_outputs; i++)
    ir_call_set_output_tensor_type (call, i, (IrDtype) stash, rank, dims);
  return TRUE;
}

/* Inputs 0, the derivative, and 1, what it is of. */
static gboolean
check_derivative (const IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 1), given = ir_call_input_rank (call, 0);
  const IrDim *x = ir_call_input_dims (call, 1), *dy = ir_call_input_dims (call, 0);
  g_autofree char *name = ir_op_input_name (call->op, 1);

  if (rank == IR_RANK_UNKNOWN || given == IR_RANK_UNKNOWN)
    return TRUE;
  if (given != rank)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "dY and %s have ranks %d and %d", name,
                         given, rank);
  for (int i = 0; i < rank; i++)
    if (ir_dim_is_known (x[i]) && ir_dim_is_known (dy[i]) && x[i] != dy[i])
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                           "dY and %s differ along axis %d, where they have %" G_GINT64_FORMAT
                           " and %" G_GINT64_FORMAT,
                           name, i, dy[i], x[i]);
  return TRUE;
}

/* dY, and what Softmax gave. Sets the output to its type. Source: irscope SoftmaxGrad 1. */
gboolean
ir_infer_softmax_grad (IrCall *call, GError **error)
{
  IrDtype dtype;

  return ir_call_common_dtype (call, 0, 2, &dtype, error) && check_derivative (call, error) &&
         ir_infer_axis_norm (call, error);
}

/* dY and X, of one shape. Sets output 0 to X's shape and the others to that of X's axes [@first, @end),
 * all in stash_type. */
static gboolean
infer_norm_grad (IrCall *call, int first, int end, GError **error)
{
  gint64 stash = ir_call_int (call, "stash_type", IR_DTYPE_FLOAT);
  int rank = ir_call_input_rank (call, 1);
  const IrDim *x = ir_call_input_dims (call, 1);

  if (!check_derivative (call, error))
    return FALSE;
  if (!ir_dtype_is_valid (stash) || !ir_dtype_is_float ((IrDtype) stash))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "stash_type is %" G_GINT64_FORMAT ", needed is a floating-point type",
                         stash);
  ir_call_set_output_tensor_type (call, 0, (IrDtype) stash, rank, x);
  for (guint i = 1; i < call->n_outputs; i++)
    ir_call_set_output_tensor_type (call, i, (IrDtype) stash,
                                    rank == IR_RANK_UNKNOWN ? rank : end - first,
                                    rank == IR_RANK_UNKNOWN ? NULL : x + first);
  return TRUE;
}

/* dY, X [N, C, ...] and scale [C] to the derivatives by X, scale and B [C]. Source: irscope
 * BatchNormalizationGrad 1. */
gboolean
ir_infer_batch_norm_grad (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 1), scale = ir_call_input_rank (call, 2);
  IrDim channels = rank >= 2 ? ir_call_input_dims (call, 1)[1] : IR_DIM_UNKNOWN;

  if (rank != IR_RANK_UNKNOWN && rank < 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has rank %d, needed is at least 2",
                         rank);
  if (scale != IR_RANK_UNKNOWN && scale != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "scale has rank %d, needed is 1", scale);
  return (scale != 1 || ir_call_same_dim (call, ir_call_input_dims (call, 2)[0], channels, "scale",
                                          &channels, error)) &&
         infer_norm_grad (call, 1, 2, error);
}

/* The like, where num_groups divides C. Source: irscope GroupNormalizationGrad 1. */
gboolean
ir_infer_group_norm_grad (IrCall *call, GError **error)
{
  gint64 groups = ir_call_int (call, "num_groups", 0);
  IrDim channels = ir_call_input_rank (call, 1) >= 2 ? ir_call_input_dims (call, 1)[1]
                                                     : IR_DIM_UNKNOWN;

  if (groups < 0 || (groups > 0 && ir_dim_is_known (channels) && channels % groups != 0))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "num_groups is %" G_GINT64_FORMAT
                         ", needed is 0 or a divisor of the channels of X",
                         groups);
  return ir_infer_batch_norm_grad (call, error);
}

/* dY, X and what scales its axes from axis on, to the derivatives by X, scale and B. Source: irscope
 * LayerNormalizationGrad 1, RMSNormalizationGrad 1. */
gboolean
ir_infer_layer_norm_grad (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 1);
  gint64 axis = 0;

  return (rank == IR_RANK_UNKNOWN ||
          ir_call_axis (call, ir_call_int (call, "axis", -1), rank, &axis, error)) &&
         infer_norm_grad (call, (int) axis, rank, error);
}

/* X and Skip, of one type and shape. Sets all outputs to X's type. Source: irscope
 * SkipLayerNormalization 1, AddLayerNormalization 1. */
gboolean
ir_infer_skip_layer_norm (IrCall *call, GError **error)
{
  const IrType *x = ir_call_input_type (call, 0), *skip = ir_call_input_type (call, 1);

  if (x != NULL && skip != NULL && ir_type_merge (call->context, x, skip) == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X and Skip differ in type or shape");
  for (guint i = 0; i < call->n_outputs; i++)
    ir_call_same_shape (call, i, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* X, and an attribute axis. Sets the output to X's type; Softmax, LogSoftmax, Hardmax and
 * LpNormalization. Source: ONNX Softmax 13, LogSoftmax 13, Hardmax 13, LpNormalization 22. */
gboolean
ir_infer_axis_norm (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  gint64 axis;

  /* The flattening form of old opsets may have axis = rank: one row per element. */
  if (rank > 0 && ir_call_int (call, "flatten", 0) == 0 &&
      !ir_call_axis (call, ir_call_int (call, "axis", -1), rank, &axis, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* X, and an attribute axes. Sets the output to X's type. Source: ONNX MeanVarianceNormalization
 * 13. */
gboolean
ir_infer_mean_variance_norm (IrCall *call, GError **error)
{
  static const gint64 standard[] = { 0, 2, 3 };
  int rank = ir_call_input_rank (call, 0);
  guint n;
  const gint64 *axes = ir_call_ints (call, "axes", &n);
  gboolean mask[IR_MAX_RANK] = { FALSE };

  if (axes == NULL)
    {
      axes = standard;
      n = G_N_ELEMENTS (standard);
    }
  if (rank != IR_RANK_UNKNOWN && !ir_call_axes (call, axes, n, rank, mask, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* X [N, C, ...], and an attribute size. Sets the output to X's type. Source: ONNX LRN 13. */
gboolean
ir_infer_lrn (IrCall *call, GError **error)
{
  gint64 size = ir_call_int (call, "size", 0);

  if (size < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "size is %" G_GINT64_FORMAT ", needed is at least 1", size);
  if (!check_rank (call, 2, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* -- adapters -- */

/* Opset < 14 has no training_mode: the outputs beside Y ask for it, unless is_test (opset < 7). */
void
ir_adapt_batch_norm (IrCall *call)
{
  gboolean training = FALSE;

  for (guint i = 1; i < call->n_outputs; i++)
    training = training || ir_call_has_output (call, i);
  if (ir_call_int (call, "is_test", 0) != 0)
    training = FALSE;
  ir_call_set_attr (call, ir_attr_int (call->context, "training_mode", training));
}

/* Opset < 13 flattens X to two axes at axis, whose default is 1, and works on the second. */
void
ir_adapt_softmax (IrCall *call)
{
  if (ir_call_attr (call, "axis") == NULL)
    ir_call_set_attr (call, ir_attr_int (call->context, "axis", 1));
  ir_call_set_attr (call, ir_attr_int (call->context, "flatten", 1));
}

/* -- cost: a few operations per element; see each row's definition -- */

guint64
ir_cost_norm (const IrCall *call)
{
  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 0)), 4);
}

guint64
ir_cost_norm_grad (const IrCall *call)
{
  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 1)), 12);
}

guint64
ir_cost_softmax (const IrCall *call)
{
  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 0)), 5);
}

guint64
ir_cost_lrn (const IrCall *call)
{
  guint64 window = (guint64) MAX (ir_call_int (call, "size", 1), 1);

  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 0)), 2 * window + 4);
}
