/* Keys that come before a window has the focus of the display. */
#pragma once

#include <gtk/gtk.h>

void ir_take_early_keys (GtkWindow *window);
