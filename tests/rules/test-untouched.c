/* What must not change anything does not, after every pass over the small models that are named:
 * undo and redo, a clone, ONNX text and ONNX written and read, and another order of the nodes. The
 * digits network and the other examples come with irscope; the light networks lie beside the
 * repository, and each test says so where they are missing. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include "core/ir/dump.h"

#include <string.h>

/* Fills of the light networks stay fills, so that their text stays short. */
#define FOLD_LIMIT 4096

static const char *const examples[] = { "digits.onnx", "if-branch.onnx", "transformer-block.onnx",
                                        "worked-example.onnx" };
static const char *const networks[] = { "bvlc_alexnet", "densenet121", "inception_v1",
                                        "inception_v2", "resnet50",    "shufflenet",
                                        "squeezenet",   "vgg19",       "zfnet512" };

static IrModel *
load (const char *path)
{
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

static guint
optimize (IrModel *model, const IrPass *pass)
{
  g_autoptr (IrPipeline) pipeline = test_pipeline (pass);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                .fold_limit_bytes = FOLD_LIMIT,
                                .verify = TRUE };
  g_autoptr (GError) error = NULL;
  IrPipelineResult result;

  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_no_error (error);
  return result.n_steps;
}

/* -- what must change nothing -- */

static IrModel *
read_again (IrModel *model, gboolean as_text)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = as_text ? ir_text_write (model) : NULL;
  g_autoptr (GBytes) bytes = as_text ? NULL : ir_onnx_write_bytes (model, &error);
  IrModel *copy = as_text ? ir_text_read (text, -1, NULL, &error)
                          : ir_onnx_read_bytes (bytes, NULL, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (IrEdit) edit = ir_edit_new_import (copy);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return copy;
}

static void
check_round_trips (IrModel *model)
{
  for (guint as_text = 0; as_text < 2; as_text++)
    {
      g_autoptr (IrModel) once = read_again (model, as_text), twice = read_again (once, as_text);
      g_autofree char *a = ir_text_write (once), *b = ir_text_write (twice);

      g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, ir_model_n_counted_nodes (once));
      g_assert_true (strcmp (a, b) == 0);
    }
}

/* From the first step of the pass on, all of them, one by one. */
static void
check_history (IrModel *model, guint first)
{
  guint last = ir_history_n_steps (model);
  g_autofree char *end = ir_model_dump (model), *redone = NULL, *start = NULL, *again = NULL;

  ir_history_goto (model, first);
  start = ir_model_dump (model);
  while (ir_history_redo (model))
    ;
  redone = ir_model_dump (model);
  g_assert_true (strcmp (end, redone) == 0);
  for (guint i = first; i < last; i++)
    g_assert_true (ir_history_undo (model));
  again = ir_model_dump (model);
  g_assert_true (strcmp (start, again) == 0);
  ir_history_goto (model, last);
}

/* The same steps; names that they make up differ, as a clone shares its strings with the model. */
static void
check_clone (IrModel *model, guint first, IrModel *clone)
{
  g_assert_cmpuint (ir_history_n_steps (model) - first, ==, ir_history_n_steps (clone));
  for (guint i = 1; i <= ir_history_n_steps (clone); i++)
    g_assert_cmpstr (ir_history_step (model, first + i)->rule, ==,
                     ir_history_step (clone, i)->rule);
  g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, ir_model_n_counted_nodes (clone));
}

static void
shuffle (IrModel *model, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->nodes->len; i++)
    if (ir_model_live_node (model, i) != NULL)
      ir_edit_set_rank (edit, model->nodes->pdata[i],
                        (guint64) g_rand_int_range (rand, 1, 1 << 20));
}

/* Each pass of the pipeline in turn: the model, a clone of it, and one in another order. */
static void
check_passes (IrModel *model)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("default", &error);
  g_autofree char *start = ir_text_write (model), *end = NULL;

  g_assert_no_error (error);
  for (guint i = 0; i < pipeline->passes->len; i++)
    {
      const IrPass *pass = pipeline->passes->pdata[i];
      guint first = ir_history_n_steps (model);
      g_autoptr (IrModel) clone = ir_model_clone (model), shuffled = ir_model_clone (model);

      shuffle (shuffled, i);
      if (optimize (model, pass) == 0)
        continue;
      g_test_message ("%s: %u steps", pass->name, ir_history_n_steps (model) - first);
      optimize (clone, pass);
      optimize (shuffled, pass);
      check_clone (model, first, clone);
      g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, ir_model_n_counted_nodes (shuffled));
      check_history (model, first);
      check_round_trips (model);
    }
  ir_history_goto (model, 0);
  end = ir_text_write (model);
  g_assert_true (strcmp (start, end) == 0);
}

static void
test_example (gconstpointer name)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "..", "data", "examples", name,
                                                 NULL);
  g_autoptr (IrModel) model = load (path);

  if (model != NULL)
    check_passes (model);
}

static void
test_network (gconstpointer name)
{
  g_autofree char *file = g_strdup_printf ("light_%s.onnx", (const char *) name);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "..", "..", "shared", "data",
                                                 "light", file, NULL);
  g_autoptr (IrModel) model = load (path);

  if (model != NULL)
    check_passes (model);
}

static void
add (const char *name, GTestDataFunc func)
{
  g_autofree char *path = g_strdup_printf (
      "/untouched/%s is the same after undo, redo, copies and another order", name);

  g_test_add_data_func (path, name, func);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    add (examples[i], test_example);
  for (guint i = 0; i < G_N_ELEMENTS (networks); i++)
    add (networks[i], test_network);
  return g_test_run ();
}
