/* Frames, conditions and loops as they are derived, and what is wrong with broken ones. */
#include "config.h"

#include "core/ir/cycles.h"
#include "core/ir/frames.h"
#include "core/op/trips.h"
#include "core/op/verify.h"

#include "core/io/io.h"
#include "core/layout/scene.h"
#include "tests/exec/graphs.h"

#include <string.h>

#define LOOP LOOP_TO (n)
#define LOOP_TO(limit)                                                                             \
  "one = Constant <value_int = 1> ()\nfirst = Constant <value_int = 3> ()\n"                       \
  "[enter] i0 = irscope.flow.Enter <frame_name = \"while\", parallel_iterations = 7> (first)\n"    \
  "[lim] n1 = irscope.flow.Enter <frame_name = \"while\", is_constant = 1> (" #limit ")\n"         \
  "[merge] i = irscope.flow.Merge (i0, i3)\n[less] c = Less (i, n1)\n"                             \
  "[cond] p = irscope.flow.LoopCond (c)\n[switch] i1, ib = irscope.flow.Switch (i, p)\n"           \
  "[add] i2 = Add (ib, one)\n[next] i3 = irscope.flow.NextIteration (i2)\n"                        \
  "[exit] e = irscope.flow.Exit (i1)\n"

static IrModel *
read_body (const char *body, GPtrArray *problems)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.flow\" : 1]>\n"
      "g (int64 n, int64 x, bool p0, bool q0) => (y) {\n%s\n}\n",
      body);
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  return model;
}

static const IrNode *
node (const IrModel *model, const char *name)
{
  const IrNode *found = ir_graph_find_node (model->main, name);

  if (found == NULL)
    g_error ("no node %s", name);
  return found;
}

static void
test_loop (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_body (LOOP "y = Neg (e)", problems);
  g_autoptr (IrFrames) frames = ir_frames_new (model->main);

  g_assert_cmpuint (problems->len, ==, 0);
  g_assert_false (ir_model_is_cyclic (model));
  g_assert_cmpuint (frames->frames->len, ==, 2);
  const IrFrame *frame = ir_frames_of (frames, node (model, "add"));
  g_assert_cmpstr (frame->name, ==, "while");
  g_assert_cmpuint (frame->depth, ==, 1);
  g_assert_cmpuint (frame->n_enters, ==, 2);
  g_assert_cmpuint (frame->parallel_iterations, ==, 7);
  g_assert_cmpuint (frame->loop_cond, ==, node (model, "cond")->id);
  g_assert_cmpint (frame->trips, ==, -1); /* n is an input */
  g_assert_cmpuint (frame->variables->len, ==, 1);
  const IrLoopVariable *variable = &g_array_index (frame->variables, IrLoopVariable, 0);
  g_assert_cmpuint (variable->enter, ==, node (model, "enter")->id);
  g_assert_cmpuint (variable->merge, ==, node (model, "merge")->id);
  g_assert_cmpuint (variable->next, ==, node (model, "next")->id);
  g_assert_cmpuint (variable->exit, ==, node (model, "exit")->id);
  g_assert_cmpuint (frame->invariants->len, ==, 1);
  g_assert_cmpuint (g_array_index (frame->invariants, IrNodeId, 0), ==, node (model, "lim")->id);
  g_assert_cmpuint (frames->frame_of[node (model, "enter")->id], ==, 0);
  g_assert_cmpuint (frames->frame_of[node (model, "exit")->id], ==, 1);
  g_assert_cmpuint (ir_frames_value_condition (frames, node (model, "exit")->outputs[0])->n, ==, 0);
  g_autofree char *when = ir_condition_text (model, frames->conditions[node (model, "add")->id]);
  g_assert_cmpstr (when, ==, "c = true");
  /* The order is that of one iteration. */
  guint n, merge = 0, next = 0;
  IrNode *const *order = ir_graph_order (model->main, &n);
  for (guint i = 0; i < n; i++)
    {
      merge = order[i] == node (model, "merge") ? i : merge;
      next = order[i] == node (model, "next") ? i : next;
    }
  g_assert_cmpuint (merge, <, next);
}

static void
test_trips (void)
{
  static const struct
  {
    const char *limit, *step;
    gint64 trips;
  } loops[] = { { "10", "1", 7 },  { "10", "3", 3 },   { "9", "3", 2 },
                { "3", "1", 0 },   { "-5", "1", 0 },   { "4", "9", 1 },
                { "10", "0", -1 }, { "10", "-1", -1 }, { "9223372036854775807", "2", -1 } };

  for (guint i = 0; i < G_N_ELEMENTS (loops); i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autofree char *body = g_strdup_printf (
          "limit = Constant <value_int = %s> ()\nstep = Constant <value_int = %s> ()\n"
          "y_ = Add (limit, step)\n%s",
          loops[i].limit, loops[i].step, LOOP "y = Neg (e)");
      g_auto (GStrv) parts = g_strsplit (body, "(n)", 2);
      g_autofree char *limited = g_strjoinv ("(limit)", parts);
      g_auto (GStrv) halves = g_strsplit (limited, "Add (ib, one)", 2);
      g_autofree char *all = g_strjoinv ("Add (step, ib)", halves);
      g_autoptr (IrModel) model = read_body (all, problems);
      g_autoptr (IrFrames) frames = ir_frames_new (model->main);
      g_assert_cmpint (ir_frames_of (frames, node (model, "add"))->trips, ==, loops[i].trips);
    }
}

/* How often a Loop runs whose condition compares a counter: @compares of @reads of it and @bound, -1 if it is more than MOST. */
#define MOST 60

static gint64
run_counted (const IrModel *model)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = g_hash_table_new (g_str_hash, g_str_equal);
  const IrRunOptions options = { .backend = ir_backend_find ("ref"),
                                 .n_threads = 1,
                                 .iteration_limit = MOST };
  g_autoptr (IrRun) run = ir_model_run ((IrModel *) model, inputs, &options, NULL, &error);

  return run != NULL
             ? ir_tensor_get_int64 (ir_run_value (run, ir_graph_output (model->main, 0)->id), 0)
             : -1;
}

/* By all comparisons, in both orders and turned round, of all counters: what is proved is what a run finds. */
static void
test_counters (void)
{
  static const char *const compares[] = { "Less (%s, bound)", "LessOrEqual (bound, %s)",
                                          "Greater (bound, %s)", "GreaterOrEqual (%s, bound)" };
  static const char *const turned[] = { "more = Identity (k)", "more = Not (k)",
                                        "more = And (go, k)" };
  static const char *const counters[] = { "i", "s", "t", "Add (one, t)", "Sub (t, two)" };
  static const gint64 numbers[][3] = { /* first, step, bound */ { 3, 1, 9 },
                                       { 0, 3, 10 },
                                       { 9, -2, 1 },
                                       { 5, 0, 5 },
                                       { -4, 4, 4 },
                                       { 2, 1, 2 },
                                       { 7, -1, 9 },
                                       { G_MAXINT64 - 5, 2, G_MAXINT64 } };
  static const char *const limits[] = { "", "four", "zero" };
  guint n_known = 0;

  for (guint i = 0; i < 4 * 3 * 5 * 8 * 3; i++)
    {
      const gint64 *of = numbers[i / 60 % 8];
      const char *counter = counters[i / 12 % 5];
      g_autofree char *name = g_strdup (strlen (counter) == 1 ? counter : "v");
      g_autofree char *condition = g_strdup_printf (compares[i % 4], name);
      g_autofree char *text = g_strdup_printf (
          "<ir_version: 10, opset_import: [\"\" : 21]>\ng () => (int64 n) <int64 zero = {0}, int64 one = {1}, "
          "int64 two = {2}, int64 four = {4}, int64 first = {%" G_GINT64_FORMAT
          "}, int64 step = {%" G_GINT64_FORMAT "}, int64 bound = {%" G_GINT64_FORMAT "}> {\n"
          "[loop] n, e = Loop (%s, , zero, first) <body = b (int64 i, bool go, int64 c, int64 s) => (bool more, int64 d, "
          "int64 t) { d = Add (c, one) t = Add (s, step) %s%s k = %s %s }>\n}\n",
          of[0], of[1], of[2], limits[i / 480], *name == 'v' ? "v = " : "",
          *name == 'v' ? counter : "", condition, turned[i / 4 % 3]);
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = ir_text_read (text, -1, problems, &error);
      g_assert_no_error (error);
      const gint64 trips = ir_node_trips (node (model, "loop")), ran = run_counted (model);
      n_known += trips >= 0;
      if (trips >= 0 ? ran >= 0 && trips != ran : ran >= 0 && of[0] < 1000 && i < 480)
        g_error ("%" G_GINT64_FORMAT " proved, %" G_GINT64_FORMAT " found in %s", trips, ran, text);
    }
  g_assert_cmpuint (n_known, >, 1000);
}

/* Which inputs of a Merge may be live together. */
static void
test_conditions (void)
{
  static const struct
  {
    const char *body, *a, *b;
    gboolean exclude;
    const char *merged; /* (nullable) the condition of their Merge, m */
  } pairs[] = {
    { "f, t = irscope.flow.Switch (x, p0)", "f", "t", TRUE, "always" },
    { "f, t = irscope.flow.Switch (x, p0)\na = Neg (f)\np1 = Identity (p0)\n"
      "f2, b = irscope.flow.Switch (n, p1)",
      "a", "b", TRUE, "always" },
    { "f, t = irscope.flow.Switch (x, p0)\nf2, t2 = irscope.flow.Switch (x, q0)", "f", "t2", FALSE,
      NULL },
    { "f, t = irscope.flow.Switch (x, p0)\na, b = irscope.flow.Switch (t, q0)", "a", "b", TRUE,
      "p0 = true" },
    { "f, t = irscope.flow.Switch (x, p0)\nu, a = irscope.flow.Switch (t, q0)\n"
      "v, b = irscope.flow.Switch (f, q0)",
      "a", "b", TRUE, "q0 = true" },
    { "f, t = irscope.flow.Switch (x, p0)\na = Add (f, t)\nb = Neg (x)", "a", "b", TRUE, NULL },
    { "f, t = irscope.flow.Switch (x, p0)\nb_, b = irscope.flow.Switch (f, p0)", "b_", "b", TRUE,
      "p0 = false" },
    { "f, t = irscope.flow.Switch (x, p0)\na = Neg (t)\nb = Neg (x)", "a", "b", FALSE, "always" },
    { "f, t = irscope.flow.Switch (x, p0)\np1 = Not (p0)\nf2, t2 = irscope.flow.Switch (x, p1)",
      "t", "t2", TRUE, "always" },
    { "f, t = irscope.flow.Switch (x, p0)\np1 = Not (p0)\np2 = Identity (p1)\np3 = Not (p2)\n"
      "f2, t2 = irscope.flow.Switch (x, p3)",
      "t", "f2", TRUE, "always" },
    { "p1 = Not (p0)\nf, t = irscope.flow.Switch (x, p1)", "t", "x", FALSE, "always" },
    { "pq = And (p0, q0)\nnp = Not (p0)\nf, t = irscope.flow.Switch (x, pq)\n"
      "f2, t2 = irscope.flow.Switch (x, np)",
      "t", "t2", FALSE, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autofree char *body = g_strdup_printf ("%s\n[m] y = irscope.flow.Merge (%s, %s)",
                                               pairs[i].body, pairs[i].a, pairs[i].b);
      g_autoptr (IrModel) model = read_body (body, problems);
      g_autoptr (IrFrames) frames = ir_frames_new (model->main);
      const IrNode *merge = node (model, "m");
      const IrCondition *a = ir_frames_value_condition (frames, merge->inputs[0]);
      const IrCondition *b = ir_frames_value_condition (frames, merge->inputs[1]);
      g_autofree char *when = ir_condition_text (model, frames->conditions[merge->id]);
      g_assert_cmpint (ir_conditions_exclude (a, b), ==, pairs[i].exclude);
      g_assert_cmpint (ir_conditions_exclude (b, a), ==, pairs[i].exclude);
      if (pairs[i].merged != NULL)
        g_assert_cmpstr (when, ==, pairs[i].merged);
      g_autoptr (GPtrArray) found = ir_problems_new ();
      ir_graph_report_frames (model->main, found);
      g_assert_cmpuint (found->len, ==, pairs[i].exclude ? 0 : 1);
      if (found->len > 0)
        g_assert_cmpint (((IrProblem *) found->pdata[0])->code, ==, IR_PROBLEM_MERGE_RACE);
    }
}

/* What is wrong, by a part of the message; and whether a run refuses it. */
static void
test_broken (void)
{
  static const struct
  {
    const char *body, *found;
    IrProblemCode code;
  } graphs[] = {
    { LOOP "y = Add (i2, n)",
      "two frames meet: input 0 (i2) is of frame while, input 1 (n) of no frame",
      IR_PROBLEM_FRAME },
    { LOOP "#! metadata [\"irscope.after\":\"ib\"]\ny = Identity (x)",
      "two frames meet: input 0 (x) is of no frame, what it waits for (switch) of frame while",
      IR_PROBLEM_FRAME },
    { LOOP "s = Less (n, x)\nz = If (s) <then_branch = a () => (int64 u) { u = Neg (i2) }, "
           "else_branch = b () => (int64 v) { v = Neg (e) }>\ny = Neg (z)",
      "two frames meet", IR_PROBLEM_FRAME },
    { "y = irscope.flow.Exit (x)", "no Enter leads to it", IR_PROBLEM_FRAME },
    { "z = irscope.flow.NextIteration (x)\ny = Neg (x)", "no Merge reads", IR_PROBLEM_FRAME },
    { "m = irscope.flow.Merge (x, k)\nk = irscope.flow.NextIteration (m)\ny = Neg (m)",
      "is in no frame, so there is no next iteration", IR_PROBLEM_FRAME },
    { LOOP "z = Neg (i3)\nt = irscope.flow.Exit (z)\ny = Neg (e)",
      "has nothing to read in the first iteration", IR_PROBLEM_FRAME },
    { "a = irscope.flow.Enter <frame_name = \"f\"> (x)\nb = Neg (a)\ny = irscope.flow.Exit (b)",
      "frame f has 0 LoopConds, needed one", IR_PROBLEM_FRAME },
    { LOOP "c2 = Not (c)\np2 = irscope.flow.LoopCond (c2)\ny = Neg (e)",
      "frame while has 2 LoopConds, needed one", IR_PROBLEM_FRAME },
    { LOOP "y = Neg (i2)", "output \"y\" is of frame while", IR_PROBLEM_FRAME },
    { "a = Add (x, b)\nb = Neg (a)\ny = irscope.flow.Merge (x, b)", "wait for each other",
      IR_PROBLEM_CYCLE },
    { "k = irscope.flow.NextIteration (a)\na = Neg (k)\ny = Neg (a)", "wait for each other",
      IR_PROBLEM_CYCLE },
    /* the limit of a loop that is counted is looked for */
    { "n2 = Identity (n3)\nn3 = Identity (n2)\n" LOOP_TO (n2) "y = Neg (e)", "wait for each other",
      IR_PROBLEM_CYCLE },
    { "s = Shape (x)\nn2 = Gather (s, n3)\nn3 = Identity (n2)\n" LOOP_TO (n2) "y = Neg (e)",
      "wait for each other", IR_PROBLEM_CYCLE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new (), ignored = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = read_body (graphs[i].body, ignored);
      gboolean found = FALSE;
      ir_verify_model (model, problems);
      for (guint k = 0; k < problems->len; k++)
        {
          const IrProblem *problem = problems->pdata[k];
          found |= problem->code == graphs[i].code && problem->severity == IR_SEVERITY_ERROR &&
                   strstr (problem->message, graphs[i].found) != NULL && problem->hint != NULL;
        }
      if (!found)
        g_error ("%s: not found among %u problems", graphs[i].found, problems->len);
      g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) run = ir_model_run (model, inputs, NULL, NULL, &error);
      g_assert_null (run);
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT);
    }
}

/* Files keep what closes a loop, and what waits for a node without outputs. */
static void
test_files (void)
{
  const char *body = LOOP
      "#! metadata [\"irscope.after\":\"e\"]\n[trig] = irscope.flow.ControlTrigger ()\n"
      "#! metadata [\"irscope.after\":\"trig\"]\n[last] y = Neg (x)";
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_body (body, problems);
  g_autofree char *text = ir_text_write (model);
  g_autofree char *json = ir_json_write (model);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) from_text = ir_text_read (text, -1, problems, &error);
  g_assert_no_error (error);
  g_autoptr (IrModel) from_json = ir_json_read (json, -1, problems, &error);
  g_assert_no_error (error);
  g_autofree char *text_again = ir_text_write (from_text);
  g_autofree char *json_again = ir_text_write (from_json);

  g_assert_cmpuint (problems->len, ==, 0);
  g_assert_cmpstr (text, ==, text_again);
  g_assert_cmpstr (text, ==, json_again);
  g_assert_nonnull (node (from_text, "last")->controls);
  g_assert_cmpuint (node (from_text, "last")->controls->ids[0], ==, node (from_text, "trig")->id);
}

/* What closes a loop is drawn against the direction, and nothing else is. */
static void
test_drawn (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = read_body (LOOP "y = Neg (e)", problems);
  const IrSceneOptions options = { .show_constants = TRUE };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrScene) scene = ir_scene_new_for_model (model, &options, NULL, &error);
  guint n_back = 0, n_lines;
  const IrSceneLine *lines = ir_scene_lines (scene, &n_lines);

  g_assert_no_error (error);
  for (guint i = 0; i < n_lines; i++)
    {
      const IrSceneLine *line = &lines[i];
      const IrLayoutPoint *points = ir_scene_line_points (scene, line);
      gboolean up = points[0].y > points[line->n_points - 1].y;
      g_assert_cmpint (up, ==, line->value == node (model, "next")->outputs[0]->id);
      n_back += up;
    }
  g_assert_cmpuint (n_back, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/frames/loop", test_loop);
  g_test_add_func ("/frames/trips", test_trips);
  g_test_add_func ("/frames/counters", test_counters);
  g_test_add_func ("/frames/conditions", test_conditions);
  g_test_add_func ("/frames/broken", test_broken);
  g_test_add_func ("/frames/files", test_files);
  g_test_add_func ("/frames/drawn", test_drawn);
  return g_test_run ();
}
