/* Lineage: which original nodes a node was made of, and where one went. Steps hold pairs (old,
 * new); a walk over the steps in order carries a set of ids along, so time is respected: a pair
 * counts only if its old side had been reached before it. Cost: linear in the pairs of the log. */
#include "config.h"

#include "core/ir/lineage.h"
#include "core/ir/log-private.h"

static gboolean
is_imported_node (const IrModel *model, IrNodeId id)
{
  return model->log == NULL || model->log->n_imported_nodes == 0 ||
         id < model->log->n_imported_nodes;
}

static gboolean
is_imported_value (const IrModel *model, IrValueId id)
{
  return model->log == NULL || model->log->n_imported_values == 0 ||
         id < model->log->n_imported_values;
}

static gboolean
add_id (GHashTable *set, guint32 id)
{
  return id != 0 && g_hash_table_add (set, GUINT_TO_POINTER (id));
}

static gboolean
has_id (GHashTable *set, guint32 id)
{
  return g_hash_table_contains (set, GUINT_TO_POINTER (id));
}

/* Adds what the pairs of one step lead to. Pairs of a step may chain, in any order. */
static void
follow_pairs (const GArray *pairs, GHashTable *set, gboolean forward)
{
  gboolean grown = pairs != NULL;

  while (grown)
    {
      grown = FALSE;
      for (guint i = 0; i < pairs->len; i++)
        {
          const IrIdPair *pair = &g_array_index (pairs, IrIdPair, i);
          if (has_id (set, forward ? pair->before : pair->after))
            grown |= add_id (set, forward ? pair->after : pair->before);
        }
    }
}

static int
compare_ids (gconstpointer a, gconstpointer b)
{
  guint32 ia = *(const guint32 *) a, ib = *(const guint32 *) b;
  return ia < ib ? -1 : ia > ib;
}

static GArray *
sorted_ids (GHashTable *set)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, set);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      guint32 id = GPOINTER_TO_UINT (key);
      g_array_append_val (ids, id);
    }
  g_array_sort (ids, compare_ids);
  return ids;
}

/* How far the history counts for @node: up to the cursor, or all of it if the node is born later.
 */
static guint
last_step_for (const IrModel *model, IrNodeId node)
{
  const IrNode *found = ir_model_node (model, node);
  return found != NULL && found->state != IR_STATE_UNBORN ? ir_history_cursor (model)
                                                          : ir_history_n_steps (model);
}

/**
 * ir_lineage_origins:
 * @model: a model with a history
 * @node: any node
 *
 * Returns: (transfer full) (element-type guint32): ids of the imported nodes whose work is in @node
 *   at the cursor, ascending; for an imported node itself too
 */
GArray *
ir_lineage_origins (IrModel *model, IrNodeId node)
{
  g_autoptr (GHashTable) set = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer key;

  add_id (set, node);
  for (guint i = last_step_for (model, node); i > 0; i--)
    follow_pairs (ir_history_step (model, i)->nodes, set, FALSE);
  g_hash_table_iter_init (&iter, set);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (!is_imported_node (model, GPOINTER_TO_UINT (key)))
      g_hash_table_iter_remove (&iter);
  return sorted_ids (set);
}

/* The model as it is at @step: itself, or a cached snapshot. While it is edited only itself. */
static IrModel *
model_at (IrModel *model, guint step)
{
  if (model->log == NULL || model->log->editing || step == ir_history_cursor (model))
    return ir_model_ref (model);
  return ir_history_snapshot (model, MIN (step, ir_history_n_steps (model)));
}

/**
 * ir_lineage_descendants:
 * @model: a model with a history
 * @node: any node
 * @step: 0 .. n_steps
 *
 * Returns: (transfer full) (element-type guint32): ids of the nodes that are live at @step and do
 *   (part of) the work of @node, ascending; @node itself if it is live
 */
GArray *
ir_lineage_descendants (IrModel *model, IrNodeId node, guint step)
{
  g_autoptr (GHashTable) set = g_hash_table_new (NULL, NULL);
  g_autoptr (IrModel) then = model_at (model, step);
  GHashTableIter iter;
  gpointer key;

  add_id (set, node);
  for (guint i = 1; i <= MIN (step, ir_history_n_steps (model)); i++)
    follow_pairs (ir_history_step (model, i)->nodes, set, TRUE);
  g_hash_table_iter_init (&iter, set);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (ir_model_live_node (then, GPOINTER_TO_UINT (key)) == NULL)
      g_hash_table_iter_remove (&iter);
  return sorted_ids (set);
}

static gboolean
pairs_mention (const GArray *pairs, guint32 id)
{
  for (guint i = 0; pairs != NULL && i < pairs->len; i++)
    {
      const IrIdPair *pair = &g_array_index (pairs, IrIdPair, i);
      if (pair->before == id || pair->after == id)
        return TRUE;
    }
  return FALSE;
}

static gboolean
step_touches (const IrModel *model, const IrStep *step, IrNodeId node)
{
  if (step->anchor == node || pairs_mention (step->nodes, node))
    return TRUE;
  for (guint i = 0; i < step->n_records; i++)
    {
      const IrRecord *record = ir_history_record (model, step->first_record + i);
      if (record->subject == node && ir_record_subject (record->kind) == IR_SUBJECT_NODE)
        return TRUE;
    }
  return FALSE;
}

/**
 * ir_lineage_steps:
 * @model: a model with a history
 * @node: any node
 *
 * Returns: (transfer full) (element-type guint): the steps that changed @node, were applied at it,
 *   or state it in their lineage, ascending
 */
GArray *
ir_lineage_steps (IrModel *model, IrNodeId node)
{
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    if (step_touches (model, ir_history_step (model, i), node))
      g_array_append_val (steps, i);
  return steps;
}

static IrTouchKind
kind_of_touch (const IrModel *model, const IrStep *step, IrNodeId node)
{
  IrTouchKind kind = IR_TOUCH_NOTED;

  for (guint i = 0; i < step->n_records; i++)
    {
      const IrRecord *record = ir_history_record (model, step->first_record + i);

      if (record->subject != node || ir_record_subject (record->kind) != IR_SUBJECT_NODE)
        continue;
      if (record->kind == IR_RECORD_NODE_STATE)
        kind = record->after.number == IR_STATE_LIVE ? IR_TOUCH_BORN : IR_TOUCH_GONE;
      else if (kind == IR_TOUCH_NOTED)
        kind = IR_TOUCH_CHANGED;
    }
  return kind;
}

/**
 * ir_lineage_touches:
 * @model: a model with a history
 * @node: any node
 *
 * Returns: (transfer full) (element-type IrTouch): what the steps of ir_lineage_steps() were to @node
 */
GArray *
ir_lineage_touches (const IrModel *model, IrNodeId node)
{
  GArray *touches = g_array_new (FALSE, FALSE, sizeof (IrTouch));

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);

      if (step_touches (model, step, node))
        {
          const IrTouch touch = { i, kind_of_touch (model, step, node) };
          g_array_append_val (touches, touch);
        }
    }
  return touches;
}

/**
 * ir_touch_name:
 * @kind: what a step was to a node
 *
 * Returns: (transfer none): "noted", "changed", "born" or "gone"
 */
const char *
ir_touch_name (IrTouchKind kind)
{
  static const char *const names[IR_N_TOUCHES] = { "noted", "changed", "born", "gone" };

  return (guint) kind < IR_N_TOUCHES ? names[kind] : "unknown";
}

static void
note_step (GArray *last, guint32 node, guint step)
{
  if (node != 0 && node < last->len)
    g_array_index (last, guint, node) = step;
}

/**
 * ir_lineage_last_steps:
 * @model: a model with a history
 * @step: 0 .. n_steps
 *
 * What ir_lineage_steps() ends with, up to @step, for all nodes at once: one pass over the records.
 *
 * Returns: (transfer full) (element-type guint): by node id, the last step that touched it; 0: none
 */
GArray *
ir_lineage_last_steps (IrModel *model, guint step)
{
  GArray *last = g_array_new (FALSE, TRUE, sizeof (guint));

  g_array_set_size (last, model->nodes->len);
  for (guint i = 1; i <= MIN (step, ir_history_n_steps (model)); i++)
    {
      const IrStep *s = ir_history_step (model, i);

      note_step (last, s->anchor, i);
      for (guint k = 0; s->nodes != NULL && k < s->nodes->len; k++)
        {
          note_step (last, g_array_index (s->nodes, IrIdPair, k).before, i);
          note_step (last, g_array_index (s->nodes, IrIdPair, k).after, i);
        }
      for (guint k = 0; k < s->n_records; k++)
        {
          const IrRecord *record = ir_history_record (model, s->first_record + k);

          if (ir_record_subject (record->kind) == IR_SUBJECT_NODE)
            note_step (last, record->subject, i);
        }
    }
  return last;
}

/**
 * ir_lineage_original_value:
 * @model: a model with a history
 * @value: any value
 *
 * Returns: id of the imported value that @value stands for: itself if it was imported; 0 if none
 */
IrValueId
ir_lineage_original_value (IrModel *model, IrValueId value)
{
  for (guint i = ir_history_n_steps (model); i > 0 && !is_imported_value (model, value); i--)
    {
      const GArray *pairs = ir_history_step (model, i)->values;
      /* Backwards, as later pairs of a step may rest on earlier ones. */
      for (guint k = pairs != NULL ? pairs->len : 0; k > 0; k--)
        {
          const IrIdPair *pair = &g_array_index (pairs, IrIdPair, k - 1);
          if (pair->after == value && pair->before != value)
            value = pair->before;
        }
    }
  return is_imported_value (model, value) ? value : 0;
}

/**
 * ir_lineage_current_value:
 * @model: a model with a history
 * @original: any value
 * @step: 0 .. n_steps
 *
 * Returns: id of the value that stands for @original at @step; 0 if there is none that is live
 */
IrValueId
ir_lineage_current_value (IrModel *model, IrValueId original, guint step)
{
  g_autoptr (IrModel) then = model_at (model, step);
  IrValueId value = original;

  for (guint i = 1; i <= MIN (step, ir_history_n_steps (model)); i++)
    {
      const GArray *pairs = ir_history_step (model, i)->values;
      for (guint k = 0; pairs != NULL && k < pairs->len; k++)
        {
          const IrIdPair *pair = &g_array_index (pairs, IrIdPair, k);
          if (pair->before == value)
            value = pair->after;
        }
    }
  return ir_model_live_value (then, value) != NULL ? value : 0;
}
