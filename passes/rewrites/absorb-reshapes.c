/* A matrix product with constant weights does not care how the rows of its other operand are
 * grouped, so changes of shape around it that only regroup rows go away:
 *
 *     x [.., k] --Reshape [-1, k]--> --Gemm (W, b)--> --Reshape [.., n]--> y      MatMulAdd (x, W,
 * b)
 *
 * The same for MatMul and irscope.MatMulAdd, whose bias is a vector. Kernels may add the products
 * of another form in another order: rounding. Exporters write a linear layer over sequences this
 * way (torch's addmm, Conv1D of GPT-2). A Transpose that moves none but axes of size 1 is a change
 * of shape, too, and becomes one: exact. Source: ONNX Runtime ReshapeFusion, MatMulAddFusion;
 * PyTorch Inductor pointless_view. */
#include "config.h"

#include "passes/rewrites/norm-match.h"
#include "passes/rule/step.h"
#include "passes/rewrites/axes.h"

#include <string.h>

/* Whether @from and @to have the same last axis, of a number of elements that is known. */
static gboolean
same_last_axis (const IrType *from, const IrType *to)
{
  return ir_type_is_tensor (from) && ir_type_is_tensor (to) && from->rank >= 1 && to->rank >= 1 &&
         ir_dim_is_known (from->dims[from->rank - 1]) && from->dims[from->rank - 1] > 0 &&
         from->dims[from->rank - 1] == to->dims[to->rank - 1];
}

/* Rows of the operand and of the result are grouped alike, in x and in y. */
static gboolean
rows_fit (IrMatch *match)
{
  const IrNode *outer = ir_match_root (match), *inner = ir_match_node (match, "inner");
  const IrNode *product = ir_match_node (match, "p");
  const IrType *x = ir_match_value (match, "x")->type, *y = outer->outputs[0]->type;
  const IrTensor *weights = ir_match_constant (match, "w");

  if (!ir_axes_keeps_order (inner) || !ir_axes_keeps_order (outer))
    return ir_match_fail (match, "a Transpose moves more than axes of size 1");
  if (ir_tensor_rank (weights) != 2 || !ir_dtype_is_float (ir_tensor_dtype (weights)))
    return ir_match_fail (match, "the weights are not a matrix of floating-point numbers");
  if (!same_last_axis (x, inner->outputs[0]->type) ||
      !same_last_axis (product->outputs[0]->type, y))
    return ir_match_fail (match, "a change of shape goes beyond rows");
  if (x->rank != y->rank || x->rank < 2)
    return ir_match_fail (match, "operand and result have different numbers of axes");
  for (int i = 0; i + 1 < x->rank; i++)
    if (x->dims[i] == IR_DIM_UNKNOWN || x->dims[i] != y->dims[i])
      return ir_match_fail (match, "rows of operand and result are not provably grouped alike");
  return TRUE;
}

/* A bias for columns alone: it broadcasts to any grouping of rows. */
static gboolean
bias_fits (IrMatch *match)
{
  const IrType *bias = ir_match_value (match, "b")->type;

  if (!ir_type_is_tensor (bias) || bias->rank != 1)
    return ir_match_fail (match, "the bias is not a vector");
  return TRUE;
}

static gboolean
gemm_fits (IrMatch *match)
{
  const IrNode *gemm = ir_match_node (match, "p");

  if (ir_node_attr_int (gemm, "transA", 0) != 0)
    return ir_match_fail (match, "the operand is transposed");
  if (ir_node_attr_float (gemm, "alpha", 1) != 1 || ir_node_attr_float (gemm, "beta", 1) != 1)
    return ir_match_fail (match, "the product or the bias has a factor");
  return TRUE;
}

static gboolean
when_matmul (IrMatch *match)
{
  return rows_fit (match);
}

static gboolean
when_matmul_add (IrMatch *match)
{
  return rows_fit (match) && bias_fits (match);
}

static gboolean
when_gemm (IrMatch *match)
{
  return rows_fit (match) && gemm_fits (match);
}

static gboolean
when_gemm_bias (IrMatch *match)
{
  return rows_fit (match) && gemm_fits (match) && bias_fits (match);
}

/* Weights as MatMul wants them. */
static gboolean
prepare_weights (IrMatch *match)
{
  const IrTensor *weights = ir_match_constant (match, "w");
  const gint64 *dims = ir_tensor_dims (weights);
  gsize size = ir_dtype_bits (ir_tensor_dtype (weights)) / 8;
  gint64 turned[] = { dims[1], dims[0] };

  if (ir_node_attr_int (ir_match_node (match, "p"), "transB", 0) == 0)
    {
      ir_match_bind_value (match, "weights", ir_match_value (match, "w"));
      return TRUE;
    }
  if (size == 0)
    return ir_match_fail (match, "elements of the weights are smaller than a byte");
  IrTensor *copy = ir_tensor_new_alloc (ir_tensor_dtype (weights), 2, turned, NULL);
  if (copy == NULL)
    return ir_match_fail (match, "there is no memory for the transposed weights");
  const guint8 *from = ir_tensor_data (weights);
  guint8 *to = ir_tensor_data_writable (copy);
  for (gint64 r = 0; r < dims[0]; r++)
    for (gint64 c = 0; c < dims[1]; c++)
      memcpy (to + (c * dims[0] + r) * size, from + (r * dims[1] + c) * size, size);
  ir_match_bind_tensor (match, "weights", "weights", copy);
  return TRUE;
}

/* -- transposes that only change the shape -- */

static gboolean
when_order_stays (IrMatch *match)
{
  const IrType *type = ir_match_root (match)->outputs[0]->type;
  guint n_open = 0;

  if (!ir_axes_keeps_order (ir_match_root (match)))
    return ir_match_fail (match, "it moves more than axes of size 1");
  if (ir_node_opset (ir_match_root (match)) < 5)
    return ir_match_fail (match, "Reshape of this opset has its shape as an attribute");
  for (int i = 0; i < type->rank; i++)
    {
      if (type->dims[i] == IR_DIM_UNKNOWN || type->dims[i] == 0)
        return ir_match_fail (match, "a dimension is not known, or 0");
      n_open += !ir_dim_is_known (type->dims[i]);
    }
  if (n_open > 1)
    return ir_match_fail (match, "more than one dimension is a symbol");
  return TRUE;
}

static gboolean
prepare_shape (IrMatch *match)
{
  const IrType *type = ir_match_root (match)->outputs[0]->type;
  gint64 shape[IR_AXES_RANK];

  for (int i = 0; i < MIN (type->rank, IR_AXES_RANK); i++)
    shape[i] = ir_dim_is_known (type->dims[i]) ? type->dims[i] : -1;
  if (type->rank > IR_AXES_RANK)
    return ir_match_fail (match, "it has too many axes");
  ir_match_bind_tensor (match, "shape", "shape", ir_tensor_new_int64s (shape, (guint) type->rank));
  return TRUE;
}

#define VIEWS           "Reshape|Squeeze|Unsqueeze|Flatten|Transpose"
#define INNER           "(" VIEWS "@inner ?x ?*inputs)"
#define AROUND(PRODUCT) "(" VIEWS "@outer " PRODUCT " ?*outputs)"
#define HEAD            "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1]>\ng "
#define EXAMPLE(PRODUCT)                                                                           \
  HEAD "(float[n,3,5] x, float[5,4] W, float[4,5] T, float[4] B) => (float[n,3,4] y) { "           \
       "flat = Constant <value = int64[2] {-1,5}> ()  back = Constant <value = int64[3] {-1,3,4}>" \
       " ()  r = Reshape (x, flat)  p = " PRODUCT "  y = Reshape (p, back) }"

static const IrRule rules[] = {
  { "absorb-gemm-reshapes", AROUND ("(Gemm@p " INNER " ?w:const ?b)"),
    "(irscope.MatMulAdd ?x ?weights ?b)", IR_CLASS_ROUNDING,
    "A Gemm between changes of shape that only regroup rows is a product of stacks of matrices.",
    EXAMPLE ("Gemm <transB: int = 1> (r, T, B)"), when_gemm_bias, prepare_weights },
  { "absorb-plain-gemm-reshapes", AROUND ("(Gemm@p " INNER " ?w:const)"), "(MatMul ?x ?weights)",
    IR_CLASS_ROUNDING, "The same for a Gemm without a bias.", EXAMPLE ("Gemm (r, W)"), when_gemm,
    prepare_weights },
  { "absorb-matmul-add-reshapes", AROUND ("(irscope.MatMulAdd@p " INNER " ?w:const ?b)"),
    "(irscope.MatMulAdd ?x ?w ?b)", IR_CLASS_ROUNDING,
    "The same for a product of stacks of matrices with a bias.",
    EXAMPLE ("irscope.MatMulAdd (r, W, B)"), when_matmul_add },
  { "absorb-matmul-reshapes", AROUND ("(MatMul@p " INNER " ?w:const)"), "(MatMul ?x ?w)",
    IR_CLASS_ROUNDING, "The same for a MatMul.", EXAMPLE ("MatMul (r, W)"), when_matmul },
  { "reshape-for-transpose", "(Transpose ?x)", "(Reshape ?x ?shape)", IR_CLASS_EXACT,
    "A Transpose that moves none but axes of size 1 is a change of shape.",
    "(float[1,n,5] x) => (float[n,1,5] y) { a = Relu (x)  y = Transpose <perm: ints = [1,0,2]> (a) "
    "}",
    when_order_stays, prepare_shape },
  { NULL },
};

const IrPass ir_pass_absorb_reshapes = {
  .name = "absorb-reshapes",
  .title = "Absorb reshapes into matrix products",
  .doc = "Changes of shape that only regroup the rows before and behind a product with constant "
         "weights go away; a Transpose that only moves axes of size 1 counts as one.",
  .source = "ONNX Runtime ReshapeFusion, MatMulAddFusion; PyTorch Inductor pointless_view",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Reshape -> Gemm -> Reshape -> y\nx -> MatMulAdd -> y",
  .rules = rules,
};
