/* A picture of a tensor: its histogram and, beside it, one plane as a heat map. A plane is what the
 * last two axes longer than 1 span; one long row is wrapped. Colours say the sign and the size; NaN
 * and infinities have colours of their own. The heat map is made in a job; until it is there the
 * old one stays. */
#pragma once

#include "core/exec/exec.h"

#include <gtk/gtk.h>

#define IR_TYPE_TENSOR_PLOT (ir_tensor_plot_get_type ())
G_DECLARE_FINAL_TYPE (IrTensorPlot, ir_tensor_plot, IR, TENSOR_PLOT, GtkWidget)

/* Signal: picked (guint64 index), an element was clicked. */
GtkWidget *ir_tensor_plot_new (const char *label); /* (transfer floating) */
/* @minus: (nullable): shows @tensor - @minus; both NULL: nothing. */
void ir_tensor_plot_load (IrTensorPlot *self,
                          IrTensor *tensor,
                          IrTensor *minus,
                          const IrTensorStats *stats);
void ir_tensor_plot_set_plane (IrTensorPlot *self, guint64 plane);

guint64 ir_tensor_n_planes (const IrTensor *tensor); /* 0: it has no elements */
void ir_tensor_plane_size (const IrTensor *tensor, guint64 *rows, guint64 *columns);
char *ir_tensor_plane_text (const IrTensor *tensor, guint64 plane); /* "[0, 2, :, :]" */
