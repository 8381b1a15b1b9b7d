/* Arithmetic on the weights of convolutions: see the header. */
#include "config.h"

#include "passes/rewrites/per-channel.h"

#include "core/io/mapped-file.h"

#include <float.h>
#include <math.h>
#include <string.h>

static gboolean
is_transposed (const IrNode *conv)
{
  return ir_op_is (conv, IR_OP_CONV_TRANSPOSE);
}

/* Returns FALSE, with the reason in @match, if shapes or types do not allow arithmetic per
 * channel. */
gboolean
ir_conv_parts (IrMatch *match, const char *label, IrConvParts *parts)
{
  const gint64 *dims;
  gint64 group;

  parts->node = ir_match_node (match, label);
  parts->w = ir_match_constant (match, "w");
  parts->b = ir_match_constant (match, "b");
  if (parts->w == NULL || ir_tensor_rank (parts->w) < 3)
    return ir_match_fail (match, "the weight is not a constant of three or more dimensions");
  if (!ir_dtype_is_float (ir_tensor_dtype (parts->w)))
    return ir_match_fail (match, "the weight is not floating-point");
  dims = ir_tensor_dims (parts->w);
  group = ir_node_attr_int (parts->node, "group", 1);
  parts->rank = ir_tensor_rank (parts->w);
  parts->n_channels = is_transposed (parts->node) ? dims[1] * group : dims[0];
  if (group < 1 || (is_transposed (parts->node) && dims[0] % group != 0))
    return ir_match_fail (match, "the number of groups does not divide the channels");
  if (parts->b != NULL && (gint64) ir_tensor_n_elements (parts->b) != parts->n_channels)
    return ir_match_fail (match, "the bias does not have one element per channel");
  return TRUE;
}

/* One number per output channel, if numpy broadcasting of the constant to [N, C, ...] means that
 * and the result does not grow. Returns n_channels numbers, or NULL with the reason in @match. */
double *
ir_conv_channel_vector (IrMatch *match, const IrConvParts *parts, const char *variable)
{
  const IrTensor *c = ir_match_constant (match, variable);
  g_autofree double *vector = NULL;
  int rank;

  if (c == NULL || !ir_dtype_is_float (ir_tensor_dtype (c)))
    {
      ir_match_fail (match, "?%s is not a floating-point constant", variable);
      return NULL;
    }
  rank = ir_tensor_rank (c);
  if (rank > parts->rank || ir_tensor_n_elements (c) == 0)
    {
      ir_match_fail (match, "?%s has rank %d, more than the convolution's %d", variable, rank,
                     parts->rank);
      return NULL;
    }
  for (int i = 0; i < rank; i++)
    {
      int axis = parts->rank - rank + i;
      gint64 dim = ir_tensor_dims (c)[i];

      if (dim != 1 && (axis != 1 || dim != parts->n_channels))
        {
          ir_match_fail (match, "?%s varies along axis %d of the result, not along its channels",
                         variable, axis);
          return NULL;
        }
    }
  vector = g_new (double, parts->n_channels);
  for (gint64 i = 0; i < parts->n_channels; i++)
    vector[i] = ir_tensor_get_double (c, ir_tensor_n_elements (c) == 1 ? 0 : i);
  return g_steal_pointer (&vector);
}

/* N_channels numbers; zeros where there is no bias */
double *
ir_conv_bias (const IrConvParts *parts)
{
  double *bias = g_new0 (double, MAX (parts->n_channels, 1));

  for (gint64 i = 0; parts->b != NULL && i < parts->n_channels; i++)
    bias[i] = ir_tensor_get_double (parts->b, i);
  return bias;
}

static gboolean
set_checked (IrTensor *tensor, gpointer data, guint64 at, double value, gboolean was_finite)
{
  double stored;

  ir_dtype_set_double (ir_tensor_dtype (tensor), data, at, value);
  return !was_finite ||
         (ir_dtype_get_double (ir_tensor_dtype (tensor), data, at, &stored) && isfinite (stored));
}

/* Copies for wider vector units, chosen when the program starts. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTORIZED __attribute__ ((target_clones ("avx512f", "avx2", "default"), optimize ("O3")))
#else
#define VECTORIZED
#endif

/* A row of single precision, at the speed of memory: each product in double, rounded once. */
typedef float LooseFloat __attribute__ ((aligned (1))); /* as files have them */

VECTORIZED static gboolean
scale_floats (const LooseFloat *w, float *out, gint64 n, double scale)
{
  gint32 overflows = 0;

  for (gint64 i = 0; i < n; i++)
    {
      out[i] = (float) (w[i] * scale);
      overflows |= !(fabsf (out[i]) <= FLT_MAX) & (fabsf (w[i]) <= FLT_MAX);
    }
  return overflows == 0;
}

static gboolean
scale_row (const IrTensor *w, IrTensor *out, guint64 at, gint64 n, double scale)
{
  gpointer data = ir_tensor_data_writable (out);
  gboolean finite = TRUE;

  if (ir_tensor_dtype (w) == IR_DTYPE_FLOAT)
    return scale_floats ((const LooseFloat *) ir_tensor_raw (w) + at, (float *) data + at, n,
                         scale);
  for (gint64 k = 0; k < n; k++)
    {
      double element = ir_tensor_get_double (w, at + k);
      finite &= set_checked (out, data, at + k, element * scale, isfinite (element));
    }
  return finite;
}

/* Which output channel an element of W belongs to: blocks of @inner elements run through @count
 * channels, and for ConvTranspose each group of input channels starts at its own channel. */
static IrTensor *
scale_weight (const IrConvParts *parts, const double *scale, gboolean *finite)
{
  guint rank = ir_tensor_rank (parts->w);
  const gint64 *dims = ir_tensor_dims (parts->w);
  g_autoptr (IrTensor) out = ir_tensor_new_alloc (ir_tensor_dtype (parts->w), rank, dims, NULL);
  gboolean transposed = is_transposed (parts->node);
  gint64 group = ir_node_attr_int (parts->node, "group", 1), inner = 1;
  guint64 at = 0;

  if (out == NULL)
    return NULL;
  for (guint i = transposed ? 2 : 1; i < rank; i++)
    inner *= dims[i];
  for (gint64 a = 0; a < dims[0]; a++)
    for (gint64 b = 0; b < (transposed ? dims[1] : 1); b++, at += inner)
      {
        gint64 channel = transposed ? a / (dims[0] / group) * dims[1] + b : a;
        *finite &= scale_row (parts->w, out, at, inner, scale[channel]);
      }
  ir_mapped_file_give_back (ir_tensor_raw (parts->w), ir_tensor_n_bytes (parts->w));
  return g_steal_pointer (&out);
}

/* What a user called a weight stays recognizable; a made-up number is not added to again. */
static char *
base_name (const IrValue *value)
{
  gsize length = strlen (value->name);

  if (!(value->flags & IR_VALUE_NAMED_BY_USER))
    {
      while (length > 0 && g_ascii_isdigit (value->name[length - 1]))
        length--;
      if (length > 1 && value->name[length - 1] == '_')
        return g_strndup (value->name, length - 1);
    }
  return g_strdup (value->name);
}

/* Binds ?w2 to the scaled weight and ?b2 to @bias, both rounded once to the weight's type.
 * Returns FALSE, with the reason in @match, if something finite would not stay so. */
gboolean
ir_conv_bind (IrMatch *match, const IrConvParts *parts, const double *scale, const double *bias)
{
  IrDtype dtype = ir_tensor_dtype (parts->w);
  g_autoptr (IrTensor) w = NULL, b = ir_tensor_new_alloc (dtype, 1, &parts->n_channels, NULL);
  gboolean finite = TRUE;

  if (scale != NULL)
    w = scale_weight (parts, scale, &finite);
  if (b == NULL || (scale != NULL && w == NULL))
    return ir_match_fail (match, "not enough memory for the new weight");
  for (gint64 i = 0; i < parts->n_channels; i++)
    finite &= set_checked (b, ir_tensor_data_writable (b), i, bias[i], TRUE);
  if (!finite)
    return ir_match_fail (match, "a weight or bias would overflow %s", ir_dtype_name (dtype));
  if (w != NULL)
    {
      g_autofree char *name = base_name (ir_match_value (match, "w"));
      ir_match_bind_tensor (match, "w2", name, g_steal_pointer (&w));
    }
  else
    ir_match_bind_value (match, "w2", ir_match_value (match, "w"));
  g_autofree char *b_name = parts->b != NULL ? base_name (ir_match_value (match, "b"))
                                             : g_strdup ("bias");
  ir_match_bind_tensor (match, "b2", b_name, g_steal_pointer (&b));
  return TRUE;
}
