#include "config.h"

/* A few nodes by themselves: what they take from elsewhere and what they give are pills, constants
 * are rows. The cost is that of these nodes, however large their model is. */

#include "core/layout/draft-private.h"
#include "core/op/op.h"

typedef struct
{
  SceneDraft *draft;
  const IrScenePart *part;
  GHashTable *ends; /* node or value -> item + 1 */
} Part;

static SceneItem *
item_at (const Part *p, gint32 i)
{
  return &g_array_index (p->draft->items, SceneItem, i);
}

static gint32
find (const Part *p, gconstpointer what)
{
  return what != NULL ? GPOINTER_TO_INT (g_hash_table_lookup (p->ends, what)) - 1 : -1;
}

static gint32
add_item (Part *p, gconstpointer what, SceneItem item)
{
  item.group = -1;
  item.in = g_array_new (FALSE, FALSE, sizeof (guint64));
  item.out = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_array_append_val (p->draft->items, item);
  g_hash_table_insert (p->ends, (gpointer) what, GUINT_TO_POINTER (p->draft->items->len));
  return (gint32) p->draft->items->len - 1;
}

static gint32
add_pill (Part *p, gconstpointer what, const IrValue *value, IrSceneBoxKind kind)
{
  const gboolean earlier = p->part->earlier;

  return add_item (p, what,
                   (SceneItem){ .kind = kind,
                                .va = earlier ? value : NULL,
                                .vb = earlier ? NULL : value,
                                .key = (guint64) kind << 40 | value->id,
                                .title = g_strdup (value->name) });
}

static void
add_node (Part *p, const IrNode *node)
{
  const gboolean earlier = p->part->earlier;
  gpointer state = p->part->states != NULL
                       ? g_hash_table_lookup (p->part->states, GUINT_TO_POINTER (node->id))
                       : NULL;

  add_item (p, node,
            (SceneItem){ .kind = IR_SCENE_NODE,
                         .state = GPOINTER_TO_INT (state),
                         .a = earlier ? node : NULL,
                         .b = earlier ? NULL : node,
                         .key = node->id,
                         .title = g_strdup (node->op_type) });
}

static void
need_port (GArray *ports, guint64 port)
{
  if (scene_draft_port (ports, port) == G_MAXUINT)
    g_array_append_val (ports, port);
}

static void
link_items (Part *p, gint32 from, gint32 to, guint to_slot, const IrValue *value)
{
  const gboolean earlier = p->part->earlier;
  const guint from_slot = item_at (p, from)->kind == IR_SCENE_NODE ? value->output_slot : 0;
  const SceneLink link = { .from = from,
                           .to = to,
                           .from_port = from_slot,
                           .to_port = to_slot,
                           .from_slot = from_slot,
                           .to_slot = to_slot,
                           .va = earlier ? value : NULL,
                           .vb = earlier ? NULL : value };

  need_port (item_at (p, from)->out, from_slot);
  need_port (item_at (p, to)->in, to_slot);
  g_array_append_val (p->draft->links, link);
}

static void
link_inputs (Part *p, const IrNode *node)
{
  const gint32 to = find (p, node);

  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *value = node->inputs[i];
      gint32 from = value != NULL ? find (p, value->producer) : -1;

      if (value == NULL)
        continue;
      if (from < 0 && ir_value_constant (value) != NULL)
        {
          scene_item_add_row (item_at (p, to), node, i, value);
          continue;
        }
      if (from < 0)
        from = find (p, value);
      if (from < 0 && p->part->bare)
        continue;
      if (from < 0)
        from = add_pill (p, value, value, IR_SCENE_INPUT);
      link_items (p, from, to, i, value);
    }
}

/* Whether something beside the part takes a value, or nothing does. */
static gboolean
leaves (const Part *p, const IrValue *value)
{
  guint n = 0;

  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *user = ir_value_use (value, i).node;

      if (user != NULL && find (p, user) < 0)
        return TRUE;
      n++;
    }
  return n == 0 || ir_value_is_graph_output (value);
}

/* Under the node, which is another key than that of the value: it may be taken inside, too. */
static void
link_outputs (Part *p, const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && leaves (p, node->outputs[i]))
      link_items (p, find (p, node),
                  add_pill (p, &node->outputs[i], node->outputs[i], IR_SCENE_OUTPUT), 0,
                  node->outputs[i]);
}

static int
compare_ports (gconstpointer a, gconstpointer b)
{
  const guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

  return x < y ? -1 : x > y;
}

/**
 * ir_scene_new_for_part:
 * @part: nodes and values of one model
 * @options: what to show; folds, frames and problems are not
 * @cancellable: (nullable): checked by the layout
 * @error: return location for an error, or %NULL
 *
 * Fails as ir_layout_new() does.
 *
 * Returns: (transfer full) (nullable): a finished scene
 */
IrScene *
ir_scene_new_for_part (const IrScenePart *part,
                       const IrSceneOptions *options,
                       GCancellable *cancellable,
                       GError **error)
{
  g_autoptr (SceneDraft) draft = scene_draft_new_empty ();
  g_autoptr (GHashTable) ends = g_hash_table_new (NULL, NULL);
  Part p = { draft, part, ends };
  guint n;

  draft->is_diff = part->states != NULL;
  for (guint i = 0; i < part->nodes->len; i++)
    add_node (&p, part->nodes->pdata[i]);
  for (guint i = 0; i < part->nodes->len; i++)
    link_inputs (&p, part->nodes->pdata[i]);
  for (guint i = 0; i < part->nodes->len && !part->bare; i++)
    link_outputs (&p, part->nodes->pdata[i]);
  for (guint i = 0; i < part->values->len; i++)
    if (find (&p, part->values->pdata[i]) < 0)
      add_pill (&p, part->values->pdata[i], part->values->pdata[i],
                ir_value_constant (part->values->pdata[i]) != NULL ? IR_SCENE_CONSTANT
                                                                   : IR_SCENE_INPUT);
  n = draft->items->len;
  for (guint i = 0; i < n; i++)
    g_array_sort (item_at (&p, (gint32) i)->in, compare_ports);
  return scene_from_draft (draft, NULL, NULL, options, cancellable, error);
}
