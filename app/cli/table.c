#include "config.h"

#include "app/cli/table.h"

#include "app/cli/output.h"

const CliOption cli_table_options[] = {
  { "markdown", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliTableOptions, markdown),
    "As the generated document in docs/", NULL },
  { 0 },
};

CliStatus
cli_print_table (const Cli *cli, const CliTable *table)
{
  const CliTableOptions *options = cli->options;

  if (options->markdown)
    {
      g_autofree char *text = table->markdown ();
      cli_write (text);
    }
  else if (cli->json)
    {
      cJSON *json = cJSON_CreateObject ();
      table->add_json (json);
      cli_json_print (json);
    }
  else
    table->print ();
  return CLI_OK;
}
