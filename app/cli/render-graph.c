#include "config.h"

#include "app/cli/render.h"

#include "app/cli/execution.h"
#include "app/cli/proof.h"
#include "app/cli/why.h"
#include "core/diff/diff.h"
#include "core/io/io.h"
#include "passes/debug/rewrite.h"
#include "passes/session/session-file.h"
#include "passes/training/parameters.h"

#include <string.h>

void
cli_picture_clear (CliPicture *picture)
{
  g_clear_pointer (&picture->look, ir_look_free);
  g_clear_pointer (&picture->facts, ir_overlay_facts_unref);
  g_clear_pointer (&picture->scale, ir_scale_unref);
  g_clear_pointer (&picture->kept, ir_kept_view_free);
  g_free (picture->note);
}

static gboolean
parse_range (const char *text, guint n_steps, guint *from, guint *to, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", 2);
  guint64 a, b;

  if (g_strv_length (parts) == 2 &&
      g_ascii_string_to_unsigned (parts[0], 10, 0, n_steps, &a, NULL) &&
      g_ascii_string_to_unsigned (parts[1], 10, 0, n_steps, &b, NULL))
    {
      *from = a;
      *to = b;
      return TRUE;
    }
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "--diff %s: needs N:M with steps from 0 to %u, or another file", text, n_steps);
  return FALSE;
}

CliChartSource
cli_render_source (const CliRender *options)
{
  return (CliChartSource){ .model = &options->model,
                           .plan = &options->plan,
                           .tensor = options->tensor,
                           .log = options->log,
                           .loop = options->loop,
                           .iterations = options->iterations,
                           .of = options->of,
                           .wrt = options->wrt };
}

static GPtrArray *
load_courses (const char *log, const IrOverlay *overlay, GError **error)
{
  if (log != NULL)
    return ir_parameter_courses_load (log, error);
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "--overlay %s: needs --log CSV, which 'irscope train --log' writes", overlay->id);
  return NULL;
}

/* What the overlay needs to know: a run, a check of it, a derivation, a training, the steps, a file. */
static IrOverlayFacts *
facts_of (CliPicture *picture, guint step, GError **error)
{
  const CliRender *options = picture->options;
  CliModel *opened = picture->opened;
  const IrOverlay *overlay = ir_overlay_find (picture->look->overlay);
  const char *file = picture->kept != NULL ? picture->kept->numbers : options->overlay_file;
  g_autoptr (IrOverlayFacts) facts = ir_overlay_facts_new ();
  g_autoptr (IrNumbers) numbers = NULL;
  IrProofSummary proof;
  const gboolean values = overlay != NULL && (overlay->needs & IR_OVERLAY_NEEDS_VALUES) != 0;
  const gboolean contents = overlay != NULL && (overlay->needs & IR_OVERLAY_NEEDS_CONTENTS) != 0;

  if (overlay == NULL)
    return g_steal_pointer (&facts);
  if (file != NULL && strcmp (overlay->id, "file") == 0)
    {
      numbers = ir_numbers_load (file, error);
      if (numbers == NULL || !ir_numbers_check (numbers, opened->model, &picture->note, error))
        return NULL;
      ir_overlay_facts_add_numbers (facts, numbers);
    }
  if (overlay->needs & IR_OVERLAY_NEEDS_RUN)
    {
      g_autoptr (IrRun) run = cli_run (picture->cli, &options->model, opened->model,
                                       contents ? IR_CAPTURE_ALL
                                       : values ? IR_CAPTURE_STATS
                                                : IR_CAPTURE_NONE,
                                       NULL, NULL, error);

      if (run == NULL)
        return NULL;
      ir_overlay_facts_add_run (facts, run);
      if (values)
        ir_overlay_facts_add_zeros (facts, run);
      if (contents)
        ir_overlay_facts_add_thumbs (facts, run, picture->cli->cancellable);
    }
  if (overlay->needs & IR_OVERLAY_NEEDS_CHECK)
    {
      g_autoptr (GHashTable)
          errors = cli_node_errors (picture->cli, &options->model, opened->model, error);

      if (errors == NULL)
        return NULL;
      ir_overlay_facts_add_errors (facts, errors);
    }
  if (overlay->needs & IR_OVERLAY_NEEDS_GRADIENTS)
    {
      const CliChartSource source = cli_render_source (options);
      g_autoptr (IrGradients)
          gradients = cli_gradients (picture->cli, &source, opened->model, error);
      g_autoptr (GHashTable) by_node = NULL;

      if (gradients == NULL)
        return NULL;
      by_node = ir_gradients_by_node (gradients);
      ir_overlay_facts_add_gradients (facts, by_node);
    }
  if (overlay->needs & IR_OVERLAY_NEEDS_TRAINING)
    {
      g_autoptr (GPtrArray) courses = load_courses (options->log, overlay, error);
      g_autoptr (GHashTable)
          updates = courses != NULL ? ir_parameter_courses_by_node (courses, opened->model) : NULL;

      if (updates == NULL)
        return NULL;
      ir_overlay_facts_add_updates (facts, updates);
    }
  if ((overlay->needs & IR_OVERLAY_NEEDS_VERDICTS) &&
      !cli_prove (picture->cli, &options->model, opened->model, &proof, error))
    return NULL;
  ir_overlay_facts_add_history (facts, opened->model, step);
  return g_steal_pointer (&facts);
}

static IrScene *
draw (CliPicture *picture, IrModel *model, const IrDiff *diff, IrSceneMarks *marks, GError **error)
{
  const IrLookSubject subject = { .model = model,
                                  .diff = diff,
                                  .marks = marks,
                                  .facts = picture->facts,
                                  .problems = picture->opened->problems,
                                  .moves = picture->kept != NULL ? picture->kept->moves : NULL,
                                  .measure = ir_text_measure_width,
                                  .measure_data = picture->measure };

  g_clear_pointer (&picture->scale, ir_scale_unref);
  return ir_look_draw (picture->look, &subject, &picture->scale, picture->cli->cancellable, error);
}

/* The graph at the step where the pattern was compared, with the answer drawn on it. */
static IrScene *
why_scene (CliPicture *picture, GError **error)
{
  const CliRender *options = picture->options;
  g_auto (GStrv) parts = g_strsplit (options->why, ":", 2);
  g_auto (IrWhy) why = { 0 };
  g_autoptr (IrSceneMarks) marks = NULL;
  g_autoptr (IrModel) then = NULL;
  IrClass max_class;

  if (g_strv_length (parts) != 2)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--why %s: needs RULE:NODE, such as fold-conv-bn:/bn1", options->why);
      return NULL;
    }
  if (!cli_class (&options->model, &max_class, error) ||
      !cli_why (picture->opened->model, parts[0], parts[1], max_class, &why, error))
    return NULL;
  marks = ir_why_marks (&why);
  if (marks == NULL)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--why %s: there is no pattern to draw: %s; \"irscope why\" says more",
                   options->why, ir_why_answer_name (why.answer));
      return NULL;
    }
  then = ir_history_snapshot (picture->opened->model, why.at_step);
  return draw (picture, then, NULL, marks, error);
}

/* What --fold names, of the picture with all open. */
static gboolean
close_folds (CliPicture *picture, GError **error)
{
  g_autoptr (IrScene) open = NULL;
  char **fold = picture->options->fold;

  if (fold == NULL)
    return TRUE;
  open = draw (picture, picture->opened->model, NULL, NULL, error);
  for (guint i = 0; open != NULL && fold[i] != NULL; i++)
    if (strcmp (fold[i], "auto") == 0)
      {
        GHashTable *chosen = ir_look_choose_folds (open);

        if (chosen != NULL)
          {
            g_hash_table_unref (picture->look->automatic);
            picture->look->automatic = chosen;
          }
      }
    else
      cli_render_add_fold (picture->look->folded, open, fold[i]);
  return open != NULL;
}

static const char *const sides[] = { "overlay", "beside", "before", "after", NULL };

/* What of the picture of both is wanted. (transfer full) */
static IrScene *
choose_sides (IrScene *both, const char *wanted)
{
  g_autoptr (IrScene) before = NULL, after = NULL;

  if (wanted == NULL || strcmp (wanted, "overlay") == 0)
    return both;
  if (strcmp (wanted, "after") != 0)
    before = ir_scene_new_for_side (both, IR_SCENE_BEFORE);
  if (strcmp (wanted, "before") != 0)
    after = ir_scene_new_for_side (both, IR_SCENE_AFTER);
  ir_scene_unref (both);
  if (before != NULL && after != NULL)
    return ir_scene_new_joined (before, after, IR_SCENE_JOIN_SIDES);
  return before != NULL ? g_steal_pointer (&before) : g_steal_pointer (&after);
}

/* What --diff names: two steps, or another file, from which FILE is what came of it. */
static IrDiff *
wanted_diff (Cli *cli, const CliRender *options, IrModel *history, GError **error)
{
  g_autoptr (IrModel) a = NULL, b = NULL;
  guint from, to;
  IrDiff *diff;

  if (g_file_test (options->diff, G_FILE_TEST_IS_REGULAR))
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();

      a = ir_model_load (options->diff, problems, cli->cancellable, error);
      return a != NULL ? ir_diff_new (a, history, FALSE) : NULL;
    }
  if (!parse_range (options->diff, ir_history_n_steps (history), &from, &to, error))
    return NULL;
  a = ir_history_snapshot (history, from);
  b = ir_history_snapshot (history, to);
  diff = ir_diff_new (a, b, TRUE);
  ir_diff_add_descent (diff, history, from, to);
  return diff;
}

static IrScene *
diff_scene (CliPicture *picture, IrModel *history, GError **error)
{
  g_autoptr (IrDiff) diff = wanted_diff (picture->cli, picture->options, history, error);
  IrScene *both = diff != NULL ? draw (picture, (IrModel *) diff->b, diff, NULL, error) : NULL;

  return both != NULL ? choose_sides (both, picture->options->sides) : NULL;
}

static IrScene *
rewrite_scene (CliPicture *picture, IrModel *history, GError **error)
{
  const CliRender *options = picture->options;
  const IrSceneOptions scene_options = { .measure = ir_text_measure_width,
                                         .measure_data = picture->measure,
                                         .show_constants = options->constants,
                                         .flat = options->flat };
  const guint n = ir_history_n_steps (history), step = (guint) options->rewrite;
  g_autoptr (IrModel) before = NULL, after = NULL;
  g_autoptr (IrRewrite) rewrite = NULL;
  IrScene *scene;

  if (options->rewrite < 1 || step > n)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--rewrite %d: needs a step from 1 to %u", options->rewrite, n);
      return NULL;
    }
  before = ir_history_snapshot (history, step - 1);
  after = ir_history_snapshot (history, step);
  rewrite = ir_rewrite_new (history, step, before, after);
  scene = ir_rewrite_scene (rewrite, IR_SCENE_JOIN_RIGHT, FALSE, &scene_options,
                            picture->cli->cancellable, error);
  if (scene == NULL && (error == NULL || *error == NULL))
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--rewrite %u: the step touched %s; --diff %u:%u draws it in the graph", step,
                 ir_rewrite_is_large (rewrite) ? "too many nodes to be drawn by themselves"
                                               : "no nodes",
                 step - 1, step);
  return scene;
}

static gboolean
check_sides (const CliRender *options, GError **error)
{
  if (options->sides == NULL)
    return TRUE;
  if (options->diff == NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--sides: needs --diff");
  else if (!g_strv_contains (sides, options->sides))
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--sides %s: needs overlay, beside, before or after", options->sides);
  else
    return TRUE;
  return FALSE;
}

/* Of the session that is open, else of the model's path in the user's data. */
static IrKeptView *
kept_view (const CliPicture *picture, const IrModel *model, GError **error)
{
  const guint number = (guint) MAX (picture->options->kept, 0);
  const IrSessionFile *session = picture->cli->session;
  g_autofree char *file = ir_kept_file ();
  const char *text = session != NULL && number >= 1 && number <= IR_N_SESSION_VIEWS
                         ? session->views[number - 1]
                         : NULL;

  if (session == NULL)
    return ir_kept_find (file, model, picture->opened->path, number, error);
  if (text == NULL)
    g_set_error (error, IR_KEPT_ERROR, IR_KEPT_ERROR_NONE, "%s keeps no view %u", session->file,
                 number);
  return text != NULL ? ir_kept_view_parse (text, model) : NULL;
}

IrScene *
cli_render_graph (CliPicture *picture, GError **error)
{
  IrModel *model = picture->opened->model;
  const CliRender *options = picture->options;
  const gboolean of_steps = options->diff != NULL &&
                            !g_file_test (options->diff, G_FILE_TEST_IS_REGULAR);
  guint from = 0, to = ir_history_cursor (model);

  if (!check_sides (options, error) ||
      (of_steps && !parse_range (options->diff, ir_history_n_steps (model), &from, &to, error)))
    return NULL;
  if (options->kept != 0)
    {
      picture->kept = kept_view (picture, model, error);
      picture->look = picture->kept != NULL ? ir_look_copy (picture->kept->look) : NULL;
    }
  else
    picture->look = cli_render_look (options, model, error);
  if (picture->look == NULL)
    return NULL;
  picture->facts = facts_of (picture, to, error);
  if (picture->facts == NULL || !close_folds (picture, error))
    return NULL;
  if (options->why != NULL)
    return why_scene (picture, error);
  if (options->rewrite != 0)
    return rewrite_scene (picture, model, error);
  return options->diff != NULL ? diff_scene (picture, model, error)
                               : draw (picture, model, NULL, NULL, error);
}

/* Steps are those of a pipeline, which need not run for another file. */
gboolean
cli_render_is_step_range (const char *diff)
{
  return diff != NULL && !g_file_test (diff, G_FILE_TEST_IS_REGULAR);
}
