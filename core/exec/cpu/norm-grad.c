/* Derivatives of Softmax and of normalizations, in float32 with sums in double. A channel, a row or a
 * column of parameters is summed by one thread, always in the same order. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/ref/ref.h"

#include <math.h>

#define LANES 8

static inline __attribute__ ((always_inline)) double
sum_lanes (const double *sums)
{
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/* Of x, or of the squares of what is beside @mean. */
CPU_VECTORIZED static double
sum_of (const float *x, gint64 n, double mean, gboolean squares)
{
  double sums[LANES] = { 0 };
  gint64 i = 0;

  for (; squares && i + LANES <= n; i += LANES)
    for (gint64 k = 0; k < LANES; k++)
      sums[k] += (x[i + k] - mean) * (x[i + k] - mean);
  for (; !squares && i + LANES <= n; i += LANES)
    for (gint64 k = 0; k < LANES; k++)
      sums[k] += x[i + k];
  for (; i < n; i++)
    sums[0] += squares ? (x[i] - mean) * (x[i] - mean) : x[i];
  return sum_lanes (sums);
}

/* Adds the sums of g = dY scale and of g (x - mean). @scale: (nullable): 1 everywhere */
CPU_VECTORIZED static void
add_products (const float *dy,
              const float *x,
              const float *scale,
              double mean,
              gint64 n,
              double *sum,
              double *along)
{
  double sums[LANES] = { 0 }, products[LANES] = { 0 };
  gint64 i = 0;

  for (; scale == NULL && i + LANES <= n; i += LANES)
    for (gint64 k = 0; k < LANES; k++)
      {
        sums[k] += dy[i + k];
        products[k] += dy[i + k] * (x[i + k] - mean);
      }
  for (; scale != NULL && i + LANES <= n; i += LANES)
    for (gint64 k = 0; k < LANES; k++)
      {
        double g = (double) dy[i + k] * scale[i + k];
        sums[k] += g;
        products[k] += g * (x[i + k] - mean);
      }
  for (; i < n; i++)
    {
      double g = scale != NULL ? (double) dy[i] * scale[i] : dy[i];
      sums[0] += g;
      products[0] += g * (x[i] - mean);
    }
  *sum += sum_lanes (sums);
  *along += sum_lanes (products);
}

/* dx = factor g - offset - slope (x - mean). @scale: (nullable): as above */
CPU_VECTORIZED static void
write_dx (const float *dy,
          const float *x,
          const float *scale,
          double mean,
          double factor,
          double offset,
          double slope,
          float *dx,
          gint64 n)
{
  if (scale == NULL)
    for (gint64 i = 0; i < n; i++)
      dx[i] = (float) (factor * dy[i] - offset - slope * (x[i] - mean));
  else
    for (gint64 i = 0; i < n; i++)
      dx[i] = (float) (factor * ((double) dy[i] * scale[i]) - offset - slope * (x[i] - mean));
}

/* Memory for a derivative that is wanted. */
static gboolean
new_wanted (IrCall *call, guint slot, guint rank, const gint64 *dims, float **data, GError **error)
{
  *data = ir_call_has_output (call, slot) ? cpu_new_floats_shaped (call, slot, rank, dims, error)
                                          : NULL;
  return *data != NULL || !ir_call_has_output (call, slot);
}

/* -- BatchNormalization, channel by channel -- */

typedef struct
{
  const float *dy, *x, *scale;
  float *dx, *dscale, *db; /* (nullable) */
  double epsilon;
  CpuSplit split;
} BatchGrad;

static void
derive_channel (const BatchGrad *b, gint64 c)
{
  const CpuSplit *s = &b->split;
  double n = (double) s->outer * (double) s->inner, sum = 0, squares = 0, along = 0, total = 0;

  for (gint64 i = 0; i < s->outer; i++)
    sum += sum_of (b->x + (i * s->middle + c) * s->inner, s->inner, 0, FALSE);
  double mean = sum / n;
  for (gint64 i = 0; i < s->outer; i++)
    {
      gint64 at = (i * s->middle + c) * s->inner;
      squares += sum_of (b->x + at, s->inner, mean, TRUE);
      add_products (b->dy + at, b->x + at, NULL, mean, s->inner, &total, &along);
    }
  double inverse = 1 / sqrt (squares / n + b->epsilon), factor = b->scale[c] * inverse;
  if (b->dscale != NULL)
    b->dscale[c] = (float) (along * inverse);
  if (b->db != NULL)
    b->db[c] = (float) total;
  for (gint64 i = 0; b->dx != NULL && i < s->outer; i++)
    {
      gint64 at = (i * s->middle + c) * s->inner;
      write_dx (b->dy + at, b->x + at, NULL, mean, factor, factor * (total / n),
                factor * (inverse * inverse) * (along / n), b->dx + at, s->inner);
    }
}

static gboolean
run_batch_norm_grad (IrCall *call, GError **error)
{
  const IrTensor *x = ir_call_input (call, 1);
  BatchGrad b = { .dy = cpu_floats (call, 0),
                  .x = cpu_floats (call, 1),
                  .scale = cpu_floats (call, 2),
                  .epsilon = ir_call_float (call, "epsilon", 1e-5f) };

  if (!call->op->infer (call, error))
    return FALSE;
  if (ir_tensor_n_elements (x) == 0 ||
      ir_call_int (call, "stash_type", IR_DTYPE_FLOAT) != IR_DTYPE_FLOAT)
    return ir_ref_run (call, error);
  b.split = cpu_split_axes (x, 1, 2);
  if (!new_wanted (call, 0, ir_tensor_rank (x), ir_tensor_dims (x), &b.dx, error) ||
      !new_wanted (call, 1, 1, &b.split.middle, &b.dscale, error) ||
      !new_wanted (call, 2, 1, &b.split.middle, &b.db, error))
    return FALSE;
  int n_threads = cpu_n_threads (call, 4 * ir_tensor_n_elements (x));
  CpuWatch watch = cpu_watch (call, b.split.inner * b.split.outer);
#pragma omp parallel num_threads(n_threads)
  for (gint64 c = cpu_share (b.split.middle, 0), until = cpu_share (b.split.middle, 1);
       c < until && !cpu_watch_stopped (&watch, c); c++)
    derive_channel (&b, c);
  return TRUE;
}

const IrCpuKernel cpu_batch_norm_grad = { .name = "channel loop",
                                          .refuses = cpu_needs_float,
                                          .run = run_batch_norm_grad };

/* -- GroupNormalization, group by group; what comes to parameters is summed per sample first -- */

typedef struct
{
  const float *dy, *x, *scale;
  float *dx; /* (nullable) */
  double epsilon;
  gint64 width; /* channels of a group */
  gint64 plane;
  double *shift, *slope; /* [N, C]: sums of dY and of dY times what was normalized */
} GroupGrad;

static void
derive_group (const GroupGrad *g, gint64 first, const float *scale)
{
  const double n = (double) g->width * (double) g->plane;
  double sum = 0, squares = 0, total = 0, along = 0;

  for (gint64 c = first; c < first + g->width; c++)
    sum += sum_of (g->x + c * g->plane, g->plane, 0, FALSE);
  const double mean = sum / n;
  for (gint64 c = first; c < first + g->width; c++)
    squares += sum_of (g->x + c * g->plane, g->plane, mean, TRUE);
  const double inverse = 1 / sqrt (squares / n + g->epsilon);
  for (gint64 c = first; c < first + g->width; c++)
    {
      g->shift[c] = g->slope[c] = 0;
      add_products (g->dy + c * g->plane, g->x + c * g->plane, NULL, mean, g->plane, g->shift + c,
                    g->slope + c);
      total += scale[c - first] * g->shift[c];
      along += scale[c - first] * g->slope[c];
      g->slope[c] *= inverse;
    }
  for (gint64 c = first; g->dx != NULL && c < first + g->width; c++)
    write_dx (g->dy + c * g->plane, g->x + c * g->plane, NULL, mean, inverse * scale[c - first],
              inverse * (total / n), inverse * (inverse * inverse) * (along / n),
              g->dx + c * g->plane, g->plane);
}

static void
sum_samples (const double *sums, gint64 n_samples, gint64 channels, float *to)
{
  for (gint64 c = 0; to != NULL && c < channels; c++)
    {
      double sum = 0;
      for (gint64 i = 0; i < n_samples; i++)
        sum += sums[i * channels + c];
      to[c] = (float) sum;
    }
}

static gboolean
run_group_norm_grad (IrCall *call, GError **error)
{
  const IrTensor *x = ir_call_input (call, 1);
  const gint64 given = ir_call_int (call, "num_groups", 0);
  GroupGrad g = { .dy = cpu_floats (call, 0),
                  .x = cpu_floats (call, 1),
                  .scale = cpu_floats (call, 2),
                  .epsilon = ir_call_float (call, "epsilon", 1e-5f) };
  float *dscale, *db;

  if (!call->op->infer (call, error))
    return FALSE;
  const CpuSplit split = cpu_split_axes (x, 1, 2);
  const gint64 groups = given > 0 ? given : split.middle;
  g_autofree double *sums = g_try_new (double, MAX (2 * split.outer * split.middle, 1));
  if (sums == NULL || ir_tensor_n_elements (x) == 0 ||
      ir_call_int (call, "stash_type", IR_DTYPE_FLOAT) != IR_DTYPE_FLOAT)
    return ir_ref_run (call, error);
  g.width = split.middle / groups;
  g.plane = split.inner;
  g.shift = sums;
  g.slope = sums + split.outer * split.middle;
  if (!new_wanted (call, 0, ir_tensor_rank (x), ir_tensor_dims (x), &g.dx, error) ||
      !new_wanted (call, 1, 1, &split.middle, &dscale, error) ||
      !new_wanted (call, 2, 1, &split.middle, &db, error))
    return FALSE;
  const int n_threads = cpu_n_threads (call, 4 * ir_tensor_n_elements (x));
  CpuWatch watch = cpu_watch (call, g.width * g.plane);
#pragma omp parallel num_threads(n_threads)
  for (gint64 r = cpu_share (split.outer * groups, 0), until = cpu_share (split.outer * groups, 1);
       r < until && !cpu_watch_stopped (&watch, r); r++)
    derive_group (&g, r * g.width, g.scale + r % groups * g.width);
  sum_samples (g.slope, split.outer, split.middle, dscale);
  sum_samples (g.shift, split.outer, split.middle, db);
  return TRUE;
}

const IrCpuKernel cpu_group_norm_grad = { .name = "group loop",
                                          .refuses = cpu_needs_float,
                                          .run = run_group_norm_grad };

/* -- LayerNormalization: row by row, and parameters by columns -- */

typedef struct
{
  double mean, inverse;
} RowStatistics;

static void
derive_row (const float *dy,
            const float *x,
            const float *scale,
            double epsilon,
            gboolean centre,
            gint64 n,
            RowStatistics *row,
            float *dx)
{
  double sum = 0, along = 0;

  row->mean = centre ? sum_of (x, n, 0, FALSE) / (double) n : 0;
  row->inverse = 1 / sqrt (sum_of (x, n, row->mean, TRUE) / (double) n + epsilon);
  if (dx == NULL)
    return;
  add_products (dy, x, scale, row->mean, n, &sum, &along);
  write_dx (dy, x, scale, row->mean, row->inverse, centre ? row->inverse * sum / (double) n : 0,
            row->inverse * (row->inverse * row->inverse) * along / (double) n, dx, n);
}

#define COLUMNS 64 /* that are summed together */

CPU_VECTORIZED static void
add_row (const float *dy,
         const float *x,
         const RowStatistics *row,
         gint64 n,
         double *scale,
         double *shift)
{
  for (gint64 i = 0; i < n; i++)
    {
      scale[i] += dy[i] * ((x[i] - row->mean) * row->inverse);
      shift[i] += dy[i];
    }
}

static void
sum_columns (const float *dy,
             const float *x,
             const RowStatistics *rows,
             CpuSplit split,
             gint64 first,
             float *dscale,
             float *db)
{
  double scale[COLUMNS] = { 0 }, shift[COLUMNS] = { 0 };
  gint64 n = MIN (COLUMNS, split.middle - first);

  for (gint64 r = 0; r < split.outer; r++)
    add_row (dy + r * split.middle + first, x + r * split.middle + first, rows + r, n, scale,
             shift);
  for (gint64 i = 0; i < n; i++)
    {
      if (dscale != NULL)
        dscale[first + i] = (float) scale[i];
      if (db != NULL)
        db[first + i] = (float) shift[i];
    }
}

static gboolean
derive_rows (IrCall *call, gboolean centre, GError **error)
{
  const IrTensor *in = ir_call_input (call, 1);
  const float *dy = cpu_floats (call, 0), *x = cpu_floats (call, 1), *scale = cpu_floats (call, 2);
  gint64 rank = ir_tensor_rank (in), axis = ir_call_int (call, "axis", -1);
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);
  float *dx, *dscale, *db;

  if (!call->op->infer (call, error))
    return FALSE;
  axis += axis < 0 ? rank : 0;
  CpuSplit split = cpu_split_axes (in, axis, rank);
  g_autofree RowStatistics *rows = g_try_new (RowStatistics, MAX (split.outer, 1));
  if (rows == NULL || ir_tensor_n_elements (in) == 0 ||
      !cpu_is_tail (ir_call_input (call, 2), in, axis) ||
      ir_call_int (call, "stash_type", IR_DTYPE_FLOAT) != IR_DTYPE_FLOAT)
    return ir_ref_run (call, error);
  if (!new_wanted (call, 0, (guint) rank, ir_tensor_dims (in), &dx, error) ||
      !new_wanted (call, 1, (guint) (rank - axis), ir_tensor_dims (in) + axis, &dscale, error) ||
      !new_wanted (call, 2, (guint) (rank - axis), ir_tensor_dims (in) + axis, &db, error))
    return FALSE;
  int n_threads = cpu_n_threads (call, 4 * ir_tensor_n_elements (in));
  gint64 n_chunks = dscale != NULL || db != NULL ? (split.middle + COLUMNS - 1) / COLUMNS : 0;
  CpuWatch watch = cpu_watch (call, split.middle),
           columns = cpu_watch (call, split.outer * COLUMNS);
#pragma omp parallel num_threads(n_threads)
  {
    for (gint64 i = cpu_share (split.outer, 0), until = cpu_share (split.outer, 1);
         i < until && !cpu_watch_stopped (&watch, i); i++)
      derive_row (dy + i * split.middle, x + i * split.middle, scale, epsilon, centre, split.middle,
                  rows + i, dx != NULL ? dx + i * split.middle : NULL);
#pragma omp barrier
    for (gint64 i = cpu_share (n_chunks, 0), until = cpu_share (n_chunks, 1);
         i < until && !cpu_watch_stopped (&watch, i) && !cpu_watch_stopped (&columns, i); i++)
      sum_columns (dy, x, rows, split, i * COLUMNS, dscale, db);
  }
  return TRUE;
}

static gboolean
run_layer_norm_grad (IrCall *call, GError **error)
{
  return derive_rows (call, TRUE, error);
}

static gboolean
run_rms_norm_grad (IrCall *call, GError **error)
{
  return derive_rows (call, FALSE, error);
}

const IrCpuKernel cpu_layer_norm_grad = { .name = "row loop",
                                          .refuses = cpu_needs_float,
                                          .run = run_layer_norm_grad };

const IrCpuKernel cpu_rms_norm_grad = { .name = "row loop",
                                        .refuses = cpu_needs_float,
                                        .run = run_rms_norm_grad };

/* -- Softmax -- */

CPU_VECTORIZED static void
softmax_grad_row (const float *dy, const float *y, float *dx, gint64 n)
{
  double sums[LANES] = { 0 };
  gint64 i = 0;

  for (; i + LANES <= n; i += LANES)
    for (gint64 k = 0; k < LANES; k++)
      sums[k] += (double) dy[i + k] * y[i + k];
  for (; i < n; i++)
    sums[0] += (double) dy[i] * y[i];
  float sum = (float) sum_lanes (sums);
  for (i = 0; i < n; i++)
    dx[i] = y[i] * (dy[i] - sum);
}

/* Along an axis whose elements lie @step apart; @n_lines lines side by side. */
CPU_VECTORIZED static void
softmax_grad_lines (
    const float *dy, const float *y, float *dx, gint64 n, gint64 step, gint64 n_lines)
{
  double sums[COLUMNS] = { 0 };

  for (gint64 k = 0; k < n; k++)
    for (gint64 i = 0; i < n_lines; i++)
      sums[i] += (double) dy[k * step + i] * y[k * step + i];
  for (gint64 k = 0; k < n; k++)
    for (gint64 i = 0; i < n_lines; i++)
      dx[k * step + i] = y[k * step + i] * (dy[k * step + i] - (float) sums[i]);
}

static gboolean
run_softmax_grad (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 1);
  const float *dy = cpu_floats (call, 0), *y = cpu_floats (call, 1);
  gint64 rank = ir_tensor_rank (in), axis = ir_call_int (call, "axis", -1);

  if (!call->op->infer (call, error))
    return FALSE;
  axis += axis < 0 ? rank : 0;
  if (rank == 0 || ir_tensor_n_elements (in) == 0)
    return ir_ref_run (call, error);
  CpuSplit split = cpu_split_axes (in, axis, axis + 1);
  float *dx = cpu_new_floats (call, 0, in, error);
  if (dx == NULL)
    return FALSE;
  gint64 chunks = (split.inner + COLUMNS - 1) / COLUMNS;
  int n_threads = cpu_n_threads (call, 2 * ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, split.middle * MIN (COLUMNS, split.inner));
#pragma omp parallel num_threads(n_threads)
  for (gint64 part = cpu_share (split.outer * chunks, 0),
              until = cpu_share (split.outer * chunks, 1);
       part < until && !cpu_watch_stopped (&watch, part); part++)
    {
      gint64 first = part % chunks * COLUMNS,
             at = part / chunks * split.middle * split.inner + first;

      if (split.inner == 1)
        softmax_grad_row (dy + at, y + at, dx + at, split.middle);
      else
        softmax_grad_lines (dy + at, y + at, dx + at, split.middle, split.inner,
                            MIN (COLUMNS, split.inner - first));
    }
  return TRUE;
}

const IrCpuKernel cpu_softmax_grad = { .name = "row loop",
                                       .refuses = cpu_needs_float,
                                       .run = run_softmax_grad };
