/* All algorithms of the memory plan in one call: the greedy ones, which are fast, and where they
 * miss the bound, the exact search. The best placement is taken, and the result says whose it is.
 */
#include "config.h"

#include <time.h>

#include "core/exec/memory/place/place.h"

#define FIRST_PROBE 20000     /* steps of the exact search for each height of the first round */
#define MOST_PAIRS  (1 << 24) /* of blocks that live at once, for algorithms that look at all */

typedef guint64 (*Greedy) (IrMemBlock *blocks, guint n, const IrMemOptions *options);

static const struct
{
  const char *name;
  Greedy place; /* (nullable) */
} algorithms[IR_MEM_N_ALGORITHMS] = {
  [IR_MEM_GREEDY_SIZE] = { "greedy-by-size", ir_mem_blocks_place },
  [IR_MEM_GREEDY_BREADTH] = { "greedy-by-breadth", ir_mem_place_by_breadth },
  [IR_MEM_BEST_FIT] = { "best-fit", ir_mem_place_best_fit },
  [IR_MEM_EXACT] = { "exact", NULL },
};

/**
 * ir_mem_algorithm_name:
 * @algorithm: an algorithm
 *
 * Returns: its name, as scripts compare it
 */
const char *
ir_mem_algorithm_name (IrMemAlgorithm algorithm)
{
  g_return_val_if_fail (algorithm < IR_MEM_N_ALGORITHMS, NULL);
  return algorithms[algorithm].name;
}

/**
 * ir_mem_blocks_lower_bound:
 * @blocks: (array length=n): sizes and lifetimes
 * @n: number of blocks
 * @align_bytes: sizes are rounded up to multiples of this
 *
 * Returns: the most bytes that live at one step: no placement can need less
 */
guint64
ir_mem_blocks_lower_bound (const IrMemBlock *blocks, guint n, guint64 align_bytes)
{
  guint n_steps = 0;
  guint64 live = 0, most = 0;

  for (guint i = 0; i < n; i++)
    n_steps = MAX (n_steps, blocks[i].last + 1);
  g_autofree guint64 *born = g_new0 (guint64, n_steps + 1), *died = g_new0 (guint64, n_steps + 1);
  for (guint i = 0; i < n; i++)
    {
      born[blocks[i].first] += ir_mem_align (blocks[i].size, align_bytes);
      died[blocks[i].last + 1] += ir_mem_align (blocks[i].size, align_bytes);
    }
  for (guint step = 0; step < n_steps; step++)
    {
      live += born[step] - died[step];
      most = MAX (most, live);
    }
  return most;
}

/* -- the exact search, for the lowest height -- */

typedef struct
{
  IrMemBlock *blocks; /* the best placement so far */
  guint n;
  const IrMemOptions *options;
  IrMemResult *result;
  IrMemBlock *trial;
  clock_t start;
  guint64 proven; /* nothing fits below or at this */
} Descent;

static guint64
height (const Descent *descent)
{
  guint64 highest = 0;

  for (guint i = 0; i < descent->n; i++)
    highest = MAX (highest,
                   descent->trial[i].offset +
                       ir_mem_align (descent->trial[i].size, descent->options->align_bytes));
  return highest;
}

/* Milliseconds left, at least 1; 0 where the time is over. */
static guint
time_left (const Descent *descent)
{
  gint64 spent = (gint64) (clock () - descent->start) * 1000 / CLOCKS_PER_SEC;

  return spent < descent->options->time_limit_ms ? (guint) (descent->options->time_limit_ms - spent)
                                                 : 0;
}

static gboolean
over (const Descent *descent)
{
  return descent->result->n_steps >= descent->options->max_steps ||
         (descent->options->time_limit_ms > 0 && time_left (descent) == 0) ||
         ir_mem_stopped (descent->options);
}

/* Tries to get down to @capacity; the placement found may be lower. */
static gboolean
probe (Descent *descent, guint64 capacity, guint64 steps)
{
  IrMemResult *result = descent->result;
  guint64 left = descent->options->max_steps - MIN (descent->options->max_steps, result->n_steps);
  IrMemOptions options = {
    .align_bytes = descent->options->align_bytes,
    .capacity = capacity,
    .max_steps = MIN (steps, left),
    .time_limit_ms = descent->options->time_limit_ms > 0 ? time_left (descent) : 0,
    .seed = descent->options->seed,
    .cancellable = descent->options->cancellable,
  };

  if (over (descent))
    return FALSE;
  memcpy (descent->trial, descent->blocks, descent->n * sizeof *descent->blocks);
  IrMemSearchStatus status = ir_mem_search (descent->trial, descent->n, &options, &result->n_steps);
  if (status == IR_MEM_SEARCH_IMPOSSIBLE)
    descent->proven = MAX (descent->proven, capacity);
  if (status != IR_MEM_SEARCH_FOUND)
    return FALSE;
  guint64 found = height (descent);
  if (result->peaks[IR_MEM_EXACT] == 0 || found < result->peaks[IR_MEM_EXACT])
    result->peaks[IR_MEM_EXACT] = found;
  if (found < result->peak_bytes)
    {
      result->peak_bytes = found;
      result->algorithm = IR_MEM_EXACT;
      memcpy (descent->blocks, descent->trial, descent->n * sizeof *descent->blocks);
    }
  return TRUE;
}

/* The bound itself first, for it can often be reached; then heights between what is known to be
 * impossible, or was not found with this many steps, and the best so far. */
static void
round_of_probes (Descent *descent, guint64 steps)
{
  guint64 align = descent->options->align_bytes, failed = descent->proven;

  if (failed < descent->result->lower_bound_bytes)
    {
      if (probe (descent, descent->result->lower_bound_bytes, steps))
        return;
      failed = descent->result->lower_bound_bytes;
    }
  while (!over (descent) && descent->result->peak_bytes > failed + align)
    {
      guint64 half = (descent->result->peak_bytes - failed) / 2 / align * align;
      guint64 capacity = failed + MAX (half, align);
      if (!probe (descent, capacity, steps))
        failed = capacity;
    }
}

static gboolean
is_good (const Descent *descent)
{
  const IrMemResult *result = descent->result;

  return result->peak_bytes <= MAX (result->lower_bound_bytes, descent->options->capacity) ||
         result->peak_bytes <= descent->proven + descent->options->align_bytes;
}

static void
descend (Descent *descent)
{
  if (descent->options->capacity >= descent->result->lower_bound_bytes)
    {
      probe (descent, descent->options->capacity, G_MAXUINT64);
      return;
    }
  for (guint64 steps = FIRST_PROBE; !is_good (descent) && !over (descent); steps *= 8)
    round_of_probes (descent, steps);
}

/* Whether looking at all that live with each would take seconds. */
static gboolean
is_vast (const IrMemBlock *blocks, guint n)
{
  guint n_steps = 0, n_living = 0, most = 0;

  for (guint i = 0; i < n; i++)
    n_steps = MAX (n_steps, blocks[i].last + 1);
  g_autofree guint *born = g_new0 (guint, (gsize) n_steps + 1),
                   *died = g_new0 (guint, (gsize) n_steps + 1);
  for (guint i = 0; i < n; i++)
    {
      born[blocks[i].first]++;
      died[blocks[i].last + 1]++;
    }
  for (guint step = 0; step < n_steps; step++)
    {
      n_living += born[step] - died[step];
      most = MAX (most, n_living);
    }
  return (guint64) n * most > MOST_PAIRS;
}

static void
try_greedy (IrMemAlgorithm algorithm,
            IrMemBlock *blocks,
            IrMemBlock *trial,
            guint n,
            const IrMemOptions *options,
            IrMemResult *result)
{
  if (algorithms[algorithm].place == NULL || result->peaks[algorithm] != 0 || n == 0 ||
      ir_mem_stopped (options))
    return;
  result->peaks[algorithm] = algorithms[algorithm].place (trial, n, options);
  if (result->peak_bytes > 0 && result->peaks[algorithm] >= result->peak_bytes)
    return;
  result->peak_bytes = result->peaks[algorithm];
  result->algorithm = algorithm;
  memcpy (blocks, trial, n * sizeof *blocks);
}

static void
place_greedily (IrMemBlock *blocks,
                IrMemBlock *trial,
                guint n,
                const IrMemOptions *options,
                IrMemResult *result)
{
  if (is_vast (blocks, n))
    {
      try_greedy (IR_MEM_BEST_FIT, blocks, trial, n, options, result);
      if (result->peak_bytes <= MAX (result->lower_bound_bytes, options->capacity))
        return;
    }
  for (guint i = 0; i < IR_MEM_N_ALGORITHMS; i++)
    try_greedy (i, blocks, trial, n, options, result);
}

/**
 * ir_mem_place:
 * @blocks: (inout) (array length=n): sizes in bytes and inclusive lifetimes; gets the offsets
 * @n: number of blocks
 * @options: alignment, what is good enough, and limits of the exact search
 * @result: (out): what was reached, and by which algorithm
 *
 * Places blocks so that no two that live at the same step overlap, as low as the limits allow. The
 * greedy algorithms run always, except that where very many blocks live at once the fast one is
 * enough if it reaches what is good enough; the exact search only where they miss that. Without a
 * limit on time the same blocks give the same offsets.
 *
 * Cost: that of the greedy algorithms, and up to @options->max_steps steps, each about as many
 * operations as there are blocks that live at the same time as one.
 *
 * Returns: %FALSE if it was cancelled; offsets and @result are of no use then
 */
gboolean
ir_mem_place (IrMemBlock *blocks, guint n, const IrMemOptions *options, IrMemResult *result)
{
  g_return_val_if_fail (options != NULL && options->align_bytes > 0 && result != NULL, FALSE);
  g_autofree IrMemBlock *trial = g_memdup2 (blocks, n * sizeof *blocks);

  *result = (IrMemResult){ 0 };
  result->lower_bound_bytes = ir_mem_blocks_lower_bound (blocks, n, options->align_bytes);
  place_greedily (blocks, trial, n, options, result);
  Descent descent = { blocks, n, options, result, trial, clock (), 0 };
  if (n > 0 && options->max_steps > 0 && !is_good (&descent))
    {
      descend (&descent);
      result->search_ms = (double) (clock () - descent.start) * 1000 / CLOCKS_PER_SEC;
    }
  result->proven = result->peak_bytes <=
                   MAX (result->lower_bound_bytes, descent.proven + options->align_bytes);
  return !ir_mem_stopped (options);
}
