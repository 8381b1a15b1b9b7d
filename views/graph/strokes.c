#include "config.h"

#include "views/graph/strokes.h"

#include <math.h>

static void
fill_rect (const IrStroke *pen, double x, double y, double width, double height)
{
  if (width > 0 && height > 0)
    gtk_snapshot_append_color (pen->snapshot, &pen->colour,
                               &GRAPHENE_RECT_INIT (x, y, width, height));
}

/* From (x0, y0) to (x1, y1), which share x or y. */
static void
draw_straight (const IrStroke *pen, double x0, double y0, double x1, double y1)
{
  const gboolean vertical = x0 == x1;
  const double from = vertical ? MIN (y0, y1) : MIN (x0, x1);
  const double to = vertical ? MAX (y0, y1) : MAX (x0, x1);
  double at = from;

  for (guint i = 0; at < to; i++)
    {
      const double length = pen->n_dash > 0 ? pen->dash[i % pen->n_dash] : to - from;
      const double end = MIN (at + length, to);

      if (i % 2 == 0 && vertical)
        fill_rect (pen, x0 - pen->low, at, pen->width, end - at);
      else if (i % 2 == 0)
        fill_rect (pen, at, y0 - pen->low, end - at, pen->width);
      at = end;
    }
}

/* A rounded corner at (x, y): one border node with two sides and one radius. */
static void
draw_corner (const IrStroke *pen, double x, double y, gboolean above, gboolean right, double radius)
{
  const double high = pen->width - pen->low;
  const double x0 = right ? x - pen->low : x - radius, x1 = right ? x + radius : x + high;
  const double y0 = above ? y - radius : y - pen->low, y1 = above ? y + high : y + radius;
  const graphene_size_t round_size = { (float) (radius + pen->low), (float) (radius + pen->low) };
  const graphene_size_t none = { 0, 0 };
  const GdkRGBA colours[4] = { pen->colour, pen->colour, pen->colour, pen->colour };
  const float width = (float) pen->width;
  GskRoundedRect outline;

  gsk_rounded_rect_init (
      &outline, &GRAPHENE_RECT_INIT (x0, y0, x1 - x0, y1 - y0),
      !above && right ? &round_size : &none, !above && !right ? &round_size : &none,
      above && !right ? &round_size : &none, above && right ? &round_size : &none);
  gtk_snapshot_append_border (pen->snapshot, &outline,
                              (const float[4]){ above ? 0 : width, right ? 0 : width,
                                                above ? width : 0, right ? width : 0 },
                              colours);
}

static double
segment_length (const graphene_point_t *a, const graphene_point_t *b)
{
  return fabs (a->x - b->x) + fabs (a->y - b->y);
}

/* The radius of the corner at point @i of @p. */
static double
bend (const graphene_point_t *p, guint i, guint n, double most)
{
  if (i == 0 || i + 1 >= n)
    return 0;
  if ((p[i].x == p[i - 1].x) == (p[i].x == p[i + 1].x))
    return 0;
  return floor (
      MIN (most, MIN (segment_length (&p[i - 1], &p[i]), segment_length (&p[i], &p[i + 1])) / 2));
}

void
ir_stroke_polyline (const IrStroke *pen, const graphene_point_t *p, guint n, double most)
{
  for (guint i = 0; i + 1 < n; i++)
    {
      const double r0 = bend (p, i, n, most), r1 = bend (p, i + 1, n, most);
      const double dx = p[i + 1].x > p[i].x ? 1 : p[i + 1].x < p[i].x ? -1 : 0;
      const double dy = p[i + 1].y > p[i].y ? 1 : p[i + 1].y < p[i].y ? -1 : 0;

      draw_straight (pen, p[i].x + dx * r0, p[i].y + dy * r0, p[i + 1].x - dx * r1,
                     p[i + 1].y - dy * r1);
      if (r1 > 0)
        {
          const graphene_point_t *vertical = p[i].x == p[i + 1].x ? &p[i] : &p[i + 2];
          const graphene_point_t *horizontal = p[i].x == p[i + 1].x ? &p[i + 2] : &p[i];

          draw_corner (pen, p[i + 1].x, p[i + 1].y,
                       vertical->y<p[i + 1].y, horizontal->x> p[i + 1].x, r1);
        }
    }
}

/* The rim of a rounded box, from within */
void
ir_stroke_outline (const IrStroke *pen, const GskRoundedRect *outline)
{
  const graphene_rect_t *r = &outline->bounds;
  const double radius = outline->corner[0].width, half = pen->width / 2;
  cairo_t *cr = gtk_snapshot_append_cairo (pen->snapshot, r);
  const double x0 = r->origin.x + half, y0 = r->origin.y + half;
  const double x1 = r->origin.x + r->size.width - half, y1 = r->origin.y + r->size.height - half;

  gdk_cairo_set_source_rgba (cr, &pen->colour);
  cairo_set_line_width (cr, pen->width);
  cairo_set_dash (cr, pen->dash, (int) pen->n_dash, 0);
  cairo_new_sub_path (cr);
  cairo_arc (cr, x1 - radius, y0 + radius, radius, -G_PI_2, 0);
  cairo_arc (cr, x1 - radius, y1 - radius, radius, 0, G_PI_2);
  cairo_arc (cr, x0 + radius, y1 - radius, radius, G_PI_2, G_PI);
  cairo_arc (cr, x0 + radius, y0 + radius, radius, G_PI, 1.5 * G_PI);
  cairo_close_path (cr);
  cairo_stroke (cr);
  cairo_destroy (cr);
}
