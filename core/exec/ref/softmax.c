/* Softmax, LogSoftmax and Hardmax: one function per row of elements along the axis. Softmax rounds
 * to the element type where its ONNX function body does, after each operator of it: in float16 and
 * bfloat16 that is more than the tolerance of a result. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/op/infer-util.h"
#include "core/exec/ref/ref.h"

#include <math.h>

typedef void (*RowFunc) (const IrCall *call, IrDtype dtype, double *row, guint64 n);

static double
largest (const IrCall *call, const double *row, guint64 n)
{
  double most = -INFINITY;

  for (guint64 i = 0; i < n; i++)
    most = isnan (row[i]) || row[i] > most ? row[i] : most;
  return most;
}

#define RUN 8 /* shorter rows are summed from left to right */

/* As the reference implementation of the standard sums: partial sums of bfloat16 are elements, too;
 * all other types are summed in a wider one. Halves are summed first: from left to right a long row
 * of bfloat16 would stop growing at 256 times its elements. */
static double
sum_of (IrDtype dtype, const double *row, guint64 n)
{
  gboolean rounds = dtype == IR_DTYPE_BFLOAT16;
  double sum = 0;

  if (n >= RUN)
    {
      sum = sum_of (dtype, row, n / 2) + sum_of (dtype, row + n / 2, n - n / 2);
      return rounds ? ir_block_round (dtype, sum) : sum;
    }
  for (guint64 i = 0; i < n; i++)
    sum = rounds ? ir_block_round (dtype, sum + row[i]) : sum + row[i];
  return sum;
}

/* The body of ONNX Softmax: ReduceMax, Sub, Exp, ReduceSum, Div, each of which gives elements of
 * @dtype. Subtracting the largest element changes nothing but keeps the exponentials from
 * overflowing. Source: ONNX Softmax 13, function body. @row: elements; replaced by their
 * exponentials divided by the sum of these. */
void
ir_block_softmax (const IrCall *call, IrDtype dtype, double *row, guint64 n)
{
  double most = largest (call, row, n);

  for (guint64 i = 0; i < n; i++)
    row[i] = ir_block_round (dtype, exp (ir_block_round (dtype, row[i] - most)));
  double sum = ir_block_round (dtype, sum_of (dtype, row, n));
  for (guint64 i = 0; i < n; i++)
    row[i] = ir_block_round (dtype, row[i] / sum);
}

static void
log_softmax_row (const IrCall *call, IrDtype dtype, double *row, guint64 n)
{
  double most = largest (call, row, n), sum = 0;

  for (guint64 i = 0; i < n; i++)
    sum += exp (row[i] - most);
  for (guint64 i = 0; i < n; i++)
    row[i] = row[i] - most - log (sum);
}

static void
hardmax_row (const IrCall *call, IrDtype dtype, double *row, guint64 n)
{
  guint64 best = 0;

  for (guint64 i = 1; i < n; i++)
    if (row[i] > row[best])
      best = i;
  for (guint64 i = 0; i < n; i++)
    row[i] = i == best;
}

static gboolean
each_row (IrCall *call, RowFunc func, GError **error)
{
  const IrTensor *x = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (x);
  gboolean flatten = ir_call_int (call, "flatten", 0) != 0;
  gint64 axis = 0;
  guint64 outer = 1, size = 1, inner = 1;

  /* axis = rank is legal only in the flattening form: then each element is a row of its own. */
  if (!ir_block_check_float (call, error) || !ir_infer_axis_norm (call, error) ||
      (rank > 0 && !ir_call_axis (call, ir_call_int (call, "axis", -1),
                                  (int) rank + (flatten ? 1 : 0), &axis, error)))
    return FALSE;
  if (flatten && ir_call_int (call, "axis", 1) < 0)
    axis = MAX (axis - 1, 0);
  for (guint i = 0; i < rank; i++)
    {
      guint64 n = (guint64) ir_tensor_dims (x)[i];
      if (i < axis)
        outer *= n;
      else if (i == axis || flatten)
        size *= n;
      else
        inner *= n;
    }
  IrTensor *y = ir_block_new_output (call, 0, error);
  g_autofree double *slab = ir_block_new (call, size * inner, error);
  g_autofree double *row = ir_block_new (call, size, error);
  if (y == NULL || slab == NULL || row == NULL)
    return FALSE;
  for (guint64 o = 0; o < outer && size > 0; o++)
    {
      ir_block_load_many (call, x, o * size * inner, size * inner, slab);
      for (guint64 i = 0; i < inner; i++)
        {
          for (guint64 k = 0; k < size; k++)
            row[k] = slab[k * inner + i];
          func (call, ir_tensor_dtype (x), row, size);
          for (guint64 k = 0; k < size; k++)
            slab[k * inner + i] = row[k];
        }
      ir_block_store (y, o * size * inner, size * inner, slab);
      if (ir_block_cancelled (call, error))
        return FALSE;
    }
  return TRUE;
}

/* X, axis. Source: ONNX Softmax 13; with the attribute flatten that of opset 11 and before. */
gboolean
ir_ref_softmax (IrCall *call, GError **error)
{
  return each_row (call, ir_block_softmax, error);
}

/* X, axis. Source: ONNX LogSoftmax 13. */
gboolean
ir_ref_log_softmax (IrCall *call, GError **error)
{
  return each_row (call, log_softmax_row, error);
}

/* X, axis. Source: ONNX Hardmax 13. */
gboolean
ir_ref_hardmax (IrCall *call, GError **error)
{
  return each_row (call, hardmax_row, error);
}

/* dY, Y, axis: Y (dY - sum (dY Y)). Source: derived */
gboolean
ir_ref_softmax_grad (IrCall *call, GError **error)
{
  const IrTensor *y = ir_call_input (call, 1);
  guint rank = ir_tensor_rank (y);
  gint64 axis = 0;
  guint64 inner = 1, size = 1;

  if (!ir_block_check_float (call, error) || !call->op->infer (call, error) ||
      (rank > 0 && !ir_call_axis (call, ir_call_int (call, "axis", -1), (int) rank, &axis, error)))
    return FALSE;
  for (guint i = (guint) axis; i < rank; i++)
    *(i == axis ? &size : &inner) *= (guint64) ir_tensor_dims (y)[i];
  IrTensor *out = ir_block_new_output (call, 0, error);
  g_autofree double *dys = out != NULL ? ir_block_load_new (call, 0, error) : NULL;
  g_autofree double *ys = dys != NULL ? ir_block_load_new (call, 1, error) : NULL;
  if (ys == NULL)
    return FALSE;
  for (guint64 line = 0, n = ir_tensor_n_elements (y); size > 0 && line < n / size; line++)
    {
      guint64 at = line / inner * size * inner + line % inner;
      double sum = 0;
      for (guint64 k = 0; k < size; k++)
        sum += dys[at + k * inner] * ys[at + k * inner];
      for (guint64 k = 0; k < size; k++)
        dys[at + k * inner] = ys[at + k * inner] * (dys[at + k * inner] - sum);
      if (line % 1024 == 0 && ir_block_cancelled (call, error))
        return FALSE;
    }
  ir_block_store (out, 0, ir_tensor_n_elements (out), dys);
  return TRUE;
}
