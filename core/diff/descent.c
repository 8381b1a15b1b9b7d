/* What became of what: nodes of both sides that lineage connects. Between steps it is that of the
 * history, through nodes that came and went in between; between files what one of them says that it
 * was made of. A node that is the same on both sides connects nothing. Nearly linear. */
#include "config.h"

#include "core/diff/diff-private.h"
#include "core/ir/history.h"

static void
free_descent (gpointer data)
{
  IrDescent *descent = data;

  g_array_unref (descent->a);
  g_array_unref (descent->b);
  g_free (descent);
}

/* -- disjoint sets of keys -- */

static guint
find (GHashTable *parents, guint key)
{
  guint parent = GPOINTER_TO_UINT (g_hash_table_lookup (parents, GUINT_TO_POINTER (key)));

  while (parent != 0)
    {
      const guint above = GPOINTER_TO_UINT (
          g_hash_table_lookup (parents, GUINT_TO_POINTER (parent)));

      if (above != 0) /* half the way next time */
        g_hash_table_insert (parents, GUINT_TO_POINTER (key), GUINT_TO_POINTER (above));
      key = parent;
      parent = above;
    }
  return key;
}

static void
join (GHashTable *parents, guint a, guint b)
{
  a = find (parents, a);
  b = find (parents, b);
  if (a != b)
    g_hash_table_insert (parents, GUINT_TO_POINTER (MAX (a, b)), GUINT_TO_POINTER (MIN (a, b)));
}

/* -- descents -- */

/* @key_a, @key_b: of ids on a side, which are the same where both sides have one history */
static void
fill (IrDiff *diff, GHashTable *parents, guint a_factor, guint b_offset)
{
  g_autoptr (GHashTable) descents = g_hash_table_new (NULL, NULL); /* root -> IrDescent */
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (free_descent);

  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *row = &g_array_index (diff->nodes, IrNodeDiff, i);
      const guint key = row->b != 0 ? row->b * a_factor + b_offset : row->a * a_factor;
      const guint root = find (parents, key);
      IrDescent *descent = g_hash_table_lookup (descents, GUINT_TO_POINTER (root));

      if (row->kind == IR_DIFF_SAME)
        continue;
      if (descent == NULL)
        {
          descent = g_new (IrDescent, 1);
          descent->a = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
          descent->b = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
          g_ptr_array_add (all, descent);
          g_hash_table_insert (descents, GUINT_TO_POINTER (root), descent);
        }
      if (row->a != 0)
        g_array_append_val (descent->a, row->a);
      if (row->b != 0)
        g_array_append_val (descent->b, row->b);
    }
  g_clear_pointer (&diff->descents, g_ptr_array_unref);
  diff->descents = g_ptr_array_new_with_free_func (free_descent);
  for (guint i = 0; i < all->len; i++)
    {
      IrDescent *descent = all->pdata[i];

      if (descent->a->len > 0 && descent->b->len > 0 && descent->a->len + descent->b->len > 2)
        {
          all->pdata[i] = NULL;
          g_ptr_array_add (diff->descents, descent);
        }
    }
  g_ptr_array_set_free_func (all, NULL);
  for (guint i = 0; i < all->len; i++)
    if (all->pdata[i] != NULL)
      free_descent (all->pdata[i]);
}

static gboolean
is_same (const IrDiff *diff, IrNodeId id)
{
  const IrNodeDiff *row = ir_diff_of_b (diff, id);

  return row != NULL && row->kind == IR_DIFF_SAME;
}

/**
 * ir_diff_add_descent:
 * @diff: the difference of two steps of @history
 * @history: a model with a history
 * @from: step of the one side
 * @to: step of the other
 *
 * Fills @diff->descents, by the lineage of the steps between.
 */
void
ir_diff_add_descent (IrDiff *diff, const IrModel *history, guint from, guint to)
{
  g_autoptr (GHashTable) parents = g_hash_table_new (NULL, NULL);

  for (guint step = MIN (from, to) + 1; step <= MAX (from, to); step++)
    {
      const GArray *pairs = ir_history_step (history, step)->nodes;

      for (guint i = 0; pairs != NULL && i < pairs->len; i++)
        {
          const IrIdPair pair = g_array_index (pairs, IrIdPair, i);

          if (pair.before != 0 && pair.after != 0 && pair.before != pair.after &&
              !is_same (diff, pair.before) && !is_same (diff, pair.after))
            join (parents, pair.before, pair.after);
        }
    }
  fill (diff, parents, 1, 0);
}

/* By what side b says that it was made of. */
void
ir_diff_add_descent_by_origin (IrDiff *diff, const IrPairing *p)
{
  g_autoptr (GHashTable) parents = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) by_name = ir_diff_index_nodes (p->a);

  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *row = &g_array_index (diff->nodes, IrNodeDiff, i);
      const IrOrigin *origin = row->b != 0 ? ir_origins_of (p->origins, row->b) : NULL;

      if (row->kind != IR_DIFF_SAME && row->a != 0 && row->b != 0)
        join (parents, row->a * 2, row->b * 2 + 1);
      for (guint k = 0; row->kind != IR_DIFF_SAME && origin != NULL && k < origin->nodes->len; k++)
        {
          const IrNode *node = g_hash_table_lookup (by_name, origin->nodes->pdata[k]);
          const IrNodeDiff *other = node != NULL ? ir_diff_of_a (diff, node->id) : NULL;

          if (other != NULL && other->kind != IR_DIFF_SAME)
            join (parents, node->id * 2, row->b * 2 + 1);
        }
    }
  fill (diff, parents, 2, 1);
}
