#include "config.h"

#include "views/differences/values.h"

#include "views/count.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/values.h"

#define MAX_ROWS 400

struct _IrValuesPage
{
  AdwBin parent_instance;

  IrSession *session; /* referenced */
  GtkWidget *stack, *summary, *same, *list, *first, *order;
  const IrComparedValues *shown; /* (nullable) only to tell whether there are others; may be gone */
  gboolean filling;
};

G_DEFINE_FINAL_TYPE (IrValuesPage, ir_values_page, ADW_TYPE_BIN)

/* -- texts -- */

/* "by 3.2e-05, where values reach 4.1"; of what diverges by itself also "1.3e-05 is allowed" */
static char *
difference_text (const IrComparedValue *item)
{
  if (!item->comparable)
    return g_strdup ("Another shape or type");
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
  GtkWidget *badge = gtk_label_new (item->diverges ? "≠" : "≈");

  gtk_widget_add_css_class (badge, "state-badge");
  if (item->diverges)
    gtk_widget_add_css_class (badge, "unfit");
  gtk_widget_set_valign (badge, GTK_ALIGN_CENTER);
  return badge;
}

static GtkWidget *
make_row (const IrComparedValues *values, const IrComparedValue *item)
{
  const char *name = ir_model_value (values->b, item->b)->name,
             *other = ir_model_value (values->a, item->a)->name;
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8),
            *texts = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  g_autofree char *difference = difference_text (item), *label = NULL, *tip = NULL,
                  *verdict = ir_compared_value_verdict (item);

  gtk_box_append (GTK_BOX (texts), make_label (name, NULL, PANGO_ELLIPSIZE_MIDDLE));
  gtk_box_append (GTK_BOX (texts), make_label (difference, "step-place", PANGO_ELLIPSIZE_END));
  gtk_widget_set_hexpand (texts, TRUE);
  gtk_box_append (GTK_BOX (box), make_badge (item));
  gtk_box_append (GTK_BOX (box), texts);
  if (item->is_output)
    gtk_box_append (GTK_BOX (box), make_label ("output", "step-delta", PANGO_ELLIPSIZE_NONE));
  label = g_strdup_printf ("%s %s: %s", name, item->diverges ? "diverges" : "differs", difference);
  tip = g_strcmp0 (name, other) == 0 ? g_strdup_printf ("%s\n%s\n%s", name, difference, verdict)
                                     : g_strdup_printf ("%s\n%s in the other graph\n%s\n%s", name,
                                                        other, difference, verdict);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  gtk_widget_set_tooltip_text (row, tip);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data (G_OBJECT (row), "value", GUINT_TO_POINTER (item->b));
  return row;
}

static GPtrArray *
in_order (const IrComparedValues *values)
{
  GPtrArray *found = g_ptr_array_new ();

  for (guint i = 0; i < values->items->len; i++)
    {
      IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);

      if (item->differs)
        g_ptr_array_add (found, item);
    }
  return found;
}

static void
fill (IrValuesPage *self, const IrComparedValues *values)
{
  g_autoptr (GPtrArray) items = gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->order))
                                    ? ir_compared_values_worst (values)
                                    : in_order (values);
  g_autofree char *text = summary_text (values);
  GtkWidget *child;

  self->filling = TRUE;
  while ((child = gtk_widget_get_first_child (self->list)) != NULL && GTK_IS_LIST_BOX_ROW (child))
    gtk_list_box_remove (GTK_LIST_BOX (self->list), child);
  for (guint i = 0; i < MIN (items->len, MAX_ROWS); i++)
    gtk_list_box_append (GTK_LIST_BOX (self->list), make_row (values, items->pdata[i]));
  self->filling = FALSE;
  gtk_label_set_text (GTK_LABEL (self->summary), text);
  gtk_button_set_label (GTK_BUTTON (self->first),
                        values->n_diverge > 0 ? "First Divergence" : "First Difference");
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

static void
show_value (IrValuesPage *self, IrValueId id)
{
  const IrFrame *frame = ir_session_get_frame (self->session);
  const IrValue *value = frame != NULL ? ir_frame_value (frame, id) : NULL;

  if (value == NULL)
    return;
  ir_session_select_node (self->session, value->producer != NULL ? value->producer->id : 0);
  ir_session_select_value (self->session, id);
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
  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    if (GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), "value")) == first->b)
      {
        gtk_list_box_select_row (GTK_LIST_BOX (self->list), row);
        gtk_widget_grab_focus (GTK_WIDGET (row));
        break;
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
make_toolbar (IrValuesPage *self)
{
  GtkWidget *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6),
            *again = icon_button (gtk_button_new (), "view-refresh-symbolic", "Compare again");

  self->first = gtk_button_new_with_label ("First Divergence");
  gtk_widget_set_tooltip_text (self->first, "The first value, in the order of execution");
  gtk_widget_set_hexpand (self->first, TRUE);
  g_signal_connect_swapped (self->first, "clicked", G_CALLBACK (on_first), self);
  self->order = icon_button (gtk_toggle_button_new (), "view-sort-descending-symbolic",
                             "Largest difference first");
  g_signal_connect_swapped (self->order, "toggled", G_CALLBACK (on_order), self);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (again), "win.compare-values");
  gtk_box_append (GTK_BOX (line), self->first);
  gtk_box_append (GTK_BOX (line), self->order);
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
  self->list = gtk_list_box_new ();
  gtk_widget_add_css_class (self->list, "navigation-sidebar");
  gtk_widget_add_css_class (self->list, "steps");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Values that differ", -1);
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
