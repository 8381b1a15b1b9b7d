#include "config.h"

/* Collects the union of the earlier model (a) and the later one (b): what both have is one item, and
 * of a single model there is no a. Everything is found from b first, so that the order is b's. */

#include "core/layout/draft-private.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#include <string.h>

#define NO_END G_MININT32 /* not drawn */

typedef struct
{
  SceneDraft *draft;
  const IrSceneOptions *options;
  const IrDiff *diff;       /* (nullable) */
  gboolean same_ids;        /* both models have one history */
  GHashTable *ends;         /* node or value -> end, as GINT_TO_POINTER (end) */
  GHashTable *places;       /* graph, or interned scope key -> Place */
  GHashTable *items;        /* key of a pill or fold -> item + 1 */
  GHashTable *links;        /* LinkKey -> index + 1 */
  GHashTable *scopes;       /* "graph/scope prefix" -> number of nodes */
  GHashTable *fixed;        /* set of nodes that only constants lead to */
  GHashTable *drawn;        /* (nullable) set of nodes: others are left out */
  SceneRegions *regions[2]; /* of the earlier model, and of the later one */
  GHashTable *repeats;      /* key of a group of copies -> SceneRepeat */
  GHashTable *shapes;       /* node -> id of the part of arithmetic on shapes that it belongs to */
  GStringChunk *names;
} Collect;

/* Where the content of a graph or scope goes: a group, or a closed item. */
typedef struct
{
  gint32 group;    /* or -1 */
  gint32 item;     /* closed: all of it is this item; else -1 */
  gboolean hidden; /* bodies of functions */
} Place;

typedef struct
{
  gint32 from, to;
  guint64 from_port, to_port;
} LinkKey;

static guint
hash_link (gconstpointer data)
{
  const LinkKey *k = data;
  guint64 h = ((guint64) (guint32) k->from << 32 | (guint32) k->to) * 0x9e3779b97f4a7c15u;

  h ^= (k->from_port * 31 + k->to_port) * 0xd6e8feb86659fd93u;
  return (guint) (h >> 32 ^ h);
}

static gboolean
equal_links (gconstpointer a, gconstpointer b)
{
  const LinkKey *x = a, *y = b;

  return x->from == y->from && x->to == y->to && x->from_port == y->from_port &&
         x->to_port == y->to_port;
}

static void
clear_row (gpointer data)
{
  SceneRow *row = data;

  g_free (row->name);
  g_free (row->figure);
}

static void
clear_item (gpointer data)
{
  SceneItem *item = data;

  g_free (item->title);
  g_free (item->note);
  g_free (item->fold);
  g_array_unref (item->in);
  g_array_unref (item->out);
  g_clear_pointer (&item->rows, g_array_unref);
  g_clear_pointer (&item->nodes, g_ptr_array_unref);
}

static void
clear_group (gpointer data)
{
  SceneGroup *group = data;

  g_free (group->title);
  g_free (group->fold);
}

void
scene_draft_free (SceneDraft *draft)
{
  if (draft == NULL)
    return;
  g_array_unref (draft->items);
  g_array_unref (draft->groups);
  g_array_unref (draft->links);
  g_free (draft);
}

static SceneItem *
item_at (const Collect *c, gint32 i)
{
  return &g_array_index (c->draft->items, SceneItem, i);
}

static gint32
add_item (Collect *c, SceneItem item)
{
  item.in = g_array_new (FALSE, FALSE, sizeof (guint64));
  item.out = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_array_append_val (c->draft->items, item);
  return (gint32) c->draft->items->len - 1;
}

static gint32
add_group (Collect *c, SceneGroup group)
{
  g_array_append_val (c->draft->groups, group);
  return (gint32) c->draft->groups->len - 1;
}

static const SceneRegions *
regions (const Collect *c, gboolean later)
{
  return c->regions[later ? 1 : 0];
}

static gboolean
is_folded (const Collect *c, const char *fold)
{
  return c->options->folded != NULL && g_hash_table_contains (c->options->folded, fold);
}

/* --- nodes ---------------------------------------------------------------- */

static gboolean
has_subgraphs (const IrNode *node)
{
  for (guint i = 0; i < node->n_attrs; i++)
    if (scene_holds_graph (node->attrs[i]) && node->attrs[i]->n > 0)
      return TRUE;
  return FALSE;
}

/* What shows a value as a row of its own: operators without subgraphs. */
static gboolean
is_read_by_boxes (const IrNode *node)
{
  guint n = 0;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];

      if (value == NULL)
        continue;
      if (ir_value_is_graph_output (value))
        return FALSE;
      n += ir_value_n_node_uses (value);
    }
  return n > 0;
}

/* A node that only constants lead to and that did not change is written in its consumers. */
static gboolean
is_folded_constant (const Collect *c, const IrNode *node)
{
  const IrNode *a, *b;

  if (c->options->show_constants || !g_hash_table_contains (c->fixed, node) ||
      !is_read_by_boxes (node))
    return FALSE;
  if (ir_node_is_constant (node))
    return node->n_outputs == 1 && node->outputs[0] != NULL;
  if (c->options->marks != NULL &&
      g_hash_table_contains (c->options->marks->states, GUINT_TO_POINTER (node->id)))
    return FALSE;
  return c->diff == NULL || scene_find_sides (c->diff, node, node->graph->model == c->diff->b, &a,
                                              &b) == IR_SCENE_SAME;
}

static Place place_of_graph (Collect *c, const IrGraph *graph, gboolean later);
static Place place_in_scope (Collect *c, const IrNode *node, gboolean later);
static Place place_in_shapes (Collect *c, const IrNode *node, Place place);

static gint32
new_fold (Collect *c, Place around, const char *fold, const char *title, guint64 key)
{
  return add_item (c, (SceneItem){ .kind = IR_SCENE_FOLD,
                                   .group = around.group,
                                   .key = scene_hash_text (fold, key),
                                   .title = g_strdup (title),
                                   .fold = g_strdup (fold) });
}

static void
count_in_fold (Collect *c, gint32 fold, IrSceneState state, const IrNode *node)
{
  SceneItem *item = item_at (c, fold);

  if (c->options->style != NULL && node != NULL)
    {
      if (item->nodes == NULL)
        item->nodes = g_ptr_array_new ();
      g_ptr_array_add (item->nodes, (gpointer) node);
    }
  item->n_inside[state]++;
  if (state != IR_SCENE_SAME)
    item->state = IR_SCENE_CHANGED;
}

static void
add_cost (Collect *c, gint32 end, const IrNode *node)
{
  SceneItem *item = node != NULL && end >= 0 ? item_at (c, end) : NULL;

  if (item == NULL)
    return;
  item->flops += ir_cost_node_flops (node, &item->partial);
  item->bytes += ir_cost_node_bytes (node, &item->partial);
}

/* The end that stands for a node, made at first use. */
static gint32
end_of_node (Collect *c, const IrNode *node, gboolean later)
{
  gpointer found;
  const IrNode *a, *b;
  gint32 end;

  if (g_hash_table_lookup_extended (c->ends, node, NULL, &found))
    return GPOINTER_TO_INT (found);
  if (c->drawn != NULL && !g_hash_table_contains (c->drawn, node))
    return NO_END;
  IrSceneState state = scene_find_sides (c->diff, node, later, &a, &b);
  Place place = place_in_shapes (c, b, place_in_scope (c, b ? b : a, b != NULL));
  guint64 key = scene_node_key (c->diff, a, b);

  if (place.hidden || is_folded_constant (c, node))
    end = NO_END;
  else if (place.item >= 0)
    {
      end = place.item;
      count_in_fold (c, end, state, b);
    }
  else if (has_subgraphs (b ? b : a) || scene_is_open_call (regions (c, b != NULL), b ? b : a))
    {
      const IrNode *node_shown = b ? b : a;
      const gboolean open_call = !has_subgraphs (node_shown);
      g_autofree char *fold = open_call ? scene_call_fold (key) : scene_node_fold (key);
      if (!open_call &&
          (is_folded (c, fold) || scene_is_beside (regions (c, b != NULL), node_shown, key)))
        {
          end = add_item (c, (SceneItem){ .kind = IR_SCENE_FOLD,
                                          .state = state,
                                          .a = a,
                                          .b = b,
                                          .group = place.group,
                                          .key = key,
                                          .title = g_strdup (node_shown->op_type),
                                          .fold = g_strdup (fold) });
        }
      else
        {
          guint n_in = MAX (a ? a->n_inputs : 0, b ? b->n_inputs : 0);
          guint n_out = MAX (a ? a->n_outputs : 0, b ? b->n_outputs : 0);
          end = IR_LAYOUT_END_GROUP (
              add_group (c, (SceneGroup){ .parent = place.group,
                                          .key = key,
                                          .title = g_strdup (node_shown->op_type),
                                          .fold = g_strdup (fold),
                                          .state = state,
                                          .a = a,
                                          .b = b,
                                          .n_in = n_in,
                                          .n_out = n_out }));
        }
    }
  else
    end = add_item (c, (SceneItem){ .kind = IR_SCENE_NODE,
                                    .state = state,
                                    .a = a,
                                    .b = b,
                                    .group = place.group,
                                    .key = key,
                                    .title = g_strdup ((b ? b : a)->op_type),
                                    .fold = scene_is_call (regions (c, b != NULL), b ? b : a)
                                                ? scene_call_fold (key)
                                                : NULL });
  if (end != NO_END)
    add_cost (c, end, b);
  if (a != NULL)
    g_hash_table_insert (c->ends, (gpointer) a, GINT_TO_POINTER (end));
  if (b != NULL)
    g_hash_table_insert (c->ends, (gpointer) b, GINT_TO_POINTER (end));
  return end;
}

/* --- graphs and scopes ---------------------------------------------------- */

static const char *
graph_title (const IrGraph *graph, const IrNode *owner)
{
  for (guint i = 0; i < owner->n_attrs; i++)
    for (guint k = 0; k < owner->attrs[i]->n; k++)
      if (scene_holds_graph (owner->attrs[i]) && owner->attrs[i]->graphs[k] == graph->id)
        return owner->attrs[i]->name;
  return graph->name;
}

static gboolean
stands_beside (const Collect *c, const IrNode *owner, gboolean later)
{
  const IrNode *a, *b;

  scene_find_sides (c->diff, owner, later, &a, &b);
  return scene_is_beside (regions (c, later), owner, scene_node_key (c->diff, a, b));
}

static char *
beside_title (const IrGraph *graph, const IrNode *owner)
{
  if (graph->kind == IR_GRAPH_FUNCTION && owner->name[0] == '\0')
    return g_strdup (graph_title (graph, owner));
  return g_strdup_printf ("%s \302\267 %s", owner->name[0] != '\0' ? owner->name : owner->op_type,
                          graph_title (graph, owner));
}

static char *
beside_fold (const Collect *c, const IrNode *owner, gboolean later)
{
  const IrNode *a, *b;
  g_autofree char *fold = NULL;

  scene_find_sides (c->diff, owner, later, &a, &b);
  fold = scene_node_fold (scene_node_key (c->diff, a, b));
  return g_strconcat (IR_SCENE_BESIDE_FOLD, fold, NULL);
}

static Place *
remember_place (Collect *c, gconstpointer what, Place place)
{
  Place *copy = g_memdup2 (&place, sizeof place);

  g_hash_table_insert (c->places, (gpointer) what, copy);
  return copy;
}

static Place
place_of_graph (Collect *c, const IrGraph *graph, gboolean later)
{
  Place *known = g_hash_table_lookup (c->places, graph);
  Place place = { .group = -1, .item = -1 };
  const IrNode *owner;

  if (known != NULL)
    return *known;
  owner = scene_graph_owner (regions (c, later), graph);
  if (graph == scene_regions_root (regions (c, later)) ||
      (graph->kind == IR_GRAPH_MAIN && scene_regions_root (regions (c, later)) == NULL))
    return *remember_place (c, graph, place);
  /* Should a broken model hold a graph within itself, it ends here. */
  remember_place (c, graph, (Place){ .group = -1, .item = -1, .hidden = TRUE });
  if (owner == NULL)
    place.hidden = TRUE;
  else
    {
      gint32 end = end_of_node (c, owner, later);
      if (end == NO_END)
        place.hidden = TRUE;
      else if (end >= 0 && !stands_beside (c, owner, later))
        place.item = end;
      else if (end < 0 && graph->kind == IR_GRAPH_FUNCTION)
        place.group = -1 - end; /* it says already what is called */
      else
        {
          const gboolean beside = end >= 0;
          guint64 key = scene_graph_key (c->diff, graph, later);
          guint64 *stored = g_memdup2 (&key, sizeof key);
          gint32 group = GPOINTER_TO_INT (g_hash_table_lookup (c->items, stored)) - 1;
          if (group < 0)
            {
              group = add_group (
                  c, (SceneGroup){ .parent = beside ? -1 : -1 - end,
                                   .key = key,
                                   .title = beside ? beside_title (graph, owner)
                                                   : g_strdup (graph_title (graph, owner)),
                                   .fold = beside ? beside_fold (c, owner, later) : NULL });
              g_hash_table_insert (c->items, stored, GINT_TO_POINTER (group + 1));
            }
          else
            g_free (stored);
          place.group = group;
        }
    }
  return *remember_place (c, graph, place);
}

static const char *
scope_name (Collect *c, guint64 graph, const char *scope, gsize length)
{
  g_autofree char *text = scene_scope_fold (graph, scope, length);

  return g_string_chunk_insert_const (c->names, text);
}

static void
count_scope (Collect *c, GHashTable *counts, guint64 graph, const char *scope, gsize length)
{
  const char *name = scope_name (c, graph, scope, length);
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, name));

  g_hash_table_insert (counts, (gpointer) name, GUINT_TO_POINTER (n + 1));
}

/* Counts the nodes below each scope prefix, so that frames around nothing, one
 * node or everything are left out. Of two models the larger number counts, or a
 * node and what it was rewritten to would make a frame. */
static void
count_scopes (Collect *c, const IrModel *model, gboolean later)
{
  g_autoptr (GHashTable) counts = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer name, n;

  for (guint id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      if (node == NULL || node->scope == NULL || is_folded_constant (c, node))
        continue;
      guint64 graph = scene_graph_key (c->diff, node->graph, later);
      count_scope (c, counts, graph, node->scope, 0);
      for (const char *p = node->scope; *p != '\0'; p++)
        if (p[1] == '/' || p[1] == '\0')
          count_scope (c, counts, graph, node->scope, (gsize) (p + 1 - node->scope));
    }
  g_hash_table_iter_init (&iter, counts);
  while (g_hash_table_iter_next (&iter, &name, &n))
    if (GPOINTER_TO_UINT (n) > GPOINTER_TO_UINT (g_hash_table_lookup (c->scopes, name)))
      g_hash_table_insert (c->scopes, name, n);
}

/* A frame, or a closed box, called @name, in @place */
static Place
place_in_group (Collect *c, Place place, const char *name, const char *title, const char *note)
{
  Place *known = g_hash_table_lookup (c->places, name);

  if (known != NULL)
    return *known;
  if (is_folded (c, name))
    {
      place.item = new_fold (c, place, name, title, 0);
      item_at (c, place.item)->note = g_strdup (note);
    }
  else
    place.group = add_group (c, (SceneGroup){ .parent = place.group,
                                              .key = scene_hash_text (name, 0),
                                              .title = g_strdup (title),
                                              .fold = g_strdup (name) });
  return *remember_place (c, name, place);
}

/* Copies of one block lie in one group. */
static Place
place_in_repeat (Collect *c, Place place, guint64 graph, const char *scope, gsize length)
{
  g_autofree char *fold = scene_repeat_fold (graph, scope, length);
  const SceneRepeat *repeat = fold != NULL ? g_hash_table_lookup (c->repeats, fold) : NULL;

  if (repeat == NULL)
    return place;
  return place_in_group (c, place, g_string_chunk_insert_const (c->names, fold), repeat->title,
                         repeat->differ);
}

/* @node: (nullable): in the later model */
static Place
place_in_shapes (Collect *c, const IrNode *node, Place place)
{
  const gpointer root = node != NULL ? g_hash_table_lookup (c->shapes, node) : NULL;
  g_autofree char *fold = NULL;

  if (root == NULL || place.hidden || place.item >= 0 || c->options->show_constants)
    return place;
  fold = scene_shape_fold (GPOINTER_TO_UINT (root));
  return place_in_group (c, place, g_string_chunk_insert_const (c->names, fold), "shape", NULL);
}

static Place
place_in_scope (Collect *c, const IrNode *node, gboolean later)
{
  Place place = place_of_graph (c, node->graph, later);
  guint around;

  if (c->options->flat || place.hidden || place.item >= 0 || node->scope == NULL ||
      node->scope[0] == '\0')
    return place;
  guint64 graph = scene_graph_key (c->diff, node->graph, later);
  around = GPOINTER_TO_UINT (
      g_hash_table_lookup (c->scopes, scope_name (c, graph, node->scope, 0)));
  for (const char *start = node->scope, *p = start;; p++)
    {
      if (*p != '/' && *p != '\0')
        continue;
      const char *name = scope_name (c, graph, node->scope, (gsize) (p - node->scope));
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (c->scopes, name));
      Place *known = g_hash_table_lookup (c->places, name);
      if (known != NULL)
        place = *known;
      else if (n > 1 && n < around)
        {
          g_autofree char *title = g_strndup (start, (gsize) (p - start));
          place = place_in_repeat (c, place, graph, node->scope, (gsize) (p - node->scope));
          if (place.item >= 0)
            {
              remember_place (c, name, place);
              return place;
            }
          if (is_folded (c, name))
            place.item = new_fold (c, place, name, title, graph);
          else
            place.group = add_group (c, (SceneGroup){ .parent = place.group,
                                                      .key = scene_hash_text (name, graph),
                                                      .title = g_strdup (title),
                                                      .fold = g_strdup (name) });
          remember_place (c, name, place);
        }
      around = n;
      if (*p == '\0' || place.item >= 0)
        return place;
      start = p + 1;
    }
}

/* --- values --------------------------------------------------------------- */

static gint32
pill (Collect *c, const IrValue *value, gboolean later, IrSceneBoxKind kind, const IrGraph *graph)
{
  Place place = place_of_graph (c, graph, later);
  guint64 key = scene_hash_text (value->name,
                                 scene_graph_key (c->diff, graph, later) * 31 + kind + 1);
  gint32 item = GPOINTER_TO_INT (g_hash_table_lookup (c->items, &key)) - 1;

  if (place.hidden)
    return NO_END;
  if (place.item >= 0)
    return place.item;
  if (item < 0)
    {
      item = add_item (c, (SceneItem){ .kind = kind,
                                       .state = !c->diff ? IR_SCENE_SAME
                                                : later  ? IR_SCENE_NEW
                                                         : IR_SCENE_REMOVED,
                                       .group = place.group,
                                       .key = key,
                                       .title = g_strdup (value->name) });
      g_hash_table_insert (c->items, g_memdup2 (&key, sizeof key), GINT_TO_POINTER (item + 1));
    }
  else if (!later && item_at (c, item)->state == IR_SCENE_NEW)
    item_at (c, item)->state = IR_SCENE_SAME;
  if (later)
    item_at (c, item)->vb = value;
  else
    item_at (c, item)->va = value;
  return item;
}

/* The end that a value comes from, and its port there. */
static gint32
end_of_value (Collect *c, const IrValue *value, gboolean later, guint64 *port)
{
  gint32 end;

  *port = 0;
  if (value->producer != NULL)
    {
      const IrNode *a, *b;
      end = end_of_node (c, value->producer, later);
      *port = value->output_slot;
      if (end == NO_END || end < 0 || item_at (c, end)->kind != IR_SCENE_FOLD)
        return end;
      scene_find_sides (c->diff, value->producer, later, &a, &b);
      *port = scene_node_key (c->diff, a, b) << 20 | (value->output_slot & 0xfffff);
      return end;
    }
  if (ir_value_is_graph_input (value) && ir_value_constant (value) == NULL)
    end = pill (c, value, later, IR_SCENE_INPUT, value->graph);
  else if (value->initializer != NULL)
    end = c->options->show_constants ? pill (c, value, later, IR_SCENE_CONSTANT, value->graph)
                                     : NO_END;
  else
    return NO_END;
  if (end >= 0 && item_at (c, end)->kind == IR_SCENE_FOLD)
    *port = scene_hash_text (value->name, 1);
  return end;
}

guint
scene_draft_port (const GArray *ports, guint64 port)
{
  for (guint i = 0; i < ports->len; i++)
    if (g_array_index (ports, guint64, i) == port)
      return i;
  return G_MAXUINT;
}

static void
need_port (Collect *c, gint32 end, guint64 port, gboolean out)
{
  if (end < 0)
    {
      SceneGroup *group = &g_array_index (c->draft->groups, SceneGroup, -1 - end);
      guint *n = out ? &group->n_out : &group->n_in;
      *n = MAX (*n, (guint) MIN (port + 1, 1 << 20));
      return;
    }
  GArray *ports = out ? item_at (c, end)->out : item_at (c, end)->in;
  if (scene_draft_port (ports, port) == G_MAXUINT)
    g_array_append_val (ports, port);
}

/* Whether @end is a frame and @inner lies in it. */
static gboolean
is_around (const Collect *c, gint32 end, gint32 inner)
{
  gint32 group;

  if (end >= 0)
    return FALSE;
  group = inner >= 0 ? item_at (c, inner)->group
                     : g_array_index (c->draft->groups, SceneGroup, -1 - inner).parent;
  while (group >= 0 && group != -1 - end)
    group = g_array_index (c->draft->groups, SceneGroup, group).parent;
  return group >= 0;
}

static void
add_link (Collect *c, SceneLink link, gboolean later)
{
  LinkKey key = { link.from, link.to, link.from_port, link.to_port };
  guint at;

  if (is_around (c, link.from, link.to) || is_around (c, link.to, link.from))
    return;
  at = GPOINTER_TO_UINT (g_hash_table_lookup (c->links, &key));

  if (at > 0)
    {
      SceneLink *known = &g_array_index (c->draft->links, SceneLink, at - 1);
      if (later || known->va != NULL)
        return;
      known->va = link.va;
      if (known->state == IR_SCENE_NEW)
        known->state = c->same_ids && known->vb != NULL &&
                               ir_value_shown_type (known->vb) != ir_value_shown_type (link.va)
                           ? IR_SCENE_CHANGED
                           : IR_SCENE_SAME;
      return;
    }
  need_port (c, link.from, link.from_port, TRUE);
  need_port (c, link.to, link.to_port, FALSE);
  link.state = !c->diff ? IR_SCENE_SAME : later ? IR_SCENE_NEW : IR_SCENE_REMOVED;
  g_array_append_val (c->draft->links, link);
  g_hash_table_insert (c->links, g_memdup2 (&key, sizeof key),
                       GUINT_TO_POINTER (c->draft->links->len));
}

/* What comes in from around a part that is drawn by itself. */
static gint32
captured_pill (Collect *c, const IrValue *value, const IrGraph *reader, gboolean later)
{
  const IrGraph *region = scene_region_of (regions (c, later), c->diff, reader, later);

  return region != NULL ? pill (c, value, later, IR_SCENE_INPUT, region) : NO_END;
}

static void
link_value (
    Collect *c, const IrValue *value, const IrGraph *graph, gboolean later, gint32 to, guint slot)
{
  guint64 port = 0;
  const gboolean crosses = scene_crosses (regions (c, later), c->diff, value->graph, graph, later);
  gint32 from = crosses ? captured_pill (c, value, graph, later)
                        : end_of_value (c, value, later, &port);
  const SceneItem *item = to >= 0 ? item_at (c, to) : NULL;
  const gboolean folded = item != NULL && item->kind == IR_SCENE_FOLD;
  SceneLink link = { .from = from,
                     .to = to,
                     .from_port = port,
                     .to_port = slot,
                     .from_slot = value->output_slot,
                     .to_slot = slot,
                     .va = later ? NULL : value,
                     .vb = later ? value : NULL,
                     .captured = graph != value->graph,
                     .back = item != NULL && !folded && value->producer != NULL &&
                             ir_edge_is_back (value->producer, later ? item->b : item->a) };

  if (from == NO_END || to == NO_END || (folded && from == to))
    return;
  if (folded)
    link.to_port = (guint64) (guint32) from << 32 ^ port;
  add_link (c, link, later);
}

/* --- rows ------------------------------------------------------------------ */

/* Whether a value is shown as a row of its consumers. */
static gboolean
is_row (const Collect *c, const IrValue *value)
{
  if (c->options->show_constants)
    return FALSE;
  return value->producer != NULL ? is_folded_constant (c, value->producer)
                                 : ir_value_constant (value) != NULL;
}

void
scene_item_add_row (SceneItem *item, const IrNode *node, guint slot, const IrValue *value)
{
  SceneRow row;

  if (item->rows == NULL)
    {
      item->rows = g_array_new (FALSE, FALSE, sizeof (SceneRow));
      g_array_set_clear_func (item->rows, clear_row);
    }
  row.name = node->op ? ir_op_input_name (node->op, slot) : g_strdup_printf ("input %u", slot);
  row.figure = scene_constant_figure (value);
  g_array_append_val (item->rows, row);
}

static void
add_row (Collect *c, gint32 end, const IrNode *node, guint slot, const IrValue *value)
{
  if (end >= 0 && item_at (c, end)->kind == IR_SCENE_NODE)
    scene_item_add_row (item_at (c, end), node, slot, value);
}

/* --- collecting ------------------------------------------------------------ */

static void
collect_node (Collect *c, const IrNode *node, gboolean later)
{
  gint32 end = end_of_node (c, node, later);
  const IrNode *a, *b;

  if (end == NO_END)
    return;
  scene_find_sides (c->diff, node, later, &a, &b);
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *value = node->inputs[i];
      if (value == NULL)
        continue;
      if (is_row (c, value))
        {
          /* The rows are those of the later side. */
          if (later || b == NULL)
            add_row (c, end, node, i, value);
        }
      else
        link_value (c, value, node->graph, later, end, i);
    }
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    {
      const IrNode *first = ir_model_live_node (node->graph->model, node->controls->ids[i]);
      gint32 from = first ? end_of_node (c, first, later) : NO_END;
      if (from == NO_END || from == end)
        continue;
      add_link (c,
                (SceneLink){ .from = from,
                             .to = end,
                             .from_port = from < 0 ? 0 : G_MAXUINT32,
                             .to_port = end < 0 ? 0 : G_MAXUINT32,
                             .kind = IR_SCENE_LINE_CONTROL },
                later);
    }
}

static void
collect_pills (Collect *c, const IrGraph *graph, gboolean later, gboolean outputs)
{
  Place place = place_of_graph (c, graph, later);

  if (place.hidden || place.item >= 0)
    return;
  for (guint i = 0; !outputs && c->drawn == NULL && i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *value = ir_graph_input (graph, i);
      if (value != NULL && ir_value_constant (value) == NULL)
        pill (c, value, later, IR_SCENE_INPUT, graph);
    }
  for (guint i = 0; outputs && i < ir_graph_n_outputs (graph); i++)
    {
      const IrValue *value = ir_graph_output (graph, i);
      if (c->drawn != NULL && (value == NULL || value->producer == NULL ||
                               !g_hash_table_contains (c->drawn, value->producer)))
        continue;
      gint32 end = value ? pill (c, value, later, IR_SCENE_OUTPUT, graph) : NO_END;
      if (end != NO_END)
        link_value (c, value, graph, later, end, 0);
    }
}

static void
collect_model (Collect *c, const IrModel *model, gboolean later)
{
  for (guint id = 1; id < model->graphs->len; id++)
    {
      const IrGraph *graph = ir_model_graph (model, id);
      guint n;
      if (graph == NULL || graph->state != IR_STATE_LIVE ||
          (graph->kind == IR_GRAPH_FUNCTION && graph != scene_regions_root (regions (c, later)) &&
           scene_graph_owner (regions (c, later), graph) == NULL))
        continue;
      collect_pills (c, graph, later, FALSE);
      IrNode *const *order = ir_graph_order (graph, &n);
      for (guint i = 0; i < n; i++)
        collect_node (c, order[i], later);
      collect_pills (c, graph, later, TRUE);
    }
}

/* --- marks ------------------------------------------------------------------ */

static IrSceneState
mark_of (const IrSceneMarks *marks, const IrNode *node)
{
  return node != NULL
             ? GPOINTER_TO_INT (g_hash_table_lookup (marks->states, GUINT_TO_POINTER (node->id)))
             : IR_SCENE_SAME;
}

/* Of the boxes at the ends of a line. */
static IrSceneState
mark_of_end (const Collect *c, gint32 end)
{
  return end >= 0 ? item_at (c, end)->state
                  : g_array_index (c->draft->groups, SceneGroup, -1 - end).state;
}

static void
mark_links (Collect *c, const IrSceneMarks *marks)
{
  for (guint i = 0; i < c->draft->links->len; i++)
    {
      SceneLink *link = &g_array_index (c->draft->links, SceneLink, i);
      const IrSceneState from = mark_of_end (c, link->from), to = mark_of_end (c, link->to);

      if (link->vb != NULL && link->vb->id == marks->misfit && to == IR_SCENE_MATCHED)
        link->state = IR_SCENE_MISFIT;
      else if (from == IR_SCENE_MATCHED && to == IR_SCENE_MATCHED)
        link->state = IR_SCENE_MATCHED;
    }
}

/* Beside what stands in its place: in the frame of its user, with a line to the same port. */
static void
add_ghost (Collect *c, const IrModel *model, const IrSceneGhost *ghost, guint index, gint32 *ends)
{
  const IrNode *user = ghost->user != 0 ? ir_model_live_node (model, ghost->user) : NULL;
  gint32 to = NO_END;
  guint n_links;

  ends[index] = NO_END;
  if (user != NULL)
    to = end_of_node (c, user, TRUE);
  else if (ghost->feeds >= 0 && (guint) ghost->feeds < index)
    to = ends[ghost->feeds];
  if (to == NO_END)
    return;
  ends[index] = add_item (
      c,
      (SceneItem){ .kind = IR_SCENE_NODE,
                   .state = IR_SCENE_MISSING,
                   .ghost = ghost,
                   .group = to >= 0 ? item_at (c, to)->group
                                    : g_array_index (c->draft->groups, SceneGroup, -1 - to).parent,
                   .key = scene_hash_text (ghost->title, (guint64) index + 1),
                   .title = g_strdup (ghost->title) });
  n_links = c->draft->links->len;
  add_link (
      c,
      (SceneLink){ .from = ends[index], .to = to, .to_port = ghost->slot, .to_slot = ghost->slot },
      TRUE);
  if (c->draft->links->len > n_links)
    g_array_index (c->draft->links, SceneLink, n_links).state = IR_SCENE_MISSING;
}

static void
add_marks (Collect *c, const IrModel *model, const IrSceneMarks *marks)
{
  g_autofree gint32 *ends = g_new (gint32, MAX (1, marks->ghosts->len));

  for (guint i = 0; i < c->draft->items->len; i++)
    item_at (c, (gint32) i)->state = mark_of (marks, item_at (c, (gint32) i)->b);
  for (guint i = 0; i < c->draft->groups->len; i++)
    {
      SceneGroup *group = &g_array_index (c->draft->groups, SceneGroup, i);
      group->state = mark_of (marks, group->b);
    }
  mark_links (c, marks);
  for (guint i = 0; i < marks->ghosts->len; i++)
    add_ghost (c, model, &g_array_index (marks->ghosts, IrSceneGhost, i), i, ends);
}

static int
compare_ports (gconstpointer a, gconstpointer b)
{
  guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

  return x < y ? -1 : x > y;
}

SceneDraft *
scene_draft_new_empty (void)
{
  SceneDraft *draft = g_new0 (SceneDraft, 1);

  draft->items = g_array_new (FALSE, FALSE, sizeof (SceneItem));
  draft->groups = g_array_new (FALSE, FALSE, sizeof (SceneGroup));
  draft->links = g_array_new (FALSE, FALSE, sizeof (SceneLink));
  g_array_set_clear_func (draft->items, clear_item);
  g_array_set_clear_func (draft->groups, clear_group);
  return draft;
}

/* The union; it borrows from the models and from the marks. @diff: two models, or NULL. */
SceneDraft *
scene_draft_new (const IrDiff *diff, IrModel *model, const IrSceneOptions *options)
{
  SceneDraft *draft = scene_draft_new_empty ();
  Collect c = { .draft = draft, .options = options, .diff = diff };

  draft->is_diff = diff != NULL;
  c.same_ids = diff != NULL && diff->a->context == diff->b->context;
  c.ends = g_hash_table_new (NULL, NULL);
  c.places = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  c.items = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  c.links = g_hash_table_new_full (hash_link, equal_links, g_free, NULL);
  c.scopes = g_hash_table_new (NULL, NULL);
  c.names = g_string_chunk_new (1024);
  c.fixed = g_hash_table_new (NULL, NULL);
  scene_find_fixed (c.fixed, model);
  c.regions[1] = scene_regions_new (model, options);
  c.regions[0] = scene_regions_new (diff != NULL ? diff->a : model, options);
  if (options->is_drawn != NULL)
    {
      c.drawn = g_hash_table_new (NULL, NULL);
      scene_find_drawn (c.drawn, model, options);
      if (diff != NULL)
        scene_find_drawn (c.drawn, diff->a, options);
    }
  c.repeats = options->flat ? g_hash_table_new (g_str_hash, g_str_equal)
                            : scene_repeats_new (diff, model);
  c.shapes = scene_shapes_new (diff, model);
  if (diff != NULL)
    scene_find_fixed (c.fixed, diff->a);

  if (!options->flat)
    {
      count_scopes (&c, model, TRUE);
      if (diff != NULL)
        count_scopes (&c, diff->a, FALSE);
    }
  collect_model (&c, model, TRUE);
  if (diff != NULL)
    collect_model (&c, diff->a, FALSE);
  else if (options->marks != NULL)
    add_marks (&c, model, options->marks);
  for (guint i = 0; i < draft->items->len; i++)
    if (item_at (&c, (gint32) i)->kind == IR_SCENE_NODE)
      g_array_sort (item_at (&c, (gint32) i)->in, compare_ports);

  g_hash_table_unref (c.ends);
  g_hash_table_unref (c.places);
  g_hash_table_unref (c.items);
  g_hash_table_unref (c.links);
  g_hash_table_unref (c.scopes);
  g_hash_table_unref (c.fixed);
  g_clear_pointer (&c.drawn, g_hash_table_unref);
  scene_regions_free (c.regions[0]);
  scene_regions_free (c.regions[1]);
  g_hash_table_unref (c.repeats);
  g_hash_table_unref (c.shapes);
  g_string_chunk_free (c.names);
  return draft;
}
