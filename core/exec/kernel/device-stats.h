/* Statistics of what lies in a memory beside the host's, counted by its device. */
#pragma once

#include "core/exec/kernel/memory.h"
#include "core/ir/model.h"

typedef struct
{
  const IrMemory *memory;
  /* Whether the device has kernels that count elements of this type. */
  gboolean (*has) (IrDtype dtype);
  /* Counts @n elements at @data there, in the order of the kernels, and waits for it: in @room, of that memory, and
   * copied from there to @counted, as ir_stats_layout() says; the histogram last, if it is wanted. */
  gboolean (*count) (IrDtype dtype,
                     guint64 n,
                     gboolean histogram,
                     gconstpointer data,
                     gpointer room,
                     gpointer counted,
                     GError **error);
} IrDeviceStats;

const IrDeviceStats *ir_device_stats_of (const IrMemory *memory);
