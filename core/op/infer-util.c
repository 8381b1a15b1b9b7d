/* Helpers of inference: see infer-util.h. */
#include "config.h"

#include "core/op/infer-util.h"

#include <string.h>

/**
 * ir_call_input_dtype:
 * @call: a call
 * @slot: any slot
 *
 * Returns: element type of a tensor input, or %IR_DTYPE_UNDEFINED
 */
IrDtype
ir_call_input_dtype (const IrCall *call, guint slot)
{
  const IrType *type = ir_call_input_type (call, slot);
  return type != NULL && ir_type_is_tensor (type) ? type->dtype : IR_DTYPE_UNDEFINED;
}

/**
 * ir_call_input_rank:
 * @call: a call
 * @slot: any slot
 *
 * Returns: number of dims, or %IR_RANK_UNKNOWN
 */
int
ir_call_input_rank (const IrCall *call, guint slot)
{
  const IrType *type = ir_call_input_type (call, slot);
  return type != NULL && ir_type_has_rank (type) ? type->rank : IR_RANK_UNKNOWN;
}

/**
 * ir_call_input_dims:
 * @call: a call
 * @slot: any slot
 *
 * Returns: (transfer none) (nullable): dims, or %NULL if the rank is not known
 */
const IrDim *
ir_call_input_dims (const IrCall *call, guint slot)
{
  const IrType *type = ir_call_input_type (call, slot);
  return type != NULL && ir_type_has_rank (type) ? type->dims : NULL;
}

/**
 * ir_call_input_is_scalar:
 * @call: a call
 * @slot: any slot
 *
 * Returns: whether the input has rank 0 for sure
 */
gboolean
ir_call_input_is_scalar (const IrCall *call, guint slot)
{
  return ir_call_input_rank (call, slot) == 0;
}

/**
 * ir_call_input_data:
 * @call: a call
 * @slot: any slot
 * @numbers: (out) (transfer container) (array length=n): elements; free with g_free()
 * @n: (out): number of elements, at most %IR_SHAPE_DATA_MAX
 * @scalar: (out): whether the input has rank 0
 *
 * Contents that propagate: integers of rank 0 or 1.
 *
 * Returns: %FALSE if the contents are not known or not of that form
 */
gboolean
ir_call_input_data (const IrCall *call, guint slot, IrNumber **numbers, guint *n, gboolean *scalar)
{
  *numbers = NULL;
  if (!ir_call_has_input (call, slot))
    return FALSE;
  const IrCallInput *input = &call->inputs[slot];
  if (input->tensor != NULL)
    {
      if (ir_tensor_rank (input->tensor) > 1 ||
          ir_tensor_n_elements (input->tensor) > IR_SHAPE_DATA_MAX)
        return FALSE;
      *scalar = ir_tensor_rank (input->tensor) == 0;
    }
  else if (input->data != NULL)
    *scalar = input->data->scalar;
  else
    return FALSE;
  return ir_call_input_numbers (call, slot, numbers, n);
}

/**
 * ir_number_unknown:
 *
 * Returns: a number of which nothing is known
 */
IrNumber
ir_number_unknown (void)
{
  return (IrNumber){ .known = FALSE, .value = 0, .expr = IR_DIM_UNKNOWN };
}

/**
 * ir_call_same_type:
 * @call: a call
 * @slot: output slot
 * @input: input slot
 *
 * Gives the output the type of the input, and its contents where they are known.
 */
void
ir_call_same_type (IrCall *call, guint slot, guint input)
{
  ir_call_set_output_type (call, slot, ir_call_input_type (call, input));
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  gboolean scalar = FALSE;
  if (ir_call_input_data (call, input, &numbers, &n, &scalar))
    ir_call_set_output_data (call, slot, numbers, n, scalar);
}

/**
 * ir_call_same_shape:
 * @call: a call
 * @slot: output slot
 * @input: input slot
 * @dtype: element type of the output
 *
 * Gives the output the shape of the input.
 */
void
ir_call_same_shape (IrCall *call, guint slot, guint input, IrDtype dtype)
{
  const IrType *type = ir_call_input_type (call, input);
  gboolean ranked = type != NULL && ir_type_has_rank (type);
  ir_call_set_output_tensor_type (call, slot, dtype, ranked ? type->rank : IR_RANK_UNKNOWN,
                                  ranked ? type->dims : NULL);
}

/**
 * ir_call_common_dtype:
 * @call: a call
 * @first: first input slot
 * @n: number of inputs; absent ones are passed over
 * @dtype: (out): their element type, %IR_DTYPE_UNDEFINED if none is known
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_OP_ERROR_DTYPE if two differ
 */
gboolean
ir_call_common_dtype (const IrCall *call, guint first, guint n, IrDtype *dtype, GError **error)
{
  *dtype = IR_DTYPE_UNDEFINED;
  for (guint i = first; i < first + n; i++)
    {
      IrDtype other = ir_call_input_dtype (call, i);
      if (other == IR_DTYPE_UNDEFINED)
        continue;
      if (*dtype != IR_DTYPE_UNDEFINED && *dtype != other)
        return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                             "input %u is %s, the inputs before it are %s; all must be the same "
                             "(insert a Cast)",
                             i, ir_dtype_name (other), ir_dtype_name (*dtype));
      *dtype = other;
    }
  return TRUE;
}

/**
 * ir_call_check_integers:
 * @call: a call
 * @first: first input slot
 * @n: number of inputs; absent ones are passed over
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_OP_ERROR_DTYPE if one is known not to hold integers
 */
gboolean
ir_call_check_integers (const IrCall *call, guint first, guint n, GError **error)
{
  for (guint i = first; i < first + n; i++)
    {
      const IrType *type = ir_call_input_type (call, i);
      if (type == NULL || (ir_type_is_tensor (type) && type->dtype == IR_DTYPE_UNDEFINED))
        continue;
      if (!ir_type_is_tensor (type) || !ir_dtype_is_integer (type->dtype))
        return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "input %u is %s, integers are needed",
                             i,
                             ir_type_is_tensor (type) ? ir_dtype_name (type->dtype) : "no tensor");
    }
  return TRUE;
}

/**
 * ir_call_axis:
 * @call: a call
 * @axis: an axis, negative ones counted from the end
 * @rank: number of dims that it may address
 * @normal: (out): the axis in [0, rank)
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_OP_ERROR_ATTRIBUTE if it lies outside [-rank, rank)
 */
gboolean
ir_call_axis (const IrCall *call, gint64 axis, int rank, gint64 *normal, GError **error)
{
  if (axis < -(gint64) rank || axis >= rank)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "axis %" G_GINT64_FORMAT " is outside [%d, %d)", axis, -rank, rank);
  *normal = axis < 0 ? axis + rank : axis;
  return TRUE;
}

/**
 * ir_call_axes:
 * @call: a call
 * @axes: (array length=n): axes
 * @n: their number
 * @rank: number of dims that they may address
 * @mask: (array length=rank): set to %TRUE at the axes, %FALSE elsewhere
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_OP_ERROR_ATTRIBUTE if one is out of range or stands twice
 */
gboolean
ir_call_axes (
    const IrCall *call, const gint64 *axes, guint n, int rank, gboolean *mask, GError **error)
{
  memset (mask, 0, (gsize) rank * sizeof *mask);
  for (guint i = 0; i < n; i++)
    {
      gint64 axis;
      if (!ir_call_axis (call, axes[i], rank, &axis, error))
        return FALSE;
      if (mask[axis])
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "axis %" G_GINT64_FORMAT " stands twice in axes", axis);
      mask[axis] = TRUE;
    }
  return TRUE;
}

/**
 * ir_call_need_equal:
 * @call: a call
 * @a: a dim
 * @b: a dim that is equal in every run that comes through
 * @or_one: or one of both is 1
 *
 * Says so to whom it matters. Nothing follows where one is not known, or both are.
 */
void
ir_call_need_equal (const IrCall *call, IrDim a, IrDim b, gboolean or_one)
{
  if (call->equal != NULL && a != b && a != IR_DIM_UNKNOWN && b != IR_DIM_UNKNOWN &&
      !(ir_dim_is_known (a) && ir_dim_is_known (b)))
    call->equal (call, a, b, or_one, call->equal_data);
}

/**
 * ir_call_same_dim:
 * @call: a call
 * @a: a dim
 * @b: a dim that must be equal
 * @what: what they are, for the message
 * @dim: (out): the more specific of both
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_OP_ERROR_SHAPE if both are known and differ
 */
gboolean
ir_call_same_dim (
    const IrCall *call, IrDim a, IrDim b, const char *what, IrDim *dim, GError **error)
{
  if (ir_dim_is_known (a) && ir_dim_is_known (b) && a != b)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "%s differ: %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT, what, a, b);
  ir_call_need_equal (call, a, b, FALSE);
  if (ir_dim_is_known (a) || b == IR_DIM_UNKNOWN)
    *dim = a;
  else
    *dim = ir_dim_is_known (b) || a == IR_DIM_UNKNOWN ? b : a;
  return TRUE;
}

/* Whether @limited is min (@dim, n) for a number n above 1, as a Slice of a table of n rows has it:
 * then the two broadcast to @dim or not at all, as @limited is 1 only where @dim is. */
static gboolean
is_limited (IrContext *context, IrDim dim, IrDim limited)
{
  gint64 lower, upper;

  if (!ir_dim_is_symbolic (dim) || !ir_dim_is_symbolic (limited))
    return FALSE;
  ir_dim_bounds (context, limited, &lower, &upper);
  return upper > 1 && upper < G_MAXINT64 && ir_dim_min (context, dim, upper) == limited;
}

/**
 * ir_call_broadcast_dim:
 * @call: a call
 * @a: a dim
 * @b: a dim
 * @dim: (out): the dim that both broadcast to, as far as it can be known
 * @error: return location for an error
 *
 * Returns: %FALSE with %IR_OP_ERROR_SHAPE if both are known, differ, and none is 1
 */
gboolean
ir_call_broadcast_dim (const IrCall *call, IrDim a, IrDim b, IrDim *dim, GError **error)
{
  if (a != 1 && b != 1)
    ir_call_need_equal (call, a, b, TRUE);
  if (a == b)
    *dim = a;
  else if (a == 1)
    *dim = b;
  else if (b == 1)
    *dim = a;
  else if (ir_dim_is_known (a) && ir_dim_is_known (b))
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                         "dims %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT
                         " do not broadcast: they must be equal or one of them 1",
                         a, b);
  else if (ir_dim_is_known (a))
    *dim = a; /* b is 1 or the same, or this fails when it runs */
  else if (ir_dim_is_known (b))
    *dim = b;
  else if (is_limited (call->context, a, b))
    *dim = a;
  else if (is_limited (call->context, b, a))
    *dim = b;
  else
    *dim = IR_DIM_UNKNOWN; /* two different symbols: each of them may be 1 */
  return TRUE;
}

static gboolean
broadcast_shape (const IrCall *call, const IrType *type, int *rank, IrDim *dims, GError **error)
{
  int both = MAX (*rank, type->rank);
  IrDim result[IR_MAX_RANK];
  for (int i = 0; i < both; i++)
    {
      int at_a = i - (both - *rank), at_b = i - (both - type->rank);
      IrDim a = at_a >= 0 ? dims[at_a] : 1;
      IrDim b = at_b >= 0 ? type->dims[at_b] : 1;
      if (!ir_call_broadcast_dim (call, a, b, &result[i], error))
        {
          g_autofree char *left = ir_dims_to_string (call->context, *rank, dims);
          g_autofree char *right = ir_dims_to_string (call->context, type->rank, type->dims);
          g_prefix_error (error, "shapes %s and %s: ", left, right);
          return FALSE;
        }
    }
  *rank = both;
  memcpy (dims, result, (gsize) both * sizeof *dims);
  return TRUE;
}

/**
 * ir_call_broadcast_inputs:
 * @call: a call
 * @first: first input slot
 * @n: number of inputs; absent ones are passed over
 * @rank: (out): rank of the result, %IR_RANK_UNKNOWN if that of some input is not known
 * @dims: (out caller-allocates): room for %IR_MAX_RANK dims
 * @error: return location for an error
 *
 * Multidirectional broadcasting as in numpy.
 *
 * Returns: %FALSE with %IR_OP_ERROR_SHAPE if two known dims do not fit
 */
gboolean
ir_call_broadcast_inputs (
    const IrCall *call, guint first, guint n, int *rank, IrDim *dims, GError **error)
{
  gboolean unknown = FALSE;
  *rank = 0;
  for (guint i = first; i < first + n; i++)
    {
      if (!ir_call_has_input (call, i))
        continue;
      const IrType *type = ir_call_input_type (call, i);
      if (type == NULL || !ir_type_has_rank (type))
        unknown = TRUE;
      else if (!broadcast_shape (call, type, rank, dims, error))
        return FALSE;
    }
  if (unknown)
    *rank = IR_RANK_UNKNOWN;
  return TRUE;
}

/**
 * ir_dims_product:
 * @context: a context
 * @dims: dims
 * @from: first
 * @to: one behind the last
 *
 * Returns: their product; 1 for none, %IR_DIM_UNKNOWN if it is not known
 */
IrDim
ir_dims_product (IrContext *context, const IrDim *dims, guint from, guint to)
{
  IrDim product = 1;
  for (guint i = from; i < to; i++)
    if (dims[i] == 0)
      return 0;
  for (guint i = from; i < to; i++)
    product = ir_dim_mul (context, product, dims[i]);
  return product;
}

/**
 * ir_dim_from_number:
 * @number: a number of shape arithmetic
 *
 * Returns: the dim that it gives; %IR_DIM_UNKNOWN if it is not known or negative
 */
IrDim
ir_dim_from_number (IrNumber number)
{
  if (number.known)
    return number.value >= 0 ? number.value : IR_DIM_UNKNOWN;
  return number.expr;
}

/**
 * ir_number_equal:
 * @a: a number
 * @b: a number
 *
 * Returns: whether both are equal for sure
 */
gboolean
ir_number_equal (IrNumber a, IrNumber b)
{
  if (a.known || b.known)
    return a.known && b.known && a.value == b.value;
  return ir_dim_is_symbolic (a.expr) && a.expr == b.expr;
}

/**
 * ir_dims_to_string:
 * @context: a context
 * @rank: number of dims, or %IR_RANK_UNKNOWN
 * @dims: the dims
 *
 * Returns: (transfer full): e.g. "[2,N,?]"
 */
char *
ir_dims_to_string (IrContext *context, int rank, const IrDim *dims)
{
  if (rank == IR_RANK_UNKNOWN)
    return g_strdup ("[...]");
  GString *text = g_string_new ("[");
  for (int i = 0; i < rank; i++)
    {
      g_autofree char *dim = ir_dim_to_string (context, dims[i]);
      g_string_append_printf (text, "%s%s", i > 0 ? "," : "", dim);
    }
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

/**
 * ir_mul_saturated:
 * @a: a factor
 * @b: a factor
 *
 * Returns: the product, or %G_MAXUINT64 if it does not fit
 */
guint64
ir_mul_saturated (guint64 a, guint64 b)
{
  guint64 product;
  return g_uint64_checked_mul (&product, a, b) ? product : G_MAXUINT64;
}

/**
 * ir_type_count:
 * @type: (nullable): a type
 *
 * Returns: number of elements for cost estimates: unknown dims count as 1, an unknown shape as 1
 */
guint64
ir_type_count (const IrType *type)
{
  guint64 count = 1;
  if (type == NULL || !ir_type_has_rank (type))
    return 1;
  for (int i = 0; i < type->rank; i++)
    if (ir_dim_is_known (type->dims[i]))
      count = ir_mul_saturated (count, (guint64) type->dims[i]);
  return count;
}
