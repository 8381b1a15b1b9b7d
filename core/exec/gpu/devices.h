/* The GPUs of the machine. */
#pragma once

#include "core/exec/gpu/library.h"

typedef struct
{
  int index;        /* as in gpu:N */
  char *name;       /* as the driver has it */
  int major, minor; /* compute capability: 9.0 is sm_90 */
  int n_multiprocessors;
  guint64 bytes;       /* of its memory */
  guint64 cache_bytes; /* of its second level of cache */
} IrGpuDevice;

GPtrArray *ir_gpu_devices (const IrGpu *gpu, GError **error);
GArray *ir_gpu_architectures (const IrGpu *gpu, GError **error);
