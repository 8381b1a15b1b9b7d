/* What `irscope memory --budget` prints: which values go and come again. */
#pragma once

#include "app/cli/output.h"
#include "core/exec/recompute/recompute.h"
#include "core/exec/run/run.h"

/* "64M" or "50%" of @whole. */
gboolean cli_parse_budget (const char *text, guint64 whole, guint64 *bytes, GError **error);
/* What a run did to hold its budget; nothing, where it had none. */
void cli_held_add (cJSON *json, const IrRun *run);
/* @planned: bytes of the arena of the plan */
void cli_held_add_plan (cJSON *json, const IrHeld *held, guint64 planned);
void cli_held_print (const IrRun *run);
/* As cli_fail(); what a budget that cannot be held would have to be is JSON, too. */
CliStatus cli_fail_run (const Cli *cli, const GError *error);
cJSON *cli_recompute_json (const IrModel *model,
                           const IrRecomputeGraph *graph,
                           const IrRecomputePlan *plan);
void cli_recompute_print (const IrModel *model,
                          const IrRecomputeGraph *graph,
                          const IrRecomputePlan *plan);
/* The intervals as blocks: id,lower,upper,size,offset. */
void cli_recompute_print_csv (const IrModel *model,
                              const IrRecomputeGraph *graph,
                              const IrRecomputePlan *plan);
