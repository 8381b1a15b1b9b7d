/* Stages: a schedule as in the inter-operator scheduler. A stage runs groups of tasks beside each
 * other, or all of its tasks as one kernel; the next begins when all of it is over. What could come
 * last is an ending, a set of tasks that nothing outside waits for:
 *
 *       a          the endings of {a, b, c, d}: {d}, {b, d}, {c, d}, {b, c, d} and all;
 *      / \         the groups of an ending are its connected parts
 *     b   c
 *      \ /         shortest (tasks) = min over endings E: shortest (tasks - E) + duration (E)
 *       d
 *
 * which is remembered for each set of tasks. Graphs are cut into blocks first, where what follows
 * waits for one task alone: there everything joins. The number of sets grows with the width of a
 * block: (n / width + 1) ^ width; beyond a limit, counted in endings so that the answer is the same
 * on every machine, chains are taken as one task, then groups are bounded too (r = 3 and s = 8 of
 * the paper), and what is still too wide gets list scheduling. The answer says how often.
 *
 * Where it is known what tasks take on the threads of all workers too, a stage of one group is its
 * tasks one at a time on all of them, so that the search chooses between the two ways.
 *
 * Source: Ding and others, IOS: Inter-Operator Scheduler for CNN Acceleration, MLSys 2021. */
#include "config.h"

#include "core/exec/schedule/tasks.h"

#define POLL_ENDINGS  256             /* between two polls */
#define MAX_UNITS     64              /* bits of a set */
#define NONE          G_MAXUINT       /* no task; no unit: not in the block */
#define WAITING       (G_MAXUINT - 1) /* no unit yet */
#define PRUNED_GROUP  3               /* tasks in a group, as the paper's experiments have it */
#define PRUNED_GROUPS 8
#define BETTER_BY     (1 - 1e-12) /* what is less is the rounding of sums in another order */
#define UNITS_OF(set, i)                                                                           \
  for (guint64 rest_ = (set); rest_ != 0 && ((i) = lowest (rest_), TRUE); rest_ &= rest_ - 1)

/* What the search takes as one: a task, or a chain of them. */
typedef struct
{
  guint head, tail; /* tasks; the chain goes from the head along next */
  double ms, wide_ms;
  guint kin;
  guint64 before, after; /* sets of units */
} Unit;

typedef struct
{
  guint64 ending;
  double ms; /* of the set's best stages together */
  IrStageKind kind;
} Best;

typedef struct
{
  double ms, wide_ms;
  guint64 set;
  guint worker;
} Group;

typedef struct
{
  const IrTasks *tasks;
  IrStageOptions options;
  Unit units[MAX_UNITS];
  guint n_units;
  guint *next;      /* by task: what follows in its chain, or NONE */
  guint *unit_of;   /* by task: its unit, or NONE, or WAITING */
  GHashTable *best; /* of guint64 *, a set -> Best * */
  guint64 n_steps;
  guint max_group, max_groups;
  gboolean stopped;
} Search;

static double
duration (const IrTasks *tasks, guint task, IrStageKind kind)
{
  return kind == IR_STAGE_WIDE && tasks->wide_ms != NULL ? tasks->wide_ms[task] : tasks->ms[task];
}

static guint
lowest (guint64 set)
{
  return (guint) __builtin_ctzll (set);
}

static guint
count (guint64 set)
{
  return (guint) __builtin_popcountll (set);
}

/* -- one stage -- */

/* The units that hang together with @start within @set. */
static guint64
connected (const Search *search, guint64 set, guint64 start)
{
  guint64 found = start, fresh = start;

  while (fresh != 0)
    {
      const Unit *unit = &search->units[lowest (fresh)];
      guint64 more = (unit->before | unit->after) & set & ~found;
      fresh = (fresh & (fresh - 1)) | more;
      found |= more;
    }
  return found;
}

/* Longest first, each to the worker that is free first: within 4/3 of the best (Graham 1969). */
static double
share_groups (Group *groups, guint n_groups, guint n_workers)
{
  double load[MAX_UNITS] = { 0 }, longest = 0;

  n_workers = MIN (n_workers, n_groups);
  for (guint i = 1; i < n_groups; i++)
    {
      Group group = groups[i];
      guint at = i;
      for (; at > 0 && groups[at - 1].ms < group.ms; at--)
        groups[at] = groups[at - 1];
      groups[at] = group;
    }
  for (guint i = 0; i < n_groups; i++)
    {
      guint best = 0;
      for (guint w = 1; w < n_workers; w++)
        if (load[w] < load[best])
          best = w;
      groups[i].worker = best;
      load[best] += groups[i].ms;
      longest = MAX (longest, load[best]);
    }
  return longest;
}

/* The groups of an ending, or 0 if they are more or larger than is allowed. */
static guint
find_groups (const Search *search, guint64 ending, Group *groups)
{
  guint n_groups = 0, i;

  for (guint64 rest = ending; rest != 0;)
    {
      guint64 set = connected (search, ending, rest & -rest);
      if (count (set) > search->max_group || n_groups == search->max_groups)
        return 0;
      groups[n_groups] = (Group){ .set = set };
      UNITS_OF (set, i)
      {
        groups[n_groups].ms += search->units[i].ms;
        groups[n_groups].wide_ms += search->units[i].wide_ms;
      }
      n_groups++;
      rest &= ~set;
    }
  return n_groups;
}

/* Whether the ending can be one kernel: tasks of one kin that do not wait for each other. */
static gboolean
can_merge (const Search *search, guint64 ending, guint n_groups)
{
  guint kin = search->units[lowest (ending)].kin, i;

  if (kin == 0 || n_groups < 2 || n_groups != count (ending))
    return FALSE;
  UNITS_OF (ending, i)
  if (search->units[i].kin != kin)
    return FALSE;
  return TRUE;
}

/* At least as long as its longest task: what is saved is a guess, and must not become a gain. */
static double
merged_ms (const Search *search, const Group *groups, guint n_groups)
{
  double ms = 0, longest = 0;

  for (guint i = 0; i < n_groups; i++)
    {
      ms += groups[i].ms;
      longest = MAX (longest, groups[i].ms);
    }
  return MAX (ms - (n_groups - 1) * search->tasks->kin_saving_ms, longest);
}

/* How long the ending takes as a stage; negative if it breaks the bounds. */
static double
stage_ms (const Search *search, guint64 ending, IrStageKind *kind)
{
  Group groups[MAX_UNITS];
  guint n_groups = find_groups (search, ending, groups);

  if (n_groups == 0)
    return -1;
  if (n_groups == 1 && search->tasks->wide_ms != NULL)
    {
      *kind = IR_STAGE_WIDE;
      return groups[0].wide_ms;
    }
  double ms = share_groups (groups, n_groups, search->options.n_workers);
  *kind = IR_STAGE_CONCURRENT;
  if (n_groups > 1)
    ms += search->tasks->fork_ms;
  if (can_merge (search, ending, n_groups))
    {
      double merged = merged_ms (search, groups, n_groups);
      if (merged < ms * BETTER_BY)
        {
          *kind = IR_STAGE_MERGED;
          return merged;
        }
    }
  return ms;
}

/* -- all stages of a block -- */

static double shortest (Search *search, guint64 set);

static gboolean
is_over (const Search *search)
{
  return search->stopped || search->n_steps > search->options.max_steps;
}

/* Tries every ending of @set that has @ending and of @candidates what else may be in it. The
 * highest unit is decided first: all that waits for it is decided then. */
static void
try_endings (Search *search, guint64 set, guint64 candidates, guint64 ending, Best *best)
{
  while (candidates != 0 && !is_over (search))
    {
      guint top = 63 - (guint) __builtin_clzll (candidates);
      candidates &= ~((guint64) 1 << top);
      if ((search->units[top].after & set & ~ending) != 0)
        continue; /* what waits for it stays */
      guint64 larger = ending | (guint64) 1 << top;
      if (search->max_group < MAX_UNITS &&
          count (connected (search, larger, (guint64) 1 << top)) > search->max_group)
        continue; /* a group only grows */
      try_endings (search, set, candidates, larger, best);
    }
  if (candidates != 0 || ending == 0)
    return;
  IrStageKind kind;
  if (search->n_steps++ % POLL_ENDINGS == 0)
    search->stopped = search->stopped || g_cancellable_is_cancelled (search->options.cancellable);
  double ms = stage_ms (search, ending, &kind);
  if (ms < 0 || ms >= best->ms)
    return;
  ms += shortest (search, set & ~ending);
  if (ms < best->ms * BETTER_BY)
    *best = (Best){ ending, ms, kind };
}

static double
shortest (Search *search, guint64 set)
{
  Best best = { 0, G_MAXDOUBLE, IR_STAGE_CONCURRENT };

  if (set == 0)
    return 0;
  const Best *known = g_hash_table_lookup (search->best, &set);
  if (known != NULL)
    return known->ms;
  try_endings (search, set, set, 0, &best);
  if (is_over (search))
    return G_MAXDOUBLE;
  g_hash_table_insert (search->best, g_memdup2 (&set, sizeof set), g_memdup2 (&best, sizeof best));
  return best.ms;
}

/* Whether a task goes along with the one that waits for it: it waits for nothing, one task waits
 * for it, and that takes no less time, as with a constant. */
static gboolean
goes_along (const IrTasks *tasks, guint task)
{
  guint after = tasks->after_first[task];

  return tasks->before_first[task] == tasks->before_first[task + 1] &&
         tasks->after_first[task + 1] - after == 1 &&
         tasks->ms[task] <= tasks->ms[tasks->after[after]];
}

static void
append_to_unit (Search *search, guint u, guint task)
{
  Unit *unit = &search->units[u];

  if (unit->head == NONE)
    unit->head = task;
  else
    search->next[unit->tail] = task;
  unit->tail = task;
  unit->ms += search->tasks->ms[task];
  unit->wide_ms += duration (search->tasks, task, IR_STAGE_WIDE);
  search->unit_of[task] = u;
}

static guint
n_after_in_block (const Search *search, guint task)
{
  guint n = 0;

  for (guint k = search->tasks->after_first[task]; k < search->tasks->after_first[task + 1]; k++)
    n += search->unit_of[search->tasks->after[k]] != NONE;
  return n;
}

/* Puts @task into a unit; FALSE if there are too many. */
static gboolean
add_task (Search *search, guint task, gboolean contract)
{
  const IrTasks *tasks = search->tasks;
  guint first = tasks->before_first[task], last = tasks->before_first[task + 1];
  guint n_before = 0, before = 0, u, other;
  guint64 set = 0;

  for (guint k = first; k < last; k++)
    if (search->unit_of[tasks->before[k]] < MAX_UNITS)
      {
        before = tasks->before[k];
        set |= (guint64) 1 << search->unit_of[before];
        n_before++;
      }
  if (contract && n_before == 1 && n_after_in_block (search, before) == 1)
    {
      u = search->unit_of[before];
      search->units[u].kin = 0;
    }
  else if (search->n_units < MAX_UNITS)
    {
      u = search->n_units++;
      search->units[u] = (Unit){ NONE, NONE, 0, 0, tasks->kin[task], set, 0 };
      UNITS_OF (set, other)
      search->units[other].after |= (guint64) 1 << u;
    }
  else
    return FALSE;
  for (guint k = first; k < last; k++)
    if (search->unit_of[tasks->before[k]] == WAITING)
      append_to_unit (search, u, tasks->before[k]);
  append_to_unit (search, u, task);
  return TRUE;
}

/* Fills in the units of the tasks in @block, ascending; FALSE if there are too many. */
static gboolean
make_units (Search *search, const guint *block, guint n, gboolean contract)
{
  search->n_units = 0;
  for (guint i = 0; i < n; i++)
    {
      search->unit_of[block[i]] = WAITING;
      search->next[block[i]] = NONE;
    }
  for (guint i = 0; i < n; i++)
    if (!(contract && goes_along (search->tasks, block[i])) &&
        !add_task (search, block[i], contract))
      return FALSE;
  return TRUE;
}

/* -- from the best stages to places in time -- */

static void
place_unit (const Search *search,
            guint unit,
            IrStageKind kind,
            double scale,
            IrTaskPlace *like,
            IrTaskPlace *places)
{
  for (guint task = search->units[unit].head; task != NONE; task = search->next[task])
    {
      like->end_ms = like->start_ms + duration (search->tasks, task, kind) * scale;
      places[task] = *like;
      like->start_ms = like->end_ms;
    }
}

static void
place_stage (
    const Search *search, const Best *best, double start_ms, IrStages *stages, IrTaskPlace *places)
{
  Group groups[MAX_UNITS];
  double free_ms[MAX_UNITS], sum_ms = 0;
  guint n_groups = find_groups (search, best->ending, groups), unit;
  IrStage stage = { best->kind, 0, n_groups, start_ms, start_ms };
  IrTaskPlace place = { .stage = stages->stages->len, .wide = best->kind == IR_STAGE_WIDE };

  double ms = share_groups (groups, n_groups, search->options.n_workers);
  if (best->kind == IR_STAGE_MERGED)
    ms = merged_ms (search, groups, n_groups);
  for (guint i = 0; i < n_groups; i++)
    {
      free_ms[i] = start_ms;
      sum_ms += groups[i].ms;
    }
  for (guint i = 0; i < n_groups; i++)
    {
      /* The tasks of one kernel share its time, as they would have taken it. */
      gboolean merged = best->kind == IR_STAGE_MERGED;
      place.worker = merged ? 0 : groups[i].worker;
      place.start_ms = free_ms[place.worker];
      UNITS_OF (groups[i].set, unit)
      place_unit (search, unit, best->kind, merged && sum_ms > 0 ? ms / sum_ms : 1, &place, places);
      free_ms[place.worker] = place.start_ms;
      stage.end_ms = MAX (stage.end_ms, place.start_ms);
    }
  if (best->kind == IR_STAGE_CONCURRENT && n_groups > 1)
    stage.end_ms += search->tasks->fork_ms;
  UNITS_OF (best->ending, unit)
  for (guint task = search->units[unit].head; task != NONE; task = search->next[task])
    stage.n_tasks++;
  g_array_append_val (stages->stages, stage);
}

/* The last stage is found first. */
static void
place_stages (
    const Search *search, guint64 set, double start_ms, IrStages *stages, IrTaskPlace *places)
{
  const Best *found[MAX_UNITS];
  guint n = 0;

  while (set != 0)
    {
      found[n] = g_hash_table_lookup (search->best, &set);
      set &= ~found[n++]->ending;
    }
  while (n-- > 0)
    {
      place_stage (search, found[n], start_ms, stages, places);
      start_ms = g_array_index (stages->stages, IrStage, stages->stages->len - 1).end_ms;
    }
}

static gboolean
search_block (Search *search,
              const guint *block,
              guint n,
              gboolean contract,
              gboolean prune,
              double start_ms,
              IrStages *stages,
              IrTaskPlace *places)
{
  const IrStageOptions *options = &search->options;

  search->max_group = options->max_group > 0 ? options->max_group : G_MAXUINT;
  search->max_groups = options->max_groups > 0 ? options->max_groups : G_MAXUINT;
  if (prune)
    {
      search->max_group = MIN (search->max_group, PRUNED_GROUP);
      search->max_groups = MIN (search->max_groups, PRUNED_GROUPS);
    }
  search->n_steps = 0;
  g_hash_table_remove_all (search->best);
  gboolean found = !search->stopped && make_units (search, block, n, contract);
  if (found)
    {
      guint64 all = search->n_units == 64 ? G_MAXUINT64 : ((guint64) 1 << search->n_units) - 1;
      shortest (search, all);
      stages->n_steps += search->n_steps;
      found = !is_over (search);
      if (found)
        place_stages (search, all, start_ms, stages, places);
    }
  for (guint i = 0; i < n; i++)
    search->unit_of[block[i]] = NONE;
  return found;
}

/* The tasks of a block one after another, each on the threads of all workers. */
static void
line_up_block (const Search *search,
               const guint *block,
               guint n,
               double start_ms,
               IrStages *stages,
               IrTaskPlace *places)
{
  IrStage stage = { IR_STAGE_WIDE, n, 1, start_ms, start_ms };

  for (guint i = 0; i < n; i++)
    {
      double end_ms = stage.end_ms + duration (search->tasks, block[i], IR_STAGE_WIDE);
      places[block[i]] = (IrTaskPlace){ 0, stages->stages->len, stage.end_ms, end_ms, TRUE };
      stage.end_ms = end_ms;
    }
  g_array_append_val (stages->stages, stage);
}

/* List scheduling of one block, by itself, unless one at a time takes less. */
static void
list_block (const Search *search,
            const guint *block,
            guint n,
            double start_ms,
            IrStages *stages,
            IrTaskPlace *places)
{
  const IrTasks *tasks = search->tasks;
  g_autoptr (GArray) edges = g_array_new (FALSE, FALSE, sizeof (IrTaskEdge));
  g_autoptr (GHashTable) index = g_hash_table_new (NULL, NULL);
  g_autofree double *ms = g_new (double, n);
  g_autofree IrTaskPlace *found = g_new0 (IrTaskPlace, n);
  IrStage stage = { IR_STAGE_LIST, n, 0, start_ms, start_ms };
  double list_ms = tasks->fork_ms, wide_ms = 0;

  for (guint i = 0; i < n; i++)
    {
      ms[i] = tasks->ms[block[i]];
      wide_ms += duration (tasks, block[i], IR_STAGE_WIDE);
      for (guint k = tasks->before_first[block[i]]; k < tasks->before_first[block[i] + 1]; k++)
        {
          IrTaskEdge edge = { 0, i };
          gpointer from;
          if (!g_hash_table_lookup_extended (index, GUINT_TO_POINTER (tasks->before[k]), NULL,
                                             &from))
            continue;
          edge.from = GPOINTER_TO_UINT (from);
          g_array_append_val (edges, edge);
        }
      g_hash_table_insert (index, GUINT_TO_POINTER (block[i]), GUINT_TO_POINTER (i));
    }
  g_autoptr (IrTasks)
      part = ir_tasks_new (n, ms, (const IrTaskEdge *) (void *) edges->data, edges->len);
  ir_tasks_place_by_list (part, search->options.n_workers, found);
  for (guint i = 0; i < n; i++)
    list_ms = MAX (list_ms, found[i].end_ms + tasks->fork_ms);
  if (tasks->wide_ms != NULL && wide_ms <= list_ms)
    {
      line_up_block (search, block, n, start_ms, stages, places);
      return;
    }
  for (guint i = 0; i < n; i++)
    {
      places[block[i]] = (IrTaskPlace){ found[i].worker, stages->stages->len,
                                        start_ms + found[i].start_ms, start_ms + found[i].end_ms };
      stage.n_groups = MAX (stage.n_groups, found[i].worker + 1);
      stage.end_ms = MAX (stage.end_ms, places[block[i]].end_ms);
    }
  stage.end_ms += tasks->fork_ms;
  g_array_append_val (stages->stages, stage);
}

static double
place_block (Search *search,
             const guint *block,
             guint n,
             double start_ms,
             IrStages *stages,
             IrTaskPlace *places)
{
  stages->n_blocks++;
  search->stopped = search->stopped || g_cancellable_is_cancelled (search->options.cancellable);
  if (!search_block (search, block, n, FALSE, FALSE, start_ms, stages, places))
    {
      stages->n_contracted++;
      if (!search_block (search, block, n, TRUE, FALSE, start_ms, stages, places))
        {
          stages->n_pruned++;
          if (!search_block (search, block, n, TRUE, TRUE, start_ms, stages, places))
            {
              stages->n_listed++;
              list_block (search, block, n, start_ms, stages, places);
            }
        }
    }
  return g_array_index (stages->stages, IrStage, stages->stages->len - 1).end_ms;
}

/* -- blocks -- */

/* An order in which tasks that wait for nothing stand just before the first that waits for them, so
 * that constants do not hold a block open from the start of the graph on. */
static guint *
late_order (const IrTasks *tasks)
{
  guint *order = g_new (guint, (gsize) tasks->n + 1), n = 0;
  g_autofree gboolean *done = g_new0 (gboolean, (gsize) tasks->n + 1);

  for (guint i = 0; i < tasks->n; i++)
    {
      gboolean source = tasks->before_first[i] == tasks->before_first[i + 1];
      gboolean sink = tasks->after_first[i] == tasks->after_first[i + 1];
      if (source && !sink)
        continue;
      for (guint k = tasks->before_first[i]; k < tasks->before_first[i + 1]; k++)
        if (!done[tasks->before[k]])
          {
            done[tasks->before[k]] = TRUE;
            order[n++] = tasks->before[k];
          }
      done[i] = TRUE;
      order[n++] = i;
    }
  return order;
}

/* Up to which place in @order no cut is right: what waits for sources alone, such as another input
 * of the graph, could run beside all that stands before them. */
static guint
first_cut (const IrTasks *tasks, const guint *order)
{
  g_autofree guint *place = g_new0 (guint, (gsize) tasks->n + 1);
  guint cut = 0;

  for (guint i = 0; i < tasks->n; i++)
    place[order[i]] = i;
  for (guint i = 0; i < tasks->n; i++)
    {
      guint first = G_MAXUINT;
      gboolean sources = tasks->before_first[i] < tasks->before_first[i + 1];
      for (guint k = tasks->before_first[i]; k < tasks->before_first[i + 1]; k++)
        {
          guint before = tasks->before[k];
          sources = sources && tasks->before_first[before] == tasks->before_first[before + 1];
          first = MIN (first, place[before]);
        }
      if (sources)
        cut = MAX (cut, first);
    }
  return cut;
}

static int
compare_tasks (gconstpointer a, gconstpointer b)
{
  const guint *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

/**
 * ir_tasks_place_in_stages:
 * @tasks: tasks
 * @options: workers, and bounds of the search
 * @places: (out) (array): where and when each runs; a stage begins when the one before it is over
 *
 * Finds, for each block that it can search, the stages that take the least time together: a stage
 * takes as long as its groups on the workers, shared longest first, or as one kernel.
 *
 * Source: IOS (MLSys 2021). Cost: (n / width + 1) ^ (2 · width) for a block, at most 3 · max_steps
 * endings.
 *
 * Returns: (transfer full): the stages, and what was left out to keep the search short
 */
IrStages *
ir_tasks_place_in_stages (const IrTasks *tasks, const IrStageOptions *options, IrTaskPlace *places)
{
  IrStages *stages = g_new0 (IrStages, 1);
  g_autofree guint *order = late_order (tasks);
  g_autofree guint *next = g_new (guint, (gsize) tasks->n + 1);
  g_autofree guint *unit_of = g_new (guint, (gsize) tasks->n + 1);
  g_autofree guint *n_waiting = g_new (guint, (gsize) tasks->n + 1);
  g_autoptr (GHashTable) best = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  g_autofree Search *search = g_new0 (Search, 1);
  double now_ms = 0;
  guint first = 0, n_open = 0, cut = first_cut (tasks, order);

  *search = (Search){
    .tasks = tasks, .options = *options, .next = next, .unit_of = unit_of, .best = best
  };
  search->options.n_workers = MAX (options->n_workers, 1);
  if (options->max_steps == 0)
    search->options.max_steps = IR_STAGES_DEFAULT_STEPS;
  stages->stages = g_array_new (FALSE, FALSE, sizeof (IrStage));
  for (guint i = 0; i < tasks->n; i++)
    {
      unit_of[i] = NONE;
      n_waiting[i] = tasks->after_first[i + 1] - tasks->after_first[i];
    }
  for (guint i = 0; i < tasks->n; i++)
    {
      guint task = order[i];
      for (guint k = tasks->before_first[task]; k < tasks->before_first[task + 1]; k++)
        n_open -= --n_waiting[tasks->before[k]] == 0;
      n_open += n_waiting[task] > 0;
      if ((n_open != 1 || i < cut) && i + 1 < tasks->n)
        continue;
      qsort (order + first, i + 1 - first, sizeof *order, compare_tasks);
      now_ms = place_block (search, order + first, i + 1 - first, now_ms, stages, places);
      first = i + 1;
    }
  return stages;
}

/**
 * ir_stages_free:
 * @stages: (transfer full) (nullable): stages
 */
void
ir_stages_free (IrStages *stages)
{
  if (stages == NULL)
    return;
  g_array_unref (stages->stages);
  g_free (stages);
}
