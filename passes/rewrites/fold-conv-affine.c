/* Folds a constant product or sum per channel into the convolution before it:
 *
 *     x --Conv(W, b)--> c --Mul(s)--> --Add(t)--> y        x --Conv(W s, b s + t)--> y
 *
 * The trap is numpy's broadcasting: a vector of length M lines up with the last axis, not with the
 * channels, so the constant must be a scalar or vary along axis 1 of the result alone, and must not
 * make the result bigger. Caffe's scale layers reach ONNX in this form. Cost: O(elements of W).
 * Source: ONNX Runtime ConvMulFusion, ConvAddFusion; onnx/optimizer fuse_add_bias_into_conv. */
#include "config.h"

#include "passes/rewrites/per-channel.h"

#include <string.h>

/* Before opset 7 the attributes broadcast and axis say how operands line up. */
static gboolean
when (IrMatch *match)
{
  g_autofree double *vector = NULL;
  IrConvParts parts;

  if (ir_node_opset (ir_match_root (match)) < 7)
    return ir_match_fail (match, "broadcasting of opset %d is by attributes",
                          (int) ir_node_opset (ir_match_root (match)));
  if (!ir_conv_parts (match, "conv", &parts))
    return FALSE;
  if (ir_tensor_dtype (ir_match_constant (match, "c")) != ir_tensor_dtype (parts.w))
    return ir_match_fail (match, "?c is of another type than the weight");
  vector = ir_conv_channel_vector (match, &parts, "c");
  return vector != NULL;
}

/* y = conv * scale + shift * c, by operator and side. */
static gboolean
fold (IrMatch *match, gboolean scales, double conv_sign, double c_sign)
{
  g_autofree double *vector = NULL, *bias = NULL, *scale = NULL;
  const char *op = ir_match_root (match)->op_type;
  gboolean divides = strcmp (op, "Div") == 0;
  IrConvParts parts;

  if (!ir_conv_parts (match, "conv", &parts) ||
      (vector = ir_conv_channel_vector (match, &parts, "c")) == NULL)
    return FALSE;
  bias = ir_conv_bias (&parts);
  if (scales || conv_sign < 0)
    scale = g_new (double, MAX (parts.n_channels, 1));
  for (gint64 i = 0; i < parts.n_channels; i++)
    {
      double factor = !scales ? conv_sign : divides ? 1 / vector[i] : vector[i];

      if (scale != NULL)
        scale[i] = factor;
      bias[i] = bias[i] * factor + (scales ? 0 : c_sign * vector[i]);
    }
  ir_match_note (match, "%s of %" G_GINT64_FORMAT " channels", op, parts.n_channels);
  return ir_conv_bind (match, &parts, scale, bias);
}

static gboolean
prepare_product (IrMatch *match)
{
  return fold (match, TRUE, 1, 0);
}

static gboolean
prepare_sum (IrMatch *match)
{
  return fold (match, FALSE, 1, 1);
}

static gboolean
prepare_difference (IrMatch *match)
{
  return fold (match, FALSE, 1, -1);
}

static gboolean
prepare_reversed_difference (IrMatch *match)
{
  return fold (match, FALSE, -1, 1);
}

#define CONV        "(Conv|ConvTranspose@conv ?x ?w:const ?b?:const)"
#define REPLACEMENT "(@conv{@conv} ?x ?w2 ?b2)"
#define EXAMPLE(OP)                                                                                \
  "(float[n,3,7,6] x, float[4,3,3,3] W, float[4] B, float[4,1,1] V) => (float[n,4,5,4] y) "        \
  "{ c = Conv (x, W, B)  y = " OP " }"

static const IrRule rules[] = {
  { "fold-conv-mul", "(Mul " CONV " ?c:const)", REPLACEMENT, IR_CLASS_ROUNDING,
    "A constant factor per channel becomes part of the weight.", EXAMPLE ("Mul (c, V)"), when,
    prepare_product },
  { "fold-conv-div", "(Div " CONV " ?c:const)", REPLACEMENT, IR_CLASS_ROUNDING,
    "A constant divisor per channel becomes part of the weight.", EXAMPLE ("Div (c, V)"), when,
    prepare_product },
  { "fold-conv-add", "(Add " CONV " ?c:const)", REPLACEMENT, IR_CLASS_ROUNDING,
    "A constant addend per channel becomes part of the bias.", EXAMPLE ("Add (V, c)"), when,
    prepare_sum },
  { "fold-conv-sub", "(Sub " CONV " ?c:const)", REPLACEMENT, IR_CLASS_ROUNDING,
    "A constant subtrahend per channel becomes part of the bias.", EXAMPLE ("Sub (c, V)"), when,
    prepare_difference },
  { "fold-conv-sub-from", "(Sub ?c:const " CONV ")", REPLACEMENT, IR_CLASS_ROUNDING,
    "A convolution subtracted from a constant per channel is one with the opposite weight.",
    EXAMPLE ("Sub (V, c)"), when, prepare_reversed_difference },
  { NULL },
};

const IrPass ir_pass_fold_conv_affine = {
  .name = "fold-conv-affine",
  .title = "Fold products and sums per channel into Conv",
  .doc = "A Mul, Div, Add or Sub by a constant that is a scalar or has one element per channel "
         "becomes part of weight and bias of the convolution before it.",
  .source = "ONNX Runtime ConvMulFusion, ConvAddFusion; onnx/optimizer fuse_add_bias_into_conv",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Conv (W, b) -> Mul s -> Add t -> y\n"
                  "x -> Conv (W * s, b * s + t) -> y",
  .rules = rules,
};
