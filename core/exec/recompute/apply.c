/* A plan of computing values again, made part of the graph: what runs again becomes a node of its own,
 * and ranks hold the order, so that schedule, memory plan and run are those of any graph.
 *
 *   a -> b -> c -> d (reads c)             a -> b -> c -> d (reads c)
 *        '---------> e (reads b)    ->     '-> b again -> e (reads what b again gives)
 */
#include "config.h"

#include "core/exec/recompute/recompute.h"

#include "core/op/infer.h"

typedef struct
{
  IrEdit *edit;
  IrModel *model;
  GHashTable *tracked; /* set of IrValueId: values that have bytes of their own */
  GHashTable *newest;  /* IrValueId -> IrValue: where it was computed again */
  GHashTable *views;   /* IrValue, a view -> GHashTable: what it looks at -> the view of that */
  guint64 rank;
} Apply;

static IrValue *resolve (Apply *apply, IrValue *value);

/* Once more, of what its inputs are now */
static IrNode *
clone_node (Apply *apply, IrNode *node)
{
  g_autofree IrValue **inputs = g_new0 (IrValue *, node->n_inputs + 1);
  g_autofree char *name = node->name != NULL && *node->name != '\0'
                              ? g_strconcat (node->name, " again", NULL)
                              : NULL;

  for (guint i = 0; i < node->n_inputs; i++)
    inputs[i] = resolve (apply, node->inputs[i]);
  IrNode *copy = ir_edit_add_node (apply->edit, node->graph, node->op_type, node->domain, name,
                                   node->n_inputs, inputs, node->n_outputs);
  for (guint i = 0; i < node->n_attrs; i++)
    ir_edit_set_attr (apply->edit, copy, node->attrs[i]);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      ir_edit_set_type (apply->edit, copy->outputs[i], node->outputs[i]->type);
    else
      ir_edit_set_output (apply->edit, copy, i, NULL);
  ir_edit_set_rank (apply->edit, copy, apply->rank);
  return copy;
}

/* (nullable) What makes a view: it is no run of its own, and follows what it looks at. */
static IrNode *
view_of (const Apply *apply, const IrValue *value)
{
  IrNode *node = value->producer;

  return node != NULL && node->op != NULL && (node->op->flags & IR_OP_VIEW) != 0 &&
                 node->outputs[0] == value && ir_node_input (node, 0) != NULL &&
                 !g_hash_table_contains (apply->tracked, GUINT_TO_POINTER (value->id))
             ? node
             : NULL;
}

static IrValue *
resolve (Apply *apply, IrValue *value)
{
  IrValue *newest = value != NULL
                        ? g_hash_table_lookup (apply->newest, GUINT_TO_POINTER (value->id))
                        : NULL;
  IrNode *view = value != NULL && newest == NULL ? view_of (apply, value) : NULL;

  if (view == NULL)
    return newest != NULL ? newest : value;
  IrValue *base = resolve (apply, view->inputs[0]);
  if (base == view->inputs[0])
    return value;
  GHashTable *known = g_hash_table_lookup (apply->views, value);
  if (known == NULL)
    {
      known = g_hash_table_new (NULL, NULL);
      g_hash_table_insert (apply->views, value, known);
    }
  IrValue *seen = g_hash_table_lookup (known, base);
  if (seen == NULL)
    {
      seen = clone_node (apply, view)->outputs[0];
      g_hash_table_insert (known, base, seen);
    }
  return seen;
}

static void
run_first (Apply *apply, IrNode *node)
{
  for (guint i = 0; i < node->n_inputs; i++)
    {
      IrValue *input = resolve (apply, node->inputs[i]);
      if (input != node->inputs[i])
        ir_edit_set_input (apply->edit, node, i, input);
    }
  ir_edit_set_rank (apply->edit, node, apply->rank);
}

static void
run_again (Apply *apply, IrNode *node)
{
  IrNode *copy = clone_node (apply, node);

  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL &&
        g_hash_table_contains (apply->tracked, GUINT_TO_POINTER (node->outputs[i]->id)))
      g_hash_table_insert (apply->newest, GUINT_TO_POINTER (node->outputs[i]->id),
                           copy->outputs[i]);
}

static gboolean
is_captured (const IrNode *node)
{
  for (guint slot = 0; slot < node->n_outputs; slot++)
    for (guint k = 0; node->outputs[slot] != NULL && k < node->outputs[slot]->n_uses; k++)
      if (ir_value_use (node->outputs[slot], k).graph != node->graph)
        return TRUE;
  return FALSE;
}

/**
 * ir_recompute_hold_captured:
 * @graph: a problem made of @model
 * @model: the model
 *
 * What subgraphs read is computed once, as nodes in there name it; what it is a view of likewise.
 */
void
ir_recompute_hold_captured (IrRecomputeGraph *graph, const IrModel *model)
{
  g_autoptr (GHashTable) held = g_hash_table_new (NULL, NULL);
  IrRecomputeTask *tasks = (IrRecomputeTask *) graph->problem.tasks;

  for (guint i = graph->nodes->len; i-- > 0;) /* readers come behind what they read */
    {
      const IrNode *node = ir_model_node (model, g_array_index (graph->nodes, IrNodeId, i));
      const IrValue *input = ir_node_input (node, 0);
      if (!g_hash_table_contains (held, node) && !is_captured (node))
        continue;
      tasks[i].once = TRUE;
      if (node->op != NULL && (node->op->flags & IR_OP_VIEW) != 0 && input != NULL &&
          input->producer != NULL)
        g_hash_table_add (held, input->producer);
    }
}

/**
 * ir_recompute_apply:
 * @edit: an edit of the model that @graph was made of
 * @graph: the problem
 * @plan: runs that hold a budget
 *
 * Nodes that run again are added as “NAME again”; ranks of the main graph's nodes become the order of
 * the runs.
 *
 * Returns: how many nodes run again
 */
guint
ir_recompute_apply (IrEdit *edit, const IrRecomputeGraph *graph, const IrRecomputePlan *plan)
{
  g_autoptr (GHashTable) tracked = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) newest = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable)
      views = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_hash_table_unref);
  g_autofree gboolean *seen = g_new0 (gboolean, graph->problem.n_tasks + 1);
  Apply apply = { .edit = edit,
                  .model = ir_edit_model (edit),
                  .tracked = tracked,
                  .newest = newest,
                  .views = views };
  guint n_again = 0;

  for (guint i = 0; i < graph->values->len; i++)
    g_hash_table_add (tracked, GUINT_TO_POINTER (g_array_index (graph->values, IrValueId, i)));
  for (guint run = 0; run < plan->runs->len; run++)
    {
      const guint task = g_array_index (plan->runs, guint, run);
      IrNode *node = ir_model_node (apply.model, g_array_index (graph->nodes, IrNodeId, task));
      apply.rank = run + 1;
      if (!seen[task])
        run_first (&apply, node);
      else if (graph->problem.tasks[task].n_writes > 0)
        {
          run_again (&apply, node);
          n_again++;
        }
      seen[task] = TRUE;
    }
  return n_again;
}

/**
 * ir_recompute_peak_node:
 * @model: what @graph was made of
 * @graph: the problem
 * @plan: a plan
 *
 * Returns: (transfer none) (nullable): the node at whose run values first reach the plan's peak
 */
const IrNode *
ir_recompute_peak_node (const IrModel *model,
                        const IrRecomputeGraph *graph,
                        const IrRecomputePlan *plan)
{
  for (guint i = 0; i < plan->intervals->len; i++)
    {
      const IrRecomputeInterval *live = &g_array_index (plan->intervals, IrRecomputeInterval, i);
      if (live->offset + graph->problem.sizes[live->value] != plan->peak_bytes)
        continue;
      const guint task = g_array_index (plan->runs, guint, live->first);
      return ir_model_node (model, g_array_index (graph->nodes, IrNodeId, task));
    }
  return NULL;
}
