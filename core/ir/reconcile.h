/* Making one model say what another says, by recorded edits: how an edited text becomes steps. */
#pragma once

#include "core/ir/edit.h"

/* Within an open step of @edit: nodes and values of the same name stay what they are and change in
 * place; others are added and removed. @target may have another context. */
void ir_reconcile (IrEdit *edit, IrModel *target);
void ir_reconcile_forget_types (IrEdit *edit);
GPtrArray *ir_reconcile_into (IrEdit *edit, IrGraph *graph, IrModel *part, GHashTable *values);
