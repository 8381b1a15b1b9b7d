/* Streams, events and what is done in them. Nothing is done when it is asked for: streams make progress
 * in an order that is drawn, as late as a wait of the host allows. Each stream has a clock of what
 * happened before its next work; an event takes it along, and so does a wait of the host. */
#define _GNU_SOURCE
#include "tests/gpu/stand-in/streams.h"

#include <string.h>

#define NO_TIMES 2 /* a flag of events */

static GPtrArray *streams, *events;
static Clock host;
static GRand *order;
static guint next_agent = 1;
static gboolean waits_left_out; /* until something else is asked for */
static guint64 n_done;          /* pieces of work, each of which is said to take a microsecond */

const Clock *
host_clock (void)
{
  return &host;
}

void
clock_join (Clock *clock, const Clock *other)
{
  for (guint i = 0; i < MAX_AGENTS; i++)
    clock->at[i] = MAX (clock->at[i], other->at[i]);
}

/* -- doing it -- */

static const char *const names[] = {
  [TO_DEVICE] = "a copy to the device",
  [TO_HOST] = "a copy to the host",
  [WITHIN] = "a copy on the device",
  [SET] = "a fill",
};

static unsigned int
do_op (struct CUstream_st *stream, Op *op)
{
  Toucher by = { stream->agent, op->epoch, &op->clock,
                 op->kind == LAUNCH ? function_name (op->function)
                 : op->kind == CALL ? op->name
                                    : names[op->kind] };
  unsigned int result = OK;

  switch (op->kind)
    {
    case LAUNCH:
      return function_run (op->function, &op->launch, op->args, &by);
    case TO_DEVICE: /* what is pageable is read when it comes to it */
      result = touch (op->to, op->bytes, TRUE, &by);
      result = result == OK ? touch_host (op->from, op->bytes, FALSE, &by) : result;
      if (result == OK)
        memcpy (op->to, op->from, op->bytes);
      return result;
    case TO_HOST:
      result = touch (op->from, op->bytes, FALSE, &by);
      result = result == OK ? touch_host (op->to, op->bytes, TRUE, &by) : result;
      if (result == OK)
        memcpy (op->to, op->from, op->bytes);
      return result;
    case WITHIN:
      result = touch (op->from, op->bytes, FALSE, &by);
      result = result == OK ? touch (op->to, op->bytes, TRUE, &by) : result;
      if (result == OK)
        memmove (op->to, op->from, op->bytes);
      return result;
    case SET:
      result = touch (op->to, op->bytes, TRUE, &by);
      if (result == OK)
        memset (op->to, op->value, op->bytes);
      return result;
    case CALL:
      for (guint i = 0; i < op->n_touches && result == OK; i++)
        result = touch (op->touches[i].at, op->touches[i].bytes, op->touches[i].writes, &by);
      if (result == OK)
        op->call (op->data);
      return result;
    case RECORD:
      op->event->done = op->recorded;
      op->event->at = n_done;
      return OK;
    case WAIT:
      return OK;
    }
  return OK;
}

static void
op_free (gpointer data)
{
  Op *op = data;

  g_free (op->data);
  g_free (op);
}

static gboolean
is_ready (const Op *op)
{
  return op != NULL && (op->kind != WAIT || op->event->done >= op->recorded);
}

static void
do_first (struct CUstream_st *stream, unsigned int *result)
{
  Op *op = g_queue_pop_head (&stream->ops);

  *result = do_op (stream, op);
  n_done += op->kind != RECORD && op->kind != WAIT;
  op_free (op);
}

/* One step of some stream; FALSE: none can go on. */
static gboolean
step (unsigned int *result)
{
  guint n = streams != NULL ? streams->len : 0;
  guint first = n > 0 ? (guint) g_rand_int_range (order, 0, (gint32) n) : 0;

  for (guint i = 0; i < n; i++)
    {
      struct CUstream_st *stream = streams->pdata[(first + i) % n];
      if (!is_ready (g_queue_peek_head (&stream->ops)))
        continue;
      do_first (stream, result);
      return TRUE;
    }
  return FALSE;
}

/* Nothing is done before somebody waits for it, and then nothing else. */
static gboolean
is_late (void)
{
  guint64 unused;

  return stand_in_option ("late", 0, &unused);
}

/* The stream that goes on so that @stream can: it, or the one whose record it waits for. (nullable) */
static struct CUstream_st *
who_goes_on (struct CUstream_st *stream)
{
  for (guint n = 0; n <= streams->len; n++)
    {
      const Op *wait = g_queue_peek_head (&stream->ops);
      struct CUstream_st *records = NULL;
      if (is_ready (wait))
        return stream;
      for (guint i = 0; wait != NULL && i < streams->len; i++)
        for (GList *l = ((struct CUstream_st *) streams->pdata[i])->ops.head; l != NULL;
             l = l->next)
          if (((const Op *) l->data)->kind == RECORD &&
              ((const Op *) l->data)->event == wait->event &&
              ((const Op *) l->data)->recorded == wait->recorded)
            records = streams->pdata[i];
      if (records == NULL)
        return NULL;
      stream = records;
    }
  return NULL;
}

static unsigned int
drain (struct CUstream_st *stream)
{
  unsigned int result = OK;
  struct CUstream_st *next;

  while (is_late () && result == OK && (next = who_goes_on (stream)) != NULL)
    do_first (next, &result);
  while (result == OK && !g_queue_is_empty (&stream->ops))
    if (!step (&result))
      return problem (LAUNCH_FAILED, "stream %u waits for an event that nobody records",
                      stream->agent);
  clock_join (&host, &stream->clock);
  blocks_forget (&host);
  return result;
}

void
streams_go_on (void)
{
  waits_left_out = FALSE;
}

unsigned int
streams_finish (void)
{
  unsigned int result = OK;

  for (guint i = 0; streams != NULL && i < streams->len && result == OK; i++)
    result = drain (streams->pdata[i]);
  return result;
}

static void
stream_free (gpointer data)
{
  struct CUstream_st *stream = data;

  g_queue_clear_full (&stream->ops, op_free);
  g_free (stream);
}

void
streams_clear (void)
{
  g_clear_pointer (&streams, g_ptr_array_unref);
  g_clear_pointer (&events, g_ptr_array_unref);
  g_clear_pointer (&order, g_rand_free);
  memset (&host, 0, sizeof host);
  next_agent = 1;
}

/* -- asking for it -- */

/* Whether all that happened before @clock is known to have. */
static gboolean
knows (const struct CUstream_st *stream, const Clock *clock)
{
  for (guint i = 0; i < MAX_AGENTS; i++)
    if (MAX (stream->clock.at[i], host.at[i]) < clock->at[i])
      return FALSE;
  return TRUE;
}

/* What changes nothing is not left out: a wait for what is done, or in order already. */
#define SKIP                                                                                       \
  if (stand_in_skips (__func__))                                                                   \
    return leave (OK);

gboolean
is_stream (const struct CUstream_st *stream)
{
  return streams != NULL && g_ptr_array_find (streams, stream, NULL);
}

gboolean
is_event (const struct CUevent_st *event)
{
  return events != NULL && g_ptr_array_find (events, event, NULL);
}

unsigned int
stream_ask (struct CUstream_st *stream, const Op *what)
{
  unsigned int result = OK;
  Op *op;

  if (!is_stream (stream))
    return problem (INVALID_HANDLE, "work for what is no stream");
  if (stream->capture != NULL)
    return capture_ask (stream, what);
  op = g_memdup2 (what, sizeof *what);
  clock_join (&stream->clock, &host);
  op->epoch = stream->clock.at[stream->agent] = ++stream->epoch;
  op->clock = stream->clock;
  g_queue_push_tail (&stream->ops, op);
  for (gint n = is_late () ? 0 : g_rand_int_range (order, 0, 3); n > 0 && result == OK; n--)
    if (!step (&result))
      break;
  return result;
}

struct CUstream_st *
stream_new (void)
{
  struct CUstream_st *stream;
  guint64 seed;

  stand_in_option ("seed", 1, &seed);
  if (next_agent == MAX_AGENTS)
    {
      problem (OUT_OF_MEMORY, "more than %d streams", MAX_AGENTS - 1);
      return NULL;
    }
  if (streams == NULL)
    streams = g_ptr_array_new_with_free_func (stream_free);
  if (order == NULL)
    order = g_rand_new_with_seed ((guint32) seed);
  stream = g_new0 (struct CUstream_st, 1);
  stream->agent = next_agent++;
  g_queue_init (&stream->ops);
  g_ptr_array_add (streams, stream);
  return stream;
}

struct CUevent_st *
event_new (unsigned int flags)
{
  struct CUevent_st *event = g_new0 (struct CUevent_st, 1);

  if (events == NULL)
    events = g_ptr_array_new_with_free_func (g_free);
  event->flags = flags;
  g_ptr_array_add (events, event);
  return event;
}

unsigned int
stream_record (struct CUstream_st *stream, struct CUevent_st *event)
{
  if (stream->capture != NULL)
    return capture_record (stream, event);
  event->capture = NULL;
  clock_join (&stream->clock, &host);
  event->clock = stream->clock;
  return stream_ask (stream, &(Op){ .kind = RECORD, .event = event, .recorded = ++event->asked });
}

unsigned int
stream_wait (struct CUstream_st *stream, struct CUevent_st *event)
{
  unsigned int result;

  if (capture_wait (stream, event, &result))
    return result;
  clock_join (&stream->clock, &event->clock);
  return stream_ask (stream, &(Op){ .kind = WAIT, .event = event, .recorded = event->asked });
}

unsigned int
cuStreamCreate (struct CUstream_st **out, unsigned int flags)
{
  ENTER;

  *out = stream_new ();
  return leave (*out != NULL ? OK : OUT_OF_MEMORY);
}

unsigned int
cuStreamDestroy_v2 (struct CUstream_st *stream)
{
  ENTER;
  unsigned int result = is_stream (stream) ? drain (stream)
                                           : problem (INVALID_HANDLE, "cuStreamDestroy_v2 twice");

  if (is_stream (stream))
    g_ptr_array_remove_fast (streams, stream);
  return leave (result);
}

unsigned int
cuStreamSynchronize (struct CUstream_st *stream)
{
  ENTER;
  if (!is_stream (stream))
    return leave (problem (INVALID_HANDLE, "cuStreamSynchronize: no stream"));
  if (stream->capture != NULL)
    return leave (capture_break (stream->capture, CAPTURE_UNSUPPORTED, "cuStreamSynchronize"));
  /* One wait of the host may be for several streams, the later of which may have waited for the earlier. */
  if (!g_queue_is_empty (&stream->ops) && !waits_left_out)
    waits_left_out = stand_in_skips (__func__);
  return leave (waits_left_out ? OK : drain (stream));
}

unsigned int
cuStreamWaitEvent (struct CUstream_st *stream, struct CUevent_st *event, unsigned int flags)
{
  ENTER;
  if (!is_event (event) || !is_stream (stream))
    return leave (problem (INVALID_HANDLE, "cuStreamWaitEvent: no event, or no stream"));
  if (!knows (stream, &event->clock))
    SKIP;
  return leave (stream_wait (stream, event));
}

unsigned int
cuEventCreate (struct CUevent_st **out, unsigned int flags)
{
  ENTER;
  *out = event_new (flags);
  return leave (OK);
}

unsigned int
cuEventDestroy_v2 (struct CUevent_st *event)
{
  ENTER;
  unsigned int result = streams_finish ();

  if (!is_event (event))
    return leave (problem (INVALID_HANDLE, "cuEventDestroy_v2 of what is no event"));
  g_ptr_array_remove_fast (events, event);
  return leave (result);
}

unsigned int
cuEventRecord (struct CUevent_st *event, struct CUstream_st *stream)
{
  ENTER;
  if (!is_event (event) || !is_stream (stream))
    return leave (problem (INVALID_HANDLE, "cuEventRecord: no event, or no stream"));
  return leave (stream_record (stream, event));
}

unsigned int
cuEventElapsedTime (float *ms, struct CUevent_st *from, struct CUevent_st *to)
{
  ENTER;
  if (!is_event (from) || !is_event (to) || (from->flags & NO_TIMES) || (to->flags & NO_TIMES) ||
      from->asked == 0 || to->asked == 0)
    return leave (
        problem (INVALID_HANDLE,
                 "cuEventElapsedTime: no event, or one without times, or that was not recorded"));
  if (from->capture != NULL || to->capture != NULL)
    return leave (problem (CAPTURED_EVENT, "cuEventElapsedTime of an event that was captured"));
  if (from->done < from->asked || to->done < to->asked)
    return leave (problem (NOT_READY, "cuEventElapsedTime of an event that has not happened"));
  *ms = ((float) to->at - (float) from->at) / 1000;
  return leave (OK);
}

unsigned int
cuEventSynchronize (struct CUevent_st *event)
{
  ENTER;
  unsigned int result = OK;

  if (!is_event (event))
    return leave (problem (INVALID_HANDLE, "cuEventSynchronize: no event"));
  if (event->capture != NULL)
    return leave (problem (CAPTURED_EVENT, "cuEventSynchronize of an event that was captured"));
  while (result == OK && event->done < event->asked)
    if (!step (&result))
      return leave (problem (LAUNCH_FAILED, "an event waits for what cannot go on"));
  clock_join (&host, &event->clock);
  return leave (result);
}

unsigned int
cuMemcpyHtoDAsync_v2 (unsigned long long to,
                      const void *from,
                      size_t bytes,
                      struct CUstream_st *stream)
{
  ENTER;
  SKIP;
  if (block_find ((gconstpointer) (gsize) to, bytes) == NULL)
    return leave (
        problem (INVALID_VALUE, "cuMemcpyHtoDAsync_v2: %zu bytes to no block of memory", bytes));
  return leave (stream_ask (
      stream,
      &(Op){ .kind = TO_DEVICE, .to = (gpointer) (gsize) to, .from = from, .bytes = bytes }));
}

unsigned int
cuMemcpyDtoHAsync_v2 (void *to, unsigned long long from, size_t bytes, struct CUstream_st *stream)
{
  ENTER;
  if (block_find ((gconstpointer) (gsize) from, bytes) == NULL)
    return leave (
        problem (INVALID_VALUE, "cuMemcpyDtoHAsync_v2: %zu bytes of no block of memory", bytes));
  memset (to, 0xff, bytes); /* for who reads it too early */
  SKIP;
  return leave (stream_ask (
      stream,
      &(Op){ .kind = TO_HOST, .to = to, .from = (gconstpointer) (gsize) from, .bytes = bytes }));
}

unsigned int
cuMemcpyDtoDAsync_v2 (unsigned long long to,
                      unsigned long long from,
                      size_t bytes,
                      struct CUstream_st *stream)
{
  ENTER;
  SKIP;
  if (block_find ((gconstpointer) (gsize) from, bytes) == NULL ||
      block_find ((gconstpointer) (gsize) to, bytes) == NULL)
    return leave (
        problem (INVALID_VALUE, "cuMemcpyDtoDAsync_v2: %zu bytes in no block of memory", bytes));
  return leave (stream_ask (stream, &(Op){ .kind = WITHIN,
                                           .to = (gpointer) (gsize) to,
                                           .from = (gconstpointer) (gsize) from,
                                           .bytes = bytes }));
}

unsigned int
cuMemsetD8Async (unsigned long long to,
                 unsigned char value,
                 size_t bytes,
                 struct CUstream_st *stream)
{
  ENTER;
  SKIP;
  if (block_find ((gconstpointer) (gsize) to, bytes) == NULL)
    return leave (
        problem (INVALID_VALUE, "cuMemsetD8Async: %zu bytes of no block of memory", bytes));
  return leave (stream_ask (
      stream, &(Op){ .kind = SET, .to = (gpointer) (gsize) to, .value = value, .bytes = bytes }));
}

unsigned int
cuLaunchKernel (struct CUfunc_st *function,
                unsigned int blocks_x,
                unsigned int blocks_y,
                unsigned int blocks_z,
                unsigned int threads_x,
                unsigned int threads_y,
                unsigned int threads_z,
                unsigned int shared_bytes,
                struct CUstream_st *stream,
                void **parameters,
                void **extra)
{
  ENTER;
  Op op = { .kind = LAUNCH, .function = function };
  unsigned int result;

  op.launch = (IrGpuLaunch){ .blocks = blocks_x, .threads = threads_x };
  if (blocks_y != 1 || blocks_z != 1 || threads_y != 1 || threads_z != 1 || shared_bytes != 0 ||
      extra != NULL)
    return leave (problem (INVALID_VALUE, "cuLaunchKernel: kernels here have one dimension"));
  result = function_check (function, &op.launch, parameters, op.args);
  if (result != OK)
    return leave (result);
  op.launch.name = (char *) function_name (function);
  op.launch.n_args = function_n_parameters (function);
  return leave (stream_ask (stream, &op));
}

unsigned int
stand_in_enqueue (struct CUstream_st *stream,
                  const char *name,
                  void (*call) (gpointer data),
                  gpointer data,
                  gsize data_bytes,
                  const StandInTouch *touches,
                  guint n_touches)
{
  ENTER;
  Op op = { .kind = CALL,
            .name = name,
            .call = call,
            .data = data,
            .data_bytes = data_bytes,
            .n_touches = n_touches };

  memcpy (op.touches, touches, n_touches * sizeof touches[0]);
  for (guint i = 0; i < n_touches; i++)
    if (block_find (touches[i].at, touches[i].bytes) == NULL)
      {
        g_free (data);
        return leave (problem (INVALID_VALUE, "%s: operand %u has %zu bytes in no block of memory",
                               name, i, (size_t) touches[i].bytes));
      }
  return leave (stream_ask (stream, &op));
}
