/* What two models compute from the same inputs, value by value. */
#pragma once

#include "app/cli/model.h"
#include "app/cli/value-table.h"
#include "core/diff/diff.h"

/* What the inputs of both sides hold: those of the same name, or else the same place, the same. *a, *b: (out) (transfer
 * full): value id -> IrTensor */
gboolean cli_diff_inputs (Cli *cli,
                          const CliModelOptions *options,
                          const IrDiff *diff,
                          GHashTable **a,
                          GHashTable **b,
                          GError **error);
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
