#include "config.h"

#include "app/cli/rates.h"

#include "app/cli/output.h"

/* Per nanosecond they are billions per second. */
static double
per_ns (guint64 n, const CliRates *rates)
{
  return rates->ns > 0 ? (double) n / rates->ns : 0;
}

static IrTraceItem
item_of (const CliRates *rates)
{
  return (IrTraceItem){ .bytes = rates->bytes,
                        .flops = rates->flops,
                        .end_ns = (gint64) (rates->ns + 0.5) };
}

double
cli_rates_gflops (const CliRates *rates)
{
  return per_ns (rates->flops, rates);
}

double
cli_rates_gbps (const CliRates *rates)
{
  return per_ns (rates->bytes, rates);
}

double
cli_rates_share (const CliRates *rates, const IrRoofline *peaks)
{
  const IrTraceItem item = item_of (rates);

  return ir_roofline_share (peaks, &item);
}

const char *
cli_rates_bound (const CliRates *rates, const IrRoofline *peaks)
{
  const IrTraceItem item = item_of (rates);

  return ir_roofline_bound_by_compute (peaks, &item) ? "compute" : "memory";
}

void
cli_json_add_rates (cJSON *object, const CliRates *rates, const IrRoofline *peaks)
{
  cli_json_add_uint (object, "bytes", rates->bytes);
  cli_json_add_uint (object, "flops", rates->flops);
  if (!(rates->ns >= 0))
    return;
  cJSON_AddNumberToObject (object, "gflops", cli_rates_gflops (rates));
  cJSON_AddNumberToObject (object, "gbps", cli_rates_gbps (rates));
  if (peaks == NULL)
    return;
  cJSON_AddStringToObject (object, "bound", cli_rates_bound (rates, peaks));
  cJSON_AddNumberToObject (object, "roofline", cli_rates_share (rates, peaks));
}

void
cli_json_add_peaks (cJSON *object, const char *key, const IrRoofline *peaks)
{
  cJSON *added = cJSON_AddObjectToObject (object, key);

  cJSON_AddNumberToObject (added, "gflops", peaks->gflops);
  cJSON_AddNumberToObject (added, "gbps", peaks->gbps);
  cJSON_AddNumberToObject (added, "threads", peaks->n_threads);
}
