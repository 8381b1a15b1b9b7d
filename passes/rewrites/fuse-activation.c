/* An activation behind a convolution or matrix product becomes part of it:
 *
 *     x --Conv--> c --Relu--> y            x --ConvRelu--> y
 *
 * One operator per pair, named after what it computes (core/op/fused.def). What the base operator
 * gives is rounded before the activation sees it, so Relu, LeakyRelu and Clip are exact; kernels
 * may compute the others, and their transcendental parts, in another way. Source: ONNX Runtime
 * ConvActivationFusion, GemmActivationFusion, GeluFusion; oneDNN eltwise post-operation. */
#include "config.h"

#include "passes/rule/rule.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* -- Clip: bounds may be attributes, inputs, or absent -- */

static gboolean
when_clip (IrMatch *match)
{
  const IrNode *clip = ir_match_root (match);

  for (guint i = 1; i < clip->n_inputs; i++)
    if (clip->inputs[i] != NULL)
      {
        const IrTensor *bound = ir_value_constant (clip->inputs[i]);
        if (bound == NULL || ir_tensor_n_elements (bound) != 1)
          return ir_match_fail (match, "the bound %s is not a constant scalar",
                                clip->inputs[i]->name);
      }
  if (!ir_dtype_is_float (ir_value_dtype (clip->outputs[0])))
    return ir_match_fail (match, "only floating-point values are limited in a fused operator");
  return TRUE;
}

static gboolean when_gemm (IrMatch *match);

static gboolean
when_gemm_clip (IrMatch *match)
{
  return when_gemm (match) && when_clip (match);
}

static void
bind_bound (IrMatch *match, guint slot, const char *attr, const char *variable, double fallback)
{
  const IrNode *clip = ir_match_root (match);
  IrValue *value = ir_node_input (clip, slot);
  double bound = fallback;

  if (value != NULL && ir_value_rank (value) == 0)
    {
      ir_match_bind_value (match, variable, value);
      return;
    }
  if (value != NULL)
    bound = ir_tensor_get_double (ir_value_constant (value), 0);
  else if (ir_node_attr (clip, attr) != NULL)
    bound = ir_node_attr_float (clip, attr, fallback);
  ir_match_bind_tensor (match, variable, attr,
                        ir_tensor_new_scalar (ir_value_dtype (clip->outputs[0]), bound));
}

static gboolean
prepare_clip (IrMatch *match)
{
  /* An absent bound limits nothing; infinities pass Min and Max as they are. */
  bind_bound (match, 1, "min", "lo", -INFINITY);
  bind_bound (match, 2, "max", "hi", INFINITY);
  return TRUE;
}

/* Before opset 7 an attribute of Gemm says whether C broadcasts; the fused operators know none. */
static gboolean
when_gemm (IrMatch *match)
{
  const IrNode *base = ir_match_node (match, "base");

  if (ir_node_opset (base) < 7)
    return ir_match_fail (match, "Gemm of this opset broadcasts by an attribute");
  if (!ir_dtype_is_float (ir_value_dtype (base->outputs[0])))
    return ir_match_fail (match, "the fused operators are for floating-point values only");
  return TRUE;
}

/* Of any base: a convolution has nothing else. */
static gboolean
when_floating (IrMatch *match)
{
  return !ir_op_is (ir_match_node (match, "base"), IR_OP_GEMM) || when_gemm (match);
}

/* -- Gelu -- */

/* Whether all that is constant in x (1 + erf (x / r)) / 2 is what Gelu says, to float's precision.
 */
static gboolean
when_gelu (IrMatch *match)
{
  const IrTensor *r = ir_match_constant (match, "r");

  if (ir_value_dtype (ir_match_root (match)->outputs[0]) != IR_DTYPE_FLOAT)
    return ir_match_fail (match, "the fused operator is for float only");
  if (!when_floating (match))
    return FALSE;
  if (fabs (ir_tensor_get_double (r, 0) - G_SQRT2) > 4 * FLT_EPSILON)
    return ir_match_fail (match, "the divisor is %.9g, not the square root of 2",
                          ir_tensor_get_double (r, 0));
  return TRUE;
}

static gboolean
when_late_gelu (IrMatch *match)
{
  if (ir_value_dtype (ir_match_root (match)->outputs[0]) != IR_DTYPE_FLOAT)
    return ir_match_fail (match, "the fused operator is for float only");
  return when_floating (match);
}

static gboolean
when_standard_gelu (IrMatch *match)
{
  const char *approximate = ir_node_attr_string (ir_match_root (match), "approximate", "none");

  if (strcmp (approximate, "none") != 0)
    return ir_match_fail (match, "approximate is %s, the fused operator is exact", approximate);
  return when_late_gelu (match);
}

static gboolean
when_standard_tanh (IrMatch *match)
{
  const char *approximate = ir_node_attr_string (ir_match_root (match), "approximate", "none");

  if (strcmp (approximate, "tanh") != 0)
    return ir_match_fail (match, "approximate is %s, the fused operator takes tanh", approximate);
  return when_late_gelu (match);
}

/* -- Swish -- */

static gboolean
when_silu (IrMatch *match)
{
  float alpha = ir_node_attr_float (ir_match_root (match), "alpha", 1);

  if (alpha != 1)
    return ir_match_fail (match, "alpha is %g, the fused operator has 1", alpha);
  return TRUE;
}

#define HEAD_24 "<ir_version: 10, opset_import: [\"\" : 24, \"irscope\" : 1]>\ng "
#define HEAD_20 "<ir_version: 10, opset_import: [\"\" : 20, \"irscope\" : 1]>\ng "

/* Constants in the body, as the sixth of HardSwish, are floats. */
static gboolean
when_no_double (IrMatch *match)
{
  if (ir_value_dtype (ir_match_root (match)->outputs[0]) == IR_DTYPE_DOUBLE)
    return ir_match_fail (match, "the fused operator has its constants in single precision");
  return when_floating (match);
}

/* -- HardSwish, spelled out -- */

static gboolean
bound_is (const IrNode *clip, guint slot, const char *attr, double wanted)
{
  const IrValue *value = ir_node_input (clip, slot);
  const IrTensor *bound = value != NULL ? ir_value_constant (value) : NULL;

  if (value == NULL)
    return ir_node_attr_float (clip, attr, NAN) == wanted;
  return bound != NULL && ir_tensor_n_elements (bound) == 1 &&
         ir_tensor_get_double (bound, 0) == wanted;
}

static gboolean
when_hard_swish (IrMatch *match)
{
  const IrNode *clip = ir_match_node (match, "clip");

  if (!bound_is (clip, 1, "min", 0) || !bound_is (clip, 2, "max", 6))
    return ir_match_fail (match, "Clip does not limit to 0 and 6");
  return when_no_double (match);
}

static gboolean
when_hard_swish_mul (IrMatch *match)
{
  double factor = ir_tensor_get_double (ir_match_constant (match, "s"), 0);

  if (fabs (factor * 6 - 1) > 1e-5)
    return ir_match_fail (match, "the factor is %.9g, not a sixth", factor);
  return when_hard_swish (match);
}

#define CONV    "(Conv@base ?x ?w ?b?)"
#define ADDED   "(irscope.ConvAdd@base ?x ?w ?b? ?z)"
#define GEMM    "(Gemm@base ?x ?w ?b?)"
#define STACKED "(irscope.MatMulAdd@base ?x ?w ?b)"

#define CONV_EXAMPLE(ACT)                                                                          \
  "(float[n,3,5,4] x, float[4,3,3,3] W, float[4] B) => (float[n,4,3,2] y) "                        \
  "{ c = Conv (x, W, B)  " ACT " }"
#define ADDED_EXAMPLE(ACT)                                                                         \
  "(float[n,3,5,4] x, float[n,4,3,2] z, float[4,3,3,3] W, float[4] B) => (float[n,4,3,2] y) "      \
  "{ c = irscope.ConvAdd (x, W, B, z)  " ACT " }"
#define GEMM_EXAMPLE(ACT)                                                                          \
  "(float[n,5] x, float[5,4] W, float[4] B) => (float[n,4] y) { c = Gemm (x, W, B)  " ACT " }"
#define STACKED_EXAMPLE(ACT)                                                                       \
  "(float[n,3,5] x, float[5,4] W, float[4] B) => (float[n,3,4] y) "                                \
  "{ c = irscope.MatMulAdd (x, W, B)  " ACT " }"

#define CLIP_ACT                                                                                   \
  "lo = Constant <value = float {0.0}> ()  hi = Constant <value = float {0.5}> ()  y = Clip (c, "  \
  "lo, hi)"
#define GELU_ACT                                                                                   \
  "r = Constant <value = float {1.4142135}> ()  one = Constant <value = float {1.0}> ()  "         \
  "half = Constant <value = float {0.5}> ()  d = Div (c, r)  e = Erf (d)  f = Add (e, one)  "      \
  "g = Mul (c, f)  y = Mul (g, half)"
#define GELU_ACT_2                                                                                 \
  "r = Constant <value = float {1.4142135}> ()  one = Constant <value = float {1.0}> ()  "         \
  "half = Constant <value = float {0.5}> ()  d = Div (c, r)  e = Erf (d)  f = Add (e, one)  "      \
  "g = Mul (c, half)  y = Mul (g, f)"

/* x times x + 3 limited to 0 .. 6, and what divides by 6. */
#define GATE "(Clip@clip (Add @base 3) ?*bounds)"
#define GATE_ACT                                                                                   \
  "three = Constant <value = float {3.0}> ()  lo = Constant <value = float {0.0}> ()  "            \
  "six = Constant <value = float {6.0}> ()  a = Add (c, three)  g = Clip (a, lo, six)  "
/* clang-format off */
#define HARD_SWISH(ID, BASE, REPLACEMENT, EXAMPLE, WHAT) \
  { "fuse-" ID "-hard-swish-div", "(Div (Mul " BASE " " GATE ") 6)", REPLACEMENT, \
    IR_CLASS_ROUNDING, \
    "HardSwish of " WHAT ", spelled out with a quotient at the end, is one operator.", \
    EXAMPLE (GATE_ACT "m = Mul (c, g)  y = Div (m, six)"), when_hard_swish }, \
  { "fuse-" ID "-hard-swish-mul", "(Mul (Mul " BASE " " GATE ") ?s:scalar)", REPLACEMENT, \
    IR_CLASS_ROUNDING, \
    "HardSwish of " WHAT ", spelled out with a factor at the end, is one operator.", \
    EXAMPLE (GATE_ACT "s = Constant <value = float {0.16666667}> ()  m = Mul (g, c)  y = Mul (m, s)"), \
    when_hard_swish_mul }, \
  { "fuse-" ID "-hard-swish-gate", "(Mul " BASE " (Div " GATE " 6))", REPLACEMENT, \
    IR_CLASS_ROUNDING, \
    "HardSwish of " WHAT ", spelled out with the gate divided first, is one operator.", \
    EXAMPLE (GATE_ACT "d = Div (g, six)  y = Mul (c, d)"), when_hard_swish }

/* Rows of the activations of core/op/activations.def that are one operator of ONNX without
 * parameters, by base. */
#define CONV_OPERATOR(OP, ID, CLASS, WHEN) \
  { "fuse-conv-" ID, "(" OP " " CONV ")", "(irscope.Conv" OP "{@base} ?x ?w ?b)", CLASS, \
    OP " of a convolution is one operator.", CONV_EXAMPLE ("y = " OP " (c)"), WHEN }, \
  { "fuse-conv-add-" ID, "(" OP " " ADDED ")", "(irscope.ConvAdd" OP "{@base} ?x ?w ?b ?z)", \
    CLASS, OP " of a convolution with residual is one operator.", \
    ADDED_EXAMPLE ("y = " OP " (c)"), WHEN },
#define GEMM_OPERATOR(OP, ID, CLASS, WHEN) \
  { "fuse-gemm-" ID, "(" OP " " GEMM ")", "(irscope.Gemm" OP "{@base} ?x ?w ?b)", CLASS, \
    OP " of a Gemm is one operator.", GEMM_EXAMPLE ("y = " OP " (c)"), WHEN },
#define MATMUL_OPERATOR(OP, ID, CLASS, WHEN) \
  { "fuse-matmul-add-" ID, "(" OP " " STACKED ")", "(irscope.MatMulAdd" OP "{@base} ?x ?w ?b)", \
    CLASS, OP " of a stacked matrix product with bias is one operator.", \
    STACKED_EXAMPLE ("y = " OP " (c)"), WHEN },
#define NO_OPERATOR(OP, ID, CLASS, WHEN)
#define CONV_OWN_RULES
#define GEMM_OWN_RULES
#define MATMUL_OWN_RULES
#define NO_OWN_RULES
#define GELU(ID, PATTERN_1, PATTERN_2, REPLACEMENT, EXAMPLE_1, EXAMPLE_2, DOC) \
  { "fuse-" ID "-gelu", PATTERN_1, REPLACEMENT, IR_CLASS_ROUNDING, DOC, EXAMPLE_1, when_gelu }, \
  { "fuse-" ID "-gelu-2", PATTERN_2, REPLACEMENT, IR_CLASS_ROUNDING, \
    DOC " Here the half is taken first.", EXAMPLE_2, when_gelu }

#define FUSED_SILU(ID, BASE, REPLACEMENT, EXAMPLE, WHAT) \
  { "fuse-" ID "-standard-silu", "(Swish " BASE ")", REPLACEMENT, IR_CLASS_ROUNDING, \
    "Swish of " WHAT " is one operator, if it is a SiLU.", HEAD_24 EXAMPLE ("y = Swish (c)"), \
    when_silu }, \
  { "fuse-" ID "-late-silu", "(irscope.Swish " BASE ")", REPLACEMENT, IR_CLASS_ROUNDING, \
    "irscope's Swish of " WHAT " is one operator, if it is a SiLU.", \
    EXAMPLE ("y = irscope.Swish (c)"), when_silu }
#define FUSED_GELU(ID, BASE, REPLACEMENT, EXAMPLE, WHAT) \
  { "fuse-" ID "-standard-gelu", "(Gelu " BASE ")", REPLACEMENT, IR_CLASS_ROUNDING, \
    "Gelu of " WHAT " is one operator.", HEAD_20 EXAMPLE ("y = Gelu (c)"), when_standard_gelu }, \
  { "fuse-" ID "-late-gelu", "(irscope.Gelu " BASE ")", REPLACEMENT, IR_CLASS_ROUNDING, \
    "irscope's Gelu of " WHAT " is one operator.", EXAMPLE ("y = irscope.Gelu (c)"), \
    when_late_gelu }

#define FUSED_GELU_TANH(ID, BASE, REPLACEMENT, EXAMPLE, WHAT) \
  { "fuse-" ID "-standard-gelu-tanh", "(Gelu " BASE ")", REPLACEMENT, IR_CLASS_ROUNDING, \
    "The approximation of Gelu with Tanh of " WHAT " is one operator.", \
    HEAD_20 EXAMPLE ("y = Gelu <approximate: string = \"tanh\"> (c)"), when_standard_tanh }, \
  { "fuse-" ID "-late-gelu-tanh", "(irscope.GeluTanh " BASE ")", REPLACEMENT, IR_CLASS_ROUNDING, \
    "irscope's GeluTanh of " WHAT " is one operator.", EXAMPLE ("y = irscope.GeluTanh (c)"), \
    when_late_gelu }
/* clang-format on */

static const IrRule rules[] = {
/* clang-format off */
#define IR_ACTIVATION(ID, NAME, ON_CONV, ON_GEMM, ON_MATMUL, WITH, FLAGS, DOC, BODY, RULE) \
  ON_CONV##_##RULE
#include "core/op/activations.def"
  /* clang-format on */
  HARD_SWISH (
      "conv", CONV, "(irscope.ConvHardSwish{@base} ?x ?w ?b)", CONV_EXAMPLE, "a convolution"),
  HARD_SWISH ("conv-add",
              ADDED,
              "(irscope.ConvAddHardSwish{@base} ?x ?w ?b ?z)",
              ADDED_EXAMPLE,
              "a convolution with residual"),
  { "fuse-conv-leaky-relu", "(LeakyRelu{alpha=?alpha} " CONV ")",
    "(irscope.ConvLeakyRelu{@base,activation_alpha=?alpha} ?x ?w ?b)", IR_CLASS_ROUNDING,
    "LeakyRelu of a convolution is one operator.",
    CONV_EXAMPLE ("y = LeakyRelu <alpha: float = 0.1> (c)") },
  { "fuse-conv-add-leaky-relu", "(LeakyRelu{alpha=?alpha} " ADDED ")",
    "(irscope.ConvAddLeakyRelu{@base,activation_alpha=?alpha} ?x ?w ?b ?z)", IR_CLASS_ROUNDING,
    "LeakyRelu of a convolution with residual is one operator.",
    ADDED_EXAMPLE ("y = LeakyRelu <alpha: float = 0.1> (c)") },
  { "fuse-gemm-leaky-relu", "(LeakyRelu{alpha=?alpha} " GEMM ")",
    "(irscope.GemmLeakyRelu{@base,activation_alpha=?alpha} ?x ?w ?b)", IR_CLASS_ROUNDING,
    "LeakyRelu of a Gemm is one operator.", GEMM_EXAMPLE ("y = LeakyRelu <alpha: float = 0.1> (c)"),
    when_gemm },
  { "fuse-conv-clip", "(Clip " CONV " ?*bounds)", "(irscope.ConvClip{@base} ?x ?w ?b ?lo ?hi)",
    IR_CLASS_EXACT, "A convolution limited by constants is one operator.", CONV_EXAMPLE (CLIP_ACT),
    when_clip, prepare_clip },
  { "fuse-conv-add-clip", "(Clip " ADDED " ?*bounds)",
    "(irscope.ConvAddClip{@base} ?x ?w ?b ?z ?lo ?hi)", IR_CLASS_EXACT,
    "A convolution with residual limited by constants is one operator.", ADDED_EXAMPLE (CLIP_ACT),
    when_clip, prepare_clip },
  { "fuse-gemm-clip", "(Clip " GEMM " ?*bounds)", "(irscope.GemmClip{@base} ?x ?w ?b ?lo ?hi)",
    IR_CLASS_EXACT, "A Gemm limited by constants is one operator.", GEMM_EXAMPLE (CLIP_ACT),
    when_gemm_clip, prepare_clip },
/* clang-format off */
#define IR_ACTIVATION(ID, NAME, ON_CONV, ON_GEMM, ON_MATMUL, WITH, FLAGS, DOC, BODY, RULE) \
  ON_GEMM##_##RULE ON_MATMUL##_##RULE
#include "core/op/activations.def"
  /* clang-format on */
  { "fuse-conv-silu", "(Mul " CONV " (Sigmoid @base))", "(irscope.ConvSilu{@base} ?x ?w ?b)",
    IR_CLASS_ROUNDING, "A convolution times its own Sigmoid is one operator.",
    CONV_EXAMPLE ("s = Sigmoid (c)  y = Mul (s, c)") },
  { "fuse-conv-add-silu", "(Mul " ADDED " (Sigmoid @base))",
    "(irscope.ConvAddSilu{@base} ?x ?w ?b ?z)", IR_CLASS_ROUNDING,
    "A convolution with residual times its own Sigmoid is one operator.",
    ADDED_EXAMPLE ("s = Sigmoid (c)  y = Mul (c, s)") },
  FUSED_SILU ("conv", CONV, "(irscope.ConvSilu{@base} ?x ?w ?b)", CONV_EXAMPLE, "a convolution"),
  FUSED_SILU ("conv-add",
              ADDED,
              "(irscope.ConvAddSilu{@base} ?x ?w ?b ?z)",
              ADDED_EXAMPLE,
              "a convolution with residual"),
  GELU ("gemm",
        "(Mul (Mul " GEMM " (Add (Erf (Div @base ?r:scalar)) 1)) 0.5)",
        "(Mul (Mul " GEMM " 0.5) (Add (Erf (Div @base ?r:scalar)) 1))",
        "(irscope.GemmGelu{@base} ?x ?w ?b)",
        GEMM_EXAMPLE (GELU_ACT),
        GEMM_EXAMPLE (GELU_ACT_2),
        "Gelu of a Gemm, spelled out with Erf, is one operator."),
  GELU ("matmul-add",
        "(Mul (Mul " STACKED " (Add (Erf (Div @base ?r:scalar)) 1)) 0.5)",
        "(Mul (Mul " STACKED " 0.5) (Add (Erf (Div @base ?r:scalar)) 1))",
        "(irscope.MatMulAddGelu{@base} ?x ?w ?b)",
        STACKED_EXAMPLE (GELU_ACT),
        STACKED_EXAMPLE (GELU_ACT_2),
        "Gelu of a stacked matrix product with bias, spelled out with Erf, is one operator."),
  FUSED_GELU ("gemm", GEMM, "(irscope.GemmGelu{@base} ?x ?w ?b)", GEMM_EXAMPLE, "a Gemm"),
  FUSED_GELU ("matmul-add",
              STACKED,
              "(irscope.MatMulAddGelu{@base} ?x ?w ?b)",
              STACKED_EXAMPLE,
              "a stacked matrix product with bias"),
  FUSED_GELU_TANH ("gemm", GEMM, "(irscope.GemmGeluTanh{@base} ?x ?w ?b)", GEMM_EXAMPLE, "a Gemm"),
  FUSED_GELU_TANH ("matmul-add",
                   STACKED,
                   "(irscope.MatMulAddGeluTanh{@base} ?x ?w ?b)",
                   STACKED_EXAMPLE,
                   "a stacked matrix product with bias"),
  { NULL },
};

const IrPass ir_pass_fuse_activation = {
  .name = "fuse-activation",
  .title = "Fuse activations into Conv and matrix products",
  .doc = "An activation that alone reads a convolution, a Gemm or a stacked matrix product becomes "
         "part of it: one operator of the domain irscope, whose meaning is an ONNX function.",
  .source = "ONNX Runtime ConvActivationFusion, GemmActivationFusion, GeluFusion; oneDNN eltwise "
            "post-operation",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Conv -> Relu -> y\nx -> ConvRelu -> y",
  .rules = rules,
};
