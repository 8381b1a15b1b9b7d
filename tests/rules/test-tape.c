/* The tape: the worked example as it is taught, every rule against reverse mode, what is held, and what
 * stops it. */
#include "config.h"

#include "core/exec/tape/tape.h"
#include "core/grad/cases.h"
#include "passes/proof/differences.h"
#include "passes/rewrites/gradient.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"
#include "tests/rules/pass-test.h"

#include <math.h>
#include <string.h>

#define HEAD "<ir_version: 8, opset_import: [\"\" : 18, \"own\" : 1]> g "

static void
infer (IrModel *model)
{
  IrEdit *edit = ir_edit_new_import (model);

  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  ir_edit_free (edit);
}

/* @contents: "TYPE elements" per input, with ; between */
static GHashTable *
inputs_of (const IrModel *model, const char *contents)
{
  GHashTable *inputs = inputs_new ();
  g_auto (GStrv) each = g_strsplit (contents, ";", -1);

  for (guint i = 0; each[i] != NULL; i++)
    {
      g_auto (GStrv) words = g_strsplit (each[i], " ", 2);
      inputs_add (inputs, ir_graph_input (model->main, i), tensor_of (words[0], words[1]));
    }
  return inputs;
}

static IrTape *
tape_of (IrModel *model, GHashTable *inputs, const char *of, const char *wrt, GError **error)
{
  const IrTapeOptions options = { .seed = 3 };
  g_autoptr (GPtrArray) by = ir_gradient_wrt (model, wrt, error);
  IrValue *value = by != NULL ? ir_gradient_of (model, of, error) : NULL;

  return value != NULL ? ir_tape_run (model, inputs, value, by, &options, NULL, error) : NULL;
}

static IrTape *
taped (const char *text, const char *contents, const char *wrt)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GError) error = NULL;

  infer (model);
  g_autoptr (GHashTable) inputs = inputs_of (model, contents);
  IrTape *tape = tape_of (model, inputs, "", wrt, &error);
  g_assert_no_error (error);
  return tape;
}

static const IrTapeRow *
row_called (const IrTape *tape, const char *name)
{
  const IrTapeRow *row = ir_tape_row (tape, ir_graph_find_value (tape->model->main, name)->id);

  g_assert_nonnull (row);
  return row;
}

/* -- the worked example: f = ln x1 + x1 x2 - sin x2 at (2, 5) -- */

static const char *const example = HEAD
    "(float[] x1, float[] x2) => (float[] v5) { v1 = Log (x1)  v2 = Mul (x1, x2)  v3 = Sin (x2)  "
    "v4 = Add (v1, v2)  v5 = Sub (v4, v3) }";

static void
assert_numbers (const char *what, const GPtrArray *tensors, const char *wanted)
{
  g_autoptr (GString) found = g_string_new (NULL);

  for (guint i = 0; i < tensors->len; i++)
    g_string_append_printf (
        found, "%s%.3f", i > 0 ? " " : "",
        tensors->pdata[i] != NULL ? ir_tensor_get_double (tensors->pdata[i], 0) + 0.0 : 0.0);
  if (g_strcmp0 (found->str, wanted) != 0)
    g_error ("%s: %s, not %s", what, found->str, wanted);
}

static void
test_worked_example (void)
{
  static const struct
  {
    const char *name;
    double value;
    const char *tangents, *adjoints;
  } rows[] = {
    { "x1", 2, "1.000 0.000", "5.000 5.500" }, { "x2", 5, "0.000 1.000", "-0.284 1.716" },
    { "v1", 0.693, "0.500 0.000", "1.000" },   { "v2", 10, "5.000 2.000", "1.000" },
    { "v3", -0.959, "0.000 0.284", "-1.000" }, { "v4", 10.693, "5.500 2.000", "1.000" },
    { "v5", 11.652, "5.500 1.716", "1.000" },
  };
  g_autoptr (IrTape) tape = taped (example, "float[] 2;float[] 5", "x1,x2");

  g_assert_cmpuint (tape->n_directions, ==, 2);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const IrTapeRow *row = row_called (tape, rows[i].name);
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (row->contents, 0), rows[i].value, 5e-4);
      assert_numbers (rows[i].name, row->tangents, rows[i].tangents);
      assert_numbers (rows[i].name, row->adjoints, rows[i].adjoints);
    }
}

static void
test_events (void)
{
  g_autoptr (IrTape) tape = taped (example, "float[] 2;float[] 5", "x1,x2");
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < tape->events->len; i++)
    {
      const IrTapeEvent *event = &g_array_index (tape->events, IrTapeEvent, i);
      g_string_append_printf (
          text, "%s%s %s %u", i > 0 ? ", " : "", ir_tape_event_name (event->kind),
          ir_model_value (tape->model, event->value)->name, (guint) event->bytes_held);
    }
  /* x1 is held from ln on, x2 from the product on: four bytes each. */
  g_assert_cmpstr (text->str, ==,
                   "push v1 4, push v2 8, push v3 8, push v4 8, push v5 8, seed v5 8, pop v5 8, "
                   "pop v4 8, pop v3 8, pop v2 4, accumulate x2 4, pop v1 0, accumulate x1 0");
}

static void
test_slopes_and_paths (void)
{
  g_autoptr (IrTape) tape = taped (example, "float[] 2;float[] 5", "x1,x2");
  const IrTapeRow *product = row_called (tape, "v2");
  IrValueId x1 = ir_graph_find_value (tape->model->main, "x1")->id;
  gboolean all;
  g_autoptr (GArray) paths = ir_tape_paths (tape, x1, 10, &all);

  g_assert_cmpfloat (g_array_index (product->partials, IrTapePartial, 0).slope, ==, 5);
  g_assert_cmpfloat (g_array_index (product->partials, IrTapePartial, 1).slope, ==, 2);
  g_assert_true (all);
  g_assert_cmpuint (paths->len, ==, 2);
  g_assert_cmpfloat (g_array_index (paths, IrTapePath, 0).contribution, ==, 5);
  g_assert_cmpfloat (g_array_index (paths, IrTapePath, 1).contribution, ==, 0.5);
  g_assert_cmpuint (g_array_index (paths, IrTapePath, 1).values->len, ==, 4);
  g_autoptr (GArray) two = ir_tape_paths (tape, x1, 2, &all);
  g_assert_true (all);
  g_assert_cmpuint (two->len, ==, 2);
  g_autoptr (GArray) one = ir_tape_paths (tape, x1, 1, &all);
  g_assert_false (all);
  g_assert_cmpuint (one->len, ==, 1);
}

/* As many paths as there are ways: a chain of n doublings has 2^n, and is not followed to the end. */
static void
test_many_paths (void)
{
  g_autoptr (GString) text = g_string_new (HEAD "(float[] x0) => (float[] x40) {");
  gboolean all;

  for (guint i = 0; i < 40; i++)
    g_string_append_printf (text, " x%u = Add (x%u, x%u)", i + 1, i, i);
  g_string_append (text, " }");
  g_autoptr (IrTape) tape = taped (text->str, "float[] 1", "x0");
  IrValueId x = ir_graph_find_value (tape->model->main, "x0")->id;
  g_autoptr (GArray) paths = ir_tape_paths (tape, x, 5, &all);

  g_assert_cmpuint (paths->len, <=, 5);
  g_assert_false (all);
  g_assert_cmpfloat (ir_tensor_get_double (ir_tape_gradient (tape, x), 0), ==, pow (2, 40));
}

/* -- every rule -- */

static double
sum_along (const IrTensor *gradient)
{
  return gradient != NULL ? ir_tensor_sum (gradient) : 0;
}

static void
compare_case (const IrGradientCase *c)
{
  g_autofree char *b = c->b != NULL ? g_strdup_printf (", %s b", c->b_type) : g_strdup ("");
  g_autofree char *signature = g_strdup_printf ("(%s a%s) => (double y)", c->a_type, b);
  g_autofree char *contents = c->b != NULL ? g_strdup_printf ("%s %s;%s %s", c->a_type, c->a,
                                                              c->b_type, c->b)
                                           : g_strdup_printf ("%s %s", c->a_type, c->a);
  g_autoptr (IrModel) model = read_graph (IR_GRADIENT_CASE_OPSET, signature, c->body);
  g_autoptr (GHashTable) inputs = inputs_of (model, contents);
  g_autoptr (GError) error = NULL;
  g_auto (IrMovable) movable = { 0 };

  infer (model);
  ir_movable_init (&movable, model, inputs, "y", "inputs", &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) wanted = ir_movable_derive (&movable, &error);
  g_assert_no_error (error);
  g_autoptr (IrTape) tape = tape_of (model, inputs, "y", "inputs", &error);
  g_assert_no_error (error);
  double along = 0;
  for (guint i = 0; i < wanted->len; i++)
    {
      const IrTensor *got = ir_tape_gradient (tape, g_array_index (tape->by, IrValueId, i));
      along += sum_along (wanted->pdata[i]);
      for (guint64 k = 0; k < ir_tensor_n_elements (wanted->pdata[i]); k++)
        {
          double x = got != NULL ? ir_tensor_get_double (got, k) : 0;
          double y = ir_tensor_get_double (wanted->pdata[i], k);
          if (strcmp (c->op, "Dropout") != 0 && !(fabs (x - y) <= 1e-10 * MAX (fabs (y), 1)))
            g_error ("%s: %.17g by the tape, %.17g backwards", c->op, x, y);
        }
    }
  /* All moves by 1: one direction, or the sum of one for each number. */
  const IrTapeRow *row = ir_tape_row (tape, tape->of);
  double moves = 0;
  for (guint i = 0; i < row->tangents->len; i++)
    moves += sum_along (row->tangents->pdata[i]);
  if (strcmp (c->op, "Dropout") != 0 && !(fabs (moves - along) <= 1e-9 * MAX (fabs (along), 10)))
    g_error ("%s: moves by %.17g, backwards %.17g", c->op, moves, along);
  g_assert_cmpuint (g_array_index (tape->events, IrTapeEvent, tape->events->len - 1).bytes_held, ==,
                    0);
}

static void
test_every_rule (void)
{
  for (guint i = 0; i < ir_gradient_n_plain (); i++)
    compare_case (ir_gradient_case (i));
}

/* Bodies and sequences are not recorded: it says so, and of which node. */
static void
test_control_flow (void)
{
  guint n_refused = 0;

  for (guint i = ir_gradient_n_plain (); ir_gradient_case (i) != NULL; i++)
    {
      const IrGradientCase *c = ir_gradient_case (i);
      g_autofree char *b = c->b != NULL ? g_strdup_printf (", %s b", c->b_type) : g_strdup ("");
      g_autofree char *signature = g_strdup_printf ("(%s a%s) => (double y)", c->a_type, b);
      g_autoptr (IrModel) model = read_graph (IR_GRADIENT_CASE_OPSET, signature, c->body);
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_autoptr (GError) error = NULL;

      inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of (c->a_type, c->a));
      if (c->b != NULL)
        inputs_add (inputs, ir_graph_input (model->main, 1), tensor_of (c->b_type, c->b));
      infer (model);
      g_autoptr (IrTape) tape = tape_of (model, inputs, "y", "inputs", &error);
      if (tape == NULL && strstr (error->message, "): the tape has ") == NULL)
        g_error ("%s: %s", c->op, error->message);
      n_refused += tape == NULL;
    }
  g_assert_cmpuint (n_refused, >, 60);
}

/* -- odd things -- */

static void
test_functions_and_sizes (void)
{
  g_autoptr (IrTape) call = taped (
      HEAD "(float16[N,2] x) => (float16[N,2] y) { t = own.Square (x)  s = Softmax (t)  "
           "y = Mul (s, x) } <domain: \"own\", opset_import: [\"\" : 18]> Square (a) => (b) "
           "{ b = Mul (a, a) }",
      "float16[3,2] 0.5 1 -0.7", "x");
  g_autoptr (IrTape) none = taped (
      HEAD "(float[0,2] x) => (float[] y) { e = Exp (x)  y = ReduceSum <keepdims = 0> (e) }",
      "float[0,2] ", "x");
  g_autoptr (IrTape) cut = taped (
      HEAD "(float[2] x) => (float[2] y) { i = Cast <to = 7> (x)  y = Cast <to = 1> (i) }",
      "float[2] 1 2", "x");

  g_assert_cmpuint (
      ir_tensor_n_elements (ir_tape_gradient (call, g_array_index (call->by, IrValueId, 0))), ==,
      6);
  g_assert_cmpuint (
      ir_tensor_n_elements (ir_tape_gradient (none, g_array_index (none->by, IrValueId, 0))), ==,
      0);
  g_assert_null (ir_tape_gradient (cut, g_array_index (cut->by, IrValueId, 0)));
}

static void
test_stops (void)
{
  static const char *const texts[] = {
    HEAD "(float[1,1,2,2] x) => (float[] y) { [d] q, y, z = DynamicQuantizeLinear (x) }",
    HEAD "(float[2,2] x, bool c) => (float[2,2] y) { [if] y = If (c) <then_branch = t () => "
         "(float[2,2] o) { o = Exp (x) }, else_branch = e () => (float[2,2] p) { p = Neg (x) }> }",
  };
  static const char *const needed[] = { "d (DynamicQuantizeLinear): cannot be derived",
                                        "if (If): the tape has no nodes of bodies" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (IrModel) model = test_model (texts[i]);
      g_autoptr (GError) error = NULL;
      infer (model);
      g_autoptr (GHashTable) inputs = inputs_of (model, i == 0 ? "float[1,1,2,2] 1 2 3 5"
                                                               : "float[2,2] 1 2 3 5;bool[] 1");
      g_autoptr (IrTape) tape = tape_of (model, inputs, "", "x", &error);
      g_assert_null (tape);
      if (strstr (error->message, needed[i]) == NULL)
        g_error ("\"%s\" does not say \"%s\"", error->message, needed[i]);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/tape/" SENTENCE, FUNCTION)
  TEST ("the worked example is as it is taught", test_worked_example);
  TEST ("what is pushed is popped, and held as long", test_events);
  TEST ("slopes multiply along paths", test_slopes_and_paths);
  TEST ("too many paths are not followed", test_many_paths);
  TEST ("every rule says by the tape what it says backwards", test_every_rule);
  TEST ("control flow and sequences are not recorded", test_control_flow);
  TEST ("functions, free sizes, no elements and cut paths", test_functions_and_sizes);
  TEST ("what stops it is named", test_stops);
  return g_test_run ();
}
