/* Kernels compiled by NVRTC. */
#pragma once

#include "core/exec/gpu/library.h"

typedef struct
{
  char *name;
  int registers;
  gint64 stack_bytes, spill_bytes, shared_bytes;
} IrGpuKernelFacts;

typedef struct
{
  int architecture; /* 90: sm_90 */
  char *basis;      /* as of ir_gpu_compile_basis() */
  GBytes *cubin;
  char *ptx;
  GPtrArray *kernels; /* of IrGpuKernelFacts: what the compiler says of each */
} IrGpuCode;

void ir_gpu_kernel_facts_free (gpointer facts);
IrGpuCode *ir_gpu_compile (const IrGpu *gpu, const char *kernels, int architecture, GError **error);
char *ir_gpu_compile_basis (void);
char *ir_gpu_compile_key (const IrGpu *gpu, const char *kernels, int architecture);
IrGpuCode *ir_gpu_code_new (void);
void ir_gpu_code_free (IrGpuCode *code);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrGpuCode, ir_gpu_code_free)
