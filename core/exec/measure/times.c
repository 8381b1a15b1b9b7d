#include "config.h"

#include "core/exec/measure/times.h"

#include <stdlib.h>

/**
 * ir_compare_doubles:
 * @a: a double
 * @b: another
 *
 * For sorting in ascending order. Any order of NaN, which no measurement gives.
 *
 * Returns: negative, 0 or positive
 */
int
ir_compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

/**
 * ir_quantile:
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
ir_quantile (const double *sorted, guint n, double p)
{
  double at = p * (n - 1);
  guint low = (guint) at, high = MIN (low + 1, n - 1);

  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

/**
 * ir_times:
 * @samples: of double
 *
 * Returns: what the samples are together, in their unit
 */
IrTimes
ir_times (const GArray *samples)
{
  guint n = samples->len;

  if (n == 0)
    return (IrTimes){ 0 };
  g_autofree double *sorted = g_memdup2 (samples->data, n * sizeof *sorted);
  qsort (sorted, n, sizeof *sorted, ir_compare_doubles);
  return (IrTimes){
    .n = n,
    .median = ir_quantile (sorted, n, 0.5),
    .min = sorted[0],
    .max = sorted[n - 1],
    .q1 = ir_quantile (sorted, n, 0.25),
    .q3 = ir_quantile (sorted, n, 0.75),
  };
}
