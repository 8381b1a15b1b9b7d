/* How long values live when tasks run in an order, some of them again, and which of those live ranges
 * share bytes: what share.c asks for the values of a graph, of which each has one. */
#include "config.h"

#include "core/exec/memory/sharing.h"
#include "core/exec/recompute/recompute.h"

#include <string.h>

#define NONE IR_RECOMPUTE_NONE

typedef struct
{
  const IrRecomputeProblem *problem;
  const guint *runs;
  guint n_runs;
  const IrMemOptions *options;
  gboolean slices;
  GArray *lives;
  IrSharing sharing; /* one live range per life */
  guint *current;    /* by value: its life; NONE: not computed yet */
  guint next_range;  /* of the task whose life was asked for last: that behind the one found */
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

/* -- which share bytes -- */

static IrRecomputeLife *
life_at (const Sharer *sharer, guint index)
{
  return &g_array_index (sharer->lives, IrRecomputeLife, index);
}

static IrLiveRange
range_of (const Sharer *sharer, guint life)
{
  const IrRecomputeLife *row = life_at (sharer, life);

  return (IrLiveRange){ sharer->problem->sizes[row->value], row->first, row->last, row->first,
                        row->last };
}

static const IrRecomputeTask *
task_of (const Sharer *sharer, guint life)
{
  return &sharer->problem->tasks[sharer->runs[life_at (sharer, life)->first]];
}

/* Whether @life may be written over @base, which its task reads. */
static gboolean
may_overwrite (const Sharer *sharer, guint life, guint base)
{
  const IrRecomputeTask *task = task_of (sharer, life);
  guint run = life_at (sharer, life)->first;
  g_autofree guint *others = g_new (guint, (gsize) task->n_reads + 1);
  IrSharingStep step = { .now = run, .from = run, .reads = others };

  if (range_of (sharer, base).size != range_of (sharer, life).size ||
      life_at (sharer, base)->last != run || life_at (sharer, base)->first >= run)
    return FALSE;
  for (guint i = 0; i < task->n_reads; i++)
    if (sharer->current[task->reads[i]] != base)
      others[step.n_reads++] = sharer->current[task->reads[i]];
  return ir_sharing_may_overwrite (&sharer->sharing, base, &step) == IR_REFUSAL_NONE;
}

static gboolean
share_over (Sharer *sharer, guint life)
{
  const IrRecomputeTask *task = task_of (sharer, life);
  IrRecomputeLife *row = life_at (sharer, life);

  for (guint k = 0; k < G_N_ELEMENTS (task->over); k++)
    {
      guint base = task->writes[0] == row->value && task->over[k] != NONE
                       ? sharer->current[task->over[k]]
                       : NONE;
      if (base == NONE || !may_overwrite (sharer, life, base))
        continue;
      row->over = base;
      IrLiveRange range = range_of (sharer, life);
      ir_sharing_add_within (&sharer->sharing, &range, base, 0);
      return TRUE;
    }
  return FALSE;
}

static gboolean
share_cut (Sharer *sharer, guint life)
{
  const IrRecomputeTask *task = task_of (sharer, life);
  IrLiveRange own = range_of (sharer, life);
  IrRecomputeLife *row = life_at (sharer, life);

  /* Lives of one task come in the order of its ranges, each of which has another part. */
  for (guint i = 0; i < task->n_ranges; i++)
    {
      guint index = (sharer->next_range + i) % task->n_ranges;
      const IrRecomputeRange *range = &task->ranges[index];
      guint whole = range->part == row->value ? sharer->current[range->whole] : NONE;
      if (whole == NONE)
        continue;
      sharer->next_range = index + 1;
      if (ir_sharing_may_cut (&sharer->sharing, &own, whole, range->at) != IR_REFUSAL_NONE)
        continue;
      row->view_of = whole;
      ir_sharing_add_within (&sharer->sharing, &own, whole, range->at);
      return TRUE;
    }
  return FALSE;
}

static void
share_parts (Sharer *sharer, guint whole)
{
  const IrRecomputeLife *row = life_at (sharer, whole);
  const IrRecomputeTask *task = task_of (sharer, whole);
  g_autofree IrSharingPart *parts = g_new0 (IrSharingPart, (gsize) task->n_ranges + 1);
  IrSharingStep step = { .now = row->first, .from = row->first };
  guint n = 0;

  for (guint i = 0; i < task->n_ranges; i++)
    if (task->ranges[i].whole == row->value)
      {
        parts[n] = (IrSharingPart){ .range = sharer->current[task->ranges[i].part],
                                    .slot = n,
                                    .at = task->ranges[i].at };
        n++;
      }
  ir_sharing_join (&sharer->sharing, whole, parts, n, &step);
  for (guint i = 0; i < n; i++)
    if (parts[i].refusal == IR_REFUSAL_NONE)
      life_at (sharer, parts[i].range)->part_of = whole;
}

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
        {
          IrLiveRange range = range_of (sharer, i);
          ir_sharing_add_alone (&sharer->sharing, &range);
        }
      sharer->current[life->value] = i;
      if (sharer->slices)
        share_parts (sharer, i);
    }
  return TRUE;
}

/* Blocks in the order of the first life that lies in each. (transfer full) Of IrMemBlock */
static GArray *
number_blocks (Sharer *sharer)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GArray) blocks = ir_sharing_blocks (&sharer->sharing, numbers);
  g_autofree guint *place = g_new (guint, (gsize) blocks->len + 1);
  GArray *ordered = g_array_sized_new (FALSE, FALSE, sizeof (IrMemBlock), blocks->len);

  memset (place, 0xff, sizeof *place * ((gsize) blocks->len + 1));
  for (guint i = 0; i < sharer->lives->len; i++)
    {
      IrRecomputeLife *life = life_at (sharer, i);
      guint root = ir_sharing_block_of (&sharer->sharing, i, &life->at),
            number = g_array_index (numbers, guint, root);
      if (place[number] == NONE)
        {
          place[number] = ordered->len;
          g_array_append_val (ordered, g_array_index (blocks, IrMemBlock, number));
        }
      life->block = place[number];
    }
  return ordered;
}

/* (transfer full) (nullable) NULL: cancelled. @without: (nullable): blocks without cuts and joins,
 * where those are allowed */
static GArray *
share (Sharer *sharer, const GArray *without)
{
  g_autofree guint *current = g_new (guint, (gsize) sharer->problem->n_values + 1);

  sharer->current = current;
  sharer->slices = without != NULL;
  ir_sharing_init (&sharer->sharing, sharer->options->align_bytes, sharer->options);
  if (without != NULL)
    ir_mem_live_init (&sharer->sharing.live, without, sharer->n_runs, sharer->options->align_bytes);
  GArray *blocks = share_all (sharer) ? number_blocks (sharer) : NULL;
  ir_sharing_clear (&sharer->sharing);
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
                    .options = options,
                    .lives = lives };
  g_autoptr (GArray) blocks = share (&sharer, NULL);

  return slices && blocks != NULL ? share (&sharer, blocks) : g_steal_pointer (&blocks);
}
