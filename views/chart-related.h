/* What belongs to the selected node in a chart of times. */
#pragma once

#include "views/session/session.h"

/* Of a node beside the selected one: that reads from it, it reads from. */
#define IR_CHART_INPUT  GINT_TO_POINTER (1)
#define IR_CHART_OUTPUT GINT_TO_POINTER (2)

/* @session: (nullable) nothing is selected. @related: gets ids of nodes and which of the two they are */
void ir_chart_find_related (IrSession *session, GHashTable *related);
