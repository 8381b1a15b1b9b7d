/* Things that go wrong in a run: memory that is not there, primitives of oneDNN that are refused, kernels that fail, runs
 * that are cancelled at every step. Each must end with an error that says what happened, or with the right results by
 * another way, and leave an executable that gives the right results in the next run. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "core/io/io.h"
#include "core/op/infer.h"
#include "tests/exec/graphs.h"
#include "tests/exec/refusals.h"

/* -- a model with kernels of many kinds -- */

typedef struct
{
  Builder b;
  GHashTable *inputs;
  IrValue *y, *places;
} Varied;

static void
varied_init (Varied *v)
{
  Builder *b = &v->b;

  *v = (Varied){ 0 };
  builder_init (b, 17);
  IrValue *x = build_input (b, "x", "float[1,16,12,12]");
  IrValue *w = build_constant (b, "w", tensor_random ("float[24,16,3,3]", 1));
  IrValue *c = build_node (b, NULL, "Conv", 1, x, w, END)->outputs[0];
  c = build_node (b, NULL, "Relu", 1, c, END)->outputs[0];
  IrValue *deep = build_constant (b, "deep", tensor_random ("float[24,8,2,2]", 2));
  c = build_node (b, NULL, "ConvTranspose", 1, c, deep, END)->outputs[0];
  IrValue *rows = build_constant (b, "rows", ir_tensor_new_int64s ((gint64[]){ 4, -1 }, 2));
  c = build_node (b, NULL, "Reshape", 1, c, rows, END)->outputs[0];
  IrValue *m = build_constant (b, "m", tensor_random ("float[242,32]", 3));
  c = build_node (b, NULL, "MatMul", 1, c, m, END)->outputs[0];
  c = build_node (b, NULL, "Softmax", 1, c, END)->outputs[0];
  IrNode *sum = build_node (b, NULL, "ReduceL2", 1, c, END);
  build_ints (b, sum, "axes", 1, (gint64) 1);
  c = build_node (b, NULL, "Mul", 1, c, sum->outputs[0], END)->outputs[0];
  IrValue *order = build_constant (b, "order", ir_tensor_new_int64s ((gint64[]){ 3, 1, 2, 0 }, 4));
  c = build_node (b, NULL, "Gather", 1, c, order, END)->outputs[0];
  IrValue *k = build_constant (b, "k", ir_tensor_new_int64s ((gint64[]){ 5 }, 1));
  IrNode *top = build_node (b, NULL, "TopK", 2, c, k, END);
  v->places = top->outputs[1];
  v->y = build_node (b, NULL, "Einsum", 1, top->outputs[0], END)->outputs[0];
  build_string (b, v->y->producer, "equation", "ij->ji");
  build_output (b, v->y);
  build_output (b, v->places);
  build_done (b);
  v->inputs = inputs_new ();
  inputs_add (v->inputs, x, tensor_random ("float[1,16,12,12]", 4));
}

static void
varied_clear (Varied *v)
{
  g_hash_table_unref (v->inputs);
  builder_clear (&v->b);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Varied, varied_clear)

static void
assert_same_results (const Varied *v, const IrRun *a, const IrRun *b)
{
  g_assert_true (ir_tensor_equal (ir_run_value (a, v->y->id), ir_run_value (b, v->y->id)));
  g_assert_true (
      ir_tensor_equal (ir_run_value (a, v->places->id), ir_run_value (b, v->places->id)));
}

static IrRun *
run_well (const Varied *v, IrExecutable *executable)
{
  g_autoptr (GError) error = NULL;
  IrRun *run = ir_executable_run (executable, v->inputs, NULL, NULL, &error);

  g_assert_no_error (error);
  return run;
}

/* What a run that failed says: an error of execution in words, which names no memory that was
 * there. */
static void
check_error (GError **error)
{
  g_assert_nonnull (*error);
  g_assert_cmpuint (strlen ((*error)->message), >, 10);
  g_clear_error (error);
}

/* Another kernel may have done it, which adds in another order. */
static void
assert_close (const IrTensor *a, const IrTensor *b)
{
  g_assert_cmpuint (ir_tensor_n_elements (a), ==, ir_tensor_n_elements (b));
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double wanted = ir_tensor_get_double (b, i);
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (a, i), wanted,
                                      1e-4 * MAX (1, fabs (wanted)));
    }
}

/* One after the other is refused, from a first run with preparation on, or in a later run. */
static void
check_refusals (Refusals *refusals, const char *backend, IrCaptureKind capture, gboolean prepared)
{
  g_auto (Varied) v = { 0 };
  varied_init (&v);
  IrRunOptions options = { .backend = ir_backend_find (backend),
                           .n_threads = 2,
                           .capture = capture };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) expected = ir_model_run (v.b.model, v.inputs, &options, NULL, &error);
  g_assert_no_error (error);
  guint n_failed = 0, n = 0;

  for (gboolean more = TRUE; more; n++)
    {
      g_autoptr (IrExecutable) executable = ir_executable_new (v.b.model, &options, &error);
      g_autoptr (IrRun) partial = NULL;
      g_assert_no_error (error);
      if (prepared)
        ir_run_unref (run_well (&v, executable));
      refusals_begin (refusals, (int) n + 1);
      g_autoptr (IrRun) run = ir_executable_run (executable, v.inputs, NULL, &partial, &error);
      more = refusals_end (refusals);
      /* A kernel may do without: then the result is right. */
      if (run != NULL && refusals == &allocations)
        assert_same_results (&v, expected, run);
      else if (run != NULL)
        assert_close (ir_run_value (run, v.y->id), ir_run_value (expected, v.y->id));
      else
        {
          check_error (&error);
          n_failed++;
        }
      g_autoptr (IrRun) again = run_well (&v, executable);
      assert_same_results (&v, expected, again);
    }
  g_test_message ("%u of %s, %u of them needed", n - 1, refusals->of, n_failed);
  g_assert_cmpuint (n, <, 5000);
  g_assert_cmpuint (n, >, 2);
  if (!prepared && refusals == &allocations)
    g_assert_cmpuint (n_failed, >, 3);
}

static void
test_allocations (gconstpointer backend)
{
  for (guint i = 0; i < 4; i++)
    check_refusals (&allocations, backend, i & 2 ? IR_CAPTURE_ALL : IR_CAPTURE_NONE, i & 1);
}

/* Then the reference kernel does it. */
static void
test_primitives (void)
{
  for (guint i = 0; i < 4; i++)
    check_refusals (&primitives, "cpu", i & 2 ? IR_CAPTURE_ALL : IR_CAPTURE_NONE, i & 1);
}

/* Kernels with memory of their own, each in a graph alone. */
static const char *const alone[] = {
  "(float[2,4,5,5] x, float[6,4,3,3] w, float[2,36,3,3] o) => (y) { y = DeformConv <offset_group = 2> (x, w, o) }",
  "(uint8[20,40] a, uint8[40,24] b) => (y) { y = MatMulInteger (a, b) }",
  "(uint8[1,3,9,9] x, uint8[4,3,3,3] w) => (y) { y = ConvInteger (x, w) }",
  "(float16[1,3,9,9] x, float16[4,3,3,3] w) => (y) { y = Conv (x, w) }",
  "(double[20,40] a, double[40,24] b) => (y) { y = MatMul (a, b) }",
  "(float[3,20,40] a, float[3,40,24] b) => (y) { y = MatMul (a, b) }",
  "(float[40,20] a, float[24,40] b, float[24] c) => (y) { y = Gemm <transA = 1, transB = 1> (a, b, c) }",
  "(float[1,32,20,20] x, float[32,32,3,3] w) => (y) { y = Conv <pads = [1,1,1,1]> (x, w) }",
  "(float[1,16,20,20] x, float[16,1,5,5] w) => (y) { y = Conv <group = 16, dilations = [2,2]> (x, w) }",
  "(float[1,8,9] x, float[6,8,3] w, float[6] b) => (y) { y = Conv <dilations = [2]> (x, w, b) }",
  "(float[1,4,5,6,7] x, float[6,4,3,3,3] w, float[6] b) => (y) { y = Conv (x, w, b) }",
  "(float[2,8,10,10] x, float[8,2,3,3] w) => (y) { y = Conv <group = 4, strides = [2,2]> (x, w) }",
  "(float[2,3,6,5] x, float[2,4,4,3] d) => (y) { y = irscope.ConvGradWeight <kernel_shape = [3,3]> (x, d) }",
  "(float[1,2,9,8] q, float[1,2,7,8] k, float[1,2,7,4] v) => (y) { y = Attention (q, k, v) }",
  "(float[7,40] x, uint8[24,3,8] w, float[24,3] s) => (y) { y = com.microsoft.MatMulNBits <K = 40, N = 24, block_size = 16, bits = 4> (x, w, s) }",
  "(float[4,2,3] x, float[1,12,3] w, float[1,12,4] r) => (y) { y = GRU <hidden_size = 4, linear_before_reset = 1> (x, w, r) }",
  "(float[1,4,9,9] x, float[4,6,3,3] w) => (y) { y = ConvTranspose <strides = [2,2]> (x, w) }",
  "(float[4,2,3] x, float[1,12,3] w, float[1,12,4] r) => (y) { y = GRU <hidden_size = 4> (x, w, r) }",
  "(float[4,2,3] x, float[2,16,3] w, float[2,16,4] r) => (y) { y = LSTM <hidden_size = 4, direction = \"bidirectional\"> (x, w, r) }",
  "(float[4,2,3] x, float[1,4,3] w, float[1,4,4] r) => (y) { y = RNN <hidden_size = 4> (x, w, r) }",
  "(float[2,3,8,8] x) => (y) <float[4] s = {1, 1, 2, 2.5}> { y = Resize <mode = \"cubic\"> (x, , s) }",
  "(float[2,3,8,8] x) => (y) { y = LpPool <kernel_shape = [3,3]> (x) }",
  "(float[3,17] x) => (y, i) { y, i = Unique <axis = 1> (x) }",
  "(float[2,60,1] x) => (y) { y = DFT (x) }",
  "(float[4,5,6] a, float[6,5] b) => (y) { y = Einsum <equation = \"ijk,kl->il\"> (a, b) }",
  "(float[2,6,5] x, float[5] s) => (y) { y = LayerNormalization (x, s) }",
  "(float[2,6,50] x) => (y) { y = Softmax <axis = 1> (x) }",
  "(float[2,3,4,6] x) => (y) { y = Transpose <perm = [3,1,0,2]> (x) }",
};

static void
test_alone (gconstpointer text)
{
  static const char *const backends[] = { "ref", "cpu" };
  Refusals *const refused[] = { &allocations, &primitives };
  g_autofree char *whole = g_strdup_printf (
      "<ir_version: 8, opset_import: [\"\" : 23, \"irscope\" : 1, "
      "\"com.microsoft\" : 1]>\ng %s",
      (const char *) text);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_text_read (whole, -1, NULL, &error);

  g_assert_no_error (error);
  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (model);
    ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  }
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    {
      IrRunOptions options = { .backend = ir_backend_find (backends[i]), .n_threads = 2 };
      IrValueId y = ir_graph_output (model->main, 0)->id;
      g_autoptr (IrRun) expected = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      const guint n_refused = i == 0 ? 1 : G_N_ELEMENTS (refused); /* `ref` has no primitives */
      for (guint k = 0; k < n_refused; k++)
        for (int n = 1, more = TRUE; more; n++)
          {
            refusals_begin (refused[k], n);
            g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
            more = refusals_end (refused[k]);
            if (run == NULL)
              check_error (&error);
            else
              assert_close (ir_run_value (run, y), ir_run_value (expected, y));
            g_assert_true (run != NULL || refused[k] == &allocations);
          }
    }
}

static void
test_random_inputs (void)
{
  g_auto (Varied) v = { 0 };
  varied_init (&v);
  gboolean more = TRUE;

  for (int n = 1; more; n++)
    {
      g_autoptr (GError) error = NULL;
      refusals_begin (&allocations, n);
      g_autoptr (GHashTable) inputs = ir_random_inputs (v.b.model, 1, NULL, &error);
      more = refusals_end (&allocations);
      if (inputs == NULL)
        check_error (&error);
    }
}

/* -- kernels -- */

static struct
{
  int n, fails; /* atomic, as above */
  gboolean silent;
} kernels;

static gboolean
run_or_fail (IrCall *call, GError **error)
{
  if (g_atomic_int_add (&kernels.n, 1) + 1 != kernels.fails)
    return ir_ref_kernel (call->op) (call, error);
  return kernels.silent ? FALSE : ir_call_fail (call, error, IR_OP_ERROR_VALUE, "planted failure");
}

static const char *
refuses_none (const IrNode *node)
{
  return node->op == NULL || ir_ref_kernel (node->op) == NULL ? "there is no kernel" : NULL;
}

static IrKernelFunc
kernel_of (const IrNode *node)
{
  return run_or_fail;
}

static const IrBackend failing = {
  .name = "failing", .title = "Failing", .refuses = refuses_none, .kernel = kernel_of
};

static void
test_kernels (void)
{
  g_auto (Varied) v = { 0 };
  varied_init (&v);
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = &failing, .n_threads = 2, .capture = IR_CAPTURE_ALL };
  g_autoptr (IrExecutable) executable = ir_executable_new (v.b.model, &options, &error);
  g_assert_no_error (error);
  kernels.fails = kernels.n = 0;
  g_autoptr (IrRun) expected = run_well (&v, executable);
  int n_calls = g_atomic_int_get (&kernels.n);
  g_assert_cmpint (n_calls, >, 8);

  for (int k = 1; k <= 2 * n_calls; k++)
    {
      g_autoptr (IrRun) partial = NULL;
      kernels.n = 0;
      kernels.fails = (k + 1) / 2;
      kernels.silent = k % 2 == 0;
      g_assert_null (ir_executable_run (executable, v.inputs, NULL, &partial, &error));
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL);
      g_assert_nonnull (partial);
      g_assert_cmpuint (partial->failed_node, !=, 0);
      const IrNode *node = ir_model_node (partial->model, partial->failed_node);
      g_autofree char *label = ir_node_label (node);
      g_assert_nonnull (strstr (error->message, label));
      g_assert_true (kernels.silent || strstr (error->message, "planted failure") != NULL);
      g_assert_null (ir_run_value (partial, node->outputs[0]->id));
      g_assert_cmpuint (partial->trace->items->len, <, expected->trace->items->len);
      g_clear_error (&error);
      kernels.fails = 0;
      g_autoptr (IrRun) again = run_well (&v, executable);
      assert_same_results (&v, expected, again);
    }
}

/* -- cancelling -- */

typedef struct
{
  GCancellable *cancellable;
  guint at;
} Stop;

static void
stop_at (guint done, guint total, const IrNode *node, gpointer data)
{
  Stop *stop = data;

  if (done == stop->at)
    g_cancellable_cancel (stop->cancellable);
}

/* What was computed up to there stays to be looked at. */
static void
test_cancelled_steps (gconstpointer backend)
{
  g_auto (Varied) v = { 0 };
  varied_init (&v);
  g_autoptr (GError) error = NULL;
  Stop stop = { 0 };
  IrRunOptions options = { .backend = ir_backend_find (backend),
                           .n_threads = 2,
                           .capture = IR_CAPTURE_ALL,
                           .progress = stop_at,
                           .progress_data = &stop };
  g_autoptr (IrExecutable) executable = ir_executable_new (v.b.model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) expected = run_well (&v, executable);
  guint n_steps = expected->trace->items->len;

  for (guint k = 1; k < n_steps; k++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (IrRun) partial = NULL;
      stop = (Stop){ cancellable, k };
      g_assert_null (ir_executable_run (executable, v.inputs, cancellable, &partial, &error));
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
      g_clear_error (&error);
      g_assert_nonnull (partial);
      g_assert_cmpuint (partial->trace->items->len, ==, k);
      for (guint i = 0; i < k; i++)
        {
          const IrTraceItem *item = &g_array_index (partial->trace->items, IrTraceItem, i);
          const IrNode *node = ir_model_node (partial->model, item->node);
          g_assert_cmpint (item->end_ns, >=, item->start_ns);
          g_assert_true (ir_tensor_equal (ir_run_value (partial, node->outputs[0]->id),
                                          ir_run_value (expected, node->outputs[0]->id)));
        }
      g_autofree char *json = ir_trace_to_chrome_json (partial->trace, partial->model);
      g_assert_nonnull (strstr (json, "\"traceEvents\""));
      stop.at = 0;
      g_autoptr (IrRun) again = run_well (&v, executable);
      assert_same_results (&v, expected, again);
    }
}

int
main (int argc, char **argv)
{
  static const char *const backends[] = { "ref", "cpu" };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    {
      if (ir_backend_find (backends[i]) == NULL)
        continue;
      g_autofree char *memory = g_strdup_printf (
          "/faults/every allocation of %s may fail and the next run is right", backends[i]);
      g_autofree char *cancel = g_strdup_printf (
          "/faults/a run on %s that is cancelled at any step keeps what it has", backends[i]);
      g_test_add_data_func (memory, backends[i], test_allocations);
      g_test_add_data_func (cancel, backends[i], test_cancelled_steps);
    }
  for (guint i = 0; i < G_N_ELEMENTS (alone); i++)
    {
      g_autofree char *path = g_strdup_printf (
          "/faults/%u every allocation and primitive may fail of %s", i, alone[i]);
      g_test_add_data_func (path, alone[i], test_alone);
    }
  g_test_add_func ("/faults/every primitive of oneDNN may be refused and the next run is right",
                   test_primitives);
  g_test_add_func ("/faults/every allocation of random inputs may fail", test_random_inputs);
  g_test_add_func ("/faults/every kernel may fail and is named", test_kernels);
  return g_test_run ();
}
