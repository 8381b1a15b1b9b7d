#include "config.h"

#include "views/chart-area.h"
#include "views/chart-related.h"
#include "views/chart-strip.h"
#include "views/colours.h"

#include "core/render/render.h"
#include "views/session/selection.h"

#include <math.h>

#define LEAST_WIDTH  240.0 /* px of the drawing area */
#define MOST_WIDTH   60000.0
#define ZOOM_STEP    1.25
#define LABELS       168.0 /* px beside the drawing area: names of lanes and margins */
#define HEADINGS     104.0 /* px above and below it: title and margins */
#define LEAST_LINES  80.0  /* px of height */
#define PATIENCE_MS  250   /* before a job is told of */
#define LEAST_DRAG   6.0   /* px: less is a click */
#define PAN_PART     0.15  /* of the pane, for a key */
#define CHART_BEYOND 2.0   /* px that bars may reach beyond the drawing area */

/* What a chart is made from. */
typedef struct
{
  IrChartFunc make;
  gpointer data;
  GDestroyNotify data_free;
  double width;
  double height;
  double pane; /* px that the chart should fit into; 0: it is scrolled */
} Request;

typedef struct
{
  IrScene *scene;
  double width; /* px of the drawing area */
} Made;

struct _IrChartArea
{
  AdwBin parent_instance;
  GtkWidget *area, *scroller;
  GtkWidget *busy, *busy_text, *busy_bar; /* what the job does, if that takes long */
  guint busy_timeout;
  gboolean by_value;
  IrScene *scene;      /* (nullable) */
  IrChartStrip strip;  /* what of it is in sight */
  double drawn;        /* px of its drawing area */
  GHashTable *related; /* node ids: what the selected node reads from, and what reads from it */
  gboolean ranges; /* along x is time: a part of it can be chosen, and what feeds what is shown */
  double from, to; /* of the x axis, 0 to 1: that part; both 0: none */
  double drag_from, drag_to; /* px, while it is dragged; both 0: it is not */
  gint32 chosen;  /* the last bar that was chosen here: others may stand for the same node */
  double pointer; /* px in the pane; negative: it is not there */
  double anchor,
      anchor_at; /* what of the x axis is to stay at which px of the pane; negative: nothing */
  double width;  /* px of the drawing area of the chart; 0 = as wide as the pane */
  double wanted; /* px: what the newest chart was asked for */
  double wanted_height;
  IrJob *job;       /* (nullable) makes a scene */
  gpointer making;  /* (unowned): what it makes it from; compared only */
  Request *waiting; /* (nullable) what is to be made when the job has ended */
  gboolean cleared; /* nobody wants what the job makes */
};

enum
{
  RESIZED,
  LOADED,
  RANGED,
  STEPPED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (IrChartArea, ir_chart_area, ADW_TYPE_BIN)

static IrSession *
session_of (IrChartArea *self)
{
  return ir_view_get_session (IR_VIEW (gtk_widget_get_ancestor (GTK_WIDGET (self), IR_TYPE_VIEW)));
}

/* -- the chart: made in a job -- */

static void
request_free (gpointer data)
{
  Request *request = data;

  if (request->data_free != NULL)
    request->data_free (request->data);
  g_free (request);
}

/* The last text of an axis may reach beyond it: then the chart is made again, that much narrower.
 */
static gpointer
make_chart (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const Request *request = data;
  g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
  IrChartOptions options = { .measure = ir_text_measure_width,
                             .measure_data = measure,
                             .width = request->width,
                             .height = request->height };
  IrScene *scene = request->make (job, request->data, &options, cancellable, error);
  double excess;
  Made *made;

  if (scene == NULL)
    return NULL;
  excess = request->pane > 0 ? ceil (ir_scene_bounds (scene).width) - request->pane : 0;
  if (excess > 0 && excess < options.width / 2)
    {
      options.width -= excess;
      ir_scene_unref (scene);
      scene = request->make (job, request->data, &options, cancellable, error);
    }
  if (scene == NULL)
    return NULL;
  made = g_new0 (Made, 1);
  *made = (Made){ .scene = scene, .width = options.width };
  return made;
}

static void
made_free (gpointer data)
{
  ir_scene_unref (((Made *) data)->scene);
  g_free (data);
}

static void
show_scene (IrChartArea *self, IrScene *scene)
{
  IrLayoutRect bounds = { 0 };

  g_clear_pointer (&self->scene, ir_scene_unref);
  ir_chart_strip_clear (&self->strip);
  self->scene = scene;
  if (scene != NULL)
    bounds = ir_scene_bounds (scene);
  gtk_widget_set_size_request (self->area, (int) ceil (bounds.width), (int) ceil (bounds.height));
  gtk_widget_queue_draw (self->area);
}

/* -- what takes long -- */

static gboolean
reveal_busy (gpointer data)
{
  IrChartArea *self = data;

  self->busy_timeout = 0;
  gtk_widget_show (self->busy);
  return G_SOURCE_REMOVE;
}

static void
show_busy (IrChartArea *self)
{
  if (self->busy_timeout == 0 && !gtk_widget_get_visible (self->busy))
    self->busy_timeout = g_timeout_add (PATIENCE_MS, reveal_busy, self);
}

static void
hide_busy (IrChartArea *self)
{
  g_clear_handle_id (&self->busy_timeout, g_source_remove);
  gtk_widget_hide (self->busy);
  gtk_label_set_text (GTK_LABEL (self->busy_text), "Making the chart…");
}

static void
on_progress (gpointer owner, double fraction, const char *text)
{
  IrChartArea *self = IR_CHART_AREA (owner);

  if (text != NULL)
    gtk_label_set_text (GTK_LABEL (self->busy_text), text);
  if (fraction >= 0)
    gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->busy_bar), fraction);
  else
    gtk_progress_bar_pulse (GTK_PROGRESS_BAR (self->busy_bar));
}

static void
on_cancel (GtkButton *button, IrChartArea *self)
{
  if (self->job != NULL)
    ir_job_cancel (self->job);
}

static GtkWidget *
make_busy (IrChartArea *self)
{
  GtkWidget *cancel = gtk_button_new_with_label ("Cancel");

  self->busy = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  self->busy_text = gtk_label_new (NULL);
  gtk_label_set_ellipsize (GTK_LABEL (self->busy_text), PANGO_ELLIPSIZE_END);
  self->busy_bar = gtk_progress_bar_new ();
  gtk_progress_bar_set_pulse_step (GTK_PROGRESS_BAR (self->busy_bar), 0.02);
  gtk_widget_set_valign (self->busy_bar, GTK_ALIGN_CENTER);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->busy_bar), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Progress of the chart", -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (cancel), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Cancel the chart", -1);
  g_signal_connect (cancel, "clicked", G_CALLBACK (on_cancel), self);
  gtk_box_append (GTK_BOX (self->busy), self->busy_text);
  gtk_box_append (GTK_BOX (self->busy), self->busy_bar);
  gtk_box_append (GTK_BOX (self->busy), cancel);
  gtk_widget_set_halign (self->busy, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (self->busy, GTK_ALIGN_START);
  gtk_widget_add_css_class (self->busy, "canvas-note");
  hide_busy (self);
  return self->busy;
}

/* -- starting and ending -- */

static void start (IrChartArea *self, Request *request);

static const char *
problem_of (const GError *error)
{
  if (error == NULL)
    return NULL;
  return g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ? "This was cancelled."
                                                                   : error->message;
}

static void
on_scene (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrChartArea *self = IR_CHART_AREA (owner);
  Made *made = result;

  g_clear_pointer (&self->job, ir_job_unref);
  self->making = NULL;
  if (self->waiting != NULL)
    {
      g_clear_pointer (&made, made_free);
      start (self, g_steal_pointer (&self->waiting));
      return;
    }
  hide_busy (self);
  if (!self->cleared)
    {
      self->drawn = made != NULL ? made->width : 0;
      show_scene (self, made != NULL ? ir_scene_ref (made->scene) : NULL);
      g_signal_emit (self, signals[LOADED], 0, problem_of (error));
    }
  g_clear_pointer (&made, made_free);
}

static void
start (IrChartArea *self, Request *request)
{
  self->cleared = FALSE;
  self->making = request->data;
  show_busy (self);
  self->job = ir_job_start (self, &(IrJobSpec){ .run = make_chart,
                                                .data = request,
                                                .data_free = request_free,
                                                .result_free = made_free,
                                                .done = on_scene,
                                                .progress = on_progress });
}

static double
pane_width (IrChartArea *self)
{
  double width = gtk_widget_get_width (self->scroller) - LABELS;
  return MAX (width, LEAST_WIDTH);
}

static double
pane_height (IrChartArea *self)
{
  double height = gtk_widget_get_height (self->scroller) - HEADINGS;
  return MAX (height, LEAST_LINES);
}

/**
 * ir_chart_area_load:
 * @make: makes the chart
 * @request: (transfer full): what @make reads
 * @request_free: frees @request, in any thread
 *
 * The chart that is on screen stays until the new one is there. What is made from something else
 * is not waited for; what is made from the same data, such as for a pane of another size, is.
 */
void
ir_chart_area_load (IrChartArea *self, IrChartFunc make, gpointer data, GDestroyNotify data_free)
{
  Request *request = g_new0 (Request, 1);

  request->make = make;
  request->data = data;
  request->data_free = data_free;
  request->width = self->width > 0 ? self->width : pane_width (self);
  request->pane = self->width > 0 ? 0 : gtk_widget_get_width (self->scroller);
  request->height = pane_height (self);
  self->wanted = request->width;
  self->wanted_height = request->height;
  if (self->job == NULL)
    {
      start (self, request);
      return;
    }
  if (self->making != data)
    ir_job_cancel (self->job);
  g_clear_pointer (&self->waiting, request_free);
  self->waiting = request;
}

/**
 * ir_chart_area_clear:
 *
 * There is nothing to be shown any more.
 */
void
ir_chart_area_clear (IrChartArea *self)
{
  g_clear_pointer (&self->waiting, request_free);
  if (self->job != NULL)
    ir_job_cancel (self->job);
  self->cleared = TRUE;
  show_scene (self, NULL);
}

/* The pane got wider or narrower, or higher. Timelines are as high as their lanes. */
static void
on_page_size (IrChartArea *self)
{
  const gboolean other_width = self->width == 0 && fabs (pane_width (self) - self->wanted) >= 8,
                 other_height = self->by_value &&
                                fabs (pane_height (self) - self->wanted_height) >= 8;

  gtk_widget_queue_draw (self->area); /* only what was in sight is drawn */
  if (self->wanted > 0 && (other_width || other_height))
    g_signal_emit (self, signals[RESIZED], 0);
}

/* -- drawing -- */

static const IrSceneBox *
boxes_of (IrChartArea *self, guint *n)
{
  *n = 0;
  return self->scene != NULL ? ir_scene_boxes (self->scene, n) : NULL;
}

/* Frames of spans are no bars, nor is what only marks one. */
static gboolean
is_bar (const IrSceneBox *box)
{
  return box->node != 0 || box->value != 0;
}

/* What bars are asked whether they stand for. */
static IrChartSelected
selected_of (IrChartArea *self)
{
  IrSession *session = session_of (self);
  const IrValueId value = self->by_value ? ir_session_get_selected_value (session) : 0;

  return (IrChartSelected){ value == 0 ? ir_session_get_selected_node (session) : 0, value };
}

/* What is not in the range is paler. */
static void
draw_range (IrChartArea *self, const IrPalette *palette, IrLayoutRect bounds, cairo_t *cr)
{
  const double right = IR_CHART_LEFT + self->drawn;
  double from = IR_CHART_LEFT + self->from * self->drawn,
         to = IR_CHART_LEFT + self->to * self->drawn;

  if (self->drag_to != self->drag_from)
    {
      from = CLAMP (MIN (self->drag_from, self->drag_to) + bounds.x, IR_CHART_LEFT, right);
      to = CLAMP (MAX (self->drag_from, self->drag_to) + bounds.x, IR_CHART_LEFT, right);
    }
  if (to <= from)
    return;
  cairo_set_source_rgba (cr, (palette->background >> 16 & 255) / 255.0,
                         (palette->background >> 8 & 255) / 255.0,
                         (palette->background & 255) / 255.0, 0.7);
  cairo_rectangle (cr, IR_CHART_LEFT, bounds.y, from - IR_CHART_LEFT, bounds.height);
  cairo_rectangle (cr, to, bounds.y, right + CHART_BEYOND - to, bounds.height);
  cairo_fill (cr);
  ir_chart_outline (
      &(IrSceneBox){
          .x = from, .y = bounds.y + 2, .width = to - from, .height = bounds.height - 4 },
      cr, palette->selection);
}

static void
draw (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  IrChartArea *self = data;
  const IrPalette *palette = ir_palette (ir_colours_wanted ());
  GtkAdjustment *across = gtk_scrolled_window_get_hadjustment (
                    GTK_SCROLLED_WINDOW (self->scroller)),
                *down = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller));
  /* A px more, as places between two are shown at the one before. */
  const GdkRectangle seen = { (int) gtk_adjustment_get_value (across),
                              (int) gtk_adjustment_get_value (down),
                              (int) gtk_adjustment_get_page_size (across) + 1,
                              (int) gtk_adjustment_get_page_size (down) + 1 };
  IrLayoutRect bounds;

  if (self->scene == NULL)
    return;
  bounds = ir_scene_bounds (self->scene);
  gdk_cairo_rectangle (cr, &seen);
  cairo_clip (cr);
  ir_chart_strip_draw (&self->strip, self->scene, palette, &seen,
                       gtk_widget_get_scale_factor (GTK_WIDGET (area)), cr);
  cairo_translate (cr, -bounds.x, -bounds.y);
  ir_chart_draw_outlines (self->scene, selected_of (self), ir_session_get_hover (session_of (self)),
                          self->related, palette, cr);
  draw_range (self, palette, bounds, cr);
}

/* -- selection -- */

static gint32
selected_bar (IrChartArea *self)
{
  const IrChartSelected selected = selected_of (self);
  guint n;
  const IrSceneBox *boxes = boxes_of (self, &n);

  if (self->chosen < (gint32) n && ir_chart_is_selected (&selected, &boxes[self->chosen]))
    return self->chosen;
  for (guint i = 0; i < n; i++)
    if (ir_chart_is_selected (&selected, &boxes[i]))
      return (gint32) i;
  return -1;
}

/* A chart has no parts for assistive technology: which bar is selected is said of all of it. */
static void
tell_selection (IrChartArea *self)
{
  const gint32 index = selected_bar (self);
  guint n;
  const char *tip = index >= 0 ? boxes_of (self, &n)[index].tip : NULL;

  gtk_accessible_update_property (GTK_ACCESSIBLE (self->area), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  tip != NULL ? tip : "", -1);
}

/* Scrolls so that the bar of what is selected is in sight. */
static void
show_selection (IrChartArea *self)
{
  GtkScrolledWindow *scroller = GTK_SCROLLED_WINDOW (self->scroller);
  const gint32 index = selected_bar (self);
  guint n;
  const IrSceneBox *box = index >= 0 ? &boxes_of (self, &n)[index] : NULL;
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
select_box (IrChartArea *self, const IrSceneBox *box)
{
  IrSession *session = session_of (self);
  guint n;

  self->chosen = box != NULL ? (gint32) (box - boxes_of (self, &n)) : 0;
  ir_session_select_node (session, box != NULL ? box->node : 0);
  if (self->by_value && box != NULL && box->value != 0)
    ir_session_select_value (session, box->value);
  tell_selection (self); /* also where another bar of the same node is selected */
}

/* The next bar in the order of the chart, or the one before it; @far: the last, or the first. */
static void
select_by (IrChartArea *self, int direction, gboolean far)
{
  guint n;
  const IrSceneBox *boxes = boxes_of (self, &n);
  const gint32 selected = far ? -1 : selected_bar (self);
  gint64 index = selected >= 0 ? selected + direction : (direction > 0) == far ? (gint64) n - 1 : 0;

  if (far)
    direction = -direction;
  while (index >= 0 && index < n && !is_bar (&boxes[index]))
    index += direction;
  if (index >= 0 && index < n)
    select_box (self, &boxes[index]);
}

/**
 * ir_chart_area_session_changed:
 * @changes: as the view heard of them
 *
 * Follows the selection and what the pointer is on.
 */
void
ir_chart_area_session_changed (IrChartArea *self, IrSessionChanges changes)
{
  if (changes & (IR_CHANGED_SELECTION | IR_CHANGED_FRAME | IR_CHANGED_HISTORY))
    ir_chart_find_related (self->ranges ? session_of (self) : NULL, self->related);
  if (changes & IR_CHANGED_SELECTION &&
      gtk_bitset_get_size (ir_session_get_selection (session_of (self))) <= 1)
    show_selection (self);
  if (changes & IR_CHANGED_SELECTION)
    tell_selection (self);
  if (changes & (IR_CHANGED_SELECTION | IR_CHANGED_HOVER))
    gtk_widget_queue_draw (self->area);
}

/* -- pointer -- */

/* Keys are the chart's also where it leaves room below itself. */
static void
on_pressed_around (IrChartArea *self)
{
  gtk_widget_grab_focus (self->area);
}

static const IrSceneBox *
box_at (IrChartArea *self, double x, double y)
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
choose_range (IrChartArea *self, double from, double to)
{
  if (self->ranges && (from != self->from || to != self->to))
    g_signal_emit (self, signals[RANGED], 0, from, to);
}

static void
on_pressed (GtkGestureClick *gesture, int n_press, double x, double y, IrChartArea *self)
{
  gtk_widget_grab_focus (self->area);
  select_box (self, box_at (self, x, y));
  if (box_at (self, x, y) == NULL)
    choose_range (self, 0, 0);
}

/* -- a range -- */

static double
part_of_axis (IrChartArea *self, double x)
{
  const double left = IR_CHART_LEFT - ir_scene_bounds (self->scene).x;

  return self->drawn > 0 ? CLAMP ((x - left) / self->drawn, 0, 1) : 0;
}

static void
on_drag_update (GtkGestureDrag *drag, double dx, double dy, IrChartArea *self)
{
  double x, y;

  if (!self->ranges || self->scene == NULL || !gtk_gesture_drag_get_start_point (drag, &x, &y))
    return;
  self->drag_from = x;
  self->drag_to = fabs (dx) >= LEAST_DRAG ? x + dx : x;
  gtk_widget_queue_draw (self->area);
}

static void
on_drag_end (GtkGestureDrag *drag, double dx, double dy, IrChartArea *self)
{
  const double from = MIN (self->drag_from, self->drag_to),
               to = MAX (self->drag_from, self->drag_to);

  self->drag_from = self->drag_to = 0;
  gtk_widget_queue_draw (self->area);
  if (self->scene != NULL && to > from)
    choose_range (self, part_of_axis (self, from), part_of_axis (self, to));
}

/* The time of the bar that is selected; of several the last, which is the measured one. */
static void
choose_bar (IrChartArea *self)
{
  const double left = self->scene != NULL ? ir_scene_bounds (self->scene).x : 0;
  const IrSceneBox *bar = NULL;
  const IrChartSelected selected = selected_of (self);
  guint n;
  const IrSceneBox *boxes = boxes_of (self, &n);

  for (guint i = 0; i < n; i++)
    if (ir_chart_is_selected (&selected, &boxes[i]) && boxes[i].key != 0)
      bar = &boxes[i];
  if (bar != NULL)
    choose_range (self, part_of_axis (self, bar->x - left),
                  part_of_axis (self, bar->x - left + bar->width));
}

/**
 * ir_chart_area_allow_ranges:
 *
 * From now on a part of the x axis can be chosen.
 */
void
ir_chart_area_allow_ranges (IrChartArea *self)
{
  self->ranges = TRUE;
}

/**
 * ir_chart_area_set_range:
 * @from: where the marked part of the x axis begins, 0 to 1
 * @to: where it ends
 *
 * Both 0: none is marked.
 */
void
ir_chart_area_set_range (IrChartArea *self, double from, double to)
{
  self->from = from;
  self->to = to;
  gtk_widget_queue_draw (self->area);
}

static void
on_motion (GtkEventControllerMotion *controller, double x, double y, IrChartArea *self)
{
  const IrSceneBox *box = box_at (self, x, y);

  self->pointer = x - gtk_adjustment_get_value (gtk_scrolled_window_get_hadjustment (
                          GTK_SCROLLED_WINDOW (self->scroller)));
  ir_session_set_hover_value (session_of (self), box != NULL ? box->node : 0,
                              box != NULL && self->by_value ? box->value : 0);
}

static void
on_leave (GtkEventControllerMotion *controller, IrChartArea *self)
{
  self->pointer = -1;
  ir_session_set_hover (session_of (self), 0);
}

static gboolean
on_query_tooltip (
    GtkWidget *area, int x, int y, gboolean keyboard, GtkTooltip *tooltip, IrChartArea *self)
{
  const IrSceneBox *box = keyboard ? NULL : box_at (self, x, y);

  if (box == NULL || box->tip == NULL)
    return FALSE;
  gtk_tooltip_set_text (tooltip, box->tip);
  return TRUE;
}

/* -- zoom -- */

static GtkAdjustment *
across (IrChartArea *self)
{
  return gtk_scrolled_window_get_hadjustment (GTK_SCROLLED_WINDOW (self->scroller));
}

/* What is below the pointer, or in the middle, stays there. */
static void
set_anchor (IrChartArea *self)
{
  self->anchor_at = self->pointer >= 0 ? self->pointer
                                       : gtk_adjustment_get_page_size (across (self)) / 2;
  self->anchor = part_of_axis (self, gtk_adjustment_get_value (across (self)) + self->anchor_at);
}

/* The chart has got its width. */
static void
keep_anchor (IrChartArea *self)
{
  const double left = self->scene != NULL ? IR_CHART_LEFT - ir_scene_bounds (self->scene).x : 0;

  if (self->scene == NULL || self->anchor < 0 || self->job != NULL ||
      gtk_adjustment_get_upper (across (self)) + 1 < ir_scene_bounds (self->scene).width)
    return;
  gtk_adjustment_set_value (across (self), left + self->anchor * self->drawn - self->anchor_at);
  self->anchor = -1;
}

static void
pan (IrChartArea *self, double part)
{
  gtk_adjustment_set_value (across (self), gtk_adjustment_get_value (across (self)) +
                                               part * gtk_adjustment_get_page_size (across (self)));
}

static void
zoom (IrChartArea *self, double factor)
{
  double width = CLAMP ((self->width > 0 ? self->width : pane_width (self)) * factor, LEAST_WIDTH,
                        MOST_WIDTH);

  if (width == self->width || self->scene == NULL)
    return;
  set_anchor (self);
  self->width = width;
  g_signal_emit (self, signals[RESIZED], 0);
}

static void
fit (IrChartArea *self)
{
  self->width = 0;
  g_signal_emit (self, signals[RESIZED], 0);
}

static gboolean
on_key (GtkEventControllerKey *controller,
        guint key,
        guint code,
        GdkModifierType state,
        IrChartArea *self)
{
  if (self->scene == NULL || state & (GDK_CONTROL_MASK | GDK_ALT_MASK))
    return FALSE;
  switch (key)
    {
    case GDK_KEY_Right:
    case GDK_KEY_Left:
      select_by (self, key == GDK_KEY_Right ? 1 : -1, FALSE);
      return TRUE;
    case GDK_KEY_Up:
    case GDK_KEY_Down:
      if (g_signal_has_handler_pending (self, signals[STEPPED], 0, FALSE))
        g_signal_emit (self, signals[STEPPED], 0, key == GDK_KEY_Down ? 1 : -1);
      else
        select_by (self, key == GDK_KEY_Down ? 1 : -1, FALSE);
      return TRUE;
    case GDK_KEY_Home:
    case GDK_KEY_End:
      select_by (self, key == GDK_KEY_End ? 1 : -1, TRUE);
      return TRUE;
    case GDK_KEY_a:
    case GDK_KEY_d:
      pan (self, key == GDK_KEY_d ? PAN_PART : -PAN_PART);
      return TRUE;
    case GDK_KEY_m:
      choose_bar (self);
      return self->ranges;
    case GDK_KEY_Escape:
      if (!self->ranges || self->to <= self->from)
        return FALSE;
      choose_range (self, 0, 0);
      return TRUE;
    case GDK_KEY_w:
    case GDK_KEY_plus:
    case GDK_KEY_equal:
    case GDK_KEY_KP_Add:
      zoom (self, ZOOM_STEP);
      return TRUE;
    case GDK_KEY_s:
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
on_scroll (GtkEventControllerScroll *controller, double dx, double dy, IrChartArea *self)
{
  GdkModifierType state = gtk_event_controller_get_current_event_state (
      GTK_EVENT_CONTROLLER (controller));

  if ((state & GDK_CONTROL_MASK) == 0)
    return FALSE;
  zoom (self, dy < 0 ? ZOOM_STEP : 1 / ZOOM_STEP);
  return TRUE;
}

static void
on_zoom_in (GtkButton *button, IrChartArea *self)
{
  zoom (self, ZOOM_STEP);
}

static void
on_zoom_out (GtkButton *button, IrChartArea *self)
{
  zoom (self, 1 / ZOOM_STEP);
}

static void
on_fit (GtkButton *button, IrChartArea *self)
{
  fit (self);
}

static GtkWidget *
icon_button (const char *icon, const char *label, GCallback callback, gpointer data)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_set_tooltip_text (button, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  -1);
  gtk_widget_add_css_class (button, "flat");
  g_signal_connect_object (button, "clicked", callback, data, 0);
  return button;
}

/**
 * ir_chart_area_new_zoom_buttons:
 *
 * Returns: (transfer floating): buttons for out, in and as wide as the pane
 */
GtkWidget *
ir_chart_area_new_zoom_buttons (IrChartArea *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  gtk_box_append (GTK_BOX (box), icon_button ("zoom-out-symbolic", "Zoom out (−)",
                                              G_CALLBACK (on_zoom_out), self));
  gtk_box_append (GTK_BOX (box),
                  icon_button ("zoom-in-symbolic", "Zoom in (+)", G_CALLBACK (on_zoom_in), self));
  gtk_box_append (GTK_BOX (box), icon_button ("zoom-fit-best-symbolic", "As wide as the pane (0)",
                                              G_CALLBACK (on_fit), self));
  return box;
}

/* -- object -- */

static gboolean
ir_chart_area_grab_focus (GtkWidget *widget)
{
  return gtk_widget_grab_focus (IR_CHART_AREA (widget)->area);
}

static void
ir_chart_area_dispose (GObject *object)
{
  IrChartArea *self = IR_CHART_AREA (object);

  g_clear_handle_id (&self->busy_timeout, g_source_remove);
  g_clear_pointer (&self->scene, ir_scene_unref);
  ir_chart_strip_clear (&self->strip);
  g_clear_pointer (&self->waiting, request_free);
  if (self->job != NULL)
    ir_job_cancel (self->job);
  g_clear_pointer (&self->job, ir_job_unref);
  g_clear_pointer (&self->related, g_hash_table_unref);
  G_OBJECT_CLASS (ir_chart_area_parent_class)->dispose (object);
}

static void
ir_chart_area_class_init (IrChartAreaClass *klass)
{
  const GType type = G_TYPE_FROM_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = ir_chart_area_dispose;
  GTK_WIDGET_CLASS (klass)->grab_focus = ir_chart_area_grab_focus;
  signals[RESIZED] = g_signal_new ("resized", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                   G_TYPE_NONE, 0);
  signals[LOADED] = g_signal_new ("loaded", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[RANGED] = g_signal_new ("ranged", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
  signals[STEPPED] = g_signal_new ("stepped", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                   G_TYPE_NONE, 1, G_TYPE_INT);
}

static void
add_controllers (IrChartArea *self)
{
  GtkGesture *click = gtk_gesture_click_new (), *drag = gtk_gesture_drag_new (),
             *around = gtk_gesture_click_new ();
  GtkEventController *motion = gtk_event_controller_motion_new (),
                     *keys = gtk_event_controller_key_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (
      GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);

  g_signal_connect (click, "pressed", G_CALLBACK (on_pressed), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (on_drag_update), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (on_drag_end), self);
  gtk_widget_add_controller (self->area, GTK_EVENT_CONTROLLER (drag));
  g_signal_connect (motion, "motion", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "leave", G_CALLBACK (on_leave), self);
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scroll), self);
  gtk_event_controller_set_propagation_phase (scroll, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller (self->area, GTK_EVENT_CONTROLLER (click));
  gtk_widget_add_controller (self->area, motion);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (self->area, keys);
  gtk_widget_add_controller (self->scroller, scroll);
  g_signal_connect_swapped (around, "pressed", G_CALLBACK (on_pressed_around), self);
  gtk_widget_add_controller (self->scroller, GTK_EVENT_CONTROLLER (around));
  gtk_widget_set_has_tooltip (self->area, TRUE);
  g_signal_connect (self->area, "query-tooltip", G_CALLBACK (on_query_tooltip), self);
}

static void
ir_chart_area_init (IrChartArea *self)
{
  GtkWidget *overlay = gtk_overlay_new ();
  GtkAdjustment *sideways, *down;

  self->pointer = self->anchor = -1;
  self->related = g_hash_table_new (NULL, NULL);
  self->area = gtk_drawing_area_new ();
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (self->area), draw, self, NULL);
  gtk_widget_set_halign (self->area, GTK_ALIGN_START);
  gtk_widget_set_valign (self->area, GTK_ALIGN_START);
  gtk_widget_set_focusable (self->area, TRUE);
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->area);
  /* The focus is on all of the chart: what is in sight is chosen by its boxes. */
  gtk_viewport_set_scroll_to_focus (
      GTK_VIEWPORT (gtk_scrolled_window_get_child (GTK_SCROLLED_WINDOW (self->scroller))), FALSE);
  sideways = across (self);
  down = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller));
  g_signal_connect_swapped (sideways, "notify::page-size", G_CALLBACK (on_page_size), self);
  g_signal_connect_swapped (down, "notify::page-size", G_CALLBACK (on_page_size), self);
  g_signal_connect_swapped (sideways, "changed", G_CALLBACK (keep_anchor), self);
  g_signal_connect_swapped (sideways, "value-changed", G_CALLBACK (gtk_widget_queue_draw),
                            self->area);
  g_signal_connect_swapped (down, "value-changed", G_CALLBACK (gtk_widget_queue_draw), self->area);
  ir_colours_watch (self->area, G_CALLBACK (gtk_widget_queue_draw));
  add_controllers (self);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_overlay_set_child (GTK_OVERLAY (overlay), self->scroller);
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), make_busy (self));
  adw_bin_set_child (ADW_BIN (self), overlay);
}

/**
 * ir_chart_area_new:
 * @label: what the chart is, for assistive technology
 * @by_value: bars are values, and are selected as such, with the node that makes them
 *
 * Returns: (transfer floating): an empty chart
 */
GtkWidget *
ir_chart_area_new (const char *label, gboolean by_value)
{
  IrChartArea *self = g_object_new (IR_TYPE_CHART_AREA, NULL);

  self->by_value = by_value;
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->area), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  -1);
  return GTK_WIDGET (self);
}
