/* What a graph says of loops: constants, random numbers, what iterations stack. */
#include "config.h"

#include "passes/rewrites/trips.h"

#include "core/op/op.h"

/* (nullable) @value: a constant of one element, int64 or bool, gives it as a number. */
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

/* Random numbers depend on names. */
gboolean
ir_pass_draws (const IrGraph *graph)
{
  return draws (graph, TRUE);
}

/* What functions draw that closures call, under names of their own, does not count. */
gboolean
ir_pass_draws_itself (const IrGraph *graph)
{
  return draws (graph, FALSE);
}

/* (nullable) @axis: of the result; negative: from the end. %NULL if the rank is not known, or the axis does not fit */
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
