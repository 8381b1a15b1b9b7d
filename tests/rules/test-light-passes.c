/* The pipeline basic on the nine light networks: how many nodes are left, and that no step of it
 * is broken. The weights there are fills, which constant folding has to make real first. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <string.h>

/* At most this many nodes may be left, as nodes are counted in reports. */
static const struct
{
  const char *name;
  guint before, at_most;
} networks[] = {
  { "bvlc_alexnet", 24, 15 },  { "densenet121", 910, 308 }, { "inception_v1", 144, 85 },
  { "inception_v2", 509, 95 }, { "resnet50", 176, 58 },     { "shufflenet", 203, 111 },
  { "squeezenet", 66, 39 },    { "vgg19", 46, 26 },         { "zfnet512", 22, 15 },
};

static IrModel *
load (const char *name)
{
  g_autofree char *file = g_strdup_printf ("light_%s.onnx", name);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "..", "..", "shared", "data",
                                                 "light", file, NULL);
  g_autoptr (GError) error = NULL;
  IrModel *model;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    {
      g_test_skip ("../shared/data/light is not there");
      return NULL;
    }
  model = ir_model_load (path, NULL, NULL, &error);
  g_assert_no_error (error);
  return model;
}

static void
optimize (IrModel *model, gsize fold_limit)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("basic", &error);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                .fold_limit_bytes = fold_limit,
                                .verify = TRUE };
  IrPipelineResult result;

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (result.reached_limit);
  g_test_message ("%u steps in %.0f ms", result.n_steps, result.ms);
}

static void
test_count (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) model = load (networks[i].name);

  if (model == NULL)
    return;
  g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, networks[i].before);
  optimize (model, 0);
  g_test_message ("%u -> %u nodes", networks[i].before, ir_model_n_counted_nodes (model));
  g_assert_cmpuint (ir_model_n_counted_nodes (model), <=, networks[i].at_most);
  ir_history_goto (model, 0);
  g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, networks[i].before);
}

static void
test_proof (gconstpointer data)
{
  g_autoptr (IrModel) model = load (data);
  g_autoptr (GError) error = NULL;
  IrProofSummary summary;

  if (model == NULL)
    return;
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
  g_assert_no_error (error);
  optimize (model, 0);
  g_autoptr (IrProver)
      prover = ir_prover_new (model, inputs, ir_backend_find ("cpu"), NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_all (prover, &summary, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_test_message ("%u exact, %u rounding, %u broken, %u skipped", summary.n[IR_VERDICT_EXACT],
                  summary.n[IR_VERDICT_ROUNDING], summary.n[IR_VERDICT_BROKEN],
                  summary.n[IR_VERDICT_SKIPPED]);
  g_assert_cmpuint (summary.n[IR_VERDICT_BROKEN] + summary.n[IR_VERDICT_SKIPPED], ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (networks); i++)
    {
      g_autofree char *path = g_strdup_printf ("/light passes/%s comes down to %u nodes and back",
                                               networks[i].name, networks[i].at_most);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_count);
    }
  g_test_add_data_func ("/light passes/no step on squeezenet is broken", "squeezenet", test_proof);
  g_test_add_data_func ("/light passes/no step on shufflenet is broken", "shufflenet", test_proof);
  return g_test_run ();
}
