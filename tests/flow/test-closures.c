/* Functions as values: what the operators give, what calls do, and what goes wrong. What is wanted was worked
 * out by hand. Each graph runs on both back ends, once more with all values kept, and once more as it is
 * read back from ONNX text and from JSON. */
#include "config.h"

#include "core/io/io.h"
#include "core/op/verify.h"
#include "passes/pipeline/pipeline.h"
#include "tests/exec/graphs.h"

#include <pthread.h>
#include <string.h>

typedef struct
{
  const char *title;
  const char *given; /* contents of the inputs, ';' between them */
  const char *types,
      *wanted;      /* of the outputs, '|' between them; @types NULL: an error that has each part of
                                 @wanted in it */
  const char *text; /* from the main graph on */
} Case;

#define HEAD     "ir_version: 10, opset_import: [\"\" : 21, \"irscope.closure\" : 1, \"f\" : 1]"
#define FUNCTION "<domain: \"f\", opset_import: [\"\" : 21, \"irscope.closure\" : 1]>\n"
#define PARTIAL(NAME, FUNCTION_NAME, CAPTURED)                                                     \
  NAME " = irscope.closure.Partial <domain = \"f\", function = \"" FUNCTION_NAME "\"> (" CAPTURED  \
       ")\n"
#define CALL(RESULTS, ARGUMENTS) RESULTS " = irscope.closure.Call (" ARGUMENTS ")\n"
#define NEG                      FUNCTION "neg (int64[n] a) => (int64[n] b) { b = Neg (a) }\n"
#define TWICE                    FUNCTION "twice (int64[n] a) => (int64[n] b) { b = Add (a, a) }\n"
#define SUB                      FUNCTION "sub (int64[n] a, int64[n] b) => (int64[n] c) { c = Sub (a, b) }\n"

/* header (n, i, x) calls body while i < n, which doubles x, and after behind that */
#define LOOP                                                                                       \
  FUNCTION                                                                                         \
  "header (int64 n, int64 i, int64[2] x) => (int64 k, int64[2] r) {\n"                             \
  "more = Less (i, n)\n" PARTIAL ("go", "body", "n, i, x")                                         \
      PARTIAL ("stop", "after", "i, x") "s = irscope.closure.Switch (more, go, stop)\n" CALL (     \
          "k, r",                                                                                  \
          "s") "}\n" FUNCTION "body (int64 n, int64 i, int64[2] x) => (int64 k, int64[2] r) {\n"   \
               "one = Constant <value_int = 1> ()\nj = Add (i, one)\ny = Add (x, x)\n" PARTIAL (   \
                   "h", "header", "n")                                                             \
                   CALL ("k, r",                                                                   \
                         "h, j, y") "}\n" FUNCTION                                                 \
                                    "after (int64 i, int64[2] x) => (int64 i, int64[2] x) { }\n"
#define LOOP_MAIN                                                                                      \
  "g (int64 n, int64[2] x) => (int64 k, int64[2] r) {\nzero = Constant <value_int = 0> ()\n" PARTIAL ( \
      "h", "header", "n") CALL ("k, r", "h, zero, x") "}\n"

/* 1 + 2 + .. + n, by a call from the branch of an If that is not the last thing there */
#define SUM                                                                                        \
  FUNCTION "sum (int64 n) => (int64 r) {\none = Constant <value_int = 1> ()\n"                     \
           "zero = Constant <value_int = 0> ()\nmore = Greater (n, zero)\n"                        \
           "r = If (more) <then_branch = a () => (int64 t) { m = Sub (n, one)\n" PARTIAL (         \
               "f", "sum", "")                                                                     \
               CALL ("k", "f, m") "t = Add (k, n) }, "                                             \
                                  "else_branch = b () => (int64 e) { e = Identity (zero) }>\n}\n"
#define SUM_MAIN "g (int64 n) => (int64 y) {\n" PARTIAL ("f", "sum", "") CALL ("y", "f, n") "}\n"

static const Case cases[] = {
  { "A call gives what the function gives", "1 -2", "int64[2]", "[-1, 2]",
    "g (int64[2] x) => (int64[2] y) {\n" PARTIAL ("f", "neg", "") CALL ("y", "f, x") "}\n" NEG },
  { "What is captured comes first", "5 6;1 2", "int64[2]", "[4, 4]",
    "g (int64[2] x, int64[2] z) => (int64[2] y) {\n" PARTIAL ("f", "sub", "x")
        CALL ("y", "f, z") "}\n" SUB },
  { "All can be captured", "5 6;1 2", "int64[2]", "[-4, -4]",
    "g (int64[2] x, int64[2] z) => (int64[2] y) {\n" PARTIAL ("f", "sub", "z, x")
        CALL ("y", "f") "}\n" SUB },
  { "Switch, true", "3;1", "int64[1]", "[-3]",
    "g (int64[1] x, bool p) => (int64[1] y) {\n" PARTIAL ("a", "neg", "")
        PARTIAL ("b", "twice", "") "s = irscope.closure.Switch (p, a, b)\n" CALL (
            "y", "s, x") "}\n" NEG TWICE },
  { "Switch, false", "3;0", "int64[1]", "[6]",
    "g (int64[1] x, bool p) => (int64[1] y) {\n" PARTIAL ("a", "neg", "")
        PARTIAL ("b", "twice", "") "s = irscope.closure.Switch (p, a, b)\n" CALL (
            "y", "s, x") "}\n" NEG TWICE },
  { "SwitchLayer", "3;1", "int64[1]", "[6]",
    "g (int64[1] x, int64 i) => (int64[1] y) {\n" PARTIAL ("a", "neg", "")
        PARTIAL ("b", "twice", "") "s = irscope.closure.SwitchLayer (i, a, b)\n" CALL (
            "y", "s, x") "}\n" NEG TWICE },
  { "SwitchLayer, from the end", "3;-2", "int64[1]", "[-3]",
    "g (int64[1] x, int64 i) => (int64[1] y) {\n" PARTIAL ("a", "neg", "")
        PARTIAL ("b", "twice", "") "s = irscope.closure.SwitchLayer (i, a, b)\n" CALL (
            "y", "s, x") "}\n" NEG TWICE },
  { "Switch by two bools", "3;1", NULL,
    "the condition is bool[2], needed one bool; check what computes it|Switch",
    "g (int64[1] x, bool[1] i) => (int64[1] y) {\n" PARTIAL (
        "a",
        "neg",
        "") "j = Concat <axis = 0> (i, i)\ns = irscope.closure.Switch (j, a, a)\n" CALL ("y",
                                                                                         "s, x") "}" NEG },
  { "SwitchLayer, out of range", "3;2", NULL,
    "the index is 2, needed from -2 to 1 for its branches|SwitchLayer",
    "g (int64[1] x, int64 i) => (int64[1] y) {\n" PARTIAL ("a", "neg", "")
        PARTIAL ("b", "twice", "") "s = irscope.closure.SwitchLayer (i, a, b)\n" CALL (
            "y", "s, x") "}\n" NEG TWICE },
  { "A closure goes through an If", "3;0", "int64[1]", "[6]",
    "g (int64[1] x, bool p) => (int64[1] y) {\n" PARTIAL ("a", "neg", "") PARTIAL (
        "b",
        "twice",
        "") "s = If (p) <then_branch = t () => (u) { u = Identity (a) }, else_branch = e () => (v) { v = "
            "Identity (b) }>\n" CALL ("y", "s, x") "}\n" NEG TWICE },
  { "A closure is carried by a Loop, which calls it", "3;1", "int64[1]", "[-6]",
    "g (int64[1] x, bool p) => (int64[1] y) {\n" PARTIAL ("a", "neg", "") PARTIAL (
        "b",
        "twice",
        "") "n = Constant <value_int = 2> ()\n"
            "c, d, y = Loop (n, p, a, b, x) <body = l (int64 i, bool go, closure(?) now, closure(?) next, int64[1] v) "
            "=> (bool go, closure(?) next2, closure(?) now2, int64[1] w) { next2 = Identity (next)\nnow2 = Identity "
            "(now)\n" CALL ("w", "now, v") "}>\n}\n" NEG TWICE },
  { "A closure is captured by a closure, and called there", "3", "int64[1]", "[-12]",
    "g (int64[1] x) => (int64[1] y) {\n" PARTIAL ("a", "twice", "") PARTIAL ("f", "outer", "a")
        CALL (
            "y",
            "f, x") "}\n" TWICE FUNCTION
                    "outer (closure(int64[?] -> int64[?]) c, int64[n] a) => (int64[n] b) {\n" CALL (
                        "d", "c, a") CALL ("e", "c, d") "b = Neg (e)\n}\n" },
  { "A function gives a closure", "3;4", "int64[1]", "[-1]",
    "g (int64[1] x, int64[1] z) => (int64[1] y) {\n" PARTIAL ("m", "make", "") CALL ("f", "m, x")
        CALL ("y", "f, z") "}\n" FUNCTION
                           "make (int64[n] a) => (c) {\n" PARTIAL ("c", "sub", "a") "}\n" SUB },
  { "A loop", "5;1 2", "int64[]|int64[2]", "5|[32, 64]", LOOP_MAIN LOOP },
  { "A loop that does nothing", "0;1 2", "int64[]|int64[2]", "0|[1, 2]", LOOP_MAIN LOOP },
  { "A recursion from a branch", "10", "int64[]", "55", SUM_MAIN SUM },
  { "What is live is kept while the function runs again", "5", "int64[]", "8",
    "g (int64 n) => (int64 y) {\n" PARTIAL ("f", "fib", "") CALL (
        "y",
        "f, n") "}\n" FUNCTION
                "fib (int64 n) => (int64 r) {\none = Constant <value_int = 1> ()\nmore = Greater (n, one)\n" PARTIAL (
                    "a", "both", "n")
                    PARTIAL ("b", "unit", "") "s = irscope.closure.Switch (more, a, b)\n" CALL (
                        "r",
                        "s") "}\n" FUNCTION
                             "both (int64 n) => (int64 r) {\none = Constant <value_int = 1> ()\n"
                             "m = Sub (n, one)\nl = Sub (m, one)\n" PARTIAL ("f", "fib", "")
                                 CALL ("p", "f, m") CALL (
                                     "q",
                                     "f, l") "r = Add (p, q)\n}\n" FUNCTION
                                             "unit () => (int64 r) { r = Constant <value_int = 1> () }\n" },
  { "An argument of another type", "1 2", NULL,
    "neg|input 0|int64[2]|declared is float[2]|cast or reshape it",
    "g (int64[n] x) => (y) {\n" PARTIAL (
        "a",
        "neg",
        "") "p = Constant <value_int = 1> ()\nq = Cast <to = 9> (p)\n"
            "s = If (q) <then_branch = t () => (u) { u = Identity (a) }, else_branch = e () => (v) { " PARTIAL (
                "v",
                "two",
                "a") "}>\n" CALL ("y", "s, x") "}\n" FUNCTION
                                               "neg (float[2] a) => (float[2] b) { b = Neg (a) "
                                               "}\n" FUNCTION
                                               "two (c, a) => (b) { b = Neg (a) }\n" },
  { "A result of another type", "1 2", NULL, "output 0|int64[2]|declared is float[2]",
    "g (int64[2] x) => (y) {\n" PARTIAL ("a", "neg", "")
        CALL ("y", "a, x") "}\n" FUNCTION "neg (a) => (float[2] b) { b = Neg (a) }\n" },
  { "Too few arguments", "1 2", NULL,
    "sub takes 2 inputs|the closure has 0 of the inputs, 1 are given",
    "g (int64[2] x) => (y) {\n" PARTIAL (
        "a", "sub", "") "o = Optional (a)\nb = OptionalGetElement (o)\n" CALL ("y",
                                                                               "b, x") "}\n" SUB },
  { "What is called is no closure", "1 2", NULL, "what is called is no closure; Partial makes one",
    "g (int64[2] x) => (y) {\n" CALL ("y", "x") "}\n" },
  { "A recursion that does not end", "1", NULL,
    "the recursion is too deep|200,000 calls|let it end sooner",
    "g (int64 n) => (int64 y) {\n" PARTIAL ("f", "more", "") CALL (
        "y", "f, n") "}\n" FUNCTION "more (int64 n) => (int64 r) {\n" PARTIAL ("f", "more", "")
        CALL ("k", "f, n") "r = Neg (k)\n}\n" },
  { "A loop that does not end", "1", NULL, "need more than 250000 iterations",
    "g (int64 n) => (int64 y) {\n" PARTIAL ("f", "more", "") CALL (
        "y", "f, n") "}\n" FUNCTION "more (int64 n) => (int64 r) {\n" PARTIAL ("f", "more", "")
        CALL ("r", "f, n") "}\n" },
};

static IrModel *
read_text (const char *title, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < problems->len; i++)
    g_error ("%s: %s", title, ((IrProblem *) problems->pdata[i])->message);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return model;
}

static IrModel *
read_case (const Case *c)
{
  g_autofree char *text = g_strconcat ("<" HEAD ">\n", c->text, NULL);

  return read_text (c->title, text);
}

/* Inputs whose sizes are open are as long as what is given. */
static GHashTable *
give_inputs (const char *given, const IrModel *model)
{
  GHashTable *inputs = inputs_new ();
  g_auto (GStrv) contents = g_strsplit (given, ";", -1);

  for (guint i = 0; contents[i] != NULL; i++)
    {
      const IrValue *input = ir_graph_input (model->main, i);
      g_auto (GStrv) numbers = g_strsplit (contents[i], " ", -1);
      g_autofree char *type = input->type->rank == 0
                                  ? g_strdup_printf ("%s[]", ir_dtype_name (input->type->dtype))
                                  : g_strdup_printf ("%s[%u]", ir_dtype_name (input->type->dtype),
                                                     g_strv_length (numbers));
      inputs_add (inputs, input, tensor_of (type, contents[i]));
    }
  return inputs;
}

static void
check_run (const Case *c, IrModel *model, const IrRunOptions *options)
{
  g_autoptr (GHashTable) inputs = give_inputs (c->given, model);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = ir_model_run (model, inputs, options, NULL, &error);
  g_auto (GStrv) wanted = g_strsplit (c->wanted, "|", -1);
  g_auto (GStrv) types = g_strsplit (c->types != NULL ? c->types : "", "|", -1);

  if (c->types == NULL)
    {
      g_assert_nonnull (error);
      for (guint k = 0; wanted[k] != NULL; k++)
        if (strstr (error->message, wanted[k]) == NULL)
          g_error ("%s: \"%s\" is not in \"%s\"", c->title, wanted[k], error->message);
      return;
    }
  g_assert_no_error (error);
  for (guint i = 0; wanted[i] != NULL; i++)
    {
      const IrTensor *tensor = ir_run_value (run, ir_graph_output (model->main, i)->id);
      g_autofree char *type = ir_type_to_string (run->model->context,
                                                 ir_tensor_type (tensor, run->model->context));
      g_autofree char *text = ir_tensor_to_string (tensor, 1000);
      g_assert_cmpstr (type, ==, types[i]);
      g_assert_cmpstr (text, ==, wanted[i]);
    }
}

static void
test_case (gconstpointer data)
{
  static const char *const backends[] = { "ref", "cpu" };
  const Case *c = data;
  g_autoptr (IrModel) model = read_case (c);
  const gboolean is_long = strstr (c->wanted, "00") != NULL;

  for (guint i = 0; i < (is_long ? 1 : 4); i++)
    {
      const IrRunOptions options = { .backend = ir_backend_find (backends[i % 2]),
                                     .n_threads = 1,
                                     .iteration_limit = 250000,
                                     .capture = i > 1 ? IR_CAPTURE_ALL : IR_CAPTURE_NONE };
      check_run (c, model, &options);
    }
}

/* What is written is what was read, and does the same. */
static void
test_written (gconstpointer data)
{
  const Case *c = data;
  const IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (IrModel) model = read_case (c);
  g_autofree char *text = ir_text_write (model);
  g_autoptr (IrModel) again = read_text (c->title, text);
  g_autofree char *second = ir_text_write (again);
  g_autoptr (GError) error = NULL;
  g_autofree char *json = ir_json_write (model);
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  g_assert_cmpstr (text, ==, second);
  check_run (c, again, &options);
  g_autoptr (IrModel) from_json = ir_json_read (json, -1, problems, &error);
  g_assert_no_error (error);
  g_autofree char *third = ir_text_write (from_json);
  g_assert_cmpstr (text, ==, third);
}

/* -- deep -- */

typedef struct
{
  IrModel *model;
  GHashTable *inputs;
  IrRun *run;
} Deep;

static void *
run_deep (void *data)
{
  Deep *deep = data;
  g_autoptr (GError) error = NULL;
  const IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  deep->run = ir_model_run (deep->model, deep->inputs, &options, NULL, &error);
  g_assert_no_error (error);
  return NULL;
}

/* 100,000 calls that wait for each other, on a stack of 1 MiB. */
static void
test_deep (void)
{
  static const Case deep_case = { .title = "deep", .text = SUM_MAIN SUM };
  g_autoptr (IrModel) model = read_case (&deep_case);
  g_autoptr (GHashTable) inputs = give_inputs ("100000", model);
  Deep deep = { model, inputs, NULL };
  pthread_attr_t attr;
  pthread_t thread;

  g_assert_cmpint (pthread_attr_init (&attr), ==, 0);
  g_assert_cmpint (pthread_attr_setstacksize (&attr, 1 << 20), ==, 0);
  g_assert_cmpint (pthread_create (&thread, &attr, run_deep, &deep), ==, 0);
  g_assert_cmpint (pthread_join (thread, NULL), ==, 0);
  pthread_attr_destroy (&attr);
  assert_tensor (ir_run_value (deep.run, ir_graph_output (model->main, 0)->id), "int64[]",
                 "5000050000", 0);
  ir_run_unref (deep.run);
}

/* Calls that are the last thing in their functions take no memory, however many. */
static void
test_memory (void)
{
  static const Case loop = { .title = "loop", .text = LOOP_MAIN LOOP };
  g_autoptr (IrModel) model = read_case (&loop);
  guint64 peaks[2];

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GHashTable) inputs = give_inputs (i == 0 ? "10;0 0" : "10000;0 0", model);
      const IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      peaks[i] = run->trace->peak_bytes;
    }
  g_assert_cmpuint (peaks[0], ==, peaks[1]);
}

/* -- uses -- */

static guint
count_functions (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      n += graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION;
    }
  return n;
}

/* A function that a closure names is used, and so is what it calls. */
static void
test_uses (void)
{
  static const Case used = {
    .title = "used",
    .given = "1 2",
    .types = "int64[2]",
    .wanted = "[-2, -4]",
    .text = "g (int64[2] x) => (int64[2] y) {\n" PARTIAL ("a", "both", "") CALL (
        "y",
        "a, x") "}\n" FUNCTION
                "both (int64[n] a) => (int64[n] b) { c = f.twice (a)\nb = Neg (c) }\n" TWICE NEG
  };
  static const char *const names[] = { "inline-functions", NULL };
  const IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (IrModel) model = read_case (&used);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, &error);

  g_assert_cmpuint (count_functions (model), ==, 3);
  g_assert_true (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (count_functions (model), ==, 2); /* neg is not */
  check_run (&used, model, &options);
}

/* Problems of a function that only a closure names are found. */
static void
test_checked (void)
{
  static const Case wrong = {
    .title = "wrong",
    .text = "g (int64[2] x) => (y) {\n" PARTIAL ("a", "outer", "") CALL (
        "y", "a, x") "}\n" FUNCTION "outer (int64[2] a) => (b) {\n" PARTIAL ("c", "inner", "a")
        CALL ("b", "c") "}\n" FUNCTION "inner (float[3] a) => (b) { b = Neg (a) }\n"
  };
  g_autoptr (IrModel) model = read_case (&wrong);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  gboolean found = FALSE;

  ir_verify_model (model, problems);
  for (guint i = 0; i < problems->len; i++)
    found = found ||
            strstr (((IrProblem *) problems->pdata[i])->message,
                    "the captured value a is int64[2], the function takes float[3]") != NULL;
  g_assert_true (found);
}

/* A file has no place for a function. */
static void
test_saved (void)
{
  g_autoptr (IrTensor) number = tensor_of ("int64[]", "1");
  g_autoptr (IrTensor) closure = ir_tensor_new_closure ("f.neg", "closure(?)", &number, 1);
  g_autoptr (IrTensor) many = ir_tensor_new_sequence (NULL, &closure, 1);
  const IrTensor *const values[] = { closure, many };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_false (ir_tensor_save (values[i], "/nowhere/closure.pb", &error));
      g_assert_nonnull (strstr (error->message, "no file holds a closure"));
    }
}

/* -- steps -- */

/* A step in a function that only a closure names is judged by what the whole graph gives. */
static void
test_proved (void)
{
  static const Case used = { .title = "used",
                             .given = "1 -2",
                             .text = "g (int64[2] x) => (int64[2] y) {\n" PARTIAL ("a", "neg", "")
                                 CALL ("y", "a, x") "}\n" NEG };
  static const struct
  {
    const char *op;
    IrVerdict verdict;
  } steps[] = { { "Abs", IR_VERDICT_BROKEN },
                { "BitwiseNot", IR_VERDICT_BROKEN },
                { "Neg", IR_VERDICT_EXACT } };

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = read_case (&used);
      g_autoptr (GHashTable) inputs = give_inputs (used.given, model);
      const IrGraph *function = ir_model_find_function (model, "f", "neg", "");
      guint n;
      IrNode *node = ir_graph_order (function, &n)[0];
      g_autoptr (IrEdit) edit = ir_edit_new (model);
      IrProof proof;

      ir_edit_begin_pass (edit, "test");
      ir_edit_begin_step (edit, "change", IR_CLASS_EXACT, node->id);
      IrNode *other = ir_edit_add_node (edit, node->graph, steps[i].op, NULL, NULL, 1, node->inputs,
                                        1);
      ir_edit_replace_uses (edit, node->outputs[0], other->outputs[0]);
      ir_edit_remove_node (edit, node);
      ir_edit_end_step (edit);
      ir_edit_end_pass (edit);
      g_clear_pointer (&edit, ir_edit_free);
      g_autoptr (IrProver)
          prover = ir_prover_new (model, inputs, ir_backend_find ("ref"), NULL, &error);
      g_assert_no_error (error);
      g_assert_true (ir_prover_prove_step (prover, 1, &proof, &error));
      g_assert_no_error (error);
      g_assert_cmpint (proof.verdict, ==, steps[i].verdict);
    }
}

/* Calls of what may draw random numbers are not one call. */
static void
test_draws (void)
{
  static const Case draws = {
    .title = "draws",
    .given = "1;2",
    .types = "int64[]",
    .wanted = "1",
    .text = "g (int64 a, int64 b) => (int64 y) {\n"
            "s = Constant <value_ints = [64]> ()\nx = ConstantOfShape (s)\n" PARTIAL (
                "f", "noise", "") CALL ("p", "f, x")
                CALL ("q",
                      "f, x") "d = Sub (p, q)\ne = ReduceL1 <keepdims = 0> (d)\n"
                              "z = Constant <value_float = 0.0> ()\nm = Greater (e, z)\n"
                              "y = Cast <to = 7> (m)\n}\n" FUNCTION
                              "noise (float[64] x) => (float[64] r) { r = RandomNormalLike (x) }\n"
  };
  static const char *const names[] = { "merge-common-subexpressions", "fold-constants", NULL };
  const IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (IrModel) model = read_case (&draws);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, &error);

  check_run (&draws, model, &options);
  g_assert_true (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  check_run (&draws, model, &options);
}

/* -- types -- */

static void
test_types (void)
{
  static const char *const texts[] = { "closure(?)", "closure(->)", "closure(-> float[2])",
                                       "closure(float[2] ->)",
                                       "closure(float[2], ? -> int64[], seq(closure(?)))" };
  g_autoptr (IrModel) model = ir_model_new ();
  IrContext *context = model->context;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      const IrType *type = ir_type_parse (context, texts[i], &error);
      g_assert_no_error (error);
      g_autofree char *text = ir_type_to_string (context, type);
      g_assert_cmpstr (text, ==, texts[i]);
      g_assert_true (ir_type_at_least (type, ir_type_parse (context, "closure(?)", NULL)));
      g_assert_true (ir_type_merge (context, ir_type_parse (context, "closure(?)", NULL), type) ==
                     type);
    }
  const IrType *a = ir_type_parse (context, "closure(float[2] -> ?)", NULL);
  const IrType *b = ir_type_parse (context, "closure(? -> int64[3])", NULL);
  g_assert_true (ir_type_merge (context, a, b) ==
                 ir_type_parse (context, "closure(float[2] -> int64[3])", NULL));
  g_assert_null (
      ir_type_merge (context, a, ir_type_parse (context, "closure(int64[2] -> ?)", NULL)));
  g_assert_null (ir_type_merge (context, a, ir_type_parse (context, "closure(-> float[2])", NULL)));
  for (guint i = 0; i < 4; i++)
    {
      static const char *const wrong[] = { "closure()", "closure(float[2])", "closure(-> ->)",
                                           "closure(float[2] -> " };
      g_assert_null (ir_type_parse (context, wrong[i], NULL));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/closures/%02u %s", i, cases[i].title);
      g_autofree char *written = g_strdup_printf ("/closures/written/%02u", i);
      g_test_add_data_func (path, &cases[i], test_case);
      if (cases[i].types != NULL)
        g_test_add_data_func (written, &cases[i], test_written);
    }
  g_test_add_func ("/closures/deep", test_deep);
  g_test_add_func ("/closures/memory", test_memory);
  g_test_add_func ("/closures/uses", test_uses);
  g_test_add_func ("/closures/checked", test_checked);
  g_test_add_func ("/closures/saved", test_saved);
  g_test_add_func ("/closures/proved", test_proved);
  g_test_add_func ("/closures/draws", test_draws);
  g_test_add_func ("/closures/types", test_types);
  return g_test_run ();
}
