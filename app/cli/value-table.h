/* All values of two graphs as a table: those that are the same value, with their differences, and those
 * that have no partner. */
#pragma once

#include "passes/proof/compare-values.h"

typedef struct
{
  char *path; /* (nullable) .csv or .json */
  char *sort; /* (nullable) a column */
} CliValueTable;

gboolean cli_value_table_check (const CliValueTable *table, gboolean values, GError **error);
gboolean cli_value_table_write (const CliValueTable *table,
                                const IrComparedValues *values,
                                GError **error);
