/* A plan that stays within a budget by computing values again. Methods give nothing but the order
 * of runs; how long each value has to stay follows from it, and so do bytes and FLOPs, so that one
 * function judges them all. */
#include "config.h"

#include "core/exec/memory/place/place.h"
#include "core/exec/recompute/recompute.h"

#define MAX_BISECTIONS 16
#define MAX_TIGHTER    4 /* attempts to make up for gaps between blocks */

/**
 * ir_recompute_method_name:
 * @method: a method
 *
 * Returns: its name as printed
 */
const char *
ir_recompute_method_name (IrRecomputeMethod method)
{
  static const char *const names[] = {
    [IR_RECOMPUTE_KEEP] = "keep",
    [IR_RECOMPUTE_CHAIN] = "chain",
    [IR_RECOMPUTE_EVICT] = "evict",
  };

  g_return_val_if_fail (method < IR_RECOMPUTE_N_METHODS, NULL);
  return names[method];
}

/* -- what an order of runs means -- */

/* FALSE: cancelled. */
static gboolean
place_intervals (const IrRecomputeProblem *problem,
                 IrRecomputePlan *plan,
                 gboolean slices,
                 const IrMemOptions *options)
{
  g_autoptr (GArray)
      blocks = ir_recompute_share (problem, plan->runs, slices, options, plan->intervals);
  if (blocks == NULL)
    return FALSE;
  IrMemBlock *data = (IrMemBlock *) (void *) blocks->data;
  IrMemResult result;

  if (!ir_mem_place (data, blocks->len, options, &result))
    return FALSE;
  plan->peak_bytes = result.peak_bytes;
  plan->lower_bound_bytes = result.lower_bound_bytes;
  for (guint i = 0; i < plan->intervals->len; i++)
    {
      IrRecomputeInterval *interval = &g_array_index (plan->intervals, IrRecomputeInterval, i);
      interval->offset = data[interval->block].offset + interval->at;
    }
  return TRUE;
}

/* Parts lie in their wholes where that does not raise the peak. FALSE: cancelled. */
static gboolean
place_plan (const IrRecomputeProblem *problem, IrRecomputePlan *plan, const IrMemOptions *options)
{
  if (!ir_recompute_has_ranges (problem))
    return place_intervals (problem, plan, FALSE, options);
  if (!place_intervals (problem, plan, TRUE, options))
    return FALSE;
  guint64 peak = plan->peak_bytes, bound = plan->lower_bound_bytes;
  g_autoptr (GArray) intervals = g_array_copy (plan->intervals);
  if (!place_intervals (problem, plan, FALSE, options))
    return FALSE;
  if (plan->peak_bytes < peak)
    return TRUE;
  plan->peak_bytes = peak;
  plan->lower_bound_bytes = bound;
  g_array_unref (plan->intervals);
  plan->intervals = g_steal_pointer (&intervals);
  return TRUE;
}

/* (transfer full) @runs; NULL: cancelled */
static IrRecomputePlan *
plan_of (const IrRecomputeProblem *problem,
         GArray *runs,
         IrRecomputeMethod method,
         const IrMemOptions *options)
{
  IrRecomputePlan *plan = g_new0 (IrRecomputePlan, 1);

  plan->method = method;
  plan->runs = runs;
  plan->intervals = ir_recompute_intervals (problem, (const guint *) (const void *) runs->data,
                                            runs->len);
  if (plan->intervals == NULL)
    {
      ir_recompute_plan_free (plan);
      g_return_val_if_reached (NULL);
    }
  if (!place_plan (problem, plan, options))
    {
      ir_recompute_plan_free (plan);
      return NULL;
    }
  for (guint i = 0; i < problem->n_tasks; i++)
    plan->flops += problem->tasks[i].flops;
  for (guint i = 0; i < runs->len; i++)
    plan->extra_flops += problem->tasks[g_array_index (runs, guint, i)].flops;
  plan->extra_flops -= plan->flops;
  return plan;
}

/* -- choosing -- */

static guint
head_of (guint *family, guint value)
{
  while (family[value] != value)
    value = family[value] = family[family[value]];
  return value;
}

/* By value: one of those that it may share bytes with, being a range of one another. */
static guint *
find_families (const IrRecomputeProblem *problem)
{
  guint *family = g_new (guint, (gsize) problem->n_values + 1);

  for (guint i = 0; i < problem->n_values; i++)
    family[i] = i;
  for (guint i = 0; i < problem->n_tasks; i++)
    for (guint k = 0; k < problem->tasks[i].n_ranges; k++)
      {
        const IrRecomputeRange *range = &problem->tasks[i].ranges[k];
        family[head_of (family, range->part)] = head_of (family, range->whole);
      }
  return family;
}

/* What the widest task needs: of values that may share bytes the largest. */
static guint64
floor_bytes (const IrRecomputeProblem *problem)
{
  g_autofree guint *family = find_families (problem);
  g_autofree guint64 *largest = g_new0 (guint64, (gsize) problem->n_values + 1);
  guint64 most = 0;

  for (guint i = 0; i < problem->n_tasks; i++)
    {
      const IrRecomputeTask *task = &problem->tasks[i];
      gboolean over = task->over[0] != IR_RECOMPUTE_NONE || task->over[1] != IR_RECOMPUTE_NONE;
      guint n = task->n_reads + task->n_writes;
      guint64 bytes = 0;
      for (guint k = 0; k < n; k++)
        {
          guint value = k < task->n_reads ? task->reads[k] : task->writes[k - task->n_reads];
          guint64 *known = &largest[head_of (family, value)];
          if (k == task->n_reads && over)
            continue;
          bytes += MAX (problem->sizes[value], *known) - *known;
          *known = MAX (problem->sizes[value], *known);
        }
      most = MAX (most, bytes);
      for (guint k = 0; k < n; k++)
        largest[head_of (family,
                         k < task->n_reads ? task->reads[k] : task->writes[k - task->n_reads])] = 0;
    }
  return most;
}

/* What one method makes of the budget; gaps between blocks are made up for by asking for less. */
static IrRecomputePlan *
try_method (const IrRecomputeProblem *problem,
            IrRecomputeMethod method,
            gboolean slices,
            guint64 budget,
            const IrMemOptions *options)
{
  g_autoptr (IrRecomputePlan) best = NULL;
  guint64 asked = budget;

  for (guint i = 0; i < MAX_TIGHTER; i++)
    {
      GArray *runs = method == IR_RECOMPUTE_CHAIN
                         ? ir_recompute_chain (problem, asked, options)
                         : ir_recompute_evict (problem, asked, slices, options);
      if (runs == NULL)
        break;
      g_autoptr (IrRecomputePlan) plan = plan_of (problem, runs, method, options);
      if (plan == NULL)
        break;
      guint64 above = plan->peak_bytes > budget ? plan->peak_bytes - budget : 0;
      if (best == NULL || plan->peak_bytes < best->peak_bytes)
        {
          g_clear_pointer (&best, ir_recompute_plan_free);
          best = g_steal_pointer (&plan);
        }
      if (above == 0 || above >= asked)
        break;
      asked -= above;
    }
  return g_steal_pointer (&best);
}

/* The cheaper of those that fit, the lower of those that do not. */
static gboolean
is_better (const IrRecomputePlan *plan, const IrRecomputePlan *best, guint64 budget)
{
  gboolean fits = plan->peak_bytes <= budget;

  if (best == NULL || fits != (best->peak_bytes <= budget))
    return best == NULL || fits;
  if (fits && plan->extra_flops != best->extra_flops)
    return plan->extra_flops < best->extra_flops;
  return plan->peak_bytes < best->peak_bytes;
}

static void
take_better (IrRecomputePlan **best, IrRecomputePlan *plan, guint64 budget)
{
  if (plan != NULL && is_better (plan, *best, budget))
    {
      ir_recompute_plan_free (*best);
      *best = plan;
    }
  else
    ir_recompute_plan_free (plan);
}

static void
try_methods (const IrRecomputeProblem *problem,
             guint64 asked,
             guint64 budget,
             const IrMemOptions *options,
             IrRecomputePlan **best)
{
  IrRecomputePlan *found = try_method (problem, IR_RECOMPUTE_CHAIN, FALSE, asked, options);

  take_better (best, found, budget);
  found = try_method (problem, IR_RECOMPUTE_EVICT, FALSE, asked, options);
  take_better (best, found, budget);
  if (!ir_recompute_has_ranges (problem))
    return;
  found = try_method (problem, IR_RECOMPUTE_EVICT, TRUE, asked, options);
  take_better (best, found, budget);
}

/* The budget cannot be held: how far down it goes. */
static void
search_lowest (const IrRecomputeProblem *problem,
               guint64 budget,
               guint64 lowest,
               const IrMemOptions *options,
               IrRecomputePlan **best)
{
  guint64 low = MAX (budget, lowest > 0 ? lowest - 1 : 0);

  for (guint i = 0; i < MAX_BISECTIONS && low + options->align_bytes < (*best)->peak_bytes; i++)
    {
      if (ir_mem_stopped (options))
        return;
      guint64 middle = low + ((*best)->peak_bytes - low) / 2, before = (*best)->peak_bytes;
      try_methods (problem, middle, budget, options, best);
      if ((*best)->peak_bytes > middle || (*best)->peak_bytes == before)
        low = middle;
    }
}

/**
 * ir_mem_recompute:
 * @problem: tasks and values
 * @budget: bytes that the arena may have
 * @options: how blocks are placed, and what stops it; sizes in @problem are multiples of its
 *   alignment
 *
 * Finds an order of runs, some of them repeated, in which the values fit into @budget. If all fits
 * without, nothing runs again. Otherwise the cheaper of two plans is taken: the best one for a
 * chain (ir_recompute_chain()), and a greedy one (ir_recompute_evict()). If neither fits, the
 * result is the lowest that they reach at any budget, and says so.
 *
 * Returns: (transfer full) (nullable): the plan; %NULL if it was cancelled
 */
IrRecomputePlan *
ir_mem_recompute (const IrRecomputeProblem *problem, guint64 budget, const IrMemOptions *options)
{
  g_return_val_if_fail (problem != NULL && options != NULL && options->align_bytes > 0, NULL);
  GArray *runs = g_array_new (FALSE, FALSE, sizeof (guint));
  IrMemOptions place = *options;

  place.capacity = 0;
  for (guint i = 0; i < problem->n_tasks; i++)
    g_array_append_val (runs, i);
  IrRecomputePlan *best = plan_of (problem, runs, IR_RECOMPUTE_KEEP, &place);
  if (best == NULL)
    return NULL;
  guint64 plain_peak = best->peak_bytes, lowest = floor_bytes (problem);
  if (best->peak_bytes > budget && budget >= lowest)
    try_methods (problem, budget, budget, &place, &best);
  if (best->peak_bytes > budget)
    search_lowest (problem, budget, lowest, &place, &best);
  if (ir_mem_stopped (options))
    {
      ir_recompute_plan_free (best);
      return NULL;
    }
  best->budget_bytes = budget;
  best->feasible = best->peak_bytes <= budget && problem->n_too_large == 0;
  best->plain_peak_bytes = plain_peak;
  best->floor_bytes = lowest;
  return best;
}

/**
 * ir_recompute_plan_free:
 * @plan: (transfer full) (nullable): a plan
 */
void
ir_recompute_plan_free (IrRecomputePlan *plan)
{
  if (plan == NULL)
    return;
  g_clear_pointer (&plan->runs, g_array_unref);
  g_clear_pointer (&plan->intervals, g_array_unref);
  g_free (plan);
}
