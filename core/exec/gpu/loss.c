/* Losses of classification. Scores [N, C, ...] are seen as [outer, C, inner], targets as [outer, inner]. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-util.h"

#include <string.h>

#define I64 "%" G_GINT64_FORMAT

/* Logarithms of the probabilities, as output 1. */
static const char *
add_log_softmax (IrCall *call, IrGpuProgram *program, const GpuShape *x, gint64 inner)
{
  g_auto (GpuWriter) w;

  gpu_writer_init (&w, program, call, "log_softmax");
  const GpuElement *e = gpu_put_input (&w, "x", 0);
  gpu_put_output (&w, "y", 1);
  if (e == NULL)
    return w.why;
  gpu_put_element (&w, e);
  gpu_put_extent (&w, x->n);
  gpu_put_int (&w, "inner", inner);
  gpu_put (&w, "round", "v");
  gpu_put (&w, "result", "v - log$f (sum)");
  return gpu_write_rows (&w, "softmax", x->n / (guint64) MAX (x->dims[1], 1), (guint64) x->dims[1]);
}

/* What is taken off a score so that it becomes the logarithm of a probability: the block finds it. */
static const char shift_text[] =
    "      $compute most = -K_INFINITY, all = 0;\n"
    "      for ($index k = K_THREAD; k < $classes; k += $threads)\n"
    "        most = k_max$f (most, $load (K_LOAD (x, base + k * $inner)));\n"
    "      most = k_block_max$f (most, parts, $warps);\n"
    "      for ($index k = K_THREAD; k < $classes; k += $threads)\n"
    "        all += exp$f ($load (K_LOAD (x, base + k * $inner)) - most);\n"
    "      shift = most + log$f (k_block_add$f (all, parts, $warps));\n";

static const char *
emit_loss (IrCall *call, IrGpuProgram *program, gboolean from_scores)
{
  const char *reduction = ir_call_string (call, "reduction", "mean"), *why = NULL;
  gboolean none = g_str_equal (reduction, "none");
  g_auto (GpuWriter) w;
  GpuShape x, targets;
  gint64 inner = 1;

  gpu_writer_init (&w, program, call, from_scores ? "cross_entropy" : "nll_loss");
  const GpuElement *e = gpu_put_input (&w, "x", 0);
  if (e == NULL || !gpu_is_real (e->compute) || !gpu_shape_of_input (&w, 0, &x) ||
      !gpu_shape_of_input (&w, 1, &targets) || x.rank < 2)
    return gpu_refuse (&w, gpu_no_element);
  for (guint i = 2; i < x.rank; i++)
    inner *= x.dims[i];
  if (from_scores && call->n_outputs > 1 && call->outputs[1].present)
    why = add_log_softmax (call, program, &x, MAX (inner, 1));
  gpu_put_element (&w, e);
  gpu_put_input (&w, "targets", 1);
  gboolean weighs = ir_call_has_input (call, 2);
  if (weighs && gpu_put_input (&w, "weights", 2) != e)
    return gpu_refuse (&w, "its weights are of another type");
  gpu_put_output (&w, "y", 0);
  gpu_put_fault (&w);
  gpu_put_int (&w, "inner", MAX (inner, 1));
  gpu_put_int (&w, "classes", x.dims[1]);
  gpu_put_int (&w, "n", (gint64) targets.n);
  gpu_put (&w, "weight", "%s", weighs ? "$load (K_LOAD (weights, c))" : "1");
  if (ir_call_attr (call, "ignore_index") != NULL)
    gpu_put (&w, "counts", "c != " I64 "ll", ir_call_int (call, "ignore_index", 0));
  else
    gpu_put (&w, "counts", "1");
  gpu_put (&w, "shift", "%s", from_scores ? shift_text : "");
  /* With scores, a block for a target; else a thread. */
  gpu_put (&w, "first", "%s",
           !none         ? (from_scores ? "0" : "K_THREAD")
           : from_scores ? "K_BLOCK"
                         : "($index) K_BLOCK * $threads + K_THREAD");
  gpu_put (&w, "step", "%s", none ? "$n" : from_scores ? "1" : "$threads");
  gpu_put (&w, "keep", "%s",
           !none         ? ""
           : from_scores ? "      if (K_THREAD == 0)\n        K_STORE (y, place, $store (value));\n"
                         : "      K_STORE (y, place, $store (value));\n");
  gpu_put (&w, "finish", "%s%s",
           none || from_scores ? ""
                               : "  sum = k_block_add$f (sum, parts, $warps);\n"
                                 "  total = k_block_add$f (total, parts, $warps);\n",
           none ? ""
           : g_str_equal (reduction, "mean")
               ? "  if (K_THREAD == 0)\n    K_STORE (y, 0, $store (sum / total));\n"
               : "  if (K_THREAD == 0)\n    K_STORE (y, 0, $store (sum));\n");
  guint64 blocks = !none ? 1 : from_scores ? targets.n : gpu_blocks (targets.n, GPU_THREADS);
  return why != NULL ? why : gpu_write (&w, "loss", blocks, GPU_THREADS);
}

static const char *
emit_nll_loss (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_loss (call, program, FALSE);
}

static const char *
emit_cross_entropy (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_loss (call, program, TRUE);
}

const IrGpuKernel gpu_nll_loss = { "nll-loss", emit_nll_loss };
const IrGpuKernel gpu_cross_entropy = { "cross-entropy", emit_cross_entropy };
