/* Products of three matrices are computed in the order that takes fewer multiplications:
 *
 *     (A B) C      A (B C)
 *     A (B C)      (A B) C
 *
 * Each application lowers the number of multiplications, so that two rows that undo each other come
 * to an end. A product of two constants counts as nothing: it is folded once. Matrices only, as the
 * inner product of stacked ones may be broadcast. Rounds in another order, and an intermediate
 * value may overflow that did not before. Source: Cormen et al., matrix-chain multiplication;
 * TVM Relax AdjustMatmulOrder. */
#include "config.h"

#include "passes/rule/rule.h"

/* Multiplications of [m, k] by [k, n]; of two constants none at run time. */
static double
work (const IrValue *a, const IrValue *b, gint64 m, gint64 k, gint64 n)
{
  return a != NULL && b != NULL && ir_value_constant (a) != NULL && ir_value_constant (b) != NULL
             ? 0
             : (double) m * (double) k * (double) n;
}

typedef struct
{
  IrValue *a, *b, *c;
  double left, right; /* multiplications of (A B) C and of A (B C) */
} Chain;

static gboolean
is_matrix (const IrValue *value)
{
  return ir_type_is_static (value->type) && ir_value_rank (value) == 2 &&
         ir_dtype_is_float (ir_value_dtype (value));
}

static gboolean
measure (IrMatch *match, Chain *chain)
{
  chain->a = ir_match_value (match, "a");
  chain->b = ir_match_value (match, "b");
  chain->c = ir_match_value (match, "c");
  if (!is_matrix (chain->a) || !is_matrix (chain->b) || !is_matrix (chain->c))
    return ir_match_fail (match, "not all three are floating-point matrices of known shape");
  gint64 m = chain->a->type->dims[0], k = chain->a->type->dims[1];
  gint64 n = chain->b->type->dims[1], p = chain->c->type->dims[1];
  chain->left = work (chain->a, chain->b, m, k, n) + work (NULL, NULL, m, n, p);
  chain->right = work (chain->b, chain->c, k, n, p) + work (NULL, NULL, m, k, p);
  return TRUE;
}

static gboolean
when_right_is_less (IrMatch *match)
{
  Chain chain;

  if (!measure (match, &chain))
    return FALSE;
  if (chain.right >= chain.left)
    return ir_match_fail (match, "(A B) C takes %g multiplications, A (B C) %g", chain.left,
                          chain.right);
  return TRUE;
}

static gboolean
when_left_is_less (IrMatch *match)
{
  Chain chain;

  if (!measure (match, &chain))
    return FALSE;
  if (chain.left >= chain.right)
    return ir_match_fail (match, "A (B C) takes %g multiplications, (A B) C %g", chain.right,
                          chain.left);
  return TRUE;
}

static const IrRule rules[] = {
  { "reassociate-right", "(MatMul (MatMul ?a ?b) ?c)", "(MatMul ?a (MatMul ?b ?c))",
    IR_CLASS_ROUNDING, "(A B) C is A (B C), where that takes fewer multiplications.",
    "(float[8,3] a, float[3,8] b) => (float[8,1] y) { c = Constant <value = float[8,1] {1, -1, 2, "
    "0.5, 0.25, 3, -2, 1}> ()  p = MatMul (a, b)  y = MatMul (p, c) }",
    when_right_is_less },
  { "reassociate-left", "(MatMul ?a (MatMul ?b ?c))", "(MatMul (MatMul ?a ?b) ?c)",
    IR_CLASS_ROUNDING, "A (B C) is (A B) C, where that takes fewer multiplications.",
    "(float[3,8] b, float[8,4] c) => (float[1,4] y) { a = Constant <value = float[1,3] {1, -1, 2}> ()"
    "  p = MatMul (b, c)  y = MatMul (a, p) }",
    when_left_is_less },
  { NULL },
};

const IrPass ir_pass_reassociate_matmuls = {
  .name = "reassociate-matmuls",
  .title = "Choose the order of matrix products",
  .doc = "A product of three matrices is computed in the order that takes fewer multiplications.",
  .source = "Cormen et al., matrix-chain multiplication; TVM Relax AdjustMatmulOrder",
  .step_class = IR_CLASS_ROUNDING,
  .before_after =
      "a, b -> MatMul -> p; p, c -> MatMul -> y\nb, c -> MatMul -> q; a, q -> MatMul -> y",
  .rules = rules,
};
