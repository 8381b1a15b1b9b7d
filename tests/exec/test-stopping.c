/* Runs that are stopped in the middle of a kernel: by whoever cancels them, or by their limit of
 * time. Kernels look at regular amounts of work whether they are to stop; the tests count those
 * looks, so no test depends on how fast the machine is. */
#include "config.h"

#include <string.h>

#include "tests/exec/graphs.h"

/* One node with inputs x and w (perhaps); at least @looks looks at what is to be computed. */
typedef struct
{
  const char *backend, *op, *x, *w;
  const char *attr; /* (nullable) */
  gint64 value;
  int looks;
} Kind;

static const Kind kinds[] = {
  { "cpu", "MatMul", "float[1536,1536]", "float[1536,1536]", NULL, 0, 1 },
  { "cpu", "MatMul", "float[600,8,300]", "float[600,300,300]", NULL, 0, 3 },
  { "cpu", "Gemm", "float[1536,1536]", "float[1536,1536]", NULL, 0, 1 },
  { "cpu", "Conv", "float[1,64,128,128]", "float[64,64,3,3]", NULL, 0, 7 },
  { "cpu", "Conv", "float[1,64,128,128]", "float[256,16,3,3]", "group", 4, 7 },
  { "cpu", "Conv", "float[1,64,96,96]", "float[1024,64,3,3]", NULL, 0, 42 },
  { "cpu", "Conv", "float[2,256,2048]", "float[256,256,5]", NULL, 0, 1 },
  { "cpu", "Conv", "float[1,24,24,64,64]", "float[64,24,3,3,3]", NULL, 0, 5 },
  { "cpu", "Conv", "float[1,24,40,300,70]", "float[4,24,3,3,3]", NULL, 0, 3 },
  { "cpu", "Conv", "float[9,24,32,32,32]", "float[33,8,3,3,3]", "group", 3, 2 },
  { "cpu", "ConvTranspose", "float[1,512,40,40]", "float[512,128,3,3]", NULL, 0, 1 },
  { "cpu", "ConvTranspose", "float[1,1,1500,1500]", "float[1,1,3,3]", NULL, 0, 9 },
  { "cpu", "Sigmoid", "float[3300000]", NULL, NULL, 0, 1 },
  { "cpu", "Cos", "float[1650,2000]", NULL, NULL, 0, 1 },
  { "cpu", "Add", "float[3300000]", "float[3300000]", NULL, 0, 1 },
  { "cpu", "Mul", "float[1650,2000]", "float[1650,1]", NULL, 0, 1 },
  { "cpu", "PRelu", "float[1650,2000]", "float[2000]", NULL, 0, 1 },
  { "cpu", "ReduceSum", "float[3300000]", NULL, NULL, 0, 1 },
  { "cpu", "ReduceMax", "float[1650,2000]", NULL, NULL, 0, 1 },
  { "cpu", "ReduceLogSumExp", "float[1650,2000]", NULL, NULL, 0, 1 },
  { "cpu", "ArgMax", "float[3300000]", NULL, NULL, 0, 1 },
  { "cpu", "ArgMin", "float[1650,2000]", NULL, "axis", 1, 1 },
  { "cpu", "Softmax", "float[1650,2000]", NULL, NULL, 0, 1 },
  { "cpu", "Softmax", "float[1650,2000]", NULL, "axis", 0, 1 },
  { "cpu", "Softmax", "float[3300000]", NULL, NULL, 0, 1 },
  { "cpu", "LogSoftmax", "float[1650,2000]", NULL, "axis", 0, 1 },
  { "cpu", "Transpose", "float[1650,2000]", NULL, NULL, 0, 1 },
  { "cpu", "Transpose", "float[30,200,1000]", NULL, NULL, 0, 2 },
  { "cpu", "MaxPool", "float[1,144,250,250]", NULL, NULL, 0, 3 },
  { "cpu", "MaxPool", "float[1,1,4000,2200]", NULL, NULL, 0, 9 },
  { "cpu", "GlobalAveragePool", "float[144,1,250,250]", NULL, NULL, 0, 3 },
  { "cpu", "GlobalMaxPool", "float[144,1,250,250]", NULL, NULL, 0, 3 },
  { "cpu", "DepthToSpace", "float[1,144,250,250]", NULL, "blocksize", 2, 3 },
  { "cpu", "TopK", "float[1650,2000]", "int64[1]", NULL, 0, 1 },
  { "cpu", "TopK", "float[3300000]", "int64[1]", NULL, 0, 1 },
  { "cpu", "CumSum", "float[3300000]", "int64[]", NULL, 0, 1 },
  { "cpu", "CumSum", "float[1650,2000]", "int64[]", NULL, 0, 1 },
  { "cpu", "Cast", "float[3300000]", NULL, "to", 6, 1 },
  { "cpu", "Gather", "float[2000,2000]", "int64[3000]", NULL, 0, 2 },
  { "cpu", "NonZero", "float[3300000]", NULL, NULL, 0, 1 },
  { "cpu", "Trilu", "float[1650,2000]", NULL, NULL, 0, 1 },
  { "cpu", "LRN", "float[1,80,250,250]", NULL, "size", 5, 5 },
  { "ref", "MatMul", "float[256,256]", "float[256,256]", NULL, 0, 31 },
  { "ref", "Conv", "float[1,16,64,64]", "float[16,16,3,3]", NULL, 0, 63 },
  { "ref", "ConvTranspose", "float[1,16,64,64]", "float[16,16,3,3]", NULL, 0, 63 },
  { "ref", "Sigmoid", "float[100000]", NULL, NULL, 0, 15 },
  { "ref", "Add", "float[100000]", "float[100000]", NULL, 0, 15 },
  { "ref", "ReduceSum", "float[100000]", NULL, NULL, 0, 15 },
  { "ref", "ReduceMax", "float[1000,100]", NULL, "keepdims", 0, 15 },
  { "ref", "Softmax", "float[1000,100]", NULL, NULL, 0, 15 },
  { "ref", "Transpose", "float[1000,100]", NULL, NULL, 0, 15 },
  { "ref", "MaxPool", "float[1,16,80,80]", NULL, NULL, 0, 15 },
  { "ref", "TopK", "float[1000,100]", "int64[1]", NULL, 0, 15 },
  { "ref", "TopK", "float[100000]", "int64[1]", NULL, 0, 15 },
  { "ref", "Cast", "float[100000]", NULL, "to", 6, 15 },
  { "ref", "Gather", "float[200,100]", "int64[1000]", NULL, 0, 3 },
  { "ref", "NonZero", "float[100000]", NULL, NULL, 0, 15 },
  { "ref", "Trilu", "float[300,300]", NULL, NULL, 0, 15 },
  { "ref", "LpNormalization", "float[1000,100]", NULL, NULL, 0, 15 },
};

typedef struct
{
  Builder b;
  GHashTable *inputs;
  IrValue *y;
} Single;

static IrTensor *
second_operand (const char *type)
{
  if (g_str_has_prefix (type, "int64[]"))
    return tensor_of (type, "0");
  if (strcmp (type, "int64[1]") == 0)
    return tensor_of (type, "17"); /* of TopK */
  return tensor_of (type, g_str_has_prefix (type, "int64") ? "1 0 3 2" : "0.5");
}

static void
single_init (Single *single, const Kind *kind)
{
  Builder *b = &single->b;

  builder_init (b, 17);
  single->inputs = inputs_new ();
  IrValue *x = build_input (b, "x", kind->x);
  IrValue *w = kind->w != NULL ? build_constant (b, "w", second_operand (kind->w)) : NULL;
  guint n_outputs = strcmp (kind->op, "TopK") == 0 ? 2 : 1;
  IrNode *node = w != NULL ? build_node (b, NULL, kind->op, n_outputs, x, w, END)
                           : build_node (b, NULL, kind->op, n_outputs, x, END);
  if (kind->attr != NULL)
    build_int (b, node, kind->attr, kind->value);
  if (strcmp (kind->op, "MaxPool") == 0)
    build_ints (b, node, "kernel_shape", 2, 3, 3);
  single->y = node->outputs[0];
  build_output (b, single->y);
  build_done (b);
  inputs_add (single->inputs, x, tensor_of (kind->x, "0.25 -0.75 2.5"));
}

static void
single_clear (Single *single)
{
  g_hash_table_unref (single->inputs);
  builder_clear (&single->b);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Single, single_clear)

static void
test_stops_inside (gconstpointer data)
{
  const Kind *kind = data;

  guint n_threads = 1 + (guint) (kind - kinds) % 2;
  g_auto (Single) s = { 0 };
  single_init (&s, kind);
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (IrRun) partial = NULL;
  Ear ear = { .cancellable = cancellable };
  IrRunOptions options = { .backend = ir_backend_find (kind->backend),
                           .n_threads = n_threads,
                           .looked = ear_heard,
                           .looked_data = &ear };
  g_autoptr (IrExecutable) executable = ir_executable_new (s.b.model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) whole = ir_executable_run (executable, s.inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  int n_looks = g_atomic_int_get (&ear.n_looks);
  g_assert_cmpint (n_looks, >=, kind->looks);

  /* In the middle: what follows is one look of each thread, of each kind of loop that is left,
   * and of the runner. */
  g_atomic_int_set (&ear.n_looks, 0);
  ear.stop_at = MAX (n_looks / 2, 1);
  g_assert_null (ir_executable_run (executable, s.inputs, cancellable, &partial, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_clear_error (&error);
  int after = g_atomic_int_get (&ear.n_looks) - ear.stop_at;
  g_test_message ("%s on %s, %u threads: %d looks, %d after being cancelled", kind->op,
                  kind->backend, n_threads, n_looks, after);
  g_assert_cmpint (after, <=, 12 * (int) n_threads);
  g_assert_nonnull (partial);
  g_assert_null (ir_run_value (partial, s.y->id)); /* nothing incomplete is handed out */

  /* The same executable is still good. */
  ear.stop_at = 0;
  g_autoptr (IrRun) again = ir_executable_run (executable, s.inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (ir_tensor_equal (ir_run_value (whole, s.y->id), ir_run_value (again, s.y->id)));
}

/* -- from another thread -- */

static gpointer
cancel_at (gpointer data)
{
  Ear *ear = data;

  while (g_atomic_int_get (&ear->n_looks) < ear->stop_at)
    g_usleep (50);
  g_cancellable_cancel (ear->cancellable);
  return NULL;
}

static void
count (gpointer data)
{
  Ear *ear = data;

  g_atomic_int_inc (&ear->n_looks);
}

static void
test_another_thread (void)
{
  const Kind kind = { "cpu", "Conv", "float[1,24,24,64,64]", "float[256,24,3,3,3]", NULL, 0, 1 };
  g_auto (Single) s = { 0 };
  single_init (&s, &kind);
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Ear ear = { .cancellable = cancellable };
  IrRunOptions options = { .n_threads = 1, .looked = count, .looked_data = &ear };
  g_autoptr (IrExecutable) executable = ir_executable_new (s.b.model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) whole = ir_executable_run (executable, s.inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  int n_looks = g_atomic_int_get (&ear.n_looks);
  g_atomic_int_set (&ear.n_looks, 0);
  ear.stop_at = n_looks / 8;
  GThread *thread = g_thread_new ("canceller", cancel_at, &ear);
  g_assert_null (ir_executable_run (executable, s.inputs, cancellable, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_thread_join (thread);
  g_test_message ("%d looks of %d", g_atomic_int_get (&ear.n_looks), n_looks);
  g_assert_cmpint (g_atomic_int_get (&ear.n_looks), <, n_looks);
}

/* -- constants at odd addresses, as files have them -- */

#define N_ODD 3300000

static IrTensor *
odd_tensor (guint rank, const gint64 *dims)
{
  gsize n_bytes = N_ODD * sizeof (float);
  guint8 *memory = g_malloc0 (n_bytes + 1);
  g_autoptr (GBytes) all = g_bytes_new_take (memory, n_bytes + 1);
  g_autoptr (GBytes) odd = g_bytes_new_from_bytes (all, 1, n_bytes);

  for (gsize i = 1; i <= n_bytes; i++)
    memory[i] = (guint8) (i % 60);
  return ir_tensor_new (IR_DTYPE_FLOAT, rank, dims, odd);
}

static gboolean
stop_third (gpointer data)
{
  return ++*(guint *) data == 3;
}

static void
test_aligned_copy_stops (void)
{
  g_autoptr (IrTensor) tensor = odd_tensor (1, (gint64[1]){ N_ODD });
  guint n_asked = 0;

  g_assert_false (ir_tensor_align (tensor, stop_third, &n_asked));
  g_assert_cmpuint (n_asked, ==, 3);
  g_assert_true (ir_tensor_align (tensor, stop_third, &n_asked)); /* begins anew */
  g_assert_cmpuint (n_asked, ==, 6);
  const float *data = ir_tensor_data (tensor);
  g_assert_cmpuint ((guintptr) data % sizeof (float), ==, 0);
  g_assert_cmpmem (data, N_ODD * sizeof (float), ir_tensor_raw (tensor), N_ODD * sizeof (float));
  g_assert_true (ir_tensor_align (tensor, stop_third, &n_asked)); /* there is one */
  g_assert_cmpuint (n_asked, ==, 6);
}

typedef struct
{
  const char *backend, *op, *x;
  gint64 dims[3]; /* of the constant, N_ODD elements; the rest are 0 */
  gboolean first; /* it is the first input */
} Odd;

static const Odd odds[] = {
  { "cpu", "Mul", "float[1]", { N_ODD }, TRUE },
  { "ref", "Mul", "float[1]", { N_ODD }, TRUE },
  { "cpu", "MatMul", "float[3000,1]", { 1100, 3000 }, TRUE },
  { "ref", "MatMul", "float[1,1100]", { 1100, 3000 }, FALSE },
  { "cpu", "Conv", "float[1,3000,1]", { 1100, 3000, 1 }, FALSE },
  { "ref", "Conv", "float[1,3000,1]", { 1100, 3000, 1 }, FALSE },
};

/* A first run stops soon when it is cancelled, and a whole one looks @n_more times more than the
 * second, as it does work that is done once. */
static void
assert_looks_once (IrExecutable *executable,
                   GHashTable *inputs,
                   Ear *ear,
                   int most,
                   int n_more,
                   IrRun **first,
                   IrRun **second)
{
  GCancellable *cancellable = ear->cancellable;
  g_autoptr (GError) error = NULL;

  ear->stop_at = 2;
  g_assert_null (ir_executable_run (executable, inputs, cancellable, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_clear_error (&error);
  g_assert_cmpint (ear->n_looks, <=, most);
  *ear = (Ear){ 0 };
  *first = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  int n_first = ear->n_looks;
  *ear = (Ear){ 0 };
  *second = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_test_message ("%d looks, and %d the second time", n_first, ear->n_looks);
  g_assert_cmpint (n_first, >=, ear->n_looks + n_more);
}

static void
test_runs_stop_while_they_align (gconstpointer data)
{
  const Odd *odd = data;
  g_auto (Builder) b = { 0 };
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Ear ear = { .cancellable = cancellable };
  IrRunOptions options = { .backend = ir_backend_find (odd->backend),
                           .n_threads = 1,
                           .looked = ear_heard,
                           .looked_data = &ear };
  guint rank = odd->dims[1] == 0 ? 1 : odd->dims[2] == 0 ? 2 : 3;

  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", odd->x);
  IrValue *w = build_constant (&b, "w", odd_tensor (rank, odd->dims));
  IrNode *node = build_node (&b, NULL, odd->op, 1, odd->first ? w : x, odd->first ? x : w, END);
  build_output (&b, node->outputs[0]);
  build_done (&b);
  inputs_add (inputs, x, tensor_of (odd->x, "2"));
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) first = NULL, second = NULL;
  assert_looks_once (executable, inputs, &ear, 4, 3, &first, &second);
}

/* -- weights brought into another order, in the first run -- */

typedef struct
{
  const char *x, *w;
  gint64 group, stride; /* of Conv; 0: a product, by @w or its transpose */
  int looks;            /* more than in the second run, at least */
} Packing;

static const Packing packings[] = {
  { "float[1,512,4,4]", "float[512,512,3,3]", 1, 2, 17 },       /* direct */
  { "float[1,256,8,8]", "float[512,64,5,5]", 4, 1, 4 },         /* in groups */
  { "float[1,40000,9,9]", "float[40000,1,9,9]", 40000, 1, 22 }, /* depthwise */
  { "float[1,256,16,16]", "float[256,256,3,3]", 1, 1, 3 },      /* by Winograd's way */
  { "float[1,5,1600,1600]", "float[1,5,1,1]", 1, 1, 2 },        /* with a table of pixels */
  { "float[8,1]", "float[1,3300096]", 0, FALSE, 3 },            /* rows further apart */
  { "float[8,2000000]", "float[2,2000000]", 0, TRUE, 25 },      /* transposed */
};

static void
test_runs_stop_while_they_pack (gconstpointer data)
{
  const Packing *packing = data;
  g_auto (Builder) b = { 0 };
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Ear ear = { .cancellable = cancellable };
  IrRunOptions options = { .n_threads = 1, .looked = ear_heard, .looked_data = &ear };

  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", packing->x);
  IrValue *w = build_constant (&b, "w", tensor_of (packing->w, "0.25 -0.5 1"));
  IrNode *node = build_node (&b, NULL, packing->group > 0 ? "Conv" : "Gemm", 1, x, w, END);
  if (packing->group > 0)
    {
      build_int (&b, node, "group", packing->group);
      build_ints (&b, node, "strides", 2, (int) packing->stride, (int) packing->stride);
    }
  else
    build_int (&b, node, "transB", packing->stride);
  build_output (&b, node->outputs[0]);
  build_done (&b);
  inputs_add (inputs, x, tensor_of (packing->x, "0.25 -0.75 2.5"));
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) first = NULL, second = NULL;
  assert_looks_once (executable, inputs, &ear, 6, packing->looks, &first, &second);
  g_assert_true (ir_tensor_equal (ir_run_value (first, node->outputs[0]->id),
                                  ir_run_value (second, node->outputs[0]->id)));
}

/* -- the limit of time -- */

/* Hears the first look only when the time is over, so that all that follow come too late. */
static void
sleep_once (gpointer data)
{
  Ear *ear = data;

  if (g_atomic_int_add (&ear->n_looks, 1) == 0)
    g_usleep (60000);
}

static void
test_time_limit_inside (void)
{
  const Kind kind = { "cpu", "Conv", "float[1,24,24,64,64]", "float[64,24,3,3,3]", NULL, 0, 1 };
  g_auto (Single) s = { 0 };
  single_init (&s, &kind);
  g_autoptr (GError) error = NULL;
  Ear ear = { 0 };
  IrRunOptions options = {
    .n_threads = 1, .time_limit_ms = 50, .looked = sleep_once, .looked_data = &ear
  };
  g_assert_null (ir_model_run (s.b.model, s.inputs, &options, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT);
  g_assert_nonnull (strstr (error->message, "time"));
  g_assert_cmpint (g_atomic_int_get (&ear.n_looks), <=, 4);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      const Kind *kind = &kinds[i];
      g_autofree char *more = kind->attr != NULL
                                  ? g_strdup_printf (" with %s %d", kind->attr, (int) kind->value)
                                  : g_strdup ("");
      g_autofree char *path = g_strdup_printf (
          "/stopping/%s %s of %s%s%s%s stops in the middle", kind->backend, kind->op, kind->x,
          kind->w != NULL ? " by " : "", kind->w != NULL ? kind->w : "", more);
      g_test_add_data_func (path, kind, test_stops_inside);
    }
  g_test_add_func ("/stopping/a copy of what a file has at an odd address stops",
                   test_aligned_copy_stops);
  for (guint i = 0; i < G_N_ELEMENTS (odds); i++)
    {
      g_autofree char *path = g_strdup_printf ("/stopping/%s %s stops while it aligns its %s input",
                                               odds[i].backend, odds[i].op,
                                               odds[i].first ? "first" : "second");
      g_test_add_data_func (path, &odds[i], test_runs_stop_while_they_align);
    }
  for (guint i = 0; i < G_N_ELEMENTS (packings); i++)
    {
      g_autofree char *path = g_strdup_printf ("/stopping/%s of %s by %s stops while it packs",
                                               packings[i].group > 0 ? "Conv" : "Gemm",
                                               packings[i].x, packings[i].w);
      g_test_add_data_func (path, &packings[i], test_runs_stop_while_they_pack);
    }
  g_test_add_func ("/stopping/a kernel stops for another thread", test_another_thread);
  g_test_add_func ("/stopping/the limit of time holds inside a kernel", test_time_limit_inside);
  return g_test_run ();
}
