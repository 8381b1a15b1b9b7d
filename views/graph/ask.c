/* A dialog that asks for the words of an act. */
#include "config.h"

#include "views/graph/ask.h"

#include "core/act/act.h"
#include "views/early-keys.h"
#include "views/entry-row.h"
#include "views/session/act.h"

#include <adwaita.h>
#include <string.h>

typedef struct
{
  char *label, *text;
  gboolean is_file;
} Field;

/* Kept by its dialog, and by the act until that is done: what is refused is asked for again. */
typedef struct
{
  IrSession *session; /* referenced */
  GtkWidget *about;   /* gets the focus back; weak */
  GStrv words;
  guint at;
  GArray *fields;     /* of Field */
  GPtrArray *entries; /* of GtkEditable, (transfer none), of the dialog that is shown */
} Question;

static void
field_clear (gpointer data)
{
  Field *field = data;

  g_free (field->label);
  g_free (field->text);
}

static void
question_clear (gpointer data)
{
  Question *self = data;

  g_clear_weak_pointer (&self->about);
  g_object_unref (self->session);
  g_strfreev (self->words);
  g_array_unref (self->fields);
  g_ptr_array_unref (self->entries);
}

static void
question_unref (gpointer data)
{
  g_rc_box_release_full (data, question_clear);
}

static void
question_closure_free (gpointer data, GClosure *closure)
{
  question_unref (data);
}

static void present (Question *self, const char *why);

static gboolean
on_refused (const char *why, gpointer data)
{
  Question *self = data;

  if (self->about == NULL || !gtk_widget_get_mapped (self->about))
    return FALSE;
  present (self, why);
  return TRUE;
}

static void
on_response (AdwMessageDialog *dialog, const char *response, Question *self)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  const guint n = g_strv_length (self->words);

  if (self->about != NULL)
    gtk_widget_grab_focus (self->about);
  if (strcmp (response, "do") != 0)
    return;
  for (guint k = 0; k < self->fields->len; k++)
    {
      Field *field = &g_array_index (self->fields, Field, k);

      g_free (field->text);
      field->text = g_strdup (gtk_editable_get_text (self->entries->pdata[k]));
    }
  for (guint i = 0; i <= n; i++)
    {
      for (guint k = 0; i == self->at && k < self->fields->len; k++)
        {
          const char *text = g_array_index (self->fields, Field, k).text;

          if (text[0] != '\0' || k == 0)
            g_ptr_array_add (words, (gpointer) text);
        }
      g_ptr_array_add (words, i < n ? self->words[i] : NULL);
    }
  ir_session_act_or (self->session, (const char *const *) words->pdata, on_refused,
                     g_rc_box_acquire (self), question_unref);
}

static void
on_file_chosen (GtkNativeDialog *chooser, int response, gpointer entry)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (chooser))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  if (path != NULL)
    gtk_editable_set_text (GTK_EDITABLE (entry), path);
  g_object_unref (chooser);
}

static void
choose_file (GtkWidget *entry)
{
  GtkFileChooserNative *chooser = gtk_file_chooser_native_new (
      "Contents of a Constant", GTK_WINDOW (gtk_widget_get_root (entry)),
      GTK_FILE_CHOOSER_ACTION_OPEN, "_Choose", "_Cancel");
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();

  gtk_file_filter_set_name (filter, "Tensors (.npy, .pb)");
  gtk_file_filter_add_suffix (filter, "npy");
  gtk_file_filter_add_suffix (filter, "pb");
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (chooser), filter);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (chooser), TRUE);
  g_signal_connect_object (chooser, "response", G_CALLBACK (on_file_chosen), entry, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

static void
on_apply (GtkWidget *dialog)
{
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (dialog), "do");
  gtk_window_destroy (GTK_WINDOW (dialog));
}

static GtkWidget *
add_entry (GtkWidget *list, const Field *field, GtkWidget *dialog)
{
  GtkWidget *row = ir_entry_row_new (field->label, field->text);
  GtkWidget *entry = GTK_WIDGET (ir_entry_row_entry (row));

  g_signal_connect_object (entry, "activate", G_CALLBACK (on_apply), dialog, G_CONNECT_SWAPPED);
  if (field->is_file)
    {
      GtkWidget *button = gtk_button_new_from_icon_name ("document-open-symbolic");

      gtk_widget_set_tooltip_text (button, "Choose a .npy or .pb file");
      gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                      "Choose a file", -1);
      g_signal_connect_object (button, "clicked", G_CALLBACK (choose_file), entry,
                               G_CONNECT_SWAPPED);
      ir_entry_row_add_button (row, button);
    }
  gtk_list_box_append (GTK_LIST_BOX (list), row);
  return entry;
}

/* What an act takes, and, the second time, why it could not be done. (transfer floating) */
static GtkWidget *
make_fields (Question *self, const char *why, GtkWidget *dialog)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12), *list = gtk_list_box_new ();

  if (why != NULL)
    {
      GtkWidget *label = gtk_label_new (why);

      gtk_label_set_wrap (GTK_LABEL (label), TRUE);
      gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
      gtk_label_set_xalign (GTK_LABEL (label), 0);
      gtk_label_set_selectable (GTK_LABEL (label), TRUE);
      gtk_widget_set_can_focus (label, FALSE);
      gtk_widget_add_css_class (label, "error");
      gtk_box_append (GTK_BOX (box), label);
    }
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (list, "boxed-list");
  g_ptr_array_set_size (self->entries, 0);
  for (guint i = 0; i < self->fields->len; i++)
    g_ptr_array_add (self->entries,
                     add_entry (list, &g_array_index (self->fields, Field, i), dialog));
  gtk_box_append (GTK_BOX (box), list);
  return box;
}

/* @why: (nullable): it was refused */
static void
present (Question *self, const char *why)
{
  const IrAct *act = ir_act_find (self->words[0]);
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (gtk_widget_get_root (self->about)),
                                              act->title, act->doc);

  adw_message_dialog_set_extra_child (ADW_MESSAGE_DIALOG (dialog), make_fields (self, why, dialog));
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", "_Cancel", "do",
                                    "_Apply", NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "do",
                                              ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "do");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_signal_connect_data (dialog, "response", G_CALLBACK (on_response), g_rc_box_acquire (self),
                         question_closure_free, 0);
  ir_take_early_keys (GTK_WINDOW (dialog));
  gtk_window_present (GTK_WINDOW (dialog));
  gtk_widget_grab_focus (self->entries->pdata[0]);
}

void
ir_ask_act (GtkWidget *view,
            IrSession *session,
            const char *const *words,
            guint at,
            const IrAskField *fields)
{
  Question *self = g_rc_box_new0 (Question);

  self->session = g_object_ref (session);
  self->words = g_strdupv ((char **) words);
  self->at = at;
  self->fields = g_array_new (FALSE, FALSE, sizeof (Field));
  g_array_set_clear_func (self->fields, field_clear);
  self->entries = g_ptr_array_new ();
  g_set_weak_pointer (&self->about, view);
  for (; fields->label != NULL; fields++)
    {
      const Field field = { g_strdup (fields->label), g_strdup (fields->initial), fields->is_file };

      g_array_append_val (self->fields, field);
    }
  present (self, NULL);
  question_unref (self);
}
