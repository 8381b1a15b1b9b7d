/* Statistics of values where they lie. */
#pragma once

#include "core/exec/gpu/program.h"
#include "core/exec/kernel/device-stats.h"

extern const IrDeviceStats ir_gpu_stats;

IrGpuProgram *ir_gpu_stats_program (IrDtype dtype);
void gpu_stats_close (void); /* with the lock held */
