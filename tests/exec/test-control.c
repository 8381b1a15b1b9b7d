/* Control flow and sequences: loops in branches in loops, captured values, zero trips, carried
 * sequences, Scan in both directions and forms, SequenceMap. The wanted values are worked out by
 * hand from the definitions. Each graph runs on both back ends, with and without capture. */
#include "config.h"

#include "core/io/io.h"
#include "tests/exec/graphs.h"

#include <glib/gstdio.h>
#include <string.h>

#define N(NAME, VALUE)        NAME " = Constant <value = int64 {" VALUE "}> ()\n"
#define F(NAME, DIMS, VALUES) NAME " = Constant <value = float[" DIMS "] {" VALUES "}> ()\n"
#define TRUTH(NAME, VALUE)    NAME " = Constant <value = bool {" VALUE "}> ()\n"

typedef struct
{
  const char *title;
  gint64 opset;
  const char *type, *text; /* of y; @text NULL: it fails, and the message has @type in it */
  const char *body;
} Graph;

static IrModel *
read_graph (const Graph *graph)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 10, opset_import: [\"\" : %" G_GINT64_FORMAT "]>\n"
      "g () => (y) {\n%s\n}\n",
      graph->opset, graph->body);
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = g_ptr_array_index (problems, i);
      if (problem->severity >= IR_SEVERITY_ERROR && graph->text != NULL)
        g_error ("%s: %s", graph->title, problem->message);
    }
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, graph->text != NULL ? problems : NULL);
  return model;
}

static void
check_value (const Graph *graph, const IrRun *run, const IrValue *y)
{
  const IrTensor *tensor = ir_run_value (run, y->id);
  g_assert_nonnull (tensor);
  IrContext *context = run->model->context;
  g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
  g_autofree char *text = ir_tensor_to_string (tensor, 1000);
  g_assert_cmpstr (type, ==, graph->type);
  g_assert_cmpstr (text, ==, graph->text);
  /* What inference said must be true of every value. */
  for (IrValueId id = 1; id < run->n_values; id++)
    {
      const IrTensor *contents = ir_run_value (run, id);
      const IrValue *value = contents != NULL ? ir_model_value (run->model, id) : NULL;
      /* Sparse constants are dense while they run. */
      if (value != NULL && value->type != NULL && value->type->kind != IR_TYPE_SPARSE_TENSOR)
        g_assert_nonnull (ir_type_merge (context, value->type, ir_tensor_type (contents, context)));
    }
}

static void
test_graph (gconstpointer data)
{
  static const char *const backends[] = { "ref", "cpu" };
  const Graph *graph = data;
  g_autoptr (IrModel) model = read_graph (graph);
  g_autoptr (GHashTable) inputs = inputs_new ();

  for (guint i = 0; i < 2 * G_N_ELEMENTS (backends); i++)
    {
      g_autoptr (GError) error = NULL;
      IrRunOptions options = { .backend = ir_backend_find (backends[i % 2]),
                               .n_threads = 1,
                               .iteration_limit = 1000,
                               .capture = i < 2 ? IR_CAPTURE_NONE : IR_CAPTURE_ALL };
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      if (graph->text != NULL)
        {
          g_assert_no_error (error);
          check_value (graph, run, ir_graph_output (model->main, 0));
        }
      else
        {
          g_assert_null (run);
          g_assert_nonnull (error);
          if (strstr (error->message, graph->type) == NULL)
            g_error ("%s: \"%s\" is not in \"%s\"", graph->title, graph->type, error->message);
        }
    }
}

static const Graph graphs[] = {
  /* -- If and Loop -- */
  { "Loop in If in Loop: sum over i < 3 of i * (i odd ? 10 : 1), by additions", 21, "int64[]", "12",
    N ("n", "3") TRUTH ("t", "1") N ("zero", "0") N ("two", "2") N ("ten", "10") N (
        "one",
        "1") "y = Loop (n, t, zero) <body = outer (int64 i, bool c, int64 sum) => (bool c2, int64 sum2) {\n"
             "  c2 = Identity (c)\n  m = Mod (i, two)\n  odd = Cast <to = 9> (m)\n"
             "  add = If (odd) <then_branch = a () => (int64 p) {\n"
             "      p = Loop (ten, t, zero) <body = inner (int64 k, bool d, int64 s) => (bool d2, int64 s2) {\n"
             "        d2 = Identity (d)\n s2 = Add (s, i) }>\n"
             "    }, else_branch = b () => (int64 q) { q = Identity (i) }>\n"
             "  sum2 = Add (sum, add)\n}>" },
  { "A branch that is not run may hold what would fail", 21, "int64[]", "7",
    N ("seven", "7") N ("zero", "0")
        TRUTH ("t", "1") "y = If (t) <then_branch = a () => (int64 p) { p = Identity (seven) },\n"
                         "  else_branch = b () => (int64 q) { q = Div (seven, zero) }>" },
  { "Without an iteration Loop gives the initial values", 21, "int64[]", "5",
    N ("n", "0") TRUTH ("t", "1")
        N ("five",
           "5") "y = Loop (n, t, five) <body = b (int64 i, bool c, int64 v) => (bool c2, int64 w)\n"
                "{ c2 = Identity (c) w = Add (v, v) }>" },
  { "Without an iteration a scan output of Loop is empty", 21, "float[0,2]", "[]",
    N ("n", "0") TRUTH ("t", "1") F (
        "v", "2", "1, 2") "y = Loop (n, t) <body = b (int64 i, bool c) => (bool c2, float[2] s)\n"
                          "{ c2 = Identity (c) s = Add (v, v) }>" },
  { "A false condition stops Loop before it begins", 21, "int64[]", "5",
    N ("n", "9") TRUTH ("f", "0")
        N ("five",
           "5") "y = Loop (n, f, five) <body = b (int64 i, bool c, int64 v) => (bool c2, int64 w)\n"
                "{ c2 = Identity (c) w = Add (v, v) }>" },
  { "Without the input cond Loop stops when its body says so, too", 21, "int64[1]", "[0]",
    N ("n", "3")
        N ("zero", "0") "y = Loop (n, ) <body = b (int64 i, bool c) => (bool c2, int64 s)\n"
                        "{ c2 = Cast <to = 9> (zero) s = Identity (i) }>" },
  { "With the input cond Loop stops when its body says so", 21, "int64[1]", "[0]",
    N ("n", "3") N ("zero", "0")
        TRUTH ("t", "1") "y = Loop (n, t) <body = b (int64 i, bool c) => (bool c2, int64 s)\n"
                         "{ c2 = Cast <to = 9> (zero) s = Identity (i) }>" },
  { "A carried tensor may grow", 21, "float[4]", "[1, 2, 1, 2]",
    N ("n", "1") TRUTH ("t", "1") F (
        "v",
        "2",
        "1, 2") "y = Loop (n, t, v) <body = b (int64 i, bool c, float[k] a) => (bool c2, float[m] d)\n"
                "{ c2 = Identity (c) d = Concat <axis = 0> (a, v) }>" },
  { "A carried tensor grows in each iteration, and a node reads it in each shape", 21, "int64[5]",
    "[0, 2, 4, 6, 8]",
    N ("n", "5") TRUTH ("t", "1") N (
        "one",
        "1") "none = Constant <value = int64[0] {}> ()\n"
             "ax = Constant <value = int64[1] {0}> ()\n"
             "a, y = Loop (n, t, none, none) <body = b (int64 i, bool c, int64[k] v, int64[k2] u) => "
             "(bool c2, int64[m] w, int64[m2] d)\n"
             "{ c2 = Identity (c) r = Unsqueeze (i, ax) w = Concat <axis = 0> (v, r) d = Add (w, w) }>" },
  { "A carried tensor has one shape and another in turns", 21, "int64[2]", "[7, 7]",
    N ("n", "8") TRUTH ("t", "1") N ("one", "1") N (
        "two",
        "2") "first = Constant <value = int64[1] {0}> ()\n"
             "ax = Constant <value = int64[1] {0}> ()\n"
             "y = Loop (n, t, first) <body = b (int64 i, bool c, int64[k] v) => (bool c2, int64[m] w)\n"
             "{ c2 = Identity (c) odd = Mod (i, two) size = Add (odd, one) dims = Unsqueeze (size, ax)\n"
             "  last = ReduceMax <keepdims = 0> (v) next = Max (last, i) w = Expand (next, dims) }>" },
  { "What was carried four iterations ago is still that", 21, "int64[4]", "[6, 7, 8, 9]",
    N ("n", "9") TRUTH ("t", "1") N ("one", "1") N (
        "zero",
        "0") "ax = Constant <value = int64[1] {0}> ()\n"
             "p, q, r, s = Loop (n, t, zero, zero, zero, zero) <body = b (int64 i, bool c, int64 d, int64 e, int64 f, int64 g) => "
             "(bool c2, int64 d2, int64 e2, int64 f2, int64 g2)\n"
             "{ c2 = Identity (c) d2 = Identity (e) e2 = Identity (f) f2 = Identity (g) g2 = Add (g, one) }>\n"
             "p1 = Unsqueeze (p, ax) q1 = Unsqueeze (q, ax) r1 = Unsqueeze (r, ax) s1 = Unsqueeze (s, ax)\n"
             "y = Concat <axis = 0> (p1, q1, r1, s1)" },
  { "A sequence keeps what each iteration has given", 21, "int64[7]", "[1, 2, 3, 4, 5, 6, 7]",
    N ("n", "7") TRUTH ("t", "1") N (
        "one",
        "1") "e = SequenceEmpty <dtype = 7> ()\n"
             "s = Loop (n, t, e) <body = b (int64 i, bool c, seq(int64[]) u) => (bool c2, seq(int64[]) v)\n"
             "{ c2 = Identity (c) a = Add (i, one) v = SequenceInsert (u, a) }>\n"
             "y = ConcatFromSequence <axis = 0, new_axis = 1> (s)" },
  { "Views of what each iteration has given are stacked", 21, "int64[4,1]", "[[1], [2], [3], [4]]",
    N ("n", "4") TRUTH ("t", "1")
        N ("one", "1") "ax = Constant <value = int64[1] {0}> ()\n"
                       "y = Loop (n, t) <body = b (int64 i, bool c) => (bool c2, int64[1] s)\n"
                       "{ c2 = Identity (c) a = Add (i, one) s = Unsqueeze (a, ax) }>" },
  { "A sequence is carried and grows", 21, "seq(float[?])", "([1], [1, 1], [1, 1, 1])",
    N ("n", "3") TRUTH ("t", "1") F (
        "v",
        "1",
        "1") "e = SequenceEmpty ()\n"
             "y, last = Loop (n, t, e, v) <body = b (int64 i, bool c, seq(float[]) s, float[k] a)\n"
             " => (bool c2, seq(float[]) r, float[m] d)\n"
             "{ c2 = Identity (c) r = SequenceInsert (s, a) d = Concat <axis = 0> (a, v) }>" },
  { "Scan outputs are stacked whatever their type", 21, "int4[2,3]", "[[1, 2, 3], [1, 2, 3]]",
    N ("n", "2")
        TRUTH ("t", "1") "v = Constant <value = int4[3] {1, 2, 3}> ()\n"
                         "y = Loop (n, t) <body = b (int64 i, bool c) => (bool c2, int4[3] s)\n"
                         "{ c2 = Identity (c) s = Identity (v) }>" },
  { "Scan outputs of different shapes are an error", 21, "float[3] in iteration 1", NULL,
    N ("n", "2") TRUTH ("t", "1") F (
        "v",
        "1",
        "1") "last, y = Loop (n, t, v) <body = b (int64 i, bool c, float[k] a) => (bool c2, float[m] d, float[p] s)\n"
             "{ c2 = Identity (c) d = Concat <axis = 0> (a, v) s = Identity (d) }>" },
  { "A loop without end stops at the limit", 21, "more than 1000 iterations", NULL,
    TRUTH ("t", "1")
        N ("one",
           "1") "y = Loop (, t, one) <body = b (int64 i, bool c, int64 v) => (bool c2, int64 w)\n"
                "{ c2 = Identity (c) w = Identity (v) }>" },
  { "Its error says how far it came, and by which condition", 21,
    "this one has had 1000, and its condition c2 is still true", NULL,
    TRUTH ("t", "1")
        N ("one",
           "1") "y = Loop (, t, one) <body = b (int64 i, bool c, int64 v) => (bool c2, int64 w)\n"
                "{ c2 = Identity (c) w = Identity (v) }>" },
  { "A condition of two elements says what it is and when it came", 21,
    "condition c2 behind iteration 0 is bool[2], needed one bool", NULL,
    N ("n", "2") TRUTH ("t", "1") F (
        "v",
        "1",
        "1") "y = Loop (n, t, v) <body = b (int64 i, bool c, float[k] a) => (bool[m] c2, float[k] d)\n"
             "{ d = Concat <axis = 0> (a, v) c2 = Greater (d, a) }>" },
  { "A node that fails in a loop in a loop has both in front", 21, "outer@0/inner@2/bad (Div)",
    NULL,
    N ("n", "5") TRUTH ("t", "1") N ("two", "2") N (
        "one",
        "1") "[outer] y = Loop (n, t, one) <body = b (int64 i, bool c, int64 v) => (bool c2, int64 w)\n"
             "{ c2 = Identity (c) [inner] w = Loop (n, t, v) <body = d (int64 k, bool e, int64 p) => (bool e2, int64 q)\n"
             "  { e2 = Identity (e) left = Sub (two, k) [bad] q = Div (one, left) }> }>" },
  { "Loops in loops share the limit", 21, "more than 1000 iterations", NULL,
    TRUTH ("t", "1") N ("one", "1") N (
        "n",
        "100") "y = Loop (n, t, one) <body = b (int64 i, bool c, int64 v) => (bool c2, int64 w)\n"
               "{ c2 = Identity (c) w = Loop (n, t, v) <body = d (int64 k, bool e, int64 p) => (bool e2, int64 q)\n"
               "  { e2 = Identity (e) q = Add (p, one) }> }>" },
  { "A sparse constant in a branch is there in every iteration", 21, "float[2,3]",
    "[[0, 5, 0], [0, 5, 0]]",
    N ("n", "2") TRUTH (
        "t",
        "1") "y = Loop (n, t) <body = b (int64 i, bool c) => (bool c2, float[3] s) {\n"
             "  c2 = Identity (c)\n"
             "  s = If (c) <then_branch = p () => (float[3] u)\n"
             "    <sparse_tensor(float[3]) z = {5} int64[1] {1}> { u = Identity (z) },\n"
             "    else_branch = q () => (float[3] v) { v = Constant <value = float[3] {1, 1, 1}> () }> }>" },
  /* -- Scan -- */
  { "Scan sums up and gives each partial sum", 21, "float[3]", "[1, 3, 6]",
    F ("x",
       "3",
       "1, 2, 3") "zero = Constant <value = float {0}> ()\n"
                  "last, y = Scan (zero, x) <num_scan_inputs = 1, body = b (float s, float v) => (float r, float o)\n"
                  "{ r = Add (s, v) o = Identity (r) }>" },
  { "Scan keeps what it has read two rounds ago", 21, "float[6]", "[0, 0, 1, 2, 3, 4]",
    F ("x",
       "6",
       "1, 2, 3, 4, 5, 6") "zero = Constant <value = float {0}> ()\n"
                           "p, q, y = Scan (zero, zero, x) <num_scan_inputs = 1, body = b (float d, float e, float v) => "
                           "(float e, float v, float o)\n"
                           "{ o = Identity (d) }>" },
  { "Scan from the end of its input", 21, "float[3]", "[3, 5, 6]",
    F ("x",
       "3",
       "1, 2, 3") "zero = Constant <value = float {0}> ()\n"
                  "last, y = Scan (zero, x) <num_scan_inputs = 1, scan_input_directions = [1],\n"
                  " body = b (float s, float v) => (float r, float o) { r = Add (s, v) o = Identity (r) }>" },
  { "Scan to the front of its output", 21, "float[3]", "[6, 3, 1]",
    F ("x",
       "3",
       "1, 2, 3") "zero = Constant <value = float {0}> ()\n"
                  "last, y = Scan (zero, x) <num_scan_inputs = 1, scan_output_directions = [1],\n"
                  " body = b (float s, float v) => (float r, float o) { r = Add (s, v) o = Identity (r) }>" },
  { "Scan backwards both ways gives suffix sums", 21, "float[3]", "[6, 5, 3]",
    F ("x",
       "3",
       "1, 2, 3") "zero = Constant <value = float {0}> ()\n"
                  "last, y = Scan (zero, x) <num_scan_inputs = 1, scan_input_directions = [1],\n"
                  " scan_output_directions = [1],\n"
                  " body = b (float s, float v) => (float r, float o) { r = Add (s, v) o = Identity (r) }>" },
  { "Scan cuts and joins along other axes", 21, "float[2,3]", "[[2, 4, 6], [8, 10, 12]]",
    F ("x",
       "2,3",
       "1, 2, 3, 4, 5, 6") "y = Scan (x) <num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [1],\n"
                           " body = b (float[2] v) => (float[2] o) { o = Add (v, v) }>" },
  { "Scan runs over two inputs and sees values around it", 21, "float[2]", "[111, 122]",
    F ("x", "2", "1, 2") F (
        "z",
        "2",
        "20, 10") "k = Constant <value = float {100}> ()\n"
                  "y = Scan (x, z) <num_scan_inputs = 2, scan_input_directions = [0, 1],\n"
                  " body = b (float v, float w) => (float o) { p = Add (v, w) o = Add (p, k) }>" },
  { "Scan over nothing gives the initial state", 21, "float[]", "4",
    "x = Constant <value = float[0,2] {}> ()\n four = Constant <value = float {4}> ()\n"
    "y, o = Scan (four, x) <num_scan_inputs = 1, body = b (float s, float[2] v) => (float r, float[2] p)\n"
    "{ r = Add (s, s) p = Add (v, v) }>" },
  { "Scan over nothing gives an empty output of the known shape", 21, "float[0,2]", "[]",
    "x = Constant <value = float[0,2] {}> ()\n"
    "y = Scan (x) <num_scan_inputs = 1, body = b (float[2] v) => (float[2] p) { p = Add (v, v) }>" },
  { "Scan refuses inputs of different lengths", 21, "different numbers of slices", NULL,
    F ("x", "2", "1, 2") F (
        "z",
        "3",
        "3, 4, 5") "y = Scan (x, z) <num_scan_inputs = 2, body = b (float v, float w) => (float o) { o = Add (v, w) }>" },
  { "Scan of opset 8 runs once for each entry of the batch", 8, "float[2,3]",
    "[[1, 3, 6], [4, 9, 15]]",
    F ("x", "2,3", "1, 2, 3, 4, 5, 6") F (
        "zero",
        "2",
        "0, 0") "last, y = Scan (, zero, x) <num_scan_inputs = 1, body = b (float s, float v) => (float r, float o)\n"
                "{ r = Add (s, v) o = Identity (r) }>" },
  { "Scan of opset 8 takes lengths and directions", 8, "float[2,3]", "[[2, 3, 0], [6, 11, 15]]",
    F ("x", "2,3", "1, 2, 3, 4, 5, 6") F (
        "zero",
        "2",
        "0, 0") "l = Constant <value = int64[2] {2, 3}> ()\n"
                "last, y = Scan (l, zero, x) <num_scan_inputs = 1, directions = [1],\n"
                " body = b (float s, float v) => (float r, float o) { r = Add (s, v) o = Identity (r) }>" },
  { "Scan of opset 8 refuses a length beyond the input", 8, "sequence_lens is out of range", NULL,
    F ("x", "1,2", "1, 2") F (
        "zero",
        "1",
        "0") "l = Constant <value = int64[1] {3}> ()\n"
             "last, y = Scan (l, zero, x) <num_scan_inputs = 1, body = b (float s, float v) => (float r, float o)\n"
             "{ r = Add (s, v) o = Identity (r) }>" },
  /* -- SequenceMap -- */
  { "SequenceMap over two sequences and a tensor", 21, "seq(float[?])", "([111], [122, 122])",
    F ("a", "1", "1") F ("b", "2", "2, 2") F ("c", "1", "10") F ("d", "2", "20, 20") F (
        "k",
        "1",
        "100") "s = SequenceConstruct (a, b)\n q = SequenceConstruct (c, d)\n"
               "y = SequenceMap (s, q, k) <body = m (float[i] u, float[i] v, float[1] w) => (float[i] o)\n"
               "{ p = Add (u, v) o = Add (p, w) }>" },
  { "SequenceMap of nothing is an empty sequence of the type", 21, "seq(float[...])", "()",
    "s = SequenceEmpty <dtype = 7> ()\n"
    "y = SequenceMap (s) <body = m (int64 u) => (float o) { o = Cast <to = 1> (u) }>" },
  { "SequenceMap in SequenceMap sees the item around it", 21, "seq(float[])", "(5, 7)",
    "one = Constant <value = float {1}> ()\n two = Constant <value = float {2}> ()\n"
    "s = SequenceConstruct (one, two)\n"
    "y = SequenceMap (s) <body = m (float u) => (float o) {\n"
    "  t = SequenceMap (s) <body = n (float v) => (float w) { w = Add (u, v) }>\n"
    "  i = Constant <value = int64 {0}> ()\n j = Constant <value = int64 {-1}> ()\n"
    "  a = SequenceAt (t, i)\n b = SequenceAt (t, j)\n o = Add (a, b) }>" },
  { "SequenceMap refuses sequences of different lengths", 21, "different lengths", NULL,
    F ("a",
       "1",
       "1") "s = SequenceConstruct (a, a)\n q = SequenceConstruct (a)\n"
            "y = SequenceMap (s, q) <body = m (float[1] u, float[1] v) => (float[1] o) { o = Add (u, v) }>" },
  /* -- sequences -- */
  { "SequenceInsert puts in before a position counted from the end", 21, "seq(int64[])",
    "(1, 3, 2)",
    N ("a", "1") N ("b", "2") N ("c", "3") N ("p", "-1") "s = SequenceConstruct (a, b)\n"
                                                         "y = SequenceInsert (s, c, p)" },
  { "SequenceInsert at the length appends", 21, "seq(int64[])", "(1, 2, 3)",
    N ("a", "1") N ("b", "2") N ("c", "3") "s = SequenceConstruct (a, b)\n"
                                           "y = SequenceInsert (s, c, b)" },
  { "SequenceInsert refuses another element type", 21, "different types", NULL,
    N ("a", "1") F ("b", "1", "2") "s = SequenceConstruct (a)\n y = SequenceInsert (s, b)" },
  { "SequenceErase takes out the last without a position", 21, "seq(int64[])", "(1)",
    N ("a", "1") N ("b", "2") "s = SequenceConstruct (a, b)\n y = SequenceErase (s)" },
  { "SequenceErase takes out the one at a position", 21, "seq(int64[])", "(2)",
    N ("a", "1") N ("b", "2")
        N ("p", "-2") "s = SequenceConstruct (a, b)\n y = SequenceErase (s, p)" },
  { "SequenceErase of nothing is an error", 21, "out of range", NULL,
    "s = SequenceEmpty ()\n y = SequenceErase (s)" },
  { "SequenceAt refuses a position outside", 21, "position 2 is out of range", NULL,
    N ("a", "1") N ("p", "2") "s = SequenceConstruct (a, a)\n y = SequenceAt (s, p)" },
  { "SequenceAt counts from the end", 21, "int64[]", "5",
    N ("a", "1") N ("b", "5")
        N ("p", "-1") "s = SequenceConstruct (a, b)\n y = SequenceAt (s, p)" },
  { "SequenceLength of an empty sequence is 0", 21, "int64[]", "0",
    "s = SequenceEmpty ()\n y = SequenceLength (s)" },
  { "SplitToSequence drops the axis when asked", 21, "seq(float[2])", "([1, 3], [2, 4])",
    F ("x", "2,2", "1, 2, 3, 4") "y = SplitToSequence <axis = 1, keepdims = 0> (x)" },
  { "SplitToSequence by one size leaves the rest for the last", 21, "seq(float[?])",
    "([1, 2], [3])", F ("x", "3", "1, 2, 3") N ("n", "2") "y = SplitToSequence (x, n)" },
  { "SplitToSequence by a list of sizes, none among them", 21, "seq(float[?])", "([1], [], [2, 3])",
    F ("x", "3", "1, 2, 3") "l = Constant <value = int64[3] {1, 0, 2}> ()\n"
                            "y = SplitToSequence <keepdims = 0> (x, l)" },
  { "SplitToSequence cuts strings", 21, "seq(string[1])", "([\"a\"], [\"b\"])",
    "x = Constant <value = string[2] {\"a\", \"b\"}> ()\n y = SplitToSequence (x)" },
  { "SplitToSequence refuses sizes that do not add up", 21, "do not add up", NULL,
    F ("x",
       "3",
       "1, 2, 3") "l = Constant <value = int64[2] {1, 1}> ()\n y = SplitToSequence (x, l)" },
  { "SplitToSequence refuses a size of 0", 21, "cannot be cut", NULL,
    F ("x", "3", "1, 2, 3") N ("n", "0") "y = SplitToSequence (x, n)" },
  { "ConcatFromSequence along an axis", 21, "float[3]", "[1, 2, 3]",
    F ("a", "1", "1") F ("b", "2", "2, 3") "s = SequenceConstruct (a, b)\n"
                                           "y = ConcatFromSequence <axis = 0> (s)" },
  { "ConcatFromSequence along a new last axis", 21, "float[2,2]", "[[1, 3], [2, 4]]",
    F ("a", "2", "1, 2")
        F ("b", "2", "3, 4") "s = SequenceConstruct (a, b)\n"
                             "y = ConcatFromSequence <axis = -1, new_axis = 1> (s)" },
  { "ConcatFromSequence of nothing is an error", 21, "empty sequence", NULL,
    "s = SequenceEmpty ()\n y = ConcatFromSequence <axis = 0> (s)" },
  { "A sequence outlives the places of its items", 21, "float[2]", "[4, 8]",
    F ("x",
       "2",
       "1, 2") "a = Add (x, x)\n s = SequenceConstruct (a)\n b = Add (x, x)\n"
               "c = Mul (b, b)\n d = Mul (c, b)\n z = Constant <value = int64 {0}> ()\n"
               "e = SequenceAt (s, z)\n f = Sub (d, d)\n g = Add (e, f)\n y = Add (g, e)" },
  /* -- optionals -- */
  { "An empty optional has no element", 21, "bool[]", "false",
    "o = Optional <type = float[2]> ()\n y = OptionalHasElement (o)" },
  { "OptionalHasElement without an input is false", 21, "bool[]", "false",
    "y = OptionalHasElement ()" },
  { "OptionalHasElement of a tensor is true", 21, "bool[]", "true",
    N ("a", "1") "y = OptionalHasElement (a)" },
  { "OptionalGetElement gives what Optional took", 21, "int64[]", "1",
    N ("a", "1") "o = Optional (a)\n i = Identity (o)\n y = OptionalGetElement (i)" },
  { "OptionalGetElement of a sequence is the sequence", 21, "seq(int64[])", "(1)",
    N ("a", "1") "s = SequenceConstruct (a)\n y = OptionalGetElement (s)" },
  { "OptionalGetElement of nothing is an error", 21, "the optional is empty", NULL,
    "o = Optional <type = float[2]> ()\n y = OptionalGetElement (o)" },
  { "An optional sequence comes out of If", 21, "optional(seq(int64[]))", "(1)",
    N ("a", "1") TRUTH (
        "t",
        "1") "y = If (t) <then_branch = p () => (optional(seq(int64)) u) { s = SequenceConstruct (a) u = Optional (s) },\n"
             " else_branch = q () => (optional(seq(int64)) v) { v = Optional <type = seq(int64)> () }>" },
  { "An operator on tensors refuses a sequence", 21, "tensor is needed", NULL,
    N ("a", "1") "s = SequenceConstruct (a)\n y = Neg (s)" },
};

/* -- limits that are no graph -- */

static void
test_time_limit (void)
{
  const Graph endless = {
    "", 21, "", NULL,
    TRUTH ("t", "1") N ("one", "1") "y = Loop (, t, one) <body = b (int64 i, bool c, int64 v)\n"
                                    " => (bool c2, int64 w) { c2 = Identity (c) w = Identity (v) }>"
  };
  g_autoptr (IrModel) model = read_graph (&endless);
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .n_threads = 1, .time_limit_ms = 20, .iteration_limit = G_MAXUINT64 };

  g_assert_null (ir_model_run (model, inputs, &options, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT);
}

static void
test_memory_limit (void)
{
  const Graph growing = {
    "", 21, "", NULL,
    TRUTH (
        "t",
        "1") "n = Constant <value_ints = [1024]> ()\n v = ConstantOfShape (n)\n e = SequenceEmpty ()\n"
             "y = Loop (, t, e) <body = b (int64 i, bool c, seq(float[]) s)\n"
             " => (bool c2, seq(float[]) r)\n"
             " { c2 = Identity (c) w = Add (v, v) r = SequenceInsert (s, w) }>"
  };
  g_autoptr (IrModel) model = read_graph (&growing);
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .n_threads = 1, .memory_limit = 1 << 20 };

  g_assert_null (ir_model_run (model, inputs, &options, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_MEMORY);
}

/* 1 + 2 items of 8 bytes and their lists: the items of a sequence count once. */
static void
test_counted (void)
{
  g_autoptr (IrModel) model = read_graph (
      &(Graph){ "", 21, "", "",
                N ("a", "1") "s = SequenceConstruct (a, a)\n r = SequenceInsert (s, a)\n"
                             "y = SequenceLength (r)" });
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .n_threads = 1, .backend = ir_backend_find ("cpu") };
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (run->trace->peak_bytes, <=, 8 * (2 + 3) + 8 + 8);
  g_assert_cmpuint (run->n_own + run->n_fallback, ==, 4);
  g_assert_cmpuint (run->n_control, ==, 0);
}

/* -- files -- */

static void
test_files (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (IrTensor) number = tensor_of ("float[2]", "1 2");
  g_autoptr (IrTensor) other = tensor_of ("float[1]", "3");
  IrTensor *items[] = { number, other };
  g_autoptr (IrTensor) sequence = ir_tensor_new_sequence (NULL, items, 2);
  g_autoptr (IrTensor) optional = ir_tensor_new_optional (NULL, sequence);
  g_autoptr (IrTensor) keys = tensor_of ("int64[2]", "7 -9");
  g_autoptr (IrTensor) map = ir_tensor_new_map (keys, sequence);
  const IrType *element = ir_type_tensor (context, IR_DTYPE_FLOAT, IR_RANK_UNKNOWN, NULL);
  g_autoptr (IrTensor) none = ir_tensor_new_optional (element, NULL);
  g_autoptr (IrTensor) empty = ir_tensor_new_sequence (element, NULL, 0);
  IrTensor *values[] = { number, sequence, optional, map, none, empty };
  g_autofree char *dir = g_dir_make_tmp ("irscope-values-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "value.pb", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_true (ir_tensor_save (values[i], path, &error));
      g_assert_no_error (error);
      g_autoptr (IrTensor) back = ir_value_load (path, ir_tensor_type (values[i], context), &error);
      g_assert_no_error (error);
      g_assert_true (ir_tensor_equal (values[i], back));
      g_assert_cmpuint (ir_tensor_hash (values[i]), ==, ir_tensor_hash (back));
    }
  g_unlink (path);
  g_rmdir (dir);
}

static void
test_npy_refuses (void)
{
  g_autoptr (IrTensor) number = tensor_of ("float[2]", "1 2");
  g_autoptr (IrTensor) sequence = ir_tensor_new_sequence (NULL, &number, 1);
  g_autoptr (GError) error = NULL;

  g_assert_false (ir_tensor_save (sequence, "/nonexistent/value.npy", &error));
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED);
}

/* Bytes that nodes are given in a loop of @n iterations. */
static guint64
allocated_bytes (const char *n)
{
  g_autofree char *body = g_strdup_printf (
      N ("n", "%s") TRUTH (
          "t",
          "1") "size = Constant <value = int64[1] {64}> ()\nv = ConstantOfShape (size)\n"
               "y, rows = Loop (n, t, v) <body = b (int64 i, bool c, float[64] a) => (bool c2, float[64] d, float[64] row)\n"
               "{ c2 = Identity (c) p = Mul (a, v) q = Sub (p, v) d = Add (q, v) row = Identity (d) }>",
      n);
  const Graph graph = { "memory of bodies", 21, "", "", body };
  g_autoptr (IrModel) model = read_graph (&graph);
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = 1 };
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);

  g_assert_no_error (error);
  return run->trace->allocated_bytes;
}

/* Iterations fill what those before them have let go. */
static void
test_body_memory (void)
{
  guint64 few = allocated_bytes ("8"), many = allocated_bytes ("900");

  g_test_message ("%" G_GUINT64_FORMAT " bytes in 8 iterations, %" G_GUINT64_FORMAT " in 900", few,
                  many);
  g_assert_cmpuint (few, >, 0);
  g_assert_cmpuint (many, ==, few);
}

/* -- containers by themselves -- */

static void
test_containers (void)
{
  g_autoptr (IrTensor) number = tensor_of ("float[2]", "1 2");
  g_autoptr (IrTensor) whole = tensor_of ("int64[2]", "1 2");
  IrTensor *mixed[] = { number, whole };
  g_autoptr (IrTensor) sequence = ir_tensor_new_sequence (NULL, &number, 1);

  g_assert_null (ir_tensor_new_sequence (NULL, mixed, 2));
  g_assert_null (ir_tensor_new_sequence (NULL, NULL, 0));
  g_assert_null (ir_tensor_new_map (number, number)); /* keys are integers or strings */
  g_assert_null (ir_tensor_data (sequence));
  g_assert_null (ir_tensor_bytes (sequence));
  g_assert_null (ir_tensor_reshape (sequence, 1, (gint64[]){ 0 }));
  g_assert_cmpuint (ir_tensor_n_elements (sequence), ==, 0);
  g_assert_cmpint (ir_tensor_dtype (sequence), ==, IR_DTYPE_UNDEFINED);
  g_assert_cmpuint (ir_tensor_n_bytes (sequence), ==, 8);
  IrTensorStats stats;
  ir_tensor_stats (sequence, 8, &stats);
  g_assert_cmpuint (stats.n, ==, 0);
}

static void
test_depth (void)
{
  IrTensor *value = tensor_of ("float[1]", "1");

  for (guint i = 0; i < 1000 && value != NULL; i++)
    {
      IrTensor *around = ir_tensor_new_optional (NULL, value);
      ir_tensor_unref (value);
      value = around;
    }
  g_assert_null (value);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    {
      g_autofree char *path = g_strconcat ("/control/", graphs[i].title, NULL);
      g_test_add_data_func (path, &graphs[i], test_graph);
    }
  g_test_add_func ("/control/A run ends when its time is up", test_time_limit);
  g_test_add_func ("/control/A sequence that grows meets the memory limit", test_memory_limit);
  g_test_add_func ("/control/Iterations share their memory", test_body_memory);
  g_test_add_func ("/control/Items of sequences count once", test_counted);
  g_test_add_func ("/control/Values of every kind survive a file", test_files);
  g_test_add_func ("/control/NumPy files refuse sequences", test_npy_refuses);
  g_test_add_func ("/control/A container has no elements of its own", test_containers);
  g_test_add_func ("/control/Optionals do not nest without end", test_depth);
  return g_test_run ();
}
