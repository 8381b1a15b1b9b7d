/* Passes with a function of their own that fold shapes and merge products; and what fusions of
 * transformers must refuse. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include <string.h>

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1]>\ng "

/* Runs passes on what @text says; inputs, contents and all results are compared. */
static IrModel *
check (const char *text, const char *passes, double rtol)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_auto (GStrv) names = g_strsplit (passes, " ", -1);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                .record_refusals = TRUE,
                                .verify = TRUE };
  IrPipelineResult result;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline)
      pipeline = ir_pipeline_new_from_names ((const char *const *) names, &error);

  g_assert_no_error (error);
  g_autoptr (IrModel) original = ir_model_clone (model);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_no_error (error);
  test_model_randomize (original, rand);
  g_autoptr (GHashTable) inputs = test_inputs (original, rand, FALSE);
  g_autoptr (IrRun) before = test_run (original, inputs, "ref");
  g_autoptr (IrRun) after = test_run (model, inputs, "ref");
  g_autofree char *difference = test_compare (original, before, model, after, rtol);
  g_assert_cmpstr (difference, ==, NULL);
  return g_steal_pointer (&model);
}

static guint
count (const IrModel *model, const char *op)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);
  guint n = 0;

  for (guint i = 0; i < nodes->len; i++)
    n += strcmp (((IrNode *) nodes->pdata[i])->op_type, op) == 0;
  return n;
}

static void
assert_refused (IrModel *model, const char *rule, const char *reason)
{
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    {
      const IrRefusal *refusal = ir_history_refusal (model, i);
      if (strcmp (refusal->rule, rule) == 0 && strstr (refusal->reason, reason) != NULL)
        return;
    }
  g_test_message ("no refusal of %s says \"%s\"", rule, reason);
  g_test_fail ();
}

/* -- fold-shapes -- */

#define DIM(NAME, AT)                                                                              \
  NAME "i = Constant <value = int64 {" AT "}> ()  " NAME "g = Gather (s, " NAME "i)  " NAME        \
       " = Unsqueeze (" NAME "g, zero)  "
#define SHAPE_OF_X                                                                                 \
  "zero = Constant <value = int64[1] {0}> ()  s = Shape (x)  " DIM ("b", "0") DIM ("t", "1")

static gint64
shape_constant (IrModel *model, guint at)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);

  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      if (strcmp (node->op_type, "Reshape") == 0)
        {
          const IrTensor *tensor = ir_value_constant (node->inputs[1]);
          g_assert_nonnull (tensor);
          return ir_tensor_get_int64 (tensor, at);
        }
    }
  g_assert_not_reached ();
}

static void
test_own_dims (void)
{
  g_autoptr (IrModel) model = check (
      HEAD "(float[n,m,12] x) => (float[n,m,3,4] y) { " SHAPE_OF_X
           "h = Constant <value = int64[2] {3,4}> ()  c = Concat <axis: int = 0> (b, t, h)  y = "
           "Reshape (x, c) }",
      "fold-shapes eliminate-dead-code", 0);

  g_assert_cmpuint (count (model, "Shape"), ==, 0);
  g_assert_cmpint (shape_constant (model, 0), ==, 0);
  g_assert_cmpint (shape_constant (model, 1), ==, 0);
  g_assert_cmpint (shape_constant (model, 2), ==, 3);
}

static void
test_one_other_dim (void)
{
  g_autoptr (IrModel) model = check (
      HEAD
      "(float[4,n] x) => (float[k,2,2] y) { zero = Constant <value = int64[1] {0}> ()  s = "
      "Shape (x)  " DIM ("t", "1") "h = Constant <value = int64[2] {2,2}> ()  c = Concat <axis: "
                                   "int = 0> (t, h)  y = Reshape (x, c) }",
      "fold-shapes eliminate-dead-code", 0);

  g_assert_cmpuint (count (model, "Shape"), ==, 0);
  g_assert_cmpint (shape_constant (model, 0), ==, -1);
}

/* [n, m n]: with 0 and -1 an input without rows would have no defined shape. */
static void
test_zero_beside_rest (void)
{
  g_autoptr (IrModel) model = check (
      HEAD "(float[n,m,4] x) => (float[n,k,2] y) { " SHAPE_OF_X
           "two = Constant <value = int64[1] {2}> ()  d = Mul (t, two)  c = Concat <axis: int = 0> "
           "(b, d, two)  y = Reshape (x, c) }",
      "fold-shapes", 0);

  g_assert_cmpuint (count (model, "Reshape"), ==, 1);
  assert_refused (model, "reshape-by-constant", "empty input");
}

static void
test_known_contents (void)
{
  g_autoptr (IrModel) model = check (
      HEAD
      "(float[n,12] x) => (float[12,n] y) { s = Shape (x)  i = Constant <value = int64[1] {1}> "
      "()  d = Gather (s, i)  r = Constant <value = int64[1] {-1}> ()  c = Concat <axis: int = "
      "0> (d, r)  y = Reshape (x, c) }",
      "fold-shapes eliminate-dead-code", 0);

  g_assert_cmpuint (count (model, "Gather"), ==, 0);
  g_assert_cmpint (shape_constant (model, 0), ==, 12);
}

/* Both hold n; the second goes. */
static void
test_equal_contents (void)
{
  g_autoptr (IrModel) model = check (
      HEAD
      "(float[n,4] x) => (float[n,4] y, float[n,4] z) { a = Relu (x)  s = Shape (x)  t = Shape "
      "(a)  f = Constant <value = int64[1] {4}> ()  i = Constant <value = int64[1] {0}> ()  b = "
      "Gather (s, i)  c = Gather (t, i)  d = Concat <axis: int = 0> (b, f)  e = Concat <axis: "
      "int = 0> (c, f)  y = Expand (x, d)  z = Expand (a, e) }",
      "fold-shapes eliminate-dead-code", 0);

  g_assert_cmpuint (count (model, "Shape"), ==, 1);
}

/* -- merge-matmuls -- */

#define THREE                                                                                      \
  "(float[n,3,5] x, float[5,4] W, float[5,2] V, float[5,3] U, float[4] B, float[2] C, float[3] D)"
#define PRODUCTS                                                                                    \
  "p = irscope.MatMulAdd (x, W, B)  q = irscope.MatMulAdd (x, V, C)  r = irscope.MatMulAdd (x, U, " \
  "D)  "

static IrModel *
merged (const char *text)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  const char *names[] = { "merge-matmuls", NULL };
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                .record_refusals = TRUE,
                                .verify = TRUE };
  IrPipelineResult result;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, NULL);

  test_model_randomize (model, rand);
  g_autoptr (IrModel) original = ir_model_clone (model);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, NULL));
  g_autoptr (GHashTable) inputs = test_inputs (original, rand, FALSE);
  g_autoptr (IrRun) before = test_run (original, inputs, "ref");
  g_autoptr (IrRun) after = test_run (model, inputs, "ref");
  g_autofree char *difference = test_compare (original, before, model, after, 2e-5);
  g_assert_cmpstr (difference, ==, NULL);
  return g_steal_pointer (&model);
}

static void
test_three_products (void)
{
  g_autoptr (IrModel) model = merged (HEAD THREE " => (float[n,3,9] y) { " PRODUCTS
                                                 "y = Concat <axis: int = -1> (r, q, p) }");

  g_assert_cmpuint (count (model, "MatMulAdd"), ==, 1);
  g_assert_cmpuint (count (model, "Split"), ==, 1);
}

static void
test_two_products (void)
{
  g_autoptr (IrModel) model = merged (
      HEAD "(float[n,5] x, float[5,4] W, float[5,2] V) => (float[n,6] y) { p = MatMul (x, W)  q = "
           "MatMul (x, V)  y = Concat <axis: int = 1> (p, q) }");

  g_assert_cmpuint (count (model, "MatMul"), ==, 2);
}

static void
test_product_is_output (void)
{
  g_autoptr (IrModel) model = merged (HEAD THREE " => (float[n,3,4] p, float[n,3,5] y) { " PRODUCTS
                                                 "y = Concat <axis: int = -1> (r, q) }");

  g_assert_cmpuint (count (model, "MatMulAdd"), ==, 3);
  assert_refused (model, "merge-matmuls", "output of the graph");
}

/* One value, six products, two groups in turns. */
static void
test_two_groups (void)
{
  g_autoptr (IrModel) model = merged (
      HEAD THREE
      " => (float[n,3,18] y) { p = irscope.MatMulAdd (x, W, B)  a = MatMul (x, W)  "
      "q = irscope.MatMulAdd (x, V, C)  b = MatMul (x, V)  r = irscope.MatMulAdd (x, U, D)  "
      "c = MatMul (x, U)  y = Concat <axis: int = -1> (r, q, p, c, b, a) }");

  g_assert_cmpuint (count (model, "MatMulAdd"), ==, 1);
  g_assert_cmpuint (count (model, "MatMul"), ==, 1);
  g_assert_cmpuint (count (model, "Split"), ==, 2);
}

/* -- fusions that must not happen -- */

/* A mask with more batches than the scores makes the result bigger. */
static void
test_mask_that_grows (void)
{
  g_autoptr (IrModel) model = check (
      HEAD
      "(float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v, float[2,1,1,5] m) => "
      "(float[2,2,3,4] y) { c = Constant <value = float {0.5}> ()  t = Transpose <perm: ints = "
      "[0,1,3,2]> (k)  r = MatMul (q, t)  s = Mul (r, c)  w = Add (s, m)  p = Softmax (w)  y = "
      "MatMul (p, v) }",
      "fuse-attention", 0);

  g_assert_cmpuint (count (model, "Softmax"), ==, 1);
}

/* The mean over the first axis is no layer normalization. */
static void
test_other_axis (void)
{
  g_autoptr (IrModel) model = check (
      HEAD
      "(float[6,6] x) => (float[6,6] y) { m = ReduceMean <axes: ints = [0]> (x)  d = Sub (x, m)  "
      "s = Mul (d, d)  v = ReduceMean <axes: ints = [0]> (s)  e = Constant <value = float "
      "{0.001}> ()  a = Add (v, e)  r = Sqrt (a)  q = Div (d, r)  g = Constant <value = float[6] "
      "{1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> ()  y = Mul (q, g) }",
      "fuse-layer-norm", 0);

  g_assert_cmpuint (count (model, "LayerNormalization"), ==, 0);
}

/* One half on the wrong factor: x (1 + erf (x / 1.5)) / 2 is no Gelu. */
static void
test_other_constant (void)
{
  g_autoptr (IrModel) model = check (
      HEAD
      "(float[n,4] x) => (float[n,4] y) { r = Constant <value = float {1.5}> ()  one = Constant "
      "<value = float {1.0}> ()  half = Constant <value = float {0.5}> ()  d = Div (x, r)  e = "
      "Erf (d)  t = Add (e, one)  p = Mul (x, t)  y = Mul (p, half) }",
      "fuse-gelu", 0);

  g_assert_cmpuint (count (model, "Erf"), ==, 1);
}

/* The first of two casts goes where its type holds all values of what it casts, and only there. */
static void
test_casts (void)
{
  static const struct
  {
    const char *over, *holds;
  } rows[] = {
    { "bool", "bool" },
    { "uint8", "bool uint8" },
    { "uint16", "bool uint8 uint16" },
    { "uint32", "bool uint8 uint16 uint32" },
    { "uint64", "bool uint8 uint16 uint32 uint64" },
    { "int8", "bool int8" },
    { "int16", "bool uint8 int8 int16" },
    { "int32", "bool uint8 uint16 int8 int16 int32" },
    { "int64", "bool uint8 uint16 uint32 int8 int16 int32 int64" },
    { "float16", "bool uint8 int8 float16" },
    { "bfloat16", "bool uint8 int8 bfloat16" },
    { "float", "bool uint8 uint16 int8 int16 float16 bfloat16 float" },
    { "double", "bool uint8 uint16 uint32 int8 int16 int32 float16 bfloat16 float double" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (guint k = 0; k < G_N_ELEMENTS (rows); k++)
      {
        g_auto (GStrv) held = g_strsplit (rows[i].holds, " ", -1);
        gboolean merges = g_strv_contains ((const char *const *) held, rows[k].over);
        g_autofree char *text = g_strdup_printf (
            HEAD "(%s[9] x) => (double[9] y) { a = Cast <to = %d> (x)  b = Cast <to = 11> (a)  "
                 "y = Neg (b) }",
            rows[k].over, ir_dtype_from_name (rows[i].over));
        g_autoptr (IrModel) model = check (text, "merge-casts eliminate-dead-code", 0);
        guint left = !merges ? 2 : strcmp (rows[k].over, "double") == 0 ? 0 : 1;

        g_test_message ("%s over %s", rows[k].over, rows[i].over);
        g_assert_cmpuint (count (model, "Cast"), ==, left);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fusions/a shape of the input's own dimensions becomes zeros", test_own_dims);
  g_test_add_func ("/fusions/one other dimension becomes -1", test_one_other_dim);
  g_test_add_func ("/fusions/a zero beside a -1 is refused", test_zero_beside_rest);
  g_test_add_func ("/fusions/contents that inference knows are constant", test_known_contents);
  g_test_add_func ("/fusions/equal contents are shared", test_equal_contents);
  g_test_add_func ("/fusions/three products become one", test_three_products);
  g_test_add_func ("/fusions/products of one value merge in groups", test_two_groups);
  g_test_add_func ("/fusions/two products stay", test_two_products);
  g_test_add_func ("/fusions/a product that is an output stays", test_product_is_output);
  g_test_add_func ("/fusions/a mask that makes the scores bigger is refused", test_mask_that_grows);
  g_test_add_func ("/fusions/a mean over another axis is no normalization", test_other_axis);
  g_test_add_func ("/fusions/another constant is no Gelu", test_other_constant);
  g_test_add_func ("/fusions/casts merge over the types that hold all values", test_casts);
  return g_test_run ();
}
