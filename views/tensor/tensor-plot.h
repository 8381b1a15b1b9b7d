/* A picture of a tensor: its histogram and, beside it, one plane (the last two axes) as a heat map.
 * Colours say the sign and the size; NaN and infinities have colours of their own. */
#pragma once

#include "core/exec/exec.h"

#include <gtk/gtk.h>

#define IR_TYPE_TENSOR_PLOT (ir_tensor_plot_get_type ())
G_DECLARE_FINAL_TYPE (IrTensorPlot, ir_tensor_plot, IR, TENSOR_PLOT, GtkWidget)
GtkWidget *ir_tensor_plot_new (void);
void ir_tensor_plot_load (IrTensorPlot *self,
                          IrTensor *tensor,
                          const IrTensorStats *stats); /* (nullable) */
void ir_tensor_plot_set_plane (IrTensorPlot *self, guint64 plane);
guint64 ir_tensor_n_planes (const IrTensor *tensor);
