/* irscope run --break, --until and --debug: where the run stops, what is shown there, and what it is
 * told. */
#pragma once

#include "app/cli/run.h"
#include "core/exec/run/breakpoint.h"
#include "core/exec/run/control.h"

typedef struct _CliRunControl CliRunControl;

/* (nullable): with @error unset: nothing of the kind was asked for */
CliRunControl *cli_run_control_new (
    Cli *cli, const CliRun *options, const IrModel *model, IrRunOptions *settings, GError **error);
void cli_run_control_free (CliRunControl *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CliRunControl, cli_run_control_free)
/* stops, and what --watch found in @run; whether no breakpoint stopped it and nothing was found */
gboolean cli_run_control_report (const CliRunControl *self, cJSON *json, CliStatus *status);
gboolean cli_run_report_watch (Cli *cli, const CliRun *options, IrRun *run, cJSON *json);
/* (transfer full) (nullable): of IrRunBreak; NULL: one cannot be read, or finds no node of @model */
GPtrArray *cli_run_breaks (char *const *texts,
                           const char *option,
                           const IrModel *model,
                           GError **error);
