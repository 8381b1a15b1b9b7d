/* irscope passes: the table of passes, and the pipelines. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/table.h"
#include "passes/rule/rule.h"
#include "passes/pipeline/pipeline.h"

typedef struct
{
  CliTableOptions table;
  char *pipeline;
} Options;

static const CliOption passes_options[] = {
  { "markdown", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, table.markdown),
    "As the generated document in docs/", NULL },
  { "pipeline", 'p', G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, pipeline),
    "Print this pipeline, a name or a JSON file, as a file to start from", "P" },
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
      cJSON *object, *passes, *aliases = NULL;

      if (pipeline == NULL)
        continue;
      object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", names[i]);
      if (pipeline->aliases != NULL)
        aliases = cJSON_AddArrayToObject (object, "aliases");
      for (guint k = 0; aliases != NULL && k < pipeline->aliases->len; k++)
        cJSON_AddItemToArray (aliases, cJSON_CreateString (pipeline->aliases->pdata[k]));
      cJSON_AddStringToObject (object, "title", pipeline->title != NULL ? pipeline->title : "");
      passes = cJSON_AddArrayToObject (object, "passes");
      for (guint k = 0; k < pipeline->passes->len; k++)
        cJSON_AddItemToArray (
            passes, cJSON_CreateString (((const IrPass *) pipeline->passes->pdata[k])->name));
      cJSON_AddItemToArray (array, object);
    }
}

static void
add_options (cJSON *object, const IrPass *pass)
{
  cJSON *array = cJSON_AddArrayToObject (object, "options");

  for (const IrPassOption *option = pass->options; option != NULL && option->name != NULL; option++)
    {
      cJSON *row = cJSON_CreateObject ();

      cJSON_AddStringToObject (row, "name", option->name);
      cJSON_AddStringToObject (row, "kind", ir_pass_option_kind_name (option->kind));
      cJSON_AddStringToObject (row, "default", option->fallback);
      cJSON_AddStringToObject (row, "doc", option->doc);
      cJSON_AddItemToArray (array, row);
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
  cJSON_AddBoolToObject (object, "once", pass->once);
  add_options (object, pass);
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
print_pipelines (void)
{
  g_auto (GStrv) names = ir_pipeline_names ();

  cli_print ("\npipelines\n");
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (IrPipeline) pipeline = ir_pipeline_load (names[i], NULL);

      if (pipeline != NULL)
        cli_print ("%-28s %2u passes %s\n", names[i], pipeline->passes->len, pipeline->doc);
    }
}

static void
print (void)
{
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    {
      cli_print ("%-28s %-9s %s%s\n", passes[i]->name, ir_class_name (passes[i]->step_class),
                 passes[i]->title, passes[i]->once ? " (once)" : "");
      for (const IrPassOption *option = passes[i]->options; option != NULL && option->name != NULL;
           option++)
        cli_print ("    %-24s %-9s %s\n", option->name, option->fallback, option->doc);
    }
  print_pipelines ();
}

static CliStatus
print_pipeline (const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load (name, &error);
  g_autofree char *text = pipeline != NULL ? ir_pipeline_to_json (pipeline) : NULL;

  if (text == NULL)
    return cli_fail (CLI_BAD, error);
  cli_write (text);
  return CLI_OK;
}

static CliStatus
run (Cli *cli)
{
  static const CliTable table = { ir_passes_markdown, add_json, print };
  const Options *options = cli->options;

  return options->pipeline != NULL ? print_pipeline (options->pipeline)
                                   : cli_print_table (cli, &table);
}

const CliCommand cli_command_passes = {
  .name = "passes",
  .arguments = "",
  .summary = "The table of passes",
  .doc =
      "A pipeline of one's own is a JSON file, for --pipeline: what this command prints with -p is one.\n"
      "data/schema/pipeline.schema.json says what it may hold. The option LIMIT of a pass PASS is set by\n"
      "--set PASS.LIMIT=VALUE, or in the file by { \"pass\": \"PASS\", \"LIMIT\": VALUE }.",
  .max_args = 0,
  .options = passes_options,
  .options_size = sizeof (Options),
  .run = run,
};
