/* Steps in the streams of a device, and copies of values between two memories, where the plan has them; and
 * copies out of the plan, where a node runs in another way than was planned. */
#include "config.h"

#include "core/exec/run/state.h"

#include <string.h>

/**
 * ir_copies_note:
 * @state: a run under way
 * @value: what was copied
 * @to_host: to the host's memory
 * @bytes: so many
 * @start_ns: since then
 *
 * Writes a copy into the trace.
 *
 * Returns: its index there
 */
guint
ir_copies_note (
    IrRunState *state, IrValueId value, gboolean to_host, guint64 bytes, gint64 start_ns)
{
  IrTraceCopy copy = { value, to_host, bytes, start_ns, ir_run_elapsed_ns (state) };
  IrTrace *trace = state->run->trace;

  if (trace->copies == NULL)
    trace->copies = g_array_new (FALSE, FALSE, sizeof (IrTraceCopy));
  g_array_append_val (trace->copies, copy);
  return trace->copies->len - 1;
}

static gboolean
is_same_type (const IrTensor *a, const IrTensor *b)
{
  return !ir_tensor_is_container (a) && ir_tensor_sparse_values (a) == NULL &&
         ir_tensor_dtype (a) == ir_tensor_dtype (b) && ir_tensor_rank (a) == ir_tensor_rank (b) &&
         memcmp (ir_tensor_dims (a), ir_tensor_dims (b), sizeof (gint64) * ir_tensor_rank (a)) == 0;
}

/**
 * ir_copies_give:
 * @state: a run under way
 * @value: a value that steps read in the memory of a back end
 * @tensor: its contents
 * @error: return location for an error
 *
 * Copies them there. Where they are not of the type that the plan was made for, the rest of the run goes
 * the long way.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_copies_give (IrRunState *state, const IrValue *value, const IrTensor *tensor, GError **error)
{
  const IrTensor *there = state->prepared->values[value->id].there;
  gint64 start_ns = ir_run_elapsed_ns (state);

  if (there == NULL || state->diverged)
    return TRUE;
  if (!is_same_type (tensor, there))
    {
      state->diverged = TRUE;
      return TRUE;
    }
  if (!state->prepared->places->memory->copy_in ((gpointer) ir_tensor_data (there),
                                                 ir_tensor_data (tensor),
                                                 ir_tensor_n_bytes (tensor), error))
    return FALSE;
  ir_copies_note (state, value->id, FALSE, ir_tensor_n_bytes (tensor), start_ns);
  return TRUE;
}

/* (transfer full) (nullable) What lies there, in @host or, where that is %NULL, in memory of its own. */
static IrTensor *
copy_out (IrRunState *state, const IrValue *value, IrTensor *host, GError **error)
{
  const IrTensor *there = state->prepared->values[value->id].there;
  gint64 start_ns = ir_run_elapsed_ns (state);
  g_autoptr (IrTensor)
      to = host != NULL ? ir_tensor_ref (host)
                        : ir_tensor_new_alloc (ir_tensor_dtype (there), ir_tensor_rank (there),
                                               ir_tensor_dims (there), error);

  if (to == NULL || !state->prepared->places->memory->copy_out (ir_tensor_data_writable (to),
                                                                ir_tensor_data (there),
                                                                ir_tensor_n_bytes (to), error))
    return NULL;
  ir_copies_note (state, value->id, TRUE, ir_tensor_n_bytes (to), start_ns);
  return g_steal_pointer (&to);
}

/**
 * ir_copies_fetch:
 * @state: a run under way
 * @value: a value that a device has made
 * @error: return location for an error
 *
 * For who looks on, or goes the long way, at any time: where the plan wants the value something else may
 * still lie.
 *
 * Returns: (transfer none) (nullable): its contents, copied to the host's memory unless that was done
 */
IrTensor *
ir_copies_fetch (IrRunState *state, const IrValue *value, GError **error)
{
  if (!ir_late_copies_settle (state, error))
    return NULL;
  if (state->tensors[value->id] == NULL && state->prepared->values[value->id].there != NULL)
    {
      if (!state->prepared->places->memory->finish (error))
        return NULL;
      g_autoptr (IrTensor) here = copy_out (state, value, NULL, error);
      if (here != NULL)
        ir_run_state_set (state, value, here);
    }
  return state->tensors[value->id];
}

/* To where the plan wants it. */
static gboolean
copy_as_planned (IrRunState *state, const IrValue *value, GError **error)
{
  IrTensor *wanted = state->prepared->values[value->id].binding.tensor;
  const IrTensor *here = state->tensors[value->id];

  if (here != NULL && here == wanted)
    return TRUE;
  if (wanted == NULL)
    return ir_copies_fetch (state, value, error) != NULL;
  if (here == NULL)
    {
      g_autoptr (IrTensor) copied = copy_out (state, value, wanted, error);
      if (copied == NULL)
        return FALSE;
    }
  else /* somebody has looked before */
    memcpy (ir_tensor_data_writable (wanted), ir_tensor_data (here), ir_tensor_n_bytes (wanted));
  ir_run_state_set (state, value, wanted);
  return TRUE;
}

static gboolean
run_copy (IrRunState *state, guint index, GError **error)
{
  const IrPlaces *places = state->prepared->places;
  const IrScheduleCopy *copy = &g_array_index (places->copies, IrScheduleCopy, index);
  const IrValue *value = ir_model_value (state->prepared->model, copy->value);
  gboolean taken;

  if (copy->once || state->diverged)
    return TRUE;
  places->memory->take_stream (copy->stream);
  if (!ir_late_copies_take (state, index, &taken, error))
    return FALSE;
  if (taken)
    return TRUE;
  if (copy->to_host)
    return copy_as_planned (state, value, error);
  const IrTensor *tensor = ir_run_state_tensor (state, value);
  return tensor == NULL || ir_copies_give (state, value, tensor, error);
}

/* From now on this thread asks the stream of @step, or the first. */
static void
take_stream_of (const IrPrepared *prepared, guint step)
{
  guint stream = prepared->places->streams->stream[step];

  prepared->places->memory->take_stream (stream != IR_STREAM_NONE ? stream : 0);
}

/**
 * ir_streams_enter:
 * @state: a run under way
 * @step: of the schedule
 * @error: return location for an error
 *
 * What this thread asks the device for goes to the stream of @step, which waits for the events before it.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_streams_enter (IrRunState *state, guint step, GError **error)
{
  const IrPrepared *prepared = state->prepared;
  const IrDeviceStreams *streams = prepared->places != NULL ? prepared->places->streams : NULL;

  if (streams == NULL || streams->stream[step] == IR_STREAM_NONE)
    return TRUE;
  take_stream_of (prepared, step);
  for (guint i = streams->wait_first[step]; i < streams->wait_first[step + 1]; i++)
    if (!prepared->places->memory->wait (&prepared->events[streams->waits[i]], error))
      return FALSE;
  return TRUE;
}

/**
 * ir_streams_leave:
 * @state: a run under way
 * @step: of the schedule, which has run
 * @error: return location for an error
 *
 * Records the event that others wait for, if there is one.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_streams_leave (IrRunState *state, guint step, GError **error)
{
  const IrPrepared *prepared = state->prepared;
  const IrPlaces *places = prepared->places;
  gboolean done = TRUE;

  if (places == NULL)
    return TRUE;
  if (places->streams->stream[step] != IR_STREAM_NONE &&
      places->streams->event[step] != IR_STREAM_NONE)
    done = places->memory->record (&prepared->events[places->streams->event[step]], error) &&
           ir_late_copies_ask (state, step, error);
  places->memory->take_stream (0);
  return done;
}

/**
 * ir_streams_finish:
 * @state: a run whose steps have all been asked for
 * @error: (nullable): return location for an error
 *
 * Waits for the device.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_streams_finish (IrRunState *state, GError **error)
{
  const IrPlaces *places = state->prepared->places;

  if (places == NULL)
    return TRUE;
  places->memory->take_stream (0);
  state->late_pending = FALSE;
  return places->memory->finish (error);
}

/**
 * ir_copies_run:
 * @state: a run under way
 * @step: of the schedule
 * @behind: of those behind it, else before it
 * @error: return location for an error
 *
 * Makes the copies that the plan has there.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_copies_run (IrRunState *state, guint step, gboolean behind, GError **error)
{
  const IrPlaces *places = state->prepared->places;

  if (places == NULL)
    return TRUE;
  for (; state->n_copied < places->copies->len; state->n_copied++)
    {
      const IrScheduleCopy *copy = &g_array_index (places->copies, IrScheduleCopy, state->n_copied);
      if (2 * copy->step + copy->behind > 2 * step + behind)
        break;
      if (!run_copy (state, state->n_copied, error))
        return FALSE;
    }
  take_stream_of (state->prepared, step);
  return TRUE;
}

/**
 * ir_copies_observe:
 * @state: a run under way
 * @step: a step whose outputs lie in the memory of its back end
 * @error: return location for an error
 *
 * Shows what the options of the run ask for, statistics and files, the outputs that are not copied anyway. Where
 * statistics are all, the device counts.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_copies_observe (IrRunState *state, const IrRunStep *step, GError **error)
{
  for (guint i = 0; step->there && step->observed && i < step->node->n_outputs; i++)
    {
      const IrValue *value = step->node->outputs[i];
      gboolean counted = FALSE;
      if (value == NULL || state->tensors[value->id] != NULL)
        continue;
      if (!ir_run_wants_contents (state, value) &&
          !ir_device_stats_keep (state, value, &counted, error))
        return FALSE;
      if (counted)
        continue;
      g_autoptr (IrTensor) here = copy_out (state, value, NULL, error);
      if (here == NULL)
        return FALSE;
      ir_run_capture (state, value, here);
    }
  return TRUE;
}
