/* Softmax and normalizations, in float32 with sums in double. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/cpu/vector-math.h"
#include "core/exec/ref/ref.h"

#include <math.h>
#include <string.h>

/* -- Softmax -- */

CPU_VECTORIZED static float
row_max (const float *x, gint64 n)
{
  float most = x[0];

  for (gint64 i = 1; i < n; i++)
    most = x[i] > most ? x[i] : most;
  return most;
}

CPU_VECTORIZED static void
exp_row (const float *x, float most, float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = cpu_vector_exp (x[i] - most);
}

CPU_VECTORIZED static void
scale_row (float *y, float factor, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] *= factor;
}

static inline __attribute__ ((always_inline)) double
sum_in_place (const float *x, gint64 n)
{
  double sums[8] = { 0 }, sum = 0;
  gint64 i = 0;

  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++)
      sums[k] += x[i + k];
  for (; i < n; i++)
    sum += x[i];
  for (int k = 0; k < 8; k++)
    sum += sums[k];
  return sum;
}

CPU_VECTORIZED static double
row_sum (const float *x, gint64 n)
{
  return sum_in_place (x, n);
}

/* The softmax of @n >= 1 floats; @y may be @x. A NaN anywhere makes the sum, and so the row, NaN.
 */
void
cpu_softmax_row (const float *x, float *y, gint64 n)
{
  exp_row (x, row_max (x, n), y, n);
  scale_row (y, (float) (1 / row_sum (y, n)), n);
}

#define PIECE   4096 /* elements of planes that are averaged at a time */
#define N_LINES 64   /* neighbouring lines along an axis that are walked together */

/* -- an element of each of @n lines side by side -- */

CPU_VECTORIZED static void
most_of_lines (const float *x, float *most, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    most[i] = x[i] > most[i] ? x[i] : most[i];
}

CPU_VECTORIZED static void
exp_of_lines (const float *x, const float *most, float *y, double *sums, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = cpu_vector_exp (x[i] - most[i]);
  for (gint64 i = 0; i < n; i++)
    sums[i] += (double) y[i];
}

CPU_VECTORIZED static void
scale_lines (const float *factors, float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] *= factors[i];
}

/* Along an axis whose elements lie @step apart; @n_lines lines side by side. */
static void
softmax_lines (const float *x, float *y, gint64 n, gint64 step, gint64 n_lines)
{
  float most[N_LINES] = { 0 }, factors[N_LINES];
  double sums[N_LINES] = { 0 };

  for (gint64 i = 0; i < n_lines; i++)
    most[i] = x[i];
  for (gint64 k = 1; k < n; k++)
    most_of_lines (x + k * step, most, n_lines);
  for (gint64 k = 0; k < n; k++)
    exp_of_lines (x + k * step, most, y + k * step, sums, n_lines);
  for (gint64 i = 0; i < n_lines; i++)
    factors[i] = (float) (1 / sums[i]);
  for (gint64 k = 0; k < n; k++)
    scale_lines (factors, y + k * step, n_lines);
}

#define FEW_LINES  16 /* fewer than a vector or two: each is brought together and taken by itself */
#define SHORT_LINE 4096 /* elements of one that is */

static void
softmax_few_lines (const float *x, float *y, gint64 n, gint64 step, gint64 n_lines)
{
  float line[SHORT_LINE];

  for (gint64 i = 0; i < n_lines; i++)
    {
      for (gint64 k = 0; k < n; k++)
        line[k] = x[k * step + i];
      cpu_softmax_row (line, line, n);
      for (gint64 k = 0; k < n; k++)
        y[k * step + i] = line[k];
    }
}

/* The sum of the exponentials, which are not kept: the result may lie over @x. */
CPU_VECTORIZED static double
exp_sum (const float *x, float most, gint64 n)
{
  float piece[N_LINES];
  double sum = 0;

  for (gint64 at = 0; at < n; at += N_LINES)
    {
      gint64 end = MIN (N_LINES, n - at);

      for (gint64 i = 0; i < end; i++)
        piece[i] = cpu_vector_exp (x[at + i] - most);
      sum += sum_in_place (piece, end);
    }
  return sum;
}

CPU_VECTORIZED static void
subtract_row (const float *x, double most, double logarithm, float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) ((double) x[i] - most - logarithm);
}

static void
log_softmax_row (const float *x, float *y, gint64 n)
{
  float most = row_max (x, n);

  subtract_row (x, most, log (exp_sum (x, most, n)), y, n);
}

CPU_VECTORIZED static void
subtract_lines (const float *x, const float *most, const double *logarithms, float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) ((double) x[i] - most[i] - logarithms[i]);
}

static void
log_softmax_lines (const float *x, float *y, gint64 n, gint64 step, gint64 n_lines)
{
  float most[N_LINES] = { 0 }, exps[N_LINES];
  double sums[N_LINES] = { 0 };

  for (gint64 i = 0; i < n_lines; i++)
    most[i] = x[i];
  for (gint64 k = 1; k < n; k++)
    most_of_lines (x + k * step, most, n_lines);
  for (gint64 k = 0; k < n; k++)
    exp_of_lines (x + k * step, most, exps, sums, n_lines);
  for (gint64 i = 0; i < n_lines; i++)
    sums[i] = log (sums[i]);
  for (gint64 k = 0; k < n; k++)
    subtract_lines (x + k * step, most, sums, y + k * step, n_lines);
}

#define SHORT_ROW 32 /* elements: rows that are shorter lie side by side while they are computed */

/* @n_rows rows, one behind the other. */
static void
short_rows (const float *x, float *y, gint64 n, gint64 n_rows, gboolean logarithm)
{
  float lines[SHORT_ROW * N_LINES] = { 0 };

  for (gint64 k = 0; k < n; k++)
    for (gint64 i = 0; i < n_rows; i++)
      lines[k * N_LINES + i] = x[i * n + k];
  if (logarithm)
    log_softmax_lines (lines, lines, n, N_LINES, n_rows);
  else
    softmax_lines (lines, lines, n, N_LINES, n_rows);
  for (gint64 i = 0; i < n_rows; i++)
    for (gint64 k = 0; k < n; k++)
      y[i * n + k] = lines[k * N_LINES + i];
}

static gboolean
run_along_axis (IrCall *call, gboolean logarithm, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gint64 rank = ir_tensor_rank (in), axis = ir_call_int (call, "axis", -1);
  gboolean flatten = ir_call_int (call, "flatten", 0) != 0;
  const float *x = ir_tensor_data (in);
  CpuSplit split;
  float *y;

  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return ir_ref_run (call, error);
  split = cpu_split_axes (in, axis, flatten ? rank : axis + 1);
  if (split.middle == 0)
    return ir_ref_run (call, error);
  y = cpu_new_floats (call, 0, in, error);
  if (y == NULL)
    return FALSE;
  gboolean short_ones = split.inner == 1 && split.middle < SHORT_ROW && split.outer > 1;
  gint64 chunks = (split.inner + N_LINES - 1) / N_LINES, each = short_ones ? N_LINES : 1,
         parts = (split.outer * chunks + each - 1) / each;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, split.middle * MIN (N_LINES, split.inner * each));
#pragma omp parallel num_threads(n_threads)
  for (gint64 part = cpu_share (parts, 0), until = cpu_share (parts, 1);
       part < until && !cpu_watch_stopped (&watch, part); part++)
    {
      gint64 first = part % chunks * N_LINES, n_lines = MIN (N_LINES, split.inner - first),
             at = part / chunks * each * split.middle * split.inner + first;

      if (short_ones)
        short_rows (x + at, y + at, split.middle, MIN (N_LINES, split.outer - part * N_LINES),
                    logarithm);
      else if (logarithm && split.inner == 1)
        log_softmax_row (x + at, y + at, split.middle);
      else if (logarithm)
        log_softmax_lines (x + at, y + at, split.middle, split.inner, n_lines);
      else if (split.inner == 1)
        cpu_softmax_row (x + at, y + at, split.middle);
      else if (split.inner < FEW_LINES && split.middle <= SHORT_LINE)
        softmax_few_lines (x + at, y + at, split.middle, split.inner, n_lines);
      else
        softmax_lines (x + at, y + at, split.middle, split.inner, n_lines);
    }
  return TRUE;
}

static gboolean
run_softmax (IrCall *call, GError **error)
{
  return run_along_axis (call, FALSE, error);
}

static gboolean
run_log_softmax (IrCall *call, GError **error)
{
  return run_along_axis (call, TRUE, error);
}

const IrCpuKernel cpu_log_softmax = { .name = "row loop",
                                      .refuses = cpu_needs_float,
                                      .run = run_log_softmax };
const IrCpuKernel cpu_softmax = { .name = "row loop",
                                  .refuses = cpu_needs_float,
                                  .run = run_softmax };

/* -- LayerNormalization -- */

CPU_VECTORIZED static double
row_squares (const float *x, double mean, gint64 n)
{
  double sums[8] = { 0 }, sum = 0;
  gint64 i = 0;

  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++)
      sums[k] += (x[i + k] - mean) * (x[i + k] - mean);
  for (; i < n; i++)
    sum += (x[i] - mean) * (x[i] - mean);
  for (int k = 0; k < 8; k++)
    sum += sums[k];
  return sum;
}

CPU_VECTORIZED static void
shift_row (const float *x,
           double mean,
           double inverse,
           const float *scale,
           const float *bias,
           float *y,
           gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) ((x[i] - mean) * inverse) * scale[i] + (bias != NULL ? bias[i] : 0);
}

static void
layer_norm_row (
    const float *x, const float *scale, const float *bias, double epsilon, float *y, gint64 n)
{
  double mean = row_sum (x, n) / n;
  double inverse = 1 / sqrt (row_squares (x, mean, n) / n + epsilon);

  shift_row (x, mean, inverse, scale, bias, y, n);
}

static gboolean
run_layer_norm (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0), *scale = ir_call_input (call, 1),
                 *bias = ir_call_input (call, 2);
  gint64 rank = ir_tensor_rank (in), axis = ir_call_int (call, "axis", -1);
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);
  const float *x = ir_tensor_data (in);
  CpuSplit split;
  float *y;

  axis += axis < 0 ? rank : 0;
  split = cpu_split_axes (in, axis, rank);
  if (axis < 0 || axis >= rank || split.middle == 0 || ir_call_has_output (call, 1) ||
      ir_call_has_output (call, 2) || !cpu_is_tail (scale, in, axis) ||
      (bias != NULL && !cpu_is_tail (bias, in, axis)))
    return ir_ref_run (call, error);
  y = cpu_new_floats (call, 0, in, error);
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, (guint64) (split.outer * split.middle));
  CpuWatch watch = cpu_watch (call, split.middle);
#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (split.outer, 0), until = cpu_share (split.outer, 1);
       i < until && !cpu_watch_stopped (&watch, i); i++)
    layer_norm_row (x + i * split.middle, ir_tensor_data (scale),
                    bias != NULL ? ir_tensor_data (bias) : NULL, epsilon, y + i * split.middle,
                    split.middle);
  return TRUE;
}

const IrCpuKernel cpu_layer_norm = { .name = "row loop",
                                     .refuses = cpu_needs_float,
                                     .run = run_layer_norm };

CPU_VECTORIZED static void
sum_row (const float *x, const float *y, float *sum, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    sum[i] = x[i] + y[i];
}

/* SkipLayerNormalization: the sum goes where the result will be, or to an output of its own. */
static gboolean
run_skip_layer_norm (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  const float *x = cpu_floats (call, 0), *skip = cpu_floats (call, 1),
              *scale = cpu_floats (call, 2), *bias = cpu_floats (call, 3);
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);
  CpuSplit split = cpu_split_axes (in, (gint64) ir_tensor_rank (in) - 1, ir_tensor_rank (in));
  float *y, *sums = NULL;

  if (ir_tensor_rank (in) == 0 || split.middle == 0 ||
      !cpu_is_tail (ir_call_input (call, 2), in, (gint64) ir_tensor_rank (in) - 1) ||
      !cpu_is_tail (ir_call_input (call, 3), in, (gint64) ir_tensor_rank (in) - 1) ||
      ir_tensor_n_elements (ir_call_input (call, 1)) != ir_tensor_n_elements (in))
    return ir_ref_run (call, error);
  y = cpu_new_floats (call, 0, in, error);
  if (y == NULL)
    return FALSE;
  if (ir_call_has_output (call, 1) && (sums = cpu_new_floats (call, 1, in, error)) == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, (guint64) (split.outer * split.middle));
  CpuWatch watch = cpu_watch (call, split.middle);
#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (split.outer, 0), until = cpu_share (split.outer, 1);
       i < until && !cpu_watch_stopped (&watch, i); i++)
    {
      float *sum = (sums != NULL ? sums : y) + i * split.middle;

      sum_row (x + i * split.middle, skip + i * split.middle, sum, split.middle);
      layer_norm_row (sum, scale, bias, epsilon, y + i * split.middle, split.middle);
    }
  return TRUE;
}

const IrCpuKernel cpu_skip_layer_norm = { .name = "row loop",
                                          .refuses = cpu_needs_float,
                                          .run = run_skip_layer_norm };

/* -- the same of three rows of tables -- */

/* Where row @row of the output, whose axes but the last are @dims, finds its id. */
static gint64
id_of_row (const IrTensor *ids, guint rank, const IrDim *dims, gint64 row)
{
  guint own = ir_tensor_rank (ids);
  gint64 at = 0, step = 1;

  for (guint i = 0; i < own; i++)
    {
      gint64 place = row % dims[rank - 1 - i], size = ir_tensor_dims (ids)[own - 1 - i];

      row /= dims[rank - 1 - i];
      at += size == 1 ? 0 : place * step;
      step *= size;
    }
  return ir_tensor_get_int64 (ids, (guint64) at);
}

/* Writes the sum of the three rows; FALSE if an id names none. */
static gboolean
add_table_rows (const IrCall *call, guint rank, const IrDim *dims, gint64 row, float *y)
{
  gint64 width = dims[rank];

  for (guint slot = 0; slot < 6; slot += 2)
    {
      gint64 n = ir_tensor_dims (ir_call_input (call, slot))[0];
      gint64 id = id_of_row (ir_call_input (call, slot + 1), rank, dims, row);

      if (id < -n || id >= n)
        return FALSE;
      const float *from = cpu_floats (call, slot) + (id < 0 ? id + n : id) * width;
      for (gint64 k = 0; k < width; k++)
        y[k] = slot == 0 ? from[k] : y[k] + from[k];
    }
  return TRUE;
}

static gboolean
run_embed_layer_norm (IrCall *call, GError **error)
{
  const float *scale = cpu_floats (call, 6), *bias = cpu_floats (call, 7);
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);
  gboolean found = TRUE;
  gint64 n_rows = 1;

  if (!ir_infer_embed_layer_norm (call, error))
    return FALSE;
  const IrType *type = call->outputs[0].type;
  guint rank = ir_type_is_static (type) ? (guint) type->rank - 1 : 0;
  if (!ir_type_is_static (type) || type->dims[rank] == 0 ||
      ir_tensor_n_elements (ir_call_input (call, 6)) != (guint64) type->dims[rank] ||
      ir_tensor_n_elements (ir_call_input (call, 7)) != (guint64) type->dims[rank])
    return ir_ref_run (call, error);
  for (guint i = 0; i < rank; i++)
    n_rows *= type->dims[i];
  float *y = cpu_new_floats_shaped (call, 0, rank + 1, type->dims, error);
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, (guint64) (n_rows * type->dims[rank]));
  CpuWatch watch = cpu_watch (call, type->dims[rank]);
#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (n_rows, 0), until = cpu_share (n_rows, 1);
       i < until && !cpu_watch_stopped (&watch, i); i++)
    {
      float *row = y + i * type->dims[rank];

      if (add_table_rows (call, rank, type->dims, i, row))
        layer_norm_row (row, scale, bias, epsilon, row, type->dims[rank]);
      else
#pragma omp atomic write
        found = FALSE;
    }
  return found || ir_ref_run (call, error);
}

static const char *
refuses_embed_layer_norm (const IrNode *node)
{
  const guint64 tables = 1 << 0 | 1 << 2 | 1 << 4 | 1 << 6 | 1 << 7;

  for (guint i = 0; i < MIN (node->n_inputs, 8); i++)
    if ((tables >> i & 1) && node->inputs[i] == NULL)
      return "the CPU kernel of this operator takes all its tables";
  return cpu_needs_floats (node, tables);
}

const IrCpuKernel cpu_embed_layer_norm = { .name = "row loop",
                                           .refuses = refuses_embed_layer_norm,
                                           .run = run_embed_layer_norm };

/* -- BatchNormalization: a scale and a shift per channel; in training by the batch's own statistics -- */

CPU_VECTORIZED static void
normalize (const float *x, float *y, gint64 n, double mean, double scale, double shift)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) ((x[i] - mean) * scale + shift);
}

/* A plane's part of a sum, of the elements or of the squares of what is beside @mean. */
CPU_VECTORIZED static double
sum_of (const float *x, gint64 n, double mean, gboolean squares)
{
  double sums[8] = { 0 };
  gint64 i = 0;

  for (; squares && i + 8 <= n; i += 8)
    for (gint64 k = 0; k < 8; k++)
      sums[k] += (x[i + k] - mean) * (x[i + k] - mean);
  for (; !squares && i + 8 <= n; i += 8)
    for (gint64 k = 0; k < 8; k++)
      sums[k] += x[i + k];
  for (; i < n; i++)
    sums[0] += squares ? (x[i] - mean) * (x[i] - mean) : x[i];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/* Mean and variance of channel @c, always in the same order. */
static void
channel_statistics (const float *x, const CpuSplit *split, gint64 c, double *mean, double *variance)
{
  double sum = 0, squares = 0, n = (double) split->outer * (double) split->inner;

  for (gint64 sample = 0; sample < split->outer; sample++)
    sum += sum_of (x + (sample * split->middle + c) * split->inner, split->inner, 0, FALSE);
  *mean = sum / n;
  for (gint64 sample = 0; sample < split->outer; sample++)
    squares += sum_of (x + (sample * split->middle + c) * split->inner, split->inner, *mean, TRUE);
  *variance = squares / n;
}

/* Memory for what the statistics become; (nullable) nobody wants it. */
static gboolean
new_statistic (IrCall *call, guint slot, gint64 channels, float **data, GError **error)
{
  *data = ir_call_has_output (call, slot) ? cpu_new_floats_shaped (call, slot, 1, &channels, error)
                                          : NULL;
  return *data != NULL || !ir_call_has_output (call, slot);
}

/* Channel by channel. */
static gboolean
train_batch_norm (IrCall *call, const CpuSplit *split, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  const float *x = ir_tensor_data (in), *scale = cpu_floats (call, 1), *bias = cpu_floats (call, 2),
              *old_mean = cpu_floats (call, 3), *old_variance = cpu_floats (call, 4);
  double epsilon = ir_call_float (call, "epsilon", 1e-5f),
         momentum = ir_call_float (call, "momentum", 0.9f);
  float *y = cpu_new_floats (call, 0, in, error), *new_mean = NULL, *new_variance = NULL;

  if (y == NULL || !new_statistic (call, 1, split->middle, &new_mean, error) ||
      !new_statistic (call, 2, split->middle, &new_variance, error))
    return FALSE;
  int n_threads = cpu_n_threads (call, 3 * ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, split->inner * split->outer);
#pragma omp parallel num_threads(n_threads)
  for (gint64 c = cpu_share (split->middle, 0), until = cpu_share (split->middle, 1);
       c < until && !cpu_watch_stopped (&watch, c); c++)
    {
      double mean, variance;
      channel_statistics (x, split, c, &mean, &variance);
      double factor = scale[c] / sqrt (variance + epsilon);
      if (new_mean != NULL)
        new_mean[c] = (float) (old_mean[c] * momentum + mean * (1 - momentum));
      if (new_variance != NULL)
        new_variance[c] = (float) (old_variance[c] * momentum + variance * (1 - momentum));
      for (gint64 sample = 0; sample < split->outer; sample++)
        {
          gint64 plane = (sample * split->middle + c) * split->inner;
          normalize (x + plane, y + plane, split->inner, mean, factor, bias[c]);
        }
    }
  return TRUE;
}

static gboolean
run_batch_norm (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  const float *x = ir_tensor_data (in), *scale = cpu_floats (call, 1), *bias = cpu_floats (call, 2),
              *mean = cpu_floats (call, 3), *variance = cpu_floats (call, 4);
  double epsilon = ir_call_float (call, "epsilon", 1e-5f);
  CpuSplit split = cpu_split_axes (in, 1, 2);
  float *y;

  gboolean training = ir_call_int (call, "training_mode", 0) != 0;

  if (ir_tensor_rank (in) < 2 ||
      (training && ((call->opset != 0 && call->opset < 14) || ir_call_has_output (call, 3) ||
                    ir_call_has_output (call, 4) || ir_tensor_n_elements (in) == 0)))
    return ir_ref_run (call, error);
  for (guint i = 1; i < 5; i++)
    if (ir_tensor_n_elements (ir_call_input (call, i)) != (guint64) split.middle)
      return ir_ref_run (call, error);
  if (training)
    return train_batch_norm (call, &split, error);
  y = cpu_new_floats (call, 0, in, error);
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, split.inner);
#pragma omp parallel num_threads(n_threads)
  for (gint64 plane = cpu_share (split.outer * split.middle, 0),
              until = cpu_share (split.outer * split.middle, 1);
       plane < until && !cpu_watch_stopped (&watch, plane); plane++)
    {
      gint64 c = plane % split.middle;

      double factor = scale[c] / sqrt (variance[c] + epsilon);

      normalize (x + plane * split.inner, y + plane * split.inner, split.inner, mean[c], factor,
                 bias[c]);
    }
  return TRUE;
}

const IrCpuKernel cpu_batch_norm = { .name = "plane loop",
                                     .refuses = cpu_needs_float,
                                     .run = run_batch_norm,
                                     .blocks = &cpu_batch_norm_blocks };

/* -- GlobalAveragePool -- */

CPU_VECTORIZED static void
mean_of_planes (const float *x, gint64 n_planes, gint64 n, float *y)
{
  for (gint64 i = 0; i < n_planes; i++)
    y[i] = (float) (sum_in_place (x + i * n, n) / (double) n);
}

static gboolean
run_global_average_pool (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gint64 rank = ir_tensor_rank (in), dims[IR_MAX_RANK];
  CpuSplit split = cpu_split_axes (in, 2, rank);
  const float *x = ir_tensor_data (in);
  float *y;

  if (rank < 3 || split.middle == 0)
    return ir_ref_run (call, error);
  for (gint64 i = 0; i < rank; i++)
    dims[i] = i < 2 ? ir_tensor_dims (in)[i] : 1;
  y = cpu_new_floats_shaped (call, 0, (guint) rank, dims, error);
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (in));
  gint64 planes_each = MAX (PIECE / split.middle, 1),
         pieces = (split.outer + planes_each - 1) / planes_each;
  CpuWatch watch = cpu_watch (call, planes_each * split.middle);
#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (pieces, 0), until = cpu_share (pieces, 1);
       i < until && !cpu_watch_stopped (&watch, i); i++)
    mean_of_planes (x + i * planes_each * split.middle,
                    MIN (planes_each, split.outer - i * planes_each), split.middle,
                    y + i * planes_each);
  return TRUE;
}

const IrCpuKernel cpu_global_average_pool = { .name = "plane loop",
                                              .refuses = cpu_needs_float,
                                              .run = run_global_average_pool,
                                              .blocks = &cpu_global_average_pool_blocks };
