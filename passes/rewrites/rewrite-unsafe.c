/* What holds for real numbers only: NaN, infinities, -0 and overflow may come out differently, so
 * these apply with the class unsafe alone:
 *
 *     exp (log x), log (exp x)         x           x < 0; overflow
 *     exp a * exp b                    exp (a + b) overflow
 *     x * 0                            0           NaN, infinities
 *     x - x                            0           NaN, infinities
 *     x / x                            1           0, NaN, infinities
 *     0 / x, MatMul (x, zeros)         0           0, NaN, infinities
 *     x = x                            true        NaN
 *     1 / (1 / x)                      x           0, infinities, rounding
 *     pow (x, 0.5)                     sqrt (x)    -0, -infinity
 *     ArgMax (Softmax x), (Log x) ...  ArgMax (x)  ties made by rounding, NaN
 *     MaxPool (Relu x)                 Relu (MaxPool x)   NaN
 *     Gelu (x)                         Gelu{tanh} (x)     an approximation
 *
 * Source: Grappler (aggressive), XLA floats_are_real, onnx/optimizer eliminate_nop_monotone_argmax,
 * ONNX Runtime GeluApproximation. */
#include "config.h"

#include "passes/rewrites/norm-match.h"

#include <string.h>

static gboolean
result_is_static (IrMatch *match)
{
  const IrType *type = ir_match_root (match)->outputs[0]->type;

  if (!ir_type_is_static (type) || !ir_dtype_is_float (type->dtype))
    return ir_match_fail (match, "the shape of the result is not known, or it is no float");
  return TRUE;
}

static gboolean
result_is_bool (IrMatch *match)
{
  const IrType *type = ir_match_root (match)->outputs[0]->type;

  if (!ir_type_is_static (type) || type->dtype != IR_DTYPE_BOOL)
    return ir_match_fail (match, "the shape of the result is not known");
  return TRUE;
}

static gboolean
when_zeros (IrMatch *match)
{
  const IrTensor *zeros = ir_match_constant (match, "zeros");
  guint64 n = ir_tensor_n_elements (zeros);

  for (guint64 i = 0; i < n; i++)
    if (ir_tensor_get_double (zeros, i) != 0)
      return ir_match_fail (match, "element %" G_GUINT64_FORMAT " of the constant is not 0", i);
  return result_is_static (match);
}

static gboolean
bind_filled (IrMatch *match, double number)
{
  const IrType *type = ir_match_root (match)->outputs[0]->type;
  guint64 n;
  IrTensor *tensor = ir_tensor_new_alloc (type->dtype, (guint) type->rank, type->dims, NULL);
  g_autoptr (IrTensor) one = ir_tensor_new_scalar (type->dtype, number);
  gsize size = ir_tensor_n_bytes (one);

  if (tensor == NULL || !ir_type_n_elements (type, &n))
    return ir_match_fail (match, "not enough memory for the result");
  for (guint64 i = 0; i < n; i++)
    memcpy ((guint8 *) ir_tensor_data_writable (tensor) + i * size, ir_tensor_data (one), size);
  ir_match_bind_tensor (match, "filled", "filled", tensor);
  return TRUE;
}

static gboolean
prepare_zeros (IrMatch *match)
{
  return bind_filled (match, 0);
}

static gboolean
prepare_ones (IrMatch *match)
{
  return bind_filled (match, 1);
}

/* The axis of both must be one, as Softmax orders elements along its own axis only. */
static gboolean
when_same_axis (IrMatch *match)
{
  const IrNode *arg = ir_match_root (match), *softmax = ir_match_node (match, "softmax");
  int rank = ir_value_rank (ir_match_value (match, "x"));
  gint64 a = ir_node_attr_int (arg, "axis", 0), b = ir_node_attr_int (softmax, "axis", -1);

  if (rank <= 0 || ir_node_opset (softmax) < 13)
    return ir_match_fail (match, "the number of axes is not known, or Softmax flattens");
  if ((a + rank) % rank != (b + rank) % rank)
    return ir_match_fail (match, "the two are along different axes, %d and %d", (int) a, (int) b);
  return TRUE;
}

static gboolean
when_exact_gelu (IrMatch *match)
{
  if (strcmp (ir_node_attr_string (ir_match_root (match), "approximate", "none"), "none") != 0)
    return ir_match_fail (match, "it is approximate already");
  return TRUE;
}

static gboolean
prepare_tanh (IrMatch *match)
{
  IrContext *context = ir_match_context (match)->model->context;

  ir_match_bind_attr (match, "approximate", ir_attr_string (context, "approximate", "tanh", -1));
  return TRUE;
}

#define EXAMPLE(BODY) "(float[n,4] x) => (float[n,4] y) { " BODY " }"
#define POSITIVE      "one = Constant <value = float {1.0}> ()  o = Abs (x)  a = Add (o, one)  "

static const IrRule rules[] = {
  { "exp-log", "(Exp (Log ?x))", "?x", IR_CLASS_UNSAFE, "exp (log x) is x for positive numbers.",
    EXAMPLE (POSITIVE "l = Log (a)  e = Exp (l)  y = Neg (e)") },
  { "log-exp", "(Log (Exp ?x))", "?x", IR_CLASS_UNSAFE, "log (exp x) is x without overflow.",
    EXAMPLE ("a = Neg (x)  e = Exp (a)  l = Log (e)  y = Neg (l)") },
  { "mul-exp", "(Mul (Exp ?a) (Exp ?b))", "(Exp (Add ?a ?b))", IR_CLASS_UNSAFE,
    "A product of exponentials is one of the sum, without overflow.",
    EXAMPLE ("n = Neg (x)  a = Sin (n)  e = Exp (x)  f = Exp (a)  y = Mul (e, f)") },
  { "mul-zero", "(Mul ?x:float 0)", "?filled", IR_CLASS_UNSAFE, "x * 0 is 0 for finite numbers.",
    "(float[3,4] x) => (float[3,4] y) { z = Constant <value = float {0.0}> ()  a = Abs (x)  m = Mul "
    "(a, z)  y = Add (x, m) }",
    result_is_static, prepare_zeros },
  { "sub-self", "(Sub ?x:float ?x)", "?filled", IR_CLASS_UNSAFE, "x - x is 0 for finite numbers.",
    "(float[3,4] x) => (float[3,4] y) { s = Sub (x, x)  y = Add (x, s) }", result_is_static,
    prepare_zeros },
  { "div-self", "(Div ?x:float ?x)", "?filled", IR_CLASS_UNSAFE,
    "x / x is 1 for finite numbers but 0.",
    "(float[3,4] x) => (float[3,4] y) { o = Constant <value = float {1.0}> ()  b = Abs (x)  a = Add "
    "(b, o)  s = Div (a, a)  y = Add (x, s) }",
    result_is_static, prepare_ones },
  { "zero-over", "(Div 0 ?x:float)", "?filled", IR_CLASS_UNSAFE, "0 / x is 0 unless x is 0 or NaN.",
    "(float[3,4] x) => (float[3,4] y) { z = Constant <value = float {0.0}> ()  o = Constant <value = "
    "float {1.0}> ()  b = Abs (x)  a = Add (b, o)  q = Div (z, a)  y = Add (x, q) }",
    result_is_static, prepare_zeros },
  { "reciprocal-twice", "(Reciprocal (Reciprocal ?x))", "?x", IR_CLASS_UNSAFE,
    "1 / (1 / x) is x but for rounding, 0 and infinities.",
    EXAMPLE (POSITIVE "r = Reciprocal (a)  s = Reciprocal (r)  y = Neg (s)") },
  { "equal-self", "(Equal ?x:float ?x)", "?filled", IR_CLASS_UNSAFE,
    "x = x is true unless x is NaN.",
    "(float[3,4] x) => (bool[3,4] y) { e = Equal (x, x)  y = Not (e) }", result_is_bool,
    prepare_ones },
  { "matmul-zero", "(MatMul ?x:float ?zeros:const)", "?filled", IR_CLASS_UNSAFE,
    "A product with a matrix of zeros is 0 for finite numbers.",
    "(float[3,4] x) => (float[3,4] y) { z = Constant <value = float[4,4] {0, 0, 0, 0, 0, 0, 0, 0, 0, "
    "0, 0, 0, 0, 0, 0, 0}> ()  m = MatMul (x, z)  y = Add (x, m) }",
    when_zeros, prepare_zeros },
  { "pow-half", "(Pow ?x:float 0.5)", "(Sqrt ?x)", IR_CLASS_UNSAFE,
    "x^0.5 is the root but for -0 and -infinity.",
    EXAMPLE ("h = Constant <value = float {0.5}> ()  " POSITIVE "y = Pow (a, h)") },
  { "argmax-softmax", "(ArgMax@arg (Softmax|LogSoftmax@softmax ?x))", "(ArgMax{@arg} ?x)",
    IR_CLASS_UNSAFE, "The largest element stays the largest behind Softmax, but for ties.",
    "(float[n,4] x) => (int64[n,1] y) { s = Softmax (x)  y = ArgMax <axis: int = 1> (s) }",
    when_same_axis },
  { "argmax-monotone", "(ArgMax@arg (Exp|Log|Sqrt|Sigmoid|Tanh ?x))", "(ArgMax{@arg} ?x)",
    IR_CLASS_UNSAFE,
    "The largest element stays the largest behind a function that grows, but for ties that rounding "
    "makes and for NaN outside its domain.",
    "(float[n,4] x) => (int64[n,1] y) { o = Constant <value = float {1.0}> ()  a = Abs (x)  p = Add "
    "(a, o)  s = Log (p)  y = ArgMax <axis: int = 1> (s) }" },
  { "max-pool-relu", "(MaxPool@pool (Relu ?x))", "(Relu (MaxPool{@pool} ?x))", IR_CLASS_UNSAFE,
    "Relu behind MaxPool has less to do; NaN may differ.",
    "(float[n,2,4,4] x) => (float[n,2,3,3] y) { r = Relu (x)  y = MaxPool <kernel_shape: ints = "
    "[2,2]> (r) }" },
  { "gelu-by-tanh", "(Gelu@gelu ?x)", "(Gelu{approximate=?approximate} ?x)", IR_CLASS_UNSAFE,
    "Gelu by its approximation with Tanh: up to 0.0005 off.",
    "<ir_version: 10, opset_import: [\"\" : 20]>\ng (float[n,4] x) => (float[n,4] y) { a = Gelu (x) "
    " z = Constant <value = float {0.01}> ()  b = Mul (a, z)  o = Constant <value = float {100.0}> "
    "()  y = Add (b, o) }",
    when_exact_gelu, prepare_tanh },
  { NULL },
};

const IrPass ir_pass_rewrite_unsafe = {
  .name = "rewrite-unsafe",
  .title = "Rewrite as if numbers were real",
  .doc =
      "Rewrites that hold for real numbers: what they do to NaN, infinities, -0 and overflow may "
      "differ. They apply with the class unsafe only.",
  .source = "Grappler aggressive; XLA floats_are_real; onnx/optimizer; ONNX Runtime "
            "GeluApproximation",
  .step_class = IR_CLASS_UNSAFE,
  .before_after = "x -> Exp -> Log -> y\nx",
  .rules = rules,
};
