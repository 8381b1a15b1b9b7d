/* Windows of signals: sums of cosines. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/op/rows.h"
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

/**
 * ir_ref_hann_window:
 * @call: size
 * @error: return location for an error
 *
 * Source: ONNX HannWindow 17.
 *
 * Returns: %TRUE if the output was computed
 */
gboolean
ir_ref_hann_window (IrCall *call, GError **error)
{
  return cosine_window (call, 0.5, 0.5, 0, error);
}

/**
 * ir_ref_hamming_window:
 * @call: size
 * @error: return location for an error
 *
 * Source: ONNX HammingWindow 17.
 *
 * Returns: %TRUE if the output was computed
 */
gboolean
ir_ref_hamming_window (IrCall *call, GError **error)
{
  return cosine_window (call, 25.0 / 46, 21.0 / 46, 0, error);
}

/**
 * ir_ref_blackman_window:
 * @call: size
 * @error: return location for an error
 *
 * Source: ONNX BlackmanWindow 17.
 *
 * Returns: %TRUE if the output was computed
 */
gboolean
ir_ref_blackman_window (IrCall *call, GError **error)
{
  return cosine_window (call, 0.42, 0.5, 0.08, error);
}
