/* The pass gradient: what was there stays, each part is a step, and what is asked for and cannot be
 * is said. That its derivatives are right is for tests/exec/test-gradient.c, which has the same
 * engine. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <string.h>

#define HEAD "<ir_version: 8, opset_import: [\"\" : 18]> g "
#define MLP                                                                                        \
  HEAD "(float[2,3] x) => (float[] loss) <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, "   \
       "float[4] b = {1, 2, 3, 4}> { t = MatMul (x, w)  u = Add (t, b)  r = Relu (u)  "            \
       "s = Add (r, u)  loss = ReduceMean <keepdims = 0> (s) }"

static IrPipeline *
pipeline_with (const char *const *settings)
{
  const char *const names[] = { "gradient", NULL };
  g_autoptr (GError) error = NULL;
  IrPipeline *pipeline = ir_pipeline_new_from_names (names, &error);

  for (guint i = 0; settings != NULL && settings[i] != NULL; i++)
    ir_pipeline_set (pipeline, settings[i], &error);
  g_assert_no_error (error);
  return pipeline;
}

/* (transfer full) The model derived; fails the test if it cannot be. */
static IrModel *
derived (const char *text, const char *const *settings)
{
  IrModel *model = test_model (text);
  g_autoptr (IrPipeline) pipeline = pipeline_with (settings);
  IrPipelineOptions options = { .max_class = IR_CLASS_EXACT, .verify = TRUE };
  g_autoptr (GError) error = NULL;

  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_assert_no_error (error);
  return model;
}

static void
assert_outputs (const IrModel *model, const char *names)
{
  g_autoptr (GString) found = g_string_new (NULL);

  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    g_string_append_printf (found, "%s%s", i > 0 ? " " : "",
                            ir_graph_output (model->main, i)->name);
  g_assert_cmpstr (found->str, ==, names);
}

static guint
count_rule (const IrModel *model, const char *rule)
{
  guint n = 0;

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    n += strcmp (ir_history_step (model, i)->rule, rule) == 0;
  return n;
}

static void
test_steps (void)
{
  g_autoptr (IrModel) before = test_model (MLP), model = derived (MLP, NULL);

  assert_outputs (model, "loss w.grad b.grad");
  g_assert_cmpuint (count_rule (model, "seed"), ==, 1);
  /* Each node but the last Add, which passes on what comes without a node. */
  g_assert_cmpuint (count_rule (model, "vjp"), ==, 4);
  g_assert_cmpuint (count_rule (model, "accumulate"), ==, 1);
  g_assert_cmpuint (count_rule (model, "connect"), ==, 1);
  for (guint i = 1; i < before->nodes->len; i++)
    {
      const IrNode *old = before->nodes->pdata[i], *now = model->nodes->pdata[i];
      g_assert_cmpint (now->state, ==, IR_STATE_LIVE);
      g_assert_cmpstr (now->op_type, ==, old->op_type);
      for (guint k = 0; k < old->n_inputs; k++)
        g_assert_cmpuint (now->inputs[k]->id, ==, old->inputs[k]->id);
    }
  ir_history_goto (model, 0);
  g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, ir_model_n_counted_nodes (before));
}

/* Shapes that are known are constants: nothing of the forward part is kept for its shape. */
static void
test_no_shapes (void)
{
  g_autoptr (IrModel) model = derived (MLP, NULL);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      g_assert_true (node == NULL || !ir_node_is (node, "Shape"));
      g_assert_true (node == NULL || strcmp (node->op_type, "ReduceSumTo") != 0);
    }
}

static void
test_what_by_what (void)
{
  const char *const inputs[] = { "gradient.wrt=inputs", NULL };
  const char *const all[] = { "gradient.wrt=all", NULL };
  const char *const named[] = { "gradient.of=u", "gradient.wrt=t,x,r", NULL };
  const char *const stopped[] = { "gradient.stop=t", "gradient.wrt=x,b", NULL };
  g_autoptr (IrModel) a = derived (MLP, inputs), b = derived (MLP, all), c = derived (MLP, named);
  g_autoptr (IrModel) d = derived (MLP, stopped);

  assert_outputs (a, "loss x.grad");
  assert_outputs (b, "loss w.grad b.grad x.grad");
  assert_outputs (c, "loss t.grad x.grad r.grad"); /* u does not depend on r: zeros */
  assert_outputs (d, "loss x.grad b.grad");
  g_assert_cmpstr (ir_graph_output (c->main, 3)->producer->op_type, ==, "ConstantOfShape");
  g_assert_cmpstr (ir_graph_output (d->main, 1)->producer->op_type, ==, "ConstantOfShape");
}

/* Two derivatives that are one value, one that is an output already, and a name that is taken */
static void
test_names (void)
{
  const char *const all[] = { "gradient.wrt=inputs", "gradient.of=y", NULL };
  g_autoptr (IrModel) model = derived (
      HEAD "(float[2] a, float[2] b, float[2] c) => (float[2] y, float[2] \"b.grad\") "
           "{ y = Sum (a, b, c)  \"b.grad\" = Neg (a) }",
      all);
  const IrGraph *graph = model->main;

  g_assert_cmpuint (ir_graph_n_outputs (graph), ==, 5);
  g_assert_cmpstr (ir_graph_output (graph, 1)->name, ==, "b.grad");
  g_assert_cmpstr (ir_graph_output (graph, 2)->name, ==, "a.grad");
  g_assert_true (g_str_has_prefix (ir_graph_output (graph, 3)->name, "b.grad_"));
  g_assert_cmpstr (ir_graph_output (graph, 4)->name, ==, "c.grad");
}

/* A function of the model, and a fused operator, are derived through copies of their bodies. */
static void
test_functions (void)
{
  const char *const inputs[] = { "gradient.wrt=inputs", NULL };
  g_autoptr (IrModel) model = derived (
      "<ir_version: 8, opset_import: [\"\" : 18, \"own\" : 1, \"irscope\" : 1]> g (float[2,3] x) => "
      "(float[2,3] y) { t = own.Square (x)  k = own.Square (t)  y = irscope.Gelu (k) } "
      "<domain: \"own\", opset_import: [\"\" : 18]> Square (a) => (b) { b = Mul (a, a) }",
      inputs);
  guint calls = 0;

  assert_outputs (model, "y x.grad");
  for (guint i = 1; i < model->nodes->len; i++)
    calls += ir_model_live_node (model, i) != NULL &&
             strcmp (ir_model_live_node (model, i)->op_type, "Square") == 0;
  g_assert_cmpuint (calls, ==, 2);
  g_assert_cmpuint (count_rule (model, "vjp"), ==, 3);
}

/* It runs once, whatever other passes find. */
static void
test_runs_once (void)
{
  const char *const names[] = { "gradient", "eliminate-identity", "fold-constants",
                                "eliminate-dead-code", NULL };
  g_autoptr (IrModel) model = test_model (MLP);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, NULL);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .verify = TRUE };
  IrPipelineResult result;

  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, NULL));
  g_assert_cmpuint (result.iterations, >, 1);
  g_assert_cmpuint (count_rule (model, "seed"), ==, 1);
  assert_outputs (model, "loss w.grad b.grad");
}

static void
check_refused (const char *text, const char *setting, const char *needed)
{
  const char *const settings[] = { setting, NULL };
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (IrPipeline) pipeline = pipeline_with (setting != NULL ? settings : NULL);
  g_autoptr (GError) error = NULL;
  guint n = ir_model_n_nodes (model);

  g_assert_false (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error));
  g_test_message ("%s", error->message);
  if (strstr (error->message, needed) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->message, needed);
  g_assert_cmpuint (ir_model_n_nodes (model), ==, n); /* taken back */
}

static void
test_refused (void)
{
  /* It would draw others when it is computed again. */
  check_refused (
      HEAD
      "(float[2] x, bool c) => (float[2] y) { [if] y = If (c) <then_branch = t () => (float[2] o) "
      "{ [r] n = RandomUniformLike (x)  o = Mul (n, x) }, else_branch = e () => (float[2] p) "
      "{ p = Neg (x) }> }",
      "gradient.wrt=x", "if (If): cannot be derived: r (RandomUniformLike) in its body draws");
  check_refused (HEAD "(float[2] x) => (float[2] y, float[2] z) { y = Exp (x)  z = Neg (x) }", NULL,
                 "2 floating-point outputs (y, z)");
  check_refused (HEAD "(float[2] x) => (int64[2] y) { y = Cast <to = 7> (x) }", NULL,
                 "no output of the graph is known to be floating-point");
  check_refused (MLP, "gradient.of=nobody", "of: there is no value \"nobody\"");
  check_refused (MLP, "gradient.wrt=x,nobody", "wrt: there is no value \"nobody\"");
  check_refused (MLP, "gradient.nodes=2", "nodes, more than the limit of 2");
  check_refused (MLP, "gradient.stop=nobody", "stop: there is no value \"nobody\"");
  check_refused (MLP, "gradient.cotangent=x", "\"x\" has not the type of \"loss\"");
  check_refused (HEAD "(float[2] x) => (float[2] y) { y = Exp (x) }", NULL,
                 "no floating-point parameters");
  check_refused (HEAD "(float[2] x, int64[2] i) => (float[2] y) { y = Exp (x) }", "gradient.wrt=i",
                 "\"i\" is int64");
  check_refused (HEAD
                 "(float[1,1,2,2] x) => (float[] y) { [d] q, y, z = DynamicQuantizeLinear (x) }",
                 "gradient.wrt=x",
                 "d (DynamicQuantizeLinear): cannot be derived: Its scale depends on its input");
  check_refused (
      "<ir_version: 8, opset_import: [\"\" : 11]> g (float[2] x) => (float[2] y) { y = Exp (x) }",
      "gradient.wrt=x", "upgrade it first (--opset 18)");
}

/* -- proof -- */

static IrProof
proof_of (IrModel *model, guint step, const char *contents)
{
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_autoptr (GError) error = NULL;
  const IrValue *x = ir_graph_input (model->main, 0);
  g_auto (GStrv) words = g_strsplit (contents, " ", -1);
  gint64 n = g_strv_length (words);
  float numbers[8] = { 0 };
  IrProof proof;

  for (gint64 i = 0; i < n; i++)
    numbers[i] = (float) g_ascii_strtod (words[i], NULL);
  g_hash_table_insert (inputs, GUINT_TO_POINTER (x->id),
                       ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &n, numbers));
  g_autoptr (IrProver) prover = ir_prover_new (model, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_step (prover, step, &proof, &error));
  return proof;
}

static void
test_proved (void)
{
  const char *const settings[] = { "gradient.wrt=x", NULL };
  g_autoptr (IrModel) model = derived (
      HEAD "(float[2] x) => (float[2] y) { r = Relu (x)  a = Exp (r)  y = Mul (a, r) }", settings);
  guint last = ir_history_n_steps (model) - 1; /* vjp of Relu, before connect */
  IrProof off = proof_of (model, last, "0.5 -3"), at = proof_of (model, last, "0 0");

  for (guint i = 1; i < last; i++)
    {
      IrProof proof = proof_of (model, i, "0.5 -3");
      gboolean vjp = strcmp (ir_history_step (model, i)->rule, "vjp") == 0;
      g_assert_cmpint (proof.verdict, ==, vjp ? IR_VERDICT_ROUNDING : IR_VERDICT_EXACT);
    }
  g_assert_cmpint (off.verdict, ==, IR_VERDICT_ROUNDING);
  g_assert_nonnull (strstr (off.text, "agree with differences"));
  g_assert_cmpint (at.verdict, ==, IR_VERDICT_ROUNDING);
  g_assert_nonnull (strstr (at.text, "kink: by x the slopes are"));
}

/* y = Exp (x), and a step that says x for its derivative, or what is right. */
static IrVerdict
proof_by_hand (const char *factor, char **text)
{
  g_autoptr (IrModel) model = test_model (HEAD "(float[2] x) => (float[2] y) { y = Exp (x) }");
  IrEdit *edit = ir_edit_new (model);
  IrValue *y = ir_graph_output (model->main, 0);
  float ones[] = { 1, 2 };
  gint64 n = 2;
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &n, ones);

  ir_edit_begin_step (edit, "vjp", IR_CLASS_EXACT, y->producer->id);
  IrValue *inputs[] = { ir_edit_add_initializer (edit, model->main, "dy", tensor),
                        ir_graph_find_value (model->main, factor) };
  IrNode *node = ir_edit_add_node (edit, model->main, "Mul", "", NULL, 2, inputs, 1);
  ir_infer_node (edit, node, NULL);
  ir_edit_step_note_part (edit, y->id, inputs[0]->id);
  ir_edit_step_note_part (edit, ir_graph_input (model->main, 0)->id, node->outputs[0]->id);
  ir_edit_end_step (edit);
  ir_edit_free (edit);
  IrProof proof = proof_of (model, 1, "0.5 -3");
  *text = g_strdup (proof.text); /* the model's own */
  return proof.verdict;
}

static void
test_wrong_is_broken (void)
{
  g_autofree char *right = NULL, *wrong = NULL;

  g_assert_cmpint (proof_by_hand ("y", &right), ==, IR_VERDICT_ROUNDING);
  g_assert_cmpint (proof_by_hand ("x", &wrong), ==, IR_VERDICT_BROKEN);
  g_assert_nonnull (strstr (wrong, "by x the node moves by"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/gradient-pass/" SENTENCE, FUNCTION)
  TEST ("each part is a step, and the forward part stays", test_steps);
  TEST ("known shapes are constants", test_no_shapes);
  TEST ("options say what is derived by what", test_what_by_what);
  TEST ("each derivative has a name of its own", test_names);
  TEST ("functions and fused operators are derived", test_functions);
  TEST ("it runs once", test_runs_once);
  TEST ("steps are proved by differences, and kinks are said", test_proved);
  TEST ("a wrong derivative is broken", test_wrong_is_broken);
  TEST ("what cannot be is said, and taken back", test_refused);
  return g_test_run ();
}
