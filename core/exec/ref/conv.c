/* Convolution and transposed convolution. Both add, for every pair of channels and every element of
 * the kernel (a tap), one shifted plane times one weight into the plane of the output; only the
 * part of the plane where the tap stays inside is visited, so no padding is ever stored. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/quantize.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/kernel/threads.h"
#include "core/op/infer-window.h"
#include "core/exec/ref/ref.h"

/* How whole numbers stand for what is convolved; sums of their products are exact in double. */
typedef struct
{
  double x_zero, y_zero;
  double *w_zero; /* per output channel */
  double *scale;  /* (nullable) per output channel: from sums to y; NULL: y is the sum, wrapped */
} Whole;

typedef struct
{
  IrCall *call;
  const Whole *whole; /* (nullable) */
  IrWindow window;
  gboolean transposed;
  gint64 batch, x_channels, y_channels, group; /* N, C, M */
  guint64 x_plane, y_plane, taps;              /* elements */
  const double *x;                             /* one sample: [C, x_plane] */
  gint no_memory;                              /* atomic: a thread got no scratch */
  IrTensor *y;
  guint64 sample;
} Conv;

static guint64
product (const IrDim *dims, guint n)
{
  guint64 result = 1;

  for (guint i = 0; i < n; i++)
    result *= (guint64) dims[i];
  return result;
}

static gint64
floor_div (gint64 a, gint64 b)
{
  return a / b - (a % b < 0);
}

/* Adds weight times the plane @x, shifted by @tap, into @y. The stride walks the smaller plane
 * (base): the output in a convolution, the input in a transposed one; position base · stride + tap
 * · dilation - pad of the larger one (target) must lie inside. */
static void
add_tap (const Conv *conv, const gint64 *tap, double weight, const double *x, double *y)
{
  const IrWindow *window = &conv->window;
  const IrDim *base = conv->transposed ? window->in : window->out;
  const IrDim *target = conv->transposed ? window->out : window->in;
  gint64 low[IR_WINDOW_MAX_AXES], high[IR_WINDOW_MAX_AXES], shift[IR_WINDOW_MAX_AXES];
  gint64 at[IR_WINDOW_MAX_AXES];
  guint last = window->n_axes - 1;

  for (guint i = 0; i <= last; i++)
    {
      gint64 stride = window->stride[i];
      shift[i] = tap[i] * window->dilation[i] - window->pad_begin[i];
      low[i] = MAX (-floor_div (shift[i], stride), 0);
      high[i] = MIN (floor_div (target[i] - 1 - shift[i], stride) + 1, base[i]);
      if (low[i] >= high[i])
        return;
      at[i] = low[i];
    }
  for (;;)
    {
      gint64 base_row = 0, target_row = 0;
      for (guint i = 0; i <= last; i++)
        {
          base_row = base_row * base[i] + (i < last ? at[i] : 0);
          target_row = target_row * target[i] +
                       (i < last ? at[i] * window->stride[i] + shift[i] : shift[i]);
        }
      gint64 stride = window->stride[last];
      if (conv->transposed)
        for (gint64 column = low[last]; column < high[last]; column++)
          y[target_row + column * stride] += weight * x[base_row + column];
      else
        for (gint64 column = low[last]; column < high[last]; column++)
          y[base_row + column] += weight * x[target_row + column * stride];
      guint axis = last;
      while (axis > 0 && ++at[axis - 1] == high[axis - 1])
        {
          at[axis - 1] = low[axis - 1];
          axis--;
        }
      if (axis == 0)
        return;
    }
}

static void
add_channel (const Conv *conv, const double *weights, const double *x, double *y)
{
  gint64 tap[IR_WINDOW_MAX_AXES] = { 0 };

  for (guint64 i = 0; i < conv->taps; i++)
    {
      add_tap (conv, tap, weights[i], x, y);
      for (guint axis = conv->window.n_axes; axis-- > 0;)
        {
          if (++tap[axis] < conv->window.kernel[axis])
            break;
          tap[axis] = 0;
        }
    }
}

/* Sums of channel @m become what is stored. */
static void
finish_whole (const Conv *conv, guint64 m, double *y)
{
  const Whole *whole = conv->whole;

  for (guint64 i = 0; i < conv->y_plane; i++)
    if (whole->scale != NULL)
      y[i] = ir_ref_requantize (ir_tensor_dtype (conv->y), y[i], whole->scale[m], whole->y_zero);
    else
      y[i] = (gint32) (guint32) (gint64) y[i];
}

/* Output channels [first, end) of one sample. */
static void
run_channels (guint64 first, guint64 end, guint worker, gpointer data)
{
  Conv *conv = data;
  const IrTensor *w = ir_call_input (conv->call, 1), *bias = ir_call_input (conv->call, 2);
  guint64 x_each = (guint64) (conv->x_channels / conv->group);
  guint64 y_each = (guint64) (conv->y_channels / conv->group);
  g_autofree double *y = ir_block_new (conv->call, conv->y_plane, NULL);
  g_autofree double *weights = ir_block_new (conv->call, conv->taps, NULL);

  if (y == NULL || weights == NULL)
    {
      g_atomic_int_set (&conv->no_memory, TRUE);
      return;
    }
  for (guint64 m = first; m < end && !ir_call_stopped (conv->call); m++)
    {
      guint64 group = m / y_each;
      double start = bias != NULL ? ir_tensor_get_double (bias, m) : 0;
      ir_block_fill (y, conv->y_plane, start);
      for (guint64 c = 0; c < x_each; c++)
        {
          guint64 channel = group * x_each + c;
          guint64 pair = conv->transposed ? channel * y_each + m % y_each : m * x_each + c;
          ir_block_load_many (conv->call, w, pair * conv->taps, conv->taps, weights);
          for (guint64 i = 0; conv->whole != NULL && i < conv->taps; i++)
            weights[i] -= conv->whole->w_zero[m];
          add_channel (conv, weights, conv->x + channel * conv->x_plane, y);
        }
      guint64 row = conv->sample * (guint64) conv->y_channels + m;
      if (conv->whole != NULL)
        finish_whole (conv, m, y);
      ir_block_store (conv->y, row * conv->y_plane, conv->y_plane, y);
    }
}

static gboolean
run (Conv *conv, GError **error)
{
  IrCall *call = conv->call;
  const IrTensor *x = ir_call_input (call, 0);
  guint n_axes = conv->window.n_axes;

  conv->batch = ir_tensor_dims (x)[0];
  conv->x_channels = ir_tensor_dims (x)[1];
  conv->y_channels = call->outputs[0].type->dims[1];
  conv->group = ir_call_int (call, "group", 1);
  conv->x_plane = product (conv->window.in, n_axes);
  conv->y_plane = product (conv->window.out, n_axes);
  conv->taps = product (conv->window.kernel, n_axes);
  conv->y = ir_block_new_output (call, 0, error);
  if (conv->y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (conv->y) == 0)
    return TRUE;
  guint64 sample_size = (guint64) conv->x_channels * conv->x_plane;
  g_autofree double *sample = ir_block_new (call, sample_size, error);
  if (sample == NULL)
    return FALSE;
  conv->x = sample;
  double per_channel = (double) conv->y_plane * (double) conv->taps *
                       (double) (conv->x_channels / MAX (conv->group, 1));
  for (conv->sample = 0; conv->sample < (guint64) conv->batch; conv->sample++)
    {
      ir_block_load_many (call, x, conv->sample * sample_size, sample_size, sample);
      for (guint64 i = 0; conv->whole != NULL && i < sample_size; i++)
        sample[i] -= conv->whole->x_zero;
      ir_threads_for (call->threads, (guint64) conv->y_channels, ir_threads_grain (per_channel),
                      run_channels, conv);
      if (ir_block_cancelled (call, error))
        return FALSE;
      if (g_atomic_int_get (&conv->no_memory))
        return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for scratch");
    }
  return TRUE;
}

/* X [N, C, ...], W [M, C / group, ...], B [M] or none. Source: ONNX Conv 22. Cost: O(N · M · C /
 * group · taps · output plane), in double. */
gboolean
ir_ref_conv (IrCall *call, GError **error)
{
  Conv conv = { .call = call };

  return ir_block_check_float (call, error) && call->op->infer (call, error) &&
         ir_window_of_conv (&conv.window, call, error) && run (&conv, error);
}

/* X [N, C, ...], W [C, M / group, ...], B [M] or none. Source: ONNX ConvTranspose 22. */
gboolean
ir_ref_conv_transpose (IrCall *call, GError **error)
{
  Conv conv = { .call = call, .transposed = TRUE };

  return ir_block_check_float (call, error) && ir_infer_conv_transpose (call, error) &&
         ir_window_of_conv_transpose (&conv.window, call, error) && run (&conv, error);
}

/* -- convolutions of whole numbers -- */

static void
whole_clear (Whole *whole)
{
  g_clear_pointer (&whole->w_zero, g_free);
  g_clear_pointer (&whole->scale, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Whole, whole_clear)

/* Element @m of an input that has one number or one per channel. */
static double
number_of (const IrCall *call, guint slot, guint64 m, double fallback)
{
  const IrTensor *tensor = ir_call_input (call, slot);

  if (tensor == NULL)
    return fallback;
  return ir_tensor_get_double (tensor, ir_tensor_n_elements (tensor) == 1 ? 0 : m);
}

/* Runs @call, whose weight and bias stand in the slots @w and @bias; inference has checked that the
 * lists of zero points and scales fit the channels. */
static gboolean
run_whole (IrCall *call, Whole *whole, guint w, guint w_zero, guint bias, GError **error)
{
  IrCallInput inputs[3];
  IrCall view;

  guint64 channels = (guint64) ir_tensor_dims (ir_call_input (call, w))[0];
  whole->w_zero = ir_block_new (call, channels, error);
  if (whole->w_zero == NULL)
    return FALSE;
  for (guint64 m = 0; m < channels; m++)
    whole->w_zero[m] = number_of (call, w_zero, m, 0);
  ir_call_as_conv (call, w, bias, inputs, &view);
  Conv conv = { .call = &view, .whole = whole };
  return ir_window_of_conv (&conv.window, &view, error) && run (&conv, error);
}

/* X [N, C, ...], w [M, C / group, ...], zero points. Sums that do not fit 32 bits wrap around,
 * as the standard allows. Source: ONNX ConvInteger 10. */
gboolean
ir_ref_conv_integer (IrCall *call, GError **error)
{
  g_auto (Whole) whole = { 0 };

  if (!ir_ref_prepare (call, error))
    return FALSE;
  whole.x_zero = number_of (call, 2, 0, 0);
  return run_whole (call, &whole, 1, 3, G_MAXUINT, error);
}

/* X [N, C, ...], w [M, C / group, ...] and y with their scales and zero points, B [M]. Source:
 * ONNX QLinearConv 10. */
gboolean
ir_ref_q_linear_conv (IrCall *call, GError **error)
{
  g_auto (Whole) whole = { 0 };

  if (!ir_ref_prepare (call, error))
    return FALSE;
  guint64 channels = (guint64) ir_tensor_dims (ir_call_input (call, 3))[0];
  whole.scale = ir_block_new (call, channels, error);
  if (whole.scale == NULL)
    return FALSE;
  for (guint64 m = 0; m < channels; m++)
    whole.scale[m] = ir_ref_joint_scale (number_of (call, 1, 0, 1), number_of (call, 4, m, 1),
                                         number_of (call, 6, 0, 1));
  whole.x_zero = number_of (call, 2, 0, 0);
  whole.y_zero = number_of (call, 7, 0, 0);
  return run_whole (call, &whole, 3, 5, 8, error);
}
