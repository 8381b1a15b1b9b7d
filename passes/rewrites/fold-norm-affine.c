/* Folds a constant product or sum per channel into the BatchNormalization before it:
 *
 *     x --BatchNormalization(s, t, m, v)--> --Mul(k)--> --Add(a)--> y
 *     x --BatchNormalization(s k, t k + a, m, v)--> y
 *
 * For normalizations that no convolution stands before (those fold into it): DenseNet has one in
 * every layer, followed by Caffe's scale layer. The same broadcasting traps as in fold-conv-affine.
 * O(channels). Source: ONNX Runtime's ConvMulFusion and ConvAddFusion, by analogy. */
#include "config.h"

#include "passes/rule/rule.h"

#include <math.h>

/* ?c as one number per channel of the normalization, or NULL with the reason. */
static double *
channel_vector (IrMatch *match)
{
  const IrTensor *c = ir_match_constant (match, "c"), *s = ir_match_constant (match, "s");
  int rank = ir_value_rank (ir_match_value (match, "x")), c_rank = ir_tensor_rank (c);
  guint64 n = ir_tensor_n_elements (s);
  double *vector;

  if (rank < 2 || c_rank > rank || ir_tensor_n_elements (c) == 0)
    {
      ir_match_fail (match, "the rank of the value is not known, or less than the constant's");
      return NULL;
    }
  for (int i = 0; i < c_rank; i++)
    {
      gint64 dim = ir_tensor_dims (c)[i];
      if (dim != 1 && (rank - c_rank + i != 1 || dim != (gint64) n))
        {
          ir_match_fail (match, "?c varies along axis %d of the result, not along its channels",
                         rank - c_rank + i);
          return NULL;
        }
    }
  vector = g_new (double, MAX (n, 1));
  for (guint64 i = 0; i < n; i++)
    vector[i] = ir_tensor_get_double (c, ir_tensor_n_elements (c) == 1 ? 0 : i);
  return vector;
}

static gboolean
when (IrMatch *match)
{
  const IrNode *bn = ir_match_node (match, "bn");
  const IrTensor *s = ir_match_constant (match, "s"), *t = ir_match_constant (match, "t");
  g_autofree double *vector = NULL;

  if (ir_node_opset (bn) < 9 || ir_node_attr_int (bn, "training_mode", 0) != 0)
    return ir_match_fail (match, "the normalization is of an old opset, or in training mode");
  for (guint i = 1; i < bn->n_outputs; i++)
    if (bn->outputs[i] != NULL)
      return ir_match_fail (match, "the normalization has outputs of the training mode");
  if (ir_tensor_rank (s) != 1 || ir_tensor_n_elements (s) != ir_tensor_n_elements (t) ||
      ir_tensor_dtype (s) != ir_tensor_dtype (t) || !ir_dtype_is_float (ir_tensor_dtype (s)) ||
      ir_tensor_dtype (ir_match_constant (match, "c")) != ir_tensor_dtype (s))
    return ir_match_fail (match, "scale, bias and constant are not of one floating-point type");
  vector = channel_vector (match);
  return vector != NULL;
}

static gboolean
prepare (IrMatch *match)
{
  const IrTensor *s = ir_match_constant (match, "s"), *t = ir_match_constant (match, "t");
  gboolean scales = ir_op_is (ir_match_root (match), IR_OP_MUL);
  g_autofree double *vector = channel_vector (match);
  g_autoptr (IrTensor) s2 = NULL, t2 = NULL;
  gint64 n = ir_tensor_n_elements (s);

  if (vector == NULL)
    return FALSE;
  s2 = ir_tensor_new_alloc (ir_tensor_dtype (s), 1, &n, NULL);
  t2 = ir_tensor_new_alloc (ir_tensor_dtype (s), 1, &n, NULL);
  if (s2 == NULL || t2 == NULL)
    return ir_match_fail (match, "not enough memory for the new scale");
  for (gint64 i = 0; i < n; i++)
    {
      double scale = ir_tensor_get_double (s, i) * (scales ? vector[i] : 1);
      double bias = ir_tensor_get_double (t, i) * (scales ? vector[i] : 1) +
                    (scales ? 0 : vector[i]);

      ir_dtype_set_double (ir_tensor_dtype (s), ir_tensor_data_writable (s2), i, scale);
      ir_dtype_set_double (ir_tensor_dtype (s), ir_tensor_data_writable (t2), i, bias);
      if (isfinite (scale) != isfinite (ir_tensor_get_double (s2, i)) ||
          isfinite (bias) != isfinite (ir_tensor_get_double (t2, i)))
        return ir_match_fail (match, "a scale or bias would overflow its type");
    }
  if (scales)
    ir_match_bind_tensor (match, "s2", "scale", g_steal_pointer (&s2));
  else
    ir_match_bind_value (match, "s2", ir_match_value (match, "s"));
  ir_match_bind_tensor (match, "t2", "bias", g_steal_pointer (&t2));
  ir_match_note (match, "%" G_GINT64_FORMAT " channels", n);
  return TRUE;
}

#define BN          "(BatchNormalization@bn ?x ?s:const ?t:const ?m ?v)"
#define REPLACEMENT "(BatchNormalization{@bn} ?x ?s2 ?t2 ?m ?v)"
#define EXAMPLE(OP)                                                                                \
  "(float[n,4,5,3] x, float[4] S, float[4] T, float[4] M, float[4] V, float[4,1,1] C) => "         \
  "(float[n,4,5,3] y) { c = BatchNormalization (x, S, T, M, V)  y = " OP " }"

static const IrRule rules[] = {
  { "fold-norm-mul", "(Mul " BN " ?c:const)", REPLACEMENT, IR_CLASS_ROUNDING,
    "A constant factor per channel becomes part of scale and bias of the normalization.",
    EXAMPLE ("Mul (C, c)"), when, prepare },
  { "fold-norm-add", "(Add " BN " ?c:const)", REPLACEMENT, IR_CLASS_ROUNDING,
    "A constant addend per channel becomes part of the bias of the normalization.",
    EXAMPLE ("Add (c, C)"), when, prepare },
  { NULL },
};

const IrPass ir_pass_fold_norm_affine = {
  .name = "fold-norm-affine",
  .title = "Fold products and sums per channel into BatchNormalization",
  .doc = "A Mul or Add by a constant that is a scalar or has one element per channel becomes part "
         "of the normalization before it, where no convolution takes both.",
  .source = "Caffe's scale layers behind normalizations; ONNX Runtime ConvMulFusion by analogy",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> BatchNormalization (s, t) -> Mul k -> Add a -> y\n"
                  "x -> BatchNormalization (s * k, t * k + a) -> y",
  .rules = rules,
};
