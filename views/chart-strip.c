#include "config.h"

#include "views/chart-strip.h"

#include <stdlib.h>

void
ir_chart_strip_clear (IrChartStrip *self)
{
  g_clear_pointer (&self->pixels, cairo_surface_destroy);
  g_clear_pointer (&self->scene, ir_scene_unref);
}

/* Whether what is painted shows the same, but for where it is along x. */
static gboolean
is_moved (const IrChartStrip *self,
          const IrScene *scene,
          const IrPalette *palette,
          const GdkRectangle *seen,
          int scale)
{
  return self->pixels != NULL && self->scene == scene && self->palette == palette &&
         self->scale == scale && self->seen.y == seen->y && self->seen.width == seen->width &&
         self->seen.height == seen->height && abs (self->seen.x - seen->x) < seen->width;
}

/* The columns from @x on, in px of the widget */
static void
paint (const IrChartStrip *self, int x, int width, cairo_t *cr)
{
  const IrLayoutRect bounds = ir_scene_bounds (self->scene);
  const IrLayoutRect clip = { x + bounds.x, self->seen.y + bounds.y, width, self->seen.height };

  cairo_save (cr);
  cairo_rectangle (cr, x - self->seen.x, 0, width, self->seen.height);
  cairo_clip (cr);
  cairo_translate (cr, -self->seen.x - bounds.x, -self->seen.y - bounds.y);
  ir_render_cairo (self->scene, self->palette, &clip, 1, cr);
  cairo_restore (cr);
}

static cairo_surface_t *
new_pixels (const GdkRectangle *seen, int scale)
{
  cairo_surface_t *pixels = cairo_image_surface_create (
      CAIRO_FORMAT_ARGB32, MAX (seen->width, 1) * scale, MAX (seen->height, 1) * scale);

  cairo_surface_set_device_scale (pixels, scale, scale);
  return pixels;
}

/* Pixels that were shown are never written to again, as who shows them may have kept them. */
static void
move (IrChartStrip *self, const GdkRectangle *seen)
{
  const int dx = seen->x - self->seen.x;
  cairo_surface_t *old = self->pixels;
  cairo_t *cr;

  self->pixels = new_pixels (seen, self->scale);
  cr = cairo_create (self->pixels);
  cairo_set_operator (cr, CAIRO_OPERATOR_SOURCE);
  cairo_set_source_surface (cr, old, -dx, 0);
  cairo_paint (cr);
  cairo_set_operator (cr, CAIRO_OPERATOR_OVER);
  self->seen = *seen;
  paint (self, dx > 0 ? seen->x + seen->width - dx : seen->x, abs (dx), cr);
  cairo_destroy (cr);
  cairo_surface_destroy (old);
}

static void
begin (IrChartStrip *self,
       IrScene *scene,
       const IrPalette *palette,
       const GdkRectangle *seen,
       int scale)
{
  cairo_t *cr;

  ir_chart_strip_clear (self);
  *self = (IrChartStrip){ new_pixels (seen, scale), ir_scene_ref (scene), palette, *seen, scale };
  cr = cairo_create (self->pixels);
  paint (self, seen->x, seen->width, cr);
  cairo_destroy (cr);
}

void
ir_chart_strip_draw (IrChartStrip *self,
                     IrScene *scene,
                     const IrPalette *palette,
                     const GdkRectangle *seen,
                     int scale,
                     cairo_t *cr)
{
  if (!is_moved (self, scene, palette, seen, scale))
    begin (self, scene, palette, seen, scale);
  else if (self->seen.x != seen->x)
    move (self, seen);
  cairo_set_source_surface (cr, self->pixels, seen->x, seen->y);
  cairo_paint (cr);
}
