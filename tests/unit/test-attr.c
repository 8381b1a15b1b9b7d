/* Attributes: values, copies, equality by bits, text. */
#include "config.h"

#include "core/ir/attr.h"

static void
test_values (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  gint64 ints[] = { 1, -2, 3 };
  IrString strings[] = { { 3, "a\0b" }, { 0, "" } };
  const IrAttr *list = ir_attr_ints (context, "axes", ints, 3);
  const IrAttr *names = ir_attr_strings (context, "names", strings, 2);

  ints[0] = 99;
  g_assert_cmpint (list->ints[0], ==, 1);
  g_assert_cmpuint (list->n, ==, 3);
  g_assert_cmpuint (names->strings[0].length, ==, 3);
  g_assert_cmpint (names->strings[0].data[2], ==, 'b');
  g_assert_cmpfloat (ir_attr_float (context, "alpha", 0.5f)->floats[0], ==, 0.5f);
  g_assert_cmpstr (ir_attr_string (context, "mode", "same", -1)->strings[0].data, ==, "same");
  g_assert_cmpuint (ir_attr_graph (context, "body", 7)->graphs[0], ==, 7);
  g_assert_cmpuint (ir_attr_ints (context, "none", NULL, 0)->n, ==, 0);
}

static void
test_tensors_are_kept (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  const IrAttr *attr;

  {
    g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 2);
    attr = ir_attr_tensor (context, "value", tensor);
  }
  g_assert_cmpint (attr->kind, ==, IR_ATTR_TENSOR);
  g_assert_cmpfloat (ir_tensor_get_double (attr->tensors[0], 0), ==, 2);
}

static void
test_equality (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (IrTensor) a = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 2);
  g_autoptr (IrTensor) b = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 2);
  const IrAttr *zero = ir_attr_float (context, "x", 0.0f);
  const IrAttr *same = ir_attr_float (context, "x", 0.0f);

  g_assert_true (ir_attr_equal (zero, same));
  g_assert_cmpuint (ir_attr_hash (zero), ==, ir_attr_hash (same));
  g_assert_false (ir_attr_equal (zero, ir_attr_float (context, "x", -0.0f)));
  g_assert_false (ir_attr_equal (zero, ir_attr_float (context, "y", 0.0f)));
  g_assert_false (ir_attr_equal (zero, ir_attr_int (context, "x", 0)));
  g_assert_false (ir_attr_equal (zero, ir_attr_ref (context, "x", IR_ATTR_FLOAT, "alpha")));
  g_assert_true (
      ir_attr_equal (ir_attr_tensor (context, "t", a), ir_attr_tensor (context, "t", b)));
  g_assert_cmpuint (ir_attr_hash (ir_attr_tensor (context, "t", a)), ==,
                    ir_attr_hash (ir_attr_tensor (context, "t", b)));
  g_assert_true (
      ir_attr_equal (ir_attr_renamed (context, zero, "y"), ir_attr_float (context, "y", 0.0f)));
}

static void
test_annotations (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (GBytes) unknown = g_bytes_new_static ("\1\2", 2);
  const IrAttr *attr = ir_attr_ints (context, "x", NULL, 0);
  const IrAttr *noted = ir_attr_annotate (context, attr, IR_ATTR_FLOATS, "why", unknown);

  g_assert_cmpint (noted->kind, ==, IR_ATTR_FLOATS);
  g_assert_cmpstr (noted->doc, ==, "why");
  g_assert_true (noted->unknown == unknown);
}

static void
assert_text (IrContext *context, const IrAttr *attr, const char *expected)
{
  g_autofree char *text = ir_attr_to_string (context, attr, 3);
  g_assert_cmpstr (text, ==, expected);
}

static void
test_text (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  const gint64 ints[] = { 1, 2, 3, 4 };
  const gint64 dims[] = { 2 };
  const float floats[] = { 0.1f, -1 };
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_INT64, 1, dims, ints);
  const IrType *type = ir_type_tensor (context, IR_DTYPE_FLOAT, 0, NULL);

  assert_text (context, ir_attr_int (context, "x", -3), "-3");
  assert_text (context, ir_attr_ints (context, "x", ints, 4), "[1, 2, 3, ...]");
  assert_text (context, ir_attr_ints (context, "x", ints, 1), "[1]");
  assert_text (context, ir_attr_floats (context, "x", floats, 2), "[0.100000001, -1]");
  assert_text (context, ir_attr_string (context, "x", "same", -1), "\"same\"");
  assert_text (context, ir_attr_tensor (context, "x", tensor), "int64[2] [1, 2]");
  assert_text (context, ir_attr_graph (context, "x", 4), "graph 4");
  assert_text (context, ir_attr_types (context, "x", IR_ATTR_TYPE, &type, 1), "float[]");
  assert_text (context, ir_attr_ref (context, "x", IR_ATTR_INT, "axis"), "@axis");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/attr/values are copied", test_values);
  g_test_add_func ("/attr/tensors are kept as long as the context", test_tensors_are_kept);
  g_test_add_func ("/attr/equality is bit by bit", test_equality);
  g_test_add_func ("/attr/annotations keep the elements readable", test_annotations);
  g_test_add_func ("/attr/text shows the value and cuts long lists", test_text);
  return g_test_run ();
}
