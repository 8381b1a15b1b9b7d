/* One form for all instances of the exact search, whatever their names, units and direction of
 * time: sizes are divided by what divides them all, time is cut into the sections where as many
 * blocks as possible live together, and blocks are ordered by their lives and sizes, in the
 * direction of time in which that order comes first. */
#include "config.h"

#include "core/exec/memory/place/exact.h"
#include "core/exec/memory/place/place.h"

#define MAX_NEIGHBOURS (8u << 20)          /* pairs: 32 MiB of indices */
#define MAX_LIFE       ((guint64) 1 << 40) /* times a size stays below 2^63 in units */

static gint64
gcd (gint64 a, gint64 b)
{
  while (b != 0)
    {
      gint64 rest = a % b;
      a = b;
      b = rest;
    }
  return a;
}

static int
compare_lives (gconstpointer a, gconstpointer b)
{
  const IrExactItem *x = a, *y = b;

  if (x->lo != y->lo)
    return x->lo < y->lo ? -1 : 1;
  if (x->hi != y->hi)
    return x->hi < y->hi ? -1 : 1;
  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  if (x->life != y->life)
    return x->life < y->life ? -1 : 1;
  return 0;
}

/* Cuts time into sections, one for each death that follows a birth: only there more blocks live
 * together than before and after. Fills lo and hi; returns the number of sections. */
static guint
cut_time (const IrMemBlock *blocks, IrExactItem *items, guint n)
{
  guint n_steps = 0;

  for (guint i = 0; i < n; i++)
    n_steps = MAX (n_steps, blocks[items[i].block].last + 1);
  g_autofree guint8 *born = g_new0 (guint8, n_steps), *dies = g_new0 (guint8, n_steps);
  /* By step: sections that end before it. */
  g_autofree guint *before = g_new0 (guint, n_steps + 1);
  for (guint i = 0; i < n; i++)
    {
      born[blocks[items[i].block].first] = TRUE;
      dies[blocks[items[i].block].last] = TRUE;
    }
  gboolean grown = FALSE;
  for (guint step = 0; step < n_steps; step++)
    {
      grown = grown || born[step];
      before[step + 1] = before[step] + (grown && dies[step]);
      grown = grown && !dies[step];
    }
  for (guint i = 0; i < n; i++)
    {
      items[i].lo = before[blocks[items[i].block].first];
      items[i].hi = before[blocks[items[i].block].last + 1] - 1;
    }
  return before[n_steps];
}

static int
compare_items (gconstpointer a, gconstpointer b)
{
  const IrExactItem *x = a, *y = b;
  int order = compare_lives (a, b);

  return order != 0 ? order : x->block < y->block ? -1 : x->block > y->block;
}

static void
reverse_time (IrExactItem *items, guint n, guint n_sections)
{
  for (guint i = 0; i < n; i++)
    {
      guint lo = items[i].lo;
      items[i].lo = n_sections - 1 - items[i].hi;
      items[i].hi = n_sections - 1 - lo;
    }
  qsort (items, n, sizeof *items, compare_items);
}

static void
orient_time (IrExactItem *items, guint n, guint n_sections)
{
  g_autofree IrExactItem *mirror = g_memdup2 (items, n * sizeof *items);

  qsort (items, n, sizeof *items, compare_items);
  reverse_time (mirror, n, n_sections);
  for (guint i = 0; i < n; i++)
    {
      int order = compare_lives (&mirror[i], &items[i]);
      if (order < 0)
        memcpy (items, mirror, n * sizeof *items);
      if (order != 0)
        return;
    }
}

static void
fill_sections (IrExactSearch *search, const IrMemOptions *options)
{
  gsize n_members = 0, filled = 0;
  guint first = 0;

  search->first_item = g_new (guint, search->n_sections);
  for (guint i = 0; i < search->n_items; i++)
    n_members += search->items[i].hi - search->items[i].lo + 1;
  search->members = g_new (guint, n_members);
  for (guint s = 0; s < search->n_sections && !ir_mem_stopped (options); s++)
    {
      IrExactSection *section = &search->sections[s];
      section->items = search->members + filled;
      while (first < search->n_items && search->items[first].lo < s)
        first++;
      search->first_item[s] = first;
      /* Items are sorted by their first section. */
      for (guint i = 0; i < search->n_items && search->items[i].lo <= s; i++)
        if (search->items[i].hi >= s)
          {
            search->members[filled++] = i;
            section->n_items++;
            section->waiting += search->items[i].size;
            section->crossing += search->items[i].lo < s;
          }
    }
  for (guint i = 0; i < search->n_items; i++)
    for (guint s = search->items[i].lo; s <= search->items[i].hi; s++)
      search->items[i].crowd = MAX (search->items[i].crowd, search->sections[s].waiting);
}

/* FALSE: there are too many pairs, or it was cancelled. */
static gboolean
fill_neighbours (IrExactSearch *search, const IrMemOptions *options)
{
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < search->n_items; i++)
    {
      IrExactItem *item = &search->items[i];
      for (guint j = 0; j < search->n_items && search->items[j].lo <= item->hi; j++)
        if (j != i && search->items[j].hi >= item->lo)
          {
            g_array_append_val (pairs, j);
            item->n_neighbours++;
          }
      if (pairs->len > MAX_NEIGHBOURS || ir_mem_stopped (options))
        return FALSE;
    }
  search->neighbours = (guint *) (void *) g_array_free (g_steal_pointer (&pairs), FALSE);
  for (guint i = 0, start = 0; i < search->n_items; i++)
    {
      search->items[i].neighbours = search->neighbours + start;
      start += search->items[i].n_neighbours;
    }
  return TRUE;
}

/* Frees what it holds, but not itself */
void
ir_exact_search_clear (IrExactSearch *search)
{
  g_free (search->items);
  g_free (search->sections);
  g_free (search->neighbours);
  g_free (search->members);
  g_free (search->first_item);
  g_free (search->refuted);
  g_clear_pointer (&search->random, g_rand_free);
  g_clear_pointer (&search->changes, g_array_unref);
  g_clear_pointer (&search->hanging, g_array_unref);
  g_clear_pointer (&search->dirty, g_array_unref);
}

/* Blocks of no size need no place; the others in units of what divides all sizes. */
static gint64
take_items (IrExactSearch *search, const IrMemBlock *blocks, guint n, guint align_bytes)
{
  gint64 unit = 0;

  search->items = g_new0 (IrExactItem, n + 1);
  for (guint i = 0; i < n; i++)
    if (blocks[i].size > 0)
      {
        IrExactItem *item = &search->items[search->n_items++];
        item->block = i;
        item->size = (gint64) ir_mem_align (blocks[i].size, align_bytes);
        item->life = blocks[i].life != 0 ? (gint64) MIN (blocks[i].life, MAX_LIFE)
                                         : (gint64) blocks[i].last - blocks[i].first + 1;
        unit = gcd (item->size, unit);
      }
  for (guint i = 0; i < search->n_items; i++)
    search->items[i].size /= unit;
  return unit;
}

/* Brings the instance to one form. Without blocks of any size there are no items. Returns bytes
 * of one unit of the search: what divides all sizes. @search: a search in which all blocks wait;
 * ir_exact_search_clear() frees what it holds. @blocks: sizes in bytes and inclusive lifetimes.
 * @options: alignment and capacity in bytes, and what stops it: then the search is crowded. */
gint64
ir_exact_search_init (IrExactSearch *search,
                      const IrMemBlock *blocks,
                      guint n,
                      const IrMemOptions *options)
{
  *search = (IrExactSearch){ 0 };
  gint64 unit = take_items (search, blocks, n, options->align_bytes);

  if (search->n_items == 0)
    return unit;
  search->capacity = (gint64) (options->capacity / (guint64) unit);
  search->n_sections = cut_time (blocks, search->items, search->n_items);
  search->sections = g_new0 (IrExactSection, search->n_sections);
  orient_time (search->items, search->n_items, search->n_sections);
  fill_sections (search, options);
  search->crowded = !fill_neighbours (search, options);
  return unit;
}
