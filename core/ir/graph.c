/* Queries about one graph. Order, live values and the name index are derived facts, computed for
 * all graphs of the model at once and kept until its stamp moves. */
#include "config.h"

#include "core/ir/model-private.h"
#include "core/op/op.h"

#include <string.h>

/* -- order: Kahn with a heap -- */

typedef struct
{
  guint32 from, to; /* node ids, both in the same graph */
} Edge;

static gboolean
runs_before (const IrNode *a, const IrNode *b)
{
  return a->rank != b->rank ? a->rank < b->rank : a->id < b->id;
}

static void
heap_push (GPtrArray *heap, IrNode *node)
{
  guint i = heap->len;

  g_ptr_array_add (heap, node);
  while (i > 0 && runs_before (node, heap->pdata[(i - 1) / 2]))
    {
      heap->pdata[i] = heap->pdata[(i - 1) / 2];
      i = (i - 1) / 2;
    }
  heap->pdata[i] = node;
}

static IrNode *
heap_pop (GPtrArray *heap)
{
  IrNode *top = heap->pdata[0];
  IrNode *last = heap->pdata[heap->len - 1];
  guint n = heap->len - 1, i = 0, child;

  g_ptr_array_set_size (heap, n);
  while ((child = 2 * i + 1) < n)
    {
      if (child + 1 < n && runs_before (heap->pdata[child + 1], heap->pdata[child]))
        child++;
      if (!runs_before (heap->pdata[child], last))
        break;
      heap->pdata[i] = heap->pdata[child];
      i = child;
    }
  if (n > 0)
    heap->pdata[i] = last;
  return top;
}

/* The node of @graph that is @inner or contains it; NULL if @inner is not inside @graph. */
static IrNode *
ancestor_in (const IrGraph *graph, const IrGraph *inner, IrNode *node)
{
  const IrModel *model = graph->model;

  for (guint depth = 0; inner != graph; depth++)
    {
      if (inner->owner == 0 || depth > model->graphs->len)
        return NULL;
      node = ir_model_live_node (model, inner->owner);
      if (node == NULL)
        return NULL;
      inner = node->graph;
    }
  return node;
}

static void
add_value_edge (GArray *edges, const IrValue *value, const IrGraph *graph, IrNode *user)
{
  IrNode *to;

  if (value == NULL || value->producer == NULL || value->producer->state != IR_STATE_LIVE ||
      ir_edge_is_back (value->producer, user))
    return;
  to = ancestor_in (value->producer->graph, graph, user);
  if (to != NULL && (to != value->producer || value->producer->graph == graph))
    {
      Edge edge = { value->producer->id, to->id };
      g_array_append_val (edges, edge);
    }
}

static void
add_node_edges (GArray *edges, const IrModel *model, IrNode *node)
{
  for (guint i = 0; i < node->n_inputs; i++)
    add_value_edge (edges, node->inputs[i], node->graph, node);
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    {
      IrNode *before = ir_model_live_node (model, node->controls->ids[i]);
      if (before != NULL && before->graph == node->graph)
        {
          Edge edge = { before->id, node->id };
          g_array_append_val (edges, edge);
        }
    }
}

/* A branch may hand out a value of an outer graph as it is. */
static void
add_output_edges (GArray *edges, const IrGraph *graph)
{
  for (guint i = 0; i < graph->outputs->n; i++)
    {
      IrValue *value = ir_model_value (graph->model, graph->outputs->ids[i]);
      if (value != NULL && value->graph != graph)
        add_value_edge (edges, value, graph, NULL);
    }
}

/* (transfer full) */
static GArray *
collect_edges (const IrModel *model)
{
  GArray *edges = g_array_new (FALSE, FALSE, sizeof (Edge));

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = model->nodes->pdata[i];
      if (node->state == IR_STATE_LIVE)
        add_node_edges (edges, model, node);
    }
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      if (graph->state == IR_STATE_LIVE)
        add_output_edges (edges, graph);
    }
  return edges;
}

typedef struct
{
  guint32 *first; /* edges of node i: targets[first[i] .. first[i + 1]) */
  guint32 *targets;
  guint32 *n_waiting; /* incoming edges not yet served */
} Successors;

static void
successors_init (Successors *s, const IrModel *model, const GArray *edges)
{
  guint n = model->nodes->len;
  g_autofree guint32 *fill = g_new (guint32, n + 1);

  s->first = g_new0 (guint32, n + 1);
  s->targets = g_new (guint32, edges->len + 1);
  s->n_waiting = g_new0 (guint32, n);
  for (guint i = 0; i < edges->len; i++)
    {
      s->first[g_array_index (edges, Edge, i).from + 1]++;
      s->n_waiting[g_array_index (edges, Edge, i).to]++;
    }
  for (guint i = 0; i < n; i++)
    s->first[i + 1] += s->first[i];
  memcpy (fill, s->first, (n + 1) * sizeof (guint32));
  for (guint i = 0; i < edges->len; i++)
    s->targets[fill[g_array_index (edges, Edge, i).from]++] = g_array_index (edges, Edge, i).to;
}

static void
successors_clear (Successors *s)
{
  g_free (s->first);
  g_free (s->targets);
  g_free (s->n_waiting);
}

static int
compare_rank (gconstpointer a, gconstpointer b)
{
  const IrNode *na = *(IrNode *const *) a, *nb = *(IrNode *const *) b;
  return runs_before (na, nb) ? -1 : runs_before (nb, na) ? 1 : 0;
}

/* Live nodes of one graph, replaced by their order. */
static void
order_graph (IrGraphFacts *facts, const IrModel *model, const Successors *s)
{
  g_autoptr (GPtrArray) heap = g_ptr_array_new ();
  g_autoptr (GPtrArray) members = g_steal_pointer (&facts->order);

  facts->order = g_ptr_array_sized_new (members->len);
  for (guint i = 0; i < members->len; i++)
    if (s->n_waiting[((IrNode *) members->pdata[i])->id] == 0)
      heap_push (heap, members->pdata[i]);
  while (heap->len > 0)
    {
      IrNode *node = heap_pop (heap);

      g_ptr_array_add (facts->order, node);
      for (guint32 e = s->first[node->id]; e < s->first[node->id + 1]; e++)
        if (--s->n_waiting[s->targets[e]] == 0)
          heap_push (heap, model->nodes->pdata[s->targets[e]]);
    }
  facts->cyclic = facts->order->len < members->len;
  if (facts->cyclic)
    {
      g_ptr_array_sort (members, compare_rank);
      for (guint i = 0; i < members->len; i++)
        if (s->n_waiting[((IrNode *) members->pdata[i])->id] > 0)
          g_ptr_array_add (facts->order, members->pdata[i]);
    }
}

/* -- facts -- */

static IrGraphFacts *
facts_new (void)
{
  IrGraphFacts *facts = g_new0 (IrGraphFacts, 1);

  facts->order = g_ptr_array_new ();
  facts->values = g_ptr_array_new ();
  return facts;
}

static void
index_members (GPtrArray *all_facts, const IrModel *model)
{
  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = model->values->pdata[i];
      IrGraphFacts *facts = value->graph != NULL ? all_facts->pdata[value->graph->id] : NULL;

      if (value->state != IR_STATE_LIVE || facts == NULL)
        continue;
      g_ptr_array_add (facts->values, value);
    }
  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = model->nodes->pdata[i];
      IrGraphFacts *facts = node->graph != NULL ? all_facts->pdata[node->graph->id] : NULL;

      if (node->state != IR_STATE_LIVE || facts == NULL)
        continue;
      g_ptr_array_add (facts->order, node);
      facts->tokens = facts->tokens || ir_node_tokens (node) != IR_TOKENS_STRICT;
    }
}

/* Backwards, so that the first of a name is the one that stays. */
static void
index_names (const IrGraph *graph, IrGraphFacts *facts)
{
  const IrModel *model = graph->model;
  GHashTable *nodes = g_hash_table_new (NULL, NULL), *values = g_hash_table_new (NULL, NULL);

  for (guint i = facts->values->len; i > 0; i--)
    {
      IrValue *value = facts->values->pdata[i - 1];
      g_hash_table_insert (values, (gpointer) value->name, value);
    }
  for (guint i = model->nodes->len; i > 1; i--)
    {
      IrNode *node = model->nodes->pdata[i - 1];
      if (node->state == IR_STATE_LIVE && node->graph == graph)
        g_hash_table_insert (nodes, (gpointer) node->name, node);
    }
  facts->node_by_name = nodes;
  facts->value_by_name = values;
}

static void
order_graphs (const IrModel *model, const GArray *edges)
{
  GPtrArray *all = model->cache->facts;
  Successors successors;

  successors_init (&successors, model, edges);
  for (guint i = 1; i < all->len; i++)
    order_graph (all->pdata[i], model, &successors);
  successors_clear (&successors);
}

static void
rebuild_facts (const IrModel *model)
{
  GPtrArray *all = model->cache->facts;
  g_autoptr (GArray) edges = collect_edges (model);

  model->cache->n_retyped = 0;
  g_ptr_array_set_size (all, 0);
  g_ptr_array_add (all, NULL);
  for (guint i = 1; i < model->graphs->len; i++)
    g_ptr_array_add (all, facts_new ());
  index_members (all, model);
  order_graphs (model, edges);
  model->cache->facts_stamp = model->stamp;
}

/* With the lock of the cache. */
static void
update_facts (const IrModel *model)
{
  if (model->cache->facts_stamp + model->cache->n_retyped != model->stamp)
    rebuild_facts (model);
}

static const IrGraphFacts *
graph_facts_with (const IrGraph *graph, gboolean names)
{
  const IrModel *model = graph->model;
  IrGraphFacts *facts;

  g_rec_mutex_lock (&model->cache->lock);
  update_facts (model);
  facts = model->cache->facts->pdata[graph->id];
  if (names && facts->value_by_name == NULL)
    index_names (graph, facts);
  g_rec_mutex_unlock (&model->cache->lock);
  return facts;
}

static const IrGraphFacts *
graph_facts (const IrGraph *graph)
{
  return graph_facts_with (graph, FALSE);
}

/**
 * ir_model_order:
 * @model: a model
 *
 * Finds the order of the nodes of all graphs now, which ir_graph_order() and others would do when
 * first asked: a tenth of a second for 500,000 nodes.
 */
void
ir_model_order (const IrModel *model)
{
  g_rec_mutex_lock (&model->cache->lock);
  update_facts (model);
  g_rec_mutex_unlock (&model->cache->lock);
}

/**
 * ir_graph_order:
 * @graph: a graph
 * @n: (out): number of nodes
 *
 * Live nodes so that producers come before users (Kahn 1962), ties by rank and id. A node that
 * owns subgraphs waits for what they capture. A Merge does not wait for a NextIteration, which is of
 * the iteration before. Nodes on and behind other cycles come last, by rank.
 *
 * Returns: (transfer none) (array length=n): valid until the next edit of the model
 */
IrNode *const *
ir_graph_order (const IrGraph *graph, guint *n)
{
  const IrGraphFacts *facts = graph_facts (graph);

  *n = facts->order->len;
  return (IrNode *const *) facts->order->pdata;
}

/**
 * ir_graph_nodes:
 * @graph: a graph
 *
 * Returns: (transfer container): as ir_graph_order(), a copy that survives edits
 */
GPtrArray *
ir_graph_nodes (const IrGraph *graph)
{
  return g_ptr_array_copy (graph_facts (graph)->order, NULL, NULL);
}

/**
 * ir_graph_is_cyclic:
 * @graph: a graph
 *
 * Returns: %TRUE if some nodes wait for each other
 */
gboolean
ir_graph_is_cyclic (const IrGraph *graph)
{
  return graph_facts (graph)->cyclic;
}

/* Whether some node ever handled tokens. Each is asked once, where facts are made anew with every
 * edit: rules ask for each match. */
static gboolean
had_tokens (const IrModel *model)
{
  IrModelCache *cache = model->cache;
  gboolean had;

  g_rec_mutex_lock (&cache->lock);
  for (; cache->n_searched < model->nodes->len && !cache->had_tokens; cache->n_searched++)
    {
      const IrNode *node = model->nodes->pdata[cache->n_searched];
      cache->had_tokens = node != NULL && ir_node_tokens (node) != IR_TOKENS_STRICT;
    }
  had = cache->had_tokens;
  g_rec_mutex_unlock (&cache->lock);
  return had;
}

/**
 * ir_graph_has_tokens:
 * @graph: a graph
 *
 * Returns: whether some node of it is no strict one (the column TOKENS), so that nodes may be dead,
 *   or run more than once
 */
gboolean
ir_graph_has_tokens (const IrGraph *graph)
{
  return had_tokens (graph->model) && graph_facts (graph)->tokens;
}

/**
 * ir_graph_values:
 * @graph: a graph
 * @n: (out): number of values
 *
 * Returns: (transfer none) (array length=n): live values by id; valid until the next edit
 */
IrValue *const *
ir_graph_values (const IrGraph *graph, guint *n)
{
  const IrGraphFacts *facts = graph_facts (graph);

  *n = facts->values->len;
  return (IrValue *const *) facts->values->pdata;
}

static const char *
interned_or_null (const IrGraph *graph, const char *name)
{
  if (name == NULL || !ir_context_has_string (graph->model->context, name))
    return NULL;
  return ir_context_intern (graph->model->context, name);
}

/**
 * ir_graph_find_value:
 * @graph: a graph
 * @name: name of a value
 *
 * Returns: (transfer none) (nullable): the live value of this graph; the first by id where a
 *   broken file uses a name twice
 */
IrValue *
ir_graph_find_value (const IrGraph *graph, const char *name)
{
  const char *interned = interned_or_null (graph, name);
  return interned != NULL
             ? g_hash_table_lookup (graph_facts_with (graph, TRUE)->value_by_name, interned)
             : NULL;
}

/**
 * ir_graph_find_value_in_scope:
 * @graph: a graph
 * @name: name of a value
 *
 * Returns: (transfer none) (nullable): the live value of this graph, or of the nearest graph around
 */
IrValue *
ir_graph_find_value_in_scope (const IrGraph *graph, const char *name)
{
  for (; graph != NULL; graph = ir_graph_outer (graph))
    {
      IrValue *value = ir_graph_find_value (graph, name);
      if (value != NULL)
        return value;
    }
  return NULL;
}

/**
 * ir_graph_find_node:
 * @graph: a graph
 * @name: name of a node
 *
 * Returns: (transfer none) (nullable): the first live node of that name, by id
 */
IrNode *
ir_graph_find_node (const IrGraph *graph, const char *name)
{
  const char *interned = interned_or_null (graph, name);
  return interned != NULL
             ? g_hash_table_lookup (graph_facts_with (graph, TRUE)->node_by_name, interned)
             : NULL;
}

static IrValue *
list_value (const IrGraph *graph, const IrIdList *list, guint index)
{
  return index < list->n ? ir_model_value (graph->model, list->ids[index]) : NULL;
}

/**
 * ir_graph_input:
 * @graph: a graph
 * @index: place among the inputs
 *
 * Returns: (transfer none) (nullable): the value
 */
IrValue *
ir_graph_input (const IrGraph *graph, guint index)
{
  return list_value (graph, graph->inputs, index);
}

/**
 * ir_graph_output:
 * @graph: a graph
 * @index: place among the outputs
 *
 * Returns: (transfer none) (nullable): the value
 */
IrValue *
ir_graph_output (const IrGraph *graph, guint index)
{
  return list_value (graph, graph->outputs, index);
}

/**
 * ir_graph_n_inputs:
 * @graph: a graph
 *
 * Returns: number of inputs
 */
guint
ir_graph_n_inputs (const IrGraph *graph)
{
  return graph->inputs->n;
}

/**
 * ir_graph_n_outputs:
 * @graph: a graph
 *
 * Returns: number of outputs
 */
guint
ir_graph_n_outputs (const IrGraph *graph)
{
  return graph->outputs->n;
}

/**
 * ir_graph_has_input:
 * @graph: a graph
 * @value: a value
 *
 * Returns: %TRUE if @value is among the inputs of @graph
 */
gboolean
ir_graph_has_input (const IrGraph *graph, const IrValue *value)
{
  for (guint i = 0; i < graph->inputs->n; i++)
    if (graph->inputs->ids[i] == value->id)
      return TRUE;
  return FALSE;
}

/**
 * ir_graph_outer:
 * @graph: a graph
 *
 * Returns: (transfer none) (nullable): the graph of the node that owns @graph
 */
IrGraph *
ir_graph_outer (const IrGraph *graph)
{
  const IrNode *owner = graph->owner != 0 ? ir_model_node (graph->model, graph->owner) : NULL;
  return owner != NULL ? owner->graph : NULL;
}
