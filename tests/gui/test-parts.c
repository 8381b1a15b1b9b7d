/* Parts of the graph: entered, beside, filtered, kept; and that what the window draws is what
 * irscope render draws. */
#include "config.h"

#include "app/gui/window.h"
#include "core/layout/scene.h"
#include "core/render/render.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/graph/canvas.h"
#include "views/graph/flat.h"
#include "views/graph/tiles.h"
#include "views/graph/tween.h"
#include "views/session/act.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/kept.h"
#include "views/session/places.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#include <glib/gstdio.h>

static gboolean
is_current (gpointer data)
{
  const IrFrame *frame = ir_session_get_frame (data);

  return !ir_session_get_busy (data) && frame != NULL && frame->scene != NULL &&
         frame->to == ir_session_get_cursor (data) &&
         frame->serial == ir_session_get_picture_serial (data);
}

static IrWindow *
open_window (const char *name, IrSession **session, IrCanvas **canvas)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", name, NULL);
  IrWindow *window = g_object_new (IR_TYPE_WINDOW, NULL);

  gtk_window_present (GTK_WINDOW (window));
  *session = ir_window_get_session (window);
  ir_session_open (*session, path);
  wait_for ("the model", is_current, *session);
  *canvas = IR_CANVAS (find_widget (GTK_WIDGET (window), IR_TYPE_CANVAS));
  return window;
}

static IrNodeId
find_op (IrSession *session, const char *op)
{
  const IrModel *model = ir_session_get_frame (session)->model;

  for (guint id = 1; id < model->nodes->len; id++)
    if (ir_model_live_node (model, id) != NULL &&
        g_strcmp0 (ir_model_live_node (model, id)->op_type, op) == 0)
      return id;
  g_error ("there is no %s", op);
}

static gboolean
is_drawn (IrSession *session, const char *op)
{
  return ir_frame_find_box (ir_session_get_frame (session), find_op (session, op)) >= 0;
}

static char *
scene_text (IrSession *session)
{
  return ir_scene_to_text (ir_session_get_frame (session)->scene);
}

static void
act (IrCanvas *canvas, IrSession *session, const char *action)
{
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (canvas), action, NULL));
  wait_for (action, is_current, session);
}

/* A branch is entered, searched and left; the picture and the camera are what they were. */
static void
test_enter (void)
{
  IrSession *session;
  IrCanvas *canvas;
  IrWindow *window = open_window ("if-branch.onnx", &session, &canvas);
  g_autofree char *before = scene_text (session), *after = NULL;
  IrCamera camera;

  ir_session_select_node (session, find_op (session, "If"));
  ir_canvas_zoom_to (canvas, 0.8);
  settle (100);
  camera = ir_canvas_get_camera (canvas);
  act (canvas, session, "view.enter");
  g_assert_true (is_drawn (session, "Neg"));
  g_assert_false (is_drawn (session, "Tanh"));
  settle (100);
  g_assert_cmpfloat (ir_canvas_get_camera (canvas).zoom, !=, camera.zoom);
  act (canvas, session, "view.leave");
  after = scene_text (session);
  g_assert_cmpstr (after, ==, before);
  settle (100);
  g_assert_cmpfloat (ir_canvas_get_camera (canvas).zoom, ==, camera.zoom);
  g_assert_cmpfloat (ir_canvas_get_camera (canvas).y, ==, camera.y);
  g_assert_cmpuint (ir_session_get_selected_node (session), ==, find_op (session, "If"));
  act (canvas, session, "view.enter");
  ir_session_show_node (session, find_op (session, "Tanh")); /* outside: it is left for that */
  wait_for ("the node", is_current, session);
  g_assert_true (is_drawn (session, "Tanh"));
  gtk_window_destroy (GTK_WINDOW (window));
}

/* Branches beside, and back. */
static void
test_beside (void)
{
  IrSession *session;
  IrCanvas *canvas;
  IrWindow *window = open_window ("if-branch.onnx", &session, &canvas);
  g_autofree char *before = scene_text (session), *beside = NULL, *after = NULL;

  ir_session_select_node (session, find_op (session, "If"));
  act (canvas, session, "view.beside");
  beside = scene_text (session);
  g_assert_cmpstr (beside, !=, before);
  g_assert_true (is_drawn (session, "Neg"));
  act (canvas, session, "view.beside");
  after = scene_text (session);
  g_assert_cmpstr (after, ==, before);
  gtk_window_destroy (GTK_WINDOW (window));
}

/* The selection alone, grown both ways; then all. */
static void
test_frontier (void)
{
  IrSession *session;
  IrCanvas *canvas;
  IrWindow *window = open_window ("if-branch.onnx", &session, &canvas);

  ir_session_select_node (session, find_op (session, "Greater"));
  act (canvas, session, "view.show-only");
  g_assert_true (is_drawn (session, "Greater"));
  g_assert_false (is_drawn (session, "ReduceMean"));
  act (canvas, session, "view.show-inputs");
  g_assert_true (is_drawn (session, "ReduceMean"));
  g_assert_false (is_drawn (session, "If"));
  act (canvas, session, "view.show-outputs");
  g_assert_true (is_drawn (session, "If"));
  g_assert_false (is_drawn (session, "Tanh"));
  ir_session_show_node (session, find_op (session, "Tanh")); /* what is searched for is shown */
  wait_for ("the node", is_current, session);
  g_assert_true (is_drawn (session, "Tanh"));
  act (canvas, session, "view.show-all");
  g_assert_true (is_drawn (session, "Neg"));
  gtk_window_destroy (GTK_WINDOW (window));
}

/* Where none of the part's nodes is any more, the graph is not empty for that. */
static void
test_frontier_of_gone (void)
{
  IrSession *session;
  IrCanvas *canvas;
  IrWindow *window = open_window ("if-branch.onnx", &session, &canvas);
  const IrModel *model = ir_session_get_frame (session)->model;
  guint n;

  ir_session_act (session, (const char *const[]){ "add", "HardSwish",
                                                  ir_graph_input (model->main, 0)->name, NULL });
  wait_for ("the node", is_current, session);
  ir_session_select_node (session, find_op (session, "HardSwish"));
  act (canvas, session, "view.show-only");
  ir_session_goto (session, 0);
  wait_for ("the graph without it", is_current, session);
  ir_scene_boxes (ir_session_get_frame (session)->scene, &n);
  g_assert_cmpuint (n, ==, 0);
  g_assert_true (gtk_widget_get_mapped (GTK_WIDGET (canvas)));
  act (canvas, session, "view.show-all");
  ir_scene_boxes (ir_session_get_frame (session)->scene, &n);
  g_assert_cmpuint (n, >, 4);
  gtk_window_destroy (GTK_WINDOW (window));
}

/* What is kept is shown again, and kept where the next window finds it. */
static void
test_kept (void)
{
  IrSession *session;
  IrCanvas *canvas;
  IrWindow *window = open_window ("if-branch.onnx", &session, &canvas);
  g_autofree char *kept = NULL, *shown = NULL, *again = NULL;
  IrLayoutRect seen;

  ir_session_select_node (session, find_op (session, "If"));
  act (canvas, session, "view.beside");
  ir_session_add_rule (session, "op:neg", IR_RULE_COLOUR, 3);
  ir_session_set_overlay (session, "flops");
  wait_for ("the colours", is_current, session);
  kept = scene_text (session);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (canvas), "view.keep", "i", 4));
  act (canvas, session, "view.beside");
  ir_session_remove_rule (session, 0);
  ir_session_set_overlay (session, NULL);
  ir_session_select_node (session, 0);
  wait_for ("the plain graph", is_current, session);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (canvas), "view.show-kept", "i", 4));
  wait_for ("the kept view", is_current, session);
  shown = scene_text (session);
  g_assert_cmpstr (shown, ==, kept);
  g_assert_cmpuint (ir_session_get_selected_node (session), ==, find_op (session, "If"));
  settle (400);
  ir_canvas_set_inset (canvas, 80); /* what floats over the lower end moves nothing */
  ir_canvas_zoom_to (canvas, 1.5);
  seen = ir_canvas_get_sight (canvas);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (canvas), "view.keep", "i", 5));
  ir_canvas_centre (canvas, 0, 0);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (canvas), "view.show-kept", "i", 5));
  wait_for ("the same place", is_current, session);
  settle (600);
  g_assert_cmpfloat_with_epsilon (ir_canvas_get_sight (canvas).y, seen.y, 1);
  ir_session_remove_rule (session, 0); /* nor does the bar of rules, which comes and goes */
  wait_for ("the graph without a rule", is_current, session);
  settle (300);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (canvas), "view.show-kept", "i", 5));
  wait_for ("the place with its rule", is_current, session);
  settle (600);
  g_assert_cmpfloat_with_epsilon (ir_canvas_get_sight (canvas).y, seen.y, 1);
  gtk_window_destroy (GTK_WINDOW (window));
  window = open_window ("if-branch.onnx", &session, &canvas);
  g_assert_null (ir_session_get_kept (session)->pdata[0]);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (canvas), "view.show-kept", "i", 4));
  wait_for ("the kept view", is_current, session);
  again = scene_text (session);
  g_assert_cmpstr (again, ==, kept);
  gtk_window_destroy (GTK_WINDOW (window));
}

/* So are boxes that were moved, and the numbers of a file. */
static void
test_kept_places (void)
{
  IrSession *session;
  IrCanvas *canvas;
  IrWindow *window = open_window ("if-branch.onnx", &session, &canvas);
  const IrNodeId node = find_op (session, "Neg");
  const guint64 key = node;
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *numbers = g_build_filename (dir, "numbers.json", NULL);
  g_autofree char *text = NULL, *plain = scene_text (session), *kept = NULL, *again = NULL;
  g_autofree char *arranged = NULL;

  text = g_strdup_printf ("{ \"title\": \"Heat\", \"nodes\": { \"#%u\": 7 } }", node);
  g_assert_true (g_file_set_contents (numbers, text, -1, NULL));
  g_assert_true (ir_session_open_numbers (session, numbers));
  ir_session_move_boxes (session, &key, 1, 40, -16);
  wait_for ("the moved box", is_current, session);
  kept = scene_text (session);
  g_assert_cmpstr (kept, !=, plain);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (canvas), "view.keep", "i", 7));
  ir_session_arrange (session);
  wait_for ("all in place", is_current, session);
  arranged = scene_text (session);
  g_assert_cmpstr (arranged, !=, kept);
  gtk_window_destroy (GTK_WINDOW (window));
  window = open_window ("if-branch.onnx", &session, &canvas);
  g_assert_false (ir_session_has_places (session));
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (canvas), "view.show-kept", "i", 7));
  wait_for ("the kept view", is_current, session);
  again = scene_text (session);
  g_assert_cmpstr (again, ==, kept);
  g_assert_cmpstr (ir_numbers_path (ir_session_get_numbers (session)), ==, numbers);
  gtk_window_destroy (GTK_WINDOW (window));
  g_unlink (numbers);
  g_rmdir (dir);
}

/* -- groups -- */

static char *
toggled_in (IrSession *session, IrCanvas *canvas, const char *fold)
{
  ir_canvas_toggle_fold (canvas, fold);
  wait_for ("the group", is_current, session);
  settle (60);
  return scene_text (session);
}

/* Where the group @fold is on the screen. */
static graphene_rect_t
place_of (IrSession *session, IrCanvas *canvas, const char *fold)
{
  const IrCamera camera = ir_canvas_get_camera (canvas);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (ir_session_get_frame (session)->scene, &n);

  for (guint i = 0; i < n; i++)
    if (g_strcmp0 (boxes[i].fold, fold) == 0)
      return ir_camera_rect (&camera, &boxes[i]);
  g_error ("there is no %s", fold);
}

static const char *
group_in_sight (IrSession *session, IrCanvas *canvas)
{
  const IrLayoutRect sight = ir_canvas_get_sight (canvas);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (ir_session_get_frame (session)->scene, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && boxes[i].y > sight.y && boxes[i].y < sight.y + sight.height)
      return boxes[i].fold;
  g_error ("no group is in sight");
}

/* So far in that nothing has to move for it. */
static IrNodeId
node_in_sight (IrSession *session, IrCanvas *canvas)
{
  const IrLayoutRect sight = ir_canvas_get_sight (canvas);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (ir_session_get_frame (session)->scene, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].node != 0 && boxes[i].kind != IR_SCENE_CLUSTER && boxes[i].x > sight.x + 20 &&
        boxes[i].x + boxes[i].width < sight.x + sight.width - 20 && boxes[i].y > sight.y + 20 &&
        boxes[i].y + boxes[i].height < sight.y + sight.height / 2)
      return boxes[i].node;
  g_error ("no node is in sight");
}

static void
expect_same_place (const IrCamera *a, const IrCamera *b)
{
  g_assert_cmpfloat (a->zoom, ==, b->zoom);
  g_assert_cmpfloat_with_epsilon (a->x, b->x, 0.01);
  g_assert_cmpfloat_with_epsilon (a->y, b->y, 0.01);
}

enum
{
  ZOOMED = 1 << 0,   /* by hand, before */
  SELECTED = 1 << 1, /* a node before, and another one while the group is open */
  N_WAYS = 1 << 2
};

static void
open_and_close (IrSession *session, IrCanvas *canvas, const char *fold, guint way)
{
  const IrCamera camera = ir_canvas_get_camera (canvas);
  const graphene_rect_t was = place_of (session, canvas, fold);
  graphene_rect_t is;
  IrCamera now;
  g_autofree char *text = scene_text (session), *other = NULL, *again = NULL;

  other = toggled_in (session, canvas, fold);
  now = ir_canvas_get_camera (canvas);
  is = place_of (session, canvas, fold);
  g_assert_cmpstr (text, !=, other);
  g_assert_cmpfloat (now.zoom, ==, camera.zoom);
  g_assert_cmpfloat_with_epsilon (is.origin.x, was.origin.x, 1.01);
  g_assert_cmpfloat_with_epsilon (is.origin.y, was.origin.y, 1.01);
  if (way & SELECTED)
    ir_session_select_node (session, node_in_sight (session, canvas));
  again = toggled_in (session, canvas, fold);
  now = ir_canvas_get_camera (canvas);
  expect_same_place (&now, &camera);
  g_assert_cmpstr (again, ==, text);
}

static void
test_closing (void)
{
  static const char *const files[] = { "transformer-block.onnx", "if-branch.onnx" };

  for (guint i = 0; i < G_N_ELEMENTS (files) * N_WAYS; i++)
    {
      IrSession *session;
      IrCanvas *canvas;
      IrWindow *window = open_window (files[i / N_WAYS], &session, &canvas);
      g_autofree char *fold = NULL;

      if (i & SELECTED)
        ir_session_select_node (session, 1); /* its pane comes before */
      settle (300);
      if (i & ZOOMED)
        ir_canvas_zoom_by (canvas, 1.3);
      fold = g_strdup (group_in_sight (session, canvas));
      for (guint times = 0; times < 2; times++)
        open_and_close (session, canvas, fold, i % N_WAYS);
      gtk_window_destroy (GTK_WINDOW (window));
    }
}

/* -- boxes on their way -- */

static void
test_tween (void)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "if-branch.onnx", NULL);
  g_autoptr (IrSession) session = ir_session_new ();
  g_autoptr (IrScene) before = NULL, after = NULL;
  IrTween *tween;
  guint n, n_new = 0, n_moving = 0;
  const IrSceneBox *boxes;

  ir_session_open (session, path);
  wait_for ("the model", is_current, session);
  ir_session_set_folds (session, TRUE);
  wait_for ("closed groups", is_current, session);
  before = ir_scene_ref (ir_session_get_frame (session)->scene);
  ir_session_set_folds (session, FALSE);
  wait_for ("open groups", is_current, session);
  after = ir_scene_ref (ir_session_get_frame (session)->scene);
  g_assert_null (ir_tween_new (before, before, 0, 0));
  tween = ir_tween_new (before, after, 10, -5);
  boxes = ir_scene_boxes (after, &n);
  for (guint i = 0; i < n; i++)
    {
      gboolean is_new;
      const IrLayoutRect start = ir_tween_rect (tween, (gint32) i, 0, &is_new);
      const IrLayoutRect end = ir_tween_rect (tween, (gint32) i, 1, &is_new);
      const gint32 old = boxes[i].node != 0 ? ir_scene_find_node (before, boxes[i].node) : -1;
      guint n_before;

      n_new += is_new;
      g_assert_cmpfloat (end.x, ==, boxes[i].x);
      g_assert_cmpfloat (end.height, ==, boxes[i].height);
      if (is_new || old < 0)
        continue;
      g_assert_cmpfloat (start.x, ==, ir_scene_boxes (before, &n_before)[old].x + 10);
      g_assert_cmpfloat (start.y, ==, ir_scene_boxes (before, &n_before)[old].y - 5);
      n_moving++;
    }
  g_assert_cmpuint (n_new, >, 3); /* what the branches hold */
  g_assert_cmpuint (n_moving, >, 3);
  ir_tween_free (tween);
}

/* With motion the boxes arrive; without it they are there at once. */
static void
test_motion (void)
{
  IrSession *session;
  IrCanvas *canvas;
  IrWindow *window;

  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", TRUE, NULL);
  window = open_window ("if-branch.onnx", &session, &canvas);
  for (guint i = 0; i < 4; i++)
    {
      ir_session_set_folds (session, i % 2 == 0);
      wait_for ("the groups", is_current, session);
      settle (i == 1 ? 50 : 400); /* once in the middle of it */
    }
  ir_session_set_folds (session, TRUE);
  wait_for ("the groups", is_current, session);
  gtk_window_destroy (GTK_WINDOW (window)); /* under way */
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
}

/* -- tiles -- */

#define TILED_WIDTH  700
#define TILED_HEIGHT 600

static IrScene *
many_boxes (void)
{
  IrScene *scene = ir_scene_new (NULL, NULL);

  for (guint i = 0; i < 7000; i++)
    {
      const IrSceneBox box = { .kind = IR_SCENE_NODE,
                               .colour = i % 12,
                               .parent = -1,
                               .x = 100 * (i % 80),
                               .y = 50 * (i / 80),
                               .width = 80,
                               .height = 32,
                               .header = 32,
                               .key = i + 1 };

      ir_scene_add_box (scene, &box);
    }
  ir_scene_finish (scene);
  return scene;
}

static void
on_more (gpointer data)
{
  (*(guint *) data)++;
}

static cairo_surface_t *
image_of (GskRenderNode *node)
{
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, TILED_WIDTH,
                                                         TILED_HEIGHT);
  cairo_t *cr = cairo_create (surface);

  gsk_render_node_draw (node, cr);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  return surface;
}

/* What workers draw, put together, is the picture that is drawn at once. */
static void
test_tiles (void)
{
  g_autoptr (IrScene) scene = many_boxes ();
  const IrCamera camera = { 0.1, -33, 17, TILED_WIDTH, TILED_HEIGHT };
  const IrLayoutRect sight = ir_camera_world (&camera);
  guint n_more = 0;
  IrTiles *tiles = ir_tiles_new (on_more, &n_more);
  g_autoptr (GArray) boxes = g_array_new (FALSE, FALSE, sizeof (gint32));
  g_autoptr (GArray) lines = g_array_new (FALSE, FALSE, sizeof (gint32));
  const gint64 until = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  cairo_surface_t *tiled = NULL, *whole = cairo_image_surface_create (CAIRO_FORMAT_RGB24,
                                                                      TILED_WIDTH, TILED_HEIGHT);
  cairo_t *cr = cairo_create (whole);

  g_assert_true (ir_tiles_are_wanted (scene));
  do
    {
      GtkSnapshot *snapshot = gtk_snapshot_new ();
      GskRenderNode *node;

      ir_tiles_paint (tiles, snapshot, scene, FALSE, 1, &camera);
      node = gtk_snapshot_free_to_node (snapshot);
      g_clear_pointer (&tiled, cairo_surface_destroy);
      tiled = image_of (node);
      gsk_render_node_unref (node);
      settle (10);
    }
  while (!ir_tiles_are_complete (tiles) && g_get_monotonic_time () < until);
  g_assert_cmpuint (n_more, >=, 4);
  for (gint32 i = 0; i < 7000; i++)
    g_array_append_val (boxes, i);
  cairo_set_source_rgb (cr, (ir_palette (FALSE)->background >> 16 & 0xff) / 255.0,
                        (ir_palette (FALSE)->background >> 8 & 0xff) / 255.0,
                        (ir_palette (FALSE)->background & 0xff) / 255.0);
  cairo_paint (cr);
  ir_flat_paint (scene, ir_palette (FALSE), camera.zoom, camera.x, camera.y, boxes, lines, cr);
  cairo_destroy (cr);
  cairo_surface_flush (whole);
  g_assert_cmpfloat (sight.width, >, TILED_WIDTH);
  for (guint y = 0; y < TILED_HEIGHT; y++)
    for (guint x = 0; x < TILED_WIDTH; x++)
      {
        const gsize at = y * (gsize) cairo_image_surface_get_stride (whole) + 4 * x;
        const guint32 *a = (const void *) (cairo_image_surface_get_data (whole) + at);
        const guint32 *b = (const void *) (cairo_image_surface_get_data (tiled) + at);

        if ((*a & 0xffffff) != (*b & 0xffffff))
          g_error ("(%u, %u): %06x in tiles, %06x at once", x, y, *b & 0xffffff, *a & 0xffffff);
      }
  ir_tiles_free (tiles);
  settle (20); /* what was under way ends by itself */
  cairo_surface_destroy (tiled);
  cairo_surface_destroy (whole);
}

/* -- the same picture everywhere -- */

static void
compare_scenes (const IrScene *a, const IrScene *b)
{
  guint n, n_other;
  const IrSceneBox *x = ir_scene_boxes (a, &n), *y = ir_scene_boxes (b, &n_other);

  g_assert_cmpuint (n, ==, n_other);
  for (guint i = 0; i < n; i++)
    {
      IrSceneName p = { 0 }, q = { 0 };

      g_assert_cmpint (x[i].kind, ==, y[i].kind);
      g_assert_cmpint (x[i].state, ==, y[i].state);
      g_assert_cmpint (x[i].colour, ==, y[i].colour);
      g_assert_cmpint (x[i].accent, ==, y[i].accent);
      g_assert_cmpint (x[i].dimmed, ==, y[i].dimmed);
      g_assert_cmpint (x[i].has_tint, ==, y[i].has_tint);
      g_assert_cmpfloat (x[i].tint, ==, y[i].tint);
      g_assert_cmpfloat (x[i].heat, ==, y[i].heat);
      g_assert_cmpfloat (x[i].x, ==, y[i].x);
      g_assert_cmpfloat (x[i].width, ==, y[i].width);
      g_assert_cmpstr (x[i].fold, ==, y[i].fold);
      g_assert_cmpstr (x[i].tip, ==, y[i].tip);
      for (double zoom = 0.05; zoom < 0.6; zoom += 0.1) /* what is written far out */
        {
          g_assert_cmpint (ir_scene_name (a, (gint32) i, zoom, &p), ==,
                           ir_scene_name (b, (gint32) i, zoom, &q));
          g_assert_cmpstr (p.text, ==, q.text);
          g_assert_cmpfloat (p.x, ==, q.x);
          g_assert_cmpfloat (p.size, ==, q.size);
        }
    }
}

/* As irscope render draws: by the look alone, of the model alone. */
static void
compare_with_render (IrSession *session)
{
  const IrFrame *frame = ir_session_get_frame (session);
  g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
  const IrLookSubject subject = { .model = frame->model,
                                  .diff = frame->from != frame->to ? frame->diff : NULL,
                                  .measure = ir_text_measure_width,
                                  .measure_data = measure };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrScene)
      scene = ir_look_draw (ir_session_get_look (session), &subject, NULL, NULL, &error);
  g_autofree char *mine = ir_scene_to_text (frame->scene), *rendered = NULL;

  g_assert_no_error (error);
  rendered = ir_scene_to_text (scene);
  g_assert_cmpstr (mine, ==, rendered);
  compare_scenes (frame->scene, scene);
}

/* -- functions -- */

static const char functions[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]>\n"
    "g (float[4] x) => (float[4] y) { a = local.Block (x) b = local.Block (a) y = Relu (b) }\n"
    "<domain: \"local\", opset_import: [\"\" : 17]>\n"
    "Block (x) => (y) { t = Sigmoid (x) y = Mul (t, x) }";

static const char *
fold_of (IrSession *session, IrNodeId node)
{
  const IrFrame *frame = ir_session_get_frame (session);
  guint n;

  return ir_scene_boxes (frame->scene, &n)[ir_frame_find_box (frame, node)].fold;
}

/* By the chevron, by Enter, beside; a function is drawn in one of its calls. */
static void
test_functions (void)
{
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "functions.onnxtxt", NULL);
  IrWindow *window = g_object_new (IR_TYPE_WINDOW, NULL);
  IrSession *session = ir_window_get_session (window);
  IrCanvas *canvas;
  g_autofree char *closed = NULL, *again = NULL;
  IrNodeId sigmoid;

  g_assert_true (g_file_set_contents (path, functions, -1, NULL));
  gtk_window_present (GTK_WINDOW (window));
  ir_session_open (session, path);
  wait_for ("the model", is_current, session);
  canvas = IR_CANVAS (find_widget (GTK_WIDGET (window), IR_TYPE_CANVAS));
  closed = scene_text (session);
  sigmoid = find_op (session, "Sigmoid");
  g_assert_false (is_drawn (session, "Sigmoid"));
  g_assert_false (ir_session_has_folds (session, TRUE)); /* no group of the graph */
  ir_session_toggle_fold (session, fold_of (session, 1));
  wait_for ("the open call", is_current, session);
  g_assert_true (is_drawn (session, "Sigmoid"));
  compare_with_render (session);
  /* what is found in it is shown in it */
  ir_session_show_node (session, sigmoid);
  wait_for ("the node", is_current, session);
  g_assert_null (ir_session_get_look (session)->root);
  /* another call */
  ir_session_select_node (session, 2);
  act (canvas, session, "canvas.activate");
  g_assert_true (is_drawn (session, "Sigmoid"));
  g_assert_true (g_hash_table_contains (ir_session_get_look (session)->calls, "call:node:2"));
  g_assert_false (g_hash_table_contains (ir_session_get_look (session)->calls, "call:node:1"));
  act (canvas, session, "view.close-group");
  g_assert_false (is_drawn (session, "Sigmoid"));
  act (canvas, session, "view.beside");
  g_assert_true (is_drawn (session, "Sigmoid"));
  compare_with_render (session);
  act (canvas, session, "view.beside");
  ir_session_select_node (session, 0);
  wait_for ("the graph", is_current, session);
  again = scene_text (session);
  g_assert_cmpstr (again, ==, closed);
  /* searched for where it is not drawn, it is entered */
  ir_session_show_node (session, sigmoid);
  wait_for ("the body", is_current, session);
  g_assert_nonnull (ir_session_get_look (session)->root);
  gtk_window_destroy (GTK_WINDOW (window));
  g_unlink (path);
  g_rmdir (dir);
}

static void
test_same_picture (void)
{
  static const char *const files[] = { "digits.onnx", "if-branch.onnx", "transformer-block.onnx" };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", files[i], NULL);
      g_autoptr (IrSession) session = ir_session_new ();

      ir_session_open (session, path);
      wait_for ("the model", is_current, session);
      compare_with_render (session);
      ir_session_set_overlay (session, "bytes");
      ir_session_add_rule (session, "op:relu", IR_RULE_DIM, 0);
      wait_for ("the overlay", is_current, session);
      compare_with_render (session);
    }
}

int
main (int argc, char *argv[])
{
  g_autofree char *data = g_dir_make_tmp ("irscope-parts-XXXXXX", NULL);
  g_autofree char *folder = g_build_filename (data, "irscope", NULL);
  g_autofree char *views = g_build_filename (folder, "views.json", NULL);
  int status;

  g_setenv ("XDG_DATA_HOME", data, TRUE);
  g_setenv ("XDG_CONFIG_HOME", data, TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
  g_test_add_func ("/parts/a branch is entered and left", test_enter);
  g_test_add_func ("/parts/branches stand beside", test_beside);
  g_test_add_func ("/parts/the selection alone and what it grows by", test_frontier);
  g_test_add_func ("/parts/a part of which nothing is left is no empty graph",
                   test_frontier_of_gone);
  g_test_add_func ("/parts/views are kept under numbers", test_kept);
  g_test_add_func ("/parts/functions are drawn in one of their calls", test_functions);
  g_test_add_func ("/parts/moved boxes and numbers are kept, too", test_kept_places);
  g_test_add_func ("/parts/a group that is closed again leaves no trace", test_closing);
  g_test_add_func ("/parts/boxes go from where they were", test_tween);
  g_test_add_func ("/parts/boxes on their way when the window goes", test_motion);
  g_test_add_func ("/parts/tiles are the picture", test_tiles);
  g_test_add_func ("/parts/the window draws what render draws", test_same_picture);
  status = g_test_run ();
  g_remove (views);
  g_rmdir (folder);
  g_rmdir (data);
  return status;
}
