/* A picture far out: plain rectangles and straight hairlines, by cairo alone, from any thread. */
#pragma once

#include "core/render/palette.h"

#include <cairo.h>

/* @boxes, @lines: of gint32, in painting order. @x, @y: px, whole, of the upper left corner. */
void ir_flat_paint (const IrScene *scene,
                    const IrPalette *palette,
                    double zoom,
                    double x,
                    double y,
                    const GArray *boxes,
                    const GArray *lines,
                    cairo_t *cr);
