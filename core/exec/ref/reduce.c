/* Reference kernels of reductions: one driver that visits the elements of each output element, and
 * one small accumulator per operator. Floats accumulate in double. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

/* -- which elements -- */

typedef struct
{
  IrRefLayout kept;    /* one place per output element */
  IrRefLayout reduced; /* the elements that go into each */
  guint64 n_kept, n_reduced;
} Split;

static void
split_axes (Split *split, const IrTensor *in, const gboolean *mask)
{
  IrRefLayout all;
  ir_ref_layout_init (&all, ir_tensor_rank (in), ir_tensor_dims (in));
  split->kept.rank = split->reduced.rank = 0;
  for (guint i = 0; i < all.rank; i++)
    ir_ref_layout_add (mask[i] ? &split->reduced : &split->kept, all.dims[i], all.strides[i]);
  split->n_kept = ir_ref_layout_count (&split->kept);
  split->n_reduced = ir_ref_layout_count (&split->reduced);
}

static gboolean
reduced_axes (IrCall *call, const IrTensor *in, gboolean *mask, GError **error)
{
  g_autofree gint64 *axes = NULL;
  guint n = 0;
  int rank = (int) ir_tensor_rank (in);
  if (ir_call_has_input (call, 1))
    ir_call_input_ints (call, 1, &axes, &n);
  if (!ir_call_axes (call, axes, n, rank, mask, error))
    return FALSE;
  for (int i = 0; n == 0 && i < rank; i++)
    mask[i] = ir_call_int (call, "noop_with_empty_axes", 0) == 0;
  return TRUE;
}

/* -- accumulators -- */

typedef struct
{
  double sum;     /* or product, or extreme */
  double largest; /* of a first pass, where there is one */
  guint64 n;
} Real;

typedef struct
{
  double start;
  void (*step) (Real *acc, double x);
  double (*finish) (const Real *acc);    /* (nullable) the sum itself */
  gboolean finds_largest;                /* a first pass sets acc->largest */
  gint64 (*sint) (gint64 acc, gint64 x); /* (nullable) exact on integers */
  gint64 (*uint) (gint64 acc, gint64 x); /* (nullable) */
  gint64 int_start;                      /* integers: sum of nothing */
  int extreme;                           /* or, if not 0: the type's smallest (-1), largest (1) */
} Reducer;

static double
reduce_real (
    const IrCall *call, const IrTensor *in, const Split *split, gint64 base, const Reducer *reducer)
{
  Real acc = { .sum = reducer->start, .largest = -HUGE_VAL, .n = split->n_reduced };
  gint64 offsets[IR_REF_CHUNK];
  double x[IR_REF_CHUNK];
  for (int pass = reducer->finds_largest ? 0 : 1; pass < 2; pass++)
    for (guint64 first = 0; first < split->n_reduced;
         first += IR_REF_CHUNK)
      {
        guint n = (guint) MIN (split->n_reduced - first, IR_REF_CHUNK);
        ir_ref_layout_offsets (&split->reduced, first, n, base, offsets);
        ir_ref_load_real (in, offsets, n, x);
        for (guint i = 0; i < n; i++)
          if (pass == 1)
            reducer->step (&acc, x[i]);
          else if (x[i] > acc.largest)
            acc.largest = x[i];
      }
  return reducer->finish != NULL ? reducer->finish (&acc) : acc.sum;
}

/* The smallest or largest integer of a type, as ir_ref_load_int() gives it. */
static gint64
limit_of (IrDtype dtype, gboolean largest)
{
  guint bits = dtype == IR_DTYPE_BOOL ? 1 : ir_dtype_bits (dtype);
  if (ir_ref_kind (dtype) == IR_REF_SINT)
    return largest ? G_MAXINT64 >> (64 - bits) : G_MININT64 >> (64 - bits);
  return largest ? (gint64) (G_MAXUINT64 >> (64 - bits)) : 0;
}

static gint64
reduce_int (
    const IrCall *call, const IrTensor *in, const Split *split, gint64 base, const Reducer *reducer)
{
  gboolean is_signed = ir_ref_kind (ir_tensor_dtype (in)) == IR_REF_SINT;
  gint64 offsets[IR_REF_CHUNK], x[IR_REF_CHUNK];
  gint64 acc = reducer->extreme == 0 ? reducer->int_start
                                     : limit_of (ir_tensor_dtype (in), reducer->extreme > 0);
  for (guint64 first = 0; first < split->n_reduced;
       first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (split->n_reduced - first, IR_REF_CHUNK);
      ir_ref_layout_offsets (&split->reduced, first, n, base, offsets);
      ir_ref_load_int (in, offsets, n, x);
      for (guint i = 0; i < n; i++)
        acc = (is_signed ? reducer->sint : reducer->uint) (acc, x[i]);
    }
  return acc;
}

/* The driver. Without @mask's axes every element is reduced by itself, which is not nothing: a sum
 * of squares squares. */
static gboolean
reduce (IrCall *call, const Reducer *reducer, GError **error)
{
  gboolean mask[IR_MAX_RANK];
  Split split;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrRefKind kind = ir_ref_kind (ir_tensor_dtype (in));
  if (kind == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (in), error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL || !reduced_axes (call, in, mask, error))
    return FALSE;
  split_axes (&split, in, mask);
  gboolean exact = kind != IR_REF_REAL && reducer->sint != NULL;
  for (guint64 i = 0; i < split.n_kept; i++)
    {
      gint64 base;
      ir_ref_layout_offsets (&split.kept, i, 1, 0, &base);
      if (ir_call_fail_if_stopped (call, error))
        return FALSE;
      if (exact)
        {
          gint64 result = reduce_int (call, in, &split, base, reducer);
          ir_ref_store_int (out, i, 1, &result);
        }
      else
        {
          double result = reduce_real (call, in, &split, base, reducer);
          ir_ref_store_real (out, i, 1, &result);
        }
    }
  return TRUE;
}

/* -- one accumulator per operator -- */

static void
step_sum (Real *acc, double x)
{
  acc->sum += x;
}

static void
step_prod (Real *acc, double x)
{
  acc->sum *= x;
}

static void
step_abs (Real *acc, double x)
{
  acc->sum += fabs (x);
}

static void
step_square (Real *acc, double x)
{
  acc->sum += x * x;
}

static void
step_max (Real *acc, double x)
{
  if (isnan (x) || x > acc->sum)
    acc->sum = isnan (acc->sum) ? acc->sum : x;
}

static void
step_min (Real *acc, double x)
{
  if (isnan (x) || x < acc->sum)
    acc->sum = isnan (acc->sum) ? acc->sum : x;
}

/* Relative to the largest element, so nothing overflows. */
static void
step_exp (Real *acc, double x)
{
  acc->sum += isinf (acc->largest) ? exp (x) : exp (x - acc->largest);
}

static double
finish_mean (const Real *acc)
{
  return acc->sum / (double) acc->n;
}

static double
finish_sqrt (const Real *acc)
{
  return sqrt (acc->sum);
}

static double
finish_log (const Real *acc)
{
  return log (acc->sum);
}

static double
finish_log_exp (const Real *acc)
{
  return isinf (acc->largest) ? log (acc->sum) : log (acc->sum) + acc->largest;
}

static gint64
int_sum (gint64 acc, gint64 x)
{
  return (gint64) ((guint64) acc + (guint64) x);
}

static gint64
int_prod (gint64 acc, gint64 x)
{
  return (gint64) ((guint64) acc * (guint64) x);
}

static gint64
int_square (gint64 acc, gint64 x)
{
  return int_sum (acc, int_prod (x, x));
}

static gint64
sint_abs (gint64 acc, gint64 x)
{
  return x < 0 ? (gint64) ((guint64) acc - (guint64) x) : int_sum (acc, x);
}

static gint64
sint_max (gint64 acc, gint64 x)
{
  return MAX (acc, x);
}

static gint64
uint_max (gint64 acc, gint64 x)
{
  return (guint64) acc > (guint64) x ? acc : x;
}

static gint64
sint_min (gint64 acc, gint64 x)
{
  return MIN (acc, x);
}

static gint64
uint_min (gint64 acc, gint64 x)
{
  return (guint64) acc < (guint64) x ? acc : x;
}

#define REF_REDUCE(NAME, ...)                                                                      \
  gboolean ir_ref_reduce_##NAME (IrCall *call, GError **error)                                     \
  {                                                                                                \
    static const Reducer reducer = { __VA_ARGS__ };                                                \
    return reduce (call, &reducer, error);                                                         \
  }

/* clang-format off */
REF_REDUCE (sum, .step = step_sum, .sint = int_sum, .uint = int_sum)
REF_REDUCE (mean, .step = step_sum, .finish = finish_mean)
REF_REDUCE (prod, .start = 1, .step = step_prod, .sint = int_prod, .uint = int_prod, .int_start = 1)
REF_REDUCE (max, .start = -HUGE_VAL, .step = step_max, .sint = sint_max, .uint = uint_max, .extreme = -1)
REF_REDUCE (min, .start = HUGE_VAL, .step = step_min, .sint = sint_min, .uint = uint_min, .extreme = 1)
REF_REDUCE (l1, .step = step_abs, .sint = sint_abs, .uint = int_sum)
REF_REDUCE (l2, .step = step_square, .finish = finish_sqrt)
REF_REDUCE (sum_square, .step = step_square, .sint = int_square, .uint = int_square)
REF_REDUCE (log_sum, .step = step_sum, .finish = finish_log)
REF_REDUCE (log_sum_exp, .step = step_exp, .finish = finish_log_exp, .finds_largest = TRUE)
/* clang-format on */

/* -- ArgMax, ArgMin -- */

/* Whether @x takes the place of @best: NaN beats all, as in numpy. */
static gboolean
beats (double x, double best, gboolean largest, gboolean last)
{
  if (isnan (x) || isnan (best))
    return isnan (x) && (!isnan (best) || last);
  if (x == best)
    return last;
  return largest ? x > best : x < best;
}

static gboolean
int_beats (gint64 x, gint64 best, gboolean is_signed, gboolean largest, gboolean last)
{
  if (x == best)
    return last;
  gboolean greater = is_signed ? x > best : (guint64) x > (guint64) best;
  return greater == largest;
}

static gboolean
arg_reduce (IrCall *call, gboolean largest, GError **error)
{
  gint64 axis;
  gboolean mask[IR_MAX_RANK] = { FALSE };
  Split split;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrRefKind kind = ir_ref_kind (ir_tensor_dtype (in));
  gboolean last = ir_call_int (call, "select_last_index", 0) != 0;
  if (kind == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (in), error);
  if (!ir_call_axis (call, ir_call_int (call, "axis", 0), (int) ir_tensor_rank (in), &axis, error))
    return FALSE;
  mask[axis] = TRUE;
  split_axes (&split, in, mask);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  if (split.n_reduced == 0 && split.n_kept > 0)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "no elements to choose from");
  for (guint64 i = 0; i < split.n_kept; i++)
    {
      gint64 base, best = 0, offset, x_int = 0, best_int = 0;
      double x = 0, best_real = 0;
      ir_ref_layout_offsets (&split.kept, i, 1, 0, &base);
      for (guint64 k = 0; k < split.n_reduced; k++)
        {
          offset = base + (gint64) k * split.reduced.strides[0];
          if (kind == IR_REF_REAL)
            ir_ref_load_real (in, &offset, 1, &x);
          else
            ir_ref_load_int (in, &offset, 1, &x_int);
          if (k == 0 || (kind == IR_REF_REAL
                             ? beats (x, best_real, largest, last)
                             : int_beats (x_int, best_int, kind == IR_REF_SINT, largest, last)))
            {
              best = (gint64) k;
              best_real = x;
              best_int = x_int;
            }
        }
      ir_ref_store_int (out, i, 1, &best);
    }
  return TRUE;
}

gboolean
ir_ref_arg_max (IrCall *call, GError **error)
{
  return arg_reduce (call, TRUE, error);
}

gboolean
ir_ref_arg_min (IrCall *call, GError **error)
{
  return arg_reduce (call, FALSE, error);
}

/* -- CumSum, CumProd -- */

static gboolean
cumulate (IrCall *call, gboolean multiply, GError **error)
{
  g_autofree gint64 *axes = NULL;
  guint n_axes = 0;
  gint64 axis, outer, inner;
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (in);
  IrRefKind kind = ir_ref_kind (ir_tensor_dtype (in));
  if (kind == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (in), error);
  if (!ir_call_input_ints (call, 1, &axes, &n_axes) || n_axes != 1)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "axis must be one integer");
  if (!ir_call_axis (call, axes[0], (int) rank, &axis, error))
    return FALSE;
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  gboolean exclusive = ir_call_int (call, "exclusive", 0) != 0;
  gboolean reverse = ir_call_int (call, "reverse", 0) != 0;
  gint64 n = ir_tensor_dims (in)[axis];
  ir_ref_split_at (rank, ir_tensor_dims (in), (guint) axis, &outer, &inner);
  for (gint64 line = 0; n > 0 && line < outer * inner; line++)
    {
      gint64 start = line / inner * n * inner + line % inner;
      double so_far = multiply ? 1 : 0, x = 0;
      gint64 so_far_int = multiply ? 1 : 0, x_int = 0;
      for (gint64 k = 0; k < n; k++)
        {
          gint64 at = start + (reverse ? n - 1 - k : k) * inner;
          if (kind == IR_REF_REAL)
            {
              ir_ref_load_real (in, &at, 1, &x);
              double next = multiply ? so_far * x : so_far + x;
              ir_ref_store_real (out, (guint64) at, 1, exclusive ? &so_far : &next);
              so_far = next;
            }
          else
            {
              ir_ref_load_int (in, &at, 1, &x_int);
              gint64 next = multiply ? int_prod (so_far_int, x_int) : int_sum (so_far_int, x_int);
              ir_ref_store_int (out, (guint64) at, 1, exclusive ? &so_far_int : &next);
              so_far_int = next;
            }
        }
    }
  return TRUE;
}

/* Source: ONNX CumSum 14 */
gboolean
ir_ref_cum_sum (IrCall *call, GError **error)
{
  return cumulate (call, FALSE, error);
}

/* Source: ONNX CumProd 26 */
gboolean
ir_ref_cum_prod (IrCall *call, GError **error)
{
  return cumulate (call, TRUE, error);
}
