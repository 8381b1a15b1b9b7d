/* What two models compute from the same inputs, value by value. */
#pragma once

#include "app/cli/model.h"
#include "app/cli/value-table.h"
#include "core/diff/diff.h"

/* Runs both sides of @diff on inputs as the options say, compares what is the same value in both, and
 * prints that, or, with --json, adds it to @json; and writes @table. @second: (nullable): the back end of
 * the second side, which is the graph of the first. @equal: whether all outputs agree bit for bit; of two back
 * ends, whether no value lies beyond what its operators' tolerance, or float64, allows. */
gboolean cli_diff_values (Cli *cli,
                          const CliModelOptions *options,
                          const char *second,
                          const IrDiff *diff,
                          const CliValueTable *table,
                          cJSON *json,
                          gboolean *equal,
                          GError **error);
