#include "config.h"

#include "app/gui/tab-row.h"

static gboolean
fit (gpointer row)
{
  GtkWidget *tabs = g_object_get_data (row, "tabs");
  GtkAdjustment *along = g_object_get_data (row, "along");
  const double room = gtk_adjustment_get_page_size (along);
  graphene_rect_t at;

  if (gtk_widget_get_root (row) == NULL) /* its window is closed, and what was in it is gone */
    return G_SOURCE_REMOVE;
  gtk_widget_set_visible (gtk_widget_get_last_child (row),
                          gtk_adjustment_get_upper (along) > room + 1);
  for (GtkWidget *tab = gtk_widget_get_first_child (tabs); tab != NULL;
       tab = gtk_widget_get_next_sibling (tab))
    if (GTK_IS_TOGGLE_BUTTON (tab) && gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (tab)) &&
        gtk_widget_compute_bounds (tab, tabs, &at))
      gtk_adjustment_clamp_page (along, at.origin.x, at.origin.x + at.size.width);
  return G_SOURCE_REMOVE;
}

/* Not at once: the row is being given its size. */
static void
fit_later (GtkWidget *row)
{
  g_idle_add_full (G_PRIORITY_HIGH_IDLE, fit, g_object_ref (row), g_object_unref);
}

static GtkWidget *
menu_of (IrViewPlace place)
{
  GtkWidget *button = gtk_menu_button_new ();
  g_autoptr (GMenu) menu = g_menu_new ();
  guint n;
  const IrViewInfo *const *infos = ir_views (&n);

  for (guint i = 0; i < n; i++)
    if (infos[i]->place == place)
      {
        g_autoptr (GMenuItem) item = g_menu_item_new (infos[i]->title, NULL);

        g_menu_item_set_action_and_target (item, "win.show", "s", infos[i]->id);
        g_menu_append_item (menu, item);
      }
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "view-more-symbolic");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_add_css_class (button, "help-button");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_set_tooltip_text (button, "All views of this pane");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "All views of this pane", -1);
  return button;
}

GtkWidget *
ir_tab_row_new (GtkWidget *tabs, IrViewPlace place, GtkStack *stack)
{
  GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0),
            *scroller = ir_view_fading_row (tabs);
  GtkAdjustment *along = gtk_scrolled_window_get_hadjustment (GTK_SCROLLED_WINDOW (scroller));

  gtk_box_append (GTK_BOX (row), scroller);
  gtk_box_append (GTK_BOX (row), menu_of (place));
  g_object_set_data (G_OBJECT (row), "tabs", tabs);
  g_object_set_data_full (G_OBJECT (row), "along", g_object_ref (along), g_object_unref);
  g_signal_connect_object (along, "changed", G_CALLBACK (fit_later), row, G_CONNECT_SWAPPED);
  if (stack != NULL)
    g_signal_connect_object (stack, "notify::visible-child", G_CALLBACK (fit_later), row,
                             G_CONNECT_SWAPPED);
  return row;
}
