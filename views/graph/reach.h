/* Selecting what the selection reaches in the graph on screen. */
#pragma once

#include "core/query/query.h"
#include "views/session/session.h"

void ir_reach_select (IrSession *session, IrReach direction, guint steps);
void ir_reach_select_between (IrSession *session); /* two selected nodes */
