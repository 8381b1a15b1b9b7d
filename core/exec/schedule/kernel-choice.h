/* Which kernels could run a node, and asking for one of them: a property of the node, written by an
 * edit like any other, so that whatever is made of the model has it. */
#pragma once

#include "core/exec/schedule/schedule.h"
#include "core/ir/edit.h"

/* What IR_META_KERNEL of @node may say: the candidates of @backend, the one that is taken where
 * nothing is asked for not always first, then "ref" where that can run it. (transfer full) */
GStrv ir_kernel_choices (const IrBackend *backend, const IrNode *node);
/* What @backend would run @node by, and (out) (nullable) why that is not its own. (transfer none)
 */
const char *ir_kernel_taken (const IrBackend *backend, const IrNode *node, const char **why);
gboolean ir_kernel_is_choice (const IrBackend *backend, const IrNode *node, const char *kernel);
/* One step; @kernel: (nullable): nothing is asked for any more. */
void ir_edit_ask_for_kernel (IrEdit *edit, IrNode *node, const char *kernel);
/* A copy of @model in which every node asks for "ref", and steps that take that back, node by node.
 */
IrModel *ir_kernel_history (IrModel *model, const IrBackend *backend);
/* Nodes in bodies of functions run as copies, one for each call, which have what the body asks for.
 * ir_kernel_marked() gives a copy of @model whose expansion tells where each node comes from. */
IrModel *ir_kernel_marked (IrModel *model);
/* The node of @model that asks for what @running does; @running: of an expansion of that copy.
 * (transfer none) (nullable): it is of a body that the run itself puts in */
IrNode *ir_kernel_asker (const IrModel *model, const IrNode *running);
