/* What the machine has to run graphs on: irscope info --devices. */
#pragma once

#include "app/cli/command.h"

CliStatus cli_devices (const Cli *cli);
