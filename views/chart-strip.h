/* What of a chart is in sight, kept as pixels: a chart that is panned is moved, and only what comes into sight is
 * painted. */
#pragma once

#include "core/render/render.h"

#include <gtk/gtk.h>

typedef struct
{
  cairo_surface_t *pixels; /* (nullable) */
  IrScene *scene;          /* (nullable) that is painted there */
  const IrPalette *palette;
  GdkRectangle seen; /* px of the widget */
  int scale;
} IrChartStrip;

void ir_chart_strip_clear (IrChartStrip *self);
/* @seen: the part of the widget that is in sight, where the scene begins at 0, 0; @scale: device pixels to a px */
void ir_chart_strip_draw (IrChartStrip *self,
                          IrScene *scene,
                          const IrPalette *palette,
                          const GdkRectangle *seen,
                          int scale,
                          cairo_t *cr);
