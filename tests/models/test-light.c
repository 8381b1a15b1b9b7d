/* A light network (real topology, every weight 0.02) run end to end: arguments are the network and
 * the device, or "check": then every node is judged. Input 0 is arange (n) / n; the expected output
 * is the ONNX project's. */
#include "config.h"

#include <math.h>

#include "core/exec/check/check.h"
#include "core/io/io.h"

static const char *network, *device;

static char *
data_path (const char *suffix)
{
  g_autofree char *name = g_strdup_printf ("light_%s%s", network, suffix);

  return g_test_build_filename (G_TEST_DIST, "..", "..", "..", "shared", "data", "light", name,
                                NULL);
}

static IrTensor *
make_input (const IrValue *input)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (input->type != NULL && ir_type_is_static (input->type));
  IrTensor *tensor = ir_tensor_new_alloc (input->type->dtype, (guint) input->type->rank,
                                          input->type->dims, &error);
  g_assert_no_error (error);
  guint64 n = ir_tensor_n_elements (tensor);
  for (guint64 i = 0; i < n; i++)
    ir_dtype_set_double (input->type->dtype, ir_tensor_data_writable (tensor), i,
                         (double) ((float) i / (float) n));
  return tensor;
}

static void
compare (const IrTensor *found, const IrTensor *expected, double rtol)
{
  g_assert_nonnull (found);
  g_assert_cmpuint (ir_tensor_n_elements (found), ==, ir_tensor_n_elements (expected));
  for (guint64 i = 0; i < ir_tensor_n_elements (expected); i++)
    {
      double a = ir_tensor_get_double (found, i), b = ir_tensor_get_double (expected, i);
      if (!(fabs (a - b) <= rtol * fabs (b) + 1e-7))
        {
          g_test_message ("element %" G_GUINT64_FORMAT " is %.9g, expected is %.9g", i, a, b);
          g_test_fail ();
          return;
        }
    }
}

static void
check_execution (IrModel *model, GHashTable *inputs)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrExecutionCheck) check = ir_execution_check (model, inputs, NULL, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_no_error (check->error);
  g_autofree char *summary = ir_execution_check_summary (check);
  g_test_message ("%s", summary);
  for (guint i = 0; i < check->nodes->len; i++)
    {
      const IrNodeCheck *item = &g_array_index (check->nodes, IrNodeCheck, i);
      g_autofree char *text = item->verdict != IR_CHECKED_RIGHT
                                  ? ir_node_check_to_string (check, item)
                                  : NULL;
      g_assert_cmpstr (text, ==, NULL);
    }
}

static void
test_network (void)
{
  g_autofree char *model_path = data_path (".onnx"), *output_path = data_path ("_output_0.pb");
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  gboolean checks = g_str_equal (device, "check");
  IrRunOptions options = { .backend = ir_backend_find (checks ? "cpu" : device) };

  if (!g_file_test (model_path, G_FILE_TEST_EXISTS))
    {
      g_test_skip ("the folder ../shared/data/light is not there");
      return;
    }
  if (options.backend == NULL)
    {
      g_test_skip ("the device is not built");
      return;
    }
  g_autoptr (IrModel) model = ir_model_load (model_path, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (IrTensor) expected = ir_tensor_load (output_path, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      const IrValue *input = ir_graph_input (model->main, i);
      if (input->initializer == NULL)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (input->id), make_input (input));
    }
  if (checks)
    {
      check_execution (model, inputs);
      return;
    }
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_test_message ("%.1f s, peak %.1f MB, plan %.1f MB", (double) run->trace->duration_ns / 1e9,
                  (double) run->trace->peak_bytes / 1e6, (double) run->memplan->peak_bytes / 1e6);
  compare (ir_run_value (run, ir_graph_output (model->main, 0)->id), expected,
           g_str_equal (network, "densenet121") ? 2e-3 : 1e-3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 3);
  network = argv[1];
  device = argv[2];
  g_autofree char *path = g_strdup_printf ("/light/%s on %s gives the expected output", network,
                                           device);
  g_test_add_func (path, test_network);
  return g_test_run ();
}
