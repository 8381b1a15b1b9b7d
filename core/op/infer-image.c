/* Inference of operators on images: blocks, grids, regions and deformable convolution. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/infer-window.h"
#include "core/op/rows.h"

#define MAX_SIZE ((gint64) 1 << 31) /* of sizes that are given as contents */

static gboolean
check_rank (const IrCall *call, guint slot, int needed, GError **error)
{
  int rank = ir_call_input_rank (call, slot);

  return rank == IR_RANK_UNKNOWN || rank == needed ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u has %d dims, %d are needed", slot,
                       rank, needed);
}

static IrDim
input_dim (const IrCall *call, guint slot, guint axis)
{
  return ir_call_input_rank (call, slot) > (int) axis ? ir_call_input_dims (call, slot)[axis]
                                                      : IR_DIM_UNKNOWN;
}

static gboolean
expect_dim (
    const IrCall *call, guint slot, guint axis, IrDim needed, const char *what, GError **error)
{
  IrDim same;

  return ir_call_same_dim (call, input_dim (call, slot, axis), needed, what, &same, error);
}

/* Sizes given as the contents of input @slot, a list: @sizes has room for IR_MAX_RANK. @n is -1 if
 * not even their number is known. */
static gboolean
read_sizes (const IrCall *call, guint slot, gint64 least, int *n, IrDim *sizes, GError **error)
{
  g_autofree IrNumber *numbers = NULL;
  guint n_numbers = 0;
  IrDim length = input_dim (call, slot, 0);

  *n = ir_dim_is_known (length) ? (int) MIN (length, IR_MAX_RANK + 1) : -1;
  if (!check_rank (call, slot, 1, error) || !ir_call_check_integers (call, slot, 1, error))
    return FALSE;
  gboolean known = ir_call_input_numbers (call, slot, &numbers, &n_numbers);
  if (known)
    *n = (int) MIN (n_numbers, IR_MAX_RANK + 1);
  if (*n > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u has more than %d entries", slot,
                         IR_MAX_RANK);
  for (int i = 0; i < *n; i++)
    {
      if (known && numbers[i].known && (numbers[i].value < least || numbers[i].value >= MAX_SIZE))
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "input %u asks for %" G_GINT64_FORMAT " elements along axis %d", slot,
                             numbers[i].value, i);
      sizes[i] = known ? ir_dim_from_number (numbers[i]) : IR_DIM_UNKNOWN;
    }
  return TRUE;
}

/* -- Col2Im -- */

static gboolean
same_count (const IrCall *call, int a, int b, const char *what, GError **error)
{
  return a < 0 || b < 0 || a == b ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "%s have %d and %d entries", what, a, b);
}

/* Channels: axis 1 of the input is that many blocks. */
static gboolean
block_channels (const IrCall *call, int n, const IrDim *block, IrDim *channels, GError **error)
{
  IrDim columns = input_dim (call, 0, 1);
  IrDim elements = ir_dims_product (call->context, block, 0, (guint) n);

  *channels = IR_DIM_UNKNOWN;
  if (columns == IR_DIM_UNKNOWN || elements == IR_DIM_UNKNOWN ||
      ir_dim_divides (call->context, columns, elements, channels))
    return TRUE;
  *channels = ir_dim_floordiv (call->context, columns, elements);
  return !ir_dim_is_known (columns) || !ir_dim_is_known (elements) ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "%" G_GINT64_FORMAT " rows are not a number of blocks of %" G_GINT64_FORMAT
                       " elements",
                       columns, elements);
}

/* Input [N, C * elements of a block, blocks], image_shape, block_shape. Sets the output to [N,
 * C, image_shape ...]. Source: ONNX Col2Im 18. */
gboolean
ir_infer_col2im (IrCall *call, GError **error)
{
  IrDim dims[IR_MAX_RANK + 2], block[IR_MAX_RANK], channels;
  IrWindow window;
  int n_image, n_block;

  if (!check_rank (call, 0, 3, error) || !read_sizes (call, 1, 0, &n_image, dims + 2, error) ||
      !read_sizes (call, 2, 1, &n_block, block, error) ||
      !same_count (call, n_image, n_block, "image_shape and block_shape", error))
    return FALSE;
  for (int i = 0; n_image < 0 && i < n_block; i++)
    dims[2 + i] = IR_DIM_UNKNOWN;
  for (int i = 0; n_block < 0 && i < n_image; i++)
    block[i] = IR_DIM_UNKNOWN;
  int n = MAX (n_image, n_block);
  dims[0] = input_dim (call, 0, 0);
  if (n < 0)
    {
      ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), IR_RANK_UNKNOWN,
                                      NULL);
      return TRUE;
    }
  if (n < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "image_shape has no entries");
  if (!ir_window_init (&window, call, (guint) n, dims + 2, block, error) ||
      !expect_dim (call, 0, 2, ir_dims_product (call->context, window.out, 0, (guint) n),
                   "the columns of the input and the number of blocks", error) ||
      !block_channels (call, n, block, &channels, error))
    return FALSE;
  dims[1] = channels;
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), n + 2, dims);
  return TRUE;
}

/* -- AffineGrid -- */

/* Theta [N, 2, 3] or [N, 3, 4], size [N, C, H, W] or [N, C, D, H, W]. Sets the output to [N, H,
 * W, 2] or [N, D, H, W, 3]. Source: ONNX AffineGrid 20. */
gboolean
ir_infer_affine_grid (IrCall *call, GError **error)
{
  IrDim sizes[IR_MAX_RANK], dims[5], axes = input_dim (call, 0, 1);
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int n;

  if (!check_rank (call, 0, 3, error) || !read_sizes (call, 1, 0, &n, sizes, error))
    return FALSE;
  if (n < 0 && !ir_dim_is_known (axes))
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  gint64 n_axes = n >= 0 ? n - 2 : axes;
  if (n_axes != 2 && n_axes != 3)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "%" G_GINT64_FORMAT " spatial axes, 2 or 3 are needed", n_axes);
  if (!expect_dim (call, 0, 1, n_axes, "rows of theta and spatial axes", error) ||
      !expect_dim (call, 0, 2, n_axes + 1, "columns of theta", error) ||
      !ir_call_same_dim (call, n >= 0 ? sizes[0] : IR_DIM_UNKNOWN, input_dim (call, 0, 0),
                         "batches of theta and size", &dims[0], error))
    return FALSE;
  for (gint64 i = 0; i < n_axes; i++)
    dims[1 + i] = n >= 0 ? sizes[2 + i] : IR_DIM_UNKNOWN;
  dims[1 + n_axes] = n_axes;
  ir_call_set_output_tensor_type (call, 0, dtype, (int) n_axes + 2, dims);
  return TRUE;
}

/* -- CenterCropPad -- */

/* Sets the output to the shape of the input with the wanted sizes along the attribute axes.
 * Source: ONNX CenterCropPad 18. */
gboolean
ir_infer_center_crop_pad (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0), n;
  IrDim dims[IR_MAX_RANK], sizes[IR_MAX_RANK];
  gboolean mask[IR_MAX_RANK];
  guint n_axes;
  const gint64 *axes = ir_call_ints (call, "axes", &n_axes);

  if (!read_sizes (call, 1, 0, &n, sizes, error))
    return FALSE;
  if (rank == IR_RANK_UNKNOWN && axes == NULL)
    rank = n;
  if (rank < 0)
    {
      ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), IR_RANK_UNKNOWN,
                                      NULL);
      return TRUE;
    }
  if (!same_count (call, n, axes != NULL ? (int) n_axes : rank, "shape and the axes", error) ||
      (axes != NULL && !ir_call_axes (call, axes, n_axes, rank, mask, error)))
    return FALSE;
  for (int i = 0; i < rank; i++)
    dims[i] = input_dim (call, 0, (guint) i);
  for (int i = 0; i < (axes != NULL ? (int) n_axes : rank); i++)
    {
      gint64 axis = axes == NULL ? i : axes[i] < 0 ? axes[i] + rank : axes[i];
      dims[axis] = n >= 0 ? sizes[i] : IR_DIM_UNKNOWN;
    }
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, dims);
  return TRUE;
}

/* -- MaxUnpool -- */

/* X [N, C, ...], I of the same shape, output_shape. Sets the output to output_shape or, without
 * it, to [N, C, ...] with the sizes that X was pooled from: stride · (in - 1) + kernel - pads.
 * Source: ONNX MaxUnpool 22. */
gboolean
ir_infer_max_unpool (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0), n;
  const IrDim *x = ir_call_input_dims (call, 0);
  IrDim dims[IR_WINDOW_MAX_AXES + 2], sizes[IR_MAX_RANK];
  IrWindow window;
  guint n_kernel;

  if (ir_call_ints (call, "kernel_shape", &n_kernel) == NULL || n_kernel == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "attribute kernel_shape is missing");
  if (rank != IR_RANK_UNKNOWN && rank < 3)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has %d dims, at least 3 are needed",
                         rank);
  if (rank != IR_RANK_UNKNOWN && !check_rank (call, 1, rank, error))
    return FALSE;
  if (!ir_call_check_integers (call, 1, 1, error) ||
      !ir_window_init_transposed (&window, call,
                                  rank != IR_RANK_UNKNOWN ? (guint) rank - 2 : n_kernel,
                                  x != NULL ? x + 2 : NULL, NULL, error))
    return FALSE;
  rank = (int) window.n_axes + 2;
  for (int i = 0; i < rank; i++)
    {
      if (x != NULL && !expect_dim (call, 1, (guint) i, x[i], "dims of X and I", error))
        return FALSE;
      dims[i] = i >= 2 ? window.out[i - 2] : input_dim (call, 0, (guint) i);
    }
  if (ir_call_has_input (call, 2))
    {
      if (!read_sizes (call, 2, 0, &n, sizes, error) ||
          !same_count (call, n, rank, "output_shape and X", error))
        return FALSE;
      for (int i = 0; i < rank; i++)
        {
          IrDim size = n >= 0 ? sizes[i] : IR_DIM_UNKNOWN;
          if (ir_dim_is_known (size) && ir_dim_is_known (dims[i]) &&
              (size < dims[i] || (i < 2 && size != dims[i])))
            return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                                 "output_shape asks for %" G_GINT64_FORMAT
                                 " elements along axis %d, there are %" G_GINT64_FORMAT,
                                 size, i, dims[i]);
          dims[i] = size;
        }
    }
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), rank, dims);
  return TRUE;
}

/* -- MaxRoiPool -- */

/* X [N, C, H, W], rois [R, 5]. Sets the output to [R, C, pooled_shape ...]. Source: ONNX
 * MaxRoiPool 22. */
gboolean
ir_infer_max_roi_pool (IrCall *call, GError **error)
{
  guint n = 0;
  const gint64 *pooled = ir_call_ints (call, "pooled_shape", &n);
  IrDtype dtype;

  if (pooled == NULL || n != 2 || pooled[0] < 1 || pooled[1] < 1 || pooled[0] >= MAX_SIZE ||
      pooled[1] >= MAX_SIZE)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "pooled_shape must be two positive numbers");
  if (!check_rank (call, 0, 4, error) || !check_rank (call, 1, 2, error) ||
      !expect_dim (call, 1, 1, 5, "numbers of a region", error) ||
      !ir_call_common_dtype (call, 0, 2, &dtype, error))
    return FALSE;
  IrDim dims[4] = { input_dim (call, 1, 0), input_dim (call, 0, 1), pooled[0], pooled[1] };
  ir_call_set_output_tensor_type (call, 0, dtype, 4, dims);
  return TRUE;
}

/* -- DeformConv -- */

/* Offset and mask: [N, groups · elements of the kernel · @per_element, output sizes ...]. */
static gboolean
check_offsets (const IrCall *call,
               guint slot,
               const IrWindow *window,
               gint64 groups,
               gint64 per_element,
               GError **error)
{
  IrContext *context = call->context;
  IrDim kernel = ir_dims_product (context, window->kernel, 0, window->n_axes);
  IrDim channels = ir_dim_mul (context, ir_dim_mul (context, kernel, groups), per_element);

  if (!ir_call_has_input (call, slot))
    return TRUE;
  if (!check_rank (call, slot, (int) window->n_axes + 2, error) ||
      !expect_dim (call, slot, 0, input_dim (call, 0, 0), "batches", error) ||
      !expect_dim (call, slot, 1, channels, "channels of the offsets or the mask", error))
    return FALSE;
  for (guint i = 0; i < window->n_axes; i++)
    if (!expect_dim (call, slot, i + 2, window->out[i], "sizes of the offsets or the mask", error))
      return FALSE;
  return TRUE;
}

static gboolean
check_groups (const IrCall *call, gint64 group, gint64 offset_group, GError **error)
{
  IrDim channels = input_dim (call, 0, 1), out = input_dim (call, 1, 0);

  if (group < 1 || offset_group < 1 || group >= MAX_SIZE || offset_group >= MAX_SIZE)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "group and offset_group must be at least 1");
  if ((ir_dim_is_known (channels) && (channels % group != 0 || channels % offset_group != 0)) ||
      (ir_dim_is_known (out) && out % group != 0))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "%" G_GINT64_FORMAT " groups and %" G_GINT64_FORMAT
                         " groups of offsets do not divide the channels",
                         group, offset_group);
  return TRUE;
}

/* X [N, C, ...], W [M, C / group, ...], offset, B [M], mask. Sets the output to [N, M, ...]; see
 * ir_window_init() for the spatial sizes. Source: ONNX DeformConv 22. */
gboolean
ir_infer_deform_conv (IrCall *call, GError **error)
{
  gint64 group = ir_call_int (call, "group", 1);
  gint64 offset_group = ir_call_int (call, "offset_group", 1);
  IrDim dims[IR_WINDOW_MAX_AXES + 2];
  IrWindow window;
  IrDtype dtype;

  if (!ir_window_of_conv (&window, call, error) ||
      !ir_call_common_dtype (call, 0, call->n_inputs, &dtype, error) ||
      !check_groups (call, group, offset_group, error))
    return FALSE;
  if (window.n_axes == 0)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  IrDim channels = ir_dim_mul (call->context, input_dim (call, 1, 1), group);
  if (!expect_dim (call, 0, 1, channels, "channels of X, and those of W times the groups", error) ||
      !check_offsets (call, 2, &window, offset_group, window.n_axes, error) ||
      !check_offsets (call, 4, &window, offset_group, 1, error))
    return FALSE;
  if (ir_call_has_input (call, 3) &&
      (!check_rank (call, 3, 1, error) ||
       !expect_dim (call, 3, 0, input_dim (call, 1, 0), "B and the channels of W", error)))
    return FALSE;
  dims[0] = input_dim (call, 0, 0);
  dims[1] = input_dim (call, 1, 0);
  for (guint i = 0; i < window.n_axes; i++)
    dims[i + 2] = window.out[i];
  ir_call_set_output_tensor_type (call, 0, dtype, (int) window.n_axes + 2, dims);
  return TRUE;
}
