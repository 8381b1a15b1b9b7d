/* What one looks at stays in sight, or comes there. */
#include "config.h"

#include "core/render/palette.h"
#include "tests/gui/seen.h"
#include "views/session/debug.h"
#include "views/view.h"

#include <math.h>

static gboolean
has_whys (gpointer session)
{
  return ir_session_get_whys (session) != NULL && ir_session_get_whys (session)->len > 0;
}

static gboolean
shows_pattern (gpointer session)
{
  return ir_session_get_frame (session)->marks != NULL;
}

static gboolean
shows_none (gpointer session)
{
  return ir_session_get_frame (session)->marks == NULL;
}

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"

/* A model that is written for it */
static void
open_text (IrSession *session, const char *text)
{
  g_autofree char *folder = g_dir_make_tmp ("irscope-XXXXXX", NULL),
                  *path = g_build_filename (folder, "net.onnxtxt", NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  ir_session_open (session, path);
  wait_for ("the model", is_open_and_idle, session);
}

/* The last step removes what nobody reads, and the BatchNormalization stays, as its input is an output. */
static const char refused[] = HEAD
    "net (float[1,2,4,4] x) => (float[1,2,4,4] y, float[1,2,4,4] c)\n"
    "<float[2,2,1,1] w = {1,2,3,4}, float[2] s = {1,2}, float[2] b = {3,4}, float[2] m = {5,6}, float[2] v = {7,8}>\n"
    "{ d = Abs (x) e = Neg (d) f = Exp (e) c = Conv (x, w) n = BatchNormalization (c, s, b, m, v) y = Tanh (n) }\n";

#define MARK 10 /* px that a box grows by at its end, for the mark of what fits */

/* What a rule needs is drawn around the node that was asked about, and goes again: the node stays. */
static void
test_asked (void)
{
  IrWindow *window = open_window (1280, 800);
  IrSession *session = ir_window_get_session (window);
  const IrWhy *why = NULL;
  graphene_point_t before, then;

  open_text (session, refused);
  ir_session_run_pipeline (session, NULL);
  wait_for ("the steps", is_open_and_idle, session);
  settle (300);

  select_at (window, "BatchNormalization", 100, -60);
  before = selected_end (window);
  ir_session_ask_why (session, ir_session_get_selected_node (session));
  wait_for ("the answers", has_whys, session);
  for (guint i = 0; why == NULL || why->holds; i++)
    why = ir_session_get_whys (session)->pdata[i];
  ir_session_show_why (session, why);
  wait_for ("the pattern", shows_pattern, session);
  settle (400);
  g_assert_nonnull (find (GTK_WIDGET (window), has_type, "IrStepPicture")); /* of the step, still */
  then = selected_end (window);
  g_assert_true (graphene_point_near (&before, &then, MARK));
  ir_session_show_why (session, NULL);
  wait_for ("the step", shows_none, session);
  settle (400);
  then = selected_end (window);
  g_assert_true (graphene_point_near (&before, &then, MARK));
  close_window (window);
}

/* What is looked for in a closed group comes into sight, though what reads it was drawn all along. */
static void
test_found (void)
{
  enum
  {
    LENGTH = 40
  };
  IrWindow *window = open_window (1280, 800);
  IrSession *session = ir_window_get_session (window);
  IrCanvas *canvas = IR_CANVAS (find (GTK_WIDGET (window), is_canvas, NULL));
  g_autoptr (GString) text = g_string_new (HEAD "net (float[4] v0) => (float[4] y) {\n");
  const IrSceneBox *boxes;
  const IrNode *node;
  guint n, i = 0;

  for (guint k = 0; k < LENGTH; k++)
    g_string_append_printf (text, "  [\"/group/n%u\"] v%u = %s (v%u)\n", k, k + 1,
                            k % 3 == 0 ? "Tanh" : "Neg", k);
  g_string_append_printf (text, "  y = Exp (v%u)\n}\n", LENGTH);
  open_text (session, text->str);
  settle (300);
  boxes = ir_scene_boxes (ir_canvas_get_scene (canvas), &n);
  while (boxes[i].fold == NULL)
    i++;
  if (!ir_scene_box_is_closed (&boxes[i]))
    ir_session_toggle_fold (session, boxes[i].fold);
  settle (400);
  g_assert_cmpint (ir_canvas_selected_box (canvas), <, 0);
  node = ir_graph_find_value (ir_session_get_frame (session)->model->main, "v34")->producer;
  ir_session_show_node (session, node->id);
  settle (600);
  g_assert_cmpint (ir_canvas_selected_box (canvas), >=, 0);
  g_assert_cmpfloat (selected_end (window).y, >, 0);
  g_assert_cmpfloat (selected_end (window).y, <, free_height (window));
  close_window (window);
}

/* The first box of a graph in which nothing changed is whole, or out of sight. */
static void
test_beginning (void)
{
  IrWindow *window = open_window (1280, 800);
  IrSession *session = ir_window_get_session (window);
  IrCanvas *canvas = IR_CANVAS (find (GTK_WIDGET (window), is_canvas, NULL));
  GtkAdjustment *down = gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (canvas));
  double top;

  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  settle (300);
  ir_session_goto (session, 1);
  wait_for ("the step", is_open_and_idle, session);
  settle (300);
  ir_canvas_zoom_to (canvas, 1);
  top = ir_scene_bounds (ir_canvas_get_scene (canvas)).y * ir_canvas_get_zoom (canvas);
  gtk_adjustment_set_value (down, top + 12);
  ir_session_goto (session, 0);
  wait_for ("the original", is_open_and_idle, session);
  settle (300);
  top = ir_scene_bounds (ir_canvas_get_scene (canvas)).y * ir_canvas_get_zoom (canvas);
  g_assert_cmpfloat (gtk_adjustment_get_value (down), <=, top);
  close_window (window);
}

/* What is selected stays where it is while other groups are opened and closed from elsewhere. */
static void
test_selected_stays (void)
{
  IrWindow *window = open_window (1280, 800);
  IrSession *session = ir_window_get_session (window);
  g_autoptr (GString) text = g_string_new (HEAD "net (float[4] v0) => (float[4] y) {\n");
  const IrScene *scene;
  const IrModel *model;
  graphene_point_t before, then;
  guint n, n_closed = 0;

  for (guint k = 0; k < 20; k++)
    g_string_append_printf (
        text,
        "  [\"/part%c/a\"] a%u = %s (v%u) [\"/part%c/b\"] b%u = Identity (a%u)\n"
        "  [\"/part%c/c\"] c%u = Exp (b%u) [\"/part%c/d\"] v%u = Add (c%u, v%u)\n",
        'A' + k, k, k % 3 == 0 ? "Tanh" : "Neg", k, 'A' + k, k, k, 'A' + k, k, k, 'A' + k, k + 1, k,
        k);
  g_string_append (text, "  y = Exp (v20)\n}\n");
  open_text (session, text->str);
  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  ir_session_goto (session, 12);
  wait_for ("the step", is_open_and_idle, session);
  settle (300);
  model = ir_session_get_frame (session)->model;
  ir_session_select_node (session, ir_graph_find_value (model->main, "c11")->producer->id);
  settle (300);
  before = selected_end (window);
  scene = ir_session_get_frame (session)->scene;
  for (const IrSceneBox *box = ir_scene_boxes (scene, &n); n_closed < 3; box++)
    if (box->fold != NULL) /* before it */
      {
        ir_session_toggle_fold (session, box->fold);
        n_closed++;
      }
  wait_for ("another picture", is_open_and_idle, session);
  settle (400);
  g_assert_true (scene != ir_session_get_frame (session)->scene);
  then = selected_end (window);
  g_assert_cmpfloat (fabs (before.x - then.x), <, 2);
  g_assert_cmpfloat (fabs (before.y - then.y), <, 2);
  close_window (window);
}

/* A pipeline leads to what its last step changed, whatever was selected before. */
static void
test_led (void)
{
  IrWindow *window = open_window (1280, 800);
  IrSession *session = ir_window_get_session (window);
  IrCanvas *canvas = IR_CANVAS (find (GTK_WIDGET (window), is_canvas, NULL));
  g_autoptr (GString) text = g_string_new (HEAD "net (float[4] v0) => (float[4] y) {\n");
  const IrSceneBox *boxes;
  IrCamera now;
  guint n, n_seen = 0;

  for (guint k = 0; k < 150; k++)
    g_string_append_printf (text, "  v%u = %s (v%u)\n", k + 1, k % 2 == 0 ? "Tanh" : "Sin", k);
  g_string_append (text, "  z = Identity (v150)\n  y = Exp (z)\n}\n");
  open_text (session, text->str);
  settle (300);
  select_at (window, "Tanh", 0, 0);
  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  settle (800);
  boxes = ir_scene_boxes (ir_canvas_get_scene (canvas), &n);
  now = ir_canvas_get_camera (canvas);
  for (guint i = 0; i < n; i++)
    {
      const double x = (boxes[i].x + boxes[i].width / 2) * now.zoom - now.x,
                   y = (boxes[i].y + boxes[i].height / 2) * now.zoom - now.y;

      n_seen += (boxes[i].state == IR_SCENE_REMOVED || boxes[i].state == IR_SCENE_CHANGED) &&
                x > 0 && x < now.width && y > 0 && y < free_height (window);
    }
  g_assert_cmpuint (n_seen, >, 0);
  close_window (window);
}

/* Boxes that are new or went lie whole where they can be seen: below nothing, and not below the map. */
static void
expect_change_in_sight (IrWindow *window, guint step)
{
  GtkWidget *canvas = find (GTK_WIDGET (window), is_canvas, NULL),
            *map = find (GTK_WIDGET (window), has_type, "IrMinimap");
  const IrCamera now = ir_canvas_get_camera (IR_CANVAS (canvas));
  const IrSceneBox *boxes;
  graphene_rect_t over;
  guint n;

  boxes = ir_scene_boxes (ir_canvas_get_scene (IR_CANVAS (canvas)), &n);
  for (guint i = 0; i < n; i++)
    {
      const graphene_rect_t at = ir_camera_rect (&now, &boxes[i]);

      if (boxes[i].kind == IR_SCENE_CLUSTER ||
          (boxes[i].state != IR_SCENE_NEW && boxes[i].state != IR_SCENE_REMOVED))
        continue;
      g_test_message ("step %u: %.0f, %.0f, %.0fx%.0f", step, at.origin.x, at.origin.y,
                      at.size.width, at.size.height);
      g_assert_cmpfloat (at.origin.x, >=, 0);
      g_assert_cmpfloat (at.origin.y, >=, 0);
      g_assert_cmpfloat (at.origin.x + at.size.width, <=, now.width);
      g_assert_cmpfloat (at.origin.y + at.size.height, <=, free_height (window));
      if (gtk_widget_get_mapped (map) && gtk_widget_compute_bounds (map, canvas, &over))
        g_assert_false (graphene_rect_intersection (&at, &over, NULL));
    }
}

static int
canvas_width (IrWindow *window)
{
  return gtk_widget_get_width (find (GTK_WIDGET (window), is_canvas, NULL));
}

/* A jump to what lies at the edge that a pane will cover moves nothing; the pane does. */
static void
expect_aimed (IrWindow *window, guint step, const char *pane, double right, double down)
{
  IrSession *session = ir_window_get_session (window);

  ir_session_goto (session, step - 1);
  wait_for ("the step before", is_open_and_idle, session);
  settle (300);
  select_at (window, "Identity", right, down); /* that goes next */
  ir_session_select_node (session, 0);
  ir_session_goto (session, step);
  wait_for ("the step", is_open_and_idle, session);
  settle (300);
  expect_change_in_sight (window, step);
  g_action_group_activate_action (G_ACTION_GROUP (window), pane, NULL);
  settle (400);
  expect_change_in_sight (window, step);
}

/* Whatever panes come and however one jumps, what a step did is seen. */
static void
test_jumps (void)
{
  static const int sizes[][2] = { { 1280, 800 }, { 800, 600 } };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      IrWindow *window = open_window (sizes[i][0], sizes[i][1]);
      IrSession *session = ir_window_get_session (window);
      g_autoptr (GString) text = g_string_new (HEAD "net (float[4] v0) => (float[4] y) {\n");
      guint n;

      for (guint k = 0; k < 36; k++)
        g_string_append_printf (text,
                                k % 6 == 5   ? "  v%u = Add (v%u, v%u)\n"
                                : k % 3 == 1 ? "  v%u = Identity (v%u)\n"
                                             : "  v%u = Tanh (v%u)\n",
                                k + 1, k, k - k % 6);
      g_string_append (text, "  y = Exp (v36)\n}\n");
      open_text (session, text->str);
      settle (300);
      g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
      wait_for ("the pipeline", is_open_and_idle, session);
      n = ir_session_get_n_steps (session);
      g_assert_cmpuint (n, >, 8);
      for (guint k = 0; k < n + 6; k++) /* now a step on, now far away */
        {
          settle (k == 0 ? 800 : 60);
          wait_for ("the step", is_open_and_idle, session);
          expect_change_in_sight (window, ir_session_get_cursor (session));
          ir_session_goto (session, 1 + (k % 2 == 0 ? k / 2 : k * 7) % n);
        }
      expect_aimed (window, 3, "show-end", 0, 0); /* goes */
      expect_aimed (window, 4, "show-end", 130 - canvas_width (window) / 2.0, 60);
      close_window (window);
    }
}

/* What is in sight stays there when a pane comes, and does not come to lie below the map. */
static void
test_pane_comes (void)
{
  IrWindow *window = open_window (1280, 800);
  IrSession *session = ir_window_get_session (window);
  g_autoptr (GString) text = g_string_new (HEAD "net (float[4] x) => (float[4] y) {\n");

  for (guint k = 0; k < 3; k++)
    g_string_append_printf (text, "  a%u = Tanh (x) b%u = Identity (a%u) c%u = Sin (b%u)\n", k, k,
                            k, k, k);
  g_string_append (text, "  v0 = Sum (c0, c1, c2)\n");
  for (guint k = 0; k < 60; k++)
    g_string_append_printf (text, "  v%u = Tanh (v%u)\n", k + 1, k);
  g_string_append (text, "  y = Exp (v60)\n}\n");
  open_text (session, text->str);
  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  settle (800);
  g_action_group_activate_action (G_ACTION_GROUP (window), "show-start", NULL); /* goes */
  expect_seen (window, "IrStepsView", FALSE);
  ir_canvas_zoom_to (IR_CANVAS (find (GTK_WIDGET (window), is_canvas, NULL)), 1);
  ir_session_set_compare (session, IR_COMPARE_ORIGINAL);
  wait_for ("the difference", is_open_and_idle, session);
  settle (300);
  expect_change_in_sight (window, 0);
  g_action_group_activate_action (G_ACTION_GROUP (window), "show-start", NULL);
  expect_seen (window, "IrStepsView", TRUE);
  settle (300);
  expect_change_in_sight (window, 1);
  close_window (window);
}

/* At the first look the map stands in the corner in which there is nothing. */
static void
test_map (void)
{
  IrWindow *window = open_window (1000, 640);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *canvas = find (GTK_WIDGET (window), is_canvas, NULL),
            *map = find (GTK_WIDGET (window), has_type, "IrMinimap");
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "transformer-block.onnx",
                                            NULL);
  const IrSceneBox *boxes;
  IrCamera now;
  graphene_rect_t over;
  guint n;

  ir_session_open (session, path);
  wait_for ("the model", is_open_and_idle, session);
  settle (800);
  now = ir_canvas_get_camera (IR_CANVAS (canvas));
  boxes = ir_scene_boxes (ir_canvas_get_scene (IR_CANVAS (canvas)), &n);
  g_assert_true (gtk_widget_get_mapped (map));
  g_assert_true (gtk_widget_compute_bounds (map, canvas, &over));
  for (guint i = 0; i < n; i++)
    {
      const graphene_rect_t at = ir_camera_rect (&now, &boxes[i]);

      g_assert_false (boxes[i].kind != IR_SCENE_CLUSTER &&
                      graphene_rect_intersection (&at, &over, NULL));
    }
  close_window (window);
}

/* Where both sides are shown the map does not lie on what says which they are. */
static void
test_map_of_sides (void)
{
  IrWindow *window = open_window (1280, 800);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *map = find (GTK_WIDGET (window), has_type, "IrMinimap"), *title;
  graphene_rect_t a, b;

  ir_session_run_pipeline (session, NULL);
  wait_for ("the steps", is_open_and_idle, session);
  settle (300);
  g_action_group_activate_action (G_ACTION_GROUP (window), "view",
                                  g_variant_new_string ("side-by-side"));
  settle (600);
  ir_canvas_zoom_to (IR_CANVAS (find (GTK_WIDGET (window), is_canvas, NULL)), 2);
  settle (600);
  title = find_label (GTK_WIDGET (window), "After: step");
  g_assert_nonnull (title);
  g_assert_true (gtk_widget_get_mapped (map));
  g_assert_true (gtk_widget_compute_bounds (map, GTK_WIDGET (window), &a));
  g_assert_true (gtk_widget_compute_bounds (title, GTK_WIDGET (window), &b));
  g_assert_false (graphene_rect_intersection (&a, &b, NULL));
  close_window (window);
}

/* Of columns the first begins far from the left end of the picture: its beginning is in sight. */
static void
test_columns (void)
{
  enum
  {
    LENGTH = 600,
    WIDE = 40 /* nodes beside each other, so far down that they are not in sight at first */
  };
  IrWindow *window = open_window (1000, 700);
  IrSession *session = ir_window_get_session (window);
  IrCanvas *canvas = IR_CANVAS (find (GTK_WIDGET (window), is_canvas, NULL));
  g_autoptr (GString) text = g_string_new (HEAD "net (float[4] v0) => (float[4] y) {\n");
  const IrSceneBox *boxes;
  guint n, n_seen = 0;

  for (guint k = 0; k < LENGTH; k++)
    if (k == LENGTH / 20)
      {
        for (guint i = 0; i < WIDE; i++)
          g_string_append_printf (text, "  w%u = Tanh (v%u)\n", i, k);
        g_string_append_printf (text, "  v%u = Sum (w0", k + 1);
        for (guint i = 1; i < WIDE; i++)
          g_string_append_printf (text, ", w%u", i);
        g_string_append (text, ")\n");
      }
    else
      g_string_append_printf (text, "  v%u = Relu (v%u)\n", k + 1, k);
  g_string_append_printf (text, "  y = Exp (v%d)\n}\n", LENGTH);
  open_text (session, text->str);
  settle (500);
  g_assert_true (ir_scene_is_wrapped (ir_canvas_get_scene (canvas)));
  boxes = ir_scene_boxes (ir_canvas_get_scene (canvas), &n);
  for (guint i = 0; i < n; i++)
    {
      const IrCamera now = ir_canvas_get_camera (canvas);
      const graphene_rect_t at = ir_camera_rect (&now, &boxes[i]);

      n_seen += graphene_rect_contains_rect (
          &GRAPHENE_RECT_INIT (0, 0, now.width, (float) free_height (window)), &at);
    }
  g_test_message ("%u boxes are in sight", n_seen);
  g_assert_cmpuint (n_seen, >, 1);
  close_window (window);
}

/* What the canvas looks like now. (transfer full) */
static cairo_surface_t *
picture_of (GtkWidget *canvas)
{
  const int width = gtk_widget_get_width (canvas), height = gtk_widget_get_height (canvas);
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (canvas);
  g_autoptr (GdkPaintable) image = gdk_paintable_get_current_image (paintable);
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, width, height);
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  cairo_t *cr = cairo_create (surface);
  GskRenderNode *node;

  gdk_paintable_snapshot (image, snapshot, width, height);
  node = gtk_snapshot_free_to_node (snapshot);
  gsk_render_node_draw (node, cr);
  gsk_render_node_unref (node);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  return surface;
}

static gboolean
same_pixels (cairo_surface_t *a, cairo_surface_t *b)
{
  const gsize size = (gsize) cairo_image_surface_get_stride (a) *
                     (gsize) cairo_image_surface_get_height (a);

  g_assert_cmpint (cairo_image_surface_get_height (a), ==, cairo_image_surface_get_height (b));
  return memcmp (cairo_image_surface_get_data (a), cairo_image_surface_get_data (b), size) == 0;
}

/* A pane that grows shows what comes into sight, as it would be drawn anew. */
static void
test_grown (void)
{
  static const char *const ids[] = { "schedule", "summary" };
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "digits.onnx", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      g_autoptr (IrSession) session = ir_session_new ();
      GtkWidget *view = GTK_WIDGET (ir_view_info_create (ir_view_find (ids[i]), session)),
                *window = gtk_window_new (), *area;
      cairo_surface_t *low, *grown, *fresh;

      gtk_window_set_default_size (GTK_WINDOW (window), 700, 200);
      gtk_window_set_child (GTK_WINDOW (window), view);
      gtk_window_present (GTK_WINDOW (window));
      ir_session_open (session, path);
      wait_for ("the model", is_open_and_idle, session);
      ir_session_run_pipeline (session, NULL);
      wait_for ("the pipeline", is_idle, session);
      settle (300);
      area = find_widget (view, GTK_TYPE_DRAWING_AREA);
      g_assert_nonnull (area);
      low = picture_of (view);
      gtk_window_set_default_size (GTK_WINDOW (window), 700, 620);
      settle (300);
      grown = picture_of (view);
      gtk_widget_queue_draw (area);
      settle (100);
      fresh = picture_of (view);
      g_assert_cmpint (cairo_image_surface_get_height (grown), >,
                       cairo_image_surface_get_height (low) + 300);
      g_assert_true (same_pixels (grown, fresh));
      cairo_surface_destroy (low);
      cairo_surface_destroy (grown);
      cairo_surface_destroy (fresh);
      gtk_window_destroy (GTK_WINDOW (window));
      settle (20);
    }
}

/* How many px of @rect have that colour, 0xrrggbb. */
static guint
count_colour (cairo_surface_t *surface, const graphene_rect_t *rect, guint32 colour)
{
  const guchar *data = cairo_image_surface_get_data (surface);
  guint n = 0;

  for (int y = (int) rect->origin.y; y < rect->origin.y + rect->size.height; y++)
    for (int x = (int) rect->origin.x; x < rect->origin.x + rect->size.width; x++)
      {
        guint32 pixel;

        memcpy (&pixel, data + y * cairo_image_surface_get_stride (surface) + 4 * x, sizeof pixel);
        n += (pixel & 0xffffff) == colour;
      }
  return n;
}

/* Lines go into the frames of branches through their titles, which can be read all the same. */
static void
test_titles (void)
{
  IrWindow *window = open_window (1280, 1400);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *canvas = find (GTK_WIDGET (window), is_canvas, NULL);
  const IrPalette *palette = ir_palette (IR_PALETTE_LIGHT);
  const IrScene *scene;
  const IrSceneBox *boxes;
  const IrSceneText *texts;
  cairo_surface_t *surface;
  guint n, n_crossed = 0;

  open_text (
      session,
      HEAD "net (bool p, float[4] x) => (float[4] y) {\n"
           "  a = Tanh (x)\n"
           "  y = If (p) <then_branch = then_with_a_long_name () => (float[4] t) { t = Neg (a) },\n"
           "              else_branch = else_with_a_long_name () => (float[4] e) { e = Exp (a) }>\n"
           "}\n");
  settle (300);
  ir_canvas_zoom_to (IR_CANVAS (canvas), 1);
  settle (300);
  scene = ir_canvas_get_scene (IR_CANVAS (canvas));
  boxes = ir_scene_boxes (scene, &n);
  texts = ir_scene_texts (scene, &n);
  surface = picture_of (canvas);
  ir_scene_boxes (scene, &n);
  for (guint i = 0; i < n; i++)
    if (boxes[i].kind == IR_SCENE_CLUSTER && boxes[i].n_texts > 0)
      {
        const IrSceneText *title = &texts[boxes[i].first_text];
        const IrCamera now = ir_canvas_get_camera (IR_CANVAS (canvas));
        const graphene_rect_t at = GRAPHENE_RECT_INIT (
            (float) (title->x * now.zoom - now.x), (float) ((title->y - 12) * now.zoom - now.y),
            (float) (title->width * now.zoom), (float) (14 * now.zoom));
        const graphene_rect_t below = GRAPHENE_RECT_INIT (at.origin.x, at.origin.y + 16,
                                                          at.size.width, 2);

        n_crossed += count_colour (surface, &below, palette->line) > 0;
        g_assert_cmpuint (count_colour (surface, &at, palette->line), ==, 0);
      }
  g_assert_cmpuint (n_crossed, >, 0);
  cairo_surface_destroy (surface);
  close_window (window);
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  load_style ();
  g_test_add_func ("/sight/a node stays where it is asked about", test_asked);
  g_test_add_func ("/sight/what is found in a closed group is seen", test_found);
  g_test_add_func ("/sight/a pipeline leads to what it changed", test_led);
  g_test_add_func ("/sight/a step is in sight wherever one jumps", test_jumps);
  g_test_add_func ("/sight/a change stays in sight when a pane comes", test_pane_comes);
  g_test_add_func ("/sight/the beginning of a graph is not cut", test_beginning);
  g_test_add_func ("/sight/what is selected stays in its place", test_selected_stays);
  g_test_add_func ("/sight/the map lies on nothing at first", test_map);
  g_test_add_func ("/sight/the map lies on no title of a side", test_map_of_sides);
  g_test_add_func ("/sight/the first column begins in sight", test_columns);
  g_test_add_func ("/sight/titles of frames lie over lines", test_titles);
  g_test_add_func ("/sight/a chart whose pane grows is drawn whole", test_grown);
  return run_window_tests ();
}
