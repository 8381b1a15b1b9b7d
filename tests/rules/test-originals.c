/* Every value of the original graph, from a run of the optimized one: within rounding of what a run
 * of the original graph gives, and with the way it was had. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "tests/rules/pass-test.h"

#include <math.h>
#include <string.h>

static const struct
{
  const char *title, *text;
} texts[] = {
  { "normalization, gelu and a product with a bias",
    "(float[n,8] x, float[8,8] W, float[8] VB, float[8] S) => (float[n,8] y) {\n"
    "p = MatMul (x, W) b = Add (p, VB) m = ReduceMean <axes = [-1]> (b) d = Sub (b, m)\n"
    "two = Constant <value = float {2.0}> () q = Pow (d, two) v = ReduceMean <axes = [-1]> (q)\n"
    "e = Constant <value = float {0.00001}> () w = Add (v, e) s = Sqrt (w) o = Div (d, s)\n"
    "t = Mul (o, S) u = Add (t, VB)\n"
    "r = Constant <value = float {1.4142135}> () g = Div (u, r) h = Erf (g)\n"
    "one = Constant <value = float {1.0}> () i = Add (h, one) j = Mul (u, i)\n"
    "half = Constant <value = float {0.5}> () y = Mul (j, half) }" },
  { "convolutions, normalizations and activations",
    "(float[1,8,12,12] x, float[16,8,3,3] W, float[16] S, float[16] B, float[16] M, float[16] V,\n"
    "float[16,16,1,1] U) => (float[1,16,10,10] y) {\n"
    "c = Conv (x, W) n = BatchNormalization (c, S, B, M, V) r = Relu (n) d = Conv (r, U)\n"
    "a = Add (d, r) y = Relu (a) }" },
  { "transposes, reshapes and equal nodes",
    "(float[2,3,4] x) => (float[2,12] y) { a = Transpose <perm = [0, 2, 1]> (x) b = Relu (a)\n"
    "c = Transpose <perm = [0, 2, 1]> (b) d = Exp (c) e = Exp (c) f = Add (d, e) g = Identity (f)\n"
    "s = Constant <value = int64[2] {2, 12}> () y = Reshape (g, s) }" },
  { "a branch that is known and a loop",
    "(float[n,4] x) => (float[n,4] y) { t = Constant <value = bool {1}> () twice = Add (x, x)\n"
    "b = If (t) <then_branch = p () => (float[n,4] u) { k = Neg (twice) u = Exp (k) },\n"
    "  else_branch = e () => (float[n,4] v) { v = Abs (x) }>\n"
    "m = Constant <value = int64 {3}> () y = Loop (m, t, b) <body = l (int64 i, bool go, float[n,4] s)\n"
    "  => (bool more, float[n,4] z) { more = Identity (go) q = Sqrt (twice) w = Abs (s)\n"
    "  z = Add (w, x) }> }" },
};

static IrRun *
run_cpu (IrModel *model, GHashTable *inputs, IrCaptureKind capture, guint64 budget)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = 1 };

  options.capture = capture;
  options.capture_budget = budget;
  IrRun *run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  return run;
}

/* Where a value is nearly 0 by cancelling, the absolute difference counts. */
static void
assert_near (const IrValue *value, const IrTensor *tensor, const IrTensor *wanted)
{
  IrTensorStats stats;

  g_assert_cmpuint (ir_tensor_dtype (tensor), ==, ir_tensor_dtype (wanted));
  g_assert_cmpuint (ir_tensor_n_elements (tensor), ==, ir_tensor_n_elements (wanted));
  ir_tensor_stats (wanted, 0, &stats);
  double scale = MAX (fabs (stats.min), fabs (stats.max));
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    {
      double a = ir_tensor_get_double (tensor, i), b = ir_tensor_get_double (wanted, i);
      if (!(fabs (a - b) <= 2e-5 * scale + 1e-6) && !(isnan (a) && isnan (b)) && a != b)
        g_error ("%s: %g instead of %g", value->name, a, b);
    }
}

typedef struct
{
  guint n_same, n_computed, n_values;
} Tally;

static Tally
assert_all_near (IrModel *model, IrRun *before, IrRun *after)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrOriginals)
      originals = ir_originals_new (model, ir_history_cursor (model), after, &error);
  Tally tally = { 0 };

  g_assert_no_error (error);
  const IrModel *original = ir_originals_model (originals);
  for (IrValueId id = 1; id < original->values->len; id++)
    {
      g_auto (IrFound) found = { 0 };
      const IrValue *value = ir_model_live_value (original, id);
      if (value == NULL || value->graph->kind == IR_GRAPH_FUNCTION)
        continue;
      g_autoptr (IrTensor) wanted = ir_run_find (before, id, NULL, NULL, NULL);
      g_autoptr (IrTensor) tensor = ir_originals_find (originals, id, NULL, &found, &error);
      if (wanted == NULL) /* a branch that is not taken */
        {
          g_assert_nonnull (error);
          g_clear_error (&error);
          continue;
        }
      g_assert_no_error (error);
      assert_near (value, tensor, wanted);
      tally.n_values++;
      tally.n_same += found.stands_for != 0;
      if (found.how == IR_FOUND_COMPUTED && found.stands_for == 0)
        {
          g_autofree char *text = ir_found_text (&found, after->model);
          tally.n_computed++;
          g_test_message ("%s: %s", value->name, text);
          g_assert_nonnull (strstr (text, "recomputed"));
          g_assert_true (found.n_nodes == 0 || found.from->len > 0 || strstr (text, "by") != NULL);
        }
    }
  return tally;
}

static void
optimize (IrModel *model)
{
  g_autoptr (GError) error = NULL;
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                .backend = ir_backend_find ("cpu") };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("default", &error);

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_assert_cmpuint (ir_history_n_steps (model), >, 0);
}

static void
check_model (IrModel *model, GHashTable *inputs)
{
  static const struct
  {
    IrCaptureKind capture;
    guint64 budget;
  } policies[] = { { IR_CAPTURE_ALL, 0 }, { IR_CAPTURE_NONE, 0 }, { IR_CAPTURE_ALL, 1 } };
  g_autoptr (IrRun) before = run_cpu (model, inputs, IR_CAPTURE_ALL, 0);

  optimize (model);
  for (guint i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      g_autoptr (IrRun) after = run_cpu (model, inputs, policies[i].capture, policies[i].budget);
      Tally tally = assert_all_near (model, before, after);
      g_test_message ("%u values: %u stand there, %u computed", tally.n_values, tally.n_same,
                      tally.n_computed);
      g_assert_cmpuint (tally.n_same, >, 0);
      g_assert_cmpuint (tally.n_computed, >, 0);
    }
}

static void
test_text (gconstpointer data)
{
  g_autoptr (IrModel) model = test_model (texts[GPOINTER_TO_UINT (data)].text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  check_model (model, inputs);
}

static void
test_file (gconstpointer data)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "..", "data", "examples", data,
                                                 NULL);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, problems, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 3, NULL, &error);
  g_assert_no_error (error);
  check_model (model, inputs);
}

/* What has to be kept for one value alone is enough for it, and no node of the result runs twice.
 */
static void
test_needs (void)
{
  g_autoptr (IrModel) model = test_model (texts[0].text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_autoptr (GError) error = NULL;

  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  const IrValue *inner = ir_graph_find_value (model->main, "h");
  IrValueId id = inner->id;
  g_autoptr (IrRun) before = run_cpu (model, inputs, IR_CAPTURE_ALL, 0);
  optimize (model);
  g_assert_null (ir_model_live_value (model, id));
  g_autoptr (GArray) needs = ir_originals_needs (model, ir_history_cursor (model), id, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (needs->len, >, 0);
  IrRunOptions options = { .backend = ir_backend_find ("cpu"),
                           .n_threads = 1,
                           .capture = IR_CAPTURE_CHOSEN,
                           .chosen = needs };
  g_autoptr (IrRun) after = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (IrOriginals)
      originals = ir_originals_new (model, ir_history_cursor (model), after, &error);
  g_assert_no_error (error);
  g_auto (IrFound) found = { 0 };
  g_autoptr (IrTensor) tensor = ir_originals_find (originals, id, NULL, &found, &error);
  g_assert_no_error (error);
  assert_near (inner, tensor, ir_run_value (before, id));
  g_assert_cmpuint (found.how, ==, IR_FOUND_COMPUTED);
  g_assert_cmpuint (found.n_nodes, >, 0);
  g_assert_cmpuint (found.n_nodes, <, ir_model_n_counted_nodes (before->model));
}

int
main (int argc, char **argv)
{
  static const char *const files[] = { "digits.onnx", "transformer-block.onnx" };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autofree char *path = g_strdup_printf ("/originals/%s", texts[i].title);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_text);
    }
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_strdup_printf ("/originals/all values of %s", files[i]);
      g_test_add_data_func (path, files[i], test_file);
    }
  g_test_add_func ("/originals/one value needs few others to be kept", test_needs);
  return g_test_run ();
}
