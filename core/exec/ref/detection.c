/* Object detection: NonMaxSuppression, RoiAlign. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

/* -- NonMaxSuppression -- */

typedef struct
{
  double low[2], high[2];
} Box;

static Box
read_box (const double *numbers, gboolean by_centre)
{
  Box box;

  for (guint i = 0; i < 2; i++)
    {
      double a = numbers[i], b = numbers[i + 2];
      box.low[i] = by_centre ? a - b / 2 : MIN (a, b);
      box.high[i] = by_centre ? a + b / 2 : MAX (a, b);
    }
  return box;
}

static double
area (const Box *box)
{
  return MAX (box->high[0] - box->low[0], 0) * MAX (box->high[1] - box->low[1], 0);
}

static double
intersection_over_union (const Box *a, const Box *b)
{
  Box both;

  for (guint i = 0; i < 2; i++)
    {
      both.low[i] = MAX (a->low[i], b->low[i]);
      both.high[i] = MIN (a->high[i], b->high[i]);
    }
  double shared = area (&both), all = area (a) + area (b) - shared;
  return all > 0 ? shared / all : 0;
}

static int
by_falling_score (gconstpointer a, gconstpointer b, gpointer data)
{
  const double *scores = data;
  double first = scores[*(const gint64 *) a], second = scores[*(const gint64 *) b];

  return (first < second) - (first > second);
}

/* A number of an optional input. */
static gboolean
read_scalar (const IrCall *call, guint slot, double fallback, double *value, GError **error)
{
  const IrTensor *tensor = ir_call_input (call, slot);

  *value = fallback;
  if (tensor == NULL)
    return TRUE;
  if (ir_tensor_n_elements (tensor) != 1 || ir_ref_kind (ir_tensor_dtype (tensor)) == IR_REF_OTHER)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u must be one number", slot);
  *value = ir_tensor_get_double (tensor, 0);
  return TRUE;
}

typedef struct
{
  double most, overlap, least; /* limits: boxes of a class, intersection over union, score */
  const Box *boxes;
  gint64 n_boxes;
} Suppression;

/* Appends the boxes of one class that stay: [batch, class, box] each. FALSE: they are in no order.
 */
static gboolean
suppress (Suppression *s, const double *scores, gint64 batch, gint64 class, GArray *rows)
{
  g_autoptr (GArray) candidates = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GArray) kept = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (gint64 i = 0; i < s->n_boxes; i++)
    if (scores[i] > s->least)
      {
        g_array_append_val (candidates, i);
      }
  if (!ir_block_sort ((gint64 *) (gpointer) candidates->data, candidates->len,
                      by_falling_score, (gpointer) scores))
    return FALSE;
  for (guint c = 0; c < candidates->len && kept->len < s->most; c++)
    {
      gint64 index = g_array_index (candidates, gint64, c);
      gboolean stays = TRUE;
      for (guint k = 0; k < kept->len && stays; k++)
        stays = intersection_over_union (&s->boxes[index],
                                         &s->boxes[g_array_index (kept, gint64, k)]) <= s->overlap;
      if (!stays)
        continue;
      gint64 row[3] = { batch, class, index };
      g_array_append_val (kept, index);
      g_array_append_vals (rows, row, 3);
    }
  return TRUE;
}

static gboolean
check_numbers (const IrCall *call, GError **error)
{
  for (guint slot = 0; slot < 2; slot++)
    if (!ir_dtype_is_float (ir_tensor_dtype (ir_call_input (call, slot))))
      return ir_ref_fail_dtype (call, ir_tensor_dtype (ir_call_input (call, slot)), error);
  return TRUE;
}

/* Boxes [N, B, 4], scores [N, C, B], and limits. Source: ONNX NonMaxSuppression 11. */
gboolean
ir_ref_non_max_suppression (IrCall *call, GError **error)
{
  Suppression s = { 0 };

  if (!ir_call_check (call, error) || !call->op->infer (call, error) ||
      !check_numbers (call, error) || !read_scalar (call, 2, 0, &s.most, error) ||
      !read_scalar (call, 3, 0, &s.overlap, error) ||
      !read_scalar (call, 4, -INFINITY, &s.least, error))
    return FALSE;
  const gint64 *dims = ir_tensor_dims (ir_call_input (call, 1));
  gboolean by_centre = ir_call_int (call, "center_point_box", 0) != 0;
  g_autofree double *corners = ir_block_load_new (call, 0, error);
  g_autofree double *scores = ir_block_load_new (call, 1, error);
  g_autofree Box *boxes = g_try_new (Box, (gsize) MAX (dims[2], 1));
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (gint64));
  if (corners == NULL || scores == NULL)
    return FALSE;
  if (boxes == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for boxes");
  s.boxes = boxes;
  s.n_boxes = dims[2];
  for (gint64 batch = 0; batch < dims[0]; batch++)
    {
      for (gint64 i = 0; i < s.n_boxes; i++)
        boxes[i] = read_box (corners + (batch * s.n_boxes + i) * 4, by_centre);
      for (gint64 class = 0; class < dims[1] && s.n_boxes > 0; class ++)
        if (!suppress (&s, scores + (batch * dims[1] + class) * s.n_boxes, batch, class, rows))
          return ir_block_cancelled (call, error)
                     ? FALSE
                     : ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory to sort boxes");
    }
  gint64 shape[2] = { rows->len / 3, 3 };
  IrTensor *out = ir_call_new_output (call, 0, IR_DTYPE_INT64, 2, shape, error);
  if (out == NULL)
    return FALSE;
  for (guint i = 0; i < rows->len; i++)
    ir_ref_store_int (out, i, 1, &g_array_index (rows, gint64, i));
  return TRUE;
}

/* -- RoiAlign -- */

#define MOST_SAMPLES 4096 /* along a side of a cell */

typedef struct
{
  gint64 size;  /* elements of X along the axis */
  double start; /* of the region, in elements */
  double cell;  /* extent of a cell */
  gint64 n;     /* samples of a cell */
} Side;

/* The two elements around @at, and the weight of the second; FALSE: outside of X. */
static gboolean
neighbours (const Side *side, double at, gint64 *low, gint64 *high, double *weight)
{
  if (!(at >= -1 && at <= (double) side->size))
    return FALSE;
  at = CLAMP (at, 0, (double) (side->size - 1));
  *low = (gint64) at;
  *high = MIN (*low + 1, side->size - 1);
  *weight = at - (double) *low;
  return TRUE;
}

static double
sample (const double *plane, const Side sides[2], double y, double x, gboolean maximum)
{
  gint64 top, bottom, left, right;
  double down, across;

  if (!neighbours (&sides[0], y, &top, &bottom, &down) ||
      !neighbours (&sides[1], x, &left, &right, &across))
    return 0;
  gint64 width = sides[1].size;
  double corners[4] = { (1 - down) * (1 - across) * plane[top * width + left],
                        (1 - down) * across * plane[top * width + right],
                        down * (1 - across) * plane[bottom * width + left],
                        down * across * plane[bottom * width + right] };
  if (maximum) /* of the weighted neighbours, as the standard's kernels have it */
    return MAX (MAX (corners[0], corners[1]), MAX (corners[2], corners[3]));
  return corners[0] + corners[1] + corners[2] + corners[3];
}

static double
pool_cell (const double *plane,
           const Side sides[2],
           gint64 row,
           gint64 column,
           gboolean maximum)
{
  double result = maximum ? -INFINITY : 0;

  for (gint64 i = 0; i < sides[0].n; i++)
    for (gint64 k = 0; k < sides[1].n; k++)
      {
        double y = ((double) row + ((double) i + 0.5) / (double) sides[0].n) * sides[0].cell;
        double x = ((double) column + ((double) k + 0.5) / (double) sides[1].n) * sides[1].cell;
        double value = sample (plane, sides, sides[0].start + y, sides[1].start + x, maximum);
        result = maximum ? MAX (result, value) : result + value;
      }
  if (sides[0].n * sides[1].n == 0)
    return 0;
  return maximum ? result : result / (double) (sides[0].n * sides[1].n);
}

static gboolean
read_side (const IrCall *call,
           Side *side,
           gint64 size,
           double from,
           double to,
           gint64 cells,
           GError **error)
{
  const char *mode = ir_call_string (call, "coordinate_transformation_mode", "half_pixel");
  gboolean shifted = strcmp (mode, "half_pixel") == 0;
  double scale = ir_call_float (call, "spatial_scale", 1), extent = (to - from) * scale;
  gint64 ratio = ir_call_int (call, "sampling_ratio", 0);

  if (!shifted)
    extent = MAX (extent, 1);
  side->size = size;
  side->start = from * scale - (shifted ? 0.5 : 0);
  side->cell = extent / (double) cells;
  double n = ratio > 0 ? (double) ratio : ceil (side->cell);
  if (!(n <= MOST_SAMPLES) || !isfinite (side->start))
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "a region from %g to %g needs too many samples", from, to);
  side->n = (gint64) MAX (n, 0);
  return TRUE;
}

static gboolean
align_region (IrCall *call, gint64 region, const double *roi, const double *x, GError **error)
{
  const gint64 *dims = ir_tensor_dims (ir_call_input (call, 0));
  IrTensor *y = call->outputs[0].tensor;
  gint64 cells[2] = { ir_tensor_dims (y)[2], ir_tensor_dims (y)[3] };
  gboolean maximum = strcmp (ir_call_string (call, "mode", "avg"), "max") == 0;
  gint64 batch = ir_tensor_get_int64 (ir_call_input (call, 2), (guint64) region);
  Side sides[2];

  if (batch < 0 || batch >= dims[0])
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "region %" G_GINT64_FORMAT " is of sample %" G_GINT64_FORMAT
                         " of %" G_GINT64_FORMAT,
                         region, batch, dims[0]);
  for (guint i = 0; i < 2; i++)
    if (!read_side (call, &sides[i], dims[2 + i], roi[1 - i], roi[3 - i], cells[i], error))
      return FALSE;
  for (gint64 c = 0; c < dims[1]; c++)
    for (gint64 row = 0; row < cells[0]; row++)
      for (gint64 column = 0; column < cells[1]; column++)
        {
          const double *plane = x + (batch * dims[1] + c) * dims[2] * dims[3];
          double value = pool_cell (plane, sides, row, column, maximum);
          gint64 place = ((region * dims[1] + c) * cells[0] + row) * cells[1] + column;
          ir_block_store (y, (guint64) place, 1, &value);
        }
  return TRUE;
}

/* X [N, C, H, W], rois [R, 4], batch_indices [R]. Source: ONNX RoiAlign 16. */
gboolean
ir_ref_roi_align (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error) || !check_numbers (call, error))
    return FALSE;
  const gint64 *dims = ir_tensor_dims (ir_call_input (call, 0));
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (y) == 0)
    return TRUE;
  if (dims[2] == 0 || dims[3] == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has no elements to sample");
  g_autofree double *x = ir_block_load_new (call, 0, error);
  g_autofree double *rois = ir_block_load_new (call, 1, error);
  if (x == NULL || rois == NULL)
    return FALSE;
  for (gint64 r = 0; r < ir_tensor_dims (y)[0]; r++)
    if (ir_block_cancelled (call, error) || !align_region (call, r, rois + 4 * r, x, error))
      return FALSE;
  return TRUE;
}
