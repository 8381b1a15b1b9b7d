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
 * Raised floors raise others, and tighten the bound of every section that the block lives in: the
 * what waits, stacked with the gaps that floors force, must not exceed the capacity. Since any
 * block may be asked about at any time, the search goes where it is hardest: to the section with
 * the least room for the number of times that it failed there (the weights of Boussemart et al.,
 * ECAI 2004), which is learned over many short tries, or to the lowest floor, in few tries that
 * grow longer. What was refuted is remembered, by which blocks wait on what heights, and holds for
 * all.
 *
 * Before the search the instance is brought to one form: sizes are divided by what divides them
 * all, time is cut into the sections where as many blocks as possible live together, and blocks are
 * ordered by their lives and sizes, in the direction of time in which that order comes first. So
 * names, units and the direction of time make no difference. */
#include "config.h"

#include <time.h>

#include "core/exec/memplan-private.h"

#define MAX_NEIGHBOURS (8u << 20) /* pairs: 32 MiB of indices */
#define FIRST_LIMIT    1000       /* steps of each try in the first round */
#define MORE           250        /* what is added for the lowest floor in each round */
#define SHORT_LIMIT    1000       /* steps of later tries that are led by sections, and at least */
#define SHORT_FACTOR   3   /* so many for each block: a try that succeeds hardly turns back */
#define SHORT_TRIES    8   /* of these in each round */
#define BLUR           0.3 /* how far keys differ between tries, as a part of themselves */
#define SEED           1   /* of that blur, where none is asked for */
#define CHECK_STEPS    256 /* steps between two looks at the clock */
#define TABLE_BITS     18  /* of the table of refuted states: 2 MiB */
#define NOTHING        G_MAXUINT
#define MAX_LIFE       ((guint64) 1 << 40) /* times a size stays below 2^63 in units */
#define HIGH           G_MAXINT64

/* What the search looks at most comes first. */
typedef struct
{
  gint64 floor; /* it cannot lie below this */
  gint64 top;   /* of the highest placed block below it: where it would lie now */
  guint8 placed, queued;
  guint lo, hi; /* sections, both inclusive */
  guint rank;   /* in the static order */
  gint64 size;
  const guint *neighbours; /* blocks that live with it in some section */
  guint n_neighbours;
  guint block; /* index in the caller's array */
  gint64 life;
  gint64 crowd; /* the most that lives at once while this does */
} Item;

typedef struct
{
  guint n_items;
  guint *items;   /* those that wait last, by the floors that they had when last looked at */
  gint64 waiting; /* bytes of the blocks that are not placed */
  gint64 low;     /* lowest floor of these */
  gint64 end;     /* these cannot be stacked lower */
  guint crossing; /* blocks not placed that live here and in the section before */
  guint64 failures;
  gboolean queued;
} Section;

typedef enum
{
  CHANGE_FLOOR,
  CHANGE_TOP,
  CHANGE_LOW,
  CHANGE_END,
  CHANGE_PLACED
} ChangeKind;

typedef struct
{
  ChangeKind kind;
  guint index;
  gint64 old;
} Change;

typedef enum
{
  FOCUS_LOWEST, /* the lowest floor of all */
  FOCUS_MIXED   /* the section with the least room for its failures */
} Focus;

typedef struct
{
  guint n_items, n_sections;
  Item *items;
  Section *sections;
  guint *neighbours, *members; /* what items and sections point into */
  gint64 capacity;
  guint *first_item; /* by section: the first item that begins there or later */
  guint64 *refuted;  /* keys of states that cannot be completed, by their first bits */
  GArray *changes;   /* of Change: what to undo, oldest first */
  GArray *hanging;   /* of guint: blocks whose support has to be looked at */
  GArray *dirty;     /* of guint: sections whose bound has to be looked at */
  GRand *random;
  Focus focus;
  guint64 n_steps, limit; /* of this try */
  guint64 n_total;
  clock_t deadline; /* 0: none */
  gboolean stopped, out_of_time;
} Search;

/* -- undoing -- */

static void
record (Search *search, ChangeKind kind, guint index, gint64 old)
{
  Change change = { kind, index, old };

  g_array_append_val (search->changes, change);
}

static void
unplace (Search *search, Item *item)
{
  item->placed = FALSE;
  for (guint s = item->lo; s <= item->hi; s++)
    search->sections[s].waiting += item->size;
  for (guint s = item->lo + 1; s <= item->hi; s++)
    search->sections[s].crossing++;
}

static void
undo (Search *search, guint mark)
{
  for (guint i = search->changes->len; i-- > mark;)
    {
      Change change = g_array_index (search->changes, Change, i);
      switch (change.kind)
        {
        case CHANGE_FLOOR:
          search->items[change.index].floor = change.old;
          break;
        case CHANGE_TOP:
          search->items[change.index].top = change.old;
          break;
        case CHANGE_LOW:
          search->sections[change.index].low = change.old;
          break;
        case CHANGE_END:
          search->sections[change.index].end = change.old;
          break;
        case CHANGE_PLACED:
          unplace (search, &search->items[change.index]);
          break;
        }
    }
  g_array_set_size (search->changes, mark);
}

/* -- bounds -- */

static void
queue_section (Search *search, guint index)
{
  if (search->sections[index].queued)
    return;
  search->sections[index].queued = TRUE;
  g_array_append_val (search->dirty, index);
}

static gboolean
is_hanging (const Item *item)
{
  return !item->placed && item->floor > item->top;
}

static void
queue_hanging (Search *search, guint index)
{
  Item *item = &search->items[index];

  if (item->queued || !is_hanging (item))
    return;
  item->queued = TRUE;
  g_array_append_val (search->hanging, index);
}

static void
raise_floor (Search *search, guint index, gint64 floor)
{
  Item *item = &search->items[index];

  if (floor <= item->floor)
    return;
  record (search, CHANGE_FLOOR, index, item->floor);
  item->floor = floor;
  for (guint s = item->lo; s <= item->hi; s++)
    queue_section (search, s);
  for (guint i = 0; i < item->n_neighbours; i++)
    queue_hanging (search, item->neighbours[i]);
  queue_hanging (search, index);
}

static void
clear_queues (Search *search)
{
  for (guint i = 0; i < search->dirty->len; i++)
    search->sections[g_array_index (search->dirty, guint, i)].queued = FALSE;
  for (guint i = 0; i < search->hanging->len; i++)
    search->items[g_array_index (search->hanging, guint, i)].queued = FALSE;
  g_array_set_size (search->dirty, 0);
  g_array_set_size (search->hanging, 0);
}

/* The lowest top on which @item can come to lie, given that a waiting block comes below it; HIGH if
 * none can. A block that begins at or above the end that @item has when it lies at its top is none:
 * then @item could be let down. */
static gint64
lowest_support (const Search *search, const Item *item)
{
  gint64 end = item->top + item->size, lowest = HIGH;

  for (guint i = 0; i < item->n_neighbours; i++)
    {
      const Item *other = &search->items[item->neighbours[i]];
      if (!other->placed && other->floor < end)
        lowest = MIN (lowest, other->floor + other->size);
    }
  return lowest;
}

/* Only the search that goes by failures learns from them: those of the other are elsewhere. */
static void
count_failure (Search *search, guint section)
{
  if (search->focus == FOCUS_MIXED)
    search->sections[section].failures++;
}

static gboolean
check_hanging (Search *search, guint index)
{
  Item *item = &search->items[index];

  if (!is_hanging (item))
    return TRUE;
  gint64 support = lowest_support (search, item);
  if (support > search->capacity - item->size)
    {
      for (guint s = item->lo; s <= item->hi; s++)
        count_failure (search, s);
      return FALSE;
    }
  raise_floor (search, index, support);
  return TRUE;
}

static gint64
sorting_floor (const Item *item)
{
  return item->placed ? -1 : item->floor;
}

/* Sorts the blocks of @section by their floors; those placed come first. The order of the last look
 * is nearly right. */
static void
sort_section (const Search *search, Section *section)
{
  for (guint i = 1; i < section->n_items; i++)
    {
      guint index = section->items[i], j = i;
      gint64 floor = sorting_floor (&search->items[index]);
      for (; j > 0 && sorting_floor (&search->items[section->items[j - 1]]) > floor; j--)
        section->items[j] = section->items[j - 1];
      section->items[j] = index;
    }
}

/* What waits here is stacked without gaps but those that floors force, as jobs with release dates
 * on one machine. */
static gboolean
check_section (Search *search, guint index)
{
  Section *section = &search->sections[index];
  gint64 low = HIGH, end = 0;

  if (section->waiting > 0)
    sort_section (search, section);
  for (guint i = 0; i < section->n_items; i++)
    {
      const Item *item = &search->items[section->items[i]];
      if (item->placed)
        continue;
      low = MIN (low, item->floor);
      end = MAX (end, item->floor) + item->size;
    }
  if (low != section->low)
    record (search, CHANGE_LOW, index, section->low);
  if (end != section->end)
    record (search, CHANGE_END, index, section->end);
  section->low = low;
  section->end = end;
  if (end <= search->capacity)
    return TRUE;
  count_failure (search, index);
  return FALSE;
}

static guint
pop (GArray *queue)
{
  guint index = g_array_index (queue, guint, queue->len - 1);

  g_array_set_size (queue, queue->len - 1);
  return index;
}

static gboolean
propagate (Search *search)
{
  while (search->hanging->len > 0 || search->dirty->len > 0)
    {
      gboolean fits;
      if (search->hanging->len > 0)
        {
          guint index = pop (search->hanging);
          search->items[index].queued = FALSE;
          fits = check_hanging (search, index);
        }
      else
        {
          guint index = pop (search->dirty);
          search->sections[index].queued = FALSE;
          fits = check_section (search, index);
        }
      if (!fits)
        {
          clear_queues (search);
          return FALSE;
        }
    }
  return TRUE;
}

/* -- which block is asked about next -- */

static gboolean
comes_before (const Item *a, const Item *b)
{
  return a->floor != b->floor ? a->floor < b->floor : a->rank < b->rank;
}

static guint
lowest_of (const Search *search, const guint *indices, guint n, guint best)
{
  for (guint i = 0; i < n; i++)
    if (!search->items[indices[i]].placed &&
        (best == NOTHING || comes_before (&search->items[indices[i]], &search->items[best])))
      best = indices[i];
  return best;
}

static guint
choose_section (const Search *search, guint lo, guint hi)
{
  guint best = NOTHING;
  double best_room = 0;

  for (guint s = lo; s <= hi; s++)
    {
      const Section *section = &search->sections[s];
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
choose (const Search *search, guint lo, guint hi)
{
  guint best = NOTHING;

  if (search->focus == FOCUS_LOWEST)
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
place (Search *search, guint index)
{
  Item *item = &search->items[index];
  gint64 top = item->floor + item->size;
  gboolean covered = FALSE;

  item->placed = TRUE;
  record (search, CHANGE_PLACED, index, 0);
  for (guint s = item->lo; s <= item->hi; s++)
    {
      search->sections[s].waiting -= item->size;
      queue_section (search, s);
    }
  for (guint s = item->lo + 1; s <= item->hi; s++)
    search->sections[s].crossing--;
  for (guint i = 0; i < item->n_neighbours; i++)
    {
      Item *other = &search->items[item->neighbours[i]];
      if (other->placed)
        continue;
      covered = TRUE;
      if (other->top < top)
        {
          record (search, CHANGE_TOP, item->neighbours[i], other->top);
          other->top = top;
        }
      raise_floor (search, item->neighbours[i], top);
      queue_hanging (search, item->neighbours[i]);
    }
  return covered;
}

/* Says that some waiting block comes below @index, and below those that are its twins. */
static gboolean
reject (Search *search, guint index)
{
  const Item *item = &search->items[index];
  gint64 support = lowest_support (search, item);

  if (support > search->capacity - item->size)
    return FALSE;
  raise_floor (search, index, support);
  for (guint i = 0; i < item->n_neighbours; i++)
    {
      const Item *other = &search->items[item->neighbours[i]];
      if (!other->placed && other->lo == item->lo && other->hi == item->hi &&
          other->size == item->size)
        raise_floor (search, item->neighbours[i], support);
    }
  return propagate (search);
}

static gboolean solve (Search *search, guint lo, guint hi);

/* Each stretch of sections that no waiting block leaves is a problem of its own. */
static gboolean
solve_parts (Search *search, guint lo, guint hi)
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
count_step (Search *search)
{
  search->n_total++;
  if (search->deadline != 0 && search->n_total % CHECK_STEPS == 0 && clock () > search->deadline)
    search->stopped = search->out_of_time = TRUE;
  if (++search->n_steps > search->limit)
    search->stopped = TRUE;
  return !search->stopped;
}

static guint64
mix (guint64 bits)
{
  bits = (bits ^ (bits >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  bits = (bits ^ (bits >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return bits ^ (bits >> 31);
}

/* What decides whether the rest can be placed: which blocks wait, and on what height each would
 * lie. How the blocks below them are stacked does not matter; nor do raised floors, for they follow
 * from what has been refuted for all that stands on the same heights. */
static guint64
state_key (const Search *search, guint lo, guint hi)
{
  guint64 key = 0;

  for (guint i = search->first_item[lo]; i < search->n_items && search->items[i].lo <= hi; i++)
    {
      const Item *item = &search->items[i];
      if (!item->placed)
        key += mix ((guint64) (item->top + 1) * (search->n_items + 1) + i);
    }
  return mix (key) | 1;
}

/* Places all that waits in the sections from @lo to @hi, or leaves everything as it was. */
static gboolean
solve (Search *search, guint lo, guint hi)
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
      if (propagate (search) && solve_parts (search, lo, hi))
        return TRUE;
      undo (search, mark);
      /* With nothing above it, a block is no worse where it lies than anywhere else. */
      if (search->stopped || !covered || !reject (search, index))
        break;
    }
  if (!search->stopped)
    *known = key;
  clear_queues (search);
  undo (search, start);
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
blurred_keys (Search *search, gboolean blur)
{
  double *keys = g_new (double, (gsize) search->n_items *N_KEYS);

  for (guint i = 0; i < search->n_items; i++)
    {
      const Item *item = &search->items[i];
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
rank_items (Search *search, const Key *keys, gboolean blur)
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
try_order (Search *search, Focus focus, const Key *keys, gboolean blur, guint64 limit)
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
  undo (search, 0);
  return IR_MEM_SEARCH_GAVE_UP;
}

/* First all orders with both rules; then one after the other with the rule of the lowest floor, the
 * limit growing so that whatever is small enough is refuted at last, between short tries led by
 * sections. */
static IrMemSearchStatus
try_next (Search *search, guint64 number, guint64 left)
{
  guint n_first = 2 * G_N_ELEMENTS (orders);

  if (number < n_first)
    return try_order (search, number % 2 == 0 ? FOCUS_LOWEST : FOCUS_MIXED, orders[number / 2],
                      FALSE, MIN (FIRST_LIMIT, left));
  guint64 round = (number - n_first) / (1 + SHORT_TRIES);
  guint64 limit = MAX (SHORT_LIMIT, SHORT_FACTOR * (guint64) search->n_items);
  if ((number - n_first) % (1 + SHORT_TRIES) > 0)
    return try_order (search, FOCUS_MIXED, orders[0], TRUE, MIN (limit, left));
  return try_order (search, FOCUS_LOWEST, orders[round % G_N_ELEMENTS (orders)], FALSE,
                    MIN (FIRST_LIMIT + round * MORE, left));
}

static IrMemSearchStatus
run (Search *search, guint64 max_steps)
{
  IrMemSearchStatus status = IR_MEM_SEARCH_GAVE_UP;

  /* The bounds hold before anything is placed, or nothing fits at all. */
  for (guint s = 0; s < search->n_sections; s++)
    queue_section (search, s);
  if (!propagate (search))
    return IR_MEM_SEARCH_IMPOSSIBLE;
  for (guint64 number = 0; status == IR_MEM_SEARCH_GAVE_UP; number++)
    {
      if (search->out_of_time || search->n_total >= max_steps)
        break;
      status = try_next (search, number, max_steps - search->n_total);
    }
  return status;
}

/* -- bringing blocks to one form -- */

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
  const Item *x = a, *y = b;

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
cut_time (const IrMemBlock *blocks, Item *items, guint n)
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
  const Item *x = a, *y = b;
  int order = compare_lives (a, b);

  return order != 0 ? order : x->block < y->block ? -1 : x->block > y->block;
}

static void
reverse_time (Item *items, guint n, guint n_sections)
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
orient_time (Item *items, guint n, guint n_sections)
{
  g_autofree Item *mirror = g_memdup2 (items, n * sizeof *items);

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
fill_sections (Search *search)
{
  gsize n_members = 0, filled = 0;
  guint first = 0;

  search->first_item = g_new (guint, search->n_sections);
  for (guint i = 0; i < search->n_items; i++)
    n_members += search->items[i].hi - search->items[i].lo + 1;
  search->members = g_new (guint, n_members);
  for (guint s = 0; s < search->n_sections; s++)
    {
      Section *section = &search->sections[s];
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

/* FALSE: there are too many pairs. */
static gboolean
fill_neighbours (Search *search)
{
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < search->n_items; i++)
    {
      Item *item = &search->items[i];
      for (guint j = 0; j < search->n_items && search->items[j].lo <= item->hi; j++)
        if (j != i && search->items[j].hi >= item->lo)
          {
            g_array_append_val (pairs, j);
            item->n_neighbours++;
          }
      if (pairs->len > MAX_NEIGHBOURS)
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

static void
search_clear (Search *search)
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
take_items (Search *search, const IrMemBlock *blocks, guint n, guint align_bytes)
{
  gint64 unit = 0;

  search->items = g_new0 (Item, n + 1);
  for (guint i = 0; i < n; i++)
    if (blocks[i].size > 0)
      {
        Item *item = &search->items[search->n_items++];
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
  Search search = { 0 };
  IrMemSearchStatus status = IR_MEM_SEARCH_GAVE_UP;

  gint64 unit = take_items (&search, blocks, n, options->align_bytes);
  if (search.n_items == 0 || options->max_steps == 0 || options->capacity > G_MAXINT64 / 4)
    {
      search_clear (&search);
      for (guint i = 0; i < n && options->max_steps > 0; i++)
        blocks[i].offset = 0;
      return options->max_steps > 0 && search.n_items == 0 ? IR_MEM_SEARCH_FOUND : status;
    }
  search.capacity = (gint64) options->capacity / unit;
  search.n_sections = cut_time (blocks, search.items, search.n_items);
  search.sections = g_new0 (Section, search.n_sections);
  orient_time (search.items, search.n_items, search.n_sections);
  fill_sections (&search);
  if (options->time_limit_ms > 0)
    search.deadline = clock () +
                      (clock_t) ((gint64) options->time_limit_ms * CLOCKS_PER_SEC / 1000);
  if (fill_neighbours (&search))
    {
      search.random = g_rand_new_with_seed (SEED + options->seed);
      search.refuted = g_new0 (guint64, (gsize) 1 << TABLE_BITS);
      search.changes = g_array_new (FALSE, FALSE, sizeof (Change));
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
  search_clear (&search);
  return status;
}
