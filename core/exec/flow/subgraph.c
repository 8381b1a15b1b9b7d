/* Control flow: operators that own subgraphs are executed by the runner itself. A subgraph sees the
 * values around it, and all graphs share one id space, so its nodes simply run in the same state.
 * Here are If and what the others (loop.c, scan.c, sequence-map.c) share. */
#include "config.h"

#include "core/exec/flow/subgraph-private.h"

#define MAX_DEPTH 64 /* of subgraphs in subgraphs; more is hostile */

/* -- shared -- */

gboolean
ir_subgraph_fail (const IrNode *node, GError **error, IrExecErrorCode code, const char *message)
{
  g_autofree char *label = ir_exec_label (node);

  g_set_error (error, IR_EXEC_ERROR, code, "%s: %s", label, message);
  return FALSE;
}

/* "float[2]" (transfer full) */
static char *
type_text (const IrNode *node, const IrTensor *tensor)
{
  IrContext *context = node->graph->model->context;

  return tensor != NULL ? ir_type_to_string (context, ir_tensor_type (tensor, context))
                        : g_strdup ("nothing");
}

gboolean
ir_subgraph_bool (const IrNode *node,
                  const IrTensor *tensor,
                  const char *name,
                  gint64 behind,
                  gboolean *value,
                  GError **error)
{
  if (tensor != NULL && !ir_tensor_is_container (tensor) && ir_tensor_data (tensor) != NULL &&
      ir_tensor_n_elements (tensor) == 1 && ir_tensor_dtype (tensor) == IR_DTYPE_BOOL)
    {
      *value = ir_tensor_get_int64 (tensor, 0) != 0;
      return TRUE;
    }
  g_autofree char *found = type_text (node, tensor);
  g_autofree char *where = behind >= 0
                               ? g_strdup_printf (" behind iteration %" G_GINT64_FORMAT, behind)
                               : NULL;
  g_autofree char *message = g_strdup_printf (
      "the condition %s%s is %s, needed one bool; check what computes it", name,
      where != NULL ? where : "", found);
  return ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL, message);
}

/* A carried value keeps its kind and element type, but that an optional one may become what it holds; its
 * shape may change. @before, @after: what it held before and after iteration @round. */
gboolean
ir_body_check_carried (
    const IrBody *body, guint output, const IrTensor *before, const IrTensor *after, GError **error)
{
  const IrValue *value = ir_graph_output (body->graph, output);

  if (ir_tensor_kind (before) == IR_TYPE_OPTIONAL ||
      (ir_tensor_kind (before) == ir_tensor_kind (after) &&
       ir_tensor_dtype (before) == ir_tensor_dtype (after)))
    return TRUE;
  g_autofree char *was = type_text (body->node, before), *is = type_text (body->node, after);
  g_autofree char *message = g_strdup_printf (
      "the carried value %s was %s before iteration %" G_GINT64_FORMAT
      " and is %s behind it; it has to keep its element type, so cast it at the end of the body",
      value->name, was, body->n_rounds - 1, is);
  return ir_subgraph_fail (body->node, error, IR_EXEC_ERROR_KERNEL, message);
}

/* Lets go of all that its nodes and inputs hold; constants stay */
void
ir_subgraph_drop (IrRunState *state, const IrGraph *graph)
{
  guint n_values;
  IrValue *const *values = ir_graph_values (graph, &n_values);

  for (guint i = 0; i < n_values; i++)
    if (values[i]->initializer == NULL)
      ir_run_state_drop (state, values[i]);
}

/* Its contents; NULL if the input is left out */
IrTensor *
ir_subgraph_input (IrRunState *state, const IrNode *node, guint slot)
{
  const IrValue *value = ir_node_input (node, slot);

  return value != NULL ? ir_run_state_tensor (state, value) : NULL;
}

/* Whether an error begins with a node, which may have loops in front. */
gboolean
ir_error_has_place (const GError *error)
{
  return !g_error_matches (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED) &&
         !g_error_matches (error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED);
}

/* -- bodies -- */

/* Returns TRUE if the body fits. @body: the body; clear with ir_body_clear(), also after an
 * error. */
gboolean
ir_body_init (IrBody *body, const IrNode *node, guint n_inputs, guint n_outputs, GError **error)
{
  *body = (IrBody){ .node = node, .graph = ir_node_attr_graph (node, "body") };
  body->results = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  if (body->graph == NULL || ir_graph_n_inputs (body->graph) != n_inputs ||
      ir_graph_n_outputs (body->graph) < n_outputs)
    return ir_subgraph_fail (
        node, error, IR_EXEC_ERROR_KERNEL,
        "the body is missing, or its inputs and outputs do not match those of the node");
  for (guint i = 0; i < n_inputs; i++)
    if (ir_graph_input (body->graph, i) == NULL)
      return ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL,
                               "an input of the body is not there");
  for (guint i = 0; i < ir_graph_n_outputs (body->graph); i++)
    if (ir_graph_output (body->graph, i) == NULL)
      return ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL,
                               "an output of the body is not there");
  return TRUE;
}

/* Where the loop begins: in iteration 0, or where a run again goes on from a checkpoint, of which @inputs
 * are replaced. */
gint64
ir_body_first (IrBody *body, IrRunState *state, GPtrArray *inputs)
{
  body->n_rounds = ir_iterations_first (state, body->node, inputs);
  return body->n_rounds;
}

static gboolean
run_round (IrBody *body, IrRunState *state, IrTensor *const *inputs, GError **error)
{
  for (guint i = 0; i < ir_graph_n_inputs (body->graph); i++)
    {
      const IrValue *input = ir_graph_input (body->graph, i);
      if (!state->prepared->values[input->id].keep)
        ir_run_state_set (state, input, inputs[i]);
      else if (!ir_run_state_publish (state, input, inputs[i], error))
        return FALSE;
    }
  ir_run_tell_flow (state, body->n_rounds == 0 ? IR_FLOW_ENTERED : IR_FLOW_NEXT, body->node,
                    body->n_rounds, -1);
  body->n_rounds++;
  if (!ir_run_graph (state, body->graph, error))
    return FALSE;
  g_ptr_array_set_size (body->results, 0);
  for (guint i = 0; i < ir_graph_n_outputs (body->graph); i++)
    {
      IrTensor *tensor = ir_run_state_tensor (state, ir_graph_output (body->graph, i));
      if (tensor == NULL)
        return ir_subgraph_fail (body->node, error, IR_EXEC_ERROR_KERNEL,
                                 "an output of the body has no contents");
      g_ptr_array_add (body->results, ir_tensor_ref (tensor));
    }
  return TRUE;
}

/* An error of a node has the loops around it in front, as names of iterations have. */
static void
say_where (const IrFrameAt *at, GError **error)
{
  g_autofree char *name = ir_loop_name (at->loop);

  if (error != NULL && *error != NULL && ir_error_has_place (*error))
    g_prefix_error (error, "%s@%" G_GINT64_FORMAT "/", name, at->iteration);
}

/* Runs the body once; body->results are then its outputs. Of captured inputs the last round
 * stays. Returns TRUE if all outputs have contents. */
gboolean
ir_body_run (IrBody *body, IrRunState *state, IrTensor *const *inputs, GError **error)
{
  const IrFrameAt at = { state->frame, body->node, NULL, NULL, body->n_rounds };

  if (!ir_iterations_begin (state, body->node, at.iteration, inputs,
                            ir_graph_n_inputs (body->graph), error))
    return FALSE;
  state->frame = &at;
  gboolean done = run_round (body, state, inputs, error);
  state->frame = at.outer;
  if (done && ir_iterations_end (state, &at, error))
    return TRUE;
  body->n_rounds = 0; /* it is not left, the run ends in it */
  say_where (&at, error);
  return FALSE;
}

void
ir_body_clear (IrBody *body, IrRunState *state)
{
  if (body->n_rounds > 0)
    ir_run_tell_flow (state, IR_FLOW_EXITED, body->node, body->n_rounds - 1, -1);
  if (body->graph != NULL)
    ir_subgraph_drop (state, body->graph);
  g_clear_pointer (&body->results, g_ptr_array_unref);
}

/* -- If -- */

/* (nullable) The branch that the condition names, which is to be run now */
const IrGraph *
ir_if_begin (IrRunState *state, const IrNode *node, gboolean *taken, GError **error)
{
  const IrValue *condition = ir_node_input (node, 0);
  const IrTensor *tensor = condition != NULL ? ir_run_state_tensor (state, condition) : NULL;

  if (!ir_subgraph_bool (node, tensor, condition != NULL ? condition->name : "", -1, taken, error))
    return NULL;
  const IrGraph *branch = ir_node_attr_graph (node, *taken ? "then_branch" : "else_branch");
  if (branch == NULL || ir_graph_n_outputs (branch) != node->n_outputs)
    {
      ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL,
                        "the branch is missing, or has not as many outputs as the node");
      return NULL;
    }
  ir_run_tell_flow (state, IR_FLOW_CALLED, node, 0, *taken);
  return branch;
}

/* An error of a node has the branch around it in front. */
void
ir_if_say_where (const IrNode *node, gboolean taken, GError **error)
{
  g_autofree char *name = ir_loop_name (node);

  if (error != NULL && *error != NULL && ir_error_has_place (*error))
    g_prefix_error (error, "%s/%s/", name, taken ? "then_branch" : "else_branch");
}

/* Hands out what @branch, which has run, gives. */
gboolean
ir_if_end (
    IrRunState *state, const IrNode *node, const IrGraph *branch, gboolean taken, GError **error)
{
  gboolean done = TRUE;

  ir_run_tell_flow (state, IR_FLOW_RETURNED, node, 0, taken);
  for (guint i = 0; done && i < node->n_outputs; i++)
    {
      const IrValue *result = ir_graph_output (branch, i);
      IrTensor *contents = result != NULL ? ir_run_state_tensor (state, result) : NULL;
      if (contents == NULL)
        done = ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL,
                                 "an output of the branch has no contents");
      else if (node->outputs[i] != NULL)
        done = ir_run_state_publish (state, node->outputs[i], contents, error);
    }
  return done;
}

/* Runs the branch that the condition names; the other is not run. Source: ONNX If 25. */
gboolean
ir_if_run (IrRunState *state, const IrNode *node, GError **error)
{
  gboolean taken = FALSE;
  const IrGraph *branch = ir_if_begin (state, node, &taken, error);
  gboolean ran = branch != NULL && ir_run_graph (state, branch, error);
  gboolean done = ran && ir_if_end (state, node, branch, taken, error);

  if (branch != NULL && !ran)
    ir_if_say_where (node, taken, error);
  if (branch != NULL)
    ir_subgraph_drop (state, branch);
  return done;
}

typedef struct
{
  IrOpId op;
  IrControlFunc run; /* (nullable) */
} Row;

/* clang-format off */
static const Row rows[IR_N_OPS] = { [IR_OP_NONE] = { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define CONTROL(function) , .run = function
#include "core/op/ops.def"
} };
/* clang-format on */

/**
 * ir_subgraph_run:
 * @state: a run under way
 * @node: a node whose row has a CONTROL column
 * @error: return location for an error
 *
 * Runs the subgraphs of @node and sets its outputs.
 *
 * Returns: %TRUE if the outputs have contents
 */
gboolean
ir_subgraph_run (IrRunState *state, const IrNode *node, GError **error)
{
  gboolean done;

  if (state->nesting >= MAX_DEPTH)
    return ir_subgraph_fail (
        node, error, IR_EXEC_ERROR_UNSUPPORTED,
        "graphs are nested more than 64 deep here, which is the limit; take "
        "branches and bodies out into nodes around, and let what calls itself do so "
        "from no body of a loop");
  state->nesting++;
  state->depth++;
  done = rows[node->op->id].run (state, node, error);
  state->depth--;
  state->nesting--;
  return done;
}
