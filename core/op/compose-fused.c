/* Products and convolutions that ONNX Runtime's optimizer fuses, and other operators of
 * com.microsoft that are a few of the standard in a row. */
#include "config.h"

#include "core/op/compose-util.h"

#include <math.h>
#include <string.h>

/* -- shared -- */

IrPart *
ir_compose_transpose (IrCompose *c, IrPart *x, guint n, const gint64 *perm)
{
  ir_compose_set_ints (c, "perm", n, perm);
  return ir_compose (c, IR_OP_TRANSPOSE, 1, x);
}

IrPart *
ir_compose_channels_first (IrCompose *c, IrPart *x)
{
  guint rank = ir_compose_rank (c, x);
  gint64 perm[IR_MAX_RANK] = { 0, rank - 1 };

  for (guint i = 2; i < rank; i++)
    perm[i] = i - 1;
  return ir_compose_transpose (c, x, rank, perm);
}

IrPart *
ir_compose_channels_last (IrCompose *c, IrPart *x)
{
  guint rank = ir_compose_rank (c, x);
  gint64 perm[IR_MAX_RANK] = { 0 };

  for (guint i = 1; i < rank; i++)
    perm[i] = i + 1 < rank ? i + 1 : 1;
  return ir_compose_transpose (c, x, rank, perm);
}

IrPart *
ir_compose_reshape (IrCompose *c, IrPart *x, guint n, const gint64 *dims)
{
  return ir_compose (c, IR_OP_RESHAPE, 2, x, ir_compose_ints (c, n, dims));
}

IrPart *
ir_compose_slice (IrCompose *c, IrPart *x, gint64 axis, gint64 start, gint64 end)
{
  return ir_compose (c, IR_OP_SLICE, 4, x, ir_compose_ints (c, 1, &start),
                     ir_compose_ints (c, 1, &end), ir_compose_ints (c, 1, &axis));
}

IrPart *
ir_compose_times (IrCompose *c, IrPart *x, double factor)
{
  if (factor == 1)
    return x;
  return ir_compose (c, IR_OP_MUL, 2, x, ir_compose_number (c, ir_compose_dtype (x), factor));
}

/* -- FusedMatMul -- */

/* @x with its last two axes swapped, and before that its first axis brought behind those of the
 * batch. A vector stays. */
static IrPart *
turned (IrCompose *c, IrPart *x, gboolean swap, gboolean batch)
{
  guint rank = ir_compose_rank (c, x);
  gint64 perm[IR_MAX_RANK];

  if (rank < 2 || (!swap && !batch))
    return x;
  for (guint i = 0; i < rank; i++)
    perm[i] = i;
  for (guint i = 0; batch && i + 1 < rank; i++)
    perm[i] = i + 2 < rank ? i + 1 : 0;
  if (swap)
    {
      gint64 last = perm[rank - 1];
      perm[rank - 1] = perm[rank - 2];
      perm[rank - 2] = last;
    }
  return ir_compose_transpose (c, x, rank, perm);
}

/* Y = alpha * A * B. */
void
ir_compose_fused_matmul (IrCompose *c)
{
  IrPart *a = turned (c, ir_compose_input (c, 0), ir_call_int (c->call, "transA", 0) != 0,
                      ir_call_int (c->call, "transBatchA", 0) != 0);
  IrPart *b = turned (c, ir_compose_input (c, 1), ir_call_int (c->call, "transB", 0) != 0,
                      ir_call_int (c->call, "transBatchB", 0) != 0);

  ir_compose_result (c, 0,
                     ir_compose_times (c, ir_compose (c, IR_OP_MATMUL, 2, a, b),
                                       ir_call_float (c->call, "alpha", 1)));
}

/* -- FusedConv and FusedGemm -- */

/* The operator of our own that does @base and the activation @name in one, or @base. */
static const IrOp *
fused_row (const char *base, const char *name)
{
  g_autofree char *both = g_strconcat (base, name, NULL);

  return ir_op_find ("irscope", both);
}

typedef struct
{
  const char *name;
  const char *alpha, *beta; /* (nullable) attributes that its parameters become */
} Activation;

static const Activation activations[] = {
  { "Relu", NULL, NULL },       { "Tanh", NULL, NULL },
  { "Sigmoid", NULL, NULL },    { "LeakyRelu", "alpha", NULL },
  { "Elu", "alpha", NULL },     { "HardSigmoid", "alpha", "beta" },
  { "Selu", "alpha", "gamma" }, { "Softplus", NULL, NULL },
  { "Softsign", NULL, NULL },   { "ThresholdedRelu", "alpha", NULL },
  { "HardSwish", NULL, NULL },
};

static const Activation *
activation_of (IrCompose *c, const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (activations); i++)
    if (strcmp (activations[i].name, name) == 0)
      return &activations[i];
  ir_compose_fail (c, IR_OP_ERROR_ATTRIBUTE, "activation is %s, which is none that is fused", name);
  return NULL;
}

static IrPart *
activate (IrCompose *c, IrPart *x, const Activation *activation, guint n, const float *parameters)
{
  if (activation == NULL)
    return x;
  if (activation->alpha != NULL && n > 0)
    ir_compose_set_float (c, activation->alpha, (double) parameters[0]);
  if (activation->beta != NULL && n > 1)
    ir_compose_set_float (c, activation->beta, (double) parameters[1]);
  return ir_compose (c, ir_op_find (NULL, activation->name)->id, 1, x);
}

/* Conv with the addend and the activation, by the row of our own where there is one. */
static IrPart *
conv (IrCompose *c, const char *name, guint n, const float *parameters, gboolean *activated)
{
  IrPart *addend = ir_compose_input (c, 3), *inputs[6] = { NULL }, *y;
  const IrOp *row = fused_row (addend != NULL ? "ConvAdd" : "Conv", name);
  gboolean clips = strcmp (name, "Clip") == 0 && n == 2;
  guint n_inputs = addend != NULL ? 4 : 3;

  *activated = row != NULL && (strcmp (name, "Clip") != 0 || clips);
  if (!*activated)
    row = addend != NULL ? fused_row ("ConvAdd", "") : ir_op_by_id (IR_OP_CONV);
  for (guint i = 0; i < n_inputs; i++)
    inputs[i] = ir_compose_input (c, i);
  for (guint i = 0; *activated && clips && i < 2; i++)
    inputs[n_inputs++] = ir_compose_number (c, ir_compose_dtype (inputs[0]),
                                            (double) parameters[i]);
  if (*activated && strcmp (name, "LeakyRelu") == 0 && n > 0)
    ir_compose_set_float (c, "activation_alpha", (double) parameters[0]);
  ir_compose_pass_attrs (c, row->id);
  ir_compose_many (c, row->id, n_inputs, inputs, 1, &y);
  return y;
}

/* Y = activation (Conv (X, W, B) + Z). */
void
ir_compose_fused_conv (IrCompose *c)
{
  const char *name = ir_call_string (c->call, "activation", "");
  const IrAttr *list = ir_call_attr (c->call, "activation_params");
  guint n = list != NULL && list->kind == IR_ATTR_FLOATS ? list->n : 0;
  const float *parameters = n > 0 ? list->floats : NULL;
  gboolean activated = FALSE;
  IrPart *y = conv (c, name, n, parameters, &activated);

  if (!activated && *name != '\0')
    y = activate (c, y, activation_of (c, name), n, parameters);
  ir_compose_result (c, 0, y);
}

/* Y = activation (alpha * A * B + beta * C). */
void
ir_compose_fused_gemm (IrCompose *c)
{
  const char *name = ir_call_string (c->call, "activation", "");
  const char *second = strcmp (name, "Selu") == 0 ? "activation_gamma" : "activation_beta";
  const float parameters[] = { (float) ir_call_float (c->call, "activation_alpha", 0.01f),
                               (float) ir_call_float (c->call, second, 0) };
  guint n = ir_call_attr (c->call, "activation_alpha") == NULL ? 0
            : ir_call_attr (c->call, second) == NULL           ? 1
                                                               : 2;
  const IrOp *row = *name != '\0' && strcmp (name, "Clip") != 0 ? fused_row ("Gemm", name) : NULL;
  gboolean activated = row != NULL;

  if (!activated)
    row = ir_op_by_id (IR_OP_GEMM);
  else if (n > 0 && ir_op_attr (row, "activation_alpha") != NULL)
    ir_compose_set_float (c, "activation_alpha", (double) parameters[0]);
  for (guint i = 0; i < 4; i++)
    {
      static const char *const own[] = { "alpha", "beta", "transA", "transB" };
      const IrAttr *attr = ir_call_attr (c->call, own[i]);
      if (attr != NULL)
        g_ptr_array_add (c->attrs, (gpointer) attr);
    }
  IrPart *y = ir_compose (c, row->id, 3, ir_compose_input (c, 0), ir_compose_input (c, 1),
                          ir_compose_input (c, 2));
  if (!activated && *name != '\0')
    y = activate (c, y, activation_of (c, name), n, parameters);
  ir_compose_result (c, 0, y);
}

/* -- the standard's in another form -- */

/* X, W, pads as an input, B. */
void
ir_compose_conv_transpose_pads (IrCompose *c)
{
  IrPart *pads = ir_compose_input (c, 2);

  if (pads != NULL && pads->tensor == NULL)
    {
      c->unknown = TRUE;
      return;
    }
  ir_compose_pass_attrs (c, IR_OP_CONV_TRANSPOSE);
  if (pads != NULL)
    {
      gint64 values[2 * IR_MAX_RANK];
      guint n = (guint) MIN (ir_tensor_n_elements (pads->tensor), G_N_ELEMENTS (values));

      for (guint i = 0; i < n; i++)
        values[i] = ir_tensor_get_int64 (pads->tensor, i);
      ir_compose_set_ints (c, "pads", n, values);
    }
  ir_compose_result (c, 0,
                     ir_compose (c, IR_OP_CONV_TRANSPOSE, 3, ir_compose_input (c, 0),
                                 ir_compose_input (c, 1), ir_compose_input (c, 3)));
}

void
ir_compose_expand_dims (IrCompose *c)
{
  const gint64 one = 1;
  IrPart *axis = ir_compose_input (c, 1);

  ir_compose_set_int (c, "to", IR_DTYPE_INT64);
  axis = ir_compose_reshape (c, ir_compose (c, IR_OP_CAST, 1, axis), 1, &one);
  ir_compose_result (c, 0, ir_compose (c, IR_OP_UNSQUEEZE, 2, ir_compose_input (c, 0), axis));
}

/* start, limit, and a step of 1 where none is given; numbers may be of rank 1. */
void
ir_compose_range (IrCompose *c)
{
  IrPart *inputs[3];

  for (guint i = 0; i < 3; i++)
    inputs[i] = i < 2 || ir_compose_input (c, i) != NULL
                    ? ir_compose_reshape (c, ir_compose_input (c, i), 0, (gint64[]){ 0 })
                    : ir_compose_number (c, ir_compose_dtype (ir_compose_input (c, 0)), 1);
  ir_compose_result (c, 0, ir_compose (c, IR_OP_RANGE, 3, inputs[0], inputs[1], inputs[2]));
}

void
ir_compose_grid_sample (IrCompose *c)
{
  const char *mode = ir_call_string (c->call, "mode", "bilinear");

  ir_compose_set_int (c, "align_corners", ir_call_int (c->call, "align_corners", 0));
  ir_compose_set_string (c, "padding_mode", ir_call_string (c->call, "padding_mode", "zeros"));
  ir_compose_set_string (c, "mode",
                         strcmp (mode, "bilinear") == 0  ? "linear"
                         : strcmp (mode, "bicubic") == 0 ? "cubic"
                                                         : mode);
  ir_compose_result (
      c, 0, ir_compose (c, IR_OP_GRID_SAMPLE, 2, ir_compose_input (c, 0), ir_compose_input (c, 1)));
}

/* Distances of the rows of A [M, K] and B [N, K]: the squares are |a|² + |b|² - 2 ab, but computed by
 * the differences, which do not cancel. */
void
ir_compose_cdist (IrCompose *c)
{
  const char *metric = ir_call_string (c->call, "metric", "sqeuclidean");
  const gint64 first = 0, second = 1, last = 2;
  IrPart *a = ir_compose (c, IR_OP_UNSQUEEZE, 2, ir_compose_input (c, 0),
                          ir_compose_ints (c, 1, &second));
  IrPart *b = ir_compose (c, IR_OP_UNSQUEEZE, 2, ir_compose_input (c, 1),
                          ir_compose_ints (c, 1, &first));
  IrPart *d = ir_compose (c, IR_OP_SUB, 2, a, b);

  if (strcmp (metric, "sqeuclidean") != 0 && strcmp (metric, "euclidean") != 0)
    ir_compose_fail (c, IR_OP_ERROR_ATTRIBUTE, "metric is %s, needed is euclidean or sqeuclidean",
                     metric);
  ir_compose_set_int (c, "keepdims", 0);
  d = ir_compose (c, IR_OP_REDUCE_SUM_SQUARE, 2, d, ir_compose_ints (c, 1, &last));
  if (strcmp (metric, "euclidean") == 0)
    d = ir_compose (c, IR_OP_SQRT, 1, d);
  ir_compose_result (c, 0, d);
}

/* Pads may be [1, 2 * rank]. */
void
ir_compose_pad (IrCompose *c)
{
  const gint64 rest = -1;
  IrPart *pads = ir_compose_reshape (c, ir_compose_input (c, 1), 1, &rest);
  IrPart *value = ir_compose_input (c, 2);

  if (value != NULL)
    value = ir_compose_reshape (c, value, 0, (gint64[]){ 0 });
  ir_compose_set_string (c, "mode", ir_call_string (c->call, "mode", "constant"));
  ir_compose_result (c, 0, ir_compose (c, IR_OP_PAD, 3, ir_compose_input (c, 0), pads, value));
}

/* -- the gates of some networks -- */

/* X times the scale, or alpha where none is given, and that times its Sigmoid. */
void
ir_compose_scaled_silu (IrCompose *c)
{
  IrPart *x = ir_compose_input (c, 0), *scale = ir_compose_input (c, 1), *y;

  if (scale != NULL)
    y = ir_compose (c, IR_OP_MUL, 2, x, ir_compose (c, IR_OP_CAST_LIKE, 2, scale, x));
  else
    y = ir_compose_times (c, x, ir_call_float (c->call, "alpha", 1));
  ir_compose_result (c, 0, ir_compose (c, IR_OP_LATE_SWISH, 1, y));
}

/* RMSNormalization of X, times the activation of the gate. */
void
ir_compose_gated_rms_norm (IrCompose *c)
{
  const char *name = ir_call_string (c->call, "activation", "silu");
  gboolean silu = strcmp (name, "silu") == 0 || strcmp (name, "swish") == 0;

  if (!silu && strcmp (name, "sigmoid") != 0)
    ir_compose_fail (c, IR_OP_ERROR_ATTRIBUTE, "activation is %s, needed is silu or sigmoid", name);
  ir_compose_set_float (c, "epsilon", ir_call_float (c->call, "epsilon", 1e-5f));
  IrPart *y = ir_compose (c, IR_OP_LATE_RMS_NORMALIZATION, 2, ir_compose_input (c, 0),
                          ir_compose_input (c, 1));
  IrPart *gate = ir_compose (c, silu ? IR_OP_LATE_SWISH : IR_OP_SIGMOID, 1,
                             ir_compose_input (c, 2));
  ir_compose_result (c, 0, ir_compose (c, IR_OP_MUL, 2, y, gate));
}

/* Different elements in the order in which they first stand, which of them each is, and how often they
 * stand there. */
void
ir_compose_unique (IrCompose *c)
{
  IrPart *x = ir_compose_input (c, 0), *outputs[4];

  ir_compose_set_int (c, "sorted", 0);
  ir_compose_many (c, IR_OP_UNIQUE, 1, &x, 4, outputs);
  ir_compose_result (c, 0, outputs[0]);
  ir_compose_result (c, 1, outputs[2]);
  ir_compose_result (c, 2, outputs[3]);
}

void
ir_compose_sample_op (IrCompose *c)
{
  ir_compose_result (c, 0, ir_compose (c, IR_OP_IDENTITY, 1, ir_compose_input (c, 0)));
}

/* X + gate * Y, where the gate has one number for each row. */
void
ir_compose_gated_add (IrCompose *c)
{
  if (ir_compose_input (c, 3) != NULL)
    ir_compose_fail (c, IR_OP_ERROR_UNSUPPORTED, "gate_weight is not supported");
  ir_compose_result (
      c, 0,
      ir_compose (c, IR_OP_ADD, 2, ir_compose_input (c, 0),
                  ir_compose (c, IR_OP_MUL, 2, ir_compose_input (c, 2), ir_compose_input (c, 1))));
}

/* -- branches that lie side by side in the last axis -- */

static gint64
branches_of (IrCompose *c)
{
  gint64 n = ir_call_int (c->call, "num_branches", 0);

  if (n < 0)
    ir_compose_fail (c, IR_OP_ERROR_ATTRIBUTE, "num_branches is negative");
  return MAX (n, 1);
}

/* [.., branches * size] to [.., branches, size] */
static IrPart *
branches_apart (IrCompose *c, IrPart *x, gint64 branches)
{
  guint rank = ir_compose_rank (c, x);
  gint64 dims[IR_MAX_RANK] = { 0 };

  if (rank == 0 || rank >= IR_MAX_RANK)
    {
      ir_compose_fail (c, IR_OP_ERROR_SHAPE, "an input of rank %u has no branches", rank);
      return NULL;
    }
  dims[rank - 1] = branches;
  dims[rank] = -1;
  return ir_compose_reshape (c, x, rank + 1, dims);
}

/* @x divided by the root of the mean of its squares over the last axis. */
static IrPart *
rms_normalized (IrCompose *c, IrPart *x)
{
  const gint64 last = -1;
  IrPart *square = ir_compose (c, IR_OP_MUL, 2, x, x), *y;

  square = ir_compose (c, IR_OP_REDUCE_MEAN, 2, square, ir_compose_ints (c, 1, &last));
  y = ir_compose (
      c, IR_OP_ADD, 2, square,
      ir_compose_number (c, ir_compose_dtype (x), ir_call_float (c->call, "epsilon", 1e-5f)));
  return ir_compose (c, IR_OP_DIV, 2, x, ir_compose (c, IR_OP_SQRT, 1, y));
}

/* RMSNormalization of each branch of X; the scale is that of one, or of all. */
void
ir_compose_branchwise_rms_norm (IrCompose *c)
{
  gint64 branches = branches_of (c);
  IrPart *x = ir_compose_input (c, 0), *scale = ir_compose_input (c, 1);
  IrPart *apart = branches_apart (c, x, branches), *y = rms_normalized (c, apart);

  if (scale != NULL)
    {
      gint64 size = ir_compose_dim (c, apart, -1);
      gboolean one = ir_compose_rank (c, scale) == 1 && ir_compose_dim (c, scale, 0) == size;
      scale = ir_compose (c, IR_OP_CAST_LIKE, 2, scale, x);
      if (!one)
        scale = ir_compose_reshape (c, scale, 2, (gint64[]){ branches, size });
      y = ir_compose (c, IR_OP_MUL, 2, y, scale);
    }
  ir_compose_result (c, 0, ir_compose (c, IR_OP_RESHAPE, 2, y, ir_compose (c, IR_OP_SHAPE, 1, x)));
}

/* The sum of the branches of the streams, each times a number of its own. */
void
ir_compose_hyper_connection_pre_mix (IrCompose *c)
{
  const gint64 branch = -2, last = -1;
  IrPart *streams = ir_compose_input (c, 0);
  IrPart *mix = ir_compose (c, IR_OP_CAST_LIKE, 2, ir_compose_input (c, 1), streams), *y;

  if (ir_compose_rank (c, mix) != ir_compose_rank (c, streams))
    ir_compose_fail (c, IR_OP_ERROR_UNSUPPORTED, "pre_mix must have one number for each branch");
  mix = ir_compose (c, IR_OP_UNSQUEEZE, 2, mix, ir_compose_ints (c, 1, &last));
  y = ir_compose (c, IR_OP_MUL, 2, branches_apart (c, streams, branches_of (c)), mix);
  ir_compose_set_int (c, "keepdims", 0);
  y = ir_compose (c, IR_OP_REDUCE_SUM, 2, y, ir_compose_ints (c, 1, &branch));
  ir_compose_result (c, 0, ir_compose_times (c, y, ir_call_float (c->call, "reduction_scale", 1)));
}

/* -- gates of linear attention and of n-grams -- */

static IrPart *
in_float (IrCompose *c, IrPart *x)
{
  if (ir_compose_dtype (x) == IR_DTYPE_FLOAT)
    return x;
  ir_compose_set_int (c, "to", IR_DTYPE_FLOAT);
  return ir_compose (c, IR_OP_CAST, 1, x);
}

static IrPart *
like (IrCompose *c, IrPart *x, IrPart *other)
{
  if (ir_compose_dtype (x) == ir_compose_dtype (other))
    return x;
  return ir_compose (c, IR_OP_CAST_LIKE, 2, x, other);
}

/* a [batch, positions, heads], two vectors of the heads in float, b. */
void
ir_compose_linear_attention_gate (IrCompose *c)
{
  IrPart *a = ir_compose_input (c, 0), *b = ir_compose_input (c, 3);
  IrPart *y = ir_compose (c, IR_OP_ADD, 2, in_float (c, a), ir_compose_input (c, 1));

  y = ir_compose (c, IR_OP_MUL, 2, ir_compose (c, IR_OP_SOFTPLUS, 1, y), ir_compose_input (c, 2));
  ir_compose_result (c, 0, like (c, y, a));
  if (ir_compose_wants (c, 1) && b == NULL)
    ir_compose_fail (c, IR_OP_ERROR_ARITY, "beta needs the input b");
  if (b != NULL)
    ir_compose_result (c, 1, like (c, ir_compose (c, IR_OP_SIGMOID, 1, in_float (c, b)), b));
}

/* key and query [batch, positions, streams, size], value [batch, positions, size], and the scales of
 * their normalizations [streams, size]. */
void
ir_compose_engram_gate (IrCompose *c)
{
  const gint64 last = -1, stream = 2;
  IrPart *inputs[5], *agreement, *y;

  for (guint i = 0; i < 5; i++)
    inputs[i] = in_float (c, ir_compose_input (c, i));
  for (guint i = 0; i < 2; i++)
    inputs[i] = ir_compose (c, IR_OP_MUL, 2, rms_normalized (c, inputs[i]), inputs[3 + i]);
  gint64 size = ir_compose_dim (c, inputs[0], 3);
  y = ir_compose (c, IR_OP_MUL, 2, inputs[0], inputs[1]);
  agreement = ir_compose_times (
      c, ir_compose (c, IR_OP_REDUCE_SUM, 2, y, ir_compose_ints (c, 1, &last)),
      1 / sqrt ((double) MAX (size, 1)));
  y = ir_compose (c, IR_OP_MAX, 2, ir_compose (c, IR_OP_ABS, 1, agreement),
                  ir_compose_number (c, IR_DTYPE_FLOAT, 1e-6));
  y = ir_compose (c, IR_OP_MUL, 2, ir_compose (c, IR_OP_SIGN, 1, agreement),
                  ir_compose (c, IR_OP_SQRT, 1, y));
  IrPart *value = ir_compose (c, IR_OP_UNSQUEEZE, 2, inputs[2], ir_compose_ints (c, 1, &stream));
  y = ir_compose (c, IR_OP_MUL, 2, ir_compose (c, IR_OP_SIGMOID, 1, y), value);
  ir_compose_result (c, 0, like (c, y, ir_compose_input (c, 0)));
}
