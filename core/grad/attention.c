/* Attentions as the products, bounds and softmax that they are, which are derived in their place.
 *
 *   scores = (Q root) (K root)^T, with heads of K and V repeated for those of Q that share them
 *   scores = softcap tanh (scores / softcap)
 *   scores = scores + what the mask, the causal bound, windows and padding add
 *   Y = softmax (scores) V
 *
 * A query that sees no key gives zeros: its scores are replaced before the softmax, too, whose NaN would
 * meet a derivative of 0 otherwise. Sources: ONNX, Attention 25; ai.onnx.preview FlexAttention 1. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"
#include "core/ir/inline.h"

#include <math.h>

typedef struct
{
  const IrVjp *in;
  const IrNode *node;
  IrValue *q, *k, *v; /* [batch, heads, positions, size] */
  IrValue *past;      /* (nullable) keys that come first */
  IrValue *nonpad;    /* (nullable) int64 [batch, 1, 1, 1]: keys that count */
  IrValue *bias;      /* (nullable) what is added to the scores */
  IrValue *positions; /* where queries stand: int64 [.., queries, 1] */
  IrValue *keys;      /* 0, 1, ...: int64 [keys] */
} Attention;

/* -- heads -- */

/* Of a tensor of three axes, [batch, positions, heads * size], those of the attribute @attr */
static gint64
n_heads_of (const IrVjp *in, const IrValue *value, const char *attr)
{
  return ir_value_rank (value) == 4 ? ir_emit_dim (value, 1) : ir_node_attr_int (in->node, attr, 0);
}

static IrValue *
apart (const IrVjp *in, IrValue *value, gint64 heads)
{
  const gint64 dims[] = { 0, 0, heads, -1 }, perm[] = { 0, 2, 1, 3 };

  return ir_value_rank (value) == 4
             ? value
             : ir_emit_transpose (in, ir_emit_reshape (in, value, dims, 4), perm, 4);
}

static IrValue *
together (const IrVjp *in, IrValue *value)
{
  const gint64 dims[] = { 0, 0, -1 }, perm[] = { 0, 2, 1, 3 };

  return ir_emit_reshape (in, ir_emit_transpose (in, value, perm, 4), dims, 3);
}

/* Each head @times times, behind itself */
static IrValue *
repeat_heads (const IrVjp *in, IrValue *value, gint64 times)
{
  const gint64 repeats[] = { 1, 1, times, 1, 1 }, axis = 2;
  const gint64 dims[] = { 0, ir_emit_dim (value, 1) * times, -1, ir_emit_dim (value, 3) };

  if (times == 1)
    return value;
  value = ir_emit2 (in, "Tile", ir_emit_unsqueeze (in, value, &axis, 1),
                    ir_emit_ints (in, repeats, 5));
  return ir_emit_reshape (in, value, dims, 4);
}

static gboolean
read_heads (Attention *a, GError **error)
{
  IrValue *const *inputs = a->node->inputs;
  const gint64 heads = n_heads_of (a->in, inputs[0], "q_num_heads");
  const gint64 shared = n_heads_of (a->in, inputs[1], "kv_num_heads");

  if (heads < 1 || shared < 1 || heads % shared != 0)
    return ir_emit_fail (a->in, error, "how many heads it has is not known; give sizes (--dim)");
  a->q = apart (a->in, inputs[0], heads);
  a->k = apart (a->in, inputs[1], shared);
  a->v = apart (a->in, inputs[2], shared);
  if (heads != shared && (ir_emit_dim (a->k, 3) < 0 || ir_emit_dim (a->v, 3) < 0))
    return ir_emit_fail (a->in, error, "the size of its heads is not known; give sizes (--dim)");
  return TRUE;
}

/* -- products -- */

static IrValue *
scaled (const Attention *a, IrValue *value)
{
  const gint64 size = ir_emit_dim (a->q, 3);
  const float standard = 1.0f / sqrtf ((float) size);
  const float scale = ir_node_attr_float (a->node, "scale", standard);

  return ir_emit2 (a->in, "Mul", value, ir_emit_number_like (a->in, value, (double) sqrtf (scale)));
}

static IrValue *
products (const Attention *a, gint64 times)
{
  static const gint64 perm[] = { 0, 1, 3, 2 };
  IrValue *keys = ir_emit_transpose (a->in, repeat_heads (a->in, scaled (a, a->k), times), perm, 4);

  return ir_emit2 (a->in, "MatMul", scaled (a, a->q), keys);
}

static IrValue *
capped (const Attention *a, IrValue *scores)
{
  const double cap = (double) ir_node_attr_float (a->node, "softcap", 0);

  if (cap <= 0)
    return scores;
  IrValue *bound = ir_emit_number_like (a->in, scores, cap);
  return ir_emit2 (a->in, "Mul", bound,
                   ir_emit1 (a->in, "Tanh", ir_emit2 (a->in, "Div", scores, bound)));
}

/* -- what is added to the scores -- */

/* The size along an axis, as int64 [1] */
static IrValue *
size_of (const IrVjp *in, IrValue *value, gint64 axis)
{
  const gint64 end = axis + 1, first = 0;

  return ir_emit_slice (in, ir_emit_shape (in, value), &axis, &end, &first, 1);
}

/* 0, 1, ... before @n, an int64 [1] */
static IrValue *
count_to (const IrVjp *in, IrValue *n)
{
  static const gint64 zero = 0, one = 1;

  return ir_emit3 (in, "Range", ir_emit_ints (in, &zero, -1), ir_emit_pick (in, n, 0, 0),
                   ir_emit_ints (in, &one, -1));
}

static void
add_bias (Attention *a, IrValue *bias)
{
  a->bias = a->bias != NULL ? ir_emit2 (a->in, "Add", a->bias, bias) : bias;
}

/* 0 where @keep says so, -infinity elsewhere */
static void
add_kept (Attention *a, IrValue *keep)
{
  add_bias (a, ir_emit3 (a->in, "Where", keep, ir_emit_number_like (a->in, a->q, 0),
                         ir_emit_number_like (a->in, a->q, -INFINITY)));
}

/* Since version 24 keys beyond the last axis of the mask are masked; before, it is broadcast. */
static IrValue *
padded (const Attention *a, IrValue *bias, IrValue *scores)
{
  static const gint64 zeros[2 * IR_MAX_RANK] = { 0 };
  const int rank = ir_value_rank (bias);
  const gint64 size = ir_emit_dim (bias, -1);

  if ((ir_node_opset (a->node) != 0 && ir_node_opset (a->node) < 24) || rank < 1 ||
      (size >= 0 && size == ir_emit_dim (scores, 3)))
    return bias;
  IrValue *missing = ir_emit2 (a->in, "Sub", size_of (a->in, scores, 3),
                               size_of (a->in, bias, rank - 1));
  IrValue *pads = ir_emit_concat (a->in, ir_emit_ints (a->in, zeros, 2 * rank - 1), missing, 0);
  return ir_emit3 (a->in, "Pad", bias, pads, ir_emit_number_like (a->in, bias, -INFINITY));
}

static void
add_mask (Attention *a, IrValue *mask, IrValue *scores)
{
  if (mask == NULL)
    return;
  if (ir_value_dtype (mask) == IR_DTYPE_BOOL)
    mask = ir_emit3 (a->in, "Where", mask, ir_emit_number_like (a->in, a->q, 0),
                     ir_emit_number_like (a->in, a->q, -INFINITY));
  else
    mask = ir_emit_cast (a->in, mask, ir_value_dtype (a->q));
  add_bias (a, padded (a, mask, scores));
}

/* Where queries and keys stand: a query counts from the past, or so that the last sees all that
 * counts. */
static void
find_places (Attention *a, IrValue *scores)
{
  static const gint64 column = 1, rest[] = { 1, 2, 3 };
  IrValue *queries = size_of (a->in, a->q, 2);

  a->keys = count_to (a->in, size_of (a->in, scores, 3));
  a->positions = ir_emit_unsqueeze (a->in, count_to (a->in, queries), &column, 1);
  if (ir_node_input (a->node, 6) != NULL)
    {
      a->nonpad = ir_emit_unsqueeze (
          a->in, ir_emit_cast (a->in, a->node->inputs[6], IR_DTYPE_INT64), rest, 3);
      a->positions = ir_emit2 (a->in, "Add", a->positions,
                               ir_emit2 (a->in, "Sub", a->nonpad, queries));
    }
  else if (a->past != NULL)
    a->positions = ir_emit2 (a->in, "Add", a->positions, size_of (a->in, a->past, 2));
}

/* At most @n before (or, with @after, behind) the query's own place */
static void
add_window (Attention *a, gint64 n, gboolean after)
{
  IrValue *far = ir_emit2 (a->in, "Sub", after ? a->keys : a->positions,
                           after ? a->positions : a->keys);

  add_kept (
      a, ir_emit1 (a->in, "Not", ir_emit2 (a->in, "Greater", far, ir_emit_ints (a->in, &n, -1))));
}

static void
add_bounds (Attention *a, IrValue *scores)
{
  const gboolean causal = ir_node_attr_int (a->node, "is_causal", 0) != 0;
  const gint64 left = ir_node_attr_int (a->node, "left_window_size", -1);
  const gint64 right = ir_node_attr_int (a->node, "right_window_size", -1);

  add_mask (a, ir_node_input (a->node, 3), scores);
  if (!causal && left < 0 && right < 0 && ir_node_input (a->node, 6) == NULL)
    return;
  find_places (a, scores);
  if (causal)
    add_window (a, 0, TRUE);
  if (left >= 0)
    add_window (a, left, FALSE);
  if (right >= 0)
    add_window (a, right, TRUE);
  if (a->nonpad != NULL)
    add_kept (a, ir_emit2 (a->in, "Less", a->keys, a->nonpad));
}

/* -- probabilities -- */

static IrValue *
softmax (const IrVjp *in, IrValue *scores, IrDtype precision)
{
  IrValue *wide = ir_emit_cast (in, scores, precision);
  IrNode *node = ir_emit_node (in, "Softmax", 1, &wide, 1);

  ir_emit_attr_int (in, node, "axis", -1);
  return ir_emit_cast (in, ir_emit_end (in, node), ir_value_dtype (scores));
}

/* Does every query see a key? A bound of causality alone always leaves the first. */
static gboolean
may_be_empty (const Attention *a)
{
  return ir_node_input (a->node, 3) != NULL || a->nonpad != NULL ||
         ir_node_attr_int (a->node, "left_window_size", -1) >= 0 ||
         ir_node_attr_int (a->node, "right_window_size", -1) >= 0;
}

static IrValue *
probabilities (const Attention *a, IrValue *scores)
{
  static const gint64 last = -1;
  const IrDtype precision = (IrDtype) ir_node_attr_int (a->node, "softmax_precision",
                                                        ir_value_dtype (scores));

  if (a->bias == NULL || !may_be_empty (a))
    return softmax (a->in, scores, precision);
  IrValue *most = ir_emit_reduce (a->in, "ReduceMax", a->bias, &last, 1, TRUE);
  IrValue *some = ir_emit2 (a->in, "Greater", most, ir_emit_number_like (a->in, most, -INFINITY));
  IrValue *zero = ir_emit_number_like (a->in, scores, 0);
  scores = ir_emit3 (a->in, "Where", some, scores, zero);
  return ir_emit3 (a->in, "Where", some, softmax (a->in, scores, precision), zero);
}

gboolean
ir_expand_attention (const IrVjp *emit, IrValue **outputs, GError **error)
{
  const IrNode *node = emit->node;
  Attention a = { .in = emit, .node = node, .past = ir_node_input (node, 4) };
  const gint64 mode = ir_node_attr_int (node, "qk_matmul_output_mode", 0);
  IrValue *stages[4];

  if (!read_heads (&a, error))
    return FALSE;
  if (ir_emit_dim (a.q, 3) < 1 && ir_node_attr (node, "scale") == NULL)
    return ir_emit_fail (emit, error, "the size of its heads is not known; give sizes (--dim)");
  if (a.past != NULL)
    {
      a.k = ir_emit_concat (emit, a.past, a.k, 2);
      a.v = ir_emit_concat (emit, node->inputs[5], a.v, 2);
    }
  const gint64 times = ir_emit_dim (a.q, 1) / MAX (ir_emit_dim (a.k, 1), 1);
  stages[0] = products (&a, times);
  stages[1] = capped (&a, stages[0]);
  add_bounds (&a, stages[1]);
  stages[2] = a.bias != NULL ? ir_emit2 (emit, "Add", stages[1], a.bias) : stages[1];
  stages[3] = probabilities (&a, stages[2]);
  outputs[0] = ir_emit2 (emit, "MatMul", stages[3], repeat_heads (emit, a.v, times));
  if (ir_value_rank (node->inputs[0]) == 3)
    outputs[0] = together (emit, outputs[0]);
  if (node->n_outputs > 1)
    outputs[1] = a.k;
  if (node->n_outputs > 2)
    outputs[2] = a.v;
  if (node->n_outputs > 3)
    outputs[3] = stages[CLAMP (mode, 0, 3)];
  return TRUE;
}

/* -- FlexAttention -- */

/* What the subgraph @attr makes of @value; without one, @value */
static IrValue *
modified (const IrVjp *in, const char *attr, IrValue *value)
{
  const IrGraph *graph = ir_node_attr_graph (in->node, attr);

  if (graph == NULL)
    return value;
  g_autoptr (GHashTable) values = g_hash_table_new (NULL, NULL);
  g_hash_table_insert (values, ir_graph_input (graph, 0), value);
  g_autoptr (GPtrArray) path = ir_inline_body (in->edit, in->node, graph, in->graph, values);
  for (guint i = 0; i < path->len; i++)
    {
      ir_edit_set_rank (in->edit, path->pdata[i], in->rank);
      ir_emit_end (in, path->pdata[i]);
    }
  IrValue *result = g_hash_table_lookup (values, ir_graph_output (graph, 0));
  return result != NULL ? result : ir_graph_output (graph, 0);
}

gboolean
ir_expand_flex_attention (const IrVjp *emit, IrValue **outputs, GError **error)
{
  const IrNode *node = emit->node;
  Attention a = { .in = emit, .node = node };

  if (!read_heads (&a, error))
    return FALSE;
  if (ir_emit_dim (a.q, 3) < 1 && ir_node_attr (node, "scale") == NULL)
    return ir_emit_fail (emit, error, "the size of its heads is not known; give sizes (--dim)");
  const IrDtype dtype = ir_value_dtype (a.q);
  const IrDtype precision = (IrDtype) ir_node_attr_int (
      node, "softmax_precision", dtype == IR_DTYPE_DOUBLE ? dtype : IR_DTYPE_FLOAT);
  const gint64 times = ir_emit_dim (a.q, 1) / MAX (ir_emit_dim (a.k, 1), 1);
  IrValue *scores = ir_emit_cast (emit, products (&a, times), precision);
  IrValue *weights = softmax (emit, modified (emit, "score_mod", scores), precision);
  weights = modified (emit, "prob_mod", weights);
  IrValue *values = ir_emit_cast (emit, repeat_heads (emit, a.v, times), precision);
  outputs[0] = ir_emit_cast (emit, ir_emit2 (emit, "MatMul", weights, values),
                             ir_value_dtype (node->outputs[0]));
  return TRUE;
}
