/* Inference of elementwise operators and activations: shapes broadcast, and contents of small
 * integer tensors (shapes on their way from Shape to Reshape) are computed along. */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

typedef IrNumber (*NumberFunc) (IrContext *context, IrNumber a, IrNumber b);

/* -- arithmetic over contents -- */

static gboolean
is_symbolic (IrNumber number)
{
  return number.known || ir_dim_is_symbolic (number.expr);
}

/* Truncating where both are known; floor and truncation agree for the sizes that symbols are. */
static IrNumber
number_div (IrContext *context, IrNumber a, IrNumber b)
{
  if (a.known && b.known)
    {
      if (b.value == 0 || (a.value == G_MININT64 && b.value == -1))
        return ir_number_unknown ();
      return ir_number_known (a.value / b.value);
    }
  if (!is_symbolic (a) || !is_symbolic (b) || (b.known && b.value <= 0))
    return ir_number_unknown ();
  return ir_number_floordiv (context, a, b);
}

/* The sign of the divisor, as Mod without fmod has it. */
static IrNumber
number_mod (IrContext *context, IrNumber a, IrNumber b)
{
  if (a.known && b.known)
    {
      if (b.value == 0 || b.value == -1)
        return b.value == 0 ? ir_number_unknown () : ir_number_known (0);
      gint64 rest = a.value % b.value;
      return ir_number_known (rest != 0 && (rest < 0) != (b.value < 0) ? rest + b.value : rest);
    }
  if (!is_symbolic (a) || !b.known || b.value <= 0)
    return ir_number_unknown ();
  return ir_number_from_dim (ir_dim_mod (context, a.expr, b.value));
}

static IrNumber
number_extreme (IrContext *context, IrNumber a, IrNumber b, gboolean larger)
{
  if (a.known && b.known)
    return ir_number_known (larger ? MAX (a.value, b.value) : MIN (a.value, b.value));
  if (!is_symbolic (a) || !is_symbolic (b) || (a.known && a.value < 0) || (b.known && b.value < 0))
    return ir_number_unknown ();
  IrDim left = a.known ? a.value : a.expr, right = b.known ? b.value : b.expr;
  return ir_number_from_dim (larger ? ir_dim_max (context, left, right)
                                    : ir_dim_min (context, left, right));
}

static IrNumber
number_max (IrContext *context, IrNumber a, IrNumber b)
{
  return number_extreme (context, a, b, TRUE);
}

static IrNumber
number_min (IrContext *context, IrNumber a, IrNumber b)
{
  return number_extreme (context, a, b, FALSE);
}

static IrNumber
number_equal (IrContext *context, IrNumber a, IrNumber b)
{
  if (ir_number_equal (a, b))
    return ir_number_known (1);
  if (a.known && b.known)
    return ir_number_known (0);
  /* A dim is never negative: exporters compare shapes with -1. */
  if (a.known != b.known && is_symbolic (a) && is_symbolic (b))
    {
      IrDim dim = a.known ? b.expr : a.expr;
      gint64 value = a.known ? a.value : b.value, lower, upper;
      ir_dim_bounds (context, dim, &lower, &upper);
      if (value < lower || value > upper)
        return ir_number_known (0);
    }
  return ir_number_unknown ();
}

/* -- broadcasting -- */

static gboolean
infer_broadcast (IrCall *call, guint n, IrDtype dtype, GError **error)
{
  int rank;
  IrDim dims[IR_MAX_RANK];
  if (!ir_call_broadcast_inputs (call, 0, n, &rank, dims, error))
    return FALSE;
  ir_call_set_output_tensor_type (call, 0, dtype, rank, dims);
  return TRUE;
}

/* Contents of the output of a binary operator, where both inputs' contents are known. */
static void
propagate (IrCall *call, NumberFunc function)
{
  g_autofree IrNumber *a = NULL;
  g_autofree IrNumber *b = NULL;
  guint n_a = 0, n_b = 0;
  gboolean scalar_a = FALSE, scalar_b = FALSE;
  if (!ir_call_input_data (call, 0, &a, &n_a, &scalar_a) ||
      !ir_call_input_data (call, 1, &b, &n_b, &scalar_b) || (n_a != n_b && n_a != 1 && n_b != 1))
    return;
  guint n = n_a == 1 ? n_b : n_a;
  g_autofree IrNumber *result = g_new (IrNumber, MAX (n, 1));
  for (guint i = 0; i < n; i++)
    result[i] = function (call->context, a[n_a == 1 ? 0 : i], b[n_b == 1 ? 0 : i]);
  ir_call_set_output_data (call, 0, result, n, scalar_a && scalar_b);
}

static gboolean
infer_binary (IrCall *call, IrDtype dtype, NumberFunc function, GError **error)
{
  IrDtype common;
  if (!ir_call_common_dtype (call, 0, 2, &common, error) ||
      !infer_broadcast (call, 2, dtype != IR_DTYPE_UNDEFINED ? dtype : common, error))
    return FALSE;
  if (function != NULL)
    propagate (call, function);
  return TRUE;
}

/* Broadcasts the shapes of both inputs as numpy does and gives the output their element type;
 * computes the contents where those of both inputs are known. The functions below do the same
 * for the other operators. Fails with %IR_OP_ERROR_SHAPE if the shapes do not broadcast, with
 * %IR_OP_ERROR_DTYPE if the element types differ. */
gboolean
ir_infer_add (IrCall *call, GError **error)
{
  return infer_binary (call, IR_DTYPE_UNDEFINED, ir_number_add, error);
}

gboolean
ir_infer_sub (IrCall *call, GError **error)
{
  return infer_binary (call, IR_DTYPE_UNDEFINED, ir_number_sub, error);
}

gboolean
ir_infer_mul (IrCall *call, GError **error)
{
  return infer_binary (call, IR_DTYPE_UNDEFINED, ir_number_mul, error);
}

gboolean
ir_infer_div (IrCall *call, GError **error)
{
  return infer_binary (call, IR_DTYPE_UNDEFINED, number_div, error);
}

gboolean
ir_infer_mod (IrCall *call, GError **error)
{
  gboolean fmod = ir_call_int (call, "fmod", 0) != 0;
  return infer_binary (call, IR_DTYPE_UNDEFINED, fmod ? NULL : number_mod, error);
}

gboolean
ir_infer_bitwise (IrCall *call, GError **error)
{
  return infer_binary (call, IR_DTYPE_UNDEFINED, NULL, error);
}

gboolean
ir_infer_equal (IrCall *call, GError **error)
{
  return infer_binary (call, IR_DTYPE_BOOL, number_equal, error);
}

gboolean
ir_infer_compare (IrCall *call, GError **error)
{
  return infer_binary (call, IR_DTYPE_BOOL, NULL, error);
}

/* The exponent may be of another type; the result is of the base's. */
gboolean
ir_infer_pow (IrCall *call, GError **error)
{
  return infer_broadcast (call, 2, ir_call_input_dtype (call, 0), error);
}

/* The slope must broadcast to X, which keeps its shape. */
gboolean
ir_infer_prelu (IrCall *call, GError **error)
{
  IrDtype dtype;
  if (!ir_call_common_dtype (call, 0, 2, &dtype, error) || !infer_broadcast (call, 2, dtype, error))
    return FALSE;
  ir_call_same_shape (call, 0, 0, dtype);
  return TRUE;
}

/* -- any number of inputs -- */

static gboolean
infer_variadic (IrCall *call, NumberFunc function, GError **error)
{
  IrDtype dtype;
  if (!ir_call_common_dtype (call, 0, call->n_inputs, &dtype, error) ||
      !infer_broadcast (call, call->n_inputs, dtype, error))
    return FALSE;
  if (function != NULL && call->n_inputs == 2)
    propagate (call, function);
  return TRUE;
}

gboolean
ir_infer_variadic (IrCall *call, GError **error)
{
  return infer_variadic (call, NULL, error);
}

gboolean
ir_infer_min (IrCall *call, GError **error)
{
  return infer_variadic (call, number_min, error);
}

gboolean
ir_infer_max (IrCall *call, GError **error)
{
  return infer_variadic (call, number_max, error);
}

/* -- one input -- */

gboolean
ir_infer_same (IrCall *call, GError **error)
{
  ir_call_set_output_type (call, 0, ir_call_input_type (call, 0));
  return TRUE;
}

gboolean
ir_infer_identity (IrCall *call, GError **error)
{
  ir_call_same_type (call, 0, 0);
  return TRUE;
}

gboolean
ir_infer_neg (IrCall *call, GError **error)
{
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  gboolean scalar = FALSE;
  ir_call_set_output_type (call, 0, ir_call_input_type (call, 0));
  if (!ir_call_input_data (call, 0, &numbers, &n, &scalar))
    return TRUE;
  for (guint i = 0; i < n; i++)
    numbers[i] = ir_number_sub (call->context, ir_number_known (0), numbers[i]);
  ir_call_set_output_data (call, 0, numbers, n, scalar);
  return TRUE;
}

gboolean
ir_infer_not (IrCall *call, GError **error)
{
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  gboolean scalar = FALSE;
  ir_call_same_shape (call, 0, 0, IR_DTYPE_BOOL);
  if (!ir_call_input_data (call, 0, &numbers, &n, &scalar))
    return TRUE;
  for (guint i = 0; i < n; i++)
    numbers[i] = numbers[i].known ? ir_number_known (numbers[i].value == 0) : ir_number_unknown ();
  ir_call_set_output_data (call, 0, numbers, n, scalar);
  return TRUE;
}

gboolean
ir_infer_predicate (IrCall *call, GError **error)
{
  ir_call_same_shape (call, 0, 0, IR_DTYPE_BOOL);
  return TRUE;
}

/* Limits are scalars; files with limits of one element and rank 1 exist, so only size counts. */
gboolean
ir_infer_clip (IrCall *call, GError **error)
{
  for (guint slot = 1; slot < MIN (call->n_inputs, 3); slot++)
    {
      const IrType *type = ir_call_input_type (call, slot);
      guint64 n = 0;
      if (type != NULL && ir_type_n_elements (type, &n) && n != 1)
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "%s must be a scalar, it has %" G_GUINT64_FORMAT " elements",
                             slot == 1 ? "min" : "max", n);
    }
  ir_call_set_output_type (call, 0, ir_call_input_type (call, 0));
  return TRUE;
}

/* -- three inputs: select -- */

static IrNumber
select_number (IrNumber condition, IrNumber x, IrNumber y)
{
  if (condition.known)
    return condition.value != 0 ? x : y;
  return ir_number_equal (x, y) ? x : ir_number_unknown ();
}

gboolean
ir_infer_where (IrCall *call, GError **error)
{
  IrDtype dtype;
  if (!ir_call_common_dtype (call, 1, 2, &dtype, error) || !infer_broadcast (call, 3, dtype, error))
    return FALSE;

  g_autofree IrNumber *c = NULL;
  g_autofree IrNumber *x = NULL;
  g_autofree IrNumber *y = NULL;
  guint n_c = 0, n_x = 0, n_y = 0;
  gboolean scalar_c = FALSE, scalar_x = FALSE, scalar_y = FALSE;
  if (!ir_call_input_data (call, 0, &c, &n_c, &scalar_c) ||
      !ir_call_input_data (call, 1, &x, &n_x, &scalar_x) ||
      !ir_call_input_data (call, 2, &y, &n_y, &scalar_y))
    return TRUE;
  guint n = MAX (MAX (n_c, n_x), n_y);
  if ((n_c != n && n_c != 1) || (n_x != n && n_x != 1) || (n_y != n && n_y != 1))
    return TRUE; /* an empty one: the shape says it all */
  g_autofree IrNumber *result = g_new (IrNumber, MAX (n, 1));
  for (guint i = 0; i < n; i++)
    result[i] = select_number (c[n_c == 1 ? 0 : i], x[n_x == 1 ? 0 : i], y[n_y == 1 ? 0 : i]);
  ir_call_set_output_data (call, 0, result, n, scalar_c && scalar_x && scalar_y);
  return TRUE;
}

/* -- conversion -- */

static gboolean
infer_cast (IrCall *call, IrDtype from, IrDtype to)
{
  g_autofree IrNumber *numbers = NULL;
  guint n = 0;
  gboolean scalar = FALSE;
  ir_call_same_shape (call, 0, 0, to);
  /* Sizes fit 32 bits where they matter; other conversions change values. */
  gboolean keeps = to == IR_DTYPE_INT64 || (to == IR_DTYPE_INT32 && ir_dtype_is_integer (from)) ||
                   (to == IR_DTYPE_BOOL && from == IR_DTYPE_BOOL);
  if (!keeps || !ir_call_input_data (call, 0, &numbers, &n, &scalar))
    return TRUE;
  for (guint i = 0; i < n && to == IR_DTYPE_INT32; i++)
    if (numbers[i].known && (numbers[i].value < G_MININT32 || numbers[i].value > G_MAXINT32))
      numbers[i] = ir_number_unknown ();
  ir_call_set_output_data (call, 0, numbers, n, scalar);
  return TRUE;
}

gboolean
ir_infer_cast (IrCall *call, GError **error)
{
  gint64 to = ir_call_int (call, "to", IR_DTYPE_UNDEFINED);
  if (to == IR_DTYPE_UNDEFINED || !ir_dtype_is_valid (to))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "attribute to is %" G_GINT64_FORMAT ", not an element type", to);
  return infer_cast (call, ir_call_input_dtype (call, 0), (IrDtype) to);
}

/* Source: ONNX BitCast 26 */
gboolean
ir_infer_bit_cast (IrCall *call, GError **error)
{
  gint64 to = ir_call_int (call, "to", IR_DTYPE_UNDEFINED);
  IrDtype from = ir_call_input_dtype (call, 0);
  if (!ir_dtype_is_valid (to) || to == IR_DTYPE_STRING)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "attribute to is %" G_GINT64_FORMAT ", not an element type with bits", to);
  if (from == IR_DTYPE_STRING ||
      (from != IR_DTYPE_UNDEFINED && ir_dtype_bits (from) != ir_dtype_bits ((IrDtype) to)))
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE,
                         "elements of type %s have not as many bits as %s", ir_dtype_name (from),
                         ir_dtype_name ((IrDtype) to));
  ir_call_same_shape (call, 0, 0, (IrDtype) to);
  return TRUE;
}

gboolean
ir_infer_cast_like (IrCall *call, GError **error)
{
  return infer_cast (call, ir_call_input_dtype (call, 0), ir_call_input_dtype (call, 1));
}
