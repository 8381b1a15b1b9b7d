/* Labels that hold names of a model, which may be longer than a line. */
#pragma once

#include <gtk/gtk.h>

void ir_label_wrap_names (GtkLabel *label);
