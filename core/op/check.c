/* The checker. What it finds is kept in the node, together with the state of what all nodes depend
 * on; the edit takes it away from each node that a change can matter to (core/ir/record.c). Copies
 * of a model have what was found in the original. */
#include "config.h"

#include "core/op/check.h"

enum
{
  IS_VALID = 1,
  IS_INVALID = 2,
  FOUND_BITS = 2
};

static gboolean
has_contents (const IrValue *value)
{
  return value->producer != NULL || value->initializer != NULL || ir_value_is_graph_input (value);
}

static gboolean
check_container (
    const IrCall *call, const char *what, guint slot, const IrValue *value, GError **error)
{
  if (!ir_type_is_container (value->type))
    return TRUE;
  g_autofree char *type = ir_type_to_string (call->context, value->type);
  return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "%s %u (%s) is %s; a tensor is needed", what,
                       slot, value->name, type);
}

/* What is read is somewhere, and kinds are those that the operator takes and gives. */
static gboolean
check_values (const IrCall *call, GError **error)
{
  const IrNode *node = call->node;
  gboolean tensors = (node->op->flags & (IR_OP_CONTAINERS | IR_OP_SUBGRAPHS)) == 0;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *value = node->inputs[i];
      if (value == NULL)
        continue;
      if (!has_contents (value))
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "input %u (%s) has no contents: no node computes it, it is no input "
                             "of the graph, and no data of an initializer could be read",
                             i, value->name);
      if (tensors && !check_container (call, "input", i, value, error))
        return FALSE;
    }
  for (guint i = 0; tensors && i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && !check_container (call, "output", i, node->outputs[i], error))
      return FALSE;
  return TRUE;
}

/* Its attributes are given by the call of the function around it. */
static gboolean
is_open (const IrNode *node)
{
  for (guint i = 0; i < node->n_attrs; i++)
    if (node->attrs[i]->ref_name != NULL)
      return TRUE;
  return FALSE;
}

/**
 * ir_node_check:
 * @node: a node
 * @error: return location for an error
 *
 * Compares @node with the row of its operator: number of inputs and outputs, those that are needed,
 * attributes, and whether inputs come from somewhere and are tensors where tensors are needed.
 * Operators without a row, and nodes whose attributes are up to a call, have nothing to compare.
 *
 * Fails with an %IR_OP_ERROR whose message begins with the label of @node.
 *
 * Returns: whether it fits
 */
gboolean
ir_node_check (const IrNode *node, GError **error)
{
  IrCall call;

  g_return_val_if_fail (node != NULL, FALSE);
  if (node->op == NULL || node->graph == NULL)
    return TRUE;
  ir_call_layout (&call, node);
  gboolean fits = check_values (&call, error);
  if (fits && !is_open (node))
    {
      ir_call_adapt (&call);
      fits = ir_call_check (&call, error);
    }
  ir_call_clear (&call);
  return fits;
}

/**
 * ir_node_is_valid:
 * @node: a node
 *
 * As ir_node_check(), which is asked only where something has changed since it was last. May be
 * called from several threads where the model is frozen.
 *
 * Returns: whether @node fits the row of its operator
 */
gboolean
ir_node_is_valid (const IrNode *node)
{
  g_return_val_if_fail (node != NULL, FALSE);
  if (node->op == NULL || node->graph == NULL)
    return TRUE;
  guint32 state = node->graph->model->checks << FOUND_BITS;
  guint32 kept = __atomic_load_n (&node->checked, __ATOMIC_RELAXED);

  if (kept != (state | IS_VALID) && kept != (state | IS_INVALID))
    {
      kept = state | (ir_node_check (node, NULL) ? IS_VALID : IS_INVALID);
      __atomic_store_n (&((IrNode *) node)->checked, kept, __ATOMIC_RELAXED);
    }
  return kept == (state | IS_VALID);
}

/**
 * ir_node_valid_op:
 * @node: a node
 *
 * Returns: (transfer none) (nullable): the row of its operator; %NULL if there is none, or if @node
 *   does not fit it
 */
const IrOp *
ir_node_valid_op (const IrNode *node)
{
  return node->op != NULL && ir_node_is_valid (node) ? node->op : NULL;
}
