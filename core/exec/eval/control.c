/* Running one node that owns subgraphs by itself: its bodies run as they do in a run, on the
 * contents that the caller has for the values around them. Nothing is planned: values lie on the
 * heap. */
#include "config.h"

#include "core/exec/eval/eval.h"
#include "core/exec/run/state.h"

typedef struct
{
  const IrNode *node;
  const IrEvalOptions *options;
  IrRunState *state;
} Eval;

static gboolean
lies_inside (const IrNode *node, const IrGraph *graph)
{
  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH && graph->owner != node->id)
    graph = ir_graph_outer (graph);
  return graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH;
}

static gboolean
bind (Eval *eval, const IrValue *value, GError **error)
{
  const IrTensor *tensor;

  if (value == NULL || value->initializer != NULL || lies_inside (eval->node, value->graph) ||
      eval->state->tensors[value->id] != NULL)
    return TRUE;
  tensor = eval->options->contents (value, eval->options->data);
  if (tensor == NULL)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL, "%s has no contents", value->name);
      return FALSE;
    }
  ir_run_state_set (eval->state, value, (IrTensor *) tensor);
  return TRUE;
}

/* What the subgraphs read of the values around the node. */
static gboolean
bind_graph (Eval *eval, const IrGraph *graph, GError **error)
{
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (graph, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    {
      for (guint k = 0; k < nodes[i]->n_inputs; k++)
        if (!bind (eval, nodes[i]->inputs[k], error))
          return FALSE;
      g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (nodes[i]);
      for (guint k = 0; subgraphs != NULL && k < subgraphs->len; k++)
        if (!bind_graph (eval, g_ptr_array_index (subgraphs, k), error))
          return FALSE;
    }
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (!bind (eval, ir_graph_output (graph, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
run (Eval *eval, const IrTensor *const *inputs, IrTensor **outputs, GError **error)
{
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (eval->node);

  for (guint i = 0; i < eval->node->n_inputs; i++)
    if (eval->node->inputs[i] != NULL && inputs[i] != NULL)
      ir_run_state_set (eval->state, eval->node->inputs[i], (IrTensor *) inputs[i]);
  for (guint i = 0; subgraphs != NULL && i < subgraphs->len; i++)
    if (!bind_graph (eval, g_ptr_array_index (subgraphs, i), error))
      return FALSE;
  if (!ir_subgraph_run (eval->state, eval->node, error))
    return FALSE;
  for (guint i = 0; i < eval->node->n_outputs; i++)
    if (eval->node->outputs[i] != NULL)
      outputs[i] = ir_tensor_ref (ir_run_state_tensor (eval->state, eval->node->outputs[i]));
  return TRUE;
}

/**
 * ir_eval_control:
 * @node: a node that the runner itself executes
 * @inputs: (array): contents, one per input
 * @outputs: (out caller-allocates) (array) (transfer full): one per output
 * @options: how to run; with contents
 * @error: return location for an error
 *
 * Costs memory for one pointer per value and node of the model, besides the run itself.
 *
 * Returns: %TRUE if the outputs were computed
 */
gboolean
ir_eval_control (const IrNode *node,
                 const IrTensor *const *inputs,
                 IrTensor **outputs,
                 const IrEvalOptions *options,
                 GError **error)
{
  IrModel *model = node->graph->model;
  IrRunOptions run_options = {
    .backend = options->backend != NULL ? options->backend : &ir_backend_ref,
    .capture = IR_CAPTURE_NONE,
    .seed = options->seed,
  };
  IrPrepared prepared = { .model = model,
                          .control = ir_subgraph_run,
                          .n_nodes = model->nodes->len,
                          .n_values = model->values->len };
  IrRun record = { .model = model };
  IrRunState state = {
    .options = &run_options,
    .prepared = &prepared,
    .threads = options->threads,
    .cancellable = options->cancellable,
    .run = &record,
    .memory_limit = ir_exec_default_memory_limit (),
    .output_limit = ir_exec_default_memory_limit (),
  };
  Eval eval = { node, options, &state };
  gboolean done;

  ir_run_options_limit (&run_options, &options->limits);
  state.watch.deadline_us = options->deadline_us;
  if (run_options.memory_limit != 0)
    state.memory_limit = run_options.memory_limit;
  if (run_options.output_limit != 0)
    state.output_limit = run_options.output_limit;
  prepared.kernels = ir_kernels_new_within (node, run_options.backend, error);
  if (prepared.kernels == NULL)
    return FALSE;
  prepared.states = g_new0 (gpointer, prepared.n_nodes + 1);
  prepared.values = ir_plan_values_new (prepared.n_values);
  state.tensors = g_new0 (IrTensor *, prepared.n_values + 1);
  state.ran = g_new0 (guint8, prepared.n_nodes + 1);
  state.account = ir_account_new ();
  done = run (&eval, inputs, outputs, error);
  for (guint id = 0; id < prepared.n_values; id++)
    g_clear_pointer (&state.tensors[id], ir_tensor_unref);
  g_clear_pointer (&state.draws, g_hash_table_unref);
  ir_body_calls_free (state.body_calls, prepared.n_nodes);
  g_clear_pointer (&state.token_programs, g_hash_table_unref);
  ir_run_free_calls (&state);
  ir_account_free (state.account);
  g_free (state.tensors);
  g_free (state.ran);
  g_free (prepared.states);
  ir_kernels_unref (prepared.kernels);
  g_free (prepared.values);
  return done;
}
