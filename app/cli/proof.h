/* Proving and trying the steps of a model from the command line; shared by several commands. */
#pragma once
#include "app/cli/model.h"
#include "core/exec/check/check.h"
#include "passes/debug/probe.h"
gboolean cli_prove (Cli *cli,
                    const CliModelOptions *options,
                    IrModel *model,
                    IrProofSummary *summary,
                    GError **error);
/* The execution of the graph as it is now, on the inputs that the steps were proved with; of one
 * that cannot run nothing is judged. */
IrExecutionCheck *cli_check_execution (Cli *cli,
                                       const CliModelOptions *options,
                                       IrModel *model,
                                       GError **error);
/* The steps of a model, on the inputs that the options say; with FILE@N, those up to step N. */
IrTrial *cli_trial (Cli *cli, const CliModelOptions *options, CliModel *opened, GError **error);
