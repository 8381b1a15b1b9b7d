/* The trace of a run, and its form for chrome://tracing and Perfetto. */
#include "config.h"

#include <cjson/cJSON.h>

#include "core/exec/gpu/runtime.h"
#include "core/exec/measure/roofline.h"
#include "core/exec/measure/times.h"
#include "core/io/json/print.h"

#include <stdlib.h>

/* -- the same steps in several runs -- */

typedef struct
{
  IrNodeId node;
  guint place; /* in the items */
} Step;

static int
compare_steps (gconstpointer a, gconstpointer b)
{
  const Step *x = a, *y = b;

  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* By node, and those of one node as they ran: the same step has the same place in all runs,
 * whatever ran beside it. */
static GArray *
sorted_steps (const IrTrace *trace)
{
  GArray *steps = g_array_sized_new (FALSE, FALSE, sizeof (Step), trace->items->len);

  for (guint i = 0; i < trace->items->len; i++)
    {
      Step step = { g_array_index (trace->items, IrTraceItem, i).node, i };
      g_array_append_val (steps, step);
    }
  g_array_sort (steps, compare_steps);
  return steps;
}

/* @ns: gets sorted */
static IrTraceSpread
spread_of (double *ns, guint n)
{
  if (n == 0)
    return (IrTraceSpread){ 0 };
  qsort (ns, n, sizeof *ns, ir_compare_doubles);
  return (IrTraceSpread){ .n = n,
                          .median_ns = (ns[(n - 1) / 2] + ns[n / 2]) / 2,
                          .min_ns = ns[0],
                          .max_ns = ns[n - 1],
                          .q1_ns = ns[(n - 1) / 4],
                          .q3_ns = ns[n - 1 - (n - 1) / 4] };
}

/**
 * ir_trace_spreads:
 * @trace: one of the runs
 * @runs: (element-type IrTrace): all of them
 *
 * Returns: (transfer full) (element-type IrTraceSpread): one for each item of @trace
 */
GArray *
ir_trace_spreads (const IrTrace *trace, const GPtrArray *runs)
{
  g_return_val_if_fail (trace != NULL && runs != NULL, NULL);
  guint n = trace->items->len;
  g_autoptr (GArray) steps = sorted_steps (trace);
  g_autoptr (GPtrArray) others = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  g_autofree double *ns = g_new (double, MAX (runs->len, 1));
  GArray *spreads = g_array_new (FALSE, TRUE, sizeof (IrTraceSpread));

  g_array_set_size (spreads, n);
  for (guint k = 0; k < runs->len; k++)
    g_ptr_array_add (others, sorted_steps (runs->pdata[k]));
  for (guint i = 0; i < n; i++)
    {
      const Step *step = &g_array_index (steps, Step, i);
      guint n_found = 0;
      for (guint k = 0; k < runs->len; k++)
        {
          const GArray *other = others->pdata[k];
          const Step *same = i < other->len ? &g_array_index (other, Step, i) : NULL;
          if (same == NULL || same->node != step->node)
            continue;
          const IrTrace *run = runs->pdata[k];
          const IrTraceItem *item = &g_array_index (run->items, IrTraceItem, same->place);
          ns[n_found++] = (double) (item->end_ns - item->start_ns);
        }
      g_array_index (spreads, IrTraceSpread, step->place) = spread_of (ns, n_found);
    }
  return spreads;
}

static void
add_spread (cJSON *args, const IrTraceSpread *spread)
{
  if (spread->n == 0)
    return;
  cJSON_AddNumberToObject (args, "median_us", spread->median_ns / 1e3);
  cJSON_AddNumberToObject (args, "q1_us", spread->q1_ns / 1e3);
  cJSON_AddNumberToObject (args, "q3_us", spread->q3_ns / 1e3);
  cJSON_AddNumberToObject (args, "runs", spread->n);
}

/**
 * ir_trace_item_kernel:
 * @item: what is noted of a node
 *
 * Returns: (transfer full): the kernel that has computed it, also where the one that was chosen left
 *   it to the reference kernel when it saw the operands
 */
char *
ir_trace_item_kernel (const IrTraceItem *item)
{
  return item->by_ref ? g_strdup_printf ("ref (%s did not take it)", item->kernel)
                      : g_strdup (item->kernel);
}

#define COPIES_PROCESS 3
#define DEVICE_PROCESS 4 /* a thread for each stream */

static cJSON *
item_to_json (const IrTraceItem *item, const IrModel *model, const IrTraceExtras *extras)
{
  const IrNode *node = ir_model_node (model, item->node);
  g_autofree char *label = node != NULL ? ir_node_label (node) : g_strdup ("?");
  g_autofree char *name = g_utf8_make_valid (label, -1);
  g_autofree char *kernel = ir_trace_item_kernel (item);
  cJSON *event = cJSON_CreateObject ();
  cJSON *args = cJSON_AddObjectToObject (event, "args");

  cJSON_AddStringToObject (event, "name", name);
  cJSON_AddStringToObject (event, "cat", node != NULL ? node->op_type : "");
  cJSON_AddStringToObject (event, "ph", "X");
  cJSON_AddNumberToObject (event, "ts", (double) item->start_ns / 1e3);
  cJSON_AddNumberToObject (event, "dur", (double) (item->end_ns - item->start_ns) / 1e3);
  cJSON_AddNumberToObject (event, "pid", item->stream > 0 ? DEVICE_PROCESS : 1);
  cJSON_AddNumberToObject (event, "tid", item->stream > 0 ? item->stream : item->worker + 1);
  cJSON_AddNumberToObject (args, "node", item->node);
  cJSON_AddStringToObject (args, "device", item->device);
  cJSON_AddStringToObject (args, "kernel", kernel);
  cJSON_AddNumberToObject (args, "bytes", (double) item->bytes);
  cJSON_AddNumberToObject (args, "flops", (double) item->flops);
  /* Operations, or bytes, per nanosecond are billions per second. */
  if (item->end_ns > item->start_ns)
    {
      double ns = (double) (item->end_ns - item->start_ns);
      cJSON_AddNumberToObject (args, "gflops", (double) item->flops / ns);
      cJSON_AddNumberToObject (args, "gbps", (double) item->bytes / ns);
      if (extras->roofline != NULL)
        {
          gboolean compute = ir_roofline_bound_by_compute (extras->roofline, item);
          cJSON_AddNumberToObject (args, "roofline", ir_roofline_share (extras->roofline, item));
          cJSON_AddStringToObject (args, "bound", compute ? "compute" : "memory");
        }
    }
  return event;
}

/* A copy between two memories: one thread each way. */
static cJSON *
copy_to_json (const IrTraceCopy *copy, const IrModel *model)
{
  g_autofree char *name = g_utf8_make_valid (ir_model_value (model, copy->value)->name, -1);
  cJSON *event = cJSON_CreateObject ();
  cJSON *args = cJSON_AddObjectToObject (event, "args");

  cJSON_AddStringToObject (event, "name", name);
  cJSON_AddStringToObject (event, "cat", copy->to_host ? "CopyToHost" : "CopyToDevice");
  cJSON_AddStringToObject (event, "ph", "X");
  cJSON_AddNumberToObject (event, "ts", (double) copy->start_ns / 1e3);
  cJSON_AddNumberToObject (event, "dur", (double) (copy->end_ns - copy->start_ns) / 1e3);
  cJSON_AddNumberToObject (event, "pid", COPIES_PROCESS);
  cJSON_AddNumberToObject (event, "tid", copy->to_host ? 2 : 1);
  cJSON_AddNumberToObject (args, "bytes", (double) copy->bytes);
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
  g_autoptr (GArray) spreads = extras->runs != NULL ? ir_trace_spreads (trace, extras->runs) : NULL;
  cJSON *root = cJSON_CreateObject ();
  cJSON *events = cJSON_AddArrayToObject (root, "traceEvents");
  const char *device = NULL;

  cJSON_AddStringToObject (root, "displayTimeUnit", "ms");
  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);
      cJSON *event = item_to_json (item, model, extras);
      if (item->stream > 0)
        device = item->device;
      if (spreads != NULL)
        add_spread (cJSON_GetObjectItem (event, "args"),
                    &g_array_index (spreads, IrTraceSpread, i));
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
      add_process (events, 2, IR_TRACE_WARMUP);
    }
  for (guint i = 0; trace->copies != NULL && i < trace->copies->len; i++)
    cJSON_AddItemToArray (events,
                          copy_to_json (&g_array_index (trace->copies, IrTraceCopy, i), model));
  if (trace->copies != NULL)
    add_process (events, COPIES_PROCESS, "copies");
  if (device != NULL)
    add_process (events, DEVICE_PROCESS, device);
  cJSON *data = cJSON_AddObjectToObject (root, "otherData");
  if (ir_gpu_runtime_is_stand_in ())
    cJSON_AddBoolToObject (data, "stand_in", TRUE);
  cJSON_AddNumberToObject (data, "peak_bytes", (double) trace->peak_bytes);
  cJSON_AddNumberToObject (data, "arena_bytes", (double) trace->arena_bytes);
  if (extras->roofline != NULL)
    {
      cJSON_AddNumberToObject (data, "peak_gflops", extras->roofline->gflops);
      cJSON_AddNumberToObject (data, "peak_gbps", extras->roofline->gbps);
      cJSON_AddNumberToObject (data, "threads", extras->roofline->n_threads);
    }
  g_autofree char *text = ir_json_print_text (root);
  cJSON_Delete (root);
  return g_strconcat (text, "\n", NULL);
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
