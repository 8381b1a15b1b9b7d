/* How the contents that a command shows were had: kept, spilled, or computed again. */
#pragma once

#include "app/cli/command.h"
#include "core/exec/run/capture.h"

/* origin: { how, nodes, ms, from, stands_for, last_round } */
void cli_json_add_origin (cJSON *object, const IrFound *found, const IrModel *model);
void cli_print_origin (const IrFound *found, const IrModel *model);
