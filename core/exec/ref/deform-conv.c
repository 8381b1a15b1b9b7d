/* Deformable convolution (Dai et al. 2017; with a mask, Zhu et al. 2018): for every place of the
 * output the elements that the kernel looks at are sampled first, then weighted as in any
 * convolution. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/kernel/threads.h"
#include "core/op/infer-window.h"
#include "core/exec/ref/ref.h"
#include <math.h>

#define MAX_AXES 8 /* 2 neighbours along each: 256 corners */

typedef struct
{
  IrCall *call;
  IrWindow window;
  gint64 group, offset_group;
  gint64 channels, out_channels;        /* of X and of Y */
  gint64 n_taps;                        /* elements of the kernel */
  gint64 in_plane, out_plane;           /* elements of a plane of X and of Y */
  double *x, *w, *offset, *bias, *mask; /* bias and mask nullable */
  IrTensor *y;
  gint no_memory; /* atomic: a thread got no scratch */
} Deform;

static void
deform_clear (Deform *deform)
{
  g_free (deform->x);
  g_free (deform->w);
  g_free (deform->offset);
  g_free (deform->bias);
  g_free (deform->mask);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Deform, deform_clear)

/* X between its elements: the weighted sum of the corners around @place, of which those outside of
 * X are zeros. */
static double
sample (const Deform *d, const double *plane, const double *place)
{
  const IrWindow *window = &d->window;
  double sum = 0;

  for (guint i = 0; i < window->n_axes; i++)
    if (!(place[i] > -1 && place[i] < (double) window->in[i])) /* also NaN */
      return 0;
  for (guint corner = 0; corner < 1u << window->n_axes; corner++)
    {
      double weight = 1;
      gint64 index = 0;
      for (guint i = 0; i < window->n_axes && weight != 0; i++)
        {
          double low = floor (place[i]), part = place[i] - low;
          gboolean high = (corner >> i & 1) != 0;
          gint64 at = (gint64) low + high;
          weight *= at < 0 || at >= window->in[i] ? 0 : high ? part : 1 - part;
          index = index * window->in[i] + at;
        }
      if (weight != 0)
        sum += weight * plane[index];
    }
  return sum;
}

/* Element of offset or mask: [batch, @channel of @n, place]. */
static double
at_place (const Deform *d, const double *values, gint64 batch, gint64 n, gint64 channel, gint64 out)
{
  return values[(batch * n + channel) * d->out_plane + out];
}

/* Samples [channels, taps] for place @out of the output. */
static void
sample_place (const Deform *d, gint64 batch, gint64 out, double *samples)
{
  const IrWindow *window = &d->window;
  gint64 n_axes = window->n_axes, taps = d->offset_group * d->n_taps;
  gint64 per_group = d->channels / d->offset_group;

  for (gint64 tap = 0; tap < taps; tap++)
    {
      double place[MAX_AXES];
      gint64 rest_out = out, rest_tap = tap % d->n_taps, first = tap / d->n_taps * per_group;
      for (guint i = window->n_axes; i-- > 0;)
        {
          gint64 start = rest_out % window->out[i] * window->stride[i] - window->pad_begin[i];
          gint64 step = rest_tap % window->kernel[i] * window->dilation[i];
          place[i] = (double) (start + step) +
                     at_place (d, d->offset, batch, taps * n_axes, tap * n_axes + i, out);
          rest_out /= window->out[i];
          rest_tap /= window->kernel[i];
        }
      double mask = d->mask != NULL ? at_place (d, d->mask, batch, taps, tap, out) : 1;
      for (gint64 c = first; c < first + per_group; c++)
        samples[c * d->n_taps + tap % d->n_taps] = mask * sample (d,
                                                                  d->x + (batch * d->channels + c) *
                                                                             d->in_plane,
                                                                  place);
    }
}

static void
run_places (guint64 first, guint64 end, guint worker, gpointer data)
{
  Deform *d = data;
  gint64 per_group = d->channels / d->group, each = d->out_channels / d->group;
  gint64 weights = per_group * d->n_taps;
  g_autofree double *samples = g_try_new (double, (gsize) MAX (d->channels * d->n_taps, 1));

  if (samples == NULL)
    {
      g_atomic_int_set (&d->no_memory, 1);
      return;
    }
  for (guint64 i = first; i < end && !ir_call_stopped (d->call); i++)
    {
      gint64 batch = (gint64) i / d->out_plane, out = (gint64) i % d->out_plane;
      sample_place (d, batch, out, samples);
      for (gint64 m = 0; m < d->out_channels; m++)
        {
          const double *seen = samples + m / each * weights, *w = d->w + m * weights;
          double sum = d->bias != NULL ? d->bias[m] : 0;
          for (gint64 k = 0; k < weights; k++)
            sum += seen[k] * w[k];
          ir_block_store (d->y, (guint64) ((batch * d->out_channels + m) * d->out_plane + out), 1,
                          &sum);
        }
    }
}

static gboolean
load (Deform *d, GError **error)
{
  IrCall *call = d->call;
  double **blocks[] = { &d->x, &d->w, &d->offset, &d->bias, &d->mask };

  for (guint slot = 0; slot < G_N_ELEMENTS (blocks); slot++)
    if (ir_call_has_input (call, slot))
      {
        *blocks[slot] = ir_block_load_new (call, slot, error);
        if (*blocks[slot] == NULL)
          return FALSE;
      }
  return TRUE;
}

/* Inference compares sizes as far as products fit; here nothing may be left open. */
static gboolean
check_taps (const Deform *d, GError **error)
{
  guint64 taps = ir_mul_saturated ((guint64) d->n_taps, (guint64) d->offset_group);

  for (guint slot = 2; slot <= 4; slot += 2)
    {
      guint64 wanted = slot == 2 ? ir_mul_saturated (taps, d->window.n_axes) : taps;
      const IrTensor *tensor = ir_call_input (d->call, slot);
      if (tensor != NULL && (guint64) ir_tensor_dims (tensor)[1] != wanted)
        return ir_call_fail (d->call, error, IR_OP_ERROR_SHAPE,
                             "input %u has %" G_GINT64_FORMAT
                             " channels, needed are %" G_GUINT64_FORMAT,
                             slot, ir_tensor_dims (tensor)[1], wanted);
    }
  return TRUE;
}

/* X [N, C, ...], W [M, C / group, ...], offset, B [M], mask. Channels of offset are [offset
 * groups, elements of the kernel, axes], those of mask [offset groups, elements of the kernel].
 * Source: ONNX DeformConv 22. */
gboolean
ir_ref_deform_conv (IrCall *call, GError **error)
{
  g_auto (Deform) d = { .call = call };

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error) ||
      !ir_window_of_conv (&d.window, call, error))
    return FALSE;
  if (d.window.n_axes > MAX_AXES)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "%u spatial axes, at most %d can be handled", d.window.n_axes, MAX_AXES);
  d.group = ir_call_int (call, "group", 1);
  d.offset_group = ir_call_int (call, "offset_group", 1);
  d.channels = ir_tensor_dims (ir_call_input (call, 0))[1];
  d.y = ir_block_new_output (call, 0, error);
  if (d.y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (d.y) == 0)
    return TRUE;
  const gint64 *dims = ir_tensor_dims (d.y);
  d.out_channels = dims[1];
  d.n_taps = d.in_plane = d.out_plane = 1;
  for (guint i = 0; i < d.window.n_axes; i++)
    {
      d.n_taps = (gint64) MIN (ir_mul_saturated ((guint64) d.n_taps, (guint64) d.window.kernel[i]),
                               (guint64) G_MAXINT64);
      d.in_plane = (gint64) ((guint64) d.in_plane * (guint64) d.window.in[i]);
      d.out_plane *= d.window.out[i];
    }
  if (!check_taps (&d, error) || !load (&d, error))
    return FALSE;
  double per_place = (double) d.n_taps * (double) d.channels *
                     (double) (1 + d.out_channels / MAX (d.group, 1));
  ir_threads_for (call->threads, (guint64) (dims[0] * d.out_plane), ir_threads_grain (per_place),
                  run_places, &d);
  if (g_atomic_int_get (&d.no_memory))
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for scratch");
  return !ir_block_cancelled (call, error);
}
