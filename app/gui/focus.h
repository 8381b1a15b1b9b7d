/* The focus of a window, which a menu that closes may leave on what is no longer there. */
#pragma once

#include <gtk/gtk.h>

void ir_focus_keep (GtkWindow *window);
