/* Matrix products on dnnl_sgemm, with the fused forms. Small products of a batch are shared among
 * threads whole; a large one is split inside by oneDNN. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

#include <omp.h>
#include <string.h>

#define LARGE_PRODUCT 2000000 /* multiply-adds: from here on one product is worth all threads */
#define SMALL_PRODUCT 512     /* elements of a vector loop: the least that one takes */

/* How many parts a product of these sizes is cut into. With few rows of A, reading B is what takes
 * long. */
static int
use_threads (const IrCall *call, gint64 m, gint64 n, gint64 k)
{
  guint64 matrix = (guint64) n * (guint64) k, work = MAX ((guint64) m * matrix / 64, matrix / 4);

  cpu_library_threads (call, cpu_n_threads (call, work));
  return cpu_n_parts (call, work);
}

/* What a product that did not get done leads to: nothing more if it was to stop. */
static gboolean
give_up (IrCall *call, GError **error)
{
  return !ir_call_fail_if_stopped (call, error) && ir_ref_run (call, error);
}

/* What is read @row and @column apart, @column 0 or 1, times @factor. */
CPU_VECTORIZED static void
spread (const float *from, gint64 row, gint64 column, float factor, gint64 m, gint64 n, float *y)
{
  if (column == 0)
    for (gint64 i = 0; i < m; i++)
      for (gint64 j = 0; j < n; j++)
        y[i * n + j] = factor * from[i * row];
  else
    for (gint64 i = 0; i < m; i++)
      for (gint64 j = 0; j < n; j++)
        y[i * n + j] = factor * from[i * row + j];
}

/* C broadcast to [M, N], times beta, into Y. */
static void
spread_bias (const IrTensor *c, float beta, gint64 m, gint64 n, float *y)
{
  guint rank = ir_tensor_rank (c);
  const gint64 *dims = ir_tensor_dims (c);
  gint64 columns = rank >= 1 ? dims[rank - 1] : 1, rows = rank >= 2 ? dims[rank - 2] : 1;

  spread (ir_tensor_data (c), rows == 1 ? 0 : columns, columns != 1, beta, m, n, y);
}

static gboolean
bias_fits (const IrTensor *c, gint64 m, gint64 n)
{
  guint rank = ir_tensor_rank (c);
  const gint64 *dims = ir_tensor_dims (c);

  return rank <= 2 && (rank < 1 || dims[rank - 1] == n || dims[rank - 1] == 1) &&
         (rank < 2 || dims[0] == m || dims[0] == 1);
}

/* -- Gemm -- */

static gboolean
run_gemm (IrCall *call, GError **error)
{
  const IrTensor *a = ir_call_input (call, 0), *b = ir_call_input (call, 1),
                 *c = ir_call_input (call, 2);
  gboolean trans_a = ir_call_int (call, "transA", 0) != 0,
           trans_b = ir_call_int (call, "transB", 0) != 0;
  float alpha = ir_call_float (call, "alpha", 1),
        beta = c != NULL ? ir_call_float (call, "beta", 1) : 0;
  CpuEpilogue epilogue;
  gint64 dims[2], k;
  int n_parts;
  float *y;

  if (ir_tensor_rank (a) != 2 || ir_tensor_rank (b) != 2 || !cpu_epilogue_of (call, &epilogue))
    return ir_ref_run (call, error);
  dims[0] = ir_tensor_dims (a)[trans_a ? 1 : 0];
  dims[1] = ir_tensor_dims (b)[trans_b ? 0 : 1];
  k = ir_tensor_dims (a)[trans_a ? 0 : 1];
  if (ir_tensor_dims (b)[trans_b ? 1 : 0] != k || k == 0 || alpha == 0 ||
      (c != NULL && !bias_fits (c, dims[0], dims[1])))
    return ir_ref_run (call, error); /* empty sums, 0 times NaN, what does not fit */
  y = cpu_new_floats_shaped (call, 0, 2, dims, error);
  if (y == NULL)
    return FALSE;
  n_parts = use_threads (call, dims[0], dims[1], k);
  if (beta != 0)
    spread_bias (c, beta, dims[0], dims[1], y);
  CpuProduct product = { .m = dims[0],
                         .n = dims[1],
                         .k = k,
                         .alpha = alpha,
                         .beta = beta != 0 ? 1 : 0,
                         .a = { ir_tensor_data (a), trans_a ? dims[0] : k, trans_a },
                         .b = cpu_constant_matrix (call, dims[0], dims[1], k, trans_b),
                         .y = y,
                         .y_distance = dims[1] };
  if (product.b.data == NULL || !cpu_multiply_parts (call, &product, n_parts))
    return give_up (call, error);
  cpu_epilogue_all (call, &epilogue, y, (guint64) (dims[0] * dims[1]));
  return TRUE;
}

const IrCpuKernel cpu_gemm = {
  .name = "oneDNN sgemm",
  .refuses = cpu_needs_float,
  .unaligned = 2,
  .candidates = cpu_product_candidates,
  .variant = cpu_product_variant,
  .run = run_gemm,
};

/* -- MatMul: batches with broadcast leading axes -- */

typedef struct
{
  gint64 m, n, k;
  guint rank; /* of Y as numpy sees it, with the axes of vectors */
  gint64 dims[IR_MAX_RANK], a_stride[IR_MAX_RANK], b_stride[IR_MAX_RANK]; /* strides in matrices */
  gint64 n_batches;
} Batch;

/* Strides of the leading axes of one operand, aligned at the right; 0 where it broadcasts. */
static void
batch_strides (const gint64 *dims, guint rank, guint batch_rank, gint64 *strides)
{
  gint64 stride = 1;

  for (guint i = 0; i < batch_rank; i++)
    {
      guint axis = batch_rank - 1 - i;
      gint64 dim = i + 2 < rank ? dims[rank - 3 - i] : 1;

      strides[axis] = dim == 1 ? 0 : stride;
      stride *= dim;
    }
}

static gboolean
batch_init (Batch *batch, const IrTensor *a, const IrTensor *b)
{
  const gint64 *da = ir_tensor_dims (a), *db = ir_tensor_dims (b);
  guint ra = ir_tensor_rank (a), rb = ir_tensor_rank (b), n;

  if (ra < 2 || rb < 2 || da[ra - 1] != db[rb - 2])
    return FALSE;
  batch->m = da[ra - 2];
  batch->k = da[ra - 1];
  batch->n = db[rb - 1];
  n = MAX (ra, rb) - 2;
  batch->rank = n + 2;
  batch->n_batches = 1;
  for (guint i = 0; i < n; i++)
    {
      gint64 dim_a = i + ra >= n + 2 ? da[i + ra - n - 2] : 1,
             dim_b = i + rb >= n + 2 ? db[i + rb - n - 2] : 1;

      if (dim_a != dim_b && dim_a != 1 && dim_b != 1)
        return FALSE;
      batch->dims[i] = dim_a == 1 ? dim_b : dim_a;
      batch->n_batches *= batch->dims[i];
    }
  batch_strides (da, ra, n, batch->a_stride);
  batch_strides (db, rb, n, batch->b_stride);
  batch->dims[n] = batch->m;
  batch->dims[n + 1] = batch->n;
  return TRUE;
}

static void
batch_place (const Batch *batch, gint64 index, gint64 *a, gint64 *b)
{
  *a = *b = 0;
  for (guint i = batch->rank - 2; i > 0; i--)
    {
      gint64 at = index % batch->dims[i - 1];

      *a += at * batch->a_stride[i - 1];
      *b += at * batch->b_stride[i - 1];
      index /= batch->dims[i - 1];
    }
}

/* One B for all of A: the batch is one tall matrix. */
static void
flatten_batch (Batch *batch, const IrTensor *b)
{
  if (ir_tensor_n_elements (b) != (guint64) (batch->k * batch->n))
    return;
  for (guint i = 0; i + 2 < batch->rank; i++)
    if (batch->dims[i] != 1 && batch->a_stride[i] == 0)
      return;
  batch->m *= batch->n_batches;
  batch->n_batches = 1;
}

/* B where one serves all of the batch, perhaps packed; else the first one. */
static CpuMatrix
constant_of (const IrCall *call, const Batch *batch)
{
  const IrTensor *b = ir_call_input (call, 1);

  if (ir_tensor_n_elements (b) != (guint64) (batch->k * batch->n))
    return (CpuMatrix){ ir_tensor_data (b), batch->n, FALSE };
  return cpu_constant_matrix (call, batch->m * batch->n_batches, batch->n, batch->k, FALSE);
}

/* One product of the batch, in @n_parts. */
static gboolean
multiply_one (const IrCall *call,
              const Batch *batch,
              gint64 index,
              int n_parts,
              const float *a,
              const CpuMatrix *b,
              float *y)
{
  gint64 at_a, at_b;

  batch_place (batch, index, &at_a, &at_b);
  CpuProduct product = { .m = batch->m,
                         .n = batch->n,
                         .k = batch->k,
                         .alpha = 1,
                         .a = { a + at_a * batch->m * batch->k, batch->k, FALSE },
                         .b = { b->data + at_b * batch->k * b->distance, b->distance, FALSE },
                         .y = y + index * batch->m * batch->n,
                         .y_distance = batch->n };
  return cpu_multiply_parts (call, &product, n_parts);
}

/* Of one product, in elements of a vector loop; calling the library takes long as well. */
static gint64
work_of (const Batch *batch)
{
  return MAX (batch->m * batch->n * batch->k / 64, SMALL_PRODUCT);
}

/* Many small products are dealt out whole, a large one is cut. The two are never nested: OpenMP
 * would start new threads for the inner one each time. */
static gboolean
multiply_batch (const IrCall *call, const Batch *batch, float *y)
{
  const float *a = ir_tensor_data (ir_call_input (call, 0));
  int n_parts = use_threads (call, batch->m * batch->n_batches, batch->n, batch->k),
      n_threads = MIN (n_parts, (int) ir_threads_n (call->threads));
  gboolean done = TRUE;
  CpuMatrix b = constant_of (call, batch);

  if (b.data == NULL)
    return FALSE;
  CpuWatch watch = cpu_watch (call, work_of (batch));
  if (n_parts == 1 || batch->n_batches == 1 || batch->m * batch->n * batch->k >= LARGE_PRODUCT)
    {
      for (gint64 i = 0; i < batch->n_batches && done && !cpu_watch_stopped (&watch, i); i++)
        done = multiply_one (call, batch, i, n_parts, a, &b, y);
      return done;
    }
#pragma omp parallel num_threads(n_threads)
  for (gint64 i = cpu_share (batch->n_batches, 0), until = cpu_share (batch->n_batches, 1);
       i < until && !cpu_watch_stopped (&watch, i); i++)
    if (!multiply_one (call, batch, i, 1, a, &b, y))
#pragma omp atomic write
      done = FALSE;
  return done;
}

static gboolean
run_matmul (IrCall *call, GError **error)
{
  const IrTensor *a = ir_call_input (call, 0), *b = ir_call_input (call, 1);
  Batch batch;
  float *y;

  if (!batch_init (&batch, a, b) || batch.k == 0)
    return ir_ref_run (call, error);
  y = cpu_new_floats_shaped (call, 0, batch.rank, batch.dims, error);
  if (y == NULL)
    return FALSE;
  if (ir_tensor_n_elements (call->outputs[0].tensor) == 0)
    return TRUE;
  flatten_batch (&batch, b);
  return multiply_batch (call, &batch, y) || give_up (call, error);
}

const IrCpuKernel cpu_matmul = {
  .name = "oneDNN sgemm",
  .refuses = cpu_needs_float,
  .unaligned = 2,
  .candidates = cpu_product_candidates,
  .variant = cpu_product_variant,
  .run = run_matmul,
};

/* -- MatMulAdd and its activations: C broadcasts to the result, as the mask of attention does -- */

#define PIECE 4096 /* elements of the result that are added to and activated at a time */

/* The axes of the result, the innermost first. Neighbours over which C goes on evenly are one, and
 * the innermost is a row: of one number, or of numbers side by side. */
typedef struct
{
  const float *data;
  guint rank;                                    /* at least 2 */
  gint64 dims[IR_MAX_RANK], stride[IR_MAX_RANK]; /* in elements of C; 0 where it broadcasts */
} Addend;

/* That C broadcasts to the result, and not the result to C, inference has checked. */
static void
addend_init (Addend *addend, const Batch *batch, const IrTensor *c)
{
  guint rank = ir_tensor_rank (c), n = 0;
  const gint64 *dims = ir_tensor_dims (c);
  gint64 stride = 1;

  addend->data = ir_tensor_data (c);
  for (guint i = 0; i < batch->rank; i++)
    {
      gint64 size = batch->dims[batch->rank - 1 - i], dim = i < rank ? dims[rank - 1 - i] : 1,
             step = dim == 1 ? 0 : stride;

      stride *= dim;
      if (size == 1)
        continue;
      if (n > 0 && step == addend->stride[n - 1] * addend->dims[n - 1] &&
          (n > 1 || size * addend->dims[0] <= PIECE))
        addend->dims[n - 1] *= size;
      else
        {
          addend->dims[n] = size;
          addend->stride[n++] = step;
        }
    }
  for (; n < 2; n++)
    addend->dims[n] = 1, addend->stride[n] = 0;
  addend->rank = n;
}

/* What is added to row @row of the result. */
static const float *
addend_row (const Addend *addend, gint64 row)
{
  gint64 at = 0;

  for (guint i = 1; i < addend->rank; i++)
    {
      at += row % addend->dims[i] * addend->stride[i];
      row /= addend->dims[i];
    }
  return addend->data + at;
}

/* @column: 1, or 0 where one number serves the whole row. */
CPU_VECTORIZED static void
add_rows (float *y, const float *from, gint64 rows, gint64 n, gint64 row, gint64 column)
{
  if (column == 0)
    for (gint64 i = 0; i < rows; i++)
      for (gint64 j = 0; j < n; j++)
        y[i * n + j] += from[i * row];
  else
    for (gint64 i = 0; i < rows; i++)
      for (gint64 j = 0; j < n; j++)
        y[i * n + j] += from[i * row + j];
}

/* Rows [first, end) of the result at @y. */
static void
add_piece (const Addend *addend, gint64 first, gint64 end, float *y)
{
  gint64 n = addend->dims[0], m = addend->dims[1];

  while (first < end)
    {
      gint64 rows = MIN (end - first, m - first % m);

      add_rows (y + first * n, addend_row (addend, first), rows, n, addend->stride[1],
                addend->stride[0]);
      first += rows;
    }
}

typedef struct
{
  const CpuEpilogue *epilogue;
  const Addend *addend;
  gint64 rows, rows_each; /* of the result, and of a piece of it */
  float *y;
} Sum;

/* Pieces [at, until). */
static void
add_pieces (const Sum *sum, CpuWatch *watch, gint64 at, gint64 until)
{
  gint64 n = sum->addend->dims[0];

  for (gint64 i = at; i < until && !cpu_watch_stopped (watch, i); i++)
    {
      gint64 first = i * sum->rows_each, end = MIN (first + sum->rows_each, sum->rows);

      add_piece (sum->addend, first, end, sum->y);
      cpu_epilogue (sum->epilogue, sum->y + first * n, (guint64) ((end - first) * n), 0);
    }
}

static void
add_and_activate (const IrCall *call,
                  const CpuEpilogue *epilogue,
                  const Addend *addend,
                  gint64 elements,
                  float *y)
{
  Sum sum = { epilogue, addend, elements / addend->dims[0], MAX (PIECE / addend->dims[0], 1), y };
  gint64 pieces = (sum.rows + sum.rows_each - 1) / sum.rows_each;
  int n_threads = cpu_n_threads (call, (guint64) elements);
  CpuWatch watch = cpu_watch (call, sum.rows_each * addend->dims[0]);

  /* Entering a parallel region takes as long as a small product; that of others around is not to be
   * shared with them. */
  if (n_threads == 1)
    add_pieces (&sum, &watch, 0, pieces);
  else
#pragma omp parallel num_threads(n_threads)
    add_pieces (&sum, &watch, cpu_share (pieces, 0), cpu_share (pieces, 1));
}

static gboolean
run_matmul_add (IrCall *call, GError **error)
{
  const IrTensor *a = ir_call_input (call, 0), *b = ir_call_input (call, 1);
  CpuEpilogue epilogue;
  Addend addend;
  Batch batch;
  float *y;

  if (!batch_init (&batch, a, b) || batch.k == 0 || !cpu_epilogue_of (call, &epilogue) ||
      batch.n_batches * batch.m * batch.n == 0)
    return ir_ref_run (call, error);
  y = cpu_new_floats_shaped (call, 0, batch.rank, batch.dims, error);
  if (y == NULL)
    return FALSE;
  addend_init (&addend, &batch, ir_call_input (call, 2));
  flatten_batch (&batch, b);
  if (!multiply_batch (call, &batch, y))
    return give_up (call, error);
  add_and_activate (call, &epilogue, &addend, batch.m * batch.n_batches * batch.n, y);
  return TRUE;
}

const IrCpuKernel cpu_matmul_add = {
  .name = "oneDNN sgemm",
  .refuses = cpu_needs_float,
  .unaligned = 2,
  .candidates = cpu_product_candidates,
  .variant = cpu_product_variant,
  .run = run_matmul_add,
};
