/* Attention that an exporter spelled out, for batches of heads [batch, heads, positions, size]:
 *
 *     S = MatMul (q, Transpose k) * c + mask
 *     y = MatMul (Softmax S, v)                      y = Attention{scale=c} (q, k, v, mask)
 *
 * The factor may be a Div, be missing, or stand half on q and half on k (as torch exports
 * scaled_dot_product_attention). The mask must be added and must not make the scores bigger. The
 * standard operator where the opset has it (23), else irscope's own. Kernels sum in other orders:
 * rounding; a row that is masked in full by -infinity is NaN in both. Source: ONNX Runtime
 * AttentionFusion; PyTorch Inductor's patterns of scaled dot product attention; Vaswani and others
 * 2017. */
#include "config.h"

#include "passes/norm-match.h"

#include <math.h>

static gboolean
heads_fit (IrMatch *match)
{
  static const char *const names[] = { "q", "k", "v" };
  const IrNode *softmax = ir_match_node (match, "softmax"), *transpose = ir_match_node (match, "t");
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (transpose, "perm", &n);
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
  if (n != 4 || perm[0] != 0 || !((perm[1] == 1 && perm[2] == 3) || (perm[1] == 2 && perm[2] == 3)))
    return ir_match_fail (match, "the Transpose does not give heads of transposed keys");
  return TRUE;
}

/* Keys and values have as many heads, and of the same batch, as the queries. */
static gboolean
batches_fit (IrMatch *match)
{
  const IrType *q = ir_match_value (match, "q")->type, *v = ir_match_value (match, "v")->type;
  const IrType *k = ir_match_node (match, "t")->outputs[0]->type;

  if (!ir_type_is_tensor (k) || k->rank != 4)
    return ir_match_fail (match, "the shape of the keys is not known");
  for (guint i = 0; i < 2; i++)
    if (q->dims[i] == IR_DIM_UNKNOWN || q->dims[i] != v->dims[i] || q->dims[i] != k->dims[i])
      return ir_match_fail (match, "queries, keys and values differ in batch or heads");
  return TRUE;
}

/* A mask must broadcast to the scores [batch, heads, queries, keys] without making them bigger. */
static gboolean
mask_fits (IrMatch *match)
{
  const IrType *mask = ir_match_value (match, "m")->type;
  const IrType *scores = ir_match_node (match, "scores")->outputs[0]->type;

  if (!ir_type_is_tensor (mask) || !ir_type_has_rank (mask) || mask->rank > 4 || mask->rank < 1 ||
      !ir_type_is_tensor (scores) || scores->rank != 4)
    return ir_match_fail (match, "the shape of the mask or of the scores is not known");
  for (int i = 0; i < mask->rank; i++)
    {
      IrDim dim = mask->dims[i], wanted = scores->dims[4 - mask->rank + i];

      if (dim != 1 && (dim == IR_DIM_UNKNOWN || dim != wanted))
        return ir_match_fail (match, "the mask may make the scores bigger");
    }
  return TRUE;
}

static gboolean
when_standard (IrMatch *match)
{
  return heads_fit (match) && batches_fit (match) && ir_match_opset_between (match, 23, 0);
}

static gboolean
when_late (IrMatch *match)
{
  return heads_fit (match) && batches_fit (match) && ir_match_opset_between (match, 13, 23) &&
         ir_match_is_float32 (match);
}

static gboolean
when_standard_masked (IrMatch *match)
{
  return when_standard (match) && mask_fits (match);
}

static gboolean
when_late_masked (IrMatch *match)
{
  return when_late (match) && mask_fits (match);
}

/* The keys with their last two axes as the operator wants them. */
static gboolean
bind_keys (IrMatch *match, double scale)
{
  IrContext *context = ir_match_context (match)->model->context;
  guint n;
  const gint64 *perm = ir_node_attr_ints (ir_match_node (match, "t"), "perm", &n);
  gint64 keys[] = { perm[0], perm[1], perm[3], perm[2] };

  if (!(scale >= 0) || !isfinite (scale))
    return ir_match_fail (match, "the factor %g is negative or not finite", scale);
  ir_match_bind_attr (match, "perm", ir_attr_ints (context, "perm", keys, 4));
  ir_match_bind_attr (match, "scale", ir_attr_float (context, "scale", scale));
  return TRUE;
}

static double
constant (IrMatch *match, const char *variable)
{
  return ir_tensor_get_double (ir_match_constant (match, variable), 0);
}

static gboolean
prepare_mul (IrMatch *match)
{
  return bind_keys (match, constant (match, "c"));
}

static gboolean
prepare_div (IrMatch *match)
{
  return bind_keys (match, 1 / constant (match, "c"));
}

static gboolean
prepare_none (IrMatch *match)
{
  return bind_keys (match, 1);
}

static gboolean
prepare_both (IrMatch *match)
{
  return bind_keys (match, constant (match, "c") * constant (match, "d"));
}

#define KEYS              "(Transpose@t:shared ?k)"
#define PLAIN             "(MatMul@scores ?q " KEYS ")"
#define MUL               "(Mul@scores (MatMul ?q " KEYS ") ?c:scalar)"
#define DIV               "(Div@scores (MatMul ?q " KEYS ") ?c:scalar)"
#define BOTH              "(MatMul@scores (Mul ?q ?c:scalar) (Mul " KEYS " ?d:scalar))"
#define ATTENTION(SCORES) "(MatMul (Softmax@softmax " SCORES ") ?v)"
#define MASKED(SCORES)    "(MatMul (Softmax@softmax (Add " SCORES " ?m)) ?v)"

#define HEAD(OPSET) "<ir_version: 10, opset_import: [\"\" : " OPSET ", \"irscope\" : 1]>\ng "
#define SIGNATURE                                                                                   \
  "(float[n,2,3,4] q, float[n,2,5,4] k, float[n,2,5,4] v, float[n,1,1,5] m) => (float[n,2,3,4] y) " \
  "{ c = Constant <value = float {0.5}> ()  d = Constant <value = float {2.0}> ()  "                \
  "t = Transpose <perm: ints = [0,1,3,2]> (k)  "
#define X_PLAIN "s = MatMul (q, t)  "
#define X_MUL   "r = MatMul (q, t)  s = Mul (r, c)  "
#define X_DIV   "r = MatMul (q, t)  s = Div (r, d)  "
#define X_BOTH  "a = Mul (q, c)  b = Mul (t, c)  s = MatMul (a, b)  "
#define X_END   "p = Softmax (s)  y = MatMul (p, v) }"
#define X_MASK  "w = Add (s, m)  p = Softmax (w)  y = MatMul (p, v) }"

#define VARIANT(ID, SCORES, EXAMPLE, PREPARE, HOW)                                                 \
  { "fuse-attention-" ID,                                                                          \
    ATTENTION (SCORES),                                                                            \
    "(Attention{scale=?scale} ?q (Transpose{perm=?perm} ?k) ?v)",                                  \
    IR_CLASS_ROUNDING,                                                                             \
    "Attention without a mask, " HOW ", is one operator.",                                         \
    HEAD ("23") SIGNATURE EXAMPLE X_END,                                                           \
    when_standard,                                                                                 \
    PREPARE },                                                                                     \
      { "fuse-late-attention-" ID,                                                                 \
        ATTENTION (SCORES),                                                                        \
        "(irscope.Attention{scale=?scale} ?q (Transpose{perm=?perm} ?k) ?v)",                      \
        IR_CLASS_ROUNDING,                                                                         \
        "Attention without a mask, " HOW ", is one operator of irscope before opset 23.",          \
        HEAD ("17") SIGNATURE EXAMPLE X_END,                                                       \
        when_late,                                                                                 \
        PREPARE },                                                                                 \
      { "fuse-masked-attention-" ID,                                                               \
        MASKED (SCORES),                                                                           \
        "(Attention{scale=?scale} ?q (Transpose{perm=?perm} ?k) ?v ?m)",                           \
        IR_CLASS_ROUNDING,                                                                         \
        "Attention with a mask that is added, " HOW ", is one operator.",                          \
        HEAD ("23") SIGNATURE EXAMPLE X_MASK,                                                      \
        when_standard_masked,                                                                      \
        PREPARE },                                                                                 \
  {                                                                                                \
    "fuse-late-masked-attention-" ID, MASKED (SCORES),                                             \
        "(irscope.MaskedAttention{scale=?scale} ?q (Transpose{perm=?perm} ?k) ?v ?m)",             \
        IR_CLASS_ROUNDING,                                                                         \
        "Attention with a mask that is added, " HOW                                                \
        ", is one operator of irscope before opset 23.",                                           \
        HEAD ("17") SIGNATURE EXAMPLE X_MASK, when_late_masked, PREPARE                            \
  }

static const IrRule rules[] = {
  VARIANT ("mul", MUL, X_MUL, prepare_mul, "scaled by Mul"),
  VARIANT ("div", DIV, X_DIV, prepare_div, "scaled by Div"),
  VARIANT ("both", BOTH, X_BOTH, prepare_both, "scaled on both sides"),
  VARIANT ("plain", PLAIN, X_PLAIN, prepare_none, "not scaled"),
  { NULL },
};

const IrPass ir_pass_fuse_attention = {
  .name = "fuse-attention",
  .title = "Fuse attention",
  .doc = "Products of queries and keys, their factor, a mask, Softmax and the product with the "
         "values become Attention: the standard operator if the opset has it, else irscope's.",
  .source = "ONNX Runtime AttentionFusion; PyTorch Inductor; Vaswani and others 2017",
  .step_class = IR_CLASS_ROUNDING,
  .needs = "shapes",
  .breaks = "schedule memplan",
  .before_after = "q, k -> MatMul -> Mul -> Add m -> Softmax -> MatMul v -> y\n"
                  "q, k, v, m -> Attention -> y",
  .rules = rules,
};
