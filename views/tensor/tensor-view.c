/* The tensor: contents of the selected value, in the original graph and in the one that ran:
 * statistics, histogram, heat map, and a table of the values with their differences. */
#include "config.h"

#include "views/tensor/element-list.h"
#include "views/tensor/tensor-plot.h"
#include "views/view.h"

#include <math.h>

#define N_BINS 40

typedef struct
{
  GtkWidget *box, *facts, *plot, *message;
  IrTensor *tensor; /* (nullable) */
} Side;

struct _IrTensorView
{
  IrView parent;
  GtkWidget *stack, *title, *verdict, *plane, *plane_box;
  Side sides[IR_N_SIDES];
  IrElementList *elements;
  IrValueId shown;
};

#define IR_TYPE_TENSOR_VIEW (ir_tensor_view_get_type ())
G_DECLARE_FINAL_TYPE (IrTensorView, ir_tensor_view, IR, TENSOR_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrTensorView, ir_tensor_view, IR_TYPE_VIEW)

/* -- which value: the selected one, else what the selected node gives -- */

static const IrValue *
live_in_frame (const IrFrame *frame, IrValueId id)
{
  const IrValue *value = ir_model_live_value (frame->model, id);
  return value != NULL ? value : ir_model_live_value (frame->before, id);
}

static const IrValue *
value_to_show (IrSession *session)
{
  const IrFrame *frame = ir_session_get_frame (session);
  IrValueId id = ir_session_get_selected_value (session);
  IrNodeId node_id = ir_session_get_selected_node (session);
  const IrNode *node;

  if (frame == NULL)
    return NULL;
  if (id != 0)
    return live_in_frame (frame, id);
  if (node_id == 0)
    return NULL;
  node = ir_model_live_node (frame->model, node_id);
  node = node != NULL ? node : ir_model_live_node (frame->before, node_id);
  return node != NULL ? ir_node_output (node, 0) : NULL;
}

/* -- one side -- */

static void
show_facts (Side *side, const IrTensorStats *stats)
{
  g_autofree char *type = NULL, *text = NULL;
  g_autoptr (IrContext) context = ir_context_new ();

  type = ir_type_to_string (context, ir_tensor_type (side->tensor, context));
  if (ir_tensor_dtype (side->tensor) == IR_DTYPE_STRING)
    text = g_strdup_printf ("%s\n%" G_GUINT64_FORMAT " strings", type,
                            ir_tensor_n_elements (side->tensor));
  else
    text = g_strdup_printf (
        "%s\nmin %.6g   max %.6g   mean %.6g   std %.6g\nzeros %" G_GUINT64_FORMAT
        "   NaN %" G_GUINT64_FORMAT "   Inf %" G_GUINT64_FORMAT "   of %" G_GUINT64_FORMAT,
        type, stats->min, stats->max, stats->mean, stats->std, stats->n_zero, stats->n_nan,
        stats->n_pos_inf + stats->n_neg_inf, stats->n);
  gtk_label_set_text (GTK_LABEL (side->facts), text);
}

static void
load_side (IrTensorView *self, IrSide which, const IrValue *value)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  Side *side = &self->sides[which];
  g_autofree char *reason = NULL;
  IrTensorStats stats;

  g_clear_pointer (&side->tensor, ir_tensor_unref);
  side->tensor = ir_session_dup_tensor (session, value->id, which, &reason);
  gtk_widget_set_visible (side->message, side->tensor == NULL);
  gtk_widget_set_visible (side->facts, side->tensor != NULL);
  gtk_widget_set_visible (side->plot, side->tensor != NULL);
  if (side->tensor == NULL)
    {
      gtk_label_set_text (GTK_LABEL (side->message),
                          reason != NULL ? reason : "There are no contents.");
      ir_tensor_plot_load (IR_TENSOR_PLOT (side->plot), NULL, NULL);
      return;
    }
  ir_tensor_stats (side->tensor, N_BINS, &stats);
  show_facts (side, &stats);
  ir_tensor_plot_load (IR_TENSOR_PLOT (side->plot), side->tensor, &stats);
}

/* -- both -- */

static gboolean
comparable (const IrTensor *a, const IrTensor *b)
{
  return a != NULL && b != NULL && ir_tensor_n_elements (a) == ir_tensor_n_elements (b) &&
         ir_tensor_dtype (a) != IR_DTYPE_STRING && ir_tensor_dtype (b) != IR_DTYPE_STRING;
}

static char *
difference_text (const IrTensor *a, const IrTensor *b)
{
  double most = 0;
  guint64 at = 0, n = ir_tensor_n_elements (a);

  if (ir_tensor_equal (a, b))
    return g_strdup ("✓  before and after are equal, bit for bit");
  for (guint64 i = 0; i < n; i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i), d = fabs (x - y);

      if (isnan (x) != isnan (y))
        return g_strdup_printf ("✗  element %" G_GUINT64_FORMAT " is NaN on one side only", i);
      if (d > most)
        {
          most = d;
          at = i;
        }
    }
  return g_strdup_printf ("≈  largest difference %.3g, at element %" G_GUINT64_FORMAT, most, at);
}

static void
show_difference (IrTensorView *self)
{
  const IrTensor *a = self->sides[IR_SIDE_BEFORE].tensor, *b = self->sides[IR_SIDE_AFTER].tensor;
  g_autofree char *text = comparable (a, b) ? difference_text (a, b) : g_strdup ("");

  gtk_label_set_text (GTK_LABEL (self->verdict), text);
}

static void
show_planes (IrTensorView *self)
{
  const IrTensor *tensor = self->sides[IR_SIDE_AFTER].tensor != NULL
                               ? self->sides[IR_SIDE_AFTER].tensor
                               : self->sides[IR_SIDE_BEFORE].tensor;
  guint64 n = tensor != NULL ? ir_tensor_n_planes (tensor) : 0;

  gtk_widget_set_visible (self->plane_box, n > 1);
  if (n > 1)
    gtk_spin_button_set_range (GTK_SPIN_BUTTON (self->plane), 0, (double) (n - 1));
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (self->plane), 0);
}

static void
on_plane (GtkSpinButton *button, IrTensorView *self)
{
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    ir_tensor_plot_set_plane (IR_TENSOR_PLOT (self->sides[side].plot),
                              (guint64) gtk_spin_button_get_value_as_int (button));
}

static void
reload (IrTensorView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrValue *value = value_to_show (session);

  self->shown = value != NULL ? value->id : 0;
  ir_view_set_indicator (IR_VIEW (self), value != NULL ? value->name : NULL);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), value != NULL ? "tensor" : "empty");
  if (value == NULL)
    return;
  gtk_label_set_text (GTK_LABEL (self->title), value->name);
  for (IrSide side = 0; side < IR_N_SIDES; side++)
    load_side (self, side, value);
  show_difference (self);
  show_planes (self);
  ir_element_list_load (self->elements, self->sides[IR_SIDE_BEFORE].tensor,
                        self->sides[IR_SIDE_AFTER].tensor);
}

static void
ir_tensor_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrTensorView *self = IR_TENSOR_VIEW (view);
  const IrValue *value;

  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_RUNS | IR_CHANGED_INPUTS))
    {
      reload (self);
      return;
    }
  if ((changes & (IR_CHANGED_SELECTION | IR_CHANGED_FRAME)) == 0)
    return;
  value = value_to_show (ir_view_get_session (view));
  if ((value != NULL ? value->id : 0) != self->shown)
    reload (self);
}

/* -- the table -- */

typedef struct
{
  const char *title;
  char *(*text) (IrElement *element);
} Column;

static const Column columns[] = {
  { "Index", ir_element_index_text },
  { "Before", ir_element_before_text },
  { "After", ir_element_after_text },
  { "Difference", ir_element_difference_text },
};

static void
setup_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
}

static void
bind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  const Column *column = data;
  g_autofree char *text = column->text (gtk_list_item_get_item (item));

  gtk_label_set_text (GTK_LABEL (gtk_list_item_get_child (item)), text);
}

static void
add_column (GtkWidget *table, const Column *info)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkColumnViewColumn *column;

  g_signal_connect (factory, "setup", G_CALLBACK (setup_cell), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cell), (gpointer) info);
  column = gtk_column_view_column_new (info->title, factory);
  gtk_column_view_column_set_expand (column, TRUE);
  gtk_column_view_column_set_resizable (column, TRUE);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (table), column);
  g_object_unref (column);
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

static GtkWidget *
make_table (IrTensorView *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new (), *table;
  GtkSelectionModel *selection;

  self->elements = ir_element_list_new ();
  selection = GTK_SELECTION_MODEL (
      gtk_no_selection_new (g_object_ref (G_LIST_MODEL (self->elements))));
  table = gtk_column_view_new (selection);
  gtk_column_view_set_show_row_separators (GTK_COLUMN_VIEW (table), FALSE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (table), GTK_ACCESSIBLE_PROPERTY_LABEL, "Values",
                                  -1);
  gtk_widget_add_css_class (table, "data-table");
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    add_column (table, &columns[i]);
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_table_key), table);
  gtk_widget_add_controller (table, keys);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), table);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_widget_set_size_request (scroller, 360, -1);
  return scroller;
}

/* -- object -- */

static void
ir_tensor_view_dispose (GObject *object)
{
  IrTensorView *self = IR_TENSOR_VIEW (object);

  for (IrSide side = 0; side < IR_N_SIDES; side++)
    g_clear_pointer (&self->sides[side].tensor, ir_tensor_unref);
  g_clear_object (&self->elements);
  G_OBJECT_CLASS (ir_tensor_view_parent_class)->dispose (object);
}

static void
ir_tensor_view_class_init (IrTensorViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_tensor_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_tensor_view_session_changed;
}

static GtkWidget *
text_label (const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

static GtkWidget *
make_side (Side *side, const char *title)
{
  side->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  side->facts = text_label ("", "numeric");
  side->message = text_label ("", "dim-label");
  side->plot = ir_tensor_plot_new ();
  gtk_widget_set_hexpand (side->box, TRUE);
  gtk_widget_set_hexpand (side->plot, TRUE);
  gtk_box_append (GTK_BOX (side->box), text_label (title, "heading"));
  gtk_box_append (GTK_BOX (side->box), side->facts);
  gtk_box_append (GTK_BOX (side->box), side->message);
  gtk_box_append (GTK_BOX (side->box), side->plot);
  return side->box;
}

static GtkWidget *
make_header (IrTensorView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);

  self->title = text_label ("", "heading");
  self->verdict = text_label ("", "dim-label");
  gtk_widget_set_hexpand (self->verdict, TRUE);
  self->plane_box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->plane = gtk_spin_button_new_with_range (0, 1, 1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->plane), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Plane of the heat map", -1);
  g_signal_connect (self->plane, "value-changed", G_CALLBACK (on_plane), self);
  gtk_box_append (GTK_BOX (self->plane_box), text_label ("Plane", "dim-label"));
  gtk_box_append (GTK_BOX (self->plane_box), self->plane);
  gtk_box_append (GTK_BOX (box), self->title);
  gtk_box_append (GTK_BOX (box), self->verdict);
  gtk_box_append (GTK_BOX (box), self->plane_box);
  return box;
}

static void
ir_tensor_view_init (IrTensorView *self)
{
  GtkWidget *content = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  GtkWidget *sides = gtk_box_new (GTK_ORIENTATION_VERTICAL, 18),
            *scroller = gtk_scrolled_window_new ();
  GtkWidget *paned = gtk_paned_new (GTK_ORIENTATION_HORIZONTAL);

  gtk_box_append (GTK_BOX (sides),
                  make_side (&self->sides[IR_SIDE_BEFORE], "Before: the original graph"));
  gtk_box_append (GTK_BOX (sides),
                  make_side (&self->sides[IR_SIDE_AFTER], "After: the graph that ran"));
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), sides);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_paned_set_start_child (GTK_PANED (paned), scroller);
  gtk_paned_set_end_child (GTK_PANED (paned), make_table (self));
  gtk_paned_set_shrink_start_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (paned), FALSE);
  gtk_widget_set_vexpand (paned, TRUE);
  gtk_box_append (GTK_BOX (content), make_header (self));
  gtk_box_append (GTK_BOX (content), paned);
  gtk_widget_add_css_class (content, "tensor");
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("accessories-calculator-symbolic", "No Value Selected",
                          "Run the graph, then select a node, or a value in its properties.",
                          "win.run", "Run"),
      "empty");
  gtk_stack_add_named (GTK_STACK (self->stack), content, "tensor");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_tensor = {
  .id = "tensor",
  .title = "Tensor",
  .icon_name = "accessories-calculator-symbolic",
  .doc = "Statistics and values of the selected value, before and after.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_tensor_view_get_type,
};
