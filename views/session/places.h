/* Where boxes stand that were moved by hand: of the picture, not of the model. */
#pragma once

#include "core/look/kept.h"
#include "views/session/session.h"

/* @keys: of boxes of the scene; @dx, @dy: px at 1:1, added to what they were moved by before */
void ir_session_move_boxes (IrSession *self, const guint64 *keys, guint n, double dx, double dy);
gboolean ir_session_has_places (IrSession *self);
void ir_session_keep_places (IrSession *self, IrKeptView *view);
void ir_session_show_places (IrSession *self, const IrKeptView *view); /* tells nobody */
void ir_session_arrange (IrSession *self); /* all go back to where they are laid out */
