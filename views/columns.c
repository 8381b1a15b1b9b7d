/* Tables of things under titles: see columns.h. */
#include "config.h"

#include "views/columns.h"

#include "views/name.h"

#include <math.h>

static char *
cell_text (const IrColumn *column, gpointer item)
{
  double number;

  if (column->text != NULL)
    return column->text (item);
  number = column->number (item);
  return isnan (number)                        ? g_strdup ("–")
         : column->figure == IR_FIGURE_COUNT   ? g_strdup_printf ("%.0f", number)
         : column->figure == IR_FIGURE_PERCENT ? g_strdup_printf ("%.0f %%", number)
                                               : g_strdup_printf ("%.4g", number);
}

static void
show_cell (GtkListItem *item)
{
  const IrColumn *column = g_object_get_data (G_OBJECT (item), "column");
  GtkWidget *label = gtk_list_item_get_child (item);
  g_autofree char *text = cell_text (column, gtk_list_item_get_item (item)),
                  *about = column->about != NULL ? column->about (gtk_list_item_get_item (item))
                                                 : NULL;

  gtk_label_set_text (GTK_LABEL (label), text);
  gtk_widget_set_tooltip_text (label, about != NULL       ? about
                                      : column->width < 0 ? text
                                                          : column->tip);
}

static void
setup_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const IrColumn *column = data;
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), column->number != NULL ? 1 : 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  if (column->number != NULL)
    gtk_widget_add_css_class (label, "numeric");
  if (column->warns)
    gtk_widget_add_css_class (label, "warning");
  g_object_set_data (G_OBJECT (item), "column", data);
  gtk_list_item_set_child (item, label);
}

/* Items that have a signal "changed" are shown anew by it. */
static void
bind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  GObject *row = gtk_list_item_get_item (item);

  show_cell (item);
  ir_name_row (gtk_list_item_get_child (item));
  if (g_signal_lookup ("changed", G_OBJECT_TYPE (row)) != 0)
    g_signal_connect_object (row, "changed", G_CALLBACK (show_cell), item, G_CONNECT_SWAPPED);
}

static void
unbind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  g_signal_handlers_disconnect_by_data (gtk_list_item_get_item (item), item);
}

/* What has no number comes last; equal ones stay as they stand. */
static int
compare (gconstpointer first, gconstpointer second, gpointer data)
{
  const IrColumn *column = data;

  if (column->number == NULL)
    {
      g_autofree char *x = column->text ((gpointer) first), *y = column->text ((gpointer) second);
      return g_utf8_collate (x, y);
    }
  const double x = column->number ((gpointer) first), y = column->number ((gpointer) second);
  return isnan (x) != isnan (y) ? (isnan (x) ? 1 : -1) : x < y ? -1 : x > y;
}

/* Titles have no property for that: each is a button of the header, around a box. */
void
ir_columns_end_title (GtkColumnView *table)
{
  GtkWidget *header = gtk_widget_get_first_child (GTK_WIDGET (table)),
            *title = header != NULL ? gtk_widget_get_last_child (header) : NULL,
            *box = title != NULL ? gtk_widget_get_first_child (title) : NULL;

  if (box != NULL)
    gtk_widget_set_halign (box, GTK_ALIGN_END);
}

static void
add_column (GtkColumnView *view, const IrColumn *column)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  g_autoptr (GtkSorter)
      sorter = GTK_SORTER (gtk_custom_sorter_new (compare, (gpointer) column, NULL));

  g_signal_connect (factory, "setup", G_CALLBACK (setup_cell), (gpointer) column);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cell), NULL);
  g_signal_connect (factory, "unbind", G_CALLBACK (unbind_cell), NULL);
  g_autoptr (GtkColumnViewColumn) item = gtk_column_view_column_new (column->title, factory);
  gtk_column_view_column_set_sorter (item, sorter);
  gtk_column_view_column_set_resizable (item, TRUE);
  if (column->width < 0)
    gtk_column_view_column_set_expand (item, TRUE);
  else
    gtk_column_view_column_set_fixed_width (item, column->width);
  gtk_column_view_append_column (view, item);
  if (column->number != NULL)
    ir_columns_end_title (view);
}

GtkWidget *
ir_columns_new (const char *name, GListStore *store, const IrColumn *columns, guint n)
{
  GtkWidget *view = gtk_column_view_new (NULL);
  GtkSorter *sorter = gtk_column_view_get_sorter (GTK_COLUMN_VIEW (view));

  for (guint i = 0; i < n; i++)
    add_column (GTK_COLUMN_VIEW (view), &columns[i]);
  GtkSortListModel *sorted = gtk_sort_list_model_new (g_object_ref (G_LIST_MODEL (store)),
                                                      g_object_ref (sorter));
  g_autoptr (GtkSingleSelection) selection = gtk_single_selection_new (G_LIST_MODEL (sorted));
  gtk_single_selection_set_autoselect (selection, FALSE);
  gtk_single_selection_set_can_unselect (selection, TRUE);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (view), GTK_SELECTION_MODEL (selection));
  ir_name (view, name);
  gtk_widget_add_css_class (view, "data-table");
  return view;
}

GtkSingleSelection *
ir_columns_selection (GtkWidget *table)
{
  return GTK_SINGLE_SELECTION (gtk_column_view_get_model (GTK_COLUMN_VIEW (table)));
}
