/* Labels that hold names of a model, which may be longer than a line. */
#pragma once

#include <gtk/gtk.h>

void ir_label_wrap_names (GtkLabel *label);
/* Of files; (transfer full) */
char *ir_short_name (const char *name);
char *ir_breakable_name (const char *path);
