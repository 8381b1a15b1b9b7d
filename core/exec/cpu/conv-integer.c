/* ConvInteger and QLinearConv along one to three axes. The input lies with its channels last, less
 * its zero point: a window is then a few runs of channels, which become a row for dot products with
 * the weights. Of depthwise convolutions all channels are added at once, tap by tap. */
#include "config.h"

#include "core/exec/cpu/geometry.h"
#include "core/exec/cpu/integer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 64 /* positions of the output at once */

typedef struct
{
  const IrCall *call;
  CpuGeometry g;
  gint64 channels, outputs, group; /* C, M */
  gint64 own, each;                /* channels and outputs of a group */
  gint64 row;                      /* of a window of a group, filled up */
  gboolean depthwise;
  gint16 *x;       /* [in_plane, C]: one sample */
  const gint16 *w; /* [M, row], of taps and channels; depthwise: [taps, C] */
  gint16 *own_w;   /* (nullable) its memory, where no constant has it */
  CpuIntegerStore store;
  gint64 sample;
  int no_memory; /* atomic */
} Conv;

static void
conv_clear (Conv *conv)
{
  g_clear_pointer (&conv->x, g_free);
  g_clear_pointer (&conv->own_w, free);
  cpu_integer_store_clear (&conv->store);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Conv, conv_clear)

/* -- operands -- */

static void
fill_weights (const CpuIntegerPacking *packing, const IrTensor *w, gint16 *weights)
{
  const Conv *conv = packing->product;
  gint64 taps = conv->g.taps;

  for (gint64 m = 0; m < conv->outputs; m++)
    for (gint64 tap = 0; tap < taps; tap++)
      {
        gint16 *to = conv->depthwise ? weights + tap * conv->channels + m
                                     : weights + m * conv->row + tap * conv->own;

        cpu_integer_copy (w, m * conv->own * taps + tap, taps, conv->own, packing->zeros[m], to);
      }
}

/* Positions [first, end) of the sample, whose channels lie apart. */
static void
copy_positions (const Conv *conv, const IrTensor *x, gint zero, gint64 first, gint64 end)
{
  gint64 plane = conv->g.in_plane, start = conv->sample * conv->channels * plane;

  for (gint64 i = first; i < end; i++)
    cpu_integer_copy (x, start + i, plane, conv->channels, zero, conv->x + i * conv->channels);
}

/* -- windows -- */

/* Where tap @tap of the window at @position lies in the input; -1: in its padding. */
static gint64
position_of (const CpuGeometry *g, gint64 position, gint64 tap)
{
  gint64 at = 0, scale = 1;

  for (guint i = CPU_GEOMETRY_AXES; i-- > 0;)
    {
      gint64 in = position % g->out[i] * g->stride[i] + tap % g->kernel[i] * g->dilation[i] -
                  g->pad[i];

      if (in < 0 || in >= g->in[i])
        return -1;
      at += in * scale;
      scale *= g->in[i];
      position /= g->out[i];
      tap /= g->kernel[i];
    }
  return at;
}

static void
gather_window (const Conv *conv, gint64 group, gint64 position, gint16 *to)
{
  gsize size = (gsize) conv->own * sizeof *to;

  for (gint64 tap = 0; tap < conv->g.taps; tap++, to += conv->own)
    {
      gint64 at = position_of (&conv->g, position, tap);

      if (at >= 0)
        memcpy (to, conv->x + at * conv->channels + group * conv->own, size);
      else
        memset (to, 0, size);
    }
}

/* Windows [first, first + n) of a group, at all of its outputs. */
static void
run_windows (const Conv *conv, gint64 group, gint64 first, gint64 n, gint16 *windows, gint32 *sums)
{
  gint64 plane = conv->g.out_plane, outputs = group * conv->each;

  for (gint64 i = 0; i < n; i++)
    gather_window (conv, group, first + i, windows + i * conv->row);
  cpu_integer_dots (conv->w + outputs * conv->row, conv->each, windows, n, conv->row, sums, CHUNK);
  for (gint64 m = 0; m < conv->each; m++)
    for (gint64 i = 0; i < n; i++)
      cpu_integer_store (&conv->store, outputs + m, sums[m * CHUNK + i],
                         (conv->sample * conv->outputs + outputs + m) * plane + first + i);
}

CPU_VECTORIZED static void
add_products (const gint16 *x, const gint16 *w, gint64 n, gint32 *sums)
{
  for (gint64 i = 0; i < n; i++)
    sums[i] += (gint32) x[i] * w[i];
}

static void
run_depthwise (const Conv *conv, gint64 position, gint32 *sums)
{
  memset (sums, 0, (gsize) conv->channels * sizeof *sums);
  for (gint64 tap = 0; tap < conv->g.taps; tap++)
    {
      gint64 at = position_of (&conv->g, position, tap);

      if (at >= 0)
        add_products (conv->x + at * conv->channels, conv->w + tap * conv->channels, conv->channels,
                      sums);
    }
  for (gint64 c = 0; c < conv->channels; c++)
    cpu_integer_store (&conv->store, c, sums[c],
                       (conv->sample * conv->outputs + c) * conv->g.out_plane + position);
}

/* Part @part of the groups and chunks of positions. */
static void
run_part (const Conv *conv, gint64 part, gint64 n_chunks, gint16 *windows, gint32 *sums)
{
  gint64 first = part % n_chunks * CHUNK, n = MIN (CHUNK, conv->g.out_plane - first);

  if (!conv->depthwise)
    run_windows (conv, part / n_chunks, first, n, windows, sums);
  else
    for (gint64 i = first; i < first + n; i++)
      run_depthwise (conv, i, sums);
}

static void
run_sample (Conv *conv, const IrTensor *x, gint zero)
{
  gint64 n_chunks = (conv->g.out_plane + CHUNK - 1) / CHUNK, next = 0; /* atomic */
  gint64 n_parts = conv->depthwise ? n_chunks : conv->group * n_chunks;
  double work = (double) conv->g.out_plane * (double) conv->outputs * (double) conv->row / 16;
  int n_threads = cpu_n_threads (conv->call, (guint64) MIN (work, 1e18));
  CpuWatch watch = cpu_watch (conv->call, CHUNK * conv->row);

#pragma omp parallel num_threads(n_threads)
  {
    gsize n_sums = (gsize) (conv->depthwise ? conv->channels : conv->each * CHUNK);
    g_autofree gint32 *sums = g_try_new (gint32, n_sums);
    g_autofree gint16 *windows = g_try_new0 (gint16, (gsize) (CHUNK * conv->row));

    copy_positions (conv, x, zero, cpu_share (conv->g.in_plane, 0),
                    cpu_share (conv->g.in_plane, 1));
#pragma omp barrier
    if (sums == NULL || windows == NULL)
      __atomic_store_n (&conv->no_memory, TRUE, __ATOMIC_RELAXED);
    else
      for (gint64 i; (i = __atomic_fetch_add (&next, 1, __ATOMIC_RELAXED)) < n_parts &&
                     !cpu_watch_stopped (&watch, i);)
        run_part (conv, i, n_chunks, windows, sums);
  }
}

/* -- the kernels -- */

/* FALSE: left to the reference. */
static gboolean
conv_init (Conv *conv, const IrCall *call, const IrWindow *window, guint w)
{
  const IrTensor *x = ir_call_input (call, 0), *weights = ir_call_input (call, w);

  *conv = (Conv){ .call = call };
  if (window->n_axes < 1 || window->n_axes > CPU_GEOMETRY_AXES || ir_tensor_n_elements (x) == 0 ||
      ir_tensor_n_elements (weights) == 0)
    return FALSE;
  cpu_geometry_init (&conv->g, window);
  conv->group = ir_call_int (call, "group", 1);
  conv->channels = ir_tensor_dims (x)[1];
  conv->outputs = ir_tensor_dims (weights)[0];
  conv->own = conv->channels / conv->group;
  conv->each = conv->outputs / conv->group;
  conv->depthwise = conv->own == 1 && conv->each == 1;
  if (conv->g.taps > CPU_INTEGER_TERMS || conv->own > CPU_INTEGER_TERMS / conv->g.taps)
    return FALSE;
  conv->row = cpu_integer_row (conv->own * conv->g.taps);
  conv->x = g_try_new (gint16, (gsize) (conv->g.in_plane * conv->channels));
  return conv->x != NULL;
}

/* @w: the slot of the weight; those of the zero points are @x_zero and @w_zero, and @bias that of the
 * bias. */
static gboolean
run_conv (IrCall *call, guint w, guint x_zero, guint w_zero, guint bias, GError **error)
{
  g_auto (Conv) conv = { 0 };
  g_autofree gint16 *x_zeros = cpu_integer_zeros (call, x_zero, 1), *w_zeros = NULL;
  IrCallInput inputs[3];
  IrWindow window;
  IrCall view;

  if (!call->op->infer (call, error))
    return FALSE;
  ir_call_as_conv (call, w, bias, inputs, &view);
  if (!ir_window_of_conv (&window, &view, error))
    return FALSE;
  if (x_zeros == NULL || !conv_init (&conv, call, &window, w))
    return ir_ref_run (call, error);
  w_zeros = cpu_integer_zeros (call, w_zero, conv.outputs);
  if (w_zeros == NULL)
    return ir_ref_run (call, error);
  if (!cpu_integer_store_init (&conv.store, call, error))
    return FALSE;
  if (bias != G_MAXUINT && !cpu_integer_store_scale (&conv.store, call, 1, w + 1, conv.outputs))
    return ir_ref_run (call, error);
  conv.store.bias = bias != G_MAXUINT ? ir_call_input (call, bias) : NULL;
  conv.w = cpu_integer_operand (call, w,
                                &(CpuIntegerPacking){ .fill = fill_weights,
                                                      .product = &conv,
                                                      .zeros = w_zeros,
                                                      .n_zeros = conv.outputs,
                                                      .n = conv.outputs * conv.row,
                                                      .form = conv.depthwise },
                                &conv.own_w);
  if (conv.w == NULL)
    return ir_ref_run (call, error);
  for (gint64 n = ir_tensor_dims (ir_call_input (call, 0))[0]; conv.sample < n; conv.sample++)
    {
      run_sample (&conv, ir_call_input (call, 0), x_zeros[0]);
      if (ir_call_fail_if_stopped (call, error))
        return FALSE;
    }
  return conv.no_memory ? ir_ref_run (call, error) : TRUE;
}

static gboolean
run_conv_integer (IrCall *call, GError **error)
{
  return run_conv (call, 1, 2, 3, G_MAXUINT, error);
}

static gboolean
run_q_linear_conv (IrCall *call, GError **error)
{
  return run_conv (call, 3, 2, 5, 8, error);
}

const IrCpuKernel cpu_conv_integer = { .name = "windows and dot products of 16 bits",
                                       .refuses = cpu_integer_refuses,
                                       .run = run_conv_integer };
const IrCpuKernel cpu_q_linear_conv = { .name = "windows and dot products of 16 bits",
                                        .refuses = cpu_quantized_refuses,
                                        .run = run_q_linear_conv };
