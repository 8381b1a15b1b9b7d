/* DOT out, DOT in by the child process, and dot's layout. */
#include "config.h"

#include "core/graphviz/graphviz.h"
#include "tests/io/models.h"

#include <string.h>

static void
test_written (void)
{
  g_autoptr (IrModel) model = test_read_text (
      "<ir_version: 8, opset_import: [\"\" : 17]> \"a \\\"graph\\\"\" (float[2,3] x) => (y) {\n"
      "  [\"/block/Relu\"] h = Relu (x)\n"
      "  [\"/block/inner/odd \\\"name\\\\\"] y = Neg (h)\n}");
  g_autofree char *dot = ir_dot_write (model);

  g_assert_nonnull (strstr (dot, "digraph \"a \\\"graph\\\"\""));
  g_assert_nonnull (strstr (dot, "subgraph cluster_1"));
  g_assert_nonnull (strstr (dot, "label=\"block\""));
  g_assert_nonnull (strstr (dot, "label=\"inner\""));
  g_assert_nonnull (strstr (dot, "odd \\\"name\\\\\""));
  g_assert_nonnull (strstr (dot, "float[2,3]"));
}

static void
test_round_trip (void)
{
  g_autoptr (IrModel) model = test_read_text (test_rich_text);
  g_autofree char *dot = ir_dot_write (model);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) again = ir_dot_read (dot, -1, NULL, problems, NULL, &error);

  g_assert_no_error (error);
  test_assert_no_errors (problems);
  g_assert_cmpstr (again->main->name, ==, model->main->name);
  g_assert_nonnull (ir_graph_find_value (again->main, "inner value"));
  g_assert_cmpstr (ir_graph_find_node (again->main, "/encoder/layer.0/MatMul")->op_type, ==,
                   "com.example.Every");
}

static void
test_read (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_dot_read (
      "digraph pipeline {\n"
      "  subgraph cluster_front { label=\"front\"; source [label=\"Load\\nfile\"]; parse; }\n"
      "  source -> parse; parse -> { left right }; left -> join [to=1]; right -> join [to=0];\n"
      "  join [cost=\"12\", color=red];\n}",
      -1, NULL, problems, NULL, &error);
  IrNode *join, *parse;

  g_assert_no_error (error);
  test_assert_no_errors (problems);
  g_assert_cmpuint (ir_model_n_nodes (model), ==, 5);
  g_assert_cmpstr (ir_graph_find_node (model->main, "source")->op_type, ==, "Load");
  g_assert_cmpstr (ir_graph_find_node (model->main, "source")->scope, ==, "front");
  parse = ir_graph_find_node (model->main, "parse");
  g_assert_cmpuint (parse->n_outputs, ==, 1);
  g_assert_cmpuint (ir_value_n_node_uses (parse->outputs[0]), ==, 2);
  join = ir_graph_find_node (model->main, "join");
  g_assert_cmpstr (join->domain, ==, "dot");
  g_assert_cmpstr (join->inputs[0]->producer->name, ==, "right");
  g_assert_cmpstr (ir_node_attr_string (join, "cost", NULL), ==, "12");
  g_assert_null (ir_node_attr (join, "color"));
  g_assert_true (ir_value_is_graph_output (join->outputs[0]));
}

static void
test_cyclic (void)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel)
      model = ir_dot_read ("digraph { a -> b -> c -> a; d -> d }", -1, NULL, problems, NULL, NULL);

  g_assert_nonnull (model);
  g_assert_true (test_has_problem (problems, IR_PROBLEM_CYCLE));
}

static void
test_no_dot (void)
{
  static const char *const texts[] = { "", "digraph {", "hello", "digraph { a -> }", "\xff\xfe" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (IrModel) model = ir_dot_read (texts[i], -1, NULL, problems, NULL, &error);

      g_assert_null (model);
      g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT);
    }
}

/* Each nested {…} -> {…} multiplies edges: 50 kB of it would make billions. */
static void
test_bomb (void)
{
  const IrGraphvizLimits limits = { (gsize) 256 * 1024 * 1024, 3, (gsize) 16 * 1024 * 1024 };
  g_autoptr (GString) text = g_string_new ("digraph {");
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = NULL;
  gint64 start = g_get_monotonic_time ();

  for (guint side = 0; side < 2; side++)
    {
      g_string_append (text, side == 0 ? "{" : "-> {");
      for (guint i = 0; i < 4000; i++)
        g_string_append_printf (text, "%c%u ", side == 0 ? 'a' : 'b', i);
      g_string_append (text, "}");
    }
  g_string_append (text, "}");
  g_assert_cmpuint (text->len, <, 50000);
  model = ir_dot_read (text->str, -1, &limits, NULL, NULL, &error);
  g_assert_null (model);
  g_assert_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT);
  g_assert_cmpint (g_get_monotonic_time () - start, <, 30 * G_TIME_SPAN_SECOND);
}

static void
test_cancelled (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_cancellable_cancel (cancellable);
  g_assert_null (ir_dot_read ("digraph { a }", -1, NULL, NULL, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
test_layout (void)
{
  IrGraphvizBox boxes[] = { { 100, 40 }, { 100, 40 }, { 100, 40 }, { 60, 30 } };
  IrGraphvizEdge edges[] = { { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 } };
  g_autoptr (GError) error = NULL;

  g_assert_true (ir_graphviz_layout (boxes, 4, edges, 4, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpfloat (boxes[0].y + 40, <, boxes[1].y);
  g_assert_cmpfloat (boxes[1].y + 35, <, boxes[3].y);
  g_assert_cmpfloat (ABS (boxes[1].x - boxes[2].x), >=, 100);
  for (guint i = 0; i < 4; i++)
    {
      g_assert_cmpuint (edges[i].n_points, >=, 4);
      g_assert_cmpuint (edges[i].n_points % 3, ==, 1);
      g_free (edges[i].points);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/dot/names are escaped and scopes are clusters", test_written);
  g_test_add_func ("/io/dot/what we write is DOT", test_round_trip);
  g_test_add_func ("/io/dot/nodes become operators and edges values", test_read);
  g_test_add_func ("/io/dot/cycles are found and shown", test_cyclic);
  g_test_add_func ("/io/dot/what is no DOT is said", test_no_dot);
  g_test_add_func ("/io/dot/a small bomb does not take gigabytes", test_bomb);
  g_test_add_func ("/io/dot/reading can be cancelled", test_cancelled);
  g_test_add_func ("/io/dot/dot lays out boxes in layers", test_layout);
  return g_test_run ();
}
