/* Contents of a value, away from the window: to the clipboard, or into a file. */
#pragma once

#include "views/tensor/tensor-facts.h"
#include "views/tensor/tensor-plot.h"

/* Returns: (nullable): why it could not, as a sentence */
const char *ir_tensor_to_clipboard (GtkWidget *widget, const IrTensor *tensor);
/* @plots: of after, before and the difference, of which those that there are can be chosen; @says: a label that tells of
 * a failure. */
void ir_tensor_ask_and_save (const IrTensorFacts *facts,
                             IrTensorPlot *const plots[3],
                             GtkWidget *says);
