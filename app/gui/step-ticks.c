#include "config.h"

#include "app/gui/step-ticks.h"
#include "views/colours.h"

#include "core/render/palette.h"
#include "core/ir/count.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#include <math.h>

#define HEIGHT    16  /* px */
#define MAX_MARKS 200 /* ends of passes: more run into each other */
#define MAX_NAMED 6   /* steps in the tooltip */
#define REACH     6.0 /* px from a tick that a click may be */

struct _IrStepTicks
{
  GtkWidget parent;
  IrSession *session;
  GArray *touches; /* of IrTouch: of the selected node */
};

G_DEFINE_FINAL_TYPE (IrStepTicks, ir_step_ticks, GTK_TYPE_WIDGET)

static double
x_of (IrStepTicks *self, guint step)
{
  const guint n = MAX (ir_session_get_n_steps (self->session), 1);
  const double width = gtk_widget_get_width (GTK_WIDGET (self)) - 2 * IR_STEP_KNOB_INSET;

  return floor (IR_STEP_KNOB_INSET + width * step / n) + 0.5;
}

static const IrTouch *
touch_at (IrStepTicks *self, guint i)
{
  return &g_array_index (self->touches, IrTouch, i);
}

/* Before the first step that says so a node is there, unless it was born later. */
static gboolean
is_there_at_first (IrStepTicks *self)
{
  for (guint i = 0; i < self->touches->len; i++)
    if (touch_at (self, i)->kind == IR_TOUCH_BORN || touch_at (self, i)->kind == IR_TOUCH_GONE)
      return touch_at (self, i)->kind == IR_TOUCH_GONE;
  return TRUE;
}

static gboolean
has_node (IrStepTicks *self)
{
  const IrNodeId node = self->session != NULL ? ir_session_get_selected_node (self->session) : 0;

  return node != 0 && (node & IR_OTHER_SIDE) == 0;
}

/* -- drawing -- */

static void
set_colour (cairo_t *cr, guint32 colour, double alpha)
{
  cairo_set_source_rgba (cr, (colour >> 16 & 0xff) / 255.0, (colour >> 8 & 0xff) / 255.0,
                         (colour & 0xff) / 255.0, alpha);
}

static void
draw_passes (IrStepTicks *self, cairo_t *cr, const IrPalette *palette)
{
  const IrModel *history = ir_session_get_history (self->session);
  const guint n = ir_history_n_pass_runs (history);
  guint n_marks = 0;

  for (guint i = 0; i < n; i++)
    n_marks += ir_history_pass_run (history, i)->n_steps > 0;
  set_colour (cr, palette->muted, 0.6);
  cairo_set_line_width (cr, 1);
  for (guint i = 0; i < n && n_marks <= MAX_MARKS; i++)
    {
      const IrPassRun *run = ir_history_pass_run (history, i);
      const double x = x_of (self, run->first_step + run->n_steps - 1);

      if (run->n_steps == 0)
        continue;
      cairo_move_to (cr, x, HEIGHT - 4);
      cairo_line_to (cr, x, HEIGHT);
    }
  cairo_stroke (cr);
}

/* What lies between the two points that are compared. */
static void
draw_span (IrStepTicks *self, cairo_t *cr, const IrPalette *palette)
{
  const double from = x_of (self, ir_session_get_base (self->session)),
               to = x_of (self, ir_session_get_cursor (self->session));

  set_colour (cr, palette->selection, 0.22);
  cairo_rectangle (cr, MIN (from, to), HEIGHT - 4, fabs (to - from), 4);
  cairo_fill (cr);
}

/* A triangle where it was born, a bar where it changed, a cross where it went, a dot where a step
 * only began there; a line while it is there. */
static void
draw_touch (cairo_t *cr, const IrPalette *palette, IrTouchKind kind, double x)
{
  const double middle = 6;

  switch (kind)
    {
    case IR_TOUCH_BORN:
      set_colour (cr, palette->state[IR_SCENE_NEW], 1);
      cairo_move_to (cr, x - 5, middle + 5);
      cairo_line_to (cr, x, middle - 5);
      cairo_line_to (cr, x + 5, middle + 5);
      cairo_close_path (cr);
      cairo_fill (cr);
      break;
    case IR_TOUCH_GONE:
      set_colour (cr, palette->state[IR_SCENE_REMOVED], 1);
      cairo_move_to (cr, x - 4, middle - 4);
      cairo_line_to (cr, x + 4, middle + 4);
      cairo_move_to (cr, x + 4, middle - 4);
      cairo_line_to (cr, x - 4, middle + 4);
      cairo_stroke (cr);
      break;
    case IR_TOUCH_CHANGED:
      set_colour (cr, palette->state[IR_SCENE_CHANGED], 1);
      cairo_rectangle (cr, x - 1.5, middle - 5.5, 3, 11);
      cairo_fill (cr);
      break;
    case IR_TOUCH_NOTED:
    case IR_N_TOUCHES:
    default:
      set_colour (cr, palette->text, 0.7);
      cairo_arc (cr, x, middle, 2, 0, 2 * G_PI);
      cairo_fill (cr);
      break;
    }
}

static void
draw_node (IrStepTicks *self, cairo_t *cr, const IrPalette *palette)
{
  gboolean there = is_there_at_first (self);
  double from = x_of (self, 0);

  cairo_set_line_width (cr, 2);
  for (guint i = 0; i <= self->touches->len; i++)
    {
      const IrTouch *touch = i < self->touches->len ? touch_at (self, i) : NULL;
      const double to = x_of (self,
                              touch != NULL ? touch->step : ir_session_get_n_steps (self->session));

      set_colour (cr, palette->text, there ? 0.65 : 0.22);
      cairo_set_dash (cr, (const double[]){ 1, 4 }, there ? 0 : 2, 0);
      cairo_move_to (cr, from, 6);
      cairo_line_to (cr, to, 6);
      cairo_stroke (cr);
      if (touch != NULL && touch->kind != IR_TOUCH_CHANGED && touch->kind != IR_TOUCH_NOTED)
        there = touch->kind == IR_TOUCH_BORN;
      from = to;
    }
  cairo_set_dash (cr, NULL, 0, 0);
  for (guint i = 0; i < self->touches->len; i++)
    draw_touch (cr, palette, touch_at (self, i)->kind, x_of (self, touch_at (self, i)->step));
}

static void
ir_step_ticks_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  IrStepTicks *self = IR_STEP_TICKS (widget);
  const IrPalette *palette = ir_palette (ir_colours_wanted ());
  cairo_t *cr;

  if (self->session == NULL || ir_session_get_n_steps (self->session) == 0)
    return;
  cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, gtk_widget_get_width (widget), HEIGHT));
  draw_span (self, cr, palette);
  draw_passes (self, cr, palette);
  if (has_node (self))
    draw_node (self, cr, palette);
  cairo_destroy (cr);
}

static void
ir_step_ticks_measure (GtkWidget *widget,
                       GtkOrientation orientation,
                       int for_size,
                       int *minimum,
                       int *natural,
                       int *minimum_baseline,
                       int *natural_baseline)
{
  *minimum = *natural = orientation == GTK_ORIENTATION_VERTICAL ? HEIGHT : 40;
}

/* -- in words -- */

/* "conv1 (Conv): born at step 3, changed at 7, gone at 12" */
static char *
text_of (IrStepTicks *self)
{
  static const char *const words[IR_N_TOUCHES] = { "at the place of step", "changed at step",
                                                   "born at step", "gone at step" };
  const IrModel *history = ir_session_get_history (self->session);
  const IrNode *node = has_node (self) && history != NULL
                           ? ir_model_node (history, ir_session_get_selected_node (self->session))
                           : NULL;
  g_autofree char *label = node != NULL ? ir_node_label (node) : NULL;
  g_autoptr (GString) text = g_string_new (label);

  if (node == NULL)
    return g_strdup ("Ends of passes. Of a selected node: ▲ born, ┃ changed, × gone");
  if (self->touches->len == 0)
    g_string_append (text, ": no step changed it");
  for (guint i = 0; i < MIN (self->touches->len, MAX_NAMED); i++)
    {
      g_autofree char *step = ir_count_text (touch_at (self, i)->step);

      g_string_append_printf (text, "%s %s %s", i == 0 ? ":" : ",", words[touch_at (self, i)->kind],
                              step);
    }
  if (self->touches->len > MAX_NAMED)
    g_string_append_printf (text, " and %u more", self->touches->len - MAX_NAMED);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
update_text (IrStepTicks *self)
{
  g_autofree char *text = text_of (self);

  gtk_widget_set_tooltip_text (GTK_WIDGET (self), text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
}

/* -- what it shows -- */

static void
on_session_changed (IrStepTicks *self, guint changes, IrSession *session)
{
  if (changes & (IR_CHANGED_SELECTION | IR_CHANGED_HISTORY))
    {
      g_clear_pointer (&self->touches, g_array_unref);
      self->touches = ir_session_touches_of (
          session, has_node (self) ? ir_session_get_selected_node (session) : 0);
      update_text (self);
    }
  if (changes &
      (IR_CHANGED_SELECTION | IR_CHANGED_HISTORY | IR_CHANGED_CURSOR | IR_CHANGED_COMPARE))
    gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* The tick under the pointer, or else the step there. */
static void
on_pressed (IrStepTicks *self, int n_press, double x, double y)
{
  const guint n = ir_session_get_n_steps (self->session);
  const double width = gtk_widget_get_width (GTK_WIDGET (self)) - 2 * IR_STEP_KNOB_INSET;
  guint step = (guint) (CLAMP ((x - IR_STEP_KNOB_INSET) / MAX (width, 1), 0, 1) * n + 0.5);
  double nearest = REACH;

  for (guint i = 0; i < self->touches->len; i++)
    if (fabs (x_of (self, touch_at (self, i)->step) - x) < nearest)
      {
        nearest = fabs (x_of (self, touch_at (self, i)->step) - x);
        step = touch_at (self, i)->step;
      }
  ir_session_goto (self->session, step);
}

void
ir_step_ticks_set_session (IrStepTicks *self, IrSession *session)
{
  g_return_if_fail (self->session == NULL);
  self->session = g_object_ref (session);
  g_signal_connect_object (session, "changed", G_CALLBACK (on_session_changed), self,
                           G_CONNECT_SWAPPED);
  ir_colours_watch (self, G_CALLBACK (gtk_widget_queue_draw));
  on_session_changed (self, IR_CHANGED_ALL, session);
}

static void
ir_step_ticks_dispose (GObject *object)
{
  IrStepTicks *self = IR_STEP_TICKS (object);

  g_clear_object (&self->session);
  G_OBJECT_CLASS (ir_step_ticks_parent_class)->dispose (object);
}

static void
ir_step_ticks_finalize (GObject *object)
{
  g_array_unref (IR_STEP_TICKS (object)->touches);
  G_OBJECT_CLASS (ir_step_ticks_parent_class)->finalize (object);
}

static void
ir_step_ticks_class_init (IrStepTicksClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_step_ticks_dispose;
  G_OBJECT_CLASS (klass)->finalize = ir_step_ticks_finalize;
  GTK_WIDGET_CLASS (klass)->snapshot = ir_step_ticks_snapshot;
  GTK_WIDGET_CLASS (klass)->measure = ir_step_ticks_measure;
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_IMG);
}

static void
ir_step_ticks_init (IrStepTicks *self)
{
  GtkGesture *click = gtk_gesture_click_new ();

  self->touches = g_array_new (FALSE, FALSE, sizeof (IrTouch));
  g_signal_connect_swapped (click, "pressed", G_CALLBACK (on_pressed), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
}
