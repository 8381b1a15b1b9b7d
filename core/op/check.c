/* The checker. What it finds is kept in the node, together with the state of what all nodes depend
 * on; the edit takes it away from each node that a change can matter to (core/ir/record.c). Copies
 * of a model have what was found in the original. */
#include "config.h"

#include "core/op/check.h"

enum
{
  IS_VALID = 1,
  IS_MALFORMED,
  IS_MISTYPED,
  FOUND_BITS = 2,
  FOUND_MASK = (1 << FOUND_BITS) - 1
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

/* Lays out a call for inference, which fills in the outputs. */
static void
lay_out (IrCall *call, const IrNode *node)
{
  ir_call_layout (call, node);
  for (guint i = 0; i < call->n_outputs; i++)
    call->outputs[i].type = NULL;
}

static gboolean
check_form (IrCall *call, GError **error)
{
  if (!check_values (call, error))
    return FALSE;
  if (is_open (call->node))
    return TRUE;
  ir_call_adapt (call);
  return ir_call_check (call, error);
}

/* What inference says by the types of the inputs, by constants, and by what bodies give. Sizes that
 * are known as contents of shapes alone, node by node, are a matter of inference over the model. */
static gboolean
check_types (IrCall *call, GError **error)
{
  return is_open (call->node) || call->op->infer == NULL || call->op->infer (call, error);
}

/**
 * ir_node_check_form:
 * @node: a node
 * @error: return location for an error
 *
 * Compares @node with the row of its operator: number of inputs and outputs, those that are needed,
 * attributes, and whether inputs come from somewhere and are tensors where tensors are needed.
 * Operators without a row, and nodes whose attributes are up to a call, have nothing to compare.
 *
 * Fails with an %IR_OP_ERROR whose message begins with the label of @node.
 *
 * Returns: whether a kernel may be asked to run it
 */
gboolean
ir_node_check_form (const IrNode *node, GError **error)
{
  IrCall call;

  g_return_val_if_fail (node != NULL, FALSE);
  if (node->op == NULL || node->graph == NULL)
    return TRUE;
  lay_out (&call, node);
  gboolean fits = check_form (&call, error);
  ir_call_clear (&call);
  return fits;
}

/**
 * ir_node_check:
 * @node: a node
 * @error: return location for an error
 *
 * As ir_node_check_form(), and whether inference accepts the types that are known.
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
  lay_out (&call, node);
  gboolean fits = check_form (&call, error) && check_types (&call, error);
  ir_call_clear (&call);
  return fits;
}

static guint32
find_state (const IrNode *node)
{
  IrCall call;
  guint32 found = IS_MALFORMED;

  lay_out (&call, node);
  if (check_form (&call, NULL))
    found = check_types (&call, NULL) ? IS_VALID : IS_MISTYPED;
  ir_call_clear (&call);
  return found;
}

/* What is kept, if nothing has changed since; else it is found anew. */
static guint32
state_of (const IrNode *node)
{
  if (node->op == NULL || node->graph == NULL)
    return IS_VALID;
  guint32 state = node->graph->model->checks << FOUND_BITS;
  guint32 kept = __atomic_load_n (&node->checked, __ATOMIC_RELAXED);

  if ((kept & FOUND_MASK) == 0 || (kept & ~FOUND_MASK) != state)
    {
      kept = state | find_state (node);
      __atomic_store_n (&((IrNode *) node)->checked, kept, __ATOMIC_RELAXED);
    }
  return kept & FOUND_MASK;
}

/**
 * ir_node_is_well_formed:
 * @node: a node
 *
 * As ir_node_check_form(), which is asked only where something has changed since it was last. May be
 * called from several threads where the model is frozen.
 *
 * Returns: whether a kernel may be asked to run @node
 */
gboolean
ir_node_is_well_formed (const IrNode *node)
{
  g_return_val_if_fail (node != NULL, FALSE);
  return state_of (node) != IS_MALFORMED;
}

/**
 * ir_node_is_valid:
 * @node: a node
 *
 * As ir_node_check(), which is asked only where something has changed since it was last. May be
 * called from several threads where the model is frozen.
 *
 * Returns: whether @node fits the row of its operator, with the types that are known
 */
gboolean
ir_node_is_valid (const IrNode *node)
{
  g_return_val_if_fail (node != NULL, FALSE);
  return state_of (node) == IS_VALID;
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
