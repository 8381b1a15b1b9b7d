/* Reference kernels of one input, element by element: one loop, one small function per operator.
 * Floats are computed as doubles and rounded once, which makes them a good oracle. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>

/* The attributes of activations: what their names mean is in the row. */
typedef struct
{
  double alpha, beta;
} Params;

typedef double (*RealFunc) (double x, const Params *params);
typedef gint64 (*IntFunc) (gint64 x);

static void
identity_offsets (guint64 first, guint n, gint64 *offsets)
{
  for (guint i = 0; i < n; i++)
    offsets[i] = (gint64) (first + i);
}

/* The loop: @real for floats, @sint and @uint (nullable) for integers. */
static gboolean
unary (
    IrCall *call, RealFunc real, const Params *params, IntFunc sint, IntFunc uint, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  IrDtype dtype = ir_tensor_dtype (in);
  IrRefKind kind = ir_ref_kind (dtype);
  IntFunc integer = kind == IR_REF_SINT ? sint : uint;
  if (kind == IR_REF_OTHER || (kind == IR_REF_REAL ? real == NULL : integer == NULL))
    return ir_ref_fail_dtype (call, dtype, error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;

  guint64 total = ir_tensor_n_elements (in);
  gint64 offsets[IR_REF_CHUNK], integers[IR_REF_CHUNK];
  double reals[IR_REF_CHUNK];
  for (guint64 first = 0; first < total; first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (total - first, IR_REF_CHUNK);
      identity_offsets (first, n, offsets);
      if (kind == IR_REF_REAL)
        {
          ir_ref_load_real (in, offsets, n, reals);
          for (guint i = 0; i < n; i++)
            reals[i] = real (reals[i], params);
          ir_ref_store_real (out, first, n, reals);
        }
      else
        {
          ir_ref_load_int (in, offsets, n, integers);
          for (guint i = 0; i < n; i++)
            integers[i] = integer (integers[i]);
          ir_ref_store_int (out, first, n, integers);
        }
    }
  return TRUE;
}

/* -- one function each -- */

#define REF_REAL(NAME, EXPRESSION)                                                                 \
  static double real_##NAME (double x, const Params *params) { return EXPRESSION; }                \
  gboolean ir_ref_##NAME (IrCall *call, GError **error)                                            \
  {                                                                                                \
    return unary (call, real_##NAME, NULL, NULL, NULL, error);                                     \
  }

/* With attributes: their defaults stand in the row, and here. */
#define REF_PARAMS(NAME, A, A_DEFAULT, B, B_DEFAULT, EXPRESSION)                                   \
  static double real_##NAME (double x, const Params *params)                                       \
  {                                                                                                \
    double alpha = params->alpha, beta = params->beta;                                             \
    (void) alpha, (void) beta;                                                                     \
    return EXPRESSION;                                                                             \
  }                                                                                                \
  gboolean ir_ref_##NAME (IrCall *call, GError **error)                                            \
  {                                                                                                \
    Params params = { ir_call_float (call, A, A_DEFAULT), ir_call_float (call, B, B_DEFAULT) };    \
    return unary (call, real_##NAME, &params, NULL, NULL, error);                                  \
  }

/* clang-format off */
REF_REAL (sqrt, sqrt (x))
REF_REAL (exp, exp (x))
REF_REAL (log, log (x))
REF_REAL (sin, sin (x))
REF_REAL (cos, cos (x))
REF_REAL (tan, tan (x))
REF_REAL (asin, asin (x))
REF_REAL (acos, acos (x))
REF_REAL (atan, atan (x))
REF_REAL (sinh, sinh (x))
REF_REAL (cosh, cosh (x))
REF_REAL (tanh, tanh (x))
REF_REAL (asinh, asinh (x))
REF_REAL (acosh, acosh (x))
REF_REAL (atanh, atanh (x))
REF_REAL (erf, erf (x))
REF_REAL (floor, floor (x))
REF_REAL (ceil, ceil (x))
REF_REAL (round, nearbyint (x)) /* halves to even: the default rounding mode */
REF_REAL (reciprocal, 1 / x)
REF_REAL (sigmoid, x >= 0 ? 1 / (1 + exp (-x)) : exp (x) / (1 + exp (x)))
REF_REAL (hard_swish, x * fmax (0, fmin (1, x / 6 + 0.5)))
REF_REAL (softplus, x > 0 ? x + log1p (exp (-x)) : log1p (exp (x)))
REF_REAL (softsign, x / (1 + fabs (x)))
REF_REAL (mish, x * tanh (real_softplus (x, params)))

REF_PARAMS (leaky_relu, "alpha", 0.01f, "", 0, x < 0 ? alpha * x : x)
REF_PARAMS (hard_sigmoid, "alpha", 0.2f, "beta", 0.5, isnan (alpha * x + beta) ? NAN : fmax (0, fmin (1, alpha * x + beta)))
REF_PARAMS (elu, "alpha", 1, "", 0, x < 0 ? alpha * expm1 (x) : x)
REF_PARAMS (selu, "alpha", 1.67326319217681884765625, "gamma", 1.05070102214813232421875,
            beta * (x > 0 ? x : alpha * expm1 (x)))
REF_PARAMS (celu, "alpha", 1, "", 0, x < 0 ? alpha * expm1 (x / alpha) : x)
REF_PARAMS (thresholded_relu, "alpha", 1, "", 0, x > alpha || isnan (x) ? x : 0)
REF_PARAMS (swish, "alpha", 1, "", 0, x * real_sigmoid (alpha * x, params))
/* clang-format on */

/* -- also for integers -- */

#define REF_NUMBER(NAME, EXPRESSION, SINT, UINT)                                                   \
  static double real_##NAME (double x, const Params *params) { return EXPRESSION; }                \
  static gint64 sint_##NAME (gint64 x) { return SINT; }                                            \
  static gint64 uint_##NAME (gint64 x) { return UINT; }                                            \
  gboolean ir_ref_##NAME (IrCall *call, GError **error)                                            \
  {                                                                                                \
    return unary (call, real_##NAME, NULL, sint_##NAME, uint_##NAME, error);                       \
  }

static gint64
negated (gint64 x)
{
  return (gint64) (0 - (guint64) x); /* wraps around */
}

/* clang-format off */
REF_NUMBER (neg, -x, negated (x), negated (x))
REF_NUMBER (abs, fabs (x), x < 0 ? negated (x) : x, x)
REF_NUMBER (sign, isnan (x) ? x : (x > 0) - (x < 0), (x > 0) - (x < 0), x != 0)
REF_NUMBER (relu, x < 0 ? 0 : x, x < 0 ? 0 : x, x)
REF_NUMBER (isnan, isnan (x) != 0, 0, 0)
/* clang-format on */

static gint64
int_not (gint64 x)
{
  return x == 0;
}

gboolean
ir_ref_not (IrCall *call, GError **error)
{
  return unary (call, NULL, NULL, NULL, int_not, error);
}

static gint64
int_invert (gint64 x)
{
  return (gint64) ~(guint64) x;
}

gboolean
ir_ref_bitwise_not (IrCall *call, GError **error)
{
  return unary (call, NULL, NULL, int_invert, int_invert, error);
}

static double
real_isinf (double x, const Params *params)
{
  return isinf (x) && (x < 0 ? params->alpha : params->beta) != 0;
}

gboolean
ir_ref_isinf (IrCall *call, GError **error)
{
  Params params = { (double) ir_call_int (call, "detect_negative", 1),
                    (double) ir_call_int (call, "detect_positive", 1) };
  return unary (call, real_isinf, &params, NULL, NULL, error);
}

/* By erfc, as 1 + erf has no digits left far below 0. */
static double
real_gelu (double x, const Params *params)
{
  return 0.5 * x * erfc (-x * M_SQRT1_2);
}

static double
real_gelu_tanh (double x, const Params *params)
{
  return 0.5 * x * (1 + tanh (sqrt (2 / M_PI) * (x + 0.044715 * x * x * x)));
}

gboolean
ir_ref_gelu (IrCall *call, GError **error)
{
  const char *approximate = ir_call_string (call, "approximate", "none");
  if (g_str_equal (approximate, "tanh"))
    return unary (call, real_gelu_tanh, NULL, NULL, NULL, error);
  if (g_str_equal (approximate, "none"))
    return unary (call, real_gelu, NULL, NULL, NULL, error);
  return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "approximate is \"%s\"; none or tanh is needed", approximate);
}

/* Gelu of the domain irscope, which has an operator for each form. */
gboolean
ir_ref_gelu_tanh (IrCall *call, GError **error)
{
  return unary (call, real_gelu_tanh, NULL, NULL, NULL, error);
}

static double
real_shrink (double x, const Params *params)
{
  double lambd = params->alpha, bias = params->beta;
  if (x < -lambd)
    return x + bias;
  return x > lambd ? x - bias : 0;
}

/* Of any numeric type: integers are computed with as reals, and cut. */
gboolean
ir_ref_shrink (IrCall *call, GError **error)
{
  Params params = { ir_call_float (call, "lambd", 0.5), ir_call_float (call, "bias", 0) };
  if (!ir_ref_prepare (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  if (ir_ref_kind (ir_tensor_dtype (in)) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (in), error);
  IrTensor *out = ir_block_new_output (call, 0, error);
  double x[IR_REF_CHUNK];
  guint64 total = ir_tensor_n_elements (in);
  for (guint64 first = 0; out != NULL && first < total;
       first += IR_REF_CHUNK)
    {
      guint n = (guint) MIN (total - first, IR_REF_CHUNK);
      ir_block_load (in, first, n, x);
      for (guint i = 0; i < n; i++)
        x[i] = real_shrink (x[i], &params);
      ir_block_store (out, first, n, x);
    }
  return out != NULL;
}
