#include "config.h"

#include "views/derive-lists.h"

#include "views/name.h"

#include <string.h>

static const char *const by_names[] = { "Inputs", "Parameters", "All", NULL };
static const char *const by_words[] = { "inputs", "params", "all" };

static void
on_choice (GtkWidget *list, GParamSpec *pspec, gpointer data)
{
  IrDeriveLists *self = data;

  if (!self->listing)
    self->changed (self->data);
}

static GtkWidget *
make_list (IrDeriveLists *self, GtkWidget *bar, const char *const *names, const char *label)
{
  GtkWidget *list = gtk_drop_down_new_from_strings (names), *text = gtk_label_new (label);

  gtk_widget_add_css_class (text, "dim-label");
  ir_name (list, label);
  g_signal_connect (list, "notify::selected", G_CALLBACK (on_choice), self);
  gtk_box_append (GTK_BOX (bar), text);
  gtk_box_append (GTK_BOX (bar), list);
  return list;
}

void
ir_derive_lists_init (IrDeriveLists *self,
                      GtkWidget *bar,
                      void (*changed) (gpointer data),
                      gpointer data)
{
  static const char *const none[] = { NULL };

  self->changed = changed;
  self->data = data;
  self->of = make_list (self, bar, none, "Derive");
  self->by = make_list (self, bar, by_names, "by");
}

void
ir_derive_lists_clear (IrDeriveLists *self)
{
  if (self->of != NULL)
    g_signal_handlers_disconnect_by_data (self->of, self);
  if (self->by != NULL)
    g_signal_handlers_disconnect_by_data (self->by, self);
  self->of = self->by = NULL;
  g_clear_pointer (&self->outputs, g_ptr_array_unref);
}

static gboolean
is_listed (const IrDeriveLists *self, const GPtrArray *names)
{
  if (self->outputs == NULL || self->outputs->len != names->len)
    return FALSE;
  for (guint i = 0; i < names->len; i++)
    if (strcmp (names->pdata[i], self->outputs->pdata[i]) != 0)
      return FALSE;
  return TRUE;
}

/* The floating-point outputs of @model, where they are others than before */
void
ir_derive_lists_update (IrDeriveLists *self, const IrModel *model)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);

  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      const IrValue *output = ir_graph_output (model->main, i);
      if (ir_dtype_is_float (ir_value_dtype (output)))
        g_ptr_array_add (names, g_strdup (output->name));
    }
  if (is_listed (self, names))
    return;
  for (guint i = 0; i < names->len; i++)
    gtk_string_list_append (list, names->pdata[i]);
  g_clear_pointer (&self->outputs, g_ptr_array_unref);
  self->outputs = g_steal_pointer (&names);
  self->listing = TRUE;
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->of), G_LIST_MODEL (list));
  self->listing = FALSE;
  gtk_widget_set_sensitive (self->of, self->outputs->len > 1);
}

const char *
ir_derive_lists_of (const IrDeriveLists *self)
{
  const guint i = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->of));

  return self->outputs != NULL && i < self->outputs->len ? self->outputs->pdata[i] : "";
}

const char *
ir_derive_lists_by (const IrDeriveLists *self)
{
  return by_words[MIN (gtk_drop_down_get_selected (GTK_DROP_DOWN (self->by)),
                       G_N_ELEMENTS (by_words) - 1)];
}

void
ir_derive_lists_set_by (IrDeriveLists *self, const char *wrt)
{
  self->listing = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (by_words); i++)
    if (strcmp (by_words[i], wrt) == 0)
      gtk_drop_down_set_selected (GTK_DROP_DOWN (self->by), i);
  self->listing = FALSE;
}
