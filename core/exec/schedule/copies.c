/* Values that are read in another memory than the one they are made in. There is at most one copy of a
 * value each way: before its first reader there, or behind its producer where the run hands it out. */
#include "config.h"

#include "core/exec/schedule/places-keep.h"
#include "core/exec/schedule/schedule.h"

typedef struct
{
  const IrSchedule *schedule;
  const IrModel *model;
  guint *step_of; /* by node id: step + 1 */
  const guint8 *kept;
  IrPlaces *places;
  guint64 late_bytes;
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
  copy.ms = IR_COPY_MS + (double) copy.bytes * IR_COPY_MS_OF_BYTE;
  g_array_append_val (planner->places->copies, copy);
}

/* The copy that was added last, of a value that no step reads in the host's memory, may be late. */
static void
make_late (Planner *planner, const IrValue *value, IrValuePlaces *row)
{
  IrPlaces *places = planner->places;
  IrScheduleCopy *copy = &g_array_index (places->copies, IrScheduleCopy, places->copies->len - 1);
  guint64 unit = places->memory->align_bytes, bytes = (copy->bytes + unit - 1) / unit * unit;

  if (planner->late_bytes + bytes > IR_LATE_BYTES)
    return;
  planner->late_bytes += bytes;
  copy->late = TRUE;
  if (ir_value_is_graph_output (value))
    {
      row->late = TRUE;
      row->last_there = planner->schedule->items->len - 1;
      return;
    }
  copy->late_at = places->late_bytes;
  places->late_bytes += bytes;
}

/* One that a device makes. */
static void
plan_made_there (Planner *planner, const IrValue *value, IrValuePlaces *row)
{
  guint step = planner->step_of[value->producer->id] - 1, first, last;
  guint kept = planner->kept != NULL ? planner->kept[value->id] : IR_PLACES_LEFT;

  row->made_there = TRUE;
  find_readers (planner, value, TRUE, &first, &last);
  row->first_there = step;
  row->last_there = first != G_MAXUINT ? MAX (last, step) : step;
  find_readers (planner, value, FALSE, &first, &last);
  gboolean handed_out = ir_value_is_graph_output (value) || kept == IR_PLACES_KEPT ||
                        kept == IR_PLACES_AT_ONCE ||
                        (kept == IR_PLACES_WITHIN && first != G_MAXUINT);
  if (!handed_out && first == G_MAXUINT)
    return;
  row->first_here = handed_out ? step : first;
  row->last_here = MAX (row->first_here, last);
  row->last_there = MAX (row->last_there, row->first_here);
  add_copy (planner, value, TRUE, row->first_here, handed_out);
  if (first == G_MAXUINT && kept != IR_PLACES_AT_ONCE)
    make_late (planner, value, row);
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
 * @kept: (nullable) (array): by value id, an #IrPlacesKeep of what a run keeps beside the graph outputs
 *
 * Returns: (transfer full) (nullable): in which memory each value of the main graph is, from which step to
 *   which, and the copies that this takes; %NULL: all is in the host's
 */
IrPlaces *
ir_places_new (const IrSchedule *schedule, const IrModel *model, const guint8 *kept)
{
  const IrMemory *memory = find_memory (schedule);
  g_autofree guint *step_of = g_new0 (guint, (gsize) model->nodes->len + 1);
  Planner planner = { schedule, model, step_of, kept, NULL, 0 };

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
  planner.places->streams = ir_device_streams_new (schedule, planner.places, step_of);
  return planner.places;
}

static gboolean
has_open_sizes (const IrNode *node)
{
  gsize bytes;

  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && !ir_type_n_bytes (node->outputs[i]->type, &bytes))
      return TRUE;
  return FALSE;
}

/**
 * ir_schedule_copy_why:
 * @copy: a copy to the host's memory
 * @model: its model
 *
 * Returns: (transfer none): why the host waits for it, in words
 */
const char *
ir_schedule_copy_why (const IrScheduleCopy *copy, const IrModel *model)
{
  const IrNode *reader = ir_model_node (model, copy->reader);
  g_autoptr (GPtrArray) bodies = reader != NULL ? ir_node_subgraphs (reader) : NULL;

  if (reader == NULL)
    return "it is handed out";
  for (guint i = 0; bodies != NULL && bodies->len > 0 && i < reader->n_inputs; i++)
    if (reader->inputs[i] != NULL && reader->inputs[i]->id == copy->value)
      return i == 0 && bodies->len == 2   ? "it decides which branch runs"
             : i <= 1 && bodies->len == 1 ? "it decides how often a body runs"
                                          : "a body reads it";
  if (bodies != NULL && bodies->len > 0)
    return "a body reads it";
  return has_open_sizes (reader) ? "the sizes of what its reader gives depend on it"
                                 : "its reader runs on the host";
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
  ir_device_streams_free (places->streams);
  g_free (places->values);
  g_free (places);
}
