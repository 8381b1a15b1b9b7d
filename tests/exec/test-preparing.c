/* Between the parts of a run that look at every node, there are short works for each of very many
 * nodes: they look too. What they ask is counted where it is asked. */
#include "config.h"

#include "core/exec/run/state.h"
#include "core/exec/schedule/schedule.h"
#include "core/ir/pages.h"
#include "tests/exec/graphs.h"

#define N_NODES    20000
#define LOOK_NODES 256

gboolean __real_g_cancellable_is_cancelled (GCancellable *cancellable);
gboolean __wrap_g_cancellable_is_cancelled (GCancellable *cancellable);

static Ear *listening; /* (nullable) */

gboolean
__wrap_g_cancellable_is_cancelled (GCancellable *cancellable)
{
  if (listening != NULL && cancellable != NULL && cancellable == listening->cancellable)
    ear_heard (listening);
  return __real_g_cancellable_is_cancelled (cancellable);
}

static IrValue *
build_chain (Builder *b)
{
  builder_init (b, 17);
  IrValue *x = build_input (b, "x", "float[4]"), *last = x;

  for (guint i = 0; i < N_NODES; i++)
    last = build_node (b, NULL, i % 2 == 0 ? "Neg" : "Exp", 1, last, END)->outputs[0];
  build_output (b, last);
  build_done (b);
  return x;
}

static void
test_schedules (void)
{
  g_auto (Builder) b = { 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Ear all = { 0 };
  const IrStop listen = ear_stop (&all);
  const IrBackend *cpu = ir_backend_find ("cpu");

  build_chain (&b);
  g_autoptr (IrSchedule) whole = ir_schedule_new_until (b.model, cpu, 1, &listen, NULL);
  g_assert_nonnull (whole);
  g_test_message ("%d looks", all.n_looks);
  /* Kernels, layouts, places. */
  g_assert_cmpint (all.n_looks, >=, 2 * (N_NODES / LOOK_NODES) + N_NODES / 8192 + 2);
  for (int at = 1; at <= all.n_looks; at++)
    {
      g_autoptr (GError) error = NULL;
      Ear ear = { .stop_at = at, .cancellable = cancellable };
      const IrStop stop = ear_stop (&ear);

      g_cancellable_reset (cancellable);
      g_assert_null (ir_schedule_new_until (b.model, cpu, 1, &stop, &error));
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
      g_assert_cmpint (ear.n_looks, ==, at);
    }
}

static void
test_steps (void)
{
  g_auto (Builder) b = { 0 };
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  Ear all = { .cancellable = cancellable };
  const IrRunOptions options = { .n_threads = 1 };

  inputs_add (inputs, build_chain (&b), tensor_of ("float[4]", "1 2 3 4"));
  const IrPreparing from = { .base = b.model,
                             .inputs = inputs,
                             .backend = ir_backend_find ("cpu"),
                             .n_threads = 1,
                             .packed = ir_packed_new () };
  IrPrepared *prepared = ir_prepared_new (&from, g_strdup (""), &error);
  g_assert_no_error (error);
  prepared->arena = ir_pages_new (prepared->memplan->peak_bytes);
  listening = &all;
  g_assert_true (ir_steps_make (prepared, &options, G_MAXUINT32, cancellable, &error));
  g_test_message ("%d looks", all.n_looks);
  /* Calls, readers twice, chains, what the trace says. */
  g_assert_cmpint (all.n_looks, >=, 5 * (N_NODES / LOOK_NODES));
  ir_steps_free (prepared);
  for (int at = 1; at <= all.n_looks; at++)
    {
      Ear ear = { .stop_at = at, .cancellable = cancellable };

      g_cancellable_reset (cancellable);
      listening = &ear;
      g_assert_false (ir_steps_make (prepared, &options, G_MAXUINT32, cancellable, &error));
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
      g_clear_error (&error);
      g_assert_cmpint (ear.n_looks, ==, at);
    }
  listening = NULL;
  g_assert_true (ir_steps_make (prepared, &options, G_MAXUINT32, NULL, &error));
  ir_prepared_free (prepared);
  ir_packed_unref (from.packed);
}

/* -- how often something is asked -- */

static guint n_asked, n_planned;

static const char *
refuses_counted (const IrNode *node)
{
  n_asked++;
  return ir_backend_find ("cpu")->refuses (node);
}

static void
plan_blocks_counted (const IrGraph *graph, const IrKernels *kernels, guint8 *blocks)
{
  n_planned++;
  ir_backend_find ("cpu")->plan_blocks (graph, kernels, blocks);
}

/* Once before sizes are known, so that what cannot run is said early, and once for the plan. */
static void
test_kernels_once (void)
{
  g_auto (Builder) b = { 0 };
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  IrBackend counted = *ir_backend_find ("cpu");
  const IrRunOptions options = { .backend = &counted, .n_threads = 1, .capture = IR_CAPTURE_ALL };

  counted.refuses = refuses_counted;
  counted.plan_blocks = plan_blocks_counted;
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[1,8,5,5]"), *last = x;
  IrValue *w = build_constant (&b, "w", tensor_random ("float[8,8,1,1]", 1));
  for (guint i = 0; i < 10; i++)
    last = build_node (&b, NULL, i % 2 == 0 ? "Conv" : "Relu", 1, last, i % 2 == 0 ? w : END, END)
               ->outputs[0];
  build_output (&b, last);
  build_done (&b);
  inputs_add (inputs, x, tensor_random ("float[1,8,5,5]", 2));
  n_asked = n_planned = 0;
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n_asked, ==, 10);
  g_assert_cmpuint (n_planned, ==, 0);
  g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n_asked, ==, 20);
  g_assert_cmpuint (n_planned, ==, 1);
  g_assert_cmpuint (run->n_own, ==, 10);
}

/* Where the range of an input is sought: among all nodes that its elements come to. */
static void
test_random_inputs (void)
{
  g_auto (Builder) b = { 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  const IrRandomOptions options = { .cancellable = cancellable };
  g_autoptr (GHashTable) expanded = NULL;
  Ear all = { .cancellable = cancellable }, before = { .cancellable = cancellable };

  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[4]");
  for (guint i = 0; i < N_NODES; i++)
    build_output (&b, build_node (&b, NULL, "Neg", 1, x, END)->outputs[0]);
  build_done (&b);
  const IrStop stop = { .cancellable = cancellable };
  listening = &before;
  g_autoptr (IrModel) flat = ir_exec_expand_until (b.model, &stop, NULL);
  listening = &all;
  g_autoptr (GHashTable) inputs = ir_random_inputs_with (b.model, &options, NULL);
  g_assert_nonnull (inputs);
  g_test_message ("%d looks, of them %d before", all.n_looks, before.n_looks);
  g_assert_cmpint (all.n_looks - before.n_looks, >=, N_NODES / 1024);
  for (int at = before.n_looks + 1; at <= all.n_looks; at++)
    {
      g_autoptr (GError) error = NULL;
      Ear ear = { .stop_at = at, .cancellable = cancellable };

      g_cancellable_reset (cancellable);
      listening = &ear;
      g_assert_null (ir_random_inputs_with (b.model, &options, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_assert_cmpint (ear.n_looks, <=, at + 2);
    }
  listening = NULL;
}

static void
test_costs (void)
{
  g_auto (Builder) b = { 0 };
  Ear all = { 0 };
  const IrStop listen = ear_stop (&all);
  gboolean partial = FALSE;
  IrCost cost = { 0 };

  build_chain (&b);
  g_assert_true (ir_cost_model_until (b.model, &partial, &listen, &cost));
  g_assert_cmpuint (cost.n_nodes, ==, N_NODES);
  g_assert_cmpint (all.n_looks, >=, N_NODES / 1024);
  for (int at = 1; at <= all.n_looks; at++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      Ear ear = { .stop_at = at, .cancellable = cancellable };
      const IrStop stop = ear_stop (&ear);

      g_assert_false (ir_cost_model_until (b.model, &partial, &stop, &cost));
      g_assert_cmpint (ear.n_looks, ==, at);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/preparing/a-schedule-looks-from-its-first-to-its-last-part", test_schedules);
  g_test_add_func ("/preparing/steps-look-and-are-made-anew-after-a-stop", test_steps);
  g_test_add_func ("/preparing/a-kernel-is-chosen-once-for-a-plan", test_kernels_once);
  g_test_add_func ("/preparing/the-range-of-an-input-is-sought-as-long-as-wanted",
                   test_random_inputs);
  g_test_add_func ("/preparing/costs-are-summed-as-long-as-wanted", test_costs);
  return g_test_run ();
}
