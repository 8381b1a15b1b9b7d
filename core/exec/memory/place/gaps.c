/* The smallest gap that fits: what all greedy placements of the memory plan have in common. Time is
 * cut into spans of some steps, each with the list of blocks that touch it. Most blocks live for a
 * few steps, so a query looks at few. */
#include "config.h"

#include "core/exec/memory/place/place.h"

#define SPAN_STEPS 64

struct _IrMemGaps
{
  IrMemBlock *blocks;
  guint64 align_bytes;
  GArray **spans; /* of guint, entries nullable */
  guint n_spans;
  guint *seen; /* by block: the last query that met it */
  guint n_queries;
  GArray *overlaps; /* of guint: what the last query found */
};

/**
 * ir_mem_gaps_new:
 * @blocks: (array length=n): the blocks, which must outlive the result
 * @n: number of blocks
 * @align_bytes: offsets are multiples of this
 *
 * Returns: (transfer full): an arena in which nothing stands yet
 */
IrMemGaps *
ir_mem_gaps_new (IrMemBlock *blocks, guint n, guint64 align_bytes)
{
  IrMemGaps *gaps = g_new0 (IrMemGaps, 1);
  guint last = 0;

  for (guint i = 0; i < n; i++)
    last = MAX (last, blocks[i].last);
  gaps->blocks = blocks;
  gaps->align_bytes = align_bytes;
  gaps->n_spans = last / SPAN_STEPS + 1;
  gaps->spans = g_new0 (GArray *, gaps->n_spans);
  gaps->seen = g_new0 (guint, n + 1);
  gaps->overlaps = g_array_new (FALSE, FALSE, sizeof (guint));
  return gaps;
}

/**
 * ir_mem_gaps_free:
 * @gaps: (transfer full) (nullable): an arena
 */
void
ir_mem_gaps_free (IrMemGaps *gaps)
{
  if (gaps == NULL)
    return;
  for (guint i = 0; i < gaps->n_spans; i++)
    g_clear_pointer (&gaps->spans[i], g_array_unref);
  g_free (gaps->spans);
  g_free (gaps->seen);
  g_array_unref (gaps->overlaps);
  g_free (gaps);
}

static void
add (IrMemGaps *gaps, guint index)
{
  const IrMemBlock *block = &gaps->blocks[index];

  for (guint i = block->first / SPAN_STEPS; i <= block->last / SPAN_STEPS; i++)
    {
      if (gaps->spans[i] == NULL)
        gaps->spans[i] = g_array_new (FALSE, FALSE, sizeof (guint));
      g_array_append_val (gaps->spans[i], index);
    }
}

static int
compare_offset (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrMemBlock *blocks = data;
  guint i = *(const guint *) a, j = *(const guint *) b;

  if (blocks[i].offset != blocks[j].offset)
    return blocks[i].offset < blocks[j].offset ? -1 : 1;
  return i < j ? -1 : i > j;
}

/* Fills gaps->overlaps with the blocks that live when @block does, by offset. */
static void
query (IrMemGaps *gaps, const IrMemBlock *block)
{
  g_array_set_size (gaps->overlaps, 0);
  gaps->n_queries++;
  for (guint i = block->first / SPAN_STEPS; i <= block->last / SPAN_STEPS; i++)
    for (guint k = 0; gaps->spans[i] != NULL && k < gaps->spans[i]->len; k++)
      {
        guint index = g_array_index (gaps->spans[i], guint, k);
        const IrMemBlock *other = &gaps->blocks[index];
        if (gaps->seen[index] == gaps->n_queries || other->last < block->first ||
            other->first > block->last)
          continue;
        gaps->seen[index] = gaps->n_queries;
        g_array_append_val (gaps->overlaps, index);
      }
  g_array_sort_with_data (gaps->overlaps, compare_offset, gaps->blocks);
}

/**
 * ir_mem_gaps_place:
 * @gaps: an arena
 * @index: a block that does not stand in it yet
 *
 * Puts the block into the smallest gap that is free over its whole life, or on top of all that live
 * at the same time.
 *
 * Returns: its end, in bytes
 */
guint64
ir_mem_gaps_place (IrMemGaps *gaps, guint index)
{
  IrMemBlock *block = &gaps->blocks[index];
  guint64 need = ir_mem_align (block->size, gaps->align_bytes), end = 0;
  guint64 best = G_MAXUINT64, best_gap = G_MAXUINT64;

  query (gaps, block);
  for (guint i = 0; i < gaps->overlaps->len; i++)
    {
      const IrMemBlock *other = &gaps->blocks[g_array_index (gaps->overlaps, guint, i)];
      if (other->offset > end && other->offset - end >= need && other->offset - end < best_gap)
        {
          best = end;
          best_gap = other->offset - end;
        }
      end = MAX (end, other->offset + ir_mem_align (other->size, gaps->align_bytes));
    }
  block->offset = best != G_MAXUINT64 ? best : end;
  add (gaps, index);
  return block->offset + need;
}

/* Places the blocks one by one in the order that @compare gives for pointers to their indices, with
 * the blocks as data. Returns the end of the highest. */
/**
 * ir_mem_place_in_order:
 * @blocks: (array length=n) (inout): blocks; their offsets are set
 * @n: number of blocks
 * @options: (nullable): alignment, and what may stop it
 * @compare: the order, by the indices of two blocks
 *
 * Places one block after the other, each into the lowest gap in which it fits.
 *
 * Returns: bytes of the arena
 */
guint64
ir_mem_place_in_order (IrMemBlock *blocks,
                       guint n,
                       const IrMemOptions *options,
                       GCompareDataFunc compare)
{
  g_autoptr (IrMemGaps) gaps = ir_mem_gaps_new (blocks, n, options->align_bytes);
  g_autofree guint *order = g_new (guint, n);
  guint64 peak = 0;

  for (guint i = 0; i < n; i++)
    order[i] = i;
  if (n > 0)
    g_qsort_with_data (order, (gint) n, sizeof *order, compare, blocks);
  for (guint i = 0; i < n && !ir_mem_stopped (options); i++)
    {
      guint64 end = ir_mem_gaps_place (gaps, order[i]);
      peak = MAX (peak, end);
    }
  return peak;
}
