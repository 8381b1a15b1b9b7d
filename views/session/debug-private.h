/* The debugger, for the folder alone. */
#pragma once

#include "views/session/debug.h"
#include "views/session/request.h"

/* -- what was found out about the timeline's steps holds for no other -- */
void ir_session_forget_scores (IrSession *self);
void ir_session_forget_bisection (IrSession *self);
void ir_session_forget_whys (IrSession *self);

/* -- scoreboard.c -- */
/* Makes the scoreboard, then calls @then, with @error where it could not be made. */
void ir_session_score_then (IrSession *self, void (*then) (IrSession *self, const GError *error));

/* -- pipeline.c -- */
/* The one that is chosen. (transfer full) */
IrPipeline *ir_session_load_pipeline (IrSession *self, GError **error);

/* -- bisect.c -- */
/* The frame of the step is there: what diverges first is selected in it. */
void ir_session_select_pending (IrSession *self);
/* (transfer full) (nullable): the steps of @request's timeline, to be run */
IrTrial *ir_request_trial (const IrRequest *request, GCancellable *cancellable, GError **error);

/* -- what-if.c -- */
/* Just before the result without @skips takes its place: the original one is kept. Takes both. */
void ir_session_keep_original (IrSession *self, GStrv skips, IrWhatIf *what_if);
void ir_session_forget_what_if (IrSession *self);
/* (transfer none) (nullable): the result with nothing skipped; the one on screen, or kept */
IrTimeline *ir_session_get_unskipped (IrSession *self);
/* (nullable): what the what-if left out that was forgotten last */
const char *const *ir_session_get_ended_skips (IrSession *self);
