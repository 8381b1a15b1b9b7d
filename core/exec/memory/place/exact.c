/* The exact search: does a placement within a given capacity exist, and which?
 *
 * It follows the ideas of MiniMalloc (Moffitt, ASPLOS 2023): depth first over canonical placements
 * (a block is placed on top of others or on the ground, never in mid-air), lower bounds per
 * section of time, dominance, several orders tried in turn, and decomposition where no waiting
 * block crosses a cut in time. What differs is the branching. A node of the search takes one block
 * that could lie below all others that live with it and still wait, and asks only that:
 *
 *   yes   it is placed at its floor, the highest top below it; the others' floors rise to its top;
 *   no    some waiting block must come below it, so its floor rises to the lowest top that such a
 *         block can have. That block must begin below where this one would have ended, or this one
 *         could be let down (dominance).
 *
 * Raised floors raise others, and tighten the bound of every section that the block lives in:
 * what waits, stacked with the gaps that floors force, must not exceed the capacity. Since any
 * block may be asked about at any time, the search goes where it is hardest: to the section with
 * the least room for the number of times that it failed there (the weights of Boussemart et al.,
 * ECAI 2004), which is learned over many short tries, or to the lowest floor, in few tries that
 * grow longer. What was refuted is remembered, by which blocks wait on what heights, and holds for
 * all.
 *
 * Before the search the instance is brought to one form (form.c), so that names, units and
 * the direction of time make no difference. */
#include "config.h"

#include "core/exec/memory/place/exact.h"
#include "core/exec/memory/place/place.h"
#include "core/ir/hash.h"

#define FIRST_LIMIT  1000 /* steps of each try in the first round */
#define MORE         250  /* what is added for the lowest floor in each round */
#define SHORT_LIMIT  1000 /* steps of later tries that are led by sections, and at least */
#define SHORT_FACTOR 3    /* so many for each block: a try that succeeds hardly turns back */
#define SHORT_TRIES  8    /* of these in each round */
#define BLUR         0.3  /* how far keys differ between tries, as a part of themselves */
#define SEED         1    /* of that blur, where none is asked for */
#define CHECK_STEPS  256  /* steps between two looks at the clock */
#define TABLE_BITS   18   /* of the table of refuted states: 2 MiB */
#define NOTHING      G_MAXUINT

/* -- which block is asked about next -- */

static gboolean
comes_before (const IrExactItem *a, const IrExactItem *b)
{
  return a->floor != b->floor ? a->floor < b->floor : a->rank < b->rank;
}

static guint
lowest_of (const IrExactSearch *search, const guint *indices, guint n, guint best)
{
  for (guint i = 0; i < n; i++)
    if (!search->items[indices[i]].placed &&
        (best == NOTHING || comes_before (&search->items[indices[i]], &search->items[best])))
      best = indices[i];
  return best;
}

static guint
choose_section (const IrExactSearch *search, guint lo, guint hi)
{
  guint best = NOTHING;
  double best_room = 0;

  for (guint s = lo; s <= hi; s++)
    {
      const IrExactSection *section = &search->sections[s];
      if (section->waiting == 0)
        continue;
      double room = (double) (search->capacity - section->end + 1);
      double failures = (double) section->failures;
      room /= failures + 1;
      if (best == NOTHING || room < best_room)
        {
          best = s;
          best_room = room;
        }
    }
  return best;
}

/* The block to ask about: none that waits and lives with it has a lower floor, so it is not one
 * that hangs. */
static guint
choose (const IrExactSearch *search, guint lo, guint hi)
{
  guint best = NOTHING;

  if (search->focus == IR_EXACT_FOCUS_LOWEST)
    {
      for (guint s = lo; s <= hi; s++)
        if (search->sections[s].waiting > 0 &&
            (best == NOTHING || search->sections[s].low <= search->items[best].floor))
          best = lowest_of (search, search->sections[s].items, search->sections[s].n_items, best);
      return best;
    }
  guint section = choose_section (search, lo, hi);
  if (section == NOTHING)
    return NOTHING;
  best = lowest_of (search, search->sections[section].items, search->sections[section].n_items,
                    NOTHING);
  for (guint last = NOTHING; best != last;)
    {
      last = best;
      best = lowest_of (search, search->items[best].neighbours, search->items[best].n_neighbours,
                        best);
    }
  return best;
}

/* -- the search -- */

/* Places @index below all that wait; returns whether any of these lives with it. */
static gboolean
place (IrExactSearch *search, guint index)
{
  IrExactItem *item = &search->items[index];
  gint64 top = item->floor + item->size;
  gboolean covered = FALSE;

  item->placed = TRUE;
  ir_exact_record (search, IR_EXACT_CHANGE_PLACED, index, 0);
  for (guint s = item->lo; s <= item->hi; s++)
    {
      search->sections[s].waiting -= item->size;
      ir_exact_queue_section (search, s);
    }
  for (guint s = item->lo + 1; s <= item->hi; s++)
    search->sections[s].crossing--;
  for (guint i = 0; i < item->n_neighbours; i++)
    {
      IrExactItem *other = &search->items[item->neighbours[i]];
      if (other->placed)
        continue;
      covered = TRUE;
      if (other->top < top)
        {
          ir_exact_record (search, IR_EXACT_CHANGE_TOP, item->neighbours[i], other->top);
          other->top = top;
        }
      ir_exact_raise_floor (search, item->neighbours[i], top);
      ir_exact_queue_hanging (search, item->neighbours[i]);
    }
  return covered;
}

/* Says that some waiting block comes below @index, and below those that are its twins. */
static gboolean
reject (IrExactSearch *search, guint index)
{
  const IrExactItem *item = &search->items[index];
  gint64 support = ir_exact_lowest_support (search, item);

  if (support > search->capacity - item->size)
    return FALSE;
  ir_exact_raise_floor (search, index, support);
  for (guint i = 0; i < item->n_neighbours; i++)
    {
      const IrExactItem *other = &search->items[item->neighbours[i]];
      if (!other->placed && other->lo == item->lo && other->hi == item->hi &&
          other->size == item->size)
        ir_exact_raise_floor (search, item->neighbours[i], support);
    }
  return ir_exact_propagate (search);
}

static gboolean solve (IrExactSearch *search, guint lo, guint hi);

/* Each stretch of sections that no waiting block leaves is a problem of its own. */
static gboolean
solve_parts (IrExactSearch *search, guint lo, guint hi)
{
  guint start = lo;
  gboolean waits = FALSE;

  for (guint s = lo; s <= hi; s++)
    {
      waits = waits || search->sections[s].waiting > 0;
      if (s < hi && search->sections[s + 1].crossing > 0)
        continue;
      if (waits && !solve (search, start, s))
        return FALSE;
      start = s + 1;
      waits = FALSE;
    }
  return TRUE;
}

static gboolean
count_step (IrExactSearch *search)
{
  search->n_total++;
  if (search->deadline != 0 && search->n_total % CHECK_STEPS == 0 && clock () > search->deadline)
    search->stopped = search->out_of_time = TRUE;
  if (ir_mem_stopped (search->options))
    search->stopped = search->out_of_time = TRUE;
  if (++search->n_steps > search->limit)
    search->stopped = TRUE;
  return !search->stopped;
}

/* What decides whether the rest can be placed: which blocks wait, and on what height each would
 * lie. How the blocks below them are stacked does not matter; nor do raised floors, for they follow
 * from what has been refuted for all that stands on the same heights. */
static guint64
state_key (const IrExactSearch *search, guint lo, guint hi)
{
  guint64 key = 0;

  for (guint i = search->first_item[lo]; i < search->n_items && search->items[i].lo <= hi; i++)
    {
      const IrExactItem *item = &search->items[i];
      if (!item->placed)
        key += ir_mix64 ((guint64) (item->top + 1) * (search->n_items + 1) + i);
    }
  return ir_mix64 (key) | 1;
}

/* Places all that waits in the sections from @lo to @hi, or leaves everything as it was. */
static gboolean
solve (IrExactSearch *search, guint lo, guint hi)
{
  guint start = search->changes->len;
  guint64 key = state_key (search, lo, hi);
  guint64 *known = &search->refuted[key >> (64 - TABLE_BITS)];

  if (*known == key)
    return FALSE;
  for (;;)
    {
      guint index = choose (search, lo, hi);
      if (index == NOTHING)
        return TRUE;
      if (!count_step (search))
        break;
      guint mark = search->changes->len;
      gboolean covered = place (search, index);
      if (ir_exact_propagate (search) && solve_parts (search, lo, hi))
        return TRUE;
      ir_exact_undo (search, mark);
      /* With nothing above it, a block is no worse where it lies than anywhere else. */
      if (search->stopped || !covered || !reject (search, index))
        break;
    }
  if (!search->stopped)
    *known = key;
  ir_exact_clear_queues (search);
  ir_exact_undo (search, start);
  return FALSE;
}

/* -- strategies -- */

typedef enum
{
  KEY_LIFE,
  KEY_AREA,
  KEY_CROWD,
  N_KEYS
} Key;

/* Each order compares by three keys, the largest first. */
static const Key orders[][N_KEYS] = {
  { KEY_LIFE, KEY_AREA, KEY_CROWD },
  { KEY_CROWD, KEY_AREA, KEY_LIFE },
  { KEY_CROWD, KEY_LIFE, KEY_AREA },
  { KEY_AREA, KEY_LIFE, KEY_CROWD },
};

/* The keys of one try: by item. After the first round those of the search led by sections are
 * blurred, so that no two tries are the same; runs of a search that fail are long-tailed, and many
 * short ones end sooner than one that is long (Gomes, Selman and Kautz, AAAI 1998). */
static double *
blurred_keys (IrExactSearch *search, gboolean blur)
{
  double *keys = g_new (double, (gsize) search->n_items *N_KEYS);

  for (guint i = 0; i < search->n_items; i++)
    {
      const IrExactItem *item = &search->items[i];
      double *of_item = keys + (gsize) i * N_KEYS;
      of_item[KEY_LIFE] = (double) item->life;
      of_item[KEY_AREA] = (double) item->life * (double) item->size;
      of_item[KEY_CROWD] = (double) item->crowd;
      for (guint k = 0; blur && k < N_KEYS; k++)
        of_item[k] *= 1 + BLUR * (g_rand_double (search->random) - 0.5);
    }
  return keys;
}

typedef struct
{
  const double *values; /* N_KEYS for each item */
  const Key *keys;
} RankOrder;

static int
compare_ranks (gconstpointer a, gconstpointer b, gpointer data)
{
  const RankOrder *order = data;
  guint i = *(const guint *) a, j = *(const guint *) b;

  for (guint k = 0; k < N_KEYS; k++)
    {
      double x = order->values[i * N_KEYS + order->keys[k]];
      double y = order->values[j * N_KEYS + order->keys[k]];
      if (x != y)
        return x > y ? -1 : 1;
    }
  return i < j ? -1 : i > j;
}

static void
rank_items (IrExactSearch *search, const Key *keys, gboolean blur)
{
  g_autofree guint *order = g_new (guint, search->n_items);
  g_autofree double *values = blurred_keys (search, blur);
  RankOrder data = { values, keys };

  for (guint i = 0; i < search->n_items; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint) search->n_items, sizeof *order, compare_ranks, &data);
  for (guint i = 0; i < search->n_items; i++)
    search->items[order[i]].rank = i;
}

/* One try of at most @limit steps; GAVE_UP leaves nothing placed. */
static IrMemSearchStatus
try_order (IrExactSearch *search, IrExactFocus focus, const Key *keys, gboolean blur, guint64 limit)
{
  rank_items (search, keys, blur);
  search->focus = focus;
  search->n_steps = 0;
  search->limit = limit;
  search->stopped = FALSE;
  if (solve_parts (search, 0, search->n_sections - 1))
    return IR_MEM_SEARCH_FOUND;
  if (!search->stopped)
    return IR_MEM_SEARCH_IMPOSSIBLE;
  ir_exact_undo (search, 0);
  return IR_MEM_SEARCH_GAVE_UP;
}

/* First all orders with both rules; then one after the other with the rule of the lowest floor, the
 * limit growing so that whatever is small enough is refuted at last, between short tries led by
 * sections. */
static IrMemSearchStatus
try_next (IrExactSearch *search, guint64 number, guint64 left)
{
  guint n_first = 2 * G_N_ELEMENTS (orders);

  if (number < n_first)
    return try_order (search, number % 2 == 0 ? IR_EXACT_FOCUS_LOWEST : IR_EXACT_FOCUS_MIXED,
                      orders[number / 2], FALSE, MIN (FIRST_LIMIT, left));
  guint64 round = (number - n_first) / (1 + SHORT_TRIES);
  guint64 limit = MAX (SHORT_LIMIT, SHORT_FACTOR * (guint64) search->n_items);
  if ((number - n_first) % (1 + SHORT_TRIES) > 0)
    return try_order (search, IR_EXACT_FOCUS_MIXED, orders[0], TRUE, MIN (limit, left));
  return try_order (search, IR_EXACT_FOCUS_LOWEST, orders[round % G_N_ELEMENTS (orders)], FALSE,
                    MIN (FIRST_LIMIT + round * MORE, left));
}

static IrMemSearchStatus
run (IrExactSearch *search, guint64 max_steps)
{
  IrMemSearchStatus status = IR_MEM_SEARCH_GAVE_UP;

  /* The bounds hold before anything is placed, or nothing fits at all. */
  for (guint s = 0; s < search->n_sections; s++)
    ir_exact_queue_section (search, s);
  if (!ir_exact_propagate (search))
    return IR_MEM_SEARCH_IMPOSSIBLE;
  for (guint64 number = 0; status == IR_MEM_SEARCH_GAVE_UP; number++)
    {
      if (search->out_of_time || search->n_total >= max_steps)
        break;
      status = try_next (search, number, max_steps - search->n_total);
    }
  return status;
}

/**
 * ir_mem_search:
 * @blocks: (inout) (array length=n): sizes in bytes and inclusive lifetimes; gets the offsets if a
 *   placement is found, and is left alone otherwise
 * @n: number of blocks
 * @options: alignment, capacity in bytes (which must be given) and limits; steps of 0 are none
 * @n_steps: (inout): gets the number of placements tried added
 *
 * Searches for a placement that ends at or below the capacity. The same blocks and number of steps
 * give the same placement; a limit on time may end it anywhere.
 *
 * Source: Moffitt 2023, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated
 * Machine Learning" (ideas), with other branching: see the top of this file.
 *
 * Returns: whether one was found, or proven not to exist
 */
IrMemSearchStatus
ir_mem_search (IrMemBlock *blocks, guint n, const IrMemOptions *options, guint64 *n_steps)
{
  IrExactSearch search = { 0 };
  IrMemSearchStatus status = IR_MEM_SEARCH_GAVE_UP;

  gint64 unit = ir_exact_search_init (&search, blocks, n, options);
  search.options = options;
  if (search.n_items == 0 || options->max_steps == 0 || options->capacity > G_MAXINT64 / 4)
    {
      ir_exact_search_clear (&search);
      for (guint i = 0; i < n && options->max_steps > 0; i++)
        blocks[i].offset = 0;
      return options->max_steps > 0 && search.n_items == 0 ? IR_MEM_SEARCH_FOUND : status;
    }
  if (options->time_limit_ms > 0)
    search.deadline = clock () +
                      (clock_t) ((gint64) options->time_limit_ms * CLOCKS_PER_SEC / 1000);
  if (!search.crowded && !ir_mem_stopped (options))
    {
      search.random = g_rand_new_with_seed (SEED + options->seed);
      search.refuted = g_new0 (guint64, (gsize) 1 << TABLE_BITS);
      search.changes = g_array_new (FALSE, FALSE, sizeof (IrExactChange));
      search.hanging = g_array_new (FALSE, FALSE, sizeof (guint));
      search.dirty = g_array_new (FALSE, FALSE, sizeof (guint));
      status = run (&search, options->max_steps);
    }
  if (status == IR_MEM_SEARCH_FOUND)
    for (guint i = 0; i < n; i++)
      blocks[i].offset = 0;
  for (guint i = 0; i < search.n_items && status == IR_MEM_SEARCH_FOUND; i++)
    blocks[search.items[i].block].offset = (guint64) (search.items[i].floor * unit);
  *n_steps += search.n_total;
  ir_exact_search_clear (&search);
  return status;
}
