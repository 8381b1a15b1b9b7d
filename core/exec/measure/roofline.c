/* The roofline of the machine (Williams, Waterman and Patterson 2009): the kernels of a back end
 * themselves say what can be reached, on a product that has 256 operations for every byte and on an
 * operator that only moves bytes. */
#include "config.h"

#include "core/exec/measure/roofline.h"
#include "core/io/io.h"

#include <string.h>

#define ROUNDS 6 /* the first of them warms up */

static const char product[] = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                              "g (float[1024,1024] a, float[1024,1024] b) => (float[1024,1024] y) "
                              "{ y = MatMul (a, b) }";
/* 32 MiB each way, more than the caches hold. */
static const char movement[] = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                               "g (float[8388608] x) => (float[8388608] y) { y = Relu (x) }";

/* The shortest time of the only node, and what the cost model says of it. */
static gboolean
shortest (const char *text, const IrRunOptions *options, IrTraceItem *best, GError **error)
{
  g_autoptr (IrModel) model = ir_text_read (text, (gssize) strlen (text), NULL, error);
  g_autoptr (IrExecutable) executable = NULL;
  g_autoptr (GHashTable) inputs = NULL;

  if (model == NULL)
    return FALSE;
  inputs = ir_random_inputs (model, 1, NULL, error);
  executable = inputs != NULL ? ir_executable_new (model, options, error) : NULL;
  for (guint round = 0; executable != NULL && round < ROUNDS; round++)
    {
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, error);
      if (run == NULL)
        return FALSE;
      IrTraceItem *item = &g_array_index (run->trace->items, IrTraceItem, 0);
      if (round <= 1 || item->end_ns - item->start_ns < best->end_ns - best->start_ns)
        *best = *item;
    }
  return executable != NULL;
}

static double
per_ns (guint64 n, const IrTraceItem *item)
{
  return (double) n / (double) MAX (item->end_ns - item->start_ns, 1);
}

/**
 * ir_roofline_measure:
 * @backend: (nullable): whose kernels; %NULL: cpu
 * @n_threads: of the runs that it is for; 0: number of cores
 * @roofline: (out): the peaks
 * @error: return location for an error
 *
 * Nothing is kept between processes: what else the machine does counts, and takes part in both.
 *
 * Returns: %TRUE if the peaks were measured
 */
gboolean
ir_roofline_measure (const IrBackend *backend,
                     guint n_threads,
                     IrRoofline *roofline,
                     GError **error)
{
  IrRunOptions options = { .backend = backend, .n_threads = n_threads };
  IrTraceItem item = { 0 };

  if (!shortest (product, &options, &item, error))
    return FALSE;
  roofline->gflops = per_ns (item.flops, &item);
  if (!shortest (movement, &options, &item, error))
    return FALSE;
  roofline->gbps = per_ns (item.bytes, &item);
  roofline->n_threads = n_threads != 0 ? n_threads : g_get_num_processors ();
  return TRUE;
}

/**
 * ir_roofline_share:
 * @roofline: the peaks
 * @item: what a node did, and how long it took
 *
 * Returns: how much of what is attainable it got; 0 if that is not known
 */
double
ir_roofline_share (const IrRoofline *roofline, const IrTraceItem *item)
{
  double ns = (double) (item->end_ns - item->start_ns);

  if (!(ns > 0) || !(roofline->gflops > 0) || !(roofline->gbps > 0))
    return 0;
  return MAX ((double) item->flops / roofline->gflops, (double) item->bytes / roofline->gbps) / ns;
}

/**
 * ir_roofline_bound_by_compute:
 * @roofline: the peaks
 * @item: what a node did
 *
 * Returns: %TRUE if its operations take at least as long as moving its bytes, both at their peaks
 */
gboolean
ir_roofline_bound_by_compute (const IrRoofline *roofline, const IrTraceItem *item)
{
  return (double) item->flops * roofline->gbps >= (double) item->bytes * roofline->gflops;
}
