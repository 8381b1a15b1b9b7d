/* The executor of tokens: its rules one by one, then loops and conditions as they are lowered. What is
 * wanted was worked out by hand. Each graph runs on both back ends, with 1, 2 and 10 iterations in flight,
 * and once more with all values kept. */
#include "config.h"

#include "passes/pipeline/pipeline.h"
#include "core/io/io.h"
#include "core/ir/frames.h"
#include "tests/exec/graphs.h"

#include <string.h>

typedef struct
{
  const char *title;
  const char *inputs;         /* of the graph, as in ONNX text */
  const char *given;          /* their contents, ';' between them */
  const char *types, *wanted; /* of its outputs, '|' between them; @types NULL: an error that has
                                 each part of @wanted in it */
  const char *body;
} Case;

#define ENTER(NAME, VALUE) NAME " = irscope.flow.Enter <frame_name = \"while\"> (" VALUE ")\n"
#define INVARIANT(NAME, VALUE)                                                                     \
  NAME " = irscope.flow.Enter <frame_name = \"while\", is_constant = 1> (" VALUE ")\n"
#define MERGE(NAME, A, B)  NAME " = irscope.flow.Merge (" A ", " B ")\n"
#define SWITCH(F, T, V, P) F ", " T " = irscope.flow.Switch (" V ", " P ")\n"
#define NEXT(NAME, VALUE)  NAME " = irscope.flow.NextIteration (" VALUE ")\n"
#define EXIT(NAME, VALUE)  NAME " = irscope.flow.Exit (" VALUE ")\n"
#define COND(NAME, VALUE)  NAME " = irscope.flow.LoopCond (" VALUE ")\n"
#define AFTER(VALUES)      "#! metadata [\"irscope.after\":\"" VALUES "\"]\n"
#define ONE                "one = Constant <value_int = 1> ()\n"

/* while (i < n) i = i + 1, and whatever else a case adds to the body */
#define COUNTED                                                                                    \
  ONE "zero = Constant <value_int = 0> ()\n" ENTER ("i0", "zero") INVARIANT ("n1", "n")            \
      MERGE ("i", "i0", "i3") "c = Less (i, n1)\n" COND ("p", "c")                                 \
          SWITCH ("i1", "ib", "i", "p") "i2 = Add (ib, one)\n" NEXT ("i3", "i2")

static const Case cases[] = {
  { "Switch forwards to the output that the predicate names", "int64 x, bool p", "5;1",
    "int64[]|int32[]", "-5|1",
    SWITCH ("f", "t", "x", "p") "a = Neg (t)\n"
                                "y, z = irscope.flow.Merge (f, a)\n" },
  { "Switch, the other side", "int64 x, bool p", "5;0", "int64[]|int32[]", "5|0",
    SWITCH ("f", "t", "x", "p") "a = Neg (t)\ny, z = irscope.flow.Merge (f, a)\n" },
  { "A dead Switch is dead on both sides", "int64 x, bool p, bool q", "5;0;1", "int64[]|int32[]",
    "5|2",
    SWITCH ("f", "t", "x", "p") SWITCH ("qf", "qt", "q", "p")
        SWITCH ("tf", "tt", "t", "qt") "y, z = irscope.flow.Merge (tf, tt, f)\n" },
  { "A Merge of dead inputs is dead, and the one behind it takes the live one", "int64 x, bool p",
    "5;0", "int64[]|int32[]", "5|1",
    SWITCH ("f", "t", "x", "p") "a = Neg (t)\nb = Abs (t)\n" MERGE (
        "m", "a", "b") "y, z = irscope.flow.Merge (m, f)\n" },
  { "A dead control dependency makes a node dead", "int64 x, bool p", "5;0", "int64[]|int32[]",
    "6|1",
    SWITCH ("f", "t", "x", "p")
        ONE AFTER ("t2") "a = Neg (x)\nt2 = Identity (t)\nb = Add (f, one)\n"
                         "y, z = irscope.flow.Merge (a, b)\n" },
  { "A live control dependency does not", "int64 x, bool p", "5;1", "int64[]|int32[]", "-5|0",
    SWITCH ("f", "t", "x", "p")
        ONE AFTER ("t2") "a = Neg (x)\nt2 = Identity (t)\nb = Add (f, one)\n"
                         "y, z = irscope.flow.Merge (a, b)\n" },
  { "A Merge waits for a dead control dependency and is live", "int64 x, bool p", "5;0", "int64[]",
    "5",
    SWITCH ("f", "t", "x", "p") "a = Neg (t)\n" AFTER ("a") "y = irscope.flow.Merge (f, a)\n" },
  { "ControlTrigger is live behind what is dead", "int64 x, bool p", "5;0", "int64[]", "-5",
    SWITCH ("f", "t", "x", "p")
        AFTER ("a") "[trig] = irscope.flow.ControlTrigger ()\na = Neg (t)\n" AFTER (
            "trig") "b = Neg (x)\ny = irscope.flow.Merge (a, b)\n" },
  { "A Merge that reads a constant has a live input", "int64 x, bool p", "5;0", "int64[]|int32[]",
    "1|1", ONE SWITCH ("f", "t", "x", "p") "y, z = irscope.flow.Merge (t, one)\n" },
  { "Two live inputs of a Merge are an error that names both", "int64 x, bool p", "5;0", NULL,
    "two of its inputs are live|first (Abs)|second (Neg)|Switch",
    "[first] a = Abs (x)\n[second] b = Neg (x)\ny = irscope.flow.Merge (a, b)\n" },
  { "An output that is dead is an error with its predicate", "int64 x, bool p", "5;0", NULL,
    "q (Neg)|y is dead|p = true|Merge", SWITCH ("f", "t", "x", "p") "[q] y = Neg (t)\n" },
  { "An output of what never lives is an error that says so, in front of the Exit", "int64 n", "3",
    NULL, "q (Add)|y is dead|one iteration|Switch",
    COUNTED "[q] both = Add (i1, ib)\n" EXIT ("y", "both") },
  { "A condition of two elements", "int64 x, bool[2] p", "5;0 1", NULL, "bool[2], needed one bool",
    SWITCH ("f", "t", "x", "p") "y = irscope.flow.Merge (f, t)\n" },
  { "A condition that is found to be of two elements", "int64 x, bool[n] p", "5;0 1", NULL,
    "bool[2], needed one bool", SWITCH ("f", "t", "x", "p") "y = irscope.flow.Merge (f, t)\n" },

  /* -- frames -- */
  { "A counted loop", "int64 n", "5", "int64[]", "5", COUNTED EXIT ("y", "i1") },
  { "Without an iteration variables are what they began with", "int64 n", "0", "int64[]", "0",
    COUNTED EXIT ("y", "i1") },
  { "A variable that grows in shape", "int64 n, int64[1] x", "4;7", "int64[5]", "[7, 1, 2, 3, 4]",
    COUNTED ENTER ("v0", "x") MERGE ("v", "v0", "v3") SWITCH (
        "v1", "vb", "v", "p") "axes = Constant <value_ints = [0]> ()\nu = Unsqueeze (i2, axes)\n"
                              "v2 = Concat <axis = 0> (vb, u)\n" NEXT ("v3", "v2")
                                  EXIT ("y", "v1") },
  { "Parallel assignment: (a, b) = (b, a)", "int64 n, int64 s, int64 t", "3;10;20",
    "int64[]|int64[]", "20|10",
    COUNTED ENTER ("a0", "s") ENTER ("b0", "t") MERGE ("a", "a0", "a3") MERGE ("b", "b0", "b3")
        SWITCH ("a1", "ab", "a", "p") SWITCH ("b1", "bb", "b", "p") NEXT ("a3", "bb")
            NEXT ("b3", "ab") EXIT ("y", "a1") EXIT ("z", "b1") },
  { "A loop in a branch that is not taken is dead as a whole", "int64 n, bool q", "5;0",
    "int64[]|int32[]", "-5|1",
    SWITCH ("nf", "nt", "n", "q") "n_ = Identity (nt)\n" ONE SWITCH ("unused", "zero", "one", "q")
        ENTER ("i0", "zero") INVARIANT ("n1", "n_")
            MERGE ("i", "i0", "i3") "c = Less (i, n1)\n" COND ("p", "c")
                SWITCH ("i1", "ib", "i", "p") "i2 = Add (ib, one)\n" NEXT ("i3", "i2")
                    EXIT ("e", "i1") "f = Neg (nf)\ny, z = irscope.flow.Merge (e, f)\n" },
  { "The same loop, taken", "int64 n, bool q", "5;1", "int64[]|int32[]", "5|0",
    SWITCH ("nf", "nt", "n", "q") "n_ = Identity (nt)\n" ONE SWITCH ("unused", "zero", "one", "q")
        ENTER ("i0", "zero") INVARIANT ("n1", "n_")
            MERGE ("i", "i0", "i3") "c = Less (i, n1)\n" COND ("p", "c")
                SWITCH ("i1", "ib", "i", "p") "i2 = Add (ib, one)\n" NEXT ("i3", "i2")
                    EXIT ("e", "i1") "f = Neg (nf)\ny, z = irscope.flow.Merge (e, f)\n" },
  { "A condition in a loop: odd numbers count ten", "int64 n", "5", "int64[]", "23",
    COUNTED
    "two = Constant <value_int = 2> ()\nten = Constant <value_int = 10> ()\n"
    "sum0 = Constant <value_int = 0> ()\n" ENTER ("s0", "sum0") MERGE ("s", "s0", "s3")
        SWITCH ("s1", "sb", "s", "p") "m = Mod (ib, two)\nodd = Cast <to = 9> (m)\n" SWITCH (
            "even_s",
            "odd_s",
            "sb",
            "odd") "t = Add (odd_s, ten)\nf = Add (even_s, one)\n" MERGE ("s2", "f", "t")
            NEXT ("s3", "s2") EXIT ("y", "s1") },
  { "A loop in a loop: i times i additions", "int64 n", "5", "int64[]", "30",
    COUNTED "sum0 = Constant <value_int = 0> ()\n" ENTER ("s0", "sum0") MERGE ("s", "s0", "s3")
        SWITCH (
            "s1",
            "sb",
            "s",
            "p") "k0 = irscope.flow.Enter <frame_name = \"inner\"> (zi)\nzi = Sub (ib, ib)\n"
                 "w0 = irscope.flow.Enter <frame_name = \"inner\"> (sb)\n"
                 "lim = irscope.flow.Enter <frame_name = \"inner\", is_constant = 1> (ib)\n" MERGE (
                     "k", "k0", "k3") MERGE ("w", "w0", "w3") "d = Less (k, lim)\n" COND ("q", "d")
                     SWITCH ("k1", "kb", "k", "q")
                         SWITCH ("w1", "wb", "w", "q") "k2 = Add (kb, one)\n"
                                                       "w2 = Add (wb, lim)\n" NEXT ("k3", "k2")
                                                           NEXT ("w3", "w2") EXIT ("we", "w1")
                                                               NEXT ("s3", "we") EXIT ("y", "s1") },
  { "An If in a frame captures a variable and an invariant", "int64 n", "5", "int64[]", "35",
    COUNTED
    "sum0 = Constant <value_int = 0> ()\nthree = Constant <value_int = 3> ()\n" ENTER ("s0", "sum0")
        MERGE ("s", "s0", "s3") SWITCH (
            "s1",
            "sb",
            "s",
            "p") "small = Less (ib, three)\n"
                 "s2 = If (small) <then_branch = a () => (int64 u) { u = Add (sb, n1) }, else_branch = b () => "
                 "(int64 w) { w_ = Mul (n1, one) w1 = Add (sb, w_) w2 = Add (w1, n1) w = Identity (w2) }>\n" NEXT (
                     "s3", "s2") EXIT ("y", "s1") },
  { "Fetched from the middle of a branch that lives", "int64 x, bool p", "5;1", "int64[]", "-5",
    SWITCH ("f", "t", "x", "p") "y = Neg (t)\n" },

  /* -- what goes wrong in a run -- */
  { "A node in a loop that fails says its iteration", "int64 n", "5", NULL,
    "bad (Div)|while@3/bad (Div)",
    COUNTED
    "three = Constant <value_int = 3> ()\nleft = Sub (three, ib)\n[bad] r = Div (one, left)\n"
    "g = Sub (r, r)\n" EXIT ("e", "i1") ENTER ("s0", "one") MERGE ("s", "s0", "s3")
        SWITCH ("s1", "sb", "s", "p") "s2 = Add (sb, g)\n" NEXT ("s3", "s2") EXIT ("y", "s1") },
  { "A condition in a loop that is no bool says its iteration", "int64 n, bool[1] v", "5;1", NULL,
    "bool[2], needed one bool|while@1/",
    COUNTED ENTER ("v0", "v") MERGE ("v_", "v0", "v3") "vp = Identity (v_)\n" SWITCH (
        "a",
        "b",
        "i",
        "vp") "e = irscope.flow.Merge (a, b)\nv2 = Concat <axis = 0> (v_, v_)\n" NEXT ("v3", "v2")
        EXIT ("y", "i1") },
  { "A carried value that changes its element type says where", "int64 n", "5", NULL,
    "while@1/|int64[...] before iteration 0 and is float[] behind it|in front of #",
    COUNTED ENTER ("v0", "n") MERGE ("v", "v0", "v3") SWITCH (
        "v1", "vb", "v", "p") "f = Cast <to = 1> (vb)\n" NEXT ("v3", "f") EXIT ("y", "v1") },
  { "A loop that never ends meets the limit on iterations", "int64 x", "5", NULL,
    "1000 iterations|while@",
    "t = Constant <value = bool {1}> ()\n" ENTER ("t0", "t") MERGE ("t1", "t0", "t3")
        COND ("p", "t1") SWITCH ("tf", "tt", "t1", "p") NEXT ("t3", "tt") EXIT ("e", "tf")
            AFTER ("e") "y = Neg (x)\n" },
  { "An Exit in each iteration hands out too much", "int64 n", "5", NULL, "a second value|Exit",
    COUNTED "o = Neg (i2)\n" EXIT ("e", "o") EXIT ("e2", "i1") "y = Add (e, e2)\n" },
  { "A stall says who waits for what", "int64 n", "5", NULL,
    "y was never computed|Switch|while@5/|waits for w",
    COUNTED ENTER ("w0", "n") MERGE ("w", "w0", "wn")
        SWITCH ("w1", "wb", "w", "p") "sum = Add (w1, i1)\n"
                                      "dead = Neg (w1)\n" NEXT ("wn", "dead") EXIT ("y", "sum") },
};

static IrModel *
read_case (const Case *c)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_auto (GStrv) outputs = g_strsplit (c->types != NULL ? c->types : "int64[]", "|", -1);
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.flow\" : 1]>\n"
      "g (%s) => (%s) {\n%s\n}\n",
      c->inputs, outputs[1] != NULL ? "y, z" : "y", c->body);
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < problems->len; i++)
    g_error ("%s: %s", c->title, ((IrProblem *) problems->pdata[i])->message);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return model;
}

static void
set_parallel (IrModel *model, gint64 parallel)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  guint n;
  IrNode *const *nodes = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    if (strcmp (nodes[i]->op_type, "Enter") == 0)
      ir_edit_set_attr (edit, nodes[i],
                        ir_attr_int (model->context, "parallel_iterations", parallel));
}

static GHashTable *
give_inputs (const Case *c, const IrModel *model)
{
  GHashTable *inputs = inputs_new ();
  g_auto (GStrv) given = g_strsplit (c->given, ";", -1);
  g_auto (GStrv) words = g_strsplit (c->inputs, ", ", -1);

  for (guint i = 0; given[i] != NULL; i++)
    {
      g_auto (GStrv) word = g_strsplit (words[i], " ", 2);
      g_autofree char *type = strchr (word[0], '[') == NULL      ? g_strconcat (word[0], "[]", NULL)
                              : strcmp (word[0], "bool[n]") == 0 ? g_strdup ("bool[2]")
                                                                 : g_strdup (word[0]);
      inputs_add (inputs, ir_graph_input (model->main, i), tensor_of (type, given[i]));
    }
  return inputs;
}

static void
check_outputs (const Case *c, const IrModel *model, const IrRun *run)
{
  g_auto (GStrv) types = g_strsplit (c->types, "|", -1);
  g_auto (GStrv) wanted = g_strsplit (c->wanted, "|", -1);

  for (guint i = 0; types[i] != NULL; i++)
    {
      const IrTensor *tensor = ir_run_value (run, ir_graph_output (model->main, i)->id);
      g_assert_nonnull (tensor);
      IrContext *context = run->model->context;
      g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
      g_autofree char *text = ir_tensor_to_string (tensor, 1000);
      g_assert_cmpstr (type, ==, types[i]);
      g_assert_cmpstr (text, ==, wanted[i]);
    }
  for (IrValueId id = 1; id < run->n_values; id++)
    {
      const IrTensor *contents = ir_run_value (run, id);
      const IrValue *value = contents != NULL ? ir_model_value (run->model, id) : NULL;
      if (value != NULL && value->type != NULL)
        g_assert_nonnull (ir_type_merge (run->model->context, value->type,
                                         ir_tensor_type (contents, run->model->context)));
    }
}

/* As far as it has a form of If and Loop it gives the same in that. */
static void
check_raised (const Case *c, IrModel *model, GHashTable *inputs)
{
  static const char *const passes[] = { "raise-control-flow", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (passes, &error);
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  g_assert_true (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  check_outputs (c, model, run);
}

static void
test_case (gconstpointer data)
{
  static const char *const backends[] = { "ref", "cpu" };
  static const gint64 parallel[] = { 1, 2, 10, 10 };
  const Case *c = data;
  g_autoptr (IrModel) model = read_case (c);
  g_autoptr (GHashTable) inputs = give_inputs (c, model);

  for (guint i = 0; i < 2 * G_N_ELEMENTS (parallel); i++)
    {
      g_autoptr (GError) error = NULL;
      IrRunOptions options = { .backend = ir_backend_find (backends[i % 2]),
                               .n_threads = 1,
                               .iteration_limit = 1000,
                               .capture = i / 2 == 3 ? IR_CAPTURE_ALL : IR_CAPTURE_NONE };
      set_parallel (model, parallel[i / 2]);
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      if (c->types != NULL)
        {
          g_assert_no_error (error);
          check_outputs (c, model, run);
          continue;
        }
      g_assert_null (run);
      g_assert_nonnull (error);
      g_auto (GStrv) parts = g_strsplit (c->wanted, "|", -1);
      for (guint k = 0; parts[k] != NULL; k++)
        if (strstr (error->message, parts[k]) == NULL)
          g_error ("%s: \"%s\" is not in \"%s\"", c->title, parts[k], error->message);
    }
  if (c->types != NULL)
    check_raised (c, model, inputs);
}

/* Memory does not grow with iterations, however many may be in flight. */
static void
test_memory (void)
{
  const Case c = { "", "int64 n", "10", "int64[]", "10", COUNTED EXIT ("y", "i1") };
  g_autoptr (IrModel) model = read_case (&c);
  guint64 peaks[2];

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GHashTable) inputs = inputs_new ();
      IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
      inputs_add (inputs, ir_graph_input (model->main, 0),
                  tensor_of ("int64[]", i == 0 ? "20" : "20000"));
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      peaks[i] = run->trace->peak_bytes;
    }
  g_assert_cmpuint (peaks[0], ==, peaks[1]);
}

/* Frames in frames in frames: nothing of that is on the program's stack. */
static void
test_depth (void)
{
  const guint depth = 20000;
  GString *text = g_string_new (
      "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.flow\" : 1]>\n"
      "g (bool x0, bool no) => (bool y) {\n");

  for (guint i = 0; i < depth; i++)
    g_string_append_printf (text,
                            "e%u = irscope.flow.Enter <frame_name = \"f\"> (x%u)\n"
                            "m%u = irscope.flow.Merge (e%u, n%u)\nx%u = Identity (m%u)\n"
                            "c%u = irscope.flow.LoopCond (r%u)\n"
                            "s%u, t%u = irscope.flow.Switch (r%u, c%u)\n"
                            "n%u = irscope.flow.NextIteration (t%u)\n"
                            "r%u = irscope.flow.Exit (s%u)\n",
                            i, i, i, i, i, i + 1, i, i, i + 1, i, i, i + 1, i, i, i, i, i);
  g_string_append_printf (text, "r%u = Not (x%u)\ny = Not (r0)\n}\n", depth, depth);
  g_autofree char *all = g_string_free (text, FALSE);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (all, -1, problems, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (problems->len, ==, 0);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of ("bool[]", "1"));
  inputs_add (inputs, ir_graph_input (model->main, 1), tensor_of ("bool[]", "1"));
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  assert_tensor (ir_run_value (run, ir_graph_output (model->main, 0)->id), "bool[]", "1", 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/tokens/%02u %s", i, cases[i].title);
      for (char *p = path + 8; *p != '\0'; p++)
        if (*p == '/')
          *p = '|';
      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/tokens/memory", test_memory);
  g_test_add_func ("/tokens/depth", test_depth);
  return g_test_run ();
}
