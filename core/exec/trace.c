/* The trace of a run, and its form for chrome://tracing and Perfetto. */
#include "config.h"

#include <cjson/cJSON.h>

#include "core/exec/roofline.h"

#include <stdlib.h>

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

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

/* Median and quartiles of step @i over the runs, which follow the same schedule. */
static void
add_spread (cJSON *args, const GPtrArray *runs, guint i)
{
  g_autofree double *us = g_new (double, MAX (runs->len, 1));
  guint n = 0;

  for (guint k = 0; k < runs->len; k++)
    {
      const GArray *items = ((const IrTrace *) g_ptr_array_index (runs, k))->items;
      const IrTraceItem *item = i < items->len ? &g_array_index (items, IrTraceItem, i) : NULL;
      if (item != NULL)
        us[n++] = (double) (item->end_ns - item->start_ns) / 1e3;
    }
  if (n == 0)
    return;
  qsort (us, n, sizeof *us, compare_doubles);
  cJSON_AddNumberToObject (args, "median_us", (us[(n - 1) / 2] + us[n / 2]) / 2);
  cJSON_AddNumberToObject (args, "q1_us", us[(n - 1) / 4]);
  cJSON_AddNumberToObject (args, "q3_us", us[n - 1 - (n - 1) / 4]);
  cJSON_AddNumberToObject (args, "runs", n);
}

static cJSON *
item_to_json (const IrTraceItem *item, const IrModel *model, const IrTraceExtras *extras)
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
      if (extras->roofline != NULL)
        cJSON_AddNumberToObject (args, "roofline", ir_roofline_share (extras->roofline, item));
    }
  return event;
}

/* The name that Perfetto shows for a process. */
static void
add_process (cJSON *events, guint pid, const char *name)
{
  cJSON *event = cJSON_CreateObject ();

  cJSON_AddStringToObject (event, "name", "process_name");
  cJSON_AddStringToObject (event, "ph", "M");
  cJSON_AddNumberToObject (event, "pid", pid);
  cJSON_AddStringToObject (cJSON_AddObjectToObject (event, "args"), "name", name);
  cJSON_AddItemToArray (events, event);
}

/**
 * ir_trace_to_chrome_json_with:
 * @trace: a trace
 * @model: the model that ran
 * @extras: what else is known
 *
 * Writes complete events ("ph": "X") with times in microseconds from the start of the run; those of
 * a run that warmed up belong to a process of their own.
 *
 * Source: Trace Event Format, Google 2016.
 *
 * Returns: (transfer full): JSON text, ending in a line feed
 */
char *
ir_trace_to_chrome_json_with (const IrTrace *trace,
                              const IrModel *model,
                              const IrTraceExtras *extras)
{
  static const IrTraceExtras none = { NULL };
  g_return_val_if_fail (trace != NULL && model != NULL && extras != NULL, NULL);
  cJSON *root = cJSON_CreateObject ();
  cJSON *events = cJSON_AddArrayToObject (root, "traceEvents");

  cJSON_AddStringToObject (root, "displayTimeUnit", "ms");
  for (guint i = 0; i < trace->items->len; i++)
    {
      cJSON *event = item_to_json (&g_array_index (trace->items, IrTraceItem, i), model, extras);
      if (extras->runs != NULL)
        add_spread (cJSON_GetObjectItem (event, "args"), extras->runs, i);
      cJSON_AddItemToArray (events, event);
    }
  for (guint i = 0; extras->warmup != NULL && i < extras->warmup->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (extras->warmup->items, IrTraceItem, i);
      cJSON *event = item_to_json (item, model, &none);
      cJSON_SetNumberValue (cJSON_GetObjectItem (event, "pid"), 2);
      cJSON_AddItemToArray (events, event);
    }
  if (extras->warmup != NULL)
    {
      add_process (events, 1, "last run");
      add_process (events, 2, "warm-up");
    }
  cJSON *data = cJSON_AddObjectToObject (root, "otherData");
  cJSON_AddNumberToObject (data, "peak_bytes", (double) trace->peak_bytes);
  cJSON_AddNumberToObject (data, "arena_bytes", (double) trace->arena_bytes);
  if (extras->roofline != NULL)
    {
      cJSON_AddNumberToObject (data, "peak_gflops", extras->roofline->gflops);
      cJSON_AddNumberToObject (data, "peak_gbps", extras->roofline->gbps);
      cJSON_AddNumberToObject (data, "threads", extras->roofline->n_threads);
    }
  char *text = cJSON_Print (root);
  char *result = g_strconcat (text != NULL ? text : "{}", "\n", NULL);
  cJSON_free (text);
  cJSON_Delete (root);
  return result;
}

/**
 * ir_trace_to_chrome_json:
 * @trace: a trace
 * @model: the model that ran
 *
 * As ir_trace_to_chrome_json_with(), of this run alone.
 *
 * Returns: (transfer full): JSON text, ending in a line feed
 */
char *
ir_trace_to_chrome_json (const IrTrace *trace, const IrModel *model)
{
  const IrTraceExtras none = { NULL };

  return ir_trace_to_chrome_json_with (trace, model, &none);
}
