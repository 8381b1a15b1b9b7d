/* What lives where a plan needs most. */
#include "config.h"

#include "core/exec/memory/planner.h"

#include <string.h>

/* A range of the arena that some value holds. */
typedef struct
{
  guint64 low, high;
} Range;

static gint
compare_ranges (gconstpointer a, gconstpointer b)
{
  const Range *x = a, *y = b;

  return x->low != y->low ? (x->low < y->low ? -1 : 1) : 0;
}

/* Bytes that the values of @live hold, those that share some once. */
static guint64
union_of (const GArray *live, GArray *ranges)
{
  guint64 bytes = 0, end = 0;

  g_array_set_size (ranges, 0);
  for (guint i = 0; i < live->len; i++)
    {
      const IrMemItem *item = &g_array_index (live, IrMemItem, i);
      const Range range = { item->offset, item->offset + item->size };

      g_array_append_val (ranges, range);
    }
  g_array_sort (ranges, compare_ranges);
  for (guint i = 0; i < ranges->len; i++)
    {
      const Range *range = &g_array_index (ranges, Range, i);

      bytes += range->high > MAX (end, range->low) ? range->high - MAX (end, range->low) : 0;
      end = MAX (end, range->high);
    }
  return bytes;
}

static gint
compare_first (gconstpointer a, gconstpointer b)
{
  const IrMemItem *x = a, *y = b;

  return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->value < y->value ? -1 : 1;
}

static gint
compare_size (gconstpointer a, gconstpointer b)
{
  const IrMemItem *x = a, *y = b;

  return x->size != y->size ? (x->size > y->size ? -1 : 1) : x->value < y->value ? -1 : 1;
}

/* Of the values in the arena, by their first step. */
static GArray *
in_arena (const IrMemPlan *plan)
{
  GArray *items = g_array_new (FALSE, FALSE, sizeof (IrMemItem));

  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);

      if (item->offset != IR_PLACE_EXTERNAL && item->size > 0)
        g_array_append_val (items, *item);
    }
  g_array_sort (items, compare_first);
  return items;
}

static void
drop_ended (GArray *live, guint step)
{
  for (guint i = live->len; i > 0; i--)
    if (g_array_index (live, IrMemItem, i - 1).last < step)
      g_array_remove_index_fast (live, i - 1);
}

typedef void (*HeldFunc) (guint step, guint64 bytes, const GArray *live, gpointer data);

/* Calls @func for each step in order with what lives then: of IrMemItem, in no order. */
static void
for_steps (const IrMemPlan *plan, HeldFunc func, gpointer data)
{
  const guint n_steps = ir_mem_plan_schedule (plan)->items->len;
  g_autoptr (GArray) items = in_arena (plan), ranges = g_array_new (FALSE, FALSE, sizeof (Range)),
                     live = g_array_new (FALSE, FALSE, sizeof (IrMemItem));
  guint64 held = 0;
  guint i = 0;

  for (guint now = 0; now < n_steps; now++)
    {
      const guint before = live->len, first = i;

      drop_ended (live, now);
      const gboolean ended = live->len != before;
      for (; i < items->len && g_array_index (items, IrMemItem, i).first == now; i++)
        g_array_append_val (live, g_array_index (items, IrMemItem, i));
      if (ended || i != first)
        held = union_of (live, ranges);
      func (now, held, live, data);
    }
}

typedef struct
{
  guint step;
  guint64 bytes;
  GArray *live;
} Most;

static void
keep_most (guint step, guint64 bytes, const GArray *live, gpointer data)
{
  Most *most = data;

  if (bytes <= most->bytes)
    return;
  most->step = step;
  most->bytes = bytes;
  g_array_set_size (most->live, 0);
  g_array_append_vals (most->live, live->data, live->len);
}

/**
 * ir_mem_plan_at_peak:
 * @plan: a memory plan
 * @step: (out): the first step of the schedule at which most bytes are held
 * @bytes: (out): so many; those that several values share count once
 *
 * Where a placement has gaps the peak of the plan is higher than what is held at any time.
 *
 * Returns: (transfer full) (element-type IrMemItem): what lives then, the largest first
 */
GArray *
ir_mem_plan_at_peak (const IrMemPlan *plan, guint *step, guint64 *bytes)
{
  Most most = { .live = g_array_new (FALSE, FALSE, sizeof (IrMemItem)) };

  for_steps (plan, keep_most, &most);
  g_array_sort (most.live, compare_size);
  *step = most.step;
  *bytes = most.bytes;
  return most.live;
}

static void
add_held (guint step, guint64 bytes, const GArray *live, gpointer data)
{
  g_array_append_val ((GArray *) data, bytes);
}

/**
 * ir_mem_plan_held:
 * @plan: a memory plan
 *
 * Returns: (transfer full) (element-type guint64): by step of its schedule, bytes of the arena that are
 *   held then; those that several values share count once
 */
GArray *
ir_mem_plan_held (const IrMemPlan *plan)
{
  GArray *held = g_array_new (FALSE, FALSE, sizeof (guint64));

  for_steps (plan, add_held, held);
  return held;
}

/**
 * ir_mem_plan_beside:
 * @plan: the plan of what lies in the memory of a back end
 *
 * Returns: (transfer none): what the run that followed it has had there beside its values; 0 where none did
 */
const IrMemBeside *
ir_mem_plan_beside (const IrMemPlan *plan)
{
  return &plan->details->beside;
}

/**
 * ir_mem_plan_set_beside:
 * @plan: a plan that a run is going to follow
 * @beside: what it has there beside the values of the plan
 */
void
ir_mem_plan_set_beside (IrMemPlan *plan, const IrMemBeside *beside)
{
  plan->details->beside = *beside;
}

/* (nullable) What a run has had in the memory of a back end beside the values of the plan, in words; %NULL: nothing */
static char *
beside_text (const IrMemPlan *plan)
{
  const IrMemBeside *beside = ir_mem_plan_beside (plan);
  const struct
  {
    guint64 bytes;
    const char *what;
  } rows[] = {
    { beside->constant_bytes, "constants" },
    { beside->late_bytes, "values until they are copied" },
    { beside->stats_bytes, "what is counted for statistics" },
  };
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (rows[i].bytes > 0)
      {
        g_autofree char *size = g_format_size_full (rows[i].bytes, G_FORMAT_SIZE_IEC_UNITS);
        g_string_append_printf (text, "%s%s for %s", text->len > 0 ? ", " : "", size, rows[i].what);
      }
  return text->len > 0 ? g_string_free (text, FALSE) : (g_string_free (text, TRUE), NULL);
}

/**
 * ir_mem_plan_peak_text:
 * @plan: a memory plan
 * @model: the model that it is of
 * @most: how many values are named
 *
 * Returns: (transfer full): when most bytes are held and by what, a line for each value
 */
char *
ir_mem_plan_peak_text (const IrMemPlan *plan, const IrModel *model, guint most)
{
  const IrSchedule *schedule = ir_mem_plan_schedule (plan);
  guint step;
  guint64 bytes;
  g_autoptr (GArray) items = ir_mem_plan_at_peak (plan, &step, &bytes);
  g_autofree char *held = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  GString *text = g_string_new (NULL);

  if (items->len == 0)
    return g_string_free (text, FALSE);
  const IrNode *node = ir_model_node (model,
                                      g_array_index (schedule->items, IrScheduleItem, step).node);
  g_autofree char *label = ir_node_label (node);
  g_string_append_printf (text, "Most is held at step %u, %s: %s by %u values\n", step, label, held,
                          items->len);
  for (guint i = 0; i < MIN (items->len, most); i++)
    {
      const IrMemItem *item = &g_array_index (items, IrMemItem, i);
      g_autofree char *size = g_format_size_full (item->size, G_FORMAT_SIZE_IEC_UNITS);

      g_string_append_printf (text, "%s  %s, steps %u to %u\n", size,
                              ir_model_value (model, item->value)->name, item->first, item->last);
    }
  if (items->len > most)
    g_string_append_printf (text, "and %u more\n", items->len - most);
  g_autofree char *beside = beside_text (plan);
  if (beside != NULL)
    g_string_append_printf (text, "beside them, all the time: %s\n", beside);
  return g_string_free (text, FALSE);
}
