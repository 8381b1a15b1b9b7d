/* Tensors: sizes, alignment, strings, sparse ones, hashing, text. */
#include "config.h"

#include "core/ir/tensor-text.h"
#include "core/ir/tensor.h"

#include <math.h>
#include <string.h>

static void
test_sizes (void)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
  const gint64 dims[] = { 2, 2 }, negative[] = { -1, 4 };
  const gint64 huge[] = { G_MAXINT64, G_MAXINT64, 0 }, overflow[] = { G_MAXINT64, 4 };
  g_autoptr (IrTensor) tensor = ir_tensor_new (IR_DTYPE_FLOAT, 2, dims, bytes);
  g_autoptr (IrTensor) empty = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 3, huge, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (tensor);
  g_assert_cmpuint (ir_tensor_n_bytes (tensor), ==, 16);
  g_assert_true (ir_tensor_bytes (tensor) == bytes);
  g_assert_null (ir_tensor_new (IR_DTYPE_DOUBLE, 2, dims, bytes));
  g_assert_null (ir_tensor_new (IR_DTYPE_FLOAT, 2, negative, bytes));
  g_assert_null (ir_tensor_new (IR_DTYPE_FLOAT, 65, dims, bytes));
  g_assert_null (ir_tensor_new (IR_DTYPE_STRING, 2, dims, bytes));
  g_assert_cmpuint (ir_tensor_n_elements (empty), ==, 0);
  g_assert_nonnull (ir_tensor_data (empty));
  g_assert_null (ir_tensor_new_alloc (IR_DTYPE_FLOAT, 2, overflow, &error));
  g_assert_nonnull (error);
}

static void
test_too_much_memory (void)
{
  const gint64 dims[] = { G_MAXINT64 / 8 };
  g_autoptr (GError) error = NULL;

  /* Beyond any address space, so no allocator is asked. */
  g_assert_null (ir_tensor_new_alloc (IR_DTYPE_DOUBLE, 1, dims, &error));
  g_assert_nonnull (error);
}

static gpointer
read_data (gpointer data)
{
  return (gpointer) ir_tensor_data (data);
}

static void
test_alignment (void)
{
  static const double values[] = { 1.5, -2, 3 };
  char buffer[sizeof values + 1];
  g_autoptr (GBytes) whole = NULL;
  g_autoptr (GBytes) slice = NULL;
  const gint64 dims[] = { 3 };
  g_autoptr (IrTensor) tensor = NULL;
  GThread *threads[4];

  memcpy (buffer + 1, values, sizeof values);
  whole = g_bytes_new (buffer, sizeof buffer);
  slice = g_bytes_new_from_bytes (whole, 1, sizeof values);
  tensor = ir_tensor_new (IR_DTYPE_DOUBLE, 1, dims, slice);
  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new ("read", read_data, tensor);
  for (guint i = 0; i < 4; i++)
    g_assert_true (g_thread_join (threads[i]) == ir_tensor_data (tensor));
  g_assert_cmpuint ((guintptr) ir_tensor_data (tensor) % 8, ==, 0);
  g_assert_cmpmem (ir_tensor_data (tensor), sizeof values, values, sizeof values);
  g_assert_cmpfloat (ir_tensor_get_double (tensor, 1), ==, -2);
  g_assert_true (ir_tensor_bytes (tensor) == slice);
}

static void
test_aligned_is_not_copied (void)
{
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_malloc0 (32), 32);
  const gint64 dims[] = { 4 };
  g_autoptr (IrTensor) tensor = ir_tensor_new (IR_DTYPE_INT64, 1, dims, bytes);
  const gint64 square[] = { 2, 2 };
  g_autoptr (IrTensor) shaped = ir_tensor_reshape (tensor, 2, square);

  g_assert_true (ir_tensor_data (tensor) == g_bytes_get_data (bytes, NULL));
  g_assert_true (ir_tensor_data (shaped) == ir_tensor_data (tensor));
  g_assert_null (ir_tensor_reshape (tensor, 1, square));
  g_assert_null (ir_tensor_data_writable (tensor));
}

static void
test_elements (void)
{
  const gint64 dims[] = { 3 };
  g_autoptr (IrTensor) packed = ir_tensor_new_alloc (IR_DTYPE_INT4, 1, dims, NULL);
  g_autoptr (IrTensor) half = ir_tensor_new_scalar (IR_DTYPE_FLOAT16, 0.1);
  const gint64 many[] = { 7, 8 };
  g_autoptr (IrTensor) ints = ir_tensor_new_int64s (many, 2);
  g_autoptr (IrTensor) scalar = ir_tensor_new_int64s (many, -1);

  ir_dtype_set_int64 (IR_DTYPE_INT4, ir_tensor_data_writable (packed), 2, -3);
  g_assert_cmpint (ir_tensor_get_int64 (packed, 2), ==, -3);
  g_assert_cmpfloat (ir_tensor_get_double (packed, 2), ==, -3);
  g_assert_cmpint (ir_tensor_get_int64 (packed, 3), ==, 0);
  g_assert_cmpfloat (ir_tensor_get_double (half, 0), ==, 0x1.998p-4);
  g_assert_cmpuint (ir_tensor_rank (ints), ==, 1);
  g_assert_cmpint (ir_tensor_get_int64 (ints, 1), ==, 8);
  g_assert_cmpuint (ir_tensor_rank (scalar), ==, 0);
  g_assert_cmpint (ir_tensor_get_int64 (scalar, 0), ==, 7);
}

static void
test_strings (void)
{
  GBytes *strings[] = { g_bytes_new_static ("a\0b", 3), g_bytes_new_static ("", 0) };
  const gint64 dims[] = { 2 }, column[] = { 2, 1 };
  g_autoptr (IrTensor) tensor = ir_tensor_new_strings (1, dims, strings);
  g_autoptr (IrTensor) same = ir_tensor_new_strings (1, dims, strings);
  g_autoptr (IrTensor) shaped = ir_tensor_reshape (tensor, 2, column);

  g_assert_cmpuint (ir_tensor_n_bytes (tensor), ==, 3);
  g_assert_null (ir_tensor_data (tensor));
  g_assert_true (ir_tensor_string (shaped, 0) == strings[0]);
  g_assert_null (ir_tensor_string (tensor, 2));
  g_assert_true (ir_tensor_equal (tensor, same));
  g_assert_cmpuint (ir_tensor_hash (tensor), ==, ir_tensor_hash (same));
  g_assert_true (isnan (ir_tensor_get_double (tensor, 0)));
  g_bytes_unref (strings[0]);
  g_bytes_unref (strings[1]);
}

static void
test_sparse (void)
{
  const gint64 dims[] = { 2, 3 }, two[] = { 2 }, pairs[] = { 2, 2 };
  const float data[] = { 5, 6 };
  const gint64 flat[] = { 1, 5 }, places[] = { 0, 1, 1, 2 }, outside[] = { 1, 6 };
  g_autoptr (IrTensor) values = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, two, data);
  g_autoptr (IrTensor) linear = ir_tensor_new_int64s (flat, 2);
  g_autoptr (IrTensor) wrong = ir_tensor_new_int64s (outside, 2);
  g_autoptr (IrTensor) coordinates = ir_tensor_new_copy (IR_DTYPE_INT64, 2, pairs, places);
  g_autoptr (IrTensor) a = ir_tensor_new_sparse (2, dims, values, linear);
  g_autoptr (IrTensor) b = ir_tensor_new_sparse (2, dims, values, coordinates);
  g_autoptr (IrTensor) bad = ir_tensor_new_sparse (2, dims, values, wrong);
  g_autoptr (IrTensor) dense_a = ir_tensor_densify (a, NULL);
  g_autoptr (IrTensor) dense_b = ir_tensor_densify (b, NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = ir_tensor_to_string (dense_a, 10);

  g_assert_cmpstr (text, ==, "[[0, 5, 0], [0, 0, 6]]");
  g_assert_true (ir_tensor_equal (dense_a, dense_b));
  g_assert_false (ir_tensor_equal (a, b));
  g_assert_cmpfloat (ir_tensor_get_double (b, 5), ==, 6);
  g_assert_cmpfloat (ir_tensor_get_double (b, 4), ==, 0);
  g_assert_null (ir_tensor_data (a));
  g_assert_null (ir_tensor_densify (bad, &error));
  g_assert_nonnull (error);
  g_assert_null (ir_tensor_new_sparse (2, dims, values, values));
}

static void
test_equality (void)
{
  const gint64 dims[] = { 100 }, other[] = { 10, 10 };
  float data[100] = { 0 };
  g_autoptr (IrTensor) a = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, dims, data);
  g_autoptr (IrTensor) b = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, dims, data);
  g_autoptr (IrTensor) shaped = ir_tensor_reshape (a, 2, other);
  g_autoptr (IrTensor) c = NULL;

  data[99] = -0.0f;
  c = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, dims, data);
  g_assert_true (ir_tensor_equal (a, b));
  g_assert_cmpuint (ir_tensor_hash (a), ==, ir_tensor_hash (b));
  g_assert_false (ir_tensor_equal (a, c));
  g_assert_cmpuint (ir_tensor_hash (a), !=, ir_tensor_hash (c));
  g_assert_false (ir_tensor_equal (a, shaped));
  {
    const gint64 two[] = { 2 };
    GBytes *words[] = { g_bytes_new_static ("a", 1), g_bytes_new_static ("b", 1),
                        g_bytes_new_static ("c", 1) };
    GBytes *others[] = { words[0], words[2] };
    g_autoptr (IrTensor) text = ir_tensor_new_strings (1, two, words);
    g_autoptr (IrTensor) ends_otherwise = ir_tensor_new_strings (1, two, others);
    g_assert_false (ir_tensor_equal (text, ends_otherwise));
    for (guint i = 0; i < G_N_ELEMENTS (words); i++)
      g_bytes_unref (words[i]);
  }
  g_assert_cmpuint (ir_tensor_hash (a), !=, ir_tensor_hash (shaped));
}

static void
assert_text (IrTensor *tensor, guint max, const char *expected)
{
  g_autofree char *text = ir_tensor_to_string (tensor, max);
  g_assert_cmpstr (text, ==, expected);
}

static void
test_text (void)
{
  const gint64 dims[] = { 2, 2 }, none[] = { 0 }, one[] = { 1 };
  const float data[] = { 0.1f, 1, -NAN, -INFINITY };
  const float complex_data[] = { 1, -2 };
  const guint64 wide[] = { G_MAXUINT64 };
  g_autoptr (IrTensor) floats = ir_tensor_new_copy (IR_DTYPE_FLOAT, 2, dims, data);
  g_autoptr (IrTensor) empty = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 1, none, NULL);
  g_autoptr (IrTensor) flag = ir_tensor_new_scalar (IR_DTYPE_BOOL, 1);
  g_autoptr (IrTensor) imaginary = ir_tensor_new_copy (IR_DTYPE_COMPLEX64, 1, one, complex_data);
  g_autoptr (IrTensor) big = ir_tensor_new_copy (IR_DTYPE_UINT64, 1, one, wide);

  assert_text (floats, 10, "[[0.100000001, 1], [nan, -inf]]");
  assert_text (floats, 3, "[[0.100000001, 1], [nan, ...]]");
  assert_text (floats, 2, "[[0.100000001, 1], ...]");
  assert_text (floats, 0, "...");
  assert_text (empty, 4, "[]");
  assert_text (flag, 4, "true");
  assert_text (imaginary, 4, "[1-2j]");
  assert_text (big, 4, "[18446744073709551615]");
}

static void
test_origin (void)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 1);
  IrTensorOrigin origin = { .name = "w", .location = "weights.bin", .offset = 8, .length = -1 };

  g_assert_null (ir_tensor_origin (tensor));
  ir_tensor_set_origin (tensor, &origin);
  ir_tensor_set_origin (tensor, &origin);
  g_assert_cmpstr (ir_tensor_origin (tensor)->location, ==, "weights.bin");
  g_assert_true (ir_tensor_origin (tensor)->location != origin.location);
  g_assert_cmpint (ir_tensor_origin (tensor)->length, ==, -1);
}

/* One owner appends in place: what is copied grows with the items, not with their square. */
static void
test_append (void)
{
  const guint n = 200000;
  g_autoptr (IrTensor) item = ir_tensor_new_scalar (IR_DTYPE_INT64, 7);
  g_autoptr (IrTensor) text = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 7);
  g_autoptr (IrTensor) first = ir_tensor_new_sequence (NULL, &item, 1);
  IrTensor *sequence = ir_tensor_ref (first);
  guint64 copied = 0;

  for (guint i = 1; i < n; i++)
    {
      IrTensor *longer = ir_tensor_append (sequence, item);
      if (ir_tensor_item_store (longer) != ir_tensor_item_store (sequence))
        copied += ir_tensor_n_items (sequence) * sizeof (gpointer);
      ir_tensor_unref (sequence);
      sequence = longer;
    }
  g_assert_cmpuint (ir_tensor_n_items (sequence), ==, n);
  g_assert_cmpuint (ir_tensor_n_bytes (sequence), ==, n * sizeof (gint64));
  g_assert_cmpuint (copied, <, 2 * n * sizeof (gpointer));
  g_assert_cmpuint (ir_tensor_n_items (first), ==, 1);
  g_assert_null (ir_tensor_append (first, text)); /* of another type */
  g_assert_null (ir_tensor_append (item, item));
  ir_tensor_unref (sequence);
}

/* One element more than there are is no element, in each format. */
static void
test_behind_the_last (void)
{
  const float values[] = { 1.5f, -2 };
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, (gint64[]){ 2 }, values);

  for (IrNumberFormat format = 0; format < IR_N_NUMBER_FORMATS; format++)
    {
      g_autofree char *last = ir_tensor_element_format (tensor, 1, format);
      g_autofree char *behind = ir_tensor_element_format (tensor, 2, format);
      g_assert_cmpstr (last, !=, "");
      g_assert_cmpstr (behind, ==, "");
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensor/sizes must fit the bytes", test_sizes);
  g_test_add_func ("/tensor/too much memory is an error", test_too_much_memory);
  g_test_add_func ("/tensor/unaligned bytes are copied once", test_alignment);
  g_test_add_func ("/tensor/aligned bytes are not copied", test_aligned_is_not_copied);
  g_test_add_func ("/tensor/elements of any numeric type are read", test_elements);
  g_test_add_func ("/tensor/strings hold any bytes", test_strings);
  g_test_add_func ("/tensor/sparse tensors become dense", test_sparse);
  g_test_add_func ("/tensor/equality is bit by bit", test_equality);
  g_test_add_func ("/tensor/text is nested and cut", test_text);
  g_test_add_func ("/tensor/origin is copied", test_origin);
  g_test_add_func ("/tensor/a sequence is appended to in place", test_append);
  g_test_add_func ("/tensor/there is nothing behind the last element", test_behind_the_last);
  return g_test_run ();
}
