/* CPU kernels against the reference kernels. Every row of the op table that has a CPU kernel is run
 * in random cases (shapes, attributes, contents, what is constant and what is known beforehand) on
 * both back ends; results agree within the row's tolerance, NaN and infinities stand in the same
 * places, and what one refuses the other refuses. */
#include "config.h"

#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

#define N_CASES 60 /* per operator */

typedef struct
{
  Builder b;
  GRand *rand;
  GHashTable *inputs;
  IrNode *node;
  GString *text;    /* what the case is, for messages */
  gboolean special; /* contents have NaN, infinities, zeros and very large and small numbers */
} Case;

static gint
pick (Case *c, gint low, gint high) /* both inclusive */
{
  return g_rand_int_range (c->rand, low, high + 1);
}

static gboolean
chance (Case *c, double probability)
{
  return g_rand_double (c->rand) < probability;
}

/* -- contents -- */

static double
element (Case *c)
{
  static const double specials[] = { NAN,  INFINITY, -INFINITY, 0,     -0.0,  1e-40,
                                     1e10, -1e10,    1,         -1e-3, 88.75, -104 };

  if (c->special && chance (c, 0.08))
    return specials[pick (c, 0, G_N_ELEMENTS (specials) - 1)];
  return g_rand_double_range (c->rand, -2, 2);
}

static IrTensor *
contents (Case *c, guint rank, const gint64 *dims)
{
  g_autoptr (GError) error = NULL;
  IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_FLOAT, rank, dims, &error);
  g_assert_no_error (error);
  float *data = ir_tensor_data_writable (tensor);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    data[i] = (float) element (c);
  return tensor;
}

/* A constant, or an input of the graph whose shape is known, partly known or not known. */
static IrValue *
operand (Case *c, const char *name, guint rank, const gint64 *dims)
{
  IrTensor *tensor = contents (c, rank, dims);
  g_autoptr (GString) type = g_string_new ("float[");
  double known = chance (c, 0.5) ? 1 : 0.4;

  for (guint i = 0; i < rank; i++)
    {
      g_string_append (type, i > 0 ? "," : "");
      if (chance (c, known))
        g_string_append_printf (type, "%" G_GINT64_FORMAT, dims[i]);
      else
        g_string_append_c (type, '?');
    }
  g_string_append_c (type, ']');
  g_string_append_printf (c->text, " %s %s of [", name, type->str);
  for (guint i = 0; i < rank; i++)
    g_string_append_printf (c->text, " %" G_GINT64_FORMAT, dims[i]);
  g_string_append (c->text, " ]");
  if (chance (c, 0.3))
    return build_constant (&c->b, name, tensor);
  IrValue *value = build_input (&c->b, name, type->str);
  inputs_add (c->inputs, value, tensor);
  return value;
}

static void
set_ints (Case *c, const char *name, const gint64 *values, guint n)
{
  g_string_append_printf (c->text, " %s =", name);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (c->text, " %" G_GINT64_FORMAT, values[i]);
  ir_edit_set_attr (c->b.edit, c->node, ir_attr_ints (c->b.model->context, name, values, n));
}

static void
set_int (Case *c, const char *name, gint64 value)
{
  g_string_append_printf (c->text, " %s = %" G_GINT64_FORMAT, name, value);
  build_int (&c->b, c->node, name, value);
}

static void
set_float (Case *c, const char *name, double value)
{
  g_string_append_printf (c->text, " %s = %g", name, value);
  build_float (&c->b, c->node, name, (float) value);
}

static void
make_node (Case *c, const IrOp *op, IrValue **inputs, guint n)
{
  c->node = ir_edit_add_node (c->b.edit, c->b.model->main, op->name, op->domain, NULL, n, inputs,
                              1);
}

/* -- the cases of a family -- */

static void
make_unary (Case *c, const IrOp *op)
{
  gint64 dims[4];
  guint rank = (guint) pick (c, 0, 4);

  for (guint i = 0; i < rank; i++)
    dims[i] = chance (c, 0.03) ? 0 : pick (c, 1, chance (c, 0.1) ? 90 : 9);
  IrValue *x = operand (c, "x", rank, dims);
  make_node (c, op, &x, 1);
  if (ir_op_attr (op, "alpha") != NULL && chance (c, 0.7))
    set_float (c, "alpha", g_rand_double_range (c->rand, -1, 2));
  if (ir_op_attr (op, "axis") != NULL && rank > 0 && chance (c, 0.8))
    set_int (c, "axis", pick (c, -(gint) rank, (gint) rank - 1));
}

static void
make_clip (Case *c, const IrOp *op)
{
  gint64 dims[] = { pick (c, 0, 5), pick (c, 1, 70) };
  IrValue *inputs[3] = { operand (c, "x", 2, dims), NULL, NULL };

  for (guint i = 1; i < 3; i++)
    if (chance (c, 0.7))
      inputs[i] = operand (c, i == 1 ? "low" : "high", 0, NULL);
  make_node (c, op, inputs, 3);
}

/* Two shapes that broadcast, or now and then do not. */
static void
make_binary (Case *c, const IrOp *op)
{
  gint64 dims[2][5];
  guint rank = (guint) pick (c, 0, 5), from[2] = { 0, 0 };

  for (guint i = 0; i < rank; i++)
    {
      gint64 dim = chance (c, 0.03) ? 0 : pick (c, 1, chance (c, 0.1) ? 40 : 6);
      for (guint k = 0; k < 2; k++)
        dims[k][i] = chance (c, 0.25) ? 1 : dim;
      if (chance (c, 0.01))
        dims[0][i] = dim + 1;
    }
  if (rank >= 2 && chance (c, 0.15)) /* one operand repeats after a few elements, many times */
    {
      gint few = pick (c, 0, 1);
      dims[0][rank - 1] = dims[1][rank - 1] = pick (c, 2, 70);
      dims[few][rank - 2] = 1;
      dims[1 - few][rank - 2] = pick (c, 2, 400);
    }
  if (chance (c, 0.5))
    from[pick (c, 0, 1)] = (guint) pick (c, 0, (gint) rank);
  IrValue *inputs[2];
  for (guint k = 0; k < 2; k++)
    inputs[k] = operand (c, k == 0 ? "a" : "b", rank - from[k], dims[k] + from[k]);
  make_node (c, op, inputs, 2);
}

/* Exponents that have loops of their own, or any. */
static void
make_power (Case *c, const IrOp *op)
{
  static const double exponents[] = { 2, 3, 0.5, -1 };
  gint64 dims[] = { pick (c, 1, 5), pick (c, 1, 70) };

  if (chance (c, 0.3))
    {
      make_binary (c, op);
      return;
    }
  double exponent = exponents[pick (c, 0, G_N_ELEMENTS (exponents) - 1)];
  gint64 one[] = { 1, 1, 1 }; /* of a higher rank now and then, which the result has as well */
  IrValue *x = operand (c, "x", 2, dims);
  IrTensor *by = contents (c, (guint) pick (c, 0, 3), one);
  *(float *) ir_tensor_data_writable (by) = (float) exponent;
  IrValue *inputs[] = { x, build_constant (&c->b, "by", by) };
  g_string_append_printf (c->text, " to the power of %g", exponent);
  make_node (c, op, inputs, 2);
}

static void
make_transpose (Case *c, const IrOp *op)
{
  gint64 dims[6], perm[6];
  guint rank = (guint) pick (c, 0, 6);

  for (guint i = 0; i < rank; i++)
    {
      dims[i] = chance (c, 0.02) ? 0 : pick (c, 1, chance (c, 0.2) ? 19 : 4);
      perm[i] = i;
    }
  for (guint i = rank; i > 1; i--)
    {
      guint other = (guint) pick (c, 0, (gint) i - 1);
      gint64 moved = perm[i - 1];
      perm[i - 1] = perm[other];
      perm[other] = moved;
    }
  IrValue *x = operand (c, "x", rank, dims);
  make_node (c, op, &x, 1);
  if (chance (c, 0.1) && rank > 1)
    perm[0] = perm[1];
  if (chance (c, 0.85) && rank > 0)
    set_ints (c, "perm", perm, rank);
}

static void
make_reduce (Case *c, const IrOp *op)
{
  gint64 dims[5], axes[5];
  guint rank = (guint) pick (c, 1, 5), n = 0;
  IrValue *inputs[2];

  for (guint i = 0; i < rank; i++)
    {
      dims[i] = chance (c, 0.03) ? 0 : pick (c, 1, chance (c, 0.2) ? 33 : 5);
      if (chance (c, 0.5))
        axes[n++] = chance (c, 0.5) ? (gint64) i : (gint64) i - rank;
    }
  inputs[0] = operand (c, "x", rank, dims);
  inputs[1] = chance (c, 0.8)
                  ? build_constant (&c->b, "axes", ir_tensor_new_int64s (axes, (gssize) n))
                  : NULL;
  make_node (c, op, inputs, 2);
  if (chance (c, 0.5))
    set_int (c, "keepdims", pick (c, 0, 1));
  if (chance (c, 0.5))
    set_int (c, "noop_with_empty_axes", pick (c, 0, 1));
}

static void
make_global_pool (Case *c, const IrOp *op)
{
  gint64 dims[5] = { pick (c, 1, 2), pick (c, 1, 5), pick (c, 0, 9), pick (c, 1, 9),
                     pick (c, 1, 4) };
  IrValue *x = operand (c, "x", (guint) pick (c, 2, 5), dims);

  make_node (c, op, &x, 1);
}

static void
make_batch_norm (Case *c, const IrOp *op)
{
  gint64 dims[5] = { pick (c, 0, 2), pick (c, 1, 6), pick (c, 1, 5), pick (c, 1, 9),
                     pick (c, 1, 3) };
  gint64 channels = chance (c, 0.05) ? dims[1] + 1 : dims[1];
  const char *const names[] = { "x", "scale", "bias", "mean", "var" };
  IrValue *inputs[5];

  inputs[0] = operand (c, names[0], (guint) pick (c, 2, 5), dims);
  for (guint i = 1; i < 5; i++)
    inputs[i] = operand (c, names[i], 1, &channels);
  make_node (c, op, inputs, 5);
  set_float (c, "epsilon", chance (c, 0.5) ? 1e-5 : 3); /* 3: no square root of a negative number */
}

static void
make_layer_norm (Case *c, const IrOp *op)
{
  gint64 dims[4];
  guint rank = (guint) pick (c, 1, 4), axis = (guint) pick (c, 0, (gint) rank - 1);
  IrValue *inputs[3];

  for (guint i = 0; i < rank; i++)
    dims[i] = chance (c, 0.03) ? 0 : pick (c, 1, 9);
  inputs[0] = operand (c, "x", rank, dims);
  inputs[1] = operand (c, "scale", rank - axis, dims + axis);
  inputs[2] = op->in.max > 2 && chance (c, 0.6) ? operand (c, "bias", rank - axis, dims + axis)
                                                : NULL;
  make_node (c, op, inputs, (guint) op->in.max);
  set_int (c, "axis", chance (c, 0.5) ? (gint64) axis : (gint64) axis - rank);
}

/* Window attributes for @n axes; sets the sizes that come out, or returns %FALSE where the window
 * does not fit. */
static gboolean
make_window (Case *c, guint n, const gint64 *in, const gint64 *kernel, gboolean pool, gint64 *out)
{
  gint64 strides[3], dilations[3], pads[6];
  static const char *const modes[] = { "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET" };
  const char *mode = chance (c, 0.35) ? modes[pick (c, 0, 3)] : NULL;
  gboolean ceil_mode = pool && chance (c, 0.4), fits = TRUE;

  for (guint i = 0; i < n; i++)
    {
      strides[i] = pick (c, 1, 3);
      dilations[i] = chance (c, 0.25) ? pick (c, 1, 3) : 1;
      pads[i] = pick (c, 0, pool ? (gint) kernel[i] - 1 : 3);
      pads[n + i] = pick (c, 0, pool ? (gint) kernel[i] - 1 : 3);
    }
  set_ints (c, "strides", strides, n);
  set_ints (c, "dilations", dilations, n);
  if (mode == NULL || g_str_equal (mode, "NOTSET"))
    set_ints (c, "pads", pads, 2 * n);
  else
    memset (pads, 0, sizeof pads);
  if (mode != NULL)
    {
      g_string_append_printf (c->text, " auto_pad = %s", mode);
      build_string (&c->b, c->node, "auto_pad", mode);
    }
  if (ceil_mode)
    set_int (c, "ceil_mode", 1);
  for (guint i = 0; i < n; i++)
    {
      gint64 room = in[i] + pads[i] + pads[n + i] - ((kernel[i] - 1) * dilations[i] + 1);
      if (mode != NULL && g_str_has_prefix (mode, "SAME"))
        out[i] = (in[i] + strides[i] - 1) / strides[i];
      else if (room < 0)
        fits = FALSE;
      else
        out[i] = room / strides[i] + 1;
    }
  return fits;
}

static void
make_pool (Case *c, const IrOp *op)
{
  gint64 dims[5] = { pick (c, 0, 3), pick (c, 1, 4) }, kernel[3], out[3];
  guint n = chance (c, 0.7) ? 2 : (guint) pick (c, 1, 3);

  for (guint i = 0; i < n; i++)
    {
      dims[i + 2] = pick (c, 1, 14);
      kernel[i] = pick (c, 1, 4);
    }
  IrValue *x = operand (c, "x", n + 2, dims);
  make_node (c, op, &x, 1);
  set_ints (c, "kernel_shape", kernel, n);
  make_window (c, n, dims + 2, kernel, TRUE, out);
  if (ir_op_attr (op, "count_include_pad") != NULL && chance (c, 0.5))
    set_int (c, "count_include_pad", pick (c, 0, 1));
}

static void
set_activation (Case *c, const IrOp *op)
{
  if (ir_op_attr (op, "activation_alpha") != NULL && chance (c, 0.7))
    set_float (c, "activation_alpha", g_rand_double_range (c->rand, -1, 2));
}

/* min and max, where the row has them, become inputs @at and @at + 1. */
static guint
add_bounds (Case *c, const IrOp *op, IrValue **inputs, guint at)
{
  if (strstr (op->in_names, "min max") == NULL)
    return at;
  inputs[at] = operand (c, "min", 0, NULL);
  inputs[at + 1] = operand (c, "max", 0, NULL);
  return at + 2;
}

static void
make_conv (Case *c, const IrOp *op)
{
  gint64 x[5], w[5], out[5], group = chance (c, 0.4) ? pick (c, 2, 4) : 1;
  gboolean big = chance (c, 0.1), residual = strchr (op->in_names, 'Z') != NULL, fits, special;
  guint n = chance (c, 0.6) ? 2 : (guint) pick (c, 1, 3);
  IrValue *inputs[6] = { NULL };

  x[0] = chance (c, 0.03) ? 0 : pick (c, 1, 3);
  w[1] = chance (c, 0.3) ? 1 : pick (c, 1, big ? 20 : 5);
  x[1] = w[1] * group + (chance (c, 0.02) ? 1 : 0);
  w[0] = group * pick (c, 1, big ? 17 : 4) + (chance (c, 0.02) ? 1 : 0);
  for (guint i = 0; i < n; i++)
    {
      x[i + 2] = pick (c, 1, big ? 17 : 8);
      w[i + 2] = pick (c, 1, 4);
    }
  out[0] = x[0];
  out[1] = w[0];
  inputs[0] = operand (c, "x", n + 2, x);
  /* Whether an infinite weight meets the zeros of the padding (and gives NaN) or skips them is the
   * kernel's choice. */
  special = c->special;
  c->special = FALSE;
  inputs[1] = operand (c, "w", n + 2, w);
  c->special = special;
  if (chance (c, 0.6))
    {
      gint64 length = w[0] + (chance (c, 0.03) ? pick (c, -1, 1) : 0);
      inputs[2] = operand (c, "bias", 1, &length);
    }
  /* The node comes first for its attributes; the residual needs the sizes that they give. */
  make_node (c, op, inputs, (guint) MAX (op->in.max, 3));
  if (group > 1)
    set_int (c, "group", group);
  if (chance (c, 0.5))
    set_ints (c, "kernel_shape", w + 2, n);
  fits = make_window (c, n, x + 2, w + 2, FALSE, out + 2);
  set_activation (c, op);
  if (!fits)
    memcpy (out + 2, x + 2, n * sizeof *out);
  if (chance (c, 0.03))
    out[n + 1] = 1; /* does not fit, or does by accident */
  if (residual)
    inputs[3] = operand (c, "z", n + 2, out);
  guint n_inputs = add_bounds (c, op, inputs, residual ? 4 : 3);
  for (guint i = 3; i < n_inputs; i++)
    ir_edit_set_input (c->b.edit, c->node, i, inputs[i]);
}

/* An infinity that meets the zeros of the padding gives NaN, or is skipped: none is given. */
static void
make_conv_grad_weight (Case *c, const IrOp *op)
{
  guint n = (guint) pick (c, 1, 3);
  gint64 group = chance (c, 0.4) ? pick (c, 2, 3) : 1, x[5], dy[5], w[3];
  gint64 strides[3], dilations[3], pads[6] = { 0 };
  IrValue *inputs[2];

  c->special = FALSE;
  x[0] = dy[0] = pick (c, 1, 3);
  x[1] = group * pick (c, 1, 4);
  dy[1] = group * pick (c, 1, 5);
  for (guint i = 0; i < n; i++)
    {
      w[i] = pick (c, 1, 3);
      strides[i] = pick (c, 1, 2);
      dilations[i] = pick (c, 1, 2);
      gint64 reach = (w[i] - 1) * dilations[i] + 1;
      pads[i] = pick (c, 0, reach - 1);
      pads[n + i] = pick (c, 0, reach - 1);
      x[i + 2] = reach + pick (c, 0, 6);
      dy[i + 2] = (x[i + 2] + pads[i] + pads[n + i] - reach) / strides[i] + 1;
    }
  inputs[0] = operand (c, "x", n + 2, x);
  inputs[1] = operand (c, "dy", n + 2, dy);
  make_node (c, op, inputs, 2);
  set_ints (c, "kernel_shape", w, n);
  set_ints (c, "strides", strides, n);
  set_ints (c, "dilations", dilations, n);
  set_ints (c, "pads", pads, 2 * n);
  set_int (c, "group", group);
}

/* -- attention -- */

static IrValue *
number_operand (Case *c, const char *name, const char *type, IrTensor *tensor)
{
  if (chance (c, 0.5))
    return build_constant (&c->b, name, tensor);
  IrValue *value = build_input (&c->b, name, type);
  inputs_add (c->inputs, value, tensor);
  return value;
}

/* [batch, heads, length, size], or packed as [batch, length, heads * size]. */
static IrValue *
heads_operand (Case *c, const char *name, gboolean packed, const gint64 at[4])
{
  const gint64 together[] = { at[0], at[2], at[1] * at[3] };

  return packed ? operand (c, name, 3, together) : operand (c, name, 4, at);
}

/* Bools, where one row in some is all false, or floats with some -infinities. */
static IrValue *
mask_operand (Case *c, const gint64 scores[4])
{
  gboolean bools = chance (c, 0.5);
  guint rank = (guint) pick (c, 1, 4);
  gint64 dims[4];

  for (guint i = 0; i < rank; i++)
    dims[i] = i + 1 < rank && chance (c, 0.3) ? 1 : scores[4 - rank + i];
  if (chance (c, 0.2))
    dims[rank - 1] = pick (c, 1, (gint) scores[3]);
  IrTensor *tensor = ir_tensor_new_alloc (bools ? IR_DTYPE_BOOL : IR_DTYPE_FLOAT, rank, dims, NULL);
  gboolean row = TRUE;
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      if (i % (guint64) dims[rank - 1] == 0)
        row = chance (c, 0.8);
      gboolean seen = row && chance (c, 0.7);
      ir_dtype_set_double (ir_tensor_dtype (tensor), ir_tensor_data_writable (tensor), i,
                           bools  ? seen
                           : seen ? g_rand_double_range (c->rand, -2, 2)
                                  : -INFINITY);
    }
  g_string_append_printf (c->text, " mask %s of rank %u", bools ? "of bools" : "of floats", rank);
  static const char *const types[] = { "[?]", "[?,?]", "[?,?,?]", "[?,?,?,?]" };
  g_autofree char *type = g_strconcat (bools ? "bool" : "float", types[rank - 1], NULL);
  return number_operand (c, "mask", type, tensor);
}

static IrValue *
nonpad_operand (Case *c, gint64 batch, gint64 keys)
{
  IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_INT64, 1, &batch, NULL);

  for (gint64 i = 0; i < batch; i++)
    ((gint64 *) ir_tensor_data_writable (tensor))[i] = pick (c, 0, (gint) keys);
  g_string_append (c->text, " nonpad");
  return number_operand (c, "nonpad", "int64[?]", tensor);
}

static void
attention_attrs (Case *c, gboolean packed, gint64 q_heads, gint64 kv_heads)
{
  if (packed)
    {
      set_int (c, "q_num_heads", q_heads);
      set_int (c, "kv_num_heads", kv_heads);
    }
  if (chance (c, 0.4))
    set_int (c, "is_causal", 1);
  if (chance (c, 0.3))
    set_int (c, "left_window_size", pick (c, -1, 6));
  if (chance (c, 0.3))
    set_int (c, "right_window_size", pick (c, -1, 6));
  if (chance (c, 0.3))
    set_float (c, "softcap", g_rand_double_range (c->rand, 0.5, 3));
  if (chance (c, 0.3))
    set_float (c, "scale", g_rand_double_range (c->rand, 0.1, 1));
}

/* No special contents: of two scores of 1e20 it is a matter of rounding which is the larger. */
static void
make_attention (Case *c, const IrOp *op)
{
  gboolean packed = chance (c, 0.5), past = chance (c, 0.3);
  gint64 kv_heads = pick (c, 1, 3), group = pick (c, 1, 3), batch = pick (c, 1, 3);
  gint64 q[] = { batch, kv_heads * group, pick (c, 1, chance (c, 0.2) ? 150 : 7), pick (c, 1, 9) };
  gint64 k[] = { batch, kv_heads, pick (c, 1, chance (c, 0.2) ? 90 : 9), q[3] };
  gint64 v[] = { batch, kv_heads, k[2], pick (c, 1, 9) };
  gint64 n_past = past ? pick (c, 0, 5) : 0;
  gint64 scores[] = { batch, q[1], q[2], k[2] + n_past };
  IrValue *inputs[7] = { NULL };

  c->special = FALSE;
  inputs[0] = heads_operand (c, "q", packed, q);
  inputs[1] = heads_operand (c, "k", packed, k);
  inputs[2] = heads_operand (c, "v", packed, v);
  if (chance (c, 0.5))
    inputs[3] = mask_operand (c, scores);
  if (past)
    {
      inputs[4] = operand (c, "past_key", 4, (gint64[]){ batch, kv_heads, n_past, q[3] });
      inputs[5] = operand (c, "past_value", 4, (gint64[]){ batch, kv_heads, n_past, v[3] });
    }
  else if (chance (c, 0.3))
    inputs[6] = nonpad_operand (c, batch, k[2]);
  make_node (c, op, inputs, 7);
  attention_attrs (c, packed, q[1], kv_heads);
}

static IrValue *
bytes_operand (Case *c, const char *name, guint rank, const gint64 *dims)
{
  IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_UINT8, rank, dims, NULL);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ((guint8 *) ir_tensor_data_writable (tensor))[i] = (guint8) pick (c, 0, 255);
  return number_operand (c, name, rank == 3 ? "uint8[?,?,?]" : "uint8[?]", tensor);
}

/* Blocks of few bits, the last of which may be cut; zero points packed, real or none. */
static void
make_n_bits (Case *c, const IrOp *op)
{
  gint64 bits = chance (c, 0.6) ? 4 : 8, block = 16 << pick (c, 0, 2), zeros = pick (c, 0, 2);
  gint64 k = pick (c, 1, chance (c, 0.2) ? 300 : 70), n = pick (c, 1, chance (c, 0.2) ? 150 : 9);
  gint64 a[] = { pick (c, 1, 3), pick (c, 1, chance (c, 0.3) ? 40 : 3), k };
  gint64 blocks = (k + block - 1) / block, b[] = { n, blocks, block * bits / 8 };
  gint64 scales[] = { n, blocks }, packed = n * ((blocks * bits + 7) / 8);
  IrValue *inputs[6] = { operand (c, "a", 3, a), bytes_operand (c, "b", 3, b),
                         operand (c, "scales", 2, scales) };

  if (zeros > 0)
    inputs[3] = zeros == 1 ? bytes_operand (c, "zeros", 1, &packed)
                           : operand (c, "zeros", 2, scales);
  if (chance (c, 0.4))
    inputs[5] = operand (c, "bias", 1, &n);
  make_node (c, op, inputs, 6);
  set_int (c, "K", k);
  set_int (c, "N", n);
  set_int (c, "bits", bits);
  set_int (c, "block_size", block);
}

static IrValue *
lengths_operand (Case *c, const char *name, gint64 n, gint64 low, gint64 high)
{
  IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_INT32, n > 0, &n, NULL);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ((gint32 *) ir_tensor_data_writable (tensor))[i] = pick (c, (gint) low, (gint) high);
  return number_operand (c, name, n > 0 ? "int32[?]" : "int32[]", tensor);
}

/* Prompts, and new positions behind caches that are filled up to lengths of their own. */
static void
make_grouped (Case *c, const IrOp *op)
{
  gint64 kv = pick (c, 1, 3), heads = kv * pick (c, 1, 3), size = 2 * pick (c, 1, 9);
  gint64 batch = pick (c, 1, 3), room = pick (c, 2, chance (c, 0.2) ? 90 : 12);
  gint64 length = chance (c, 0.5) ? 1 : pick (c, 1, (gint) room);
  gint64 total = chance (c, 0.4) ? length : pick (c, (gint) length, (gint) room);
  gboolean packed = chance (c, 0.3), turns = chance (c, 0.5);
  gint64 q[] = { batch, length, (packed ? heads + 2 * kv : heads) * size };
  gint64 k[] = { batch, length, kv * size }, cache[] = { batch, kv, room, size };
  gint64 angles[] = { room, size / 2 }, bias[] = { 1, heads, length, total };
  IrValue *inputs[12] = { operand (c, "query", 3, q) };

  c->special = FALSE;
  for (guint i = 1; i < 3 && !packed; i++)
    inputs[i] = operand (c, i == 1 ? "key" : "value", 3, k);
  for (guint i = 3; i < 5 && (total > length || chance (c, 0.5)); i++)
    inputs[i] = operand (c, i == 3 ? "past_key" : "past_value", 4, cache);
  if ((inputs[3] == NULL) != (inputs[4] == NULL))
    inputs[3] = inputs[4] = NULL;
  inputs[5] = lengths_operand (c, "lengths", batch, length - 1, total - 1);
  inputs[6] = lengths_operand (c, "total", 0, total, total);
  for (guint i = 7; i < 9 && turns; i++)
    inputs[i] = operand (c, i == 7 ? "cos" : "sin", 2, angles);
  if (chance (c, 0.3))
    inputs[10] = operand (c, "bias", 4, bias);
  if (chance (c, 0.1))
    inputs[11] = operand (c, "sink", 1, &heads);
  make_node (c, op, inputs, 12);
  set_int (c, "num_heads", heads);
  set_int (c, "kv_num_heads", kv);
  set_int (c, "do_rotary", turns);
  set_int (c, "rotary_interleaved", chance (c, 0.4));
  if (chance (c, 0.3))
    set_int (c, "local_window_size", pick (c, 1, 5));
  if (chance (c, 0.2))
    set_float (c, "softcap", 3);
}

static void
make_rotary (Case *c, const IrOp *op)
{
  gboolean packed = chance (c, 0.5), given = chance (c, 0.5);
  gint64 half = pick (c, 1, 5), rest = chance (c, 0.3) ? pick (c, 1, 4) : 0, rows = pick (c, 3, 9);
  gint64 x[] = { pick (c, 1, 3), pick (c, 1, 3), pick (c, 1, 6), 2 * half + rest };
  gint64 at[] = { x[0], x[2], half }, table[] = { rows, half };
  IrValue *inputs[4] = { heads_operand (c, "x", packed, x) };

  inputs[1] = operand (c, "cos", given ? 2 : 3, given ? table : at);
  inputs[2] = operand (c, "sin", given ? 2 : 3, given ? table : at);
  if (given)
    {
      IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_INT64, 2, at, NULL);
      for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
        ((gint64 *) ir_tensor_data_writable (tensor))[i] = pick (
            c, 0, (gint) rows - (chance (c, 0.01) ? 0 : 1));
      inputs[3] = number_operand (c, "positions", "int64[?,?]", tensor);
    }
  make_node (c, op, inputs, 4);
  if (packed)
    set_int (c, "num_heads", x[1]);
  if (rest > 0 || chance (c, 0.3))
    set_int (c, "rotary_embedding_dim", 2 * half);
  if (chance (c, 0.5))
    set_int (c, "interleaved", 1);
}

static void
make_gate (Case *c, const IrOp *op)
{
  gint64 dims[] = { pick (c, 1, 3), pick (c, 0, 40), pick (c, 1, 90) };
  guint rank = (guint) pick (c, 0, 3);
  IrValue *inputs[] = { operand (c, "a", rank, dims), NULL };

  dims[2] += chance (c, 0.1) ? 1 : 0;
  inputs[1] = operand (c, "b", rank, dims);
  make_node (c, op, inputs, 2);
  if (chance (c, 0.7))
    set_float (c, "alpha", g_rand_double_range (c->rand, -1, 2));
}

static void
make_gemm (Case *c, const IrOp *op)
{
  gint64 m = pick (c, 0, 9), n = pick (c, 1, chance (c, 0.2) ? 50 : 9),
         k = pick (c, chance (c, 0.1) ? 0 : 1, chance (c, 0.2) ? 70 : 9);
  gboolean trans_a = chance (c, 0.4), trans_b = chance (c, 0.4);
  gint64 a[] = { trans_a ? k : m, trans_a ? m : k }, b[] = { trans_b ? n : k, trans_b ? k : n };
  gint64 bias[] = { chance (c, 0.5) ? 1 : m, chance (c, 0.3) ? 1 : n };
  guint rank = (guint) pick (c, 0, 2);
  IrValue *inputs[5] = { NULL };

  inputs[0] = operand (c, "a", 2, a);
  inputs[1] = operand (c, "b", 2, b);
  if (chance (c, 0.7))
    inputs[2] = operand (c, "c", rank, bias + 2 - rank);
  guint n_inputs = add_bounds (c, op, inputs, 3);
  make_node (c, op, inputs, n_inputs);
  if (trans_a)
    set_int (c, "transA", 1);
  if (trans_b)
    set_int (c, "transB", 1);
  if (chance (c, 0.4))
    set_float (c, "alpha", chance (c, 0.2) ? 0 : g_rand_double_range (c->rand, -2, 2));
  if (chance (c, 0.4))
    set_float (c, "beta", chance (c, 0.2) ? 0 : g_rand_double_range (c->rand, -2, 2));
  set_activation (c, op);
}

static void
make_matmul (Case *c, const IrOp *op)
{
  gint64 a[5], b[5], sum[5];
  guint rank = (guint) pick (c, 1, 5), from_a = 0, from_b = 0;
  IrValue *inputs[3] = { NULL };

  for (guint i = 0; i + 2 < rank; i++)
    {
      gint64 dim = chance (c, 0.03) ? 0 : pick (c, 1, 4);
      a[i] = chance (c, 0.25) ? 1 : dim;
      b[i] = chance (c, 0.25) ? 1 : dim;
      sum[i] = a[i] == 1 ? b[i] : a[i];
    }
  gint64 m = pick (c, 0, chance (c, 0.2) ? 40 : 7), n = pick (c, 1, chance (c, 0.2) ? 40 : 7),
         k = pick (c, chance (c, 0.1) ? 0 : 1, chance (c, 0.1) ? 60 : 7);
  if (rank == 1)
    a[0] = b[0] = k;
  else
    {
      a[rank - 2] = sum[rank - 2] = m;
      a[rank - 1] = k;
      b[rank - 2] = chance (c, 0.02) ? k + 1 : k;
      b[rank - 1] = sum[rank - 1] = n;
      from_a = chance (c, 0.3) ? (guint) pick (c, 0, (gint) rank - 2) : 0;
      from_b = chance (c, 0.4) ? (guint) pick (c, 0, (gint) rank - 2) : 0;
    }
  inputs[0] = operand (c, "a", rank - from_a, a + from_a);
  inputs[1] = operand (c, "b", rank - from_b, b + from_b);
  if (op->in.min == 3)
    {
      /* a row, one number, the whole, or what broadcasts along any axes, as a mask does; axes that
       * neither operand has are not in the result */
      guint from = chance (c, 0.6) ? rank - 1 : MIN (from_a, from_b);
      for (guint i = 0; i + 2 < rank; i++)
        sum[i] = (i < from_a ? 1 : a[i]) == 1 ? (i < from_b ? 1 : b[i]) : a[i];
      for (guint i = 0; i < rank; i++)
        sum[i] = rank == 1 || chance (c, 0.2) ? 1 : sum[i];
      inputs[2] = operand (c, "c", rank - from, sum + from);
    }
  make_node (c, op, inputs, op->in.min == 3 ? 3 : 2);
}

/* Layers with one or two directions. Steps are few where there are many units: with random weights
 * each step amplifies what float32 loses. A gate that float32 rounds to zero would make NaN of an
 * infinity, so there is none behind a gate. */
static void
make_recurrent (Case *c, const IrOp *op)
{
  static const char *const directions[] = { "forward", "reverse", "bidirectional" };
  gint64 gates = g_str_equal (op->name, "RNN") ? 1 : g_str_equal (op->name, "GRU") ? 3 : 4;
  guint direction = (guint) pick (c, 0, 2);
  gint64 n = direction == 2 ? 2 : 1, hidden = pick (c, 1, chance (c, 0.2) ? 40 : 6);
  gint64 steps = chance (c, 0.05) ? 0 : pick (c, 1, hidden > 6 ? 2 : 5);
  gint64 batch = pick (c, 1, 4), in = pick (c, 1, 6);
  gboolean batch_first = chance (c, 0.4);
  gint64 x[3] = { batch_first ? batch : steps, batch_first ? steps : batch, in };
  gint64 w[3] = { n, gates * hidden, chance (c, 0.03) ? in + 1 : in };
  gint64 r[3] = { n, gates * hidden, hidden }, bias[2] = { n, 2 * gates * hidden };
  gint64 state[3] = { batch_first ? batch : n, batch_first ? n : batch, hidden };
  IrValue *inputs[7] = { NULL };

  inputs[0] = operand (c, "x", 3, x);
  inputs[1] = operand (c, "w", 3, w);
  c->special = FALSE;
  inputs[2] = operand (c, "r", 3, r);
  if (chance (c, 0.6))
    inputs[3] = operand (c, "b", 2, bias);
  if (chance (c, 0.4))
    inputs[4] = lengths_operand (c, "lengths", batch, 0, steps + (chance (c, 0.05) ? 1 : 0));
  if (chance (c, 0.6))
    inputs[5] = operand (c, "initial_h", 3, state);
  if (gates == 4 && chance (c, 0.6))
    inputs[6] = operand (c, "initial_c", 3, state);
  make_node (c, op, inputs, gates == 4 ? 7 : 6);
  g_string_append_printf (c->text, " %s", directions[direction]);
  build_string (&c->b, c->node, "direction", directions[direction]);
  if (batch_first)
    set_int (c, "layout", 1);
  if (gates == 3 && chance (c, 0.5))
    set_int (c, "linear_before_reset", 1);
}

/* -- types, counting, slopes, running sums -- */

static void
make_cast (Case *c, const IrOp *op)
{
  static const IrDtype types[] = { IR_DTYPE_FLOAT, IR_DTYPE_DOUBLE, IR_DTYPE_FLOAT16,
                                   IR_DTYPE_INT64, IR_DTYPE_INT32,  IR_DTYPE_INT8,
                                   IR_DTYPE_UINT8, IR_DTYPE_BOOL,   IR_DTYPE_BFLOAT16 };

  make_unary (c, op);
  set_int (c, "to", types[pick (c, 0, G_N_ELEMENTS (types) - 1)]);
}

static void
make_range (Case *c, const IrOp *op)
{
  static const char *const names[] = { "start", "limit", "delta" };
  IrValue *inputs[3];

  c->special = FALSE;
  for (guint i = 0; i < 3; i++)
    inputs[i] = operand (c, names[i], 0, NULL);
  make_node (c, op, inputs, 3);
}

static void
make_slope (Case *c, const IrOp *op)
{
  gint64 dims[] = { pick (c, 1, 3), pick (c, 1, 9), pick (c, 1, 40) }, slope[3];
  guint rank = (guint) pick (c, 0, 3);

  for (guint i = 0; i < rank; i++)
    slope[i] = chance (c, 0.5) ? dims[3 - rank + i] : 1;
  IrValue *inputs[] = { operand (c, "x", 3, dims), operand (c, "slope", rank, slope) };
  make_node (c, op, inputs, 2);
}

static void
make_running_sum (Case *c, const IrOp *op)
{
  gint64 dims[3] = { pick (c, 0, 3), pick (c, 1, 9), pick (c, 1, 300) };
  guint rank = (guint) pick (c, 1, 3);
  gint64 axis = pick (c, -(gint) rank, (gint) rank - 1);
  IrValue *x = operand (c, "x", rank, dims);
  IrValue *inputs[] = { x, build_constant (&c->b, "axis", ir_tensor_new_int64s (&axis, 1)) };

  make_node (c, op, inputs, 2);
  if (chance (c, 0.5))
    set_int (c, "reverse", pick (c, 0, 1));
  if (chance (c, 0.5))
    set_int (c, "exclusive", pick (c, 0, 1));
}

/* -- picking and placing -- */

/* Integers in [low, high], a constant of the graph. */
static IrValue *
whole_numbers (Case *c, const char *name, guint rank, const gint64 *dims, gint low, gint high)
{
  g_autoptr (GError) error = NULL;
  IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_INT64, rank, dims, &error);
  g_assert_no_error (error);
  gint64 *data = ir_tensor_data_writable (tensor);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    data[i] = pick (c, low, high);
  return build_constant (&c->b, name, tensor);
}

/* Gather and scatter by tuples; now and then an index lies outside. */
static void
make_tuples (Case *c, const IrOp *op)
{
  gint64 dims[] = { pick (c, 2, 4), pick (c, 2, 4), pick (c, 1, 9) };
  gint64 places[] = { pick (c, 1, 5), pick (c, 1, 2) }, news[] = { places[0], dims[1], dims[2] };
  IrValue *inputs[3] = { operand (c, "data", 3, dims) };

  inputs[1] = whole_numbers (c, "indices", 2, places, -2, chance (c, 0.1) ? 2 : 1);
  if (op->in.max == 3)
    {
      news[1] = places[1] == 2 ? dims[2] : dims[1];
      inputs[2] = operand (c, "updates", places[1] == 2 ? 2 : 3, news);
    }
  make_node (c, op, inputs, (guint) op->in.max);
  if (op->in.max == 3 && chance (c, 0.5))
    build_string (&c->b, c->node, "reduction", chance (c, 0.7) ? "add" : "max");
}

/* One index for each element. */
static void
make_elements (Case *c, const IrOp *op)
{
  gint64 dims[] = { pick (c, 2, 4), pick (c, 2, 4), pick (c, 2, 9) }, places[3];
  IrValue *inputs[3] = { operand (c, "data", 3, dims) };

  for (guint i = 0; i < 3; i++)
    places[i] = pick (c, 1, (gint) dims[i]);
  inputs[1] = whole_numbers (c, "indices", 3, places, -2, chance (c, 0.1) ? 2 : 1);
  if (op->in.max == 3)
    inputs[2] = operand (c, "updates", 3, places);
  make_node (c, op, inputs, (guint) op->in.max);
  set_int (c, "axis", pick (c, -3, 2));
  if (op->in.max == 3 && chance (c, 0.5))
    build_string (&c->b, c->node, "reduction", chance (c, 0.7) ? "add" : "max");
}

static void
make_one_hot (Case *c, const IrOp *op)
{
  gint64 dims[] = { pick (c, 1, 4), pick (c, 1, 9) }, pair = 2;
  IrValue *inputs[] = { whole_numbers (c, "indices", 2, dims, -9, 9),
                        whole_numbers (c, "depth", 0, NULL, 1, 7),
                        operand (c, "values", 1, &pair) };

  make_node (c, op, inputs, 3);
  set_int (c, "axis", pick (c, -3, 2));
}

static void
make_triangle (Case *c, const IrOp *op)
{
  gint64 dims[] = { pick (c, 1, 3), pick (c, 0, 9), pick (c, 1, 9) };
  IrValue *inputs[] = { operand (c, "x", 3, dims), whole_numbers (c, "k", 0, NULL, -10, 10) };

  make_node (c, op, inputs, chance (c, 0.8) ? 2 : 1);
  set_int (c, "upper", pick (c, 0, 1));
}

static void
make_top (Case *c, const IrOp *op)
{
  gint64 dims[] = { pick (c, 1, 3), pick (c, 3, 90), pick (c, 3, 5) }, one = 1;
  IrValue *inputs[] = { operand (c, "x", 3, dims), whole_numbers (c, "k", 1, &one, 0, 3) };

  c->node = ir_edit_add_node (c->b.edit, c->b.model->main, op->name, op->domain, NULL, 2, inputs,
                              2);
  set_int (c, "axis", pick (c, -2, 2));
  set_int (c, "largest", pick (c, 0, 1));
}

/* -- pictures -- */

static void
make_resize (Case *c, const IrOp *op)
{
  static const char *const modes[] = { "nearest", "linear", "cubic" };
  static const char *const places[] = { "half_pixel",         "half_pixel_symmetric",
                                        "pytorch_half_pixel", "align_corners",
                                        "asymmetric",         "tf_half_pixel_for_nn" };
  static const char *const roundings[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                           "ceil" };
  gint64 dims[] = { pick (c, 1, 2), pick (c, 1, 3), pick (c, 1, 9), pick (c, 1, 20) };
  gint64 sizes[] = { dims[0], dims[1], pick (c, 1, 20), pick (c, 1, 40) };
  const char *mode = modes[pick (c, 0, 2)], *place = places[pick (c, 0, 5)];
  IrValue *inputs[] = { operand (c, "x", 4, dims), NULL, NULL,
                        build_constant (&c->b, "sizes", ir_tensor_new_int64s (sizes, 4)) };

  make_node (c, op, inputs, 4);
  g_string_append_printf (c->text, " %s %s", mode, place);
  build_string (&c->b, c->node, "mode", mode);
  build_string (&c->b, c->node, "coordinate_transformation_mode", place);
  build_string (&c->b, c->node, "nearest_mode", roundings[pick (c, 0, 3)]);
  if (chance (c, 0.3))
    set_int (c, "antialias", 1);
  if (chance (c, 0.3))
    set_int (c, "exclude_outside", 1);
}

static void
make_deconv (Case *c, const IrOp *op)
{
  guint n = (guint) pick (c, 1, 3);
  gint64 group = pick (c, 1, 2), x[5], w[5], values[3], bias;
  IrValue *inputs[3] = { NULL };

  x[0] = pick (c, 1, 2);
  x[1] = w[0] = group * pick (c, 1, 4);
  w[1] = pick (c, 1, 5);
  bias = group * w[1];
  for (guint i = 0; i < n; i++)
    {
      x[i + 2] = pick (c, 2, 7);
      w[i + 2] = pick (c, 1, 4);
    }
  inputs[0] = operand (c, "x", n + 2, x);
  inputs[1] = operand (c, "w", n + 2, w);
  if (chance (c, 0.6))
    inputs[2] = operand (c, "b", 1, &bias);
  make_node (c, op, inputs, 3);
  set_int (c, "group", group);
  for (guint i = 0; i < n; i++)
    values[i] = pick (c, 1, 3);
  set_ints (c, "strides", values, n);
  for (guint i = 0; i < n; i++)
    values[i] = pick (c, 1, 2);
  if (chance (c, 0.5))
    set_ints (c, "dilations", values, n);
}

static void
make_blocks (Case *c, const IrOp *op)
{
  gint64 b = pick (c, 1, 3);
  gboolean to_space = op->id == IR_OP_DEPTH_TO_SPACE;
  gint64 dims[] = { pick (c, 1, 2), pick (c, 1, 3) * (to_space ? b * b : 1),
                    pick (c, 1, 4) * (to_space ? 1 : b), pick (c, 1, 4) * (to_space ? 1 : b) };
  IrValue *x = operand (c, "x", 4, dims);

  make_node (c, op, &x, 1);
  set_int (c, "blocksize", b);
  if (chance (c, 0.5))
    build_string (&c->b, c->node, "mode", "CRD");
}

/* -- groups of channels -- */

static void
make_group_norm (Case *c, const IrOp *op)
{
  gint64 groups = pick (c, 1, 3),
         dims[] = { pick (c, 1, 3), groups * pick (c, 1, 3), pick (c, 1, 9), pick (c, 1, 20) };
  IrValue *inputs[] = { operand (c, "x", 4, dims), operand (c, "scale", 1, &dims[1]),
                        operand (c, "bias", 1, &dims[1]) };

  make_node (c, op, inputs, 3);
  if (ir_op_attr (op, "num_groups") != NULL)
    set_int (c, "num_groups", groups);
}

static void
make_local_norm (Case *c, const IrOp *op)
{
  gint64 dims[] = { pick (c, 1, 3), pick (c, 1, 9), pick (c, 1, 9), pick (c, 1, 50) };
  IrValue *x = operand (c, "x", 4, dims);

  make_node (c, op, &x, 1);
  set_int (c, "size", pick (c, 1, 6));
  if (chance (c, 0.5))
    set_float (c, "alpha", 0.5);
}

static const struct
{
  IrOpFamily family;
  const char *op; /* (nullable) prefix of the names of operators, NULL: the whole family */
  void (*make) (Case *c, const IrOp *op);
} makers[] = {
  { IR_FAMILY_INDEX, "GatherND", make_tuples },
  { IR_FAMILY_INDEX, "ScatterND", make_tuples },
  { IR_FAMILY_INDEX, "GatherElements", make_elements },
  { IR_FAMILY_INDEX, "Scatter", make_elements },
  { IR_FAMILY_INDEX, "OneHot", make_one_hot },
  { IR_FAMILY_INDEX, "Trilu", make_triangle },
  { IR_FAMILY_INDEX, "TopK", make_top },
  { IR_FAMILY_SHAPE, "Resize", make_resize },
  { IR_FAMILY_LINEAR, "ConvTranspose", make_deconv },
  { IR_FAMILY_SHAPE, "DepthToSpace", make_blocks },
  { IR_FAMILY_SHAPE, "SpaceToDepth", make_blocks },
  { IR_FAMILY_SHAPE, "Dropout", make_unary },
  { IR_FAMILY_NORM, "InstanceNormalization", make_group_norm },
  { IR_FAMILY_NORM, "GroupNormalization", make_group_norm },
  { IR_FAMILY_NORM, "LRN", make_local_norm },
  { IR_FAMILY_FUSED, "ConvGradWeight", make_conv_grad_weight },
  { IR_FAMILY_FUSED, "Conv", make_conv },
  { IR_FAMILY_FUSED, "Gemm", make_gemm },
  { IR_FAMILY_FUSED, "MatMul", make_matmul },
  { IR_FAMILY_ACTIVATION, "SwiGLU", make_gate },
  { IR_FAMILY_LINEAR, "Attention", make_attention },
  { IR_FAMILY_LINEAR, "Conv", make_conv },
  { IR_FAMILY_LINEAR, "Gemm", make_gemm },
  { IR_FAMILY_LINEAR, "GroupQueryAttention", make_grouped },
  { IR_FAMILY_LINEAR, "MatMulNBits", make_n_bits },
  { IR_FAMILY_LINEAR, "MatMul", make_matmul },
  { IR_FAMILY_LINEAR, "RNN", make_recurrent },
  { IR_FAMILY_LINEAR, "GRU", make_recurrent },
  { IR_FAMILY_LINEAR, "LSTM", make_recurrent },
  { IR_FAMILY_POOL, "Global", make_global_pool },
  { IR_FAMILY_POOL, NULL, make_pool },
  { IR_FAMILY_NORM, "BatchNormalization", make_batch_norm },
  { IR_FAMILY_NORM, "LayerNormalization", make_layer_norm },
  { IR_FAMILY_NORM, "RMSNormalization", make_layer_norm },
  { IR_FAMILY_OTHER, "RotaryEmbedding", make_rotary },
  { IR_FAMILY_ELEMENTWISE, "CastLike", make_binary },
  { IR_FAMILY_ELEMENTWISE, "Pow", make_power },
  { IR_FAMILY_ELEMENTWISE, "Cast", make_cast },
  { IR_FAMILY_CONSTANT, "Range", make_range },
  { IR_FAMILY_ACTIVATION, "PRelu", make_slope },
  { IR_FAMILY_REDUCE, "Arg", make_unary },
  { IR_FAMILY_REDUCE, "CumSum", make_running_sum },
  { IR_FAMILY_REDUCE, "Reduce", make_reduce },
  { IR_FAMILY_SHAPE, "Transpose", make_transpose },
};

static gboolean
is_made_by (guint maker, const IrOp *op)
{
  return makers[maker].family == op->family &&
         (makers[maker].op == NULL || g_str_has_prefix (op->name, makers[maker].op));
}

/* Whether there are cases here: a maker, or one or two operands of float element by element. Every
 * row, these and the others, is compared on random calls by tests/fuzz/fuzz-ops.c. */
static gboolean
has_cases (const IrOp *op)
{
  static const char *const others[] = { "And", "Or",       "Xor",   "Not",  "Where",
                                        "Mod", "CastLike", "PRelu", "Cast", NULL };

  if (g_str_has_suffix (op->name, "Integer")) /* tests/exec/test-integer.c */
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (makers); i++)
    if (is_made_by (i, op))
      return TRUE;
  if (strcmp (op->name, "Clip") == 0 || strcmp (op->name, "Softmax") == 0)
    return TRUE;
  return op->domain == NULL && (op->flags & IR_OP_ELEMENTWISE) && op->in.max <= 2 &&
         !g_strv_contains (others, op->name);
}

/* The rest is told by its number of inputs. */
static void
make_case (Case *c, const IrOp *op)
{
  for (guint i = 0; i < G_N_ELEMENTS (makers); i++)
    if (is_made_by (i, op))
      {
        makers[i].make (c, op);
        return;
      }
  if (op->in.max == 1)
    make_unary (c, op);
  else if (op->in.max == 2 || op->in.max == -1)
    make_binary (c, op);
  else if (g_str_equal (op->name, "Clip"))
    make_clip (c, op);
  else
    g_error ("no cases for %s: add a maker", op->name);
}

/* -- running and comparing -- */

static double
largest (const IrTensor *tensor)
{
  double most = 0;

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      double x = fabs (ir_tensor_get_double (tensor, i));
      if (isfinite (x) && x > most)
        most = x;
    }
  return most;
}

/* The reference adds products in one order, a CPU kernel in another: what is lost is small beside
 * the largest terms, not beside a sum that cancels. */
static double
scale_of (const Case *c, const IrTensor *result)
{
  double scale = MAX (1, largest (result));

  if (c == NULL ||
      (c->node->op->family != IR_FAMILY_LINEAR && c->node->op->family != IR_FAMILY_FUSED))
    return scale;
  double product = 1;
  for (guint i = 0; i < 2; i++)
    {
      if (c->node->inputs[i] == NULL)
        continue;
      const IrTensor *tensor = ir_value_constant (c->node->inputs[i]);
      if (tensor == NULL)
        tensor = g_hash_table_lookup (c->inputs, GUINT_TO_POINTER (c->node->inputs[i]->id));
      product *= largest (tensor);
    }
  return MAX (scale, product);
}

static gboolean
close_enough (const Case *c,
              const IrTensor *found,
              const IrTensor *wanted,
              const IrTolerance *tol,
              char **why)
{
  double scale = scale_of (c, wanted);

  if (ir_tensor_rank (found) != ir_tensor_rank (wanted) ||
      memcmp (ir_tensor_dims (found), ir_tensor_dims (wanted),
              ir_tensor_rank (found) * sizeof (gint64)) != 0)
    {
      *why = g_strdup ("the shapes differ");
      return FALSE;
    }
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    {
      double a = ir_tensor_get_double (found, i), b = ir_tensor_get_double (wanted, i);
      if (isnan (b) ? isnan (a)
                    : a == b || fabs (a - b) <= tol->atol * scale + tol->rtol * fabs (b))
        continue;
      *why = g_strdup_printf ("element %" G_GUINT64_FORMAT " is %.9g, by the reference %.9g", i, a,
                              b);
      return FALSE;
    }
  return TRUE;
}

static IrTensor *
result (const IrRun *run, const Case *c)
{
  return ir_run_value (run, c->node->outputs[0]->id);
}

static void
broken (const Case *c, const IrOp *op, const char *what, const char *why)
{
  g_test_message ("%s: %s%s", what, op->name, c->text->str);
  g_test_message ("%s", why);
  g_test_fail ();
}

/* Twice by one plan, and once by another: the same bits each time. */
static void
run_on_cpu (Case *c, const IrOp *op, const IrRun *wanted, guint n_threads)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = n_threads };
  g_autoptr (IrExecutable) executable = ir_executable_new (c->b.model, &options, &error);
  g_autoptr (IrRun) first = NULL;
  g_autofree char *why = NULL;

  if (executable != NULL)
    first = ir_executable_run (executable, c->inputs, NULL, NULL, &error);
  if (first == NULL || wanted == NULL)
    {
      if (first != NULL)
        broken (c, op, "refused by the reference alone", "");
      else if (wanted != NULL)
        broken (c, op, "refused by the CPU alone", error->message);
      return;
    }
  if (!close_enough (c, result (first, c), result (wanted, c), &op->tol, &why))
    {
      broken (c, op, n_threads == 1 ? "one thread" : "more threads", why);
      return;
    }
  g_autoptr (IrRun) second = ir_executable_run (executable, c->inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) other = ir_model_run (c->b.model, c->inputs, &options, NULL, &error);
  g_assert_no_error (error);
  if (!ir_tensor_equal (result (first, c), result (second, c)) ||
      !ir_tensor_equal (result (first, c), result (other, c)))
    broken (c, op, "another run gives other bits", "");
}

static gboolean
has_kernel (const IrOp *op)
{
  g_auto (Builder) b = { 0 };
  const IrBackend *cpu = ir_backend_find ("cpu");

  builder_init (&b, 20);
  IrNode *node = ir_edit_add_node (b.edit, b.model->main, op->name, op->domain, NULL, 0, NULL, 1);
  return node->op == op && cpu->kernel (node) != NULL;
}

static gboolean
run_case (const IrOp *op, guint number)
{
  Case c = { .special = number % 3 == 2 };
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  builder_init (&c.b, op->since > 20 ? 28 : 20);
  c.rand = g_rand_new_with_seed (number * 1009 + g_str_hash (op->name));
  c.inputs = inputs_new ();
  c.text = g_string_new (NULL);
  make_case (&c, op);
  build_output (&c.b, c.node->outputs[0]);
  build_done (&c.b);
  g_autoptr (IrRun) wanted = ir_model_run (c.b.model, c.inputs, &options, NULL, &error);
  run_on_cpu (&c, op, wanted, 1);
  run_on_cpu (&c, op, wanted, 2);
  g_string_free (c.text, TRUE);
  g_hash_table_unref (c.inputs);
  g_rand_free (c.rand);
  builder_clear (&c.b);
  return wanted != NULL;
}

static void
test_op (gconstpointer data)
{
  const IrOp *op = data;
  guint n_ran = 0;

  for (guint i = 0; i < N_CASES; i++)
    n_ran += run_case (op, i) ? 1 : 0;
  /* Most cases must be legal, or they say nothing about results. */
  g_assert_cmpuint (n_ran, >, N_CASES / 3);
}

/* One plan with unknown sizes, run on shapes that change: nothing is kept from a run before. */
static void
test_changing_shapes (void)
{
  const gint64 shapes[][4] = {
    { 1, 3, 8, 8 }, { 2, 3, 8, 8 }, { 1, 3, 5, 11 }, { 1, 3, 8, 8 }, { 0, 3, 8, 8 }, { 3, 3, 2, 3 },
  };
  g_autoptr (GError) error = NULL;
  IrRunOptions cpu = { .backend = ir_backend_find ("cpu"), .n_threads = 2 },
               ref = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[?,3,?,?]");
  IrValue *w = build_input (&b, "w", "float[?,3,?,?]");
  IrNode *conv = build_node (&b, NULL, "irscope.ConvRelu", 1, x, w, END);
  build_string (&b, conv, "auto_pad", "SAME_UPPER");
  IrNode *pool = build_node (&b, NULL, "MaxPool", 1, conv->outputs[0], END);
  build_ints (&b, pool, "kernel_shape", 2, 2, 2);
  IrNode *mean = build_node (&b, NULL, "GlobalAveragePool", 1, pool->outputs[0], END);
  build_output (&b, mean->outputs[0]);
  build_done (&b);
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &cpu, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (shapes); i++)
    {
      const gint64 *dims = shapes[i % G_N_ELEMENTS (shapes)];
      g_autofree char *type = g_strdup_printf ("float[%d,%d,%d,%d]", (int) dims[0], (int) dims[1],
                                               (int) dims[2], (int) dims[3]);
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_autofree char *why = NULL;

      inputs_add (inputs, x, tensor_random (type, i));
      inputs_add (inputs, w, tensor_random (i % 2 == 0 ? "float[4,3,3,3]" : "float[7,3,1,2]", i));
      g_autoptr (IrRun) found = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) wanted = ir_model_run (b.model, inputs, &ref, NULL, &error);
      g_assert_no_error (error);
      if (!close_enough (NULL, ir_run_value (found, mean->outputs[0]->id),
                         ir_run_value (wanted, mean->outputs[0]->id), &conv->op->tol, &why))
        {
          g_test_message ("run %u on %s: %s", i, type, why);
          g_test_fail ();
        }
    }
}

/* 1 + erf has no digits left there: x (1 + erf) / 2 would be 0 from -5.9 on in float. */
static void
test_tails_keep_their_digits (void)
{
  static const double points[] = { -1.45, -3, -5, -6.5, -8, -9.5, -12 };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (points); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GHashTable) inputs = inputs_new ();
      IrRunOptions options = { .backend = ir_backend_find (i % 2 ? "cpu" : "ref"), .n_threads = 1 };
      g_auto (Builder) b = { 0 };
      builder_init (&b, 20);
      IrValue *x = build_input (&b, "x", "float[1]");
      IrValue *y = build_node (&b, NULL, "Gelu", 1, x, END)->outputs[0];
      build_output (&b, y);
      build_done (&b);
      float point = (float) points[i / 2];
      IrTensor *tensor = tensor_random ("float[1]", 0);
      *(float *) ir_tensor_data_writable (tensor) = point;
      inputs_add (inputs, x, tensor);
      g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      double wanted = 0.5 * point * erfc (-point * M_SQRT1_2);
      double found = *(const float *) ir_tensor_data (ir_run_value (run, y->id));
      /* What half a unit in the last place of the square changes. */
      g_assert_cmpfloat_with_epsilon (found, wanted, -wanted * 1e-7 * (3 + point * point));
    }
}

int
main (int argc, char **argv)
{
  guint n = 0;

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cpu/shapes may change from run to run", test_changing_shapes);
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id (id);
      if (!has_kernel (op) || !has_cases (op))
        continue;
      g_autofree char *name = g_strdup_printf ("/cpu/%s%s%s agrees with the reference",
                                               op->domain != NULL ? op->domain : "",
                                               op->domain != NULL ? "." : "", op->name);
      g_test_add_data_func (name, op, test_op);
      n++;
    }
  g_assert_cmpuint (n, >, 0);
  g_test_add_func ("/cpu/tails of Gelu keep their digits", test_tails_keep_their_digits);
  return g_test_run ();
}
