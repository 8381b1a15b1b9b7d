/* irscope memory: the memory plan of a graph. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/plans.h"

#include <stdio.h>

typedef struct
{
  CliModelOptions model;
} Options;

static void
print_json (const IrModel *model, const IrMemPlan *plan)
{
  cJSON *json = cJSON_CreateObject (), *array;

  cli_json_add_uint (json, "lower_bound_bytes", plan->lower_bound_bytes);
  cli_json_add_uint (json, "peak_bytes", plan->peak_bytes);
  cli_json_add_uint (json, "naive_bytes", plan->naive_bytes);
  cJSON_AddNumberToObject (json, "align_bytes", plan->align_bytes);
  array = cJSON_AddArrayToObject (json, "values");
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      cJSON *object;

      if (item->offset == IR_PLACE_EXTERNAL)
        continue;
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", ir_model_value (model, item->value)->name);
      cli_json_add_uint (object, "offset", item->offset);
      cli_json_add_uint (object, "size", item->size);
      cJSON_AddNumberToObject (object, "first", item->first);
      cJSON_AddNumberToObject (object, "last", item->last);
      if (item->alias_of != 0)
        cJSON_AddStringToObject (object, "alias_of", ir_model_value (model, item->alias_of)->name);
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print (json);
}

static void
print_text (const IrModel *model, const IrMemPlan *plan)
{
  g_autofree char *peak = cli_format_bytes (plan->peak_bytes),
                  *bound = cli_format_bytes (plan->lower_bound_bytes);
  g_autofree char *naive = cli_format_bytes (plan->naive_bytes);

  printf ("peak %s; lower bound %s; without reuse %s\n", peak, bound, naive);
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (item->offset != IR_PLACE_EXTERNAL)
        printf ("%12" G_GUINT64_FORMAT " %12" G_GUINT64_FORMAT "  %5u-%-5u %s\n", item->offset,
                item->size, item->first, item->last, ir_model_value (model, item->value)->name);
    }
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = NULL;
  g_autoptr (IrMemPlan) plan = NULL;
  CliStatus status;

  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  plan = cli_mem_plan (&options->model, opened.model, &model, &error);
  if (plan == NULL)
    return cli_fail (cli_status_of (error), error);
  (cli->json ? print_json : print_text) (model, plan);
  return CLI_OK;
}

const CliCommand cli_command_memory = {
  .name = "memory",
  .arguments = "FILE",
  .summary = "Where each value lies in memory and when, beside the lower bound",
  .doc = "Graph inputs, graph outputs and constants lie outside the arena and are not listed.",
  .min_args = 1,
  .max_args = 1,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
