/* The kernels that a graph has for GPUs, as files: irscope kernels --dump. */
#pragma once

#include "app/cli/model.h"

CliStatus cli_dump_kernels (
    Cli *cli, const CliModelOptions *options, const char *folder, int architecture, gboolean keeps);
