/* Loop: a body that runs at most M times and as long as a condition holds. Its inputs are the
 * iteration, the condition and the carried values; its outputs the next condition, the next
 * carried values and the scan outputs, which are stacked along a new first axis. */
#include "config.h"

#include "core/exec/flow/subgraph-private.h"

typedef struct
{
  const IrNode *node;
  IrBody body;
  guint n_carried;
  gint64 limit;         /* iterations */
  gboolean condition;   /* of the next iteration */
  GPtrArray *inputs;    /* of IrTensor: of the next iteration */
  IrTensor *numbers[2]; /* (nullable) of the iterations before, that of this one among them */
  IrRounds scans;
} Loop;

/* How often it runs at most, and whether it begins; each stays as it is where it is left out. */
static gboolean
read_limits (Loop *loop, IrRunState *state, GError **error)
{
  const IrTensor *most = ir_subgraph_input (state, loop->node, 0);
  const IrValue *condition = ir_node_input (loop->node, 1);

  if (ir_node_input (loop->node, 0) != NULL &&
      (most == NULL || ir_tensor_data (most) == NULL || ir_tensor_n_elements (most) != 1))
    return ir_subgraph_fail (loop->node, error, IR_EXEC_ERROR_KERNEL,
                             "the number of iterations must have one element");
  if (most != NULL)
    loop->limit = ir_tensor_get_int64 (most, 0);
  return condition == NULL ||
         ir_subgraph_bool (loop->node, ir_subgraph_input (state, loop->node, 1), condition->name,
                           -1, &loop->condition, error);
}

static gboolean
loop_init (Loop *loop, IrRunState *state, const IrNode *node, GError **error)
{
  loop->node = node;
  loop->condition = TRUE;
  loop->limit = G_MAXINT64;
  loop->n_carried = node->n_inputs > 2 ? node->n_inputs - 2 : 0;
  loop->inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  if (!ir_body_init (&loop->body, node, loop->n_carried + 2,
                     MAX (loop->n_carried, node->n_outputs) + 1, error) ||
      !read_limits (loop, state, error))
    return FALSE;
  ir_rounds_init (&loop->scans, ir_graph_n_outputs (loop->body.graph) - 1 - loop->n_carried, TRUE);
  g_ptr_array_add (loop->inputs, ir_tensor_new_scalar (IR_DTYPE_INT64, 0));
  g_ptr_array_add (loop->inputs, ir_tensor_new_scalar (IR_DTYPE_BOOL, TRUE));
  for (guint i = 0; i < loop->n_carried; i++)
    {
      IrTensor *tensor = ir_subgraph_input (state, node, i + 2);
      if (tensor == NULL)
        return ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL,
                                 "a carried value has no contents");
      g_ptr_array_add (loop->inputs, ir_tensor_ref (tensor));
    }
  return TRUE;
}

static void
loop_clear (Loop *loop, IrRunState *state)
{
  ir_body_clear (&loop->body, state);
  ir_rounds_clear (&loop->scans);
  g_clear_pointer (&loop->inputs, g_ptr_array_unref);
  for (guint i = 0; i < G_N_ELEMENTS (loop->numbers); i++)
    g_clear_pointer (&loop->numbers[i], ir_tensor_unref);
}

static void
set_input (Loop *loop, guint slot, IrTensor *tensor)
{
  ir_tensor_unref (g_ptr_array_index (loop->inputs, slot));
  g_ptr_array_index (loop->inputs, slot) = tensor;
}

/* (transfer full) The number of an iteration, in place of one that nobody has any more */
static IrTensor *
number_of (Loop *loop, gint64 iteration)
{
  IrTensor **slot = &loop->numbers[iteration & 1];

  if (*slot == NULL || !ir_tensor_reclaim (*slot))
    {
      g_clear_pointer (slot, ir_tensor_unref);
      *slot = ir_tensor_new_scalar (IR_DTYPE_INT64, 0);
    }
  *(gint64 *) ir_tensor_data_writable (*slot) = iteration;
  return ir_tensor_ref (*slot);
}

static gboolean
loop_iterate (Loop *loop, IrRunState *state, gint64 iteration, GError **error)
{
  const GPtrArray *results = loop->body.results;

  set_input (loop, 0, number_of (loop, iteration));
  if (!ir_body_run (&loop->body, state, (IrTensor *const *) loop->inputs->pdata, error))
    return FALSE;
  if (!ir_subgraph_bool (loop->node, g_ptr_array_index (results, 0),
                         ir_graph_output (loop->body.graph, 0)->name, iteration, &loop->condition,
                         error))
    return FALSE;
  for (guint i = 1; i < results->len; i++)
    {
      IrTensor *result = g_ptr_array_index (results, i);
      if (i <= loop->n_carried &&
          !ir_body_check_carried (&loop->body, i, loop->inputs->pdata[i + 1], result, error))
        return FALSE;
      if (i <= loop->n_carried)
        set_input (loop, i + 1, ir_tensor_ref (result));
      else if (!ir_rounds_add (&loop->scans, i - 1 - loop->n_carried, result, state, loop->node,
                               error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
loop_publish (Loop *loop, IrRunState *state, GError **error)
{
  for (guint i = 0; i < loop->node->n_outputs; i++)
    {
      if (loop->node->outputs[i] == NULL)
        continue;
      g_autoptr (IrTensor)
          result = i < loop->n_carried
                       ? ir_tensor_ref (g_ptr_array_index (loop->inputs, i + 2))
                       : ir_rounds_stack (&loop->scans, i - loop->n_carried, 0, FALSE,
                                          ir_graph_output (loop->body.graph, i + 1), state, error);
      if (result == NULL)
        return FALSE;
      if (!ir_run_state_publish (state, loop->node->outputs[i], result, error))
        return FALSE;
    }
  return TRUE;
}

/* Where the input cond is left out, it is true: the condition that the body gives ends the loop
 * all the same, as in ONNX Runtime, though the standard's pseudocode ignores it. Without an
 * iteration, carried values are the initial ones and scan outputs are empty. Source: ONNX Loop
 * 25. */
gboolean
ir_loop_run (IrRunState *state, const IrNode *node, GError **error)
{
  Loop loop = { 0 };
  gboolean done = loop_init (&loop, state, node, error);
  const gint64 first = done ? ir_body_first (&loop.body, state, loop.inputs) : 0;

  for (gint64 i = first; done && i < loop.limit && loop.condition; i++)
    done = ir_run_count_iteration (state, node, (guint64) i,
                                   ir_graph_output (loop.body.graph, 0)->name, error) &&
           loop_iterate (&loop, state, i, error);
  done = done && loop_publish (&loop, state, error);
  loop_clear (&loop, state);
  return done;
}
