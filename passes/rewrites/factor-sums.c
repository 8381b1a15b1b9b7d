/* A factor that both sides of a sum share:
 *
 *     a * c + b * c       (a + b) * c
 *     a * c - b * c       (a - b) * c
 *     A C + B C           (A + B) C          for matrix products
 *
 * Where the products are read by the sum alone and a and b have one shape, so that what is left is
 * less work. Rounds in another order, and a + b may overflow where the products do not. Source:
 * Grappler hoist_common_factor_out_of_aggregation; XLA AlgebraicSimplifier. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

static gboolean
when_same_shape (IrMatch *match)
{
  if (!ir_dtype_is_float (ir_value_dtype (ir_match_root (match)->outputs[0])))
    return ir_match_fail (match, "only floating-point sums are factored");
  if (!ir_types_identical (ir_match_value (match, "a")->type, ir_match_value (match, "b")->type))
    return ir_match_fail (match, "the two summands do not provably have one shape");
  return TRUE;
}

#define SIGNATURE "(float[n,4] a, float[n,4] b, float[n,4] c) => (float[n,4] y) { "

static const IrRule rules[] = {
  { "factor-sum", "(Add (Mul ?a ?c) (Mul ?b ?c))", "(Mul (Add ?a ?b) ?c)", IR_CLASS_ROUNDING,
    "A common factor of a sum is multiplied once.",
    SIGNATURE "p = Mul (a, c)  q = Mul (c, b)  y = Add (p, q) }", when_same_shape },
  { "factor-difference", "(Sub (Mul ?a ?c) (Mul ?b ?c))", "(Mul (Sub ?a ?b) ?c)", IR_CLASS_ROUNDING,
    "A common factor of a difference is multiplied once.",
    SIGNATURE "p = Mul (a, c)  q = Mul (b, c)  y = Sub (p, q) }", when_same_shape },
  { "factor-matmul", "(Add (MatMul ?a ?c) (MatMul ?b ?c))", "(MatMul (Add ?a ?b) ?c)",
    IR_CLASS_ROUNDING, "Two products with one right side are one product of the sum.",
    "(float[n,4] a, float[n,4] b, float[4,3] c) => (float[n,3] y) { p = MatMul (a, c)  q = MatMul "
    "(b, c)  y = Add (p, q) }",
    when_same_shape },
  { NULL },
};

const IrPass ir_pass_factor_sums = {
  .name = "factor-sums",
  .title = "Factor sums",
  .doc = "A factor that both sides of a sum or difference share is multiplied once.",
  .source = "Grappler hoist_common_factor_out_of_aggregation; XLA AlgebraicSimplifier",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "a, c -> Mul; b, c -> Mul; -> Add -> y\na, b -> Add; c -> Mul -> y",
  .rules = rules,
};
