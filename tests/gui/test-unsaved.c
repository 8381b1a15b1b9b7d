/* Nothing drops edits that are in no file without the question whether to save them. */
#include "config.h"

#include "app/gui/window.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/kernels.h"

#include <glib/gstdio.h>
#include <string.h>

/* -- a window with an edit -- */

typedef struct
{
  IrWindow *window;
  IrSession *session;
} Fixture;

static char *
example (const char *name)
{
  return g_build_filename (IR_SOURCE_DATADIR, "examples", name, NULL);
}

static void
set_up (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = example ("digits.onnx");
  g_autoptr (GFile) file = g_file_new_for_path (path);
  guint n;

  fixture->window = g_object_ref (ir_window_new (NULL));
  fixture->session = g_object_ref (ir_window_get_session (fixture->window));
  gtk_window_present (GTK_WINDOW (fixture->window));
  gtk_test_widget_wait_for_draw (GTK_WIDGET (fixture->window));
  ir_window_open (fixture->window, file);
  wait_for ("the model", is_open_and_idle, fixture->session);
  IrNode *const *order = ir_graph_order (ir_session_get_frame (fixture->session)->model->main, &n);
  for (guint i = 0; i < n && !ir_session_get_modified (fixture->session); i++)
    if (strcmp (order[i]->op_type, "Conv") == 0)
      {
        ir_session_ask_for_kernel (fixture->session, order[i]->id, "ref");
        wait_for ("the edit", is_open_and_idle, fixture->session);
        break;
      }
  g_assert_true (ir_session_get_modified (fixture->session));
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  gtk_window_destroy (GTK_WINDOW (fixture->window));
  g_object_unref (fixture->window);
  g_object_unref (fixture->session);
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* (nullable) */
static AdwMessageDialog *
question (void)
{
  GListModel *tops = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (tops); i++)
    {
      g_autoptr (GtkWindow) top = g_list_model_get_item (tops, i);

      if (ADW_IS_MESSAGE_DIALOG (top))
        return ADW_MESSAGE_DIALOG (top);
    }
  return NULL;
}

static gboolean
is_answered (gpointer data)
{
  return question () == NULL;
}

static void
answer (const char *response)
{
  AdwMessageDialog *dialog = question ();

  g_assert_nonnull (dialog);
  g_assert_true (adw_message_dialog_has_response (dialog, "save"));
  adw_message_dialog_response (dialog, response);
  gtk_window_destroy (GTK_WINDOW (dialog)); /* as a click on a button does */
  wait_for ("the end of the question", is_answered, NULL);
}

/* -- ways to lose edits -- */

static void
activate (Fixture *fixture, const char *action, const char *target)
{
  g_action_group_activate_action (G_ACTION_GROUP (fixture->window), action,
                                  target != NULL ? g_variant_new_string (target) : NULL);
}

static void
test_new (Fixture *fixture, gconstpointer data)
{
  activate (fixture, "new", NULL);
  answer ("cancel");
  g_assert_cmpstr (ir_session_get_title (fixture->session), ==, "digits.onnx");
  g_assert_true (ir_session_get_modified (fixture->session));
  activate (fixture, "new", NULL);
  answer ("discard");
  g_assert_cmpstr (ir_session_get_title (fixture->session), ==, "New graph");
  activate (fixture, "new", NULL); /* nothing was edited */
  g_assert_null (question ());
}

/* As Recent, the examples, a dropped file and the file dialog do. */
static void
test_open (Fixture *fixture, gconstpointer data)
{
  g_autofree char *path = example ("transformer-block.onnx");
  g_autoptr (GFile) file = g_file_new_for_path (path);

  activate (fixture, "open-file", path);
  answer ("cancel");
  ir_window_open (fixture->window, file);
  answer ("cancel");
  g_assert_cmpstr (ir_session_get_title (fixture->session), ==, "digits.onnx");
  ir_window_open (fixture->window, file);
  answer ("discard");
  wait_for ("the other model", is_open_and_idle, fixture->session);
  g_assert_cmpstr (ir_session_get_title (fixture->session), ==, "transformer-block.onnx");
}

/* As the toolkit tells of files that are dropped on the window. Whether they were taken. */
static gboolean
drop (Fixture *fixture, const char *const *names)
{
  g_autoptr (GListModel)
      controllers = gtk_widget_observe_controllers (GTK_WIDGET (fixture->window));
  g_auto (GValue) value = G_VALUE_INIT;
  g_autoptr (GtkEventController) target = NULL;
  GSList *files = NULL;
  gboolean taken = FALSE;

  for (guint i = 0; target == NULL; i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      g_assert_nonnull (controller);
      if (GTK_IS_DROP_TARGET (controller))
        target = g_steal_pointer (&controller);
    }
  for (; *names != NULL; names++)
    {
      g_autofree char *path = example (*names);

      files = g_slist_append (files, g_file_new_for_path (path));
    }
  g_value_init (&value, GDK_TYPE_FILE_LIST);
  g_value_take_boxed (&value, files);
  g_signal_emit_by_name (target, "drop", &value, 10.0, 10.0, &taken);
  return taken;
}

static void
test_drop (Fixture *fixture, gconstpointer data)
{
  /* numbers are for the graph that is open: nothing is lost */
  g_assert_true (drop (fixture, (const char *const[]){ "digits-input-7.npy", NULL }));
  g_assert_null (question ());
  g_assert_true (drop (fixture, (const char *const[]){ "transformer-block.onnx", NULL }));
  answer ("cancel");
  g_assert_cmpstr (ir_session_get_title (fixture->session), ==, "digits.onnx");
  g_assert_true (
      drop (fixture, (const char *const[]){ "digits-untrained.onnx", "digits.onnx", NULL }));
  answer ("discard");
  wait_for ("both models", is_open_and_idle, fixture->session);
  g_assert_nonnull (ir_session_get_frame (fixture->session)->before);
  g_assert_true (ir_session_get_frame (fixture->session)->foreign);
  g_assert_true (drop (fixture, (const char *const[]){ "transformer-block.onnx", NULL }));
  g_assert_null (question ()); /* nothing was edited */
  wait_for ("the other model", is_open_and_idle, fixture->session);
  g_assert_cmpstr (ir_session_get_title (fixture->session), ==, "transformer-block.onnx");
}

static void
test_close (Fixture *fixture, gconstpointer data)
{
  activate (fixture, "close-graph", NULL);
  answer ("cancel");
  g_assert_true (gtk_widget_get_mapped (GTK_WIDGET (fixture->window)));
  gtk_window_close (GTK_WINDOW (fixture->window));
  answer ("discard");
  g_assert_false (gtk_widget_get_mapped (GTK_WIDGET (fixture->window)));
}

/* What is in a file is not asked about. */
static void
test_saved (Fixture *fixture, gconstpointer data)
{
  g_autofree char *dir = g_dir_make_tmp ("irscope-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (dir, "edited.onnx", NULL);

  activate (fixture, "export-to", path);
  wait_for ("the file", is_open_and_idle, fixture->session);
  g_assert_false (ir_session_get_modified (fixture->session));
  activate (fixture, "new", NULL);
  g_assert_null (question ());
  g_assert_cmpstr (ir_session_get_title (fixture->session), ==, "New graph");
  g_remove (path);
  g_rmdir (dir);
}

/* -- ways to lose what was typed -- */

static GtkWidget *
graph_view (Fixture *fixture)
{
  return find_widget (GTK_WIDGET (fixture->window), g_type_from_name ("IrGraphView"));
}

/* That of the palette of operators, which is the only popover of the view itself with one. */
static GtkWidget *
palette_entry (Fixture *fixture)
{
  GtkWidget *entry = NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (graph_view (fixture));
       entry == NULL && child != NULL; child = gtk_widget_get_next_sibling (child))
    if (GTK_IS_POPOVER (child))
      entry = find_widget (child, GTK_TYPE_SEARCH_ENTRY);
  return entry;
}

static void
type_and_enter (GtkWidget *entry, const char *text)
{
  gtk_editable_set_text (GTK_EDITABLE (entry), text);
  g_signal_emit_by_name (entry, "activate");
}

static void
test_refused_node (Fixture *fixture, gconstpointer data)
{
  const char *line = "Conv nothing_of_that_name group=1";
  GtkWidget *entry;

  gtk_widget_activate_action (graph_view (fixture), "view.add-node", NULL);
  entry = palette_entry (fixture);
  g_assert_true (gtk_widget_get_mapped (entry));
  type_and_enter (entry, line);
  g_assert_false (gtk_widget_get_mapped (entry));
  wait_for ("the answer", is_open_and_idle, fixture->session);
  g_assert_true (gtk_widget_get_mapped (entry));
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==, line);
  g_assert_true (is_shown (graph_view (fixture), "nothing_of_that_name"));
  g_assert_null (question ());
  /* until it is typed otherwise; then it is done */
  type_and_enter (entry, "Conv image data=nowhere");
  wait_for ("the answer", is_open_and_idle, fixture->session);
  g_assert_false (is_shown (graph_view (fixture), "nothing_of_that_name"));
  type_and_enter (entry, "Relu image");
  wait_for ("the node", is_open_and_idle, fixture->session);
  g_assert_false (gtk_widget_get_mapped (entry));
}

/* A palette that is left gives back the focus: the next key would open files. */
static void
test_left_palette (Fixture *fixture, gconstpointer data)
{
  GtkWidget *canvas = find_widget (GTK_WIDGET (fixture->window), g_type_from_name ("IrCanvas")),
            *popover;

  gtk_widget_grab_focus (canvas);
  gtk_widget_activate_action (graph_view (fixture), "view.add-node", NULL);
  popover = gtk_widget_get_ancestor (palette_entry (fixture), GTK_TYPE_POPOVER);
  g_assert_false (gtk_window_get_focus (GTK_WINDOW (fixture->window)) == canvas);
  gtk_popover_popdown (GTK_POPOVER (popover));
  settle (300);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (fixture->window)) == canvas);
}

static void
test_refused_answer (Fixture *fixture, gconstpointer data)
{
  GtkWidget *entry;

  for (guint trial = 0; trial < 2; trial++)
    {
      if (trial == 0)
        gtk_widget_activate_action (graph_view (fixture), "view.add-input", NULL);
      g_assert_nonnull (question ());
      entry = find_widget (GTK_WIDGET (question ()), GTK_TYPE_ENTRY);
      g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==,
                       trial == 0 ? "x" : "image");
      type_and_enter (entry, trial == 0 ? "image" : "another"); /* the model has that one */
      wait_for ("the answer", is_open_and_idle, fixture->session);
    }
  g_assert_null (question ());
  g_assert_nonnull (
      ir_graph_find_value (ir_session_get_frame (fixture->session)->model->main, "another"));
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
#define ADD(NAME, TEST) g_test_add ("/unsaved/" NAME, Fixture, NULL, set_up, TEST, tear_down)
  ADD ("asks before a new graph", test_new);
  ADD ("asks before another file", test_open);
  ADD ("asks before a file that is dropped", test_drop);
  ADD ("asks before the window closes", test_close);
  ADD ("does not ask about what was saved", test_saved);
  ADD ("keeps a node that was refused in the palette", test_refused_node);
  ADD ("gives back the focus of a palette that is left", test_left_palette);
  ADD ("asks again for what was refused", test_refused_answer);
  return run_window_tests ();
}
