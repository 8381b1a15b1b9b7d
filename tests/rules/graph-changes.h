/* A graph with one thing changed, or two drawn by a fixed seed: an attribute, a type, a size, a constant, the opset, a device,
 * an operator, what an input reads, or one more reader. */
#pragma once

#include "core/ir/edit.h"

/* @edit: (transfer full): that of the import; @said: what is another */
typedef void (*GraphChanged) (IrModel *model, IrEdit *edit, const char *said, gpointer data);

/* Each change of a clone of @model; the first is none. */
void graph_changes_try (IrModel *model, GraphChanged changed, gpointer data);

/* (transfer container): live nodes, those of subgraphs and functions, too */
GPtrArray *graph_changes_nodes (const IrModel *model);
