/* Folds an inference BatchNormalization into the convolution before it:
 *
 *     x --Conv(W, b)--> c --BatchNormalization(s, beta, m, v)--> y
 *     x --Conv(W s / sqrt(v + e), (b - m) s / sqrt(v + e) + beta)--> y
 *
 * Per output channel: axis 0 of W, axis 1 within each group for ConvTranspose. The arithmetic is in
 * double, epsilon added before the root, and rounded once. W is never changed in place, others may
 * share it. Cost: O(elements of W). Source: onnx/optimizer fuse_bn_into_conv; ONNX Runtime
 * ConvBNFusion; Ioffe and Szegedy 2015. */
#include "config.h"

#include "passes/rewrites/per-channel.h"

#include <math.h>

static gboolean
is_channel_constant (IrMatch *match, const IrConvParts *parts, const char *variable)
{
  const IrTensor *tensor = ir_match_constant (match, variable);

  if (ir_tensor_rank (tensor) == 1 && ir_tensor_dims (tensor)[0] == parts->n_channels &&
      ir_tensor_dtype (tensor) == ir_tensor_dtype (parts->w))
    return TRUE;
  return ir_match_fail (
      match, "?%s is not a vector with an element per channel, of the weight's type", variable);
}

/* Before opset 14 training is told by the number of outputs, before 7 by is_test. */
static gboolean
is_inference (IrMatch *match, const IrNode *bn)
{
  gint64 opset = ir_node_opset (bn);

  if (opset < 7 && ir_node_attr_int (bn, "is_test", 0) == 0)
    return ir_match_fail (match, "BatchNormalization is in training mode (is_test is 0)");
  if (ir_node_attr_int (bn, "training_mode", 0) != 0)
    return ir_match_fail (match, "BatchNormalization is in training mode");
  if (opset < 9 && ir_node_attr_int (bn, "spatial", 1) == 0)
    return ir_match_fail (match, "BatchNormalization is not per channel (spatial is 0)");
  for (guint i = 1; i < bn->n_outputs; i++)
    if (bn->outputs[i] != NULL)
      return ir_match_fail (match, "BatchNormalization has outputs of the training mode");
  return TRUE;
}

static gboolean
when (IrMatch *match)
{
  static const char *const vectors[] = { "s", "beta", "m", "v" };
  double epsilon = ir_node_attr_float (ir_match_node (match, "bn"), "epsilon", 1e-5f);
  IrConvParts parts;

  if (!is_inference (match, ir_match_node (match, "bn")) || !ir_conv_parts (match, "conv", &parts))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (vectors); i++)
    if (!is_channel_constant (match, &parts, vectors[i]))
      return FALSE;
  for (gint64 i = 0; i < parts.n_channels; i++)
    {
      double v = ir_tensor_get_double (ir_match_constant (match, "v"), i);
      if (!(v + epsilon > 0) || !isfinite (v))
        return ir_match_fail (match, "the variance of channel %" G_GINT64_FORMAT " is %g", i, v);
    }
  return TRUE;
}

static gboolean
prepare (IrMatch *match)
{
  double epsilon = ir_node_attr_float (ir_match_node (match, "bn"), "epsilon", 1e-5f);
  g_autofree double *scale = NULL, *bias = NULL;
  IrConvParts parts;

  if (!ir_conv_parts (match, "conv", &parts))
    return FALSE;
  scale = g_new (double, MAX (parts.n_channels, 1));
  bias = ir_conv_bias (&parts);
  for (gint64 i = 0; i < parts.n_channels; i++)
    {
      double v = ir_tensor_get_double (ir_match_constant (match, "v"), i);
      double m = ir_tensor_get_double (ir_match_constant (match, "m"), i);

      scale[i] = ir_tensor_get_double (ir_match_constant (match, "s"), i) / sqrt (v + epsilon);
      bias[i] = (bias[i] - m) * scale[i] +
                ir_tensor_get_double (ir_match_constant (match, "beta"), i);
    }
  ir_match_note (match, "%" G_GINT64_FORMAT " channels scaled by s / sqrt (v + %g)",
                 parts.n_channels, epsilon);
  return ir_conv_bind (match, &parts, scale, bias);
}

static const IrRule rules[] = {
  { "fold-conv-bn",
    "(BatchNormalization@bn (Conv|ConvTranspose@conv ?x ?w:const ?b?:const) ?s:const ?beta:const "
    "?m:const ?v:const)",
    "(@conv{@conv} ?x ?w2 ?b2)", IR_CLASS_ROUNDING,
    "A BatchNormalization in inference mode becomes part of the weight and bias of the convolution "
    "that it alone reads.",
    "(float[n,3,7,6] x, float[4,3,3,3] W, float[4] B, float[4] S, float[4] T, float[4] M, float[4] "
    "V) => (float[n,4,5,4] y) { c = Conv (x, W, B)  y = BatchNormalization (c, S, T, M, V) }",
    when, prepare },
  { NULL },
};

const IrPass ir_pass_fold_conv_bn = {
  .name = "fold-conv-bn",
  .title = "Fold BatchNormalization into Conv",
  .doc = "Scales weight and bias of a convolution by gamma / sqrt (variance + epsilon) and removes "
         "the BatchNormalization behind it. Only in inference mode, and only if nobody else reads "
         "the convolution.",
  .source = "onnx/optimizer fuse_bn_into_conv; ONNX Runtime ConvBNFusion; Ioffe and Szegedy 2015",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Conv (W, b) -> BatchNormalization -> y\n"
                  "x -> Conv (W * k, (b - mean) * k + beta) -> y      k = gamma / sqrt (var + eps)",
  .rules = rules,
};
