#include "config.h"

#include "views/overlay.h"

#include "core/op/infer.h"

#include <math.h>

static double
value_flops (const IrOverlayContext *context, const IrNode *node)
{
  gboolean partial = FALSE;

  return (double) ir_cost_node_flops (node, &partial);
}

static double
value_bytes (const IrOverlayContext *context, const IrNode *node)
{
  gboolean partial = FALSE;

  return (double) ir_cost_node_bytes (node, &partial);
}

static double
value_time (const IrOverlayContext *context, const IrNode *node)
{
  const gint64 *ns = context->time_ns != NULL
                         ? g_hash_table_lookup (context->time_ns, GUINT_TO_POINTER (node->id))
                         : NULL;

  return ns != NULL ? (double) *ns / 1e6 : NAN;
}

static double
value_memory (const IrOverlayContext *context, const IrNode *node)
{
  double bytes = 0;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      gsize size;

      if (node->outputs[i] != NULL && ir_value_shown_type (node->outputs[i]) != NULL &&
          ir_type_n_bytes (ir_value_shown_type (node->outputs[i]), &size))
        bytes += (double) size;
    }
  return bytes;
}

static double
value_bits (const IrOverlayContext *context, const IrNode *node)
{
  const IrValue *out = node->n_outputs > 0 ? node->outputs[0] : NULL;

  return out != NULL && ir_value_dtype (out) != IR_DTYPE_UNDEFINED
             ? ir_dtype_bits (ir_value_dtype (out))
             : NAN;
}

static const IrOverlay overlays[] = {
  { "flops", "Arithmetic", "FLOP", "Floating-point operations of each node.", FALSE, value_flops },
  { "bytes", "Traffic", "B", "Bytes that each node reads and writes.", FALSE, value_bytes },
  { "memory", "Memory", "B", "Bytes of what each node makes.", FALSE, value_memory },
  { "dtype", "Precision", "bit", "Width of the elements that each node makes.", FALSE, value_bits },
  { "time", "Time", "ms", "Time of each node in the last run.", TRUE, value_time },
};

/**
 * ir_overlay_times:
 * @run: (nullable): a run
 *
 * Returns: (transfer full) (nullable): how long each node took, all its executions together
 */
GHashTable *
ir_overlay_times (const IrRun *run)
{
  GHashTable *times;

  if (run == NULL || run->trace == NULL)
    return NULL;
  times = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  for (guint i = 0; i < run->trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (run->trace->items, IrTraceItem, i);
      gint64 *ns = g_hash_table_lookup (times, GUINT_TO_POINTER (item->node));

      if (ns == NULL)
        {
          ns = g_new0 (gint64, 1);
          g_hash_table_insert (times, GUINT_TO_POINTER (item->node), ns);
        }
      *ns += item->end_ns - item->start_ns;
    }
  return times;
}

const IrOverlay *
ir_overlays (guint *n)
{
  *n = G_N_ELEMENTS (overlays);
  return overlays;
}

/**
 * ir_overlay_find:
 * @id: (nullable): such as "time"
 *
 * Returns: (transfer none) (nullable): the overlay
 */
const IrOverlay *
ir_overlay_find (const char *id)
{
  for (guint i = 0; i < G_N_ELEMENTS (overlays); i++)
    if (g_strcmp0 (overlays[i].id, id) == 0)
      return &overlays[i];
  return NULL;
}
