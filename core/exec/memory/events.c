/* A memory plan as an allocator would see it, and two plans beside each other. */
#include "config.h"

#include "core/exec/memory/memory.h"

#include "core/diff/match-values.h"

#include <string.h>

/* At one step what is freed comes first, as its bytes may be given out again there. */
static gint
compare_events (gconstpointer a, gconstpointer b)
{
  const IrMemEvent *x = a, *y = b;

  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  if (x->allocates != y->allocates)
    return x->allocates ? 1 : -1;
  return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : 0;
}

/**
 * ir_mem_plan_events:
 * @plan: a memory plan
 *
 * What an allocator would be asked for, were the plan made as it goes: a block when the first of its values is
 * made, which is freed behind the step that reads the last of them.
 *
 * Returns: (transfer full) (element-type IrMemEvent): in order
 */
GArray *
ir_mem_plan_events (const IrMemPlan *plan)
{
  GArray *events = g_array_new (FALSE, FALSE, sizeof (IrMemEvent));
  const guint n_steps = ir_mem_plan_schedule (plan)->items->len;
  guint64 held = 0;
  guint n;
  const IrMemBlock *blocks = ir_mem_plan_blocks (plan, &n);

  for (guint i = 0; i < n; i++)
    {
      IrMemEvent event = { .step = blocks[i].first,
                           .allocates = TRUE,
                           .value = ir_mem_plan_block_value (plan, i),
                           .offset = blocks[i].offset,
                           .size = blocks[i].size };

      g_array_append_val (events, event);
      event.step = MIN (blocks[i].last + 1, n_steps);
      event.allocates = FALSE;
      g_array_append_val (events, event);
    }
  g_array_sort (events, compare_events);
  for (guint i = 0; i < events->len; i++)
    {
      IrMemEvent *event = &g_array_index (events, IrMemEvent, i);

      held = event->allocates ? held + event->size : held - event->size;
      event->held = held;
    }
  return events;
}

/* -- two plans -- */

/* Id of a value -> IrMemItem, of those in the arena */
static GHashTable *
items_by_id (const IrMemPlan *plan)
{
  GHashTable *items = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);

      if (item->offset != IR_PLACE_EXTERNAL && item->size > 0)
        g_hash_table_insert (items, GUINT_TO_POINTER (item->value), (gpointer) item);
    }
  return items;
}

static GHashTable *
ids_at_peak (const IrMemPlan *plan)
{
  guint step;
  guint64 bytes;
  g_autoptr (GArray) items = ir_mem_plan_at_peak (plan, &step, &bytes);
  GHashTable *ids = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < items->len; i++)
    g_hash_table_add (ids, GUINT_TO_POINTER (g_array_index (items, IrMemItem, i).value));
  return ids;
}

static gint
compare_changes (gconstpointer a, gconstpointer b)
{
  const IrMemChange *x = a, *y = b;
  const guint64 p = MAX (x->before_size, x->after_size), q = MAX (y->before_size, y->after_size);

  return p != q ? (p > q ? -1 : 1) : strcmp (x->name, y->name);
}

/* A value of both plans, or of one alone. */
static void
add_change (GArray *changes, IrMemChange change, const IrMemItem *before, const IrMemItem *after)
{
  change.before_size = before != NULL ? before->size : 0;
  change.after_size = after != NULL ? after->size : 0;
  if (change.before_size != change.after_size || change.before_peak != change.after_peak)
    g_array_append_val (changes, change);
}

/**
 * ir_mem_plans_compare:
 * @before: a plan
 * @before_model: the model that it is of
 * @after: another one
 * @after_model: the model that that is of
 * @matched: of ir_match_values(): which values of the second model are those of the first
 *
 * A value that only one plan has in its arena has the size 0 in the other.
 *
 * Returns: (transfer full) (element-type IrMemChange): values whose size differs, or that live at the peak of one
 *   plan alone, the largest first
 */
GArray *
ir_mem_plans_compare (const IrMemPlan *before,
                      const IrModel *before_model,
                      const IrMemPlan *after,
                      const IrModel *after_model,
                      GHashTable *matched)
{
  g_autoptr (GHashTable) old = items_by_id (before), now = items_by_id (after),
                         old_peak = ids_at_peak (before), new_peak = ids_at_peak (after),
                         both = g_hash_table_new (NULL, NULL);
  GArray *changes = g_array_new (FALSE, FALSE, sizeof (IrMemChange));
  GHashTableIter iter;
  gpointer id, item;

  g_hash_table_iter_init (&iter, now);
  while (g_hash_table_iter_next (&iter, &id, &item))
    {
      const IrMatchedValue *match = g_hash_table_lookup (matched, id);
      const gpointer twin = GUINT_TO_POINTER (match != NULL ? match->a : 0);
      const IrMemChange change = {
        .name = ir_model_value (after_model, GPOINTER_TO_UINT (id))->name,
        .before = match != NULL ? match->a : 0,
        .after = GPOINTER_TO_UINT (id),
        .before_peak = g_hash_table_contains (old_peak, twin),
        .after_peak = g_hash_table_contains (new_peak, id),
      };

      g_hash_table_add (both, twin);
      add_change (changes, change, g_hash_table_lookup (old, twin), item);
    }
  g_hash_table_iter_init (&iter, old);
  while (g_hash_table_iter_next (&iter, &id, &item))
    {
      const IrMemChange change = {
        .name = ir_model_value (before_model, GPOINTER_TO_UINT (id))->name,
        .before = GPOINTER_TO_UINT (id),
        .before_peak = g_hash_table_contains (old_peak, id),
      };

      if (!g_hash_table_contains (both, id))
        add_change (changes, change, item, NULL);
    }
  g_array_sort (changes, compare_changes);
  return changes;
}
