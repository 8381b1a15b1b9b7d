/* What is not finite: the first such value in execution order that the derivative is computed from, and
 * where the infinity began that it came from.
 *
 * Sources: pytorch#160016 and #143658 (what a first NaN must come with), jax#1052 (0 times infinity
 * behind a choice). */
#include "config.h"

#include "core/op/op.h"
#include "passes/debug/explain-private.h"

#include <math.h>

static void
find_ancestors (const IrValue *value, GHashTable *nodes)
{
  g_autoptr (GPtrArray) waiting = g_ptr_array_new ();

  g_ptr_array_add (waiting, (gpointer) value);
  while (waiting->len > 0)
    {
      const IrValue *one = g_ptr_array_steal_index_fast (waiting, waiting->len - 1);
      if (one->producer == NULL || !g_hash_table_add (nodes, one->producer))
        continue;
      ir_node_for_each_input (one->producer, i, input)
        g_ptr_array_add (waiting, input);
    }
}

/* (nullable) The first value in execution order that has a NaN, or, with @infinite, an infinity that
 * was computed */
static const IrValue *
first_not_finite (const IrExplain *s, GHashTable *nodes, gboolean infinite)
{
  guint n;
  IrNode *const *order = ir_graph_order (s->model->main, &n);
  IrTensorStats stats;

  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < order[i]->n_outputs && g_hash_table_contains (nodes, order[i]); k++)
      if (order[i]->outputs[k] != NULL && order[i]->n_inputs > 0 &&
          ir_value_constant (order[i]->outputs[k]) == NULL &&
          ir_explain_stats_of (s, order[i]->outputs[k], &stats) &&
          (stats.n_nan > 0 || (infinite && stats.n_pos_inf + stats.n_neg_inf > 0)))
        return order[i]->outputs[k];
  return NULL;
}

/* (nullable) What has a NaN before any node: an input or a parameter */
static const IrValue *
given_nan (const IrExplain *s, GHashTable *nodes)
{
  GHashTableIter iter;
  gpointer node;
  IrTensorStats stats;

  g_hash_table_iter_init (&iter, nodes);
  while (g_hash_table_iter_next (&iter, &node, NULL))
    ir_node_for_each_input ((const IrNode *) node, i, input)
      if (input->producer == NULL && ir_explain_stats_of (s, input, &stats) && stats.n_nan > 0)
        return input;
  return NULL;
}

static gint64
place_of (const IrTensor *tensor, gboolean infinite)
{
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      double x = ir_tensor_get_double (tensor, i);
      if (isnan (x) || (infinite && isinf (x)))
        return (gint64) i;
    }
  return -1;
}

/* (nullable) The input of @node that is -inf in all of the row of which @out is NaN at @at: it was masked
 * whole, and the node divides by the sum of its exponentials, 0 */
static const IrValue *
masked_row (const IrExplain *s, const IrNode *node, const IrTensor *out, gint64 at)
{
  const gint64 rank = ir_tensor_rank (out), attr = ir_node_attr_int (node, "axis", -1),
               axis = attr < 0 ? attr + rank : attr;
  gint64 inner = 1;

  if (axis < 0 || axis >= rank || (node->op->flags & IR_OP_ELEMENTWISE) != 0)
    return NULL;
  for (gint64 i = axis + 1; i < rank; i++)
    inner *= ir_tensor_dims (out)[i];
  const gint64 n = ir_tensor_dims (out)[axis], first = at / (inner * n) * inner * n + at % inner;
  ir_node_for_each_input (node, i, input)
    {
      const IrTensor *tensor = ir_explain_tensor_of (s, input);
      gint64 k = 0;
      if (tensor == NULL || !ir_dtype_is_float (ir_tensor_dtype (tensor)) ||
          ir_tensor_n_elements (tensor) != ir_tensor_n_elements (out))
        continue;
      while (k < n && ir_tensor_get_double (tensor, (guint64) (first + k * inner)) == -INFINITY)
        k++;
      if (k == n)
        return input;
    }
  return NULL;
}

/* What was computed there: "0 · ∞", and so on, by the operands alone */
static char *
cause_of (const IrExplain *s, const IrNode *node, const IrTensor *out, gint64 at)
{
  g_autoptr (GString) operands = g_string_new (NULL);
  guint n_zero = 0, n_infinite = 0, n = 0;

  if (node->op == NULL || (node->op->flags & IR_OP_ELEMENTWISE) == 0)
    {
      IrTensorStats stats;
      const IrValue *masked = node->op != NULL ? masked_row (s, node, out, at) : NULL;
      if (masked != NULL)
        return g_strdup_printf (
            "all of that row of %s is -inf, it is masked whole, and %s divides by a "
            "sum of 0: leave one element of each row, or mask by a large number",
            masked->name, node->op_type);
      ir_node_for_each_input (node, i, input)
        if (ir_explain_stats_of (s, input, &stats) && stats.n_neg_inf > 0)
          return g_strdup_printf ("%s has %" G_GUINT64_FORMAT
                                  " elements -inf: a row of nothing else is masked whole",
                                  input->name, stats.n_neg_inf);
      g_autofree char *range = ir_explain_range_of (s, ir_node_input (node, 0));
      return g_strdup_printf ("its first input is %s", range);
    }
  ir_node_for_each_input (node, i, input)
    {
      const IrTensor *tensor = ir_explain_tensor_of (s, input);
      if (tensor == NULL || ir_tensor_rank (tensor) > ir_tensor_rank (out) ||
          !ir_dtype_is_float (ir_tensor_dtype (tensor)))
        continue;
      const double x = ir_explain_operand_at (out, tensor, at);
      n_zero += x == 0;
      n_infinite += isinf (x) != 0;
      g_string_append_printf (operands, "%s%g", n++ > 0 ? ", " : "", x);
    }
  return g_strdup_printf ("%s of %s%s", node->op_type, operands->str,
                          n_zero > 0 && n_infinite > 0 ? ", which is 0 times infinity"
                          : n_zero > 1                 ? ", which is 0 by 0"
                          : n_infinite > 1             ? ", which is infinity and infinity"
                          : n_infinite == 0 && n_zero == 0 && n == 1
                              ? ", where it is not defined or overflows"
                              : "");
}

/* (nullable) A choice that reads what @node gives: what was not chosen still has a slope */
static const IrNode *
choice_behind (const IrNode *node)
{
  for (guint k = 0; k < node->n_outputs; k++)
    for (guint i = 0; node->outputs[k] != NULL && i < node->outputs[k]->n_uses; i++)
      {
        const IrNode *reader = ir_value_use (node->outputs[k], i).node;
        if (reader != NULL && ir_explain_kind_of_block (reader) == IR_GRADIENT_MASKED &&
            (reader->op->flags & IR_OP_ELEMENTWISE) != 0)
          return reader;
      }
  return NULL;
}

static gboolean
has_infinity (const IrExplain *s, const IrValue *value)
{
  IrTensorStats stats;

  return value->producer != NULL && value->producer->n_inputs > 0 &&
         ir_value_constant (value) == NULL && ir_explain_stats_of (s, value, &stats) &&
         stats.n_pos_inf + stats.n_neg_inf > 0;
}

/* (nullable) The computed value in which the infinity began that an input of @node has */
static const IrValue *
where_infinite (const IrExplain *s, const IrNode *node)
{
  const IrValue *found = NULL;

  for (gboolean more = TRUE; more;)
    {
      more = FALSE;
      ir_node_for_each_input (node, i, input)
        if (!more && has_infinity (s, input))
          {
            found = input;
            more = TRUE;
          }
      node = more ? found->producer : node;
    }
  return found;
}

static gint64
sample_of (const IrTensor *tensor, gint64 at)
{
  gint64 row = 1;

  for (guint i = 1; i < ir_tensor_rank (tensor); i++)
    row *= ir_tensor_dims (tensor)[i];
  return ir_tensor_rank (tensor) > 0 ? at / row : -1;
}

/* Whether the first axis of @tensor counts samples, as that of an input does */
static gboolean
has_samples (const IrExplain *s, const IrTensor *tensor)
{
  const IrGraph *graph = s->model->main;

  for (guint i = 0; i < ir_graph_n_inputs (graph) && ir_tensor_rank (tensor) > 1; i++)
    {
      const IrValue *input = ir_graph_input (graph, i);
      const IrTensor *given = input->initializer == NULL ? ir_explain_tensor_of (s, input) : NULL;
      if (given != NULL && !ir_tensor_is_container (given) && ir_tensor_rank (given) > 1 &&
          ir_tensor_dims (given)[0] == ir_tensor_dims (tensor)[0])
        return TRUE;
    }
  return FALSE;
}

static char *
place_text (const IrExplain *s, const IrTensor *tensor, gint64 at)
{
  return has_samples (s, tensor)
             ? g_strdup_printf ("element %" G_GINT64_FORMAT ", of sample %" G_GINT64_FORMAT, at,
                                sample_of (tensor, at))
             : g_strdup_printf ("element %" G_GINT64_FORMAT, at);
}

/* A choice behind it does not help: 0 times a slope that is not finite is NaN. */
static char *
advice_for (const IrNode *node)
{
  const IrNode *choice = choice_behind (node);

  if (choice == NULL)
    return g_strdup ("");
  g_autofree char *label = ir_node_label (node), *behind = ir_node_label (choice);
  return g_strdup_printf (
      " %s does not choose that element, but 0 times a slope that is not finite "
      "is NaN: the pass guard-where gives %s a harmless input there.",
      behind, label);
}

static const char *
role_of (const IrExplain *s, const IrNode *node)
{
  return ir_explain_written_node (s, node) != node ? "the derivative of" : "what is computed by";
}

static void
say_first (IrExplain *s, const IrValue *first, gboolean infinite, double share, const char *then)
{
  const IrTensor *tensor = ir_explain_tensor_of (s, first);
  const gint64 at = place_of (tensor, infinite);
  const IrNode *node = ir_explain_written_node (s, first->producer);
  g_autofree char *label = ir_node_label (node), *cause = cause_of (s, first->producer, tensor, at);
  g_autofree char *advice = advice_for (node), *place = place_text (s, tensor, at),
                  *range = ir_explain_range_of (s, ir_node_input (node, 0));

  s->reason->sample = sample_of (tensor, at);
  ir_explain_say (s, IR_GRADIENT_NON_FINITE, node, share,
                  "The first %s is in %s %s, at %s: %s. The input of %s is %s.%s%s",
                  infinite ? "infinity" : "NaN", role_of (s, first->producer), label, place, cause,
                  label, range, then, advice);
}

void
ir_explain_not_finite (IrExplain *s)
{
  g_autoptr (GHashTable) nodes = g_hash_table_new (NULL, NULL);
  IrTensorStats stats;

  find_ancestors (s->gradient, nodes);
  const IrValue *given = given_nan (s, nodes);
  if (given != NULL)
    {
      ir_explain_say (s, IR_GRADIENT_NON_FINITE, NULL, 1, "%s has NaN itself, before any node.",
                      given->name);
      return;
    }
  const gboolean is_nan = ir_explain_stats_of (s, s->gradient, &stats) && stats.n_nan > 0;
  const double share = stats.n == 0
                           ? 1
                           : (double) (stats.n_nan + stats.n_pos_inf + stats.n_neg_inf) / stats.n;
  const IrValue *first = first_not_finite (s, nodes, !is_nan);
  if (first == NULL)
    return;
  const IrTensor *tensor = ir_explain_tensor_of (s, first);
  const IrValue *origin = where_infinite (s, first->producer);
  if (origin == NULL ||
      (is_nan && masked_row (s, first->producer, tensor, place_of (tensor, FALSE)) != NULL))
    {
      say_first (s, first, !is_nan, share, "");
      return;
    }
  g_autofree char *label = ir_node_label (ir_explain_written_node (s, first->producer));
  g_autofree char *then = g_strdup_printf (" It becomes NaN in %s %s.",
                                           role_of (s, first->producer), label);
  say_first (s, origin, TRUE, share, is_nan ? then : "");
}
