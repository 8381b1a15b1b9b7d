/* Poolings, Concat and BatchNormalization over NCHWc: a vector holds one pixel of as
 * many channels as it has lanes, and every loop over channels becomes one operation. */
#include "config.h"

#include "core/exec/cpu/direct.h"
#include "core/op/infer-window.h"

#include <math.h>
#include <string.h>

#define MOST_LANES 16
#define LONG_ROW   (64 * CPU_POLL) /* additions of a row of a pooling: more take too long at once */
#define LONG_PLANE (2 * CPU_POLL)  /* pixels, likewise */
#define SHARING    4096            /* elements of a vector loop in the time that threads start */

/* Sizes of operands as the graph has them. */
static const gint64 *
dims_in (const IrCall *call, guint slot)
{
  return ir_call_input_type (call, slot)->dims;
}

static const gint64 *
dims_out (const IrCall *call)
{
  return call->outputs[0].type->dims;
}

static IrLayouts
blocks_if (gboolean fits)
{
  return fits ? IR_LAYOUT_NCHWC : IR_LAYOUT_PLAIN;
}

static IrLayouts
reads_first (const IrNode *node, guint slot, guint lanes)
{
  CpuPlanes planes;

  return blocks_if (slot == 0 && cpu_planes_of (ir_node_input (node, 0), &planes));
}

/* -- MaxPool, AveragePool -- */

typedef struct
{
  IrWindow window;
  gboolean average, count_padding;
} Pool;

/* Elements [low, high) of the input under the window at @out, and how many count for a mean:
 * padding behind the declared pad (ceil_mode) does not. */
static void
span_of (const IrWindow *w, guint axis, gint64 out, gint64 *low, gint64 *high, gint64 *counted)
{
  gint64 start = out * w->stride[axis] - w->pad_begin[axis], end = start + w->kernel[axis];

  *low = MAX (start, 0);
  *high = MIN (end, w->in[axis]);
  *counted = MIN (end, w->in[axis] + w->pad_end[axis]) - start;
}

#define POOL(NAME, LANES)                                                                          \
  CPU_VECTORIZED static void mean_##NAME (const float *x, gint64 row, gint64 n_rows,               \
                                          gint64 n_columns, double n, float *y)                    \
  {                                                                                                \
    double sums[LANES] = { 0 };                                                                    \
                                                                                                   \
    for (gint64 r = 0; r < n_rows; r++)                                                            \
      for (gint64 c = 0; c < n_columns; c++)                                                       \
        for (int k = 0; k < LANES; k++)                                                            \
          sums[k] += x[r * row + c * LANES + k];                                                   \
    for (int k = 0; k < LANES; k++)                                                                \
      y[k] = (float) (sums[k] / n);                                                                \
  }                                                                                                \
  CPU_VECTORIZED static void add_##NAME (const float *x, gint64 n, double *all)                    \
  {                                                                                                \
    double sums[LANES];                                                                            \
                                                                                                   \
    memcpy (sums, all, sizeof sums);                                                               \
    for (gint64 i = 0; i < n; i++)                                                                 \
      for (int k = 0; k < LANES; k++)                                                              \
        sums[k] += x[i * LANES + k];                                                               \
    memcpy (all, sums, sizeof sums);                                                               \
  }                                                                                                \
  CPU_VECTORIZED static void scale_##NAME (const float *x, const double *mean,                     \
                                           const double *factor, const double *bias, gint64 n,     \
                                           float *y)                                               \
  {                                                                                                \
    for (gint64 i = 0; i < n; i++)                                                                 \
      for (int k = 0; k < LANES; k++)                                                              \
        y[i * LANES + k] = (float) ((x[i * LANES + k] - mean[k]) * factor[k] + bias[k]);           \
  }

POOL (16, 16)
POOL (8, 8)

static void
pool_pixel (const Pool *pool, guint lanes, const float *x, float *y, gint64 i, gint64 j)
{
  const IrWindow *w = &pool->window;
  gint64 top, bottom, left, right, n_rows, n_columns, row = w->in[1] * lanes;
  float *to = y + (i * w->out[1] + j) * lanes;

  span_of (w, 0, i, &top, &bottom, &n_rows);
  span_of (w, 1, j, &left, &right, &n_columns);
  const float *from = x + top * row + left * lanes;
  double n = pool->count_padding ? (double) (n_rows * n_columns)
                                 : (double) ((bottom - top) * (right - left));

  if (pool->average)
    (lanes == 16 ? mean_16 : mean_8) (from, row, bottom - top, right - left, n, to);
  else
    cpu_vector_unit (lanes)->pool_max (from, row, bottom - top, right - left, to);
}

/* Rows [first, last) of a plane. */
static void
pool_rows (const Pool *pool, guint lanes, const float *x, float *y, gint64 first, gint64 last)
{
  const IrWindow *w = &pool->window;
  const CpuVectorUnit *unit = cpu_vector_unit (lanes);
  gint64 row = w->in[1] * lanes, step = w->stride[1], pad = w->pad_begin[1];
  /* Windows of [inside, end) reach over neither the left nor the right edge. */
  gint64 inside = MIN ((pad + step - 1) / step, w->out[1]), end = inside;

  if ((!pool->average || (w->kernel[1] == 3 && step <= 2)) && w->in[1] + pad >= w->kernel[1])
    end = CLAMP ((w->in[1] + pad - w->kernel[1]) / step + 1, inside, w->out[1]);
  for (gint64 i = first; i < last; i++)
    {
      gint64 top, bottom, n_rows;

      for (gint64 j = 0; j < inside; j++)
        pool_pixel (pool, lanes, x, y, i, j);
      span_of (w, 0, i, &top, &bottom, &n_rows);
      const float *from = x + top * row + (inside * step - pad) * lanes;
      float *to = y + (i * w->out[1] + inside) * lanes;
      if (inside < end && pool->average)
        unit->pool_mean_row (from, row, bottom - top, step, end - inside,
                             (double) (3 * (pool->count_padding ? n_rows : bottom - top)), to);
      else if (inside < end)
        unit->pool_max_row (from, row, bottom - top, w->kernel[1], step, end - inside, to);
      for (gint64 j = end; j < w->out[1]; j++)
        pool_pixel (pool, lanes, x, y, i, j);
    }
}

/* Multiply-adds, or as much, of a row of the output. */
static double
row_work (const IrWindow *w, guint lanes)
{
  return (double) w->kernel[0] * (double) w->kernel[1] * (double) w->out[1] * lanes;
}

/* Every window must touch the input, and dilation is left to the reference kernel; rows that take
 * long are cut by the kernel over plain values. */
static gboolean
pool_fits (const IrWindow *w)
{
  if (w->n_axes != 2 || row_work (w, MOST_LANES) > LONG_ROW)
    return FALSE;
  for (guint axis = 0; axis < 2; axis++)
    {
      if (w->dilation[axis] != 1 || w->in[axis] <= 0 || w->out[axis] <= 0)
        return FALSE;
      for (guint k = 0; k < 2; k++) /* if the first and the last one do, those between them do */
        {
          gint64 low, high, counted;
          span_of (w, axis, k == 0 ? 0 : w->out[axis] - 1, &low, &high, &counted);
          if (low >= high)
            return FALSE;
        }
    }
  return TRUE;
}

static gboolean
takes_pool (const IrNode *node, guint lanes)
{
  CpuPlanes in, out;
  IrWindow window;
  IrCall call;
  gboolean fits;

  if (!cpu_planes_of (ir_node_input (node, 0), &in) ||
      !cpu_planes_of (ir_node_output (node, 0), &out) || ir_node_output (node, 1) != NULL)
    return FALSE;
  ir_call_init (&call, node);
  fits = ir_window_of_pool (&window, &call, NULL) && pool_fits (&window);
  ir_call_clear (&call);
  return fits;
}

static IrLayouts
reads_pool (const IrNode *node, guint slot, guint lanes)
{
  return blocks_if (slot == 0 && takes_pool (node, lanes));
}

static IrLayouts
gives_pool (const IrNode *node, guint lanes)
{
  return blocks_if (takes_pool (node, lanes));
}

static gboolean
run_pool (IrCall *call, gboolean average, GError **error)
{
  Pool pool = { .average = average,
                .count_padding = ir_call_int (call, "count_include_pad", 0) != 0 };
  const gint64 *in = dims_in (call, 0), *out = dims_out (call);
  gint64 lanes = cpu_lanes (), in_plane = in[2] * in[3] * lanes,
         out_plane = out[2] * out[3] * lanes;
  gint64 n = in[0] * ((in[1] + lanes - 1) / lanes);
  IrTensor *blocks;

  if (!ir_window_of_pool (&pool.window, call, error))
    return FALSE;
  const float *x = cpu_blocks_in (call, 0, in, 1, (guint) lanes, error);
  float *y = x != NULL ? cpu_blocks_out (call, out, 1, (guint) lanes, &blocks, error) : NULL;
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, (guint64) (n * in_plane / 4));
  /* Rows of large planes, as the convolutions before and after are shared, or whole planes. */
  gint64 cuts = n_threads > 1 && cpu_shares_pixels (in[1], in[2] * in[3]) ? n_threads : 1;
  double work = row_work (&pool.window, (guint) lanes) * (double) out[2];
  cuts *= (gint64) (work / (double) cuts / (8 * CPU_POLL)) + 1;
  CpuWatch watch = cpu_watch (call, (gint64) (work / (double) cuts));
#pragma omp parallel num_threads(n_threads)
  for (gint64 part = cpu_share (n * cuts, 0), until = cpu_share (n * cuts, 1);
       part < until && !cpu_watch_stopped (&watch, part); part++)
    {
      gint64 i = part % n, rows = out[2] * (part / n) / cuts, end = out[2] * (part / n + 1) / cuts;

      pool_rows (&pool, (guint) lanes, x + i * in_plane, y + i * out_plane, rows, end);
    }
  return cpu_blocks_done (call, out, 1, blocks, error);
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

const IrCpuBlocks cpu_max_pool_blocks = { .reads = reads_pool,
                                          .gives = gives_pool,
                                          .run = run_max_pool };
const IrCpuBlocks cpu_average_pool_blocks = { .reads = reads_pool,
                                              .gives = gives_pool,
                                              .run = run_average_pool };

/* -- GlobalAveragePool: gives NCHW -- */

/* The sums go on from piece to piece. */
static void
mean_of_plane (const float *x, gint64 plane, gint64 lanes, float *means)
{
  double sums[MOST_LANES] = { 0 };

  (lanes == 16 ? add_16 : add_8) (x, plane, sums);
  for (gint64 k = 0; k < lanes; k++)
    means[k] = (float) (sums[k] / (double) plane);
}

static gboolean
run_global_average_pool (IrCall *call, GError **error)
{
  const gint64 *in = dims_in (call, 0);
  gint64 lanes = cpu_lanes (), n_blocks = (in[1] + lanes - 1) / lanes, plane = in[2] * in[3];
  gint64 dims[] = { in[0], in[1], 1, 1 };
  const float *x = cpu_blocks_in (call, 0, in, 1, (guint) lanes, error);
  float *y = x != NULL ? cpu_new_floats_shaped (call, 0, 4, dims, error) : NULL;

  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, (guint64) (in[0] * in[1] * plane));
  CpuWatch watch = cpu_watch (call, plane * lanes);
#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (in[0] * n_blocks, 0), until = cpu_share (in[0] * n_blocks, 1);
       i < until && !cpu_watch_stopped (&watch, i); i++)
    {
      gint64 first = i % n_blocks * lanes;
      float means[MOST_LANES];

      mean_of_plane (x + i * plane * lanes, plane, lanes, means);
      memcpy (y + i / n_blocks * in[1] + first, means,
              (gsize) MIN (lanes, in[1] - first) * sizeof *y);
    }
  return TRUE;
}

const IrCpuBlocks cpu_global_average_pool_blocks = { .reads = reads_first,
                                                     .run = run_global_average_pool };

/* -- Concat of channels: whole blocks, so that only the last operand may end within one -- */

static gboolean
takes_concat (const IrNode *node, guint lanes)
{
  CpuPlanes planes;
  IrCall call;
  gint64 axis;

  ir_call_init (&call, node);
  axis = ir_call_int (&call, "axis", 1);
  ir_call_clear (&call);
  if ((axis != 1 && axis != -3) || !cpu_planes_of (ir_node_output (node, 0), &planes))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (!cpu_planes_of (node->inputs[i], &planes) ||
        (i + 1 < node->n_inputs && planes.channels % lanes != 0))
      return FALSE;
  return TRUE;
}

/* Plain operands are brought into blocks where they belong in the whole. */
static IrLayouts
reads_concat (const IrNode *node, guint slot, guint lanes)
{
  return takes_concat (node, lanes) ? IR_LAYOUT_PLAIN | IR_LAYOUT_NCHWC : IR_LAYOUT_PLAIN;
}

static IrLayouts
gives_concat (const IrNode *node, guint lanes)
{
  return blocks_if (takes_concat (node, lanes));
}

static gboolean
run_concat (IrCall *call, GError **error)
{
  const gint64 *out = dims_out (call);
  gint64 lanes = cpu_lanes (), plane = out[2] * out[3], sample = (out[1] + lanes - 1) / lanes,
         at = 0;
  IrTensor *blocks;
  float *y = cpu_blocks_out (call, out, 1, (guint) lanes, &blocks, error);

  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, (guint64) (out[0] * out[1] * plane));
  for (guint i = 0; i < call->n_inputs; i++)
    {
      gint64 channels = dims_in (call, i)[1], own = (channels + lanes - 1) / lanes;
      const float *x = ir_tensor_data (ir_call_input (call, i));
      CpuWatch watch = cpu_watch (call, MAX (own * plane * lanes, SHARING));

      for (gint64 n = 0; n < out[0] && !cpu_watch_stopped (&watch, n); n++)
        {
          float *to = y + (n * sample + at) * plane * lanes;

          if (call->inputs[i].block != 0 && x + n * own * plane * lanes == to)
            continue; /* the memory plan has let it lie there */
          if (call->inputs[i].block == 0)
            {
              ir_nchwc_from_plain (x + n * channels * plane, to, 1, channels, plane, lanes,
                                   n_threads);
              continue;
            }
#pragma omp parallel num_threads(n_threads)
          for (gint64 b = cpu_share (own, 0), until = cpu_share (own, 1); b < until; b++)
            memcpy (to + b * plane * lanes, x + (n * own + b) * plane * lanes,
                    (gsize) (plane * lanes) * sizeof *to);
        }
      at += own;
    }
  return cpu_blocks_done (call, out, 1, blocks, error);
}

const IrCpuBlocks cpu_concat_blocks = {
  .reads = reads_concat, .gives = gives_concat, .run = run_concat, .carries = TRUE
};

/* -- BatchNormalization -- */

static gboolean
takes_batch_norm (const IrNode *node, guint lanes)
{
  CpuPlanes planes;

  if (node->n_inputs < 5 || ir_node_output (node, 1) != NULL ||
      !cpu_planes_of (ir_node_input (node, 0), &planes))
    return FALSE;
  for (guint i = 1; i < 5; i++)
    {
      const IrValue *value = node->inputs[i];
      if (value == NULL || value->type == NULL || value->type->dtype != IR_DTYPE_FLOAT ||
          value->type->rank != 1 || value->type->dims[0] != planes.channels)
        return FALSE;
    }
  return TRUE;
}

static IrLayouts
reads_batch_norm (const IrNode *node, guint slot, guint lanes)
{
  return blocks_if (slot == 0 && takes_batch_norm (node, lanes));
}

static IrLayouts
gives_batch_norm (const IrNode *node, guint lanes)
{
  return blocks_if (takes_batch_norm (node, lanes));
}

static gboolean
run_batch_norm (IrCall *call, GError **error)
{
  const gint64 *in = dims_in (call, 0);
  gint64 lanes = cpu_lanes (), n_blocks = (in[1] + lanes - 1) / lanes, plane = in[2] * in[3];
  const float *scale = cpu_floats (call, 1), *bias = cpu_floats (call, 2),
              *mean = cpu_floats (call, 3), *variance = cpu_floats (call, 4);
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);
  IrTensor *blocks;

  if (ir_call_int (call, "training_mode", 0) != 0)
    return cpu_run_in_order (ir_ref_kernel (call->op), call, error);
  const float *x = cpu_blocks_in (call, 0, in, 1, (guint) lanes, error);
  float *y = x != NULL ? cpu_blocks_out (call, in, 1, (guint) lanes, &blocks, error) : NULL;
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, (guint64) (in[0] * in[1] * plane));
  gint64 n = in[0] * n_blocks, cuts = cpu_shares_pixels (in[1], plane) ? n_threads : 1;
  cuts *= plane * lanes / cuts / (8 * CPU_POLL) + 1;
  CpuWatch watch = cpu_watch (call, plane * lanes / cuts);
#pragma omp parallel num_threads(n_threads)
  for (gint64 part = cpu_share (n * cuts, 0), until = cpu_share (n * cuts, 1);
       part < until && !cpu_watch_stopped (&watch, part); part++)
    {
      gint64 i = part % n, pixel = plane * (part / n) / cuts, end = plane * (part / n + 1) / cuts,
             at = (i * plane + pixel) * lanes;
      double means[MOST_LANES] = { 0 }, factors[MOST_LANES] = { 0 }, biases[MOST_LANES] = { 0 };

      for (gint64 k = 0, c = i % n_blocks * lanes; k < lanes && c < in[1]; k++, c++)
        {
          means[k] = mean[c];
          factors[k] = scale[c] / sqrt (variance[c] + epsilon);
          biases[k] = bias[c];
        }
      (lanes == 16 ? scale_16 : scale_8) (x + at, means, factors, biases, end - pixel, y + at);
    }
  return cpu_blocks_done (call, in, 1, blocks, error);
}

const IrCpuBlocks cpu_batch_norm_blocks = { .reads = reads_batch_norm,
                                            .gives = gives_batch_norm,
                                            .run = run_batch_norm };

/* -- Gather along the channels, by constant indices: a shuffle -- */

static gboolean
takes_gather (const IrNode *node, guint lanes)
{
  const IrTensor *order = node->n_inputs == 2 && node->inputs[1] != NULL
                              ? ir_value_constant (node->inputs[1])
                              : NULL;
  CpuPlanes in, out;
  IrCall call;
  gint64 axis;

  if (order == NULL || ir_tensor_rank (order) != 1 ||
      (ir_tensor_dtype (order) != IR_DTYPE_INT64 && ir_tensor_dtype (order) != IR_DTYPE_INT32) ||
      !cpu_planes_of (ir_node_input (node, 0), &in) ||
      !cpu_planes_of (ir_node_output (node, 0), &out) || in.batch != out.batch ||
      in.plane != out.plane || in.plane > LONG_PLANE || out.channels > CPU_POLL)
    return FALSE;
  ir_call_init (&call, node);
  axis = ir_call_int (&call, "axis", 0);
  ir_call_clear (&call);
  if (axis != 1 && axis != -3)
    return FALSE;
  for (gint64 i = 0; i < out.channels; i++)
    {
      gint64 channel = ir_tensor_get_int64 (order, (guint64) i);
      if (channel < -in.channels || channel >= in.channels)
        return FALSE; /* whoever runs it says so */
    }
  return TRUE;
}

static IrLayouts
reads_gather (const IrNode *node, guint slot, guint lanes)
{
  return blocks_if (slot == 0 && takes_gather (node, lanes));
}

static IrLayouts
gives_gather (const IrNode *node, guint lanes)
{
  return blocks_if (takes_gather (node, lanes));
}

/* Where the channels of a block of the output come from: from few blocks, whose lanes are put
 * together. */
static void
find_lanes (const IrTensor *order, gint64 first, gint64 channels, gint64 lanes, CpuShuffle *shuffle)
{
  *shuffle = (CpuShuffle){ 0 };
  for (gint64 lane = 0; lane < lanes && first + lane < (gint64) ir_tensor_n_elements (order);
       lane++)
    {
      gint64 channel = ir_tensor_get_int64 (order, (guint64) (first + lane));
      gint64 from = channel < 0 ? channel + channels : channel;
      guint k = 0;

      while (k < shuffle->n && shuffle->blocks[k] != from / lanes)
        k++;
      shuffle->blocks[k] = from / lanes;
      shuffle->n = MAX (shuffle->n, k + 1);
      shuffle->lanes[k][lane] = (gint32) (from % lanes);
      shuffle->masks[k] |= 1u << lane;
    }
}

static gboolean
run_gather (IrCall *call, GError **error)
{
  const IrTensor *order = ir_value_constant (call->node->inputs[1]);
  const gint64 *in = dims_in (call, 0), *out = dims_out (call);
  gint64 lanes = cpu_lanes (), plane = in[2] * in[3], in_blocks = (in[1] + lanes - 1) / lanes,
         out_blocks = (out[1] + lanes - 1) / lanes;
  const CpuVectorUnit *unit = cpu_vector_unit ((guint) lanes);
  IrTensor *blocks;
  const float *x = cpu_blocks_in (call, 0, in, 1, (guint) lanes, error);
  float *y = x != NULL ? cpu_blocks_out (call, out, 1, (guint) lanes, &blocks, error) : NULL;

  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, (guint64) (out[0] * out[1] * plane));
  CpuWatch watch = cpu_watch (call, plane * lanes);
#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (out[0] * out_blocks, 0), until = cpu_share (out[0] * out_blocks, 1);
       i < until && !cpu_watch_stopped (&watch, i); i++)
    {
      CpuShuffle shuffle;

      find_lanes (order, i % out_blocks * lanes, in[1], lanes, &shuffle);
      unit->shuffle (&shuffle, x + i / out_blocks * in_blocks * plane * lanes, plane,
                     y + i * plane * lanes);
    }
  return cpu_blocks_done (call, out, 1, blocks, error);
}

const IrCpuBlocks cpu_gather_blocks = {
  .reads = reads_gather, .gives = gives_gather, .run = run_gather, .carries = TRUE
};
