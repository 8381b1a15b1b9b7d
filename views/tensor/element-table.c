#include "config.h"
#include "views/columns.h"
#include "views/name.h"

#include "views/tensor/element-table.h"

typedef struct
{
  const char *title;
  char *(*text) (IrElement *element);
  gboolean number; /* its digits stand below each other, and its title above them */
} Column;

static const Column infos[IR_N_ELEMENT_COLUMNS] = {
  { "Index", ir_element_index_text, FALSE },
  { "Before", ir_element_before_text, TRUE },
  { "After", ir_element_after_text, TRUE },
  { "Difference", ir_element_difference_text, TRUE },
};

static void
setup_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const Column *column = data;
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), column->number ? 1 : 0);
  gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
}

static void
bind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const Column *column = data;
  g_autofree char *text = column->text (gtk_list_item_get_item (item));

  gtk_label_set_text (GTK_LABEL (gtk_list_item_get_child (item)), text);
  ir_name_row (gtk_list_item_get_child (item));
}

static GtkColumnViewColumn *
add_column (GtkWidget *table, const Column *info)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkColumnViewColumn *column;

  g_signal_connect (factory, "setup", G_CALLBACK (setup_cell), (gpointer) info);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cell), (gpointer) info);
  column = gtk_column_view_column_new (info->title, factory);
  gtk_column_view_column_set_expand (column, TRUE);
  gtk_column_view_column_set_resizable (column, TRUE);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (table), column);
  if (info->number)
    ir_columns_end_title (GTK_COLUMN_VIEW (table));
  g_object_unref (column);
  return column;
}

/* Tab would walk through all rows of a column view; it leaves the table instead. */
static gboolean
on_table_key (GtkEventControllerKey *controller,
              guint key,
              guint code,
              GdkModifierType state,
              GtkWidget *table)
{
  if (key != GDK_KEY_Tab && key != GDK_KEY_ISO_Left_Tab)
    return FALSE;
  return gtk_widget_child_focus (GTK_WIDGET (gtk_widget_get_root (table)),
                                 key == GDK_KEY_Tab ? GTK_DIR_TAB_FORWARD : GTK_DIR_TAB_BACKWARD);
}

GtkWidget *
ir_element_table_new (IrElementList *elements, GtkColumnViewColumn *columns[IR_N_ELEMENT_COLUMNS])
{
  GtkEventController *keys = gtk_event_controller_key_new ();
  GtkSelectionModel *selection = GTK_SELECTION_MODEL (
      gtk_single_selection_new (g_object_ref (G_LIST_MODEL (elements))));
  GtkWidget *table;

  gtk_single_selection_set_autoselect (GTK_SINGLE_SELECTION (selection), FALSE);
  gtk_single_selection_set_can_unselect (GTK_SINGLE_SELECTION (selection), TRUE);
  table = gtk_column_view_new (selection);
  gtk_column_view_set_show_row_separators (GTK_COLUMN_VIEW (table), FALSE);
  ir_name (table, "Values");
  gtk_widget_add_css_class (table, "data-table");
  for (guint i = 0; i < G_N_ELEMENTS (infos); i++)
    columns[i] = add_column (table, &infos[i]);
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_table_key), table);
  gtk_widget_add_controller (table, keys);
  return table;
}

static GtkSelectionModel *
rows_of (GtkWidget *table)
{
  return gtk_column_view_get_model (GTK_COLUMN_VIEW (table));
}

static IrElementList *
elements_of (GtkWidget *table)
{
  return IR_ELEMENT_LIST (gtk_single_selection_get_model (GTK_SINGLE_SELECTION (rows_of (table))));
}

/* The list is the inner child of a column view. */
void
ir_element_table_scroll (GtkWidget *table, guint64 index)
{
  GtkWidget *list = gtk_widget_get_last_child (table);
  const guint row = ir_element_list_row (elements_of (table), index);

  if (list == NULL || row >= g_list_model_get_n_items (G_LIST_MODEL (rows_of (table))))
    return;
  gtk_selection_model_select_item (rows_of (table), row, TRUE);
  gtk_widget_activate_action (list, "list.scroll-to-item", "u", row);
}

guint64
ir_element_table_selected (GtkWidget *table)
{
  const guint row = gtk_single_selection_get_selected (GTK_SINGLE_SELECTION (rows_of (table)));

  return row != GTK_INVALID_LIST_POSITION ? ir_element_list_first (elements_of (table)) + row
                                          : G_MAXUINT64;
}
