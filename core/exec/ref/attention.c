/* Attention, one row of queries at a time, and the steps of FlexAttention. Each step of the ONNX
 * function body gives elements of its type: products, soft cap, mask, softmax and the weighted sum
 * are rounded one after the other, which matters in float16 and bfloat16. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/op/infer-util.h"
#include "core/exec/ref/ref.h"

#include <math.h>

/* A tensor as [batch, heads, positions, size], whichever form it has. Strides in elements. */
typedef struct
{
  const IrTensor *tensor;
  guint64 batch, heads, length, size;
  guint64 start, batch_stride, head_stride, row_stride;
} Heads;

static Heads
heads_of (const IrTensor *tensor, gint64 n_heads)
{
  const gint64 *dims = ir_tensor_dims (tensor);
  Heads heads = { .tensor = tensor, .batch = (guint64) dims[0] };

  if (ir_tensor_rank (tensor) == 4)
    {
      heads.heads = (guint64) dims[1];
      heads.length = (guint64) dims[2];
      heads.size = heads.row_stride = (guint64) dims[3];
      heads.head_stride = heads.length * heads.size;
      heads.batch_stride = heads.heads * heads.head_stride;
      return heads;
    }
  heads.heads = (guint64) n_heads;
  heads.length = (guint64) dims[1];
  heads.row_stride = (guint64) dims[2];
  heads.size = heads.head_stride = heads.row_stride / heads.heads;
  heads.batch_stride = heads.length * heads.row_stride;
  return heads;
}

/* Part 0, 1 or 2 of queries, keys and values side by side: [batch, positions, 3 * heads * size]. */
static Heads
packed_heads_of (const IrTensor *tensor, gint64 n_heads, guint64 part)
{
  Heads heads = heads_of (tensor, n_heads);

  heads.size = heads.head_stride = heads.size / 3;
  heads.start = part * heads.heads * heads.size;
  return heads;
}

static guint64
row_start (const Heads *heads, guint64 batch, guint64 head, guint64 row)
{
  return heads->start + batch * heads->batch_stride + head * heads->head_stride +
         row * heads->row_stride;
}

static void
load_rows (const IrCall *call,
           const Heads *heads,
           guint64 batch,
           guint64 head,
           guint64 first_row,
           double *values)
{
  for (guint64 row = 0; row < heads->length; row++)
    ir_block_load_many (call, heads->tensor, row_start (heads, batch, head, row), heads->size,
                        values + (first_row + row) * heads->size);
}

static void
scale_all (const IrCall *call, IrDtype dtype, double factor, guint64 n, double *values)
{
  for (guint64 i = 0; i < n; i++)
    values[i] = ir_block_round (dtype, values[i] * factor);
}

/* The factor of Q and of K, as an element: computed in float, where the body computes it. */
static double
root_of_scale (const IrCall *call, IrDtype dtype, guint64 head_size)
{
  float standard = 1.0f / sqrtf ((float) head_size);
  float scale = (float) ir_call_float (call, "scale", (double) standard);

  return ir_block_round (dtype, (double) sqrtf (scale));
}

/* One row of scores: a query times each key. */
static void
multiply_keys (const IrCall *call,
               IrDtype dtype,
               const double *query,
               const double *keys,
               guint64 n,
               guint64 size,
               double *scores)
{
  for (guint64 j = 0; j < n; j++)
    scores[j] = ir_block_round (dtype, ir_block_dot (query, keys + j * size, size));
}

/* A product of matrices: a weight of 0 does not hide an infinite or undefined value. */
static void
weigh_values (const IrCall *call,
              const double *weights,
              const double *values,
              guint64 n,
              guint64 size,
              double *sums)
{
  memset (sums, 0, size * sizeof *sums);
  for (guint64 j = 0; j < n; j++)
    ir_block_add_scaled (weights[j], values + j * size, size, sums);
}

/* -- Attention -- */

typedef struct
{
  IrCall *call;
  IrDtype dtype, precision; /* of the scores, and of the softmax */
  Heads q, k, v, past_key, past_value;
  guint64 past, total; /* positions */
  const IrTensor *mask, *nonpad;
  gint64 left, right; /* window; -1: no bound */
  gboolean causal, pads_mask;
  gboolean selects;    /* a score that the mask does not keep becomes fill */
  gboolean safe;       /* weights that are no number are 0 */
  gboolean empty_is_0; /* a query that sees no key gives zeros; else what Softmax makes of it */
  double root, softcap, fill;
  gint64 mode;
  IrTensor *y, *scores_out;
  double *keys, *values, *query, *scores, *bias, *sums; /* scratch */
} Attention;

static void
attention_clear (Attention *a)
{
  g_free (a->keys);
  g_free (a->values);
  g_free (a->query);
  g_free (a->scores);
  g_free (a->bias);
  g_free (a->sums);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Attention, attention_clear)

/* What attentions of the standard and of irscope have in common, once the heads are there. */
static void
attention_settings (Attention *a, IrCall *call, const IrTensor *mask)
{
  gboolean ours = g_strcmp0 (call->op->domain, "irscope") == 0;

  a->call = call;
  a->dtype = ir_tensor_dtype (ir_call_input (call, 0));
  a->precision = (IrDtype) ir_call_int (call, "softmax_precision", a->dtype);
  a->total = a->past + a->k.length;
  a->mask = mask;
  a->selects = ir_op_attr (call->op, "fill") != NULL;
  a->fill = ir_block_round (a->dtype, ir_call_float (call, "fill", 0));
  a->empty_is_0 = !ours;
  a->safe = (call->op->flags & IR_OP_SAFE_WEIGHTS) != 0;
  /* Before version 24 a mask is only broadcast; since then keys beyond its last axis are masked. */
  a->pads_mask = !ours && (call->opset <= 0 || call->opset >= 24);
  a->root = root_of_scale (call, a->dtype, a->q.size);
}

static void
attention_inputs (Attention *a, IrCall *call)
{
  a->q = heads_of (ir_call_input (call, 0), ir_call_int (call, "q_num_heads", 0));
  a->k = heads_of (ir_call_input (call, 1), ir_call_int (call, "kv_num_heads", 0));
  a->v = heads_of (ir_call_input (call, 2), ir_call_int (call, "kv_num_heads", 0));
  if (ir_call_has_input (call, 4))
    {
      a->past_key = heads_of (ir_call_input (call, 4), 0);
      a->past_value = heads_of (ir_call_input (call, 5), 0);
    }
  a->past = a->past_key.length;
  attention_settings (a, call, ir_call_input (call, 3));
  a->nonpad = ir_call_input (call, 6);
  a->left = ir_call_int (call, "left_window_size", -1);
  a->right = ir_call_int (call, "right_window_size", -1);
  a->causal = ir_call_int (call, "is_causal", 0) != 0;
  a->softcap = ir_block_round (a->dtype, ir_call_float (call, "softcap", 0));
  a->mode = ir_call_int (call, "qk_matmul_output_mode", 0);
}

static gboolean
attention_scratch (Attention *a, GError **error)
{
  guint64 keys, values;

  if (!g_uint64_checked_mul (&keys, a->total, a->k.size) ||
      !g_uint64_checked_mul (&values, a->total, a->v.size))
    return ir_call_fail (a->call, error, IR_OP_ERROR_LIMIT, "K and V are too large");
  return (a->keys = ir_block_new (a->call, keys, error)) != NULL &&
         (a->values = ir_block_new (a->call, values, error)) != NULL &&
         (a->query = ir_block_new (a->call, a->q.size, error)) != NULL &&
         (a->scores = ir_block_new (a->call, a->total, error)) != NULL &&
         (a->bias = ir_block_new (a->call, a->total, error)) != NULL &&
         (a->sums = ir_block_new (a->call, a->v.size, error)) != NULL;
}

/* Past and new rows of one head behind each other. */
static void
load_sequence (const IrCall *call,
               const Heads *past,
               const Heads *now,
               guint64 batch,
               guint64 head,
               double *values)
{
  if (past->tensor != NULL)
    load_rows (call, past, batch, head, 0, values);
  load_rows (call, now, batch, head, past->length, values);
}

static gboolean
store_present (
    IrCall *call, guint slot, const Heads *past, const Heads *now, double *scratch, GError **error)
{
  guint64 n = (past->length + now->length) * now->size;

  if (!ir_call_has_output (call, slot))
    return TRUE;
  IrTensor *present = ir_block_new_output (call, slot, error);
  if (present == NULL)
    return FALSE;
  for (guint64 i = 0; n > 0 && i < now->batch * now->heads && !ir_call_stopped (call); i++)
    {
      load_sequence (call, past, now, i / now->heads, i % now->heads, scratch);
      ir_block_store (present, i * n, n, scratch);
    }
  return TRUE;
}

/* What the mask adds to the score of key @at; 0 or -infinity where it is of bools. */
static double
mask_bias (const Attention *a, const guint64 place[4])
{
  guint rank = ir_tensor_rank (a->mask);
  guint64 index = 0;
  double value;

  for (guint i = 0; i < rank; i++)
    {
      guint64 size = (guint64) ir_tensor_dims (a->mask)[i], at = place[4 - rank + i];
      gboolean last = i + 1 == rank;
      if (last && at >= size && a->pads_mask)
        return -INFINITY;
      index = index * size + (size == 1 ? 0 : at);
    }
  value = ir_tensor_get_double (a->mask, index);
  if (ir_tensor_dtype (a->mask) == IR_DTYPE_BOOL)
    return value != 0 ? 0 : -INFINITY;
  return ir_block_round (a->dtype, value);
}

/* Whether the query at @position sees key @key: the window, the causal bound and the padding. */
static gboolean
sees (const Attention *a, gint64 position, gint64 key, gint64 valid)
{
  if ((a->causal && key > position) || key >= valid)
    return FALSE;
  return (a->left < 0 || position - key <= a->left) && (a->right < 0 || key - position <= a->right);
}

/* Puts fill in place of the scores that are not kept. */
static void
select_scores (const Attention *a, guint64 batch, guint64 head, guint64 row)
{
  for (guint64 j = 0; a->selects && j < a->total; j++)
    if (mask_bias (a, (guint64[]){ batch, head, row, j }) != 0)
      a->scores[j] = a->fill;
}

/* Fills the row of what is added to the scores; %FALSE: every key is masked. */
static gboolean
bias_row (Attention *a, guint64 batch, guint64 head, guint64 row)
{
  gint64 valid = a->nonpad != NULL ? ir_tensor_get_int64 (a->nonpad, batch) : G_MAXINT64;
  gint64 offset = a->nonpad != NULL ? valid - (gint64) a->q.length : (gint64) a->past;
  gboolean some = FALSE;

  for (guint64 j = 0; j < a->total; j++)
    {
      a->bias[j] = a->mask != NULL && !a->selects
                       ? mask_bias (a, (guint64[]){ batch, head, row, j })
                       : 0;
      if (!sees (a, offset + (gint64) row, (gint64) j, valid))
        a->bias[j] += -INFINITY;
      some = some || a->bias[j] != -INFINITY;
    }
  return some;
}

static void
cap_scores (const Attention *a)
{
  for (guint64 j = 0; a->softcap > 0 && j < a->total; j++)
    {
      double part = ir_block_round (a->dtype, a->scores[j] / a->softcap);
      double bent = ir_block_round (a->dtype, tanh (part));
      a->scores[j] = ir_block_round (a->dtype, bent * a->softcap);
    }
}

static void
keep_scores (const Attention *a, gint64 mode, guint64 row)
{
  if (a->scores_out != NULL && a->mode == mode)
    ir_block_store (a->scores_out, row * a->total, a->total, a->scores);
}

/* @index: row of the scores, over all batches and heads. */
static void
attend_row (Attention *a, guint64 batch, guint64 head, guint64 row, guint64 index)
{
  ir_block_load_many (a->call, a->q.tensor, row_start (&a->q, batch, head, row), a->q.size,
                      a->query);
  scale_all (a->call, a->dtype, a->root, a->q.size, a->query);
  multiply_keys (a->call, a->dtype, a->query, a->keys, a->total, a->q.size, a->scores);
  keep_scores (a, 0, index);
  cap_scores (a);
  keep_scores (a, 1, index);
  gboolean some = bias_row (a, batch, head, row) || !a->empty_is_0;
  select_scores (a, batch, head, row);
  for (guint64 j = 0; j < a->total; j++)
    a->scores[j] = ir_block_round (a->dtype, a->scores[j] + a->bias[j]);
  keep_scores (a, 2, index);
  for (guint64 j = 0; j < a->total; j++)
    a->scores[j] = ir_block_round (a->precision, a->scores[j]);
  if (some)
    ir_block_softmax (a->call, a->precision, a->scores, a->total);
  for (guint64 j = 0; j < a->total; j++)
    a->scores[j] = some && !(a->safe && isnan (a->scores[j]))
                       ? ir_block_round (a->dtype, a->scores[j])
                       : 0;
  keep_scores (a, 3, index);
  weigh_values (a->call, a->scores, a->values, a->total, a->v.size, a->sums);
}

static gboolean
check_nonpad (const Attention *a, GError **error)
{
  for (guint64 i = 0; a->nonpad != NULL && i < a->q.batch; i++)
    {
      gint64 valid = ir_tensor_get_int64 (a->nonpad, i);
      if (valid < 0 || (guint64) valid > a->total)
        return ir_call_fail (a->call, error, IR_OP_ERROR_VALUE,
                             "nonpad_kv_seqlen[%" G_GUINT64_FORMAT "] is %" G_GINT64_FORMAT
                             ", needed is 0 to the %" G_GUINT64_FORMAT " keys",
                             i, valid, a->total);
    }
  return TRUE;
}

static gboolean
attend_heads (Attention *a, GError **error)
{
  Heads out = heads_of (a->y, (gint64) a->q.heads);
  guint64 group = a->k.heads > 0 ? a->q.heads / a->k.heads : 1;

  for (guint64 i = 0; i < a->q.batch * a->q.heads; i++)
    {
      guint64 batch = i / a->q.heads, head = i % a->q.heads;
      load_sequence (a->call, &a->past_key, &a->k, batch, head / group, a->keys);
      load_sequence (a->call, &a->past_value, &a->v, batch, head / group, a->values);
      scale_all (a->call, a->dtype, a->root, a->total * a->k.size, a->keys);
      for (guint64 row = 0; row < a->q.length && !ir_call_stopped (a->call); row++)
        {
          attend_row (a, batch, head, row, i * a->q.length + row);
          ir_block_store (a->y, row_start (&out, batch, head, row), a->v.size,
                               a->sums);
        }
      if (ir_block_cancelled (a->call, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
check_types (const IrCall *call, guint mask_slot, GError **error)
{
  for (guint slot = 0; slot < 6; slot++)
    {
      IrDtype dtype = ir_call_has_input (call, slot) ? ir_tensor_dtype (ir_call_input (call, slot))
                                                     : IR_DTYPE_FLOAT;
      gboolean mask = slot == mask_slot && (dtype == IR_DTYPE_BOOL || ir_dtype_is_integer (dtype));
      if (!ir_dtype_is_float (dtype) && !mask)
        return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                             "input %u is %s, needed is a floating-point type", slot,
                             ir_dtype_name (dtype));
    }
  return TRUE;
}

/* Q, K, V; a mask, a past and lengths or none. A query that sees no key gives a row of zeros.
 * Fails with %IR_OP_ERROR_VALUE where nonpad_kv_seqlen is negative or more than the keys.
 * Source: ONNX Attention 25, function body. */
gboolean
ir_ref_attention (IrCall *call, GError **error)
{
  g_auto (Attention) a = { 0 };

  if (!check_types (call, 3, error) || !ir_infer_attention (call, error))
    return FALSE;
  attention_inputs (&a, call);
  if (!check_nonpad (&a, error))
    return FALSE;
  if ((ir_call_has_output (call, 0) && (a.y = ir_block_new_output (call, 0, error)) == NULL) ||
      (ir_call_has_output (call, 3) &&
       (a.scores_out = ir_block_new_output (call, 3, error)) == NULL) ||
      !attention_scratch (&a, error) ||
      !store_present (call, 1, &a.past_key, &a.k, a.keys, error) ||
      !store_present (call, 2, &a.past_value, &a.v, a.values, error))
    return FALSE;
  return a.y == NULL || attend_heads (&a, error);
}

/* QKV [batch, positions, 3 * heads * size]; a mask or none. Source: irscope PackedAttention 1. */
gboolean
ir_ref_packed_attention (IrCall *call, GError **error)
{
  const IrTensor *qkv = ir_call_input (call, 0);
  gint64 heads = ir_call_int (call, "num_heads", 1);
  g_auto (Attention) a = { .left = -1, .right = -1 };

  if (!check_types (call, 1, error) || !ir_infer_packed_attention (call, error))
    return FALSE;
  a.q = packed_heads_of (qkv, heads, 0);
  a.k = packed_heads_of (qkv, heads, 1);
  a.v = packed_heads_of (qkv, heads, 2);
  attention_settings (&a, call, ir_call_input (call, 1));
  a.y = ir_block_new_output (call, 0, error);
  return a.y != NULL && attention_scratch (&a, error) && attend_heads (&a, error);
}

/* -- FlexAttention -- */

static gboolean
flex_inputs (const IrCall *call, Heads *q, Heads *k, Heads *v, GError **error)
{
  for (guint slot = 0; slot < 3; slot++)
    if (!ir_dtype_is_float (ir_tensor_dtype (ir_call_input (call, slot))))
      return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                           "input %u is %s, needed is a floating-point type", slot,
                           ir_dtype_name (ir_tensor_dtype (ir_call_input (call, slot))));
  *q = heads_of (ir_call_input (call, 0), 0);
  *k = heads_of (ir_call_input (call, 1), 0);
  *v = heads_of (ir_call_input (call, 2), 0);
  return TRUE;
}

/**
 * ir_ref_flex_attention_scores:
 * @call: Q, K and V
 * @error: return location for an error
 *
 * The products of Q and K, each times the root of scale, rounded to their type and then given the
 * type of the softmax.
 *
 * Source: ONNX FlexAttention 1 of ai.onnx.preview.
 *
 * Returns: (transfer full) (nullable): [batch, q heads, queries, keys]
 */
IrTensor *
ir_ref_flex_attention_scores (IrCall *call, GError **error)
{
  Heads q, k, v;

  if (!ir_infer_flex_attention (call, error) || !flex_inputs (call, &q, &k, &v, error))
    return NULL;
  const IrType *type = ir_flex_attention_input (call, NULL, 0);
  IrDtype dtype = ir_tensor_dtype (q.tensor);
  double root = root_of_scale (call, dtype, q.size);
  guint64 group = k.heads > 0 ? q.heads / k.heads : 1;
  gsize bytes = 0;
  if (type == NULL || !ir_dtype_storage_bytes (type->dtype, ir_type_count (type), &bytes) ||
      (call->max_output_bytes != 0 && bytes > call->max_output_bytes))
    {
      ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "the scores do not fit into the memory limit");
      return NULL;
    }
  g_autoptr (IrTensor) scores = ir_tensor_new_alloc (type->dtype, 4, type->dims, error);
  g_autofree double *keys = ir_block_new (call, k.length * k.size, error);
  g_autofree double *query = ir_block_new (call, q.size, error);
  g_autofree double *row = ir_block_new (call, k.length, error);
  if (scores == NULL || keys == NULL || query == NULL || row == NULL)
    return NULL;
  for (guint64 i = 0; i < q.batch * q.heads; i++)
    {
      load_rows (call, &k, i / q.heads, i % q.heads / group, 0, keys);
      scale_all (call, dtype, root, k.length * k.size, keys);
      for (guint64 at = 0; at < q.length && !ir_call_stopped (call); at++)
        {
          ir_block_load_many (call, q.tensor, row_start (&q, i / q.heads, i % q.heads, at), q.size,
                              query);
          scale_all (call, dtype, root, q.size, query);
          multiply_keys (call, dtype, query, keys, k.length, q.size, row);
          ir_block_store (scores, (i * q.length + at) * k.length, k.length, row);
        }
      if (ir_block_cancelled (call, error))
        return NULL;
    }
  return g_steal_pointer (&scores);
}

/**
 * ir_ref_flex_attention_softmax:
 * @call: the call
 * @scores: a tensor of the shape of the scores; replaced by its softmax along the last axis
 * @error: return location for an error
 *
 * Returns: %TRUE if it was computed
 */
gboolean
ir_ref_flex_attention_softmax (IrCall *call, IrTensor *scores, GError **error)
{
  guint64 n = (guint64) ir_tensor_dims (scores)[3];
  guint64 n_rows = n > 0 ? ir_tensor_n_elements (scores) / n : 0;
  g_autofree double *row = ir_block_new (call, n, error);

  if (row == NULL)
    return FALSE;
  for (guint64 i = 0; i < n_rows && !ir_call_stopped (call); i++)
    {
      ir_block_load_many (call, scores, i * n, n, row);
      ir_block_softmax (call, ir_tensor_dtype (scores), row, n);
      ir_block_store (scores, i * n, n, row);
    }
  return TRUE;
}

/**
 * ir_ref_flex_attention_output:
 * @call: the call
 * @probs: [batch, q heads, queries, keys]
 * @error: return location for an error
 *
 * The sums of V weighted by @probs, rounded to the type of @probs and then to that of the output.
 *
 * Returns: %TRUE if output 0 was computed
 */
gboolean
ir_ref_flex_attention_output (IrCall *call, const IrTensor *probs, GError **error)
{
  IrDtype precision = ir_tensor_dtype (probs);
  Heads q, k, v;

  if (!flex_inputs (call, &q, &k, &v, error))
    return FALSE;
  guint64 group = k.heads > 0 ? q.heads / k.heads : 1;
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *values = ir_block_new (call, v.length * v.size, error);
  g_autofree double *weights = ir_block_new (call, v.length, error);
  g_autofree double *sums = ir_block_new (call, v.size, error);
  if (y == NULL || values == NULL || weights == NULL || sums == NULL)
    return FALSE;
  for (guint64 i = 0; i < q.batch * q.heads && !ir_call_stopped (call); i++)
    {
      load_rows (call, &v, i / q.heads, i % q.heads / group, 0, values);
      scale_all (call, precision, 1, v.length * v.size, values);
      for (guint64 at = i * q.length; at < (i + 1) * q.length && !ir_call_stopped (call); at++)
        {
          ir_block_load_many (call, probs, at * v.length, v.length, weights);
          weigh_values (call, weights, values, v.length, v.size, sums);
          scale_all (call, precision, 1, v.size, sums);
          ir_block_store (y, at * v.size, v.size, sums);
        }
    }
  return TRUE;
}
