/* How two tensors differ, in all the numbers that people compare by, and where. */
#pragma once

#include "core/exec/check/difference.h"

#include <gio/gio.h>

typedef struct
{
  guint64 n, n_different;
  guint64 first; /* element that differs first; n: none does */
  guint64 worst; /* where they lie farthest apart, or where one side alone is finite; n: nowhere */
  guint64 n_non_finite; /* elements that are NaN or infinite on one side only, or of other signs */
  double max_abs, mean_abs, rms; /* over elements that are finite on both sides */
  double max_rel;                /* |b - a| / |a|, over those whose a is not 0 */
  guint64 max_ulp;               /* of the type of b; 0 where that is no floating-point type */
  double cosine;                 /* of the angle between both as vectors; NaN where one is zero */
  double snr_db;                 /* sum of a^2 over that of (b - a)^2; infinite: they are equal */
  double psnr_db;   /* (max a - min a)^2 over the mean of (b - a)^2; NaN: a is constant */
  double tolerance; /* the least t for which |b - a| <= t + t |a| everywhere */
} IrTensorMetrics;

gboolean ir_tensors_are_comparable (const IrTensor *a, const IrTensor *b);
/* FALSE: of other shapes, or they hold no numbers. */
gboolean ir_tensors_measure (const IrTensor *a,
                             const IrTensor *b,
                             GCancellable *cancellable,
                             IrTensorMetrics *metrics);
