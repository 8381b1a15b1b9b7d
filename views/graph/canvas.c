#include "config.h"

#include "views/graph/canvas.h"

#include "core/layout/scene.h"
#include "views/graph/drag.h"
#include "views/graph/paint.h"
#include "views/graph/proxy.h"
#include "views/jobs.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"

#include <adwaita.h>
#include <math.h>
#include <string.h>

#define MIN_ZOOM       0.001
#define MAX_ZOOM       4.0
#define ZOOM_STEP      1.2
#define MAX_PROXIES    200
#define SYNC_DELAY_MS  40
#define PICK_REACH     5.0 /* px around a line that still hit it */
#define DRAG_THRESHOLD 6.0
#define CAMERA_MS      220
#define FLASH_MS       1200
#define FLASH_WIDTH    14.0 /* px */
#define FIT_MARGIN     0.96
#define WHOLE_ZOOM     0.45 /* a pattern is rather shown whole, so far out */
#define MAX_SELECTED   1000 /* rings that are drawn */
#define NAMES_ZOOM     0.25 /* columns are looked at as a whole where their names can be read */
#define READABLE_ZOOM  0.65 /* a first look is not farther out than this */

struct _IrCanvas
{
  GtkWidget parent_instance;

  IrSession *session; /* referenced */
  IrFrame *frame;     /* (nullable) */
  IrNodePainter *painter;
  IrDrag *drag;           /* what is not panning */
  GskRenderNode *content; /* (nullable) cached for the camera it was made with */
  IrCamera content_camera;

  GtkAdjustment *hadjustment, *vadjustment;
  GtkScrollablePolicy hpolicy, vpolicy;
  double zoom;
  int allocated_width;
  double inset; /* px at the bottom that something floats over */
  gboolean configuring, allocating, zoom_to_tell;
  gboolean moved; /* by hand or by a flight; until then the first place follows the size */

  /* camera flight */
  AdwAnimation *animation;
  IrCamera from, target;

  /* what was chosen elsewhere is lit up for a moment */
  AdwAnimation *flashing;
  double flash; /* 1 … 0 */

  /* pointer */
  double pointer_x, pointer_y;
  double drag_x, drag_y;
  gboolean panning;
  double pinch_zoom;

  gint32 selected_box;    /* -1 = none */
  gint32 hover_box;       /* -1 = none */
  gint32 clicked_line;    /* -1 = none */
  GArray *selected_lines; /* of gint32: at the selected box or value */
  GArray *relatives;      /* of gint32: boxes of what the selected node comes from or became */
  GPtrArray *proxies;     /* of IrNodeProxy, (transfer none) */
  guint sync_timeout;
  IrCamera sync_camera; /* that the proxies were made for */
};

enum
{
  PROP_HADJUSTMENT = 1,
  PROP_VADJUSTMENT,
  PROP_HSCROLL_POLICY,
  PROP_VSCROLL_POLICY
};

enum
{
  ZOOMED,
  MOVED,
  MENU,
  VALUE_DROPPED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE_WITH_CODE (IrCanvas,
                               ir_canvas,
                               GTK_TYPE_WIDGET,
                               G_IMPLEMENT_INTERFACE (GTK_TYPE_SCROLLABLE, NULL))

static void sync_proxies (IrCanvas *self);
static void queue_sync (IrCanvas *self);

static const IrScene *
scene (IrCanvas *self)
{
  return self->frame != NULL ? self->frame->scene : NULL;
}

static const IrSceneBox *
box_at (IrCanvas *self, gint32 index)
{
  guint n;
  const IrSceneBox *boxes = scene (self) != NULL ? ir_scene_boxes (scene (self), &n) : NULL;

  return boxes != NULL && index >= 0 && (guint) index < n ? &boxes[index] : NULL;
}

/* -- for what is dragged and built -- */

IrSession *
ir_canvas_get_session (IrCanvas *self)
{
  return self->session;
}

const IrFrame *
ir_canvas_get_frame (IrCanvas *self)
{
  return self->frame;
}

gint32
ir_canvas_hover_box (IrCanvas *self)
{
  return self->hover_box;
}

gint32
ir_canvas_clicked_line (IrCanvas *self)
{
  return self->clicked_line;
}

/* -- camera -- */

static IrCamera
camera (IrCanvas *self)
{
  return (IrCamera){
    .zoom = self->zoom,
    .x = self->hadjustment != NULL ? gtk_adjustment_get_value (self->hadjustment) : 0,
    .y = self->vadjustment != NULL ? gtk_adjustment_get_value (self->vadjustment) : 0,
    .width = gtk_widget_get_width (GTK_WIDGET (self)),
    .height = gtk_widget_get_height (GTK_WIDGET (self)),
  };
}

IrCamera
ir_canvas_get_camera (IrCanvas *self)
{
  return camera (self);
}

/* Not while it is being allocated: that would be forgotten, and the canvas drawn without a place. */
static void
queue_allocate (IrCanvas *self)
{
  if (!self->allocating)
    gtk_widget_queue_allocate (GTK_WIDGET (self));
}

/* Half a viewport of free space around the picture, so that every box can be brought to the middle.
 */
static void
configure (IrCanvas *self, double x, double y)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self));
  const double height = gtk_widget_get_height (GTK_WIDGET (self));
  const IrLayoutRect bounds = scene (self) != NULL ? ir_scene_bounds (scene (self))
                                                   : (IrLayoutRect){ 0 };

  if (self->hadjustment == NULL || self->vadjustment == NULL || width <= 0 || height <= 0)
    return;
  self->configuring = TRUE;
  gtk_adjustment_configure (self->hadjustment, x, bounds.x * self->zoom - width / 2,
                            (bounds.x + bounds.width) * self->zoom + width / 2, 24, width * 0.9,
                            width);
  gtk_adjustment_configure (self->vadjustment, y, bounds.y * self->zoom - height / 2,
                            (bounds.y + bounds.height) * self->zoom + height / 2, 24, height * 0.9,
                            height);
  self->configuring = FALSE;
  queue_allocate (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
set_camera (IrCanvas *self, double zoom, double x, double y)
{
  const gboolean zoomed = zoom != self->zoom;

  self->zoom = CLAMP (zoom, MIN_ZOOM, MAX_ZOOM);
  configure (self, x, y);
  if (zoomed && self->allocating)
    self->zoom_to_tell = TRUE; /* the answer would change sizes while they are given */
  else if (zoomed)
    g_signal_emit (self, signals[ZOOMED], 0);
}

/* Zooms so that what is at (@x, @y) of the widget stays there. */
static void
zoom_at (IrCanvas *self, double zoom, double x, double y)
{
  const IrCamera old = camera (self);
  double ratio;

  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  self->moved = TRUE;
  zoom = CLAMP (zoom, MIN_ZOOM, MAX_ZOOM);
  ratio = zoom / old.zoom;
  set_camera (self, zoom, (old.x + x) * ratio - x, (old.y + y) * ratio - y);
}

static void
on_flight (double t, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const double zoom = self->from.zoom + (self->target.zoom - self->from.zoom) * t;
  /* the middle in world units moves evenly */
  const double fx = (self->from.x + self->from.width / 2) / self->from.zoom;
  const double fy = (self->from.y + self->from.height / 2) / self->from.zoom;
  const double tx = (self->target.x + self->target.width / 2) / self->target.zoom;
  const double ty = (self->target.y + self->target.height / 2) / self->target.zoom;

  set_camera (self, zoom, (fx + (tx - fx) * t) * zoom - self->target.width / 2,
              (fy + (ty - fy) * t) * zoom - self->target.height / 2);
}

static void
fly_to (IrCanvas *self, double zoom, double x, double y)
{
  if (self->animation == NULL)
    {
      AdwAnimationTarget *target = adw_callback_animation_target_new (on_flight, self, NULL);

      self->animation = adw_timed_animation_new (GTK_WIDGET (self), 0, 1, CAMERA_MS, target);
    }
  adw_animation_pause (self->animation);
  self->moved = TRUE;
  self->from = camera (self);
  self->target = self->from;
  self->target.zoom = CLAMP (zoom, MIN_ZOOM, MAX_ZOOM);
  self->target.x = x;
  self->target.y = y;
  if (!gtk_widget_get_mapped (GTK_WIDGET (self)))
    {
      set_camera (self, self->target.zoom, x, y);
      return;
    }
  adw_animation_reset (self->animation);
  adw_animation_play (self->animation);
}

/* px that nothing floats over */
static double
free_height (IrCanvas *self)
{
  const double height = gtk_widget_get_height (GTK_WIDGET (self));

  return MAX (height - self->inset, height / 2);
}

static void
fly_to_rect (IrCanvas *self, const IrLayoutRect *rect, double zoom)
{
  const IrCamera now = camera (self);

  fly_to (self, zoom, (rect->x + rect->width / 2) * zoom - now.width / 2,
          (rect->y + rect->height / 2) * zoom - free_height (self) / 2);
}

const IrScene *
ir_canvas_get_scene (IrCanvas *self)
{
  return scene (self);
}

IrLayoutRect
ir_canvas_get_sight (IrCanvas *self)
{
  const IrCamera now = camera (self);

  return ir_camera_world (&now);
}

void
ir_canvas_centre (IrCanvas *self, double x, double y)
{
  const IrCamera now = camera (self);

  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  self->moved = TRUE;
  set_camera (self, now.zoom, x * now.zoom - now.width / 2,
              y * now.zoom - free_height (self) / 2);
}

double
ir_canvas_get_zoom (IrCanvas *self)
{
  return self->zoom;
}

void
ir_canvas_zoom_by (IrCanvas *self, double factor)
{
  zoom_at (self, self->zoom * factor, gtk_widget_get_width (GTK_WIDGET (self)) / 2.0,
           gtk_widget_get_height (GTK_WIDGET (self)) / 2.0);
}

void
ir_canvas_zoom_to (IrCanvas *self, double zoom)
{
  ir_canvas_zoom_by (self, zoom / self->zoom);
}

void
ir_canvas_set_inset (IrCanvas *self, double px)
{
  self->inset = px;
}

static double
fit_zoom (IrCanvas *self, const IrLayoutRect *bounds)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self));
  const double height = free_height (self);

  return MIN (FIT_MARGIN * MIN (width / MAX (bounds->width, 1), height / MAX (bounds->height, 1)),
              1.0);
}

/* Shows all of the graph, at most at its natural size */
void
ir_canvas_fit (IrCanvas *self)
{
  IrLayoutRect bounds;

  if (scene (self) == NULL)
    return;
  bounds = ir_scene_bounds (scene (self));
  fly_to_rect (self, &bounds, fit_zoom (self, &bounds));
}

#define MAX_FIRST 400 /* boxes at the beginning that are looked at */

/* Of what lies above @bottom, the place where a view of this @width shows the most boxes whole: of
 * the places that begin with a box. Returns the middle of those boxes. */
static double
crowded_middle (IrCanvas *self, double bottom, double width)
{
  guint n, n_best = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene (self), &n);
  g_autoptr (GPtrArray) first = g_ptr_array_new ();
  const IrLayoutRect bounds = ir_scene_bounds (scene (self));
  double middle = bounds.x + bounds.width / 2;

  for (guint i = 0; i < n && first->len < MAX_FIRST; i++)
    if (boxes[i].kind != IR_SCENE_CLUSTER && boxes[i].y + boxes[i].height <= bottom)
      g_ptr_array_add (first, (gpointer) &boxes[i]);
  for (guint i = 0; i < first->len; i++)
    {
      const double left = ((const IrSceneBox *) first->pdata[i])->x;
      double right = left;
      guint n_inside = 0;

      for (guint k = 0; k < first->len; k++)
        {
          const IrSceneBox *box = first->pdata[k];
          const gboolean is_inside = box->x >= left && box->x + box->width <= left + width;

          n_inside += is_inside;
          right = is_inside ? MAX (right, box->x + box->width) : right;
        }
      if (n_inside > n_best)
        {
          n_best = n_inside;
          middle = (left + right) / 2;
        }
    }
  return middle;
}

/* The first look at a graph: all of it where that is readable, else its beginning. */
static void
place_first (IrCanvas *self)
{
  const IrLayoutRect bounds = ir_scene_bounds (scene (self));
  const double width = gtk_widget_get_width (GTK_WIDGET (self));
  const double height = free_height (self);
  const double fit = fit_zoom (self, &bounds);
  const double across = FIT_MARGIN * width / MAX (bounds.width, 1);

  if (width <= 1 || height <= 1)
    return;
  if (fit >= (ir_scene_is_wrapped (scene (self)) ? NAMES_ZOOM : READABLE_ZOOM))
    set_camera (self, fit, (bounds.x + bounds.width / 2) * fit - width / 2,
                (bounds.y + bounds.height / 2) * fit - height / 2);
  else
    {
      const double zoom = CLAMP (across, READABLE_ZOOM, 1.0);
      const double x = ir_scene_is_wrapped (scene (self))
                           ? bounds.x + width / zoom / 2
                           : crowded_middle (self, bounds.y + height / zoom, width / zoom - 16);

      set_camera (self, zoom, x * zoom - width / 2, bounds.y * zoom - 8);
    }
}

/* Where the camera is, or where it is flying to. */
static IrCamera
resting_camera (IrCanvas *self)
{
  if (self->animation != NULL && adw_animation_get_state (self->animation) == ADW_ANIMATION_PLAYING)
    return self->target;
  return camera (self);
}

static gboolean
rect_in_sight (IrCanvas *self, const IrLayoutRect *rect, double margin)
{
  const IrCamera now = resting_camera (self);
  const double x = rect->x * now.zoom - now.x, y = rect->y * now.zoom - now.y;

  return x >= margin && y >= margin && x + rect->width * now.zoom <= now.width - margin &&
         y + rect->height * now.zoom <= free_height (self) - margin;
}

void
ir_canvas_show_box (IrCanvas *self, gint32 index)
{
  const IrSceneBox *box = box_at (self, index);
  IrLayoutRect rect;

  if (box == NULL)
    return;
  rect = (IrLayoutRect){ box->x, box->y, box->width, box->height };
  if (box->kind == IR_SCENE_CLUSTER) /* its title: all of it may be larger than the window */
    rect = (IrLayoutRect){ box->x, box->y, MIN (box->width, 160), box->header };
  if (!rect_in_sight (self, &rect, 8))
    fly_to_rect (self, &rect, MAX (resting_camera (self).zoom, READABLE_ZOOM));
}

/* The selected box in the middle, so that what floats at the edges does not hide it. */
void
ir_canvas_centre_selected (IrCanvas *self)
{
  const IrSceneBox *box = box_at (self, self->selected_box);
  IrLayoutRect rect;

  if (box == NULL)
    return;
  rect = (IrLayoutRect){ box->x, box->y, box->width, box->height };
  fly_to_rect (self, &rect, MAX (resting_camera (self).zoom, READABLE_ZOOM));
}

static void
on_flash (double value, gpointer user_data)
{
  IR_CANVAS (user_data)->flash = value;
  gtk_widget_queue_draw (GTK_WIDGET (user_data));
}

/* The ring of the selected box shrinks to its size, where motion is wanted. */
void
ir_canvas_flash (IrCanvas *self)
{
  if (self->flashing == NULL)
    self->flashing = adw_timed_animation_new (
        GTK_WIDGET (self), 1, 0, FLASH_MS,
        adw_callback_animation_target_new (on_flash, self, NULL));
  adw_animation_reset (self->flashing);
  adw_animation_play (self->flashing);
}

/* Flies to all selected nodes, unless they are in sight; as far out as that takes. */
void
ir_canvas_show_selection (IrCanvas *self)
{
  GtkBitsetIter iter;
  guint node, n = 0;
  double x0 = G_MAXDOUBLE, y0 = G_MAXDOUBLE, x1 = -G_MAXDOUBLE, y1 = -G_MAXDOUBLE;
  const IrCamera now = resting_camera (self);
  IrLayoutRect rect;

  if (scene (self) == NULL)
    return;
  for (gboolean more =
           gtk_bitset_iter_init_first (&iter, ir_session_get_selection (self->session), &node);
       more && n < MAX_SELECTED; more = gtk_bitset_iter_next (&iter, &node), n++)
    {
      const IrSceneBox *box = box_at (self, ir_frame_find_box (self->frame, node));

      if (box == NULL)
        continue;
      x0 = MIN (x0, box->x);
      y0 = MIN (y0, box->y);
      x1 = MAX (x1, box->x + box->width);
      y1 = MAX (y1, box->y + box->height);
    }
  rect = (IrLayoutRect){ x0, y0, x1 - x0, y1 - y0 };
  if (x1 < x0 || rect_in_sight (self, &rect, 8))
    return;
  fly_to_rect (self, &rect,
               MIN (MAX (now.zoom, READABLE_ZOOM), 0.9 * MIN (now.width / MAX (rect.width, 1),
                                                              now.height / MAX (rect.height, 1))));
}

static gboolean
changes_rect (IrCanvas *self, IrLayoutRect *rect)
{
  guint n = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene (self), &n);
  double x1 = -G_MAXDOUBLE, y1 = -G_MAXDOUBLE;
  gboolean any = FALSE;

  rect->x = rect->y = G_MAXDOUBLE;
  for (guint i = 0; i < n; i++)
    {
      if (boxes[i].state == IR_SCENE_SAME || boxes[i].kind == IR_SCENE_CLUSTER)
        continue;
      any = TRUE;
      rect->x = MIN (rect->x, boxes[i].x);
      rect->y = MIN (rect->y, boxes[i].y);
      x1 = MAX (x1, boxes[i].x + boxes[i].width);
      y1 = MAX (y1, boxes[i].y + boxes[i].height);
    }
  rect->width = x1 - rect->x;
  rect->height = y1 - rect->y;
  return any;
}

/* The box that says most about a change: a new one, else one that went, else one that changed. */
static const IrSceneBox *
telling_box (IrCanvas *self)
{
  static const IrSceneState order[] = { IR_SCENE_NEW,    IR_SCENE_REMOVED, IR_SCENE_CHANGED,
                                        IR_SCENE_MISFIT, IR_SCENE_MISSING, IR_SCENE_MATCHED };
  guint n = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene (self), &n);

  for (guint s = 0; s < G_N_ELEMENTS (order); s++)
    for (guint i = 0; i < n; i++)
      if (boxes[i].state == order[s] && boxes[i].kind != IR_SCENE_CLUSTER)
        return &boxes[i];
  return NULL;
}

/* Flies to what the frame's diff changed, unless that is in sight */
void
ir_canvas_show_changes (IrCanvas *self)
{
  const IrCamera now = resting_camera (self);
  IrLayoutRect rect;
  double zoom, least = READABLE_ZOOM;

  if (scene (self) == NULL || !changes_rect (self, &rect) || rect_in_sight (self, &rect, 60))
    return;
  zoom = MIN (now.zoom,
              0.8 * MIN (now.width / MAX (rect.width, 1), now.height / MAX (rect.height, 1)));
  if (self->frame->marks != NULL)
    least = WHOLE_ZOOM;
  if (zoom < least && zoom < now.zoom)
    {
      const IrSceneBox *box = telling_box (self); /* too far apart to be read at once */

      rect = (IrLayoutRect){ box->x, box->y, box->width, box->height };
      zoom = CLAMP (now.zoom, READABLE_ZOOM, 1.0);
      if (rect_in_sight (self, &rect, 60))
        return;
    }
  fly_to_rect (self, &rect, zoom);
}

/* -- selection -- */

gint32
ir_canvas_selected_box (IrCanvas *self)
{
  return self->selected_box;
}

static void
collect_selected_lines (IrCanvas *self)
{
  const IrValueId value = ir_session_get_selected_value (self->session);
  guint n;
  const IrSceneLine *lines = ir_scene_lines (scene (self), &n);

  g_array_set_size (self->selected_lines, 0);
  for (guint i = 0; i < n; i++)
    {
      const gint32 index = (gint32) i;
      const gboolean of_value = value != 0 &&
                                (ir_frame_line_value (self->frame, &lines[i]) == value ||
                                 (!self->frame->foreign && lines[i].before == value));
      const gboolean of_box = value == 0 && self->selected_box >= 0 &&
                              self->frame->marks == NULL && /* lines tell of the pattern then */
                              (lines[i].from == self->selected_box ||
                               lines[i].to == self->selected_box);

      if (of_value || of_box)
        g_array_append_val (self->selected_lines, index);
    }
}

static gint32
box_of_node (IrCanvas *self, IrNodeId node)
{
  return node != 0 ? ir_frame_find_box (self->frame, node) : -1;
}

static gint32
box_of_fold (IrCanvas *self, const IrFrame *frame, const char *fold)
{
  guint n = 0;
  const IrSceneBox *boxes = frame != NULL && frame->scene != NULL && fold != NULL
                                ? ir_scene_boxes (frame->scene, &n)
                                : NULL;

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && strcmp (boxes[i].fold, fold) == 0)
      return (gint32) i;
  return -1;
}

/* A node that is written in the box of its consumer is shown by that. */
static gint32
box_of_consumer (IrCanvas *self, const IrNode *node, guint depth)
{
  for (guint i = 0; node != NULL && i < node->n_outputs; i++)
    for (guint k = 0; node->outputs[i] != NULL && k < node->outputs[i]->n_uses; k++)
      {
        const IrNode *user = ir_value_use (node->outputs[i], k).node;
        gint32 box = user != NULL ? box_of_node (self, user->id) : -1;

        if (box < 0 && user != NULL && depth < 8)
          box = box_of_consumer (self, user, depth + 1);
        if (box >= 0)
          return box;
      }
  return -1;
}

static void
add_relatives (IrCanvas *self, GArray *ids)
{
  for (guint i = 0; i < MIN (ids->len, MAX_SELECTED); i++)
    {
      const IrNodeId id = g_array_index (ids, IrNodeId, i);
      const gint32 box = box_of_node (self, id);

      if (box >= 0 && box != self->selected_box)
        g_array_append_val (self->relatives, box);
    }
}

/* Both ways of the lineage, as far as it is on screen. */
static void
collect_relatives (IrCanvas *self)
{
  const IrNodeId node = ir_session_get_selected_node (self->session);
  g_autoptr (GArray) origins = NULL, descendants = NULL;

  g_array_set_size (self->relatives, 0);
  if (node == 0 || self->frame->foreign || self->frame->from == self->frame->to)
    return;
  origins = ir_session_origins (self->session, node);
  descendants = ir_session_descendants (self->session, node, self->frame->to);
  add_relatives (self, origins);
  add_relatives (self, descendants);
}

/* Follows the session's selection */
void
ir_canvas_selection_changed (IrCanvas *self)
{
  if (scene (self) == NULL)
    return;
  self->selected_box = box_of_node (self, ir_session_get_selected_node (self->session));
  if (self->selected_box < 0)
    self->selected_box = box_of_fold (self, self->frame,
                                      ir_session_get_selected_fold (self->session));
  if (self->selected_box < 0)
    self->selected_box = box_of_consumer (
        self, ir_frame_node (self->frame, ir_session_get_selected_node (self->session)), 0);
  collect_selected_lines (self);
  collect_relatives (self);
  queue_sync (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
select_box (IrCanvas *self, gint32 index, gboolean toggle)
{
  const IrSceneBox *box = box_at (self, index);
  const IrNodeId node = box != NULL ? ir_frame_box_node (self->frame, box) : 0;

  if (toggle && node != 0)
    ir_session_toggle_node (self->session, node);
  else if (box != NULL && node == 0 && box->fold != NULL)
    {
      ir_session_select_fold (self->session, box->fold);
      self->selected_box = index;
    }
  else
    {
      ir_session_select_node (self->session, node);
      if (box != NULL && node == 0 && box->value != 0)
        {
          ir_session_select_value (self->session, box->value);
          self->selected_box = index;
        }
    }
}

static void
focus_selected (IrCanvas *self)
{
  sync_proxies (self);
  for (guint i = 0; i < self->proxies->len; i++)
    if (ir_node_proxy_get_box (self->proxies->pdata[i]) == self->selected_box)
      {
        gtk_widget_grab_focus (self->proxies->pdata[i]);
        return;
      }
}

static void
go_to_box (IrCanvas *self, gint32 index)
{
  if (box_at (self, index) == NULL)
    return;
  select_box (self, index, FALSE);
  self->selected_box = index;
  ir_canvas_show_box (self, index);
  focus_selected (self);
}

/* The first box at the other end of a line of @index; down the lines or up. */
static gint32
neighbour_along_lines (IrCanvas *self, gint32 index, gboolean down)
{
  guint n;
  const IrSceneLine *lines = ir_scene_lines (scene (self), &n);

  for (guint i = 0; i < n; i++)
    {
      if (down && lines[i].from == index && lines[i].to >= 0)
        return lines[i].to;
      if (!down && lines[i].to == index && lines[i].from >= 0)
        return lines[i].from;
    }
  return -1;
}

/* The nearest box beside @index that shares a part of its height. */
static gint32
neighbour_beside (IrCanvas *self, gint32 index, gboolean right)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene (self), &n);
  const IrSceneBox *me = &boxes[index];
  double best = G_MAXDOUBLE;
  gint32 found = -1;

  for (guint i = 0; i < n; i++)
    {
      const double distance = right ? boxes[i].x - (me->x + me->width)
                                    : me->x - (boxes[i].x + boxes[i].width);

      if (boxes[i].kind == IR_SCENE_CLUSTER || distance < 0 || distance >= best ||
          boxes[i].y > me->y + me->height || boxes[i].y + boxes[i].height < me->y)
        continue;
      best = distance;
      found = (gint32) i;
    }
  return found;
}

static gint32
first_box_in_sight (IrCanvas *self)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene (self), &n);

  for (guint i = 0; i < n; i++)
    {
      const IrLayoutRect rect = { boxes[i].x, boxes[i].y, boxes[i].width, boxes[i].height };

      if (boxes[i].kind != IR_SCENE_CLUSTER && rect_in_sight (self, &rect, 0))
        return (gint32) i;
    }
  return n > 0 ? 0 : -1;
}

static void
activate_selected (IrCanvas *self)
{
  const IrSceneBox *box = box_at (self, self->selected_box);
  const IrNode *node;
  IrValue *value;
  IrNodeId id;

  if (box == NULL)
    return;
  if ((box->kind == IR_SCENE_FOLD || box->kind == IR_SCENE_CLUSTER) && box->fold != NULL)
    {
      ir_session_toggle_fold (self->session, box->fold);
      return;
    }
  id = ir_frame_box_node (self->frame, box);
  node = ir_frame_node (self->frame, id);
  value = node != NULL ? ir_node_output (node, 0) : NULL;
  if (value != NULL || box->value != 0)
    {
      ir_session_select_value (self->session,
                               value != NULL ? value->id | (id & IR_OTHER_SIDE) : box->value);
      ir_session_show_view (self->session, "tensor");
    }
}

/* -- keys -- */

/* Keys that move the cursor, before the scrolled window takes them for scrolling. */
static gboolean
move_cursor (IrCanvas *self, guint keyval, GdkModifierType state)
{
  const gboolean control = (state & GDK_CONTROL_MASK) != 0;

  if (state & (GDK_SHIFT_MASK | GDK_ALT_MASK))
    return FALSE;
  if (keyval == GDK_KEY_Left || keyval == GDK_KEY_Right)
    {
      const int by = keyval == GDK_KEY_Right ? 1 : -1;

      if (control)
        ir_session_pass_by (self->session, by);
      else
        ir_session_step_by (self->session, by);
      return TRUE;
    }
  if (!control && (keyval == GDK_KEY_Home || keyval == GDK_KEY_End))
    {
      ir_session_goto (self->session, keyval == GDK_KEY_Home ? 0 : G_MAXUINT);
      return TRUE;
    }
  return FALSE;
}

static gboolean
on_key (GtkEventControllerKey *controller,
        guint keyval,
        guint keycode,
        GdkModifierType state,
        gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const gboolean plain = (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) == 0;
  const gboolean shift = (state & GDK_SHIFT_MASK) != 0;
  gint32 next = -1;

  if (move_cursor (self, keyval, state))
    return GDK_EVENT_STOP;
  if (scene (self) == NULL || !plain)
    return GDK_EVENT_PROPAGATE;
  if (keyval == GDK_KEY_Return || keyval == GDK_KEY_KP_Enter)
    activate_selected (self);
  else if (keyval == GDK_KEY_plus || keyval == GDK_KEY_KP_Add)
    ir_canvas_zoom_by (self, ZOOM_STEP);
  else if (keyval == GDK_KEY_minus || keyval == GDK_KEY_KP_Subtract)
    ir_canvas_zoom_by (self, 1 / ZOOM_STEP);
  else if (keyval == GDK_KEY_Up || keyval == GDK_KEY_Down ||
           (shift && (keyval == GDK_KEY_Left || keyval == GDK_KEY_Right)))
    {
      if (self->selected_box < 0)
        next = first_box_in_sight (self);
      else if (keyval == GDK_KEY_Up || keyval == GDK_KEY_Down)
        next = neighbour_along_lines (self, self->selected_box, keyval == GDK_KEY_Down);
      else
        next = neighbour_beside (self, self->selected_box, keyval == GDK_KEY_Right);
      go_to_box (self, next);
    }
  else if (keyval == GDK_KEY_Menu || (shift && keyval == GDK_KEY_F10))
    {
      const IrSceneBox *box = box_at (self, self->selected_box);
      const IrCamera now = camera (self);

      if (box != NULL)
        g_signal_emit (self, signals[MENU], 0, (box->x + box->width / 2) * now.zoom - now.x,
                       (box->y + box->height) * now.zoom - now.y);
    }
  else
    return GDK_EVENT_PROPAGATE;
  return GDK_EVENT_STOP;
}

/* -- pointer -- */

static IrSceneHit
pick (IrCanvas *self, double x, double y)
{
  const IrCamera now = camera (self);

  if (scene (self) == NULL)
    return (IrSceneHit){ -1, -1 };
  return ir_scene_pick (scene (self), (x + now.x) / now.zoom, (y + now.y) / now.zoom,
                        PICK_REACH / now.zoom);
}

IrSceneHit
ir_canvas_pick (IrCanvas *self, double x, double y)
{
  return pick (self, x, y);
}

static void
set_hover (IrCanvas *self, gint32 index)
{
  const IrSceneBox *box = box_at (self, index);

  if (box != NULL && box->kind == IR_SCENE_CLUSTER)
    {
      index = -1;
      box = NULL;
    }
  if (self->hover_box == index)
    return;
  self->hover_box = index;
  ir_session_set_hover (self->session, box != NULL ? box->node : 0);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
on_motion (GtkEventControllerMotion *controller, double x, double y, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);

  self->pointer_x = x;
  self->pointer_y = y;
  if (!self->panning)
    set_hover (self, pick (self, x, y).box);
}

static void
on_leave (GtkEventControllerMotion *controller, gpointer user_data)
{
  set_hover (IR_CANVAS (user_data), -1);
}

static gboolean
on_scroll (GtkEventControllerScroll *controller, double dx, double dy, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const GdkModifierType state = gtk_event_controller_get_current_event_state (
      GTK_EVENT_CONTROLLER (controller));

  if ((state & GDK_CONTROL_MASK) == 0)
    return GDK_EVENT_PROPAGATE;
  zoom_at (self, self->zoom * pow (ZOOM_STEP, -dy), self->pointer_x, self->pointer_y);
  return GDK_EVENT_STOP;
}

static void
on_pinch_begin (GtkGesture *gesture, GdkEventSequence *sequence, gpointer user_data)
{
  IR_CANVAS (user_data)->pinch_zoom = IR_CANVAS (user_data)->zoom;
}

static void
on_pinch (GtkGestureZoom *gesture, double scale, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  double x, y;

  if (!gtk_gesture_get_bounding_box_center (GTK_GESTURE (gesture), &x, &y))
    return;
  zoom_at (self, self->pinch_zoom * scale, x, y);
}

static void
on_drag_begin (GtkGestureDrag *gesture, double x, double y, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const IrCamera now = camera (self);

  self->drag_x = now.x;
  self->drag_y = now.y;
  self->panning = FALSE;
  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  gtk_widget_grab_focus (GTK_WIDGET (self));
}

static void
on_drag_update (GtkGestureDrag *gesture, double dx, double dy, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);

  if (!self->panning && hypot (dx, dy) < DRAG_THRESHOLD)
    return;
  if (!self->panning)
    {
      self->panning = TRUE;
      gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
      gtk_widget_set_cursor_from_name (GTK_WIDGET (self), "grabbing");
    }
  gtk_adjustment_set_value (self->hadjustment, self->drag_x - dx);
  gtk_adjustment_set_value (self->vadjustment, self->drag_y - dy);
}

/* px on screen: the mark before the title of a group */
#define CHEVRON 26.0

/* Whether the mark that opens and closes is there. */
static gboolean
is_chevron (IrCanvas *self, const IrSceneBox *box, double x, double y)
{
  const IrCamera now = camera (self);
  graphene_rect_t r;

  if (box == NULL || box->fold == NULL || now.zoom < 0.45)
    return FALSE;
  r = ir_camera_rect (&now, box);
  return x < r.origin.x + CHEVRON * now.zoom && y < r.origin.y + box->header * now.zoom;
}

/* Whether it is the title of an open group, not what lies in it. */
static gboolean
is_title (IrCanvas *self, const IrSceneBox *box, double y)
{
  const IrCamera now = camera (self);
  const graphene_rect_t r = ir_camera_rect (&now, box);

  return box->kind == IR_SCENE_CLUSTER && box->fold != NULL &&
         y < r.origin.y + box->header * now.zoom;
}

static void
click (IrCanvas *self, double x, double y, gboolean toggle)
{
  const IrSceneHit hit = pick (self, x, y);
  guint n;

  self->clicked_line = hit.box < 0 || box_at (self, hit.box)->kind == IR_SCENE_CLUSTER ? hit.line
                                                                                       : -1;
  if (!toggle && is_chevron (self, box_at (self, hit.box), x, y))
    ir_session_toggle_fold (self->session, box_at (self, hit.box)->fold);
  else if (hit.box >= 0 && is_title (self, box_at (self, hit.box), y))
    select_box (self, hit.box, toggle);
  else if (hit.box >= 0 &&
           (box_at (self, hit.box)->kind != IR_SCENE_CLUSTER ||
            (hit.line < 0 && ir_frame_box_node (self->frame, box_at (self, hit.box)) != 0)))
    select_box (self, hit.box, toggle);
  else if (hit.line >= 0)
    {
      const IrSceneLine *line = &ir_scene_lines (scene (self), &n)[hit.line];

      ir_session_select_node (self->session, 0);
      ir_session_select_value (self->session, ir_frame_line_value (self->frame, line));
    }
  else if (!toggle)
    ir_session_select_node (self->session, 0);
}

static void
on_drag_end (GtkGestureDrag *gesture, double dx, double dy, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const GdkModifierType state = gtk_event_controller_get_current_event_state (
      GTK_EVENT_CONTROLLER (gesture));
  double x, y;

  gtk_widget_set_cursor (GTK_WIDGET (self), NULL);
  if (self->panning)
    {
      self->panning = FALSE;
      return;
    }
  if (ir_drag_is_going_on (self->drag) || !gtk_gesture_drag_get_start_point (gesture, &x, &y))
    return; /* it was no click, but something that is dragged */
  if (gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture)) == GDK_BUTTON_PRIMARY)
    click (self, x, y, (state & (GDK_CONTROL_MASK | GDK_SHIFT_MASK)) != 0);
}

static void
on_double_click (GtkGestureClick *gesture, int n_press, double x, double y, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const gint32 index = n_press == 2 ? pick (self, x, y).box : -1;
  const IrSceneBox *box = box_at (self, index);

  if (box == NULL)
    return;
  if (box->fold != NULL)
    ir_session_toggle_fold (self->session, box->fold);
  else if (box->kind != IR_SCENE_CLUSTER)
    {
      select_box (self, index, FALSE);
      self->selected_box = index;
      activate_selected (self);
    }
}

static void
on_menu_click (GtkGestureClick *gesture, int n_press, double x, double y, gpointer user_data)
{
  IrCanvas *self = IR_CANVAS (user_data);
  const gint32 index = pick (self, x, y).box;
  const IrSceneBox *box = box_at (self, index);
  const IrNodeId node = box != NULL ? ir_frame_box_node (self->frame, box) : 0;

  gtk_widget_grab_focus (GTK_WIDGET (self));
  /* What is meant, not what was selected before. */
  if (box != NULL && box->kind == IR_SCENE_CLUSTER && is_title (self, box, y))
    select_box (self, index, FALSE);
  else if (node == 0 || !gtk_bitset_contains (ir_session_get_selection (self->session), node))
    click (self, x, y, FALSE);
  g_signal_emit (self, signals[MENU], 0, x, y);
}

static gboolean
ir_canvas_query_tooltip (GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  IrCanvas *self = IR_CANVAS (widget);
  const IrSceneHit hit = keyboard ? (IrSceneHit){ self->selected_box, -1 } : pick (self, x, y);
  const IrSceneBox *box = box_at (self, hit.box);
  const IrCamera now = camera (self);
  const char *tip = NULL;
  guint n;

  if (box != NULL && box->kind != IR_SCENE_CLUSTER)
    {
      const graphene_rect_t r = ir_camera_rect (&now, box);

      tip = box->tip;
      gtk_tooltip_set_tip_area (tooltip,
                                &(GdkRectangle){ (int) r.origin.x, (int) r.origin.y,
                                                 (int) r.size.width, (int) r.size.height });
    }
  else if (hit.line >= 0)
    tip = ir_scene_lines (scene (self), &n)[hit.line].tip;
  if (tip == NULL)
    return FALSE;
  gtk_tooltip_set_text (tooltip, tip);
  return TRUE;
}

/* -- proxies -- */

static char *
box_label (IrCanvas *self, const IrSceneBox *box)
{
  const IrNode *node = ir_frame_node (self->frame, ir_frame_box_node (self->frame, box));
  GString *label = g_string_new (NULL);

  if (box->kind == IR_SCENE_NODE && node != NULL)
    g_string_append_printf (label, "%s %s", node->op_type, node->name);
  else if (box->tip != NULL)
    g_string_append_len (label, box->tip, (gssize) strcspn (box->tip, "\n"));
  if (box->state != IR_SCENE_SAME && strstr (label->str, ir_scene_state_name (box->state)) == NULL)
    g_string_append_printf (label, ", %s", ir_scene_state_name (box->state));
  if (box->problem > 0)
    g_string_append (label, ", has problems");
  return g_string_free (g_steal_pointer (&label), FALSE);
}

static void
collect_boxes (IrSceneHit hit, gpointer data)
{
  if (hit.box >= 0)
    g_array_append_val ((GArray *) data, hit.box);
}

static GtkWidget *
find_proxy (IrCanvas *self, GPtrArray *old, guint64 key)
{
  for (guint i = 0; i < old->len; i++)
    if (old->pdata[i] != NULL && ir_node_proxy_get_key (old->pdata[i]) == key)
      {
        GtkWidget *proxy = old->pdata[i];

        old->pdata[i] = NULL;
        return proxy;
      }
  return NULL;
}

static void
allocate_proxy (IrCanvas *self, GtkWidget *proxy, const IrSceneBox *box)
{
  const IrCamera now = camera (self);
  const graphene_rect_t r = ir_camera_rect (&now, box);
  GskTransform *transform = gsk_transform_translate (NULL,
                                                     &GRAPHENE_POINT_INIT (r.origin.x, r.origin.y));

  gtk_widget_measure (proxy, GTK_ORIENTATION_HORIZONTAL, -1, NULL, NULL, NULL, NULL);
  gtk_widget_allocate (proxy, MAX ((int) r.size.width, 1), MAX ((int) r.size.height, 1), -1,
                       transform);
}

/* One proxy per box in sight, bound to the box's key as long as it is in sight. Not while sizes are
 * given: children that come and go would ask for another round. */
static void
sync_proxies (IrCanvas *self)
{
  g_autoptr (GPtrArray) old = g_steal_pointer (&self->proxies);
  g_autoptr (GArray) boxes = g_array_new (FALSE, FALSE, sizeof (gint32));
  const IrCamera now = camera (self);
  const IrLayoutRect world = ir_camera_world (&now);
  const GtkBitset *selection = ir_session_get_selection (self->session);

  g_clear_handle_id (&self->sync_timeout, g_source_remove);
  self->proxies = g_ptr_array_new ();
  if (scene (self) != NULL)
    ir_scene_foreach_in_rect (scene (self), &world, collect_boxes, boxes);
  for (guint i = 0; i < boxes->len && self->proxies->len < MAX_PROXIES; i++)
    {
      const gint32 index = g_array_index (boxes, gint32, i);
      const IrSceneBox *box = box_at (self, index);
      g_autofree char *label = NULL;
      GtkWidget *proxy;

      if (box->kind == IR_SCENE_CLUSTER)
        continue;
      proxy = find_proxy (self, old, box->key);
      if (proxy == NULL)
        {
          proxy = ir_node_proxy_new (box->key);
          gtk_widget_set_parent (proxy, GTK_WIDGET (self));
        }
      label = box_label (self, box);
      ir_node_proxy_update (IR_NODE_PROXY (proxy), index, label,
                            index == self->selected_box ||
                                (box->node != 0 && gtk_bitset_contains (selection, box->node)),
                            i + 1, boxes->len);
      g_ptr_array_add (self->proxies, proxy);
    }
  for (guint i = 0; i < old->len; i++)
    if (old->pdata[i] != NULL)
      {
        if (gtk_widget_has_focus (old->pdata[i]))
          gtk_widget_grab_focus (GTK_WIDGET (self));
        gtk_widget_unparent (old->pdata[i]);
      }
  /* By the whole chain of parents: one of them may still count as told from children that were
   * not placed, and then an allocation of the canvas alone is never done. */
  if (!self->allocating)
    gtk_widget_queue_resize (GTK_WIDGET (self));
}

static gboolean
on_sync_timeout (gpointer data)
{
  IrCanvas *self = data;

  self->sync_timeout = 0;
  sync_proxies (self);
  g_signal_emit (self, signals[MOVED], 0);
  if (self->zoom_to_tell)
    g_signal_emit (self, signals[ZOOMED], 0);
  self->zoom_to_tell = FALSE;
  return G_SOURCE_REMOVE;
}

static void
queue_sync (IrCanvas *self)
{
  if (self->sync_timeout == 0)
    self->sync_timeout = g_timeout_add (SYNC_DELAY_MS, on_sync_timeout, self);
}

/* -- widget -- */

static gboolean
same_camera (const IrCamera *a, const IrCamera *b)
{
  return a->zoom == b->zoom && round (a->x) == round (b->x) && round (a->y) == round (b->y) &&
         a->width == b->width && a->height == b->height;
}

static void
ir_canvas_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  IrCanvas *self = IR_CANVAS (widget);
  IrCamera now = camera (self);

  self->allocating = TRUE;
  if (!self->moved && scene (self) != NULL)
    place_first (self);
  else /* what is in the middle stays there when panes come and go */
    configure (self, now.x + (self->allocated_width > 0 ? (self->allocated_width - width) / 2 : 0),
               now.y);
  self->allocated_width = width;
  for (guint i = 0; i < self->proxies->len; i++)
    {
      const IrSceneBox *box = box_at (self, ir_node_proxy_get_box (self->proxies->pdata[i]));

      if (box != NULL)
        allocate_proxy (self, self->proxies->pdata[i], box);
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (GTK_IS_POPOVER (child))
      gtk_popover_present (GTK_POPOVER (child));
  self->allocating = FALSE;
  now = camera (self);
  if (self->zoom_to_tell || !same_camera (&now, &self->sync_camera))
    {
      self->sync_camera = now;
      queue_sync (self);
    }
}

static void
ir_canvas_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  IrCanvas *self = IR_CANVAS (widget);
  const IrCamera now = camera (self);
  const GtkBitset *selection = ir_session_get_selection (self->session);
  GtkBitsetIter iter;
  guint node;
  guint n = 0;

  if (self->content == NULL || !same_camera (&now, &self->content_camera))
    {
      g_clear_pointer (&self->content, gsk_render_node_unref);
      self->content = ir_node_painter_paint (self->painter, gtk_widget_get_pango_context (widget),
                                             &now);
      self->content_camera = now;
    }
  gtk_snapshot_push_clip (snapshot,
                          &GRAPHENE_RECT_INIT (0, 0, (float) now.width, (float) now.height));
  if (self->content != NULL)
    gtk_snapshot_append_node (snapshot, self->content);
  if (scene (self) != NULL)
    {
      for (guint i = 0; i < self->selected_lines->len; i++)
        ir_node_painter_highlight_line (self->painter, snapshot, &now,
                                        g_array_index (self->selected_lines, gint32, i));
      for (guint i = 0; i < self->relatives->len; i++)
        ir_node_painter_outline (self->painter, snapshot, &now,
                                 g_array_index (self->relatives, gint32, i), 4, 0.45);
      if (self->hover_box >= 0)
        ir_node_painter_outline (self->painter, snapshot, &now, self->hover_box, 2, 0.4);
      for (gboolean more = gtk_bitset_iter_init_first (&iter, selection, &node);
           more && n < MAX_SELECTED; more = gtk_bitset_iter_next (&iter, &node), n++)
        ir_node_painter_outline (self->painter, snapshot, &now, box_of_node (self, node), 2, 1);
      if (self->flash > 0)
        ir_node_painter_outline (self->painter, snapshot, &now, self->selected_box,
                                 2 + FLASH_WIDTH * self->flash, 0.5 * self->flash);
      ir_node_painter_outline (self->painter, snapshot, &now, self->selected_box,
                               gtk_widget_get_focus_child (widget) != NULL ? 3 : 2, 1);
      ir_drag_snapshot (self->drag, snapshot);
    }
  gtk_snapshot_pop (snapshot);
}

/* One tab stop for the whole canvas; arrows move inside it. */
static gboolean
ir_canvas_focus (GtkWidget *widget, GtkDirectionType direction)
{
  IrCanvas *self = IR_CANVAS (widget);

  if (gtk_widget_has_focus (widget) || gtk_widget_get_focus_child (widget) != NULL)
    return FALSE;
  if (self->selected_box >= 0)
    focus_selected (self);
  if (gtk_widget_get_focus_child (widget) == NULL)
    gtk_widget_grab_focus (widget);
  return TRUE;
}

static void
on_dark_changed (IrCanvas *self)
{
  ir_node_painter_set_dark (self->painter,
                            adw_style_manager_get_dark (adw_style_manager_get_default ()));
  g_clear_pointer (&self->content, gsk_render_node_unref);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static gboolean
is_shown (IrCanvas *self, const IrSceneBox *box)
{
  const IrCamera now = camera (self);
  const graphene_rect_t r = ir_camera_rect (&now, box);

  return r.origin.x < now.width && r.origin.y < now.height && r.origin.x + r.size.width > 0 &&
         r.origin.y + r.size.height > 0;
}

/* Where a group was opened or closed its upper left corner stays where it was on the screen. */
static void
keep_toggled_place (IrCanvas *self, const IrFrame *old, const IrFrame *frame)
{
  const IrCamera now = camera (self);
  guint n_old, n;
  const IrSceneBox *before = ir_scene_boxes (old->scene, &n_old), *after;

  after = ir_scene_boxes (frame->scene, &n);
  for (guint i = 0; i < n_old; i++)
    {
      gint32 found;

      if (before[i].fold == NULL || !is_shown (self, &before[i]))
        continue;
      found = box_of_fold (self, frame, before[i].fold);
      if (found < 0 || after[found].kind == before[i].kind)
        continue;
      set_camera (self, now.zoom, now.x + (after[found].x - before[i].x) * now.zoom,
                  now.y + (after[found].y - before[i].y) * now.zoom);
      return;
    }
}

/* Follows the session's frame. The camera stays where it is unless another graph was opened. */
void
ir_canvas_frame_changed (IrCanvas *self)
{
  IrFrame *frame = ir_session_get_frame (self->session);
  const IrModel *old = self->frame != NULL ? self->frame->model : NULL;

  if (frame == NULL || old == NULL || old->context != frame->model->context)
    self->moved = FALSE;
  if (self->moved && frame != NULL && frame->scene != NULL && self->frame != NULL &&
      self->frame->scene != NULL && frame->shape != self->frame->shape)
    keep_toggled_place (self, self->frame, frame);
  ir_job_free_later (self->frame, (GDestroyNotify) ir_frame_unref);
  self->frame = frame != NULL ? ir_frame_ref (frame) : NULL;
  self->hover_box = -1;
  self->selected_box = -1;
  self->clicked_line = -1;
  g_array_set_size (self->selected_lines, 0);
  g_array_set_size (self->relatives, 0);
  ir_node_painter_set_scene (self->painter, (IrScene *) scene (self));
  g_clear_pointer (&self->content, gsk_render_node_unref);
  ir_canvas_selection_changed (self);
  sync_proxies (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
on_adjustment_changed (IrCanvas *self)
{
  if (self->configuring)
    return;
  self->moved = TRUE;
  queue_allocate (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
set_adjustment (IrCanvas *self, GtkAdjustment **field, GtkAdjustment *adjustment)
{
  if (*field != NULL)
    g_signal_handlers_disconnect_by_data (*field, self);
  g_clear_object (field);
  if (adjustment == NULL)
    return;
  *field = g_object_ref_sink (adjustment);
  g_signal_connect_swapped (adjustment, "value-changed", G_CALLBACK (on_adjustment_changed), self);
}

static void
ir_canvas_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  IrCanvas *self = IR_CANVAS (object);

  switch (id)
    {
    case PROP_HADJUSTMENT:
      set_adjustment (self, &self->hadjustment, g_value_get_object (value));
      break;
    case PROP_VADJUSTMENT:
      set_adjustment (self, &self->vadjustment, g_value_get_object (value));
      break;
    case PROP_HSCROLL_POLICY:
      self->hpolicy = g_value_get_enum (value);
      break;
    case PROP_VSCROLL_POLICY:
      self->vpolicy = g_value_get_enum (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
ir_canvas_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  IrCanvas *self = IR_CANVAS (object);

  switch (id)
    {
    case PROP_HADJUSTMENT:
      g_value_set_object (value, self->hadjustment);
      break;
    case PROP_VADJUSTMENT:
      g_value_set_object (value, self->vadjustment);
      break;
    case PROP_HSCROLL_POLICY:
      g_value_set_enum (value, self->hpolicy);
      break;
    case PROP_VSCROLL_POLICY:
      g_value_set_enum (value, self->vpolicy);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
ir_canvas_dispose (GObject *object)
{
  IrCanvas *self = IR_CANVAS (object);
  GtkWidget *child;

  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  g_clear_object (&self->animation);
  if (self->flashing != NULL)
    adw_animation_pause (self->flashing);
  g_clear_object (&self->flashing);
  set_adjustment (self, &self->hadjustment, NULL);
  set_adjustment (self, &self->vadjustment, NULL);
  g_clear_handle_id (&self->sync_timeout, g_source_remove);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  if (self->proxies != NULL)
    g_ptr_array_set_size (self->proxies, 0);
  G_OBJECT_CLASS (ir_canvas_parent_class)->dispose (object);
}

static void
ir_canvas_finalize (GObject *object)
{
  IrCanvas *self = IR_CANVAS (object);

  g_clear_pointer (&self->content, gsk_render_node_unref);
  g_clear_pointer (&self->painter, ir_node_painter_free);
  g_clear_pointer (&self->drag, ir_drag_free);
  g_clear_pointer (&self->frame, ir_frame_unref);
  g_clear_pointer (&self->selected_lines, g_array_unref);
  g_clear_pointer (&self->relatives, g_array_unref);
  g_clear_pointer (&self->proxies, g_ptr_array_unref);
  g_clear_object (&self->session);
  G_OBJECT_CLASS (ir_canvas_parent_class)->finalize (object);
}

static void
activate_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  IrCanvas *self = IR_CANVAS (widget);
  GtkWidget *focus = gtk_widget_get_focus_child (widget);

  if (focus != NULL && IR_IS_NODE_PROXY (focus))
    go_to_box (self, ir_node_proxy_get_box (IR_NODE_PROXY (focus)));
  activate_selected (self);
}

static void
ir_canvas_class_init (IrCanvasClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  object_class->dispose = ir_canvas_dispose;
  object_class->finalize = ir_canvas_finalize;
  object_class->get_property = ir_canvas_get_property;
  object_class->set_property = ir_canvas_set_property;
  widget_class->size_allocate = ir_canvas_size_allocate;
  widget_class->snapshot = ir_canvas_snapshot;
  widget_class->focus = ir_canvas_focus;
  widget_class->query_tooltip = ir_canvas_query_tooltip;
  g_object_class_override_property (object_class, PROP_HADJUSTMENT, "hadjustment");
  g_object_class_override_property (object_class, PROP_VADJUSTMENT, "vadjustment");
  g_object_class_override_property (object_class, PROP_HSCROLL_POLICY, "hscroll-policy");
  g_object_class_override_property (object_class, PROP_VSCROLL_POLICY, "vscroll-policy");
  gtk_widget_class_set_css_name (widget_class, "canvas");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST);
  gtk_widget_class_install_action (widget_class, "canvas.activate", NULL, activate_action);
  signals[ZOOMED] = g_signal_new ("zoomed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                  NULL, NULL, G_TYPE_NONE, 0);
  signals[MOVED] = g_signal_new ("moved", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL,
                                 NULL, NULL, G_TYPE_NONE, 0);
  signals[MENU] = g_signal_new ("menu", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                NULL, G_TYPE_NONE, 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
  signals[VALUE_DROPPED] = g_signal_new ("value-dropped", G_TYPE_FROM_CLASS (klass),
                                         G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 3,
                                         G_TYPE_UINT, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
}

static void
add_controllers (IrCanvas *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (
      GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  GtkGesture *pinch = gtk_gesture_zoom_new ();
  GtkGesture *drag = gtk_gesture_drag_new ();
  GtkGesture *middle = gtk_gesture_drag_new ();
  GtkGesture *twice = gtk_gesture_click_new ();
  GtkGesture *menu = gtk_gesture_click_new ();
  GtkWidget *widget = GTK_WIDGET (self);

  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_key), self);
  g_signal_connect (motion, "motion", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "leave", G_CALLBACK (on_leave), self);
  g_signal_connect (scroll, "scroll", G_CALLBACK (on_scroll), self);
  /* before the scrolled window takes the wheel */
  gtk_event_controller_set_propagation_phase (scroll, GTK_PHASE_CAPTURE);
  g_signal_connect (pinch, "begin", G_CALLBACK (on_pinch_begin), self);
  g_signal_connect (pinch, "scale-changed", G_CALLBACK (on_pinch), self);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (middle), GDK_BUTTON_MIDDLE);
  for (GtkGesture **g = (GtkGesture *[]){ drag, middle, NULL }; *g != NULL; g++)
    {
      g_signal_connect (*g, "drag-begin", G_CALLBACK (on_drag_begin), self);
      g_signal_connect (*g, "drag-update", G_CALLBACK (on_drag_update), self);
      g_signal_connect (*g, "drag-end", G_CALLBACK (on_drag_end), self);
    }
  g_signal_connect (twice, "pressed", G_CALLBACK (on_double_click), self);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (menu), GDK_BUTTON_SECONDARY);
  g_signal_connect (menu, "pressed", G_CALLBACK (on_menu_click), self);
  gtk_widget_add_controller (widget, keys);
  gtk_widget_add_controller (widget, motion);
  gtk_widget_add_controller (widget, scroll);
  for (GtkGesture **g = (GtkGesture *[]){ pinch, drag, middle, twice, menu, NULL }; *g != NULL; g++)
    gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (*g));
}

static void
ir_canvas_init (IrCanvas *self)
{
  self->zoom = 1;
  self->selected_box = self->hover_box = self->clicked_line = -1;
  self->selected_lines = g_array_new (FALSE, FALSE, sizeof (gint32));
  self->relatives = g_array_new (FALSE, FALSE, sizeof (gint32));
  self->proxies = g_ptr_array_new ();
  self->painter = ir_node_painter_new ();
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, "Graph",
                                  -1);
  self->drag = ir_drag_new (self);
  add_controllers (self);
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark",
                           G_CALLBACK (on_dark_changed), self, G_CONNECT_SWAPPED);
  on_dark_changed (self);
}

GtkWidget *
ir_canvas_new (IrSession *session)
{
  IrCanvas *self = g_object_new (IR_TYPE_CANVAS, NULL);

  self->session = g_object_ref (session);
  return GTK_WIDGET (self);
}
