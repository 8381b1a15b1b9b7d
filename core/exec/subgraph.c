/* Control flow: operators that own subgraphs are executed by the runner itself. A subgraph sees the
 * values around it, and all graphs share one id space, so its nodes simply run in the same state.
 */
#include "config.h"

#include "core/exec/runner-private.h"

#define MAX_DEPTH 64 /* of subgraphs in subgraphs; more is hostile */

/**
 * ir_subgraph_runs:
 * @node: a node that owns subgraphs
 *
 * Returns: whether the runner can execute it
 */
gboolean
ir_subgraph_runs (const IrNode *node)
{
  return ir_node_is (node, "If");
}

static void
drop_values (IrRunState *state, const IrGraph *graph)
{
  guint n_values;
  IrValue *const *values = ir_graph_values (graph, &n_values);

  for (guint i = 0; i < n_values; i++)
    ir_run_state_drop (state, values[i]);
}

static gboolean
fail (const IrNode *node, GError **error, IrExecErrorCode code, const char *message)
{
  g_autofree char *label = ir_node_label (node);

  g_set_error (error, IR_EXEC_ERROR, code, "%s: %s", label, message);
  return FALSE;
}

static gboolean
run_if (IrRunState *state, const IrNode *node, GError **error)
{
  const IrValue *condition = ir_node_input (node, 0);
  const IrTensor *tensor = condition != NULL ? ir_run_state_tensor (state, condition) : NULL;

  if (tensor == NULL || ir_tensor_n_elements (tensor) != 1 ||
      ir_tensor_dtype (tensor) != IR_DTYPE_BOOL)
    return fail (node, error, IR_EXEC_ERROR_KERNEL,
                 "the condition must be one bool element; check what computes it");
  const char *name = ir_tensor_get_int64 (tensor, 0) != 0 ? "then_branch" : "else_branch";
  const IrGraph *branch = ir_node_attr_graph (node, name);
  if (branch == NULL || ir_graph_n_outputs (branch) != node->n_outputs)
    return fail (node, error, IR_EXEC_ERROR_KERNEL,
                 "the branch is missing, or has not as many outputs as the node");
  gboolean done = ir_run_graph (state, branch, error);
  for (guint i = 0; done && i < node->n_outputs; i++)
    {
      const IrValue *result = ir_graph_output (branch, i);
      IrTensor *contents = result != NULL ? ir_run_state_tensor (state, result) : NULL;
      if (contents == NULL)
        done = fail (node, error, IR_EXEC_ERROR_KERNEL, "an output of the branch has no contents");
      else if (node->outputs[i] != NULL)
        ir_run_state_publish (state, node->outputs[i], contents);
    }
  drop_values (state, branch);
  return done;
}

/**
 * ir_subgraph_run:
 * @state: a run under way
 * @node: a node for which ir_subgraph_runs() holds
 * @error: return location for an error
 *
 * Runs the subgraphs of @node and sets its outputs. If takes the branch that its condition names;
 * the other is not run.
 *
 * Returns: %TRUE if the outputs have contents
 */
gboolean
ir_subgraph_run (IrRunState *state, const IrNode *node, GError **error)
{
  if (state->depth >= MAX_DEPTH)
    return fail (node, error, IR_EXEC_ERROR_UNSUPPORTED, "subgraphs are nested too deeply");
  state->depth++;
  gboolean done = run_if (state, node, error);
  state->depth--;
  return done;
}
