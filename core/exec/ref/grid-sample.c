/* GridSample over any number of spatial axes: each place has a few neighbours along each axis, with
 * weights; the result is the sum over all combinations. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

#define MAX_AXES 8 /* 4 neighbours along each: 65,536 combinations */
#define MAX_TAPS 4
#define CUBIC_A  (-0.75)
#define FAR_AWAY 1e9 /* coordinates beyond count as this */

typedef enum
{
  PAD_ZEROS,
  PAD_BORDER,
  PAD_REFLECTION
} Padding;

typedef struct
{
  guint n_axes, n_taps; /* taps: 1 nearest, 2 linear, 4 cubic */
  gboolean align;
  Padding padding;
} Sampling;

typedef struct
{
  gint64 index[MAX_TAPS]; /* -1: a zero */
  double weight[MAX_TAPS];
} Taps;

static gboolean
sampling_init (Sampling *sampling, const IrCall *call, guint n_axes, GError **error)
{
  const char *mode = ir_call_string (call, "mode", "linear");
  const char *padding = ir_call_string (call, "padding_mode", "zeros");

  sampling->n_axes = n_axes;
  sampling->align = ir_call_int (call, "align_corners", 0) != 0;
  sampling->n_taps = strcmp (mode, "nearest") == 0                                  ? 1
                     : g_str_has_suffix (mode, "linear")                            ? 2
                     : strcmp (mode, "cubic") == 0 || strcmp (mode, "bicubic") == 0 ? 4
                                                                                    : 0;
  sampling->padding = strcmp (padding, "border") == 0       ? PAD_BORDER
                      : strcmp (padding, "reflection") == 0 ? PAD_REFLECTION
                                                            : PAD_ZEROS;
  if (sampling->n_taps == 0 || (sampling->padding == PAD_ZEROS && strcmp (padding, "zeros") != 0))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "mode is \"%s\" and padding_mode \"%s\"; one is not known", mode, padding);
  return n_axes <= MAX_AXES ||
         ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                       "%u spatial axes, at most %d can be handled", n_axes, MAX_AXES);
}

/* Folds @x back into [low, high]. */
static double
reflect (double x, double low, double high)
{
  double range = high - low, beyond = x < low ? low - x : x - high;

  if (beyond <= 0)
    return x;
  if (range <= 0)
    return low;
  double turns = floor (beyond / range), rest = beyond - turns * range;
  gboolean at_low = (x < low) == (fmod (turns, 2) == 0);
  return at_low ? low + rest : high - rest;
}

static double
cubic_weight (double distance)
{
  double d = fabs (distance);

  if (d <= 1)
    return ((CUBIC_A + 2) * d - (CUBIC_A + 3)) * d * d + 1;
  return d < 2 ? ((CUBIC_A * d - 5 * CUBIC_A) * d + 8 * CUBIC_A) * d - 4 * CUBIC_A : 0;
}

static gint64
tap_index (const Sampling *sampling, double at, gint64 size, double low, double high)
{
  if (sampling->padding == PAD_BORDER)
    at = CLAMP (at, 0, (double) (size - 1));
  else if (sampling->padding == PAD_REFLECTION)
    at = CLAMP (rint (reflect (at, low, high)), 0, (double) (size - 1));
  return at >= 0 && at <= (double) (size - 1) ? (gint64) at : -1;
}

/* Neighbours of the normalized coordinate @x along an axis of @size elements. */
static void
find_taps (const Sampling *sampling, double x, gint64 size, Taps *taps)
{
  double low = sampling->align ? 0 : -0.5;
  double high = sampling->align ? (double) size - 1 : (double) size - 0.5;
  double at = sampling->align ? (x + 1) / 2 * (double) (size - 1)
                              : ((x + 1) * (double) size - 1) / 2;

  at = at >= -FAR_AWAY && at <= FAR_AWAY ? at : at > 0 ? FAR_AWAY : -FAR_AWAY;
  if (sampling->n_taps == 1)
    at = rint (at);
  if (sampling->padding == PAD_BORDER && (at < low || at > high))
    at = CLAMP (at, 0, (double) (size - 1));
  else if (sampling->padding == PAD_REFLECTION)
    at = reflect (at, low, high);
  double base = sampling->n_taps == 1 ? rint (at) : floor (at) - (sampling->n_taps == 4);
  for (guint k = 0; k < sampling->n_taps; k++)
    {
      double tap = base + k;
      taps->index[k] = tap_index (sampling, tap, size, low, high);
      taps->weight[k] = sampling->n_taps == 1   ? 1
                        : sampling->n_taps == 2 ? 1 - fabs (at - tap)
                                                : cubic_weight (at - tap);
    }
}

static double
combine (const Sampling *sampling, const Taps *taps, const gint64 *dims, const double *plane)
{
  guint64 combinations = 1;
  double sum = 0;

  for (guint i = 0; i < sampling->n_axes; i++)
    combinations *= sampling->n_taps;
  for (guint64 c = 0; c < combinations; c++)
    {
      guint64 rest = c;
      gint64 offset = 0, stride = 1;
      double weight = 1;
      for (guint axis = sampling->n_axes; axis-- > 0; rest /= sampling->n_taps)
        {
          const guint k = (guint) (rest % sampling->n_taps);
          gint64 index = taps[axis].index[k];
          weight = index >= 0 ? weight * taps[axis].weight[k] : 0;
          offset += MAX (index, 0) * stride;
          stride *= dims[axis];
        }
      if (weight != 0)
        sum += weight * plane[offset];
    }
  return sum;
}

static gboolean
run (const Sampling *sampling, IrCall *call, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0);
  const gint64 *dims = ir_tensor_dims (x);
  IrTensor *y = ir_block_new_output (call, 0, error);
  Taps taps[MAX_AXES];
  gint64 x_plane = 1, y_plane = 1;

  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (y) == 0)
    return TRUE;
  if (ir_tensor_n_elements (x) == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "X has no elements to sample");
  for (guint i = 0; i < sampling->n_axes; i++)
    {
      x_plane *= dims[i + 2];
      y_plane *= ir_tensor_dims (y)[i + 2];
    }
  g_autofree double *values = ir_block_load_new (call, 0, error);
  g_autofree double *places = ir_block_load_new (call, 1, error);
  if (values == NULL || places == NULL)
    return FALSE;
  for (gint64 n = 0; n < dims[0]; n++)
    for (gint64 p = 0; p < y_plane && !ir_call_stopped (call); p++)
      {
        const double *place = places + (n * y_plane + p) * sampling->n_axes;
        for (guint i = 0; i < sampling->n_axes; i++)
          find_taps (sampling, place[sampling->n_axes - 1 - i], dims[i + 2], &taps[i]);
        for (gint64 c = 0; c < dims[1]; c++)
          {
            double value = combine (sampling, taps, dims + 2, values + (n * dims[1] + c) * x_plane);
            ir_block_store (y, (guint64) ((n * dims[1] + c) * y_plane + p), 1, &value);
          }
      }
  return TRUE;
}

/* X [N, C, ...] with r spatial axes, grid [N, ..., r]. Source: ONNX GridSample 20. */
gboolean
ir_ref_grid_sample (IrCall *call, GError **error)
{
  Sampling sampling;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  IrDtype dtype = ir_tensor_dtype (ir_call_input (call, 0)),
          grid_dtype = ir_tensor_dtype (ir_call_input (call, 1));
  if (ir_ref_kind (dtype) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, dtype, error);
  if (!ir_dtype_is_float (grid_dtype))
    return ir_ref_fail_dtype (call, grid_dtype, error);
  return sampling_init (&sampling, call, ir_tensor_rank (ir_call_input (call, 0)) - 2, error) &&
         run (&sampling, call, error);
}
