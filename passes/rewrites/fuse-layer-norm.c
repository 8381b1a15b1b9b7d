/* LayerNormalization and RMSNormalization that an exporter spelled out:
 *
 *     d = x - mean (x)                                   y = LayerNormalization (x, g, b)
 *     y = d / sqrt (mean (d * d) + e) * g + b
 *     y = x / sqrt (mean (x * x) + e) * g                y = RMSNormalization (x, g)
 *
 * Over the last axis, with e inside of the root. The standard operator where the model's opset has
 * it (17, 23), else irscope's own, whose body is written into the file. The kernels sum in double,
 * the chain rounds each step: rounding. Source: ONNX Runtime LayerNormFusion,
 * SimplifiedLayerNormFusion; Ba, Kiros, Hinton 2016; Zhang, Sennrich 2019. */
#include "config.h"

#include "passes/rewrites/norm-match.h"

static gboolean
means_fit (IrMatch *match)
{
  return ir_match_last_axis_mean (match, "m") && ir_match_last_axis_mean (match, "v") &&
         ir_match_scales_last_axis (match, "g", "x");
}

/* The standard operators take their epsilon, and by default their statistics, in single precision.
 */
static gboolean
is_not_double (IrMatch *match)
{
  if (ir_value_dtype (ir_match_value (match, "x")) == IR_DTYPE_DOUBLE)
    return ir_match_fail (match, "in double precision the operator would lose digits");
  return TRUE;
}

static gboolean
when_layer_norm (IrMatch *match)
{
  return means_fit (match) && ir_match_opset_between (match, 17, 0) && is_not_double (match);
}

static gboolean
when_late_layer_norm (IrMatch *match)
{
  return means_fit (match) && ir_match_scales_last_axis (match, "b", "x") &&
         ir_match_opset_between (match, 13, 17) && ir_match_is_float32 (match);
}

static gboolean
when_rms_norm (IrMatch *match)
{
  return ir_match_last_axis_mean (match, "v") && ir_match_scales_last_axis (match, "g", "x") &&
         ir_match_opset_between (match, 23, 0) && is_not_double (match);
}

static gboolean
adds_row (const IrNode *node, const IrValue *to)
{
  const IrValue *row = node == NULL || !ir_op_is (node, IR_OP_ADD) ? NULL
                       : node->inputs[0] == to                     ? node->inputs[1]
                                                                   : node->inputs[0];

  return row != NULL && ir_value_rank (row) == 1;
}

/* What lies between d = x - mean (x) and + b is LayerNormalization, which wants both; before opset
 * 17 there is none without a bias. */
static gboolean
is_no_layer_norm (IrMatch *match)
{
  const IrValue *x = ir_match_value (match, "x"), *y = ir_match_root (match)->outputs[0];
  const IrNode *sub = x->producer;
  const IrNode *mean = sub != NULL && ir_op_is (sub, IR_OP_SUB) && sub->inputs[1] != NULL
                           ? sub->inputs[1]->producer
                           : NULL;

  if (ir_node_opset (ir_match_root (match)) < 17 && mean != NULL &&
      ir_op_is (mean, IR_OP_REDUCE_MEAN) && mean->inputs[0] == sub->inputs[0] && y->n_uses == 1 &&
      adds_row (ir_value_use (y, 0).node, y))
    return ir_match_fail (match, "%s is centred and a bias follows: LayerNormalization", x->name);
  return TRUE;
}

static gboolean
when_late_rms_norm (IrMatch *match)
{
  return is_no_layer_norm (match) && ir_match_last_axis_mean (match, "v") &&
         ir_match_scales_last_axis (match, "g", "x") && ir_match_opset_between (match, 13, 23) &&
         ir_match_is_float32 (match);
}

static gboolean
when_bias (IrMatch *match)
{
  return ir_match_scales_last_axis (match, "b", "x");
}

static gboolean
prepare_epsilon (IrMatch *match)
{
  ir_match_bind_scalar_attr (match, "e", "epsilon");
  return TRUE;
}

#define CENTRED              "(Sub@d ?x (ReduceMean@m ?x ?*ma))"
#define VARIANCE_POW         "(ReduceMean@v (Pow @d 2) ?*va)"
#define VARIANCE_MUL         "(ReduceMean@v (Mul @d @d) ?*va)"
#define VARIANCE_TWICE       "(ReduceMean@v (Pow (Sub ?x @m) 2) ?*va)"
#define NORMALIZED(VARIANCE) "(Mul (Div " CENTRED " (Sqrt (Add " VARIANCE " ?e:scalar))) ?g)"
#define SQUARE_POW           "(ReduceMean@v (Pow ?x 2) ?*va)"
#define SQUARE_MUL           "(ReduceMean@v (Mul ?x ?x) ?*va)"
#define ROOT(SQUARE)         "(Sqrt (Add " SQUARE " ?e:scalar))"

#define HEAD_17 "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1]>\ng "
#define HEAD_13 "<ir_version: 8, opset_import: [\"\" : 13, \"irscope\" : 1]>\ng "
#define HEAD_23 "<ir_version: 10, opset_import: [\"\" : 23, \"irscope\" : 1]>\ng "
#define CHAIN(SQUARE)                                                                              \
  "(float[n,6] x, float[6] G, float[6] B) => (float[n,6] y) { "                                    \
  "m = ReduceMean <axes: ints = [-1]> (x)  d = Sub (x, m)  " SQUARE                                \
  "v = ReduceMean <axes: ints = [1]> (s)  e = Constant <value = float {0.001}> ()  "               \
  "a = Add (v, e)  r = Sqrt (a)  q = Div (d, r)  z = Mul (q, G)  "
#define TWO    "two = Constant <value = float {2.0}> ()  "
#define POW    TWO "s = Pow (d, two)  "
#define MUL    "s = Mul (d, d)  "
#define TWICE  TWO "d2 = Sub (x, m)  s = Pow (d2, two)  "
#define PLAIN  "y = Neg (z) }"
#define BIASED "y = Add (z, B) }"
#define RMS_17(SQUARE, END)                                                                        \
  "(float[n,6] x, float[6] G) => (float[n,6] y) { " SQUARE                                         \
  "v = ReduceMean <axes: ints = [-1]> (s)  e = Constant <value = float {0.001}> ()  "              \
  "one = Constant <value = float {1.0}> ()  a = Add (v, e)  r = Sqrt (a)  " END " }"
#define RMS_23(SQUARE, END)                                                                        \
  HEAD_23 "(float[n,6] x, float[6] G) => (float[n,6] y) { "                                        \
          "last = Constant <value = int64[1] {-1}> ()  " SQUARE                                    \
          "v = ReduceMean (s, last)  e = Constant <value = float {0.001}> ()  "                    \
          "one = Constant <value = float {1.0}> ()  a = Add (v, e)  r = Sqrt (a)  " END " }"
#define X_POW         TWO "s = Pow (x, two)  "
#define X_MUL         "s = Mul (x, x)  "
#define BY_DIV        "q = Div (x, r)  y = Mul (q, G)"
#define BY_INV        "i = Div (one, r)  q = Mul (x, i)  y = Mul (G, q)"
#define BY_RECIPROCAL "i = Reciprocal (r)  q = Mul (x, i)  y = Mul (G, q)"

/* clang-format off */
#define LAYER_NORM(ID, VARIANCE, SQUARE, HOW) \
  { "fuse-layer-norm-" ID, NORMALIZED (VARIANCE), "(LayerNormalization{epsilon=?epsilon} ?x ?g)", \
    IR_CLASS_ROUNDING, "A normalization over the last axis, " HOW ", is LayerNormalization.", \
    CHAIN (SQUARE) PLAIN, when_layer_norm, prepare_epsilon }, \
  { "fuse-late-layer-norm-" ID, "(Add " NORMALIZED (VARIANCE) " ?b)", \
    "(irscope.LayerNormalization{epsilon=?epsilon} ?x ?g ?b)", IR_CLASS_ROUNDING, \
    "A normalization over the last axis, " HOW ", is one operator of irscope before opset 17.", \
    HEAD_13 CHAIN (SQUARE) BIASED, when_late_layer_norm, prepare_epsilon }
#define RMS_NORM(ID, PATTERN, SQUARE, END, HOW) \
  { "fuse-rms-norm-" ID, PATTERN, "(RMSNormalization{epsilon=?epsilon} ?x ?g)", IR_CLASS_ROUNDING, \
    "A division by the root mean square of the last axis, " HOW ", is RMSNormalization.", \
    RMS_23 (SQUARE, END), when_rms_norm, prepare_epsilon }, \
  { "fuse-late-rms-norm-" ID, PATTERN, "(irscope.RMSNormalization{epsilon=?epsilon} ?x ?g)", \
    IR_CLASS_ROUNDING, \
    "A division by the root mean square of the last axis, " HOW ", is one operator of irscope before opset 23.", \
    RMS_17 (SQUARE, END), when_late_rms_norm, prepare_epsilon }
/* clang-format on */

static const IrRule rules[] = {
  LAYER_NORM ("pow", VARIANCE_POW, POW, "with Pow"),
  LAYER_NORM ("mul", VARIANCE_MUL, MUL, "with Mul"),
  LAYER_NORM ("twice", VARIANCE_TWICE, TWICE, "centred twice"),
  { "add-layer-norm-bias", "(Add (LayerNormalization@n ?x ?g) ?b)",
    "(LayerNormalization{@n} ?x ?g ?b)", IR_CLASS_ROUNDING,
    "What is added along the last axis is the bias of LayerNormalization.",
    "(float[n,6] x, float[6] G, float[6] B) => (float[n,6] y) { z = LayerNormalization (x, G)  y = "
    "Add (z, B) }",
    when_bias },
  RMS_NORM ("div", "(Mul (Div ?x " ROOT (SQUARE_POW) ") ?g)", X_POW, BY_DIV, "by Div"),
  RMS_NORM ("div-mul", "(Mul (Div ?x " ROOT (SQUARE_MUL) ") ?g)", X_MUL, BY_DIV, "by Div and Mul"),
  RMS_NORM (
      "inverse", "(Mul (Mul ?x (Div 1 " ROOT (SQUARE_POW) ")) ?g)", X_POW, BY_INV, "by 1 / root"),
  RMS_NORM ("inverse-mul",
            "(Mul (Mul ?x (Div 1 " ROOT (SQUARE_MUL) ")) ?g)",
            X_MUL,
            BY_INV,
            "by 1 / root and Mul"),
  RMS_NORM ("reciprocal",
            "(Mul (Mul ?x (Reciprocal " ROOT (SQUARE_POW) ")) ?g)",
            X_POW,
            BY_RECIPROCAL,
            "by Reciprocal"),
  RMS_NORM ("reciprocal-mul",
            "(Mul (Mul ?x (Reciprocal " ROOT (SQUARE_MUL) ")) ?g)",
            X_MUL,
            BY_RECIPROCAL,
            "by Reciprocal and Mul"),
  { NULL },
};

const IrPass ir_pass_fuse_layer_norm = {
  .name = "fuse-layer-norm",
  .title = "Fuse normalizations",
  .doc = "LayerNormalization and RMSNormalization over the last axis, spelled out by an exporter, "
         "become one operator: the standard one if the opset has it, else one of irscope.",
  .source = "ONNX Runtime LayerNormFusion, SimplifiedLayerNormFusion",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add -> y\n"
                  "x -> LayerNormalization -> y",
  .rules = rules,
};
