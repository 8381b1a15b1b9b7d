/* Discrete Fourier transforms of tensors: along an axis (DFT), and of frames of a signal (STFT).
 * Real numbers have a last axis of 1, complex ones of 2. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/fft.h"
#include "core/exec/ref/fourier.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"

static IrComplex
load_complex (const IrTensor *tensor, gint64 place, guint n_parts)
{
  double parts[2] = { 0, 0 };

  ir_block_load (tensor, (guint64) place * n_parts, n_parts, parts);
  return (IrComplex){ parts[0], parts[1] };
}

static void
store_complex (IrTensor *tensor, gint64 place, guint n_parts, IrComplex value)
{
  double parts[2] = { value.re, value.im };

  ir_block_store (tensor, (guint64) place * n_parts, n_parts, parts);
}

/* An integer input of one element, or @fallback where it is absent. */
static gboolean
read_integer (const IrCall *call, guint slot, gint64 fallback, gint64 *value, GError **error)
{
  g_autofree gint64 *values = NULL;
  guint n = 0;

  *value = fallback;
  if (!ir_call_has_input (call, slot))
    return TRUE;
  if (!ir_call_input_ints (call, slot, &values, &n) || n != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "input %u must be one integer", slot);
  *value = values[0];
  return TRUE;
}

/* -- what is transformed -- */

void
ir_fourier_clear (IrFourier *fourier)
{
  g_clear_pointer (&fourier->window, g_free);
}

gboolean
ir_fourier_init_dft (IrFourier *fourier, IrCall *call, GError **error)
{
  gint64 axis, inner, n_parts;

  *fourier = (IrFourier){ .inverse = ir_call_int (call, "inverse", 0) != 0 };
  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0);
  const gint64 *dims = ir_tensor_dims (x), *dims_out = call->outputs[0].type->dims;
  int rank = (int) ir_tensor_rank (x);
  if (!read_integer (call, 2, -2, &axis, error) || !ir_call_axis (call, axis, rank, &axis, error))
    return FALSE;
  fourier->half = fourier->inverse && ir_call_int (call, "onesided", 0) != 0;
  if (!read_integer (call, 1, fourier->half ? 2 * (dims[axis] - 1) : dims[axis], &fourier->length,
                     error))
    return FALSE;
  if (fourier->length < 1)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "the length of the transform is %" G_GINT64_FORMAT
                         ", at least 1 is needed",
                         fourier->length);
  fourier->n_in = MIN (dims[axis], fourier->half ? fourier->length / 2 + 1 : fourier->length);
  fourier->n_out = dims_out[axis];
  fourier->parts_in = (guint) dims[rank - 1];
  fourier->parts_out = (guint) dims_out[rank - 1];
  ir_ref_split_at ((guint) rank - 1, dims, (guint) axis, &n_parts, &inner);
  fourier->n_lines = (gint64) ((guint64) n_parts * (guint64) inner);
  fourier->per_part = inner;
  fourier->in = (IrFourierStrides){ dims[axis] * inner, 1, inner };
  fourier->out = (IrFourierStrides){ fourier->n_out * inner, 1, inner };
  return TRUE;
}

gboolean
ir_fourier_init_stft (IrFourier *fourier, IrCall *call, GError **error)
{
  gint64 step;

  *fourier = (IrFourier){ .parts_in = 1, .parts_out = 2 };
  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0), *window = ir_call_input (call, 2);
  const gint64 *dims = ir_tensor_dims (x), *dims_out = call->outputs[0].type->dims;
  if (ir_tensor_rank (x) == 3)
    fourier->parts_in = (guint) dims[2];
  gint64 length = window != NULL ? ir_tensor_dims (window)[0] : dims[1];
  if (!read_integer (call, 1, 1, &step, error) ||
      !read_integer (call, 3, length, &fourier->length, error))
    return FALSE;
  if (fourier->length < 1) /* of the signal or of the window; inference refuses the others */
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "frames have no elements");
  fourier->window = window != NULL ? ir_block_load_new (call, 2, error) : NULL;
  if (window != NULL && fourier->window == NULL)
    return FALSE;
  fourier->n_in = fourier->length;
  fourier->per_part = dims_out[1];
  fourier->n_lines = dims_out[0] * dims_out[1];
  fourier->n_out = dims_out[2];
  fourier->in = (IrFourierStrides){ dims[1], step, 1 };
  fourier->out = (IrFourierStrides){ dims_out[1] * dims_out[2], dims_out[2], 1 };
  return TRUE;
}

/* -- one line after the other -- */

/* The whole spectrum of a real signal from its first half: the rest is its mirror image, and what
 * has no partner is real. */
static void
mirror (IrComplex *spectrum, gint64 n)
{
  spectrum[0].im = 0;
  if (n % 2 == 0)
    spectrum[n / 2].im = 0;
  for (gint64 k = 1; k < (n + 1) / 2; k++)
    spectrum[n - k] = (IrComplex){ spectrum[k].re, -spectrum[k].im };
}

static void
transform_line (
    const IrFourier *fourier, const IrTensor *x, IrTensor *y, IrFft *fft, IrComplex *line, gint64 i)
{
  gint64 n = fourier->length, wanted = fourier->half ? n / 2 + 1 : n;
  gint64 from = ir_fourier_place (fourier, &fourier->in, i);
  gint64 to = ir_fourier_place (fourier, &fourier->out, i);

  for (gint64 k = 0; k < wanted; k++)
    {
      IrComplex value = { 0, 0 };
      if (k < fourier->n_in)
        value = load_complex (x, from + k * fourier->in.number, fourier->parts_in);
      if (fourier->window != NULL)
        value = (IrComplex){ value.re * fourier->window[k], value.im * fourier->window[k] };
      line[k] = value;
    }
  if (fourier->half)
    mirror (line, n);
  ir_fft_run (fft, line, fourier->inverse);
  for (gint64 k = 0; k < fourier->n_out; k++)
    {
      IrComplex value = line[k];
      if (fourier->inverse)
        value = (IrComplex){ value.re / (double) n, value.im / (double) n };
      store_complex (y, to + k * fourier->out.number, fourier->parts_out, value);
    }
}

static gboolean
transform (IrCall *call, const IrFourier *fourier, GError **error)
{
  IrTensor *y = ir_block_new_output (call, 0, error);

  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (y) == 0)
    return TRUE;
  g_autoptr (IrFft) fft = ir_fft_new (call, (guint64) fourier->length);
  g_autofree IrComplex *line = fft != NULL ? g_try_new (IrComplex, (gsize) fourier->length) : NULL;
  if (line == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "no memory for a transform of length %" G_GINT64_FORMAT, fourier->length);
  for (gint64 i = 0; i < fourier->n_lines; i++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      transform_line (fourier, ir_call_input (call, 0), y, fft, line, i);
    }
  return TRUE;
}

/* Input [.., 1 or 2], dft_length, axis. Computes in doubles by ir_fft_run(). Source: ONNX DFT
 * 20. */
gboolean
ir_ref_dft (IrCall *call, GError **error)
{
  g_auto (IrFourier) fourier = { 0 };

  return ir_fourier_init_dft (&fourier, call, error) && transform (call, &fourier, error);
}

/* Signal [batch, length, 1 or 2] or [batch, length], frame_step, window, frame_length. Source: ONNX STFT 17. */
gboolean
ir_ref_stft (IrCall *call, GError **error)
{
  g_auto (IrFourier) fourier = { 0 };

  return ir_fourier_init_stft (&fourier, call, error) && transform (call, &fourier, error);
}
