/* MatMulInteger, QLinearMatMul, and what convolutions of integers share with them: dot products of
 * rows of 16 bits, whose pairs the vector units add in 32. They are exact, as those of the
 * reference are. */
#include "config.h"

#include "core/exec/cpu/integer.h"
#include "core/exec/kernel/prepack.h"
#include "core/exec/ref/quantize.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define TILE  4  /* rows of each side whose dot products are taken at once */
#define BLOCK 64 /* rows of each side that stay in the first caches */

gint64
cpu_integer_row (gint64 k)
{
  return (k + CPU_INTEGER_PAD - 1) / CPU_INTEGER_PAD * CPU_INTEGER_PAD;
}

/* -- dot products -- */

CPU_VECTORIZED static gint32
dot (const gint16 *a, const gint16 *b, gint64 n)
{
  gint32 sum = 0;

  for (gint64 i = 0; i < n; i++)
    sum += (gint32) a[i] * b[i];
  return sum;
}

CPU_VECTORIZED static void
dot_tile (const gint16 *a, const gint16 *b, gint64 row, gint32 *to, gint64 distance)
{
  gint32 sums[TILE][TILE] = { 0 };

  for (gint64 i = 0; i < row; i++)
    for (int k = 0; k < TILE; k++)
      for (int j = 0; j < TILE; j++)
        sums[k][j] += (gint32) a[k * row + i] * b[j * row + i];
  for (int k = 0; k < TILE; k++)
    for (int j = 0; j < TILE; j++)
      to[k * distance + j] = sums[k][j];
}

/* sums [m, n] of @a [m, row] and @b [n, row]; @distance: from row to row of @sums. */
void
cpu_integer_dots (
    const gint16 *a, gint64 m, const gint16 *b, gint64 n, gint64 row, gint32 *sums, gint64 distance)
{
  for (gint64 i = 0; i < m; i += TILE)
    for (gint64 j = 0; j < n; j += TILE)
      if (i + TILE <= m && j + TILE <= n)
        dot_tile (a + i * row, b + j * row, row, sums + i * distance + j, distance);
      else
        for (gint64 k = i; k < MIN (i + TILE, m); k++)
          for (gint64 l = j; l < MIN (j + TILE, n); l++)
            sums[k * distance + l] = dot (a + k * row, b + l * row, row);
}

/* -- operands -- */

static gboolean
is_byte (IrDtype dtype)
{
  return dtype == IR_DTYPE_INT8 || dtype == IR_DTYPE_UINT8;
}

static const char *
refuses (const IrNode *node, guint second)
{
  return is_byte (cpu_dtype (node, 0)) && is_byte (cpu_dtype (node, second))
             ? NULL
             : "the CPU kernel of this operator multiplies int8 and uint8, and an operand is of "
               "another or unknown type";
}

const char *
cpu_integer_refuses (const IrNode *node)
{
  return refuses (node, 1);
}

const char *
cpu_quantized_refuses (const IrNode *node)
{
  return refuses (node, 3);
}

/* @n elements of @tensor from @first on, @distance apart, less @zero. */
void
cpu_integer_copy (
    const IrTensor *tensor, gint64 first, gint64 distance, gint64 n, gint zero, gint16 *to)
{
  if (ir_tensor_dtype (tensor) == IR_DTYPE_INT8)
    {
      const gint8 *from = (const gint8 *) ir_tensor_data (tensor) + first;
      for (gint64 i = 0; i < n; i++)
        to[i] = (gint16) (from[i * distance] - zero);
    }
  else
    {
      const guint8 *from = (const guint8 *) ir_tensor_data (tensor) + first;
      for (gint64 i = 0; i < n; i++)
        to[i] = (gint16) (from[i * distance] - zero);
    }
}

/* (transfer full) (nullable): @n zero points, of an input that has none, one or a vector of so many; %NULL:
 * it is of another shape, or there is no memory */
gint16 *
cpu_integer_zeros (const IrCall *call, guint slot, gint64 n)
{
  const IrTensor *tensor = ir_call_input (call, slot);
  gint64 own = tensor != NULL ? (gint64) ir_tensor_n_elements (tensor) : 0;
  gboolean fits = tensor == NULL || own == 1 || (own == n && ir_tensor_rank (tensor) == 1);
  gint16 *zeros = fits ? g_try_new0 (gint16, (gsize) MAX (n, 1)) : NULL;

  for (gint64 i = 0; zeros != NULL && tensor != NULL && i < n; i++)
    zeros[i] = (gint16) ir_tensor_get_double (tensor, own == 1 ? 0 : (guint64) i);
  return zeros;
}

static gpointer
pack (const IrTensor *operand, gpointer data)
{
  const CpuIntegerPacking *packing = data;
  gint16 *memory = calloc ((gsize) MAX (packing->n, 1), sizeof *memory);

  if (memory != NULL)
    packing->fill (packing, operand, memory);
  return memory;
}

static gboolean
are_equal (const gint16 *zeros, gint64 n)
{
  for (gint64 i = 1; i < n; i++)
    if (zeros[i] != zeros[0])
      return FALSE;
  return TRUE;
}

/* (nullable): the operand of @slot as @packing makes it: of a constant once for all runs, where it has
 * one zero point; else in @own, for this call. %NULL: there is no memory */
const gint16 *
cpu_integer_operand (const IrCall *call, guint slot, const CpuIntegerPacking *packing, gint16 **own)
{
  const IrTensor *operand = ir_call_input (call, slot);
  guint64 form = (guint64) (guint16) packing->zeros[0] << 32 | packing->form;
  const gint16 *packed = NULL;

  if (call->packed != NULL && ir_value_constant (call->node->inputs[slot]) == operand &&
      are_equal (packing->zeros, packing->n_zeros))
    packed = ir_packed_get (call->packed, operand, form, pack, (gpointer) packing);
  if (packed == NULL)
    packed = *own = pack (operand, (gpointer) packing);
  return packed;
}

/* -- what is stored -- */

/* The output of @call, of the type that was inferred for it. FALSE: @error is set. */
gboolean
cpu_integer_store_init (CpuIntegerStore *store, IrCall *call, GError **error)
{
  IrDtype dtype = call->outputs[0].type->dtype;
  gboolean is_signed = dtype == IR_DTYPE_INT8;

  *store = (CpuIntegerStore){ .dtype = dtype,
                              .low = is_signed ? G_MININT8 : 0,
                              .high = is_signed ? G_MAXINT8 : G_MAXUINT8 };
  store->y = cpu_new_output (call, 0, error);
  return store->y != NULL;
}

/* The scales of inputs @x_scale and @w_scale, one or one per channel, and behind the latter's zero
 * point the scale and the zero point of the output. FALSE: they are of another form, or there is no
 * memory. */
gboolean
cpu_integer_store_scale (
    CpuIntegerStore *store, const IrCall *call, guint x_scale, guint w_scale, gint64 channels)
{
  const IrTensor *x = ir_call_input (call, x_scale), *w = ir_call_input (call, w_scale);
  const IrTensor *y = ir_call_input (call, w_scale + 2), *zero = ir_call_input (call, w_scale + 3);

  store->n_scales = (gint64) ir_tensor_n_elements (w);
  if (!is_byte (store->dtype) || ir_tensor_n_elements (x) != 1 || ir_tensor_n_elements (y) != 1 ||
      ir_tensor_n_elements (zero) != 1 || (store->n_scales != 1 && store->n_scales != channels))
    return FALSE;
  store->zero = ir_tensor_get_double (zero, 0);
  store->scales = g_try_new (double, (gsize) store->n_scales);
  for (gint64 i = 0; store->scales != NULL && i < store->n_scales; i++)
    store->scales[i] = ir_ref_joint_scale (ir_tensor_get_double (x, 0),
                                           ir_tensor_get_double (w, (guint64) i),
                                           ir_tensor_get_double (y, 0));
  return store->scales != NULL;
}

void
cpu_integer_store_clear (CpuIntegerStore *store)
{
  g_clear_pointer (&store->scales, g_free);
}

/* A sum of @channel becomes element @at, as ir_ref_requantize() has it. */
void
cpu_integer_store (const CpuIntegerStore *store, gint64 channel, gint32 sum, gint64 at)
{
  if (store->dtype == IR_DTYPE_INT32)
    {
      ((gint32 *) store->y)[at] = sum;
      return;
    }
  double whole = sum;
  if (store->bias != NULL)
    whole += ((const gint32 *) ir_tensor_data (store->bias))[channel];
  double scale = store->scales[store->n_scales == 1 ? 0 : channel];
  float scaled = (float) ((double) (float) whole * scale);
  double result = isnan (scaled) ? 0 : CLAMP (rint (scaled) + store->zero, store->low, store->high);
  if (store->dtype == IR_DTYPE_INT8)
    ((gint8 *) store->y)[at] = (gint8) result;
  else
    ((guint8 *) store->y)[at] = (guint8) result;
}

/* -- matrices -- */

typedef struct
{
  const IrCall *call;
  gint64 m, n, k, row; /* of all matrices of A together, which meet the one of B */
  gint64 rows;         /* of a matrix of A */
  gint16 *a;           /* [m, row] */
  const gint16 *b;     /* [n, row] */
  gint16 *own_b;       /* (nullable) the memory of @b, where no constant has it */
  CpuIntegerStore store;
} Product;

static void
product_clear (Product *product)
{
  g_clear_pointer (&product->a, g_free);
  g_clear_pointer (&product->own_b, free);
  cpu_integer_store_clear (&product->store);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Product, product_clear)

static void
copy_left (Product *product, const gint16 *zeros)
{
  const IrTensor *left = ir_call_input (product->call, 0);
  int n_threads = cpu_n_threads (product->call, (guint64) (product->m * product->k));

#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 i = 0; i < product->m; i++)
    cpu_integer_copy (left, i * product->k, 1, product->k, zeros[i % product->rows],
                      product->a + i * product->row);
}

/* Columns of B become rows. */
static void
fill_right (const CpuIntegerPacking *packing, const IrTensor *right, gint16 *to)
{
  const Product *product = packing->product;
  int n_threads = cpu_n_threads (product->call, (guint64) (product->n * product->k));

#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (gint64 i = 0; i < product->n; i++)
    cpu_integer_copy (right, i, product->n, product->k, packing->zeros[i], to + i * product->row);
}

static void
multiply_block (const Product *product, gint64 m, gint64 n, gint32 *sums)
{
  gint64 n_rows = MIN (BLOCK, product->m - m), n_columns = MIN (BLOCK, product->n - n);

  cpu_integer_dots (product->a + m * product->row, n_rows, product->b + n * product->row, n_columns,
                    product->row, sums, BLOCK);
  for (gint64 i = 0; i < n_rows; i++)
    for (gint64 j = 0; j < n_columns; j++)
      cpu_integer_store (&product->store, n + j, sums[i * BLOCK + j], (m + i) * product->n + n + j);
}

static void
multiply (const Product *product)
{
  gint64 across = (product->n + BLOCK - 1) / BLOCK;
  gint64 n_blocks = (product->m + BLOCK - 1) / BLOCK * across, next = 0; /* atomic */
  double work = (double) product->m * (double) product->n * (double) product->k / 16;
  int n_threads = (int) MIN (cpu_n_threads (product->call, (guint64) MIN (work, 1e18)), n_blocks);
  CpuWatch watch = cpu_watch (product->call, BLOCK * product->row);

#pragma omp parallel num_threads(n_threads)
  {
    gint32 sums[BLOCK * BLOCK];

    for (gint64 i; (i = __atomic_fetch_add (&next, 1, __ATOMIC_RELAXED)) < n_blocks &&
                   !cpu_watch_stopped (&watch, i);)
      multiply_block (product, i / across * BLOCK, i % across * BLOCK, sums);
  }
}

/* FALSE: left to the reference: vectors, several matrices of B, long rows. */
static gboolean
product_init (Product *product, const IrCall *call, guint b)
{
  const IrTensor *left = ir_call_input (call, 0), *right = ir_call_input (call, b);
  guint rank = ir_tensor_rank (left);

  *product = (Product){ .call = call };
  if (rank < 2 || ir_tensor_rank (right) != 2 || ir_tensor_n_elements (left) == 0 ||
      ir_tensor_n_elements (right) == 0)
    return FALSE;
  product->k = ir_tensor_dims (left)[rank - 1];
  product->m = (gint64) ir_tensor_n_elements (left) / product->k;
  product->n = ir_tensor_dims (right)[1];
  product->rows = ir_tensor_dims (left)[rank - 2];
  product->row = cpu_integer_row (product->k);
  if (product->k > CPU_INTEGER_TERMS)
    return FALSE;
  product->a = g_try_new0 (gint16, (gsize) (product->m * product->row));
  return product->a != NULL;
}

/* @b: the slot of B; that of its zero point is @b_zero, that of A's is 2. */
static gboolean
run_product (IrCall *call, guint b, guint b_zero, gboolean quantizes, GError **error)
{
  g_auto (Product) product = { 0 };
  g_autofree gint16 *left = NULL, *right = NULL;

  if (!call->op->infer (call, error))
    return FALSE;
  if (!product_init (&product, call, b))
    return ir_ref_run (call, error);
  left = cpu_integer_zeros (call, 2, product.rows);
  right = cpu_integer_zeros (call, b_zero, product.n);
  if (left == NULL || right == NULL)
    return ir_ref_run (call, error);
  if (!cpu_integer_store_init (&product.store, call, error))
    return FALSE;
  if (quantizes && !cpu_integer_store_scale (&product.store, call, 1, 4, product.n))
    return ir_ref_run (call, error);
  product.b = cpu_integer_operand (call, b,
                                   &(CpuIntegerPacking){ .fill = fill_right,
                                                         .product = &product,
                                                         .zeros = right,
                                                         .n_zeros = product.n,
                                                         .n = product.n * product.row },
                                   &product.own_b);
  if (product.b == NULL)
    return ir_ref_run (call, error);
  copy_left (&product, left);
  multiply (&product);
  return !ir_call_fail_if_stopped (call, error);
}

static gboolean
run_matmul_integer (IrCall *call, GError **error)
{
  return run_product (call, 1, 3, FALSE, error);
}

static gboolean
run_q_linear_matmul (IrCall *call, GError **error)
{
  return run_product (call, 3, 5, TRUE, error);
}

const IrCpuKernel cpu_matmul_integer = { .name = "dot products of 16 bits",
                                         .refuses = cpu_integer_refuses,
                                         .run = run_matmul_integer };
const IrCpuKernel cpu_q_linear_matmul = { .name = "dot products of 16 bits",
                                          .refuses = cpu_quantized_refuses,
                                          .run = run_q_linear_matmul };
