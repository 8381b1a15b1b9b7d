/* What each step is worth: the scoreboard, and measured times. */
#include "config.h"

#include "views/session/session-private.h"
#include <math.h>

static gpointer
run_board (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrTrial) trial = ir_debug_trial (data, cancellable, error);

  return trial != NULL ? ir_scoreboard_new (trial, NULL, NULL, error) : NULL;
}

static void
on_board (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  const IrDebugRequest *request = data;
  g_autoptr (IrScoreboard) board = result;
  const int wants_run = self->wants_run;

  if (request->serial != self->board_serial)
    return;
  g_clear_pointer (&self->board_job, ir_job_unref);
  self->wants_run = 0;
  if (board == NULL)
    {
      if (wants_run != 0) /* else nobody asked for it in words */
        ir_session_failed (self, "The steps could not be scored", error);
      ir_session_changed (self, IR_CHANGED_DEBUG);
      return;
    }
  self->board = g_steal_pointer (&board);
  ir_session_changed (self, IR_CHANGED_DEBUG);
  if (wants_run != 0)
    ir_session_run_breakpoints (self, wants_run > 0);
}

/**
 * ir_session_request_scoreboard:
 *
 * Makes the scoreboard of the steps, unless it is there or being made; %IR_CHANGED_DEBUG says when.
 */
void
ir_session_request_scoreboard (IrSession *self)
{
  IrDebugRequest *request;

  if (self->board != NULL || self->board_job != NULL || ir_session_get_n_steps (self) == 0)
    return;
  request = ir_debug_request_new (self);
  request->serial = self->board_serial;
  self->board_job = ir_job_start (self,
                                  &(IrJobSpec){ .run = run_board,
                                                .data = request,
                                                .data_free = ir_debug_request_free,
                                                .result_free = (GDestroyNotify) ir_scoreboard_unref,
                                                .done = on_board });
}

IrScoreboard *
ir_session_get_scoreboard (IrSession *self)
{
  return self->board;
}

gboolean
ir_session_is_scoring (IrSession *self)
{
  return self->board_job != NULL;
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
time_steps (const IrDebugRequest *request,
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
  IrDebugRequest *request = data;
  const guint n = ir_history_n_steps (request->timeline->model);
  g_autoptr (IrTrial) trial = ir_debug_trial (request, cancellable, error);
  Times *times;

  if (trial == NULL)
    return NULL;
  request->job = job;
  times = g_new0 (Times, 1);
  times->medians = g_new0 (double, n + 1);
  times->spreads = g_new0 (double, n + 1);
  if (time_steps (request, trial, n, times, cancellable, error))
    return times;
  times_free (times);
  return NULL;
}

static void
on_times (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  const IrDebugRequest *request = data;
  Times *times = result;

  ir_session_end_job (self);
  if (times != NULL && request->timeline == self->timeline)
    {
      g_free (self->times);
      g_free (self->spreads);
      self->times = g_steal_pointer (&times->medians);
      self->spreads = g_steal_pointer (&times->spreads);
    }
  else if (times == NULL)
    ir_session_failed (self, "The steps could not be measured", error);
  g_clear_pointer (&times, times_free);
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_DEBUG);
}

/**
 * ir_session_measure_times:
 *
 * Runs the graph after each step, of many steps after some, several times.
 */
void
ir_session_measure_times (IrSession *self)
{
  if (self->frame == NULL || ir_session_get_n_steps (self) == 0)
    return;
  ir_session_start_job (self, "Measuring the steps",
                        &(IrJobSpec){ .run = run_times,
                                      .data = ir_debug_request_new (self),
                                      .data_free = ir_debug_request_free,
                                      .result_free = times_free,
                                      .done = on_times });
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
  if (spread != NULL)
    *spread = self->spreads != NULL && step <= ir_session_get_n_steps (self) ? self->spreads[step]
                                                                             : NAN;
  return self->times != NULL && step <= ir_session_get_n_steps (self) ? self->times[step] : NAN;
}
