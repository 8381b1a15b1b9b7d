/* irscope schedule: which node runs when and where, by the cost model. */
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
print_json (const IrModel *model, const IrSchedule *schedule)
{
  cJSON *json = cJSON_CreateObject (), *array;

  cJSON_AddNumberToObject (json, "makespan_ms", schedule->makespan_ms);
  cJSON_AddNumberToObject (json, "critical_path_ms", schedule->critical_path_ms);
  cJSON_AddNumberToObject (json, "work_ms", schedule->work_ms);
  cJSON_AddNumberToObject (json, "workers", schedule->n_workers);
  array = cJSON_AddArrayToObject (json, "items");
  for (guint i = 0; i < schedule->items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      const IrNode *node = ir_model_node (model, item->node);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "node", node->name);
      cJSON_AddStringToObject (object, "op", node->op_type);
      cJSON_AddNumberToObject (object, "worker", item->worker);
      cJSON_AddNumberToObject (object, "start_ms", item->start_ms);
      cJSON_AddNumberToObject (object, "end_ms", item->end_ms);
      cJSON_AddStringToObject (object, "device", item->device);
      cJSON_AddStringToObject (object, "kernel", item->kernel);
      if (item->why != NULL)
        cJSON_AddStringToObject (object, "why", item->why);
      if (item->layout != NULL)
        cJSON_AddStringToObject (object, "layout", item->layout);
      if (item->candidates != NULL)
        cJSON_AddStringToObject (object, "candidates", item->candidates);
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print (json);
}

static void
print_text (const IrModel *model, const IrSchedule *schedule)
{
  printf ("makespan %.4f ms on %u workers; critical path %.4f ms, work %.4f ms (predicted)\n",
          schedule->makespan_ms, schedule->n_workers, schedule->critical_path_ms,
          schedule->work_ms);
  for (guint i = 0; i < schedule->items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      g_autofree char *label = ir_node_label (ir_model_node (model, item->node));

      const char *note = item->why != NULL ? item->why : item->layout;

      printf ("%10.4f %10.4f  %u  %-28s %s%s%s%s%s%s\n", item->start_ms, item->end_ms, item->worker,
              item->kernel, label, note != NULL ? "  # " : "", note != NULL ? note : "",
              item->candidates != NULL ? "  [of " : "",
              item->candidates != NULL ? item->candidates : "",
              item->candidates != NULL ? ", ref]" : "");
    }
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = NULL;
  g_autoptr (IrSchedule) schedule = NULL;
  CliStatus status;

  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  schedule = cli_schedule (&options->model, opened.model, cli_n_workers (&options->model), &model,
                           &error);
  if (schedule == NULL)
    return cli_fail (cli_status_of (error), error);
  (cli->json ? print_json : print_text) (model, schedule);
  return CLI_OK;
}

const CliCommand cli_command_schedule = {
  .name = "schedule",
  .arguments = "FILE",
  .summary = "Which node runs when, where and with which kernel, by the cost model",
  .doc = "Times are predictions; 'irscope run --trace' measures.",
  .min_args = 1,
  .max_args = 1,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
