/* The session's debugger: scoreboard, breakpoints, what-if, bisection and reproducer. Each works on
 * a fork of the history in a job; the two results of a what-if are two timelines, of which one is
 * on screen and the other is kept, so that going back takes no time. */
#include "config.h"

#include "passes/debug/bundle.h"
#include "passes/pipeline/pipeline.h"
#include "views/session/session-private.h"

#include <math.h>

/* -- what all of them need -- */

typedef struct
{
  IrTimeline *timeline;
  GHashTable *inputs;
  guint64 seed;
  GHashTable *sizes;
  guint serial;    /* scoreboard: which request */
  guint step;      /* proof: of which step */
  char *predicate; /* (nullable) bisection, reproducer */
  char *folder;    /* (nullable) reproducer: where it is written */
  IrJob *job;      /* (transfer none) for progress */
} DebugRequest;

static DebugRequest *
debug_request_new (IrSession *self)
{
  DebugRequest *request = g_new0 (DebugRequest, 1);

  request->timeline = ir_timeline_ref (self->timeline);
  request->inputs = ir_session_copy_inputs (self->inputs);
  request->seed = self->seed;
  request->sizes = g_hash_table_ref (self->sizes);
  return request;
}

static void
debug_request_free (gpointer data)
{
  DebugRequest *request = data;

  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->inputs, g_hash_table_unref);
  g_clear_pointer (&request->sizes, g_hash_table_unref);
  g_free (request->predicate);
  g_free (request->folder);
  g_free (request);
}

static IrTrial *
trial_new (const DebugRequest *request, GCancellable *cancellable, GError **error)
{
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrModel) model = NULL;

  inputs = ir_session_all_inputs (request->timeline->original, request->inputs, request->seed,
                                  request->sizes, error);
  if (inputs == NULL)
    return NULL;
  model = ir_timeline_fork (request->timeline, ir_history_n_steps (request->timeline->model));
  return ir_trial_new (model, inputs, ir_backend_find ("cpu"), 0, cancellable);
}

static void
bisection_free (gpointer data)
{
  ir_bisection_clear (data);
  g_free (data);
}

/* What was found out about the timeline's steps holds for no other. */
void
ir_session_forget_findings (IrSession *self)
{
  self->board_serial++;
  self->wants_run = 0;
  self->pending_node = 0;
  self->pending_value = 0;
  if (self->board_job != NULL)
    ir_job_cancel (self->board_job);
  g_clear_pointer (&self->board_job, ir_job_unref);
  g_clear_pointer (&self->board, ir_scoreboard_unref);
  g_clear_pointer (&self->bisection, bisection_free);
  g_clear_pointer (&self->bisected, g_free);
  g_clear_pointer (&self->times, g_free);
  g_clear_pointer (&self->spreads, g_free);
}

void
ir_session_clear_debug (IrSession *self)
{
  ir_session_forget_findings (self);
  ir_session_forget_what_if (self);
  g_clear_pointer (&self->breakpoints, g_ptr_array_unref);
}

/* -- scoreboard -- */

static void run_to_breakpoint (IrSession *self, gboolean forward);

static gpointer
run_board (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrTrial) trial = trial_new (data, cancellable, error);

  return trial != NULL ? ir_scoreboard_new (trial, NULL, NULL, error) : NULL;
}

static void
on_board (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  const DebugRequest *request = data;
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
    run_to_breakpoint (self, wants_run > 0);
}

/**
 * ir_session_request_scoreboard:
 *
 * Makes the scoreboard of the steps, unless it is there or being made; %IR_CHANGED_DEBUG says when.
 */
void
ir_session_request_scoreboard (IrSession *self)
{
  DebugRequest *request;

  if (self->board != NULL || self->board_job != NULL || ir_session_get_n_steps (self) == 0)
    return;
  request = debug_request_new (self);
  request->serial = self->board_serial;
  self->board_job = ir_job_start (self,
                                  &(IrJobSpec){ .run = run_board,
                                                .data = request,
                                                .data_free = debug_request_free,
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

/* -- breakpoints -- */

GPtrArray *
ir_session_get_breakpoints (IrSession *self)
{
  return self->breakpoints;
}

/**
 * ir_session_add_breakpoint:
 * @text: as ir_breakpoint_parse() reads it
 * @error: return location for an error
 *
 * Returns: %FALSE if the text cannot be read
 */
gboolean
ir_session_add_breakpoint (IrSession *self, const char *text, GError **error)
{
  IrBreakpoint *breakpoint = ir_breakpoint_parse (text, error);

  if (breakpoint == NULL)
    return FALSE;
  g_ptr_array_add (self->breakpoints, breakpoint);
  ir_session_changed (self, IR_CHANGED_DEBUG);
  return TRUE;
}

void
ir_session_remove_breakpoint (IrSession *self, guint index)
{
  if (index >= self->breakpoints->len)
    return;
  g_ptr_array_remove_index (self->breakpoints, index);
  ir_session_changed (self, IR_CHANGED_DEBUG);
}

static gboolean
needs_board (IrSession *self)
{
  for (guint i = 0; i < self->breakpoints->len; i++)
    if (ir_breakpoint_needs_scores (self->breakpoints->pdata[i]))
      return self->board == NULL && ir_session_get_n_steps (self) > 0;
  return FALSE;
}

static void
run_to_breakpoint (IrSession *self, gboolean forward)
{
  const IrBreakpoint *hit = NULL;
  const guint step = ir_breakpoints_run (self->breakpoints, self->timeline->model, self->board,
                                         self->cursor, forward, &hit);

  if (self->compare == IR_COMPARE_PASS)
    ir_session_set_compare (self, IR_COMPARE_STEP);
  ir_session_goto (self, step);
  if (hit != NULL)
    ir_session_message (self, "Stopped at step %u: %s", step, ir_breakpoint_text (hit));
  else
    ir_session_message (self, forward ? "No breakpoint after this: at the last step"
                                      : "No breakpoint before this: at the original graph");
}

/**
 * ir_session_run_to_breakpoint:
 * @forward: %FALSE goes back
 *
 * Moves the cursor to the next step that a breakpoint hits, else to the end. Where one asks for
 * costs, the scoreboard is made first.
 */
void
ir_session_run_to_breakpoint (IrSession *self, gboolean forward)
{
  if (self->timeline == NULL)
    return;
  if (!needs_board (self))
    {
      run_to_breakpoint (self, forward);
      return;
    }
  self->wants_run = forward ? 1 : -1;
  ir_session_request_scoreboard (self);
}

/* -- what if -- */

void
ir_session_forget_what_if (IrSession *self)
{
  ir_job_free_later (g_steal_pointer (&self->kept), (GDestroyNotify) ir_timeline_unref);
  ir_job_free_later (g_steal_pointer (&self->kept_frame), (GDestroyNotify) ir_frame_unref);
  g_clear_pointer (&self->skips, g_strfreev);
  g_clear_pointer (&self->what_if, ir_what_if_free);
  self->shows_what_if = FALSE;
}

/* Just before the result without @skips takes its place: the original one is kept. */
void
ir_session_keep_original (IrSession *self, GStrv skips, IrWhatIf *what_if)
{
  const gboolean is_kept = self->kept != NULL && self->shows_what_if;
  IrTimeline *original = ir_timeline_ref (is_kept ? self->kept : self->timeline);
  IrFrame *frame = ir_frame_ref (is_kept ? self->kept_frame : self->frame);

  ir_session_forget_what_if (self);
  self->kept = original;
  self->kept_frame = frame;
  self->skips = skips;
  self->what_if = what_if;
  self->shows_what_if = TRUE;
}

/**
 * ir_session_skip:
 * @name: a stable key of an application, the name of a rule or of a pass
 *
 * Runs the pipeline again without what @name says, and without what was skipped before; the result
 * takes the place of the original one, which is kept.
 */
void
ir_session_skip (IrSession *self, const char *name)
{
  g_autoptr (GPtrArray) names = NULL;

  if (self->frame == NULL || ir_session_get_n_steps (self) == 0)
    return;
  names = g_ptr_array_new ();
  for (guint i = 0; self->skips != NULL && self->skips[i] != NULL; i++)
    g_ptr_array_add (names, g_strdup (self->skips[i]));
  g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_add (names, NULL);
  ir_session_run_pipeline_without (self,
                                   (GStrv) g_ptr_array_free (g_steal_pointer (&names), FALSE));
}

static void
swap_results (IrSession *self)
{
  IrTimeline *timeline = g_steal_pointer (&self->kept);
  IrFrame *frame = g_steal_pointer (&self->kept_frame);

  self->kept = ir_timeline_ref (self->timeline);
  self->kept_frame = ir_frame_ref (self->frame);
  self->serial++;
  ir_session_take_timeline (self, timeline, frame);
  self->shows_what_if = !self->shows_what_if;
}

static void
results_changed (IrSession *self)
{
  ir_session_forget_after (self);
  ir_session_keep_live_selection (self);
  ir_session_changed (self, IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_SELECTION |
                                IR_CHANGED_RUNS | IR_CHANGED_DEBUG);
  ir_session_request_frame (self); /* it may have been made with other settings */
}

/**
 * ir_session_show_what_if:
 * @what_if: %FALSE shows the original result, with nothing skipped
 *
 * Changes between the two results; both are kept.
 */
void
ir_session_show_what_if (IrSession *self, gboolean what_if)
{
  if (self->kept == NULL || self->shows_what_if == !!what_if)
    return;
  swap_results (self);
  results_changed (self);
}

/**
 * ir_session_skip_nothing:
 *
 * Ends the what-if: the original result is there again.
 */
void
ir_session_skip_nothing (IrSession *self)
{
  if (self->kept == NULL)
    return;
  if (self->shows_what_if)
    swap_results (self);
  ir_session_forget_what_if (self);
  ir_session_check_compare (self);
  results_changed (self);
}

const IrWhatIf *
ir_session_get_what_if (IrSession *self)
{
  return self->what_if;
}

gboolean
ir_session_shows_what_if (IrSession *self)
{
  return self->shows_what_if;
}

const char *const *
ir_session_get_skips (IrSession *self)
{
  return (const char *const *) self->skips;
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
time_steps (const DebugRequest *request,
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
  DebugRequest *request = data;
  const guint n = ir_history_n_steps (request->timeline->model);
  g_autoptr (IrTrial) trial = trial_new (request, cancellable, error);
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
  const DebugRequest *request = data;
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
                                      .data = debug_request_new (self),
                                      .data_free = debug_request_free,
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

/* -- the proof of one step -- */

/* On a fork: the history on screen is not written while views may read it. */
static gpointer
run_prove (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const DebugRequest *request = data;
  IrTimeline *timeline = request->timeline;
  g_autoptr (IrModel) model = ir_timeline_fork (timeline, ir_history_n_steps (timeline->model));
  g_autoptr (GHashTable) inputs = ir_session_all_inputs (timeline->original, request->inputs,
                                                         request->seed, request->sizes, error);
  g_autoptr (IrProver) prover = NULL;
  IrProof *proof;

  if (inputs == NULL)
    return NULL;
  prover = ir_prover_new (model, inputs, ir_backend_find ("cpu"), cancellable, error);
  if (prover == NULL)
    return NULL;
  proof = g_new0 (IrProof, 1);
  if (ir_prover_prove_step (prover, request->step, proof, error))
    return proof;
  g_free (proof);
  return NULL;
}

static void
on_proved (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  const DebugRequest *request = data;
  g_autofree IrProof *proof = result;

  ir_session_end_job (self);
  if (proof != NULL && request->timeline == self->timeline)
    {
      g_mutex_lock (&self->timeline->lock);
      ir_history_set_proof (self->timeline->model, request->step, proof);
      g_mutex_unlock (&self->timeline->lock);
      ir_session_changed (self, IR_CHANGED_HISTORY);
      ir_session_message (self, "Step %u: %s", request->step, ir_verdict_name (proof->verdict));
    }
  else if (proof == NULL)
    ir_session_failed (self, "The step could not be proved", error);
  ir_session_changed (self, IR_CHANGED_BUSY);
}

/**
 * ir_session_prove_step:
 * @step: a step
 *
 * Runs the cone of @step before and after, and gives the step its verdict.
 */
void
ir_session_prove_step (IrSession *self, guint step)
{
  DebugRequest *request;

  if (self->frame == NULL || step == 0 || step > ir_session_get_n_steps (self))
    return;
  request = debug_request_new (self);
  request->step = step;
  ir_session_start_job (self, "Proving the step",
                        &(IrJobSpec){ .run = run_prove,
                                      .data = request,
                                      .data_free = debug_request_free,
                                      .result_free = g_free,
                                      .done = on_proved });
}

/* -- bisection -- */

typedef struct
{
  IrBisection bisection;
  IrNodeId node; /* that makes the first diverging value; 0: none */
} Found;

static void
found_free (gpointer data)
{
  Found *found = data;

  ir_bisection_clear (&found->bisection);
  g_free (found);
}

static void
on_check (guint checks, guint expected, gpointer data)
{
  const guint total = MAX (checks, expected);
  g_autofree char *text = g_strdup_printf ("Bisecting: check %u of about %u", checks, total);

  ir_job_report (data, total > 0 ? (double) checks / total : -1, text);
}

static IrNodeId
producer_at (IrModel *model, guint step, IrValueId id)
{
  g_autoptr (IrModel) snapshot = ir_history_snapshot (model, step);
  const IrValue *value = ir_model_live_value (snapshot, id);

  return value != NULL && value->producer != NULL ? value->producer->id : 0;
}

static gboolean
find_culprit (const DebugRequest *request, IrTrial *trial, Found *found, GError **error)
{
  g_autoptr (IrPredicate) predicate = ir_predicate_parse (request->predicate, error);
  IrBisection *bisection = &found->bisection;

  if (predicate == NULL || !ir_bisect (trial, predicate, on_check, request->job, bisection, error))
    return FALSE;
  if (bisection->answer != IR_BISECT_FOUND || !ir_predicate_runs_graph (predicate))
    return TRUE;
  if (!ir_bisect_find_divergence (trial, bisection, error))
    return FALSE;
  if (bisection->diverges != 0)
    found->node = producer_at (ir_trial_history (trial), bisection->step, bisection->diverges);
  return TRUE;
}

static gpointer
run_bisect (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  DebugRequest *request = data;
  g_autoptr (IrTrial) trial = trial_new (request, cancellable, error);
  Found *found;

  if (trial == NULL)
    return NULL;
  request->job = job;
  found = g_new0 (Found, 1);
  if (find_culprit (request, trial, found, error) &&
      !g_cancellable_set_error_if_cancelled (cancellable, error))
    return found;
  found_free (found);
  return NULL;
}

/* The frame of the step is there: what diverges first is selected in it. */
void
ir_session_select_pending (IrSession *self)
{
  const IrNodeId node = self->pending_node;
  const IrValueId value = self->pending_value;

  if ((node == 0 && value == 0) || self->bisection == NULL ||
      self->frame->to != self->bisection->step)
    return;
  self->pending_node = 0;
  self->pending_value = 0;
  if (ir_model_live_node (self->frame->model, node) != NULL)
    ir_session_select_node (self, node);
  if (ir_model_live_value (self->frame->model, value) != NULL)
    ir_session_select_value (self, value);
}

static void
show_culprit (IrSession *self, IrNodeId node)
{
  self->pending_node = node;
  self->pending_value = self->bisection->diverges;
  ir_session_set_compare (self, IR_COMPARE_STEP);
  ir_session_goto (self, self->bisection->step);
  ir_session_select_pending (self);
  ir_session_show_view (self, "graph");
}

static void
on_bisected (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  DebugRequest *request = data;
  Found *found = result;
  g_autofree char *text = NULL;

  ir_session_end_job (self);
  if (found == NULL || request->timeline != self->timeline)
    {
      ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_DEBUG);
      if (found == NULL)
        ir_session_failed (self, "The steps could not be bisected", error);
      g_clear_pointer (&found, found_free);
      return;
    }
  g_clear_pointer (&self->bisection, bisection_free);
  g_free (self->bisected);
  self->bisection = g_memdup2 (&found->bisection, sizeof (IrBisection));
  self->bisected = g_steal_pointer (&request->predicate);
  if (self->bisection->answer == IR_BISECT_FOUND)
    show_culprit (self, found->node);
  g_free (found); /* its contents are the session's now */
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_DEBUG);
  if (self->bisection->answer == IR_BISECT_FOUND)
    ir_session_message (self, "Step %u, %s, makes it fail", self->bisection->step,
                        ir_history_step (self->timeline->model, self->bisection->step)->rule);
  else
    {
      text = ir_session_bisection_text (self);
      ir_session_message (self, "%s", text);
    }
}

/**
 * ir_session_bisect:
 * @predicate: as ir_predicate_parse() reads it
 *
 * Finds the step after which @predicate fails and before which it does not, goes there and selects
 * the first tensor that the step changed.
 */
void
ir_session_bisect (IrSession *self, const char *predicate)
{
  DebugRequest *request;

  if (self->frame == NULL)
    return;
  if (ir_session_get_n_steps (self) == 0)
    {
      ir_session_message (self, "There are no steps to bisect: run a pipeline first (F5)");
      return;
    }
  request = debug_request_new (self);
  request->predicate = g_strdup (predicate);
  ir_session_start_job (self, "Bisecting",
                        &(IrJobSpec){ .run = run_bisect,
                                      .data = request,
                                      .data_free = debug_request_free,
                                      .result_free = found_free,
                                      .done = on_bisected });
}

const IrBisection *
ir_session_get_bisection (IrSession *self)
{
  return self->bisection;
}

const char *
ir_session_get_bisected (IrSession *self)
{
  return self->bisected;
}

/* -- the reproducer -- */

static void
bundle_free (gpointer data)
{
  ir_bundle_clear (data);
  g_free (data);
}

/* The steps are bisected again: what that found holds ids of a trial that is gone. */
static gpointer
run_reproduce (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  DebugRequest *request = data;
  g_autoptr (IrTrial) trial = trial_new (request, cancellable, error);
  g_autoptr (IrPredicate) predicate = ir_predicate_parse (request->predicate, error);
  g_auto (IrBisection) found = { 0 };
  IrReproduceOptions how = { .max_class = IR_CLASS_ROUNDING,
                             .backend = ir_backend_find ("cpu"),
                             .cancellable = cancellable };
  const IrBundleOptions where = { .folder = request->folder };
  IrBundle *bundle;

  request->job = job;
  if (trial == NULL || predicate == NULL ||
      !ir_bisect (trial, predicate, on_check, job, &found, error) ||
      (ir_predicate_runs_graph (predicate) && !ir_bisect_find_divergence (trial, &found, error)))
    return NULL;
  ir_job_report (job, -1, "Cutting out the smallest part that fails");
  how.pass = ir_pass_find (ir_history_pass_of (ir_trial_history (trial), found.step));
  bundle = g_new0 (IrBundle, 1);
  if (ir_bundle_write (trial, &found, request->predicate, &how, &where, bundle, error) &&
      !g_cancellable_set_error_if_cancelled (cancellable, error))
    return bundle;
  bundle_free (bundle);
  return NULL;
}

static void
on_reproduced (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  const DebugRequest *request = data;
  IrBundle *bundle = result;

  ir_session_end_job (self);
  ir_session_changed (self, IR_CHANGED_BUSY);
  if (bundle == NULL)
    {
      ir_session_failed (self, "The reproducer could not be written", error);
      return;
    }
  if (bundle->reproduced)
    ir_session_message (self, "Reproducer with %u of %u nodes written to %s", bundle->part.n_part,
                        bundle->part.n_whole, request->folder);
  else
    ir_session_message (self, "Written to %s, but it does not fail when read back",
                        request->folder);
  bundle_free (bundle);
}

/**
 * ir_session_can_reproduce:
 *
 * Returns: whether a bisection found the step of a pass, which can be run alone
 */
gboolean
ir_session_can_reproduce (IrSession *self)
{
  return self->bisection != NULL && self->bisection->answer == IR_BISECT_FOUND &&
         ir_pass_find (ir_history_pass_of (self->timeline->model, self->bisection->step)) != NULL;
}

/**
 * ir_session_reproduce:
 * @folder: where to write; it is made
 *
 * Writes a bundle that shows the failure that was found last, as irscope reproduce does.
 */
void
ir_session_reproduce (IrSession *self, const char *folder)
{
  DebugRequest *request;

  if (!ir_session_can_reproduce (self))
    return;
  request = debug_request_new (self);
  request->predicate = g_strdup (self->bisected);
  request->folder = g_strdup (folder);
  ir_session_start_job (self, "Writing a reproducer",
                        &(IrJobSpec){ .run = run_reproduce,
                                      .data = request,
                                      .data_free = debug_request_free,
                                      .result_free = bundle_free,
                                      .done = on_reproduced });
}

static void
append_divergence (GString *text, const IrModel *model, const IrBisection *found)
{
  if (found->diverges == 0)
    return;
  g_string_append_printf (text, ". First tensor to differ: %s, by %.3g",
                          ir_model_value (model, found->diverges)->name, found->change.max_abs);
  if (found->original != 0)
    g_string_append_printf (text, "; from %s of the original by %.3g",
                            ir_model_value (model, found->original)->name,
                            found->from_original.max_abs);
}

/**
 * ir_session_bisection_text:
 *
 * Returns: (transfer full): the outcome of the last bisection in a sentence or two, "" if there was
 *   none
 */
char *
ir_session_bisection_text (IrSession *self)
{
  const IrBisection *found = self->bisection;
  const IrModel *model = ir_session_get_history (self);
  g_autoptr (GString) text = g_string_new (NULL);

  if (found == NULL)
    return g_strdup ("");
  switch (found->answer)
    {
    case IR_BISECT_FOUND:
      g_string_append_printf (text, "Step %u, %s, makes it fail", found->step,
                              ir_history_step (model, found->step)->rule);
      if (found->problem != NULL)
        g_string_append_printf (text, ": the graph does not run after it: %s", found->problem);
      else
        g_string_append_printf (text, ": after it, %s", found->finding);
      append_divergence (text, model, found);
      break;
    case IR_BISECT_ORIGINAL_FAILS:
      g_string_append_printf (text, "The original graph fails already: %s", found->finding);
      break;
    case IR_BISECT_NOTHING_FAILS:
    case IR_N_BISECT_ANSWERS:
    default:
      g_string_append_printf (text, "Nothing fails up to step %u: there, %s", found->last,
                              found->finding);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}
