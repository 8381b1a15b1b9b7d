/* Plans need sizes: a copy of the model in which every symbol has one. */
#pragma once
#include "app/cli/model.h"
/* Symbols that --dim and --shape leave open get the sizes that a random run would take. */
IrModel *cli_static_model (const CliModelOptions *options, IrModel *model, GError **error);
