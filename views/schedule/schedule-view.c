/* The schedule: a timeline with a lane for each worker; measured if the graph has run, else as the
 * cost model predicts it. Bars are nodes: a click or the arrow keys select, the selection is
 * outlined. The wheel with Ctrl and + - 0 zoom along the time axis; without zoom the chart is as
 * wide as its pane. The chart is made in a job, and only what is in sight is drawn. */
#include "config.h"

#include "core/layout/charts.h"
#include "core/render/render.h"
#include "views/jobs.h"
#include "views/kernel-chooser.h"
#include "views/session-runs.h"
#include "views/view.h"

#include <math.h>

#define LEAST_WIDTH 240.0 /* px of the drawing area */
#define MOST_WIDTH  60000.0
#define ZOOM_STEP   1.25
#define LABELS      168.0 /* px beside the drawing area: names of lanes and margins */

struct _IrScheduleView
{
  IrView parent;
  GtkWidget *stack, *area, *scroller, *message, *note;
  GtkWidget *measured, *predicted;
  GtkWidget *node_text, *chooser_place, *chooser; /* of the selected node; (nullable) the last */
  IrScene *scene;                                 /* (nullable) */
  double width;   /* px of the drawing area of the chart; 0 = as wide as the pane */
  double wanted;  /* px: what the newest chart was asked for */
  IrJob *job;     /* (nullable) makes the scene */
  gboolean stale; /* its result will be out of date */
};

#define IR_TYPE_SCHEDULE_VIEW (ir_schedule_view_get_type ())
G_DECLARE_FINAL_TYPE (IrScheduleView, ir_schedule_view, IR, SCHEDULE_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrScheduleView, ir_schedule_view, IR_TYPE_VIEW)

/* -- the chart: made in a job -- */

typedef struct
{
  IrRun *run;     /* (nullable) */
  IrModel *model; /* (nullable) whose schedule is to be predicted */
  gboolean measured;
  double width;
  double pane; /* px that the chart should fit into; 0: it is scrolled */
} Request;

static void
request_free (gpointer data)
{
  Request *request = data;

  g_clear_pointer (&request->run, ir_run_unref);
  g_clear_pointer (&request->model, ir_model_unref);
  g_free (request);
}

static IrScene *
chart_of (const Request *request, IrSchedule *schedule, const IrChartOptions *options)
{
  return request->measured ? ir_chart_trace (request->run->trace, request->run->model, options)
                           : ir_chart_schedule (schedule, request->model, options);
}

/* The last text of an axis may reach beyond it: then the chart is made again, that much narrower.
 */
static gpointer
make_scene (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const Request *request = data;
  g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
  g_autoptr (IrSchedule) schedule = NULL;
  IrChartOptions options = { .measure = ir_text_measure_width,
                             .measure_data = measure,
                             .width = request->width };
  IrSchedule *planned = NULL;
  IrScene *scene;
  double excess;

  if (request->run != NULL)
    planned = request->run->schedule;
  if (planned == NULL && !request->measured)
    planned = schedule = ir_schedule_new (request->model, ir_backend_find ("cpu"),
                                          g_get_num_processors (), error);
  if (planned == NULL && !request->measured)
    return NULL;
  scene = chart_of (request, planned, &options);
  excess = request->pane > 0 ? ceil (ir_scene_bounds (scene).width) - request->pane : 0;
  if (excess > 0 && excess < options.width / 2)
    {
      options.width -= excess;
      ir_scene_unref (scene);
      scene = chart_of (request, planned, &options);
    }
  return scene;
}

static void show_selection (IrScheduleView *self);

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

static void rebuild (IrScheduleView *self);

static void
on_scene (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrScheduleView *self = IR_SCHEDULE_VIEW (owner);
  g_autoptr (IrScene) scene = result;

  g_clear_pointer (&self->job, ir_job_unref);
  if (self->stale)
    {
      rebuild (self);
      return;
    }
  g_clear_pointer (&self->scene, ir_scene_unref);
  self->scene = g_steal_pointer (&scene);
  show_scene (self, error);
}

static double
pane_width (IrScheduleView *self)
{
  double width = gtk_widget_get_width (self->scroller) - LABELS;
  return MAX (width, LEAST_WIDTH);
}

/* A chart of a run says of which, if that is not the graph on screen. */
static void
show_note (IrScheduleView *self, gboolean of_run, const IrFrame *frame)
{
  guint step = ir_session_get_run_step (ir_view_get_session (IR_VIEW (self)));
  g_autofree char *text = NULL;

  if (of_run && step != frame->to)
    text = g_strdup_printf ("The run was of step %u; the graph is at %u.", step, frame->to);
  gtk_label_set_text (GTK_LABEL (self->note), text != NULL ? text : "");
  gtk_widget_set_visible (self->note, text != NULL);
}

static void
rebuild (IrScheduleView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);
  IrRun *run = ir_session_get_run (session, IR_SIDE_AFTER);
  Request *request;

  gtk_widget_set_sensitive (self->measured, run != NULL && run->trace != NULL);
  self->stale = self->job != NULL;
  if (self->job != NULL)
    return;
  if (frame == NULL)
    {
      g_clear_pointer (&self->scene, ir_scene_unref);
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "closed");
      return;
    }
  request = g_new0 (Request, 1);
  request->measured = run != NULL && run->trace != NULL &&
                      gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->measured));
  if (run != NULL && (request->measured || ir_session_get_run_step (session) == frame->to))
    request->run = ir_run_ref (run);
  request->model = ir_model_ref (frame->model);
  request->width = self->width > 0 ? self->width : pane_width (self);
  request->pane = self->width > 0 ? 0 : gtk_widget_get_width (self->scroller);
  self->wanted = request->width;
  show_note (self, request->measured, frame);
  self->job = ir_job_start (self, &(IrJobSpec){ .run = make_scene,
                                                .data = request,
                                                .data_free = request_free,
                                                .result_free = (GDestroyNotify) ir_scene_unref,
                                                .done = on_scene });
}

/* The pane got wider or narrower. */
static void
on_page_size (IrScheduleView *self)
{
  if (self->width == 0 && self->wanted > 0 && fabs (pane_width (self) - self->wanted) >= 8)
    rebuild (self);
}

/* -- the selected node -- */

static char *
node_text (IrSession *session, const IrNode *node, char **tip)
{
  const char *why, *layout, *kernel = ir_session_get_kernel (session, node, &why, &layout);
  const IrTimes times = ir_session_get_node_times (session, node->id);
  g_autofree char *label = ir_node_label (node), *time = ir_times_text (&times);
  char *text = g_strdup_printf ("%s · %s", kernel != NULL ? kernel : "no kernel", time);

  *tip = g_strdup_printf ("%s\n%s%s%s", label, text, why != NULL ? "\n" : "",
                          why != NULL ? why : "");
  return text;
}

/* What runs the selected node, how long that took, and what else could. */
static void
show_node (IrScheduleView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrFrame *frame = ir_session_get_frame (session);
  const IrNode *node = frame != NULL ? ir_model_live_node (frame->model,
                                                           ir_session_get_selected_node (session))
                                     : NULL;
  g_autofree char *tip = NULL, *text = node != NULL ? node_text (session, node, &tip) : NULL;

  if (self->chooser == NULL)
    {
      self->chooser = ir_kernel_chooser_new (session);
      gtk_box_append (GTK_BOX (self->chooser_place), self->chooser);
    }
  gtk_widget_set_visible (self->chooser, ir_kernel_chooser_set_node (self->chooser, node));
  gtk_label_set_text (GTK_LABEL (self->node_text), text != NULL ? text : "");
  gtk_widget_set_tooltip_text (self->node_text, tip);
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
  if (changes & (IR_CHANGED_RUNS | IR_CHANGED_FRAME | IR_CHANGED_HISTORY | IR_CHANGED_SELECTION))
    show_node (self);
  if (changes & IR_CHANGED_SELECTION)
    show_selection (self);
  if (changes & (IR_CHANGED_SELECTION | IR_CHANGED_HOVER))
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
  GtkAdjustment *across = gtk_scrolled_window_get_hadjustment (
                    GTK_SCROLLED_WINDOW (self->scroller)),
                *down = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller));
  IrLayoutRect bounds, clip;

  if (self->scene == NULL)
    return;
  bounds = ir_scene_bounds (self->scene);
  cairo_rectangle (cr, gtk_adjustment_get_value (across), gtk_adjustment_get_value (down),
                   gtk_adjustment_get_page_size (across), gtk_adjustment_get_page_size (down));
  cairo_clip (cr);
  cairo_translate (cr, -bounds.x, -bounds.y);
  clip = (IrLayoutRect){ gtk_adjustment_get_value (across) + bounds.x,
                         gtk_adjustment_get_value (down) + bounds.y,
                         gtk_adjustment_get_page_size (across),
                         gtk_adjustment_get_page_size (down) };
  ir_render_cairo (self->scene, palette, &clip, cr);
  outline (self, cr, ir_session_get_hover (session), palette->hover);
  outline (self, cr, ir_session_get_selected_node (session), palette->selection);
}

/* -- selection -- */

static const IrSceneBox *
selected_box (IrScheduleView *self, gint32 *index)
{
  IrNodeId node = ir_session_get_selected_node (ir_view_get_session (IR_VIEW (self)));
  guint n;

  *index = self->scene != NULL && node != 0 ? ir_scene_find_node (self->scene, node) : -1;
  return *index >= 0 ? &ir_scene_boxes (self->scene, &n)[*index] : NULL;
}

/* Scrolls so that the bar of the selected node is in sight. */
static void
show_selection (IrScheduleView *self)
{
  GtkScrolledWindow *scroller = GTK_SCROLLED_WINDOW (self->scroller);
  gint32 index;
  const IrSceneBox *box = selected_box (self, &index);
  IrLayoutRect bounds;

  if (box == NULL)
    return;
  bounds = ir_scene_bounds (self->scene);
  gtk_adjustment_clamp_page (gtk_scrolled_window_get_hadjustment (scroller), box->x - bounds.x - 4,
                             box->x - bounds.x + box->width + 4);
  gtk_adjustment_clamp_page (gtk_scrolled_window_get_vadjustment (scroller), box->y - bounds.y - 4,
                             box->y - bounds.y + box->height + 4);
}

static void
select_by (IrScheduleView *self, int n_bars)
{
  gint32 index;
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (self->scene, &n);

  if (n == 0)
    return;
  if (selected_box (self, &index) != NULL)
    index = CLAMP (index + n_bars, 0, (gint32) n - 1);
  else
    index = n_bars > 0 ? 0 : (gint32) n - 1;
  ir_session_select_node (ir_view_get_session (IR_VIEW (self)), boxes[index].node);
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

  gtk_widget_grab_focus (self->area);
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
  double width = CLAMP ((self->width > 0 ? self->width : pane_width (self)) * factor, LEAST_WIDTH,
                        MOST_WIDTH);

  if (width == self->width)
    return;
  self->width = width;
  rebuild (self);
}

static void
fit (IrScheduleView *self)
{
  self->width = 0;
  rebuild (self);
}

static gboolean
on_key (GtkEventControllerKey *controller,
        guint key,
        guint code,
        GdkModifierType state,
        IrScheduleView *self)
{
  if (self->scene == NULL || state & (GDK_CONTROL_MASK | GDK_ALT_MASK))
    return FALSE;
  switch (key)
    {
    case GDK_KEY_Right:
    case GDK_KEY_Left:
      select_by (self, key == GDK_KEY_Right ? 1 : -1);
      return TRUE;
    case GDK_KEY_Home:
    case GDK_KEY_End:
      select_by (self, key == GDK_KEY_Home ? -(1 << 30) : 1 << 30);
      return TRUE;
    case GDK_KEY_plus:
    case GDK_KEY_equal:
    case GDK_KEY_KP_Add:
      zoom (self, ZOOM_STEP);
      return TRUE;
    case GDK_KEY_minus:
    case GDK_KEY_KP_Subtract:
      zoom (self, 1 / ZOOM_STEP);
      return TRUE;
    case GDK_KEY_0:
    case GDK_KEY_KP_0:
      fit (self);
      return TRUE;
    default:
      return FALSE;
    }
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

static void
on_fit (GtkButton *button, IrScheduleView *self)
{
  fit (self);
}

/* -- object -- */

static void
ir_schedule_view_focus_content (IrView *view)
{
  gtk_widget_grab_focus (IR_SCHEDULE_VIEW (view)->area);
}

static void
ir_schedule_view_dispose (GObject *object)
{
  IrScheduleView *self = IR_SCHEDULE_VIEW (object);

  g_clear_pointer (&self->scene, ir_scene_unref);
  if (self->job != NULL)
    ir_job_cancel (self->job);
  g_clear_pointer (&self->job, ir_job_unref);
  G_OBJECT_CLASS (ir_schedule_view_parent_class)->dispose (object);
}

static void
ir_schedule_view_class_init (IrScheduleViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_schedule_view_dispose;
  IR_VIEW_CLASS (klass)->session_changed = ir_schedule_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_schedule_view_focus_content;
}

static void
add_controllers (IrScheduleView *self)
{
  GtkGesture *click = gtk_gesture_click_new ();
  GtkEventController *motion = gtk_event_controller_motion_new (),
                     *keys = gtk_event_controller_key_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (
      GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);

  g_signal_connect (click, "pressed", G_CALLBACK (on_pressed), self);
  g_signal_connect (motion, "motion", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "leave", G_CALLBACK (on_leave), self);
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scroll), self);
  gtk_event_controller_set_propagation_phase (scroll, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller (self->area, GTK_EVENT_CONTROLLER (click));
  gtk_widget_add_controller (self->area, motion);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (self->area, keys);
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

  self->measured = gtk_toggle_button_new_with_label ("Measured");
  self->predicted = gtk_toggle_button_new_with_label ("Predicted");
  gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (self->predicted),
                               GTK_TOGGLE_BUTTON (self->measured));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->predicted), TRUE);
  g_signal_connect_swapped (self->measured, "toggled", G_CALLBACK (rebuild), self);
  gtk_widget_add_css_class (kinds, "linked");
  gtk_box_append (GTK_BOX (kinds), self->predicted);
  gtk_box_append (GTK_BOX (kinds), self->measured);
  self->node_text = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->node_text), 1);
  gtk_label_set_ellipsize (GTK_LABEL (self->node_text), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (self->node_text, TRUE);
  self->chooser_place = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_box_append (GTK_BOX (box), kinds);
  gtk_box_append (GTK_BOX (box), self->node_text);
  gtk_box_append (GTK_BOX (box), self->chooser_place);
  gtk_box_append (GTK_BOX (box), icon_button ("zoom-out-symbolic", "Zoom out (−)",
                                              G_CALLBACK (on_zoom_out), self));
  gtk_box_append (GTK_BOX (box),
                  icon_button ("zoom-in-symbolic", "Zoom in (+)", G_CALLBACK (on_zoom_in), self));
  gtk_box_append (GTK_BOX (box), icon_button ("zoom-fit-best-symbolic", "As wide as the pane (0)",
                                              G_CALLBACK (on_fit), self));
  gtk_widget_add_css_class (box, "view-toolbar");
  return box;
}

static GtkWidget *
make_chart (IrScheduleView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkAdjustment *across, *down;

  self->area = gtk_drawing_area_new ();
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (self->area), draw, self, NULL);
  gtk_widget_set_halign (self->area, GTK_ALIGN_START);
  gtk_widget_set_valign (self->area, GTK_ALIGN_START);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->area), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Timeline", -1);
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->area);
  gtk_widget_set_vexpand (self->scroller, TRUE);
  across = gtk_scrolled_window_get_hadjustment (GTK_SCROLLED_WINDOW (self->scroller));
  down = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller));
  g_signal_connect_swapped (across, "notify::page-size", G_CALLBACK (on_page_size), self);
  g_signal_connect_swapped (across, "value-changed", G_CALLBACK (gtk_widget_queue_draw),
                            self->area);
  g_signal_connect_swapped (down, "value-changed", G_CALLBACK (gtk_widget_queue_draw), self->area);
  gtk_widget_set_focusable (self->area, TRUE);
  self->note = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->note), 0);
  gtk_label_set_ellipsize (GTK_LABEL (self->note), PANGO_ELLIPSIZE_END);
  gtk_widget_set_margin_start (self->note, 12);
  gtk_widget_add_css_class (self->note, "dim-label");
  gtk_box_append (GTK_BOX (box), make_toolbar (self));
  gtk_box_append (GTK_BOX (box), self->note);
  gtk_box_append (GTK_BOX (box), self->scroller);
  return box;
}

static void
ir_schedule_view_init (IrScheduleView *self)
{
  GtkWidget *chart;

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
