/* A Transpose of a matrix becomes a flag of the product that reads it:
 *
 *     Gemm (Transpose a, b)       Gemm{transA flipped} (a, b)
 *     MatMul (Transpose a, b)     Gemm{transA} (a, b)               for matrices
 *
 * Where the Transpose is read elsewhere too, it stays and the product reads past it. Source:
 * ONNX Runtime GemmTransposeFusion, MatmulTransposeFusion; onnx/optimizer
 * fuse_transpose_into_gemm. */
#include "config.h"

#include "passes/rule/rule.h"

/* A Transpose of a matrix either swaps its axes or does nothing. */
static gboolean
swaps (IrMatch *match, const char *label)
{
  const IrNode *transpose = ir_match_node (match, label);
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (transpose, "perm", &n);

  if (ir_value_rank (transpose->inputs[0]) != 2)
    return ir_match_fail (match, "%s is not a matrix", transpose->inputs[0]->name);
  if (perm != NULL && (n != 2 || perm[0] != 1))
    return ir_match_fail (match, "the Transpose leaves the axes where they are");
  if (!ir_dtype_is_float (ir_value_dtype (transpose->inputs[0])))
    return ir_match_fail (match, "only floating-point products take flags");
  return TRUE;
}

static gboolean
when_swapped (IrMatch *match)
{
  return swaps (match, "t");
}

static gboolean
when_gemm (IrMatch *match)
{
  if (ir_node_opset (ir_match_root (match)) < 7 &&
      ir_node_attr (ir_match_root (match), "broadcast"))
    return ir_match_fail (match, "Gemm of this opset broadcasts by an attribute");
  return swaps (match, "t");
}

static void
bind_flag (IrMatch *match, const char *name, gint64 value)
{
  ir_match_bind_attr (match, "flag",
                      ir_attr_int (ir_match_context (match)->model->context, name, value));
}

static gboolean
prepare_flip_a (IrMatch *match)
{
  bind_flag (match, "transA", ir_node_attr_int (ir_match_root (match), "transA", 0) == 0);
  return TRUE;
}

static gboolean
prepare_flip_b (IrMatch *match)
{
  bind_flag (match, "transB", ir_node_attr_int (ir_match_root (match), "transB", 0) == 0);
  return TRUE;
}

#define T "(Transpose@t:shared ?a)"

static const IrRule rules[] = {
  { "absorb-transpose-gemm-a", "(Gemm@gemm " T " ?b ?c?)", "(Gemm{@gemm,transA=?flag} ?a ?b ?c)",
    IR_CLASS_ROUNDING, "Gemm reads its first matrix transposed.",
    "(float[5,n] a, float[5,4] B) => (float[n,4] y) { t = Transpose (a)  y = Gemm (t, B) }",
    when_gemm, prepare_flip_a },
  { "absorb-transpose-gemm-b", "(Gemm@gemm ?b " T " ?c?)", "(Gemm{@gemm,transB=?flag} ?b ?a ?c)",
    IR_CLASS_ROUNDING, "Gemm reads its second matrix transposed.",
    "(float[n,5] b, float[4,5] a) => (float[n,4] y) { t = Transpose (a)  y = Gemm (b, t) }",
    when_gemm, prepare_flip_b },
  { "absorb-transpose-matmul-a", "(MatMul " T " ?b:2d)", "(Gemm{transA=1} ?a ?b)",
    IR_CLASS_ROUNDING, "A product with a transposed first matrix is a Gemm.",
    "(float[5,n] a, float[5,4] B) => (float[n,4] y) { t = Transpose (a)  y = MatMul (t, B) }",
    when_swapped },
  { "absorb-transpose-matmul-b", "(MatMul ?b:2d " T ")", "(Gemm{transB=1} ?b ?a)",
    IR_CLASS_ROUNDING, "A product with a transposed second matrix is a Gemm.",
    "(float[n,5] b, float[4,5] a) => (float[n,4] y) { t = Transpose (a)  y = MatMul (b, t) }",
    when_swapped },
  { NULL },
};

const IrPass ir_pass_absorb_transposes = {
  .name = "absorb-transposes",
  .title = "Absorb transposes into matrix products",
  .doc = "A transposed matrix is read as it is by a Gemm with the flag for it.",
  .source = "ONNX Runtime GemmTransposeFusion; onnx/optimizer fuse_transpose_into_gemm",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "a -> Transpose -> Gemm -> y\na -> Gemm{transA} -> y",
  .rules = rules,
};
