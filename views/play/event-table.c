/* What a table says of each event of a run's control flow. */
#include "config.h"

#include "views/play/event-table.h"

#include "core/ir/model.h"
#include "views/columns.h"
#include "views/name.h"
#include "views/play/event-list.h"

typedef enum
{
  COLUMN_INDEX,
  COLUMN_KIND,
  COLUMN_NODE,
  COLUMN_PLACE,
  COLUMN_SLOT,
  N_COLUMNS
} Column;

static const struct
{
  const char *title;
  int width; /* -1: what is left */
} columns[N_COLUMNS] = {
  { "Event", 80 }, { "What", 90 }, { "Node", -1 }, { "Where", -1 }, { "Slot", 70 }
};

static char *
place_text (const IrFlowEvent *event)
{
  return *event->frame == '\0'
             ? g_strdup ("")
             : g_strdup_printf ("%s, iteration %" G_GINT64_FORMAT, event->frame, event->iteration);
}

static char *
cell_text (IrEventRow *row, Column column)
{
  const IrFlowEvent *event = ir_event_row_get_event (row);

  switch (column)
    {
    case COLUMN_INDEX:
      return g_strdup_printf ("%" G_GUINT64_FORMAT, event->index);
    case COLUMN_KIND:
      return g_strdup (ir_flow_kind_name (event->kind));
    case COLUMN_NODE:
      return ir_node_label (
          ir_model_node (ir_flow_log_model (ir_event_row_get_log (row)), event->node));
    case COLUMN_PLACE:
      return place_text (event);
    case COLUMN_SLOT:
    case N_COLUMNS:
    default:
      return event->slot < 0 ? g_strdup ("") : g_strdup_printf ("%d", event->slot);
    }
}

static gboolean
is_number (Column which)
{
  return which == COLUMN_INDEX || which == COLUMN_SLOT;
}

static void
setup_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer column)
{
  GtkWidget *label = gtk_label_new (NULL);
  const Column which = GPOINTER_TO_UINT (column);

  gtk_label_set_xalign (GTK_LABEL (label), is_number (which) ? 1 : 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  if (is_number (which))
    gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
}

static void
bind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer column)
{
  GtkWidget *label = gtk_list_item_get_child (item);
  const IrFlowEvent *event = ir_event_row_get_event (gtk_list_item_get_item (item));
  g_autofree char *text = cell_text (gtk_list_item_get_item (item), GPOINTER_TO_UINT (column));

  gtk_label_set_text (GTK_LABEL (label), text);
  ir_name_row (label);
  if (event->kind == IR_FLOW_DEAD || event->kind == IR_FLOW_DEFERRED)
    gtk_widget_add_css_class (label, "dim-label");
  else
    gtk_widget_remove_css_class (label, "dim-label");
}

static void
add_column (GtkColumnView *table, Column which)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  g_autoptr (GtkColumnViewColumn) column = NULL;

  g_signal_connect (factory, "setup", G_CALLBACK (setup_cell), GUINT_TO_POINTER (which));
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cell), GUINT_TO_POINTER (which));
  column = gtk_column_view_column_new (columns[which].title, factory);
  gtk_column_view_column_set_resizable (column, TRUE);
  if (columns[which].width < 0)
    gtk_column_view_column_set_expand (column, TRUE);
  else
    gtk_column_view_column_set_fixed_width (column, columns[which].width);
  gtk_column_view_append_column (table, column);
  if (is_number (which))
    ir_columns_end_title (table);
}

GtkWidget *
ir_event_table_new (void)
{
  GtkWidget *table = gtk_column_view_new (NULL);

  for (Column i = 0; i < N_COLUMNS; i++)
    add_column (GTK_COLUMN_VIEW (table), i);
  ir_name (table, "Events");
  gtk_widget_add_css_class (table, "data-table");
  return table;
}
