/* The way of boxes from one picture to the next: from where each was on the screen to where it is. */
#pragma once

#include "core/layout/scene.h"

typedef struct _IrTween IrTween;

/* @dx, @dy: px of the scene by which all of @before stands elsewhere on the screen. NULL: nothing
 * moves, or too much does. */
IrTween *ir_tween_new (const IrScene *before, const IrScene *after, double dx, double dy);
void ir_tween_free (IrTween *tween);

/* Where a box is at @t, 0 … 1. @is_new: (out): it was not there before */
IrLayoutRect ir_tween_rect (const IrTween *tween, gint32 box, double t, gboolean *is_new);
gboolean ir_tween_moves_line (const IrTween *tween, const IrSceneLine *line);
