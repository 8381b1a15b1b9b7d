/* Operands in float16 and bfloat16: kernels compute with them in float32. */
#pragma once

#include "core/exec/cpu/cpu.h"

typedef guint16 CpuHalf __attribute__ ((aligned (1))); /* as files have them, at any address */

/* How elements are converted, rounded to nearest even; @plain: without instructions of the machine for
 * it. */
typedef struct
{
  void (*widen) (const CpuHalf *x, float *y, gint64 n);
  void (*narrow) (const float *x, guint16 *y, gint64 n);
} CpuHalfLoops;
CpuHalfLoops cpu_half_loops (IrDtype dtype, gboolean plain);
void cpu_half_widen (const IrCall *call, IrDtype dtype, const CpuHalf *x, float *y, gint64 n);
void cpu_half_narrow (const IrCall *call, IrDtype dtype, const float *x, guint16 *y, gint64 n);

/* -- calls: half-run.c -- */
gboolean cpu_half_is_widened (const IrCpuKernel *kernel, const IrCall *call);
gboolean cpu_half_run (const IrCpuKernel *kernel, IrCall *call, GError **error);
