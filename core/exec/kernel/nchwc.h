/* Values in NCHWc: what is [N, C, H, W] in the graph is kept as
 * [N, C / block, H, W, block] between kernels that like it so, the last block filled up. Which
 * values those are, the schedule says (IrSchedule.blocks); whoever looks at one sees it as the
 * graph has it. */
#pragma once

#include "core/exec/kernel/backend.h"

/* Memory that kernels use while they run, kept from one call to the next. */
typedef struct
{
  gpointer data; /* (nullable) aligned to 64 bytes */
  gsize bytes;
} IrScratchPart;

#define IR_SCRATCH_KERNEL 11 /* what a kernel needs itself; layouts take the parts before */
#define IR_SCRATCH_WIDE   12 /* operands of 16 bits in float32 */
#define IR_SCRATCH_PARTS  13

struct _IrScratch
{
  IrScratchPart parts[IR_SCRATCH_PARTS];
};

gpointer ir_scratch_get (IrScratch *scratch, guint part, gsize bytes);
void ir_scratch_clear (IrScratch *scratch);

const char *ir_nchwc_name (guint rank, guint block);
gboolean ir_nchwc_bytes (const IrType *type, guint block, gsize *bytes);
void ir_nchwc_from_plain (const float *plain,
                          float *blocks,
                          gint64 batch,
                          gint64 channels,
                          gint64 plane,
                          gint64 block,
                          int n_threads);
void ir_nchwc_to_plain (const float *blocks,
                        float *plain,
                        gint64 batch,
                        gint64 channels,
                        gint64 plane,
                        gint64 block,
                        int n_threads);
IrTensor *ir_nchwc_to_graph (const IrTensor *blocks, const IrType *type, GError **error);
