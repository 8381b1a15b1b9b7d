/* ConvTranspose along one to three axes in float32: a matrix product gives what every element of
 * the input adds to each tap of its window, and a walk over the windows adds it up. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/cpu/geometry.h"

#include <omp.h>
#include <string.h>

/* Elements [low, high) of the input that a tap, @shift away, takes into the output. */
typedef struct
{
  gint64 shift[CPU_GEOMETRY_AXES], low[CPU_GEOMETRY_AXES], high[CPU_GEOMETRY_AXES];
} Tap;

static Tap
tap_of (const CpuGeometry *g, gint64 k)
{
  const gint64 at[] = { k / (g->kernel[1] * g->kernel[2]), k / g->kernel[2] % g->kernel[1],
                        k % g->kernel[2] };
  Tap tap;

  for (guint i = 0; i < CPU_GEOMETRY_AXES; i++)
    {
      const gint64 stride = g->stride[i], shift = at[i] * g->dilation[i] - g->pad[i],
                   end = g->out[i] - shift;
      tap.shift[i] = shift;
      tap.low[i] = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
      tap.high[i] = end <= 0 ? 0 : MIN (g->in[i], (end + stride - 1) / stride);
    }
  return tap;
}

static void
add_row (const float *x, float *y, gint64 stride, gint64 n)
{
  if (stride == 1)
    for (gint64 i = 0; i < n; i++)
      y[i] += x[i];
  else
    for (gint64 i = 0; i < n; i++)
      y[i * stride] += x[i];
}

/* One tap of one channel of the output. */
static void
add_tap (const CpuGeometry *g, const Tap *tap, const float *columns, float *y)
{
  const gint64 low = tap->low[2], n = tap->high[2] - low, step = g->stride[2];

  if (n <= 0)
    return;
  for (gint64 a = tap->low[0]; a < tap->high[0]; a++)
    for (gint64 b = tap->low[1]; b < tap->high[1]; b++)
      {
        gint64 row = (a * g->stride[0] + tap->shift[0]) * g->out[1] + b * g->stride[1] +
                     tap->shift[1];

        add_row (columns + (a * g->in[1] + b) * g->in[2] + low,
                 y + row * g->out[2] + tap->shift[2] + low * step, step, n);
      }
}

static void
add_channel (const CpuGeometry *g, const Tap *taps, const float *columns, float bias, float *y)
{
  for (gint64 i = 0; i < g->out_plane; i++)
    y[i] = bias;
  for (gint64 k = 0; k < g->taps; k++)
    add_tap (g, taps + k, columns + k * g->in_plane, y);
}

static const char *
refuses (const IrNode *node)
{
  const char *why = cpu_needs_float (node);
  int rank = node->n_inputs > 0 && node->inputs[0] != NULL ? ir_value_rank (node->inputs[0])
                                                           : IR_RANK_UNKNOWN;

  return cpu_first_reason (
      why, rank >= 3 && rank <= 2 + CPU_GEOMETRY_AXES
               ? NULL
               : "the kernel walks along 1 to 3 axes, and the rank of X is another or unknown");
}

static gboolean
run (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0), *weights = ir_call_input (call, 1);
  const float *x = cpu_floats (call, 0), *w = cpu_floats (call, 1), *bias = cpu_floats (call, 2);
  gint64 group = ir_call_int (call, "group", 1), batch = ir_tensor_dims (in)[0], own, each, rows;
  IrWindow window;
  CpuGeometry g;

  if (!ir_window_of_conv_transpose (&window, call, error))
    return FALSE;
  if (window.n_axes > CPU_GEOMETRY_AXES || ir_tensor_n_elements (in) == 0 ||
      ir_tensor_n_elements (weights) == 0)
    return ir_ref_run (call, error);
  cpu_geometry_init (&g, &window);
  float *y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (call->outputs[0].tensor) == 0)
    return TRUE;
  own = ir_tensor_dims (in)[1] / group;
  each = ir_tensor_dims (weights)[1];
  rows = each * g.taps;
  if (bias != NULL && ir_tensor_n_elements (ir_call_input (call, 2)) != (guint64) (each * group))
    return ir_ref_run (call, error);
  g_autofree float *columns = g_try_new (float, (gsize) rows *(gsize) g.in_plane);
  g_autofree Tap *taps = g_try_new (Tap, (gsize) g.taps);
  if (columns == NULL || taps == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "the products do not fit into memory");
  for (gint64 k = 0; k < g.taps; k++)
    taps[k] = tap_of (&g, k);
  int n_threads = cpu_n_threads (call, (guint64) (rows * g.in_plane * own / 32));
  cpu_library_threads (call, n_threads);
  for (gint64 part = 0; part < batch * group; part++)
    {
      float *to = y + part * each * g.out_plane;
      gint64 first = part % group * each;

      CpuProduct product = { .m = rows,
                             .n = g.in_plane,
                             .k = own,
                             .alpha = 1,
                             .a = { w + part % group * own * rows, rows, TRUE },
                             .b = { x + part * own * g.in_plane, g.in_plane, FALSE },
                             .y = columns,
                             .y_distance = g.in_plane };

      if (!cpu_multiply (call, &product))
        return !ir_call_fail_if_stopped (call, error) && ir_ref_run (call, error);
      CpuWatch watch = cpu_watch (call, g.taps * g.in_plane);
#pragma omp parallel num_threads(n_threads)
      for (gint64 m = cpu_share (each, 0), until = cpu_share (each, 1);
           m < until && !cpu_watch_stopped (&watch, m); m++)
        add_channel (&g, taps, columns + m * g.taps * g.in_plane,
                     bias != NULL ? bias[first + m] : 0, to + m * g.out_plane);
    }
  return TRUE;
}

const IrCpuKernel cpu_conv_transpose = { .name = "sgemm and window sums",
                                         .refuses = refuses,
                                         .run = run };
