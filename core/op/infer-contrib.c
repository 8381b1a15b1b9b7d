/* Inference and cost of those operators of com.microsoft that are no compositions. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

/* -- weights in blocks -- */

/* A [.., K] and a weight of the attributes K and N. Sets the output to [.., N]. */
gboolean
ir_infer_matmul_n_bits (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  gint64 k = ir_call_int (call, "K", 0), n = ir_call_int (call, "N", 0);
  gint64 block = ir_call_int (call, "block_size", 0), bits = ir_call_int (call, "bits", 4);
  IrDim dims[IR_MAX_RANK], same;

  if (k < 1 || n < 1 || block < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "K, N and block_size must each be at least 1");
  if (bits != 2 && bits != 4 && bits != 8)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "bits is %" G_GINT64_FORMAT ", needed is 2, 4 or 8", bits);
  if (rank == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "A is a scalar");
  for (int i = 0; i < rank; i++)
    dims[i] = ir_call_input_dims (call, 0)[i];
  if (rank > 0)
    {
      gboolean transposed = ir_call_int (call, "transB", 1) != 0;
      if (!ir_call_same_dim (call, dims[rank - 1], transposed ? k : n, "K", &same, error))
        return FALSE;
      dims[rank - 1] = transposed ? n : k;
    }
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, dims);
  return TRUE;
}

guint64
ir_cost_matmul_n_bits (const IrCall *call)
{
  guint64 k = (guint64) MAX (ir_call_int (call, "K", 1), 1);
  guint64 n = (guint64) MAX (ir_call_int (call, "N", 1), 1);
  guint64 rows = ir_type_count (ir_call_input_type (call, 0)) / k;

  return ir_mul_saturated (ir_mul_saturated (2 * MAX (rows, 1), n), k);
}

/* How many numbers stand in an element of data. */
static gint64
numbers_per_byte (const IrCall *call)
{
  return ir_call_input_dtype (call, 0) == IR_DTYPE_UINT8 && ir_call_int (call, "bits", 4) == 4 ? 2
                                                                                                : 1;
}

/* data, indices, scales. Sets the output to data's dims, where those of indices stand in place of the
 * gathered axis, in the type of the scales. */
gboolean
ir_infer_gather_block_quantized (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0), n = ir_call_input_rank (call, 1);
  gint64 axis, quantized, block = ir_call_int (call, "block_size", 128);
  gint64 bits = ir_call_int (call, "bits", 4);
  IrDim dims[2 * IR_MAX_RANK];

  if ((bits != 4 && bits != 8) || block < 16 || (block & (block - 1)) != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "bits must be 4 or 8, and block_size a power of two from 16 on");
  if (!ir_call_check_integers (call, 1, 1, error))
    return FALSE;
  if (rank == IR_RANK_UNKNOWN || n == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 2), IR_RANK_UNKNOWN,
                                      NULL);
      return TRUE;
    }
  if (!ir_call_axis (call, ir_call_int (call, "gather_axis", 0), rank, &axis, error) ||
      !ir_call_axis (call, ir_call_int (call, "quantize_axis", 1), rank, &quantized, error))
    return FALSE;
  if (rank + n - 1 > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the output would have too many axes");
  if (numbers_per_byte (call) == 2 && (quantized != rank - 1 || axis == quantized))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "two numbers in a byte need quantize_axis to be the last axis, and "
                         "another one to be gathered");
  int at = 0;
  for (int i = 0; i < rank; i++)
    {
      IrDim dim = ir_call_input_dims (call, 0)[i];
      if (i == axis)
        for (int j = 0; j < n; j++)
          dims[at++] = ir_call_input_dims (call, 1)[j];
      else
        dims[at++] = i == rank - 1 && numbers_per_byte (call) == 2 && ir_dim_is_known (dim)
                         ? dim * 2
                     : i == rank - 1 && numbers_per_byte (call) == 2 ? IR_DIM_UNKNOWN
                                                                      : dim;
    }
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 2), at, dims);
  return TRUE;
}

/* -- GroupQueryAttention -- */

static gboolean
check_group_heads (const IrCall *call, gint64 *q, gint64 *kv, GError **error)
{
  *q = ir_call_int (call, "num_heads", 0);
  *kv = ir_call_int (call, "kv_num_heads", 0);
  return (*q > 0 && *kv > 0 && *q < G_MAXINT32 && *kv < G_MAXINT32 && *q % *kv == 0) ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "num_heads must be a multiple of kv_num_heads, and both positive");
}

static gboolean
check_rank_of (const IrCall *call, guint slot, int needed, GError **error)
{
  int rank = ir_call_input_rank (call, slot);

  return !ir_call_has_input (call, slot) || rank == IR_RANK_UNKNOWN || rank == needed ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u has rank %d, needed is %d", slot,
                       rank, needed);
}

/* Keys, values and their past fit the heads of queries. */
static gboolean
check_cached (
    const IrCall *call, IrDim batch, IrDim length, gint64 kv_heads, IrDim size, GError **error)
{
  IrDim same, width = ir_dim_is_known (size) ? size * kv_heads : IR_DIM_UNKNOWN;

  for (guint slot = 1; slot < 5; slot++)
    {
      const IrDim *dims = ir_call_input_dims (call, slot);
      if (!check_rank_of (call, slot, slot < 3 ? 3 : 4, error))
        return FALSE;
      if (dims == NULL)
        continue;
      if (!ir_call_same_dim (call, dims[0], batch, "the batch", &same, error))
        return FALSE;
      if (slot < 3 && (!ir_call_same_dim (call, dims[1], length, "the positions", &same, error) ||
                       !ir_call_same_dim (call, dims[2], width, "keys", &same, error)))
        return FALSE;
      if (slot >= 3 && (!ir_call_same_dim (call, dims[1], kv_heads, "the heads", &same, error) ||
                        !ir_call_same_dim (call, dims[3], size, "the head size", &same, error)))
        return FALSE;
    }
  if (ir_call_input_rank (call, 3) == 4 && ir_call_input_rank (call, 4) == 4 &&
      !ir_call_same_dim (call, ir_call_input_dims (call, 3)[2], ir_call_input_dims (call, 4)[2],
                         "the past", &same, error))
    return FALSE;
  return TRUE;
}

/* query [batch, positions, heads * size], or with keys and values behind it. Sets the output to
 * query's dims with the heads of queries alone, and the caches to [batch, kv heads, positions, size]. */
gboolean
ir_infer_group_query_attention (IrCall *call, GError **error)
{
  const IrDim *dims = ir_call_input_dims (call, 0);
  IrDtype dtype = ir_call_input_dtype (call, 0);
  gboolean packed = !ir_call_has_input (call, 1);
  IrDim size = IR_DIM_UNKNOWN, batch = IR_DIM_UNKNOWN, length = IR_DIM_UNKNOWN;
  gint64 heads, kv;

  if (!check_group_heads (call, &heads, &kv, error) || !check_rank_of (call, 0, 3, error) ||
      !ir_call_check_integers (call, 5, 2, error) || !ir_call_check_integers (call, 9, 1, error))
    return FALSE;
  if (packed == ir_call_has_input (call, 2) ||
      ir_call_has_input (call, 3) != ir_call_has_input (call, 4))
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "keys and values must be given together");
  if (!check_rank_of (call, 10, 4, error))
    return FALSE;
  if (dims != NULL)
    {
      gint64 all = packed ? heads + 2 * kv : heads;
      batch = dims[0];
      length = dims[1];
      if (ir_dim_is_known (dims[2]) && dims[2] % all != 0)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "the last axis of query does not hold whole heads");
      size = ir_dim_is_known (dims[2]) ? dims[2] / all : IR_DIM_UNKNOWN;
      if (!check_cached (call, batch, length, kv, size, error))
        return FALSE;
    }
  IrDim width = ir_dim_is_known (size) ? size * heads : IR_DIM_UNKNOWN;
  ir_call_set_output_tensor_type (call, 0, dtype, 3, (IrDim[]){ batch, length, width });
  for (guint i = 1; i < MIN (call->n_outputs, 3); i++)
    ir_call_set_output_tensor_type (call, i, dtype, 4,
                                    (IrDim[]){ batch, kv, IR_DIM_UNKNOWN, size });
  return TRUE;
}

guint64
ir_cost_group_query_attention (const IrCall *call)
{
  guint64 past = ir_call_input_rank (call, 3) == 4 ? ir_type_count (ir_call_input_type (call, 3)) : 1;

  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 0)), 4 + past);
}
