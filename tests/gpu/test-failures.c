/* Each function of the table fails in turn, as it opens, in a run and in its second run: the run says which
 * function it was, the next one is right, and the graph still runs on cpu. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/exec/gpu/backend.h"
#include "core/exec/gpu/cache.h"
#include "core/exec/gpu/runtime.h"
#include "core/io/io.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include <utime.h>

static const char graph[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[4,8] x, int64[3] idx) => (float[3,5] y, int64[3] s)\n"
    "<float[8,5] w = {1,2,3,4,5,6,7,8,9,10,1,2,3,4,5,6,7,8,9,10,1,2,3,4,5,6,"
    "7,8,9,10,1,2,3,4,5,6,7,8,9,10}, float[5] v = {1,0,-1,2,3}, "
    "float[5,5] u = {1,0,0,0,1,0,1,0,0,0,0,0,1,0,0,0,0,0,1,0,0,1,0,0,1}>\n"
    "{\n  c = Gemm (x, w, v)\n  a = MatMul (c, u)\n  b = Gather (a, idx)\n"
    "  y = Softmax (b)\n  s = Add (idx, idx)\n}\n";

typedef struct
{
  IrModel *model;
  GHashTable *inputs;
  IrRun *wanted; /* by ref */
} Subject;

static Subject subject;
static char *cache;  /* a folder */
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

/* Kept programs save the compiler, whose own failures they would hide. */
static void
keep_programs (gboolean keep)
{
  g_setenv (IR_GPU_CACHE, keep ? cache : "-", TRUE);
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

  keep_programs (!g_str_has_prefix (symbol, "nvrtc"));
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

static const char *const of_graphs[] = {
  "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
  "cuGraphLaunch",           "cuGraphDestroy",     "cuGraphExecDestroy",
};

/* What captures and launches graphs fails in turn. Where one cannot be made its steps are asked for one by one. */
static void
test_graph_function (gconstpointer data)
{
  static const char text[] = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                             "g (float[4,8] x) => (float[4,8] y) {\n"
                             "  a = Exp (x)\n b = Neg (a)\n c = Add (a, b)\n d = Softmax (c)\n"
                             "  e = Tanh (a)\n y = Mul (d, e)\n}\n";
  static const guint results[] = { 719, 2, 900 };
  const char *symbol = data;
  gboolean launches = g_str_equal (symbol, "cuGraphLaunch");
  Subject other = subject;
  gpointer x = g_hash_table_lookup (subject.inputs,
                                    GUINT_TO_POINTER (ir_graph_input (subject.model->main, 0)->id));

  for (guint i = 0; i < G_N_ELEMENTS (results); i++)
    {
      IrRunOptions options = { .backend = &ir_backend_gpu, .n_threads = 1, .untimed = TRUE };
      g_autoptr (GError) error = NULL;
      ir_gpu_runtime_close ();
      subject.model = ir_text_read (text, -1, NULL, &error);
      g_assert_no_error (error);
      subject.inputs = g_hash_table_new (NULL, NULL);
      g_hash_table_insert (subject.inputs,
                           GUINT_TO_POINTER (ir_graph_input (subject.model->main, 0)->id), x);
      subject.wanted = run_on ("ref", NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrExecutable) kept = ir_executable_new (subject.model, &options, &error);
      g_assert_no_error (error);
      for (guint k = 0; k < 2; k++) /* step by step, and captured */
        {
          g_autoptr (IrRun) run = NULL;
          if (k == 1 && try (symbol, 1, results[i], kept))
            g_assert_true (results[i] == 719 || launches);
          run = run_on ("gpu", kept, &error);
          g_assert_no_error (error);
          assert_right (run);
          if (k == 0 || launches)
            g_assert_cmpuint (run->trace->n_graphs, ==, k == 1 && results[i] != 719);
        }
      g_clear_pointer (&subject.wanted, ir_run_unref);
      g_clear_pointer (&subject.inputs, g_hash_table_unref);
      g_clear_pointer (&subject.model, ir_model_unref);
    }
  subject = other;
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

/* -- programs that were compiled before -- */

static char *
kept_file (void)
{
  g_autoptr (GDir) dir = g_dir_open (cache, 0, NULL);
  const char *name = dir != NULL ? g_dir_read_name (dir) : NULL;

  g_assert_nonnull (name);
  return g_build_filename (cache, name, NULL);
}

static void
empty (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);

  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_remove (path);
    }
}

static void
empty_cache (void)
{
  empty (cache);
  keep_programs (TRUE);
}

/* By a device that is opened anew; @compiles: whether a compiler is there. */
static gboolean
runs (gboolean compiles)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = NULL;

  ir_gpu_runtime_close ();
  g_setenv ("IRSCOPE_STAND_IN", compiles ? "seed=1" : "seed=1,fail=nvrtcCompileProgram:0:6", TRUE);
  run = run_on ("gpu", NULL, &error);
  g_setenv ("IRSCOPE_STAND_IN", "seed=1", TRUE);
  if (run != NULL)
    assert_right (run);
  else
    g_assert_nonnull (strstr (error->message, "nvrtcCompileProgram"));
  return run != NULL;
}

static void
test_kept (void)
{
  empty_cache ();
  g_assert_false (runs (FALSE));
  g_assert_true (runs (TRUE));
  g_assert_cmpuint (ir_gpu_cache_use (cache).n_programs, ==, 1);
  g_assert_true (runs (FALSE));
  g_setenv (IR_GPU_CACHE, "-", TRUE);
  g_assert_false (runs (FALSE));
}

/* Each of its bytes may be another one, and its end may be missing. */
static void
test_damaged (void)
{
  g_autofree char *path = NULL, *whole = NULL;
  gsize n;

  empty_cache ();
  g_assert_true (runs (TRUE));
  path = kept_file ();
  g_assert_true (g_file_get_contents (path, &whole, &n, NULL));
  const gsize lengths[] = { 0, 63, 64, 65, 200, n / 2, n - 1 };
  for (guint i = 0; i < 6 + G_N_ELEMENTS (lengths); i++)
    {
      g_autofree char *other = g_memdup2 (whole, n);
      if (i < 6)
        other[i * (n - 1) / 5] ^= 1;
      g_assert_true (
          g_file_set_contents (path, other, (gssize) (i < 6 ? n : lengths[i - 6]), NULL));
      g_assert_false (runs (FALSE));
      g_assert_cmpuint (ir_gpu_cache_use (cache).n_programs, ==, 0);
      g_assert_true (g_file_set_contents (path, whole, (gssize) n, NULL));
      g_assert_true (runs (FALSE));
    }
}

/* A whole one that the driver does not take is made anew. */
static void
test_refused (void)
{
  g_autofree char *path = NULL, *before = NULL, *after = NULL;
  gsize n_before, n_after;

  empty_cache ();
  g_setenv ("IRSCOPE_STAND_IN", "seed=1,fast", TRUE); /* this is of another make */
  ir_gpu_runtime_close ();
  g_autoptr (IrRun) run = run_on ("gpu", NULL, NULL);
  g_assert_nonnull (run);
  path = kept_file ();
  g_assert_true (g_file_get_contents (path, &before, &n_before, NULL));
  g_assert_true (runs (TRUE));
  g_assert_true (g_file_get_contents (path, &after, &n_after, NULL));
  g_assert_true (n_before != n_after || memcmp (before, after, n_after) != 0);
  g_assert_true (runs (FALSE));
}

static IrGpuCode *
code_of (guint bytes)
{
  IrGpuCode *code = ir_gpu_code_new ();
  IrGpuKernelFacts *facts = g_new0 (IrGpuKernelFacts, 1);

  code->cubin = g_bytes_new_take (g_malloc0 (bytes), bytes);
  code->basis = g_strdup ("of none");
  code->ptx = g_strdup ("// none");
  facts->name = g_strdup ("k");
  facts->registers = 26;
  facts->shared_bytes = 128;
  g_ptr_array_add (code->kernels, facts);
  return code;
}

static char *
key_of (guint i)
{
  g_autofree char *text = g_strdup_printf ("%u", i);

  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}

/* What was used longest ago goes; files of others stay. */
static void
test_bounded (void)
{
  g_autofree char *folder = g_build_filename (cache, "bounded", NULL);
  g_autofree char *mine = g_build_filename (folder, "mine.irgpu", NULL), *first = key_of (0),
                  *last = NULL;
  g_autoptr (IrGpuCode) code = code_of (1000), large = code_of (100000), back = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 20; i++)
    {
      g_autofree char *key = key_of (i), *path = NULL;
      path = g_strdup_printf ("%s/%s.irgpu", folder, key);
      g_assert_true (ir_gpu_cache_store (folder, key, code, 10000, &error));
      g_assert_no_error (error);
      g_assert_true (i > 0 || g_file_set_contents (mine, "mine", -1, NULL));
      g_assert_cmpuint (ir_gpu_cache_use (folder).bytes, <=, 10000);
      struct utimbuf long_ago = { 1000 + i, 1000 + i };
      g_assert_cmpint (g_utime (path, &long_ago), ==, 0);
      g_clear_pointer (&back, ir_gpu_code_free);
      back = ir_gpu_cache_load (folder, first); /* now */
      g_assert_nonnull (back);
      g_free (last);
      last = g_steal_pointer (&key);
    }
  g_assert_cmpuint (ir_gpu_cache_use (folder).n_programs, >=, 5);
  g_assert_cmpuint (ir_gpu_cache_use (folder).n_programs, <, 20);
  g_assert_true (g_bytes_equal (back->cubin, code->cubin));
  g_assert_cmpstr (back->ptx, ==, code->ptx);
  const IrGpuKernelFacts *facts = back->kernels->pdata[0];
  g_assert_true (g_str_equal (facts->name, "k") && facts->registers == 26 &&
                 facts->shared_bytes == 128 && facts->spill_bytes == 0);
  g_assert_true (
      ir_gpu_cache_store (folder, last, large, 10000, &error)); /* too large: as before */
  g_assert_cmpuint (ir_gpu_cache_use (folder).bytes, <=, 10000);
  g_assert_true (g_file_test (mine, G_FILE_TEST_EXISTS));
  empty (folder);
}

static void
test_nowhere (void)
{
  g_autoptr (IrGpuCode) code = code_of (10);
  g_autoptr (GError) error = NULL;
  g_autofree char *key = key_of (1);

  g_assert_false (ir_gpu_cache_store ("/dev/null/x", key, code, 10000, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_NOTDIR);
  g_assert_null (ir_gpu_cache_load ("/dev/null/x", key));
  g_assert_cmpuint (ir_gpu_cache_use ("/dev/null/x").n_programs, ==, 0);
  g_setenv (IR_GPU_CACHE, "/dev/null/x", TRUE);
  g_assert_true (runs (TRUE));
}

/* Where there is no compiler, and a program is gone or damaged after the device was opened. */
static void
test_without_compiler (void)
{
  g_autofree char *folder = g_build_filename (cache, "driver", NULL), *link = NULL, *driver = NULL,
                  *path = g_strconcat (folder, ":-", NULL), *kept = NULL, *before = NULL;
  g_autoptr (GError) error = NULL;

  before = g_strdup (g_getenv (IR_GPU_PATH));
  empty_cache ();
  g_assert_true (runs (TRUE));
  kept = kept_file ();
  link = g_build_filename (folder, "libcuda.so.1", NULL);
  driver = g_test_build_filename (G_TEST_BUILT, "libcuda.so.1", NULL);
  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  g_assert_cmpint (symlink (driver, link), ==, 0);
  g_setenv (IR_GPU_PATH, path, TRUE);
  g_assert_true (runs (TRUE));
  ir_gpu_runtime_close ();
  g_assert_true (ir_gpu_runtime_open (&error));
  g_assert_true (g_file_set_contents (kept, "damaged", -1, NULL));
  g_assert_null (run_on ("gpu", NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
  g_assert_nonnull (strstr (error->message, "damaged"));
  g_clear_error (&error);
  g_autoptr (IrRun) next = run_on ("gpu", NULL, &error); /* by cpu */
  g_assert_no_error (error);
  assert_right (next);
  ir_gpu_runtime_close ();
  g_setenv (IR_GPU_PATH, before, TRUE);
  empty (folder);
  g_rmdir (folder);
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
  cache = g_dir_make_tmp ("irscope-gpu-XXXXXX", NULL);
  keep_programs (TRUE);
  begin ();
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    {
      g_autofree char *name = g_strdup_printf ("/gpu/failures/%s", functions[i]);
      g_test_add_data_func (name, functions[i], test_function);
    }
  for (guint i = 0; i < G_N_ELEMENTS (of_graphs); i++)
    {
      g_autofree char *name = g_strdup_printf ("/gpu/failures/graphs: %s", of_graphs[i]);
      g_test_add_data_func (name, of_graphs[i], test_graph_function);
    }
  g_test_add_func ("/gpu/failures/too little memory", test_memory);
  g_test_add_func ("/gpu/failures/cancelled", test_cancelled);
  g_test_add_func ("/gpu/kept/saves the compiler", test_kept);
  g_test_add_func ("/gpu/kept/damaged", test_damaged);
  g_test_add_func ("/gpu/kept/refused by the driver", test_refused);
  g_test_add_func ("/gpu/kept/bounded", test_bounded);
  g_test_add_func ("/gpu/kept/in a folder that cannot be made", test_nowhere);
  g_test_add_func ("/gpu/kept/without a compiler", test_without_compiler);
  int failed = g_test_run ();
  ir_gpu_runtime_close ();
  empty (cache);
  g_rmdir (cache);
  g_free (cache);
  ir_run_unref (subject.wanted);
  g_hash_table_unref (subject.inputs);
  ir_model_unref (subject.model);
  return failed;
}
