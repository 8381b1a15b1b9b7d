/* Sessions in the window: saving and opening one, what was lost, the model that has changed on disk, notes. */
#include "config.h"

#include "app/gui/keeper.h"
#include "app/gui/state.h"
#include "app/gui/window-private.h"
#include "views/label.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/saved.h"
#include "views/session/selection.h"

#include <string.h>

#define BEGINNING 400 /* bytes within which a session says what it is */

/* -- panes -- */

static const char *const sizes[] = { "width",     "height",        "start-width",
                                     "end-width", "bottom-height", "beside-width" };

/* @to: char * -> char *: what ir_window_place_panes() will find */
void
ir_window_note_panes (IrWindow *self, GHashTable *to)
{
  int width, height;

  gtk_window_get_default_size (GTK_WINDOW (self), &width, &height);
  ir_state_set_int ("width", width);
  ir_state_set_int ("height", height);
  if (self->panes_placed)
    ir_window_remember_panes (self);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (ir_state_get_int (sizes[i], 0) > 0)
      g_hash_table_replace (to, g_strdup (sizes[i]),
                            g_strdup_printf ("%d", ir_state_get_int (sizes[i], 0)));
  for (IrViewPlace place = 0; place < IR_N_VIEW_PLACES; place++)
    {
      IrView *view = ir_window_visible_view (self, place);
      g_autofree char *key = g_strdup_printf ("view-%u", place);

      if (view != NULL)
        g_hash_table_replace (to, g_steal_pointer (&key),
                              g_strdup (gtk_stack_get_visible_child_name (self->stacks[place])));
    }
}

static void
restore_panes (IrWindow *self, GHashTable *from)
{
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      const char *text = g_hash_table_lookup (from, sizes[i]);
      gint64 size;

      if (text != NULL && g_ascii_string_to_signed (text, 10, 50, 20000, &size, NULL))
        ir_state_set_int (sizes[i], (int) size);
    }
  if (!gtk_window_is_maximized (GTK_WINDOW (self)))
    gtk_window_set_default_size (GTK_WINDOW (self), ir_state_get_int ("width", 1280),
                                 ir_state_get_int ("height", 860));
  self->panes_placed = FALSE; /* they are placed when the graph is there */
  for (IrViewPlace place = 0; place < IR_N_VIEW_PLACES; place++)
    {
      g_autofree char *key = g_strdup_printf ("view-%u", place);
      const char *id = g_hash_table_lookup (from, key);
      const IrViewInfo *info = id != NULL ? ir_view_find (id) : NULL;

      if (info != NULL && info->place == place && self->stacks[place] != NULL)
        gtk_stack_set_visible_child_name (self->stacks[place], id);
    }
}

/* -- opening -- */

/* (nullable): it says why */
static IrSessionFile *
read_file (IrWindow *self, const char *path)
{
  g_autoptr (GError) error = NULL;
  IrSessionFile *file = ir_session_file_read (path, &error);
  GtkWidget *dialog;

  if (file != NULL)
    return file;
  dialog = adw_message_dialog_new (GTK_WINDOW (self), "The session could not be opened",
                                   error->message);
  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", "_Close");
  gtk_window_present (GTK_WINDOW (dialog));
  return NULL;
}

static void
restore_file (IrWindow *self, gpointer path)
{
  IrSessionFile *file = read_file (self, path);

  if (file == NULL)
    return;
  restore_panes (self, file->window);
  ir_session_restore (self->session, file);
}

/* Whether the file begins as a session does. */
gboolean
ir_window_is_session (const char *path)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GFileInputStream)
      stream = g_str_has_suffix (path, ".json") ? g_file_read (file, NULL, NULL) : NULL;
  char begin[BEGINNING + 1];
  gsize n = 0;

  if (stream == NULL ||
      !g_input_stream_read_all (G_INPUT_STREAM (stream), begin, BEGINNING, &n, NULL, NULL))
    return FALSE;
  begin[n] = '\0';
  return strstr (begin, "\"irscope_session\"") != NULL;
}

void
ir_window_open_session (IrWindow *self, const char *path)
{
  ir_window_ask_about_edits (self, restore_file, g_strdup (path), g_free);
}

static void
activate_open_session (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  ir_window_open_session (user_data, g_variant_get_string (parameter, NULL));
}

/* -- saving -- */

static void
save_to (IrWindow *self, const char *path)
{
  g_autoptr (IrSessionFile) file = ir_session_to_file (self->session);
  g_autoptr (GError) error = NULL;
  g_autofree char *base = g_path_get_basename (path), *text = NULL;

  if (file == NULL)
    return;
  ir_window_note_panes (self, file->window);
  if (file->model != NULL)
    file->sha256 = ir_session_hash (file->model, NULL);
  text = ir_session_file_write (file, path, &error)
             ? g_strdup_printf ("Saved the session %s", base)
             : g_strdup_printf ("The session could not be saved: %s", error->message);
  g_signal_emit_by_name (self->session, "message", text);
}

/* The same without a dialog: for scripts and tests. */
static void
activate_save_session_to (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  save_to (user_data, g_variant_get_string (parameter, NULL));
}

static void
on_save_response (GtkNativeDialog *dialog, int response, gpointer user_data)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  if (path != NULL)
    {
      g_autofree char *full = g_str_has_suffix (path, ".json") ? g_strdup (path)
                                                               : g_strconcat (path, ".json", NULL);

      save_to (user_data, full);
    }
  g_object_unref (dialog);
}

/* Proposed is a name, and no folder: never that of the model unless it is chosen. */
static void
activate_save_session (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = user_data;
  g_autofree char *stem = g_strdup (ir_session_get_title (self->session)), *name = NULL;
  char *dot = strrchr (stem, '.');
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      "Save the Session", GTK_WINDOW (self), GTK_FILE_CHOOSER_ACTION_SAVE, "_Save", "_Cancel");

  if (dot != NULL && dot != stem)
    *dot = '\0';
  name = g_strdup_printf ("%s-session.json", stem);
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), name);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_save_response), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
on_open_response (GtkNativeDialog *dialog, int response, gpointer user_data)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  if (path != NULL)
    ir_window_open_session (user_data, path);
  g_object_unref (dialog);
}

static void
activate_choose_session (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  g_autoptr (GtkFileFilter) sessions = gtk_file_filter_new ();
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      "Open a Session", GTK_WINDOW (user_data), GTK_FILE_CHOOSER_ACTION_OPEN, "_Open", "_Cancel");

  gtk_file_filter_set_name (sessions, "Sessions (JSON)");
  gtk_file_filter_add_suffix (sessions, "json");
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), sessions);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_open_response), user_data, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

/* -- the model has changed on disk -- */

static void
activate_reload (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = user_data;
  IrSessionFile *file = ir_session_to_file (self->session);

  if (file != NULL && file->model != NULL)
    ir_session_restore (self->session, file);
  else
    ir_session_file_free (file);
}

void
ir_window_offer_reload (IrWindow *self)
{
  g_autofree char *title = g_markup_printf_escaped ("%s has changed on disk",
                                                    ir_session_get_title (self->session));
  AdwToast *toast = adw_toast_new (title);

  adw_toast_set_button_label (toast, "_Reload");
  adw_toast_set_action_name (toast, "win.reload");
  adw_toast_set_timeout (toast, 0);
  ir_window_add_toast (self, toast);
}

/* -- what was lost -- */

typedef struct
{
  IrWindow *window;
  char *path; /* (nullable): it is no more the dialog's */
} Lost;

static void
leave_and_free (gpointer path)
{
  ir_keeper_leave (path);
  g_free (path);
}

static void
lost_free (gpointer data, GClosure *closure)
{
  g_clear_pointer (&((Lost *) data)->path, leave_and_free);
  g_free (data);
}

static void
drop (gpointer path)
{
  ir_keeper_drop (path);
}

/* It stays until it is restored: from then on the window keeps its own. */
static void
restore_lost (Lost *lost)
{
  IrSessionFile *file = read_file (lost->window, lost->path);

  if (file == NULL)
    return;
  restore_panes (lost->window, file->window);
  ir_session_restore_then (lost->window->session, file, drop, g_steal_pointer (&lost->path),
                           leave_and_free);
}

static void
on_lost_response (AdwMessageDialog *dialog, const char *response, gpointer data)
{
  Lost *lost = data;

  if (strcmp (response, "restore") == 0)
    restore_lost (lost);
  else if (strcmp (response, "discard") == 0)
    ir_keeper_drop (lost->path);
}

/* Takes @path. */
static GtkWidget *
ask_about_lost (IrWindow *self, const char *title, const char *text, char *path)
{
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), title, text);
  Lost *lost = g_new0 (Lost, 1);

  *lost = (Lost){ self, path };
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "discard", "_Discard", "later",
                                    "_Not Now", NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "discard",
                                              ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "later");
  g_signal_connect_data (dialog, "response", G_CALLBACK (on_lost_response), lost, lost_free, 0);
  return dialog;
}

/* Another program may read it, or this one when what is in the way is gone. Takes @path. */
static void
say_unreadable (IrWindow *self, char *path, const GError *error)
{
  g_autofree char *text = g_strdup_printf ("%s\n\nIt is kept as %s.", error->message, path);

  gtk_window_present (
      GTK_WINDOW (ask_about_lost (self, "A lost session could not be read", text, path)));
}

/* Takes @path. */
static void
offer_to_restore (IrWindow *self, char *path, const IrSessionFile *file)
{
  g_autofree char *base = file->model != NULL ? g_path_get_basename (file->model)
                                              : g_strdup ("a new graph"),
                  *name = ir_short_name (base),
                  *done = file->n_done == 0
                              ? g_strdup ("")
                              : g_strdup_printf (", with %u %s done to it", file->n_done,
                                                 file->n_done == 1 ? "thing" : "things"),
                  *text = g_strdup_printf ("irscope ended while %s was open%s.", name, done);
  GtkWidget *dialog = ask_about_lost (self, "Restore the last session?", text, path);

  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "restore", "_Restore");
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "restore",
                                              ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "restore");
  gtk_window_present (GTK_WINDOW (dialog));
}

/* Asks whether the session of a window that was not closed is to be opened: the newest that can be read. */
void
ir_window_offer_lost (IrWindow *self)
{
  char *path;

  while ((path = ir_keeper_find_lost ()) != NULL)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrSessionFile) file = ir_session_file_read (path, &error);

      if (file != NULL)
        {
          offer_to_restore (self, path, file);
          return;
        }
      say_unreadable (self, path, error);
    }
}

/* -- notes -- */

/* (transfer full) (nullable): what the selected node is called where notes are kept */
static char *
noted_node (IrWindow *self)
{
  const IrFrame *frame = ir_session_get_frame (self->session);
  const IrNode *node = frame != NULL
                           ? ir_frame_node (frame, ir_session_get_selected_node (self->session))
                           : NULL;

  if (node == NULL)
    return NULL;
  return node->name[0] != '\0' ? g_strdup (node->name) : g_strdup_printf ("#%u", node->id);
}

static void
on_note_response (AdwMessageDialog *dialog, const char *response, gpointer user_data)
{
  GtkEditable *entry = GTK_EDITABLE (adw_message_dialog_get_extra_child (dialog));

  if (strcmp (response, "pin") == 0)
    ir_session_set_note (IR_WINDOW (user_data)->session,
                         g_object_get_data (G_OBJECT (dialog), "node"),
                         gtk_editable_get_text (entry));
}

static void
activate_note (GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
  IrWindow *self = user_data;
  g_autofree char *node = noted_node (self);
  const char *text = node != NULL ? ir_session_get_note (self->session, node) : NULL;
  GtkWidget *dialog, *entry;

  if (node == NULL)
    return;
  dialog = adw_message_dialog_new (GTK_WINDOW (self), "Pin a Note", node);
  entry = gtk_entry_new ();
  gtk_editable_set_text (GTK_EDITABLE (entry), text != NULL ? text : "");
  gtk_entry_set_activates_default (GTK_ENTRY (entry), TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL, "Note",
                                  -1);
  adw_message_dialog_set_extra_child (ADW_MESSAGE_DIALOG (dialog), entry);
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", "_Cancel", "pin", "_Pin",
                                    NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "pin",
                                              ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "pin");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_object_set_data_full (G_OBJECT (dialog), "node", g_steal_pointer (&node), g_free);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_note_response), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static const IrWindowAction actions[] = {
  { { "save-session", activate_save_session }, NEEDS_GRAPH },
  { { "save-session-to", activate_save_session_to, "s" }, NEEDS_GRAPH },
  { { "choose-session", activate_choose_session }, NEEDS_IDLE },
  { { "open-session", activate_open_session, "s" }, NEEDS_IDLE },
  { { "reload", activate_reload }, NEEDS_GRAPH | NEEDS_IDLE },
  { { "note", activate_note }, NEEDS_GRAPH | NEEDS_NODE },
};

/* Actions on sessions */
const IrWindowAction *
ir_window_session_actions (guint *n)
{
  *n = G_N_ELEMENTS (actions);
  return actions;
}
