/* An order of the nodes for little memory: of the nodes that are ready, the one that leaves the
 * fewest bytes living comes next (as in Liu's and Sethi and Ullman's rule for trees: what frees
 * most comes first). It is greedy, so it is taken only where less lives at once than in the order
 * that was there. */
#include "config.h"

#include "core/exec/schedule/schedule.h"
#include "core/exec/kernel/backend.h"

typedef struct
{
  guint n_after;     /* nodes that have to run before, not run yet */
  GArray *followers; /* of guint: items that wait for this one */
  GArray *reads;     /* of guint: indices into Order.values */
  guint64 gives;     /* bytes of its outputs that stay */
  gint64 growth;     /* bytes by which what lives grows when it runs now */
  guint at;          /* 1 + its place among those that are ready; 0: it is not */
} Task;

typedef struct
{
  guint64 size;
  guint n_readers; /* that have not run */
  guint64 readers; /* their sum: the last one itself, when there is one left */
} Held;

typedef struct
{
  Task *tasks;
  guint n;
  GArray *values; /* of Held */
  guint *ready;   /* a heap: on top what comes next */
  guint n_ready;
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
add_reads (Order *order, const IrGraph *graph, GHashTable *index, const IrValue *value, guint *seen)
{
  Held held = { .size = held_bytes (graph, value) };
  guint slot = order->values->len;

  if (held.size == 0)
    return;
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *node = ir_use_node_in (graph, ir_value_use (value, i));
      gpointer found;
      if (node == NULL ||
          !g_hash_table_lookup_extended (index, GUINT_TO_POINTER (node->id), NULL, &found))
        continue;
      guint task = GPOINTER_TO_UINT (found);
      if (seen[task] == slot + 1)
        continue;
      seen[task] = slot + 1;
      g_array_append_val (order->tasks[task].reads, slot);
      held.readers += task;
      held.n_readers++;
    }
  g_array_append_val (order->values, held);
}

static void
add_outputs (Order *order, guint task, const IrNode *node, GHashTable *index, guint *seen)
{
  for (guint slot = 0; slot < node->n_outputs; slot++)
    {
      guint n_values = order->values->len;
      if (node->outputs[slot] == NULL)
        continue;
      add_reads (order, node->graph, index, node->outputs[slot], seen);
      if (order->values->len > n_values)
        order->tasks[task].gives += g_array_index (order->values, Held, n_values).size;
    }
}

static void
order_init (Order *order, const IrSchedule *schedule, IrModel *model)
{
  const GArray *items = schedule->items;
  g_autoptr (GHashTable) index = g_hash_table_new (NULL, NULL);
  g_autofree guint *seen = g_new0 (guint, (gsize) items->len + 1);

  *order = (Order){ .tasks = g_new0 (Task, (gsize) items->len + 1),
                    .n = items->len,
                    .values = g_array_new (FALSE, FALSE, sizeof (Held)),
                    .ready = g_new (guint, (gsize) items->len + 1) };
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
      for (guint k = 0; k < item->n_after; k++)
        {
          guint before = GPOINTER_TO_UINT (
              g_hash_table_lookup (index, GUINT_TO_POINTER (item->after[k])));
          g_array_append_val (order->tasks[before].followers, i);
          order->tasks[i].n_after++;
        }
      add_outputs (order, i, ir_model_node (model, item->node), index, seen);
    }
}

static void
order_clear (Order *order)
{
  for (guint i = 0; i < order->n; i++)
    {
      g_clear_pointer (&order->tasks[i].followers, g_array_unref);
      g_clear_pointer (&order->tasks[i].reads, g_array_unref);
    }
  g_free (order->tasks);
  g_free (order->ready);
  g_array_unref (order->values);
}

static Held *
held_at (const Order *order, guint slot)
{
  return &g_array_index (order->values, Held, slot);
}

/* Runs the tasks of @sequence in thought; returns the most bytes that live at once. */
static guint64
peak_of (Order *order, const guint *sequence)
{
  g_autofree guint *readers = g_new (guint, (gsize) order->values->len + 1);
  guint64 live = 0, peak = 0;

  for (guint i = 0; i < order->values->len; i++)
    readers[i] = held_at (order, i)->n_readers;
  for (guint k = 0; k < order->n; k++)
    {
      const Task *task = &order->tasks[sequence[k]];
      live += task->gives;
      peak = MAX (peak, live);
      for (guint i = 0; i < task->reads->len; i++)
        {
          guint slot = g_array_index (task->reads, guint, i);
          if (--readers[slot] == 0)
            live -= held_at (order, slot)->size;
        }
    }
  return peak;
}

/* -- which is ready, and leaves the fewest bytes; of equal ones the first of the old order -- */

static gboolean
comes_before (const Order *order, guint a, guint b)
{
  gint64 x = order->tasks[a].growth, y = order->tasks[b].growth;

  return x != y ? x < y : a < b;
}

static void
put (Order *order, guint at, guint task)
{
  order->ready[at] = task;
  order->tasks[task].at = at + 1;
}

static void
rise (Order *order, guint at, guint task)
{
  for (; at > 0 && comes_before (order, task, order->ready[(at - 1) / 2]); at = (at - 1) / 2)
    put (order, at, order->ready[(at - 1) / 2]);
  put (order, at, task);
}

static guint
take_next (Order *order)
{
  guint next = order->ready[0], last = order->ready[--order->n_ready], at = 0;

  order->tasks[next].at = 0;
  if (order->n_ready == 0)
    return next;
  for (guint child = 1; child < order->n_ready; at = child, child = 2 * at + 1)
    {
      if (child + 1 < order->n_ready &&
          comes_before (order, order->ready[child + 1], order->ready[child]))
        child++;
      if (!comes_before (order, order->ready[child], last))
        break;
      put (order, at, order->ready[child]);
    }
  put (order, at, last);
  return next;
}

/* Whoever is the last to read @slot frees it. */
static void
credit_last_reader (Order *order, guint slot)
{
  const Held *held = held_at (order, slot);

  if (held->n_readers != 1)
    return;
  Task *task = &order->tasks[held->readers];
  task->growth -= (gint64) held->size;
  if (task->at > 0)
    rise (order, task->at - 1, (guint) held->readers);
}

static void
run (Order *order, guint index)
{
  const Task *task = &order->tasks[index];

  for (guint i = 0; i < task->reads->len; i++)
    {
      guint slot = g_array_index (task->reads, guint, i);
      held_at (order, slot)->n_readers--;
      held_at (order, slot)->readers -= index;
      credit_last_reader (order, slot);
    }
  for (guint i = 0; i < task->followers->len; i++)
    {
      guint follower = g_array_index (task->followers, guint, i);
      if (--order->tasks[follower].n_after == 0)
        rise (order, order->n_ready++, follower);
    }
}

/* Cost: O(edges · log nodes). */
static guint *
greedy_sequence (Order *order)
{
  guint *sequence = g_new (guint, (gsize) order->n + 1);

  for (guint i = 0; i < order->n; i++)
    order->tasks[i].growth = (gint64) order->tasks[i].gives;
  for (guint slot = 0; slot < order->values->len; slot++)
    credit_last_reader (order, slot);
  for (guint i = 0; i < order->n; i++)
    if (order->tasks[i].n_after == 0)
      rise (order, order->n_ready++, i);
  for (guint n_run = 0; order->n_ready > 0; n_run++)
    {
      sequence[n_run] = take_next (order);
      run (order, sequence[n_run]);
    }
  return sequence;
}

/* A sequence in which less lives at once, or NULL. */
static guint *
better_sequence (Order *order)
{
  g_autofree guint *old = g_new (guint, (gsize) order->n + 1);
  g_autoptr (GArray) values = g_array_copy (order->values);

  for (guint i = 0; i < order->n; i++)
    old[i] = i;
  guint64 old_peak = peak_of (order, old);
  g_autofree guint *sequence = greedy_sequence (order);
  g_array_unref (order->values);
  order->values = g_steal_pointer (&values);
  return peak_of (order, sequence) < old_peak ? g_steal_pointer (&sequence) : NULL;
}

/**
 * ir_schedule_order_for_memory:
 * @schedule: (inout): a schedule for one worker
 * @model: the model that it is of, with types
 *
 * Puts the items of @schedule into an order in which fewer bytes live at once, views and kernels
 * that work in place apart. Predicted times stay those of the old order.
 *
 * Cost: O(edges · log nodes).
 *
 * Returns: %TRUE if one was found; otherwise nothing has changed
 */
gboolean
ir_schedule_order_for_memory (IrSchedule *schedule, IrModel *model)
{
  g_return_val_if_fail (schedule != NULL && model != NULL, FALSE);
  guint n = schedule->items->len;
  Order order;

  order_init (&order, schedule, model);
  g_autofree guint *sequence = better_sequence (&order);
  order_clear (&order);
  if (sequence == NULL)
    return FALSE;
  g_autofree IrScheduleItem *items = g_memdup2 (schedule->items->data, sizeof *items * n);
  for (guint i = 0; i < n; i++)
    g_array_index (schedule->items, IrScheduleItem, i) = items[sequence[i]];
  return TRUE;
}
