/* A residual that only a LayerNormalization reads becomes part of it:
 *
 *     s = Add (x, z)   y = LayerNormalization (s, g, b)       y = SkipLayerNormalization (x, z, g,
 * b)
 *
 * ONNX has no operator for it; irscope's has a body. Where the sum is read again (transformers that
 * normalize first) nothing changes. Source: ONNX Runtime SkipLayerNormFusion. */
#include "config.h"

#include "passes/rewrites/norm-match.h"
#include "passes/rule/step.h"

static gboolean
when_skip (IrMatch *match)
{
  const IrNode *norm = ir_match_root (match);
  const IrType *x = ir_match_value (match, "x")->type;
  gint64 axis = ir_node_attr_int (norm, "axis", -1);

  if (!ir_types_identical (x, ir_match_value (match, "z")->type))
    return ir_match_fail (match, "the two summands do not provably have one shape");
  if (x->rank < 1 || (axis != -1 && axis != x->rank - 1))
    return ir_match_fail (match, "the normalization is not over the last axis alone");
  if (norm->n_outputs > 1 && (ir_node_output (norm, 1) != NULL || ir_node_output (norm, 2) != NULL))
    return ir_match_fail (match, "mean or deviation are wanted too");
  if (ir_node_attr_int (norm, "stash_type", IR_DTYPE_FLOAT) != IR_DTYPE_FLOAT)
    return ir_match_fail (match, "the statistics are not in float");
  return ir_match_scales_last_axis (match, "g", "x") &&
         ir_match_scales_last_axis (match, "b", "x") && ir_match_is_float32 (match);
}

static gboolean
prepare_epsilon (IrMatch *match)
{
  IrContext *context = ir_match_context (match)->model->context;
  double epsilon = ir_node_attr_float (ir_match_root (match), "epsilon", 1e-5);

  ir_match_bind_attr (match, "epsilon", ir_attr_float (context, "epsilon", epsilon));
  return TRUE;
}

static const IrRule rules[] = {
  { "fuse-skip-layer-norm", "(LayerNormalization (Add ?x ?z) ?g ?b)",
    "(irscope.SkipLayerNormalization{epsilon=?epsilon} ?x ?z ?g ?b)", IR_CLASS_ROUNDING,
    "A residual that only LayerNormalization reads becomes part of it.",
    "(float[n,6] x, float[n,6] z, float[6] G, float[6] B) => (float[n,6] y) { s = Add (x, z)  y = "
    "LayerNormalization (s, G, B) }",
    when_skip, prepare_epsilon },
  { "fuse-late-skip-layer-norm", "(irscope.LayerNormalization@n (Add ?x ?z) ?g ?b)",
    "(irscope.SkipLayerNormalization{@n} ?x ?z ?g ?b)", IR_CLASS_ROUNDING,
    "A residual that only irscope's LayerNormalization reads becomes part of it.",
    "<ir_version: 8, opset_import: [\"\" : 13, \"irscope\" : 1]>\ng (float[n,6] x, float[n,6] z, "
    "float[6] G, float[6] B) => (float[n,6] y) { s = Add (x, z)  y = irscope.LayerNormalization "
    "(s, G, B) }",
    when_skip },
  { NULL },
};

const IrPass ir_pass_fuse_skip_layer_norm = {
  .name = "fuse-skip-layer-norm",
  .title = "Fuse residuals into LayerNormalization",
  .doc = "A sum of two values of one shape that only a LayerNormalization over the last axis reads "
         "becomes part of it.",
  .source = "ONNX Runtime SkipLayerNormFusion",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x, z -> Add -> LayerNormalization -> y\nx, z -> SkipLayerNormalization -> y",
  .rules = rules,
};
