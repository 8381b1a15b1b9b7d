/* Winograd's convolution over NCHWc (winograd.c). */
#pragma once

#include "core/exec/cpu/direct.h"

typedef struct _CpuWinograd CpuWinograd;

gboolean cpu_winograd_takes (const CpuDirectShape *shape, guint lanes);
gboolean cpu_winograd_wins (const CpuDirectShape *shape, guint lanes);
CpuWinograd *cpu_winograd_new (const CpuDirectShape *shape, guint lanes);
void cpu_winograd_free (CpuWinograd *winograd);
const CpuDirectShape *cpu_winograd_shape (const CpuWinograd *winograd);
gboolean cpu_winograd_pack (CpuWinograd *winograd,
                            const IrCall *call,
                            const CpuUnalignedFloat *weights,
                            const float *bias);
gboolean cpu_winograd_run (const CpuWinograd *winograd,
                           IrCall *call,
                           const CpuEpilogue *epilogue,
                           const float *x,
                           float *y);
