/* Statistics of values that a device has made: it counts, and what is copied is what it has counted. */
#include "config.h"

#include "core/exec/kernel/device-stats.h"
#include "core/exec/kernel/stats-blocks.h"
#include "core/exec/run/state.h"

/* Whether the plan has room for what is counted of @there. */
static gboolean
may_count (const IrRunState *state, const IrTensor *there, IrStatsLayout *layout)
{
  const IrPrepared *prepared = state->prepared;

  if (there == NULL || prepared->stats_there.data == NULL)
    return FALSE;
  ir_stats_layout (ir_tensor_n_elements (there), layout);
  return layout->bytes <= prepared->stats_there.bytes &&
         ir_device_stats_of (prepared->places->memory)->has (ir_tensor_dtype (there));
}

/**
 * ir_device_stats:
 * @state: a run under way
 * @value: a value of the main graph that lies in the memory of a device, as long as that is so by the plan
 * @n_bins: %IR_STATS_BINS; 0: no histogram
 * @stats: (out): its statistics, if @counted: the bits that ir_tensor_stats() gives of its contents
 * @counted: (out): whether the device has kernels for them, and room; else the value has to be copied
 * @error: return location for an error
 *
 * Waits for the stream of the device that this thread asks.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_device_stats (IrRunState *state,
                 const IrValue *value,
                 guint n_bins,
                 IrTensorStats *stats,
                 gboolean *counted,
                 GError **error)
{
  const IrPrepared *prepared = state->prepared;
  const IrTensor *there = prepared->values[value->id].there;
  IrStatsLayout layout;

  *counted = may_count (state, there, &layout);
  if (!*counted)
    return TRUE;
  g_autofree gpointer told = g_malloc (layout.bytes);
  if (!ir_device_stats_of (prepared->places->memory)
           ->count (ir_tensor_dtype (there), ir_tensor_n_elements (there), n_bins > 0,
                    ir_tensor_data (there), prepared->stats_there.data, told, error))
    return FALSE;
  ir_stats_of_counted (ir_tensor_dtype (there), ir_tensor_n_elements (there), told, n_bins, stats);
  return TRUE;
}

/**
 * ir_device_stats_keep:
 * @state: a run under way
 * @value: a value that its step has just made in the memory of a device
 * @counted: (out): whether the run has its statistics now
 * @error: return location for an error
 *
 * For runs that keep statistics of all values, as ir_device_stats().
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_device_stats_keep (IrRunState *state, const IrValue *value, gboolean *counted, GError **error)
{
  g_autofree IrTensorStats *stats = g_new (IrTensorStats, 1);

  if (!ir_device_stats (state, value, IR_STATS_BINS, stats, counted, error))
    return FALSE;
  if (*counted)
    g_hash_table_insert (state->run->stats, GUINT_TO_POINTER (value->id), g_steal_pointer (&stats));
  return TRUE;
}

/**
 * ir_device_stats_now:
 * @state: a run under way
 * @value: a value
 * @stats: (out): its statistics without a histogram, if @counted
 * @counted: (out): whether it lies in the memory of a device alone, which has counted it
 * @error: return location for an error
 *
 * For who looks on, at any time: waits for the device.
 *
 * Returns: %FALSE with the error of the device
 */
gboolean
ir_device_stats_now (IrRunState *state,
                     const IrValue *value,
                     IrTensorStats *stats,
                     gboolean *counted,
                     GError **error)
{
  *counted = FALSE;
  if (state->tensors[value->id] != NULL || !ir_run_state_lies_there (state, value))
    return TRUE;
  return ir_late_copies_settle (state, error) && state->prepared->places->memory->finish (error) &&
         ir_device_stats (state, value, 0, stats, counted, error);
}
