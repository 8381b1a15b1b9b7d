/* What values of loops held in one iteration and in another. */
#pragma once

#include "app/cli/model.h"
#include "core/diff/diff.h"
#include "core/exec/check/first-iteration.h"

/* Runs @file once and compares iteration I of each loop with J, as @text "I:J" has them; prints that. */
CliStatus cli_diff_iterations (Cli *cli,
                               const CliModelOptions *options,
                               const char *file,
                               const char *text);
/* Runs both graphs and compares iteration I of their loops, as @text "I" has it; prints that. */
CliStatus cli_diff_iteration_of_both (Cli *cli,
                                      const CliModelOptions *options,
                                      const IrDiff *diff,
                                      const char *text);
/* Nothing where there is none; @what: in front of the line */
void cli_print_first_iteration (const char *what, const IrFirstIteration *first, const IrModel *b);
void cli_json_add_first_iteration (cJSON *json,
                                   const IrFirstIteration *first,
                                   const IrModel *a,
                                   const IrModel *b);
