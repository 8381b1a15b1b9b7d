/* The ways to see a difference, in a real window: two points on the sliders, ticks of a node, both sides
 * beside each other, the side before for a moment, and the change as large as it fits. */
#include "config.h"

#include "app/gui/step-ticks.h"
#include "app/gui/window.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/graph/two-sides.h"
#include "views/session/file.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/steps/step-list.h"

#include <math.h>
#include <string.h>

typedef struct
{
  IrWindow *window;
  IrSession *session;
  IrCanvas *canvas;
  guint n;
} Fixture;

static gboolean
is_drawn (gpointer data)
{
  const IrFrame *frame = ir_session_get_frame (data);

  return is_open_and_idle (data) && frame->from == ir_session_get_base (data);
}

static void
open_optimized (Fixture *self)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "digits.onnx", NULL);

  self->window = g_object_new (IR_TYPE_WINDOW, NULL);
  gtk_window_present (GTK_WINDOW (self->window));
  self->session = ir_window_get_session (self->window);
  ir_session_open (self->session, path);
  wait_for ("the model", is_open_and_idle, self->session);
  ir_session_set_prove (self->session, FALSE);
  ir_session_run_pipeline (self->session, NULL);
  wait_for ("the steps", is_drawn, self->session);
  self->n = ir_session_get_n_steps (self->session);
  self->canvas = IR_CANVAS (find_widget (GTK_WIDGET (self->window), IR_TYPE_CANVAS));
  settle (300);
}

static void
close_window (Fixture *self)
{
  gtk_window_destroy (GTK_WINDOW (self->window));
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static const IrFrame *
drawn (Fixture *self)
{
  wait_for ("the frame", is_drawn, self->session);
  settle (50);
  return ir_session_get_frame (self->session);
}

static GtkRange *
slider (Fixture *self, gboolean base)
{
  GtkWidget *found = base ? find_styled (GTK_WIDGET (self->window), GTK_TYPE_SCALE, "base")
                          : find_widget (GTK_WIDGET (self->window), GTK_TYPE_SCALE);

  g_assert_nonnull (found);
  g_assert_true (gtk_widget_has_css_class (found, "base") == base);
  return GTK_RANGE (found);
}

/* The list of steps has keys of its own for the pass before, which moved its focus and nothing else. */
static void
test_keys_of_list (void)
{
  Fixture self = { 0 };
  GtkWidget *list;
  guint before;

  open_optimized (&self);
  list = find_styled (GTK_WIDGET (self.window), GTK_TYPE_LIST_VIEW, "steps");
  g_assert_nonnull (list);
  g_assert_cmpuint (ir_session_get_cursor (self.session), ==, self.n);
  g_assert_true (press_key_with (list, GDK_KEY_Left, GDK_CONTROL_MASK));
  drawn (&self);
  before = ir_session_get_cursor (self.session);
  g_assert_cmpuint (before, <, self.n);
  g_assert_true (press_key_with (list, GDK_KEY_Left, GDK_CONTROL_MASK));
  drawn (&self);
  g_assert_cmpuint (ir_session_get_cursor (self.session), <, before);
  g_assert_true (press_key_with (list, GDK_KEY_Right, GDK_CONTROL_MASK));
  drawn (&self);
  g_assert_cmpuint (ir_session_get_cursor (self.session), ==, before);
  close_window (&self);
}

static gboolean
row_has_focus (gpointer data)
{
  const Fixture *self = data;
  GtkWidget *focus = gtk_window_get_focus (GTK_WINDOW (self->window));

  return focus != NULL && gtk_widget_get_mapped (focus) &&
         find_label (focus, "Eliminate identities") != NULL;
}

/* The list has the focus, and stands at its last step: the row of the first pass is out of sight. */
static gboolean
is_at_last_step (gpointer data)
{
  const Fixture *self = data;
  GtkWidget *list = find_styled (GTK_WIDGET (self->window), GTK_TYPE_LIST_VIEW, "steps");

  return list != NULL && gtk_widget_get_focus_child (list) != NULL &&
         find_label (list, "Eliminate identities") == NULL;
}

/* With the focus in the list, too, a row that is out of sight comes into it, and has the focus then. */
static void
test_rows_follow (void)
{
  Fixture self = { 0 };
  GtkWidget *list;

  open_optimized (&self);
  list = find_styled (GTK_WIDGET (self.window), GTK_TYPE_LIST_VIEW, "steps");
  gtk_widget_activate_action (list, "win.show", "s", "steps");
  wait_for ("the last step", is_at_last_step, &self);
  for (guint i = 0; i < 30 && ir_session_get_cursor (self.session) > 2; i++)
    {
      gtk_widget_activate_action (list, "win.previous-pass", NULL);
      drawn (&self);
    }
  g_assert_cmpuint (ir_session_get_cursor (self.session), ==, 2);
  wait_for ("the row", row_has_focus, &self);
  close_window (&self);
}

/* -- two points -- */

static void
test_two_points (void)
{
  Fixture self = { 0 };
  const IrFrame *frame;
  guint counts[2][IR_N_DIFF_KINDS];

  open_optimized (&self);
  g_assert_cmpfloat (gtk_range_get_value (slider (&self, FALSE)), ==, self.n);
  g_assert_cmpfloat (gtk_range_get_value (slider (&self, TRUE)), ==, self.n - 1);

  gtk_range_set_value (slider (&self, TRUE), 3);
  frame = drawn (&self);
  g_assert_cmpuint (frame->from, ==, 3);
  g_assert_cmpuint (frame->to, ==, self.n);
  g_assert_cmpint (ir_session_get_compare (self.session), ==, IR_COMPARE_PINNED);
  memcpy (counts[0], frame->diff->n_nodes, sizeof counts[0]);

  /* the other point moves, this one stays; and the difference seen from the other end is the same */
  gtk_range_set_value (slider (&self, FALSE), 3);
  gtk_range_set_value (slider (&self, TRUE), self.n);
  frame = drawn (&self);
  g_assert_cmpuint (frame->from, ==, self.n);
  g_assert_cmpuint (frame->to, ==, 3);
  memcpy (counts[1], frame->diff->n_nodes, sizeof counts[1]);
  g_assert_cmpuint (counts[0][IR_DIFF_SAME], ==, counts[1][IR_DIFF_SAME]);
  g_assert_cmpuint (counts[0][IR_DIFF_CHANGED], ==, counts[1][IR_DIFF_CHANGED]);
  g_assert_cmpuint (counts[0][IR_DIFF_ADDED], ==, counts[1][IR_DIFF_REMOVED]);
  g_assert_cmpuint (counts[0][IR_DIFF_REMOVED], ==, counts[1][IR_DIFF_ADDED]);

  /* one point is a look */
  gtk_range_set_value (slider (&self, TRUE), 3);
  frame = drawn (&self);
  g_assert_cmpuint (frame->from, ==, frame->to);
  g_assert_false (ir_scene_is_diff (frame->scene));

  /* the keys, and the ends */
  g_action_group_activate_action (G_ACTION_GROUP (self.window), "base-earlier", NULL);
  g_assert_cmpuint (drawn (&self)->from, ==, 2);
  for (guint i = 0; i < 5; i++)
    g_action_group_activate_action (G_ACTION_GROUP (self.window), "base-earlier", NULL);
  g_assert_cmpuint (drawn (&self)->from, ==, 0);
  close_window (&self);
}

/* -- ticks -- */

static void
test_ticks (void)
{
  Fixture self = { 0 };
  GtkWidget *ticks;
  g_autoptr (GArray) touches = NULL;
  const IrModel *history;
  guint n_born = 0, n_gone = 0;

  open_optimized (&self);
  ticks = find_widget (GTK_WIDGET (self.window), IR_TYPE_STEP_TICKS);
  g_assert_nonnull (strstr (gtk_widget_get_tooltip_text (ticks), "Ends of passes"));
  history = ir_session_get_history (self.session);
  for (IrNodeId id = 1; id < history->nodes->len; id++)
    {
      const IrNode *node = ir_model_node (history, id);

      if (node == NULL || strcmp (node->op_type, "BatchNormalization") != 0)
        continue;
      touches = ir_session_touches_of (self.session, id);
      g_assert_cmpint (g_array_index (touches, IrTouch, touches->len - 1).kind, ==, IR_TOUCH_GONE);
      ir_session_goto (self.session, 0);
      drawn (&self);
      ir_session_select_node (self.session, id);
      g_assert_nonnull (strstr (gtk_widget_get_tooltip_text (ticks), "gone at step"));
      break;
    }
  g_assert_nonnull (touches);
  for (IrNodeId id = 1; id < history->nodes->len; id++)
    {
      g_autoptr (GArray) all = ir_session_touches_of (self.session, id);

      for (guint i = 0; i < all->len; i++)
        {
          n_born += g_array_index (all, IrTouch, i).kind == IR_TOUCH_BORN;
          n_gone += g_array_index (all, IrTouch, i).kind == IR_TOUCH_GONE;
        }
    }
  g_assert_cmpuint (n_born, >, 0);
  g_assert_cmpuint (n_gone, >, n_born);
  close_window (&self);
}

/* -- both sides -- */

static const IrSceneBox *
box_of_state (Fixture *self, IrSceneState state)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (ir_canvas_get_scene (self->canvas), &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].state == state && boxes[i].kind == IR_SCENE_NODE)
      return &boxes[i];
  g_assert_not_reached ();
}

static gboolean
can_pick (IrCanvas *canvas, const IrSceneBox *box)
{
  const IrCamera now = ir_canvas_get_camera (canvas);

  return ir_canvas_pick (canvas, (box->x + box->width / 2) * now.zoom - now.x,
                         (box->y + 8) * now.zoom - now.y)
             .box >= 0;
}

static void
view_action (Fixture *self, const char *name)
{
  g_action_group_activate_action (G_ACTION_GROUP (self->window), "view",
                                  g_variant_new_string (name));
}

static void
test_sides (void)
{
  Fixture self = { 0 };
  GtkWidget *pair;
  IrCanvas *before;
  IrCamera a, b;

  open_optimized (&self);
  ir_session_set_compare (self.session, IR_COMPARE_ORIGINAL);
  drawn (&self);
  g_assert_true (can_pick (self.canvas, box_of_state (&self, IR_SCENE_NEW)));
  g_assert_true (can_pick (self.canvas, box_of_state (&self, IR_SCENE_REMOVED)));

  view_action (&self, "side-by-side");
  settle (400);
  pair = find_widget (GTK_WIDGET (self.window), IR_TYPE_TWO_SIDES);
  before = IR_CANVAS (find_widget (gtk_widget_get_first_child (pair), IR_TYPE_CANVAS));
  g_assert_true (before != self.canvas);
  g_assert_true (gtk_widget_get_mapped (GTK_WIDGET (before)));
  g_assert_true (can_pick (self.canvas, box_of_state (&self, IR_SCENE_NEW)));
  g_assert_false (can_pick (self.canvas, box_of_state (&self, IR_SCENE_REMOVED)));
  g_assert_false (can_pick (before, box_of_state (&self, IR_SCENE_NEW)));
  g_assert_true (can_pick (before, box_of_state (&self, IR_SCENE_REMOVED)));

  /* one place and zoom, whichever was moved */
  ir_canvas_zoom_by (before, 1.3);
  settle (300);
  a = ir_canvas_get_camera (before);
  b = ir_canvas_get_camera (self.canvas);
  g_assert_cmpfloat (a.zoom, ==, b.zoom);
  g_assert_cmpfloat (fabs (a.x - b.x) + fabs (a.y - b.y), <, 3);
  ir_canvas_centre (self.canvas, 100, 300);
  settle (500);
  a = ir_canvas_get_camera (before);
  b = ir_canvas_get_camera (self.canvas);
  g_assert_cmpfloat (fabs (a.x - b.x) + fabs (a.y - b.y), <, 3);

  /* selected in one, selected in both */
  ir_session_select_node (self.session, box_of_state (&self, IR_SCENE_CHANGED)->node);
  g_assert_cmpint (ir_canvas_selected_box (before), >=, 0);
  g_assert_cmpint (ir_canvas_selected_box (before), ==, ir_canvas_selected_box (self.canvas));

  /* where nothing is compared there is one */
  ir_session_set_compare (self.session, IR_COMPARE_NOTHING);
  drawn (&self);
  g_assert_false (gtk_widget_get_mapped (GTK_WIDGET (before)));
  ir_session_set_compare (self.session, IR_COMPARE_ORIGINAL);
  drawn (&self);
  g_assert_true (gtk_widget_get_mapped (GTK_WIDGET (before)));
  view_action (&self, "side-by-side");
  g_assert_false (gtk_widget_get_mapped (GTK_WIDGET (before)));
  g_assert_true (can_pick (self.canvas, box_of_state (&self, IR_SCENE_REMOVED)));
  close_window (&self);
}

static void
test_blink (void)
{
  Fixture self = { 0 };

  open_optimized (&self);
  ir_session_set_compare (self.session, IR_COMPARE_ORIGINAL);
  drawn (&self);
  ir_canvas_blink (self.canvas, TRUE);
  g_assert_false (can_pick (self.canvas, box_of_state (&self, IR_SCENE_NEW)));
  g_assert_true (can_pick (self.canvas, box_of_state (&self, IR_SCENE_REMOVED)));
  ir_canvas_blink (self.canvas, FALSE);
  g_assert_true (can_pick (self.canvas, box_of_state (&self, IR_SCENE_NEW)));
  ir_session_set_compare (self.session, IR_COMPARE_NOTHING);
  drawn (&self);
  ir_canvas_blink (self.canvas, TRUE); /* there is nothing before */
  g_assert_false (ir_scene_is_diff (ir_canvas_get_scene (self.canvas)));
  close_window (&self);
}

static void
test_zoom_to_change (void)
{
  Fixture self = { 0 };
  const IrSceneBox *changed;
  IrLayoutRect sight;

  open_optimized (&self);
  ir_session_goto (self.session, 20);
  drawn (&self);
  ir_canvas_fit (self.canvas);
  settle (400);
  g_assert_cmpfloat (ir_canvas_get_zoom (self.canvas), <, 0.5);
  view_action (&self, "show-changes");
  settle (500);
  g_assert_cmpfloat (ir_canvas_get_zoom (self.canvas), >, 0.6);
  changed = box_of_state (&self, IR_SCENE_NEW);
  sight = ir_canvas_get_sight (self.canvas);
  g_assert_cmpfloat (changed->x, >=, sight.x);
  g_assert_cmpfloat (changed->y, >=, sight.y);
  g_assert_cmpfloat (changed->x + changed->width, <=, sight.x + sight.width);
  g_assert_cmpfloat (changed->y + changed->height, <=, sight.y + sight.height);
  close_window (&self);
}

/* In lines or not. */
static gboolean
tip_says (GtkWidget *widget, const char *text)
{
  g_autofree char *tip = g_strdup (gtk_widget_get_tooltip_text (widget));

  return tip != NULL && strstr (g_strdelimit (tip, "\n", ' '), text) != NULL;
}

/* What a step did stands above the graph, not on it, and can be read whole. */
static void
test_caption (void)
{
  Fixture self = { 0 };
  const IrModel *history;
  GtkWidget *bar;
  graphene_rect_t place;

  open_optimized (&self);
  history = ir_session_get_history (self.session);
  bar = find_styled (GTK_WIDGET (self.window), GTK_TYPE_BOX, "caption-bar");
  for (guint i = 0; i <= self.n; i++)
    {
      const char *reason = i > 0 ? ir_history_step (history, i)->reason : NULL;

      ir_session_goto (self.session, i);
      drawn (&self);
      g_assert_true (
          gtk_widget_get_mapped (bar)); /* at the beginning, too: so the graph does not jump */
      if (reason != NULL)
        g_assert_true (tip_says (bar, reason));
    }
  settle (100);
  g_assert_true (gtk_widget_compute_bounds (bar, GTK_WIDGET (self.canvas), &place));
  g_assert_cmpfloat (place.origin.y + place.size.height, <=, 0);
  close_window (&self);
}

/* A step that changes no box and leaves a smaller graph than the one before: it comes back into sight. */
static void
test_follows_graph (void)
{
  Fixture self = { 0 };
  IrLayoutRect bounds, seen;

  open_optimized (&self);
  ir_session_goto (self.session, 0);
  drawn (&self);
  settle (400);
  bounds = ir_scene_bounds (ir_canvas_get_scene (self.canvas));
  ir_canvas_centre (self.canvas, bounds.x + bounds.width, bounds.y + bounds.height);
  ir_session_goto (self.session, self.n);
  drawn (&self);
  settle (400);
  bounds = ir_scene_bounds (ir_canvas_get_scene (self.canvas));
  seen = ir_canvas_get_sight (self.canvas);
  g_assert_cmpfloat (seen.x, <, bounds.x + bounds.width / 2);
  g_assert_cmpfloat (seen.x + seen.width, >, bounds.x + bounds.width / 2);
  g_assert_cmpfloat (seen.y, <, bounds.y + bounds.height - seen.height / 2);
  close_window (&self);
}

/* -- cards -- */

static guint
row_of (GListModel *rows, IrStepRowKind kind, guint step)
{
  for (guint i = 0; i < g_list_model_get_n_items (rows); i++)
    {
      g_autoptr (IrStepRow) row = g_list_model_get_item (rows, i);

      if (ir_step_row_get_kind (row) == kind && ir_step_row_get_step (row) == step)
        return i;
    }
  g_assert_not_reached ();
}

/* A card shows all that its pass did, a step what it did; and the other way round. */
static void
test_cards (void)
{
  Fixture self = { 0 };
  GtkWidget *list, *page;
  GtkSingleSelection *chosen;
  const IrPassRun *run;
  guint last;

  open_optimized (&self);
  ir_session_show_view (self.session, "steps");
  settle (200);
  list = find_styled (GTK_WIDGET (self.window), GTK_TYPE_LIST_VIEW, "steps");
  page = find_styled (GTK_WIDGET (self.window), GTK_TYPE_BOX, "step-details");
  chosen = GTK_SINGLE_SELECTION (gtk_list_view_get_model (GTK_LIST_VIEW (list)));
  run = ir_history_pass_run (ir_session_get_history (self.session),
                             ir_history_step (ir_session_get_history (self.session), 20)->pass_run);
  last = run->first_step + run->n_steps - 1;

  gtk_single_selection_set_selected (chosen,
                                     row_of (G_LIST_MODEL (chosen), IR_STEP_ROW_PASS, last));
  g_assert_cmpint (ir_session_get_compare (self.session), ==, IR_COMPARE_PASS);
  g_assert_cmpuint (drawn (&self)->from, ==, run->first_step - 1);
  g_assert_cmpuint (ir_session_get_cursor (self.session), ==, last);
  g_assert_true (is_shown (page, "Its Steps"));
  g_assert_false (is_shown (page, "Details"));

  gtk_single_selection_set_selected (chosen, row_of (G_LIST_MODEL (chosen), IR_STEP_ROW_STEP, 20));
  g_assert_cmpint (ir_session_get_compare (self.session), ==, IR_COMPARE_STEP);
  drawn (&self);
  g_assert_true (is_shown (page, "became"));
  g_assert_true (is_shown (page, "Details"));
  g_assert_true (is_shown (page, "+ ")); /* the expression */

  ir_session_pass_by (self.session, -1);
  drawn (&self);
  g_assert_cmpuint (
      gtk_single_selection_get_selected (chosen), ==,
      row_of (G_LIST_MODEL (chosen), IR_STEP_ROW_PASS, ir_session_get_cursor (self.session)));
  gtk_single_selection_set_selected (chosen, row_of (G_LIST_MODEL (chosen), IR_STEP_ROW_IDLE, 0));
  g_assert_true (is_shown (page, "Passes That Did Nothing"));
  close_window (&self);
}

static gboolean
is_exported (gpointer data)
{
  return g_file_test (data, G_FILE_TEST_EXISTS);
}

/* A difference is exported as DOT with what it is, a graph alone as one that can be read back. */
static void
test_export (void)
{
  Fixture self = { 0 };
  g_autofree char *folder = g_dir_make_tmp ("irscope-steps-XXXXXX", NULL),
                  *path = g_build_filename (folder, "d.dot", NULL), *difference = NULL,
                  *graph = NULL;

  open_optimized (&self);
  ir_session_goto (self.session, 20);
  drawn (&self);
  ir_session_export (self.session, path);
  wait_for ("the file", is_exported, path);
  g_assert_true (g_file_get_contents (path, &difference, NULL, NULL));
  g_assert_nonnull (strstr (difference, "label=\"+ Conv"));
  g_assert_nonnull (strstr (difference, "class=\"removed\""));
  ir_session_set_compare (self.session, IR_COMPARE_NOTHING);
  drawn (&self);
  remove (path);
  ir_session_export (self.session, path);
  wait_for ("the file", is_exported, path);
  g_assert_true (g_file_get_contents (path, &graph, NULL, NULL));
  g_assert_null (strstr (graph, "class=\"new\""));
  g_assert_nonnull (strstr (graph, "name="));
  remove (path);
  remove (folder);
  close_window (&self);
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  g_test_add_func ("/steps/a card is all that its pass did", test_cards);
  g_test_add_func ("/steps/the list goes from pass to pass, too", test_keys_of_list);
  g_test_add_func ("/steps/the row of the step comes into sight with the focus", test_rows_follow);
  g_test_add_func ("/differences/are exported as DOT", test_export);
  g_test_add_func ("/differences/are of any two points, either way round", test_two_points);
  g_test_add_func ("/differences/ticks say what became of a node", test_ticks);
  g_test_add_func ("/differences/both sides stand beside each other, at one place", test_sides);
  g_test_add_func ("/differences/the caption stands above the graph", test_caption);
  g_test_add_func ("/differences/a graph that got smaller is in sight", test_follows_graph);
  g_test_add_func ("/differences/the side before is seen for a moment", test_blink);
  g_test_add_func ("/differences/the change is as large as it fits", test_zoom_to_change);
  return g_test_run ();
}
