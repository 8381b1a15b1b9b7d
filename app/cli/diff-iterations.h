/* What values of loops held in one iteration and in another. */
#pragma once

#include "app/cli/model.h"

/* Runs @file once and compares iteration I of each loop with J, as @text "I:J" has them; prints that. */
CliStatus cli_diff_iterations (Cli *cli,
                               const CliModelOptions *options,
                               const char *file,
                               const char *text);
