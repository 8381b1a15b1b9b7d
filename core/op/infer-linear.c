/* Inference, cost and adapters of matrix products and convolutions, plain and fused. */
#include "config.h"

#include "core/op/infer-window.h"

#include "core/op/rows.h"

/* -- convolution -- */

/* Channels of X must be those that W expects, times the groups; a known mismatch is an error. */
static gboolean
check_channels (
    const IrCall *call, IrDim x_channels, IrDim w_channels, gint64 group, GError **error)
{
  if (group < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "group is %" G_GINT64_FORMAT ", needed is at least 1", group);
  if (ir_dim_is_known (x_channels) && ir_dim_is_known (w_channels) &&
      (w_channels > G_MAXINT64 / group || x_channels != w_channels * group))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "X has %" G_GINT64_FORMAT " channels, W needs %" G_GINT64_FORMAT
                         " in each of %" G_GINT64_FORMAT
                         " groups; check the layout, which must be batch, channel, space",
                         x_channels, w_channels, group);
  ir_call_need_equal (call, x_channels, ir_dim_mul (call->context, w_channels, group), FALSE);
  return TRUE;
}

static gboolean
check_bias (const IrCall *call, IrDim channels, GError **error)
{
  int rank = ir_call_input_rank (call, 2);
  IrDim same;

  if (!ir_call_has_input (call, 2) || rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "B has rank %d, needed is 1", rank);
  return ir_call_same_dim (call, ir_call_input_dims (call, 2)[0], channels,
                           "B and the channels of W", &same, error);
}

static IrDim
dim_or_unknown (const IrDim *dims, guint axis)
{
  return dims != NULL ? dims[axis] : IR_DIM_UNKNOWN;
}

static gboolean
set_conv_output (IrCall *call, const IrWindow *window, IrDim channels, GError **error)
{
  const IrDim *x = ir_call_input_dims (call, 0);
  IrDim dims[IR_WINDOW_MAX_AXES + 2];
  IrDtype dtype;

  if (!ir_call_common_dtype (call, 0, MIN (call->n_inputs, 3), &dtype, error))
    return FALSE;
  if (window->n_axes == 0)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  dims[0] = dim_or_unknown (x, 0);
  dims[1] = channels;
  for (guint i = 0; i < window->n_axes; i++)
    dims[i + 2] = window->out[i];
  ir_call_set_output_tensor_type (call, 0, dtype, (int) window->n_axes + 2, dims);
  return TRUE;
}

/* X [N, C, ...], W [M, C / group, ...], B [M] or none. Sets the output to [N, M, ...]; see
 * ir_window_init() for the spatial sizes. Fails with %IR_OP_ERROR_SHAPE where channels, bias or
 * window do not fit. Source: ONNX Conv 22. */
gboolean
ir_infer_conv (IrCall *call, GError **error)
{
  const IrDim *x = ir_call_input_dims (call, 0), *w = ir_call_input_dims (call, 1);
  gint64 group = ir_call_int (call, "group", 1);
  IrDim channels = dim_or_unknown (w, 0);
  IrWindow window;

  if (!ir_window_of_conv (&window, call, error))
    return FALSE;
  if (window.n_axes > 0 &&
      (!check_channels (call, dim_or_unknown (x, 1), dim_or_unknown (w, 1), group, error) ||
       !check_bias (call, channels, error)))
    return FALSE;
  if (ir_dim_is_known (channels) && channels % group != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "W has %" G_GINT64_FORMAT " output channels, which %" G_GINT64_FORMAT
                         " groups do not divide",
                         channels, group);
  return set_conv_output (call, &window, channels, error);
}

/* As ir_infer_conv(), and input 3 of the shape of the output. The residual must have the
 * convolution's own shape: it is not broadcast. */
gboolean
ir_infer_conv_add (IrCall *call, GError **error)
{
  if (!ir_infer_conv (call, error))
    return FALSE;
  const IrType *output = call->outputs[0].type, *residual = ir_call_input_type (call, 3);
  if (output == NULL || residual == NULL)
    return TRUE;
  const IrType *merged = ir_type_merge (call->context, output, residual);
  if (merged == NULL)
    {
      g_autofree char *found = ir_type_to_string (call->context, residual);
      g_autofree char *needed = ir_type_to_string (call->context, output);
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "Z is %s, needed is %s", found, needed);
    }
  ir_call_set_output_type (call, 0, merged);
  return TRUE;
}

/* X [N, C, ...], W [C, M / group, ...], B [M] or none. Sets the output to [N, M, ...]; see
 * ir_window_init_transposed() for the spatial sizes. Source: ONNX ConvTranspose 22. */
gboolean
ir_infer_conv_transpose (IrCall *call, GError **error)
{
  const IrDim *x = ir_call_input_dims (call, 0), *w = ir_call_input_dims (call, 1);
  gint64 group = ir_call_int (call, "group", 1);
  IrWindow window;

  if (!ir_window_of_conv_transpose (&window, call, error) ||
      !check_channels (call, dim_or_unknown (x, 1), dim_or_unknown (w, 0), 1, error))
    return FALSE;
  if (group < 1 || (ir_dim_is_known (dim_or_unknown (w, 0)) && w[0] % group != 0))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "group is %" G_GINT64_FORMAT ", which must divide the channels of X",
                         group);
  IrDim channels = ir_dim_mul (call->context, dim_or_unknown (w, 1), group);
  if (window.n_axes > 0 && !check_bias (call, channels, error))
    return FALSE;
  return set_conv_output (call, &window, channels, error);
}

/* -- matrix product -- */

/* The batch axes of two operands of at least rank 2, broadcast as in numpy. */
static gboolean
broadcast_batch (
    const IrCall *call, const IrType *a, const IrType *b, int *n, IrDim *dims, GError **error)
{
  int a_batch = MAX (a->rank - 2, 0), b_batch = MAX (b->rank - 2, 0);

  *n = MAX (a_batch, b_batch);
  for (int i = 0; i < *n; i++)
    {
      int of_a = i - (*n - a_batch), of_b = i - (*n - b_batch);
      if (!ir_call_broadcast_dim (call, of_a >= 0 ? a->dims[of_a] : 1,
                                  of_b >= 0 ? b->dims[of_b] : 1, &dims[i], error))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_matmul_dims:
 * @call: a call, for the message
 * @a: (nullable): type of [.., M, K]
 * @b: (nullable): type of [.., K, N]
 * @rank: (out): rank of the product, %IR_RANK_UNKNOWN if it is not known
 * @dims: (out caller-allocates): room for %IR_MAX_RANK dims: [.., M, N]
 * @error: return location for an error
 *
 * Leading axes broadcast as in numpy. A rank-1 operand is treated as a row (left) or column (right)
 * and the added axis is dropped again.
 *
 * Source: ONNX MatMul 13; numpy.matmul. Cost: O(rank).
 *
 * Returns: %FALSE with %IR_OP_ERROR_SHAPE if the two K differ and both are known
 */
gboolean
ir_matmul_dims (
    const IrCall *call, const IrType *a, const IrType *b, int *rank, IrDim *dims, GError **error)
{
  IrDim shared;

  *rank = IR_RANK_UNKNOWN;
  if (a == NULL || b == NULL || !ir_type_has_rank (a) || !ir_type_has_rank (b))
    return TRUE;
  if (a->rank == 0 || b->rank == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "a scalar cannot be multiplied as a matrix; use Mul");
  IrDim b_rows = b->dims[b->rank == 1 ? 0 : b->rank - 2];
  if (!ir_call_same_dim (call, a->dims[a->rank - 1], b_rows, "columns of A and rows of B", &shared,
                         error) ||
      !broadcast_batch (call, a, b, rank, dims, error))
    return FALSE;
  if (a->rank > 1)
    dims[(*rank)++] = a->dims[a->rank - 2];
  if (b->rank > 1)
    dims[(*rank)++] = b->dims[b->rank - 1];
  return TRUE;
}

/* Input 0 is [.., M, K], input 1 is [.., K, N]. Sets the output to [.., M, N]; see
 * ir_matmul_dims(). */
gboolean
ir_infer_matmul (IrCall *call, GError **error)
{
  IrDim dims[IR_MAX_RANK];
  IrDtype dtype;
  int rank;

  if (!ir_call_common_dtype (call, 0, 2, &dtype, error) ||
      !ir_matmul_dims (call, ir_call_input_type (call, 0), ir_call_input_type (call, 1), &rank,
                       dims, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
  return TRUE;
}

/* An addend must broadcast to the output without changing it. */
static gboolean
check_addend (const IrCall *call, guint slot, const char *name, GError **error)
{
  const IrType *output = call->outputs[0].type, *addend = ir_call_input_type (call, slot);

  if (output == NULL || addend == NULL || !ir_type_has_rank (output) || !ir_type_has_rank (addend))
    return TRUE;
  gboolean fits = addend->rank <= output->rank;
  for (int i = 0; fits && i < addend->rank; i++)
    {
      IrDim from = addend->dims[i], to = output->dims[output->rank - addend->rank + i];
      fits = !ir_dim_is_known (from) || from == 1 || !ir_dim_is_known (to) || from == to;
      if (from != 1)
        ir_call_need_equal (call, from, to, !ir_dim_is_known (from));
    }
  if (fits)
    return TRUE;
  g_autofree char *found = ir_type_to_string (call->context, addend);
  g_autofree char *needed = ir_type_to_string (call->context, output);
  return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%s is %s, which does not broadcast to %s",
                       name, found, needed);
}

/* As ir_infer_matmul(), and input 2, which broadcasts to the product */
gboolean
ir_infer_matmul_add (IrCall *call, GError **error)
{
  return ir_infer_matmul (call, error) && check_addend (call, 2, "C", error);
}

static gboolean
check_matrix (const IrCall *call, guint slot, const char *name, GError **error)
{
  int rank = ir_call_input_rank (call, slot);

  return rank == IR_RANK_UNKNOWN || rank == 2 ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "%s has rank %d, needed is a matrix; MatMul takes other ranks", name, rank);
}

/* A [M, K] or, with transA, [K, M]; B [K, N] or, with transB, [N, K]; C broadcasts to [M, N].
 * Sets the output to [M, N]. Source: ONNX Gemm 13. */
gboolean
ir_infer_gemm (IrCall *call, GError **error)
{
  gboolean trans_a = ir_call_int (call, "transA", 0) != 0;
  gboolean trans_b = ir_call_int (call, "transB", 0) != 0;
  const IrDim *a = ir_call_input_dims (call, 0), *b = ir_call_input_dims (call, 1);
  IrDim shared;
  IrDtype dtype;

  if (!ir_call_common_dtype (call, 0, MIN (call->n_inputs, 3), &dtype, error) ||
      !check_matrix (call, 0, "A", error) || !check_matrix (call, 1, "B", error) ||
      !ir_call_same_dim (call, dim_or_unknown (a, trans_a ? 0 : 1),
                         dim_or_unknown (b, trans_b ? 1 : 0), "columns of A and rows of B", &shared,
                         error))
    return FALSE;
  IrDim dims[] = { dim_or_unknown (a, trans_a ? 1 : 0), dim_or_unknown (b, trans_b ? 0 : 1) };
  ir_call_set_output_tensor_type (call, 0, dtype, 2, dims);
  return check_addend (call, 2, "C", error);
}

/* -- cost: a multiplication and an addition are two -- */

static guint64
known_or_one (const IrDim *dims, guint axis)
{
  return dims != NULL && ir_dim_is_known (dims[axis]) ? (guint64) dims[axis] : 1;
}

static guint64
output_count (const IrCall *call)
{
  return call->n_outputs > 0 ? ir_type_count (call->outputs[0].type) : 1;
}

/* Multiplications and additions of one element of the output: what one output channel of W holds.
 */
guint64
ir_cost_conv (const IrCall *call)
{
  const IrDim *w = ir_call_input_dims (call, 1);
  guint64 per_output = 2 * (ir_type_count (ir_call_input_type (call, 1)) /
                            MAX (known_or_one (w, 0), 1));

  return ir_mul_saturated (output_count (call), per_output + (ir_call_has_input (call, 2) ? 1 : 0));
}

/* Every element of X meets what one input channel of W holds. */
guint64
ir_cost_conv_transpose (const IrCall *call)
{
  const IrDim *w = ir_call_input_dims (call, 1);
  guint64 per_input = 2 *
                      (ir_type_count (ir_call_input_type (call, 1)) / MAX (known_or_one (w, 0), 1));
  guint64 products = ir_mul_saturated (ir_type_count (ir_call_input_type (call, 0)), per_input);

  return products + (ir_call_has_input (call, 2) ? output_count (call) : 0);
}

guint64
ir_cost_matmul (const IrCall *call)
{
  int rank = ir_call_input_rank (call, 0);
  guint64 shared = rank > 0 ? known_or_one (ir_call_input_dims (call, 0), (guint) rank - 1) : 1;

  return ir_mul_saturated (output_count (call), 2 * shared);
}

guint64
ir_cost_gemm (const IrCall *call)
{
  guint axis = ir_call_int (call, "transA", 0) != 0 ? 0 : 1;
  const IrDim *a = ir_call_input_rank (call, 0) == 2 ? ir_call_input_dims (call, 0) : NULL;
  const guint bias = ir_call_float (call, "beta", 1) == 1 ? 1 : 2; /* scaled, then added */
  guint64 per_output = 2 * known_or_one (a, axis);

  return ir_mul_saturated (output_count (call),
                           per_output + (ir_call_has_input (call, 2) ? bias : 0));
}

/* Activations count one per element, as the operators by themselves do; a residual counts one. */
static guint64
fused_count (const IrCall *call)
{
  const IrOp *op = call->op;

  return ir_mul_saturated (output_count (call),
                           (op->activation != IR_ACTIVATION_NONE) + (op->addend > 0));
}

guint64
ir_cost_fused_conv (const IrCall *call)
{
  return ir_cost_conv (call) + fused_count (call);
}

guint64
ir_cost_fused_matmul (const IrCall *call)
{
  return ir_cost_matmul (call) + fused_count (call);
}

guint64
ir_cost_fused_gemm (const IrCall *call)
{
  return ir_cost_gemm (call) + fused_count (call);
}
