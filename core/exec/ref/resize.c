/* Resize, axis by axis: the result is separable. For each element of an axis of the output a table
 * holds the neighbours in X and their weights. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/op/infer-resize.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

typedef enum
{
  MODE_NEAREST,
  MODE_LINEAR,
  MODE_CUBIC,
  N_MODES
} Mode;

typedef enum
{
  HALF_PIXEL,
  HALF_PIXEL_SYMMETRIC,
  PYTORCH_HALF_PIXEL,
  ALIGN_CORNERS,
  ASYMMETRIC,
  TF_HALF_PIXEL_FOR_NN,
  TF_CROP_AND_RESIZE,
  N_COORDINATES
} Coordinates;

typedef enum
{
  ROUND_PREFER_FLOOR,
  ROUND_PREFER_CEIL,
  FLOOR,
  CEIL,
  N_ROUNDINGS
} Rounding;

typedef struct
{
  IrCall *call;
  IrResize geometry;
  Mode mode;
  Coordinates coordinates;
  Rounding rounding;
  gboolean antialias, exclude_outside;
  double cubic_a, extrapolation;
} Resize;

static gboolean
read_choice (const IrCall *call,
             const char *attr,
             const char *fallback,
             const char *const *names,
             guint n,
             guint *choice,
             GError **error)
{
  const char *name = ir_call_string (call, attr, fallback);

  for (*choice = 0; *choice < n; (*choice)++)
    if (strcmp (names[*choice], name) == 0)
      return TRUE;
  return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "%s is \"%s\", which is not known", attr,
                       name);
}

static gboolean
read_attributes (Resize *resize, GError **error)
{
  static const char *const modes[N_MODES] = { "nearest", "linear", "cubic" };
  static const char *const coordinates[N_COORDINATES] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"
  };
  static const char *const roundings[N_ROUNDINGS] = { "round_prefer_floor", "round_prefer_ceil",
                                                      "floor", "ceil" };
  const IrCall *call = resize->call;
  guint mode, coordinate, rounding;

  if (!read_choice (call, "mode", "nearest", modes, N_MODES, &mode, error) ||
      !read_choice (call, "coordinate_transformation_mode", "half_pixel", coordinates,
                    N_COORDINATES, &coordinate, error) ||
      !read_choice (call, "nearest_mode", "round_prefer_floor", roundings, N_ROUNDINGS, &rounding,
                    error))
    return FALSE;
  resize->mode = (Mode) mode;
  resize->coordinates = (Coordinates) coordinate;
  resize->rounding = (Rounding) rounding;
  resize->antialias = ir_call_int (call, "antialias", 0) != 0;
  resize->exclude_outside = ir_call_int (call, "exclude_outside", 0) != 0;
  resize->cubic_a = ir_call_float (call, "cubic_coeff_a", -0.75);
  resize->extrapolation = ir_call_float (call, "extrapolation_value", 0);
  return TRUE;
}

/* -- where an element of the output lies -- */

/* Start and end of @axis in roi, as parts of the axis. */
static void
roi_of (const Resize *resize, guint axis, double *start, double *end)
{
  const IrTensor *roi = ir_call_input (resize->call, 1);
  guint64 place = (guint64) resize->geometry.place[axis];

  *start = 0;
  *end = 1;
  if (!resize->geometry.chosen[axis])
    return;
  *start = ir_tensor_get_double (roi, place);
  *end = ir_tensor_get_double (roi, place + resize->geometry.n_chosen);
}

/* Place of output element @i along an axis of @in elements of X. */
static double
source (const Resize *resize, guint axis, gint64 i, gint64 in)
{
  double scale = resize->geometry.scale[axis], out = scale * (double) in, x = (double) i;
  double whole = (double) resize->geometry.out[axis], start, end;

  switch (resize->coordinates)
    {
    case HALF_PIXEL_SYMMETRIC:
      return (double) in / 2 * (1 - whole / out) + (x + 0.5) / scale - 0.5;
    case PYTORCH_HALF_PIXEL:
      return whole > 1 ? (x + 0.5) / scale - 0.5 : 0;
    case ALIGN_CORNERS:
      return whole > 1 ? x * (double) (in - 1) / (out - 1) : 0;
    case ASYMMETRIC:
      return x / scale;
    case TF_HALF_PIXEL_FOR_NN:
      return (x + 0.5) / scale;
    case TF_CROP_AND_RESIZE:
      roi_of (resize, axis, &start, &end);
      if (whole <= 1)
        return 0.5 * (start + end) * (double) (in - 1);
      return start * (double) (in - 1) + x * (end - start) * (double) (in - 1) / (out - 1);
    case HALF_PIXEL:
    case N_COORDINATES:
    default:
      return (x + 0.5) / scale - 0.5;
    }
}

/* Outside of X: only a crop that reaches beyond it leaves the edge. */
static gboolean
is_outside (const Resize *resize, double x, gint64 in)
{
  return resize->coordinates == TF_CROP_AND_RESIZE && !(x >= 0 && x <= (double) (in - 1));
}

static gint64
clamp_index (double x, gint64 in)
{
  return x >= 0 ? (gint64) MIN (x, (double) (in - 1)) : 0;
}

/* Index in X, or -1 for the extrapolation value. */
static gint64
nearest (const Resize *resize, guint axis, gint64 i, gint64 in)
{
  double x = source (resize, axis, i, in);

  if (is_outside (resize, x, in))
    return -1;
  switch (resize->rounding)
    {
    case ROUND_PREFER_CEIL:
      return clamp_index (floor (x + 0.5), in);
    case FLOOR:
      return clamp_index (floor (x), in);
    case CEIL:
      return clamp_index (ceil (x), in);
    case ROUND_PREFER_FLOOR:
    case N_ROUNDINGS:
    default:
      return clamp_index (ceil (x - 0.5), in);
    }
}

/* -- nearest: elements of any type are moved -- */

static gboolean
fill_element (const Resize *resize, IrRefWriter *out, guint64 i, GError **error)
{
  if (ir_ref_kind (out->dtype) == IR_REF_OTHER || out->owned != NULL)
    return ir_ref_fail_dtype (resize->call, out->dtype, error);
  ir_dtype_set_double (out->dtype, out->data, i, resize->extrapolation);
  return TRUE;
}

/* [outer, n, inner] -> [outer, out, inner] for each axis in turn would move every element once per
 * axis; here the indices of all axes are tables and each element is moved once. */
static gboolean
run_nearest (const Resize *resize, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  gint64 *indices[IR_MAX_RANK] = { NULL }, at[IR_MAX_RANK] = { 0 };
  g_autoptr (GPtrArray) tables = g_ptr_array_new_with_free_func (g_free);
  const IrTensor *x = ir_call_input (resize->call, 0);
  guint rank = resize->geometry.rank;
  IrRefLayout layout;

  if (!ir_ref_reader_init (&in, resize->call, x, error) ||
      !ir_ref_writer_init (&out, resize->call, 0, error))
    return FALSE;
  ir_ref_layout_init (&layout, rank, ir_tensor_dims (x));
  for (guint axis = 0; axis < rank && out.n > 0; axis++)
    {
      gint64 n = resize->geometry.out[axis];
      indices[axis] = g_try_new (gint64, (gsize) n);
      if (indices[axis] == NULL)
        return ir_call_fail (resize->call, error, IR_OP_ERROR_LIMIT,
                             "no memory for the places along an axis");
      g_ptr_array_add (tables, indices[axis]);
      for (gint64 i = 0; i < n; i++)
        indices[axis][i] = nearest (resize, axis, i, layout.dims[axis]);
    }
  for (guint64 i = 0; i < out.n; i++)
    {
      gint64 offset = 0;
      gboolean outside = FALSE;
      for (guint axis = 0; axis < rank; axis++)
        {
          outside |= indices[axis][at[axis]] < 0;
          offset += indices[axis][at[axis]] * layout.strides[axis];
        }
      if (!outside)
        ir_ref_copy_run (&out, i, &in, (guint64) offset, 1);
      else if (!fill_element (resize, &out, i, error))
        return FALSE;
      for (guint axis = rank; axis-- > 0;)
        {
          if (++at[axis] < resize->geometry.out[axis])
            break;
          at[axis] = 0;
        }
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- linear and cubic -- */

static double
linear_weight (double distance)
{
  return MAX (1 - fabs (distance), 0);
}

/* Keys 1981, "Cubic convolution interpolation for digital image processing". */
static double
cubic_weight (double a, double distance)
{
  double d = fabs (distance);

  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Weights of the elements [first, first + n) around @x; their sum is 1. With antialiasing the
 * kernel is stretched to what an element of the output stands for. */
static void
set_weights (const Resize *resize,
             double stretch,
             double x,
             gint64 in,
             gint64 first,
             guint n,
             double *weights)
{
  double sum = 0;

  for (guint k = 0; k < n; k++)
    {
      double distance = ((double) (first + k) - x) * stretch;
      gboolean outside = first + k < 0 || first + k >= in;
      weights[k] = resize->mode == MODE_LINEAR ? linear_weight (distance)
                                               : cubic_weight (resize->cubic_a, distance);
      if (resize->exclude_outside && outside)
        weights[k] = 0;
      sum += weights[k];
    }
  for (guint k = 0; k < n; k++)
    weights[k] /= sum;
}

/* One axis: [outer, in, inner] -> [outer, out, inner]. */
static void
interpolate (const Resize *resize,
             guint axis,
             gint64 outer,
             gint64 in,
             gint64 inner,
             const double *x,
             double *y,
             double *weights)
{
  gint64 out = resize->geometry.out[axis];
  double stretch = resize->antialias ? MIN (resize->geometry.scale[axis], 1) : 1;
  double reach = (resize->mode == MODE_LINEAR ? 1 : 2) / stretch;
  gint64 before = (gint64) floor (-reach) + 1;
  guint n = (guint) (2 - 2 * before);

  for (gint64 i = 0; i < out && !ir_call_stopped (resize->call); i++)
    {
      double at = source (resize, axis, i, in);
      gboolean outside = is_outside (resize, at, in);
      gint64 first = (gint64) floor (at) + before;
      if (!outside)
        set_weights (resize, stretch, at, in, first, n, weights);
      for (gint64 o = 0; o < outer; o++)
        for (gint64 r = 0; r < inner; r++)
          {
            double sum = outside ? resize->extrapolation : 0;
            for (guint k = 0; k < n && !outside; k++)
              sum += weights[k] * x[(o * in + CLAMP (first + k, 0, in - 1)) * inner + r];
            y[(o * out + i) * inner + r] = sum;
          }
    }
}

static guint
n_weights (const Resize *resize, guint axis)
{
  double scale = resize->antialias ? MIN (resize->geometry.scale[axis], 1) : 1;

  return (guint) (2 * (2 / scale) + 4);
}

/* An axis that keeps its size and its place needs no pass. */
static gboolean
is_identity (const Resize *resize, guint axis, gint64 in)
{
  return resize->geometry.out[axis] == in && resize->geometry.scale[axis] == 1 &&
         resize->coordinates != TF_CROP_AND_RESIZE && resize->coordinates != TF_HALF_PIXEL_FOR_NN;
}

static gboolean
run_interpolated (const Resize *resize, GError **error)
{
  IrCall *call = resize->call;
  const IrTensor *x = ir_call_input (call, 0);
  guint rank = resize->geometry.rank;
  gint64 dims[IR_MAX_RANK], outer, inner;
  g_autofree double *values = NULL;
  IrTensor *y = NULL;

  if (ir_ref_kind (ir_tensor_dtype (x)) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (x), error);
  y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (y) == 0)
    return TRUE;
  values = ir_block_load_new (call, 0, error);
  if (values == NULL)
    return FALSE;
  for (guint i = 0; i < rank; i++)
    dims[i] = ir_tensor_dims (x)[i];
  for (guint axis = 0; axis < rank; axis++)
    {
      gint64 in = dims[axis];
      if (is_identity (resize, axis, in))
        continue;
      dims[axis] = resize->geometry.out[axis];
      ir_ref_split_at (rank, dims, axis, &outer, &inner);
      g_autofree double *weights = ir_block_new (call, n_weights (resize, axis), error);
      g_autofree double *next = ir_block_new (call, (guint64) (outer * dims[axis] * inner), error);
      if (weights == NULL || next == NULL || ir_block_cancelled (call, error))
        return FALSE;
      interpolate (resize, axis, outer, in, inner, values, next, weights);
      g_free (values);
      values = g_steal_pointer (&next);
    }
  ir_block_store (y, 0, ir_tensor_n_elements (y), values);
  return TRUE;
}

static gboolean
check_roi (const Resize *resize, GError **error)
{
  const IrTensor *roi = ir_call_input (resize->call, 1);
  guint needed = 2 * resize->geometry.n_chosen;

  if (resize->coordinates != TF_CROP_AND_RESIZE)
    return TRUE;
  if (roi == NULL || !ir_dtype_is_float (ir_tensor_dtype (roi)) ||
      ir_tensor_n_elements (roi) != needed)
    return ir_call_fail (resize->call, error, IR_OP_ERROR_SHAPE,
                         "tf_crop_and_resize needs a roi of %u numbers", needed);
  for (guint i = 0; i < needed; i++)
    if (!(fabs (ir_tensor_get_double (roi, i)) < 1e6))
      return ir_call_fail (resize->call, error, IR_OP_ERROR_VALUE, "roi has the number %g",
                           ir_tensor_get_double (roi, i));
  return TRUE;
}

/* X, roi, scales, sizes. Source: ONNX Resize 19. */
gboolean
ir_ref_resize (IrCall *call, GError **error)
{
  Resize resize = { .call = call };

  if (!ir_ref_prepare (call, error) || !read_attributes (&resize, error) ||
      !ir_resize_init (&resize.geometry, call, error) || !check_roi (&resize, error))
    return FALSE;
  return resize.mode == MODE_NEAREST ? run_nearest (&resize, error)
                                     : run_interpolated (&resize, error);
}
