/* Dividers: moved by the pointer alone, so that keys step through the graph wherever the focus is. */
#pragma once

#include <gtk/gtk.h>

/* Where a divider belongs when it is double clicked. */
typedef int (*IrPanePlace) (GtkPaned *paned, gpointer data);

void ir_panes_set_up (GtkPaned *paned, IrPanePlace place, gpointer data);
void ir_panes_set_up_within (GtkWidget *root);
int ir_panes_keep (int size, int least, int all);
