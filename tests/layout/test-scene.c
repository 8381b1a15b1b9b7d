#include "config.h"

/* The scene: built by hand, and from models in ONNX's text form. */

#include "core/io/io.h"
#include "core/ir/edit.h"
#include "core/ir/history.h"
#include "core/ir/problem.h"
#include "core/layout/scene.h"
#include "core/op/infer.h"

#include <math.h>
#include <string.h>

static const char *const classifier = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                      "demo (float[N, 2] x) => (float[N, 4] y)\n"
                                      "<float[2, 4] w = {0,1,2,3,4,5,6,7}, float half = {0.5}>\n"
                                      "{\n"
                                      "  h = MatMul (x, w)\n"
                                      "  r = Relu (h)\n"
                                      "  s = Mul (r, half)\n"
                                      "  y = Add (s, h)\n"
                                      "}\n";

static const char
    *const branches = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                      "demo (float[N, 4] a, bool flag) => (float[N, 4] y)\n"
                      "{\n"
                      "  t = If (flag) <\n"
                      "    then_branch = yes () => (float[N, 4] r) { q = Relu (a)  r = Neg (q) },\n"
                      "    else_branch = no () => (float[N, 4] s) { s = Tanh (a) }\n"
                      "  >\n"
                      "  y = Abs (t)\n"
                      "}\n";

static IrModel *
read_model (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  return model;
}

static IrScene *
draw (const char *text, const IrSceneOptions *options)
{
  g_autoptr (IrModel) model = read_model (text);
  g_autoptr (GError) error = NULL;
  IrScene *scene = ir_scene_new_for_model (model, options, NULL, &error);

  g_assert_no_error (error);
  return scene;
}

/* Without the mark of what can be opened or closed. */
static const char *
plain_title (const char *text)
{
  return g_str_has_prefix (text, "\342\226\276 ") || g_str_has_prefix (text, "\342\226\270 ")
             ? text + 4
             : text;
}

static const IrSceneBox *
find_box (const IrScene *scene, const char *title)
{
  guint n, n_texts;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);
  const IrSceneText *texts = ir_scene_texts (scene, &n_texts);

  for (guint i = 0; i < n; i++)
    if (boxes[i].n_texts > 0 && strcmp (plain_title (texts[boxes[i].first_text].text), title) == 0)
      return &boxes[i];
  return NULL;
}

static gboolean
has_text (const IrScene *scene, const IrSceneBox *box, const char *text)
{
  guint n;
  const IrSceneText *texts = ir_scene_texts (scene, &n);

  for (guint i = box->first_text; i < box->first_text + box->n_texts; i++)
    if (strcmp (texts[i].text, text) == 0 ||
        (g_str_has_prefix (texts[i].text, text) && texts[i].text[strlen (text)] == ' '))
      return TRUE;
  return FALSE;
}

static gboolean
is_inside (const IrSceneBox *inner, const IrSceneBox *outer)
{
  return inner->x >= outer->x && inner->y >= outer->y &&
         inner->x + inner->width <= outer->x + outer->width &&
         inner->y + inner->height <= outer->y + outer->height;
}

/* Everything is within the bounds, and every text within its box. */
static void
check_scene (const IrScene *scene)
{
  IrLayoutRect r = ir_scene_bounds (scene);
  guint n, n_boxes;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n_boxes);
  const IrSceneText *texts = ir_scene_texts (scene, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrSceneText *t = &texts[i];
      double left = t->align == IR_SCENE_ALIGN_START    ? t->x
                    : t->align == IR_SCENE_ALIGN_MIDDLE ? t->x - t->width / 2
                                                        : t->x - t->width;
      g_assert_cmpfloat (left, >=, r.x);
      g_assert_cmpfloat (left + t->width, <=, r.x + r.width);
      if (t->box < 0)
        continue;
      const IrSceneBox *b = &boxes[t->box];
      g_assert_cmpfloat (left, >=, b->x);
      g_assert_cmpfloat (left + t->width, <=, b->x + b->width);
      g_assert_cmpfloat (t->y, >, b->y);
      g_assert_cmpfloat (t->y, <, b->y + b->height);
    }
  for (guint i = 0; i < n_boxes; i++)
    if (boxes[i].parent >= 0)
      {
        g_assert_cmpint (boxes[i].parent, <, (gint32) i);
        g_assert_true (is_inside (&boxes[i], &boxes[boxes[i].parent]));
      }
}

static IrScene *
two_boxes (void)
{
  IrScene *scene = ir_scene_new (NULL, NULL);
  IrSceneBox box = {
    .kind = IR_SCENE_CLUSTER, .parent = -1, .x = 0, .y = 0, .width = 2000, .height = 900
  };
  IrLayoutPoint points[] = { { 140, 120 }, { 140, 400 }, { 1500, 400 }, { 1500, 700 } };
  IrSceneLine line = { .from = 1, .to = 2, .value = 9 };

  ir_scene_add_box (scene, &box);
  box = (IrSceneBox){
    .kind = IR_SCENE_PLAIN, .parent = 0, .x = 100, .y = 80, .width = 80, .height = 40, .node = 4
  };
  ir_scene_add_box (scene, &box);
  IrSceneText text = { .style = IR_SCENE_TEXT_TITLE,
                       .box = 1,
                       .x = 104,
                       .y = 100,
                       .text = "a <very> long title that is cut" };
  ir_scene_add_text (scene, &text, 72);
  box.x = 1460;
  box.y = 700;
  box.node = 5;
  ir_scene_add_box (scene, &box);
  ir_scene_add_line (scene, &line, points, 4);
  ir_scene_finish (scene);
  return scene;
}

static void
test_pick (void)
{
  g_autoptr (IrScene) scene = two_boxes ();
  IrSceneHit hit = ir_scene_pick (scene, 120, 100, 4);

  g_assert_cmpint (hit.box, ==, 1);
  hit = ir_scene_pick (scene, 1500, 701, 4);
  g_assert_cmpint (hit.box, ==, 2);
  g_assert_cmpint (hit.line, ==, -1);
  hit = ir_scene_pick (scene, 800, 403, 4);
  g_assert_cmpint (hit.line, ==, 0);
  g_assert_cmpint (hit.box, ==, -1);
  hit = ir_scene_pick (scene, 800, 410, 4);
  g_assert_cmpint (hit.line, ==, -1);
  g_assert_cmpint (hit.box, ==, 0);
  /* A box has its left and its upper edge; what lies beside it has the others. */
  for (int k = 0; k < 2; k++)
    {
      hit = ir_scene_pick (scene, 100 + k * 79.5, 80 + k * 39.5, 0);
      g_assert_cmpint (hit.box, ==, 1);
      hit = ir_scene_pick (scene, k == 0 ? 180 : 100, k == 0 ? 80 : 120, 0);
      g_assert_cmpint (hit.box, ==, 0);
      hit = ir_scene_pick (scene, k == 0 ? 99.5 : 100, k == 0 ? 80 : 79.5, 0);
      g_assert_cmpint (hit.box, ==, 0);
    }
  hit = ir_scene_pick (scene, 5000, -400, 4);
  g_assert_cmpint (hit.box, ==, -1);
  g_assert_cmpint (hit.line, ==, -1);
  g_assert_cmpint (ir_scene_find_node (scene, 5), ==, 2);
  g_assert_cmpint (ir_scene_find_node (scene, 6), ==, -1);
  g_assert_cmpint (ir_scene_find_value (scene, 9), ==, 0);
}

static void
count_hit (IrSceneHit hit, gpointer data)
{
  guint *n = data;

  n[hit.box >= 0 ? 0 : 1]++;
}

static void
test_rect (void)
{
  g_autoptr (IrScene) scene = two_boxes ();
  guint n[2] = { 0, 0 };
  IrLayoutRect rect = { 0, 0, 400, 200 };

  ir_scene_foreach_in_rect (scene, &rect, count_hit, n);
  g_assert_cmpuint (n[0], ==, 2);
  g_assert_cmpuint (n[1], ==, 1);
  n[0] = n[1] = 0;
  rect = (IrLayoutRect){ 700, 500, 200, 100 };
  ir_scene_foreach_in_rect (scene, &rect, count_hit, n);
  g_assert_cmpuint (n[0], ==, 1);
  g_assert_cmpuint (n[1], ==, 0);
  guint n_boxes;
  const IrSceneBox last = ir_scene_boxes (scene, &n_boxes)[2];
  for (guint side = 0; side < 4; side++) /* what only touches it meets it */
    {
      guint touching[2] = { 0, 0 }, away[2] = { 0, 0 };
      const double x = side == 0 ? -10 : side == 1 ? last.width : 0;
      const double y = side == 2 ? -10 : side == 3 ? last.height : 0;
      rect = (IrLayoutRect){ last.x + x, last.y + y, side < 2 ? 10 : last.width,
                             side < 2 ? last.height : 10 };
      ir_scene_foreach_in_rect (scene, &rect, count_hit, touching);
      rect.x += side < 2 ? copysign (0.25, x) : 0;
      rect.y += side < 2 ? 0 : copysign (0.25, y);
      ir_scene_foreach_in_rect (scene, &rect, count_hit, away);
      g_assert_cmpuint (touching[0], ==, away[0] + 1);
    }
  n[0] = n[1] = 0;
  rect = ir_scene_bounds (scene);
  ir_scene_foreach_in_rect (scene, &rect, count_hit, n);
  g_assert_cmpuint (n[0], ==, 3);
  g_assert_cmpuint (n[1], ==, 1);
}

/* The index against looking at everything. */
static void
test_random_picks (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  g_autoptr (IrScene) scene = ir_scene_new (NULL, NULL);
  guint n;

  for (int i = 0; i < 300; i++)
    {
      IrSceneBox box = { .kind = IR_SCENE_PLAIN,
                         .parent = -1,
                         .x = g_rand_double_range (rand, -3000, 3000),
                         .y = g_rand_double_range (rand, -9000, 9000),
                         .width = g_rand_double_range (rand, 1, 900),
                         .height = g_rand_double_range (rand, 1, 200) };
      ir_scene_add_box (scene, &box);
    }
  ir_scene_finish (scene);
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);
  for (int k = 0; k < 5000; k++)
    {
      double x = g_rand_double_range (rand, -3500, 4500),
             y = g_rand_double_range (rand, -9500, 9500);
      gint32 expected = -1;
      for (guint i = 0; i < n; i++)
        if (x >= boxes[i].x && y >= boxes[i].y && x < boxes[i].x + boxes[i].width &&
            y < boxes[i].y + boxes[i].height)
          expected = (gint32) i;
      g_assert_cmpint (ir_scene_pick (scene, x, y, 3).box, ==, expected);
    }
}

static void
test_ellipsis (void)
{
  g_autoptr (IrScene) scene = two_boxes ();
  guint n;
  const IrSceneText *text = ir_scene_texts (scene, &n);

  g_assert_cmpuint (n, ==, 1);
  g_assert_true (g_str_has_suffix (text->text, "\342\200\246"));
  g_assert_cmpfloat (text->width, <=, 72);
  g_assert_cmpfloat (text->width, >, 40);
}

static void
test_empty (void)
{
  g_autoptr (IrScene) scene = ir_scene_new (NULL, NULL);

  ir_scene_finish (scene);
  g_assert_cmpfloat (ir_scene_bounds (scene).width, ==, 0);
  g_assert_cmpint (ir_scene_pick (scene, 0, 0, 5).box, ==, -1);
}

static void
test_model (void)
{
  g_autoptr (IrScene) scene = draw (classifier, NULL);
  const IrSceneBox *matmul = find_box (scene, "MatMul"), *mul = find_box (scene, "Mul");
  guint n;

  check_scene (scene);
  ir_scene_boxes (scene, &n);
  g_assert_cmpuint (n, ==, 6);
  ir_scene_lines (scene, &n);
  g_assert_cmpuint (n, ==, 6);
  g_assert_nonnull (matmul);
  g_assert_true (has_text (scene, matmul, "2\303\2274"));
  g_assert_true (has_text (scene, mul, "0.5"));
  g_assert_nonnull (find_box (scene, "x"));
  g_assert_nonnull (find_box (scene, "y"));
  g_assert_cmpfloat (find_box (scene, "x")->y, <, matmul->y);
  g_assert_cmpfloat (matmul->y, <, find_box (scene, "y")->y);
  g_assert_cmpint (ir_scene_find_node (scene, matmul->node), >=, 0);
}

/* A node whose inputs are still open is no constant: who builds a graph would lose it. */
static void
test_open_inputs_shown (void)
{
  g_autoptr (IrScene) scene = draw ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                    "demo () => (float y, float z) <float w = {1}>\n"
                                    "{ a = MatMul (, )  y = Relu (a)  b = Neg (w)  z = Abs (b) }\n",
                                    NULL);
  guint n, n_nodes = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    n_nodes += boxes[i].kind == IR_SCENE_NODE;
  g_assert_cmpuint (n_nodes, ==, 3); /* all but Neg */
}

static void
test_constants_shown (void)
{
  IrSceneOptions options = { .show_constants = TRUE };
  g_autoptr (IrScene) scene = draw (classifier, &options);
  guint n;

  check_scene (scene);
  ir_scene_boxes (scene, &n);
  g_assert_cmpuint (n, ==, 8);
  g_assert_cmpint (find_box (scene, "w")->kind, ==, IR_SCENE_CONSTANT);
  g_assert_false (has_text (scene, find_box (scene, "MatMul"), "2\303\2274"));
}

static void
test_subgraphs (void)
{
  g_autoptr (IrScene) scene = draw (branches, NULL);
  const IrSceneBox *outer = find_box (scene, "If"), *yes = find_box (scene, "then_branch");

  check_scene (scene);
  g_assert_cmpint (outer->kind, ==, IR_SCENE_CLUSTER);
  g_assert_true (is_inside (yes, outer));
  g_assert_true (is_inside (find_box (scene, "Relu"), yes));
  g_assert_true (is_inside (find_box (scene, "Tanh"), find_box (scene, "else_branch")));
  g_assert_false (is_inside (find_box (scene, "Abs"), outer));
  IrSceneHit hit = ir_scene_pick (scene, outer->x + 4, outer->y + 4, 2);
  guint n;
  g_assert_true (&ir_scene_boxes (scene, &n)[hit.box] == outer);
}

static void
test_folded_subgraphs (void)
{
  g_autoptr (IrScene) open = draw (branches, NULL);
  g_autoptr (GHashTable) folded = g_hash_table_new (g_str_hash, g_str_equal);
  IrSceneOptions options = { .folded = folded };
  guint n;

  g_hash_table_add (folded, (gpointer) find_box (open, "If")->fold);
  g_autoptr (IrScene) scene = draw (branches, &options);
  check_scene (scene);
  g_assert_cmpint (find_box (scene, "If")->kind, ==, IR_SCENE_FOLD);
  g_assert_true (has_text (scene, find_box (scene, "If"), "3 nodes"));
  g_assert_null (find_box (scene, "Relu"));
  ir_scene_boxes (scene, &n);
  g_assert_cmpuint (n, ==, 5);
  ir_scene_lines (scene, &n);
  g_assert_cmpuint (n, ==, 4);
}

/* What lies in a closed box is as much as its sizes say: 2 n^3. */
static void
test_folded_amounts (void)
{
  static const struct
  {
    const char *n, *amount;
  } cases[] = { { "7", "686 FLOP" },         { "8", "1.0 kFLOP" },     { "100", "2.0 MFLOP" },
                { "1000", "2.0 GFLOP" },     { "10000", "2.0 TFLOP" }, { "100000", "2.0 PFLOP" },
                { "1000000", "2000 PFLOP" }, { "793", "997 MFLOP" },   { "794", "1.0 GFLOP" },
                { "170", "9.8 MFLOP" },      { "171", "10 MFLOP" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const char *n = cases[i].n;
      g_autofree char *text = g_strdup_printf (
          "<ir_version: 8, opset_import: [\"\" : 17]>\n"
          "demo (float[%s, %s] a, bool flag) => (float[%s, %s] y)\n"
          "{ y = If (flag) < then_branch = yes () => (r) { r = MatMul (a, a) },\n"
          "else_branch = no () => (s) { s = Identity (a) } > }\n",
          n, n, n, n);
      g_autoptr (GHashTable) folded = g_hash_table_new (g_str_hash, g_str_equal);
      IrSceneOptions options = { .folded = folded };
      g_autoptr (IrModel) model = read_model (text);
      g_autoptr (GError) error = NULL;
      {
        g_autoptr (IrEdit) edit = ir_edit_new_import (model);
        ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
      }
      g_autoptr (IrScene) open = ir_scene_new_for_model (model, NULL, NULL, &error);
      g_hash_table_add (folded, (gpointer) find_box (open, "If")->fold);
      g_autoptr (IrScene) scene = ir_scene_new_for_model (model, &options, NULL, &error);
      g_autofree char *wanted = g_strdup_printf ("2 nodes \302\267 %s", cases[i].amount);
      const IrSceneBox *box = find_box (scene, "If");
      guint n_texts;
      const IrSceneText *texts = ir_scene_texts (scene, &n_texts);
      g_assert_cmpstr (texts[box->first_text + 1].text, ==, wanted);
    }
}

static void
test_problems (void)
{
  g_autoptr (IrModel) model = read_model (classifier);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrSceneOptions options = { .problems = problems };
  const IrNode *node = model->nodes->pdata[2];
  g_autoptr (GError) error = NULL;

  ir_problems_add (problems, IR_SEVERITY_WARNING, IR_PROBLEM_UNSUPPORTED, node, NULL, "slow");
  ir_problems_add (problems, IR_SEVERITY_ERROR, IR_PROBLEM_SHAPE_MISMATCH, node, NULL, "bad");
  g_autoptr (IrScene) scene = ir_scene_new_for_model (model, &options, NULL, &error);
  g_assert_no_error (error);
  guint n;
  const IrSceneBox *box = &ir_scene_boxes (scene, &n)[ir_scene_find_node (scene, node->id)];
  g_assert_cmpint (box->problem, ==, 1 + IR_SEVERITY_ERROR);
  g_assert_nonnull (strstr (box->tip, "bad"));
}

static void
half_for_relu (const IrNode *const *nodes, guint n, IrSceneStyle *style, gpointer data)
{
  g_assert_cmpuint (n, ==, 1);
  style->dimmed = !ir_node_is (nodes[0], "Relu");
  if (style->dimmed)
    return;
  style->amount = 0.5;
  style->accent = 2;
  style->label = g_strdup ("1.5 ms");
}

static void
test_style (void)
{
  IrSceneOptions options = { .style = half_for_relu };
  g_autoptr (IrScene) scene = draw (classifier, &options);
  const IrSceneBox *relu = find_box (scene, "Relu");

  check_scene (scene);
  g_assert_cmpfloat (relu->amount, ==, 0.5);
  g_assert_cmpuint (relu->accent, ==, 2);
  g_assert_false (relu->dimmed);
  g_assert_true (has_text (scene, relu, "1.5 ms"));
  g_assert_true (isnan (find_box (scene, "Mul")->amount));
  g_assert_true (find_box (scene, "Mul")->dimmed);
}

static const char *const late =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "late (float[4] x) => (float[16] y) {\n"
    "  a = Relu (x)\n  b = Tanh (a)\n  c = Exp (b)\n  d = Abs (c)\n  e = Neg (d)\n  f = Exp (e)\n"
    "  g = Abs (f)\n  h = Neg (g)\n  y = Concat <axis = 0> (a, b, c, h)\n}\n";

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

/* Values that are read late go down beside each other, close together. */
static void
test_bundles (void)
{
  g_autoptr (IrScene) scene = draw (late, NULL);
  guint n;
  const IrSceneLine *lines = ir_scene_lines (scene, &n);
  g_autoptr (GArray) places = g_array_new (FALSE, FALSE, sizeof (double));

  check_scene (scene);
  for (guint i = 0; i < n; i++)
    {
      const IrLayoutPoint *p = ir_scene_line_points (scene, &lines[i]);

      for (guint k = 0; k + 1 < lines[i].n_points; k++)
        if (p[k + 1].y - p[k].y > 300)
          g_array_append_val (places, p[k].x);
    }
  g_array_sort (places, compare_doubles);
  g_assert_cmpuint (places->len, ==, 3);
  for (guint i = 1; i < places->len; i++)
    {
      const double gap = g_array_index (places, double, i) - g_array_index (places, double, i - 1);

      g_assert_cmpfloat (gap, >=, 4); /* told apart */
      g_assert_cmpfloat (gap, <=, 8);
    }
}

static void
test_same_model_same_text (void)
{
  g_autoptr (IrScene) a = draw (branches, NULL);
  g_autoptr (IrScene) b = draw (branches, NULL);
  g_autofree char *x = ir_scene_to_text (a), *y = ir_scene_to_text (b);

  g_assert_cmpstr (x, ==, y);
}

static void
test_places_are_kept (void)
{
  g_autoptr (IrScene) before = draw (classifier, NULL);
  IrSceneOptions options = { .previous = before, .keep = IR_LAYOUT_KEEP_PLACES };
  g_autoptr (IrScene) after = draw (classifier, &options);
  g_autofree char *x = ir_scene_to_text (before), *y = ir_scene_to_text (after);

  g_assert_cmpstr (x, ==, y);
}

static const char *const before_text = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                       "demo (float[N, 4] x) => (float[N, 4] y)\n"
                                       "{\n"
                                       "  [first] a = Abs (x)\n"
                                       "  [gone] b = Identity (a)\n"
                                       "  [last] y = Neg (b)\n"
                                       "}\n";

static const char *const after_text = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                      "demo (float[N, 4] x) => (float[N, 4] y)\n"
                                      "{\n"
                                      "  [extra] c = Sqrt (x)\n"
                                      "  [first] a = Abs (c)\n"
                                      "  [last] y = Neg (a)\n"
                                      "}\n";

static guint
count_lines (const IrScene *scene, IrSceneState state)
{
  guint n, count = 0;
  const IrSceneLine *lines = ir_scene_lines (scene, &n);

  for (guint i = 0; i < n; i++)
    count += lines[i].state == state;
  return count;
}

static void
test_diff (void)
{
  g_autoptr (IrModel) a = read_model (before_text);
  g_autoptr (IrModel) b = read_model (after_text);
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrScene) scene = ir_scene_new_for_diff (diff, NULL, NULL, &error);
  guint n;

  g_assert_no_error (error);
  check_scene (scene);
  g_assert_true (ir_scene_is_diff (scene));
  ir_scene_boxes (scene, &n);
  g_assert_cmpuint (n, ==, 6);
  g_assert_cmpint (find_box (scene, "Abs")->state, ==, IR_SCENE_CHANGED);
  g_assert_cmpint (find_box (scene, "Identity")->state, ==, IR_SCENE_REMOVED);
  g_assert_cmpint (find_box (scene, "Sqrt")->state, ==, IR_SCENE_NEW);
  g_assert_cmpint (find_box (scene, "Neg")->state, ==, IR_SCENE_CHANGED);
  g_assert_cmpint (find_box (scene, "x")->state, ==, IR_SCENE_SAME);
  g_assert_cmpint (find_box (scene, "y")->state, ==, IR_SCENE_SAME);
  g_assert_cmpuint (count_lines (scene, IR_SCENE_SAME), ==, 1);
  g_assert_cmpuint (count_lines (scene, IR_SCENE_NEW), ==, 3);
  g_assert_cmpuint (count_lines (scene, IR_SCENE_REMOVED), ==, 3);
  g_assert_cmpuint (find_box (scene, "Identity")->node, ==, 0);
  g_assert_cmpuint (find_box (scene, "Identity")->before, !=, 0);
}

/* What changed in a closed group is counted with the rest: the legend must not say less than happened. */
static void
test_diff_counts (void)
{
  g_autoptr (IrModel) a = read_model (
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "demo (float[4] x) => (float[4] y)\n"
      "{ [\"/in/one\"] p = Relu (x) [\"/in/two\"] q = Identity (p) [out] y = Neg (q) }\n");
  g_autoptr (IrModel) b = read_model (
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "demo (float[4] x) => (float[4] y)\n"
      "{ [\"/in/new\"] n = Sqrt (x) [\"/in/one\"] p = Relu (n) [out] y = Neg (p) }\n");
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);
  g_autoptr (GHashTable) folded = g_hash_table_new (g_str_hash, g_str_equal);
  IrSceneOptions options = { .folded = folded };
  g_autoptr (IrScene) open = ir_scene_new_for_diff (diff, &options, NULL, NULL), closed = NULL;

  g_hash_table_add (folded, (gpointer) find_box (open, "in")->fold);
  closed = ir_scene_new_for_diff (diff, &options, NULL, NULL);
  g_assert_cmpint (find_box (closed, "in")->kind, ==, IR_SCENE_FOLD);
  for (const IrScene *const *scene = (const IrScene *const[]){ open, closed, NULL }; *scene != NULL;
       scene++)
    {
      g_assert_cmpuint (ir_scene_n_nodes (*scene, IR_SCENE_NEW), ==, 1);
      g_assert_cmpuint (ir_scene_n_nodes (*scene, IR_SCENE_REMOVED), ==, 1);
      g_assert_cmpuint (ir_scene_n_nodes (*scene, IR_SCENE_CHANGED), ==, 2);
    }
}

/* Types at outputs beside each other stand in one place, not over each other. */
static void
test_labels_of_outputs (void)
{
  g_autoptr (IrModel) model = read_model (
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "demo (float[2,17,192] x) => (float[2,17,64] a, float[2,17,64] b, float[2,17,64] c)\n"
      "{ p, q, r = Split <axis = -1> (x) a = Relu (p) b = Tanh (q) c = Neg (r) }\n");
  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (model);
    ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  }
  g_autoptr (IrScene) scene = ir_scene_new_for_model (model, NULL, NULL, NULL);
  const IrSceneBox *split = find_box (scene, "Split");
  guint n, n_labels = 0;
  const IrSceneText *texts = ir_scene_texts (scene, &n);

  for (guint i = 0; i < n; i++)
    if (texts[i].style == IR_SCENE_TEXT_LABEL && texts[i].y > split->y &&
        texts[i].y < find_box (scene, "Relu")->y)
      {
        n_labels++;
        g_assert_cmpstr (texts[i].text, ==, "2×17×64");
      }
  g_assert_cmpuint (n_labels, ==, 1);
}

static IrScene *
diff_scene (void)
{
  g_autoptr (IrModel) a = read_model (before_text), b = read_model (after_text);
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);

  return ir_scene_new_for_diff (diff, NULL, NULL, NULL);
}

/* What both have stands in the same place in either. */
static void
test_sides (void)
{
  g_autoptr (IrScene) both = diff_scene (), before = ir_scene_new_for_side (both, IR_SCENE_BEFORE),
                      after = ir_scene_new_for_side (both, IR_SCENE_AFTER), pair = NULL;
  guint n_before, n_after, n;

  check_scene (before);
  check_scene (after);
  ir_scene_boxes (before, &n_before);
  ir_scene_boxes (after, &n_after);
  g_assert_cmpuint (n_before, ==, 5);
  g_assert_cmpuint (n_after, ==, 5);
  g_assert_null (find_box (before, "Sqrt"));
  g_assert_null (find_box (after, "Identity"));
  g_assert_cmpfloat (find_box (before, "Neg")->y, ==, find_box (both, "Neg")->y);
  g_assert_cmpfloat (find_box (after, "Neg")->x, ==, find_box (both, "Neg")->x);
  g_assert_cmpuint (count_lines (before, IR_SCENE_NEW), ==, 0);
  g_assert_cmpuint (count_lines (before, IR_SCENE_REMOVED), ==, 3);
  g_assert_cmpuint (count_lines (after, IR_SCENE_REMOVED), ==, 0);

  pair = ir_scene_new_joined (before, after, IR_SCENE_JOIN_SIDES);
  check_scene (pair);
  ir_scene_boxes (pair, &n);
  g_assert_cmpuint (n, ==, n_before + n_after);
  g_assert_cmpfloat (ir_scene_bounds (pair).width, >,
                     ir_scene_bounds (before).width + ir_scene_bounds (after).width / 2);
}

/* An arrow, and the parts on both sides of it. */
static void
test_joined (void)
{
  g_autoptr (IrScene) one = diff_scene (), across = NULL, down = NULL;
  guint n, n_one;

  ir_scene_lines (one, &n_one);
  across = ir_scene_new_joined (one, one, IR_SCENE_JOIN_RIGHT);
  down = ir_scene_new_joined (one, one, IR_SCENE_JOIN_DOWN);
  ir_scene_lines (across, &n);
  g_assert_cmpuint (n, ==, 2 * n_one + 1);
  g_assert_cmpfloat (ir_scene_bounds (across).height, ==, ir_scene_bounds (one).height);
  g_assert_cmpfloat (ir_scene_bounds (across).width, >, 2 * ir_scene_bounds (one).width - 64);
  g_assert_cmpfloat (ir_scene_bounds (down).width, ==, ir_scene_bounds (one).width);
  g_assert_cmpfloat (ir_scene_bounds (down).height, >, 2 * ir_scene_bounds (one).height - 64);
}

/* Some nodes alone: what they take and give are pills. */
static void
test_part (void)
{
  g_autoptr (IrModel) model = read_model (before_text);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new (), values = g_ptr_array_new ();
  const IrScenePart part = { .nodes = nodes, .values = values };
  const IrSceneOptions options = { 0 };
  g_autoptr (IrScene) scene = NULL;
  guint n;

  for (guint id = 1; id < model->nodes->len; id++)
    if (strcmp (ir_model_node (model, id)->op_type, "Identity") == 0)
      g_ptr_array_add (nodes, (gpointer) ir_model_node (model, id));
  g_assert_cmpuint (nodes->len, ==, 1);
  scene = ir_scene_new_for_part (&part, &options, NULL, NULL);
  check_scene (scene);
  ir_scene_boxes (scene, &n);
  g_assert_cmpuint (n, ==, 3);
  ir_scene_lines (scene, &n);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpint (find_box (scene, "Identity")->kind, ==, IR_SCENE_NODE);
}

/* What an edit did to a node is written on it; what became of several nodes has a bracket. */
static void
test_fates (void)
{
  g_autoptr (IrModel) model = read_model (
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2,2,4] x, float[4] s) => (float[2,2,4] y)\n"
      "{ a = Abs (x) b = Exp (a) c = LayerNormalization <epsilon = 0.001> (b, s) y = Neg (c) }");
  IrEdit *edit = ir_edit_new (model);
  g_autoptr (IrModel) before = NULL, after = NULL;
  g_autoptr (IrDiff) diff = NULL;
  g_autoptr (IrScene) scene = NULL, side = NULL;
  IrNode *merged;
  IrValue *taken, *given;
  guint n, n_brackets = 0;
  const IrSceneLine *lines;

  ir_edit_begin_pass (edit, "test");
  ir_edit_begin_step (edit, "merge", IR_CLASS_EXACT, 1);
  taken = ir_model_node (model, 1)->inputs[0];
  given = ir_model_node (model, 2)->outputs[0];
  ir_edit_set_output (edit, ir_model_live_node (model, 2), 0, NULL);
  merged = ir_edit_add_node_with_outputs (edit, model->main, "Sqrt", "", "", 1, &taken, 1, &given);
  ir_edit_remove_node (edit, ir_model_live_node (model, 2));
  ir_edit_remove_node (edit, ir_model_live_node (model, 1));
  ir_edit_step_map_node (edit, 1, merged->id);
  ir_edit_step_map_node (edit, 2, merged->id);
  ir_edit_set_attr (edit, ir_model_live_node (model, 3),
                    ir_attr_float (model->context, "epsilon", 1e-5f));
  ir_edit_end_step (edit);
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  before = ir_history_snapshot (model, 0);
  after = ir_history_snapshot (model, 1);
  diff = ir_diff_new (before, after, TRUE);
  ir_diff_add_descent (diff, model, 0, 1);
  g_assert_cmpuint (diff->descents->len, ==, 1);
  scene = ir_scene_new_for_diff (diff, NULL, NULL, NULL);
  check_scene (scene);
  g_assert_true (has_text (scene, find_box (scene, "LayerNormalization"),
                           "~ epsilon 0.001 \342\206\222 1e-05"));
  lines = ir_scene_lines (scene, &n);
  for (guint i = 0; i < n; i++)
    if (lines[i].kind == IR_SCENE_LINE_BRACKET)
      {
        n_brackets++;
        g_assert_true (g_str_has_prefix (lines[i].tip, "2 became 1:"));
      }
  g_assert_cmpuint (n_brackets, ==, 1);
  side = ir_scene_new_for_side (scene, IR_SCENE_AFTER);
  lines = ir_scene_lines (side, &n);
  for (guint i = 0; i < n; i++)
    g_assert_cmpint (lines[i].kind, !=, IR_SCENE_LINE_BRACKET);
}

/* A pattern on the graph: what fits, what does not, and a box for what is missing. */
static void
test_marks (void)
{
  g_autoptr (IrSceneMarks) marks = ir_scene_marks_new ();
  g_autoptr (IrModel) model = read_model (before_text);
  g_autoptr (GError) error = NULL;
  const IrSceneOptions options = { .marks = marks };
  const IrNode *gone = ir_graph_find_value (model->main, "b")->producer;
  const IrNode *last = ir_graph_find_value (model->main, "y")->producer;
  const IrSceneGhost ghosts[] = {
    { .title = g_strdup ("Conv"), .user = last->id, .feeds = -1 },
    { .title = g_strdup ("Pad"), .detail = g_strdup ("mode"), .feeds = 0 },
  };

  g_hash_table_insert (marks->states, GUINT_TO_POINTER (last->id),
                       GINT_TO_POINTER (IR_SCENE_MATCHED));
  g_hash_table_insert (marks->states, GUINT_TO_POINTER (gone->id),
                       GINT_TO_POINTER (IR_SCENE_MISFIT));
  g_array_append_vals (marks->ghosts, ghosts, G_N_ELEMENTS (ghosts));
  marks->misfit = gone->outputs[0]->id;
  g_autoptr (IrScene) scene = ir_scene_new_for_model (model, &options, NULL, &error);
  g_assert_no_error (error);
  check_scene (scene);
  g_assert_cmpint (find_box (scene, "Neg")->state, ==, IR_SCENE_MATCHED);
  g_assert_cmpint (find_box (scene, "Identity")->state, ==, IR_SCENE_MISFIT);
  g_assert_cmpint (find_box (scene, "Abs")->state, ==, IR_SCENE_SAME);
  g_assert_cmpint (find_box (scene, "Conv")->state, ==, IR_SCENE_MISSING);
  g_assert_cmpint (find_box (scene, "Pad")->state, ==, IR_SCENE_MISSING);
  g_assert_cmpuint (find_box (scene, "Conv")->node, ==, 0);
  g_assert_cmpuint (count_lines (scene, IR_SCENE_MISFIT), ==, 1);
  g_assert_cmpuint (count_lines (scene, IR_SCENE_MISSING), ==, 2);
}

static void
test_no_diff (void)
{
  g_autoptr (IrModel) a = read_model (branches);
  g_autoptr (IrModel) b = read_model (branches);
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrScene) scene = ir_scene_new_for_diff (diff, NULL, NULL, &error);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  g_assert_no_error (error);
  check_scene (scene);
  for (guint i = 0; i < n; i++)
    g_assert_cmpint (boxes[i].state, ==, IR_SCENE_SAME);
  ir_scene_lines (scene, &n);
  g_assert_cmpuint (count_lines (scene, IR_SCENE_SAME), ==, n);
  g_autoptr (IrScene) alone = draw (branches, NULL);
  g_assert_cmpfloat (ir_scene_bounds (alone).width, ==, ir_scene_bounds (scene).width);
  g_assert_cmpfloat (ir_scene_bounds (alone).height, ==, ir_scene_bounds (scene).height);
}

static const char *const scoped = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                  "demo (float[N, 4] x) => (float[N, 4] y)\n"
                                  "{\n"
                                  "  [\"/one/Abs\"] a = Abs (x)\n"
                                  "  [\"/one/Neg\"] b = Neg (a)\n"
                                  "  [\"/two/Neg\"] c = Neg (b)\n"
                                  "  [\"/two/Exp\"] d = Exp (c)\n"
                                  "  [\"/Add\"] y = Add (d, x)\n"
                                  "}\n";

static void
test_scopes (void)
{
  IrSceneOptions options = { 0 };
  g_autoptr (IrScene) open = draw (scoped, NULL);
  const IrSceneBox *one = find_box (open, "one");

  check_scene (open);
  g_assert_nonnull (one);
  g_assert_cmpint (one->kind, ==, IR_SCENE_CLUSTER);
  g_assert_true (is_inside (find_box (open, "Abs"), one));
  g_assert_true (is_inside (find_box (open, "Exp"), find_box (open, "two")));
  g_assert_false (is_inside (find_box (open, "Add"), one));

  g_autoptr (GHashTable) folded = g_hash_table_new (g_str_hash, g_str_equal);
  g_hash_table_add (folded, (gpointer) one->fold);
  options.folded = folded;
  g_autoptr (IrScene) closed = draw (scoped, &options);
  check_scene (closed);
  g_assert_cmpint (find_box (closed, "one")->kind, ==, IR_SCENE_FOLD);
  g_assert_true (has_text (closed, find_box (closed, "one"), "2 nodes"));
  g_assert_null (find_box (closed, "Abs"));

  options.flat = TRUE;
  g_autoptr (IrScene) flat = draw (scoped, &options);
  check_scene (flat);
  g_assert_null (find_box (flat, "one"));
  g_assert_nonnull (find_box (flat, "Abs"));
}

static void
test_left_to_right (void)
{
  IrSceneOptions options = { .direction = IR_LAYOUT_LEFT_TO_RIGHT };
  g_autoptr (IrScene) scene = draw (branches, &options);

  check_scene (scene);
  g_assert_cmpfloat (find_box (scene, "a")->x, <, find_box (scene, "If")->x);
  g_assert_cmpfloat (find_box (scene, "If")->x, <, find_box (scene, "Abs")->x);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/scene/an empty scene has no bounds and no hits", test_empty);
  g_test_add_func ("/scene/a pick finds boxes, then lines, then frames", test_pick);
  g_test_add_func ("/scene/a rectangle finds what meets it, once", test_rect);
  g_test_add_func ("/scene/the index agrees with looking at everything", test_random_picks);
  g_test_add_func ("/scene/long texts end with an ellipsis", test_ellipsis);
  g_test_add_func ("/scene/a model is boxes, pills and lines", test_model);
  g_test_add_func ("/scene/a node whose inputs are open is a box", test_open_inputs_shown);
  g_test_add_func ("/scene/constants can be boxes of their own", test_constants_shown);
  g_test_add_func ("/scene/subgraphs lie in the frame of their node", test_subgraphs);
  g_test_add_func ("/scene/a closed node is one box", test_folded_subgraphs);
  g_test_add_func ("/scene/a closed node says how much arithmetic it is", test_folded_amounts);
  g_test_add_func ("/scene/problems are badges with a text", test_problems);
  g_test_add_func ("/scene/an overlay tints and labels", test_style);
  g_test_add_func ("/scene/long lines run in bundles", test_bundles);
  g_test_add_func ("/scene/the same model gives the same text", test_same_model_same_text);
  g_test_add_func ("/scene/places are kept from scene to scene", test_places_are_kept);
  g_test_add_func ("/scene/a diff is the union of both, with states", test_diff);
  g_test_add_func ("/scene/types of outputs are not written over each other",
                   test_labels_of_outputs);
  g_test_add_func ("/scene/a diff counts what lies in closed groups", test_diff_counts);
  g_test_add_func ("/scene/a side of a diff has what it has, where it was", test_sides);
  g_test_add_func ("/scene/a diff says what changed, and what became what", test_fates);
  g_test_add_func ("/scene/two pictures are joined by an arrow", test_joined);
  g_test_add_func ("/scene/some nodes alone have pills around them", test_part);
  g_test_add_func ("/scene/a pattern is drawn with what it lacks", test_marks);
  g_test_add_func ("/scene/the diff of a model with itself is the model", test_no_diff);
  g_test_add_func ("/scene/scopes are frames, closed boxes or nothing", test_scopes);
  g_test_add_func ("/scene/left to right", test_left_to_right);
  return g_test_run ();
}
