/* Gelu in its three forms, and Swish, that an exporter spelled out:
 *
 *     x / 2 * (1 + erf (x / sqrt (2)))                             Gelu (x)
 *     x / 2 * (1 + tanh (sqrt (2 / pi) * (x + 0.044715 x^3)))      Gelu{approximate=tanh} (x)
 *     x * sigmoid (a x)                                            Swish{alpha=a} (x)
 *
 * The products may stand in any order. The standard operator where the opset has it (20, 24), else
 * irscope's own. The third with a = 1.702 is called quick GELU; it is Swish. Source: Hendrycks,
 * Gimpel 2016; ONNX Runtime GeluFusion, FastGeluFusion, QuickGeluFusion. */
#include "config.h"

#include "passes/rewrites/norm-match.h"

#include <math.h>

/* Constants of exporters are rounded to float, some to fewer digits; in double such a constant is
 * another function, and the digits show it. */
#define NEAR        1e-5
#define NEAR_DOUBLE 1e-14

static gboolean
is_near (IrMatch *match, const char *variable, double wanted)
{
  const IrTensor *constant = ir_match_constant (match, variable);
  double found = ir_tensor_get_double (constant, 0);
  double near = ir_tensor_dtype (constant) == IR_DTYPE_DOUBLE ? NEAR_DOUBLE : NEAR;

  if (fabs (found - wanted) > near * fabs (wanted))
    return ir_match_fail (match, "the constant is %.9g, needed is %.9g", found, wanted);
  return TRUE;
}

static gboolean
when_erf (IrMatch *match)
{
  return is_near (match, "r", G_SQRT2) && ir_match_opset_between (match, 20, 0);
}

static gboolean
when_late_erf (IrMatch *match)
{
  return is_near (match, "r", G_SQRT2) && ir_match_opset_between (match, 13, 20) &&
         ir_match_is_float32 (match);
}

static gboolean
when_erf_mul (IrMatch *match)
{
  return is_near (match, "r", 1 / G_SQRT2) && ir_match_opset_between (match, 20, 0);
}

static gboolean
when_late_erf_mul (IrMatch *match)
{
  return is_near (match, "r", 1 / G_SQRT2) && ir_match_opset_between (match, 13, 20) &&
         ir_match_is_float32 (match);
}

static gboolean
tanh_constants_fit (IrMatch *match)
{
  return is_near (match, "r", sqrt (2 / G_PI)) && is_near (match, "c", 0.044715);
}

static gboolean
when_tanh (IrMatch *match)
{
  return tanh_constants_fit (match) && ir_match_opset_between (match, 20, 0);
}

static gboolean
when_late_tanh (IrMatch *match)
{
  return tanh_constants_fit (match) && ir_match_opset_between (match, 13, 20) &&
         ir_match_is_float32 (match);
}

static gboolean
prepare_tanh (IrMatch *match)
{
  IrContext *context = ir_match_context (match)->model->context;

  ir_match_bind_attr (match, "approximate", ir_attr_string (context, "approximate", "tanh", -1));
  return TRUE;
}

/* The attribute is in single precision; a constant in double may not be. */
static gboolean
when_swish (IrMatch *match)
{
  double alpha = ir_tensor_get_double (ir_match_constant (match, "a"), 0);

  if (!(alpha == (float) alpha))
    return ir_match_fail (match, "%.17g is no number in single precision", alpha);
  return ir_match_opset_between (match, 24, 0);
}

static gboolean
when_late_swish (IrMatch *match)
{
  return ir_match_opset_between (match, 13, 24) && ir_match_is_float32 (match);
}

static gboolean
prepare_alpha (IrMatch *match)
{
  ir_match_bind_scalar_attr (match, "a", "alpha");
  return TRUE;
}

/* Behind a convolution it becomes part of that: fuse-activation's. */
static gboolean
is_not_of_conv (IrMatch *match)
{
  const IrNode *node = ir_match_value (match, "x")->producer;

  if (node != NULL && g_str_has_prefix (node->op_type, "Conv"))
    return ir_match_fail (match, "it becomes part of the convolution before it");
  return TRUE;
}

static gboolean
when_silu (IrMatch *match)
{
  return is_not_of_conv (match) && ir_match_opset_between (match, 24, 0);
}

static gboolean
when_late_silu (IrMatch *match)
{
  return is_not_of_conv (match) && when_late_swish (match);
}

static gboolean
prepare_one (IrMatch *match)
{
  ir_match_bind_attr (match, "alpha",
                      ir_attr_float (ir_match_context (match)->model->context, "alpha", 1));
  return TRUE;
}

#define ERF        "(Add (Erf (Div ?x ?r:scalar)) 1)"
#define ERF_MUL    "(Add (Erf (Mul ?x ?r:scalar)) 1)"
#define CUBE       "(Pow ?x 3)"
#define CUBE_2     "(Mul (Mul ?x ?x) ?x)"
#define TANH(CUBE) "(Add (Tanh (Mul (Add ?x (Mul " CUBE " ?c:scalar)) ?r:scalar)) 1)"
/* x, a half and what is in brackets, in the three ways to multiply them. */
#define ORDER_1(T) "(Mul (Mul ?x " T ") 0.5)"
#define ORDER_2(T) "(Mul (Mul ?x 0.5) " T ")"
#define ORDER_3(T) "(Mul (Mul " T " 0.5) ?x)"

#define HEAD(OPSET)        "<ir_version: 10, opset_import: [\"\" : " OPSET ", \"irscope\" : 1]>\ng "
#define SIGNATURE          "(float[n,6] x) => (float[n,6] y) { "
#define FLOAT(NAME, VALUE) NAME " = Constant <value = float {" VALUE "}> ()  "
#define HALVES             FLOAT ("half", "0.5") FLOAT ("one", "1.0")
#define X_ERF              HALVES FLOAT ("r", "1.4142135") "d = Div (x, r)  e = Erf (d)  t = Add (e, one)  "
#define X_ERF_MUL          HALVES FLOAT ("r", "0.70710677") "d = Mul (x, r)  e = Erf (d)  t = Add (e, one)  "
#define X_REST                                                                                     \
  HALVES FLOAT ("r", "0.7978846") FLOAT (                                                          \
      "k",                                                                                         \
      "0.044715") "m = Mul (k, c)  a = Add (x, m)  i = Mul (r, a)  h = Tanh (i)  t = Add (one, h)  "
#define X_TANH   FLOAT ("three", "3.0") "c = Pow (x, three)  " X_REST
#define X_TANH_2 "x2 = Mul (x, x)  c = Mul (x2, x)  " X_REST
#define END_1    "p = Mul (x, t)  y = Mul (p, half) }"
#define END_2    "p = Mul (half, x)  y = Mul (p, t) }"
#define END_3    "p = Mul (half, t)  y = Mul (x, p) }"

/* clang-format off */
#define GELU(ID, PATTERN, NAME, LATE, EXAMPLE, WHEN, WHEN_LATE, PREPARE, DOC) \
  { "fuse-gelu-" ID, PATTERN, NAME, IR_CLASS_ROUNDING, DOC " is Gelu.", \
    HEAD ("20") SIGNATURE EXAMPLE, WHEN, PREPARE }, \
  { "fuse-late-gelu-" ID, PATTERN, LATE, IR_CLASS_ROUNDING, \
    DOC " is one operator of irscope before opset 20.", HEAD ("17") SIGNATURE EXAMPLE, WHEN_LATE }
/* clang-format on */
#define GELU_ERF(ID, ORDER, END, HOW)                                                              \
  GELU ("erf" ID, ORDER (ERF), "(Gelu ?x)", "(irscope.Gelu ?x)", X_ERF END, when_erf,              \
        when_late_erf, NULL, "x / 2 * (1 + erf (x / sqrt (2))), " HOW ","),                        \
      GELU ("erf-mul" ID, ORDER (ERF_MUL), "(Gelu ?x)", "(irscope.Gelu ?x)", X_ERF_MUL END,        \
            when_erf_mul, when_late_erf_mul, NULL, "x / 2 * (1 + erf (x * 0.7071)), " HOW ",")
#define GELU_TANH(ID, ORDER, END, HOW)                                                             \
  GELU ("tanh" ID, ORDER (TANH (CUBE)), "(Gelu{approximate=?approximate} ?x)",                     \
        "(irscope.GeluTanh ?x)", X_TANH END, when_tanh, when_late_tanh, prepare_tanh,              \
        "The approximation of Gelu with Tanh and Pow, " HOW ","),                                  \
      GELU ("tanh-mul" ID, ORDER (TANH (CUBE_2)), "(Gelu{approximate=?approximate} ?x)",           \
            "(irscope.GeluTanh ?x)", X_TANH_2 END, when_tanh, when_late_tanh, prepare_tanh,        \
            "The approximation of Gelu with Tanh and Mul, " HOW ",")

static const IrRule rules[] = {
  GELU_ERF ("", ORDER_1, END_1, "halved last"),
  GELU_ERF ("-2", ORDER_2, END_2, "x halved first"),
  GELU_ERF ("-3", ORDER_3, END_3, "the bracket halved first"),
  GELU_TANH ("", ORDER_1, END_1, "halved last"),
  GELU_TANH ("-2", ORDER_2, END_2, "x halved first"),
  GELU_TANH ("-3", ORDER_3, END_3, "the bracket halved first"),
  { "fuse-quick-gelu", "(Mul ?x (Sigmoid (Mul ?x ?a:scalar)))", "(Swish{alpha=?alpha} ?x)",
    IR_CLASS_ROUNDING, "x * sigmoid (a x) is Swish.",
    HEAD ("24") SIGNATURE FLOAT ("a", "1.702") "i = Mul (x, a)  s = Sigmoid (i)  y = Mul (x, s) }",
    when_swish, prepare_alpha },
  { "fuse-late-quick-gelu", "(Mul ?x (Sigmoid (Mul ?x ?a:scalar)))",
    "(irscope.Swish{alpha=?alpha} ?x)", IR_CLASS_ROUNDING,
    "x * sigmoid (a x) is one operator of irscope before opset 24.",
    HEAD ("17") SIGNATURE FLOAT ("a", "1.702") "i = Mul (x, a)  s = Sigmoid (i)  y = Mul (x, s) }",
    when_late_swish, prepare_alpha },
  { "fuse-silu", "(Mul ?x (Sigmoid ?x))", "(Swish{alpha=?alpha} ?x)", IR_CLASS_ROUNDING,
    "x * sigmoid (x), known as SiLU, is Swish.",
    HEAD ("24") SIGNATURE "s = Sigmoid (x)  y = Mul (x, s) }", when_silu, prepare_one },
  { "fuse-late-silu", "(Mul ?x (Sigmoid ?x))", "(irscope.Swish{alpha=?alpha} ?x)",
    IR_CLASS_ROUNDING, "x * sigmoid (x) is one operator of irscope before opset 24.",
    HEAD ("17") SIGNATURE "s = Sigmoid (x)  y = Mul (x, s) }", when_late_silu, prepare_one },
  { NULL },
};

const IrPass ir_pass_fuse_gelu = {
  .name = "fuse-gelu",
  .title = "Fuse Gelu",
  .doc =
      "Gelu by the error function, its approximation with Tanh, and x * sigmoid (a x) become one "
      "operator: the standard one if the opset has it, else one of irscope.",
  .source = "ONNX Runtime GeluFusion, FastGeluFusion, QuickGeluFusion; Hendrycks, Gimpel 2016",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Div, Erf, Add, Mul, Mul -> y\nx -> Gelu -> y",
  .rules = rules,
};
