/* The difference of two models. First the nodes and values of both sides are paired: by id within one history;
 * otherwise by the lineage that one of them carries in its metadata, if any, by fingerprints of all that they are
 * computed from, by names that something speaks for, then by operator and neighbours, from what is paired already
 * and from the outputs. Then each pair is compared field by field. Cost: O(n log n), but for the notes on what
 * changed. */
#include "config.h"

#include "core/diff/diff-private.h"

#include <string.h>

static void
pair_by_likeness (IrPairing *p)
{
  p->how = IR_PAIRED_BY_MEANING;
  if (p->origins != NULL)
    ir_pair_by_origin (p);
  ir_pair_graph_inputs (p);
  ir_pair_outputs (p);
  p->how = IR_PAIRED_BY_COMPUTATION;
  ir_pair_by_subtree (p);
  p->how = IR_PAIRED_BY_NAME;
  ir_pair_by_name (p);
  p->how = IR_PAIRED_BY_PLACE;
  ir_pair_by_neighbours (p);
  ir_pair_by_fingerprints (p);
  ir_pair_by_order (p, TRUE);
  ir_pair_by_neighbours (p);
  ir_pair_by_order (p, FALSE);
  ir_pair_rest_by_name (p);
}

static guint64
outline (const IrModel *model)
{
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);
  guint64 hash = n;

  for (guint i = 0; i < n; i++)
    hash = ir_diff_mix (hash, ir_diff_hash_text (order[i]->op_type));
  return hash;
}

/**
 * ir_diff_is_turned:
 * @a: a model
 * @b: another one
 *
 * Pairs are sought from the smaller graph in the larger one, so that they do not depend on which of the
 * two is called the first.
 *
 * Returns: whether @b is the smaller one
 */
gboolean
ir_diff_is_turned (const IrModel *a, const IrModel *b)
{
  guint n_a, n_b;

  ir_graph_order (a->main, &n_a);
  ir_graph_order (b->main, &n_b);
  return n_a != n_b ? n_a > n_b : outline (a) > outline (b);
}

/* Whichever side says what it was made of is the later one while pairs are sought, so that the
 * difference is the same seen from either side. */
static void
pair_either_way (IrPairing *p)
{
  g_autoptr (IrOrigins) of_a = NULL;
  IrPairing turned = { .a = p->b,
                       .b = p->a,
                       .node_of_a = p->node_of_b,
                       .node_of_b = p->node_of_a,
                       .value_of_a = p->value_of_b,
                       .value_of_b = p->value_of_a,
                       .how_of_a = p->how_of_b,
                       .how_of_b = p->how_of_a };

  p->origins = ir_origins_read (p->b);
  of_a = p->origins == NULL ? ir_origins_read (p->a) : NULL;
  turned.origins = of_a;
  pair_by_likeness (of_a != NULL || (p->origins == NULL && ir_diff_is_turned (p->a, p->b)) ? &turned
                                                                                           : p);
}

static void
add_node_diff (
    IrDiff *diff, IrDiffKind kind, IrPaired how, IrNodeId a, IrNodeId b, GPtrArray *changes)
{
  IrNodeDiff item = { kind, how, a, b, changes };

  g_array_append_val (diff->nodes, item);
  diff->n_nodes[kind]++;
  if (a != 0)
    g_hash_table_insert (diff->by_a, GUINT_TO_POINTER (a), GUINT_TO_POINTER (diff->nodes->len));
  if (b != 0)
    g_hash_table_insert (diff->by_b, GUINT_TO_POINTER (b), GUINT_TO_POINTER (diff->nodes->len));
}

/* All live nodes, graph by graph, each in its order. */
static GPtrArray *
all_nodes (const IrModel *model)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      guint n = 0;
      IrNode *const *order = graph->state == IR_STATE_LIVE ? ir_graph_order (graph, &n) : NULL;
      for (guint k = 0; k < n; k++)
        g_ptr_array_add (nodes, order[k]);
    }
  return nodes;
}

/* Removed nodes, by the node of b behind whose place they come; 0 = in front of all. */
static void
add_removed (IrDiff *diff, const guint32 *next_removed, guint32 first)
{
  for (guint32 id = first; id != 0; id = next_removed[id])
    add_node_diff (diff, IR_DIFF_REMOVED, IR_PAIRED_NOT, id, 0, NULL);
}

static char *
join_names (const GPtrArray *names)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", (char *) names->pdata[i]);
  return g_string_free (text, FALSE);
}

/* What the file says of a node that is not what it was. */
static GPtrArray *
note_origin (GPtrArray *changes, const IrPairing *p, const IrNode *b, gboolean added)
{
  const IrOrigin *origin = p->origins != NULL ? ir_origins_of (p->origins, b->id) : NULL;
  g_autofree char *names = NULL;
  g_autofree char *rules = NULL;

  if (origin == NULL || (!added && changes == NULL))
    return changes;
  names = join_names (origin->nodes);
  rules = join_names (origin->rules);
  return ir_diff_note (changes, "stands for: %s (%s)", names, rules);
}

static void
fill_nodes (IrDiff *diff, const IrPairing *p)
{
  g_autoptr (GPtrArray) a_nodes = all_nodes (p->a);
  g_autoptr (GPtrArray) b_nodes = all_nodes (p->b);
  g_autofree guint32 *first_removed = g_new0 (guint32, p->b->nodes->len);
  g_autofree guint32 *last_removed = g_new0 (guint32, p->b->nodes->len);
  g_autofree guint32 *next_removed = g_new0 (guint32, p->a->nodes->len);
  guint32 behind = 0;

  for (guint i = 0; i < a_nodes->len; i++)
    {
      guint32 id = ((IrNode *) a_nodes->pdata[i])->id;

      if (p->node_of_a[id] != 0)
        {
          behind = p->node_of_a[id];
          continue;
        }
      if (first_removed[behind] == 0)
        first_removed[behind] = id;
      else
        next_removed[last_removed[behind]] = id;
      last_removed[behind] = id;
    }
  add_removed (diff, next_removed, first_removed[0]);
  for (guint i = 0; i < b_nodes->len; i++)
    {
      const IrNode *b = b_nodes->pdata[i];
      const IrNode *a = ir_model_live_node (p->a, p->node_of_b[b->id]);
      GPtrArray *changes = a != NULL ? ir_diff_compare_nodes (p, a, b) : NULL;

      changes = note_origin (changes, p, b, a == NULL);
      add_node_diff (diff,
                     a == NULL         ? IR_DIFF_ADDED
                     : changes != NULL ? IR_DIFF_CHANGED
                                       : IR_DIFF_SAME,
                     p->how_of_b[b->id], a != NULL ? a->id : 0, b->id, changes);
      add_removed (diff, next_removed, first_removed[b->id]);
    }
}

static void
fill_values (IrDiff *diff, const IrPairing *p)
{
  for (guint i = 1; i < p->b->values->len; i++)
    {
      const IrValue *b = ir_model_live_value (p->b, i);
      const IrValue *a = b != NULL ? ir_model_live_value (p->a, p->value_of_b[i]) : NULL;
      IrValueDiff item = { IR_DIFF_ADDED, 0, i, NULL };

      if (b == NULL)
        continue;
      if (a != NULL)
        {
          item.a = a->id;
          item.kind = IR_DIFF_CHANGED;
          item.changes = ir_diff_compare_values (p, a, b);
        }
      if (a == NULL || item.changes != NULL)
        g_array_append_val (diff->values, item);
    }
  for (guint i = 1; i < p->a->values->len; i++)
    {
      IrValueDiff item = { IR_DIFF_REMOVED, i, 0, NULL };
      if (ir_model_live_value (p->a, i) != NULL && p->value_of_a[i] == 0)
        g_array_append_val (diff->values, item);
    }
}

static void
clear_node_diff (gpointer data)
{
  g_clear_pointer (&((IrNodeDiff *) data)->changes, g_ptr_array_unref);
}

static void
clear_value_diff (gpointer data)
{
  g_clear_pointer (&((IrValueDiff *) data)->changes, g_ptr_array_unref);
}

/**
 * ir_diff_new:
 * @a: (transfer none): before
 * @b: (transfer none): after
 * @same_history: whether equal ids mean the same node: two steps of one model
 *
 * All nodes are listed, those that are the same too; of values only those that differ. Neither
 * model may be edited while the difference is in use.
 *
 * Returns: (transfer full): the difference
 */
IrDiff *
ir_diff_new (IrModel *a, IrModel *b, gboolean same_history)
{
  IrDiff *diff = g_new0 (IrDiff, 1);
  IrPairing p = { .a = a, .b = b };

  diff->a = ir_model_ref (a);
  diff->b = ir_model_ref (b);
  diff->same_history = same_history;
  diff->nodes = g_array_new (FALSE, FALSE, sizeof (IrNodeDiff));
  diff->values = g_array_new (FALSE, FALSE, sizeof (IrValueDiff));
  g_array_set_clear_func (diff->nodes, clear_node_diff);
  g_array_set_clear_func (diff->values, clear_value_diff);
  diff->by_a = g_hash_table_new (NULL, NULL);
  diff->by_b = g_hash_table_new (NULL, NULL);
  p.node_of_a = g_new0 (guint32, a->nodes->len);
  p.node_of_b = g_new0 (guint32, b->nodes->len);
  p.value_of_a = g_new0 (guint32, a->values->len);
  p.value_of_b = g_new0 (guint32, b->values->len);
  p.how_of_a = g_new0 (guint8, a->nodes->len);
  p.how_of_b = g_new0 (guint8, b->nodes->len);
  p.how = IR_PAIRED_BY_MEANING;
  if (same_history)
    ir_pair_by_id (&p);
  else
    pair_either_way (&p);
  fill_nodes (diff, &p);
  fill_values (diff, &p);
  if (p.origins != NULL)
    ir_diff_add_descent_by_origin (diff, &p);
  g_free (p.node_of_a);
  g_free (p.node_of_b);
  g_free (p.value_of_a);
  g_free (p.value_of_b);
  g_free (p.how_of_a);
  g_free (p.how_of_b);
  g_clear_pointer (&p.origins, ir_origins_free);
  return diff;
}

/**
 * ir_diff_free:
 * @diff: (transfer full): a difference
 */
void
ir_diff_free (IrDiff *diff)
{
  g_array_unref (diff->nodes);
  g_array_unref (diff->values);
  g_hash_table_unref (diff->by_a);
  g_hash_table_unref (diff->by_b);
  g_clear_pointer (&diff->descents, g_ptr_array_unref);
  ir_model_unref (diff->a);
  ir_model_unref (diff->b);
  g_free (diff);
}

static const IrNodeDiff *
find (const IrDiff *diff, GHashTable *table, IrNodeId id)
{
  guint place = GPOINTER_TO_UINT (g_hash_table_lookup (table, GUINT_TO_POINTER (id)));
  return place > 0 ? &g_array_index (diff->nodes, IrNodeDiff, place - 1) : NULL;
}

/**
 * ir_diff_of_a:
 * @diff: a difference
 * @a: id of a node in the model before
 *
 * Returns: (transfer none) (nullable): what became of it; %NULL if it is not live there
 */
const IrNodeDiff *
ir_diff_of_a (const IrDiff *diff, IrNodeId a)
{
  return find (diff, diff->by_a, a);
}

/**
 * ir_diff_of_b:
 * @diff: a difference
 * @b: id of a node in the model after
 *
 * Returns: (transfer none) (nullable): what it was; %NULL if it is not live there
 */
const IrNodeDiff *
ir_diff_of_b (const IrDiff *diff, IrNodeId b)
{
  return find (diff, diff->by_b, b);
}

/**
 * ir_diff_kind_name:
 * @kind: a kind of difference
 *
 * Returns: (transfer none): "same", "added", "removed" or "changed"
 */
const char *
ir_diff_kind_name (IrDiffKind kind)
{
  static const char *const names[IR_N_DIFF_KINDS] = { "same", "added", "removed", "changed" };
  return (guint) kind < IR_N_DIFF_KINDS ? names[kind] : "unknown";
}

/**
 * ir_paired_name:
 * @how: why two are a pair
 *
 * Returns: (transfer none): how that is written down: "computation"
 */
const char *
ir_paired_name (IrPaired how)
{
  static const char *const names[IR_N_PAIRED] = {
    [IR_PAIRED_NOT] = "nothing",         [IR_PAIRED_BY_COMPUTATION] = "computation",
    [IR_PAIRED_BY_MEANING] = "lineage",  [IR_PAIRED_BY_NAME] = "name",
    [IR_PAIRED_BY_PLACE] = "neighbours", [IR_PAIRED_BY_CONTENTS] = "contents",
  };

  return (guint) how < IR_N_PAIRED ? names[how] : names[IR_PAIRED_NOT];
}
