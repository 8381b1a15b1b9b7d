/* The trace of a run, and its form for chrome://tracing and Perfetto. */
#include "config.h"

#include <cjson/cJSON.h>

#include "core/exec/exec.h"

/**
 * ir_trace_ref:
 * @trace: a trace
 *
 * Returns: (transfer full): @trace
 */
IrTrace *
ir_trace_ref (IrTrace *trace)
{
  g_atomic_ref_count_inc (&trace->ref_count);
  return trace;
}

/**
 * ir_trace_unref:
 * @trace: (transfer full) (nullable): a trace
 */
void
ir_trace_unref (IrTrace *trace)
{
  if (trace == NULL || !g_atomic_ref_count_dec (&trace->ref_count))
    return;
  g_array_unref (trace->items);
  g_free (trace);
}

static cJSON *
item_to_json (const IrTraceItem *item, const IrModel *model)
{
  const IrNode *node = ir_model_node (model, item->node);
  g_autofree char *label = node != NULL ? ir_node_label (node) : g_strdup ("?");
  g_autofree char *name = g_utf8_make_valid (label, -1);
  cJSON *event = cJSON_CreateObject ();
  cJSON *args = cJSON_AddObjectToObject (event, "args");

  cJSON_AddStringToObject (event, "name", name);
  cJSON_AddStringToObject (event, "cat", node != NULL ? node->op_type : "");
  cJSON_AddStringToObject (event, "ph", "X");
  cJSON_AddNumberToObject (event, "ts", (double) item->start_ns / 1e3);
  cJSON_AddNumberToObject (event, "dur", (double) (item->end_ns - item->start_ns) / 1e3);
  cJSON_AddNumberToObject (event, "pid", 1);
  cJSON_AddNumberToObject (event, "tid", item->worker + 1);
  cJSON_AddNumberToObject (args, "node", item->node);
  cJSON_AddStringToObject (args, "device", item->device);
  cJSON_AddStringToObject (args, "kernel", item->kernel);
  cJSON_AddNumberToObject (args, "bytes", (double) item->bytes);
  cJSON_AddNumberToObject (args, "flops", (double) item->flops);
  /* Operations, or bytes, per nanosecond are billions per second. */
  if (item->end_ns > item->start_ns)
    {
      double ns = (double) (item->end_ns - item->start_ns);
      cJSON_AddNumberToObject (args, "gflops", (double) item->flops / ns);
      cJSON_AddNumberToObject (args, "gbps", (double) item->bytes / ns);
    }
  return event;
}

/**
 * ir_trace_to_chrome_json:
 * @trace: a trace
 * @model: the model that ran
 *
 * Writes complete events ("ph": "X") with times in microseconds from the start of the run.
 *
 * Source: Trace Event Format, Google 2016.
 *
 * Returns: (transfer full): JSON text, ending in a line feed
 */
char *
ir_trace_to_chrome_json (const IrTrace *trace, const IrModel *model)
{
  g_return_val_if_fail (trace != NULL && model != NULL, NULL);
  cJSON *root = cJSON_CreateObject ();
  cJSON *events = cJSON_AddArrayToObject (root, "traceEvents");

  cJSON_AddStringToObject (root, "displayTimeUnit", "ms");
  for (guint i = 0; i < trace->items->len; i++)
    cJSON_AddItemToArray (events,
                          item_to_json (&g_array_index (trace->items, IrTraceItem, i), model));
  char *text = cJSON_Print (root);
  char *result = g_strconcat (text != NULL ? text : "{}", "\n", NULL);
  cJSON_free (text);
  cJSON_Delete (root);
  return result;
}
