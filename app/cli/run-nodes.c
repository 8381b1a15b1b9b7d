/* What each node of a run took: as lines, as JSON and as a trace. */
#include "config.h"

#include "app/cli/run.h"

#include "app/cli/output.h"
#include "app/cli/rates.h"
#include "core/exec/measure/times.h"
#include "core/io/io.h"

#include <string.h>

/* The traces of the runs that count; those of a run that failed are its own. */
static GPtrArray *
timed_traces (const CliRun *options, const IrRun *run)
{
  GPtrArray *timed = g_ptr_array_new ();

  for (guint i = (guint) options->warmup; run->error == NULL && i < options->traces->len; i++)
    g_ptr_array_add (timed, options->traces->pdata[i]);
  return timed;
}

gboolean
cli_run_write_trace (const CliRun *options, const IrRun *run, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GBytes) bytes = NULL;

  if (options->trace == NULL)
    return TRUE;
  gint warmup = run->error == NULL ? options->warmup : 0;
  g_autoptr (GPtrArray) timed = timed_traces (options, run);
  IrTraceExtras extras = {
    .roofline = options->roofline ? &options->peaks : NULL,
    .warmup = warmup > 0 ? options->traces->pdata[warmup - 1] : NULL,
    .runs = timed->len > 1 ? timed : NULL,
  };
  text = ir_trace_to_chrome_json_with (run->trace, run->model, &extras);
  bytes = g_bytes_new (text, strlen (text));
  return ir_file_write_atomic (options->trace, bytes, error);
}

/* By the median where there is one. */
static CliRates
rates_of (const IrTraceItem *item, const IrTraceSpread *spread)
{
  return (CliRates){ .bytes = item->bytes,
                     .flops = item->flops,
                     .ns = spread->n > 0 ? spread->median_ns
                                         : (double) (item->end_ns - item->start_ns) };
}

static void
add_node (cJSON *array,
          const CliRun *options,
          const IrModel *model,
          const IrTraceItem *item,
          const IrTraceSpread *spread)
{
  const IrNode *node = ir_model_node (model, item->node);
  const CliRates rates = rates_of (item, spread);
  g_autofree char *kernel = ir_trace_item_kernel (item);
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "node", node != NULL ? node->name : "");
  cJSON_AddNumberToObject (object, "id", item->node);
  cJSON_AddStringToObject (object, "op", node != NULL ? node->op_type : "");
  cJSON_AddStringToObject (object, "device", item->device);
  cJSON_AddStringToObject (object, "kernel", kernel);
  cJSON_AddNumberToObject (object, "worker", item->worker);
  cJSON_AddNumberToObject (object, "start_ms", (double) item->start_ns / 1e6);
  cJSON_AddNumberToObject (object, "end_ms", (double) item->end_ns / 1e6);
  cli_json_add_rates (object, &rates, options->roofline ? &options->peaks : NULL);
  if (spread->n > 0)
    {
      cJSON *ms = cJSON_AddObjectToObject (object, "ms");
      cJSON_AddNumberToObject (ms, "median", spread->median_ns / 1e6);
      cJSON_AddNumberToObject (ms, "min", spread->min_ns / 1e6);
      cJSON_AddNumberToObject (ms, "q1", spread->q1_ns / 1e6);
      cJSON_AddNumberToObject (ms, "q3", spread->q3_ns / 1e6);
      cJSON_AddNumberToObject (ms, "max", spread->max_ns / 1e6);
      cJSON_AddNumberToObject (ms, "runs", spread->n);
    }
  cJSON_AddItemToArray (array, object);
}

static void
print_node (const CliRun *options,
            const IrModel *model,
            const IrTraceItem *item,
            const IrTraceSpread *spread)
{
  const IrNode *node = ir_model_node (model, item->node);
  const CliRates rates = rates_of (item, spread);
  g_autofree char *label = node != NULL ? ir_node_label (node) : g_strdup ("?");
  g_autofree char *kernel = ir_trace_item_kernel (item);

  cli_print ("%10.4f ms (%.4f to %.4f)  worker %u  %8.2f GFLOP/s %7.2f GB/s",
             spread->median_ns / 1e6, spread->q1_ns / 1e6, spread->q3_ns / 1e6, item->worker,
             cli_rates_gflops (&rates), cli_rates_gbps (&rates));
  if (options->roofline)
    cli_print ("  %3.0f %% of %-7s",
               CLAMP (100 * cli_rates_share (&rates, &options->peaks), 0, 999),
               cli_rates_bound (&rates, &options->peaks));
  cli_print ("  %s", label);
  if (item->by_ref)
    cli_print ("  by %s", kernel);
  else if (ir_trace_item_is_reused (item))
    cli_print ("  %s", item->kernel);
  cli_print ("\n");
}

/* @json: (nullable): where to, instead of standard output */
void
cli_run_report_nodes (Cli *cli, const CliRun *options, const IrRun *run, cJSON *json)
{
  cJSON *array = json != NULL ? cJSON_AddArrayToObject (json, "nodes") : NULL;

  if (run->trace == NULL)
    return;
  g_autoptr (GPtrArray) timed = timed_traces (options, run);
  g_autoptr (GArray) spreads = ir_trace_spreads (run->trace, timed);
  for (guint i = 0; i < run->trace->items->len && !cli_cut (cli); i++)
    {
      const IrTraceItem *item = &g_array_index (run->trace->items, IrTraceItem, i);
      const IrTraceSpread *spread = &g_array_index (spreads, IrTraceSpread, i);

      if (run->error != NULL && item->end_ns == 0)
        continue; /* it did not come to that */
      if (array != NULL)
        add_node (array, options, run->model, item, spread);
      else
        print_node (options, run->model, item, spread);
    }
}

/* Runs before those that count, each by itself: the first one prepares. */
void
cli_run_add_warmup (cJSON *json, const CliRun *options, const IrRun *run)
{
  cJSON *array = cJSON_AddArrayToObject (json, "warmup_ms");

  for (guint i = 0; run->error == NULL && i < MIN ((guint) options->warmup, options->traces->len);
       i++)
    {
      const IrTrace *trace = options->traces->pdata[i];
      cJSON_AddItemToArray (array, cJSON_CreateNumber ((double) trace->duration_ns / 1e6));
    }
}
