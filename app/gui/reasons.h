/* Why something cannot be done now, and what may wait. */
#pragma once

#include "app/gui/window.h"

char *ir_window_why_not (IrWindow *self, const char *action); /* (nullable): it can */
/* Has it done when nothing is going on any more. Whether it can wait for that, and does not go on already */
gboolean ir_window_wait_for_turn (IrWindow *self, const char *action);
char *ir_window_button_tip (IrWindow *self, GtkActionable *button);
void ir_window_explain_keys (IrWindow *self);
void ir_window_explain_buttons (GtkWidget *widget, IrWindow *self);
