/* Repeated measurements of one thing, told by their order statistics. */
#pragma once

#include <cjson/cJSON.h>
#include <glib.h>

typedef struct
{
  guint n; /* 0: nothing was measured, all else is 0 */
  double median, min, max, q1, q3;
} CliTimes;

CliTimes cli_times (const GArray *samples); /* of double, any order; left as they are */
double cli_quantile (const double *sorted, guint n, double p);
/* key: {"median", "min", "q1", "q3", "max", "runs"} */
void cli_json_add_times (cJSON *object, const char *key, const CliTimes *times);
