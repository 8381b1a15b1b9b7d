/* A memory plan as an allocator would see it, and two plans beside each other. */
#include "config.h"

#include "core/exec/memory/memory.h"

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

static GHashTable *
items_by_name (const IrMemPlan *plan, const IrModel *model)
{
  GHashTable *items = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);

      if (item->offset != IR_PLACE_EXTERNAL && item->size > 0)
        g_hash_table_insert (items, (gpointer) ir_model_value (model, item->value)->name,
                             (gpointer) item);
    }
  return items;
}

static GHashTable *
names_at_peak (const IrMemPlan *plan, const IrModel *model)
{
  guint step;
  guint64 bytes;
  g_autoptr (GArray) items = ir_mem_plan_at_peak (plan, &step, &bytes);
  GHashTable *names = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < items->len; i++)
    g_hash_table_add (
        names, (gpointer) ir_model_value (model, g_array_index (items, IrMemItem, i).value)->name);
  return names;
}

static gint
compare_changes (gconstpointer a, gconstpointer b)
{
  const IrMemChange *x = a, *y = b;
  const guint64 p = MAX (x->before_size, x->after_size), q = MAX (y->before_size, y->after_size);

  return p != q ? (p > q ? -1 : 1) : strcmp (x->name, y->name);
}

/**
 * ir_mem_plans_compare:
 * @before: a plan
 * @before_model: the model that it is of
 * @after: another one
 * @after_model: the model that that is of
 *
 * Values are the same where they have the same name; one that only one plan has in its arena has the size 0 in the
 * other.
 *
 * Returns: (transfer full) (element-type IrMemChange): values whose size differs, or that live at the peak of one
 *   plan alone, the largest first
 */
GArray *
ir_mem_plans_compare (const IrMemPlan *before,
                      const IrModel *before_model,
                      const IrMemPlan *after,
                      const IrModel *after_model)
{
  g_autoptr (GHashTable) old = items_by_name (before, before_model),
                         now = items_by_name (after, after_model),
                         old_peak = names_at_peak (before, before_model),
                         new_peak = names_at_peak (after, after_model);
  GArray *changes = g_array_new (FALSE, FALSE, sizeof (IrMemChange));
  GHashTableIter iter;
  gpointer name, data;

  for (guint side = 0; side < 2; side++)
    {
      g_hash_table_iter_init (&iter, side == 0 ? old : now);
      while (g_hash_table_iter_next (&iter, &name, &data))
        {
          const IrMemItem *a = g_hash_table_lookup (old, name),
                          *b = g_hash_table_lookup (now, name);
          const IrMemChange change = { .name = name,
                                       .before_size = a != NULL ? a->size : 0,
                                       .after_size = b != NULL ? b->size : 0,
                                       .before_peak = g_hash_table_contains (old_peak, name),
                                       .after_peak = g_hash_table_contains (new_peak, name) };

          if ((side == 1 && a != NULL) ||
              (change.before_size == change.after_size && change.before_peak == change.after_peak))
            continue;
          g_array_append_val (changes, change);
        }
    }
  g_array_sort (changes, compare_changes);
  return changes;
}
