/* Element types: the table's accessors, and the conversions between an element and double or
 * int64. All small floating-point formats go through one decoder and one encoder, driven by a row
 * of parameters; a value is rounded once, from double, to nearest even. Out-of-range values
 * become infinity in IEEE formats and saturate in those of 8 bits and less, unless
 * ir_dtype_cast_double() is told not to.
 *
 * Source: ONNX Cast 28, onnx.ai/onnx/technical/float8 and float4; OCP MX 1.0. */
#include "config.h"

#include "core/ir/dtype.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const char *name;
  guint bits;
  IrDtypeKind kind;
  const char *numpy;
} DtypeRow;

static const DtypeRow rows[IR_N_DTYPES] = {
  [IR_DTYPE_UNDEFINED] = { "undefined", 0, IR_DTYPE_KIND_NONE, NULL },
#define IR_DTYPE(ID, CODE, NAME, BITS, KIND, NUMPY)                                                \
  [IR_DTYPE_##ID] = { NAME, BITS, IR_DTYPE_KIND_##KIND, NUMPY },
#include "core/ir/dtype.def"
};

static const DtypeRow *
row_of (IrDtype dtype)
{
  return (guint) dtype < IR_N_DTYPES ? &rows[dtype] : &rows[IR_DTYPE_UNDEFINED];
}

/* Its name as in the text formats, "undefined" if it is none */
const char *
ir_dtype_name (IrDtype dtype)
{
  return row_of (dtype)->name;
}

/* The element type, %IR_DTYPE_UNDEFINED if there is none of that name */
IrDtype
ir_dtype_from_name (const char *name)
{
  for (guint i = 1; name != NULL && i < IR_N_DTYPES; i++)
    if (strcmp (rows[i].name, name) == 0)
      return (IrDtype) i;
  return IR_DTYPE_UNDEFINED;
}

/* Its family; %IR_DTYPE_KIND_NONE if @dtype is not valid */
IrDtypeKind
ir_dtype_kind (IrDtype dtype)
{
  return row_of (dtype)->kind;
}

/* Bits of one stored element; 0 for strings */
guint
ir_dtype_bits (IrDtype dtype)
{
  return row_of (dtype)->bits;
}

/* Numpy's array-protocol descriptor, NULL if numpy has no such type */
const char *
ir_dtype_numpy (IrDtype dtype)
{
  return row_of (dtype)->numpy;
}

/* Returns TRUE if @code is an element type other than %IR_DTYPE_UNDEFINED. */
gboolean
ir_dtype_is_valid (gint64 code)
{
  return code > 0 && code < IR_N_DTYPES;
}

/* Returns TRUE for the real floating-point types, of any width */
gboolean
ir_dtype_is_float (IrDtype dtype)
{
  return row_of (dtype)->kind == IR_DTYPE_KIND_FLOAT;
}

/* Returns TRUE for signed and unsigned integers; bool is none */
gboolean
ir_dtype_is_integer (IrDtype dtype)
{
  IrDtypeKind kind = row_of (dtype)->kind;
  return kind == IR_DTYPE_KIND_SINT || kind == IR_DTYPE_KIND_UINT;
}

/* Returns FALSE if the size does not fit, or if @dtype has no fixed size. @bytes: bytes that
 * they take; types below 8 bits are packed, the last byte is padded. */
gboolean
ir_dtype_storage_bytes (IrDtype dtype, guint64 n_elements, gsize *bytes)
{
  guint bits = ir_dtype_bits (dtype);
  guint64 total;

  *bytes = 0;
  if (bits == 0)
    return FALSE;
  if (bits < 8)
    total = n_elements / 8 * bits + (n_elements % 8 * bits + 7) / 8;
  else if (!g_uint64_checked_mul (&total, n_elements, bits / 8))
    return FALSE;
  if (total > G_MAXSSIZE)
    return FALSE;
  *bytes = (gsize) total;
  return TRUE;
}

/* -- small floating-point formats -- */

/* Codes are without the sign bit, which stands above exponent and mantissa. */
typedef struct
{
  guint man_bits, sign_bit; /* width of the mantissa; position of the sign */
  int bias;
  guint max;       /* code of the largest finite value */
  guint overflow;  /* code of what is larger, and of infinity, where the format saturates */
  guint lost;      /* the same where it does not: infinity, NaN, or again @max */
  guint nan;       /* code of a quiet NaN; with @fnuz it has the sign set */
  guint first_nan; /* codes from here on are NaN, between @max and it infinity */
  gboolean fnuz;   /* no negative zero: that code is the only NaN */
  gboolean finite; /* neither infinity nor NaN: a NaN becomes the zero of the other sign */
} SmallFloat;

static const SmallFloat float16 = {
  10, 15, 15, 0x7bff, 0x7c00, 0x7c00, 0x7e00, 0x7c01, FALSE, FALSE
};
static const SmallFloat bfloat16 = { 7,      15,     127,    0x7f7f, 0x7f80,
                                     0x7f80, 0x7fc0, 0x7f81, FALSE,  FALSE };
static const SmallFloat e4m3fn = { 3, 7, 7, 0x7e, 0x7e, 0x7f, 0x7f, 0x7f, FALSE, FALSE };
static const SmallFloat e4m3fnuz = { 3, 7, 8, 0x7f, 0x7f, 0x80, 0x00, 0x80, TRUE, FALSE };
static const SmallFloat e5m2 = { 2, 7, 15, 0x7b, 0x7b, 0x7c, 0x7f, 0x7d, FALSE, FALSE };
static const SmallFloat e5m2fnuz = { 2, 7, 16, 0x7f, 0x7f, 0x80, 0x00, 0x80, TRUE, FALSE };
static const SmallFloat e2m1 = { 1, 3, 1, 0x7, 0x7, 0x7, 0x0, 0x8, FALSE, TRUE };
static const SmallFloat e2m3 = { 3, 5, 1, 0x1f, 0x1f, 0x1f, 0x0, 0x20, FALSE, TRUE };
static const SmallFloat e3m2 = { 2, 5, 3, 0x1f, 0x1f, 0x1f, 0x0, 0x20, FALSE, TRUE };

static double
double_from_bits (guint64 bits)
{
  double value;
  memcpy (&value, &bits, sizeof value);
  return value;
}

static double
decode_small (const SmallFloat *format, guint bits)
{
  guint sign_mask = 1u << format->sign_bit;
  guint code = bits & (sign_mask - 1);
  gboolean negative = (bits & sign_mask) != 0;
  guint exponent = code >> format->man_bits;
  guint mantissa = code & ((1u << format->man_bits) - 1);
  double value;

  if (code >= format->first_nan || (format->fnuz && negative && code == 0))
    return negative && !format->fnuz ? -NAN : NAN;
  if (code > format->max)
    return negative ? -INFINITY : INFINITY;
  if (exponent == 0)
    value = mantissa *
            double_from_bits ((guint64) (1023 + 1 - format->bias - (int) format->man_bits) << 52);
  else
    value = double_from_bits (((guint64) ((int) exponent - format->bias + 1023) << 52) |
                              ((guint64) mantissa << (52 - format->man_bits)));
  return negative ? -value : value;
}

/* The code of |value|, rounded to nearest even; may exceed the largest finite code. */
static guint
round_magnitude (const SmallFloat *format, guint64 bits)
{
  int exponent = (int) ((bits >> 52) & 0x7ff) - 1023;
  guint64 mantissa = (bits & ((G_GUINT64_CONSTANT (1) << 52) - 1)) | G_GUINT64_CONSTANT (1) << 52;
  int lowest = 1 - format->bias;
  int shift = 52 - (int) format->man_bits + MAX (lowest - exponent, 0);
  guint64 code, rest, half;

  /* Doubles below their own normal range are far below half of the smallest code. */
  if (shift >= 54)
    return 0;
  code = mantissa >> shift;
  rest = mantissa & ((G_GUINT64_CONSTANT (1) << shift) - 1);
  half = G_GUINT64_CONSTANT (1) << (shift - 1);
  if (rest > half || (rest == half && (code & 1) != 0))
    code++;
  /* A carry out of the mantissa moves into the exponent by itself. */
  if (exponent >= lowest)
    code += (guint64) (exponent - lowest) << format->man_bits;
  return (guint) MIN (code, G_MAXUINT32);
}

static guint
encode_small (const SmallFloat *format, double value, gboolean saturate)
{
  guint sign_mask = 1u << format->sign_bit, sign = signbit (value) ? sign_mask : 0;
  guint64 bits;
  guint code;

  if (isnan (value))
    return format->fnuz ? sign_mask : format->finite ? sign ^ sign_mask : sign | format->nan;
  memcpy (&bits, &value, sizeof bits);
  code = isinf (value) ? G_MAXUINT : round_magnitude (format, bits);
  if (code > format->max)
    code = saturate ? format->overflow : format->lost;
  return code == 0 && format->fnuz ? 0 : sign | code;
}

/* E8M0 is a bare exponent: 2^(code - 127), 255 is NaN. It has no sign: that is dropped. Without
 * saturation zero and what lies outside of the range become NaN.
 *
 * Source: the table of FLOAT8E8M0 in ONNX Cast. */
#define E8M0_NAN 0xffu
static guint
encode_e8m0 (double value, gboolean saturate, IrDtypeRounding rounding)
{
  double magnitude = fabs (value), mantissa;
  int exponent;

  if (isnan (value))
    return E8M0_NAN;
  if (magnitude > 0x1p127)
    return saturate ? 254 : E8M0_NAN;
  if (magnitude < 0x1p-127)
    return saturate ? 0 : E8M0_NAN;
  mantissa = 2 * frexp (magnitude, &exponent); /* [1, 2) times 2^(exponent - 1) */
  if (rounding == IR_DTYPE_ROUND_UP ? mantissa > 1
                                    : rounding == IR_DTYPE_ROUND_NEAREST && mantissa >= 1.5)
    exponent++;
  return (guint) (exponent - 1 + 127);
}

static double
decode_e8m0 (guint code)
{
  return code == E8M0_NAN ? NAN : double_from_bits ((guint64) (code + 1023 - 127) << 52);
}

float
ir_float16_to_float (guint16 bits)
{
  return (float) decode_small (&float16, bits);
}

/* @value rounded to nearest even; overflow gives infinity */
guint16
ir_float16_from_float (float value)
{
  return (guint16) encode_small (&float16, (double) value, TRUE);
}

/* The same value, NaN payloads kept */
float
ir_bfloat16_to_float (guint16 bits)
{
  guint32 wide = (guint32) bits << 16;
  float value;
  memcpy (&value, &wide, sizeof value);
  return value;
}

/* @value rounded to nearest even; overflow gives infinity */
guint16
ir_bfloat16_from_float (float value)
{
  guint32 bits;

  if (isnan (value))
    return signbit (value) ? 0xffc0 : 0x7fc0;
  memcpy (&bits, &value, sizeof bits);
  return (guint16) ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* -- elements -- */

/* The bits of an element of a type of at most 8 bits: a stream of them, low bits first, where an
 * element of 6 bits may lie in two bytes. */
static guint
get_packed (const guint8 *bytes, gsize index, guint bits)
{
  gsize byte = index / 8 * bits + index % 8 * bits / 8;
  guint shift = (guint) (index % 8 * bits % 8), value = bytes[byte] >> shift;

  if (shift + bits > 8)
    value |= (guint) bytes[byte + 1] << (8 - shift);
  return value & ((1u << bits) - 1);
}

static void
set_packed (guint8 *bytes, gsize index, guint bits, guint value)
{
  gsize byte = index / 8 * bits + index % 8 * bits / 8;
  guint shift = (guint) (index % 8 * bits % 8), mask = ((1u << bits) - 1) << shift;

  value = (value << shift) & mask;
  bytes[byte] = (guint8) ((bytes[byte] & ~mask) | value);
  if (shift + bits > 8)
    bytes[byte + 1] = (guint8) ((bytes[byte + 1] & ~(mask >> 8)) | (value >> 8));
}

static int
sign_extend (guint value, guint bits)
{
  guint sign = 1u << (bits - 1);
  return (int) (value ^ sign) - (int) sign;
}

static const SmallFloat *
small_float (IrDtype dtype)
{
  static const SmallFloat *const formats[IR_N_DTYPES] = {
    [IR_DTYPE_FLOAT16] = &float16,     [IR_DTYPE_BFLOAT16] = &bfloat16,
    [IR_DTYPE_FLOAT8E4M3FN] = &e4m3fn, [IR_DTYPE_FLOAT8E4M3FNUZ] = &e4m3fnuz,
    [IR_DTYPE_FLOAT8E5M2] = &e5m2,     [IR_DTYPE_FLOAT8E5M2FNUZ] = &e5m2fnuz,
    [IR_DTYPE_FLOAT4E2M1] = &e2m1,     [IR_DTYPE_FLOAT6E2M3] = &e2m3,
    [IR_DTYPE_FLOAT6E3M2] = &e3m2,
  };
  return (guint) dtype < IR_N_DTYPES ? formats[dtype] : NULL;
}

/* memcpy keeps strict aliasing and lets @data lie anywhere. */
#define DEFINE_LOAD(Type)                                                                          \
  static inline Type load_##Type (const void *data, gsize index)                                   \
  {                                                                                                \
    Type loaded;                                                                                   \
    memcpy (&loaded, (const char *) data + index * sizeof (Type), sizeof (Type));                  \
    return loaded;                                                                                 \
  }
DEFINE_LOAD (float)
DEFINE_LOAD (double)
DEFINE_LOAD (gint64)
DEFINE_LOAD (gint32)
DEFINE_LOAD (gint16)
DEFINE_LOAD (guint64)
DEFINE_LOAD (guint32)
DEFINE_LOAD (guint16)

#define STORE(Type, v)                                                                             \
  do                                                                                               \
    {                                                                                              \
      Type stored = (Type) (v);                                                                    \
      memcpy ((char *) data + index * sizeof (Type), &stored, sizeof (Type));                      \
    }                                                                                              \
  while (0)

static double
get_float (IrDtype dtype, const void *data, gsize index)
{
  const SmallFloat *format = small_float (dtype);

  if (dtype == IR_DTYPE_FLOAT)
    return (double) load_float (data, index);
  if (dtype == IR_DTYPE_DOUBLE)
    return load_double (data, index);
  if (dtype == IR_DTYPE_FLOAT8E8M0)
    return decode_e8m0 (((const guint8 *) data)[index]);
  if (ir_dtype_bits (dtype) == 16)
    return decode_small (format, load_guint16 (data, index));
  return decode_small (format, get_packed (data, index, ir_dtype_bits (dtype)));
}

static void
set_float (IrDtype dtype,
           void *data,
           gsize index,
           double value,
           gboolean saturate,
           IrDtypeRounding rounding)
{
  const SmallFloat *format = small_float (dtype);

  if (dtype == IR_DTYPE_FLOAT)
    STORE (float, value);
  else if (dtype == IR_DTYPE_DOUBLE)
    STORE (double, value);
  else if (dtype == IR_DTYPE_FLOAT8E8M0)
    ((guint8 *) data)[index] = (guint8) encode_e8m0 (value, saturate, rounding);
  else if (ir_dtype_bits (dtype) == 16)
    STORE (guint16, encode_small (format, value, saturate));
  else
    set_packed (data, index, ir_dtype_bits (dtype), encode_small (format, value, saturate));
}

static gint64
get_signed (guint bits, const void *data, gsize index)
{
  if (bits == 64)
    return load_gint64 (data, index);
  if (bits == 32)
    return load_gint32 (data, index);
  if (bits == 16)
    return load_gint16 (data, index);
  return sign_extend (get_packed (data, index, bits), bits);
}

static guint64
get_unsigned (guint bits, const void *data, gsize index)
{
  if (bits == 64)
    return load_guint64 (data, index);
  if (bits == 32)
    return load_guint32 (data, index);
  if (bits == 16)
    return load_guint16 (data, index);
  return get_packed (data, index, bits);
}

static void
set_integer (guint bits, void *data, gsize index, guint64 value)
{
  if (bits == 64)
    STORE (guint64, value);
  else if (bits == 32)
    STORE (guint32, value);
  else if (bits == 16)
    STORE (guint16, value);
  else
    set_packed (data, index, bits, (guint) value & 0xff);
}

/* Returns FALSE if @dtype is not numeric. @value: the element; 64-bit integers are rounded, of
 * complex numbers the real part. */
gboolean
ir_dtype_get_double (IrDtype dtype, const void *data, gsize index, double *value)
{
  *value = 0;
  switch (ir_dtype_kind (dtype))
    {
    case IR_DTYPE_KIND_FLOAT:
      *value = get_float (dtype, data, index);
      return TRUE;
    case IR_DTYPE_KIND_SINT:
      *value = (double) get_signed (ir_dtype_bits (dtype), data, index);
      return TRUE;
    case IR_DTYPE_KIND_UINT:
      *value = (double) get_unsigned (ir_dtype_bits (dtype), data, index);
      return TRUE;
    case IR_DTYPE_KIND_BOOL:
      *value = ((const guint8 *) data)[index] != 0;
      return TRUE;
    case IR_DTYPE_KIND_COMPLEX:
      *value = get_float (dtype == IR_DTYPE_COMPLEX64 ? IR_DTYPE_FLOAT : IR_DTYPE_DOUBLE, data,
                          index * 2);
      return TRUE;
    case IR_DTYPE_KIND_NONE:
    case IR_DTYPE_KIND_STRING:
    case IR_N_DTYPE_KINDS:
    default:
      return FALSE;
    }
}

/* Truncates; what does not fit becomes the nearest end of the range, NaN becomes 0. */
static gint64
clamp_to_signed (double value, guint bits)
{
  double limit = ldexp (1, (int) bits - 1);
  if (isnan (value))
    return 0;
  if (value >= limit)
    return (gint64) ((G_GUINT64_CONSTANT (1) << (bits - 1)) - 1);
  if (value <= -limit)
    return bits == 64 ? G_MININT64 : -(G_GINT64_CONSTANT (1) << (bits - 1));
  return (gint64) value;
}

static guint64
clamp_to_unsigned (double value, guint bits)
{
  if (!(value > 0))
    return 0;
  if (value >= ldexp (1, (int) bits))
    return bits == 64 ? G_MAXUINT64 : (G_GUINT64_CONSTANT (1) << bits) - 1;
  return (guint64) value;
}

/* @dtype: a numeric element type; others are left alone. @value: rounded to nearest even for
 * floating-point types; truncated and clamped to the range of integer types (NaN gives 0); bool
 * is "not zero"; complex numbers get imaginary part 0. */
void
ir_dtype_set_double (IrDtype dtype, void *data, gsize index, double value)
{
  IrDtype part = dtype == IR_DTYPE_COMPLEX64 ? IR_DTYPE_FLOAT : IR_DTYPE_DOUBLE;
  guint bits = ir_dtype_bits (dtype);

  switch (ir_dtype_kind (dtype))
    {
    case IR_DTYPE_KIND_FLOAT:
      set_float (dtype, data, index, value, TRUE, IR_DTYPE_ROUND_NEAREST);
      break;
    case IR_DTYPE_KIND_SINT:
      set_integer (bits, data, index, (guint64) clamp_to_signed (value, bits));
      break;
    case IR_DTYPE_KIND_UINT:
      set_integer (bits, data, index, clamp_to_unsigned (value, bits));
      break;
    case IR_DTYPE_KIND_BOOL:
      ((guint8 *) data)[index] = value != 0;
      break;
    case IR_DTYPE_KIND_COMPLEX:
      set_float (part, data, index * 2, value, TRUE, IR_DTYPE_ROUND_NEAREST);
      set_float (part, data, index * 2 + 1, 0, TRUE, IR_DTYPE_ROUND_NEAREST);
      break;
    case IR_DTYPE_KIND_NONE:
    case IR_DTYPE_KIND_STRING:
    case IR_N_DTYPE_KINDS:
    default:
      break;
    }
}

/* Source: ONNX Cast 28, attributes saturate and round_mode. @dtype: a floating-point element
 * type; for others this is ir_dtype_set_double(). @saturate: whether the 8-bit types take their
 * largest value for what is beyond it, infinity included; if not, infinity or, where the type
 * has none, NaN. @rounding: of float8e8m0; the others round to nearest even. */
void
ir_dtype_cast_double (IrDtype dtype,
                      void *data,
                      gsize index,
                      double value,
                      gboolean saturate,
                      IrDtypeRounding rounding)
{
  if (ir_dtype_is_float (dtype))
    set_float (dtype, data, index, value, saturate, rounding);
  else
    ir_dtype_set_double (dtype, data, index, value);
}

/* The bits of the element, in the low bits */
guint
ir_dtype_get_code (IrDtype dtype, const void *data, gsize index)
{
  return get_packed (data, index, ir_dtype_bits (dtype));
}

/* @code: the bits of the element; higher ones are dropped */
void
ir_dtype_set_code (IrDtype dtype, void *data, gsize index, guint code)
{
  set_packed (data, index, ir_dtype_bits (dtype), code & 0xff);
}

/* Returns FALSE if @dtype is not numeric, or if the value does not fit (NaN never does). @value:
 * the element; floating-point numbers are truncated, what does not fit is clamped. */
gboolean
ir_dtype_get_int64 (IrDtype dtype, const void *data, gsize index, gint64 *value)
{
  IrDtypeKind kind = ir_dtype_kind (dtype);
  guint64 number;
  double real;

  *value = 0;
  if (kind == IR_DTYPE_KIND_SINT)
    {
      *value = get_signed (ir_dtype_bits (dtype), data, index);
      return TRUE;
    }
  if (kind == IR_DTYPE_KIND_UINT)
    {
      number = get_unsigned (ir_dtype_bits (dtype), data, index);
      *value = (gint64) MIN (number, (guint64) G_MAXINT64);
      return number <= (guint64) G_MAXINT64;
    }
  if (!ir_dtype_get_double (dtype, data, index, &real))
    return FALSE;
  *value = clamp_to_signed (real, 64);
  return real >= -0x1p63 && real < 0x1p63;
}

/* @dtype: a numeric element type; others are left alone. @value: integer types keep the low
 * bits, as casts between integers do; others round. */
void
ir_dtype_set_int64 (IrDtype dtype, void *data, gsize index, gint64 value)
{
  if (ir_dtype_is_integer (dtype))
    set_integer (ir_dtype_bits (dtype), data, index, (guint64) value);
  else if (ir_dtype_kind (dtype) == IR_DTYPE_KIND_BOOL)
    ((guint8 *) data)[index] = value != 0;
  else if (dtype == IR_DTYPE_FLOAT)
    STORE (float, value); /* one rounding, not two by way of double */
  else
    ir_dtype_set_double (dtype, data, index, (double) value);
}
