/* Concurrent nodes: the same bits as one at a time, on random graphs; errors, cancelling,
 * limits, captured values, memory and traces; and what the first runs decide. */
#include "config.h"

#include <string.h>

#include "core/exec/kernel/backend.h"
#include "core/exec/schedule/tasks.h"
#include "core/io/io.h"
#include "tests/exec/graphs.h"

/* -- random graphs -- */

#define ROWS    24
#define COLUMNS 16
#define TYPE    "float[24,16]"

typedef struct
{
  Builder b;
  GHashTable *inputs;
  GPtrArray *values; /* of IrValue *, all TYPE */
} Random;

static void
random_clear (Random *random)
{
  g_clear_pointer (&random->inputs, g_hash_table_unref);
  g_clear_pointer (&random->values, g_ptr_array_unref);
  builder_clear (&random->b);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Random, random_clear)

static IrValue *
pick (const Random *random, GRand *rand)
{
  /* Mostly one of the latest, so that there are chains as well. */
  guint n = random->values->len, back = (guint) g_rand_int_range (rand, 0, (gint) MIN (n, 6));

  return g_ptr_array_index (random->values, n - 1 - (g_rand_boolean (rand) ? back : back % 2));
}

static IrValue *
unary (Random *random, const char *op, IrValue *x)
{
  return build_node (&random->b, NULL, op, 1, x, END)->outputs[0];
}

/* There and back again: two views, one of which may lie in the arena. */
static IrValue *
add_views (Random *random, IrValue *x)
{
  Builder *b = &random->b;
  static const gint64 flat[] = { ROWS * COLUMNS }, full[] = { ROWS, COLUMNS };
  g_autofree char *first = g_strdup_printf ("flat%u", random->values->len);
  g_autofree char *second = g_strdup_printf ("full%u", random->values->len);
  IrValue *to = build_constant (b, first, ir_tensor_new_int64s (flat, 1));
  IrValue *back = build_constant (b, second, ir_tensor_new_int64s (full, 2));
  IrValue *view = build_node (b, NULL, "Reshape", 1, x, to, END)->outputs[0];

  return build_node (b, NULL, "Reshape", 1, unary (random, "Abs", view), back, END)->outputs[0];
}

/* x * w, with a weight of its own. */
static IrValue *
add_product (Random *random, IrValue *x)
{
  g_autofree char *name = g_strdup_printf ("w%u", random->values->len);
  IrValue *w = build_constant (&random->b, name, tensor_random ("float[16,16]", 1));

  return build_node (&random->b, NULL, "MatMul", 1, x, w, END)->outputs[0];
}

/* Both halves of the rows, the second one first. */
static IrValue *
add_halves (Random *random, IrValue *x)
{
  IrNode *split = build_node (&random->b, NULL, "Split", 2, x, END);
  IrNode *joined = build_node (&random->b, NULL, "Concat", 1, split->outputs[1], split->outputs[0],
                               END);

  build_int (&random->b, split, "num_outputs", 2);
  build_int (&random->b, joined, "axis", 0);
  return joined->outputs[0];
}

/* if sum (x) > 0: -x, else: x + y */
static IrValue *
add_branch (Random *random, IrValue *x, IrValue *y)
{
  Builder *b = &random->b;
  IrGraph *yes = ir_edit_add_graph (b->edit, IR_GRAPH_SUBGRAPH, "yes");
  IrGraph *no = ir_edit_add_graph (b->edit, IR_GRAPH_SUBGRAPH, "no");
  IrNode *neg = build_node (b, yes, "Neg", 1, x, END);
  IrNode *sum = build_node (b, no, "Add", 1, x, y, END);
  IrNode *total = build_node (b, NULL, "ReduceSum", 1, x, END);
  g_autofree char *name = g_strdup_printf ("zero%u", random->values->len);
  IrValue *zero = build_constant (b, name, tensor_of ("float[]", "0"));
  build_int (b, total, "keepdims", 0);
  IrNode *c = build_node (b, NULL, "Greater", 1, total->outputs[0], zero, END);
  ir_edit_set_graph_outputs (b->edit, yes, &neg->outputs[0], 1);
  ir_edit_set_graph_outputs (b->edit, no, &sum->outputs[0], 1);
  IrNode *branch = build_node (b, NULL, "If", 1, c->outputs[0], END);
  ir_edit_set_attr (b->edit, branch, ir_attr_graph (b->model->context, "then_branch", yes->id));
  ir_edit_set_attr (b->edit, branch, ir_attr_graph (b->model->context, "else_branch", no->id));
  return branch->outputs[0];
}

static IrValue *
add_random (Random *random, GRand *rand, gboolean control)
{
  static const char *const unaries[] = { "Relu", "Sigmoid", "Neg", "Tanh", "Softmax", "Identity" };
  static const char *const binaries[] = { "Add", "Mul", "Sub", "Max" };
  IrValue *x = pick (random, rand), *y = pick (random, rand);

  switch (g_rand_int_range (rand, 0, control ? 10 : 9))
    {
    case 0:
    case 1:
    case 2:
      return unary (random, unaries[g_rand_int_range (rand, 0, G_N_ELEMENTS (unaries))], x);
    case 3:
    case 4:
    case 5:
      return build_node (&random->b, NULL,
                         binaries[g_rand_int_range (rand, 0, G_N_ELEMENTS (binaries))], 1, x, y,
                         END)
          ->outputs[0];
    case 6:
      return add_product (random, x);
    case 7:
      return add_views (random, x);
    case 8:
      return add_halves (random, x);
    default:
      return add_branch (random, x, y);
    }
}

static void
random_init (Random *random, GRand *rand, guint n_nodes, gboolean control)
{
  *random = (Random){ .inputs = inputs_new (), .values = g_ptr_array_new () };
  builder_init (&random->b, 18);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%u", i);
      IrValue *x = build_input (&random->b, name, TYPE);
      inputs_add (random->inputs, x, tensor_random (TYPE, i + 1));
      g_ptr_array_add (random->values, x);
    }
  for (guint i = 0; i < n_nodes; i++)
    g_ptr_array_add (random->values, add_random (random, rand, control));
  for (guint i = 0; i < random->values->len; i++)
    {
      IrValue *value = g_ptr_array_index (random->values, i);
      if (value->n_uses == 0)
        build_output (&random->b, value);
    }
  build_done (&random->b);
}

/* -- the same as one at a time -- */

static IrRun *
run_once (IrModel *model, GHashTable *inputs, const IrRunOptions *options)
{
  g_autoptr (GError) error = NULL;
  IrRun *run = ir_model_run (model, inputs, options, NULL, &error);

  g_assert_no_error (error);
  return run;
}

static void
assert_same_values (const IrRun *found, const IrRun *expected)
{
  g_assert_cmpuint (ir_run_n_kept (found), ==, ir_run_n_kept (expected));
  for (guint id = 0; id < expected->n_values; id++)
    {
      IrTensor *a = ir_run_value (expected, id), *b = ir_run_value (found, id);
      g_assert_true ((a == NULL) == (b == NULL));
      g_assert_true (a == NULL || ir_tensor_equal (a, b));
    }
}

static guint
n_beside (const IrRun *run)
{
  guint n = 0;

  for (guint i = 0; run->schedule->spans != NULL && i < run->schedule->spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (run->schedule->spans, IrScheduleSpan, i);
      n += span->last + 1 - span->first;
    }
  return n;
}

/* Steps of a span are one moment; what shares bytes lives from the first's start to the last's
 * end. */
static void
find_life (const IrRun *run, const IrMemItem *item, guint *first, guint *last)
{
  const GArray *spans = run->schedule->spans;
  const IrValue *value = ir_model_value (run->model, item->value);
  guint n = run->schedule->items->len;

  *first = n;
  *last = 0;
  for (guint k = 0; k < n; k++)
    {
      const IrScheduleItem *step = &g_array_index (run->schedule->items, IrScheduleItem, k);
      const IrNode *node = ir_model_node (run->model, step->node);
      gboolean concerns = value->producer == node;
      for (guint i = 0; i < value->n_uses && !concerns; i++)
        concerns = ir_use_node_in (run->model->main, ir_value_use (value, i)) == node;
      if (!concerns)
        continue;
      guint from = k, to = k;
      for (guint i = 0; spans != NULL && i < spans->len; i++)
        {
          const IrScheduleSpan *span = &g_array_index (spans, IrScheduleSpan, i);
          if (k >= span->first && k <= span->last)
            {
              from = span->first;
              to = span->last;
            }
        }
      *first = MIN (*first, from);
      *last = MAX (*last, to);
    }
}

static void
check_memory (const IrRun *run)
{
  const GArray *items = run->memplan->items;

  for (guint i = 0; i < items->len; i++)
    for (guint j = 0; j < i; j++)
      {
        const IrMemItem *a = &g_array_index (items, IrMemItem, i);
        const IrMemItem *b = &g_array_index (items, IrMemItem, j);
        guint a_first, a_last, b_first, b_last;
        IrValueId a_root = a->alias_of != 0 ? a->alias_of : a->value;
        IrValueId b_root = b->alias_of != 0 ? b->alias_of : b->value;
        if (a->offset == IR_PLACE_EXTERNAL || b->offset == IR_PLACE_EXTERNAL || a_root == b_root ||
            a->offset + a->size <= b->offset || b->offset + b->size <= a->offset)
          continue;
        find_life (run, a, &a_first, &a_last);
        find_life (run, b, &b_first, &b_last);
        g_assert_true (a_last < b_first || b_last < a_first);
      }
}

static void
check_trace (const IrRun *run)
{
  const GArray *items = run->trace->items;
  gint64 free_ns[8] = { 0 };

  g_assert_cmpuint (items->len, ==, run->schedule->items->len);
  for (guint i = 0; i < items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (items, IrTraceItem, i);
      g_assert_cmpuint (item->worker, <, run->schedule->n_workers);
      g_assert_cmpint (item->start_ns, >=, free_ns[item->worker]);
      g_assert_cmpint (item->end_ns, >=, item->start_ns);
      free_ns[item->worker] = item->end_ns;
      if (i > 0)
        g_assert_cmpint (item->start_ns, >=, g_array_index (items, IrTraceItem, i - 1).start_ns);
    }
}

static void
test_same_bits (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  guint n_found = 0;

  for (guint round = 0; round < 60; round++)
    {
      g_auto (Random) random = { 0 };
      random_init (&random, rand, 4 + round % 40, round % 3 == 0);
      IrRunOptions options = { .n_threads = 2 + round % 3,
                               .capture = round % 2 == 0 ? IR_CAPTURE_NONE : IR_CAPTURE_ALL,
                               .deterministic = TRUE,
                               .backend = ir_backend_find (round % 5 == 0 ? "ref" : "cpu") };
      g_autoptr (IrRun) expected = run_once (random.b.model, random.inputs, &options);
      options.parallel = IR_PARALLEL_ON;
      for (guint again = 0; again < 3; again++)
        {
          g_autoptr (IrRun) run = run_once (random.b.model, random.inputs, &options);
          assert_same_values (run, expected);
          check_memory (run);
          check_trace (run);
          g_assert_cmpuint (run->n_own, ==, expected->n_own);
          if (options.capture == IR_CAPTURE_NONE && round % 3 != 0)
            g_assert_cmpuint (run->trace->arena_bytes, ==, run->memplan->peak_bytes);
          n_found += n_beside (run);
        }
    }
  g_assert_cmpuint (n_found, >, 1000);
}

/* How many nodes wait for one that another worker runs in the same span. */
static guint
n_waiting (const IrRun *run)
{
  g_autofree guint *step_of = g_new0 (guint, run->model->nodes->len + 1);
  const GArray *items = run->schedule->items;
  guint n = 0;

  for (guint k = 0; k < items->len; k++)
    step_of[g_array_index (items, IrScheduleItem, k).node] = k;
  for (guint i = 0; i < run->schedule->spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (run->schedule->spans, IrScheduleSpan, i);
      for (guint k = span->first; k <= span->last; k++)
        {
          const IrScheduleItem *item = &g_array_index (items, IrScheduleItem, k);
          for (guint j = 0; j < item->n_after; j++)
            {
              guint other = step_of[item->after[j]];
              n += other >= span->first &&
                   g_array_index (items, IrScheduleItem, other).worker != item->worker;
            }
        }
    }
  return n;
}

/* Blocks that are too wide for groups of their own: by list scheduling, workers wait for each
 * other. */
static void
test_waiting (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);
  guint n = 0;

  for (guint round = 0; round < 6; round++)
    {
      g_auto (Random) random = { 0 };
      g_autoptr (GError) error = NULL;
      random_init (&random, rand, 150, FALSE);
      IrRunOptions options = { .n_threads = 2 + round % 3, .deterministic = TRUE };
      g_autoptr (IrRun) expected = run_once (random.b.model, random.inputs, &options);
      options.parallel = IR_PARALLEL_ON;
      g_autoptr (IrExecutable) executable = ir_executable_new (random.b.model, &options, &error);
      g_assert_no_error (error);
      for (guint again = 0; again < 30; again++)
        {
          g_autoptr (IrRun) run = ir_executable_run (executable, random.inputs, NULL, NULL, &error);
          g_assert_no_error (error);
          assert_same_values (run, expected);
          if (again > 0)
            continue;
          check_memory (run);
          n += n_waiting (run);
        }
    }
  g_assert_cmpuint (n, >, 40);
}

/* One setting, one result: without asking for determinism, too. */
static void
test_run_to_run (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (6);
  g_auto (Random) random = { 0 };
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .n_threads = 3, .parallel = IR_PARALLEL_ON };

  random_init (&random, rand, 60, FALSE);
  g_autoptr (IrExecutable) executable = ir_executable_new (random.b.model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) first = ir_executable_run (executable, random.inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n_beside (first), >, 10);
  for (guint i = 0; i < 200; i++)
    {
      g_autoptr (IrRun) run = ir_executable_run (executable, random.inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      assert_same_values (run, first);
    }
}

/* All phases of the choice, whatever it is. */
static void
test_auto (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_auto (Random) random = { 0 };
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .n_threads = 2, .deterministic = TRUE };

  random_init (&random, rand, 40, TRUE);
  g_autoptr (IrRun) expected = run_once (random.b.model, random.inputs, &options);
  options.parallel = IR_PARALLEL_AUTO;
  g_autoptr (IrExecutable) executable = ir_executable_new (random.b.model, &options, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 20; i++)
    {
      g_autoptr (IrRun) run = ir_executable_run (executable, random.inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      assert_same_values (run, expected);
      check_memory (run);
      g_assert_true (i < 5 || run->schedule->n_workers == 2);
      for (guint k = 0; i > 15 && run->schedule->spans != NULL && k < run->schedule->spans->len;
           k++)
        {
          const IrScheduleSpan *span = &g_array_index (run->schedule->spans, IrScheduleSpan, k);
          g_assert_cmpfloat (span->together_ms, <, span->apart_ms);
        }
    }
}

/* -- errors -- */

/* Chains of the same length that wait for nothing but x; each may divide by zero at the end. */
typedef struct
{
  Builder b;
  IrValue *x, *by[3];
  IrNode *divided[3];
} Fork;

static void
fork_init (Fork *fork)
{
  *fork = (Fork){ 0 };
  builder_init (&fork->b, 18);
  fork->x = build_input (&fork->b, "x", "int32[4096]");
  for (guint i = 0; i < G_N_ELEMENTS (fork->by); i++)
    {
      g_autofree char *name = g_strdup_printf ("by%u", i);
      IrValue *value = fork->x;
      fork->by[i] = build_input (&fork->b, name, "int32[4096]");
      for (guint k = 0; k < 4; k++)
        value = build_node (&fork->b, NULL, k % 2 == 0 ? "Neg" : "Abs", 1, value, END)->outputs[0];
      fork->divided[i] = build_node (&fork->b, NULL, "Div", 1, value, fork->by[i], END);
      build_output (
          &fork->b,
          build_node (&fork->b, NULL, "Neg", 1, fork->divided[i]->outputs[0], END)->outputs[0]);
    }
  build_done (&fork->b);
}

static void
fork_clear (Fork *fork)
{
  builder_clear (&fork->b);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fork, fork_clear)

static GHashTable *
fork_inputs (const Fork *fork, guint zeros)
{
  GHashTable *inputs = inputs_new ();

  inputs_add (inputs, fork->x, tensor_of ("int32[4096]", "3 -4 5"));
  for (guint i = 0; i < G_N_ELEMENTS (fork->by); i++)
    inputs_add (inputs, fork->by[i], tensor_of ("int32[4096]", zeros & 1u << i ? "1 0 2" : "2 1"));
  return inputs;
}

static void
test_errors (void)
{
  g_auto (Fork) fork = { 0 };
  g_autoptr (GError) error = NULL;
  guint n_failed = 0;

  fork_init (&fork);
  IrRunOptions options = { .n_threads = 3, .parallel = IR_PARALLEL_ON, .capture = IR_CAPTURE_ALL };
  g_autoptr (IrExecutable) executable = ir_executable_new (fork.b.model, &options, &error);
  g_assert_no_error (error);
  for (guint round = 0; round < 64; round++)
    {
      g_autoptr (GHashTable) inputs = fork_inputs (&fork, round % 8);
      g_autoptr (IrRun) partial = NULL;
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, &partial, &error);
      if (round % 8 == 0)
        {
          g_assert_no_error (error);
          g_assert_cmpuint (n_beside (run), >, 10);
          continue;
        }
      /* What is first in the order of the schedule is what is said, every time. */
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL);
      g_clear_error (&error);
      g_assert_null (run);
      const GArray *items = partial->schedule->items;
      guint step = 0;
      for (; step < items->len; step++)
        {
          IrNodeId id = g_array_index (items, IrScheduleItem, step).node;
          const IrNode *node = ir_model_node (partial->model, id);
          gboolean fails = FALSE;
          for (guint i = 0; i < G_N_ELEMENTS (fork.by); i++)
            fails = fails || (id == fork.divided[i]->id && (round & 1u << i));
          g_assert_true ((ir_run_value (partial, node->outputs[0]->id) != NULL) == !fails);
          if (fails)
            break;
        }
      g_assert_cmpuint (g_array_index (items, IrScheduleItem, step).node, ==, partial->failed_node);
      g_assert_cmpuint (partial->trace->items->len, ==, step);
      for (step++; step < items->len; step++)
        {
          IrNodeId id = g_array_index (items, IrScheduleItem, step).node;
          g_assert_null (
              ir_run_value (partial, ir_model_node (partial->model, id)->outputs[0]->id));
        }
      n_failed++;
    }
  g_assert_cmpuint (n_failed, ==, 56);
}

/* -- stopping -- */

static void
cancel_at (guint done, guint total, const IrNode *node, gpointer data)
{
  if (done >= 5)
    g_cancellable_cancel (data);
}

static gpointer
cancel_soon (gpointer data)
{
  g_usleep (50);
  g_cancellable_cancel (data);
  return NULL;
}

static void
test_cancel (void)
{
  g_auto (Fork) fork = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  guint n_cancelled = 0;

  fork_init (&fork);
  g_autoptr (GHashTable) inputs = fork_inputs (&fork, 0);
  IrRunOptions options = {
    .n_threads = 2, .parallel = IR_PARALLEL_ON, .progress = cancel_at, .progress_data = cancellable
  };
  g_assert_null (ir_model_run (fork.b.model, inputs, &options, cancellable, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_clear_error (&error);

  options.progress = NULL;
  g_autoptr (IrExecutable) executable = ir_executable_new (fork.b.model, &options, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 200; i++)
    {
      g_autoptr (GCancellable) other = g_cancellable_new ();
      GThread *thread = g_thread_new ("cancel", cancel_soon, other);
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, other, NULL, &error);
      g_thread_join (thread);
      g_assert_true ((run == NULL) == (error != NULL));
      if (error != NULL)
        g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
      n_cancelled += error != NULL;
      g_clear_error (&error);
    }
  g_test_message ("%u of 200 runs were cancelled", n_cancelled);
  g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (run);
}

static void
sleep_at (guint done, guint total, const IrNode *node, gpointer data)
{
  guint *last = data;

  g_assert_cmpuint (done, >, *last);
  g_assert_cmpuint (done, <=, total);
  if (*last == 0)
    g_usleep (30000);
  *last = done;
}

static void
test_time_limit (void)
{
  g_auto (Fork) fork = { 0 };
  g_autoptr (GError) error = NULL;
  guint last = 0;

  fork_init (&fork);
  g_autoptr (GHashTable) inputs = fork_inputs (&fork, 0);
  IrRunOptions options = { .n_threads = 2,
                           .parallel = IR_PARALLEL_ON,
                           .time_limit_ms = 20,
                           .progress = sleep_at,
                           .progress_data = &last };
  g_assert_null (ir_model_run (fork.b.model, inputs, &options, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT);
  g_clear_error (&error);
  last = 0;
  options.time_limit_ms = 0;
  g_autoptr (IrRun) run = run_once (fork.b.model, inputs, &options);
  g_assert_cmpuint (last, ==, run->schedule->items->len);
}

/* -- the choice between the two -- */

static IrTasks *
random_tasks (GRand *rand, guint n, double gain)
{
  g_autofree double *ms = g_new (double, n);
  g_autoptr (GArray) edges = g_array_new (FALSE, FALSE, sizeof (IrTaskEdge));

  for (guint i = 0; i < n; i++)
    {
      ms[i] = g_rand_int_range (rand, 1, 9);
      for (guint k = 0; k < i; k++)
        {
          IrTaskEdge edge = { k, i };
          if (g_rand_double (rand) < 0.25)
            g_array_append_val (edges, edge);
        }
    }
  IrTasks *tasks = ir_tasks_new (n, ms, (const IrTaskEdge *) (void *) edges->data, edges->len);
  tasks->wide_ms = g_new (double, n + 1);
  for (guint i = 0; i < n; i++)
    tasks->wide_ms[i] = ms[i] / (1 + gain * g_rand_double (rand));
  return tasks;
}

static double
stages_ms (const IrTasks *tasks, const IrStageOptions *options)
{
  g_autofree IrTaskPlace *places = g_new0 (IrTaskPlace, tasks->n);
  g_autoptr (IrStages) stages = ir_tasks_place_in_stages (tasks, options, places);

  for (guint i = 0; i < tasks->n; i++)
    for (guint k = tasks->before_first[i]; k < tasks->before_first[i + 1]; k++)
      g_assert_cmpfloat (places[tasks->before[k]].end_ms, <=, places[i].start_ms + 1e-9);
  return g_array_index (stages->stages, IrStage, stages->stages->len - 1).end_ms;
}

static void
test_never_longer (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (9);
  IrStageOptions options = { .n_workers = 2 };
  guint n_mixed = 0;

  for (guint round = 0; round < 300; round++)
    {
      g_autoptr (IrTasks) tasks = random_tasks (rand, 2 + round % 11, 0.2 * (round % 6));
      double apart = 0;
      for (guint i = 0; i < tasks->n; i++)
        apart += tasks->wide_ms[i];
      tasks->fork_ms = 0.5 * (round % 3);
      double both = stages_ms (tasks, &options);
      g_assert_cmpfloat (both, <=, apart + 1e-9);
      if (tasks->fork_ms > 0)
        continue;
      g_clear_pointer (&tasks->wide_ms, g_free);
      double beside = stages_ms (tasks, &options);
      g_assert_cmpfloat (both, <=, beside + 1e-9);
      n_mixed += both < beside - 1e-9 && both < apart - 1e-9;
    }
  g_assert_cmpuint (n_mixed, >, 10);
}

static void
test_report (void)
{
  const double ms[] = { 4, 4 }, wide[] = { 3, 3 };
  IrTaskPlace places[2];
  IrStageOptions options = { .n_workers = 2 };
  g_autoptr (IrTasks) tasks = ir_tasks_new (2, ms, NULL, 0);

  tasks->wide_ms = g_memdup2 (wide, sizeof wide);
  tasks->fork_ms = 0.5;
  g_assert_cmpfloat (stages_ms (tasks, &options), ==, 4.5);
  tasks->fork_ms = 2.5;
  g_assert_cmpfloat (stages_ms (tasks, &options), ==, 6);
  g_autoptr (IrStages) stages = ir_tasks_place_in_stages (tasks, &options, places);
  g_assert_cmpuint (stages->stages->len, ==, 2);
  g_autoptr (IrScheduleReport) report = ir_tasks_report (tasks, 2, places);
  g_assert_cmpfloat (report->makespan_ms, ==, 6);
  g_assert_cmpfloat (report->critical_path_ms, ==, 3);
  g_assert_cmpfloat (report->work_ms, ==, 8);
  g_assert_cmpfloat (report->bound_ms, ==, 4);
  g_assert_cmpfloat (report->utilization, ==, 1);
}

/* Convolutions on oneDNN that need scratch memory are made on one thread, run on another, and freed
 * on a third; a plan of the calling thread goes on. */
static void
test_scratch_of_threads (void)
{
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2,32,3,1] x, float[32,2,3,3] v, "
      "float[4,32,3,3] w, float[4] b, float[32,4,5,5] u) => (float[2,32,3,1] y, "
      "float[2,32,1,1] z) { y = Conv <group = 16, pads = [1, 1, 1, 1]> (x, v)  "
      "t = Conv <pads = [0, 1, 1, 1]> (x, w, b)  "
      "z = Conv <pads = [2, 2, 2, 2], strides = [2, 2]> (t, u) }";
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_text_read (text, -1, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
  g_assert_no_error (error);
  const IrRunOptions alone = { .n_threads = 1 };

  for (guint i = 0; i < 8; i++)
    {
      const IrRunOptions beside = { .n_threads = 2, .parallel = IR_PARALLEL_ON };
      g_autoptr (IrExecutable) kept = ir_executable_new (model, &alone, &error);
      g_assert_no_error (error);
      IrExecutable *other = ir_executable_new (model, &beside, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) first = ir_executable_run (kept, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      for (guint k = 0; k < 3; k++)
        ir_run_unref (ir_executable_run (other, inputs, NULL, NULL, &error));
      g_assert_no_error (error);
      ir_executable_free (other);
      g_autoptr (IrRun) again = ir_executable_run (kept, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      for (guint k = 0; k < 2; k++)
        {
          IrValueId id = ir_graph_output (model->main, k)->id;
          g_assert_true (ir_tensor_equal (ir_run_value (first, id), ir_run_value (again, id)));
        }
    }
}

/* Each of them twice, with nothing between: a kernel that works on one thread does all of its work,
 * also within the parallel region of a span. */
static void
test_kernels_beside (void)
{
  static const char *const kernels[] = {
    "%s = irscope.MatMulAdd (%s, w, r)",
    "%s = irscope.MatMulAddRelu (%s, w, r)",
    "%s = Softmax (%s)",
    "%s = LogSoftmax (%s)",
    "%s = LogSoftmax <axis = 1> (%s)",
    "%s = LayerNormalization (%s, r, r)",
    "%s = GlobalAveragePool (%s)",
    "%s = Concat <axis = -1> (%s, c)",
    "%s = Transpose (%s)",
    "%s = ReduceMean <axes = [1]> (%s)",
    "%s = Expand (%s, d)",
    "%s = irscope.Attention <scale = 0.5> (%s, c, c)",
  };

  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      const IrRunOptions alone = { .n_threads = 1 };
      const IrRunOptions beside = { .n_threads = 2, .parallel = IR_PARALLEL_ON };
      g_autoptr (GString) text = g_string_new (
          "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1]> g (float[2,3,40,5] a, "
          "float[2,3,40,5] b, float[5,5] w, float[5] r, float[2,3,40,5] c) => (y, z) <int64[4] d = "
          "{2, 3, 40, 5}> { ");
      g_autoptr (GError) error = NULL;

      for (guint k = 0; k < 2; k++)
        {
          g_auto (GStrv) parts = g_strsplit (kernels[i], "%s", 3);
          g_string_append_printf (text, "%s%s%s%s  ", k == 0 ? "y" : "z", parts[1],
                                  k == 0 ? "a" : "b", parts[2]);
        }
      g_string_append (text, "}");
      g_autoptr (IrModel) model = ir_text_read (text->str, -1, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrExecutable) first = ir_executable_new (model, &alone, &error);
      g_assert_no_error (error);
      g_autoptr (IrExecutable) second = ir_executable_new (model, &beside, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) wanted = ir_executable_run (first, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) found = ir_executable_run (second, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      for (guint k = 0; k < 2; k++)
        {
          IrValueId id = ir_graph_output (model->main, k)->id;
          if (!ir_tensor_equal (ir_run_value (wanted, id), ir_run_value (found, id)))
            g_error ("%s: other bits beside another node", kernels[i]);
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/concurrent nodes give the bits of one at a time", test_same_bits);
  g_test_add_func ("/parallel/workers wait for what others compute", test_waiting);
  g_test_add_func ("/parallel/runs of one setting give the same bits", test_run_to_run);
  g_test_add_func ("/parallel/the first runs decide, and change no bit", test_auto);
  g_test_add_func (
      "/parallel/the first error is the one that is told, and what is before it is kept",
      test_errors);
  g_test_add_func ("/parallel/cancelling stops all workers", test_cancel);
  g_test_add_func ("/parallel/limits of time hold, and progress only grows", test_time_limit);
  g_test_add_func ("/parallel/choosing is never longer than either way alone", test_never_longer);
  g_test_add_func ("/parallel/scratch memory of convolutions belongs to no thread",
                   test_scratch_of_threads);
  g_test_add_func ("/parallel/kernels beside each other do all of their work", test_kernels_beside);
  g_test_add_func ("/parallel/bounds count the shorter time and the lesser work", test_report);
  return g_test_run ();
}
