/* What floats over the canvas while one searches: an entry, what was found as one types, and how to
 * ask. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

#define IR_TYPE_SEARCH_PANEL (ir_search_panel_get_type ())
G_DECLARE_FINAL_TYPE (IrSearchPanel, ir_search_panel, IR, SEARCH_PANEL, GtkBox)

/* Signals:
 *   chosen (gboolean looked_at)  a hit is selected: by choice, else while one types or moves
 *   stopped                      the panel was closed */
GtkWidget *ir_search_panel_new (IrSession *session);
void ir_search_panel_open (IrSearchPanel *self);
void ir_search_panel_move (IrSearchPanel *self, int by); /* to the next hit, or the one before */
void ir_search_panel_frame_changed (IrSearchPanel *self);
