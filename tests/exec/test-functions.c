/* Model-local functions, and the bodies of our own operators: each row of the domain irscope is run
 * by its kernel and by its body, which must agree, and by the kernel of the CPU back end. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "core/io/io.h"
#include "tests/exec/graphs.h"

static IrModel *
read_text (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (text, -1, problems, &error);

  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) g_ptr_array_index (problems, i))->message);
  g_assert_no_error (error);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
  return model;
}

static IrRun *
run_random (IrModel *model, const char *device)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find (device), .n_threads = 1 };
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 3, NULL, &error);

  g_assert_no_error (error);
  IrRun *run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  return run;
}

static const char *
shape_of (const IrOp *op, const char *input)
{
  static const struct
  {
    const char *base, *input, *type;
  } shapes[] = {
    { "ConvGradWeight", "dY", "float[1,6,3,4]" },
    { "Conv", "X", "float[1,4,6,7]" },
    { "Conv", "W", "float[6,2,3,3]" },
    { "Conv", "B", "float[6]" },
    { "Conv", "Z", "float[1,6,3,4]" },
    { "Gemm", "A", "float[5,3]" },
    { "Gemm", "B", "float[4,5]" },
    { "Gemm", "C", "float[4]" },
    { "MatMul", "A", "float[2,3,5]" },
    { "MatMul", "B", "float[5,4]" },
    { "MatMul", "C", "float[4]" },
    { "ReduceSumTo", "X", "float[2,3,4]" },
    { "ReduceSumTo", "like", "float[3,1]" },
    { "Attention", "Q", "float[2,3,4,5]" },
    { "Attention", "K", "float[2,3,6,5]" },
    { "Attention", "V", "float[2,3,6,2]" },
    { "Grouped", "Q", "float[2,4,3,5]" },
    { "Grouped", "K", "float[2,2,6,5]" },
    { "Grouped", "V", "float[2,2,6,2]" },
    { "MaskedGrouped", "Q", "float[2,4,3,5]" },
    { "MaskedGrouped", "K", "float[2,2,6,5]" },
    { "MaskedGrouped", "V", "float[2,2,6,2]" },
    { "MaskedGrouped", "mask", "float[2,1,3,6]" },
    { "SelectedGrouped", "Q", "float[2,4,3,5]" },
    { "SelectedGrouped", "K", "float[2,2,6,5]" },
    { "SelectedGrouped", "V", "float[2,2,6,2]" },
    { "SelectedGrouped", "keep", "bool[4,3,6]" },
    { "MaskedAttention", "Q", "float[2,3,4,5]" },
    { "MaskedAttention", "K", "float[2,3,6,5]" },
    { "MaskedAttention", "V", "float[2,3,6,2]" },
    { "MaskedAttention", "mask", "float[2,1,4,6]" },
    { "SafeMaskedAttention", "Q", "float[2,3,4,5]" },
    { "SafeMaskedAttention", "K", "float[2,3,6,5]" },
    { "SafeMaskedAttention", "V", "float[2,3,6,2]" },
    { "SafeMaskedAttention", "mask", "float[2,1,4,6]" },
    { "SelectedAttention", "Q", "float[2,3,4,5]" },
    { "SelectedAttention", "K", "float[2,3,6,5]" },
    { "SelectedAttention", "V", "float[2,3,6,2]" },
    { "SelectedAttention", "keep", "bool[2,1,4,6]" },
    { "", "Q", "float[2,4,6]" },
    { "", "K", "float[2,6,6]" },
    { "", "V", "float[2,6,4]" },
    { "", "QKV", "float[2,5,12]" },
    { "MaskedMultiHead", "mask", "float[4,6]" },
    { "SelectedMultiHead", "keep", "bool[2,1,4,6]" },
    { "MaskedPacked", "mask", "float[2,2,1,5]" },
    { "SafeMaskedMultiHead", "mask", "float[4,6]" },
    { "SafeMaskedPacked", "mask", "float[2,2,1,5]" },
    { "SelectedPacked", "keep", "bool[5,5]" },
    { "", "words", "float[11,8]" },
    { "", "types", "float[2,8]" },
    { "", "positions", "float[7,8]" },
    { "", "word_ids", "int64[2,3]" },
    { "", "type_ids", "int64[2,3]" },
    { "", "position_ids", "int64[1,3]" },
    { "RotaryEmbedding", "cos", "float[3,8]" },
    { "RotaryEmbedding", "sin", "float[2,1,8]" },
    { "PairRotary", "cos", "float[3,8]" },
    { "PairRotary", "sin", "float[2,1,8]" },
    { "MultiHeadRotary", "X", "float[2,3,8]" },
    { "MultiHeadRotary", "cos", "float[3,4]" },
    { "MultiHeadRotary", "sin", "float[2,1,3,4]" },
    { "BatchNormalizationGrad", "scale", "float[3]" },
    { "GroupNormalizationGrad", "scale", "float[3]" },
    { "", "X", "float[2,3,8]" },
    { "", "Y", "float[2,3,8]" },
    { "", "dY", "float[2,3,8]" },
    { "", "Skip", "float[2,3,8]" },
    { "", "Scale", "float[8]" },
    { "", "scale", "float[8]" },
    { "", "B", "float[8]" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    if (g_str_has_prefix (op->name, shapes[i].base) && strcmp (input, shapes[i].input) == 0)
      return shapes[i].type;
  return "float";
}

/* Attributes that the call gives; those that a body refers to must be there. */
static char *
attrs_of (const IrOp *op)
{
  static const struct
  {
    const char *name, *text;
  } attrs[] = {
    { "strides", "strides = [2, 2], pads = [1, 1, 1, 1], group = 2" },
    { "transA", "alpha = 0.5, transA = 1, transB = 1" },
    { "activation_alpha", "activation_alpha = 0.3" },
    { "epsilon", "epsilon = 0.001" },
    { "num_groups", "num_groups = 1" },
    { "scale", "scale = 0.5" },
    { "fill", "fill = -3.0" },
    { "q_num_heads", "q_num_heads = 2, kv_num_heads = 2" },
    { "num_heads", "num_heads = 2" },
  };
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (attrs); i++)
    if (ir_op_attr (op, attrs[i].name) != NULL)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", attrs[i].text);
  if (strcmp (op->name, "Swish") == 0)
    g_string_append (text, "alpha = 1.5");
  if (strcmp (op->name, "ConvGradWeight") == 0)
    g_string_append (text, ", kernel_shape = [3, 3]");
  if (text->len > 0)
    g_string_append_c (g_string_prepend_c (text, '<'), '>');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Fused rows run their base and round as separate nodes would; the others sum in their own order.
 */
static gboolean
gives_the_same_bits (const IrOp *op)
{
  static const char *const bases[] = { "Conv", "Gemm", "MatMul", "ReduceSumTo", "ReluGrad" };

  for (guint i = 0; i < G_N_ELEMENTS (bases); i++)
    if (g_str_has_prefix (op->name, bases[i]))
      return TRUE;
  return FALSE;
}

/* Of its body, all of which are compared */
static guint
n_outputs_of (const IrOp *op)
{
  const char *at = strstr (op->body, "=> (");
  guint n = 1;

  g_assert_nonnull (at);
  for (; *at != ')'; at++)
    n += *at == ',';
  return n;
}

/* "p0, p1" */
static char *
outputs_text (const char *before, const char *name, guint n)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s%s%u", i > 0 ? ", " : "", before, name, i);
  return g_string_free (text, FALSE);
}

/* Both calls in one model; inputs with a ? in the row are left out if @without_optional. */
static char *
model_text (const IrOp *op, gboolean without_optional)
{
  g_auto (GStrv) names = g_strsplit (op->in_names, " ", -1);
  g_autoptr (GString) inputs = g_string_new (NULL), actual = g_string_new (NULL);
  g_autofree char *attrs = attrs_of (op);
  g_auto (GStrv) halves = g_strsplit (op->body, "\"irscope\"", 2);
  g_autofree char *body = g_strconcat (halves[0], "\"mine\"", halves[1], NULL);

  g_assert_nonnull (halves[1]);
  for (guint i = 0; names[i] != NULL; i++)
    {
      gsize length = strlen (names[i]);
      gboolean optional = names[i][length - 1] == '?';
      if (optional)
        names[i][length - 1] = '\0';
      g_string_append_printf (actual, "%s%s", i > 0 ? ", " : "",
                              optional && without_optional ? "\"\"" : names[i]);
      if (!(optional && without_optional))
        g_string_append_printf (inputs, "%s%s %s", inputs->len > 0 ? ", " : "",
                                shape_of (op, names[i]), names[i]);
    }
  g_autofree char *call = g_strdup_printf ("%s %s (%s)", op->name, attrs, actual->str);
  const guint n = n_outputs_of (op);
  g_autofree char *p = outputs_text ("", "p", n), *q = outputs_text ("", "q", n),
                  *typed_p = outputs_text ("float[?] ", "p", n),
                  *typed_q = outputs_text ("float[?] ", "q", n);
  return g_strdup_printf (
      "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1, \"mine\" : 1]>\n"
      "main (%s) => (%s, %s)\n"
      "{\n  %s = irscope.%s\n  %s = mine.%s\n}\n%s",
      inputs->str, typed_p, typed_q, p, call, q, call, body);
}

/* Output @i of the operator, of its body, and on the back end cpu */
static void
compare_output (const IrOp *op, const IrModel *model, const IrRun *run, const IrRun *fast, guint i)
{
  const IrGraph *main = model->main;
  const IrTensor *p = ir_run_value (run, ir_graph_output (main, i)->id),
                 *q = ir_run_value (run, ir_graph_output (main, n_outputs_of (op) + i)->id),
                 *r = ir_run_value (fast, ir_graph_output (main, i)->id);

  g_assert_cmpuint (ir_tensor_n_elements (q), ==, ir_tensor_n_elements (p));
  g_assert_cmpuint (ir_tensor_n_elements (r), ==, ir_tensor_n_elements (p));
  if (gives_the_same_bits (op))
    g_assert_true (ir_tensor_equal (p, q));
  for (guint64 k = 0; k < ir_tensor_n_elements (p); k++)
    {
      double wanted = ir_tensor_get_double (p, k);
      double tolerance = op->tol.atol + op->tol.rtol * MAX (fabs (wanted), 1) + G_MINDOUBLE;

      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (q, k), wanted, tolerance);
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (r, k), wanted, tolerance);
    }
}

static void
test_body (gconstpointer data)
{
  const IrOp *op = data;

  for (guint without = 0; without < 2; without++)
    {
      g_autofree char *text = model_text (op, without);
      g_autoptr (IrModel) model = read_text (text);
      g_autoptr (IrRun) run = run_random (model, "ref");
      g_autoptr (IrRun) fast = run_random (model, "cpu");
      g_assert_cmpuint (run->schedule->items->len, >, 2);
      for (guint i = 0; i < n_outputs_of (op); i++)
        compare_output (op, model, run, fast, i);
    }
}

/* A written file has the bodies as functions; read again, the fused kernel still runs. */
static void
test_written_body_is_known (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[1,2,4,4]");
  IrValue *w = build_constant (&b, "w", tensor_random ("float[3,2,3,3]", 1));
  build_output (&b, build_node (&b, NULL, "irscope.ConvRelu", 1, x, w, END)->outputs[0]);
  build_done (&b);
  g_autoptr (GBytes) bytes = ir_onnx_write_bytes (b.model, &error);
  g_assert_no_error (error);
  g_autoptr (IrModel) again = ir_onnx_read_bytes (bytes, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (ir_model_find_function (again, "irscope", "ConvRelu", ""));
  g_autoptr (IrRun) run = run_random (again, "ref");
  g_assert_cmpuint (run->schedule->items->len, ==, 1);
}

/* A function of our name that says something else is believed. */
static void
test_other_body_counts (void)
{
  const char *text = "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1]>\n"
                     "main (float[1,1,2,2] x, float[1,1,1,1] w) => (float[?] y)\n"
                     "{\n  y = irscope.ConvRelu (x, w)\n}\n"
                     "<domain: \"irscope\", opset_import: [\"\" : 17]>\n"
                     "ConvRelu (X, W) => (Y)\n{\n  C = Conv (X, W)\n  Y = Neg (C)\n}\n";
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = read_text (text);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrRunOptions options = { .backend = ir_backend_find ("ref") };

  inputs_add (inputs, ir_graph_input (model->main, 0), tensor_of ("float[1,1,2,2]", "1 -2 3 -4"));
  inputs_add (inputs, ir_graph_input (model->main, 1), tensor_of ("float[1,1,1,1]", "2"));
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  assert_tensor (ir_run_value (run, ir_graph_output (model->main, 0)->id), "float[1,1,2,2]",
                 "-2 4 -6 8", 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint id = 1; id < ir_op_n (); id++)
    {
      const IrOp *op = ir_op_by_id (id);
      if (g_strcmp0 (op->domain, "irscope") != 0)
        continue;
      g_autofree char *path = g_strdup_printf (
          "/functions/the body of %s says what its kernel does", op->name);
      g_test_add_data_func (path, op, test_body);
    }
  g_test_add_func ("/functions/a body that was written is known when it is read",
                   test_written_body_is_known);
  g_test_add_func ("/functions/another body under a known name counts", test_other_body_counts);
  return g_test_run ();
}
