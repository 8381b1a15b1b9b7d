/* What a node takes, by a table that stands in the repository: the same on every machine, so that
 * what is decided by it is the same, too. */
#pragma once

#include "core/ir/model.h"

double ir_rates_node_us (const IrNode *node, gboolean *known);
