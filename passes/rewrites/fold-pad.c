/* Padding becomes part of what reads it:
 *
 *     x --Pad p--> --Conv--> y                 x --Conv{pads + p}--> y
 *     x --Pad p--> --AveragePool--> y          x --AveragePool{pads + p}--> y
 *     x --Pad p, -inf--> --MaxPool--> y        x --MaxPool{pads + p}--> y
 *
 * Constant mode, no negative pads, none along batch and channels. Conv and AveragePool pad with 0;
 * AveragePool must count what it pads (count_include_pad) or have no pads of its own to be told
 * apart. What MaxPool pads never wins, so Pad must fill in what never wins either: -infinity, the
 * lowest number of an integer type, or what is not above anything that x can be (0 behind a Relu).
 * NaN wins either way. Indices, which count the padding of Pad, must not be used. Pooling must not
 * round up, as windows that begin in its own padding are left out; and its pads stay below the
 * kernel's size, so that each window sees some element. Source: ONNX Runtime PadFusion;
 * onnx/optimizer fuse_pad_into_conv, fuse_pad_into_pool. */
#include "config.h"

#include "passes/rule/rule.h"

#include <math.h>
#include <string.h>

/* The pads of a Pad, by an attribute (opset < 11) or a constant input; NULL if not known. */
static gint64 *
pads_of (const IrNode *pad, guint *n)
{
  const IrValue *input = ir_node_input (pad, 1);
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;
  const gint64 *attr;

  if (input == NULL)
    {
      attr = ir_node_attr_ints (pad, "pads", n);
      return attr != NULL ? g_memdup2 (attr, *n * sizeof *attr) : NULL;
    }
  if (tensor == NULL)
    return NULL;
  *n = (guint) ir_tensor_n_elements (tensor);
  gint64 *pads = g_new (gint64, MAX (*n, 1));
  for (guint i = 0; i < *n; i++)
    pads[i] = ir_tensor_get_int64 (tensor, i);
  return pads;
}

/* What is filled in; FALSE if that is not one constant number. */
static gboolean
fill_of (const IrNode *pad, double *fill)
{
  const IrValue *input = ir_node_input (pad, 2);
  const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;

  *fill = ir_node_attr_float (pad, "value", 0);
  if (strcmp (ir_node_attr_string (pad, "mode", "constant"), "constant") != 0)
    return FALSE;
  if (input == NULL)
    return TRUE;
  if (tensor == NULL || ir_tensor_n_elements (tensor) != 1)
    return FALSE;
  *fill = ir_tensor_get_double (tensor, 0);
  return TRUE;
}

static gboolean
pads_fit (IrMatch *match)
{
  const IrNode *pad = ir_match_node (match, "pad"), *window = ir_match_root (match);
  int rank = ir_value_rank (pad->inputs[0]);
  guint n = 0;
  g_autofree gint64 *pads = pads_of (pad, &n);

  if (pads == NULL || rank < 3 || n != 2 * (guint) rank || ir_node_input (pad, 3) != NULL)
    return ir_match_fail (match, "the pads are not known for every axis");
  for (guint i = 0; i < n; i++)
    if (pads[i] < 0 || (i % (guint) rank < 2 && pads[i] != 0))
      return ir_match_fail (match, "a pad is negative, or along batch or channels");
  if (strcmp (ir_node_attr_string (window, "auto_pad", "NOTSET"), "NOTSET") != 0)
    return ir_match_fail (match, "the pads of %s depend on its input", window->op_type);
  return TRUE;
}

static gboolean
zeros_fit (IrMatch *match)
{
  double fill;

  if (!fill_of (ir_match_node (match, "pad"), &fill) || fill != 0)
    return ir_match_fail (match, "it does not pad with zeros");
  return pads_fit (match);
}

/* The pads of a pool, with those of the Pad, for axis @i behind the channels. */
static void
sum_of_pads (const IrNode *window, const gint64 *pads, guint rank, guint i, gint64 sum[2])
{
  guint n = 0;
  const gint64 *own = ir_node_attr_ints (window, "pads", &n);

  for (guint end = 0; end < 2; end++)
    sum[end] = pads[end * rank + 2 + i] + (n == 2 * (rank - 2) ? own[end * (rank - 2) + i] : 0);
}

/* Whether each window sees an element of x: pads are below the kernel's size, and where there are
 * no elements at all there is no window. */
static gboolean
windows_see (IrMatch *match)
{
  const IrNode *pad = ir_match_node (match, "pad"), *pool = ir_match_root (match);
  const IrType *x = pad->inputs[0]->type;
  guint n = 0, n_kernel = 0, n_dilations = 0;
  g_autofree gint64 *pads = pads_of (pad, &n);
  const gint64 *kernel = ir_node_attr_ints (pool, "kernel_shape", &n_kernel);
  const gint64 *dilations = ir_node_attr_ints (pool, "dilations", &n_dilations);

  if (kernel == NULL || n_kernel + 2 != n / 2)
    return ir_match_fail (match, "the size of the kernel is not known");
  for (guint i = 0; i < n_kernel; i++)
    {
      gint64 sum[2];

      sum_of_pads (pool, pads, n / 2, i, sum);
      if (sum[0] + sum[1] == 0)
        continue;
      if (dilations != NULL && i < n_dilations && dilations[i] != 1)
        return ir_match_fail (match, "the kernel has holes, a window may see padding alone");
      if (sum[0] >= kernel[i] || sum[1] >= kernel[i])
        return ir_match_fail (match, "a pad is not below the kernel's size");
      if (sum[0] + sum[1] >= kernel[i] && !(ir_dim_is_known (x->dims[i + 2]) && x->dims[i + 2] > 0))
        return ir_match_fail (match,
                              "where there are no elements a window would see padding alone");
    }
  return TRUE;
}

/* A zero of a Pad is multiplied, one that the window itself pads is left out: not the same where
 * the weight is infinite or NaN, nor for a sum that stays -0. */
static gboolean
when_conv (IrMatch *match)
{
  const IrTensor *w = ir_match_constant (match, "w"), *b = ir_match_constant (match, "b");

  if (w == NULL)
    return ir_match_fail (match, "the weights are not constant, so that they may not be finite");
  for (guint64 i = 0; i < ir_tensor_n_elements (w); i++)
    if (!isfinite (ir_tensor_get_double (w, i)))
      return ir_match_fail (match, "a weight is %g, times 0 is NaN", ir_tensor_get_double (w, i));
  if (b == NULL && ir_match_value (match, "b") != NULL)
    return ir_match_fail (match, "the bias is not constant, so that it may be -0");
  for (guint64 i = 0; b != NULL && i < ir_tensor_n_elements (b); i++)
    if (ir_tensor_get_double (b, i) == 0 && signbit (ir_tensor_get_double (b, i)))
      return ir_match_fail (match, "a bias is -0, plus 0 is 0");
  return zeros_fit (match);
}

static gboolean
when_average (IrMatch *match)
{
  const IrNode *pool = ir_match_root (match);
  guint n = 0;
  const gint64 *own = ir_node_attr_ints (pool, "pads", &n);
  gboolean padded = FALSE;

  for (guint i = 0; i < n; i++)
    padded |= own[i] != 0;
  if (padded && ir_node_attr_int (pool, "count_include_pad", 0) == 0)
    return ir_match_fail (match, "AveragePool leaves its own pads out of the count");
  if (ir_node_attr_int (pool, "ceil_mode", 0) != 0)
    return ir_match_fail (match, "AveragePool rounds its size up");
  if (ir_node_opset (pool) < 7)
    return ir_match_fail (match, "AveragePool of this opset cannot count pads");
  return zeros_fit (match) && windows_see (match);
}

/* -- what x can be -- */

#define DEEPEST 16

/* Clip with constant bounds; with a maximum below the minimum it is the maximum that is left. */
static gboolean
least_of_clip (const IrNode *clip, double *least)
{
  const IrTensor *bounds[2] = { NULL };

  if (!ir_op_is (clip, IR_OP_CLIP))
    return FALSE;
  if (ir_node_opset (clip) < 11)
    {
      *least = MIN (ir_node_attr_float (clip, "min", -INFINITY),
                    ir_node_attr_float (clip, "max", INFINITY));
      return isfinite (*least);
    }
  for (guint i = 0; i < 2; i++)
    {
      const IrValue *input = ir_node_input (clip, i + 1);

      bounds[i] = input != NULL ? ir_value_constant (input) : NULL;
      if (input != NULL && (bounds[i] == NULL || ir_tensor_n_elements (bounds[i]) != 1))
        return FALSE;
    }
  if (bounds[0] == NULL)
    return FALSE;
  *least = ir_tensor_get_double (bounds[0], 0);
  if (bounds[1] != NULL)
    *least = MIN (*least, ir_tensor_get_double (bounds[1], 0));
  return isfinite (*least);
}

/* A number that no element of @value is below, NaN aside; FALSE if none is known. */
static gboolean
least_of (const IrValue *value, guint depth, double *least)
{
  const IrNode *node = value != NULL ? value->producer : NULL;
  guint n;

  if (node == NULL || depth > DEEPEST)
    return FALSE;
  *least = 0;
  IrOpFlags flags = node->op != NULL ? node->op->flags : 0;
  if ((flags & IR_OP_NOT_NEGATIVE) || least_of_clip (node, least))
    return TRUE;
  if (!(flags & IR_OP_MOVES) || node->n_inputs < 1)
    return FALSE;
  n = node->op->in.max < 0 ? node->n_inputs : 1;
  *least = INFINITY;
  for (guint i = 0; i < n; i++)
    {
      double one;

      if (!least_of (node->inputs[i], depth + 1, &one))
        return FALSE;
      *least = MIN (*least, one);
    }
  return TRUE;
}

/* The lowest number of a type: nothing is below. */
static gboolean
lowest_of_type (IrDtype dtype, double *lowest)
{
  static const struct
  {
    IrDtype dtype;
    double lowest;
  } integers[] = { { IR_DTYPE_INT8, G_MININT8 }, { IR_DTYPE_UINT8, 0 } };

  *lowest = -INFINITY;
  for (guint i = 0; i < G_N_ELEMENTS (integers); i++)
    if (integers[i].dtype == dtype)
      {
        *lowest = integers[i].lowest;
        return TRUE;
      }
  return ir_dtype_is_float (dtype);
}

static gboolean
max_fits (IrMatch *match)
{
  const IrNode *pool = ir_match_root (match);

  if (ir_node_attr_int (pool, "ceil_mode", 0) != 0)
    return ir_match_fail (match, "MaxPool rounds its size up");
  return pads_fit (match) && windows_see (match);
}

/* Zeros behind what is never negative are for a rule of its own: which 0 wins, 0 or -0, may
 * change. */
static gboolean
when_never_wins (IrMatch *match)
{
  const IrNode *pad = ir_match_node (match, "pad");
  IrDtype dtype = ir_value_dtype (pad->outputs[0]);
  double fill, lowest, least;

  if (!fill_of (pad, &fill))
    return ir_match_fail (match, "what is filled in is not one constant number");
  if (!lowest_of_type (dtype, &lowest))
    return ir_match_fail (match, "the lowest number of the type is not known");
  if (fill != lowest && !(ir_dtype_is_float (dtype) && fill != 0 &&
                          least_of (ir_match_value (match, "x"), 0, &least) && fill <= least))
    return ir_match_fail (match, "%g is filled in, and may win", fill);
  return max_fits (match);
}

static gboolean
when_zero_never_wins (IrMatch *match)
{
  const IrNode *pad = ir_match_node (match, "pad");
  double fill, least;

  if (!fill_of (pad, &fill) || fill != 0 || !ir_dtype_is_float (ir_value_dtype (pad->outputs[0])))
    return ir_match_fail (match, "it does not pad with zeros");
  if (!least_of (ir_match_value (match, "x"), 0, &least) || least < 0)
    return ir_match_fail (match, "what is padded may be negative, and lose to 0");
  return max_fits (match);
}

static gboolean
prepare_pads (IrMatch *match)
{
  const IrNode *pad = ir_match_node (match, "pad"), *window = ir_match_root (match);
  IrContext *context = ir_match_context (match)->model->context;
  guint n = 0, rank;
  g_autofree gint64 *pads = pads_of (pad, &n);
  gint64 sum[2 * IR_MAX_RANK] = { 0 };

  rank = n / 2;
  for (guint i = 0; i + 2 < rank; i++)
    {
      gint64 both[2];

      sum_of_pads (window, pads, rank, i, both);
      sum[i] = both[0];
      sum[rank - 2 + i] = both[1];
    }
  ir_match_bind_attr (match, "pads", ir_attr_ints (context, "pads", sum, 2 * (rank - 2)));
  return TRUE;
}

static gboolean
prepare_counted_pads (IrMatch *match)
{
  IrContext *context = ir_match_context (match)->model->context;

  ir_match_bind_attr (match, "count", ir_attr_int (context, "count_include_pad", 1));
  return prepare_pads (match);
}

#define PADDED "p = Constant <value = int64[8] {0,0,1,0,0,0,2,1}> ()  q = Pad (x, p)  "

static const IrRule rules[] = {
  { "fold-pad-conv", "(Conv@conv (Pad@pad ?x ?*pads) ?w ?b?)", "(Conv{@conv,pads=?pads} ?x ?w ?b)",
    IR_CLASS_EXACT, "Padding by zeros is part of the convolution.",
    "(float[n,3,5,4] x, float[4,3,3,3] W, float[4] B) => (float[n,4,6,3] y) { " PADDED
    "y = Conv (q, W, B) }",
    when_conv, prepare_pads },
  { "fold-pad-average-pool", "(AveragePool@pool (Pad@pad ?x ?*pads))",
    "(AveragePool{@pool,pads=?pads,count_include_pad=?count} ?x)", IR_CLASS_EXACT,
    "Padding by zeros is part of an average that counts it.",
    "(float[n,3,5,4] x) => (float[n,3,6,4] y) { " PADDED
    "y = AveragePool <kernel_shape: ints = [3,2]> (q) }",
    when_average, prepare_counted_pads },
  { "fold-pad-max-pool", "(MaxPool@pool (Pad@pad ?x ?*pads))", "(MaxPool{@pool,pads=?pads} ?x)",
    IR_CLASS_EXACT, "Padding by what never is the largest is part of the maximum.",
    "(float[n,3,5,4] x) => (float[n,3,6,6] y) { f = Constant <value = float {-inf}> ()  p = Constant "
    "<value = int64[8] {0,0,1,1,0,0,1,2}> ()  q = Pad (x, p, f)  y = MaxPool <kernel_shape: ints = "
    "[2,3], dilations: ints = [1,1], pads: ints = [0,1,0,0]> (q) }",
    when_never_wins, prepare_pads },
  { "fold-zero-pad-max-pool", "(MaxPool@pool (Pad@pad ?x ?*pads))",
    "(MaxPool{@pool,pads=?pads} ?x)", IR_CLASS_ROUNDING,
    "Padding by zeros of what is never negative is part of the maximum, but for the sign of 0.",
    "(float[n,3,5,4] x) => (float[n,3,6,5] y) { p = Constant <value = int64[8] {0,0,1,1,0,0,1,1}> ()  "
    "r = Relu (x)  q = Pad (r, p)  y = MaxPool <kernel_shape: ints = [2,2]> (q) }",
    when_zero_never_wins, prepare_pads },
  { NULL },
};

const IrPass ir_pass_fold_pad = {
  .name = "fold-pad",
  .title = "Fold padding",
  .doc =
      "A Pad by zeros becomes part of the Conv or AveragePool that alone reads it, and one by what "
      "never is the largest part of a MaxPool.",
  .source = "ONNX Runtime PadFusion; onnx/optimizer fuse_pad_into_conv, fuse_pad_into_pool",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "x -> Pad -> Conv -> y\nx -> Conv -> y",
  .rules = rules,
};
