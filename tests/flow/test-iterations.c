/* Values of iterations. A run that keeps every one of them says what is wanted; a run that keeps only
 * checkpoints has to give each of them back with the same bits, by running at most 2 sqrt (n) of n
 * iterations again. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "core/exec/run/iterations.h"
#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"
#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const char *title, *text;
  gboolean nested; /* loops below the outermost run as a whole */
  guint calls;     /* in an iteration; each counts as one more */
} Graph;

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"

static const Graph graphs[] = {
  { "a loop that draws random numbers, and ends by its condition",
    HEAD "g (double[4] x) => (double[4] y, double[n,4] all) {\n"
         "  most = Constant <value = int64 {1000}> ()\n  yes = Constant <value = bool {1}> ()\n"
         "  last = Constant <value = int64 {137}> ()\n"
         "  [loop] y, all = Loop (most, yes, x) <body = b (int64 i, bool c, double[4] v) => "
         "(bool more, double[4] w, double[4] u) {\n"
         "    r = RandomNormalLike (v)\n    u = Sin (v)\n    w = Add (u, r)\n"
         "    more = Less (i, last)\n  }>\n}\n" },
  { "a scan that runs backwards, with a value that is carried as it is", HEAD
    "g (float[50,3] x) => (float[3] y, float[3] same, float[50,3] z) {\n"
    "  zero = Constant <value = float[3] {1, 2, 3}> ()\n  start = Neg (zero)\n"
    "  [s] y, same, z = Scan (zero, start, x) <num_scan_inputs = 1, scan_input_directions = [1], "
    "body = b (float[3] h, float[3] k, float[3] e) => (float[3] h2, float[3] k2, float[3] o) {\n"
    "    half = Constant <value = float {0.5}> ()\n    hh = Mul (h, half)\n    t = Add (hh, e)\n"
    "    h2 = Tanh (t)\n    k2 = Identity (k)\n    o = Exp (h2)\n  }>\n}\n" },
  { "a loop in a loop, and a branch that is taken in some iterations",
    HEAD "g (float[2] x) => (float[2] y) {\n"
         "  n = Constant <value = int64 {20}> ()\n  m = Constant <value = int64 {3}> ()\n"
         "  yes = Constant <value = bool {1}> ()\n  two = Constant <value = int64 {2}> ()\n"
         "  zero = Constant <value = int64 {0}> ()\n"
         "  [outer] y = Loop (n, yes, x) <body = b (int64 i, bool c, float[2] v) => "
         "(bool more, float[2] w) {\n    more = Identity (c)\n"
         "    [\"inner/1\"] z = Loop (m, yes, v) <body = b2 (int64 j, bool d, float[2] p) => "
         "(bool more2, float[2] q) {\n      more2 = Identity (d)\n      q = Cos (p)\n    }>\n"
         "    odd = Mod (i, two)\n    is_odd = Greater (odd, zero)\n"
         "    w = If (is_odd) <then_branch = t () => (float[2] a) { a = Neg (z) }, "
         "else_branch = e () => (float[2] f) { f = Sin (z) }>\n  }>\n}\n",
    TRUE },
  { "a map over a sequence, in a branch", HEAD
    "g (float[6] x, bool p) => (seq(float[2]) y) {\n"
    "  two = Constant <value = int64 {2}> ()\n  s = SplitToSequence <axis = 0> (x, two)\n"
    "  y = If (p) <then_branch = t () => (seq(float[2]) a) { [\"map@2\"] a = SequenceMap (s) <body = "
    "b (float[2] e) => (float[2] o) { h = Abs (e)\n o = Sqrt (h) }> }, "
    "else_branch = e () => (seq(float[2]) f) { f = Identity (s) }>\n}\n" },
};

/* Called from two loops and from the graph itself, with a loop and random numbers of its own. */
#define CALLED                                                                                     \
  "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.closure\" : 1, \"local\" : 1]>\n"

static const Graph called[] = {
  { "a function that closures call in a loop",
    CALLED
    "g (double x) => (double y) {\n"
    "  most = Constant <value = int64 {100}> ()\n  yes = Constant <value = bool {1}> ()\n"
    "  f = irscope.closure.Partial <domain = \"local\", function = \"turn\"> (x)\n"
    "  [loop] y = Loop (most, yes, x) <body = b (int64 i, bool c, double v) => "
    "(bool more, double w) {\n    w = irscope.closure.Call (f, v)\n    more = Identity (c)\n  }>\n}\n"
    "<domain: \"local\", opset_import: [\"\" : 21]>\n"
    "turn (double k, double s) => (double t) { m = Mul (s, k) r = RandomUniformLike (m) t = Sub (r, m) }\n",
    FALSE, 1 },
  { "loops in functions that loops call, and calls in front of them",
    CALLED
    "g (double x) => (double y, double z) {\n"
    "  most = Constant <value = int64 {9}> ()\n  yes = Constant <value = bool {1}> ()\n"
    "  f = irscope.closure.Partial <domain = \"local\", function = \"outer\"> ()\n"
    "  z = irscope.closure.Call (f, x)\n"
    "  [loop] y = Loop (most, yes, x) <body = b (int64 i, bool c, double v) => "
    "(bool more, double w) {\n    w = irscope.closure.Call (f, v)\n    more = Identity (c)\n  }>\n}\n"
    "<domain: \"local\", opset_import: [\"\" : 21, \"irscope.closure\" : 1]>\n"
    "outer (double s) => (double t) {\n"
    "  n = Constant <value = int64 {3}> () on = Constant <value = bool {1}> ()\n"
    "  g = irscope.closure.Partial <domain = \"local\", function = \"least\"> ()\n"
    "  [rounds] t = Loop (n, on, s) <body = b (int64 i, bool c, double v) => (bool more, double w) { "
    "w = irscope.closure.Call (g, v) more = Identity (c) }> }\n"
    "<domain: \"local\", opset_import: [\"\" : 21]>\n"
    "least (double a) => (double b) { r = RandomUniformLike (a) h = Sin (a) b = Add (h, r) }\n",
    TRUE, 0 },
  { "a loop of functions that call each other last, and a loop in it",
    CALLED
    "g (int64 n, double x) => (double y) {\n  k = Constant <value = int64 {90}> ()\n"
    "  zero = Constant <value = int64 {0}> ()\n"
    "  h = irscope.closure.Partial <domain = \"local\", function = \"header\"> (k)\n"
    "  y = irscope.closure.Call (h, zero, x)\n}\n"
    "<domain: \"local\", opset_import: [\"\" : 21, \"irscope.closure\" : 1]>\n"
    "header (int64 n, int64 i, double s) => (double r) {\n  more = Less (i, n)\n"
    "  go = irscope.closure.Partial <domain = \"local\", function = \"body\"> (n, i, s)\n"
    "  stop = irscope.closure.Partial <domain = \"local\", function = \"after\"> (s)\n"
    "  c = irscope.closure.Switch (more, go, stop)\n  r = irscope.closure.Call (c)\n}\n"
    "<domain: \"local\", opset_import: [\"\" : 21, \"irscope.closure\" : 1]>\n"
    "body (int64 n, int64 i, double s) => (double r) {\n  one = Constant <value = int64 {1}> ()\n"
    "  j = Add (i, one)\n  q = RandomUniformLike (s)\n  two = Constant <value = int64 {2}> ()\n"
    "  yes = Constant <value = bool {1}> ()\n"
    "  [deep] t = Loop (two, yes, q) <body = d (int64 m, bool on, double u) => (bool on2, double v) "
    "{ v = Sin (u) on2 = Identity (on) }>\n"
    "  h = irscope.closure.Partial <domain = \"local\", function = \"header\"> (n)\n"
    "  r = irscope.closure.Call (h, j, t)\n}\n"
    "<domain: \"local\", opset_import: [\"\" : 21]>\n"
    "after (double s) => (double y) { y = Abs (s) }\n",
    FALSE, 4 },
};

static IrRun *
run_with (IrModel *model, GHashTable *inputs, const char *device, IrIterationsKind kind)
{
  g_autoptr (GError) error = NULL;
  const IrRunOptions options = { .backend = ir_backend_find (device),
                                 .n_threads = 2,
                                 .deterministic = TRUE,
                                 .capture = kind == IR_ITERATIONS_EVERY ? IR_CAPTURE_ALL
                                                                        : IR_CAPTURE_NONE,
                                 .iterations = { kind, 1, 0, NULL } };
  IrRun *run = ir_model_run (model, inputs, &options, NULL, &error);

  g_assert_no_error (error);
  return run;
}

static gint64
count_rounds (const IrRun *run)
{
  gint64 n = 0;

  for (guint i = 0; i < ir_run_n_iterations_kept (run); i++)
    {
      const IrKeptIteration *kept = ir_run_iteration (run, i);
      n = strchr (kept->frame, '@') == NULL || g_str_has_prefix (kept->frame, "map@2")
              ? MAX (n, kept->iteration + 1)
              : n;
    }
  return n;
}

/* As a user would write it */
static char *
name_of (const IrKeptIteration *kept, const IrModel *model)
{
  return g_strdup_printf ("%s@%" G_GINT64_FORMAT "/%s", kept->frame, kept->iteration,
                          ir_model_value (model, kept->value)->name);
}

static void
assert_comes_back (IrRun *sparse, const IrKeptIteration *kept, gint64 n, const Graph *graph)
{
  g_autofree char *text = name_of (kept, sparse->model);
  g_auto (IrIterationName) name = { 0 };
  g_auto (IrFound) found = { 0 };
  g_autoptr (GError) error = NULL;

  ir_iteration_name_parse (sparse->model, text, &name, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (name.value->id, ==, kept->value);
  g_assert_cmpstr (name.frame, ==, kept->frame);
  g_assert_cmpint (name.iteration, ==, kept->iteration);
  g_autoptr (IrTensor) tensor = ir_run_find_iteration (sparse, &name, NULL, &found, &error);
  g_assert_no_error (error);
  g_assert_true (ir_tensor_equal (tensor, kept->tensor));
  if (!graph->nested)
    g_assert_cmpfloat ((double) found.n_iterations, <=, (1 + graph->calls) * 2 * sqrt ((double) n));
}

static void
test_graph (gconstpointer data)
{
  static const char *const devices[] = { "ref", "cpu" };
  const Graph *graph = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (graph->text, -1, problems, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 7, NULL, &error);
  g_assert_no_error (error);
  if (ir_graph_n_inputs (model->main) > 1 &&
      ir_value_dtype (ir_graph_input (model->main, 1)) == IR_DTYPE_BOOL)
    inputs_add (inputs, ir_graph_input (model->main, 1), tensor_of ("bool[]", "1"));
  for (guint k = 0; k < G_N_ELEMENTS (devices); k++)
    {
      g_autoptr (IrRun) dense = run_with (model, inputs, devices[k], IR_ITERATIONS_EVERY);
      g_autoptr (IrRun) sparse = run_with (model, inputs, devices[k], IR_ITERATIONS_CHECKPOINTS);
      const gint64 n = count_rounds (dense);

      g_assert_cmpuint (ir_run_n_iterations_kept (dense), >, 0);
      g_assert_cmpuint (ir_run_n_iterations_kept (sparse), ==, 0);
      g_assert_cmpfloat (ir_run_n_checkpoints (sparse, NULL), <=, sqrt ((double) n));
      for (guint i = 0; i < ir_run_n_iterations_kept (dense); i++)
        assert_comes_back (sparse, ir_run_iteration (dense, i), n, graph);
    }
}

/* -- tokens -- */

/* Both stack. Of the second, 80 iterations have 240 of the frame inside of them. */
static const Graph frames[] = {
  { "a frame that stacks and draws random numbers",
    "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.flow\" : 1]>\n"
    "g (double[3] x) => (double[3] y, double[n,3] rows) {\n"
    "  zero = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> ()\n"
    "  most = Constant <value = int64 {600}> () two = Constant <value = double {2}> ()\n"
    "  none = SequenceEmpty <dtype = 11> () big = Mul (x, two)\n"
    "  ei = irscope.flow.Enter <frame_name = \"while\"> (zero)\n"
    "  ex = irscope.flow.Enter <frame_name = \"while\"> (x)\n"
    "  es = irscope.flow.Enter <frame_name = \"while\"> (none)\n"
    "  k = irscope.flow.Enter <frame_name = \"while\", is_constant = 1> (big)\n"
    "  i = irscope.flow.Merge (ei, ni) v = irscope.flow.Merge (ex, nx)\n"
    "  s = irscope.flow.Merge (es, ns) more = Less (i, most) go = irscope.flow.LoopCond (more)\n"
    "  i_out, i_in = irscope.flow.Switch (i, go) v_out, v_in = irscope.flow.Switch (v, go)\n"
    "  s_out, s_in = irscope.flow.Switch (s, go) r = RandomUniformLike (v_in) w = Sin (v_in)\n"
    "  u = Add (w, r) q = Mul (u, k) j = Add (i_in, one) t = SequenceInsert (s_in, q)\n"
    "  ni = irscope.flow.NextIteration (j) nx = irscope.flow.NextIteration (u)\n"
    "  ns = irscope.flow.NextIteration (t) y = irscope.flow.Exit (v_out)\n"
    "  rs = irscope.flow.Exit (s_out) rows = irscope.flow.Stack (rs)\n}\n" },
  { "a frame in a frame, behind which a branch is taken",
    HEAD "g (double x) => (double y, double[n] z) {\n"
         "  n = Constant <value = int64 {80}> () yes = Constant <value = bool {1}> ()\n"
         "  seven = Constant <value = int64 {7}> () zero = Constant <value = int64 {0}> ()\n"
         "  [outer] y, z = Loop (n, yes, x) <body = b (int64 i, bool c, double v) => "
         "(bool more, double w, double u) {\n    more = Identity (c) times = Mod (i, seven)\n"
         "    [inner] d = Loop (times, yes, v) <body = b2 (int64 j, bool e, double p) => "
         "(bool more2, double q) {\n      more2 = Identity (e) q = Cos (p)\n    }>\n"
         "    odd = Greater (times, zero)\n"
         "    w = If (odd) <then_branch = t () => (a) { a = Neg (d) }, "
         "else_branch = f () => (h) { h = Sin (d) }>\n    u = Mul (w, x)\n  }>\n}\n",
    TRUE, 6 },
};

#define IN_FLIGHT 10

static IrModel *
model_of_tokens (const Graph *graph)
{
  static const char *const passes[] = { "lower-control-flow", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (graph->text, -1, problems, &error);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (passes, &error);

  g_assert_no_error (error);
  g_assert_true (ir_pipeline_run (model, pipeline, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  return model;
}

/* Each value of each iteration of each frame comes back by running few iterations of all of them again. */
static void
test_tokens (gconstpointer data)
{
  const Graph *graph = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = model_of_tokens (graph);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 7, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (IrRun) dense = run_with (model, inputs, "ref", IR_ITERATIONS_EVERY);
  g_autoptr (IrRun) sparse = run_with (model, inputs, "ref", IR_ITERATIONS_CHECKPOINTS);
  const guint n_kept = ir_run_n_iterations_kept (dense);
  const double n = 600;

  g_assert_cmpuint (n_kept, >, 1000);
  g_assert_cmpuint (ir_run_n_iterations_kept (sparse), ==, 0);
  g_assert_cmpfloat (ir_run_n_checkpoints (sparse, NULL), >, sqrt (n) / 4);
  g_assert_cmpfloat (ir_run_n_checkpoints (sparse, NULL), <=, sqrt (n));
  for (guint i = 0; i < n_kept; i += 1 + n_kept / 3000)
    {
      const IrKeptIteration *kept = ir_run_iteration (dense, i);
      g_autofree char *text = g_strdup_printf ("%s@%" G_GINT64_FORMAT "/#%u", kept->frame,
                                               kept->iteration, kept->value);
      g_auto (IrIterationName) name = { 0 };
      g_auto (IrFound) found = { 0 };
      ir_iteration_name_parse (sparse->model, text, &name, &error);
      g_assert_no_error (error);
      g_autoptr (IrTensor) tensor = ir_run_find_iteration (sparse, &name, NULL, &found, &error);
      g_assert_no_error (error);
      g_assert_true (ir_tensor_equal (tensor, kept->tensor));
      g_assert_cmpfloat ((double) found.n_iterations, <=,
                         2 * sqrt (n) + (1 + graph->calls) * IN_FLIGHT);
    }
}

/* Where they do not fit into the budget there are fewer, and values come back all the same. */
static void
test_tokens_budget (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = model_of_tokens (&frames[0]);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 7, NULL, &error);
  IrRunOptions options = { .backend = ir_backend_find ("ref"),
                           .n_threads = 1,
                           .iterations = { IR_ITERATIONS_CHECKPOINTS, 0, 0, NULL } };
  g_auto (IrIterationName) name = { 0 };
  guint64 all, bytes;

  g_autoptr (IrRun) ample = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  const guint n = ir_run_n_checkpoints (ample, &all);
  options.capture_budget = all / 2;
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ir_run_n_checkpoints (run, &bytes), <, n);
  g_assert_cmpuint (ir_run_n_checkpoints (run, NULL), >, 0);
  g_assert_cmpuint (bytes, <=, options.capture_budget);
  g_assert_true (ir_iteration_name_parse (run->model, "while@597/t", &name, &error));
  g_autoptr (IrTensor) again = ir_run_find_iteration (run, &name, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ir_tensor_n_items (again), ==, 598);
  g_autoptr (IrTensor) wanted = ir_run_find_iteration (ample, &name, NULL, NULL, &error);
  g_assert_true (ir_tensor_equal (again, wanted));
}

/* -- names -- */

typedef struct
{
  const char *text;
  const char *frame; /* NULL: @wanted is in the error */
  gint64 iteration;
  const char *wanted;
} Name;

static const Name names[] = {
  { "outer@3/more", "outer", 3, "more" },
  { "outer@3/inner/1@2/q", "outer@3/inner/1", 2, "q" },
  { "outer@3/inner\\/1@2/q", "outer@3/inner/1", 2, "q" },
  { "outer@3/inner/1/q", "outer@3/inner/1", -1, "q" },
  { "outer/inner/1@2/q", "outer@*/inner/1", 2, "q" },
  { "outer@19/f", "outer", 19, "f" },
  { "inner/1@2/q", NULL, 0, "outer@0/inner/1@0/q" },
  { "outer@x/more", NULL, 0, "outer@0/more" },
  { "outer@3/n", NULL, 0, "computed once" },
  { "outer@3/nothing", NULL, 0, "no value" },
  { "outer@3/", NULL, 0, "no value" },
  { "outer@-1/more", NULL, 0, "outer@0/more" },
  { "outer@99999999999999999999/more", "outer", G_MAXINT64, "more" },
};

static void
test_names (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (graphs[2].text, -1, problems, &error);
  const IrNode *outer = ir_graph_find_node (model->main, "outer");
  g_autofree char *by_id = g_strdup_printf (
      "#%u@4/#%u", outer->id, ir_graph_input (ir_node_attr_graph (outer, "body"), 0)->id);
  g_auto (IrIterationName) of_ids = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_auto (IrIterationName) name = { 0 };
      g_autoptr (GError) local = NULL;
      const gboolean is_name = ir_iteration_name_parse (model, names[i].text, &name, &local);

      g_test_message ("%s: %s", names[i].text, local != NULL ? local->message : name.frame);
      g_assert_cmpint (is_name, ==, names[i].frame != NULL);
      if (is_name)
        {
          g_assert_cmpstr (name.frame, ==, names[i].frame);
          g_assert_cmpint (name.iteration, ==, names[i].iteration);
          g_assert_cmpstr (name.value->name, ==, names[i].wanted);
        }
      else
        g_assert_nonnull (strstr (local->message, names[i].wanted));
    }
  g_assert_true (ir_iteration_name_parse (model, by_id, &of_ids, &error));
  g_assert_cmpstr (of_ids.frame, ==, "outer");
  g_assert_cmpstr (of_ids.value->name, ==, "i");
}

/* Loops and nodes by themselves; @wanted: the node, or what the error says. */
static void
test_other_names (void)
{
  static const Name loops[] = {
    { "outer", "outer", -1, NULL },
    { "outer@3", "outer", 3, NULL },
    { "outer@3/inner/1", "outer@3/inner/1", -1, NULL },
    { "outer/inner\\/1@2", "outer@*/inner/1", 2, NULL },
    { "inner/1@2", "inner/1", 2, NULL },
    { "inner", NULL, 0, "its loops are outer, inner/1" },
    { "outer@x", NULL, 0, "no loop" },
    { "inner/1@3/outer", NULL, 0, "no loop" },
  };
  static const Name nodes[] = {
    { "outer@3/inner/1", "outer", 3, "inner/1" },
    { "outer@3/inner/1@2/q", "outer@3/inner/1", 2, "q" },
    { "outer/w", "outer", -1, "w" },
    { "outer@3/x", NULL, 0, "no node" },
    { "outer@3/n", NULL, 0, "computed once" },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (graphs[2].text, -1, problems, &error);

  for (guint i = 0; i < G_N_ELEMENTS (loops) + G_N_ELEMENTS (nodes); i++)
    {
      const gboolean is_loop = i < G_N_ELEMENTS (loops);
      const Name *wanted = is_loop ? &loops[i] : &nodes[i - G_N_ELEMENTS (loops)];
      g_auto (IrIterationName) name = { 0 };
      g_autoptr (GError) local = NULL;

      g_test_message ("%s", wanted->text);
      g_assert_cmpint ((is_loop ? ir_iteration_name_parse_loop : ir_iteration_name_parse_node) (
                           model, wanted->text, &name, &local),
                       ==, wanted->frame != NULL);
      if (wanted->frame == NULL)
        {
          g_assert_nonnull (strstr (local->message, wanted->wanted));
          continue;
        }
      g_assert_cmpstr (name.frame, ==, wanted->frame);
      g_assert_cmpint (name.iteration, ==, wanted->iteration);
      if (!is_loop)
        {
          g_autofree char *found = ir_loop_name (name.node);
          g_assert_cmpstr (found, ==, wanted->wanted);
        }
    }
  g_assert_true (ir_iteration_frame_is ("outer@*/inner", "outer@12/inner"));
  g_assert_false (ir_iteration_frame_is ("outer@*/inner", "outer@12/inner@3/more"));
  g_assert_false (ir_iteration_frame_is ("outer@1/inner", "outer@12/inner"));
  g_assert_false (ir_iteration_frame_is ("outer@*/inner", "outer@/inner"));
}

/* -- what is kept -- */

typedef struct
{
  const char *text, *wanted; /* iterations of "more", in order; NULL: refused */
} Which;

static void
test_which (void)
{
  static const Which which[] = {
    { "2..4", "2 3 4" },
    { "5", "5" },
    { "every:8", "0 8 16" },
    { "last:3", "17 18 19" },
    { "18..99", "18 19" },
    { "30..40", "" },
    { "checkpoints", "" },
    { "4..2", NULL },
    { "every:0", NULL },
    { "last:-1", NULL },
    { "..", NULL },
    { "", NULL },
    { "0..9999999999999999999", NULL },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (graphs[2].text, -1, problems, &error);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 7, NULL, &error);

  for (guint i = 0; i < G_N_ELEMENTS (which); i++)
    {
      IrRunOptions options = { .n_threads = 1, .capture = IR_CAPTURE_ALL };
      g_autoptr (GString) found = g_string_new (NULL);
      const gboolean is_read = ir_iterations_parse (which[i].text, &options.iterations, NULL);

      g_assert_cmpint (is_read, ==, which[i].wanted != NULL);
      if (!is_read)
        continue;
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      for (guint k = 0; k < ir_run_n_iterations_kept (run); k++)
        {
          const IrKeptIteration *kept = ir_run_iteration (run, k);
          if (strcmp (ir_model_value (run->model, kept->value)->name, "more") == 0)
            g_string_append_printf (found, "%s%d", found->len > 0 ? " " : "",
                                    (int) kept->iteration);
        }
      g_assert_cmpstr (found->str, ==, which[i].wanted);
    }
}

/* A small budget keeps what fits and counts the rest, which comes back all the same. */
static void
test_budget (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (graphs[0].text, -1, problems, &error);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 7, NULL, &error);
  const IrRunOptions options = { .n_threads = 1,
                                 .capture = IR_CAPTURE_ALL,
                                 .capture_budget = 4000,
                                 .iterations = { IR_ITERATIONS_RANGE, 0, 1000, NULL } };
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_auto (IrIterationName) name = { 0 };

  g_assert_no_error (error);
  g_assert_cmpuint (ir_run_n_iterations_lost (run), >, 0);
  g_assert_true (ir_iteration_name_parse (run->model, "loop@130/u", &name, &error));
  g_autoptr (IrTensor) again = ir_run_find_iteration (run, &name, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) dense = run_with (model, inputs, "cpu", IR_ITERATIONS_EVERY);
  g_autoptr (IrTensor) wanted = ir_run_find_iteration (dense, &name, NULL, NULL, &error);
  g_assert_true (ir_tensor_equal (again, wanted));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    {
      g_autofree char *path = g_strdup_printf ("/iterations/%s", graphs[i].title);
      g_test_add_data_func (path, &graphs[i], test_graph);
    }
  for (guint i = 0; i < G_N_ELEMENTS (called); i++)
    {
      g_autofree char *path = g_strdup_printf ("/iterations/%s", called[i].title);
      g_test_add_data_func (path, &called[i], test_graph);
    }
  for (guint i = 0; i < G_N_ELEMENTS (frames); i++)
    {
      g_autofree char *path = g_strdup_printf ("/iterations/%s", frames[i].title);
      g_test_add_data_func (path, &frames[i], test_tokens);
    }
  g_test_add_func ("/iterations/budget of tokens", test_tokens_budget);
  g_test_add_func ("/iterations/names", test_names);
  g_test_add_func ("/iterations/names of loops and nodes", test_other_names);
  g_test_add_func ("/iterations/which", test_which);
  g_test_add_func ("/iterations/budget", test_budget);
  return g_test_run ();
}
