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
  g_assert_true (ir_prover_prove_step (prover, 1, proof, &error));
  g_assert_no_error (error);
  g_assert_cmpint (ir_history_step (model, 1)->proof.verdict, ==, proof->verdict);
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
prove_all (const char *pipeline_name, IrModel *model, GHashTable *inputs, IrProofSummary *summary)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load (pipeline_name, &error);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .verify = TRUE };
  IrPipelineResult result;

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_no_error (error);
  g_autoptr (IrProver)
      prover = ir_prover_new (model, inputs, ir_backend_find ("ref"), NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_prover_prove_all (prover, summary, NULL, NULL, NULL, &error));
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
  prove_all ("default", model, inputs, &summary);
  g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, 1);
  g_assert_cmpuint (summary.n[IR_VERDICT_BROKEN] + summary.n[IR_VERDICT_SKIPPED], ==, 0);
  g_assert_cmpuint (summary.n[IR_VERDICT_ROUNDING], >=, 1);
  g_assert_cmpuint (summary.n[IR_VERDICT_EXACT], >=, 3);
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
  prove_all ("default", model, inputs, &summary);
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/proof/a planted wrong sign is broken", test_wrong_sign);
  g_test_add_func ("/proof/an error of five in ten thousand is broken", test_slightly_wrong);
  g_test_add_func ("/proof/a new NaN is broken", test_new_nan);
  g_test_add_func ("/proof/a product by the reciprocal is rounding", test_rounding);
  g_test_add_func ("/proof/a chain of folds and fusions is proved step by step", test_chain);
  g_test_add_func ("/proof/no step on the digits model is broken", test_digits);
  g_test_add_func ("/proof/an edit by hand is skipped", test_edit_is_skipped);
  return g_test_run ();
}
