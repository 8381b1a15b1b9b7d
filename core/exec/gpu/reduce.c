/* Reductions along axes: a block of threads for each element of the result, or one thread where few
 * elements go into it. The order of sums is fixed by the shape alone. */
#include "config.h"

#include "core/exec/gpu/emit.h"
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

typedef struct
{
  const GpuElement *in, *out;
  GpuLoop kept, reduced;
  guint64 n_results, n;
  const char *index;
} Reduce;

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

static char *
loop_text (const GpuLoop *loop, const char *index)
{
  GString *text = g_string_new (NULL);

  gpu_loop_print (loop, index, text);
  return g_string_free (text, FALSE);
}

static const char *
pick (const char *compute, const char *real, const char *sint, const char *uint)
{
  return gpu_is_real (compute) ? real : g_str_equal (compute, "k_i64") ? sint : uint;
}

/* The functions of the kernel. */
static char *
functions_text (const Reduce *r, const IrCall *call, const GpuReduction *reduction)
{
  const char *compute = r->in->compute;
  g_autofree char *kept = loop_text (&r->kept, "i");
  g_autofree char *reduced = loop_text (&r->reduced, "j");
  g_autofree char *combine = gpu_expression (
      call, compute, r->n,
      pick (compute, reduction->combine, reduction->sint_combine, reduction->uint_combine));
  g_autofree char *map = gpu_expression (
      call, compute, r->n,
      pick (compute, reduction->map, reduction->sint_map, reduction->uint_map));
  g_autofree char *end = gpu_expression (
      call, compute, r->n, gpu_is_real (compute) && reduction->end != NULL ? reduction->end : "s");

  return gpu_fill ("reduce", "index", r->index, "kept", kept, "reduced", reduced, "compute",
                   compute, "combine", combine, "map", map, "end", end, NULL);
}

static const char *
add_launch (const Reduce *r, IrCall *call, const GpuReduction *reduction, IrGpuProgram *program)
{
  const char *compute = r->in->compute, *suffix = r->index[9] == 'l' ? "ull" : "u";
  gboolean by_thread = r->n < FEW;
  guint64 blocks = gpu_blocks (r->n_results, by_thread ? GPU_THREADS : 1);
  g_autofree char *functions = functions_text (r, call, reduction);
  g_autofree char *start = gpu_expression (
      call, compute, r->n,
      pick (compute, reduction->start, reduction->sint_start, reduction->uint_start));
  g_autofree char *n = g_strdup_printf ("%" G_GUINT64_FORMAT "%s", r->n, suffix);
  g_autofree char *results = g_strdup_printf ("%" G_GUINT64_FORMAT "%s", r->n_results, suffix);
  g_autofree char *body = NULL;
  IrGpuLaunch *launch;

  if (blocks == 0)
    return "it has more elements than a launch has threads";
  /* The storage of input and result is the same, as the type is. */
  body = gpu_fill (by_thread ? "reduce-thread" : "reduce-block", "storage", r->in->storage, "index",
                   r->index, "compute", compute, "start", start, "n", n, "results", results, "load",
                   r->in->load, "store", r->out->store, "threads", G_STRINGIFY (GPU_THREADS) "u",
                   NULL);
  g_autofree char *together = gpu_fill ("together", "function", "t_$name", "compute", compute,
                                        "combine", "c_$name", NULL);
  launch = gpu_launch (program, "reduce",
                       g_strconcat (functions, by_thread ? "" : together, body, NULL), blocks,
                       GPU_THREADS);
  gpu_launch_arg (launch, IR_GPU_INPUT, 0);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, 0);
  return NULL;
}

static const char *
emit_masked (const GpuReduction *reduction,
             const gboolean *mask,
             IrCall *call,
             IrGpuProgram *program)
{
  const IrType *type = ir_call_input_type (call, 0);
  GpuShape shape;
  Reduce r;

  if (!gpu_shape (type, &shape) || shape.rank > 32)
    return "its shape is not known before the run";
  r.in = gpu_element (type->dtype);
  r.out = gpu_element (call->outputs[0].type->dtype);
  if (r.in == NULL || r.in != r.out ||
      pick (r.in->compute, reduction->start, reduction->sint_start, reduction->uint_start) == NULL)
    return "no GPU kernel takes its element type";
  loop_of_axes (&r.kept, &shape, mask, FALSE);
  loop_of_axes (&r.reduced, &shape, mask, TRUE);
  r.n_results = r.kept.n;
  r.n = r.reduced.n;
  r.index = shape.n <= G_MAXINT32 ? "unsigned int" : "unsigned long long";
  if (r.n_results == 0)
    return NULL;
  if (r.n == 0 && reduction->of_something)
    return "it reduces no elements";
  return add_launch (&r, call, reduction, program);
}

static const char *
emit_reduce (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean mask[IR_MAX_RANK] = { FALSE };
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
  return emit_masked (kernel->reduction, mask, call, program);
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
const IrGpuKernel gpu_global_max_pool = { "global-max-pool", emit_global, &largest };
/* clang-format on */
