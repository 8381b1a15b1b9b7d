/* Calls of model-local functions replaced by the nodes of their bodies; copies of subgraphs. */
#pragma once
#include "core/ir/edit.h"
#include "core/ir/problem.h"

const IrGraph *ir_node_function (const IrNode *node); /* (nullable): what the node calls */
/* (nullable): the function that the attributes of the node name, of a closure */
const IrGraph *ir_node_named_function (const IrNode *node);
const IrType *ir_function_declared_type (
    const IrValue *value); /* (nullable): of an input or output of it */
const IrGraph *ir_node_used_function (const IrNode *node); /* (nullable): called or named */
/* (transfer full): "local.f", of a node that names a function */
char *ir_node_function_key (const IrNode *node);
char *ir_function_key (const IrFunctionInfo *info); /* (transfer full): the same, of the function */
/* Of what is run of a model: where its nodes were written. */
IrNodeId ir_inline_written (const IrModel *model, IrNodeId id);
IrNodeId ir_inline_last (const IrModel *model, IrNodeId id);
char *ir_inline_functions_around (const IrNode *node); /* (transfer full) (nullable) */
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
