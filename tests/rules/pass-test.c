/* What the tests of passes share. */
#include "config.h"

#include "tests/rules/pass-test.h"

#include "core/op/verify.h"

#include <math.h>
#include <string.h>

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1]>\ng "

static void
print_problems (GPtrArray *problems)
{
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      g_test_message ("%u:%u: %s", problem->line, problem->column, problem->message);
    }
}

IrModel *
test_model (const char *text)
{
  g_autofree char *whole = g_strconcat (text[0] == '<' ? "" : HEAD, text, NULL);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_text_read (whole, -1, problems, &error);

  print_problems (problems);
  g_assert_no_error (error);
  g_assert_nonnull (model);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
  return model;
}

/* -- contents -- */

static double
random_element (GRand *rand, IrDtype dtype, gboolean positive, gboolean adversarial)
{
  static const double special[] = { NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40, -1e-40, 3e38 };

  if (dtype == IR_DTYPE_BOOL)
    return g_rand_boolean (rand);
  if (!ir_dtype_is_float (dtype))
    return g_rand_int_range (rand, -100, 100);
  if (positive)
    return g_rand_double_range (rand, 0.5, 2);
  if (adversarial && g_rand_int_range (rand, 0, 3) == 0)
    return special[g_rand_int_range (rand, 0, G_N_ELEMENTS (special))];
  return g_rand_double_range (rand, -2, 2);
}

static IrTensor *
random_tensor (const IrType *type, GRand *rand, gboolean positive, gboolean adversarial)
{
  g_autofree gint64 *dims = g_memdup2 (type->dims, MAX (type->rank, 1) * sizeof (gint64));
  IrTensor *tensor;

  for (int i = 0; i < type->rank; i++)
    dims[i] = MAX (dims[i], 1);
  tensor = ir_tensor_new_alloc (type->dtype, type->rank, dims, NULL);
  g_assert_nonnull (tensor);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (type->dtype, ir_tensor_data_writable (tensor), i,
                         random_element (rand, type->dtype, positive, adversarial));
  return tensor;
}

static void
make_constants (IrEdit *edit, GRand *rand)
{
  IrGraph *graph = ir_edit_model (edit)->main;
  g_autoptr (GPtrArray) kept = g_ptr_array_new ();
  guint n = ir_graph_n_inputs (graph);

  for (guint i = 0; i < n; i++)
    {
      IrValue *value = ir_graph_input (graph, i);

      if (!g_ascii_isupper (value->name[0]))
        {
          g_ptr_array_add (kept, value);
          continue;
        }
      g_autoptr (IrTensor) tensor = random_tensor (value->type, rand, value->name[0] == 'V', FALSE);
      ir_edit_set_initializer (edit, value, tensor);
    }
  ir_edit_set_graph_inputs (edit, graph, (IrValue *const *) kept->pdata, kept->len);
}

void
test_model_randomize (IrModel *model, GRand *rand)
{
  g_autoptr (GHashTable) bindings = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GError) error = NULL;
  gint64 n = g_rand_int_range (rand, 1, 4);

  g_hash_table_insert (bindings, (gpointer) "n", &n);
  make_constants (edit, rand);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  ir_infer_bind (edit, bindings, problems, &error);
  g_assert_no_error (error);
  print_problems (problems);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
}

GHashTable *
test_inputs (IrModel *model, GRand *rand, gboolean adversarial)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      IrValue *value = ir_graph_input (model->main, i);

      if (value->initializer == NULL)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (value->id),
                             random_tensor (value->type, rand, FALSE, adversarial));
    }
  return inputs;
}

IrRun *
test_run (IrModel *model, GHashTable *inputs, const char *backend)
{
  IrRunOptions options = { .backend = ir_backend_find (backend), .n_threads = 1 };
  g_autoptr (GError) error = NULL;
  IrRun *run = ir_model_run (model, inputs, &options, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (run);
  return run;
}

static gboolean
elements_agree (double a, double b, double rtol, double scale)
{
  if (isnan (a) || isnan (b))
    return isnan (a) && isnan (b);
  if (rtol == 0 || !isfinite (a) || !isfinite (b))
    return a == b && signbit (a) == signbit (b);
  return fabs (a - b) <= rtol * fabs (a) + 1e-6 * scale;
}

char *
test_compare_tensors (const char *name, const IrTensor *a, const IrTensor *b, double rtol)
{
  double scale = 0;

  if (ir_tensor_dtype (a) != ir_tensor_dtype (b) || ir_tensor_rank (a) != ir_tensor_rank (b) ||
      memcmp (ir_tensor_dims (a), ir_tensor_dims (b), ir_tensor_rank (a) * sizeof (gint64)) != 0)
    return g_strdup_printf ("%s: types differ", name);
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    if (isfinite (ir_tensor_get_double (a, i)))
      scale = MAX (scale, fabs (ir_tensor_get_double (a, i)));
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      if (!elements_agree (x, y, rtol, scale))
        return g_strdup_printf ("%s[%u]: %.9g and %.9g", name, (guint) i, x, y);
    }
  return NULL;
}

char *
test_compare (IrModel *a, IrRun *run_a, IrModel *b, IrRun *run_b, double rtol)
{
  if (ir_graph_n_outputs (a->main) > ir_graph_n_outputs (b->main))
    return g_strdup ("outputs are gone");
  for (guint i = 0; i < ir_graph_n_outputs (a->main); i++)
    {
      const IrValue *x = ir_graph_output (a->main, i), *y = ir_graph_output (b->main, i);
      const IrTensor *tx = ir_run_value (run_a, x->id), *ty = ir_run_value (run_b, y->id);
      char *text;

      if (strcmp (x->name, y->name) != 0)
        return g_strdup_printf ("output %u: %s became %s", i, x->name, y->name);
      if (tx == NULL || ty == NULL)
        return g_strdup_printf ("%s has no contents", x->name);
      if ((text = test_compare_tensors (x->name, tx, ty, rtol)) != NULL)
        return text;
    }
  return NULL;
}

IrPipeline *
test_pipeline (const IrPass *pass)
{
  IrPipeline *pipeline = g_new0 (IrPipeline, 1);

  pipeline->name = g_strdup (pass->name);
  pipeline->title = g_strdup (pass->title);
  pipeline->doc = g_strdup ("");
  pipeline->passes = g_ptr_array_new ();
  pipeline->max_iterations = 8;
  g_ptr_array_add (pipeline->passes, (gpointer) pass);
  return pipeline;
}

void
test_verify (IrModel *model)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_verify_structure (model, problems);
  print_problems (problems);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
}

static gboolean
says (const IrModel *model, const char *reason)
{
  for (guint i = 0; i < ir_history_n_refusals (model); i++)
    {
      const IrRefusal *refusal = ir_history_refusal (model, i);

      if (strstr (refusal->reason, reason) != NULL)
        return TRUE;
      g_test_message ("refusal of %s: %s", refusal->rule, refusal->reason);
    }
  return FALSE;
}

IrModel *
test_rewrite (
    const char *text, const char *passes, guint n_nodes, const char *reason, IrModel **original)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_auto (GStrv) names = g_strsplit (passes, " ", -1);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline)
      pipeline = ir_pipeline_new_from_names ((const char *const *) names, &error);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                .record_refusals = TRUE,
                                .verify = TRUE };
  IrPipelineResult result;

  g_assert_no_error (error);
  test_model_randomize (model, rand);
  *original = ir_model_clone (model);
  g_assert_true (ir_pipeline_run (model, pipeline, &options, &result, NULL, &error));
  g_assert_no_error (error);
  test_verify (model);
  g_assert_cmpuint (ir_model_n_counted_nodes (model), ==, n_nodes);
  g_assert_true (result.n_steps > 0 || ir_model_n_counted_nodes (*original) == n_nodes);
  if (reason != NULL)
    g_assert_true (says (model, reason));
  return g_steal_pointer (&model);
}

/* -- examples -- */

#define IO "(float[n,4] x) => (float[n,4] y) "
#define BRANCHES                                                                                   \
  "then_branch = t () => (float[n,4] u) { u = Neg (x) }, else_branch = e () => "                   \
  "(float[n,4] v) { v = Exp (x) }"
#define BODY                                                                                       \
  "<body = b (int64 i, bool go, float[n,4] s) => (bool more, float[n,4] t) { "                     \
  "more = Identity (go)  "

/* Passes with a function of their own have no examples in their rows. */
static const struct
{
  const char *rule, *example;
} examples[] = {
  { "fold-constants",
    "(float[n,4] x, float[4] A, float[4] B) => (float[n,4] y) { a = Add (A, B)  y = Mul (x, a) }" },
  { "fold-shape", IO "{ s = Shape (x)  y = Reshape (x, s) }" },
  { "fold-known-contents",
    IO "{ s = Shape (x)  i = Constant <value = int64[1] {1}> ()  d = Gather (s, i)  "
       "f = Cast <to = 1> (d)  y = Mul (x, f) }" },
  { "merge-equal-contents",
    "(float[n,4] x, float[q,4] z) => (float[q,4] y) { s = Shape (z)  i = Constant <value = int64[1] "
    "{0}> ()  d = Gather (s, i)  o = Constant <value = int64[1] {1}> ()  e = Slice (s, i, o)  "
    "f = Cast <to = 1> (d)  g = Cast <to = 1> (e)  h = Add (f, g)  y = Mul (z, h) }" },
  { "reshape-by-constant",
    "(float[q,2,3] x) => (float[q,6] y) { s = Shape (x)  i = Constant <value = int64[1] {0}> ()  "
    "d = Gather (s, i)  k = Constant <value = int64[1] {6}> ()  c = Concat <axis = 0> (d, k)  "
    "y = Reshape (x, c) }" },
  { "dead-node", IO "{ a = Exp (x)  y = Neg (x) }" },
  { "unused-initializers", NULL },
  { "share-constant", NULL },
  { "merge-nodes", IO "{ a = Exp (x)  b = Exp (x)  y = Add (a, b) }" },
  { "push-transposes",
    "(float[n,3,4,5] x) => (float[n,3,4,5] y) { a = Transpose <perm = [0, 3, 1, 2]> (x)  "
    "b = Relu (a)  y = Transpose <perm = [0, 2, 3, 1]> (b) }" },
  { "push-transposes-through-sums",
    "(float[n,3,4,5] x) => (float[n,3,4,5] y) { a = Transpose <perm = [0, 3, 1, 2]> (x)  "
    "b = Softmax <axis = 1> (a)  y = Transpose <perm = [0, 2, 3, 1]> (b) }" },
  { "merge-matmuls",
    "(float[n,4] x, float[4,3] P, float[4,3] Q, float[4,3] R) => (float[n,3] y) { "
    "a = MatMul (x, P)  b = MatMul (x, Q)  c = MatMul (x, R)  d = Sub (a, b)  y = Mul (d, c) }" },
  { "split-slices",
    IO "{ a = Constant <value = int64[1] {0}> ()  b = Constant <value = int64[1] {1}> ()  c = "
       "Constant <value = int64[1] {4}> ()  d = Slice (x, a, b, b)  e = Slice (x, b, c, b)  y = "
       "Concat <axis = 1> (e, d) }" },
  { "split-sequences",
    IO "{ k = Constant <value = int64 {3}> ()  i = Constant <value = int64 {0}> ()  j = Constant "
       "<value = int64 {-1}> ()  s = SplitToSequence <axis = 1> (x, k)  d = SequenceAt (s, i)  e = "
       "SequenceAt (s, j)  y = Concat <axis = 1> (e, d) }" },
  { "fuse-shared-residual",
    "(float[n,4] x, float[n,4] z, float[4] G, float[4] B) => (float[n,4] y) { s = Add (x, z)  v = "
    "LayerNormalization (s, G, B)  y = Mul (v, s) }" },
  { "share-heads",
    "(float[n,4,3,8] q, float[n,2,5,8] k) => (float[n,4,3,8] y) { i = Constant <value = int64[4] {0, "
    "0, 1, 1}> ()  v = Neg (k)  K = Gather <axis = 1> (k, i)  V = Gather <axis = 1> (v, i)  y = "
    "irscope.Attention <scale: float = 0.5> (q, K, V) }" },
  { "inline-branch", IO "{ c = Constant <value = bool {1}> ()  y = If (c) <" BRANCHES "> }" },
  { "switch-on-constant",
    IO "{ c = Constant <value = bool {1}> ()  o, a = irscope.flow.Switch (x, c)  y = Neg (a) }" },
  { "merge-of-one", IO
    "{ c = Constant <value = bool {0}> ()  a, o = irscope.flow.Switch (x, c)  b = Neg (a)  d = Exp (o)  e = "
    "irscope.flow.Merge (b, d)  y = Abs (e) }" },
  { "remove-loop", IO "{ m = Constant <value = int64 {0}> ()  a = Neg (x)  b = Loop (m, , a) " BODY
                      "t = Exp (s) }>  y = Abs (b) }" },
  { "unroll-loop",
    IO "{ m = Constant <value = int64 {2}> ()  y = Loop (m, , x) " BODY "t = Neg (s) }> }" },
  { "drop-unused-outputs",
    "(float[n,4] x, bool c) => (float[n,4] y) { d, y = If (c) <then_branch = t () => (float[n,4] d1, "
    "float[n,4] u) { d1 = Exp (x)  u = Neg (x) }, else_branch = e () => (float[n,4] v, float[n,4] w) "
    "{ w = Exp (x)  v = Abs (x) }> }" },
  { "hoist-invariant",
    "(float[n,4] x, int64 often, float[4] A) => (float[n,4] y) { y = Loop (often, , x) " BODY
    "a = Mul (x, A)  t = Add (s, a) }> }" },
  { "hoist-equal",
    "(float[3,4] x, bool c) => (float[3,4] y) { y = If (c) <then_branch = t () => (float[3,4] u) "
    "{ a = Exp (x)  u = Neg (a) }, else_branch = e () => (float[3,4] v) { b = Exp (x)  v = Abs (b) }> }" },
  { "sink-node",
    "(float[3,4] x, bool c) => (float[3,4] y) { a = Exp (x)  y = If (c) <then_branch = t () => "
    "(float[3,4] u) { u = Neg (a) }, else_branch = e () => (float[3,4] v) { v = Abs (x) }> }" },
  { "if-to-where",
    "(float[3,4] x, bool c) => (float[3,4] y) { y = If (c) <then_branch = t () => (float[3,4] u) "
    "{ u = Neg (x) }, else_branch = e () => (float[3,4] v) { v = Abs (x) }> }" },
  { "where-to-if",
    "(float[96,96] x, bool c) => (float[96,96] y) { a = MatMul (x, x)  b = MatMul (a, x)  d = Exp (x)  "
    "y = Where (c, b, d) }" },
  { "loop-to-scan",
    "(float[6,4] x, float[4] v) => (float[6,4] y) { m = Constant <value = int64 {6}> ()  y = Loop (m, ) <body = b "
    "(int64 i, bool go) => (bool more, float[4] r) { more = Identity (go)  e = Gather (x, i)  f = Cast <to = 1> "
    "(i)  a = Mul (e, f)  r = Add (a, v) }> }" },
  { "batch-scan",
    "(float[n,4] x, float[4,4] w) => (float[n,4] y) { y = Scan (x) <num_scan_inputs = 1, body = b (float[4] e) "
    "=> (float[4] r) { p = MatMul (e, w)  r = Neg (p) }> }" },
  { "merge-scans",
    "(float[n,4] x) => (float[n,4] y, float[n,4] z) { y = Scan (x) <num_scan_inputs = 1, body = b "
    "(float[4] e) => (float[4] r) { r = Exp (e) }>  z = Scan (x) <num_scan_inputs = 1, body = b2 "
    "(float[4] e) => (float[4] r) { k = Constant <value = float {2.5}> ()  r = Mul (e, k) }> }" },
  { "chain-scans",
    "(float[n,4] x) => (float[n,4] y) { a = Scan (x) <num_scan_inputs = 1, body = b (float[4] e) => "
    "(float[4] r) { r = Exp (e) }>  y = Scan (a) <num_scan_inputs = 1, body = b2 (float[4] e) => "
    "(float[4] r) { k = Constant <value = float {2.5}> ()  r = Mul (e, k) }> }" },
  { "merge-loops",
    "(float[n,4] x, int64 often) => (float[n,4] y, float[n,4] z) { y = Loop (often, , x) " BODY
    "t = Neg (s) }>  z = Loop (often, , x) <body = b2 (int64 i, bool go, float[n,4] s) => (bool "
    "more, float[n,4] t) { more = Identity (go)  t = Mul (s, x) }> }" },
};

const char *
test_rule_example (const IrRule *rule)
{
  for (guint i = 0; rule->example == NULL && i < G_N_ELEMENTS (examples); i++)
    if (strcmp (examples[i].rule, rule->name) == 0)
      return examples[i].example;
  return rule->example;
}
