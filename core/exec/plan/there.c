/* Values in the memory of a back end: the memory of a plan there, constants that stay in it for all runs,
 * and the tensors of its values, whose addresses mean nothing to the host. */
#include "config.h"

#include "core/exec/memory/beside.h"
#include "core/exec/plan/plan.h"

/**
 * ir_there_is_lost:
 * @prepared: a plan
 *
 * Returns: whether what the plan had in the memory of a back end is gone with the device
 */
gboolean
ir_there_is_lost (const IrPrepared *prepared)
{
  const IrMemory *memory = prepared->places != NULL ? prepared->places->memory : NULL;

  return memory != NULL &&
         ((prepared->there.data != NULL && !memory->is_there (&prepared->there)) ||
          (prepared->constants_there.data != NULL &&
           !memory->is_there (&prepared->constants_there)) ||
          (prepared->late_there.data != NULL && !memory->is_there (&prepared->late_there)) ||
          (prepared->stats_there.data != NULL && !memory->is_there (&prepared->stats_there)));
}

static IrTensor *
tensor_at (const IrValue *value, const IrMemoryBlock *block, guint64 offset)
{
  return ir_tensor_new_static (value->type->dtype, (guint) value->type->rank, value->type->dims,
                               (guint8 *) block->data + offset, block->bytes - offset);
}

/* What has no elements has a place, too, as kernels are given its address. */
static guint64
align (const IrPrepared *prepared, guint64 bytes)
{
  guint64 unit = prepared->places->memory->align_bytes;

  return (MAX (bytes, 1) + unit - 1) / unit * unit;
}

/* Gives a constant its place at @offset, and its contents. */
static gboolean
load_constant (IrPrepared *prepared, const IrValue *value, guint64 offset, GError **error)
{
  IrTensor *given = (IrTensor *) ir_value_constant (value);
  g_autoptr (IrTensor) dense = ir_tensor_sparse_values (given) != NULL
                                   ? ir_tensor_densify (given, error)
                                   : ir_tensor_ref (given);
  IrTensor *there = dense != NULL ? tensor_at (value, &prepared->constants_there, offset) : NULL;

  prepared->values[value->id].there = there;
  return there != NULL && prepared->places->memory->copy_in ((gpointer) ir_tensor_data (there),
                                                             ir_tensor_data (dense),
                                                             ir_tensor_n_bytes (dense), error);
}

static gboolean
make_constants (IrPrepared *prepared, GError **error)
{
  const GArray *copies = prepared->places->copies;
  guint64 bytes = 0;

  for (guint i = 0; i < copies->len; i++)
    if (g_array_index (copies, IrScheduleCopy, i).once)
      bytes += align (prepared, g_array_index (copies, IrScheduleCopy, i).bytes);
  if (bytes == 0)
    return TRUE;
  if (!prepared->places->memory->alloc (bytes, &prepared->constants_there, error))
    return FALSE;
  bytes = 0;
  for (guint i = 0; i < copies->len; i++)
    {
      const IrScheduleCopy *copy = &g_array_index (copies, IrScheduleCopy, i);
      if (!copy->once)
        continue;
      if (!load_constant (prepared, ir_model_value (prepared->model, copy->value), bytes, error))
        return FALSE;
      bytes += align (prepared, copy->bytes);
    }
  return TRUE;
}

static guint
n_stamps (const IrPrepared *prepared)
{
  return 1 + 2 * (prepared->schedule->items->len + prepared->places->copies->len);
}

/**
 * ir_there_make:
 * @prepared: a plan with its places
 * @stats_bytes: what is counted there of one value after the other takes so much; 0: nothing is counted
 * @error: return location for an error
 *
 * Takes the memory that the plan needs in that of a back end, makes the tensors there, and copies the
 * constants.
 *
 * Fails with %IR_EXEC_ERROR_MEMORY where there is too little, and with %IR_EXEC_ERROR_DEVICE.
 *
 * Returns: %TRUE if values can lie there
 */
gboolean
ir_there_make (IrPrepared *prepared, guint64 stats_bytes, GError **error)
{
  const IrMemPlan *plan = prepared->memplan->there;

  if (prepared->places == NULL || plan == NULL)
    return TRUE;
  /* Behind the last value there may be one without elements. */
  if (plan->items->len > 0 &&
      !prepared->places->memory->alloc (plan->peak_bytes + 1, &prepared->there, error))
    return FALSE;
  if (prepared->places->late_bytes > 0) /* without, the host waits for these copies */
    prepared->places->memory->alloc (prepared->places->late_bytes, &prepared->late_there, NULL);
  if (stats_bytes > 0) /* likewise, and counts itself */
    prepared->places->memory->alloc (stats_bytes, &prepared->stats_there, NULL);
  prepared->events = g_new0 (IrMemoryEvent, MAX (prepared->places->streams->n_events, 1));
  prepared->stamps = g_new0 (IrMemoryEvent, n_stamps (prepared));
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      const IrValue *value = ir_model_value (prepared->model, item->value);
      gsize bytes = 0;
      if (item->offset != IR_PLACE_EXTERNAL)
        prepared->values[value->id].there = tensor_at (value, &prepared->there, item->offset);
      else if (ir_value_constant (value) == NULL && ir_step_is_plain (value->type) &&
               ir_type_n_bytes (value->type, &bytes) && bytes == 0)
        prepared->values[value->id].there = tensor_at (value, &prepared->there, plan->peak_bytes);
    }
  if (!make_constants (prepared, error))
    return FALSE;
  ir_mem_plan_set_beside (prepared->memplan->there, &(IrMemBeside){ prepared->constants_there.bytes,
                                                                    prepared->late_there.bytes,
                                                                    prepared->stats_there.bytes });
  return TRUE;
}

/**
 * ir_there_bind:
 * @prepared: a plan whose values have their tensors in the memory of a back end
 * @step: a step whose call is laid out
 * @item: the same in the schedule
 *
 * Gives the call its operands there.
 *
 * Returns: %FALSE if one of them has no place there
 */
gboolean
ir_there_bind (IrPrepared *prepared, IrRunStep *step, const IrScheduleItem *item)
{
  const IrNode *node = step->node;

  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrTensor *there = node->inputs[i] != NULL ? prepared->values[node->inputs[i]->id].there
                                                      : NULL;
      if (i >= 64 || !(item->there >> i & 1))
        continue;
      if (there == NULL)
        return FALSE;
      step->call.inputs[i].tensor = there;
      step->call.inputs[i].there = TRUE;
    }
  for (guint i = 0; i < node->n_outputs; i++)
    {
      if (node->outputs[i] == NULL)
        continue;
      if (prepared->values[node->outputs[i]->id].there == NULL)
        return FALSE;
      step->outputs[i] = prepared->values[node->outputs[i]->id].there;
      step->call.outputs[i].there = TRUE;
    }
  step->there = TRUE;
  /* Only one launch reads the contents of inputs, and it knew all that it needed. */
  step->call.shape_static = TRUE;
  return TRUE;
}

/**
 * ir_there_clear:
 * @prepared: a plan
 *
 * Lets go of what it has in the memory of a back end.
 */
void
ir_there_clear (IrPrepared *prepared)
{
  if (prepared->places == NULL)
    return;
  for (guint id = 0; id < prepared->n_values; id++)
    g_clear_pointer (&prepared->values[id].there, ir_tensor_unref);
  for (guint i = 0; prepared->events != NULL && i < prepared->places->streams->n_events; i++)
    prepared->places->memory->free_event (&prepared->events[i]);
  for (guint i = 0; prepared->stamps != NULL && i < n_stamps (prepared); i++)
    prepared->places->memory->free_event (&prepared->stamps[i]);
  for (guint i = 0; prepared->graphs != NULL && i < prepared->graphs->len; i++)
    prepared->places->memory->graph_free (
        &g_array_index (prepared->graphs, IrDeviceGraph, i).graph);
  g_clear_pointer (&prepared->graphs, g_array_unref);
  g_clear_pointer (&prepared->events, g_free);
  g_clear_pointer (&prepared->stamps, g_free);
  prepared->places->memory->free (&prepared->there);
  prepared->places->memory->free (&prepared->constants_there);
  prepared->places->memory->free (&prepared->late_there);
  prepared->places->memory->free (&prepared->stats_there);
  g_clear_pointer (&prepared->places, ir_places_free);
}
