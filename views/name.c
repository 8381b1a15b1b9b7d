#include "config.h"

#include "views/name.h"

static void
set_label (GtkWidget *widget, const char *name)
{
  gtk_accessible_update_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

/* @widget, and what in it takes the focus: the button of a drop-down, the list of a table */
void
ir_name (GtkWidget *widget, const char *name)
{
  GtkWidget *inner = gtk_widget_get_first_child (widget);

  set_label (widget, name);
  if (inner != NULL && GTK_IS_TOGGLE_BUTTON (inner))
    set_label (inner, name);
  if (!GTK_IS_COLUMN_VIEW (widget))
    return;
  set_label (inner, "Columns");
  set_label (gtk_widget_get_next_sibling (inner), name);
}

/* All that is a button without a name of its own in @root, which the toolkit makes. */
void
ir_name_buttons (GtkWidget *root, const char *name)
{
  if (GTK_IS_BUTTON (root) && gtk_button_get_label (GTK_BUTTON (root)) == NULL)
    set_label (root, name);
  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    ir_name_buttons (child, name);
}

static void
add_texts (GtkWidget *widget, GString *texts)
{
  const char *text = GTK_IS_LABEL (widget) ? gtk_label_get_text (GTK_LABEL (widget)) : "";

  if (!gtk_widget_get_visible (widget))
    return;
  if (text[0] != '\0')
    g_string_append_printf (texts, "%s%s", texts->len > 0 ? ", " : "", text);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    add_texts (child, texts);
}

/* The row of a list that @child, which a factory has bound, is in: by all texts in it. In a table the
 * row is around the cell. */
void
ir_name_row (GtkWidget *child)
{
  GtkWidget *row = gtk_widget_get_parent (child);
  GtkWidget *around = row != NULL ? gtk_widget_get_parent (row) : NULL;
  g_autoptr (GString) texts = g_string_new (NULL);

  if (around != NULL && gtk_widget_get_ancestor (row, GTK_TYPE_COLUMN_VIEW) != NULL)
    row = around;
  if (row == NULL)
    return;
  add_texts (row, texts);
  set_label (row, texts->str);
}
