#include "config.h"

#include "views/differences/values.h"

#include "core/ir/count.h"
#include "views/name.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/values.h"

#include <string.h>

#define MAX_ROWS 400

static const struct
{
  const char *title;
  IrValueOrder order;
} orders[] = {
  { "In order of execution", IR_VALUES_BY_ORDER },
  { "Largest difference first", IR_VALUES_BY_ABS },
  { "Largest relative difference first", IR_VALUES_BY_REL },
  { "Most ULPs first", IR_VALUES_BY_ULP },
  { "By name", IR_VALUES_BY_B },
};

struct _IrValuesPage
{
  AdwBin parent_instance;

  IrSession *session; /* referenced */
  GtkWidget *stack, *summary, *same, *list, *first, *order, *all;
  const IrComparedValues *shown; /* (nullable) only to tell whether there are others; may be gone */
  gboolean filling;
};

G_DEFINE_FINAL_TYPE (IrValuesPage, ir_values_page, ADW_TYPE_BIN)

/* -- texts -- */

/* "by 3.2e-05, where values reach 4.1"; of what diverges by itself also "1.3e-05 is allowed" */
static char *
difference_text (const IrComparedValue *item)
{
  if (item == NULL)
    return g_strdup ("No partner in the other graph");
  if (!item->comparable)
    return g_strdup ("Another shape or type");
  if (!item->differs)
    return g_strdup ("The same, bit for bit");
  if (item->result.non_finite_differs)
    return g_strdup ("Not finite on one side");
  if (item->diverges && item->bound_kind != IR_BOUND_NONE)
    return g_strdup_printf ("by %.3g, where values reach %.3g and %.3g is allowed",
                            item->result.max_abs, item->result.scale, item->bound);
  return g_strdup_printf ("by %.3g, where values reach %.3g", item->result.max_abs,
                          item->result.scale);
}

/* "168 compared: 34 differ, 2 by more than rounding" */
static char *
summary_text (const IrComparedValues *values)
{
  g_autofree char *compared = ir_count_text (values->items->len),
                  *differ = ir_count_text (values->n_differ),
                  *diverge = ir_count_text (values->n_diverge);

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

static GtkWidget *
make_badge (const IrComparedValue *item)
{
  GtkWidget *badge = gtk_label_new (item == NULL     ? "?"
                                    : item->diverges ? "≠"
                                    : item->differs  ? "≈"
                                                     : "=");

  gtk_widget_add_css_class (badge, "state-badge");
  if (item != NULL && item->diverges)
    gtk_widget_add_css_class (badge, "unfit");
  gtk_widget_set_valign (badge, GTK_ALIGN_CENTER);
  return badge;
}

/* Name, the other name, difference, verdict, and why the two are one value: a line each. */
static char *
tip_of (const IrValueRow *line, const char *name, const char *difference)
{
  GString *tip = g_string_new (name);
  g_autofree char *verdict = line->item != NULL ? ir_compared_value_verdict (line->item) : NULL;

  if (line->a != NULL && line->b != NULL && strcmp (line->a->name, name) != 0)
    g_string_append_printf (tip, "\n%s in the other graph", line->a->name);
  g_string_append_printf (tip, "\n%s", difference);
  if (verdict != NULL)
    g_string_append_printf (tip, "\n%s", verdict);
  if (line->how != IR_PAIRED_NOT)
    g_string_append_printf (tip, "\nPaired by %s", ir_paired_name (line->how));
  return g_string_free (tip, FALSE);
}

static GtkWidget *
make_row (const IrValueRow *line)
{
  const IrComparedValue *item = line->item;
  const char *name = (line->b != NULL ? line->b : line->a)->name;
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8),
            *texts = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  g_autofree char *difference = difference_text (item), *label = NULL,
                  *tip = tip_of (line, name, difference);

  gtk_box_append (GTK_BOX (texts), make_label (name, NULL, PANGO_ELLIPSIZE_MIDDLE));
  gtk_box_append (GTK_BOX (texts), make_label (difference, "step-place", PANGO_ELLIPSIZE_END));
  gtk_widget_set_hexpand (texts, TRUE);
  gtk_box_append (GTK_BOX (box), make_badge (item));
  gtk_box_append (GTK_BOX (box), texts);
  if (item != NULL && item->is_output)
    gtk_box_append (GTK_BOX (box), make_label ("output", "step-delta", PANGO_ELLIPSIZE_NONE));
  label = g_strdup_printf ("%s %s: %s", name,
                           item == NULL     ? "of one graph"
                           : item->diverges ? "diverges"
                           : item->differs  ? "differs"
                                            : "is the same",
                           difference);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  gtk_widget_set_tooltip_text (row, tip);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data (
      G_OBJECT (row), "value",
      GUINT_TO_POINTER (line->b != NULL ? line->b->id : line->a->id | IR_OTHER_SIDE));
  return row;
}

static void
clear_list (GtkWidget *list)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (list)) != NULL && GTK_IS_LIST_BOX_ROW (child))
    gtk_list_box_remove (GTK_LIST_BOX (list), child);
}

/* Values that are only on the other side have no place in the picture of two steps. */
static gboolean
is_listed (IrValuesPage *self, const IrValueRow *line)
{
  const IrFrame *frame = ir_session_get_frame (self->session);

  if (line->item == NULL && line->b == NULL && (frame == NULL || !frame->foreign))
    return FALSE;
  return gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->all)) ||
         (line->item != NULL && line->item->differs);
}

static IrValueOrder
order_of (IrValuesPage *self)
{
  return orders[MIN (gtk_drop_down_get_selected (GTK_DROP_DOWN (self->order)),
                     G_N_ELEMENTS (orders) - 1)]
      .order;
}

static void
fill (IrValuesPage *self, const IrComparedValues *values)
{
  g_autoptr (GArray) rows = ir_value_rows (values);
  g_autofree char *counts = summary_text (values), *text = NULL;
  guint n = 0;

  ir_value_rows_sort (rows, order_of (self));
  self->filling = TRUE;
  clear_list (self->list);
  for (guint i = 0; i < rows->len; i++)
    {
      const IrValueRow *line = &g_array_index (rows, IrValueRow, i);

      if (!is_listed (self, line))
        continue;
      if (n++ < MAX_ROWS)
        gtk_list_box_append (GTK_LIST_BOX (self->list), make_row (line));
    }
  self->filling = FALSE;
  text = n > MAX_ROWS ? g_strdup_printf ("%s; the first %d of %u are listed", counts, MAX_ROWS, n)
                      : g_strdup (counts);
  gtk_label_set_text (GTK_LABEL (self->summary), text);
  gtk_button_set_label (GTK_BUTTON (self->first),
                        values->n_diverge > 0 ? "First Divergence" : "First Difference");
  ir_values_page_follow (self);
}

static void
describe_same (IrValuesPage *self, const IrComparedValues *values)
{
  const gboolean none = values->items->len == 0;
  g_autofree char *n = ir_count_text (values->items->len),
                  *text = g_strdup_printf ("%s values agree bit for bit.", n);

  adw_status_page_set_title (ADW_STATUS_PAGE (self->same),
                             none ? "No Common Values" : "Same Values");
  adw_status_page_set_description (ADW_STATUS_PAGE (self->same),
                                   none ? "Nothing is the same value in both graphs." : text);
}

void
ir_values_page_update (IrValuesPage *self)
{
  const IrComparedValues *values = ir_session_get_values (self->session);

  if (values == NULL)
    gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "ask");
  else if (values != self->shown && values->n_differ > 0)
    fill (self, values);
  else if (values != self->shown)
    describe_same (self, values);
  if (values != NULL)
    gtk_stack_set_visible_child_name (GTK_STACK (self->stack),
                                      values->n_differ > 0 ? "list" : "same");
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

static GtkListBoxRow *
row_of (IrValuesPage *self, IrValueId id)
{
  GtkListBoxRow *row;

  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    if (GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "value")) == id)
      return row;
  return NULL;
}

/* The value that is selected, else the first that the selected node makes. */
static GtkListBoxRow *
selected_row (IrValuesPage *self)
{
  const IrFrame *frame = ir_session_get_frame (self->session);
  const IrValueId value = ir_session_get_selected_value (self->session);
  const IrNodeId id = ir_session_get_selected_node (self->session);
  const IrNode *node = frame != NULL && id != 0 ? ir_frame_node (frame, id) : NULL;
  GtkListBoxRow *row = value != 0 ? row_of (self, value) : NULL;

  for (guint i = 0; row == NULL && value == 0 && node != NULL && i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      row = row_of (self, node->outputs[i]->id | (id & IR_OTHER_SIDE));
  return row;
}

void
ir_values_page_follow (IrValuesPage *self)
{
  GtkListBoxRow *row = ir_session_get_values (self->session) != NULL ? selected_row (self) : NULL;

  self->filling = TRUE;
  gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
  self->filling = FALSE;
}

static void
on_row (GtkListBox *list, GtkListBoxRow *row, IrValuesPage *self)
{
  if (!self->filling && row != NULL)
    show_value (self, GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "value")));
}

static void
on_first (IrValuesPage *self)
{
  const IrComparedValues *values = ir_session_get_values (self->session);
  const IrComparedValue *first = values != NULL
                                     ? ir_compared_values_first (values, values->n_diverge > 0)
                                     : NULL;
  GtkListBoxRow *row;

  if (first == NULL)
    return;
  row = row_of (self, first->b);
  if (row != NULL)
    {
      gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
      gtk_widget_grab_focus (GTK_WIDGET (row));
    }
  show_value (self, first->b); /* also where it is beyond the rows that are listed */
}

static void
on_order (IrValuesPage *self)
{
  const IrComparedValues *values = ir_session_get_values (self->session);

  if (values != NULL && values->n_differ > 0)
    fill (self, values);
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
  g_signal_connect_swapped (self->all, "toggled", G_CALLBACK (on_order), self);
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
            *heading = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);

  self->summary = make_label (NULL, "caption", PANGO_ELLIPSIZE_NONE);
  gtk_label_set_wrap (GTK_LABEL (self->summary), TRUE);
  gtk_widget_add_css_class (heading, "list-heading");
  gtk_box_append (GTK_BOX (heading), self->summary);
  gtk_box_append (GTK_BOX (heading), make_toolbar (self));
  gtk_box_append (GTK_BOX (heading), make_order (self));
  self->list = gtk_list_box_new ();
  gtk_widget_add_css_class (self->list, "navigation-sidebar");
  gtk_widget_add_css_class (self->list, "steps");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Values of both graphs", -1);
  g_signal_connect (self->list, "row-selected", G_CALLBACK (on_row), self);
  gtk_box_append (GTK_BOX (box), heading);
  gtk_box_append (GTK_BOX (box), ir_view_scrolled (self->list));
  return box;
}

static void
ir_values_page_dispose (GObject *object)
{
  g_clear_object (&IR_VALUES_PAGE (object)->session);
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
  self->same = ir_view_empty_page ("emblem-ok-symbolic", "Same Values", NULL, "win.compare-values",
                                   "Compare Again");
  gtk_stack_add_named (GTK_STACK (self->stack), self->same, "same");
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
