/* The tabs of a pane in a row: those that do not fit are in a menu at its end. */
#pragma once

#include "views/view.h"

/* @tabs: (transfer floating): those of the views of @place; @stack: (nullable): that they switch */
GtkWidget *ir_tab_row_new (GtkWidget *tabs, IrViewPlace place, GtkStack *stack);
