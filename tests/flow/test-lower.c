/* lower-control-flow: a step for each construct, what stays and why. That nothing is computed otherwise is
 * what fuzz-flow tries. */
#include "config.h"

#include "core/ir/frames.h"
#include "core/op/trips.h"
#include "tests/rules/pass-test.h"

#include <string.h>

#define PASS "lower-control-flow"
#define BODY                                                                                       \
  "<body = b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t) { more = Identity (go) "

static const struct
{
  const char *title, *text;
  guint n_nodes; /* that are left, Constants not counted */
  guint n_steps;
  const char *reason; /* (nullable) of a refusal */
} cases[] = {
  { "an If of a captured value",
    "(float[n,4] x, bool c) => (float[n,4] y) { y = If (c) <then_branch = t () => (u) { u = Neg (x) }, "
    "else_branch = e () => (v) { v = Exp (x) }> }",
    4, 1, NULL },
  { "a captured value that is handed out as it is, and a constant",
    "(float[n,4] x, bool c) => (float[n,4] y) { y = If (c) <then_branch = t () => (u) { u = Identity (x) }, "
    "else_branch = e () => (v) { v = Constant <value_float = 1.0> () }> }",
    /* two Switches, the pivot, an Identity, Merge */ 5, 1, NULL },
  { "a Loop",
    "(float[n,4] x, int64 m, bool c) => (float[n,4] y) { y = Loop (m, c, x) " BODY
    "t = Neg (s) }> }",
    /* 4 Enters, 3 Merges, Less, And, LoopCond, 3 Switches, Add, 3 NextIterations, Exit; 2 of the body */
    20, 1, NULL },
  { "an If in a Loop",
    "(float[n,4] x, int64 m, bool c) => (float[n,4] y) { y = Loop (m, c, x) " BODY
    "t = If (go) <then_branch = p () => (u) { u = Neg (s) }, else_branch = e () => (v) { v = Exp (s) }> }> }",
    /* and a predicate of its own: the condition is read twice */ 24, 2, NULL },
  { "what a Loop stacks",
    "(float[n,4] x, int64 m, bool c) => (float[m,n,4] y) { l, y = Loop (m, c, x) "
    "<body = b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t, float[n,4] r) { more = Identity (go) "
    "t = Neg (s) r = Exp (s) }> }",
    /* the Loop above without its Exit, Exp, and of what is stacked: SequenceEmpty, Enter, Merge, Switch,
       SequenceInsert, NextIteration, Exit, Stack */
    28, 1, NULL },
  { "what a Loop stacks that never runs",
    "(float[n,4] x) => (float[m,n,4] y) { m = Constant <value_int = 0> () l, y = Loop (m, , x) "
    "<body = b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t, float[n,4] r) { more = Identity (go) "
    "t = Neg (s) r = Exp (s) }> }",
    /* and what is true in place of a condition */ 28, 1, NULL },
  { "a Scan",
    "(float[n,4] x) => (float[n,4] y) { y = Scan <num_scan_inputs = 1, body = b (float[4] s) => (float[4] t) { t = Neg (s) }> (x) }",
    /* Shape and Gather, 4 Enters, 2 Merges, Less, LoopCond, 2 Switches, Gather, Neg, Add, 2 NextIterations,
       SequenceEmpty, SequenceInsert, Exit, Stack */
    21, 1, NULL },
  { "a Scan from the end, along other axes, of nothing",
    "(float[3] k) => (float[3] q, float[3,0] y) { sx = Constant <value_ints = [4, 0]> () x = ConstantOfShape (sx) "
    "su = Constant <value_ints = [0, 4]> () u = ConstantOfShape (su) "
    "q, y = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [1, 0], scan_output_axes = [1], "
    "scan_output_directions = [1], body = b (float[3] s, float[4] t, float[4] v) => (float[3] s2, float[3] z) "
    "{ m = ReduceSum <keepdims = 0> (t) n2 = ReduceSum <keepdims = 0> (v) s1 = Add (s, m) s2 = Add (s1, n2) z = Exp (s1) }> (k, x, u) }",
    33, 1, NULL },
  { "a SequenceMap",
    "(float[n,4] x) => (float[n,4] y) { s = SequenceConstruct (x, x) t = SequenceMap (s) "
    "<body = b (float[n,4] e) => (float[n,4] f) { f = Neg (e) }> zero = Constant <value_int = 0> () y = SequenceAt (t, zero) }",
    /* as a Scan, with SequenceLength and SequenceAt and without Stack; what is in front and behind */
    21, 1, NULL },
  { "a SequenceMap of two sequences stays",
    "(float[n,4] x) => (float[n,4] y) { s = SequenceConstruct (x, x) u = SequenceConstruct (x, x) t = SequenceMap (s, u) "
    "<body = b (float[n,4] e, float[n,4] g) => (float[n,4] f) { f = Sub (e, g) }> zero = Constant <value_int = 0> () "
    "y = SequenceAt (t, zero) }",
    5, 0, "equally long" },
  { "a body that draws stays",
    "(float[n,4] x, int64 m, bool c) => (float[n,4] y) { y = Loop (m, c, x) " BODY
    "r = RandomNormalLike (s) t = Add (r, s) }> }",
    4, 0, "random" },
};

static void
expect_same_values (IrModel *original, IrModel *model)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GHashTable) inputs = test_inputs (original, rand, FALSE);
  const IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) before = ir_model_run (original, inputs, &options, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (IrRun) after = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *difference = test_compare (original, before, model, after, 0);
  g_assert_cmpstr (difference, ==, NULL);
}

static void
test_case (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) original = NULL;
  g_autoptr (IrModel) model = test_rewrite (cases[index].text, PASS, cases[index].n_nodes,
                                            cases[index].reason, &original);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  guint n_steps = 0;

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    n_steps += g_str_has_prefix (ir_history_step (model, i)->rule, "lower-");
  g_assert_cmpuint (n_steps, ==, cases[index].n_steps);
  ir_graph_report_frames (model->main, problems);
  g_assert_cmpuint (problems->len, ==, 0);
  g_assert_cmpint (ir_graph_has_tokens (model->main), ==, cases[index].n_steps > 0);
  expect_same_values (original, model);
}

/* Passes go on among tokens: equal nodes of one side become one, those of two sides do not. */
static void
test_rewritten (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) original = NULL;
  g_autoptr (IrModel) model = test_rewrite (
      "(float[n,4] x, bool c) => (float[n,4] y) { y = If (c) <then_branch = t () => (u) { a = Neg (x) b = Neg (x) "
      "u = Add (a, b) }, else_branch = e () => (v) { d = Neg (x) v = Identity (d) }> }",
      PASS, 7, NULL, &original);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load ("default", &error);
  const guint n_nodes = ir_model_n_counted_nodes (model);

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, n_nodes - 2); /* b, and the Identity */
  expect_same_values (original, model);
}

static char *
frames_of (const IrModel *model)
{
  GString *names = g_string_new (NULL);
  g_autoptr (IrFrames) frames = ir_frames_new (model->main);

  for (guint i = 1; i < frames->frames->len; i++)
    g_string_append_printf (names, "%s ", g_array_index (frames->frames, IrFrame, i).name);
  return g_string_free (names, FALSE);
}

/* A frame is called what its loop is; two that have one name are told apart. */
static void
test_names (void)
{
  g_autoptr (IrModel) original = NULL;
  g_autoptr (IrModel) model = test_rewrite (
      "(float[n,4] x, int64 m, bool c) => (float[n,4] y, float[n,4] z, float[n,4] w) { "
      "[twice] y = Loop (m, c, x) " BODY
      "t = Neg (s) }> [twice] z = Loop (m, c, x) <body = h (int64 i2, bool p2, "
      "float[n,4] s2) => (bool q2, float[n,4] t2) { q2 = Identity (p2) t2 = Neg (s2) }> w = Loop (m, c, x) <body = f (int64 i3, "
      "bool p3, float[n,4] s3) => (bool q3, float[n,4] t3) { q3 = Identity (p3) t3 = Neg (s3) }> }",
      PASS, 60, NULL, &original);
  g_autofree char *names = frames_of (model);

  g_assert_cmpstr (names, ==, "twice z w ");
  expect_same_values (original, model);
}

/* What was made in case that somebody waits for it goes where nobody does. */
static void
test_nothing_unread (void)
{
  g_autoptr (IrModel) original = NULL;
  g_autoptr (IrModel) model = test_rewrite (
      "(float[n,4] x, int64 m, bool c, bool d) => (float[n,4] y) { y = Loop (m, c, x) " BODY
      "r = Neg (s) t = If (d) <then_branch = a () => (u) { u = Exp (r) }, else_branch = b () => (v) { v = Abs (r) }> }> }",
      PASS, 25, NULL, &original);

  for (IrNodeId id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      if (node != NULL && ir_node_is (node, "Identity"))
        g_assert_true (node->outputs[0]->n_uses > 0);
    }
  expect_same_values (original, model);
}

static guint
count_calls (const IrModel *model)
{
  guint n = 0;

  for (IrNodeId id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      n += node != NULL && strcmp (node->domain, "local") == 0;
    }
  return n;
}

/* Calls of functions among tokens, in a frame and on one side of a choice, are inlined there and go back with it. */
static void
test_functions (void)
{
  static const char *const passes[] = { PASS, "inline-functions", "eliminate-dead-code",
                                        "raise-control-flow" };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) original = ir_text_read (
      "<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\n"
      "g (float[3] x, int64 n, bool c) => (float[3] y) { a = local.twice (x) z = Loop (n, \"\", a) "
      "<body = b (int64 i, bool go, float[3] s) => (bool on, float[3] t) { on = Identity (go) t = local.twice (s) }> "
      "y = If (c) <then_branch = h () => (float[3] p) { p = local.twice (z) }, else_branch = e () => (float[3] q) { "
      "q = Neg (z) }> }\n"
      "<domain: \"local\", opset_import: [\"\" : 21]>\ntwice (u) => (v) { v = Add (u, u) }\n",
      -1, problems, &error);
  g_autoptr (IrModel) model = NULL;

  g_assert_no_error (error);
  model = ir_model_clone (original);
  for (guint i = 0; i < G_N_ELEMENTS (passes); i++)
    {
      g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find (passes[i]));
      g_assert_true (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (count_calls (model), ==, i == 0 ? 3 : 0);
      g_assert_cmpint (ir_graph_has_tokens (model->main), ==, i < 3);
      expect_same_values (original, model);
    }
}

/* Each step is proved by running the graph as a whole; a step that is wrong is found. */
static void
test_proved (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) original = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (IrModel) model = test_rewrite (
      "(float[n,4] x, bool c) => (float[n,4] y) { z = If (c) <then_branch = t () => (u) { u = Neg (x) }, "
      "else_branch = e () => (v) { v = Exp (x) }> y = If (c) <then_branch = t2 () => (u2) { u2 = Exp (z) }, "
      "else_branch = e2 () => (v2) { v2 = Abs (z) }> }",
      PASS, 10, NULL, &original);
  guint n = ir_history_n_steps (model);
  IrEdit *edit = ir_edit_new (model);
  IrNode *merge = ir_graph_output (model->main, 0)->producer;
  IrNode *exp = merge->inputs[1]->producer;

  g_assert_cmpstr (exp->op_type, ==, "Exp");
  ir_edit_begin_pass (edit, "wrong");
  ir_edit_begin_step (edit, "wrong", IR_CLASS_EXACT, exp->id);
  ir_edit_set_op (edit, exp, "Sin", "", "");
  ir_edit_set_op (edit, merge->inputs[0]->producer, "Sin", "", "");
  ir_edit_end_step (edit);
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  g_autoptr (GHashTable) inputs = test_inputs (original, rand, FALSE);
  g_autoptr (IrProver)
      prover = ir_prover_new (model, inputs, ir_backend_find ("ref"), NULL, &error);
  g_assert_no_error (error);
  for (guint i = 1; i <= n + 1; i++)
    {
      IrProof proof;
      g_assert_true (ir_prover_prove_step (prover, i, &proof, &error));
      if (g_str_has_prefix (ir_history_step (model, i)->rule, "lower-"))
        g_assert_cmpint (proof.verdict, ==, IR_VERDICT_EXACT);
      else if (i == n + 1)
        g_assert_cmpint (proof.verdict, ==, IR_VERDICT_BROKEN);
    }
}

/* How often a loop runs is known of its tokens, if it was of the Loop. */
static void
test_trips (void)
{
  static const struct
  {
    const char *limit, *condition;
    gint64 trips;
  } loops[] = {
    { "", "more = Less (i, seven)", 8 },
    { "", "k = Add (one, t) more = Less (k, seven)", 6 },
    { "", "more = LessOrEqual (s, seven)", 9 },
    { "", "k = Greater (t, seven) more = Not (k)", 8 },
    { "", "k = GreaterOrEqual (seven, t) more = And (yes, k)", 8 },
    { "", "k = Sub (t, seven) more = Less (k, one)", 8 },
    { "seven", "more = Identity (go)", 7 },
    { "", "f = Cast <to = 1> (t) k = Sin (f) more = Less (k, half)", -1 },
    { "", "more = Less (seven, t)", 1 },
    { "", "k = Neg (t) more = Less (k, seven)", -1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (loops); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *text = g_strdup_printf (
          "() => (int64 y) <int64 zero = {0}, int64 one = {1}, int64 seven = {7}, float half = {0.5}, bool yes = {1}> "
          "{ [loop] y = Loop (%s, yes, zero) <body = b (int64 i, bool go, int64 s) => (bool more, int64 t) "
          "{ t = Add (s, one) %s }> }",
          loops[i].limit, loops[i].condition);
      g_autoptr (IrModel) model = test_model (text);
      g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find (PASS));

      g_assert_cmpint (ir_node_trips (ir_graph_find_node (model->main, "loop")), ==,
                       loops[i].trips);
      g_assert_true (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error));
      g_autoptr (IrFrames) frames = ir_frames_new (model->main);
      g_assert_cmpuint (frames->frames->len, ==, 2);
      g_assert_cmpint (g_array_index (frames->frames, IrFrame, 1).trips, ==, loops[i].trips);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/lower/%s", cases[i].title);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_case);
    }
  g_test_add_func ("/lower/rewritten", test_rewritten);
  g_test_add_func ("/lower/names of frames", test_names);
  g_test_add_func ("/lower/nothing unread", test_nothing_unread);
  g_test_add_func ("/lower/functions", test_functions);
  g_test_add_func ("/lower/proved", test_proved);
  g_test_add_func ("/lower/trips", test_trips);
  return g_test_run ();
}
