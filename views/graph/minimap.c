#include "config.h"

#include "views/graph/minimap.h"
#include "views/colours.h"
#include "views/session/frame.h"

#include "core/render/palette.h"

#include <math.h>

#define MOST_WIDTH    180.0 /* px */
#define MOST_HEIGHT   130.0
#define LEAST         40.0
#define PART          0.3  /* of the canvas, at most, in each direction */
#define COARSE        20.0 /* px: so much more or less room draws the map anew */
#define CONTROLS_ROOM 74   /* px, as high as the zoom bar with its margins may be */
#define VEIL          0.55 /* over what is out of sight */
#define VEIL_DARK     0.25 /* colours on dark have less to lose */
#define MANY          2000 /* boxes */
#define MARGINS       36   /* px beside the map, as in style.css */
#define REST_MS       300  /* until the camera is taken to rest */
#define MOST_PART     0.92 /* of the picture in sight: then there is nothing to be found here */

struct _IrMinimap
{
  GtkWidget parent_instance;

  IrCanvas *canvas;         /* that owns the camera; the view keeps both */
  cairo_surface_t *picture; /* (nullable) painted once for a scene */
  double scale;             /* px of the map per px of the scene */
  int width, height;        /* px of the map */
  double most_width, most_height;
  gboolean left;       /* the corner where it stands */
  gconstpointer model; /* its context: that the corner was chosen for; may be gone */
  gboolean choose;     /* the corner, at rest */
  guint resting;       /* source, or 0 */
  IrPaletteKind colours;
};

G_DEFINE_FINAL_TYPE (IrMinimap, ir_minimap, GTK_TYPE_WIDGET)

static void
set_colour (cairo_t *cr, guint32 colour, double alpha)
{
  cairo_set_source_rgba (cr, (colour >> 16 & 0xff) / 255.0, (colour >> 8 & 0xff) / 255.0,
                         (colour & 0xff) / 255.0, alpha);
}

static void
paint_boxes (IrMinimap *self, cairo_t *cr, const IrScene *scene)
{
  const IrPalette *palette = ir_palette (self->colours);
  const IrLayoutRect bounds = ir_scene_bounds (scene);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  if (n > MANY) /* less than a px each */
    cairo_set_antialias (cr, CAIRO_ANTIALIAS_NONE);
  for (guint i = 0; i < n; i++)
    {
      const IrSceneBox *b = &boxes[i];
      const guint32 colour = b->state != IR_SCENE_SAME ? palette->state[b->state]
                             : b->kind == IR_SCENE_CLUSTER
                                 ? palette->frame_deep
                                 : palette->header[b->colour % IR_N_SCENE_COLOURS];

      set_colour (cr, colour, 1);
      cairo_rectangle (cr, (b->x - bounds.x) * self->scale, (b->y - bounds.y) * self->scale,
                       MAX (b->width * self->scale, 1), MAX (b->height * self->scale, 1));
      cairo_fill (cr);
    }
}

static void
make_picture (IrMinimap *self)
{
  const IrScene *scene = ir_canvas_get_scene (self->canvas);
  const int factor = gtk_widget_get_scale_factor (GTK_WIDGET (self));
  IrLayoutRect bounds;
  cairo_t *cr;
  int width, height;

  g_clear_pointer (&self->picture, cairo_surface_destroy);
  if (scene == NULL)
    return;
  bounds = ir_scene_bounds (scene);
  self->scale = MIN (self->most_width / MAX (bounds.width, 1),
                     self->most_height / MAX (bounds.height, 1));
  width = (int) ceil (MAX (bounds.width * self->scale, LEAST));
  height = (int) ceil (MAX (bounds.height * self->scale, LEAST));
  self->picture = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, width * factor, height * factor);
  cairo_surface_set_device_scale (self->picture, factor, factor);
  cr = cairo_create (self->picture);
  cairo_translate (cr, (width - bounds.width * self->scale) / 2,
                   (height - bounds.height * self->scale) / 2);
  paint_boxes (self, cr, scene);
  cairo_destroy (cr);
  self->width = width;
  self->height = height;
  gtk_widget_queue_resize (GTK_WIDGET (self));
}

/* Where the picture begins in the widget. */
static void
origin (IrMinimap *self, const IrLayoutRect *bounds, double *x, double *y)
{
  *x = (gtk_widget_get_width (GTK_WIDGET (self)) - bounds->width * self->scale) / 2;
  *y = (gtk_widget_get_height (GTK_WIDGET (self)) - bounds->height * self->scale) / 2;
}

static void
ir_minimap_measure (GtkWidget *widget,
                    GtkOrientation orientation,
                    int for_size,
                    int *minimum,
                    int *natural,
                    int *minimum_baseline,
                    int *natural_baseline)
{
  const IrMinimap *self = IR_MINIMAP (widget);

  *minimum = *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? self->width : self->height;
}

static void
ir_minimap_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  IrMinimap *self = IR_MINIMAP (widget);
  const IrScene *scene = ir_canvas_get_scene (self->canvas);
  const IrLayoutRect seen = ir_canvas_get_sight (self->canvas);
  const float width = (float) gtk_widget_get_width (widget);
  const float height = (float) gtk_widget_get_height (widget);
  IrLayoutRect bounds;
  double x, y;
  cairo_t *cr;

  if (scene == NULL || self->picture == NULL)
    return;
  bounds = ir_scene_bounds (scene);
  origin (self, &bounds, &x, &y);
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));
  cairo_set_source_surface (cr, self->picture, 0, 0);
  cairo_paint (cr);
  cairo_rectangle (cr, 0, 0, width, height);
  cairo_rectangle (cr, x + (seen.x - bounds.x) * self->scale, y + (seen.y - bounds.y) * self->scale,
                   MAX (seen.width * self->scale, 3), MAX (seen.height * self->scale, 3));
  cairo_set_fill_rule (cr, CAIRO_FILL_RULE_EVEN_ODD);
  set_colour (cr, ir_palette (self->colours)->background,
              self->colours == IR_PALETTE_DARK ? VEIL_DARK : VEIL);
  cairo_fill (cr);
  cairo_rectangle (cr, x + (seen.x - bounds.x) * self->scale, y + (seen.y - bounds.y) * self->scale,
                   MAX (seen.width * self->scale, 3), MAX (seen.height * self->scale, 3));
  set_colour (cr, ir_palette (self->colours)->selection, 1);
  cairo_set_line_width (cr, 1.5);
  cairo_stroke (cr);
  cairo_destroy (cr);
}

/* The place under the pointer comes to the middle. */
static void
go_to (IrMinimap *self, double at_x, double at_y)
{
  const IrScene *scene = ir_canvas_get_scene (self->canvas);
  IrLayoutRect bounds;
  double x, y;

  if (scene == NULL || self->scale <= 0)
    return;
  bounds = ir_scene_bounds (scene);
  origin (self, &bounds, &x, &y);
  ir_canvas_centre (self->canvas, bounds.x + (at_x - x) / self->scale,
                    bounds.y + (at_y - y) / self->scale);
}

static void
on_drag_begin (IrMinimap *self, double x, double y)
{
  go_to (self, x, y);
}

static void
on_drag_update (IrMinimap *self, double dx, double dy, GtkGestureDrag *gesture)
{
  double x, y;

  gtk_gesture_drag_get_start_point (gesture, &x, &y);
  go_to (self, x + dx, y + dy);
}

/* px of a side of the canvas that the map may take. */
static double
part_of (double side, double most)
{
  return CLAMP (floor (PART * side / COARSE) * COARSE, LEAST, most);
}

/* A small canvas has a small map. Whether the map that is drawn is another now. */
static gboolean
take_room (IrMinimap *self)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self->canvas)),
               height = gtk_widget_get_height (GTK_WIDGET (self->canvas)) -
                        ir_canvas_get_inset (self->canvas);
  const double most_width = part_of (width, MOST_WIDTH),
               most_height = part_of (height, MOST_HEIGHT);

  if (width <= 0 || (most_width == self->most_width && most_height == self->most_height))
    return FALSE;
  self->most_width = most_width;
  self->most_height = most_height;
  return TRUE;
}

/* Whether boxes would lie below it in that corner. */
static gboolean
covers (IrMinimap *self, gboolean left)
{
  const IrCamera now = ir_canvas_get_camera (self->canvas);
  const float width = (float) self->width + MARGINS, height = (float) self->height + MARGINS;
  const graphene_rect_t corner = GRAPHENE_RECT_INIT (left ? 0 : (float) now.width - width, 0, width,
                                                     height);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (ir_canvas_get_scene (self->canvas), &n);

  for (guint i = 0; i < n; i++)
    {
      const graphene_rect_t at = ir_camera_rect (&now, &boxes[i]);

      if (boxes[i].kind != IR_SCENE_CLUSTER && graphene_rect_intersection (&at, &corner, NULL))
        return TRUE;
    }
  return FALSE;
}

/* Shown only where there is more than is in sight. */
static void
update (IrMinimap *self)
{
  const IrScene *scene = ir_canvas_get_scene (self->canvas);
  const IrLayoutRect seen = ir_canvas_get_sight (self->canvas);
  const int height = gtk_widget_get_height (GTK_WIDGET (self->canvas));
  gboolean whole = TRUE;

  if (take_room (self))
    make_picture (self);
  if (height > 0 && height - ir_canvas_get_inset (self->canvas) < self->height + CONTROLS_ROOM)
    whole = TRUE; /* it would lie on what is below it */
  else if (scene != NULL)
    {
      const IrLayoutRect bounds = ir_scene_bounds (scene);

      whole = seen.width >= bounds.width * MOST_PART && seen.height >= bounds.height * MOST_PART;
    }
  gtk_widget_set_visible (GTK_WIDGET (self), !whole);
  ir_canvas_set_map (self->canvas, whole ? 0 : self->width + MARGINS,
                     whole ? 0 : self->height + MARGINS, self->left);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* The corner is chosen once for a graph, as it would be a nuisance if it moved along. What it lies on all the same
 * shines through. */
static gboolean
on_rest (gpointer data)
{
  IrMinimap *self = data;

  self->resting = 0;
  if (ir_canvas_get_scene (self->canvas) == NULL)
    return G_SOURCE_REMOVE;
  if (self->choose)
    {
      self->choose = FALSE;
      self->left = covers (self, FALSE) && !covers (self, TRUE);
      gtk_widget_set_halign (GTK_WIDGET (self), self->left ? GTK_ALIGN_START : GTK_ALIGN_END);
      gtk_widget_queue_resize (GTK_WIDGET (self)); /* what it lies in places it anew */
      update (self);
    }
  if (covers (self, self->left))
    gtk_widget_add_css_class (GTK_WIDGET (self), "faded");
  else
    gtk_widget_remove_css_class (GTK_WIDGET (self), "faded");
  return G_SOURCE_REMOVE;
}

void
ir_minimap_update (IrMinimap *self)
{
  update (self);
  g_clear_handle_id (&self->resting, g_source_remove);
  self->resting = g_timeout_add (REST_MS, on_rest, self);
}

void
ir_minimap_scene_changed (IrMinimap *self)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  gconstpointer model = frame != NULL && frame->scene != NULL ? frame->model->context : NULL;

  make_picture (self);
  self->choose = self->choose || model != self->model;
  self->model = model;
  ir_minimap_update (self);
}

static void
on_colours_changed (IrMinimap *self)
{
  self->colours = ir_colours_wanted ();
  if (self->canvas != NULL)
    make_picture (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
ir_minimap_finalize (GObject *object)
{
  g_clear_handle_id (&IR_MINIMAP (object)->resting, g_source_remove);
  g_clear_pointer (&IR_MINIMAP (object)->picture, cairo_surface_destroy);
  G_OBJECT_CLASS (ir_minimap_parent_class)->finalize (object);
}

static void
ir_minimap_class_init (IrMinimapClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_minimap_finalize;
  GTK_WIDGET_CLASS (klass)->measure = ir_minimap_measure;
  GTK_WIDGET_CLASS (klass)->snapshot = ir_minimap_snapshot;
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_IMG);
}

static void
ir_minimap_init (IrMinimap *self)
{
  GtkGesture *drag = gtk_gesture_drag_new ();

  g_signal_connect_swapped (drag, "drag-begin", G_CALLBACK (on_drag_begin), self);
  g_signal_connect_swapped (drag, "drag-update", G_CALLBACK (on_drag_update), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
  gtk_widget_add_css_class (GTK_WIDGET (self), "minimap");
  gtk_widget_set_halign (GTK_WIDGET (self), GTK_ALIGN_END);
  gtk_widget_set_valign (GTK_WIDGET (self), GTK_ALIGN_START);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self), "The whole graph: drag to move");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Overview of the graph", -1);
  ir_colours_watch (self, G_CALLBACK (on_colours_changed));
  on_colours_changed (self);
}

GtkWidget *
ir_minimap_new (IrCanvas *canvas)
{
  IrMinimap *self = g_object_new (IR_TYPE_MINIMAP, NULL);

  self->most_width = MOST_WIDTH;
  self->most_height = MOST_HEIGHT;
  self->canvas = canvas;
  return GTK_WIDGET (self);
}
