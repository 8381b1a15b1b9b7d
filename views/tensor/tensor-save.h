/* Contents of a value, away from the window: to the clipboard, or into a file. */
#pragma once

#include "views/tensor/tensor-plot.h"

void ir_tensor_to_clipboard (GtkWidget *widget, const IrTensor *tensor);
typedef struct
{
  const char *title; /* "After" */
  IrTensorPlot *plot;
} IrTensorSaved;

/* @plots: what can be saved, the first one unless another is chosen; @says: a label that tells of a failure. */
void ir_tensor_ask_and_save (const IrTensorSaved *plots, guint n, GtkWidget *says);
