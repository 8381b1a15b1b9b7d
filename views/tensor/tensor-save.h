/* Contents of a value, away from the window: to the clipboard, or into a file. */
#pragma once

#include "views/tensor/tensor-plot.h"

void ir_tensor_to_clipboard (GtkWidget *widget, const IrTensor *tensor);
/* @plot: what .png and .svg get; @says: a label that tells of a failure. */
void ir_tensor_ask_and_save (IrTensor *tensor, IrTensorPlot *plot, GtkWidget *says);
