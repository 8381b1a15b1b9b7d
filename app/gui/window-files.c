/* Opening, comparing and exporting: dialogs, and the same without them. */
#include "config.h"

#include "app/gui/welcome.h"
#include "app/gui/window-private.h"
#include "core/io/io.h"
#include "core/ir/history.h"
#include "views/session/file.h"
#include "views/session/timeline.h"

static void
open_path (IrWindow *self, gpointer path)
{
  ir_session_open (self->session, path);
}

/* Opens it, a model or a session, in this window, when the user does not want to keep edits of what is open. */
void
ir_window_open (IrWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);
  g_autofree char *uri = g_file_get_uri (file);

  if (path == NULL)
    {
      g_autofree char *text = g_strdup_printf ("“%s” is not a local file", uri);

      ir_window_add_toast (self, adw_toast_new (text));
      return;
    }
  if (ir_window_is_session (path))
    ir_window_open_session (self, path);
  else
    ir_window_ask_about_edits (self, open_path, g_steal_pointer (&path), g_free);
}

static void
on_open_response (GtkNativeDialog *dialog, int response, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);

  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));

      ir_window_open (self, file);
    }
  g_object_unref (dialog);
}

/* Returns: (transfer full): a dialog, in the folder of the graph that is open. */
static GtkFileChooserNative *
choose_graph (IrWindow *self, const char *title, const char *accept)
{
  g_autoptr (GtkFileFilter) graphs = gtk_file_filter_new ();
  g_autoptr (GtkFileFilter) all = gtk_file_filter_new ();
  g_autofree char *examples = ir_welcome_examples_dir ();
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      title, GTK_WINDOW (self), GTK_FILE_CHOOSER_ACTION_OPEN, accept, "_Cancel");

  gtk_file_filter_set_name (graphs, "Graphs (ONNX, ONNX text, JSON, DOT)");
  for (const char *const *s = (const char *const[]){ "onnx", "onnxtxt", "json", "dot", "gv", NULL };
       *s != NULL; s++)
    gtk_file_filter_add_suffix (graphs, *s);
  gtk_file_filter_set_name (all, "All files");
  gtk_file_filter_add_pattern (all, "*");
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), graphs);
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), all);
  if (ir_session_get_path (self->session) != NULL)
    {
      g_autoptr (GFile) file = g_file_new_for_path (ir_session_get_path (self->session));

      gtk_file_chooser_set_file (GTK_FILE_CHOOSER (dialog), file, NULL);
    }
  else if (examples != NULL)
    {
      g_autoptr (GFile) folder = g_file_new_for_path (examples);

      gtk_file_chooser_add_shortcut_folder (GTK_FILE_CHOOSER (dialog), folder, NULL);
    }
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  return dialog;
}

static void
activate_open (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);
  GtkFileChooserNative *dialog = choose_graph (self, "Open a Graph", "_Open");

  g_signal_connect_object (dialog, "response", G_CALLBACK (on_open_response), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
on_compare_response (GtkNativeDialog *dialog, int response, gpointer user_data)
{
  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
      g_autofree char *path = g_file_get_path (file);

      if (path != NULL)
        ir_session_compare_with (IR_WINDOW (user_data)->session, path);
    }
  g_object_unref (dialog);
}

static void
activate_compare (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);
  GtkFileChooserNative *dialog = choose_graph (self, "Compare With…", "_Compare");

  g_signal_connect_object (dialog, "response", G_CALLBACK (on_compare_response), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

/* The same without a dialog: for scripts and tests. */
static void
activate_compare_file (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_compare_with (IR_WINDOW (user_data)->session, g_variant_get_string (parameter, NULL));
}

static void
activate_swap_files (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_swap_files (IR_WINDOW (user_data)->session);
}

static void
activate_open_file (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  g_autoptr (GFile) file = g_file_new_for_commandline_arg (g_variant_get_string (parameter, NULL));

  ir_window_open (IR_WINDOW (user_data), file);
}

static void
make_new (IrWindow *self, gpointer data)
{
  ir_session_new_model (self->session);
  g_action_group_activate_action (G_ACTION_GROUP (self), "show", g_variant_new_string ("graph"));
}

static void
activate_new (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_window_ask_about_edits (IR_WINDOW (user_data), make_new, NULL, NULL);
}

static void
on_export_response (GtkNativeDialog *dialog, int response, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);
  g_autoptr (GFile) file = NULL;
  g_autofree char *path = NULL;

  if (response == GTK_RESPONSE_ACCEPT)
    file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  path = file != NULL ? g_file_get_path (file) : NULL;
  if (path != NULL)
    {
      const char *format = g_object_get_data (G_OBJECT (dialog), "format");
      g_autofree char *suffix = g_strconcat (".", format, NULL);
      g_autofree char *full = g_str_has_suffix (path, suffix) ? g_strdup (path)
                                                              : g_strconcat (path, suffix, NULL);

      ir_session_export (self->session, full);
    }
  g_object_unref (dialog);
}

/* "digits.onnx" at step 12 becomes "digits-step12.svg", the original "digits.svg", an edit at the end
 * "digits-edited.svg". */
char *
ir_window_export_name (IrWindow *self, const char *format)
{
  g_autofree char *stem = g_strdup (ir_session_get_title (self->session));
  const guint cursor = ir_session_get_cursor (self->session);
  char *dot = strrchr (stem, '.');

  if (dot != NULL && dot != stem)
    *dot = '\0';
  if (cursor == 0)
    return g_strdup_printf ("%s.%s", stem, format);
  if (cursor == ir_session_get_n_steps (self->session))
    {
      const IrModel *history = ir_session_get_history (self->session);
      const gboolean edited = ir_history_step (history, cursor)->step_class == IR_CLASS_EDIT;

      return g_strdup_printf ("%s-%s.%s", stem, edited ? "edited" : "optimized", format);
    }
  return g_strdup_printf ("%s-step%u.%s", stem, cursor, format);
}

static void
activate_export (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);
  const char *format = g_variant_get_string (parameter, NULL);
  g_autofree char *name = ir_window_export_name (self, format);
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();
  g_autofree char *upper = g_ascii_strup (format, -1);
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      "Export", GTK_WINDOW (self), GTK_FILE_CHOOSER_ACTION_SAVE, "_Export", "_Cancel");

  gtk_file_filter_set_name (filter, upper);
  gtk_file_filter_add_suffix (filter, format);
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), filter);
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), name);
  g_object_set_data_full (G_OBJECT (dialog), "format", g_strdup (format), g_free);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_export_response), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

/* The same without a dialog: for scripts and tests. */
static void
activate_export_to (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_export (IR_WINDOW (user_data)->session, g_variant_get_string (parameter, NULL));
}

/* -- saving -- */

static void
on_save_as_response (GtkNativeDialog *dialog, int response, gpointer user_data)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  if (path != NULL)
    {
      const IrFormat *format = ir_format_find (path);
      g_autofree char *full = format != NULL && format->write != NULL
                                  ? g_strdup (path)
                                  : g_strconcat (path, ".onnx", NULL);

      ir_session_save (IR_WINDOW (user_data)->session, full);
    }
  g_object_unref (dialog);
}

static void
activate_save_as (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);
  const char *path = ir_session_get_path (self->session);
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      "Save the Graph As", GTK_WINDOW (self), GTK_FILE_CHOOSER_ACTION_SAVE, "_Save", "_Cancel");

  if (path != NULL)
    {
      g_autoptr (GFile) file = g_file_new_for_path (path);

      gtk_file_chooser_set_file (GTK_FILE_CHOOSER (dialog), file, NULL);
    }
  else
    gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), "graph.onnx");
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_save_as_response), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

/* Over the file that is open; what has none, or is of a format that is not written, asks for one. */
static void
activate_save (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = IR_WINDOW (user_data);
  const char *path = ir_session_get_path (self->session);
  const IrFormat *format = path != NULL ? ir_format_find (path) : NULL;

  if (format != NULL && format->write != NULL)
    ir_session_save (self->session, path);
  else
    activate_save_as (action, parameter, user_data);
}

/* The same without a dialog: for scripts and tests. */
static void
activate_save_to (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_session_save (IR_WINDOW (user_data)->session, g_variant_get_string (parameter, NULL));
}

static const IrWindowAction actions[] = {
  { { "save", activate_save }, NEEDS_GRAPH | NEEDS_IDLE },
  { { "save-as", activate_save_as }, NEEDS_GRAPH | NEEDS_IDLE },
  { { "save-to", activate_save_to, "s" }, NEEDS_GRAPH | NEEDS_IDLE },
  { { "open", activate_open }, NEEDS_IDLE },
  { { "open-file", activate_open_file, "s" }, NEEDS_IDLE },
  { { "compare", activate_compare }, NEEDS_GRAPH | NEEDS_IDLE },
  { { "compare-file", activate_compare_file, "s" }, NEEDS_GRAPH | NEEDS_IDLE },
  { { "swap-files", activate_swap_files }, NEEDS_OTHER | NEEDS_IDLE },
  { { "new", activate_new }, NEEDS_IDLE },
  { { "export", activate_export, "s" }, NEEDS_GRAPH | NEEDS_IDLE },
  { { "export-to", activate_export_to, "s" }, NEEDS_GRAPH | NEEDS_IDLE },
};

/* Actions that read and write files */
const IrWindowAction *
ir_window_file_actions (guint *n)
{
  *n = G_N_ELEMENTS (actions);
  return actions;
}
