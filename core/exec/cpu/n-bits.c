/* MatMulNBits: a weight of 4 or 8 bits a number becomes float32 in tiles of columns, as they are
 * multiplied, so that memory is read in few bits. For a few rows of A a column is dequantized and
 * multiplied while it is in the first cache, for many a tile goes to dnnl_sgemm. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

#include <string.h>

#define FEW_ROWS    4            /* of A: up to here columns are multiplied one by one */
#define TILE_FLOATS (128 * 1024) /* of the second cache */
#define MOST_TILE   64           /* columns */
#define LEAST_TILE  16

typedef struct
{
  gint64 m, n, k;
  gint64 bits, block, blocks, bytes; /* a block: numbers, how many in a column, bytes */
  const float *a, *scales, *bias;    /* the last nullable */
  const guint8 *data, *zeros;        /* the latter nullable: as packed as the numbers */
  const float *real_zeros;           /* (nullable) */
  float *y;
} Weight;

/* -- numbers -- */

CPU_VECTORIZED static void
unpack_4 (const guint8 *from, gint64 n, float zero, float scale, float *to)
{
  for (gint64 i = 0; i < n / 2; i++)
    {
      to[2 * i] = ((float) (from[i] & 15) - zero) * scale;
      to[2 * i + 1] = ((float) (from[i] >> 4) - zero) * scale;
    }
  if (n % 2 != 0)
    to[n - 1] = ((float) (from[n / 2] & 15) - zero) * scale;
}

CPU_VECTORIZED static void
unpack_8 (const guint8 *from, gint64 n, float zero, float scale, float *to)
{
  for (gint64 i = 0; i < n; i++)
    to[i] = ((float) from[i] - zero) * scale;
}

#define LANES 16

CPU_VECTORIZED static float
dot (const float *a, const float *b, gint64 n)
{
  float sums[LANES] = { 0 }, sum = 0;
  gint64 i = 0;

  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++)
      sums[k] += a[i + k] * b[i + k];
  for (; i < n; i++)
    sum += a[i] * b[i];
  for (int k = 0; k < LANES; k++)
    sum += sums[k];
  return sum;
}

static float
zero_of (const Weight *w, gint64 column, gint64 block)
{
  if (w->real_zeros != NULL)
    return w->real_zeros[column * w->blocks + block];
  if (w->zeros == NULL)
    return w->bits == 4 ? 8 : 128;
  const guint8 *row = w->zeros + column * ((w->blocks * w->bits + 7) / 8);
  return w->bits == 8 ? row[block] : row[block / 2] >> (block % 2 * 4) & 15;
}

/* Column @column of the weight, [k]. */
static void
unpack_column (const Weight *w, gint64 column, float *to)
{
  for (gint64 block = 0; block < w->blocks; block++)
    {
      const guint8 *from = w->data + (column * w->blocks + block) * w->bytes;
      gint64 first = block * w->block, n = MIN (w->block, w->k - first);
      float scale = w->scales[column * w->blocks + block], zero = zero_of (w, column, block);

      if (w->bits == 4)
        unpack_4 (from, n, zero, scale, to + first);
      else
        unpack_8 (from, n, zero, scale, to + first);
    }
}

/* -- products -- */

static void
multiply_columns (const Weight *w, gint64 first, gint64 n, float *column)
{
  for (gint64 i = first; i < first + n; i++)
    {
      unpack_column (w, i, column);
      for (gint64 row = 0; row < w->m; row++)
        w->y[row * w->n + i] = dot (w->a + row * w->k, column, w->k);
    }
}

static gboolean
multiply_tile (const IrCall *call, const Weight *w, gint64 first, gint64 n, float *tile)
{
  CpuProduct product = { .m = w->m, .n = n, .k = w->k, .alpha = 1, .y = w->y + first };

  for (gint64 i = 0; i < n; i++)
    unpack_column (w, first + i, tile + i * w->k);
  product.a = (CpuMatrix){ w->a, w->k, FALSE };
  product.b = (CpuMatrix){ tile, w->k, TRUE };
  product.y_distance = w->n;
  return cpu_multiply (call, &product);
}

static void
add_bias (const Weight *w, gint64 first, gint64 n)
{
  for (gint64 row = 0; w->bias != NULL && row < w->m; row++)
    for (gint64 i = first; i < first + n; i++)
      w->y[row * w->n + i] += w->bias[i];
}

/* FALSE: it was to stop, or there is no memory. Tiles are those of the shape, whatever threads there
 * are. */
static gboolean
multiply (const IrCall *call, const Weight *w)
{
  gboolean few = w->m <= FEW_ROWS, done = TRUE;
  gint64 tile = CLAMP (TILE_FLOATS / w->k / LEAST_TILE * LEAST_TILE, LEAST_TILE, MOST_TILE);
  gint64 n_tiles = (w->n + tile - 1) / tile, next = 0; /* atomic */
  double work = (double) w->n * (double) w->k * (double) (w->m + 4) / 16;
  int n_threads = (int) MIN (cpu_n_threads (call, (guint64) MIN (work, 1e18)), n_tiles);
  CpuWatch watch = cpu_watch (call, (gint64) MIN (work / (double) n_tiles, 1e18));

  cpu_library_threads (call, n_threads);
#pragma omp parallel num_threads(n_threads)
  {
    float *scratch = g_try_malloc_n ((gsize) w->k, sizeof (float) * (gsize) (few ? 1 : tile));
    for (gint64 i; (i = __atomic_fetch_add (&next, 1, __ATOMIC_RELAXED)) < n_tiles &&
                   !cpu_watch_stopped (&watch, i);)
      {
        gint64 first = i * tile, n = MIN (tile, w->n - first);
        gboolean fits = scratch != NULL;

        if (fits && few)
          multiply_columns (w, first, n, scratch);
        else if (fits)
          fits = multiply_tile (call, w, first, n, scratch);
        if (fits)
          add_bias (w, first, n);
        else
#pragma omp atomic write
          done = FALSE;
      }
    g_free (scratch);
  }
  return done && !ir_call_stopped (call);
}

/* -- the kernel -- */

static gboolean
has (const IrCall *call, guint slot, gint64 n)
{
  return ir_tensor_n_elements (ir_call_input (call, slot)) >= (guint64) n;
}

/* FALSE: something does not fit, or is left to the reference. */
static gboolean
weight_init (Weight *w, const IrCall *call)
{
  const IrTensor *a = ir_call_input (call, 0), *zeros = ir_call_input (call, 3);

  *w = (Weight){ .n = ir_call_int (call, "N", 0), .k = ir_call_int (call, "K", 0) };
  w->bits = ir_call_int (call, "bits", 4);
  w->block = ir_call_int (call, "block_size", 0);
  if (w->n < 1 || w->k < 1 || w->block < 1 || (w->bits != 4 && w->bits != 8) || w->n > G_MAXINT32 ||
      w->k > G_MAXINT32 || w->block > G_MAXINT32 || ir_call_int (call, "weight_prepacked", 0) != 0)
    return FALSE;
  w->m = (gint64) ir_tensor_n_elements (a) / w->k;
  w->blocks = (w->k + w->block - 1) / w->block;
  w->bytes = (w->block * w->bits + 7) / 8;
  w->a = cpu_floats (call, 0);
  w->scales = cpu_floats (call, 2);
  w->bias = cpu_floats (call, 5);
  w->data = ir_tensor_data (ir_call_input (call, 1));
  gboolean packed = zeros != NULL && ir_tensor_dtype (zeros) == IR_DTYPE_UINT8;
  w->zeros = packed ? ir_tensor_data (zeros) : NULL;
  w->real_zeros = cpu_floats (call, 3);
  gint64 n_zeros = packed ? w->n * ((w->blocks * w->bits + 7) / 8) : w->n * w->blocks;
  return w->m > 0 && w->a != NULL && w->scales != NULL &&
         ir_tensor_dtype (ir_call_input (call, 1)) == IR_DTYPE_UINT8 &&
         (zeros == NULL || packed || w->real_zeros != NULL) && !ir_call_has_input (call, 4) &&
         (!ir_call_has_input (call, 5) || (w->bias != NULL && has (call, 5, w->n))) &&
         has (call, 1, w->n * w->blocks * w->bytes) && has (call, 2, w->n * w->blocks) &&
         (zeros == NULL || has (call, 3, n_zeros));
}

static gboolean
run_matmul_n_bits (IrCall *call, GError **error)
{
  const IrTensor *a = ir_call_input (call, 0);
  gint64 dims[IR_MAX_RANK];
  guint rank = ir_tensor_rank (a);
  Weight w;

  if (!call->op->infer (call, error))
    return FALSE;
  if (!weight_init (&w, call))
    return ir_ref_run (call, error);
  memcpy (dims, ir_tensor_dims (a), rank * sizeof *dims);
  dims[rank - 1] = w.n;
  w.y = cpu_new_floats_shaped (call, 0, rank, dims, error);
  if (w.y == NULL)
    return FALSE;
  return multiply (call, &w) ||
         (!ir_call_fail_if_stopped (call, error) && ir_ref_run (call, error));
}

static const char *
refuses_n_bits (const IrNode *node)
{
  if (cpu_dtype (node, 4) != IR_DTYPE_UNDEFINED)
    return "the CPU kernel of this operator takes blocks in their order, and g_idx gives another";
  return cpu_first_reason (
      cpu_needs_first_float (node),
      cpu_takes_float (cpu_dtype (node, 2),
                       "the CPU kernel of this operator takes scales in float32"));
}

const IrCpuKernel cpu_matmul_n_bits = { .name = "tiles of columns",
                                        .refuses = refuses_n_bits,
                                        .run = run_matmul_n_bits };
