#include "config.h"

#include "app/gui/transport.h"

#include "app/gui/step-ticks.h"
#include "core/ir/count.h"
#include "views/name.h"
#include "views/session/debug.h"
#include "views/session/frame.h"
#include "views/session/timeline.h"
#include "views/sparkline.h"

#include <math.h>

/* The scores of the steps are made by themselves up to this many steps × nodes: some seconds. */
#define MAX_SCORED 4000000

struct _IrTransport
{
  GtkBox parent_instance;

  IrSession *session;
  IrStepTicks *ticks;
  GtkScale *scale, *base; /* what is shown, and what it is compared with */
  GtkDrawingArea *spark;
  GtkLabel *label;
  gboolean compact;
  gboolean updating; /* the sliders move because the session did, not the other way round */
};

G_DEFINE_FINAL_TYPE (IrTransport, ir_transport, GTK_TYPE_BOX)

static void
update_label (IrTransport *self)
{
  const guint n = ir_session_get_n_steps (self->session);
  const guint cursor = ir_session_get_cursor (self->session);
  g_autofree char *text = NULL, *steps = ir_count_text (n), *at = ir_count_text (cursor);

  if (n == 0)
    text = g_strdup ("No steps yet");
  else if (cursor == 0)
    text = g_strdup_printf ("Original · %s %s", steps, n == 1 ? "step" : "steps");
  else
    text = g_strdup_printf ("Step %s of %s", at, steps);
  gtk_label_set_text (self->label, text);
}

/* What it is compared with is none of its steps. */
static gboolean
is_foreign (IrTransport *self)
{
  const IrCompare compare = ir_session_get_compare (self->session);

  return compare == IR_COMPARE_FILE || compare == IR_COMPARE_RESULT;
}

static void
update_cursor (IrTransport *self)
{
  self->updating = TRUE;
  gtk_range_set_value (GTK_RANGE (self->scale), ir_session_get_cursor (self->session));
  gtk_range_set_value (GTK_RANGE (self->base), ir_session_get_base (self->session));
  gtk_widget_set_sensitive (GTK_WIDGET (self->base),
                            ir_session_get_n_steps (self->session) > 0 && !is_foreign (self));
  self->updating = FALSE;
  update_label (self);
}

/* -- sparklines: nodes and peak memory, over the slider -- */

/* Where the middle of the slider's knob is at the first and at the last step. */
static IrSparkline
line_of (IrTransport *self, IrScore score)
{
  return (IrSparkline){ .board = ir_session_get_scoreboard (self->session),
                        .score = score,
                        .start = IR_STEP_KNOB_INSET,
                        .end = gtk_widget_get_width (GTK_WIDGET (self->spark)) - IR_STEP_KNOB_INSET,
                        .top = 5,
                        .bottom = gtk_widget_get_height (GTK_WIDGET (self->spark)) - 3 };
}

static void
draw_spark (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  IrTransport *self = data;
  const IrSparkline nodes = line_of (self, IR_SCORE_NODES), peak = line_of (self, IR_SCORE_PEAK);

  if (nodes.board == NULL)
    return;
  cairo_set_line_width (cr, 1.5);
  ir_sparkline_colour (GTK_WIDGET (area), cr, "theme_fg_color", 0.45);
  ir_sparkline_draw (&peak, cr);
  ir_sparkline_colour (GTK_WIDGET (area), cr, "accent_color", 1);
  ir_sparkline_draw (&nodes, cr);
  ir_sparkline_colour (GTK_WIDGET (area), cr, "error_color", 1);
  for (guint i = 0; i < IR_N_SCORES; i++)
    {
      const IrSparkline line = { nodes.board, i, nodes.start, nodes.end, height - 6, height - 6 };
      ir_sparkline_draw_spikes (&line, cr);
    }
}

static void
on_spark_pressed (IrTransport *self, int n_press, double x, double y)
{
  const IrSparkline line = line_of (self, IR_SCORE_NODES);

  if (line.board != NULL)
    ir_session_goto (self->session, ir_sparkline_step_at (&line, x, TRUE));
}

static gboolean
on_spark_tooltip (IrTransport *self, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  const IrSparkline line = line_of (self, IR_SCORE_NODES);
  const IrModel *history = ir_session_get_history (self->session);
  g_autoptr (GString) text = g_string_new (NULL);
  guint step;

  if (line.board == NULL || history == NULL || keyboard)
    return FALSE;
  step = ir_sparkline_step_at (&line, x, TRUE);
  if (step == 0 || step > ir_history_n_steps (history))
    g_string_append (text, "Original");
  else
    g_string_append_printf (text, "Step %u, %s", step, ir_history_step (history, step)->rule);
  for (guint i = 0; i < IR_N_SCORES; i++)
    {
      g_autofree char *value = ir_score_text (i, ir_scoreboard_value (line.board, i, step));

      g_string_append_printf (text, "\n%s: %s%s", ir_score_title (i), value,
                              ir_scoreboard_is_spike (line.board, i, step) ? " ▲ it rose here"
                                                                           : "");
    }
  gtk_tooltip_set_text (tooltip, text->str);
  return TRUE;
}

static void
update_spark (IrTransport *self)
{
  const IrFrame *frame = ir_session_get_frame (self->session);
  const guint n = ir_session_get_n_steps (self->session);

  if (frame != NULL && n > 1 && (guint64) n * ir_model_n_nodes (frame->model) <= MAX_SCORED)
    ir_session_request_scoreboard (self->session);
  gtk_widget_set_visible (GTK_WIDGET (self->spark), n > 1 && !self->compact);
  gtk_widget_queue_draw (GTK_WIDGET (self->spark));
}

static void
on_session_changed (IrTransport *self, guint changes, IrSession *session)
{
  if (changes & IR_CHANGED_HISTORY)
    {
      const guint n = ir_session_get_n_steps (session);

      self->updating = TRUE;
      for (GtkScale **scale = (GtkScale *[]){ self->scale, self->base, NULL }; *scale != NULL;
           scale++)
        {
          gtk_range_set_range (GTK_RANGE (*scale), 0, MAX (n, 1));
          gtk_range_set_increments (GTK_RANGE (*scale), 1, MAX (n / 10, 1));
        }
      gtk_widget_set_sensitive (GTK_WIDGET (self->scale), n > 0);
      self->updating = FALSE;
    }
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_CURSOR | IR_CHANGED_COMPARE))
    update_cursor (self);
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_SCORES))
    update_spark (self);
}

static void
on_value_changed (IrTransport *self)
{
  if (!self->updating)
    ir_session_goto (self->session, (guint) (gtk_range_get_value (GTK_RANGE (self->scale)) + 0.5));
}

static void
on_base_changed (IrTransport *self)
{
  if (!self->updating)
    ir_session_set_base (self->session,
                         (guint) (gtk_range_get_value (GTK_RANGE (self->base)) + 0.5));
}

/* Back to one rewrite. */
static void
on_base_pressed (GtkGestureClick *gesture, int n_press, double x, double y, IrTransport *self)
{
  if (n_press != 2)
    return;
  gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
  ir_session_set_compare (self->session, IR_COMPARE_STEP);
}

/* @session: whose cursor the slider moves; set once */
void
ir_transport_set_session (IrTransport *self, IrSession *session)
{
  g_return_if_fail (self->session == NULL);
  self->session = g_object_ref (session);
  ir_step_ticks_set_session (self->ticks, session);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_session_changed), self,
                           G_CONNECT_SWAPPED);
  on_session_changed (self, IR_CHANGED_ALL, session);
}

void
ir_transport_set_compact (IrTransport *self, gboolean compact)
{
  self->compact = compact;
  update_spark (self);
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
  gtk_widget_class_bind_template_child (widget_class, IrTransport, base);
  gtk_widget_class_bind_template_child (widget_class, IrTransport, ticks);
  gtk_widget_class_bind_template_child (widget_class, IrTransport, spark);
  gtk_widget_class_bind_template_child (widget_class, IrTransport, label);
}

static void
ir_transport_init (IrTransport *self)
{
  GtkGesture *click = gtk_gesture_click_new (), *reset = gtk_gesture_click_new ();

  g_type_ensure (IR_TYPE_STEP_TICKS);
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (reset), GTK_PHASE_CAPTURE);
  g_signal_connect (reset, "pressed", G_CALLBACK (on_base_pressed), self);
  gtk_widget_add_controller (GTK_WIDGET (self->base), GTK_EVENT_CONTROLLER (reset));
  g_signal_connect_object (self->base, "value-changed", G_CALLBACK (on_base_changed), self,
                           G_CONNECT_SWAPPED);
  gtk_drawing_area_set_draw_func (self->spark, draw_spark, self, NULL);
  g_signal_connect_swapped (click, "pressed", G_CALLBACK (on_spark_pressed), self);
  gtk_widget_add_controller (GTK_WIDGET (self->spark), GTK_EVENT_CONTROLLER (click));
  g_signal_connect_swapped (self->spark, "query-tooltip", G_CALLBACK (on_spark_tooltip), self);
  g_signal_connect_object (self->scale, "value-changed", G_CALLBACK (on_value_changed), self,
                           G_CONNECT_SWAPPED);
}

/* -- what the graph is compared with -- */

typedef struct
{
  IrCompare offered[IR_N_COMPARES]; /* by place in the drop-down */
  guint n_offered;
  gboolean updating;
} Chooser;

static Chooser *
chooser_of (gpointer widget)
{
  return g_object_get_data (G_OBJECT (widget), "chooser");
}

static char *
compare_title (IrSession *session, IrCompare compare)
{
  static const char *const titles[IR_N_COMPARES] = {
    [IR_COMPARE_STEP] = "Since last step",    [IR_COMPARE_PASS] = "Since pass began",
    [IR_COMPARE_ORIGINAL] = "Since original", [IR_COMPARE_NOTHING] = "No comparison",
    [IR_COMPARE_PINNED] = "Since this step",
  };
  g_autofree char *other = NULL;

  if (compare == IR_COMPARE_FILE)
    {
      other = ir_session_other_title (session);
      return g_strdup_printf ("With %s", other);
    }
  if (compare == IR_COMPARE_PINNED && ir_session_get_compare (session) == compare)
    {
      g_autofree char *step = ir_count_text (ir_session_get_pin (session));

      return g_strdup_printf ("Since step %s", step);
    }
  if (compare == IR_COMPARE_RESULT)
    return g_strdup (ir_session_shows_what_if (session) ? "With original result"
                                                        : "With the what-if");
  return g_strdup (titles[compare]);
}

static void
on_compare_selected (GtkDropDown *widget, GParamSpec *pspec, gpointer user_data)
{
  IrSession *session = IR_SESSION (user_data);
  const Chooser *self = chooser_of (widget);
  const guint selected = gtk_drop_down_get_selected (widget);

  if (self->updating || selected >= self->n_offered ||
      self->offered[selected] == ir_session_get_compare (session))
    return;
  if (self->offered[selected] == IR_COMPARE_PINNED)
    ir_session_pin (session, ir_session_get_cursor (session));
  else
    ir_session_set_compare (session, self->offered[selected]);
}

/* What is on offer comes and goes with the other file and with the what-if. */
static void
update_chooser (GtkDropDown *widget, IrSession *session)
{
  Chooser *self = chooser_of (widget);
  GtkStringList *titles = GTK_STRING_LIST (gtk_drop_down_get_model (widget));
  guint n = 0, selected = GTK_INVALID_LIST_POSITION;

  self->updating = TRUE;
  for (IrCompare compare = 0; compare < IR_N_COMPARES; compare++)
    {
      g_autofree char *title = NULL;
      const char *old;

      if (!ir_session_can_compare (session, compare))
        continue;
      title = compare_title (session, compare);
      old = gtk_string_list_get_string (titles, n);
      if (g_strcmp0 (old, title) != 0)
        gtk_string_list_splice (titles, n, old != NULL ? 1 : 0, (const char *[]){ title, NULL });
      if (compare == ir_session_get_compare (session))
        selected = n;
      self->offered[n++] = compare;
    }
  gtk_string_list_splice (titles, n, g_list_model_get_n_items (G_LIST_MODEL (titles)) - n, NULL);
  self->n_offered = n;
  gtk_drop_down_set_selected (widget, selected);
  self->updating = FALSE;
}

static void
on_offer_changed (GtkDropDown *widget, guint changes, IrSession *session)
{
  if (changes & (IR_CHANGED_COMPARE | IR_CHANGED_WHAT_IF | IR_CHANGED_HISTORY))
    update_chooser (widget, session);
}

/* A drop-down: since last step, since the pass began,  */
GtkWidget *
ir_compare_chooser_new (IrSession *session)
{
  GtkWidget *widget = gtk_drop_down_new (G_LIST_MODEL (gtk_string_list_new (NULL)), NULL);

  g_object_set_data_full (G_OBJECT (widget), "chooser", g_new0 (Chooser, 1), g_free);
  gtk_widget_set_tooltip_text (
      widget,
      "What the graph at the cursor is compared with; “Since this step” keeps the step that "
      "is shown now");
  gtk_widget_add_css_class (widget, "compact");
  ir_name (widget, "Compare");
  update_chooser (GTK_DROP_DOWN (widget), session);
  g_signal_connect_object (widget, "notify::selected", G_CALLBACK (on_compare_selected), session,
                           0);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_offer_changed), widget,
                           G_CONNECT_SWAPPED);
  return widget;
}
