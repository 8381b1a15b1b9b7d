/* irscope steps --summary: what each pass did in sum. */
#pragma once

#include "app/cli/command.h"
#include "passes/debug/summary.h"

void cli_print_step_summary (Cli *cli, const IrModel *history);
