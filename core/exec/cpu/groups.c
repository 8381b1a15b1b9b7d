/* InstanceNormalization, GroupNormalization and LRN in float32 with sums in double. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

#include <math.h>

/* -- groups of channels of one sample; an instance is a group of one channel -- */

typedef struct
{
  double mean, factor;
} Statistics;

CPU_VECTORIZED static double
sum_of (const float *x, gint64 n)
{
  double sums[8] = { 0 }, sum = 0;
  gint64 whole = n / 8 * 8;

  for (gint64 i = 0; i < whole; i += 8)
    for (int k = 0; k < 8; k++)
      sums[k] += x[i + k];
  for (gint64 i = whole; i < n; i++)
    sum += x[i];
  for (int k = 0; k < 8; k++)
    sum += sums[k];
  return sum;
}

CPU_VECTORIZED static double
squares_of (const float *x, double mean, gint64 n)
{
  double squares[8] = { 0 }, square = 0;
  gint64 whole = n / 8 * 8;

  for (gint64 i = 0; i < whole; i += 8)
    for (int k = 0; k < 8; k++)
      squares[k] += (x[i + k] - mean) * (x[i + k] - mean);
  for (gint64 i = whole; i < n; i++)
    square += (x[i] - mean) * (x[i] - mean);
  for (int k = 0; k < 8; k++)
    square += squares[k];
  return square;
}

/* Piece by piece, where there are many. */
static Statistics
statistics_of (const float *x, gint64 n, double epsilon)
{
  double mean = sum_of (x, n) / (double) n;

  return (Statistics){ mean, 1 / sqrt (squares_of (x, mean, n) / (double) n + epsilon) };
}

CPU_VECTORIZED static void
normalize (const float *x, float *y, gint64 n, Statistics s, double scale, double shift)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) ((x[i] - s.mean) * s.factor * scale + shift);
}

static gboolean
run_groups (IrCall *call, gint64 groups, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  const float *x = ir_tensor_data (in), *scale = cpu_floats (call, 1), *bias = cpu_floats (call, 2);
  double epsilon = ir_call_float (call, "epsilon", 1e-5);
  CpuSplit split = cpu_split_axes (in, 1, 2);
  gint64 n_scale = (gint64) ir_tensor_n_elements (ir_call_input (call, 1)), each;

  if (ir_tensor_rank (in) < 2 || ir_tensor_n_elements (in) == 0 || groups <= 0 ||
      split.middle % groups != 0 || scale == NULL || bias == NULL ||
      (n_scale != groups && n_scale != split.middle) ||
      (gint64) ir_tensor_n_elements (ir_call_input (call, 2)) != n_scale)
    return ir_ref_run (call, error);
  float *y = cpu_new_floats (call, 0, in, error);
  if (y == NULL)
    return FALSE;
  each = split.middle / groups;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, each * split.inner);
#pragma omp parallel num_threads(n_threads)
  for (gint64 group = cpu_share (split.outer * groups, 0),
              until = cpu_share (split.outer * groups, 1);
       group < until && !cpu_watch_stopped (&watch, group); group++)
    {
      gint64 at = group * each * split.inner;

      Statistics s = statistics_of (x + at, each * split.inner, epsilon);
      for (gint64 c = 0; c < each; c++)
        {
          gint64 entry = n_scale == split.middle ? group % groups * each + c : group % groups;

          normalize (x + at + c * split.inner, y + at + c * split.inner, split.inner, s,
                     scale[entry], bias[entry]);
        }
    }
  return TRUE;
}

static gboolean
run_instance_norm (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);

  return run_groups (call, ir_tensor_rank (in) > 1 ? ir_tensor_dims (in)[1] : 0, error);
}

static gboolean
run_group_norm (IrCall *call, GError **error)
{
  return run_groups (call, ir_call_int (call, "num_groups", 0), error);
}

const IrCpuKernel cpu_instance_norm = { .name = "plane loop",
                                        .refuses = cpu_needs_float,
                                        .run = run_instance_norm };
const IrCpuKernel cpu_group_norm = { .name = "plane loop",
                                     .refuses = cpu_needs_float,
                                     .run = run_group_norm };

/* -- LRN -- */

#define N_PLACES 256 /* neighbours in a plane that are handled together */

static gboolean
run_lrn (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  double beta = ir_call_float (call, "beta", 0.75), bias = ir_call_float (call, "bias", 1);
  gint64 size = ir_call_int (call, "size", 1);
  double alpha = ir_call_float (call, "alpha", 0.0001) / (double) size;
  CpuSplit split = cpu_split_axes (in, 1, 2);
  const float *x = ir_tensor_data (in);

  if (ir_tensor_rank (in) < 2 || size < 1)
    return ir_ref_run (call, error);
  float *y = cpu_new_floats (call, 0, in, error);
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, split.inner * MIN (size, split.middle));
#pragma omp parallel num_threads(n_threads)
  for (gint64 plane = cpu_share (split.outer * split.middle, 0),
              until = cpu_share (split.outer * split.middle, 1);
       plane < until && !cpu_watch_stopped (&watch, plane); plane++)
    {
      gint64 c = plane % split.middle, base = plane - c;
      gint64 first = MAX (c - (size - 1) / 2, 0), last = c;

      last += MIN (size / 2, split.middle - 1 - c);
      for (gint64 start = 0; start < split.inner; start += N_PLACES)
        {
          gint64 n = MIN (N_PLACES, split.inner - start);
          double squares[N_PLACES] = { 0 };

          for (gint64 k = first; k <= last; k++)
            for (gint64 i = 0; i < n; i++)
              {
                double value = x[(base + k) * split.inner + start + i];
                squares[i] += value * value;
              }
          for (gint64 i = 0; i < n; i++)
            y[plane * split.inner + start + i] = (float) (x[plane * split.inner + start + i] /
                                                          pow (bias + alpha * squares[i], beta));
        }
    }
  return TRUE;
}

const IrCpuKernel cpu_lrn = { .name = "plane loop", .refuses = cpu_needs_float, .run = run_lrn };
