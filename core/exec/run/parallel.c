/* Concurrent nodes: the spans of a schedule run in one parallel region of the process's only
 * pool of threads, OpenMP's. Each worker goes through the steps of the span that are its own, each
 * kernel on one thread and with scratch memory of the worker, and waits for what other workers have
 * to finish first. What a run keeps account of is written when all are done, in the order of the
 * steps, by the thread that runs the graph.
 *
 * Where a step fails, exactly the steps before it have run in the end: others stop at the failed
 * one, and those before it are still run, so that the first error is the one that running them one
 * at a time would have given. */
#include "config.h"

#include <omp.h>
#include <pthread.h>

#include "core/exec/kernel/names.h"
#include "core/exec/run/parallel.h"

#define SPINS 2000 /* looks at a flag before a waiting worker sleeps: about 0.05 ms */

struct _IrParallel
{
  guint n_workers;
  IrThreads lane;      /* one thread, for kernels that run concurrently */
  IrScratch *scratch;  /* by worker */
  guint8 *runs;        /* by span: whether its steps can run concurrently */
  guint *span_at;      /* by step: 1 + the span that begins there, or 0 */
  guint *before_first; /* by step, and one more: where its predecessors begin in before */
  guint *before;       /* steps of other workers in the same span */
  gint *finished;      /* by step: atomic */
};

/* One span under way. */
typedef struct
{
  IrRunState *state;
  const IrParallel *parallel;
  const IrScheduleSpan *span;
  IrTraceItem *trace; /* by step */
  gint failed;        /* atomic: the first step that failed, G_MAXINT: none */
  gint n_finished;    /* atomic: in this span */
  gint n_sleeping;    /* atomic */
  guint n_told;       /* steps that the program has been told of; of worker 0 */
  /* Those of POSIX, which ThreadSanitizer sees; guards all that follows, and sleeping. */
  pthread_mutex_t lock;
  pthread_cond_t wake;
  GError *error; /* (nullable) of the step that failed */
  gboolean by_kernel;
} Job;

static const char *const mode_names[IR_N_PARALLEL] = {
  [IR_PARALLEL_OFF] = "off",
  [IR_PARALLEL_ON] = "on",
  [IR_PARALLEL_AUTO] = "auto",
};

/**
 * ir_parallel_mode_name:
 * @mode: a mode
 *
 * Returns: its name, as ir_parallel_mode_find() takes it
 */
const char *
ir_parallel_mode_name (IrParallelMode mode)
{
  return mode_names[mode];
}

/**
 * ir_parallel_mode_find:
 * @name: "off", "on" or "auto"
 * @mode: (out): the mode
 *
 * Returns: %FALSE if there is none of that name
 */
gboolean
ir_parallel_mode_find (const char *name, IrParallelMode *mode)
{
  const int found = ir_name_find (mode_names, IR_N_PARALLEL, name);

  if (found >= 0)
    *mode = (IrParallelMode) found;
  return found >= 0;
}

/* -- what is known before a run -- */

/* Steps that look at contents to know what they give, whose outputs are looked at before the next
 * step runs, or that the runner executes itself, run alone; and so do all beside a device, which has
 * streams for that. */
static gboolean
runs_concurrently (const IrPrepared *prepared, const IrRunStep *step)
{
  if (prepared->places != NULL || !step->bound || (!step->no_op && !step->call.shape_static))
    return FALSE;
  for (guint i = 0; step->observed && i < step->node->n_outputs; i++)
    if (step->node->outputs[i] != NULL && !prepared->values[step->node->outputs[i]->id].keep)
      return FALSE;
  return TRUE;
}

static const IrScheduleItem *
item_at (const IrPrepared *prepared, guint step)
{
  return &g_array_index (prepared->schedule->items, IrScheduleItem, step);
}

static void
find_predecessors (IrPrepared *prepared, IrParallel *parallel, GArray *before)
{
  const GArray *spans = prepared->schedule->spans;
  g_autofree guint *step_of = g_new0 (guint, prepared->n_nodes + 1);
  guint n_steps = prepared->schedule->items->len, step = 0;

  for (guint k = 0; k < n_steps; k++)
    step_of[item_at (prepared, k)->node] = k;
  for (guint i = 0; i < spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (spans, IrScheduleSpan, i);
      parallel->span_at[span->first] = i + 1;
      parallel->runs[i] = TRUE;
      for (; step < span->first; step++)
        parallel->before_first[step] = before->len;
      for (; step <= span->last; step++)
        {
          const IrScheduleItem *item = item_at (prepared, step);
          parallel->before_first[step] = before->len;
          parallel->runs[i] &= runs_concurrently (prepared, &prepared->steps[step]);
          for (guint j = 0; j < item->n_after; j++)
            {
              guint other = step_of[item->after[j]];
              if (other >= span->first && other < step &&
                  item_at (prepared, other)->worker != item->worker)
                g_array_append_val (before, other);
            }
        }
    }
  for (; step <= n_steps; step++)
    parallel->before_first[step] = before->len;
}

static IrParallel *
parallel_new (IrPrepared *prepared, IrThreads threads)
{
  guint n_steps = prepared->schedule->items->len;
  IrParallel *parallel = g_new0 (IrParallel, 1);
  GArray *before = g_array_new (FALSE, FALSE, sizeof (guint));

  parallel->n_workers = prepared->schedule->n_workers;
  parallel->lane = ir_threads_of (1, threads.deterministic);
  parallel->scratch = g_new0 (IrScratch, parallel->n_workers);
  parallel->runs = g_new0 (guint8, prepared->schedule->spans->len + 1);
  parallel->span_at = g_new0 (guint, n_steps + 1);
  parallel->before_first = g_new0 (guint, n_steps + 1);
  parallel->finished = g_new0 (gint, n_steps + 1);
  find_predecessors (prepared, parallel, before);
  parallel->before = (guint *) (void *) g_array_free (before, FALSE);
  return parallel;
}

void
ir_parallel_free (IrParallel *parallel)
{
  if (parallel == NULL)
    return;
  for (guint i = 0; i < parallel->n_workers; i++)
    ir_scratch_clear (&parallel->scratch[i]);
  g_free (parallel->scratch);
  g_free (parallel->runs);
  g_free (parallel->span_at);
  g_free (parallel->before_first);
  g_free (parallel->before);
  g_free (parallel->finished);
  g_free (parallel);
}

/* The span that begins with @step, if its steps can run concurrently. */
const IrScheduleSpan *
ir_parallel_span (IrRunState *state, guint step)
{
  IrPrepared *prepared = state->prepared;
  const GArray *spans = prepared->schedule->spans;

  if (spans == NULL || spans->len == 0 || state->diverged)
    return NULL;
  if (prepared->parallel == NULL)
    prepared->parallel = parallel_new (prepared, state->threads);
  guint at = prepared->parallel->span_at[step];
  return at > 0 && prepared->parallel->runs[at - 1] ? &g_array_index (spans, IrScheduleSpan, at - 1)
                                                    : NULL;
}

/* -- one span -- */

static void
wake_all (Job *job)
{
  if (g_atomic_int_get (&job->n_sleeping) == 0)
    return;
  pthread_mutex_lock (&job->lock);
  pthread_cond_broadcast (&job->wake);
  pthread_mutex_unlock (&job->lock);
}

/* @error: (transfer full) (nullable) */
static void
step_failed (Job *job, guint step, GError *error, gboolean by_kernel)
{
  pthread_mutex_lock (&job->lock);
  if ((gint) step < g_atomic_int_get (&job->failed))
    {
      g_atomic_int_set (&job->failed, (gint) step);
      g_clear_error (&job->error);
      job->error = g_steal_pointer (&error);
      job->by_kernel = by_kernel;
    }
  pthread_cond_broadcast (&job->wake);
  pthread_mutex_unlock (&job->lock);
  g_clear_error (&error);
}

static gboolean
is_over (const Job *job, guint step, guint other)
{
  return g_atomic_int_get (&job->parallel->finished[other]) != 0 ||
         g_atomic_int_get (&job->failed) < (gint) step;
}

/* Waits until @other has finished, or @step is not to run any more. */
static void
wait_for (Job *job, guint step, guint other)
{
  for (guint i = 0; i < SPINS; i++)
    {
      if (is_over (job, step, other))
        return;
      __builtin_ia32_pause ();
    }
  pthread_mutex_lock (&job->lock);
  g_atomic_int_inc (&job->n_sleeping);
  while (!is_over (job, step, other))
    pthread_cond_wait (&job->wake, &job->lock);
  g_atomic_int_add (&job->n_sleeping, -1);
  pthread_mutex_unlock (&job->lock);
}

static gboolean
run_step (Job *job, guint step, guint worker)
{
  IrRunState *state = job->state;
  IrRunStep *run = &state->prepared->steps[step];
  IrTraceItem *item = &job->trace[step];
  GError *error = NULL;

  item->start_ns = ir_run_elapsed_ns (state);
  if (!ir_run_check (state, run->node, &error) || !ir_run_before (state, run->node, run, &error))
    {
      step_failed (job, step, error, FALSE);
      return FALSE;
    }
  if (!run->no_op &&
      !ir_step_compute (state, run, job->parallel->lane, &job->parallel->scratch[worker], &error))
    {
      step_failed (job, step, error, TRUE);
      return FALSE;
    }
  item->end_ns = ir_run_elapsed_ns (state);
  item->worker = worker;
  item->by_ref = !run->no_op && run->call.by_ref;
  if (!ir_run_after (state, run->node, run, &error))
    {
      step_failed (job, step, error, FALSE);
      return FALSE;
    }
  return TRUE;
}

/* Only the thread that runs the graph tells the program, as it does without spans. */
static void
tell (Job *job, guint step)
{
  guint n = (guint) g_atomic_int_get (&job->n_finished);

  if (n <= job->n_told)
    return;
  job->n_told = n;
  ir_run_tell (job->state, job->span->first + n, job->state->prepared->schedule->items->len,
               job->state->prepared->steps[step].node);
}

/* @alone: there is one worker only, which does the work of all. */
static void
work (Job *job, guint worker, gboolean alone)
{
  const IrParallel *parallel = job->parallel;

  for (guint step = job->span->first; step <= job->span->last; step++)
    {
      if (!alone && item_at (job->state->prepared, step)->worker != worker)
        continue;
      for (guint i = parallel->before_first[step]; i < parallel->before_first[step + 1]; i++)
        wait_for (job, step, parallel->before[i]);
      if (g_atomic_int_get (&job->failed) < (gint) step || !run_step (job, step, worker))
        return;
      g_atomic_int_inc (&job->n_finished);
      g_atomic_int_set (&parallel->finished[step], 1);
      wake_all (job);
      if (worker == 0)
        tell (job, step);
    }
}

static void
run_workers (Job *job)
{
  gint n_workers = (gint) job->parallel->n_workers;

#pragma omp parallel num_threads(n_workers)
  {
    guint worker = (guint) omp_get_thread_num ();
    gboolean alone = omp_get_num_threads () < n_workers;
    if (!alone || worker == 0)
      work (job, worker, alone);
  }
}

/* Runs the steps of @span concurrently. @failed: the node whose kernel failed; NULL if the
 * run was stopped before one. */
gboolean
ir_parallel_run (IrRunState *state,
                 const IrScheduleSpan *span,
                 IrTraceItem *trace,
                 guint *done,
                 const IrNode **failed,
                 GError **error)
{
  IrPrepared *prepared = state->prepared;
  Job job = {
    .state = state,
    .parallel = prepared->parallel,
    .span = span,
    .trace = trace,
    .failed = G_MAXINT,
  };

  *failed = NULL;
  for (guint step = span->first; step <= span->last; step++)
    g_atomic_int_set (&prepared->parallel->finished[step], 0);
  if (!ir_run_begin_kernel (state, error))
    return *done = span->first, FALSE;
  pthread_mutex_init (&job.lock, NULL);
  pthread_cond_init (&job.wake, NULL);
  state->concurrent = TRUE;
  state->placed_bytes = prepared->steps[span->first].placed_bytes;
  run_workers (&job);
  state->concurrent = FALSE;
  pthread_mutex_destroy (&job.lock);
  pthread_cond_destroy (&job.wake);
  if (!ir_run_end_kernel (state, error))
    {
      g_clear_error (&job.error);
      return *done = span->first, FALSE;
    }
  *done = MIN (span->last + 1, (guint) job.failed);
  for (guint step = span->first; step < *done; step++)
    {
      ir_step_finish (state, &prepared->steps[step]);
      state->ran[prepared->steps[step].node->id] = TRUE;
      ir_capture_ran_concurrently (state->run, prepared->steps[step].node->id);
    }
  if (*done > span->last)
    {
      tell (&job, span->last);
      return TRUE;
    }
  *failed = job.by_kernel ? prepared->steps[*done].node : NULL;
  g_propagate_error (error, job.error);
  return FALSE;
}
