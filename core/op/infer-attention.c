/* Inference and cost of attention.def. Tensors of attention are [batch, heads, positions, head
 * size] or, with the numbers of heads as attributes, [batch, positions, heads * head size]. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

#include <string.h>

/* The four axes of an input in either form; all unknown if its rank is. */
typedef struct
{
  IrDim batch, heads, length, size;
} Heads;

static gboolean
divide_dim (const IrCall *call, IrDim dim, gint64 by, const char *what, IrDim *part, GError **error)
{
  *part = IR_DIM_UNKNOWN;
  if (by < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "%s has three axes, which needs the number of its heads as an attribute",
                         what);
  if (!ir_dim_is_known (dim))
    return TRUE;
  if (dim % by != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "the last axis of %s has size %" G_GINT64_FORMAT
                         ", which is not a multiple of its %" G_GINT64_FORMAT " heads",
                         what, dim, by);
  *part = dim / by;
  return TRUE;
}

static gboolean
heads_of (const IrCall *call, guint slot, const char *attr, Heads *heads, GError **error)
{
  int rank = ir_call_input_rank (call, slot);
  const IrDim *dims = ir_call_input_dims (call, slot);
  g_autofree char *name = ir_op_input_name (call->op, slot);
  gint64 n_heads = attr != NULL ? ir_call_int (call, attr, 0) : 0;

  *heads = (Heads){ IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN };
  if (rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank == 4)
    {
      *heads = (Heads){ dims[0], dims[1], dims[2], dims[3] };
      return TRUE;
    }
  if (rank != 3 || attr == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%s has rank %d, needed is %s", name, rank,
                         attr != NULL ? "3 or 4" : "4");
  *heads = (Heads){ dims[0], n_heads, dims[1], IR_DIM_UNKNOWN };
  return divide_dim (call, dims[2], n_heads, name, &heads->size, error);
}

/* Heads of Q are shared out evenly among those of K and V. */
static gboolean
check_groups (const IrCall *call, IrDim q, IrDim kv, GError **error)
{
  return !ir_dim_is_known (q) || !ir_dim_is_known (kv) || (kv > 0 && q % kv == 0) ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "%" G_GINT64_FORMAT
                       " heads of queries are not a multiple of %" G_GINT64_FORMAT " heads of keys",
                       q, kv);
}

typedef struct
{
  Heads q, k, v;
} Attended;

/* Q, K and V, with what they must have in common merged into each other. */
static gboolean
attended_of (
    const IrCall *call, const char *q_attr, const char *kv_attr, Attended *a, GError **error)
{
  int rank = ir_call_input_rank (call, 0);

  for (guint slot = 1; slot < 3 && rank != IR_RANK_UNKNOWN; slot++)
    if (ir_call_input_rank (call, slot) != IR_RANK_UNKNOWN &&
        ir_call_input_rank (call, slot) != rank)
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "Q has rank %d, input %u has %d", rank,
                           slot, ir_call_input_rank (call, slot));
  return heads_of (call, 0, q_attr, &a->q, error) && heads_of (call, 1, kv_attr, &a->k, error) &&
         heads_of (call, 2, kv_attr, &a->v, error) &&
         ir_call_same_dim (call, a->q.batch, a->k.batch, "the batch", &a->q.batch, error) &&
         ir_call_same_dim (call, a->q.batch, a->v.batch, "the batch", &a->q.batch, error) &&
         ir_call_same_dim (call, a->k.heads, a->v.heads, "the heads of K and V", &a->k.heads,
                           error) &&
         ir_call_same_dim (call, a->k.length, a->v.length, "the positions of K and V", &a->k.length,
                           error) &&
         ir_call_same_dim (call, a->q.size, a->k.size, "the head size of Q and K", &a->q.size,
                           error) &&
         check_groups (call, a->q.heads, a->k.heads, error);
}

static gboolean
check_past (const IrCall *call, guint slot, const Heads *now, IrDim *length, GError **error)
{
  Heads past;
  IrDim same;

  if (!ir_call_has_input (call, slot))
    return TRUE;
  return heads_of (call, slot, NULL, &past, error) &&
         ir_call_same_dim (call, past.batch, now->batch, "the batch of the past", &same, error) &&
         ir_call_same_dim (call, past.heads, now->heads, "the heads of the past", &same, error) &&
         ir_call_same_dim (call, past.size, now->size, "the head size of the past", &same, error) &&
         ir_call_same_dim (call, past.length, *length, "the positions of past keys and values",
                           length, error);
}

static gboolean
check_nonpad (const IrCall *call, IrDim batch, GError **error)
{
  int rank = ir_call_input_rank (call, 6);
  IrDim same;

  if (!ir_call_has_input (call, 6))
    return TRUE;
  if (ir_call_has_input (call, 4))
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY,
                         "nonpad_kv_seqlen and a past cannot be given together");
  if (!ir_call_check_integers (call, 6, 1, error))
    return FALSE;
  if (rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "nonpad_kv_seqlen has rank %d, needed is 1", rank);
  return ir_call_same_dim (call, ir_call_input_dims (call, 6)[0], batch, "nonpad_kv_seqlen", &same,
                           error);
}

/* Each axis of the mask is 1 or as large as that of the scores; the last may be shorter from
 * version 24 on: keys beyond it are masked. */
static gboolean
check_mask (const IrCall *call, const IrDim *scores, GError **error)
{
  int rank = ir_call_input_rank (call, 3);
  const IrDim *dims = ir_call_input_dims (call, 3);
  gboolean may_be_short = call->opset <= 0 || call->opset >= 24;

  if (!ir_call_has_input (call, 3) || rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank < 1 || rank > 4)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "attn_mask has rank %d, needed is 1 to 4",
                         rank);
  for (int i = 0; i < rank; i++)
    {
      IrDim mask = dims[rank - 1 - i], size = scores[3 - i];
      gboolean fits = !ir_dim_is_known (mask) || !ir_dim_is_known (size) || mask == size ||
                      (i == 0 && may_be_short ? mask < size : mask == 1);
      if (!fits)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "axis %d of attn_mask has size %" G_GINT64_FORMAT
                             ", which does not fit the %" G_GINT64_FORMAT " of the scores",
                             rank - 1 - i, mask, size);
    }
  return TRUE;
}

static gboolean
check_attention_attrs (const IrCall *call, GError **error)
{
  gint64 mode = ir_call_int (call, "qk_matmul_output_mode", 0);
  gint64 precision = ir_call_int (call, "softmax_precision", IR_DTYPE_FLOAT);

  if (mode < 0 || mode > 3)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "qk_matmul_output_mode is %" G_GINT64_FORMAT ", needed is 0 to 3", mode);
  if (!ir_dtype_is_valid (precision) || !ir_dtype_is_float ((IrDtype) precision))
    return ir_call_fail (
        call, error, IR_OP_ERROR_ATTRIBUTE,
        "softmax_precision is %" G_GINT64_FORMAT ", needed is a floating-point type", precision);
  if (ir_call_int (call, "left_window_size", -1) < -1 ||
      ir_call_int (call, "right_window_size", -1) < -1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "the size of a window is less than -1; -1 means no bound");
  if (ir_call_float (call, "scale", 1) < 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "scale is negative, and has no square root to multiply Q and K by");
  return TRUE;
}

/* Q's own form: [batch, heads, length, size], or the heads side by side in the last axis. */
static void
set_attended_type (IrCall *call, guint slot, IrDtype dtype, const Heads *q, IrDim size)
{
  IrDim apart[4] = { q->batch, q->heads, q->length, size };
  IrDim packed[3] = { q->batch, q->length, IR_DIM_UNKNOWN };
  int rank = ir_call_input_rank (call, 0);

  if (rank == 3)
    packed[2] = ir_dims_product (call->context, (IrDim[]){ q->heads, size }, 0, 2);
  ir_call_set_output_tensor_type (call, slot, dtype,
                                  rank == 3 || rank == 4 ? rank : IR_RANK_UNKNOWN,
                                  rank == 3 ? packed : apart);
}

/* Q, K and V of rank 3 or 4; a mask, a past and the lengths of a padded cache or none. Sets Y to
 * Q's form with V's head size, the present keys and values to [batch, kv heads, past + new,
 * size], and the scores to [batch, q heads, queries, past + new]. Source: ONNX Attention 25. */
gboolean
ir_infer_attention (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  IrDim past = ir_call_has_input (call, 4) ? IR_DIM_UNKNOWN : 0;
  Attended a;

  if (!check_attention_attrs (call, error) ||
      !attended_of (call, "q_num_heads", "kv_num_heads", &a, error))
    return FALSE;
  if (ir_call_has_input (call, 4) != ir_call_has_input (call, 5))
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY,
                         "past_key and past_value must be given together");
  if (!check_past (call, 4, &a.k, &past, error) || !check_past (call, 5, &a.v, &past, error) ||
      !check_nonpad (call, a.q.batch, error))
    return FALSE;
  IrDim total = ir_dim_add (call->context, past, a.k.length);
  IrDim scores[4] = { a.q.batch, a.q.heads, a.q.length, total };
  if (!check_mask (call, scores, error))
    return FALSE;
  set_attended_type (call, 0, dtype, &a.q, a.v.size);
  ir_call_set_output_tensor_type (call, 1, ir_call_input_dtype (call, 1), 4,
                                  (IrDim[]){ a.q.batch, a.k.heads, total, a.q.size });
  ir_call_set_output_tensor_type (call, 2, ir_call_input_dtype (call, 2), 4,
                                  (IrDim[]){ a.q.batch, a.k.heads, total, a.v.size });
  ir_call_set_output_tensor_type (call, 3, dtype, 4, scores);
  return TRUE;
}

/* -- FlexAttention -- */

/* Type of products and probabilities. */
static gboolean
flex_precision (const IrCall *call, IrDtype *dtype, GError **error)
{
  gint64 precision = ir_call_int (call, "softmax_precision", 0);
  IrDtype input = ir_call_input_dtype (call, 0);

  *dtype = input == IR_DTYPE_DOUBLE || input == IR_DTYPE_UNDEFINED ? input : IR_DTYPE_FLOAT;
  if (precision == 0)
    return TRUE;
  if (!ir_dtype_is_valid (precision) || !ir_dtype_is_float ((IrDtype) precision))
    return ir_call_fail (
        call, error, IR_OP_ERROR_ATTRIBUTE,
        "softmax_precision is %" G_GINT64_FORMAT ", needed is a floating-point type", precision);
  *dtype = (IrDtype) precision;
  return TRUE;
}

/* FlexAttention. Returns [batch, q heads, queries, keys] of the type of the softmax. */
const IrType *
ir_flex_attention_input (const IrCall *call, const IrGraph *graph, guint input)
{
  Attended a;
  IrDtype dtype;

  if (input > 0 || !flex_precision (call, &dtype, NULL) ||
      !attended_of (call, NULL, NULL, &a, NULL))
    return NULL;
  return ir_type_tensor (call->context, dtype, 4,
                         (IrDim[]){ a.q.batch, a.q.heads, a.q.length, a.k.length });
}

/* Q, K and V of rank 4. Sets Y to [batch, q heads, queries, V's head size]. Source: ONNX
 * FlexAttention 1 of ai.onnx.preview. */
gboolean
ir_infer_flex_attention (IrCall *call, GError **error)
{
  Attended a;
  IrDtype dtype;

  if (!flex_precision (call, &dtype, error) || !attended_of (call, NULL, NULL, &a, error))
    return FALSE;
  if (ir_call_float (call, "scale", 1) < 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "scale is negative, and has no square root to multiply Q and K by");
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), 4,
                                  (IrDim[]){ a.q.batch, a.q.heads, a.q.length, a.v.size });
  return TRUE;
}

/* Two products of [queries, keys], a multiply and an add each, and the softmax between them. */
guint64
ir_cost_attention (const IrCall *call)
{
  Attended a;
  Heads past = { 0, 0, 0, 0 };
  gboolean packed = ir_call_input_rank (call, 0) == 3;

  if (!attended_of (call, packed ? "q_num_heads" : NULL, packed ? "kv_num_heads" : NULL, &a,
                    NULL) ||
      !heads_of (call, 4, NULL, &past, NULL))
    return 0;
  IrDim of_scores[] = { a.q.batch, a.q.heads, a.q.length };
  guint64 rows = ir_mul_saturated (
      ir_type_count (ir_type_tensor (call->context, IR_DTYPE_FLOAT, 3, of_scores)), 1);
  guint64 keys = ir_dim_is_known (a.k.length) ? (guint64) a.k.length : 1;
  keys += ir_call_has_input (call, 4) && ir_dim_is_known (past.length) ? (guint64) past.length : 0;
  guint64 sizes = (ir_dim_is_known (a.q.size) ? (guint64) a.q.size : 1) +
                  (ir_dim_is_known (a.v.size) ? (guint64) a.v.size : 1);
  return ir_mul_saturated (ir_mul_saturated (rows, keys), 2 * sizes + 5);
}

/* -- LinearAttention -- */

/* The packed input @slot as heads; sets nothing if its rank is not known. */
static gboolean
packed_heads (const IrCall *call, guint slot, gint64 n_heads, Heads *heads, GError **error)
{
  int rank = ir_call_input_rank (call, slot);
  const IrDim *dims = ir_call_input_dims (call, slot);
  g_autofree char *name = ir_op_input_name (call->op, slot);

  *heads = (Heads){ IR_DIM_UNKNOWN, n_heads, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN };
  if (rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != 3)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%s has rank %d, needed is 3", name, rank);
  heads->batch = dims[0];
  heads->length = dims[1];
  return divide_dim (call, dims[2], n_heads, name, &heads->size, error);
}

static gboolean
check_rule (const IrCall *call, GError **error)
{
  const char *rule = ir_call_string (call, "update_rule", "gated_delta");
  gboolean gated = strcmp (rule, "gated") == 0 || strcmp (rule, "gated_delta") == 0;
  gboolean delta = strcmp (rule, "delta") == 0 || strcmp (rule, "gated_delta") == 0;

  if (!gated && !delta && strcmp (rule, "linear") != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "update_rule is %s, needed is linear, gated, delta or gated_delta", rule);
  if (ir_call_has_input (call, 4) != gated)
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "update_rule %s %s decay", rule,
                         gated ? "needs" : "has no");
  if (ir_call_has_input (call, 5) != delta)
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "update_rule %s %s beta", rule,
                         delta ? "needs" : "has no");
  return TRUE;
}

/* [batch, positions, last], where last is one of two sizes. */
static gboolean
check_rate (const IrCall *call, guint slot, const Heads *k, IrDim one, IrDim other, GError **error)
{
  int rank = ir_call_input_rank (call, slot);
  const IrDim *dims = ir_call_input_dims (call, slot);
  g_autofree char *name = ir_op_input_name (call->op, slot);
  IrDim same;

  if (!ir_call_has_input (call, slot) || rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != 3)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%s has rank %d, needed is 3", name, rank);
  if (!ir_call_same_dim (call, dims[0], k->batch, name, &same, error) ||
      !ir_call_same_dim (call, dims[1], k->length, name, &same, error))
    return FALSE;
  if (ir_dim_is_known (dims[2]) && ir_dim_is_known (one) && ir_dim_is_known (other) &&
      dims[2] != one && dims[2] != other)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "the last axis of %s has size %" G_GINT64_FORMAT
                         ", needed is %" G_GINT64_FORMAT " or %" G_GINT64_FORMAT,
                         name, dims[2], one, other);
  return TRUE;
}

static gboolean
linear_heads (const IrCall *call, Attended *a, GError **error)
{
  gint64 q_heads = ir_call_int (call, "q_num_heads", 0);
  gint64 kv_heads = ir_call_int (call, "kv_num_heads", 0);

  return packed_heads (call, 0, q_heads, &a->q, error) &&
         packed_heads (call, 1, kv_heads, &a->k, error) &&
         packed_heads (call, 2, kv_heads, &a->v, error) &&
         check_groups (call, q_heads, kv_heads, error) &&
         ir_call_same_dim (call, a->q.batch, a->k.batch, "the batch", &a->q.batch, error) &&
         ir_call_same_dim (call, a->q.batch, a->v.batch, "the batch", &a->q.batch, error) &&
         ir_call_same_dim (call, a->q.length, a->k.length, "the positions", &a->q.length, error) &&
         ir_call_same_dim (call, a->q.length, a->v.length, "the positions", &a->q.length, error) &&
         ir_call_same_dim (call, a->q.size, a->k.size, "the head size of query and key", &a->q.size,
                           error);
}

/* Query, key and value [batch, positions, heads * size]; a state, rates of decay and of update,
 * or none. Sets the output to [batch, positions, q heads * value size] and the state to [batch,
 * kv heads, key size, value size]. Source: ONNX LinearAttention 27. */
gboolean
ir_infer_linear_attention (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  Attended a;
  Heads past;
  IrDim same;

  if (!check_rule (call, error) || !linear_heads (call, &a, error))
    return FALSE;
  IrDim k_size = a.q.size, state[4] = { a.q.batch, a.k.heads, k_size, a.v.size };
  IrDim per_key = ir_dims_product (call->context, (IrDim[]){ a.k.heads, k_size }, 0, 2);
  Heads at = { a.q.batch, a.k.heads, a.q.length, k_size };
  if (!check_rate (call, 4, &at, a.k.heads, per_key, error) ||
      !check_rate (call, 5, &at, a.k.heads, 1, error))
    return FALSE;
  if (ir_call_has_input (call, 3) &&
      (!heads_of (call, 3, NULL, &past, error) ||
       !ir_call_same_dim (call, past.batch, state[0], "the batch of past_state", &same, error) ||
       !ir_call_same_dim (call, past.heads, state[1], "the heads of past_state", &same, error) ||
       !ir_call_same_dim (call, past.length, state[2], "the key size of past_state", &state[2],
                          error) ||
       !ir_call_same_dim (call, past.size, state[3], "the value size of past_state", &state[3],
                          error)))
    return FALSE;
  IrDim last = ir_dims_product (call->context, (IrDim[]){ a.q.heads, state[3] }, 0, 2);
  ir_call_set_output_tensor_type (call, 0, dtype, 3, (IrDim[]){ a.q.batch, a.q.length, last });
  ir_call_set_output_tensor_type (
      call, 1, ir_call_has_input (call, 3) ? ir_call_input_dtype (call, 3) : dtype, 4, state);
  return TRUE;
}

/* The state is updated and read once per position and head. */
guint64
ir_cost_linear_attention (const IrCall *call)
{
  Attended a;

  if (!linear_heads (call, &a, NULL))
    return 0;
  IrDim dims[] = { a.q.batch, a.q.length, a.q.heads, a.q.size, a.v.size };
  return ir_mul_saturated (ir_type_count (ir_type_tensor (call->context, IR_DTYPE_FLOAT, 5, dims)),
                           6);
}

/* -- CausalConvWithState -- */

/* Input [N, C, L], weight [C, 1, K], bias [C] or none, state [N, C, K - 1] or none. Sets the
 * output to the input's type and the state to [N, C, K - 1]. Source: ONNX CausalConvWithState
 * 27. */
gboolean
ir_infer_causal_conv (IrCall *call, GError **error)
{
  static const int ranks[] = { 3, 3, 1, 3 };
  const char *activation = ir_call_string (call, "activation", "none");
  const IrDim *x = ir_call_input_dims (call, 0), *w = ir_call_input_dims (call, 1),
              *bias = ir_call_input_dims (call, 2), *past = ir_call_input_dims (call, 3);
  IrDim dims[3] = { IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, IR_DIM_UNKNOWN };
  IrDtype dtype;

  if (strcmp (activation, "none") != 0 && strcmp (activation, "silu") != 0 &&
      strcmp (activation, "swish") != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "activation is %s, needed is none, silu or swish", activation);
  for (guint slot = 0; slot < G_N_ELEMENTS (ranks); slot++)
    if (ir_call_has_input (call, slot) && ir_call_input_rank (call, slot) != IR_RANK_UNKNOWN &&
        ir_call_input_rank (call, slot) != ranks[slot])
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u has rank %d, needed is %d",
                           slot, ir_call_input_rank (call, slot), ranks[slot]);
  if (!ir_call_common_dtype (call, 0, MIN (call->n_inputs, 4), &dtype, error))
    return FALSE;
  if (x != NULL)
    memcpy (dims, x, 2 * sizeof *dims);
  if (w != NULL && ir_dim_is_known (w[1]) && w[1] != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "axis 1 of weight has size %" G_GINT64_FORMAT ", needed is 1", w[1]);
  if (w != NULL && ir_dim_is_known (w[2]))
    {
      if (w[2] < 1)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the filters of weight are empty");
      dims[2] = w[2] - 1;
    }
  if ((w != NULL &&
       !ir_call_same_dim (call, dims[1], w[0], "the channels of weight", &dims[1], error)) ||
      (bias != NULL &&
       !ir_call_same_dim (call, dims[1], bias[0], "the size of bias", &dims[1], error)))
    return FALSE;
  for (guint i = 0; past != NULL && i < 3; i++)
    if (!ir_call_same_dim (call, dims[i], past[i], "an axis of past_state", &dims[i], error))
      return FALSE;
  ir_call_same_shape (call, 0, 0, dtype);
  ir_call_set_output_tensor_type (call, 1, dtype, 3, dims);
  return TRUE;
}

guint64
ir_cost_causal_conv (const IrCall *call)
{
  const IrDim *w = ir_call_input_dims (call, 1);
  guint64 taps = w != NULL && ir_dim_is_known (w[2]) ? (guint64) w[2] : 1;

  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 0)),
                           ir_mul_saturated (taps, 2));
}

/* -- RotaryEmbedding -- */

/* cos_cache and sin_cache: [positions, half], or without position_ids [batch, length, half]. */
static gboolean
check_cache (const IrCall *call, guint slot, const Heads *x, IrDim half, GError **error)
{
  int rank = ir_call_input_rank (call, slot), needed = ir_call_has_input (call, 3) ? 2 : 3;
  const IrDim *dims = ir_call_input_dims (call, slot);
  g_autofree char *name = ir_op_input_name (call->op, slot);
  IrDim same;

  if (rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != needed)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "%s has rank %d, needed is %d %s position_ids", name, rank, needed,
                         needed == 2 ? "with" : "without");
  if (needed == 3 && (!ir_call_same_dim (call, dims[0], x->batch, name, &same, error) ||
                      !ir_call_same_dim (call, dims[1], x->length, name, &same, error)))
    return FALSE;
  return ir_call_same_dim (call, dims[rank - 1], half, name, &same, error);
}

static gboolean
check_positions (const IrCall *call, const Heads *x, GError **error)
{
  int rank = ir_call_input_rank (call, 3);
  IrDim same;

  if (!ir_call_check_integers (call, 3, 1, error))
    return FALSE;
  if (!ir_call_has_input (call, 3) || rank == IR_RANK_UNKNOWN)
    return TRUE;
  if (rank != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "position_ids has rank %d, needed is 2",
                         rank);
  const IrDim *dims = ir_call_input_dims (call, 3);
  return ir_call_same_dim (call, dims[0], x->batch, "position_ids", &same, error) &&
         ir_call_same_dim (call, dims[1], x->length, "position_ids", &same, error);
}

/* X of rank 3 or 4; cosines and sines; the positions or none. Sets the output to X's type.
 * Source: ONNX RotaryEmbedding 23. */
gboolean
ir_infer_rotary_embedding (IrCall *call, GError **error)
{
  gint64 rotated = ir_call_int (call, "rotary_embedding_dim", 0);
  IrDim half = IR_DIM_UNKNOWN;
  Heads x;

  if (!heads_of (call, 0, "num_heads", &x, error))
    return FALSE;
  if (rotated < 0 || (ir_dim_is_known (x.size) && rotated > x.size))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "rotary_embedding_dim is %" G_GINT64_FORMAT
                         ", which is negative or more than the head size",
                         rotated);
  IrDim size = rotated > 0 ? rotated : x.size;
  if (ir_dim_is_known (size) && size % 2 != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "%" G_GINT64_FORMAT " elements of a head are rotated; needed are pairs",
                         size);
  if (ir_dim_is_known (size))
    half = size / 2;
  if (!check_positions (call, &x, error) || !check_cache (call, 1, &x, half, error) ||
      !check_cache (call, 2, &x, half, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, ir_call_input_dtype (call, 0));
  return TRUE;
}

/* Two products and a sum per element. */
guint64
ir_cost_rotary_embedding (const IrCall *call)
{
  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 0)), 3);
}

/* -- TensorScatter -- */

/* A cache; an update, which may be shorter along axis; where it goes, or none. Sets the output
 * to the cache's type. Source: ONNX TensorScatter 24. */
gboolean
ir_infer_tensor_scatter (IrCall *call, GError **error)
{
  const char *mode = ir_call_string (call, "mode", "linear");
  int rank = ir_call_input_rank (call, 0), update_rank = ir_call_input_rank (call, 1);
  const IrDim *cache = ir_call_input_dims (call, 0), *update = ir_call_input_dims (call, 1);
  gint64 axis = 0;
  IrDtype dtype;
  IrDim same;

  if (strcmp (mode, "linear") != 0 && strcmp (mode, "circular") != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "mode is %s, needed is linear or circular", mode);
  if (!ir_call_common_dtype (call, 0, 2, &dtype, error) ||
      !ir_call_check_integers (call, 2, 1, error))
    return FALSE;
  if (rank != IR_RANK_UNKNOWN &&
      !ir_call_axis (call, ir_call_int (call, "axis", -2), rank, &axis, error))
    return FALSE;
  if (rank != IR_RANK_UNKNOWN && axis == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "axis is the first one, which is that of samples");
  if (rank != IR_RANK_UNKNOWN && update_rank != IR_RANK_UNKNOWN && rank != update_rank)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "the cache has rank %d, the update %d",
                         rank, update_rank);
  for (int i = 0; cache != NULL && update != NULL && i < rank; i++)
    if (i != axis)
      {
        if (!ir_call_same_dim (call, cache[i], update[i], "cache and update", &same, error))
          return FALSE;
      }
    else if (ir_dim_is_known (cache[i]) && ir_dim_is_known (update[i]) && update[i] > cache[i])
      return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                           "the update has %" G_GINT64_FORMAT
                           " positions, the cache only %" G_GINT64_FORMAT,
                           update[i], cache[i]);
  if (cache != NULL && ir_call_input_rank (call, 2) != IR_RANK_UNKNOWN &&
      (ir_call_input_rank (call, 2) != 1 ||
       !ir_call_same_dim (call, ir_call_input_dims (call, 2)[0], cache[0], "write_indices", &same,
                          NULL)))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "write_indices must have one entry for each sample");
  ir_call_same_shape (call, 0, 0, dtype);
  return TRUE;
}

/* -- SwiGLU -- */

/* A and B of one type. Sets the output to that type; nothing is broadcast. Source: ONNX SwiGLU
 * 28. */
gboolean
ir_infer_swiglu (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0), b_rank = ir_call_input_rank (call, 1);
  IrDim dims[IR_MAX_RANK];
  IrDtype dtype;

  if (!ir_call_common_dtype (call, 0, 2, &dtype, error))
    return FALSE;
  if (rank == IR_RANK_UNKNOWN || b_rank == IR_RANK_UNKNOWN)
    {
      ir_call_same_shape (call, 0, rank != IR_RANK_UNKNOWN ? 0 : 1, dtype);
      return TRUE;
    }
  if (rank != b_rank)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "A has rank %d, B has %d", rank, b_rank);
  for (int i = 0; i < rank; i++)
    if (!ir_call_same_dim (call, ir_call_input_dims (call, 0)[i], ir_call_input_dims (call, 1)[i],
                           "A and B", &dims[i], error))
      return FALSE;
  ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
  return TRUE;
}
