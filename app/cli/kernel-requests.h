/* Kernels that users ask for, node by node. */
#pragma once

#include "app/cli/model.h"

gboolean cli_ask_for_kernels (const CliModelOptions *options, IrModel *model, GError **error);
