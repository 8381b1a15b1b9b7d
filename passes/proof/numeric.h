/* Derivatives by differences of the function itself, in double, and how their error depends on the
 * step. */
#pragma once

#include "passes/proof/differences.h"

typedef enum
{
  IR_DIFFERENCE_FORWARD, /* (f (x + h) - f (x)) / h */
  IR_DIFFERENCE_CENTRAL, /* (f (x + h) - f (x - h)) / 2h */
  IR_DIFFERENCE_COMPLEX, /* Im f (x + ih) / h */
  IR_N_DIFFERENCES
} IrDifference;
const char *ir_difference_name (IrDifference kind); /* "forward" */
gboolean ir_difference_find (const char *name, IrDifference *kind);
double ir_difference_step (IrDifference kind); /* that is good for numbers near 1 */

/* What has no complex form */
typedef struct
{
  IrNodeId node; /* 0: all have one */
  char *why;     /* (nullable) */
} IrComplexStop;

/* Per value of @movable->by, of its shape: (transfer full) (nullable) */
GPtrArray *ir_numeric_gradients (
    const IrMovable *movable, IrDifference kind, double h, IrComplexStop *stop, GError **error);

/* -- the sweep -- */
typedef struct
{
  double h;
  double error[IR_N_DIFFERENCES]; /* |numeric - reference|; NaN: it cannot be had */
} IrSweepPoint;

typedef struct
{
  double truncation, rounding; /* slopes of log error by log h, right and left of the best; NaN */
  double best_h, best_error;
} IrSweepFit;

typedef struct
{
  GArray *points;   /* of IrSweepPoint, from the largest h */
  double reference; /* the derivative along the direction, by reverse mode or the complex step */
  IrSweepFit fits[IR_N_DIFFERENCES];
  IrComplexStop stop;
} IrSweep;

/* Of the derivative by all of @by together, along @directions: per value (nullable: ones), of doubles */
IrSweep *ir_numeric_sweep (const IrMovable *movable, double *const *directions, GError **error);
void ir_sweep_free (IrSweep *sweep);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSweep, ir_sweep_free)
