/* Pictures of render that are no graph. */
#pragma once

#include "app/cli/model.h"
#include "app/cli/plans.h"
#include "core/layout/charts.h"

typedef struct
{
  const CliModelOptions *model;
  const CliPlanOptions *plan;
  const char *tensor; /* (nullable) for "tensor": of which value */
} CliChartSource;

/* @view: summary, schedule, trace, timeline, memory, tensor or derivation. (transfer full) (nullable) */
IrScene *cli_chart (Cli *cli,
                    const char *view,
                    const CliChartSource *source,
                    IrModel *model,
                    const IrChartOptions *chart,
                    GError **error);
