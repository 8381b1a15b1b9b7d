/* MaxPool and AveragePool over two axes, in float32. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/op/infer-window.h"

typedef struct
{
  gint64 low, high; /* elements inside the input */
  gint64 counted;   /* elements of the window with padding, for the divisor */
} Span;

/* Window positions along one axis, of one output; padding behind the declared pad (ceil_mode) does
 * not count. */
static Span
span_of (const IrWindow *w, guint axis, gint64 out)
{
  gint64 start = out * w->stride[axis] - w->pad_begin[axis], end = start + w->kernel[axis];
  gint64 limit = w->in[axis] + w->pad_end[axis];

  return (Span){ MAX (start, 0), MIN (end, w->in[axis]), MIN (end, limit) - start };
}

/* Row @i of the output of one plane. */
static void
max_row (const IrWindow *w, gint64 i, const float *x, float *y)
{
  Span rows = span_of (w, 0, i);

  for (gint64 j = 0; j < w->out[1]; j++)
    {
      Span columns = span_of (w, 1, j);
      float most = x[rows.low * w->in[1] + columns.low];

      for (gint64 r = rows.low; r < rows.high; r++)
        for (gint64 c = columns.low; c < columns.high; c++)
          {
            float v = x[r * w->in[1] + c];
            most = v > most || v != v ? v : most; /* a NaN wins and stays */
          }
      y[j] = most;
    }
}

/* The same with the places of the largest, counted from the plane's first element by @first; the
 * first of equals, and the first NaN. */
static void
max_row_placed (const IrWindow *w, gint64 i, const float *x, gint64 first, float *y, gint64 *places)
{
  Span rows = span_of (w, 0, i);

  for (gint64 j = 0; j < w->out[1]; j++)
    {
      Span columns = span_of (w, 1, j);
      gint64 best = rows.low * w->in[1] + columns.low;
      float most = x[best];

      for (gint64 r = rows.low; r < rows.high; r++)
        for (gint64 c = columns.low; c < columns.high; c++)
          {
            const gint64 at = r * w->in[1] + c;
            const float v = x[at];
            const gint64 wins = -(gint64) ((v > most) | ((v != v) & (most == most)));
            best ^= (best ^ at) & wins; /* a branch would be taken half of the time */
            most = x[best];
          }
      y[j] = most;
      places[j] = first + best;
    }
}

static void
average_row (const IrWindow *w, gboolean count_padding, gint64 i, const float *x, float *y)
{
  Span rows = span_of (w, 0, i);

  for (gint64 j = 0; j < w->out[1]; j++)
    {
      Span columns = span_of (w, 1, j);
      gint64 n = count_padding ? rows.counted * columns.counted
                               : (rows.high - rows.low) * (columns.high - columns.low);
      double sum = 0;

      for (gint64 r = rows.low; r < rows.high; r++)
        for (gint64 c = columns.low; c < columns.high; c++)
          sum += x[r * w->in[1] + c];
      y[j] = (float) (sum / n);
    }
}

/* Every window must touch the input. Dilation is left to the reference kernel, and so are windows
 * that take long by themselves. */
static gboolean
takes (const IrWindow *w)
{
  if (w->n_axes != 2 ||
      ir_mul_saturated ((guint64) w->kernel[0], (guint64) w->kernel[1]) > 8 * CPU_POLL)
    return FALSE;
  for (guint axis = 0; axis < 2; axis++)
    {
      if (w->dilation[axis] != 1 || w->in[axis] == 0 || w->out[axis] <= 0)
        return FALSE;
      /* If the first and the last one do, those between them do. */
      Span first = span_of (w, axis, 0), last = span_of (w, axis, w->out[axis] - 1);
      if (first.low >= first.high || last.low >= last.high)
        return FALSE;
    }
  return TRUE;
}

static gboolean
run_pool (IrCall *call, gboolean average, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gboolean count_padding = ir_call_int (call, "count_include_pad", 0) != 0;
  const float *x = ir_tensor_data (in);
  gint64 dims[4];
  gboolean placed = ir_call_has_output (call, 1);
  gint64 *places = NULL;
  IrWindow window;
  float *y;

  if (!ir_window_of_pool (&window, call, error))
    return FALSE;
  if (!takes (&window) || (placed && ir_call_int (call, "storage_order", 0) != 0))
    return ir_ref_run (call, error);
  dims[0] = ir_tensor_dims (in)[0];
  dims[1] = ir_tensor_dims (in)[1];
  dims[2] = window.out[0];
  dims[3] = window.out[1];
  y = cpu_new_floats_shaped (call, 0, 4, dims, error);
  if (y == NULL)
    return FALSE;
  if (placed)
    {
      IrTensor *second = ir_call_new_output (call, 1, IR_DTYPE_INT64, 4, dims, error);
      if (second == NULL)
        return FALSE;
      places = ir_tensor_data_writable (second);
    }
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, window.kernel[0] * window.kernel[1] * dims[3]);
#pragma omp parallel num_threads(n_threads)
  for (gint64 row = cpu_share (dims[0] * dims[1] * dims[2], 0),
              until = cpu_share (dims[0] * dims[1] * dims[2], 1);
       row < until && !cpu_watch_stopped (&watch, row); row++)
    {
      gint64 first = row / dims[2] * window.in[0] * window.in[1];
      const float *from = x + first;
      float *to = y + row * dims[3];

      if (average)
        average_row (&window, count_padding, row % dims[2], from, to);
      else if (placed)
        max_row_placed (&window, row % dims[2], from, first, to, places + row * dims[3]);
      else
        max_row (&window, row % dims[2], from, to);
    }
  return TRUE;
}

static gboolean
run_max_pool (IrCall *call, GError **error)
{
  return run_pool (call, FALSE, error);
}

static gboolean
run_average_pool (IrCall *call, GError **error)
{
  return run_pool (call, TRUE, error);
}

const IrCpuKernel cpu_max_pool = { .name = "plane loop",
                                   .refuses = cpu_needs_float,
                                   .run = run_max_pool,
                                   .blocks = &cpu_max_pool_blocks };
const IrCpuKernel cpu_average_pool = { .name = "plane loop",
                                       .refuses = cpu_needs_float,
                                       .run = run_average_pool,
                                       .blocks = &cpu_average_pool_blocks };
