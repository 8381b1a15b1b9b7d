/* Captures and graphs: what is asked of a stream that captures, and of those that come to wait for it, is written down;
 * a launch asks for it again, each of the streams that took part being one of its own then. */
#define _GNU_SOURCE
#include "tests/gpu/stand-in/streams.h"

#include <string.h>

#define GLOBAL       0 /* modes of captures */
#define THREAD_LOCAL 1
#define RELAXED      2

typedef struct
{
  Op op;
  guint lane; /* which of the streams that took part; 0: the one that captured */
} Written;

struct _Capture
{
  struct CUstream_st *origin;
  GThread *thread; /* (nullable) whose calls are restricted */
  gboolean broken, over;
  GPtrArray *streams; /* that take part */
  GArray *ops;        /* of Written */
};

struct CUgraph_st
{
  GArray *ops; /* of Written, whose data are owned */
  guint n_lanes;
};

struct CUgraphExec_st
{
  struct CUgraph_st graph;
  GHashTable *events; /* as captured -> its own */
  struct CUevent_st *begin, **ends;
};

static GPtrArray *captures, *graphs, *made;
static GPtrArray *lanes; /* streams in which graphs run, by lane - 1 */

/* -- captures -- */

static void
capture_free (gpointer data)
{
  Capture *capture = data;

  g_ptr_array_unref (capture->streams);
  g_array_unref (capture->ops);
  g_free (capture);
}

static void
clear_written (gpointer data)
{
  g_free (((Written *) data)->op.data);
}

static GArray *
written_new (void)
{
  GArray *ops = g_array_new (FALSE, TRUE, sizeof (Written));

  g_array_set_clear_func (ops, clear_written);
  return ops;
}

unsigned int
capture_break (Capture *capture, unsigned int result, const char *what)
{
  capture->broken = TRUE;
  return problem (result, "%s while a stream is captured", what);
}

unsigned int
capture_forbids (const char *symbol)
{
  static const char *const unsafe[] = { "cuMemAlloc_v2",        "cuMemFree_v2",
                                        "cuMemAllocHost_v2",    "cuMemFreeHost",
                                        "cuMemHostRegister_v2", "cuModuleLoadData",
                                        "cuModuleUnload",       "cuStreamDestroy_v2" };

  for (guint i = 0; captures != NULL && i < captures->len; i++)
    {
      Capture *capture = captures->pdata[i];
      for (guint k = 0; !capture->over && k < G_N_ELEMENTS (unsafe); k++)
        if (capture->thread == g_thread_self () && strcmp (symbol, unsafe[k]) == 0)
          return capture_break (capture, CAPTURE_UNSUPPORTED, symbol);
    }
  return OK;
}

static guint
lane_of (const Capture *capture, const struct CUstream_st *stream)
{
  guint lane = 0;

  g_ptr_array_find (capture->streams, stream, &lane);
  return lane;
}

static unsigned int
write_down (struct CUstream_st *stream, const Op *what)
{
  Capture *capture = stream->capture;
  Written written = { .op = *what, .lane = lane_of (capture, stream) };

  g_array_append_val (capture->ops, written);
  stream->written.at[stream->agent] = capture->ops->len;
  return OK;
}

unsigned int
capture_ask (struct CUstream_st *stream, const Op *what)
{
  Capture *capture = stream->capture;

  if (capture->broken)
    return problem (CAPTURE_INVALIDATED, "a stream whose capture is invalid was asked for work");
  if (capture->thread != NULL && capture->thread != g_thread_self ())
    return capture_break (capture, CAPTURE_WRONG_THREAD, "another thread asks for work");
  return write_down (stream, what);
}

unsigned int
capture_record (struct CUstream_st *stream, struct CUevent_st *event)
{
  unsigned int result = capture_ask (stream, &(Op){ .kind = RECORD, .event = event });

  if (result != OK)
    return result;
  event->capture = stream->capture;
  event->written = stream->written;
  return OK;
}

gboolean
capture_wait (struct CUstream_st *stream, struct CUevent_st *event, unsigned int *result)
{
  Capture *capture = event->capture;

  if (stream->capture == NULL && capture == NULL)
    return FALSE;
  if (capture != NULL && capture->over)
    *result = problem (CAPTURED_EVENT, "a wait for an event that was captured last");
  else if (stream->capture != NULL && stream->capture != capture)
    *result = capture_break (stream->capture, CAPTURE_ISOLATION,
                             "a wait for an event from outside");
  else
    {
      if (stream->capture == NULL)
        {
          stream->capture = capture;
          memset (&stream->written, 0, sizeof stream->written);
          g_ptr_array_add (capture->streams, stream);
        }
      *result = capture_ask (stream, &(Op){ .kind = WAIT, .event = event });
      clock_join (&stream->written, &event->written);
    }
  return TRUE;
}

unsigned int
cuStreamBeginCapture_v2 (struct CUstream_st *stream, unsigned int mode)
{
  ENTER;
  Capture *capture;

  if (!is_stream (stream) || mode > RELAXED)
    return leave (problem (INVALID_VALUE, "cuStreamBeginCapture_v2: no stream, or no mode"));
  if (stream->capture != NULL)
    return leave (problem (401, "cuStreamBeginCapture_v2 of a stream that is captured"));
  capture = g_new0 (Capture, 1);
  capture->origin = stream;
  capture->thread = mode != RELAXED ? g_thread_self () : NULL;
  capture->streams = g_ptr_array_new ();
  capture->ops = written_new ();
  g_ptr_array_add (capture->streams, stream);
  memset (&stream->written, 0, sizeof stream->written);
  stream->capture = capture;
  if (captures == NULL)
    captures = g_ptr_array_new_with_free_func (capture_free);
  g_ptr_array_add (captures, capture);
  return leave (OK);
}

/* What every stream was asked for last happens before the end. */
static gboolean
is_joined (const Capture *capture)
{
  for (guint i = 1; i < capture->streams->len; i++)
    {
      const struct CUstream_st *stream = capture->streams->pdata[i];
      guint last = 0;
      for (guint k = 0; k < capture->ops->len; k++)
        {
          const Written *written = &g_array_index (capture->ops, Written, k);
          if (written->lane == i && written->op.kind != WAIT)
            last = k + 1;
        }
      if (capture->origin->written.at[stream->agent] < last)
        return FALSE;
    }
  return TRUE;
}

static struct CUgraph_st *
graph_new (Capture *capture)
{
  struct CUgraph_st *graph = g_new0 (struct CUgraph_st, 1);

  graph->ops = g_steal_pointer (&capture->ops);
  graph->n_lanes = capture->streams->len;
  capture->ops = written_new ();
  if (graphs == NULL)
    graphs = g_ptr_array_new ();
  g_ptr_array_add (graphs, graph);
  return graph;
}

unsigned int
cuStreamEndCapture (struct CUstream_st *stream, struct CUgraph_st **graph)
{
  ENTER;
  Capture *capture = is_stream (stream) ? stream->capture : NULL;
  unsigned int result = OK;

  *graph = NULL;
  if (capture == NULL)
    return leave (problem (401, "cuStreamEndCapture of a stream that is not captured"));
  if (capture->origin != stream)
    return leave (problem (CAPTURE_UNMATCHED, "cuStreamEndCapture of another stream"));
  capture->over = TRUE;
  if (capture->broken)
    result = problem (CAPTURE_INVALIDATED, "cuStreamEndCapture of what is invalid");
  else if (!is_joined (capture))
    result = problem (CAPTURE_UNJOINED, "cuStreamEndCapture before all streams have come back");
  else
    *graph = graph_new (capture);
  for (guint i = 0; i < capture->streams->len; i++)
    ((struct CUstream_st *) capture->streams->pdata[i])->capture = NULL;
  return leave (result);
}

/* -- graphs -- */

unsigned int
cuGraphDestroy (struct CUgraph_st *graph)
{
  ENTER_WITH (__func__, FALSE);
  if (graphs == NULL || !g_ptr_array_remove_fast (graphs, graph))
    return leave (problem (INVALID_VALUE, "cuGraphDestroy of what is no graph"));
  g_array_unref (graph->ops);
  g_free (graph);
  return leave (OK);
}

/* (nullable) Its own event in place of one that was captured. */
static struct CUevent_st *
own_event (struct CUgraphExec_st *exec, struct CUevent_st *captured)
{
  struct CUevent_st *own = g_hash_table_lookup (exec->events, captured);

  if (own == NULL && captured != NULL)
    {
      own = event_new (2);
      g_hash_table_insert (exec->events, captured, own);
    }
  return own;
}

unsigned int
cuGraphInstantiateWithFlags (struct CUgraphExec_st **out,
                             struct CUgraph_st *graph,
                             unsigned long long flags)
{
  ENTER;
  struct CUgraphExec_st *exec;

  if (graphs == NULL || !g_ptr_array_find (graphs, graph, NULL) || flags != 0)
    return leave (problem (INVALID_VALUE, "cuGraphInstantiateWithFlags of what is no graph"));
  exec = g_new0 (struct CUgraphExec_st, 1);
  exec->graph = (struct CUgraph_st){ written_new (), graph->n_lanes };
  exec->events = g_hash_table_new (NULL, NULL);
  exec->begin = event_new (2);
  exec->ends = g_new0 (struct CUevent_st *, graph->n_lanes);
  for (guint i = 1; i < graph->n_lanes; i++)
    exec->ends[i] = event_new (2);
  for (guint i = 0; i < graph->ops->len; i++)
    {
      Written written = g_array_index (graph->ops, Written, i);
      written.op.data = g_memdup2 (written.op.data, written.op.data_bytes);
      written.op.event = own_event (exec, written.op.event);
      g_array_append_val (exec->graph.ops, written);
    }
  if (made == NULL)
    made = g_ptr_array_new ();
  g_ptr_array_add (made, exec);
  *out = exec;
  return leave (OK);
}

static void
exec_free (struct CUgraphExec_st *exec)
{
  g_array_unref (exec->graph.ops);
  g_hash_table_unref (exec->events);
  g_free (exec->ends);
  g_free (exec);
}

unsigned int
cuGraphExecDestroy (struct CUgraphExec_st *exec)
{
  ENTER_WITH (__func__, FALSE);
  if (made == NULL || !g_ptr_array_remove_fast (made, exec))
    return leave (problem (INVALID_VALUE, "cuGraphExecDestroy of what is no graph"));
  exec_free (exec);
  return leave (OK);
}

static struct CUstream_st *
stream_of_lane (struct CUstream_st *stream, guint lane)
{
  if (lane == 0)
    return stream;
  if (lanes == NULL)
    lanes = g_ptr_array_new ();
  while (lanes->len < lane)
    g_ptr_array_add (lanes, stream_new ());
  return lanes->pdata[lane - 1];
}

static unsigned int
ask_again (struct CUstream_st *stream, const Written *written)
{
  Op op = written->op;

  if (op.kind == RECORD)
    return stream_record (stream, op.event);
  if (op.kind == WAIT)
    return stream_wait (stream, op.event);
  op.data = g_memdup2 (op.data, op.data_bytes);
  return stream_ask (stream, &op);
}

unsigned int
cuGraphLaunch (struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
  ENTER;
  unsigned int result;

  if (made == NULL || !g_ptr_array_find (made, exec, NULL) || !is_stream (stream))
    return leave (problem (INVALID_VALUE, "cuGraphLaunch of what is no graph, or in no stream"));
  if (stream->capture != NULL)
    return leave (capture_break (stream->capture, CAPTURE_UNSUPPORTED, "cuGraphLaunch"));
  result = stream_record (stream, exec->begin);
  for (guint i = 1; i < exec->graph.n_lanes && result == OK; i++)
    result = stream_wait (stream_of_lane (stream, i), exec->begin);
  for (guint i = 0; i < exec->graph.ops->len && result == OK; i++)
    {
      const Written *written = &g_array_index (exec->graph.ops, Written, i);
      result = ask_again (stream_of_lane (stream, written->lane), written);
    }
  for (guint i = 1; i < exec->graph.n_lanes && result == OK; i++)
    {
      result = stream_record (stream_of_lane (stream, i), exec->ends[i]);
      if (result == OK)
        result = stream_wait (stream, exec->ends[i]);
    }
  return leave (result);
}

guint
graphs_clear (void)
{
  guint n = (graphs != NULL ? graphs->len : 0) + (made != NULL ? made->len : 0);

  for (guint i = 0; graphs != NULL && i < graphs->len; i++)
    {
      struct CUgraph_st *graph = graphs->pdata[i];
      g_array_unref (graph->ops);
      g_free (graph);
    }
  for (guint i = 0; made != NULL && i < made->len; i++)
    exec_free (made->pdata[i]);
  g_clear_pointer (&captures, g_ptr_array_unref);
  g_clear_pointer (&graphs, g_ptr_array_unref);
  g_clear_pointer (&made, g_ptr_array_unref);
  g_clear_pointer (&lanes, g_ptr_array_unref);
  return n;
}
