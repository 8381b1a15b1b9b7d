/* Derivatives that rules spell out become one operator each:
 *
 *     Where (y > 0, dy, 0)           ReluGrad (dy, y)
 *     y * (dy - sum (dy * y))        SoftmaxGrad (dy, y)
 *
 * So does a joint graph that another program has written. Those of normalizations and of Gelu are one
 * operator from the beginning (core/grad/norm.c, core/grad/elementwise.c). Source: ONNX Runtime
 * ReluGrad, SoftmaxGrad (com.microsoft). */
#include "config.h"

#include "passes/rule/rule.h"

static gboolean
is_of_one_type (IrMatch *match)
{
  const IrValue *y = ir_match_value (match, "y"), *dy = ir_match_value (match, "dy");

  if (!ir_type_is_tensor (y->type) || !ir_type_has_rank (y->type) || y->type != dy->type)
    return ir_match_fail (match, "%s and %s are not known to have one type and shape", y->name,
                          dy->name);
  if (!ir_dtype_is_float (ir_value_dtype (y)))
    return ir_match_fail (match, "%s is %s, and only floating-point values have derivatives",
                          y->name, ir_dtype_name (ir_value_dtype (y)));
  return TRUE;
}

static gboolean
when_relu (IrMatch *match)
{
  if (!is_of_one_type (match))
    return FALSE;
  if (ir_value_dtype (ir_match_value (match, "y")) != IR_DTYPE_FLOAT)
    return ir_match_fail (match, "the fused operator is for float only");
  return TRUE;
}

static const IrTensor *
only_axis (const IrNode *sum)
{
  const IrValue *axes = ir_node_opset (sum) >= 13 ? ir_node_input (sum, 1) : NULL;
  const IrTensor *tensor = axes != NULL ? ir_value_constant (axes) : NULL;

  return tensor != NULL && ir_tensor_n_elements (tensor) == 1 ? tensor : NULL;
}

static gboolean
when_softmax (IrMatch *match)
{
  const IrNode *sum = ir_match_node (match, "sum");

  if (!is_of_one_type (match))
    return FALSE;
  if (only_axis (sum) == NULL || ir_node_attr_int (sum, "keepdims", 1) == 0)
    return ir_match_fail (match, "the sum is not over one constant axis that it keeps");
  return TRUE;
}

static gboolean
prepare_softmax (IrMatch *match)
{
  gint64 axis = ir_tensor_get_int64 (only_axis (ir_match_node (match, "sum")), 0);

  ir_match_bind_attr (match, "axis",
                      ir_attr_int (ir_match_context (match)->model->context, "axis", axis));
  return TRUE;
}

#define HEAD "<ir_version: 8, opset_import: [\"\" : 13, \"irscope\" : 1]>\ng "

static const IrRule rules[] = {
  { "fuse-relu-grad", "(Where (Greater ?y 0) ?dy 0)", "(irscope.ReluGrad ?dy ?y)", IR_CLASS_EXACT,
    "What is left of dY where a Relu gave more than 0 is its derivative.",
    HEAD
    "(float[n,6] y, float[n,6] dy) => (float[n,6] dx) { z = Constant <value = float {0.0}> ()  "
    "c = Greater (y, z)  dx = Where (c, dy, z) }",
    when_relu },
  { "fuse-softmax-grad", "(Mul ?y (Sub ?dy (ReduceSum@sum (Mul ?dy ?y) ?*axes)))",
    "(irscope.SoftmaxGrad{axis=?axis} ?dy ?y)", IR_CLASS_ROUNDING,
    "The derivative of a Softmax, spelled out, is one operator.",
    HEAD
    "(float[n,6] y, float[n,6] dy) => (float[n,6] dx) { a = Constant <value = int64[1] {-1}> ()  "
    "p = Mul (dy, y)  s = ReduceSum (p, a)  d = Sub (dy, s)  dx = Mul (y, d) }",
    when_softmax, prepare_softmax },
  { NULL },
};

const IrPass ir_pass_fuse_gradients = {
  .name = "fuse-gradients",
  .title = "Fuse derivatives",
  .doc =
      "The derivative of a Relu or a Softmax, spelled out by several operators, becomes one of irscope's.",
  .source = "ONNX Runtime ReluGrad, SoftmaxGrad (com.microsoft)",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "y -> Greater, Where -> dx\ny -> ReluGrad -> dx",
  .rules = rules,
};
