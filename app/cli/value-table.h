/* All values of two graphs as a file: --table. */
#pragma once

#include "passes/proof/value-table.h"

typedef struct
{
  char *path; /* (nullable) .csv or .json */
  char *sort; /* (nullable) a name of ir_value_order_name() */
} CliValueTable;

gboolean cli_value_table_check (const CliValueTable *table, gboolean values, GError **error);
gboolean cli_value_table_write (const CliValueTable *table,
                                const IrComparedValues *values,
                                GError **error);
gboolean cli_value_table_write_structure (const CliValueTable *table,
                                          const IrDiff *diff,
                                          GHashTable *matched,
                                          GError **error);
