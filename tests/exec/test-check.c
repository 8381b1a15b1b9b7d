/* The execution check finds what is wrong on purpose, in kernels and in plans, names the first
 * node, and finds nothing where nothing is. */
#include "config.h"

#include "core/exec/check/check.h"
#include "core/exec/memory/memory.h"
#include "core/io/io.h"
#include "tests/exec/graphs.h"

#include <string.h>

IrMemPlan *__real_ir_mem_plan_new_full (IrModel *model,
                                        const IrSchedule *schedule,
                                        IrMemFlags flags,
                                        const IrMemOptions *options);
IrMemPlan *__wrap_ir_mem_plan_new_full (IrModel *model,
                                        const IrSchedule *schedule,
                                        IrMemFlags flags,
                                        const IrMemOptions *options);

/* -- what is wrong on purpose -- */

static const char *moved, *onto; /* (nullable) names of values: one lies where the other lies */
static const IrBackend *cpu;
static const char *bad_op; /* whose kernel spoils its output */
static IrKernelFunc good_kernel;

static IrMemItem *
find_item (const IrMemPlan *plan, const IrModel *model, const char *name)
{
  for (guint i = 0; i < plan->items->len; i++)
    {
      IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (strcmp (ir_model_value (model, item->value)->name, name) == 0)
        return item;
    }
  g_assert_not_reached ();
}

IrMemPlan *
__wrap_ir_mem_plan_new_full (IrModel *model,
                             const IrSchedule *schedule,
                             IrMemFlags flags,
                             const IrMemOptions *options)
{
  IrMemPlan *plan = __real_ir_mem_plan_new_full (model, schedule, flags, options);

  if (moved != NULL)
    find_item (plan, model, moved)->offset = find_item (plan, model, onto)->offset;
  return plan;
}

static gboolean
spoil (IrCall *call, GError **error)
{
  if (!good_kernel (call, error))
    return FALSE;
  float *data = ir_tensor_data_writable (call->outputs[0].tensor);
  data[ir_tensor_n_elements (call->outputs[0].tensor) / 2] += 0.5f;
  return TRUE;
}

static IrKernelFunc
spoiling_kernel (const IrNode *node)
{
  IrKernelFunc kernel = cpu->kernel (node);

  if (strcmp (node->op_type, bad_op) != 0)
    return kernel;
  good_kernel = kernel;
  return spoil;
}

/* -- checking -- */

static IrModel *
parse (const char *text)
{
  g_autofree char *all = g_strdup_printf ("<ir_version: 8, opset_import: [\"\" : 17]>\n%s", text);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrModel *model = ir_text_read (all, -1, problems, &error);

  g_assert_no_error (error);
  return model;
}

static IrExecutionCheck *
check_with (IrModel *model, IrRunOptions *options, const IrCheckBudget *budget)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 7, NULL, &error);

  g_assert_no_error (error);
  IrExecutionCheck *check = ir_execution_check (model, inputs, options, budget, NULL, &error);
  g_assert_no_error (error);
  g_assert_no_error (check->error);
  return check;
}

static void
assert_right (const char *text, IrRunOptions *options)
{
  g_autoptr (IrModel) model = parse (text);
  g_autoptr (IrExecutionCheck) check = check_with (model, options, NULL);
  const IrNodeCheck *first = ir_execution_check_first (check);
  g_autofree char *what = first != NULL ? ir_node_check_to_string (check, first) : NULL;

  g_assert_cmpstr (what, ==, NULL);
  g_assert_cmpuint (check->n[IR_CHECKED_NOT], ==, 0);
  g_assert_cmpuint (check->n[IR_CHECKED_RIGHT], ==, check->nodes->len);
}

/* @op: the first node that is wrong */
static void
assert_fault (const char *text, IrRunOptions *options, const char *op, IrChecked verdict)
{
  g_autoptr (IrModel) model = parse (text);
  g_autoptr (IrExecutionCheck) check = check_with (model, options, NULL);
  const IrNodeCheck *first = ir_execution_check_first (check);

  g_assert_nonnull (first);
  g_assert_cmpstr (ir_model_node (check->model, first->node)->op_type, ==, op);
  g_assert_cmpint (first->verdict, ==, verdict);
  g_assert_nonnull (first->kernel);
  g_assert_nonnull (first->place);
  g_autofree char *what = ir_node_check_to_string (check, first);
  g_test_message ("%s", what);
}

/* Convolutions in blocks, a residual, views, parts in wholes and constants of constants. */
#define MIXED                                                                                               \
  "g (float[1,3,12,12] x, float[8,3,3,3] w, float[8,8,3,3] v) => (float[1,16,144] y, float[1,8,12,12] z)\n" \
  "{ a = Conv <pads = [1,1,1,1]> (x, w)  b = Relu (a)  c = Conv <pads = [1,1,1,1]> (b, v)\n"                \
  "  d = Add (c, b)  z = Sigmoid (d)  e = Concat <axis = 1> (z, d)\n"                                       \
  "  s = Constant <value = int64[3] {1, 16, 144}> ()  f = Reshape (e, s)  y = Relu (f) }"

/* Four values of a megabyte, one behind the other. */
#define CHAINED                                                                                    \
  "g (float[1,300000] x, float[1,300000] w) => (float[1] y)\n"                                     \
  "{ m = Mul (x, w)  a = Neg (m)  b = Sigmoid (a)  c = Mul (b, w)  d = Tanh (c)\n"                 \
  "  n = Constant <value = int64[1] {1}> ()  y = ReduceSum <keepdims = 0> (d, n) }"

#define BRANCHED                                                                                   \
  "g (float[64,64] x, float[64,64] w) => (float[64,64] y)\n"                                       \
  "{ a = MatMul (x, w)  b = MatMul (w, x)  c = Relu (a)  d = Tanh (b)  y = Sub (c, d) }"

/* A loop whose body multiplies, and random numbers in it. */
#define LOOPED                                                                                                   \
  "g (float[4,4] x, float[4,4] w) => (float[4,4] y, float[3,4,4] r)\n"                                           \
  "{ n = Constant <value = int64 {3}> ()  t = Constant <value = bool {1}> ()\n"                                  \
  "  o = Relu (w)\n"                                                                                             \
  "  y, r = Loop (n, t, x) <body = b (int64 i, bool c, float[4,4] v) => (bool c2, float[4,4] u, float[4,4] q)\n" \
  "    { c2 = Identity (c)  p = MatMul (v, o)  u = Tanh (p)  q = RandomUniformLike (u) }> }"

static void
test_right (void)
{
  IrRunOptions plain = { 0 }, beside = { .n_threads = 2, .parallel = IR_PARALLEL_ON, .seed = 5 };
  IrRunOptions ref = { .backend = ir_backend_find ("ref"), .seed = 3 };
  static const char *const graphs[] = { MIXED, CHAINED, BRANCHED, LOOPED };

  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    {
      assert_right (graphs[i], &plain);
      assert_right (graphs[i], &beside);
      assert_right (graphs[i], &ref);
    }
}

/* Not tensors of numbers alone. */
static void
test_kinds (void)
{
  IrRunOptions plain = { 0 };

  assert_right ("g (float[2,3] x) => (float[2,6] y, int64 n)\n"
                "{ a = Relu (x)  s = SequenceConstruct (a, x)  n = SequenceLength (s)\n"
                "  y = ConcatFromSequence <axis = 1> (s) }",
                &plain);
  assert_right ("g (string[3] x) => (string[3] y) { y = Identity (x) }", &plain);
  assert_right (
      "g (float[k,3] x) => (float[m,1] y) { n = NonZero (x)  s = Shape (n)\n"
      "  t = Transpose (n)  c = Cast <to = 1> (t)  o = Constant <value = int64[1] {1}> ()\n"
      "  y = ReduceSum (c, o) }",
      &plain);
  assert_right ("g (float[2,3] x, bool c) => (float[2,3] y)\n"
                "{ y = If (c) <then_branch = a () => (float[2,3] p) { p = Relu (x) },\n"
                "  else_branch = b () => (float[2,3] q) { q = Neg (x) }> }",
                &plain);
}

static void
test_kernel (void)
{
  IrBackend spoiling = *cpu;
  IrRunOptions one = { .backend = &spoiling, .n_threads = 1 };
  IrRunOptions beside = { .backend = &spoiling, .n_threads = 2, .parallel = IR_PARALLEL_ON };

  spoiling.kernel = spoiling_kernel;
  bad_op = "Add";
  assert_fault (MIXED, &one, "Add", IR_CHECKED_BEYOND);
  bad_op = "Concat";
  assert_fault (MIXED, &one, "Concat", IR_CHECKED_BEYOND);
  bad_op = "MatMul";
  assert_fault (BRANCHED, &one, "MatMul", IR_CHECKED_BEYOND);
  assert_fault (BRANCHED, &beside, "MatMul", IR_CHECKED_BEYOND);
  assert_fault (LOOPED, &one, "MatMul", IR_CHECKED_BEYOND);
}

/* Named where the chain ends, as what is between was never whole. */
static void
test_chain (void)
{
  IrBackend spoiling = *cpu;
  IrRunOptions one = { .backend = &spoiling, .n_threads = 1 };
  g_autoptr (IrModel) model = parse (CHAINED);

  spoiling.kernel = spoiling_kernel;
  bad_op = "Sigmoid";
  assert_fault (CHAINED, &one, "Tanh", IR_CHECKED_BEYOND);
  g_autoptr (IrExecutionCheck) check = check_with (model, &one, NULL);
  const IrNodeCheck *sigmoid = NULL;
  for (guint i = 0; i < check->nodes->len; i++)
    {
      const IrNodeCheck *item = &g_array_index (check->nodes, IrNodeCheck, i);
      if (strcmp (ir_model_node (check->model, item->node)->op_type, "Sigmoid") == 0)
        sigmoid = item;
    }
  g_assert_cmpint (sigmoid->verdict, ==, IR_CHECKED_NOT);
  g_assert_nonnull (sigmoid->reason);
}

/* Two values that live at once, in one place. */
static void
test_place (void)
{
  IrRunOptions one = { .n_threads = 1 };
  const char *text = "g (float[64,64] x, float[64,64] w) => (float[64,64] y)\n"
                     "{ a = MatMul (x, w)  b = MatMul (w, x)  c = MatMul (b, a)  y = Softmax (c) }";
  const char *itself = "g (float[64,64] x, float[64,64] w) => (float[64,64] y)\n"
                       "{ a = MatMul (x, w)  b = MatMul (a, w)  y = Softmax (b) }";

  moved = "b", onto = "a";
  assert_fault (itself, &one, "MatMul", IR_CHECKED_BEYOND); /* it reads what it has written */
  assert_fault (text, &one, "MatMul", IR_CHECKED_OVERWRITTEN);
  g_autoptr (IrModel) model = parse (text);
  g_autoptr (IrExecutionCheck) check = check_with (model, &one, NULL);
  moved = NULL;
  const IrNodeCheck *first = ir_execution_check_first (check);
  g_assert_cmpstr (ir_model_value (check->model, first->value)->name, ==, "a");
  g_assert_cmpuint (first->writer, ==, 2);
  assert_right (text, &one);
}

/* The same nodes on every machine: by the cost model. */
static void
test_budget (void)
{
  IrRunOptions one = { .n_threads = 1 };
  g_autoptr (IrModel) model = parse (BRANCHED);
  const IrCheckBudget small = { 1000, 0 }, few = { 0, 600000 };
  g_autoptr (IrExecutionCheck) none = check_with (model, &one, &small);
  g_autoptr (IrExecutionCheck) some = check_with (model, &one, &few);
  guint n_other = 0;

  for (guint i = 0; i < none->nodes->len; i++)
    {
      const IrNodeCheck *item = &g_array_index (none->nodes, IrNodeCheck, i);
      g_assert_true (item->verdict == IR_CHECKED_NOT ? item->reason != NULL
                                                     : strcmp (item->judge, "ref") != 0);
      n_other += item->verdict == IR_CHECKED_RIGHT;
    }
  g_assert_cmpuint (n_other + none->n[IR_CHECKED_NOT], ==, none->nodes->len);
  g_assert_cmpuint (none->n[IR_CHECKED_NOT], >, 0);
  g_assert_cmpstr (g_array_index (some->nodes, IrNodeCheck, 0).judge, ==, "ref");
  g_assert_cmpuint (some->first, ==, 0);
}

static void
test_cancel (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (IrModel) model = parse (MIXED);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 7, NULL, NULL);
  g_autoptr (GError) error = NULL;

  g_cancellable_cancel (cancellable);
  g_assert_null (ir_execution_check (model, inputs, NULL, NULL, cancellable, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
}

/* Before opset 10 the mask is a float. */
static void
test_dropout (void)
{
  const char *text = "<ir_version: 4, opset_import: [\"\" : 9]>\n"
                     "g (float[5,7] x) => (float[5,7] y, float[5,7] m) { y, m = Dropout (x) }";
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (text, -1, problems, NULL);
  g_autoptr (IrExecutionCheck) check = check_with (model, NULL, NULL);

  g_assert_cmpuint (check->n[IR_CHECKED_RIGHT], ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cpu = ir_backend_find ("cpu");
  g_test_add_func ("/check/right", test_right);
  g_test_add_func ("/check/kinds", test_kinds);
  g_test_add_func ("/check/kernel", test_kernel);
  g_test_add_func ("/check/chain", test_chain);
  g_test_add_func ("/check/place", test_place);
  g_test_add_func ("/check/budget", test_budget);
  g_test_add_func ("/check/cancel", test_cancel);
  g_test_add_func ("/check/dropout", test_dropout);
  return g_test_run ();
}
