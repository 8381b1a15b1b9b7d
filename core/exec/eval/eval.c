/* Running one node by itself, on given contents. */
#include "config.h"

#include "core/exec/eval/eval.h"
#include "core/exec/kernel/backend.h"

static gboolean
eval_call (IrCall *call,
           const IrTensor *const *inputs,
           IrTensor **outputs,
           const IrEvalOptions *options,
           gsize output_limit,
           GError **error)
{
  const IrNode *node = call->node;
  const IrBackend *backend = options->backend != NULL ? options->backend : &ir_backend_ref;
  const IrBackend *chosen;
  IrKernelFunc kernel;
  const char *why;

  if (!ir_backend_choose (backend, node, &kernel, &chosen, &why, error))
    return FALSE;
  if (kernel == NULL && options->contents != NULL)
    return ir_eval_control (node, inputs, outputs, options, error);
  if (kernel == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "an operator with subgraphs cannot be run by itself");
  for (guint i = 0; i < node->n_inputs; i++)
    {
      if (node->inputs[i] == NULL)
        continue;
      if (inputs[i] == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "input %u (%s) has no contents", i,
                             node->inputs[i]->name);
      ir_call_set_input (call, i, inputs[i]);
    }
  call->max_output_bytes = output_limit;
  call->threads = options->threads;
  call->cancellable = options->cancellable;
  ir_call_adapt (call);
  if (!ir_call_check (call, error))
    return FALSE;
  g_autoptr (GError) local = NULL;
  gboolean shared = options->state != NULL && chosen == backend;
  if (shared && *options->state != NULL)
    call->kernel_state = *options->state;
  else if (chosen->prepare != NULL)
    call->kernel_state = chosen->prepare (call, &local);
  gboolean done = local == NULL && kernel (call, &local) && !ir_call_fail_if_stopped (call, &local);
  if (shared)
    *options->state = g_steal_pointer (&call->kernel_state);
  if (call->kernel_state != NULL && chosen->release != NULL)
    chosen->release (g_steal_pointer (&call->kernel_state));
  for (guint i = 0; done && i < node->n_outputs; i++)
    outputs[i] = g_steal_pointer (&call->outputs[i].tensor);
  if (local != NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  return done;
}

static gsize
output_limit_of (const IrEvalOptions *options)
{
  gsize all = options->limits.memory_limit, one = options->limits.output_limit;

  all = all != 0 ? all : ir_exec_default_memory_limit ();
  one = one != 0 ? one : ir_exec_default_memory_limit ();
  return MIN (all, one);
}

static gboolean
eval (const IrNode *node,
      const IrTensor *const *inputs,
      IrTensor **outputs,
      const IrEvalOptions *options,
      gsize output_limit,
      guint64 seed,
      GError **error)
{
  g_autoptr (GError) local = NULL;
  IrCall call;

  for (guint i = 0; i < node->n_outputs; i++)
    outputs[i] = NULL;
  ir_call_layout (&call, node);
  call.random_seed = seed;
  IrWatch watch = { .deadline_us = options->deadline_us };
  call.watch = &watch;
  gboolean done = eval_call (&call, inputs, outputs, options, output_limit, &local);
  ir_call_clear (&call);
  if (!done && watch.stopped && !g_cancellable_is_cancelled (options->cancellable))
    {
      g_autofree char *label = ir_node_label (node);

      g_clear_error (&local);
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT,
                   "%s: evaluating it has taken longer than the limit of time; raise the limit or "
                   "use smaller inputs",
                   label);
    }
  if (local != NULL)
    g_propagate_error (error, ir_exec_error_from_kernel (node, g_steal_pointer (&local)));
  return done;
}

/**
 * ir_eval_node:
 * @node: a node
 * @inputs: (array): contents, one per input of @node; %NULL where an input is left out
 * @outputs: (out caller-allocates) (array) (transfer full): one per output of @node; %NULL where
 *   @node has no such output
 * @backend: (nullable): whose kernels; %NULL: reference kernels
 * @output_limit: most bytes of one output; 0: no limit
 * @error: return location for an error
 *
 * Runs the kernel of @node on @inputs, which may have other shapes than its values.
 *
 * Fails with an %IR_EXEC_ERROR that names the node.
 *
 * Returns: %TRUE if the outputs were computed
 */
gboolean
ir_eval_node (const IrNode *node,
              const IrTensor *const *inputs,
              IrTensor **outputs,
              const IrBackend *backend,
              gsize output_limit,
              GError **error)
{
  const IrEvalOptions options = { .backend = backend };

  g_return_val_if_fail (node != NULL && outputs != NULL, FALSE);
  g_return_val_if_fail (inputs != NULL || node->n_inputs == 0, FALSE);
  return eval (node, inputs, outputs, &options, output_limit, 0, error);
}

/**
 * ir_eval_node_with:
 * @node: a node
 * @inputs: (array): as ir_eval_node() takes them
 * @outputs: (out caller-allocates) (array) (transfer full): as ir_eval_node() gives them
 * @options: how to run
 * @error: return location for an error
 *
 * As ir_eval_node(); draws of random operators are those of a run, and nodes that own subgraphs run
 * too, if @options->contents knows the values around them.
 *
 * Returns: %TRUE if the outputs were computed
 */
gboolean
ir_eval_node_with (const IrNode *node,
                   const IrTensor *const *inputs,
                   IrTensor **outputs,
                   const IrEvalOptions *options,
                   GError **error)
{
  g_return_val_if_fail (node != NULL && outputs != NULL && options != NULL, FALSE);
  return eval (node, inputs, outputs, options, output_limit_of (options),
               ir_exec_random_seed (node, options->seed, options->round), error);
}
