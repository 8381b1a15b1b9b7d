/* Dragging on the canvas: from a port to another node, a rubber band, boxes to other places. What
 * else is dragged pans, which is the canvas's own. */
#pragma once

#include "views/graph/canvas.h"
#include "views/graph/paint.h"

typedef struct _IrDrag IrDrag;

IrDrag *ir_drag_new (IrCanvas *canvas);
void ir_drag_free (IrDrag *self);
gboolean ir_drag_is_going_on (IrDrag *self);
void ir_drag_snapshot (IrDrag *self, GtkSnapshot *snapshot);
