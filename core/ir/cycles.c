/* The search for cycles: nodes that nothing waits for are taken away over and over (Kahn); from what is
 * left, a walk against the edges comes back to where it has been. Edges are between nodes of one graph: a
 * node that owns subgraphs waits for what these capture. A Merge waits for no NextIteration. */
#include "config.h"

#include "core/ir/cycles.h"

#include "core/op/op.h"

#define MAX_NAMED 8

typedef struct
{
  guint32 from, to; /* node ids, both in one graph; @from must run first */
  IrValueId value;  /* that @to waits for; 0: a control dependency */
} Edge;

typedef struct
{
  const IrModel *model;
  GArray *edges;   /* of Edge, by target */
  guint32 *first;  /* edges into node i: [first[i], first[i + 1]) */
  guint8 *removed; /* cannot be on a cycle */
  guint32 *seen;   /* by node: where the walk that came by had begun; 0: none did */
} Search;

/* The node of @graph that @node is or lies in; 0 if it is outside. */
static IrNodeId
lift (const IrModel *model, const IrNode *node, const IrGraph *graph)
{
  for (guint depth = 0; node != NULL && depth <= model->graphs->len; depth++)
    {
      if (node->graph == graph)
        return node->id;
      node = node->graph != NULL ? ir_model_live_node (model, node->graph->owner) : NULL;
    }
  return 0;
}

static void
add_edge (
    GArray *edges, const IrModel *model, const IrNode *before, const IrNode *node, IrValueId value)
{
  Edge edge = { before->id, lift (model, node, before->graph), value };

  /* From a node to itself too: also where a node inside of it reads what it produces. */
  if (before->state == IR_STATE_LIVE && edge.to != 0)
    g_array_append_val (edges, edge);
}

static int
compare_edges (gconstpointer a, gconstpointer b)
{
  const Edge *ea = a, *eb = b;
  return ea->to != eb->to ? (ea->to < eb->to ? -1 : 1)
                          : (ea->from > eb->from) - (ea->from < eb->from);
}

/* Sorted by target, so that the edges into one node lie together. */
static GArray *
collect_edges (const IrModel *model)
{
  GArray *edges = g_array_new (FALSE, FALSE, sizeof (Edge));

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      if (node->state != IR_STATE_LIVE)
        continue;
      for (guint k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != NULL && node->inputs[k]->producer != NULL &&
            !ir_edge_is_back (node->inputs[k]->producer, node))
          add_edge (edges, model, node->inputs[k]->producer, node, node->inputs[k]->id);
      for (guint k = 0; node->controls != NULL && k < node->controls->n; k++)
        {
          const IrNode *before = ir_model_live_node (model, node->controls->ids[k]);
          if (before != NULL)
            add_edge (edges, model, before, node, 0);
        }
    }
  g_array_sort (edges, compare_edges);
  return edges;
}

/* Takes away, over and over, the nodes without predecessors; the rest is on or behind a cycle. */
static void
peel (const Search *s, guint n_nodes)
{
  g_autofree guint32 *n_waiting = g_new0 (guint32, n_nodes);
  g_autofree guint32 *head = g_new0 (guint32, n_nodes); /* edge index + 1, by source */
  g_autofree guint32 *next = g_new0 (guint32, s->edges->len + 1);
  g_autoptr (GArray) ready = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint32 e = 0; e < s->edges->len; e++)
    {
      const Edge *edge = &g_array_index (s->edges, Edge, e);
      n_waiting[edge->to]++;
      next[e] = head[edge->from];
      head[edge->from] = e + 1;
    }
  for (guint32 i = 1; i < n_nodes; i++)
    if (n_waiting[i] == 0)
      g_array_append_val (ready, i);
  while (ready->len > 0)
    {
      guint32 id = g_array_index (ready, guint32, ready->len - 1);
      g_array_set_size (ready, ready->len - 1);
      s->removed[id] = 1;
      for (guint32 e = head[id]; e != 0; e = next[e - 1])
        {
          guint32 to = g_array_index (s->edges, Edge, e - 1).to;
          if (--n_waiting[to] == 0)
            g_array_append_val (ready, to);
        }
    }
}

/* (nullable) The first edge into @node from one that may be on a cycle */
static const Edge *
edge_into (const Search *s, guint32 node)
{
  for (guint32 e = s->first[node]; e < s->first[node + 1]; e++)
    if (!s->removed[g_array_index (s->edges, Edge, e).from])
      return &g_array_index (s->edges, Edge, e);
  return NULL;
}

/* (transfer full) (nullable) The cycle that a walk against the edges from @start comes into; NULL: it
 * leads into one that was found before */
static GArray *
walk (const Search *s, guint32 start)
{
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (const Edge *));
  guint32 id = start;

  while (s->seen[id] == 0)
    {
      const Edge *edge = edge_into (s, id);

      s->seen[id] = start;
      if (edge == NULL)
        return NULL;
      g_array_append_val (path, edge);
      id = edge->from;
    }
  if (s->seen[id] != start)
    return NULL;
  GArray *cycle = g_array_new (FALSE, FALSE, sizeof (IrCycleStep));
  for (guint i = path->len; i > 0; i--)
    {
      const Edge *edge = g_array_index (path, const Edge *, i - 1);
      const IrCycleStep step = { edge->from, edge->value };

      g_array_append_val (cycle, step);
      if (edge->to == id)
        break;
    }
  return cycle;
}

/**
 * ir_model_cycles:
 * @model: a model
 *
 * Finds nodes that wait for each other, by values (also those that subgraphs capture) and by control
 * dependencies. Where cycles share nodes, at least one of them is found.
 *
 * Cost: linear in nodes and edges, but for sorting the edges.
 *
 * Returns: (transfer full) (element-type GArray): of each cycle its #IrCycleStep in order; the last waits
 *   for nothing but the first
 */
GPtrArray *
ir_model_cycles (const IrModel *model)
{
  GPtrArray *cycles = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  guint n = model->nodes->len;
  g_autoptr (GArray) edges = collect_edges (model);
  g_autofree guint32 *first = g_new0 (guint32, n + 1);
  g_autofree guint8 *removed = g_new0 (guint8, n);
  g_autofree guint32 *seen = g_new0 (guint32, n);
  const Search search = { model, edges, first, removed, seen };

  for (guint i = 0; i < edges->len; i++)
    first[g_array_index (edges, Edge, i).to + 1]++;
  for (guint i = 0; i < n; i++)
    first[i + 1] += first[i];
  peel (&search, n);
  for (guint32 i = 1; i < n; i++)
    {
      GArray *cycle = !removed[i] && seen[i] == 0 ? walk (&search, i) : NULL;

      if (cycle != NULL)
        g_ptr_array_add (cycles, cycle);
    }
  return cycles;
}

/**
 * ir_cycle_text:
 * @model: a model
 * @cycle: of #IrCycleStep: a cycle of it
 *
 * Returns: (transfer full): nodes and what each waits for, as in a -h→ b -y→ a; of a long cycle the
 *   beginning
 */
char *
ir_cycle_text (const IrModel *model, const GArray *cycle)
{
  GString *text = g_string_new (NULL);
  g_autofree char *first = ir_node_label (
      ir_model_node (model, g_array_index (cycle, IrCycleStep, 0).node));

  for (guint i = 0; i < MIN (cycle->len, MAX_NAMED); i++)
    {
      const IrCycleStep *step = &g_array_index (cycle, IrCycleStep, i);
      const IrValue *value = step->value != 0 ? ir_model_value (model, step->value) : NULL;
      g_autofree char *label = ir_node_label (ir_model_node (model, step->node));

      g_string_append_printf (text, "%s -%s→ ", label, value != NULL ? value->name : "control");
    }
  if (cycle->len > MAX_NAMED)
    g_string_append_printf (text, "... (%u nodes in all) ... → ", cycle->len);
  g_string_append (text, first);
  return g_string_free (text, FALSE);
}

/**
 * ir_model_report_cycles:
 * @model: a model
 * @problems: (nullable) (element-type IrProblem): gets an error for each cycle, at its first node
 */
void
ir_model_report_cycles (const IrModel *model, GPtrArray *problems)
{
  g_autoptr (GPtrArray) cycles = ir_model_cycles (model);

  for (guint i = 0; i < cycles->len; i++)
    {
      const GArray *cycle = cycles->pdata[i];
      const IrNode *first = ir_model_node (model, g_array_index (cycle, IrCycleStep, 0).node);
      g_autofree char *text = ir_cycle_text (model, cycle);
      IrProblem *problem = ir_problems_add (
          problems, IR_SEVERITY_ERROR, IR_PROBLEM_CYCLE, first, NULL,
          "Graph \"%s\" - these nodes wait for each other: %s", first->graph->name, text);
      ir_problem_set_hint (problem, IR_CYCLE_HINT);
    }
}

/**
 * ir_model_is_cyclic:
 * @model: a model
 *
 * Returns: whether one of its graphs, bodies of functions and nodes included, has no order
 */
gboolean
ir_model_is_cyclic (const IrModel *model)
{
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];

      if (graph != NULL && graph->state == IR_STATE_LIVE && ir_graph_is_cyclic (graph))
        return TRUE;
    }
  return FALSE;
}

/**
 * ir_model_cycle_message:
 * @model: a model
 *
 * Returns: (transfer full) (nullable): which graph has a cycle, its nodes, and what to do; %NULL: there is
 *   none
 */
char *
ir_model_cycle_message (const IrModel *model)
{
  g_autoptr (GPtrArray) cycles = ir_model_is_cyclic (model) ? ir_model_cycles (model) : NULL;

  if (cycles == NULL || cycles->len == 0)
    return NULL;
  const GArray *cycle = cycles->pdata[0];
  const IrNode *node = ir_model_node (model, g_array_index (cycle, IrCycleStep, 0).node);
  g_autofree char *text = ir_cycle_text (model, cycle);
  return g_strdup_printf ("graph \"%s\" has a cycle, so its nodes have no order: %s; %s",
                          node->graph->name, text, IR_CYCLE_HINT);
}
