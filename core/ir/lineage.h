/* Lineage of all nodes at once; of one node: history.h. */
#pragma once

#include "core/ir/history.h"

GArray *ir_lineage_last_steps (IrModel *model, guint step); /* of guint, by node id; 0: none */
