/* The canvas: paints the scene of the session's frame, pans, zooms, selects. Put it into a
 * GtkScrolledWindow. */
#pragma once

#include "core/layout/scene.h"
#include "views/graph/paint.h"
#include "views/session/frame.h"

#include <gtk/gtk.h>

#define IR_TYPE_CANVAS (ir_canvas_get_type ())
G_DECLARE_FINAL_TYPE (IrCanvas, ir_canvas, IR, CANVAS, GtkWidget)

/* Signals: zoomed; moved (the camera); menu (double x, double y): a context menu is wanted there;
 * value-dropped (guint value, double x, double y): a line was drawn to where nothing is. */
GtkWidget *ir_canvas_new (IrSession *session); /* (transfer floating) */
void ir_canvas_frame_changed (IrCanvas *self);
void ir_canvas_selection_changed (IrCanvas *self);
void ir_canvas_hover_changed (IrCanvas *self);  /* in another view */
void ir_canvas_tokens_changed (IrCanvas *self); /* of the event that is shown */
guint ir_canvas_n_hovered (IrCanvas *self);     /* boxes that are marked for that */
double ir_canvas_get_zoom (IrCanvas *self);
const IrScene *ir_canvas_get_scene (IrCanvas *self); /* (nullable) */
IrLayoutRect ir_canvas_get_sight (IrCanvas *self);   /* the part that is seen, in px of the scene */
void ir_canvas_centre (IrCanvas *self, double x, double y); /* px of the scene, to the middle */
void ir_canvas_follow (IrCanvas *self, IrCanvas *other);    /* looks at the same place */
/* One side of the difference, or both; what only the other has is not there. */
void ir_canvas_set_sides (IrCanvas *self, IrSceneSides sides);
void ir_canvas_blink (IrCanvas *self, gboolean on); /* the graph before, as long as it is on */
/* The same, at a zoom, as soon as the frame that is on its way is there. */
void ir_canvas_go_to (IrCanvas *self, double zoom, double x, double y); /* the middle, at once */
void ir_canvas_go_with_next_frame (IrCanvas *self, double zoom, double x, double y);
void ir_canvas_zoom_by (IrCanvas *self, double factor); /* around the middle */
void ir_canvas_zoom_to (IrCanvas *self, double zoom);
void ir_canvas_fit (IrCanvas *self);
void ir_canvas_toggle_fold (IrCanvas *self, const char *fold); /* as in ir_session_toggle_fold() */
double ir_canvas_get_inset (IrCanvas *self);
void ir_canvas_set_inset (IrCanvas *self, double px); /* something floats over so much below */
/* panes lie on so much at either side; what is selected stays in sight */
void ir_canvas_set_cover (IrCanvas *self, double left, double right);
/* In an upper corner, the right one or the @left one. */
void ir_canvas_set_map (IrCanvas *self, double width, double height, gboolean left);
void ir_canvas_set_note (IrCanvas *self,
                         double width,
                         double height);              /* in the lower left corner */
void ir_canvas_show_box (IrCanvas *self, gint32 box); /* moves only if it is not in sight */
void ir_canvas_centre_selected (IrCanvas *self);
void ir_canvas_flash (IrCanvas *self); /* the selected box, as soon as there is one */
void ir_canvas_show_selection (IrCanvas *self);
void ir_canvas_show_changes (IrCanvas *self);    /* of the frame's diff */
void ir_canvas_zoom_to_changes (IrCanvas *self); /* as large as they fit */
gint32 ir_canvas_selected_box (IrCanvas *self);  /* -1 = none */

/* -- for what is dragged and built -- */
IrSession *ir_canvas_get_session (IrCanvas *self);
const IrFrame *ir_canvas_get_frame (IrCanvas *self); /* (nullable) */
IrCamera ir_canvas_get_camera (IrCanvas *self);
IrSceneHit ir_canvas_pick (IrCanvas *self, double x, double y);
gint32 ir_canvas_hover_box (IrCanvas *self);    /* -1 = none */
gint32 ir_canvas_clicked_line (IrCanvas *self); /* -1 = none */
