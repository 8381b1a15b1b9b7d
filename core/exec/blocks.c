/* Values in blocks of channels, and the way there and back. */
#include "config.h"

#include "core/exec/blocks.h"

#include <stdlib.h>
#include <string.h>

/**
 * ir_scratch_get:
 * @scratch: memory that is kept
 * @part: which of its parts, below %IR_SCRATCH_PARTS
 * @bytes: how much is needed
 *
 * Returns: (transfer none) (nullable): aligned memory with any contents, until the part is asked
 *   for again; %NULL if there is none
 */
gpointer
ir_scratch_get (IrScratch *scratch, guint part, gsize bytes)
{
  IrScratchPart *found = &scratch->parts[part];

  if (found->data != NULL && found->bytes >= bytes)
    return found->data;
  free (found->data);
  *found = (IrScratchPart){ 0 };
  if (posix_memalign (&found->data, 64, MAX (bytes, 64)) != 0)
    {
      found->data = NULL;
      return NULL;
    }
  found->bytes = MAX (bytes, 64);
  return found->data;
}

/**
 * ir_scratch_clear:
 * @scratch: memory that is kept
 *
 * Gives it back.
 */
void
ir_scratch_clear (IrScratch *scratch)
{
  for (guint i = 0; i < IR_SCRATCH_PARTS; i++)
    free (scratch->parts[i].data);
  *scratch = (IrScratch){ 0 };
}

/**
 * ir_blocks_bytes:
 * @type: type of a value
 * @block: channels in a block; 0: plain
 * @bytes: (out): what the value takes, filled up to whole blocks
 *
 * Returns: %FALSE if that is not known
 */
gboolean
ir_blocks_bytes (const IrType *type, guint block, gsize *bytes)
{
  gint64 channels;

  if (!ir_type_n_bytes (type, bytes))
    return FALSE;
  if (block == 0 || type->rank != 4 || type->dims[1] <= 0)
    return TRUE;
  channels = type->dims[1];
  *bytes = *bytes / (gsize) channels * (gsize) ((channels + block - 1) / block * block);
  return TRUE;
}

/**
 * ir_blocks_from_plain:
 * @plain: [batch, channels, plane]
 * @blocks: (out caller-allocates): [batch, channels / block, plane, block]
 * @batch: number of samples
 * @channels: number of channels
 * @plane: pixels of a channel
 * @block: channels in a block
 * @n_threads: how many threads may share the work
 *
 * Channels that fill up the last block become 0.
 */
void
ir_blocks_from_plain (const float *plain,
                      float *blocks,
                      gint64 batch,
                      gint64 channels,
                      gint64 plane,
                      gint64 block,
                      int n_threads)
{
  gint64 n_blocks = (channels + block - 1) / block;

#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 i = 0; i < batch * n_blocks; i++)
    {
      gint64 first = i % n_blocks * block, n = MIN (block, channels - first);
      const float *from = plain + (i / n_blocks * channels + first) * plane;
      float *to = blocks + i * plane * block;

      if (n < block)
        memset (to, 0, (gsize) (plane * block) * sizeof *to);
      for (gint64 pixel = 0; pixel < plane; pixel++)
        for (gint64 c = 0; c < n; c++)
          to[pixel * block + c] = from[c * plane + pixel];
    }
}

/**
 * ir_blocks_to_plain:
 * @blocks: [batch, channels / block, plane, block]
 * @plain: (out caller-allocates): [batch, channels, plane]
 * @batch: number of samples
 * @channels: number of channels
 * @plane: pixels of a channel
 * @block: channels in a block
 * @n_threads: how many threads may share the work
 *
 * The way back of ir_blocks_from_plain().
 */
void
ir_blocks_to_plain (const float *blocks,
                    float *plain,
                    gint64 batch,
                    gint64 channels,
                    gint64 plane,
                    gint64 block,
                    int n_threads)
{
  const gint64 run = 64; /* pixels whose lines stay in the cache */
  gint64 n_blocks = (channels + block - 1) / block;

#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 i = 0; i < batch * n_blocks; i++)
    {
      gint64 first = i % n_blocks * block, n = MIN (block, channels - first);
      const float *from = blocks + i * plane * block;
      float *to = plain + (i / n_blocks * channels + first) * plane;

      for (gint64 start = 0; start < plane; start += run)
        for (gint64 c = 0; c < n; c++)
          for (gint64 pixel = start; pixel < MIN (start + run, plane); pixel++)
            to[c * plane + pixel] = from[pixel * block + c];
    }
}

/**
 * ir_blocks_present:
 * @blocks: contents in blocks of channels, of rank 5
 * @type: the value's type in the graph, of rank 4
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the same contents as the graph has them; %NULL if there is
 * no memory
 */
IrTensor *
ir_blocks_present (const IrTensor *blocks, const IrType *type, GError **error)
{
  IrTensor *plain = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 4, type->dims, error);

  if (plain != NULL && ir_tensor_n_elements (plain) > 0)
    ir_blocks_to_plain (ir_tensor_data (blocks), ir_tensor_data_writable (plain), type->dims[0],
                        type->dims[1], type->dims[2] * type->dims[3], ir_tensor_dims (blocks)[4],
                        1);
  return plain;
}

/**
 * ir_schedule_block:
 * @schedule: a schedule
 * @value: a value of its model
 *
 * Returns: how many channels of @value stand together; 0: it is kept as the graph has it
 */
guint
ir_schedule_block (const IrSchedule *schedule, const IrValue *value)
{
  return schedule->blocks != NULL && value->id < schedule->n_blocks ? schedule->blocks[value->id]
                                                                    : 0;
}

/**
 * ir_schedule_kept_type:
 * @schedule: a schedule
 * @value: a value of its model
 *
 * Returns: (transfer none) (nullable): the type of the tensor that holds @value between the nodes:
 *   the value's own, or that of its blocks
 */
const IrType *
ir_schedule_kept_type (const IrSchedule *schedule, const IrValue *value)
{
  guint block = ir_schedule_block (schedule, value);
  const IrDim *dims;

  if (block == 0)
    return value->type;
  dims = value->type->dims;
  IrDim blocked[] = { dims[0], (dims[1] + block - 1) / block, dims[2], dims[3], block };
  return ir_type_tensor (value->graph->model->context, value->type->dtype, 5, blocked);
}
