/* Quantization and matrix products of quantized numbers. Scales and zero points are spread to a
 * number per element; all arithmetic is in double, where products and sums of small integers are
 * exact. */
#include "config.h"

#include "core/exec/ref/quantize.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>

/* How a list of numbers lies over a tensor. */
typedef struct
{
  gint64 axis;    /* of a list */
  gint64 block;   /* elements that share a number; 0: no blocks, trailing axes broadcast */
  gboolean lower; /* numbers of fewer axes are those of the last ones */
} Spread;

static gboolean
does_not_fit (const IrCall *call, guint slot, GError **error)
{
  return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "the shape of input %u does not fit what it is to scale or shift", slot);
}

/* Strides of input @slot over a tensor of @dims; blocks are handled by the caller. */
static gboolean
spread_layout (const IrCall *call,
               guint slot,
               Spread spread,
               guint rank,
               const gint64 *dims,
               IrRefLayout *layout,
               GError **error)
{
  const IrTensor *numbers = ir_call_input (call, slot);
  guint own = ir_tensor_rank (numbers);
  const gint64 *own_dims = ir_tensor_dims (numbers);

  ir_ref_layout_init (layout, rank, dims);
  for (guint i = 0; i < rank; i++)
    layout->strides[i] = 0;
  if (ir_tensor_n_elements (numbers) == 1)
    return TRUE;
  if (own == 1)
    {
      if (spread.axis < 0 || spread.axis >= rank || own_dims[0] != dims[spread.axis])
        return does_not_fit (call, slot, error);
      layout->strides[spread.axis] = 1;
      return TRUE;
    }
  if (own > rank || (own < rank && !spread.lower))
    return does_not_fit (call, slot, error);
  for (guint i = 0; i < own; i++)
    if (own_dims[i] != 1 && own_dims[i] != dims[rank - own + i])
      return does_not_fit (call, slot, error);
  ir_ref_layout_broadcast (layout, numbers, rank, dims);
  return TRUE;
}

/* Blocks: element [o, i, r] has the number [o, i / block, r]. */
static gboolean
spread_blocks (const IrCall *call,
               guint slot,
               Spread spread,
               guint rank,
               const gint64 *dims,
               guint64 n,
               double *values,
               GError **error)
{
  const IrTensor *numbers = ir_call_input (call, slot);
  const gint64 *own = ir_tensor_dims (numbers);
  gint64 outer, inner;

  for (guint i = 0; i < rank; i++)
    {
      gint64 needed = i != spread.axis ? dims[i]
                                       : dims[i] / spread.block + (dims[i] % spread.block != 0);
      if (ir_tensor_rank (numbers) != rank || own[i] != needed)
        return does_not_fit (call, slot, error);
    }
  ir_ref_split_at (rank, dims, (guint) spread.axis, &outer, &inner);
  for (guint64 i = 0; i < n; i++)
    {
      gint64 place = (gint64) i / inner % dims[spread.axis];
      gint64 o = (gint64) i / inner / dims[spread.axis];
      gint64 at = (o * own[spread.axis] + place / spread.block) * inner + (gint64) i % inner;
      ir_ref_load_real (numbers, &at, 1, &values[i]);
    }
  return TRUE;
}

/* A number for each element of a tensor of @dims: those of input @slot, or @fallback if it is not
 * given. */
static double *
spread_new (const IrCall *call,
            guint slot,
            Spread spread,
            double fallback,
            guint rank,
            const gint64 *dims,
            GError **error)
{
  const IrTensor *numbers = ir_call_input (call, slot);
  gint64 offsets[IR_REF_CHUNK];
  IrRefLayout layout;
  guint64 n = 1;

  for (guint i = 0; i < rank; i++)
    n *= (guint64) dims[i];
  g_autofree double *values = ir_block_new (call, n, error);
  if (values == NULL)
    return NULL;
  if (numbers == NULL)
    ir_block_fill (values, n, fallback);
  else if (ir_ref_kind (ir_tensor_dtype (numbers)) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (numbers), error), NULL;
  else if (spread.block > 0)
    {
      if (!spread_blocks (call, slot, spread, rank, dims, n, values, error))
        return NULL;
    }
  else if (!spread_layout (call, slot, spread, rank, dims, &layout, error))
    return NULL;
  else
    for (guint64 done = 0; done < n; done += IR_REF_CHUNK)
      {
        guint count = (guint) MIN (n - done, IR_REF_CHUNK);
        ir_ref_layout_offsets (&layout, done, count, 0, offsets);
        ir_ref_load_real (numbers, offsets, count, values + done);
      }
  return g_steal_pointer (&values);
}

static double *
spread_over (const IrCall *call,
             guint slot,
             Spread spread,
             double fallback,
             const IrTensor *over,
             GError **error)
{
  return spread_new (call, slot, spread, fallback, ir_tensor_rank (over), ir_tensor_dims (over),
                     error);
}

/* Smallest and largest number of an integer type; floating-point types have no limit here. */
static void
range_of (IrDtype dtype, double *low, double *high)
{
  guint bits = ir_dtype_bits (dtype);
  IrRefKind kind = ir_ref_kind (dtype);

  *low = kind == IR_REF_REAL ? -INFINITY : kind == IR_REF_SINT ? -ldexp (1, (int) bits - 1) : 0;
  *high = kind == IR_REF_REAL   ? INFINITY
          : kind == IR_REF_SINT ? ldexp (1, (int) bits - 1) - 1
                                : ldexp (1, (int) bits) - 1;
}

/* @x rounded to the nearest whole number, even in doubt, plus @zero, within the range of @dtype. */
double
ir_ref_quantize (IrDtype dtype, double x, double zero)
{
  double low, high;

  range_of (dtype, &low, &high);
  if (ir_ref_kind (dtype) == IR_REF_REAL)
    return x + zero;
  return isnan (x) ? 0 : CLAMP (rint (x) + zero, low, high);
}

/* The factor that takes products of numbers of the scales @a and @b to numbers of the scale @y: in
 * float, as ONNX Runtime has it, where the standard leaves open how exact it is. */
double
ir_ref_joint_scale (double a, double b, double y)
{
  return ir_block_round (IR_DTYPE_FLOAT, ir_block_round (IR_DTYPE_FLOAT, a * b) / y);
}

/* A sum of products of whole numbers as a number of another scale, likewise. */
double
ir_ref_requantize (IrDtype dtype, double sum, double scale, double zero)
{
  double scaled = ir_block_round (IR_DTYPE_FLOAT, sum) * scale;

  return ir_ref_quantize (dtype, ir_block_round (IR_DTYPE_FLOAT, scaled), zero);
}

static gboolean
read_spread (const IrCall *call, Spread *spread, GError **error)
{
  guint rank = ir_tensor_rank (ir_call_input (call, 0));

  spread->axis = -1;
  spread->block = ir_call_int (call, "block_size", 0);
  if (ir_tensor_n_elements (ir_call_input (call, 1)) == 1 && spread->block == 0)
    return TRUE;
  return ir_call_axis (call, ir_call_int (call, "axis", 1), (int) rank, &spread->axis, error);
}

static gboolean
check_number (const IrCall *call, guint slot, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (ir_call_input (call, slot));

  return ir_ref_kind (dtype) != IR_REF_OTHER || ir_ref_fail_dtype (call, dtype, error);
}

/* The type in which x / y_scale is rounded: as attribute precision says, else that of the scale. */
static IrDtype
precision_of (const IrCall *call)
{
  gint64 given = ir_call_int (call, "precision", 0);
  IrDtype dtype = given != 0 ? (IrDtype) given : ir_tensor_dtype (ir_call_input (call, 1));

  return ir_dtype_is_float (dtype) && ir_dtype_bits (dtype) >= 16 ? dtype : IR_DTYPE_FLOAT;
}

/* The 8-bit floats lose what is beyond their range if attribute saturate is 0. */
static void
store_quantized (const IrCall *call, IrTensor *y, const double *values)
{
  gboolean saturate = ir_call_int (call, "saturate", 1) != 0;

  for (guint64 i = 0; i < ir_tensor_n_elements (y); i++)
    ir_dtype_cast_double (ir_tensor_dtype (y), ir_tensor_data_writable (y), i, values[i], saturate,
                          IR_DTYPE_ROUND_UP);
}

static gboolean
convert (IrCall *call, gboolean to_whole, GError **error)
{
  Spread spread;

  if (!ir_ref_prepare (call, error) || !check_number (call, 0, error) ||
      !check_number (call, 1, error) || !read_spread (call, &spread, error))
    return FALSE;
  const IrTensor *x = ir_call_input (call, 0);
  IrDtype dtype = call->outputs[0].type->dtype, precision = precision_of (call);
  if (ir_ref_kind (dtype) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, dtype, error);
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  g_autofree double *values = ir_block_load_new (call, 0, error);
  g_autofree double *scale = values != NULL ? spread_over (call, 1, spread, 1, x, error) : NULL;
  g_autofree double *zero = scale != NULL ? spread_over (call, 2, spread, 0, x, error) : NULL;
  if (zero == NULL)
    return FALSE;
  for (guint64 i = 0; i < ir_tensor_n_elements (x); i++)
    if (to_whole)
      values[i] = ir_ref_quantize (dtype, ir_block_round (precision, values[i] / scale[i]),
                                   zero[i]);
    else
      values[i] = (values[i] - zero[i]) * scale[i];
  store_quantized (call, y, values);
  return TRUE;
}

/* Source: ONNX QuantizeLinear 28 */
gboolean
ir_ref_quantize_linear (IrCall *call, GError **error)
{
  return convert (call, TRUE, error);
}

/* Source: ONNX DequantizeLinear 28 */
gboolean
ir_ref_dequantize_linear (IrCall *call, GError **error)
{
  return convert (call, FALSE, error);
}

/* The range always holds 0. Where all elements are 0 the scale would be, too; it is then 1.
 * Source: ONNX DynamicQuantizeLinear 11. */
gboolean
ir_ref_dynamic_quantize_linear (IrCall *call, GError **error)
{
  double low = 0, high = 0;

  if (!ir_ref_prepare (call, error))
    return FALSE;
  guint64 n = ir_tensor_n_elements (ir_call_input (call, 0));
  g_autofree double *values = ir_block_load_new (call, 0, error);
  if (values == NULL)
    return FALSE;
  for (guint64 i = 0; i < n; i++)
    {
      /* What is no number makes the range none, wherever it stands. */
      low = isnan (values[i]) || values[i] < low ? values[i] : low;
      high = isnan (values[i]) || values[i] > high ? values[i] : high;
    }
  double scale = ir_block_round (IR_DTYPE_FLOAT, (high - low) / 255);
  if (!(scale > 0))
    scale = 1;
  double zero = ir_ref_quantize (IR_DTYPE_UINT8, ir_block_round (IR_DTYPE_FLOAT, -low / scale), 0);
  for (guint64 i = 0; i < n; i++)
    values[i] = ir_ref_quantize (IR_DTYPE_UINT8, ir_block_round (IR_DTYPE_FLOAT, values[i] / scale),
                                 zero);
  const double *results[3] = { values, &scale, &zero };
  for (guint slot = 0; slot < MIN (call->n_outputs, 3); slot++)
    {
      if (!ir_call_has_output (call, slot))
        continue;
      IrTensor *out = ir_block_new_output (call, slot, error);
      if (out == NULL)
        return FALSE;
      ir_block_store (out, 0, slot == 0 ? n : 1, results[slot]);
    }
  return TRUE;
}

/* -- matrix products -- */

/* Where the matrices of an operand of @rank lie for each matrix of the product. */
static void
batch_layout (const IrTensor *tensor, guint n_batch, const gint64 *dims, IrRefLayout *layout)
{
  guint rank = ir_tensor_rank (tensor), own = rank > 2 ? rank - 2 : 0;
  gint64 stride = 1;

  layout->rank = n_batch;
  for (guint i = n_batch; i-- > 0;)
    {
      gint64 dim = i + own >= n_batch ? ir_tensor_dims (tensor)[i + own - n_batch] : 1;
      layout->dims[i] = dims[i];
      layout->strides[i] = dim == 1 ? 0 : stride;
      stride *= dim;
    }
}

/* sums [.., M, N] of @a [.., M, K] and @b [.., K, N], which hold the elements of the tensors. */
static gboolean
multiply (IrCall *call,
          const IrTensor *a_shape,
          const double *a,
          const IrTensor *b_shape,
          const double *b,
          double *sums,
          GError **error)
{
  guint a_rank = ir_tensor_rank (a_shape), b_rank = ir_tensor_rank (b_shape);
  guint n_batch = MAX (MAX (a_rank, b_rank), 2) - 2;
  const gint64 *dims = call->outputs[0].type->dims;
  gint64 m = a_rank > 1 ? ir_tensor_dims (a_shape)[a_rank - 2] : 1;
  gint64 k = ir_tensor_dims (a_shape)[a_rank - 1], at_a, at_b;
  gint64 n = b_rank > 1 ? ir_tensor_dims (b_shape)[b_rank - 1] : 1;
  IrRefLayout a_batch, b_batch;

  batch_layout (a_shape, n_batch, dims, &a_batch);
  batch_layout (b_shape, n_batch, dims, &b_batch);
  for (guint64 i = 0; i < ir_ref_layout_count (&a_batch); i++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      ir_ref_layout_offsets (&a_batch, i, 1, 0, &at_a);
      ir_ref_layout_offsets (&b_batch, i, 1, 0, &at_b);
      for (gint64 row = 0; row < m; row++)
        for (gint64 column = 0; column < n; column++)
          {
            double sum = 0;
            for (gint64 j = 0; j < k; j++)
              sum += a[at_a * m * k + row * k + j] * b[at_b * k * n + j * n + column];
            sums[((gint64) i * m + row) * n + column] = sum;
          }
    }
  return TRUE;
}

/* Input @slot less its zero point. */
static double *
whole_operand (const IrCall *call, guint slot, guint zero_slot, gboolean per_row, GError **error)
{
  const IrTensor *tensor = ir_call_input (call, slot);
  gint64 rank = ir_tensor_rank (tensor);
  Spread spread = { per_row ? rank - 2 : rank - 1, 0 };
  g_autofree double *values = ir_block_load_new (call, slot, error);
  g_autofree double *zero = values != NULL ? spread_over (call, zero_slot, spread, 0, tensor, error)
                                           : NULL;

  if (zero == NULL)
    return NULL;
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    values[i] -= zero[i];
  return g_steal_pointer (&values);
}

/* A [.., M, K], B [.., K, N], zero points: one number, or one per row of A or column of B.
 * Source: ONNX MatMulInteger 10. */
gboolean
ir_ref_matmul_integer (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  guint64 n = ir_tensor_n_elements (y);
  g_autofree double *a = whole_operand (call, 0, 2, TRUE, error);
  g_autofree double *b = a != NULL ? whole_operand (call, 1, 3, FALSE, error) : NULL;
  g_autofree double *sums = b != NULL ? ir_block_new (call, n, error) : NULL;
  if (sums == NULL || (n > 0 && !multiply (call, ir_call_input (call, 0), a,
                                           ir_call_input (call, 1), b, sums, error)))
    return FALSE;
  for (guint64 i = 0; i < n; i++)
    {
      /* The sum is exact; of one that does not fit, int32 keeps the low bits. */
      gint64 sum = (gint64) sums[i];
      ir_ref_store_int (y, i, 1, &sum);
    }
  return TRUE;
}

/* Numbers of input @slot, one or one per row or column of the matrices of @y; @axis: which of its axes
 * that is, below 0: none, where an operand is a vector. */
static double *
spread_along (const IrCall *call, guint slot, gint64 axis, const IrTensor *y, GError **error)
{
  return spread_over (call, slot, (Spread){ axis, 0, TRUE }, 1, y, error);
}

/* Sums of whole numbers are exact; scales come then. Source: ONNX QLinearMatMul 21 */
gboolean
ir_ref_q_linear_matmul (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  guint64 n = ir_tensor_n_elements (y);
  const IrTensor *a_shape = ir_call_input (call, 0), *b_shape = ir_call_input (call, 3);
  gint64 rank = ir_tensor_rank (y), column = ir_tensor_rank (b_shape) > 1 ? rank - 1 : -1;
  gint64 row = ir_tensor_rank (a_shape) > 1 ? rank - (column >= 0 ? 2 : 1) : -1;
  Spread rows = { rank - 2, 0 };
  g_autofree double *a = whole_operand (call, 0, 2, TRUE, error);
  g_autofree double *b = a != NULL ? whole_operand (call, 3, 5, FALSE, error) : NULL;
  g_autofree double *a_scale = b != NULL ? spread_along (call, 1, row, y, error) : NULL;
  g_autofree double *b_scale = a_scale != NULL ? spread_along (call, 4, column, y, error) : NULL;
  g_autofree double *scale = b_scale != NULL ? spread_over (call, 6, rows, 1, y, error) : NULL;
  g_autofree double *zero = scale != NULL ? spread_over (call, 7, rows, 0, y, error) : NULL;
  g_autofree double *sums = zero != NULL ? ir_block_new (call, n, error) : NULL;
  if (sums == NULL || (n > 0 && !multiply (call, a_shape, a, b_shape, b, sums, error)))
    return FALSE;
  for (guint64 i = 0; i < n; i++)
    sums[i] = ir_ref_requantize (ir_tensor_dtype (y), sums[i],
                                 ir_ref_joint_scale (a_scale[i], b_scale[i], scale[i]), zero[i]);
  ir_block_store (y, 0, n, sums);
  return TRUE;
}
