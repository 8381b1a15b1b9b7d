/* raise-control-flow: what comes back as which operators, what stays and why. Values are compared in each
 * case, and on random programs by fuzz-flow. */
#include "config.h"

#include "core/ir/frames.h"
#include "passes/pipeline/pipeline.h"
#include "tests/flow/flow-program.h"
#include "tests/flow/graph-form.h"
#include "tests/rules/pass-test.h"

#include <string.h>

#define HEAD                      "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.flow\" : 1]>\ng "
#define FLOW                      "irscope.flow."
#define ENTER(NAME, FRAME, VALUE) NAME " = " FLOW "Enter <frame_name = \"" FRAME "\"> (" VALUE ")\n"
#define INVARIANT(NAME, FRAME, VALUE)                                                              \
  NAME " = " FLOW "Enter <frame_name = \"" FRAME "\", is_constant = 1> (" VALUE ")\n"
#define MERGE(NAME, A, B)  NAME " = " FLOW "Merge (" A ", " B ")\n"
#define SWITCH(F, T, V, P) F ", " T " = " FLOW "Switch (" V ", " P ")\n"
#define NEXT(NAME, VALUE)  NAME " = " FLOW "NextIteration (" VALUE ")\n"
#define EXIT(NAME, VALUE)  NAME " = " FLOW "Exit (" VALUE ")\n"
#define COND(NAME, VALUE)  NAME " = " FLOW "LoopCond (" VALUE ")\n"
#define VARIABLE(V, FRAME, FIRST, LAST, P)                                                         \
  ENTER (V "_0", FRAME, FIRST)                                                                     \
  MERGE (V "_m", V "_0", V "_n") SWITCH (V "_f", V "_t", V "_m", P) NEXT (V "_n", LAST)

#define ZERO "zero = Constant <value_int = 0> ()\n"
#define ONE  "one = Constant <value_int = 1> ()\n"

static const struct
{
  const char *title, *text;
  const char *operators; /* that are there behind it, by name; Constants and Identity left out */
  const char *reason;    /* (nullable) of a refusal */
} cases[] = {
  { "a choice of one value",
    HEAD "(float[4] x, bool c) => (float[4] y) {\n" SWITCH (
        "f", "t", "x", "c") "a = Neg (t)\nb = Exp (f)\n" MERGE ("y", "b", "a") "}",
    "Exp If Neg", NULL },
  { "a predicate of its own, pivots and what waits for them, as tf.cond writes it",
    HEAD "(float[4] x, bool c) => (float[4] y) {\np = Identity (c)\n" SWITCH (
        "pf",
        "pt",
        "p",
        "p") "switch_t = Identity (pt)\nswitch_f = Identity (pf)\n"
             "#! metadata [\"irscope.after\": \"switch_t\"]\nk = Constant <value_float = 2.0> ()\n"
             "#! metadata [\"irscope.after\": \"switch_f\"]\nl = Constant <value_float = 3.0> ()\n" SWITCH (
                 "f", "t", "x", "p") "a = Mul (t, k)\nb = Add (f, l)\n" MERGE ("y", "b", "a") "}",
    "Add If Mul", NULL },
  { "one side hands on what came in",
    HEAD "(float[4] x, bool c) => (float[4] y) {\n" SWITCH (
        "f", "t", "x", "c") "a = Neg (t)\n" MERGE ("y", "f", "a") "}",
    "If Neg", NULL },
  { "choices in choices, of the same predicate too",
    HEAD "(float[4] x, bool c, bool d) => (float[4] y) {\n" SWITCH ("f", "t", "x", "c")
        SWITCH ("df", "dt", "d", "c")
            SWITCH ("tf", "tt", "t", "dt") "a = Neg (tt)\nb = Exp (tf)\n" MERGE (
                "ab", "b", "a") "g = Abs (f)\n" MERGE ("y", "g", "ab") "}",
    "Abs Exp If If Neg", NULL },
  { "two Merges, one of which nobody reads, and a choice without a result",
    HEAD "(float[4] x, bool c, bool d) => (float[4] y) {\n" SWITCH (
        "f",
        "t",
        "x",
        "c") "a = Neg (t)\nb = Exp (f)\n" MERGE ("y",
                                                 "b",
                                                 "a") "a2 = Abs (a)\nb2 = Abs (b)\n" MERGE ("unread",
                                                                                            "b2",
                                                                                            "a2")
        SWITCH ("f3", "t3", "x", "d") "a3 = Tanh (t3)\n}",
    "Abs Abs Exp If Neg", NULL },
  { "a loop that counts to a limit",
    HEAD "(int64 n, float[4] x) => (float[4] y) {\n" ZERO ONE INVARIANT (
        "m", "w", "n") "less = Less (i_m, m)\n" COND ("p", "less")
        VARIABLE ("i", "w", "zero", "i_s", "p") "i_s = Add (i_t, one)\n" VARIABLE (
            "v", "w", "x", "v_s", "p") "v_s = Neg (v_t)\n" EXIT ("y", "v_f") "}",
    "Loop Neg", NULL },
  { "a counter that is read behind the loop is carried",
    HEAD "(int64 n) => (int64 y) {\n" ZERO ONE INVARIANT (
        "m", "w", "n") "less = Less (i_m, m)\n" COND ("p", "less")
        VARIABLE ("i", "w", "zero", "i_s", "p") "i_s = Add (i_t, one)\n" EXIT ("y", "i_f") "}",
    "Add Loop", NULL },
  { "any other condition is computed before the loop and at its end",
    HEAD "(float x, float k) => (float y) {\n" INVARIANT (
        "m", "w", "k") "sum = Add (v_m, m)\n"
                       "less = Less (sum, ten)\n" COND (
                           "p",
                           "less") "ten_ = Constant <value_float = 10.0> ()\n" INVARIANT ("ten",
                                                                                          "w",
                                                                                          "ten_")
                           VARIABLE ("v",
                                     "w",
                                     "x",
                                     "v_s",
                                     "p") "a = Abs (v_t)\nv_s = Add (a, m2)\n"
                                          "big = Constant <value_float = 3.0> ()\n" INVARIANT (
                                              "m2", "w", "big") EXIT ("y", "v_f") "}",
    "Abs Add Add Add Less Less Loop", NULL },
  { "what the condition computes is read by the body",
    HEAD "(float x) => (float y) {\nten = Constant <value_float = 10.0> ()\n"
         "three = Constant <value_float = 3.0> ()\n"
         "sum = Add (v_m, three)\nless = Less (sum, ten)\n" COND ("p", "less")
             VARIABLE ("v", "w", "x", "v_s", "p") "a = Abs (v_t)\nv_s = Add (a, three)\n" VARIABLE (
                 "u", "w", "x", "u_s", "p") "u_s = Add (u_t, sum)\n" EXIT ("y", "u_f") "}",
    "Abs Add Add Add Add Add Less Less Loop", NULL },
  { "a loop in a loop, in a choice",
    HEAD
    "(int64 n, int64 s, bool c) => (int64 y) {\n" ZERO ONE SWITCH ("sf", "st", "s", "c") SWITCH (
        "nf",
        "nt",
        "n",
        "c") SWITCH ("u0",
                     "zt",
                     "zero",
                     "c") INVARIANT ("m", "w", "nt") "less = Less (i_m, m)\n" COND ("p", "less")
        VARIABLE ("i", "w", "zt", "i_s", "p") "i_s = Add (i_t, one)\n" VARIABLE (
            "v",
            "w",
            "st",
            "w_e",
            "p") "zi = Sub (i_t, i_t)\n" INVARIANT ("lim",
                                                    "in",
                                                    "i_t") "less2 = Less (k_m, lim)\n" COND ("q",
                                                                                             "less2")
            VARIABLE ("k", "in", "zi", "k_s", "q") "k_s = Add (k_t, one)\n" VARIABLE (
                "w", "in", "v_t", "w_s", "q") "w_s = Add (w_t, lim)\n" EXIT ("w_e", "w_f")
                EXIT ("e", "v_f") "g = Neg (sf)\n" MERGE ("y", "g", "e") "}",
    "Add Add Add If Less Less Less Less Loop Loop Neg Sub", NULL },

  { "a sequence that is read in another way is carried, and what reads the number stays a Loop",
    HEAD "(int64 n, float[4] x) => (float[k,4] y, int64 z) {\n" ZERO ONE INVARIANT (
        "m", "w", "n") "less = Less (i_m, m)\n" COND ("p", "less")
        VARIABLE ("i", "w", "zero", "i_s", "p") "i_s = Add (i_t, one)\nnone = SequenceEmpty ()\n" VARIABLE (
            "v",
            "w",
            "none",
            "v_s",
            "p") "f_ = Cast <to = 1> (i_t)\ng_ = Add (f_, u)\n" INVARIANT ("u",
                                                                           "w",
                                                                           "x") "v_s = SequenceInsert (v_t, g_)\n" EXIT ("e",
                                                                                                                         "v_f") "y = " FLOW
                                                                                                                                "Stack (e)\nz = SequenceLength (e)\n}",
    "Add Cast Loop SequenceInsert SequenceLength Stack", NULL },
  { "a sequence with one reader is stacked by the Loop",
    HEAD "(int64 n, float[4] x) => (float[k,4] y) {\n" ZERO ONE INVARIANT (
        "m", "w", "n") "less = Less (i_m, m)\n" COND ("p", "less")
        VARIABLE ("i", "w", "zero", "i_s", "p") "i_s = Add (i_t, one)\nnone = SequenceEmpty ()\n" VARIABLE (
            "v",
            "w",
            "none",
            "v_s",
            "p") "f_ = Cast <to = 1> (i_t)\ng_ = Add (f_, u)\n" INVARIANT ("u",
                                                                           "w",
                                                                           "x") "v_s = SequenceInsert (v_t, g_)\n" EXIT ("e",
                                                                                                                         "v_f") "y = " FLOW
                                                                                                                                "Stack (e)\n}",
    "Add Cast Loop", NULL },

  /* -- what stays -- */
  { "the index that a Merge gives",
    HEAD "(float[4] x, bool c) => (float[4] y, int32 z) {\n" SWITCH (
        "f", "t", "x", "c") "a = Neg (t)\ny, z = " FLOW "Merge (f, a)\n}",
    "Merge Neg Switch", "the index" },
  { "two choices of one predicate, of which one reads what the other gives",
    HEAD "(float[4] x, bool c) => (float[4] y) {\n" SWITCH (
        "f", "t", "x", "c") "a = Neg (t)\n" MERGE ("m", "f", "a")
        SWITCH ("f2", "t2", "m", "c") "b = Exp (t2)\n" MERGE ("y", "f2", "b") "}",
    "Exp Merge Merge Neg Switch Switch", "predicate of its own" },
  { "an output in the middle of a side",
    HEAD "(float[4] x) => (float[4] y) {\nc = Constant <value = bool {1}> ()\n" SWITCH (
        "f", "t", "x", "c") "y = Neg (t)\n}",
    "Neg Switch", "an output of the graph" },
  { "a Merge of three",
    HEAD "(float[4] x, bool c, bool d) => (float[4] y) {\n" SWITCH ("f", "t", "x", "c") SWITCH (
        "df", "dt", "d", "c") SWITCH ("tf", "tt", "t", "dt") "a = Neg (tt)\n"
                                                             "y = " FLOW "Merge (f, tf, a)\n}",
    "Merge Neg Switch Switch Switch", "3 inputs" },
  { "one predicate inside of a side and outside",
    HEAD "(float[4] x, bool p, bool q) => (float[4] y, float[4] z) {\n" SWITCH ("f", "t", "x", "q")
        SWITCH ("f2", "t2", "t", "p") "a = Neg (t2)\n" MERGE (
            "m", "f2", "a") "n = Exp (f)\n" MERGE ("y", "n", "m")
            SWITCH ("f3", "t3", "x", "p") "b = Abs (t3)\n" MERGE ("z", "f3", "b") "}",
    "Abs Exp Merge Merge Merge Neg Switch Switch Switch", "same condition" },
  { "the same of what Not gives",
    HEAD "(float[4] x, bool p, bool q) => (float[4] y, float[4] z) {\nnp = Not (p)\n" SWITCH (
        "f", "t", "x", "q")
        SWITCH ("f2", "t2", "t", "np") "a = Neg (t2)\n" MERGE (
            "m", "f2", "a") "n = Exp (f)\n" MERGE ("y", "n", "m")
            SWITCH ("f3", "t3", "x", "np") "b = Abs (t3)\n" MERGE ("z", "f3", "b") "}",
    "Abs Exp Merge Merge Merge Neg Not Switch Switch Switch", "same condition" },
  { "what runs in the last iteration alone",
    HEAD "(int64 n, float[4] x) => (float[4] y) {\n" ZERO ONE INVARIANT (
        "m", "w", "n") "less = Less (i_m, m)\n" COND ("p", "less")
        VARIABLE ("i", "w", "zero", "i_s", "p") "i_s = Add (i_t, one)\n" VARIABLE (
            "v", "w", "x", "v_s", "p") "v_s = Neg (v_t)\n"
                                       "last = Abs (v_f)\n" EXIT ("y", "v_f") "}",
    NULL, "some iterations only" },
  { "what runs in the first iteration alone",
    HEAD "(int64 n, float[4] x) => (float[4] y) {\n" ZERO ONE INVARIANT (
        "m", "w", "n") "less = Less (i_m, m)\n" COND ("p", "less")
        VARIABLE ("i", "w", "zero", "i_s", "p") "i_s = Add (i_t, one)\n" VARIABLE (
            "v", "w", "x", "v_s", "p") "v_s = Neg (v_t)\n"
                                       "first = Abs (v_0)\n" EXIT ("y", "v_f") "}",
    NULL, "some iterations only" },
  { "a node that waits for an Exit",
    HEAD "(int64 n, float[4] x) => (float[4] y, float[4] z) {\n" ZERO ONE INVARIANT (
        "m", "w", "n") "less = Less (i_m, m)\n" COND ("p", "less")
        VARIABLE ("i", "w", "zero", "i_s", "p") "i_s = Add (i_t, one)\n" VARIABLE (
            "v",
            "w",
            "x",
            "v_s",
            "p") "v_s = Neg (v_t)\n"
                 "[out] " EXIT ("y",
                                "v_f") "#! metadata [\"irscope.after\": \"y\"]\nz = Abs (x)\n}",
    NULL, "waits for out" },
  { "a loop around what stays",
    HEAD "(int64 n) => (int64 y) {\n" ZERO ONE
        INVARIANT ("m", "w", "n") "less = Less (i_m, m)\n" COND ("p", "less") VARIABLE (
            "i",
            "w",
            "zero",
            "i_s",
            "p") "odd_ = Mod (i_t, one)\n"
                 "odd = Cast <to = 9> (odd_)\n" SWITCH (
                     "f",
                     "t",
                     "i_t",
                     "odd") "j, k = " FLOW "Merge (f, t)\n"
                            "k64 = Cast <to = 7> (k)\ni_1 = Add (j, one)\ni_2 = Add (i_1, k64)\ni_s = Add (i_2, k64)\n" EXIT (
                                "y", "i_f") "}",
    NULL, "stays as it is" },
};

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static char *
operators_of (const IrModel *model)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node != NULL && node->n_inputs > 0 && !ir_node_is (node, "Identity"))
        g_ptr_array_add (names, (gpointer) node->op_type);
    }
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (" ", (char **) names->pdata);
}

static void
expect_refusal (const IrModel *model, const char *reason)
{
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    if (strstr (ir_history_refusal (model, i)->reason, reason) != NULL)
      return;
  g_error ("nothing is refused because of \"%s\"", reason);
}

/* Each step is proved by running the graph as a whole before and behind it. */
static void
prove_steps (IrModel *model, const IrModel *original)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GHashTable) inputs = test_inputs ((IrModel *) original, rand, FALSE);
  g_autoptr (IrProver)
      prover = ir_prover_new (model, inputs, ir_backend_find ("ref"), NULL, &error);

  g_assert_no_error (error);
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      IrProof proof;
      g_assert_true (ir_prover_prove_step (prover, i, &proof, &error));
      if (g_str_has_prefix (ir_history_step (model, i)->rule, "raise-"))
        g_assert_cmpint (proof.verdict, ==, IR_VERDICT_EXACT);
    }
}

static IrModel *
raise_model (IrModel *original)
{
  IrPipelineOptions options = { .max_class = IR_CLASS_EXACT,
                                .record_refusals = TRUE,
                                .verify = TRUE };
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find ("raise-control-flow"));
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_model_clone (original);

  g_assert_true (ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error));
  g_assert_no_error (error);
  test_verify (model);
  return model;
}

static void
test_case (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) original = test_model (cases[index].text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  test_model_randomize (original, rand);
  g_autoptr (IrModel) model = raise_model (original);
  g_autofree char *operators = operators_of (model);

  if (cases[index].operators != NULL)
    g_assert_cmpstr (operators, ==, cases[index].operators);
  if (cases[index].reason != NULL)
    expect_refusal (model, cases[index].reason);
  g_assert_cmpint (ir_graph_has_tokens (model->main), ==, cases[index].reason != NULL);
  g_assert_cmpint (ir_model_opset (model, "irscope.flow"), ==,
                   cases[index].reason != NULL || strstr (operators, "Stack") != NULL);
  prove_steps (model, original);
}

static void
strip (IrModel *model)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = model->nodes->pdata[i];
      ir_edit_rename_node (edit, node, "");
      ir_edit_set_scope (edit, node, "");
      ir_edit_set_node_extra (edit, node, NULL);
    }
}

/* Loops that are given their input @slot */
static guint
count_given (const IrModel *model, guint slot)
{
  guint n = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      n += node != NULL && ir_node_is (node, "Loop") && ir_node_input (node, slot) != NULL;
    }
  return n;
}

/* Raising reads primitives alone: nothing of what lowering notes is needed, and all comes back. */
static void
test_back (void)
{
  static const char *const programs[] = {
    "(float[4] x, bool p, float[4] u) => (float[4] y, float[4] z) { "
    "y0, w = If (p) <then_branch = t () => (a, b) { a = Relu (x) b = Add (x, u) }, else_branch = e () => (a, b) "
    "{ c = Constant <value = float[4] {1, 2, 3, 4}> () a = Mul (x, c) b = Constant <value = float[4] {1, 2, 3, 4}> () }> "
    "z = If (p) <then_branch = t () => (a) { a = Relu (w) }, else_branch = e () => (a) { a = Neg (u) }> "
    "y = Add (y0, w) }",
    "(float[4] x, int64 n, float[4] k, bool q) => (float[4] y) { "
    "y0 = Loop (n, q, x) <body = b (int64 i, bool c, float[4] v) => (bool c2, float[4] v2) { c2 = Identity (c) "
    "f = Cast <to = 1> (i) j = Loop (i, , v) <body = bb (int64 i1, bool c1, float[4] w) => (bool c3, float[4] w2) "
    "{ c3 = Identity (c1) w2 = Add (w, k) }> v2 = If (q) <then_branch = t () => (a) { a = Add (j, f) }, "
    "else_branch = e () => (a) { a = Sub (j, k) }> }> y = Relu (y0) }",
    /* what is stacked, in a branch and in a loop */
    "(float[4] x, int64 n, bool q) => (float[k,4] y, float[4] z) { "
    "z, y = Loop (n, , x) <body = b (int64 i, bool c, float[4] v) => (bool c2, float[4] v2, float[4] r) { c2 = Identity (c) "
    "m = Constant <value_int = 3> () r = If (q) <then_branch = t () => (a) { l, s = Loop (m, , v) <body = bb (int64 i1, bool c1, float[4] w) "
    "=> (bool c3, float[4] w2, float[4] e) { c3 = Identity (c1) w2 = Neg (w) e = Exp (w) }> "
    "a = ReduceMax <keepdims = 0> (s, axis) axis = Constant <value_ints = [0]> () }, else_branch = e () => (a) { a = Abs (v) }> v2 = Tanh (v) }> }",
    /* a Scan in a Scan, from the end, along other axes */
    "(float[3,4] x, float[5,3] u) => (float[4,3] y, float[3] z) { k = Constant <value = float[3] {1, 2, 3}> () "
    "z, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], body = b (float[3] s, float[3] t) => "
    "(float[3] s2, float[3] o) { w = Scan <num_scan_inputs = 1, scan_output_axes = [1], body = bb (float[3] h) => (float[3] j) { j = Mul (h, t) }> (u) "
    "axis = Constant <value_ints = [1]> () o = ReduceSum <keepdims = 0> (w, axis) s2 = Add (s, o) }> (k, x) }",
    /* in a Scan, what waited for a pivot and is of no use */
    "(float[3] x, bool p) => (float[3] y) { y = Scan <num_scan_inputs = 1, scan_output_directions = [1], body = b (float t) => "
    "(float o) { u = If (p) <then_branch = t () => (a) { k = Constant <value_float = 2.0> () a = Neg (k) }, "
    "else_branch = e () => (a) { a = Constant <value_float = 3.0> () }> o = Exp (t) }> (x) }",
    /* a condition that is left out, one that is written and always true, and one without a limit */
    "(float[4] x, int64 n) => (float[4] y) { yes = Constant <value = bool {1}> () "
    "a = Loop (n, , x) <body = b (int64 i, bool c, float[4] v) => (bool c2, float[4] v2) { c2 = Identity (c) v2 = Neg (v) }> "
    "d = Loop (n, yes, a) <body = e (int64 j, bool f, float[4] w) => (bool f2, float[4] w2) { f2 = Identity (f) "
    "w2 = Loop (n, , w) <body = g (int64 k, bool h, float[4] z) => (bool h2, float[4] z2) { h2 = Identity (h) z2 = Exp (z) }> }> "
    "y = Loop (, , d) <body = l (int64 m, bool o, float[4] p) => (bool o2, float[4] p2) { o2 = Less (m, n) p2 = Relu (p) }> }",
    /* a SequenceMap with a tensor for all items */
    "(float[2,4] x, float[4] u) => (float[4] y) { s = SplitToSequence <keepdims = 0> (x) "
    "t, p = SequenceMap (s, u) <body = b (float[4] e, float[4] g) => (float[4] f, float[4] h) { f = Neg (e) h = Mul (e, g) }> "
    "zero = Constant <value_int = 0> () a = SequenceAt (t, zero) c = SequenceAt (p, zero) y = Add (a, c) }",
  };
  static const char *const passes[] = { "lower-control-flow", NULL };

  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) original = test_model (programs[i]);
      g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (passes, &error);
      g_autoptr (IrModel) lowered = ir_model_clone (original);
      g_assert_true (ir_pipeline_run (lowered, pipeline, NULL, NULL, NULL, &error));
      g_autofree char *before = operators_of (original), *text = ir_text_write (lowered);
      g_autoptr (IrModel) read = test_model (text);
      strip (read);
      g_autoptr (IrModel) raised = raise_model (read);
      g_autofree char *after = operators_of (raised);
      for (guint slot = 0; slot < 2; slot++)
        g_assert_cmpuint (count_given (raised, slot), ==, count_given (original, slot));
      if (strstr (programs[i], "u = If (p)") == NULL)
        g_assert_cmpstr (after, ==, before);
      else
        g_assert_cmpstr (after, ==, "Exp Scan"); /* what nobody reads went */
    }
}

/* (transfer full) @original lowered, written and read, and raised; @names: what lowering noted stays */
static IrModel *
there_and_back (IrModel *original, gboolean names)
{
  static const char *const passes[] = { "lower-control-flow", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (passes, &error);
  g_autoptr (IrModel) lowered = ir_model_clone (original);

  g_assert_true (ir_pipeline_run (lowered, pipeline, NULL, NULL, NULL, &error));
  g_autofree char *text = ir_text_write (lowered);
  g_autoptr (IrModel) read = test_model (text);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  ir_graph_report_frames (read->main, problems);
  g_assert_cmpuint (problems->len, ==, 0); /* no Merge seems to have two live inputs */
  if (!names)
    strip (read);
  return raise_model (read);
}

static void
prune (IrModel *model)
{
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT };
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find ("eliminate-dead-code"));
  g_autoptr (GError) error = NULL;

  ir_pipeline_run (model, pipeline, &options, NULL, NULL, &error);
  g_assert_no_error (error);
}

/* All of it comes back where it was, by primitives alone and with what lowering notes. */
static void
expect_same (IrModel *original)
{
  for (guint names = 0; names < 2; names++)
    {
      g_autoptr (IrModel) raised = there_and_back (original, names > 0);
      g_autofree char *before = graph_form (original->main), *after = graph_form (raised->main);
      g_assert_cmpstr (after, ==, before);
    }
}

static void
test_random (void)
{
  guint n = 0;

  for (guint64 seed = 1; seed <= 300; seed++)
    {
      guint n_constructs;
      g_autofree char *text = flow_program (seed, &n_constructs);
      g_autoptr (IrModel) original = test_model (text);
      prune (original);
      for (guint k = 0; k < 4 && graph_form_has_unread (original); k++)
        {
          IrModel *read = there_and_back (original, TRUE);
          ir_model_unref (original);
          original = read;
          prune (original);
        }
      if (graph_form_has_unread (original) || n_constructs == 0)
        continue;
      n++;
      expect_same (original);
    }
  g_test_message ("%u programs", n);
  g_assert_cmpuint (n, >, 200);
}

/* A constant is where it was, also where a body alone reads it, and where it is what a branch or a body gives. */
static void
test_constants (void)
{
  static const char *const programs[] = {
    "(float[4] x, int64 n, bool p) => (float[4] y) { k = Constant <value_float = 3.0> () "
    "y = Loop (n, , x) <body = b (int64 i, bool c, float[4] v) => (bool c2, float[4] v2) { c2 = Identity (c) "
    "h = Constant <value_float = 5.0> () a = Add (v, h) v2 = Mul (a, k) }> }",
    "(float[4] x, bool p) => (float[4] y) { k = Constant <value_float = 3.0> () "
    "y = If (p) <then_branch = t () => (a) { q = Constant <value_float = 9.0> () a = Add (x, q) }, "
    "else_branch = e () => (a) { a = Mul (x, k) }> }",
    /* read by an If in a Loop alone: of the graph, of the body and of the branch */
    "(float[4] x, int64 n, bool p) => (float[4] y) { k = Constant <value_float = 3.0> () "
    "y = Loop (n, , x) <body = b (int64 i, bool c, float[4] v) => (bool c2, float[4] v2) { c2 = Identity (c) "
    "h = Constant <value_float = 5.0> () v2 = If (p) <then_branch = t () => (a) { a1 = Add (v, h) a = Mul (a1, k) }, "
    "else_branch = e () => (a) { q = Constant <value_float = 9.0> () a = Add (v, q) }> }> }",
    /* what a branch and a body give */
    "(float[4] x, int64 n, bool p) => (float[4] y, float z) { "
    "y = If (p) <then_branch = t () => (a) { a = Constant <value = float[4] {7, 8, 9, 1}> () }, "
    "else_branch = e () => (a) { a = Neg (x) }> start = ReduceMax <keepdims = 0> (x) "
    "z = Loop (n, , start) <body = b (int64 i, bool c, float v) => (bool c2, float v2) { c2 = Identity (c) "
    "v2 = Constant <value_float = 5.0> () }> }",
    /* both sides read nothing but constants of around */
    "(bool p) => (float y) { k = Constant <value_float = 3.0> () "
    "y = If (p) <then_branch = t () => (a) { a = Neg (k) }, else_branch = e () => (a) { a = Abs (k) }> }",
  };

  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      g_autoptr (IrModel) original = test_model (programs[i]);
      expect_same (original);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/raise/%s", cases[i].title);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_case);
    }
  g_test_add_func ("/raise/what was lowered", test_back);
  g_test_add_func ("/raise/where constants were", test_constants);
  g_test_add_func ("/raise/random programs, all of them", test_random);
  return g_test_run ();
}
