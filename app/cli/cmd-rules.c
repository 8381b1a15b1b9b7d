/* irscope rules: the table of rewrite rules. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "passes/rule.h"

#include <stdio.h>

typedef struct
{
  gboolean markdown;
} Options;

static const CliOption rules_options[] = {
  { "markdown", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, markdown), "As docs/RULES.md",
    NULL },
  { 0 },
};

static cJSON *
rule_json (const IrPass *pass, const IrRule *rule)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", rule->name);
  cJSON_AddStringToObject (object, "pass", pass->name);
  cJSON_AddStringToObject (object, "class", ir_class_name (rule->step_class));
  cJSON_AddStringToObject (object, "pattern", rule->pattern != NULL ? rule->pattern : "");
  cJSON_AddStringToObject (object, "replacement",
                           rule->replacement != NULL ? rule->replacement : "");
  cJSON_AddStringToObject (object, "doc", rule->doc);
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
      g_autofree char *text = ir_rules_markdown ();
      fputs (text, stdout);
      return CLI_OK;
    }
  passes = ir_passes (&n);
  json = cJSON_CreateObject ();
  array = cJSON_AddArrayToObject (json, "rules");
  for (guint i = 0; i < n; i++)
    for (const IrRule *rule = passes[i]->rules != NULL ? passes[i]->rules
                                                       : passes[i]->documented_rules;
         rule != NULL && rule->name != NULL; rule++)
      {
        cJSON_AddItemToArray (array, rule_json (passes[i], rule));
        if (!cli->json)
          printf ("%-32s %-9s %s\n", rule->name, ir_class_name (rule->step_class), rule->doc);
      }
  if (cli->json)
    cli_json_print (json);
  else
    cJSON_Delete (json);
  return CLI_OK;
}

const CliCommand cli_command_rules = {
  .name = "rules",
  .arguments = "",
  .summary = "The table of rewrite rules",
  .doc = "",
  .max_args = 0,
  .options = rules_options,
  .options_size = sizeof (Options),
  .run = run,
};
