/* Values computed again under a budget: plans are judged by running them in thought over an arena
 * of stamps, and chains against the cheapest of all orders, found by trying them. */
#include "config.h"

#include "core/exec/recompute/recompute.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#include <string.h>

#define MAX_TASKS  140
#define MAX_VALUES 140
#define NONE       IR_RECOMPUTE_NONE

typedef struct
{
  IrRecomputeProblem problem;
  IrRecomputeTask tasks[MAX_TASKS];
  guint reads[MAX_TASKS][8], writes[MAX_TASKS][2];
  IrRecomputeRange ranges[MAX_TASKS][8];
  guint64 sizes[MAX_VALUES];
} Case;

/* -- making problems -- */

static void
case_init (Case *c)
{
  memset (c, 0, sizeof *c);
  c->problem = (IrRecomputeProblem){ .tasks = c->tasks, .sizes = c->sizes };
}

static guint
add_task (Case *c, guint64 flops)
{
  guint index = c->problem.n_tasks++;

  g_assert_cmpuint (index, <, MAX_TASKS);
  c->tasks[index] = (IrRecomputeTask){ .flops = flops,
                                       .reads = c->reads[index],
                                       .writes = c->writes[index],
                                       .ranges = c->ranges[index],
                                       .over = { NONE, NONE } };
  return index;
}

static void
add_read (Case *c, guint task, guint value)
{
  for (guint i = 0; i < c->tasks[task].n_reads; i++)
    if (c->reads[task][i] == value)
      return;
  c->reads[task][c->tasks[task].n_reads++] = value;
}

static guint
add_write (Case *c, guint task, guint64 size)
{
  guint value = c->problem.n_values++;

  g_assert_cmpuint (value, <, MAX_VALUES);
  c->sizes[value] = size;
  c->writes[task][c->tasks[task].n_writes++] = value;
  return value;
}

/* n tasks forward, n back; task n + i reads x_{n-i} and what the one before gave. */
static void
build_chain (Case *c, GRand *rand, guint n, gboolean equal)
{
  guint x[MAX_VALUES], gradient = NONE;

  case_init (c);
  for (guint i = 0; i < n; i++)
    {
      guint task = add_task (c, (guint64) g_rand_int_range (rand, 1, 20));
      if (i > 0)
        add_read (c, task, x[i - 1]);
      x[i] = add_write (c, task, equal ? 4 : (guint64) g_rand_int_range (rand, 1, 9));
    }
  for (guint i = n; i-- > 0;)
    {
      guint task = add_task (c, (guint64) g_rand_int_range (rand, 1, 20));
      c->tasks[task].once = TRUE;
      add_read (c, task, x[i]);
      if (gradient != NONE)
        add_read (c, task, gradient);
      if (i > 0)
        gradient = add_write (c, task, equal ? 4 : (guint64) g_rand_int_range (rand, 1, 9));
    }
}

static void
build_random (Case *c, GRand *rand, guint n, gboolean in_place)
{
  case_init (c);
  for (guint i = 0; i < n; i++)
    {
      guint task = add_task (c, (guint64) g_rand_int_range (rand, 0, 20));
      guint n_reads = (guint) g_rand_int_range (rand, 0, 4), n_values = c->problem.n_values;
      for (guint k = 0; k < n_reads && n_values > 0; k++)
        {
          gint low = g_rand_int_range (rand, 0, 3) > 0 ? MAX (0, (gint) n_values - 4) : 0;
          add_read (c, task, (guint) g_rand_int_range (rand, low, (gint) n_values));
        }
      guint n_writes = (guint) g_rand_int_range (rand, 0, 8) == 0 ? 2 : 1;
      for (guint k = 0; k < n_writes && c->problem.n_values < MAX_VALUES; k++)
        add_write (c, task, (guint64) g_rand_int_range (rand, 1, 6));
      c->tasks[task].once = g_rand_int_range (rand, 0, 8) == 0;
      if (in_place && c->tasks[task].n_reads > 0 && g_rand_boolean (rand))
        c->tasks[task].over[0] = c->reads[task][0];
    }
}

static void
add_range (Case *c, guint task, guint part, guint whole, guint64 at)
{
  c->ranges[task][c->tasks[task].n_ranges++] = (IrRecomputeRange){ part, whole, at };
}

static guint
late_value (const Case *c, GRand *rand)
{
  gint n = (gint) c->problem.n_values;

  return (guint) g_rand_int_range (rand, MAX (0, n - 5), n);
}

/* What is joined, of two or three values, one of them twice at times, or cut in two. */
static void
build_slice (Case *c, GRand *rand, guint task)
{
  guint64 size = 0;

  if (g_rand_boolean (rand))
    {
      guint parts[3], n = (guint) g_rand_int_range (rand, 2, 4);
      for (guint k = 0; k < n; k++)
        {
          parts[k] = late_value (c, rand);
          add_read (c, task, parts[k]);
          size += c->sizes[parts[k]];
        }
      guint whole = add_write (c, task, size);
      for (guint k = 0; k < n; k++)
        {
          size = 0;
          for (guint j = 0; j < k; j++)
            size += c->sizes[parts[j]];
          add_range (c, task, parts[k], whole, size);
        }
      return;
    }
  guint whole = late_value (c, rand);
  add_read (c, task, whole);
  size = c->sizes[whole];
  if (size < 2)
    {
      add_write (c, task, 1);
      return;
    }
  guint64 first = (guint64) g_rand_int_range (rand, 1, (gint) size);
  add_range (c, task, add_write (c, task, first), whole, 0);
  add_range (c, task, add_write (c, task, size - first), whole, first);
}

static void
build_slices (Case *c, GRand *rand, guint n)
{
  case_init (c);
  for (guint i = 0; i < n; i++)
    {
      guint task = add_task (c, (guint64) g_rand_int_range (rand, 0, 20));
      if (i > 1 && g_rand_int_range (rand, 0, 3) == 0)
        {
          build_slice (c, rand, task);
          continue;
        }
      for (gint k = g_rand_int_range (rand, 0, 3); k > 0 && i > 0; k--)
        add_read (c, task, late_value (c, rand));
      add_write (c, task, (guint64) g_rand_int_range (rand, 1, 6));
      if (c->tasks[task].n_reads > 0 && g_rand_boolean (rand))
        c->tasks[task].over[0] = c->reads[task][0];
    }
}

/* -- judging plans -- */

static const IrRecomputeInterval *
interval_during (const IrRecomputePlan *plan, guint value, guint run, gboolean read)
{
  const IrRecomputeInterval *found = NULL;

  for (guint i = 0; i < plan->intervals->len; i++)
    {
      const IrRecomputeInterval *interval = &g_array_index (plan->intervals, IrRecomputeInterval,
                                                            i);
      if (interval->value == value && (read ? interval->first < run : interval->first == run) &&
          run <= interval->last)
        {
          g_assert_null (found);
          found = interval;
        }
    }
  return found;
}

static void
check_plan (const IrRecomputeProblem *problem, const IrRecomputePlan *plan)
{
  g_autofree guint *arena = g_new0 (guint, plan->peak_bytes + 1);
  g_autofree guint *times = g_new0 (guint, problem->n_tasks + 1);
  guint64 flops = 0, once = 0;
  guint next = 0;

  for (guint run = 0; run < plan->runs->len; run++)
    {
      guint index = g_array_index (plan->runs, guint, run);
      const IrRecomputeTask *task = &problem->tasks[index];
      g_assert_cmpuint (index, <=, next);
      next += index == next;
      flops += task->flops;
      g_assert_false (times[index]++ > 0 && task->once);
      for (guint k = 0; k < task->n_reads; k++)
        {
          const IrRecomputeInterval *interval = interval_during (plan, task->reads[k], run, TRUE);
          g_assert_nonnull (interval);
          for (guint64 byte = 0; byte < problem->sizes[interval->value]; byte++)
            g_assert_cmpuint (arena[interval->offset + byte], ==, interval->value + 1);
        }
      for (guint k = 0; k < task->n_writes; k++)
        {
          const IrRecomputeInterval *interval = interval_during (plan, task->writes[k], run, FALSE);
          g_assert_nonnull (interval);
          g_assert_cmpuint (interval->offset + problem->sizes[interval->value], <=,
                            plan->peak_bytes);
          for (guint64 byte = 0; byte < problem->sizes[interval->value]; byte++)
            {
              /* While the task runs, its inputs are there, but for the one that it may replace. */
              for (guint j = 0; j < task->n_reads; j++)
                g_assert_true (arena[interval->offset + byte] != task->reads[j] + 1 ||
                               interval_during (plan, task->reads[j], run, TRUE)->offset + byte !=
                                   interval->offset + byte ||
                               task->over[0] == task->reads[j] || task->over[1] == task->reads[j]);
              arena[interval->offset + byte] = interval->value + 1;
            }
        }
    }
  g_assert_cmpuint (next, ==, problem->n_tasks);
  for (guint i = 0; i < problem->n_tasks; i++)
    once += problem->tasks[i].flops;
  g_assert_cmpuint (plan->flops, ==, once);
  g_assert_cmpuint (plan->extra_flops, ==, flops - once);
  g_assert_cmpuint (plan->lower_bound_bytes, <=, plan->peak_bytes);
  g_assert_true (plan->feasible == (plan->peak_bytes <= plan->budget_bytes));
  g_assert_cmpuint (plan->floor_bytes, <=, plan->peak_bytes);
  g_assert_cmpuint (plan->peak_bytes, <=, plan->plain_peak_bytes);
}

/* Which byte of which value byte @byte of @value really is: a part's, once it was joined. */
static guint
contents_of (const Case *c, guint value, guint64 byte)
{
  for (guint i = 0; i < c->problem.n_tasks; i++)
    for (guint k = 0; k < c->tasks[i].n_ranges; k++)
      {
        const IrRecomputeRange *range = &c->tasks[i].ranges[k];
        gboolean cut = c->writes[i][0] != range->whole;
        if (cut && range->part == value)
          return contents_of (c, range->whole, range->at + byte);
        if (!cut && range->whole == value && byte >= range->at &&
            byte < range->at + c->sizes[range->part])
          return contents_of (c, range->part, byte - range->at);
      }
  return value * 1000 + (guint) byte + 1;
}

static gboolean
is_in_place (const Case *c,
             const IrRecomputePlan *plan,
             const IrRecomputeInterval *interval,
             guint64 byte)
{
  if (interval->view_of != NONE)
    return TRUE;
  for (guint i = 0; i < plan->intervals->len; i++)
    {
      const IrRecomputeInterval *part = &g_array_index (plan->intervals, IrRecomputeInterval, i);
      if (part->part_of != NONE &&
          &g_array_index (plan->intervals, IrRecomputeInterval, part->part_of) == interval &&
          interval->offset + byte >= part->offset &&
          interval->offset + byte < part->offset + c->sizes[part->value])
        return TRUE;
    }
  return FALSE;
}

/* Runs a plan over an arena of bytes that know what they are; what lies in place is not written. */
static guint
check_contents (const Case *c, const IrRecomputePlan *plan)
{
  g_autofree guint *arena = g_new0 (guint, plan->peak_bytes + 1);
  guint n_in_place = 0;

  for (guint run = 0; run < plan->runs->len; run++)
    {
      const IrRecomputeTask *task = &c->tasks[g_array_index (plan->runs, guint, run)];
      for (guint after = 0; after < 2; after++)
        {
          for (guint k = 0; k < task->n_reads; k++)
            {
              const IrRecomputeInterval *interval = interval_during (plan, task->reads[k], run,
                                                                     TRUE);
              g_assert_nonnull (interval);
              for (guint64 byte = 0;
                   byte < c->sizes[interval->value] && (!after || interval->last > run); byte++)
                g_assert_cmpuint (arena[interval->offset + byte], ==,
                                  contents_of (c, interval->value, byte));
            }
          for (guint k = 0; k < task->n_writes && !after; k++)
            {
              const IrRecomputeInterval *interval = interval_during (plan, task->writes[k], run,
                                                                     FALSE);
              g_assert_nonnull (interval);
              g_assert_cmpuint (interval->offset + c->sizes[interval->value], <=, plan->peak_bytes);
              for (guint64 byte = 0; byte < c->sizes[interval->value]; byte++)
                {
                  guint *at = &arena[interval->offset + byte],
                        contents = contents_of (c, interval->value, byte);
                  if (is_in_place (c, plan, interval, byte))
                    g_assert_cmpuint (*at, ==, contents);
                  else
                    *at = contents;
                }
              n_in_place += is_in_place (c, plan, interval, 0);
            }
        }
    }
  return n_in_place;
}

static guint64
live_bytes (const IrRecomputeProblem *problem, guint mask)
{
  guint64 bytes = 0;

  for (guint i = 0; i < problem->n_values; i++)
    bytes += mask >> i & 1 ? problem->sizes[i] : 0;
  return bytes;
}

/* The fewest FLOPs of all orders of runs within @budget, by relaxing (next task, what is there)
 * until nothing changes. No sharing of bytes. */
static guint64
cheapest_of_all (const IrRecomputeProblem *problem, guint64 budget)
{
  guint n_masks = 1u << problem->n_values, n = problem->n_tasks;
  g_autofree guint64 *best = g_new (guint64, (gsize) (n + 1) * n_masks);
  g_autofree gboolean *queued = g_new0 (gboolean, (gsize) (n + 1) * n_masks);
  g_autoptr (GArray) queue = g_array_new (FALSE, FALSE, sizeof (guint));
  guint64 answer = G_MAXUINT64;

  memset (best, 0xff, sizeof *best * (n + 1) * n_masks);
  best[0] = 0;
  guint start = 0;
  g_array_append_val (queue, start);
  for (guint head = 0; head < queue->len; head++)
    {
      guint state = g_array_index (queue, guint, head), next = state / n_masks;
      guint mask = state % n_masks;
      queued[state] = FALSE;
      for (guint move = 0; move < n + problem->n_values; move++)
        {
          guint to;
          guint64 flops = best[state];
          if (move < n)
            {
              const IrRecomputeTask *task = &problem->tasks[move];
              guint reads = 0, writes = 0;
              for (guint k = 0; k < task->n_reads; k++)
                reads |= 1u << task->reads[k];
              for (guint k = 0; k < task->n_writes; k++)
                writes |= 1u << task->writes[k];
              if (move > next || (move < next && task->once) || (reads & ~mask) != 0 ||
                  live_bytes (problem, mask | writes) > budget)
                continue;
              to = (next + (move == next)) * n_masks + (mask | writes);
              flops += task->flops;
            }
          else if (mask >> (move - n) & 1)
            to = next * n_masks + (mask & ~(1u << (move - n)));
          else
            continue;
          if (flops >= best[to])
            continue;
          best[to] = flops;
          if (!queued[to])
            g_array_append_val (queue, to);
          queued[to] = TRUE;
        }
    }
  for (guint mask = 0; mask < n_masks; mask++)
    answer = MIN (answer, best[n * n_masks + mask]);
  return answer;
}

static guint64
flops_of (const IrRecomputeProblem *problem, const GArray *runs)
{
  guint64 flops = 0;

  for (guint i = 0; i < runs->len; i++)
    flops += problem->tasks[g_array_index (runs, guint, i)].flops;
  return flops;
}

static guint64
most_live (const IrRecomputeProblem *problem, const GArray *runs)
{
  g_autoptr (GArray) intervals = ir_recompute_intervals (
      problem, (const guint *) (const void *) runs->data, runs->len);
  guint64 most = 0;

  g_assert_nonnull (intervals);
  for (guint run = 0; run < runs->len; run++)
    {
      guint64 bytes = 0;
      for (guint i = 0; i < intervals->len; i++)
        {
          const IrRecomputeInterval *interval = &g_array_index (intervals, IrRecomputeInterval, i);
          if (interval->first <= run && run <= interval->last)
            bytes += problem->sizes[interval->value];
        }
      most = MAX (most, bytes);
    }
  return most;
}

/* -- tests -- */

static void
test_chain_is_optimal (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  guint n_cheaper = 0;

  for (guint round = 0; round < 40; round++)
    {
      Case c;
      build_chain (&c, rand, 2 + round % 4, TRUE);
      for (guint64 budget = 4; budget <= 32; budget += 4)
        {
          guint64 best = cheapest_of_all (&c.problem, budget);
          g_autoptr (GArray) runs = ir_recompute_chain (&c.problem, budget, NULL);
          g_assert_true ((runs == NULL) == (best == G_MAXUINT64));
          if (runs == NULL)
            continue;
          g_assert_cmpuint (flops_of (&c.problem, runs), ==, best);
          g_assert_cmpuint (most_live (&c.problem, runs), <=, budget);
          g_autoptr (GArray) greedy = ir_recompute_evict (&c.problem, budget, FALSE, NULL);
          n_cheaper += greedy == NULL || flops_of (&c.problem, greedy) > best;
        }
    }
  g_assert_cmpuint (n_cheaper, >, 0);
}

static void
test_chain_of_unequal_sizes (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);
  guint n_plans = 0, n_optimal = 0;

  for (guint round = 0; round < 30; round++)
    {
      Case c;
      build_chain (&c, rand, 3 + round % 3, FALSE);
      for (guint64 budget = 8; budget <= 40; budget += 4)
        {
          g_autoptr (GArray) runs = ir_recompute_chain (&c.problem, budget, NULL);
          if (runs == NULL)
            continue;
          guint64 best = cheapest_of_all (&c.problem, budget);
          g_assert_cmpuint (flops_of (&c.problem, runs), >=, best);
          g_assert_cmpuint (most_live (&c.problem, runs), <=, budget);
          n_plans++;
          n_optimal += flops_of (&c.problem, runs) == best;
        }
    }
  g_test_message ("%u of %u plans are the cheapest of all orders", n_optimal, n_plans);
  g_assert_cmpuint (n_plans, >, 50);
  g_assert_cmpuint (n_optimal * 10, >=, n_plans * 9);
}

static void
test_long_chain_needs_few_bytes (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (9);
  Case c;
  IrMemOptions options = { .align_bytes = 1 };

  build_chain (&c, rand, 16, TRUE);
  for (guint i = 0; i < c.problem.n_tasks; i++)
    c.tasks[i].flops = 10;
  guint64 before = 0;
  for (guint64 budget = 18 * 4; budget >= 20; budget -= 4)
    {
      g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&c.problem, budget, &options);
      check_plan (&c.problem, plan);
      g_assert_true (plan->feasible);
      g_assert_cmpuint (plan->extra_flops, >=, before);
      before = plan->extra_flops;
      g_test_message ("%u bytes: %u of %u FLOPs again, %s", (guint) budget,
                      (guint) plan->extra_flops, (guint) plan->flops,
                      ir_recompute_method_name (plan->method));
    }
  g_assert_cmpuint (before, >, 0);
}

/* So many amounts of bytes come up that they are rounded, to the safe side. */
static void
test_long_chain_of_unequal_sizes (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (13);
  IrMemOptions options = { .align_bytes = 1, .max_steps = 2000 };
  guint n_chains = 0;

  for (guint round = 0; round < 4; round++)
    {
      Case c;
      build_chain (&c, rand, 30 + 5 * round, FALSE);
      for (guint i = 0; i < c.problem.n_values; i++)
        c.sizes[i] = c.sizes[i] * 100 + (guint64) g_rand_int_range (rand, 0, 100);
      g_autoptr (IrRecomputePlan) plain = ir_mem_recompute (&c.problem, G_MAXUINT64, &options);
      for (guint percent = 30; percent < 100; percent += 30)
        {
          guint64 budget = plain->peak_bytes * percent / 100;
          g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&c.problem, budget, &options);
          check_plan (&c.problem, plan);
          g_assert_true (plan->feasible);
          n_chains += plan->method == IR_RECOMPUTE_CHAIN;
        }
    }
  g_test_message ("%u of 12 by the chain", n_chains);
  g_assert_cmpuint (n_chains, >, 6);
}

static void
test_random_graphs (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (10);
  IrMemOptions options = { .align_bytes = 1, .max_steps = 2000 };
  guint n_again = 0;

  for (guint round = 0; round < 150; round++)
    {
      Case c;
      build_random (&c, rand, (guint) g_rand_int_range (rand, 2, 30), round % 2 == 0);
      g_autoptr (IrRecomputePlan) plain = ir_mem_recompute (&c.problem, G_MAXUINT64, &options);
      check_plan (&c.problem, plain);
      g_assert_cmpint (plain->method, ==, IR_RECOMPUTE_KEEP);
      g_assert_cmpuint (plain->extra_flops, ==, 0);
      for (guint percent = 40; percent < 100; percent += 15)
        {
          g_autoptr (IrRecomputePlan)
              plan = ir_mem_recompute (&c.problem, plain->peak_bytes * percent / 100, &options);
          check_plan (&c.problem, plan);
          n_again += plan->feasible && plan->runs->len > c.problem.n_tasks;
        }
    }
  g_assert_cmpuint (n_again, >, 20);
}

static void
test_greedy_is_never_below_the_cheapest (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  guint n_plans = 0;

  for (guint round = 0; round < 40; round++)
    {
      Case c;
      build_random (&c, rand, 7, FALSE);
      for (guint64 budget = 6; budget < 24 && c.problem.n_values <= 9; budget += 3)
        {
          g_autoptr (GArray) runs = ir_recompute_evict (&c.problem, budget, FALSE, NULL);
          guint64 best = cheapest_of_all (&c.problem, budget);
          if (runs == NULL)
            continue;
          g_assert_cmpuint (best, !=, G_MAXUINT64);
          g_assert_cmpuint (flops_of (&c.problem, runs), >=, best);
          g_assert_cmpuint (most_live (&c.problem, runs), <=, budget);
          n_plans++;
        }
    }
  g_assert_cmpuint (n_plans, >, 50);
}

static void
test_parts_lie_in_wholes (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (14);
  IrMemOptions options = { .align_bytes = 1, .max_steps = 2000 };
  guint n_in_place = 0, n_lower = 0, n_again = 0;

  for (guint round = 0; round < 300; round++)
    {
      Case c;
      build_slices (&c, rand, (guint) g_rand_int_range (rand, 4, 24));
      for (guint percent = 40; percent <= 100; percent += 20)
        {
          g_autoptr (IrRecomputePlan) plain = ir_mem_recompute (&c.problem, G_MAXUINT64, &options);
          guint64 budget = plain->peak_bytes * percent / 100;
          g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&c.problem, budget, &options);
          n_in_place += check_contents (&c, plan);
          g_assert_cmpuint (plan->floor_bytes, <=, plan->peak_bytes);
          g_assert_cmpuint (plan->peak_bytes, <=, plain->peak_bytes);
          n_again += plan->runs->len > c.problem.n_tasks;
          for (guint i = 0; i < c.problem.n_tasks && percent == 100; i++)
            c.tasks[i].n_ranges = 0;
          g_autoptr (IrRecomputePlan)
              apart = ir_mem_recompute (&c.problem, percent == 100 ? G_MAXUINT64 : 0, &options);
          g_assert_true (percent < 100 || plain->peak_bytes <= apart->peak_bytes);
          n_lower += percent == 100 && plain->peak_bytes < apart->peak_bytes;
        }
    }
  g_test_message ("%u values in place, %u peaks lower, %u plans run something again", n_in_place,
                  n_lower, n_again);
  g_assert_cmpuint (n_in_place, >, 500);
  g_assert_cmpuint (n_lower, >, 20);
  g_assert_cmpuint (n_again, >, 20);
}

static void
test_joining_is_the_widest (void)
{
  IrMemOptions options = { .align_bytes = 64 };
  Case c;

  /* Two values of 64 bytes, joined: 128 with the parts in their places, 256 without. */
  case_init (&c);
  guint left = add_write (&c, add_task (&c, 1), 64), right = add_write (&c, add_task (&c, 1), 64);
  guint join = add_task (&c, 0);
  add_read (&c, join, left);
  add_read (&c, join, right);
  guint whole = add_write (&c, join, 128);
  add_range (&c, join, left, whole, 0);
  add_range (&c, join, right, whole, 64);
  add_read (&c, add_task (&c, 1), whole);
  g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&c.problem, 128, &options);
  g_assert_true (plan->feasible);
  g_assert_cmpuint (plan->peak_bytes, ==, 128);
  g_assert_cmpuint (plan->floor_bytes, ==, 128);
  g_assert_cmpuint (plan->runs->len, ==, 4);
  g_assert_cmpuint (check_contents (&c, plan), ==, 1);
  g_assert_cmpuint (g_array_index (plan->intervals, IrRecomputeInterval, 0).part_of, ==, 2);
  /* Not where they would not begin at a multiple of the alignment. */
  c.ranges[join][1].at = 65;
  g_autoptr (IrRecomputePlan) apart = ir_mem_recompute (&c.problem, 128, &options);
  g_assert_cmpuint (apart->peak_bytes, >, 128);
}

static void
test_too_small_a_budget (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (12);
  IrMemOptions options = { .align_bytes = 1 };
  Case c;

  build_chain (&c, rand, 6, TRUE);
  g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&c.problem, 1, &options);
  check_plan (&c.problem, plan);
  g_assert_false (plan->feasible);
  /* A step back reads a value and a gradient and gives one: no order needs less. */
  g_assert_cmpuint (plan->floor_bytes, ==, 12);
  g_assert_cmpuint (plan->peak_bytes, <, plan->plain_peak_bytes);
  g_assert_cmpuint (plan->peak_bytes, <=, 20);
  case_init (&c);
  plan = (ir_recompute_plan_free (plan), ir_mem_recompute (&c.problem, 0, &options));
  g_assert_true (plan->feasible);
  g_assert_cmpuint (plan->runs->len, ==, 0);
}

static void
test_graph_with_long_skips (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  IrMemOptions options = { .align_bytes = 64 };
  IrValue *levels[6], *value;

  builder_init (&b, 17);
  value = build_input (&b, "x", "float[16,64]");
  IrValue *weights = build_constant (&b, "w", tensor_random ("float[64,64]", 3));
  IrValue *shape = build_constant (&b, "s", ir_tensor_new_int64s ((gint64[]){ 16, 64 }, 2));
  for (guint i = 0; i < 6; i++)
    value = levels[i] = build_node (&b, NULL, "MatMul", 1, value, weights, END)->outputs[0];
  for (guint i = 6; i-- > 0;)
    {
      IrValue *skip = build_node (&b, NULL, "Reshape", 1, levels[i], shape, END)->outputs[0];
      value = build_node (&b, NULL, "Mul", 1, value, skip, END)->outputs[0];
      value = build_node (&b, NULL, "MatMul", 1, value, weights, END)->outputs[0];
    }
  build_output (&b, value);
  build_done (&b);
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b.model, ir_backend_find ("ref"), 1, &error);
  g_assert_no_error (error);
  g_autoptr (IrRecomputeGraph) graph = ir_recompute_graph_new (b.model, schedule, 0, &options);
  g_autoptr (IrMemPlan) memplan = ir_mem_plan_new (b.model, schedule, 64);
  g_autoptr (IrRecomputePlan) plain = ir_mem_recompute (&graph->problem, G_MAXUINT64, &options);
  check_plan (&graph->problem, plain);
  /* With nothing repeated it is the memory plan, views and kernels in place included. */
  g_assert_cmpuint (plain->peak_bytes, ==, memplan->peak_bytes);
  g_autoptr (IrRecomputePlan)
      half = ir_mem_recompute (&graph->problem, plain->peak_bytes * 2 / 3, &options);
  check_plan (&graph->problem, half);
  g_assert_true (half->feasible);
  g_assert_cmpuint (half->extra_flops, >, 0);
  g_assert_cmpuint (half->extra_flops % (2 * 16 * 64 * 64), ==, 0);
}

static void
test_random_numbers_are_drawn_once (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  IrMemOptions options = { .align_bytes = 64 };
  IrValue *noise[4], *sum = NULL;

  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[64]");
  for (guint i = 0; i < 4; i++)
    noise[i] = build_node (&b, NULL, "RandomNormalLike", 1, x, END)->outputs[0];
  for (guint i = 0; i < 4; i++)
    sum = i == 0 ? noise[0] : build_node (&b, NULL, "Add", 1, sum, noise[i], END)->outputs[0];
  build_output (&b, sum);
  build_done (&b);
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b.model, ir_backend_find ("ref"), 1, &error);
  g_assert_no_error (error);
  g_autoptr (IrRecomputeGraph) graph = ir_recompute_graph_new (b.model, schedule, 0, &options);
  g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&graph->problem, 512, &options);
  check_plan (&graph->problem, plan);
  g_assert_false (plan->feasible);
  g_assert_cmpuint (plan->peak_bytes, ==, 4 * 256);
  g_assert_cmpuint (plan->runs->len, ==, graph->problem.n_tasks);
}

/* -- runs under a budget -- */

/* A chain and what comes back along it, as a loss and its derivative have them */
static IrModel *
chain_model (const char *first)
{
  g_autoptr (GString) body = g_string_new (first);

  for (guint i = 0; i < 8; i++)
    g_string_append_printf (body, "m%u = MatMul (t%u, w)\n t%u = Tanh (m%u)\n", i, i, i + 1, i);
  for (guint i = 8; i-- > 0;)
    g_string_append_printf (body, "u%u = Mul (%s%u, t%u)\n", i, i == 7 ? "t" : "u", i + 1, i);
  g_string_append (body, "y = ReduceSum <keepdims = 0> (u0)");
  return read_graph (18, "(float[16,16] x, float[16,16] w) => (float[] y)", body->str);
}

static IrRun *
run_within (IrModel *model, const char *budget, GError **error)
{
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 3, NULL, NULL);
  const IrRunOptions options = { .n_threads = 1, .budget = budget };

  return ir_model_run (model, inputs, &options, NULL, error);
}

/* The same bits in fewer bytes: what the plan says is what is measured. */
static void
test_runs_hold_their_budget (void)
{
  static const char *const budgets[] = { "80%", "60%", "50%" };
  g_autoptr (IrModel) model = chain_model ("t0 = Exp (x)\n");
  g_autoptr (IrRun) plain = run_within (model, NULL, NULL);
  const IrValueId y = ir_graph_output (model->main, 0)->id;

  for (guint i = 0; i < G_N_ELEMENTS (budgets); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrRun) run = run_within (model, budgets[i], &error);
      g_assert_no_error (error);
      g_assert_cmpuint (run->trace->arena_bytes, ==, run->memplan->peak_bytes);
      g_assert_cmpuint (run->trace->arena_bytes, <=, run->held.budget_bytes);
      g_assert_cmpuint (run->held.plain_bytes, ==, plain->memplan->peak_bytes);
      g_assert_cmpuint (run->held.n_again, >, 0);
      g_assert_true (ir_tensor_get_double (ir_run_value (run, y), 0) ==
                     ir_tensor_get_double (ir_run_value (plain, y), 0));
    }
}

static void
test_runs_draw_once (void)
{
  g_autoptr (IrModel) model = chain_model ("r = RandomUniformLike (x)\n t0 = Exp (r)\n");
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = run_within (model, "60%", &error);
  guint n_random = 0;

  g_assert_no_error (error);
  for (guint id = 1; id < run->model->nodes->len; id++)
    {
      const IrNode *node = ir_model_node (run->model, id);
      n_random += node != NULL && ir_op_is (node, IR_OP_RANDOM_UNIFORM_LIKE);
    }
  g_assert_cmpuint (n_random, ==, 1);
}

static void
test_runs_say_the_least (void)
{
  g_autoptr (IrModel) model = chain_model ("t0 = Exp (x)\n");
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = run_within (model, "100", &error);

  g_assert_null (run);
  g_assert_error (error, IR_BUDGET_ERROR, 0);
  g_assert_nonnull (strstr (error->message, "the least that was found is "));
  g_assert_nonnull (strstr (error->message, " reaches; "));
  g_clear_error (&error);
  run = run_within (model, "much", &error);
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/recompute/a chain of equal values is as cheap as the best of all orders",
                   test_chain_is_optimal);
  g_test_add_func ("/recompute/a chain of unequal values is within its budget",
                   test_chain_of_unequal_sizes);
  g_test_add_func ("/recompute/a smaller budget never costs less", test_long_chain_needs_few_bytes);
  g_test_add_func ("/recompute/a long chain of unequal values is held within its budget",
                   test_long_chain_of_unequal_sizes);
  g_test_add_func ("/recompute/whatever runs finds its inputs in the arena", test_random_graphs);
  g_test_add_func ("/recompute/greedy plans are valid and not below the cheapest",
                   test_greedy_is_never_below_the_cheapest);
  g_test_add_func ("/recompute/parts lie in their wholes, and hold what they should",
                   test_parts_lie_in_wholes);
  g_test_add_func ("/recompute/joining needs no bytes beside the whole",
                   test_joining_is_the_widest);
  g_test_add_func ("/recompute/too small a budget gives the lowest peak that was found",
                   test_too_small_a_budget);
  g_test_add_func ("/recompute/a graph with long skips fits into less", test_graph_with_long_skips);
  g_test_add_func ("/recompute/random numbers are drawn once", test_random_numbers_are_drawn_once);
  g_test_add_func ("/recompute/runs hold their budget, with the same bits",
                   test_runs_hold_their_budget);
  g_test_add_func ("/recompute/runs under a budget draw random numbers once", test_runs_draw_once);
  g_test_add_func ("/recompute/too small a budget of a run says the least, and where",
                   test_runs_say_the_least);
  return g_test_run ();
}
