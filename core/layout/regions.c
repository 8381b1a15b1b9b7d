/* Parts of a model that are drawn by themselves: the graph that was entered, and the graphs of nodes
 * that stand beside the picture. What such a part reads from around it comes in by pills.
 *
 * A graph is called by its owner and attribute, "node:7/then_branch", "node:7/branches.1" where the
 * attribute has several, or "function:domain:name". */
#include "config.h"

#include "core/layout/draft-private.h"

#include <string.h>

/**
 * ir_scene_graph_root:
 * @graph: a graph
 *
 * Returns: (transfer full) (nullable): what #IrSceneOptions' root calls it; %NULL: the main graph
 */
char *
ir_scene_graph_root (const IrGraph *graph)
{
  const IrNode *owner;

  if (graph->kind == IR_GRAPH_FUNCTION && graph->function != NULL)
    return g_strdup_printf ("function:%s:%s", graph->function->domain, graph->function->name);
  owner = graph->kind == IR_GRAPH_SUBGRAPH ? ir_model_live_node (graph->model, graph->owner) : NULL;
  for (guint i = 0; owner != NULL && i < owner->n_attrs; i++)
    for (guint k = 0; scene_holds_graph (owner->attrs[i]) && k < owner->attrs[i]->n; k++)
      if (owner->attrs[i]->graphs[k] == graph->id)
        return owner->attrs[i]->n > 1
                   ? g_strdup_printf ("node:%u/%s.%u", owner->id, owner->attrs[i]->name, k)
                   : g_strdup_printf ("node:%u/%s", owner->id, owner->attrs[i]->name);
  return NULL;
}

/**
 * ir_scene_find_root:
 * @model: a model
 * @root: (nullable): as ir_scene_graph_root() calls a graph
 *
 * Returns: (transfer none) (nullable): the graph, if @model has it
 */
const IrGraph *
ir_scene_find_root (const IrModel *model, const char *root)
{
  if (root == NULL)
    return NULL;
  for (guint id = 1; id < model->graphs->len; id++)
    {
      const IrGraph *graph = ir_model_graph (model, id);
      g_autofree char *name = NULL;

      if (graph == NULL || graph->state != IR_STATE_LIVE || graph->kind == IR_GRAPH_MAIN)
        continue;
      name = ir_scene_graph_root (graph);
      if (g_strcmp0 (name, root) == 0)
        return graph;
    }
  return NULL;
}

/**
 * ir_scene_node_body:
 * @node: a node
 * @index: which of its graphs
 *
 * Returns: (transfer none) (nullable): the graph in its attributes, or the body of the function that
 *   it calls
 */
const IrGraph *
ir_scene_node_body (const IrNode *node, guint index)
{
  for (guint i = 0; i < node->n_attrs; i++)
    for (guint k = 0; scene_holds_graph (node->attrs[i]) && k < node->attrs[i]->n; k++)
      if (index-- == 0)
        return ir_model_graph (node->graph->model, node->attrs[i]->graphs[k]);
  return index == 0 && node->op == NULL ? ir_model_find_function (node->graph->model, node->domain,
                                                                  node->op_type, node->overload)
                                        : NULL;
}

/* -- which part a graph lies in -- */

struct _SceneRegions
{
  const IrGraph *root;   /* (nullable) the main graph */
  GHashTable *beside;    /* (nullable) */
  GHashTable *functions; /* (nullable) "domain name overload" -> IrGraph: none are in the model */
  GHashTable *callers;   /* (nullable) IrGraph -> IrNode: where bodies of functions are drawn */
  GHashTable *open;      /* (nullable) set of fold keys of calls */
};

/* -- functions of the model -- */

static char *
function_name (const char *domain, const char *name, const char *overload)
{
  return g_strjoin (" ", domain, name, overload != NULL ? overload : "", NULL);
}

static void
index_functions (SceneRegions *self, const IrModel *model)
{
  for (guint id = 1; id < model->graphs->len; id++)
    {
      const IrGraph *graph = ir_model_graph (model, id);

      if (graph == NULL || graph->state != IR_STATE_LIVE || graph->kind != IR_GRAPH_FUNCTION ||
          graph->function == NULL)
        continue;
      if (self->functions == NULL)
        self->functions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      g_hash_table_insert (
          self->functions,
          function_name (graph->function->domain, graph->function->name, graph->function->overload),
          (gpointer) graph);
    }
}

static const IrGraph *
called (const SceneRegions *self, const IrNode *node)
{
  g_autofree char *name = NULL;

  if (self->functions == NULL || node->op != NULL)
    return NULL;
  name = function_name (node->domain, node->op_type, node->overload);
  return g_hash_table_lookup (self->functions, name);
}

gboolean
scene_is_call (const SceneRegions *self, const IrNode *node)
{
  return called (self, node) != NULL;
}

static gboolean
holds_key (GHashTable *keys, char *key)
{
  g_autofree char *owned = key;

  return keys != NULL && g_hash_table_contains (keys, owned);
}

/* The first call that is open, or whose body stands beside. A node has its id as key: calls of an
 * earlier model of another history stay closed. */
static void
find_callers (SceneRegions *self, const IrModel *model, const IrSceneOptions *options)
{
  self->callers = g_hash_table_new (NULL, NULL);
  for (guint id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      const IrGraph *body = node != NULL ? called (self, node) : NULL;

      if (body != NULL && body != node->graph && !g_hash_table_contains (self->callers, body) &&
          (holds_key (options->calls, scene_call_fold (id)) ||
           holds_key (options->beside, scene_node_fold (id))))
        g_hash_table_insert (self->callers, (gpointer) body, (gpointer) node);
    }
}

const IrNode *
scene_graph_owner (const SceneRegions *self, const IrGraph *graph)
{
  if (graph->kind == IR_GRAPH_SUBGRAPH)
    return ir_model_live_node (graph->model, graph->owner);
  return graph->kind == IR_GRAPH_FUNCTION && graph != self->root && self->callers != NULL
             ? g_hash_table_lookup (self->callers, graph)
             : NULL;
}

gboolean
scene_is_open_call (const SceneRegions *self, const IrNode *node)
{
  const IrGraph *body = self->callers != NULL ? called (self, node) : NULL;

  return body != NULL && body != self->root && g_hash_table_lookup (self->callers, body) == node &&
         holds_key (self->open, scene_call_fold (node->id));
}

/* -- the parts -- */

SceneRegions *
scene_regions_new (const IrModel *model, const IrSceneOptions *options)
{
  SceneRegions *self = g_new0 (SceneRegions, 1);

  self->root = ir_scene_find_root (model, options->root);
  self->beside = options->beside;
  self->open = options->calls;
  index_functions (self, model);
  if (self->functions != NULL &&
      ((options->calls != NULL && g_hash_table_size (options->calls) > 0) ||
       (self->beside != NULL && g_hash_table_size (self->beside) > 0)))
    find_callers (self, model, options);
  return self;
}

void
scene_regions_free (SceneRegions *self)
{
  g_clear_pointer (&self->functions, g_hash_table_unref);
  g_clear_pointer (&self->callers, g_hash_table_unref);
  g_free (self);
}

const IrGraph *
scene_regions_root (const SceneRegions *self)
{
  return self->root;
}

/* Whether the graphs of @owner stand beside the picture. */
gboolean
scene_is_beside (const SceneRegions *self, const IrNode *owner, guint64 key)
{
  g_autofree char *fold = NULL;

  if (self->beside == NULL || g_hash_table_size (self->beside) == 0 || owner == NULL)
    return FALSE;
  fold = scene_node_fold (key);
  return g_hash_table_contains (self->beside, fold);
}

#define MAX_DEPTH 1000 /* of graphs in graphs; a broken model may hold one within itself */

/* The graph that the part which @graph lies in begins with; NULL: the main graph. */
const IrGraph *
scene_region_of (const SceneRegions *self, const IrDiff *diff, const IrGraph *graph, gboolean later)
{
  for (guint depth = 0; graph != NULL && depth < MAX_DEPTH; depth++)
    {
      const IrNode *owner = graph->kind == IR_GRAPH_SUBGRAPH
                                ? ir_model_live_node (graph->model, graph->owner)
                                : NULL;
      const IrNode *a, *b;

      if (graph == self->root)
        return graph;
      if (owner == NULL)
        return graph->kind == IR_GRAPH_MAIN ? NULL : graph;
      scene_find_sides (diff, owner, later, &a, &b);
      if (scene_is_beside (self, owner, scene_node_key (diff, a, b)))
        return graph;
      graph = owner->graph;
    }
  return NULL;
}

/* Whether a value that @reader's graph reads comes in from around its part. */
gboolean
scene_crosses (const SceneRegions *self,
               const IrDiff *diff,
               const IrGraph *from,
               const IrGraph *reader,
               gboolean later)
{
  if (from == reader ||
      (self->root == NULL && (self->beside == NULL || g_hash_table_size (self->beside) == 0)))
    return FALSE;
  return scene_region_of (self, diff, from, later) != scene_region_of (self, diff, reader, later);
}

/* -- what is drawn at all -- */

static void
add_with_owners (GHashTable *drawn, const IrNode *node)
{
  for (guint depth = 0; node != NULL && depth < MAX_DEPTH; depth++)
    {
      const IrGraph *graph = node->graph;

      g_hash_table_add (drawn, (gpointer) node);
      node = graph->kind == IR_GRAPH_SUBGRAPH ? ir_model_live_node (graph->model, graph->owner)
                                              : NULL;
    }
}

/* Adds the nodes that are wanted, and those that own the graphs that they lie in. */
void
scene_find_drawn (GHashTable *drawn, const IrModel *model, const IrSceneOptions *options)
{
  for (guint id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);

      if (node != NULL && options->is_drawn (node, options->style_data))
        add_with_owners (drawn, node);
    }
}
