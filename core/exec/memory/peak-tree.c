/* How many bytes live at each step: what sharing of bytes must not raise. Steps are the leaves of a
 * tree whose nodes know what has been added to all steps below them, and the most that lives in one
 * of these; a range of steps is a few nodes of it. */
#include "config.h"

#include "core/exec/memory/peak-tree.h"

/* @live: what to fill; clear with ir_mem_live_clear() */
void
ir_mem_live_init (IrMemLive *live, const GArray *blocks, guint n_steps, guint64 align_bytes)
{
  g_autofree gint64 *change = g_new0 (gint64, (gsize) n_steps + 2);
  gint64 bytes = 0;
  guint n = 1;

  /* What begins and what has ended, then the sums of that. */
  for (guint i = 0; i < blocks->len; i++)
    {
      const IrMemBlock *block = &g_array_index (blocks, IrMemBlock, i);
      gint64 size = (gint64) ir_mem_align (block->size, align_bytes);
      change[block->first] += size;
      change[block->last + 1] -= size;
    }
  while (n < n_steps)
    n *= 2;
  *live = (IrMemLive){ .added = g_new0 (gint64, 2 * (gsize) n),
                       .top = g_new0 (gint64, 2 * (gsize) n),
                       .n_leaves = n };
  for (guint step = 0; step < n_steps; step++)
    {
      bytes += change[step];
      live->top[n + step] = bytes;
      live->most = MAX (live->most, bytes);
    }
  for (guint node = n; node-- > 1;)
    live->top[node] = MAX (live->top[2 * node], live->top[2 * node + 1]);
}

void
ir_mem_live_clear (IrMemLive *live)
{
  g_clear_pointer (&live->added, g_free);
  g_clear_pointer (&live->top, g_free);
}

/* Below @node are the steps from @from to @to. */
static void
add (IrMemLive *live, guint node, guint from, guint to, guint first, guint last, gint64 bytes)
{
  if (last < from || first > to)
    return;
  if (first <= from && last >= to)
    {
      live->added[node] += bytes;
      live->top[node] += bytes;
      return;
    }
  guint middle = from + (to - from) / 2;
  add (live, 2 * node, from, middle, first, last, bytes);
  add (live, 2 * node + 1, middle + 1, to, first, last, bytes);
  live->top[node] = live->added[node] + MAX (live->top[2 * node], live->top[2 * node + 1]);
}

/* Cost: O(log steps). @last: a step; nothing happens if it is before @first. */
void
ir_mem_live_add (IrMemLive *live, guint first, guint last, gint64 bytes)
{
  if (first <= last)
    add (live, 1, 0, live->n_leaves - 1, first, last, bytes);
}

/* Whether nowhere in both ranges more than @most lives. */
static gboolean
is_low (
    const IrMemLive *live, guint node, guint from, guint to, guint first, guint last, gint64 most)
{
  if (last < from || first > to || live->top[node] <= most)
    return TRUE;
  if (first <= from && last >= to)
    return FALSE;
  guint middle = from + (to - from) / 2;
  most -= live->added[node];
  return is_low (live, 2 * node, from, middle, first, last, most) &&
         is_low (live, 2 * node + 1, middle + 1, to, first, last, most);
}

/* Cost: O(log steps). Returns whether nowhere from @first to @last more lives than at most in
 * the beginning. */
gboolean
ir_mem_live_is_low (const IrMemLive *live, guint first, guint last)
{
  return first > last || is_low (live, 1, 0, live->n_leaves - 1, first, last, live->most);
}
