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
  GArray *intervals;
  IrSharing sharing; /* one live range per interval */
  guint *current;    /* by value: its interval; NONE: not computed yet */
  guint next_range;  /* of the task whose interval was asked for last: that behind the one found */
} Planner;

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
 * ir_recompute_intervals:
 * @problem: tasks and values
 * @runs: (array length=n_runs): tasks in the order in which they run
 * @n_runs: number of runs
 *
 * Each value stays from a run that computes it to the last that reads it before it is computed
 * again.
 *
 * Returns: (transfer full) (nullable): of IrRecomputeInterval, by first run, each in a block of its own
 *   and offsets 0; %NULL if a task reads what has not been computed
 */
GArray *
ir_recompute_intervals (const IrRecomputeProblem *problem, const guint *runs, guint n_runs)
{
  g_autoptr (GArray) intervals = g_array_new (FALSE, FALSE, sizeof (IrRecomputeInterval));
  g_autofree guint *current = g_new (guint, problem->n_values + 1);

  memset (current, 0xff, sizeof *current * (problem->n_values + 1));
  for (guint run = 0; run < n_runs; run++)
    {
      const IrRecomputeTask *task = &problem->tasks[runs[run]];
      for (guint i = 0; i < task->n_reads; i++)
        {
          if (current[task->reads[i]] == NONE)
            return NULL;
          g_array_index (intervals, IrRecomputeInterval, current[task->reads[i]]).last = run;
        }
      for (guint i = 0; i < task->n_writes; i++)
        {
          IrRecomputeInterval interval = { .value = task->writes[i],
                                           .first = run,
                                           .last = run,
                                           .block = intervals->len,
                                           .view_of = NONE,
                                           .over = NONE,
                                           .part_of = NONE };
          current[interval.value] = intervals->len;
          g_array_append_val (intervals, interval);
        }
    }
  return g_steal_pointer (&intervals);
}

/* -- which share bytes -- */

static IrRecomputeInterval *
interval_at (const Planner *planner, guint index)
{
  return &g_array_index (planner->intervals, IrRecomputeInterval, index);
}

static IrLiveRange
range_of (const Planner *planner, guint interval)
{
  const IrRecomputeInterval *row = interval_at (planner, interval);

  return (IrLiveRange){ planner->problem->sizes[row->value], row->first, row->last, row->first,
                        row->last };
}

static const IrRecomputeTask *
task_of (const Planner *planner, guint interval)
{
  return &planner->problem->tasks[planner->runs[interval_at (planner, interval)->first]];
}

/* Whether @interval may be written over @base, which its task reads. */
static gboolean
may_overwrite (const Planner *planner, guint interval, guint base)
{
  const IrRecomputeTask *task = task_of (planner, interval);
  guint run = interval_at (planner, interval)->first;
  g_autofree guint *others = g_new (guint, (gsize) task->n_reads + 1);
  IrSharingStep step = { .now = run, .from = run, .reads = others };

  if (range_of (planner, base).size != range_of (planner, interval).size ||
      interval_at (planner, base)->last != run || interval_at (planner, base)->first >= run)
    return FALSE;
  for (guint i = 0; i < task->n_reads; i++)
    if (planner->current[task->reads[i]] != base)
      others[step.n_reads++] = planner->current[task->reads[i]];
  return ir_sharing_may_overwrite (&planner->sharing, base, &step) == IR_REFUSAL_NONE;
}

static gboolean
share_over (Planner *planner, guint interval)
{
  const IrRecomputeTask *task = task_of (planner, interval);
  IrRecomputeInterval *row = interval_at (planner, interval);

  for (guint k = 0; k < G_N_ELEMENTS (task->over); k++)
    {
      guint base = task->writes[0] == row->value && task->over[k] != NONE
                       ? planner->current[task->over[k]]
                       : NONE;
      if (base == NONE || !may_overwrite (planner, interval, base))
        continue;
      row->over = base;
      IrLiveRange range = range_of (planner, interval);
      ir_sharing_add_within (&planner->sharing, &range, base, 0);
      return TRUE;
    }
  return FALSE;
}

static gboolean
share_cut (Planner *planner, guint interval)
{
  const IrRecomputeTask *task = task_of (planner, interval);
  IrLiveRange own = range_of (planner, interval);
  IrRecomputeInterval *row = interval_at (planner, interval);

  /* Live ranges of one task come in the order of its ranges, each of which has another part. */
  for (guint i = 0; i < task->n_ranges; i++)
    {
      guint index = (planner->next_range + i) % task->n_ranges;
      const IrRecomputeRange *range = &task->ranges[index];
      guint whole = range->part == row->value ? planner->current[range->whole] : NONE;
      if (whole == NONE)
        continue;
      planner->next_range = index + 1;
      if (ir_sharing_may_cut (&planner->sharing, &own, whole, range->at) != IR_REFUSAL_NONE)
        continue;
      row->view_of = whole;
      ir_sharing_add_within (&planner->sharing, &own, whole, range->at);
      return TRUE;
    }
  return FALSE;
}

static void
share_parts (Planner *planner, guint whole)
{
  const IrRecomputeInterval *row = interval_at (planner, whole);
  const IrRecomputeTask *task = task_of (planner, whole);
  g_autofree IrSharingPart *parts = g_new0 (IrSharingPart, (gsize) task->n_ranges + 1);
  IrSharingStep step = { .now = row->first, .from = row->first };
  guint n = 0;

  for (guint i = 0; i < task->n_ranges; i++)
    if (task->ranges[i].whole == row->value)
      {
        parts[n] = (IrSharingPart){ .range = planner->current[task->ranges[i].part],
                                    .slot = n,
                                    .at = task->ranges[i].at };
        n++;
      }
  ir_sharing_join (&planner->sharing, whole, parts, n, &step);
  for (guint i = 0; i < n; i++)
    if (parts[i].refusal == IR_REFUSAL_NONE)
      interval_at (planner, parts[i].range)->part_of = whole;
}

static gboolean
share_all (Planner *planner)
{
  memset (planner->current, 0xff, sizeof (guint) * (planner->problem->n_values + 1));
  for (guint i = 0; i < planner->intervals->len; i++)
    {
      IrRecomputeInterval *interval = interval_at (planner, i);
      if (ir_mem_stopped (planner->options))
        return FALSE;
      interval->view_of = interval->over = interval->part_of = NONE;
      if (!(planner->slices && share_cut (planner, i)) && !share_over (planner, i))
        {
          IrLiveRange range = range_of (planner, i);
          ir_sharing_add_alone (&planner->sharing, &range);
        }
      planner->current[interval->value] = i;
      if (planner->slices)
        share_parts (planner, i);
    }
  return TRUE;
}

/* Blocks in the order of the first interval that lies in each. (transfer full) Of IrMemBlock */
static GArray *
number_blocks (Planner *planner)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GArray) blocks = ir_sharing_blocks (&planner->sharing, numbers);
  g_autofree guint *place = g_new (guint, (gsize) blocks->len + 1);
  GArray *ordered = g_array_sized_new (FALSE, FALSE, sizeof (IrMemBlock), blocks->len);

  memset (place, 0xff, sizeof *place * ((gsize) blocks->len + 1));
  for (guint i = 0; i < planner->intervals->len; i++)
    {
      IrRecomputeInterval *interval = interval_at (planner, i);
      guint root = ir_sharing_block_of (&planner->sharing, i, &interval->at),
            number = g_array_index (numbers, guint, root);
      if (place[number] == NONE)
        {
          place[number] = ordered->len;
          g_array_append_val (ordered, g_array_index (blocks, IrMemBlock, number));
        }
      interval->block = place[number];
    }
  return ordered;
}

/* (transfer full) (nullable) NULL: cancelled. @without: (nullable): blocks without cuts and joins,
 * where those are allowed */
static GArray *
share (Planner *planner, const GArray *without)
{
  g_autofree guint *current = g_new (guint, (gsize) planner->problem->n_values + 1);

  planner->current = current;
  planner->slices = without != NULL;
  ir_sharing_init (&planner->sharing, planner->options->align_bytes, planner->options);
  if (without != NULL)
    ir_mem_live_init (&planner->sharing.live, without, planner->n_runs,
                      planner->options->align_bytes);
  GArray *blocks = share_all (planner) ? number_blocks (planner) : NULL;
  ir_sharing_clear (&planner->sharing);
  return blocks;
}

/**
 * ir_recompute_share:
 * @problem: tasks and values
 * @runs: of guint: tasks in the order in which they run
 * @slices: whether parts may lie in their wholes
 * @options: the alignment, at whose multiples parts begin, and what stops it
 * @intervals: (inout): from ir_recompute_intervals(); each gets its block, its place in it, and whose bytes
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
                    GArray *intervals)
{
  Planner planner = { .problem = problem,
                      .runs = (const guint *) (const void *) runs->data,
                      .n_runs = runs->len,
                      .options = options,
                      .intervals = intervals };
  g_autoptr (GArray) blocks = share (&planner, NULL);

  return slices && blocks != NULL ? share (&planner, blocks) : g_steal_pointer (&blocks);
}
