/* What every planner asks of its options. */
#include "config.h"

#include "core/exec/memory/place/place.h"

/**
 * ir_mem_stopped:
 * @options: (nullable): of the plan
 *
 * Returns: whether nobody wants it any more
 */
gboolean
ir_mem_stopped (const IrMemOptions *options)
{
  return options != NULL && g_cancellable_is_cancelled (options->cancellable);
}

/**
 * ir_mem_align:
 * @size: bytes
 * @align_bytes: at least 1
 *
 * Returns: the smallest multiple of @align_bytes that is not below @size
 */
guint64
ir_mem_align (guint64 size, guint64 align_bytes)
{
  return (size + align_bytes - 1) / align_bytes * align_bytes;
}

/**
 * ir_mem_has_room:
 * @sum: (inout): bytes of the blocks so far, aligned; those of the new one are added
 * @size: bytes of another block
 * @align_bytes: at least 1
 *
 * To be asked where sizes of values, which may be anything that a file says, become blocks.
 *
 * Returns: %FALSE if no memory has room for it, alone or with the others
 */
gboolean
ir_mem_has_room (guint64 *sum, guint64 size, guint64 align_bytes)
{
  guint64 aligned;

  if (size > IR_MEM_MAX_BYTES)
    return FALSE;
  aligned = ir_mem_align (size, align_bytes);
  if (aligned > IR_MEM_MAX_SUM - *sum)
    return FALSE;
  *sum += aligned;
  return TRUE;
}
