/* The events of a run's control flow, as the session keeps them. */
#pragma once

#include "core/exec/run/flow-log.h"
#include "views/session/session.h"

void ir_session_play (IrSession *self);
/* (transfer none) (nullable): of the last one that was played; until something is played again */
void ir_session_forget_events (IrSession *self);
IrFlowLog *ir_session_get_events (IrSession *self);
const char *ir_session_get_play_error (
    IrSession *self); /* (nullable): why it ended before its end */
/* (transfer full) (nullable): why the events are not of what is on screen */
char *ir_session_events_stale_text (IrSession *self);
