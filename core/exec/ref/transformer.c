/* Operators that fusions of transformers make: compositions of the kernels of standard ones. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/op/rows.h"

/* X + Skip, rounded to the element type as between two nodes. */
static IrTensor *
sum_of_inputs (IrCall *call, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0), *skip = ir_call_input (call, 1);
  guint64 n = ir_tensor_n_elements (x);
  g_autofree double *a = ir_block_load_new (call, 0, error);
  g_autofree double *b = a != NULL ? ir_block_load_new (call, 1, error) : NULL;
  IrTensor *sum = b != NULL ? ir_tensor_new_alloc (ir_tensor_dtype (x), ir_tensor_rank (x),
                                                   ir_tensor_dims (x), error)
                            : NULL;

  if (sum == NULL || ir_tensor_n_elements (skip) != n)
    return sum;
  for (guint64 i = 0; i < n; i++)
    a[i] += b[i];
  ir_block_store (sum, 0, n, a);
  return sum;
}

/**
 * ir_ref_skip_layer_norm:
 * @call: X, Skip of one shape; Scale and B broadcast to the last axis
 * @error: return location for an error
 *
 * LayerNormalization over the last axis of X + Skip.
 *
 * Source: irscope SkipLayerNormalization 1.
 *
 * Returns: %TRUE if the output was computed
 */
gboolean
ir_ref_skip_layer_norm (IrCall *call, GError **error)
{
  if (!ir_block_check_float (call, error) || !ir_infer_skip_layer_norm (call, error))
    return FALSE;
  g_autoptr (IrTensor) sum = sum_of_inputs (call, error);
  IrCallInput inputs[] = { call->inputs[0], call->inputs[2], call->inputs[3] };
  IrCall inner = *call;

  inputs[0].tensor = sum;
  inner.inputs = inputs;
  inner.n_inputs = G_N_ELEMENTS (inputs);
  return sum != NULL && ir_ref_layer_norm (&inner, error);
}
