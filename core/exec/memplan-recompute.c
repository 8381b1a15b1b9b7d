/* A plan that stays within a budget by computing values again. Methods give nothing but the order
 * of runs; how long each value has to stay follows from it, and so do bytes and FLOPs, so that one
 * function judges them all. */
#include "config.h"

#include "core/exec/memplan-private.h"
#include "core/exec/memplan-recompute.h"

#include <string.h>

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

typedef struct
{
  const IrRecomputeProblem *problem;
  GArray *lives;
  guint *current; /* by value: its life in lives; IR_RECOMPUTE_NONE: not computed yet */
  guint n_blocks;
} Lives;

static gboolean
read_all (Lives *lives, const IrRecomputeTask *task, guint run)
{
  for (guint i = 0; i < task->n_reads; i++)
    {
      guint life = lives->current[task->reads[i]];
      if (life == IR_RECOMPUTE_NONE)
        return FALSE;
      g_array_index (lives->lives, IrRecomputeLife, life).last = run;
    }
  return TRUE;
}

static void
write_all (Lives *lives, const IrRecomputeTask *task, guint run)
{
  for (guint i = 0; i < task->n_writes; i++)
    {
      IrRecomputeLife life = { .value = task->writes[i], .first = run, .last = run };
      lives->current[life.value] = lives->lives->len;
      g_array_append_val (lives->lives, life);
    }
}

/* Bytes pass from a life to the next where the task may write over what nobody reads again. */
static void
share_blocks (Lives *lives, const guint *runs)
{
  const IrRecomputeProblem *problem = lives->problem;
  g_autofree guint *ends = g_new (guint, problem->n_values + 1);

  memset (ends, 0xff, sizeof *ends * (problem->n_values + 1));
  for (guint i = 0; i < lives->lives->len; i++)
    {
      IrRecomputeLife *life = &g_array_index (lives->lives, IrRecomputeLife, i);
      const IrRecomputeTask *task = &problem->tasks[runs[life->first]];
      gboolean shared = FALSE;
      for (guint k = 0; k < G_N_ELEMENTS (task->over) && !shared; k++)
        {
          guint over = task->over[k];
          if (task->writes[0] != life->value || over == IR_RECOMPUTE_NONE ||
              ends[over] == IR_RECOMPUTE_NONE ||
              problem->sizes[over] != problem->sizes[life->value])
            continue;
          const IrRecomputeLife *before = &g_array_index (lives->lives, IrRecomputeLife,
                                                          ends[over]);
          shared = before->last == life->first && before->first < life->first;
          if (shared)
            life->block = before->block;
        }
      if (!shared)
        life->block = lives->n_blocks++;
      ends[life->value] = i;
    }
}

/**
 * ir_recompute_lives:
 * @problem: tasks and values
 * @runs: (array length=n_runs): tasks in the order in which they run
 * @n_runs: number of runs
 *
 * Each value stays from a run that computes it to the last that reads it before it is computed
 * again. Lives of which one may be written over the other have one block.
 *
 * Returns: (transfer full) (nullable): of IrRecomputeLife, by first run, offsets 0; %NULL if a task
 *   reads what has not been computed
 */
GArray *
ir_recompute_lives (const IrRecomputeProblem *problem, const guint *runs, guint n_runs)
{
  g_autoptr (GArray) array = g_array_new (FALSE, FALSE, sizeof (IrRecomputeLife));
  g_autofree guint *current = g_new (guint, problem->n_values + 1);
  Lives lives = { .problem = problem, .lives = array, .current = current };

  memset (current, 0xff, sizeof *current * (problem->n_values + 1));
  for (guint run = 0; run < n_runs; run++)
    {
      const IrRecomputeTask *task = &problem->tasks[runs[run]];
      if (!read_all (&lives, task, run))
        return NULL;
      write_all (&lives, task, run);
    }
  share_blocks (&lives, runs);
  return g_steal_pointer (&array);
}

static GArray *
blocks_of (const IrRecomputeProblem *problem, const GArray *lives)
{
  GArray *blocks = g_array_new (FALSE, TRUE, sizeof (IrMemBlock));

  for (guint i = 0; i < lives->len; i++)
    {
      const IrRecomputeLife *life = &g_array_index (lives, IrRecomputeLife, i);
      if (life->block == blocks->len)
        {
          IrMemBlock block = { .size = problem->sizes[life->value], .first = life->first };
          g_array_append_val (blocks, block);
        }
      IrMemBlock *block = &g_array_index (blocks, IrMemBlock, life->block);
      block->last = MAX (block->last, life->last);
    }
  return blocks;
}

/* (transfer full) @runs */
static IrRecomputePlan *
plan_of (const IrRecomputeProblem *problem,
         GArray *runs,
         IrRecomputeMethod method,
         const IrMemOptions *options)
{
  IrRecomputePlan *plan = g_new0 (IrRecomputePlan, 1);
  IrMemResult result;

  plan->method = method;
  plan->runs = runs;
  plan->lives = ir_recompute_lives (problem, (const guint *) (const void *) runs->data, runs->len);
  if (plan->lives == NULL)
    {
      ir_recompute_plan_free (plan);
      g_return_val_if_reached (NULL);
    }
  g_autoptr (GArray) blocks = blocks_of (problem, plan->lives);
  IrMemBlock *data = (IrMemBlock *) (void *) blocks->data;
  ir_mem_place (data, blocks->len, options, &result);
  plan->peak_bytes = result.peak_bytes;
  plan->lower_bound_bytes = result.lower_bound_bytes;
  for (guint i = 0; i < plan->lives->len; i++)
    {
      IrRecomputeLife *life = &g_array_index (plan->lives, IrRecomputeLife, i);
      life->offset = data[life->block].offset;
    }
  for (guint i = 0; i < problem->n_tasks; i++)
    plan->flops += problem->tasks[i].flops;
  for (guint i = 0; i < runs->len; i++)
    plan->extra_flops += problem->tasks[g_array_index (runs, guint, i)].flops;
  plan->extra_flops -= plan->flops;
  return plan;
}

/* -- choosing -- */

static guint64
floor_bytes (const IrRecomputeProblem *problem)
{
  guint64 most = 0;

  for (guint i = 0; i < problem->n_tasks; i++)
    {
      const IrRecomputeTask *task = &problem->tasks[i];
      gboolean over = task->over[0] != IR_RECOMPUTE_NONE || task->over[1] != IR_RECOMPUTE_NONE;
      guint64 bytes = 0;
      for (guint k = 0; k < task->n_reads; k++)
        bytes += problem->sizes[task->reads[k]];
      for (guint k = over ? 1 : 0; k < task->n_writes; k++)
        bytes += problem->sizes[task->writes[k]];
      most = MAX (most, bytes);
    }
  return most;
}

typedef GArray *(*Method) (const IrRecomputeProblem *problem, guint64 budget);

/* What one method makes of the budget; gaps between blocks are made up for by asking for less. */
static IrRecomputePlan *
try_method (const IrRecomputeProblem *problem,
            IrRecomputeMethod method,
            guint64 budget,
            const IrMemOptions *options)
{
  static const Method methods[] = {
    [IR_RECOMPUTE_CHAIN] = ir_recompute_chain,
    [IR_RECOMPUTE_EVICT] = ir_recompute_evict,
  };
  g_autoptr (IrRecomputePlan) best = NULL;
  guint64 asked = budget;

  for (guint i = 0; i < MAX_TIGHTER; i++)
    {
      GArray *runs = methods[method](problem, asked);
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
  take_better (best, try_method (problem, IR_RECOMPUTE_CHAIN, asked, options), budget);
  take_better (best, try_method (problem, IR_RECOMPUTE_EVICT, asked, options), budget);
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
 * @options: how blocks are placed; sizes in @problem are multiples of its alignment
 *
 * Finds an order of runs, some of them repeated, in which the values fit into @budget. If all fits
 * without, nothing runs again. Otherwise the cheaper of two plans is taken: the best one for a
 * chain (ir_recompute_chain()), and a greedy one (ir_recompute_evict()). If neither fits, the
 * result is the lowest that they reach at any budget, and says so.
 *
 * Returns: (transfer full): the plan
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
  best->budget_bytes = budget;
  best->feasible = best->peak_bytes <= budget;
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
  g_clear_pointer (&plan->lives, g_array_unref);
  g_free (plan);
}
