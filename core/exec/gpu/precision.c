/* The names of precisions. */
#include "config.h"

#include "core/exec/gpu/precision.h"
#include "core/exec/kernel/names.h"

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
  const int found = ir_name_find (names, IR_GPU_N_PRECISIONS, name);

  if (found >= 0)
    *precision = (IrGpuPrecision) found;
  return found >= 0;
}
