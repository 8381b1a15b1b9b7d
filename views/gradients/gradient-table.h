/* A table of derivatives, or of what came back to nodes: rows of IrGradients that can be sorted. */
#pragma once

#include "passes/debug/gradients.h"

#include <gtk/gtk.h>

#define IR_TYPE_GRADIENT_ITEM (ir_gradient_item_get_type ())
G_DECLARE_FINAL_TYPE (IrGradientItem, ir_gradient_item, IR, GRADIENT_ITEM, GObject)

#define IR_TYPE_GRADIENT_TABLE (ir_gradient_table_get_type ())
G_DECLARE_FINAL_TYPE (IrGradientTable, ir_gradient_table, IR, GRADIENT_TABLE, GtkWidget)

/* Signals:
 *   chosen (int index)    the row of that index among those of the derivatives; -1: none */
GtkWidget *ir_gradient_table_new (gboolean layers, const char *label); /* floating */
void ir_gradient_table_set (IrGradientTable *self, IrGradients *gradients); /* (nullable) */
int ir_gradient_table_get_chosen (IrGradientTable *self);
void ir_gradient_table_choose (IrGradientTable *self, int index);
