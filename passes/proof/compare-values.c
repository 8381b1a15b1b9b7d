/* Both graphs run on the same inputs, those of the same name or else the same place. What paired
 * nodes give is compared in the order of execution, so that the first that differs is where a
 * difference begins. Linear in nodes and elements. */
#include "config.h"

#include "passes/proof/compare-values.h"

/* Part of the largest value up to which a difference is taken for rounding of several steps. */
#define ROUNDING 1e-3

/* -- inputs -- */

static const IrTensor *
given_for (const IrModel *from, const IrModel *to, guint place, GHashTable *inputs)
{
  const IrValue *wanted = ir_graph_input (to->main, place);
  const IrValue *value = ir_graph_find_value (from->main, wanted->name);

  if (value == NULL || !ir_value_is_graph_input (value))
    value = place < ir_graph_n_inputs (from->main) ? ir_graph_input (from->main, place) : NULL;
  return value != NULL ? g_hash_table_lookup (inputs, GUINT_TO_POINTER (value->id)) : NULL;
}

static gboolean
fits (const IrTensor *tensor, const IrType *type)
{
  if (tensor == NULL || !ir_type_is_tensor (type) || type->dtype != ir_tensor_dtype (tensor))
    return FALSE;
  for (int i = 0; ir_type_has_rank (type) && i < type->rank; i++)
    if ((guint) type->rank != ir_tensor_rank (tensor) ||
        (ir_dim_is_known (type->dims[i]) && type->dims[i] != ir_tensor_dims (tensor)[i]))
      return FALSE;
  return TRUE;
}

/**
 * ir_matching_inputs:
 * @from: a model
 * @inputs: value id -> #IrTensor: what @from is run on
 * @to: another model
 * @seed: of what @from has nothing for
 * @bindings: (nullable): symbol name -> #gint64 *: sizes of symbolic dims
 * @error: return location for an error
 *
 * Gives each input of @to what the input of @from of the same name, or else of the same place, has,
 * where its type takes that; the rest is random.
 *
 * Returns: (transfer full) (nullable): value id of @to -> #IrTensor; %NULL as ir_random_inputs()
 * does
 */
GHashTable *
ir_matching_inputs (const IrModel *from,
                    GHashTable *inputs,
                    IrModel *to,
                    guint64 seed,
                    GHashTable *bindings,
                    GError **error)
{
  g_autoptr (GHashTable)
      given = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  GHashTable *all;
  GHashTableIter iter;
  gpointer id, tensor;

  for (guint i = 0; i < ir_graph_n_inputs (to->main); i++)
    {
      const IrTensor *found = given_for (from, to, i, inputs);
      const IrValue *value = ir_graph_input (to->main, i);

      if (fits (found, value->type))
        g_hash_table_insert (given, GUINT_TO_POINTER (value->id),
                             ir_tensor_ref ((IrTensor *) found));
    }
  all = ir_random_inputs_beside (to, seed, bindings, given, error);
  g_hash_table_iter_init (&iter, given);
  while (all != NULL && g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_replace (all, id, ir_tensor_ref (tensor));
  return all;
}

/* -- running -- */

typedef struct
{
  const IrCompareValuesOptions *options;
  gboolean of_b;
} Side;

static void
on_node (guint done, guint total, const IrNode *node, gpointer data)
{
  const Side *side = data;

  side->options->progress (side->of_b, done, total, side->options->progress_data);
}

static IrRun *
run_side (IrModel *model, GHashTable *inputs, Side side, GCancellable *cancellable, GError **error)
{
  IrRunOptions options = side.options->run;

  options.capture = IR_CAPTURE_ALL;
  options.progress = side.options->progress != NULL ? on_node : NULL;
  options.progress_data = &side;
  return ir_model_run (model, inputs, &options, cancellable, error);
}

/* -- comparing -- */

static gboolean
is_rounding (const IrComparison *result, const IrTensor *a)
{
  return ir_dtype_is_float (ir_tensor_dtype (a)) && !result->non_finite_differs &&
         result->max_abs <= ROUNDING * result->scale;
}

static void
compare (IrComparedValues *self, const IrValue *a, const IrValue *b)
{
  IrComparedValue item = { 0 };
  const IrTensor *x, *y;

  if (a == NULL || b == NULL || g_hash_table_contains (self->by_a, GUINT_TO_POINTER (a->id)))
    return;
  x = ir_run_value (self->run_a, a->id);
  y = ir_run_value (self->run_b, b->id);
  if (x == NULL || y == NULL)
    return;
  item.a = a->id;
  item.b = b->id;
  item.is_output = ir_value_is_graph_output (a) && a->graph->kind == IR_GRAPH_MAIN;
  item.comparable = ir_tensors_compare (x, y, &item.result);
  item.differs = !item.comparable || !item.result.same;
  item.diverges = item.differs && (!item.comparable || !is_rounding (&item.result, x));
  self->n_differ += item.differs;
  self->n_diverge += item.diverges;
  g_array_append_val (self->items, item);
  g_hash_table_insert (self->by_a, GUINT_TO_POINTER (a->id), GUINT_TO_POINTER (self->items->len));
  g_hash_table_insert (self->by_b, GUINT_TO_POINTER (b->id), GUINT_TO_POINTER (self->items->len));
}

static void
compare_all (IrComparedValues *self, const IrDiff *diff, GCancellable *cancellable)
{
  const IrGraph *a = diff->a->main, *b = diff->b->main;

  for (guint i = 0; i < diff->nodes->len && !g_cancellable_is_cancelled (cancellable); i++)
    {
      const IrNodeDiff *item = &g_array_index (diff->nodes, IrNodeDiff, i);
      const IrNode *from = item->a != 0 ? ir_model_node (diff->a, item->a) : NULL;
      const IrNode *to = item->b != 0 ? ir_model_node (diff->b, item->b) : NULL;

      for (guint k = 0; from != NULL && to != NULL && k < MIN (from->n_outputs, to->n_outputs); k++)
        compare (self, from->outputs[k], to->outputs[k]);
    }
  for (guint i = 0; i < MIN (ir_graph_n_outputs (a), ir_graph_n_outputs (b)); i++)
    compare (self, ir_graph_output (a, i), ir_graph_output (b, i));
}

/**
 * ir_compare_values:
 * @diff: how the nodes of two models are paired
 * @inputs_a: value id -> #IrTensor: every input of the first
 * @inputs_b: value id -> #IrTensor: every input of the second, as of ir_matching_inputs()
 * @options: how to run
 * @cancellable: (nullable): asked while running and between nodes
 * @error: return location for an error
 *
 * Runs both models with every value kept, and compares the outputs of paired nodes, and the outputs
 * of the models by place.
 *
 * Returns: (transfer full) (nullable): the values, or %NULL with @error if one of the models does
 * not run to its end
 */
IrComparedValues *
ir_compare_values (const IrDiff *diff,
                   GHashTable *inputs_a,
                   GHashTable *inputs_b,
                   const IrCompareValuesOptions *options,
                   GCancellable *cancellable,
                   GError **error)
{
  g_autoptr (IrComparedValues) self = g_new0 (IrComparedValues, 1);

  self->a = ir_model_ref (diff->a);
  self->b = ir_model_ref (diff->b);
  self->items = g_array_new (FALSE, FALSE, sizeof (IrComparedValue));
  self->by_a = g_hash_table_new (NULL, NULL);
  self->by_b = g_hash_table_new (NULL, NULL);
  self->run_a = run_side (self->a, inputs_a, (Side){ options, FALSE }, cancellable, error);
  if (self->run_a == NULL)
    {
      g_prefix_error (error, "The first graph: ");
      return NULL;
    }
  self->run_b = run_side (self->b, inputs_b, (Side){ options, TRUE }, cancellable, error);
  if (self->run_b == NULL)
    {
      g_prefix_error (error, "The second graph: ");
      return NULL;
    }
  compare_all (self, diff, cancellable);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  return g_steal_pointer (&self);
}

/**
 * ir_compared_values_free:
 * @values: (transfer full): what ir_compare_values() returned
 */
void
ir_compared_values_free (IrComparedValues *values)
{
  g_clear_pointer (&values->run_a, ir_run_unref);
  g_clear_pointer (&values->run_b, ir_run_unref);
  g_clear_pointer (&values->items, g_array_unref);
  g_clear_pointer (&values->by_a, g_hash_table_unref);
  g_clear_pointer (&values->by_b, g_hash_table_unref);
  g_clear_pointer (&values->a, ir_model_unref);
  g_clear_pointer (&values->b, ir_model_unref);
  g_free (values);
}

/* -- reading -- */

/**
 * ir_compared_values_first:
 * @diverging: whether differences up to rounding are passed over
 *
 * Returns: (transfer none) (nullable): the first value, in the order of execution, that differs
 */
const IrComparedValue *
ir_compared_values_first (const IrComparedValues *values, gboolean diverging)
{
  for (guint i = 0; i < values->items->len; i++)
    {
      const IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);

      if (diverging ? item->diverges : item->differs)
        return item;
    }
  return NULL;
}

static gboolean
is_worse (const IrComparedValue *x, const IrComparedValue *y)
{
  if (x->comparable != y->comparable)
    return !x->comparable;
  if (x->result.non_finite_differs != y->result.non_finite_differs)
    return x->result.non_finite_differs;
  if (x->result.max_abs != y->result.max_abs)
    return x->result.max_abs > y->result.max_abs;
  return x < y; /* the order of execution */
}

static int
compare_badness (gconstpointer a, gconstpointer b)
{
  const IrComparedValue *x = *(const IrComparedValue *const *) a;
  const IrComparedValue *y = *(const IrComparedValue *const *) b;

  return x == y ? 0 : is_worse (x, y) ? -1 : 1;
}

/**
 * ir_compared_values_worst:
 *
 * Returns: (transfer container) (element-type IrComparedValue): those that differ, largest first:
 *   what cannot be compared, what is not finite on one side, then by the difference
 */
GPtrArray *
ir_compared_values_worst (const IrComparedValues *values)
{
  GPtrArray *worst = g_ptr_array_new ();

  for (guint i = 0; i < values->items->len; i++)
    {
      IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);

      if (item->differs)
        g_ptr_array_add (worst, item);
    }
  g_ptr_array_sort (worst, compare_badness);
  return worst;
}
