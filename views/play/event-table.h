/* The columns of a table of events. */
#pragma once

#include <gtk/gtk.h>

GtkWidget *ir_event_table_new (void); /* a GtkColumnView of IrEventRow, without a model yet */
