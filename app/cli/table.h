/* Commands that print a table of the program: as text, as JSON, or as the generated document. */
#pragma once

#include "app/cli/command.h"

typedef struct
{
  gboolean markdown;
} CliTableOptions;

typedef struct
{
  char *(*markdown) (void);
  void (*add_json) (cJSON *json);
  void (*print) (void);
} CliTable;

extern const CliOption cli_table_options[];
CliStatus cli_print_table (const Cli *cli, const CliTable *table);
