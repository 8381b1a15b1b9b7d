/* Best fit over execution order: blocks are placed in the order in which they are born, as an
 * allocator would that knows when each will be freed (ggml and ONNX Runtime plan in this way). */
#include "config.h"

#include "core/exec/memplan-private.h"

static int
compare_birth (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrMemBlock *blocks = data;
  guint i = *(const guint *) a, j = *(const guint *) b;

  if (blocks[i].first != blocks[j].first)
    return blocks[i].first < blocks[j].first ? -1 : 1;
  if (blocks[i].size != blocks[j].size)
    return blocks[i].size > blocks[j].size ? -1 : 1;
  return i < j ? -1 : i > j;
}

/**
 * ir_mem_place_best_fit:
 * @blocks: (inout) (array length=n): sizes in bytes and inclusive lifetimes; gets the offsets
 * @n: number of blocks
 * @options: the alignment, and what stops it
 *
 * Source: best fit, as in Sekiyama et al. 2018. Cost: O(n · blocks that live near in time).
 *
 * Returns: end of the highest block, in bytes; of no use if it was cancelled
 */
guint64
ir_mem_place_best_fit (IrMemBlock *blocks, guint n, const IrMemOptions *options)
{
  return ir_mem_place_in_order (blocks, n, options, compare_birth);
}
