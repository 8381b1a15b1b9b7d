/* The check of one node against its row of the op table, by what stands in the graph and what is
 * known of types; what is only declared says nothing here. What does not pass is a problem
 * (core/op/verify.h), and passes leave it alone. Of what is not well-formed no kernel and no planner
 * is asked. Types are no reason not to begin a run: what they refuse may lie in a branch that is not
 * taken, and values before it are worth a look; the kernel refuses when its turn comes, as it does
 * with shapes and contents that only a run knows. */
#pragma once

#include "core/op/op.h"

gboolean ir_node_check_form (const IrNode *node, GError **error); /* all but types */
gboolean ir_node_check (const IrNode *node, GError **error);
/* The same, kept until something changes: */
gboolean ir_node_is_well_formed (const IrNode *node);
gboolean ir_node_is_valid (const IrNode *node);
const IrOp *ir_node_valid_op (const IrNode *node); /* (nullable) its row if it is valid */
