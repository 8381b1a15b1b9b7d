#include "config.h"

#include "views/tensor/tensor-save.h"

#include "core/io/io.h"
#include "core/ir/tensor-text.h"

#define MOST_COPIED 1000000 /* elements */

/* A line for each row. */
void
ir_tensor_to_clipboard (GtkWidget *widget, const IrTensor *tensor)
{
  g_autoptr (GOutputStream) stream = g_memory_output_stream_new_resizable ();

  if (ir_tensor_is_container (tensor) || ir_tensor_n_elements (tensor) > MOST_COPIED ||
      !ir_tensor_write_csv (tensor, stream, NULL) ||
      !g_output_stream_write_all (stream, "", 1, NULL, NULL, NULL))
    return;
  gdk_clipboard_set_text (gtk_widget_get_clipboard (widget),
                          g_memory_output_stream_get_data (G_MEMORY_OUTPUT_STREAM (stream)));
}

typedef struct
{
  IrTensor *tensor;
  IrTensorPlot *plot;
  GtkWidget *says;
} Save;

static void
save_free (gpointer data, GClosure *closure)
{
  Save *save = data;

  ir_tensor_unref (save->tensor);
  g_object_unref (save->plot);
  g_object_unref (save->says);
  g_free (save);
}

/* As the ending of the name says. */
static gboolean
write_file (const Save *save, const char *path, GError **error)
{
  const gboolean picture = g_str_has_suffix (path, ".svg") || g_str_has_suffix (path, ".png");

  return picture ? ir_tensor_plot_save (save->plot, path, error)
                 : ir_tensor_save (save->tensor, path, error);
}

static void
on_response (GtkNativeDialog *dialog, int response, Save *save)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  g_autoptr (GError) error = NULL;

  if (path != NULL && !write_file (save, path, &error))
    {
      gtk_label_set_text (GTK_LABEL (save->says), error->message);
      gtk_widget_set_visible (save->says, TRUE);
    }
  g_object_unref (dialog);
}

void
ir_tensor_ask_and_save (IrTensor *tensor, IrTensorPlot *plot, GtkWidget *says)
{
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      "Save the Values", GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (plot))),
      GTK_FILE_CHOOSER_ACTION_SAVE, "_Save", "_Cancel");
  Save *save = g_new0 (Save, 1);

  *save = (Save){ ir_tensor_ref (tensor), g_object_ref (plot), g_object_ref (says) };
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), "values.npy");
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_data (dialog, "response", G_CALLBACK (on_response), save, save_free, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}
