/* Where derivatives by several values lie in one graph, those that one value has to do with. */
#include "config.h"

#include "core/grad/vjp.h"
#include "passes/debug/explain-private.h"

static void
add_graph (const IrGraph *graph, GHashTable *reach)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);
  guint n_values;
  IrValue *const *values = ir_graph_values (graph, &n_values);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes[i]);
      g_hash_table_add (reach, nodes[i]);
      for (guint k = 0; k < inner->len; k++)
        add_graph (inner->pdata[k], reach);
    }
  for (guint i = 0; i < n_values; i++)
    g_hash_table_add (reach, values[i]);
}

/* What it gives depends on its inputs smoothly. */
static gboolean
is_smooth (const IrNode *node)
{
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;

  return row == NULL || !row->zero;
}

static void
add_reader (const IrNode *node, GHashTable *reach, GPtrArray *waiting)
{
  g_autoptr (GPtrArray) bodies = NULL;

  if (!is_smooth (node) || !g_hash_table_add (reach, (gpointer) node))
    return;
  bodies = ir_node_subgraphs (node);
  for (guint i = 0; i < bodies->len; i++)
    add_graph (bodies->pdata[i], reach);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      g_ptr_array_add (waiting, node->outputs[i]);
}

/* Set of the nodes and values that @by leads to, itself too; of what owns bodies all that is in them */
GHashTable *
ir_explain_reach (const IrValue *by)
{
  GHashTable *reach = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) waiting = g_ptr_array_new ();

  g_ptr_array_add (waiting, (gpointer) by);
  while (waiting->len > 0)
    {
      const IrValue *value = g_ptr_array_steal_index_fast (waiting, waiting->len - 1);
      if (!g_hash_table_add (reach, (gpointer) value))
        continue;
      for (guint i = 0; i < value->n_uses; i++)
        for (const IrNode *node = ir_value_use (value, i).node; node != NULL;)
          {
            const IrGraph *graph = node->graph;
            add_reader (node, reach, waiting);
            node = graph->kind == IR_GRAPH_SUBGRAPH
                       ? ir_model_live_node (graph->model, graph->owner)
                       : NULL;
          }
    }
  return reach;
}
