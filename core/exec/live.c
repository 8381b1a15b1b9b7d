/* Which tensors live while a model runs, and how much memory they hold. Bytes that several values
 * share count once; items of sequences count beside the list of them. */
#include "config.h"

#include "core/exec/runner-private.h"

typedef struct
{
  guint64 bytes;
  guint count; /* values and containers that share them */
} Charge;

static gboolean
in_arena (const IrRunState *state, gconstpointer data)
{
  const guint8 *arena = state->prepared->arena, *byte = data;

  return arena != NULL && byte >= arena && byte < arena + state->prepared->memplan->peak_bytes;
}

/* What the bytes of @tensor are known by; several tensors may share them. */
static gconstpointer
key_of (const IrTensor *tensor)
{
  gconstpointer data = ir_tensor_data (tensor);

  return data != NULL ? data : tensor; /* strings and containers */
}

/* A container is counted by its list of items; the items by themselves, once. */
static void
charge (IrRunState *state, const IrTensor *tensor)
{
  gconstpointer key = key_of (tensor);
  Charge *found = g_hash_table_lookup (state->charges, key);

  if (found == NULL)
    {
      guint n_items = ir_tensor_n_items (tensor);
      found = g_new0 (Charge, 1);
      found->bytes = ir_tensor_is_container (tensor) ? n_items * sizeof (gpointer)
                                                     : ir_tensor_n_bytes (tensor);
      g_hash_table_insert (state->charges, (gpointer) key, found);
      state->live_bytes += found->bytes;
      state->peak_bytes = MAX (state->peak_bytes, state->live_bytes + state->placed_bytes);
      for (guint i = 0; i < n_items; i++)
        charge (state, ir_tensor_item (tensor, i));
    }
  found->count++;
}

static void
discharge (IrRunState *state, const IrTensor *tensor)
{
  gconstpointer key = key_of (tensor);
  Charge *found = g_hash_table_lookup (state->charges, key);

  if (found == NULL || --found->count > 0)
    return;
  state->live_bytes -= found->bytes;
  g_hash_table_remove (state->charges, key);
  for (guint i = 0; i < ir_tensor_n_items (tensor); i++)
    discharge (state, ir_tensor_item (tensor, i));
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

  return tensor != NULL ? tensor : value->initializer;
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
  if (ir_value_constant (value) == NULL)
    charge (state, tensor);
  ir_tensor_ref (tensor);
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
    discharge (state, tensor);
  ir_tensor_unref (tensor);
}

static gboolean
reaches_arena (const IrRunState *state, const IrTensor *tensor)
{
  gconstpointer data = ir_tensor_data (tensor);

  if (data != NULL)
    return in_arena (state, data);
  for (guint i = 0; i < ir_tensor_n_items (tensor); i++)
    if (reaches_arena (state, ir_tensor_item (tensor, i)))
      return TRUE;
  return FALSE;
}

/* The same contents with nothing in the arena, items of containers included. (transfer full) */
static IrTensor *
leave_arena (const IrRunState *state, IrTensor *tensor)
{
  if (!reaches_arena (state, tensor))
    return ir_tensor_ref (tensor);
  if (!ir_tensor_is_container (tensor))
    return ir_tensor_new_copy (ir_tensor_dtype (tensor), ir_tensor_rank (tensor),
                               ir_tensor_dims (tensor), ir_tensor_data (tensor));
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  for (guint i = 0; i < ir_tensor_n_items (tensor); i++)
    g_ptr_array_add (items, leave_arena (state, ir_tensor_item (tensor, i)));
  return ir_tensor_with_items (tensor, (IrTensor *const *) items->pdata);
}

/**
 * ir_run_state_publish:
 * @state: a run under way
 * @value: output of a node that has just run
 * @tensor: (transfer none): its contents
 *
 * Sets the contents of @value, copied out of the arena unless they lie where the plan put @value,
 * and captures them.
 */
void
ir_run_state_publish (IrRunState *state, const IrValue *value, IrTensor *tensor)
{
  const IrPlace *place = &state->prepared->places[value->id];
  gboolean placed = place->offset != IR_PLACE_EXTERNAL && !state->keep[value->id] &&
                    ir_tensor_data (tensor) ==
                        (gpointer) ((guint8 *) state->prepared->arena + place->offset);
  g_autoptr (IrTensor) own = placed ? ir_tensor_ref (tensor) : leave_arena (state, tensor);

  if (placed)
    state->arena_bytes = MAX (state->arena_bytes, place->offset + ir_tensor_n_bytes (tensor));
  ir_run_state_set (state, value, own);
  ir_run_capture (state, value, own);
  ir_steps_feed (state, value, state->tensors[value->id]);
}
