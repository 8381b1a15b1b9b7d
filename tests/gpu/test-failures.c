/* Each function of the table fails in turn, as it opens, in a run and in its second run: the run says which
 * function it was, the next one is right, and the graph still runs on cpu. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/exec/gpu/backend.h"
#include "core/exec/gpu/runtime.h"
#include "core/io/io.h"

#include <string.h>

static const char graph[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[4,8] x, int64[3] idx) => (float[3,5] y, int64[3] s)\n"
    "<float[8,5] w = {1,2,3,4,5,6,7,8,9,10,1,2,3,4,5,6,7,8,9,10,1,2,3,4,5,6,"
    "7,8,9,10,1,2,3,4,5,6,7,8,9,10}>\n"
    "{\n  a = MatMul (x, w)\n  b = Gather (a, idx)\n"
    "  y = Softmax (b)\n  s = Add (idx, idx)\n}\n";

typedef struct
{
  IrModel *model;
  GHashTable *inputs;
  IrRun *wanted; /* by ref */
} Subject;

static Subject subject;
static gboolean all; /* more calls of each function, and more results */

static IrRun *
run_on (const char *device, IrExecutable *kept, GError **error)
{
  IrRunOptions options = { .backend = ir_backend_require (device, error), .n_threads = 1 };
  g_autoptr (IrExecutable) executable = NULL;

  if (options.backend == NULL)
    return NULL;
  if (kept != NULL)
    return ir_executable_run (kept, subject.inputs, NULL, NULL, error);
  executable = ir_executable_new (subject.model, &options, error);
  return executable != NULL ? ir_executable_run (executable, subject.inputs, NULL, NULL, error)
                            : NULL;
}

static void
assert_right (const IrRun *run)
{
  for (guint i = 0; i < ir_graph_n_outputs (subject.wanted->model->main); i++)
    {
      const IrTensor *a = ir_run_value (subject.wanted,
                                        ir_graph_output (subject.wanted->model->main, i)->id),
                     *b = ir_run_value (run, ir_graph_output (run->model->main, i)->id);
      g_assert_nonnull (b);
      for (guint64 k = 0; k < ir_tensor_n_elements (a); k++)
        g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (a, k), ir_tensor_get_double (b, k),
                                        1e-5);
    }
}

static const char *const functions[] = {
#define GPU_FUNCTION(LIBRARY, symbol, since, ...) #symbol,
#include "core/exec/gpu/functions.def"
};

static void
fail_at (const char *symbol, guint call, guint result)
{
  g_autofree char *option = g_strdup_printf ("seed=1,fail=%s:%u:%u", symbol, call, result);

  g_setenv ("IRSCOPE_STAND_IN", symbol != NULL ? option : "seed=1", TRUE);
}

/* What is asked of a library only to describe it may fail without harm. */
static gboolean
try (const char *symbol, guint call, guint result, IrExecutable *kept)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = NULL;

  fail_at (symbol, call, result);
  run = run_on ("gpu", kept, &error);
  fail_at (NULL, 0, 0);
  if (run != NULL)
    {
      assert_right (run);
      return FALSE;
    }
  if (error == NULL || error->domain != IR_EXEC_ERROR || strstr (error->message, symbol) == NULL)
    g_error ("%s, call %u, result %u: “%s”", symbol, call, result,
             error != NULL ? error->message : "no error");
  if (result == 2 && g_str_has_prefix (symbol, "cuMemAlloc_"))
    g_assert_nonnull (strstr (error->message, "used up"));
  return TRUE;
}

static void
test_function (gconstpointer data)
{
  static const guint results[] = { 719, 2 };
  const char *symbol = data;
  guint n_failed = 0;

  for (guint i = 0; i < (all ? 2 : 1); i++)
    for (guint call = 1; call <= (all ? 4 : 1); call++)
      {
        g_autoptr (GError) error = NULL;
        ir_gpu_runtime_close ();
        n_failed += try (symbol, call, results[i], NULL);
        /* The next run, and one that went well before. */
        IrRunOptions options = { .backend = &ir_backend_gpu, .n_threads = 1 };
        g_autoptr (IrExecutable) kept = ir_executable_new (subject.model, &options, &error);
        g_assert_no_error (error);
        g_autoptr (IrRun) next = run_on ("gpu", kept, &error);
        g_assert_no_error (error);
        assert_right (next);
        n_failed += try (symbol, call, results[i], kept);
        g_autoptr (IrRun) again = run_on ("gpu", kept, &error);
        g_assert_no_error (error);
        assert_right (again);
        g_autoptr (IrRun) cpu = run_on ("cpu", NULL, &error);
        g_assert_no_error (error);
        assert_right (cpu);
      }
  g_test_message ("%u runs failed", n_failed);
}

/* A device that is too small, for the values and for the constants. */
static void
test_memory (void)
{
  g_autoptr (GError) error = NULL;

  ir_gpu_runtime_close ();
  g_setenv ("IRSCOPE_STAND_IN", "memory=512", TRUE);
  g_assert_null (run_on ("gpu", NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_MEMORY);
  g_assert_nonnull (strstr (error->message, "of the device's memory"));
  g_clear_error (&error);
  g_setenv ("IRSCOPE_STAND_IN", "seed=1", TRUE);
  g_autoptr (IrRun) run = run_on ("gpu", NULL, &error);
  g_assert_no_error (error);
  assert_right (run);
}

static void
test_cancelled (void)
{
  IrRunOptions options = { .backend = &ir_backend_gpu, .n_threads = 1 };
  g_autoptr (IrExecutable) executable = ir_executable_new (subject.model, &options, NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_cancellable_cancel (cancellable);
  g_assert_null (ir_executable_run (executable, subject.inputs, cancellable, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_clear_error (&error);
  g_autoptr (IrRun) run = ir_executable_run (executable, subject.inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  assert_right (run);
}

static void
begin (void)
{
  g_autoptr (GError) error = NULL;
  static const gint64 indices[] = { 3, 0, -1 };
  gint64 x_dims[] = { 4, 8 }, index_dims[] = { 3 };
  float x[32];

  for (guint i = 0; i < 32; i++)
    x[i] = (float) (i % 7) / 8;
  subject.model = ir_text_read (graph, -1, NULL, &error);
  g_assert_no_error (error);
  subject.inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_hash_table_insert (subject.inputs,
                       GUINT_TO_POINTER (ir_graph_input (subject.model->main, 0)->id),
                       ir_tensor_new_copy (IR_DTYPE_FLOAT, 2, x_dims, x));
  g_hash_table_insert (subject.inputs,
                       GUINT_TO_POINTER (ir_graph_input (subject.model->main, 1)->id),
                       ir_tensor_new_copy (IR_DTYPE_INT64, 1, index_dims, indices));
  subject.wanted = run_on ("ref", NULL, &error);
  g_assert_no_error (error);
}

int
main (int argc, char **argv)
{
  g_autofree char *path = NULL;

  g_test_init (&argc, &argv, NULL);
  all = argc > 1 && g_str_equal (argv[1], "--all");
  path = g_strdup_printf ("%s:-", g_test_get_dir (G_TEST_BUILT));
  g_setenv (IR_GPU_PATH, path, TRUE);
  begin ();
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    {
      g_autofree char *name = g_strdup_printf ("/gpu/failures/%s", functions[i]);
      g_test_add_data_func (name, functions[i], test_function);
    }
  g_test_add_func ("/gpu/failures/too little memory", test_memory);
  g_test_add_func ("/gpu/failures/cancelled", test_cancelled);
  int failed = g_test_run ();
  ir_gpu_runtime_close ();
  ir_run_unref (subject.wanted);
  g_hash_table_unref (subject.inputs);
  ir_model_unref (subject.model);
  return failed;
}
