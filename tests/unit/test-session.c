/* A session of real passes on a bundled example, saved and replayed on the file read anew. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/dump.h"
#include "core/ir/history.h"
#include "passes/pipeline/pipeline.h"

static IrModel *
load (const char *name)
{
  g_autofree char *path = g_build_filename (g_getenv ("IR_TEST_EXAMPLES"), name, NULL);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_model_load (path, problems, NULL, &error);

  g_assert_no_error (error);
  return model;
}

static void
optimize (IrModel *model)
{
  static const char *const names[] = { "eliminate-identity",
                                       "fold-constants",
                                       "fold-conv-bn",
                                       "fuse-bias",
                                       "fuse-activation",
                                       "eliminate-dead-code",
                                       NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, &error);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING };
  IrPipelineResult result = { 0 };

  g_assert_no_error (error);
  ir_pipeline_run (model, pipeline, &options, &result, NULL, &error);
  g_assert_no_error (error);
}

static void
test_replay (gconstpointer name)
{
  g_autoptr (IrModel) model = load (name);
  g_autoptr (IrModel) fresh = load (name);
  g_autoptr (GBytes) saved = NULL;
  g_autoptr (GError) error = NULL;

  optimize (model);
  g_assert_cmpuint (ir_history_n_steps (model), >, 0);
  saved = ir_history_save (model, &error);
  g_assert_no_error (error);
  ir_history_load (fresh, saved, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ir_history_n_steps (fresh), ==, ir_history_n_steps (model));
  for (guint i = 0; i <= ir_history_n_steps (model); i++)
    {
      g_autofree char *wanted = NULL, *found = NULL;
      ir_history_goto (model, i);
      ir_history_goto (fresh, i);
      wanted = ir_model_dump (model);
      found = ir_model_dump (fresh);
      g_assert_cmpstr (found, ==, wanted);
    }
}

static void
test_other_model (void)
{
  g_autoptr (IrModel) model = load ("digits.onnx");
  g_autoptr (IrModel) other = load ("transformer-block.onnx");
  g_autofree char *before = ir_model_dump (other), *after = NULL;
  g_autoptr (GBytes) saved = NULL;
  g_autoptr (GError) error = NULL;

  optimize (model);
  saved = ir_history_save (model, NULL);
  g_assert_false (ir_history_load (other, saved, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA);
  after = ir_model_dump (other);
  g_assert_cmpstr (after, ==, before);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/session/digits replays on the file read anew", "digits.onnx",
                        test_replay);
  g_test_add_func ("/session/another model refuses it and stays as it is", test_other_model);
  return g_test_run ();
}
