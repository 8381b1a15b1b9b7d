/* Pairing by operator and neighbours: from what is paired already, and from the outputs. */
#include "config.h"

#include "core/diff/diff-private.h"

#include <string.h>

/* Pairs whose neighbours are still to be looked at. */
typedef struct
{
  IrPairing *p;
  GArray *queue; /* of IrNodeId in a */
} Front;

static gboolean
take (Front *front, const IrNode *a, const IrNode *b)
{
  if (!ir_pair_nodes (front->p, a, b))
    return FALSE;
  for (guint k = 0; k < MIN (a->n_outputs, b->n_outputs); k++)
    ir_pair_values (front->p, a->outputs[k], b->outputs[k]);
  g_array_append_val (front->queue, a->id);
  return TRUE;
}

/* The only reader of @value at @slot that has no twin and, if @like is given, its operator; NULL if
 * there are none or several. */
static const IrNode *
only_reader (const IrValue *value, const IrNode *like, guint slot, const guint32 *twins)
{
  const IrNode *found = NULL;

  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);

      if (use.node == NULL || twins[use.node->id] != 0 || use.slot != slot ||
          (like != NULL && !ir_diff_same_operator (use.node, like)))
        continue;
      if (found != NULL)
        return NULL;
      found = use.node;
    }
  return found;
}

#define MAX_READERS 64 /* of one value, looked at in pairs */

static void
pair_readers (Front *front, const IrValue *a, const IrValue *b)
{
  const IrPairing *p = front->p;

  if (a == NULL || b == NULL || a->n_uses > MAX_READERS || b->n_uses > MAX_READERS)
    return;
  for (guint i = 0; i < a->n_uses; i++)
    {
      IrUse use = ir_value_use (a, i);
      const IrNode *reader = use.node, *twin;

      if (reader == NULL || p->node_of_a[reader->id] != 0 ||
          only_reader (a, reader, use.slot, p->node_of_a) != reader)
        continue;
      twin = only_reader (b, reader, use.slot, p->node_of_b);
      if (twin != NULL)
        take (front, reader, twin);
    }
}

static void
pair_makers (Front *front, const IrNode *a, const IrNode *b)
{
  ir_pair_constants (front->p, a, b);
  for (guint i = 0; i < MIN (a->n_inputs, b->n_inputs); i++)
    {
      const IrValue *from = a->inputs[i], *to = b->inputs[i];

      if (from == NULL || to == NULL)
        continue;
      if (from->producer != NULL && to->producer != NULL && from->output_slot == to->output_slot &&
          ir_diff_same_operator (from->producer, to->producer))
        take (front, from->producer, to->producer);
    }
}

/* Down to the readers of what is paired, up to the makers of what it reads, as far as it goes. */
static void
follow (Front *front)
{
  IrPairing *p = front->p;

  while (front->queue->len > 0)
    {
      IrNodeId id = g_array_index (front->queue, IrNodeId, front->queue->len - 1);
      const IrNode *a = ir_model_live_node (p->a, id);
      const IrNode *b = ir_model_live_node (p->b, p->node_of_a[id]);

      g_array_set_size (front->queue, front->queue->len - 1);
      for (guint k = 0; k < MIN (a->n_outputs, b->n_outputs); k++)
        pair_readers (front, a->outputs[k], b->outputs[k]);
      pair_makers (front, a, b);
    }
}

static gboolean
inputs_are_twins (const IrPairing *p, const IrNode *a, const IrNode *b)
{
  if (a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs || a->n_inputs == 0)
    return FALSE;
  for (guint i = 0; i < a->n_inputs; i++)
    if (a->inputs[i] == NULL || b->inputs[i] == NULL
            ? a->inputs[i] != b->inputs[i]
            : p->value_of_a[a->inputs[i]->id] != b->inputs[i]->id)
      return FALSE;
  return TRUE;
}

/* Otherwise a node that was put in would pass for one that was replaced. */
static gboolean
readers_are_alike (const IrValue *a, const IrValue *b)
{
  if (a == NULL || b == NULL || a->n_uses != b->n_uses || a->n_uses > MAX_READERS)
    return FALSE;
  for (guint i = 0; i < a->n_uses; i++)
    {
      IrUse from = ir_value_use (a, i), to = ir_value_use (b, i);

      if ((from.node == NULL) != (to.node == NULL) || from.slot != to.slot ||
          (from.node != NULL && !ir_diff_same_operator (from.node, to.node)))
        return FALSE;
    }
  return TRUE;
}

/* Another operator in the place of one: the same inputs, nobody else there, and readers alike. So
 * what lies behind it is found too. */
static void
pair_replaced (Front *front)
{
  IrPairing *p = front->p;
  guint n;
  IrNode *const *order = ir_graph_order (p->a->main, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrNode *a = order[i], *b = NULL;
      const IrValue *first = ir_node_input (a, 0);

      if (p->node_of_a[a->id] != 0 || first == NULL || p->value_of_a[first->id] == 0 ||
          first->n_uses > MAX_READERS || only_reader (first, NULL, 0, p->node_of_a) != a)
        continue;
      b = only_reader (ir_model_value (p->b, p->value_of_a[first->id]), NULL, 0, p->node_of_b);
      if (b != NULL && inputs_are_twins (p, a, b) &&
          readers_are_alike (ir_node_output (a, 0), ir_node_output (b, 0)) && take (front, a, b))
        follow (front);
    }
}

/* From the outputs upwards: what lies behind the last node that was put in or taken out. */
static void
pair_output_makers (Front *front)
{
  const IrGraph *a = front->p->a->main, *b = front->p->b->main;

  for (guint i = 0; i < MIN (ir_graph_n_outputs (a), ir_graph_n_outputs (b)); i++)
    {
      const IrValue *from = ir_graph_output (a, i), *to = ir_graph_output (b, i);

      if (from != NULL && to != NULL && from->producer != NULL && to->producer != NULL &&
          ir_diff_same_operator (from->producer, to->producer) &&
          take (front, from->producer, to->producer))
        follow (front);
    }
}

void
ir_pair_by_neighbours (IrPairing *p)
{
  g_autoptr (GArray) queue = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  Front front = { p, queue };

  for (guint i = 0; i < ir_graph_n_inputs (p->a->main); i++)
    {
      const IrValue *a = ir_graph_input (p->a->main, i);
      if (a != NULL && p->value_of_a[a->id] != 0)
        pair_readers (&front, a, ir_model_value (p->b, p->value_of_a[a->id]));
    }
  for (guint i = p->a->nodes->len; i > 1; i--)
    if (p->node_of_a[i - 1] != 0)
      {
        IrNodeId id = i - 1;
        g_array_append_val (queue, id);
      }
  follow (&front);
  pair_replaced (&front);
  pair_output_makers (&front);
}

/* -- fingerprints of neighbours -- */

static guint64
input_fingerprint (const IrPairing *p, const IrNode *node, gboolean side_b)
{
  guint64 hash = ir_diff_mix (ir_diff_hash_text (node->op_type), ir_diff_hash_text (node->domain));
  gboolean known = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      guint64 key = ir_diff_value_key (p, node->inputs[i], side_b);
      known |= key > 1;
      hash = ir_diff_mix (hash, key);
    }
  return known ? hash : 0;
}

/* Who reads its first output, and where; users that have twins only. */
static guint64
use_fingerprint (const IrPairing *p, const IrNode *node, gboolean side_b)
{
  guint64 hash = ir_diff_mix (ir_diff_hash_text (node->op_type), ir_diff_hash_text (node->domain)),
          sum = 0;
  const IrValue *value = ir_node_output (node, 0);

  for (guint i = 0; value != NULL && i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      guint32 twin = 0;

      if (use.node == NULL)
        twin = use.graph->kind == IR_GRAPH_MAIN ? G_MAXUINT32 : 0;
      else
        twin = side_b ? (p->node_of_b[use.node->id] != 0 ? use.node->id : 0)
                      : p->node_of_a[use.node->id];
      if (twin != 0)
        sum += ir_diff_mix (twin, use.slot + 1);
    }
  return sum != 0 ? ir_diff_mix (hash, sum) : 0;
}

typedef guint64 (*FingerprintFunc) (const IrPairing *p, const IrNode *node, gboolean side_b);

/* Pairs nodes whose fingerprints agree, in the order of both graphs. TRUE if there were any. */
static gboolean
pair_by_fingerprint (IrPairing *p, FingerprintFunc fingerprint)
{
  g_autoptr (GHashTable) waiting = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free,
                                                          (GDestroyNotify) g_queue_free);
  gboolean any = FALSE;

  for (guint i = 1; i < p->b->nodes->len; i++)
    {
      IrNode *b = ir_model_live_node (p->b, i);
      guint64 key = b != NULL && p->node_of_b[i] == 0 ? fingerprint (p, b, TRUE) : 0;
      GQueue *queue;

      if (key == 0)
        continue;
      queue = g_hash_table_lookup (waiting, &key);
      if (queue == NULL)
        {
          queue = g_queue_new ();
          g_hash_table_insert (waiting, g_memdup2 (&key, sizeof key), queue);
        }
      g_queue_push_tail (queue, b);
    }
  for (guint i = 1; i < p->a->nodes->len; i++)
    {
      IrNode *a = ir_model_live_node (p->a, i);
      guint64 key = a != NULL && p->node_of_a[i] == 0 ? fingerprint (p, a, FALSE) : 0;
      GQueue *queue = key != 0 ? g_hash_table_lookup (waiting, &key) : NULL;
      IrNode *b = queue != NULL ? g_queue_peek_head (queue) : NULL;

      if (b != NULL && ir_diff_same_operator (a, b) && ir_pair_nodes (p, a, b))
        {
          g_queue_pop_head (queue);
          any = TRUE;
        }
    }
  if (any)
    ir_pair_outputs (p);
  return any;
}

/* Each round reaches at least one node further; what follow() leaves is rarely deep. */
#define MAX_ROUNDS 64

void
ir_pair_by_fingerprints (IrPairing *p)
{
  gboolean any = TRUE;

  for (guint i = 0; i < MAX_ROUNDS && any; i++)
    {
      any = pair_by_fingerprint (p, input_fingerprint);
      any |= pair_by_fingerprint (p, use_fingerprint);
    }
}
