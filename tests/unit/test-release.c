/* What is many is let go by another thread, and made only as long as it is wanted. */
#include "config.h"

#include "core/ir/large-table.h"
#include "core/ir/release.h"
#include "core/ir/tensor.h"

#include <pthread.h>

#define MANY 300000
#define WITNESS                                                                                    \
  {                                                                                                \
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL                                      \
  }

/* Which thread has given something back. */
typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  GThread *thread; /* (nullable) guarded by lock */
} Witness;

static void
witness (gpointer data)
{
  Witness *self = data;

  pthread_mutex_lock (&self->lock);
  self->thread = g_thread_self ();
  pthread_cond_signal (&self->changed);
  pthread_mutex_unlock (&self->lock);
}

static GThread *
await (Witness *self)
{
  pthread_mutex_lock (&self->lock);
  while (self->thread == NULL)
    pthread_cond_wait (&self->changed, &self->lock);
  GThread *thread = self->thread;
  self->thread = NULL;
  pthread_mutex_unlock (&self->lock);
  return thread;
}

static void
test_threads (void)
{
  static Witness seen = WITNESS;

  ir_release (&seen, witness, 1);
  g_assert_true (await (&seen) == g_thread_self ());
  ir_release (&seen, witness, MANY);
  g_assert_true (await (&seen) != g_thread_self ());
}

static void
test_arrays (void)
{
  static Witness seen = WITNESS;
  IrLongArray *array = g_ptr_array_new_with_free_func (witness);

  g_ptr_array_add (array, &seen);
  ir_long_array_unref (array);
  g_assert_true (await (&seen) == g_thread_self ());
}

static void
test_tables (void)
{
  g_autoptr (IrLargeTable) table = ir_large_table_new (g_direct_hash, g_direct_equal, NULL, NULL);

  for (guint i = 1; i <= 1000; i++)
    ir_large_table_insert (table, GUINT_TO_POINTER (i), GUINT_TO_POINTER (i * i));
  ir_large_table_insert (table, GUINT_TO_POINTER (7), GUINT_TO_POINTER (1));
  g_assert_cmpuint (ir_large_table_size (table), ==, 1000);
  g_assert_true (ir_large_table_lookup (table, GUINT_TO_POINTER (31)) == GUINT_TO_POINTER (961));
  g_assert_true (ir_large_table_lookup (table, GUINT_TO_POINTER (7)) == GUINT_TO_POINTER (1));
  ir_large_table_remove (table, GUINT_TO_POINTER (31));
  ir_large_table_remove (table, GUINT_TO_POINTER (1001));
  g_assert_null (ir_large_table_lookup (table, GUINT_TO_POINTER (31)));
  g_assert_cmpuint (ir_large_table_size (table), ==, 999);
}

static gboolean
at_second_look (gpointer n_looks)
{
  return ++*(int *) n_looks == 2;
}

static void
test_strings (void)
{
  static Witness seen = WITNESS;
  const gint64 n = MANY;
  g_autofree GBytes **strings = g_new (GBytes *, MANY);
  g_autoptr (GBytes) word = g_bytes_new_static ("word", 4);
  int n_looks = 0;

  for (int i = 0; i < MANY; i++)
    strings[i] = word;
  g_assert_null (ir_tensor_new_strings_until (1, &n, strings, at_second_look, &n_looks));
  g_assert_cmpint (n_looks, ==, 2);
  g_autoptr (GBytes) last = g_bytes_new_with_free_func ("z", 1, witness, &seen);
  strings[MANY - 1] = last;
  IrTensor *tensor = ir_tensor_new_strings_until (1, &n, strings, at_second_look, &n_looks);
  g_assert_cmpint (n_looks, >, 4);
  g_assert_cmpuint (ir_tensor_n_bytes (tensor), ==, 4 * (MANY - 1) + 1);
  g_clear_pointer (&last, g_bytes_unref);
  ir_tensor_unref (tensor);
  g_assert_true (await (&seen) != g_thread_self ());
}

static void
test_long_strings (void)
{
  static Witness seen = WITNESS;
  const gint64 n = 2;
  GBytes *strings[2];

  for (guint i = 0; i < 2; i++) /* nobody reads them */
    strings[i] = g_bytes_new_with_free_func ("z", (gsize) 1 << 29, i == 1 ? witness : NULL, &seen);
  IrTensor *tensor = ir_tensor_new_strings (1, &n, strings);
  g_bytes_unref (strings[0]);
  g_bytes_unref (strings[1]);
  ir_tensor_unref (tensor);
  g_assert_true (await (&seen) != g_thread_self ());
}

static void
test_items (void)
{
  static Witness seen = WITNESS;
  const gint64 one = 1;
  g_autofree IrTensor **items = g_new (IrTensor *, MANY);
  g_autoptr (IrTensor) item = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 1);
  g_autoptr (GBytes) bytes = g_bytes_new_with_free_func ("1234", 4, witness, &seen);
  g_autoptr (IrTensor) last = ir_tensor_new (IR_DTYPE_FLOAT, 1, &one, bytes);
  int n_looks = 0;

  for (int i = 0; i < MANY; i++)
    items[i] = item;
  g_assert_null (ir_tensor_new_sequence_until (NULL, items, MANY, at_second_look, &n_looks));
  g_assert_cmpint (n_looks, ==, 2);
  items[MANY - 1] = last;
  IrTensor *sequence = ir_tensor_new_sequence_until (NULL, items, MANY, at_second_look, &n_looks);
  g_assert_cmpuint (ir_tensor_n_items (sequence), ==, MANY);
  g_clear_pointer (&last, ir_tensor_unref);
  g_clear_pointer (&bytes, g_bytes_unref);
  ir_tensor_unref (sequence);
  g_assert_true (await (&seen) != g_thread_self ());
}

static void
test_hash (void)
{
  const gint64 n = 2;
  g_autofree char *text = g_malloc0 (6000000);
  g_autoptr (GBytes) string = g_bytes_new_static (text, 6000000);
  g_autoptr (IrTensor) strings = ir_tensor_new_strings (1, &n, (GBytes *[]){ string, string });
  g_autoptr (IrTensor) sequence = ir_tensor_new_sequence (NULL, &strings, 1);
  g_autoptr (IrTensor) again = ir_tensor_new_strings (1, &n, (GBytes *[]){ string, string });
  g_autoptr (IrTensor) other = ir_tensor_new_sequence (NULL, &again, 1);
  guint64 hash;
  int n_looks = 0;

  g_assert_false (ir_tensor_hash_until (sequence, at_second_look, &n_looks, &hash));
  g_assert_cmpint (n_looks, ==, 2);
  g_assert_true (ir_tensor_hash_until (sequence, at_second_look, &n_looks, &hash));
  g_assert_cmpint (n_looks, ==, 4); /* anew */
  g_assert_cmpuint (ir_tensor_hash (other), ==, hash);
}

static void
test_sparse (void)
{
  const gint64 n = MANY;
  g_autoptr (IrTensor) values = ir_tensor_new_alloc (IR_DTYPE_FLOAT, 1, &n, NULL),
                       places = ir_tensor_new_alloc (IR_DTYPE_INT64, 1, &n, NULL);
  g_autoptr (IrTensor) sparse = ir_tensor_new_sparse (1, &n, values, places);
  g_autoptr (GError) error = NULL;
  int n_looks = 0;

  g_assert_null (ir_tensor_densify_until (sparse, at_second_look, &n_looks, &error));
  g_assert_no_error (error);
  g_assert_cmpint (n_looks, ==, 2);
  g_autoptr (IrTensor) dense = ir_tensor_densify_until (sparse, at_second_look, &n_looks, &error);
  g_assert_cmpuint (ir_tensor_n_elements (dense), ==, MANY);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/release/many are given back by another thread", test_threads);
  g_test_add_func ("/release/arrays give back what they hold", test_arrays);
  g_test_add_func ("/release/large tables find what they hold", test_tables);
  g_test_add_func ("/release/strings are made and let go without waiting", test_strings);
  g_test_add_func ("/release/long strings are let go without waiting", test_long_strings);
  g_test_add_func ("/release/items of a sequence are made and let go without waiting", test_items);
  g_test_add_func ("/release/hashing stops, and is done anew", test_hash);
  g_test_add_func ("/release/sparse tensors become dense only as long as that is wanted",
                   test_sparse);
  return g_test_run ();
}
