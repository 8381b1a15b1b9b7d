#include "config.h"

#include "views/training/parameter-table.h"

#include "views/name.h"

#include <math.h>

/* -- a row: while the training goes on its numbers change, and it stays the same item -- */

#define TYPE_ROW (row_get_type ())
G_DECLARE_FINAL_TYPE (Row, row, IR, PARAMETER_ROW, GObject)

struct _Row
{
  GObject parent;
  char *name, *bars;
  double weights, update, ratio;
};

G_DEFINE_FINAL_TYPE (Row, row, G_TYPE_OBJECT)

static guint row_changed;

static void
row_finalize (GObject *object)
{
  g_free (IR_PARAMETER_ROW (object)->name);
  g_free (IR_PARAMETER_ROW (object)->bars);
  G_OBJECT_CLASS (row_parent_class)->finalize (object);
}

static void
row_class_init (RowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = row_finalize;
  row_changed = g_signal_new ("changed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                              NULL, NULL, G_TYPE_NONE, 0);
}

static void
row_init (Row *self)
{
}

static void
row_take (Row *self, const IrParameterCourse *course)
{
  g_free (self->bars);
  self->bars = ir_parameter_course_bars (course);
  self->weights = course->weights;
  self->update = course->update;
  self->ratio = ir_parameter_course_ratio (course);
  g_signal_emit (self, row_changed, 0);
}

/* -- columns: a text, or a number -- */

typedef struct
{
  const char *title, *tip;
  int width;          /* px; -1: what is left */
  gsize text, number; /* one of them: a field of Row; 0: the other */
} Column;

#define TEXT(field)   G_STRUCT_OFFSET (Row, field), 0
#define NUMBER(field) 0, G_STRUCT_OFFSET (Row, field)
static const Column columns[] = {
  { "Parameter", NULL, -1, TEXT (name) },
  { "Norm", "Its Euclidean norm", 90, NUMBER (weights) },
  { "Update", "The norm of its change in the last step", 90, NUMBER (update) },
  { "Update / Norm", "How far the last step moved it, as a share of it: about 1e-3 is usual", 110,
    NUMBER (ratio) },
  { "History", "Update / Norm over the steps, in logarithms: low bars are 1e-6, full ones 1", 300,
    TEXT (bars) },
};
#undef TEXT
#undef NUMBER

static double
number_at (const Row *row, const Column *column)
{
  return G_STRUCT_MEMBER (double, row, column->number);
}

static const char *
text_at (const Row *row, const Column *column)
{
  return G_STRUCT_MEMBER (char *, row, column->text);
}

static void
show_cell (GtkListItem *item)
{
  const Column *column = g_object_get_data (G_OBJECT (item), "column");
  const Row *row = gtk_list_item_get_item (item);
  GtkWidget *label = gtk_list_item_get_child (item);
  g_autofree char *text = column->text != 0 ? g_strdup (text_at (row, column))
                          : isnan (number_at (row, column))
                              ? g_strdup ("–")
                              : g_strdup_printf ("%.3g", number_at (row, column));

  gtk_label_set_text (GTK_LABEL (label), text);
  gtk_widget_set_tooltip_text (label, column->width < 0 ? text : column->tip);
}

static void
setup_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const Column *column = data;
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), column->number != 0 ? 1 : 0);
  gtk_label_set_ellipsize (GTK_LABEL (label),
                           column->width < 0 ? PANGO_ELLIPSIZE_MIDDLE : PANGO_ELLIPSIZE_END);
  if (column->number != 0)
    gtk_widget_add_css_class (label, "numeric");
  g_object_set_data (G_OBJECT (item), "column", data);
  gtk_list_item_set_child (item, label);
}

static void
bind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  show_cell (item);
  ir_name_row (gtk_list_item_get_child (item));
  g_signal_connect_object (gtk_list_item_get_item (item), "changed", G_CALLBACK (show_cell), item,
                           G_CONNECT_SWAPPED);
}

static void
unbind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  g_signal_handlers_disconnect_by_data (gtk_list_item_get_item (item), item);
}

/* What has no number comes last. */
static int
compare (gconstpointer first, gconstpointer second, gpointer data)
{
  const Column *column = data;

  if (column->text != 0)
    return g_utf8_collate (text_at (first, column), text_at (second, column));
  const double x = number_at (first, column), y = number_at (second, column);
  return isnan (x) != isnan (y) ? (isnan (x) ? 1 : -1) : x < y ? -1 : x > y;
}

/* -- the table -- */

struct _IrParameterTable
{
  GtkWidget parent;
  GtkWidget *scroller, *view;
  GListStore *store;
};

G_DEFINE_FINAL_TYPE (IrParameterTable, ir_parameter_table, GTK_TYPE_WIDGET)

static guint activated;

static void
add_column (IrParameterTable *self, const Column *column)
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
  gtk_column_view_append_column (GTK_COLUMN_VIEW (self->view), item);
}

static gboolean
has_names (IrParameterTable *self, const GPtrArray *parameters)
{
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (self->store));

  for (guint i = 0; n == parameters->len && i < n; i++)
    {
      g_autoptr (Row) row = g_list_model_get_item (G_LIST_MODEL (self->store), i);
      if (!g_str_equal (row->name, ((const IrParameterCourse *) parameters->pdata[i])->name))
        return FALSE;
    }
  return n == parameters->len;
}

void
ir_parameter_table_set (IrParameterTable *self, const GPtrArray *parameters)
{
  const guint n = parameters != NULL ? parameters->len : 0;

  if (parameters == NULL || !has_names (self, parameters))
    {
      g_list_store_remove_all (self->store);
      for (guint i = 0; i < n; i++)
        {
          g_autoptr (Row) row = g_object_new (TYPE_ROW, NULL);
          row->name = g_strdup (((const IrParameterCourse *) parameters->pdata[i])->name);
          row_take (row, parameters->pdata[i]);
          g_list_store_append (self->store, row);
        }
      return;
    }
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (Row) row = g_list_model_get_item (G_LIST_MODEL (self->store), i);
      row_take (row, parameters->pdata[i]);
    }
}

static void
on_activate (IrParameterTable *self, guint position)
{
  GListModel *rows = G_LIST_MODEL (gtk_column_view_get_model (GTK_COLUMN_VIEW (self->view)));
  g_autoptr (Row) row = g_list_model_get_item (rows, position);

  g_signal_emit (self, activated, 0, row->name);
}

static void
ir_parameter_table_dispose (GObject *object)
{
  IrParameterTable *self = IR_PARAMETER_TABLE (object);

  g_clear_object (&self->store);
  g_clear_pointer (&self->scroller, gtk_widget_unparent);
  G_OBJECT_CLASS (ir_parameter_table_parent_class)->dispose (object);
}

static void
ir_parameter_table_class_init (IrParameterTableClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_parameter_table_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  activated = g_signal_new ("activate", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                            NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
ir_parameter_table_init (IrParameterTable *self)
{
  self->store = g_list_store_new (TYPE_ROW);
  self->view = gtk_column_view_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    add_column (self, &columns[i]);
  GtkSortListModel *sorted = gtk_sort_list_model_new (
      g_object_ref (G_LIST_MODEL (self->store)),
      g_object_ref (gtk_column_view_get_sorter (GTK_COLUMN_VIEW (self->view))));
  g_autoptr (GtkSingleSelection) selection = gtk_single_selection_new (G_LIST_MODEL (sorted));
  gtk_single_selection_set_autoselect (selection, FALSE);
  gtk_column_view_set_model (GTK_COLUMN_VIEW (self->view), GTK_SELECTION_MODEL (selection));
  ir_name (self->view, "Parameters of the training");
  gtk_widget_add_css_class (self->view, "data-table");
  g_signal_connect_swapped (self->view, "activate", G_CALLBACK (on_activate), self);
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->view);
  gtk_widget_set_vexpand (self->scroller, TRUE);
  gtk_widget_set_parent (self->scroller, GTK_WIDGET (self));
}

GtkWidget *
ir_parameter_table_new (void)
{
  return g_object_new (IR_TYPE_PARAMETER_TABLE, NULL);
}
