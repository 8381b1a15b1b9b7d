/* Reductions along axes: a block of threads for each element of the result, or one thread where few
 * elements go into it. The order of sums is fixed by the shape alone. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-util.h"

/* Expressions as in the column SCALAR: s is what came before, v an element. N: their number. */
struct _GpuReduction
{
  const char *start, *map, *combine, *end;          /* of real numbers */
  const char *sint_start, *sint_map, *sint_combine; /* (nullable) of integers */
  const char *uint_start, *uint_map, *uint_combine;
  gboolean of_something; /* there is none of no elements */
};

#define FEW 48 /* elements that one thread reduces by itself */

static void
loop_of_axes (GpuLoop *loop, const GpuShape *shape, const gboolean *mask, gboolean which)
{
  GpuShape part = { .n = 1 };
  gint64 own[IR_MAX_RANK], strides[IR_MAX_RANK];

  gpu_contiguous_strides (shape, own);
  for (guint i = 0; i < shape->rank; i++)
    if (mask[i] == which)
      {
        strides[part.rank] = own[i];
        part.dims[part.rank++] = shape->dims[i];
        part.n *= (guint64) shape->dims[i];
      }
  gpu_loop_init (loop, &part);
  gpu_loop_add (loop, strides, 0);
  gpu_loop_join (loop);
}

static const char *
pick (const char *compute, const char *real, const char *sint, const char *uint)
{
  return gpu_is_real (compute) ? real : g_str_equal (compute, "k_i64") ? sint : uint;
}

/* Input 0 as x, of whose axes those in @mask are put together, and output 0 as y. Gives how many results
 * there are, and how many elements go into each. */
static const GpuElement *
put_masked (GpuWriter *w, const gboolean *mask, guint64 *n_results, guint64 *n)
{
  const GpuElement *e = gpu_put_input (w, "x", 0);
  GpuLoop kept, reduced;
  GpuShape shape;

  if (!gpu_shape_of_input (w, 0, &shape) || shape.rank > 32)
    gpu_refuse (w, gpu_unknown_shape);
  if (w->why != NULL || gpu_put_output (w, "y", 0) != e)
    {
      gpu_refuse (w, gpu_no_element);
      return NULL;
    }
  loop_of_axes (&kept, &shape, mask, FALSE);
  loop_of_axes (&reduced, &shape, mask, TRUE);
  *n_results = kept.n;
  *n = reduced.n;
  gpu_put_loop (w, "kept", &kept, "i");
  gpu_put_loop (w, "reduced", &reduced, "j");
  gpu_put_part (w, "places", "reduced");
  gpu_put_element (w, e);
  return e;
}

static const char *
emit_masked (const GpuReduction *reduction,
             const gboolean *mask,
             IrCall *call,
             IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  guint64 n_results, n;

  gpu_writer_init (&w, program, call, "reduce");
  const GpuElement *e = put_masked (&w, mask, &n_results, &n);
  if (e == NULL ||
      pick (e->compute, reduction->start, reduction->sint_start, reduction->uint_start) == NULL)
    return gpu_refuse (&w, gpu_no_element);
  if (n_results == 0)
    return NULL;
  if (n == 0 && reduction->of_something)
    return gpu_refuse (&w, "it reduces no elements");
  gpu_put_text (&w, "start",
                gpu_expression (call, e->compute, n,
                                pick (e->compute, reduction->start, reduction->sint_start,
                                      reduction->uint_start)));
  gpu_put_text (&w, "combine",
                gpu_expression (call, e->compute, n,
                                pick (e->compute, reduction->combine, reduction->sint_combine,
                                      reduction->uint_combine)));
  gpu_put_text (
      &w, "map",
      gpu_expression (call, e->compute, n,
                      pick (e->compute, reduction->map, reduction->sint_map, reduction->uint_map)));
  gpu_put_text (
      &w, "end",
      gpu_expression (call, e->compute, n,
                      gpu_is_real (e->compute) && reduction->end != NULL ? reduction->end : "s"));
  gpu_put_part (&w, "functions", "reduce");
  gpu_put (&w, "count", "%" G_GUINT64_FORMAT, n);
  if (n < FEW)
    return gpu_write_each (&w, "reduce-thread", n_results);
  gpu_put (&w, "function", "t_$name");
  gpu_put (&w, "joining", "c_$name");
  gpu_put_part (&w, "together", "together");
  return gpu_write (&w, "reduce-block", n_results, GPU_THREADS);
}

/* Which axes input 1 says. */
static const char *
read_mask (IrCall *call, gboolean *mask)
{
  int rank = ir_call_input_rank (call, 0);
  g_autofree gint64 *axes = NULL;
  guint n = 0;

  if (rank == IR_RANK_UNKNOWN)
    return "its shape is not known before the run";
  if (ir_call_has_input (call, 1) && !ir_call_input_ints (call, 1, &axes, &n))
    return "the axes are not known before the run";
  if (!ir_call_axes (call, axes, n, rank, mask, NULL))
    return "its axes do not fit";
  for (int i = 0; n == 0 && i < rank; i++)
    mask[i] = ir_call_int (call, "noop_with_empty_axes", 0) == 0;
  return NULL;
}

static const char *
emit_reduce (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean mask[IR_MAX_RANK] = { FALSE };
  const char *why = read_mask (call, mask);

  return why != NULL ? why : emit_masked (kernel->reduction, mask, call, program);
}

static const char *
emit_log_sum_exp (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean mask[IR_MAX_RANK] = { FALSE };
  const char *why = read_mask (call, mask);
  g_auto (GpuWriter) w;
  guint64 n_results, n;

  gpu_writer_init (&w, program, call, "log_sum_exp");
  if (why != NULL)
    return gpu_refuse (&w, why);
  const GpuElement *e = put_masked (&w, mask, &n_results, &n);
  if (e == NULL || !gpu_is_real (e->compute))
    return gpu_refuse (&w, gpu_no_element);
  return gpu_write_rows (&w, "log-sum-exp", n_results, n);
}

/* The axes along which the second input was broadcast to the shape of the first. */
static const char *
emit_reduce_to (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean mask[IR_MAX_RANK] = { FALSE };
  GpuShape x, like;

  if (!gpu_shape (ir_call_input_type (call, 0), &x) ||
      !gpu_shape (ir_call_input_type (call, 1), &like) || like.rank > x.rank)
    return gpu_unknown_shape;
  for (guint i = 0; i < x.rank; i++)
    mask[i] = i + like.rank < x.rank || like.dims[i + like.rank - x.rank] == 1;
  return emit_masked (kernel->reduction, mask, call, program);
}

/* -- divided by a statistic -- */

static const char *
emit_spread (IrCall *call,
             IrGpuProgram *program,
             const gboolean *mask,
             gboolean centre,
             const char *map,
             const char *result)
{
  g_auto (GpuWriter) w;
  guint64 n_results, n;

  gpu_writer_init (&w, program, call, "spread");
  const GpuElement *e = put_masked (&w, mask, &n_results, &n);
  if (e == NULL || !gpu_is_real (e->compute))
    return gpu_refuse (&w, gpu_no_element);
  gpu_put (&w, "mean", "%s",
           centre ? "  for ($index j = K_THREAD; j < $n; j += $threads)\n"
                    "    mean += $load (K_LOAD (x, base + p_$name (j)));\n"
                    "  mean = k_block_add$f (mean, parts, $warps) / $n;\n"
                  : "");
  gpu_put (&w, "n", "%" G_GUINT64_FORMAT, n);
  gpu_put (&w, "map", "%s", map);
  gpu_put_expression (&w, "tiny", e->compute, "0.000000001F");
  gpu_put (&w, "result", "%s", result);
  return n == 0 ? NULL : gpu_write_rows (&w, "spread", n_results, n);
}

static const char *
emit_lp_norm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean mask[IR_MAX_RANK] = { FALSE };
  gint64 axis, p = ir_call_int (call, "p", 2);

  if (!ir_call_axis (call, ir_call_int (call, "axis", -1), ir_call_input_rank (call, 0), &axis,
                     NULL) ||
      (p != 1 && p != 2))
    return "its axis or its norm do not fit";
  mask[axis] = TRUE;
  return emit_spread (call, program, mask, FALSE, p == 1 ? "fabs$f (v)" : "v * v",
                      p == 1 ? "sum == 0 ? 0 : v / sum" : "sum == 0 ? 0 : v / sqrt$f (sum)");
}

static const char *
emit_mean_variance (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const gint64 standard[] = { 0, 2, 3 };
  gboolean mask[IR_MAX_RANK] = { FALSE };
  guint n;
  const gint64 *axes = ir_call_ints (call, "axes", &n);

  if (!ir_call_axes (call, axes != NULL ? axes : standard,
                     axes != NULL ? n : G_N_ELEMENTS (standard), ir_call_input_rank (call, 0), mask,
                     NULL))
    return "its axes do not fit";
  return emit_spread (call, program, mask, TRUE, "v * v", "v / (sqrt$f (sum / $n) + $tiny)");
}

/* All axes behind the channels. */
static const char *
emit_global (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean mask[IR_MAX_RANK] = { FALSE };

  for (int i = 2; i < ir_call_input_rank (call, 0); i++)
    mask[i] = TRUE;
  return emit_masked (kernel->reduction, mask, call, program);
}

#define WRAPPING(operator) "(k_i64) ((k_u64) s " operator" (k_u64) v)"
/* clang-format off */
static const GpuReduction sum = {
  "0", "v", "s + v", NULL, "0", "v", WRAPPING ("+"), "0", "v", "s + v" };
static const GpuReduction mean = { "0", "v", "s + v", "s / N" };
static const GpuReduction plane_mean = { "0", "v", "s + v", "N > 0 ? s / N : 0" }; /* 0 of nothing, as by ref */
static const GpuReduction product = {
  "1", "v", "s * v", NULL, "1", "v", WRAPPING ("*"), "1", "v", "s * v" };
static const GpuReduction largest = {
  "lowest", "v", "k_maxF (s, v)", NULL, "lowest", "v", "v > s ? v : s", "lowest", "v", "v > s ? v : s", .of_something = TRUE };
static const GpuReduction smallest = {
  "highest", "v", "k_minF (s, v)", NULL, "highest", "v", "v < s ? v : s", "highest", "v", "v < s ? v : s", .of_something = TRUE };
static const GpuReduction magnitudes = { "0", "fabsF (v)", "s + v" };
static const GpuReduction norm = { "0", "v * v", "s + v", "sqrtF (s)" };
static const GpuReduction log_of_sum = { "0", "v", "s + v", "logF (s)" };
static const GpuReduction powers = { "0", "powF (fabsF (v), @p)", "s + v", "powF (s, 1.0F / @p)" };
static const GpuReduction squares = { "0", "v * v", "s + v" };

const IrGpuKernel gpu_reduce_sum = { "reduce-sum", emit_reduce, &sum };
const IrGpuKernel gpu_reduce_mean = { "reduce-mean", emit_reduce, &mean };
const IrGpuKernel gpu_reduce_prod = { "reduce-prod", emit_reduce, &product };
const IrGpuKernel gpu_reduce_max = { "reduce-max", emit_reduce, &largest };
const IrGpuKernel gpu_reduce_min = { "reduce-min", emit_reduce, &smallest };
const IrGpuKernel gpu_reduce_l1 = { "reduce-l1", emit_reduce, &magnitudes };
const IrGpuKernel gpu_reduce_l2 = { "reduce-l2", emit_reduce, &norm };
const IrGpuKernel gpu_reduce_log_sum = { "reduce-log-sum", emit_reduce, &log_of_sum };
const IrGpuKernel gpu_reduce_sum_square = { "reduce-sum-square", emit_reduce, &squares };
const IrGpuKernel gpu_global_average_pool = { "global-average-pool", emit_global, &plane_mean };
const IrGpuKernel gpu_global_lp_pool = { "global-lp-pool", emit_global, &powers };
const IrGpuKernel gpu_reduce_log_sum_exp = { "reduce-log-sum-exp", emit_log_sum_exp };
const IrGpuKernel gpu_reduce_sum_to = { "reduce-sum-to", emit_reduce_to, &sum };
const IrGpuKernel gpu_lp_norm = { "lp-norm", emit_lp_norm };
const IrGpuKernel gpu_mean_variance = { "mean-variance-norm", emit_mean_variance };
const IrGpuKernel gpu_global_max_pool = { "global-max-pool", emit_global, &largest };
/* clang-format on */
