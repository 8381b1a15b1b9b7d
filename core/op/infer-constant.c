/* Inference of constants and generators. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"
#include <math.h>

/* Output 0 takes type and contents of @tensor; a sparse one comes out dense. */
static void
set_from_tensor (IrCall *call, IrTensor *tensor)
{
  guint64 n = ir_tensor_n_elements (tensor);
  IrDtype dtype = ir_tensor_dtype (tensor);
  ir_call_set_output_tensor_type (call, 0, dtype, (int) ir_tensor_rank (tensor),
                                  ir_tensor_dims (tensor));
  if (ir_tensor_rank (tensor) > 1 || n > IR_SHAPE_DATA_MAX ||
      (!ir_dtype_is_integer (dtype) && dtype != IR_DTYPE_BOOL))
    return;
  g_autoptr (IrTensor) dense = ir_tensor_densify (tensor, NULL);
  if (dense == NULL)
    return;
  g_autofree IrNumber *numbers = g_new (IrNumber, MAX (n, 1));
  for (guint64 i = 0; i < n; i++)
    numbers[i] = ir_number_known (ir_tensor_get_int64 (dense, i));
  ir_call_set_output_data (call, 0, numbers, (guint) n, ir_tensor_rank (tensor) == 0);
}

/* The attributes that Constant may have instead of a tensor: type of their elements. */
static IrDtype
constant_attr_dtype (IrAttrKind kind)
{
  static const IrDtype dtypes[IR_N_ATTR_KINDS] = {
    [IR_ATTR_FLOAT] = IR_DTYPE_FLOAT,   [IR_ATTR_FLOATS] = IR_DTYPE_FLOAT,
    [IR_ATTR_INT] = IR_DTYPE_INT64,     [IR_ATTR_INTS] = IR_DTYPE_INT64,
    [IR_ATTR_STRING] = IR_DTYPE_STRING, [IR_ATTR_STRINGS] = IR_DTYPE_STRING,
  };
  return dtypes[kind];
}

gboolean
ir_infer_constant (IrCall *call, GError **error)
{
  static const char *const names[] = {
    "value",     "sparse_value", "value_float",  "value_floats",
    "value_int", "value_ints",   "value_string", "value_strings"
  };
  const IrAttr *attr = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (names) && attr == NULL; i++)
    attr = ir_call_attr (call, names[i]);
  if (attr == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "no attribute gives a value; one of value, value_float, value_ints and so "
                         "on is needed");
  if ((attr->kind == IR_ATTR_TENSOR || attr->kind == IR_ATTR_SPARSE_TENSOR) && attr->n > 0)
    {
      set_from_tensor (call, attr->tensors[0]);
      return TRUE;
    }
  gboolean single = attr->kind == IR_ATTR_FLOAT || attr->kind == IR_ATTR_INT ||
                    attr->kind == IR_ATTR_STRING;
  IrDim n = attr->n;
  ir_call_set_output_tensor_type (call, 0, constant_attr_dtype (attr->kind), single ? 0 : 1, &n);
  if (attr->kind != IR_ATTR_INT && attr->kind != IR_ATTR_INTS)
    return TRUE;
  g_autofree IrNumber *numbers = g_new (IrNumber, MAX (attr->n, 1));
  for (guint i = 0; i < attr->n; i++)
    numbers[i] = ir_number_known (attr->ints[i]);
  ir_call_set_output_data (call, 0, numbers, attr->n, single);
  return TRUE;
}

/* Contents of a vector of @n equal elements. */
static void
set_fill_data (IrCall *call, int rank, const IrDim *dims, const IrTensor *value)
{
  IrDtype dtype = ir_tensor_dtype (value);
  if (rank > 1 || (rank == 1 && (!ir_dim_is_known (dims[0]) || dims[0] > IR_SHAPE_DATA_MAX)) ||
      (!ir_dtype_is_integer (dtype) && dtype != IR_DTYPE_BOOL) || ir_tensor_n_elements (value) != 1)
    return;
  guint n = rank == 0 ? 1 : (guint) dims[0];
  g_autofree IrNumber *numbers = g_new (IrNumber, MAX (n, 1));
  for (guint i = 0; i < n; i++)
    numbers[i] = ir_number_known (ir_tensor_get_int64 (value, 0));
  ir_call_set_output_data (call, 0, numbers, n, rank == 0);
}

gboolean
ir_infer_constant_of_shape (IrCall *call, GError **error)
{
  if (!ir_call_check_integers (call, 0, 1, error))
    return FALSE;
  const IrAttr *attr = ir_call_attr (call, "value");
  const IrTensor *value = attr != NULL && attr->kind == IR_ATTR_TENSOR && attr->n > 0
                              ? attr->tensors[0]
                              : NULL;
  IrDtype dtype = value != NULL ? ir_tensor_dtype (value) : IR_DTYPE_FLOAT;
  g_autofree IrNumber *shape = NULL;
  guint n = 0;
  IrDim dims[IR_MAX_RANK];
  if (!ir_call_input_numbers (call, 0, &shape, &n))
    {
      const IrDim *length = ir_call_input_dims (call, 0);
      int rank = ir_call_input_rank (call, 0) == 1 && ir_dim_is_known (length[0]) &&
                         length[0] <= IR_MAX_RANK
                     ? (int) length[0]
                     : IR_RANK_UNKNOWN;
      for (int i = 0; i < rank; i++)
        dims[i] = IR_DIM_UNKNOWN;
      ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
      return TRUE;
    }
  if (n > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "shape has %u dims, at most %d are supported", n, IR_MAX_RANK);
  for (guint i = 0; i < n; i++)
    {
      if (shape[i].known && shape[i].value < 0)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "shape has the dim %" G_GINT64_FORMAT,
                             shape[i].value);
      dims[i] = ir_dim_from_number (shape[i]);
    }
  ir_call_set_output_tensor_type (call, 0, dtype, (int) n, dims);
  if (value != NULL)
    set_fill_data (call, (int) n, dims, value);
  return TRUE;
}

/* -- Range -- */

static IrNumber
scalar_number (const IrCall *call, guint slot)
{
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  if (!ir_call_input_numbers (call, slot, &numbers, &n) || n != 1)
    return ir_number_unknown ();
  return numbers[0];
}

/* Number of elements of an integer range, which may be symbolic for a step of 1. */
static IrDim
range_length (IrContext *context, IrNumber start, IrNumber limit, IrNumber delta)
{
  if (delta.value == 0) /* or it is not known */
    return IR_DIM_UNKNOWN;
  if (start.known && limit.known)
    {
      gboolean up = delta.value > 0;
      if (up ? limit.value <= start.value : limit.value >= start.value)
        return 0;
      guint64 span = up ? (guint64) limit.value - (guint64) start.value
                        : (guint64) start.value - (guint64) limit.value;
      guint64 step = up ? (guint64) delta.value : 0 - (guint64) delta.value;
      guint64 length = (span - 1) / step + 1;
      return length <= G_MAXINT64 ? (IrDim) length : IR_DIM_UNKNOWN;
    }
  if (delta.value != 1)
    return IR_DIM_UNKNOWN;
  IrDim length = ir_number_to_dim (ir_number_sub (context, limit, start));
  gint64 lower, upper;
  if (length == IR_DIM_UNKNOWN || ir_dim_is_known (length))
    return length;
  ir_dim_bounds (context, length, &lower, &upper);
  return lower >= 0 ? length : ir_dim_max (context, length, 0);
}

static IrDim
float_range_length (const IrCall *call)
{
  const IrTensor *inputs[3] = { ir_call_input (call, 0), ir_call_input (call, 1),
                                ir_call_input (call, 2) };
  for (guint i = 0; i < 3; i++)
    if (inputs[i] == NULL || ir_tensor_n_elements (inputs[i]) != 1)
      return IR_DIM_UNKNOWN;
  double length = ceil (
      (ir_tensor_get_double (inputs[1], 0) - ir_tensor_get_double (inputs[0], 0)) /
      ir_tensor_get_double (inputs[2], 0));
  if (!(length < 9e15))
    return IR_DIM_UNKNOWN;
  return length > 0 ? (IrDim) length : 0;
}

gboolean
ir_infer_range (IrCall *call, GError **error)
{
  IrDtype dtype = IR_DTYPE_UNDEFINED;
  if (!ir_call_common_dtype (call, 0, 3, &dtype, error))
    return FALSE;
  if (ir_dtype_is_float (dtype))
    {
      IrDim length = float_range_length (call);
      ir_call_set_output_tensor_type (call, 0, dtype, 1, &length);
      return TRUE;
    }
  IrNumber start = scalar_number (call, 0), limit = scalar_number (call, 1),
           delta = scalar_number (call, 2);
  if (delta.known && delta.value == 0)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "delta is 0");
  IrDim length = range_length (call->context, start, limit, delta);
  ir_call_set_output_tensor_type (call, 0, dtype, 1, &length);
  if (!ir_dim_is_known (length) || length > IR_SHAPE_DATA_MAX || !start.known)
    return TRUE;
  g_autofree IrNumber *numbers = g_new (IrNumber, MAX (length, 1));
  for (gint64 i = 0; i < length; i++)
    numbers[i] = ir_number_known (
        (gint64) ((guint64) start.value + (guint64) i * (guint64) delta.value));
  ir_call_set_output_data (call, 0, numbers, (guint) length, FALSE);
  return TRUE;
}

/* -- generators -- */

/* The element type that the attribute dtype names, or @fallback. */
static gboolean
attr_dtype (IrCall *call, IrDtype fallback, IrDtype *dtype, GError **error)
{
  gint64 code = ir_call_int (call, "dtype", IR_DTYPE_UNDEFINED);
  if (code != IR_DTYPE_UNDEFINED && !ir_dtype_is_valid (code))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "attribute dtype is %" G_GINT64_FORMAT ", not an element type", code);
  *dtype = code != IR_DTYPE_UNDEFINED ? (IrDtype) code : fallback;
  return TRUE;
}

gboolean
ir_infer_random_like (IrCall *call, GError **error)
{
  IrDtype dtype = IR_DTYPE_UNDEFINED;
  if (!attr_dtype (call, ir_call_input_dtype (call, 0), &dtype, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, dtype);
  return TRUE;
}

gboolean
ir_infer_eye_like (IrCall *call, GError **error)
{
  int rank = ir_call_input_rank (call, 0);
  if (rank != IR_RANK_UNKNOWN && rank != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input has %d dims, a matrix is needed",
                         rank);
  return ir_infer_random_like (call, error);
}

gboolean
ir_infer_random (IrCall *call, GError **error)
{
  IrDtype dtype = IR_DTYPE_UNDEFINED;
  guint n = 0;
  const gint64 *shape = ir_call_ints (call, "shape", &n);
  if (!attr_dtype (call, IR_DTYPE_FLOAT, &dtype, error))
    return FALSE;
  if (n > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                         "shape has %u dims, at most %d are supported", n, IR_MAX_RANK);
  for (guint i = 0; i < n; i++)
    if (shape[i] < 0)
      return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                           "shape has the dim %" G_GINT64_FORMAT, shape[i]);
  ir_call_set_output_tensor_type (call, 0, dtype, shape != NULL ? (int) n : IR_RANK_UNKNOWN, shape);
  return TRUE;
}

gboolean
ir_infer_multinomial (IrCall *call, GError **error)
{
  IrDtype dtype = IR_DTYPE_UNDEFINED;
  if (!attr_dtype (call, IR_DTYPE_INT32, &dtype, error))
    return FALSE;
  const IrDim *dims = ir_call_input_dims (call, 0);
  int rank = ir_call_input_rank (call, 0);
  if (rank != IR_RANK_UNKNOWN && rank != 2)
    return ir_call_fail (call, error, IR_OP_ERROR_SHAPE, "input has %d dims, a matrix is needed",
                         rank);
  if (!ir_dtype_is_integer (dtype))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "dtype is %s, an integer is needed",
                         ir_dtype_name (dtype));
  IrDim result[2] = { rank == 2 ? dims[0] : IR_DIM_UNKNOWN,
                      MAX (ir_call_int (call, "sample_size", 1), 0) };
  ir_call_set_output_tensor_type (call, 0, dtype, 2, result);
  return TRUE;
}
