/* Programs that were compiled before, on disk. */
#pragma once

#include "core/exec/gpu/compile.h"

/* The folder that they are in instead of the user's own; "-": nothing is kept. */
#define IR_GPU_CACHE "IRSCOPE_GPU_CACHE"
/* All of them together; what was used longest ago goes. */
#define IR_GPU_CACHE_BYTES (G_GUINT64_CONSTANT (256) << 20)

typedef struct
{
  guint n_programs;
  guint64 bytes;
} IrGpuCacheUse;

char *ir_gpu_cache_folder (void);
char *ir_gpu_cache_problem (const char *folder);
IrGpuCode *ir_gpu_cache_load (const char *folder, const char *key);
gboolean ir_gpu_cache_store (
    const char *folder, const char *key, const IrGpuCode *code, guint64 most_bytes, GError **error);
GHashTable *ir_gpu_cache_kernels (const char *folder, int architecture);
void ir_gpu_cache_remove (const char *folder, const char *key);
IrGpuCacheUse ir_gpu_cache_use (const char *folder);
