/* Where what statistics count lies, and histograms whose bins are no even parts of the range. */
#include "config.h"

#include "core/exec/kernel/names.h"
#include "core/exec/kernel/stats.h"

#include <math.h>

/* The first element of @wanted's kind. */
typedef struct
{
  guint64 *place;
  double value; /* that it has; NaN: any NaN; infinite: any infinity */
  gboolean open;
} Search;

static gboolean
fits (double x, double wanted)
{
  return isnan (wanted) ? isnan (x) : isinf (wanted) ? isinf (x) : x == wanted;
}

/**
 * ir_tensor_places:
 * @tensor: a tensor of numbers
 * @stats: its statistics
 * @places: (out caller-allocates): the first element that is so; the number of elements where none is
 *
 * Reads no further than until all are found.
 */
void
ir_tensor_places (const IrTensor *tensor, const IrTensorStats *stats, IrTensorPlaces *places)
{
  const guint64 n_inf = stats->n_pos_inf + stats->n_neg_inf;
  const gboolean some = stats->n > stats->n_nan + n_inf;
  Search searches[] = {
    { &places->min, stats->min, some },
    { &places->max, stats->max, some },
    { &places->nan, NAN, stats->n_nan > 0 },
    { &places->inf, INFINITY, n_inf > 0 },
  };
  guint n_open = 0;

  *places = (IrTensorPlaces){ stats->n, stats->n, stats->n, stats->n };
  for (guint k = 0; k < G_N_ELEMENTS (searches); k++)
    n_open += searches[k].open;
  for (guint64 i = 0; i < stats->n && n_open > 0; i++)
    {
      const double x = ir_tensor_get_double (tensor, i);

      for (guint k = 0; k < G_N_ELEMENTS (searches); k++)
        if (searches[k].open && fits (x, searches[k].value))
          {
            *searches[k].place = i;
            searches[k].open = FALSE;
            n_open--;
          }
    }
}

static double
scaled (IrHistogramKind kind, double x)
{
  return kind == IR_HISTOGRAM_LOG ? log10 (fabs (x)) : x;
}

/* The range of the bins. */
static void
find_range (const IrTensor *tensor, const IrTensorStats *stats, IrHistogram *result)
{
  const double most = MAX (fabs (stats->min), fabs (stats->max));

  result->low = result->kind == IR_HISTOGRAM_SYMMETRIC ? -most : stats->min;
  result->high = result->kind == IR_HISTOGRAM_SYMMETRIC ? most : stats->max;
  if (result->kind != IR_HISTOGRAM_LOG)
    return;
  result->low = INFINITY;
  result->high = -INFINITY;
  for (guint64 i = 0; i < stats->n; i++)
    {
      const double x = ir_tensor_get_double (tensor, i);

      if (!isfinite (x) || x == 0)
        continue;
      result->low = MIN (result->low, scaled (result->kind, x));
      result->high = MAX (result->high, scaled (result->kind, x));
    }
}

/**
 * ir_tensor_histogram:
 * @tensor: a tensor of numbers
 * @stats: its statistics
 * @kind: how the range is cut into bins
 * @result: (out caller-allocates): the histogram, over finite elements; without bins where there are none
 *
 * The logarithmic one is of magnitudes; its ends are powers of ten, and zeros are counted apart.
 */
void
ir_tensor_histogram (const IrTensor *tensor,
                     const IrTensorStats *stats,
                     IrHistogramKind kind,
                     IrHistogram *result)
{
  double width;

  *result = (IrHistogram){ .kind = kind };
  if (stats->n == stats->n_nan + stats->n_pos_inf + stats->n_neg_inf)
    return;
  find_range (tensor, stats, result);
  result->n_zero = kind == IR_HISTOGRAM_LOG ? stats->n_zero : 0;
  if (!(result->low <= result->high))
    return;
  result->n_bins = G_N_ELEMENTS (result->bins);
  width = (result->high - result->low) / result->n_bins;
  for (guint64 i = 0; i < stats->n; i++)
    {
      const double x = ir_tensor_get_double (tensor, i);
      double at;

      if (!isfinite (x) || (kind == IR_HISTOGRAM_LOG && x == 0))
        continue;
      at = width > 0 ? (scaled (kind, x) - result->low) / width : 0;
      result->bins[(guint) CLAMP (at, 0, result->n_bins - 1)]++;
    }
}

/**
 * ir_histogram_kind_find:
 * @name: "linear", "log" or "symmetric"
 * @kind: (out): what it names
 *
 * Returns: %FALSE if it names nothing
 */
gboolean
ir_histogram_kind_find (const char *name, IrHistogramKind *kind)
{
  static const char *const names[] = { [IR_HISTOGRAM_LINEAR] = "linear",
                                       [IR_HISTOGRAM_LOG] = "log",
                                       [IR_HISTOGRAM_SYMMETRIC] = "symmetric" };
  const int found = ir_name_find (names, G_N_ELEMENTS (names), name);

  if (found >= 0)
    *kind = (IrHistogramKind) found;
  return found >= 0;
}
