/* Greedy by size: the largest block first, each into the smallest gap that is free over its whole
 * life (Pisarchyk and Lee 2020). */
#include "config.h"

#include "core/exec/memory/place/place.h"

static int
compare_size (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrMemBlock *blocks = data;
  guint i = *(const guint *) a, j = *(const guint *) b;

  if (blocks[i].size != blocks[j].size)
    return blocks[i].size > blocks[j].size ? -1 : 1;
  guint life_i = blocks[i].last - blocks[i].first, life_j = blocks[j].last - blocks[j].first;
  if (life_i != life_j)
    return life_i > life_j ? -1 : 1;
  return i < j ? -1 : i > j;
}

/**
 * ir_mem_blocks_place:
 * @blocks: (inout) (array length=n): sizes in bytes and inclusive lifetimes; gets the offsets
 * @n: number of blocks
 * @options: the alignment, and what stops it
 *
 * Places blocks so that no two that live at the same step overlap.
 *
 * Source: Pisarchyk and Lee 2020, greedy by size. Cost: O(n · blocks that live near in time).
 *
 * Returns: end of the highest block, in bytes; of no use if it was cancelled
 */
guint64
ir_mem_blocks_place (IrMemBlock *blocks, guint n, const IrMemOptions *options)
{
  return ir_mem_place_in_order (blocks, n, options, compare_size);
}
