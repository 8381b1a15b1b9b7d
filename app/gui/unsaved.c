/* Whatever would drop edits that are in no file asks the same question first. */
#include "config.h"

#include "app/gui/window-private.h"
#include "views/session/file.h"

typedef struct
{
  IrWindow *window; /* (transfer none) */
  IrWindowThen then;
  gpointer data;
  GDestroyNotify data_free;
} Question;

static void
question_free (gpointer data)
{
  Question *self = data;

  if (self->data_free != NULL)
    self->data_free (self->data);
  g_free (self);
}

static void
question_closure_free (gpointer data, GClosure *closure)
{
  question_free (data);
}

/* Only when the file is there are the edits in it; otherwise the session has said what is wrong. */
static void
on_saving (IrSession *session, guint changes, Question *self)
{
  g_autoptr (IrWindow) window = g_object_ref (self->window);
  gulong handler = window->saving;

  if (ir_session_get_busy (session))
    return;
  window->saving = 0;
  g_signal_handler_block (session, handler); /* opening something is a change, too */
  if (!ir_session_get_modified (session))
    self->then (window, self->data);
  g_signal_handler_disconnect (session, handler);
}

static void
on_save_response (GtkNativeDialog *chooser, int response, gpointer user_data)
{
  Question *self = user_data;
  IrSession *session = self->window->session;
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (chooser))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  if (path == NULL)
    question_free (self);
  else
    {
      g_autofree char *full = g_str_has_suffix (path, ".onnx") ? g_strdup (path)
                                                               : g_strconcat (path, ".onnx", NULL);

      g_clear_signal_handler (&self->window->saving, session);
      self->window->saving = g_signal_connect_data (session, "changed", G_CALLBACK (on_saving),
                                                    self, question_closure_free, 0);
      ir_session_export (session, full);
    }
  g_object_unref (chooser);
}

static void
save (Question *self)
{
  g_autofree char *name = ir_window_export_name (self->window, "onnx");
  GtkFileChooserNative *chooser = gtk_file_chooser_native_new (
      "Save the Graph", GTK_WINDOW (self->window), GTK_FILE_CHOOSER_ACTION_SAVE, "_Save",
      "_Cancel");

  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (chooser), name);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (chooser), TRUE);
  g_signal_connect (chooser, "response", G_CALLBACK (on_save_response), self);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

static void
on_response (AdwMessageDialog *dialog, const char *response, gpointer user_data)
{
  Question *self = user_data;

  if (g_strcmp0 (response, "save") == 0)
    {
      save (self);
      return;
    }
  if (g_strcmp0 (response, "discard") == 0)
    self->then (self->window, self->data);
  question_free (self);
}

/* Does it at once where no edits are lost, else when the user has saved or discarded them. */
void
ir_window_ask_about_edits (IrWindow *self,
                           IrWindowThen then,
                           gpointer data,
                           GDestroyNotify data_free)
{
  Question *question = g_new0 (Question, 1);
  GtkWidget *dialog;

  *question = (Question){ self, then, data, data_free };
  if (!ir_session_get_modified (self->session))
    {
      then (self, data);
      question_free (question);
      return;
    }
  dialog = adw_message_dialog_new (GTK_WINDOW (self), "Save your edits?",
                                   "The edits of this graph are in no file.");
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", "_Cancel", "discard",
                                    "_Discard", "save", "_Save…", NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "discard",
                                              ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "save",
                                              ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "save");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_signal_connect (dialog, "response", G_CALLBACK (on_response), question);
  gtk_window_present (GTK_WINDOW (dialog));
}
