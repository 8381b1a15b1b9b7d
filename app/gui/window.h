/* The main window: header bar, panes made from the registry of views, transport bar, messages. It
 * wires; what things mean is in the session and the views. */
#pragma once

#include "views/session/session.h"

#include <adwaita.h>

#define IR_TYPE_WINDOW (ir_window_get_type ())
G_DECLARE_FINAL_TYPE (IrWindow, ir_window, IR, WINDOW, AdwApplicationWindow)

IrWindow *ir_window_new (GtkApplication *application);
IrSession *ir_window_get_session (IrWindow *self); /* (transfer none) */
void ir_window_open (IrWindow *self, GFile *file);
void ir_window_offer_lost (IrWindow *self); /* the session of a window that was not closed */
