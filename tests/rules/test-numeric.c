/* Numeric derivatives: the complex step against reverse mode for each operator that has a complex form,
 * differences, and the slopes of the sweep. */
#include "config.h"

#include "core/grad/cases.h"
#include "passes/proof/numeric.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"
#include "tests/rules/pass-test.h"

#include <math.h>
#include <string.h>

static void
movable_of (IrMovable *movable, IrModel *model, GHashTable *inputs)
{
  g_autoptr (GError) error = NULL;

  ir_movable_init (movable, model, inputs, "y", "inputs", &error);
  g_assert_no_error (error);
}

static void
assert_near (const char *what, const GPtrArray *a, const GPtrArray *b, double tolerance)
{
  for (guint i = 0; i < a->len; i++)
    for (guint64 k = 0; k < ir_tensor_n_elements (a->pdata[i]); k++)
      {
        double x = ir_tensor_get_double (a->pdata[i], k), y = ir_tensor_get_double (b->pdata[i], k);
        if (!(fabs (x - y) <= tolerance * MAX (fabs (y), 1)))
          g_error ("%s: %.17g, and backwards %.17g", what, x, y);
      }
}

/* FALSE: the operator has no complex form, and it says so. */
static gboolean
compare_case (const IrGradientCase *c)
{
  g_autofree char *b = c->b != NULL ? g_strdup_printf (", %s b", c->b_type) : g_strdup ("");
  g_autofree char *signature = g_strdup_printf ("(%s a%s) => (double y)", c->a_type, b);
  g_autoptr (IrModel) model = read_graph (IR_GRADIENT_CASE_OPSET, signature, c->body);
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  g_auto (IrMovable) movable = { 0 };
  IrComplexStop stop;

  inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of (c->a_type, c->a));
  if (c->b != NULL)
    inputs_add (inputs, ir_graph_input (model->main, 1), tensor_of (c->b_type, c->b));
  movable_of (&movable, model, inputs);
  g_autoptr (GPtrArray) backward = ir_movable_derive (&movable, &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray)
      complex = ir_numeric_gradients (&movable, IR_DIFFERENCE_COMPLEX, 1e-150, &stop, &error);
  if (complex != NULL)
    assert_near (c->op, complex, backward, 1e-12);
  else
    {
      g_assert_cmpuint (stop.node, !=, 0);
      g_assert_nonnull (strstr (error->message, "stops the complex step"));
    }
  g_free (stop.why);
  return complex != NULL;
}

static void
test_complex_forms (void)
{
  static const char *const have[] = {
    "Add",           "Sub",        "Mul",     "Div",       "Pow",    "Neg",   "Sqrt",
    "Exp",           "Log",        "Sin",     "Cos",       "Tan",    "Asin",  "Acos",
    "Atan",          "Sinh",       "Cosh",    "Tanh",      "Asinh",  "Acosh", "Atanh",
    "Sigmoid",       "Reciprocal", "Sum",     "Mean",      "MatMul", "Gemm",  "Conv",
    "ConvTranspose", "ReduceSum",  "Reshape", "Transpose", "Concat", "Pad",   NULL
  };
  static const char *const have_not[] = { "Relu", "Abs", "Max", "Softmax", "Clip", NULL };

  for (guint i = 0; i < ir_gradient_n_plain (); i++)
    {
      gboolean done = compare_case (ir_gradient_case (i));
      if (done ? g_strv_contains (have_not, ir_gradient_case (i)->op)
               : g_strv_contains (have, ir_gradient_case (i)->op))
        g_error ("case %u: %s %s", i, ir_gradient_case (i)->op,
                 done ? "has a complex form" : "has no complex form");
    }
}

#define TEXT                                                                                       \
  "<ir_version: 8, opset_import: [\"\" : 18]> g (double x1, double x2) => (double y) "             \
  "{ a = Log (x1)  b = Mul (x1, x2)  c = Sin (x2)  d = Add (a, b)  y = Sub (d, c) }"

static void
example (IrMovable *movable, const char *text)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GHashTable) inputs = inputs_new ();

  inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of ("double[]", "2"));
  inputs_add (inputs, ir_graph_input (model->main, 1), tensor_of ("double[]", "5"));
  movable_of (movable, model, inputs);
}

static void
test_differences (void)
{
  static const double tolerances[] = { 1e-6, 1e-9, 1e-15 };
  g_auto (IrMovable) movable = { 0 };

  example (&movable, TEXT);
  for (guint kind = 0; kind < IR_N_DIFFERENCES; kind++)
    {
      g_autoptr (GError) error = NULL;
      IrComplexStop stop;
      g_autoptr (GPtrArray) gradients = ir_numeric_gradients (
          &movable, (IrDifference) kind, ir_difference_step ((IrDifference) kind), &stop, &error);
      g_assert_no_error (error);
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (gradients->pdata[0], 0), 5.5,
                                      6 * tolerances[kind]);
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (gradients->pdata[1], 0), 2 - cos (5),
                                      6 * tolerances[kind]);
    }
}

/* Truncation grows as h and h^2, rounding as 1/h, and the complex step has no rounding. */
static void
test_sweep (void)
{
  g_auto (IrMovable) movable = { 0 };
  g_autoptr (GError) error = NULL;
  double one = 1, zero = 0, *directions[] = { &one, &zero };

  example (&movable, TEXT);
  g_autoptr (IrSweep) sweep = ir_numeric_sweep (&movable, directions, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat_with_epsilon (sweep->reference, 5.5, 1e-15);
  g_assert_cmpfloat_with_epsilon (sweep->fits[IR_DIFFERENCE_FORWARD].truncation, 1, 0.05);
  g_assert_cmpfloat_with_epsilon (sweep->fits[IR_DIFFERENCE_FORWARD].rounding, -1, 0.2);
  g_assert_cmpfloat_with_epsilon (sweep->fits[IR_DIFFERENCE_CENTRAL].truncation, 2, 0.05);
  g_assert_cmpfloat_with_epsilon (sweep->fits[IR_DIFFERENCE_CENTRAL].rounding, -1, 0.2);
  g_assert_true (isnan (sweep->fits[IR_DIFFERENCE_COMPLEX].rounding));
  g_assert_cmpfloat (sweep->fits[IR_DIFFERENCE_COMPLEX].best_error, <, 1e-15);
  /* f''' = 2 / x^3: h^2 / 24 + u / h is least at about 2.5e-5. */
  g_assert_cmpfloat (sweep->fits[IR_DIFFERENCE_CENTRAL].best_h, >, 2e-6);
  g_assert_cmpfloat (sweep->fits[IR_DIFFERENCE_CENTRAL].best_h, <, 3e-4);
  g_assert_cmpfloat (sweep->fits[IR_DIFFERENCE_CENTRAL].best_error, <, 1e-9);
  g_assert_cmpuint (sweep->stop.node, ==, 0);
}

static void
test_stops (void)
{
  g_auto (IrMovable) movable = { 0 };
  g_autoptr (GError) error = NULL;
  double one = 1, *directions[] = { &one, &one };

  example (&movable,
           "<ir_version: 8, opset_import: [\"\" : 18]> g (double x1, double x2) => (double y) "
           "{ a = Mul (x1, x2)  [hinge] r = Relu (a)  y = Exp (r)  z = Floor (x1) }");
  g_autoptr (IrSweep) sweep = ir_numeric_sweep (&movable, directions, &error);
  g_assert_no_error (error);
  g_assert_true (
      isnan (g_array_index (sweep->points, IrSweepPoint, 3).error[IR_DIFFERENCE_COMPLEX]));
  g_assert_false (isnan (sweep->fits[IR_DIFFERENCE_CENTRAL].best_h));
  g_assert_nonnull (strstr (sweep->stop.why, "hinge (Relu) stops the complex step"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/numeric/" SENTENCE, FUNCTION)
  TEST ("complex forms say what rules say", test_complex_forms);
  TEST ("differences agree as far as their steps let them", test_differences);
  TEST ("branches of the sweep have the slopes of the theory", test_sweep);
  TEST ("what has no complex form is named, and the rest is swept", test_stops);
  return g_test_run ();
}
