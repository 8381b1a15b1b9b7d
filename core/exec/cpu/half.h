/* Operands in float16 and bfloat16: kernels compute with them in float32. */
#pragma once

#include "core/exec/cpu/cpu.h"

gboolean cpu_half_is_widened (const IrCpuKernel *kernel, const IrCall *call);
gboolean cpu_half_run (const IrCpuKernel *kernel, IrCall *call, GError **error);
