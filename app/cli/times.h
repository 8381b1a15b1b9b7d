/* Repeated measurements in what a command prints. */
#pragma once

#include "core/exec/measure/times.h"

#include <cjson/cJSON.h>

/* key: {"median", "min", "q1", "q3", "max", "runs"} */
void cli_json_add_times (cJSON *object, const char *key, const IrTimes *times);
