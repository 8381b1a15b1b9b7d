/* The table of the elements of a value: where they lie, before and after, and how they differ. */
#pragma once

#include "views/tensor/element-list.h"

#include <gtk/gtk.h>

enum
{
  IR_ELEMENT_INDEX,
  IR_ELEMENT_BEFORE,
  IR_ELEMENT_AFTER,
  IR_ELEMENT_DIFFERENCE,
  IR_N_ELEMENT_COLUMNS
};

/* A GtkColumnView of @elements with a selection of one row; @columns: (out). (transfer floating) */
GtkWidget *ir_element_table_new (IrElementList *elements,
                                 GtkColumnViewColumn *columns[IR_N_ELEMENT_COLUMNS]);
/* Selects the row of an element and brings it into sight. */
void ir_element_table_scroll (GtkWidget *table, guint64 index);
/* The selected element; G_MAXUINT64: none */
guint64 ir_element_table_selected (GtkWidget *table);
