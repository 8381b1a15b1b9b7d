/* Placements of tasks, judged against all that are possible on small graphs. */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/schedule/kernel-choice.h"
#include "core/exec/schedule/tasks.h"
#include "tests/exec/graphs.h"

#include <string.h>

#define MANY 8

/* Durations are whole numbers, so that sums agree in any order. */
static IrTasks *
random_tasks (GRand *rand, guint n, double density, int least_ms)
{
  g_autofree double *ms = g_new (double, n + 1);
  g_autoptr (GArray) edges = g_array_new (FALSE, FALSE, sizeof (IrTaskEdge));

  for (guint i = 0; i < n; i++)
    {
      ms[i] = g_rand_int_range (rand, least_ms, 9);
      for (guint k = 0; k < i; k++)
        {
          IrTaskEdge edge = { k, i };
          if (g_rand_double (rand) < density)
            g_array_append_val (edges, edge);
        }
    }
  return ir_tasks_new (n, ms, (const IrTaskEdge *) (void *) edges->data, edges->len);
}

static gboolean
waits_for (const IrTasks *tasks, guint later, guint sooner)
{
  for (guint k = tasks->before_first[later]; k < tasks->before_first[later + 1]; k++)
    if (tasks->before[k] == sooner)
      return TRUE;
  return FALSE;
}

static double
check_places (const IrTasks *tasks, guint n_workers, const IrTaskPlace *places, gboolean exact)
{
  double makespan = 0;

  for (guint i = 0; i < tasks->n; i++)
    {
      g_assert_cmpuint (places[i].worker, <, n_workers);
      g_assert_cmpfloat (places[i].start_ms, >=, 0);
      if (exact)
        g_assert_cmpfloat (places[i].end_ms - places[i].start_ms, ==, tasks->ms[i]);
      makespan = MAX (makespan, places[i].end_ms);
      for (guint k = 0; k < i; k++)
        {
          if (waits_for (tasks, i, k))
            g_assert_cmpfloat (places[k].end_ms, <=, places[i].start_ms);
          if (places[i].worker == places[k].worker)
            g_assert_true (places[i].end_ms <= places[k].start_ms ||
                           places[k].end_ms <= places[i].start_ms);
        }
    }
  return makespan;
}

/* -- the shortest of all schedules: each task in turn as early as it can, in every order -- */

static double
shortest_of_all (const IrTasks *tasks, guint n_workers, guint done, double *ends, double *loads)
{
  double best = G_MAXDOUBLE;

  if (done == (1u << tasks->n) - 1)
    {
      best = 0;
      for (guint w = 0; w < n_workers; w++)
        best = MAX (best, loads[w]);
      return best;
    }
  for (guint i = 0; i < tasks->n; i++)
    {
      double start = 0;
      guint worker = 0;
      gboolean ready = !(done & 1u << i);
      for (guint k = 0; k < tasks->n; k++)
        if (waits_for (tasks, i, k))
          {
            ready = ready && (done & 1u << k);
            start = MAX (start, ends[k]);
          }
      if (!ready)
        continue;
      for (guint w = 1; w < n_workers; w++)
        if (loads[w] < loads[worker])
          worker = w;
      double old = loads[worker];
      ends[i] = loads[worker] = MAX (start, old) + tasks->ms[i];
      best = MIN (best, shortest_of_all (tasks, n_workers, done | 1u << i, ends, loads));
      loads[worker] = old;
    }
  return best;
}

static void
test_list (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  guint n_best = 0;

  for (guint round = 0; round < 300; round++)
    {
      guint n_workers = 1 + round % 3;
      g_autoptr (IrTasks) tasks = random_tasks (rand, 1 + round % 7, 0.3, 0);
      IrTaskPlace places[MANY], in_order[MANY];
      double ends[MANY] = { 0 }, loads[3] = { 0 };
      ir_tasks_place_by_list (tasks, n_workers, places);
      ir_tasks_place_in_order (tasks, n_workers, in_order);
      double found = check_places (tasks, n_workers, places, TRUE);
      double file = check_places (tasks, n_workers, in_order, TRUE);
      double best = shortest_of_all (tasks, n_workers, 0, ends, loads);
      g_assert_cmpfloat (found, <=, (2 - 1.0 / n_workers) * best);
      g_assert_cmpfloat (found, >=, best);
      g_assert_cmpfloat (file, >=, best);
      for (guint i = 1; i < tasks->n; i++)
        g_assert_cmpfloat (in_order[i - 1].start_ms, <=, in_order[i].start_ms);
      n_best += !(found > best);
      g_autoptr (IrScheduleReport) report = ir_tasks_report (tasks, n_workers, places);
      g_assert_cmpfloat (report->makespan_ms, ==, found);
      g_assert_cmpfloat (report->bound_ms, <=, best);
      g_assert_cmpuint (report->max_width, <=, n_workers);
    }
  g_assert_cmpuint (n_best, >, 200);
}

static void
test_report (void)
{
  const double ms[] = { 2, 3, 5, 1 };
  const IrTaskEdge edges[] = {
    { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }, { 0, 1 }, { 3, 3 }, { 2, 1 }
  };
  g_autoptr (IrTasks) tasks = ir_tasks_new (4, ms, edges, G_N_ELEMENTS (edges));
  const IrWidth widths[] = { { 0, 1 }, { 2, 2 }, { 5, 1 }, { 8, 0 } };
  IrTaskPlace places[4];

  ir_tasks_place_by_list (tasks, 2, places);
  g_autoptr (IrScheduleReport) report = ir_tasks_report (tasks, 2, places);
  g_assert_cmpfloat (report->critical_path_ms, ==, 8);
  g_assert_cmpfloat (report->work_ms, ==, 11);
  g_assert_cmpfloat (report->bound_ms, ==, 8);
  g_assert_cmpfloat (report->makespan_ms, ==, 8);
  g_assert_cmpfloat_with_epsilon (report->utilization, 11 / 16.0, 1e-12);
  g_assert_cmpfloat_with_epsilon (report->parallelism, 11 / 8.0, 1e-12);
  g_assert_cmpuint (report->max_width, ==, 2);
  g_assert_cmpuint (report->widths->len, ==, 4);
  for (guint i = 0; i < 4; i++)
    {
      g_assert_cmpfloat (g_array_index (report->widths, IrWidth, i).from_ms, ==, widths[i].from_ms);
      g_assert_cmpuint (g_array_index (report->widths, IrWidth, i).n, ==, widths[i].n);
    }
}

/* -- the shortest of all sequences of stages -- */

typedef struct
{
  const IrTasks *tasks;
  guint n_workers, max_group, max_groups;
} Stages;

/* How long a stage takes, by labels that spread along edges; negative if it breaks the bounds. */
static double
time_of_stage (const Stages *s, guint set)
{
  guint label[MANY], sizes[MANY] = { 0 }, n_groups = 0;
  double sums[MANY] = { 0 }, loads[MANY] = { 0 }, longest = 0, sum = 0, most = 0;
  gboolean same = TRUE;
  guint kin = G_MAXUINT;

  for (guint i = 0; i < s->tasks->n; i++)
    label[i] = i;
  for (guint round = 0; round < s->tasks->n; round++)
    for (guint i = 0; i < s->tasks->n; i++)
      for (guint k = 0; k < i; k++)
        if ((set & 1u << i) && (set & 1u << k) && waits_for (s->tasks, i, k))
          label[i] = label[k] = MIN (label[i], label[k]);
  for (guint i = 0; i < s->tasks->n; i++)
    if (set & 1u << i)
      {
        n_groups += sizes[label[i]]++ == 0;
        sums[label[i]] += s->tasks->ms[i];
        sum += s->tasks->ms[i];
        most = MAX (most, s->tasks->ms[i]);
        same = same && s->tasks->kin[i] != 0 && (kin == G_MAXUINT || kin == s->tasks->kin[i]);
        kin = s->tasks->kin[i];
        if (s->max_group > 0 && sizes[label[i]] > s->max_group)
          return -1;
      }
  if (s->max_groups > 0 && n_groups > s->max_groups)
    return -1;
  for (guint round = 0; round < n_groups; round++)
    {
      guint group = MANY, worker = 0;
      for (guint i = 0; i < MANY; i++)
        if (sizes[i] > 0 && (group == MANY || sums[i] > sums[group]))
          group = i;
      for (guint w = 1; w < s->n_workers; w++)
        if (loads[w] < loads[worker])
          worker = w;
      loads[worker] += sums[group];
      longest = MAX (longest, loads[worker]);
      sizes[group] = 0;
    }
  if (same && n_groups > 1 && n_groups == (guint) __builtin_popcount (set))
    longest = MIN (longest, MAX (sum - (n_groups - 1) * s->tasks->kin_saving_ms, most));
  return longest;
}

/* Every stage that can come next, then the best of what is left. */
static double
shortest_stages (const Stages *s, guint done)
{
  guint all = (1u << s->tasks->n) - 1;
  double best = done == all ? 0 : G_MAXDOUBLE;

  for (guint set = 1; set <= all; set++)
    {
      gboolean valid = (set & done) == 0;
      for (guint i = 0; i < s->tasks->n && valid; i++)
        for (guint k = 0; k < i && (set & 1u << i); k++)
          valid = valid && (!waits_for (s->tasks, i, k) || ((set | done) & 1u << k));
      double ms = valid ? time_of_stage (s, set) : -1;
      if (ms >= 0)
        best = MIN (best, ms + shortest_stages (s, done | set));
    }
  return best;
}

/* One task before and one behind all others keep the graph in one block, and two blocks more. */
static void
check_stages (const Stages *s)
{
  IrStageOptions options = { s->n_workers, s->max_group, s->max_groups, 0 };
  IrTaskPlace places[MANY] = { 0 };
  g_autoptr (IrStages) stages = ir_tasks_place_in_stages (s->tasks, &options, places);
  double makespan = check_places (s->tasks, s->n_workers, places, s->tasks->kin_saving_ms <= 0);
  double at = 0;
  guint n_tasks = 0;

  for (guint i = 0; i < stages->stages->len; i++)
    {
      const IrStage *stage = &g_array_index (stages->stages, IrStage, i);
      guint set = 0;
      for (guint k = 0; k < s->tasks->n; k++)
        if (places[k].stage == i)
          {
            set |= 1u << k;
            g_assert_cmpfloat (places[k].start_ms, >=, stage->start_ms);
            g_assert_cmpfloat (places[k].end_ms, <=, stage->end_ms + 1e-9);
          }
      g_assert_cmpuint (stage->n_tasks, ==, (guint) __builtin_popcount (set));
      g_assert_cmpfloat (stage->start_ms, ==, at);
      g_assert_cmpfloat_with_epsilon (stage->end_ms - stage->start_ms, time_of_stage (s, set),
                                      1e-9);
      at = stage->end_ms;
      n_tasks += stage->n_tasks;
    }
  g_assert_cmpuint (n_tasks, ==, s->tasks->n);
  g_assert_cmpfloat_with_epsilon (makespan, at, 1e-9);
  g_assert_cmpuint (stages->n_contracted, ==, 0);
  if (stages->n_blocks == 1)
    g_assert_cmpfloat_with_epsilon (makespan, shortest_stages (s, 0), 1e-9);
  else
    g_assert_cmpfloat (makespan, >=, shortest_stages (s, 0) - 1e-9);
}

static void
test_stages (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  guint n_whole = 0;

  for (guint round = 0; round < 3000; round++)
    {
      g_autoptr (IrTasks) tasks = random_tasks (rand, 1 + round % 6, 0.1 + 0.05 * (round % 7), 1);
      Stages s = { tasks, 1 + round % 3, round % 5, round % 4 };
      IrTaskPlace places[MANY] = { 0 };
      IrStageOptions options = { s.n_workers, s.max_group, s.max_groups, 0 };
      g_autoptr (IrStages) stages = ir_tasks_place_in_stages (tasks, &options, places);
      n_whole += stages->n_blocks == 1 && tasks->n > 3;
      check_stages (&s);
    }
  g_assert_cmpuint (n_whole, >, 100); /* enough of them were searched as a whole */
}

static void
test_merged_stages (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);

  for (guint round = 0; round < 200; round++)
    {
      g_autoptr (IrTasks) tasks = random_tasks (rand, 2 + round % 5, 0.2, 1);
      for (guint i = 0; i < tasks->n; i++)
        tasks->kin[i] = (guint) g_rand_int_range (rand, 0, 3);
      tasks->kin_saving_ms = 1 + round % 6;
      Stages s = { tasks, 1 + round % 2, 0, round % 3 };
      check_stages (&s);
    }
}

static void
test_cuts_lose_nothing (void)
{
  /* Diamonds in a row: each block is searched alone, and so are all of them together. */
  const double ms[] = { 1, 4, 3, 2, 5, 6, 1 };
  const IrTaskEdge edges[] = { { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 },
                               { 3, 4 }, { 3, 5 }, { 4, 6 }, { 5, 6 } };
  g_autoptr (IrTasks) tasks = ir_tasks_new (7, ms, edges, G_N_ELEMENTS (edges));
  Stages s = { tasks, 2, 0, 0 };
  IrStageOptions options = { .n_workers = 2 };
  IrTaskPlace places[MANY];
  g_autoptr (IrStages) stages = ir_tasks_place_in_stages (tasks, &options, places);

  g_assert_cmpuint (stages->n_blocks, ==, 3);
  g_assert_cmpfloat (places[6].end_ms, ==, 14);
  g_assert_cmpfloat (places[6].end_ms, ==, shortest_stages (&s, 0));
}

/* @width chains of @length between one task and another. */
static IrTasks *
chains (guint width, guint length)
{
  guint n = width * length + 2;
  g_autofree double *ms = g_new (double, n);
  g_autoptr (GArray) edges = g_array_new (FALSE, FALSE, sizeof (IrTaskEdge));

  for (guint i = 0; i < n; i++)
    ms[i] = 1 + i % 3;
  for (guint i = 1; i < n; i++)
    {
      IrTaskEdge edge = { (i - 1) % length == 0 ? 0 : i - 1, i }, last = { i, n - 1 };
      if (i < n - 1)
        g_array_append_val (edges, edge);
      if (i < n - 1 && i % length == 0)
        g_array_append_val (edges, last);
    }
  return ir_tasks_new (n, ms, (const IrTaskEdge *) (void *) edges->data, edges->len);
}

static void
test_wide_blocks (void)
{
  const guint widths[] = { 4, 6, 40, 90 }, lengths[] = { 3, 20, 3, 3 };

  for (guint i = 0; i < G_N_ELEMENTS (widths); i++)
    {
      g_autoptr (IrTasks) tasks = chains (widths[i], lengths[i]);
      g_autofree IrTaskPlace *places = g_new0 (IrTaskPlace, tasks->n);
      g_autofree IrTaskPlace *again = g_new0 (IrTaskPlace, tasks->n);
      IrStageOptions options = { .n_workers = 2, .max_steps = 20000 };
      g_autoptr (IrStages) stages = ir_tasks_place_in_stages (tasks, &options, places);
      g_autoptr (IrStages) same = ir_tasks_place_in_stages (tasks, &options, again);
      double makespan = check_places (tasks, 2, places, TRUE);
      g_autoptr (IrScheduleReport) report = ir_tasks_report (tasks, 2, places);
      g_assert_cmpfloat (makespan, >=, report->bound_ms);
      g_assert_cmpfloat (makespan, <=, 1.5 * report->bound_ms + 6);
      g_assert_cmpuint (stages->n_contracted > 0, ==, i >= 1);
      g_assert_cmpuint (stages->n_listed > 0, ==, i >= 2);
      g_assert_cmpuint (stages->n_steps, <=, 3 * stages->n_blocks * (options.max_steps + 1));
      g_assert_cmpuint (same->n_steps, ==, stages->n_steps);
      g_assert_cmpmem (again, sizeof *again * tasks->n, places, sizeof *places * tasks->n);
    }
}

/* -- streams -- */

/* Which tasks are known to be over when each begins, as bits: by the order in a stream, and by
 * waits. */
static void
known_to_be_over (
    const IrTasks *tasks, const guint *stream, const IrTaskEdge *waits, guint n_waits, guint *over)
{
  for (guint i = 0; i < tasks->n; i++)
    {
      over[i] = 0;
      for (guint k = 0; k < i; k++)
        {
          gboolean knows = stream[k] == stream[i];
          for (guint w = 0; w < n_waits && !knows; w++)
            knows = waits[w].from == k && waits[w].to == i;
          if (knows)
            over[i] |= over[k] | 1u << k;
        }
    }
}

static void
all_before (const IrTasks *tasks, guint *before)
{
  for (guint i = 0; i < tasks->n; i++)
    {
      before[i] = 0;
      for (guint k = 0; k < i; k++)
        if (waits_for (tasks, i, k))
          before[i] |= before[k] | 1u << k;
    }
}

/* The least number of waits that keep every edge with these streams, by trying all sets of waits.
 */
static guint
fewest_waits (const IrTasks *tasks, const guint *stream, const guint *before)
{
  IrTaskEdge pairs[16];
  guint n_pairs = 0, best = G_MAXUINT;

  for (guint i = 0; i < tasks->n; i++)
    for (guint k = 0; k < i; k++)
      if (stream[i] != stream[k] && (before[i] & 1u << k))
        pairs[n_pairs++] = (IrTaskEdge){ k, i };
  for (guint set = 0; set < 1u << n_pairs; set++)
    {
      IrTaskEdge waits[16];
      guint over[MANY], n = 0;
      for (guint p = 0; p < n_pairs; p++)
        if (set & 1u << p)
          waits[n++] = pairs[p];
      if (n >= best)
        continue;
      known_to_be_over (tasks, stream, waits, n, over);
      if (memcmp (over, before, sizeof *over * tasks->n) == 0)
        best = n;
    }
  return best;
}

/* Over all ways to give tasks streams in which only tasks that wait for each other stand together.
 */
static guint
fewest_waits_of_all (
    const IrTasks *tasks, guint *stream, guint task, guint n_streams, const guint *before)
{
  guint best = G_MAXUINT;

  if (task == tasks->n)
    return fewest_waits (tasks, stream, before);
  for (guint s = 0; s <= n_streams; s++)
    {
      gboolean path = TRUE;
      for (guint k = 0; k < task; k++)
        path = path && (stream[k] != s || (before[task] & 1u << k));
      stream[task] = s;
      if (path)
        best = MIN (best,
                    fewest_waits_of_all (tasks, stream, task + 1, MAX (n_streams, s + 1), before));
    }
  return best;
}

static void
test_streams (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (13);

  for (guint round = 0; round < 400; round++)
    {
      gboolean tiny = round < 200;
      g_autoptr (IrTasks)
          tasks = random_tasks (rand, 1 + round % (tiny ? 5 : MANY), 0.1 + 0.1 * (round % 6), 1);
      g_autoptr (IrStreams) streams = ir_tasks_streams (tasks, NULL);
      const IrTaskEdge *waits = (const IrTaskEdge *) (void *) streams->waits->data;
      guint over[MANY], before[MANY], stream[MANY], events = 0;
      all_before (tasks, before);
      known_to_be_over (tasks, streams->stream, waits, streams->waits->len, over);
      /* Every edge is kept, and nothing waits that need not: what could run at once can. */
      g_assert_cmpmem (over, sizeof *over * tasks->n, before, sizeof *before * tasks->n);
      for (guint i = 0; i < tasks->n; i++)
        g_assert_cmpuint (streams->stream[i], <, streams->n_streams);
      for (guint i = 0; i < streams->waits->len; i++)
        events |= 1u << waits[i].from;
      g_assert_cmpuint ((guint) __builtin_popcount (events), ==, streams->n_events);
      if (tiny)
        g_assert_cmpuint (streams->waits->len, ==,
                          fewest_waits_of_all (tasks, stream, 0, 0, before));
      /* Put together they keep every edge as well, and with events between streams alone. */
      ir_streams_limit (streams, tasks->n, 1 + round % 3);
      waits = (const IrTaskEdge *) (void *) streams->waits->data;
      known_to_be_over (tasks, streams->stream, waits, streams->waits->len, over);
      g_assert_cmpuint (streams->n_streams, <=, 1 + round % 3);
      for (guint i = 0; i < tasks->n; i++)
        {
          g_assert_cmpuint (streams->stream[i], <, streams->n_streams);
          g_assert_cmpuint (before[i] & ~over[i], ==, 0);
        }
      for (guint i = 0; i < streams->waits->len; i++)
        g_assert_cmpuint (streams->stream[waits[i].from], !=, streams->stream[waits[i].to]);
    }
}

static void
test_long_graphs (void)
{
  g_autoptr (IrTasks) tasks = chains (50, 1000);
  g_autoptr (IrStreams) streams = ir_tasks_streams (tasks, NULL);
  g_autofree IrTaskPlace *places = g_new0 (IrTaskPlace, tasks->n);

  g_assert_cmpuint (streams->n_streams, ==, 50);
  g_assert_cmpuint (streams->waits->len, ==, 98);
  ir_tasks_place_by_list (tasks, 50, places);
  g_autoptr (IrScheduleReport) report = ir_tasks_report (tasks, 50, places);
  g_assert_cmpfloat (report->makespan_ms, ==, report->critical_path_ms);
  g_autoptr (IrTasks) none = ir_tasks_new (0, NULL, NULL, 0);
  IrStageOptions options = { .n_workers = 2 };
  g_autoptr (IrStages) stages = ir_tasks_place_in_stages (none, &options, places);
  g_assert_cmpuint (stages->stages->len, ==, 0);
}

/* -- models -- */

static void
build_branches (Builder *b)
{
  builder_init (b, 17);
  IrValue *x = build_input (b, "x", "float[64,64]"), *ends[3];

  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *name = g_strdup_printf ("w%u", i);
      IrValue *w = build_constant (b, name, tensor_random ("float[64,64]", i));
      IrNode *node = build_node (b, NULL, "MatMul", 1, x, w, END);
      ends[i] = build_node (b, NULL, "Relu", 1, node->outputs[0], END)->outputs[0];
    }
  build_output (b, build_node (b, NULL, "Sum", 1, ends[0], ends[1], ends[2], END)->outputs[0]);
  build_done (b);
}

static void
check_items (const IrSchedule *schedule)
{
  for (guint i = 0; i < schedule->items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      guint n_found = 0;
      for (guint k = 0; k < i; k++)
        {
          const IrScheduleItem *other = &g_array_index (schedule->items, IrScheduleItem, k);
          for (guint j = 0; j < item->n_after; j++)
            n_found += item->after[j] == other->node && other->end_ms <= item->start_ms;
        }
      g_assert_cmpuint (n_found, ==, item->n_after);
    }
}

static void
test_policies (void)
{
  g_auto (Builder) b = { 0 };

  build_branches (&b);
  for (guint policy = 0; policy < IR_N_SCHEDULE_POLICIES; policy++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (IrScheduleDetails) details = NULL;
      IrScheduleOptions options = { .policy = (IrSchedulePolicy) policy, .stages.n_workers = 2 };
      IrSchedulePolicy found;
      g_assert_true (ir_schedule_policy_find (ir_schedule_policy_name (options.policy), &found));
      g_assert_cmpuint (found, ==, policy);
      g_autoptr (IrSchedule)
          schedule = ir_schedule_new_with (b.model, &ir_backend_ref, &options, &details, &error);
      g_assert_no_error (error);
      check_items (schedule);
      g_assert_cmpuint (details->tasks->n, ==, schedule->items->len);
      check_places (details->tasks, 2, details->places, FALSE);
      g_assert_cmpfloat (schedule->makespan_ms, >=, schedule->work_ms / 2 * 0.999999);
      if (policy != IR_SCHEDULE_MEMORY) /* whose order finishes one branch after another */
        g_assert_cmpfloat (schedule->makespan_ms, <, 0.8 * schedule->work_ms);
      guint n_kin = 0;
      for (guint i = 0; i < details->tasks->n; i++)
        n_kin += details->tasks->kin[i] != 0;
      g_assert_cmpuint (n_kin, ==, 3); /* three products of one value with constants */
    }
}

/* Names of policies and kernels: those that there are, and no others. */
static void
test_names (void)
{
  g_auto (Builder) b = { 0 };
  IrSchedulePolicy policy;

  build_branches (&b);
  g_assert_false (ir_schedule_policy_find ("none", &policy));
  g_assert_false (ir_schedule_policy_find ("", &policy));
  for (guint i = 1; i < b.model->nodes->len; i++)
    {
      const IrBackend *backend = ir_backend_find ("cpu");
      const IrNode *node = ir_model_node (b.model, i);
      g_auto (GStrv) choices = ir_kernel_choices (backend, node);

      g_assert_true (g_strv_contains ((const char *const *) choices, "ref"));
      for (guint k = 0; choices[k] != NULL; k++)
        g_assert_true (ir_kernel_is_choice (backend, node, choices[k]));
      g_assert_false (ir_kernel_is_choice (backend, node, "none"));
    }
}

static void
test_measured_costs (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  build_branches (&b);
  g_autoptr (GHashTable) inputs = ir_random_inputs (b.model, 1, NULL, &error);
  g_assert_no_error (error);
  IrRunOptions run_options = { .backend = &ir_backend_ref, .n_threads = 1 };
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &run_options, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *text = ir_trace_to_chrome_json (run->trace, run->model);
  g_autoptr (IrNodeCosts) costs = ir_node_costs_parse (b.model, text, strlen (text), &error);
  g_assert_no_error (error);
  g_assert_cmpuint (costs->n_nodes, ==, 7);
  g_assert_cmpuint (costs->n_unknown, ==, 0);
  g_assert_cmpuint (costs->n_workers, ==, 1);
  for (guint policy = 0; policy < IR_N_SCHEDULE_POLICIES; policy++)
    {
      g_autoptr (IrScheduleDetails) details = NULL;
      IrScheduleOptions options = { .policy = (IrSchedulePolicy) policy,
                                    .costs = costs,
                                    .stages.n_workers = 1 };
      g_autoptr (IrSchedule)
          schedule = ir_schedule_new_with (b.model, &ir_backend_ref, &options, &details, &error);
      g_assert_no_error (error);
      check_items (schedule);
      double sum = 0;
      for (guint i = 0; i < schedule->items->len; i++)
        {
          IrNodeId id = g_array_index (schedule->items, IrScheduleItem, i).node;
          g_assert_cmpfloat (details->tasks->ms[i], ==, costs->ms[id]);
          g_assert_cmpfloat (details->predicted_ms[i], >, 0);
          sum += costs->ms[id];
        }
      g_assert_cmpfloat_with_epsilon (schedule->work_ms, sum, 1e-9);
      if (policy != IR_SCHEDULE_IOS) /* which may merge */
        g_assert_cmpfloat_with_epsilon (schedule->makespan_ms, sum, 1e-9);
    }
}

static void
test_traces_as_text (void)
{
  g_auto (Builder) b = { 0 };
  build_branches (&b);
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (b.model->main, &n_nodes);
  g_autofree char *label = ir_node_label (nodes[0]);
  g_autoptr (GError) error = NULL;
  /* A wrong id does no harm where the label is right; other events are passed over, and so is what
   * warmed up. */
  g_autofree char *text = g_strdup_printf (
      "[{\"ph\":\"M\",\"name\":\"x\"},"
      "{\"ph\":\"X\",\"name\":\"%s\",\"ts\":0,\"dur\":9000,\"tid\":1,\"args\":{\"node\":99999}},"
      "{\"ph\":\"X\",\"name\":\"%s\",\"ts\":9000,\"dur\":1000,\"tid\":2},"
      "{\"ph\":\"X\",\"name\":\"%s\",\"ts\":12000,\"dur\":2000,\"tid\":2},"
      "{\"ph\":\"X\",\"name\":\"%s\",\"ts\":12000,\"dur\":-2},"
      "{\"ph\":\"X\",\"name\":\"%s\",\"ts\":0,\"dur\":90000,\"pid\":9,\"tid\":3},"
      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":9,\"args\":{\"name\":\"warm-up\"}},"
      "{\"ph\":\"X\",\"name\":\"nothing\",\"ts\":0,\"dur\":1}, 7, null]",
      label, label, label, label, label);
  const char *bad[] = { "",
                        "{",
                        "7",
                        "{\"traceEvents\":3}",
                        "[]",
                        "[[], {}]",
                        "[{\"ph\":\"X\",\"name\":\"nothing\",\"ts\":0,\"dur\":1}]" };
  g_autoptr (IrNodeCosts) costs = ir_node_costs_parse (b.model, text, strlen (text), &error);

  g_assert_no_error (error);
  g_assert_cmpfloat (costs->ms[nodes[0]->id], ==, 2); /* the median */
  g_assert_cmpfloat (costs->ms[nodes[1]->id], <, 0);
  g_assert_cmpuint (costs->n_nodes, ==, 1);
  g_assert_cmpuint (costs->n_unknown, ==, 1);
  g_assert_cmpuint (costs->n_workers, ==, 2);
  g_assert_cmpfloat (costs->span_ms, ==, 14);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) refusal = NULL;
      g_assert_null (ir_node_costs_parse (b.model, bad[i], strlen (bad[i]), &refusal));
      g_assert_error (refusal, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/schedules/list scheduling keeps its guarantee, and is often the best",
                   test_list);
  g_test_add_func ("/schedules/bounds, width and utilization are those of a small graph",
                   test_report);
  g_test_add_func ("/schedules/stages are the best of all sequences of stages", test_stages);
  g_test_add_func ("/schedules/tasks of one kin are merged where that is shorter",
                   test_merged_stages);
  g_test_add_func ("/schedules/cuts where everything joins lose nothing", test_cuts_lose_nothing);
  g_test_add_func ("/schedules/blocks that are too wide are bounded, and that is reported",
                   test_wide_blocks);
  g_test_add_func ("/schedules/streams keep every edge with the fewest waits", test_streams);
  g_test_add_func ("/schedules/graphs of 50,000 tasks are no trouble", test_long_graphs);
  g_test_add_func ("/schedules/every policy gives a valid schedule of a model", test_policies);
  g_test_add_func ("/schedules/policies and kernels have names", test_names);
  g_test_add_func ("/schedules/measured times replace predicted ones", test_measured_costs);
  g_test_add_func ("/schedules/traces are read with care", test_traces_as_text);
  return g_test_run ();
}
