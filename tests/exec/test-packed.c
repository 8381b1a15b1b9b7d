/* Constant matrices in the order in which products read them. */
#include "config.h"

#include "core/exec/kernel/prepack.h"
#include "core/exec/kernel/threads.h"
#include "tests/exec/graphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  const char *op, *a, *b, *c; /* types; @b is a constant, @c (nullable) too */
  gboolean trans_a, trans_b;
  const char *kernel; /* what the schedule names */
} Product;

#define PACKED "oneDNN sgemm, packed constant"
#define PLAIN  "oneDNN sgemm"

static const Product products[] = {
  { "MatMul", "float[40,256]", "float[256,512]", NULL, FALSE, FALSE, PACKED },
  { "MatMul", "float[2,3,20,64]", "float[64,256]", NULL, FALSE, FALSE, PACKED },
  { "MatMul", "float[4,256]", "float[256,512]", NULL, FALSE, FALSE, PLAIN },
  { "MatMul", "float[40,256]", "float[256,300]", NULL, FALSE, FALSE, PLAIN },
  { "MatMul", "float[3,40,64]", "float[3,64,256]", NULL, FALSE, FALSE, PLAIN },
  { "MatMul", "float[40,16]", "float[16,256]", NULL, FALSE, FALSE, PLAIN },
  { "Gemm", "float[40,130]", "float[257,130]", "float[257]", FALSE, TRUE, PACKED },
  { "Gemm", "float[130,40]", "float[256,130]", "float[40,1]", TRUE, TRUE, PACKED },
  { "Gemm", "float[130,40]", "float[130,256]", NULL, TRUE, FALSE, PACKED },
  { "Gemm", "float[1,512]", "float[100,512]", "float[100]", FALSE, TRUE, PLAIN },
};

/* The elements of a random tensor at an address that no float has, as files have them. */
static IrTensor *
odd_constant (const char *type, guint seed)
{
  g_autoptr (IrTensor) tensor = tensor_random (type, seed);
  gsize n = ir_tensor_n_bytes (tensor);
  guint8 *buffer = g_malloc (n + 1);

  memcpy (buffer + 1, ir_tensor_data (tensor), n);
  g_autoptr (GBytes) whole = g_bytes_new_take (buffer, n + 1);
  g_autoptr (GBytes) bytes = g_bytes_new_from_bytes (whole, 1, n);
  return ir_tensor_new (IR_DTYPE_FLOAT, ir_tensor_rank (tensor), ir_tensor_dims (tensor), bytes);
}

static IrNode *
build_product (Builder *b, const Product *product, gboolean odd, IrValue **a)
{
  builder_init (b, 17);
  *a = build_input (b, "a", product->a);
  IrValue *weights = build_constant (
      b, "b", odd ? odd_constant (product->b, 5) : tensor_random (product->b, 5));
  IrNode *node = product->c != NULL
                     ? build_node (b, NULL, product->op, 1, *a, weights,
                                   build_constant (b, "c", tensor_random (product->c, 6)), END)
                     : build_node (b, NULL, product->op, 1, *a, weights, END);

  if (product->trans_a)
    build_int (b, node, "transA", 1);
  if (product->trans_b)
    build_int (b, node, "transB", 1);
  if (product->c != NULL)
    build_float (b, node, "alpha", 0.5f);
  build_output (b, node->outputs[0]);
  build_done (b);
  return node;
}

static void
ask_for (Builder *b, IrNode *node, const char *kernel)
{
  const char *key = IR_META_KERNEL;
  const IrProps *props = ir_props_new (b->model->context, 1, &key, &kernel);

  ir_edit_set_node_extra (b->edit, node, ir_extra_new (b->model->context, NULL, props, NULL));
}

static const char *
kernel_of (const IrRun *run)
{
  return g_array_index (run->schedule->items, IrScheduleItem, 0).kernel;
}

static void
assert_close (const IrTensor *a, const IrTensor *b)
{
  const float *x = ir_tensor_data (a), *y = ir_tensor_data (b);

  g_assert_cmpuint (ir_tensor_n_elements (a), ==, ir_tensor_n_elements (b));
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    g_assert_cmpfloat_with_epsilon (x[i], y[i], 1e-4);
}

static void
check_product (const Product *product, gboolean odd, guint n_threads)
{
  static const char *const kernels[] = { NULL, "padded", "plain", "ref" };
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (IrRun) wanted = NULL;
  g_auto (Builder) b = { 0 };
  IrValue *a;
  IrNode *node = build_product (&b, product, odd, &a);
  IrValueId y = node->outputs[0]->id;

  inputs_add (inputs, a, tensor_random (product->a, 7));
  for (guint i = G_N_ELEMENTS (kernels); i-- > 0;)
    {
      g_autoptr (GError) error = NULL;
      IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = n_threads };

      ask_for (&b, node, kernels[i] != NULL ? kernels[i] : "");
      g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      if (kernels[i] == NULL)
        g_assert_cmpstr (kernel_of (run), ==, product->kernel);
      if (wanted == NULL)
        wanted = g_steal_pointer (&run);
      else
        assert_close (ir_run_value (run, y), ir_run_value (wanted, y));
    }
}

static void
test_products (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (products); i++)
    for (guint odd = 0; odd < 2; odd++)
      for (guint n_threads = 1; n_threads <= 2; n_threads++)
        check_product (&products[i], odd != 0, n_threads);
}

/* A NaN or an infinity beyond the columns would show if what fills the rows were multiplied. */
static void
test_rows_are_filled_unseen (void)
{
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = 1 };
  g_auto (Builder) b = { 0 };
  IrValue *a;
  IrNode *node = build_product (&b, &products[0], FALSE, &a);
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);

  g_assert_no_error (error);
  inputs_add (inputs, a, tensor_of ("float[40,256]", "inf"));
  g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  const float *y = ir_tensor_data (ir_run_value (run, node->outputs[0]->id));
  for (guint i = 0; i < 40 * 512; i++)
    g_assert_false (isfinite (y[i]));
}

/* -- the store -- */

static gpointer
count_and_copy (const IrTensor *constant, gpointer data)
{
  guint *n = data;
  gpointer memory;

  if (posix_memalign (&memory, 64, ir_tensor_n_bytes (constant)) != 0)
    return NULL;
  (*n)++;
  memcpy (memory, ir_tensor_raw (constant), ir_tensor_n_bytes (constant));
  return memory;
}

static gpointer
refuse (const IrTensor *constant, gpointer data)
{
  return NULL;
}

typedef struct
{
  IrPacked *packed;
  IrTensor *constant;
  guint n_packed;
} Shared;

static gpointer
ask (gpointer data)
{
  Shared *shared = data;

  return (gpointer) ir_packed_get (shared->packed, shared->constant, 1, count_and_copy,
                                   &shared->n_packed);
}

static void
test_store (void)
{
  g_autoptr (IrPacked) packed = ir_packed_new ();
  g_autoptr (IrTensor) one = odd_constant ("float[8,8]", 1);
  g_autoptr (IrTensor) other = odd_constant ("float[8,8]", 1);
  Shared shared = { packed, one, 0 };
  guint n = 0;

  g_assert_null (ir_packed_get (packed, one, 1, refuse, NULL));
  gconstpointer first = ask (&shared);
  g_assert_nonnull (first);
  g_assert_true (ir_packed_get (packed, one, 1, refuse, NULL) == first);
  g_assert_true (ir_packed_get (packed, one, 2, count_and_copy, &n) != first);
  g_assert_true (ir_packed_get (packed, other, 1, count_and_copy, &n) != first);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpmem (first, 256, ir_tensor_data (one), 256);
}

static void
test_store_is_asked_at_once (void)
{
  g_autoptr (IrPacked) packed = ir_packed_new ();
  g_autoptr (IrTensor) constant = odd_constant ("float[64,64]", 1);
  Shared shared = { packed, constant, 0 };
  GThread *threads[8];
  gpointer found = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("ask", ask, &shared);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      gpointer one = g_thread_join (threads[i]);

      g_assert_true (found == NULL || one == found);
      found = one;
    }
  g_assert_cmpuint (shared.n_packed, ==, 1);
}

/* Packing is for large constants: two nodes, and plans for two shapes, must not do it four times.
 */
static guint64
resident_bytes (void)
{
  g_autofree char *text = NULL;
  guint64 pages = 0;

  if (g_file_get_contents ("/proc/self/statm", &text, NULL, NULL))
    pages = g_ascii_strtoull (strchr (text, ' '), NULL, 10);
  return pages * 4096;
}

static void
test_nodes_and_plans_share (void)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = 1 };
  const guint64 weight_bytes = 4096 * 4096 * sizeof (float);
  g_auto (Builder) b = { 0 };

  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[N,4096]"),
          *w = build_constant (&b, "w", tensor_random ("float[4096,4096]", 3));
  IrValue *y = build_node (&b, NULL, "MatMul", 1, x, w, END)->outputs[0];
  IrValue *z = build_node (&b, NULL, "MatMul", 1, y, w, END)->outputs[0];
  build_output (&b, z);
  build_done (&b);
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  guint64 before = resident_bytes ();
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_autofree char *type = g_strdup_printf ("float[%u,4096]", 8 + i);

      inputs_add (inputs, x, tensor_random (type, i));
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
    }
  guint64 grown = resident_bytes () - before;
  g_test_message ("%.1f MB for %.1f MB of weights", (double) grown / 1e6,
                  (double) weight_bytes / 1e6);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  g_assert_cmpuint (grown, >, weight_bytes * 3 / 4); /* else nothing was packed */
  g_assert_cmpuint (grown, <, weight_bytes * 3 / 2);
#endif
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/packed/products are as without", test_products);
  g_test_add_func ("/packed/what fills the rows is not multiplied", test_rows_are_filled_unseen);
  g_test_add_func ("/packed/a constant is packed once in each form", test_store);
  g_test_add_func ("/packed/threads that ask at once get the same", test_store_is_asked_at_once);
  g_test_add_func ("/packed/nodes and plans share a constant", test_nodes_and_plans_share);
  return g_test_run ();
}
