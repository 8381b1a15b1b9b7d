/* FlexAttention: the graphs of the node see whole tensors of scores and of probabilities, so the
 * runner does the steps one after the other and runs the graphs between them. */
#include "config.h"

#include "core/exec/flow/subgraph-private.h"
#include "core/exec/ref/ref.h"

/* Replaces @tensor by what @graph makes of it; a node without the graph leaves it as it is. */
static gboolean
apply_graph (IrRunState *state, IrCall *call, const char *attr, IrTensor **tensor, GError **error)
{
  const IrGraph *graph = ir_node_attr_graph (call->node, attr);
  const IrValue *input, *output;

  if (graph == NULL)
    return TRUE;
  input = ir_graph_n_inputs (graph) == 1 ? ir_graph_input (graph, 0) : NULL;
  output = ir_graph_n_outputs (graph) == 1 ? ir_graph_output (graph, 0) : NULL;
  if (input == NULL || output == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "the graph %s must have one input and one output", attr);
  ir_run_state_set (state, input, *tensor);
  if (!ir_run_graph (state, graph, error))
    return FALSE;
  IrTensor *result = ir_run_state_tensor (state, output);
  if (result == NULL ||
      ir_tensor_type (result, call->context) != ir_tensor_type (*tensor, call->context))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "the graph %s gives another shape or element type than it gets", attr);
  IrTensor *copy = ir_tensor_copy (result, error);
  if (copy == NULL)
    return FALSE;
  ir_tensor_unref (*tensor);
  *tensor = copy;
  return TRUE;
}

static gboolean
attend (IrRunState *state, IrCall *call, GError **error)
{
  g_autoptr (IrTensor) scores = NULL;

  for (guint i = 0; i < call->n_inputs; i++)
    {
      const IrValue *value = call->node->inputs[i];
      const IrTensor *tensor = value != NULL ? ir_run_state_tensor (state, value) : NULL;
      if (tensor == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "input %u has no contents", i);
      ir_call_set_input (call, i, tensor);
    }
  if (!ir_call_check (call, error))
    return FALSE;
  scores = ir_ref_flex_attention_scores (call, error);
  return scores != NULL && apply_graph (state, call, "score_mod", &scores, error) &&
         ir_ref_flex_attention_softmax (call, scores, error) &&
         apply_graph (state, call, "prob_mod", &scores, error) &&
         ir_ref_flex_attention_output (call, scores, error);
}

static void
drop_values (IrRunState *state, const IrNode *node, const char *attr)
{
  const IrGraph *graph = ir_node_attr_graph (node, attr);
  IrValue *const *values = NULL;
  guint n_values = 0;

  if (graph != NULL)
    values = ir_graph_values (graph, &n_values);
  for (guint i = 0; i < n_values; i++)
    ir_run_state_drop (state, values[i]);
}

/* Source: ONNX FlexAttention 1 of ai.onnx.preview */
gboolean
ir_flex_attention_run (IrRunState *state, const IrNode *node, GError **error)
{
  g_autoptr (GError) local = NULL;
  IrCall call;

  ir_call_init (&call, node);
  ir_run_enter_call (state, &call, state->threads, NULL);
  gboolean done = attend (state, &call, &local);
  if (done && node->outputs[0] != NULL)
    done = ir_run_state_publish (state, node->outputs[0], call.outputs[0].tensor, &local);
  ir_call_clear (&call);
  drop_values (state, node, "score_mod");
  drop_values (state, node, "prob_mod");
  if (local != NULL)
    g_propagate_error (error, local->domain == IR_OP_ERROR
                                  ? ir_exec_error_from_kernel (node, g_steal_pointer (&local))
                                  : g_steal_pointer (&local));
  return done;
}
