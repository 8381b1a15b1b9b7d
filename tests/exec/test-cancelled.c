/* Planners and runs that are cancelled at each time that they look: what was asked for is not given, whole or in part, and
 * an executable gives the right results afterwards. The linker puts the function below before GLib's, so that who looks is
 * counted (meson.build). */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/recompute/recompute.h"
#include "core/exec/schedule/tasks.h"
#include "core/io/io.h"
#include "tests/exec/graphs.h"

#include <string.h>

#define MOST 150 /* times at which a task is cancelled; of more they are spread evenly */

static struct
{
  GCancellable *watched;
  int n,
      at; /* atomic: so often it was looked at; from this time on it is cancelled, counted from 1; 0: never */
} looks;

gboolean __real_g_cancellable_is_cancelled (GCancellable *cancellable);
gboolean __wrap_g_cancellable_is_cancelled (GCancellable *cancellable);
gboolean
__wrap_g_cancellable_is_cancelled (GCancellable *cancellable)
{
  if (cancellable != NULL && cancellable == looks.watched &&
      g_atomic_int_add (&looks.n, 1) + 1 == looks.at)
    g_cancellable_cancel (cancellable);
  return __real_g_cancellable_is_cancelled (cancellable);
}

/* Does all of a task with @cancellable. Returns whether it gave something. */
typedef gboolean (*Task) (gpointer data, GCancellable *cancellable, GError **error);

static gboolean
do_task (Task task, gpointer data, int at, GError **error)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();

  looks.n = 0;
  looks.at = at;
  looks.watched = cancellable;
  gboolean given = task (data, cancellable, error);
  looks.watched = NULL;
  return given;
}

/* How often a task looks may depend on how long it takes; one that did not get there is not cancelled. */
static void
expect_cancelled (Task task, gpointer data, int at, GError **error)
{
  g_assert_true (!do_task (task, data, at, error) || looks.n < at);
}

static void
cancel_everywhere (Task task, gpointer data, int least)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (do_task (task, data, 0, &error));
  g_assert_no_error (error);
  int n = looks.n, step = MAX (n / MOST, 1);
  g_test_message ("%d looks", n);
  g_assert_cmpint (n, >=, least);
  for (int at = 1; at <= n; at += step)
    {
      expect_cancelled (task, data, at, &error);
      if (error != NULL)
        g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
      g_clear_error (&error);
      g_assert_true (do_task (task, data, 0, &error));
      g_assert_no_error (error);
    }
  expect_cancelled (task, data, n, &error);
  g_clear_error (&error);
}

/* -- plans of a graph: with ranges, joins, views, branches, and what may be written over -- */

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 18]>\n"
    "g (float[8,48] x, float[48,48] w) => (y) <int64[3] s = {4, 2, 48}, float[48] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "
    "13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, "
    "43, 44, 45, 46, 47, 48}>\n"
    "{ m = MatMul (x, w)\n r = Relu (m)\n p, q = Split <axis = 0, num_outputs = 2> (r)\n"
    "pp = MatMul (p, w)\n qq = MatMul (q, w)\n pr = Tanh (pp)\n qr = Sigmoid (qq)\n"
    "c = Concat <axis = 0> (pr, qr)\n d = Add (c, b)\n e = Mul (d, m)\n v = Reshape (e, s)\n"
    "k = Softmax (v)\n l = Exp (k)\n n = Add (l, v)\n o, t = Split <axis = 1, num_outputs = 2> (n)\n"
    "oo = Erf (o)\n tt = Cos (t)\n y = Concat <axis = 1> (oo, tt) }";

typedef struct
{
  IrModel *model;
  IrSchedule *schedule;
  GHashTable *inputs;
  IrRunOptions options;
  IrExecutable *executable;
  IrTensor *expected;
} Graph;

static void
graph_init (Graph *graph)
{
  g_autoptr (GError) error = NULL;

  *graph = (Graph){ .model = ir_text_read (text, -1, NULL, &error) };
  g_assert_no_error (error);
  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (graph->model);
    ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  }
  graph->options = (IrRunOptions){ .backend = ir_backend_find ("cpu"), .n_threads = 1 };
  graph->schedule = ir_schedule_new (graph->model, graph->options.backend, 1, &error);
  g_assert_no_error (error);
  graph->inputs = ir_random_inputs (graph->model, 3, NULL, &error);
  g_assert_no_error (error);
}

static void
graph_clear (Graph *graph)
{
  g_clear_pointer (&graph->executable, ir_executable_free);
  g_clear_pointer (&graph->expected, ir_tensor_unref);
  g_hash_table_unref (graph->inputs);
  ir_schedule_unref (graph->schedule);
  ir_model_unref (graph->model);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Graph, graph_clear)

static gboolean
plan_memory (gpointer data, GCancellable *cancellable, GError **error)
{
  Graph *graph = data;
  IrMemOptions options = { .align_bytes = 64, .max_steps = 2000, .cancellable = cancellable };
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new_full (graph->model, graph->schedule, 0, &options);

  return plan != NULL;
}

static gboolean
plan_recompute (gpointer data, GCancellable *cancellable, GError **error)
{
  Graph *graph = data;
  IrMemOptions options = { .align_bytes = 64, .cancellable = cancellable };
  g_autoptr (IrRecomputeGraph)
      problem = ir_recompute_graph_new (graph->model, graph->schedule, 0, &options);
  g_autoptr (IrRecomputePlan)
      plan = problem != NULL ? ir_mem_recompute (&problem->problem, 3000, &options) : NULL;

  return plan != NULL;
}

static gboolean
make_schedule (gpointer data, GCancellable *cancellable, GError **error)
{
  Graph *graph = data;
  IrScheduleOptions options = ir_schedule_run_options (2, IR_PARALLEL_ON);
  options.stages.cancellable = cancellable;
  g_autoptr (IrSchedule)
      schedule = ir_schedule_new_with (graph->model, graph->options.backend, &options, NULL, error);

  return schedule != NULL;
}

static gboolean
run_prepared (gpointer data, GCancellable *cancellable, GError **error)
{
  Graph *graph = data;
  g_autoptr (IrRun)
      run = ir_executable_run (graph->executable, graph->inputs, cancellable, NULL, error);

  if (run != NULL)
    g_assert_true (ir_tensor_equal (ir_run_value (run, ir_graph_output (graph->model->main, 0)->id),
                                    graph->expected));
  return run != NULL;
}

static gboolean
run_all (gpointer data, GCancellable *cancellable, GError **error)
{
  Graph *graph = data;
  g_autoptr (IrRun)
      run = ir_model_run (graph->model, graph->inputs, &graph->options, cancellable, error);

  return run != NULL;
}

static void
test_graph (gconstpointer data)
{
  g_auto (Graph) graph = { 0 };
  graph_init (&graph);
  g_autoptr (GError) error = NULL;
  Task task = *(const Task *) data;

  if (task == run_prepared)
    {
      graph.executable = ir_executable_new (graph.model, &graph.options, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun)
          run = ir_executable_run (graph.executable, graph.inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      graph.expected = ir_tensor_ref (
          ir_run_value (run, ir_graph_output (graph.model->main, 0)->id));
    }
  cancel_everywhere (task, &graph, 10);
}

/* -- blocks alone, and a chain -- */

static gboolean
place_blocks (gpointer data, GCancellable *cancellable, GError **error)
{
  IrMemOptions options = { .align_bytes = 1, .max_steps = 3000, .cancellable = cancellable };
  IrMemResult result;
  IrMemBlock blocks[40];

  memcpy (blocks, data, sizeof blocks);
  return ir_mem_place (blocks, G_N_ELEMENTS (blocks), &options, &result);
}

static void
test_blocks (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  IrMemBlock blocks[40];

  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      guint first = (guint) g_rand_int_range (rand, 0, 30);
      blocks[i] = (IrMemBlock){ .size = (guint64) g_rand_int_range (rand, 1, 50),
                                .first = first,
                                .last = first + (guint) g_rand_int_range (rand, 0, 12) };
    }
  cancel_everywhere (place_blocks, blocks, 10);
}

#define LENGTH 12

/* LENGTH tasks forwards, whose results as many tasks read backwards. */
static gboolean
recompute_chain (gpointer data, GCancellable *cancellable, GError **error)
{
  IrMemOptions options = { .align_bytes = 1, .cancellable = cancellable };
  IrRecomputeTask tasks[2 * LENGTH] = { 0 };
  guint reads[2 * LENGTH][2], writes[2 * LENGTH];
  guint64 sizes[2 * LENGTH];

  for (guint i = 0; i < 2 * LENGTH; i++)
    {
      IrRecomputeTask *task = &tasks[i];
      *task = (IrRecomputeTask){ .flops = 1 + i % 3,
                                 .reads = reads[i],
                                 .writes = &writes[i],
                                 .n_writes = 1,
                                 .over = { IR_RECOMPUTE_NONE, IR_RECOMPUTE_NONE },
                                 .once = i >= LENGTH };
      if (i > 0)
        reads[i][task->n_reads++] = i - 1;
      if (i > LENGTH)
        reads[i][task->n_reads++] = 2 * LENGTH - 1 - i;
      writes[i] = i;
      sizes[i] = 4;
    }
  IrRecomputeProblem problem = {
    .tasks = tasks, .n_tasks = 2 * LENGTH, .sizes = sizes, .n_values = 2 * LENGTH
  };
  g_autoptr (IrRecomputePlan) plan = ir_mem_recompute (&problem, GPOINTER_TO_UINT (data), &options);

  return plan != NULL;
}

static void
test_chain (void)
{
  cancel_everywhere (recompute_chain, GUINT_TO_POINTER (28), 10);
  cancel_everywhere (recompute_chain, GUINT_TO_POINTER (12), 10); /* the least there is */
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *path;
    Task task;
  } graphs[] = { { "/cancelled/a memory plan", plan_memory },
                 { "/cancelled/a plan that computes again", plan_recompute },
                 { "/cancelled/a schedule of concurrent nodes", make_schedule },
                 { "/cancelled/a run of a plan", run_prepared },
                 { "/cancelled/preparing and running", run_all } };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    g_test_add_data_func (graphs[i].path, &graphs[i].task, test_graph);
  g_test_add_func ("/cancelled/placing blocks", test_blocks);
  g_test_add_func ("/cancelled/a chain that computes again", test_chain);
  return g_test_run ();
}
