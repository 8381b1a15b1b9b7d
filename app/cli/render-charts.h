/* Pictures of render that are no graph. */
#pragma once

#include "app/cli/model.h"
#include "app/cli/plans.h"
#include "core/layout/charts.h"
#include "passes/debug/gradients.h"

typedef struct
{
  const CliModelOptions *model;
  const CliPlanOptions *plan;
  CliModel *opened;     /* (nullable) for "scoreboard": with its steps */
  const char *tensor;   /* (nullable) for "tensor": of which value */
  const char *log;      /* (nullable) for "training": the file of its steps */
  const char *of, *wrt; /* (nullable) of derivatives: as the options of the pass gradient */
  const char *loop, *iterations; /* (nullable) for "unrolled" */
} CliChartSource;

/* @view: summary, schedule, trace, timeline, memory, tensor, derivation, gradients, training, scoreboard, flow or unrolled.
 * (transfer full) (nullable) */
IrScene *cli_chart (Cli *cli,
                    const char *view,
                    const CliChartSource *source,
                    IrModel *model,
                    const IrChartOptions *chart,
                    GError **error);
/* The events of a run of it; (nullable) after an error. (transfer full) */
IrFlowLog *cli_flow_log (Cli *cli, const CliChartSource *source, IrModel *model, GError **error);
/* What the graph was derived to, in a run on a copy; by the parameters, or else inputs, if @source says nothing
 * else. (transfer full) (nullable) */
IrGradients *cli_gradients (Cli *cli, const CliChartSource *source, IrModel *model, GError **error);
