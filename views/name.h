/* Names for assistive technology, where the toolkit leaves what takes the focus without one. */
#pragma once

#include <gtk/gtk.h>

void ir_name (GtkWidget *widget, const char *name);
void ir_name_buttons (GtkWidget *root, const char *name);
void ir_name_row (GtkWidget *child);
