/* What nodes did in their time, in what a command prints: bytes, operations, rates, and how much of
 * what the machine can do that is. */
#pragma once

#include "core/exec/measure/roofline.h"

#include <cjson/cJSON.h>

typedef struct
{
  guint64 bytes, flops;
  double ns; /* negative: not measured */
} CliRates;

double cli_rates_gflops (const CliRates *rates); /* billions of operations per second */
double cli_rates_gbps (const CliRates *rates);   /* billions of bytes moved per second */
double cli_rates_share (const CliRates *rates, const IrRoofline *peaks);
const char *cli_rates_bound (const CliRates *rates, const IrRoofline *peaks); /* "compute" */

/* "bytes" and "flops"; where it was measured "gflops" and "gbps", and with @peaks (nullable)
 * "bound" and "roofline" */
void cli_json_add_rates (cJSON *object, const CliRates *rates, const IrRoofline *peaks);
/* key: {"gflops", "gbps", "threads"} */
void cli_json_add_peaks (cJSON *object, const char *key, const IrRoofline *peaks);
