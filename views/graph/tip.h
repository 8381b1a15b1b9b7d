/* What is said of the box or line under the pointer, once it rests: beside it, where no box is if there is such a
 * place. GTK places its own tips by the pointer, over the box that they are about and over its neighbours. */
#pragma once

#include "views/graph/canvas.h"

typedef struct _IrTip IrTip;

IrTip *ir_tip_new (IrCanvas *canvas);
void ir_tip_free (IrTip *tip);
/* The pointer is at (@x, @y) over @hit; what is shown of something else goes. */
void ir_tip_point (IrTip *tip, IrSceneHit hit, double x, double y);
gboolean ir_tip_show (IrTip *tip); /* at once. FALSE: there is nothing to say */
void ir_tip_hide (IrTip *tip);
void ir_tip_snapshot (IrTip *tip, GtkSnapshot *snapshot);
/* Where it is on the canvas, px. FALSE: it is not. */
gboolean ir_tip_get_rect (const IrTip *tip, graphene_rect_t *rect);
