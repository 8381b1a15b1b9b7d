#include "config.h"

#include "core/exec/check/first-iteration.h"

/**
 * ir_first_iteration_clear:
 * @first: what ir_first_iteration_find() has filled in
 */
void
ir_first_iteration_clear (IrFirstIteration *first)
{
  g_free (first->frame);
  *first = (IrFirstIteration){ 0 };
}

/* Value id -> index + 1 of the first that @run has kept of it. (transfer full) */
static GHashTable *
places_of (const IrRun *run)
{
  GHashTable *places = g_hash_table_new (NULL, NULL);

  for (guint i = ir_run_n_iterations_kept (run); i > 0; i--)
    g_hash_table_insert (places, GUINT_TO_POINTER (ir_run_iteration (run, i - 1)->value),
                         GUINT_TO_POINTER (i));
  return places;
}

/* Loops may have other names on both sides; the nth time that a value was computed is the same. (nullable) */
static const IrKeptIteration *
nth_of (const IrRun *run, GHashTable *places, IrValueId value, guint n)
{
  const guint place = GPOINTER_TO_UINT (g_hash_table_lookup (places, GUINT_TO_POINTER (value)));
  const IrKeptIteration *kept = place > 0 && place - 1 + n < ir_run_n_iterations_kept (run)
                                    ? ir_run_iteration (run, place - 1 + n)
                                    : NULL;

  return kept != NULL && kept->value == value ? kept : NULL;
}

/**
 * ir_first_iteration_find:
 * @a: a run that has kept iterations
 * @b: another
 * @pairs: (element-type IrIdPair): values of @a, before, and of @b, after, that are the same value
 * @first: (out caller-allocates): the first of @b, in the order in which it ran, that differs in a bit
 */
void
ir_first_iteration_find (const IrRun *a,
                         const IrRun *b,
                         const GArray *pairs,
                         IrFirstIteration *first)
{
  g_autoptr (GHashTable) places_a = places_of (a), places_b = places_of (b);
  guint64 before = G_MAXUINT64;

  *first = (IrFirstIteration){ 0 };
  for (guint i = 0; i < pairs->len; i++)
    {
      const IrIdPair pair = g_array_index (pairs, IrIdPair, i);
      const IrKeptIteration *x, *y;

      for (guint n = 0; (y = nth_of (b, places_b, pair.after, n)) != NULL && y->order < before &&
                        (x = nth_of (a, places_a, pair.before, n)) != NULL;
           n++)
        {
          IrComparison result;
          const gboolean comparable = ir_tensors_compare (x->tensor, y->tensor, &result);

          if (comparable && result.same)
            continue;
          ir_first_iteration_clear (first);
          *first = (IrFirstIteration){ pair.before,  pair.after, g_strdup (y->frame),
                                       y->iteration, comparable, result };
          before = y->order;
          break;
        }
    }
}
