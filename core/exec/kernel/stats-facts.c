/* What follows from statistics of a tensor. */
#include "config.h"

#include "core/exec/kernel/stats.h"

#include <math.h>

/**
 * ir_tensor_stats_norm:
 * @stats: of a tensor
 *
 * Unlike the field l2, which leaves out what is not finite.
 *
 * Returns: the norm of all elements: not a number where one is none, infinity where one is infinite
 */
double
ir_tensor_stats_norm (const IrTensorStats *stats)
{
  return stats->n_nan > 0 ? NAN : stats->n_pos_inf + stats->n_neg_inf > 0 ? INFINITY : stats->l2;
}

/**
 * ir_tensor_stats_max_abs:
 * @stats: of a tensor
 *
 * Returns: the largest magnitude among its numbers; not a number where no element is one
 */
double
ir_tensor_stats_max_abs (const IrTensorStats *stats)
{
  return stats->n_nan > 0 && stats->n_nan == stats->n ? NAN
         : stats->n_pos_inf + stats->n_neg_inf > 0    ? INFINITY
                                                      : MAX (fabs (stats->min), fabs (stats->max));
}

/**
 * ir_tensor_stats_n_finite:
 * @stats: of a tensor
 *
 * Returns: how many elements are numbers; where none is, the range and the mean say nothing
 */
guint64
ir_tensor_stats_n_finite (const IrTensorStats *stats)
{
  return stats->n - stats->n_nan - stats->n_pos_inf - stats->n_neg_inf;
}

/**
 * ir_tensor_stats_range_text:
 * @stats: of a tensor
 * @digits: that count, of each number
 * @gap: what stands between two of them
 *
 * Returns: (transfer full): the least and the largest number, mean and deviation, or that there are none
 */
char *
ir_tensor_stats_range_text (const IrTensorStats *stats, int digits, const char *gap)
{
  if (ir_tensor_stats_n_finite (stats) == 0)
    return g_strdup ("no finite element");
  return g_strdup_printf ("min %.*g%smax %.*g%smean %.*g%sstd %.*g", digits, stats->min, gap,
                          digits, stats->max, gap, digits, stats->mean, gap, digits, stats->std);
}
