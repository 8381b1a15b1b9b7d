/* Runs in words: times with their spread, differences, and how the last run was made. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "core/ir/count.h"
#include "core/ir/inline.h"
#include "views/session/frame.h"
#include "views/session/runs-private.h"
#include "views/session/timeline.h"

#include <math.h>
#include <string.h>

/**
 * ir_ms_text:
 * @ms: a time
 *
 * Returns: (transfer full): in the unit in which it has three digits: "52.1 µs"
 */
char *
ir_ms_text (double ms)
{
  static const char *const units[] = { "µs", "ms", "s" };
  double number = ms * 1000;
  guint unit = 0;

  for (; number >= 999.5 && unit + 1 < G_N_ELEMENTS (units); unit++)
    number /= 1000;
  return number >= 100  ? g_strdup_printf ("%.0f %s", number, units[unit])
         : number >= 10 ? g_strdup_printf ("%.1f %s", number, units[unit])
                        : g_strdup_printf ("%.2f %s", number, units[unit]);
}

/* "11.9–20.3 µs"; each with its own unit where these differ. */
static char *
range_text (double low_ms, double high_ms)
{
  g_autofree char *low = ir_ms_text (low_ms), *high = ir_ms_text (high_ms);
  char *unit = strchr (low, ' ');

  if (g_str_has_suffix (high, unit))
    *unit = '\0';
  return g_strdup_printf ("%s–%s", low, high);
}

/**
 * ir_times_text:
 * @times: ms
 *
 * Returns: (transfer full): the median, and between which times half of the runs lie
 */
char *
ir_times_text (const IrTimes *times)
{
  g_autofree char *median = ir_ms_text (times->median), *range = NULL;

  if (times->n == 0)
    return g_strdup ("not measured");
  if (times->n == 1)
    return g_strdup_printf ("%s (one run)", median);
  range = range_text (times->q1, times->q3);
  return g_strdup_printf ("%s (%s, %u runs)", median, range, times->n);
}

/**
 * ir_times_tip:
 * @times: ms
 *
 * Returns: (transfer full) (nullable): what the figures of ir_times_text() are; %NULL where that
 *   needs no words
 */
char *
ir_times_tip (const IrTimes *times)
{
  g_autofree char *half = NULL, *all = NULL;

  if (times->n < 2)
    return NULL;
  half = range_text (times->q1, times->q3);
  all = range_text (times->min, times->max);
  return g_strdup_printf ("The median of %u runs; half of them took %s, all of them %s", times->n,
                          half, all);
}

/**
 * ir_difference_text:
 * @difference: of two tensors
 *
 * Returns: (transfer full): how large it is: as a part of the largest magnitude of the old side
 *   first, which says whether it matters, then in its own unit
 */
char *
ir_difference_text (const IrDifference *difference)
{
  if (difference->max_abs == 0)
    return g_strdup ("the same numbers");
  if (!isfinite (difference->max_abs))
    return g_strdup ("NaN or infinite on one side, or of another shape");
  if (!isfinite (difference->of_scale))
    return g_strdup_printf ("off by at most %.3g, where all was 0", difference->max_abs);
  return g_strdup_printf ("off by %.2g of the largest value, at most %.3g", difference->of_scale,
                          difference->max_abs);
}

/**
 * ir_run_change_text:
 * @change: what the last run changed
 * @model: that ran
 *
 * Returns: (transfer full): how many values differ, and the one that differs most
 */
char *
ir_run_change_text (const IrRunChange *change, const IrModel *model)
{
  g_autofree char *all = ir_count_text (change->n_compared),
                  *some = ir_count_text (change->n_differ);
  g_autofree char *worst = NULL;

  if (change->other_inputs)
    return g_strdup ("its inputs were others");
  if (change->n_compared == 0)
    return g_strdup ("no value was kept in both");
  if (change->worst == 0)
    return g_strdup_printf ("all %s values are the same numbers", all);
  worst = ir_difference_text (&change->worst_difference);
  return g_strdup_printf ("%s of %s values differ, most: %s, %s", some, all,
                          ir_model_value (model, change->worst)->name, worst);
}

static void
append_kept (GString *text, IrSession *self, const IrRun *run)
{
  static const char *const words[] = { [IR_CAPTURE_NONE] = "outputs kept",
                                       [IR_CAPTURE_ALL] = "all values kept",
                                       [IR_CAPTURE_STATS] = "statistics kept",
                                       [IR_CAPTURE_CHOSEN] = "chosen values kept",
                                       [IR_CAPTURE_CHECKPOINTS] = "checkpoints kept" };
  g_autofree char *spilled = g_format_size_full (ir_run_spilled_bytes (run),
                                                 G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *note = ir_run_capture_note (run);

  g_string_append_printf (text, " · %s",
                          ir_session_was_one_run (self)
                              ? "all values of the original graph in one run"
                              : words[ir_run_options (run)->capture]);
  if (ir_session_get_unknown (self) != NULL)
    g_string_append_printf (text, ", no graph has %s", ir_session_get_unknown (self));
  if (ir_run_n_spilled (run) > 0)
    g_string_append_printf (text, ", %u of them in a file (%s)", ir_run_n_spilled (run), spilled);
  if (ir_run_n_lost (run) > 0)
    g_string_append_printf (text, ", %u not", ir_run_n_lost (run));
  if (note != NULL)
    g_string_append_printf (text, ": %s", note);
}

/* Which nodes ran concurrently: where that was asked for. */
static void
append_parallel (GString *text, const IrRun *run)
{
  const IrParallelMode mode = ir_run_options (run)->parallel;
  const GArray *spans = run->schedule != NULL ? run->schedule->spans : NULL;
  guint n = 0;

  if (mode == IR_PARALLEL_OFF)
    return;
  for (guint i = 0; spans != NULL && i < spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (spans, IrScheduleSpan, i);
      n += span->last - span->first + 1;
    }
  if (n > 0)
    g_string_append_printf (text, " · %u concurrent nodes", n);
  else
    g_string_append (text, " · no concurrent nodes");
  g_string_append (text, mode == IR_PARALLEL_AUTO ? " (auto)" : "");
}

/* Outputs of the graph that @run does not give, and because of which nodes. (transfer full) */
char *
ir_session_missing_text (IrSession *self, const IrRun *run)
{
  const IrMissing *first = &g_array_index (run->missing, IrMissing, 0);
  GString *text;

  if (run->missing->len == 1)
    return g_strdup_printf ("%s was not computed: %s",
                            ir_model_value (run->model, first->output)->name, first->why);
  text = g_string_new (NULL);
  g_string_printf (text, "%u of %u outputs were not computed: ", run->missing->len,
                   run->missing->len + ir_graph_n_outputs (run->model->main));
  for (guint i = 0; i < run->missing->len; i++)
    {
      const IrMissing *missing = &g_array_index (run->missing, IrMissing, i);
      const IrNode *node = ir_model_live_node (ir_session_get_history (self),
                                               ir_inline_written (run->model, missing->node));
      g_autofree char *label = node != NULL ? ir_node_label (node) : NULL;

      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "",
                              ir_model_value (run->model, missing->output)->name);
      if (label != NULL)
        g_string_append_printf (text, " (stopped by %s)", label);
    }
  return g_string_free (text, FALSE);
}

/* (transfer full) (nullable): at which node a kernel failed; %NULL: none did */
char *
ir_session_stopped_text (IrSession *self, const IrRun *run)
{
  const IrNode *node = g_error_matches (run->error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL)
                           ? ir_model_live_node (ir_session_get_history (self),
                                                 ir_inline_written (run->model, run->failed_node))
                           : NULL;
  g_autofree char *label = node != NULL ? ir_node_label (node) : NULL;

  return label != NULL ? g_strdup_printf ("The run stopped at %s", label) : NULL;
}

/**
 * ir_session_stale_text:
 *
 * Returns: (transfer full) (nullable): why the last run is not what a run would give now; %NULL: it is,
 *   or there is none
 */
char *
ir_session_stale_text (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);
  const guint step = ir_session_get_run_step (self);

  if (ir_session_was_run_forgotten (self))
    return g_strdup ("Steps were made or taken back since the last run: run again to have values.");
  if (ir_session_get_run (self, IR_SIDE_AFTER) == NULL || frame == NULL)
    return NULL;
  if (step != frame->to)
    return g_strdup_printf ("The run was of step %u; the graph is at %u.", step, frame->to);
  return ir_session_run_has_other_inputs (self)
             ? g_strdup ("The inputs have changed since the run.")
             : NULL;
}

/**
 * ir_session_times_note:
 *
 * Returns: (transfer full) (nullable): what is to be known of the times of the last run: that it is stale, or
 *   that some of its nodes have none, as they were not run again
 */
char *
ir_session_times_note (IrSession *self)
{
  const IrRun *run = ir_session_get_run (self, IR_SIDE_AFTER);
  char *stale = ir_session_stale_text (self);

  if (stale != NULL || run == NULL || run->n_reused == 0 || run->schedule == NULL)
    return stale;
  return g_strdup_printf (
      "%u of %u nodes have no times: they were not run again, what leads to them "
      "is as it was.",
      run->n_reused, ir_run_n_computing (run));
}

/**
 * ir_session_run_text:
 *
 * Returns: (transfer full) (nullable): the last run in a line, and how it was made; %NULL: there is
 *   none
 */
char *
ir_session_run_text (IrSession *self)
{
  const IrRun *run = ir_session_get_run (self, IR_SIDE_AFTER);
  const IrTimes taken = ir_session_get_run_times (self);
  const IrRunOptions *options;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *times = NULL, *missing = NULL, *stale = NULL, *stopped = NULL;
  guint n_threads;

  if (run != NULL && g_error_matches (run->error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED))
    return g_strdup (run->error->message);
  if (run == NULL)
    return ir_session_stale_text (self);
  if (ir_session_get_record (self) == NULL)
    return NULL;
  options = ir_run_options (run);
  times = ir_times_text (&taken);
  stale = ir_session_stale_text (self);
  if (stale != NULL)
    g_string_append_printf (text, "%.*s · ", (int) strlen (stale) - 1, stale); /* no full stop */
  n_threads = options->n_threads != 0 ? options->n_threads : g_get_num_processors ();
  g_string_append_printf (text, "Ran%s%s · %u %s", taken.n > 0 ? " in " : ", ", times, n_threads,
                          n_threads == 1 ? "thread" : "threads");
  append_parallel (text, run);
  if (options->deterministic)
    g_string_append (text, " · deterministic");
  append_kept (text, self, run);
  stopped = ir_session_stopped_text (self, run);
  if (stopped != NULL)
    {
      g_string_prepend (text, " · ");
      g_string_prepend (text, stopped);
    }
  if (run->missing != NULL)
    {
      missing = ir_session_missing_text (self, run);
      g_string_prepend (text, " · ");
      g_string_prepend (text, missing);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}
