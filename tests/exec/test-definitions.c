/* Operators against their definitions: values worked out by hand, or the same computed another way.
 */
#include "config.h"

#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

/* -- bits -- */

static void
test_bit_shift (void)
{
#define SHIFT(TYPE, X, Y, DIRECTION)                                                               \
  "a = Constant <value = " TYPE "[5] {" X "}> ()\nb = Constant <value = " TYPE "[5] {" Y "}> ()\n" \
  "y = BitShift <direction = \"" DIRECTION "\"> (a, b)"
  assert_body (28, "int8[5]", "-2 -1 -1 0 31", 0,
               SHIFT ("int8", "-8, -8, -1, 127, 127", "2, 100, -3, -1, 2", "RIGHT"));
  assert_body (28, "int8[5]", "-128 0 -2 0 0", 0,
               SHIFT ("int8", "64, 1, 127, 127, 3", "1, 8, 1, -1, 100", "LEFT"));
  assert_body (28, "int64[5]", "-1 0 -1 0 1", 0,
               SHIFT ("int64", "-5, 5, -9223372036854775807, 1, 2", "64, 64, 63, -64, 1", "RIGHT"));
  assert_body (28, "uint16[5]", "0 32768 254 1 0", 0,
               SHIFT ("uint16", "1, 1, 127, 1, 65535", "16, 15, 1, 0, 20", "LEFT"));
}

static void
test_bit_cast (void)
{
  assert_body (28, "int32[3]", "1065353216 -2147483648 0", 0,
               "x = Constant <value = float[3] {1, -0.0, 0}> ()\n y = BitCast <to = 6> (x)");
  assert_body (
      28, "double[1]", "2", 0,
      "x = Constant <value = int64[1] {4611686018427387904}> ()\n y = BitCast <to = 11> (x)");
  assert_body (28, "int8[2]", "-1 127", 0,
               "x = Constant <value = uint8[2] {255, 127}> ()\n y = BitCast <to = 3> (x)");
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (
      28, "int64[]", "x = Constant <value = float[1] {1}> ()\n y = BitCast <to = 7> (x)", &error);
  g_assert_null (y);
  g_assert_nonnull (error);
}

static void
test_mod_zero (void)
{
  assert_body (28, "float[4]", "-inf inf inf -inf", 0,
               "a = Constant <value = float[4] {0, -0.0, 6, -6}> ()\n"
               "b = Constant <value = float[4] {-2, 2, 3, -3}> ()\n"
               "m = Mod (a, b)\n y = Reciprocal (m)");
}

static void
test_reduce_nothing (void)
{
#define REDUCE(OP, TYPE)                                                                           \
  "s = Constant <value = int64[2] {0, 1}> ()\n"                                                    \
  "x = ConstantOfShape <value = " TYPE "[1] {0}> (s)\n"                                            \
  "a = Constant <value = int64[1] {0}> ()\n y = " OP " <keepdims = 0> (x, a)"
  assert_body (20, "int8[1]", "-128", 0, REDUCE ("ReduceMax", "int8"));
  assert_body (20, "int8[1]", "127", 0, REDUCE ("ReduceMin", "int8"));
  assert_body (20, "uint8[1]", "255", 0, REDUCE ("ReduceMin", "uint8"));
  assert_body (20, "bool[1]", "0", 0, REDUCE ("ReduceMax", "bool"));
  assert_body (20, "bool[1]", "1", 0, REDUCE ("ReduceMin", "bool"));
  assert_body (20, "float[1]", "-inf", 0, REDUCE ("ReduceMax", "float"));
}

static void
test_space_to_depth_modes (void)
{
#define BLOCKS(MODE)                                                                               \
  "x = Constant <value = float[1,2,2,2] {0, 1, 2, 3, 4, 5, 6, 7}> ()\n"                            \
  "y = SpaceToDepth <blocksize = 2" MODE "> (x)"
  assert_body (28, "float[1,8,1,1]", "0 4 1 5 2 6 3 7", 0, BLOCKS (""));
  assert_body (28, "float[1,8,1,1]", "0 4 1 5 2 6 3 7", 0, BLOCKS (", mode = \"DCR\""));
  assert_body (28, "float[1,8,1,1]", "0 1 2 3 4 5 6 7", 0, BLOCKS (", mode = \"CRD\""));
}

/* -- whole numbers -- */

/* Some numbers of a type: (37 i) mod 251 - @OFFSET, in @SHAPE of @N elements. */
#define NUMBERS(NAME, TO, OFFSET, N, SHAPE)                                                        \
  NAME "_n = Constant <value = int64 {" N "}> ()\n" NAME "_i = Range (zero, " NAME                 \
       "_n, one)\n" NAME "_p = Mul (" NAME "_i, step)\n" NAME "_m = Mod (" NAME                    \
       "_p, prime)\n" NAME "_o = Constant <value = int64 {" OFFSET "}> ()\n" NAME                  \
       "_d = Sub (" NAME "_m, " NAME "_o)\n" NAME "_c = Cast <to = " TO "> (" NAME "_d)\n" NAME    \
       "_s = Constant <value_ints = [" SHAPE "]> ()\n" NAME " = Reshape (" NAME "_c, " NAME        \
       "_s)\n"
#define BASICS                                                                                     \
  "zero = Constant <value = int64 {0}> ()\n one = Constant <value = int64 {1}> ()\n"               \
  "step = Constant <value = int64 {37}> ()\n prime = Constant <value = int64 {251}> ()\n"
#define WINDOW "group = 2, dilations = [2, 1], pads = [1, 0, 1, 2], strides = [1, 2]"

/* x: uint8 (2) or int8 (3) of 2 images with 4 channels of 5 by 6; w: 6 channels, a zero point each.
 */
#define CONVOLVED(X_TYPE, X_OFFSET, W_TYPE, W_OFFSET)                                              \
  BASICS NUMBERS ("x", X_TYPE, X_OFFSET, "240", "2, 4, 5, 6") NUMBERS (                            \
      "w", W_TYPE, W_OFFSET, "72", "6, 2, 3, 2") NUMBERS ("wz", W_TYPE, W_OFFSET, "6", "6")        \
      NUMBERS ("xz", X_TYPE, X_OFFSET, "1",                                                        \
               "1") "xr = Cast <to = 1> (x)\n xzr = Cast <to = 1> (xz)\n xf = Sub (xr, xzr)\n"     \
                    "wr = Cast <to = 1> (w)\n wzr = Cast <to = 1> (wz)\n"                          \
                    "long = Constant <value_ints = [6, 1, 1, 1]> ()\n wzl = Reshape (wzr, long)\n" \
                    "wf = Sub (wr, wzl)\n"

static void
assert_zeros (const char *body)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (21, "float[]", body, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (ir_tensor_n_elements (y), >, 100);
  for (guint64 i = 0; i < ir_tensor_n_elements (y); i++)
    g_assert_cmpfloat (ir_tensor_get_double (y, i), ==, 0);
}

#define DIFFERENCE                                                                                 \
  "q = ConvInteger <" WINDOW "> (x, w, xz, wz)\n qf = Cast <to = 1> (q)\n"                         \
  "e = Conv <" WINDOW "> (xf, wf)\n y = Sub (qf, e)"

static void
test_conv_integer (void)
{
  assert_zeros (CONVOLVED ("2", "0", "2", "0") DIFFERENCE);
  assert_zeros (CONVOLVED ("3", "125", "3", "125") DIFFERENCE);
  assert_zeros (CONVOLVED ("2", "0", "3", "125") DIFFERENCE);
}

/* Scales are powers of two, so every step of the other way is exact. */
#define QUANTIZED(TO)                                                                              \
  "xsc = Constant <value = float {0.5}> ()\n ysc = Constant <value = float {256}> ()\n"            \
  "wsc = Constant <value = float[6] {1, 0.5, 0.25, 2, 1, 0.125}> ()\n"                             \
  "b = Constant <value = int32[6] {100, -3000, 7, 0, -1, 50000}> ()\n"                             \
  "q = QLinearConv <" WINDOW "> (x, xsc, xz, w, wsc, wz, ysc, yz, b)\n qf = Cast <to = 1> (q)\n"   \
  "br = Cast <to = 1> (b)\n e = Conv <" WINDOW "> (xf, wf, br)\n"                                  \
  "channels = Constant <value_ints = [6, 1, 1]> ()\n wscl = Reshape (wsc, channels)\n"             \
  "scale = Mul (wscl, xsc)\n er = Mul (e, scale)\n eq = QuantizeLinear (er, ysc, yz)\n"            \
  "ef = Cast <to = 1> (eq)\n y = Sub (qf, ef)"

static void
test_q_linear_conv (void)
{
  assert_zeros (
      CONVOLVED ("2", "0", "2", "0") "yz = Constant <value = uint8 {100}> ()\n" QUANTIZED (""));
  assert_zeros (
      CONVOLVED ("3", "125", "3", "125") "yz = Constant <value = int8 {-3}> ()\n" QUANTIZED (""));
}

/* 40000 · 255 · 255 = 2601000000 does not fit int32. */
static void
test_matmul_integer_wraps (void)
{
  assert_body (
      21, "int32[1,1]", "-1693967296", 0,
      "v = Constant <value = uint8[1,1] {255}> ()\n"
      "s = Constant <value_ints = [1, 40000]> ()\n t = Constant <value_ints = [40000, 1]> ()\n"
      "a = Expand (v, s)\n b = Expand (v, t)\n y = MatMulInteger (a, b)");
}

static void
test_q_linear_matmul_scales (void)
{
#define Q_MATMUL(TO)                                                                               \
  "a = Constant <value = int8[1,2] {10, -4}> ()\n b = Constant <value = uint8[2,1] {3, 200}> ()\n" \
  "half = Constant <value = float[1] {0.5}> ()\n s = Cast <to = " TO "> (half)\n"                  \
  "big = Constant <value = float[1] {32}> ()\n ys = Cast <to = " TO "> (big)\n"                    \
  "az = Constant <value = int8[1] {2}> ()\n bz = Constant <value = uint8[1] {100}> ()\n"           \
  "yz = Constant <value = int8[1] {5}> ()\n y = QLinearMatMul (a, s, az, b, s, bz, ys, yz)"
  /* (8 · -97 - 6 · 100) / 4 = -344; / 32 = -10.75, so -11 + 5 */
  assert_body (21, "int8[1,1]", "-6", 0, Q_MATMUL ("1"));
  assert_body (21, "int8[1,1]", "-6", 0, Q_MATMUL ("10"));
  assert_body (21, "int8[1,1]", "-6", 0, Q_MATMUL ("16"));
}

/* -- random numbers -- */

/* The first numbers of numpy.random.RandomState (0): rand () and randn (). */
static void
test_generator (void)
{
  assert_body (22, "double[3]", "0.5488135039273248 0.7151893663724195 0.6027633760716439", 1e-15,
               "y = RandomUniform <dtype = 11, seed = 0.0, shape = [3]> ()");
  assert_body (22, "double[3]", "1.764052345967664 0.4001572083672233 0.9787379841057392", 1e-14,
               "y = RandomNormal <dtype = 11, seed = 0.0, shape = [3]> ()");
  assert_body (22, "float[1,2]", "0.97627008 4.3037873", 1e-6,
               "x = Constant <value = float[1,2] {0, 0}> ()\n"
               "y = RandomUniformLike <low = -10.0, high = 10.0, seed = 0.9> (x)\n");
}

/* Without a seed: runs agree, nodes and rounds of a loop do not. */
static void
test_no_seed (void)
{
  const char *body = "y = RandomUniform <dtype = 11, shape = [4]> ()";
  g_autoptr (IrTensor) first = run_body (22, "double[]", body, NULL);
  g_autoptr (IrTensor) second = run_body (22, "double[]", body, NULL);
  g_assert_true (ir_tensor_equal (first, second));
  assert_body (22, "bool[2]", "0 0", 0,
               "a = RandomNormal <shape = [2]> ()\n b = RandomNormal <shape = [2]> ()\n"
               "y = Equal (a, b)");
  assert_body (22, "bool[1]", "0", 0,
               "n = Constant <value = int64 {2}> ()\n c = Constant <value = bool {1}> ()\n"
               "r = Loop (n, c) <body = b (int64 i, bool go) => (bool more, double[1] u)\n"
               " { more = Identity (go) u = RandomUniform <dtype = 11, shape = [1]> () }>\n"
               "i = Constant <value = int64 {0}> ()\n j = Constant <value = int64 {1}> ()\n"
               "p = Gather (r, i)\n q = Gather (r, j)\n y = Equal (p, q)");
  assert_body (
      22, "bool[]", "0", 0,
      "n = Constant <value_ints = [64]> ()\n x = ConstantOfShape (n)\n t = Constant <value = bool {1}> ()\n"
      "h = Constant <value = float {0.5}> ()\n s = Shape (x)\n o = Expand (h, s)\n"
      "a = Dropout (o, h, t)\n b = Dropout (o, h, t)\n e = Equal (a, b)\n"
      "i = Cast <to = 6> (e)\n y0 = ReduceMin <keepdims = 0> (i)\n y = Cast <to = 9> (y0)");
}

static void
test_bernoulli (void)
{
  assert_body (22, "int32[4]", "0 1 0 1", 0,
               "p = Constant <value = float[4] {0, 1, 0, 1}> ()\n y = Bernoulli <dtype = 6> (p)");
  /* 10000 draws at 0.3: three standard deviations are 0.014. */
  assert_body (
      22, "double[]", "0.3", 0.014,
      "v = Constant <value = double {0.3}> ()\n s = Constant <value_ints = [10000]> ()\n"
      "p = Expand (v, s)\n d = Bernoulli <seed = 3.0> (p)\n y = ReduceMean <keepdims = 0> (d)");
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) y = run_body (
      22, "float[]", "p = Constant <value = float[1] {1.5}> ()\n y = Bernoulli (p)", &error);
  g_assert_null (y);
  g_assert_nonnull (error);
}

/* Weights 1 : 2 : 0 : 1, as logarithms plus any constant. */
static void
test_multinomial (void)
{
  assert_body (22, "double[4]", "0.25 0.5 0 0.25", 0.015,
               "w = Constant <value = float[1,4] {700, 700.6931, -1000, 700}> ()\n"
               "d = Multinomial <sample_size = 10000, dtype = 7, seed = 1.0> (w)\n"
               "n = Constant <value = int64 {4}> ()\n v = Constant <value = double[2] {0, 1}> ()\n"
               "h = OneHot (d, n, v)\n axes = Constant <value_ints = [0, 1]> ()\n"
               "y = ReduceMean <keepdims = 0> (h, axes)");
}

/* -- optimizers -- */

#define VARIABLE(STATES)                                                                           \
  "r = Constant <value = float {0.5}> ()\n x = Constant <value = float[2] {1, 2}> ()\n"            \
  "g = Constant <value = float[2] {3, -4}> ()\n" STATES

static void
test_optimizers (void)
{
  /* rate 0.5 / (1 + 1 · 1); h = 7 + 9, 0 + 16 */
  assert_body (
      21, "float[2]", "0.8125 2.25", 1e-6,
      VARIABLE (
          "h = Constant <value = float[2] {7, 0}> ()\n t = Constant <value = int64 {1}> ()\n") "y, n = ai.onnx.preview.training.Adagrad <decay_factor = 1.0, epsilon = 0.0> (r, t, x, g, h)");
  /* v = 0.5 v + g' with g' = g + x = 4, -2: so 5, -1; nesterov: x - 0.5 (g' + 0.5 v) */
  assert_body (
      21, "float[2]", "-2.25 3.25", 1e-6,
      VARIABLE (
          "v = Constant <value = float[2] {2, 2}> ()\n t = Constant <value = int64 {0}> ()\n") "y, n = ai.onnx.preview.training.Momentum <alpha = 0.5, beta = 9.0, norm_coefficient = 1.0,"
                                                                                               " mode = \"nesterov\"> (r, t, x, g, v)");
  assert_body (
      21, "float[2]", "37 -17", 1e-5,
      VARIABLE (
          "v = Constant <value = float[2] {2, 2}> ()\n t = Constant <value = int64 {1}> ()\n") "n, y = ai.onnx.preview.training.Momentum <alpha = 0.5, beta = 9.0, norm_coefficient = 1.0,"
                                                                                               " mode = \"standard\"> (r, t, x, g, v)");
  /* two variables: all X, all G, all V, all H; v = 0.5 g, h = 0.75 g²; rate 0.5 · 0.5 / 0.5 */
  assert_body (
      21, "float[1]", "2.2886751", 1e-6,
      VARIABLE (
          "t = Constant <value = int64 {1}> ()\n z = Constant <value = float[1] {4}> ()\n"
          "gz = Constant <value = float[1] {2}> ()\n vz = Constant <value = float[1] {0}> ()\n"
          "v = Constant <value = float[2] {0, 0}> ()\n") "a, y0, b, c, d, e = ai.onnx.preview.training.Adam <alpha = 0.5, beta = 0.75, epsilon = 0.0>"
                                                         " (r, t, x, z, g, gz, v, vz, v, vz)\n"
                                                         "k = Constant <value = float[1] {1.2113249}> ()\n y = Sub (y0, k)");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define TEST(SENTENCE, FUNCTION) g_test_add_func ("/definitions/" SENTENCE, FUNCTION)
  TEST ("BitShift keeps the sign to the right and drops bits to the left", test_bit_shift);
  TEST ("BitCast reads the same bits", test_bit_cast);
  TEST ("a remainder of zero has the sign of the divisor", test_mod_zero);
  TEST ("extremes of nothing are the limits of the type", test_reduce_nothing);
  TEST ("SpaceToDepth knows both orders", test_space_to_depth_modes);
  TEST ("ConvInteger is a convolution without its zero points", test_conv_integer);
  TEST ("QLinearConv is a quantized convolution", test_q_linear_conv);
  TEST ("sums of MatMulInteger wrap around", test_matmul_integer_wraps);
  TEST ("QLinearMatMul takes scales of 16 bits", test_q_linear_matmul_scales);
  TEST ("the generator is numpy's", test_generator);
  TEST ("without a seed runs agree and nodes do not", test_no_seed);
  TEST ("Bernoulli draws by probability", test_bernoulli);
  TEST ("Multinomial draws by weight", test_multinomial);
  TEST ("optimizers make the step that their formulas say", test_optimizers);
  return g_test_run ();
}
