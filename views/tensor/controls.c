#include "config.h"

#include "views/tensor/controls.h"

#include "views/label.h"
#include "views/name.h"

GtkWidget *
tensor_text_label (const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  ir_label_wrap_names (GTK_LABEL (label)); /* strings may be one word */
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_set_can_focus (label, FALSE); /* by pointer only: no stop for the keyboard */
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

GtkWidget *
tensor_line_label (const char *text, const char *css, PangoEllipsizeMode ellipsize)
{
  GtkWidget *label = tensor_text_label (text, css);

  gtk_label_set_wrap (GTK_LABEL (label), FALSE);
  gtk_label_set_ellipsize (GTK_LABEL (label), ellipsize);
  gtk_widget_set_valign (label, GTK_ALIGN_CENTER);
  return label;
}

GtkWidget *
tensor_named_choice (const char *name, const char *const *titles, GCallback changed, gpointer self)
{
  GtkWidget *choice = gtk_drop_down_new_from_strings (titles);

  ir_name (choice, name);
  gtk_widget_set_tooltip_text (choice, name);
  gtk_widget_add_css_class (choice, "compact");
  g_signal_connect_swapped (choice, "notify::selected", changed, self);
  return choice;
}

GtkWidget *
tensor_small_entry (const char *name, const char *placeholder, const char *tip)
{
  GtkWidget *entry = gtk_entry_new ();

  gtk_entry_set_placeholder_text (GTK_ENTRY (entry), placeholder);
  gtk_editable_set_width_chars (GTK_EDITABLE (entry), 9);
  gtk_editable_set_max_width_chars (GTK_EDITABLE (entry), 9);
  gtk_widget_set_tooltip_text (entry, tip);
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  return entry;
}

GtkWidget *
tensor_flat_button (const char *title, const char *tip, GCallback clicked, gpointer self)
{
  GtkWidget *button = gtk_button_new_with_label (title);

  gtk_widget_set_tooltip_text (button, tip);
  gtk_widget_add_css_class (button, "flat");
  g_signal_connect_swapped (button, "clicked", clicked, self);
  return button;
}

/* The pictures get three fifths, where both sides fit into, once it is known of how much. */
static void
on_max_position (GtkPaned *paned, GParamSpec *pspec, gpointer data)
{
  int most = 0;

  g_object_get (paned, "max-position", &most, NULL);
  if (most <= 0 || most == G_MAXINT || g_object_get_data (G_OBJECT (paned), "placed") != NULL)
    return;
  g_object_set_data (G_OBJECT (paned), "placed", paned);
  gtk_paned_set_position (paned, gtk_widget_get_width (GTK_WIDGET (paned)) * 3 / 5);
}

/* @pictures and @table, with what can be moved between them. */
GtkWidget *
tensor_beside (GtkWidget *pictures, GtkWidget *table)
{
  GtkWidget *paned = gtk_paned_new (GTK_ORIENTATION_HORIZONTAL);

  gtk_paned_set_start_child (GTK_PANED (paned), pictures);
  gtk_paned_set_end_child (GTK_PANED (paned), table);
  gtk_paned_set_shrink_start_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (paned), FALSE);
  gtk_widget_set_vexpand (paned, TRUE);
  g_signal_connect (paned, "notify::max-position", G_CALLBACK (on_max_position), NULL);
  return paned;
}
