/* Cost of nodes, from types alone: floating point operations (a multiply and an add count as two,
 * any function of one element counts as one) and bytes read and written. */
#include "config.h"

#include "core/op/infer-private.h"
#include "core/op/infer-util.h"
#include "core/op/rows.h"

static const IrType *
output_type (const IrCall *call, guint slot)
{
  return slot < call->n_outputs ? call->outputs[slot].type : NULL;
}

/* -- columns of the op table -- */

guint64
ir_cost_zero (const IrCall *call)
{
  return 0;
}

/* One operation per element of the output. */
guint64
ir_cost_elementwise (const IrCall *call)
{
  return ir_type_count (output_type (call, 0));
}

/* n - 1 operations per element of the output. */
guint64
ir_cost_variadic (const IrCall *call)
{
  return ir_mul_saturated (ir_type_count (output_type (call, 0)), MAX (call->n_inputs, 1) - 1);
}

/* One operation per element of the input. */
guint64
ir_cost_reduce (const IrCall *call)
{
  return ir_type_count (ir_call_input_type (call, 0));
}

/* Each element of the output is one of a product with the rows of the first input. */
guint64
ir_cost_by_rows (const IrCall *call)
{
  const IrType *type = ir_call_input_type (call, 0);
  const IrDim last = type != NULL && type->rank > 0 ? type->dims[type->rank - 1] : 1;

  return ir_mul_saturated (ir_cost_elementwise (call),
                           ir_dim_is_known (last) ? 2 * (guint64) last : 2);
}

/**
 * ir_cost_type_bytes:
 * @type: (nullable): a type
 *
 * Returns: bytes of a tensor of it, where sizes that are not known count as 1; 0 of what is no tensor
 */
guint64
ir_cost_type_bytes (const IrType *type)
{
  gsize bytes = 0;
  if (type == NULL || !ir_type_is_tensor (type) ||
      !ir_dtype_storage_bytes (type->dtype, ir_type_count (type), &bytes))
    return 0;
  return bytes;
}

static guint64
add_saturated (guint64 a, guint64 b)
{
  guint64 sum;
  return g_uint64_checked_add (&sum, a, b) ? sum : G_MAXUINT64;
}

/* What comes out is all that is touched: Shape reads no element. */
guint64
ir_cost_output_bytes (const IrCall *call)
{
  guint64 bytes = 0;
  for (guint i = 0; i < call->n_outputs; i++)
    bytes = add_saturated (bytes, ir_cost_type_bytes (call->outputs[i].type));
  return bytes;
}

/* Of the first input only as much is read as is written; the others (indices) are read whole. */
guint64
ir_cost_moved_bytes (const IrCall *call)
{
  guint64 written = ir_cost_output_bytes (call);
  guint64 bytes = add_saturated (written, written);
  for (guint i = 1; i < call->n_inputs; i++)
    bytes = add_saturated (bytes, ir_cost_type_bytes (ir_call_input_type (call, i)));
  return bytes;
}

/* -- calls -- */

static guint64
call_flops (const IrCall *call)
{
  return call->op != NULL && call->op->cost != NULL ? call->op->cost (call) : 0;
}

static guint64
call_bytes (const IrCall *call)
{
  if (call->op != NULL && call->op->bytes != NULL)
    return call->op->bytes (call);
  if (call->op != NULL && (call->op->flags & IR_OP_VIEW) != 0)
    return 0;
  guint64 bytes = ir_cost_output_bytes (call);
  for (guint i = 0; i < call->n_inputs; i++)
    bytes = add_saturated (bytes, ir_cost_type_bytes (ir_call_input_type (call, i)));
  return bytes;
}

static gboolean
call_is_partial (const IrCall *call)
{
  if (call->op == NULL)
    return TRUE;
  for (guint i = 0; i < call->n_inputs; i++)
    if (ir_call_has_input (call, i) &&
        (ir_call_input_type (call, i) == NULL || !ir_type_is_static (call->inputs[i].type)))
      return TRUE;
  for (guint i = 0; i < call->n_outputs; i++)
    if (call->outputs[i].present &&
        (call->outputs[i].type == NULL || !ir_type_is_static (call->outputs[i].type)))
      return TRUE;
  return FALSE;
}

typedef struct
{
  guint64 flops, bytes;
  gboolean partial;
} Sum;

static void
add_call (const IrCall *call, gpointer data)
{
  Sum *sum = data;
  sum->flops = add_saturated (sum->flops, call_flops (call));
  sum->bytes = add_saturated (sum->bytes, call_bytes (call));
  sum->partial |= call_is_partial (call);
}

/* An estimate may rely on what the file declares. */
static void
take_claims (IrCall *call)
{
  const IrNode *node = call->node;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && node->inputs[i]->claim != NULL)
      call->inputs[i].type = ir_value_shown_type (node->inputs[i]);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && node->outputs[i]->claim != NULL)
      call->outputs[i].type = ir_value_shown_type (node->outputs[i]);
}

static void
add_node (const IrNode *node, Sum *sum)
{
  if (node->op == NULL && ir_infer_visit_function (node, add_call, sum))
    return;
  IrCall call;
  ir_call_layout (&call, node);
  take_claims (&call);
  ir_call_adapt (&call);
  add_call (&call, sum);
  ir_call_clear (&call);
}

/**
 * ir_cost_node_flops:
 * @node: a node
 * @partial: (out) (optional): set to %TRUE if some size was not known and counted as 1; else left
 *   alone
 *
 * Operations of one execution. A control-flow node counts none of its own: the nodes of its graphs
 * do, once each. An application of a model-local function counts its body.
 *
 * Returns: multiplications, additions and functions of elements; saturates
 */
guint64
ir_cost_node_flops (const IrNode *node, gboolean *partial)
{
  Sum sum = { 0 };
  add_node (node, &sum);
  if (partial != NULL && sum.partial)
    *partial = TRUE;
  return sum.flops;
}

/**
 * ir_cost_node_bytes:
 * @node: a node
 * @partial: (out) (optional): set to %TRUE if some size was not known and counted as 1; else left
 *   alone
 *
 * Returns: bytes read and written in one execution; 0 where the output is a view
 */
guint64
ir_cost_node_bytes (const IrNode *node, gboolean *partial)
{
  Sum sum = { 0 };
  add_node (node, &sum);
  if (partial != NULL && sum.partial)
    *partial = TRUE;
  return sum.bytes;
}

/**
 * ir_cost_node:
 * @node: a node
 *
 * Returns: what ir_cost_node_flops() and ir_cost_node_bytes() give, and nothing else
 */
IrCost
ir_cost_node (const IrNode *node)
{
  Sum sum = { 0 };
  add_node (node, &sum);
  return (IrCost){ .flops = sum.flops, .bytes = sum.bytes };
}

/**
 * ir_cost_call:
 * @call: a call in canonical form, of an operator, with types
 * @flops: (out): as ir_cost_node_flops()
 * @bytes: (out): as ir_cost_node_bytes()
 *
 * Both at once, for those who have laid the call out already.
 */
void
ir_cost_call (const IrCall *call, guint64 *flops, guint64 *bytes)
{
  *flops = call_flops (call);
  *bytes = call_bytes (call);
}

/* Elements of initializers and of Constant nodes. */
static guint64
count_params (const IrModel *model)
{
  guint64 params = 0;
  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = g_ptr_array_index (model->values, i);
      if (value == NULL || value->state != IR_STATE_LIVE ||
          value->graph->kind == IR_GRAPH_FUNCTION || ir_value_is_default (value))
        continue;
      const IrTensor *tensor = value->initializer != NULL ? value->initializer
                                                          : ir_value_constant (value);
      if (tensor != NULL)
        params = add_saturated (params, ir_tensor_n_elements (tensor));
    }
  return params;
}

/**
 * ir_cost_model:
 * @model: a model
 * @partial: (out) (optional): set to %TRUE if some size was not known and counted as 1; else left
 *   alone
 *
 * Sums over all nodes of the main graph and of subgraphs, each once.
 *
 * Returns: the cost
 */
IrCost
ir_cost_model (const IrModel *model, gboolean *partial)
{
  Sum sum = { 0 };
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = g_ptr_array_index (model->nodes, i);
      if (node != NULL && node->state == IR_STATE_LIVE && node->graph->kind != IR_GRAPH_FUNCTION)
        add_node (node, &sum);
    }
  if (partial != NULL && sum.partial)
    *partial = TRUE;
  return (IrCost){ .flops = sum.flops,
                   .bytes = sum.bytes,
                   .params = count_params (model),
                   .n_nodes = ir_model_n_counted_nodes (model) };
}
