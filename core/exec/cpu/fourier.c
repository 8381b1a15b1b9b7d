/* Fourier transforms, DFT and STFT: eight lines beside each other, a lane each, so that every step is one of
 * vectors whatever the length. Computed in double, as the reference kernels do. A real line of an even length is a
 * complex one of half of it; no line meets another's numbers. Lengths with a large prime factor go to the reference
 * kernel, and so does what is not finite: which of its numbers are NaN depends on the order of the sums.
 * Source: Cooley and Tukey 1965; the order that sorts by itself: Stockham 1966. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/ref/fft.h"
#include "core/exec/ref/fourier.h"

#define LANES         8
#define LARGEST_RADIX 13
#define MAX_FACTORS   20
#define MAX_LENGTH    (1 << 18) /* 32 MiB for a group of lines: more lie in no cache */

typedef struct
{
  double re[LANES], im[LANES];
} Lanes;

/* Transforms of one length, shared by all threads. */
typedef struct
{
  gint64 n;        /* of the complex transform: half of the length where @packed */
  gboolean packed; /* a real line, two of its numbers as one that is complex */
  guint n_factors;
  gint64 factors[MAX_FACTORS];
  IrComplex *roots; /* [length] exp (-2 pi i k / length) */
  gint64 turn;      /* roots between two of the transform: 1, or 2 where @packed */
} Plan;

static void
plan_clear (Plan *plan)
{
  g_free (plan->roots);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Plan, plan_clear)

/* FALSE: the reference kernel has to do it. */
static gboolean
plan_init (Plan *plan, const IrFourier *fourier)
{
  gint64 length = fourier->length, rest;

  if (length > MAX_LENGTH)
    return FALSE;
  plan->packed = fourier->parts_in == 1 && !fourier->half && length % 2 == 0;
  plan->turn = plan->packed ? 2 : 1;
  plan->n = rest = length / plan->turn;
  for (gint64 radix = 4; rest > 1 && radix <= LARGEST_RADIX; radix = radix == 4   ? 2
                                                                     : radix == 2 ? 3
                                                                                  : radix + 2)
    for (; rest % radix == 0; rest /= radix)
      plan->factors[plan->n_factors++] = radix;
  plan->roots = rest == 1 ? g_try_new (IrComplex, (gsize) length) : NULL;
  for (gint64 k = 0; plan->roots != NULL && k < length; k++)
    plan->roots[k] = ir_fft_root ((guint64) k, (guint64) length);
  return plan->roots != NULL;
}

/* -- one factor: @stride transforms of length radix * @m lie beside each other -- */

static inline void
times (Lanes *to, const double *re, const double *im, IrComplex root)
{
  for (guint l = 0; l < LANES; l++)
    {
      to->re[l] = re[l] * root.re - im[l] * root.im;
      to->im[l] = re[l] * root.im + im[l] * root.re;
    }
}

CPU_VECTORIZED static void
combine_two (const Lanes *x0, gint64 apart, Lanes *y0, gint64 stride, IrComplex root)
{
  for (gint64 q = 0; q < stride; q++)
    {
      const Lanes *a = x0 + q, *b = a + apart;
      Lanes *y = y0 + q;
      double re[LANES], im[LANES];

      for (guint l = 0; l < LANES; l++)
        {
          re[l] = a->re[l] - b->re[l];
          im[l] = a->im[l] - b->im[l];
          y->re[l] = a->re[l] + b->re[l];
          y->im[l] = a->im[l] + b->im[l];
        }
      times (y + stride, re, im, root);
    }
}

CPU_VECTORIZED static void
combine_four (const Lanes *x0, gint64 apart, Lanes *y0, gint64 stride, const IrComplex *roots)
{
  for (gint64 q = 0; q < stride; q++)
    {
      const Lanes *a = x0 + q, *b = a + apart, *c = b + apart, *d = c + apart;
      Lanes *y = y0 + q;
      double re[3][LANES], im[3][LANES];

      for (guint l = 0; l < LANES; l++)
        {
          double ac_re = a->re[l] + c->re[l], ac_im = a->im[l] + c->im[l];
          double bd_re = b->re[l] + d->re[l], bd_im = b->im[l] + d->im[l];
          double a_c_re = a->re[l] - c->re[l], a_c_im = a->im[l] - c->im[l];
          double b_d_re = b->re[l] - d->re[l], b_d_im = b->im[l] - d->im[l];

          y->re[l] = ac_re + bd_re;
          y->im[l] = ac_im + bd_im;
          re[0][l] = a_c_re + b_d_im;
          im[0][l] = a_c_im - b_d_re;
          re[1][l] = ac_re - bd_re;
          im[1][l] = ac_im - bd_im;
          re[2][l] = a_c_re - b_d_im;
          im[2][l] = a_c_im + b_d_re;
        }
      for (guint k = 1; k < 4; k++)
        times (y + k * stride, re[k - 1], im[k - 1], roots[k]);
    }
}

/* @inner: the @radix roots of unity. */
CPU_VECTORIZED static void
combine_any (const Lanes *x0,
             gint64 apart,
             Lanes *y0,
             gint64 stride,
             gint64 radix,
             const IrComplex *roots,
             const IrComplex *inner)
{
  for (gint64 q = 0; q < stride; q++)
    for (gint64 k = 0; k < radix; k++)
      {
        double re[LANES] = { 0 }, im[LANES] = { 0 };

        for (gint64 j = 0; j < radix; j++)
          {
            const Lanes *x = x0 + q + j * apart;
            IrComplex root = inner[j * k % radix];

            for (guint l = 0; l < LANES; l++)
              {
                re[l] += x->re[l] * root.re - x->im[l] * root.im;
                im[l] += x->re[l] * root.im + x->im[l] * root.re;
              }
          }
        times (y0 + q + k * stride, re, im, roots[k]);
      }
}

/* Transforms @x; what comes out lies in the one of both that is returned. */
static Lanes *
run (const Plan *plan, Lanes *x, Lanes *y)
{
  gint64 stride = 1, m = plan->n;
  IrComplex roots[LARGEST_RADIX], inner[LARGEST_RADIX];

  for (guint f = 0; f < plan->n_factors; f++)
    {
      gint64 radix = plan->factors[f];

      m /= radix;
      for (gint64 j = 0; j < radix; j++)
        inner[j] = plan->roots[j * (plan->n / radix) * plan->turn];
      for (gint64 p = 0; p < m; p++)
        {
          const Lanes *from = x + p * stride;
          Lanes *to = y + p * radix * stride;

          for (gint64 k = 0; k < radix; k++)
            roots[k] = plan->roots[p * k * stride * plan->turn];
          if (radix == 2)
            combine_two (from, m * stride, to, stride, roots[1]);
          else if (radix == 4)
            combine_four (from, m * stride, to, stride, roots);
          else
            combine_any (from, m * stride, to, stride, radix, roots, inner);
        }
      stride *= radix;
      Lanes *swapped = x;
      x = y;
      y = swapped;
    }
  return x;
}

/* The spectrum of real lines from that of the complex ones that they were packed to: even and odd numbers are parts
 * of it, and the one is turned into the other's place. Its first half: [0, n]. */
CPU_VECTORIZED static void
unpack (const Plan *plan, const Lanes *z, Lanes *y)
{
  gint64 n = plan->n;

  for (gint64 k = 0; k <= n; k++)
    {
      const Lanes *a = z + k % n, *b = z + (n - k) % n;
      IrComplex root = plan->roots[k % (2 * n)];

      for (guint l = 0; l < LANES; l++)
        {
          double even_re = (a->re[l] + b->re[l]) / 2, even_im = (a->im[l] - b->im[l]) / 2;
          double odd_re = (a->im[l] + b->im[l]) / 2, odd_im = (b->re[l] - a->re[l]) / 2;

          y[k].re[l] = even_re + odd_re * root.re - odd_im * root.im;
          y[k].im[l] = even_im + odd_re * root.im + odd_im * root.re;
        }
    }
}

/* -- lines -- */

/* Number @k of a line that begins at @x, @step elements from number to number. */
static inline double
real_at (const IrFourier *fourier, const float *x, gint64 k, gint64 step)
{
  double value = k < fourier->n_in ? x[k * step] : 0;

  return fourier->window != NULL ? value * fourier->window[k] : value;
}

static void
load_packed (const IrFourier *fourier, const float *x, guint lane, const Plan *plan, Lanes *to)
{
  gint64 step = fourier->in.number;

  for (gint64 k = 0; k < plan->n; k++)
    {
      to[k].re[lane] = real_at (fourier, x, 2 * k, step);
      to[k].im[lane] = real_at (fourier, x, 2 * k + 1, step);
    }
}

/* An inverse transform is one of conjugates. */
static void
load (const IrFourier *fourier, const float *x, guint lane, Lanes *to)
{
  gint64 n = fourier->length, step = fourier->in.number * fourier->parts_in;
  double sign = fourier->inverse ? -1 : 1;

  for (gint64 k = 0; k < (fourier->half ? n / 2 + 1 : n); k++)
    {
      to[k].re[lane] = real_at (fourier, x, k, step);
      to[k].im[lane] = fourier->parts_in == 2 ? sign * real_at (fourier, x + 1, k, step) : 0;
    }
  if (!fourier->half)
    return;
  to[0].im[lane] = 0;
  if (n % 2 == 0)
    to[n / 2].im[lane] = 0;
  for (gint64 k = 1; k < (n + 1) / 2; k++)
    {
      to[n - k].re[lane] = to[k].re[lane];
      to[n - k].im[lane] = -to[k].im[lane];
    }
}

/* @known numbers lie there; those behind them are conjugates of those before. FALSE: some are not finite. */
static gboolean
store (const IrFourier *fourier, const Lanes *from, gint64 known, guint lane, float *y)
{
  gint64 step = fourier->out.number * fourier->parts_out;
  double scale = fourier->inverse ? (double) fourier->length : 1;
  double sign = fourier->inverse ? -1 : 1, nothing = 0;

  for (gint64 k = 0; k < fourier->n_out; k++)
    {
      const Lanes *value = k < known ? from + k : from + fourier->length - k;

      y[k * step] = (float) (value->re[lane] / scale);
      if (fourier->parts_out == 2)
        y[k * step + 1] = (float) ((k < known ? sign : -sign) * value->im[lane] / scale);
      nothing += 0 * (value->re[lane] + value->im[lane]);
    }
  return nothing == 0;
}

/* Lines [@first, @first + LANES), as far as there are so many. FALSE: some numbers are not finite. */
static gboolean
transform_group (const IrFourier *fourier,
                 const Plan *plan,
                 gint64 first,
                 const float *x,
                 float *y,
                 Lanes *scratch)
{
  gint64 size = fourier->length + 1, n_lines = MIN (LANES, fourier->n_lines - first);

  for (guint l = 0; l < LANES; l++) /* those that there are not are copies of the last */
    {
      gint64 line = first + MIN (l, n_lines - 1);
      const float *from = x + ir_fourier_place (fourier, &fourier->in, line) * fourier->parts_in;

      if (plan->packed)
        load_packed (fourier, from, l, plan, scratch);
      else
        load (fourier, from, l, scratch);
    }
  Lanes *done = run (plan, scratch, scratch + size);
  if (plan->packed)
    {
      Lanes *whole = done == scratch ? scratch + size : scratch;
      unpack (plan, done, whole);
      done = whole;
    }
  gboolean finite = TRUE;
  for (guint l = 0; l < n_lines; l++)
    finite &= store (fourier, done, plan->packed ? plan->n + 1 : fourier->length, l,
                     y + ir_fourier_place (fourier, &fourier->out, first + l) * fourier->parts_out);
  return finite;
}

/* FALSE: there is no memory for it, or some numbers are not finite. */
static gboolean
transform_lines (
    const IrCall *call, const IrFourier *fourier, const Plan *plan, const float *x, float *y)
{
  gint64 n_groups = (fourier->n_lines + LANES - 1) / LANES, work = fourier->length * LANES * 16;
  int n_threads = cpu_n_threads (call, (guint64) (n_groups * work));
  CpuWatch watch = cpu_watch (call, work);
  gboolean failed = FALSE;

#pragma omp parallel num_threads(n_threads) reduction(|| : failed)
  {
    g_autofree Lanes *scratch = g_try_new (Lanes, 2 * (gsize) (fourier->length + 1));

    failed = scratch == NULL;
    for (gint64 i = cpu_share (n_groups, 0), until = cpu_share (n_groups, 1);
         !failed && i < until && !cpu_watch_stopped (&watch, i); i++)
      failed = !transform_group (fourier, plan, i * LANES, x, y, scratch);
  }
  return !failed;
}

static gboolean
run_lines (IrCall *call, const IrFourier *fourier, GError **error)
{
  const float *x = cpu_floats (call, 0);
  g_auto (Plan) plan = { 0 };

  if (x == NULL || !plan_init (&plan, fourier))
    return ir_ref_run (call, error);
  float *y = cpu_new_output (call, 0, error);
  return y != NULL && (transform_lines (call, fourier, &plan, x, y) || ir_ref_run (call, error));
}

static gboolean
run_dft (IrCall *call, GError **error)
{
  g_auto (IrFourier) fourier = { 0 };

  return ir_fourier_init_dft (&fourier, call, error) && run_lines (call, &fourier, error);
}

static gboolean
run_stft (IrCall *call, GError **error)
{
  g_auto (IrFourier) fourier = { 0 };

  return ir_fourier_init_stft (&fourier, call, error) && run_lines (call, &fourier, error);
}

const IrCpuKernel cpu_dft = { .name = "lines in lanes",
                              .refuses = cpu_needs_first_float,
                              .run = run_dft };
const IrCpuKernel cpu_stft = { .name = "lines in lanes",
                               .refuses = cpu_needs_first_float,
                               .run = run_stft };
