/* Reference kernels at the edges of their domains: NaN, limits of integers, empty tensors, indices
 * and sizes that are wrong. What has no result is an error that names the node, never a crash. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/io/io.h"
#include "core/ir/edit.h"
#include "core/op/infer.h"
#include <math.h>
#include <string.h>

/* Runs a graph without inputs whose output is y; (transfer full) (nullable) */
static IrTensor *
run (int opset, const char *body, GError **error)
{
  g_autofree char *text = g_strdup_printf (
      "<ir_version: 8, opset_import: [\"\" : %d]>\ngraph () => (y)\n{\n%s\n}\n", opset, body);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (text, -1, problems, error);
  if (model == NULL)
    return NULL;
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  g_autoptr (GHashTable) inputs = g_hash_table_new (NULL, NULL);
  IrRunOptions options = { .backend = ir_backend_find ("ref"),
                           .n_threads = 1,
                           .output_limit = 1 << 24 };
  g_autoptr (IrRun) result = ir_model_run (model, inputs, &options, NULL, error);
  if (result == NULL)
    return NULL;
  IrTensor *tensor = ir_run_value (result, ir_graph_output (model->main, 0)->id);
  return tensor != NULL ? ir_tensor_ref (tensor) : NULL;
}

/* Elements as %.9g, integers as such, separated by spaces. */
static void
assert_values (int opset, const char *body, const char *type, const char *values)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (IrTensor) tensor = run (opset, body, &error);
  g_assert_no_error (error);
  g_assert_nonnull (tensor);
  g_autofree char *found = ir_type_to_string (context, ir_tensor_type (tensor, context));
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      char number[64];
      if (isnan (ir_tensor_get_double (tensor, i)))
        g_strlcpy (number, "nan", sizeof number); /* whatever its sign */
      else if (ir_dtype_is_float (ir_tensor_dtype (tensor)))
        g_ascii_formatd (number, sizeof number, "%.9g", ir_tensor_get_double (tensor, i));
      else
        g_snprintf (number, sizeof number, "%" G_GINT64_FORMAT, ir_tensor_get_int64 (tensor, i));
      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", number);
    }
  g_assert_cmpstr (found, ==, type);
  g_assert_cmpstr (text->str, ==, values);
}

static void
assert_fails (int opset, const char *body, const char *words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) tensor = run (opset, body, &error);
  g_assert_null (tensor);
  g_assert_nonnull (error);
  if (error->domain != IR_EXEC_ERROR || strstr (error->message, words) == NULL)
    g_error ("\"%s\" is not about \"%s\"", error->message, words);
}

#define FLOATS(NAME, LIST) NAME " = Constant <value_floats = [" LIST "]> ()\n"
#define INTS(NAME, LIST)   NAME " = Constant <value_ints = [" LIST "]> ()\n"
#define INT(NAME, VALUE)   NAME " = Constant <value_int = " VALUE "> ()\n"
/* n = [nan, 1, -1] */
#define WITH_NAN FLOATS ("a", "0.0, 1.0, -2.0") FLOATS ("b", "0.0, 1.0, 2.0") "n = Div (a, b)\n"

static void
test_nan (void)
{
  assert_values (17, WITH_NAN "y = Relu (n)", "float[3]", "nan 1 0");
  assert_values (17, WITH_NAN "l = Constant <value_float = 0.0> ()\n y = Clip (n, l)", "float[3]",
                 "nan 1 0");
  assert_values (17, WITH_NAN FLOATS ("z", "0.5") "y = Max (n, z)", "float[3]", "nan 1 0.5");
  assert_values (17, WITH_NAN FLOATS ("z", "0.5") "y = Min (z, n)", "float[3]", "nan 0.5 -1");
  assert_values (17, WITH_NAN "y = ReduceMax <keepdims = 0> (n)", "float[]", "nan");
  assert_values (17, WITH_NAN "y = ArgMin <keepdims = 0> (n)", "int64[]", "0");
  assert_values (17, WITH_NAN "y = IsNaN (n)", "bool[3]", "1 0 0");
  assert_values (17, WITH_NAN "y = Equal (n, n)", "bool[3]", "0 1 1");
  assert_values (17, WITH_NAN "y = Sign (n)", "float[3]", "nan 1 -1");
  assert_values (17, WITH_NAN INTS ("k", "2") "v, y = TopK (n, k)\n", "int64[2]", "0 1");
}

static void
test_integer_limits (void)
{
  const char *least = INTS ("a", "-9223372036854775808, 7") INTS ("b", "-1, 2");
  g_autofree char *div = g_strconcat (least, "y = Div (a, b)", NULL);
  g_autofree char *mod = g_strconcat (least, "y = Mod (a, b)", NULL);
  g_autofree char *neg = g_strconcat (least, "y = Neg (a)", NULL);
  g_autofree char *abs = g_strconcat (least, "y = Abs (a)", NULL);
  g_autofree char *sub = g_strconcat (least, "one = Constant <value_int = 1> ()\ny = Sub (a, one)",
                                      NULL);
  assert_values (17, div, "int64[2]", "-9223372036854775808 3");
  assert_values (17, mod, "int64[2]", "0 1");
  assert_values (17, neg, "int64[2]", "-9223372036854775808 -7");
  assert_values (17, abs, "int64[2]", "-9223372036854775808 7");
  assert_values (17, sub, "int64[2]", "9223372036854775807 6");
  assert_values (17, FLOATS ("a", "300.7, -300.7, 3e38") "y = Cast <to = 3> (a)", "int8[3]",
                 "127 -128 127");
  assert_values (17, INTS ("a", "300, -1") "y = Cast <to = 2> (a)", "uint8[2]", "44 255");
}

/* A window that is larger than the data by less than a step is one window, and those beyond are
 * refused; a convolution has none. */
static void
test_windows_that_hang_over (void)
{
#define IMAGE FLOATS ("v", "1.0, 2.0, 3.0, 4.0") INTS ("s", "1, 1, 1, 4") "x = Reshape (v, s)\n"
  assert_values (17, IMAGE "y = AveragePool <kernel_shape = [2,2], strides = [2,2]> (x)",
                 "float[1,1,1,2]", "1.5 3.5");
  assert_values (17, IMAGE "y = MaxPool <kernel_shape = [3,2], strides = [3,2]> (x)",
                 "float[1,1,1,2]", "2 4");
  assert_values (17, IMAGE "y = LpPool <kernel_shape = [2,1], strides = [2,3], p = 1> (x)",
                 "float[1,1,1,2]", "1 4");
  assert_fails (17, IMAGE "y = MaxPool <kernel_shape = [2,2]> (x)", "does not fit into 1 elements");
  assert_fails (17, IMAGE "y = AveragePool <kernel_shape = [4,2], strides = [3,1]> (x)",
                "does not fit into 1 elements");
  assert_fails (17,
                IMAGE "w = ConstantOfShape <value = float[1] {1}> (k)\n"
                      "y = Conv <strides = [2,2]> (x, w)\n" INTS ("k", "1, 1, 2, 2"),
                "does not fit into 1 elements");
#undef IMAGE
}

static void
test_division_by_zero (void)
{
  assert_fails (17, INTS ("a", "1, 2") INTS ("b", "1, 0") "y = Div (a, b)", "zero at element 1");
  assert_fails (17, INTS ("a", "1, 2") INTS ("b", "1, 0") "y = Mod (a, b)", "zero at element 1");
  assert_fails (17, INTS ("a", "0") INTS ("b", "-1") "y = Pow (a, b)", "negative power");
  assert_values (17, FLOATS ("a", "1.0, -1.0") FLOATS ("b", "0.0") "y = Div (a, b)", "float[2]",
                 "inf -inf");
}

static void
test_signs_of_remainders (void)
{
  const char *numbers = INTS ("a", "-4, 7, 5, 4, -7, 8") INTS ("b", "2, -3, 8, -2, 3, 5");
  g_autofree char *mod = g_strconcat (numbers, "y = Mod (a, b)", NULL);
  g_autofree char *fmod = g_strconcat (numbers, "y = Mod <fmod = 1> (a, b)", NULL);
  assert_values (17, mod, "int64[6]", "0 -2 5 0 2 3");
  assert_values (17, fmod, "int64[6]", "0 1 5 0 -1 3");
}

static void
test_rounding (void)
{
  assert_values (17, FLOATS ("a", "0.5, 1.5, 2.5, -0.5, -1.5, 2.6") "y = Round (a)", "float[6]",
                 "0 2 2 -0 -2 3");
  assert_values (17, FLOATS ("a", "1.9, -1.9") "y = Cast <to = 7> (a)", "int64[2]", "1 -1");
}

static void
test_wrong_indices (void)
{
  const char *data = FLOATS ("d", "1.0, 2.0, 3.0");
  g_autofree char *above = g_strconcat (data, INTS ("i", "0, 3"), "y = Gather (d, i)", NULL);
  g_autofree char *below = g_strconcat (data, INTS ("i", "-4"), "y = Gather (d, i)", NULL);
  g_autofree char *last = g_strconcat (data, INTS ("i", "-1"), "y = Gather (d, i)", NULL);
  g_autofree char *elements = g_strconcat (data, INTS ("i", "5"), "y = GatherElements (d, i)",
                                           NULL);
  g_autofree char *scatter = g_strconcat (data, INTS ("i", "3"), FLOATS ("u", "9.0"),
                                          "y = ScatterElements (d, i, u)", NULL);
  assert_fails (17, above, "outside an axis of 3");
  assert_fails (17, below, "outside an axis of 3");
  assert_fails (17, elements, "outside an axis of 3");
  assert_fails (17, scatter, "outside an axis of 3");
  assert_values (17, last, "float[1]", "3");
}

static void
test_wrong_sizes (void)
{
  assert_fails (17, INTS ("s", "-3") "y = ConstantOfShape (s)", "-3");
  assert_fails (17, INTS ("s", "4294967296, 4294967296, 2") "y = ConstantOfShape (s)", "");
  assert_fails (17, INTS ("s", "1000000, 1000000") "y = ConstantOfShape (s)", "limit");
  assert_fails (17, INTS ("a", "1, 2, 3") INTS ("s", "2, -1") "y = Reshape (a, s)", "");
  assert_fails (17, INTS ("a", "1, 2") INTS ("b", "1, 2, 3") "y = Add (a, b)", "broadcast");
  assert_fails (17, INTS ("a", "1, 2") INTS ("k", "3") "y, i = TopK (a, k)", "K is 3");
  assert_fails (17, INTS ("a", "1, 2") FLOATS ("b", "1.0") "y = Add (a, b)", "Cast");
  assert_fails (17, INT ("a", "0") INT ("b", "9") INT ("c", "0") "y = Range (a, b, c)",
                "delta is 0");
  assert_fails (17, INTS ("a", "1, 2") INTS ("p", "-2, -1") "y = Pad (a, p)", "-1 elements");
}

static void
test_empty (void)
{
  const char *none = INTS ("s", "0, 3") "e = ConstantOfShape (s)\n";
  g_autofree char *sum = g_strconcat (none, INTS ("x", "0"), "y = ReduceSum <keepdims = 0> (e, x)",
                                      NULL);
  g_autofree char *max = g_strconcat (none, "y = ReduceMax <axes = [0], keepdims = 0> (e)", NULL);
  g_autofree char *all = g_strconcat (none, "y = Concat <axis = 0> (e, e)", NULL);
  g_autofree char *arg = g_strconcat (none, "y = ArgMax <axis = 0> (e)", NULL);
  g_autofree char *slice = g_strconcat (none, INTS ("from", "5"), INTS ("to", "-9"),
                                        INTS ("ax", "0"), INTS ("st", "-1"),
                                        "y = Slice (e, from, to, ax, st)", NULL);
  g_autofree char *where = g_strconcat (none, "y = NonZero (e)", NULL);
  assert_values (17, sum, "float[3]", "0 0 0");
  assert_values (17, max, "float[3]", "-inf -inf -inf");
  assert_values (17, all, "float[0,3]", "");
  assert_values (17, slice, "float[0,3]", "");
  assert_values (17, where, "int64[2,0]", "");
  assert_fails (17, arg, "no elements");
}

static void
test_old_broadcasting (void)
{
  assert_values (6,
                 "a = Constant <value = float[2,3,1] {0.0, 0.0, 0.0, 10.0, 10.0, 10.0}> ()\n"
                 "b = Constant <value = float[3] {1.0, 2.0, 3.0}> ()\n"
                 "y = Add <broadcast = 1, axis = 1> (a, b)",
                 "float[2,3,1]", "1 2 3 11 12 13");
  assert_values (6,
                 "a = Constant <value = float[2,2] {1.0, 2.0, 3.0, 4.0}> ()\n"
                 "b = Constant <value = float[2] {10.0, 100.0}> ()\n"
                 "y = Mul <broadcast = 1, axis = 0> (a, b)",
                 "float[2,2]", "10 20 300 400");
}

static void
test_padding_modes (void)
{
  const char *numbers = FLOATS ("a", "1.0, 2.0, 3.0") INTS ("p", "4, 5");
  const char *const modes[] = { "reflect", "edge", "wrap" };
  const char *const values[] = { "1 2 3 2 1 2 3 2 1 2 3 2", "1 1 1 1 1 2 3 3 3 3 3 3",
                                 "3 1 2 3 1 2 3 1 2 3 1 2" };
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *body = g_strdup_printf ("%sy = Pad <mode = \"%s\"> (a, p)", numbers,
                                               modes[i]);
      assert_values (19, body, "float[12]", values[i]);
    }
  assert_values (17, FLOATS ("a", "1.0, 2.0, 3.0") INTS ("p", "-1, 2") "y = Pad (a, p)", "float[4]",
                 "2 3 0 0");
}

static void
test_ties (void)
{
  assert_values (17, FLOATS ("a", "2.0, 5.0, 5.0, 2.0") INTS ("k", "3") "v, y = TopK (a, k)\n",
                 "int64[3]", "1 2 0");
  assert_values (17, FLOATS ("a", "2.0, 5.0, 5.0, 2.0") "y = ArgMax <select_last_index = 1> (a)",
                 "int64[1]", "2");
}

/* Both sides of each band, as ONNX Runtime has them. */
static void
test_mel_weights (void)
{
  assert_values (
      17,
      "b = Constant <value_int = 3> ()\n l = Constant <value_int = 32> ()\n"
      "r = Constant <value_int = 8192> ()\n f = Constant <value_float = 100.0> ()\n"
      "t = Constant <value_float = 4000.0> ()\n y = MelWeightMatrix (b, l, r, f, t)",
      "float[17,3]",
      "0 0 0 1 0 0 0.5 0.5 0 0 1 0 0 0.666666687 0.333333343 0 0.333333343 0.666666687 0 0 1 0 0 0.75 0 0 0.5 0 0 0.25 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
}

/* As many axes as there may be, and one more. */
static void
test_most_axes (void)
{
  for (guint more = 0; more < 2; more++)
    {
      g_autoptr (GString) ones = g_string_new ("1");
      for (guint i = 1; i < IR_MAX_RANK + more; i++)
        g_string_append (ones, ",1");
      g_autofree char *dims = g_strdup_printf ("s = Constant <value_ints = [%s]> ()", ones->str);
      g_autofree char *type = g_strdup_printf ("float[%s]", ones->str);
      static const char *const nodes[] = { "y = Reshape (x, s)", "y = Expand (x, s)",
                                           "y = Tile (z, s)",
                                           "y = ConstantOfShape <value = float[1] {3}> (s)" };
      for (guint i = 0; i < G_N_ELEMENTS (nodes); i++)
        {
          g_autofree char *body = g_strdup_printf (
              "%s  x = Constant <value_floats = [3.0]> ()  "
              "%s  %s",
              dims, i == 2 && more == 0 ? "z = Reshape (x, s)" : "z = Identity (x)", nodes[i]);
          if (more == 0)
            assert_values (17, body, type, "3");
          else
            assert_fails (17, body, "");
        }
    }
}

/* The largest number may stand anywhere: powers of it would be infinite. */
static void
test_softmax_of_large (void)
{
  static const char *const ops[] = { "Softmax", "LogSoftmax" };
  static const char *const lists[] = { "1000.0, 0.0, 0.0", "0.0, 1000.0, 0.0", "0.0, 0.0, 1000.0" };
  static const char *const wanted[2][3] = { { "1 0 0", "0 1 0", "0 0 1" },
                                            { "0 -1000 -1000", "-1000 0 -1000", "-1000 -1000 0" } };

  for (guint op = 0; op < 2; op++)
    for (guint i = 0; i < 3; i++)
      {
        g_autofree char *body = g_strdup_printf (
            "x = Constant <value_floats = [%s]> ()  y = %s (x)", lists[i], ops[op]);
        assert_values (17, body, "float[3]", wanted[op][i]);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/values/bands of mel weights rise and fall", test_mel_weights);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/values/" SENTENCE, FUNCTION)
  TEST ("NaN goes through", test_nan);
  TEST ("one window of a pooling may hang over the data", test_windows_that_hang_over);
  TEST ("integers wrap around at their limits", test_integer_limits);
  TEST ("a division by zero is an error for integers", test_division_by_zero);
  TEST ("remainders have the sign of the divisor or the dividend", test_signs_of_remainders);
  TEST ("halves are rounded to even", test_rounding);
  TEST ("indices outside of their axis are errors", test_wrong_indices);
  TEST ("sizes that cannot be are errors", test_wrong_sizes);
  TEST ("empty tensors are handled", test_empty);
  TEST ("old opsets line up an axis", test_old_broadcasting);
  TEST ("padding repeats as its mode says", test_padding_modes);
  TEST ("there are as many axes as may be", test_most_axes);
  TEST ("large numbers of a softmax do not overflow", test_softmax_of_large);
  TEST ("of equal elements the first comes first", test_ties);
  return g_test_run ();
}
