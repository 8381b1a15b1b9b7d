/* Attention that an exporter spelled out, for batches of heads [batch, heads, positions, size]:
 *
 *     S = MatMul (q, k) * c + mask
 *     y = MatMul (Softmax S, v)                      y = Attention{scale=c} (q, Transpose k, v,
 * mask)
 *
 * The factor may be a Div, be missing, or stand on q or k, wherefrom it goes into the operator by
 * rules of its own (torch exports scaled_dot_product_attention with half of it on each). What hides
 * keys is added once or twice, or chosen by a Where; it must not make the scores bigger. A mask
 * that is added while the first axis stands apart (windows of Swin) is added to the scores as they
 * are. The keys' Transpose meets another one, and both go. The standard operator where the opset
 * has it (23), says the same, and the mask has all queries and keys, as ONNX Runtime wants it; else
 * irscope's own. Kernels sum in other orders: rounding; a row
 * of which every key has -infinity is NaN, but zeros by the standard operator. Where an exporter
 * writes zeros for NaN behind the Softmax, SafeMaskedAttention does. Source: ONNX Runtime
 * AttentionFusion; PyTorch Inductor's patterns of scaled dot product attention; Vaswani and others
 * 2017. */
#include "config.h"

#include "passes/rewrites/norm-match.h"
#include "passes/rule/step.h"

#include <math.h>
#include <string.h>

/* -- conditions -- */

static gboolean
heads_fit (IrMatch *match)
{
  static const char *const names[] = { "q", "k", "v" };
  const IrNode *softmax = ir_match_node (match, "softmax");
  gint64 axis = ir_node_attr_int (softmax, "axis", -1);

  if (ir_value_dtype (ir_match_root (match)->outputs[0]) == IR_DTYPE_DOUBLE)
    return ir_match_fail (match, "the factor of the operator is in single precision");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const IrValue *value = ir_match_value (match, names[i]);

      if (ir_value_rank (value) != 4)
        return ir_match_fail (match, "%s does not have 4 axes", value->name);
    }
  if ((axis != -1 && axis != 3) || ir_node_opset (softmax) < 13)
    return ir_match_fail (match, "Softmax is not over the last axis, or flattens");
  return TRUE;
}

/* Keys and values have as many heads, and of the same batch, as the queries. */
static gboolean
batches_fit (IrMatch *match)
{
  const IrType *q = ir_match_value (match, "q")->type, *v = ir_match_value (match, "v")->type;
  const IrType *k = ir_match_value (match, "k")->type;

  for (guint i = 0; i < 2; i++)
    if (q->dims[i] == IR_DIM_UNKNOWN || q->dims[i] != v->dims[i] || q->dims[i] != k->dims[i])
      return ir_match_fail (match, "queries, keys and values differ in batch or heads");
  return TRUE;
}

/* Whether an axis of size @dim broadcasts to one of size @wanted and never makes it bigger: where
 * it is the smaller one for sure (the first rows of a constant mask), it is as large or 1, or the
 * model does not run. */
static gboolean
never_bigger (IrMatch *match, IrDim dim, IrDim wanted)
{
  IrContext *context = ir_match_context (match)->model->context;

  return dim == 1 || (dim != IR_DIM_UNKNOWN &&
                      (dim == wanted || (ir_dim_is_symbolic (dim) && wanted != IR_DIM_UNKNOWN &&
                                         ir_dim_min (context, dim, wanted) == dim)));
}

/* A mask must broadcast to the scores [batch, heads, queries, keys] without making them bigger. */
static gboolean
mask_fits (IrMatch *match, const char *variable)
{
  const IrType *mask = ir_match_value (match, variable)->type;
  const IrType *scores = ir_match_node (match, "scores")->outputs[0]->type;

  if (!ir_type_is_tensor (mask) || !ir_type_has_rank (mask) || mask->rank > 4 || mask->rank < 1 ||
      !ir_type_is_tensor (scores) || scores->rank != 4)
    return ir_match_fail (match, "the shape of the mask or of the scores is not known");
  for (int i = 0; i < mask->rank; i++)
    if (!never_bigger (match, mask->dims[i], scores->dims[4 - mask->rank + i]))
      return ir_match_fail (match, "the mask may make the scores bigger");
  return TRUE;
}

/* Whether the mask, or the sum of two, has the queries and keys that the scores have: ONNX Runtime
 * takes no Attention whose mask is broadcast over them, and from version 24 on keys behind a short
 * one are hidden. @second: (nullable). */
static gboolean
mask_is_full (IrMatch *match, const char *first, const char *second)
{
  const char *const names[] = { first, second };
  const IrType *scores = ir_match_node (match, "scores")->outputs[0]->type;

  for (int i = 1; i <= 2; i++)
    {
      gboolean full = FALSE;

      for (guint k = 0; k < G_N_ELEMENTS (names) && names[k] != NULL; k++)
        {
          const IrType *mask = ir_match_value (match, names[k])->type;
          full |= mask->rank >= i && scores->dims[4 - i] != IR_DIM_UNKNOWN &&
                  mask->dims[mask->rank - i] == scores->dims[4 - i];
        }
      if (!full)
        return FALSE;
    }
  return TRUE;
}

static gboolean
fail_broadcast (IrMatch *match)
{
  return ir_match_fail (match, "ONNX Runtime takes no mask that is broadcast over queries or keys");
}

/* What a Where puts in place of a score: one number. */
static gboolean
fill_fits (IrMatch *match)
{
  const IrTensor *fill = ir_match_constant (match, "f");

  if (ir_tensor_rank (fill) > 4 || isnan (ir_tensor_get_double (fill, 0)))
    return ir_match_fail (match, "what takes the place of hidden scores is not a number");
  return TRUE;
}

/* The standard operator hides keys by -infinity, which a Where may do, too. */
static gboolean
fill_is_standard (IrMatch *match)
{
  return ir_tensor_get_double (ir_match_constant (match, "f"), 0) == -INFINITY;
}

static gboolean
when_standard (IrMatch *match)
{
  return heads_fit (match) && batches_fit (match) && ir_match_opset_between (match, 23, 0);
}

static gboolean
when_ours (IrMatch *match)
{
  return heads_fit (match) && batches_fit (match) && ir_match_opset_between (match, 13, 0) &&
         ir_match_is_float32 (match);
}

static gboolean
when_late (IrMatch *match)
{
  return when_ours (match) && ir_match_opset_between (match, 13, 23);
}

static gboolean
has_standard (IrMatch *match)
{
  return ir_node_opset (ir_match_root (match)) >= 23;
}

static gboolean
fail_standard (IrMatch *match)
{
  return ir_match_fail (match, "the standard has an operator for it");
}

static gboolean
when_standard_masked (IrMatch *match)
{
  return when_standard (match) && mask_fits (match, "m") &&
         (mask_is_full (match, "m", NULL) || fail_broadcast (match));
}

static gboolean
when_late_masked (IrMatch *match)
{
  return when_ours (match) && mask_fits (match, "m") &&
         (!has_standard (match) || !mask_is_full (match, "m", NULL) || fail_standard (match));
}

/* Where (IsNaN p, 0, p), as exporters write behind a mask that may hide all keys of a query. The
 * standard's operator gives NaN where a score is NaN. */
static gboolean
when_safe (IrMatch *match)
{
  return when_ours (match) && mask_fits (match, "m");
}

static gboolean
when_standard_twice (IrMatch *match)
{
  return when_standard (match) && mask_fits (match, "m") && mask_fits (match, "n") &&
         (mask_is_full (match, "m", "n") || fail_broadcast (match));
}

static gboolean
when_late_twice (IrMatch *match)
{
  return when_ours (match) && mask_fits (match, "m") && mask_fits (match, "n") &&
         (!has_standard (match) || !mask_is_full (match, "m", "n") || fail_standard (match));
}

static gboolean
when_standard_selected (IrMatch *match)
{
  if (!when_standard_masked (match) || !fill_fits (match))
    return FALSE;
  return fill_is_standard (match) ||
         ir_match_fail (match, "the operator hides keys by -infinity, not by a number");
}

static gboolean
when_late_selected (IrMatch *match)
{
  if (!when_ours (match) || !mask_fits (match, "m") || !fill_fits (match))
    return FALSE;
  return !has_standard (match) || !fill_is_standard (match) || !mask_is_full (match, "m", NULL) ||
         fail_standard (match);
}

/* -- what the new node needs -- */

static gboolean
bind_scale (IrMatch *match, double scale)
{
  IrContext *context = ir_match_context (match)->model->context;

  if (!(scale >= 0) || !isfinite (scale))
    return ir_match_fail (match, "the factor %g is negative or not finite", scale);
  ir_match_bind_attr (match, "scale", ir_attr_float (context, "scale", (float) scale));
  return TRUE;
}

/* The keys come transposed, and are to be turned back. */
static gboolean
bind_new (IrMatch *match, double scale)
{
  static const gint64 perm[] = { 0, 1, 3, 2 };

  ir_match_bind_attr (match, "perm",
                      ir_attr_ints (ir_match_context (match)->model->context, "perm", perm, 4));
  return bind_scale (match, scale);
}

static double
constant (IrMatch *match, const char *variable)
{
  return ir_tensor_get_double (ir_match_constant (match, variable), 0);
}

static gboolean
prepare_mul (IrMatch *match)
{
  return bind_new (match, constant (match, "c"));
}

static gboolean
prepare_div (IrMatch *match)
{
  return bind_new (match, 1 / constant (match, "c"));
}

static gboolean
prepare_plain (IrMatch *match)
{
  return bind_new (match, 1);
}

static gboolean
prepare_mul_fill (IrMatch *match)
{
  ir_match_bind_scalar_attr (match, "f", "fill");
  return prepare_mul (match);
}

static gboolean
prepare_div_fill (IrMatch *match)
{
  ir_match_bind_scalar_attr (match, "f", "fill");
  return prepare_div (match);
}

static gboolean
prepare_plain_fill (IrMatch *match)
{
  ir_match_bind_scalar_attr (match, "f", "fill");
  return prepare_plain (match);
}

/* -- factors of queries or keys -- */

static gboolean
when_factor (IrMatch *match)
{
  const IrNode *attention = ir_match_node (match, "a");

  if (attention->n_outputs > 1)
    return ir_match_fail (match, "the attention gives more than its result");
  for (guint i = 4; i < attention->n_inputs; i++)
    if (attention->inputs[i] != NULL)
      return ir_match_fail (match, "the attention has a past");
  if (ir_value_dtype (attention->outputs[0]) != IR_DTYPE_FLOAT)
    return ir_match_fail (match, "the factor is folded in single precision alone");
  /* A factor of more axes than the queries would make them bigger. */
  if ((int) ir_tensor_rank (ir_match_constant (match, "c")) > ir_value_rank (attention->inputs[0]))
    return ir_match_fail (match, "the factor has more axes than what it scales");
  return TRUE;
}

/* The operator's own factor: by default 1 / sqrt (head size). */
static gboolean
own_scale (IrMatch *match, double *scale)
{
  const IrNode *attention = ir_match_node (match, "a");
  const IrType *q = attention->inputs[0]->type;
  gint64 heads = ir_node_attr_int (attention, "q_num_heads", 1);

  *scale = ir_node_attr_float (attention, "scale", 0);
  if (ir_node_attr (attention, "scale") != NULL)
    return TRUE;
  if (!ir_type_is_tensor (q) || q->rank < 3 || !ir_dim_is_known (q->dims[q->rank - 1]) ||
      q->dims[q->rank - 1] < 1 || heads < 1)
    return ir_match_fail (match, "the size of heads is not known");
  *scale = 1 / sqrt ((double) q->dims[q->rank - 1] / (q->rank == 3 ? (double) heads : 1));
  return TRUE;
}

static gboolean
prepare_factor (IrMatch *match)
{
  double scale;

  return own_scale (match, &scale) && bind_scale (match, scale * constant (match, "c"));
}

static gboolean
prepare_divisor (IrMatch *match)
{
  double scale;

  return own_scale (match, &scale) && bind_scale (match, scale / constant (match, "c"));
}

/* -- masks of windows -- */

/* [a * b, ...] --inner--> [a, b, ...] + mask --outer--> [a * b, ...] */
static gboolean
when_windows (IrMatch *match)
{
  const IrType *s = ir_match_value (match, "s")->type;
  const IrType *apart = ir_match_node (match, "inner")->outputs[0]->type;
  const IrTensor *mask = ir_match_constant (match, "m");

  if (!ir_types_identical (s, ir_match_root (match)->outputs[0]->type))
    return ir_match_fail (match, "the result does not have the shape that it had before the sum");
  if (!ir_type_is_tensor (apart) || apart->rank != s->rank + 1 || s->rank < 1)
    return ir_match_fail (match, "the first axis is not taken apart into two");
  for (int i = 1; i < s->rank; i++)
    if (s->dims[i] != apart->dims[i + 1])
      return ir_match_fail (match, "more than the first axis is taken apart");
  if (!ir_dim_is_known (apart->dims[0]) || !ir_dim_is_known (apart->dims[1]) ||
      apart->dims[0] < 1 || apart->dims[1] < 1)
    return ir_match_fail (match, "the number of windows is not known");
  if ((int) ir_tensor_rank (mask) > apart->rank)
    return ir_match_fail (match, "the mask makes the sum bigger");
  for (guint i = 0; i < ir_tensor_rank (mask); i++)
    {
      IrDim dim = ir_tensor_dims (mask)[i];
      if (dim != 1 && dim != apart->dims[apart->rank - (int) ir_tensor_rank (mask) + (int) i])
        return ir_match_fail (match, "the mask makes the sum bigger");
    }
  return TRUE;
}

/* The mask for the joined axis: its parts for [a, b] one behind the other. */
static gboolean
prepare_windows (IrMatch *match)
{
  const IrTensor *mask = ir_match_constant (match, "m");
  const IrType *apart = ir_match_node (match, "inner")->outputs[0]->type;
  guint rank = ir_tensor_rank (mask), missing = (guint) apart->rank - rank;
  gint64 dims[IR_MAX_RANK], outer = 1, inner = 1, a = 1, b = 1;
  gsize bytes;

  if (missing > 1)
    {
      ir_match_bind_value (match, "mask", ir_match_value (match, "m"));
      return TRUE;
    }
  outer = missing == 0 ? ir_tensor_dims (mask)[0] : 1;
  inner = ir_tensor_dims (mask)[1 - missing];
  if (outer > 1 || inner > 1)
    {
      a = apart->dims[0];
      b = apart->dims[1];
    }
  dims[0] = a * b;
  for (guint i = 2 - missing; i < rank; i++)
    dims[i - 1 + missing] = ir_tensor_dims (mask)[i];
  if (!ir_dtype_storage_bytes (ir_tensor_dtype (mask), ir_tensor_n_elements (mask), &bytes) ||
      bytes / (gsize) (outer * inner) * (gsize) (a * b) >
          ir_match_context (match)->fold_limit_bytes)
    return ir_match_fail (match, "the mask for all windows is larger than what may be folded");
  IrTensor *all = ir_tensor_new_alloc (ir_tensor_dtype (mask), (guint) apart->rank - 1, dims, NULL);
  if (all == NULL)
    return ir_match_fail (match, "there is no memory for the mask");
  bytes /= (gsize) (outer * inner);
  for (gint64 i = 0; i < a * b; i++)
    {
      gint64 from = (outer == 1 ? 0 : i / b) * inner + (inner == 1 ? 0 : i % b);
      memcpy ((guint8 *) ir_tensor_data_writable (all) + (gsize) i * bytes,
              (const guint8 *) ir_tensor_data (mask) + (gsize) from * bytes, bytes);
    }
  ir_match_bind_tensor (match, "mask", "mask", all);
  return TRUE;
}

/* -- rows -- */

#define PLAIN "(MatMul@scores ?q ?k)"
#define MUL   "(Mul@scores (MatMul ?q ?k) ?c:scalar)"
#define DIV   "(Div@scores (MatMul ?q ?k) ?c:scalar)"

#define OPEN(SCORES)     "(MatMul (Softmax@softmax " SCORES ") ?v)"
#define MASKED(SCORES)   "(MatMul (Softmax@softmax (Add " SCORES " ?m)) ?v)"
#define SAFE(SCORES)                                                                               \
  "(MatMul (Where (IsNaN (Softmax@softmax " SCORES ")) +0 @softmax) ?v)"
#define TWICE(SCORES)    "(MatMul (Softmax@softmax (Add (Add " SCORES " ?m) ?n)) ?v)"
#define SELECTED(SCORES) "(MatMul (Softmax@softmax (Where ?m " SCORES " ?f:scalar)) ?v)"
#define HIDDEN(SCORES)   "(MatMul (Softmax@softmax (Where ?m ?f:scalar " SCORES ")) ?v)"

/* A mask that fuse-bias has added already. */
#define SUM       "(irscope.MatMulAdd@scores ?q ?k ?m)"
#define SUM_TWICE "(Add " SUM " ?n)"

#define NEW(OP, ATTRS, MASK)                                                                       \
  "(" OP "{scale=?scale" ATTRS "} ?q (Transpose{perm=?perm} ?k) ?v" MASK ")"

#define HEAD(OPSET) "<ir_version: 10, opset_import: [\"\" : " OPSET ", \"irscope\" : 1]>\ng "
#define SIGNATURE                                                                                   \
  "(float[n,2,3,4] q, float[n,2,5,4] k, float[n,2,5,4] v, float[n,1,3,5] m) => (float[n,2,3,4] y) " \
  "{ c = Constant <value = float {0.5}> ()  d = Constant <value = float {2.0}> ()  "                \
  "t = Transpose <perm: ints = [0,1,3,2]> (k)  "
#define X_PLAIN "s = MatMul (q, t)  "
#define X_MUL   "r = MatMul (q, t)  s = Mul (r, c)  "
#define X_DIV   "r = MatMul (q, t)  s = Div (r, d)  "
#define X_SUM   "s = irscope.MatMulAdd (q, t, m)  "
#define X_SUM_TWICE                                                                                \
  "b = Constant <value = float[3,1] {1, 2, 3}> ()  r = irscope.MatMulAdd (q, t, m)  s = Add (b, r)  "
#define X_OPEN "p = Softmax (s)  y = MatMul (p, v) }"
#define X_MASK "w = Add (s, m)  p = Softmax (w)  y = MatMul (p, v) }"
#define X_SAFE                                                                                     \
  "o = Constant <value = float {0.0}> ()  p = Softmax (w)  i = IsNaN (p)  z = Where (i, o, p)  "   \
  "y = MatMul (z, v) }"
#define X_TWICE                                                                                    \
  "b = Constant <value = float[3,1] {1, 2, 3}> ()  w = Add (s, b)  u = Add (w, m)  p = Softmax "   \
  "(u)  y = MatMul (p, v) }"
#define X_KEEP        "keep = Constant <value = bool[3,5] {1,0,0,0,0,1,1,0,0,1,0,0,1,1,1}> ()  "
#define X_FILL(VALUE) "f = Constant <value = float {" VALUE "}> ()  "
#define X_WHERE(A, B) "w = Where (keep, " A ", " B ")  p = Softmax (w)  y = MatMul (p, v) }"
/* clang-format off */
#define ROW(ID, PATTERN, RESULT, OPSET, EXAMPLE, WHEN, PREPARE, DOC) \
  { "fuse-" ID, PATTERN, RESULT, IR_CLASS_ROUNDING, DOC, HEAD (OPSET) SIGNATURE EXAMPLE, WHEN, \
    PREPARE }
/* clang-format on */

#define LATE ", is one operator of irscope before opset 23."
#define LATE_MASKED                                                                                \
  ", is one operator of irscope before opset 23, and where the mask is broadcast over queries or " \
  "keys."
#define VARIANT(ID, SCORES, EXAMPLE, PREPARE, HOW)                                                 \
  ROW ("attention-" ID, OPEN (SCORES), NEW ("Attention", "", ""), "23", EXAMPLE X_OPEN,            \
       when_standard, PREPARE, "Attention without a mask, " HOW ", is one operator."),             \
      ROW ("late-attention-" ID, OPEN (SCORES), NEW ("irscope.Attention", "", ""), "17",           \
           EXAMPLE X_OPEN, when_late, PREPARE, "Attention without a mask, " HOW LATE),             \
      ROW ("masked-attention-" ID, MASKED (SCORES), NEW ("Attention", "", " ?m"), "23",            \
           EXAMPLE X_MASK, when_standard_masked, PREPARE,                                          \
           "Attention with a mask that is added, " HOW ", is one operator."),                      \
      ROW ("late-masked-attention-" ID, MASKED (SCORES),                                           \
           NEW ("irscope.MaskedAttention", "", " ?m"), "17", EXAMPLE X_MASK, when_late_masked,     \
           PREPARE, "Attention with a mask that is added, " HOW LATE_MASKED),                      \
      ROW ("safe-masked-attention-" ID, SAFE ("(Add " SCORES " ?m)"),                              \
           NEW ("irscope.SafeMaskedAttention", "", " ?m"), "23",                                   \
           EXAMPLE "w = Add (s, m)  " X_SAFE, when_safe, PREPARE,                                  \
           "Attention with a mask that is added, " HOW                                             \
           ", and zeros for weights that are no number, is one operator of irscope."),             \
      ROW ("twice-masked-attention-" ID, TWICE (SCORES), NEW ("Attention", "", " (Add ?m ?n)"),    \
           "23", EXAMPLE X_TWICE, when_standard_twice, PREPARE,                                    \
           "Attention with two masks that are added, " HOW ", is one operator for their sum."),    \
      ROW ("late-twice-masked-attention-" ID, TWICE (SCORES),                                      \
           NEW ("irscope.MaskedAttention", "", " (Add ?m ?n)"), "17", EXAMPLE X_TWICE,             \
           when_late_twice, PREPARE, "Attention with two masks that are added, " HOW LATE_MASKED), \
      ROW ("late-selected-attention-" ID, SELECTED (SCORES),                                       \
           NEW ("irscope.SelectedAttention", ",fill=?fill", " ?m"), "17",                          \
           EXAMPLE X_KEEP X_FILL ("-9.0") X_WHERE ("s", "f"), when_late_selected, PREPARE##_fill,  \
           "Attention where a Where keeps scores, " HOW                                            \
           ", is one operator of irscope, unless the "                                             \
           "standard's says the same."),                                                           \
      ROW ("late-hidden-attention-" ID, HIDDEN (SCORES),                                           \
           NEW ("irscope.SelectedAttention", ",fill=?fill", " (Not ?m)"), "17",                    \
           EXAMPLE X_KEEP X_FILL ("-9.0") X_WHERE ("f", "s"), when_late_selected, PREPARE##_fill,  \
           "Attention where a Where hides scores, " HOW                                            \
           ", is one operator of irscope, unless the "                                             \
           "standard's says the same.")
#define SELECTED_VARIANT(ID, SCORES, EXAMPLE, PREPARE, HOW)                                        \
  ROW ("selected-attention-" ID, SELECTED (SCORES), NEW ("Attention", "", " ?m"), "23",            \
       EXAMPLE X_KEEP X_FILL ("-inf") X_WHERE ("s", "f"), when_standard_selected, PREPARE,         \
       "Attention where a Where puts -infinity in place of scores, " HOW ", is one operator."),    \
      ROW ("hidden-attention-" ID, HIDDEN (SCORES), NEW ("Attention", "", " (Not ?m)"), "23",      \
           EXAMPLE X_KEEP X_FILL ("-inf") X_WHERE ("f", "s"), when_standard_selected, PREPARE,     \
           "Attention where a Where puts -infinity in place of hidden scores, " HOW                \
           ", is one operator.")

/* clang-format off */
#define SCALED(ID, PATTERN, RESULT, EXAMPLE, PREPARE, DOC) \
  { "fold-attention-" ID, PATTERN, RESULT, IR_CLASS_ROUNDING, DOC, \
    HEAD ("23") "(float[n,2,3,4] q, float[n,2,5,4] k, float[n,2,5,4] v, float[n,2,4,5] t) => " \
    "(float[n,2,3,4] y) { c = Constant <value = float {0.7}> ()  " EXAMPLE " }", when_factor, \
    PREPARE }
/* clang-format on */
#define ANY            "irscope.Attention|MaskedAttention|SafeMaskedAttention|SelectedAttention@a"
#define RESCALED       "(@a{@a,scale=?scale} ?q"
#define TURNED         "(Transpose{@t} ?k)"
#define X_Q(OP)        "w = " OP " (q, c)  y = "
#define X_K(OP)        "w = " OP " (t, c)  u = Transpose <perm: ints = [0,1,3,2]> (w)  y = "
#define X_OURS(Q, K)   "irscope.Attention <scale: float = 0.5> (" Q ", " K ", v)"
#define X_THEIRS(Q, K) "Attention (" Q ", " K ", v)"

static const IrRule rules[] = {
  { "join-windows", "(Reshape@outer (Add (Reshape@inner ?s ?*i) ?m:const) ?*o)", "(Add ?s ?mask)",
    IR_CLASS_EXACT,
    "A constant that is added while the first axis stands apart as two is added to that axis.",
    "(float[6,2,n] s) => (float[6,2,n] y) { M = Constant <value = float[3,1,1] {1, 2, 3}> ()  a = "
    "Constant <value = int64[4] {2, 3, 2, -1}> ()  b = Constant <value = int64[3] {6, 2, -1}> ()  r "
    "= Reshape (s, a)  w = Add (r, M)  y = Reshape (w, b) }",
    when_windows, prepare_windows },
  VARIANT ("mul", MUL, X_MUL, prepare_mul, "scaled by Mul"),
  SELECTED_VARIANT ("mul", MUL, X_MUL, prepare_mul, "scaled by Mul"),
  VARIANT ("div", DIV, X_DIV, prepare_div, "scaled by Div"),
  SELECTED_VARIANT ("div", DIV, X_DIV, prepare_div, "scaled by Div"),
  VARIANT ("plain", PLAIN, X_PLAIN, prepare_plain, "not scaled"),
  SELECTED_VARIANT ("plain", PLAIN, X_PLAIN, prepare_plain, "not scaled"),
  ROW ("masked-attention-sum",
       OPEN (SUM),
       NEW ("Attention", "", " ?m"),
       "23",
       X_SUM X_OPEN,
       when_standard_masked,
       prepare_plain,
       "Attention with a mask that is the bias of the product is one operator."),
  ROW ("late-masked-attention-sum",
       OPEN (SUM),
       NEW ("irscope.MaskedAttention", "", " ?m"),
       "17",
       X_SUM X_OPEN,
       when_late_masked,
       prepare_plain,
       "Attention with a mask that is the bias of the product" LATE_MASKED),
  ROW ("safe-masked-attention-sum",
       SAFE (SUM),
       NEW ("irscope.SafeMaskedAttention", "", " ?m"),
       "17",
       "w = irscope.MatMulAdd (q, t, m)  " X_SAFE,
       when_safe,
       prepare_plain,
       "Attention with a mask that is the bias of the product, and zeros for weights that are no "
       "number, is one operator of irscope."),
  ROW ("twice-masked-attention-sum",
       OPEN (SUM_TWICE),
       NEW ("Attention", "", " (Add ?m ?n)"),
       "23",
       X_SUM_TWICE X_OPEN,
       when_standard_twice,
       prepare_plain,
       "Attention with a bias of the product and a mask is one operator for their sum."),
  ROW ("late-twice-masked-attention-sum",
       OPEN (SUM_TWICE),
       NEW ("irscope.MaskedAttention", "", " (Add ?m ?n)"),
       "17",
       X_SUM_TWICE X_OPEN,
       when_late_twice,
       prepare_plain,
       "Attention with a bias of the product and a mask" LATE_MASKED),
  SCALED ("queries",
          "(" ANY " (Mul ?q ?c:scalar) ?*rest)",
          RESCALED " ?*rest)",
          X_Q ("Mul") X_OURS ("w", "k"),
          prepare_factor,
          "A factor of the queries becomes part of that of irscope's attention."),
  SCALED ("divided-queries",
          "(" ANY " (Div ?q ?c:scalar) ?*rest)",
          RESCALED " ?*rest)",
          X_Q ("Div") X_OURS ("w", "k"),
          prepare_divisor,
          "A divisor of the queries becomes part of the factor of irscope's attention."),
  SCALED ("keys",
          "(" ANY " ?q (Transpose@t (Mul ?k ?c:scalar)) ?*rest)",
          RESCALED " " TURNED " ?*rest)",
          X_K ("Mul") X_OURS ("q", "u"),
          prepare_factor,
          "A factor of the keys becomes part of that of irscope's attention."),
  SCALED ("divided-keys",
          "(" ANY " ?q (Transpose@t (Div ?k ?c:scalar)) ?*rest)",
          RESCALED " " TURNED " ?*rest)",
          X_K ("Div") X_OURS ("q", "u"),
          prepare_divisor,
          "A divisor of the keys becomes part of the factor of irscope's attention."),
  SCALED ("standard-queries",
          "(Attention@a (Mul ?q ?c:scalar) ?*rest)",
          RESCALED " ?*rest)",
          X_Q ("Mul") X_THEIRS ("w", "k"),
          prepare_factor,
          "A factor of the queries becomes part of that of Attention."),
  SCALED ("standard-divided-queries",
          "(Attention@a (Div ?q ?c:scalar) ?*rest)",
          RESCALED " ?*rest)",
          X_Q ("Div") X_THEIRS ("w", "k"),
          prepare_divisor,
          "A divisor of the queries becomes part of the factor of Attention."),
  SCALED ("standard-keys",
          "(Attention@a ?q (Transpose@t (Mul ?k ?c:scalar)) ?*rest)",
          RESCALED " " TURNED " ?*rest)",
          X_K ("Mul") X_THEIRS ("q", "u"),
          prepare_factor,
          "A factor of the keys becomes part of that of Attention."),
  SCALED ("standard-divided-keys",
          "(Attention@a ?q (Transpose@t (Div ?k ?c:scalar)) ?*rest)",
          RESCALED " " TURNED " ?*rest)",
          X_K ("Div") X_THEIRS ("q", "u"),
          prepare_divisor,
          "A divisor of the keys becomes part of the factor of Attention."),
  { NULL },
};

const IrPass ir_pass_fuse_attention = {
  .name = "fuse-attention",
  .title = "Fuse attention",
  .doc =
      "Products of queries and keys, their factor, what hides keys, Softmax and the product with "
      "the values become Attention: the standard operator if the opset has it, else irscope's.",
  .source = "ONNX Runtime AttentionFusion; PyTorch Inductor; Vaswani and others 2017",
  .profit = TRUE,
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "q, k -> MatMul -> Mul -> Add m -> Softmax -> MatMul v -> y\n"
                  "q, k, v, m -> Attention -> y",
  .rules = rules,
};
