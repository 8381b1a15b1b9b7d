/* What irscope run was asked for and has found, for the files that report it. */
#pragma once

#include "app/cli/execution.h"
#include "app/cli/model.h"
#include "core/exec/eval/data-set.h"
#include "core/exec/measure/roofline.h"
#include "core/exec/replay/replay.h"
#include "core/io/staging.h"

typedef struct
{
  CliModelOptions model;
  char *capture, *out, *trace, *capture_budget, *parallel, *check_budget;
  char *iterations, *since;
  GArray *picks; /* (nullable) no option: of IrIterationPick, what --capture names of iterations */
  GArray *whole; /* likewise: of IrValueId, what it names besides */
  gboolean iterations_alone; /* no option: nothing else was asked for */
  char **without, **checks, **breaks, **watches, *until;
  gboolean debug;
  gboolean watches_alone; /* no option: values are kept for --watch, and not to be shown */
  gint runs;
  gboolean deterministic, roofline, nodes;
  gint warmup;
  /* No options: what stands in the trace beside the last run. */
  IrRoofline peaks;
  IrModel *expanded;  /* (nullable) the model with bodies of functions in place of their calls */
  GPtrArray *watched; /* (nullable) of IrRunBreak: --watch */
  GPtrArray *traces;  /* of IrTrace: those before the timed runs, then these */
  IrCheckBudget budget;
  IrExecutionCheck *checked; /* (nullable) with --check ref */
  IrStaging *stage;          /* (nullable) with --out */
  IrDataSet *set;            /* (nullable) with --data-set */
} CliRun;

/* What is written of a run: of the graph that ran, or of the original one. */
typedef struct
{
  Cli *cli;
  const CliRun *options;
  IrRun *run;
  IrOriginals *originals; /* (nullable) */
  GHashTable *taken;      /* names of files */
  cJSON *outputs, *captured;
} CliRunReport;

/* -- run-values.c: outputs and captured values, shown and saved -- */
gboolean cli_run_report_values (const CliRunReport *report, GError **error);

/* -- run-iterations.c: values of single iterations -- */
gboolean cli_run_parse_iterations (
    CliRun *options, IrModel *model, IrRunOptions *settings, GArray *chosen, GError **error);
void cli_run_pick_iteration (CliRun *options, const IrIterationName *name);
gboolean cli_run_names_iteration_alone (const CliRun *options, IrValueId value);
gboolean cli_run_report_iterations (const CliRunReport *report, cJSON *json, GError **error);
/* @id: makes it unique; @path: (out) (nullable) (transfer full) */
gboolean cli_run_save_value (const CliRunReport *report,
                             const char *name,
                             guint id,
                             const IrTensor *tensor,
                             char **path,
                             GError **error);

/* -- run-data-set.c -- */
gboolean cli_run_report_data_set (const Cli *cli,
                                  const CliRun *options,
                                  const IrRun *run,
                                  cJSON *json);

/* -- run-since.c: nodes that need not run -- */
/* (transfer full) (nullable): a run of the graph as it was at --since */
IrRun *cli_run_since (Cli *cli,
                      const CliRun *options,
                      IrModel *history,
                      GHashTable *inputs,
                      const IrRunOptions *settings,
                      GError **error);
void cli_run_report_reused (const Cli *cli, const CliRun *options, const IrRun *run, cJSON *json);

/* -- run-nodes.c: what each node took -- */
gboolean cli_run_write_trace (const CliRun *options, const IrRun *run, GError **error);
void cli_run_report_nodes (Cli *cli, const CliRun *options, const IrRun *run, cJSON *json);
void cli_run_add_warmup (cJSON *json, const CliRun *options, const IrRun *run);
