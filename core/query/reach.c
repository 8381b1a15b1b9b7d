#include "config.h"

/* Which nodes reach which, by values: also into the branches and bodies that a node owns, which read
 * values from outside, and out of them, as their results are those of the owner. */

#include "core/query/query.h"

typedef struct
{
  GHashTable *seen; /* of node ids */
  GArray *front;    /* of IrNodeId: found last */
} Search;

static void
find (Search *search, const IrNode *node)
{
  if (node != NULL && g_hash_table_add (search->seen, GUINT_TO_POINTER (node->id)))
    g_array_append_val (search->front, node->id);
}

static void
find_users (Search *search, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrUse use = ir_value_use (value, i);
      const IrGraph *graph = use.node == NULL ? use.graph : NULL;

      if (use.node != NULL)
        find (search, use.node);
      else if (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
        find (search, ir_model_live_node (graph->model, graph->owner));
    }
}

static void
find_results (Search *search, const IrGraph *graph)
{
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    {
      const IrValue *value = ir_graph_output (graph, i);

      find (search, value != NULL ? value->producer : NULL);
    }
}

static void
find_producers (Search *search, const IrNode *node)
{
  const IrModel *model = node->graph->model;

  for (guint i = 0; i < node->n_inputs; i++)
    find (search, node->inputs[i] != NULL ? node->inputs[i]->producer : NULL);
  for (guint i = 0; i < node->n_attrs; i++)
    if (node->attrs[i]->kind == IR_ATTR_GRAPH || node->attrs[i]->kind == IR_ATTR_GRAPHS)
      for (guint k = 0; k < node->attrs[i]->n; k++)
        if (ir_model_graph (model, node->attrs[i]->graphs[k]) != NULL)
          find_results (search, ir_model_graph (model, node->attrs[i]->graphs[k]));
}

/**
 * ir_reach:
 * @model: a model
 * @from: (array length=n): live nodes
 * @n: number of them
 * @direction: to what they need, or to what needs them
 * @steps: nodes in a row at most; %G_MAXUINT for all
 *
 * Returns: (transfer full) (element-type guint): ids of @from and of all that they reach
 */
GHashTable *
ir_reach (const IrModel *model, const IrNodeId *from, guint n, IrReach direction, guint steps)
{
  Search search = { g_hash_table_new (NULL, NULL), g_array_new (FALSE, FALSE, sizeof (IrNodeId)) };

  for (guint i = 0; i < n; i++)
    find (&search, ir_model_live_node (model, from[i]));
  for (guint step = 0; step < steps && search.front->len > 0; step++)
    {
      g_autoptr (GArray) now = search.front;

      search.front = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
      for (guint i = 0; i < now->len; i++)
        {
          const IrNode *node = ir_model_live_node (model, g_array_index (now, IrNodeId, i));

          if (direction == IR_REACH_INPUTS)
            find_producers (&search, node);
          else
            for (guint k = 0; k < node->n_outputs; k++)
              if (node->outputs[k] != NULL)
                find_users (&search, node->outputs[k]);
        }
    }
  g_array_unref (search.front);
  return search.seen;
}

/**
 * ir_reach_between:
 * @model: a model
 * @from: a live node
 * @to: another
 *
 * Returns: (transfer full) (element-type guint): ids of the nodes on all paths between the two, in
 *   whichever direction they are; empty if there is none
 */
GHashTable *
ir_reach_between (const IrModel *model, IrNodeId from, IrNodeId to)
{
  g_autoptr (GHashTable) ahead = ir_reach (model, &from, 1, IR_REACH_OUTPUTS, G_MAXUINT);
  const gboolean forward = g_hash_table_contains (ahead, GUINT_TO_POINTER (to));
  g_autoptr (GHashTable) first = forward ? g_hash_table_ref (ahead)
                                         : ir_reach (model, &to, 1, IR_REACH_OUTPUTS, G_MAXUINT);
  g_autoptr (GHashTable)
      second = ir_reach (model, forward ? &to : &from, 1, IR_REACH_INPUTS, G_MAXUINT);
  GHashTable *both = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer id;

  if (!g_hash_table_contains (first, GUINT_TO_POINTER (forward ? to : from)))
    return both;
  g_hash_table_iter_init (&iter, first);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    if (g_hash_table_contains (second, id))
      g_hash_table_add (both, id);
  return both;
}
