/* Statistics of a tensor's contents. Two passes over the data: the first finds the range and the
 * sums, the second fills the histogram, whose bins need the range. */
#include "config.h"

#include <math.h>

#include "core/exec/exec.h"

static void
count_special (IrTensorStats *stats, double value)
{
  if (isnan (value))
    stats->n_nan++;
  else if (value > 0)
    stats->n_pos_inf++;
  else
    stats->n_neg_inf++;
}

static void
fill_bins (const IrTensor *tensor, IrTensorStats *stats)
{
  double low = stats->bin_low, width = (stats->bin_high - low) / stats->n_bins;

  for (guint64 i = 0; i < stats->n; i++)
    {
      double value = ir_tensor_get_double (tensor, i);
      if (!isfinite (value))
        continue;
      double bin = width > 0 ? floor ((value - low) / width) : 0;
      stats->bins[(guint) CLAMP (bin, 0, stats->n_bins - 1)]++;
    }
}

/**
 * ir_tensor_stats:
 * @tensor: any tensor
 * @n_bins: bins of the histogram, at most 64; 0: no histogram
 * @stats: (out): the statistics
 *
 * Computes range, mean, standard deviation (of the population) and histogram over the finite
 * elements, and counts the others. The moments are updated as in Welford 1962, so large means do
 * not cancel. Tensors of strings have only their number of elements. With no finite element, range,
 * mean and deviation are 0.
 */
void
ir_tensor_stats (const IrTensor *tensor, guint n_bins, IrTensorStats *stats)
{
  g_return_if_fail (tensor != NULL && stats != NULL);
  double mean = 0, squares = 0, power = 0;
  guint64 n_finite = 0;

  *stats = (IrTensorStats){ .n = ir_tensor_n_elements (tensor) };
  if (ir_dtype_kind (ir_tensor_dtype (tensor)) == IR_DTYPE_KIND_STRING)
    return;
  for (guint64 i = 0; i < stats->n; i++)
    {
      double value = ir_tensor_get_double (tensor, i);
      if (!isfinite (value))
        {
          count_special (stats, value);
          continue;
        }
      stats->min = n_finite == 0 ? value : MIN (stats->min, value);
      stats->max = n_finite == 0 ? value : MAX (stats->max, value);
      stats->n_zero += value == 0;
      stats->n_negative += value < 0;
      n_finite++;
      double delta = value - mean;
      mean += delta / (double) n_finite;
      squares += delta * (value - mean);
      power += value * value;
    }
  if (n_finite == 0)
    return;
  stats->mean = mean;
  stats->std = sqrt (squares / (double) n_finite);
  stats->l2 = sqrt (power);
  stats->n_bins = MIN (n_bins, G_N_ELEMENTS (stats->bins));
  stats->bin_low = stats->min;
  stats->bin_high = stats->max;
  if (stats->n_bins > 0)
    fill_bins (tensor, stats);
}
