/* Graphs as text without names, for tests of what comes back. */
#pragma once

#include "core/ir/model.h"

char *graph_form (const IrGraph *graph); /* (transfer full) equal where graphs are but for names */
/* Of If, Loop, Scan and SequenceMap: what nobody reads is not lowered, and neither is what it alone needs. */
gboolean graph_form_has_unread (const IrModel *model);
