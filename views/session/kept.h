/* Views of the graph that are kept under numbers. */
#pragma once

#include "core/look/kept.h"
#include "views/session/session.h"

GPtrArray *ir_session_get_kept (IrSession *self); /* of IrKeptView; NULL where nothing is kept */
void ir_session_take_kept (IrSession *self, GPtrArray *views); /* takes it; tells nobody */
void ir_session_forget_kept (IrSession *self);
void ir_session_keep_view (IrSession *self, guint number, const IrKeptView *place);
const IrKeptView *ir_session_show_kept (IrSession *self, guint number); /* (nullable) */
/* What is looked at now: zoom, middle and size. Whoever owns the camera says it, and goes where it is told. */
const IrKeptView *ir_session_get_sight (IrSession *self); /* (nullable) */
void ir_session_note_sight (IrSession *self, const IrKeptView *place);
void ir_session_go_to_sight (IrSession *self, const IrKeptView *place);
gboolean ir_session_take_wanted_sight (IrSession *self, IrKeptView *place);
