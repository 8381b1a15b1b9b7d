/* Kernels that are loaded, and those that wait to be. All with the lock of the device held. */
#pragma once

#include "core/exec/gpu/compile.h"
#include "core/exec/gpu/program.h"

struct CUfunc_st;

gboolean gpu_modules_open (GError **error);
void gpu_modules_close (void);
gboolean gpu_modules_have (const IrGpuLaunch *launch);
void gpu_modules_want (const IrGpuLaunch *launch);
gboolean gpu_modules_load (GError **error);
struct CUfunc_st *gpu_modules_kernel (const char *name);
const IrGpuKernelFacts *gpu_modules_facts (const char *name);
