/* From the graph of a file to what is run: bodies in place of calls, derivatives, and without what
 * cannot run. */
#pragma once

#include "core/exec/kernel/backend.h"
#include "core/ir/edit.h"

/* A copy of @model in which function calls are replaced by bodies: what is run. (transfer full) */
IrModel *ir_exec_expand (IrModel *model, GError **error);
/* The same, and the parts of operators that are composed, where @backend runs those in their place. */
IrModel *ir_exec_lower (IrModel *model, const IrBackend *backend, GError **error);
gboolean ir_exec_expand_bodies (IrEdit *edit,
                                const IrOp *only,
                                GPtrArray *problems,
                                GError **error);

void ir_exec_compose (IrModel *model, const IrBackend *backend);
gboolean ir_exec_compose_node (IrEdit *edit, IrNode *node, GError **error);
void ir_exec_take_closures (IrEdit *edit);
void ir_exec_wrap_tokens (IrModel *model);
/* One node, by the body of its row or the function that it calls. */
gboolean ir_exec_inline_node (IrEdit *edit, IrNode *node, gpointer data, GError **error);

/* An output of the graph that no run gives. */
typedef struct
{
  IrValueId output;
  IrNodeId node;   /* that cannot run; 0: nothing computes it */
  gboolean failed; /* its kernel has failed in a run; else it has none, or the node is malformed */
  char *why;
} IrMissing;
GArray *ir_exec_omit (IrModel *model, const IrBackend *backend, GHashTable *failed);
