/* Cones: which nodes a step has changed, and which values are to be compared.
 *
 * Most steps change nodes of one graph: these are computed on both sides, from values that the step
 * has left alone, and the correspondence of the step is compared. Two kinds of steps are different.
 * Another opset may change what any node means: then every node is compared by itself. And a step
 * in the body of a function is seen where the function is called: the outputs of all calls are
 * compared, each computed from the call's inputs. */
#include "config.h"

#include "passes/proof/proof-private.h"

#include "core/ir/inline.h"

#include <string.h>

static gboolean
explained (const IrStep *step, guint32 before, guint32 after)
{
  for (guint i = 0; step->values != NULL && i < step->values->len; i++)
    {
      IrIdPair pair = g_array_index (step->values, IrIdPair, i);
      if (pair.before == before && pair.after == after)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_change (const IrStep *step, const IrRecord *record)
{
  if (record->kind == IR_RECORD_NODE_INPUT)
    return !explained (step, record->before.number, record->after.number);
  return record->kind != IR_RECORD_NODE_GRAPH && ir_record_changes_computation (record);
}

static gboolean
lies_in_function (const IrGraph *graph)
{
  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
    graph = ir_graph_outer (graph);
  return graph != NULL && graph->kind == IR_GRAPH_FUNCTION;
}

static void
add_pair (IrCone *cone, guint32 before, guint32 after)
{
  IrIdPair pair = { before, after };

  for (guint i = 0; i < cone->pairs->len; i++)
    if (memcmp (&g_array_index (cone->pairs, IrIdPair, i), &pair, sizeof pair) == 0)
      return;
  g_array_append_val (cone->pairs, pair);
}

static void
add_outputs (IrProver *prover, IrCone *cone, const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL &&
        ir_model_live_value (prover->before, node->outputs[i]->id) != NULL &&
        ir_model_live_value (prover->after, node->outputs[i]->id) != NULL)
      {
        IrIdPair pair = { node->outputs[i]->id, node->outputs[i]->id };
        g_array_append_val (cone->pairs, pair);
      }
}

/* Every node of the graphs that run, in the order in which they run; or only calls. */
static void
add_nodes_of (IrProver *prover, IrCone *cone, const IrGraph *graph, gboolean only_calls)
{
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (order[i]);

      if (!only_calls)
        g_hash_table_add (cone->changed, GUINT_TO_POINTER (order[i]->id));
      if (!only_calls || ir_node_function (order[i]) != NULL)
        add_outputs (prover, cone, order[i]);
      for (guint k = 0; subgraphs != NULL && k < subgraphs->len; k++)
        add_nodes_of (prover, cone, g_ptr_array_index (subgraphs, k), only_calls);
    }
}

/* A version that was there is another one now; a domain that is new changes no node. */
static gboolean
changes_opset (const IrRecord *record)
{
  const IrOpsets *before = record->before.pointer, *after = record->after.pointer;

  if (record->kind != IR_RECORD_MODEL_OPSETS)
    return FALSE;
  for (guint i = 0; before != NULL && i < before->n; i++)
    for (guint k = 0; after != NULL && k < after->n; k++)
      if (strcmp (before->opsets[i].domain, after->opsets[k].domain) == 0 &&
          before->opsets[i].version != after->opsets[k].version)
        return TRUE;
  return FALSE;
}

static void
add_correspondence (IrProver *prover, const IrStep *step, IrCone *cone)
{
  for (guint i = 0; step->values != NULL && i < step->values->len; i++)
    {
      IrIdPair pair = g_array_index (step->values, IrIdPair, i);
      const IrValue *before = ir_model_live_value (prover->before, pair.before);
      const IrValue *after = ir_model_live_value (prover->after, pair.after);

      if (before != NULL && after != NULL && !lies_in_function (before->graph) &&
          !lies_in_function (after->graph))
        add_pair (cone, pair.before, pair.after);
    }
}

/* A node that was changed in place stands for itself. */
static void
add_changed_in_place (IrProver *prover, IrCone *cone)
{
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, cone->changed);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      const IrNode *node = ir_model_live_node (prover->after, GPOINTER_TO_UINT (id));

      if (node == NULL || ir_model_live_node (prover->before, node->id) == NULL ||
          lies_in_function (node->graph))
        continue;
      for (guint i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != NULL &&
            ir_model_live_value (prover->before, node->outputs[i]->id) != NULL)
          add_pair (cone, node->outputs[i]->id, node->outputs[i]->id);
    }
}

static gboolean
node_lies_in_function (const IrProver *prover, guint32 id)
{
  const IrNode *node = ir_model_live_node (prover->before, id);

  if (node == NULL)
    node = ir_model_live_node (prover->after, id);
  return node != NULL && lies_in_function (node->graph);
}

void
ir_cone_find (IrProver *prover, const IrStep *step, IrCone *cone)
{
  gboolean all = FALSE;

  *cone = (IrCone){ g_hash_table_new (NULL, NULL), g_array_new (FALSE, FALSE, sizeof (IrIdPair)),
                    FALSE, FALSE };
  for (guint i = 0; i < step->n_records; i++)
    {
      const IrRecord *record = ir_history_record (prover->model, step->first_record + i);

      all = all || changes_opset (record);
      if (!is_change (step, record))
        continue;
      g_hash_table_add (cone->changed, GUINT_TO_POINTER (record->subject));
      cone->in_function = cone->in_function || node_lies_in_function (prover, record->subject);
    }
  cone->each_alone = all || cone->in_function;
  if (all)
    {
      add_nodes_of (prover, cone, prover->before->main, FALSE);
      return;
    }
  add_correspondence (prover, step, cone);
  add_changed_in_place (prover, cone);
  if (cone->in_function)
    add_nodes_of (prover, cone, prover->before->main, TRUE);
}

void
ir_cone_clear (IrCone *cone)
{
  g_clear_pointer (&cone->changed, g_hash_table_unref);
  g_clear_pointer (&cone->pairs, g_array_unref);
}
