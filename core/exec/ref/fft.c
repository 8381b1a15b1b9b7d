/* Fast Fourier transforms: mixed radix (Cooley and Tukey 1965) where all prime factors are small,
 * else a convolution with a chirp over a power of two (Bluestein 1970). Every factor comes from one
 * table of roots of unity whose angles are reduced to an eighth of a turn before sine and cosine
 * are taken, so errors grow with log n only. */
#include "config.h"

#include "core/exec/ref/fft.h"

#include "core/exec/ref/block.h"

#include <math.h>
#include <string.h>

#define LARGEST_RADIX 31           /* a larger prime factor costs more than the chirp */
#define MAX_FACTORS   64           /* of a 64-bit length */
#define MAX_LENGTH    (1ull << 40) /* so that products of two indices fit */

struct _IrFft
{
  const IrCall *call; /* asked whether to stop */
  guint64 n;
  guint n_factors;
  guint factors[MAX_FACTORS]; /* of n; none: the chirp */
  IrComplex *roots;           /* [n] exp (-2 pi i k / n) */
  IrComplex *scratch;         /* [n], or [m] of the chirp */
  /* -- chirp -- */
  IrFft *convolution; /* (nullable) of a power of two m >= 2 n - 1 */
  IrComplex *chirp;   /* [n] exp (-pi i k^2 / n) */
  IrComplex *kernel;  /* [m] the transform of the conjugate chirp, divided by m */
};

/* exp (-2 pi i k / n), with the angle reduced exactly: 8 k / n counts eighths of a turn. */
IrComplex
ir_fft_root (guint64 k, guint64 n)
{
  k %= n;
  guint eighth = (guint) (8 * k / n);
  gboolean back = eighth % 2 == 1; /* measured from the end of its quarter */
  guint64 rest = back ? (eighth / 2 + 1) * n - 4 * k : 4 * k - eighth / 2 * n;
  double angle = G_PI_2 * ((double) rest / (double) n);
  double c = back ? sin (angle) : cos (angle), s = back ? cos (angle) : sin (angle);

  switch (eighth / 2) /* quarters, clockwise */
    {
    case 0:
      return (IrComplex){ c, -s };
    case 1:
      return (IrComplex){ -s, -c };
    case 2:
      return (IrComplex){ -c, s };
    default:
      return (IrComplex){ s, c };
    }
}

static IrComplex
product (IrComplex a, IrComplex b)
{
  return (IrComplex){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static IrComplex *
complex_new (guint64 n)
{
  return n < G_MAXSIZE / sizeof (IrComplex) ? g_try_new (IrComplex, (gsize) MAX (n, 1)) : NULL;
}

/* Fours first; FALSE: a prime factor is too large. */
static gboolean
factorize (IrFft *fft)
{
  guint64 rest = fft->n;

  for (guint radix = 4; rest > 1 && radix <= LARGEST_RADIX; radix = radix == 4   ? 2
                                                                    : radix == 2 ? 3
                                                                                 : radix + 2)
    for (; rest % radix == 0; rest /= radix)
      fft->factors[fft->n_factors++] = radix;
  return rest == 1;
}

/* -- mixed radix -- */

/* @radix transforms of length @n / @radix lie one after the other in @out; makes one of them. */
static void
combine (const IrFft *fft, IrComplex *out, guint64 n, guint radix)
{
  guint64 part = n / radix, turn = fft->n / n;
  IrComplex terms[LARGEST_RADIX];

  for (guint64 k = 0; k < part; k++)
    {
      for (guint r = 0; r < radix; r++)
        terms[r] = product (out[r * part + k], fft->roots[r * k * turn]);
      for (guint q = 0; q < radix; q++)
        {
          IrComplex sum = terms[0];
          for (guint r = 1; r < radix; r++)
            {
              IrComplex term = product (terms[r], fft->roots[q * r % radix * (fft->n / radix)]);
              sum.re += term.re;
              sum.im += term.im;
            }
          out[q * part + k] = sum;
        }
    }
}

/* Transforms @n elements of @in, @stride apart, into @out. */
static void
transform (const IrFft *fft,
           const IrComplex *in,
           guint64 stride,
           IrComplex *out,
           guint64 n,
           const guint *factors)
{
  if (n == 1)
    {
      out[0] = in[0];
      return;
    }
  guint radix = factors[0];
  guint64 part = n / radix;
  for (guint r = 0; r < radix; r++)
    transform (fft, in + r * stride, stride * radix, out + r * part, part, factors + 1);
  combine (fft, out, n, radix);
}

/* -- chirp: k j = (k^2 + j^2 - (k - j)^2) / 2 -- */

static gboolean
prepare_chirp (IrFft *fft)
{
  guint64 n = fft->n, m = 1;

  while (m < 2 * n - 1)
    m *= 2;
  fft->convolution = ir_fft_new (fft->call, m);
  fft->chirp = complex_new (n);
  fft->kernel = complex_new (m);
  fft->scratch = complex_new (m);
  if (fft->convolution == NULL || fft->chirp == NULL || fft->kernel == NULL || fft->scratch == NULL)
    return FALSE;
  memset (fft->kernel, 0, sizeof *fft->kernel * m);
  for (guint64 k = 0, square = 0; k < n; k++)
    {
      fft->chirp[k] = ir_fft_root (square, 2 * n);
      IrComplex conjugate = { fft->chirp[k].re / (double) m, -fft->chirp[k].im / (double) m };
      fft->kernel[k] = conjugate;
      fft->kernel[k == 0 ? 0 : m - k] = conjugate;
      square = (square + 2 * k + 1) % (2 * n);
    }
  ir_fft_run (fft->convolution, fft->kernel, FALSE);
  return TRUE;
}

static void
run_chirp (IrFft *fft, IrComplex *signal)
{
  guint64 m = fft->convolution->n;
  IrComplex *a = fft->scratch;

  memset (a, 0, sizeof *a * m);
  for (guint64 k = 0; k < fft->n; k++)
    a[k] = product (signal[k], fft->chirp[k]);
  ir_fft_run (fft->convolution, a, FALSE);
  for (guint64 k = 0; k < m; k++)
    a[k] = product (a[k], fft->kernel[k]);
  ir_fft_run (fft->convolution, a, TRUE);
  for (guint64 k = 0; k < fft->n; k++)
    signal[k] = product (a[k], fft->chirp[k]);
}

/* A call under way, which may stop it; outlives the plan. Prepares transforms of length @n. One
 * object serves one thread at a time. Source: Cooley and Tukey 1965; Bluestein 1970. Cost: O(n
 * log n) time and O(n) memory. Returns the transform, or NULL if there is no memory. */
IrFft *
ir_fft_new (const IrCall *call, guint64 n)
{
  if (n < 1 || n > MAX_LENGTH)
    return NULL;
  g_autoptr (IrFft) fft = g_new0 (IrFft, 1);
  fft->call = call;
  fft->n = n;
  if (!factorize (fft))
    {
      fft->n_factors = 0;
      return prepare_chirp (fft) ? g_steal_pointer (&fft) : NULL;
    }
  fft->roots = complex_new (n);
  fft->scratch = complex_new (n);
  if (fft->roots == NULL || fft->scratch == NULL)
    return NULL;
  for (guint64 k = 0; k < n; k++)
    fft->roots[k] = ir_fft_root (k, n);
  return g_steal_pointer (&fft);
}

void
ir_fft_free (IrFft *fft)
{
  if (fft == NULL)
    return;
  ir_fft_free (fft->convolution);
  g_free (fft->roots);
  g_free (fft->scratch);
  g_free (fft->chirp);
  g_free (fft->kernel);
  g_free (fft);
}

/* No direction divides by n */
void
ir_fft_run (IrFft *fft, IrComplex *signal, gboolean inverse)
{
  for (guint64 k = 0; inverse && k < fft->n; k++)
    signal[k].im = -signal[k].im;
  if (fft->convolution != NULL)
    run_chirp (fft, signal);
  else
    {
      for (guint64 k = 0; k < fft->n; k++)
        fft->scratch[k] = signal[k];
      transform (fft, fft->scratch, 1, signal, fft->n, fft->factors);
    }
  for (guint64 k = 0; inverse && k < fft->n; k++)
    signal[k].im = -signal[k].im;
}
