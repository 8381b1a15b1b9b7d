/* Values that only a run has. A call of a function runs as the nodes of its body, which are in the
 * private copy that runs and in no graph of the history: "one/half" is the value "half" of the body
 * as the call "one" had it. The graph on screen and its run share the ids of all else. */
#include "config.h"

#include "views/session/frame.h"
#include "views/session/runs-private.h"

/* (transfer none) (nullable): the run of the graph on screen */
static IrRun *
run_on_screen (IrSession *self)
{
  const IrFrame *frame = ir_session_get_frame (self);
  IrRun *after = ir_session_get_run (self, IR_SIDE_AFTER);

  if (frame == NULL || frame->foreign)
    return NULL;
  if (after != NULL && ir_session_get_run_step (self) == frame->to)
    return after;
  return frame->to == 0 ? ir_session_get_run (self, IR_SIDE_BEFORE) : NULL;
}

/**
 * ir_session_get_body_value:
 * @id: a value that may be none of the graph on screen
 * @run: (out) (optional) (transfer none): the run that has it
 *
 * Returns: (transfer none) (nullable): the value of the run of the graph on screen, if the graph
 *   itself does not have it
 */
const IrValue *
ir_session_get_body_value (IrSession *self, IrValueId id, IrRun **run)
{
  IrRun *own = run_on_screen (self);

  if (run != NULL)
    *run = own;
  if (own == NULL || id == 0 || (id & IR_OTHER_SIDE) != 0 ||
      ir_frame_value (ir_session_get_frame (self), id))
    return NULL;
  return ir_model_live_value (own->model, id);
}

static gboolean
is_shown (const IrModel *shown, const IrValue *value)
{
  return ir_model_live_value (shown, value->id) != NULL;
}

/* (transfer full): @node and those that it reads from, up to values that the graph on screen has */
static GHashTable *
nodes_of_body (const IrModel *shown, GPtrArray *pending)
{
  GHashTable *nodes = g_hash_table_new (NULL, NULL);

  while (pending->len > 0)
    {
      const IrNode *node = g_ptr_array_steal_index_fast (pending, pending->len - 1);

      if (!g_hash_table_add (nodes, (gpointer) node))
        continue;
      ir_node_for_each_input (node, i, input)
        if (!is_shown (shown, input) && input->producer != NULL)
          g_ptr_array_add (pending, input->producer);
    }
  return nodes;
}

/**
 * ir_session_get_body_values:
 * @call: a node of the graph on screen
 *
 * Returns: (transfer container) (nullable): of IrValue, in the order of execution: what the last
 *   run of that graph computed in the body of @call; %NULL if there was none, or it ran @call
 * itself
 */
GPtrArray *
ir_session_get_body_values (IrSession *self, const IrNode *call)
{
  const IrRun *run = run_on_screen (self);
  const IrFrame *frame = ir_session_get_frame (self);
  g_autoptr (GPtrArray) pending = g_ptr_array_new ();
  g_autoptr (GHashTable) nodes = NULL;
  const IrGraph *graph = NULL;
  GPtrArray *values;
  guint n = 0;

  if (run == NULL || ir_model_live_node (run->model, call->id) != NULL)
    return NULL;
  for (guint i = 0; i < call->n_outputs; i++)
    {
      const IrValue *output = call->outputs[i] != NULL
                                  ? ir_model_live_value (run->model, call->outputs[i]->id)
                                  : NULL;
      if (output == NULL || output->producer == NULL)
        continue;
      graph = output->graph;
      g_ptr_array_add (pending, output->producer);
    }
  values = g_ptr_array_new ();
  nodes = nodes_of_body (frame->model, pending);
  IrNode *const *order = graph != NULL ? ir_graph_order (graph, &n) : NULL;
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < order[i]->n_outputs && g_hash_table_contains (nodes, order[i]); k++)
      if (order[i]->outputs[k] != NULL && !is_shown (frame->model, order[i]->outputs[k]))
        g_ptr_array_add (values, order[i]->outputs[k]);
  return values;
}
