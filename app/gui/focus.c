/* A menu that is closed from one of its submenus leaves the focus in itself, and what is given the focus may be in a page
 * that is not shown: keys go nowhere then. What had the focus before gets it back. */
#include "config.h"

#include "app/gui/focus.h"

#define KEY "focus" /* of the window's data */

typedef struct
{
  GtkWindow *window; /* owns this */
  GtkWidget *last;   /* (nullable) weak: the last one outside of menus */
  guint idle;
} Focus;

static void
focus_free (gpointer data)
{
  Focus *self = data;

  g_clear_weak_pointer (&self->last);
  g_clear_handle_id (&self->idle, g_source_remove);
  g_free (self);
}

static gboolean
give_back (gpointer data)
{
  Focus *self = data;
  GtkWidget *focus = gtk_window_get_focus (self->window);

  self->idle = 0;
  if (focus != NULL && !gtk_widget_get_mapped (focus) && self->last != NULL &&
      gtk_widget_get_mapped (self->last))
    gtk_window_set_focus (self->window, self->last);
  return G_SOURCE_REMOVE;
}

static void
queue_give_back (GtkWindow *window)
{
  Focus *self = g_object_get_data (G_OBJECT (window), KEY);

  if (self->idle == 0)
    self->idle = g_idle_add (give_back, self);
}

static void
on_focus (GtkWindow *window, GParamSpec *pspec, Focus *self)
{
  GtkWidget *focus = gtk_window_get_focus (window);
  GtkWidget *popover = focus != NULL ? gtk_widget_get_ancestor (focus, GTK_TYPE_POPOVER) : NULL;

  if (focus == NULL)
    return;
  if (popover == NULL)
    {
      if (gtk_widget_get_mapped (focus) || !gtk_widget_get_mapped (GTK_WIDGET (window)))
        g_set_weak_pointer (&self->last, focus);
      else
        queue_give_back (window);
      return;
    }
  if (g_object_get_data (G_OBJECT (popover), KEY) != NULL)
    return; /* it is known */
  g_object_set_data (G_OBJECT (popover), KEY, self);
  g_signal_connect_object (popover, "unmap", G_CALLBACK (queue_give_back), window,
                           G_CONNECT_SWAPPED | G_CONNECT_AFTER);
}

void
ir_focus_keep (GtkWindow *window)
{
  Focus *self = g_new0 (Focus, 1);

  self->window = window;
  g_object_set_data_full (G_OBJECT (window), KEY, self, focus_free);
  g_signal_connect (window, "notify::focus-widget", G_CALLBACK (on_focus), self);
}
