/* Chains of operators that only give the same elements another shape:
 *
 *     x --Reshape--> --Reshape s--> y         x --Reshape s--> y
 *     x --Unsqueeze--> --Squeeze--> y         x                       if the shape is x's again
 *     x --Unsqueeze--> --Flatten--> y         x --Reshape--> y        if y's shape is known
 *
 * A 0 in a Reshape's shape means the dimension of its own input, so it cannot outlive that input;
 * -1 can, as the number of elements stays. What is computed there is no 0: inference says so of every
 * symbol in the shape of a Reshape (core/op/infer-shape.c). Source: onnx/optimizer fuse_consecutive_squeezes,
 * fuse_consecutive_unsqueezes; ONNX Runtime ReshapeFusion. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define VIEWS "Reshape|Flatten|Squeeze|Unsqueeze"

static gboolean
when_same_shape (IrMatch *match)
{
  const IrValue *x = ir_match_value (match, "x");

  if (!ir_types_identical (x->type, ir_match_root (match)->outputs[0]->type))
    return ir_match_fail (match, "the result does not have the shape of %s", x->name);
  return TRUE;
}

static gboolean
when_no_zero (IrMatch *match)
{
  const IrTensor *shape = ir_match_constant (match, "s");
  gboolean zero = FALSE;

  if (ir_node_attr_int (ir_match_root (match), "allowzero", 0) != 0)
    return ir_match_fail (match, "the shape may hold a 0 that means 0");
  for (guint64 i = 0; i < ir_tensor_n_elements (shape); i++)
    zero |= ir_tensor_get_int64 (shape, i) == 0;
  if (zero)
    return ir_match_fail (match, "a 0 in the shape means a dimension of the inner reshape");
  return TRUE;
}

static gboolean
when_static (IrMatch *match)
{
  const IrType *type = ir_match_root (match)->outputs[0]->type;

  if (!ir_type_is_static (type))
    return ir_match_fail (match, "the shape of the result is not known");
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == 0)
      return ir_match_fail (match, "the result is empty");
  if (ir_node_opset (ir_match_root (match)) < 5)
    return ir_match_fail (match, "Reshape of this opset has its shape as an attribute");
  return TRUE;
}

static gboolean
prepare_shape (IrMatch *match)
{
  const IrType *type = ir_match_root (match)->outputs[0]->type;

  ir_match_bind_tensor (match, "shape", "shape", ir_tensor_new_int64s (type->dims, type->rank));
  return TRUE;
}

static const IrRule rules[] = {
  { "cancel-reshapes", "(" VIEWS " (" VIEWS ":shared ?x ?*inner) ?*outer)", "?x", IR_CLASS_EXACT,
    "Two changes of shape that lead back to the shape of the start go away.",
    "(float[n,3,4] x) => (float[n,3,4] y) { s = Constant <value = int64[1] {1}> ()  a = Relu (x)  b "
    "= Unsqueeze (a, s)  c = Squeeze (b, s)  y = Neg (c) }",
    when_same_shape },
  { "merge-reshapes", "(Reshape@outer (" VIEWS " ?x ?*inner) ?s:const)", "(Reshape{@outer} ?x ?s)",
    IR_CLASS_EXACT, "A change of shape before a Reshape does not matter.",
    "(float[n,3,4] x) => (float[n,12] y) { s = Constant <value = int64[2] {-1,12}> ()  b = Flatten "
    "<axis: int = 0> (x)  y = Reshape (b, s) }",
    when_no_zero },
  { "merge-views", "(Flatten|Squeeze|Unsqueeze (" VIEWS " ?x ?*inner) ?*outer)",
    "(Reshape ?x ?shape)", IR_CLASS_EXACT,
    "Two changes of shape whose result has a known shape are one Reshape.",
    "(float[2,3,4] x) => (float[24,1] y) { s = Constant <value = int64[1] {-1}> ()  t = Constant "
    "<value = int64[1] {1}> ()  b = Reshape (x, s)  y = Unsqueeze (b, t) }",
    when_static, prepare_shape },
  { NULL },
};

const IrPass ir_pass_cancel_reshapes = {
  .name = "cancel-reshapes",
  .title = "Cancel reshapes",
  .doc = "Chains of Reshape, Flatten, Squeeze and Unsqueeze become one Reshape, or go away.",
  .source = "onnx/optimizer fuse_consecutive_squeezes; ONNX Runtime ReshapeFusion",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Unsqueeze -> Flatten -> y\nx -> Reshape -> y",
  .rules = rules,
};
