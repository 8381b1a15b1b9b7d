/* A run again of some iterations of a frame: who looks on is told what lies where just before the first of them can begin,
 * and the run ends behind the last one. */
#include "config.h"

#include "core/exec/flow/token-private.h"

typedef struct
{
  IrTokenExecutor *x;
  GArray *tokens;     /* of IrFlowToken */
  GHashTable *queued; /* set of IrTokenWaiting: ready, and have not run */
} Stand;

/* -- what lies there -- */

/* What leaves the graph has another value around it. */
static IrValueId
value_around (const IrTokenExecutor *x, const IrValue *value)
{
  for (guint i = 0; i < x->owner->n_outputs; i++)
    if (ir_graph_output (x->program->graph, i) == value && x->owner->outputs[i] != NULL)
      return x->owner->outputs[i]->id;
  return value->id;
}

/* Whether @use is of @node, or in a body or a branch of it */
static gboolean
is_use_of (IrUse use, const IrNode *node)
{
  const IrGraph *graph = use.node != NULL ? use.node->graph : use.graph;
  const IrNode *own = use.node;

  while (own != node && graph != NULL && graph != node->graph && graph->kind == IR_GRAPH_SUBGRAPH)
    {
      own = ir_model_live_node (graph->model, graph->owner);
      graph = own != NULL ? own->graph : NULL;
    }
  return own == node;
}

/* @node: (nullable): for all that read it */
static void
lay (Stand *stand, const IrValue *value, const IrNode *node, IrFlowToken token)
{
  token.value = value_around (stand->x, value);
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrUse use = ir_value_use (value, i);
      if (node != NULL && !is_use_of (use, node))
        continue;
      token.reader = use.node != NULL ? use.node->id : 0;
      g_array_append_val (stand->tokens, token);
    }
}

static IrTokenState
state_of (const IrTensor *tensor)
{
  return tensor != NULL ? IR_TOKEN_LIVE : IR_TOKEN_DEAD;
}

static gboolean
is_invariant (const IrTokenExecutor *x, const IrValue *value)
{
  const guint index = GPOINTER_TO_UINT (g_hash_table_lookup (x->program->index, value->producer));

  return x->program->nodes[index - 1].is_constant;
}

static void
lay_node (Stand *stand, const IrTokenIteration *iteration, const IrTokenNode *node)
{
  const IrTokenExecutor *x = stand->x;
  const IrTokenWaiting *own = &iteration->nodes[node->place];
  IrFlowToken token = { .frame = iteration->instance->path, .iteration = iteration->number };

  if (own->is_ready && !g_hash_table_contains (stand->queued, own))
    {
      token.state = IR_TOKEN_TAKEN;
      token.reader = node->node->id;
      if (own->live > 0 || iteration->instance->parent == NULL)
        g_array_append_val (stand->tokens, token);
      return;
    }
  for (guint i = 0; i < node->n_data; i++)
    {
      const guint slot = node->first_data + i;
      if (!iteration->came[slot] || !ir_token_is (x->program->graph, node->data[i]) ||
          is_invariant (x, node->data[i]))
        continue;
      token.state = state_of (iteration->data[slot]);
      lay (stand, node->data[i], node->node, token);
    }
}

static void
lay_instance (Stand *stand, const IrTokenInstance *instance)
{
  const IrTokenProgram *program = stand->x->program;
  const GArray *nodes = program->by_frame[instance->frame].nodes;

  for (guint i = 0; i < instance->iterations->len; i++)
    for (guint k = 0; k < nodes->len; k++)
      lay_node (stand, instance->iterations->pdata[i],
                &program->nodes[g_array_index (nodes, guint32, k)]);
  for (guint i = 0; i < instance->invariants->len; i++)
    {
      const IrToken *token = &g_array_index (instance->invariants, IrToken, i);
      lay (stand, program->nodes[token->node].node->outputs[0], NULL,
           (IrFlowToken){
               .state = state_of (token->tensor), .stays = TRUE, .frame = instance->path });
    }
  for (guint i = 0; i < instance->deferred->len; i++)
    {
      const IrNode *node = program->nodes[g_array_index (instance->deferred, IrToken, i).node].node;
      lay (stand, node->inputs[0], node,
           (IrFlowToken){
               .state = IR_TOKEN_WAITS, .frame = instance->path, .iteration = instance->newest });
    }
}

static void
lay_all (Stand *stand)
{
  IrTokenExecutor *x = stand->x;
  GHashTableIter iter;
  gpointer instance;

  for (guint i = x->first; i < x->ready->len; i++)
    {
      const IrTokenReady *ready = &g_array_index (x->ready, IrTokenReady, i);
      g_hash_table_add (stand->queued,
                        &ready->iteration->nodes[x->program->nodes[ready->node].place]);
    }
  g_hash_table_iter_init (&iter, x->instances);
  while (g_hash_table_iter_next (&iter, &instance, NULL))
    lay_instance (stand, instance);
  for (guint i = 0; i < x->n_results; i++)
    if (x->has_result[i] && x->owner->outputs[i] != NULL)
      lay (stand, x->owner->outputs[i], NULL,
           (IrFlowToken){ .state = state_of (x->results[i]), .frame = x->root->path });
}

/* -- between two nodes -- */

/* (nullable) The frame of which iterations are looked at; @is_over: it was left */
static const IrTokenInstance *
frame_of (const IrTokenExecutor *x, const char *name, gboolean *is_over)
{
  const IrTokenIteration *first = x->root->iterations->pdata[0];
  const GArray *frames = x->program->frames->frames;
  gpointer child = NULL;

  *is_over = FALSE;
  for (guint32 i = 1; i < frames->len && first->children != NULL; i++)
    if (g_array_index (frames, IrFrame, i).parent == 0 &&
        g_str_equal (g_array_index (frames, IrFrame, i).name, name))
      *is_over = g_hash_table_lookup_extended (first->children, GUINT_TO_POINTER (i + 1), NULL,
                                               &child) &&
                 child == NULL;
  return child;
}

/* FALSE with %IR_EXEC_ERROR_STOPPED: all that is asked for was there. */
gboolean
ir_token_again (IrTokenExecutor *x, GError **error)
{
  static const IrFrameAt nowhere = { 0 };
  const IrResume *resume = x->state->resume;
  IrObserver *observer = x->state->observer;
  gboolean is_over;

  if (resume->frame == NULL || resume->loop != x->owner->id || !x->is_outermost)
    return ir_iterations_end (x->state, &nowhere, error);
  const IrTokenInstance *instance = frame_of (x, resume->frame, &is_over);
  const gint64 newest = instance != NULL ? instance->newest : -1;
  if (!x->has_stood && (is_over || newest >= resume->first - 1))
    {
      g_autoptr (GArray) tokens = g_array_new (FALSE, FALSE, sizeof (IrFlowToken));
      g_autoptr (GHashTable) queued = g_hash_table_new (NULL, NULL);
      Stand stand = { x, tokens, queued };
      x->has_stood = TRUE;
      lay_all (&stand);
      if (observer != NULL && observer->stand != NULL)
        observer->stand (observer, tokens);
    }
  x->state->is_on_way = !x->has_stood;
  if (!is_over && (instance == NULL || instance->oldest <= resume->iteration))
    return TRUE;
  g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED,
                       "Stopped behind the iterations that are asked for");
  return FALSE;
}
