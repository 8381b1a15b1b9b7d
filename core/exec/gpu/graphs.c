/* CUDA graphs: what streams are asked for is captured once, and launched as a whole. Whoever captures has the device for
 * himself, as other threads ask the same streams: gpu_enter() lets them wait. */
#include "config.h"

#include "core/exec/gpu/graphs.h"
#include "core/exec/gpu/state.h"

#define OF_THIS_THREAD 1 /* cuStreamBeginCapture_v2: other threads may use their memory meanwhile */
#define WITHOUT_TIMES  2 /* an event */

/* @from goes on, or what it is asked for is behind: @to waits for it. */
static gboolean
join (guint from, guint to, GError **error)
{
  struct CUevent_st **event = &gpu_state.joins[from];

  return (*event != NULL || GPU_CALL (cuEventCreate, error, event, WITHOUT_TIMES)) &&
         GPU_CALL (cuEventRecord, error, *event, gpu_state.streams[from]) &&
         GPU_CALL (cuStreamWaitEvent, error, gpu_state.streams[to], *event, 0);
}

/* The first stream waits for the others of the first @n that are open, or they for it. */
static gboolean
join_all (guint n, gboolean to_first, GError **error)
{
  for (guint i = 1; i < n; i++)
    if (gpu_state.streams[i] != NULL && !(to_first ? join (i, 0, error) : join (0, i, error)))
      return FALSE;
  return TRUE;
}

static gboolean
begin (GError **error)
{
  /* Events are not to be made while something is captured. */
  if (!join_all (GPU_LATE_STREAM, TRUE, error) || !join_all (GPU_LATE_STREAM, FALSE, error) ||
      !GPU_CALL (cuStreamBeginCapture_v2, error, gpu_state.streams[0], OF_THIS_THREAD))
    return FALSE;
  gpu_state.capturing = g_thread_self ();
  return TRUE;
}

gboolean
gpu_graph_begin (GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  return gpu_enter (error) && begin (error) && join_all (GPU_LATE_STREAM, FALSE, error);
}

/* @made: (nullable) %NULL: what was captured is not wanted */
static gboolean
end (struct CUgraphExec_st **made, GError **error)
{
  struct CUgraph_st *graph = NULL;
  gboolean done = join_all (GPU_LATE_STREAM, TRUE, error);

  /* The stream is of use again only behind this, whatever has failed. */
  gboolean ended = GPU_CALL (cuStreamEndCapture, done ? error : NULL, gpu_state.streams[0], &graph);
  if (!ended) /* one that was not even begun with has left it as it was */
    GPU_CALL (cuStreamEndCapture, NULL, gpu_state.streams[0], &graph);
  done = done && ended;
  gpu_state.capturing = NULL;
  g_cond_broadcast (&gpu_state.captured);
  done = done && (made == NULL || GPU_CALL (cuGraphInstantiateWithFlags, error, made, graph, 0));
  if (graph != NULL)
    done = GPU_CALL (cuGraphDestroy, done ? error : NULL, graph) && done;
  if (!done && made != NULL && *made != NULL)
    GPU_CALL (cuGraphExecDestroy, NULL, *made);
  return done;
}

gboolean
gpu_graph_end (IrMemoryGraph *graph, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  struct CUgraphExec_st *made = NULL;

  if (gpu_state.capturing != g_thread_self ())
    {
      g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
                           "the device was closed while a graph was captured");
      return FALSE;
    }
  if (!end (graph != NULL ? &made : NULL, error))
    return FALSE;
  if (graph != NULL)
    *graph = (IrMemoryGraph){ made, gpu_state.generation };
  return TRUE;
}

static gboolean
is_there (const IrMemoryGraph *graph)
{
  return graph->graph != NULL && gpu_state.gpu != NULL && !gpu_state.lost &&
         graph->generation == gpu_state.generation;
}

gboolean
gpu_graph_launch (const IrMemoryGraph *graph, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (!gpu_enter (error))
    return FALSE;
  if (!is_there (graph))
    {
      g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
                           "the device was opened anew: run again");
      return FALSE;
    }
  return join_all (GPU_LATE_STREAM, TRUE, error) &&
         GPU_CALL (cuGraphLaunch, error, graph->graph, gpu_state.streams[0]) &&
         join_all (GPU_N_STREAMS, FALSE, error);
}

void
gpu_graph_free (IrMemoryGraph *graph)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (is_there (graph) && gpu_enter (NULL))
    GPU_CALL (cuGraphExecDestroy, NULL, graph->graph);
  *graph = (IrMemoryGraph){ NULL };
}
