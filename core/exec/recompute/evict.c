/* Greedy eviction under a budget: tasks run in their order; where one does not fit, the value goes
 * that is cheap to compute again, large, and not needed for long (the heuristic of dynamic tensor
 * rematerialization, Kirisame et al. 2021, with the next use in place of the time since the last,
 * since the order is known). A value that is gone and needed is computed again, with what it needs.
 */
#include "config.h"

#include "core/exec/memory/place/place.h"
#include "core/exec/recompute/recompute.h"

#include <string.h>

#define MAX_CLOSURE  64  /* tasks looked at for the cost of computing one value again */
#define POLL_VALUES  256 /* between two polls */
#define MAX_ATTEMPTS 32  /* each keeps one more value that turned out not to be computable again */

typedef struct
{
  const IrRecomputeProblem *problem;
  const IrMemOptions *options; /* (nullable) */
  gboolean slices; /* parts take no bytes of their own while they are joined or cut out */
  guint64 budget, live_bytes;
  GArray *runs; /* of guint */
  GArray *live; /* of guint: values */
  guint *at;    /* by value: index into live, IR_RECOMPUTE_NONE: not there */
  guint *producer;
  GArray **readers; /* of guint, by value: tasks, ascending */
  guint *next;      /* by value: index of its next reader in readers */
  guint *waiting;   /* by value: tasks of the current closure that read it */
  guint *mark;      /* by task: the last search that met it */
  guint n_marks;
  guint *met; /* by value: the last task whose ranges were found to have it as a part */
  guint n_met;
  guint8 *kept; /* by value: never evicted */
  GArray *stack, *closure;
} Evictor;

static void
evictor_init (Evictor *evictor, const IrRecomputeProblem *problem, guint64 budget)
{
  guint n = problem->n_values;

  *evictor = (Evictor){
    .problem = problem,
    .budget = budget,
    .live = g_array_new (FALSE, FALSE, sizeof (guint)),
    .at = g_new (guint, n + 1),
    .producer = g_new (guint, n + 1),
    .readers = g_new (GArray *, n + 1),
    .next = g_new0 (guint, n + 1),
    .waiting = g_new0 (guint, n + 1),
    .mark = g_new0 (guint, problem->n_tasks + 1),
    .met = g_new0 (guint, n + 1),
    .kept = g_new0 (guint8, n + 1),
    .stack = g_array_new (FALSE, FALSE, sizeof (guint)),
    .closure = g_array_new (FALSE, FALSE, sizeof (guint)),
  };
  for (guint i = 0; i < n; i++)
    evictor->readers[i] = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < problem->n_tasks; i++)
    {
      const IrRecomputeTask *task = &problem->tasks[i];
      for (guint k = 0; k < task->n_reads; k++)
        g_array_append_val (evictor->readers[task->reads[k]], i);
      for (guint k = 0; k < task->n_writes; k++)
        evictor->producer[task->writes[k]] = i;
    }
}

static void
evictor_clear (Evictor *evictor)
{
  for (guint i = 0; i < evictor->problem->n_values; i++)
    g_array_unref (evictor->readers[i]);
  g_free (evictor->readers);
  g_array_unref (evictor->live);
  g_clear_pointer (&evictor->runs, g_array_unref);
  g_array_unref (evictor->stack);
  g_array_unref (evictor->closure);
  g_free (evictor->at);
  g_free (evictor->producer);
  g_free (evictor->next);
  g_free (evictor->waiting);
  g_free (evictor->mark);
  g_free (evictor->met);
  g_free (evictor->kept);
}

static gboolean
is_live (const Evictor *evictor, guint value)
{
  return evictor->at[value] != IR_RECOMPUTE_NONE;
}

static void
add_live (Evictor *evictor, guint value)
{
  evictor->at[value] = evictor->live->len;
  g_array_append_val (evictor->live, value);
  evictor->live_bytes += evictor->problem->sizes[value];
}

static void
drop (Evictor *evictor, guint value)
{
  guint index = evictor->at[value];

  evictor->at[value] = IR_RECOMPUTE_NONE;
  evictor->live_bytes -= evictor->problem->sizes[value];
  g_array_remove_index_fast (evictor->live, index);
  if (index < evictor->live->len)
    evictor->at[g_array_index (evictor->live, guint, index)] = index;
}

/* The next task that reads @value at or after @step, in the order without repetitions. */
static guint
next_use (Evictor *evictor, guint value, guint step)
{
  const GArray *readers = evictor->readers[value];
  guint *next = &evictor->next[value];

  while (*next < readers->len && g_array_index (readers, guint, *next) < step)
    (*next)++;
  return *next < readers->len ? g_array_index (readers, guint, *next) : IR_RECOMPUTE_NONE;
}

/* What computing @value again would take now: FLOPs, and bytes written for what has none. */
static double
cost_of (Evictor *evictor, guint value)
{
  const IrRecomputeProblem *problem = evictor->problem;
  guint n_seen = 0;
  double cost = 0;

  g_array_set_size (evictor->stack, 0);
  g_array_append_val (evictor->stack, evictor->producer[value]);
  evictor->n_marks++;
  evictor->mark[evictor->producer[value]] = evictor->n_marks;
  while (evictor->stack->len > 0)
    {
      guint index = g_array_index (evictor->stack, guint, evictor->stack->len - 1);
      const IrRecomputeTask *task = &problem->tasks[index];
      g_array_set_size (evictor->stack, evictor->stack->len - 1);
      if (task->once)
        return -1;
      cost += (double) task->flops;
      for (guint i = 0; i < task->n_writes; i++)
        cost += (double) problem->sizes[task->writes[i]];
      if (++n_seen >= MAX_CLOSURE)
        return cost * 4;
      for (guint i = 0; i < task->n_reads; i++)
        {
          guint producer = evictor->producer[task->reads[i]];
          if (is_live (evictor, task->reads[i]) || evictor->mark[producer] == evictor->n_marks)
            continue;
          evictor->mark[producer] = evictor->n_marks;
          g_array_append_val (evictor->stack, producer);
        }
    }
  return cost;
}

static gboolean
evict_one (Evictor *evictor, guint step)
{
  guint best = IR_RECOMPUTE_NONE;
  double best_score = G_MAXDOUBLE;

  for (guint i = 0; i < evictor->live->len; i++)
    {
      guint value = g_array_index (evictor->live, guint, i);
      guint64 size = evictor->problem->sizes[value];
      guint use = next_use (evictor, value, step);
      if (i % POLL_VALUES == POLL_VALUES - 1 && ir_mem_stopped (evictor->options))
        return FALSE;
      if (evictor->kept[value] || evictor->waiting[value] > 0 || size == 0)
        continue;
      double cost = use == IR_RECOMPUTE_NONE ? 0 : cost_of (evictor, value);
      double score = cost / ((double) size * (double) (use - step + 1));
      if (cost < 0 || score > best_score || (score == best_score && value > best))
        continue;
      best_score = score;
      best = value;
    }
  if (best == IR_RECOMPUTE_NONE)
    return FALSE;
  drop (evictor, best);
  return TRUE;
}

static void
drop_if_done (Evictor *evictor, guint value, guint step)
{
  if (is_live (evictor, value) && evictor->waiting[value] == 0 &&
      next_use (evictor, value, step) == IR_RECOMPUTE_NONE)
    drop (evictor, value);
}

/* Bytes that the writes of @task share with what it reads: parts that lie in their whole, or in the
 * place that they have in it. Those that end here go with it; the others are counted twice later,
 * but not while the task runs. */
static guint64
shared (Evictor *evictor, const IrRecomputeTask *task)
{
  guint64 bytes = 0;

  evictor->n_met++;
  for (guint i = 0; evictor->slices && i < task->n_ranges; i++)
    {
      const IrRecomputeRange *range = &task->ranges[i];
      gboolean known = (is_live (evictor, range->part) && is_live (evictor, range->whole)) ||
                       evictor->met[range->part] == evictor->n_met;
      evictor->met[range->part] = evictor->n_met;
      bytes += known ? 0 : evictor->problem->sizes[range->part];
    }
  return bytes;
}

/* Bytes that the first write of @task takes over from an input that nobody needs any more. */
static guint64
taken_over (Evictor *evictor, const IrRecomputeTask *task, guint next_step)
{
  for (guint i = 0; i < G_N_ELEMENTS (task->over); i++)
    {
      guint over = task->over[i];
      if (over != IR_RECOMPUTE_NONE && evictor->waiting[over] == 1 &&
          next_use (evictor, over, next_step) == IR_RECOMPUTE_NONE &&
          evictor->problem->sizes[over] == evictor->problem->sizes[task->writes[0]] &&
          !is_live (evictor, task->writes[0]))
        return evictor->problem->sizes[over];
    }
  return 0;
}

/* One task of a closure whose last is @step. */
static gboolean
run_task (Evictor *evictor, guint index, guint step)
{
  const IrRecomputeTask *task = &evictor->problem->tasks[index];
  guint next_step = index == step ? step + 1 : step;
  guint64 needed = 0;

  for (guint i = 0; i < task->n_writes; i++)
    {
      guint value = task->writes[i];
      if (!is_live (evictor, value))
        needed += evictor->problem->sizes[value];
      evictor->waiting[value]++; /* it stays while room is made for the others */
    }
  needed -= MIN (needed, taken_over (evictor, task, next_step) + shared (evictor, task));
  while (evictor->live_bytes + needed > evictor->budget)
    if (ir_mem_stopped (evictor->options) || !evict_one (evictor, step))
      return FALSE;
  for (guint i = 0; i < task->n_writes; i++)
    if (!is_live (evictor, task->writes[i]))
      add_live (evictor, task->writes[i]);
  g_array_append_val (evictor->runs, index);
  for (guint i = 0; i < task->n_reads; i++)
    evictor->waiting[task->reads[i]]--;
  for (guint i = 0; i < task->n_writes; i++)
    evictor->waiting[task->writes[i]]--;
  for (guint i = 0; i < task->n_reads; i++)
    drop_if_done (evictor, task->reads[i], next_step);
  for (guint i = 0; i < task->n_writes; i++)
    drop_if_done (evictor, task->writes[i], next_step);
  return TRUE;
}

static int
compare_tasks (gconstpointer a, gconstpointer b)
{
  guint x = *(const guint *) a, y = *(const guint *) b;

  return x < y ? -1 : x > y;
}

/* The tasks that have to run for @step, itself included; FALSE: one of them must not run again, and
 * what it gave is to be kept next time. */
static gboolean
find_closure (Evictor *evictor, guint step)
{
  const IrRecomputeProblem *problem = evictor->problem;

  evictor->n_marks++;
  evictor->mark[step] = evictor->n_marks;
  g_array_set_size (evictor->closure, 0);
  g_array_append_val (evictor->closure, step);
  for (guint done = 0; done < evictor->closure->len; done++)
    {
      const IrRecomputeTask *task = &problem->tasks[g_array_index (evictor->closure, guint, done)];
      for (guint i = 0; i < task->n_reads; i++)
        {
          guint value = task->reads[i], producer = evictor->producer[value];
          if (is_live (evictor, value) || evictor->mark[producer] == evictor->n_marks)
            continue;
          if (problem->tasks[producer].once)
            {
              /* Something that is computed of it was evicted while it was still there. */
              for (guint k = 0; k < task->n_writes; k++)
                evictor->kept[task->writes[k]] = TRUE;
              return FALSE;
            }
          evictor->mark[producer] = evictor->n_marks;
          g_array_append_val (evictor->closure, producer);
        }
    }
  g_array_sort (evictor->closure, compare_tasks);
  for (guint i = 0; i < evictor->closure->len; i++)
    {
      const IrRecomputeTask *task = &problem->tasks[g_array_index (evictor->closure, guint, i)];
      for (guint k = 0; k < task->n_reads; k++)
        evictor->waiting[task->reads[k]]++;
    }
  return TRUE;
}

typedef enum
{
  OUTCOME_FITS,
  OUTCOME_TOO_LARGE,
  OUTCOME_KEEP_MORE
} Outcome;

static Outcome
simulate (Evictor *evictor)
{
  const IrRecomputeProblem *problem = evictor->problem;
  guint max_runs = (guint) MIN (50 * (guint64) problem->n_tasks + 1000, G_MAXINT);

  g_clear_pointer (&evictor->runs, g_array_unref);
  evictor->runs = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_set_size (evictor->live, 0);
  evictor->live_bytes = 0;
  memset (evictor->at, 0xff, sizeof (guint) * (problem->n_values + 1));
  memset (evictor->next, 0, sizeof (guint) * (problem->n_values + 1));
  memset (evictor->waiting, 0, sizeof (guint) * (problem->n_values + 1));
  for (guint step = 0; step < problem->n_tasks; step++)
    {
      if (!find_closure (evictor, step))
        return OUTCOME_KEEP_MORE;
      for (guint i = 0; i < evictor->closure->len; i++)
        if (evictor->runs->len >= max_runs || ir_mem_stopped (evictor->options) ||
            !run_task (evictor, g_array_index (evictor->closure, guint, i), step))
          return OUTCOME_TOO_LARGE;
    }
  return OUTCOME_FITS;
}

/**
 * ir_recompute_evict:
 * @problem: tasks and values
 * @budget: bytes that may live at once
 * @slices: whether what is joined or cut out is taken to need no bytes beside its whole, which is
 *   hoped, and not always so
 * @options: (nullable): what stops it
 *
 * Source: Kirisame et al. 2021, with known next uses. Cost: O(runs · live values · closure), the
 * closure bounded.
 *
 * Returns: (transfer full) (nullable): tasks in the order of their runs; %NULL if some task does
 *   not fit whatever is evicted, or it was cancelled
 */
GArray *
ir_recompute_evict (const IrRecomputeProblem *problem,
                    guint64 budget,
                    gboolean slices,
                    const IrMemOptions *options)
{
  Evictor evictor;
  GArray *runs = NULL;
  Outcome outcome = OUTCOME_KEEP_MORE;

  evictor_init (&evictor, problem, budget);
  evictor.slices = slices;
  evictor.options = options;
  for (guint i = 0; i < MAX_ATTEMPTS && outcome == OUTCOME_KEEP_MORE; i++)
    outcome = simulate (&evictor);
  if (outcome == OUTCOME_FITS)
    runs = g_steal_pointer (&evictor.runs);
  evictor_clear (&evictor);
  return runs;
}
