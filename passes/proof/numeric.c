/* Numeric derivatives. The error of a difference has two branches: truncation, which grows as h for the
 * forward one and as h^2 for the central one, and rounding, which grows as 1/h; the best step is where
 * they meet. The complex step has no second branch.
 *
 * Sources: Griewank and Walther, Evaluating Derivatives, 3.2; Nocedal and Wright, Numerical
 * Optimization, 8.1; Squire and Trapp 1998. */
#include "config.h"

#include "passes/proof/numeric.h"

#include "core/exec/eval/complex.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_ELEMENTS 4096 /* each costs one run or two */
#define DECADES      16   /* of the sweep, from 1 down */
#define PER_DECADE   2
#define BRANCH       4.0               /* decades beside the best that a slope is fitted to */
#define NOISE        (8 * DBL_EPSILON) /* of the slope: what double cannot tell from 0 */

static const struct
{
  const char *name;
  double step;
} kinds[] = {
  [IR_DIFFERENCE_FORWARD] = { "forward", 1.5e-8 }, /* u^(1/2) */
  [IR_DIFFERENCE_CENTRAL] = { "central", 6e-6 },   /* u^(1/3) */
  [IR_DIFFERENCE_COMPLEX] = { "complex", 1e-200 },
};

/**
 * ir_difference_name:
 * @kind: a difference
 *
 * Returns: its name
 */
const char *
ir_difference_name (IrDifference kind)
{
  return kinds[kind].name;
}

/**
 * ir_difference_find:
 * @name: a name
 * @kind: (out): the difference
 *
 * Returns: whether there is one
 */
gboolean
ir_difference_find (const char *name, IrDifference *kind)
{
  for (guint i = 0; i < IR_N_DIFFERENCES; i++)
    if (strcmp (kinds[i].name, name) == 0)
      return *kind = (IrDifference) i, TRUE;
  return FALSE;
}

/**
 * ir_difference_step:
 * @kind: a difference
 *
 * Returns: a step that is good in double, for numbers near 1
 */
double
ir_difference_step (IrDifference kind)
{
  return kinds[kind].step;
}

/* -- one slope -- */

typedef struct
{
  const IrMovable *movable;
  IrRun *all; /* (nullable) with all values, for the complex step */
  double here;
  IrComplexStop *stop;
} Slopes;

static void
slopes_clear (Slopes *slopes)
{
  g_clear_pointer (&slopes->all, ir_run_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Slopes, slopes_clear)

static gboolean
slopes_init (Slopes *slopes, gboolean with_complex, GError **error)
{
  if (with_complex && (slopes->all = ir_movable_run_all (slopes->movable, error)) == NULL)
    return FALSE;
  return ir_movable_at (slopes->movable, NULL, NULL, 0, &slopes->here, error);
}

static gboolean
complex_slope (const Slopes *slopes,
               const IrValue *value,
               const double *direction,
               double h,
               double *slope,
               GError **error)
{
  const IrNode *node = NULL;
  GError *inner = NULL;
  gboolean done = ir_complex_step (slopes->movable->model, slopes->all, slopes->movable->inputs,
                                   slopes->movable->of, value, direction, h, slope, &node, &inner);

  if (node != NULL && slopes->stop->node == 0)
    {
      slopes->stop->node = node->id;
      slopes->stop->why = g_strdup (inner->message);
    }
  if (!done)
    g_propagate_error (error, inner);
  return done;
}

static gboolean
slope_at (const Slopes *slopes,
          IrDifference kind,
          const IrValue *value,
          const double *direction,
          double h,
          double *slope,
          GError **error)
{
  double before = slopes->here, behind = 0;

  if (kind == IR_DIFFERENCE_COMPLEX)
    return complex_slope (slopes, value, direction, h, slope, error);
  if (!ir_movable_at (slopes->movable, value, direction, h, &behind, error) ||
      (kind == IR_DIFFERENCE_CENTRAL &&
       !ir_movable_at (slopes->movable, value, direction, -h, &before, error)))
    return FALSE;
  *slope = (behind - before) / (kind == IR_DIFFERENCE_CENTRAL ? 2 * h : h);
  return TRUE;
}

/* -- all elements -- */

static const IrTensor *
contents_of (const IrMovable *movable, guint i)
{
  const IrValue *value = movable->by->pdata[i];

  return g_hash_table_lookup (movable->inputs, GUINT_TO_POINTER (value->id));
}

static gboolean
check_elements (const IrMovable *movable, GError **error)
{
  guint64 n = 0;

  for (guint i = 0; i < movable->by->len; i++)
    n += ir_tensor_n_elements (contents_of (movable, i));
  if (n <= MAX_ELEMENTS)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "%" G_GUINT64_FORMAT " elements would be moved, one run each, and at most %d are; "
               "derive by fewer values (wrt), along one direction (a sweep), or backwards",
               n, MAX_ELEMENTS);
  return FALSE;
}

/* Steps grow with the number that is moved. */
static double
scaled (double h, IrDifference kind, double at)
{
  return kind == IR_DIFFERENCE_COMPLEX ? h : h * MAX (fabs (at), 1);
}

static IrTensor *
gradient_of (const Slopes *slopes, guint i, IrDifference kind, double h, GError **error)
{
  const IrTensor *here = contents_of (slopes->movable, i);
  guint64 n = ir_tensor_n_elements (here);
  g_autofree double *direction = g_new0 (double, MAX (n, 1)), *result = g_new0 (double, MAX (n, 1));

  for (guint64 k = 0; k < n; k++)
    {
      direction[k] = 1;
      if (!slope_at (slopes, kind, slopes->movable->by->pdata[i], direction,
                     scaled (h, kind, ir_tensor_get_double (here, k)), &result[k], error))
        return NULL;
      direction[k] = 0;
    }
  return ir_tensor_new_copy (IR_DTYPE_DOUBLE, ir_tensor_rank (here), ir_tensor_dims (here), result);
}

/**
 * ir_numeric_gradients:
 * @movable: a function that can be moved
 * @kind: which difference
 * @h: how far each element is moved, where it is near 1
 * @stop: (out caller-allocates): what has no complex form
 * @error: return location for an error
 *
 * Fails where there are too many elements, it cannot be run, or has no complex form.
 *
 * Returns: (transfer full) (nullable) (element-type IrTensor): per value that it is derived by
 */
GPtrArray *
ir_numeric_gradients (
    const IrMovable *movable, IrDifference kind, double h, IrComplexStop *stop, GError **error)
{
  g_auto (Slopes) slopes = { .movable = movable, .stop = stop };
  g_autoptr (GPtrArray)
      gradients = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);

  *stop = (IrComplexStop){ 0 };
  if (!check_elements (movable, error) ||
      !slopes_init (&slopes, kind == IR_DIFFERENCE_COMPLEX, error))
    return NULL;
  for (guint i = 0; i < movable->by->len; i++)
    {
      IrTensor *gradient = gradient_of (&slopes, i, kind, h, error);
      if (gradient == NULL)
        return NULL;
      g_ptr_array_add (gradients, gradient);
    }
  return g_steal_pointer (&gradients);
}

/* -- the sweep -- */

/**
 * ir_sweep_free:
 * @sweep: (transfer full): a sweep
 */
void
ir_sweep_free (IrSweep *sweep)
{
  g_clear_pointer (&sweep->points, g_array_unref);
  g_free (sweep->stop.why);
  g_free (sweep);
}

/* Along all directions: the sum of the slopes by each value. FALSE: it cannot be had */
static gboolean
slope_along (const Slopes *slopes,
             IrDifference kind,
             double *const *directions,
             double h,
             double *slope,
             GError **error)
{
  *slope = 0;
  for (guint i = 0; i < slopes->movable->by->len; i++)
    {
      double one;
      if (!slope_at (slopes, kind, slopes->movable->by->pdata[i], directions[i], h, &one, error))
        return FALSE;
      *slope += one;
    }
  return TRUE;
}

/* By reverse mode in double; where it has no rule, by the complex step. */
static gboolean
find_reference (IrSweep *sweep, const Slopes *slopes, double *const *directions, GError **error)
{
  g_autoptr (GError) inner = NULL;
  g_autoptr (GPtrArray) gradients = ir_movable_derive (slopes->movable, &inner);

  for (guint i = 0; gradients != NULL && i < gradients->len; i++)
    for (guint64 k = 0; k < ir_tensor_n_elements (gradients->pdata[i]); k++)
      sweep->reference += directions[i][k] * ir_tensor_get_double (gradients->pdata[i], k);
  if (gradients != NULL ||
      slope_along (slopes, IR_DIFFERENCE_COMPLEX, directions,
                   ir_difference_step (IR_DIFFERENCE_COMPLEX), &sweep->reference, NULL))
    return TRUE;
  g_propagate_prefixed_error (error, g_steal_pointer (&inner),
                              "there is nothing to hold the sweep against: ");
  return FALSE;
}

static gboolean
add_point (
    IrSweep *sweep, const Slopes *slopes, double *const *directions, double h, GError **error)
{
  IrSweepPoint point = { .h = h };

  for (guint kind = 0; kind < IR_N_DIFFERENCES; kind++)
    {
      GError *inner = NULL;
      double slope = 0;
      gboolean open = kind != IR_DIFFERENCE_COMPLEX || sweep->stop.node == 0;
      if (open && !slope_along (slopes, (IrDifference) kind, directions, h, &slope, &inner) &&
          (kind != IR_DIFFERENCE_COMPLEX || sweep->stop.node == 0))
        {
          g_propagate_error (error, inner);
          return FALSE;
        }
      point.error[kind] = inner != NULL || !open ? NAN : fabs (slope - sweep->reference);
      g_clear_error (&inner);
    }
  g_array_append_val (sweep->points, point);
  return TRUE;
}

/* The slope of log error by log h over points from @from to @to, in log h; NaN: too few */
static double
fit_slope (const IrSweep *sweep, guint kind, double from, double to)
{
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;

  for (guint i = 0; i < sweep->points->len; i++)
    {
      const IrSweepPoint *point = &g_array_index (sweep->points, IrSweepPoint, i);
      double x = log10 (point->h), e = point->error[kind];
      if (x < from || x > to || !(e > NOISE * fabs (sweep->reference)) ||
          e >= 0.5 * fabs (sweep->reference))
        continue; /* beyond: nothing of the slope is left */
      n++;
      sx += x;
      sy += log10 (e);
      sxx += x * x;
      sxy += x * log10 (e);
    }
  return n >= 3 ? (n * sxy - sx * sy) / (n * sxx - sx * sx) : NAN;
}

static void
fit (IrSweep *sweep, guint kind)
{
  IrSweepFit *fit = &sweep->fits[kind];

  *fit = (IrSweepFit){ NAN, NAN, NAN, NAN };
  for (guint i = 0; i < sweep->points->len; i++)
    {
      const IrSweepPoint *point = &g_array_index (sweep->points, IrSweepPoint, i);
      if (!isnan (point->error[kind]) &&
          (isnan (fit->best_error) || point->error[kind] < fit->best_error))
        {
          fit->best_error = point->error[kind];
          fit->best_h = point->h;
        }
    }
  if (isnan (fit->best_h))
    return;
  double best = log10 (fit->best_h);
  fit->truncation = fit_slope (sweep, kind, best + 0.4, best + 0.4 + BRANCH);
  fit->rounding = fit_slope (sweep, kind, best - 0.4 - 2 * BRANCH, best - 0.4);
}

/**
 * ir_numeric_sweep:
 * @movable: a function that can be moved
 * @directions: (array) (nullable): per value that it is derived by, a number per element
 * @error: return location for an error
 *
 * Errors of the derivative along @directions, for steps from 1 down, against reverse mode in double.
 *
 * Returns: (transfer full) (nullable): the errors, and what is fitted to them
 */
IrSweep *
ir_numeric_sweep (const IrMovable *movable, double *const *directions, GError **error)
{
  g_autoptr (IrSweep) sweep = g_new0 (IrSweep, 1);
  g_auto (Slopes) slopes = { .movable = movable, .stop = &sweep->stop };

  sweep->points = g_array_new (FALSE, FALSE, sizeof (IrSweepPoint));
  if (!slopes_init (&slopes, TRUE, error) || !find_reference (sweep, &slopes, directions, error))
    return NULL;
  for (int i = 0; i <= DECADES * PER_DECADE; i++)
    if (!add_point (sweep, &slopes, directions, pow (10, -(double) i / PER_DECADE), error))
      return NULL;
  for (guint kind = 0; kind < IR_N_DIFFERENCES; kind++)
    fit (sweep, kind);
  return g_steal_pointer (&sweep);
}
