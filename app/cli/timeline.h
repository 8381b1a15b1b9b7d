/* What irscope schedule says of a run on one axis of time. */
#pragma once

#include "app/cli/command.h"
#include "core/exec/measure/timeline.h"

#include <cjson/cJSON.h>

/* As options are given: what is looked at. All nullable. */
typedef struct
{
  char *from, *to; /* ms */
  char *node;
} CliTimelineOptions;

/* Whether anything of the timeline is asked for. */
gboolean cli_timeline_wanted (const CliTimelineOptions *options);
/* @json: (nullable) gets what else is printed. FALSE: an option is not as it has to be */
gboolean cli_timeline_show (Cli *cli,
                            const CliTimelineOptions *options,
                            const IrTimeline *timeline,
                            cJSON *json,
                            GError **error);
