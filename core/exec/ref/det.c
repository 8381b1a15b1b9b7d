/* Determinants, by elimination with the largest element of a column as pivot. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>

/* Of @m [n, n], which is overwritten. */
static double
determinant (const IrCall *call, double *m, gint64 n)
{
  double result = 1;

  for (gint64 column = 0; column < n; column++)
    {
      gint64 pivot = column;
      for (gint64 row = column + 1; row < n; row++)
        if (fabs (m[row * n + column]) > fabs (m[pivot * n + column]))
          pivot = row;
      if (m[pivot * n + column] == 0)
        return 0;
      for (gint64 i = 0; i < n && pivot != column; i++)
        {
          double other = m[pivot * n + i];
          m[pivot * n + i] = m[column * n + i];
          m[column * n + i] = other;
        }
      result *= pivot != column ? -m[column * n + column] : m[column * n + column];
      for (gint64 row = column + 1; row < n; row++)
        {
          double factor = m[row * n + column] / m[column * n + column];
          for (gint64 i = column; i < n; i++)
            m[row * n + i] -= factor * m[column * n + i];
        }
    }
  return result;
}

/* X [.., M, M]. Source: ONNX Det 22. Cost: O(M^3) per matrix. */
gboolean
ir_ref_det (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0);
  gint64 n = ir_tensor_dims (x)[ir_tensor_rank (x) - 1];
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  g_autofree double *matrix = ir_block_new (call, (guint64) (n * n), error);
  if (matrix == NULL)
    return FALSE;
  for (guint64 i = 0; i < ir_tensor_n_elements (y); i++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      ir_block_load_many (call, x, i * (guint64) (n * n), (guint64) (n * n), matrix);
      double value = determinant (call, matrix, n);
      ir_block_store (y, i, 1, &value);
    }
  return TRUE;
}
