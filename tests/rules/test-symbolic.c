/* Symbolic derivatives: how they swell, that they are right for each operator that an expression says,
 * how they are written, and what stops them. */
#include "config.h"

#include "core/grad/cases.h"
#include "core/grad/symbolic.h"
#include "passes/proof/differences.h"
#include "passes/rewrites/gradient.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"
#include "tests/rules/pass-test.h"

#include <math.h>
#include <string.h>

#define HEAD "<ir_version: 8, opset_import: [\"\" : 18]> g "

static IrSymbolic *
symbolic_of (IrModel *model, const char *wrt, GPtrArray **by, GError **error)
{
  g_autoptr (GError) inner = NULL;
  IrEdit *edit = ir_edit_new_import (model);

  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  ir_edit_free (edit);
  IrValue *of = ir_gradient_of (model, "", &inner);

  g_assert_no_error (inner);
  *by = ir_gradient_wrt (model, wrt, &inner);
  g_assert_no_error (inner);
  return ir_symbolic_new (model, of, *by, NULL, error);
}

/* -- swell -- */

/* l1 = x, l(k + 1) = (4 lk) (1 - lk) */
static char *
logistic_map (guint n)
{
  GString *text = g_string_new (NULL);

  g_string_printf (text, HEAD "(float[] l1) => (float[] l%u) <float four = {4}, float one = {1}> {",
                   n);
  for (guint k = 1; k < n; k++)
    g_string_append_printf (text,
                            " p%u = Mul (four, l%u) q%u = Sub (one, l%u) l%u = Mul (p%u, q%u)", k,
                            k, k, k, k + 1, k, k);
  g_string_append (text, " }");
  return g_string_free (text, FALSE);
}

static void
test_swell (void)
{
  static const struct
  {
    guint n, tree, dag, tree_folded, dag_folded;
  } sizes[] = { { 4, 217, 33, 151, 26 }, { 6, 1441, 53, 991, 42 }, { 8, 8065, 73, 5503, 58 } };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree char *text = logistic_map (sizes[i].n);
      g_autoptr (IrModel) model = test_model (text);
      g_autoptr (GPtrArray) by = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (IrSymbolic) symbolic = symbolic_of (model, "inputs", &by, &error);
      g_assert_no_error (error);
      IrExpr raw = ir_symbolic_derive (symbolic, by->pdata[0], IR_SYMBOLIC_RAW);
      IrExpr folded = ir_symbolic_derive (symbolic, by->pdata[0], IR_SYMBOLIC_FOLDED);
      g_assert_cmpfloat (ir_symbolic_tree_size (symbolic, raw), ==, sizes[i].tree);
      g_assert_cmpuint (ir_symbolic_dag_size (symbolic, &raw, 1), ==, sizes[i].dag);
      g_assert_cmpfloat (ir_symbolic_tree_size (symbolic, folded), ==, sizes[i].tree_folded);
      g_assert_cmpuint (ir_symbolic_dag_size (symbolic, &folded, 1), ==, sizes[i].dag_folded);
    }
}

/* -- every rule that is an expression, at every level, against reverse mode in double -- */

static void
compare_levels (const IrGradientCase *c, IrModel *model, IrSymbolic *symbolic, const GPtrArray *by)
{
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;
  g_auto (IrMovable) movable = { 0 };
  IrRunOptions options = { .backend = ir_backend_find ("ref") };

  inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of (c->a_type, c->a));
  ir_movable_init (&movable, model, inputs, "y", "inputs", &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) backward = ir_movable_derive (&movable, &error);
  g_assert_no_error (error);
  for (guint level = IR_SYMBOLIC_RAW; level <= IR_SYMBOLIC_SIMPLIFIED; level++)
    {
      IrExpr expression = ir_symbolic_derive (symbolic, by->pdata[0], (IrSymbolicLevel) level);
      g_autoptr (IrModel) copy = ir_model_clone (model);
      IrEdit *edit = ir_edit_new_import (copy);
      IrValue *result = ir_symbolic_emit (symbolic, edit, copy->main, expression);
      ir_edit_free (edit);
      g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
      g_array_append_val (chosen, result->id);
      options.capture = IR_CAPTURE_ALL;
      g_autoptr (IrRun) run = ir_model_run (copy, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      const IrTensor *got = result->initializer != NULL ? result->initializer
                                                        : ir_run_value (run, result->id);
      const IrTensor *wanted = backward->pdata[0];
      g_assert_nonnull (got);
      for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
        {
          double x = ir_tensor_get_double (got, ir_tensor_n_elements (got) > 1 ? i : 0);
          double y = ir_tensor_get_double (wanted, i);
          if (!(fabs (x - y) <= 1e-12 * MAX (fabs (y), 1)))
            g_error ("%s, level %u: %.17g, and backwards %.17g", c->op, level, x, y);
        }
    }
}

static void
test_every_rule (void)
{
  guint n = 0;

  for (guint i = 0; i < ir_gradient_n_plain (); i++)
    {
      const IrGradientCase *c = ir_gradient_case (i);
      g_autofree char *signature = g_strdup_printf ("(%s a) => (double y)", c->a_type);
      g_autoptr (GPtrArray) by = NULL;
      g_autoptr (GError) error = NULL;
      if (c->b != NULL)
        continue;
      g_autoptr (IrModel) model = read_graph (IR_GRADIENT_CASE_OPSET, signature, c->body);
      g_autoptr (IrSymbolic) symbolic = symbolic_of (model, "inputs", &by, &error);
      if (symbolic == NULL)
        {
          g_assert_nonnull (strstr (error->message, "stops it first"));
          continue;
        }
      compare_levels (c, model, symbolic, by);
      n++;
    }
  g_assert_cmpuint (n, >, 38);
}

/* -- text -- */

static void
assert_text (const char *text, const char *wrt, IrSymbolicLevel level, const char *wanted)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GPtrArray) by = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrSymbolic) symbolic = symbolic_of (model, wrt, &by, &error);

  g_assert_no_error (error);
  g_autofree char *found = ir_symbolic_text (symbolic,
                                             ir_symbolic_derive (symbolic, by->pdata[0], level));
  g_assert_cmpstr (found, ==, wanted);
}

static void
test_text (void)
{
  static const char *const example = HEAD
      "(float[] x1, float[] x2) => (float[] f) { a = Log (x1)  b = Mul (x1, x2)  "
      "c = Sin (x2)  d = Add (a, b)  f = Sub (d, c) }";
  static const char *const powers = HEAD
      "(float[2] x) => (float[2] y) <float three = {3}> { p = Pow (x, three)  n = Neg (p)  "
      "m = Mul (n, n)  y = Div (m, x) }";

  assert_text (example, "x1,x2", IR_SYMBOLIC_RAW, "1 / x1 + (1 * x2 + 0 * x1) - 0 * cos(x2)");
  assert_text (example, "x1", IR_SYMBOLIC_SIMPLIFIED, "1 / x1 + x2");
  assert_text (example, "x2", IR_SYMBOLIC_SIMPLIFIED, "x1 - cos(x2)");
  assert_text (HEAD "(float[] x) => (float[] y) { a = Sub (x, x)  y = Sub (x, a) }", "x",
               IR_SYMBOLIC_RAW, "1 - (1 - 1)");
  assert_text (HEAD "(float[] x) => (float[] y) <float k = {2}> { y = Mul (k, k)  z = Neg (x) }",
               "x", IR_SYMBOLIC_RAW, "0");
  assert_text (powers, "x", IR_SYMBOLIC_SIMPLIFIED,
               "((-(3 * x^2)) * (-x^3) + (-(3 * x^2)) * (-x^3)) / x - (-x^3) * (-x^3) / x / x");
  /* Long ones name what they share. */
  g_autofree char *map = logistic_map (4);
  g_autoptr (IrModel) model = test_model (map);
  g_autoptr (GPtrArray) by = NULL;
  g_autoptr (IrSymbolic) symbolic = symbolic_of (model, "inputs", &by, NULL);
  g_autofree char *text = ir_symbolic_text (
      symbolic, ir_symbolic_derive (symbolic, by->pdata[0], IR_SYMBOLIC_RAW));
  g_assert_true (g_str_has_prefix (text, "t1 = 4 * l1\nt2 = 1 - l1\n"));
}

/* -- what stops it -- */

static void
assert_stops (const char *text, const char *needed)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GPtrArray) by = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrSymbolic) symbolic = symbolic_of (model, "inputs", &by, &error);

  g_assert_null (symbolic);
  if (strstr (error->message, needed) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->message, needed);
  g_assert_nonnull (strstr (error->message, strstr (needed, "Loop") != NULL
                                                ? "use differences"
                                                : "use reverse or forward mode"));
}

static void
test_stops (void)
{
  assert_stops (HEAD "(float[2] x) => (float[2] y) { e = Exp (x)  [soft] s = Softmax (e)  "
                     "y = Log (s) }",
                "soft (Softmax) stops it first: it is not elementwise");
  assert_stops (HEAD "(float[2] x, float[3,2] z) => (float[3,2] y) { [narrow] e = Exp (x)  "
                     "y = Add (e, z) }",
                "narrow (Exp) stops it first: its result has another shape");
  assert_stops (HEAD "(float[2,2] x) => (float[2,2] y) { s = Shape (x)  [flat] r = Reshape (x, s)  "
                     "y = Exp (r) }",
                "flat (Reshape) stops it first: it is not elementwise");
  assert_stops (HEAD "(float[2] x) => (float[2] y) { [top] y = Max (x, x) }",
                "top (Max) stops it first: no expression says its derivative");
  assert_stops (HEAD
                "(float[] x, int64 n, bool c) => (float[] y) { [loop] y = Loop (n, c, x) <body = b "
                "(int64 i, bool go, float[] u) => (bool more, float[] v) "
                "{ more = Identity (go)  v = Neg (u) }> }",
                "loop (Loop) stops it first: control flow is no expression");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/symbolic/" SENTENCE, FUNCTION)
  TEST ("trees swell, and graphs do not", test_swell);
  TEST ("every rule that is an expression is right, at each level", test_every_rule);
  TEST ("expressions are written as one would", test_text);
  TEST ("what is no expression is named", test_stops);
  return g_test_run ();
}
