/* Calls of model-local functions replaced by the nodes of their bodies; copies of subgraphs. */
#pragma once
#include "core/ir/edit.h"
#include "core/ir/problem.h"

const IrGraph *ir_node_function (const IrNode *node); /* (nullable): what the node calls */
gboolean ir_inline_call (IrEdit *edit, IrNode *node, GPtrArray *problems);
/* Copies a subgraph of a node to where the node is, or into a graph there: (transfer container) the
 * new nodes. */
GPtrArray *ir_inline_body (
    IrEdit *edit, const IrNode *node, const IrGraph *body, IrGraph *to, GHashTable *values);
GPtrArray *ir_inline_iteration (IrEdit *edit,
                                const IrNode *node,
                                const IrGraph *body,
                                IrGraph *to,
                                GHashTable *values,
                                const char *suffix,
                                const char *mark);
gboolean ir_inline_is_bounded (const IrModel *model); /* all calls expanded: does it end? */
guint ir_inline_functions (IrEdit *edit, GPtrArray *problems);
