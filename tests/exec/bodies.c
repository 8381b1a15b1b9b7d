#include "config.h"

#include "tests/exec/bodies.h"

#include "core/io/io.h"
#include "core/exec/check/difference.h"
#include "tests/exec/graphs.h"
#include <string.h>

IrModel *
read_graph (gint64 opset, const char *signature, const char *body)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 10, opset_import: [\"\" : %" G_GINT64_FORMAT
      ", \"ai.onnx.ml\" : 5, \"ai.onnx.preview.training\" : 1, \"irscope\" : 1]>\ngraph %s\n{\n%s\n}\n",
      opset, signature, body);
  IrModel *model = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) g_ptr_array_index (problems, i))->message);
  g_assert_cmpuint (ir_problems_count (problems, IR_SEVERITY_ERROR), ==, 0);
  return model;
}

static IrTensor *
run_on (IrModel *model, const char *device, GError **error)
{
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrRunOptions options = { .backend = ir_backend_find (device), .n_threads = 1 };
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, error);

  if (run == NULL)
    return NULL;
  const IrValue *y = ir_graph_find_value (run->model->main, "y");
  IrTensor *tensor = ir_run_value (run, y->id);
  g_assert_nonnull (tensor);
  if (y->type != NULL && ir_type_is_static (y->type))
    g_assert_true (y->type == ir_tensor_type (tensor, run->model->context));
  return ir_tensor_ref (tensor);
}

IrTensor *
run_body (gint64 opset, const char *output, const char *body, GError **error)
{
  g_autofree char *signature = g_strdup_printf ("() => (%s y)", output);
  g_autoptr (IrModel) model = read_graph (opset, signature, body);
  g_autoptr (IrTensor) ref = run_on (model, "ref", error);
  g_autoptr (IrTensor) cpu = ref != NULL ? run_on (model, "cpu", error) : NULL;

  if (cpu == NULL)
    return NULL;
  for (guint64 i = 0; ir_tensor_dtype (ref) != IR_DTYPE_STRING && i < ir_tensor_n_elements (ref);
       i++)
    {
      double a = ir_tensor_get_double (ref, i), b = ir_tensor_get_double (cpu, i);
      double few = 1e-5 * MIN (ir_tolerance_scale (ir_tensor_dtype (ref)), 1000);
      g_assert_true (a == b || ABS (a - b) <= few * ABS (a) || (a != a && b != b));
    }
  return g_steal_pointer (&ref);
}

static char *
any_shape (const char *type)
{
  return g_strdup_printf ("%.*s[]", (int) strcspn (type, "["), type);
}

void
assert_body (gint64 opset, const char *type, const char *elements, double atol, const char *body)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *output = any_shape (type);
  g_autoptr (IrTensor) y = run_body (opset, output, body, &error);

  g_assert_no_error (error);
  assert_tensor (y, type, elements, atol);
}

void
assert_strings (const char *type, const char *strings, const char *body)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) found = g_string_new (NULL);
  g_autoptr (IrTensor) y = run_body (28, "string[]", body, &error);

  g_assert_no_error (error);
  g_autoptr (IrContext) context = ir_context_new ();
  g_autofree char *found_type = ir_type_to_string (context, ir_tensor_type (y, context));
  g_assert_cmpstr (found_type, ==, type);
  for (guint64 i = 0; i < ir_tensor_n_elements (y); i++)
    {
      gsize length;
      const char *data = g_bytes_get_data (ir_tensor_string (y, i), &length);
      if (i > 0)
        g_string_append_c (found, '|');
      g_string_append_len (found, data != NULL ? data : "", (gssize) length);
    }
  g_assert_cmpstr (found->str, ==, strings);
}
