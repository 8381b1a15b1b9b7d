#include "config.h"

#include "app/cli/times.h"

#include <stdlib.h>
#include <string.h>

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

/**
 * cli_quantile:
 * @sorted: (array length=n): ascending
 * @n: at least 1
 * @p: from 0 to 1
 *
 * Linear between the two samples around place @p · (@n - 1), as numpy.quantile(); the median of an
 * even number is the mean of the two in the middle.
 *
 * Returns: the quantile
 */
double
cli_quantile (const double *sorted, guint n, double p)
{
  double at = p * (n - 1);
  guint low = (guint) at, high = MIN (low + 1, n - 1);

  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

/**
 * cli_times:
 * @samples: of double
 *
 * Returns: what the samples are together, in their unit
 */
CliTimes
cli_times (const GArray *samples)
{
  guint n = samples->len;

  if (n == 0)
    return (CliTimes){ 0 };
  g_autofree double *sorted = g_memdup2 (samples->data, n * sizeof *sorted);
  qsort (sorted, n, sizeof *sorted, compare_doubles);
  return (CliTimes){
    .n = n,
    .median = cli_quantile (sorted, n, 0.5),
    .min = sorted[0],
    .max = sorted[n - 1],
    .q1 = cli_quantile (sorted, n, 0.25),
    .q3 = cli_quantile (sorted, n, 0.75),
  };
}

/**
 * cli_json_add_times:
 * @object: where to add
 * @key: name of the member
 * @times: what to add
 *
 * Adds null where nothing was measured.
 */
void
cli_json_add_times (cJSON *object, const char *key, const CliTimes *times)
{
  if (times->n == 0)
    {
      cJSON_AddNullToObject (object, key);
      return;
    }
  cJSON *added = cJSON_AddObjectToObject (object, key);
  cJSON_AddNumberToObject (added, "median", times->median);
  cJSON_AddNumberToObject (added, "min", times->min);
  cJSON_AddNumberToObject (added, "q1", times->q1);
  cJSON_AddNumberToObject (added, "q3", times->q3);
  cJSON_AddNumberToObject (added, "max", times->max);
  cJSON_AddNumberToObject (added, "runs", times->n);
}
