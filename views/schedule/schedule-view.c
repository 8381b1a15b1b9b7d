/* The schedule: a timeline with a lane for each worker; measured if the graph has run, else as the
 * cost model predicts it. Bars are nodes: a click selects, the selection is outlined. The wheel
 * with Ctrl zooms along the time axis. */
#include "config.h"

#include "core/layout/charts.h"
#include "core/render/render.h"
#include "views/view.h"

#include <math.h>

#define LEAST_WIDTH 600.0 /* px of the drawing area */
#define MOST_WIDTH  60000.0
#define ZOOM_STEP   1.25

struct _IrScheduleView
{
  IrView parent;
  GtkWidget *stack, *area, *scroller, *message;
  GtkWidget *measured, *predicted;
  IrTextMeasure *measure;
  IrScene *scene; /* (nullable) */
  double width;   /* px of the drawing area of the chart */
};

#define IR_TYPE_SCHEDULE_VIEW (ir_schedule_view_get_type ())
G_DECLARE_FINAL_TYPE (IrScheduleView, ir_schedule_view, IR, SCHEDULE_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrScheduleView, ir_schedule_view, IR_TYPE_VIEW)

/* -- the chart -- */

static IrScene *
measured_scene (IrScheduleView *self, const IrChartOptions *options)
{
  const IrRun *run = ir_session_get_run (ir_view_get_session (IR_VIEW (self)), IR_SIDE_AFTER);
  return run != NULL && run->trace != NULL ? ir_chart_trace (run->trace, run->model, options)
                                           : NULL;
}

static IrScene *
predicted_scene (IrScheduleView *self, const IrChartOptions *options, GError **error)
{
  const IrRun *run = ir_session_get_run (ir_view_get_session (IR_VIEW (self)), IR_SIDE_AFTER);
  const IrFrame *frame = ir_session_get_frame (ir_view_get_session (IR_VIEW (self)));
  g_autoptr (IrSchedule) schedule = NULL;

  if (run != NULL && run->schedule != NULL)
    return ir_chart_schedule (run->schedule, run->model, options);
  schedule = ir_schedule_new (frame->model, ir_backend_find ("cpu"), g_get_num_processors (),
                              error);
  return schedule != NULL ? ir_chart_schedule (schedule, frame->model, options) : NULL;
}

static void
show_scene (IrScheduleView *self, const GError *error)
{
  IrLayoutRect bounds = { 0 };

  gtk_stack_set_visible_child_name (GTK_STACK (self->stack),
                                    self->scene != NULL ? "chart" : "message");
  gtk_label_set_text (GTK_LABEL (self->message), error != NULL ? error->message : "");
  if (self->scene != NULL)
    bounds = ir_scene_bounds (self->scene);
  gtk_widget_set_size_request (self->area, (int) ceil (bounds.width), (int) ceil (bounds.height));
  gtk_widget_queue_draw (self->area);
}

static void
rebuild (IrScheduleView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  IrChartOptions options = { .measure = ir_text_measure_width,
                             .measure_data = self->measure,
                             .width = self->width };
  gboolean has_run = ir_session_get_run (session, IR_SIDE_AFTER) != NULL;
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&self->scene, ir_scene_unref);
  gtk_widget_set_sensitive (self->measured, has_run);
  if (ir_session_get_frame (session) == NULL)
    {
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "closed");
      return;
    }
  if (has_run && gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->measured)))
    self->scene = measured_scene (self, &options);
  else
    self->scene = predicted_scene (self, &options, &error);
  show_scene (self, error);
}

static void
ir_schedule_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrScheduleView *self = IR_SCHEDULE_VIEW (view);

  if (changes & IR_CHANGED_RUNS &&
      ir_session_get_run (ir_view_get_session (view), IR_SIDE_AFTER) != NULL)
    gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->measured), TRUE);
  if (changes & (IR_CHANGED_RUNS | IR_CHANGED_FRAME | IR_CHANGED_HISTORY))
    rebuild (self);
  else if (changes & (IR_CHANGED_SELECTION | IR_CHANGED_HOVER))
    gtk_widget_queue_draw (self->area);
}

/* -- drawing -- */

static void
outline (IrScheduleView *self, cairo_t *cr, IrNodeId node, guint32 colour)
{
  gint32 index = node != 0 ? ir_scene_find_node (self->scene, node) : -1;
  guint n;
  const IrSceneBox *box;

  if (index < 0)
    return;
  box = &ir_scene_boxes (self->scene, &n)[index];
  cairo_set_source_rgb (cr, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                        (colour & 255) / 255.0);
  cairo_set_line_width (cr, 2);
  cairo_rectangle (cr, box->x - 1, box->y - 1, box->width + 2, box->height + 2);
  cairo_stroke (cr);
}

static void
draw (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  IrScheduleView *self = data;
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrPalette *palette = ir_palette (
      adw_style_manager_get_dark (adw_style_manager_get_default ()));
  IrLayoutRect bounds, clip;
  double x1, y1, x2, y2;

  if (self->scene == NULL)
    return;
  bounds = ir_scene_bounds (self->scene);
  cairo_translate (cr, -bounds.x, -bounds.y);
  cairo_clip_extents (cr, &x1, &y1, &x2, &y2);
  clip = (IrLayoutRect){ x1, y1, x2 - x1, y2 - y1 };
  ir_render_cairo (self->scene, palette, &clip, cr);
  outline (self, cr, ir_session_get_hover (session), palette->hover);
  outline (self, cr, ir_session_get_selected_node (session), palette->selection);
}

/* -- pointer -- */

static const IrSceneBox *
box_at (IrScheduleView *self, double x, double y)
{
  IrLayoutRect bounds;
  IrSceneHit hit;
  guint n;

  if (self->scene == NULL)
    return NULL;
  bounds = ir_scene_bounds (self->scene);
  hit = ir_scene_pick (self->scene, x + bounds.x, y + bounds.y, 2);
  return hit.box >= 0 ? &ir_scene_boxes (self->scene, &n)[hit.box] : NULL;
}

static void
on_pressed (GtkGestureClick *gesture, int n_press, double x, double y, IrScheduleView *self)
{
  const IrSceneBox *box = box_at (self, x, y);

  ir_session_select_node (ir_view_get_session (IR_VIEW (self)), box != NULL ? box->node : 0);
}

static void
on_motion (GtkEventControllerMotion *controller, double x, double y, IrScheduleView *self)
{
  const IrSceneBox *box = box_at (self, x, y);

  ir_session_set_hover (ir_view_get_session (IR_VIEW (self)), box != NULL ? box->node : 0);
}

static void
on_leave (GtkEventControllerMotion *controller, IrScheduleView *self)
{
  ir_session_set_hover (ir_view_get_session (IR_VIEW (self)), 0);
}

static gboolean
on_query_tooltip (
    GtkWidget *area, int x, int y, gboolean keyboard, GtkTooltip *tooltip, IrScheduleView *self)
{
  const IrSceneBox *box = keyboard ? NULL : box_at (self, x, y);

  if (box == NULL || box->tip == NULL)
    return FALSE;
  gtk_tooltip_set_text (tooltip, box->tip);
  return TRUE;
}

/* -- zoom -- */

static void
zoom (IrScheduleView *self, double factor)
{
  double width = CLAMP (self->width * factor, LEAST_WIDTH, MOST_WIDTH);

  if (width == self->width)
    return;
  self->width = width;
  rebuild (self);
}

static gboolean
on_scroll (GtkEventControllerScroll *controller, double dx, double dy, IrScheduleView *self)
{
  GdkModifierType state = gtk_event_controller_get_current_event_state (
      GTK_EVENT_CONTROLLER (controller));

  if ((state & GDK_CONTROL_MASK) == 0)
    return FALSE;
  zoom (self, dy < 0 ? ZOOM_STEP : 1 / ZOOM_STEP);
  return TRUE;
}

static void
on_zoom_in (GtkButton *button, IrScheduleView *self)
{
  zoom (self, ZOOM_STEP);
}

static void
on_zoom_out (GtkButton *button, IrScheduleView *self)
{
  zoom (self, 1 / ZOOM_STEP);
}

/* -- object -- */

static void
ir_schedule_view_dispose (GObject *object)
{
  IrScheduleView *self = IR_SCHEDULE_VIEW (object);

  g_clear_pointer (&self->scene, ir_scene_unref);
  g_clear_pointer (&self->measure, ir_text_measure_free);
  G_OBJECT_CLASS (ir_schedule_view_parent_class)->dispose (object);
}

static void
ir_schedule_view_class_init (IrScheduleViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_schedule_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_schedule_view_session_changed;
}

static void
add_controllers (IrScheduleView *self)
{
  GtkGesture *click = gtk_gesture_click_new ();
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (
      GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);

  g_signal_connect (click, "pressed", G_CALLBACK (on_pressed), self);
  g_signal_connect (motion, "motion", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "leave", G_CALLBACK (on_leave), self);
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scroll), self);
  gtk_event_controller_set_propagation_phase (scroll, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller (self->area, GTK_EVENT_CONTROLLER (click));
  gtk_widget_add_controller (self->area, motion);
  gtk_widget_add_controller (self->scroller, scroll);
  gtk_widget_set_has_tooltip (self->area, TRUE);
  g_signal_connect (self->area, "query-tooltip", G_CALLBACK (on_query_tooltip), self);
}

static GtkWidget *
icon_button (const char *icon, const char *label, GCallback callback, gpointer data)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_set_tooltip_text (button, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  -1);
  gtk_widget_add_css_class (button, "flat");
  g_signal_connect (button, "clicked", callback, data);
  return button;
}

static GtkWidget *
make_toolbar (IrScheduleView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6),
            *kinds = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  GtkWidget *space = gtk_label_new (NULL);

  self->measured = gtk_toggle_button_new_with_label ("Measured");
  self->predicted = gtk_toggle_button_new_with_label ("Predicted");
  gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (self->predicted),
                               GTK_TOGGLE_BUTTON (self->measured));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->predicted), TRUE);
  g_signal_connect_swapped (self->measured, "toggled", G_CALLBACK (rebuild), self);
  gtk_widget_add_css_class (kinds, "linked");
  gtk_box_append (GTK_BOX (kinds), self->predicted);
  gtk_box_append (GTK_BOX (kinds), self->measured);
  gtk_widget_set_hexpand (space, TRUE);
  gtk_box_append (GTK_BOX (box), kinds);
  gtk_box_append (GTK_BOX (box), space);
  gtk_box_append (GTK_BOX (box), icon_button ("zoom-out-symbolic", "Less time per pixel",
                                              G_CALLBACK (on_zoom_out), self));
  gtk_box_append (GTK_BOX (box), icon_button ("zoom-in-symbolic", "More pixels per time",
                                              G_CALLBACK (on_zoom_in), self));
  gtk_widget_add_css_class (box, "view-toolbar");
  return box;
}

static GtkWidget *
make_chart (IrScheduleView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  self->area = gtk_drawing_area_new ();
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (self->area), draw, self, NULL);
  gtk_widget_set_halign (self->area, GTK_ALIGN_START);
  gtk_widget_set_valign (self->area, GTK_ALIGN_START);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->area), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Timeline", -1);
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->area);
  gtk_widget_set_vexpand (self->scroller, TRUE);
  gtk_box_append (GTK_BOX (box), make_toolbar (self));
  gtk_box_append (GTK_BOX (box), self->scroller);
  return box;
}

static void
ir_schedule_view_init (IrScheduleView *self)
{
  GtkWidget *chart;

  self->measure = ir_text_measure_new ();
  self->width = 1200;
  chart = make_chart (self);
  add_controllers (self);
  self->message = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->message), TRUE);
  gtk_widget_add_css_class (self->message, "dim-label");
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("x-office-calendar-symbolic", "No Graph",
                                           "The timeline of a run is shown here.", "win.open",
                                           "Open…"),
                       "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), chart, "chart");
  gtk_stack_add_named (GTK_STACK (self->stack), self->message, "message");
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark",
                           G_CALLBACK (gtk_widget_queue_draw), self->area, G_CONNECT_SWAPPED);
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_schedule = {
  .id = "schedule",
  .title = "Schedule",
  .icon_name = "x-office-calendar-symbolic",
  .doc = "Which node runs when: predicted, and measured by the last run.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_schedule_view_get_type,
};
