/* Reference kernels of several inputs that broadcast: one loop, one small function per operator and
 * kind of number. Integers wrap around; what has no result (division by zero) is an error. */
#include "config.h"

#include "core/exec/ref/string-util.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

/* Integer functions say what went wrong in @fault. Unsigned ones get the bits as gint64. */
typedef gint64 (*IntFunc) (gint64 a, gint64 b, const char **fault);
typedef double (*RealFunc) (double a, double b);

typedef struct
{
  RealFunc real;
  IntFunc sint, uint; /* (nullable) */
} Functions;

static gboolean
apply_real (const IrCall *call,
            IrTensor *out,
            const IrTensor *a,
            const IrTensor *b,
            const IrRefLayout *at_a,
            const IrRefLayout *at_b,
            RealFunc function)
{
  guint64 total = ir_tensor_n_elements (out);
  gint64 offsets[IR_REF_CHUNK];
  double x[IR_REF_CHUNK], y[IR_REF_CHUNK];
  for (guint64 first = 0; first < total; first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (total - first, IR_REF_CHUNK);
      ir_ref_layout_offsets (at_a, first, n, 0, offsets);
      ir_ref_load_real (a, offsets, n, x);
      ir_ref_layout_offsets (at_b, first, n, 0, offsets);
      ir_ref_load_real (b, offsets, n, y);
      for (guint i = 0; i < n; i++)
        x[i] = function (x[i], y[i]);
      ir_ref_store_real (out, first, n, x);
    }
  return TRUE;
}

static gboolean
apply_int (IrCall *call,
           IrTensor *out,
           const IrTensor *a,
           const IrTensor *b,
           const IrRefLayout *at_a,
           const IrRefLayout *at_b,
           IntFunc function,
           GError **error)
{
  guint64 total = ir_tensor_n_elements (out);
  gint64 offsets[IR_REF_CHUNK], x[IR_REF_CHUNK], y[IR_REF_CHUNK];
  const char *fault = NULL;
  for (guint64 first = 0; first < total; first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (total - first, IR_REF_CHUNK);
      ir_ref_layout_offsets (at_a, first, n, 0, offsets);
      ir_ref_load_int (a, offsets, n, x);
      ir_ref_layout_offsets (at_b, first, n, 0, offsets);
      ir_ref_load_int (b, offsets, n, y);
      for (guint i = 0; i < n; i++)
        {
          x[i] = function (x[i], y[i], &fault);
          if (fault != NULL)
            return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "%s at element %" G_GUINT64_FORMAT,
                                 fault, first + i);
        }
      ir_ref_store_int (out, first, n, x);
    }
  return TRUE;
}

static gboolean
binary (IrCall *call, const Functions *functions, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *a = ir_call_input (call, 0), *b = ir_call_input (call, 1);
  IrRefKind kind = ir_ref_kind (ir_tensor_dtype (a));
  IntFunc integer = kind == IR_REF_SINT ? functions->sint : functions->uint;
  if (kind == IR_REF_OTHER || (kind == IR_REF_REAL ? functions->real == NULL : integer == NULL))
    return ir_ref_fail_dtype (call, ir_tensor_dtype (a), error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  IrRefLayout at_a, at_b;
  ir_ref_layout_broadcast (&at_a, a, ir_tensor_rank (out), ir_tensor_dims (out));
  ir_ref_layout_broadcast (&at_b, b, ir_tensor_rank (out), ir_tensor_dims (out));
  if (kind == IR_REF_REAL)
    return apply_real (call, out, a, b, &at_a, &at_b, functions->real);
  return apply_int (call, out, a, b, &at_a, &at_b, integer, error);
}

/* -- one function each -- */

#define REF_BINARY(NAME, REAL, SINT, UINT)                                                         \
  gboolean ir_ref_##NAME (IrCall *call, GError **error)                                            \
  {                                                                                                \
    static const Functions functions = { REAL, SINT, UINT };                                       \
    return binary (call, &functions, error);                                                       \
  }

/* clang-format off */
#define REAL(NAME, EXPRESSION) static double real_##NAME (double a, double b) { return EXPRESSION; }
#define SINT(NAME, EXPRESSION)                                                                     \
  static gint64 sint_##NAME (gint64 a, gint64 b, const char **fault) { return EXPRESSION; }
#define UINT(NAME, EXPRESSION)                                                                     \
  static gint64 uint_##NAME (gint64 a_bits, gint64 b_bits, const char **fault)                     \
  {                                                                                                \
    guint64 a = (guint64) a_bits, b = (guint64) b_bits;                                            \
    return (gint64) (EXPRESSION);                                                                  \
  }

/* The same bits for signed and unsigned. */
REAL (add, a + b)
REAL (sub, a - b)
REAL (mul, a * b)
UINT (add, a + b)
UINT (sub, a - b)
UINT (mul, a * b)
REF_BINARY (add, real_add, uint_add, uint_add)
REF_BINARY (sub, real_sub, uint_sub, uint_sub)
REF_BINARY (mul, real_mul, uint_mul, uint_mul)

REAL (equal, a == b)
UINT (equal, a == b)
REAL (greater, a > b)
SINT (greater, a > b)
UINT (greater, a > b)
REF_BINARY (greater, real_greater, sint_greater, uint_greater)
REAL (greater_or_equal, a >= b)
SINT (greater_or_equal, a >= b)
UINT (greater_or_equal, a >= b)
REF_BINARY (greater_or_equal, real_greater_or_equal, sint_greater_or_equal, uint_greater_or_equal)
REAL (less, a < b)
SINT (less, a < b)
UINT (less, a < b)
REF_BINARY (less, real_less, sint_less, uint_less)
REAL (less_or_equal, a <= b)
SINT (less_or_equal, a <= b)
UINT (less_or_equal, a <= b)
REF_BINARY (less_or_equal, real_less_or_equal, sint_less_or_equal, uint_less_or_equal)

UINT (logical_and, a != 0 && b != 0)
UINT (logical_or, a != 0 || b != 0)
UINT (logical_xor, (a != 0) != (b != 0))
REF_BINARY (and, NULL, NULL, uint_logical_and)
REF_BINARY (or, NULL, NULL, uint_logical_or)
REF_BINARY (xor, NULL, NULL, uint_logical_xor)

UINT (bitwise_and, a & b)
UINT (bitwise_or, a | b)
UINT (bitwise_xor, a ^ b)
REF_BINARY (bitwise_and, NULL, uint_bitwise_and, uint_bitwise_and)
REF_BINARY (bitwise_or, NULL, uint_bitwise_or, uint_bitwise_or)
REF_BINARY (bitwise_xor, NULL, uint_bitwise_xor, uint_bitwise_xor)

/* Signed ones: by a negative number as by the width or more, only the sign's bits are left. */
UINT (shift_left, b < 64 ? a << b : 0)
UINT (shift_right, b < 64 ? a >> b : 0)
SINT (shift_left, b >= 0 && b < 64 ? (gint64) ((guint64) a << b) : 0)
SINT (shift_right, a >> (b >= 0 && b < 64 ? b : 63))

REAL (prelu, a < 0 ? a * b : a)
SINT (prelu, a < 0 ? (gint64) ((guint64) a * (guint64) b) : a)
UINT (prelu, ((void) b, a))
/* dY by what Relu gave, and by what Gelu took. Its tail is by erfc, as 1 + erf has no digits left there. */
REAL (relu_grad, b > 0 ? a : 0)
REAL (gelu_grad, a * (0.5 * erfc (-b * M_SQRT1_2) + b * exp (-0.5 * b * b) * (0.5 * M_2_SQRTPI * M_SQRT1_2)))
REF_BINARY (relu_grad, real_relu_grad, NULL, NULL)
REF_BINARY (gelu_grad, real_gelu_grad, NULL, NULL)

static double
real_gelu_tanh_grad (double dy, double x)
{
  const double k = sqrt (2 / M_PI), c = 0.044715, t = tanh (k * (x + c * x * x * x));

  return dy * (0.5 * (1 + t) + 0.5 * (1 - t * t) * x * k * (1 + 3 * c * x * x));
}

REF_BINARY (gelu_tanh_grad, real_gelu_tanh_grad, NULL, NULL)
REF_BINARY (prelu, real_prelu, sint_prelu, uint_prelu)

/* NaN wins, as in the standard's reference. */
REAL (min, isnan (a) ? a : isnan (b) || b < a ? b : a)
SINT (min, MIN (a, b))
UINT (min, MIN (a, b))
REAL (max, isnan (a) ? a : isnan (b) || b > a ? b : a)
SINT (max, MAX (a, b))
UINT (max, MAX (a, b))
/* clang-format on */

/* Strings are equal byte by byte. */
static gboolean
equal_strings (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *a = ir_call_input (call, 0), *b = ir_call_input (call, 1);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  IrRefLayout at_a, at_b;
  gint64 place_a, place_b;
  ir_ref_layout_broadcast (&at_a, a, ir_tensor_rank (out), ir_tensor_dims (out));
  ir_ref_layout_broadcast (&at_b, b, ir_tensor_rank (out), ir_tensor_dims (out));
  for (guint64 i = 0; i < ir_tensor_n_elements (out); i++)
    {
      ir_ref_layout_offsets (&at_a, i, 1, 0, &place_a);
      ir_ref_layout_offsets (&at_b, i, 1, 0, &place_b);
      gint64 same = g_bytes_equal (ir_tensor_string (a, (guint64) place_a),
                                     ir_tensor_string (b, (guint64) place_b));
      ir_ref_store_int (out, i, 1, &same);
    }
  return TRUE;
}

gboolean
ir_ref_equal (IrCall *call, GError **error)
{
  static const Functions functions = { real_equal, uint_equal, uint_equal };
  if (ir_call_input_dtype (call, 0) == IR_DTYPE_STRING)
    return equal_strings (call, error);
  return binary (call, &functions, error);
}

gboolean
ir_ref_bit_shift (IrCall *call, GError **error)
{
  static const Functions left = { NULL, sint_shift_left, uint_shift_left };
  static const Functions right = { NULL, sint_shift_right, uint_shift_right };
  const char *direction = ir_call_string (call, "direction", "");
  if (g_str_equal (direction, "LEFT"))
    return binary (call, &left, error);
  if (g_str_equal (direction, "RIGHT"))
    return binary (call, &right, error);
  return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "direction is \"%s\"; LEFT or RIGHT is needed", direction);
}

/* -- division -- */

static double
real_div (double a, double b)
{
  return a / b;
}

static gint64
sint_div (gint64 a, gint64 b, const char **fault)
{
  if (b == 0)
    *fault = "division by zero";
  if (b == 0 || b == -1) /* the smallest integer by -1 wraps around */
    return b == 0 ? 0 : (gint64) (0 - (guint64) a);
  return a / b;
}

static gint64
uint_div (gint64 a, gint64 b, const char **fault)
{
  if (b == 0)
    *fault = "division by zero";
  return b == 0 ? 0 : (gint64) ((guint64) a / (guint64) b);
}

REF_BINARY (div, real_div, sint_div, uint_div)

/* The sign of the divisor, that of a zero too. */
static double
real_mod (double a, double b)
{
  double rest = fmod (a, b);
  if (rest == 0)
    return copysign (0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

static gint64
sint_mod (gint64 a, gint64 b, const char **fault)
{
  if (b == 0)
    *fault = "remainder of a division by zero";
  if (b == 0 || b == -1)
    return 0;
  gint64 rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* The sign of the dividend. */
static gint64
sint_fmod (gint64 a, gint64 b, const char **fault)
{
  if (b == 0)
    *fault = "remainder of a division by zero";
  return b == 0 || b == -1 ? 0 : a % b;
}

static gint64
uint_mod (gint64 a, gint64 b, const char **fault)
{
  if (b == 0)
    *fault = "remainder of a division by zero";
  return b == 0 ? 0 : (gint64) ((guint64) a % (guint64) b);
}

gboolean
ir_ref_mod (IrCall *call, GError **error)
{
  static const Functions as_divisor = { real_mod, sint_mod, uint_mod };
  static const Functions as_dividend = { fmod, sint_fmod, uint_mod };
  gboolean c_fmod = ir_call_int (call, "fmod", 0) != 0;
  return binary (call, c_fmod ? &as_dividend : &as_divisor, error);
}

/* -- power -- */

static gint64
uint_pow (gint64 a, gint64 b, const char **fault)
{
  guint64 base = (guint64) a, result = 1;
  for (guint64 exponent = (guint64) b; exponent != 0; exponent >>= 1)
    {
      if (exponent & 1)
        result *= base;
      base *= base;
    }
  return (gint64) result;
}

static gint64
sint_pow (gint64 a, gint64 b, const char **fault)
{
  if (b >= 0)
    return uint_pow (a, b, fault);
  if (a == 0)
    *fault = "0 to a negative power";
  if (a == 1 || a == -1)
    return a == 1 || (b & 1) == 0 ? 1 : -1;
  return 0; /* a fraction */
}

/* Base and exponent may differ in type. Two integers are exact; anything else goes by doubles. */
gboolean
ir_ref_pow (IrCall *call, GError **error)
{
  static const Functions same = { pow, sint_pow, uint_pow };
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *a = ir_call_input (call, 0), *b = ir_call_input (call, 1);
  IrRefKind kind_a = ir_ref_kind (ir_tensor_dtype (a)), kind_b = ir_ref_kind (ir_tensor_dtype (b));
  if (kind_a == IR_REF_OTHER || kind_b == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (kind_a == IR_REF_OTHER ? a : b), error);
  if (kind_a == kind_b)
    return binary (call, &same, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  IrRefLayout at_a, at_b;
  ir_ref_layout_broadcast (&at_a, a, ir_tensor_rank (out), ir_tensor_dims (out));
  ir_ref_layout_broadcast (&at_b, b, ir_tensor_rank (out), ir_tensor_dims (out));
  if (kind_a != IR_REF_REAL && kind_b != IR_REF_REAL)
    return apply_int (call, out, a, b, &at_a, &at_b, kind_b == IR_REF_SINT ? sint_pow : uint_pow,
                      error);
  return apply_real (call, out, a, b, &at_a, &at_b, pow);
}

/* -- any number of inputs -- */

/* The inputs are folded into one accumulator, chunk by chunk; floats stay doubles until the end. */
static gboolean
variadic (IrCall *call, const Functions *functions, gboolean mean, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrType *type = call->outputs[0].type;
  IrRefKind kind = ir_ref_kind (type->dtype);
  IntFunc integer = kind == IR_REF_SINT ? functions->sint : functions->uint;
  if (kind == IR_REF_OTHER || (kind != IR_REF_REAL && integer == NULL))
    return ir_ref_fail_dtype (call, type->dtype, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  guint64 total = ir_tensor_n_elements (out);
  gint64 offsets[IR_REF_CHUNK], i_sum[IR_REF_CHUNK], i_next[IR_REF_CHUNK];
  double r_sum[IR_REF_CHUNK], r_next[IR_REF_CHUNK];
  const char *fault = NULL;
  for (guint64 first = 0; first < total; first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (total - first, IR_REF_CHUNK);
      for (guint slot = 0; slot < call->n_inputs; slot++)
        {
          const IrTensor *in = ir_call_input (call, slot);
          IrRefLayout layout;
          ir_ref_layout_broadcast (&layout, in, ir_tensor_rank (out), ir_tensor_dims (out));
          ir_ref_layout_offsets (&layout, first, n, 0, offsets);
          if (kind == IR_REF_REAL)
            ir_ref_load_real (in, offsets, n, slot == 0 ? r_sum : r_next);
          else
            ir_ref_load_int (in, offsets, n, slot == 0 ? i_sum : i_next);
          for (guint i = 0; slot > 0 && i < n; i++)
            if (kind == IR_REF_REAL)
              r_sum[i] = functions->real (r_sum[i], r_next[i]);
            else
              i_sum[i] = integer (i_sum[i], i_next[i], &fault);
        }
      for (guint i = 0; mean && i < n; i++)
        r_sum[i] /= call->n_inputs;
      if (kind == IR_REF_REAL)
        ir_ref_store_real (out, first, n, r_sum);
      else
        ir_ref_store_int (out, first, n, i_sum);
    }
  return TRUE;
}

gboolean
ir_ref_min (IrCall *call, GError **error)
{
  static const Functions functions = { real_min, sint_min, uint_min };
  return variadic (call, &functions, FALSE, error);
}

gboolean
ir_ref_max (IrCall *call, GError **error)
{
  static const Functions functions = { real_max, sint_max, uint_max };
  return variadic (call, &functions, FALSE, error);
}

gboolean
ir_ref_sum (IrCall *call, GError **error)
{
  static const Functions functions = { real_add, NULL, NULL };
  return variadic (call, &functions, FALSE, error);
}

gboolean
ir_ref_mean (IrCall *call, GError **error)
{
  static const Functions functions = { real_add, NULL, NULL };
  return variadic (call, &functions, TRUE, error);
}

/* -- Clip -- */

/* A limit that is left out does not limit. Both are scalars of the data's type (or of any, after
 * adapting an old opset). */
static gboolean
clip_real (const IrCall *call,
           const IrTensor *in,
           const IrTensor *low,
           const IrTensor *high,
           IrTensor *out)
{
  guint64 total = ir_tensor_n_elements (in);
  double lowest = low != NULL ? ir_tensor_get_double (low, 0) : -HUGE_VAL;
  double highest = high != NULL ? ir_tensor_get_double (high, 0) : HUGE_VAL;
  double x[IR_REF_CHUNK];
  for (guint64 first = 0; first < total; first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (total - first, IR_REF_CHUNK);
      ir_block_load (in, first, n, x);
      for (guint i = 0; i < n; i++)
        x[i] = real_min (real_max (x[i], lowest), highest);
      ir_ref_store_real (out, first, n, x);
    }
  return TRUE;
}

static gboolean
clip_int (const IrCall *call,
          const IrTensor *in,
          const IrTensor *low,
          const IrTensor *high,
          IrTensor *out)
{
  guint64 total = ir_tensor_n_elements (in);
  gboolean is_signed = ir_ref_kind (ir_tensor_dtype (in)) == IR_REF_SINT;
  gint64 x, lowest = 0, highest = 0, zero = 0;
  const char *fault = NULL;
  if (low != NULL)
    ir_ref_load_int (low, &zero, 1, &lowest);
  if (high != NULL)
    ir_ref_load_int (high, &zero, 1, &highest);
  for (guint64 i = 0; i < total; i++)
    {
      gint64 offset = (gint64) i;
      ir_ref_load_int (in, &offset, 1, &x);
      if (low != NULL)
        x = (is_signed ? sint_max : uint_max) (x, lowest, &fault);
      if (high != NULL)
        x = (is_signed ? sint_min : uint_min) (x, highest, &fault);
      ir_ref_store_int (out, i, 1, &x);
    }
  return TRUE;
}

gboolean
ir_ref_clip (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  const IrTensor *low = ir_call_input (call, 1), *high = ir_call_input (call, 2);
  IrRefKind kind = ir_ref_kind (ir_tensor_dtype (in));
  if (kind == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (in), error);
  for (guint slot = 1; slot <= 2; slot++)
    {
      const IrTensor *limit = slot == 1 ? low : high;
      if (limit != NULL &&
          (ir_ref_kind (ir_tensor_dtype (limit)) == IR_REF_REAL) != (kind == IR_REF_REAL))
        return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "%s is %s, the input is %s",
                             slot == 1 ? "min" : "max", ir_dtype_name (ir_tensor_dtype (limit)),
                             ir_dtype_name (ir_tensor_dtype (in)));
    }
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  return kind == IR_REF_REAL ? clip_real (call, in, low, high, out)
                             : clip_int (call, in, low, high, out);
}

/* -- Where -- */

/* Elements of any type, strings too. */
gboolean
ir_ref_where (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrType *type = call->outputs[0].type;
  const IrTensor *condition = ir_call_input (call, 0);
  g_auto (IrRefReader) x = { 0 };
  g_auto (IrRefReader) y = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  if (ir_tensor_dtype (condition) != IR_DTYPE_BOOL)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (condition), error);
  if (!ir_ref_reader_init (&x, call, ir_call_input (call, 1), error) ||
      !ir_ref_reader_init (&y, call, ir_call_input (call, 2), error) ||
      !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  IrRefLayout layouts[3];
  gint64 offsets[3][IR_REF_CHUNK];
  const guint8 *chosen = ir_tensor_data (condition);
  for (guint slot = 0; slot < 3; slot++)
    ir_ref_layout_broadcast (&layouts[slot], ir_call_input (call, slot), (guint) type->rank,
                             type->dims);
  for (guint64 first = 0; first < out.n; first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (out.n - first, IR_REF_CHUNK);
      for (guint slot = 0; slot < 3; slot++)
        ir_ref_layout_offsets (&layouts[slot], first, n, 0, offsets[slot]);
      for (guint i = 0; i < n; i++)
        if (chosen[offsets[0][i]] != 0)
          ir_ref_copy_run (&out, first + i, &x, (guint64) offsets[1][i], 1);
        else
          ir_ref_copy_run (&out, first + i, &y, (guint64) offsets[2][i], 1);
    }
  return ir_ref_writer_finish (&out, error);
}
