/* Padding by zeros becomes part of what reads it:
 *
 *     x --Pad p--> --Conv--> y                 x --Conv{pads + p}--> y
 *     x --Pad p--> --AveragePool--> y          x --AveragePool{pads + p}--> y
 *
 * Constant mode with value 0, no negative pads, none along batch and channels. AveragePool must
 * count what it pads (count_include_pad) or have no pads of its own to be told apart, and must not
 * round up; MaxPool pads with the lowest value, not with 0. Source: ONNX Runtime PadFusion;
 * onnx/optimizer fuse_pad_into_conv, fuse_pad_into_pool. */
#include "config.h"

#include "passes/rule.h"

#include <math.h>
#include <string.h>

/* The pads of a Pad, by an attribute (opset < 11) or a constant input; NULL if not known. */
static gint64 *
pads_of (const IrNode *pad, guint *n)
{
  const IrValue *input = ir_node_input (pad, 1);
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;
  const gint64 *attr;

  if (input == NULL)
    {
      attr = ir_node_attr_ints (pad, "pads", n);
      return attr != NULL ? g_memdup2 (attr, *n * sizeof *attr) : NULL;
    }
  if (tensor == NULL)
    return NULL;
  *n = (guint) ir_tensor_n_elements (tensor);
  gint64 *pads = g_new (gint64, MAX (*n, 1));
  for (guint i = 0; i < *n; i++)
    pads[i] = ir_tensor_get_int64 (tensor, i);
  return pads;
}

static gboolean
pads_with_zero (const IrNode *pad)
{
  const IrValue *input = ir_node_input (pad, 2);
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;

  if (strcmp (ir_node_attr_string (pad, "mode", "constant"), "constant") != 0)
    return FALSE;
  if (input != NULL)
    return tensor != NULL && ir_tensor_n_elements (tensor) == 1 &&
           ir_tensor_get_double (tensor, 0) == 0;
  return ir_node_attr_float (pad, "value", 0) == 0;
}

static gboolean
pads_fit (IrMatch *match)
{
  const IrNode *pad = ir_match_node (match, "pad"), *window = ir_match_root (match);
  int rank = ir_value_rank (pad->inputs[0]);
  guint n = 0;
  g_autofree gint64 *pads = pads_of (pad, &n);

  if (pads == NULL || rank < 3 || n != 2 * (guint) rank || ir_node_input (pad, 3) != NULL)
    return ir_match_fail (match, "the pads are not known for every axis");
  if (!pads_with_zero (pad))
    return ir_match_fail (match, "it does not pad with zeros");
  for (guint i = 0; i < n; i++)
    if (pads[i] < 0 || (i % (guint) rank < 2 && pads[i] != 0))
      return ir_match_fail (match, "a pad is negative, or along batch or channels");
  if (strcmp (ir_node_attr_string (window, "auto_pad", "NOTSET"), "NOTSET") != 0)
    return ir_match_fail (match, "the pads of %s depend on its input", window->op_type);
  return TRUE;
}

/* A zero of a Pad is multiplied, one that the window itself pads is left out: not the same where
 * the weight is infinite or NaN, nor for a sum that stays -0. */
static gboolean
when_conv (IrMatch *match)
{
  const IrTensor *w = ir_match_constant (match, "w"), *b = ir_match_constant (match, "b");

  if (w == NULL)
    return ir_match_fail (match, "the weights are not constant, so that they may not be finite");
  for (guint64 i = 0; i < ir_tensor_n_elements (w); i++)
    if (!isfinite (ir_tensor_get_double (w, i)))
      return ir_match_fail (match, "a weight is %g, times 0 is NaN", ir_tensor_get_double (w, i));
  if (b == NULL && ir_match_value (match, "b") != NULL)
    return ir_match_fail (match, "the bias is not constant, so that it may be -0");
  for (guint64 i = 0; b != NULL && i < ir_tensor_n_elements (b); i++)
    if (ir_tensor_get_double (b, i) == 0 && signbit (ir_tensor_get_double (b, i)))
      return ir_match_fail (match, "a bias is -0, plus 0 is 0");
  return pads_fit (match);
}

static gboolean
when_average (IrMatch *match)
{
  const IrNode *pool = ir_match_root (match);
  guint n = 0;
  const gint64 *own = ir_node_attr_ints (pool, "pads", &n);
  gboolean padded = FALSE;

  for (guint i = 0; i < n; i++)
    padded |= own[i] != 0;
  if (padded && ir_node_attr_int (pool, "count_include_pad", 0) == 0)
    return ir_match_fail (match, "AveragePool leaves its own pads out of the count");
  if (ir_node_attr_int (pool, "ceil_mode", 0) != 0)
    return ir_match_fail (match, "AveragePool rounds its size up");
  if (ir_node_opset (pool) < 7)
    return ir_match_fail (match, "AveragePool of this opset cannot count pads");
  return pads_fit (match);
}

static gboolean
prepare_pads (IrMatch *match)
{
  const IrNode *pad = ir_match_node (match, "pad"), *window = ir_match_root (match);
  IrContext *context = ir_match_context (match)->model->context;
  guint n = 0, n_own = 0, rank;
  g_autofree gint64 *pads = pads_of (pad, &n);
  const gint64 *own = ir_node_attr_ints (window, "pads", &n_own);
  gint64 sum[2 * IR_MAX_RANK] = { 0 };

  rank = n / 2;
  for (guint i = 0; i + 2 < rank; i++)
    for (guint end = 0; end < 2; end++)
      sum[end * (rank - 2) + i] = pads[end * rank + 2 + i] +
                                  (n_own > 0 ? own[end * (rank - 2) + i] : 0);
  ir_match_bind_attr (match, "pads", ir_attr_ints (context, "pads", sum, 2 * (rank - 2)));
  return TRUE;
}

static gboolean
prepare_counted_pads (IrMatch *match)
{
  IrContext *context = ir_match_context (match)->model->context;

  ir_match_bind_attr (match, "count", ir_attr_int (context, "count_include_pad", 1));
  return prepare_pads (match);
}

#define PADDED "p = Constant <value = int64[8] {0,0,1,0,0,0,2,1}> ()  q = Pad (x, p)  "

static const IrRule rules[] = {
  { "fold-pad-conv", "(Conv@conv (Pad@pad ?x ?*pads) ?w ?b?)", "(Conv{@conv,pads=?pads} ?x ?w ?b)",
    IR_CLASS_EXACT, "Padding by zeros is part of the convolution.",
    "(float[n,3,5,4] x, float[4,3,3,3] W, float[4] B) => (float[n,4,6,3] y) { " PADDED
    "y = Conv (q, W, B) }",
    when_conv, prepare_pads },
  { "fold-pad-average-pool", "(AveragePool@pool (Pad@pad ?x ?*pads))",
    "(AveragePool{@pool,pads=?pads,count_include_pad=?count} ?x)", IR_CLASS_EXACT,
    "Padding by zeros is part of an average that counts it.",
    "(float[n,3,5,4] x) => (float[n,3,7,4] y) { " PADDED
    "y = AveragePool <kernel_shape: ints = [2,2]> (q) }",
    when_average, prepare_counted_pads },
  { NULL },
};

const IrPass ir_pass_fold_pad = {
  .name = "fold-pad",
  .title = "Fold padding",
  .doc = "A Pad by zeros becomes part of the Conv or AveragePool that alone reads it.",
  .source = "ONNX Runtime PadFusion; onnx/optimizer fuse_pad_into_conv, fuse_pad_into_pool",
  .step_class = IR_CLASS_EXACT,
  .needs = "shapes",
  .breaks = "schedule memplan",
  .before_after = "x -> Pad -> Conv -> y\nx -> Conv -> y",
  .rules = rules,
};
