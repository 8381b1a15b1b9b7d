#include "config.h"

/* What a picture says far out, and what is left out of it because nobody reads it. */

#include "core/io/io.h"
#include "core/ir/problem.h"
#include "core/layout/scene.h"
#include "core/render/render.h"

#include <glib/gstdio.h>
#include <string.h>

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
draw_model (IrModel *model, const IrSceneOptions *options)
{
  g_autoptr (GError) error = NULL;
  IrScene *scene = ir_scene_new_for_model (model, options, NULL, &error);

  g_assert_no_error (error);
  return scene;
}

static IrScene *
draw (const char *text, const IrSceneOptions *options)
{
  g_autoptr (IrModel) model = read_model (text);

  return draw_model (model, options);
}

static IrScene *
draw_example (const char *name)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", name, NULL);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_model_load (path, problems, NULL, &error);

  g_assert_no_error (error);
  return draw_model (model, NULL);
}

static gboolean
meet (const IrLayoutRect *a, const IrLayoutRect *b)
{
  const double eps = 1e-6;

  return a->x + eps < b->x + b->width && b->x + eps < a->x + a->width &&
         a->y + eps < b->y + b->height && b->y + eps < a->y + a->height;
}

/* Names are as large as letters must be, lie on their box, and touch no other box and name. */
static void
check_names (const IrScene *scene, double zoom, guint *n_named)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);
  g_autofree IrSceneName *names = g_new0 (IrSceneName, n);

  *n_named = 0;
  for (guint i = 0; i < n; i++)
    {
      if (!ir_scene_name (scene, (gint32) i, zoom, &names[i]))
        continue;
      *n_named += boxes[i].kind == IR_SCENE_NODE;
      g_assert_cmpfloat (names[i].size, >=, 9);
      g_assert_cmpfloat (names[i].width / zoom, <=, names[i].patch.width + 1e-6);
    }
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < n && names[i].text != NULL; k++)
      {
        const IrLayoutRect box = { boxes[k].x, boxes[k].y, boxes[k].width, boxes[k].height };

        if (k == i || boxes[k].kind == IR_SCENE_CLUSTER)
          continue;
        g_assert_false (boxes[i].kind != IR_SCENE_CLUSTER && meet (&names[i].patch, &box));
        g_assert_false (boxes[i].kind != IR_SCENE_CLUSTER && names[k].text != NULL &&
                        meet (&names[i].patch, &names[k].patch));
        g_assert_false (boxes[i].kind == IR_SCENE_CLUSTER && meet (&names[i].patch, &box));
      }
}

static void
test_names (void)
{
  static const char *const examples[] = { "digits.onnx", "transformer-block.onnx",
                                          "if-branch.onnx" };
  static const double zooms[] = { 0.2, 0.25, 0.3, 0.4, 0.57 };

  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_autoptr (IrScene) scene = draw_example (examples[i]);
      guint n_named, n_before = 0;

      for (guint k = 0; k < G_N_ELEMENTS (zooms); k++)
        {
          check_names (scene, zooms[k], &n_named);
          g_assert_cmpuint (n_named, >=, n_before); /* nearer, more is said */
          n_before = n_named;
        }
      g_assert_cmpuint (n_named, >, 0);
    }
}

static const char *const wide =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "demo (float[1, 2, 4] x) => (float[1, 2, 4] y)\n"
    "<float[2] s = {1, 1}, float[2] b = {0, 0}, float[2] m = {0, 0}, float[2] v = {1, 1}>\n"
    "{\n  h = BatchNormalization (x, s, b, m, v)\n  y = Relu (h)\n}\n";

static const IrSceneBox *
box_titled (const IrScene *scene, const char *title)
{
  guint n, n_texts;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);
  const IrSceneText *texts = ir_scene_texts (scene, &n_texts);

  for (guint i = 0; i < n; i++)
    if (boxes[i].n_texts > 0 && strcmp (texts[boxes[i].first_text].text, title) == 0)
      return &boxes[i];
  return NULL;
}

static const char *
name_at (const IrScene *scene, const char *title, double zoom)
{
  guint n;
  const IrSceneBox *box = box_titled (scene, title);
  IrSceneName name;

  g_assert_nonnull (box);
  return ir_scene_name (scene, (gint32) (box - ir_scene_boxes (scene, &n)), zoom, &name) ? name.text
                                                                                         : NULL;
}

static void
test_short (void)
{
  g_autoptr (IrScene) scene = draw (wide, NULL);

  g_assert_cmpstr (name_at (scene, "BatchNormalization", 0.57), ==, "BatchNormalization");
  g_assert_cmpstr (name_at (scene, "BatchNormalization", 0.25), ==, "BN");
  g_assert_cmpstr (name_at (scene, "BatchNormalization", 0.15), ==, NULL);
  g_assert_cmpint (ir_scene_detail (0.58), ==, IR_SCENE_DETAIL_ALL);
  g_assert_cmpint (ir_scene_detail (0.2), ==, IR_SCENE_DETAIL_NAMES);
  g_assert_false (ir_scene_shows_heat (scene, 0.2));
  g_assert_true (ir_scene_shows_heat (scene, 0.05));
}

/* A group has a short name, too: the end of its path. */
static void
test_short_groups (void)
{
  static const struct
  {
    const char *scope, *brief; /* of its last part, where that is a number with what is numbered */
  } paths[] = { { "/tail.0.project", "0.project" },
                { "/encoder.layers.3", "layers.3" },
                { "/encoder.attention", "attention" },
                { "/normalization", "normal\342\200\246" },
                { "/extra_residual", "extra\342\200\246" },
                { "/tail.0", NULL },
                { "/measured", NULL } };

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "<ir_version: 8, opset_import: [\"\" : 17]>\n"
          "g (float[2] x) => (float[2] y) { v = Abs (x) [\"%s/a\"] h = Exp (v) [\"%s/b\"] w = Relu (h) y = Neg (w) }",
          paths[i].scope, paths[i].scope);
      g_autoptr (IrScene) scene = draw (text, NULL);
      guint n, n_groups = 0;
      const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

      for (guint k = 0; k < n; k++)
        if (boxes[k].kind == IR_SCENE_CLUSTER && ++n_groups == 1)
          g_assert_cmpstr (boxes[k].brief, ==, paths[i].brief);
      g_assert_cmpuint (n_groups, >, 0);
    }
}

/* As a file is opened: with types. */
static IrModel *
load (const char *text)
{
  g_autofree char *folder = g_dir_make_tmp ("irscope-detail-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "m.onnxtxt", NULL);
  g_autoptr (GError) error = NULL;
  IrModel *model;

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  model = ir_model_load (path, NULL, NULL, &error);
  g_assert_no_error (error);
  g_remove (path);
  g_rmdir (folder);
  return model;
}

/* What a closed group costs is the least where sizes are open. */
static void
test_least (void)
{
  static const char *const sizes[] = { "2", "n" };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "<ir_version: 8, opset_import: [\"\" : 17]>\n"
          "g (float[%s] x) => (float[%s] y) { v = Abs (x) [\"/part/a\"] h = Exp (v) [\"/part/b\"] w = Relu (h) y = Neg (w) }",
          sizes[i], sizes[i]);
      g_autoptr (IrModel) model = load (text);
      g_autoptr (IrScene) open = draw_model (model, NULL);
      g_autoptr (GHashTable) folded = g_hash_table_new (g_str_hash, g_str_equal);
      IrSceneOptions options = { .folded = folded };
      guint n, n_texts, n_closed = 0;
      const IrSceneBox *boxes = ir_scene_boxes (open, &n);

      for (guint k = 0; k < n; k++)
        if (boxes[k].fold != NULL)
          g_hash_table_add (folded, (gpointer) boxes[k].fold);
      g_autoptr (IrScene) closed = draw_model (model, &options);
      boxes = ir_scene_boxes (closed, &n);
      for (guint k = 0; k < n; k++)
        if (boxes[k].kind == IR_SCENE_FOLD)
          {
            const IrSceneText *cost = &ir_scene_texts (closed, &n_texts)[boxes[k].first_text + 1];

            n_closed++;
            g_assert_true (strstr (cost->text, "FLOP") != NULL);
            g_assert_true ((strstr (cost->text, "\342\211\245 ") != NULL) == (i == 1));
            g_assert_true (boxes[k].partial == (i == 1));
          }
      g_assert_cmpuint (n_closed, ==, 1);
    }
}

/* So has a value at the rim of the graph that is called after its node. */
static void
test_short_values (void)
{
  g_autoptr (IrScene) scene = draw (
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2] \"/net/rather/long/x\") => (float[2] \"/net/rather/long/Abs_output_0\")\n"
      "{ \"/net/rather/long/Abs_output_0\" = Abs (\"/net/rather/long/x\") }",
      NULL);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind == IR_SCENE_INPUT || boxes[i].kind == IR_SCENE_OUTPUT)
      {
        IrSceneName name;

        g_assert_true (ir_scene_name (scene, (gint32) i, 0.4, &name));
        g_assert_cmpstr (name.text, ==, boxes[i].kind == IR_SCENE_INPUT ? "x" : "Abs_output_0");
      }
}

/* Letters keep off the rims of what they stand in, the further the larger that is. */
static void
test_rims (void)
{
  g_autoptr (IrScene) scene = draw (wide, NULL);
  guint n, n_named = 0;

  ir_scene_boxes (scene, &n);
  for (guint i = 0; i < n; i++)
    {
      IrSceneName name;

      if (!ir_scene_name (scene, (gint32) i, 0.57, &name))
        continue;
      n_named++;
      g_assert_cmpfloat (name.patch.width * 0.57 - name.width, >=, 6);
    }
  g_assert_cmpuint (n_named, ==, n);
}

static void
test_zoomed_file (void)
{
  g_autoptr (IrScene) scene = draw (wide, NULL);
  IrRenderOptions options = { .zoom = 0.25 };
  g_autoptr (GBytes) bytes = ir_render_svg (scene, &options, NULL);
  g_autoptr (GBytes) again = ir_render_svg (scene, &options, NULL);
  g_autofree char *text = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));

  g_assert_true (g_bytes_equal (bytes, again));
  g_assert_nonnull (strstr (text, ">BN</text>"));
  g_assert_null (strstr (text, "input_mean"));
  g_assert_nonnull (strstr (text, "font-size:36px")); /* nine on screen */
}

/* -- what only constants lead to -- */

static const char *const tied = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                "demo (float[N, 2] x) => (float[N, 2] y, float[2, 2] out)\n"
                                "<float[2, 2] w = {0, 1, 2, 3}>\n"
                                "{\n"
                                "  v = Identity (w)\n"
                                "  t = Transpose (v)\n"
                                "  h = MatMul (x, t)\n"
                                "  out = Neg (w)\n"  /* an output of the graph stays */
                                "  lone = Exp (w)\n" /* nothing reads it: dead code is to be seen */
                                "  noise = RandomNormalLike (v)\n"
                                "  y = Add (h, noise)\n"
                                "}\n";

static void
test_constants (void)
{
  IrSceneOptions all = { .show_constants = TRUE };
  g_autoptr (IrScene) scene = draw (tied, NULL), shown = draw (tied, &all);
  g_autofree char *text = ir_scene_to_text (scene);

  g_assert_null (box_titled (scene, "Identity"));
  g_assert_null (box_titled (scene, "Transpose"));
  g_assert_nonnull (box_titled (scene, "Neg"));
  g_assert_nonnull (box_titled (scene, "Exp"));
  g_assert_nonnull (box_titled (scene, "RandomNormalLike"));
  g_assert_nonnull (strstr (text, "number: T "));
  g_assert_nonnull (box_titled (shown, "Identity"));
  g_assert_nonnull (box_titled (shown, "Transpose"));
}

static const char *const captured = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                    "demo (float[N, 4] a, bool flag) => (float[N, 4] y)\n"
                                    "{\n"
                                    "  b = Exp (a)\n"
                                    "  t = If (flag) <\n"
                                    "    then_branch = yes () => (float[N, 4] r) { r = Neg (b) },\n"
                                    "    else_branch = no () => (float[N, 4] s) { s = Tanh (b) }\n"
                                    "  >\n"
                                    "  y = Abs (t)\n"
                                    "}\n";

static void
test_captured (void)
{
  g_autoptr (IrScene) scene = draw (captured, NULL);
  guint n, n_captured = 0;
  const IrSceneLine *lines = ir_scene_lines (scene, &n);

  for (guint i = 0; i < n; i++)
    n_captured += lines[i].captured;
  g_assert_cmpuint (n_captured, ==, 2);
}

/* -- copies of one block, arithmetic on shapes -- */

static char *
layers (const char *odd)
{
  GString *text = g_string_new ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                "demo (float[2, 4] v0) => (float[2, 4] v5)\n"
                                "<float[4] w = {1, 2, 3, 4}, float[1] u = {1}>\n{\n");

  for (guint i = 0; i < 5; i++)
    g_string_append_printf (text,
                            "  [\"/net/block_%u/act/%s\"] a%u = %s (v%u)\n"
                            "  [\"/net/block_%u/Mul\"] m%u = Mul (a%u, %s)\n"
                            "  [\"/net/block_%u/Add\"] v%u = Add (m%u, v%u)\n",
                            i, i == 3 ? odd : "Relu", i, i == 3 ? odd : "Relu", i, i, i, i,
                            i == 1 && strcmp (odd, "Tanh") == 0 ? "u" : "w", i, i + 1, i, i);
  g_string_append (text, "}\n");
  return g_string_free (text, FALSE);
}

static IrScene *
draw_closed (const char *text, const char *fold)
{
  g_autoptr (GHashTable) folded = g_hash_table_new (g_str_hash, g_str_equal);
  IrSceneOptions options = { .folded = folded };

  g_hash_table_add (folded, (gpointer) fold);
  return draw (text, &options);
}

static void
test_repeats (void)
{
  g_autofree char *equal = layers ("Relu"), *odd = layers ("Tanh");
  g_autoptr (IrScene) open = draw (equal, NULL);
  g_autoptr (IrScene) closed = draw_closed (equal, "repeat:net/block_");
  g_autoptr (IrScene) differs = draw_closed (odd, "repeat:net/block_");
  g_autofree char *text = ir_scene_to_text (differs), *same = ir_scene_to_text (closed);
  guint n;

  g_assert_nonnull (box_titled (open, "\342\226\276 block \303\227 5"));
  g_assert_nonnull (box_titled (closed, "\342\226\270 block \303\227 5"));
  ir_scene_boxes (closed, &n);
  g_assert_cmpuint (n, ==, 3);
  g_assert_null (strstr (same, "differ"));
  g_assert_nonnull (strstr (text, "differ: block_1, block_3"));
}

static void
test_no_repeats (void)
{
  static const char *const two = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                 "demo (float[N] x) => (float[N] y)\n{\n"
                                 "  [\"/a0/Relu\"] b = Relu (x)\n  [\"/a0/Exp\"] c = Exp (b)\n"
                                 "  [\"/a1/Tanh\"] d = Tanh (c)\n  [\"/a1/Sin\"] e = Sin (d)\n"
                                 "  [\"/a2/Cos\"] f = Cos (e)\n  [\"/a2/Abs\"] y = Abs (f)\n}\n";
  g_autoptr (IrScene) scene = draw (two, NULL);
  g_autofree char *text = ir_scene_to_text (scene);

  g_assert_null (strstr (text, "\303\227 3")); /* three scopes that have nothing in common */
}

static const char *const shaped = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                  "demo (float[N, 8] x) => (float[A, B] y, int64[2] s)\n"
                                  "<int64[1] zero = {0}, int64[1] two = {2}>\n"
                                  "{\n"
                                  "  a = Shape (x)\n"
                                  "  b = Gather (a, zero)\n"
                                  "  c = Concat <axis = 0> (b, two)\n"
                                  "  r = Reshape (x, c)\n"
                                  "  d = Shape (r)\n" /* behind the first part: one of its own */
                                  "  e = Mul (d, two)\n"
                                  "  f = Concat <axis = 0> (b, two)\n"
                                  "  g = Add (e, f)\n"
                                  "  y = Reshape (r, g)\n"
                                  "  s = Shape (y)\n" /* an output, and alone */
                                  "}\n";

static void
test_shapes (void)
{
  g_autoptr (IrModel) model = load (shaped);
  g_autoptr (IrScene) open = draw_model (model, NULL);
  g_autoptr (GHashTable) folded = g_hash_table_new (g_str_hash, g_str_equal);
  IrSceneOptions options = { .folded = folded };
  guint n, n_folds = 0;
  const IrSceneBox *boxes = ir_scene_boxes (open, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && g_str_has_prefix (boxes[i].fold, "shape:"))
      {
        g_hash_table_add (folded, (gpointer) boxes[i].fold);
        n_folds++;
      }
  g_assert_cmpuint (n_folds, ==, 2);
  g_autoptr (IrScene) closed = draw_model (model, &options);
  boxes = ir_scene_boxes (closed, &n);
  for (guint i = 0; i < n; i++)
    g_assert_cmpint (boxes[i].kind, !=, IR_SCENE_CLUSTER);
  g_assert_nonnull (box_titled (closed, "Shape"));
  g_assert_null (box_titled (closed, "Gather"));
  g_assert_null (box_titled (closed, "Mul"));
  /* no line goes back up: closing made no cycle */
  const IrSceneLine *lines = ir_scene_lines (closed, &n);
  for (guint i = 0; i < n; i++)
    if (lines[i].from >= 0 && lines[i].to >= 0)
      g_assert_cmpfloat (boxes[lines[i].from].y, <, boxes[lines[i].to].y);
}

/* -- columns -- */

static char *
long_chain (guint n)
{
  GString *text = g_string_new ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                "demo (float[2, 4] v0) => (float[2, 4] y)\n{\n");

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "  v%u = Relu (v%u)\n", i + 1, i);
  g_string_append_printf (text, "  y = Add (v%u, v1)\n}\n", n); /* one line through all columns */
  return g_string_free (text, FALSE);
}

static void
test_columns (void)
{
  g_autofree char *text = long_chain (60), *few = long_chain (5);
  IrSceneOptions options = { .wrapped = TRUE };
  g_autoptr (IrScene) tall = draw (text, NULL), wrapped = draw (text, &options);
  g_autoptr (IrScene) small = draw (few, NULL), same = draw (few, &options);
  g_autofree char *a = ir_scene_to_text (small), *b = ir_scene_to_text (same);
  const IrLayoutRect before = ir_scene_bounds (tall), after = ir_scene_bounds (wrapped);
  guint n, n_tall, n_lines;
  const IrSceneBox *boxes = ir_scene_boxes (wrapped, &n);
  const IrSceneLine *lines = ir_scene_lines (wrapped, &n_lines);

  g_assert_cmpstr (a, ==, b); /* what is not tall stays as it is */
  ir_scene_boxes (tall, &n_tall);
  g_assert_cmpuint (n, ==, n_tall);
  g_assert_cmpfloat (before.height, >, 5 * before.width);
  g_assert_cmpfloat (after.height, <, 2 * after.width);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < i; k++)
      {
        const IrLayoutRect x = { boxes[i].x, boxes[i].y, boxes[i].width, boxes[i].height };
        const IrLayoutRect y = { boxes[k].x, boxes[k].y, boxes[k].width, boxes[k].height };

        g_assert_false (meet (&x, &y));
      }
  for (guint i = 0; i < n_lines; i++)
    {
      const IrLayoutPoint *p = ir_scene_line_points (wrapped, &lines[i]);

      for (guint k = 0; k + 1 < lines[i].n_points; k++)
        {
          const IrLayoutRect part = { MIN (p[k].x, p[k + 1].x), MIN (p[k].y, p[k + 1].y),
                                      ABS (p[k].x - p[k + 1].x), ABS (p[k].y - p[k + 1].y) };

          g_assert_true (p[k].x == p[k + 1].x || p[k].y == p[k + 1].y);
          for (guint m = 0; m < n; m++)
            {
              const IrLayoutRect inner = { boxes[m].x + 1, boxes[m].y + 1, boxes[m].width - 2,
                                           boxes[m].height - 2 };

              g_assert_false (meet (&inner, &part));
            }
        }
    }
}

/* Frames that are higher than the places where a column should end are passed by: a column is longer or shorter. */
static void
test_columns_of_frames (void)
{
  g_autoptr (GString) text = g_string_new ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                           "demo (float[2, 4] v0) => (float[2, 4] v86)\n{\n");
  IrSceneOptions options = { .wrapped = TRUE };

  for (guint i = 0; i < 86; i++) /* a frame of 2 nodes, and 6 of 14 */
    g_string_append_printf (text, "  [\"/%c/n%u\"] v%u = Relu (v%u)\n",
                            i < 2 ? 'a' : 'b' + (int) (i - 2) / 14, i, i + 1, i);
  g_string_append (text, "}\n");
  g_autoptr (IrScene) wrapped = draw (text->str, &options);
  const IrLayoutRect all = ir_scene_bounds (wrapped);
  g_assert_true (ir_scene_is_wrapped (wrapped));
  g_assert_cmpfloat (all.height, <, 2.5 * all.width);
}

/* A chain in frames, with something before, between and behind them: "demo" writes one in @depth of them. */
static char *
framed_chain (guint n, guint depth)
{
  GString *text = g_string_new ("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                "demo (float[2, 4] v0) => (float[2, 4] y)\n{\n");

  for (guint i = 0; i < n; i++)
    {
      const gboolean outer = depth > 1 && (i < 3 || i + 3 >= n);

      g_string_append_printf (text, "  [\"/out%s/n%u\"] v%u = Relu (v%u)\n",
                              depth > 1 && !outer ? "/in" : "", i, i + 1, i);
    }
  g_string_append_printf (text, "  y = Neg (v%u)\n}\n", n);
  return g_string_free (text, FALSE);
}

/* A frame that would be a hairline itself stands around its columns, and around nothing else. */
static void
test_columns_in_frames (void)
{
  for (guint depth = 1; depth <= 2; depth++)
    {
      g_autofree char *text = framed_chain (90, depth);
      g_autoptr (IrModel) model = read_model (text);
      IrSceneOptions options = { .wrapped = TRUE };
      g_autoptr (IrScene) tall = draw (text, NULL), wrapped = draw_model (model, &options);
      g_autofree char *first = ir_scene_to_text (wrapped);
      const IrLayoutRect before = ir_scene_bounds (tall), after = ir_scene_bounds (wrapped);
      guint n, n_frames = 0;
      const IrSceneBox *boxes = ir_scene_boxes (wrapped, &n);

      g_assert_cmpfloat (before.height, >, 10 * before.width);
      g_assert_cmpfloat (after.height, <, 2 * after.width);
      for (guint i = 0; i < n; i++)
        for (guint k = 0; k < n; k++)
          {
            const IrSceneBox *frame = &boxes[i], *b = &boxes[k];
            const IrLayoutRect x = { frame->x, frame->y, frame->width, frame->height };
            const IrLayoutRect y = { b->x, b->y, b->width, b->height };
            const gboolean inside = y.x > x.x && y.y > x.y && y.x + y.width < x.x + x.width &&
                                    y.y + y.height < x.y + x.height;
            const gboolean within = frame->kind == IR_SCENE_CLUSTER && meet (&x, &y);

            if (i == k || (b->kind == IR_SCENE_CLUSTER && frame->kind != IR_SCENE_CLUSTER))
              continue;
            n_frames += frame->kind == IR_SCENE_CLUSTER && inside;
            g_assert_true (!meet (&x, &y) || (within && inside) || b->kind == IR_SCENE_CLUSTER);
          }
      g_assert_cmpuint (n_frames, ==, depth == 1 ? 90 : 90 + 1 + 84);
      options.previous = wrapped;
      options.keep = IR_LAYOUT_KEEP_PLACES;
      g_autoptr (IrScene) second = draw_model (model, &options);
      g_autofree char *kept = ir_scene_to_text (second);
      g_assert_cmpstr (first, ==, kept);
    }
}

/* What a loop gives begins at the edge of its frame, which its body's columns have moved. */
static void
test_columns_of_loops (void)
{
  g_autoptr (GString) text = g_string_new (
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "demo (float[4] x, int64 m, bool c) => (float[4] y) {\n"
      "  r = Loop (m, c, x) <body = b (int64 i, bool go, float[4] w0) => (bool go_on, float[4] w60) {\n"
      "    go_on = Identity (go)\n");
  IrSceneOptions options = { .wrapped = TRUE };
  guint n, n_lines, n_given = 0;

  for (guint i = 0; i < 60; i++)
    g_string_append_printf (text, "    w%u = Neg (w%u)\n", i + 1, i);
  g_string_append (text, "  }>\n  y = Tanh (r)\n}\n");
  g_autoptr (IrScene) wrapped = draw (text->str, &options);
  const IrSceneBox *boxes = ir_scene_boxes (wrapped, &n);
  const IrSceneLine *lines = ir_scene_lines (wrapped, &n_lines);
  g_assert_true (ir_scene_is_wrapped (wrapped));
  for (guint i = 0; i < n_lines; i++)
    if (lines[i].from >= 0 && boxes[lines[i].from].kind == IR_SCENE_CLUSTER)
      {
        const IrSceneBox *frame = &boxes[lines[i].from];
        const IrLayoutPoint *p = ir_scene_line_points (wrapped, &lines[i]);

        g_assert_cmpfloat (p[0].x, ==, frame->x + frame->width);
        g_assert_true (frame->y < p[0].y && p[0].y < frame->y + frame->height);
        for (guint k = 1; k < lines[i].n_points; k++)
          g_assert_cmpfloat (p[k].x, >, p[0].x);
        n_given++;
      }
  g_assert_cmpuint (n_given, ==, 1);
}

/* Lines of one value that run above each other are cut as one. */
static void
test_columns_with_trunks (void)
{
  g_autoptr (GString) text = g_string_new (
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "demo (float[4] x, int64 m) => (float[4] y) {\n  k = Exp (x)\n"
      "  y = Loop (m, , x) <body = b (int64 i, bool go, float[4] w0) => (bool go_on, float[4] w60) {\n"
      "    go_on = Identity (go)\n");
  IrSceneOptions options = { .wrapped = TRUE };

  for (guint i = 0; i < 60; i++)
    g_string_append_printf (text, "    w%u = Add (w%u, k)\n", i + 1, i);
  g_string_append (text, "  }>\n}\n");
  g_autoptr (IrScene) wrapped = draw (text->str, &options);
  const IrLayoutRect all = ir_scene_bounds (wrapped);
  g_assert_true (ir_scene_is_wrapped (wrapped));
  g_assert_cmpfloat (all.height, <, 2 * all.width);
}

/* A step changes a node, not the columns. */
static void
test_columns_stay (void)
{
  g_autofree char *text = long_chain (60);
  g_autoptr (IrModel) model = read_model (text);
  IrSceneOptions options = { .wrapped = TRUE };
  g_autoptr (IrScene) first = draw_model (model, &options);
  g_autofree char *before = ir_scene_to_text (first), *after = NULL;

  options.previous = first;
  options.keep = IR_LAYOUT_KEEP_PLACES;
  g_autoptr (IrScene) second = draw_model (model, &options);
  after = ir_scene_to_text (second);
  g_assert_cmpstr (before, ==, after);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/detail/names can be read and touch nothing", test_names);
  g_test_add_func ("/detail/full, short, none", test_short);
  g_test_add_func ("/detail/groups have short names", test_short_groups);
  g_test_add_func ("/detail/values have short names", test_short_values);
  g_test_add_func ("/detail/the least cost is called so", test_least);
  g_test_add_func ("/detail/names keep off rims", test_rims);
  g_test_add_func ("/detail/files are as seen at a zoom", test_zoomed_file);
  g_test_add_func ("/detail/what only constants lead to is written in its consumer",
                   test_constants);
  g_test_add_func ("/detail/captured values are told apart", test_captured);
  g_test_add_func ("/detail/copies of one block are a group", test_repeats);
  g_test_add_func ("/detail/scopes with numbers that are no copies", test_no_repeats);
  g_test_add_func ("/detail/arithmetic on shapes is a group", test_shapes);
  g_test_add_func ("/detail/what would be a hairline stands in columns", test_columns);
  g_test_add_func ("/detail/columns end between frames", test_columns_of_frames);
  g_test_add_func ("/detail/columns stand in frames", test_columns_in_frames);
  g_test_add_func ("/detail/what a wrapped loop gives", test_columns_of_loops);
  g_test_add_func ("/detail/columns of what all nodes read", test_columns_with_trunks);
  g_test_add_func ("/detail/columns stay where they are", test_columns_stay);
  return g_test_run ();
}
