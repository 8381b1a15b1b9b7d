/* Statistics of tensors: against the definition, element by element, at any number of threads. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "core/exec/kernel/threads.h"
#include "core/op/call.h"
#include "tests/exec/graphs.h"

#define N_BINS 64

/* Elements of random bits: all kinds of numbers that @dtype has. */
static IrTensor *
tensor_of_bits (IrDtype dtype, gint64 n, guint seed)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  IrTensor *tensor = ir_tensor_new_alloc (dtype, 1, &n, &error);

  g_assert_no_error (error);
  guint8 *data = ir_tensor_data_writable (tensor);
  for (gsize i = 0; i < ir_tensor_n_bytes (tensor); i++)
    data[i] = dtype == IR_DTYPE_BOOL ? g_rand_boolean (random) : (guint8) g_rand_int (random);
  return tensor;
}

static IrTensor *
normal_doubles (gint64 n, double mean)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_DOUBLE, 1, &n, &error);

  g_assert_no_error (error);
  double *data = ir_tensor_data_writable (tensor);
  for (gint64 i = 0; i < n; i++)
    data[i] = mean + g_rand_double_range (random, -1, 1);
  return tensor;
}

/* -- against the definition -- */

static void
assert_close (double found, double wanted)
{
  g_assert_cmpfloat (fabs (found - wanted), <=, 1e-9 * fabs (wanted) + 1e-300);
}

static void
assert_stats (const IrTensor *tensor)
{
  guint64 n = ir_tensor_n_elements (tensor), n_finite = 0, bins[N_BINS] = { 0 }, apart = 0;
  IrTensorStats stats, wanted = { .n = n, .min = INFINITY, .max = -INFINITY };
  long double sum = 0, squares = 0;

  for (guint64 i = 0; i < n; i++)
    {
      double x = ir_tensor_get_double (tensor, i);
      wanted.n_nan += isnan (x) != 0;
      wanted.n_pos_inf += isinf (x) && x > 0;
      wanted.n_neg_inf += isinf (x) && x < 0;
      wanted.n_zero += x == 0;
      if (!isfinite (x))
        continue;
      n_finite++;
      wanted.n_negative += x < 0;
      wanted.min = MIN (wanted.min, x);
      wanted.max = MAX (wanted.max, x);
      sum += (long double) x;
    }
  long double mean = sum / (long double) MAX (n_finite, 1);
  for (guint64 i = 0; i < n; i++)
    {
      double x = ir_tensor_get_double (tensor, i);
      if (!isfinite (x))
        continue;
      squares += ((long double) x - mean) * ((long double) x - mean);
      double width = (wanted.max - wanted.min) / N_BINS, at = (x - wanted.min) / width;
      bins[at > 0 ? (guint) MIN (at, N_BINS - 1.0) : 0]++;
    }
  ir_tensor_stats (tensor, N_BINS, &stats);
  g_assert_cmpuint (stats.n, ==, n);
  g_assert_cmpuint (stats.n_nan, ==, wanted.n_nan);
  g_assert_cmpuint (stats.n_pos_inf, ==, wanted.n_pos_inf);
  g_assert_cmpuint (stats.n_neg_inf, ==, wanted.n_neg_inf);
  g_assert_cmpuint (stats.n_zero, ==, wanted.n_zero);
  g_assert_cmpuint (stats.n_negative, ==, wanted.n_negative);
  g_assert_cmpfloat (stats.min, ==, wanted.min);
  g_assert_cmpfloat (stats.max, ==, wanted.max);
  /* Of numbers around 0 little is left of a mean. */
  g_assert_cmpfloat (fabs (stats.mean - (double) mean), <=,
                     1e-12 * MAX (fabs (wanted.min), fabs (wanted.max)));
  assert_close (stats.std, (double) sqrtl (squares / (long double) n_finite));
  for (guint i = 0; i < N_BINS; i++)
    apart += bins[i] > stats.bins[i] ? bins[i] - stats.bins[i] : 0;
  g_assert_cmpuint (apart, ==, 0);
}

/* Sizes around those of vectors, blocks and chunks. Doubles and 64-bit integers of any bits would
 * overflow what is squared here. */
static void
test_types (void)
{
  static const IrDtype dtypes[] = {
    IR_DTYPE_FLOAT16,    IR_DTYPE_BFLOAT16,       IR_DTYPE_FLOAT,      IR_DTYPE_INT8,
    IR_DTYPE_UINT8,      IR_DTYPE_INT16,          IR_DTYPE_UINT16,     IR_DTYPE_INT32,
    IR_DTYPE_UINT32,     IR_DTYPE_BOOL,           IR_DTYPE_INT4,       IR_DTYPE_FLOAT8E4M3FN,
    IR_DTYPE_FLOAT8E5M2, IR_DTYPE_FLOAT8E4M3FNUZ, IR_DTYPE_FLOAT4E2M1, IR_DTYPE_INT64,
    IR_DTYPE_UINT64,
  };
  static const gint64 sizes[] = { 255, 1024, 5001, 32 * 1024 + 3, 70000 };

  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
      {
        g_autoptr (IrTensor) tensor = tensor_of_bits (dtypes[i], sizes[k], i + 1);
        assert_stats (tensor);
      }
}

/* Every float16 and bfloat16 that there is, each in blocks with NaN and without. */
static void
test_all_halves (void)
{
  static const IrDtype dtypes[] = { IR_DTYPE_FLOAT16, IR_DTYPE_BFLOAT16 };

  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    for (guint step = 1; step <= 64; step *= 8)
      {
        g_autoptr (IrTensor) tensor = tensor_of_bits (dtypes[i], 0x10000, 1);
        guint16 *bits = ir_tensor_data_writable (tensor);
        for (guint k = 0; k < 0x10000; k++)
          bits[k] = (guint16) (k * step + k / (0x10000 / step));
        assert_stats (tensor);
      }
}

static void
test_accuracy (void)
{
  g_autoptr (IrTensor) shifted = normal_doubles (300000, 1e9);
  g_autoptr (IrTensor) apart = normal_doubles (300000, 0);
  double *data = ir_tensor_data_writable (apart);
  IrTensorStats stats;

  assert_stats (shifted);
  for (guint i = 0; i < 300000; i++)
    data[i] = i < 150000 ? 1.5e308 : -1.5e308;
  ir_tensor_stats (apart, N_BINS, &stats);
  g_assert_cmpfloat (fabs (stats.mean), <, 1e295);
  g_assert_cmpfloat (stats.max, ==, 1.5e308);
}

/* -- threads -- */

static void
test_threads (void)
{
  static const guint n_threads[] = { 1, 2, 4, 7 };
  static const IrDtype dtypes[] = { IR_DTYPE_FLOAT, IR_DTYPE_FLOAT16, IR_DTYPE_INT64 };

  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    {
      g_autoptr (IrTensor) tensor = tensor_of_bits (dtypes[i], 1700001, 3);
      IrTensorStats wanted;
      ir_tensor_stats (tensor, N_BINS, &wanted);
      for (guint k = 0; k < G_N_ELEMENTS (n_threads); k++)
        {
          IrTensorStats stats;
          ir_tensor_stats_with (tensor, N_BINS, ir_threads_of (n_threads[k], FALSE), &stats);
          g_assert_cmpmem (&stats, sizeof stats, &wanted, sizeof wanted);
        }
    }
}

/* -- watched, and of a part -- */

typedef struct
{
  guint n;
  double last;
  GCancellable *cancellable; /* (nullable) cancelled when half is done */
} Watched;

static void
on_progress (double fraction, gpointer data)
{
  Watched *watched = data;

  g_assert_cmpfloat (fraction, >, watched->last);
  watched->last = fraction;
  watched->n++;
  if (fraction >= 0.5 && watched->cancellable != NULL)
    g_cancellable_cancel (watched->cancellable);
}

static void
test_watched (void)
{
  g_autoptr (IrTensor) tensor = tensor_of_bits (IR_DTYPE_FLOAT, 1700001, 3);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Watched all = { 0 }, half = { .cancellable = cancellable };
  IrTensorStats wanted, stats;

  ir_tensor_stats (tensor, N_BINS, &wanted);
  g_assert_true (ir_tensor_stats_watched (tensor, N_BINS, (IrThreads){ 0 },
                                          &(IrStatsWatch){ NULL, on_progress, &all }, &stats));
  g_assert_cmpmem (&stats, sizeof stats, &wanted, sizeof wanted);
  g_assert_cmpuint (all.n, >, 4);
  g_assert_cmpfloat (all.last, ==, 1);
  g_assert_false (ir_tensor_stats_watched (tensor, N_BINS, (IrThreads){ 0 },
                                           &(IrStatsWatch){ cancellable, on_progress, &half },
                                           &stats));
  g_assert_cmpfloat (half.last, <, 1);
}

static void
test_sample (void)
{
  const gint64 dims[] = { 100, 1000 };
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (IR_DTYPE_INT32, 2, dims, NULL);
  gint32 *data = ir_tensor_data_writable (tensor);

  for (gint32 i = 0; i < 100000; i++)
    data[i] = i;
  g_autoptr (IrTensor) sample = ir_tensor_sample (tensor, 1000);
  const gint32 *part = ir_tensor_data (sample);
  g_assert_cmpuint (ir_tensor_n_elements (sample), ==, 960);
  g_assert_cmpint (part[0], ==, 0);
  g_assert_cmpint (part[63], ==, 63);
  g_assert_cmpint (part[959], >, 99000);
  for (guint i = 1; i < 960; i++)
    g_assert_cmpint (part[i], >, part[i - 1]);
  g_assert_null (ir_tensor_sample (tensor, 100000));
}

/* -- checksum -- */

/* At the ends of blocks and chunks, and where chunks change places. */
static void
test_checksum (void)
{
  static const guint places[] = { 0, 1023, 1024, 32767, 32768, 65535, 65536, 99998, 99999 };
  g_autoptr (IrTensor) tensor = tensor_of_bits (IR_DTYPE_FLOAT16, 100000, 5);
  guint16 *data = ir_tensor_data_writable (tensor);
  g_autofree guint16 *chunk = g_memdup2 (data, 32768 * sizeof *data);
  IrTensorStats stats, other;

  ir_tensor_stats (tensor, 0, &stats);
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      data[places[i]] ^= 1u << i;
      ir_tensor_stats (tensor, 0, &other);
      g_assert_cmpuint (stats.checksum, !=, other.checksum);
      data[places[i]] ^= 1u << i;
    }
  ir_tensor_stats (tensor, N_BINS, &other);
  g_assert_cmpuint (stats.checksum, ==, other.checksum);
  memcpy (data, data + 32768, 32768 * sizeof *data);
  memcpy (data + 32768, chunk, 32768 * sizeof *data);
  ir_tensor_stats (tensor, 0, &other);
  g_assert_cmpuint (stats.checksum, !=, other.checksum);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/stats/they are those of each element by itself in any type", test_types);
  g_test_add_func ("/stats/every half float counts as what it is", test_all_halves);
  g_test_add_func ("/stats/large means do not cancel and extremes do not overflow", test_accuracy);
  g_test_add_func ("/stats/they are the same bits at any number of threads", test_threads);
  g_test_add_func ("/stats/any changed bit and any exchange changes the checksum", test_checksum);
  g_test_add_func ("/stats/watched they are the same, and end when they are cancelled",
                   test_watched);
  g_test_add_func ("/stats/a sample is spread over all of it", test_sample);
  return g_test_run ();
}
