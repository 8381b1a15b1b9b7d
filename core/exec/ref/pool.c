/* Pooling: every plane of X by itself, every window by itself. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/op/infer-window.h"
#include "core/exec/ref/ref.h"

#include <math.h>

typedef struct _Pool Pool;

struct _Pool
{
  IrCall *call;
  IrWindow window;
  const double *plane; /* of X */
  /* Folds the element at @index of the plane into the window's result. */
  void (*fold) (Pool *pool, double value, guint64 index);
  double (*finish) (const Pool *pool);
  double result;
  guint64 n_inside, n_padded; /* elements of the window inside X, and inside the padded X */
  guint64 best;               /* where the largest stands in the plane */
  double p;
  gboolean include_pad;
};

/* The taps [*low, *high) along axis @i of the window that starts at @start and stay below @end. */
static void
taps_inside (const IrWindow *window, guint i, gint64 start, gint64 end, gint64 *low, gint64 *high)
{
  gint64 dilation = window->dilation[i];

  *low = start < 0 ? (-start + dilation - 1) / dilation : 0;
  *high = start < end ? MIN ((end - 1 - start) / dilation + 1, window->kernel[i]) : 0;
}

/* Visits the elements of the window at @at (output coordinates) that lie inside X; a window is no
 * more work than X has elements, whatever kernel_shape says. */
static double
run_window (Pool *pool, const gint64 *at)
{
  const IrWindow *window = &pool->window;
  gint64 start[IR_WINDOW_MAX_AXES], low[IR_WINDOW_MAX_AXES], high[IR_WINDOW_MAX_AXES];
  gint64 tap[IR_WINDOW_MAX_AXES];
  gboolean more = TRUE;

  pool->n_inside = pool->best = 0;
  pool->n_padded = 1;
  for (guint i = 0; i < window->n_axes; i++)
    {
      gint64 padded_low, padded_high;
      start[i] = at[i] * window->stride[i] - window->pad_begin[i];
      taps_inside (window, i, start[i] + window->pad_begin[i],
                   window->in[i] + window->pad_end[i] + window->pad_begin[i], &padded_low,
                   &padded_high);
      pool->n_padded *= (guint64) MAX (padded_high - padded_low, 0);
      taps_inside (window, i, start[i], window->in[i], &low[i], &high[i]);
      tap[i] = low[i];
      more = more && low[i] < high[i];
    }
  while (more)
    {
      gint64 index = 0;
      for (guint i = 0; i < window->n_axes; i++)
        index = index * window->in[i] + start[i] + tap[i] * window->dilation[i];
      pool->fold (pool, pool->plane[index], (guint64) index);
      pool->n_inside++;
      more = FALSE;
      for (guint axis = window->n_axes; axis-- > 0 && !more;)
        {
          more = ++tap[axis] < high[axis];
          if (!more)
            tap[axis] = low[axis];
        }
    }
  return pool->finish (pool);
}

/* Indices count in the flattened X; with storage_order 1 the spatial axes count in reverse. */
static guint64
stored_index (const Pool *pool, guint64 index)
{
  const IrWindow *window = &pool->window;
  guint64 result = 0;
  gint64 at[IR_WINDOW_MAX_AXES];

  if (ir_call_int (pool->call, "storage_order", 0) == 0)
    return index;
  for (guint i = window->n_axes; i-- > 0;)
    {
      at[i] = (gint64) (index % (guint64) window->in[i]);
      index /= (guint64) window->in[i];
    }
  for (guint i = window->n_axes; i-- > 0;)
    result = result * (guint64) window->in[i] + (guint64) at[i];
  return result;
}

static gboolean
run_pool (Pool *pool, GError **error)
{
  IrCall *call = pool->call;
  const IrTensor *x = ir_call_input (call, 0);
  const IrWindow *window = &pool->window;
  IrTensor *y = ir_block_new_output (call, 0, error), *indices = NULL;
  guint64 x_plane = 1, y_plane = 1;

  if (y == NULL)
    return FALSE;
  if (ir_call_has_output (call, 1))
    {
      indices = ir_block_new_output (call, 1, error);
      if (indices == NULL)
        return FALSE;
    }
  for (guint i = 0; i < window->n_axes; i++)
    {
      x_plane *= (guint64) window->in[i];
      y_plane *= (guint64) window->out[i];
    }
  guint64 n_planes = (guint64) (ir_tensor_dims (x)[0] * ir_tensor_dims (x)[1]);
  g_autofree double *plane = ir_block_new (call, x_plane, error);
  g_autofree double *results = ir_block_new (call, y_plane, error);
  if (plane == NULL || results == NULL)
    return FALSE;
  pool->plane = plane;
  guint64 taps = 1;
  for (guint i = 0; i < window->n_axes; i++)
    taps = ir_mul_saturated (taps, (guint64) window->kernel[i]);
  for (guint64 p = 0; p < n_planes; p++)
    {
      gint64 at[IR_WINDOW_MAX_AXES] = { 0 };
      if (ir_block_cancelled (call, error))
        return FALSE;
      ir_block_load_many (call, x, p * x_plane, x_plane, plane);
      for (guint64 i = 0; i < y_plane; i++)
        {
          results[i] = run_window (pool, at);
          if (indices != NULL)
            ((gint64 *) ir_tensor_data_writable (
                indices))[p * y_plane + i] = (gint64) (p * x_plane +
                                                       stored_index (pool, pool->best));
          for (guint axis = window->n_axes; axis-- > 0;)
            {
              if (++at[axis] < window->out[axis])
                break;
              at[axis] = 0;
            }
        }
      ir_block_store (y, p * y_plane, y_plane, results);
    }
  return TRUE;
}

/* -- largest element; the first of equals; a NaN wins -- */

static void
fold_max (Pool *pool, double value, guint64 index)
{
  if (pool->n_inside == 0 || value > pool->result || (isnan (value) && !isnan (pool->result)))
    {
      pool->result = value;
      pool->best = index;
    }
}

static double
finish_max (const Pool *pool)
{
  return pool->n_inside > 0 ? pool->result : -INFINITY;
}

static void
fold_sum (Pool *pool, double value, guint64 index)
{
  pool->result = (pool->n_inside == 0 ? 0 : pool->result) + value;
}

static double
finish_mean (const Pool *pool)
{
  guint64 n = pool->include_pad ? pool->n_padded : pool->n_inside;

  return pool->n_inside > 0 ? pool->result / (double) n : 0;
}

static void
fold_power (Pool *pool, double value, guint64 index)
{
  pool->result = (pool->n_inside == 0 ? 0 : pool->result) + pow (fabs (value), pool->p);
}

static double
finish_root (const Pool *pool)
{
  return pool->n_inside > 0 ? pow (pool->result, 1 / pool->p) : 0;
}

static gboolean
check_numeric (const IrCall *call, GError **error)
{
  IrDtypeKind kind = ir_dtype_kind (ir_tensor_dtype (ir_call_input (call, 0)));

  return kind == IR_DTYPE_KIND_FLOAT || kind == IR_DTYPE_KIND_SINT || kind == IR_DTYPE_KIND_UINT ||
         ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "X is %s, needed is a numeric type",
                       ir_dtype_name (ir_tensor_dtype (ir_call_input (call, 0))));
}

/* X [N, C, ...]. Source: ONNX MaxPool 22. */
gboolean
ir_ref_max_pool (IrCall *call, GError **error)
{
  Pool pool = { .call = call, .fold = fold_max, .finish = finish_max };

  return check_numeric (call, error) && ir_infer_max_pool (call, error) &&
         ir_window_of_pool (&pool.window, call, error) && run_pool (&pool, error);
}

/* X [N, C, ...]. What a window covers beyond the padding, as ceil_mode allows, never counts.
 * Source: ONNX AveragePool 22. */
gboolean
ir_ref_average_pool (IrCall *call, GError **error)
{
  Pool pool = {
    .call = call,
    .fold = fold_sum,
    .finish = finish_mean,
    .include_pad = ir_call_int (call, "count_include_pad", 0) != 0,
  };

  return ir_block_check_float (call, error) && ir_infer_average_pool (call, error) &&
         ir_window_of_pool (&pool.window, call, error) && run_pool (&pool, error);
}

/* X [N, C, ...]. Source: ONNX LpPool 22. */
gboolean
ir_ref_lp_pool (IrCall *call, GError **error)
{
  Pool pool = {
    .call = call,
    .fold = fold_power,
    .finish = finish_root,
    .p = (double) ir_call_int (call, "p", 2),
  };

  return ir_block_check_float (call, error) && ir_infer_average_pool (call, error) &&
         ir_window_of_pool (&pool.window, call, error) && run_pool (&pool, error);
}

/* -- one window over the whole plane -- */

static gboolean
run_global (Pool *pool, GError **error)
{
  IrCall *call = pool->call;
  const IrTensor *x = ir_call_input (call, 0);

  if (!check_numeric (call, error) || !ir_infer_global_pool (call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  guint64 n_planes = ir_tensor_n_elements (y);
  guint64 plane_size = n_planes > 0 ? ir_tensor_n_elements (x) / n_planes : 0;
  g_autofree double *plane = ir_block_new (call, plane_size, error);
  if (plane == NULL)
    return FALSE;
  for (guint64 p = 0; p < n_planes; p++)
    {
      ir_block_load_many (call, x, p * plane_size, plane_size, plane);
      pool->n_inside = pool->n_padded = 0;
      for (guint64 i = 0; i < plane_size; i++, pool->n_inside++)
        pool->fold (pool, plane[i], i);
      double result = pool->finish (pool);
      ir_block_store (y, p, 1, &result);
    }
  return TRUE;
}

/* X [N, C, ...]. Source: ONNX GlobalAveragePool 22. */
gboolean
ir_ref_global_average_pool (IrCall *call, GError **error)
{
  Pool pool = { .call = call, .fold = fold_sum, .finish = finish_mean };

  return run_global (&pool, error);
}

/* X [N, C, ...]. Source: ONNX GlobalMaxPool 22. */
gboolean
ir_ref_global_max_pool (IrCall *call, GError **error)
{
  Pool pool = { .call = call, .fold = fold_max, .finish = finish_max };

  return run_global (&pool, error);
}

/* X [N, C, ...]. Source: ONNX GlobalLpPool 22. */
gboolean
ir_ref_global_lp_pool (IrCall *call, GError **error)
{
  Pool pool = {
    .call = call,
    .fold = fold_power,
    .finish = finish_root,
    .p = (double) ir_call_int (call, "p", 2),
  };

  return run_global (&pool, error);
}
