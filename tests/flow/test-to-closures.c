/* to-closures: a step for each construct, what stays and why, each step proved. That nothing is computed
 * otherwise is what fuzz-flow tries on random programs. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <string.h>

#define PASS     "to-closures"
#define HEAD     "<ir_version: 10, opset_import: [\"\" : 21, \"f\" : 1]>\ng "
#define FUNCTION "\n<domain: \"f\", opset_import: [\"\" : 21]>\n"
#define IF(CONDITION, THEN, ELSE)                                                                  \
  "If (" CONDITION ") <then_branch = t () => (u) { " THEN " }, else_branch = e () => (v) { " ELSE  \
  " }>"
#define BODY                                                                                       \
  "<body = b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t) { more = Identity (go) "

static const struct
{
  const char *title, *text;
  guint n_steps;
  const char *operators; /* of the main graph behind it, by name; Constants left out */
  const char *reason;    /* (nullable) of a refusal */
} cases[] = {
  { "an If",
    "(float[n,4] x, bool c) => (float[n,4] y) { y = " IF ("c", "u = Neg (x)", "v = Exp (x)") " }",
    1, "Call Partial Partial Switch", NULL },
  { "a branch that hands on what is there, and one that reads nothing",
    "(float[n,4] x, bool c) => (float[n,4] y) { z = " IF (
        "c", "u = Identity (x)", "v = Constant <value_float = 1.0> ()") " y = Add (x, z) }",
    1, "Add Call Partial Partial Switch", NULL },
  { "an If in an If",
    "(float[n,4] x, bool c, bool d) => (float[n,4] y) { y = " IF (
        "c", "m = Neg (x) u = " IF ("d", "u = Abs (m)", "v = Add (m, x)"), "v = Exp (x)") " }",
    2, "Call Partial Partial Switch", NULL },
  { "a Loop",
    "(float[n,4] x, int64 m, bool c) => (float[n,4] y) { y = Loop (m, c, x) " BODY
    "t = Neg (s) }> }",
    1, "Call Partial", NULL },
  { "a Loop without limit and condition that runs until its body says so",
    "(float x) => (float y) { one = Constant <value_float = 1.0> () y = Loop (\"\", \"\", x) <body = b (int64 i, bool go, "
    "float s) => (bool more, float t) { t = Add (s, one) big = Constant <value_float = 9.0> () more = Less (t, big) }> }",
    1, "Call Partial", NULL },
  { "an If in a Loop, which reads the condition and the number",
    "(float[n,4] x, int64 m, bool c) => (float[n,4] y) { y = Loop (m, c, x) " BODY
    "f = Cast <to = 1> (i) t = " IF ("go", "u = Add (s, f)", "v = Exp (s)") " }> }",
    2, "Call Partial", NULL },
  { "what a Loop stacks, beside what it carries and nobody reads",
    "(float[n,4] x, int64 m, bool c) => (float[m,n,4] y) { l, y = Loop (m, c, x) "
    "<body = b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t, float[n,4] r) { more = Identity (go) "
    "t = Neg (s) r = Exp (s) }> }",
    1, "Call Partial SequenceEmpty Stack", NULL },
  { "a Loop whose limit is a carried value, too",
    "(int64 m, bool c) => (int64 y) { y = Loop (m, c, m) <body = b (int64 i, bool go, int64 s) => (bool more, int64 t) { "
    "more = Identity (go) t = Add (s, m) }> }",
    1, "Call Partial", NULL },
  { "a Scan from the end, along other axes",
    "(float[3] k, float[3,2] x) => (float[3] q, float[3,2] y) { q, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], "
    "scan_input_directions = [1], scan_output_axes = [1], scan_output_directions = [1], body = b (float[3] s, float[3] t) "
    "=> (float[3] s2, float[3] z) { s2 = Add (s, t) z = Exp (s2) }> (k, x) }",
    1, "Call Gather Partial SequenceEmpty Shape Stack", NULL },
  { "a SequenceMap with a value that all items see",
    "(float[n,4] x) => (float[n,4] y) { s = SequenceConstruct (x, x) t = SequenceMap (s, x) <body = b (float[n,4] e, "
    "float[n,4] a) => (float[n,4] f) { f = Add (e, a) }> zero = Constant <value_int = 0> () y = SequenceAt (t, zero) }",
    1, "Call Partial SequenceAt SequenceConstruct SequenceEmpty SequenceLength", NULL },
  { "calls of functions, and what they own",
    HEAD "(float[4] x, bool c) => (float[4] y) { z = f.twice (x, c) y = f.twice (z, c) }" FUNCTION
         "twice (float[4] a, bool p) => (float[4] b) { d = Add (a, a) b = " IF (
             "p", "u = Neg (d)", "v = Exp (a)") " }",
    3, "Call Call Partial Partial", NULL },
  { "what a function has beside its inputs stays in a call",
    HEAD "(float[4] x) => (float[4] y) { y = f.leaky <alpha = 0.5> (x) }" FUNCTION
         "leaky <alpha> (float[4] a) => (float[4] b) { b = LeakyRelu <alpha: float = @alpha> (a) }",
    0, "leaky", "attributes" },
  { "what reads attributes of the function around stays",
    HEAD "(float[4] x, bool c) => (float[4] y) { y = f.leaky <alpha = 0.5> (x, c) }" FUNCTION
         "leaky <alpha> (float[4] a, bool p) => (float[4] b) { b = " IF (
             "p", "u = LeakyRelu <alpha: float = @alpha> (a)", "v = Neg (a)") " }",
    0, "leaky", "given by calls of the function" },
  { "a SequenceMap of two sequences stays; what is in it does not",
    "(float[n,4] x, bool c) => (float[n,4] y) { s = SequenceConstruct (x, x) r = SequenceConstruct (x, x) t = SequenceMap "
    "(s, r) <body = b (float[n,4] e, float[n,4] g) => (float[n,4] f) { f = " IF (
        "c",
        "u = Neg (e)",
        "v = Sub (e, g)") " }> zero = Constant <value_int = 0> () y = SequenceAt (t, zero) }",
    1, "SequenceAt SequenceConstruct SequenceConstruct SequenceMap", "equally long" },
  { "what draws stays",
    "(float[n,4] x, int64 m, bool c) => (float[n,4] y) { y = Loop (m, c, x) " BODY
    "r = RandomNormalLike (s) t = Add (r, s) }> }",
    0, "Loop", "random" },
};

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static char *
operators_of (const IrGraph *graph)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph), names = g_ptr_array_new ();

  for (guint i = 0; i < nodes->len; i++)
    if (!ir_node_is (nodes->pdata[i], "Constant"))
      g_ptr_array_add (names, (gpointer) ((const IrNode *) nodes->pdata[i])->op_type);
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (" ", (char **) names->pdata);
}

/* A limit is 3. */
static GHashTable *
inputs_of (IrModel *model)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  GHashTable *inputs = test_inputs (model, rand, FALSE);
  const IrValue *limit = ir_graph_find_value (model->main, "m");

  if (limit != NULL)
    g_hash_table_replace (inputs, GUINT_TO_POINTER (limit->id),
                          ir_tensor_new_scalar (IR_DTYPE_INT64, 3));
  return inputs;
}

static void
expect_refusal (const IrModel *model, const char *reason)
{
  gboolean found = reason == NULL;

  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    found = found || strstr (ir_history_refusal (model, i)->reason, reason) != NULL;
  g_assert_true (found);
}

static IrModel *
rewritten (IrModel *original, const char *pass)
{
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT,
                                      .record_refusals = TRUE,
                                      .verify = TRUE };
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find (pass));
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_model_clone (original);

  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_assert_no_error (error);
  test_verify (model);
  return model;
}

static IrModel *
read_case (const char *text)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  IrModel *model = test_model (text);

  test_model_randomize (model, rand);
  return model;
}

static void
expect_same (IrModel *original, IrModel *model)
{
  g_autoptr (GHashTable) inputs = inputs_of (original);
  g_autoptr (IrRun) before = test_run (original, inputs, "ref");
  g_autoptr (IrRun) after = test_run (model, inputs, "ref");
  g_autofree char *difference = test_compare (original, before, model, after, 0);

  g_assert_cmpstr (difference, ==, NULL);
}

/* Each step is proved by running the graph as a whole before and behind it. */
static guint
prove_steps (IrModel *original, IrModel *model)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = inputs_of (original);
  g_autoptr (IrProver)
      prover = ir_prover_new (model, inputs, ir_backend_find ("ref"), NULL, &error);
  guint n = 0;

  g_assert_no_error (error);
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      IrProof proof;
      g_assert_true (ir_prover_prove_step (prover, i, &proof, &error));
      if (strstr (ir_history_step (model, i)->rule, "closure") == NULL)
        continue;
      n++;
      g_assert_cmpint (proof.verdict, ==, IR_VERDICT_EXACT);
    }
  return n;
}

static void
test_case (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) original = read_case (cases[i].text);
  g_autoptr (IrModel) model = rewritten (original, PASS);
  g_autofree char *operators = operators_of (model->main);

  g_assert_cmpstr (operators, ==, cases[i].operators);
  expect_refusal (model, cases[i].reason);
  expect_same (original, model);
  g_assert_cmpuint (prove_steps (original, model), ==, cases[i].n_steps);
  ir_history_goto (model, 0);
  expect_same (original, model);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/to-closures/%s", cases[i].title);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_case);
    }
  return g_test_run ();
}
