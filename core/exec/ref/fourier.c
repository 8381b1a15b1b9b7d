/* Discrete Fourier transforms of tensors: along an axis (DFT), and of frames of a signal (STFT).
 * Real numbers have a last axis of 1, complex ones of 2. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/fft.h"
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

/* A transform of length @n and a signal for it; FALSE if there is no memory. */
static gboolean
buffers_new (const IrCall *call, gint64 n, IrFft **fft, IrComplex **signal, GError **error)
{
  *fft = ir_fft_new (call, (guint64) n);
  *signal = *fft != NULL ? g_try_new (IrComplex, (gsize) n) : NULL;
  return *signal != NULL ||
         ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                       "no memory for a transform of length %" G_GINT64_FORMAT, n);
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

/* -- DFT -- */

typedef struct
{
  const IrCall *call;
  const IrTensor *x;
  IrTensor *y;
  gint64 length;             /* of the transform */
  gint64 n_in, n_out, inner; /* elements along the axis of x and y, and behind it */
  guint parts_in, parts_out; /* 1: real, 2: complex */
  gboolean inverse, onesided;
} Dft;

/* The whole spectrum of a real signal from its first half: the rest is its mirror image, and what
 * has no partner is real. */
static void
mirror (const IrCall *call, IrComplex *spectrum, gint64 n)
{
  spectrum[0].im = 0;
  if (n % 2 == 0)
    spectrum[n / 2].im = 0;
  for (gint64 k = 1; k < (n + 1) / 2; k++)
    spectrum[n - k] = (IrComplex){ spectrum[k].re, -spectrum[k].im };
}

static void
transform_line (const Dft *dft, IrFft *fft, IrComplex *signal, gint64 line)
{
  gint64 n = dft->length, outer = line / dft->inner, at = line % dft->inner;
  gboolean half = dft->inverse && dft->onesided;
  gint64 wanted = half ? n / 2 + 1 : n;

  for (gint64 k = 0; k < wanted; k++)
    signal[k] = k < dft->n_in ? load_complex (dft->x, (outer * dft->n_in + k) * dft->inner + at,
                                              dft->parts_in)
                              : (IrComplex){ 0, 0 };
  if (half)
    mirror (dft->call, signal, n);
  ir_fft_run (fft, signal, dft->inverse);
  for (gint64 k = 0; k < dft->n_out; k++)
    {
      IrComplex value = signal[k];
      if (dft->inverse)
        value = (IrComplex){ value.re / (double) n, value.im / (double) n };
      store_complex (dft->y, (outer * dft->n_out + k) * dft->inner + at, dft->parts_out, value);
    }
}

static gboolean
dft_init (Dft *dft, IrCall *call, gint64 *n_lines, GError **error)
{
  const gint64 *dims;
  gint64 axis;

  dft->call = call;
  dft->x = ir_call_input (call, 0);
  dft->inverse = ir_call_int (call, "inverse", 0) != 0;
  dft->onesided = ir_call_int (call, "onesided", 0) != 0;
  dims = ir_tensor_dims (dft->x);
  int rank = (int) ir_tensor_rank (dft->x);
  if (!read_integer (call, 2, -2, &axis, error) || !ir_call_axis (call, axis, rank, &axis, error))
    return FALSE;
  dft->n_in = dims[axis];
  gboolean half = dft->inverse && dft->onesided;
  if (!read_integer (call, 1, half ? 2 * (dft->n_in - 1) : dft->n_in, &dft->length, error))
    return FALSE;
  if (dft->length < 1)
    return ir_call_fail (
        call, error, IR_OP_ERROR_VALUE,
        "the length of the transform is %" G_GINT64_FORMAT ", at least 1 is needed", dft->length);
  dft->y = ir_block_new_output (call, 0, error);
  if (dft->y == NULL)
    return FALSE;
  dft->n_out = ir_tensor_dims (dft->y)[axis];
  dft->parts_in = (guint) dims[rank - 1];
  dft->parts_out = (guint) ir_tensor_dims (dft->y)[rank - 1];
  ir_ref_split_at ((guint) rank - 1, dims, (guint) axis, n_lines, &dft->inner);
  *n_lines = (gint64) ((guint64) *n_lines * (guint64) dft->inner);
  return TRUE;
}

/* Input [.., 1 or 2], dft_length, axis. Computes in doubles by ir_fft_run(). Source: ONNX DFT
 * 20. */
gboolean
ir_ref_dft (IrCall *call, GError **error)
{
  g_autoptr (IrFft) fft = NULL;
  g_autofree IrComplex *signal = NULL;
  Dft dft = { 0 };
  gint64 n_lines;

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error) ||
      !dft_init (&dft, call, &n_lines, error))
    return FALSE;
  if (ir_tensor_n_elements (dft.y) == 0)
    return TRUE;
  if (!buffers_new (call, dft.length, &fft, &signal, error))
    return FALSE;
  for (gint64 line = 0; line < n_lines; line++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      transform_line (&dft, fft, signal, line);
    }
  return TRUE;
}

/* -- STFT -- */

/* Signal [batch, length, 1 or 2] or [batch, length], frame_step, window, frame_length. Source: ONNX STFT 17. */
gboolean
ir_ref_stft (IrCall *call, GError **error)
{
  g_autoptr (IrFft) fft = NULL;
  g_autofree IrComplex *frame = NULL;
  g_autofree double *window = NULL;
  gint64 step, length;

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0), *weights = ir_call_input (call, 2);
  gint64 n_in = ir_tensor_dims (x)[1];
  guint parts = ir_tensor_rank (x) == 3 ? (guint) ir_tensor_dims (x)[2] : 1;
  gint64 fallback = weights != NULL ? ir_tensor_dims (weights)[0] : n_in;
  if (!read_integer (call, 1, 1, &step, error) || !read_integer (call, 3, fallback, &length, error))
    return FALSE;
  if (length < 1) /* of the signal or of the window; inference refuses the others */
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "frames have no elements");
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL || !buffers_new (call, length, &fft, &frame, error))
    return FALSE;
  window = weights != NULL ? ir_block_load_new (call, 2, error) : NULL;
  if (weights != NULL && window == NULL)
    return FALSE;
  const gint64 *dims = ir_tensor_dims (y);
  for (gint64 row = 0; row < dims[0] * dims[1]; row++)
    {
      gint64 first = row / dims[1] * n_in + row % dims[1] * step;
      if (ir_block_cancelled (call, error))
        return FALSE;
      for (gint64 k = 0; k < length; k++)
        {
          double weight = window != NULL ? window[k] : 1;
          IrComplex value = load_complex (x, first + k, parts);
          frame[k] = (IrComplex){ value.re * weight, value.im * weight };
        }
      ir_fft_run (fft, frame, FALSE);
      for (gint64 k = 0; k < dims[2]; k++)
        store_complex (y, row * dims[2] + k, 2, frame[k]);
    }
  return TRUE;
}
