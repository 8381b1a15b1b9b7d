/* The views that show what is inside: the graph at a glance, and contents of values. */
#include "config.h"

#include "app/gui/window.h"
#include "tests/gui/waiting.h"
#include "views/session/runs.h"
#include "views/session/selection.h"

#include <string.h>

typedef struct
{
  IrWindow *window;
  IrSession *session;
  const char *text; /* waited for */
} Window;

static void
open_digits (Window *self)
{
  g_autofree char *path = g_build_filename (g_getenv ("IRSCOPE_DATADIR"), "examples", "digits.onnx",
                                            NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);

  self->window = ir_window_new (NULL);
  self->session = ir_window_get_session (self->window);
  gtk_window_present (GTK_WINDOW (self->window));
  gtk_test_widget_wait_for_draw (GTK_WIDGET (self->window));
  ir_window_open (self->window, file);
  wait_for ("the graph", is_open_and_idle, self->session);
}

static void
close_window (Window *self)
{
  gtk_window_destroy (GTK_WINDOW (self->window));
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
show_view (Window *self, const char *id)
{
  g_action_group_activate_action (G_ACTION_GROUP (self->window), "show", g_variant_new_string (id));
}

static GtkWidget *
find_label (GtkWidget *widget, const char *text)
{
  if (GTK_IS_LABEL (widget) && gtk_widget_get_mapped (widget) &&
      strstr (gtk_label_get_text (GTK_LABEL (widget)), text) != NULL)
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found = find_label (child, text);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static gboolean
is_shown (gpointer data)
{
  Window *self = data;

  return find_label (GTK_WIDGET (self->window), self->text) != NULL;
}

static void
wait_for_text (Window *self, const char *text)
{
  self->text = text;
  wait_for (text, is_shown, self);
}

static gboolean
is_sensitive (gpointer data)
{
  return gtk_widget_is_sensitive (data);
}

static void
test_summary (void)
{
  Window self;

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
  close_window (&self);
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  g_test_add_func ("/looking/summary", test_summary);
  return run_window_tests ();
}
