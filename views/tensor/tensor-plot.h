/* A picture of a tensor: its histogram and, beside it, what core/render/tensor-picture.h makes of it: at
 * first one plane, as the last two axes longer than 1 span it, or of a vector a line. Of a difference it can
 * be both sides against each other. It is made in a job; until it is there the old one stays. */
#pragma once

#include "core/exec/exec.h"
#include "core/render/tensor-picture.h"

#include <gtk/gtk.h>

#define IR_TYPE_TENSOR_PLOT (ir_tensor_plot_get_type ())
G_DECLARE_FINAL_TYPE (IrTensorPlot, ir_tensor_plot, IR, TENSOR_PLOT, GtkWidget)

/* Signals: picked (guint64 index), an element was clicked; zoomed (guint64 index, double factor), so many times
 * the rows and columns around it are wanted. */
GtkWidget *ir_tensor_plot_new (const char *label); /* (transfer floating) */
/* @minus: (nullable): shows @tensor - @minus; both NULL: nothing. @sampled: a part of the elements is enough */
void ir_tensor_plot_load (IrTensorPlot *self,
                          IrTensor *tensor,
                          IrTensor *minus,
                          const IrTensorStats *stats,
                          gboolean sampled);
void ir_tensor_plot_set_layout (IrTensorPlot *self, const IrTensorLayout *layout);
void ir_tensor_plot_set_scatter (IrTensorPlot *self, gboolean scatter); /* of differences */
void ir_tensor_plot_set_histogram (IrTensorPlot *self, IrHistogramKind kind);
void ir_tensor_plot_mark (IrTensorPlot *self, guint64 index);
gboolean ir_tensor_plot_save (IrTensorPlot *self,
                              const char *path,
                              GError **error); /* .png, .svg */
