/* Golden tests: tests/golden/<pass or pipeline>/<case>.onnxtxt is optimized; the result must be the
 * text of <case>.expect.onnxtxt and the steps those of <case>.steps. Each case is also undone and
 * redone, run on a clone, with the nodes in another order, after a round trip through the ONNX
 * format, and executed: outputs before = after. --bless writes the expected files anew. */
#include "config.h"

#include "core/ir/dump.h"
#include "tests/rules/pass-test.h"

#include <string.h>

typedef struct
{
  char *dir, *pass, *name; /* "…/tests/golden", "fold-conv-bn", "basic" */
} Case;

static gboolean bless;

static char *
sibling (const Case *c, const char *suffix)
{
  g_autofree char *file = g_strconcat (c->name, suffix, NULL);

  return g_build_filename (c->dir, c->pass, file, NULL);
}

static IrModel *
load (const Case *c)
{
  g_autofree char *path = sibling (c, ".onnxtxt");
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_model_load (path, problems, NULL, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) problems->pdata[i])->message);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
  return model;
}

static guint
optimize (const Case *c, IrModel *model)
{
  g_autoptr (GError) error = NULL;
  const IrPass *pass = ir_pass_find (c->pass);
  g_autoptr (IrPipeline) pipeline = pass != NULL ? test_pipeline (pass)
                                                 : ir_pipeline_load (c->pass, &error);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .verify = TRUE };
  IrPipelineResult result;

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (result.reached_limit);
  return ir_history_n_steps (model);
}

static void
compare_file (const Case *c, const char *suffix, const char *text)
{
  g_autofree char *path = sibling (c, suffix), *expected = NULL;
  g_autoptr (GError) error = NULL;

  if (bless)
    g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
  g_file_get_contents (path, &expected, NULL, &error);
  g_assert_no_error (error);
  if (strcmp (expected, text) != 0)
    g_test_message ("%s\n-- expected --\n%s-- found --\n%s", path, expected, text);
  g_assert_true (strcmp (expected, text) == 0);
}

/* @reasons: names in them differ where a model shares its strings with another */
static char *
steps_text (IrModel *model, gboolean reasons)
{
  GString *text = g_string_new (NULL);

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);
      const IrNode *anchor = ir_model_node (model, step->anchor);
      g_autofree char *label = anchor != NULL ? ir_node_label (anchor) : g_strdup ("the graph");

      g_string_append_printf (text, "%s %s at %s: %s\n", ir_history_pass_of (model, i), step->rule,
                              label, reasons && step->reason != NULL ? step->reason : "");
    }
  return g_string_free (text, FALSE);
}

static void
test_expected (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (IrModel) model = load (c);
  g_autofree char *text = NULL, *steps = NULL;

  optimize (c, model);
  text = ir_text_write (model);
  steps = steps_text (model, TRUE);
  compare_file (c, ".expect.onnxtxt", text);
  compare_file (c, ".steps", steps);
}

static void
test_undo (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (IrModel) model = load (c);
  g_autofree char *start = ir_text_write (model), *end = NULL, *again = NULL, *end_dump = NULL;
  g_autofree char *redone = NULL, *first_dump = NULL, *undone_dump = NULL;
  guint n = optimize (c, model);

  end = ir_text_write (model);
  end_dump = ir_model_dump (model);
  ir_history_goto (model, 0);
  first_dump = ir_model_dump (model);
  again = ir_text_write (model);
  g_assert_cmpstr (start, ==, again);
  test_verify (model);
  for (guint i = 0; i < n; i++)
    {
      g_assert_true (ir_history_redo (model));
      test_verify (model);
    }
  redone = ir_model_dump (model);
  g_assert_cmpstr (end_dump, ==, redone);
  for (guint i = 0; i < n; i++)
    g_assert_true (ir_history_undo (model));
  undone_dump = ir_model_dump (model);
  g_assert_cmpstr (first_dump, ==, undone_dump);
}

static void
test_clone (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (IrModel) model = load (c);
  g_autoptr (IrModel) clone = ir_model_clone (model);
  g_autofree char *a = NULL, *b = NULL;

  optimize (c, model);
  optimize (c, clone);
  a = steps_text (model, FALSE);
  b = steps_text (clone, FALSE);
  g_assert_cmpstr (a, ==, b);
}

/* The order of a file's nodes must not matter for what is found. */
static void
test_shuffled (gconstpointer data)
{
  const Case *c = data;

  for (guint seed = 1; seed <= 3; seed++)
    {
      g_autoptr (IrModel) model = load (c), shuffled = load (c);
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      IrEdit *edit = ir_edit_new_import (shuffled);

      for (guint i = 1; i < shuffled->nodes->len; i++)
        ir_edit_set_rank (edit, shuffled->nodes->pdata[i], g_rand_int_range (rand, 1, 1000));
      ir_edit_free (edit);
      optimize (c, model);
      optimize (c, shuffled);
      g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, ir_model_n_counted_nodes (shuffled));
    }
}

/* A file carries the functions of operators of irscope, which get their types by a step. */
static const char *
behind_inference (const char *steps)
{
  return g_str_has_prefix (steps, "infer-shapes ") ? strchr (steps, '\n') + 1 : steps;
}

static void
test_round_trip (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (IrModel) model = load (c);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = ir_onnx_write_bytes (model, &error);

  g_assert_no_error (error);
  g_autoptr (IrModel) copy = ir_onnx_read_bytes (bytes, NULL, problems, &error);
  g_assert_no_error (error);
  IrEdit *edit = ir_edit_new_import (copy);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  ir_edit_free (edit);
  optimize (c, model);
  optimize (c, copy);
  g_autofree char *a = steps_text (model, TRUE), *b = steps_text (copy, TRUE);
  g_assert_cmpstr (behind_inference (a), ==, behind_inference (b));
}

static void
test_execution (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (IrModel) model = load (c);
  g_autoptr (IrModel) original = ir_model_clone (model);
  g_autoptr (GError) error = NULL;
  const IrPass *pass = ir_pass_find (c->pass);

  optimize (c, model);
  for (guint seed = 1; seed <= 3; seed++)
    {
      g_autoptr (GHashTable) inputs = ir_random_inputs (original, seed, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) before = test_run (original, inputs, "ref");
      g_autoptr (IrRun) after = test_run (model, inputs, "ref");
      g_autofree char *difference = test_compare (
          original, before, model, after,
          pass != NULL && pass->step_class == IR_CLASS_EXACT ? 0 : 2e-5);
      if (difference != NULL)
        g_test_message ("%s", difference);
      g_assert_null (difference);
    }
}

static void
case_free (gpointer data)
{
  Case *c = data;

  g_free (c->dir);
  g_free (c->pass);
  g_free (c->name);
  g_free (c);
}

static void
add_case (const char *dir, const char *pass, const char *file)
{
  static const struct
  {
    const char *what;
    GTestDataFunc run;
  } tests[] = { { "gives the expected graph and steps", test_expected },
                { "can be undone and redone", test_undo },
                { "is the same on a clone", test_clone },
                { "does not depend on the order of nodes", test_shuffled },
                { "is the same after a round trip", test_round_trip },
                { "keeps the outputs", test_execution } };
  g_autofree char *name = g_strndup (file, strlen (file) - strlen (".onnxtxt"));

  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    {
      g_autofree char *path = g_strdup_printf ("/golden/%s/%s %s", pass, name, tests[i].what);
      Case *c = g_new (Case, 1);

      *c = (Case){ g_strdup (dir), g_strdup (pass), g_strdup (name) };
      g_test_add_data_func_full (path, c, tests[i].run, case_free);
    }
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static GPtrArray *
list (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, compare_names);
  return names;
}

int
main (int argc, char **argv)
{
  g_autofree char *root = NULL;
  guint n_cases = 0;

  bless = argc > 1 && strcmp (argv[argc - 1], "--bless") == 0;
  argc -= bless;
  g_test_init (&argc, &argv, NULL);
  root = g_strdup (g_test_get_dir (G_TEST_DIST));
  g_autoptr (GPtrArray) dirs = list (root);
  for (guint i = 0; i < dirs->len; i++)
    {
      g_autofree char *path = g_build_filename (root, dirs->pdata[i], NULL);
      g_autoptr (GPtrArray) files = list (path);

      for (guint k = 0; k < files->len; k++)
        if (g_str_has_suffix (files->pdata[k], ".onnxtxt") &&
            !g_str_has_suffix (files->pdata[k], ".expect.onnxtxt"))
          {
            add_case (root, dirs->pdata[i], files->pdata[k]);
            n_cases++;
          }
    }
  if (n_cases == 0)
    g_error ("no cases in %s", root);
  return g_test_run ();
}
