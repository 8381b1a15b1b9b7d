/* Lists that irscope memory makes of a plan: the events of an allocator, and what differs from another plan. */
#pragma once

#include "app/cli/command.h"
#include "core/exec/memory/memory.h"

/* @json: (nullable) gets them; else they are printed */
void cli_memory_events (Cli *cli, const IrModel *model, const IrMemPlan *plan, cJSON *json);
/* @name: what @before is called */
void cli_memory_against (Cli *cli,
                         const char *name,
                         IrModel *before_model,
                         const IrMemPlan *before,
                         IrModel *model,
                         const IrMemPlan *plan,
                         cJSON *json);
