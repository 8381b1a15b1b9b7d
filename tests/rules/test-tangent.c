/* The pass tangent: for every rule, <c, J d> by it against <J^T c, d> by the pass gradient, for seeded
 * directions d; what it costs, and what it refuses. */
#include "config.h"

#include "core/grad/cases.h"
#include "core/grad/grad.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"
#include "tests/rules/pass-test.h"

#include <math.h>
#include <string.h>

#define HEAD "<ir_version: 8, opset_import: [\"\" : 18]> g "

/* @settings: with spaces between */
static gboolean
derive (IrModel *model, const char *passes, const char *settings, GError **error)
{
  g_auto (GStrv) names = g_strsplit (passes, " ", -1), each = g_strsplit (settings, " ", -1);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names ((const char *const *) names, error);
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING, .verify = TRUE };

  for (guint i = 0; each[i] != NULL; i++)
    if (!ir_pipeline_set (pipeline, each[i], error))
      return FALSE;
  return ir_pipeline_run (model, pipeline, &options, NULL, NULL, error);
}

static IrModel *
derived (const char *text, const char *settings)
{
  IrModel *model = test_model (text);
  g_autoptr (GError) error = NULL;

  derive (model, "tangent", settings, &error);
  g_assert_no_error (error);
  return model;
}

static IrValue *
output_called (const IrModel *model, const char *name)
{
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    if (strcmp (ir_graph_output (model->main, i)->name, name) == 0)
      return ir_graph_output (model->main, i);
  return NULL;
}

/* -- both modes, every rule -- */

static double
dot (const IrTensor *a, const IrTensor *b, double *terms)
{
  double sum = 0;

  g_assert_nonnull (a);
  g_assert_nonnull (b);
  g_assert_cmpuint (ir_tensor_n_elements (a), ==, ir_tensor_n_elements (b));
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double term = ir_tensor_get_double (a, i) * ir_tensor_get_double (b, i);
      sum += term;
      *terms += fabs (term);
    }
  return sum;
}

/* @which: bit 0: a moves, bit 1: b does */
static void
compare_modes (const IrGradientCase *c, guint which, guint seed)
{
  g_autofree char *b = c->b != NULL ? g_strdup_printf (", %s b, %s tb", c->b_type, c->b_type)
                                    : g_strdup ("");
  g_autofree char *signature = g_strdup_printf ("(%s a, %s ta%s) => (double y, double weigh)",
                                                c->a_type, c->a_type, b);
  g_autofree char *body = g_strdup_printf ("%s\n weigh = Cos (y)\n", c->body);
  g_autoptr (IrModel) model = read_graph (IR_GRADIENT_CASE_OPSET, signature, body);
  const char *wrt = which == 1 ? "a" : which == 2 ? "b" : "a,b";
  const char *along = which == 1 ? "ta" : which == 2 ? "tb" : "ta,tb";
  g_autofree char *settings = g_strdup_printf (
      "gradient.of=y gradient.wrt=%s gradient.cotangent=weigh tangent.of=y tangent.wrt=%s "
      "tangent.tangent=%s",
      wrt, wrt, along);
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  double forward, backward = 0, terms = 0;

  derive (model, "gradient tangent", settings, &error);
  g_assert_no_error (error);
  const IrGraph *graph = model->main;
  inputs_add (inputs, ir_graph_input (graph, 0), tensor_of (c->a_type, c->a));
  inputs_add (inputs, ir_graph_input (graph, 1), tensor_random (c->a_type, seed));
  if (c->b != NULL)
    {
      inputs_add (inputs, ir_graph_input (graph, 2), tensor_of (c->b_type, c->b));
      inputs_add (inputs, ir_graph_input (graph, 3), tensor_random (c->b_type, seed + 1));
    }
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 2; i++)
    if (which & (1u << i))
      {
        const IrValue *gradient = output_called (model, i == 0 ? "a.grad" : "b.grad");
        backward += dot (
            ir_run_value (run, gradient->id),
            g_hash_table_lookup (inputs, GUINT_TO_POINTER (ir_graph_input (graph, 2 * i + 1)->id)),
            &terms);
      }
  forward = dot (ir_run_value (run, output_called (model, "weigh")->id),
                 ir_run_value (run, output_called (model, "y.tangent")->id), &terms);
  if (!(fabs (forward - backward) <= 1e-10 * MAX (terms, 1)))
    g_error ("%s, by %s: <c, J d> = %.17g forwards, <J^T c, d> = %.17g backwards", c->op, wrt,
             forward, backward);
}

static void
test_every_rule (void)
{
  for (guint i = 0; ir_gradient_case (i) != NULL; i++)
    for (guint which = 1; which <= (ir_gradient_case (i)->b != NULL ? 3 : 1); which++)
      compare_modes (ir_gradient_case (i), which, 100 * i + which);
}

/* -- forward over reverse: the Hessian times a vector, against differences of the gradient -- */

#define LOSS "\n w = Sin (y)\n v = Mul (w, y)\n loss = ReduceSum <keepdims = 0> (v)\n"

static IrTensor *
moved (const IrTensor *at, const IrTensor *along, double step)
{
  IrTensor *tensor = ir_tensor_new_copy (IR_DTYPE_DOUBLE, ir_tensor_rank (at), ir_tensor_dims (at),
                                         ir_tensor_data (at));
  double *numbers = ir_tensor_data_writable (tensor);

  for (guint64 i = 0; i < ir_tensor_n_elements (at); i++)
    numbers[i] += step * ir_tensor_get_double (along, i);
  return tensor;
}

/* (transfer full) The output called @name, with a moved by @step */
static IrTensor *
output_at (const IrGradientCase *c, IrModel *model, double step, const char *name)
{
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (IrTensor) a = tensor_of (c->a_type, c->a), along = tensor_random (c->a_type, 7);
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  inputs_add (inputs, ir_graph_input (model->main, 0), moved (a, along, step));
  inputs_add (inputs, ir_graph_input (model->main, 1), ir_tensor_ref (along));
  if (c->b != NULL)
    inputs_add (inputs, ir_graph_input (model->main, 2), tensor_of (c->b_type, c->b));
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  return ir_tensor_ref (ir_run_value (run, output_called (model, name)->id));
}

static void
compare_second (const IrGradientCase *c)
{
  g_autofree char *b = c->b != NULL ? g_strdup_printf (", %s b", c->b_type) : g_strdup ("");
  g_autofree char *signature = g_strdup_printf ("(%s a, %s ta%s) => (double[] loss)", c->a_type,
                                                c->a_type, b);
  g_autofree char *body = g_strdup_printf ("%s" LOSS, c->body);
  g_autoptr (IrModel) model = read_graph (IR_GRADIENT_CASE_OPSET, signature, body);
  g_autoptr (GError) error = NULL;

  derive (model, "gradient", "gradient.of=loss gradient.wrt=a", &error);
  g_assert_no_error (error);
  derive (model, "tangent", "tangent.of=a.grad tangent.wrt=a tangent.tangent=ta", &error);
  if (error != NULL)
    g_error ("%s: %s", c->op, error->message);
  g_autoptr (IrTensor) product = output_at (c, model, 0, "a.grad.tangent");
  g_autoptr (IrTensor) before = output_at (c, model, -1e-5, "a.grad");
  g_autoptr (IrTensor) behind = output_at (c, model, 1e-5, "a.grad");
  for (guint64 i = 0; i < ir_tensor_n_elements (product); i++)
    {
      double x = ir_tensor_get_double (product, i);
      double y = (ir_tensor_get_double (behind, i) - ir_tensor_get_double (before, i)) / 2e-5;
      if (!(fabs (x - y) <= 1e-5 * MAX (fabs (y), 1)))
        g_error ("%s: element %u of the product is %.12g, and by differences %.12g", c->op,
                 (guint) i, x, y);
    }
}

static void
test_second_order (void)
{
  for (guint i = 0; ir_gradient_case (i) != NULL; i++)
    compare_second (ir_gradient_case (i));
}

/* What a word of .linear names is an input of the operator. */
static void
test_words (void)
{
  guint n_linear = 0;

  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id ((IrOpId) id);
      const IrGradRow *row = ir_grad_row (op);
      if (row == NULL || row->linear == NULL)
        continue;
      n_linear++;
      g_assert_true (row->function != NULL || row->rules[0] != NULL);
      if (strcmp (row->linear, "each") == 0 || strchr ("*+", row->linear[0]) != NULL)
        continue;
      g_auto (GStrv) words = g_strsplit (row->linear, " ", -1);
      for (guint w = 0; words[w] != NULL; w++)
        for (guint i = 0; words[w][i] != '\0'; i++)
          if (words[w][i] != '.' && (g_ascii_tolower (words[w][i]) != (char) ('a' + i) ||
                                     (op->in.max >= 0 && (int) i >= op->in.max)))
            g_error ("%s: the word \"%s\" of its linear form", op->name, words[w]);
    }
  g_assert_cmpuint (n_linear, >, 35);
}

/* -- the pass -- */

#define MLP                                                                                        \
  HEAD "(float[2,3] x) => (float[2,4] y, float[2] z) <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, " \
       "1, 2, 3}, float[4] b = {1, 2, 3, 4}, int64[1] one = {1}> { t = MatMul (x, w)  "            \
       "u = Add (t, b)  y = Relu (u)  s = Neg (x)  z = ReduceSum <keepdims = 0> (s, one) }"

static void
assert_outputs (const IrModel *model, const char *names)
{
  g_autoptr (GString) found = g_string_new (NULL);

  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    g_string_append_printf (found, "%s%s", i > 0 ? " " : "",
                            ir_graph_output (model->main, i)->name);
  g_assert_cmpstr (found->str, ==, names);
}

static guint
count_op (const IrModel *model, const char *op)
{
  guint n = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    n += ir_model_live_node (model, i) != NULL &&
         strcmp (ir_model_live_node (model, i)->op_type, op) == 0;
  return n;
}

static void
test_what_by_what (void)
{
  g_autoptr (IrModel) params = derived (MLP, "tangent.wrt=params");
  g_autoptr (IrModel) inputs = derived (MLP, "tangent.wrt=inputs");
  g_autoptr (IrModel) named = derived (MLP, "tangent.of=z,t tangent.wrt=w");
  g_autoptr (IrModel) stopped = derived (MLP, "tangent.of=y tangent.wrt=x tangent.stop=t");
  g_autoptr (IrModel) between = derived (MLP, "tangent.of=y tangent.wrt=t,u");

  assert_outputs (params, "y z y.tangent"); /* z does not move */
  assert_outputs (inputs, "y z y.tangent z.tangent");
  assert_outputs (named, "y z z.tangent t.tangent"); /* z was asked for: zeros */
  g_assert_cmpstr (output_called (named, "z.tangent")->producer->op_type, ==, "ConstantOfShape");
  g_assert_cmpstr (output_called (stopped, "y.tangent")->producer->op_type, ==, "ConstantOfShape");
  g_assert_cmpuint (count_op (between, "Sum"), ==, 1); /* u moves by itself and by t */
}

/* Each operand of a product that moves is one more product, and one that does not is none. */
static void
test_products (void)
{
  static const char *const text = HEAD
      "(float[4,5] x, float[5,6] w, float[6] b, float[6,2] v) => (float[4,2] y) "
      "{ t = Gemm (x, w, b)  u = Tanh (t)  y = MatMul (u, v) }";
  g_autoptr (IrModel) all = derived (text, "tangent.wrt=all");
  g_autoptr (IrModel) params = derived (text, "tangent.wrt=w,b,v");
  g_autoptr (IrModel) bias = derived (text, "tangent.wrt=b");

  g_assert_cmpuint (count_op (all, "Gemm") + count_op (all, "MatMul"), ==, 6);
  g_assert_cmpuint (count_op (params, "Gemm") + count_op (params, "MatMul"), ==, 5);
  g_assert_cmpuint (count_op (bias, "MatMul"), ==, 2);
}

/* FLOPs of what multiplies matrices or convolves, each body counted once */
static guint64
product_flops (const IrModel *model)
{
  guint64 flops = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      gboolean partial = FALSE;
      if (node != NULL && node->op != NULL &&
          (node->op->family == IR_FAMILY_LINEAR || node->op->family == IR_FAMILY_FUSED))
        flops += ir_cost_node_flops (node, &partial);
    }
  return flops;
}

/* Products in the dual graph are at most three times those of the graph, also of what is one operator, or a
 * body: neither is computed beside what its tangent is made of. */
static void
test_products_of_operators (void)
{
  static const char *const graphs[] = {
    "(float[1,4,64] x, float[1,256,64] w, float[1,256,64] r) => (float[1,1,4,64] y) "
    "{ y, h, c = LSTM <hidden_size = 64> (x, w, r) }",
    "(float[1,4,64] x, float[1,192,64] w, float[1,192,64] r) => (float[1,1,4,64] y) "
    "{ y, h = GRU <hidden_size = 64> (x, w, r) }",
    "(float[1,4,64] x, float[1,64,64] w, float[1,64,64] r) => (float[1,1,4,64] y) "
    "{ y, h = RNN <hidden_size = 64> (x, w, r) }",
    "(float[2,4,64,32] q, float[2,4,64,32] k) => (float[2,4,64,32] y) { y = Attention (q, k, k) }",
    "(float[1,64,32] x, float[64,1,8] w) => (float[1,64,32] y) "
    "{ y = CausalConvWithState <activation = \"silu\"> (x, w) }",
    "(float[1,16,16,16] x, float[16,16,3,3] w, float[16] b) => (float[1,16,14,14] y) "
    "{ t = irscope.ConvRelu (x, w, b)  u = irscope.ConvSilu <pads = [1, 1, 1, 1]> (t, w, b)  y = Exp (u) }",
    "(float[64,64] x, float[64,64] w) => (float[64,64] y) { y = irscope.MatMulAddGelu (x, w, x) }",
    "(float[32,32] x) => (float[32,32] y) { y = com.microsoft.Inverse (x) }",
    "(float[2,2,3] x) => (float[2,16,16,2] y) { s = Constant <value_ints = [2, 1, 16, 16]> ()  y = AffineGrid (x, s) }",
    "(float[16,16] x, float[16,16] w, bool c) => (float[16,16] y) { y = If (c) <then_branch = t () => "
    "(float[16,16] u) { u = MatMul (x, w) }, else_branch = e () => (float[16,16] v) { v = MatMul (w, x) }> }",
    "(float[16,16] x, float[16,16] w) => (float[16,16] y, float[3,16,16] z) { n = Constant <value = int64 {3}> ()  "
    "y, z = Loop (n, , x) <body = body (int64 i, bool go, float[16,16] v) => (go_out, v_out, s) "
    "{ go_out = Identity (go)  t = MatMul (v, w)  v_out = Tanh (t)  s = MatMul (v_out, w) }> }",
    "(float[8,16] x, float[8,16] w, float[8,16] v) => (float[8] y) "
    "{ y = Einsum <equation = \"ij,ij,ij->i\"> (x, w, v) }",
    "(float[2,8,16] x, float[16] w, float[8,16] v) => (float[2,8,16] y) "
    "{ y = Einsum <equation = \"...,...,...,...\"> (x, w, v, w) }",
    "(float[4,16,16] x, float[16,16] w) => (float[16,16] y, float[4,16,16] z) { y, z = Scan <num_scan_inputs = 1, "
    "scan_output_axes = [0], body = body (float[16,16] v, float[16,16] a) => (v_out, s) "
    "{ v_out = MatMul (v, a)  s = MatMul (v, w) }> (w, x) }",
  };

  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    {
      g_autofree char *text = g_strconcat (
          "<ir_version: 10, opset_import: [\"\" : 27, \"irscope\" : 1, \"com.microsoft\" : 1]> g ",
          graphs[i], NULL);
      g_autoptr (IrModel) model = test_model (text);
      g_autoptr (IrModel) dual = derived (text, "tangent.wrt=all");
      IrEdit *edit = ir_edit_new_import (model);
      ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
      ir_edit_free (edit);
      const guint64 before = product_flops (model), after = product_flops (dual);
      if (after > 3 * before || after < 2 * before)
        g_error ("%s: %" G_GUINT64_FORMAT " in products, and with tangents %" G_GUINT64_FORMAT,
                 graphs[i], before, after);
    }
}

/* A call becomes its body, and nothing of it is computed twice; a fused operator is opened beside. */
static void
test_functions (void)
{
  g_autoptr (IrModel) model = derived (
      "<ir_version: 8, opset_import: [\"\" : 18, \"own\" : 1, \"irscope\" : 1]> g (float[2,3] x) => "
      "(float[2,3] y) { t = own.Twice (x)  y = irscope.Gelu (t) } "
      "<domain: \"own\", opset_import: [\"\" : 18, \"own\" : 1]> Twice (a) => (b) "
      "{ c = own.Square (a)  b = own.Square (c) } "
      "<domain: \"own\", opset_import: [\"\" : 18]> Square (a) => (b) { b = Mul (a, a) }",
      "tangent.wrt=inputs");
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;

  assert_outputs (model, "y y.tangent");
  inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of ("float[2,3]", "0.5 1 -0.7"));
  g_autoptr (IrRun) run = ir_model_run (model, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  /* gelu' (x^4) 4 x^3: by hand */
  for (guint i = 0; i < 3; i++)
    {
      double x = i == 0 ? 0.5 : i == 1 ? 1 : -0.7, t = x * x * x * x;
      double slope = 0.5 * (1 + erf (t * M_SQRT1_2)) +
                     t * exp (-t * t / 2) * 0.5 * M_2_SQRTPI * M_SQRT1_2;
      g_assert_cmpfloat_with_epsilon (
          ir_tensor_get_double (ir_run_value (run, output_called (model, "y.tangent")->id), i),
          slope * 4 * x * x * x, 1e-5);
    }
}

/* Marks of nodes hold forwards as they do backwards. */
static void
test_marks_and_rounding (void)
{
  g_autoptr (IrModel)
      model = derived (HEAD "(float[4] a) => (float[4] f) <float s = {0.5}, int8 z = {3}> "
                            "{ q = QuantizeLinear (a, s, z)  f = DequantizeLinear (q, s, z) }",
                       "tangent.wrt=a");
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GError) error = NULL;

  inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of ("float[4]", "0.1 -3.3 60 70"));
  g_autoptr (IrRun) run = ir_model_run (model, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  assert_tensor (ir_run_value (run, output_called (model, "f.tangent")->id), "float[4]", "1 1 1 0",
                 1e-6);
}

/* Sizes that are only known when it runs, half precision, and no elements. */
static void
test_open_sizes (void)
{
  g_autoptr (IrModel) model = derived (
      HEAD
      "(float16[N,3] a, float16[M] b) => (float16[K] y) <int64[1] axis = {1}> "
      "{ p = Mul (a, b)  s = Softmax (p)  r = Mul (s, s)  y = ReduceSum <keepdims = 0> (r, axis) }",
      "tangent.wrt=b");

  for (guint n = 0; n < 3; n++)
    {
      g_autofree char *type = g_strdup_printf ("float16[%u,3]", n);
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_autoptr (GError) error = NULL;
      inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of (type, "1 2 -1 0.5"));
      inputs_add (inputs, ir_graph_input (model->main, 1), tensor_of ("float16[1]", "0.7"));
      g_autoptr (IrRun) run = ir_model_run (model, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      const IrTensor *moves = ir_run_value (run, output_called (model, "y.tangent")->id);
      g_assert_cmpuint (ir_tensor_n_elements (moves), ==, n);
      for (guint i = 0; i < n; i++)
        g_assert_true (isfinite (ir_tensor_get_double (moves, i)));
    }
}

/* What is double becomes float16; (nullable): the operator does not take it */
static IrModel *
in_half (const IrGradientCase *c)
{
  g_autofree char *b = c->b != NULL ? g_strdup_printf (", %s b", c->b_type) : g_strdup ("");
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;

  g_string_printf (
      text,
      "<ir_version: 10, opset_import: [\"\" : %d, \"ai.onnx.ml\" : 5, \"irscope\" : 1, "
      "\"com.microsoft\" : 1]> graph (%s a%s) => (double y)\n{\n%s\n}\n",
      IR_GRADIENT_CASE_OPSET, c->a_type, b, c->body);
  g_string_replace (text, "double", "float16", 0);
  g_string_replace (text, "stash_type = 11", "stash_type = 1", 0);
  g_string_replace (text, "(float16 y)", "(y)", 0);
  IrModel *model = ir_text_read (text->str, -1, problems, &error);
  if (model == NULL || ir_problems_count (problems, IR_SEVERITY_ERROR) > 0)
    {
      g_clear_pointer (&model, ir_model_unref);
      return NULL;
    }
  IrEdit *edit = ir_edit_new_import (model);
  g_ptr_array_set_size (problems, 0);
  ir_infer_model (edit, IR_INFER_DEFAULT, problems);
  ir_edit_free (edit);
  if (ir_problems_count (problems, IR_SEVERITY_ERROR) > 0 ||
      !ir_dtype_is_float (ir_value_dtype (ir_graph_output (model->main, 0))))
    g_clear_pointer (&model, ir_model_unref);
  return model;
}

/* Bodies of operators are written for one type, and those that they call for what they say. */
static void
test_half (void)
{
  static const char *const ways[] = { "tangent", "gradient" }, *const settings[] = {
    "tangent.wrt=inputs", "gradient.of=y gradient.wrt=inputs gradient.order=2"
  };
  guint n = 0;

  for (guint i = 0; ir_gradient_case (i) != NULL; i++)
    for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
      {
        const IrGradientCase *c = ir_gradient_case (i);
        g_autoptr (IrModel) model = in_half (c);
        g_autoptr (GHashTable) inputs = inputs_new ();
        g_autoptr (GError) error = NULL;
        IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
        if (model == NULL)
          continue;
        derive (model, ways[w], settings[w], &error);
        for (guint k = 0; error == NULL && k < 2 && k < ir_graph_n_inputs (model->main); k++)
          {
            g_autoptr (GString) type = g_string_new (k == 0 ? c->a_type : c->b_type);
            g_string_replace (type, "double", "float16", 0);
            inputs_add (inputs, ir_graph_input (model->main, k),
                        tensor_of (type->str, k == 0 ? c->a : c->b));
          }
        g_autoptr (IrRun) run = error == NULL ? ir_model_run (model, inputs, &options, NULL, &error)
                                              : NULL;
        n++;
        if (error != NULL)
          g_error ("%s, %s: %s\n  %s", c->op, ways[w], error->message, c->body);
      }
  g_assert_cmpuint (n, >, 600);
}

static void
check_refused (const char *text, const char *settings, const char *needed)
{
  g_autoptr (IrModel) model = test_model (text);
  g_autoptr (GError) error = NULL;
  guint n = ir_model_n_nodes (model);

  g_assert_false (derive (model, "tangent", settings, &error));
  if (strstr (error->message, needed) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->message, needed);
  g_assert_cmpuint (ir_model_n_nodes (model), ==, n); /* taken back */
}

static void
test_refused (void)
{
  check_refused (MLP, "tangent.of=nobody", "of: there is no value \"nobody\"");
  check_refused (MLP, "tangent.wrt=x,nobody", "wrt: there is no value \"nobody\"");
  check_refused (MLP, "tangent.stop=nobody", "stop: there is no value \"nobody\"");
  check_refused (MLP, "tangent.wrt=x tangent.tangent=b", "\"b\" has not the type of \"x\"");
  check_refused (MLP, "tangent.wrt=x,w tangent.tangent=x",
                 "tangent: 1 values, and it is derived by 2");
  check_refused (MLP, "tangent.wrt=one", "\"one\" is int64");
  check_refused (HEAD "(float[2] x) => (int64[2] y) { y = Cast <to = 7> (x) }", "tangent.wrt=x",
                 "no output of the graph is known to be floating-point");
  check_refused (HEAD
                 "(float[1,1,2,2] x) => (float[] y) { [d] q, y, z = DynamicQuantizeLinear (x) }",
                 "tangent.wrt=x",
                 "d (DynamicQuantizeLinear): cannot be derived: Its scale depends on its input");
  check_refused (
      HEAD "(float[2] x, bool c) => (float[2] y) { [if] y = If (c) <then_branch = t () => "
           "(float[2] o) { [r] o = RandomNormalLike (x) }, else_branch = e () => (float[2] p) "
           "{ p = Neg (x) }> }",
      "tangent.wrt=x", "if (If): cannot be derived: r (RandomNormalLike) in its body draws");
  check_refused (
      "<ir_version: 8, opset_import: [\"\" : 11]> g (float[2] x) => (float[2] y) { y = Exp (x) }",
      "tangent.wrt=x", "upgrade it first (--opset 18)");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/tangent/" SENTENCE, FUNCTION)
  TEST ("every rule says forwards what it says backwards", test_every_rule);
  TEST ("the Hessian times a vector is how the gradient moves", test_second_order);
  TEST ("linear forms name inputs that there are", test_words);
  TEST ("options say what is derived by what", test_what_by_what);
  TEST ("products are at most three times those of the graph", test_products);
  TEST ("products in one operator or in a body are not computed twice", test_products_of_operators);
  TEST ("functions and fused operators are derived", test_functions);
  TEST ("what is quantized and back moves straight through", test_marks_and_rounding);
  TEST ("sizes may be open, precision half, and tensors empty", test_open_sizes);
  TEST ("in half precision, forwards and twice, what is derived runs", test_half);
  TEST ("what cannot be is said, and taken back", test_refused);
  return g_test_run ();
}
