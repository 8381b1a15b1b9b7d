/* Streams of the steps that run on a device, and what is in order there. The host asks for all steps in the
 * order of the schedule; a stream does its own in that order, an event puts two of different streams in
 * order, and a copy to or from the host's memory, for which the host waits, all that it asks for behind.
 *
 *       step   stream 0   stream 1      a < b by order, a < c by an event, c < d by an event. Bytes
 *         0    a                        that b reads last are free from step 3 on, not from 2: nothing
 *         1    b                        says that c begins behind b.
 *         2               c  (a)
 *         3    d  (c)
 *
 * What happens before what is kept as vector clocks: of each step, how far it knows each stream to be. */
#include "config.h"

#include "core/exec/schedule/tasks.h"

#include <string.h>

typedef struct
{
  const IrSchedule *schedule;
  IrPlaces *places;
  const guint *step_of; /* by node id: step + 1 */
  const IrTasks *tasks;
  const guint *task_of; /* by step */
  guint *step_of_task;
  guint *streams; /* by stream: how far it knows the others to be, n_streams each */
  guint *host;    /* how far the host knows each to be */
  GArray *waits;  /* of guint, events */
  guint next_copy;
  IrDeviceStreams *made;
} Maker;

static void
join (guint *clock, const guint *other, guint n)
{
  for (guint i = 0; i < n; i++)
    clock[i] = MAX (clock[i], other[i]);
}

static guint *
clock_of (const IrDeviceStreams *made, guint task)
{
  return made->clocks + (gsize) task * made->n_streams;
}

static guint *
stream_clock (const Maker *maker, guint stream)
{
  return maker->streams + (gsize) stream * maker->made->n_streams;
}

/* Tasks are the steps on the device; those between which the host stands are put in order by it. */
static IrTasks *
list_tasks (const IrSchedule *schedule, const guint *step_of, guint *task_of, guint *step_of_task)
{
  guint n = 0;
  g_autoptr (GArray) edges = g_array_new (FALSE, FALSE, sizeof (IrTaskEdge));
  g_autofree double *ms = g_new0 (double, (gsize) schedule->items->len + 1);

  for (guint k = 0; k < schedule->items->len; k++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, k);
      task_of[k] = IR_STREAM_NONE;
      if (item->memory == NULL)
        continue;
      ms[n] = item->end_ms - item->start_ms;
      for (guint i = 0; i < item->n_after; i++)
        {
          IrTaskEdge edge = { task_of[step_of[item->after[i]] - 1], n };
          if (edge.from != IR_STREAM_NONE)
            g_array_append_val (edges, edge);
        }
      step_of_task[n] = k;
      task_of[k] = n++;
    }
  return ir_tasks_new (n, ms, (const IrTaskEdge *) (void *) edges->data, edges->len);
}

static void
need_event (IrDeviceStreams *made, guint step)
{
  if (made->event[step] == IR_STREAM_NONE)
    made->event[step] = made->n_events++;
}

/* By an event behind @before, unless something has put it before what comes next in @stream. */
static void
wait_for (Maker *maker, guint before, guint stream)
{
  IrDeviceStreams *made = maker->made;
  guint step = maker->step_of_task[before];

  if (stream_clock (maker, stream)[made->stream[step]] > before)
    return;
  need_event (made, step);
  g_array_append_val (maker->waits, made->event[step]);
  join (stream_clock (maker, stream), clock_of (made, before), made->n_streams);
}

/* The host waits for copies, but for late ones: for one to the device with all that is before it in its stream; of one to the host
 * it is sure of the producer alone, as a run that keeps the value has copied it as soon as it was made. */
static void
wait_for_copies (Maker *maker, guint step, gboolean behind)
{
  const GArray *copies = maker->places->copies;
  IrDeviceStreams *made = maker->made;

  for (; maker->next_copy < copies->len; maker->next_copy++)
    {
      IrScheduleCopy *copy = &g_array_index (copies, IrScheduleCopy, maker->next_copy);
      if (2 * copy->step + copy->behind > 2 * step + behind)
        return;
      guint by = copy->to_host ? maker->step_of[copy->producer] - 1 : copy->step;
      copy->stream = made->stream[by];
      if (copy->late)
        need_event (made, by);
      else if (!copy->once && copy->bytes > 0) /* else nothing is copied */
        join (maker->host,
              copy->to_host ? clock_of (made, maker->task_of[by])
                            : stream_clock (maker, copy->stream),
              made->n_streams);
    }
}

static void
make_step (Maker *maker, guint step, guint task)
{
  IrDeviceStreams *made = maker->made;
  guint stream = made->stream[step];
  const IrTasks *tasks = maker->tasks;

  made->wait_first[step] = maker->waits->len;
  if (task != IR_STREAM_NONE)
    {
      join (stream_clock (maker, stream), maker->host, made->n_streams);
      for (guint i = tasks->before_first[task + 1]; i-- > tasks->before_first[task];)
        wait_for (maker, tasks->before[i], stream);
    }
  wait_for_copies (maker, step, FALSE);
  if (task != IR_STREAM_NONE)
    {
      stream_clock (maker, stream)[stream] = task + 1;
      memcpy (clock_of (made, task), stream_clock (maker, stream),
              sizeof (guint) * made->n_streams);
    }
  wait_for_copies (maker, step, TRUE);
}

/* The last step that does not begin behind the end of each step. */
static void
find_ends (const Maker *maker)
{
  IrDeviceStreams *made = maker->made;
  guint n = maker->tasks->n;
  g_autofree guint *known = g_new0 (guint, (gsize) made->n_streams * made->n_streams);

  /* known[j, k]: how many steps of stream k, from the first on, come before the earliest task looked at
   * so far of stream j; tasks are looked at from the last one on. */
  g_autofree guint *blind = g_new0 (guint, (gsize) n + 1);
  for (guint i = 0; i < n; i++)
    blind[i] = i;
  for (guint j = 0; j < made->n_streams; j++)
    for (guint k = 0; k < made->n_streams; k++)
      known[j * made->n_streams + k] = n;
  for (guint u = n; u-- > 0;)
    {
      guint j = made->stream[maker->step_of_task[u]];
      for (guint k = 0; k < made->n_streams; k++)
        {
          guint *upto = &known[j * made->n_streams + k], now = clock_of (made, u)[k];
          for (guint t = now; k != j && t < *upto && t < u; t++)
            if (made->stream[maker->step_of_task[t]] == k)
              blind[t] = MAX (blind[t], u);
          *upto = MIN (*upto, now);
        }
    }
  for (guint i = 0; i < n; i++)
    made->until[maker->step_of_task[i]] = maker->step_of_task[blind[i]];
}

/**
 * ir_device_streams_new:
 * @schedule: a schedule
 * @places: where its values are; its copies are told their streams
 * @step_of: (array): by node id, the step of a node + 1
 *
 * Gives each step that runs on a device a stream, as ir_tasks_streams() has it, at most as many as the
 * schedule allows, and each the fewest events to wait for.
 *
 * Cost: that of ir_tasks_streams(), and O(steps · streams²).
 *
 * Returns: (transfer full): the streams
 */
IrDeviceStreams *
ir_device_streams_new (const IrSchedule *schedule, IrPlaces *places, const guint *step_of)
{
  guint n_steps = schedule->items->len;
  g_autofree guint *task_of = g_new (guint, (gsize) n_steps + 1);
  g_autofree guint *step_of_task = g_new (guint, (gsize) n_steps + 1);
  g_autoptr (IrTasks) tasks = list_tasks (schedule, step_of, task_of, step_of_task);
  g_autoptr (IrStreams) streams = ir_tasks_streams (tasks, NULL);
  g_autoptr (GArray) waits = g_array_new (FALSE, FALSE, sizeof (guint));
  IrDeviceStreams *made = g_new0 (IrDeviceStreams, 1);

  ir_streams_limit (streams, tasks->n, schedule->n_streams);
  made->n_streams = MAX (streams->n_streams, 1);
  g_autofree guint *clocks = g_new0 (guint, (gsize) made->n_streams * (made->n_streams + 1));
  Maker maker = { .schedule = schedule,
                  .places = places,
                  .step_of = step_of,
                  .tasks = tasks,
                  .task_of = task_of,
                  .step_of_task = step_of_task,
                  .streams = clocks,
                  .host = clocks + (gsize) made->n_streams * made->n_streams,
                  .waits = waits,
                  .made = made };
  made->stream = g_new (guint, (gsize) n_steps + 1);
  made->event = g_new (guint, (gsize) n_steps + 1);
  made->until = g_new (guint, (gsize) n_steps + 1);
  made->wait_first = g_new0 (guint, (gsize) n_steps + 2);
  made->clocks = g_new0 (guint, (gsize) tasks->n * made->n_streams + 1);
  for (guint k = 0; k < n_steps; k++)
    {
      made->stream[k] = task_of[k] != IR_STREAM_NONE ? streams->stream[task_of[k]] : IR_STREAM_NONE;
      made->event[k] = IR_STREAM_NONE;
      made->until[k] = k;
    }
  for (guint k = 0; k < n_steps; k++)
    make_step (&maker, k, task_of[k]);
  made->wait_first[n_steps] = waits->len;
  find_ends (&maker);
  made->task = g_steal_pointer (&task_of);
  made->waits = g_memdup2 (waits->data, sizeof (guint) * waits->len);
  return made;
}

/**
 * ir_device_streams_ordered:
 * @streams: streams
 * @before: a step
 * @behind: a later one, on the device
 *
 * Returns: whether @behind begins behind the end of @before
 */
gboolean
ir_device_streams_ordered (const IrDeviceStreams *streams, guint before, guint behind)
{
  return streams->stream[before] == IR_STREAM_NONE || streams->stream[behind] == IR_STREAM_NONE ||
         clock_of (streams, streams->task[behind])[streams->stream[before]] > streams->task[before];
}

/**
 * ir_device_streams_free:
 * @streams: (transfer full) (nullable): streams
 */
void
ir_device_streams_free (IrDeviceStreams *streams)
{
  if (streams == NULL)
    return;
  g_free (streams->stream);
  g_free (streams->task);
  g_free (streams->event);
  g_free (streams->until);
  g_free (streams->wait_first);
  g_free (streams->waits);
  g_free (streams->clocks);
  g_free (streams);
}
