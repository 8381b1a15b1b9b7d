/* The views that show what is inside: the graph at a glance, and contents of values. */
#include "config.h"

#include "tests/gui/opened.h"
#include "core/ir/count.h"
#include "views/label.h"
#include "views/graph/tip.h"
#include "views/session/debug.h"
#include "views/session/runs.h"
#include "views/session/file.h"
#include "views/session/selection.h"

#include <string.h>

static void
show_view (Opened *self, const char *id)
{
  g_action_group_activate_action (G_ACTION_GROUP (self->window), "show", g_variant_new_string (id));
}

static gboolean
is_sensitive (gpointer data)
{
  return gtk_widget_is_sensitive (data);
}

static void press (Opened *self, const char *title);

static gboolean
has_gain (gpointer data)
{
  const char *text = ir_session_get_gain (((Opened *) data)->session);

  return text != NULL && strstr (text, "would make 41 nodes 8") != NULL &&
         find_label (GTK_WIDGET (((Opened *) data)->window), text) != NULL;
}

static void
test_summary (void)
{
  Opened self;

  open_digits (&self);
  show_view (&self, "summary");
  wait_for_text (&self, "ai.onnx 17 · 0 problems");
  wait_for_text (&self, "Times: run the graph first");
  GtkWidget *roofline = gtk_widget_get_parent (find_label (GTK_WIDGET (self.window), "Roofline"));
  g_assert_false (gtk_widget_is_sensitive (roofline));
  ir_session_run_graph (self.session);
  wait_for ("the run", is_open_and_idle, self.session);
  wait_for ("the roofline", is_sensitive, roofline);
  g_assert_null (find_label (GTK_WIDGET (self.window), "Times: run the graph first"));
  press (&self, "What Optimize Would Gain");
  wait_for ("what it would gain", has_gain, &self);
  ir_session_measure_gain (self.session);
  g_assert_true (ir_session_is_measuring_gain (self.session));
  press (&self, "Cancel");
  g_assert_false (ir_session_is_measuring_gain (self.session));
  press (&self, "What Optimize Would Gain");
  wait_for ("what it would gain, again", has_gain, &self);
  close_window (&self);
}

/* Of two files what computes otherwise comes first, and what is only called otherwise is counted. */
static void
test_renamed (void)
{
  static const char *const graphs[] = {
    "g (float[2] x) => (float[2] y) { [one] a = Abs (x) [two] b = Neg (a) y = Exp (b) }",
    "g (float[2] x) => (float[2] y) { [uno] c = Abs (x) [due] d = Neg (c) y = Log (d) }",
  };
  char *paths[2];
  Opened self;

  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *name = g_strdup_printf ("named-%u.onnxtxt", i),
                      *text = g_strconcat ("<ir_version: 8, opset_import: [\"\" : 17]>\n",
                                           graphs[i], NULL);
      paths[i] = g_build_filename (g_get_user_config_dir (), name, NULL);
      g_assert_true (g_file_set_contents (paths[i], text, -1, NULL));
    }
  g_autoptr (GFile) file = g_file_new_for_path (paths[0]);
  open_digits (&self);
  ir_window_open (self.window, file);
  wait_for_text (&self, "named-0.onnxtxt");
  wait_for ("the graph", is_open_and_idle, self.session);
  show_view (&self, "differences");
  ir_session_compare_with (self.session, paths[1]);
  wait_for_text (&self, "2 of the changed only in names");
  close_window (&self);
  g_free (paths[0]);
  g_free (paths[1]);
}

static GtkWidget *
find_entry (GtkWidget *widget, const char *placeholder)
{
  if (GTK_IS_ENTRY (widget) && gtk_widget_get_mapped (widget) &&
      g_strcmp0 (gtk_entry_get_placeholder_text (GTK_ENTRY (widget)), placeholder) == 0)
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_entry (child, placeholder);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static GtkColumnView *
find_table (GtkWidget *widget)
{
  if (GTK_IS_COLUMN_VIEW (widget) && gtk_widget_get_mapped (widget))
    return GTK_COLUMN_VIEW (widget);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkColumnView *found = find_table (child);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static guint
selected_row (Opened *self)
{
  GtkColumnView *table = find_table (GTK_WIDGET (self->window));

  return gtk_single_selection_get_selected (
      GTK_SINGLE_SELECTION (gtk_column_view_get_model (table)));
}

static void
press (Opened *self, const char *title)
{
  GtkWidget *label = find_label (GTK_WIDGET (self->window), title);

  g_assert_nonnull (label);
  g_signal_emit_by_name (gtk_widget_get_ancestor (label, GTK_TYPE_BUTTON), "clicked");
}

/* Enter in @entry. */
static void
type (GtkWidget *entry, const char *text)
{
  gtk_editable_set_text (GTK_EDITABLE (entry), text);
  g_signal_emit_by_name (entry, "activate");
}

/* Least, largest and what is searched for lead to the same elements that the tensor has there. */
static void
test_tensor (void)
{
  Opened self;

  open_digits (&self);
  ir_session_run_graph (self.session);
  wait_for ("the run", is_open_and_idle, self.session);
  const IrModel *model = ir_session_get_frame (self.session)->model;
  const IrNode *conv = NULL;
  for (guint i = 1; i < model->nodes->len && conv == NULL; i++)
    if (ir_model_live_node (model, i) != NULL &&
        strcmp (ir_model_live_node (model, i)->op_type, "Conv") == 0)
      conv = ir_model_live_node (model, i);
  ir_session_select_node (self.session, conv->id);
  show_view (&self, "tensor");
  wait_for_text (&self, "Largest");
  g_autoptr (IrTensor)
      tensor = ir_session_dup_tensor (self.session, conv->outputs[0]->id, IR_SIDE_AFTER, NULL);
  const guint64 n = ir_tensor_n_elements (tensor);
  press (&self, "Least");
  for (guint64 i = 0; i < n; i++)
    g_assert_cmpfloat (ir_tensor_get_double (tensor, i), >=,
                       ir_tensor_get_double (tensor, selected_row (&self)));
  GtkWidget *find = find_entry (GTK_WIDGET (self.window), "Find");
  type (find, ">0.5");
  const guint first = selected_row (&self);
  g_assert_cmpfloat (ir_tensor_get_double (tensor, first), >, 0.5);
  type (find, ">0.5");
  g_assert_cmpuint (selected_row (&self), !=, first);
  g_assert_cmpfloat (ir_tensor_get_double (tensor, selected_row (&self)), >, 0.5);
  type (find, "many");
  g_assert_true (gtk_widget_has_css_class (find, "error"));
  /* a plane of 8 x 8: a quarter of it around the last element of the seventh channel, then all of it again */
  type (find_entry (GTK_WIDGET (self.window), "Index"), "0, 6, 7, 7");
  wait_for_text (&self, "[0, 6, :, :]");
  press (&self, "+");
  wait_for_text (&self, "[0, 6, 4:8, 4:8]");
  type (find_entry (GTK_WIDGET (self.window), "Index"), "0, 2, 0, 5");
  wait_for_text (&self, "[0, 2, 0:4, 4:8]");
  press (&self, "−");
  wait_for_text (&self, "[0, 2, :, :]");
  GtkWidget *axes = find_entry (GTK_WIDGET (self.window), "Axes");
  type (axes, "0,t,r");
  g_assert_true (gtk_widget_has_css_class (axes, "error"));
  type (axes, "0,t,r,c");
  g_assert_false (gtk_widget_has_css_class (axes, "error"));
  wait_for_text (&self, "[0, :, :, :]");
  type (axes, "0,3,r2:5,c");
  wait_for_text (&self, "[0, 3, 2:5, :]");
  type (axes, "0,3,r5:2,c");
  g_assert_true (gtk_widget_has_css_class (axes, "error"));
  close_window (&self);
}

static GtkWidget *
find_with_tip (GtkWidget *widget, GType type, const char *tip)
{
  if (G_TYPE_CHECK_INSTANCE_TYPE (widget, type) && gtk_widget_get_mapped (widget) &&
      g_strcmp0 (gtk_widget_get_tooltip_text (widget), tip) == 0)
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_with_tip (child, type, tip);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static const char *
selected_name (Opened *self)
{
  const IrNodeId node = ir_session_get_selected_node (self->session);

  return node != 0 ? ir_model_node (ir_session_get_frame (self->session)->model, node)->name : "";
}

/* Events lead to their nodes, one after the other, and can be those of one iteration. */
static GtkWidget *
find_toggle (GtkWidget *widget, const char *label)
{
  if (GTK_IS_TOGGLE_BUTTON (widget) && gtk_widget_get_mapped (widget) &&
      g_strcmp0 (gtk_button_get_label (GTK_BUTTON (widget)), label) == 0)
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_toggle (child, label);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static void
test_play (void)
{
  Opened self;
  g_autofree char *path = g_build_filename (g_getenv ("IRSCOPE_DATADIR"), "examples",
                                            "while-newton.onnxtxt", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);

  open_digits (&self);
  show_view (&self, "play");
  wait_for_text (&self, "Not Played");
  ir_window_open (self.window, file);
  wait_for ("the file", is_open_and_idle, self.session);
  press (&self, "Play the Graph");
  wait_for ("the events", is_open_and_idle, self.session);
  wait_for_text (&self, "All loops");
  gtk_check_button_set_active (
      GTK_CHECK_BUTTON (find_with_tip (GTK_WIDGET (self.window), GTK_TYPE_CHECK_BUTTON,
                                       "Only events of this iteration of the innermost loop")),
      TRUE);
  GtkWidget *next = find_with_tip (GTK_WIDGET (self.window), GTK_TYPE_BUTTON, "Next event (.)");
  g_signal_emit_by_name (next, "clicked");
  g_assert_cmpstr (selected_name (&self), ==, "loop");
  g_signal_emit_by_name (next, "clicked");
  g_assert_cmpstr (selected_name (&self), ==, "divide");
  g_signal_emit_by_name (next, "clicked");
  g_assert_cmpstr (selected_name (&self), ==, "add");
  g_signal_emit_by_name (
      find_with_tip (GTK_WIDGET (self.window), GTK_TYPE_BUTTON, "Previous event (,)"), "clicked");
  g_assert_cmpstr (selected_name (&self), ==, "divide");
  g_assert_true (gtk_widget_get_mapped (next));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (find_toggle (GTK_WIDGET (self.window), "Lanes")),
                                TRUE);
  g_assert_false (gtk_widget_get_mapped (next));
  gtk_toggle_button_set_active (
      GTK_TOGGLE_BUTTON (find_toggle (GTK_WIDGET (self.window), "Events")), TRUE);
  g_assert_true (gtk_widget_get_mapped (next));
  close_window (&self);
}

/* What divide gave in any iteration, and in two of them, beside each other. */
static void
check_rounds (Opened *self)
{
  ir_session_run_graph (self->session);
  wait_for ("the run", is_open_and_idle, self->session);
  show_view (self, "tensor");
  wait_for_text (self, "loop@99, 100 of 100");
  GtkWidget *scale = find_with_tip (GTK_WIDGET (self->window), GTK_TYPE_SCALE,
                                    "Which iteration of its loop the value is shown of");
  g_assert_null (find_label (GTK_WIDGET (self->window), "Before: the original graph"));
  gtk_range_set_value (GTK_RANGE (scale), 3);
  wait_for_text (self, "loop@3, 4 of 100");
  press (self, "Hold");
  wait_for_text (self, "Before: quotient in loop@3, 4 of 100, held");
  wait_for_text (self, "✓  before and after are equal, bit for bit");
  gtk_range_set_value (GTK_RANGE (scale), 0);
  wait_for_text (self, "loop@0, 1 of 100");
  wait_for_text (self, "Before: quotient in loop@3, 4 of 100, held");
  g_assert_null (
      find_label (GTK_WIDGET (self->window), "✓  before and after are equal, bit for bit"));
}

/* The text that says what a value held in an iteration is that of a run that keeps this iteration. */
static void
test_iterations (void)
{
  Opened self;
  g_autofree char *path = g_build_filename (g_getenv ("IRSCOPE_DATADIR"), "examples",
                                            "while-newton.onnxtxt", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);

  open_digits (&self);
  show_view (&self, "play");
  wait_for_text (&self, "Not Played");
  ir_window_open (self.window, file);
  wait_for ("the file", is_open_and_idle, self.session);
  press (&self, "Play the Graph");
  wait_for ("the events", is_open_and_idle, self.session);
  wait_for_text (&self, "All loops");
  gtk_toggle_button_set_active (
      GTK_TOGGLE_BUTTON (find_toggle (GTK_WIDGET (self.window), "Iterations")), TRUE);
  wait_for_text (&self, "1 of 100");
  GtkColumnView *table = find_table (GTK_WIDGET (self.window));
  GListModel *columns = gtk_column_view_get_columns (table);
  g_autoptr (GtkColumnViewColumn) first = g_list_model_get_item (columns, 1);
  g_assert_cmpstr (gtk_column_view_column_get_title (first), ==, "▸ loop@0");
  GtkWidget *next = find_with_tip (GTK_WIDGET (self.window), GTK_TYPE_BUTTON, "Next iteration (.)");
  GtkWidget *scale = find_with_tip (GTK_WIDGET (self.window), GTK_TYPE_SCALE,
                                    "Which iteration is shown");
  g_signal_emit_by_name (next, "clicked");
  wait_for_text (&self, "2 of 100");
  gtk_range_set_value (GTK_RANGE (scale), 99);
  wait_for_text (&self, "100 of 100");
  g_assert_false (gtk_widget_get_sensitive (next));
  g_assert_cmpstr (gtk_column_view_column_get_title (first), ==, "loop@95");
  gtk_range_set_value (GTK_RANGE (scale), 42);
  g_assert_cmpstr (gtk_column_view_column_get_title (first), ==, "loop@40");
  /* i, the number of the iteration itself; then what divide gives, whose node it selects */
  GtkSelectionModel *rows = gtk_column_view_get_model (table);
  gtk_selection_model_select_item (rows, 0, TRUE);
  wait_for_text (&self, "loop@42/i = 42, over all from 0 to 99");
  gtk_selection_model_select_item (rows, 3, TRUE);
  g_assert_cmpstr (selected_name (&self), ==, "divide");
  check_rounds (&self);
  close_window (&self);
}

static gboolean
has_size (gpointer canvas)
{
  return gtk_widget_get_width (canvas) > 0;
}

/* What is said of a box or a line lies neither on that box nor on the title of another. */
static void
test_tips (void)
{
  Opened self;
  guint n, n_tips = 0;

  open_digits (&self);
  IrCanvas *canvas = IR_CANVAS (find_widget (GTK_WIDGET (self.window), IR_TYPE_CANVAS));
  wait_for ("the canvas", has_size, canvas);
  ir_canvas_zoom_to (canvas, 0.5);
  const IrScene *scene = ir_canvas_get_scene (canvas);
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);
  const IrCamera now = ir_canvas_get_camera (canvas);
  IrTip *tip = ir_tip_new (canvas);
  for (double y = 4; y < now.height; y += 14)
    for (double x = 4; x < now.width; x += 14)
      {
        const IrSceneHit hit = ir_canvas_pick (canvas, x, y);
        graphene_rect_t rect, on;

        ir_tip_hide (tip);
        ir_tip_point (tip, hit, x, y);
        if (!ir_tip_show (tip))
          continue;
        n_tips++;
        g_assert_true (ir_tip_get_rect (tip, &rect));
        g_assert_cmpfloat (rect.origin.x + rect.size.width, <=, now.width + 1);
        for (guint i = 0; i < n; i++)
          {
            graphene_rect_t box = ir_camera_rect (&now, &boxes[i]);

            if (hit.box != (gint32) i) /* its title; of what the tip is about, all */
              box.size.height = (float) (boxes[i].header * now.zoom);
            if (boxes[i].kind != IR_SCENE_CLUSTER && graphene_rect_intersection (&rect, &box, &on))
              g_error ("the tip at %g, %g lies on %s", x, y, boxes[i].tip);
          }
      }
  g_assert_cmpuint (n_tips, >, 100);
  ir_tip_free (tip);
  close_window (&self);
}

/* The first nodes of a new graph are in sight, although what was drawn before had no size. */
static void
test_first_nodes (void)
{
  Opened self;

  self.window = ir_window_new (NULL);
  self.session = ir_window_get_session (self.window);
  gtk_window_present (GTK_WINDOW (self.window));
  gtk_test_widget_wait_for_draw (GTK_WIDGET (self.window));
  g_action_group_activate_action (G_ACTION_GROUP (self.window), "new", NULL);
  wait_for ("the new graph", is_idle, self.session);
  wait_for_text (&self, "The Graph Is Empty");
  show_view (&self, "text");
  settle (300);
  ir_session_edit (
      self.session, "Apply Text", ir_done_new (IR_DONE_ACT, "text", NULL, 0), apply_text,
      (gpointer) "g (float[3] x) => (float[3] y) { h = Relu (x) y = Sigmoid (h) }", NULL);
  wait_for ("the nodes", is_open_and_idle, self.session);
  IrCanvas *canvas = IR_CANVAS (find_widget (GTK_WIDGET (self.window), IR_TYPE_CANVAS));
  wait_for ("the canvas", has_size, canvas);
  settle (300);
  const IrLayoutRect graph = ir_scene_bounds (ir_canvas_get_scene (canvas)),
                     sight = ir_canvas_get_sight (canvas);
  g_assert_cmpfloat (sight.x, <=, graph.x);
  g_assert_cmpfloat (sight.x + sight.width, >=, graph.x + graph.width);
  close_window (&self);
}

/* An amount stays in one piece with its unit. */
static void
test_amounts (void)
{
  g_autofree char *percent = ir_percent_text (2, 1.7), *bytes = ir_unbroken ("−1.2 MiB");

  g_assert_cmpstr (percent, ==, "−15\302\240%");
  g_assert_cmpstr (bytes, ==, "−1.2\302\240MiB");
}

/* A file's name keeps its suffix in one piece, whether it is shortened or broken between lines. */
static void
test_file_names (void)
{
  const char *name = "my_network_with_long_name_quantized_v12.onnx";
  g_autofree char *same = ir_short_name ("digits.onnx"),
                  *whole = ir_breakable_name ("/a_b/digits.onnx"), *shorter = ir_short_name (name),
                  *broken = ir_breakable_name (name);

  g_assert_cmpstr (same, ==, "digits.onnx");
  g_assert_cmpstr (whole, ==, "/a_b/digits.onnx");
  g_assert_cmpstr (shorter, ==, "my_network_with_long_…tized_v12.onnx");
  g_assert_true (g_str_has_suffix (broken, "_\342\200\213v12\342\200\213.onnx"));
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  g_test_add_func ("/looking/summary", test_summary);
  g_test_add_func ("/looking/renamed", test_renamed);
  g_test_add_func ("/looking/tensor", test_tensor);
  g_test_add_func ("/looking/play", test_play);
  g_test_add_func ("/looking/iterations", test_iterations);
  g_test_add_func ("/looking/amounts do not break", test_amounts);
  g_test_add_func ("/looking/names of files keep their suffix", test_file_names);
  g_test_add_func ("/looking/the first nodes are in sight", test_first_nodes);
  g_test_add_func ("/looking/tips cover no title", test_tips);
  return run_window_tests ();
}
