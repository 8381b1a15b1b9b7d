/* Keys step through the graph and never move a divider; a double click puts one back. */
#include "config.h"

#include "app/gui/panes.h"
#include "app/gui/window.h"
#include "tests/gui/waiting.h"

#include <string.h>

/* -- all dividers of a window -- */

typedef void (*PanedFunc) (GtkPaned *paned);

static guint
for_each_paned (GtkWidget *root, PanedFunc func)
{
  guint n = 0;

  if (GTK_IS_PANED (root))
    {
      func (GTK_PANED (root));
      n++;
    }
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += for_each_paned (child, func);
  return n;
}

/* What F6, F8, arrows, Home and End do at a divider. */
static void
assert_takes_no_key (GtkPaned *paned)
{
  const int before = gtk_paned_get_position (paned);
  gboolean taken = TRUE;

  g_assert_false (gtk_widget_get_focusable (GTK_WIDGET (paned)));
  g_signal_emit_by_name (paned, "cycle-handle-focus", FALSE, &taken);
  g_assert_false (taken);
  g_signal_emit_by_name (paned, "cycle-child-focus", FALSE, &taken);
  g_assert_false (taken);
  gtk_widget_grab_focus (GTK_WIDGET (paned));
  g_signal_emit_by_name (paned, "move-handle", GTK_SCROLL_END, &taken);
  g_assert_false (taken);
  g_assert_cmpint (gtk_paned_get_position (paned), ==, before);
}

static void
test_keys (void)
{
  IrWindow *window = ir_window_new (NULL);

  gtk_window_present (GTK_WINDOW (window));
  gtk_test_widget_wait_for_draw (GTK_WIDGET (window));
  g_assert_cmpuint (for_each_paned (GTK_WIDGET (window), assert_takes_no_key), >=, 8);
  gtk_window_destroy (GTK_WINDOW (window));
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
test_keep (void)
{
  g_assert_cmpint (ir_panes_keep (320, 240, 1280), ==, 320);
  g_assert_cmpint (ir_panes_keep (1200, 240, 1280), ==, 576);
  g_assert_cmpint (ir_panes_keep (-5, 240, 1280), ==, 240);
  g_assert_cmpint (ir_panes_keep (400, 240, 300), ==, 240);
}

/* -- a double click -- */

static int
at_100 (GtkPaned *paned, gpointer data)
{
  return 100;
}

static GtkGesture *
click_of (GtkWidget *paned)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (paned);

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_GESTURE_CLICK (controller))
        return GTK_GESTURE (controller);
    }
  return NULL;
}

static void
test_double_click (void)
{
  GtkWidget *window = gtk_window_new (), *paned = gtk_paned_new (GTK_ORIENTATION_HORIZONTAL);
  GtkGesture *click;

  gtk_paned_set_start_child (GTK_PANED (paned), gtk_label_new ("a"));
  gtk_paned_set_end_child (GTK_PANED (paned), gtk_label_new ("b"));
  ir_panes_set_up (GTK_PANED (paned), at_100, NULL);
  gtk_window_set_default_size (GTK_WINDOW (window), 400, 200);
  gtk_window_set_child (GTK_WINDOW (window), paned);
  gtk_window_present (GTK_WINDOW (window));
  gtk_test_widget_wait_for_draw (window);
  gtk_paned_set_position (GTK_PANED (paned), 300);
  gtk_test_widget_wait_for_draw (window);
  click = click_of (paned);
  g_assert_nonnull (click);
  g_signal_emit_by_name (click, "pressed", 1, 50.0, 100.0);
  g_signal_emit_by_name (click, "pressed", 2, 50.0, 100.0);
  g_assert_cmpint (gtk_paned_get_position (GTK_PANED (paned)), ==, 300); /* in a pane */
  g_signal_emit_by_name (click, "pressed", 1, 300.5, 100.0);
  g_assert_cmpint (gtk_paned_get_position (GTK_PANED (paned)), ==, 300);
  g_signal_emit_by_name (click, "pressed", 1, 300.5, 100.0);
  g_assert_cmpint (gtk_paned_get_position (GTK_PANED (paned)), ==, 100);
  gtk_window_destroy (GTK_WINDOW (window));
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  g_test_add_func ("/panes/dividers take no keys", test_keys);
  g_test_add_func ("/panes/kept sizes leave room for the graph", test_keep);
  g_test_add_func ("/panes/a double click puts a divider back", test_double_click);
  return run_window_tests ();
}
