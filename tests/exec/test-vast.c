/* Plans of graphs with very many nodes, operands and readers: what keeps them fast gives what
 * looking at everything would, and whoever makes them looks whether to stop. No time is asserted;
 * what looked at all pairs would run into the test's limit. */
#include "config.h"

#include "core/exec/memory/intervals.h"
#include "core/exec/memory/peak-tree.h"
#include "core/exec/recompute/recompute.h"
#include "core/exec/schedule/tasks.h"
#include "core/exec/memory/ranges.h"
#include "tests/exec/graphs.h"

#define MANY 30000 /* operands: 10^9 pairs */

/* -- items of a block -- */

typedef struct
{
  gboolean alive, dead; /* dead: of no more use, and goes where it is met */
  guint64 at, size;
} Place;

typedef struct
{
  Place *places;
  gboolean *met;
  guint n_met, enough; /* stop at so many; 0: never */
} Meeting;

static IrMemIntervalVerdict
meet (guint item, gpointer data)
{
  Meeting *meeting = data;

  g_assert_false (meeting->met[item]);
  g_assert_true (meeting->places[item].alive);
  if (meeting->places[item].dead)
    {
      meeting->places[item].alive = FALSE;
      return IR_MEM_INTERVAL_REMOVE;
    }
  meeting->met[item] = TRUE;
  return ++meeting->n_met == meeting->enough ? IR_MEM_INTERVAL_STOP : IR_MEM_INTERVAL_KEEP;
}

static IrMemIntervalVerdict
drop_dead (guint item, gpointer data)
{
  Place *places = data;

  if (places[item].dead)
    places[item].alive = FALSE;
  return places[item].dead ? IR_MEM_INTERVAL_REMOVE : IR_MEM_INTERVAL_KEEP;
}

static void
check_meeting (
    IrMemIntervals *intervals, Place *places, guint n, guint64 at, guint64 size, guint enough)
{
  g_autofree gboolean *met = g_new0 (gboolean, n);
  Meeting meeting = { places, met, 0, enough };
  guint n_expected = 0;

  for (guint i = 0; i < n; i++)
    n_expected += places[i].alive && !places[i].dead && places[i].at < at + size &&
                  at < places[i].at + places[i].size;
  ir_mem_intervals_visit (intervals, at, size, meet, &meeting);
  g_assert_cmpuint (meeting.n_met, ==, enough > 0 ? MIN (enough, n_expected) : n_expected);
  for (guint i = 0; i < n; i++)
    g_assert_true (!met[i] || (places[i].at < at + size && at < places[i].at + places[i].size));
}

static void
test_items_of_a_block (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (41);
  Place places[400] = { 0 };
  const guint n = G_N_ELEMENTS (places);

  for (guint round = 0; round < 20; round++)
    {
      IrMemIntervals *intervals[4];
      guint in[400];
      for (guint k = 0; k < 4; k++)
        intervals[k] = ir_mem_intervals_new ();
      for (guint i = 0; i < n; i++)
        {
          in[i] = (guint) g_rand_int_range (rand, 0, 4);
          in[i] = round % 2 == 0 ? in[i] : MIN (in[i], 1); /* the fewer join the more either way */
          places[i] = (Place){ TRUE, FALSE, (guint64) g_rand_int_range (rand, 0, 1000),
                               (guint64) g_rand_int_range (rand, 1, 60) };
          ir_mem_intervals_add (intervals[in[i]], i, places[i].at, places[i].size);
        }
      /* The others become ranges of the first, one after the other. */
      for (guint k = 1; k < 4; k++)
        {
          guint64 by = (guint64) g_rand_int_range (rand, 0, 500);
          for (guint i = 0; i < n; i++)
            {
              places[i].dead = places[i].dead || g_rand_int_range (rand, 0, 12) == 0;
              if (in[i] == k)
                places[i].at += by;
            }
          intervals[0] = ir_mem_intervals_join (intervals[0], intervals[k], by, drop_dead, places);
          for (guint i = 0; i < n; i++)
            in[i] = in[i] == k ? 0 : in[i];
        }
      for (guint ask = 0; ask < 100; ask++)
        {
          guint dies = (guint) g_rand_int_range (rand, 0, (gint32) n);
          places[dies].dead = TRUE;
          check_meeting (intervals[0], places, n, (guint64) g_rand_int_range (rand, 0, 2500),
                         (guint64) g_rand_int_range (rand, 1, 100),
                         ask % 3 == 0 ? (guint) g_rand_int_range (rand, 1, 4) : 0);
        }
      ir_mem_intervals_free (intervals[0]);
    }
}

/* -- what lives -- */

static void
test_what_lives (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (42);
  guint n_low = 0, n_high = 0;

  for (guint n_steps = 1; n_steps < 40; n_steps++)
    {
      g_autoptr (GArray) blocks = g_array_new (FALSE, TRUE, sizeof (IrMemBlock));
      g_autofree gint64 *bytes = g_new0 (gint64, n_steps);
      gint64 most = 0;
      IrMemLive live;

      for (guint i = 0; i < 10; i++)
        {
          guint first = (guint) g_rand_int_range (rand, 0, (gint32) n_steps);
          IrMemBlock block = { .size = (guint64) g_rand_int_range (rand, 1, 500),
                               .first = first,
                               .last = (guint) g_rand_int_range (rand, (gint32) first,
                                                                 (gint32) n_steps) };
          g_array_append_val (blocks, block);
          for (guint step = first; step <= block.last; step++)
            bytes[step] += (gint64) (block.size + 63) / 64 * 64;
        }
      for (guint step = 0; step < n_steps; step++)
        most = MAX (most, bytes[step]);
      ir_mem_live_init (&live, blocks, n_steps, 64);
      g_assert_cmpint (live.most, ==, most);
      for (guint round = 0; round < 200; round++)
        {
          guint first = (guint) g_rand_int_range (rand, 0, (gint32) n_steps);
          guint last = (guint) g_rand_int_range (rand, 0, (gint32) n_steps);
          gint64 more = g_rand_int_range (rand, -300, 300);
          gboolean low = TRUE;
          ir_mem_live_add (&live, first, last, more);
          for (guint step = first; step <= last; step++)
            bytes[step] += more;
          first = (guint) g_rand_int_range (rand, 0, (gint32) n_steps);
          last = (guint) g_rand_int_range (rand, 0, (gint32) n_steps);
          for (guint step = first; step <= last; step++)
            low = low && bytes[step] <= most;
          g_assert_cmpint (ir_mem_live_is_low (&live, first, last), ==, low);
          n_low += low && first < last;
          n_high += !low;
        }
      ir_mem_live_clear (&live);
    }
  g_assert_cmpuint (n_low, >, 100);
  g_assert_cmpuint (n_high, >, 100);
}

/* -- best fit -- */

static int
compare_birth (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrMemBlock *blocks = data;
  guint i = *(const guint *) a, j = *(const guint *) b;

  if (blocks[i].first != blocks[j].first)
    return blocks[i].first < blocks[j].first ? -1 : 1;
  if (blocks[i].size != blocks[j].size)
    return blocks[i].size > blocks[j].size ? -1 : 1;
  return i < j ? -1 : i > j;
}

static void
test_best_fit (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (43);
  IrMemBlock blocks[120] = { 0 }, same[120];
  const guint n = G_N_ELEMENTS (blocks);

  for (guint round = 0; round < 100; round++)
    {
      IrMemOptions options = { .align_bytes = round % 2 == 0 ? 1 : 64 };
      gint32 life = g_rand_int_range (rand, 1, 60);
      for (guint i = 0; i < n; i++)
        {
          blocks[i].size = (guint64) g_rand_int_range (rand, round % 5 == 0 ? 0 : 1, 400);
          blocks[i].first = (guint) g_rand_int_range (rand, 0, 80);
          blocks[i].last = blocks[i].first + (guint) g_rand_int_range (rand, 0, life);
          same[i] = blocks[i];
        }
      guint64 peak = ir_mem_place_best_fit (blocks, n, &options);
      g_assert_cmpuint (peak, ==, ir_mem_place_in_order (same, n, &options, compare_birth));
      for (guint i = 0; i < n; i++)
        g_assert_cmpuint (blocks[i].offset, ==, same[i].offset);
    }
}

/* Of blocks of one size that nobody could look at in pairs the fast algorithm alone is asked. */
static void
test_many_live_at_once (void)
{
  g_autofree IrMemBlock *blocks = g_new0 (IrMemBlock, MANY);
  const IrMemOptions options = { .align_bytes = 64, .max_steps = IR_MEM_DEFAULT_STEPS };
  IrMemResult result;

  for (guint i = 0; i < MANY; i++)
    blocks[i] = (IrMemBlock){ .size = 64, .first = i, .last = i + MANY / 2 };
  g_assert_true (ir_mem_place (blocks, MANY, &options, &result));
  g_assert_cmpuint (result.peak_bytes, ==, 64 * (MANY / 2 + 1));
  g_assert_true (result.proven);
  g_assert_cmpuint (result.algorithm, ==, IR_MEM_BEST_FIT);
  g_assert_cmpuint (result.peaks[IR_MEM_GREEDY_SIZE], ==, 0);
}

/* -- graphs -- */

/* @n nodes that read @x. */
static IrValue **
build_many (Builder *b, IrValue *x, guint n)
{
  IrValue **made = g_new (IrValue *, n);

  for (guint i = 0; i < n; i++)
    made[i] = build_node (b, NULL, i % 2 == 0 ? "Exp" : "Neg", 1, x, END)->outputs[0];
  return made;
}

static IrNode *
build_over (Builder *b, const char *op, IrValue **inputs, guint n)
{
  return ir_edit_add_node (b->edit, b->model->main, op, NULL, NULL, n, inputs, 1);
}

/* One value, @n nodes that read it, and one that joins all of them. */
static IrValue *
build_joined (Builder *b, guint n)
{
  builder_init (b, 17);
  g_autofree IrValue **made = build_many (b, build_input (b, "x", "float[16]"), n);
  IrNode *join = build_over (b, "Concat", made, n);
  build_int (b, join, "axis", 0);
  build_output (b, build_node (b, NULL, "Neg", 1, join->outputs[0], END)->outputs[0]);
  build_done (b);
  return join->outputs[0];
}

/* One value that is cut into @n, which are read one by one, and what is made of them summed up. */
static IrValue *
build_cut (Builder *b, guint n)
{
  g_autofree gint64 *sizes = g_new (gint64, n);
  g_autofree IrValue **made = g_new (IrValue *, n);

  builder_init (b, 17);
  for (guint i = 0; i < n; i++)
    sizes[i] = 16;
  g_autofree char *type = g_strdup_printf ("float[%u]", 16 * n);
  IrNode *whole = build_node (b, NULL, "Exp", 1, build_input (b, "x", type), END);
  IrValue *split[] = { whole->outputs[0],
                       build_constant (b, "sizes", ir_tensor_new_int64s (sizes, n)) };
  IrNode *cut = ir_edit_add_node (b->edit, b->model->main, "Split", NULL, NULL, 2, split, n);
  for (guint i = 0; i < n; i++)
    made[i] = build_node (b, NULL, "Neg", 1, cut->outputs[i], END)->outputs[0];
  build_output (
      b,
      build_node (b, NULL, "Exp", 1, build_over (b, "Sum", made, n)->outputs[0], END)->outputs[0]);
  build_done (b);
  return whole->outputs[0];
}

static IrSchedule *
schedule_of (const Builder *b)
{
  g_autoptr (GError) error = NULL;
  IrSchedule *schedule = ir_schedule_new (b->model, &ir_backend_ref, 1, &error);

  g_assert_no_error (error);
  return schedule;
}

static void
test_many_are_joined (void)
{
  g_auto (Builder) b = { 0 };
  const IrValue *whole = build_joined (&b, MANY);
  guint n_in_whole = 0;

  g_autoptr (IrSchedule) schedule = schedule_of (&b);
  g_assert_cmpuint (g_array_index (schedule->items, IrScheduleItem, MANY).n_after, ==, MANY);
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, schedule, 64);
  g_assert_cmpuint (plan->peak_bytes, ==, (guint64) MANY * 64);
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      n_in_whole += item->part_of == whole->id &&
                    ir_mem_plan_distance (plan, whole->id, item->value) == 64ul * n_in_whole;
    }
  g_assert_cmpuint (n_in_whole, ==, MANY);
}

static void
test_many_are_cut (void)
{
  g_auto (Builder) b = { 0 };
  const IrValue *whole = build_cut (&b, MANY);
  guint n_cut = 0, n_over = 0;

  g_autoptr (IrSchedule) schedule = schedule_of (&b);
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, schedule, 64);
  g_assert_cmpuint (plan->peak_bytes, ==, (guint64) MANY * 64);
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      n_cut += item->view_of == whole->id;
      n_over += item->over != 0; /* each written over its own part, and the sum over the first */
    }
  g_assert_cmpuint (n_cut, ==, MANY);
  g_assert_cmpuint (n_over, ==, MANY + 1);
}

/* A run lays each of them where the plan says, and computes nothing for those. */
static void
test_runs_of_many (void)
{
  for (guint round = 0; round < 2; round++)
    {
      g_auto (Builder) b = { 0 };
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_autoptr (GError) error = NULL;
      IrRunOptions options = { .n_threads = 1 };
      if (round == 0)
        build_joined (&b, MANY);
      else
        build_cut (&b, MANY);
      const IrValue *x = ir_graph_input (b.model->main, 0);
      const IrValue *y = ir_graph_output (b.model->main, 0);
      g_autofree char *type = ir_type_to_string (b.model->context, x->type);
      inputs_add (inputs, x, tensor_of (type, "0"));
      g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (run->trace->arena_bytes, ==, run->memplan->peak_bytes);
      /* -exp (0) and -(-0), one after the other; exp (30000 * -exp (0)). */
      const IrTensor *tensor = ir_run_value (run, y->id);
      g_assert_cmpfloat (ir_tensor_get_double (tensor, 0), ==, round == 0 ? -1 : 0);
      g_assert_cmpfloat (ir_tensor_get_double (tensor, 15), ==, round == 0 ? -1 : 0);
    }
}

/* -- the order for memory -- */

/* Joined parts, so that sizes differ; what nobody reads is an output. */
static void
build_random (Builder *b, GRand *rand, guint n)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  g_autofree guint *sizes = g_new (guint, n + 1); /* elements */

  builder_init (b, 17);
  g_ptr_array_add (values, build_input (b, "x", "float[8]"));
  sizes[0] = 8;
  for (guint i = 0; i < n; i++)
    {
      guint from = values->len > 12 && g_rand_int_range (rand, 0, 4) > 0 ? values->len - 12 : 0;
      guint one = (guint) g_rand_int_range (rand, (gint32) from, (gint32) values->len);
      guint two = (guint) g_rand_int_range (rand, (gint32) from, (gint32) values->len);
      gboolean joins = i % 3 == 2 && sizes[one] + sizes[two] < 200;
      IrNode *node = joins ? build_node (b, NULL, "Concat", 1, values->pdata[one],
                                         values->pdata[two], END)
                           : build_node (b, NULL, "Neg", 1, values->pdata[one], END);
      if (joins)
        build_int (b, node, "axis", 0);
      sizes[i + 1] = joins ? sizes[one] + sizes[two] : sizes[one];
      g_ptr_array_add (values, node->outputs[0]);
    }
  for (guint i = 1; i < values->len; i++)
    if (((IrValue *) values->pdata[i])->n_uses == 0)
      build_output (b, values->pdata[i]);
  build_done (b);
}

typedef struct
{
  const IrModel *model;
  const GArray *items;
  guint n;
  guint *place; /* by node id: when it has run; G_MAXUINT: not yet */
} Trial;

static gint64
bytes_of (const IrValue *value)
{
  gsize bytes = 0;

  for (guint i = 0; i < value->n_uses; i++)
    if (ir_value_use (value, i).node == NULL)
      return 0;
  return ir_type_n_bytes (value->type, &bytes) ? (gint64) bytes : 0;
}

static gboolean
has_other_readers (const Trial *trial, const IrValue *value, const IrNode *but)
{
  for (guint i = 0; i < value->n_uses; i++)
    if (ir_value_use (value, i).node != but &&
        trial->place[ir_value_use (value, i).node->id] == G_MAXUINT)
      return TRUE;
  return FALSE;
}

/* By how much what lives grows when @node runs; G_MAXINT64: it cannot. */
static gint64
growth_of (const Trial *trial, const IrNode *node)
{
  gint64 growth = bytes_of (node->outputs[0]);

  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *read = node->inputs[i];
      if (read->producer != NULL && trial->place[read->producer->id] == G_MAXUINT)
        return G_MAXINT64;
      if (!(i == 1 && node->inputs[0] == read) && read->producer != NULL &&
          !has_other_readers (trial, read, node))
        growth -= bytes_of (read);
    }
  return growth;
}

static gint64
peak_of (const Builder *b, const GArray *items)
{
  g_autofree guint *place = g_new (guint, b->model->nodes->len);
  Trial trial = { b->model, items, items->len, place };
  gint64 live = 0, peak = 0;

  memset (place, 0xff, sizeof *place * b->model->nodes->len);
  for (guint k = 0; k < items->len; k++)
    {
      const IrNode *node = ir_model_node (b->model, g_array_index (items, IrScheduleItem, k).node);
      gint64 growth = growth_of (&trial, node);
      g_assert_cmpint (growth, !=, G_MAXINT64);
      peak = MAX (peak, live + bytes_of (node->outputs[0]));
      live += growth;
      place[node->id] = k;
    }
  return peak;
}

/* The rule as it is told: of all that are ready the one that frees most, of equal ones the first.
 */
static void
test_order_is_greedy (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (44);
  guint n_better = 0;

  for (guint round = 0; round < 30; round++)
    {
      g_auto (Builder) b = { 0 };
      build_random (&b, rand, 60);
      g_autoptr (IrSchedule) schedule = schedule_of (&b);
      g_autoptr (GArray) old = g_array_copy (schedule->items);
      g_autofree guint *place = g_new (guint, b.model->nodes->len);
      g_autofree IrNodeId *expected = g_new (IrNodeId, old->len);
      Trial trial = { b.model, old, old->len, place };
      memset (place, 0xff, sizeof *place * b.model->nodes->len);
      for (guint k = 0; k < old->len; k++)
        {
          const IrNode *best = NULL;
          gint64 least = G_MAXINT64;
          for (guint i = 0; i < old->len; i++)
            {
              const IrNode *node = ir_model_node (b.model,
                                                  g_array_index (old, IrScheduleItem, i).node);
              gint64 growth = place[node->id] == G_MAXUINT ? growth_of (&trial, node) : G_MAXINT64;
              if (growth < least)
                {
                  least = growth;
                  best = node;
                }
            }
          place[best->id] = k;
          expected[k] = best->id;
        }
      gboolean better = ir_schedule_order_for_memory (schedule, b.model);
      g_assert_cmpint (better, ==, peak_of (&b, schedule->items) < peak_of (&b, old));
      n_better += better;
      for (guint k = 0; k < old->len; k++)
        g_assert_cmpuint (g_array_index (schedule->items, IrScheduleItem, k).node, ==,
                          better ? expected[k] : g_array_index (old, IrScheduleItem, k).node);
    }
  g_test_message ("%u of 30 need less", n_better);
  g_assert_cmpuint (n_better, >, 5);
}

/* Each of @n large values shrinks to a number; the order of the file makes all of them first. */
static void
build_shrinking (Builder *b, guint n)
{
  g_autofree IrValue **numbers = g_new (IrValue *, n);

  builder_init (b, 17);
  g_autofree IrValue **made = build_many (b, build_input (b, "x", "float[64]"), n);
  for (guint i = 0; i < n; i++)
    numbers[i] = build_node (b, NULL, "ReduceSum", 1, made[i], END)->outputs[0];
  IrNode *sum = build_over (b, "Sum", numbers, n);
  build_output (b, build_node (b, NULL, "Neg", 1, sum->outputs[0], END)->outputs[0]);
  build_done (b);
}

static void
test_order_of_many (void)
{
  g_auto (Builder) b = { 0 };

  build_shrinking (&b, MANY);
  g_autoptr (IrSchedule) schedule = schedule_of (&b);
  g_assert_true (ir_schedule_order_for_memory (schedule, b.model));
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, schedule, 64);
  g_assert_cmpuint (plan->peak_bytes, <=, 64ul * MANY + 256);
}

/* Many parts that are cut, with less memory than they need together. */
static void
test_budget_for_many (void)
{
  g_auto (Builder) b = { 0 };
  const IrMemOptions options = { .align_bytes = 64 };

  build_cut (&b, MANY);
  g_autoptr (IrSchedule) schedule = schedule_of (&b);
  g_autoptr (IrRecomputeGraph) graph = ir_recompute_graph_new (b.model, schedule, 0, &options);
  g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&graph->problem, 64ul * MANY, &options);
  /* The parts lie in the whole, and what is made of each in its place. */
  g_assert_true (plan->feasible);
  g_assert_cmpuint (plan->runs->len, ==, MANY + 4); /* none again */
  g_assert_cmpuint (plan->peak_bytes, ==, 64ul * MANY);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/vast/the items that have some bytes of a block are found",
                   test_items_of_a_block);
  g_test_add_func ("/vast/what lives at each step is known when it changes", test_what_lives);
  g_test_add_func ("/vast/best fit finds the gaps that looking at all blocks finds", test_best_fit);
  g_test_add_func ("/vast/many blocks that live at once are placed", test_many_live_at_once);
  g_test_add_func ("/vast/many operands lie in what they are joined to", test_many_are_joined);
  g_test_add_func ("/vast/many parts lie in what they are cut from", test_many_are_cut);
  g_test_add_func ("/vast/runs have many operands and parts in place", test_runs_of_many);
  g_test_add_func ("/vast/what frees most comes first in the order for memory",
                   test_order_is_greedy);
  g_test_add_func ("/vast/many ready nodes are ordered for memory", test_order_of_many);
  g_test_add_func ("/vast/a budget for many parts is planned", test_budget_for_many);
  return g_test_run ();
}
