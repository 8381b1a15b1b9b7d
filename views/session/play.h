/* The events of a run's control flow, as the session keeps them. */
#pragma once

#include "core/exec/run/flow-state.h"
#include "views/session/session.h"

void ir_session_play (IrSession *self);
/* (transfer none) (nullable): of the last one that was played; until something is played again */
void ir_session_forget_events (IrSession *self);
IrFlowLog *ir_session_get_events (IrSession *self);
const char *ir_session_get_play_error (
    IrSession *self); /* (nullable): why it ended before its end */
/* FALSE: its events are made again from a checkpoint, and %IR_CHANGED_EVENT tells when they are there. */
gboolean ir_session_play_rounds (IrSession *self, IrNodeId loop, gint64 first, gint64 last);
/* Where tokens are behind an event of those that are kept, from 0 */
void ir_session_show_event (IrSession *self, guint event);
void ir_session_hide_event (IrSession *self);
/* (transfer none) (nullable): behind the event that is shown, if it is one of the graph on screen */
const IrFlowState *ir_session_get_tokens (IrSession *self);
/* (transfer full) (nullable): why the events are not of what is on screen */
char *ir_session_events_stale_text (IrSession *self);
