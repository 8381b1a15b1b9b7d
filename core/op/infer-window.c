/* Sliding windows: strides, dilations, padding and the sizes that follow from them. */
#include "config.h"

#include "core/op/infer-window.h"

#include <string.h>

#define MAX_EXTENT ((gint64) 1 << 31) /* of strides, dilations, pads and kernels: products fit */

typedef enum
{
  PAD_EXPLICIT,
  PAD_SAME_UPPER,
  PAD_SAME_LOWER,
  PAD_VALID
} PadMode;

/* An INTS attribute of @n entries in [@low, MAX_EXTENT), or @fallback where it is absent. */
static gboolean
read_extents (const IrCall *call,
              const char *name,
              guint n,
              gint64 low,
              gint64 fallback,
              gint64 *values,
              GError **error)
{
  guint given;
  const gint64 *ints = ir_call_ints (call, name, &given);

  for (guint i = 0; i < n; i++)
    values[i] = fallback;
  if (ints == NULL || given == 0)
    return TRUE;
  if (given != n)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "%s has %u entries, needed are %u",
                         name, given, n);
  for (guint i = 0; i < n; i++)
    {
      if (ints[i] < low || ints[i] >= MAX_EXTENT)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "%s has the entry %" G_GINT64_FORMAT
                             ", needed is at least %" G_GINT64_FORMAT,
                             name, ints[i], low);
      values[i] = ints[i];
    }
  return TRUE;
}

static gboolean
read_pad_mode (const IrCall *call, PadMode *mode, GError **error)
{
  const char *name = ir_call_string (call, "auto_pad", "NOTSET");

  if (strcmp (name, "NOTSET") == 0 || *name == '\0')
    *mode = PAD_EXPLICIT;
  else if (strcmp (name, "SAME_UPPER") == 0)
    *mode = PAD_SAME_UPPER;
  else if (strcmp (name, "SAME_LOWER") == 0)
    *mode = PAD_SAME_LOWER;
  else if (strcmp (name, "VALID") == 0)
    *mode = PAD_VALID;
  else
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "auto_pad is “%s”, needed is NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                         name);
  return TRUE;
}

static gboolean
read_kernel (IrWindow *window, const IrCall *call, const IrDim *kernel, GError **error)
{
  guint given;
  const gint64 *shape = ir_call_ints (call, "kernel_shape", &given);

  for (guint i = 0; i < window->n_axes; i++)
    window->kernel[i] = kernel != NULL ? kernel[i] : IR_DIM_UNKNOWN;
  if (shape == NULL || given == 0)
    return TRUE;
  gint64 extents[IR_WINDOW_MAX_AXES];
  if (!read_extents (call, "kernel_shape", window->n_axes, 1, 1, extents, error))
    return FALSE;
  for (guint i = 0; i < window->n_axes; i++)
    if (!ir_call_same_dim (call, window->kernel[i], extents[i], "kernel_shape", &window->kernel[i],
                           error))
      return FALSE;
  return TRUE;
}

static gboolean
read_attributes (IrWindow *window,
                 const IrCall *call,
                 guint n_axes,
                 const IrDim *in,
                 const IrDim *kernel,
                 PadMode *mode,
                 GError **error)
{
  gint64 pads[2 * IR_WINDOW_MAX_AXES];

  memset (window, 0, sizeof *window);
  if (n_axes > IR_WINDOW_MAX_AXES)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "%u spatial axes, at most %d can be handled", n_axes, IR_WINDOW_MAX_AXES);
  window->n_axes = n_axes;
  for (guint i = 0; i < n_axes; i++)
    {
      window->in[i] = in != NULL ? in[i] : IR_DIM_UNKNOWN;
      window->out[i] = IR_DIM_UNKNOWN;
    }
  if (!read_pad_mode (call, mode, error) || !read_kernel (window, call, kernel, error) ||
      !read_extents (call, "strides", n_axes, 1, 1, window->stride, error) ||
      !read_extents (call, "dilations", n_axes, 1, 1, window->dilation, error) ||
      !read_extents (call, "pads", 2 * n_axes, 0, 0, pads, error))
    return FALSE;
  for (guint i = 0; i < n_axes && *mode == PAD_EXPLICIT; i++)
    {
      window->pad_begin[i] = pads[i];
      window->pad_end[i] = pads[n_axes + i];
    }
  return TRUE;
}

/* Extent of the dilated kernel along axis @i. */
static IrDim
reach (const IrWindow *window, IrContext *context, guint i)
{
  IrDim taps = ir_dim_sub (context, window->kernel[i], 1);

  return ir_dim_add (context, ir_dim_mul (context, taps, window->dilation[i]), 1);
}

static void
split_padding (IrWindow *window, guint i, gint64 total, gboolean more_at_end)
{
  gint64 less = total / 2, more = total - less;

  window->pad_begin[i] = more_at_end ? less : more;
  window->pad_end[i] = more_at_end ? more : less;
}

/* @hangs: one window may be larger than the padded input, by less than a step: poolings have it so in
 * every runtime, since the division of the definition rounds to 0 there. */
static gboolean
slide (IrWindow *window,
       const IrCall *call,
       guint i,
       PadMode mode,
       gboolean ceil_mode,
       gboolean hangs,
       GError **error)
{
  IrContext *context = call->context;
  IrDim in = window->in[i], extent = reach (window, context, i);
  gint64 stride = window->stride[i], pads = window->pad_begin[i] + window->pad_end[i];

  if (mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER)
    {
      window->out[i] = ir_dim_ceildiv (context, in, stride);
      if (ir_dim_is_known (in) && ir_dim_is_known (extent))
        split_padding (window, i, MAX ((window->out[i] - 1) * stride + extent - in, 0),
                       mode == PAD_SAME_UPPER);
      return TRUE;
    }
  if (!ir_dim_is_known (in) || !ir_dim_is_known (extent))
    {
      /* A window that would start in the padding behind the data is dropped, which has no symbol.
       */
      if (ceil_mode && mode == PAD_EXPLICIT && stride != 1)
        return TRUE;
      IrDim room = ir_dim_sub (context, ir_dim_add (context, in, pads), extent);
      window->out[i] = ir_dim_add (context, ir_dim_floordiv (context, room, stride), 1);
      return TRUE;
    }
  gint64 room = in + pads - extent;
  gboolean up = ceil_mode && mode == PAD_EXPLICIT;
  if (room < 0 && ((!up && !hangs) || room <= -stride || in + window->pad_begin[i] <= 0))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "spatial axis %u: a window of %" G_GINT64_FORMAT
                         " does not fit into %" G_GINT64_FORMAT " elements and %" G_GINT64_FORMAT
                         " of padding",
                         i, extent, in, pads);
  gint64 out = room < 0 ? 1
                        : room / stride + 1; /* one that hangs over the end, as PyTorch has it */
  if (up && room > 0 && room % stride != 0 && out * stride < in + window->pad_begin[i])
    out++;
  window->out[i] = out;
  return TRUE;
}

/**
 * ir_window_init:
 * @window: (out caller-allocates): the geometry
 * @call: a call with the attributes of a convolution or pooling
 * @n_axes: number of spatial axes
 * @in: (nullable) (array length=n_axes): size of the input along them; %NULL: not known
 * @kernel: (nullable) (array length=n_axes): size of the weight along them; %NULL: none, the
 *   attribute kernel_shape says
 * @error: return location for an error
 *
 * Computes the sizes of the output: floor ((in + pads - ((kernel - 1) · dilation + 1)) / stride) +
 * 1 with explicit padding, ceil instead of floor with ceil_mode (windows that would start in the
 * padding behind the data are left out), ceil (in / stride) with auto_pad SAME_*. One window may be
 * larger than the padded input with ceil_mode, or where there is no weight: in poolings.
 *
 * Fails with %IR_OP_ERROR_ATTRIBUTE on attributes of a wrong length or out of range, with
 * %IR_OP_ERROR_SHAPE if the window is larger than the padded input.
 *
 * Source: ONNX Conv 22, MaxPool 22, AveragePool 22.
 *
 * Returns: %TRUE if @window was set
 */
gboolean
ir_window_init (IrWindow *window,
                const IrCall *call,
                guint n_axes,
                const IrDim *in,
                const IrDim *kernel,
                GError **error)
{
  gboolean ceil_mode = ir_call_int (call, "ceil_mode", 0) != 0;
  PadMode mode;

  if (!read_attributes (window, call, n_axes, in, kernel, &mode, error))
    return FALSE;
  for (guint i = 0; i < n_axes; i++)
    if (!slide (window, call, i, mode, ceil_mode, kernel == NULL, error))
      return FALSE;
  return TRUE;
}

/**
 * ir_window_init_transposed:
 * @window: (out caller-allocates): the geometry
 * @call: a call with the attributes of ConvTranspose
 * @n_axes: number of spatial axes
 * @in: (nullable) (array length=n_axes): size of the input along them
 * @kernel: (nullable) (array length=n_axes): size of the weight along them
 * @error: return location for an error
 *
 * Computes out = stride · (in - 1) + output_padding + (kernel - 1) · dilation + 1 - pads. With
 * output_shape, or auto_pad SAME_* (out = in · stride), the padding follows from the output, the
 * odd element at the end for SAME_UPPER and at the beginning otherwise; it is never negative.
 *
 * Source: ONNX ConvTranspose 22.
 *
 * Returns: %TRUE if @window was set
 */
gboolean
ir_window_init_transposed (IrWindow *window,
                           const IrCall *call,
                           guint n_axes,
                           const IrDim *in,
                           const IrDim *kernel,
                           GError **error)
{
  IrContext *context = call->context;
  gint64 added[IR_WINDOW_MAX_AXES], wanted[IR_WINDOW_MAX_AXES];
  PadMode mode;

  if (!read_attributes (window, call, n_axes, in, kernel, &mode, error) ||
      !read_extents (call, "output_padding", n_axes, 0, 0, added, error) ||
      !read_extents (call, "output_shape", n_axes, 0, -1, wanted, error))
    return FALSE;
  for (guint i = 0; i < n_axes; i++)
    {
      IrDim steps = ir_dim_mul (context, ir_dim_sub (context, window->in[i], 1), window->stride[i]);
      IrDim full = ir_dim_add (context, ir_dim_add (context, steps, reach (window, context, i)),
                               added[i]);
      if (wanted[i] >= 0)
        window->out[i] = wanted[i];
      else if (mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER)
        window->out[i] = ir_dim_mul (context, window->in[i], window->stride[i]);
      else
        {
          window->out[i] = ir_dim_sub (context, full, window->pad_begin[i] + window->pad_end[i]);
          if (window->out[i] == IR_DIM_UNKNOWN && ir_dim_is_known (full))
            return ir_call_fail (
                call, error, IR_OP_ERROR_SHAPE,
                "spatial axis %u: the padding is larger than the output of %" G_GINT64_FORMAT
                " elements",
                i, full);
          continue;
        }
      if (ir_dim_is_known (full) && ir_dim_is_known (window->out[i]))
        split_padding (window, i, MAX (full - window->out[i], 0), mode == PAD_SAME_UPPER);
    }
  return TRUE;
}

/* Rank that input 0 has by its type or by that of the weight; both must agree. */
static gboolean
window_rank (const IrCall *call, guint weight, int *rank, GError **error)
{
  int x = ir_call_input_rank (call, 0), w = ir_call_input_rank (call, weight);

  *rank = x != IR_RANK_UNKNOWN ? x : w;
  if (x != IR_RANK_UNKNOWN && w != IR_RANK_UNKNOWN && x != w)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "X has rank %d, W has rank %d; both have "
                         "the same rank in a convolution",
                         x, w);
  if (*rank != IR_RANK_UNKNOWN && *rank < 3)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "X has rank %d, needed are at least 3 axes: batch, channel, one of space",
                         *rank);
  return TRUE;
}

/**
 * ir_window_of_conv:
 * @window: (out caller-allocates): the geometry
 * @call: a call with inputs X [N, C, ...] and W [M, C / group, ...]
 * @error: return location for an error
 *
 * Sets the window from the types of X and W; n_axes is 0 where neither rank is known.
 *
 * Returns: %TRUE if @window was set
 */
gboolean
ir_window_of_conv (IrWindow *window, const IrCall *call, GError **error)
{
  const IrDim *x = ir_call_input_dims (call, 0), *w = ir_call_input_dims (call, 1);
  int rank;

  memset (window, 0, sizeof *window);
  if (!window_rank (call, 1, &rank, error))
    return FALSE;
  return rank == IR_RANK_UNKNOWN ||
         ir_window_init (window, call, (guint) rank - 2, x != NULL ? x + 2 : NULL,
                         w != NULL ? w + 2 : NULL, error);
}

/**
 * ir_window_of_conv_transpose:
 * @window: (out caller-allocates): the geometry
 * @call: a call with inputs X [N, C, ...] and W [C, M / group, ...]
 * @error: return location for an error
 *
 * As ir_window_of_conv(), for the transposed convolution.
 *
 * Returns: %TRUE if @window was set
 */
gboolean
ir_window_of_conv_transpose (IrWindow *window, const IrCall *call, GError **error)
{
  const IrDim *x = ir_call_input_dims (call, 0), *w = ir_call_input_dims (call, 1);
  int rank;

  memset (window, 0, sizeof *window);
  if (!window_rank (call, 1, &rank, error))
    return FALSE;
  return rank == IR_RANK_UNKNOWN ||
         ir_window_init_transposed (window, call, (guint) rank - 2, x != NULL ? x + 2 : NULL,
                                    w != NULL ? w + 2 : NULL, error);
}

/**
 * ir_window_of_pool:
 * @window: (out caller-allocates): the geometry
 * @call: a call with input X [N, C, ...] and the attribute kernel_shape
 * @error: return location for an error
 *
 * As ir_window_of_conv(), for poolings.
 *
 * Returns: %TRUE if @window was set
 */
gboolean
ir_window_of_pool (IrWindow *window, const IrCall *call, GError **error)
{
  const IrDim *x = ir_call_input_dims (call, 0);
  int rank = ir_call_input_rank (call, 0);
  guint n_kernel;

  memset (window, 0, sizeof *window);
  if (ir_call_ints (call, "kernel_shape", &n_kernel) == NULL || n_kernel == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "the attribute kernel_shape is missing");
  if (rank == IR_RANK_UNKNOWN)
    return ir_window_init (window, call, n_kernel, NULL, NULL, error);
  if (rank < 3)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "X has rank %d, needed are at least 3 axes: batch, channel, one of space",
                         rank);
  return ir_window_init (window, call, (guint) rank - 2, x + 2, NULL, error);
}
