/* Calls of model-local functions replaced by the nodes of their bodies. */
#pragma once
#include "core/ir/edit.h"
#include "core/ir/problem.h"

const IrGraph *ir_node_function (const IrNode *node); /* (nullable): what the node calls */
gboolean ir_inline_call (IrEdit *edit, IrNode *node, GPtrArray *problems);
guint ir_inline_functions (IrEdit *edit, GPtrArray *problems);
