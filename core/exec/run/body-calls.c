/* The calls of nodes in bodies. A body that runs again and again mostly does so on operands of the same
 * types: the call of a node is then laid out, adapted, checked and inferred once, and its outputs go
 * where they went two iterations ago, unless somebody still has that. Operands of other types have
 * it laid out anew. */
#include "config.h"

#include <string.h>

#include "core/exec/run/plan-check.h"

#define SPARE_BYTES 65536 /* of larger outputs the kernel takes longer than giving memory does */
#define N_SPARES    2     /* a carried value is read while the next one is written */
#define MAX_MISSES  8     /* operands whose types change so often are better laid out each time */

/* The memory of an output */
typedef struct
{
  IrTensor *spares[N_SPARES]; /* (nullable) (owned) given before */
  guint n_given;
  IrTensor *counted; /* (nullable) of them, what the value held: its bytes are counted still */
} Memory;

struct _IrBodyCall
{
  IrRunState *state;
  IrCall call;
  guint n_owned;        /* scratch of the call itself; what lies behind is of one iteration */
  guint n_misses;       /* so often the types were others */
  gboolean laid_out;    /* the fields above and below are there */
  const IrType **types; /* (nullable) by input: of what was there when it was laid out */
  Memory *memory;       /* (nullable) by output */
};

static void
clear (IrBodyCall *self)
{
  for (guint i = 0; self->memory != NULL && i < self->call.n_outputs; i++)
    for (guint k = 0; k < N_SPARES; k++)
      g_clear_pointer (&self->memory[i].spares[k], ir_tensor_unref);
  if (self->laid_out)
    ir_call_clear (&self->call);
  g_clear_pointer (&self->memory, g_free);
  g_clear_pointer (&self->types, g_free);
  self->laid_out = FALSE;
}

/**
 * ir_body_calls_free:
 * @calls: (transfer full) (nullable): of a run
 * @n_nodes: of its model
 *
 * Lets go of them, and of the memory that their outputs had.
 */
void
ir_body_calls_free (IrBodyCall **calls, guint n_nodes)
{
  for (guint id = 0; calls != NULL && id < n_nodes; id++)
    if (calls[id] != NULL)
      {
        clear (calls[id]);
        g_free (calls[id]);
      }
  g_free (calls);
}

/* -- laying out -- */

/* What is not in the order of the graph, or lies where the plan put it, goes the long way. */
static gboolean
is_eligible (const IrRunState *state, const IrNode *node)
{
  const IrPrepared *prepared = state->prepared;

  if (node->op == NULL || node->op->infer == NULL ||
      (node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS)) ||
      ir_prepared_choice (prepared, node)->backend->memory != NULL)
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && ir_schedule_block (prepared->schedule, node->inputs[i]) != 0)
      return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && (ir_schedule_block (prepared->schedule, node->outputs[i]) ||
                                     ir_prepared_in_arena (prepared, node->outputs[i])))
      return FALSE;
  return TRUE;
}

/* Whether the operand is given anew in each iteration */
static gboolean
is_given (const IrNode *node, guint slot)
{
  return node->inputs[slot] != NULL && ir_value_constant (node->inputs[slot]) == NULL;
}

static gboolean
note_types (IrBodyCall *self, const IrNode *node)
{
  IrCall *call = &self->call;

  self->types = g_new0 (const IrType *, MAX (node->n_inputs, 1));
  for (guint i = 0; i < node->n_inputs; i++)
    {
      if (!is_given (node, i))
        continue;
      const IrTensor *tensor = ir_run_state_tensor (self->state, node->inputs[i]);
      if (tensor == NULL || ir_tensor_sparse_values (tensor) != NULL)
        return FALSE;
      self->types[i] = call->inputs[i].type = ir_tensor_type (tensor, call->context);
      if (!ir_step_is_plain (self->types[i]))
        return FALSE;
    }
  return TRUE;
}

/* An adapter has not put something else in the place of what is given. */
static gboolean
keeps_operands (const IrBodyCall *self, const IrNode *node)
{
  const IrCall *call = &self->call;

  if (call->n_inputs < node->n_inputs || call->n_outputs != node->n_outputs)
    return FALSE;
  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].align_axis != 0 ||
        (call->inputs[i].present && call->inputs[i].type == NULL) ||
        (i < node->n_inputs && self->types[i] != NULL &&
         (call->inputs[i].tensor != NULL || call->inputs[i].type != self->types[i])))
      return FALSE;
  return TRUE;
}

static gboolean
infers_types (IrCall *call)
{
  for (guint i = 0; i < call->n_outputs; i++)
    call->outputs[i].type = NULL;
  if (!ir_call_check (call, NULL) || !call->op->infer (call, NULL))
    return FALSE;
  for (guint i = 0; i < call->n_outputs; i++)
    if (call->outputs[i].present && !ir_step_is_plain (call->outputs[i].type))
      return FALSE;
  return TRUE;
}

static gboolean
lay_out (IrBodyCall *self, const IrNode *node)
{
  IrCall *call = &self->call;

  ir_call_layout (call, node);
  self->laid_out = TRUE;
  if (!note_types (self, node))
    return FALSE;
  ir_call_adapt (call);
  if (!keeps_operands (self, node) || !infers_types (call))
    return FALSE;
  call->shape_static = ir_step_is_shape_static (call);
  self->n_owned = ir_call_n_owned (call);
  self->memory = g_new0 (Memory, MAX (call->n_outputs, 1));
  return TRUE;
}

/**
 * ir_body_call_make:
 * @state: a run under way, in a body
 * @node: a node of it that has just run, whose operands have their contents still
 *
 * Keeps the call of @node, where it can be kept, for the next iterations.
 */
void
ir_body_call_make (IrRunState *state, const IrNode *node)
{
  if (state->body_calls == NULL)
    state->body_calls = g_new0 (IrBodyCall *, state->prepared->n_nodes + 1);
  IrBodyCall *self = state->body_calls[node->id];
  if (self == NULL)
    {
      self = state->body_calls[node->id] = g_new0 (IrBodyCall, 1);
      self->state = state;
      self->n_misses = is_eligible (state, node) ? 0 : MAX_MISSES;
    }
  if (self->n_misses < MAX_MISSES && !lay_out (self, node))
    {
      clear (self);
      self->n_misses = MAX_MISSES;
    }
}

/* -- running -- */

/**
 * ir_body_call_fits:
 * @state: a run under way, in a body
 * @node: the node of it that is next
 *
 * Returns: (transfer none) (nullable): its call, with the operands that are there now; %NULL where it has
 *   to be laid out
 */
IrBodyCall *
ir_body_call_fits (IrRunState *state, const IrNode *node)
{
  IrBodyCall *self = state->body_calls != NULL ? state->body_calls[node->id] : NULL;

  if (self == NULL || !self->laid_out)
    return NULL;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      if (self->types[i] == NULL)
        continue;
      const IrTensor *tensor = ir_run_state_tensor (state, node->inputs[i]);
      if (tensor == NULL || !ir_step_has_type (tensor, self->types[i]))
        {
          clear (self);
          self->n_misses++;
          return NULL;
        }
      self->call.inputs[i].tensor = tensor;
    }
  return self;
}

static gboolean
has_shape (const IrTensor *tensor, IrDtype dtype, guint rank, const gint64 *dims)
{
  return ir_tensor_dtype (tensor) == dtype && ir_tensor_rank (tensor) == rank &&
         memcmp (ir_tensor_dims (tensor), dims, sizeof (gint64) * rank) == 0;
}

static void
uncount (IrBodyCall *self, Memory *memory)
{
  if (memory->counted != NULL)
    ir_run_state_uncount (self->state, memory->counted);
  memory->counted = NULL;
}

/* @tensor: may be given again */
static void
add_spare (IrBodyCall *self, Memory *memory, IrTensor *tensor)
{
  IrTensor **spare = &memory->spares[memory->n_given++ % N_SPARES];

  if (*spare == memory->counted)
    uncount (self, memory);
  g_clear_pointer (spare, ir_tensor_unref);
  *spare = ir_tensor_ref (tensor);
}

/* What the value held, or held an iteration before, if nobody has it any more; else new memory */
static IrTensor *
give (IrCall *call, guint output, IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  IrBodyCall *self = call->alloc_data;
  Memory *memory = &self->memory[output];

  if (memory->counted != NULL && has_shape (memory->counted, dtype, rank, dims) &&
      ir_tensor_reclaim (memory->counted))
    return ir_tensor_ref (memory->counted);
  for (guint k = 0; k < N_SPARES; k++)
    if (memory->spares[k] != NULL && has_shape (memory->spares[k], dtype, rank, dims) &&
        ir_tensor_reclaim (memory->spares[k]))
      return ir_tensor_ref (memory->spares[k]);
  IrTensor *tensor = ir_run_give_memory (self->state, call, output, dtype, rank, dims, error);
  if (tensor != NULL && ir_tensor_n_bytes (tensor) <= SPARE_BYTES)
    add_spare (self, memory, tensor);
  return tensor;
}

static gboolean
is_spare (const Memory *memory, const IrTensor *tensor)
{
  for (guint k = 0; k < N_SPARES; k++)
    if (memory->spares[k] == tensor)
      return TRUE;
  return FALSE;
}

/* The value lets go of what it held; if it alone had that, it may be filled anew. */
static void
empty_output (IrBodyCall *self, const IrValue *value, Memory *memory)
{
  IrTensor *held = self->state->tensors[value->id];

  if (held == NULL || !is_spare (memory, held) || ir_value_constant (value) != NULL)
    {
      ir_run_state_drop (self->state, value);
      return;
    }
  memory->counted = held;
  ir_tensor_unref (ir_run_state_take (self->state, value));
  if (!ir_tensor_reclaim (held))
    uncount (self, memory);
}

static gboolean
take_outputs (IrBodyCall *self, const IrNode *node, GError **error)
{
  IrCall *call = &self->call;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      g_autoptr (IrTensor) tensor = g_steal_pointer (&call->outputs[i].tensor);
      if (value == NULL)
        continue;
      if (tensor == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                             "the kernel does not compute output %u (%s)", i, value->name);
      if (tensor == self->memory[i].counted)
        {
          self->memory[i].counted = NULL;
          ir_run_state_refill (self->state, value, g_steal_pointer (&tensor));
        }
      else if (!ir_run_state_publish (self->state, value, tensor, error))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_body_call_run:
 * @self: what ir_body_call_fits() has given
 * @left: bytes that outputs may take
 * @by_ref: (out): whether the kernel has left it to the reference kernel
 * @error: return location for an error
 *
 * Returns: %TRUE if the outputs have contents
 */
gboolean
ir_body_call_run (IrBodyCall *self, gsize left, gboolean *by_ref, GError **error)
{
  IrRunState *state = self->state;
  IrCall *call = &self->call;
  const IrNode *node = call->node;

  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      empty_output (self, node->outputs[i], &self->memory[i]);
  ir_run_enter_call (state, call, state->threads, &state->prepared->scratch);
  call->max_output_bytes = left;
  call->alloc = give;
  call->alloc_data = self;
  ir_plan_check_watch (state, call);
  gboolean done = ir_run_kernel (state, ir_prepared_choice (state->prepared, node)->kernel, call,
                                 error) &&
                  !ir_call_fail_if_cut (call, error) && take_outputs (self, node, error);
  *by_ref = call->by_ref;
  ir_call_disown (call, self->n_owned);
  for (guint i = 0; i < call->n_outputs; i++)
    {
      g_clear_pointer (&call->outputs[i].tensor, ir_tensor_unref);
      uncount (self, &self->memory[i]);
    }
  return done;
}
