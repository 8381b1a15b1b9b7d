/* Values that are read in another memory than the one they are made in. There is at most one copy of a
 * value each way: before its first reader there, or behind its producer where the run hands it out. */
#include "config.h"

#include "core/exec/schedule/schedule.h"

typedef struct
{
  const IrSchedule *schedule;
  const IrModel *model;
  guint *step_of; /* by node id: step + 1 */
  const guint8 *kept;
  IrPlaces *places;
} Planner;

static const IrScheduleItem *
item_at (const Planner *planner, guint step)
{
  return &g_array_index (planner->schedule->items, IrScheduleItem, step);
}

/* The first and the last step that reads @value in the memory of a back end, or of the host. */
static void
find_readers (
    const Planner *planner, const IrValue *value, gboolean there, guint *first, guint *last)
{
  *first = G_MAXUINT;
  *last = 0;
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      const IrNode *node = ir_use_node_in (value->graph, use);
      guint step = node != NULL ? planner->step_of[node->id] : 0;
      if (step == 0)
        continue;
      const IrScheduleItem *item = item_at (planner, step - 1);
      gboolean reads_there = node == use.node && use.slot < 64 && (item->there >> use.slot & 1);
      /* What a kernel of a device does not read there it has read already, when it was made. */
      if (reads_there != there || (!there && item->memory != NULL))
        continue;
      *first = MIN (*first, step - 1);
      *last = MAX (*last, step - 1);
    }
}

static IrNodeId
node_at (const Planner *planner, guint step)
{
  return step < planner->schedule->items->len ? item_at (planner, step)->node : 0;
}

static void
add_copy (Planner *planner, const IrValue *value, gboolean to_host, guint step, gboolean behind)
{
  gboolean constant = ir_value_constant (value) != NULL;
  IrScheduleCopy copy = { .value = value->id,
                          .to_host = to_host,
                          .step = step,
                          .behind = behind,
                          .once = constant,
                          .producer = value->producer != NULL && !constant ? value->producer->id
                                                                           : 0,
                          .reader = behind ? 0 : node_at (planner, step) };
  gsize bytes = 0;

  if (ir_type_n_bytes (value->type, &bytes))
    copy.bytes = bytes;
  g_array_append_val (planner->places->copies, copy);
}

/* One that a device makes. */
static void
plan_made_there (Planner *planner, const IrValue *value, IrValuePlaces *row)
{
  guint step = planner->step_of[value->producer->id] - 1, first, last;
  gboolean handed_out = ir_value_is_graph_output (value) ||
                        (planner->kept != NULL && planner->kept[value->id]);

  row->made_there = TRUE;
  find_readers (planner, value, TRUE, &first, &last);
  row->first_there = step;
  row->last_there = first != G_MAXUINT ? MAX (last, step) : step;
  find_readers (planner, value, FALSE, &first, &last);
  if (!handed_out && first == G_MAXUINT)
    return;
  row->first_here = handed_out ? step : first;
  row->last_here = MAX (row->first_here, last);
  row->last_there = MAX (row->last_there, row->first_here);
  add_copy (planner, value, TRUE, row->first_here, handed_out);
}

static void
plan_made_here (Planner *planner, const IrValue *value, IrValuePlaces *row)
{
  guint first, last;

  find_readers (planner, value, TRUE, &first, &last);
  if (first == G_MAXUINT)
    return;
  row->first_there = first;
  row->last_there = last;
  add_copy (planner, value, FALSE, first, FALSE);
}

static int
compare_copies (gconstpointer a, gconstpointer b)
{
  const IrScheduleCopy *x = a, *y = b;
  guint at = 2 * x->step + x->behind, other = 2 * y->step + y->behind;

  if (at != other)
    return at < other ? -1 : 1;
  return x->value < y->value ? -1 : x->value > y->value;
}

static const IrMemory *
find_memory (const IrSchedule *schedule)
{
  for (guint i = 0; i < schedule->items->len; i++)
    if (g_array_index (schedule->items, IrScheduleItem, i).memory != NULL)
      return g_array_index (schedule->items, IrScheduleItem, i).memory;
  return NULL;
}

/**
 * ir_places_new:
 * @schedule: a schedule
 * @model: its model, with types
 * @kept: (nullable) (array): by value id, what a run keeps beside the graph outputs
 *
 * Returns: (transfer full) (nullable): in which memory each value of the main graph is, from which step to
 *   which, and the copies that this takes; %NULL: all is in the host's
 */
IrPlaces *
ir_places_new (const IrSchedule *schedule, const IrModel *model, const guint8 *kept)
{
  const IrMemory *memory = find_memory (schedule);
  g_autofree guint *step_of = g_new0 (guint, (gsize) model->nodes->len + 1);
  Planner planner = { schedule, model, step_of, kept, NULL };

  if (memory == NULL)
    return NULL;
  planner.places = g_new0 (IrPlaces, 1);
  planner.places->memory = memory;
  planner.places->copies = g_array_new (FALSE, FALSE, sizeof (IrScheduleCopy));
  planner.places->n_values = model->values->len;
  planner.places->values = g_new0 (IrValuePlaces, (gsize) model->values->len + 1);
  for (guint i = 0; i < schedule->items->len; i++)
    step_of[item_at (&planner, i)->node] = i + 1;
  for (IrValueId id = 1; id < model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (model, id);
      IrValuePlaces *row = &planner.places->values[id];
      row->first_there = row->first_here = 1; /* and last 0: nowhere */
      if (value == NULL || value->graph != model->main)
        continue;
      if (value->producer != NULL && ir_value_constant (value) == NULL &&
          step_of[value->producer->id] != 0 &&
          item_at (&planner, step_of[value->producer->id] - 1)->memory != NULL)
        plan_made_there (&planner, value, row);
      else
        plan_made_here (&planner, value, row);
    }
  g_array_sort (planner.places->copies, compare_copies);
  return planner.places;
}

/**
 * ir_places_free:
 * @places: (transfer full) (nullable): where values are
 */
void
ir_places_free (IrPlaces *places)
{
  if (places == NULL)
    return;
  g_array_unref (places->copies);
  g_free (places->values);
  g_free (places);
}
