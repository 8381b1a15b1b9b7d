/* Inference and cost of those operators of com.microsoft that are no compositions. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

/* An input, if it is given, has @needed axes. */
static gboolean
check_rank_of (const IrCall *call, guint slot, int needed, GError **error)
{
  int rank = ir_call_input_rank (call, slot);

  return !ir_call_has_input (call, slot) || rank == IR_RANK_UNKNOWN || rank == needed ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u has rank %d, needed is %d", slot,
                       rank, needed);
}

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

/* A [.., K], bytes, and the shape [K, N] of what they hold. Sets the output to [.., N]. */
gboolean
ir_infer_matmul_fp_q4 (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  gint64 kind = ir_call_int (call, "blk_quant_type", 1);
  IrDim dims[IR_MAX_RANK], same;
  g_autofree gint64 *shape = NULL;
  guint n = 0;

  if (kind < 0 || kind > 2)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "blk_quant_type is %" G_GINT64_FORMAT ", needed is 0, 1 or 2", kind);
  if (rank == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "A is a scalar");
  if (!check_rank_of (call, 1, 1, error) || !ir_call_check_integers (call, 2, 1, error))
    return FALSE;
  for (int i = 0; i < rank; i++)
    dims[i] = ir_call_input_dims (call, 0)[i];
  if (ir_call_input_ints (call, 2, &shape, &n))
    {
      if (n != 2 || shape[0] < 1 || shape[1] < 1)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "B_shape is not [K, N]");
      if (rank > 0 && !ir_call_same_dim (call, dims[rank - 1], shape[0], "K", &same, error))
        return FALSE;
    }
  if (rank > 0)
    dims[rank - 1] = n == 2 ? shape[1] : IR_DIM_UNKNOWN;
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, dims);
  return TRUE;
}

guint64
ir_cost_matmul_fp_q4 (const IrCall *call)
{
  g_autofree gint64 *shape = NULL;
  guint n = 0;
  guint64 columns = ir_call_input_ints (call, 2, &shape, &n) && n == 2 && shape[1] > 0
                        ? (guint64) shape[1]
                        : 1;

  return ir_mul_saturated (2 * columns, ir_type_count (ir_call_input_type (call, 0)));
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

/* As GroupQueryAttention, but the caches keep their sizes, and blocks of keys are named by rows and
 * columns: [layouts, blocks + 1] and [layouts, most]. */
gboolean
ir_infer_sparse_attention (IrCall *call, GError **error)
{
  const IrDim *rows = ir_call_input_dims (call, 5), *columns = ir_call_input_dims (call, 6);
  gint64 block = ir_call_int (call, "sparse_block_size", 0), heads, kv;
  IrCall view = *call;
  IrDim same;

  if (block < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "sparse_block_size must be at least 1");
  if (!check_group_heads (call, &heads, &kv, error) || !check_rank_of (call, 5, 2, error) ||
      !check_rank_of (call, 6, 2, error) || !ir_call_check_integers (call, 5, 4, error))
    return FALSE;
  if (rows != NULL && columns != NULL &&
      !ir_call_same_dim (call, rows[0], columns[0], "the layouts", &same, error))
    return FALSE;
  if (rows != NULL && ir_dim_is_known (rows[0]) && (rows[0] < 1 || heads % rows[0] != 0))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "layouts do not divide the heads");
  view.n_inputs = 5;
  if (!ir_infer_group_query_attention (&view, error))
    return FALSE;
  for (guint i = 1; i < MIN (call->n_outputs, 3); i++)
    ir_call_same_type (call, i, i + 2);
  return TRUE;
}

guint64
ir_cost_group_query_attention (const IrCall *call)
{
  guint64 past = ir_call_input_rank (call, 3) == 4 ? ir_type_count (ir_call_input_type (call, 3))
                                                   : 1;

  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 0)), 4 + past);
}

/* -- others -- */

/* X [.., n, n]. */
gboolean
ir_infer_inverse (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  const IrDim *dims = ir_call_input_dims (call, 0);
  IrDim same;

  if (rank != IR_RANK_UNKNOWN && rank < 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has rank %d, needed is at least 2",
                         rank);
  if (dims != NULL &&
      !ir_call_same_dim (call, dims[rank - 2], dims[rank - 1], "rows and columns", &same, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* X [N, C, H, W], boxes [rois, 4], the sample of each, and the size of the crops. Sets the output to
 * [rois, C, that size]. */
gboolean
ir_infer_crop_and_resize (IrCall *call, GError **error)
{
  IrDim out[4] = { IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN }, same;
  const IrDim *boxes = ir_call_input_dims (call, 1), *samples = ir_call_input_dims (call, 2);
  g_autofree gint64 *size = NULL;
  guint n = 0;

  if (!check_rank_of (call, 0, 4, error) || !check_rank_of (call, 1, 2, error) ||
      !check_rank_of (call, 2, 1, error) || !ir_call_check_integers (call, 2, 2, error))
    return FALSE;
  if (boxes != NULL && !ir_call_same_dim (call, boxes[1], 4, "a box", &same, error))
    return FALSE;
  if (boxes != NULL)
    out[0] = boxes[0];
  if (samples != NULL && !ir_call_same_dim (call, out[0], samples[0], "the boxes", &out[0], error))
    return FALSE;
  if (ir_call_input_dims (call, 0) != NULL)
    out[1] = ir_call_input_dims (call, 0)[1];
  if (ir_call_input_ints (call, 3, &size, &n))
    {
      if (n != 2 || size[0] < 1 || size[1] < 1)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "crop_size is no size");
      out[2] = size[0];
      out[3] = size[1];
    }
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), 4, out);
  return TRUE;
}

gboolean
ir_infer_murmur_hash (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  guint bits = dtype != IR_DTYPE_UNDEFINED ? ir_dtype_bits (dtype) : 32;

  if (dtype != IR_DTYPE_STRING && (bits < 32 || bits > 64))
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                         "X is %s, needed are strings or numbers of 32 or 64 bits",
                         ir_dtype_name (dtype));
  ir_call_same_shape (call, 0, 0,
                      ir_call_int (call, "positive", 1) != 0 ? IR_DTYPE_UINT32 : IR_DTYPE_INT32);
  return TRUE;
}

/* Sets the output to input's dims, that of the axis as many as there are windows, and the size of a
 * window behind them. */
gboolean
ir_infer_unfold_tensor (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  gint64 size = ir_call_int (call, "size", 1), step = ir_call_int (call, "step", 1), axis;
  IrDim dims[IR_MAX_RANK + 1];

  if (size < 1 || step < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "size and step must be at least 1");
  if (rank != IR_RANK_UNKNOWN)
    {
      if (!ir_call_axis (call, ir_call_int (call, "dim", -1), rank, &axis, error))
        return FALSE;
      if (rank >= IR_MAX_RANK)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input has too many axes");
      for (int i = 0; i < rank; i++)
        dims[i] = ir_call_input_dims (call, 0)[i];
      if (ir_dim_is_known (dims[axis]) && dims[axis] < size)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the axis is shorter than a window");
      dims[axis] = ir_dim_is_known (dims[axis]) ? (dims[axis] - size) / step + 1 : IR_DIM_UNKNOWN;
      dims[rank++] = size;
    }
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, dims);
  return TRUE;
}

gboolean
ir_infer_ngram_repeat_block (IrCall *call, GError **error)
{
  const IrDim *ids = ir_call_input_dims (call, 0), *scores = ir_call_input_dims (call, 1);
  IrDim same;

  if (!check_rank_of (call, 0, 2, error) || !check_rank_of (call, 1, 2, error) ||
      !ir_call_check_integers (call, 0, 1, error))
    return FALSE;
  if (ir_call_int (call, "ngram_size", 1) < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "ngram_size must be at least 1");
  if (ids != NULL && scores != NULL &&
      !ir_call_same_dim (call, ids[0], scores[0], "the batch", &same, error))
    return FALSE;
  ir_call_same_shape (call, 0, 1, ir_call_input_dtype (call, 1));
  return TRUE;
}

/* Words [words, letters], filters [filters, 1, letters, size], a bias, and rows of letters [.., size].
 */
gboolean
ir_infer_word_conv_embedding (IrCall *call, GError **error)
{
  static const char *const attrs[] = { "embedding_size", "conv_window_size",
                                       "char_embedding_size" };
  static const guint axes[] = { 0, 2, 3 };
  const IrDim *w = ir_call_input_dims (call, 1), *bias = ir_call_input_dims (call, 2);
  const IrDim *words = ir_call_input_dims (call, 0), *letters = ir_call_input_dims (call, 3);
  IrDim out[2] = { IR_DIM_UNKNOWN, IR_DIM_UNKNOWN }, same;

  if (!check_rank_of (call, 0, 2, error) || !check_rank_of (call, 1, 4, error) ||
      !check_rank_of (call, 2, 1, error) || !check_rank_of (call, 3, 2, error) ||
      !ir_call_check_integers (call, 0, 1, error))
    return FALSE;
  if (words != NULL)
    out[0] = words[0];
  if (w != NULL)
    {
      out[1] = w[0];
      for (guint i = 0; i < 3; i++)
        if (ir_call_attr (call, attrs[i]) != NULL &&
            !ir_call_same_dim (call, w[axes[i]], ir_call_int (call, attrs[i], 0), attrs[i], &same,
                               error))
          return FALSE;
      if ((bias != NULL && !ir_call_same_dim (call, w[0], bias[0], "the filters", &same, error)) ||
          !ir_call_same_dim (call, w[1], 1, "axis 1 of W", &same, error) ||
          (letters != NULL &&
           !ir_call_same_dim (call, w[3], letters[1], "the size of a letter", &same, error)))
        return FALSE;
      if (words != NULL && ir_dim_is_known (words[1]) && ir_dim_is_known (w[2]) && words[1] < w[2])
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "words are shorter than a window");
    }
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 1), 2, out);
  return TRUE;
}

guint64
ir_cost_word_conv_embedding (const IrCall *call)
{
  return ir_mul_saturated (2 * ir_type_count (ir_call_input_type (call, 0)),
                           ir_type_count (ir_call_input_type (call, 1)));
}

/* input_ids [batch, positions], a multiplier for each word, a size for each hash, the words before.
 * Sets the outputs to [batch, positions, hashes] and [batch, words before]. */
gboolean
ir_infer_ngram_hash_mapping (IrCall *call, GError **error)
{
  gint64 most = ir_call_int (call, "max_ngram_size", 0);
  gint64 heads = ir_call_int (call, "n_head_per_ngram", 0);
  const IrDim *ids = ir_call_input_dims (call, 0), *multipliers = ir_call_input_dims (call, 1);
  const IrDim *sizes = ir_call_input_dims (call, 2), *past = ir_call_input_dims (call, 3);
  IrDim batch = ids != NULL ? ids[0] : IR_DIM_UNKNOWN, same;
  IrDtype dtype;

  if (most < 2 || heads < 1 || most > G_MAXINT16 || heads > G_MAXINT16)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "max_ngram_size must be at least 2, n_head_per_ngram at least 1");
  if (!check_rank_of (call, 0, 2, error) || !check_rank_of (call, 1, 1, error) ||
      !check_rank_of (call, 2, 1, error) || !check_rank_of (call, 3, 2, error) ||
      !ir_call_check_integers (call, 0, 4, error) ||
      !ir_call_common_dtype (call, 0, 4, &dtype, error))
    return FALSE;
  if ((multipliers != NULL &&
       !ir_call_same_dim (call, multipliers[0], most, "the multipliers", &same, error)) ||
      (sizes != NULL &&
       !ir_call_same_dim (call, sizes[0], (most - 1) * heads, "the hashes", &same, error)) ||
      (past != NULL && (!ir_call_same_dim (call, past[0], batch, "the batch", &batch, error) ||
                        !ir_call_same_dim (call, past[1], most - 1, "the past", &same, error))))
    return FALSE;
  ir_call_set_output_tensor_type (
      call, 0, dtype, 3,
      (IrDim[]){ batch, ids != NULL ? ids[1] : IR_DIM_UNKNOWN, (most - 1) * heads });
  if (call->n_outputs > 1)
    ir_call_set_output_tensor_type (call, 1, dtype, 2, (IrDim[]){ batch, most - 1 });
  return TRUE;
}

gboolean
ir_infer_bifurcation_detector (IrCall *call, GError **error)
{
  const IrDim unknown = IR_DIM_UNKNOWN;
  const IrType *index = ir_call_input_type (call, 2);
  guint64 n;

  if (!ir_call_check_integers (call, 0, 4, error))
    return FALSE;
  if (index != NULL && ir_type_n_elements (index, &n) && n != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input 2 must be one number");
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_INT64, 1, &unknown);
  if (call->n_outputs > 1)
    ir_call_set_output_tensor_type (call, 1, IR_DTYPE_INT64, 0, NULL);
  return TRUE;
}

gboolean
ir_infer_dynamic_time_warping (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);

  if (rank != IR_RANK_UNKNOWN && rank != 2 && !(rank == 3 && ir_call_input_dims (call, 0)[0] == 1))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input has rank %d, needed is 2", rank);
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_INT32, 2, (IrDim[]){ 2, IR_DIM_UNKNOWN });
  return TRUE;
}

/* X and a mask whose elements are used again where it is smaller. */
gboolean
ir_infer_max_pool_with_mask (IrCall *call, GError **error)
{
  IrCall view = *call;

  view.n_inputs = 1;
  if (ir_type_n_elements (ir_call_input_type (call, 1), &(guint64){ 0 }) &&
      ir_type_count (ir_call_input_type (call, 1)) == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the mask is empty");
  return ir_infer_average_pool (&view, error);
}

/* Where a mixture of experts has what, and how many numbers are in an element of a weight. */
typedef struct
{
  guint fc[3], bias[2]; /* weights of fc1, fc2 and fc3; biases of the first two */
  gint64 per_element;
} Mixture;

static const Mixture plain_mixture = { { 2, 4, 6 }, { 3, 5 }, 1 };

static Mixture
packed_mixture (const IrCall *call)
{
  gint64 bits = ir_call_int (call, "expert_weight_bits", 4);

  return (Mixture){ { 2, 5, 8 }, { 4, 7 }, bits > 0 && bits <= 8 ? 8 / bits : 1 };
}

/* The dims of a weight [experts, rows, numbers of a row]; FALSE: not known. */
static gboolean
weight_dims (const IrCall *call, const Mixture *m, guint which, IrDim *dims)
{
  const IrDim *from = ir_call_has_input (call, m->fc[which])
                          ? ir_call_input_dims (call, m->fc[which])
                          : NULL;

  for (guint i = 0; from != NULL && i < 3; i++)
    dims[i] = i < 2 || m->per_element == 1 ? from[i]
              : ir_dim_is_known (from[i])  ? from[i] * m->per_element
                                           : IR_DIM_UNKNOWN;
  return from != NULL;
}

static gboolean
check_mixture_weights (const IrCall *call, const Mixture *m, GError **error)
{
  gboolean fused = g_strcmp0 (ir_call_string (call, "activation_type", ""), "swiglu") == 0;
  const IrDim *logits = ir_call_input_dims (call, 1), *x = ir_call_input_dims (call, 0);
  IrDim fc1[3], fc2[3], fc3[3], same;
  guint64 elements, needed;

  if (!weight_dims (call, m, 0, fc1) || !weight_dims (call, m, 1, fc2))
    return TRUE;
  gboolean third = weight_dims (call, m, 2, fc3);
  IrDim inner = fused && !third && ir_dim_is_known (fc2[2]) ? 2 * fc2[2]
                : fused                                     ? IR_DIM_UNKNOWN
                                                            : fc2[2];
  if (!ir_call_same_dim (call, fc1[0], fc2[0], "the experts", &same, error) ||
      !ir_call_same_dim (call, fc1[2], fc2[1], "the hidden size", &same, error) ||
      !ir_call_same_dim (call, fc1[1], inner, "the inner size", &same, error) ||
      (x != NULL && !ir_call_same_dim (call, fc1[2], x[ir_call_input_rank (call, 0) - 1],
                                       "the hidden size", &same, error)) ||
      (logits != NULL && !ir_call_same_dim (call, logits[1], fc1[0], "the experts", &same, error)))
    return FALSE;
  for (guint i = 0; third && i < 3; i++)
    if (!ir_call_same_dim (call, fc1[i], fc3[i], "fc1 and fc3", &same, error))
      return FALSE;
  for (guint i = 0; i < 2; i++)
    {
      const IrType *bias = ir_call_input_type (call, m->bias[i]);
      const IrType *rows = ir_type_tensor (call->context, IR_DTYPE_FLOAT, 2, i == 0 ? fc1 : fc2);
      if (bias != NULL && ir_type_n_elements (bias, &elements) &&
          ir_type_n_elements (rows, &needed) && needed != elements)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "a bias does not fit its weights");
    }
  return TRUE;
}

/* input [.., hidden], logits [rows, experts], fc1 [experts, inner, hidden], fc2 [experts, hidden,
 * inner]. */
static gboolean
infer_mixture (IrCall *call, const Mixture *m, GError **error)
{
  const IrDim *x = ir_call_input_dims (call, 0), *logits = ir_call_input_dims (call, 1);
  int rank = ir_call_input_rank (call, 0);
  guint64 rows;

  if (!check_rank_of (call, 1, 2, error))
    return FALSE;
  for (guint i = 0; i < 3; i++)
    if (!check_rank_of (call, m->fc[i], 3, error))
      return FALSE;
  if (rank == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input is a scalar");
  if (!check_mixture_weights (call, m, error))
    return FALSE;
  if (x != NULL && logits != NULL && ir_dim_is_known (logits[0]) &&
      ir_type_n_elements (ir_type_tensor (call->context, IR_DTYPE_FLOAT, rank - 1, x), &rows) &&
      (guint64) logits[0] != rows)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "there are not as many logits as rows");
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

gboolean
ir_infer_moe (IrCall *call, GError **error)
{
  return infer_mixture (call, &plain_mixture, error);
}

/* Weights are [experts, rows, bytes], each byte of some numbers of a row. */
gboolean
ir_infer_q_moe (IrCall *call, GError **error)
{
  gint64 bits = ir_call_int (call, "expert_weight_bits", 4);
  gint64 block = ir_call_int (call, "block_size", 0);
  Mixture m = packed_mixture (call);

  if (g_strcmp0 (ir_call_string (call, "quant_type", "int"), "int") != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED, "quant_type %s is not supported",
                         ir_call_string (call, "quant_type", "int"));
  if ((bits != 2 && bits != 4 && bits != 8) || block < 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "expert_weight_bits must be 2, 4 or 8, and block_size not negative");
  return infer_mixture (call, &m, error);
}

static guint64
cost_of_mixture (const IrCall *call, const Mixture *m)
{
  IrDim fc1[3];
  gboolean known = weight_dims (call, m, 0, fc1);
  guint64 each = known ? ir_type_count (ir_type_tensor (call->context, IR_DTYPE_FLOAT, 2, fc1 + 1))
                       : 1;
  guint64 rows = known && ir_dim_is_known (fc1[2]) && fc1[2] > 0
                     ? ir_type_count (ir_call_input_type (call, 0)) / (guint64) fc1[2]
                     : 1;

  return ir_mul_saturated (
      ir_mul_saturated (4 * (guint64) MAX (ir_call_int (call, "k", 1), 1), rows), each);
}

guint64
ir_cost_moe (const IrCall *call)
{
  return cost_of_mixture (call, &plain_mixture);
}

guint64
ir_cost_q_moe (const IrCall *call)
{
  Mixture m = packed_mixture (call);

  return cost_of_mixture (call, &m);
}
