/* Products of matrices, by tiles in shared memory: MatMul with its broadcasting, Gemm, what fused operators
 * do behind them, and products of whole numbers. */
#include "config.h"

#include "core/exec/gpu/blas.h"
#include "core/exec/gpu/quantize.h"
#include "core/exec/gpu/writer.h"
#include "core/op/infer-util.h"

#include <string.h>

#define TILE 64

/* Sizes of a product, and how far the elements of its operands are apart. */
typedef struct
{
  gint64 m, n, k, batch;
  gint64 step_m, step_ka, step_kb, step_n;
  gint64 stride_a,
      stride_b; /* between two of the batch: 0: one for all, -1: not the same throughout */
} Product;

static void
put_operand (GpuWriter *w, const char *word, const char *name, const char *place, const char *minus)
{
  gpu_put (w, word, "($sum) ($load_%s (K_LOAD (%s, %s)))%s", name, name, place, minus);
}

/* Launches the template; parameters, $sum, $result and $finishing are there. @minus_a, @minus_b: what is
 * taken off elements of row m of A, and column n of B. */
static const char *
write_product (GpuWriter *w, const Product *p, const char *minus_a, const char *minus_b)
{
  gint64 tiles_m = (p->m + TILE - 1) / TILE, tiles_n = (p->n + TILE - 1) / TILE, blocks;
  double most = (double) p->batch * (double) MAX (p->m * p->n, MAX (p->m * p->k, p->k * p->n));

  if (w->why != NULL || p->batch * p->m * p->n == 0)
    return w->why;
  if (__builtin_mul_overflow (p->batch, tiles_m * tiles_n, &blocks) || blocks > G_MAXINT32)
    return gpu_refuse (w, "it has more tiles than a launch has blocks");
  gpu_put_extent (w, most > G_MAXINT32 ? G_MAXUINT64 : 0);
  gpu_put_int (w, "tiles_m", tiles_m);
  gpu_put_int (w, "tiles_n", tiles_n);
  gpu_put_int (w, "m", p->m);
  gpu_put_int (w, "n", p->n);
  gpu_put_int (w, "k", p->k);
  gpu_put_int (w, "step_m", p->step_m);
  gpu_put_int (w, "step_ka", p->step_ka);
  gpu_put_int (w, "step_kb", p->step_kb);
  gpu_put_int (w, "step_n", p->step_n);
  IrDtype dtype = ir_call_input_dtype (w->call, 0);
  if (dtype == IR_DTYPE_FLOAT16 || dtype == IR_DTYPE_BFLOAT16)
    {
      gpu_put (w, "mma", "%s", dtype == IR_DTYPE_FLOAT16 ? "k_mma_half" : "k_mma_bfloat");
      return gpu_write (w, "product-half", (guint64) blocks, GPU_THREADS);
    }
  put_operand (w, "value_a", "x", "at_a + m * $step_m + ka * $step_ka", minus_a);
  put_operand (w, "value_b", "w", "at_b + kb * $step_kb + n * $step_n", minus_b);
  return gpu_write (w, "product", (guint64) blocks, GPU_THREADS);
}

/* -- in the place of the kernel -- */

/* Slot of an addend that has a number for each column, and nothing else behind the product; -1: there is
 * no addend, -2: it is something else. */
static int
bias_of (GpuWriter *w, guint slot, gint64 n)
{
  GpuShape shape, out;

  if (slot == 0 || !ir_call_has_input (w->call, slot))
    return -1;
  if (!gpu_shape_of_input (w, slot, &shape) || !gpu_shape_of_output (w, 0, &out) ||
      shape.rank == 0 || out.rank < 2 || out.dims[out.rank - 1] != n ||
      shape.dims[shape.rank - 1] != n || shape.n != (guint64) n)
    return -2;
  return (int) slot;
}

/* Says what cuBLAS may compute instead of the kernel that was written. @bias: as bias_of() has it, of what is no
 * addend of the operator */
static const char *
offer (GpuWriter *w, const char *why, const Product *p, double alpha, int bias)
{
  const IrOp *op = w->call->op;
  int addend = bias_of (w, op->addend, p->n);
  IrGpuProduct product = { .dtype = ir_call_input_dtype (w->call, 0),
                           .m = p->m,
                           .n = p->n,
                           .k = p->k,
                           .batch = p->batch,
                           .turned_a = p->step_ka != 1,
                           .turned_b = p->step_n != 1,
                           .stride_a = p->stride_a,
                           .stride_b = p->stride_b,
                           .alpha = alpha,
                           .a = 0,
                           .b = 1,
                           .bias = bias };
  gboolean finished = op->activation != IR_ACTIVATION_NONE || addend == -2;
  IrGpuLaunch *launch;

  if (why != NULL || p->batch * p->m * p->n == 0 || bias == -2 || p->stride_a < 0 ||
      p->stride_b < 0)
    return why;
  if (!finished && addend >= 0)
    product.bias = addend;
  /* One matrix on the right: the rows of all on the left are those of one. */
  if (p->stride_b == 0 && (p->batch == 1 || p->stride_a == p->m * p->k) && !product.turned_a)
    {
      product.m *= product.batch;
      product.batch = 1;
    }
  /* A bias for each of a batch is not for cuBLASLt. */
  if (!gpu_blas_has (&product) && product.bias >= 0 && product.bias == addend)
    {
      product.bias = -1;
      finished = TRUE;
    }
  if (!gpu_blas_has (&product))
    return NULL;
  launch = w->program->launches->pdata[w->program->launches->len - 1];
  if (finished && (launch->finish = gpu_write_finish (w->call, NULL)) == NULL)
    return NULL;
  launch->product = g_memdup2 (&product, sizeof product);
  return NULL;
}

/* -- shapes -- */

/* Where the matrices of @operand begin, for each of those of the result. */
static void
put_batch (GpuWriter *w, const char *word, const GpuShape *batch, const GpuShape *operand)
{
  gint64 own[IR_MAX_RANK], strides[IR_MAX_RANK] = { 0 };
  guint n = batch->rank, operand_n = operand->rank - 2;
  GpuLoop loop;

  gpu_contiguous_strides (operand, own);
  for (guint i = 0; i < operand_n; i++)
    strides[n - operand_n + i] = operand->dims[i] == 1 ? 0 : own[i];
  gpu_loop_init (&loop, batch);
  gpu_loop_add (&loop, strides, 0);
  gpu_loop_join (&loop);
  gpu_put_loop (w, word, &loop, "i");
}

/* How far the matrices of @operand are apart, if that is the same throughout @batch. */
static gint64
stride_of (const GpuShape *batch, const GpuShape *operand, gint64 elements)
{
  const guint n = operand->rank - 2;
  gint64 own = 1;
  gboolean whole = TRUE;

  for (guint i = 0; i < batch->rank; i++)
    {
      const gint64 dim = i >= batch->rank - n ? operand->dims[i - (batch->rank - n)] : 1;
      own *= dim;
      whole = whole && dim == batch->dims[i];
    }
  return own == 1 ? 0 : whole ? elements : -1;
}

/* A vector is a matrix of one row on the left, of one column on the right. */
static void
as_matrix (GpuShape *shape, gboolean left)
{
  if (shape->rank > 1)
    return;
  shape->dims[1] = left ? shape->dims[0] : 1;
  shape->dims[0] = left ? 1 : shape->dims[0];
  shape->rank = 2;
}

/* Of inputs @slot_a and @slot_b, which broadcast as those of MatMul do. */
static gboolean
read_matmul (GpuWriter *w, guint slot_a, guint slot_b, Product *p, GpuShape *out)
{
  GpuShape a, b, batch = { .n = 1 };

  if (!gpu_shape_of_input (w, slot_a, &a) || !gpu_shape_of_input (w, slot_b, &b) ||
      !gpu_shape_of_output (w, 0, out))
    return FALSE;
  if (a.rank == 0 || b.rank == 0 || a.rank > 32 || b.rank > 32)
    {
      gpu_refuse (w, "it has no matrices, or more than 32 axes");
      return FALSE;
    }
  /* What is left of the output's axes are those of the batch. */
  batch.rank = out->rank - (a.rank > 1) - (b.rank > 1);
  memcpy (batch.dims, out->dims, batch.rank * sizeof out->dims[0]);
  for (guint i = 0; i < batch.rank; i++)
    batch.n *= (guint64) batch.dims[i];
  as_matrix (&a, TRUE);
  as_matrix (&b, FALSE);
  *p = (Product){ .m = a.dims[a.rank - 2],
                  .n = b.dims[b.rank - 1],
                  .k = a.dims[a.rank - 1],
                  .batch = (gint64) batch.n,
                  .step_ka = 1,
                  .step_n = 1 };
  p->step_m = p->k;
  p->step_kb = p->n;
  p->stride_a = stride_of (&batch, &a, p->m * p->k);
  p->stride_b = stride_of (&batch, &b, p->k * p->n);
  put_batch (w, "batch_a", &batch, &a);
  put_batch (w, "batch_b", &batch, &b);
  return TRUE;
}

/* -- of one type -- */

/* Inputs 0 and 1 and what becomes of them; whole numbers wrap around, which those without a sign do. */
static const GpuElement *
put_operands (GpuWriter *w)
{
  const GpuElement *e = gpu_put_input (w, "x", 0);

  if (e == NULL || gpu_put_input (w, "w", 1) != e || e->dtype == IR_DTYPE_BOOL)
    {
      gpu_refuse (w, gpu_no_element);
      return NULL;
    }
  gpu_put (w, "sum", "%s", gpu_is_real (e->compute) ? e->compute : "k_u64");
  return e;
}

static const char *
emit_matmul (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape out;
  Product p;

  gpu_writer_init (&w, program, call, "matmul");
  const GpuElement *e = put_operands (&w);
  if (e == NULL || !read_matmul (&w, 0, 1, &p, &out))
    return w.why;
  if (gpu_is_real (e->compute))
    gpu_put_epilogue (&w, &out, e);
  else
    gpu_put (&w, "finishing", "%s", "");
  if (gpu_put_output (&w, "y", 0) != e)
    return gpu_refuse (&w, gpu_no_element);
  gpu_put (&w, "result", gpu_is_real (e->compute) ? "%s (e_$name (s, o$arguments))" : "(%s) s",
           gpu_is_real (e->compute) ? e->store : e->storage);
  return offer (&w, write_product (&w, &p, "", ""), &p, 1, -1);
}

static gboolean
put_c (GpuWriter *w, const GpuShape *out, const GpuElement *e)
{
  GpuShape c;
  GpuLoop loop;

  if (gpu_put_input (w, "c", 2) != e || !gpu_shape_of_input (w, 2, &c) || c.rank > 2)
    {
      gpu_refuse (w, "C is of another type, or its shape is not known before the run");
      return FALSE;
    }
  gpu_loop_init (&loop, out);
  gpu_loop_add_broadcast (&loop, &c);
  gpu_put (w, "plus",
           " + $beta * %s (K_LOAD (c, m * "
           "%" G_GINT64_FORMAT " + n * %" G_GINT64_FORMAT "))",
           e->load, loop.strides[0][0], loop.strides[0][1]);
  return TRUE;
}

static const char *
emit_gemm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  gboolean ta = ir_call_int (call, "transA", 0) != 0, tb = ir_call_int (call, "transB", 0) != 0;
  g_auto (GpuWriter) w;
  GpuShape a, b, out;
  Product p = { .batch = 1 };

  gpu_writer_init (&w, program, call, "gemm");
  const GpuElement *e = put_operands (&w);
  if (e == NULL || !gpu_is_real (e->compute))
    return gpu_refuse (&w, gpu_no_element);
  if (!gpu_shape_of_input (&w, 0, &a) || !gpu_shape_of_input (&w, 1, &b) ||
      !gpu_shape_of_output (&w, 0, &out))
    return w.why;
  p.m = out.dims[0];
  p.n = out.dims[1];
  p.k = a.dims[!ta];
  p.step_m = ta ? 1 : p.k;
  p.step_ka = ta ? p.m : 1;
  p.step_kb = tb ? 1 : p.n;
  p.step_n = tb ? p.k : 1;
  gpu_put (&w, "plus", "%s", "");
  if (ir_call_has_input (call, 2) && !put_c (&w, &out, e))
    return w.why;
  gpu_put_epilogue (&w, &out, e);
  gpu_put_output (&w, "y", 0);
  gpu_put (&w, "batch_a", "  $index o0 = 0;\n");
  gpu_put (&w, "batch_b", "  $index o0 = 0;\n");
  gpu_put_number (&w, "alpha", ir_call_float (call, "alpha", 1), e->compute);
  gpu_put_number (&w, "beta", ir_call_float (call, "beta", 1), e->compute);
  gpu_put (&w, "result", "%s (e_$name ($alpha * s$plus, o$arguments))", e->store);
  int bias = bias_of (&w, 2, p.n);
  if (bias >= 0 && ir_call_float (call, "beta", 1) != 1)
    bias = -2;
  return offer (&w, write_product (&w, &p, "", ""), &p, ir_call_float (call, "alpha", 1), bias);
}

/* -- of whole numbers -- */

/* Text of a number of input @slot: one for all, or one for each row or column, @place. */
static char *
number_text (GpuWriter *w, const char *name, guint slot, const char *place)
{
  const IrType *type = ir_call_input_type (w->call, slot);

  if (!ir_call_has_input (w->call, slot))
    return NULL;
  const GpuElement *element = gpu_put_input (w, name, slot);
  if (element == NULL)
    return NULL;
  if (!ir_type_is_static (type) || (ir_type_count (type) != 1 && type->rank != 1))
    gpu_refuse (w, "a zero point or scale is neither one number nor a list");
  return g_strdup_printf ("%s%s (K_LOAD (%s, %s))",
                          gpu_is_real (element->compute) ? "" : "(k_u64) ", element->load, name,
                          ir_type_count (type) == 1 ? "0" : place);
}

static char *
minus_text (GpuWriter *w, const char *name, guint slot, const char *place)
{
  g_autofree char *number = number_text (w, name, slot, place);

  return number != NULL ? g_strconcat (" - ", number, NULL) : g_strdup ("");
}

static gboolean
is_whole (const GpuElement *element)
{
  return element != NULL && !gpu_is_real (element->compute) && ir_dtype_bits (element->dtype) <= 16;
}

static const char *
emit_matmul_integer (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape out;
  Product p;

  gpu_writer_init (&w, program, call, "matmul_integer");
  if (!is_whole (gpu_put_input (&w, "x", 0)) || !is_whole (gpu_put_input (&w, "w", 1)))
    return gpu_refuse (&w, gpu_no_element);
  if (!read_matmul (&w, 0, 1, &p, &out))
    return w.why;
  g_autofree char *minus_a = minus_text (&w, "x_zero", 2, "m");
  g_autofree char *minus_b = minus_text (&w, "w_zero", 3, "n");
  gpu_put (&w, "sum", "k_u64");
  gpu_put (&w, "finishing", "%s", "");
  gpu_put_output (&w, "y", 0);
  gpu_put (&w, "result", "(int) s");
  return write_product (&w, &p, minus_a, minus_b);
}

static const char *
emit_q_linear_matmul (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (GpuWriter) w;
  GpuShape out;
  Product p;

  gpu_writer_init (&w, program, call, "q_linear_matmul");
  if (!is_whole (gpu_put_input (&w, "x", 0)) || !is_whole (gpu_put_input (&w, "w", 3)))
    return gpu_refuse (&w, gpu_no_element);
  if (!read_matmul (&w, 0, 3, &p, &out))
    return w.why;
  g_autofree char *minus_a = minus_text (&w, "x_zero", 2, "m");
  g_autofree char *minus_b = minus_text (&w, "w_zero", 5, "n");
  g_autofree char *a = number_text (&w, "xs", 1, "m"), *b = number_text (&w, "ws", 4, "n");
  g_autofree char *y = number_text (&w, "ys", 6, "m"), *zero = number_text (&w, "yz", 7, "m");
  const GpuElement *e = gpu_put_output (&w, "y", 0);
  if (w.why != NULL || !is_whole (e) || ir_call_input_dtype (call, 1) != IR_DTYPE_FLOAT)
    return gpu_refuse (&w, gpu_no_element);
  gpu_put (&w, "sum", "k_u64");
  gpu_put_quantize (&w, "finishing", e->dtype);
  gpu_put (&w, "result", "(%s) q_$name ((float) (k_i64) s * (%s * %s / %s), (k_i64) (%s))",
           e->storage, a, b, y, zero);
  return write_product (&w, &p, minus_a, minus_b);
}

const IrGpuKernel gpu_matmul = { "matmul", emit_matmul };
const IrGpuKernel gpu_gemm = { "gemm", emit_gemm };
const IrGpuKernel gpu_matmul_integer = { "matmul-integer", emit_matmul_integer };
const IrGpuKernel gpu_q_linear_matmul = { "q-linear-matmul", emit_q_linear_matmul };
