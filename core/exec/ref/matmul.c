/* Matrix products. Rows of A are taken a few at a time, so that a row of B is widened once for all
 * of them; sums are in double for floating-point types and wrap around for integers. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/kernel/threads.h"
#include "core/exec/ref/ref.h"

#define ROWS 8 /* of A at a time */

/* One product: Y[m, n] = sum over k of A[m, k] · B[k, n], from element offsets in the tensors. */
typedef struct
{
  IrCall *call;
  const IrTensor *a, *b, *c; /* c nullable: Gemm */
  IrTensor *y;
  guint64 m, k, n;
  gboolean trans_a, trans_b;
  double alpha, beta;
  guint64 a_start, b_start, y_start;
  gint no_memory; /* atomic: a thread got no scratch */
} Product;

static void
load_a (const Product *p, guint64 row, double *values)
{
  if (!p->trans_a)
    ir_block_load_many (p->call, p->a, p->a_start + row * p->k, p->k, values);
  else
    for (guint64 k = 0; k < p->k; k++)
      ir_block_load (p->a, p->a_start + k * p->m + row, 1, &values[k]);
}

/* sums[r, n] += A[row + r, :] · B[:, n] for the rows in hand. */
static void
add_products (const Product *p, guint64 n_rows, const double *a, double *b, double *sums)
{
  if (p->trans_b)
    for (guint64 n = 0; n < p->n; n++)
      {
        ir_block_load_many (p->call, p->b, p->b_start + n * p->k, p->k, b);
        for (guint64 r = 0; r < n_rows; r++)
          for (guint64 k = 0; k < p->k; k++)
            sums[r * p->n + n] += a[r * p->k + k] * b[k];
      }
  else
    for (guint64 k = 0; k < p->k; k++)
      {
        ir_block_load_many (p->call, p->b, p->b_start + k * p->n, p->n, b);
        for (guint64 r = 0; r < n_rows; r++)
          for (guint64 n = 0; n < p->n; n++)
            sums[r * p->n + n] += a[r * p->k + k] * b[n];
      }
}

/* beta · C, which broadcasts to [M, N]. */
static void
finish_row (const Product *p, guint64 row, double *sums)
{
  if (p->alpha != 1)
    for (guint64 n = 0; n < p->n; n++)
      sums[n] *= p->alpha;
  if (p->c == NULL || p->beta == 0)
    return;
  guint rank = ir_tensor_rank (p->c);
  const gint64 *dims = ir_tensor_dims (p->c);
  gboolean per_column = rank >= 1 && dims[rank - 1] != 1;
  gboolean per_row = rank >= 2 && dims[rank - 2] != 1;
  guint64 start = per_row ? row * (per_column ? p->n : 1) : 0;
  for (guint64 n = 0; n < p->n; n++)
    sums[n] += p->beta * ir_tensor_get_double (p->c, start + (per_column ? n : 0));
}

/* Groups [first, end) of ROWS rows. */
static void
run_rows (guint64 first, guint64 end, guint worker, gpointer data)
{
  Product *p = data;
  g_autofree double *a = ir_block_new (p->call, ROWS * p->k, NULL);
  g_autofree double *b = ir_block_new (p->call, MAX (p->k, p->n), NULL);
  g_autofree double *sums = ir_block_new (p->call, ROWS * p->n, NULL);

  if (a == NULL || b == NULL || sums == NULL)
    {
      g_atomic_int_set (&p->no_memory, TRUE);
      return;
    }
  for (guint64 group = first; group < end && !ir_call_stopped (p->call); group++)
    {
      guint64 row = group * ROWS, n_rows = MIN (p->m - row, ROWS);
      memset (sums, 0, sizeof (double) * n_rows * p->n);
      for (guint64 r = 0; r < n_rows; r++)
        load_a (p, row + r, a + r * p->k);
      add_products (p, n_rows, a, b, sums);
      for (guint64 r = 0; r < n_rows; r++)
        finish_row (p, row + r, sums + r * p->n);
      ir_block_store (p->y, p->y_start + row * p->n, n_rows * p->n, sums);
    }
}

static void
load_integers (const Product *p,
               const IrTensor *tensor,
               guint64 first,
               guint64 n,
               guint64 apart,
               guint64 *values)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  const void *data = ir_tensor_data (tensor);

  for (guint64 i = 0; i < n; i++)
    ir_dtype_get_int64 (dtype, data, first + i * apart, (gint64 *) &values[i]);
}

/* sums[r, :] += A[row + r, k] · B[k, :]. Integers: exact, modulo 2^64. */
static void
add_integers (const Product *p, guint64 row, guint64 n_rows, guint64 *b, guint64 *sums)
{
  for (guint64 k = 0; k < p->k; k++)
    {
      load_integers (p, p->b, p->b_start + k * (p->trans_b ? 1 : p->n), p->n, p->trans_b ? p->k : 1,
                     b);
      for (guint64 r = 0; r < n_rows; r++)
        {
          guint64 a, *sum = sums + r * p->n;
          load_integers (p, p->a,
                         p->a_start + (p->trans_a ? k * p->m + row + r : (row + r) * p->k + k), 1,
                         1, &a);
          for (guint64 n = 0; n < p->n; n++)
            sum[n] += a * b[n];
        }
    }
}

static guint64
integer_of_c (const Product *p, guint64 m, guint64 n)
{
  guint rank = ir_tensor_rank (p->c);
  gboolean per_column = rank >= 1 && ir_tensor_dims (p->c)[rank - 1] != 1;
  gboolean per_row = rank >= 2 && ir_tensor_dims (p->c)[rank - 2] != 1;

  return (guint64) ir_tensor_get_int64 (p->c, (per_row ? m * (per_column ? p->n : 1) : 0) +
                                                  (per_column ? n : 0));
}

/* Groups [first, end) of ROWS rows, modulo the width of the type in the end. */
static void
run_integers (guint64 first, guint64 end, guint worker, gpointer data)
{
  Product *p = data;
  g_autofree guint64 *b = (guint64 *) (gpointer) ir_block_new (p->call, p->n, NULL);
  g_autofree guint64 *sums = (guint64 *) (gpointer) ir_block_new (p->call, ROWS * p->n, NULL);
  gint64 alpha = (gint64) p->alpha, beta = (gint64) p->beta;

  if (b == NULL || sums == NULL)
    {
      g_atomic_int_set (&p->no_memory, TRUE);
      return;
    }
  for (guint64 group = first; group < end && !ir_call_stopped (p->call); group++)
    {
      guint64 row = group * ROWS, n_rows = MIN (p->m - row, ROWS);
      memset (sums, 0, sizeof *sums * n_rows * p->n);
      add_integers (p, row, n_rows, b, sums);
      for (guint64 i = 0; i < n_rows * p->n; i++)
        {
          guint64 sum = sums[i] * (guint64) alpha;
          if (p->c != NULL)
            sum += (guint64) beta * integer_of_c (p, row + i / p->n, i % p->n);
          ir_dtype_set_int64 (ir_tensor_dtype (p->y), ir_tensor_data_writable (p->y),
                              p->y_start + row * p->n + i, (gint64) sum);
        }
    }
}

static gboolean
run (Product *p, GError **error)
{
  IrDtype dtype = ir_tensor_dtype (p->a);

  if (ir_dtype_is_integer (dtype) || ir_dtype_is_float (dtype))
    ir_threads_for (p->call->threads, (p->m + ROWS - 1) / ROWS,
                    ir_threads_grain ((double) (ROWS * p->k) * (double) p->n),
                    ir_dtype_is_float (dtype) ? run_rows : run_integers, p);
  else
    return ir_call_fail (p->call, error, IR_OP_ERROR_DTYPE,
                         "A is %s, needed is a floating-point or integer type",
                         ir_dtype_name (dtype));
  if (g_atomic_int_get (&p->no_memory))
    return ir_call_fail (p->call, error, IR_OP_ERROR_LIMIT, "no memory for scratch");
  return !ir_block_cancelled (p->call, error);
}

/* Element offset of the matrix of @tensor that meets batch index @at of the output. */
static guint64
batch_offset (const IrTensor *tensor, const gint64 *at, int n_batch, guint64 matrix)
{
  int rank = (int) ir_tensor_rank (tensor), own = MAX (rank - 2, 0);
  guint64 offset = 0;

  for (int i = 0; i < own; i++)
    {
      gint64 size = ir_tensor_dims (tensor)[i];
      offset = offset * (guint64) size + (size == 1 ? 0 : (guint64) at[n_batch - own + i]);
    }
  return offset * matrix;
}

/* Input 0 is [.., M, K], input 1 is [.., K, N]. Source: ONNX MatMul 13; numpy.matmul. */
gboolean
ir_ref_matmul (IrCall *call, GError **error)
{
  const IrTensor *a = ir_call_input (call, 0), *b = ir_call_input (call, 1);
  int a_rank = (int) ir_tensor_rank (a), b_rank = (int) ir_tensor_rank (b);

  if (!ir_infer_matmul (call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  Product p = { .call = call, .a = a, .b = b, .y = y, .alpha = 1, .beta = 0 };
  p.m = a_rank > 1 ? (guint64) ir_tensor_dims (a)[a_rank - 2] : 1;
  p.k = (guint64) ir_tensor_dims (a)[a_rank - 1];
  p.n = b_rank > 1 ? (guint64) ir_tensor_dims (b)[b_rank - 1] : 1;
  guint64 per_matrix = p.m * p.n, n_matrices = 1;
  int n_batch = MAX (MAX (a_rank, b_rank) - 2, 0);
  gint64 at[IR_MAX_RANK] = { 0 };
  for (int i = 0; i < n_batch; i++)
    n_matrices *= (guint64) ir_tensor_dims (y)[i];
  for (guint64 i = 0; i < n_matrices && per_matrix > 0; i++)
    {
      p.a_start = batch_offset (a, at, n_batch, p.m * p.k);
      p.b_start = batch_offset (b, at, n_batch, p.k * p.n);
      p.y_start = i * per_matrix;
      if (!run (&p, error))
        return FALSE;
      for (int axis = n_batch; axis-- > 0;)
        {
          if (++at[axis] < ir_tensor_dims (y)[axis])
            break;
          at[axis] = 0;
        }
    }
  return TRUE;
}

/* A [M, K], B [K, N] (transposed by transA, transB), C or none. Source: ONNX Gemm 13. */
gboolean
ir_ref_gemm (IrCall *call, GError **error)
{
  if (!ir_infer_gemm (call, error))
    return FALSE;
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL)
    return FALSE;
  Product p = {
    .call = call,
    .a = ir_call_input (call, 0),
    .b = ir_call_input (call, 1),
    .c = ir_call_input (call, 2),
    .y = y,
    .trans_a = ir_call_int (call, "transA", 0) != 0,
    .trans_b = ir_call_int (call, "transB", 0) != 0,
    .alpha = ir_call_float (call, "alpha", 1),
    .beta = ir_call_float (call, "beta", 1),
    .m = (guint64) ir_tensor_dims (y)[0],
    .n = (guint64) ir_tensor_dims (y)[1],
  };
  p.k = (guint64) ir_tensor_dims (p.a)[p.trans_a ? 0 : 1];
  return p.m * p.n == 0 || run (&p, error);
}
