/* Where a graph begins to give something else than the graph that it was made of: both run on the same
 * inputs, and all values are judged, so that a run may be stopped at the first. */
#include "config.h"

#include "core/ir/history.h"
#include "passes/proof/compare-values.h"

static char *
describe (const IrComparedValues *values, const IrComparedValue *item)
{
  const IrValue *a = ir_model_value (values->a, item->a);

  if (!item->comparable)
    return g_strdup_printf ("it has another shape or type than %s of the original graph", a->name);
  if (item->result.non_finite_differs)
    return g_strdup_printf ("it is finite where %s of the original graph is not, or the other way",
                            a->name);
  return g_strdup_printf ("it differs from %s of the original graph by %.3g, more than rounding",
                          a->name, item->result.max_abs);
}

/**
 * ir_history_divergences:
 * @history: a model with steps
 * @step: the graph at which step is looked at
 * @inputs: value id -> #IrTensor: what it is run on
 * @options: how both are run; capture and control are not taken from it
 * @cancellable: (nullable): ends it
 * @error: return location for an error
 *
 * Fails as a run does.
 *
 * Returns: (transfer full) (nullable): value id at @step -> text, of each value that diverges
 */
GHashTable *
ir_history_divergences (IrModel *history,
                        guint step,
                        GHashTable *inputs,
                        const IrRunOptions *options,
                        GCancellable *cancellable,
                        GError **error)
{
  g_autoptr (IrModel) original = ir_history_snapshot (history, 0);
  g_autoptr (IrModel) now = ir_history_snapshot (history, step);
  g_autoptr (IrDiff) diff = ir_diff_new (original, now, TRUE);
  g_autoptr (GHashTable)
      before = ir_matching_inputs (now, inputs, original, options->seed, NULL, error);
  IrCompareValuesOptions how = { .run = *options };
  g_autoptr (IrComparedValues) values = NULL;
  GHashTable *found;

  how.run.control = NULL;
  how.run.chosen = NULL;
  how.run.worker = NULL;
  if (before != NULL)
    values = ir_compare_values (diff, before, inputs, &how, cancellable, error);
  if (values == NULL)
    return NULL;
  found = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  for (guint i = 0; i < values->items->len; i++)
    {
      const IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);

      if (item->diverges)
        g_hash_table_insert (found, GUINT_TO_POINTER (item->b), describe (values, item));
    }
  return found;
}
