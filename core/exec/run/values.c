/* Which tensors live while a model runs. */
#include "config.h"

#include "core/exec/run/claims.h"

static gboolean
in_arena (const IrRunState *state, gconstpointer data)
{
  const guint8 *arena = state->prepared->arena, *byte = data;

  return arena != NULL && byte >= arena && byte < arena + state->prepared->memplan->peak_bytes;
}

static void
hold (IrRunState *state, const IrTensor *tensor)
{
  state->live_bytes += ir_account_add (state->account, tensor);
  state->peak_bytes = MAX (state->peak_bytes, state->live_bytes + state->placed_bytes);
}

static void
let_go (IrRunState *state, const IrTensor *tensor)
{
  state->live_bytes -= ir_account_remove (state->account, tensor);
}

/**
 * ir_run_state_lies_there:
 * @state: a run under way
 * @value: a value
 *
 * Returns: whether a device has it still: behind its last reader its bytes may be another's
 */
gboolean
ir_run_state_lies_there (const IrRunState *state, const IrValue *value)
{
  const IrPlaces *places = state->prepared->places;

  return places != NULL && value->producer != NULL && places->values[value->id].made_there &&
         state->ran[value->producer->id] && state->n_done <= places->values[value->id].last_there;
}

/**
 * ir_run_state_tensor:
 * @state: a run under way
 * @value: a value of any graph of its model
 *
 * Returns: (transfer none) (nullable): what @value holds now
 */
IrTensor *
ir_run_state_tensor (IrRunState *state, const IrValue *value)
{
  IrTensor *tensor = state->tensors[value->id];

  if (tensor == NULL && ir_run_state_lies_there (state, value))
    tensor = ir_copies_fetch (state, value, NULL);
  return tensor != NULL ? tensor : value->initializer;
}

/**
 * ir_run_state_plain:
 * @state: a run under way
 * @value: a value
 * @tensor: what it holds
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the same in the layout of the graph; @tensor itself if it is
 */
IrTensor *
ir_run_state_plain (const IrRunState *state,
                    const IrValue *value,
                    const IrTensor *tensor,
                    GError **error)
{
  if (ir_schedule_block (state->prepared->schedule, value) != 0 &&
      ir_tensor_rank (tensor) != (guint) value->type->rank)
    return ir_nchwc_to_graph (tensor, value->type, error);
  return ir_tensor_ref ((IrTensor *) tensor);
}

/**
 * ir_run_layout_for_kernels:
 * @schedule: of the graph of @value
 * @value: a value
 * @tensor: what it holds, in any layout
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the same in the layout that kernels expect; @tensor itself if it is
 */
IrTensor *
ir_run_layout_for_kernels (const IrSchedule *schedule,
                           const IrValue *value,
                           IrTensor *tensor,
                           GError **error)
{
  guint block = ir_schedule_block (schedule, value);
  const IrType *type = block != 0 ? ir_schedule_kept_type (schedule, value) : NULL;

  if (block == 0 || ir_tensor_rank (tensor) == (guint) type->rank)
    return ir_tensor_ref (tensor);
  g_autoptr (IrTensor)
      blocks = ir_tensor_new_alloc (type->dtype, (guint) type->rank, type->dims, error);
  if (blocks == NULL || ir_tensor_n_elements (blocks) == 0)
    return g_steal_pointer (&blocks);
  const gint64 *dims = ir_tensor_dims (tensor);
  ir_nchwc_from_plain (ir_tensor_data (tensor), ir_tensor_data_writable (blocks), dims[0], dims[1],
                       dims[2] * dims[3], block, 1);
  return g_steal_pointer (&blocks);
}

/**
 * ir_run_state_set:
 * @state: a run under way
 * @value: a value
 * @tensor: (transfer none): its contents
 *
 * Replaces what @value held.
 */
void
ir_run_state_set (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  /* A constant that is computed after a run has left its plan is the one that the plan holds. */
  if (!ir_steps_holds (state->prepared, value->id, tensor))
    {
      if (ir_value_constant (value) == NULL)
        hold (state, tensor);
      ir_tensor_ref (tensor);
    }
  if (state->claims != NULL)
    ir_claims_check (state->claims, value, tensor);
  ir_run_state_drop (state, value);
  state->tensors[value->id] = tensor;
}

/**
 * ir_run_state_drop:
 * @state: a run under way
 * @value: a value
 *
 * Lets go of what @value holds.
 */
void
ir_run_state_drop (IrRunState *state, const IrValue *value)
{
  IrTensor *tensor = g_steal_pointer (&state->tensors[value->id]);

  if (tensor == NULL)
    return;
  if (ir_steps_holds (state->prepared, value->id, tensor))
    return;
  if (ir_value_constant (value) == NULL)
    let_go (state, tensor);
  ir_tensor_unref (tensor);
}

/* Whether any of it lies in the arena; what a value holds never does, nor what a sequence has been made of. */
static gboolean
reaches_arena (const IrRunState *state, const IrTensor *tensor)
{
  gconstpointer data = ir_tensor_data (tensor);

  if (data != NULL)
    return in_arena (state, data);
  for (guint i = ir_account_n_items (state->account, tensor); i < ir_tensor_n_items (tensor); i++)
    if (reaches_arena (state, ir_tensor_item (tensor, i)))
      return TRUE;
  return FALSE;
}

/* (transfer full) (nullable) */
static IrTensor *
items_leave_arena (const IrRunState *state, IrTensor *tensor, GError **error)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_tensor_n_items (tensor); i++)
    {
      IrTensor *item = ir_run_state_lasting (state, ir_tensor_item (tensor, i), error);
      if (item == NULL)
        return NULL;
      g_ptr_array_add (items, item);
    }
  return ir_tensor_with_items (tensor, (IrTensor *const *) items->pdata);
}

/**
 * ir_run_state_lasting:
 * @state: a run under way
 * @tensor: contents of a value
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the same with nothing in the arena, items of containers included
 */
IrTensor *
ir_run_state_lasting (const IrRunState *state, IrTensor *tensor, GError **error)
{
  if (!reaches_arena (state, tensor))
    return ir_tensor_ref (tensor);
  return ir_tensor_is_container (tensor) ? items_leave_arena (state, tensor, error)
                                         : ir_tensor_copy (tensor, error);
}

/**
 * ir_run_state_publish:
 * @state: a run under way
 * @value: output of a node that has just run
 * @tensor: (transfer none): its contents
 * @error: return location for an error
 *
 * Sets the contents of @value, copied out of the arena unless they lie where the plan put @value,
 * and captures them.
 *
 * Returns: %FALSE if there is no memory
 */
gboolean
ir_run_state_publish (IrRunState *state, const IrValue *value, IrTensor *tensor, GError **error)
{
  const IrPlace *place = &state->prepared->values[value->id].place;
  gboolean placed = ir_prepared_in_arena (state->prepared, value) &&
                    ir_tensor_data (tensor) ==
                        (gpointer) ((guint8 *) state->prepared->arena + place->offset);
  g_autoptr (IrTensor) own = placed ? ir_tensor_ref (tensor)
                                    : ir_run_state_lasting (state, tensor, error);

  if (own == NULL)
    return FALSE;
  if (own != tensor)
    ir_run_count_bytes (&state->allocated_bytes, ir_tensor_n_bytes (own));
  if (placed)
    state->arena_bytes = MAX (state->arena_bytes, place->offset + ir_tensor_n_bytes (tensor));
  ir_run_state_set (state, value, own);
  ir_run_capture (state, value, own);
  ir_steps_feed (state, value, state->tensors[value->id]);
  return TRUE;
}

/**
 * ir_run_state_take:
 * @state: a run under way
 * @value: a value that no plan holds, and no constant
 *
 * For what is going to be filled anew: its bytes are counted until ir_run_state_refill() or ir_run_state_uncount().
 *
 * Returns: (transfer full) (nullable): what @value held; it holds nothing now
 */
IrTensor *
ir_run_state_take (IrRunState *state, const IrValue *value)
{
  return g_steal_pointer (&state->tensors[value->id]);
}

/* Whether what @value holds is counted, and referred to, for the value alone. */
static gboolean
is_own (const IrRunState *state, const IrValue *value, const IrTensor *tensor)
{
  return tensor != NULL && !ir_steps_holds (state->prepared, value->id, tensor) &&
         ir_value_constant (value) == NULL;
}

/**
 * ir_run_state_accept:
 * @state: a run under way
 * @value: a value
 * @tensor: (inout): its contents, counted for whoever has them; %NULL behind the call if @value has them now
 *
 * As ir_run_state_set(), but that nothing is counted anew where contents only move.
 */
void
ir_run_state_accept (IrRunState *state, const IrValue *value, IrTensor **tensor)
{
  if (!is_own (state, value, *tensor))
    {
      ir_run_state_set (state, value, *tensor);
      return;
    }
  if (state->claims != NULL)
    ir_claims_check (state->claims, value, *tensor);
  ir_run_state_drop (state, value);
  state->tensors[value->id] = g_steal_pointer (tensor);
}

/**
 * ir_run_state_hand_out:
 * @state: a run under way
 * @value: a value
 *
 * Returns: (transfer full) (nullable): what @value held, counted for whoever has it now
 */
IrTensor *
ir_run_state_hand_out (IrRunState *state, const IrValue *value)
{
  IrTensor *tensor = ir_run_state_tensor (state, value);

  if (tensor == NULL)
    return NULL;
  if (tensor == state->tensors[value->id] && is_own (state, value, tensor))
    return ir_run_state_take (state, value);
  hold (state, tensor);
  ir_tensor_ref (tensor);
  ir_run_state_drop (state, value);
  return tensor;
}

/**
 * ir_run_state_uncount:
 * @state: a run under way
 * @tensor: what ir_run_state_take() has given
 *
 * It is no longer what the value held.
 */
void
ir_run_state_uncount (IrRunState *state, const IrTensor *tensor)
{
  let_go (state, tensor);
}

/**
 * ir_run_state_refill:
 * @state: a run under way
 * @value: a value
 * @tensor: (transfer full): what ir_run_state_take() has given of it, with new contents
 *
 * As ir_run_state_publish(), of what needs no more room than before.
 */
void
ir_run_state_refill (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  if (state->claims != NULL)
    ir_claims_check (state->claims, value, tensor);
  state->tensors[value->id] = tensor;
  ir_run_capture (state, value, tensor);
  ir_steps_feed (state, value, tensor);
}
