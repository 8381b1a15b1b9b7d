/* What can be done to the graph by hand, in the main menu. */
#pragma once

#include "app/gui/window.h"

void ir_edit_menu_attach (GtkMenuButton *button, GMenu *menu, IrWindow *window);
