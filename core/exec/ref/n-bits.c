/* Weights of a few bits that lie in blocks with a scale each, as quantizers of language models write
 * them for ONNX Runtime: products with them, and rows of tables. Source: ContribOperators.md. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/n-bits.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <string.h>

static gboolean
needs (const IrCall *call, guint slot, guint64 n, GError **error)
{
  const IrTensor *tensor = ir_call_input (call, slot);

  return ir_tensor_n_elements (tensor) >= n ||
         ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                       "input %u has %" G_GUINT64_FORMAT " elements, needed are %" G_GUINT64_FORMAT,
                       slot, ir_tensor_n_elements (tensor), n);
}

/* Y [.., N] of A [.., K] and one column of the weight after the other. */
typedef struct
{
  IrCall *call;
  guint64 rows, k, n;
  double *a, *column, *y;
} Product;

static void
product_clear (Product *p)
{
  g_free (p->a);
  g_free (p->column);
  g_free (p->y);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Product, product_clear)

static gboolean
product_init (Product *p, IrCall *call, guint64 k, guint64 n, GError **error)
{
  p->call = call;
  p->k = k;
  p->n = n;
  p->rows = ir_tensor_n_elements (ir_call_input (call, 0)) / k;
  p->a = ir_block_load_new (call, 0, error);
  p->column = p->a != NULL ? ir_block_new (call, k, error) : NULL;
  p->y = p->column != NULL ? ir_block_new (call, p->rows * n, error) : NULL;
  return p->y != NULL;
}

static void
multiply_column (Product *p, guint64 column)
{
  for (guint64 row = 0; row < p->rows; row++)
    p->y[row * p->n + column] = ir_block_dot (p->a + row * p->k, p->column, p->k);
}

static gboolean
product_finish (Product *p, guint bias, GError **error)
{
  IrTensor *y = ir_block_new_output (p->call, 0, error);

  if (y == NULL || (ir_call_has_input (p->call, bias) && !needs (p->call, bias, p->n, error)))
    return FALSE;
  for (guint64 i = 0; ir_call_has_input (p->call, bias) && i < p->rows * p->n; i++)
    p->y[i] += ir_tensor_get_double (ir_call_input (p->call, bias), i % p->n);
  ir_block_store (y, 0, p->rows * p->n, p->y);
  return TRUE;
}

/* -- MatMulNBits -- */

typedef struct
{
  guint bits;
  guint64 block, blocks, bytes; /* numbers in a block; blocks of a column; bytes of a block */
  const guint8 *data;
  const IrTensor *scales, *zeros, *groups; /* the last two nullable */
} Blocks;

/* The zero point of a block: one that is as packed as the numbers, one of the type of A, or the
 * middle. */
static double
zero_of (const Blocks *b, guint64 column, guint64 block)
{
  if (b->zeros == NULL)
    return (double) (1u << (b->bits - 1));
  if (ir_tensor_dtype (b->zeros) != IR_DTYPE_UINT8)
    return ir_tensor_get_double (b->zeros, column * b->blocks + block);
  guint64 row = (b->blocks * b->bits + 7) / 8;
  return ir_n_bits_at ((const guint8 *) ir_tensor_data (b->zeros) + column * row, block, b->bits);
}

static gboolean
blocks_init (Blocks *b, IrCall *call, guint64 k, guint64 n, GError **error)
{
  b->bits = (guint) ir_call_int (call, "bits", 4);
  b->block = (guint64) ir_call_int (call, "block_size", 0);
  b->blocks = (k + b->block - 1) / b->block;
  b->bytes = (b->block * b->bits + 7) / 8;
  b->data = ir_tensor_data (ir_call_input (call, 1));
  b->scales = ir_call_input (call, 2);
  b->zeros = ir_call_input (call, 3);
  b->groups = ir_call_input (call, 4);
  if (ir_tensor_dtype (ir_call_input (call, 1)) != IR_DTYPE_UINT8)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "B is %s, needed is uint8",
                         ir_dtype_name (ir_tensor_dtype (ir_call_input (call, 1))));
  if (ir_call_int (call, "weight_prepacked", 0) != 0)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "a weight in the order of another machine's kernels is not supported");
  gboolean packed = b->zeros != NULL && ir_tensor_dtype (b->zeros) == IR_DTYPE_UINT8;
  return needs (call, 1, n * b->blocks * b->bytes, error) &&
         needs (call, 2, n * b->blocks, error) &&
         (b->zeros == NULL ||
          needs (call, 3, packed ? n * ((b->blocks * b->bits + 7) / 8) : n * b->blocks, error)) &&
         (b->groups == NULL || needs (call, 4, k, error));
}

/* A, B [N, blocks, bytes], scales [N, blocks], zero points, the block of each row, a bias. */
gboolean
ir_ref_matmul_n_bits (IrCall *call, GError **error)
{
  g_auto (Product) p = { 0 };
  Blocks b;

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  guint64 k = (guint64) ir_call_int (call, "K", 1), n = (guint64) ir_call_int (call, "N", 1);
  if (!blocks_init (&b, call, k, n, error) || !product_init (&p, call, k, n, error))
    return FALSE;
  for (guint64 column = 0; column < n; column++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      for (guint64 i = 0; i < k; i++)
        {
          guint64 block = b.groups != NULL ? (guint64) ir_tensor_get_int64 (b.groups, i)
                                           : i / b.block;
          if (block >= b.blocks)
            return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "g_idx names no block");
          guint number = ir_n_bits_at (b.data + (column * b.blocks + i / b.block) * b.bytes,
                                       i % b.block, b.bits);
          p.column[i] = (number - zero_of (&b, column, block)) *
                        ir_tensor_get_double (b.scales, column * b.blocks + block);
        }
      multiply_column (&p, column);
    }
  return product_finish (&p, 5, error);
}

/* -- MatMulBnb4 -- */

static const double fp4[16] = {
  0,  5.208333333e-03,  0.66666667,  1,  0.33333333,  0.5,  0.16666667,  0.25,
  -0, -5.208333333e-03, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25,
};

static const double nf4[16] = {
  -1,
  -0.6961928009986877,
  -0.5250730514526367,
  -0.39491748809814453,
  -0.28444138169288635,
  -0.18477343022823334,
  -0.09105003625154495,
  0,
  0.07958029955625534,
  0.16093020141124725,
  0.24611230194568634,
  0.33791524171829224,
  0.44070982933044434,
  0.5626170039176941,
  0.7229568362236023,
  1,
};

/* A, the codes of the weight's transpose one behind the other, the first of two in the high bits,
 * and the largest magnitude of each block. */
gboolean
ir_ref_matmul_bnb4 (IrCall *call, GError **error)
{
  g_auto (Product) p = { 0 };

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  guint64 k = (guint64) ir_call_int (call, "K", 1), n = (guint64) ir_call_int (call, "N", 1);
  guint64 block = (guint64) ir_call_int (call, "block_size", 1), all;
  gboolean transposed = ir_call_int (call, "transB", 1) != 0;
  const double *codes = ir_call_int (call, "quant_type", 1) == 0 ? fp4 : nf4;
  const IrTensor *absmax = ir_call_input (call, 2);
  if (!g_uint64_checked_mul (&all, k, n) ||
      ir_tensor_dtype (ir_call_input (call, 1)) != IR_DTYPE_UINT8)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "B does not fit K, N and uint8");
  if (!needs (call, 1, (all + 1) / 2, error) || !needs (call, 2, (all + block - 1) / block, error))
    return FALSE;
  const guint8 *data = ir_tensor_data (ir_call_input (call, 1));
  if (!product_init (&p, call, transposed ? k : n, transposed ? n : k, error))
    return FALSE;
  for (guint64 column = 0; column < p.n; column++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      for (guint64 i = 0; i < p.k; i++)
        {
          guint64 at = transposed ? column * k + i : i * k + column;
          guint code = at % 2 == 0 ? data[at / 2] >> 4 : data[at / 2] & 15;
          p.column[i] = codes[code] * ir_tensor_get_double (absmax, at / block);
        }
      multiply_column (&p, column);
    }
  return product_finish (&p, 3, error);
}

/* -- MatMulFpQ4 -- */

/* Blocks of a column one behind the other, and columns: a scale in float, perhaps a zero point, and
 * numbers of 4 bits, of each 32 the first half in the low bits. */
typedef struct
{
  guint64 size, head, bytes; /* numbers; bytes before them, and all */
  gboolean with_zero;
} Q4Block;

static double
q4_number (const guint8 *block, const Q4Block *kind, guint64 i)
{
  const guint8 *byte = block + kind->head + i / 32 * 16 + i % 16;
  guint code = i % 32 < 16 ? *byte & 15 : *byte >> 4;
  float scale;

  memcpy (&scale, block, sizeof scale);
  return ((double) code - (kind->with_zero ? block[sizeof scale] : 8)) * (double) scale;
}

/* A [.., K], bytes, and [K, N]. */
gboolean
ir_ref_matmul_fp_q4 (IrCall *call, GError **error)
{
  static const Q4Block kinds[] = { { 32, 4, 20, FALSE },
                                   { 32, 5, 21, TRUE },
                                   { 64, 4, 36, FALSE } };
  g_auto (Product) p = { 0 };
  g_autofree gint64 *shape = NULL;
  guint n;

  if (!ir_ref_prepare (call, error) || !ir_block_check_float (call, error))
    return FALSE;
  const Q4Block *kind = &kinds[ir_call_int (call, "blk_quant_type", 1)];
  if (!ir_call_input_ints (call, 2, &shape, &n) ||
      ir_tensor_dtype (ir_call_input (call, 1)) != IR_DTYPE_UINT8)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "B is no uint8, or B_shape no shape");
  guint64 k = (guint64) shape[0], columns = (guint64) shape[1], all;
  guint64 blocks = (k + kind->size - 1) / kind->size;
  if (!g_uint64_checked_mul (&all, blocks * kind->bytes, columns) || !needs (call, 1, all, error) ||
      !product_init (&p, call, k, columns, error))
    return FALSE;
  const guint8 *data = ir_tensor_data (ir_call_input (call, 1));
  for (guint64 column = 0; column < columns; column++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      for (guint64 i = 0; i < k; i++)
        p.column[i] = q4_number (data + (column * blocks + i / kind->size) * kind->bytes, kind,
                                 i % kind->size);
      multiply_column (&p, column);
    }
  return product_finish (&p, 3, error);
}

/* -- GatherBlockQuantized -- */

typedef struct
{
  const IrTensor *data, *scales, *zeros; /* the last nullable */
  guint bits;
  gint64 block, quantized; /* the axis of the blocks */
  gint64 dims[IR_MAX_RANK], scale_dims[IR_MAX_RANK];
  guint rank;
} Table;

static double
stored (const IrTensor *tensor, guint64 i, guint bits)
{
  if (ir_tensor_dtype (tensor) == IR_DTYPE_UINT8)
    return ir_n_bits_at (ir_tensor_data (tensor), i, bits);
  return ir_tensor_get_double (tensor, i);
}

/* The number at @at, counted in numbers. */
static double
real_at (const Table *t, guint64 at)
{
  guint64 rest = at, scale_at = 0, step = 1, zero_at;
  gboolean bytes = ir_tensor_dtype (t->data) == IR_DTYPE_UINT8;
  gint64 blocks = t->scale_dims[t->rank - 1];

  for (guint i = t->rank; i-- > 0;)
    {
      guint64 place = rest % (guint64) t->dims[i];
      rest /= (guint64) t->dims[i];
      scale_at += (i == t->quantized ? place / (guint64) t->block : place) * step;
      step *= (guint64) t->scale_dims[i];
    }
  /* Zero points in bytes begin anew with each row. */
  zero_at = bytes && t->bits < 8 && blocks % 2 != 0
                ? scale_at / (guint64) blocks * (guint64) (blocks + 1) + scale_at % (guint64) blocks
                : scale_at;
  double zero = t->zeros != NULL ? stored (t->zeros, zero_at, t->bits)
                : bytes          ? (double) (1u << (t->bits - 1))
                                 : 0;
  return (stored (t->data, at, t->bits) - zero) * ir_tensor_get_double (t->scales, scale_at);
}

static gboolean
table_init (Table *t, IrCall *call, GError **error)
{
  guint64 n_scales = 1, n_zeros;

  t->data = ir_call_input (call, 0);
  t->scales = ir_call_input (call, 2);
  t->zeros = ir_call_input (call, 3);
  t->rank = ir_tensor_rank (t->data);
  t->block = ir_call_int (call, "block_size", 128);
  t->bits = (guint) ir_call_int (call, "bits", 4);
  if (!ir_call_axis (call, ir_call_int (call, "quantize_axis", 1), (int) t->rank, &t->quantized,
                     error))
    return FALSE;
  gboolean bytes = ir_tensor_dtype (t->data) == IR_DTYPE_UINT8;
  for (guint i = 0; i < t->rank; i++)
    {
      t->dims[i] = ir_tensor_dims (t->data)[i];
      if (i + 1 == t->rank && bytes && t->bits == 4)
        t->dims[i] *= 2;
      t->scale_dims[i] = i == t->quantized ? (t->dims[i] + t->block - 1) / t->block : t->dims[i];
      n_scales *= (guint64) t->scale_dims[i];
    }
  n_zeros = bytes && t->bits == 4 && t->scale_dims[t->rank - 1] > 0
                ? n_scales / (guint64) t->scale_dims[t->rank - 1] *
                      (guint64) ((t->scale_dims[t->rank - 1] + 1) / 2)
                : n_scales;
  return needs (call, 2, n_scales, error) && (t->zeros == NULL || needs (call, 3, n_zeros, error));
}

/* data, indices, scales, zero points. */
gboolean
ir_ref_gather_block_quantized (IrCall *call, GError **error)
{
  const IrTensor *indices = ir_call_input (call, 1);
  gint64 axis, outer, inner;
  Table t;

  if (!ir_ref_prepare (call, error) || !table_init (&t, call, error) ||
      !ir_call_axis (call, ir_call_int (call, "gather_axis", 0), (int) t.rank, &axis, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  ir_ref_split_at (t.rank, t.dims, (guint) axis, &outer, &inner);
  guint64 n = ir_tensor_n_elements (indices), out = 0;
  for (gint64 o = 0; o < outer; o++)
    for (guint64 i = 0; i < n; i++)
      {
        gint64 index = ir_tensor_get_int64 (indices, i);
        if (index < -t.dims[axis] || index >= t.dims[axis])
          return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                               "index %" G_GINT64_FORMAT " is not one of %" G_GINT64_FORMAT, index,
                               t.dims[axis]);
        if (ir_block_cancelled (call, error))
          return FALSE;
        index += index < 0 ? t.dims[axis] : 0;
        for (gint64 k = 0; k < inner; k++)
          {
            double value = real_at (&t, (guint64) ((o * t.dims[axis] + index) * inner + k));
            ir_block_store (y, out++, 1, &value);
          }
      }
  return TRUE;
}
