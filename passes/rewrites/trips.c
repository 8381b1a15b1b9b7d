/* How often a Loop runs, as far as the graph says it: by its limit, and by a condition that can
 * never end it. */
#include "config.h"

#include "passes/rewrites/trips.h"

#include "core/op/op.h"

/**
 * ir_pass_constant_element:
 * @value: (nullable): a value
 * @element: (out): its one element, as a number
 *
 * Returns: %TRUE if @value is a constant of one element, int64 or bool
 */
gboolean
ir_pass_constant_element (const IrValue *value, gint64 *element)
{
  const IrTensor *tensor = value != NULL ? ir_value_constant (value) : NULL;

  if (tensor == NULL || ir_tensor_n_elements (tensor) != 1 ||
      (ir_tensor_dtype (tensor) != IR_DTYPE_BOOL && ir_tensor_dtype (tensor) != IR_DTYPE_INT64))
    return FALSE;
  *element = ir_tensor_get_int64 (tensor, 0);
  return TRUE;
}

/**
 * ir_pass_is_true_inside:
 * @body: the body of a Loop
 * @value: (nullable): a value of it
 *
 * Returns: %TRUE if @value is true whenever the body runs: a constant, or the condition by which it runs
 */
gboolean
ir_pass_is_true_inside (const IrGraph *body, const IrValue *value)
{
  gint64 element;

  while (value != NULL && value->producer != NULL && ir_op_is (value->producer, IR_OP_IDENTITY))
    value = ir_node_input (value->producer, 0);
  return value != NULL && (value == ir_graph_input (body, 1) ||
                           (ir_pass_constant_element (value, &element) && element != 0));
}

static gboolean
draws (const IrGraph *graph, gboolean with_calls)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);
  gboolean found = FALSE;

  for (guint i = 0; i < n && !found; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes[i]);

      found = nodes[i]->op != NULL && (nodes[i]->op->flags & IR_OP_RANDOM) != 0 &&
              (with_calls || !ir_op_is (nodes[i], IR_OP_CLOSURE_CALL));
      for (guint k = 0; k < inner->len && !found; k++)
        found = draws (inner->pdata[k], with_calls);
    }
  return found;
}

/**
 * ir_pass_draws:
 * @graph: a graph
 *
 * Returns: %TRUE if some node of it, or of the graphs inside it, draws random numbers, which depend on names
 */
gboolean
ir_pass_draws (const IrGraph *graph)
{
  return draws (graph, TRUE);
}

/**
 * ir_pass_draws_itself:
 * @graph: a graph
 *
 * As ir_pass_draws(), but what functions draw that closures call, under names of their own, does not count.
 */
gboolean
ir_pass_draws_itself (const IrGraph *graph)
{
  return draws (graph, FALSE);
}

/**
 * ir_pass_stacked_type:
 * @context: where types live
 * @row: (nullable): type of what each iteration gives
 * @axis: of the result: where the new axis is; negative: from the end
 *
 * Returns: (nullable): type of all of them behind each other; %NULL if the rank is not known, or the axis does not fit
 */
const IrType *
ir_pass_stacked_type (IrContext *context, const IrType *row, gint64 axis)
{
  const int rank = ir_type_is_tensor (row) && ir_type_has_rank (row) ? row->rank + 1 : 0;
  IrDim dims[IR_MAX_RANK];

  axis = axis < 0 ? axis + rank : axis;
  if (rank < 1 || rank > IR_MAX_RANK || axis < 0 || axis >= rank)
    return NULL;
  for (int i = 0; i < rank; i++)
    dims[i] = i == axis ? IR_DIM_UNKNOWN : row->dims[i > axis ? i - 1 : i];
  return ir_type_tensor (context, row->dtype, rank, dims);
}
