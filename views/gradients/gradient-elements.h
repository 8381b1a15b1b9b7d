/* The elements of one derivative: where they lie, what they are derived by, and what differences said. */
#pragma once

#include "passes/debug/gradients.h"

#include <gtk/gtk.h>

#define IR_TYPE_GRADIENT_ELEMENTS (ir_gradient_elements_get_type ())
G_DECLARE_FINAL_TYPE (IrGradientElements, ir_gradient_elements, IR, GRADIENT_ELEMENTS, GtkWidget)

/* Signals:
 *   chosen (guint64 index)    an element, in the order of memory */
GtkWidget *ir_gradient_elements_new (void); /* floating */
/* @gradients: (nullable); of many elements the largest are listed. @row -1: no derivative is chosen */
void ir_gradient_elements_set (IrGradientElements *self, IrGradients *gradients, int row);
/* Puts what differences said into the row of that element. */
void ir_gradient_elements_take (IrGradientElements *self, const IrGradcheckItem *item);
