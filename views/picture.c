#include "config.h"

#include "views/picture.h"

#include "core/render/render.h"
#include "views/overlay.h"
#include "views/session/frame.h"

#include <math.h>
#include <string.h>

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
  settings->automatic = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  settings->moves = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
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

static guint64
hash_keys (GHashTable *keys)
{
  GHashTableIter iter;
  gpointer key;
  guint64 sum = 0;

  g_hash_table_iter_init (&iter, keys);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      guint64 h = 0xcbf29ce484222325u;

      for (const char *p = key; *p != '\0'; p++)
        h = (h ^ (guchar) *p) * 0x100000001b3u;
      sum += h * 0x9e3779b97f4a7c15u; /* in any order */
    }
  return sum;
}

/**
 * ir_picture_shape:
 *
 * Returns: the same number for settings that put the boxes of one graph into the same places
 */
guint64
ir_picture_shape (const IrPictureSettings *settings)
{
  return hash_keys (settings->folded) * 31 + hash_keys (settings->automatic) * 7 +
         (guint64) settings->show;
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
  add_keys (settings->automatic, keys);
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
  g_clear_pointer (&settings->folded, g_hash_table_unref);
  g_clear_pointer (&settings->automatic, g_hash_table_unref);
  g_clear_pointer (&settings->moves, g_hash_table_unref);
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

/* -- large graphs: scopes are closed until the rest can be read -- */

#define MANY_BOXES   60     /* what is left open is not more, if that can be */
#define MORE_BOXES   30     /* that may come to what lies outside of all scopes */
#define SMALL_HEIGHT 1800.0 /* px; as much fits a window at a scale at which operators are read */
#define SMALL_WIDTH  3000.0
#define SCOPE        "scope:" /* of keys of folds */

/* The scopes of a picture, by box. */
typedef struct
{
  guint n, deepest;
  const IrSceneBox *boxes;
  guint *depths;      /* scopes around a box, itself included if it is one */
  gboolean *has_more; /* of a scope: there are scopes in it */
} Scopes;

static gboolean
is_scope (const IrSceneBox *box)
{
  return box->kind == IR_SCENE_CLUSTER && box->fold != NULL && g_str_has_prefix (box->fold, SCOPE);
}

static void
find_scopes (Scopes *scopes, const IrScene *scene)
{
  scopes->boxes = ir_scene_boxes (scene, &scopes->n);
  scopes->deepest = 0;
  scopes->depths = g_new0 (guint, scopes->n + 1);
  scopes->has_more = g_new0 (gboolean, scopes->n + 1);
  for (guint i = 0; i < scopes->n; i++)
    {
      for (gint32 k = (gint32) i; k >= 0; k = scopes->boxes[k].parent)
        {
          scopes->depths[i] += is_scope (&scopes->boxes[k]);
          if (k != (gint32) i && is_scope (&scopes->boxes[i]))
            scopes->has_more[k] = TRUE;
        }
      scopes->deepest = MAX (scopes->deepest, scopes->depths[i]);
    }
}

/* Whether a scope is closed when those of @level are: these, and those that end before. */
static gboolean
is_closed (const Scopes *scopes, guint index, guint level)
{
  return is_scope (&scopes->boxes[index]) &&
         (scopes->depths[index] == level ||
          (scopes->depths[index] < level && !scopes->has_more[index]));
}

/* Boxes that are left then. */
static guint
left_at (const Scopes *scopes, guint level)
{
  guint left = 0;

  for (guint i = 0; i < scopes->n; i++)
    {
      gint32 around = scopes->boxes[i].parent;

      while (around >= 0 && !is_closed (scopes, (guint) around, level))
        around = scopes->boxes[around].parent;
      left += around < 0 &&
              (scopes->boxes[i].kind != IR_SCENE_CLUSTER || is_closed (scopes, i, level));
    }
  return left;
}

static GHashTable *
choose_level (const Scopes *scopes)
{
  GHashTable *keys;
  guint level = scopes->deepest;
  const guint outermost = left_at (scopes, 1);

  if (scopes->deepest == 0 || 3 * outermost > scopes->n)
    return NULL;
  while (level > 1 && left_at (scopes, level) > MAX (MANY_BOXES, outermost + MORE_BOXES))
    level--;
  keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < scopes->n; i++)
    if (is_closed (scopes, i, level))
      g_hash_table_add (keys, g_strdup (scopes->boxes[i].fold));
  return keys;
}

/* Copies of one block, and arithmetic on shapes. */
static gboolean
nobody_reads (const IrSceneBox *box)
{
  return box->kind == IR_SCENE_CLUSTER && box->fold != NULL &&
         (g_str_has_prefix (box->fold, "repeat:") || g_str_has_prefix (box->fold, "shape:"));
}

/**
 * ir_picture_choose_folds:
 * @scene: the picture of a graph with all scopes open
 *
 * Returns: (transfer full) (nullable): keys of the scopes to close so that the picture can be taken
 *   in at once: copies of one block, arithmetic on shapes, and those of the deepest level that leaves few boxes, or few more than closing the
 *   outermost ones does; %NULL if the picture is small, or has no scopes to speak of
 */
GHashTable *
ir_picture_choose_folds (const IrScene *scene)
{
  const IrLayoutRect bounds = ir_scene_bounds (scene);
  Scopes scopes;
  GHashTable *keys = NULL;

  find_scopes (&scopes, scene);
  if (scopes.n > MANY_BOXES && (bounds.height > SMALL_HEIGHT || bounds.width > SMALL_WIDTH))
    keys = choose_level (&scopes);
  for (guint i = 0; i < scopes.n; i++)
    if (nobody_reads (&scopes.boxes[i]))
      {
        if (keys == NULL)
          keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
        g_hash_table_add (keys, g_strdup (scopes.boxes[i].fold));
      }
  g_free (scopes.depths);
  g_free (scopes.has_more);
  return keys;
}

/**
 * ir_picture_reveal:
 * @folds: keys of folds that are closed
 * @diff: (nullable): what the picture is made of
 * @node: a node of either side
 *
 * Takes what @node lies in out of @folds.
 *
 * Returns: whether there was some
 */
gboolean
ir_picture_reveal (GHashTable *folds, const IrDiff *diff, const IrNode *node)
{
  g_autoptr (GPtrArray) keys = NULL;
  gboolean any = FALSE;

  if (g_hash_table_size (folds) == 0)
    return FALSE;
  keys = ir_scene_fold_keys (diff, node);
  for (guint i = 0; i < keys->len; i++)
    any |= g_hash_table_remove (folds, keys->pdata[i]);
  return any;
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
        ir_picture_reveal (folds, diff, ir_model_node (diff->b, item->b));
      if (item->a != 0)
        ir_picture_reveal (folds, diff, ir_model_node (diff->a, item->a));
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
      ir_picture_reveal (folds, NULL, ir_model_live_node (model, GPOINTER_TO_UINT (id)));
}

/* What is closed in the picture of @frame: what was closed by hand, and by itself except where the
 * frame shows something. */
static GHashTable *
closed_in (const IrFrame *frame, const IrPictureSettings *settings)
{
  GHashTable *closed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  add_keys (closed, settings->automatic);
  if (frame->marks != NULL)
    reveal_marks (closed, frame->model, frame->marks);
  if (frame->foreign || frame->from != frame->to)
    reveal_changes (closed, frame->diff);
  add_keys (closed, settings->folded);
  return closed;
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
  g_autoptr (GHashTable) closed = closed_in (frame, settings);
  g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
  Tint tint = { .overlay = overlay, .context = { frame->model, times } };
  IrSceneOptions options = {
    .measure = ir_text_measure_width,
    .measure_data = measure,
    .show_constants = (settings->show & IR_SHOW_CONSTANTS) != 0,
    .hide_shapes = (settings->show & IR_SHOW_SHAPES) == 0,
    .hide_names = (settings->show & IR_SHOW_NAMES) == 0,
    .flat = (settings->show & IR_SHOW_SCOPES) == 0,
    .wrapped = (settings->show & IR_SHOW_COLUMNS) != 0,
    .direction = settings->show & IR_SHOW_SIDEWAYS ? IR_LAYOUT_LEFT_TO_RIGHT
                                                   : IR_LAYOUT_TOP_TO_BOTTOM,
    .folded = closed,
    .problems = settings->problems,
    .marks = frame->marks,
    /* a pattern is seen best where its nodes are close together */
    .previous = previous != NULL && frame->marks == NULL ? previous->scene : NULL,
    /* where a group was opened the rest makes room for it, and no more than that */
    .keep = frame->marks != NULL || previous == NULL || previous->scene == NULL
                ? IR_LAYOUT_KEEP_NOTHING
            : previous->shape == frame->shape ? IR_LAYOUT_KEEP_PLACES
                                              : IR_LAYOUT_KEEP_ORDER,
  };
  IrScene *scene;

  if (overlay != NULL)
    {
      tint.max = largest_value (overlay, &tint.context);
      options.overlay = tint_of;
      options.overlay_data = &tint;
    }
  scene = frame->from == frame->to && !frame->foreign
              ? ir_scene_new_for_model (frame->model, &options, cancellable, error)
              : ir_scene_new_for_diff (frame->diff, &options, cancellable, error);
  if (scene != NULL && g_hash_table_size (settings->moves) > 0)
    ir_scene_move (scene, settings->moves);
  return scene;
}

/* Values and their shapes stand in the graph, and in the text beside: here is little room. */
IrScene *
ir_picture_of_rewrite (const IrRewrite *rewrite, IrSceneJoin join, GCancellable *cancellable)
{
  g_autoptr (IrTextMeasure) measure = ir_text_measure_new ();
  const IrSceneOptions options = {
    .measure = ir_text_measure_width, .measure_data = measure, .hide_shapes = TRUE, .flat = TRUE
  };

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
