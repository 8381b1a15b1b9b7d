/* Arenas: pages of every kind give zeroed, aligned memory that nothing else has. */
#include "config.h"

#include "core/ir/arena.h"

#include <string.h>

static void
assert_filled (const guint8 *memory, gsize n, guint8 byte)
{
  for (gsize i = 0; i < n; i++)
    g_assert_cmpuint (memory[i], ==, byte);
}

/* Small ones fill pages of all sizes, large ones get pages of their own, between and after. */
static void
test_memory (void)
{
  static const gsize sizes[] = { 0, 1, 15, 16, 17, 100, 5000, 70000, 1 << 20, 3 << 20 };
  IrArena *arena = ir_arena_new ();
  GPtrArray *taken = g_ptr_array_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (GArray) taken_sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  gsize total = 0;

  while (total < 24 << 20)
    {
      gboolean small = g_rand_int_range (rand, 0, 100) > 0;
      gsize size = sizes[g_rand_int_range (rand, 0, small ? 7 : (gint32) G_N_ELEMENTS (sizes))];
      guint8 *memory = ir_arena_alloc (arena, size);

      g_assert_cmpuint ((guintptr) memory % 16, ==, 0);
      assert_filled (memory, size, 0);
      memset (memory, (int) (taken->len % 255) + 1, size);
      g_ptr_array_add (taken, memory);
      g_array_append_val (taken_sizes, size);
      total += size;
    }
  for (guint i = 0; i < taken->len; i++)
    assert_filled (taken->pdata[i], g_array_index (taken_sizes, gsize, i), (guint8) (i % 255 + 1));
  g_assert_cmpuint (ir_arena_bytes (arena), >=, total);
  g_assert_cmpuint (ir_arena_bytes (arena), <, 2 * total);
  g_ptr_array_unref (taken);
  ir_arena_free (arena);
}

static void
test_copies (void)
{
  IrArena *arena = ir_arena_new ();
  char *copy = ir_arena_dup (arena, "irscope", 8);

  g_assert_cmpstr (copy, ==, "irscope");
  g_assert_nonnull (ir_arena_dup (arena, NULL, 0));
  ir_arena_free (arena);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/arena/memory is zeroed, aligned and not given twice", test_memory);
  g_test_add_func ("/arena/what is copied is there", test_copies);
  return g_test_run ();
}
