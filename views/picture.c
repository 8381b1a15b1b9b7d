#include "config.h"

#include "views/picture.h"

#include "core/render/render.h"
#include "views/session/frame.h"

#include <math.h>
#include <string.h>

IrPictureSettings *
ir_picture_settings_new (guint serial, const IrLook *look, GPtrArray *problems)
{
  IrPictureSettings *settings = g_new0 (IrPictureSettings, 1);

  g_atomic_ref_count_init (&settings->ref_count);
  settings->serial = serial;
  settings->look = ir_look_copy (look);
  settings->moves = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  settings->problems = g_ptr_array_ref (problems);
  return settings;
}

/**
 * ir_picture_settings_with_problems:
 *
 * Returns: (transfer full): the same settings for another model: its own problems, nothing folded,
 *   filtered or entered
 */
IrPictureSettings *
ir_picture_settings_with_problems (const IrPictureSettings *settings, GPtrArray *problems)
{
  g_autoptr (IrLook) look = ir_look_new ();

  look->show = settings->look->show;
  look->overlay = g_strdup (settings->look->overlay);
  look->scale = settings->look->scale;
  return ir_picture_settings_new (settings->serial, look, problems);
}

/* Before they are shared: what overlays may need; each nullable. */
void
ir_picture_settings_set_facts (IrPictureSettings *settings,
                               IrRun *run,
                               GHashTable *errors,
                               GHashTable *gradients,
                               GHashTable *updates,
                               IrNumbers *numbers)
{
  settings->run = run != NULL ? ir_run_ref (run) : NULL;
  settings->errors = errors != NULL ? g_hash_table_ref (errors) : NULL;
  settings->gradients = gradients != NULL ? g_hash_table_ref (gradients) : NULL;
  settings->updates = updates != NULL ? g_hash_table_ref (updates) : NULL;
  settings->numbers = numbers != NULL ? ir_numbers_ref (numbers) : NULL;
}

static void
add_keys (GHashTable *set, GHashTable *keys)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, keys);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_hash_table_add (set, g_strdup (key));
}

/* Before they are shared. */
void
ir_picture_settings_set_automatic (IrPictureSettings *settings, GHashTable *keys)
{
  add_keys (settings->look->automatic, keys);
}

/* Before they are shared: of the model that is drawn. */
void
ir_picture_settings_set_problems (IrPictureSettings *settings, GPtrArray *problems)
{
  g_ptr_array_unref (settings->problems);
  settings->problems = g_ptr_array_ref (problems);
}

/* Before they are shared. @marks: (nullable), drawn after @step. */
void
ir_picture_settings_set_marks (IrPictureSettings *settings, IrSceneMarks *marks, guint step)
{
  settings->marks = marks != NULL ? ir_scene_marks_ref (marks) : NULL;
  settings->marks_step = step;
}

/* Before they are shared: a box that stands elsewhere than it is laid out. */
void
ir_picture_settings_move (IrPictureSettings *settings, guint64 key, const IrLayoutPoint *by)
{
  g_hash_table_replace (settings->moves, g_memdup2 (&key, sizeof key), g_memdup2 (by, sizeof *by));
}

IrPictureSettings *
ir_picture_settings_ref (IrPictureSettings *settings)
{
  g_atomic_ref_count_inc (&settings->ref_count);
  return settings;
}

void
ir_picture_settings_unref (IrPictureSettings *settings)
{
  if (!g_atomic_ref_count_dec (&settings->ref_count))
    return;
  g_clear_pointer (&settings->look, ir_look_free);
  g_clear_pointer (&settings->moves, g_hash_table_unref);
  g_clear_pointer (&settings->run, ir_run_unref);
  g_clear_pointer (&settings->errors, g_hash_table_unref);
  g_clear_pointer (&settings->gradients, g_hash_table_unref);
  g_clear_pointer (&settings->updates, g_hash_table_unref);
  g_clear_pointer (&settings->numbers, ir_numbers_unref);
  g_clear_pointer (&settings->problems, g_ptr_array_unref);
  g_clear_pointer (&settings->marks, ir_scene_marks_unref);
  g_free (settings);
}

#define MAX_REVEALED 60 /* nodes that changed: of more, the numbers on folds are told */

static void
reveal_changes (GHashTable *folds, const IrDiff *diff)
{
  if (diff->nodes->len - diff->n_nodes[IR_DIFF_SAME] > MAX_REVEALED)
    return;
  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);

      if (item->kind == IR_DIFF_SAME)
        continue;
      if (item->b != 0)
        ir_look_reveal (folds, diff, ir_model_node (diff->b, item->b));
      if (item->a != 0)
        ir_look_reveal (folds, diff, ir_model_node (diff->a, item->a));
    }
}

static void
reveal_marks (GHashTable *folds, const IrModel *model, const IrSceneMarks *marks)
{
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, marks->states);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    if (ir_model_live_node (model, GPOINTER_TO_UINT (id)) != NULL)
      ir_look_reveal (folds, NULL, ir_model_live_node (model, GPOINTER_TO_UINT (id)));
}

/* What is closed in the picture of @frame: what was closed by hand, and by itself except where the
 * frame shows something. */
static GHashTable *
closed_in (const IrFrame *frame, const IrPictureSettings *settings)
{
  GHashTable *closed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  add_keys (closed, settings->look->automatic);
  if (frame->marks != NULL)
    reveal_marks (closed, frame->model, frame->marks);
  if (frame->foreign || frame->from != frame->to)
    reveal_changes (closed, frame->diff);
  add_keys (closed, settings->look->folded);
  return closed;
}

/* Of each thread, as Pango's fonts are: from step to step it knows nearly all names. */
static IrTextMeasure *
thread_measure (void)
{
  static GPrivate kept = G_PRIVATE_INIT ((GDestroyNotify) ir_text_measure_free);
  IrTextMeasure *measure = g_private_get (&kept);

  if (measure == NULL)
    g_private_set (&kept, measure = ir_text_measure_new ());
  return measure;
}

/**
 * ir_picture_facts:
 *
 * Returns: (transfer full): what is known to the overlay of @settings, but for the steps
 */
IrOverlayFacts *
ir_picture_facts (const IrPictureSettings *settings)
{
  const IrOverlay *overlay = ir_overlay_find (settings->look->overlay);
  IrOverlayFacts *facts = ir_overlay_facts_new ();

  ir_overlay_facts_add_run (facts, settings->run);
  ir_overlay_facts_add_errors (facts, settings->errors);
  ir_overlay_facts_add_gradients (facts, settings->gradients);
  ir_overlay_facts_add_updates (facts, settings->updates);
  ir_overlay_facts_add_numbers (facts, settings->numbers);
  if (overlay != NULL && (overlay->needs & IR_OVERLAY_NEEDS_VALUES) != 0)
    ir_overlay_facts_add_zeros (facts, settings->run);
  if (overlay != NULL && (overlay->needs & IR_OVERLAY_NEEDS_CONTENTS) != 0)
    ir_overlay_facts_add_thumbs (facts, settings->run, NULL);
  return facts;
}

/**
 * ir_picture_new:
 * @frame: the models and their diff
 * @previous: (nullable): a frame whose boxes keep their places
 * @facts: (nullable): what overlays know
 * @scale: (out) (optional) (nullable) (transfer full): what the colours mean
 *
 * Lays out the graph of @frame: the union of both sides where they differ.
 *
 * Returns: (transfer full) (nullable): the scene, or %NULL with @error
 */
IrScene *
ir_picture_new (const IrFrame *frame,
                const IrPictureSettings *settings,
                const IrFrame *previous,
                const IrOverlayFacts *facts,
                IrScale **scale,
                GCancellable *cancellable,
                GError **error)
{
  g_autoptr (GHashTable) closed = closed_in (frame, settings);
  const IrLookSubject subject = {
    .model = frame->model,
    .diff = frame->from == frame->to && !frame->foreign ? NULL : frame->diff,
    .closed = closed,
    .facts = facts,
    .problems = settings->problems,
    .marks = frame->marks,
    .moves = settings->moves,
    /* a pattern is seen best where its nodes are close together */
    .previous = previous != NULL && frame->marks == NULL ? previous->scene : NULL,
    /* where a group was opened the rest makes room for it, and no more than that */
    .keep = frame->marks != NULL || previous == NULL || previous->scene == NULL
                ? IR_LAYOUT_KEEP_NOTHING
            : previous->shape == frame->shape ? IR_LAYOUT_KEEP_PLACES
                                              : IR_LAYOUT_KEEP_ORDER,
    .measure = ir_text_measure_width,
    .measure_data = thread_measure (),
  };

  return ir_look_draw (settings->look, &subject, scale, cancellable, error);
}

/* Values and their shapes stand in the graph, and in the text beside: here is little room. */
IrScene *
ir_picture_of_rewrite (const IrRewrite *rewrite, IrSceneJoin join, GCancellable *cancellable)
{
  const IrSceneOptions options = { .measure = ir_text_measure_width,
                                   .measure_data = thread_measure (),
                                   .hide_shapes = TRUE,
                                   .flat = TRUE };

  return ir_rewrite_scene (rewrite, join, TRUE, &options, cancellable, NULL);
}

/**
 * ir_picture_is_format:
 *
 * Returns: whether the name of @path asks for a picture: SVG, PDF or PNG
 */
gboolean
ir_picture_is_format (const char *path)
{
  return g_str_has_suffix (path, ".svg") || g_str_has_suffix (path, ".pdf") ||
         g_str_has_suffix (path, ".png");
}

/**
 * ir_picture_save:
 * @path: ends with .svg, .pdf or .png
 *
 * Writes what the graph view shows.
 */
gboolean
ir_picture_save (const IrFrame *frame, const char *path, GError **error)
{
  IrRenderOptions options = { 0 };
  gboolean ok;

  if (frame->scene == NULL)
    {
      g_set_error_literal (error, IR_RENDER_ERROR, IR_RENDER_ERROR_FORMAT,
                           "There is no picture: the layout failed");
      return FALSE;
    }
  ok = ir_render_file (frame->scene, path, &options, error);
  g_free (options.note);
  return ok;
}
