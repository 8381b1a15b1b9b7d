/* Reductions over any axes, in float32 with accumulators in double; ArgMax and ArgMin; CumSum.
 * A reduction is one walk over the input along its innermost run of axes: where that is reduced, a
 * row goes into one accumulator, and where it is kept, into a row of them. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/op/infer-util.h"

#include <math.h>
#include <string.h>

/* -- what is accumulated -- */

typedef struct
{
  double start;
  /* @n elements into one accumulator; @largest is that of all of them, for those that want it */
  double (*row) (const float *x, gint64 n, double acc, double largest);
  /* each into its own */
  void (*rows) (const float *x, gint64 n, double *acc, const double *largest);
  double (*finish) (double acc, gint64 n, double largest); /* (nullable) the accumulator itself */
  gboolean wants_largest;
} Reducer;

#define N_LANES 8

/* @STEP takes x into a; lanes of their own make vectors possible, and @JOIN takes b into a. */
#define ACCUMULATE(name, START, STEP, JOIN)                                                        \
  CPU_VECTORIZED static double name##_row (const float *in, gint64 n, double acc, double largest)  \
  {                                                                                                \
    double lanes[N_LANES], a = acc;                                                                \
    gint64 i = 0;                                                                                  \
    for (int k = 0; k < N_LANES; k++)                                                              \
      lanes[k] = START;                                                                            \
    for (; i + N_LANES <= n; i += N_LANES)                                                         \
      for (int k = 0; k < N_LANES; k++)                                                            \
        {                                                                                          \
          double x = in[i + k];                                                                    \
          a = lanes[k];                                                                            \
          lanes[k] = STEP;                                                                         \
        }                                                                                          \
    a = acc;                                                                                       \
    for (int k = 0; k < N_LANES; k++)                                                              \
      {                                                                                            \
        double b = lanes[k];                                                                       \
        a = JOIN;                                                                                  \
      }                                                                                            \
    for (; i < n; i++)                                                                             \
      {                                                                                            \
        double x = in[i];                                                                          \
        a = STEP;                                                                                  \
      }                                                                                            \
    return a;                                                                                      \
  }                                                                                                \
  CPU_VECTORIZED static void name##_rows (const float *in, gint64 n, double *acc,                  \
                                          const double *most)                                      \
  {                                                                                                \
    for (gint64 i = 0; i < n; i++)                                                                 \
      {                                                                                            \
        double x = in[i], a = acc[i], largest = most != NULL ? most[i] : 0;                        \
        acc[i] = STEP;                                                                             \
        (void) largest;                                                                            \
      }                                                                                            \
  }

/* clang-format off */
ACCUMULATE (sum, 0, a + x, a + b)
ACCUMULATE (product, 1, a * x, a * b)
ACCUMULATE (magnitude, 0, a + fabs (x), a + b)
ACCUMULATE (square, 0, a + x * x, a + b)
/* A NaN wins and stays. */
ACCUMULATE (most, -HUGE_VAL, x > a || x != x ? x : a, a != a ? a : b > a || b != b ? b : a)
ACCUMULATE (least, HUGE_VAL, x < a || x != x ? x : a, a != a ? a : b < a || b != b ? b : a)
/* A NaN does not count. */
ACCUMULATE (top, -HUGE_VAL, x > a ? x : a, b > a ? b : a)
/* clang-format on */

/* Relative to the largest element, so nothing overflows. */
static double
exp_row (const float *x, gint64 n, double acc, double largest)
{
  for (gint64 i = 0; i < n; i++)
    acc += isinf (largest) ? exp (x[i]) : exp (x[i] - largest);
  return acc;
}

static void
exp_rows (const float *x, gint64 n, double *acc, const double *largest)
{
  for (gint64 i = 0; i < n; i++)
    acc[i] += isinf (largest[i]) ? exp (x[i]) : exp (x[i] - largest[i]);
}

static double
finish_mean (double acc, gint64 n, double largest)
{
  return acc / (double) n;
}

static double
finish_root (double acc, gint64 n, double largest)
{
  return sqrt (acc);
}

static double
finish_log (double acc, gint64 n, double largest)
{
  return log (acc);
}

static double
finish_log_exp (double acc, gint64 n, double largest)
{
  return isinf (largest) ? log (acc) : log (acc) + largest;
}

/* -- the walk -- */

/* Axes that lie together and fare alike are one; outermost first. */
typedef struct
{
  guint rank;
  gint64 dims[IR_MAX_RANK];
  gboolean reduced[IR_MAX_RANK];
  gint64 out[IR_MAX_RANK]; /* strides in the output, 0 where reduced */
  gint64 n_reduced;        /* elements that go into one */
} Axes;

static void
axes_init (Axes *axes, const IrTensor *in, const gboolean *mask)
{
  gint64 stride = 1;

  axes->rank = 0;
  axes->n_reduced = 1;
  for (guint i = 0; i < ir_tensor_rank (in); i++)
    {
      gint64 dim = ir_tensor_dims (in)[i];

      axes->n_reduced *= mask[i] ? dim : 1;
      if (dim == 1)
        continue;
      if (axes->rank > 0 && axes->reduced[axes->rank - 1] == mask[i])
        {
          axes->dims[axes->rank - 1] *= dim;
          continue;
        }
      axes->reduced[axes->rank] = mask[i];
      axes->dims[axes->rank++] = dim;
    }
  if (axes->rank == 0)
    {
      axes->reduced[0] = FALSE;
      axes->dims[axes->rank++] = 1;
    }
  for (guint i = axes->rank; i > 0; i--)
    {
      axes->out[i - 1] = axes->reduced[i - 1] ? 0 : stride;
      stride *= axes->reduced[i - 1] ? 1 : axes->dims[i - 1];
    }
}

/* Rows [first, end) along the innermost axis. */
static void
reduce_rows (CpuWatch *watch,
             const Axes *axes,
             const Reducer *reducer,
             const float *x,
             gint64 first,
             gint64 end,
             double *acc,
             const double *largest)
{
  guint last = axes->rank - 1;
  gint64 n = axes->dims[last];

  for (gint64 row = first; row < end && !cpu_watch_stopped (watch, row); row++)
    {
      gint64 at = 0, index = row;

      for (guint i = last; i > 0; i--)
        {
          at += index % axes->dims[i - 1] * axes->out[i - 1];
          index /= axes->dims[i - 1];
        }
      if (axes->reduced[last])
        acc[at] = reducer->row (x + row * n, n, acc[at], largest != NULL ? largest[at] : 0);
      else
        reducer->rows (x + row * n, n, acc + at, largest != NULL ? largest + at : NULL);
    }
}

/* What the outermost axis keeps apart is shared over the threads. */
static void
accumulate (const IrCall *call,
            const Axes *axes,
            const Reducer *reducer,
            const float *x,
            double *acc,
            gint64 n_out,
            const double *largest)
{
  gint64 blocks = axes->reduced[0] || axes->rank == 1 ? 1 : axes->dims[0], rows = 1, total = 1;

  for (gint64 i = 0; i < n_out; i++)
    acc[i] = reducer->start;
  for (guint i = 0; i < axes->rank; i++)
    {
      total *= axes->dims[i];
      rows *= i + 1 < axes->rank ? axes->dims[i] : 1;
    }
  if (total == 0)
    return;
  int n_threads = cpu_n_threads (call, (guint64) total);
  CpuWatch watch = cpu_watch (call, axes->dims[axes->rank - 1]);
#pragma omp parallel num_threads(n_threads)
  for (gint64 block = cpu_share (blocks, 0), until = cpu_share (blocks, 1); block < until; block++)
    reduce_rows (&watch, axes, reducer, x, rows * block / blocks, rows * (block + 1) / blocks, acc,
                 largest);
}

static gboolean
reduced_axes (IrCall *call, const IrTensor *in, gboolean *mask, GError **error)
{
  g_autofree gint64 *axes = NULL;
  guint n = 0;
  int rank = (int) ir_tensor_rank (in);

  if (ir_call_has_input (call, 1) && !ir_call_input_ints (call, 1, &axes, &n))
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "the axes are not known");
  if (!ir_call_axes (call, axes, n, rank, mask, error))
    return FALSE;
  for (int i = 0; n == 0 && i < rank; i++)
    mask[i] = ir_call_int (call, "noop_with_empty_axes", 0) == 0;
  return TRUE;
}

static gboolean
reduce (IrCall *call, const Reducer *reducer, GError **error)
{
  static const Reducer finds_top = { -HUGE_VAL, top_row, top_rows, NULL, FALSE };
  const IrTensor *in = ir_call_input (call, 0);
  gboolean mask[IR_MAX_RANK];
  Axes axes;

  if (!reduced_axes (call, in, mask, error))
    return FALSE;
  float *y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  gint64 n = (gint64) ir_tensor_n_elements (call->outputs[0].tensor);
  g_autofree double *acc = g_try_new (double, MAX (n, 1));
  g_autofree double *largest = reducer->wants_largest ? g_try_new (double, MAX (n, 1)) : NULL;
  if (acc == NULL || (reducer->wants_largest && largest == NULL))
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "the sums do not fit into memory");
  axes_init (&axes, in, mask);
  if (largest != NULL)
    accumulate (call, &axes, &finds_top, ir_tensor_data (in), largest, n, NULL);
  accumulate (call, &axes, reducer, ir_tensor_data (in), acc, n, largest);
  for (gint64 i = 0; i < n; i++)
    y[i] = (float) (reducer->finish != NULL
                        ? reducer->finish (acc[i], axes.n_reduced, largest != NULL ? largest[i] : 0)
                        : acc[i]);
  return TRUE;
}

#define REDUCE(kernel, ...)                                                                        \
  static gboolean kernel##_run (IrCall *call, GError **error)                                      \
  {                                                                                                \
    static const Reducer reducer = { __VA_ARGS__ };                                                \
    return reduce (call, &reducer, error);                                                         \
  }                                                                                                \
  const IrCpuKernel kernel = { .name = "row loop",                                                 \
                               .refuses = cpu_needs_first_float,                                   \
                               .run = kernel##_run };

REDUCE (cpu_reduce_sum, 0, sum_row, sum_rows, NULL, FALSE)
REDUCE (cpu_reduce_mean, 0, sum_row, sum_rows, finish_mean, FALSE)
REDUCE (cpu_reduce_prod, 1, product_row, product_rows, NULL, FALSE)
REDUCE (cpu_reduce_max, -HUGE_VAL, most_row, most_rows, NULL, FALSE)
REDUCE (cpu_reduce_min, HUGE_VAL, least_row, least_rows, NULL, FALSE)
REDUCE (cpu_reduce_l1, 0, magnitude_row, magnitude_rows, NULL, FALSE)
REDUCE (cpu_reduce_l2, 0, square_row, square_rows, finish_root, FALSE)
REDUCE (cpu_reduce_sum_square, 0, square_row, square_rows, NULL, FALSE)
REDUCE (cpu_reduce_log_sum, 0, sum_row, sum_rows, finish_log, FALSE)
REDUCE (cpu_reduce_log_sum_exp, 0, exp_row, exp_rows, finish_log_exp, TRUE)

/* -- ArgMax, ArgMin -- */

#define N_LINES 256 /* neighbouring lines along an axis that are walked together */

/* Whether @x takes the place of @best: NaN beats all, as in numpy. */
static inline gboolean
beats (float x, float best, gboolean largest, gboolean last)
{
  if (isnan (x) || isnan (best))
    return isnan (x) && (!isnan (best) || last);
  if (x == best)
    return last;
  return largest ? x > best : x < best;
}

static void
arg_lines (const float *x,
           gint64 n,
           gint64 step,
           gint64 n_lines,
           gboolean largest,
           gboolean last,
           gint64 *y)
{
  float best[N_LINES];

  for (gint64 i = 0; i < n_lines; i++)
    {
      best[i] = x[i];
      y[i] = 0;
    }
  for (gint64 k = 1; k < n; k++)
    for (gint64 i = 0; i < n_lines; i++)
      if (beats (x[k * step + i], best[i], largest, last))
        {
          best[i] = x[k * step + i];
          y[i] = k;
        }
}

static gboolean
run_arg (IrCall *call, gboolean largest, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gboolean last = ir_call_int (call, "select_last_index", 0) != 0;
  const float *x = ir_tensor_data (in);
  gint64 axis;

  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), (int) ir_tensor_rank (in), &axis, error))
    return FALSE;
  CpuSplit split = cpu_split_axes (in, axis, axis + 1);
  if (split.middle == 0)
    return ir_ref_run (call, error);
  gint64 *y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  gint64 chunks = (split.inner + N_LINES - 1) / N_LINES;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, split.middle * MIN (N_LINES, split.inner));
#pragma omp parallel num_threads(n_threads)
  for (gint64 part = cpu_share (split.outer * chunks, 0),
              until = cpu_share (split.outer * chunks, 1);
       part < until && !cpu_watch_stopped (&watch, part); part++)
    {
      gint64 outer = part / chunks, first = part % chunks * N_LINES;

      arg_lines (x + outer * split.middle * split.inner + first, split.middle, split.inner,
                 MIN (N_LINES, split.inner - first), largest, last,
                 y + outer * split.inner + first);
    }
  return TRUE;
}

static gboolean
run_arg_max (IrCall *call, GError **error)
{
  return run_arg (call, TRUE, error);
}

static gboolean
run_arg_min (IrCall *call, GError **error)
{
  return run_arg (call, FALSE, error);
}

const IrCpuKernel cpu_arg_max = { .name = "row loop",
                                  .refuses = cpu_needs_float,
                                  .run = run_arg_max };
const IrCpuKernel cpu_arg_min = { .name = "row loop",
                                  .refuses = cpu_needs_float,
                                  .run = run_arg_min };

/* -- CumSum -- */

#define CUMULATE(Type, Sum)                                                                        \
  static void cumulate_##Type (const Type *x, Type *y, gint64 n, gint64 step, gint64 n_lines,      \
                               gboolean exclusive)                                                 \
  {                                                                                                \
    Sum sums[N_LINES] = { 0 };                                                                     \
    for (gint64 k = 0; k < n; k++)                                                                 \
      for (gint64 i = 0; i < n_lines; i++)                                                         \
        {                                                                                          \
          Sum before = sums[i];                                                                    \
          sums[i] += (Sum) x[k * step + i];                                                        \
          y[k * step + i] = (Type) (exclusive ? before : sums[i]);                                 \
        }                                                                                          \
  }
CUMULATE (float, double)
CUMULATE (gint64, guint64)
CUMULATE (gint32, guint32)

static const char *
refuses_cum_sum (const IrNode *node)
{
  IrDtype dtype = cpu_dtype (node, 0);

  return dtype == IR_DTYPE_INT64 || dtype == IR_DTYPE_INT32
             ? NULL
             : cpu_takes_float (dtype,
                                "only floats of up to 32 bits, int64 and int32 are summed here");
}

static gboolean
run_cum_sum (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gboolean exclusive = ir_call_int (call, "exclusive", 0) != 0,
           reverse = ir_call_int (call, "reverse", 0) != 0;
  IrDtype dtype = ir_tensor_dtype (in);
  g_autofree gint64 *axes = NULL;
  guint n_axes = 0;
  gint64 axis;

  if (!ir_call_input_ints (call, 1, &axes, &n_axes) || n_axes != 1)
    return ir_ref_run (call, error);
  if (!ir_call_axis (call, axes[0], (int) ir_tensor_rank (in), &axis, error))
    return FALSE;
  gpointer y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  gconstpointer x = ir_tensor_data (in);
  CpuSplit split = cpu_split_axes (in, axis, axis + 1);
  gint64 chunks = split.middle > 0 ? (split.inner + N_LINES - 1) / N_LINES : 0,
         step = reverse ? -split.inner : split.inner,
         start = reverse ? (split.middle - 1) * split.inner : 0;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, split.middle * MIN (N_LINES, split.inner));
#pragma omp parallel num_threads(n_threads)
  for (gint64 part = cpu_share (split.outer * chunks, 0),
              until = cpu_share (split.outer * chunks, 1);
       part < until && !cpu_watch_stopped (&watch, part); part++)
    {
      gint64 first = part % chunks * N_LINES, n_lines = MIN (N_LINES, split.inner - first),
             at = part / chunks * split.middle * split.inner + start + first;

      if (dtype == IR_DTYPE_FLOAT)
        cumulate_float ((const float *) x + at, (float *) y + at, split.middle, step, n_lines,
                        exclusive);
      else if (dtype == IR_DTYPE_INT64)
        cumulate_gint64 ((const gint64 *) x + at, (gint64 *) y + at, split.middle, step, n_lines,
                         exclusive);
      else
        cumulate_gint32 ((const gint32 *) x + at, (gint32 *) y + at, split.middle, step, n_lines,
                         exclusive);
    }
  return TRUE;
}

const IrCpuKernel cpu_cum_sum = { .name = "row loop",
                                  .refuses = refuses_cum_sum,
                                  .run = run_cum_sum };

/* -- GlobalMaxPool -- */

static gboolean
run_global_max_pool (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  gint64 rank = ir_tensor_rank (in);
  CpuSplit split = cpu_split_axes (in, 2, rank);
  const float *x = ir_tensor_data (in);

  if (rank < 3 || split.middle == 0)
    return ir_ref_run (call, error);
  float *y = cpu_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  int n_threads = cpu_n_threads (call, ir_tensor_n_elements (in));
  CpuWatch watch = cpu_watch (call, split.middle);
#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (split.outer, 0), until = cpu_share (split.outer, 1);
       i < until && !cpu_watch_stopped (&watch, i); i++)
    {
      double most = -HUGE_VAL;

      most = most_row (x + i * split.middle, split.middle, most, 0);
      y[i] = (float) most;
    }
  return TRUE;
}

const IrCpuKernel cpu_global_max_pool = { .name = "plane loop",
                                          .refuses = cpu_needs_float,
                                          .run = run_global_max_pool };
