#include "config.h"

#include "tests/fuzz/graph-ways.h"

#include "tests/fuzz/disturb.h"
#include "tests/fuzz/graph-gen.h"

#define ALL IR_CAPTURE_ALL
#define ON  IR_PARALLEL_ON

static const Way ways[] = {
  { "ref", "reference kernels", "ref", 1, .bits = WAY_BITS_REFERENCE },
  { "ref-after", "reference kernels, behind a pipeline", "ref", 1, .form = WAY_OPTIMIZED },
  { "cpu", "1 thread", "cpu", 1, .bits = 2 },
  { "cpu-captured", "1 thread, all values kept", "cpu", 1, .capture = ALL, .bits = 2 },
  { "cpu-two-shapes", "1 thread, a plan of two shapes", "cpu", 1, .two_shapes = TRUE, .bits = 2 },
  { "cpu-read-back", "1 thread, written and read", "cpu", 1, .form = WAY_READ_BACK, .bits = 2 },
  { "cpu-2", "2 threads", "cpu", 2, .bits = 3 },
  { "cpu-2-captured", "2 threads, all values kept", "cpu", 2, .capture = ALL, .bits = 3 },
  { "parallel", "concurrent nodes", "cpu", 2, ON },
  { "deterministic", "deterministic, 1 thread", "cpu", 1, .deterministic = TRUE, .bits = 4 },
  { "deterministic-2", "deterministic, 2 threads", "cpu", 2, .deterministic = TRUE, .bits = 4 },
  { "cpu-after", "1 thread, behind a pipeline", "cpu", 1, .form = WAY_OPTIMIZED },
  { "parallel-after", "concurrent nodes, behind a pipeline", "cpu", 2, ON, .form = WAY_OPTIMIZED },
};
G_STATIC_ASSERT (G_N_ELEMENTS (ways) <= MAX_WAYS);

const Way *
graph_ways (guint *n)
{
  *n = G_N_ELEMENTS (ways);
  return ways;
}

static GPtrArray *
outputs_of (IrModel *model, const IrRun *run)
{
  GPtrArray *outputs = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      IrTensor *tensor = ir_run_value (run, ir_graph_output (model->main, i)->id);
      g_ptr_array_add (outputs, tensor != NULL ? ir_tensor_ref (tensor) : NULL);
    }
  return outputs;
}

static GPtrArray *
run_plan (IrExecutable *plan, IrModel *model, guint32 seed, gint64 more, char **wrong)
{
  g_autoptr (GHashTable) inputs = graph_inputs (model, seed, more);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = ir_executable_run (plan, inputs, NULL, NULL, &error);

  if (run != NULL)
    return outputs_of (model, run);
  *wrong = g_strdup (error->message);
  return NULL;
}

/* What a plan gives for sizes that it was not made for first is what a new one gives. */
static char *
compare_other_shape (IrExecutable *plan, IrModel *model, guint32 seed, const IrRunOptions *options)
{
  g_autoptr (IrExecutable) fresh = ir_executable_new (model, options, NULL);
  g_autofree char *wrong = NULL, *wrong_fresh = NULL;
  gint64 more = graph_has_symbols (model);
  g_autoptr (GPtrArray) first = run_plan (plan, model, seed, 0, &wrong);
  g_autoptr (GPtrArray) other = first != NULL ? run_plan (plan, model, seed, more, &wrong) : NULL;
  g_autoptr (GPtrArray) wanted = fresh != NULL && first != NULL
                                     ? run_plan (fresh, model, seed, more, &wrong_fresh)
                                     : NULL;

  if (first == NULL || (other == NULL && wanted == NULL)) /* such sizes do not fit the graph */
    return first == NULL ? g_steal_pointer (&wrong) : NULL;
  if (other == NULL || wanted == NULL)
    return g_strdup_printf ("%s plan fails with other sizes: %s", other == NULL ? "used" : "new",
                            other == NULL ? wrong : wrong_fresh);
  for (guint i = 0; i < other->len; i++)
    {
      const IrTensor *a = wanted->pdata[i], *b = other->pdata[i];
      const char *name = ir_graph_output (model->main, i)->name;
      char *found = a == NULL || b == NULL || !same_form (a, b)
                        ? g_strdup_printf ("the type of %s", name)
                        : compare_exactly (name, a, b);
      if (found != NULL)
        return found;
    }
  return NULL;
}

GPtrArray *
graph_way_run (const Way *way, IrModel *model, guint32 seed, char **wrong)
{
  IrRunOptions options = { .backend = ir_backend_find (way->backend),
                           .n_threads = way->n_threads,
                           .parallel = way->parallel,
                           .deterministic = way->deterministic,
                           .capture = way->capture,
                           .memory_limit = 256 << 20,
                           .output_limit = 32 << 20 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrExecutable) plan = ir_executable_new (model, &options, &error);

  if (plan == NULL)
    {
      *wrong = g_strdup (error->message);
      return NULL;
    }
  if (way->two_shapes && (*wrong = compare_other_shape (plan, model, seed, &options)) != NULL)
    return NULL;
  return run_plan (plan, model, seed, 0, wrong);
}
