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

struct _IrFolded
{
  IrModel *model, *original; /* original: as imported */
  guint32 *current;          /* value id -> the one that stands for it at the cursor */
  guint *removed;            /* node id -> the step that removed it, 0 = none */
};

static void
follow_values (IrFolded *folded)
{
  for (guint i = 1; i < folded->model->values->len; i++)
    folded->current[i] = i;
  for (guint s = ir_history_cursor (folded->model); s > 0; s--)
    {
      const GArray *pairs = ir_history_step (folded->model, s)->values;

      for (guint k = pairs != NULL ? pairs->len : 0; k > 0; k--)
        {
          IrIdPair pair = g_array_index (pairs, IrIdPair, k - 1);

          if (pair.before != 0 && ir_model_live_value (folded->model, pair.before) == NULL)
            folded->current[pair.before] = pair.after != 0 ? folded->current[pair.after] : 0;
        }
    }
}

static void
note_removals (IrFolded *folded)
{
  for (guint s = 1; s <= ir_history_cursor (folded->model); s++)
    {
      const IrStep *step = ir_history_step (folded->model, s);

      for (guint i = 0; i < step->n_records; i++)
        {
          const IrRecord *record = ir_history_record (folded->model, step->first_record + i);

          if (record->kind == IR_RECORD_NODE_STATE)
            folded->removed[record->subject] = s;
        }
    }
}

/**
 * ir_folded_new:
 * @model: a model with a history
 *
 * Reads the log up to the cursor: O(records).
 *
 * Returns: (transfer full): what became of its nodes
 */
IrFolded *
ir_folded_new (IrModel *model)
{
  IrFolded *folded = g_new0 (IrFolded, 1);

  folded->model = ir_model_ref (model);
  folded->original = ir_history_snapshot (model, 0);
  folded->current = g_new0 (guint32, model->values->len);
  folded->removed = g_new0 (guint, model->nodes->len);
  follow_values (folded);
  note_removals (folded);
  return folded;
}

/**
 * ir_folded_free:
 * @folded: (transfer full): what became of nodes
 */
void
ir_folded_free (IrFolded *folded)
{
  ir_model_unref (folded->model);
  ir_model_unref (folded->original);
  g_free (folded->current);
  g_free (folded->removed);
  g_free (folded);
}

/**
 * ir_folded_step:
 * @folded: what became of nodes
 * @node: id of a node
 *
 * Returns: the step that removed it; 0 if it is there
 */
guint
ir_folded_step (const IrFolded *folded, IrNodeId node)
{
  return ir_model_live_node (folded->model, node) == NULL ? folded->removed[node] : 0;
}

/* -- the search -- */

typedef struct
{
  IrFolded *folded;
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
visit (Search *search, const IrValue *value)
{
  guint32 now = search->folded->current[value->id];

  if (now != 0 && ir_model_live_value (search->folded->model, now) != NULL)
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
    visit (search, search->queue->pdata[i]);
  g_ptr_array_unref (search->queue);
  g_hash_table_unref (search->seen);
  return search->found;
}

static Search
new_search (IrFolded *folded)
{
  return (Search){ folded, g_ptr_array_new (), g_hash_table_new (NULL, NULL),
                   g_array_new (FALSE, FALSE, sizeof (guint32)) };
}

/**
 * ir_folded_of_node:
 * @folded: what became of nodes
 * @node: id of a node, of any step
 *
 * Returns: (transfer full) (element-type guint32): ids of values, sixteen at most, the nearest
 * first
 */
GArray *
ir_folded_of_node (IrFolded *folded, IrNodeId node)
{
  Search search = new_search (folded);
  guint step = ir_folded_step (folded, node);
  g_autoptr (IrModel) before = ir_model_live_node (folded->original, node) != NULL || step == 0
                                   ? ir_model_ref (folded->original)
                                   : ir_history_snapshot (folded->model, step - 1);
  const IrNode *then = ir_model_live_node (before, node);

  for (guint i = 0; then != NULL && i < then->n_outputs; i++)
    add_value (&search, then->outputs[i]);
  return run_search (&search);
}

/**
 * ir_folded_of_value:
 * @folded: what became of nodes
 * @value: id of a value of the model as it was imported
 *
 * Returns: (transfer full) (element-type guint32): as of ir_folded_of_node()
 */
GArray *
ir_folded_of_value (IrFolded *folded, IrValueId value)
{
  Search search = new_search (folded);

  add_value (&search, ir_model_live_value (folded->original, value));
  return run_search (&search);
}
