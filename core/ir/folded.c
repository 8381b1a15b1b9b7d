/* Where nodes went that have no heirs.
 *
 * A step says which value stands for which. Read from the last step back, that gives for every
 * value the one that stands for it now, in one walk. What a folded node computed is such a value:
 * a constant. If that constant was folded further, the search goes on behind its readers, in the
 * graph as it was before, up to the nearest values that are there now. */
#include "config.h"

#include "core/ir/folded.h"

#include <string.h>

#define MAX_VISITS 4096
#define MAX_FOUND  16

struct _IrFates
{
  IrModel *model, *original; /* original: as imported */
  guint32 *current;          /* value id -> the one that stands for it at the cursor */
  guint *removed;            /* node id -> the step that removed it, 0 = none */
};

static void
follow_values (IrFates *fates)
{
  for (guint i = 1; i < fates->model->values->len; i++)
    fates->current[i] = i;
  for (guint s = ir_history_cursor (fates->model); s > 0; s--)
    {
      const GArray *pairs = ir_history_step (fates->model, s)->values;

      for (guint k = pairs != NULL ? pairs->len : 0; k > 0; k--)
        {
          IrIdPair pair = g_array_index (pairs, IrIdPair, k - 1);

          if (pair.before != 0 && ir_model_live_value (fates->model, pair.before) == NULL)
            fates->current[pair.before] = pair.after != 0 ? fates->current[pair.after] : 0;
        }
    }
}

static void
note_removals (IrFates *fates)
{
  for (guint s = 1; s <= ir_history_cursor (fates->model); s++)
    {
      const IrStep *step = ir_history_step (fates->model, s);

      for (guint i = 0; i < step->n_records; i++)
        {
          const IrRecord *record = ir_history_record (fates->model, step->first_record + i);

          if (record->kind == IR_RECORD_NODE_STATE)
            fates->removed[record->subject] = s;
        }
    }
}

/**
 * ir_fates_new:
 * @model: a model with a history
 *
 * Reads the log up to the cursor: O(records).
 *
 * Returns: (transfer full): what became of its nodes
 */
IrFates *
ir_fates_new (IrModel *model)
{
  IrFates *fates = g_new0 (IrFates, 1);

  fates->model = ir_model_ref (model);
  fates->original = ir_history_snapshot (model, 0);
  fates->current = g_new0 (guint32, model->values->len);
  fates->removed = g_new0 (guint, model->nodes->len);
  follow_values (fates);
  note_removals (fates);
  return fates;
}

/**
 * ir_fates_free:
 * @fates: (transfer full): what became of nodes
 */
void
ir_fates_free (IrFates *fates)
{
  ir_model_unref (fates->model);
  ir_model_unref (fates->original);
  g_free (fates->current);
  g_free (fates->removed);
  g_free (fates);
}

/**
 * ir_fates_step:
 * @fates: what became of nodes
 * @node: id of a node
 *
 * Returns: the step that removed it; 0 if it is there
 */
guint
ir_fates_step (const IrFates *fates, IrNodeId node)
{
  return ir_model_live_node (fates->model, node) == NULL ? fates->removed[node] : 0;
}

/* -- the search -- */

typedef struct
{
  IrFates *fates;
  GPtrArray *queue; /* of IrValue, of the graph before */
  GHashTable *seen; /* values */
  GArray *found;
} Search;

static void
add_value (Search *search, IrValue *value)
{
  if (value != NULL && g_hash_table_add (search->seen, value))
    g_ptr_array_add (search->queue, value);
}

static gboolean
is_found (const GArray *found, guint32 id)
{
  for (guint i = 0; i < found->len; i++)
    if (g_array_index (found, guint32, i) == id)
      return TRUE;
  return FALSE;
}

static void
look_at (Search *search, const IrValue *value)
{
  guint32 now = search->fates->current[value->id];

  if (now != 0 && ir_model_live_value (search->fates->model, now) != NULL)
    {
      if (!is_found (search->found, now))
        g_array_append_val (search->found, now);
      return;
    }
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);

      for (guint k = 0; use.node != NULL && k < use.node->n_outputs; k++)
        add_value (search, use.node->outputs[k]);
    }
}

static GArray *
run_search (Search *search)
{
  for (guint i = 0; i < search->queue->len && i < MAX_VISITS && search->found->len < MAX_FOUND; i++)
    look_at (search, search->queue->pdata[i]);
  g_ptr_array_unref (search->queue);
  g_hash_table_unref (search->seen);
  return search->found;
}

static Search
new_search (IrFates *fates)
{
  return (Search){ fates, g_ptr_array_new (), g_hash_table_new (NULL, NULL),
                   g_array_new (FALSE, FALSE, sizeof (guint32)) };
}

/**
 * ir_fates_of_node:
 * @fates: what became of nodes
 * @node: id of a node, of any step
 *
 * Returns: (transfer full) (element-type guint32): ids of values, sixteen at most, the nearest
 * first
 */
GArray *
ir_fates_of_node (IrFates *fates, IrNodeId node)
{
  Search search = new_search (fates);
  guint step = ir_fates_step (fates, node);
  g_autoptr (IrModel) before = ir_model_live_node (fates->original, node) != NULL || step == 0
                                   ? ir_model_ref (fates->original)
                                   : ir_history_snapshot (fates->model, step - 1);
  const IrNode *then = ir_model_live_node (before, node);

  for (guint i = 0; then != NULL && i < then->n_outputs; i++)
    add_value (&search, then->outputs[i]);
  return run_search (&search);
}

/**
 * ir_fates_of_value:
 * @fates: what became of nodes
 * @value: id of a value of the model as it was imported
 *
 * Returns: (transfer full) (element-type guint32): as of ir_fates_of_node()
 */
GArray *
ir_fates_of_value (IrFates *fates, IrValueId value)
{
  Search search = new_search (fates);

  add_value (&search, ir_model_live_value (fates->original, value));
  return run_search (&search);
}
