/* Control flow: operators that own subgraphs are executed by the runner itself. A subgraph sees the
 * values around it, and all graphs share one id space, so its nodes simply run in the same state.
 */
#include "config.h"

#include "core/exec/runner-private.h"

#include <string.h>

#define MAX_DEPTH      64                 /* of subgraphs in subgraphs; more is hostile */
#define MAX_ITERATIONS (10 * 1000 * 1000) /* of one loop: a model must not run for ever */

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

/* -- Loop -- */

typedef struct
{
  const IrNode *node;
  const IrGraph *body;
  guint n_carried, n_scans;
  gint64 limit;       /* iterations */
  gboolean condition; /* of the next iteration */
  GPtrArray *carried; /* of IrTensor */
  GPtrArray **scans;  /* of IrTensor, one list per scan output */
} Loop;

static void
loop_clear (Loop *loop)
{
  g_clear_pointer (&loop->carried, g_ptr_array_unref);
  for (guint i = 0; loop->scans != NULL && i < loop->n_scans; i++)
    g_clear_pointer (&loop->scans[i], g_ptr_array_unref);
  g_clear_pointer (&loop->scans, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Loop, loop_clear)

/* The one element of an optional input, as an integer. */
static gboolean
scalar_input (IrRunState *state, const IrNode *node, guint slot, gint64 *value, GError **error)
{
  const IrValue *input = ir_node_input (node, slot);
  const IrTensor *tensor = input != NULL ? ir_run_state_tensor (state, input) : NULL;

  if (input == NULL)
    return TRUE;
  if (tensor == NULL || ir_tensor_data (tensor) == NULL || ir_tensor_n_elements (tensor) != 1)
    return fail (node, error, IR_EXEC_ERROR_KERNEL,
                 "the number of iterations and the condition must have one element each");
  *value = ir_tensor_get_int64 (tensor, 0);
  return TRUE;
}

static gboolean
loop_init (Loop *loop, IrRunState *state, const IrNode *node, GError **error)
{
  gint64 condition = TRUE;

  *loop = (Loop){ .node = node, .body = ir_node_attr_graph (node, "body"), .limit = G_MAXINT64 };
  loop->n_carried = node->n_inputs > 2 ? node->n_inputs - 2 : 0;
  if (loop->body == NULL || ir_graph_n_inputs (loop->body) != loop->n_carried + 2 ||
      ir_graph_n_outputs (loop->body) < loop->n_carried + 1 ||
      node->n_outputs > ir_graph_n_outputs (loop->body) - 1)
    return fail (node, error, IR_EXEC_ERROR_KERNEL,
                 "the body is missing, or its inputs and outputs do not match those of the node");
  for (guint i = 0; i < ir_graph_n_inputs (loop->body); i++)
    if (ir_graph_input (loop->body, i) == NULL)
      return fail (node, error, IR_EXEC_ERROR_KERNEL, "an input of the body is not there");
  for (guint i = 0; i < ir_graph_n_outputs (loop->body); i++)
    if (ir_graph_output (loop->body, i) == NULL)
      return fail (node, error, IR_EXEC_ERROR_KERNEL, "an output of the body is not there");
  loop->n_scans = ir_graph_n_outputs (loop->body) - 1 - loop->n_carried;
  loop->carried = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  loop->scans = g_new0 (GPtrArray *, loop->n_scans + 1);
  for (guint i = 0; i < loop->n_scans; i++)
    loop->scans[i] = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  for (guint i = 0; i < loop->n_carried; i++)
    {
      const IrValue *input = node->inputs[i + 2];
      IrTensor *tensor = input != NULL ? ir_run_state_tensor (state, input) : NULL;
      if (tensor == NULL)
        return fail (node, error, IR_EXEC_ERROR_KERNEL, "a carried value has no contents");
      g_ptr_array_add (loop->carried, ir_tensor_ref (tensor));
    }
  if (!scalar_input (state, node, 0, &loop->limit, error) ||
      !scalar_input (state, node, 1, &condition, error))
    return FALSE;
  loop->condition = condition != 0;
  return TRUE;
}

static void
set_scalar (IrRunState *state, const IrValue *value, IrDtype dtype, double number)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (dtype, number);

  ir_run_state_set (state, value, tensor);
}

static gboolean
loop_iterate (Loop *loop, IrRunState *state, gint64 iteration, GError **error)
{
  const IrGraph *body = loop->body;

  set_scalar (state, ir_graph_input (body, 0), IR_DTYPE_INT64, (double) iteration);
  set_scalar (state, ir_graph_input (body, 1), IR_DTYPE_BOOL, TRUE);
  for (guint i = 0; i < loop->n_carried; i++)
    ir_run_state_set (state, ir_graph_input (body, i + 2), g_ptr_array_index (loop->carried, i));
  if (!ir_run_graph (state, body, error))
    return FALSE;
  for (guint i = 0; i < ir_graph_n_outputs (body); i++)
    {
      const IrValue *output = ir_graph_output (body, i);
      IrTensor *tensor = output != NULL ? ir_run_state_tensor (state, output) : NULL;
      if (tensor == NULL || (i == 0 && ir_tensor_n_elements (tensor) != 1))
        return fail (loop->node, error, IR_EXEC_ERROR_KERNEL,
                     "an output of the body has no contents, or the condition is not one element");
      if (i == 0)
        loop->condition = ir_tensor_get_int64 (tensor, 0) != 0;
      else if (i <= loop->n_carried)
        {
          ir_tensor_unref (g_ptr_array_index (loop->carried, i - 1));
          g_ptr_array_index (loop->carried, i - 1) = ir_tensor_ref (tensor);
        }
      else
        g_ptr_array_add (loop->scans[i - 1 - loop->n_carried], ir_tensor_ref (tensor));
    }
  return TRUE;
}

/* The tensors of all iterations behind each other, along a new axis 0. */
static IrTensor *
stack (const Loop *loop, guint scan, GError **error)
{
  const GPtrArray *parts = loop->scans[scan];
  const IrValue *output = ir_graph_output (loop->body, scan + 1 + loop->n_carried);
  gint64 dims[IR_MAX_RANK] = { (gint64) parts->len };
  guint rank = 0;
  IrDtype dtype = ir_value_dtype (output);

  if (parts->len == 0)
    {
      /* No iteration: the shape is what inference knows of it. */
      for (int i = 0; i < ir_value_rank (output) && rank + 1 < IR_MAX_RANK; i++)
        dims[++rank] = MAX (output->type->dims[i], 0);
      return ir_tensor_new_alloc (dtype != IR_DTYPE_UNDEFINED ? dtype : IR_DTYPE_FLOAT, rank + 1,
                                  dims, error);
    }
  const IrTensor *first = g_ptr_array_index (parts, 0);
  dtype = ir_tensor_dtype (first);
  rank = ir_tensor_rank (first);
  gsize bytes = ir_tensor_n_bytes (first);
  gboolean fits = rank + 1 < IR_MAX_RANK && ir_dtype_bits (dtype) % 8 == 0 &&
                  ir_dtype_kind (dtype) != IR_DTYPE_KIND_STRING;
  for (guint i = 0; fits && i < parts->len; i++)
    {
      const IrTensor *part = g_ptr_array_index (parts, i);
      fits = ir_tensor_dtype (part) == dtype && ir_tensor_rank (part) == rank &&
             memcmp (ir_tensor_dims (part), ir_tensor_dims (first), sizeof *dims * rank) == 0;
    }
  if (!fits)
    {
      fail (loop->node, error, IR_EXEC_ERROR_UNSUPPORTED,
            "a scan output has another shape in each iteration, or a type that cannot be stacked");
      return NULL;
    }
  memcpy (dims + 1, ir_tensor_dims (first), sizeof *dims * rank);
  IrTensor *result = ir_tensor_new_alloc (dtype, rank + 1, dims, error);
  for (guint i = 0; result != NULL && bytes > 0 && i < parts->len; i++)
    memcpy ((guint8 *) ir_tensor_data_writable (result) + i * bytes,
            ir_tensor_data (g_ptr_array_index (parts, i)), bytes);
  return result;
}

static gboolean
loop_publish (const Loop *loop, IrRunState *state, GError **error)
{
  for (guint i = 0; i < loop->node->n_outputs; i++)
    {
      if (loop->node->outputs[i] == NULL)
        continue;
      g_autoptr (IrTensor) result = i < loop->n_carried
                                        ? ir_tensor_ref (g_ptr_array_index (loop->carried, i))
                                        : stack (loop, i - loop->n_carried, error);
      if (result == NULL)
        return FALSE;
      ir_run_state_publish (state, loop->node->outputs[i], result);
    }
  return TRUE;
}

/* What the scan lists hold counts against the memory limit, although no value holds it. */
static gboolean
check_scans (const Loop *loop, const IrRunState *state, GError **error)
{
  guint64 bytes = 0;

  for (guint i = 0; i < loop->n_scans; i++)
    if (loop->scans[i]->len > 0)
      bytes += loop->scans[i]->len * (guint64) ir_tensor_n_bytes (g_ptr_array_index (
                                         loop->scans[i], loop->scans[i]->len - 1));
  return state->live_bytes + bytes <= state->memory_limit ||
         fail (loop->node, error, IR_EXEC_ERROR_MEMORY,
               "what the iterations give does not fit into the memory limit");
}

static gboolean
run_loop (IrRunState *state, const IrNode *node, GError **error)
{
  g_auto (Loop) loop = { 0 };
  gboolean done = loop_init (&loop, state, node, error);

  for (gint64 i = 0; done && i < loop.limit && loop.condition; i++)
    {
      done = ir_run_check (state, node, error) && check_scans (&loop, state, error);
      if (done && i >= MAX_ITERATIONS)
        done = fail (node, error, IR_EXEC_ERROR_UNSUPPORTED,
                     "more than ten million iterations; the condition may never become false");
      done = done && loop_iterate (&loop, state, i, error);
    }
  done = done && loop_publish (&loop, state, error);
  if (loop.body != NULL)
    drop_values (state, loop.body);
  return done;
}

static const struct
{
  IrOpId op;
  gboolean (*run) (IrRunState *state, const IrNode *node, GError **error);
} runners[] = {
  { IR_OP_IF, run_if },
  { IR_OP_LOOP, run_loop },
  { IR_OP_FLEX_ATTENTION, ir_flex_attention_run },
};

/**
 * ir_subgraph_runs:
 * @node: a node that owns subgraphs
 *
 * Returns: whether the runner can execute it
 */
gboolean
ir_subgraph_runs (const IrNode *node)
{
  for (guint i = 0; i < G_N_ELEMENTS (runners); i++)
    if (ir_op_is (node, runners[i].op))
      return TRUE;
  return FALSE;
}

/**
 * ir_subgraph_run:
 * @state: a run under way
 * @node: a node for which ir_subgraph_runs() holds
 * @error: return location for an error
 *
 * Runs the subgraphs of @node and sets its outputs. If takes the branch that its condition names;
 * the other is not run. Loop stacks what each iteration gives along a new first axis.
 *
 * Source: ONNX If 21, Loop 21.
 *
 * Returns: %TRUE if the outputs have contents
 */
gboolean
ir_subgraph_run (IrRunState *state, const IrNode *node, GError **error)
{
  gboolean done = FALSE;

  if (state->depth >= MAX_DEPTH)
    return fail (node, error, IR_EXEC_ERROR_UNSUPPORTED, "subgraphs are nested too deeply");
  state->depth++;
  for (guint i = 0; i < G_N_ELEMENTS (runners); i++)
    if (ir_op_is (node, runners[i].op))
      done = runners[i].run (state, node, error);
  state->depth--;
  return done;
}
