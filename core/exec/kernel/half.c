/* Elements of 16 bits to float32 and back: float16 and bfloat16. Rounded to nearest even; what is too
 * large becomes infinity, NaN stays one. */
#include "config.h"

#include "core/exec/kernel/half.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static inline float
float_of_bits (guint32 bits)
{
  float value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

static inline guint32
bits_of_float (float value)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits;
}

/* -- bfloat16: the upper half of a float32 -- */

static void
widen_bfloat (const IrHalf *x, float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    y[i] = float_of_bits ((guint32) x[i] << 16);
}

static void
narrow_bfloat (const float *x, guint16 *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    {
      guint32 bits = bits_of_float (x[i]);
      guint32 rounded = bits + 0x7fff + ((bits >> 16) & 1);

      y[i] = (guint16) ((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded >> 16);
    }
}

/* -- float16 -- */

/* Below the normal range a code counts steps of 2^-24. */
static void
widen_plain (const IrHalf *x, float *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    {
      guint32 magnitude = x[i] & 0x7fff, sign = (guint32) (x[i] & 0x8000) << 16;
      guint32 small = bits_of_float ((float) (gint32) magnitude * 0x1p-24f);
      guint32 bits = (magnitude << 13) + (magnitude >= 0x7c00 ? 224u << 23 : 112u << 23);

      y[i] = float_of_bits (sign | (magnitude < 0x400 ? small : bits));
    }
}

/* The sum with 0.5, whose last bit is worth 2^-24, rounds what is below the normal range. */
static void
narrow_plain (const float *x, guint16 *y, gint64 n)
{
  for (gint64 i = 0; i < n; i++)
    {
      guint32 bits = bits_of_float (x[i]), magnitude = bits & 0x7fffffff;
      guint32 small = bits_of_float (float_of_bits (magnitude) + 0.5f) - bits_of_float (0.5f);
      guint32 normal = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
      guint32 code = magnitude > 0x7f800000     ? 0x7e00
                     : magnitude >= 0x477ff000  ? 0x7c00
                     : magnitude < (113u << 23) ? small
                                                : normal;

      y[i] = (guint16) ((bits >> 16 & 0x8000) | code);
    }
}

#ifdef __x86_64__
#define F16C __attribute__ ((target ("avx,f16c")))

F16C static void
widen_f16c (const IrHalf *x, float *y, gint64 n)
{
  gint64 i = 0;

  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps (y + i, _mm256_cvtph_ps (_mm_loadu_si128 ((const __m128i *) (x + i))));
  for (; i < n; i++)
    y[i] = _cvtsh_ss (x[i]);
}

F16C static void
narrow_f16c (const float *x, guint16 *y, gint64 n)
{
  gint64 i = 0;

  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128 ((__m128i *) (y + i),
                      _mm256_cvtps_ph (_mm256_loadu_ps (x + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; i++)
    y[i] = _cvtss_sh (x[i], _MM_FROUND_TO_NEAREST_INT);
}
#endif

/**
 * ir_half_loops:
 * @dtype: %IR_DTYPE_FLOAT16 or %IR_DTYPE_BFLOAT16
 * @plain: without instructions of the machine for it
 *
 * Returns: how elements are converted, those of 16 bits at any address
 */
IrHalfLoops
ir_half_loops (IrDtype dtype, gboolean plain)
{
  if (dtype == IR_DTYPE_BFLOAT16)
    return (IrHalfLoops){ widen_bfloat, narrow_bfloat };
#ifdef __x86_64__
  /* whatever has AVX2 has F16C, which clang cannot ask for */
  if (!plain && __builtin_cpu_supports ("avx2"))
    return (IrHalfLoops){ widen_f16c, narrow_f16c };
#endif
  return (IrHalfLoops){ widen_plain, narrow_plain };
}
