/* How far two tensors lie apart: largest differences, in numbers and in units in the last place. */
#pragma once

#include "core/op/op.h"

typedef struct
{
  gboolean same;               /* all bits agree; any NaN is as good as another */
  gboolean non_finite_differs; /* finite on one side only, or infinities of other signs */
  double max_abs, max_rel;     /* max_rel: |b - a| / |a|, over elements whose a is not 0 */
  double scale;                /* largest finite magnitude of a */
  guint64 max_ulp;
  guint64 at; /* element of the largest difference */
} IrComparison;

/* FALSE if they cannot be compared: other shapes or types. Floats may have other widths. */
gboolean ir_tensors_compare (const IrTensor *a, const IrTensor *b, IrComparison *result);
double ir_comparison_of_scale (const IrComparison *result);
double ir_tolerance_scale (IrDtype dtype);
double ir_tolerance_of (IrTolerance tolerance, IrDtype dtype, double scale);
/* Floating-point tensors as float64; others as they are. (transfer full) (nullable) */
IrTensor *ir_tensor_widen (const IrTensor *tensor);
