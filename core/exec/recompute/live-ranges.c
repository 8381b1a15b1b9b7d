/* How long values stay when tasks run in an order, some of them again, and which of those stays
 * share bytes: what share.c is for the values of a graph, of which each stays once.
 *
 * Bytes pass from a life to the next where the task may write over what nobody reads again. A part
 * lies in its whole: what is cut out stays where it is, and what is joined is written there from
 * the beginning, so that the block of the whole lives from its first part to the last use of all.
 * Parts lie there only where no more lives at once than without. */
#include "config.h"

#include "core/exec/memory/planner.h"
#include "core/exec/memory/place/place.h"
#include "core/exec/recompute/recompute.h"

#include <string.h>

#define NONE IR_RECOMPUTE_NONE

/* A block may become a range of another. */
typedef struct
{
  guint64 size;
  guint first, last; /* runs, both inclusive */
  guint parent;      /* NONE: none */
  guint64 at;        /* bytes from the start of the parent */
  IrMemSpots *spots; /* (nullable) lives that are of use, with those of its ranges; of roots */
} Block;

typedef struct
{
  const IrRecomputeProblem *problem;
  const guint *runs;
  guint n_runs;
  guint64 align_bytes;
  const IrMemOptions *options;
  gboolean slices;
  GArray *lives;
  GArray *blocks;   /* of Block */
  guint *current;   /* by value: its life; NONE: not computed yet */
  IrMemLive live;   /* without slices, changed with each */
  guint next_range; /* of the task whose life was asked for last: that behind the one found */
} Sharer;

/**
 * ir_recompute_has_ranges:
 * @problem: tasks and values
 *
 * Returns: whether some value is a range of another
 */
gboolean
ir_recompute_has_ranges (const IrRecomputeProblem *problem)
{
  for (guint i = 0; i < problem->n_tasks; i++)
    if (problem->tasks[i].n_ranges > 0)
      return TRUE;
  return FALSE;
}

/* -- how long -- */

/**
 * ir_recompute_lives:
 * @problem: tasks and values
 * @runs: (array length=n_runs): tasks in the order in which they run
 * @n_runs: number of runs
 *
 * Each value stays from a run that computes it to the last that reads it before it is computed
 * again.
 *
 * Returns: (transfer full) (nullable): of IrRecomputeLife, by first run, each in a block of its own
 *   and offsets 0; %NULL if a task reads what has not been computed
 */
GArray *
ir_recompute_lives (const IrRecomputeProblem *problem, const guint *runs, guint n_runs)
{
  g_autoptr (GArray) lives = g_array_new (FALSE, FALSE, sizeof (IrRecomputeLife));
  g_autofree guint *current = g_new (guint, problem->n_values + 1);

  memset (current, 0xff, sizeof *current * (problem->n_values + 1));
  for (guint run = 0; run < n_runs; run++)
    {
      const IrRecomputeTask *task = &problem->tasks[runs[run]];
      for (guint i = 0; i < task->n_reads; i++)
        {
          if (current[task->reads[i]] == NONE)
            return NULL;
          g_array_index (lives, IrRecomputeLife, current[task->reads[i]]).last = run;
        }
      for (guint i = 0; i < task->n_writes; i++)
        {
          IrRecomputeLife life = { .value = task->writes[i],
                                   .first = run,
                                   .last = run,
                                   .block = lives->len,
                                   .view_of = NONE,
                                   .over = NONE,
                                   .part_of = NONE };
          current[life.value] = lives->len;
          g_array_append_val (lives, life);
        }
    }
  return g_steal_pointer (&lives);
}

/* -- where lives lie -- */

static IrRecomputeLife *
life_at (const Sharer *sharer, guint index)
{
  return &g_array_index (sharer->lives, IrRecomputeLife, index);
}

static Block *
block_at (const Sharer *sharer, guint index)
{
  return &g_array_index (sharer->blocks, Block, index);
}

static guint64
size_of (const Sharer *sharer, guint life)
{
  return sharer->problem->sizes[life_at (sharer, life)->value];
}

/* The block that holds the life, and where in it, all joining done. Blocks on the way are led past
 * the one above them. */
static guint
root_of (const Sharer *sharer, guint life, guint64 *at)
{
  guint block = life_at (sharer, life)->block;

  *at = life_at (sharer, life)->at;
  while (block_at (sharer, block)->parent != NONE)
    {
      Block *below = block_at (sharer, block), *above = block_at (sharer, below->parent);
      if (above->parent != NONE)
        {
          below->at += above->at;
          below->parent = above->parent;
        }
      *at += below->at;
      block = below->parent;
    }
  return block;
}

static gboolean
overlaps (const Sharer *sharer, guint life, guint root, guint64 at, guint64 size)
{
  guint64 own;

  return root_of (sharer, life, &own) == root && own < at + size &&
         at < own + size_of (sharer, life);
}

static void
lie_in (Sharer *sharer, guint life, guint root, guint64 at)
{
  IrRecomputeLife *row = life_at (sharer, life);
  Block *block = block_at (sharer, root);

  row->block = root;
  row->at = at;
  block->last = MAX (block->last, row->last);
  ir_mem_spots_add (block->spots, life, at, size_of (sharer, life));
}

static void
lie_alone (Sharer *sharer, guint life)
{
  const IrRecomputeLife *row = life_at (sharer, life);
  Block block = { size_of (sharer, life), row->first, row->last, NONE, 0, NULL };

  block.spots = ir_mem_spots_new ();
  g_array_append_val (sharer->blocks, block);
  lie_in (sharer, life, sharer->blocks->len - 1, 0);
}

/* -- written over -- */

typedef struct
{
  const Sharer *sharer;
  guint base, run;
  gboolean needed;
} Needing;

/* Runs come one after the other: what has been read for the last time is in nobody's way. */
static IrMemSpotVerdict
look_at_life (guint index, gpointer data)
{
  Needing *needing = data;
  const IrRecomputeLife *life = life_at (needing->sharer, index);

  if (index == needing->base)
    return IR_MEM_SPOT_STAYS;
  if (life->last <= needing->run && life->first != needing->run)
    return life->last < needing->run ? IR_MEM_SPOT_GOES : IR_MEM_SPOT_STAYS;
  needing->needed = TRUE;
  return IR_MEM_SPOT_ENOUGH;
}

static IrMemSpotVerdict
look_whether_over (guint index, gpointer data)
{
  const Needing *needing = data;

  return life_at (needing->sharer, index)->last < needing->run ? IR_MEM_SPOT_GOES
                                                               : IR_MEM_SPOT_STAYS;
}

/* Whether bytes that @base has are needed by others while @run writes over them. */
static gboolean
is_needed (const Sharer *sharer, guint base, guint run)
{
  const IrRecomputeTask *task = &sharer->problem->tasks[sharer->runs[run]];
  guint64 at, size = size_of (sharer, base);
  guint root = root_of (sharer, base, &at);
  Needing needing = { sharer, base, run, FALSE };

  if (size > 0)
    ir_mem_spots_visit (block_at (sharer, root)->spots, at, size, look_at_life, &needing);
  if (needing.needed)
    return TRUE;
  for (guint i = 0; i < task->n_reads; i++)
    {
      guint other = sharer->current[task->reads[i]];
      if (other != base && overlaps (sharer, other, root, at, size))
        return TRUE;
    }
  return FALSE;
}

static gboolean
share_over (Sharer *sharer, guint life)
{
  const IrRecomputeLife *row = life_at (sharer, life);
  const IrRecomputeTask *task = &sharer->problem->tasks[sharer->runs[row->first]];
  guint64 at;

  for (guint k = 0; k < G_N_ELEMENTS (task->over); k++)
    {
      guint base = task->writes[0] == row->value && task->over[k] != NONE
                       ? sharer->current[task->over[k]]
                       : NONE;
      if (base == NONE || size_of (sharer, base) != size_of (sharer, life) ||
          life_at (sharer, base)->last != row->first ||
          life_at (sharer, base)->first >= row->first || is_needed (sharer, base, row->first))
        continue;
      guint root = root_of (sharer, base, &at);
      life_at (sharer, life)->over = base;
      lie_in (sharer, life, root, at);
      return TRUE;
    }
  return FALSE;
}

/* -- cut out -- */

/* A small part may keep a large whole. */
static gboolean
is_worth_cutting (Sharer *sharer, guint life, guint root)
{
  const IrRecomputeLife *row = life_at (sharer, life);
  const Block *block = block_at (sharer, root);
  gint64 part = (gint64) size_of (sharer, life), whole = (gint64) block->size;

  for (int sign = 1; sign >= -1; sign -= 2)
    {
      ir_mem_live_add (&sharer->live, row->first, row->last, -sign * part);
      if (row->last > block->last)
        ir_mem_live_add (&sharer->live, block->last + 1, row->last, sign * whole);
      if (sign > 0 && ir_mem_live_is_low (&sharer->live, row->first, row->last))
        return TRUE;
    }
  return FALSE;
}

static gboolean
share_cut (Sharer *sharer, guint life)
{
  const IrRecomputeLife *row = life_at (sharer, life);
  const IrRecomputeTask *task = &sharer->problem->tasks[sharer->runs[row->first]];
  guint64 at;

  /* Lives of one task come in the order of its ranges, each of which has another part. */
  for (guint i = 0; i < task->n_ranges; i++)
    {
      guint index = (sharer->next_range + i) % task->n_ranges;
      const IrRecomputeRange *range = &task->ranges[index];
      guint whole = range->part == row->value ? sharer->current[range->whole] : NONE;
      if (whole == NONE)
        continue;
      sharer->next_range = index + 1;
      guint root = root_of (sharer, whole, &at);
      if ((at + range->at) % sharer->align_bytes != 0 || !is_worth_cutting (sharer, life, root))
        continue;
      life_at (sharer, life)->view_of = whole;
      lie_in (sharer, life, root, at + range->at);
      return TRUE;
    }
  return FALSE;
}

/* -- joined -- */

typedef struct
{
  guint life, block, first;
  guint64 at;
} Part;

/* Latest first: those cost the fewest bytes that wait. */
static int
compare_parts (gconstpointer a, gconstpointer b)
{
  const Part *left = a, *right = b;

  return left->first != right->first ? (left->first < right->first ? 1 : -1)
                                     : (left->at > right->at) - (left->at < right->at);
}

/* The whole lives longer by what the part does, whose own bytes are no longer needed. */
static gboolean
is_worth_joining (Sharer *sharer, guint whole, guint part)
{
  const Block *own = block_at (sharer, part), *all = block_at (sharer, whole);
  guint first = MIN (own->first, all->first), last = MAX (own->last, all->last);

  for (int sign = 1; sign >= -1; sign -= 2)
    {
      ir_mem_live_add (&sharer->live, own->first, own->last, -sign * (gint64) own->size);
      if (first < all->first)
        ir_mem_live_add (&sharer->live, first, all->first - 1, sign * (gint64) all->size);
      if (last > all->last)
        ir_mem_live_add (&sharer->live, all->last + 1, last, sign * (gint64) all->size);
      if (sign > 0 && ir_mem_live_is_low (&sharer->live, first, last))
        return TRUE;
    }
  return FALSE;
}

static void
join (Sharer *sharer, guint whole, guint root, const Part *part)
{
  Block *all = block_at (sharer, root), *own = block_at (sharer, part->block);

  all->first = MIN (all->first, own->first);
  all->last = MAX (all->last, own->last);
  own->parent = root;
  own->at = part->at;
  Needing needing = { sharer, NONE, life_at (sharer, whole)->first, FALSE };
  all->spots = ir_mem_spots_join (all->spots, g_steal_pointer (&own->spots), part->at,
                                  look_whether_over, &needing);
  life_at (sharer, part->life)->part_of = whole;
}

/* A block that has been made for nothing but the part can become a range of the whole. */
static void
share_parts (Sharer *sharer, guint whole)
{
  const IrRecomputeLife *row = life_at (sharer, whole);
  const IrRecomputeTask *task = &sharer->problem->tasks[sharer->runs[row->first]];
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (Part));
  guint64 at;
  guint root = root_of (sharer, whole, &at);

  if (at != 0 || block_at (sharer, root)->size != size_of (sharer, whole))
    return;
  for (guint i = 0; i < task->n_ranges; i++)
    {
      const IrRecomputeRange *range = &task->ranges[i];
      Part part = { .life = sharer->current[range->part], .at = range->at };
      if (range->whole != row->value || range->at % sharer->align_bytes != 0)
        continue;
      part.block = root_of (sharer, part.life, &at);
      part.first = block_at (sharer, part.block)->first;
      if (part.block != root && at == 0 &&
          block_at (sharer, part.block)->size == size_of (sharer, part.life))
        g_array_append_val (parts, part);
    }
  g_array_sort (parts, compare_parts);
  for (guint i = 0; i < parts->len && !ir_mem_stopped (sharer->options); i++)
    {
      const Part *part = &g_array_index (parts, Part, i);
      /* What is joined twice lies in the first place only. */
      if (block_at (sharer, part->block)->parent == NONE &&
          is_worth_joining (sharer, root, part->block))
        join (sharer, whole, root, part);
    }
}

/* -- all of it -- */

static gboolean
share_all (Sharer *sharer)
{
  memset (sharer->current, 0xff, sizeof (guint) * (sharer->problem->n_values + 1));
  for (guint i = 0; i < sharer->lives->len; i++)
    {
      IrRecomputeLife *life = life_at (sharer, i);
      if (ir_mem_stopped (sharer->options))
        return FALSE;
      life->view_of = life->over = life->part_of = NONE;
      if (!(sharer->slices && share_cut (sharer, i)) && !share_over (sharer, i))
        lie_alone (sharer, i);
      sharer->current[life->value] = i;
      if (sharer->slices)
        share_parts (sharer, i);
    }
  return TRUE;
}

/* Roots, by the first life that lies in each. */
static GArray *
number_blocks (Sharer *sharer)
{
  GArray *blocks = g_array_new (FALSE, TRUE, sizeof (IrMemBlock));
  g_autofree guint *number = g_new (guint, (gsize) sharer->blocks->len + 1);

  memset (number, 0xff, sizeof *number * ((gsize) sharer->blocks->len + 1));
  for (guint i = 0; i < sharer->lives->len; i++)
    {
      IrRecomputeLife *life = life_at (sharer, i);
      guint root = root_of (sharer, i, &life->at);
      const Block *from = block_at (sharer, root);
      if (number[root] == NONE)
        {
          IrMemBlock block = { .size = from->size, .first = from->first, .last = from->last };
          number[root] = blocks->len;
          g_array_append_val (blocks, block);
        }
      life->block = root;
    }
  for (guint i = 0; i < sharer->lives->len; i++)
    life_at (sharer, i)->block = number[life_at (sharer, i)->block];
  return blocks;
}

/* NULL: cancelled. */
static GArray *
share (Sharer *sharer)
{
  g_autofree guint *current = g_new (guint, (gsize) sharer->problem->n_values + 1);

  sharer->current = current;
  sharer->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  GArray *blocks = share_all (sharer) ? number_blocks (sharer) : NULL;
  for (guint i = 0; i < sharer->blocks->len; i++)
    ir_mem_spots_free (block_at (sharer, i)->spots);
  g_array_unref (sharer->blocks);
  return blocks;
}

/**
 * ir_recompute_share:
 * @problem: tasks and values
 * @runs: of guint: tasks in the order in which they run
 * @slices: whether parts may lie in their wholes
 * @options: the alignment, at whose multiples parts begin, and what stops it
 * @lives: (inout): from ir_recompute_lives(); each gets its block, its place in it, and whose bytes
 *   those are
 *
 * Returns: (transfer full) (nullable): of IrMemBlock: the blocks that have to be placed; %NULL if
 * it was cancelled
 */
GArray *
ir_recompute_share (const IrRecomputeProblem *problem,
                    const GArray *runs,
                    gboolean slices,
                    const IrMemOptions *options,
                    GArray *lives)
{
  Sharer sharer = { .problem = problem,
                    .runs = (const guint *) (const void *) runs->data,
                    .n_runs = runs->len,
                    .align_bytes = options->align_bytes,
                    .options = options,
                    .lives = lives };
  GArray *blocks = share (&sharer);

  if (!slices || blocks == NULL)
    return blocks;
  ir_mem_live_init (&sharer.live, blocks, sharer.n_runs, options->align_bytes);
  g_array_unref (blocks);
  sharer.slices = TRUE;
  blocks = share (&sharer);
  ir_mem_live_clear (&sharer.live);
  return blocks;
}
