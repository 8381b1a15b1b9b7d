/* The names of precisions. */
#include "config.h"

#include "core/exec/gpu/precision.h"

static const char *const names[IR_GPU_N_PRECISIONS] = {
  [IR_GPU_STRICT] = "strict",
  [IR_GPU_TF32] = "tf32",
  [IR_GPU_HALF] = "half",
};

/**
 * ir_gpu_precision_name:
 * @precision: a precision
 *
 * Returns: (transfer none): what it is called
 */
const char *
ir_gpu_precision_name (IrGpuPrecision precision)
{
  return names[precision];
}

/**
 * ir_gpu_precision_find:
 * @name: (nullable): a name
 * @precision: (out): what is called so
 *
 * Returns: %FALSE if nothing is
 */
gboolean
ir_gpu_precision_find (const char *name, IrGpuPrecision *precision)
{
  for (guint i = 0; i < IR_GPU_N_PRECISIONS; i++)
    if (g_strcmp0 (names[i], name) == 0)
      {
        *precision = i;
        return TRUE;
      }
  return FALSE;
}
