/* Why something cannot be done now. */
#pragma once

#include "app/gui/window.h"

char *ir_window_why_not (IrWindow *self, const char *action); /* (nullable): it can */
char *ir_window_button_tip (IrWindow *self, GtkActionable *button);
void ir_window_explain_keys (IrWindow *self);
void ir_window_explain_buttons (GtkWidget *widget, IrWindow *self);
