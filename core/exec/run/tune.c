/* Choosing by measurement which nodes run concurrently. The first runs of a plan are used:
 *
 *   one at a time   what each node takes on all threads
 *   trying          spans by a hopeful guess of what nodes take on one thread concurrently; what
 *                   they do take, their neighbours being what they are
 *   proving         spans by both measurements; each has to take less than its nodes one at a time
 *
 * Of each, the shortest time of some runs counts, the first one, in which caches are cold and
 * kernels are prepared anew, apart. Only spans that were faster stay; without any, the plan is the
 * one that it would have been, so that nothing is lost but these runs, all of which are nearly as
 * fast. */
#include "config.h"

#include "core/exec/run/parallel.h"
#include "core/exec/schedule/tasks.h"
#include "core/exec/schedule/schedule.h"
#include "core/exec/run/tune.h"

#define N_RUNS      4     /* of each kind, and one before them */
#define HOPE        0.85  /* of the threads' time that a node takes on all of them, on one */
#define FASTER      0.98  /* of the time one at a time: less may be noise */
#define MAX_ENDINGS 20000 /* tried per block: tens of ms */
#define MAX_STEPS   20000 /* of a graph; in larger ones nodes are small */

G_STATIC_ASSERT (3 * (N_RUNS + 1) == IR_PARALLEL_AUTO_RUNS);

typedef enum
{
  PHASE_APART,
  PHASE_TRYING,
  PHASE_PROVING,
  PHASE_SETTLED
} Phase;

struct _IrTuner
{
  const IrBackend *backend;
  guint n_threads;
  Phase phase;
  guint n_runs;      /* of this phase, so far */
  guint n_nodes;     /* length of the tables: largest id + 1 */
  double *apart_ms;  /* by node id, on all threads; negative: not measured */
  double *concurrent_ms; /* by node id, in a span, on one; negative: not measured */
  double *span_ms;   /* (nullable) by span of the schedule that is proved */
};

/* What the first runs of a plan are to find out */
IrTuner *
ir_tuner_new (const IrBackend *backend, guint n_threads)
{
  IrTuner *tuner = g_new0 (IrTuner, 1);

  tuner->backend = backend;
  tuner->n_threads = n_threads;
  return tuner;
}

void
ir_tuner_free (IrTuner *tuner)
{
  if (tuner == NULL)
    return;
  g_free (tuner->apart_ms);
  g_free (tuner->concurrent_ms);
  g_free (tuner->span_ms);
  g_free (tuner);
}

static double *
unknown_times (guint n)
{
  double *ms = g_new (double, (gsize) n + 1);

  for (guint i = 0; i <= n; i++)
    ms[i] = -1;
  return ms;
}

/* -- after a run -- */

static void
note_shortest (double *ms, double found)
{
  if (*ms < 0 || found < *ms)
    *ms = found;
}

static double
item_ms (const IrTraceItem *item)
{
  return (double) (item->end_ns - item->start_ns) / 1e6;
}

/* By node id: 1 + the span that it is in, or 0. */
static guint *
index_spans (const IrPrepared *prepared)
{
  guint *span_of = g_new0 (guint, prepared->n_nodes + 1);
  const GArray *spans = prepared->schedule->spans;

  for (guint i = 0; spans != NULL && i < spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (spans, IrScheduleSpan, i);
      for (guint k = span->first; k <= span->last; k++)
        span_of[g_array_index (prepared->schedule->items, IrScheduleItem, k).node] = i + 1;
    }
  return span_of;
}

static void
note_spans (IrTuner *tuner, const IrPrepared *prepared, const IrTrace *trace, const guint *span_of)
{
  guint n_spans = prepared->schedule->spans->len;
  g_autofree double *first_ms = unknown_times (n_spans);
  g_autofree double *last_ms = unknown_times (n_spans);

  if (tuner->span_ms == NULL)
    tuner->span_ms = unknown_times (n_spans);
  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);
      guint span = span_of[item->node];
      if (span == 0)
        continue;
      note_shortest (&first_ms[span - 1], (double) item->start_ns / 1e6);
      last_ms[span - 1] = MAX (last_ms[span - 1], (double) item->end_ns / 1e6);
    }
  for (guint i = 0; i < n_spans; i++)
    note_shortest (&tuner->span_ms[i], last_ms[i] - first_ms[i]);
}

/* Takes the times of a run down, if they still matter */
void
ir_tuner_note (IrPrepared *prepared, const IrTrace *trace)
{
  IrTuner *tuner = prepared->tuner;

  if (tuner == NULL || tuner->phase == PHASE_SETTLED || tuner->n_runs++ == 0)
    return;
  if (tuner->apart_ms == NULL)
    {
      tuner->n_nodes = prepared->n_nodes;
      tuner->apart_ms = unknown_times (prepared->n_nodes);
      tuner->concurrent_ms = unknown_times (prepared->n_nodes);
    }
  g_autofree guint *span_of = index_spans (prepared);
  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);
      double *ms = span_of[item->node] > 0 ? tuner->concurrent_ms : tuner->apart_ms;
      note_shortest (&ms[item->node], item_ms (item));
    }
  if (tuner->phase == PHASE_PROVING)
    note_spans (tuner, prepared, trace, span_of);
}

/* -- before a run -- */

/* Spans by what was measured, and where nothing was, by @factor of the time on all threads. */
static IrSchedule *
compare (const IrTuner *tuner, const IrPrepared *prepared, double factor, GError **error)
{
  g_autofree double *ms = unknown_times (tuner->n_nodes);
  IrNodeCosts concurrent = { .ms = ms, .n = tuner->n_nodes };
  IrNodeCosts apart = { .ms = tuner->apart_ms, .n = tuner->n_nodes };
  IrScheduleOptions options = {
    .policy = IR_SCHEDULE_IOS,
    .costs = &concurrent,
    .stages = { .n_workers = tuner->n_threads, .max_steps = MAX_ENDINGS },
    .compare = TRUE,
    .wide_costs = &apart,
    .kernels = prepared->kernels,
  };

  for (guint id = 0; id < tuner->n_nodes; id++)
    ms[id] = tuner->concurrent_ms[id] >= 0 ? tuner->concurrent_ms[id]
                                           : tuner->apart_ms[id] * factor;
  return ir_schedule_new_with (prepared->model, tuner->backend, &options, NULL, error);
}

/* @schedule: (transfer full) */
static void
take_schedule (IrPrepared *prepared, IrSchedule *schedule)
{
  g_clear_pointer (&prepared->parallel, ir_parallel_free);
  ir_prepared_reschedule (prepared, schedule);
}

static void
settle (IrTuner *tuner, IrPrepared *prepared)
{
  tuner->phase = PHASE_SETTLED;
  if (prepared->schedule->spans != NULL)
    take_schedule (prepared,
                   ir_schedule_new_by (prepared->model, prepared->kernels, tuner->n_threads));
}

/* @schedule: (transfer full) (nullable) */
static gboolean
go_on (IrTuner *tuner, IrPrepared *prepared, IrSchedule *schedule, Phase phase)
{
  if (schedule == NULL)
    return FALSE;
  if (schedule->spans->len == 0)
    {
      ir_schedule_unref (schedule);
      settle (tuner, prepared);
      return TRUE;
    }
  take_schedule (prepared, schedule);
  tuner->phase = phase;
  tuner->n_runs = 0;
  return TRUE;
}

/* What the nodes of a span took one at a time; negative where that is not known of all. */
static double
apart_ms (const IrTuner *tuner, const IrPrepared *prepared, const IrScheduleSpan *span)
{
  double ms = 0;

  for (guint k = span->first; k <= span->last; k++)
    {
      IrNodeId id = g_array_index (prepared->schedule->items, IrScheduleItem, k).node;
      if (tuner->apart_ms[id] < 0)
        return -1;
      ms += tuner->apart_ms[id];
    }
  return ms;
}

/* Keeps the spans that were faster. */
static gboolean
judge (IrTuner *tuner, IrPrepared *prepared)
{
  const IrSchedule *proved = prepared->schedule;
  IrSchedule *schedule = ir_schedule_copy (proved); /* runs refer to the other one */
  guint n_left = 0;

  for (guint i = 0; i < proved->spans->len; i++)
    {
      IrScheduleSpan span = g_array_index (proved->spans, IrScheduleSpan, i);
      span.together_ms = tuner->span_ms[i];
      span.apart_ms = apart_ms (tuner, prepared, &span);
      if (span.together_ms < FASTER * span.apart_ms)
        g_array_index (schedule->spans, IrScheduleSpan, n_left++) = span;
    }
  g_array_set_size (schedule->spans, n_left);
  return go_on (tuner, prepared, schedule, PHASE_SETTLED);
}

/* Called before each run: takes another schedule where enough is known. Returns TRUE if the plan
 * is ready. */
gboolean
ir_tuner_next (IrPrepared *prepared, GError **error)
{
  IrTuner *tuner = prepared->tuner;

  if (tuner == NULL || tuner->phase == PHASE_SETTLED || tuner->n_runs <= N_RUNS)
    return TRUE;
  if (prepared->schedule->items->len > MAX_STEPS)
    {
      settle (tuner, prepared);
      return TRUE;
    }
  switch (tuner->phase)
    {
    case PHASE_APART:
      return go_on (tuner, prepared, compare (tuner, prepared, HOPE * tuner->n_threads, error),
                    PHASE_TRYING);
    case PHASE_TRYING:
      return go_on (tuner, prepared, compare (tuner, prepared, tuner->n_threads, error),
                    PHASE_PROVING);
    case PHASE_PROVING:
      return judge (tuner, prepared);
    case PHASE_SETTLED:
    default:
      return TRUE;
    }
}
