/* What the colours of the picture mean, at its edge. */
#pragma once

#include "core/look/scale.h"

#include <gtk/gtk.h>

#define IR_TYPE_LEGEND (ir_legend_get_type ())
G_DECLARE_FINAL_TYPE (IrLegend, ir_legend, IR, LEGEND, GtkWidget)

GtkWidget *ir_legend_new (void);
void ir_legend_set_scale (IrLegend *self, const IrScale *scale); /* (nullable) nothing is shown */
