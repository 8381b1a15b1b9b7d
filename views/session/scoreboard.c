/* What each step is worth: the scoreboard, and measured times. */
#include "config.h"

#include "views/session/debug-private.h"

#include <math.h>

typedef struct
{
  IrScoreboard *board;                                 /* (nullable) of the timeline */
  IrJob *job;                                          /* (nullable) that makes it */
  void (*then) (IrSession *self, const GError *error); /* (nullable) when it is made */
  double *times, *spreads; /* (nullable) (array length = steps + 1) ms, of the timeline */
} Scores;

static void
clear (gpointer state)
{
  Scores *self = state;

  ir_session_drop_job (&self->job);
  g_clear_pointer (&self->board, ir_scoreboard_unref);
  g_clear_pointer (&self->times, g_free);
  g_clear_pointer (&self->spreads, g_free);
  self->then = NULL;
}

IR_SESSION_NOUN (Scores, NULL, clear)

void
ir_session_forget_scores (IrSession *self)
{
  clear (own (self));
}

/* -- scoreboard -- */

static gpointer
run_board (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrTrial) trial = ir_request_trial (data, cancellable, error);

  return trial != NULL ? ir_scoreboard_new (trial, NULL, NULL, error) : NULL;
}

static void
on_board (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  g_autoptr (IrScoreboard) board = result;
  Scores *scores = own (owner);
  void (*then) (IrSession * self, const GError *error) = scores->then;

  if (((IrRequest *) data)->job != scores->job)
    return; /* it was cancelled */
  g_clear_pointer (&scores->job, ir_job_unref);
  scores->then = NULL;
  scores->board = g_steal_pointer (&board);
  ir_session_changed (owner, IR_CHANGED_SCORES);
  if (then != NULL) /* else nobody asked for it in words */
    then (owner, error);
}

static const IrWork board_work = {
  .run = run_board,
  .result_free = (GDestroyNotify) ir_scoreboard_unref,
};

/**
 * ir_session_request_scoreboard:
 *
 * Makes the scoreboard of the steps, unless it is there or being made; %IR_CHANGED_SCORES says when.
 */
void
ir_session_request_scoreboard (IrSession *self)
{
  gpointer request;

  if (own (self)->board != NULL || own (self)->job != NULL || ir_session_get_n_steps (self) == 0)
    return;
  request = ir_session_new_request (self, &board_work, sizeof (IrRequest));
  own (self)->job = ir_session_start_beside (self, request, on_board);
}

void
ir_session_score_then (IrSession *self, void (*then) (IrSession *self, const GError *error))
{
  own (self)->then = then;
  ir_session_request_scoreboard (self);
}

IrScoreboard *
ir_session_get_scoreboard (IrSession *self)
{
  return own (self)->board;
}

gboolean
ir_session_is_scoring (IrSession *self)
{
  return own (self)->job != NULL;
}

/* -- measured times -- */

#define MAX_TIMED 120 /* steps; of more, evenly chosen ones */
#define N_RUNS    5   /* of each, behind one that is not counted */

typedef struct
{
  double *medians, *spreads; /* ms, by step */
} Times;

static void
times_free (gpointer data)
{
  Times *times = data;

  g_free (times->medians);
  g_free (times->spreads);
  g_free (times);
}

static gboolean
time_steps (const IrRequest *request,
            IrTrial *trial,
            guint n_steps,
            Times *times,
            GCancellable *cancellable,
            GError **error)
{
  const guint stride = n_steps / MAX_TIMED + 1;

  for (guint step = 0; step <= n_steps; step++)
    {
      g_autofree char *text = g_strdup_printf ("Measuring step %u of %u", step, n_steps);
      IrRunTime time = { 0, NAN, NAN, NAN };

      if (step % stride == 0 && (!ir_trial_time (trial, step, N_RUNS, &time, error) ||
                                 g_cancellable_set_error_if_cancelled (cancellable, error)))
        return FALSE;
      times->medians[step] = time.median_ms;
      times->spreads[step] = time.max_ms - time.min_ms;
      ir_job_report (request->job, (double) step / (n_steps + 1), text);
    }
  return TRUE;
}

static gpointer
run_times (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const IrRequest *request = data;
  const guint n = ir_timeline_n_steps (request->timeline);
  g_autoptr (IrTrial) trial = ir_request_trial (request, cancellable, error);
  Times *times;

  if (trial == NULL)
    return NULL;
  times = g_new0 (Times, 1);
  times->medians = g_new0 (double, n + 1);
  times->spreads = g_new0 (double, n + 1);
  if (time_steps (request, trial, n, times, cancellable, error))
    return times;
  times_free (times);
  return NULL;
}

static void
on_times (IrSession *self, gpointer result, gpointer request)
{
  Times *times = result;

  if (ir_request_is_current (request, self))
    {
      g_free (own (self)->times);
      g_free (own (self)->spreads);
      own (self)->times = g_steal_pointer (&times->medians);
      own (self)->spreads = g_steal_pointer (&times->spreads);
    }
  times_free (times);
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_SCORES);
}

static const IrWork times_work = {
  .run = run_times,
  .done = on_times,
  .failure = "The steps could not be measured",
  .result_free = times_free,
  .runs = TRUE,
};

/**
 * ir_session_measure_times:
 *
 * Runs the graph after each step, of many steps after some, several times.
 */
void
ir_session_measure_times (IrSession *self)
{
  if (!ir_session_is_empty (self) && ir_session_get_n_steps (self) > 0)
    ir_session_start (self, "Measuring the steps",
                      ir_session_new_request (self, &times_work, sizeof (IrRequest)));
}

/**
 * ir_session_get_time:
 * @step: a step
 * @spread: (out) (optional): ms between the fastest and the slowest run
 *
 * Returns: the median time of a run after @step, ms; NaN if it was not measured
 */
double
ir_session_get_time (IrSession *self, guint step, double *spread)
{
  const Scores *scores = own (self);
  const gboolean known = scores->times != NULL && step <= ir_session_get_n_steps (self);

  if (spread != NULL)
    *spread = known ? scores->spreads[step] : NAN;
  return known ? scores->times[step] : NAN;
}
