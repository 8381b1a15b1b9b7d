/* A generated network with seeded random weights, against the outputs that numpy computed in
 * float64. Arguments: the folder that generate.py wrote, and the device. The rule is
 * |a - b| <= 1e-3 |b| + 1e-6 max |b|; an output that hardly varies would prove nothing. */
#include "config.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "core/exec/exec.h"
#include "core/io/io.h"

static const char *folder, *device;

static cJSON *
read_manifest (void)
{
  g_autofree char *path = g_build_filename (folder, "manifest.json", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  cJSON *json = cJSON_Parse (text);
  g_assert_nonnull (json);
  return json;
}

static IrTensor *
load (const cJSON *entry)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (folder,
                                            cJSON_GetObjectItem (entry, "file")->valuestring, NULL);
  IrTensor *tensor = ir_tensor_load (path, &error);

  g_assert_no_error (error);
  return tensor;
}

/* The build gives an empty folder where it cannot make the network. */
static gboolean
skipped (void)
{
  if (*folder == '\0')
    g_test_skip ("numpy, which makes the network, is not installed");
  return *folder == '\0';
}

static IrModel *
load_model (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (folder, "model.onnx", NULL);
  IrModel *model = ir_model_load (path, NULL, NULL, &error);

  g_assert_no_error (error);
  return model;
}

static void
compare (const IrTensor *found, const IrTensor *expected, const char *name)
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
          g_test_fail ();
          return;
        }
      worst = MAX (worst, fabs (a - b) / most);
    }
  g_test_message ("%s: largest difference %.2g of the largest element", name, worst);
}

static void
test_expected (void)
{
  if (skipped ())
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_autoptr (IrModel) model = load_model ();
  IrRunOptions options = { .backend = ir_backend_find (device) };
  cJSON *manifest = read_manifest ();
  const cJSON *entry;

  g_assert_nonnull (options.backend);
  cJSON_ArrayForEach (entry, cJSON_GetObjectItem (manifest, "inputs"))
  {
    const IrValue *input = ir_graph_find_value (model->main,
                                                cJSON_GetObjectItem (entry, "name")->valuestring);
    g_assert_nonnull (input);
    g_hash_table_insert (inputs, GUINT_TO_POINTER (input->id), load (entry));
  }
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_test_message ("%.2f s", (double) run->trace->duration_ns / 1e9);
  cJSON_ArrayForEach (entry, cJSON_GetObjectItem (manifest, "outputs"))
  {
    const char *name = cJSON_GetObjectItem (entry, "name")->valuestring;
    const IrValue *output = ir_graph_find_value (model->main, name);
    g_autoptr (IrTensor) expected = load (entry);
    g_assert_nonnull (output);
    compare (ir_run_value (run, output->id), expected, name);
  }
  cJSON_Delete (manifest);
}

/* With no option at all: symbols get sizes, indices lie in their tables. */
static void
test_random (void)
{
  if (skipped ())
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = load_model ();
  IrRunOptions options = { .backend = ir_backend_find (device) };
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 3);
  folder = argv[1];
  device = argv[2];
  g_autofree char *name = g_path_get_basename (folder);
  g_autofree char *expected = g_strdup_printf ("/generated/%s on %s gives what numpy computes",
                                               name, device);
  g_autofree char *random = g_strdup_printf ("/generated/%s on %s runs on random inputs", name,
                                             device);
  g_test_add_func (expected, test_expected);
  g_test_add_func (random, test_random);
  return g_test_run ();
}
