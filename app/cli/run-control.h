/* --break, --until and --debug of irscope run and train: where a run stops, what is shown there, and what
 * it is told. */
#pragma once

#include "app/cli/run.h"
#include "core/exec/run/breakpoint.h"
#include "core/exec/run/control.h"

typedef struct _CliRunControl CliRunControl;

typedef struct
{
  char *const *breaks; /* (nullable) */
  const char *until;   /* (nullable) */
  gboolean debug;
  const char *program;         /* "irscope run" */
  const IrCheckBudget *budget; /* (nullable) of diverges */
  gboolean compares; /* cli_run_control_compare() is called, for diverges:original */
} CliRunControlOptions;

/* (nullable): with @error unset: nothing of the kind was asked for. @settings: gets the control */
CliRunControl *cli_run_control_new (Cli *cli,
                                    const CliRunControlOptions *options,
                                    const IrModel *model,
                                    IrRunOptions *settings,
                                    GError **error);
/* What breakpoints need that compare with the original graph. @self: (nullable) */
gboolean cli_run_control_compare (CliRunControl *self,
                                  IrModel *model,
                                  GHashTable *inputs,
                                  const IrRunOptions *settings,
                                  GError **error);
gboolean cli_run_control_is_over (
    const CliRunControl *self); /* (nullable): told to go no further */
gboolean cli_run_control_was_hit (const CliRunControl *self); /* (nullable): by a breakpoint */
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
