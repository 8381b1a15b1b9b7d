#include "config.h"

#include "app/gui/transport.h"

/* More marks than this run into each other. */
#define MAX_MARKS 24

struct _IrTransport
{
  GtkBox parent_instance;

  IrSession *session;
  GtkScale *scale;
  GtkLabel *label;
  gboolean updating; /* the slider moves because the cursor did, not the other way round */
};

G_DEFINE_FINAL_TYPE (IrTransport, ir_transport, GTK_TYPE_BOX)

static void
update_marks (IrTransport *self)
{
  const IrModel *model = ir_session_get_history (self->session);
  const guint n_runs = model != NULL ? ir_history_n_pass_runs (model) : 0;
  guint n_marks = 0;

  gtk_scale_clear_marks (self->scale);
  for (guint i = 0; i < n_runs; i++)
    n_marks += ir_history_pass_run (model, i)->n_steps > 0;
  if (n_marks > MAX_MARKS)
    return;
  for (guint i = 0; i < n_runs; i++)
    {
      const IrPassRun *run = ir_history_pass_run (model, i);

      if (run->n_steps > 0)
        gtk_scale_add_mark (self->scale, run->first_step + run->n_steps - 1, GTK_POS_BOTTOM, NULL);
    }
}

static void
update_label (IrTransport *self)
{
  const guint n = ir_session_get_n_steps (self->session);
  const guint cursor = ir_session_get_cursor (self->session);
  g_autofree char *text = NULL;

  if (n == 0)
    text = g_strdup ("No steps yet");
  else if (cursor == 0)
    text = g_strdup_printf ("Original · %u steps", n);
  else
    text = g_strdup_printf ("Step %u of %u", cursor, n);
  gtk_label_set_text (self->label, text);
}

static void
update_cursor (IrTransport *self)
{
  self->updating = TRUE;
  gtk_range_set_value (GTK_RANGE (self->scale), ir_session_get_cursor (self->session));
  self->updating = FALSE;
  update_label (self);
}

static void
on_session_changed (IrTransport *self, guint changes, IrSession *session)
{
  if (changes & IR_CHANGED_HISTORY)
    {
      const guint n = ir_session_get_n_steps (session);

      self->updating = TRUE;
      gtk_range_set_range (GTK_RANGE (self->scale), 0, MAX (n, 1));
      gtk_range_set_increments (GTK_RANGE (self->scale), 1, MAX (n / 10, 1));
      gtk_widget_set_sensitive (GTK_WIDGET (self->scale), n > 0);
      self->updating = FALSE;
      update_marks (self);
    }
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME))
    update_cursor (self);
}

static void
on_value_changed (IrTransport *self)
{
  if (!self->updating)
    ir_session_goto (self->session, (guint) (gtk_range_get_value (GTK_RANGE (self->scale)) + 0.5));
}

/**
 * ir_transport_set_session:
 * @session: (transfer none): whose cursor the slider moves; set once
 */
void
ir_transport_set_session (IrTransport *self, IrSession *session)
{
  g_return_if_fail (self->session == NULL);
  self->session = g_object_ref (session);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_session_changed), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (session, "notify::cursor", G_CALLBACK (update_cursor), self,
                           G_CONNECT_SWAPPED);
  on_session_changed (self, IR_CHANGED_ALL, session);
}

static void
ir_transport_dispose (GObject *object)
{
  IrTransport *self = IR_TRANSPORT (object);

  g_clear_object (&self->session);
  gtk_widget_dispose_template (GTK_WIDGET (self), IR_TYPE_TRANSPORT);
  G_OBJECT_CLASS (ir_transport_parent_class)->dispose (object);
}

static void
ir_transport_class_init (IrTransportClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ir_transport_dispose;
  gtk_widget_class_set_template_from_resource (widget_class, "/org/irscope/Irscope/transport.ui");
  gtk_widget_class_bind_template_child (widget_class, IrTransport, scale);
  gtk_widget_class_bind_template_child (widget_class, IrTransport, label);
}

static void
ir_transport_init (IrTransport *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  g_signal_connect_object (self->scale, "value-changed", G_CALLBACK (on_value_changed), self,
                           G_CONNECT_SWAPPED);
}

/* -- what the graph is compared with -- */

static void
on_compare_selected (GtkDropDown *chooser, GParamSpec *pspec, gpointer user_data)
{
  IrSession *session = IR_SESSION (user_data);
  const guint selected = gtk_drop_down_get_selected (chooser);

  if (selected >= IR_N_COMPARES || selected == ir_session_get_compare (session))
    return;
  if (selected == IR_COMPARE_PINNED)
    ir_session_pin (session, ir_session_get_cursor (session));
  else
    ir_session_set_compare (session, selected);
}

static void
on_compare_changed (GtkDropDown *chooser, GParamSpec *pspec, IrSession *session)
{
  gtk_drop_down_set_selected (chooser, ir_session_get_compare (session));
}

/**
 * ir_compare_chooser_new:
 * @session: (transfer none): whose comparison is chosen
 *
 * Returns: (transfer floating): a drop-down: since last step, since the pass began, ...
 */
GtkWidget *
ir_compare_chooser_new (IrSession *session)
{
  static const char *const titles[IR_N_COMPARES + 1] = {
    [IR_COMPARE_STEP] = "Since last step",    [IR_COMPARE_PASS] = "Since pass began",
    [IR_COMPARE_ORIGINAL] = "Since original", [IR_COMPARE_NOTHING] = "No comparison",
    [IR_COMPARE_PINNED] = "Since this step",
  };
  GtkWidget *chooser = gtk_drop_down_new_from_strings (titles);

  gtk_widget_set_tooltip_text (
      chooser,
      "What the graph at the cursor is compared with; “Since this step” keeps the step that "
      "is shown now");
  gtk_widget_add_css_class (chooser, "compact");
  gtk_accessible_update_property (GTK_ACCESSIBLE (chooser), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Compare", -1);
  g_signal_connect_object (chooser, "notify::selected", G_CALLBACK (on_compare_selected), session,
                           0);
  g_signal_connect_object (session, "notify::compare", G_CALLBACK (on_compare_changed), chooser,
                           G_CONNECT_SWAPPED);
  return chooser;
}
