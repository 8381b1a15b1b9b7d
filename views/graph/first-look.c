/* The first look at a graph: where it begins, as far out as it can be read. */
#include "config.h"

#include "views/graph/canvas-private.h"

#define NAMES_ZOOM 0.25 /* columns are looked at as a whole where their names can be read */
#define MAX_FIRST  400  /* boxes at the beginning that are looked at */

/* Of what lies above @bottom, the place where a view of this @width shows the most boxes whole: of
 * the places that begin with a box. Returns the middle of those boxes. */
static double
crowded_middle (IrCanvas *self, double bottom, double width)
{
  guint n, n_best = 0;
  const IrSceneBox *boxes = ir_scene_boxes (canvas_scene (self), &n);
  g_autoptr (GPtrArray) first = g_ptr_array_new ();
  const IrLayoutRect bounds = ir_scene_bounds (canvas_scene (self));
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

/* Of columns: the left end, or where the first of them begins, if that is farther right than @width. */
static double
first_middle (IrCanvas *self, double bottom, double width)
{
  const IrLayoutRect bounds = ir_scene_bounds (canvas_scene (self));
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (canvas_scene (self), &n);
  double left = bounds.x + bounds.width, right = left;

  for (guint i = 0; i < n; i++)
    if (boxes[i].kind != IR_SCENE_CLUSTER && boxes[i].y + boxes[i].height <= bottom &&
        boxes[i].x < left)
      {
        left = boxes[i].x;
        right = left + boxes[i].width;
      }
  return (right <= bounds.x + width ? bounds.x : left - 16) + width / 2;
}

/* The first look at a graph: all of it where that is readable, else its beginning. */
void
canvas_place_first (IrCanvas *self)
{
  const IrLayoutRect bounds = ir_scene_bounds (canvas_scene (self));
  const double width = gtk_widget_get_width (GTK_WIDGET (self));
  double height;
  const double fit = canvas_fit_zoom (self, &bounds, &height);
  const double across = CANVAS_FIT * width / MAX (bounds.width, 1);

  if (width <= 1 || height <= 1)
    return;
  /* columns are for wide pictures: a narrow one would be small in an empty window */
  if (fit >= CANVAS_READABLE || (ir_scene_is_wrapped (canvas_scene (self)) && fit >= NAMES_ZOOM &&
                                 bounds.width * fit > width / 2))
    canvas_set_camera (self, fit, (bounds.x + bounds.width / 2) * fit - width / 2,
                       (bounds.y + bounds.height / 2) * fit - height / 2);
  else
    {
      const double zoom = CLAMP (across, CANVAS_READABLE, 1.0);
      const double x = ir_scene_is_wrapped (canvas_scene (self))
                           ? first_middle (self, bounds.y + height / zoom, width / zoom)
                           : crowded_middle (self, bounds.y + height / zoom, width / zoom - 16);

      canvas_set_camera (self, zoom, x * zoom - width / 2, bounds.y * zoom - CANVAS_ROOM_ABOVE);
    }
}
