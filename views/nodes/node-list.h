/* The nodes of a graph as rows of a table. */
#pragma once

#include "core/ir/model.h"

#include <gtk/gtk.h>

typedef enum
{
  IR_NODE_COLUMN_OPERATOR,
  IR_NODE_COLUMN_NAME,
  IR_NODE_COLUMN_TYPE,
  IR_NODE_COLUMN_SHAPE,
  IR_NODE_COLUMN_INPUTS,
  IR_N_NODE_COLUMNS
} IrNodeColumn;

#define IR_TYPE_NODE_ROW (ir_node_row_get_type ())
G_DECLARE_FINAL_TYPE (IrNodeRow, ir_node_row, IR, NODE_ROW, GObject)
#define IR_TYPE_NODE_LIST (ir_node_list_get_type ())
G_DECLARE_FINAL_TYPE (IrNodeList, ir_node_list, IR, NODE_LIST, GObject)

IrNodeId ir_node_row_get_node (IrNodeRow *self);
char *ir_node_row_text (IrNodeRow *self, IrNodeColumn column); /* (transfer full) */
int ir_node_row_compare (IrNodeRow *a, IrNodeRow *b, IrNodeColumn column);

IrNodeList *ir_node_list_new (void);
/* @model: (nullable). @among: (nullable) ids of nodes, others are left out. FALSE with @error: @query means
 * nothing, and all nodes are shown. */
gboolean ir_node_list_load (
    IrNodeList *self, IrModel *model, const char *query, const GtkBitset *among, GError **error);
guint ir_node_list_n_nodes (IrNodeList *self); /* of the graph, also those that are filtered out */
