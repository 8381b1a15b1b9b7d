/* How long the steps of a device take, by events that it records itself: it works behind the calls that ask it,
 * which say nothing of it. */
#include "config.h"

#include "core/exec/run/state.h"

/* The event before (@behind: behind) the kernels of a step; that of the beginning is the first. */
static IrMemoryEvent *
event_of (const IrRunState *state, guint step, gboolean behind)
{
  return &state->prepared->stamps[1 + 2 * step + behind];
}

static gboolean
is_timed (const IrRunState *state)
{
  return state->prepared->stamps != NULL && !state->options->untimed;
}

/**
 * ir_device_clock_begin:
 * @state: a run whose steps have not been asked for
 * @error: return location for an error
 *
 * Finds out which time of the host is which of the device.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_device_clock_begin (IrRunState *state, GError **error)
{
  const IrMemory *memory;

  if (!is_timed (state))
    return TRUE;
  memory = state->prepared->places->memory;
  memory->take_stream (0);
  if (!memory->stamp (&state->prepared->stamps[0], error) || !memory->finish (error))
    return FALSE;
  state->device_begin_ns = ir_run_elapsed_ns (state);
  return TRUE;
}

/**
 * ir_device_clock_note:
 * @state: a run under way, whose thread asks the stream of @step
 * @step: a step whose kernels run there
 * @behind: they have been asked for
 * @error: return location for an error
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_device_clock_note (IrRunState *state, const IrRunStep *step, gboolean behind, GError **error)
{
  guint index = (guint) (step - state->prepared->steps);

  return !step->there || step->no_op || !is_timed (state) ||
         state->prepared->places->memory->stamp (event_of (state, index, behind), error);
}

/**
 * ir_device_clock_read:
 * @state: a run for which the device has done everything
 * @items: (element-type IrTraceItem): of its steps, in their order
 * @error: return location for an error
 *
 * Gives steps that ran there the times at which they did.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_device_clock_read (const IrRunState *state, GArray *items, GError **error)
{
  const IrMemoryEvent *begin = state->prepared->stamps;

  for (guint i = 0; is_timed (state) && !state->diverged && i < state->n_done; i++)
    {
      const IrRunStep *step = &state->prepared->steps[i];
      IrTraceItem *item = &g_array_index (items, IrTraceItem, i);
      const IrMemory *memory = state->prepared->places->memory;
      gint64 from_ns, to_ns;
      if (!step->there || step->no_op)
        continue;
      if (!memory->between (begin, event_of (state, i, FALSE), &from_ns, error) ||
          !memory->between (begin, event_of (state, i, TRUE), &to_ns, error))
        return FALSE;
      item->start_ns = state->device_begin_ns + from_ns;
      item->end_ns = state->device_begin_ns + to_ns;
    }
  return !is_timed (state) || ir_late_copies_read (state, error);
}
