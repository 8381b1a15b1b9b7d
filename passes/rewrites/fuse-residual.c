/* A convolution whose result is added to something of the same shape becomes one operator:
 *
 *     x --Conv(W, b)--> c            x, r --ConvAdd(W, b)--> y
 *     c, r --Add--> y
 *
 * Both operands must have exactly the result's shape: a broadcast is no residual. Source: oneDNN's
 * sum post-operation; ONNX Runtime ConvAddActivationFusion. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

static gboolean
when (IrMatch *match)
{
  const IrValue *r = ir_match_value (match, "r");
  const IrType *conv = ir_match_node (match, "conv")->outputs[0]->type;
  const IrNode *root = ir_match_root (match);

  if (root->n_inputs != 2)
    return ir_match_fail (match, "%s has %u inputs, two are needed", root->op_type, root->n_inputs);
  if (ir_op_is (root, IR_OP_ADD) && ir_node_opset (root) < 7)
    return ir_match_fail (match, "broadcasting of this opset is by attributes");
  if (conv == NULL || !ir_dtype_is_float (conv->dtype))
    return ir_match_fail (match, "only floating-point sums are fused");
  if (!ir_types_identical (conv, r->type))
    return ir_match_fail (match, "%s does not have the shape of the convolution's result", r->name);
  return TRUE;
}

#define CONV        "(Conv@conv ?x ?w ?b?)"
#define REPLACEMENT "(irscope.ConvAdd{@conv} ?x ?w ?b ?r)"
#define EXAMPLE(SUM)                                                                               \
  "(float[n,3,5,4] x, float[n,4,5,4] r, float[4,3,3,3] W) => (float[n,4,5,4] y) "                  \
  "{ c = Conv <pads: ints = [1,1,1,1]> (x, W)  y = " SUM " }"

static const IrRule rules[] = {
  { "fuse-conv-add", "(Add " CONV " ?r)", REPLACEMENT, IR_CLASS_ROUNDING,
    "A convolution plus a value of the same shape is one operator.", EXAMPLE ("Add (c, r)"), when },
  { "fuse-conv-sum", "(Sum " CONV " ?r)", REPLACEMENT, IR_CLASS_ROUNDING,
    "The same for a Sum of two that begins with the convolution.", EXAMPLE ("Sum (c, r)"), when },
  { "fuse-sum-conv", "(Sum ?r " CONV ")", REPLACEMENT, IR_CLASS_ROUNDING,
    "The same for a Sum of two that ends with the convolution.", EXAMPLE ("Sum (r, c)"), when },
  { NULL },
};

const IrPass ir_pass_fuse_residual = {
  .name = "fuse-residual",
  .title = "Fuse residual sums into Conv",
  .doc = "An Add or Sum of a convolution and a value of the same shape becomes one operator, "
         "irscope.ConvAdd, that a back end computes while the result is still in cache.",
  .source = "oneDNN sum post-operation; ONNX Runtime ConvAddActivationFusion",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Conv -> Add r -> y\nx, r -> ConvAdd -> y",
  .rules = rules,
};
