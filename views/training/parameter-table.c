#include "config.h"

#include "views/training/parameter-table.h"

#include "views/columns.h"

#include <adwaita.h>

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

/* -- columns -- */

static char *
name_of (gpointer row)
{
  return g_strdup (((Row *) row)->name);
}

static char *
bars_of (gpointer row)
{
  return g_strdup (((Row *) row)->bars);
}

static double
weights_of (gpointer row)
{
  return ((Row *) row)->weights;
}

static double
update_of (gpointer row)
{
  return ((Row *) row)->update;
}

static double
ratio_of (gpointer row)
{
  return ((Row *) row)->ratio;
}

static const IrColumn columns[] = {
  { "Parameter", NULL, -1, name_of, NULL, 0, FALSE },
  { "Norm", "Its Euclidean norm", 90, NULL, weights_of, IR_FIGURE_NUMBER, FALSE },
  { "Update", "The norm of its change in the last step", 90, NULL, update_of, IR_FIGURE_NUMBER,
    FALSE },
  { "Update / Norm", "How far the last step moved it, as a share of it: about 1e-3 is usual", 110,
    NULL, ratio_of, IR_FIGURE_NUMBER, FALSE },
  { "History", "Update / Norm over the steps, in logarithms: low bars are 1e-6, full ones 1", 300,
    bars_of, NULL, 0, FALSE },
};

/* -- the table -- */

struct _IrParameterTable
{
  GtkWidget parent;
  GtkWidget *stack, *view;
  GListStore *store;
};

G_DEFINE_FINAL_TYPE (IrParameterTable, ir_parameter_table, GTK_TYPE_WIDGET)

static guint activated;

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

  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), n > 0 ? "table" : "none");
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
  g_clear_pointer (&self->stack, gtk_widget_unparent);
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
  GtkWidget *scroller = gtk_scrolled_window_new (), *none = adw_status_page_new ();

  self->store = g_list_store_new (TYPE_ROW);
  self->view = ir_columns_new ("Parameters of the training", self->store, columns,
                               G_N_ELEMENTS (columns));
  g_signal_connect_swapped (self->view, "activate", G_CALLBACK (on_activate), self);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->view);
  gtk_widget_set_vexpand (scroller, TRUE);
  adw_status_page_set_title (ADW_STATUS_PAGE (none), "No Parameters Yet");
  adw_status_page_set_description (
      ADW_STATUS_PAGE (none),
      "After the first step each stands here with its norm, and with how far the "
      "step moved it.");
  gtk_widget_add_css_class (none, "compact");
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack), none, "none");
  gtk_stack_add_named (GTK_STACK (self->stack), scroller, "table");
  gtk_widget_set_parent (self->stack, GTK_WIDGET (self));
}

GtkWidget *
ir_parameter_table_new (void)
{
  return g_object_new (IR_TYPE_PARAMETER_TABLE, NULL);
}
