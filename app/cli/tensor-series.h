/* irscope tensor --series: statistics of a value in each iteration of its loops. */
#pragma once

#include "app/cli/model.h"

/* @most: rows of text */
CliStatus cli_tensor_series (
    Cli *cli, const CliModelOptions *options, IrModel *model, const char *name, guint most);
