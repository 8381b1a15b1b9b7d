/* Proving the steps of a model from the command line; shared by optimize and steps. */
#pragma once
#include "app/cli/model.h"
gboolean cli_prove (Cli *cli,
                    const CliModelOptions *options,
                    IrModel *model,
                    IrProofSummary *summary,
                    GError **error);
