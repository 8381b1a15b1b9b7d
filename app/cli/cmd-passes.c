/* irscope passes: the table of passes, and the pipelines. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/table.h"
#include "passes/rule.h"
#include "passes/pipeline.h"

#include <stdio.h>

static void
add_pipelines (cJSON *json)
{
  g_auto (GStrv) names = ir_pipeline_names ();
  cJSON *array = cJSON_AddArrayToObject (json, "pipelines");

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (IrPipeline) pipeline = ir_pipeline_load (names[i], NULL);
      cJSON *object, *passes;

      if (pipeline == NULL)
        continue;
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", names[i]);
      cJSON_AddStringToObject (object, "title", pipeline->title != NULL ? pipeline->title : "");
      passes = cJSON_AddArrayToObject (object, "passes");
      for (guint k = 0; k < pipeline->passes->len; k++)
        cJSON_AddItemToArray (
            passes, cJSON_CreateString (((const IrPass *) pipeline->passes->pdata[k])->name));
      cJSON_AddItemToArray (array, object);
    }
}

static cJSON *
pass_json (const IrPass *pass)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", pass->name);
  cJSON_AddStringToObject (object, "title", pass->title);
  cJSON_AddStringToObject (object, "class", ir_class_name (pass->step_class));
  cJSON_AddStringToObject (object, "doc", pass->doc);
  cJSON_AddStringToObject (object, "source", pass->source);
  return object;
}

static void
add_json (cJSON *json)
{
  cJSON *array = cJSON_AddArrayToObject (json, "passes");
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    cJSON_AddItemToArray (array, pass_json (passes[i]));
  add_pipelines (json);
}

static void
print (void)
{
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    printf ("%-28s %-9s %s\n", passes[i]->name, ir_class_name (passes[i]->step_class),
            passes[i]->title);
}

static CliStatus
run (Cli *cli)
{
  static const CliTable table = { ir_passes_markdown, add_json, print };
  return cli_print_table (cli, &table);
}

const CliCommand cli_command_passes = {
  .name = "passes",
  .arguments = "",
  .summary = "The table of passes",
  .doc = "",
  .max_args = 0,
  .options = cli_table_options,
  .options_size = sizeof (CliTableOptions),
  .run = run,
};
