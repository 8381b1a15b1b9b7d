/* Graphs of a device: steps between two copies are asked for as one, which takes it a fraction of the time that it takes
 * step by step. A plan's first run goes step by step, as kernels are compiled and constants computed in it; the second
 * one has the device write down what it is asked for, from then on that is launched. A graph says nothing of single
 * steps, so whoever looks on, or wants their times, has them step by step. */
#include "config.h"

#include "core/exec/run/state.h"

#define LEAST 4 /* steps that are worth a graph */

static gboolean
is_taken (const IrRunState *state)
{
  const IrRunOptions *options = state->options;

  return options->untimed && options->capture == IR_CAPTURE_NONE && options->show == NULL &&
         state->observer == NULL && state->plan_check == NULL && state->reuse == NULL &&
         !state->diverged;
}

/* -- which steps -- */

/* Whether the host has nothing to do with @step but to ask for it. */
static gboolean
is_alone_there (const IrPrepared *prepared, guint index)
{
  const IrRunStep *step = &prepared->steps[index];
  const IrBackend *backend = step->choice->backend;

  return step->bound && step->there && !step->observed && step->chain == 0 &&
         prepared->places->streams->stream[index] != IR_STREAM_NONE &&
         (step->no_op || (backend != NULL && backend->waits != NULL &&
                          !backend->waits (prepared->states[step->node->id])));
}

/* Whether the plan copies something between @step and the one before. */
static gboolean
is_copied_before (const IrPlaces *places, guint *copy, guint step)
{
  gboolean found = FALSE;

  for (; *copy < places->copies->len; (*copy)++)
    {
      const IrScheduleCopy *row = &g_array_index (places->copies, IrScheduleCopy, *copy);
      if (2 * row->step + row->behind > 2 * step)
        break;
      found = found || !row->once;
    }
  return found;
}

static void
add (GArray *graphs, guint first, guint end)
{
  IrDeviceGraph graph = { .first = first, .end = end };

  if (end >= first + LEAST)
    g_array_append_val (graphs, graph);
}

static GArray *
find_graphs (const IrPrepared *prepared)
{
  GArray *graphs = g_array_new (FALSE, FALSE, sizeof (IrDeviceGraph));
  guint n = prepared->schedule->items->len, first = 0, copy = 0;

  for (guint i = 0; i < n; i++)
    {
      gboolean alone = is_alone_there (prepared, i);
      if (is_copied_before (prepared->places, &copy, i) || !alone)
        {
          add (graphs, first, i);
          first = alone ? i : i + 1;
        }
    }
  add (graphs, first, n);
  return graphs;
}

/**
 * ir_device_graphs_allow:
 * @state: a run that has ended well, step by step
 *
 * From the next run of its plan on there are graphs.
 */
void
ir_device_graphs_allow (IrRunState *state)
{
  IrPrepared *prepared = state->prepared;

  if (prepared->places != NULL && prepared->graphs == NULL &&
      prepared->places->memory->graph_begin != NULL && is_taken (state))
    prepared->graphs = find_graphs (prepared);
}

/**
 * ir_device_graphs_at:
 * @state: a run under way
 * @step: of the schedule
 *
 * Returns: (transfer none) (nullable): the graph that begins there
 */
IrDeviceGraph *
ir_device_graphs_at (const IrRunState *state, guint step)
{
  const IrPrepared *prepared = state->prepared;

  if (prepared->graphs == NULL || !is_taken (state))
    return NULL;
  for (guint i = 0; i < prepared->graphs->len; i++)
    {
      IrDeviceGraph *graph = &g_array_index (prepared->graphs, IrDeviceGraph, i);
      if (graph->first == step && !graph->refused)
        return graph;
    }
  return NULL;
}

/* -- writing it down -- */

/* Events of the plan are those of steps that are asked for one by one: here each has another one. */
static gboolean
write_step (IrRunState *state, guint index, IrMemoryEvent *events, GError **error)
{
  IrPrepared *prepared = state->prepared;
  const IrDeviceStreams *streams = prepared->places->streams;
  const IrMemory *memory = prepared->places->memory;
  IrRunStep *step = &prepared->steps[index];

  memory->take_stream (streams->stream[index]);
  for (guint i = streams->wait_first[index]; i < streams->wait_first[index + 1]; i++)
    if (!memory->wait (&events[streams->waits[i]], error))
      return FALSE;
  if (!step->no_op && !ir_step_compute (state, step, state->threads, &prepared->scratch, error))
    return FALSE;
  return streams->event[index] == IR_STREAM_NONE ||
         memory->record (&events[streams->event[index]], error);
}

static gboolean
write_graph (IrRunState *state, IrDeviceGraph *graph, GError **error)
{
  IrPrepared *prepared = state->prepared;
  const IrMemory *memory = prepared->places->memory;
  g_autofree IrMemoryEvent *events = g_new0 (IrMemoryEvent,
                                             MAX (prepared->places->streams->n_events, 1));
  const guint *event = prepared->places->streams->event;
  gboolean done = TRUE;

  for (guint i = graph->first; done && i < graph->end; i++) /* not to be made meanwhile */
    done = event[i] == IR_STREAM_NONE || memory->record (&events[event[i]], error);
  done = done && memory->graph_begin (error);
  for (guint i = graph->first; done && i < graph->end; i++)
    done = write_step (state, i, events, error);
  memory->take_stream (0);
  /* Also where something has failed: streams go on only behind it. */
  done = memory->graph_end (done ? &graph->graph : NULL, done ? error : NULL) && done;
  for (guint i = 0; i < prepared->places->streams->n_events; i++)
    memory->free_event (&events[i]);
  return done;
}

/* -- running it -- */

/* Who waits for the event of the last step waits for all of the graph. */
static gboolean
copy_behind (IrRunState *state, guint last, GError **error)
{
  const IrPrepared *prepared = state->prepared;
  guint event = prepared->places->streams->event[last];

  if (!ir_copies_run (state, last, TRUE, error))
    return FALSE;
  prepared->places->memory->take_stream (0);
  return event == IR_STREAM_NONE ||
         (prepared->places->memory->record (&prepared->events[event], error) &&
          ir_late_copies_ask (state, last, error));
}

/**
 * ir_device_graphs_run:
 * @state: a run under way
 * @graph: of the step that is next
 * @asked: (out): %FALSE: the device cannot write it down, and its steps have to be asked for one by one
 * @error: return location for an error
 *
 * Asks the device for all steps of @graph, and for the copies before the first and behind the last.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_device_graphs_run (IrRunState *state, IrDeviceGraph *graph, gboolean *asked, GError **error)
{
  IrPrepared *prepared = state->prepared;
  g_autoptr (GError) refused = NULL;
  gboolean done;

  if (graph->graph.graph == NULL && !write_graph (state, graph, &refused))
    graph->refused = TRUE;
  if (graph->refused && ir_there_is_lost (prepared))
    {
      g_propagate_error (error, g_steal_pointer (&refused));
      return FALSE;
    }
  *asked = !graph->refused;
  if (graph->refused)
    return TRUE;
  /* A copy may be to bytes that another stream has read until now. */
  done = ir_streams_enter (state, graph->first, error) &&
         ir_copies_run (state, graph->first, FALSE, error);
  prepared->places->memory->take_stream (0);
  done = done && prepared->places->memory->graph_launch (&graph->graph, error);
  for (guint i = graph->first; done && i < graph->end; i++)
    {
      state->ran[prepared->steps[i].node->id] = TRUE;
      ir_step_finish (state, &prepared->steps[i]);
    }
  done = done && copy_behind (state, graph->end - 1, error);
  prepared->places->memory->take_stream (0);
  state->run->trace->n_graphs += done;
  return done;
}
