/* The check of an execution in what commands print. */
#pragma once

#include "core/exec/check/check.h"

#include "app/cli/model.h"

#include <cjson/cJSON.h>

/* "NODE" or "NODE,TOTAL", in operations, such as 2G,25G; (nullable) @text: the defaults */
gboolean cli_check_budget (const char *text, IrCheckBudget *budget, GError **error);
cJSON *cli_execution_json (const IrExecutionCheck *check);
/* @all: also what was not judged, and why */
void cli_execution_print (const IrExecutionCheck *check, gboolean all);
/* Runs and checks the model: how far each node is off, as ir_overlay_errors() gives it. (transfer full) */
GHashTable *cli_node_errors (Cli *cli,
                             const CliModelOptions *options,
                             IrModel *model,
                             GError **error);
gboolean cli_execution_is_right (const IrExecutionCheck *check);
