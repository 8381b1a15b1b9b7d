/* Inference, cost and adapters of object detection and sampling. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

static gboolean
check_rank (const IrCall *call, guint slot, int needed, GError **error)
{
  int rank = ir_call_input_rank (call, slot);

  return rank == IR_RANK_UNKNOWN || rank == needed ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u has %d dims, %d are needed", slot,
                       rank, needed);
}

/* The bytes of a picture file, uint8 [L]. Sets the output to uint8 [height, width, 3], or 1 in
 * grayscale; the file alone knows its size. Source: ONNX ImageDecoder 20. */
gboolean
ir_infer_image_decoder (IrCall *call, GError **error)
{
  const char *format = ir_call_string (call, "pixel_format", "RGB");
  IrDim dims[3] = { IR_DIM_UNKNOWN, IR_DIM_UNKNOWN, g_str_equal (format, "Grayscale") ? 1 : 3 };
  IrDtype dtype = ir_call_input_dtype (call, 0);

  if (dtype != IR_DTYPE_UNDEFINED && dtype != IR_DTYPE_UINT8)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "the file is %s, uint8 is needed",
                         ir_dtype_name (dtype));
  if (!check_rank (call, 0, 1, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_UINT8, 3, dims);
  return TRUE;
}

static IrDim
input_dim (const IrCall *call, guint slot, guint axis)
{
  return ir_call_input_rank (call, slot) > (int) axis ? ir_call_input_dims (call, slot)[axis]
                                                      : IR_DIM_UNKNOWN;
}

static gboolean
same_dims (const IrCall *call,
           guint slot_a,
           guint axis_a,
           guint slot_b,
           guint axis_b,
           const char *what,
           GError **error)
{
  IrDim same;

  return ir_call_same_dim (call, input_dim (call, slot_a, axis_a), input_dim (call, slot_b, axis_b),
                           what, &same, error);
}

static gboolean
check_last (const IrCall *call, guint slot, guint axis, gint64 needed, GError **error)
{
  IrDim dim = input_dim (call, slot, axis);

  return !ir_dim_is_known (dim) || dim == needed ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "axis %u of input %u has %" G_GINT64_FORMAT " elements, %" G_GINT64_FORMAT
                       " are needed",
                       axis, slot, dim, needed);
}

/* Boxes [N, B, 4], scores [N, C, B], and limits. Sets the output to int64 [?, 3]. Source: ONNX
 * NonMaxSuppression 11. */
gboolean
ir_infer_non_max_suppression (IrCall *call, GError **error)
{
  IrDim dims[2] = { IR_DIM_UNKNOWN, 3 };

  if (!check_rank (call, 0, 3, error) || !check_rank (call, 1, 3, error) ||
      !check_last (call, 0, 2, 4, error) || !ir_call_check_integers (call, 2, 1, error) ||
      !same_dims (call, 0, 0, 1, 0, "batches of boxes and scores", error) ||
      !same_dims (call, 0, 1, 1, 2, "boxes and scores", error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, IR_DTYPE_INT64, 2, dims);
  return TRUE;
}

/* Every box against every other one, in every class, is the most that can happen. */
guint64
ir_cost_non_max_suppression (const IrCall *call)
{
  IrDim boxes = input_dim (call, 0, 1);

  return ir_mul_saturated (ir_type_count (ir_call_input_type (call, 1)),
                           ir_dim_is_known (boxes) ? (guint64) boxes : 1);
}

/* X [N, C, ...] with r spatial axes, grid [N, ..., r]. Sets the output to [N, C, ...] with the
 * spatial dims of the grid. Source: ONNX GridSample 20. */
gboolean
ir_infer_grid_sample (IrCall *call, GError **error)
{
  IrDtype dtype = ir_call_input_dtype (call, 0);
  int x_rank = ir_call_input_rank (call, 0), grid_rank = ir_call_input_rank (call, 1);
  int rank = x_rank != IR_RANK_UNKNOWN ? x_rank : grid_rank;
  IrDim dims[IR_MAX_RANK];

  if (rank == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, dtype, IR_RANK_UNKNOWN, NULL);
      return TRUE;
    }
  if (rank < 3)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has %d dims, at least 3 are needed",
                         rank);
  if (!check_rank (call, 1, rank, error) ||
      !check_last (call, 1, (guint) rank - 1, rank - 2, error) ||
      !same_dims (call, 0, 0, 1, 0, "batches of X and grid", error))
    return FALSE;
  dims[0] = x_rank != IR_RANK_UNKNOWN && input_dim (call, 0, 0) != IR_DIM_UNKNOWN
                ? input_dim (call, 0, 0)
                : input_dim (call, 1, 0);
  dims[1] = input_dim (call, 0, 1);
  for (int i = 2; i < rank; i++)
    dims[i] = input_dim (call, 1, (guint) i - 1);
  ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
  return TRUE;
}

/* X [N, C, H, W], rois [R, 4], batch_indices [R]. Sets the output to [R, C, output_height,
 * output_width]. Source: ONNX RoiAlign 16. */
gboolean
ir_infer_roi_align (IrCall *call, GError **error)
{
  gint64 height = ir_call_int (call, "output_height", 1);
  gint64 width = ir_call_int (call, "output_width", 1);
  IrDim dims[4] = { input_dim (call, 1, 0), input_dim (call, 0, 1), height, width };

  if (height < 1 || width < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "output_height and output_width must be positive");
  if (!check_rank (call, 0, 4, error) || !check_rank (call, 1, 2, error) ||
      !check_rank (call, 2, 1, error) || !check_last (call, 1, 1, 4, error) ||
      !ir_call_check_integers (call, 2, 1, error) ||
      !same_dims (call, 1, 0, 2, 0, "rois and batch_indices", error))
    return FALSE;
  if (dims[0] == IR_DIM_UNKNOWN)
    dims[0] = input_dim (call, 2, 0);
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, 0), 4, dims);
  return TRUE;
}

/* Opset < 16: coordinates were not shifted. */
void
ir_adapt_roi_align (IrCall *call)
{
  ir_call_set_attr (call, ir_attr_string (call->context, "coordinate_transformation_mode",
                                          "output_half_pixel", -1));
}
