/* Differences that say the same, together. */
#include "config.h"

#include "core/diff/diff.h"

#include <string.h>

static void
group_free (gpointer data)
{
  IrDiffGroup *group = data;

  g_ptr_array_unref (group->changes);
  g_array_unref (group->items);
  g_free (group);
}

/* What a change says without the names of its place: two places may then say the same. */
static char *
change_in_common (const char *change)
{
  static const char *const local[] = { "input ", "output ", "name:", "scope:", "producer:" };
  const char *colon = strchr (change, ':'), *rules = strrchr (change, '(');

  if (g_str_has_prefix (change, "stands for:") && rules != NULL)
    return g_strdup_printf ("stands for others %s", rules);
  for (guint i = 0; i < G_N_ELEMENTS (local); i++)
    if (colon != NULL && g_str_has_prefix (change, local[i]))
      return g_strndup (change, colon - change);
  return g_strdup (change);
}

static void
add_to_group (GHashTable *index,
              GPtrArray *groups,
              IrDiffKind kind,
              gboolean of_values,
              const char *op,
              const GPtrArray *changes,
              guint item)
{
  g_autoptr (GPtrArray) common = g_ptr_array_new_with_free_func (g_free);
  GString *key = g_string_new (NULL);
  IrDiffGroup *group;

  g_string_append_printf (key, "%d %d %s", kind, of_values, op != NULL ? op : "");
  for (guint i = 0; changes != NULL && i < changes->len; i++)
    {
      g_ptr_array_add (common, change_in_common (changes->pdata[i]));
      g_string_append_printf (key, "\n%s", (char *) common->pdata[i]);
    }
  group = g_hash_table_lookup (index, key->str);
  if (group == NULL)
    {
      group = g_new0 (IrDiffGroup, 1);
      group->kind = kind;
      group->of_values = of_values;
      group->op = op;
      group->changes = g_steal_pointer (&common);
      group->items = g_array_new (FALSE, FALSE, sizeof (guint));
      g_ptr_array_add (groups, group);
      g_hash_table_insert (index, g_strdup (key->str), group);
    }
  g_array_append_val (group->items, item);
  g_string_free (key, TRUE);
}

static const char *
common_operator (const IrDiff *diff, const IrNodeDiff *item)
{
  const IrNode *a = item->a != 0 ? ir_model_node (diff->a, item->a) : NULL;
  const IrNode *b = item->b != 0 ? ir_model_node (diff->b, item->b) : NULL;

  if (a != NULL && b != NULL)
    return strcmp (a->op_type, b->op_type) == 0 ? b->op_type : NULL;
  return b != NULL ? b->op_type : a->op_type;
}

/* Largest first; of equal ones the one that comes first. */
static int
compare_groups (gconstpointer a, gconstpointer b)
{
  const IrDiffGroup *x = *(IrDiffGroup *const *) a, *y = *(IrDiffGroup *const *) b;
  guint i, k;

  if (x->items->len != y->items->len)
    return x->items->len < y->items->len ? 1 : -1;
  if (x->of_values != y->of_values)
    return x->of_values ? 1 : -1;
  i = g_array_index (x->items, guint, 0);
  k = g_array_index (y->items, guint, 0);
  return i < k ? -1 : i > k;
}

/**
 * ir_diff_groups:
 * @diff: a difference
 *
 * Sorts the nodes and values that differ by what differs: kind, operator and changes, but for the
 * names of neighbours and of themselves, which differ from place to place. Linear in their texts.
 *
 * Returns: (transfer full) (element-type IrDiffGroup): largest groups first; single ones too
 */
GPtrArray *
ir_diff_groups (const IrDiff *diff)
{
  g_autoptr (GHashTable) index = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GPtrArray *groups = g_ptr_array_new_with_free_func (group_free);

  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);

      if (item->kind != IR_DIFF_SAME)
        add_to_group (index, groups, item->kind, FALSE, common_operator (diff, item), item->changes,
                      i);
    }
  for (guint i = 0; i < diff->values->len; i++)
    {
      const IrValueDiff *item = &g_array_index (diff->values, IrValueDiff, i);

      if (item->kind != IR_DIFF_SAME)
        add_to_group (index, groups, item->kind, TRUE, NULL, item->changes, i);
    }
  g_ptr_array_sort (groups, compare_groups);
  return groups;
}

/* -- what is only called otherwise -- */

/**
 * ir_diff_is_renamed:
 * @kind: of a node or value
 * @changes: (element-type utf8): what changed of it
 *
 * Returns: whether nothing but names differs: its own, of its scope, of neighbours that are paired
 */
gboolean
ir_diff_is_renamed (IrDiffKind kind, const GPtrArray *changes)
{
  if (kind != IR_DIFF_CHANGED)
    return FALSE;
  for (guint i = 0; i < changes->len; i++)
    if (!g_str_has_prefix (changes->pdata[i], "name: ") &&
        !g_str_has_prefix (changes->pdata[i], "scope: "))
      return FALSE;
  return TRUE;
}

/**
 * ir_diff_group_is_renamed:
 * @diff: a difference
 * @group: of ir_diff_groups()
 *
 * Returns: ir_diff_is_renamed() of all that is in it
 */
gboolean
ir_diff_group_is_renamed (const IrDiff *diff, const IrDiffGroup *group)
{
  const guint first = g_array_index (group->items, guint, 0);

  return ir_diff_is_renamed (
      group->kind, group->of_values ? g_array_index (diff->values, IrValueDiff, first).changes
                                    : g_array_index (diff->nodes, IrNodeDiff, first).changes);
}

/**
 * ir_diff_n_renamed:
 * @diff: a difference
 *
 * Returns: of how many nodes nothing but names differs
 */
guint
ir_diff_n_renamed (const IrDiff *diff)
{
  guint n = 0;

  for (guint i = 0; i < diff->nodes->len; i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);
      n += ir_diff_is_renamed (item->kind, item->changes);
    }
  return n;
}
