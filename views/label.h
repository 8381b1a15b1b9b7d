/* Labels that hold names of a model, which may be longer than a line. */
#pragma once

#include <gtk/gtk.h>

void ir_label_wrap_names (GtkLabel *label);
void ir_set_tip (GtkWidget *widget, const char *text); /* (nullable) of any length */
/* Of files; (transfer full) */
char *ir_short_name (const char *name);
char *ir_breakable_name (const char *path);
