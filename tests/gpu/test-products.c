/* Products of matrices by cuBLAS and cuBLASLt, under the stand-in: which are asked of them, that they are what ref
 * computes, at each precision, and that kernels do them where the library is missing, and say so. */
#include "config.h"

#include "core/exec/check/difference.h"
#include "core/exec/exec.h"
#include "core/exec/gpu/backend.h"
#include "core/exec/gpu/cache.h"
#include "core/exec/gpu/runtime.h"
#include "core/io/io.h"

#include <string.h>

static const struct
{
  const char *inputs, *output, *node;
  gboolean by_library;
} products[] = {
  { "float[30,50] a, float[50,70] b", "float[30,70]", "MatMul (a, b)", TRUE },
  { "double[30,50] a, double[50,7] b", "double[30,7]", "MatMul (a, b)", TRUE },
  { "float16[30,50] a, float16[50,7] b", "float16[30,7]", "MatMul (a, b)", TRUE },
  { "bfloat16[3,50] a, bfloat16[50,7] b", "bfloat16[3,7]", "MatMul (a, b)", TRUE },
  { "int32[3,5] a, int32[5,7] b", "int32[3,7]", "MatMul (a, b)", FALSE },
  { "float[5] a, float[5,7] b", "float[7]", "MatMul (a, b)", TRUE },
  { "float[3,5] a, float[5] b", "float[3]", "MatMul (a, b)", TRUE },
  { "float[5] a, float[5] b", "float", "MatMul (a, b)", TRUE },
  { "float[1,1] a, float[1,1] b", "float[1,1]", "MatMul (a, b)", TRUE },
  { "float[2,4,3,5] a, float[5,7] b", "float[2,4,3,7]", "MatMul (a, b)", TRUE },
  { "float[2,4,3,5] a, float[2,4,5,7] b", "float[2,4,3,7]", "MatMul (a, b)", TRUE },
  { "float[3,5] a, float[2,4,5,7] b", "float[2,4,3,7]", "MatMul (a, b)", TRUE },
  { "float[1,1,3,5] a, float[2,4,5,7] b", "float[2,4,3,7]", "MatMul (a, b)", TRUE },
  { "float[2,1,3,5] a, float[1,4,5,7] b", "float[2,4,3,7]", "MatMul (a, b)", FALSE },
  { "float[4,3,5] a, float[2,4,5,7] b", "float[2,4,3,7]", "MatMul (a, b)", FALSE },
  { "float[2,4,5] a, float[2,5,1] b", "float[2,4,1]", "MatMul (a, b)", TRUE },
  { "float[3,5] a, float[5,7] b", "float[3,7]", "Gemm <alpha = 0.5> (a, b)", TRUE },
  { "float[5,3] a, float[5,7] b", "float[3,7]", "Gemm <transA = 1> (a, b)", TRUE },
  { "float[3,5] a, float[7,5] b", "float[3,7]", "Gemm <transB = 1> (a, b)", TRUE },
  { "float[5,3] a, float[7,5] b, float[7] c", "float[3,7]",
    "Gemm <transA = 1, transB = 1, alpha = 0.25> (a, b, c)", TRUE },
  { "double[3,5] a, double[5,7] b, double[1,7] c", "double[3,7]", "Gemm (a, b, c)", TRUE },
  { "float16[3,5] a, float16[5,7] b, float16[7] c", "float16[3,7]", "Gemm (a, b, c)", TRUE },
  { "float[5,1] a, float[1,5] b, float[1] c", "float[1,1]",
    "Gemm <transA = 1, transB = 1> (a, b, c)", TRUE },
  { "float[3,5] a, float[5,7] b, float[7] c", "float[3,7]", "Gemm <beta = 2.0> (a, b, c)", FALSE },
  { "float[3,5] a, float[5,7] b, float[3,1] c", "float[3,7]", "Gemm (a, b, c)", FALSE },
  { "float[3,5] a, float[5,7] b, float[1] c", "float[3,7]", "Gemm (a, b, c)", FALSE },
  { "float[3,5] a, float[5,7] b, float[3,7] c", "float[3,7]", "Gemm (a, b, c)", FALSE },
  { "float[2,3,5] a, float[5,7] b, float[7] c", "float[2,3,7]", "irscope.MatMulAdd (a, b, c)",
    TRUE },
  { "float[2,3,5] a, float[2,5,7] b, float[7] c", "float[2,3,7]", "irscope.MatMulAdd (a, b, c)",
    TRUE }, /* a bias for each of a batch: behind it, not by cuBLASLt */
  { "float[2,3,5] a, float[5,7] b, float[3,1] c", "float[2,3,7]", "irscope.MatMulAdd (a, b, c)",
    TRUE },
  { "float[3,5] a, float[5,7] b, float[7] c", "float[3,7]", "irscope.MatMulAddRelu (a, b, c)",
    TRUE },
  { "float[2,3,5] a, float[2,5,7] b, float[2,3,7] c", "float[2,3,7]",
    "irscope.MatMulAddGelu (a, b, c)", TRUE },
  { "float16[3,5] a, float16[5,7] b, float16[7] c", "float16[3,7]",
    "irscope.MatMulAddGeluTanh (a, b, c)", TRUE },
  { "float[3,5] a, float[5,7] b, float[7] c", "float[3,7]", "irscope.GemmTanh (a, b, c)", TRUE },
  { "float[3,5] a, float[5,7] b, float[7] c, float low, float high", "float[3,7]",
    "irscope.GemmClip (a, b, c, low, high)", TRUE },
  { "double[3,5] a, double[5,7] b", "double[3,7]", "irscope.GemmRelu (a, b)", TRUE },
  { "float[3,5] a, float[5,7] b, float[3,7] c", "float[3,7]", "irscope.GemmRelu (a, b, c)", FALSE },
  { "float[2,5,3,4] a, float[7,5,1,1] b", "float[2,7,3,4]", "Conv (a, b)", TRUE },
  { "float[2,5,3,4] a, float[7,5,1,1] b, float[7] c", "float[2,7,3,4]", "Conv (a, b, c)", TRUE },
  { "double[1,5,9] a, double[8,5,1] b, double[8] c", "double[1,8,9]", "Conv (a, b, c)", TRUE },
  { "float16[2,5,3,4] a, float16[7,5,1,1] b, float16[7] c", "float16[2,7,3,4]", "Conv (a, b, c)",
    TRUE },
  { "float[2,5,3,4] a, float[9,5,1,1] b, float[9] c, float[2,9,3,4] z", "float[2,9,3,4]",
    "irscope.ConvAddRelu (a, b, c, z)", TRUE },
  { "float[2,5,3,4] a, float[9,5,1,1] b, float low, float high", "float[2,9,3,4]",
    "irscope.ConvClip (a, b, , low, high)", TRUE },
  { "float[2,5,3,4] a, float[8,5,1,1] b", "float[2,8,2,2]", "Conv <strides = [2, 2]> (a, b)",
    FALSE },
  { "float[2,6,3,4] a, float[8,3,1,1] b", "float[2,8,3,4]", "Conv <group = 2> (a, b)", FALSE },
  { "float[2,5,3,4] a, float[8,5,1,1] b", "float[2,8,5,4]", "Conv <pads = [1, 0, 1, 0]> (a, b)",
    FALSE },
};

typedef struct
{
  IrModel *model;
  GHashTable *inputs;
} Subject;

static void
subject_clear (Subject *subject)
{
  g_clear_pointer (&subject->inputs, g_hash_table_unref);
  g_clear_pointer (&subject->model, ir_model_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Subject, subject_clear)

static Subject
subject_new (guint i)
{
  Subject subject = { NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1]>\ng (%s) => (%s y) { y = %s }\n",
      products[i].inputs, products[i].output, products[i].node);

  subject.model = ir_text_read (text, -1, NULL, &error);
  g_assert_no_error (error);
  subject.inputs = ir_random_inputs (subject.model, i + 1, NULL, &error);
  g_assert_no_error (error);
  return subject;
}

static IrRun *
run_on (const Subject *subject, const char *device)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_require (device, &error), .n_threads = 1 };
  IrRun *run = options.backend != NULL
                   ? ir_model_run (subject->model, subject->inputs, &options, NULL, &error)
                   : NULL;

  g_assert_no_error (error);
  return run;
}

static IrTensor *
output_of (const IrRun *run)
{
  return ir_run_value (run, ir_graph_output (run->model->main, 0)->id);
}

static const char *
kernel_of (const IrRun *run)
{
  return g_array_index (run->schedule->items, IrScheduleItem, 0).kernel;
}

/* The largest distance from what ref gives, over the largest magnitude. */
static double
distance (const IrRun *run, const IrRun *wanted)
{
  IrComparison found;

  g_assert_true (ir_tensors_compare (output_of (wanted), output_of (run), &found));
  g_assert_false (found.non_finite_differs);
  return found.max_abs / MAX (found.scale, 1e-6);
}

static void
set_up (const char *options)
{
  ir_gpu_runtime_close ();
  g_setenv ("IRSCOPE_STAND_IN", options, TRUE);
}

static void
test_product (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_auto (Subject) subject = subject_new (i);
  g_autoptr (IrRun) wanted = run_on (&subject, "ref"), run = NULL, own = NULL;
  double most;

  most = ir_tolerance_scale (ir_tensor_dtype (output_of (wanted))) * 1e-5;
  set_up ("seed=1");
  run = run_on (&subject, "gpu");
  g_test_message ("%s", kernel_of (run));
  g_assert_cmpint (strstr (kernel_of (run), "(cuBLAS") != NULL, ==, products[i].by_library);
  g_assert_cmpfloat (distance (run, wanted), <=, most);
  /* And as it is without the library. */
  set_up ("seed=1,fail=cublasCreate_v2:0:1");
  own = run_on (&subject, "gpu");
  g_assert_null (strstr (kernel_of (own), "(cuBLAS"));
  g_assert_cmpint (strstr (kernel_of (own), "cublasCreate_v2") != NULL, ==, products[i].by_library);
  g_assert_cmpfloat (distance (own, wanted), <=, most);
}

/* Rounded operands are farther off than strict ones, and not too far; kernels are always strict. */
static void
test_precision (void)
{
  static const double most[IR_GPU_N_PRECISIONS] = { 1e-6, 2e-3, 2e-3 };
  g_auto (Subject) subject = subject_new (0);
  g_autoptr (IrRun) wanted = run_on (&subject, "ref"), own = NULL;
  double far[IR_GPU_N_PRECISIONS];

  set_up ("seed=1");
  for (IrGpuPrecision i = 0; i < IR_GPU_N_PRECISIONS; i++)
    {
      IrGpuPrecision found = IR_GPU_N_PRECISIONS;
      ir_gpu_runtime_round (i);
      g_autoptr (IrRun) run = run_on (&subject, "gpu");
      far[i] = distance (run, wanted);
      g_assert_cmpfloat (far[i], <=, most[i]);
      g_assert_cmpint (strstr (kernel_of (run), ir_gpu_precision_name (i)) != NULL, ==,
                       i != IR_GPU_STRICT);
      g_assert_true (ir_gpu_precision_find (ir_gpu_precision_name (i), &found) && found == i);
    }
  g_assert_cmpfloat (far[IR_GPU_TF32], >, 10 * far[IR_GPU_STRICT]);
  g_assert_cmpfloat (far[IR_GPU_HALF], >, 10 * far[IR_GPU_STRICT]);
  set_up ("seed=1,fail=cublasCreate_v2:0:1");
  own = run_on (&subject, "gpu");
  g_assert_nonnull (strstr (kernel_of (own), "strict"));
  g_assert_cmpfloat (distance (own, wanted), <=, most[IR_GPU_STRICT]);
  ir_gpu_runtime_round (IR_GPU_STRICT);
}

/* Without cuBLASLt a bias is added by the kernel. */
static void
test_without_lt (void)
{
  g_auto (Subject) subject = subject_new (19);
  g_autoptr (IrRun) wanted = run_on (&subject, "ref"), run = NULL;

  g_assert_nonnull (strstr (products[19].node, "(a, b, c)"));
  set_up ("seed=1,fail=cublasLtCreate:0:1");
  run = run_on (&subject, "gpu");
  g_assert_nonnull (strstr (kernel_of (run), "cublasLtCreate"));
  g_assert_cmpfloat (distance (run, wanted), <=, 1e-5);
}

int
main (int argc, char **argv)
{
  g_autofree char *path = NULL;

  g_test_init (&argc, &argv, NULL);
  path = g_strdup_printf ("%s:-", g_test_get_dir (G_TEST_BUILT));
  g_setenv (IR_GPU_PATH, path, TRUE);
  g_setenv (IR_GPU_CACHE, "-", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (products); i++)
    {
      g_autofree char *name = g_strdup_printf ("/gpu/products/%s of %s", products[i].node,
                                               products[i].inputs);
      g_test_add_data_func (name, GUINT_TO_POINTER (i), test_product);
    }
  g_test_add_func ("/gpu/products/precision", test_precision);
  g_test_add_func ("/gpu/products/without cuBLASLt", test_without_lt);
  int failed = g_test_run ();
  ir_gpu_runtime_close ();
  return failed;
}
