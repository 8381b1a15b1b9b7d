/* The context: interning, id lists, ownership, and use from several threads. */
#include "config.h"

#include "core/ir/context.h"

#include <string.h>

static void
test_strings (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  const char *first = ir_context_intern (context, "conv1");

  for (guint i = 0; i < 10000; i++)
    {
      g_autofree char *name = g_strdup_printf ("value_%u", i);
      ir_context_intern (context, name);
    }
  g_assert_true (ir_context_intern (context, "conv1") == first);
  g_assert_true (ir_context_intern_len (context, "conv12", 5) == first);
  g_assert_true (ir_context_intern_len (context, "conv1\0x", 7) == first);
  g_assert_true (ir_context_intern (context, "conv") != first);
  g_assert_true (ir_context_intern (context, NULL) == ir_context_intern (context, ""));
  g_assert_true (ir_context_has_string (context, "value_9999"));
  g_assert_false (ir_context_has_string (context, "value_10000"));
  g_assert_cmpstr (first, ==, "conv1");
}

static void
test_id_lists (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  const guint32 ids[] = { 3, 1, 2 };
  const IrIdList *list = ir_context_id_list (context, ids, 3);

  g_assert_true (ir_context_id_list (context, ids, 3) == list);
  g_assert_true (ir_context_id_list (context, ids, 2) != list);
  g_assert_true (ir_context_id_list (context, NULL, 0) == ir_context_id_list (context, ids, 0));
  g_assert_cmpuint (list->n, ==, 3);
  g_assert_cmpuint (list->ids[2], ==, 2);
}

static void
count_up (gpointer data)
{
  (*(guint *) data)++;
}

static void
test_ownership (void)
{
  IrContext *context = ir_context_new ();
  guint destroyed = 0;

  ir_context_own (context, &destroyed, count_up);
  ir_context_own (context, &destroyed, count_up);
  ir_context_own (context, NULL, count_up);
  ir_context_unref (ir_context_ref (context));
  g_assert_cmpuint (destroyed, ==, 0);
  ir_context_unref (context);
  g_assert_cmpuint (destroyed, ==, 2);
}

static void
test_memory (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  gsize before = ir_context_bytes (context);
  char *block = ir_context_alloc (context, 1 << 22);

  for (guint i = 0; i < 1 << 22; i += 4096)
    g_assert_cmpint (block[i], ==, 0);
  memset (block, 1, 1 << 22);
  g_assert_cmpuint (ir_context_bytes (context), >=, before + (1 << 22));
  g_assert_cmpstr (ir_context_dup (context, "abc", 4), ==, "abc");
}

static gpointer
intern_many (gpointer data)
{
  const char **result = g_new (const char *, 2000);
  for (guint i = 0; i < 2000; i++)
    {
      g_autofree char *name = g_strdup_printf ("shared %u", i);
      result[i] = ir_context_intern (data, name);
    }
  return result;
}

static void
test_threads (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  GThread *threads[4];
  const char **results[4];

  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new ("intern", intern_many, context);
  for (guint i = 0; i < 4; i++)
    results[i] = g_thread_join (threads[i]);
  for (guint i = 0; i < 4; i++)
    {
      g_assert_cmpmem (results[i], 2000 * sizeof (char *), results[0], 2000 * sizeof (char *));
      if (i > 0)
        g_free (results[i]);
    }
  g_free (results[0]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/context/equal strings are one pointer", test_strings);
  g_test_add_func ("/context/equal id lists are one pointer", test_id_lists);
  g_test_add_func ("/context/owned objects go with the last reference", test_ownership);
  g_test_add_func ("/context/memory is zeroed and counted", test_memory);
  g_test_add_func ("/context/several threads intern into one table", test_threads);
  return g_test_run ();
}
