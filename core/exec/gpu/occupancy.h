/* How many warps of a kernel a multiprocessor can hold at once. */
#pragma once

#include <glib.h>

typedef struct
{
  guint warps, most; /* that it holds of the kernel, and of any */
  const char *
      by; /* what there is too little of for more: "threads", "blocks", "registers", "shared memory" */
} IrGpuOccupancy;

gboolean ir_gpu_occupancy (int architecture,
                           guint threads,
                           guint registers,
                           guint64 shared_bytes,
                           IrGpuOccupancy *occupancy);
