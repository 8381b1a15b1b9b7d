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
