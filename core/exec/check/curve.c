#include "config.h"

#include "core/exec/check/curve.h"

#include <math.h>
#include <string.h>

#define POLL_ELEMENTS 65536 /* between looks at whether it was cancelled */

/**
 * ir_tensor_minus:
 * @tensor: a tensor of numbers
 * @minus: (nullable): of the same shape
 * @index: an element
 *
 * Returns: @tensor - @minus, or @tensor; 0 where both are the same infinity or NaN
 */
double
ir_tensor_minus (const IrTensor *tensor, const IrTensor *minus, guint64 index)
{
  const double a = ir_tensor_get_double (tensor, index);

  if (minus == NULL)
    return a;
  const double b = ir_tensor_get_double (minus, index);
  return a == b || (isnan (a) && isnan (b)) ? 0 : a - b;
}

/* -- a line -- */

static void
add_to_piece (IrTensorCurve *curve, guint piece, double value)
{
  if (!isfinite (value))
    {
      curve->broken[piece] = TRUE;
      curve->n_not_finite++;
      return;
    }
  curve->least[piece] = fmin (curve->least[piece], value);
  curve->largest[piece] = fmax (curve->largest[piece], value);
}

/**
 * ir_tensor_curve_new:
 * @tensor: a tensor of real numbers
 * @minus: (nullable): of the same shape: then it is @tensor - @minus
 * @first: index of the first element
 * @step: from an element to the next
 * @n: how many
 * @samples: how many elements of a piece are looked at; 0: all
 * @cancellable: (nullable): polled
 *
 * Returns: (transfer full) (nullable): the line, free with g_free(); %NULL if it was cancelled
 */
IrTensorCurve *
ir_tensor_curve_new (const IrTensor *tensor,
                     const IrTensor *minus,
                     guint64 first,
                     guint64 step,
                     guint64 n,
                     guint samples,
                     GCancellable *cancellable)
{
  g_autofree IrTensorCurve *curve = g_new0 (IrTensorCurve, 1);

  curve->first = first;
  curve->step = step;
  curve->n = n;
  curve->n_pieces = (guint) MIN (n, IR_CURVE_PIECES);
  for (guint i = 0; i < IR_CURVE_PIECES; i++)
    curve->least[i] = curve->largest[i] = NAN;
  for (guint piece = 0; piece < curve->n_pieces; piece++)
    {
      const guint64 begin = ir_tensor_curve_begin (curve, piece),
                    end = ir_tensor_curve_begin (curve, piece + 1),
                    by = samples > 0 ? MAX ((end - begin) / samples, 1) : 1;

      for (guint64 i = begin; i < end; i += by)
        {
          if ((i - begin) % POLL_ELEMENTS == 0 && g_cancellable_is_cancelled (cancellable))
            return NULL;
          add_to_piece (curve, piece, ir_tensor_minus (tensor, minus, first + i * step));
        }
    }
  return g_steal_pointer (&curve);
}

/**
 * ir_tensor_curve_begin:
 * @curve: a line
 * @piece: one of its pieces, or their number
 *
 * Returns: the first of its elements, counted along the line
 */
guint64
ir_tensor_curve_begin (const IrTensorCurve *curve, guint piece)
{
  const guint64 whole = curve->n / curve->n_pieces, rest = curve->n % curve->n_pieces;

  return whole * piece + MIN (rest, piece);
}

/* -- two tensors against each other -- */

static void
find_range (IrTensorScatter *scatter, const IrTensor *x, const IrTensor *y)
{
  scatter->low = INFINITY;
  scatter->high = -INFINITY;
  for (guint64 i = 0; i < scatter->n; i++)
    {
      const double a = ir_tensor_get_double (x, i), b = ir_tensor_get_double (y, i);

      if (!isfinite (a) || !isfinite (b))
        {
          scatter->n_left_out++;
          continue;
        }
      scatter->low = fmin (scatter->low, fmin (a, b));
      scatter->high = fmax (scatter->high, fmax (a, b));
    }
  if (scatter->n_left_out == scatter->n)
    scatter->low = scatter->high = 0;
  if (scatter->low == scatter->high) /* all in the middle */
    {
      const double by = scatter->low != 0 ? fabs (scatter->low) / 2 : 1;

      scatter->low -= by;
      scatter->high += by;
    }
}

static guint
cell_of (const IrTensorScatter *scatter, double value)
{
  /* each half by itself: the range of doubles may be infinite */
  const double part = (value / 2 - scatter->low / 2) / (scatter->high / 2 - scatter->low / 2);

  return (guint) CLAMP (part * IR_SCATTER_CELLS, 0, IR_SCATTER_CELLS - 1);
}

/**
 * ir_tensor_scatter_new:
 * @x: a tensor of real numbers
 * @y: another one of the same shape
 * @cancellable: (nullable): polled
 *
 * Returns: (transfer full) (nullable): where pairs of their elements lie, free with g_free(); %NULL if it
 *   was cancelled
 */
IrTensorScatter *
ir_tensor_scatter_new (const IrTensor *x, const IrTensor *y, GCancellable *cancellable)
{
  g_autofree IrTensorScatter *scatter = g_new0 (IrTensorScatter, 1);

  scatter->n = ir_tensor_n_elements (x);
  find_range (scatter, x, y);
  for (guint64 i = 0; i < scatter->n; i++)
    {
      const double a = ir_tensor_get_double (x, i), b = ir_tensor_get_double (y, i);

      if (i % POLL_ELEMENTS == 0 && g_cancellable_is_cancelled (cancellable))
        return NULL;
      if (!isfinite (a) || !isfinite (b))
        continue;
      const guint cell = cell_of (scatter, b) * IR_SCATTER_CELLS + cell_of (scatter, a);

      if (scatter->counts[cell]++ == 0)
        scatter->at[cell] = i;
    }
  return g_steal_pointer (&scatter);
}
