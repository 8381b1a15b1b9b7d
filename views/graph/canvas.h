/* The canvas: paints the scene of the session's frame, pans, zooms, selects. Put it into a
 * GtkScrolledWindow. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

#define IR_TYPE_CANVAS (ir_canvas_get_type ())
G_DECLARE_FINAL_TYPE (IrCanvas, ir_canvas, IR, CANVAS, GtkWidget)

/* Signals: zoomed; menu (double x, double y): a context menu is wanted there. */
GtkWidget *ir_canvas_new (IrSession *session); /* (transfer floating) */
void ir_canvas_frame_changed (IrCanvas *self);
void ir_canvas_selection_changed (IrCanvas *self);
double ir_canvas_get_zoom (IrCanvas *self);
void ir_canvas_zoom_by (IrCanvas *self, double factor); /* around the middle */
void ir_canvas_zoom_to (IrCanvas *self, double zoom);
void ir_canvas_fit (IrCanvas *self);
void ir_canvas_set_inset (IrCanvas *self, double px); /* something floats over so much below */
void ir_canvas_show_box (IrCanvas *self, gint32 box); /* moves only if it is not in sight */
void ir_canvas_show_selection (IrCanvas *self);
void ir_canvas_show_changes (IrCanvas *self);   /* of the frame's diff */
gint32 ir_canvas_selected_box (IrCanvas *self); /* -1 = none */
