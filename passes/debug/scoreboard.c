/* Nodes, FLOPs and bytes are those that the runner recorded with each step; a step without them, as
 * of an edit in several steps, is counted anew. Peaks are planned for the shapes of the trial's
 * inputs: one inference, one schedule and one plan a step, so this is for a job. */
#include "config.h"

#include "passes/debug/scoreboard.h"

#include "core/op/infer.h"

#include <math.h>

/* A step that raises a score by more than this part of what it was is a spike: rewrites are there
 * to lower them, so that even a small rise is worth a look; below it are a moved transpose or a
 * constant that got another type. */
#define SPIKE 0.02

#define MOST_NAMED 8 /* rises of one score in a picture */

static const struct
{
  const char *name, *title;
  gboolean is_bytes;
} scores[IR_N_SCORES] = {
  [IR_SCORE_NODES] = { "nodes", "Nodes", FALSE },
  [IR_SCORE_FLOPS] = { "flops", "FLOPs", FALSE },
  [IR_SCORE_BYTES] = { "bytes", "Bytes moved", TRUE },
  [IR_SCORE_PEAK] = { "peak_bytes", "Peak memory", TRUE },
};

static gboolean
is_recorded (const IrCost *cost)
{
  return cost->n_nodes > 0 || cost->flops > 0 || cost->bytes > 0;
}

static IrCost
cost_after (IrModel *model, guint step)
{
  const guint n = ir_history_n_steps (model);
  g_autoptr (IrModel) snapshot = NULL;

  if (step > 0 && is_recorded (&ir_history_step (model, step)->cost_after))
    return ir_history_step (model, step)->cost_after;
  if (step == 0 && n > 0 && is_recorded (&ir_history_step (model, 1)->cost_before))
    return ir_history_step (model, 1)->cost_before;
  snapshot = ir_history_snapshot (model, step);
  return ir_cost_model (snapshot, NULL);
}

/**
 * ir_scores_measure:
 * @trial: a trial; its inputs give the sizes for the memory plan
 * @step: 0 .. number of steps
 * @values: (out caller-allocates) (array fixed-size=4): by #IrScore; NaN where it is not known
 * @error: (nullable): return location for why there is no memory plan
 *
 * Costs the graph as it was after @step.
 *
 * Returns: %FALSE with @error if there is no memory plan; the other scores are there all the same
 */
gboolean
ir_scores_measure (IrTrial *trial, guint step, double *values, GError **error)
{
  const IrCost cost = cost_after (ir_trial_history (trial), step);
  g_autoptr (IrMemPlan) plan = ir_trial_plan (trial, step, error);

  values[IR_SCORE_NODES] = cost.n_nodes;
  values[IR_SCORE_FLOPS] = (double) cost.flops;
  values[IR_SCORE_BYTES] = (double) cost.bytes;
  values[IR_SCORE_PEAK] = plan != NULL ? (double) plan->peak_bytes : NAN;
  return plan != NULL;
}

static void
note_step (IrScoreboard *board, IrTrial *trial, guint step)
{
  g_autoptr (GError) error = NULL;
  double values[IR_N_SCORES];

  if (!ir_scores_measure (trial, step, values, &error) && board->problem == NULL)
    board->problem = g_strdup_printf ("Step %u has no memory plan: %s", step,
                                      error != NULL ? error->message : "no reason given");
  for (guint i = 0; i < IR_N_SCORES; i++)
    board->values[i][step] = values[i];
}

/**
 * ir_scoreboard_new:
 * @trial: a trial; its inputs give the sizes for the memory plans
 * @progress: (nullable) (scope call): told how far it is
 * @data: for @progress
 * @error: return location for an error
 *
 * Costs every step of the history. A graph that cannot be planned after some step has no peak
 * there; the board says why. O(steps × size of the graph).
 *
 * Returns: (transfer full): the scores; %NULL only if the trial was cancelled
 */
IrScoreboard *
ir_scoreboard_new (IrTrial *trial,
                   void (*progress) (guint done, guint total, gpointer data),
                   gpointer data,
                   GError **error)
{
  IrScoreboard *board = g_new0 (IrScoreboard, 1);
  GCancellable *cancellable = ir_trial_cancellable (trial);

  g_atomic_ref_count_init (&board->ref_count);
  board->n_steps = ir_history_n_steps (ir_trial_history (trial));
  for (guint i = 0; i < IR_N_SCORES; i++)
    board->values[i] = g_new0 (double, board->n_steps + 1);
  board->by_hand = g_new0 (guint8, board->n_steps + 1);
  for (guint step = 1; step <= board->n_steps; step++)
    board->by_hand[step] = ir_history_step (ir_trial_history (trial), step)->step_class ==
                           IR_CLASS_EDIT;
  for (guint step = 0; step <= board->n_steps; step++)
    {
      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        {
          ir_scoreboard_unref (board);
          return NULL;
        }
      if (progress != NULL)
        progress (step, board->n_steps, data);
      note_step (board, trial, step);
    }
  return board;
}

/**
 * ir_scoreboard_ref:
 * @board: a scoreboard
 *
 * Returns: (transfer full): @board
 */
IrScoreboard *
ir_scoreboard_ref (IrScoreboard *board)
{
  g_atomic_ref_count_inc (&board->ref_count);
  return board;
}

/**
 * ir_scoreboard_unref:
 * @board: (transfer full): a scoreboard
 */
void
ir_scoreboard_unref (IrScoreboard *board)
{
  if (!g_atomic_ref_count_dec (&board->ref_count))
    return;
  for (guint i = 0; i < IR_N_SCORES; i++)
    g_free (board->values[i]);
  g_free (board->by_hand);
  g_free (board->problem);
  g_free (board);
}

/**
 * ir_scoreboard_value:
 * @board: a scoreboard
 * @score: which
 * @step: 0 .. n_steps
 *
 * Returns: the score of the graph after @step, NaN if it is not known
 */
double
ir_scoreboard_value (const IrScoreboard *board, IrScore score, guint step)
{
  g_return_val_if_fail (score < IR_N_SCORES && step <= board->n_steps, NAN);
  return board->values[score][step];
}

/**
 * ir_scoreboard_change:
 * @board: a scoreboard
 * @score: which
 * @step: 0 .. n_steps
 *
 * Returns: by how much @step changed the score; 0 for step 0, NaN if it is not known
 */
double
ir_scoreboard_change (const IrScoreboard *board, IrScore score, guint step)
{
  g_return_val_if_fail (score < IR_N_SCORES && step <= board->n_steps, NAN);
  return step == 0 ? 0 : board->values[score][step] - board->values[score][step - 1];
}

/**
 * ir_scoreboard_is_spike:
 * @board: a scoreboard
 * @score: which
 * @step: 0 .. n_steps
 *
 * Returns: %TRUE if @step, a rewrite, made the graph noticeably dearer: by more than a fiftieth of what it was
 */
gboolean
ir_scoreboard_is_spike (const IrScoreboard *board, IrScore score, guint step)
{
  const double change = ir_scoreboard_change (board, score, step);

  return step > 0 && !board->by_hand[step] && change > 0 &&
         change > SPIKE * board->values[score][step - 1];
}

static char *
format_count (double value)
{
  return ir_score_text (IR_SCORE_FLOPS, value);
}

static char *
format_bytes (double value)
{
  return ir_score_text (IR_SCORE_BYTES, value);
}

/* "rises at 3, 17, at the end"; what the number behind it is */
static char *
spikes_text (const IrScoreboard *board, IrScore score)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint n = 0;

  for (guint step = 1; step <= board->n_steps; step++)
    if (ir_scoreboard_is_spike (board, score, step) && ++n <= MOST_NAMED)
      g_string_append_printf (text, "%s%u", n == 1 ? "rises at " : ", ", step);
  if (n > MOST_NAMED)
    g_string_append_printf (text, " and %u more", n - MOST_NAMED);
  g_string_append (text, n > 0 ? ", at the end" : "at the end");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/**
 * ir_scoreboard_chart:
 * @board: a scoreboard
 * @options: (nullable): the drawing area
 *
 * Returns: (transfer full): a curve over the steps for each score, from 0 up, with the steps at which it rose
 */
IrScene *
ir_scoreboard_chart (const IrScoreboard *board, const IrChartOptions *options)
{
  IrChartPanel panels[IR_N_SCORES];
  char *rises[IR_N_SCORES];
  IrScene *scene;

  for (guint i = 0; i < IR_N_SCORES; i++)
    {
      IrChartCurve curve = { rises[i] = spikes_text (board, i),
                             g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint)) };

      for (guint step = 0; step <= board->n_steps; step++)
        {
          const IrLayoutPoint at = { step, board->values[i][step] };
          if (isfinite (at.y))
            g_array_append_val (curve.points, at);
        }
      panels[i] = (IrChartPanel){ ir_score_title (i), FALSE, ir_chart_curves_new (),
                                  scores[i].is_bytes ? format_bytes : format_count };
      g_array_append_val (panels[i].curves, curve);
    }
  scene = ir_chart_panels (panels, IR_N_SCORES, "step", options);
  for (guint i = 0; i < IR_N_SCORES; i++)
    {
      g_array_unref (panels[i].curves);
      g_free (rises[i]);
    }
  return scene;
}

/**
 * ir_score_name:
 * @score: which
 *
 * Returns: its key in JSON
 */
const char *
ir_score_name (IrScore score)
{
  g_return_val_if_fail (score < IR_N_SCORES, NULL);
  return scores[score].name;
}

/**
 * ir_score_title:
 * @score: which
 *
 * Returns: its title for people
 */
const char *
ir_score_title (IrScore score)
{
  g_return_val_if_fail (score < IR_N_SCORES, NULL);
  return scores[score].title;
}

static char *
amount_text (IrScore score, double value)
{
  static const char *const thousands[] = { "", " k", " M", " G", " T" };
  static const char *const binary[] = { " B", " KiB", " MiB", " GiB", " TiB" };
  const gboolean is_bytes = scores[score].is_bytes;
  const double base = is_bytes ? 1024 : 1000;
  guint unit = 0;

  if (score == IR_SCORE_NODES)
    return g_strdup_printf ("%.0f", value);
  while (value >= base && unit + 1 < G_N_ELEMENTS (binary))
    {
      value /= base;
      unit++;
    }
  return g_strdup_printf (unit == 0 ? "%.0f%s" : "%.1f%s", value,
                          is_bytes ? binary[unit] : thousands[unit]);
}

/**
 * ir_score_text:
 * @score: which
 * @value: its value; NaN: not known
 *
 * Returns: (transfer full): "25.6 M", "97.7 MiB", "12"
 */
char *
ir_score_text (IrScore score, double value)
{
  g_return_val_if_fail (score < IR_N_SCORES, NULL);
  return isnan (value) ? g_strdup ("unknown") : amount_text (score, value);
}

/**
 * ir_score_change_text:
 * @score: which
 * @before: its value before; NaN: not known
 * @after: its value after
 *
 * Returns: (transfer full): "+3", "−1.2 MiB", "" if it did not change, "?" if it is not known
 */
char *
ir_score_change_text (IrScore score, double before, double after)
{
  g_autofree char *amount = NULL;

  g_return_val_if_fail (score < IR_N_SCORES, NULL);
  if (isnan (before) || isnan (after))
    return g_strdup ("?");
  if (before == after)
    return g_strdup ("");
  amount = amount_text (score, fabs (after - before));
  return g_strconcat (after > before ? "+" : "−", amount, NULL);
}
