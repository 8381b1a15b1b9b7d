/* What several tests of the window do to it, and look for in it. */
#pragma once

#include "core/io/io.h"
#include "core/ir/reconcile.h"
#include "core/op/infer.h"

#include <gtk/gtk.h>

/* The window beside the main one. (nullable) */
static inline GtkWidget *
dialog_over (gpointer window)
{
  GListModel *tops = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (tops); i++)
    {
      g_autoptr (GtkWindow) top = g_list_model_get_item (tops, i);

      if (gtk_window_get_transient_for (top) == GTK_WINDOW (window))
        return GTK_WIDGET (top);
    }
  return NULL;
}

/* For ir_session_edit(): @data is another text, as the text view applies it. */
static inline gboolean
apply_text (
    IrEdit *edit, gpointer data, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrModel) target = ir_text_read_over (data, -1, ir_edit_model (edit), problems, error);

  ir_edit_begin_step (edit, "apply-text", IR_CLASS_EDIT, 0);
  ir_reconcile (edit, target);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  ir_edit_end_step (edit);
  return TRUE;
}
