#include "config.h"

#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

void
builder_init (Builder *builder, gint64 opset)
{
  builder->model = ir_model_new ();
  builder->edit = ir_edit_new_import (builder->model);
  ir_edit_set_opset (builder->edit, "", opset);
  ir_edit_set_opset (builder->edit, "irscope", 1);
}

void
builder_clear (Builder *builder)
{
  g_clear_pointer (&builder->edit, ir_edit_free);
  g_clear_pointer (&builder->model, ir_model_unref);
}

static void
append_to (Builder *builder, gboolean inputs, IrValue *value)
{
  const IrIdList *old = inputs ? builder->model->main->inputs : builder->model->main->outputs;
  guint n = old != NULL ? old->n : 0;
  g_autofree IrValue **values = g_new (IrValue *, n + 1);

  for (guint i = 0; i < n; i++)
    values[i] = ir_model_value (builder->model, old->ids[i]);
  values[n] = value;
  if (inputs)
    ir_edit_set_graph_inputs (builder->edit, builder->model->main, values, n + 1);
  else
    ir_edit_set_graph_outputs (builder->edit, builder->model->main, values, n + 1);
}

IrValue *
build_input (Builder *builder, const char *name, const char *type)
{
  g_autoptr (GError) error = NULL;
  const IrType *parsed = ir_type_parse (builder->model->context, type, &error);

  g_assert_no_error (error);
  IrValue *value = ir_edit_add_value (builder->edit, builder->model->main, name, parsed);
  ir_edit_set_flags (builder->edit, value, IR_VALUE_DECLARED | IR_VALUE_NAMED_BY_USER);
  append_to (builder, TRUE, value);
  return value;
}

IrValue *
build_constant (Builder *builder, const char *name, IrTensor *tensor)
{
  IrValue *value = ir_edit_add_initializer (builder->edit, builder->model->main, name, tensor);

  ir_tensor_unref (tensor);
  return value;
}

IrNode *
build_node (Builder *builder, IrGraph *graph, const char *op, guint n_outputs, ...)
{
  IrValue *inputs[16];
  guint n = 0;
  va_list args;
  gboolean ours = g_str_has_prefix (op, "irscope.");

  va_start (args, n_outputs);
  for (IrValue *value = va_arg (args, IrValue *); value != END; value = va_arg (args, IrValue *))
    inputs[n++] = value;
  va_end (args);
  return ir_edit_add_node (builder->edit, graph != NULL ? graph : builder->model->main,
                           ours ? op + strlen ("irscope.") : op, ours ? "irscope" : NULL, NULL, n,
                           inputs, n_outputs);
}

void
build_ints (Builder *builder, IrNode *node, const char *name, guint n, ...)
{
  gint64 values[32];
  va_list args;

  va_start (args, n);
  for (guint i = 0; i < n; i++)
    values[i] = va_arg (args, int);
  va_end (args);
  ir_edit_set_attr (builder->edit, node, ir_attr_ints (builder->model->context, name, values, n));
}

void
build_int (Builder *builder, IrNode *node, const char *name, gint64 value)
{
  ir_edit_set_attr (builder->edit, node, ir_attr_int (builder->model->context, name, value));
}

void
build_float (Builder *builder, IrNode *node, const char *name, float value)
{
  ir_edit_set_attr (builder->edit, node, ir_attr_float (builder->model->context, name, value));
}

void
build_string (Builder *builder, IrNode *node, const char *name, const char *value)
{
  ir_edit_set_attr (builder->edit, node, ir_attr_string (builder->model->context, name, value, -1));
}

void
build_output (Builder *builder, IrValue *value)
{
  append_to (builder, FALSE, value);
}

void
build_done (Builder *builder)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_infer_model (builder->edit, IR_INFER_DEFAULT, problems);
  for (guint i = 0; i < problems->len; i++)
    g_test_message ("%s", ((IrProblem *) g_ptr_array_index (problems, i))->message);
}

static IrTensor *
tensor_alloc (const char *type)
{
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (GError) error = NULL;
  const IrType *parsed = ir_type_parse (context, type, &error);

  g_assert_no_error (error);
  IrTensor *tensor = ir_tensor_new_alloc (parsed->dtype, (guint) parsed->rank, parsed->dims,
                                          &error);
  g_assert_no_error (error);
  return tensor;
}

IrTensor *
tensor_of (const char *type, const char *elements)
{
  IrTensor *tensor = tensor_alloc (type);
  const char *at = elements;

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      while (*at == ' ')
        at++;
      if (*at == '\0')
        at = elements;
      char *end;
      double value = g_ascii_strtod (at, &end);
      g_assert_true (end != at);
      ir_dtype_set_double (ir_tensor_dtype (tensor), ir_tensor_data_writable (tensor), i, value);
      at = end;
    }
  return tensor;
}

IrTensor *
tensor_random (const char *type, guint seed)
{
  IrTensor *tensor = tensor_alloc (type);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ir_dtype_set_double (ir_tensor_dtype (tensor), ir_tensor_data_writable (tensor), i,
                         g_rand_double_range (rand, -1, 1));
  return tensor;
}

GHashTable *
inputs_new (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
}

void
inputs_add (GHashTable *inputs, const IrValue *value, IrTensor *tensor)
{
  g_hash_table_insert (inputs, GUINT_TO_POINTER (value->id), tensor);
}

void
assert_tensor (const IrTensor *tensor, const char *type, const char *elements, double atol)
{
  g_autoptr (IrTensor) expected = tensor_of (type, elements);

  g_assert_nonnull (tensor);
  g_assert_cmpint (ir_tensor_dtype (tensor), ==, ir_tensor_dtype (expected));
  g_assert_cmpuint (ir_tensor_rank (tensor), ==, ir_tensor_rank (expected));
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    g_assert_cmpint (ir_tensor_dims (tensor)[i], ==, ir_tensor_dims (expected)[i]);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      double found = ir_tensor_get_double (tensor, i), wanted = ir_tensor_get_double (expected, i);
      if (isnan (wanted) ? !isnan (found) : !(fabs (found - wanted) <= atol || found == wanted))
        {
          g_test_message ("element %" G_GUINT64_FORMAT " is %.9g, expected is %.9g", i, found,
                          wanted);
          g_test_fail ();
          return;
        }
    }
}
