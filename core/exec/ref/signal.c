/* Windows of signals, which are sums of cosines, and filter banks on the mel scale. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>

/* offset - first · cos (2 pi n / N) + second · cos (4 pi n / N); N is the size or, for a symmetric
 * window, one less. */
static gboolean
cosine_window (IrCall *call, double offset, double first, double second, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  IrDtype dtype = call->outputs[0].type->dtype;
  if (ir_ref_kind (dtype) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, dtype, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  guint64 size = ir_tensor_n_elements (out);
  guint64 period = ir_call_int (call, "periodic", 1) != 0 ? size : size - 1;
  for (guint64 i = 0; i < size; i++)
    {
      /* A symmetric window of one element is its middle. */
      double turn = period > 0 ? (double) i / (double) period : 0.5;
      double value = offset - first * cos (2 * G_PI * turn) + second * cos (4 * G_PI * turn);
      ir_block_store (out, i, 1, &value);
    }
  return TRUE;
}

/* Source: ONNX HannWindow 17 */
gboolean
ir_ref_hann_window (IrCall *call, GError **error)
{
  return cosine_window (call, 0.5, 0.5, 0, error);
}

/* Source: ONNX HammingWindow 17 */
gboolean
ir_ref_hamming_window (IrCall *call, GError **error)
{
  return cosine_window (call, 25.0 / 46, 21.0 / 46, 0, error);
}

/* Source: ONNX BlackmanWindow 17 */
gboolean
ir_ref_blackman_window (IrCall *call, GError **error)
{
  return cosine_window (call, 0.42, 0.5, 0.08, error);
}

/* -- MelWeightMatrix -- */

/* A number of a scalar input. */
static gboolean
read_number (const IrCall *call, guint slot, double *value, GError **error)
{
  const IrTensor *tensor = ir_call_input (call, slot);

  if (ir_tensor_n_elements (tensor) != 1 || ir_ref_kind (ir_tensor_dtype (tensor)) == IR_REF_OTHER)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input %u must be one number", slot);
  *value = ir_tensor_get_double (tensor, 0);
  return TRUE;
}

/* Fills column @column with the triangle from @low over @peak to @high, in bins of the spectrum;
 * what lies beyond the spectrum is cut off. */
static void
store_triangle (IrTensor *out, guint64 column, const double *corners)
{
  double low = corners[0], peak = corners[1], high = corners[2];

  for (gint64 row = 0; row < ir_tensor_dims (out)[0]; row++)
    {
      double at = (double) row, value = 0;
      if (at == peak)
        value = 1;
      else if (at > low && at < peak)
        value = (at - low) / (peak - low);
      else if (at > peak && at < high)
        value = (high - at) / (high - peak);
      ir_block_store (out, (guint64) (row * ir_tensor_dims (out)[1]) + column, 1, &value);
    }
}

/* Mel (f) = 2595 log10 (1 + f / 700); the corners of the triangles are equally far apart in mel
 * and are then rounded down to bins of the spectrum. Source: ONNX MelWeightMatrix 17. */
gboolean
ir_ref_mel_weight_matrix (IrCall *call, GError **error)
{
  double bins = 0, length = 0, rate = 0, lower = 0, upper = 0;

  if (!ir_ref_prepare (call, error) || !read_number (call, 0, &bins, error) ||
      !read_number (call, 1, &length, error) || !read_number (call, 2, &rate, error) ||
      !read_number (call, 3, &lower, error) || !read_number (call, 4, &upper, error))
    return FALSE;
  IrDtype dtype = call->outputs[0].type->dtype;
  if (ir_ref_kind (dtype) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, dtype, error);
  if (!(lower >= 0 && upper >= lower && isfinite (upper)))
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "frequencies from %g to %g Hz are no range", lower, upper);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  double low = 2595 * log10 (1 + lower / 700), high = 2595 * log10 (1 + upper / 700);
  double step = (high - low) / (bins + 2);
  double corners[3] = { 0, 0, 0 };
  for (gint64 column = -2; column < ir_tensor_dims (out)[1];
       column++)
    {
      double hertz = 700 * (pow (10, ((double) (column + 2) * step + low) / 2595) - 1);
      corners[0] = corners[1];
      corners[1] = corners[2];
      corners[2] = floor ((length + 1) * hertz / rate);
      if (column >= 0)
        store_triangle (out, (guint64) column, corners);
    }
  return TRUE;
}
