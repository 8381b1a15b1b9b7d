/* The runner and the engine: policies, keys, costs, refusals, limits, cancelling, size. */
#include "config.h"

#include "core/ir/dump.h"
#include "tests/rules/pass-test.h"

#include <glib/gstdio.h>
#include <string.h>

#define ONE "(float[n,4] x) => (float[n,4] y) "

static IrModel *
model_of (const char *text)
{
  IrModel *model = test_model (text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);

  test_model_randomize (model, rand);
  return model;
}

static void
run (IrModel *model, const char *names, const IrPipelineOptions *options, IrPipelineResult *result)
{
  g_auto (GStrv) list = g_strsplit (names, " ", -1);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names ((const char *const *) list, &error);

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_run (model, pipeline, options, result, NULL, &error));
  g_assert_no_error (error);
}

static IrPipelineOptions
defaults (void)
{
  return (IrPipelineOptions){ .max_class = IR_CLASS_ROUNDING, .verify = TRUE };
}

/* -- policies -- */

typedef struct
{
  GPtrArray *keys;
  const char *skip; /* (nullable) key */
  guint stop_at;    /* ordinal, 0 = never */
} Asked;

static IrPolicyAnswer
ask (const char *pass,
     const char *rule,
     const IrNode *anchor,
     guint ordinal,
     const char *stable_key,
     gpointer data)
{
  Asked *asked = data;

  g_ptr_array_add (asked->keys, g_strdup (stable_key));
  if (asked->skip != NULL && strcmp (asked->skip, stable_key) == 0)
    return IR_POLICY_SKIP;
  return asked->stop_at == ordinal ? IR_POLICY_STOP : IR_POLICY_APPLY;
}

#define FOUR_IDENTITIES                                                                             \
  ONE "{ a = Relu (x)  b = Identity (a)  c = Exp (b)  d = Identity (c)  e = Neg (d)  f = Identity " \
      "(e)  g = Abs (f)  h = Identity (g)  y = Neg (h) }"

static void
test_skip (void)
{
  g_autoptr (IrModel) first = model_of (FOUR_IDENTITIES), second = model_of (FOUR_IDENTITIES);
  g_autofree char *key = NULL;
  Asked asked = { .keys = g_ptr_array_new_with_free_func (g_free) };
  IrPolicy policy = { ask, &asked };
  IrPipelineOptions options = defaults ();
  IrPipelineResult result;

  run (first, "eliminate-identity", &options, &result);
  g_assert_cmpuint (result.n_steps, ==, 4);
  key = ir_step_stable_key (first, 2);
  asked.skip = key;
  options.policy = &policy;
  run (second, "eliminate-identity", &options, &result);
  g_assert_cmpuint (result.n_steps, ==, 3);
  g_assert_cmpuint (asked.keys->len, ==, 4);
  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *recorded = ir_step_stable_key (first, i + 1);
      g_assert_cmpstr (recorded, ==, asked.keys->pdata[i]);
    }
  g_assert_nonnull (ir_model_live_node (second, ir_history_step (first, 2)->anchor));
  g_ptr_array_unref (asked.keys);
}

static void
test_stop (void)
{
  g_autoptr (IrModel) model = model_of (FOUR_IDENTITIES);
  Asked asked = { .keys = g_ptr_array_new_with_free_func (g_free), .stop_at = 3 };
  IrPolicy policy = { ask, &asked };
  IrPipelineOptions options = defaults ();
  IrPipelineResult result;

  options.policy = &policy;
  run (model, "eliminate-identity eliminate-dead-code", &options, &result);
  g_assert_cmpuint (result.n_steps, ==, 2);
  g_assert_true (result.stopped);
  g_ptr_array_unref (asked.keys);
}

static void
test_class (void)
{
  g_autoptr (IrModel) model = model_of (
      ONE "{ c = Constant <value = float {0.0}> ()  a = Neg (x)  b = Add (c, a)  y = Abs (b) }");
  IrPipelineOptions options = defaults ();
  IrPipelineResult result;

  options.max_class = IR_CLASS_EXACT;
  run (model, "eliminate-identity", &options, &result);
  g_assert_cmpuint (result.n_steps, ==, 0);
  options.max_class = IR_CLASS_ROUNDING;
  run (model, "eliminate-identity", &options, &result);
  g_assert_cmpuint (result.n_steps, ==, 1);
}

/* -- refusals -- */

static void
check_refused (const char *pass, const char *text, const char *rule, const char *reason)
{
  g_autoptr (IrModel) model = model_of (text);
  IrPipelineOptions options = defaults ();
  IrPipelineResult result;
  gboolean found = FALSE;

  options.record_refusals = TRUE;
  run (model, pass, &options, &result);
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    {
      const IrRefusal *refusal = ir_history_refusal (model, i);
      g_test_message ("%s: %s", refusal->rule, refusal->reason);
      found |= strcmp (refusal->rule, rule) == 0 && strstr (refusal->reason, reason) != NULL;
    }
  for (guint i = 1; i <= result.n_steps; i++)
    g_assert_cmpstr (ir_history_step (model, i)->rule, !=, rule);
  g_assert_true (found);
}

#define BN_HEAD                                                                                    \
  "(float[n,3,7,6] x, float[4,3,3,3] W, float[4] S, float[4] T, float[4] M, float[4] V) => "
#define BN_TAIL "d = BatchNormalization (c, S, T, M, V) "

static void
test_refusals (void)
{
  check_refused ("fold-conv-bn",
                 BN_HEAD "(float[n,4,5,4] y) { c = Conv (x, W) " BN_TAIL "y = Add (c, d) }",
                 "fold-conv-bn", "is used by");
  check_refused ("fold-conv-bn",
                 BN_HEAD "(float[n,4,5,4] d, float[n,4,5,4] c) { c = Conv (x, W) " BN_TAIL " }",
                 "fold-conv-bn", "output of the graph");
  check_refused (
      "fold-conv-affine",
      "(float[n,3,7,6] x, float[4,3,3,3] W, float[4] B) => (float[n,4,5,4] y) { c = Conv "
      "(x, W)  y = Add (c, B) }",
      "fold-conv-add", "varies along axis 3");
  check_refused ("fold-conv-affine",
                 "(float[n,3,7,6] x, float[4,3,3,3] W, float[1,4,1,1] b) => (float[n,4,5,4] y) { c "
                 "= Conv (x, W)  y = Mul (c, b) }",
                 "fold-conv-mul", "b is not a constant");
  check_refused ("fuse-residual",
                 "(float[n,3,5,4] x, float[4,3,3,3] W, float[1,4,1,1] r) => (float[n,4,3,2] y) { c "
                 "= Conv (x, W)  y = Add (c, r) }",
                 "fuse-conv-add", "does not have the shape");
  check_refused (
      "fuse-bias",
      "(float[1,5] x, float[5,4] W, float[3,4] b) => (float[3,4] y) { c = MatMul (x, W)  "
      "y = Add (c, b) }",
      "fuse-matmul-add", "bigger");
  check_refused ("eliminate-identity", "(float[n,4] x) => (float[n,4] y) { y = Identity (x) }",
                 "identity", "keep its own name");
}

/* -- costs and history -- */

static void
test_costs (void)
{
  g_autoptr (IrModel) model = model_of (
      "(float[n,3,7,6] x, float[4,3,3,3] W, float[4] S, float[4] T, float[4] M, float[4] V) => "
      "(float[n,4,5,4] y) { c = Conv (x, W)  d = BatchNormalization (c, S, T, M, V)  y = Relu (d) "
      "}");
  IrPipelineOptions options = defaults ();
  IrPipelineResult result;
  gboolean partial;
  IrCost start = ir_cost_model (model, &partial), end;
  const IrStep *first, *last;

  run (model, "fold-conv-bn fuse-activation", &options, &result);
  g_assert_cmpuint (result.n_steps, ==, 2);
  end = ir_cost_model (model, &partial);
  first = ir_history_step (model, 1);
  last = ir_history_step (model, 2);
  g_assert_cmpuint (first->cost_before.flops, ==, start.flops);
  g_assert_cmpuint (first->cost_before.n_nodes, ==, 3);
  g_assert_cmpuint (first->cost_after.n_nodes, ==, 2);
  g_assert_cmpuint (last->cost_after.flops, ==, end.flops);
  g_assert_cmpuint (last->cost_after.bytes, ==, end.bytes);
  g_assert_cmpuint (last->cost_after.params, ==, end.params);
  g_assert_cmpuint (last->cost_after.n_nodes, ==, 1);
}

static void
test_lineage (void)
{
  g_autoptr (IrModel) model = model_of (
      "(float[n,3,7,6] x, float[4,3,3,3] W, float[4] S, float[4] T, float[4] M, float[4] V) => "
      "(float[n,4,5,4] y) { c = Conv (x, W)  d = BatchNormalization (c, S, T, M, V)  y = Relu (d) "
      "}");
  IrPipelineOptions options = defaults ();
  IrPipelineResult result;
  IrValueId y = ir_graph_output (model->main, 0)->id;

  run (model, "fold-conv-bn fuse-activation", &options, &result);
  IrNode *fused = ir_graph_output (model->main, 0)->producer;
  g_autoptr (GArray) origins = ir_lineage_origins (model, fused->id);
  g_assert_cmpstr (fused->op_type, ==, "ConvRelu");
  g_assert_cmpuint (origins->len, ==, 3);
  g_assert_cmpstr (fused->outputs[0]->name, ==, "y");
  g_assert_cmpuint (ir_lineage_original_value (model, fused->outputs[0]->id), ==, y);
}

/* -- limits -- */

static const IrRule endless[] = {
  { "there", "(Relu ?x)", "(Abs ?x)", IR_CLASS_UNSAFE, "For ever." },
  { "back", "(Abs ?x)", "(Relu ?x)", IR_CLASS_UNSAFE, "For ever." },
  { NULL },
};

static void
test_limit (void)
{
  const IrPass pass = { .name = "endless", .title = "Endless", .rules = endless };
  g_autoptr (IrPipeline) pipeline = test_pipeline (&pass);
  g_autoptr (IrModel) model = model_of (ONE "{ y = Relu (x) }");
  IrPipelineOptions options = { .max_class = IR_CLASS_UNSAFE };
  g_autoptr (GError) error = NULL;
  IrPipelineResult result;

  pipeline->max_iterations = 1;
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_true (result.reached_limit);
  g_assert_cmpuint (ir_history_n_refusals (model), ==, 1);
  g_assert_nonnull (strstr (ir_history_refusal (model, 0)->reason, "do not come to an end"));
}

static void
test_cancel (void)
{
  g_autoptr (IrModel) model = model_of (FOUR_IDENTITIES);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("basic", &error);
  IrPipelineResult result;

  g_assert_no_error (error);
  g_cancellable_cancel (cancellable);
  g_assert_false (ir_pipeline_run (model, pipeline, NULL, &result, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  test_verify (model);
}

/* Above the limit a result folds that is no bigger than what it is made of. */
static void
test_fold_limit (void)
{
  g_autoptr (IrModel) model = model_of (
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[n,2] x) => (float[n,3] y, float[3,3] z) "
      "<float[3,2] w = {1, 2, 3, 4, 5, 6}, int64[2] s = {3, 3}> { t = Transpose (w)  "
      "y = MatMul (x, t)  c = ConstantOfShape (s)  z = Neg (c) }");
  IrPipelineOptions options = defaults ();
  IrPipelineResult result;

  g_autoptr (IrPass) limited = ir_pass_set (ir_pass_find ("fold-constants"), "limit", "20", NULL);
  g_autoptr (IrPipeline) pipeline = test_pipeline (limited);
  options.record_refusals = TRUE;
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, NULL));
  g_assert_cmpuint (result.n_steps, ==, 1);
  g_assert_cmpstr (ir_history_step (model, 1)->reason, ==, "t = [[1, 3, 5], [2, 4, 6]]");
}

/* A pass that fails in its middle leaves nothing behind: no node of a newer opset. */
static void
test_failure_is_taken_back (void)
{
  g_autoptr (IrModel) model = model_of (
      "<ir_version: 8, opset_import: [\"\" : 9]> g (float[3] a, float[2] b, float[n,m,o] x) => "
      "(float[3] y, float[n,m,o] z) <int64[2] i = {2, 0}> { y = Scatter (a, i, b)  "
      "r = Relu (x)  z = Softmax (r) }");
  g_autofree char *start = ir_model_dump (model), *end = NULL;
  g_autoptr (GError) error = NULL;
  const char *names[] = { "upgrade-opset", NULL };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, &error);
  IrPipelineOptions options = defaults ();

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_set (pipeline, "upgrade-opset.opset=13", NULL));
  g_assert_false (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "cannot be upgraded to opset 13"));
  end = ir_model_dump (model);
  g_assert_cmpstr (end, ==, start);
  g_assert_cmpuint (ir_history_cursor (model), ==, 0);
}

/* A long chain whose every second node goes: the work list must not look at all nodes each time. */
static void
test_long_chain (void)
{
  guint n = 50000;
  g_autoptr (IrModel) model = ir_model_new ();
  IrEdit *edit = ir_edit_new_import (model);
  IrDim dims[] = { 4 };
  const IrType *type = ir_type_tensor (model->context, IR_DTYPE_FLOAT, 1, dims);
  IrValue *value = ir_edit_add_value (edit, model->main, "x", type);
  IrPipelineOptions options = defaults ();
  IrPipelineResult result;
  gint64 start;

  ir_edit_set_opset (edit, "", 17);
  ir_edit_set_graph_inputs (edit, model->main, &value, 1);
  for (guint i = 0; i < n; i++)
    {
      IrNode *node = ir_edit_add_node (edit, model->main, i % 2 ? "Identity" : "Relu", "", NULL, 1,
                                       &value, 1);
      value = node->outputs[0];
      ir_edit_set_type (edit, value, type);
    }
  ir_edit_set_graph_outputs (edit, model->main, &value, 1);
  ir_edit_free (edit);
  start = g_get_monotonic_time ();
  run (model, "eliminate-identity", &options, &result);
  g_test_message ("%u nodes, %u steps: %.0f ms", n, result.n_steps,
                  (g_get_monotonic_time () - start) / 1000.0);
  /* All identities go, and of all Relu in a row one is left. */
  g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, 1);
}

/* -- pipelines -- */

static void
test_pipelines (void)
{
  g_auto (GStrv) names = ir_pipeline_names ();

  g_assert_cmpstr (names[0], ==, "default");
  g_assert_true (g_strv_contains ((const char *const *) names, "with-cse"));
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrPipeline) pipeline = ir_pipeline_load (names[i], &error);

      g_assert_no_error (error);
      g_assert_cmpstr (pipeline->name, ==, names[i]);
      g_assert_cmpuint (pipeline->passes->len, >, 0);
      g_assert_cmpstr (pipeline->doc, !=, "");
    }
}

/* What old commands say goes on; a user's own file has its own name. */
static void
test_aliases (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("deploy", &error);
  g_autoptr (IrPipeline) same = ir_pipeline_load ("default", NULL);
  g_autofree char *text = ir_pipeline_to_json (same);

  g_assert_no_error (error);
  g_assert_cmpstr (pipeline->name, ==, "default");
  g_assert_cmpuint (pipeline->passes->len, ==, same->passes->len);
  g_assert_nonnull (strstr (text, "\"aliases\":\t[\"deploy\"]"));
}

static void
check_bad_pipeline (const char *text, const char *needed)
{
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "irscope-test-pipeline.json", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = NULL;

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  pipeline = ir_pipeline_load (path, &error);
  g_assert_null (pipeline);
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, needed));
  g_unlink (path);
}

static void
test_bad_pipelines (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (ir_pipeline_load ("nonsense", &error));
  g_assert_nonnull (strstr (error->message, "default"));
  check_bad_pipeline ("", "not JSON");
  check_bad_pipeline ("{\"passes\": [],}", ":1:");
  check_bad_pipeline ("[1]", "not a JSON object");
  check_bad_pipeline ("{}", "passes");
  check_bad_pipeline ("{\"passes\": [\"nonsense\"]}", "nonsense");
  check_bad_pipeline ("{\"passes\": [3]}", "names of passes");
  check_bad_pipeline ("{\"passes\": [], \"pass\": 1}", "not known");
  check_bad_pipeline ("{\"passes\": [], \"aliases\": \"deploy\"}", "must be a list of names");
  check_bad_pipeline ("{\"passes\": [], \"aliases\": [3]}", "must hold names");
}

/* -- options of passes -- */

static IrPipeline *
pipeline_of_text (const char *text)
{
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "irscope-test-options.json", NULL);
  g_autoptr (GError) error = NULL;
  IrPipeline *pipeline;

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  pipeline = ir_pipeline_load (path, &error);
  g_assert_no_error (error);
  g_unlink (path);
  return pipeline;
}

/* Each entry has its own; they are written and read again; "--set" is of all entries. */
static void
test_options (void)
{
  g_autoptr (IrPipeline) pipeline = pipeline_of_text (
      "{\"passes\": [{\"pass\": \"fold-constants\", \"limit\": \"1K\"}, \"fold-constants\", "
      "{\"limit\": 20, \"pass\": \"fold-constants\"}]}");
  static const guint64 limits[] = { 1024, 64 << 20, 20 };
  g_autofree char *text = ir_pipeline_to_json (pipeline);
  g_autoptr (IrPipeline) again = pipeline_of_text (text);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 3; i++)
    {
      g_assert_cmpuint (ir_pass_option_number (pipeline->passes->pdata[i], "limit"), ==, limits[i]);
      g_assert_cmpuint (ir_pass_option_number (again->passes->pdata[i], "limit"), ==, limits[i]);
    }
  g_assert_cmpstr (ir_pass_settings (again->passes->pdata[0]), ==, "limit=1K");
  g_assert_null (ir_pass_settings (again->passes->pdata[1]));
  g_assert_true (ir_pipeline_set (again, "fold-constants.limit=2G", &error));
  for (guint i = 0; i < 3; i++)
    g_assert_cmpuint (ir_pass_option_number (again->passes->pdata[i], "limit"), ==, 2ull << 30);
}

static void
check_bad_setting (const char *assignment, const char *needed)
{
  const char *const names[] = { "fold-constants", "upgrade-opset", "merge-casts", NULL };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (ir_pipeline_set (pipeline, assignment, &error));
  g_assert_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, needed));
}

static void
test_bad_options (void)
{
  check_bad_setting ("fold-constants.limits=1", "no option \"limits\"; it has limit");
  check_bad_setting ("merge-casts.limit=1", "it has none");
  check_bad_setting ("fold-constants.limit=1T", "whole number, 0 or more, of bytes");
  check_bad_setting ("fold-constants.limit=-1", "whole number");
  check_bad_setting ("fold-constants.limit=", "whole number");
  check_bad_setting ("fold-constants.limit=99999999999G", "whole number");
  check_bad_setting ("upgrade-opset.opset=13M", "whole number");
  check_bad_setting ("fuse-gelu.opset=13", "no pass \"fuse-gelu\" in the pipeline");
  check_bad_setting ("fold.limit=13", "no pass \"fold\";");
  check_bad_setting ("fold-constants.limit=x", "fold-constants.limit=x: the option limit");
  check_bad_setting ("limit=13", "PASS.OPTION=VALUE");
  check_bad_setting ("", "PASS.OPTION=VALUE");
  check_bad_pipeline ("{\"passes\": [{\"pass\": \"fold-constants\",\n \"max\": 1}]}",
                      ":2:2: the pass fold-constants has no option \"max\"");
  check_bad_pipeline ("{\"passes\": [{\"limit\": 1}]}", "objects with a name as \"pass\"");
  check_bad_pipeline ("{\"passes\": [{\"pass\": \"fold-constants\", \"limit\": 1.5}]}",
                      "must be a string, a whole number");
  check_bad_pipeline ("{\"passes\": [{\"pass\": \"fold-constants\", \"limit\": {}}]}",
                      "must be a string, a whole number");
}

/* The same application of a pass that was told something else is another one. */
static void
test_options_in_keys (void)
{
  static const char *const settings[] = { NULL, "fold-constants.limit=1M",
                                          "fold-constants.limit=2M" };
  const char *const names[] = { "fold-constants", NULL };
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (IrModel)
          model = model_of (ONE "<float[4] w = {1, 2, 3, 4}> { a = Neg (w)  y = Add (x, a) }");
      g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, NULL);
      IrPipelineOptions options = defaults ();
      Asked asked = { .keys = g_ptr_array_new_with_free_func (g_free) };
      IrPolicy policy = { ask, &asked };

      if (settings[i] != NULL)
        g_assert_true (ir_pipeline_set (pipeline, settings[i], NULL));
      options.policy = &policy;
      g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, NULL));
      g_assert_cmpuint (ir_history_n_steps (model), ==, 1);
      g_autofree char *key = ir_step_stable_key (model, 1);
      g_assert_cmpstr (key, ==, asked.keys->pdata[0]);
      g_assert_true (g_hash_table_add (keys, g_steal_pointer (&key)));
      g_ptr_array_unref (asked.keys);
    }
}

static guint n_once;

static gboolean
run_once (IrPassContext *context, GError **error)
{
  n_once++;
  return TRUE;
}

static void
test_once (void)
{
  const IrPass once = {
    .name = "once", .step_class = IR_CLASS_EXACT, .run = run_once, .once = TRUE
  };
  const char *const names[] = { "eliminate-identity", NULL };
  g_autoptr (IrModel) model = model_of (FOUR_IDENTITIES);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, NULL);
  IrPipelineOptions options = defaults ();
  IrPipelineResult result;

  g_ptr_array_add (pipeline->passes, (gpointer) &once);
  n_once = 0;
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, NULL));
  g_assert_cmpuint (result.iterations, >, 1);
  g_assert_cmpuint (n_once, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/passes/options are set per entry, written and read", test_options);
  g_test_add_func ("/passes/what is no option or no value of one is said", test_bad_options);
  g_test_add_func ("/passes/options are part of the key of a step", test_options_in_keys);
  g_test_add_func ("/passes/a pass that runs once has one round", test_once);
  g_test_add_func ("/passes/what outgrows its constants folds up to a limit only", test_fold_limit);
  g_test_add_func ("/passes/a pass that fails takes back what it did", test_failure_is_taken_back);
  g_test_add_func ("/passes/a skipped step is skipped by its key in a re-run", test_skip);
  g_test_add_func ("/passes/a policy that says stop ends the pipeline", test_stop);
  g_test_add_func ("/passes/rules above the class do not apply", test_class);
  g_test_add_func ("/passes/a refusal says what was found and needed", test_refusals);
  g_test_add_func ("/passes/costs of steps add up to those of the model", test_costs);
  g_test_add_func ("/passes/a fused node leads back to what it is made of", test_lineage);
  g_test_add_func ("/passes/rules without an end run into the limit and say so", test_limit);
  g_test_add_func ("/passes/a cancelled pipeline leaves a sound graph", test_cancel);
  g_test_add_func ("/passes/a chain of 50,000 nodes takes one run", test_long_chain);
  g_test_add_func ("/passes/pipelines that come with irscope load", test_pipelines);
  g_test_add_func ("/passes/a pipeline is found by its other names", test_aliases);
  g_test_add_func ("/passes/a bad pipeline file is an error that says why", test_bad_pipelines);
  return g_test_run ();
}
