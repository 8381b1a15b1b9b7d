#include "config.h"

#include "views/gradients/gradient-table.h"

#include "views/columns.h"

#include <math.h>
#include <string.h>

struct _IrGradientItem
{
  GObject parent;
  IrGradients *gradients;
  guint index;
};

G_DEFINE_FINAL_TYPE (IrGradientItem, ir_gradient_item, G_TYPE_OBJECT)

static void
ir_gradient_item_finalize (GObject *object)
{
  ir_gradients_unref (IR_GRADIENT_ITEM (object)->gradients);
  G_OBJECT_CLASS (ir_gradient_item_parent_class)->finalize (object);
}

static void
ir_gradient_item_class_init (IrGradientItemClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_gradient_item_finalize;
}

static void
ir_gradient_item_init (IrGradientItem *self)
{
}

/* -- what cells say -- */

static const IrGradientRow *
row_of (const IrGradientItem *item)
{
  return &g_array_index (item->gradients->rows, IrGradientRow, item->index);
}

static const IrGradientLayer *
layer_of (const IrGradientItem *item)
{
  return &g_array_index (item->gradients->layers, IrGradientLayer, item->index);
}

static char *
name_text (gpointer row)
{
  const IrGradientItem *item = row;

  return g_strdup (ir_model_value (item->gradients->model, row_of (item)->by)->name);
}

static char *
shape_text (gpointer row)
{
  const IrGradientItem *item = row;
  const IrModel *model = item->gradients->model;
  const IrValue *by = ir_model_value (model, row_of (item)->by);
  g_autofree char *text = ir_type_to_string (model->context, ir_value_shown_type (by));
  const char *bracket = strchr (text, '[');

  return g_strdup (bracket != NULL ? bracket : "[]");
}

static char *
state_text (gpointer item)
{
  return ir_gradient_row_state (row_of (item));
}

static char *
node_text (gpointer row)
{
  const IrGradientItem *item = row;
  const IrNode *node = ir_model_node (item->gradients->model, layer_of (item)->node);

  return *node->name != '\0' ? g_strdup (node->name) : ir_node_label (node);
}

static char *
operator_text (gpointer row)
{
  const IrGradientItem *item = row;

  return g_strdup (ir_model_node (item->gradients->model, layer_of (item)->node)->op_type);
}

static char *
dead_text (gpointer item)
{
  const IrGradientLayer *layer = layer_of (item);

  return layer->n_units == 0 ? g_strdup ("")
                             : g_strdup_printf ("%u of %u", layer->n_dead, layer->n_units);
}

static double
share (guint64 part, guint64 n)
{
  return n > 0 ? 100.0 * (double) part / (double) n : NAN;
}

/* What cannot be ordered comes last. */
static double
norm_of_stats (const IrTensorStats *stats)
{
  return stats->n == 0                             ? NAN
         : stats->n_nan > 0                        ? INFINITY
         : stats->n_pos_inf + stats->n_neg_inf > 0 ? G_MAXDOUBLE
                                                   : stats->l2;
}

static char *
norm_text (const IrTensorStats *stats)
{
  return stats->n == 0                             ? g_strdup ("–")
         : stats->n_nan > 0                        ? g_strdup ("NaN")
         : stats->n_pos_inf + stats->n_neg_inf > 0 ? g_strdup ("∞")
                                                   : g_strdup_printf ("%.4g", stats->l2);
}

static char *
row_norm_text (gpointer item)
{
  return norm_text (&row_of (item)->stats);
}

static char *
layer_norm_text (gpointer item)
{
  return norm_text (&layer_of (item)->stats);
}

static double
row_norm (gpointer item)
{
  return norm_of_stats (&row_of (item)->stats);
}

static double
row_ratio (gpointer item)
{
  const IrTensorStats *stats = &row_of (item)->stats;

  return row_of (item)->held > 0 && stats->n > 0 && stats->n_nan == 0
             ? ir_tensor_stats_norm (stats) / row_of (item)->held
             : NAN;
}

static double
row_max (gpointer item)
{
  return row_of (item)->stats.n > 0 ? ir_tensor_stats_max_abs (&row_of (item)->stats) : NAN;
}

static double
row_zeros (gpointer item)
{
  return share (row_of (item)->stats.n_zero, row_of (item)->stats.n);
}

static double
row_nan (gpointer item)
{
  return row_of (item)->stats.n > 0 ? (double) row_of (item)->stats.n_nan : NAN;
}

static double
layer_norm (gpointer item)
{
  return norm_of_stats (&layer_of (item)->stats);
}

static double
layer_growth (gpointer item)
{
  return layer_of (item)->growth;
}

static double
layer_zeros (gpointer item)
{
  return share (layer_of (item)->stats.n_zero, layer_of (item)->stats.n);
}

static double
layer_nan (gpointer item)
{
  return (double) layer_of (item)->stats.n_nan;
}

static double
layer_dead (gpointer item)
{
  return share (layer_of (item)->n_dead, layer_of (item)->n_units);
}

static const IrColumn value_columns[] = {
  { "Value", NULL, -1, name_text, NULL, 0, FALSE },
  { "Shape", NULL, 120, shape_text, NULL, 0, FALSE },
  { "Norm", NULL, 90, row_norm_text, row_norm, 0, FALSE },
  { "Norm / Value", NULL, 100, NULL, row_ratio, IR_FIGURE_NUMBER, FALSE },
  { "Largest", NULL, 90, NULL, row_max, IR_FIGURE_NUMBER, FALSE },
  { "Zeros", NULL, 70, NULL, row_zeros, IR_FIGURE_PERCENT, FALSE },
  { "NaN", NULL, 60, NULL, row_nan, IR_FIGURE_COUNT, FALSE },
  { "State", NULL, 80, state_text, NULL, 0, TRUE },
};

static const IrColumn layer_columns[] = {
  { "Node", NULL, -1, node_text, NULL, 0, FALSE },
  { "Operator", NULL, 130, operator_text, NULL, 0, FALSE },
  { "Norm", NULL, 90, layer_norm_text, layer_norm, 0, FALSE },
  { "Growth", NULL, 90, NULL, layer_growth, IR_FIGURE_NUMBER, FALSE },
  { "Zeros", NULL, 70, NULL, layer_zeros, IR_FIGURE_PERCENT, FALSE },
  { "NaN", NULL, 60, NULL, layer_nan, IR_FIGURE_COUNT, FALSE },
  { "Dead Units", NULL, 100, dead_text, layer_dead, 0, FALSE },
};

/* -- the table -- */

struct _IrGradientTable
{
  GtkWidget parent;
  gboolean layers;
  GtkWidget *scroller, *view;
  GListStore *store;
  GtkSingleSelection *selection;
  gboolean syncing;
};

G_DEFINE_FINAL_TYPE (IrGradientTable, ir_gradient_table, GTK_TYPE_WIDGET)

enum
{
  CHOSEN,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

/* Enter, or a double click: to its place in the picture. */
static void
on_activate (IrGradientTable *self)
{
  gtk_widget_activate_action (GTK_WIDGET (self), "win.view", "s", "show-selected");
}

int
ir_gradient_table_get_chosen (IrGradientTable *self)
{
  const IrGradientItem *item = gtk_single_selection_get_selected_item (self->selection);

  return item != NULL ? (int) item->index : -1;
}

static void
on_selected (IrGradientTable *self)
{
  if (!self->syncing)
    g_signal_emit (self, signals[CHOSEN], 0, ir_gradient_table_get_chosen (self));
}

/* Tells nobody; -1: none */
void
ir_gradient_table_choose (IrGradientTable *self, int index)
{
  GListModel *rows = G_LIST_MODEL (self->selection);
  guint position = GTK_INVALID_LIST_POSITION;
  GtkWidget *list = gtk_widget_get_last_child (self->view);

  if (index == ir_gradient_table_get_chosen (self))
    return;
  for (guint i = 0; index >= 0 && i < g_list_model_get_n_items (rows); i++)
    {
      g_autoptr (IrGradientItem) item = g_list_model_get_item (rows, i);
      if ((int) item->index == index)
        position = i;
    }
  self->syncing = TRUE;
  gtk_single_selection_set_selected (self->selection, position);
  self->syncing = FALSE;
  if (position != GTK_INVALID_LIST_POSITION && list != NULL)
    gtk_widget_activate_action (list, "list.scroll-to-item", "u", position);
}

void
ir_gradient_table_set (IrGradientTable *self, IrGradients *gradients)
{
  const GArray *rows = gradients == NULL ? NULL
                       : self->layers    ? gradients->layers
                                         : gradients->rows;
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = 0; rows != NULL && i < rows->len; i++)
    {
      IrGradientItem *item = g_object_new (IR_TYPE_GRADIENT_ITEM, NULL);
      item->gradients = ir_gradients_ref (gradients);
      item->index = i;
      g_ptr_array_add (items, item);
    }
  self->syncing = TRUE;
  g_list_store_splice (self->store, 0, g_list_model_get_n_items (G_LIST_MODEL (self->store)),
                       items->pdata, items->len);
  gtk_single_selection_set_selected (self->selection, GTK_INVALID_LIST_POSITION);
  self->syncing = FALSE;
}

static void
ir_gradient_table_dispose (GObject *object)
{
  IrGradientTable *self = IR_GRADIENT_TABLE (object);

  g_clear_object (&self->store);
  g_clear_pointer (&self->scroller, gtk_widget_unparent);
  G_OBJECT_CLASS (ir_gradient_table_parent_class)->dispose (object);
}

static gboolean
ir_gradient_table_grab_focus (GtkWidget *widget)
{
  return gtk_widget_child_focus (IR_GRADIENT_TABLE (widget)->view, GTK_DIR_TAB_FORWARD);
}

static void
ir_gradient_table_class_init (IrGradientTableClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_gradient_table_dispose;
  GTK_WIDGET_CLASS (klass)->grab_focus = ir_gradient_table_grab_focus;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  signals[CHOSEN] = g_signal_new ("chosen", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                  NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT);
}

static void
ir_gradient_table_init (IrGradientTable *self)
{
  self->store = g_list_store_new (IR_TYPE_GRADIENT_ITEM);
  self->scroller = gtk_scrolled_window_new ();
  gtk_widget_set_vexpand (self->scroller, TRUE);
  gtk_widget_set_parent (self->scroller, GTK_WIDGET (self));
}

GtkWidget *
ir_gradient_table_new (gboolean layers, const char *label)
{
  IrGradientTable *self = g_object_new (IR_TYPE_GRADIENT_TABLE, NULL);

  self->layers = layers;
  self->view = ir_columns_new (label, self->store, layers ? layer_columns : value_columns,
                               layers ? G_N_ELEMENTS (layer_columns)
                                      : G_N_ELEMENTS (value_columns));
  self->selection = ir_columns_selection (self->view);
  g_signal_connect_object (self->selection, "notify::selected", G_CALLBACK (on_selected), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_swapped (self->view, "activate", G_CALLBACK (on_activate), self);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->view);
  return GTK_WIDGET (self);
}
