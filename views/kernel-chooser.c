#include "config.h"

#include "views/kernel-chooser.h"
#include "views/name.h"

#include "core/exec/schedule/kernel-choice.h"
#include "views/session/kernels.h"
#include "views/session/runs.h"

typedef struct
{
  IrSession *session; /* (nullable) weak */
  IrNodeId node;
  GStrv names; /* (nullable) by place in the drop-down, from 1 on */
  gboolean updating;
} Chooser;

static void
chooser_free (gpointer data)
{
  Chooser *self = data;

  g_clear_weak_pointer (&self->session);
  g_strfreev (self->names);
  g_free (self);
}

static void
on_selected (GtkDropDown *widget, GParamSpec *pspec, gpointer user_data)
{
  const Chooser *self = g_object_get_data (G_OBJECT (widget), "chooser");
  const guint selected = gtk_drop_down_get_selected (widget);

  if (!self->updating && self->names != NULL && selected <= g_strv_length (self->names))
    ir_session_ask_for_kernel (IR_SESSION (user_data), self->node,
                               selected > 0 ? self->names[selected - 1] : NULL);
}

/**
 * ir_kernel_chooser_set_node:
 * @chooser: made by ir_kernel_chooser_new()
 * @node: (nullable): a node of the graph on screen
 *
 * Offers the kernels of @node and selects the one that it asks for.
 *
 * Returns: whether there is anything to choose
 */
gboolean
ir_kernel_chooser_set_node (GtkWidget *chooser, const IrNode *node)
{
  Chooser *self = g_object_get_data (G_OBJECT (chooser), "chooser");
  GtkStringList *titles = GTK_STRING_LIST (gtk_drop_down_get_model (GTK_DROP_DOWN (chooser)));
  const guint n_old = g_list_model_get_n_items (G_LIST_MODEL (titles));
  const char *wanted = node != NULL ? ir_node_wanted_kernel (node) : NULL;
  guint selected = 0;

  self->updating = TRUE;
  g_clear_pointer (&self->names, g_strfreev);
  self->node = node != NULL ? node->id : 0;
  if (node != NULL && self->session != NULL)
    self->names = ir_kernel_choices (ir_session_get_backend (self->session), node);
  gtk_string_list_splice (titles, 0, n_old, (const char *[]){ "Automatic", NULL });
  for (guint i = 0; self->names != NULL && self->names[i] != NULL; i++)
    {
      gtk_string_list_append (titles, self->names[i]);
      if (g_strcmp0 (self->names[i], wanted) == 0)
        selected = i + 1;
    }
  gtk_drop_down_set_selected (GTK_DROP_DOWN (chooser), selected);
  self->updating = FALSE;
  return self->names != NULL && self->names[0] != NULL;
}

/**
 * ir_kernel_chooser_new:
 * @session: (transfer none): whose nodes they are
 *
 * Returns: (transfer floating): a drop-down: automatic, and the kernels by name
 */
GtkWidget *
ir_kernel_chooser_new (IrSession *session)
{
  GtkWidget *widget = gtk_drop_down_new (G_LIST_MODEL (gtk_string_list_new (NULL)), NULL);
  Chooser *self = g_new0 (Chooser, 1);

  g_set_weak_pointer (&self->session, session);
  g_object_set_data_full (G_OBJECT (widget), "chooser", self, chooser_free);
  gtk_widget_set_tooltip_text (widget,
                               "Which kernel runs this node; a choice is a step that can be "
                               "undone by going back");
  gtk_widget_set_valign (widget, GTK_ALIGN_CENTER);
  ir_name (widget, "Kernel");
  g_signal_connect_object (widget, "notify::selected", G_CALLBACK (on_selected), session, 0);
  return widget;
}
