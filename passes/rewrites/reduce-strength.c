/* Cheaper arithmetic of the same meaning:
 *
 *     x / 2^k                      x * 2^-k              exact
 *     x / c                        x * (1 / c)           rounds twice
 *     pow (x, 2)                   x * x
 *     pow (x, -1)                  1 / x
 *     1 / x                        reciprocal (x)        exact
 *     reciprocal (sqrt x) * y      y / sqrt x
 *     log (softmax x)              log_softmax x
 *     c * (d * x)                  (c d) * x             constants only
 *     reshape, swap, reshape       gather of channels    exact: a shuffle of groups of channels
 *
 * pow (x, 0.5) is not sqrt (x) for -0 and -infinity; that one is in rewrite-unsafe. Source:
 * Grappler convert_pow, convert_log_softmax; XLA AlgebraicSimplifier; tinygrad symbolic. The
 * shuffle: Zhang et al. 2018, ShuffleNet. */
#include "config.h"

#include "passes/rule/rule.h"

#include <float.h>
#include <math.h>

/* Divisor ?c whose inverse is a normal number of the type. */
static gboolean
divisor_fits (IrMatch *match, gboolean exact)
{
  double c = ir_tensor_get_double (ir_match_constant (match, "c"), 0);
  int exponent;
  gboolean power_of_two = frexp (fabs (c), &exponent) == 0.5;

  if (ir_value_dtype (ir_match_root (match)->outputs[0]) != IR_DTYPE_FLOAT)
    return ir_match_fail (match, "only float divisions are rewritten");
  if (c == 0 || !isfinite (c) || fabs (c) > FLT_MAX / 4 || fabs (c) < 4 * FLT_MIN)
    return ir_match_fail (match, "the inverse of %g is no normal number", c);
  if (power_of_two != exact)
    return ir_match_fail (match, "%g is %s power of two", c, power_of_two ? "a" : "no");
  return TRUE;
}

static gboolean
when_power_of_two (IrMatch *match)
{
  return divisor_fits (match, TRUE);
}

static gboolean
when_no_power_of_two (IrMatch *match)
{
  return divisor_fits (match, FALSE);
}

static gboolean
prepare_inverse (IrMatch *match)
{
  const IrTensor *c = ir_match_constant (match, "c");
  g_autoptr (IrTensor)
      inverse = ir_tensor_new_scalar (ir_tensor_dtype (c), 1 / ir_tensor_get_double (c, 0));

  ir_match_bind_tensor (match, "inverse", "inverse",
                        ir_tensor_reshape (inverse, ir_tensor_rank (c), ir_tensor_dims (c)));
  return TRUE;
}

static gboolean
when_product_is_normal (IrMatch *match)
{
  double product = ir_tensor_get_double (ir_match_constant (match, "c"), 0) *
                   ir_tensor_get_double (ir_match_constant (match, "d"), 0);

  if (ir_value_dtype (ir_match_root (match)->outputs[0]) != IR_DTYPE_FLOAT)
    return ir_match_fail (match, "only float products are merged");
  if (ir_value_rank (ir_match_value (match, "c")) > ir_value_rank (ir_match_value (match, "x")) ||
      ir_value_rank (ir_match_value (match, "d")) > ir_value_rank (ir_match_value (match, "x")))
    return ir_match_fail (match, "a constant has more dimensions than what it multiplies");
  if (!isfinite (product) || fabs (product) > FLT_MAX / 4 || fabs (product) < 4 * FLT_MIN)
    return ir_match_fail (match, "the product %g of the constants is no normal number", product);
  return TRUE;
}

static gboolean
prepare_product (IrMatch *match)
{
  double product = ir_tensor_get_double (ir_match_constant (match, "c"), 0) *
                   ir_tensor_get_double (ir_match_constant (match, "d"), 0);

  ir_match_bind_tensor (match, "product", "product",
                        ir_tensor_new_scalar (IR_DTYPE_FLOAT, product));
  return TRUE;
}

static gboolean
when_float (IrMatch *match)
{
  if (!ir_dtype_is_float (ir_value_dtype (ir_match_root (match)->outputs[0])))
    return ir_match_fail (match, "only floating-point values are rewritten");
  return TRUE;
}

/* Below opset 13 Softmax flattens; LogSoftmax of the same opset does likewise. */
static gboolean
when_softmax (IrMatch *match)
{
  return when_float (match);
}

/* The first Reshape cuts axis 1 in two, the Transpose swaps the halves, the last Reshape joins
 * them. */
static gboolean
when_shuffle (IrMatch *match)
{
  const IrType *x = ir_match_value (match, "x")->type;
  const IrType *cut = ir_match_node (match, "cut")->outputs[0]->type;
  const IrType *y = ir_match_root (match)->outputs[0]->type;
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (ir_match_node (match, "swap"), "perm", &n);

  if (x == NULL || cut == NULL || x != y || x->rank < 3 || cut->rank != x->rank + 1 ||
      (int) n != cut->rank)
    return ir_match_fail (match, "the shapes do not cut one axis in two");
  for (int i = 0; i < cut->rank; i++)
    if (perm[i] != (i == 1   ? 2
                    : i == 2 ? 1
                             : i) ||
        (i != 1 && i != 2 && cut->dims[i] != x->dims[i < 1 ? i : i - 1]))
      return ir_match_fail (match, "other axes change, too");
  if (!ir_dim_is_known (cut->dims[1]) || !ir_dim_is_known (cut->dims[2]) ||
      !ir_dim_is_known (x->dims[1]) || cut->dims[1] * cut->dims[2] != x->dims[1])
    return ir_match_fail (match, "the number of channels is not known");
  return TRUE;
}

static gboolean
prepare_shuffle (IrMatch *match)
{
  const IrType *cut = ir_match_node (match, "cut")->outputs[0]->type;
  gint64 groups = cut->dims[1], each = cut->dims[2];
  g_autofree gint64 *order = g_new (gint64, groups * each);

  for (gint64 i = 0; i < groups * each; i++)
    order[i] = i % groups * each + i / groups;
  ir_match_bind_tensor (match, "order", "order",
                        ir_tensor_new_int64s (order, (guint64) (groups * each)));
  return TRUE;
}

#define EXAMPLE(BODY)      "(float[n,4] x) => (float[n,4] y) { " BODY " }"
#define FLOAT(NAME, VALUE) NAME " = Constant <value = float {" VALUE "}> ()  "

static const IrRule rules[] = {
  { "divide-by-power-of-two", "(Div ?x:float ?c:scalar)", "(Mul ?x ?inverse)", IR_CLASS_EXACT,
    "A division by a power of two is a product.", EXAMPLE (FLOAT ("c", "8.0") "y = Div (x, c)"),
    when_power_of_two, prepare_inverse },
  { "divide-by-constant", "(Div ?x:float ?c:scalar)", "(Mul ?x ?inverse)", IR_CLASS_ROUNDING,
    "A division by a constant is a product with its inverse, which is rounded.",
    EXAMPLE (FLOAT ("c", "3.0") "y = Div (x, c)"), when_no_power_of_two, prepare_inverse },
  { "pow-two", "(Pow ?x:float 2)", "(Mul ?x ?x)", IR_CLASS_ROUNDING, "x^2 is x * x.",
    EXAMPLE (FLOAT ("c", "2.0") "y = Pow (x, c)") },
  { "pow-minus-one", "(Pow ?x:float -1)", "(Reciprocal ?x)", IR_CLASS_ROUNDING, "x^-1 is 1 / x.",
    EXAMPLE ("a = Abs (x)  " FLOAT ("one", "1.0") "b = Add (a, one)  " FLOAT (
        "c", "-1.0") "y = Pow (b, c)") },
  { "one-over", "(Div 1 ?x:float)", "(Reciprocal ?x)", IR_CLASS_EXACT, "1 / x is Reciprocal.",
    EXAMPLE (FLOAT ("one", "1.0") "y = Div (one, x)") },
  { "times-inverse-root", "(Mul ?y (Reciprocal (Sqrt ?x)))", "(Div ?y (Sqrt ?x))",
    IR_CLASS_ROUNDING, "A product with the inverse of a root is a division by the root.",
    EXAMPLE (
        FLOAT ("one", "1.0") "a = Abs (x)  b = Add (a, one)  r = Sqrt (b)  i = Reciprocal (r)  "
                             "y = Mul (x, i)") },
  { "log-softmax", "(Log (Softmax@softmax ?x))", "(LogSoftmax{@softmax} ?x)", IR_CLASS_ROUNDING,
    "The logarithm of Softmax is LogSoftmax, which does not lose small numbers.",
    EXAMPLE ("s = Softmax (x)  y = Log (s)"), when_softmax },
  { "merge-constant-factors", "(Mul (Mul ?x ?d:scalar) ?c:scalar)", "(Mul ?x ?product)",
    IR_CLASS_ROUNDING, "Two constant factors are one.",
    EXAMPLE (FLOAT ("c", "3.0") FLOAT ("d", "0.7") "a = Mul (x, d)  y = Mul (c, a)"),
    when_product_is_normal, prepare_product },
  { "shuffle-channels", "(Reshape (Transpose@swap (Reshape@cut ?x ?a)) ?b)",
    "(Gather{axis=1} ?x ?order)", IR_CLASS_EXACT,
    "A shuffle of the groups of channels is one Gather along their axis.",
    "(float[2,6,3] x) => (float[2,6,3] y) { a = Constant <value = int64[4] {2, 2, 3, 3}> ()  "
    "b = Constant <value = int64[3] {2, 6, 3}> ()  c = Reshape (x, a)  "
    "t = Transpose <perm = [0, 2, 1, 3]> (c)  y = Reshape (t, b) }",
    when_shuffle, prepare_shuffle },
  { NULL },
};

const IrPass ir_pass_reduce_strength = {
  .name = "reduce-strength",
  .title = "Reduce the strength of arithmetic",
  .doc = "Divisions by constants, powers, inverses of roots, logarithms of Softmax and shuffles of "
         "channels become cheaper operators of the same meaning, and constant factors are merged.",
  .source = "Grappler convert_pow, convert_log_softmax; XLA AlgebraicSimplifier",
  .profit = TRUE,
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Div 8 -> y\nx -> Mul 0.125 -> y",
  .rules = rules,
};
