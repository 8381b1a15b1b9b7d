/* Plans need sizes: they are made for a copy of the model in which every symbol has one. */
#pragma once

#include "app/cli/model.h"
#include "core/exec/memory/memory.h"
#include "core/exec/schedule/tasks.h"

/* Of search for one placement: many are judged on the way to one plan under a budget. */
#define CLI_BUDGET_STEPS 5000

/* How a plan of memory is asked for, as options are given: all nullable. */
typedef struct
{
  char *order, *parallel, *budget;
  gboolean separate;
} CliPlanOptions;

#define CLI_ORDER_DOC    "Order of the nodes: file (the default) or memory, which keeps the peak low"
#define CLI_SEPARATE_DOC "Give every value bytes of its own: no views, nothing in place"

/* The same as read. */
typedef struct
{
  IrParallelMode parallel;
  gboolean in_memory_order;
  IrMemFlags flags;
} CliPlanChoice;
gboolean cli_plan_choice (const CliPlanOptions *options, CliPlanChoice *choice, GError **error);
/* The schedule that is planned for, and the model with its sizes; (transfer full) (nullable) */
IrSchedule *cli_plan_schedule (Cli *cli,
                               const CliModelOptions *options,
                               const CliPlanChoice *choice,
                               IrModel *model,
                               IrModel **sized,
                               GError **error);

/* Symbols that --dim and --shape leave open get the sizes that a random run would take. */
IrSchedule *cli_schedule (Cli *cli,
                          const CliModelOptions *options,
                          IrModel *model,
                          guint n_workers,
                          IrModel **sized,
                          GError **error);
/* The schedule that a run has, for --parallel on or off; auto runs the model as often as deciding
 * takes, for which @options say with what. @details: (optional) */
IrSchedule *cli_run_schedule (Cli *cli,
                              const CliModelOptions *options,
                              IrModel *model,
                              IrParallelMode mode,
                              IrModel **sized,
                              IrScheduleDetails **details,
                              GError **error);
/* The last of a few runs with this option: those before it warm up, or decide. */
IrRun *cli_timed_run (
    Cli *cli, const CliModelOptions *options, IrModel *model, IrParallelMode mode, GError **error);
/* A copy of @model without calls of functions, in which symbols have sizes as above. */
IrModel *cli_sized_model (const CliModelOptions *options, IrModel *model, GError **error);
guint cli_n_workers (const CliModelOptions *options);
