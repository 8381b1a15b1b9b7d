/* Where the canvas looks: camera, flights, and what they bring into sight. */
#include "config.h"

#include "views/graph/canvas-private.h"
#include "views/session/selection.h"

#include <adwaita.h>
#include <math.h>

#define MIN_ZOOM      0.0001
#define MAX_ZOOM      4.0
#define CAMERA_MS     220
#define FLASH_MS      1200
#define CORNER_WIDTH  270 /* px */
#define CORNER_HEIGHT 52
#define ZOOM_BAR      200  /* px, of the right corner */
#define LEAST_PART    0.6  /* of the graph, or of what is in sight, that is filled on each axis */
#define BESIDE        60   /* px beside a graph that is larger than the window */
#define FIRST_HEIGHT  32   /* px, of a first box that is cut so far and no more */
#define SIDE_GAP      8    /* px, at the left of what makes room for the map */
#define WHOLE_ZOOM    0.45 /* a pattern is rather shown whole, so far out */
#define MAX_LEFT      64   /* pictures that one may go back to */

IrCamera
ir_canvas_get_camera (IrCanvas *self)
{
  return (IrCamera){
    .zoom = self->zoom,
    .x = self->hadjustment != NULL ? gtk_adjustment_get_value (self->hadjustment) : 0,
    .y = self->vadjustment != NULL ? gtk_adjustment_get_value (self->vadjustment) : 0,
    .width = gtk_widget_get_width (GTK_WIDGET (self)),
    .height = gtk_widget_get_height (GTK_WIDGET (self)),
  };
}

/* Not while it is being allocated: that would be forgotten, and the canvas drawn without a place. */
void
canvas_queue_allocate (IrCanvas *self)
{
  if (!self->allocating)
    gtk_widget_queue_allocate (GTK_WIDGET (self));
}

/* Half a viewport of free space around the picture, so that every box can be brought to the middle; as much
 * as it takes where a group keeps its place. */
static void
configure_axis (
    IrCanvas *self, GtkAdjustment *adjustment, double at, double low, double size, double view)
{
  const double lower = low * self->zoom - view / 2, upper = (low + size) * self->zoom + view / 2;

  gtk_adjustment_configure (adjustment, at, self->holds_place ? MIN (lower, at) : lower,
                            self->holds_place ? MAX (upper, at + view) : upper, 24, view * 0.9,
                            view);
}

void
canvas_configure (IrCanvas *self, double x, double y)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self));
  const double height = gtk_widget_get_height (GTK_WIDGET (self));
  const IrLayoutRect bounds = canvas_scene (self) != NULL ? ir_scene_bounds (canvas_scene (self))
                                                          : (IrLayoutRect){ 0 };

  if (self->hadjustment == NULL || self->vadjustment == NULL || width <= 0 || height <= 0)
    return;
  self->configuring = TRUE;
  configure_axis (self, self->hadjustment, x, bounds.x, bounds.width, width);
  configure_axis (self, self->vadjustment, y, bounds.y, bounds.height, height);
  self->configuring = FALSE;
  canvas_queue_allocate (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
canvas_set_camera (IrCanvas *self, double zoom, double x, double y)
{
  const gboolean zoomed = zoom != self->zoom;

  self->zoom = CLAMP (zoom, MIN_ZOOM, MAX_ZOOM);
  canvas_configure (self, x, y);
  if (zoomed && self->allocating)
    self->zoom_to_tell = TRUE; /* the answer would change sizes while they are given */
  else if (zoomed)
    g_signal_emit_by_name (self, "zoomed");
}

/* Zooms so that what is at (@x, @y) of the widget stays there. */
void
canvas_zoom_at (IrCanvas *self, double zoom, double x, double y)
{
  const IrCamera old = ir_canvas_get_camera (self);
  double ratio;

  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  self->moved = TRUE;
  self->holds_place = FALSE;
  zoom = CLAMP (zoom, MIN_ZOOM, MAX_ZOOM);
  ratio = zoom / old.zoom;
  canvas_set_camera (self, zoom, (old.x + x) * ratio - x, (old.y + y) * ratio - y);
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

  canvas_set_camera (self, zoom, (fx + (tx - fx) * t) * zoom - self->target.width / 2,
                     (fy + (ty - fy) * t) * zoom - self->target.height / 2);
}

static void
fly_to (IrCanvas *self, double zoom, double x, double y)
{
  if (gtk_widget_get_width (GTK_WIDGET (self)) <= 0)
    return; /* where it looks first is decided when it has a size */
  if (self->animation == NULL)
    {
      AdwAnimationTarget *target = adw_callback_animation_target_new (on_flight, self, NULL);

      self->animation = adw_timed_animation_new (GTK_WIDGET (self), 0, 1, CAMERA_MS, target);
    }
  adw_animation_pause (self->animation);
  self->moved = TRUE;
  self->holds_place = FALSE;
  self->from = ir_canvas_get_camera (self);
  self->target = self->from;
  self->target.zoom = CLAMP (zoom, MIN_ZOOM, MAX_ZOOM);
  self->target.x = x;
  self->target.y = y;
  if (!gtk_widget_get_mapped (GTK_WIDGET (self)))
    {
      canvas_set_camera (self, self->target.zoom, x, y);
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

/* px that no pane lies on */
static double
free_width (IrCanvas *self)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self));

  return MAX (width - self->cover_left - self->cover_right, width / 4);
}

/* px above what floats below, with some air. */
static double
clear_height (IrCanvas *self)
{
  return 0.95 * free_height (self);
}

/* px that the legend and the zoom bar take in the lower corners, where they would lie on what is @width px
 * wide in the middle. */
static double
corner_height (IrCanvas *self, double width)
{
  const double margin = (gtk_widget_get_width (GTK_WIDGET (self)) - width) / 2;

  return margin < CORNER_WIDTH ? CORNER_HEIGHT : 0;
}

/* px in which a picture that is to fit has room: not where what lies in the lower corners would cover it */
static double
fit_height (IrCanvas *self, const IrLayoutRect *bounds, double zoom)
{
  const double height = free_height (self), width = bounds->width * zoom;
  const double margin = (gtk_widget_get_width (GTK_WIDGET (self)) - width) / 2;
  const double taken = MAX (margin < self->note_width ? self->note_height : 0,
                            corner_height (self, width));

  return (height + bounds->height * zoom) / 2 > height - taken ? MAX (height - taken, height / 2)
                                                               : height;
}

/* In the middle of what nothing floats over; where the map would lie on it, beside that, and where there is no
 * room beside, as far below as there is. */
static void
place_rect (IrCanvas *self, const IrLayoutRect *rect, double zoom, double *x, double *y)
{
  const IrCamera now = ir_canvas_get_camera (self);
  const double begin = MAX (self->map_width, self->cover_left),
               end = now.width - MAX (self->map_width, self->cover_right);
  double left = self->cover_left + (free_width (self) - rect->width * zoom) / 2;
  const double bare = free_height (self) - rect->height * zoom;
  const double room = MAX (bare - corner_height (self, rect->width * zoom), MIN (bare, 0));
  double top = room / 2;

  if (top < self->map_height && (self->map_left ? left < begin : left + rect->width * zoom > end))
    {
      const double beside = self->map_left ? begin : end - rect->width * zoom;

      if (self->map_left ? beside + rect->width * zoom + SIDE_GAP <= now.width - self->cover_right
                         : beside >= self->cover_left + SIDE_GAP)
        left = beside;
      else
        top = CLAMP (self->map_height, top, MAX (bare, top));
    }
  *x = rect->x * zoom - left;
  *y = rect->y * zoom - top;
}

/* @there: where the camera goes, or is already */
static void
take_aim (IrCanvas *self, const IrLayoutRect *rect, IrCamera there)
{
  self->aim = *rect;
  self->aimed = there;
}

static void
aim_at (IrCanvas *self, const IrLayoutRect *rect, IrCamera there)
{
  fly_to (self, there.zoom, there.x, there.y);
  take_aim (self, rect, there);
}

static void
fly_to_rect (IrCanvas *self, const IrLayoutRect *rect, double zoom)
{
  IrCamera there = { .zoom = CLAMP (zoom, MIN_ZOOM, MAX_ZOOM) };

  place_rect (self, rect, there.zoom, &there.x, &there.y);
  aim_at (self, rect, there);
}

static IrCamera resting_camera (IrCanvas *self);

gboolean
canvas_is_aimed (IrCanvas *self)
{
  const IrCamera now = resting_camera (self);

  return self->aimed.zoom > 0 && now.zoom == self->aimed.zoom && fabs (now.x - self->aimed.x) < 1 &&
         fabs (now.y - self->aimed.y) < 1;
}

/* What was brought into sight stays there when panes come and the map grows, as long as one has not moved since. */
void
canvas_aim_again (IrCanvas *self)
{
  IrCamera now = resting_camera (self);

  if (!canvas_rect_in_sight (self, &self->aim, 0))
    {
      place_rect (self, &self->aim, self->aimed.zoom, &now.x, &now.y);
      if (self->animation != NULL &&
          adw_animation_get_state (self->animation) == ADW_ANIMATION_PLAYING)
        {
          self->target.x = now.x;
          self->target.y = now.y;
          self->target.width = gtk_widget_get_width (GTK_WIDGET (self));
          self->target.height = gtk_widget_get_height (GTK_WIDGET (self));
        }
      else
        canvas_set_camera (self, now.zoom, now.x, now.y);
    }
  self->aimed = now;
}

const IrScene *
ir_canvas_get_scene (IrCanvas *self)
{
  return canvas_scene (self);
}

IrLayoutRect
ir_canvas_get_sight (IrCanvas *self)
{
  const IrCamera now = ir_canvas_get_camera (self);

  return ir_camera_world (&now);
}

void
ir_canvas_centre (IrCanvas *self, double x, double y)
{
  const IrCamera now = ir_canvas_get_camera (self);

  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  self->moved = TRUE;
  canvas_set_camera (self, now.zoom, x * now.zoom - now.width / 2,
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
  canvas_zoom_at (self, self->zoom * factor, gtk_widget_get_width (GTK_WIDGET (self)) / 2.0,
                  gtk_widget_get_height (GTK_WIDGET (self)) / 2.0);
}

void
ir_canvas_zoom_to (IrCanvas *self, double zoom)
{
  ir_canvas_zoom_by (self, zoom / self->zoom);
}

double
ir_canvas_get_inset (IrCanvas *self)
{
  return self->inset;
}

void
ir_canvas_set_inset (IrCanvas *self, double px)
{
  self->inset = px;
}

static double
zoom_into (IrCanvas *self, const IrLayoutRect *bounds, double height)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self));

  return MIN (CANVAS_FIT * MIN (width / MAX (bounds->width, 1), height / MAX (bounds->height, 1)),
              1.0);
}

/* @height: (out): px in which the picture fits */
double
canvas_fit_zoom (IrCanvas *self, const IrLayoutRect *bounds, double *height)
{
  *height = fit_height (self, bounds, zoom_into (self, bounds, free_height (self)));
  return zoom_into (self, bounds, *height);
}

/* Shows all of the graph, at most at its natural size */
void
ir_canvas_fit (IrCanvas *self)
{
  IrLayoutRect bounds;
  double zoom, height;

  if (canvas_scene (self) == NULL)
    return;
  bounds = ir_scene_bounds (canvas_scene (self));
  zoom = canvas_fit_zoom (self, &bounds, &height);
  fly_to (self, zoom,
          (bounds.x + bounds.width / 2) * zoom - gtk_widget_get_width (GTK_WIDGET (self)) / 2.0,
          (bounds.y + bounds.height / 2) * zoom - height / 2);
}

void
ir_canvas_set_map (IrCanvas *self, double width, double height, gboolean left)
{
  const gboolean aimed = canvas_is_aimed (self);

  self->map_left = left;
  self->map_width = width;
  self->map_height = height;
  if (aimed && canvas_scene (self) != NULL)
    canvas_aim_again (self);
}

void
ir_canvas_set_note (IrCanvas *self, double width, double height)
{
  self->note_width = width;
  self->note_height = height;
}

/* Where the camera is, or where it is flying to. */
static IrCamera
resting_camera (IrCanvas *self)
{
  if (self->animation != NULL && adw_animation_get_state (self->animation) == ADW_ANIMATION_PLAYING)
    return self->target;
  return ir_canvas_get_camera (self);
}

static gboolean
sees (IrCanvas *self, IrCamera now, const IrLayoutRect *rect, double margin)
{
  const double x = rect->x * now.zoom - now.x, y = rect->y * now.zoom - now.y;

  const double right = x + rect->width * now.zoom, bottom = y + rect->height * now.zoom;

  if (y < self->map_height &&
      (self->map_left ? x < self->map_width : right > now.width - self->map_width))
    return FALSE; /* the map lies on it */
  if (bottom > free_height (self) - CORNER_HEIGHT &&
      (right > now.width - ZOOM_BAR || (self->note_height > 0 && x < self->note_width)))
    return FALSE; /* what lies in the lower corners does */
  return x >= self->cover_left + margin && y >= margin &&
         x + rect->width * now.zoom <= now.width - self->cover_right - margin &&
         y + rect->height * now.zoom <= free_height (self) - margin;
}

gboolean
canvas_rect_in_sight (IrCanvas *self, const IrLayoutRect *rect, double margin)
{
  return sees (self, resting_camera (self), rect, margin);
}

void
ir_canvas_show_box (IrCanvas *self, gint32 index)
{
  const IrSceneBox *box = canvas_box (self, index);
  IrLayoutRect rect;

  if (box == NULL)
    return;
  rect = (IrLayoutRect){ box->x, box->y, box->width, box->height };
  if (box->kind == IR_SCENE_CLUSTER) /* its title: all of it may be larger than the window */
    rect = (IrLayoutRect){ box->x, box->y, MIN (box->width, 160), box->header };
  if (!canvas_rect_in_sight (self, &rect, 8))
    fly_to_rect (self, &rect, MAX (resting_camera (self).zoom, CANVAS_READABLE));
}

/* The selected box in the middle, so that what floats at the edges does not hide it. */
void
ir_canvas_centre_selected (IrCanvas *self)
{
  const IrSceneBox *box = canvas_box (self, self->selected_box);
  IrLayoutRect rect;

  if (box == NULL)
    return;
  rect = (IrLayoutRect){ box->x, box->y, box->width, box->height };
  fly_to_rect (self, &rect, MAX (resting_camera (self).zoom, CANVAS_READABLE));
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

void
ir_canvas_set_cover (IrCanvas *self, double left, double right)
{
  const IrSceneBox *box = canvas_scene (self) != NULL ? canvas_box (self, self->selected_box)
                                                      : NULL;
  const IrLayoutRect rect = box != NULL ? (IrLayoutRect){ box->x, box->y, box->width, box->height }
                                        : (IrLayoutRect){ 0 };
  const gboolean was_seen = box != NULL && canvas_rect_in_sight (self, &rect, 0);

  self->cover_left = left;
  self->cover_right = right;
  if (was_seen)
    ir_canvas_show_box (self, self->selected_box);
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

  if (canvas_scene (self) == NULL)
    return;
  for (gboolean more =
           gtk_bitset_iter_init_first (&iter, ir_session_get_selection (self->session), &node);
       more && n < MAX_SELECTED; more = gtk_bitset_iter_next (&iter, &node), n++)
    {
      const IrSceneBox *box = canvas_box (self, ir_frame_find_box (self->frame, node));

      if (box == NULL)
        continue;
      x0 = MIN (x0, box->x);
      y0 = MIN (y0, box->y);
      x1 = MAX (x1, box->x + box->width);
      y1 = MAX (y1, box->y + box->height);
    }
  rect = (IrLayoutRect){ x0, y0, x1 - x0, y1 - y0 };
  if (x1 < x0 || canvas_rect_in_sight (self, &rect, 8))
    return;
  fly_to_rect (
      self, &rect,
      MIN (MAX (now.zoom, CANVAS_READABLE),
           0.9 * MIN (free_width (self) / MAX (rect.width, 1), now.height / MAX (rect.height, 1))));
}

static gboolean
changes_rect (IrCanvas *self, IrLayoutRect *rect)
{
  guint n = 0;
  const IrSceneBox *boxes = ir_scene_boxes (canvas_scene (self), &n);
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
  const IrSceneBox *boxes = ir_scene_boxes (canvas_scene (self), &n);

  for (guint s = 0; s < G_N_ELEMENTS (order); s++)
    for (guint i = 0; i < n; i++)
      if (boxes[i].state == order[s] && boxes[i].kind != IR_SCENE_CLUSTER)
        return &boxes[i];
  return NULL;
}

/* Where the camera is on an axis when what lies from @low on, @size px long, fills @room as well as it
 * can, the nearest to @at. */
static double
filled (double at, double low, double size, double room)
{
  if (size <= room)
    return low - (room - size) / 2;
  return CLAMP (at, low - BESIDE, low + size - room + BESIDE);
}

/* A graph that got smaller may have left the place that is in sight; and its beginning is not cut. */
static void
follow_graph (IrCanvas *self)
{
  const IrCamera now = resting_camera (self);
  const IrLayoutRect bounds = ir_scene_bounds (canvas_scene (self));
  const double height = free_height (self), width = bounds.width * now.zoom,
               low_x = bounds.x * now.zoom, low_y = bounds.y * now.zoom;
  const double across = MIN (now.x + now.width, low_x + width) - MAX (now.x, low_x),
               down = MIN (now.y + height, low_y + bounds.height * now.zoom) - MAX (now.y, low_y);

  if (across >= LEAST_PART * MIN (now.width, width) &&
      down >= LEAST_PART * MIN (height, bounds.height * now.zoom))
    {
      if (low_y - now.y < CANVAS_ROOM_ABOVE && low_y - now.y > -FIRST_HEIGHT)
        fly_to (self, now.zoom, now.x, low_y - CANVAS_ROOM_ABOVE);
      return;
    }
  fly_to (self, now.zoom, filled (now.x, low_x, width, now.width),
          filled (now.y, low_y, bounds.height * now.zoom, height));
}

/* px by which the picture moves up, so that what is looked at is not hidden by a pane that comes from below:
 * the selected box, else what tells most of a change. @old, @height: of the canvas, before and now */
double
canvas_hidden_below (IrCanvas *self, double old, double height)
{
  const IrCamera now = resting_camera (self);
  const double margin = 8;
  const IrSceneBox *box;
  double left, top, bottom, taken = self->inset + margin;

  if (height >= old || canvas_scene (self) == NULL)
    return 0;
  box = self->selected_box >= 0 ? canvas_box (self, self->selected_box) : telling_box (self);
  if (box == NULL)
    return 0;
  top = box->y * now.zoom - now.y;
  bottom = top + box->height * now.zoom;
  left = box->x * now.zoom - now.x;
  if (left < CORNER_WIDTH || left + box->width * now.zoom > now.width - CORNER_WIDTH)
    taken += CORNER_HEIGHT;
  if (top < 0 || (top + bottom) / 2 > old - self->inset || bottom <= height - taken)
    return 0;
  return CLAMP (bottom - (height - taken), 0, MAX (top - margin, 0));
}

/* px in which a change has room, above what floats and what lies in the lower corners */
static double
room_above (IrCanvas *self, const IrLayoutRect *rect)
{
  return clear_height (self) - corner_height (self, rect->width * resting_camera (self).zoom);
}

/* As fly_to_rect(), but on an axis on which all of the graph has room it stands in the middle, and nothing of it is
 * cut off. */
static void
fly_to_change (IrCanvas *self, const IrLayoutRect *rect, double zoom)
{
  const IrLayoutRect bounds = ir_scene_bounds (canvas_scene (self));
  const double width = bounds.width * zoom, height = bounds.height * zoom;
  IrCamera there = resting_camera (self);

  there.zoom = zoom;
  place_rect (self, rect, zoom, &there.x, &there.y);
  if (width <= free_width (self))
    there.x = bounds.x * zoom - self->cover_left - (free_width (self) - width) / 2;
  if (height <= clear_height (self))
    there.y = bounds.y * zoom - (free_height (self) - height) / 2;
  if (sees (self, there, rect, 0))
    aim_at (self, rect, there);
  else
    fly_to_rect (self, rect, zoom);
}

/* Flies to what the frame's diff changed, unless that is in sight */
void
ir_canvas_show_changes (IrCanvas *self)
{
  const IrCamera now = resting_camera (self);
  const IrLayoutRect bounds = canvas_scene (self) != NULL ? ir_scene_bounds (canvas_scene (self))
                                                          : (IrLayoutRect){ 0 };
  IrLayoutRect rect;
  double zoom, least = CANVAS_READABLE;

  if (canvas_scene (self) == NULL)
    return;
  if (!changes_rect (self, &rect))
    {
      follow_graph (self);
      return;
    }
  if (canvas_rect_in_sight (self, &rect, canvas_rect_in_sight (self, &bounds, 0) ? 0 : 60))
    {
      self->moved = TRUE; /* it stays so, also where a place at the beginning would show less */
      take_aim (self, &rect, now);
      return;
    }
  zoom = MIN (now.zoom, MIN (0.8 * free_width (self) / MAX (rect.width, 1),
                             room_above (self, &rect) / MAX (rect.height, 1)));
  if (self->frame->marks != NULL)
    least = WHOLE_ZOOM;
  if (zoom < least && zoom < now.zoom)
    {
      const IrSceneBox *box = telling_box (self); /* too far apart to be read at once */

      rect = (IrLayoutRect){ box->x, box->y, box->width, box->height };
      zoom = CLAMP (now.zoom, CANVAS_READABLE, 1.0);
      if (canvas_rect_in_sight (self, &rect, 60))
        {
          take_aim (self, &rect, now);
          return;
        }
    }
  fly_to_change (self, &rect, zoom);
}

/* Also where they are in sight: as large as they fit. */
void
ir_canvas_zoom_to_changes (IrCanvas *self)
{
  IrLayoutRect rect;

  if (canvas_scene (self) == NULL || !changes_rect (self, &rect))
    return;
  fly_to_rect (self, &rect,
               MIN (1, MIN (0.85 * free_width (self) / MAX (rect.width, 1),
                            clear_height (self) / MAX (rect.height, 1))));
}

/* Not told of: whom it follows would follow it. */
void
ir_canvas_follow (IrCanvas *self, IrCanvas *other)
{
  const IrCamera there = ir_canvas_get_camera (other), here = ir_canvas_get_camera (self);

  if (there.zoom == here.zoom && round (there.x) == round (here.x) &&
      round (there.y) == round (here.y))
    return;
  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  self->moved = TRUE;
  canvas_set_camera (self, there.zoom, there.x, there.y);
}

/* -- another frame -- */

static gboolean
is_shown (IrCanvas *self, const IrSceneBox *box)
{
  const IrCamera now = ir_canvas_get_camera (self);
  const graphene_rect_t r = ir_camera_rect (&now, box);

  return r.origin.x < now.width && r.origin.y < now.height && r.origin.x + r.size.width > 0 &&
         r.origin.y + r.size.height > 0;
}

/* A group that was opened or closed, the first one in sight unless it is known, stays with its upper left
 * corner where it was on the screen. */
static void
keep_toggled_place (IrCanvas *self, const IrFrame *old, const IrFrame *frame, const char *toggled)
{
  const IrCamera now = ir_canvas_get_camera (self);
  guint n_old, n;
  const IrSceneBox *before = ir_scene_boxes (old->scene, &n_old), *after;

  after = ir_scene_boxes (frame->scene, &n);
  for (guint i = 0; i < n_old; i++)
    {
      gint32 found;

      if (before[i].fold == NULL || (toggled != NULL && strcmp (before[i].fold, toggled) != 0) ||
          !is_shown (self, &before[i]))
        continue;
      found = canvas_box_of_fold (self, frame, before[i].fold);
      if (found < 0 || after[found].kind == before[i].kind)
        continue;
      self->holds_place = TRUE;
      canvas_set_camera (self, now.zoom, now.x + (after[found].x - before[i].x) * now.zoom,
                         now.y + (after[found].y - before[i].y) * now.zoom);
      return;
    }
}

/* What is selected stays where it was on the screen. Whether it was there. */
gboolean
canvas_keep_selected (IrCanvas *self, const IrFrame *old, const IrFrame *frame)
{
  const IrCamera now = ir_canvas_get_camera (self);
  const IrNodeId node = ir_session_get_selected_node (self->session);
  const gint32 was = ir_frame_find_box (old, node), is = ir_frame_find_box (frame, node);
  const IrSceneBox *before, *after;
  guint n;

  if (node == 0 || was < 0 || is < 0)
    return FALSE;
  before = ir_scene_boxes (old->scene, &n) + was;
  after = ir_scene_boxes (frame->scene, &n) + is;
  if (!is_shown (self, before))
    return FALSE;
  canvas_set_camera (self, now.zoom,
                     now.x +
                         (after->x + after->width / 2 - before->x - before->width / 2) * now.zoom,
                     now.y + (after->y - before->y) * now.zoom);
  return TRUE;
}

/* Where one was in a graph that was left, one is when it is entered again. */
static void
change_graph (IrCanvas *self, const char *old, const char *root)
{
  const IrCamera now = ir_canvas_get_camera (self);
  const IrCamera *known = g_hash_table_lookup (self->places,
                                               g_intern_string (root != NULL ? root : ""));

  g_hash_table_replace (self->places, (gpointer) g_intern_string (old != NULL ? old : ""),
                        g_memdup2 (&now, sizeof now));
  if (self->animation != NULL)
    adw_animation_pause (self->animation);
  if (known != NULL)
    canvas_set_camera (self, known->zoom, known->x, known->y);
  self->moved = known != NULL; /* else it is placed as one that was opened */
  canvas_queue_allocate (self);
}

static gboolean
shows_something (IrCanvas *self, const IrScene *scene)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind != IR_SCENE_CLUSTER && is_shown (self, &boxes[i]))
      return TRUE;
  return n == 0;
}

/* A group that is opened grows from where it is, and is as it was when it is closed. */
void
ir_canvas_toggle_fold (IrCanvas *self, const char *fold)
{
  g_free (self->toggled);
  self->toggled = g_strdup (fold);
  ir_session_toggle_fold (self->session, fold);
}

/* To the picture that was left for @old, and to the same place, unless one has moved since. */
static gboolean
go_back (IrCanvas *self, const IrFrame *old, const IrFrame *frame)
{
  const IrCamera now = ir_canvas_get_camera (self);
  const IrLeftView *last = self->left->len > 0
                               ? &g_array_index (self->left, IrLeftView, self->left->len - 1)
                               : NULL;
  gboolean stood;

  if (last == NULL || last->from != frame->shape || last->to != old->shape)
    return FALSE;
  stood = !self->moved || canvas_same_camera (&now, &last->arrived);
  if (stood)
    {
      canvas_set_camera (self, last->camera.zoom, last->camera.x, last->camera.y);
      self->moved = last->moved;
    }
  g_array_set_size (self->left, self->left->len - 1);
  return stood;
}

static void
remember_left (IrCanvas *self, const IrFrame *old, const IrFrame *frame, const IrCamera *was)
{
  const IrLeftView left = { old->shape, frame->shape, *was, ir_canvas_get_camera (self),
                            self->moved };

  if (self->left->len == MAX_LEFT)
    g_array_remove_index (self->left, 0);
  g_array_append_val (self->left, left);
}

/* @frame has taken the place of @old: groups were opened, nodes filtered, a graph was entered. */
void
canvas_follow_frame (IrCanvas *self, const IrFrame *old, const IrFrame *frame)
{
  g_autofree char *toggled = g_steal_pointer (&self->toggled);
  IrCamera was;

  if (self->animation != NULL && adw_animation_get_state (self->animation) == ADW_ANIMATION_PLAYING)
    adw_animation_skip (self->animation); /* it leads to a place of the old picture */
  was = ir_canvas_get_camera (self);

  if (old->root != frame->root)
    {
      change_graph (self, old->root, frame->root);
      return;
    }
  if (old->from != frame->from || old->to != frame->to)
    g_array_set_size (self->left, 0); /* other pictures than those that were left */
  else if (go_back (self, old, frame))
    return;
  if (toggled != NULL || (self->moved && !canvas_keep_selected (self, old, frame)))
    keep_toggled_place (self, old, frame, toggled);
  remember_left (self, old, frame, &was);
  if (!self->moved && toggled == NULL)
    return;
  self->moved = TRUE;
  if (!shows_something (self, frame->scene))
    {
      self->moved = FALSE;
      canvas_queue_allocate (self);
    }
}

void
canvas_go_to_next (IrCanvas *self)
{
  const IrCamera next = self->next, now = ir_canvas_get_camera (self);

  if (next.zoom <= 0 || canvas_scene (self) == NULL || now.width <= 0)
    return;
  self->next.zoom = 0;
  self->next_due = FALSE;
  /* The middle of all that was seen, as ir_canvas_get_sight() has it: also of what lies below a bar. */
  fly_to (self, next.zoom, next.x * next.zoom - now.width / 2, next.y * next.zoom - now.height / 2);
}

void
ir_canvas_go_with_next_frame (IrCanvas *self, double zoom, double x, double y)
{
  self->next = (IrCamera){ .zoom = zoom, .x = x, .y = y };
}

/* Bars that come and go with the picture may change the size of the canvas, or it has none yet. */
void
canvas_await_size (IrCanvas *self)
{
  if (self->next.zoom <= 0)
    return;
  self->next_due = TRUE;
  canvas_queue_allocate (self);
}

void
ir_canvas_go_to (IrCanvas *self, double zoom, double x, double y)
{
  ir_canvas_go_with_next_frame (self, zoom, x, y);
  canvas_await_size (self);
}
