/* Upgrading opsets. The ONNX backend cases (Debian: libonnx-testdata) whose nodes change form on
 * the way to the newest opset must give the same outputs there; what cannot be upgraded must say
 * so. The golden files of upgrade-opset show the new forms. */
#include "config.h"

#include "core/exec/eval/conformance.h"
#include "passes/rewrites/upgrade.h"
#include "tests/fuzz/idioms.h"
#include "tests/rules/pass-test.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define DATA_DIR "/usr/share/libonnx-testdata/data"
/* Cases that passed, with nodes that changed, when this was last raised. */
#define FLOOR_CHANGED 136

static gboolean
upgrade (IrModel *model, gint64 opset, IrPipelineResult *result, GError **error)
{
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find (IR_PASS_UPGRADE_OPSET));
  IrPipelineOptions options = { .max_class = IR_CLASS_EXACT, .verify = TRUE };
  g_autofree char *setting = g_strdup_printf ("upgrade-opset.opset=%" G_GINT64_FORMAT, opset);

  g_assert_true (ir_pipeline_set (pipeline, setting, NULL));
  return ir_pipeline_run (model, pipeline, &options, result, NULL, error);
}

/* -- the cases of the standard -- */

static void
link_sets (const char *from, const char *to)
{
  for (guint set = 0; set < 100; set++)
    {
      g_autofree char *name = g_strdup_printf ("test_data_set_%u", set);
      g_autofree char *source = g_build_filename (from, name, NULL);
      g_autofree char *link = g_build_filename (to, name, NULL);

      g_unlink (link);
      if (g_file_test (source, G_FILE_TEST_IS_DIR))
        g_assert_cmpint (symlink (source, link), ==, 0);
    }
}

/* TRUE if nodes had to change and the outputs are still those of the data. */
static gboolean
check_case (const char *dir, const char *scratch)
{
  g_autofree char *path = g_build_filename (dir, "model.onnx", NULL);
  g_autofree char *out = g_build_filename (scratch, "model.onnx", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);
  g_autofree char *why = NULL, *why_now = NULL;
  IrPipelineResult result;

  g_assert_no_error (error);
  g_assert_true (upgrade (model, 0, &result, &error));
  g_assert_no_error (error);
  if (result.n_steps <= 1 ||
      ir_case_run (dir, ir_backend_find ("ref"), &why, NULL) != IR_CASE_PASSED)
    return FALSE;
  g_assert_true (ir_model_save (model, out, NULL, NULL, &error));
  link_sets (dir, scratch);
  if (ir_case_run (scratch, ir_backend_find ("ref"), &why_now, NULL) == IR_CASE_PASSED)
    return TRUE;
  g_test_message ("%s: %s", dir, why_now);
  g_test_fail ();
  return FALSE;
}

static void
test_cases (void)
{
  static const char *const sets[] = { "node", "pytorch-converted", "pytorch-operator", "simple" };
  g_autoptr (GError) error = NULL;
  g_autofree char *scratch = NULL, *model = NULL;
  guint n_changed = 0;

  if (!g_file_test (DATA_DIR, G_FILE_TEST_IS_DIR))
    {
      g_test_skip ("the ONNX cases are not installed (Debian: libonnx-testdata)");
      return;
    }
  scratch = g_dir_make_tmp ("irscope-upgrade-XXXXXX", &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (sets); i++)
    {
      g_autofree char *folder = g_build_filename (DATA_DIR, sets[i], NULL);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, &error);
      const char *name;

      g_assert_no_error (error);
      while ((name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *path = g_build_filename (folder, name, NULL);
          n_changed += check_case (path, scratch);
        }
    }
  link_sets ("/nonexistent", scratch);
  model = g_build_filename (scratch, "model.onnx", NULL);
  g_unlink (model);
  g_rmdir (scratch);
  g_test_message ("%u cases whose nodes change", n_changed);
  g_assert_cmpuint (n_changed, >=, FLOOR_CHANGED);
}

/* -- steps and their proofs -- */

#define OLD(OPSET, REST) "<ir_version: 4, opset_import: [\"\" : " OPSET "]>\ng " REST

static IrModel *
upgraded (const char *text, IrPipelineResult *result)
{
  IrModel *model = test_model (text);
  g_autoptr (GError) error = NULL;

  g_assert_true (upgrade (model, 0, result, &error));
  g_assert_no_error (error);
  g_assert_cmpint (ir_model_opset (model, ""), ==, IR_OPSET_NEWEST);
  g_assert_cmpint (model->info->ir_version, ==, 14);
  return model;
}

static void
test_proof (void)
{
  static const char *const texts[] = {
    OLD ("5", "(float[2,3,4] x, float[3] b) => (float[2,3,4] y) {"
              " a = Add <axis: int = 1, broadcast: int = 1> (x, b)"
              " y = Selu <consumed_inputs: ints = [0]> (a) }"),
    OLD ("12", "(float[2,3,4] x) => (float[2,12] y) <int64[2] s = {2, 12}> {"
               " a = Softmax (x)  y = Reshape (a, s) }"),
    OLD ("5", "(float[2,3] x) => (float[2,6] y) <float n = {2}, float at = {1}>"
              "{ y = Tile (x, n, at) }"),
    OLD ("1", "(float[1,2,4,4] x) => (float[1,2,3,3] y) {"
              " y = LpPool <kernel_shape: ints = [2,2], p: float = 3.0> (x) }"),
    OLD ("17", "(float[2,6] x) => (float[2,2] y) { a, y, b = Split <axis: int = 1> (x) }"),
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      IrPipelineResult result;
      g_autoptr (GRand) rand = g_rand_new_with_seed (7);
      g_autoptr (IrModel) model = upgraded (texts[i], &result);
      g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
      g_autoptr (GError) error = NULL;
      IrProofSummary summary;
      g_autoptr (IrProver)
          prover = ir_prover_new (model, inputs, ir_backend_find ("ref"), NULL, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (result.n_steps, >=, 2);
      g_assert_true (ir_prover_prove_all (prover, &summary, NULL, NULL, NULL, &error));
      g_assert_cmpuint (summary.n[IR_VERDICT_EXACT], ==, ir_history_n_steps (model));
    }
}

/* A step of the import that changes results is found: the proof runs every node. */
static void
test_proof_of_import (void)
{
  g_autoptr (IrModel)
      model = test_model (OLD ("12", "(float[2,3,4] x) => (float[2,3,4] y) { y = Softmax (x) }"));
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  g_autoptr (GError) error = NULL;
  IrEdit *edit = ir_edit_new (model);
  IrProof proof;

  ir_edit_begin_pass (edit, "test");
  ir_edit_begin_step (edit, "import", IR_CLASS_EXACT, 0);
  ir_edit_set_opset (edit, "", 13);
  ir_edit_end_step (edit);
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  g_autoptr (IrProver)
      prover = ir_prover_new (model, inputs, ir_backend_find ("ref"), NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_step (prover, 1, &proof, &error));
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_BROKEN);
}

/* -- what an upgrade does beside -- */

static void
test_target (void)
{
  g_autoptr (IrModel) model = test_model (OLD ("9", "(float[2,1,3] x) => (float[2,3] y) {"
                                                    " a = Clip <max: float = 1.0> (x)"
                                                    " y = Squeeze <axes: ints = [1]> (a) }"));
  g_autoptr (GError) error = NULL;
  IrPipelineResult result;

  g_assert_true (upgrade (model, 12, &result, &error));
  g_assert_cmpint (ir_model_opset (model, ""), ==, 12);
  g_assert_cmpint (model->info->ir_version, ==, 7);
  g_assert_cmpuint (ir_graph_find_value (model->main, "a")->producer->n_inputs, ==, 3);
  g_assert_cmpuint (ir_graph_find_value (model->main, "y")->producer->n_inputs, ==, 1);
  ir_history_goto (model, 0);
  g_assert_cmpint (ir_model_opset (model, ""), ==, 9);
  g_assert_cmpint (model->info->ir_version, ==, 4);
}

/* Every initializer of IR version 3 is an input, and constant. */
static void
test_initializers (void)
{
  g_autoptr (IrModel)
      model = test_model ("<ir_version: 3, opset_import: [\"\" : 8]>\n"
                          "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}>"
                          "{ y = Add (x, w) }");
  g_autoptr (GError) error = NULL;
  IrPipelineResult result;

  g_assert_cmpuint (ir_graph_n_inputs (model->main), ==, 2);
  g_assert_true (upgrade (model, 8, &result, &error));
  g_assert_cmpuint (result.n_steps, ==, 0);
  g_assert_true (upgrade (model, 0, &result, &error));
  g_assert_cmpuint (ir_graph_n_inputs (model->main), ==, 1);
  g_assert_nonnull (ir_value_constant (ir_graph_find_value (model->main, "w")));
}

static void
test_functions (void)
{
  IrPipelineResult result;
  g_autoptr (IrModel)
      model = upgraded ("<ir_version: 8, opset_import: [\"\" : 17, \"own\" : 1]>\n"
                        "g (float[2,3] x) => (float[2,1] y) { y = own.widest (x) }\n"
                        "<domain: \"own\", opset_import: [\"\" : 17]>\n"
                        "widest (v) => (m) { m = ReduceMax <axes: ints = [1]> (v) }",
                        &result);
  const IrGraph *function = ir_model_find_function (model, "own", "widest", "");
  const IrNode *node = ir_graph_output (function, 0)->producer;

  g_assert_cmpint (ir_graph_opset (function, ""), ==, IR_OPSET_NEWEST);
  g_assert_cmpuint (node->n_inputs, ==, 2);
  g_assert_cmpstr (node->inputs[1]->producer->op_type, ==, "Constant");
}

/* Before opset 14 a Reshape copies a size for each 0 in its shape, a computed one too. */
static void
test_empty_softmax (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_text_read (
      OLD ("11", "(float[n,3,4] x) => (float[n,3,4] y) { y = Softmax <axis: int = 0> (x) }"), -1,
      problems, &error);
  IrPipelineResult result;

  g_assert_no_error (error);
  g_assert_true (upgrade (model, 13, &result, &error));
  g_assert_no_error (error);
  for (gint64 n = 0; n < 3; n++)
    {
      const gint64 dims[] = { n, 3, 4 };
      g_autoptr (GHashTable)
          inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
      IrTensor *x = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 3, dims, &error);
      IrRunOptions options = { 0 };

      g_assert_no_error (error);
      memset (ir_tensor_data_writable (x), 0, ir_tensor_n_bytes (x));
      g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_input (model->main, 0)->id), x);
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      const IrTensor *y = ir_run_value (run, ir_graph_output (model->main, 0)->id);
      g_assert_cmpint (ir_tensor_rank (y), ==, 3);
      g_assert_cmpint (ir_tensor_dims (y)[0], ==, n);
      for (guint64 i = 0; i < ir_tensor_n_elements (y); i++)
        g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (y, i), 1.0 / (12 * n), 1e-6);
    }
}

/* Each old form is written in the form of every later opset: the text is read without a problem, and gives the same. */
static void
test_every_target (void)
{
  const IrPass *pass = ir_pass_find (IR_PASS_UPGRADE_OPSET);
  g_autoptr (GPtrArray) idioms = idioms_new ();
  guint n_compared = 0;

  for (guint i = 0; i < idioms->len; i++)
    {
      const Idiom *idiom = idioms->pdata[i];
      g_autoptr (GError) error = NULL;
      g_autoptr (GRand) rand = g_rand_new_with_seed (i);
      g_autoptr (IrModel) before = idiom->pass == pass ? idiom_read (idiom->text, &error) : NULL;
      if (before == NULL)
        continue;
      test_model_randomize (before, rand);
      g_autoptr (GHashTable) inputs = test_inputs (before, rand, FALSE);
      IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
      g_autoptr (IrRun) left = ir_model_run (before, inputs, &options, NULL, NULL);
      for (gint64 opset = ir_model_opset (before, "") + 1; opset <= IR_OPSET_NEWEST; opset++)
        {
          g_autoptr (IrModel) model = ir_model_clone (before);
          g_autoptr (GPtrArray) problems = ir_problems_new ();
          g_autoptr (GError) refusal = NULL;
          IrPipelineResult result;
          if (!upgrade (model, opset, &result, &refusal))
            continue;
          g_autofree char *text = ir_text_write (model);
          g_autoptr (IrModel) again = ir_text_read (text, -1, problems, &error);
          g_assert_no_error (error);
          g_autoptr (IrEdit) edit = ir_edit_new_import (again);
          ir_infer_model (edit, IR_INFER_DEFAULT, problems);
          if (ir_problems_count (problems, IR_SEVERITY_ERROR) > 0)
            g_error ("%s\n%s", text, ((const IrProblem *) problems->pdata[0])->message);
          if (left == NULL)
            continue;
          g_autoptr (IrRun) right = ir_model_run (model, inputs, &options, NULL, &error);
          g_assert_no_error (error);
          g_autofree char *difference = test_compare (before, left, model, right, 1e-6);
          if (difference != NULL)
            g_error ("opset %d: %s\n%s", (int) opset, difference, text);
          n_compared++;
        }
    }
  g_test_message ("%u compared", n_compared);
  g_assert_cmpuint (n_compared, >, 300);
}

/* -- refusals -- */

static void
test_refusals (void)
{
  static const struct
  {
    const char *text;
    gint64 opset;
    const char *message;
  } rows[] = {
    { OLD ("17", "(float[2] x) => (float[2] y) { y = Relu (x) }"), 13, "*not downgraded*" },
    { OLD ("17", "(float[2] x) => (float[2] y) { y = Relu (x) }"), 99, "*versions 1 to*" },
    { OLD ("8", "(float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v)"
                " => (float[1,2,3] y)"
                " { [bn] y = BatchNormalization <spatial: int = 0> (x, s, b, m, v) }"),
      0, "bn (BatchNormalization): cannot be upgraded to opset 9: *spatial = 0*" },
    { OLD ("12", "(float[1,1,4,4] x, float[0] r, float[4] s) => (float[a,b,c,d] y)"
                 " { [up] y = Resize <mode: string = \"linear\", coordinate_transformation_mode:"
                 " string = \"tf_half_pixel_for_nn\"> (x, r, s) }"),
      0, "up (Resize): cannot be upgraded to opset 13: *tf_half_pixel_for_nn*" },
    { OLD ("6", "(float x, float[3] b) => (float y)"
                " { [add] y = Crop <scale: ints = [1,1]> (x, b) }"),
      0, "add (Crop): cannot be upgraded: opset * has no Crop, which was removed in 10*" },
    { OLD ("6", "(float x) => (float y) { [cell] y = GRUUnit (x) }"), 0,
      "cell (GRUUnit): cannot be upgraded: irscope knows no operator GRUUnit*" },
    { "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "g (float[2,4,5] x, float[s] scale, float[4] bias) => (float[2,4,5] y) "
      "{ [norm] y = GroupNormalization <num_groups = 2> (x, scale, bias) }",
      0, "norm (GroupNormalization): cannot be upgraded to opset 21: *whether its scale is for*" },
    { "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "g (float[2,k,5] x, float[1] scale, float[1] bias) => (float[2,k,5] y) "
      "{ [norm] y = GroupNormalization <num_groups = 1> (x, scale, bias) }",
      0, "norm (GroupNormalization): cannot be upgraded to opset 21: *number of its channels*" },
    { OLD ("9", "(? x) => (? y, ? z) { [drop] y, m = Dropout (x)  z = Identity (m) }"), 0,
      "drop (Dropout): cannot be upgraded to opset 10: *its mask is used*" },
    { OLD ("11", "(float[n,k,4] x) => (float[n,k,4] y) { [top] y = Softmax <axis: int = 1> (x) }"),
      13, "top (Softmax): cannot be upgraded to opset 13: *upgrade to 14 or later*" },
    { OLD ("11", "(float[2] x) => (float[2] y) { [bare] y = Softmax () }"), 0,
      "bare (Softmax): cannot be upgraded to opset 13: *0 inputs, 1 are needed*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = ir_text_read (rows[i].text, -1, problems, &error);
      gint64 opset;
      IrPipelineResult result;

      g_assert_no_error (error);
      opset = ir_model_opset (model, "");
      g_assert_false (upgrade (model, rows[i].opset, &result, &error));
      g_assert_error (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED);
      g_test_message ("%s", error->message);
      g_assert_true (g_pattern_match_simple (rows[i].message, error->message));
      g_assert_cmpint (ir_model_opset (model, ""), ==, opset);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/upgrade/the cases of the standard give the same in the newest opset",
                   test_cases);
  g_test_add_func ("/upgrade/each step is proven exact", test_proof);
  g_test_add_func ("/upgrade/the proof of an import runs every node", test_proof_of_import);
  g_test_add_func ("/upgrade/nodes change as far as the target needs", test_target);
  g_test_add_func ("/upgrade/every old form is right in every later opset", test_every_target);
  g_test_add_func ("/upgrade/initializers of old files stay constant", test_initializers);
  g_test_add_func ("/upgrade/functions are upgraded with their own imports", test_functions);
  g_test_add_func ("/upgrade/a softmax of nothing stays one", test_empty_softmax);
  g_test_add_func ("/upgrade/what cannot be upgraded is named", test_refusals);
  return g_test_run ();
}
