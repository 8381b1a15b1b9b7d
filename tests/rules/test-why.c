/* Why not: the best partial match of a rule at a node, and what keeps it from being a match. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include "passes/debug/why.h"

#include <string.h>

#define CONV_BN                                                                                    \
  "(float[n,3,7,6] x, float[4,3,3,3] W, float[4] S, float[4] T, float[4] M, float[4] V) => "       \
  "(float[n,4,5,4] y"

static void
ask (const char *text, const char *passes, const char *rule, const char *output, IrWhy *why)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_auto (GStrv) names = g_strsplit (passes, " ", -1);
  g_autoptr (GError) error = NULL;
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .record_refusals = TRUE };
  g_autoptr (IrPipeline)
      pipeline = ir_pipeline_new_from_names ((const char *const *) names, &error);

  g_assert_no_error (error);
  test_model_randomize (model, rand);
  IrNodeId node = ir_graph_find_value (model->main, output)->producer->id;
  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_assert_no_error (error);
  guint cursor = ir_history_cursor (model);
  g_assert_true (ir_why (model, rule, node, IR_CLASS_ROUNDING, why, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (ir_history_cursor (model), ==, cursor);
  g_test_message ("%s: %u of %u; %s; found %s; needed %s", ir_why_answer_name (why->answer),
                  why->n_matched, why->n_parts, why->reason != NULL ? why->reason : "-",
                  why->found != NULL ? why->found : "-", why->needed != NULL ? why->needed : "-");
}

static void
test_fired (void)
{
  g_auto (IrWhy) why = { 0 };

  ask (CONV_BN ") { c = Conv (x, W)  y = BatchNormalization (c, S, T, M, V) }", "fold-conv-bn",
       "fold-conv-bn", "y", &why);
  g_assert_cmpint (why.answer, ==, IR_WHY_FIRED);
  g_assert_cmpuint (why.steps->len, ==, 1);
  g_assert_cmpuint (g_array_index (why.steps, guint, 0), ==, 1);
}

static void
test_other_producer (void)
{
  g_auto (IrWhy) why = { 0 };
  const IrWhyPart *root, *missing;

  ask (CONV_BN ") { c = Conv (x, W)  r = Relu (c)  y = BatchNormalization (r, S, T, M, V) }",
       "fold-conv-bn", "fold-conv-bn", "y", &why);
  g_assert_cmpint (why.answer, ==, IR_WHY_REFUSED);
  g_assert_nonnull (why.reason);
  g_assert_nonnull (strstr (why.found, "Relu"));
  g_assert_nonnull (strstr (why.needed, "Conv"));
  g_assert_cmpuint (why.n_matched, >=, 1);
  g_assert_cmpuint (why.n_matched, <, why.n_parts);
  g_assert_cmpuint (why.parts->len, ==, 2);
  root = why.parts->pdata[0];
  missing = why.parts->pdata[1];
  g_assert_cmpuint (root->node, ==, why.node);
  g_assert_cmpuint (missing->node, ==, 0);
  g_assert_cmpint (missing->user, ==, 0);
  g_assert_cmpuint (missing->slot, ==, 0);
  g_assert_cmpstr (why.missing, ==, "Conv or ConvTranspose");
}

static IrSceneState
state_of (const IrSceneMarks *marks, IrNodeId node)
{
  return GPOINTER_TO_INT (g_hash_table_lookup (marks->states, GUINT_TO_POINTER (node)));
}

static void
test_marks (void)
{
  g_auto (IrWhy) why = { 0 };
  g_autoptr (IrSceneMarks) marks = NULL;
  const IrSceneGhost *ghost;

  ask (CONV_BN ") { c = Conv (x, W)  r = Relu (c)  y = BatchNormalization (r, S, T, M, V) }",
       "fold-conv-bn", "fold-conv-bn", "y", &why);
  marks = ir_why_marks (&why);
  g_assert_cmpint (state_of (marks, why.node), ==, IR_SCENE_MATCHED);
  g_assert_cmpuint (why.misfit_node, !=, 0);
  g_assert_cmpint (state_of (marks, why.misfit_node), ==, IR_SCENE_MISFIT);
  g_assert_cmpuint (marks->ghosts->len, ==, 1);
  ghost = &g_array_index (marks->ghosts, IrSceneGhost, 0);
  g_assert_cmpstr (ghost->title, ==, "Conv or ConvTranspose");
  g_assert_cmpuint (ghost->user, ==, why.node);
  g_assert_cmpuint (ghost->slot, ==, 0);
}

/* The longer pattern: with the Add goes the Conv above it. */
static void
test_ghosts_above (void)
{
  g_auto (IrWhy) why = { 0 };
  g_autoptr (IrSceneMarks) marks = NULL;
  const IrSceneGhost *second;

  ask ("(float[n,3,7,6] x) => (float[n,3,7,6] y) { m = Neg (x)  y = Relu (m) }", "fuse-activation",
       "fuse-conv-relu", "y", &why);
  marks = ir_why_marks (&why);
  g_assert_cmpuint (marks->ghosts->len, ==, 1);
  g_clear_pointer (&marks, ir_scene_marks_unref);
  ir_why_clear (&why);
  ask ("(float[n,3,7,6] x, float[n,3,7,6] w) => (float[n,3,7,6] y) { m = Neg (x)  y = Mul (m, x) }",
       "fuse-gelu", "fuse-quick-gelu", "y", &why);
  marks = ir_why_marks (&why);
  g_assert_cmpuint (marks->ghosts->len, >=, 2);
  second = &g_array_index (marks->ghosts, IrSceneGhost, 1);
  g_assert_cmpuint (second->user, ==, 0);
  g_assert_cmpint (second->feeds, ==, 0);
}

/* Who stands outside is named, wherever it stands among those who read the value. */
static void
test_intruder_anywhere (void)
{
  static const char *const bodies[] = {
    ", float[n,4,5,4] z) { c = Conv (x, W)  z = Neg (c)  y = BatchNormalization (c, S, T, M, V) }",
    ", float[n,4,5,4] z) { c = Conv (x, W)  y = BatchNormalization (c, S, T, M, V)  z = Neg (c) }",
  };

  for (guint i = 0; i < G_N_ELEMENTS (bodies); i++)
    {
      g_auto (IrWhy) why = { 0 };
      g_autofree char *text = g_strconcat (CONV_BN, bodies[i], NULL);
      g_autoptr (IrModel) model = test_model (text);

      ask (text, "fold-conv-bn", "fold-conv-bn", "y", &why);
      g_assert_cmpuint (why.intruder, ==, ir_graph_find_value (model->main, "z")->producer->id);
    }
}

static void
test_all_rules (void)
{
  g_autoptr (IrModel) model = test_model (
      CONV_BN ") { c = Conv (x, W)  r = Relu (c)  y = BatchNormalization (r, S, T, M, V) }");
  const IrNodeId node = ir_graph_find_value (model->main, "y")->producer->id;
  g_autoptr (GPtrArray) whys = ir_why_rules (model, node, IR_CLASS_ROUNDING);
  g_autoptr (GPtrArray) none = ir_why_rules (model, 999, IR_CLASS_ROUNDING);
  gboolean found = FALSE;

  g_assert_cmpuint (none->len, ==, 0);
  for (guint i = 0; i < whys->len; i++)
    {
      const IrWhy *why = whys->pdata[i];

      g_assert_nonnull (strstr (why->operators, "BatchNormalization"));
      g_assert_cmpint (why->answer, ==, IR_WHY_NOT_RUN);
      found |= strcmp (why->rule, "fold-conv-bn") == 0;
    }
  g_assert_true (found);
}

static const IrWhy *
why_of (const GPtrArray *whys, const char *rule)
{
  for (guint i = 0; i < whys->len; i++)
    if (strcmp (((const IrWhy *) whys->pdata[i])->rule, rule) == 0)
      return whys->pdata[i];
  return NULL;
}

/* No pipeline has run: what fits is tried, and what was tried leaves the graph as it is. */
static void
test_tries (void)
{
  g_autoptr (IrModel) model = test_model (CONV_BN ") { c = Conv (x, W)  y = BatchNormalization (c, "
                                                  "S, T, M, V) }");
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  test_model_randomize (model, rand);
  const IrNodeId node = ir_graph_find_value (model->main, "y")->producer->id;
  g_autoptr (GPtrArray) whys = ir_why_rules (model, node, IR_CLASS_ROUNDING);
  IrWhy *why = (IrWhy *) why_of (whys, "fold-conv-bn");
  const guint n_parts = why->n_parts;

  g_assert_true (why->holds);
  ir_why_try (model, why, IR_CLASS_ROUNDING, NULL);
  g_assert_cmpint (why->answer, ==, IR_WHY_NOT_RUN);
  g_assert_true (why->holds);
  g_assert_null (why->reason);
  g_assert_cmpuint (ir_history_n_steps (model), ==, 0);
  ir_why_try (model, why, IR_CLASS_EXACT, NULL);
  g_assert_cmpint (why->answer, ==, IR_WHY_CLASS);
  g_assert_cmpuint (why->n_parts, ==, n_parts);
  why->answer = IR_WHY_NOT_RUN;
  ir_why_note_refusal (why, "the weights are shared");
  g_assert_false (why->holds);
  g_assert_cmpstr (why->reason, ==, "the weights are shared");
  g_assert_cmpuint (why->n_matched, <, why->n_parts);
}

static void
test_two_uses (void)
{
  g_auto (IrWhy) why = { 0 };

  ask (CONV_BN ", float[n,4,5,4] z) { c = Conv (x, W)  y = BatchNormalization (c, S, T, M, V)  z = "
               "Relu (c) }",
       "fold-conv-bn", "fold-conv-bn", "y", &why);
  g_assert_cmpint (why.answer, ==, IR_WHY_REFUSED);
  g_assert_cmpuint (why.n_matched + 1, ==, why.n_parts); /* the whole pattern, no condition */
  g_assert_nonnull (strstr (why.reason, "c "));
  g_assert_null (why.found);
  g_assert_null (why.missing);
  g_assert_cmpuint (why.intruder, !=, 0);
  for (guint i = 0; i < why.parts->len; i++)
    g_assert_cmpuint (((IrWhyPart *) why.parts->pdata[i])->node, !=, 0);
}

static void
test_other_operator (void)
{
  g_auto (IrWhy) why = { 0 };

  ask (CONV_BN ", float[n,4,5,4] z) { c = Conv (x, W)  y = BatchNormalization (c, S, T, M, V)  z = "
               "Relu (c) }",
       "fold-conv-bn", "fold-conv-bn", "c", &why);
  g_assert_cmpint (why.answer, ==, IR_WHY_OTHER_OPERATOR);
  g_assert_cmpstr (why.operators, ==, "BatchNormalization");
  g_assert_cmpuint (why.roots->len, ==, 1);
}

static void
test_not_run (void)
{
  g_auto (IrWhy) why = { 0 };

  ask (CONV_BN ") { c = Conv (x, W)  y = BatchNormalization (c, S, T, M, V) }", "cancel-reshapes",
       "fold-conv-bn", "y", &why);
  g_assert_cmpint (why.answer, ==, IR_WHY_NOT_RUN);
  g_assert_true (why.holds);
}

static void
test_removed (void)
{
  g_auto (IrWhy) why = { 0 };

  ask (
      "(float[n,3,7,6] x, float[4,3,3,3] W, float[4] S, float[4] T, float[4] M, float[4] V) => "
      "(float[n,3,7,6] y) { c = Conv (x, W)  y = Relu (x)  u = BatchNormalization (c, S, T, M, V) }",
      "eliminate-dead-code fold-conv-bn", "fold-conv-bn", "u", &why);
  g_assert_cmpint (why.answer, ==, IR_WHY_MATCHES);
  g_assert_cmpuint (why.removed_by, >=, 1);
  g_assert_cmpuint (why.at_step, ==, why.removed_by - 1);
}

static void
test_unknown (void)
{
  g_autoptr (IrModel) model = test_model ("(float[2] x) => (float[2] y) { y = Relu (x) }");
  g_autoptr (GError) error = NULL;
  g_auto (IrWhy) why = { 0 };

  g_assert_false (ir_why (model, "no-such-rule", 1, IR_CLASS_ROUNDING, &why, &error));
  g_assert_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE);
  g_clear_error (&error);
  g_assert_false (ir_why (model, "fold-conv-bn", 999, IR_CLASS_ROUNDING, &why, &error));
  g_assert_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE);
}

/* -- rewrites that would be slower, by the table of rates -- */

#define ATTEND "s = MatMul (q, t)  p = Softmax <axis: int = -1> (s)  y = MatMul (p, v) }"

/* One query, and keys that lie as the product needs them. */
static void
test_slower (void)
{
  g_auto (IrWhy) why = { 0 };

  ask ("(float[1,2,1,8] q, float[1,2,8,99] t, float[1,2,99,8] v) => (float[1,2,1,8] y) { " ATTEND,
       "fuse-attention", "fuse-late-attention-plain", "y", &why);
  g_assert_cmpint (why.answer, ==, IR_WHY_REFUSED);
  g_assert_nonnull (strstr (why.reason, "table of rates"));
  g_assert_nonnull (strstr (why.reason, "us before"));
}

/* What is not known is not compared; what another Transpose undoes is no work. */
static void
test_not_slower (void)
{
  const char *const texts[] = {
    "(float[1,2,1,8] q, float[1,2,8,many] t, float[1,2,many,8] v) => (float[1,2,1,8] y) { " ATTEND,
    "(float[1,2,1,8] q, float[1,2,99,8] k, float[1,2,99,8] v) => (float[1,2,1,8] y) { t = Transpose "
    "<perm: ints = [0, 1, 3, 2]> (k)  " ATTEND,
    "(float[1,2,1,8] q, float[1,2,99,8] k, float[1,2,99,8] v) => (float[1,2,1,8] y) { u = Transpose "
    "<perm: ints = [0, 1, 3, 2]> (k)  t = Neg (u)  " ATTEND,
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_auto (IrWhy) why = { 0 };

      ask (texts[i], "fuse-attention", "fuse-late-attention-plain", "y", &why);
      g_assert_cmpint (why.answer, ==, IR_WHY_FIRED);
    }
}

#define PRODUCTS(ROWS)                                                                             \
  "(float[" ROWS ",16] x, float[16,16] A, float[16,16] B, float[16,16] C) => (float[" ROWS         \
  ",16] y) { a = MatMul (x, A)  b = MatMul (x, B)  c = MatMul (x, C)  d = Add (a, b)  y = Add "    \
  "(d, c) }"

/* Of a pass that runs code; many short rows take long to be cut apart. */
static void
test_slower_in_code (void)
{
  g_auto (IrWhy) many = { 0 };
  g_auto (IrWhy) few = { 0 };

  ask (PRODUCTS ("4000"), "merge-matmuls", "merge-matmuls", "a", &many);
  g_assert_cmpint (many.answer, ==, IR_WHY_CODE);
  g_assert_nonnull (strstr (many.reason, "table of rates"));
  ask (PRODUCTS ("1"), "merge-matmuls", "merge-matmuls", "a", &few);
  g_assert_cmpint (few.answer, ==, IR_WHY_FIRED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/why/a rule that fired names its step", test_fired);
  g_test_add_func ("/why/another producer is found where one is needed", test_other_producer);
  g_test_add_func ("/why/a condition beyond the pattern is said in a sentence", test_two_uses);
  g_test_add_func ("/why/a node of another operator leads to those below it", test_other_operator);
  g_test_add_func ("/why/a rule whose pass did not run may match all the same", test_not_run);
  g_test_add_func ("/why/a node that was taken is looked at before", test_removed);
  g_test_add_func ("/why/what fits, what does not and what is missing is marked", test_marks);
  g_test_add_func ("/why/what a missing node would take is missing with it", test_ghosts_above);
  g_test_add_func ("/why/who reads what would go is named, first or last", test_intruder_anywhere);
  g_test_add_func ("/why/a rule that fits is tried before its pass runs", test_tries);
  g_test_add_func ("/why/what the table of rates calls slower is refused", test_slower);
  g_test_add_func ("/why/what is not known to be slower is done", test_not_slower);
  g_test_add_func ("/why/a pass that runs code is refused by the table, too", test_slower_in_code);
  g_test_add_func ("/why/all rules of a node are compared", test_all_rules);
  g_test_add_func ("/why/unknown rules and nodes are refused", test_unknown);
  return g_test_run ();
}
