/* Copies of what a run hands out, for which it does not wait before its end: in a stream of their own, behind the
 * step that makes the value. Who looks on meanwhile has them made at once instead. */
#include "config.h"

#include "core/exec/run/state.h"

typedef struct
{
  const IrScheduleCopy *copy;
  guint index; /* of the plan's */
  guint trace; /* of the trace's */
} LateCopy;

/* The event before (@behind: behind) a copy of the plan. */
static IrMemoryEvent *
event_of (const IrRunState *state, guint copy, gboolean behind)
{
  return &state->prepared->stamps[1 + 2 * (state->prepared->schedule->items->len + copy) + behind];
}

static gboolean
is_looked_on (const IrRunState *state)
{
  return state->observer != NULL || state->plan_check != NULL || state->options->show != NULL ||
         state->options->capture == IR_CAPTURE_STATS;
}

/* Whether its value has to be kept there meanwhile, as its bytes are going to be another's. */
static gboolean
has_area (const IrRunState *state, const IrScheduleCopy *copy)
{
  return !ir_value_is_graph_output (ir_model_value (state->prepared->model, copy->value));
}

static gboolean
may_be_late (const IrRunState *state, const IrScheduleCopy *copy)
{
  const IrPrepared *prepared = state->prepared;

  return copy->late && !state->diverged && !is_looked_on (state) &&
         prepared->values[copy->value].binding.tensor != NULL &&
         state->tensors[copy->value] == NULL &&
         prepared->places->streams->event[copy->step] != IR_STREAM_NONE &&
         ir_output_slab_is_pinned (prepared, copy->value) &&
         (!has_area (state, copy) || prepared->late_there.data != NULL);
}

static gpointer
place_of (const IrRunState *state, const IrScheduleCopy *copy)
{
  return has_area (state, copy)
             ? (guint8 *) state->prepared->late_there.data + copy->late_at
             : (gpointer) ir_tensor_data (state->prepared->values[copy->value].there);
}

/**
 * ir_late_copies_take:
 * @state: a run under way, whose thread asks the stream of the step
 * @index: of a copy of the plan, behind its step
 * @taken: (out): whether it is made later; else it has to be made at once
 * @error: return location for an error
 *
 * Gives its value the memory that it is going to be copied to, which ir_late_copies_ask() does.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_late_copies_take (IrRunState *state, guint index, gboolean *taken, GError **error)
{
  const IrPrepared *prepared = state->prepared;
  const IrScheduleCopy *copy = &g_array_index (prepared->places->copies, IrScheduleCopy, index);
  const IrPlanValue *row = &prepared->values[copy->value];

  *taken = may_be_late (state, copy);
  if (!*taken)
    return TRUE;
  if (has_area (state, copy) &&
      !prepared->places->memory->copy (place_of (state, copy), ir_tensor_data (row->there),
                                       ir_tensor_n_bytes (row->there), error))
    return FALSE;
  ir_run_state_set (state, ir_model_value (prepared->model, copy->value), row->binding.tensor);
  if (state->late == NULL)
    state->late = g_array_new (FALSE, FALSE, sizeof (LateCopy));
  g_array_append_val (state->late, ((LateCopy){ copy, index, G_MAXUINT }));
  return TRUE;
}

static gboolean
ask (IrRunState *state, LateCopy *late, gboolean timed, GError **error)
{
  const IrMemory *memory = state->prepared->places->memory;
  IrTensor *to = state->prepared->values[late->copy->value].binding.tensor;
  gint64 start_ns = ir_run_elapsed_ns (state);

  if ((timed && !memory->stamp (event_of (state, late->index, FALSE), error)) ||
      !memory->copy_out_late (ir_tensor_data_writable (to), place_of (state, late->copy),
                              ir_tensor_n_bytes (to), error) ||
      (timed && !memory->stamp (event_of (state, late->index, TRUE), error)))
    return FALSE;
  late->trace = ir_copies_note (state, late->copy->value, TRUE, ir_tensor_n_bytes (to), start_ns);
  return TRUE;
}

/**
 * ir_late_copies_ask:
 * @state: a run under way
 * @step: of the schedule, whose event was recorded
 * @error: return location for an error
 *
 * Asks the device for the copies that were taken of the step's values.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_late_copies_ask (IrRunState *state, guint step, GError **error)
{
  const IrPlaces *places = state->prepared->places;
  guint first = state->late != NULL ? state->late->len : 0, n = first;

  while (first > 0 && g_array_index (state->late, LateCopy, first - 1).copy->step == step)
    first--;
  if (first == n)
    return TRUE;
  places->memory->take_stream (places->memory->late_stream);
  gboolean done = places->memory->wait (&state->prepared->events[places->streams->event[step]],
                                        error);
  for (guint i = first; i < n && done; i++)
    done = ask (state, &g_array_index (state->late, LateCopy, i), !state->options->untimed, error);
  state->late_pending = TRUE;
  return done;
}

/**
 * ir_late_copies_settle:
 * @state: a run under way
 * @error: return location for an error
 *
 * For who is going to read any value: waits for what was asked for.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_late_copies_settle (IrRunState *state, GError **error)
{
  if (!state->late_pending)
    return TRUE;
  state->late_pending = FALSE;
  return state->prepared->places->memory->finish (error);
}

/**
 * ir_late_copies_forget:
 * @state: a run that is left
 * @run: what it hands out
 *
 * Takes back the values of which nobody knows whether they have arrived.
 */
void
ir_late_copies_forget (const IrRunState *state, IrRun *run)
{
  for (guint i = 0; state->late_pending && i < state->late->len; i++)
    g_clear_pointer (&run->values[g_array_index (state->late, LateCopy, i).copy->value],
                     ir_tensor_unref);
  for (guint i = 0; state->late_pending && i < state->prepared->slab_values->len; i++)
    {
      guint64 at;
      IrValueId id = g_array_index (state->prepared->slab_values, IrValueId, i);
      if (ir_capture_comes_with_whole (state->prepared, id) &&
          run->values[ir_capture_root (state->prepared, id, &at)] == NULL)
        g_clear_pointer (&run->values[id], ir_tensor_unref);
    }
}

/**
 * ir_late_copies_read:
 * @state: a timed run for which the device has done everything
 * @error: return location for an error
 *
 * Gives the copies the times at which they were made.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_late_copies_read (const IrRunState *state, GError **error)
{
  const IrMemoryEvent *begin = state->prepared->stamps;

  for (guint i = 0; state->late != NULL && i < state->late->len; i++)
    {
      const LateCopy *late = &g_array_index (state->late, LateCopy, i);
      const IrMemory *memory = state->prepared->places->memory;
      gint64 from_ns, to_ns;
      if (late->trace == G_MAXUINT)
        continue;
      if (!memory->between (begin, event_of (state, late->index, FALSE), &from_ns, error) ||
          !memory->between (begin, event_of (state, late->index, TRUE), &to_ns, error))
        return FALSE;
      IrTraceCopy *trace = &g_array_index (state->run->trace->copies, IrTraceCopy, late->trace);
      trace->start_ns = state->device_begin_ns + from_ns;
      trace->end_ns = state->device_begin_ns + to_ns;
    }
  return TRUE;
}
