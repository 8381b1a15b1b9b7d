/* Views of the graph that are kept under numbers. */
#pragma once

#include "core/look/kept.h"
#include "views/session/session.h"

GPtrArray *ir_session_get_kept (IrSession *self); /* of IrKeptView; NULL where nothing is kept */
void ir_session_take_kept (IrSession *self, GPtrArray *views); /* takes it; tells nobody */
void ir_session_forget_kept (IrSession *self);
void ir_session_keep_view (IrSession *self, guint number, const IrKeptView *place);
const IrKeptView *ir_session_show_kept (IrSession *self, guint number); /* (nullable) */
