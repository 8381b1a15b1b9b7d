/* Gradient: every rule against differences of the function itself, in double. */
#include "config.h"

#include "core/grad/cases.h"
#include "core/grad/vjp.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

#define STEP 1e-5

static IrModel *
case_model (const IrGradientCase *c)
{
  g_autofree char *b = c->b != NULL ? g_strdup_printf (", %s b", c->b_type) : g_strdup ("");
  g_autofree char *db = c->b != NULL ? g_strdup_printf (", %s db", c->b_type) : g_strdup ("");
  g_autofree char *signature = g_strdup_printf ("(%s a%s) => (double[] loss, %s da%s)", c->a_type,
                                                b, c->a_type, db);
  g_autofree char *body = g_strdup_printf (
      "%s" IR_GRADIENT_CASE_LOSS
      "da%s = ai.onnx.preview.training.Gradient <xs = [\"a\"%s], y = \"loss\"> (a%s)",
      c->body, c->b != NULL ? ", db" : "", c->b != NULL ? ", \"b\"" : "",
      c->b != NULL ? ", b" : "");

  return read_graph (IR_GRADIENT_CASE_OPSET, signature, body);
}

static IrRun *
run_case (IrModel *model, IrTensor *a, IrTensor *b)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  inputs_add (inputs, ir_graph_input (model->main, 0), ir_tensor_ref (a));
  if (b != NULL)
    inputs_add (inputs, ir_graph_input (model->main, 1), ir_tensor_ref (b));
  IrRun *run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  return run;
}

static double
loss_at (IrModel *model, IrTensor *tensors[2], guint which, guint64 element, double step)
{
  IrTensor *moved[2] = { tensors[0], tensors[1] };
  g_autoptr (IrTensor)
      copy = ir_tensor_new_copy (ir_tensor_dtype (tensors[which]), ir_tensor_rank (tensors[which]),
                                 ir_tensor_dims (tensors[which]), ir_tensor_data (tensors[which]));

  ((double *) ir_tensor_data_writable (copy))[element] += step;
  moved[which] = copy;
  g_autoptr (IrRun) run = run_case (model, moved[0], moved[1]);
  return ir_tensor_get_double (ir_run_value (run, ir_graph_output (model->main, 0)->id), 0);
}

static void
test_rule (gconstpointer data)
{
  const IrGradientCase *c = data;
  g_autoptr (IrModel) model = case_model (c);
  g_autoptr (IrTensor) a = tensor_of (c->a_type, c->a);
  g_autoptr (IrTensor) b = c->b != NULL ? tensor_of (c->b_type, c->b) : NULL;
  IrTensor *tensors[2] = { a, b };
  g_autoptr (IrRun) run = run_case (model, a, b);

  for (guint which = 0; which < (b != NULL ? 2 : 1); which++)
    {
      IrTensor *gradient = ir_run_value (run, ir_graph_output (model->main, 1 + which)->id);
      g_assert_cmpuint (ir_tensor_n_elements (gradient), ==, ir_tensor_n_elements (tensors[which]));
      for (guint64 i = 0; i < ir_tensor_n_elements (gradient); i++)
        {
          double slope = (loss_at (model, tensors, which, i, STEP) -
                          loss_at (model, tensors, which, i, -STEP)) /
                         (2 * STEP);
          g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (gradient, i), slope,
                                          2e-6 * MAX (fabs (slope), 1));
        }
    }
}

/* -- all rules are here -- */

static gboolean
has_case (const IrOp *op)
{
  const gboolean own = op->domain != NULL && *op->domain != '\0';
  g_autofree char *node = g_strdup_printf ("= %s%s%s ", own ? op->domain : "", own ? "." : "",
                                           op->name);

  for (guint i = 0; ir_gradient_case (i) != NULL; i++)
    if (strcmp (ir_gradient_case (i)->op, op->name) == 0 &&
        strstr (ir_gradient_case (i)->body, node) != NULL)
      return TRUE;
  return FALSE;
}

/* Each row that is derived, by rules, a function or a body, has a case, but for what differences in
 * double cannot say. */
static void
test_complete (void)
{
  guint n = 0;

  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      const IrGradRow *row = ir_grad_row (op);
      gboolean tried = row->zero || row->opaque != NULL || has_case (op);
      tried |= g_str_has_suffix (op->name, "uantizeLinear"); /* their own test, below */
      tried |= op->until > 0; /* upgraded before it is derived: tests of the command */
      tried |= g_str_equal (op->name, "LinearAttentionGate") ||
               g_str_equal (op->name, "EngramGate"); /* they compute in float32 */
      n += !row->zero && row->opaque == NULL;
      if (!tried)
        g_error ("%s %s is derived and has no case (core/grad/cases.def)", op->domain, op->name);
    }
  g_assert_cmpuint (n, >, 250);
}

/* Each row says how it is derived, or in a sentence why it is not. */
static void
test_every_row_says (void)
{
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      const IrGradRow *row = ir_grad_row (op);

      if (row == NULL)
        g_error ("%s %s: its row has no GRAD column: rules, function, body, zero or opaque with a "
                 "sentence (HACKING.md, Add a derivative)",
                 op->domain != NULL ? op->domain : "ai.onnx", op->name);
      g_assert_true (row->opaque == NULL || g_str_has_suffix (row->opaque, "."));
      g_assert_true (!row->body || op->body != NULL || op->compose != NULL);
      guint n = (row->rules[0] != NULL || row->rules[1] != NULL) + (row->function != NULL) +
                ir_grad_has_body (row) + row->zero + (row->opaque != NULL);
      g_assert_cmpuint (n, ==, 1);
    }
}

/* Far from 0 no rule gives what is not a number: 0 times what overflows. */
static void
test_far_from_zero (void)
{
  static const char *const ops[] = { "Celu",    "Elu",  "Selu",     "Softplus",
                                     "Mish",    "Gelu", "Swish",    "HardSwish",
                                     "Sigmoid", "Tanh", "Softsign", "Erf" };

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "f = %s (a)\n y = ai.onnx.preview.training.Gradient <xs = [\"a\"], y = \"f\"> (a)",
          ops[i]);
      g_autoptr (IrModel) model = read_graph (23, "(float[4] a) => (float[4] y)", text);
      g_autoptr (IrTensor) a = tensor_of ("float[4]", "-10000 -100 100 10000");
      g_autoptr (IrRun) run = run_case (model, a, NULL);
      const IrTensor *y = ir_run_value (run, ir_graph_output (model->main, 0)->id);
      for (guint64 k = 0; k < 4; k++)
        if (!isfinite (ir_tensor_get_double (y, k)))
          g_error ("%s: element %u of the derivative is %g", ops[i], (guint) k,
                   ir_tensor_get_double (y, k));
    }
}

/* Which of two slopes is taken, as frameworks do. */
static void
test_kinks (void)
{
  static const struct
  {
    const char *op, *at, *slopes;
  } kinks[] = {
    { "Relu (a)", "0 -1 2", "0 0 1" },
    { "Abs (a)", "0 -1 2", "0 -1 1" },
    { "LeakyRelu <alpha = 0.25> (a)", "0 -1 2", "0.25 0.25 1" },
    { "HardSigmoid <alpha = 0.25> (a)", "-2 2 0", "0 0 0.25" },
    { "HardSwish (a)", "-3 3 4", "0 1 1" },
    { "Clip <min = -1.0, max = 1.0> (a)", "-1 1 0", "0 0 1" },
    { "ReduceMax (a)", "2 2 1", "0.5 0.5 0" },
    { "ReduceL2 (a)", "0 0 0", "0 0 0" },
    { "ReduceProd (a)", "0 3 4", "12 0 0" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (kinks); i++)
    {
      gint64 opset = strstr (kinks[i].op, "Clip") != NULL ? 10 : 23;
      g_autofree char *text = g_strdup_printf (
          "f = %s\n y = ai.onnx.preview.training.Gradient <xs = [\"a\"], y = \"f\"> (a)",
          kinks[i].op);
      g_autoptr (IrModel) model = read_graph (opset, "(float[3] a) => (float[3] y)", text);
      g_autoptr (IrTensor) a = tensor_of ("float[3]", kinks[i].at);
      g_autoptr (IrRun) run = run_case (model, a, NULL);
      assert_tensor (ir_run_value (run, ir_graph_output (model->main, 0)->id), "float[3]",
                     kinks[i].slopes, 1e-6);
    }
}

/* Quantized and back: as if nothing was rounded, and 0 beyond the range. */
static void
test_straight_through (void)
{
  assert_body (23, "float[4]", "1 1 1 0", 1e-6,
               "a = Constant <value = float[4] {0.1, -3.3, 60, 70}> ()\n"
               "s = Constant <value = float {0.5}> ()\n z = Constant <value = int8 {3}> ()\n"
               "q = QuantizeLinear (a, s, z)\n f = DequantizeLinear (q, s, z)\n"
               "y = "
               "ai.onnx.preview.training.Gradient "
               "<xs = [\"a\"], y = \"f\"> (a)");
}

/* A query that sees no key: zeros, and no NaN comes back. */
static void
test_hidden_rows (void)
{
  assert_body (24, "float[1,1,2,2]", "0 0 0 0", 0,
               "a = Constant <value = float[1,1,2,2] {1, -2, 3, 4}> ()\n"
               "m = Constant <value = bool[2,1] {0, 0}> ()\n f = Attention (a, a, a, m)\n"
               "y = ai.onnx.preview.training.Gradient <xs = [\"a\"], y = \"f\"> (a)");
}

/* Operators without rules are derived through copies of their bodies, fused ones and functions. */
static void
test_bodies_are_derived (void)
{
  assert_body (
      23, "float[3]", "0 0 8", 1e-5,
      "a = Constant <value = float[3] {-1, -2, 2}> ()\n"
      "m = Constant <value = float[3,1] {1, 1, 1}> ()\n n = Constant <value_ints = [3, 1]> ()\n"
      "d = Constant <value_ints = [3]> ()\n"
      "c = Reshape (a, n)\n i = Constant <value = float[1,1] {2}> ()\n"
      "g = irscope.GemmRelu (c, i)\n h = Mul (g, g)\n"
      "f = Mul (h, i)\n"
      "k = ai.onnx.preview.training.Gradient <xs = [\"a\"], zs = [\"i\"], y = \"f\"> (a, i)\n"
      "half = Constant <value = float {0.25}> ()\n y = Mul (k, half)");
}

/* Bodies of fused operators are written for float; what they are derived in is that of their inputs. */
static void
test_bodies_in_double (void)
{
  static const char *const ops[] = { "GeluTanh", "Swish", "Gelu" };

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "a = Constant <value = double[3] {-1.5, 0.2, 2}> ()\n f = %s%s (a)\n g = irscope.%s (a)\n"
          "p = ai.onnx.preview.training.Gradient <xs = [\"a\"], y = \"f\"> (a)\n"
          "q = ai.onnx.preview.training.Gradient <xs = [\"a\"], y = \"g\"> (a)\n y = Sub (p, q)",
          i == 0 ? "Gelu" : ops[i], i == 0 ? " <approximate = \"tanh\">" : "", ops[i]);
      assert_body (24, "double[3]", "0 0 0", 1e-7, text);
    }
}

/* -- the node -- */

#define G "ai.onnx.preview.training.Gradient "

static void
test_second_derivative (void)
{
  /* d²/da² of a³ b is 6 a b, and d²/da db is 3 a². */
  assert_body (23, "float[2]", "-36 12", 1e-5,
               "a = Constant <value = float {2}> ()\n b = Constant <value = float {-3}> ()\n"
               "s = Mul (a, a)\n c = Mul (s, a)\n f = Mul (c, b)\n"
               "g, h = " G "<xs = [\"a\", \"b\"], y = \"f\"> (a, b)\n"
               "p, q = " G "<xs = [\"a\", \"b\"], y = \"g\"> (a, b)\n"
               "n = Constant <value_ints = [1]> ()\n u = Reshape (p, n)\n v = Reshape (q, n)\n"
               "y = Concat <axis = 0> (u, v)");
}

static void
test_other_place (void)
{
  /* f = a² b at a = 5, b = a = 2: 2 a b and a²; the graph itself stays as it is. */
  assert_body (23, "float[3]", "20 25 -12", 1e-5,
               "a = Constant <value = float {2}> ()\n b = Constant <value = float {-3}> ()\n"
               "five = Constant <value = float {5}> ()\n s = Mul (a, a)\n f = Mul (s, b)\n"
               "g, h = " G "<xs = [\"a\", \"b\"], y = \"f\"> (five, a)\n"
               "n = Constant <value_ints = [1]> ()\n u = Reshape (g, n)\n v = Reshape (h, n)\n"
               "w = Reshape (f, n)\n y = Concat <axis = 0> (u, v, w)");
}

static void
test_intermediate_and_zs (void)
{
  /* By the value in between; what zs names is held. */
  assert_body (23, "float[]", "-3", 0,
               "a = Constant <value = float {2}> ()\n b = Constant <value = float {-3}> ()\n"
               "h = Exp (a)\n f = Mul (h, b)\n y = " G
               "<xs = [\"h\"], zs = [\"b\"], y = \"f\"> (h, b)");
  assert_body (
      23, "float[]", "7", 0,
      "a = Constant <value = float {2}> ()\n h = Mul (a, a)\n five = Constant <value = float {5}> ()\n"
      "t = Mul (five, a)\n f0 = Add (h, t)\n two = Mul (a, five)\n f = Add (f0, two)\n"
      "g = " G "<xs = [\"a\"], zs = [\"h\", \"two\", \"five\"], y = \"f\"> (a, h, two, five)\n"
      "k = Constant <value = float {2}> ()\n y = Add (g, k)");
}

static void
test_independent (void)
{
  assert_body (23, "float[2]", "0 0", 0,
               "a = Constant <value = float[2] {1, 2}> ()\n b = Constant <value = float {3}> ()\n"
               "f = Mul (b, b)\n y, z = " G "<xs = [\"a\", \"b\"], y = \"f\"> (a, b)");
}

/* In a subgraph, by a value from around it: d/da (a i)² = 2 a i². */
static void
test_in_a_loop (void)
{
  assert_body (23, "float[3]", "0 6 24", 1e-5,
               "a = Constant <value = float {3}> ()\n n = Constant <value = int64 {3}> ()\n"
               "c = Constant <value = bool {1}> ()\n"
               "y = Loop (n, c) <body = b (int64 i, bool go) => (bool more, float g)\n"
               " { more = Identity (go) k = Cast <to = 1> (i) p = Mul (a, k) f = Mul (p, p)\n"
               "   g = " G "<xs = [\"a\"], zs = [\"k\"], y = \"f\"> (a, k) }>");
}

/* Each derivative of a derivative is several times as large: this one is refused in time. */
G_GNUC_UNUSED static void
test_growth (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString)
      body = g_string_new ("a = Constant <value = float {1}> ()\n e0 = Sigmoid (a)\n");

  for (guint i = 0; i < 30; i++)
    g_string_append_printf (body, "e%u = " G "<xs = [\"a\"], y = \"e%u\"> (a)\n", i + 1, i);
  g_string_append (body, "y = Identity (e30)");
  g_autoptr (IrTensor) y = run_body (23, "float[]", body->str, &error);
  g_assert_null (y);
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED);
}

/* Shapes that are only known when it runs, and an opset where axes are attributes. */
static void
test_open_shapes (void)
{
  for (gint64 opset = 11; opset <= 23; opset += 12)
    {
      g_autoptr (IrModel) model = read_graph (
          opset, "(float[N,3] a, float[M] b) => (float[M] db)",
          opset < 13 ? "p = Mul (a, b)\n r = ReduceSum <axes = [1], keepdims = 0> (p)\n"
                       "s = ReduceMean <axes = [0], keepdims = 0> (r)\n"
                       "db = " G "<xs = [\"b\"], zs = [\"a\"], y = \"s\"> (b, a)"
                     : "p = Mul (a, b)\n i = Constant <value_ints = [1]> ()\n"
                       "r = ReduceSum <keepdims = 0> (p, i)\n s = ReduceMean <keepdims = 0> (r)\n"
                       "db = " G "<xs = [\"b\"], zs = [\"a\"], y = \"s\"> (b, a)");
      for (guint one = 0; one < 2; one++)
        {
          g_autoptr (IrTensor) a = tensor_of ("float[2,3]", "1 2 3 4 5 6");
          g_autoptr (IrTensor) b = tensor_of (one ? "float[1]" : "float[3]", "1 1 1");
          g_autoptr (IrRun) run = run_case (model, a, b);
          IrTensor *db = ir_run_value (run, ir_graph_output (model->main, 0)->id);
          assert_tensor (db, one ? "float[1]" : "float[3]", one ? "10.5" : "2.5 3.5 4.5", 1e-6);
        }
    }
}

static void
test_errors_name_the_operator (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (23, "float[]",
                                     "a = Constant <value = float[1,1,2,2] {1, 2, 3, 4}> ()\n"
                                     "q, d, z = DynamicQuantizeLinear (a)\n"
                                     "y = " G "<xs = [\"a\"], y = \"d\"> (a)",
                                     &error);
  g_assert_null (y);
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "DynamicQuantizeLinear"));
  g_clear_error (&error);
  y = run_body (23, "float[]",
                "a = Constant <value = float {1}> ()\n y = " G "<xs = [\"a\"], y = \"nobody\"> (a)",
                &error);
  g_assert_null (y);
  g_assert_nonnull (strstr (error->message, "nobody"));
  g_clear_error (&error);
  /* Each waits for the other: an error, not a loop. */
  y = run_body (23, "float[]",
                "a = Constant <value = float {1}> ()\n"
                "y = " G "<xs = [\"a\"], y = \"z\"> (a)\n z = " G "<xs = [\"a\"], y = \"y\"> (a)",
                &error);
  g_assert_null (y);
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; ir_gradient_case (i) != NULL; i++)
    {
      g_autofree char *path = g_strdup_printf ("/gradient/%s derives as differences say, %u",
                                               ir_gradient_case (i)->op, i);
      g_test_add_data_func (path, ir_gradient_case (i), test_rule);
    }
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/gradient/" SENTENCE, FUNCTION)
  TEST ("every rule is tried", test_complete);
  TEST ("every row says how it is derived, or why not", test_every_row_says);
  TEST ("derivatives are finite far from zero", test_far_from_zero);
  TEST ("at kinks the slope is that of frameworks", test_kinks);
  TEST ("what is quantized and back is derived straight through", test_straight_through);
  TEST ("nothing comes back from queries that see no key", test_hidden_rows);
  TEST ("operators without rules are derived through their bodies", test_bodies_are_derived);
  TEST ("bodies of fused operators are derived in double, too", test_bodies_in_double);
  TEST ("a Gradient derives what another one computes", test_second_derivative);
  TEST ("derivatives are taken at other places", test_other_place);
  TEST ("values between are derived by, and zs are held", test_intermediate_and_zs);
  TEST ("what y does not depend on has derivative 0", test_independent);
  TEST ("shapes may be open until the run, in old opsets too", test_open_shapes);
  TEST ("a Gradient runs in each round of a loop", test_in_a_loop);
#ifndef __SANITIZE_ADDRESS__ /* a million nodes, by what the other cases go through, too */
  TEST ("derivatives that grow without end are refused", test_growth);
#endif
  TEST ("errors name the operator or the value", test_errors_name_the_operator);
  return g_test_run ();
}
