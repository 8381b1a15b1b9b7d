/* Statistics of a tensor's contents, in two passes over memory: the first finds range, sums, counts
 * and checksum, the second fills the histogram, whose bins need the range. Contents are taken in
 * blocks that stay in the first-level cache; within a block the sum comes first and the squares of
 * deviations from its mean next, so that large means do not cancel and every loop runs over vectors.
 * Elements whose numbers have the same rest by eight are added one after the other, and the eight
 * sums in one order: a kernel of a device with eight threads for a block gives the same bits
 * (core/exec/gpu/kernels/stats.cu).
 *
 * Blocks of types that float32 holds exactly are taken as floats, all others as doubles. What is
 * not finite shows in the sum of squares: only a block with some is looked at again, element by
 * element under masks.
 *
 * Chunks of blocks are shared by threads; stats-blocks.c joins what is known of them. */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/exec/kernel/half.h"
#include "core/exec/kernel/stats-blocks.h"
#include "core/exec/kernel/backend.h"
#include "core/exec/kernel/threads.h"
#include "core/op/call.h"

#define BLOCK             IR_STATS_BLOCK /* 8 KiB as doubles */
#define LANES             8              /* elements that loops take at once */
#define CHUNKS_PER_THREAD 4              /* at least */
#define WATCHED_CHUNKS    8              /* from one look at who watches to the next */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTORIZED __attribute__ ((target_clones ("avx512f", "avx2", "default"), optimize ("O3")))
#else
#define VECTORIZED
#endif

/* All functions that take or give vectors are inlined, however little is optimized: how they are
 * passed depends on the instructions that the caller may use.
 */
#ifdef __GNUC__
#define ALWAYS_INLINE static inline __attribute__ ((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif
#pragma GCC diagnostic ignored "-Wpsabi"

typedef double Doubles __attribute__ ((vector_size (32)));
typedef gint64 Longs __attribute__ ((vector_size (32)));
typedef float Floats __attribute__ ((vector_size (32)));
typedef gint32 Ints __attribute__ ((vector_size (32)));
typedef float FourFloats __attribute__ ((vector_size (16)));
typedef gint32 FourInts __attribute__ ((vector_size (16)));

ALWAYS_INLINE Doubles
load (const double *from)
{
  Doubles v;

  memcpy (&v, from, sizeof v);
  return v;
}

/* Four floats, widened. */
ALWAYS_INLINE Doubles
load_wide (const float *from)
{
  FourFloats v;

  memcpy (&v, from, sizeof v);
  return __builtin_convertvector(v, Doubles);
}

ALWAYS_INLINE Floats
load_floats (const float *from)
{
  Floats v;

  memcpy (&v, from, sizeof v);
  return v;
}

ALWAYS_INLINE Doubles
choose (Longs mask, Doubles yes, Doubles no)
{
  return (Doubles) ((mask & (Longs) yes) | (~mask & (Longs) no));
}

ALWAYS_INLINE Floats
choose_floats (Ints mask, Floats yes, Floats no)
{
  return (Floats) ((mask & (Ints) yes) | (~mask & (Ints) no));
}

ALWAYS_INLINE Doubles
all_of (double x)
{
  return (Doubles){ x, x, x, x };
}

/* All bits where the element is neither infinite nor NaN. */
ALWAYS_INLINE Longs
is_finite (Doubles v)
{
  const Longs exponent = { 0x7ff0000000000000, 0x7ff0000000000000, 0x7ff0000000000000,
                           0x7ff0000000000000 };

  return ((Longs) v & exponent) != exponent;
}

ALWAYS_INLINE double
sum_of (Doubles v)
{
  return (v[0] + v[1]) + (v[2] + v[3]);
}

/* Masks count as -1. */
ALWAYS_INLINE guint64
count_of (Longs v)
{
  return (guint64) - (v[0] + v[1] + v[2] + v[3]);
}

ALWAYS_INLINE guint64
count_of_ints (Ints v)
{
  return (guint64) - (v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7]);
}

/* Which of two zeros comes out depends on who compares. */
ALWAYS_INLINE double
plain_zero (double x)
{
  return x == 0 ? 0 : x;
}

ALWAYS_INLINE void
set_range (IrStatsPart *part, Doubles low, Doubles high)
{
  part->min = plain_zero (MIN (MIN (low[0], low[1]), MIN (low[2], low[3])));
  part->max = plain_zero (MAX (MAX (high[0], high[1]), MAX (high[2], high[3])));
}

/* Any elements. @n: at most BLOCK, a multiple of LANES */
VECTORIZED static void
scan_any (const double *x, guint n, IrStatsPart *part)
{
  const Doubles none = { 0 }, top = all_of (INFINITY), bottom = all_of (-INFINITY);
  Doubles low = top, high = bottom, sums[2] = { none, none }, powers[2] = { none, none };
  Doubles squares[2] = { none, none };
  Longs finite = { 0 }, nan = { 0 }, above = { 0 }, below = { 0 }, zero = { 0 }, negative = { 0 };

  for (guint i = 0; i < n; i += LANES)
    for (guint half = 0; half < 2; half++)
      {
        Doubles v = load (x + i + half * LANES / 2);
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
        sums[half] += w / BLOCK; /* exact, and cannot overflow */
        powers[half] += w * w;
      }
  *part = (IrStatsPart){ .power = sum_of (powers[0] + powers[1]) };
  part->n_finite = count_of (finite);
  part->n_nan = count_of (nan);
  part->n_pos_inf = count_of (above);
  part->n_neg_inf = count_of (below);
  part->n_zero = count_of (zero);
  part->n_negative = count_of (negative);
  set_range (part, low, high);
  if (part->n_finite == 0)
    return;
  part->mean = sum_of (sums[0] + sums[1]) / (double) part->n_finite * BLOCK;
  Doubles mean = all_of (part->mean);
  for (guint i = 0; i < n; i += LANES)
    for (guint half = 0; half < 2; half++)
      {
        Doubles v = load (x + i + half * LANES / 2), d = choose (is_finite (v), v - mean, none);
        squares[half] += d * d;
      }
  part->squares = sum_of (squares[0] + squares[1]);
}

/* Elements whose squares have a finite sum, which all finite floats do; FALSE: they have not. */
VECTORIZED static gboolean
scan_doubles (const double *x, guint n, IrStatsPart *part)
{
  const Doubles none = { 0 };
  Doubles low = all_of (INFINITY), high = all_of (-INFINITY), sums[2] = { none, none };
  Doubles powers[2] = { none, none }, squares[2] = { none, none };
  Longs zero = { 0 }, negative = { 0 };

  for (guint i = 0; i < n; i += LANES)
    for (guint half = 0; half < 2; half++)
      {
        Doubles v = load (x + i + half * LANES / 2);
        low = choose (v < low, v, low);
        high = choose (v > high, v, high);
        zero += v == none;
        negative += v < none;
        sums[half] += v;
        powers[half] += v * v;
      }
  *part = (IrStatsPart){ .power = sum_of (powers[0] + powers[1]), .n_finite = n };
  if (!isfinite (part->power))
    return FALSE;
  part->n_zero = count_of (zero);
  part->n_negative = count_of (negative);
  set_range (part, low, high);
  part->mean = sum_of (sums[0] + sums[1]) / n;
  Doubles mean = all_of (part->mean);
  for (guint i = 0; i < n; i += LANES)
    for (guint half = 0; half < 2; half++)
      {
        Doubles d = load (x + i + half * LANES / 2) - mean;
        squares[half] += d * d;
      }
  part->squares = sum_of (squares[0] + squares[1]);
  return TRUE;
}

VECTORIZED static gboolean
scan_floats (const float *x, guint n, IrStatsPart *part)
{
  const Floats none = { 0 };
  Floats low = none + INFINITY, high = none - INFINITY;
  Doubles sums[2] = { { 0 }, { 0 } }, powers[2] = { { 0 }, { 0 } }, squares[2] = { { 0 }, { 0 } };
  Ints zero = { 0 }, negative = { 0 };

  for (guint i = 0; i < n; i += LANES)
    {
      Floats v = load_floats (x + i);
      Doubles a = load_wide (x + i), b = load_wide (x + i + LANES / 2);
      low = choose_floats (v < low, v, low);
      high = choose_floats (v > high, v, high);
      zero += v == none;
      negative += v < none;
      sums[0] += a;
      sums[1] += b;
      powers[0] += a * a;
      powers[1] += b * b;
    }
  *part = (IrStatsPart){ .power = sum_of (powers[0] + powers[1]), .n_finite = n };
  if (!isfinite (part->power))
    return FALSE;
  part->n_zero = count_of_ints (zero);
  part->n_negative = count_of_ints (negative);
  part->min = (double) low[0];
  part->max = (double) high[0];
  for (guint i = 1; i < LANES; i++)
    {
      part->min = MIN (part->min, (double) low[i]);
      part->max = MAX (part->max, (double) high[i]);
    }
  part->min = plain_zero (part->min);
  part->max = plain_zero (part->max);
  part->mean = sum_of (sums[0] + sums[1]) / n;
  Doubles mean = all_of (part->mean);
  for (guint i = 0; i < n; i += LANES)
    {
      Doubles a = load_wide (x + i) - mean, b = load_wide (x + i + LANES / 2) - mean;
      squares[0] += a * a;
      squares[1] += b * b;
    }
  part->squares = sum_of (squares[0] + squares[1]);
  return TRUE;
}

/* -- which bin each element is in; those that are not finite are in one more -- */

typedef struct
{
  double low, width;
  guint n_bins;
} Bins;

#define FIND_BINS(name, Real)                                                                      \
  VECTORIZED static void find_bins_of_##name (const Real *x, guint n, const Bins *bins,            \
                                              gint32 *found)                                       \
  {                                                                                                \
    const double low = bins->low, width = bins->width, last = bins->n_bins - 1.0;                  \
    const gint32 outside = (gint32) bins->n_bins;                                                  \
    for (guint i = 0; i < n; i++)                                                                  \
      {                                                                                            \
        double v = (double) x[i], at = (v - low) / width;                                          \
        at = at > last ? last : at;                                                                \
        at = at > 0 ? at : 0; /* also where the width is 0 and it is NaN */                        \
        gint32 bin = (gint32) at;                                                                  \
        found[i] = v - v == 0 ? bin : outside;                                                     \
      }                                                                                            \
  }

FIND_BINS (doubles, double)
FIND_BINS (floats, float)

/* -- elements of any type as floats, where these hold them exactly, or doubles -- */

#define WIDEN(name, From, To)                                                                      \
  VECTORIZED static void widen_##name (gconstpointer data, guint64 first, guint n, To *to)         \
  {                                                                                                \
    const From *from = (const From *) data + first;                                                \
    for (guint i = 0; i < n; i++)                                                                  \
      to[i] = (To) from[i];                                                                        \
  }

WIDEN (int16, gint16, float)
WIDEN (uint16, guint16, float)
WIDEN (uint8, guint8, float)
WIDEN (float, float, double)
WIDEN (int32, gint32, double)
WIDEN (uint32, guint32, double)
WIDEN (int64, gint64, double)
WIDEN (uint64, guint64, double)

static void
widen_float16 (gconstpointer data, guint64 first, guint n, float *to)
{
  ir_half_loops (IR_DTYPE_FLOAT16, FALSE).widen ((const IrHalf *) data + first, to, n);
}

static void
widen_bfloat16 (gconstpointer data, guint64 first, guint n, float *to)
{
  ir_half_loops (IR_DTYPE_BFLOAT16, FALSE).widen ((const IrHalf *) data + first, to, n);
}

/* How the elements of a tensor are had. */
typedef struct
{
  const IrTensor *tensor;
  gconstpointer data; /* (nullable) */
  guint64 n_elements;
  void (*floats) (gconstpointer data, guint64 first, guint n, float *to);   /* (nullable) */
  void (*doubles) (gconstpointer data, guint64 first, guint n, double *to); /* (nullable) */
  gboolean is_float;                                                        /* as it is */
  const float *bytes; /* (nullable) what each byte means */
} Source;

static void
source_init (Source *source, const IrTensor *tensor, float table[256])
{
  IrDtype dtype = ir_tensor_dtype (tensor);

  *source = (Source){ .tensor = tensor,
                      .data = ir_tensor_data (tensor),
                      .n_elements = ir_tensor_n_elements (tensor) };
  if (source->data == NULL)
    return;
  source->is_float = dtype == IR_DTYPE_FLOAT;
  source->floats = dtype == IR_DTYPE_FLOAT16                           ? widen_float16
                   : dtype == IR_DTYPE_BFLOAT16                        ? widen_bfloat16
                   : dtype == IR_DTYPE_INT16                           ? widen_int16
                   : dtype == IR_DTYPE_UINT16                          ? widen_uint16
                   : dtype == IR_DTYPE_UINT8 || dtype == IR_DTYPE_BOOL ? widen_uint8
                                                                       : NULL;
  source->doubles = dtype == IR_DTYPE_INT32    ? widen_int32
                    : dtype == IR_DTYPE_UINT32 ? widen_uint32
                    : dtype == IR_DTYPE_INT64  ? widen_int64
                    : dtype == IR_DTYPE_UINT64 ? widen_uint64
                                               : NULL;
  if (source->floats != NULL || ir_dtype_bits (dtype) != 8 || source->n_elements < 256)
    return;
  for (guint i = 0; i < 256; i++)
    {
      guint8 byte = (guint8) i;
      double value = 0;

      ir_dtype_get_double (dtype, &byte, 0, &value);
      table[i] = (float) value;
    }
  source->bytes = table;
}

/* Vectors have to be filled up: with what counts as nothing but NaN, which is taken back. */
static guint
n_missing (guint n)
{
  return (LANES - n % LANES) % LANES;
}

/* Elements [@first, @first + @n) and what fills them up. (transfer none) (nullable): @room, or the
 * tensor's own; NULL: these are no floats */
static const float *
take_floats (const Source *source, guint64 first, guint n, float *room)
{
  if (source->is_float && n % LANES == 0)
    return (const float *) source->data + first;
  if (source->is_float)
    memcpy (room, (const float *) source->data + first, n * sizeof *room);
  else if (source->floats != NULL)
    source->floats (source->data, first, n, room);
  else if (source->bytes != NULL)
    for (guint i = 0; i < n; i++)
      room[i] = source->bytes[((const guint8 *) source->data)[first + i]];
  else
    return NULL;
  for (guint i = 0; i < n_missing (n); i++)
    room[n + i] = NAN;
  return room;
}

static const double *
take_doubles (const Source *source, guint64 first, guint n, double *room)
{
  if (source->data != NULL && ir_tensor_dtype (source->tensor) == IR_DTYPE_DOUBLE && n % LANES == 0)
    return (const double *) source->data + first;
  if (source->doubles != NULL)
    source->doubles (source->data, first, n, room);
  else
    for (guint i = 0; i < n; i++)
      room[i] = ir_tensor_get_double (source->tensor, first + i);
  for (guint i = 0; i < n_missing (n); i++)
    room[n + i] = NAN;
  return room;
}

/* Of elements [@first, @first + @n), where elements have whole bytes. */
static guint64
checksum_of (const IrTensor *tensor, guint64 first, guint n)
{
  const guint8 *data = ir_tensor_data (tensor);
  guint64 n_elements = ir_tensor_n_elements (tensor);
  gsize n_bytes = ir_tensor_n_bytes (tensor), each = n_elements > 0 ? n_bytes / n_elements : 0;

  if (data == NULL)
    return 0;
  if (each * n_elements == n_bytes)
    return ir_stats_checksum (data + first * each, n * each);
  return first == 0 ? ir_stats_checksum (data, n_bytes) : 0; /* packed: few bytes, all at once */
}

/* -- both passes -- */

typedef struct
{
  const Source *source;
  IrThreads threads;
  IrStatsCut cut;
  guint first_chunk;         /* those that threads work on begin there */
  const IrStatsWatch *watch; /* (nullable) */
  IrStatsPart *chunks;       /* first pass */
  Bins bins;                 /* second pass, as the next two */
  pthread_mutex_t lock;
  IrTensorStats *stats;
} Job;

static void
scan_block (const Source *source, guint64 first, guint n, IrStatsPart *part)
{
  float narrow[BLOCK + LANES];
  double wide[BLOCK + LANES];
  const float *floats = take_floats (source, first, n, narrow);
  const double *doubles = wide;
  guint more = n_missing (n);

  if (floats != NULL && more == 0 && scan_floats (floats, n, part))
    return;
  if (floats != NULL)
    widen_float (floats, 0, n + more, wide);
  else
    doubles = take_doubles (source, first, n, wide);
  if (floats != NULL || more > 0 || !scan_doubles (doubles, n, part))
    scan_any (doubles, n + more, part);
  part->n_nan -= more;
}

static void
scan_chunks (guint64 first_chunk, guint64 end_chunk, guint worker, gpointer data)
{
  Job *job = data;
  const Source *source = job->source;
  guint64 each = job->cut.chunk_blocks * BLOCK;

  for (guint64 c = job->first_chunk + first_chunk; c < job->first_chunk + end_chunk; c++)
    {
      guint64 end = MIN ((c + 1) * each, source->n_elements);

      job->chunks[c] = IR_STATS_NOTHING;
      for (guint64 first = c * each; first < end; first += BLOCK)
        {
          guint n = (guint) MIN (end - first, BLOCK);
          IrStatsPart part;

          scan_block (source, first, n, &part);
          part.checksum = checksum_of (source->tensor, first, n);
          ir_stats_join (&job->chunks[c], &part);
        }
    }
}

/* Counts are whole numbers: in which order threads add theirs does not show. */
static void
fill_bins (guint64 first_chunk, guint64 end_chunk, guint worker, gpointer data)
{
  Job *job = data;
  const Source *source = job->source;
  first_chunk += job->first_chunk;
  end_chunk += job->first_chunk;
  guint64 end = MIN (end_chunk * job->cut.chunk_blocks * BLOCK, source->n_elements);
  guint64 counts[4][G_N_ELEMENTS (job->stats->bins) + 1] = { 0 }; /* runs of equal bins wait */
  gint32 found[BLOCK + LANES];

  for (guint64 first = first_chunk * job->cut.chunk_blocks * BLOCK; first < end; first += BLOCK)
    {
      guint n = (guint) MIN (end - first, BLOCK), filled = n + n_missing (n);
      float narrow[BLOCK + LANES];
      double wide[BLOCK + LANES];
      const float *floats = take_floats (source, first, n, narrow);

      if (floats != NULL)
        find_bins_of_floats (floats, filled, &job->bins, found);
      else
        find_bins_of_doubles (take_doubles (source, first, n, wide), filled, &job->bins, found);
      for (guint i = n; i < filled; i++)
        counts[0][job->bins.n_bins]--;
      for (guint i = 0; i < filled; i += 4)
        for (guint k = 0; k < 4; k++)
          counts[k][found[i + k]]++;
    }
  pthread_mutex_lock (&job->lock);
  for (guint i = 0; i < job->bins.n_bins; i++)
    job->stats->bins[i] += counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i];
  pthread_mutex_unlock (&job->lock);
}

/* All chunks, or where somebody watches some at a time. @done: what was done before, of both passes.
 * FALSE: it was cancelled */
static gboolean
for_chunks (Job *job, IrRangeFunc func, double done)
{
  const IrStatsWatch *watch = job->watch;
  const guint part = watch != NULL ? WATCHED_CHUNKS : MAX (job->cut.n_chunks, 1);

  for (guint first = 0; first < job->cut.n_chunks; first += part)
    {
      const guint n = MIN (part, job->cut.n_chunks - first);

      if (watch != NULL && g_cancellable_is_cancelled (watch->cancellable))
        return FALSE;
      job->first_chunk = first;
      ir_threads_for (job->threads, n, CHUNKS_PER_THREAD, func, job);
      if (watch != NULL && watch->progress != NULL)
        watch->progress (done + (first + n) / 2.0 / job->cut.n_chunks, watch->data);
    }
  return TRUE;
}

static gboolean
run_bins (Job *job, guint n_bins, IrTensorStats *stats)
{
  if (!ir_stats_begin_bins (stats, n_bins))
    return TRUE;
  job->bins = (Bins){ .low = stats->bin_low,
                      .width = (stats->bin_high - stats->bin_low) / stats->n_bins,
                      .n_bins = stats->n_bins };
  job->stats = stats;
  pthread_mutex_init (&job->lock, NULL);
  const gboolean whole = for_chunks (job, fill_bins, 0.5);
  pthread_mutex_destroy (&job->lock);
  return whole;
}

/**
 * ir_tensor_stats_watched:
 * @tensor: any tensor
 * @n_bins: bins of the histogram, at most 64; 0: no histogram
 * @threads: which to use
 * @watch: (nullable): who is told how far it is, and may cancel it
 * @stats: (out): the statistics
 *
 * Computes range, mean, standard deviation (of the population) and histogram over the finite
 * elements, counts the others, and sums up the bytes: the same bits at any number of threads.
 * Tensors of strings have only their number of elements, and ir_tensor_hash() as their checksum.
 * With no finite element, range, mean and deviation are 0.
 *
 * Returns: %FALSE if it was cancelled
 */
gboolean
ir_tensor_stats_watched (const IrTensor *tensor,
                         guint n_bins,
                         IrThreads threads,
                         const IrStatsWatch *watch,
                         IrTensorStats *stats)
{
  g_return_val_if_fail (tensor != NULL && stats != NULL, FALSE);
  g_autofree IrStatsPart *chunks = NULL;
  IrStatsPart only;
  Source source;
  float table[256];

  *stats = (IrTensorStats){ .n = ir_tensor_n_elements (tensor) };
  if (ir_dtype_kind (ir_tensor_dtype (tensor)) == IR_DTYPE_KIND_STRING ||
      ir_tensor_is_container (tensor))
    {
      stats->checksum = ir_tensor_hash (tensor);
      return TRUE;
    }
  source_init (&source, tensor, table);
  Job job = { .source = &source, .threads = threads, .watch = watch };
  ir_stats_cut (stats->n, &job.cut);
  chunks = job.cut.n_chunks > 1 ? g_new (IrStatsPart, job.cut.n_chunks) : NULL;
  job.chunks = chunks != NULL ? chunks : &only;
  if (!for_chunks (&job, scan_chunks, 0))
    return FALSE;
  ir_stats_set (stats, ir_tensor_dtype (tensor), job.chunks, job.cut.n_chunks);
  return run_bins (&job, n_bins, stats);
}

/**
 * ir_tensor_stats_with:
 * @tensor: any tensor
 * @n_bins: bins of the histogram, at most 64; 0: no histogram
 * @threads: which to use
 * @stats: (out): the statistics
 *
 * As ir_tensor_stats_watched(), with nobody watching.
 */
void
ir_tensor_stats_with (const IrTensor *tensor, guint n_bins, IrThreads threads, IrTensorStats *stats)
{
  ir_tensor_stats_watched (tensor, n_bins, threads, NULL, stats);
}

/**
 * ir_tensor_stats:
 * @tensor: any tensor
 * @n_bins: bins of the histogram, at most 64; 0: no histogram
 * @stats: (out): the statistics
 *
 * As ir_tensor_stats_with(), on the calling thread.
 */
void
ir_tensor_stats (const IrTensor *tensor, guint n_bins, IrTensorStats *stats)
{
  ir_tensor_stats_with (tensor, n_bins, (IrThreads){ 0 }, stats);
}
