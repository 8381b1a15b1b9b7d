/* An order of the nodes for little memory: of the nodes that are ready, the one that leaves the
 * fewest bytes living comes next (as in Liu's and Sethi and Ullman's rule for trees: what frees
 * most comes first). It is greedy, so it is taken only where less lives at once than in the order
 * that was there. */
#include "config.h"

#include "core/exec/exec-private.h"

typedef struct
{
  guint n_after;     /* nodes that have to run before, not run yet */
  GArray *followers; /* of guint: items that wait for this one */
  GArray *reads;     /* of guint: indices into Order.values */
  guint64 gives;     /* bytes of its outputs that stay */
} Task;

typedef struct
{
  guint64 size;
  guint n_readers; /* that have not run */
} Held;

typedef struct
{
  Task *tasks;
  guint n;
  GArray *values; /* of Held */
} Order;

static guint64
held_bytes (const IrGraph *graph, const IrValue *value)
{
  gsize size = 0;

  if (value == NULL || value->type == NULL || ir_value_constant (value) != NULL ||
      (value->producer != NULL && ir_node_is_constant (value->producer)) ||
      !ir_type_n_bytes (value->type, &size))
    return 0;
  for (guint i = 0; i < value->n_uses; i++)
    if (ir_use_node_in (graph, ir_value_use (value, i)) == NULL)
      return 0; /* an output of the graph lies outside the arena */
  return size;
}

/* Each reader once, whatever number of its inputs, or of its subgraphs, read the value. */
static void
add_reads (Order *order, const IrGraph *graph, GHashTable *index, const IrValue *value)
{
  Held held = { .size = held_bytes (graph, value) };
  guint slot = order->values->len;

  if (held.size == 0)
    return;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *node = ir_use_node_in (graph, ir_value_use (value, i));
      gpointer task;
      if (node == NULL || !g_hash_table_add (seen, GUINT_TO_POINTER (node->id)) ||
          !g_hash_table_lookup_extended (index, GUINT_TO_POINTER (node->id), NULL, &task))
        continue;
      g_array_append_val (order->tasks[GPOINTER_TO_UINT (task)].reads, slot);
      held.n_readers++;
    }
  g_array_append_val (order->values, held);
}

static void
order_init (Order *order, const IrSchedule *schedule, IrModel *model)
{
  const GArray *items = schedule->items;
  g_autoptr (GHashTable) index = g_hash_table_new (NULL, NULL);

  *order = (Order){ g_new0 (Task, items->len + 1), items->len,
                    g_array_new (FALSE, FALSE, sizeof (Held)) };
  for (guint i = 0; i < items->len; i++)
    {
      g_hash_table_insert (index, GUINT_TO_POINTER (g_array_index (items, IrScheduleItem, i).node),
                           GUINT_TO_POINTER (i));
      order->tasks[i].followers = g_array_new (FALSE, FALSE, sizeof (guint));
      order->tasks[i].reads = g_array_new (FALSE, FALSE, sizeof (guint));
    }
  for (guint i = 0; i < items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (items, IrScheduleItem, i);
      const IrNode *node = ir_model_node (model, item->node);
      for (guint k = 0; k < item->n_after; k++)
        {
          guint before = GPOINTER_TO_UINT (
              g_hash_table_lookup (index, GUINT_TO_POINTER (item->after[k])));
          g_array_append_val (order->tasks[before].followers, i);
          order->tasks[i].n_after++;
        }
      for (guint slot = 0; slot < node->n_outputs; slot++)
        {
          guint n_values = order->values->len;
          if (node->outputs[slot] == NULL)
            continue;
          add_reads (order, model->main, index, node->outputs[slot]);
          if (order->values->len > n_values)
            order->tasks[i].gives += g_array_index (order->values, Held, n_values).size;
        }
    }
}

static void
order_clear (Order *order)
{
  for (guint i = 0; i < order->n; i++)
    {
      g_array_unref (order->tasks[i].followers);
      g_array_unref (order->tasks[i].reads);
    }
  g_free (order->tasks);
  g_array_unref (order->values);
}

/* By how many bytes what lives grows when @task has run. */
static gint64
growth (const Order *order, const Task *task)
{
  gint64 bytes = (gint64) task->gives;

  for (guint i = 0; i < task->reads->len; i++)
    {
      const Held *held = &g_array_index (order->values, Held,
                                         g_array_index (task->reads, guint, i));
      if (held->n_readers == 1)
        bytes -= (gint64) held->size;
    }
  return bytes;
}

/* Runs the tasks of @sequence in thought; returns the most bytes that live at once. */
static guint64
peak_of (Order *order, const guint *sequence)
{
  g_autofree guint *readers = g_new (guint, order->values->len + 1);
  guint64 live = 0, peak = 0;

  for (guint i = 0; i < order->values->len; i++)
    readers[i] = g_array_index (order->values, Held, i).n_readers;
  for (guint k = 0; k < order->n; k++)
    {
      const Task *task = &order->tasks[sequence[k]];
      live += task->gives;
      peak = MAX (peak, live);
      for (guint i = 0; i < task->reads->len; i++)
        {
          guint slot = g_array_index (task->reads, guint, i);
          if (--readers[slot] == 0)
            live -= g_array_index (order->values, Held, slot).size;
        }
    }
  return peak;
}

/* Cost: O(nodes · ready nodes · inputs). */
static guint *
greedy_sequence (Order *order)
{
  g_autoptr (GArray) ready = g_array_new (FALSE, FALSE, sizeof (guint));
  guint *sequence = g_new (guint, order->n + 1);

  for (guint i = 0; i < order->n; i++)
    if (order->tasks[i].n_after == 0)
      g_array_append_val (ready, i);
  for (guint n_run = 0; ready->len > 0; n_run++)
    {
      guint best = 0;
      gint64 best_growth = G_MAXINT64;
      for (guint k = 0; k < ready->len; k++)
        {
          guint task = g_array_index (ready, guint, k);
          gint64 bytes = growth (order, &order->tasks[task]);
          if (bytes < best_growth ||
              (bytes == best_growth && task < g_array_index (ready, guint, best)))
            {
              best = k;
              best_growth = bytes;
            }
        }
      guint chosen = g_array_index (ready, guint, best);
      g_array_remove_index_fast (ready, best);
      sequence[n_run] = chosen;
      const Task *task = &order->tasks[chosen];
      for (guint i = 0; i < task->reads->len; i++)
        g_array_index (order->values, Held, g_array_index (task->reads, guint, i)).n_readers--;
      for (guint i = 0; i < task->followers->len; i++)
        {
          guint follower = g_array_index (task->followers, guint, i);
          if (--order->tasks[follower].n_after == 0)
            g_array_append_val (ready, follower);
        }
    }
  return sequence;
}

/**
 * ir_schedule_order_for_memory:
 * @schedule: (inout): a schedule for one worker
 * @model: the model that it is of, with types
 *
 * Puts the items of @schedule into an order in which fewer bytes live at once, views and kernels
 * that work in place apart. Predicted times stay those of the old order.
 *
 * Returns: %TRUE if one was found; otherwise nothing has changed
 */
gboolean
ir_schedule_order_for_memory (IrSchedule *schedule, IrModel *model)
{
  g_return_val_if_fail (schedule != NULL && model != NULL, FALSE);
  guint n = schedule->items->len;
  g_autofree guint *old = g_new (guint, n + 1);
  Order order;

  for (guint i = 0; i < n; i++)
    old[i] = i;
  order_init (&order, schedule, model);
  guint64 old_peak = peak_of (&order, old);
  g_autoptr (GArray) readers = g_array_copy (order.values);
  g_autofree guint *sequence = greedy_sequence (&order);
  g_array_unref (order.values);
  order.values = g_array_ref (readers);
  gboolean better = peak_of (&order, sequence) < old_peak;
  order_clear (&order);
  if (!better)
    return FALSE;
  g_autofree IrScheduleItem *items = g_memdup2 (schedule->items->data, sizeof *items * n);
  for (guint i = 0; i < n; i++)
    g_array_index (schedule->items, IrScheduleItem, i) = items[sequence[i]];
  return TRUE;
}
