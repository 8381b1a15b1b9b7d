/* Operators on images: blocks, grids, cropping, unpooling and regions. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/op/infer-window.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

/* The next place of a space of @rank axes, the last one fastest; FALSE behind the last place. */
static gboolean
advance (gint64 *at, guint rank, const gint64 *dims)
{
  for (guint i = rank; i-- > 0;)
    {
      if (++at[i] < dims[i])
        return TRUE;
      at[i] = 0;
    }
  return FALSE;
}

static gint64
product (const gint64 *dims, guint n)
{
  gint64 result = 1;

  for (guint i = 0; i < n; i++)
    result *= dims[i];
  return result;
}

/* -- Col2Im -- */

/* Sums of one image: reals, or integers that wrap around; of bools, whether any is set. */
typedef struct
{
  IrRefKind kind;
  IrDtype dtype;
  double *reals;
  gint64 *integers;
} Sums;

static void
sums_add (Sums *sums, gint64 place, const IrTensor *tensor, gint64 offset)
{
  double real;
  gint64 integer;

  if (sums->kind == IR_REF_REAL)
    {
      ir_ref_load_real (tensor, &offset, 1, &real);
      sums->reals[place] += real;
      return;
    }
  ir_ref_load_int (tensor, &offset, 1, &integer);
  sums->integers[place] = sums->dtype == IR_DTYPE_BOOL
                              ? sums->integers[place] | (integer != 0)
                              : (gint64) ((guint64) sums->integers[place] + (guint64) integer);
}

/* Place in the image of element @tap of block @at, or -1: in the padding. */
static gint64
place_in_image (const IrWindow *window, const gint64 *at, const gint64 *tap)
{
  gint64 place = 0;

  for (guint i = 0; i < window->n_axes; i++)
    {
      gint64 index = at[i] * window->stride[i] - window->pad_begin[i] +
                     tap[i] * window->dilation[i];
      if (index < 0 || index >= window->in[i])
        return -1;
      place = place * window->in[i] + index;
    }
  return place;
}

/* Adds the rows of one channel, [elements of a block, blocks] from @offset on. */
static void
add_blocks (
    const IrCall *call, Sums *sums, const IrWindow *window, const IrTensor *x, gint64 offset)
{
  gint64 tap[IR_WINDOW_MAX_AXES] = { 0 };

  do
    {
      gint64 at[IR_WINDOW_MAX_AXES] = { 0 };
      do
        {
          gint64 place = place_in_image (window, at, tap);
          if (place >= 0)
            sums_add (sums, place, x, offset);
          offset++;
        }
      while (advance (at, window->n_axes, window->out));
    }
  while (advance (tap, window->n_axes, window->kernel));
}

/* Inference compares sizes as far as products fit; here nothing may be left open. */
static gboolean
has_blocks (const IrCall *call, const IrWindow *window, GError **error)
{
  const gint64 *dims = ir_tensor_dims (ir_call_input (call, 0));
  guint64 elements = 1, blocks = 1;

  for (guint i = 0; i < window->n_axes; i++)
    {
      elements = ir_mul_saturated (elements, (guint64) window->kernel[i]);
      blocks = ir_mul_saturated (blocks, (guint64) window->out[i]);
    }
  return (blocks == (guint64) dims[2] && (guint64) dims[1] % elements == 0) ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "there are %" G_GINT64_FORMAT " columns, needed are %" G_GUINT64_FORMAT,
                       dims[2], blocks);
}

/* Input [N, C * elements of a block, blocks], image_shape, block_shape. Source: ONNX Col2Im 18. */
gboolean
ir_ref_col2im (IrCall *call, GError **error)
{
  g_autofree gint64 *block = NULL;
  g_autofree double *scratch = NULL;
  IrWindow window;
  guint n;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0);
  Sums sums = { .dtype = ir_tensor_dtype (x), .kind = ir_ref_kind (ir_tensor_dtype (x)) };
  if (sums.kind == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, sums.dtype, error);
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL || !ir_call_input_ints (call, 2, &block, &n) ||
      !ir_window_init (&window, call, n, ir_tensor_dims (y) + 2, block, error))
    return FALSE;
  if (ir_tensor_n_elements (y) == 0)
    return TRUE;
  if (!has_blocks (call, &window, error))
    return FALSE;
  guint64 size = (guint64) product (window.in, n), columns = (guint64) product (window.out, n);
  guint64 n_images = size > 0 ? ir_tensor_n_elements (y) / size : 0;
  scratch = ir_block_new (call, size, error);
  if (scratch == NULL)
    return FALSE;
  sums.reals = scratch;
  sums.integers = (gint64 *) (gpointer) scratch;
  for (guint64 i = 0; i < n_images; i++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      memset (scratch, 0, sizeof *scratch * size);
      add_blocks (call, &sums, &window, x,
                  (gint64) (i * (guint64) product (window.kernel, n) * columns));
      if (sums.kind == IR_REF_REAL)
        ir_block_store (y, i * size, size, sums.reals);
      else
        for (guint64 k = 0; k < size; k++)
          ir_ref_store_int (y, i * size + k, 1, &sums.integers[k]);
    }
  return TRUE;
}

/* -- AffineGrid -- */

/* Place @i of @n along an axis from -1 to 1. */
static double
even_place (gint64 i, gint64 n, gboolean align)
{
  if (align)
    return n > 1 ? 2 * (double) i / (double) (n - 1) - 1 : -1;
  return (2 * (double) i + 1) / (double) n - 1;
}

/* Theta [N, 2, 3] or [N, 3, 4], size [N, C, H, W] or [N, C, D, H, W]. Places are vectors with
 * the last axis first, as GridSample wants them. Source: ONNX AffineGrid 20. */
gboolean
ir_ref_affine_grid (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  gboolean align = ir_call_int (call, "align_corners", 0) != 0;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (y) == 0)
    return TRUE;
  g_autofree double *theta = ir_block_load_new (call, 0, error);
  if (theta == NULL)
    return FALSE;
  const gint64 *dims = ir_tensor_dims (y);
  guint n_axes = ir_tensor_rank (y) - 2;
  gint64 at[4] = { 0 };
  guint64 place = 0;
  do
    {
      const double *matrix = theta + at[0] * n_axes * (n_axes + 1);
      double moved[3];
      for (guint row = 0; row < n_axes; row++)
        {
          const double *weights = matrix + row * (n_axes + 1);
          moved[row] = weights[n_axes];
          for (guint i = 0; i < n_axes; i++)
            {
              guint axis = n_axes - i;
              moved[row] += weights[i] * even_place (at[axis], dims[axis], align);
            }
        }
      ir_block_store (y, place, n_axes, moved);
      place += n_axes;
    }
  while (advance (at, n_axes + 1, dims));
  return TRUE;
}

/* -- CenterCropPad -- */

/* All elements of an output that are not copied: zeros, and empty strings. */
static void
clear_output (IrRefWriter *writer)
{
  memset (writer->data, 0, writer->n * writer->size);
}

/* Source: ONNX CenterCropPad 18 */
gboolean
ir_ref_center_crop_pad (IrCall *call, GError **error)
{
  g_auto (IrRefReader) reader = { 0 };
  g_auto (IrRefWriter) writer = { 0 };
  gint64 common[IR_MAX_RANK], first_in[IR_MAX_RANK], first_out[IR_MAX_RANK];
  gint64 at[IR_MAX_RANK] = { 0 };

  if (!ir_ref_prepare (call, error) ||
      !ir_ref_reader_init (&reader, call, ir_call_input (call, 0), error) ||
      !ir_ref_writer_init (&writer, call, 0, error))
    return FALSE;
  const gint64 *in = ir_tensor_dims (ir_call_input (call, 0)), *out = call->outputs[0].type->dims;
  guint rank = ir_tensor_rank (ir_call_input (call, 0));
  clear_output (&writer);
  for (guint i = 0; i < rank; i++)
    {
      common[i] = MIN (in[i], out[i]);
      first_in[i] = (in[i] - common[i]) / 2;
      first_out[i] = (out[i] - common[i]) / 2;
    }
  if (rank == 0)
    ir_ref_copy_run (&writer, 0, &reader, 0, 1);
  else if (reader.n > 0 && writer.n > 0)
    do
      {
        gint64 from = 0, to = 0;
        for (guint i = 0; i < rank; i++)
          {
            from = from * in[i] + first_in[i] + at[i];
            to = to * out[i] + first_out[i] + at[i];
          }
        ir_ref_copy_run (&writer, (guint64) to, &reader, (guint64) from,
                         (guint64) common[rank - 1]);
      }
    while (advance (at, rank - 1, common));
  return ir_ref_writer_finish (&writer, error);
}

/* -- MaxUnpool -- */

/* X [N, C, ...], I of the same shape, output_shape. Indices count in the tensor that the
 * attributes say X was pooled from; a larger output_shape adds zeros behind it, along each axis.
 * Source: ONNX MaxUnpool 22, and its case with output_shape. */
gboolean
ir_ref_max_unpool (IrCall *call, GError **error)
{
  g_auto (IrRefReader) reader = { 0 };
  g_auto (IrRefWriter) writer = { 0 };
  IrWindow window;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0), *indices = ir_call_input (call, 1);
  guint rank = ir_tensor_rank (x);
  gint64 pooled[IR_WINDOW_MAX_AXES + 2];
  const gint64 *out = call->outputs[0].type->dims;
  if (!ir_window_init_transposed (&window, call, rank - 2, ir_tensor_dims (x) + 2, NULL, error) ||
      !ir_ref_reader_init (&reader, call, x, error) ||
      !ir_ref_writer_init (&writer, call, 0, error))
    return FALSE;
  clear_output (&writer);
  for (guint i = 0; i < rank; i++)
    pooled[i] = i < 2 ? ir_tensor_dims (x)[i] : window.out[i - 2];
  gint64 end = product (pooled, rank);
  for (guint64 i = 0; i < reader.n; i++)
    {
      gint64 index = ir_tensor_get_int64 (indices, i), rest = index, place = 0, stride = 1;
      if (index < 0 || index >= end)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "index %" G_GINT64_FORMAT " is outside [0, %" G_GINT64_FORMAT ")",
                             index, end);
      for (guint axis = rank; axis-- > 0; rest /= pooled[axis])
        {
          place += rest % pooled[axis] * stride;
          stride *= out[axis];
        }
      ir_ref_copy_run (&writer, (guint64) place, &reader, i, 1);
    }
  return ir_ref_writer_finish (&writer, error);
}

/* -- MaxRoiPool -- */

typedef struct
{
  gint64 first; /* of the region, in elements of X; may lie outside */
  double cell;  /* extent of a cell */
  gint64 size;  /* of X */
} RoiSide;

/* Both ends of a region belong to it; it has at least one element. */
static gboolean
roi_side_init (
    RoiSide *side, const IrCall *call, double from, double to, gint64 cells, GError **error)
{
  double scale = ir_call_float (call, "spatial_scale", 1);
  double first = round (from * scale), last = round (to * scale);

  if (!(fabs (first) < G_MAXINT32 && fabs (last) < G_MAXINT32))
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "a region goes from %g to %g", from, to);
  side->first = (gint64) first;
  side->cell = MAX (last - first + 1, 1) / (double) cells;
  return TRUE;
}

static void
roi_cell (const RoiSide *side, gint64 cell, gint64 *low, gint64 *high)
{
  *low = CLAMP ((gint64) floor ((double) cell * side->cell) + side->first, 0, side->size);
  *high = CLAMP ((gint64) ceil ((double) (cell + 1) * side->cell) + side->first, 0, side->size);
}

/* A cell without elements gives 0. */
static double
largest_in_cell (
    const double *plane, const RoiSide sides[2], gint64 row, gint64 column)
{
  gint64 top, bottom, left, right;
  double best = -INFINITY;

  roi_cell (&sides[0], row, &top, &bottom);
  roi_cell (&sides[1], column, &left, &right);
  for (gint64 y = top; y < bottom; y++)
    for (gint64 x = left; x < right; x++)
      {
        double value = plane[y * sides[1].size + x];
        if (value > best || isnan (value))
          best = value;
      }
  return top < bottom && left < right ? best : 0;
}

static gboolean
pool_region (IrCall *call, gint64 region, const double *roi, const double *x, GError **error)
{
  const gint64 *dims = ir_tensor_dims (ir_call_input (call, 0));
  IrTensor *y = call->outputs[0].tensor;
  const gint64 *out = ir_tensor_dims (y);
  RoiSide sides[2] = { { .size = dims[2] }, { .size = dims[3] } };

  if (!(roi[0] >= 0 && roi[0] < (double) dims[0]))
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "region %" G_GINT64_FORMAT " is of sample %g of %" G_GINT64_FORMAT, region,
                         roi[0], dims[0]);
  for (guint i = 0; i < 2; i++)
    if (!roi_side_init (&sides[i], call, roi[2 - i], roi[4 - i], out[2 + i], error))
      return FALSE;
  for (gint64 c = 0; c < dims[1]; c++)
    for (gint64 row = 0; row < out[2]; row++)
      for (gint64 column = 0; column < out[3]; column++)
        {
          const double *plane = x + ((gint64) roi[0] * dims[1] + c) * dims[2] * dims[3];
          double value = largest_in_cell (plane, sides, row, column);
          gint64 place = ((region * dims[1] + c) * out[2] + row) * out[3] + column;
          ir_block_store (y, (guint64) place, 1, &value);
        }
  return TRUE;
}

/* X [N, C, H, W], rois [R, 5]. The standard says no more than that cells are pooled; corners are
 * rounded to elements and cells may share elements, as in Fast R-CNN (Girshick 2015), where the
 * operator comes from. Source: ONNX MaxRoiPool 22. */
gboolean
ir_ref_max_roi_pool (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  g_autofree double *x = ir_block_load_new (call, 0, error);
  g_autofree double *rois = x != NULL ? ir_block_load_new (call, 1, error) : NULL;
  if (rois == NULL)
    return FALSE;
  for (gint64 r = 0; r < ir_tensor_dims (y)[0]; r++)
    if (ir_block_cancelled (call, error) || !pool_region (call, r, rois + 5 * r, x, error))
      return FALSE;
  return TRUE;
}
