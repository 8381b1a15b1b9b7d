/* Comparing tensors. Most pairs that a proof compares hold the same bits: those cost one memcmp().
 * The others are read once more for the magnitude that tolerances are relative to; float32, where
 * nearly all of the elements are, has a loop of its own. */
#include "config.h"

#include "core/exec/check/difference.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Floats as integers that are ordered as the floats are: neighbours differ by one. */
static gint64
ordered (IrDtype dtype, double value)
{
  union
  {
    double d;
    gint64 i;
  } d = { .d = value };
  union
  {
    float f;
    gint32 i;
  } f = { .f = (float) value };
  gint64 bits, sign;

  if (dtype == IR_DTYPE_DOUBLE)
    return d.i >= 0 ? d.i : G_MININT64 - d.i;
  if (dtype == IR_DTYPE_FLOAT16)
    bits = ir_float16_from_float (f.f), sign = 0x8000;
  else if (dtype == IR_DTYPE_BFLOAT16)
    bits = ir_bfloat16_from_float (f.f), sign = 0x8000;
  else
    return f.i >= 0 ? f.i : (gint64) G_MININT32 - f.i;
  return bits & sign ? -(bits & ~sign) : bits;
}

static guint64
ulp_distance (IrDtype dtype, double a, double b)
{
  gint64 ia = ordered (dtype, a), ib = ordered (dtype, b);

  return ia > ib ? (guint64) ia - (guint64) ib : (guint64) ib - (guint64) ia;
}

static void
compare_element (IrComparison *result, IrDtype dtype, double a, double b, guint64 at)
{
  double difference;

  if (isnan (a) && isnan (b))
    return;
  if (!isfinite (a) || !isfinite (b))
    {
      if (a != b)
        {
          result->same = FALSE;
          result->non_finite_differs = TRUE;
          result->at = at;
          result->max_abs = INFINITY;
        }
      return;
    }
  result->scale = MAX (result->scale, fabs (a));
  if (a == b && signbit (a) == signbit (b))
    return;
  result->same = FALSE;
  difference = fabs (a - b);
  result->max_ulp = MAX (result->max_ulp, ulp_distance (dtype, a, b));
  if (a != 0)
    result->max_rel = MAX (result->max_rel, difference / fabs (a));
  if (difference > result->max_abs)
    {
      result->max_abs = difference;
      result->at = at;
    }
}

#define BLOCK 1024 /* elements: what is compared at once stays in the first cache */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTORIZED __attribute__ ((target_clones ("avx512f", "avx2", "default"), optimize ("O3")))
#else
#define VECTORIZED
#endif

#define INFINITE_BITS 0x7f800000
#define LANES         8 /* maxima that are taken beside each other: one would wait for itself */

/* Bits of the largest magnitude: those of an infinity or more if not all are finite. As integers,
 * which compilers make vector code of. */
VECTORIZED static gint32
largest_bits (const float *a, guint n)
{
  gint32 largest = 0;

  for (guint i = 0; i < n; i++)
    {
      gint32 bits;

      memcpy (&bits, &a[i], sizeof bits);
      bits &= G_MAXINT32;
      largest = bits > largest ? bits : largest;
    }
  return largest;
}

VECTORIZED static double
largest_distance (const float *a, const float *b, guint n)
{
  double lanes[LANES] = { 0 }, largest = 0;
  guint i = 0;

  for (; i + LANES <= n; i += LANES)
    for (guint k = 0; k < LANES; k++)
      {
        double distance = fabs ((double) b[i + k] - a[i + k]);
        lanes[k] = distance > lanes[k] ? distance : lanes[k];
      }
  for (; i < n; i++)
    largest = MAX (largest, fabs ((double) b[i] - a[i]));
  for (guint k = 0; k < LANES; k++)
    largest = MAX (largest, lanes[k]);
  return largest;
}

/* Whether an element differs by more than @limit times its magnitude: no division. */
VECTORIZED static gboolean
is_farther (const float *a, const float *b, guint n, double limit)
{
  gboolean farther = FALSE;

  for (guint i = 0; i < n; i++)
    {
      double x = fabs ((double) a[i]), distance = fabs ((double) b[i] - a[i]);
      farther |= (distance > limit * x) & (x > 0);
    }
  return farther;
}

VECTORIZED static guint64
largest_ulp (const float *a, const float *b, guint n)
{
  guint32 largest = 0;

  for (guint i = 0; i < n; i++)
    {
      gint32 x, y;
      guint32 distance;

      memcpy (&x, &a[i], sizeof x);
      memcpy (&y, &b[i], sizeof y);
      x = x >= 0 ? x : G_MININT32 - x;
      y = y >= 0 ? y : G_MININT32 - y;
      distance = x > y ? (guint32) x - (guint32) y : (guint32) y - (guint32) x;
      largest = distance > largest ? distance : largest;
    }
  return largest;
}

/* Blocks without anything special: all elements are finite. */
static void
compare_finite (const float *a, const float *b, guint n, guint64 at, IrComparison *result)
{
  double max_abs = largest_distance (a, b, n);

  result->same = FALSE;
  result->max_ulp = MAX (result->max_ulp, largest_ulp (a, b, n));
  if (is_farther (a, b, n, result->max_rel))
    for (guint i = 0; i < n; i++)
      if (a[i] != 0)
        result->max_rel = MAX (result->max_rel, fabs ((double) b[i] - a[i]) / fabs ((double) a[i]));
  for (guint i = 0; max_abs > result->max_abs && i < n; i++)
    if (fabs ((double) b[i] - a[i]) == max_abs)
      {
        result->max_abs = max_abs;
        result->at = at + i;
      }
}

static void
compare_floats (const float *a, const float *b, guint64 n, IrComparison *result)
{
  for (guint64 first = 0; first < n; first += BLOCK)
    {
      const float *x = a + first, *y = b + first;
      guint size = (guint) MIN (n - first, BLOCK);
      gboolean same = memcmp (x, y, size * sizeof (float)) == 0;
      gint32 bits = largest_bits (x, size);
      gboolean finite = bits < INFINITE_BITS && (same || largest_bits (y, size) < INFINITE_BITS);

      if (finite)
        {
          float scale;

          memcpy (&scale, &bits, sizeof scale);
          result->scale = MAX (result->scale, scale);
        }
      if (finite && !same)
        compare_finite (x, y, size, first, result);
      else if (!finite)
        for (guint i = 0; i < size; i++)
          compare_element (result, IR_DTYPE_FLOAT, x[i], y[i], first + i);
    }
}

static void
merge (IrComparison *result, const IrComparison *item)
{
  result->same = result->same && item->same;
  result->non_finite_differs = result->non_finite_differs || item->non_finite_differs;
  result->max_abs = MAX (result->max_abs, item->max_abs);
  result->max_rel = MAX (result->max_rel, item->max_rel);
  result->max_ulp = MAX (result->max_ulp, item->max_ulp);
  result->scale = MAX (result->scale, item->scale);
}

/* Sequences, optionals and maps: item by item; @at is not known. */
static gboolean
compare_items (const IrTensor *a, const IrTensor *b, IrComparison *result)
{
  if (ir_tensor_kind (a) != ir_tensor_kind (b) || ir_tensor_n_items (a) != ir_tensor_n_items (b))
    return FALSE;
  for (guint i = 0; i < ir_tensor_n_items (a); i++)
    {
      const IrTensor *item_a = ir_tensor_item (a, i), *item_b = ir_tensor_item (b, i);
      IrComparison item = { .same = TRUE };

      if ((item_a == NULL) != (item_b == NULL) ||
          (item_a != NULL && !ir_tensors_compare (item_a, item_b, &item)))
        return FALSE;
      merge (result, &item);
    }
  return TRUE;
}

static gboolean
same_bits (const IrTensor *a, const IrTensor *b)
{
  gconstpointer a_data = ir_tensor_data (a), b_data = ir_tensor_data (b);

  return ir_tensor_dtype (a) == ir_tensor_dtype (b) && a_data != NULL && b_data != NULL &&
         (a_data == b_data || memcmp (a_data, b_data, ir_tensor_n_bytes (a)) == 0);
}

/**
 * ir_tensors_compare:
 * @a: what it was
 * @b: what it is now
 * @result: (out caller-allocates): what was found; scale is 0 if all bits agree
 *
 * Containers are compared item by item. O(elements).
 *
 * Returns: %FALSE if shapes differ, or types of which one is not floating-point
 */
gboolean
ir_tensors_compare (const IrTensor *a, const IrTensor *b, IrComparison *result)
{
  IrDtype dtype = ir_tensor_dtype (b);

  *result = (IrComparison){ .same = TRUE };
  if (a == b)
    return TRUE;
  if (ir_tensor_is_container (a) || ir_tensor_is_container (b))
    return compare_items (a, b, result);
  if (ir_tensor_rank (a) != ir_tensor_rank (b) ||
      (ir_tensor_rank (a) > 0 &&
       memcmp (ir_tensor_dims (a), ir_tensor_dims (b), ir_tensor_rank (a) * sizeof (gint64)) != 0))
    return FALSE;
  if (!ir_dtype_is_float (dtype) || !ir_dtype_is_float (ir_tensor_dtype (a)))
    {
      result->same = ir_tensor_equal (a, b);
      result->non_finite_differs = !result->same;
      return ir_tensor_dtype (a) == dtype;
    }
  if (same_bits (a, b))
    return TRUE;
  if (dtype == IR_DTYPE_FLOAT && ir_tensor_dtype (a) == IR_DTYPE_FLOAT)
    compare_floats (ir_tensor_data (a), ir_tensor_data (b), ir_tensor_n_elements (a), result);
  else
    for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
      compare_element (result, dtype, ir_tensor_get_double (a, i), ir_tensor_get_double (b, i), i);
  return TRUE;
}

/**
 * ir_tensor_widen:
 * @tensor: any contents
 *
 * Returns: (transfer full) (nullable): the same in float64 if @tensor is of a narrower
 *   floating-point type, else @tensor itself; %NULL if there is no memory
 */
IrTensor *
ir_tensor_widen (const IrTensor *tensor)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  guint64 n = ir_tensor_n_elements (tensor);
  IrTensor *wide;
  double *data;

  if (!ir_dtype_is_float (dtype) || dtype == IR_DTYPE_DOUBLE)
    return ir_tensor_ref ((IrTensor *) tensor);
  wide = ir_tensor_new_alloc (IR_DTYPE_DOUBLE, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                              NULL);
  if (wide == NULL)
    return NULL;
  data = ir_tensor_data_writable (wide);
  for (guint64 i = 0; i < n; i++)
    data[i] = ir_tensor_get_double (tensor, i);
  return wide;
}

/**
 * ir_comparison_of_scale:
 * @result: of two tensors
 *
 * Returns: the largest difference as a part of the largest magnitude of a, which says whether it
 *   matters: unlike max_rel, it does not become large at an element near 0. 0: they hold the same
 *   numbers; infinite: all of a is 0
 */
double
ir_comparison_of_scale (const IrComparison *result)
{
  if (result->max_abs == 0)
    return 0;
  return result->scale > 0 ? result->max_abs / result->scale : INFINITY;
}

/**
 * ir_tolerance_scale:
 * @dtype: a floating-point type
 *
 * Tolerances are for float32; narrower and wider types scale by their own epsilon.
 *
 * Returns: the factor
 */
double
ir_tolerance_scale (IrDtype dtype)
{
  if (dtype == IR_DTYPE_FLOAT16)
    return 0x1p-10 / FLT_EPSILON;
  if (dtype == IR_DTYPE_BFLOAT16)
    return 0x1p-7 / FLT_EPSILON;
  return dtype == IR_DTYPE_DOUBLE ? DBL_EPSILON / FLT_EPSILON : 1;
}

/**
 * ir_tolerance_of:
 * @tolerance: that of an operator, or of several together
 * @dtype: of what is compared
 * @scale: largest magnitude of what it was
 *
 * Returns: how far elements may lie apart
 */
double
ir_tolerance_of (IrTolerance tolerance, IrDtype dtype, double scale)
{
  return ir_tolerance_scale (dtype) * (tolerance.atol + tolerance.rtol * scale);
}
