/* What products of numbers in float32 may do to them on a GPU. float64 and 16-bit types are computed as they
 * are; kernels of irscope are always strict. */
#pragma once

#include <glib.h>

typedef enum
{
  IR_GPU_STRICT, /* float32 */
  IR_GPU_TF32,   /* operands are rounded to 10 bits of mantissa, sums are float32 */
  IR_GPU_HALF,   /* operands are rounded to float16, sums are float32 */
  IR_GPU_N_PRECISIONS
} IrGpuPrecision;

const char *ir_gpu_precision_name (IrGpuPrecision precision); /* "strict", "tf32", "half" */
gboolean ir_gpu_precision_find (const char *name, IrGpuPrecision *precision);
