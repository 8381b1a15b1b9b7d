/* One pass over both tensors in blocks of doubles. Polygraphy's comparisons have the same numbers; the
 * least tolerance is what its "minimum required tolerance" says, with one number for both parts. */
#include "config.h"

#include "core/exec/check/metrics.h"

#include <math.h>
#include <string.h>

#define POLL_ELEMENTS 65536 /* between looks at whether it was cancelled */

/* Sums over elements that are finite on both sides. */
typedef struct
{
  guint64 n;
  double aa, bb, ab, dd, d; /* of a * a, ..., of squares and sizes of differences */
  double low, high;         /* of a */
} Sums;

static gboolean
has_numbers (const IrTensor *tensor)
{
  const IrDtypeKind kind = ir_dtype_kind (ir_tensor_dtype (tensor));

  return !ir_tensor_is_container (tensor) && kind != IR_DTYPE_KIND_STRING &&
         kind != IR_DTYPE_KIND_COMPLEX;
}

static gboolean
same_shape (const IrTensor *a, const IrTensor *b)
{
  return ir_tensor_rank (a) == ir_tensor_rank (b) &&
         (ir_tensor_rank (a) == 0 || memcmp (ir_tensor_dims (a), ir_tensor_dims (b),
                                             ir_tensor_rank (a) * sizeof (gint64)) == 0);
}

static void
add_non_finite (IrTensorMetrics *metrics, double a, double b, guint64 at)
{
  if (a == b || (isnan (a) && isnan (b)))
    return;
  metrics->n_different++;
  metrics->first = MIN (metrics->first, at);
  if (metrics->n_non_finite++ == 0)
    metrics->worst = at;
}

static void
add_finite (IrTensorMetrics *metrics, Sums *sums, double a, double b, guint64 at)
{
  const double d = fabs (b - a), size = fabs (a);

  sums->n++;
  sums->aa += a * a;
  sums->bb += b * b;
  sums->ab += a * b;
  sums->low = MIN (sums->low, a);
  sums->high = MAX (sums->high, a);
  if (d == 0)
    return;
  metrics->n_different++;
  metrics->first = MIN (metrics->first, at);
  sums->dd += d * d;
  sums->d += d;
  if (size > 0)
    metrics->max_rel = MAX (metrics->max_rel, d / size);
  metrics->tolerance = MAX (metrics->tolerance, d / (1 + size));
  if (d <= metrics->max_abs)
    return;
  metrics->max_abs = d;
  if (metrics->n_non_finite == 0)
    metrics->worst = at;
}

/* Decibels of a ratio of squares. */
static double
decibels (double signal, double noise)
{
  return noise > 0 ? 10 * log10 (signal / noise) : INFINITY;
}

static void
finish (IrTensorMetrics *metrics, const Sums *sums)
{
  const double n = (double) MAX (sums->n, 1), range = sums->high - sums->low;

  metrics->mean_abs = sums->d / n;
  metrics->rms = sqrt (sums->dd / n);
  metrics->cosine = sums->aa > 0 && sums->bb > 0
                        ? CLAMP (sums->ab / (sqrt (sums->aa) * sqrt (sums->bb)), -1, 1)
                        : NAN;
  metrics->snr_db = sums->aa > 0 || sums->dd == 0 ? decibels (sums->aa, sums->dd) : -INFINITY;
  metrics->psnr_db = sums->n > 0 && range > 0 ? decibels (range * range, sums->dd / n) : NAN;
  if (metrics->n_non_finite > 0)
    metrics->tolerance = INFINITY;
}

/**
 * ir_tensors_are_comparable:
 * @a: a tensor
 * @b: another one
 *
 * Returns: %TRUE if both have the same shape and hold real numbers
 */
gboolean
ir_tensors_are_comparable (const IrTensor *a, const IrTensor *b)
{
  return has_numbers (a) && has_numbers (b) && same_shape (a, b);
}

/**
 * ir_tensors_measure:
 * @a: what it is held against
 * @b: what is compared
 * @cancellable: (nullable): polled
 * @metrics: (out caller-allocates): what was found
 *
 * Types may differ; elements are compared as numbers in double. An element that is NaN on both sides,
 * or the same infinity, does not differ.
 *
 * Returns: %FALSE if shapes differ, if one holds no real numbers, or if it was cancelled
 */
gboolean
ir_tensors_measure (const IrTensor *a,
                    const IrTensor *b,
                    GCancellable *cancellable,
                    IrTensorMetrics *metrics)
{
  Sums sums = { .low = INFINITY, .high = -INFINITY };
  IrComparison comparison;
  const guint64 n = ir_tensor_n_elements (a);

  *metrics = (IrTensorMetrics){ .n = n, .first = n, .worst = n };
  if (!ir_tensors_are_comparable (a, b))
    return FALSE;
  for (guint64 i = 0; i < n; i++)
    {
      const double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);

      if (i % POLL_ELEMENTS == 0 && g_cancellable_is_cancelled (cancellable))
        return FALSE;
      if (isfinite (x) && isfinite (y))
        add_finite (metrics, &sums, x, y, i);
      else
        add_non_finite (metrics, x, y, i);
    }
  finish (metrics, &sums);
  if (ir_tensors_compare (a, b, &comparison))
    metrics->max_ulp = comparison.max_ulp;
  return TRUE;
}
