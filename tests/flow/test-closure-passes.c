/* to-closures and from-closures: a step for each construct, what stays and why, each step proved, and that the way
 * back gives what was there, by operators alone. That nothing is computed otherwise is what fuzz-flow tries on
 * random programs. */
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
  gboolean is_other;     /* what comes back does the same in another way */
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
    1, "Call Equal Partial", NULL },
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
    1, "Call Partial SequenceAt SequenceConstruct SequenceEmpty SequenceLength", NULL, TRUE },
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

/* -- there and back -- */

typedef struct
{
  GHashTable *known; /* IrValue -> what it is */
  guint depth;
} Description;

static char *describe (Description *d, const IrValue *value);

/* What @graph gives, of its inputs by their places */
static void
describe_graph (Description *d, const IrGraph *graph, GString *text)
{
  d->depth++;
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    g_hash_table_insert (d->known, ir_graph_input (graph, i),
                         g_strdup_printf ("%u.%u", d->depth, i));
  g_string_append_c (text, '{');
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    g_string_append_printf (text, "%s;", describe (d, ir_graph_output (graph, i)));
  g_string_append_c (text, '}');
  d->depth--;
}

static void
describe_attr (Description *d, const IrNode *node, const IrAttr *attr, GString *text)
{
  guint n = 0;
  const gint64 *numbers = ir_node_attr_ints (node, attr->name, &n);

  g_string_append_printf (text, " %s", attr->name);
  if (attr->kind == IR_ATTR_GRAPH)
    describe_graph (d, ir_node_attr_graph (node, attr->name), text);
  else if (attr->kind == IR_ATTR_INT)
    g_string_append_printf (text, "=%" G_GINT64_FORMAT, ir_node_attr_int (node, attr->name, 0));
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, ",%" G_GINT64_FORMAT, numbers[i]);
}

/* (transfer none) The same for values that are computed in the same way, whatever is called how */
static char *
describe (Description *d, const IrValue *value)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const IrTensor *constant = value != NULL ? ir_value_constant (value) : NULL;
  char *found = value != NULL ? g_hash_table_lookup (d->known, value) : "";

  if (found != NULL)
    return found;
  if (constant != NULL)
    {
      g_autofree char *contents = ir_tensor_to_string (constant, 100);
      g_string_append_printf (text, "%s %s", ir_dtype_name (ir_tensor_dtype (constant)), contents);
    }
  else
    {
      const IrNode *node = value->producer;
      g_string_append_printf (text, "%s.%s:%u (", node->domain, node->op_type, value->output_slot);
      for (guint i = 0; i < node->n_inputs; i++)
        g_string_append_printf (text, "%s,", describe (d, node->inputs[i]));
      for (guint i = 0; i < node->n_attrs; i++)
        describe_attr (d, node, node->attrs[i], text);
    }
  found = g_compute_checksum_for_string (G_CHECKSUM_SHA1, text->str, -1);
  g_hash_table_insert (d->known, (gpointer) value, found);
  return found;
}

static char *
describe_model (const IrModel *model)
{
  Description d = { .known = g_hash_table_new_full (NULL, NULL, NULL, g_free) };
  GString *text = g_string_new (NULL);

  describe_graph (&d, model->main, text);
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      if (graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION)
        describe_graph (&d, graph, text);
    }
  for (guint i = 0; i < model->opsets->n; i++)
    g_string_append_printf (text, " %s", model->opsets->opsets[i].domain);
  g_hash_table_unref (d.known);
  return g_string_free (text, FALSE);
}

/* Nothing that a reader does not need */
static void
strip (IrModel *model)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = ir_model_live_node (model, i);
      if (node == NULL)
        continue;
      ir_edit_rename_node (edit, node, "");
      ir_edit_set_scope (edit, node, "");
      ir_edit_set_node_extra (edit, node, NULL);
    }
  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      g_autofree char *name = g_strdup_printf ("v%u", i);
      if (value != NULL && value->graph->kind != IR_GRAPH_MAIN)
        ir_edit_rename_value (edit, value, name);
    }
}

/* As it is, and as a file that somebody stripped: what was there comes back, but for names. */
static void
expect_back (IrModel *original, IrModel *closures, gboolean is_other)
{
  g_autofree char *text = ir_text_write (closures);
  g_autoptr (IrModel) read = test_model (text);
  g_autofree char *wanted = describe_model (original);
  IrModel *const models[] = { closures, read };

  strip (read);
  for (guint i = 0; i < G_N_ELEMENTS (models); i++)
    {
      g_autoptr (IrModel) back = rewritten (models[i], "from-closures");
      g_autofree char *found = describe_model (back);
      if (!is_other)
        {
          g_assert_cmpstr (found, ==, wanted);
          g_assert_cmpuint (ir_model_n_nodes (back), ==, ir_model_n_nodes (original));
        }
      if (i == 0)
        prove_steps (original, back);
    }
}

static void
test_case (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) original = read_case (cases[i].text);
  g_autoptr (IrModel) model = rewritten (original, "to-closures");
  g_autofree char *operators = operators_of (model->main);

  g_assert_cmpstr (operators, ==, cases[i].operators);
  expect_refusal (model, cases[i].reason);
  expect_same (original, model);
  g_assert_cmpuint (prove_steps (original, model), ==, cases[i].n_steps);
  expect_back (original, model, cases[i].is_other);
  ir_history_goto (model, 0);
  expect_same (original, model);
}

/* -- back from graphs that others write -- */

#define CLOSURES                                                                                   \
  "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.closure\" : 1, \"f\" : 1]>\ng "
#define CLOSURE_FUNCTION                                                                           \
  "\n<domain: \"f\", opset_import: [\"\" : 21, \"irscope.closure\" : 1, \"f\" : 1]>\n"
#define PARTIAL(NAME, FUNCTION_NAME, CAPTURED)                                                     \
  NAME " = irscope.closure.Partial <domain = \"f\", function = \"" FUNCTION_NAME "\"> (" CAPTURED  \
       ")\n"
#define CALL(RESULTS, ARGUMENTS) RESULTS " = irscope.closure.Call (" ARGUMENTS ")\n"
#define SWITCH(NAME, C, A, B)    NAME " = irscope.closure.Switch (" C ", " A ", " B ")\n"
#define ONE                      "one = Constant <value_int = 1> ()\n"
#define NEG                      CLOSURE_FUNCTION "neg (float[4] a) => (float[4] b) { b = Neg (a) }"
#define TWICE                    CLOSURE_FUNCTION "twice (float[4] a) => (float[4] b) { b = Add (a, a) }"

/* header calls GO where TEST holds, else STOP; go is the closure of body, stop that of after. */
#define LOOP(TEST, GO, STOP)                                                                       \
  CLOSURE_FUNCTION                                                                                 \
  "header (int64 n, int64 i, float[4] x) => (float[4] r) {\nmore = Less (" TEST                    \
  ")\n" PARTIAL ("go", "body", "n, i, x") PARTIAL ("stop", "after", "x")                           \
      SWITCH ("s", "more", GO, STOP)                                                               \
          CALL ("r", "s") "}" CLOSURE_FUNCTION                                                     \
                          "body (int64 n, int64 i, float[4] x) => (float[4] r) {\n" ONE            \
                          "j = Add (i, one)\ny = Neg (x)\n" PARTIAL ("h", "header", "n") CALL (    \
                              "r", "h, j, y") "}" CLOSURE_FUNCTION                                 \
                                              "after (float[4] x) => (float[4] y) { y = Abs (x) }"

static const struct
{
  const char *title, *text;
  const char *operators; /* of the main graph behind it, by name; Constants left out */
  const char *reason;    /* (nullable) of a refusal */
} others[] = {
  { "a call of a function",
    CLOSURES "(float[4] x) => (float[4] y) {\n" PARTIAL ("p", "neg", "x") CALL ("y", "p") "}" NEG,
    "neg", NULL },
  { "a choice, and what both sides are given",
    CLOSURES "(float[4] x, bool c) => (float[4] y) {\n" PARTIAL ("p", "neg", "")
        PARTIAL ("q", "twice", "") SWITCH ("s", "c", "p", "q") CALL ("y", "s, x") "}" NEG TWICE,
    "If", NULL },
  { "a closure that is called twice is one function",
    CLOSURES "(float[4] x) => (float[4] y) {\n" PARTIAL ("p", "neg", "") CALL ("z", "p, x")
        CALL ("y", "p, z") "}" NEG,
    "neg neg", NULL },
  { "a loop, and what comes after it",
    CLOSURES
    "(int64 m, float[4] x) => (float[4] y) {\nzero = Constant <value_int = 0> ()\n" PARTIAL (
        "h", "header", "m") CALL ("y", "h, zero, x") "}" LOOP ("i, n", "go", "stop"),
    "Abs Loop", NULL },
  { "a loop until something holds",
    CLOSURES
    "(int64 m, float[4] x) => (float[4] y) {\nzero = Constant <value_int = 0> ()\n" PARTIAL (
        "h", "header", "m") CALL ("y", "h, zero, x") "}" LOOP ("n, i", "stop", "go"),
    "Abs Less Loop Not", NULL },
  { "a loop that hands nothing on by its closure",
    CLOSURES
    "(int64 m, float[4] x) => (float[4] y) {\nzero = Constant <value_int = 0> ()\n" PARTIAL (
        "h", "header", "") CALL ("y", "h, m, zero, x") "}" LOOP ("i, n", "go", "stop"),
    "Abs Less Loop", NULL },
  { "two loops of one header",
    CLOSURES
    "(int64 m, float[4] x) => (float[4] y) {\nzero = Constant <value_int = 0> ()\n" PARTIAL (
        "h", "header", "m") CALL ("z", "h, zero, x") PARTIAL ("k", "header", "m")
        CALL ("y", "k, zero, z") "}" LOOP ("i, n", "go", "stop"),
    "Abs Abs Loop Loop", NULL },
  { "one closure of a header that is called twice",
    CLOSURES
    "(int64 m, float[4] x) => (float[4] y) {\nzero = Constant <value_int = 0> ()\n" PARTIAL (
        "h", "header", "m") CALL ("z", "h, zero, x")
        CALL ("y", "h, zero, z") "}" LOOP ("i, n", "go", "stop"),
    "Abs Abs Loop Loop", NULL },
  { "a choice that is called twice, of functions that others call, too",
    CLOSURES "(float[4] x, bool c) => (float[4] y) {\n" PARTIAL ("p", "neg", "")
        PARTIAL ("q", "twice", "") SWITCH ("s", "c", "p", "q") CALL ("z", "s, x") CALL ("w", "s, z")
            CALL ("y", "p, w") "}" NEG TWICE,
    "If If neg", NULL },
  { "both sides call one function",
    CLOSURES "(float[4] x, bool c) => (float[4] y) {\n" PARTIAL ("p", "neg", "")
        SWITCH ("s", "c", "p", "p") CALL ("y", "s, x") "}" NEG,
    "If", NULL },
  { "a choice of several, from the end",
    CLOSURES "(float[4] x, bool c) => (float[4] y) {\n" PARTIAL ("p", "neg", "") PARTIAL (
        "q",
        "twice",
        "") "j = Cast <to = 7> (c)\ni = Neg (j)\ns = irscope.closure.SwitchLayer (i, p, p, q)\n" CALL ("y",
                                                                                                       "s, x") "}" NEG
        TWICE,
    "Cast Cast Equal Equal Gather If Neg", NULL },
  { "a choice of choices",
    CLOSURES "(float[4] x, bool c, bool d) => (float[4] y) {\n" PARTIAL ("p", "neg", "") PARTIAL (
        "q",
        "twice",
        "") "i = Cast <to = 6> (d)\nt = irscope.closure.SwitchLayer (i, p, q)\nn = Not (c)\n" SWITCH ("u",
                                                                                                      "n",
                                                                                                      "q",
                                                                                                      "t")
        SWITCH ("s", "c", "t", "u") CALL ("y", "s, x") "}" NEG TWICE,
    "Cast Cast Cast Equal Equal Gather Gather If Not", NULL },
  { "a choice of one stays",
    CLOSURES "(float[4] x, bool c) => (float[4] y) {\n" PARTIAL (
        "p",
        "neg",
        "") "j = Cast <to = 7> (c)\ni = Neg (j)\ns = irscope.closure.SwitchLayer (i, p)\n" CALL ("y",
                                                                                                 "s, x") "}" NEG,
    "Call Cast Neg Partial SwitchLayer", "chooses of one alone" },
  { "a closure that comes from an If stays",
    CLOSURES "(float[4] x, bool c) => (float[4] y) {\n" PARTIAL ("p", "neg", "") PARTIAL (
        "q",
        "twice",
        "") "s = If (c) <then_branch = t () => (u) { u = Identity (p) }, else_branch = e () => (v) "
            "{ v = Identity (q) }>\n" CALL ("y", "s, x") "}" NEG TWICE,
    "Call If Partial Partial", "not from Partial, Switch or SwitchLayer" },
  { "what would not fit where types are known stays, as it may never be called",
    CLOSURES
    "(float[4] x, bool c) => (float[4] y) {\nno = Constant <value = bool {0}> ()\n"
    "d = And (c, no)\n" PARTIAL ("p", "neg", "") PARTIAL ("q", "ill", "")
        SWITCH ("s", "d", "q", "p") CALL (
            "y",
            "s, x") "}" NEG CLOSURE_FUNCTION
                    "ill (a) => (float[4] b) { m = SequenceLength (a) n = Cast <to = 1> (m) b = Add (n, a) }",
    "And Call Partial Partial Switch", "it may never be called" },
  { "a recursion stays, but for its choices",
    CLOSURES "(int64 m, float[4] x) => (float[4] y) {\n" PARTIAL ("h", "down", "x")
        CALL ("y", "h, m") "}" CLOSURE_FUNCTION "down (float[4] x, int64 i) => (float[4] r) {\n" ONE
                           "more = Greater (i, one)\n" PARTIAL ("a", "again", "i, x")
                               PARTIAL ("b", "neg", "x") SWITCH ("s", "more", "a", "b") CALL (
                                   "r", "s") "}" CLOSURE_FUNCTION
                                             "again (int64 i, float[4] x) => (float[4] r) {\n" ONE
                                             "j = Sub (i, one)\n" PARTIAL ("h", "down", "x")
                                                 CALL ("k", "h, j") "r = Add (k, x)\n}" NEG,
    "Call Partial", "calls itself" },
};

static void
test_other (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (IrModel) original = read_case (others[i].text);
  g_autoptr (IrModel) model = rewritten (original, "from-closures");
  g_autofree char *operators = operators_of (model->main);

  g_assert_cmpstr (operators, ==, others[i].operators);
  expect_refusal (model, others[i].reason);
  g_assert_cmpint (ir_model_opset (model, "irscope.closure") == 0, ==, others[i].reason == NULL);
  expect_same (original, model);
  prove_steps (original, model);
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
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      g_autofree char *path = g_strdup_printf ("/from-closures/%s", others[i].title);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_other);
    }
  return g_test_run ();
}
