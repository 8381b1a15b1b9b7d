/* Orthogonal lines with rounded corners, of plain render nodes: paths are not there in GTK 4.8. */
#pragma once

#include <gtk/gtk.h>

typedef struct
{
  GtkSnapshot *snapshot;
  GdkRGBA colour;
  double width;       /* whole px */
  double low;         /* how much of the width lies left of or above the line */
  const double *dash; /* (nullable) */
  guint n_dash;
} IrStroke;

/* @most: px, of the radius of corners */
void ir_stroke_polyline (const IrStroke *pen, const graphene_point_t *p, guint n, double most);
void ir_stroke_outline (const IrStroke *pen, const GskRoundedRect *outline);
