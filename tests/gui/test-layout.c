/* Where the parts of the window are: the graph has most of it until there is more to be seen, and in
 * a small window the panes lie over it. */
#include "config.h"

#include "app/gui/state.h"
#include "app/gui/window.h"
#include "passes/pipeline/pipeline.h"
#include "tests/gui/seen.h"
#include "views/graph/canvas.h"
#include "views/session/act.h"
#include "views/session/debug.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/run-control.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/view.h"

#include <math.h>

#define MOST_LEAST 520 /* px that a view may need */

/* Part of the window that is canvas, of 1. */
static double
graph_part (IrWindow *window)
{
  GtkWidget *canvas = find (GTK_WIDGET (window), is_canvas, NULL);

  if (gtk_widget_get_width (GTK_WIDGET (window)) == 0)
    return 0; /* it has no size yet */
  return (double) gtk_widget_get_width (canvas) * gtk_widget_get_height (canvas) /
         gtk_widget_get_width (GTK_WIDGET (window)) / gtk_widget_get_height (GTK_WIDGET (window));
}

static gboolean
is_on (IrWindow *window, const char *action)
{
  g_autoptr (GVariant) state = g_action_group_get_action_state (G_ACTION_GROUP (window), action);

  return g_variant_get_boolean (state);
}

static void
expect_part (IrWindow *window, double least, double most)
{
  for (guint ms = 0;
       ms < PATIENCE_MS && (graph_part (window) < least || graph_part (window) > most); ms += 50)
    settle (50);
  g_test_message ("window %dx%d, canvas %dx%d", gtk_widget_get_width (GTK_WIDGET (window)),
                  gtk_widget_get_height (GTK_WIDGET (window)),
                  gtk_widget_get_width (find (GTK_WIDGET (window), is_canvas, NULL)),
                  gtk_widget_get_height (find (GTK_WIDGET (window), is_canvas, NULL)));
  g_assert_cmpfloat (graph_part (window), >=, least);
  g_assert_cmpfloat (graph_part (window), <=, most);
}

static void
test_first (void)
{
  static const int sizes[][2] = { { 1280, 860 }, { 1200, 800 }, { 800, 600 }, { 1920, 1080 } };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      IrWindow *window = open_window (sizes[i][0], sizes[i][1]);

      g_assert_cmpint (gtk_widget_get_width (GTK_WIDGET (window)), <=, sizes[i][0] + 60);
      expect_part (window, 0.65, 1);
      g_test_message ("%dx%d: %.3f", sizes[i][0], sizes[i][1], graph_part (window));
      expect_seen (window, "IrStepsView", FALSE);
      expect_seen (window, "IrTensorView", FALSE);
      close_window (window);
    }
}

static void
test_raised (void)
{
  IrWindow *window = open_window (1280, 860);
  IrSession *session = ir_window_get_session (window);

  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  settle (200);
  g_assert_true (is_on (window, "show-start"));
  expect_seen (window, "IrStepsView", TRUE);
  expect_seen (window, "IrTransport", TRUE);
  expect_seen (window, "IrTensorView", FALSE);
  ir_session_run_graph (session);
  wait_for ("the run", is_open_and_idle, session);
  settle (200);
  expect_seen (window, "IrTensorView", TRUE);
  /* what was closed by hand does not come again by itself */
  g_action_group_change_action_state (G_ACTION_GROUP (window), "show-bottom",
                                      g_variant_new_boolean (FALSE));
  ir_session_run_graph (session);
  wait_for ("the run", is_open_and_idle, session);
  settle (200);
  expect_seen (window, "IrTensorView", FALSE);
  close_window (window);
}

static void
test_alone (void)
{
  IrWindow *window = open_window (1280, 860);
  IrSession *session = ir_window_get_session (window);
  double before;

  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  expect_seen (window, "IrStepsView", TRUE); /* its pane came, and took its part */
  settle (400);
  before = graph_part (window);
  g_action_group_activate_action (G_ACTION_GROUP (window), "graph-alone", NULL);
  settle (200);
  expect_part (window, 0.9, 1);
  g_action_group_activate_action (G_ACTION_GROUP (window), "graph-alone", NULL);
  settle (200);
  expect_part (window, before - 1e-9, before + 1e-9);
  /* what is asked for by name comes, and the rest with it */
  g_action_group_activate_action (G_ACTION_GROUP (window), "graph-alone", NULL);
  settle (200);
  g_action_group_activate_action (G_ACTION_GROUP (window), "show", g_variant_new_string ("memory"));
  settle (200);
  expect_seen (window, "IrMemoryView", TRUE);
  g_assert_false (is_on (window, "graph-alone"));
  close_window (window);
}

static void
test_narrow (void)
{
  IrWindow *window = open_window (800, 600);
  IrSession *session = ir_window_get_session (window);
  double before;

  expect_seen (window, "IrPropertiesView", FALSE);
  expect_part (window, 0.65, 1);
  before = graph_part (window);
  int least;
  gtk_widget_measure (GTK_WIDGET (window), GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL,
                      NULL);
  g_assert_cmpint (least, <=, 800);

  g_assert_false (is_on (window, "show-end"));
  expect_seen (window, "IrPropertiesView", FALSE);
  select_at (window, NULL, 240, 0);
  g_assert_cmpfloat (selected_end (window).x, >, 800 - 300);
  g_action_group_change_action_state (G_ACTION_GROUP (window), "show-end",
                                      g_variant_new_boolean (TRUE));
  settle (400);
  expect_seen (window, "IrPropertiesView", TRUE);
  expect_part (window, before - 1e-9, before + 1e-9); /* it lies over the graph */
  /* but not on what is selected */
  for (guint ms = 0; ms < PATIENCE_MS && selected_end (window).x > 800 - 300; ms += 50)
    settle (50);
  g_assert_cmpfloat (selected_end (window).x, <=, 800 - 300);
  /* one at a time */
  g_action_group_activate_action (G_ACTION_GROUP (window), "show",
                                  g_variant_new_string ("differences"));
  settle (400);
  expect_seen (window, "IrDifferencesView", TRUE);
  g_assert_false (is_on (window, "show-end"));
  g_assert_true (is_on (window, "show-start"));
  /* Escape closes it wherever the focus is */
  g_assert_true (press_key (GTK_WIDGET (window), GDK_KEY_Escape));
  g_assert_false (is_on (window, "show-start"));
  g_assert_false (press_key (GTK_WIDGET (window), GDK_KEY_Escape));
  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  /* and back beside it, where there is room again */
  gtk_window_set_default_size (GTK_WINDOW (window), 1280, 800);
  settle (600);
  for (guint ms = 0; ms < PATIENCE_MS && gtk_widget_get_width (GTK_WIDGET (window)) < 1200;
       ms += 50)
    settle (50);
  expect_seen (window, "IrPropertiesView", TRUE);
  g_assert_true (is_on (window, "show-end"));
  /* a graph that a run made low has little over it */
  ir_session_run_graph (session);
  wait_for ("the run", is_open_and_idle, session);
  expect_seen (window, "IrTensorView", TRUE);
  GtkWidget *canvas = find (GTK_WIDGET (window), is_canvas, NULL);
  for (guint ms = 0; ms < PATIENCE_MS && ir_canvas_get_inset (IR_CANVAS (canvas)) > 70; ms += 50)
    settle (50);
  g_assert_cmpfloat (ir_canvas_get_inset (IR_CANVAS (canvas)), <=, 70);
  close_window (window);
}

static gboolean
stands (gpointer session)
{
  return ir_session_get_standing (session) != NULL;
}

/* A run that stands fits into a small window with all that is said of it. */
static void
test_standing (void)
{
  IrWindow *window = open_window (800, 600);
  IrSession *session = ir_window_get_session (window);
  int least;

  g_action_group_activate_action (G_ACTION_GROUP (window), "drive", g_variant_new_string ("step"));
  wait_for ("a run that stands", stands, session);
  expect_seen (window, "IrRunView", TRUE);
  gtk_widget_measure (GTK_WIDGET (window), GTK_ORIENTATION_VERTICAL, 800, &least, NULL, NULL, NULL);
  g_assert_cmpint (least, <=, 600);
  close_window (window);
}

/* Not in sight any more when tensors come below; a ramp of numbers that are too large for an index */
static const char failing[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[4] x) => (float[2] y) <float[3,2] t = {1,2,3,4,5,6}, float k = {9.0}>\n"
    "{ a = Abs (x) b = Neg (a) c = Abs (b) s = ReduceMax <keepdims = 0> (c) p = Add (s, k) i = Cast <to = 7> (p)\n"
    "  y = Gather (t, i) }\n";

static void
test_failing (void)
{
  IrWindow *window = open_window (1280, 860);
  IrSession *session = ir_window_get_session (window);
  g_autofree char *path = g_build_filename (g_get_user_config_dir (), "failing.onnxtxt", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);

  g_assert_true (g_file_set_contents (path, failing, -1, NULL));
  ir_window_open (window, file);
  settle (100);
  wait_for ("the graph", is_open_and_idle, session);
  ir_session_run_graph (session);
  wait_for ("the run", is_open_and_idle, session);
  expect_seen (window, "IrTensorView", TRUE);
  g_assert_cmpstr (
      ir_model_live_node (ir_session_get_history (session), ir_session_get_selected_node (session))
          ->op_type,
      ==, "Gather");
  for (guint ms = 0; ms < PATIENCE_MS && selected_end (window).y > free_height (window); ms += 50)
    settle (50);
  g_assert_cmpfloat (selected_end (window).y, <=, free_height (window));
  close_window (window);
}

/* What floats over the graph stands beside a pane that lies on it. */
static void
test_beside_drawer (void)
{
  IrWindow *window = open_window (800, 600);
  GtkWidget *drawer, *floating[2];
  graphene_rect_t over, at;

  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, ir_window_get_session (window));
  g_action_group_activate_action (G_ACTION_GROUP (window), "show-start", NULL);
  expect_seen (window, "IrStepsView", TRUE);
  g_action_group_activate_action (G_ACTION_GROUP (window), "view", g_variant_new_string ("search"));
  settle (600);
  drawer = find (GTK_WIDGET (window), has_type, "IrStepsView");
  floating[0] = find (GTK_WIDGET (window), has_type, "IrSearchPanel");
  floating[1] = find (GTK_WIDGET (window), has_type, "IrTransport");
  g_assert_true (gtk_widget_compute_bounds (drawer, GTK_WIDGET (window), &over));
  for (guint i = 0; i < G_N_ELEMENTS (floating); i++)
    {
      g_assert_true (gtk_widget_get_mapped (floating[i]));
      g_assert_true (gtk_widget_compute_bounds (floating[i], GTK_WIDGET (window), &at));
      g_assert_cmpfloat (at.origin.x, >=, over.origin.x + over.size.width);
      g_assert_cmpfloat (at.origin.x + at.size.width, <=, 800);
    }
  close_window (window);
}

/* The parent of that name or class of CSS, around it. */
static GtkWidget *
around (GtkWidget *widget, const char *name, const char *css)
{
  while (widget != NULL && (name != NULL ? strcmp (gtk_widget_get_css_name (widget), name) != 0
                                         : !gtk_widget_has_css_class (widget, css)))
    widget = gtk_widget_get_parent (widget);
  g_assert_nonnull (widget);
  return widget;
}

/* A drawer is not as wide as the longest name in it, and what floats stands above each other without a gap. */
static void
test_long_lines (void)
{
  IrWindow *window = open_window (800, 600);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *drawer, *transport, *bar, *legend;
  graphene_rect_t over, at, above;

  ir_session_act (session, (const char *const[]){
                               "rename", "/conv1/Conv",
                               "/a/name/that/is/as/long/as/two/lines/in/a/drawer/Conv", NULL });
  wait_for ("the name", is_open_and_idle, session);
  settle (300);
  select_at (window, "Conv", 0, 0);
  ir_session_show_view (session, "why");
  expect_seen (window, "IrWhyView", TRUE);
  settle (900);
  drawer = around (find (GTK_WIDGET (window), has_type, "IrWhyView"), NULL, "drawer");
  transport = find (GTK_WIDGET (window), has_type, "IrTransport");
  bar = around (find_label (GTK_WIDGET (window), " %"), NULL, "canvas-controls");
  legend = around (find_label (GTK_WIDGET (window), " changed"), NULL, "canvas-note");
  g_assert_true (gtk_widget_compute_bounds (drawer, GTK_WIDGET (window), &over));
  g_assert_true (gtk_widget_compute_bounds (transport, GTK_WIDGET (window), &at));
  g_assert_cmpfloat (over.size.width, <=, 340);
  g_assert_cmpfloat (at.origin.x + at.size.width, <=, over.origin.x);
  g_assert_true (gtk_widget_compute_bounds (bar, GTK_WIDGET (window), &at));
  g_assert_true (gtk_widget_compute_bounds (legend, GTK_WIDGET (window), &above));
  g_assert_cmpfloat (above.origin.y + above.size.height, <=, at.origin.y + at.size.height);
  g_assert_cmpfloat (above.origin.y + above.size.height, >=, at.origin.y - 30);
  close_window (window);
}

static gboolean
lists_views (GtkWidget *widget, gpointer data)
{
  return GTK_IS_MENU_BUTTON (widget) && gtk_widget_get_mapped (widget) &&
         g_strcmp0 (gtk_widget_get_tooltip_text (widget), "All views of this pane") == 0;
}

static gboolean
is_tab_in_front (GtkWidget *widget, gpointer data)
{
  return GTK_IS_TOGGLE_BUTTON (widget) && gtk_widget_get_mapped (widget) &&
         gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (widget)) && is_shown (widget, data);
}

/* Tabs that do not fit are in a menu, and the one in front is in sight. */
static void
test_tabs (void)
{
  IrWindow *window = open_window (800, 600);
  GtkWidget *tab, *scroller;
  graphene_rect_t at;

  g_assert_nonnull (find (GTK_WIDGET (window), lists_views, NULL));
  g_action_group_activate_action (G_ACTION_GROUP (window), "show", g_variant_new_string ("nodes"));
  settle (500);
  g_assert_nonnull (find (GTK_WIDGET (window), lists_views, NULL));
  tab = find (GTK_WIDGET (window), is_tab_in_front, "Nodes");
  g_assert_nonnull (tab);
  scroller = gtk_widget_get_ancestor (tab, GTK_TYPE_SCROLLED_WINDOW);
  g_assert_true (gtk_widget_compute_bounds (tab, scroller, &at));
  g_assert_cmpfloat (at.origin.x, >=, 0);
  g_assert_cmpfloat (at.origin.x + at.size.width, <=, gtk_widget_get_width (scroller) + 0.5);
  close_window (window);
  window = open_window (1280, 800); /* all fit below the graph */
  settle (300);
  g_assert_null (find (GTK_WIDGET (window), lists_views, NULL));
  close_window (window);
}

/* After a run there is still a graph to be seen, and its map lies on nothing else. */
static void
test_small_run (void)
{
  IrWindow *window = open_window (800, 600);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *map;

  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  settle (300);
  select_at (window, NULL, 0, 150);
  ir_session_run_graph (session);
  wait_for ("the run", is_open_and_idle, session);
  expect_seen (window, "IrTensorView", TRUE);
  for (guint ms = 0; ms < PATIENCE_MS && free_height (window) < 180; ms += 50)
    settle (50);
  g_assert_cmpint (free_height (window), >=, 180);
  for (guint ms = 0; ms < PATIENCE_MS && selected_end (window).y > free_height (window); ms += 50)
    settle (50);
  g_assert_cmpfloat (selected_end (window).y, <=, free_height (window)); /* it went up with it */
  map = find (GTK_WIDGET (window), has_type, "IrMinimap");
  g_assert_true (gtk_widget_get_visible (map));
  /* where there is not even that, the map goes */
  gtk_paned_set_position (
      GTK_PANED (gtk_widget_get_ancestor (find (GTK_WIDGET (window), has_type, "IrTensorView"),
                                          GTK_TYPE_PANED)),
      160);
  for (guint ms = 0; ms < PATIENCE_MS && gtk_widget_get_visible (map); ms += 50)
    settle (50);
  g_assert_false (gtk_widget_get_visible (map));
  close_window (window);
}

static gboolean
is_main_menu (GtkWidget *widget, gpointer data)
{
  return GTK_IS_MENU_BUTTON (widget) && gtk_menu_button_get_primary (GTK_MENU_BUTTON (widget));
}

static void
test_menu (void)
{
  IrWindow *window = open_window (1280, 800);
  GtkWidget *button = find (GTK_WIDGET (window), is_main_menu, NULL);
  GtkRequisition size;

  gtk_menu_button_popup (GTK_MENU_BUTTON (button));
  settle (300);
  gtk_widget_get_preferred_size (
      GTK_WIDGET (gtk_menu_button_get_popover (GTK_MENU_BUTTON (button))), NULL, &size);
  g_assert_cmpint (size.height, >, 100);
  g_assert_cmpint (size.height, <, 600);
  gtk_menu_button_popdown (
      GTK_MENU_BUTTON (button)); /* the toolkit asks for the pointer above it */
  settle (300);
  close_window (window);
}

static gboolean
leads_on (GtkWidget *widget, gpointer icon)
{
  return GTK_IS_BUTTON (widget) && gtk_widget_has_css_class (widget, "more") &&
         g_strcmp0 (gtk_button_get_icon_name (GTK_BUTTON (widget)), icon) == 0;
}

/* Tools that do not fit are reached by an arrow. */
static void
test_tools (void)
{
  GtkWidget *window = gtk_window_new (), *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 4),
            *scrolled, *last = NULL, *forth, *back;
  graphene_rect_t at;

  for (guint i = 0; i < 20; i++)
    gtk_box_append (GTK_BOX (row), last = gtk_button_new_with_label ("A tool"));
  scrolled = ir_view_scrolled_row (row);
  gtk_window_set_child (GTK_WINDOW (window), scrolled);
  gtk_window_set_default_size (GTK_WINDOW (window), 300, 60);
  gtk_window_present (GTK_WINDOW (window));
  settle (300);
  forth = find (scrolled, leads_on, "go-next-symbolic");
  back = find (scrolled, leads_on, "go-previous-symbolic");
  g_assert_true (gtk_widget_get_visible (forth));
  g_assert_false (gtk_widget_get_visible (back));
  for (guint i = 0; i < 30 && gtk_widget_get_visible (forth); i++)
    {
      g_signal_emit_by_name (forth, "clicked");
      settle (30);
    }
  g_assert_false (gtk_widget_get_visible (forth));
  g_assert_true (gtk_widget_get_visible (back));
  g_assert_true (gtk_widget_compute_bounds (last, scrolled, &at));
  g_assert_cmpfloat (at.origin.x, >, 0);
  g_assert_cmpfloat (at.origin.x + at.size.width, <=, gtk_widget_get_width (scrolled) + 1);
  gtk_window_destroy (GTK_WINDOW (window));
}

static gboolean
is_menu_of_canvas (GtkWidget *widget, gpointer data)
{
  return GTK_IS_POPOVER_MENU (widget) && gtk_widget_has_css_class (widget, "dense");
}

static const IrSceneBox *
find_owner (IrSession *session)
{
  guint n;
  const IrSceneBox *box = ir_scene_boxes (ir_session_get_frame (session)->scene, &n);

  while (box->node == 0 || box->fold == NULL)
    box++;
  return box;
}

/* What has the most entries, the menu of a node that is a group and owns graphs, has room on a small screen, and
 * slides up there: above or below the pointer alone it would be cut. */
static void
test_menu_of_node (void)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "if-branch.onnx", NULL);
  IrWindow *window = open_window (1280, 800);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *menu;
  GtkRequisition size;

  ir_session_open (session, path);
  wait_for ("the model", is_open_and_idle, session);
  ir_session_select_node (session, find_owner (session)->node);
  settle (300);
  g_signal_emit_by_name (find (GTK_WIDGET (window), is_canvas, NULL), "menu", 100.0, 400.0);
  settle (300);
  menu = find (GTK_WIDGET (window), is_menu_of_canvas, NULL);
  gtk_widget_get_preferred_size (menu, NULL, &size);
  g_assert_cmpint (size.height, >, 400);
  g_assert_cmpint (size.height, <=, 600);
  g_assert_cmpint (gtk_popover_get_position (GTK_POPOVER (menu)), ==, GTK_POS_RIGHT);
  gtk_popover_popdown (GTK_POPOVER (menu));
  settle (300);
  close_window (window);
}

/* A pane below the graph is as wide as 1,280 px leave beside two others. */
static void
assert_narrow (GtkWidget *widget)
{
  int least;

  gtk_widget_measure (widget, GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL, NULL);
  if (IR_IS_VIEW (widget) && least > MOST_LEAST)
    g_error ("%s needs %d px", ir_view_get_info (IR_VIEW (widget))->title, least);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    assert_narrow (child);
}

/* Whoever sees only a picture on a button must be told what it does. */
static void
assert_named (GtkWidget *widget)
{
  if (GTK_IS_BUTTON (widget) || GTK_IS_MENU_BUTTON (widget))
    {
      const char *label = GTK_IS_BUTTON (widget) ? gtk_button_get_label (GTK_BUTTON (widget))
                                                 : NULL;
      const char *icon = GTK_IS_BUTTON (widget)
                             ? gtk_button_get_icon_name (GTK_BUTTON (widget))
                             : gtk_menu_button_get_icon_name (GTK_MENU_BUTTON (widget));
      GtkWidget *around = widget;

      while (
          around != NULL && gtk_widget_get_tooltip_text (around) == NULL &&
          (GTK_IS_BUTTON (around) || GTK_IS_MENU_BUTTON (around) || ADW_IS_SPLIT_BUTTON (around)))
        around = gtk_widget_get_parent (around);
      if (icon != NULL && label == NULL && !gtk_widget_has_css_class (widget, "close") &&
          (around == NULL || gtk_widget_get_tooltip_text (around) == NULL))
        g_error ("a button has neither label nor tooltip: %s in %s", icon,
                 G_OBJECT_TYPE_NAME (gtk_widget_get_parent (widget)));
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (!GTK_IS_POPOVER (child) && !GTK_IS_WINDOW_CONTROLS (child))
      assert_named (child);
}

static void
test_names (void)
{
  IrWindow *window = open_window (1280, 800);

  assert_named (GTK_WIDGET (window));
  assert_narrow (GTK_WIDGET (window));
  close_window (window);
}

/* -- the text beside the graph -- */

static int
least_width (GtkWidget *widget)
{
  int least;

  gtk_widget_measure (widget, GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL, NULL);
  return least;
}

static int
right_edge (IrWindow *window, const char *view)
{
  GtkWidget *found = find (GTK_WIDGET (window), has_type, (gpointer) view);
  graphene_rect_t bounds;

  g_assert_true (gtk_widget_compute_bounds (found, GTK_WIDGET (window), &bounds));
  return (int) (bounds.origin.x + bounds.size.width);
}

static void
test_beside (void)
{
  static const int sizes[][2] = { { 1280, 860 }, { 800, 600 } };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      IrWindow *window = open_window (sizes[i][0], sizes[i][1]);
      int width;

      width = gtk_widget_get_width (GTK_WIDGET (window));
      g_action_group_activate_action (G_ACTION_GROUP (window), "show",
                                      g_variant_new_string ("text"));
      expect_seen (window, "IrTextView", TRUE);
      settle (300);
      g_test_message ("graph %d, text %d",
                      least_width (find (GTK_WIDGET (window), has_type, "IrGraphView")),
                      least_width (find (GTK_WIDGET (window), has_type, "IrTextView")));
      expect_seen (window, "IrGraphView", TRUE);
      g_assert_cmpint (gtk_widget_get_width (GTK_WIDGET (window)), ==, width);
      g_assert_cmpint (right_edge (window, "IrTextView"), <=, width);
      if (sizes[i][0] > 1200)
        g_assert_cmpint (right_edge (window, "IrPropertiesView"), <=, width);
      /* alone it has the window, and then the text is back */
      g_action_group_activate_action (G_ACTION_GROUP (window), "graph-alone", NULL);
      expect_seen (window, "IrTextView", FALSE);
      g_action_group_activate_action (G_ACTION_GROUP (window), "graph-alone", NULL);
      expect_seen (window, "IrTextView", TRUE);
      g_action_group_activate_action (G_ACTION_GROUP (window), "show-beside", NULL);
      expect_seen (window, "IrTextView", FALSE);
      g_assert_false (is_on (window, "show-beside"));
      close_window (window);
    }
}

/* Whatever pipeline is chosen, the window gets no wider by it. */
static void
test_long_names (void)
{
  IrWindow *window = open_window (800, 600);
  IrSession *session = ir_window_get_session (window);
  g_auto (GStrv) names = ir_pipeline_names ();
  int least;

  g_assert_true (
      ir_session_set_passes (session, (const char *const[]){ "fold-constants", NULL }, NULL, NULL));
  for (guint i = 0; i <= g_strv_length (names); i++)
    {
      ir_session_set_pipeline (session, names[i] != NULL ? names[i] : IR_SESSION_PASSES);
      settle (20);
      gtk_widget_measure (GTK_WIDGET (window), GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL,
                          NULL);
      g_assert_cmpint (least, <=, 800);
    }
  close_window (window);
}

/* What @widget is in, of a name or class in style sheets. */
/* A message leaves the legend to be read that comes when it is there. */
static void
test_message (void)
{
  IrWindow *window = open_window (800, 600);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *toast, *legend;
  graphene_rect_t a, b;

  g_action_group_activate_action (G_ACTION_GROUP (window), "optimize", NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  ir_session_set_compare (session, IR_COMPARE_ORIGINAL);
  wait_for ("the difference", is_open_and_idle, session);
  settle (600);
  toast = around (find_label (GTK_WIDGET (window), "nodes became"), "toast", NULL);
  legend = around (find_label (GTK_WIDGET (window), " removed"), NULL, "canvas-note");
  g_assert_true (gtk_widget_compute_bounds (toast, GTK_WIDGET (window), &a));
  g_assert_true (gtk_widget_compute_bounds (legend, GTK_WIDGET (window), &b));
  g_assert_false (graphene_rect_intersection (&a, &b, NULL));
  close_window (window);
}

/* A message leaves the buttons of the zoom also in a graph that is narrow beside its text, and goes with the next edit. */
static void
test_message_narrow (void)
{
  IrWindow *window = open_window (1280, 800);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *toast, *bar;
  graphene_rect_t a, b;

  ir_session_show_view (session, "text");
  ir_session_run_pipeline (session, NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  settle (1200);
  toast = around (find_label (GTK_WIDGET (window), "nodes became"), "toast", NULL);
  bar = around (find_label (GTK_WIDGET (window), " %"), NULL, "canvas-controls");
  g_assert_true (gtk_widget_compute_bounds (toast, GTK_WIDGET (window), &a));
  g_assert_true (gtk_widget_compute_bounds (bar, GTK_WIDGET (window), &b));
  g_assert_false (graphene_rect_intersection (&a, &b, NULL));
  ir_session_act (session, (const char *const[]){ "add", "Relu", "image", NULL });
  wait_for ("the edit", is_open_and_idle, session);
  settle (600);
  g_assert_null (find_label (GTK_WIDGET (window), "nodes became"));
  close_window (window);
}

static gboolean
is_toggle_of (GtkWidget *widget, gpointer label)
{
  return GTK_IS_TOGGLE_BUTTON (widget) &&
         g_strcmp0 (gtk_button_get_label (GTK_BUTTON (widget)), label) == 0;
}

/* What is listed beside a plan under a budget does not take its place, with a text of many lines before it. */
static void
test_budget (void)
{
  IrWindow *window = open_window (1280, 800);
  GtkWidget *view, *chart, *toggle;

  ir_session_select_node (ir_window_get_session (window), 1);
  ir_session_show_view (ir_window_get_session (window), "memory");
  expect_seen (window, "IrMemoryView", TRUE);
  view = find (GTK_WIDGET (window), has_type, (gpointer) "IrMemoryView");
  chart = find (view, has_type, (gpointer) "IrChartArea");
  settle (300);
  toggle = find (view, is_toggle_of, (gpointer) "Under a budget");
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (toggle), TRUE);
  settle (1000);
  g_assert_nonnull (find (view, has_type, (gpointer) "AdwActionRow"));
  g_assert_cmpint (gtk_widget_get_width (chart), >, gtk_widget_get_width (view) * 3 / 5);
  close_window (window);
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  load_style ();
  g_test_add_func ("/layout/the graph has most of the window at first", test_first);
  g_test_add_func ("/layout/panes come when there is something in them", test_raised);
  g_test_add_func ("/layout/the graph alone, and back", test_alone);
  g_test_add_func ("/layout/a run that stands fits into a small window", test_standing);
  g_test_add_func ("/layout/a node that failed is in sight", test_failing);
  g_test_add_func ("/layout/panes lie over the graph in a small window", test_narrow);
  g_test_add_func ("/layout/the text is beside the graph", test_beside);
  g_test_add_func ("/layout/a run leaves the graph room in a small window", test_small_run);
  g_test_add_func ("/layout/tabs that do not fit are in a menu", test_tabs);
  g_test_add_func ("/layout/what floats stands beside a drawer", test_beside_drawer);
  g_test_add_func ("/layout/long lines make no drawer wider", test_long_lines);
  g_test_add_func ("/layout/names of pipelines make no window wider", test_long_names);
  g_test_add_func ("/layout/a message leaves the legend", test_message);
  g_test_add_func ("/layout/a message leaves the zoom", test_message_narrow);
  g_test_add_func ("/layout/a list beside a plan leaves it room", test_budget);
  g_test_add_func ("/layout/the main menu fits a small screen", test_menu);
  g_test_add_func ("/layout/tools that do not fit are reached by arrows", test_tools);
  g_test_add_func ("/layout/the menu of a node fits a small screen", test_menu_of_node);
  g_test_add_func ("/layout/each icon says what it does, and no view needs much room", test_names);
  return run_window_tests ();
}
