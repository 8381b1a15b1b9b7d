#include "config.h"

#include "views/tensor/tensor-save.h"

#include "core/io/io.h"
#include "core/ir/tensor-text.h"

#define MOST_COPIED 1000000 /* elements */

/* A line for each row. */
const char *
ir_tensor_to_clipboard (GtkWidget *widget, const IrTensor *tensor)
{
  g_autoptr (GOutputStream) stream = g_memory_output_stream_new_resizable ();

  if (ir_tensor_is_container (tensor))
    return "Only tensors can be copied: Save writes the others as .pb.";
  if (ir_tensor_n_elements (tensor) > MOST_COPIED)
    return "More than a million elements are not copied: Save writes them to a file.";
  if (!ir_tensor_write_csv (tensor, stream, NULL) ||
      !g_output_stream_write_all (stream, "", 1, NULL, NULL, NULL))
    return "The values do not fit into memory.";
  gdk_clipboard_set_text (gtk_widget_get_clipboard (widget),
                          g_memory_output_stream_get_data (G_MEMORY_OUTPUT_STREAM (stream)));
  return NULL;
}

#define WHAT "what" /* the choice of the dialog */

typedef struct
{
  GPtrArray *plots; /* (owned) of IrTensorPlot */
  GtkWidget *says;
} Save;

static void
save_free (gpointer data, GClosure *closure)
{
  Save *save = data;

  g_ptr_array_unref (save->plots);
  g_object_unref (save->says);
  g_free (save);
}

static void
on_response (GtkNativeDialog *dialog, int response, Save *save)
{
  const char *chosen = gtk_file_chooser_get_choice (GTK_FILE_CHOOSER (dialog), WHAT);
  const guint which = chosen != NULL ? (guint) atoi (chosen) : 0;
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  g_autoptr (GError) error = NULL;

  if (path != NULL && !ir_tensor_plot_save (save->plots->pdata[which], path, &error))
    {
      gtk_label_set_text (GTK_LABEL (save->says), error->message);
      gtk_widget_set_visible (save->says, TRUE);
    }
  g_object_unref (dialog);
}

typedef struct
{
  const char *title;
  IrTensorPlot *plot;
} Saved;

/* Which side it is: of one there is nothing to choose. */
static void
add_choice (GtkFileChooser *dialog, const Saved *saved, guint n)
{
  static const char *const ids[] = { "0", "1", "2" };
  const char *options[G_N_ELEMENTS (ids) + 1] = { NULL },
                                           *titles[G_N_ELEMENTS (ids) + 1] = { NULL };

  for (guint i = 0; i < n; i++)
    {
      options[i] = ids[i];
      titles[i] = saved[i].title;
    }
  gtk_file_chooser_add_choice (dialog, WHAT, "Save", options, titles);
  gtk_file_chooser_set_choice (dialog, WHAT, ids[0]);
}

/* Returns how many there are */
static guint
find_saved (const IrTensorFacts *facts, IrTensorPlot *const plots[3], Saved saved[3])
{
  const IrTensor *after = facts->tensors[IR_SIDE_AFTER], *before = facts->tensors[IR_SIDE_BEFORE];
  guint n = 0;

  if (after != NULL)
    saved[n++] = (Saved){ "After", plots[0] };
  if (before != NULL && before != after)
    saved[n++] = (Saved){ "Before", plots[1] };
  if (after != NULL && facts->n_different > 0)
    saved[n++] = (Saved){ "Difference, with both in .csv", plots[2] };
  return n;
}

void
ir_tensor_ask_and_save (const IrTensorFacts *facts, IrTensorPlot *const plots[3], GtkWidget *says)
{
  Saved saved[3];
  const guint n = find_saved (facts, plots, saved);

  if (n == 0)
    return;
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      "Save the Values", GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (plots[0]))),
      GTK_FILE_CHOOSER_ACTION_SAVE, "_Save", "_Cancel");
  Save *save = g_new0 (Save, 1);

  *save = (Save){ g_ptr_array_new_with_free_func (g_object_unref), g_object_ref (says) };
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (save->plots, g_object_ref (saved[i].plot));
  if (n > 1)
    add_choice (GTK_FILE_CHOOSER (dialog), saved, n);
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), "values.npy");
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_data (dialog, "response", G_CALLBACK (on_response), save, save_free, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}
