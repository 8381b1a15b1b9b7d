/* The canvas alone, or two of them beside each other: the graph before on the left, the graph at the
 * cursor on the right. Both paint the picture of both, each its side, so that what both have stands at
 * the same place; zoom, place and selection are one. */
#pragma once

#include "views/graph/canvas.h"

#define IR_TYPE_TWO_SIDES (ir_two_sides_get_type ())
G_DECLARE_FINAL_TYPE (IrTwoSides, ir_two_sides, IR, TWO_SIDES, GtkWidget)

GtkWidget *ir_two_sides_new (IrCanvas *canvas); /* (transfer floating) takes the canvas into it */
void ir_two_sides_set_wanted (IrTwoSides *self, gboolean wanted);
gboolean ir_two_sides_get_wanted (IrTwoSides *self);
gboolean ir_two_sides_are_shown (IrTwoSides *self); /* wanted, and there are two */
/* There is another frame, or another selection. */
void ir_two_sides_session_changed (IrTwoSides *self, IrSessionChanges changes);
