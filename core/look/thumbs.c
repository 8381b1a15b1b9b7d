/* Small pictures of what nodes made. They are sampled: a value of any size takes the same few reads, and what
 * a picture so small cannot show is looked for elsewhere. */
#include "config.h"

#include "core/look/overlay.h"

#include <math.h>

#define WIDTH   64 /* cells at most */
#define HEIGHT  32
#define LEAST   8 /* cells of a plane from left to right */
#define SAMPLES 3 /* elements that are looked at for a cell, from left to right and down */

/* The last three axes longer than 1. A row that is longer than the picture stands in several. */
typedef struct
{
  const IrTensor *tensor;
  guint64 columns, rows, planes;
  guint64 column_step, row_step, plane_step; /* elements */
  guint64 wrapped;                           /* elements of such a row; 0: it does not */
} Axes;

/* Planes beside each other, all of one size in cells. */
typedef struct
{
  guint across, down, width, height;
} Tiles;

static void
find_axes (const IrTensor *tensor, Axes *axes)
{
  guint64 step = 1;

  *axes = (Axes){ .tensor = tensor, .columns = 1, .rows = 1, .planes = 1 };
  for (guint i = ir_tensor_rank (tensor); i-- > 0 && axes->planes == 1;)
    {
      const guint64 size = (guint64) ir_tensor_dims (tensor)[i];
      guint64 *of[] = { &axes->columns,  &axes->column_step, &axes->rows,
                        &axes->row_step, &axes->planes,      &axes->plane_step };
      const guint which = axes->columns == 1 ? 0 : axes->rows == 1 ? 2 : 4;

      if (size > 1)
        {
          *of[which] = size;
          *of[which + 1] = step;
        }
      step *= size;
    }
  if (axes->rows > 1 || axes->columns <= WIDTH)
    return;
  axes->wrapped = axes->columns;
  axes->columns = (guint64) ceil (sqrt (axes->wrapped * (double) WIDTH / HEIGHT));
  axes->rows = (axes->wrapped + axes->columns - 1) / axes->columns;
  axes->row_step = axes->columns * axes->column_step;
}

/* Few planes, that can be told from each other; a plane keeps its shape where it can. */
static Tiles
find_tiles (const Axes *axes)
{
  Tiles tiles = { .across = axes->planes >= 8 ? 4 : MIN ((guint) axes->planes, 2),
                  .down = axes->planes >= 8 ? 2 : 1 };
  const guint most = WIDTH / tiles.across - (tiles.across > 1);

  tiles.height = HEIGHT / tiles.down - (tiles.down > 1);
  tiles.width = axes->rows == 1
                    ? most
                    : (guint) CLAMP (round ((double) tiles.height * (double) axes->columns /
                                            (double) axes->rows),
                                     LEAST, most);
  return tiles;
}

/* What must not be missed: NaN, then an infinity, then the largest magnitude. */
static gboolean
is_stronger (double value, double than)
{
  return !isnan (than) && (isnan (value) || fabs (value) > fabs (than));
}

static float
cell_at (const Axes *axes, const Tiles *tiles, guint64 plane, guint x, guint y)
{
  const guint64 r0 = y * axes->rows / tiles->height, c0 = x * axes->columns / tiles->width;
  const guint64 n_r = MAX ((y + 1) * axes->rows / tiles->height - r0, 1),
                n_c = MAX ((x + 1) * axes->columns / tiles->width - c0, 1);
  const guint64 r_by = (n_r + SAMPLES - 1) / SAMPLES, c_by = (n_c + SAMPLES - 1) / SAMPLES;
  double best = 0;
  gboolean some = FALSE;

  for (guint64 r = r0; r < r0 + n_r; r += r_by)
    for (guint64 c = c0; c < c0 + n_c; c += c_by)
      {
        if (axes->wrapped > 0 && r * axes->columns + c >= axes->wrapped)
          continue;
        const double value = ir_tensor_get_double (
            axes->tensor, plane * axes->plane_step + r * axes->row_step + c * axes->column_step);

        best = !some || is_stronger (value, best) ? value : best;
        some = TRUE;
      }
  return some ? (float) best : NAN;
}

static void
fill_tile (IrSceneThumb *thumb, const Axes *axes, const Tiles *tiles, guint plane, guint8 *known)
{
  const guint left = plane % tiles->across * (tiles->width + 1),
              top = plane / tiles->across * (tiles->height + 1);

  for (guint y = 0; y < tiles->height; y++)
    for (guint x = 0; x < tiles->width; x++)
      {
        const guint64 first = y * axes->rows / tiles->height * axes->columns +
                              x * axes->columns / tiles->width;

        const guint cell = (top + y) * thumb->width + left + x;

        if (axes->wrapped > 0 && first >= axes->wrapped)
          continue;
        thumb->cells[cell] = cell_at (axes, tiles, plane, x, y);
        known[cell] = TRUE;
      }
}

/* Around zero where both signs occur, else from the least to the largest. @known: cells with contents */
static void
scale_cells (IrSceneThumb *thumb, const guint8 *known)
{
  const guint n = thumb->width * thumb->height;
  float low = INFINITY, high = -INFINITY;

  for (guint i = 0; i < n; i++)
    if (known[i] && isfinite (thumb->cells[i]))
      {
        low = MIN (low, thumb->cells[i]);
        high = MAX (high, thumb->cells[i]);
      }
  thumb->diverging = low < 0 && high > 0;
  const float least = thumb->diverging ? 0 : low,
              range = thumb->diverging ? MAX (-low, high) : high - low;
  for (guint i = 0; i < n; i++)
    if (!known[i])
      thumb->cells[i] = IR_SCENE_THUMB_GAP;
    else if (isfinite (thumb->cells[i]))
      thumb->cells[i] = range > 0 && isfinite (range) ? (thumb->cells[i] - least) / range : 0;
}

/**
 * ir_thumb_of_tensor:
 * @tensor: any tensor
 *
 * Returns: (transfer full) (nullable): a small picture of it; %NULL if it has fewer than two real numbers
 */
IrSceneThumb *
ir_thumb_of_tensor (const IrTensor *tensor)
{
  const IrDtypeKind kind = ir_dtype_kind (ir_tensor_dtype (tensor));
  Axes axes;

  if (ir_tensor_is_container (tensor) || kind == IR_DTYPE_KIND_STRING ||
      kind == IR_DTYPE_KIND_COMPLEX || ir_tensor_n_elements (tensor) < 2)
    return NULL;
  find_axes (tensor, &axes);
  const Tiles tiles = find_tiles (&axes);
  IrSceneThumb *thumb = ir_scene_thumb_new (tiles.across * (tiles.width + 1) - 1,
                                            tiles.down * (tiles.height + 1) - 1);
  g_autofree guint8 *known = g_new0 (guint8, (gsize) thumb->width * thumb->height);

  for (guint plane = 0; plane < tiles.across * tiles.down; plane++)
    fill_tile (thumb, &axes, &tiles, plane, known);
  scale_cells (thumb, known);
  return thumb;
}

/**
 * ir_overlay_facts_add_thumbs:
 * @facts: facts that nobody else reads yet
 * @run: (nullable): a run that has kept values
 * @cancellable: (nullable): polled
 *
 * A small picture of the first output of each node that the run has kept.
 */
void
ir_overlay_facts_add_thumbs (IrOverlayFacts *facts, const IrRun *run, GCancellable *cancellable)
{
  if (run == NULL || run->model == NULL || facts->thumbs != NULL)
    return;
  facts->thumbs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_scene_thumb_unref);
  for (guint id = 1; id < run->model->nodes->len && !g_cancellable_is_cancelled (cancellable); id++)
    {
      const IrNode *node = ir_model_live_node (run->model, id);
      const IrValue *value = node != NULL && node->n_outputs > 0 ? node->outputs[0] : NULL;
      const IrTensor *tensor = value != NULL && value->id < run->n_values
                                   ? ir_run_value (run, value->id)
                                   : NULL;
      IrSceneThumb *thumb = tensor != NULL ? ir_thumb_of_tensor (tensor) : NULL;

      if (thumb != NULL)
        g_hash_table_insert (facts->thumbs, GUINT_TO_POINTER (id), thumb);
    }
}
