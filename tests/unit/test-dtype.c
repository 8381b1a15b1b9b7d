/* Element types: the table, the formats' whole code ranges, rounding and packing. */
#include "config.h"

#include "core/ir/dtype.h"

#include <math.h>
#include <string.h>

static double
get (IrDtype dtype, guint code)
{
  guint16 bits = (guint16) code;
  double value;
  g_assert_true (ir_dtype_get_double (dtype, &bits, 0, &value));
  return value;
}

static guint
set (IrDtype dtype, double value)
{
  guint16 bits = 0;
  ir_dtype_set_double (dtype, &bits, 0, value);
  return bits;
}

static void
test_table (void)
{
  for (guint i = 1; i < IR_N_DTYPES; i++)
    {
      IrDtype dtype = (IrDtype) i;
      g_assert_true (ir_dtype_is_valid (i));
      g_assert_cmpint (ir_dtype_from_name (ir_dtype_name (dtype)), ==, dtype);
      g_assert_cmpint (ir_dtype_kind (dtype), !=, IR_DTYPE_KIND_NONE);
    }
  g_assert_cmpint (ir_dtype_from_name ("float17"), ==, IR_DTYPE_UNDEFINED);
  g_assert_cmpint (ir_dtype_from_name ("undefined"), ==, IR_DTYPE_UNDEFINED);
  g_assert_false (ir_dtype_is_valid (0));
  g_assert_false (ir_dtype_is_valid (-1));
  g_assert_false (ir_dtype_is_valid (29));
  g_assert_cmpstr (ir_dtype_name ((IrDtype) 99), ==, "undefined");
  g_assert_cmpint (IR_DTYPE_BFLOAT16, ==, 16);
  g_assert_cmpuint (ir_dtype_bits (IR_DTYPE_COMPLEX128), ==, 128);
}

static void
test_storage (void)
{
  gsize bytes;

  g_assert_true (ir_dtype_storage_bytes (IR_DTYPE_INT4, 3, &bytes));
  g_assert_cmpuint (bytes, ==, 2);
  g_assert_true (ir_dtype_storage_bytes (IR_DTYPE_UINT2, 5, &bytes));
  g_assert_cmpuint (bytes, ==, 2);
  for (guint64 n = 0; n < 10; n++) /* four elements in three bytes */
    {
      static const gsize sizes[] = { 0, 1, 2, 3, 3, 4, 5, 6, 6, 7 };
      g_assert_true (ir_dtype_storage_bytes (IR_DTYPE_FLOAT6E2M3, n, &bytes));
      g_assert_cmpuint (bytes, ==, sizes[n]);
    }
  g_assert_true (ir_dtype_storage_bytes (IR_DTYPE_DOUBLE, 0, &bytes));
  g_assert_cmpuint (bytes, ==, 0);
  g_assert_false (ir_dtype_storage_bytes (IR_DTYPE_DOUBLE, G_MAXUINT64 / 8 + 1, &bytes));
  g_assert_false (ir_dtype_storage_bytes (IR_DTYPE_INT8, G_MAXUINT64, &bytes));
  g_assert_false (ir_dtype_storage_bytes (IR_DTYPE_STRING, 1, &bytes));
}

/* Reads every code, writes the value back: the same code again, NaNs aside. */
static void
test_round_trip (gconstpointer data)
{
  IrDtype dtype = (IrDtype) GPOINTER_TO_INT (data);
  guint n = 1u << ir_dtype_bits (dtype);

  for (guint code = 0; code < n; code++)
    {
      double value = get (dtype, code);
      if (isnan (value))
        g_assert_true (isnan (get (dtype, set (dtype, value))));
      else if (!isinf (value) || ir_dtype_bits (dtype) == 16)
        g_assert_cmphex (set (dtype, value), ==, code);
    }
}

/* Halfway cases go to the even code, and just beyond them to the nearer one. */
static void
test_nearest_even (gconstpointer data)
{
  IrDtype dtype = (IrDtype) GPOINTER_TO_INT (data);
  guint n = 1u << (ir_dtype_bits (dtype) - 1);

  for (guint code = 0; code + 1 < n; code++)
    {
      double a = get (dtype, code), b = get (dtype, code + 1), middle = (a + b) / 2;
      if (isnan (a) || isnan (b) || isinf (b))
        break;
      g_assert_cmphex (set (dtype, middle), ==, code % 2 == 0 ? code : code + 1);
      g_assert_cmphex (set (dtype, nextafter (middle, a)), ==, code);
      g_assert_cmphex (set (dtype, nextafter (middle, b)), ==, code + 1);
      if (code > 0)
        g_assert_cmpfloat (get (dtype, set (dtype, -nextafter (middle, b))), ==, -b);
    }
}

static void
test_ranges (void)
{
  const double infinity = INFINITY;

  g_assert_cmpfloat (get (IR_DTYPE_FLOAT16, 0x7bff), ==, 65504);
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT16, 1), ==, 0x1p-24);
  g_assert_cmphex (set (IR_DTYPE_FLOAT16, 65519), ==, 0x7bff);
  g_assert_cmphex (set (IR_DTYPE_FLOAT16, 65520), ==, 0x7c00);
  g_assert_cmphex (set (IR_DTYPE_FLOAT16, -1e30), ==, 0xfc00);
  g_assert_cmphex (set (IR_DTYPE_BFLOAT16, 1e39), ==, 0x7f80);
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT8E4M3FN, 0x7e), ==, 448);
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT8E4M3FN, 1), ==, 0x1p-9);
  g_assert_true (isnan (get (IR_DTYPE_FLOAT8E4M3FN, 0x7f)));
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT8E4M3FNUZ, 0x7f), ==, 240);
  g_assert_true (isnan (get (IR_DTYPE_FLOAT8E4M3FNUZ, 0x80)));
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT8E5M2, 0x7b), ==, 57344);
  g_assert_true (isinf (get (IR_DTYPE_FLOAT8E5M2, 0x7c)));
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT8E5M2FNUZ, 0x7f), ==, 57344);
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT8E5M2FNUZ, 1), ==, 0x1p-17);
  /* Saturation, infinity and signed zero, as in the table of ONNX Cast. */
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E4M3FN, 1e9), ==, 0x7e);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E4M3FN, -infinity), ==, 0xfe);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E4M3FNUZ, infinity), ==, 0x7f);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E5M2, infinity), ==, 0x7b);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E5M2FNUZ, -1e9), ==, 0xff);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E4M3FN, -0.0), ==, 0x80);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E4M3FNUZ, -0.0), ==, 0);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E5M2FNUZ, -1e-9), ==, 0);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E5M2FNUZ, NAN), ==, 0x80);
}

static void
test_four_bits (void)
{
  static const double values[8] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };
  guint8 packed[2] = { 0, 0 };
  double value;

  for (guint code = 0; code < 8; code++)
    {
      g_assert_cmpfloat (get (IR_DTYPE_FLOAT4E2M1, code), ==, values[code]);
      g_assert_cmpfloat (get (IR_DTYPE_FLOAT4E2M1, code | 8), ==, -values[code]);
    }
  g_assert_cmphex (set (IR_DTYPE_FLOAT4E2M1, 100), ==, 7);
  g_assert_cmphex (set (IR_DTYPE_FLOAT4E2M1, -INFINITY), ==, 15);
  g_assert_cmphex (set (IR_DTYPE_FLOAT4E2M1, NAN), ==, 8);
  g_assert_cmphex (set (IR_DTYPE_FLOAT4E2M1, 0.25), ==, 0);
  g_assert_cmphex (set (IR_DTYPE_FLOAT4E2M1, 0.75), ==, 2);
  ir_dtype_set_double (IR_DTYPE_FLOAT4E2M1, packed, 2, -6);
  g_assert_cmphex (packed[1], ==, 0x0f);
  ir_dtype_get_double (IR_DTYPE_FLOAT4E2M1, packed, 2, &value);
  g_assert_cmpfloat (value, ==, -6);
}

static void
test_bare_exponents (void)
{
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT8E8M0, 0), ==, 0x1p-127);
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT8E8M0, 127), ==, 1);
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT8E8M0, 254), ==, 0x1p127);
  g_assert_true (isnan (get (IR_DTYPE_FLOAT8E8M0, 255)));
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E8M0, 1.4), ==, 127);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E8M0, 1.6), ==, 128);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E8M0, 0), ==, 0);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E8M0, 3e38), ==, 254);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E8M0, INFINITY), ==, 254);
  g_assert_cmphex (set (IR_DTYPE_FLOAT8E8M0, NAN), ==, 255);
}

static guint
cast (IrDtype dtype, double value, gboolean saturate, IrDtypeRounding rounding)
{
  guint8 code = 0;
  ir_dtype_cast_double (dtype, &code, 0, value, saturate, rounding);
  return code;
}

/* The second table of ONNX Cast. */
static void
test_no_saturation (void)
{
  static const struct
  {
    IrDtype dtype;
    guint infinity, minus_infinity, negative_zero;
  } rows[] = {
    { IR_DTYPE_FLOAT8E4M3FN, 0x7f, 0xff, 0x80 },
    { IR_DTYPE_FLOAT8E4M3FNUZ, 0x80, 0x80, 0 },
    { IR_DTYPE_FLOAT8E5M2, 0x7c, 0xfc, 0x80 },
    { IR_DTYPE_FLOAT8E5M2FNUZ, 0x80, 0x80, 0 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      IrDtype dtype = rows[i].dtype;
      g_assert_cmphex (cast (dtype, INFINITY, FALSE, IR_DTYPE_ROUND_UP), ==, rows[i].infinity);
      g_assert_cmphex (cast (dtype, 1e9, FALSE, IR_DTYPE_ROUND_UP), ==, rows[i].infinity);
      g_assert_cmphex (cast (dtype, -1e9, FALSE, IR_DTYPE_ROUND_UP), ==, rows[i].minus_infinity);
      g_assert_cmphex (cast (dtype, -0.0, FALSE, IR_DTYPE_ROUND_UP), ==, rows[i].negative_zero);
      g_assert_true (isnan (get (dtype, cast (dtype, NAN, FALSE, IR_DTYPE_ROUND_UP))));
      g_assert_cmphex (cast (dtype, 1, FALSE, IR_DTYPE_ROUND_UP), ==, set (dtype, 1));
    }
  /* 448 is the largest e4m3fn, the next would be 480: up to 464 rounds to it. */
  g_assert_cmphex (cast (IR_DTYPE_FLOAT8E4M3FN, 464, FALSE, IR_DTYPE_ROUND_UP), ==, 0x7e);
  g_assert_cmphex (cast (IR_DTYPE_FLOAT8E4M3FN, 465, FALSE, IR_DTYPE_ROUND_UP), ==, 0x7f);
}

static void
test_exponent_rounding (void)
{
  const IrDtype e8m0 = IR_DTYPE_FLOAT8E8M0;
  g_assert_cmphex (cast (e8m0, 1.001, TRUE, IR_DTYPE_ROUND_UP), ==, 128);
  g_assert_cmphex (cast (e8m0, 1.999, TRUE, IR_DTYPE_ROUND_DOWN), ==, 127);
  g_assert_cmphex (cast (e8m0, 1.499, TRUE, IR_DTYPE_ROUND_NEAREST), ==, 127);
  g_assert_cmphex (cast (e8m0, 1.5, TRUE, IR_DTYPE_ROUND_NEAREST), ==, 128);
  g_assert_cmphex (cast (e8m0, 0x1p-127, TRUE, IR_DTYPE_ROUND_UP), ==, 0);
  g_assert_cmphex (cast (e8m0, 0x1p127, TRUE, IR_DTYPE_ROUND_UP), ==, 254);
  g_assert_cmphex (cast (e8m0, 0, TRUE, IR_DTYPE_ROUND_UP), ==, 0);
  g_assert_cmphex (cast (e8m0, INFINITY, TRUE, IR_DTYPE_ROUND_UP), ==, 254);
  g_assert_cmphex (cast (e8m0, NAN, TRUE, IR_DTYPE_ROUND_UP), ==, 255);
  g_assert_cmphex (cast (e8m0, 0, FALSE, IR_DTYPE_ROUND_NEAREST), ==, 255);
  g_assert_cmphex (cast (e8m0, INFINITY, FALSE, IR_DTYPE_ROUND_NEAREST), ==, 255);
  g_assert_cmphex (cast (e8m0, 3e38, FALSE, IR_DTYPE_ROUND_NEAREST), ==, 255);
  g_assert_cmphex (cast (e8m0, 4, FALSE, IR_DTYPE_ROUND_NEAREST), ==, 129);
}

static void
test_six_bits (void)
{
  guint8 packed[3] = { 0 };
  double value;

  g_assert_cmpfloat (get (IR_DTYPE_FLOAT6E2M3, 0x1f), ==, 7.5);
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT6E2M3, 1), ==, 0.125);
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT6E3M2, 0x1f), ==, 28);
  g_assert_cmpfloat (get (IR_DTYPE_FLOAT6E3M2, 0x21), ==, -0.0625);
  g_assert_cmphex (set (IR_DTYPE_FLOAT6E2M3, INFINITY), ==, 0x1f);
  g_assert_cmphex (set (IR_DTYPE_FLOAT6E3M2, -1e9), ==, 0x3f);
  g_assert_cmphex (set (IR_DTYPE_FLOAT6E3M2, NAN), ==, 0x20);
  /* 1, -1, 7.5, -7.5 are the codes 08, 28, 1f, 3f: x0 | x1 << 6 | x2 << 12 | x3 << 18. */
  for (gsize i = 0; i < 4; i++)
    ir_dtype_set_double (IR_DTYPE_FLOAT6E2M3, packed, i, (double[]){ 1, -1, 7.5, -7.5 }[i]);
  g_assert_cmphex (packed[0] | packed[1] << 8 | packed[2] << 16, ==,
                   0x08 | 0x28 << 6 | 0x1f << 12 | 0x3f << 18);
  ir_dtype_set_double (IR_DTYPE_FLOAT6E2M3, packed, 1, 2);
  for (gsize i = 0; i < 4; i++)
    {
      ir_dtype_get_double (IR_DTYPE_FLOAT6E2M3, packed, i, &value);
      g_assert_cmpfloat (value, ==, ((double[]){ 1, 2, 7.5, -7.5 })[i]);
    }
  g_assert_cmphex (ir_dtype_get_code (IR_DTYPE_FLOAT6E2M3, packed, 3), ==, 0x3f);
}

static void
test_packing (void)
{
  guint8 bytes[2] = { 0, 0 };
  gint64 value;

  ir_dtype_set_int64 (IR_DTYPE_INT4, bytes, 0, -8);
  ir_dtype_set_int64 (IR_DTYPE_INT4, bytes, 1, 7);
  ir_dtype_set_int64 (IR_DTYPE_INT4, bytes, 2, -1);
  g_assert_cmphex (bytes[0], ==, 0x78);
  g_assert_cmphex (bytes[1], ==, 0x0f);
  g_assert_true (ir_dtype_get_int64 (IR_DTYPE_INT4, bytes, 0, &value));
  g_assert_cmpint (value, ==, -8);
  ir_dtype_get_int64 (IR_DTYPE_UINT4, bytes, 0, &value);
  g_assert_cmpint (value, ==, 8);
  memset (bytes, 0, sizeof bytes);
  for (guint i = 0; i < 8; i++)
    ir_dtype_set_int64 (IR_DTYPE_INT2, bytes, i, (gint64) i - 2);
  ir_dtype_get_int64 (IR_DTYPE_INT2, bytes, 3, &value);
  g_assert_cmpint (value, ==, 1);
  ir_dtype_get_int64 (IR_DTYPE_INT2, bytes, 0, &value);
  g_assert_cmpint (value, ==, -2);
  ir_dtype_get_int64 (IR_DTYPE_UINT2, bytes, 0, &value);
  g_assert_cmpint (value, ==, 2);
}

static void
test_integers (void)
{
  guint64 wide = G_MAXUINT64;
  gint64 value;
  gint32 narrow;
  float real = 3.99f;
  guint8 flag = 0;

  g_assert_false (ir_dtype_get_int64 (IR_DTYPE_UINT64, &wide, 0, &value));
  g_assert_cmpint (value, ==, G_MAXINT64);
  g_assert_true (ir_dtype_get_int64 (IR_DTYPE_FLOAT, &real, 0, &value));
  g_assert_cmpint (value, ==, 3);
  real = -1e30f;
  g_assert_false (ir_dtype_get_int64 (IR_DTYPE_FLOAT, &real, 0, &value));
  g_assert_cmpint (value, ==, G_MININT64);
  real = NAN;
  g_assert_false (ir_dtype_get_int64 (IR_DTYPE_FLOAT, &real, 0, &value));
  ir_dtype_set_double (IR_DTYPE_INT32, &narrow, 0, 1e12);
  g_assert_cmpint (narrow, ==, G_MAXINT32);
  ir_dtype_set_double (IR_DTYPE_INT32, &narrow, 0, -1e12);
  g_assert_cmpint (narrow, ==, G_MININT32);
  ir_dtype_set_double (IR_DTYPE_INT32, &narrow, 0, NAN);
  g_assert_cmpint (narrow, ==, 0);
  ir_dtype_set_int64 (IR_DTYPE_INT32, &narrow, 0, G_GINT64_CONSTANT (0x100000005));
  g_assert_cmpint (narrow, ==, 5);
  ir_dtype_set_double (IR_DTYPE_UINT64, &wide, 0, 1e30);
  g_assert_cmpuint (wide, ==, G_MAXUINT64);
  ir_dtype_set_double (IR_DTYPE_BOOL, &flag, 0, 0.25);
  g_assert_cmpuint (flag, ==, 1);
  g_assert_false (ir_dtype_get_int64 (IR_DTYPE_STRING, &flag, 0, &value));
}

static void
test_bfloat16 (void)
{
  g_assert_cmphex (ir_bfloat16_from_float (1.0f), ==, 0x3f80);
  g_assert_cmphex (ir_bfloat16_from_float (0x1.01p0f), ==, 0x3f80);
  g_assert_cmphex (ir_bfloat16_from_float (0x1.03p0f), ==, 0x3f82);
  g_assert_cmphex (ir_bfloat16_from_float (-NAN) & 0x7fc0, ==, 0x7fc0);
  g_assert_cmpfloat (ir_bfloat16_to_float (0xc000), ==, -2);
  for (guint code = 0; code < 0x10000; code++)
    {
      double value = get (IR_DTYPE_BFLOAT16, code);
      if (!isnan (value))
        g_assert_cmphex (ir_bfloat16_from_float ((float) value), ==, code);
    }
}

int
main (int argc, char **argv)
{
  static const IrDtype small[] = { IR_DTYPE_FLOAT16,      IR_DTYPE_BFLOAT16,
                                   IR_DTYPE_FLOAT8E4M3FN, IR_DTYPE_FLOAT8E4M3FNUZ,
                                   IR_DTYPE_FLOAT8E5M2,   IR_DTYPE_FLOAT8E5M2FNUZ,
                                   IR_DTYPE_FLOAT4E2M1,   IR_DTYPE_FLOAT6E2M3,
                                   IR_DTYPE_FLOAT6E3M2,   IR_DTYPE_FLOAT8E8M0 };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dtype/names and codes lead back to the row", test_table);
  g_test_add_func ("/dtype/storage is packed and overflow is found", test_storage);
  for (guint i = 0; i < G_N_ELEMENTS (small); i++)
    {
      g_autofree char *trip = g_strdup_printf ("/dtype/%s keeps every code in a round trip",
                                               ir_dtype_name (small[i]));
      g_autofree char *even = g_strdup_printf ("/dtype/%s rounds to nearest even",
                                               ir_dtype_name (small[i]));
      g_test_add_data_func (trip, GINT_TO_POINTER (small[i]), test_round_trip);
      if (small[i] != IR_DTYPE_FLOAT8E8M0)
        g_test_add_data_func (even, GINT_TO_POINTER (small[i]), test_nearest_even);
    }
  g_test_add_func ("/dtype/small floats have their ranges and saturate", test_ranges);
  g_test_add_func ("/dtype/four bit floats have eight magnitudes", test_four_bits);
  g_test_add_func ("/dtype/float8e8m0 is a bare exponent", test_bare_exponents);
  g_test_add_func ("/dtype/float8e8m0 rounds as it is told", test_exponent_rounding);
  g_test_add_func ("/dtype/eight bit floats do not saturate where told not to", test_no_saturation);
  g_test_add_func ("/dtype/six bit floats lie four to three bytes", test_six_bits);
  g_test_add_func ("/dtype/four and two bit integers are packed low bits first", test_packing);
  g_test_add_func ("/dtype/integers clamp reals and wrap integers", test_integers);
  g_test_add_func ("/dtype/bfloat16 agrees with the bits of float", test_bfloat16);
  return g_test_run ();
}
