#include "config.h"

#include "views/differences/values.h"

#include "core/ir/count.h"
#include "views/differences/value-table.h"
#include "views/name.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/values.h"

#include <string.h>

static const struct
{
  const char *title;
  IrValueOrder order;
  guint column;
} orders[] = {
  { "In order of execution", IR_VALUES_BY_ORDER, IR_VALUE_COLUMN_ORDER },
  { "Largest difference first", IR_VALUES_BY_ABS, IR_VALUE_COLUMN_ABS },
  { "Largest relative difference first", IR_VALUES_BY_REL, IR_VALUE_COLUMN_REL },
  { "Most ULPs first", IR_VALUES_BY_ULP, IR_VALUE_COLUMN_ULP },
  { "By name", IR_VALUES_BY_B, IR_VALUE_COLUMN_NAME },
};
#define BY_TITLE G_N_ELEMENTS (orders) /* the place in the list behind those */

struct _IrValuesPage
{
  AdwBin parent_instance;

  IrSession *session; /* referenced */
  GtkWidget *stack, *summary, *table, *first, *order, *all;
  GListStore *store;             /* of IrValueItem */
  GtkSingleSelection *selection; /* of the table */
  const IrComparedValues *shown; /* (nullable) only to tell whether there are others; may be gone */
  gboolean filling, ordering;    /* the second: by the list of orders, not by a title */
};

G_DEFINE_FINAL_TYPE (IrValuesPage, ir_values_page, ADW_TYPE_BIN)

/* -- texts -- */

/* "168 compared: 34 differ, 2 by more than rounding" */
static char *
summary_text (const IrComparedValues *values)
{
  g_autofree char *compared = ir_count_text (values->items->len),
                  *differ = ir_count_text (values->n_differ),
                  *diverge = ir_count_text (values->n_diverge);

  if (values->n_differ == 0)
    return g_strdup_printf ("%s compared: all are the same, bit for bit", compared);
  if (values->n_diverge == 0)
    return g_strdup_printf ("%s compared: %s differ, all by rounding", compared, differ);
  return g_strdup_printf ("%s compared: %s differ, %s by more than rounding", compared, differ,
                          diverge);
}

/* -- the list -- */

static GtkWidget *
make_label (const char *text, const char *css, PangoEllipsizeMode ellipsize)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), ellipsize);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

/* Values that are only on the other side have no place in the picture of two steps. */
static gboolean
is_listed (IrValuesPage *self, const IrValueRow *line, gboolean nothing_differs)
{
  const IrFrame *frame = ir_session_get_frame (self->session);

  if (line->item == NULL && line->b == NULL && (frame == NULL || !frame->foreign))
    return FALSE;
  return gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->all)) || nothing_differs ||
         (line->item != NULL && line->item->differs);
}

static IrValueOrder
order_of (IrValuesPage *self)
{
  const guint chosen = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->order));

  return chosen < BY_TITLE ? orders[chosen].order : IR_VALUES_BY_ORDER;
}

static void
fill (IrValuesPage *self, const IrComparedValues *values)
{
  g_autoptr (GArray) rows = ir_value_rows (values);
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (g_object_unref);
  g_autofree char *counts = summary_text (values);

  for (guint i = 0; i < rows->len; i++)
    {
      const IrValueRow *line = &g_array_index (rows, IrValueRow, i);

      if (is_listed (self, line, values->n_differ == 0))
        g_ptr_array_add (items, ir_value_item_new (line));
    }
  self->filling = TRUE;
  g_list_store_splice (self->store, 0, g_list_model_get_n_items (G_LIST_MODEL (self->store)),
                       items->pdata, items->len);
  self->filling = FALSE;
  gtk_label_set_text (GTK_LABEL (self->summary), counts);
  gtk_widget_set_sensitive (self->first, values->n_differ > 0);
  gtk_button_set_label (GTK_BUTTON (self->first),
                        values->n_diverge > 0 ? "First Divergence" : "First Difference");
  ir_values_page_follow (self);
}

void
ir_values_page_update (IrValuesPage *self)
{
  const IrComparedValues *values = ir_session_get_values (self->session);

  if (values == NULL)
    gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "ask");
  else if (values != self->shown && values->items->len > 0)
    fill (self, values);
  if (values != NULL)
    gtk_stack_set_visible_child_name (GTK_STACK (self->stack),
                                      values->items->len > 0 ? "list" : "none");
  self->shown = values;
}

/* -- choosing -- */

/* What node @id of the other graph is in the picture: its partner, where it has one. */
static guint
id_in_picture (const IrFrame *frame, IrNodeId id)
{
  const IrNodeDiff *row = ir_diff_of_a (frame->diff, id);

  return row != NULL && row->b != 0 ? row->b : id | IR_OTHER_SIDE;
}

/* Who makes it, on both sides. */
static void
select_makers (IrValuesPage *self, const IrFrame *frame, const IrValue *value, IrValueId id)
{
  const IrComparedValues *values = ir_session_get_values (self->session);
  const gboolean is_other = (id & IR_OTHER_SIDE) != 0;
  const IrComparedValue *item = values != NULL && !is_other ? ir_compared_values_of_b (values, id)
                                                            : NULL;
  const IrValue *twin = item != NULL && frame->foreign ? ir_model_value (values->a, item->a) : NULL;
  g_autoptr (GtkBitset) nodes = gtk_bitset_new_empty ();

  if (value->producer != NULL)
    gtk_bitset_add (nodes,
                    is_other ? id_in_picture (frame, value->producer->id) : value->producer->id);
  if (twin != NULL && twin->producer != NULL)
    gtk_bitset_add (nodes, id_in_picture (frame, twin->producer->id));
  if (gtk_bitset_get_size (nodes) == 1)
    ir_session_select_node (self->session, gtk_bitset_get_nth (nodes, 0));
  else
    ir_session_set_selection (self->session, nodes);
}

static void
show_value (IrValuesPage *self, IrValueId id)
{
  const IrFrame *frame = ir_session_get_frame (self->session);
  const IrValue *value = frame != NULL ? ir_frame_value (frame, id) : NULL;

  if (value == NULL)
    return;
  select_makers (self, frame, value, id);
  ir_session_select_value (self->session, id);
}

/* Its place among the rows as they are sorted, or %GTK_INVALID_LIST_POSITION */
static guint
row_of (IrValuesPage *self, IrValueId id)
{
  GListModel *model = G_LIST_MODEL (self->selection);

  for (guint i = 0; i < g_list_model_get_n_items (model); i++)
    {
      g_autoptr (IrValueItem) item = g_list_model_get_item (model, i);

      if (ir_value_item_id (item) == id)
        return i;
    }
  return GTK_INVALID_LIST_POSITION;
}

/* The value that is selected, else the first that the selected node makes. */
static guint
selected_row (IrValuesPage *self)
{
  const IrFrame *frame = ir_session_get_frame (self->session);
  const IrValueId value = ir_session_get_selected_value (self->session);
  const IrNodeId id = ir_session_get_selected_node (self->session);
  const IrNode *node = frame != NULL && id != 0 ? ir_frame_node (frame, id) : NULL;
  guint row = value != 0 ? row_of (self, value) : GTK_INVALID_LIST_POSITION;

  for (guint i = 0;
       row == GTK_INVALID_LIST_POSITION && value == 0 && node != NULL && i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      row = row_of (self, node->outputs[i]->id | (id & IR_OTHER_SIDE));
  return row;
}

void
ir_values_page_follow (IrValuesPage *self)
{
  const guint row = ir_session_get_values (self->session) != NULL ? selected_row (self)
                                                                  : GTK_INVALID_LIST_POSITION;
  GtkWidget *list = gtk_widget_get_last_child (self->table);

  if (row == gtk_single_selection_get_selected (self->selection))
    return;
  self->filling = TRUE;
  gtk_single_selection_set_selected (self->selection, row);
  self->filling = FALSE;
  if (row != GTK_INVALID_LIST_POSITION)
    gtk_widget_activate_action (list, "list.scroll-to-item", "u", row);
}

static void
on_row (IrValuesPage *self)
{
  IrValueItem *item = gtk_single_selection_get_selected_item (self->selection);

  if (!self->filling && item != NULL)
    show_value (self, ir_value_item_id (item));
}

static void
on_first (IrValuesPage *self)
{
  const IrComparedValues *values = ir_session_get_values (self->session);
  const IrComparedValue *first = values != NULL
                                     ? ir_compared_values_first (values, values->n_diverge > 0)
                                     : NULL;

  if (first == NULL)
    return;
  show_value (self, first->b);
  ir_values_page_follow (self);
  gtk_widget_grab_focus (self->table);
}

static void
refill (IrValuesPage *self)
{
  const IrComparedValues *values = ir_session_get_values (self->session);

  if (values != NULL && values->items->len > 0)
    fill (self, values);
}

/* -- order -- */

static void
on_order (IrValuesPage *self)
{
  const guint chosen = gtk_drop_down_get_selected (GTK_DROP_DOWN (self->order));
  GListModel *columns = gtk_column_view_get_columns (GTK_COLUMN_VIEW (self->table));

  if (self->ordering || chosen >= BY_TITLE)
    return;
  g_autoptr (GtkColumnViewColumn) column = g_list_model_get_item (columns, orders[chosen].column);
  const gboolean is_number = orders[chosen].column >= IR_VALUE_COLUMN_ABS;

  self->ordering = TRUE;
  gtk_column_view_sort_by_column (GTK_COLUMN_VIEW (self->table), NULL, GTK_SORT_ASCENDING);
  gtk_column_view_sort_by_column (GTK_COLUMN_VIEW (self->table), column,
                                  is_number ? GTK_SORT_DESCENDING : GTK_SORT_ASCENDING);
  self->ordering = FALSE;
}

/* A title was clicked. */
static void
on_sorted (IrValuesPage *self)
{
  if (self->ordering)
    return;
  self->ordering = TRUE;
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->order), BY_TITLE);
  self->ordering = FALSE;
}

/* -- saving -- */

static void
on_save_response (GtkNativeDialog *dialog, int response, gpointer user_data)
{
  IrValuesPage *self = user_data;
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog))
                               : NULL;
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;

  if (path != NULL && self->session != NULL)
    ir_session_save_values (self->session, path, order_of (self));
  g_object_unref (dialog);
}

static void
on_save (IrValuesPage *self)
{
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      "Save the Table of Values", GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))),
      GTK_FILE_CHOOSER_ACTION_SAVE, "_Save", "_Cancel");

  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), "values.csv");
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_save_response), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

/* -- object -- */

static GtkWidget *
icon_button (GtkWidget *button, const char *icon, const char *label)
{
  gtk_button_set_icon_name (GTK_BUTTON (button), icon);
  gtk_widget_set_tooltip_text (button, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  -1);
  gtk_widget_add_css_class (button, "flat");
  return button;
}

static GtkWidget *
make_order (IrValuesPage *self)
{
  g_autoptr (GtkStringList) titles = gtk_string_list_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (orders); i++)
    gtk_string_list_append (titles, orders[i].title);
  gtk_string_list_append (titles, "By the title that was clicked");
  self->order = gtk_drop_down_new (G_LIST_MODEL (g_steal_pointer (&titles)), NULL);
  gtk_widget_set_hexpand (self->order, TRUE);
  ir_name (self->order, "Order of the values");
  g_signal_connect_swapped (self->order, "notify::selected", G_CALLBACK (on_order), self);
  return self->order;
}

static GtkWidget *
make_toolbar (IrValuesPage *self)
{
  GtkWidget *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6),
            *again = icon_button (gtk_button_new (), "view-refresh-symbolic", "Compare again"),
            *save = icon_button (gtk_button_new (), "document-save-symbolic",
                                 "Save all values as a table (CSV)");

  self->first = gtk_button_new_with_label ("First Divergence");
  gtk_widget_set_tooltip_text (self->first, "The first value, in the order of execution");
  gtk_widget_set_hexpand (self->first, TRUE);
  g_signal_connect_swapped (self->first, "clicked", G_CALLBACK (on_first), self);
  self->all = icon_button (gtk_toggle_button_new (), "view-list-symbolic",
                           "All values, also those that agree and those without a partner");
  g_signal_connect_swapped (self->all, "toggled", G_CALLBACK (refill), self);
  g_signal_connect_swapped (save, "clicked", G_CALLBACK (on_save), self);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (again), "win.compare-values");
  gtk_box_append (GTK_BOX (line), self->first);
  gtk_box_append (GTK_BOX (line), self->all);
  gtk_box_append (GTK_BOX (line), save);
  gtk_box_append (GTK_BOX (line), again);
  return line;
}

static GtkWidget *
make_list (IrValuesPage *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *heading = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6),
            *scroller = gtk_scrolled_window_new ();

  self->summary = make_label (NULL, "caption", PANGO_ELLIPSIZE_NONE);
  gtk_label_set_wrap (GTK_LABEL (self->summary), TRUE);
  gtk_widget_add_css_class (heading, "list-heading");
  gtk_box_append (GTK_BOX (heading), self->summary);
  gtk_box_append (GTK_BOX (heading), make_toolbar (self));
  gtk_box_append (GTK_BOX (heading), make_order (self));
  self->store = g_list_store_new (IR_TYPE_VALUE_ITEM);
  self->table = ir_columns_new ("Values of both graphs", self->store, ir_value_columns,
                                IR_N_VALUE_COLUMNS);
  self->selection = ir_columns_selection (self->table);
  g_signal_connect_object (self->selection, "notify::selected", G_CALLBACK (on_row), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (gtk_column_view_get_sorter (GTK_COLUMN_VIEW (self->table)), "changed",
                           G_CALLBACK (on_sorted), self, G_CONNECT_SWAPPED);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->table);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (box), heading);
  gtk_box_append (GTK_BOX (box), scroller);
  return box;
}

static void
ir_values_page_dispose (GObject *object)
{
  g_clear_object (&IR_VALUES_PAGE (object)->session);
  g_clear_object (&IR_VALUES_PAGE (object)->store);
  G_OBJECT_CLASS (ir_values_page_parent_class)->dispose (object);
}

static void
ir_values_page_class_init (IrValuesPageClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_values_page_dispose;
}

static void
ir_values_page_init (IrValuesPage *self)
{
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("media-playback-start-symbolic", "Values Not Compared",
                          "Runs both graphs on the same inputs, and compares what is the same "
                          "value in both. Differences are judged as a proof judges a step.",
                          "win.compare-values", "Compare Values"),
      "ask");
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("dialog-information-symbolic", "No Common Values",
                                           "Nothing is the same value in both graphs.",
                                           "win.compare-values", "Compare Again"),
                       "none");
  gtk_stack_add_named (GTK_STACK (self->stack), make_list (self), "list");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

GtkWidget *
ir_values_page_new (IrSession *session)
{
  IrValuesPage *self = g_object_new (IR_TYPE_VALUES_PAGE, NULL);

  self->session = g_object_ref (session);
  ir_values_page_update (self);
  return GTK_WIDGET (self);
}
