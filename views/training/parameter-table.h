/* The parameters of a training run as a table: how long they are, and how far steps move them. */
#pragma once

#include "passes/training/parameters.h"

#include <gtk/gtk.h>

#define IR_TYPE_PARAMETER_TABLE (ir_parameter_table_get_type ())
G_DECLARE_FINAL_TYPE (IrParameterTable, ir_parameter_table, IR, PARAMETER_TABLE, GtkWidget)

/* Signals:
 *   activate (string name)    Enter on, or a double click at, the parameter of that name */
GtkWidget *ir_parameter_table_new (void); /* floating */
/* @parameters: (nullable) (element-type IrParameterCourse) */
void ir_parameter_table_set (IrParameterTable *self, const GPtrArray *parameters);
