/* Inference, cost and adapters of Resize and of its old name Upsample. */
#include "config.h"

#include "core/op/infer-resize.h"

#include "core/op/rows.h"
#include <math.h>
#include <string.h>

enum
{
  SLOT_X,
  SLOT_ROI,
  SLOT_SCALES,
  SLOT_SIZES
};

/* Above this a dim is absurd, and doubles no longer count it. */
#define LARGEST_DIM 9007199254740992.0

static gboolean
choose_axes (IrResize *resize, const IrCall *call, GError **error)
{
  guint n = 0;
  const gint64 *axes = ir_call_ints (call, "axes", &n);

  memset (resize, 0, sizeof *resize);
  resize->rank = (guint) ir_call_input_rank (call, SLOT_X);
  resize->n_chosen = axes != NULL ? n : resize->rank;
  if (axes != NULL && !ir_call_axes (call, axes, n, (int) resize->rank, resize->chosen, error))
    return FALSE;
  for (guint i = 0; i < resize->n_chosen; i++)
    {
      gint64 axis = axes != NULL ? axes[i] + (axes[i] < 0 ? resize->rank : 0) : i;
      resize->chosen[axis] = TRUE;
      resize->place[axis] = (gint8) i;
    }
  for (guint i = 0; i < resize->rank; i++)
    {
      resize->scale[i] = resize->chosen[i] ? 0 : 1;
      resize->out[i] = resize->chosen[i] ? IR_DIM_UNKNOWN : ir_call_input_dims (call, SLOT_X)[i];
    }
  return TRUE;
}

static gboolean
wrong_count (const IrCall *call, const char *what, guint64 n, guint needed, GError **error)
{
  return n == needed ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "%s has %" G_GUINT64_FORMAT " elements, %u are needed", what, n, needed);
}

/* floor (dim · scale), for scales that are whole or one by a whole number also of symbols. */
static IrDim
scaled_dim (IrContext *context, IrDim dim, double scale)
{
  double inverse = 1 / scale;

  if (ir_dim_is_known (dim))
    return (IrDim) floor ((double) dim * scale);
  if (scale == floor (scale) && scale < LARGEST_DIM)
    return ir_dim_mul (context, dim, (IrDim) scale);
  if (inverse == floor (inverse) && inverse < LARGEST_DIM)
    return ir_dim_floordiv (context, dim, (IrDim) inverse);
  return IR_DIM_UNKNOWN;
}

static gboolean
read_scales (IrResize *resize, const IrCall *call, const IrTensor *scales, GError **error)
{
  const IrDim *dims = ir_call_input_dims (call, SLOT_X);

  if (!wrong_count (call, "scales", ir_tensor_n_elements (scales), resize->n_chosen, error))
    return FALSE;
  for (guint i = 0; i < resize->rank; i++)
    {
      if (!resize->chosen[i])
        continue;
      double scale = ir_tensor_get_double (scales, (guint64) resize->place[i]);
      if (!(scale > 0) || !isfinite (scale) ||
          (ir_dim_is_known (dims[i]) && (double) dims[i] * scale >= LARGEST_DIM))
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "the scale of axis %u is %g; it must be positive and finite", i,
                             scale);
      resize->scale[i] = scale;
      resize->out[i] = scaled_dim (call->context, dims[i], scale);
    }
  return TRUE;
}

/* One scale for all axes: the smallest or the largest that the sizes ask for. */
static void
keep_aspect_ratio (IrResize *resize, const IrDim *dims, gboolean larger)
{
  double scale = 0;

  for (guint i = 0; i < resize->rank; i++)
    if (resize->chosen[i] && (scale == 0 || (resize->scale[i] > scale) == larger))
      scale = resize->scale[i];
  for (guint i = 0; i < resize->rank; i++)
    if (resize->chosen[i])
      {
        gboolean known = ir_dim_is_known (dims[i]) && scale > 0;
        resize->out[i] = known ? (IrDim) floor ((double) dims[i] * scale + 0.5) : IR_DIM_UNKNOWN;
        resize->scale[i] = known ? scale : 0;
      }
}

static gboolean
read_sizes (IrResize *resize, const IrCall *call, GError **error)
{
  const char *policy = ir_call_string (call, "keep_aspect_ratio_policy", "stretch");
  const IrDim *dims = ir_call_input_dims (call, SLOT_X);
  g_autofree IrNumber *sizes = NULL;
  gboolean all_known = TRUE;
  guint n = 0;

  if (!ir_call_check_integers (call, SLOT_SIZES, 1, error))
    return FALSE;
  if (!ir_call_input_numbers (call, SLOT_SIZES, &sizes, &n))
    return TRUE;
  if (!wrong_count (call, "sizes", n, resize->n_chosen, error))
    return FALSE;
  for (guint i = 0; i < resize->rank; i++)
    {
      if (!resize->chosen[i])
        continue;
      IrNumber size = sizes[resize->place[i]];
      if (size.known && (size.value < 0 || (double) size.value >= LARGEST_DIM ||
                         (dims[i] == 0 && size.value > 0)))
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "axis %u cannot be resized to %" G_GINT64_FORMAT, i, size.value);
      resize->out[i] = ir_dim_from_number (size);
      if (size.known && ir_dim_is_known (dims[i]))
        resize->scale[i] = dims[i] > 0 ? (double) size.value / (double) dims[i] : 1;
      else
        all_known = FALSE;
    }
  if (strcmp (policy, "stretch") == 0)
    return TRUE;
  if (strcmp (policy, "not_larger") != 0 && strcmp (policy, "not_smaller") != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "keep_aspect_ratio_policy is \"%s\"; stretch, not_larger or not_smaller "
                         "is needed",
                         policy);
  for (guint i = 0; i < resize->rank && !all_known; i++)
    if (resize->chosen[i])
      resize->out[i] = IR_DIM_UNKNOWN;
  if (all_known)
    keep_aspect_ratio (resize, dims, strcmp (policy, "not_smaller") == 0);
  return TRUE;
}

/**
 * ir_resize_init:
 * @resize: (out caller-allocates): the geometry
 * @call: a call with inputs X (of known rank), roi, scales, sizes
 * @error: return location for an error
 *
 * Sets scale and size of each axis, as far as they are known: from scales, out = floor (in ·
 * scale); from sizes, scale = out / in, or one scale for all axes by keep_aspect_ratio_policy.
 *
 * Fails with %IR_OP_ERROR_VALUE on scales that are not positive and finite, and on negative sizes.
 *
 * Source: ONNX Resize 19.
 *
 * Returns: %TRUE if @resize was set
 */
gboolean
ir_resize_init (IrResize *resize, const IrCall *call, GError **error)
{
  const IrTensor *scales = ir_call_input (call, SLOT_SCALES);
  IrDtype dtype = ir_call_input_dtype (call, SLOT_SCALES);

  if (!choose_axes (resize, call, error))
    return FALSE;
  if (dtype != IR_DTYPE_UNDEFINED && !ir_dtype_is_float (dtype))
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "scales are %s, needed is float",
                         ir_dtype_name (dtype));
  /* Opset 11 gave an empty tensor where sizes say it. */
  if (ir_call_has_input (call, SLOT_SIZES))
    return read_sizes (resize, call, error);
  if (!ir_call_has_input (call, SLOT_SCALES))
    return ir_call_fail (call, error, IR_OP_ERROR_ARITY, "neither scales nor sizes are given");
  return scales == NULL || read_scales (resize, call, scales, error);
}

/* X, roi, scales, sizes. Sets the output to X's type with the dims of ir_resize_init(). */
gboolean
ir_infer_resize (IrCall *call, GError **error)
{
  IrResize resize;

  if (ir_call_input_rank (call, SLOT_X) == IR_RANK_UNKNOWN)
    {
      ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, SLOT_X), IR_RANK_UNKNOWN,
                                      NULL);
      return TRUE;
    }
  if (!ir_resize_init (&resize, call, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, ir_call_input_dtype (call, SLOT_X), (int) resize.rank,
                                  resize.out);
  return TRUE;
}

/* Two operations for each neighbour and element of the output. */
guint64
ir_cost_resize (const IrCall *call)
{
  const char *mode = ir_call_string (call, "mode", "nearest");
  guint64 neighbours = strcmp (mode, "nearest") == 0 ? 0 : strcmp (mode, "cubic") == 0 ? 4 : 2;

  return ir_mul_saturated (ir_type_count (call->outputs[0].type), 2 * neighbours);
}

/* -- older forms -- */

/* Opset < 11: X and scales, the neighbour below, coordinates that are scaled only. */
void
ir_adapt_resize (IrCall *call)
{
  static const char *const names[] = { "coordinate_transformation_mode", "nearest_mode" };
  static const char *const values[] = { "asymmetric", "floor" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    ir_call_set_attr (call, ir_attr_string (call->context, names[i], values[i], -1));
  if (call->n_inputs != 2 || !ir_call_has_input (call, 1))
    return;
  IrCallInput *inputs = g_new0 (IrCallInput, 3);
  inputs[0] = call->inputs[0];
  inputs[2] = call->inputs[1];
  g_free (call->inputs);
  call->inputs = inputs;
  call->n_inputs = 3;
}

/* Opset < 9: scales were an attribute. */
void
ir_adapt_upsample (IrCall *call)
{
  const IrAttr *scales = ir_call_attr (call, "scales");

  if (scales != NULL && scales->kind == IR_ATTR_FLOATS)
    {
      gint64 n = scales->n;
      ir_call_set_input_tensor (call, 1,
                                ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &n, scales->floats));
    }
  ir_call_drop_attr (call, "scales");
}

/* Opset < 7: one scale each for the last two of four axes, and linear was called bilinear. */
void
ir_adapt_upsample_names (IrCall *call)
{
  float scales[] = { 1, 1, (float) ir_call_float (call, "height_scale", 1),
                     (float) ir_call_float (call, "width_scale", 1) };

  ir_call_set_attr (call, ir_attr_floats (call->context, "scales", scales, 4));
  ir_call_drop_attr (call, "height_scale");
  ir_call_drop_attr (call, "width_scale");
  if (strcmp (ir_call_string (call, "mode", "nearest"), "bilinear") == 0)
    ir_call_set_attr (call, ir_attr_string (call->context, "mode", "linear", -1));
}
