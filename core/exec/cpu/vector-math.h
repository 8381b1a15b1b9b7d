/* Transcendental functions in float32 that the compiler makes vectors of: no branches, no tables,
 * no library calls. NaN stays NaN. The polynomials are weighted least-squares fits, iterated to
 * nearly equal error; the errors given are the largest relative ones found over the ranges where
 * results are normal numbers. */
#pragma once

#include <glib.h>
#include <math.h>
#include <string.h>

static inline float
cpu_vector_power_of_two (gint32 n)
{
  guint32 bits = (guint32) (n + 127) << 23;
  float power;

  memcpy (&power, &bits, sizeof power);
  return power;
}

/* exp (x) = 2^n * exp (r), where n is x / log 2 rounded and log 2 is taken off in two parts; the
 * power is applied in two halves, so that neither overflows before the result does. Error 8e-8. */
static inline float
cpu_vector_exp (float x)
{
  const float shift = 12582912; /* 1.5 * 2^23: adding it rounds to an integer */
  float low = x < -104 ? -104 : x, bounded = low > 89 ? 89 : low;
  float shifted = bounded * 1.44269504f + shift, n = shifted - shift;
  float r = bounded - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 0.000199075838f;
  guint32 bits;

  p = p * r + 0.001393365f;
  p = p * r + 0.00833328601f;
  p = p * r + 0.0416664649f;
  p = p * r + 0.166666668f;
  p = p * r + 0.5f;
  p = p * r * r + r + 1;
  memcpy (&bits, &shifted, sizeof bits);
  gint32 whole = (gint32) (bits - 0x4b400000u), half = whole >> 1;
  /* What NaN leaves there is no exponent; it is bounded so that nothing overflows. */
  half = half < -126 ? -126 : half > 127 ? 127 : half;
  gint32 rest = (gint32) ((guint32) whole - (guint32) half);
  rest = rest < -126 ? -126 : rest > 127 ? 127 : rest;
  return p * cpu_vector_power_of_two (half) * cpu_vector_power_of_two (rest);
}

static inline float
cpu_vector_sigmoid (float x)
{
  return 1 / (1 + cpu_vector_exp (-x));
}

/* An odd polynomial near 0, else 1 - 2 / (exp (2 |x|) + 1). Error 3e-7. */
static inline float
cpu_vector_tanh (float x)
{
  float a = fabsf (x), bounded = a > 10 ? 10 : a, u = x * x, p = -0.00567242546f;

  p = p * u + 0.0206031508f;
  p = p * u - 0.0537252328f;
  p = p * u + 0.133311858f;
  p = p * u - 0.333332634f;
  p = p * u + 0.999999996f;
  float far = 1 - 2 / (cpu_vector_exp (bounded + bounded) + 1);
  return a < 0.625f ? x * p : copysignf (far, x);
}

/* erf (x) / x for |x| < 1, an even polynomial. Error 1e-7. */
static inline float
cpu_vector_erf_ratio (float x)
{
  float u = x * x, p = -9.6801391e-06f;

  p = p * u + 0.000112705454f;
  p = p * u - 0.000848471158f;
  p = p * u + 0.00522107489f;
  p = p * u - 0.0268654458f;
  p = p * u + 0.112837827f;
  p = p * u - 0.376126385f;
  return p * u + 1.12837917f;
}

/* 1 - erf (a) for a >= 1: exp (-a^2) q (1 / (1 + a / 2)), with q made for a up to 9.3, from where the result is 0.
 * Error 3e-7 of the result, and what rounding a^2 does to exp. */
static inline float
cpu_vector_erfc_far (float a)
{
  float bounded = a > 10.5f ? 10.5f : a, t = 1 / (1 + bounded * 0.5f), q = 0.0917514861f;

  q = q * t - 0.22094278f;
  q = q * t + 0.0756679103f;
  q = q * t + 0.065685913f;
  q = q * t + 0.176902726f;
  q = q * t + 0.247400746f;
  q = q * t + 0.281985074f;
  q = q * t + 0.282101214f;
  return q * t * cpu_vector_exp (-bounded * bounded);
}

/* Error 2e-7. */
static inline float
cpu_vector_erf (float x)
{
  float a = fabsf (x), far = 1 - cpu_vector_erfc_far (a);

  return a < 1 ? x * cpu_vector_erf_ratio (x) : copysignf (far, x);
}

/* The share of a normal distribution below x. Far below 0 that is half of erfc: 1 + erf would cancel. */
static inline float
cpu_vector_normal_share (float x)
{
  float z = x * 0.70710678f, half = 0.5f * cpu_vector_erfc_far (fabsf (z));
  float near = 0.5f + 0.5f * z * cpu_vector_erf_ratio (z), far = z < 0 ? half : 1 - half;

  return fabsf (z) < 1 ? near : far;
}

static inline float
cpu_vector_gelu (float x)
{
  return x * cpu_vector_normal_share (x);
}

static inline float
cpu_vector_gelu_slope (float x)
{
  return cpu_vector_normal_share (x) + x * (0.39894228f * cpu_vector_exp (-0.5f * x * x));
}

static inline float
cpu_vector_gelu_tanh (float x)
{
  return 0.5f * x * (1 + cpu_vector_tanh (0.7978846f * (x + 0.044715f * x * x * x)));
}

static inline float
cpu_vector_gelu_tanh_slope (float x)
{
  float square = x * x, t = cpu_vector_tanh (0.7978846f * x * (1 + 0.044715f * square));

  return 0.5f * (1 + t) + 0.5f * (1 - t * t) * x * (0.7978846f * (1 + 0.134145f * square));
}

/* As numpy: a limit that is NaN makes all of it NaN. */
static inline float
cpu_vector_clip (float x, float low, float high)
{
  float at_least = x < low ? low : x, limited = at_least > high ? high : at_least;

  return isnan (low) || isnan (high) ? low + high : limited;
}

static inline float
cpu_vector_hard_swish (float x)
{
  float gate = 0.16666667f * x + 0.5f;

  gate = gate < 0 ? 0 : gate;
  return x * (gate > 1 ? 1 : gate);
}
