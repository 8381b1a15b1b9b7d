/* Outputs of a run beside those of a data set. */
#include "config.h"

#include "app/cli/run.h"

#include "app/cli/output.h"

/* What the outputs should be, and whether they are. */
gboolean
cli_run_report_data_set (const Cli *cli, const CliRun *options, const IrRun *run, cJSON *json)
{
  const IrGraph *graph = run->model->main;
  cJSON *object, *differ;
  guint n = 0;

  if (options->set == NULL)
    return TRUE;
  object = cJSON_AddObjectToObject (json, "data_set");
  differ = cJSON_CreateArray ();
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    {
      const IrValue *output = ir_graph_output (graph, i);
      g_autofree char *difference = ir_data_set_difference (options->set, output,
                                                            ir_run_value (run, output->id));
      cJSON *item;

      n += g_hash_table_contains (options->set->wanted, output->name);
      if (difference == NULL)
        continue;
      item = cJSON_CreateObject ();
      cJSON_AddStringToObject (item, "name", output->name);
      cJSON_AddStringToObject (item, "difference", difference);
      cJSON_AddItemToArray (differ, item);
      if (!cli->json)
        cli_print ("%s differs from %s: %s\n", output->name, options->model.data_set, difference);
    }
  const int n_differ = cJSON_GetArraySize (differ);
  cJSON_AddStringToObject (object, "folder", options->model.data_set);
  cJSON_AddNumberToObject (object, "compared", n);
  cJSON_AddItemToObject (object, "differ", differ);
  if (!cli->json && n_differ == 0)
    cli_print ("%u outputs are as in %s\n", n, options->model.data_set);
  return n_differ == 0;
}
