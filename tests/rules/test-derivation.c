/* A derivation in all ways, and its picture. */
#include "config.h"

#include "core/io/io.h"
#include "passes/debug/derivation.h"
#include "tests/exec/graphs.h"
#include "tests/rules/pass-test.h"

#include <string.h>

#define HEAD "<ir_version: 8, opset_import: [\"\" : 18]> g "

static IrDerivation *
derivation_of (const char *text, const char *contents, const char *wrt, GError **error)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_auto (GStrv) each = g_strsplit (contents, ";", -1);
  const IrRunLimits limits = { 0 };
  IrEdit *edit = ir_edit_new_import (model);

  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  ir_edit_free (edit);
  for (guint i = 0; each[i] != NULL; i++)
    {
      g_auto (GStrv) words = g_strsplit (each[i], " ", 2);
      inputs_add (inputs, ir_graph_input (model->main, i), tensor_of (words[0], words[1]));
    }
  return ir_derivation_new (model, inputs, "", wrt, &limits, NULL, error);
}

static const IrSceneBox *
box_called (const IrScene *scene, const char *prefix, const IrModel *model, const char *name)
{
  const IrValue *value = ir_graph_find_value (model->main, name);
  g_autofree char *id = g_strdup_printf ("%s%u", prefix, value->id);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    if (g_strcmp0 (boxes[i].id, id) == 0)
      return &boxes[i];
  return NULL;
}

static guint
count_texts (const IrScene *scene, const char *wanted)
{
  guint n, found = 0;
  const IrSceneText *texts = ir_scene_texts (scene, &n);

  for (guint i = 0; i < n; i++)
    found += strcmp (texts[i].text, wanted) == 0;
  return found;
}

static const IrChartWay *
way_called (const IrDerivation *derivation, const char *title)
{
  for (guint i = 0; i < derivation->ways->len; i++)
    if (strcmp (g_array_index (derivation->ways, IrChartWay, i).title, title) == 0)
      return &g_array_index (derivation->ways, IrChartWay, i);
  return NULL;
}

static void
test_all_ways (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrDerivation) derivation = derivation_of (
      HEAD "(float[] x1, float[] x2) => (float[] f) { v1 = Log (x1)  v2 = Mul (x1, x2)  "
           "v3 = Sin (x2)  v4 = Add (v1, v2)  f = Sub (v4, v3) }",
      "float[] 2;float[] 5", "inputs", &error);
  static const char *const ways[] = { "Numeric", "Complex step", "Symbolic" };
  static const char *const by_x1[] = { "5.5", "5.5", "1 / x1 + x2" };

  g_assert_no_error (error);
  IrValueId x1 = ir_graph_find_value (derivation->model->main, "x1")->id;
  for (guint i = 0; i < 3; i++)
    {
      const IrChartWay *way = way_called (derivation, ways[i]);
      g_assert_null (way->why);
      const char *text = g_hash_table_lookup (way->texts, GUINT_TO_POINTER (x1));
      g_assert_true (g_str_has_prefix (text, i == 0 ? "5." : by_x1[i]));
    }
  g_autoptr (IrScene) scene = ir_derivation_chart (derivation, NULL);
  const IrModel *model = derivation->tape->model;
  const IrSceneBox *forward = box_called (scene, "f", model, "v2");
  const IrSceneBox *backward = box_called (scene, "r", model, "v2");
  /* Mirrored: the same value at the same height, so that one selection outlines both. */
  g_assert_cmpfloat (forward->y, ==, backward->y);
  g_assert_cmpfloat (forward->x + forward->width, <, backward->x);
  g_assert_cmpuint (forward->value, ==, backward->value);
  g_assert_cmpfloat (box_called (scene, "w0_", model, "x1")->y, ==,
                     box_called (scene, "f", model, "x1")->y);
  /* Eight edges, there and back, each with its slope; axes and a curve for each difference. */
  guint n_lines, n_edges = 0;
  const IrSceneLine *lines = ir_scene_lines (scene, &n_lines);
  for (guint i = 0; i < n_lines; i++)
    n_edges += lines[i].kind == IR_SCENE_LINE_DATA;
  g_assert_cmpuint (n_edges, ==, 16);
  g_assert_cmpuint (n_lines, ==, 16 + 1 + 3);
  g_assert_cmpuint (count_texts (scene, "0.5"), ==, 2);
  g_assert_cmpuint (count_texts (scene, "adjoint 5 → 5.5"), ==, 1);
  g_assert_cmpuint (count_texts (scene, "10  ·  tangent 5, 2"), ==, 1);
}

/* A loop: differences alone get through it, and the others lead to the node. */
static void
test_refusals (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrDerivation) derivation = derivation_of (
      HEAD
      "(float[] x) => (float[] y) <int64 n = {3}, bool c = {1}> { e = Exp (x)  [loop] y = Loop (n, c, e) "
      "<body = b (int64 i, bool go, float[] u) => (bool more, float[] v) "
      "{ more = Identity (go)  v = Neg (u) }> }",
      "float[] 0", "inputs", &error);
  guint n_stopped = 0, n;

  g_assert_no_error (error);
  g_assert_null (derivation->tape);
  for (guint i = 0; i < derivation->ways->len; i++)
    {
      const IrChartWay *way = &g_array_index (derivation->ways, IrChartWay, i);
      n_stopped += way->why != NULL;
      g_assert_true (way->why == NULL || strstr (way->why, "loop (Loop)") != NULL);
      g_assert_true (way->why == NULL || strstr (way->why, "ifferences") != NULL);
      g_assert_true (way->why == NULL ||
                     strcmp (ir_model_node (derivation->model, way->stop)->name, "loop") == 0);
    }
  g_assert_cmpuint (n_stopped, ==, 3);
  g_assert_null (way_called (derivation, "Numeric")->why);
  g_autoptr (IrScene) scene = ir_derivation_chart (derivation, NULL);
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);
  guint n_led = 0;
  for (guint i = 0; i < n; i++)
    n_led += boxes[i].state == IR_SCENE_MISFIT && boxes[i].node != 0;
  g_assert_cmpuint (n_led, ==, 3);
}

static void
test_tensors_and_errors (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrDerivation)
      many = derivation_of (HEAD "(float[20,5] x) => (float[20,5] y) { y = Softmax (x) }",
                            "float[20,5] 1 2 3", "inputs", &error);
  g_assert_no_error (error);
  g_assert_nonnull (strstr (way_called (many, "Numeric")->why, "100 elements would be moved"));
  g_assert_nonnull (strstr (way_called (many, "Symbolic")->why, "it is not elementwise"));
  g_autoptr (IrScene) scene = ir_derivation_chart (many, NULL);
  g_assert_nonnull (box_called (scene, "f", many->tape->model, "y"));
  g_autoptr (IrDerivation) none = derivation_of (
      HEAD "(float[2] x) => (float[2] y) { y = Exp (x) }", "float[2] 1", "params", &error);
  g_assert_null (none);
  g_assert_nonnull (strstr (error->message, "no floating-point parameters"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/derivation/" SENTENCE, FUNCTION)
  TEST ("all ways say the same, mirrored, with slopes", test_all_ways);
  TEST ("what stops a way is named, and the others are there", test_refusals);
  TEST ("tensors and what cannot be derived", test_tensors_and_errors);
  return g_test_run ();
}
