/* Normalization: batch, instance, group, layer, root mean square, local response, lp, mean and
 * variance. Statistics are two-pass, in double. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/op/infer-util.h"
#include "core/exec/ref/ref.h"

#include <math.h>

static double
mean_of (const IrCall *call, const double *values, guint64 n)
{
  double sum = 0;

  for (guint64 i = 0; i < n; i++)
    sum += values[i];
  return n > 0 ? sum / (double) n : 0;
}

static double
variance_of (const IrCall *call, const double *values, guint64 n, double mean)
{
  double sum = 0;

  for (guint64 i = 0; i < n; i++)
    sum += (values[i] - mean) * (values[i] - mean);
  return n > 0 ? sum / (double) n : 0;
}

static guint64
count_from (const IrTensor *tensor, guint first)
{
  guint64 n = 1;

  for (guint i = first; i < ir_tensor_rank (tensor); i++)
    n *= (guint64) ir_tensor_dims (tensor)[i];
  return n;
}

static guint64
count_before (const IrTensor *tensor, guint end)
{
  guint64 n = 1;

  for (guint i = 0; i < end; i++)
    n *= (guint64) ir_tensor_dims (tensor)[i];
  return n;
}

/* -- batch -- */

typedef struct
{
  guint64 batch, channels, plane; /* N, C, elements of one channel of one sample */
  const IrTensor *x;
} Planes;

static Planes
planes_of (const IrCall *call)
{
  const IrTensor *x = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (x);
  Planes planes = { .x = x, .batch = 1, .channels = 1, .plane = 1 };

  planes.batch = rank > 0 ? (guint64) ir_tensor_dims (x)[0] : 1;
  planes.channels = rank > 1 ? (guint64) ir_tensor_dims (x)[1] : 1;
  planes.plane = count_from (x, MIN (rank, 2));
  if (ir_call_int (call, "spatial", 1) == 0)
    {
      /* One statistic per element of a sample. */
      planes.channels *= planes.plane;
      planes.plane = 1;
    }
  return planes;
}

/* Mean and variance of channel @c over batch and plane. */
static void
channel_statistics (const IrCall *call,
                    const Planes *planes,
                    guint64 c,
                    double *scratch,
                    double *mean,
                    double *variance)
{
  for (guint64 n = 0; n < planes->batch; n++)
    ir_block_load_many (call, planes->x, (n * planes->channels + c) * planes->plane, planes->plane,
                        scratch + n * planes->plane);
  *mean = mean_of (call, scratch, planes->batch * planes->plane);
  *variance = variance_of (call, scratch, planes->batch * planes->plane, *mean);
}

static gboolean
store_running (
    IrCall *call, guint slot, guint64 channel, double old, double current, GError **error)
{
  double momentum = ir_call_float (call, "momentum", 0.9);
  double value = old * momentum + current * (1 - momentum);

  if (!ir_call_has_output (call, slot))
    return TRUE;
  if (call->outputs[slot].tensor == NULL && ir_block_new_output (call, slot, error) == NULL)
    return FALSE;
  ir_block_store (call->outputs[slot].tensor, channel, 1, &value);
  return TRUE;
}

static gboolean
check_training (const IrCall *call, GError **error)
{
  if (call->opset != 0 && call->opset < 14)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "training mode of opset %" G_GINT64_FORMAT
                         " is not supported; 14 and later are",
                         call->opset);
  return TRUE;
}

/* X [N, C, ...]; scale, B, mean, var [C]. Source: ONNX BatchNormalization 15. */
gboolean
ir_ref_batch_norm (IrCall *call, GError **error)
{
  gboolean training = ir_call_int (call, "training_mode", 0) != 0;
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);

  if (!ir_block_check_float (call, error) || !ir_infer_batch_norm (call, error) ||
      (training && !check_training (call, error)))
    return FALSE;
  Planes planes = planes_of (call);
  for (guint slot = 1; slot < 5; slot++)
    if (ir_tensor_n_elements (ir_call_input (call, slot)) != planes.channels)
      return ir_call_fail (
          call, error, IR_OP_ERROR_SHAPE,
          "input %u has %" G_GUINT64_FORMAT " elements, needed are %" G_GUINT64_FORMAT, slot,
          ir_tensor_n_elements (ir_call_input (call, slot)), planes.channels);
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *plane = ir_block_new (call, MAX (planes.batch, 1) * MAX (planes.plane, 1),
                                           error);
  if (y == NULL || plane == NULL)
    return FALSE;
  for (guint64 c = 0; c < planes.channels && !ir_call_stopped (call); c++)
    {
      double scale = ir_tensor_get_double (ir_call_input (call, 1), c);
      double shift = ir_tensor_get_double (ir_call_input (call, 2), c);
      double mean = ir_tensor_get_double (ir_call_input (call, 3), c);
      double variance = ir_tensor_get_double (ir_call_input (call, 4), c);
      if (training)
        {
          double old_mean = mean, old_variance = variance;
          channel_statistics (call, &planes, c, plane, &mean, &variance);
          if (!store_running (call, 1, c, old_mean, mean, error) ||
              !store_running (call, 2, c, old_variance, variance, error))
            return FALSE;
        }
      double factor = scale / sqrt (variance + epsilon);
      for (guint64 n = 0; n < planes.batch; n++)
        {
          guint64 start = (n * planes.channels + c) * planes.plane;
          ir_block_load_many (call, planes.x, start, planes.plane, plane);
          for (guint64 i = 0; i < planes.plane; i++)
            plane[i] = (plane[i] - mean) * factor + shift;
          ir_block_store (y, start, planes.plane, plane);
        }
    }
  return TRUE;
}

/* -- groups of channels of one sample; an instance is a group of one channel -- */

static gboolean
normalize_groups (IrCall *call, guint64 groups, GError **error)
{
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);
  Planes planes = planes_of (call);
  const IrTensor *scale = ir_call_input (call, 1), *bias = ir_call_input (call, 2);

  if (groups == 0 || planes.channels % groups != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "num_groups must divide the %" G_GUINT64_FORMAT " channels of X",
                         planes.channels);
  guint64 n_scale = ir_tensor_n_elements (scale), each = planes.channels / groups;
  if ((n_scale != groups && n_scale != planes.channels) || ir_tensor_n_elements (bias) != n_scale)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "scale and bias need one entry per channel (%" G_GUINT64_FORMAT ")",
                         planes.channels);
  IrTensor *y = ir_block_new_output (call, 0, error);
  guint64 size = each * planes.plane;
  g_autofree double *values = ir_block_new (call, size, error);
  if (y == NULL || values == NULL)
    return FALSE;
  for (guint64 group = 0; group < planes.batch * groups && !ir_call_stopped (call); group++)
    {
      ir_block_load_many (call, planes.x, group * size, size, values);
      double mean = mean_of (call, values, size);
      double factor = 1 / sqrt (variance_of (call, values, size, mean) + epsilon);
      for (guint64 i = 0; i < size; i++)
        {
          guint64 channel = group % groups * each + i / planes.plane;
          guint64 entry = n_scale == planes.channels ? channel : group % groups;
          values[i] = (values[i] - mean) * factor * ir_tensor_get_double (scale, entry) +
                      ir_tensor_get_double (bias, entry);
        }
      ir_block_store (y, group * size, size, values);
    }
  return TRUE;
}

/* X [N, C, ...]; scale and B [C]. Source: ONNX InstanceNormalization 22. */
gboolean
ir_ref_instance_norm (IrCall *call, GError **error)
{
  return ir_block_check_float (call, error) && ir_infer_channel_norm (call, error) &&
         normalize_groups (call, MAX (planes_of (call).channels, 1), error);
}

/* X [N, C, ...]; scale and bias [C], or [num_groups] before opset 21. Source: ONNX
 * GroupNormalization 18 and 21. */
gboolean
ir_ref_group_norm (IrCall *call, GError **error)
{
  return ir_block_check_float (call, error) && ir_infer_channel_norm (call, error) &&
         normalize_groups (call, (guint64) MAX (ir_call_int (call, "num_groups", 0), 0), error);
}

/* -- layers -- */

/* Element of a tensor that broadcasts to X's axes from @axis on, at flat index @i of these. */
static double
broadcast_element (const IrTensor *tensor, const IrTensor *x, guint axis, guint64 i)
{
  guint rank = ir_tensor_rank (tensor), x_rank = ir_tensor_rank (x);
  guint64 index = 0, step = 1;

  for (guint k = 0; k < rank && x_rank - 1 - k >= axis; k++)
    {
      gint64 size = ir_tensor_dims (tensor)[rank - 1 - k];
      guint64 x_size = (guint64) ir_tensor_dims (x)[x_rank - 1 - k];
      index += size == 1 ? 0 : i % x_size * step;
      step *= (guint64) size;
      i /= x_size;
      if (x_rank - 1 - k == 0)
        break;
    }
  return ir_tensor_get_double (tensor, index);
}

static gboolean
check_layer_vector (const IrCall *call, guint slot, guint axis, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0), *vector = ir_call_input (call, slot);
  guint rank = vector != NULL ? ir_tensor_rank (vector) : 0, x_rank = ir_tensor_rank (x);
  gboolean fits = rank <= x_rank;

  for (guint k = 0; fits && k < rank; k++)
    {
      gint64 size = ir_tensor_dims (vector)[rank - 1 - k];
      fits = size == 1 || (k < x_rank - axis && size == ir_tensor_dims (x)[x_rank - 1 - k]);
    }
  return fits ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "input %u does not broadcast to the axes of X from %u on", slot, axis);
}

static gboolean
normalize_layers (IrCall *call, gboolean centre, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0), *scale = ir_call_input (call, 1);
  const IrTensor *bias = ir_call_input (call, 2);
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);
  gint64 axis;

  if (!ir_block_check_float (call, error) || !ir_infer_layer_norm (call, error) ||
      !ir_call_axis (call, ir_call_int (call, "axis", -1), (int) ir_tensor_rank (x), &axis,
                     error) ||
      !check_layer_vector (call, 1, (guint) axis, error) ||
      !check_layer_vector (call, 2, (guint) axis, error))
    return FALSE;
  guint64 n_rows = count_before (x, (guint) axis), size = count_from (x, (guint) axis);
  IrTensor *outputs[3] = { NULL };
  for (guint slot = 0; slot < 3; slot++)
    if (ir_call_has_output (call, slot) &&
        (outputs[slot] = ir_block_new_output (call, slot, error)) == NULL)
      return FALSE;
  g_autofree double *row = ir_block_new (call, size, error);
  if (row == NULL)
    return FALSE;
  for (guint64 r = 0; r < n_rows && !ir_call_stopped (call); r++)
    {
      ir_block_load_many (call, x, r * size, size, row);
      double mean = centre ? mean_of (call, row, size) : 0;
      double factor = 1 / sqrt (variance_of (call, row, size, mean) + epsilon);
      for (guint64 i = 0; i < size; i++)
        row[i] = (row[i] - mean) * factor * broadcast_element (scale, x, (guint) axis, i) +
                 (bias != NULL ? broadcast_element (bias, x, (guint) axis, i) : 0);
      if (outputs[0] != NULL)
        ir_block_store (outputs[0], r * size, size, row);
      if (outputs[1] != NULL)
        ir_block_store (outputs[1], r, 1, &mean);
      if (outputs[2] != NULL)
        ir_block_store (outputs[2], r, 1, &factor);
    }
  return TRUE;
}

/* X; scale and bias broadcast to X's axes from axis on. Source: ONNX LayerNormalization 17. */
gboolean
ir_ref_layer_norm (IrCall *call, GError **error)
{
  return normalize_layers (call, TRUE, error);
}

/* X; scale broadcasts to X's axes from axis on. Source: ONNX RMSNormalization 23. */
gboolean
ir_ref_rms_norm (IrCall *call, GError **error)
{
  return normalize_layers (call, FALSE, error);
}

/* -- derivatives -- */

/* @n elements that were normalized together, g = dY scale beside each: @x becomes what they were
 * normalized to, @g the derivative by them. Sources: Ioffe and Szegedy, Batch Normalization; Ba, Kiros
 * and Hinton, Layer Normalization */
static void
normalize_back (const IrCall *call, gboolean centre, double *x, double *g, guint64 n)
{
  double epsilon = ir_call_float (call, "epsilon", 1e-5f), mean = centre ? mean_of (call, x, n) : 0;
  double inverse = 1 / sqrt (variance_of (call, x, n, mean) + epsilon), along = 0;
  double g_mean = centre ? mean_of (call, g, n) : 0;

  for (guint64 i = 0; i < n; i++)
    {
      x[i] = (x[i] - mean) * inverse;
      along += g[i] * x[i];
    }
  for (guint64 i = 0; i < n; i++)
    g[i] = inverse * (g[i] - g_mean - x[i] * along / (double) n);
}

/* What the kernels below have: outputs that are wanted, sums over what parameters were shared by, and two
 * rows of scratch. */
typedef struct
{
  const IrTensor *dy, *x, *scale;
  IrTensor *outputs[3];
  double *sums[2], *row, *g; /* (owned) */
} NormGrad;

static void
norm_grad_clear (NormGrad *n)
{
  g_free (n->sums[0]);
  g_free (n->sums[1]);
  g_free (n->row);
  g_free (n->g);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (NormGrad, norm_grad_clear)

static gboolean
norm_grad_init (NormGrad *n, IrCall *call, guint64 n_parameters, guint64 size, GError **error)
{
  *n = (NormGrad){ .dy = ir_call_input (call, 0),
                   .x = ir_call_input (call, 1),
                   .scale = ir_call_input (call, 2) };
  for (guint slot = 0; slot < 3; slot++)
    if (ir_call_has_output (call, slot) &&
        (n->outputs[slot] = ir_block_new_output (call, slot, error)) == NULL)
      return FALSE;
  for (guint i = 0; i < 2; i++)
    {
      if ((n->sums[i] = ir_block_new (call, n_parameters, error)) == NULL)
        return FALSE;
      ir_block_fill (n->sums[i], n_parameters, 0);
    }
  return (n->row = ir_block_new (call, size, error)) != NULL &&
         (n->g = ir_block_new (call, size, error)) != NULL;
}

static void
norm_grad_store_sums (NormGrad *n, guint64 n_parameters)
{
  for (guint i = 0; i < 2; i++)
    if (n->outputs[i + 1] != NULL)
      ir_block_store (n->outputs[i + 1], 0, n_parameters, n->sums[i]);
}

/* dY, X [N, C, ...], scale [C]. */
gboolean
ir_ref_batch_norm_grad (IrCall *call, GError **error)
{
  g_auto (NormGrad) n = { NULL };

  if (!ir_block_check_float (call, error) || !call->op->infer (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 1);
  guint64 batch = (guint64) ir_tensor_dims (x)[0], channels = (guint64) ir_tensor_dims (x)[1],
          plane = count_from (x, 2);
  if (!norm_grad_init (&n, call, channels, MAX (batch * plane, 1), error))
    return FALSE;
  for (guint64 c = 0; c < channels && !ir_call_stopped (call); c++)
    {
      double scale = ir_tensor_get_double (n.scale, c);
      for (guint64 i = 0; i < batch; i++)
        {
          ir_block_load_many (call, x, (i * channels + c) * plane, plane, n.row + i * plane);
          ir_block_load_many (call, n.dy, (i * channels + c) * plane, plane, n.g + i * plane);
        }
      for (guint64 i = 0; i < batch * plane; i++)
        {
          n.sums[1][c] += n.g[i];
          n.g[i] *= scale;
        }
      normalize_back (call, TRUE, n.row, n.g, batch * plane);
      for (guint64 i = 0; i < batch * plane; i++)
        n.sums[0][c] += ir_tensor_get_double (n.dy,
                                              (i / plane * channels + c) * plane + i % plane) *
                        n.row[i];
      for (guint64 i = 0; n.outputs[0] != NULL && i < batch; i++)
        ir_block_store (n.outputs[0], (i * channels + c) * plane, plane, n.g + i * plane);
    }
  norm_grad_store_sums (&n, channels);
  return TRUE;
}

/* The like, but what is normalized together are num_groups groups of each sample's channels. */
gboolean
ir_ref_group_norm_grad (IrCall *call, GError **error)
{
  g_auto (NormGrad) n = { NULL };

  if (!ir_block_check_float (call, error) || !call->op->infer (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 1);
  const guint64 batch = (guint64) ir_tensor_dims (x)[0], channels = (guint64) ir_tensor_dims (x)[1],
                plane = count_from (x, 2), given = (guint64) ir_call_int (call, "num_groups", 0),
                groups = given > 0 ? given : channels, size = channels / MAX (groups, 1) * plane;
  if (!norm_grad_init (&n, call, channels, MAX (size, 1), error))
    return FALSE;
  for (guint64 r = 0; r < batch * groups && size > 0 && !ir_call_stopped (call); r++)
    {
      const guint64 first = r % groups * (size / plane);
      ir_block_load_many (call, x, r * size, size, n.row);
      for (guint64 i = 0; i < size; i++)
        n.g[i] = ir_tensor_get_double (n.dy, r * size + i) *
                 ir_tensor_get_double (n.scale, first + i / plane);
      normalize_back (call, TRUE, n.row, n.g, size);
      for (guint64 i = 0; i < size; i++)
        {
          double dy = ir_tensor_get_double (n.dy, r * size + i);
          n.sums[0][first + i / plane] += dy * n.row[i];
          n.sums[1][first + i / plane] += dy;
        }
      if (n.outputs[0] != NULL)
        ir_block_store (n.outputs[0], r * size, size, n.g);
    }
  norm_grad_store_sums (&n, channels);
  return TRUE;
}

static gboolean
normalize_layers_back (IrCall *call, gboolean centre, GError **error)
{
  const IrTensor *x = ir_call_input (call, 1);
  g_auto (NormGrad) n = { NULL };
  gint64 axis;

  if (!ir_block_check_float (call, error) || !call->op->infer (call, error) ||
      !ir_call_axis (call, ir_call_int (call, "axis", -1), (int) ir_tensor_rank (x), &axis,
                     error) ||
      !check_layer_vector (call, 2, (guint) axis, error))
    return FALSE;
  guint64 n_rows = count_before (x, (guint) axis), size = count_from (x, (guint) axis);
  if (!norm_grad_init (&n, call, size, MAX (size, 1), error))
    return FALSE;
  for (guint64 r = 0; r < n_rows && !ir_call_stopped (call); r++)
    {
      ir_block_load_many (call, x, r * size, size, n.row);
      for (guint64 i = 0; i < size; i++)
        n.g[i] = ir_tensor_get_double (n.dy, r * size + i) *
                 broadcast_element (n.scale, x, (guint) axis, i);
      normalize_back (call, centre, n.row, n.g, size);
      for (guint64 i = 0; i < size; i++)
        {
          double dy = ir_tensor_get_double (n.dy, r * size + i);
          n.sums[0][i] += dy * n.row[i];
          n.sums[1][i] += dy;
        }
      if (n.outputs[0] != NULL)
        ir_block_store (n.outputs[0], r * size, size, n.g);
    }
  norm_grad_store_sums (&n, size);
  return TRUE;
}

/* dY, X; scale broadcasts to X's axes from axis on. */
gboolean
ir_ref_layer_norm_grad (IrCall *call, GError **error)
{
  return normalize_layers_back (call, TRUE, error);
}

gboolean
ir_ref_rms_norm_grad (IrCall *call, GError **error)
{
  return normalize_layers_back (call, FALSE, error);
}

/* -- neighbouring channels -- */

/* X [N, C, ...]. The window of channel c reaches from c - floor ((size - 1) / 2) to c + ceil
 * ((size - 1) / 2). Source: ONNX LRN 13. */
gboolean
ir_ref_lrn (IrCall *call, GError **error)
{
  if (!ir_block_check_float (call, error) || !ir_infer_lrn (call, error))
    return FALSE;
  Planes planes = planes_of (call);
  gint64 size = ir_call_int (call, "size", 1), channels = (gint64) planes.channels;
  double alpha = ir_call_float (call, "alpha", 0.0001), beta = ir_call_float (call, "beta", 0.75);
  double bias = ir_call_float (call, "bias", 1);
  IrTensor *y = ir_block_new_output (call, 0, error);
  guint64 sample = planes.channels * planes.plane;
  g_autofree double *x = ir_block_new (call, sample, error);
  g_autofree double *row = ir_block_new (call, planes.plane, error);
  if (y == NULL || x == NULL || row == NULL)
    return FALSE;
  for (guint64 n = 0; n < planes.batch; n++)
    {
      ir_block_load_many (call, planes.x, n * sample, sample, x);
      for (gint64 c = 0; c < channels; c++)
        {
          gint64 first = MAX (c - (size - 1) / 2, 0);
          gint64 last = MIN (c + size / 2, channels - 1);
          for (guint64 i = 0; i < planes.plane; i++)
            {
              double squares = 0;
              for (gint64 k = first; k <= last; k++)
                {
                  double value = x[(guint64) k * planes.plane + i];
                  squares += value * value;
                }
              row[i] = x[(guint64) c * planes.plane + i] /
                       pow (bias + alpha / (double) size * squares, beta);
            }
          ir_block_store (y, n * sample + (guint64) c * planes.plane, planes.plane, row);
        }
    }
  return TRUE;
}

/* -- along one axis -- */

/* X. Source: ONNX LpNormalization 22. */
gboolean
ir_ref_lp_norm (IrCall *call, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0);
  gint64 p = ir_call_int (call, "p", 2), axis;

  if (p != 1 && p != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "p is %" G_GINT64_FORMAT ", needed is 1 or 2", p);
  if (!ir_block_check_float (call, error) || !ir_infer_axis_norm (call, error) ||
      !ir_call_axis (call, ir_call_int (call, "axis", -1), (int) ir_tensor_rank (x), &axis, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  guint64 size = (guint64) ir_tensor_dims (x)[axis], inner = count_from (x, (guint) axis + 1);
  for (guint64 row = 0; row < count_before (x, (guint) axis) * inner && !ir_call_stopped (call);
       row++)
    {
      guint64 start = row / inner * size * inner + row % inner;
      double sum = 0;
      for (guint64 i = 0; i < size; i++)
        {
          double value = ir_tensor_get_double (x, start + i * inner);
          sum += p == 1 ? fabs (value) : value * value;
        }
      double norm = p == 1 ? sum : sqrt (sum);
      for (guint64 i = 0; i < size; i++)
        {
          double value = norm == 0 ? 0 : ir_tensor_get_double (x, start + i * inner) / norm;
          ir_block_store (y, start + i * inner, 1, &value);
        }
    }
  return TRUE;
}

/* -- over given axes -- */

/* Flat index of the statistic that element @i of X belongs to: X's index without the axes in @mask.
 */
static guint64
statistic_index (const IrTensor *x, const gboolean *mask, guint64 i)
{
  guint64 index = 0, step = 1;

  for (guint axis = ir_tensor_rank (x); axis-- > 0;)
    {
      guint64 size = (guint64) ir_tensor_dims (x)[axis];
      if (!mask[axis])
        {
          index += i % size * step;
          step *= size;
        }
      i /= size;
    }
  return index;
}

/* X. Source: ONNX MeanVarianceNormalization 13, whose body divides by sqrt (variance) + 1e-9. */
gboolean
ir_ref_mean_variance_norm (IrCall *call, GError **error)
{
  static const gint64 standard[] = { 0, 2, 3 };
  const IrTensor *x = ir_call_input (call, 0);
  gboolean mask[IR_MAX_RANK] = { FALSE };
  guint n_axes;
  const gint64 *axes = ir_call_ints (call, "axes", &n_axes);

  if (axes == NULL)
    {
      axes = standard;
      n_axes = G_N_ELEMENTS (standard);
    }
  if (!ir_block_check_float (call, error) || !ir_infer_mean_variance_norm (call, error) ||
      !ir_call_axes (call, axes, n_axes, (int) ir_tensor_rank (x), mask, error))
    return FALSE;
  guint64 n = ir_tensor_n_elements (x), n_statistics = 1;
  for (guint i = 0; i < ir_tensor_rank (x); i++)
    n_statistics *= mask[i] ? 1 : (guint64) ir_tensor_dims (x)[i];
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *values = ir_block_load_new (call, 0, error);
  g_autofree double *mean = ir_block_new (call, n_statistics, error);
  g_autofree double *variance = ir_block_new (call, n_statistics, error);
  if (y == NULL || values == NULL || mean == NULL || variance == NULL)
    return FALSE;
  double each = n_statistics > 0 ? (double) (n / n_statistics) : 1;
  ir_block_fill (mean, n_statistics, 0);
  ir_block_fill (variance, n_statistics, 0);
  for (guint64 i = 0; i < n; i++)
    mean[statistic_index (x, mask, i)] += values[i] / each;
  for (guint64 i = 0; i < n; i++)
    {
      double centred = values[i] - mean[statistic_index (x, mask, i)];
      variance[statistic_index (x, mask, i)] += centred * centred / each;
    }
  for (guint64 i = 0; i < n; i++)
    {
      guint64 k = statistic_index (x, mask, i);
      values[i] = (values[i] - mean[k]) / (sqrt (variance[k]) + 1e-9);
    }
  ir_block_store (y, 0, n, values);
  return TRUE;
}
