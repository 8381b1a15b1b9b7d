/* irscope rules: the table of rewrite rules. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/table.h"
#include "passes/rule/rule.h"

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

static const IrRule *
rules_of (const IrPass *pass)
{
  return pass->rules != NULL ? pass->rules : pass->documented_rules;
}

static void
add_json (cJSON *json)
{
  cJSON *array = cJSON_AddArrayToObject (json, "rules");
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    for (const IrRule *rule = rules_of (passes[i]); rule != NULL && rule->name != NULL; rule++)
      cJSON_AddItemToArray (array, rule_json (passes[i], rule));
}

static void
print (void)
{
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    for (const IrRule *rule = rules_of (passes[i]); rule != NULL && rule->name != NULL; rule++)
      cli_print ("%-32s %-9s %s\n", rule->name, ir_class_name (rule->step_class), rule->doc);
}

static CliStatus
run (Cli *cli)
{
  static const CliTable table = { ir_rules_markdown, add_json, print };
  return cli_print_table (cli, &table);
}

const CliCommand cli_command_rules = {
  .name = "rules",
  .arguments = "",
  .summary = "The table of rewrite rules",
  .doc = "",
  .max_args = 0,
  .options = cli_table_options,
  .options_size = sizeof (CliTableOptions),
  .run = run,
};
