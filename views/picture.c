#include "config.h"

#include "views/picture.h"

#include "core/render/render.h"
#include "views/overlay.h"

#include <math.h>

IrPictureSettings *
ir_picture_settings_new (guint serial,
                         IrShow show,
                         GHashTable *folded,
                         const char *overlay,
                         IrRun *run,
                         GPtrArray *problems)
{
  IrPictureSettings *settings = g_new0 (IrPictureSettings, 1);
  GHashTableIter iter;
  gpointer key;

  g_atomic_ref_count_init (&settings->ref_count);
  settings->serial = serial;
  settings->show = show;
  settings->folded = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_iter_init (&iter, folded);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_hash_table_add (settings->folded, g_strdup (key));
  settings->overlay = overlay;
  settings->run = run != NULL ? ir_run_ref (run) : NULL;
  settings->problems = g_ptr_array_ref (problems);
  return settings;
}

/**
 * ir_picture_settings_with_problems:
 *
 * Returns: (transfer full): the same settings for another model: its own problems, nothing folded
 */
IrPictureSettings *
ir_picture_settings_with_problems (const IrPictureSettings *settings, GPtrArray *problems)
{
  g_autoptr (GHashTable) none = g_hash_table_new (g_str_hash, g_str_equal);

  return ir_picture_settings_new (settings->serial, settings->show, none, settings->overlay, NULL,
                                  problems);
}

/* Before they are shared. @marks: (nullable), drawn after @step. */
void
ir_picture_settings_set_marks (IrPictureSettings *settings, IrSceneMarks *marks, guint step)
{
  settings->marks = marks != NULL ? ir_scene_marks_ref (marks) : NULL;
  settings->marks_step = step;
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
  g_clear_pointer (&settings->folded, g_hash_table_unref);
  g_clear_pointer (&settings->run, ir_run_unref);
  g_clear_pointer (&settings->problems, g_ptr_array_unref);
  g_clear_pointer (&settings->marks, ir_scene_marks_unref);
  g_free (settings);
}

/* -- overlays: the largest value is full tint; the square root keeps small ones visible -- */

typedef struct
{
  const IrOverlay *overlay;
  IrOverlayContext context;
  double max;
} Tint;

static char *
short_number (double value, const char *unit)
{
  static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
  guint i = 0;

  while (value >= 1000 && i + 1 < G_N_ELEMENTS (prefixes))
    {
      value /= 1000;
      i++;
    }
  return g_strdup_printf (value < 10 && value != floor (value) ? "%.2f %s%s" : "%.0f %s%s", value,
                          prefixes[i], unit);
}

static double
tint_of (const IrNode *node, char **label, gpointer data)
{
  const Tint *tint = data;
  const double value = tint->overlay->value (&tint->context, node);

  if (!isfinite (value))
    return NAN;
  *label = short_number (value, tint->overlay->unit);
  return tint->max > 0 ? sqrt (value / tint->max) : 0;
}

static double
largest_value (const IrOverlay *overlay, const IrOverlayContext *context)
{
  double max = 0;

  for (guint i = 1; i < context->model->nodes->len; i++)
    {
      const IrNode *node = context->model->nodes->pdata[i];
      double value;

      if (node == NULL || node->state != IR_STATE_LIVE)
        continue;
      value = overlay->value (context, node);
      if (isfinite (value))
        max = MAX (max, value);
    }
  return max;
}

/**
 * ir_picture_new:
 * @frame: the models and their diff
 * @previous: (nullable): a frame whose boxes keep their places
 *
 * Lays out the graph of @frame: the union of both sides where they differ.
 *
 * Returns: (transfer full) (nullable): the scene, or %NULL with @error
 */
IrScene *
ir_picture_new (const IrFrame *frame,
                const IrPictureSettings *settings,
                const IrFrame *previous,
                GCancellable *cancellable,
                GError **error)
{
  const IrOverlay *overlay = ir_overlay_find (settings->overlay);
  g_autoptr (GHashTable) times = ir_overlay_times (settings->run);
  g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
  Tint tint = { .overlay = overlay, .context = { frame->model, times } };
  IrSceneOptions options = {
    .measure = ir_text_measure_width,
    .measure_data = measure,
    .show_constants = (settings->show & IR_SHOW_CONSTANTS) != 0,
    .hide_shapes = (settings->show & IR_SHOW_SHAPES) == 0,
    .hide_names = (settings->show & IR_SHOW_NAMES) == 0,
    .flat = (settings->show & IR_SHOW_SCOPES) == 0,
    .direction = settings->show & IR_SHOW_SIDEWAYS ? IR_LAYOUT_LEFT_TO_RIGHT
                                                   : IR_LAYOUT_TOP_TO_BOTTOM,
    .folded = settings->folded,
    .problems = settings->problems,
    .marks = frame->marks,
    /* a pattern is seen best where its nodes are close together */
    .previous = previous != NULL && frame->marks == NULL ? previous->scene : NULL,
    .keep = frame->marks == NULL && previous != NULL && previous->scene != NULL
                ? IR_LAYOUT_KEEP_PLACES
                : IR_LAYOUT_KEEP_NOTHING,
  };

  if (overlay != NULL)
    {
      tint.max = largest_value (overlay, &tint.context);
      options.overlay = tint_of;
      options.overlay_data = &tint;
    }
  if (frame->from == frame->to && !frame->foreign)
    return ir_scene_new_for_model (frame->model, &options, cancellable, error);
  return ir_scene_new_for_diff (frame->diff, &options, cancellable, error);
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
