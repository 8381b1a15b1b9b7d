/* The proof finds planted mistakes, and gives exact and rounding rewrites their verdict. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <math.h>
#include <string.h>

static const IrRule wrong_sign[] = {
  { "wrong-sign", "(Add ?x ?y)", "(Sub ?x ?y)", IR_CLASS_EXACT, "Wrong on purpose." },
  { NULL },
};

static gboolean
prepare_slightly_wrong (IrMatch *match)
{
  double c = ir_tensor_get_double (ir_match_constant (match, "c"), 0);

  ir_match_bind_tensor (match, "d", "d", ir_tensor_new_scalar (IR_DTYPE_FLOAT, c * 1.0005));
  return TRUE;
}

/* Off by five in ten thousand: far above rounding, far below what one sees. */
static const IrRule slightly_wrong[] = {
  { "slightly-wrong", "(Mul ?x ?c:scalar)", "(Div ?x (Reciprocal ?d))", IR_CLASS_ROUNDING,
    "Wrong on purpose.", NULL, NULL, prepare_slightly_wrong },
  { NULL },
};

static gboolean
prepare_reciprocal (IrMatch *match)
{
  double c = ir_tensor_get_double (ir_match_constant (match, "c"), 0);

  ir_match_bind_tensor (match, "d", "d", ir_tensor_new_scalar (IR_DTYPE_FLOAT, 1 / c));
  return TRUE;
}

static const IrRule rounds[] = {
  { "by-reciprocal", "(Div ?x ?c:scalar)", "(Mul ?x ?d)", IR_CLASS_ROUNDING, "Rounds twice.", NULL,
    NULL, prepare_reciprocal },
  { NULL },
};

static const IrRule wrong_shape_of_nan[] = {
  { "min-for-relu", "(Relu ?x)", "(Sqrt ?x)", IR_CLASS_EXACT, "Wrong on purpose: NaN below zero." },
  { NULL },
};

static void
prove (const IrRule *rules, const char *text, IrProof *proof)
{
  const IrPass pass = { .name = "test", .title = "Test", .rules = rules };
  g_autoptr (IrPipeline) pipeline = test_pipeline (&pass);
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  IrPipelineOptions options = { .max_class = IR_CLASS_UNSAFE };
  g_autoptr (GError) error = NULL;
  IrPipelineResult result;

  pipeline->max_iterations = 1;
  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (result.n_steps, >=, 1);
  g_autoptr (IrProver)
      prover = ir_prover_new (model, inputs, ir_backend_find ("ref"), NULL, &error);
  g_assert_no_error (error);
  /* Before the rule there may be steps that prepare functions. */
  guint step = 1;
  while (strcmp (ir_history_step (model, step)->rule, rules->name) != 0)
    g_assert_cmpuint (++step, <=, result.n_steps);
  g_assert_true (ir_prover_prove_step (prover, step, proof, &error));
  g_assert_no_error (error);
  g_assert_cmpint (ir_history_step (model, step)->proof.verdict, ==, proof->verdict);
  g_test_message ("%s: max abs %g, rel %g, %u ulp: %s", ir_verdict_name (proof->verdict),
                  proof->max_abs, proof->max_rel, (guint) proof->max_ulp,
                  proof->text != NULL ? proof->text : "");
}

#define TWO "(float[n,4] x, float[n,4] z) => (float[n,4] y) "
#define ONE "(float[n,4] x) => (float[n,4] y) "

static void
test_wrong_sign (void)
{
  IrProof proof;

  prove (wrong_sign, TWO "{ a = Relu (x)  b = Add (a, z)  y = Neg (b) }", &proof);
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_BROKEN);
  g_assert_cmpfloat (proof.max_abs, >, 0.01);
  g_assert_cmpuint (proof.worst_value, !=, 0);
}

static void
test_slightly_wrong (void)
{
  IrProof proof;

  prove (slightly_wrong, ONE "{ c = Constant <value = float {3.0}> ()  y = Mul (x, c) }", &proof);
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_BROKEN);
}

static void
test_rounding (void)
{
  IrProof proof;

  prove (
      rounds,
      "(float[n,64] x) => (float[n,64] y) { c = Constant <value = float {7.0}> ()  y = Div (x, c) }",
      &proof);
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_ROUNDING);
  g_assert_cmpuint (proof.max_ulp, >=, 1);
  g_assert_cmpuint (proof.max_ulp, <=, 4);
}

static void
test_new_nan (void)
{
  IrProof proof;

  prove (wrong_shape_of_nan, ONE "{ y = Relu (x) }", &proof);
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_BROKEN);
}

static void
prove_all (const char *pipeline_name,
           const char *backend,
           IrModel *model,
           GHashTable *inputs,
           IrProofSummary *summary)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load (pipeline_name, &error);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .verify = TRUE };
  IrPipelineResult result;

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_no_error (error);
  g_autoptr (IrProver)
      prover = ir_prover_new (model, inputs, ir_backend_find (backend), NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_all (prover, summary, NULL, NULL, NULL, &error));
  const IrProofCost *cost = ir_prover_cost (prover);
  g_assert_true (cost->captured_ns >= 0 && cost->new_ns >= 0 && cost->old_ns >= 0 &&
                 cost->wide_ns >= 0 && cost->compare_ns >= 0 && cost->steps_ns >= 0);
  for (guint i = 1; i <= result.n_steps; i++)
    {
      const IrStep *step = ir_history_step (model, i);
      g_test_message ("%u %s: %s %g %u ulp %s", i, step->rule,
                      ir_verdict_name (step->proof.verdict), step->proof.max_abs,
                      (guint) step->proof.max_ulp,
                      step->proof.text != NULL ? step->proof.text : "");
      if (step->step_class == IR_CLASS_EXACT)
        g_assert_cmpint (step->proof.verdict, ==, IR_VERDICT_EXACT);
    }
}

static void
test_chain (void)
{
  g_autoptr (IrModel) model = test_model (
      "(float[n,3,7,6] x, float[n,4,5,4] z, float[4,3,3,3] W, float[4] S, float[4] T, float[4] M, "
      "float[4] V, float[4,1,1] A) => (float[n,4,5,4] y) { c = Conv (x, W)  d = BatchNormalization "
      "(c, S, T, M, V)  e = Mul (d, A)  i = Identity (e)  f = Sum (z, i)  y = Relu (f)  u = Exp (x) "
      "}");
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  IrProofSummary summary;

  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  prove_all ("basic", "ref", model, inputs, &summary);
  g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, 1);
  g_assert_cmpuint (summary.n[IR_VERDICT_BROKEN] + summary.n[IR_VERDICT_SKIPPED], ==, 0);
  g_assert_cmpuint (summary.n[IR_VERDICT_ROUNDING], >=, 1);
  g_assert_cmpuint (summary.n[IR_VERDICT_EXACT], >=, 3);
}

/* What a network makes of small activations ends below the least normal number, where one step of
 * the type is no longer a small part of what it is added to. */
static void
test_subnormal (void)
{
  static const char *const texts[] = {
    "(float[n,64] x) => (float[n,64] y) { s = Constant <value = float {1e-39}> ()  "
    "c = Constant <value = float {1.41421354}> ()  t = Mul (x, s)  y = Div (t, c) }",
    "(float16[n,64] x) => (float16[n,64] y) { s = Constant <value = float16 {1e-6}> ()  "
    "c = Constant <value = float16 {3.0}> ()  t = Mul (x, s)  y = Div (t, c) }",
    "(float[2,3,6,6] x, float[4,3,3,3] W, float[4] S, float[4] B, float[4] M, float[4] V) => "
    "(float[2,4,4,4] y) { s = Constant <value = float {1e-40}> ()  t = Mul (x, s)  "
    "z = Constant <value = float[4] {0, 0, 0, 0}> ()  c = Conv (t, W)  "
    "y = BatchNormalization (c, S, z, z, V) }",
    "(float[5,9] x, float[9,8] A, float[8,7] B) => (float[5,7] y) { "
    "s = Constant <value = float {2e-41}> ()  t = Mul (x, s)  a = MatMul (t, A)  y = MatMul (a, B) }",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (i);
      g_autoptr (IrModel) model = test_model (texts[i]);
      IrProofSummary summary;

      test_model_randomize (model, rand);
      g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
      prove_all ("default", "ref", model, inputs, &summary);
      g_assert_cmpuint (summary.n[IR_VERDICT_BROKEN], ==, 0);
    }
}

static void
test_digits (void)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "digits.onnx", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);
  IrProofSummary summary;

  g_assert_no_error (error);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
  g_assert_no_error (error);
  prove_all ("basic", "ref", model, inputs, &summary);
  g_assert_cmpuint (summary.n[IR_VERDICT_BROKEN] + summary.n[IR_VERDICT_SKIPPED], ==, 0);
}

static void
test_edit_is_skipped (void)
{
  g_autoptr (IrModel) model = test_model (ONE "{ y = Relu (x) }");
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GError) error = NULL;
  IrProof proof;

  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  IrEdit *edit = ir_edit_new (model);
  IrNode *node = ir_graph_output (model->main, 0)->producer;
  ir_edit_begin_step (edit, "edit", IR_CLASS_EDIT, node->id);
  ir_edit_set_op (edit, node, "Abs", "", "");
  ir_edit_end_step (edit);
  ir_edit_free (edit);
  g_autoptr (IrProver) prover = ir_prover_new (model, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_step (prover, 1, &proof, &error));
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_SKIPPED);
}

/* -- bodies and functions -- */

/* A rule that is right, and one that is wrong, at the same place. */
static const IrRule right_place[] = {
  { "double-neg", "(Neg (Neg ?x))", "?x", IR_CLASS_EXACT, "Right." },
  { NULL },
};
static const IrRule wrong_place[] = {
  { "half-neg", "(Neg (Neg ?x))", "(Neg ?x)", IR_CLASS_EXACT, "Wrong on purpose." },
  { NULL },
};

static const struct
{
  const char *name, *text;
  const char *says; /* (nullable) in the proof's text */
} places[] = {
  { "a branch that the run takes", ONE
    "{ c = Constant <value = bool {1}> ()  w = Not (c)  v = Not (w)  y = If (v) <then_branch = t () => "
    "(float[n,4] u) { a = Neg (x)  b = Neg (a)  u = Relu (b) }, else_branch = e () => "
    "(float[n,4] q) { q = Exp (x) }> }" },
  { "a branch that the run does not take",
    ONE
    "{ c = Constant <value = bool {0}> ()  w = Not (c)  v = Not (w)  y = If (v) <then_branch = t () => "
    "(float[n,4] u) { a = Neg (x)  b = Neg (a)  u = Relu (b) }, else_branch = e () => "
    "(float[n,4] q) { q = Exp (x) }> }",
    "did not come through" },
  { "the body of a loop", ONE
    "{ m = Constant <value = int64 {3}> ()  c = Constant <value = bool {1}> ()  y = Loop (m, c, x) <body "
    "= b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t) { more = Identity (go)  "
    "a = Neg (s)  b = Neg (a)  d = Exp (b)  t = Tanh (d) }> }" },
  { "the body of a loop that is not entered",
    ONE
    "{ m = Constant <value = int64 {0}> ()  c = Constant <value = bool {1}> ()  y = Loop (m, c, x) <body "
    "= b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t) { more = Identity (go)  "
    "a = Neg (s)  b = Neg (a)  d = Exp (b)  t = Tanh (d) }> }",
    "did not come through" },
  { "a branch in a loop", ONE
    "{ m = Constant <value = int64 {2}> ()  c = Constant <value = bool {1}> ()  y = Loop (m, c, x) <body "
    "= b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t) { more = Identity (go)  "
    "t = If (go) <then_branch = h () => (float[n,4] u) { a = Neg (s)  b = Neg (a)  u = Tanh (b) "
    "}, else_branch = e () => (float[n,4] q) { q = Exp (x) }> }> }" },
  { "the body of a scan",
    "(float[3,4] x) => (float[4] y, float[3,4] z) { k = Constant <value = float[4] {0, 0, 0, 0}> ()  y, z = "
    "Scan <num_scan_inputs = 1, body = b (float[4] s, float[4] v) => (float[4] t, float[4] o) { a "
    "= Neg (v)  b = Neg (a)  t = Add (s, b)  o = Tanh (t) }> (k, x) }" },
};

static void
test_place (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  IrProof proof;

  prove (right_place, places[i].text, &proof);
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_EXACT);
  if (places[i].says != NULL)
    g_assert_nonnull (strstr (proof.text, places[i].says));
  prove (wrong_place, places[i].text, &proof);
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_BROKEN);
}

#define FUNCTION                                                                                   \
  "<domain: \"my\", opset_import: [\"\" : 17]> Twice (p) => (q) { a = Neg (p)  b = Neg (a)  q = "  \
  "Tanh (b) }"
#define CALLER "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\ng " ONE

/* The Tanh of the function reads p or a instead of b. */
static void
prove_function (const char *text, const char *input, IrProof *proof)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (9);
  g_autoptr (GError) error = NULL;
  IrGraph *function = (IrGraph *) ir_model_find_function (model, "my", "Twice", "");

  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  IrEdit *edit = ir_edit_new (model);
  IrNode *node = ir_graph_output (function, 0)->producer;
  ir_edit_begin_step (edit, "shortcut", IR_CLASS_EXACT, node->id);
  ir_edit_set_input (edit, node, 0, ir_graph_find_value (function, input));
  ir_edit_end_step (edit);
  ir_edit_free (edit);
  g_autoptr (IrProver) prover = ir_prover_new (model, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_step (prover, 1, proof, &error));
  g_test_message ("%s: max abs %g: %s", ir_verdict_name (proof->verdict), proof->max_abs,
                  proof->text != NULL ? proof->text : "");
}

static void
test_function (void)
{
  IrProof proof;

  prove_function (CALLER "{ a = my.Twice (x)  y = my.Twice (a) }" FUNCTION, "p", &proof);
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_EXACT);
  g_assert_null (proof.text);
  prove_function (CALLER "{ a = my.Twice (x)  y = my.Twice (a) }" FUNCTION, "a", &proof);
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_BROKEN);
  prove_function (CALLER "{ y = Relu (x) }" FUNCTION, "a", &proof);
  g_assert_cmpint (proof.verdict, ==, IR_VERDICT_EXACT);
  g_assert_nonnull (strstr (proof.text, "no node calls"));
}

/* Loops and branches themselves change here: they run before and after as a whole. */
static void
test_control (void)
{
  static const char *const texts[] = {
    ONE
    "{ m = Constant <value = int64 {3}> ()  c = Constant <value = bool {1}> ()  y = Loop (m, c, x) <body "
    "= b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t) { more = Identity (go)  "
    "a = Exp (x)  t = Add (s, a) }> }",
    ONE
    "{ c = Constant <value = bool {1}> ()  y = If (c) <then_branch = t () => (float[n,4] u) { a = Relu (x) "
    " u = Neg (a) }, else_branch = e () => (float[n,4] v) { v = Exp (x) }> }",
    /* it differs by so much that float64 decides: there casts and constants of the body are wide */
    "(float[32,64] x, float[64,64] w) => (float[32,64] y) { m = Constant <value = int64 {32}> ()  y = Loop (m, ) "
    "<body = b (int64 i, bool go) => (bool more, float[64] r) { more = Constant <value = bool {1}> ()  e = Gather "
    "(x, i)  p = MatMul (e, w)  k = Constant <value = float {90.5}> ()  q = Mul (p, k)  n = Cast <to = 1> (i)  "
    "s = Mul (q, n)  r = Sin (s) }> }",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (IrModel) model = test_model (texts[i]);
      g_autoptr (GRand) rand = g_rand_new_with_seed (5);
      IrProofSummary summary;

      test_model_randomize (model, rand);
      g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
      prove_all ("default", "cpu", model, inputs, &summary);
      g_assert_cmpuint (ir_history_n_steps (model), >, 0);
      g_assert_cmpuint (summary.n[IR_VERDICT_BROKEN] + summary.n[IR_VERDICT_SKIPPED], ==, 0);
    }
}

/* -- cost -- */

/* Ten steps at the end of a costly chain: what lies before them is not computed again. */
static void
test_cost (void)
{
  g_autoptr (IrModel) model = test_model (
      "(float[1,16,40,40] x, float[16,16,3,3] W, float[16,16,3,3] X) => (float[1,16,36,36] y) { c = Conv (x, W) "
      " d = Conv (c, X)  e = Relu (d)  f = Relu (e)  g = Relu (f)  h = Identity (g)  i = Neg (h)  j = "
      "Neg (i)  y = Relu (j) }");
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("canonical", &error);
  IrProofSummary summary;

  g_assert_no_error (error);
  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_autoptr (IrProver) prover = ir_prover_new (model, inputs, NULL, NULL, &error);
  g_assert_true (ir_prover_prove_all (prover, &summary, NULL, NULL, NULL, &error));
  const IrProofCost *cost = ir_prover_cost (prover);
  g_test_message ("kernels: %u of old sides, %u of new ones", cost->n_old, cost->n_new);
  g_assert_cmpuint (summary.n[IR_VERDICT_EXACT], ==, ir_history_n_steps (model));
  g_assert_cmpuint (summary.n[IR_VERDICT_EXACT], >=, 3);
  g_assert_cmpuint (cost->n_old + cost->n_new, <=, 1); /* a Neg that only the old side has */
  g_assert_cmpint (cost->wide_ns, ==, 0);
}

/* The bias is folded in two steps, and the nodes behind the convolutions that have it change: these
 * are found again, although another value is their input now. */
static void
test_folded (void)
{
  g_autoptr (IrModel) model = test_model (
      "(float[1,16,40,40] x, float[16,16,3,3] W, float[16,16,3,3] X) => (float[1,16,36,36] y) { "
      "z = Constant <value = float {0.5}> ()  s = Constant <value_ints = [16]> ()  "
      "b = Expand (z, s)  a = Neg (b)  c = Conv (x, W, a)  d = Conv (c, X, a)  y = Relu (d) }");
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GError) error = NULL;
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("default", &error);
  IrProofSummary summary;

  g_assert_no_error (error);
  test_model_randomize (model, rand);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_autoptr (IrProver) prover = ir_prover_new (model, inputs, NULL, NULL, &error);
  g_assert_true (ir_prover_prove_all (prover, &summary, NULL, NULL, NULL, &error));
  const IrProofCost *cost = ir_prover_cost (prover);
  g_test_message ("kernels: %u of old sides, %u of new ones", cost->n_old, cost->n_new);
  g_assert_cmpuint (summary.n[IR_VERDICT_EXACT], ==, ir_history_n_steps (model));
  g_assert_cmpuint (cost->n_old, ==, 0);
}

/* Functions whose vectors round otherwise than the reference does, here and there. */
static void
test_fold_by_backend (void)
{
  g_autoptr (GString)
      text = g_string_new ("(float[n,256] x) => (float[n,256] y) <float[256] c = {");
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  g_autoptr (GError) error = NULL;
  const IrBackend *cpu = ir_backend_find ("cpu");
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .backend = cpu };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("canonical", &error);
  IrProofSummary summary;

  for (guint i = 0; i < 256; i++)
    g_string_append_printf (text, "%s%.6f", i > 0 ? ", " : "", g_rand_double_range (rand, -4, 4));
  g_string_append (text, "}> { s = Sin (c)  e = Exp (s)  t = Tanh (e)  f = Erf (t)  "
                         "y = Add (x, f) }");
  g_autoptr (IrModel) model = test_model (text->str);
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_autoptr (IrProver) prover = ir_prover_new (model, inputs, cpu, NULL, &error);
  g_assert_true (ir_prover_prove_all (prover, &summary, NULL, NULL, NULL, &error));
  g_assert_cmpuint (ir_history_n_steps (model), >=, 4);
  g_assert_cmpuint (summary.n[IR_VERDICT_EXACT], ==, ir_history_n_steps (model));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/proof/a planted wrong sign is broken", test_wrong_sign);
  g_test_add_func ("/proof/an error of five in ten thousand is broken", test_slightly_wrong);
  g_test_add_func ("/proof/a new NaN is broken", test_new_nan);
  g_test_add_func ("/proof/a product by the reciprocal is rounding", test_rounding);
  g_test_add_func ("/proof/what is subnormal rounds", test_subnormal);
  g_test_add_func ("/proof/a chain of folds and fusions is proved step by step", test_chain);
  g_test_add_func ("/proof/no step on the digits model is broken", test_digits);
  g_test_add_func ("/proof/an edit by hand is skipped", test_edit_is_skipped);
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *path = g_strconcat ("/proof/right and wrong are told apart in ",
                                           places[i].name, NULL);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_place);
    }
  g_test_add_func ("/proof/a step in a function is seen at its calls", test_function);
  g_test_add_func ("/proof/loops and branches that change are run as a whole", test_control);
  g_test_add_func ("/proof/what lies before a step is not computed again", test_cost);
  g_test_add_func ("/proof/what hangs on a folded constant is not computed again", test_folded);
  g_test_add_func ("/proof/folding changes no bit of what a back end computes",
                   test_fold_by_backend);
  return g_test_run ();
}
