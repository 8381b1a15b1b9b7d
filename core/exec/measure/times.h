/* Repeated measurements of one thing, told by their order statistics. */
#pragma once

#include <glib.h>

typedef struct
{
  guint n; /* 0: nothing was measured, all else is 0 */
  double median, min, max, q1, q3;
} IrTimes;

IrTimes ir_times (const GArray *samples); /* of double, any order; left as they are */
double ir_quantile (const double *sorted, guint n, double p);
int ir_compare_doubles (gconstpointer a, gconstpointer b);
