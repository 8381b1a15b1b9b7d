/* The device that runs kernels: opened when the first one needs it, and kept. */
#pragma once

#include "core/exec/gpu/compile.h"
#include "core/exec/gpu/devices.h"
#include "core/exec/gpu/precision.h"
#include "core/exec/gpu/program.h"
#include "core/exec/kernel/memory.h"

extern const IrMemory ir_gpu_memory;

void ir_gpu_runtime_take (guint index);
gboolean ir_gpu_runtime_open (GError **error);
void ir_gpu_runtime_close (void);
gboolean ir_gpu_runtime_is_stand_in (void);
void ir_gpu_runtime_beside (guint n_streams);
void ir_gpu_runtime_round (IrGpuPrecision precision);
const char *ir_gpu_runtime_product (const IrGpuProduct *product);

const IrGpuLaunch *ir_gpu_runtime_kernel (const IrGpuLaunch *launch,
                                          IrGpuKernelFacts *facts,
                                          int *architecture);
const char *ir_gpu_lacks (const IrGpuProgram *program);
gboolean ir_gpu_add_kernels (const IrGpuProgram *program, GError **error);
gboolean ir_gpu_range_begin (const char *name);
void ir_gpu_range_end (void);
gboolean ir_gpu_may_fault (const IrGpuProgram *program);
gboolean ir_gpu_run (const IrGpuProgram *program,
                     gpointer const *inputs,
                     gpointer const *outputs,
                     IrGpuFault *fault,
                     GError **error);
