/* Bisection of the plan of a run, as 'irscope bisect --over plan' prints it. */
#pragma once

#include "app/cli/model.h"
#include "passes/debug/predicate.h"

/* @opened: its graph is the last step's, or that of FILE@N */
CliStatus cli_bisect_plan (Cli *cli,
                           const CliModelOptions *options,
                           IrParallelMode parallel,
                           CliModel *opened,
                           IrPredicate *predicate);
