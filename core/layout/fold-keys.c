/* What folds are called: "node:7" is a node with subgraphs, "scope:a/b" a scope of the main graph,
 * "scope:123456789abcdef0:a/b" one of a subgraph, where the digits are the subgraph's place: the
 * node that owns it, and the attribute. "repeat:a/layers." are its copies with numbers behind,
 * "shape:7" the arithmetic on shapes around node 7, "call:node:7" the body of what node 7 calls. Nodes that two models share have one name. */
#include "config.h"

#include "core/layout/draft-private.h"

#include <string.h>

guint64
scene_hash_text (const char *text, guint64 seed)
{
  /* The seed is spread first, or "x" and "y" of seeds 2 and 3 would be equal. */
  guint64 h = (seed + 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;

  h ^= h >> 32;
  for (; *text != '\0'; text++)
    h = (h ^ (guchar) *text) * 0x100000001b3u;
  return h ^ h >> 29;
}

guint64
scene_node_key (const IrDiff *diff, const IrNode *a, const IrNode *b)
{
  if (b != NULL)
    return b->id;
  return diff == NULL || diff->a->context == diff->b->context ? a->id : a->id | (guint64) 1 << 40;
}

static IrSceneState
state_of (IrDiffKind kind)
{
  static const IrSceneState states[IR_N_DIFF_KINDS] = {
    [IR_DIFF_SAME] = IR_SCENE_SAME,
    [IR_DIFF_ADDED] = IR_SCENE_NEW,
    [IR_DIFF_REMOVED] = IR_SCENE_REMOVED,
    [IR_DIFF_CHANGED] = IR_SCENE_CHANGED,
  };
  return states[kind];
}

static const IrNodeDiff *
row_of (const IrDiff *diff, const IrNode *node, gboolean later)
{
  if (diff == NULL)
    return NULL;
  return later ? ir_diff_of_b (diff, node->id) : ir_diff_of_a (diff, node->id);
}

/* Both sides of a node, given one. */
IrSceneState
scene_find_sides (
    const IrDiff *diff, const IrNode *node, gboolean later, const IrNode **a, const IrNode **b)
{
  const IrNodeDiff *row = row_of (diff, node, later);

  *a = later ? NULL : node;
  *b = later ? node : NULL;
  if (row == NULL)
    return IR_SCENE_SAME;
  if (row->a != 0)
    *a = ir_model_node (diff->a, row->a);
  if (row->b != 0)
    *b = ir_model_node (diff->b, row->b);
  return state_of (row->kind);
}

/* The place of a subgraph, or a function; 0: the main graph. */
guint64
scene_graph_key (const IrDiff *diff, const IrGraph *graph, gboolean later)
{
  const IrNode *a, *b, *owner;

  if (graph->kind == IR_GRAPH_FUNCTION && graph->function != NULL)
    return scene_hash_text (graph->function->name, scene_hash_text (graph->function->domain, 1));
  if (graph->kind != IR_GRAPH_SUBGRAPH)
    return 0;
  owner = ir_model_node (graph->model, graph->owner);
  if (owner == NULL)
    return graph->id;
  scene_find_sides (diff, owner, later, &a, &b);
  /* Subgraphs of one node are told apart by their attribute. */
  for (guint i = 0; i < owner->n_attrs; i++)
    for (guint k = 0; k < owner->attrs[i]->n; k++)
      if (scene_holds_graph (owner->attrs[i]) && owner->attrs[i]->graphs[k] == graph->id)
        return scene_hash_text (owner->attrs[i]->name, scene_node_key (diff, a, b) * 31 + k);
  return graph->id;
}

char *
scene_scope_fold (guint64 graph, const char *scope, gsize length)
{
  return graph == 0 ? g_strdup_printf (SCENE_SCOPE_FOLD "%.*s", (int) length, scope)
                    : g_strdup_printf (SCENE_SCOPE_FOLD "%" G_GINT64_MODIFIER "x:%.*s", graph,
                                       (int) length, scope);
}

char *
scene_node_fold (guint64 key)
{
  return g_strdup_printf ("node:%" G_GUINT64_FORMAT, key);
}

char *
scene_call_fold (guint64 key)
{
  return g_strdup_printf (IR_SCENE_CALL_FOLD "node:%" G_GUINT64_FORMAT, key);
}

/* -- what is around a node -- */

static void
add_scopes (GPtrArray *keys, const IrDiff *diff, const IrNode *node, gboolean later)
{
  const guint64 graph = scene_graph_key (diff, node->graph, later);

  for (gsize n = node->scope != NULL ? strlen (node->scope) : 0; n > 0; n--)
    if (node->scope[n] == '\0' || node->scope[n] == '/')
      {
        char *repeat = scene_repeat_fold (graph, node->scope, n);

        g_ptr_array_add (keys, scene_scope_fold (graph, node->scope, n));
        if (repeat != NULL)
          g_ptr_array_add (keys, repeat);
      }
}

/* Where @node may be arithmetic on shapes: one look at the whole model. */
static void
add_shape (GPtrArray *keys, const IrDiff *diff, const IrNode *node)
{
  const IrDtype dtype = ir_value_dtype (ir_node_output (node, 0));
  g_autoptr (GHashTable) shapes = NULL;
  gpointer root;

  if (ir_node_output (node, 0) == NULL ||
      (dtype != IR_DTYPE_INT64 && dtype != IR_DTYPE_INT32 && dtype != IR_DTYPE_BOOL))
    return;
  shapes = scene_shapes_new (diff, node->graph->model);
  root = g_hash_table_lookup (shapes, node);
  if (root != NULL)
    g_ptr_array_add (keys, scene_shape_fold (GPOINTER_TO_UINT (root)));
}

#define MAX_DEPTH 1000 /* of graphs in graphs; a broken model may hold one within itself */

/**
 * ir_scene_fold_keys:
 * @diff: (nullable): what the scene is made of, or %NULL if it is of one model
 * @node: a node of either side
 *
 * What ir_scene_options' folded may hold so that @node is not seen: its scopes, the nodes that own
 * the graphs that it lies in, and the scopes of these. Not each of them is drawn.
 *
 * Returns: (transfer full) (element-type utf8): keys, innermost first
 */
GPtrArray *
ir_scene_fold_keys (const IrDiff *diff, const IrNode *node)
{
  GPtrArray *keys = g_ptr_array_new_with_free_func (g_free);

  if (diff != NULL && node->graph->model != diff->a && node->graph->model != diff->b)
    diff = NULL;
  for (guint depth = 0; node != NULL && depth < MAX_DEPTH; depth++)
    {
      const IrNode *a, *b;
      const IrGraph *graph;

      scene_find_sides (diff, node, diff == NULL || node->graph->model == diff->b, &a, &b);
      node = b != NULL ? b : a;
      if (depth == 0 && b != NULL)
        add_shape (keys, diff, node);
      if (depth > 0)
        g_ptr_array_add (keys, scene_node_fold (scene_node_key (diff, a, b)));
      add_scopes (keys, diff, node, b != NULL);
      graph = node->graph;
      node = graph->kind == IR_GRAPH_SUBGRAPH ? ir_model_live_node (graph->model, graph->owner)
                                              : NULL;
    }
  return keys;
}
