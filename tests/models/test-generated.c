/* A generated network with seeded random weights, against the outputs that numpy computed in
 * float64. Arguments: the folder with the network, then how to run it: "ref" and "cpu" are devices,
 * "optimized" is cpu after the pipeline basic, "random" runs on random inputs with no option at
 * all, "deterministic" compares every value bit by bit between runs at 1, 2 and 4 threads, of the
 * graph in the file and of the optimized one, and "wrong" expects that the outputs differ, because
 * a weight was transposed.
 *
 * The rule is |a - b| <= 1e-3 |b| + 1e-6 max |b|; an output that hardly varies would prove nothing.
 */
#include "config.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "core/exec/exec.h"
#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"

typedef struct
{
  const char *folder, *mode;
} Case;

static cJSON *
read_manifest (const Case *c)
{
  g_autofree char *path = g_build_filename (c->folder, "manifest.json", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  cJSON *json = cJSON_Parse (text);
  g_assert_nonnull (json);
  return json;
}

static IrTensor *
load (const Case *c, const cJSON *entry)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (c->folder,
                                            cJSON_GetObjectItem (entry, "file")->valuestring, NULL);
  IrTensor *tensor = ir_tensor_load (path, &error);

  g_assert_no_error (error);
  return tensor;
}

static void
optimize (IrModel *model)
{
  g_autoptr (GError) error = NULL;
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING };
  IrPipelineResult result;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("basic", &error);

  g_assert_no_error (error);
  guint before = ir_model_n_counted_nodes (model);
  ir_pipeline_run (model, pipeline, &options, &result, NULL, &error);
  g_assert_no_error (error);
  g_test_message ("%u nodes before, %u after %u steps", before, ir_model_n_counted_nodes (model),
                  result.n_steps);
}

static IrModel *
load_model (const Case *c)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (c->folder, "model.onnx", NULL);
  IrModel *model = ir_model_load (path, NULL, NULL, &error);

  g_assert_no_error (error);
  if (strcmp (c->mode, "optimized") == 0)
    optimize (model);
  return model;
}

static IrRunOptions
run_options (const Case *c)
{
  IrRunOptions options = { .backend = ir_backend_find (c->mode) };

  if (options.backend == NULL)
    options.backend = ir_backend_find ("cpu");
  g_assert_nonnull (options.backend);
  return options;
}

static gboolean
agrees (const IrTensor *found, const IrTensor *expected, const char *name)
{
  IrTensorStats stats;

  ir_tensor_stats (expected, 0, &stats);
  g_assert_nonnull (found);
  g_assert_cmpuint (ir_tensor_n_elements (found), ==, stats.n);
  double most = MAX (fabs (stats.min), fabs (stats.max)), worst = 0;
  g_assert_cmpfloat (stats.std, >, 1e-3 * most);
  for (guint64 i = 0; i < stats.n; i++)
    {
      double a = ir_tensor_get_double (found, i), b = ir_tensor_get_double (expected, i);
      if (!(fabs (a - b) <= 1e-3 * fabs (b) + 1e-6 * most))
        {
          g_test_message ("%s: element %" G_GUINT64_FORMAT " is %.9g, expected is %.9g", name, i, a,
                          b);
          return FALSE;
        }
      worst = MAX (worst, fabs (a - b) / most);
    }
  g_test_message ("%s: largest difference %.2g of the largest element", name, worst);
  return TRUE;
}

static GHashTable *
load_inputs (const Case *c, const IrModel *model, const cJSON *manifest)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  const cJSON *entry;

  cJSON_ArrayForEach (entry, cJSON_GetObjectItem (manifest, "inputs"))
  {
    const char *name = cJSON_GetObjectItem (entry, "name")->valuestring;
    const IrValue *input = ir_graph_find_value (model->main, name);
    g_assert_nonnull (input);
    g_hash_table_insert (inputs, GUINT_TO_POINTER (input->id), load (c, entry));
  }
  return inputs;
}

static void
test_expected (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = load_model (c);
  IrRunOptions options = run_options (c);
  cJSON *manifest = read_manifest (c);
  g_autoptr (GHashTable) inputs = load_inputs (c, model, manifest);
  gboolean same = TRUE;
  const cJSON *entry;

  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_test_message ("%.2f s", (double) run->trace->duration_ns / 1e9);
  cJSON_ArrayForEach (entry, cJSON_GetObjectItem (manifest, "outputs"))
  {
    const char *name = cJSON_GetObjectItem (entry, "name")->valuestring;
    const IrValue *output = ir_graph_find_value (model->main, name);
    g_autoptr (IrTensor) expected = load (c, entry);
    g_assert_nonnull (output);
    same = agrees (ir_run_value (run, output->id), expected, name) && same;
  }
  if (same != (strcmp (c->mode, "wrong") != 0))
    g_test_fail ();
  cJSON_Delete (manifest);
}

static void
test_random (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = load_model (c);
  IrRunOptions options = run_options (c);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      IrTensorStats stats;
      const IrTensor *output = ir_run_value (run, ir_graph_output (model->main, i)->id);
      g_assert_nonnull (output);
      ir_tensor_stats (output, 0, &stats);
      g_assert_cmpuint (stats.n, >, 0);
      g_assert_cmpuint (stats.n_nan + stats.n_pos_inf + stats.n_neg_inf, ==, 0);
      g_assert_cmpfloat (stats.std, >, 0);
    }
}

static void
assert_same_bits (const IrRun *a, const IrRun *b)
{
  g_assert_cmpuint (a->n_values, ==, b->n_values);
  for (IrValueId id = 1; id < a->n_values; id++)
    {
      const IrTensor *x = ir_run_value (a, id), *y = ir_run_value (b, id);
      g_assert_true ((x == NULL) == (y == NULL));
      if (x == NULL || ir_tensor_dtype (x) == IR_DTYPE_STRING || ir_tensor_is_container (x))
        continue;
      g_assert_cmpuint (ir_tensor_n_bytes (x), ==, ir_tensor_n_bytes (y));
      if (memcmp (ir_tensor_data (x), ir_tensor_data (y), ir_tensor_n_bytes (x)) != 0)
        {
          g_test_message ("%s differs", ir_model_value (a->model, id)->name);
          g_test_fail ();
        }
    }
}

/* The first round runs as fast as it can and must only agree with itself; the others must agree at
 * any number of threads. */
static void
compare_bits (IrModel *model, GHashTable *inputs)
{
  static const guint n_threads[] = { 2, 2, 1, 2, 4 };
  g_autoptr (IrRun) first = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (n_threads); i++)
    {
      g_autoptr (GError) error = NULL;
      IrRunOptions options = { .n_threads = n_threads[i],
                               .capture = IR_CAPTURE_ALL,
                               .deterministic = i >= 2 };
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (ir_run_n_kept (run), >, 10);
      if (i == 2)
        g_clear_pointer (&first, ir_run_unref);
      if (first == NULL)
        first = g_steal_pointer (&run);
      else
        assert_same_bits (first, run);
    }
}

static void
test_deterministic (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (IrModel) model = load_model (c);
  cJSON *manifest = read_manifest (c);
  g_autoptr (GHashTable) inputs = load_inputs (c, model, manifest);

  compare_bits (model, inputs);
  optimize (model);
  compare_bits (model, inputs);
  cJSON_Delete (manifest);
}

static char *
path_of (const char *mode)
{
  if (strcmp (mode, "random") == 0)
    return g_strdup ("/generated/runs on random inputs without options");
  if (strcmp (mode, "wrong") == 0)
    return g_strdup ("/generated/a transposed weight is found out");
  if (strcmp (mode, "deterministic") == 0)
    return g_strdup ("/generated/gives the same bits at 1, 2 and 4 threads");
  return g_strdup_printf ("/generated/gives what numpy computes when run as %s", mode);
}

static GTestDataFunc
test_of (const char *mode)
{
  if (strcmp (mode, "deterministic") == 0)
    return test_deterministic;
  return strcmp (mode, "random") == 0 ? test_random : test_expected;
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, >=, 3);
  g_autofree Case *cases = g_new0 (Case, argc);
  for (int i = 2; i < argc; i++)
    {
      g_autofree char *path = path_of (argv[i]);
      cases[i] = (Case){ .folder = argv[1], .mode = argv[i] };
      g_test_add_data_func (path, &cases[i], test_of (argv[i]));
    }
  return g_test_run ();
}
