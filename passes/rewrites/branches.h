/* What rewrites do with branches of an If, and with outputs of nodes that own graphs. */
#pragma once

#include "passes/rule/move.h"

/* All of @branch of @owner comes to where that one is; the branch has no outputs any more. */
void ir_branch_inline (IrPassContext *context, IrPassNames *names, IrNode *owner, IrGraph *branch);
/* Graphs of @node keep those outputs, behind @offset others, that stand for outputs kept of it... */
void ir_branch_keep_outputs (IrPassContext *context,
                             const IrNode *node,
                             const gboolean *kept,
                             guint offset);
/* ... and so does @node itself; nothing uses the others. */
void ir_branch_compact (IrPassContext *context, IrNode *node, const gboolean *kept);
