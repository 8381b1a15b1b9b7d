/* What was done to the graph, for the folder alone. None of these tells. */
#pragma once

#include "views/session/request.h"
#include "views/session/undo.h"

/* Another file is open: nothing was done to it. */
void ir_session_begin_acts (IrSession *self);
/* What @request brought is in place: its first @base steps were those of the timeline before it. */
void ir_session_record_act (
    IrSession *self, const IrRequest *request, const char *title, guint base, gboolean is_edit);
guint ir_session_get_edits (IrSession *self); /* the same number: the same edits */
