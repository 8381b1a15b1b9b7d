/* What is asked of a back end while a run is prepared: how often is counted where it is asked. */
#include "config.h"

#include "tests/exec/graphs.h"

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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/preparing/a-kernel-is-chosen-once-for-a-plan", test_kernels_once);
  return g_test_run ();
}
