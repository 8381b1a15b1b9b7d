/* irscope passes: the table of passes, and the pipelines. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "passes/rule.h"
#include "passes/pipeline.h"

#include <stdio.h>

typedef struct
{
  gboolean markdown;
} Options;

static const CliOption passes_options[] = {
  { "markdown", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, markdown), "As docs/PASSES.md",
    NULL },
  { 0 },
};

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

static CliStatus
run (Cli *cli)
{
  const Options *options = cli->options;
  const IrPass *const *passes;
  cJSON *json, *array;
  guint n;

  if (options->markdown)
    {
      g_autofree char *text = ir_passes_markdown ();
      fputs (text, stdout);
      return CLI_OK;
    }
  passes = ir_passes (&n);
  json = cJSON_CreateObject ();
  array = cJSON_AddArrayToObject (json, "passes");
  for (guint i = 0; i < n; i++)
    {
      cJSON_AddItemToArray (array, pass_json (passes[i]));
      if (!cli->json)
        printf ("%-28s %-9s %s\n", passes[i]->name, ir_class_name (passes[i]->step_class),
                passes[i]->title);
    }
  add_pipelines (json);
  if (cli->json)
    cli_json_print (json);
  else
    cJSON_Delete (json);
  return CLI_OK;
}

const CliCommand cli_command_passes = {
  .name = "passes",
  .arguments = "",
  .summary = "The table of passes",
  .doc = "",
  .max_args = 0,
  .options = passes_options,
  .options_size = sizeof (Options),
  .run = run,
};
