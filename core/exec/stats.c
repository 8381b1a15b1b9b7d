/* Statistics of a tensor's contents, in two passes over memory: the first finds range, sums, counts
 * and checksum, the second fills the histogram, whose bins need the range. Contents are taken in
 * blocks that stay in the first-level cache; within a block the sum comes first and the squares of
 * deviations from its mean next, and blocks are joined as in Chan, Golub and LeVeque 1979, so that
 * large means do not cancel and every loop runs over vectors.
 *
 * The checksum is that of the bytes, in groups of eight words that each have a lane of their own:
 * equal tensors have equal ones on every machine, and any change of one bit changes it. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "core/exec/exec.h"

#define BLOCK 1024 /* elements: 8 KiB as doubles */
#define LANES 4    /* doubles in a vector of 32 bytes */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTORIZED __attribute__ ((target_clones ("avx512f", "avx2", "default"), optimize ("O3")))
#else
#define VECTORIZED
#endif

/* All functions that take or give vectors are inlined: no call depends on how they are passed. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef double Doubles __attribute__ ((vector_size (LANES * sizeof (double))));
typedef gint64 Longs __attribute__ ((vector_size (LANES * sizeof (gint64))));

/* What is known of some elements. */
typedef struct
{
  double min, max, mean, squares, power; /* of finite ones; squares: of deviations from the mean */
  guint64 n_finite, n_nan, n_pos_inf, n_neg_inf, n_zero, n_negative;
} Part;

static inline Doubles
load (const double *from)
{
  Doubles v;

  memcpy (&v, from, sizeof v);
  return v;
}

static inline Doubles
choose (Longs mask, Doubles yes, Doubles no)
{
  return (Doubles) ((mask & (Longs) yes) | (~mask & (Longs) no));
}

static inline Doubles
all_of (double x)
{
  return (Doubles){ x, x, x, x };
}

/* All bits where the element is neither infinite nor NaN. */
static inline Longs
is_finite (Doubles v)
{
  const Longs exponent = { 0x7ff0000000000000, 0x7ff0000000000000, 0x7ff0000000000000,
                           0x7ff0000000000000 };

  return ((Longs) v & exponent) != exponent;
}

static inline double
sum_of (Doubles v)
{
  return (v[0] + v[1]) + (v[2] + v[3]);
}

/* Masks count as -1. */
static inline guint64
count_of (Longs v)
{
  return (guint64) - (v[0] + v[1] + v[2] + v[3]);
}

/* @n: at most BLOCK, a multiple of LANES */
VECTORIZED static void
scan_block (const double *x, guint n, Part *part)
{
  const Doubles none = { 0 }, top = all_of (INFINITY), bottom = all_of (-INFINITY);
  Doubles low = top, high = bottom, sum = none, power = none, squares = none;
  Longs finite = { 0 }, nan = { 0 }, above = { 0 }, below = { 0 }, zero = { 0 }, negative = { 0 };

  for (guint i = 0; i < n; i += LANES)
    {
      Doubles v = load (x + i);
      Longs ok = is_finite (v);
      Doubles w = choose (ok, v, none), l = choose (ok, v, top), h = choose (ok, v, bottom);
      low = choose (l < low, l, low);
      high = choose (h > high, h, high);
      finite += ok;
      nan += v != v;
      above += v == top;
      below += v == bottom;
      zero += v == none;
      negative += w < none;
      sum += w / BLOCK; /* exact, and cannot overflow */
      power += w * w;
    }
  *part = (Part){ .power = sum_of (power) };
  part->n_finite = count_of (finite);
  part->n_nan = count_of (nan);
  part->n_pos_inf = count_of (above);
  part->n_neg_inf = count_of (below);
  part->n_zero = count_of (zero);
  part->n_negative = count_of (negative);
  part->min = MIN (MIN (low[0], low[1]), MIN (low[2], low[3]));
  part->max = MAX (MAX (high[0], high[1]), MAX (high[2], high[3]));
  if (part->n_finite == 0)
    return;
  part->mean = sum_of (sum) / (double) part->n_finite * BLOCK;
  Doubles mean = all_of (part->mean);
  for (guint i = 0; i < n; i += LANES)
    {
      Doubles v = load (x + i), d = choose (is_finite (v), v - mean, none);
      squares += d * d;
    }
  part->squares = sum_of (squares);
}

/* Which bin each element is in; those that are not finite are in one more. @n: as above */
VECTORIZED static void
find_bins (const double *x, guint n, double low, double width, guint n_bins, gint64 *bins)
{
  const Doubles first = all_of (low), each = all_of (width), last = all_of (n_bins - 1.0);
  const Doubles outside = all_of (n_bins), none = { 0 };

  for (guint i = 0; i < n; i += LANES)
    {
      Doubles v = load (x + i), at = (v - first) / each;
      at = choose (at > last, last, at);
      at = choose (at > none, at, none); /* also where the width is 0 */
      Longs bin = __builtin_convertvector(choose (is_finite (v), at, outside), Longs);
      memcpy (bins + i, &bin, sizeof bin);
    }
}

VECTORIZED static void
widen_floats (const float *from, double *to, guint n)
{
  for (guint i = 0; i < n; i++)
    to[i] = (double) from[i];
}

VECTORIZED static void
widen_bytes (const guint8 *from, double *to, guint n)
{
  for (guint i = 0; i < n; i++)
    to[i] = (double) from[i];
}

VECTORIZED static void
widen_ints (const gint32 *from, double *to, guint n)
{
  for (guint i = 0; i < n; i++)
    to[i] = (double) from[i];
}

VECTORIZED static void
widen_longs (const gint64 *from, double *to, guint n)
{
  for (guint i = 0; i < n; i++)
    to[i] = (double) from[i];
}

/* Elements [@first, @first + @n) as doubles. (transfer none): @room, or the tensor's own */
static const double *
widen (const IrTensor *tensor, guint64 first, guint n, double *room)
{
  const guint8 *data = ir_tensor_data (tensor);
  IrDtype dtype = ir_tensor_dtype (tensor);

  if (data != NULL && dtype == IR_DTYPE_FLOAT)
    widen_floats ((const float *) (const void *) data + first, room, n);
  else if (data != NULL && dtype == IR_DTYPE_INT64)
    widen_longs ((const gint64 *) (const void *) data + first, room, n);
  else if (data != NULL && dtype == IR_DTYPE_INT32)
    widen_ints ((const gint32 *) (const void *) data + first, room, n);
  else if (data != NULL && (dtype == IR_DTYPE_UINT8 || dtype == IR_DTYPE_BOOL))
    widen_bytes (data + first, room, n);
  else if (data != NULL && dtype == IR_DTYPE_DOUBLE && n % LANES == 0)
    return (const double *) (const void *) data + first;
  else
    for (guint i = 0; i < n; i++)
      room[i] = ir_tensor_get_double (tensor, first + i);
  return room;
}

static void
join (Part *all, const Part *part)
{
  guint64 n = all->n_finite + part->n_finite;

  if (part->n_finite > 0)
    {
      double before = (double) all->n_finite, share = (double) part->n_finite / (double) n;
      double apart = part->mean - all->mean;
      all->squares += part->squares + apart * apart * before * share;
      all->mean += apart * share;
      all->min = MIN (all->min, part->min);
      all->max = MAX (all->max, part->max);
      all->power += part->power;
    }
  all->n_finite = n;
  all->n_nan += part->n_nan;
  all->n_pos_inf += part->n_pos_inf;
  all->n_neg_inf += part->n_neg_inf;
  all->n_zero += part->n_zero;
  all->n_negative += part->n_negative;
}

/* Vectors have to be filled up: with what counts as nothing but NaN, which is taken back. */
static guint
fill_up (double *x, guint n)
{
  guint more = (LANES - n % LANES) % LANES;

  for (guint i = 0; i < more; i++)
    x[n + i] = NAN;
  return more;
}

/* -- checksum -- */

#define WORDS 8

typedef struct
{
  guint64 lanes[WORDS];
} Sum;

static inline guint64
mix (guint64 sum, guint64 word)
{
  sum = (sum ^ word) * G_GUINT64_CONSTANT (0x9fb21c651e98df25);
  return sum ^ (sum >> 29);
}

static void
add_bytes (Sum *sum, const guint8 *data, gsize n)
{
  guint64 words[WORDS];

  for (; n >= sizeof words; n -= sizeof words, data += sizeof words)
    {
      memcpy (words, data, sizeof words);
      for (guint i = 0; i < WORDS; i++)
        sum->lanes[i] = mix (sum->lanes[i], words[i]);
    }
  for (guint i = 0; n > 0; i++)
    {
      gsize some = MIN (n, sizeof (guint64));
      words[0] = 0;
      memcpy (words, data, some);
      sum->lanes[i] = mix (sum->lanes[i], words[0] + some);
      data += some;
      n -= some;
    }
}

/* The bytes of elements [@first, @first + @n), where elements have whole bytes; blocks are
 * multiples of all lanes, so that only the last one has a rest. */
static void
add_elements (Sum *sum, const IrTensor *tensor, guint64 first, guint n)
{
  const guint8 *data = ir_tensor_data (tensor);
  guint64 n_elements = ir_tensor_n_elements (tensor);
  gsize n_bytes = ir_tensor_n_bytes (tensor), each = n_elements > 0 ? n_bytes / n_elements : 0;

  if (data == NULL)
    return;
  if (each * n_elements == n_bytes)
    add_bytes (sum, data + first * each, n * each);
  else if (first == 0) /* packed: few bytes, all at once */
    add_bytes (sum, data, n_bytes);
}

static guint64
sum_up (const Sum *sum, const IrTensor *tensor)
{
  guint64 all = mix ((guint64) ir_tensor_dtype (tensor), ir_tensor_n_elements (tensor));

  for (guint i = 0; i < WORDS; i++)
    all = mix (all, sum->lanes[i]);
  return all;
}

/* -- both passes -- */

static void
fill_bins (const IrTensor *tensor, IrTensorStats *stats)
{
  double width = (stats->bin_high - stats->bin_low) / stats->n_bins, room[BLOCK + LANES];
  guint64 counts[2][G_N_ELEMENTS (stats->bins) + 1] = { 0 }; /* two, as runs of equal bins wait */
  gint64 bins[BLOCK + LANES];

  for (guint64 first = 0; first < stats->n; first += BLOCK)
    {
      guint n = (guint) MIN (stats->n - first, BLOCK);
      const double *x = widen (tensor, first, n, room);
      find_bins (x, n + (x == room ? fill_up (room, n) : 0), stats->bin_low, width, stats->n_bins,
                 bins);
      for (guint i = 0; i < n; i++)
        counts[i % 2][bins[i]]++;
    }
  for (guint i = 0; i < stats->n_bins; i++)
    stats->bins[i] = counts[0][i] + counts[1][i];
}

static void
scan (const IrTensor *tensor, Part *all, guint64 *checksum)
{
  guint64 n_elements = ir_tensor_n_elements (tensor);
  double room[BLOCK + LANES];
  Sum sum = { 0 };

  *all = (Part){ .min = INFINITY, .max = -INFINITY };
  for (guint64 first = 0; first < n_elements; first += BLOCK)
    {
      guint n = (guint) MIN (n_elements - first, BLOCK), more = 0;
      const double *x = widen (tensor, first, n, room);
      Part part;
      if (x == room)
        more = fill_up (room, n);
      scan_block (x, n + more, &part);
      part.n_nan -= more;
      join (all, &part);
      add_elements (&sum, tensor, first, n);
    }
  *checksum = sum_up (&sum, tensor);
}

/**
 * ir_tensor_stats:
 * @tensor: any tensor
 * @n_bins: bins of the histogram, at most 64; 0: no histogram
 * @stats: (out): the statistics
 *
 * Computes range, mean, standard deviation (of the population) and histogram over the finite
 * elements, counts the others, and sums up the bytes. Tensors of strings have only their number of
 * elements, and ir_tensor_hash() as their checksum. With no finite element, range, mean and
 * deviation are 0.
 */
void
ir_tensor_stats (const IrTensor *tensor, guint n_bins, IrTensorStats *stats)
{
  g_return_if_fail (tensor != NULL && stats != NULL);
  Part all;

  *stats = (IrTensorStats){ .n = ir_tensor_n_elements (tensor) };
  if (ir_dtype_kind (ir_tensor_dtype (tensor)) == IR_DTYPE_KIND_STRING ||
      ir_tensor_is_container (tensor))
    {
      stats->checksum = ir_tensor_hash (tensor);
      return;
    }
  scan (tensor, &all, &stats->checksum);
  stats->n_nan = all.n_nan;
  stats->n_pos_inf = all.n_pos_inf;
  stats->n_neg_inf = all.n_neg_inf;
  stats->n_zero = all.n_zero;
  stats->n_negative = all.n_negative;
  if (all.n_finite == 0)
    return;
  stats->min = all.min;
  stats->max = all.max;
  stats->mean = all.mean;
  stats->std = sqrt (all.squares / (double) all.n_finite);
  stats->l2 = sqrt (all.power);
  stats->n_bins = MIN (n_bins, G_N_ELEMENTS (stats->bins));
  stats->bin_low = stats->min;
  stats->bin_high = stats->max;
  if (stats->n_bins > 0)
    fill_bins (tensor, stats);
}
