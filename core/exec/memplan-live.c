/* How many bytes live at each step: what sharing of bytes must not raise. */
#include "config.h"

#include "core/exec/memplan-private.h"

/**
 * ir_mem_live_init:
 * @live: (out caller-allocates): what to fill; clear with ir_mem_live_clear()
 * @blocks: of #IrMemBlock
 * @n_steps: steps in which they live
 * @align_bytes: to whose multiples sizes are rounded up
 */
void
ir_mem_live_init (IrMemLive *live, const GArray *blocks, guint n_steps, guint64 align_bytes)
{
  gint64 bytes = 0;

  /* What begins and what has ended, then the sums of that. */
  *live = (IrMemLive){ .bytes = g_new0 (gint64, (gsize) n_steps + 2) };
  for (guint i = 0; i < blocks->len; i++)
    {
      const IrMemBlock *block = &g_array_index (blocks, IrMemBlock, i);
      gint64 size = (gint64) ir_mem_align (block->size, align_bytes);
      live->bytes[block->first] += size;
      live->bytes[block->last + 1] -= size;
    }
  for (guint step = 0; step < n_steps; step++)
    {
      bytes += live->bytes[step];
      live->bytes[step] = bytes;
      live->most = MAX (live->most, bytes);
    }
}

/**
 * ir_mem_live_clear:
 * @live: what lives
 */
void
ir_mem_live_clear (IrMemLive *live)
{
  g_clear_pointer (&live->bytes, g_free);
}

/**
 * ir_mem_live_add:
 * @live: what lives
 * @first: a step
 * @last: a step; nothing happens if it is before @first
 * @bytes: how many more live in these, both inclusive
 */
void
ir_mem_live_add (IrMemLive *live, guint first, guint last, gint64 bytes)
{
  for (guint step = first; step <= last; step++)
    live->bytes[step] += bytes;
}

/**
 * ir_mem_live_is_low:
 * @live: what lives
 * @first: a step
 * @last: a step
 *
 * Returns: whether nowhere from @first to @last more lives than at most in the beginning
 */
gboolean
ir_mem_live_is_low (const IrMemLive *live, guint first, guint last)
{
  for (guint step = first; step <= last; step++)
    if (live->bytes[step] > live->most)
      return FALSE;
  return TRUE;
}
