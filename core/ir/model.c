/* Life of a model: allocation of nodes, values and graphs, copies, lookups by id. Queries about one
 * noun are in graph.c, node.c and value.c; all writing is in edit.c and record.c. */
#include "config.h"

#include "core/ir/log-private.h"
#include "core/ir/model-private.h"

#include <string.h>

#define CURRENT_IR_VERSION 8

static void
graph_facts_free (gpointer data)
{
  IrGraphFacts *facts = data;

  if (facts == NULL)
    return;
  g_ptr_array_unref (facts->order);
  g_ptr_array_unref (facts->values);
  g_clear_pointer (&facts->value_by_name, g_hash_table_unref);
  g_clear_pointer (&facts->node_by_name, g_hash_table_unref);
  g_free (facts);
}

static IrModelCache *
cache_new (void)
{
  IrModelCache *cache = g_new0 (IrModelCache, 1);

  g_rec_mutex_init (&cache->lock);
  cache->arena = ir_arena_new ();
  cache->facts = g_ptr_array_new_with_free_func (graph_facts_free);
  cache->facts_stamp = G_MAXUINT64;
  cache->controls_stamp = G_MAXUINT64;
  cache->control_sources = g_hash_table_new (NULL, NULL);
  cache->constants = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  return cache;
}

static void
cache_free (IrModelCache *cache)
{
  g_ptr_array_unref (cache->facts);
  g_clear_pointer (&cache->spans.nodes, g_array_unref);
  g_clear_pointer (&cache->spans.values, g_array_unref);
  g_hash_table_unref (cache->control_sources);
  g_hash_table_unref (cache->constants);
  g_clear_pointer (&cache->inlined, g_array_unref);
  ir_arena_free (cache->arena);
  g_rec_mutex_clear (&cache->lock);
  g_free (cache);
}

/* A model without tables filled: what new and copies have in common. */
static IrModel *
model_alloc (IrContext *context)
{
  IrModel *model = g_new0 (IrModel, 1);

  g_atomic_ref_count_init (&model->ref_count);
  model->context = context;
  model->cache = cache_new ();
  model->graphs = g_ptr_array_new ();
  model->nodes = g_ptr_array_new ();
  model->values = g_ptr_array_new ();
  return model;
}

/**
 * ir_model_new:
 *
 * A model with an empty main graph, the current IR version and no opset imports. It is editable
 * and has an empty history.
 *
 * Returns: (transfer full): the model
 */
IrModel *
ir_model_new (void)
{
  IrModel *model = model_alloc (ir_context_new ());
  IrModelInfo *info = ir_context_alloc (model->context, sizeof (IrModelInfo));

  g_ptr_array_add (model->graphs, NULL);
  g_ptr_array_add (model->nodes, NULL);
  g_ptr_array_add (model->values, NULL);
  info->ir_version = CURRENT_IR_VERSION;
  model->info = info;
  model->opsets = ir_context_alloc (model->context, sizeof (IrOpsets));
  model->keep_alive = g_ptr_array_new ();
  model->log = ir_log_new ();
  model->main = ir_model_new_graph (model);
  model->main->state = IR_STATE_LIVE;
  model->main->kind = IR_GRAPH_MAIN;
  return model;
}

/**
 * ir_model_ref:
 * @model: a model
 *
 * Returns: (transfer full): @model
 */
IrModel *
ir_model_ref (IrModel *model)
{
  g_atomic_ref_count_inc (&model->ref_count);
  return model;
}

/**
 * ir_model_unref:
 * @model: (transfer full): a model; the last reference frees graphs, history and snapshots
 */
void
ir_model_unref (IrModel *model)
{
  if (!g_atomic_ref_count_dec (&model->ref_count))
    return;
  g_clear_pointer (&model->log, ir_log_free);
  g_ptr_array_unref (model->graphs);
  g_ptr_array_unref (model->nodes);
  g_ptr_array_unref (model->values);
  g_ptr_array_unref (model->keep_alive);
  cache_free (model->cache);
  ir_context_unref (model->context);
  g_free (model);
}

gpointer
ir_model_alloc (IrModel *model, gsize size)
{
  return ir_arena_alloc (model->cache->arena, size);
}

static guint
array_capacity (guint n)
{
  guint capacity = 1;
  while (capacity < n)
    capacity *= 2;
  return n == 0 ? 0 : capacity;
}

gpointer
ir_model_resize_array (IrModel *model, gpointer array, guint old_n, guint new_n, gsize element)
{
  gpointer grown;

  if (new_n <= array_capacity (old_n))
    {
      if (new_n > old_n)
        memset ((char *) array + old_n * element, 0, (new_n - old_n) * element);
      return array;
    }
  grown = ir_model_alloc (model, array_capacity (new_n) * element);
  if (old_n > 0)
    memcpy (grown, array, old_n * element);
  return grown;
}

IrNode *
ir_model_new_node (IrModel *model)
{
  IrNode *node = ir_model_alloc (model, sizeof (IrNode));

  node->id = model->nodes->len;
  node->op_type = node->domain = node->overload = node->name = "";
  node->scope = node->device = "";
  g_ptr_array_add (model->nodes, node);
  return node;
}

IrValue *
ir_model_new_value (IrModel *model)
{
  IrValue *value = ir_model_alloc (model, sizeof (IrValue));

  value->id = model->values->len;
  value->name = "";
  g_ptr_array_add (model->values, value);
  return value;
}

IrGraph *
ir_model_new_graph (IrModel *model)
{
  IrGraph *graph = ir_model_alloc (model, sizeof (IrGraph));

  graph->id = model->graphs->len;
  graph->model = model;
  graph->name = "";
  graph->inputs = graph->outputs = ir_context_id_list (model->context, NULL, 0);
  g_ptr_array_add (model->graphs, graph);
  return graph;
}

/* -- copies -- */

static gpointer
copy_array (IrModel *to, gconstpointer array, guint n, gsize element)
{
  gpointer copy;

  if (n == 0)
    return NULL;
  copy = ir_model_alloc (to, array_capacity (n) * element);
  memcpy (copy, array, n * element);
  return copy;
}

static void
copy_table (IrModel *to, GPtrArray *copies, const GPtrArray *table, gsize size)
{
  for (guint i = 1; i < table->len; i++)
    g_ptr_array_add (copies, ir_arena_dup (to->cache->arena, table->pdata[i], size));
}

static void
copy_structs (IrModel *to, const IrModel *from)
{
  g_ptr_array_add (to->graphs, NULL);
  g_ptr_array_add (to->nodes, NULL);
  g_ptr_array_add (to->values, NULL);
  for (guint i = 1; i < from->graphs->len; i++)
    {
      IrGraph *copy = ir_arena_dup (to->cache->arena, from->graphs->pdata[i], sizeof (IrGraph));
      copy->model = to;
      g_ptr_array_add (to->graphs, copy);
    }
  copy_table (to, to->nodes, from->nodes, sizeof (IrNode));
  copy_table (to, to->values, from->values, sizeof (IrValue));
}

static IrValue *
twin_value (IrModel *to, const IrValue *value)
{
  return value != NULL ? to->values->pdata[value->id] : NULL;
}

static void
relink_node (IrModel *to, IrNode *node)
{
  node->graph = node->graph != NULL ? to->graphs->pdata[node->graph->id] : NULL;
  node->inputs = copy_array (to, node->inputs, node->n_inputs, sizeof (IrValue *));
  node->outputs = copy_array (to, node->outputs, node->n_outputs, sizeof (IrValue *));
  node->attrs = copy_array (to, node->attrs, node->n_attrs, sizeof (IrAttr *));
  for (guint i = 0; i < node->n_inputs; i++)
    node->inputs[i] = twin_value (to, node->inputs[i]);
  for (guint i = 0; i < node->n_outputs; i++)
    node->outputs[i] = twin_value (to, node->outputs[i]);
}

static void
relink_value (IrModel *to, IrValue *value)
{
  value->graph = value->graph != NULL ? to->graphs->pdata[value->graph->id] : NULL;
  value->producer = value->producer != NULL ? to->nodes->pdata[value->producer->id] : NULL;
  value->uses = copy_array (to, value->uses, value->n_uses, sizeof (guint64));
  value->uses_capacity = array_capacity (value->n_uses);
}

static void
relink (IrModel *to)
{
  for (guint i = 1; i < to->nodes->len; i++)
    relink_node (to, to->nodes->pdata[i]);
  for (guint i = 1; i < to->values->len; i++)
    relink_value (to, to->values->pdata[i]);
}

/* The same ids, tombstones too: a log of @from applies to the copy. */
static IrModel *
model_copy (IrModel *from)
{
  IrModel *to = model_alloc (ir_context_ref (from->context));

  to->info = from->info;
  to->opsets = from->opsets;
  to->path = from->path;
  to->stamp = from->stamp;
  to->checks = from->checks;
  to->keep_alive = g_ptr_array_ref (from->keep_alive);
  if (from->cache->inlined != NULL)
    to->cache->inlined = g_array_copy (from->cache->inlined);
  copy_structs (to, from);
  relink (to);
  to->main = to->graphs->pdata[from->main->id];
  return to;
}

/**
 * ir_model_clone:
 * @model: a model
 *
 * Returns: (transfer full): an editable copy with the same ids and an empty history; strings,
 *   types and tensors are shared with @model
 */
IrModel *
ir_model_clone (IrModel *model)
{
  IrModel *copy = model_copy (model);

  copy->log = ir_log_new ();
  return copy;
}

/**
 * ir_model_snapshot:
 * @model: a model
 *
 * Returns: (transfer full): a frozen copy of the present state, readable from any thread; a frozen
 *   model gives itself
 */
IrModel *
ir_model_snapshot (IrModel *model)
{
  if (model->frozen)
    return ir_model_ref (model);
  IrModel *copy = model_copy (model);
  copy->frozen = TRUE;
  return copy;
}

/* -- lookups -- */

static gpointer
table_get (const GPtrArray *table, guint32 id)
{
  return id < table->len ? table->pdata[id] : NULL;
}

/**
 * ir_model_node:
 * @model: a model
 * @id: a node id
 *
 * Returns: (transfer none) (nullable): the node in whatever state
 */
IrNode *
ir_model_node (const IrModel *model, IrNodeId id)
{
  return table_get (model->nodes, id);
}

/**
 * ir_model_value:
 * @model: a model
 * @id: a value id
 *
 * Returns: (transfer none) (nullable): the value in whatever state
 */
IrValue *
ir_model_value (const IrModel *model, IrValueId id)
{
  return table_get (model->values, id);
}

/**
 * ir_model_graph:
 * @model: a model
 * @id: a graph id
 *
 * Returns: (transfer none) (nullable): the graph in whatever state
 */
IrGraph *
ir_model_graph (const IrModel *model, IrGraphId id)
{
  return table_get (model->graphs, id);
}

/**
 * ir_model_live_node:
 * @model: a model
 * @id: a node id
 *
 * Returns: (transfer none) (nullable): the node if it is live
 */
IrNode *
ir_model_live_node (const IrModel *model, IrNodeId id)
{
  IrNode *node = ir_model_node (model, id);
  return node != NULL && node->state == IR_STATE_LIVE ? node : NULL;
}

/**
 * ir_model_live_value:
 * @model: a model
 * @id: a value id
 *
 * Returns: (transfer none) (nullable): the value if it is live
 */
IrValue *
ir_model_live_value (const IrModel *model, IrValueId id)
{
  IrValue *value = ir_model_value (model, id);
  return value != NULL && value->state == IR_STATE_LIVE ? value : NULL;
}

static gint64
opsets_find (const IrOpsets *opsets, const char *domain)
{
  for (guint i = 0; opsets != NULL && i < opsets->n; i++)
    if (opsets->opsets[i].domain == domain || strcmp (opsets->opsets[i].domain, domain) == 0)
      return opsets->opsets[i].version;
  return 0;
}

/**
 * ir_model_opset:
 * @model: a model
 * @domain: (nullable): domain of operators; "" and "ai.onnx" are the same
 *
 * Returns: the version that the model imports, or 0
 */
gint64
ir_model_opset (const IrModel *model, const char *domain)
{
  if (domain == NULL || g_str_equal (domain, "ai.onnx"))
    domain = "";
  return opsets_find (model->opsets, domain);
}

/**
 * ir_graph_opset:
 * @graph: a graph
 * @domain: (nullable): domain of operators
 *
 * Returns: the version in force in @graph: a function has imports of its own
 */
gint64
ir_graph_opset (const IrGraph *graph, const char *domain)
{
  const IrGraph *outermost = graph;
  gint64 version = 0;

  if (domain == NULL || g_str_equal (domain, "ai.onnx"))
    domain = "";
  for (const IrGraph *outer = graph; outer != NULL; outer = ir_graph_outer (outer))
    outermost = outer;
  if (outermost->function != NULL)
    version = opsets_find (outermost->function->opsets, domain);
  return version != 0 ? version : ir_model_opset (graph->model, domain);
}

/**
 * ir_model_find_function:
 * @model: a model
 * @domain: domain of the call
 * @name: operator type of the call
 * @overload: (nullable): overload of the call
 *
 * Returns: (transfer none) (nullable): the body of the model-local function
 */
const IrGraph *
ir_model_find_function (const IrModel *model,
                        const char *domain,
                        const char *name,
                        const char *overload)
{
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      const IrFunctionInfo *info = graph->function;

      if (graph->state == IR_STATE_LIVE && info != NULL && g_str_equal (info->name, name) &&
          g_strcmp0 (info->domain, domain) == 0 &&
          g_str_equal (info->overload != NULL ? info->overload : "",
                       overload != NULL ? overload : ""))
        return graph;
    }
  return NULL;
}

/**
 * ir_model_n_nodes:
 * @model: a model
 *
 * Returns: live nodes of all graphs, Constants and function bodies included
 */
guint
ir_model_n_nodes (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    n += ((IrNode *) model->nodes->pdata[i])->state == IR_STATE_LIVE;
  return n;
}

static gboolean
is_in_function (const IrNode *node)
{
  for (const IrGraph *graph = node->graph; graph != NULL; graph = ir_graph_outer (graph))
    if (graph->kind == IR_GRAPH_FUNCTION)
      return TRUE;
  return FALSE;
}

/**
 * ir_model_n_counted_nodes:
 * @model: a model
 *
 * Returns: nodes as they are reported: of the main graph and its subgraphs, without Constant and
 *   ConstantOfShape of a constant; a call of a function counts as one
 */
guint
ir_model_n_counted_nodes (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      n += node->state == IR_STATE_LIVE && !ir_node_is_constant (node) && !is_in_function (node);
    }
  return n;
}
