/* Greedy by breadth: the steps at which most bytes live come first, and of each step the blocks
 * that do not stand yet, the largest first (Pisarchyk and Lee 2020). */
#include "config.h"

#include "core/exec/memory/place/place.h"

/* Blocks by the step that places them: the broadest of their steps, which is visited first. */
typedef struct
{
  guint block, step;
  guint64 breadth, size;
} Turn;

static int
compare_turns (gconstpointer a, gconstpointer b)
{
  const Turn *x = a, *y = b;

  if (x->breadth != y->breadth)
    return x->breadth > y->breadth ? -1 : 1;
  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  if (x->size != y->size)
    return x->size > y->size ? -1 : 1;
  return x->block < y->block ? -1 : x->block > y->block;
}

static guint
broader (const guint64 *breadth, guint a, guint b)
{
  return breadth[b] > breadth[a] ? b : a;
}

/* The broadest step of each range of 2^k steps: @table[k][i] covers i to i + 2^k - 1. Lives may be
 * long and many, so that looking at each of their steps would be quadratic. */
static GPtrArray *
broadest_ranges (const guint64 *breadth, guint n_steps)
{
  GPtrArray *table = g_ptr_array_new_with_free_func (g_free);
  guint *row = g_new (guint, n_steps + 1);

  for (guint i = 0; i < n_steps; i++)
    row[i] = i;
  g_ptr_array_add (table, row);
  for (guint span = 2; span <= n_steps; span *= 2)
    {
      const guint *below = g_ptr_array_index (table, table->len - 1);
      row = g_new (guint, n_steps + 1);
      for (guint i = 0; i + span <= n_steps; i++)
        row[i] = broader (breadth, below[i], below[i + span / 2]);
      g_ptr_array_add (table, row);
    }
  return table;
}

static guint
broadest (const GPtrArray *table, const guint64 *breadth, const IrMemBlock *block)
{
  guint k = (guint) g_bit_storage (block->last - block->first + 1) - 1;
  const guint *row = g_ptr_array_index (table, k);

  return broader (breadth, row[block->first], row[block->last + 1 - (1u << k)]);
}

static guint64 *
breadths (const IrMemBlock *blocks, guint n, guint64 align_bytes, guint n_steps)
{
  guint64 *breadth = g_new0 (guint64, n_steps + 1);

  for (guint i = 0; i < n; i++)
    {
      guint64 size = ir_mem_align (blocks[i].size, align_bytes);
      breadth[blocks[i].first] += size;
      breadth[blocks[i].last + 1] -= size; /* wraps around and back */
    }
  for (guint step = 1; step < n_steps; step++)
    breadth[step] += breadth[step - 1];
  return breadth;
}

/**
 * ir_mem_place_by_breadth:
 * @blocks: (inout) (array length=n): sizes in bytes and inclusive lifetimes; gets the offsets
 * @n: number of blocks
 * @options: the alignment, and what stops it
 *
 * Source: Pisarchyk and Lee 2020, greedy by breadth. Cost: O(n · blocks that live near in time).
 *
 * Returns: end of the highest block, in bytes; of no use if it was cancelled
 */
guint64
ir_mem_place_by_breadth (IrMemBlock *blocks, guint n, const IrMemOptions *options)
{
  guint n_steps = 0;
  guint64 peak = 0;

  for (guint i = 0; i < n; i++)
    n_steps = MAX (n_steps, blocks[i].last + 1);
  g_autofree guint64 *breadth = breadths (blocks, n, options->align_bytes, n_steps);
  g_autoptr (GPtrArray) table = broadest_ranges (breadth, n_steps);
  g_autoptr (IrMemGaps) gaps = ir_mem_gaps_new (blocks, n, options->align_bytes);
  g_autofree Turn *turns = g_new (Turn, n);
  for (guint i = 0; i < n; i++)
    {
      guint step = broadest (table, breadth, &blocks[i]);
      turns[i] = (Turn){ i, step, breadth[step], blocks[i].size };
    }
  if (n > 0)
    qsort (turns, n, sizeof *turns, compare_turns);
  for (guint i = 0; i < n && !ir_mem_stopped (options); i++)
    {
      guint64 end = ir_mem_gaps_place (gaps, turns[i].block);
      peak = MAX (peak, end);
    }
  return peak;
}
