/* Best fit over execution order: blocks are placed in the order in which they are born, as an
 * allocator would that knows when each will be freed (ggml and ONNX Runtime plan in this way). Only
 * gaps between blocks that live are kept, by size, so that it is fast however many live at once. */
#include "config.h"

#include "core/exec/memory/place/place.h"

typedef struct
{
  guint64 size, start; /* bytes */
} Gap;

typedef struct
{
  GTree *gaps;       /* set of Gap, by size, then start */
  GHashTable *first; /* guint64 *, where a gap begins -> that Gap */
  GHashTable *last;  /* guint64 *, where a gap ends -> that Gap */
  guint64 top;       /* nothing that lives is above it */
} Arena;

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

static int
compare_death (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrMemBlock *blocks = data;
  guint i = *(const guint *) a, j = *(const guint *) b;

  return blocks[i].last < blocks[j].last ? -1 : blocks[i].last > blocks[j].last;
}

static int
compare_gaps (gconstpointer a, gconstpointer b, gpointer data)
{
  const Gap *x = a, *y = b;

  (void) data;
  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  return x->start < y->start ? -1 : x->start > y->start;
}

static void
add_gap (Arena *arena, guint64 start, guint64 end)
{
  Gap *gap = g_new (Gap, 1);

  *gap = (Gap){ end - start, start };
  g_hash_table_insert (arena->first, g_memdup2 (&start, sizeof start), gap);
  g_hash_table_insert (arena->last, g_memdup2 (&end, sizeof end), gap);
  g_tree_insert (arena->gaps, gap, gap);
}

static Gap
take_gap (Arena *arena, const Gap *gap)
{
  Gap taken = *gap;
  guint64 end = taken.start + taken.size;

  g_hash_table_remove (arena->first, &taken.start);
  g_hash_table_remove (arena->last, &end);
  g_tree_remove (arena->gaps, &taken); /* frees it */
  return taken;
}

/* The smallest gap that is large enough, the lowest of equal ones, or the room on top. */
static guint64
give (Arena *arena, guint64 size)
{
  const Gap wanted = { size, 0 };
  GTreeNode *found = g_tree_lower_bound (arena->gaps, &wanted);
  guint64 start = arena->top;

  if (found == NULL)
    {
      arena->top += size;
      return start;
    }
  Gap gap = take_gap (arena, g_tree_node_key (found));
  if (gap.size > size)
    add_gap (arena, gap.start + size, gap.start + gap.size);
  return gap.start;
}

static void
take_back (Arena *arena, guint64 start, guint64 size)
{
  guint64 end = start + size;
  const Gap *below = g_hash_table_lookup (arena->last, &start);
  const Gap *above = g_hash_table_lookup (arena->first, &end);

  if (below != NULL)
    start = take_gap (arena, below).start;
  if (above != NULL)
    end += take_gap (arena, above).size;
  if (end == arena->top)
    arena->top = start;
  else
    add_gap (arena, start, end);
}

static guint64
place_all (Arena *arena, IrMemBlock *blocks, guint n, const IrMemOptions *options)
{
  g_autofree guint *births = g_new (guint, n), *deaths = g_new (guint, n);
  guint64 align = options->align_bytes, peak = 0;
  guint n_dead = 0;

  for (guint i = 0; i < n; i++)
    births[i] = deaths[i] = i;
  g_qsort_with_data (births, (gint) n, sizeof *births, compare_birth, blocks);
  g_qsort_with_data (deaths, (gint) n, sizeof *deaths, compare_death, blocks);
  for (guint i = 0; i < n && !ir_mem_stopped (options); i++)
    {
      IrMemBlock *block = &blocks[births[i]];
      for (; blocks[deaths[n_dead]].last < block->first; n_dead++)
        take_back (arena, blocks[deaths[n_dead]].offset,
                   ir_mem_align (blocks[deaths[n_dead]].size, align));
      block->offset = give (arena, ir_mem_align (block->size, align));
      peak = MAX (peak, arena->top);
    }
  return peak;
}

/**
 * ir_mem_place_best_fit:
 * @blocks: (inout) (array length=n): sizes in bytes and inclusive lifetimes; gets the offsets
 * @n: number of blocks
 * @options: the alignment, and what stops it
 *
 * Source: best fit, as in Sekiyama et al. 2018. Cost: O(n · log n).
 *
 * Returns: end of the highest block, in bytes; of no use if it was cancelled
 */
guint64
ir_mem_place_best_fit (IrMemBlock *blocks, guint n, const IrMemOptions *options)
{
  for (guint i = 0; i < n; i++)
    if (blocks[i].size == 0) /* parts the gap that it stands in, though it takes nothing of it */
      return ir_mem_place_in_order (blocks, n, options, compare_birth);
  if (n == 0)
    return 0;
  Arena arena = {
    .gaps = g_tree_new_full (compare_gaps, NULL, g_free, NULL),
    .first = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL),
    .last = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL),
  };
  guint64 peak = place_all (&arena, blocks, n, options);
  g_tree_unref (arena.gaps);
  g_hash_table_unref (arena.first);
  g_hash_table_unref (arena.last);
  return peak;
}
