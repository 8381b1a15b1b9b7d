#include "config.h"

/* How a graph is drawn, as data: parts, filters, colours, scales, numbers of files. */

#include "core/io/io.h"
#include "core/ir/problem.h"
#include "core/look/legend.h"
#include "core/look/look.h"
#include "core/op/infer.h"

#include <math.h>
#include <string.h>

static const char
    *const nested = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                    "g (float[4] x, bool c) => (float[4] y) {\n"
                    "  [relu] a = Relu (x)\n"
                    "  [choice] b = If (c) <then_branch = t () => (float[4] p) {\n"
                    "      [tanh] i = Tanh (a)\n"
                    "      [inner] k = If (c) <then_branch = u () => (float[4] q) {\n"
                    "          [cos] m = Cos (i)\n"
                    "          [ceil] q = Ceil (m) },\n"
                    "        else_branch = v () => (float[4] r) { [abs] r = Abs (i) }>\n"
                    "      [floor] p = Floor (k) },\n"
                    "    else_branch = e () => (float[4] s) { [neg] s = Neg (a) }>\n"
                    "  [exp] y = Exp (b)\n"
                    "}\n";

static IrModel *
read_model (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (text, -1, problems, &error);
  IrEdit *edit;

  g_assert_no_error (error);
  edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  ir_edit_free (edit);
  return model;
}

static IrScene *
draw (IrModel *model, const IrLook *look, const IrOverlayFacts *facts, IrScale **scale)
{
  const IrLookSubject subject = { .model = model, .facts = facts };
  g_autoptr (GError) error = NULL;
  IrScene *scene = ir_look_draw (look, &subject, scale, NULL, &error);

  g_assert_no_error (error);
  return scene;
}

static const IrNode *
node_called (const IrModel *model, const char *name)
{
  for (guint id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);

      if (node != NULL && strcmp (node->name, name) == 0)
        return node;
    }
  g_error ("no node is called %s", name);
}

static const IrSceneBox *
box_of (const IrScene *scene, const IrModel *model, const char *name)
{
  const gint32 index = ir_scene_find_node (scene, node_called (model, name)->id);
  guint n;

  return index >= 0 ? &ir_scene_boxes (scene, &n)[index] : NULL;
}

static guint
count (const IrScene *scene, IrSceneBoxKind kind)
{
  guint n, found = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    found += boxes[i].kind == kind;
  return found;
}

static guint
count_captured (const IrScene *scene)
{
  guint n, found = 0;
  const IrSceneLine *lines = ir_scene_lines (scene, &n);

  for (guint i = 0; i < n; i++)
    found += lines[i].captured;
  return found;
}

/* -- parts -- */

static void
test_roots (void)
{
  g_autoptr (IrModel) model = read_model (nested);

  for (guint id = 1; id < model->graphs->len; id++)
    {
      const IrGraph *graph = ir_model_graph (model, id);
      g_autofree char *root = ir_scene_graph_root (graph);

      if (graph->kind == IR_GRAPH_MAIN)
        g_assert_null (root);
      else
        g_assert_true (ir_scene_find_root (model, root) == graph);
    }
  g_assert_null (ir_scene_find_root (model, "node:999/then_branch"));
  g_assert_null (ir_scene_find_root (model, NULL));
  g_assert_nonnull (ir_scene_node_body (node_called (model, "choice"), 1));
  g_assert_null (ir_scene_node_body (node_called (model, "choice"), 2));
  g_assert_null (ir_scene_node_body (node_called (model, "relu"), 0));
}

/* A branch alone, with what it reads from around it as pills, and what lies in it. */
static void
test_enter (void)
{
  g_autoptr (IrModel) model = read_model (nested);
  g_autoptr (IrLook) look = ir_look_new ();
  const IrGraph *then = ir_scene_node_body (node_called (model, "choice"), 1);
  g_autoptr (IrScene) scene = NULL, whole = draw (model, look, NULL, NULL);
  g_autofree char *before = ir_scene_to_text (whole), *after = NULL;
  g_autoptr (IrScene) again = NULL;

  look->root = ir_scene_graph_root (then);
  scene = draw (model, look, NULL, NULL);
  g_assert_null (box_of (scene, model, "relu"));
  g_assert_null (box_of (scene, model, "exp"));
  g_assert_null (box_of (scene, model, "neg"));
  g_assert_nonnull (box_of (scene, model, "tanh"));
  g_assert_cmpint (box_of (scene, model, "tanh")->parent, ==, -1);
  g_assert_nonnull (box_of (scene, model, "cos"));
  g_assert_cmpuint (count (scene, IR_SCENE_INPUT), ==, 2); /* a and c */
  g_assert_cmpuint (count_captured (scene), >=, 2);
  g_clear_pointer (&look->root, g_free);
  again = draw (model, look, NULL, NULL);
  after = ir_scene_to_text (again);
  g_assert_cmpstr (after, ==, before);
}

/* Branches beside: the node is one box, its graphs stand by themselves. */
static void
test_beside (void)
{
  g_autoptr (IrModel) model = read_model (nested);
  g_autoptr (IrLook) look = ir_look_new ();
  g_autoptr (IrScene) scene = NULL;
  const IrNode *choice = node_called (model, "choice");
  guint n, n_beside = 0;
  const IrSceneBox *boxes;

  g_hash_table_add (look->beside, g_strdup_printf ("node:%u", choice->id));
  scene = draw (model, look, NULL, NULL);
  boxes = ir_scene_boxes (scene, &n);
  g_assert_cmpint (box_of (scene, model, "choice")->kind, ==, IR_SCENE_FOLD);
  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && g_str_has_prefix (boxes[i].fold, IR_SCENE_BESIDE_FOLD))
      {
        g_assert_cmpint (boxes[i].kind, ==, IR_SCENE_CLUSTER);
        g_assert_cmpint (boxes[i].parent, ==, -1);
        n_beside++;
      }
  g_assert_cmpuint (n_beside, ==, 2);
  g_assert_nonnull (box_of (scene, model, "relu"));
  g_assert_nonnull (box_of (scene, model, "tanh"));
  g_assert_nonnull (box_of (scene, model, "cos"));
}

/* -- filters and colours -- */

static void
test_rules (void)
{
  g_autoptr (IrModel) model = read_model (nested);
  g_autoptr (IrLook) look = ir_look_new (), copy = NULL;
  g_autoptr (IrScene) scene = NULL, only = NULL;

  ir_look_add_rule (look, "op:relu", IR_RULE_DIM, 0);
  ir_look_add_rule (look, "op:exp", IR_RULE_COLOUR, 2);
  ir_look_add_rule (look, "cost>lots", IR_RULE_ONLY, 0); /* cannot be read: says nothing */
  copy = ir_look_copy (look);
  g_assert_cmpuint (ir_look_shape (copy), ==, ir_look_shape (look));
  scene = draw (model, copy, NULL, NULL);
  g_assert_false (box_of (scene, model, "relu")->dimmed);
  g_assert_true (box_of (scene, model, "exp")->dimmed);
  g_assert_cmpuint (box_of (scene, model, "exp")->accent, ==, 2);
  ir_look_remove_rule (look, 2);
  ir_look_add_rule (look, "op:cos", IR_RULE_ONLY, 0);
  g_assert_cmpuint (ir_look_shape (copy), !=, ir_look_shape (look));
  only = draw (model, look, NULL, NULL);
  g_assert_nonnull (box_of (only, model, "cos"));
  g_assert_null (box_of (only, model, "relu"));
  g_assert_null (box_of (only, model, "ceil"));
  g_assert_nonnull (box_of (only, model, "inner")); /* what it lies in */
  g_assert_cmpuint (count (only, IR_SCENE_OUTPUT), ==, 0);
  g_assert_false (ir_look_remove_rule (look, 9));
  for (guint i = 1; i <= IR_SCALE_CLASSES; i++)
    g_assert_cmpuint (ir_rule_colour_find (ir_rule_colour_name (i)), ==, i);
  g_assert_cmpuint (ir_rule_colour_find ("mauve"), ==, 0);
}

static void
test_only_nodes (void)
{
  g_autoptr (IrModel) model = read_model (nested);
  g_autoptr (IrLook) look = ir_look_new ();
  g_autoptr (IrScene) scene = NULL;

  look->nodes = g_hash_table_new (NULL, NULL);
  g_hash_table_add (look->nodes, GUINT_TO_POINTER (node_called (model, "relu")->id));
  g_hash_table_add (look->nodes, GUINT_TO_POINTER (node_called (model, "neg")->id));
  scene = draw (model, look, NULL, NULL);
  g_assert_cmpuint (count (scene, IR_SCENE_NODE), ==, 2);
  g_assert_cmpuint (count (scene, IR_SCENE_INPUT), ==, 2); /* that they and the If read */
}

/* -- overlays -- */

static void
test_classes (void)
{
  g_autoptr (IrModel) model = read_model (nested);
  g_autoptr (IrLook) look = ir_look_new ();
  g_autoptr (IrScale) scale = NULL;
  g_autoptr (IrScene) scene = NULL, legend = NULL;

  look->overlay = g_strdup ("dtype");
  scene = draw (model, look, NULL, &scale);
  g_assert_true (scale->is_class);
  g_assert_cmpuint (scale->n_classes, ==, 1);
  g_assert_cmpstr (scale->classes[0], ==, "float");
  g_assert_cmpuint (box_of (scene, model, "relu")->accent, ==, 1);
  legend = ir_legend_draw (scale, NULL, NULL);
  g_assert_cmpuint (count (legend, IR_SCENE_PLAIN), ==, 1);
}

static void
test_numbers (void)
{
  static const char *const good[] = {
    "{\"relu\": 2, \"exp\": 0.5}",
    "{\"title\": \"Latency\", \"unit\": \"s\", \"nodes\": {\"relu\": 2, \"y\": 0.5}}",
    "{\"main\": {\"results\": {\"relu\": {\"value\": 2}, \"exp\": {\"value\": 0.5}}}}",
  };
  static const char *const bad[] = {
    "", "{", "[1, 2]", "{}", "{\"relu\": \"2\"}", "7", "{\"nodes\": {\"relu\": null}}"
  };
  g_autoptr (IrModel) model = read_model (nested);

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrNumbers) numbers = ir_numbers_parse (good[i], -1, "f.json", &error);
      g_autofree char *note = NULL;

      g_assert_no_error (error);
      g_assert_true (ir_numbers_check (numbers, model, &note, &error));
      g_assert_null (note);
      g_assert_cmpfloat (ir_numbers_of (numbers, node_called (model, "relu")), ==, 2);
      g_assert_cmpfloat (ir_numbers_of (numbers, node_called (model, "exp")), ==, 0.5);
      g_assert_true (isnan (ir_numbers_of (numbers, node_called (model, "neg"))));
    }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (ir_numbers_parse (bad[i], -1, "f.json", &error));
      g_assert_error (error, IR_NUMBERS_ERROR, IR_NUMBERS_ERROR_SYNTAX);
    }
}

static void
test_numbers_of_others (void)
{
  g_autoptr (IrModel) model = read_model (nested);
  g_autoptr (IrNumbers) other = ir_numbers_parse ("{\"conv\": 1}", -1, "f.json", NULL);
  g_autoptr (IrNumbers) some = ir_numbers_parse ("{\"conv\": 1, \"#1\": 4}", -1, "f.json", NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *note = NULL, *none = NULL;

  g_assert_false (ir_numbers_check (other, model, &none, &error));
  g_assert_error (error, IR_NUMBERS_ERROR, IR_NUMBERS_ERROR_EMPTY);
  g_assert_true (ir_numbers_check (some, model, &note, NULL));
  g_assert_nonnull (strstr (note, "1 of 2"));
}

/* Of a file the numbers, its title and unit; on a scale that suits. */
static void
test_scale (void)
{
  g_autoptr (IrModel) model = read_model (nested);
  g_autoptr (IrNumbers) numbers = ir_numbers_parse (
      "{\"title\": \"Latency\", \"unit\": \"s\", \"nodes\": {\"relu\": 2, \"exp\": 2e-6, \"tanh\": 0}}",
      -1, "f.json", NULL);
  g_autoptr (IrOverlayFacts) facts = ir_overlay_facts_new ();
  g_autoptr (IrLook) look = ir_look_new ();
  g_autoptr (IrScale) scale = NULL, linear = NULL;
  g_autoptr (IrScene) scene = NULL, flat = NULL;
  guint n = 0;

  ir_overlay_facts_add_numbers (facts, numbers);
  look->overlay = g_strdup ("file");
  scene = draw (model, look, facts, &scale);
  g_assert_cmpstr (scale->title, ==, "Latency");
  g_assert_true (scale->is_log);
  g_assert_cmpuint (scale->n, ==, 3);
  for (guint i = 0; i < IR_SCALE_BINS; i++)
    n += scale->bins[i];
  g_assert_cmpuint (n, ==, 3);
  g_assert_cmpfloat (box_of (scene, model, "relu")->tint, ==, 1);
  g_assert_cmpfloat (box_of (scene, model, "exp")->tint, ==, 0);
  g_assert_cmpfloat (box_of (scene, model, "tanh")->tint, ==, 0);
  g_assert_false (box_of (scene, model, "neg")->has_tint);
  look->scale = IR_SCALE_LINEAR;
  flat = draw (model, look, facts, &linear);
  g_assert_false (linear->is_log);
  g_assert_cmpfloat (box_of (flat, model, "exp")->tint, <, 0.01);
}

static void
test_texts (void)
{
  static const struct
  {
    double number;
    const char *unit, *text;
  } cases[] = { { 4.85e-6, "s", "4.85 \302\265s" },
                { 0, "s", "0 s" },
                { 12.5, "s", "12.5 s" },
                { 3600, "s", "3600 s" },
                { 1234567, "B", "1.23 MB" },
                { 999.9, "B", "1 kB" },
                { 42, "steps", "42 steps" },
                { 0.31, "", "0.31" },
                { -2, "", "\342\210\2222" },
                { 12.345, "%", "12.3 %" },
                { 7680, "FLOP", "7.68 kFLOP" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = ir_scale_text (cases[i].number, cases[i].unit);

      g_assert_cmpstr (text, ==, cases[i].text);
    }
}

/* A closed group adds its nodes up; one class for all, or none. */
static void
test_groups (void)
{
  g_autoptr (IrModel) model = read_model (nested);
  g_autoptr (IrNumbers) numbers = NULL;
  g_autoptr (IrOverlayFacts) facts = ir_overlay_facts_new ();
  g_autoptr (IrLook) look = ir_look_new ();
  g_autoptr (IrScene) scene = NULL;
  double memory = 0;

  for (const char *const *name =
           (const char *const[]){ "tanh", "inner", "cos", "ceil", "abs", "floor", "neg", NULL };
       *name != NULL; name++)
    memory += 16;
  look->overlay = g_strdup ("memory");
  g_hash_table_add (look->folded, g_strdup_printf ("node:%u", node_called (model, "choice")->id));
  scene = draw (model, look, facts, NULL);
  g_assert_cmpfloat (box_of (scene, model, "choice")->amount, ==, memory);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/look/graphs have names", test_roots);
  g_test_add_func ("/look/a branch is entered and left", test_enter);
  g_test_add_func ("/look/branches stand beside", test_beside);
  g_test_add_func ("/look/queries filter and colour", test_rules);
  g_test_add_func ("/look/some nodes alone", test_only_nodes);
  g_test_add_func ("/look/classes have colours", test_classes);
  g_test_add_func ("/look/numbers of files", test_numbers);
  g_test_add_func ("/look/numbers of another graph", test_numbers_of_others);
  g_test_add_func ("/look/a scale that suits", test_scale);
  g_test_add_func ("/look/units that fit", test_texts);
  g_test_add_func ("/look/groups add up", test_groups);
  return g_test_run ();
}
