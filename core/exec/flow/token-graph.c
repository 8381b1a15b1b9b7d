/* The executor of graphs that tokens move through. A token is the contents of a value, or dead, and
 * belongs to one iteration of one instance of a frame. A node runs when it has all tokens that it waits
 * for; what that means, and where its own tokens go, is the column TOKENS of its row. Nodes run one after
 * the other, in the order in which they became ready, so the same graph gives the same bits however many
 * iterations are in flight. All state is on the heap; an iteration is forgotten as soon as nothing more
 * can happen in it.
 *
 * Sources: Yu et al., Dynamic control flow in large-scale machine learning, EuroSys 2018; the rules of
 * deadness are those of TensorFlow's executor (propagator_state.cc). */
#include "config.h"

#include "core/exec/flow/token-private.h"

#define MAX_PARALLEL 1000 /* iterations in flight, whatever an Enter asks for: a bound on memory */

/* What is handed over. */
typedef struct
{
  IrTensor *tensor; /* (nullable) of controls, and where it is dead */
  gboolean is_live, from_enter;
  gboolean is_own; /* who takes it keeps it, in place of who gives it */
} Handed;

/* -- handing over -- */

static void
push (IrTokenExecutor *x, IrTokenIteration *iteration, guint32 index)
{
  const IrTokenReady ready = { iteration, index };

  if (x->first > 1024 && x->first > x->ready->len / 2)
    {
      g_array_remove_range (x->ready, 0, x->first);
      x->first = 0;
    }
  g_array_append_val (x->ready, ready);
  iteration->n_ready++;
}

static const char *
producer_label (const IrValue *value, char **label)
{
  *label = value != NULL && value->producer != NULL ? ir_node_label (value->producer) : NULL;
  return *label != NULL ? *label : value != NULL ? value->name : "nothing";
}

/* Fires once, with the live input; a second one is an error, as nothing says which counts. */
static gboolean
take_merge (IrTokenExecutor *x,
            IrTokenIteration *iteration,
            const IrTokenNode *node,
            guint32 slot,
            Handed handed,
            GError **error)
{
  IrTokenWaiting *own = &iteration->nodes[node->place];
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;

  if (slot != IR_TOKEN_CONTROL)
    iteration->came[node->first_data + slot] = TRUE;
  if (slot == IR_TOKEN_CONTROL)
    own->pending -= 2;
  else if (!handed.is_live)
    own->dead = handed.from_enter ? node->n_data : own->dead + 1;
  else if (own->live != 0)
    return ir_token_fail (
        x, iteration, node->node, error,
        "two of its inputs are live, from %s and from %s; let both come from the two outputs "
        "of Switches of one predicate",
        producer_label (node->data[own->live - 1], &first),
        producer_label (node->data[slot], &second));
  else
    {
      own->live = slot + 1;
      own->pending -= 1;
      iteration->data[node->first_data + slot] = handed.is_own ? handed.tensor
                                                               : ir_token_hold (x, handed.tensor);
    }
  if (!own->is_ready && (own->pending == 0 || (own->pending == 1 && own->dead >= node->n_data)))
    {
      own->is_ready = TRUE;
      push (x, iteration, (guint32) (node - x->program->nodes));
    }
  return TRUE;
}

static gboolean
take (IrTokenExecutor *x,
      IrTokenIteration *iteration,
      guint32 index,
      guint32 slot,
      Handed handed,
      GError **error)
{
  const IrTokenNode *node = &x->program->nodes[index];
  IrTokenWaiting *own = &iteration->nodes[node->place];

  if (node->rule == IR_TOKENS_MERGE)
    return take_merge (x, iteration, node, slot, handed, error);
  if (own->pending == 0 || (slot != IR_TOKEN_CONTROL && iteration->came[node->first_data + slot]))
    return ir_token_fail (
        x, iteration, node->node, error,
        "was handed a second value of an input in one iteration; a loop has one Exit for each "
        "of its variables, behind the Switch of its condition");
  if (slot != IR_TOKEN_CONTROL)
    {
      iteration->came[node->first_data + slot] = TRUE;
      iteration->data[node->first_data + slot] = handed.is_own ? handed.tensor
                                                               : ir_token_hold (x, handed.tensor);
    }
  own->dead += !handed.is_live;
  if (--own->pending == 0)
    {
      own->is_ready = TRUE;
      push (x, iteration, index);
    }
  return TRUE;
}

/* An output of the graph. */
static gboolean
give (IrTokenExecutor *x, const IrTokenNode *node, guint32 output, IrTensor *tensor, GError **error)
{
  if (x->has_result[output])
    return ir_token_fail (x, NULL, node->node, error, "gave an output of the graph twice");
  x->has_result[output] = TRUE;
  x->results[output] = ir_token_hold (x, tensor);
  return TRUE;
}

/* Hands the tokens of a node to all that wait for them in @iteration. @outputs: by slot, NULL is dead; @own: (nullable) the
 * same, of which those that the last one takes are taken; @is_dead: of those that wait for the node itself */
static gboolean
hand_on (IrTokenExecutor *x,
         IrTokenIteration *iteration,
         guint32 index,
         IrTensor *const *outputs,
         IrTensor **own,
         gboolean is_dead,
         GError **error)
{
  const IrTokenNode *node = &x->program->nodes[index];

  for (guint i = 0; i < node->n_edges; i++)
    {
      const IrTokenEdge *edge = &node->edges[i];
      gboolean control = edge->from_slot == IR_TOKEN_CONTROL;
      IrTensor *tensor = control ? NULL : outputs[edge->from_slot];
      const Handed handed = { tensor, control ? !is_dead : tensor != NULL,
                              node->rule == IR_TOKENS_ENTER, own != NULL && edge->is_last };
      if (edge->to == IR_TOKEN_OUTPUT
              ? !give (x, node, edge->to_slot, tensor, error)
              : !take (x, iteration, edge->to, edge->to_slot, handed, error))
        return FALSE;
      if (handed.is_own)
        own[edge->from_slot] = NULL;
    }
  return TRUE;
}

/* -- frames -- */

/* What is there in an iteration as soon as it begins. */
static gboolean
begin_iteration (IrTokenExecutor *x, IrTokenIteration *iteration, GError **error)
{
  IrTokenInstance *instance = iteration->instance;
  const GArray *fixed = x->program->by_frame[instance->frame].fixed;

  for (guint i = 0; i < fixed->len; i++)
    {
      const IrTokenNode *node = &x->program->nodes[g_array_index (fixed, guint32, i)];
      for (guint k = 0; k < node->n_data; k++)
        {
          const IrValue *value = node->data[k];
          IrTensor *tensor = value != NULL ? ir_run_state_tensor (x->state, value) : NULL;
          const Handed handed = { tensor, tensor != NULL, FALSE, FALSE };
          if (!ir_token_is (x->program->graph, value) &&
              !take (x, iteration, g_array_index (fixed, guint32, i), k, handed, error))
            return FALSE;
        }
    }
  for (guint i = 0; i < instance->invariants->len; i++)
    {
      const IrToken *token = &g_array_index (instance->invariants, IrToken, i);
      if (!hand_on (x, iteration, token->node, &token->tensor, NULL, token->tensor == NULL, error))
        return FALSE;
    }
  return TRUE;
}

/* (nullable) The one after the newest */
static IrTokenIteration *
next_iteration (IrTokenExecutor *x, IrTokenInstance *instance, const IrNode *next, GError **error)
{
  const IrFrame *frame = &g_array_index (x->program->frames->frames, IrFrame, instance->frame);
  const IrNode *loop = ir_model_live_node (x->program->graph->model, frame->loop_cond);

  const IrValue *condition = loop != NULL ? ir_node_input (loop, 0) : NULL;

  if (!ir_run_count_iteration (x->state, loop != NULL ? loop : next, (guint64) instance->newest + 1,
                               condition != NULL ? condition->name : "", error))
    {
      const IrTokenIteration last = { .instance = instance, .number = instance->newest };
      ir_token_say_where (x, &last, error);
      return NULL;
    }
  g_array_set_size (instance->dead_exits, 0);
  x->n_begun++;
  IrTokenIteration *iteration = ir_token_iteration_new (x, instance, instance->newest + 1);
  return begin_iteration (x, iteration, error) ? iteration : NULL;
}

/* (nullable) The instance of the frame that an Enter leads into; the first that comes makes it. */
static IrTokenInstance *
entered (IrTokenExecutor *x, IrTokenIteration *iteration, const IrTokenNode *node, GError **error)
{
  gpointer key = GUINT_TO_POINTER (node->child + 1);
  IrTokenInstance *child = iteration->children != NULL
                               ? g_hash_table_lookup (iteration->children, key)
                               : NULL;

  if (child != NULL)
    return child;
  if (iteration->children == NULL)
    iteration->children = g_hash_table_new (NULL, NULL);
  child = ir_token_instance_new (x, node->child, iteration);
  g_hash_table_insert (iteration->children, key, child);
  iteration->n_children++;
  return begin_iteration (x, ir_token_iteration_new (x, child, 0), error) ? child : NULL;
}

static gboolean
is_over (const IrTokenInstance *instance, const IrTokenIteration *iteration)
{
  return iteration->n_ready == 0 && iteration->n_children == 0 &&
         (iteration->number > 0 || instance->pending_enters == 0);
}

static gboolean
release_deferred (IrTokenExecutor *x, IrTokenInstance *instance, GError **error)
{
  g_autoptr (GArray) tokens = NULL;
  gboolean good = TRUE;

  if (instance->deferred->len == 0)
    return TRUE;
  tokens = g_steal_pointer (&instance->deferred);
  instance->deferred = g_array_new (FALSE, FALSE, sizeof (IrToken));
  guint32 first = g_array_index (tokens, IrToken, 0).node;
  IrTokenIteration *next = next_iteration (x, instance, x->program->nodes[first].node, error);
  for (guint i = 0; i < tokens->len; i++)
    {
      IrToken *token = &g_array_index (tokens, IrToken, i);
      if (good && next != NULL)
        ir_token_tell (x, next, x->program->nodes[token->node].node, IR_FLOW_NEXT, -1);
      good = good && next != NULL &&
             hand_on (x, next, token->node, &token->tensor, NULL, FALSE, error);
      ir_token_let_go (x, &token->tensor);
    }
  return good;
}

/* Forgets the iterations in which nothing more can happen, in order; one that waited for room may begin. */
static gboolean
end_iterations (IrTokenExecutor *x, IrTokenInstance *instance, GError **error)
{
  while (instance->iterations->len > 0)
    {
      IrTokenIteration *oldest = instance->iterations->pdata[0];
      if (!is_over (instance, oldest))
        break;
      if (oldest->number == instance->newest && instance->deferred->len == 0)
        ir_token_note_stalled (x, oldest);
      g_ptr_array_remove_index (instance->iterations, 0);
      instance->oldest++;
      ir_token_iteration_free (x, oldest);
      if (!release_deferred (x, instance, error))
        return FALSE;
    }
  return TRUE;
}

/* After something has ended in @instance. A frame that is over hands out its dead Exits, and may be the
 * last that the iteration around waited for. */
static gboolean
settle (IrTokenExecutor *x, IrTokenInstance *instance, GError **error)
{
  while (instance->parent != NULL)
    {
      IrTokenIteration *parent = instance->parent;
      gboolean good = end_iterations (x, instance, error);

      if (!good || instance->iterations->len > 0 || instance->pending_enters > 0)
        return good;
      ir_token_tell_end (x, instance);
      for (guint i = 0; good && i < instance->dead_exits->len; i++)
        {
          IrTensor *const dead = NULL;
          good = hand_on (x, parent, g_array_index (instance->dead_exits, guint32, i), &dead, NULL,
                          TRUE, error);
        }
      parent->n_children--;
      g_hash_table_insert (parent->children, GUINT_TO_POINTER (instance->frame + 1), NULL);
      ir_token_instance_free (x, instance);
      if (!good)
        return FALSE;
      instance = parent->instance;
    }
  return TRUE;
}

/* -- nodes -- */

/* What a node reads in @slot. (nullable) */
static IrTensor *
input_of (IrTokenExecutor *x,
          const IrTokenIteration *iteration,
          const IrTokenNode *node,
          guint slot)
{
  const IrValue *value = ir_node_input (node->node, slot);

  for (guint i = 0; i < node->n_data; i++)
    if (node->data[i] == value)
      return iteration->data[node->first_data + i];
  return value != NULL ? ir_run_state_tensor (x->state, value) : NULL;
}

/* The token that a node moves on: of a Merge the live one. (transfer full): out of where it waited, if it is a token */
static IrTensor *
take_moved (IrTokenExecutor *x, const IrTokenIteration *iteration, const IrTokenNode *node)
{
  const guint live = iteration->nodes[node->place].live;

  for (guint i = 0; i < node->n_data; i++)
    if (node->rule == IR_TOKENS_MERGE ? i + 1 == live : node->data[i] == node->node->inputs[0])
      return g_steal_pointer (&iteration->data[node->first_data + i]);
  return ir_token_hold (x, ir_run_state_tensor (x->state, node->node->inputs[0]));
}

/* One bool that decides. */
static gboolean
read_predicate (IrTokenExecutor *x,
                const IrTokenIteration *iteration,
                const IrTokenNode *node,
                guint slot,
                gboolean *outcome,
                GError **error)
{
  IrTensor *tensor = input_of (x, iteration, node, slot);
  const IrValue *value = ir_node_input (node->node, slot);
  IrContext *context = x->program->graph->model->context;

  if (tensor == NULL || ir_tensor_is_container (tensor) || ir_tensor_data (tensor) == NULL ||
      ir_tensor_dtype (tensor) != IR_DTYPE_BOOL || ir_tensor_n_elements (tensor) != 1)
    {
      g_autofree char *found = tensor != NULL
                                   ? ir_type_to_string (context, ir_tensor_type (tensor, context))
                                   : g_strdup ("nothing");
      return ir_token_fail (x, iteration, node->node, error,
                            "the condition %s is %s, needed one bool; check what computes it",
                            value != NULL ? value->name : "", found);
    }
  *outcome = ir_tensor_get_int64 (tensor, 0) != 0;
  return TRUE;
}

/* Of what goes round in a loop: its shape may change, its element type not. An optional one may become what it holds. */
static gboolean
check_carried (IrTokenExecutor *x,
               const IrTokenIteration *iteration,
               const IrTokenNode *node,
               guint slot,
               const IrTensor *tensor,
               GError **error)
{
  const IrValue *value = node->node->inputs[slot];
  const IrType *type = node->node->outputs[0] != NULL ? node->node->outputs[0]->type : NULL;
  IrContext *context = x->program->graph->model->context;

  if (type == NULL || value->producer == NULL || !ir_edge_is_back (value->producer, node->node) ||
      type->kind == IR_TYPE_OPTIONAL ||
      (type->kind == ir_tensor_kind (tensor) &&
       (type->dtype == IR_DTYPE_UNDEFINED || type->dtype == ir_tensor_dtype (tensor))))
    return TRUE;
  g_autofree char *was = ir_type_to_string (context, type),
                  *is = ir_type_to_string (context, ir_tensor_type (tensor, context)),
                  *next = ir_node_label (value->producer);
  return ir_token_fail (
      x, iteration, node->node, error,
      "the carried value %s was %s before iteration %" G_GINT64_FORMAT
      " and is %s behind it; it has to keep its element type, so cast it in front of %s",
      value->name, was, iteration->number - 1, is, next);
}

/* A node with a kernel, or with graphs of its own. @outputs: (out) (transfer full) by slot */
static gboolean
run_strict (IrTokenExecutor *x,
            IrTokenIteration *iteration,
            const IrTokenNode *node,
            IrTensor **outputs,
            GError **error)
{
  IrRunState *state = x->state;
  const IrNode *own = node->node;

  const IrFrameAt at = { state->frame, NULL, iteration->instance->path,
                         ir_token_frame_name (x, iteration->instance->frame), iteration->number };

  for (guint i = 0; i < node->n_data; i++)
    ir_run_state_accept (state, node->data[i], &iteration->data[node->first_data + i]);
  if (iteration->instance->path != NULL && iteration->instance->parent != NULL)
    state->frame = &at;
  gboolean good = ir_run_before (state, own, NULL, error) && ir_run_node (state, own, error) &&
                  ir_run_after (state, own, NULL, error);
  state->frame = at.outer;
  for (guint i = 0; i < own->n_outputs; i++)
    if (own->outputs[i] != NULL)
      {
        if (good)
          outputs[i] = ir_run_state_hand_out (state, own->outputs[i]);
        else
          ir_run_state_drop (state, own->outputs[i]);
      }
  for (guint i = 0; i < node->n_data; i++)
    ir_run_state_drop (state, node->data[i]);
  return good || ir_token_say_where (x, iteration, error);
}

/* Keeps what a node has moved on, in the iteration that it is of: that of an Enter is of the frame that it
 * leads into, that of an Exit of the one around, that of a NextIteration of the next. */
static void
capture_moved (IrTokenExecutor *x,
               const IrTokenIteration *iteration,
               const IrTokenNode *node,
               IrTensor **outputs)
{
  IrRunState *state = x->state;
  const IrFrameAt *outer = state->frame;
  const IrTokenIteration *in = node->rule == IR_TOKENS_EXIT ? iteration->instance->parent
                                                            : iteration;
  g_autofree char *path = NULL;

  if (state->run->iterations != NULL && in != NULL)
    path = node->rule == IR_TOKENS_ENTER ? ir_token_path_below (x, in, node->child)
                                         : g_strdup (in->instance->path);
  const IrFrameAt at = { outer, NULL, path, NULL,
                         node->rule == IR_TOKENS_ENTER            ? 0
                         : node->rule == IR_TOKENS_NEXT_ITERATION ? iteration->number + 1
                         : in != NULL                             ? in->number
                                                                  : 0 };
  if (path != NULL && *path != '\0')
    state->frame = &at;
  for (guint i = 0; i < node->node->n_outputs; i++)
    {
      const IrValue *value = node->node->outputs[i];
      if (outputs[i] != NULL && value != NULL &&
          state->prepared->values[value->id].keep != IR_KEEP_NOT)
        ir_run_capture (state, value, outputs[i]);
    }
  state->frame = outer;
}

/* One that moves a token and computes nothing. */
static gboolean
forward (IrTokenExecutor *x,
         IrTokenIteration *iteration,
         const IrTokenNode *node,
         IrTensor **outputs,
         GError **error)
{
  const IrTokenWaiting *own = &iteration->nodes[node->place];
  guint n_outputs = node->node->n_outputs;
  gboolean outcome = TRUE;
  guint slot = 0;

  x->state->ran[node->node->id] = TRUE;
  if (node->rule == IR_TOKENS_CONTROL_TRIGGER)
    {
      ir_token_tell (x, iteration, node->node, IR_FLOW_FIRED, -1);
      return TRUE;
    }
  if (node->rule == IR_TOKENS_SWITCH)
    {
      if (!read_predicate (x, iteration, node, 1, &outcome, error))
        return FALSE;
      slot = outcome ? 1 : 0;
    }
  else if (node->rule == IR_TOKENS_LOOP_COND &&
           !read_predicate (x, iteration, node, 0, &outcome, error))
    return FALSE;
  IrTensor *tensor = take_moved (x, iteration, node);
  if (tensor == NULL)
    return ir_token_fail (x, iteration, node->node, error, "input 0 has no contents");
  if (node->rule == IR_TOKENS_MERGE &&
      !check_carried (x, iteration, node, own->live - 1, tensor, error))
    {
      ir_token_let_go (x, &tensor);
      return FALSE;
    }
  if (node->rule == IR_TOKENS_MERGE)
    ir_token_tell (x, iteration, node->node, IR_FLOW_MERGED, (gint) own->live - 1);
  else if (node->rule == IR_TOKENS_SWITCH || node->rule == IR_TOKENS_LOOP_COND)
    ir_token_tell (x, iteration, node->node, IR_FLOW_FIRED, outcome);
  if (slot < n_outputs)
    outputs[slot] = tensor;
  else
    ir_token_let_go (x, &tensor);
  if (node->rule == IR_TOKENS_MERGE && n_outputs > 1 && node->node->outputs[1] != NULL)
    {
      g_autoptr (IrTensor) index = ir_tensor_new_scalar (IR_DTYPE_INT32, own->live - 1);
      outputs[1] = ir_token_hold (x, index);
    }
  capture_moved (x, iteration, node, outputs);
  return TRUE;
}

static gboolean
enter (IrTokenExecutor *x,
       IrTokenIteration *iteration,
       guint32 index,
       IrTensor *tensor,
       GError **error)
{
  const IrTokenNode *node = &x->program->nodes[index];
  IrTokenInstance *child = entered (x, iteration, node, error);

  if (child == NULL)
    return FALSE;
  if (tensor != NULL)
    ir_token_tell (x, ir_token_iteration_at (child, 0), node->node, IR_FLOW_ENTERED, -1);
  if (node->is_constant)
    {
      IrToken token = { index, ir_token_hold (x, tensor) };
      g_array_append_val (child->invariants, token);
    }
  for (gint64 i = child->oldest; i <= (node->is_constant ? child->newest : 0); i++)
    if (!hand_on (x, ir_token_iteration_at (child, i), index, &tensor, NULL, tensor == NULL, error))
      return FALSE;
  child->pending_enters--;
  return settle (x, child, error);
}

/* A dead token ends here, so a loop ends; a live one waits where too many iterations are in flight. */
static gboolean
forward_next (IrTokenExecutor *x,
              IrTokenIteration *iteration,
              guint32 index,
              IrTensor **tensor,
              GError **error)
{
  IrTokenInstance *instance = iteration->instance;
  guint parallel = MIN (x->program->by_frame[instance->frame].parallel, MAX_PARALLEL);
  IrTokenIteration *next;

  if (*tensor == NULL)
    return TRUE;
  if (iteration->number < instance->newest)
    next = ir_token_iteration_at (instance, iteration->number + 1);
  else if (instance->iterations->len >= parallel)
    {
      IrToken token = { index, ir_token_hold (x, *tensor) };
      g_array_append_val (instance->deferred, token);
      ir_token_tell (x, iteration, x->program->nodes[index].node, IR_FLOW_DEFERRED, -1);
      return TRUE;
    }
  else
    next = next_iteration (x, instance, x->program->nodes[index].node, error);
  if (next != NULL)
    ir_token_tell (x, next, x->program->nodes[index].node, IR_FLOW_NEXT, -1);
  return next != NULL && hand_on (x, next, index, tensor, tensor, FALSE, error);
}

/* A dead Exit is told of when the frame is over, if it was so in the last iteration. */
static gboolean
leave (IrTokenExecutor *x,
       IrTokenIteration *iteration,
       guint32 index,
       IrTensor *tensor,
       GError **error)
{
  IrTokenInstance *instance = iteration->instance;

  if (instance->parent == NULL)
    return ir_token_fail (x, iteration, x->program->nodes[index].node, error, "is in no frame");
  if (tensor != NULL)
    {
      ir_token_tell (x, iteration, x->program->nodes[index].node, IR_FLOW_EXITED, -1);
      return hand_on (x, instance->parent, index, &tensor, NULL, FALSE, error);
    }
  if (iteration->number == instance->newest)
    g_array_append_val (instance->dead_exits, index);
  return TRUE;
}

static gboolean
hand_over (IrTokenExecutor *x,
           IrTokenIteration *iteration,
           guint32 index,
           IrTensor **outputs,
           gboolean is_dead,
           GError **error)
{
  IrTokens rule = x->program->nodes[index].rule;

  if (rule == IR_TOKENS_ENTER)
    return enter (x, iteration, index, outputs[0], error);
  if (rule == IR_TOKENS_EXIT)
    return leave (x, iteration, index, outputs[0], error);
  if (rule == IR_TOKENS_NEXT_ITERATION)
    return forward_next (x, iteration, index, outputs, error);
  return hand_on (x, iteration, index, outputs, outputs, is_dead, error);
}

static gboolean
run_ready (IrTokenExecutor *x, IrTokenIteration *iteration, guint32 index, GError **error)
{
  const IrTokenNode *node = &x->program->nodes[index];
  const IrTokenWaiting *own = &iteration->nodes[node->place];
  IrTokenInstance *instance = iteration->instance;
  gboolean is_dead = node->rule == IR_TOKENS_MERGE             ? own->live == 0
                     : node->rule == IR_TOKENS_CONTROL_TRIGGER ? FALSE
                                                               : own->dead > 0;
  IrTensor *few[4] = { NULL };
  guint n = node->node->n_outputs;
  IrTensor **outputs = n > G_N_ELEMENTS (few) ? g_new0 (IrTensor *, n) : few;
  gboolean good = TRUE;

  ir_token_tell (x, iteration, is_dead ? node->node : NULL, IR_FLOW_DEAD, -1);
  if (!is_dead)
    good = node->rule == IR_TOKENS_STRICT ? run_strict (x, iteration, node, outputs, error)
                                          : forward (x, iteration, node, outputs, error);
  for (guint i = 0; i < node->n_data; i++)
    ir_token_let_go (x, &iteration->data[node->first_data + i]);
  good = good && hand_over (x, iteration, index, outputs, is_dead, error);
  for (guint i = 0; i < n; i++)
    ir_token_let_go (x, &outputs[i]);
  if (outputs != few)
    g_free (outputs);
  iteration->n_ready--;
  return good && settle (x, instance, error);
}

/* -- the graph -- */

/* Why @value is dead: in front of Exits, which are live when what they read is. */
static gboolean
explain_dead (IrTokenExecutor *x, const char *name, const IrValue *value, GError **error)
{
  while (ir_node_tokens (value->producer) == IR_TOKENS_EXIT &&
         ir_token_is (x->program->graph, value->producer->inputs[0]))
    value = value->producer->inputs[0];
  const IrCondition *condition = ir_frames_value_condition (x->program->frames, value);
  if (ir_condition_is_never (condition))
    return ir_token_fail (x, NULL, value->producer, error,
                          "%s is dead: not all that this node reads can be live in one iteration; "
                          "let it read what comes from one output of a Switch",
                          name);
  g_autofree char *when = ir_condition_text (x->program->graph->model, condition);
  return ir_token_fail (x, NULL, value->producer, error,
                        "%s is dead: it is computed only where %s; bring both cases together by a "
                        "Merge",
                        name, when);
}

/* A dead output, or one that never came. */
static gboolean
explain_missing (IrTokenExecutor *x, guint output, GError **error)
{
  const IrValue *value = ir_graph_output (x->program->graph, output);
  const IrNode *node = value != NULL ? value->producer : NULL;
  const char *name = x->owner->outputs[output]->name;

  if (node == NULL)
    return ir_token_fail (x, NULL, x->owner, error, "%s has no contents", name);
  if (x->has_result[output])
    return explain_dead (x, name, value, error);
  ir_token_note_stalled (x, x->root->iterations->pdata[0]);
  return ir_token_fail (
      x, NULL, node, error,
      "%s was never computed%s%s; the graph stalls there: let all that a node reads come in the same iterations",
      name, x->stalled != NULL ? ": " : "", x->stalled != NULL ? x->stalled : "");
}

static gboolean
publish (IrTokenExecutor *x, GError **error)
{
  for (guint i = 0; i < x->owner->n_outputs; i++)
    {
      const IrValue *inner = ir_graph_output (x->program->graph, i);
      IrTensor *tensor = ir_token_is (x->program->graph, inner) ? x->results[i]
                         : inner != NULL ? ir_run_state_tensor (x->state, inner)
                                         : NULL;
      if (x->owner->outputs[i] == NULL)
        continue;
      if (tensor == NULL)
        return explain_missing (x, i, error);
      if (!ir_run_state_publish (x->state, x->owner->outputs[i], tensor, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
begin (IrTokenExecutor *x, GError **error)
{
  const GArray *sources = x->program->sources;
  IrTokenIteration *first;

  x->root = ir_token_instance_new (x, 0, NULL);
  first = ir_token_iteration_new (x, x->root, 0);
  if (!begin_iteration (x, first, error))
    return FALSE;
  for (guint i = 0; i < sources->len; i++)
    {
      guint32 index = g_array_index (sources, guint32, i);
      first->nodes[x->program->nodes[index].place].is_ready = TRUE;
      push (x, first, index);
    }
  return TRUE;
}

static gboolean
execute (IrTokenExecutor *x, GError **error)
{
  const gboolean again = x->state->resume != NULL;

  if ((!ir_token_resume (x) && !begin (x, error)) || (again && !ir_token_again (x, error)))
    return FALSE;
  while (x->first < x->ready->len)
    {
      const IrTokenReady ready = g_array_index (x->ready, IrTokenReady, x->first);
      x->first++;
      if (!run_ready (x, ready.iteration, ready.node, error) ||
          (x->n_begun > x->n_seen && !ir_token_save (x, error)) ||
          (again && !ir_token_again (x, error)))
        return FALSE;
    }
  return publish (x, error);
}

/* (transfer none) Made once for each run */
static IrTokenProgram *
program_of (IrRunState *state, const IrGraph *graph)
{
  if (state->token_programs == NULL)
    state->token_programs = g_hash_table_new_full (NULL, NULL, NULL,
                                                   (GDestroyNotify) ir_token_program_unref);
  IrTokenProgram *program = g_hash_table_lookup (state->token_programs, graph);
  if (program == NULL)
    {
      program = ir_token_program_new (graph);
      g_hash_table_insert (state->token_programs, (gpointer) graph, program);
    }
  return program;
}

/* TokenGraph: runs its graph token by token. What it reads of graphs around is there already. */
gboolean
ir_token_graph_run (IrRunState *state, const IrNode *node, GError **error)
{
  const IrGraph *body = ir_node_attr_graph (node, "body");
  const char *problem = ir_node_attr_string (node, "problem", NULL);

  if (problem != NULL)
    {
      g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, problem);
      return FALSE;
    }
  if (body == NULL || ir_graph_n_outputs (body) != node->n_outputs)
    return ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL,
                             "the graph is missing, or has not as many outputs as the node");
  IrTokenExecutor x = { .state = state, .is_outermost = state->frame == NULL };
  ir_token_executor_init (&x, program_of (state, body), node);
  gboolean done = execute (&x, error);
  ir_token_executor_clear (&x);
  return done;
}

/* Switch, Merge and the others are run by the executor alone. */
gboolean
ir_token_run (IrRunState *state, const IrNode *node, GError **error)
{
  return ir_subgraph_fail (node, error, IR_EXEC_ERROR_UNSUPPORTED,
                           "moves tokens and cannot be run by itself; run the graph that it is in");
}
