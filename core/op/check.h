/* The check of one node against its row of the op table, by what stands in the graph. What does not
 * pass is a problem (core/op/verify.h), no kernel and no planner is asked about it, and passes
 * leave it alone. What only a run knows, shapes and contents of values, the kernels check. */
#pragma once

#include "core/op/op.h"

gboolean ir_node_check (const IrNode *node, GError **error);
gboolean ir_node_is_valid (const IrNode *node);    /* the same, kept until something changes */
const IrOp *ir_node_valid_op (const IrNode *node); /* (nullable) its row if it is valid */
