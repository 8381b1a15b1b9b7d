/* Sums with a bias become part of the matrix product:
 *
 *     MatMul (a, b) -> Add c      Gemm (a, b, c)         for matrices
 *     MatMul (a, b) -> Add c      MatMulAdd (a, b, c)    for stacks of matrices
 *     Gemm (a, b) -> Add c        Gemm (a, b, c)
 *
 * c must broadcast to the product and not make it bigger. A bias of Conv is fold-conv-affine's.
 * Source: ONNX Runtime MatMulAddFusion, GemmSumFusion; onnx/optimizer
 * fuse_matmul_add_bias_into_gemm. */
#include "config.h"

#include "passes/rule/rule.h"

/* Whether ?c broadcasts one way to the product, the value that the root adds to. */
static gboolean
bias_fits (IrMatch *match, const char *product)
{
  const IrValue *c = ir_match_value (match, "c");
  const IrType *to = ir_match_node (match, product)->outputs[0]->type;
  const IrType *from = c->type;

  if (ir_node_opset (ir_match_root (match)) < 7)
    return ir_match_fail (match, "broadcasting of this opset is by attributes");
  if (!ir_type_is_tensor (to) || !ir_type_is_tensor (from) || !ir_type_has_rank (to) ||
      !ir_type_has_rank (from))
    return ir_match_fail (match, "the shape of the product or of %s is not known", c->name);
  if (from->dtype != to->dtype || !ir_dtype_is_float (to->dtype))
    return ir_match_fail (match, "only floating-point sums of one type are fused");
  if (from->rank > to->rank)
    return ir_match_fail (match, "%s has more dimensions than the product", c->name);
  for (int i = 0; i < from->rank; i++)
    {
      IrDim dim = from->dims[i], wanted = to->dims[to->rank - from->rank + i];
      if (dim != 1 && (dim == IR_DIM_UNKNOWN || dim != wanted))
        return ir_match_fail (match, "%s may make the result bigger than the product", c->name);
    }
  return TRUE;
}

static gboolean
when_matrices (IrMatch *match)
{
  return bias_fits (match, "mm");
}

static gboolean
when_stacks (IrMatch *match)
{
  const IrType *a = ir_match_value (match, "a")->type, *b = ir_match_value (match, "b")->type;

  if (ir_type_is_tensor (a) && ir_type_is_tensor (b) && a->rank == 2 && b->rank == 2)
    return ir_match_fail (match, "Gemm does this for matrices");
  return bias_fits (match, "mm");
}

static gboolean
when_gemm (IrMatch *match)
{
  return bias_fits (match, "g");
}

/* C is added as it is: beta, which scales C, is 1 from now on. */
static gboolean
prepare_gemm (IrMatch *match)
{
  IrContext *context = ir_match_context (match)->model->context;

  ir_match_bind_attr (match, "beta", ir_attr_float (context, "beta", 1));
  return TRUE;
}

static const IrRule rules[] = {
  { "fuse-matmul-add", "(Add (MatMul@mm ?a:2d ?b:2d) ?c)", "(Gemm{@mm} ?a ?b ?c)",
    IR_CLASS_ROUNDING, "A matrix product plus a bias is a Gemm.",
    "(float[n,5] x, float[5,4] W, float[4] B) => (float[n,4] y) { p = MatMul (x, W)  y = Add (p, B) "
    "}",
    when_matrices },
  { "fuse-stacked-matmul-add", "(Add (MatMul@mm ?a:ranked ?b:ranked) ?c)",
    "(irscope.MatMulAdd{@mm} ?a ?b ?c)", IR_CLASS_ROUNDING,
    "A product of stacks of matrices plus a bias is one operator.",
    "(float[n,3,5] x, float[5,4] W, float[4] B) => (float[n,3,4] y) { p = MatMul (x, W)  y = Add (B, "
    "p) }",
    when_stacks },
  { "fuse-gemm-add", "(Add (Gemm@g ?a ?b) ?c)", "(Gemm{@g,beta=?beta} ?a ?b ?c)", IR_CLASS_ROUNDING,
    "A Gemm without C plus a bias is a Gemm with C.",
    "(float[n,5] x, float[5,4] W, float[1,4] B) => (float[n,4] y) { p = Gemm <beta: float = 2.0> "
    "(x, W)  y = Add (p, B) }",
    when_gemm, prepare_gemm },
  { NULL },
};

const IrPass ir_pass_fuse_bias = {
  .name = "fuse-bias",
  .title = "Fuse bias into matrix products",
  .doc = "An Add behind a MatMul or Gemm becomes its bias, if it does not make the result bigger.",
  .source = "ONNX Runtime MatMulAddFusion, GemmSumFusion; onnx/optimizer "
            "fuse_matmul_add_bias_into_gemm",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "a, b -> MatMul -> Add c -> y\na, b, c -> Gemm -> y",
  .rules = rules,
};
