/* What a window does besides: commands by name, breakpoints that mean something, graphs alone among
 * the recent files. */
#include "config.h"

#include "app/gui/application.h"
#include "app/gui/palette.h"
#include "app/gui/welcome.h"
#include "app/gui/window.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/session/debug.h"
#include "views/session/file.h"
#include "views/view.h"

static void
settle (guint ms)
{
  const gint64 end_us = g_get_monotonic_time () + ms * 1000;

  while (g_get_monotonic_time () < end_us)
    {
      g_main_context_iteration (NULL, FALSE);
      g_usleep (1000);
    }
}

static char *
example (const char *name)
{
  return g_build_filename (IR_SOURCE_DATADIR, "examples", name, NULL);
}

/* -- commands -- */

static char *
normal (const char *action)
{
  g_autofree char *name = NULL;
  g_autoptr (GVariant) target = NULL;

  g_assert_true (g_action_parse_detailed_name (action, &name, &target, NULL));
  return g_action_print_detailed_name (name, target);
}

static gboolean
is_command (const char *action)
{
  guint n;
  const IrCommand *commands = ir_commands (&n);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *known = normal (commands[i].action), *wanted = normal (action);

      if (strcmp (known, wanted) == 0)
        return TRUE;
    }
  return FALSE;
}

/* What has a key is in the palette, and what is in the palette can be done. */
static void
test_commands (void)
{
  g_autoptr (GtkApplication) application = GTK_APPLICATION (ir_application_new ());
  g_auto (GStrv) keyed = NULL;
  IrWindow *window;
  guint n;
  const IrCommand *commands = ir_commands (&n);

  g_assert_true (g_application_register (G_APPLICATION (application), NULL, NULL));
  keyed = gtk_application_list_action_descriptions (application);
  g_assert_cmpuint (g_strv_length (keyed), >, 20);
  for (guint i = 0; keyed[i] != NULL; i++)
    if (strcmp (keyed[i], "win.palette") != 0 && !is_command (keyed[i]))
      g_error ("%s has a key and is no command", keyed[i]);
  window = ir_window_new (application);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = NULL;
      g_autoptr (GVariant) target = NULL;

      g_assert_true (g_action_parse_detailed_name (commands[i].action, &name, &target, NULL));
      if (g_str_has_prefix (name, "win."))
        g_assert_true (g_action_group_has_action (G_ACTION_GROUP (window), name + 4));
      else
        g_assert_true (g_action_group_has_action (G_ACTION_GROUP (application), name + 4));
    }
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

static GtkWidget *
find_type (GtkWidget *root, GType type)
{
  GtkWidget *found = g_type_is_a (G_OBJECT_TYPE (root), type) ? root : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL && found == NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_type (child, type);
  return found;
}

static void
test_palette (void)
{
  g_autofree char *path = example ("digits.onnx");
  IrWindow *window = ir_window_new (NULL);
  IrSession *session = ir_window_get_session (window);
  GtkWidget *palette, *entry;

  ir_session_open (session, path);
  gtk_window_present (GTK_WINDOW (window));
  wait_for ("the model", is_open_and_idle, session);
  g_action_group_activate_action (G_ACTION_GROUP (window), "palette", NULL);
  settle (200);
  palette = dialog_over (window);
  g_assert_nonnull (palette);
  entry = find_type (palette, GTK_TYPE_SEARCH_ENTRY);
  gtk_editable_set_text (GTK_EDITABLE (entry), "alone graph");
  g_signal_emit_by_name (entry, "activate");
  settle (200);
  g_assert_null (dialog_over (window));
  g_assert_true (g_variant_get_boolean (
      g_action_group_get_action_state (G_ACTION_GROUP (window), "graph-alone")));
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

static void
test_help (void)
{
  guint n;
  const IrViewInfo *const *infos = ir_views (&n);

  for (guint i = 0; i < n; i++)
    {
      g_assert_nonnull (infos[i]->help);
      g_assert_cmpuint (strlen (infos[i]->help), >, strlen (infos[i]->doc));
    }
}

/* -- breakpoints -- */

static gboolean
accepts (IrSession *session, const char *text)
{
  g_autoptr (GError) error = NULL;
  const gboolean accepted = ir_session_add_breakpoint (session, text, &error);

  g_assert_true (accepted == (error == NULL));
  return accepted;
}

static void
test_breakpoints (void)
{
  static const char *const nonsense[] = { "op==Frob & x", "op=Frob",     "rule=no-such-rule",
                                          "pass=nothing", "node=nobody", "node=#99999",
                                          "verdict=fine", "nodes<many" };
  g_autofree char *path = example ("digits.onnx");
  g_autoptr (IrSession) session = ir_session_new ();
  gboolean last;
  guint first;

  ir_session_open (session, path);
  wait_for ("the model", is_open_and_idle, session);
  for (guint i = 0; i < G_N_ELEMENTS (nonsense); i++)
    g_assert_false (accepts (session, nonsense[i]));
  g_assert_cmpuint (ir_session_get_breakpoints (session)->len, ==, 0);
  g_assert_true (accepts (session, "rule=fold-conv-*"));
  g_assert_true (accepts (session, "op=Softmax"));
  ir_session_run_pipeline (session, NULL);
  wait_for ("the pipeline", is_open_and_idle, session);
  ir_session_goto (session, 0);
  wait_for ("the original", is_open_and_idle, session);
  ir_session_run_to_breakpoint (session, TRUE);
  wait_for ("the stop", is_open_and_idle, session);
  first = ir_session_get_cursor (session);
  g_assert_cmpuint (first, >, 0);
  g_assert_cmpuint (ir_session_breakpoint_hits (session, 0, &last), ==, 1);
  g_assert_true (last);
  g_assert_cmpuint (ir_session_breakpoint_hits (session, 1, &last), ==, 0);
  g_assert_false (last);
  /* one that is switched off does not stop */
  ir_session_switch_breakpoint (session, 0, FALSE);
  g_assert_false (ir_session_breakpoint_is_on (session, 0));
  ir_session_goto (session, 0);
  wait_for ("the original", is_open_and_idle, session);
  ir_session_run_to_breakpoint (session, TRUE);
  wait_for ("the stop", is_open_and_idle, session);
  g_assert_cmpuint (ir_session_get_cursor (session), !=, first);
  g_assert_cmpuint (ir_session_breakpoint_hits (session, 0, &last), ==, 1);
}

/* -- recent files -- */

static GtkRecentInfo *
remembered (const char *uri)
{
  return gtk_recent_manager_lookup_item (gtk_recent_manager_get_default (), uri, NULL);
}

/* As the dialogs of the toolkit remember what was chosen in them. */
static void
remember (const char *uri, char **groups)
{
  GtkRecentData data = { .mime_type = "application/octet-stream",
                         .app_name = (char *) g_get_application_name (),
                         .app_exec = "irscope-gtk %u",
                         .groups = groups };

  gtk_recent_manager_add_full (gtk_recent_manager_get_default (), uri, &data);
}

static void
test_recent (void)
{
  g_autofree char *graph = example ("digits.onnx"), *input = example ("digits-input-7.npy");
  g_autofree char *graph_uri = g_filename_to_uri (graph, NULL, NULL);
  g_autofree char *input_uri = g_filename_to_uri (input, NULL, NULL);
  g_autoptr (GtkRecentInfo) chosen = NULL, opened = NULL;

  remember (input_uri, NULL);
  remember (graph_uri, (char *[]){ IR_RECENT_GROUP, NULL });
  remember (graph_uri, NULL); /* chosen in a dialog once more */
  chosen = remembered (input_uri);
  opened = remembered (graph_uri);
  g_assert_nonnull (chosen);
  g_assert_nonnull (opened);
  g_assert_false (ir_recent_is_graph (chosen, input));
  g_assert_true (ir_recent_is_graph (opened, graph));
  g_assert_false (ir_recent_is_graph (opened, "/no/such/file.onnx"));
}

int
main (int argc, char **argv)
{
  start_window_tests (&argc, &argv);
  g_test_add_func ("/manners/all that has a key is a command", test_commands);
  g_test_add_func ("/manners/a command is done by its name", test_palette);
  g_test_add_func ("/manners/each view says how to read it", test_help);
  g_test_add_func ("/manners/breakpoints mean something", test_breakpoints);
  g_test_add_func ("/manners/recent files are graphs", test_recent);
  return run_window_tests ();
}
