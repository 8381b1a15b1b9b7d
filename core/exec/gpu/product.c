/* Products of matrices, by tiles in shared memory: MatMul with its broadcasting, Gemm. */
#include "config.h"

#include "core/exec/gpu/emit.h"
#include "core/op/infer-util.h"

#include <string.h>

#define TILE 64

typedef struct
{
  const GpuElement *element;
  gint64 m, n, k, batch;
  gint64 step_m, step_ka, step_kb, step_n; /* from element to element */
  char *batch_a, *batch_b, *place_c; /* text: where they begin, and where element i of Y has C */
  char *alpha, *beta;
  gboolean has_c;
} Product;

static void
product_clear (Product *product)
{
  g_free (product->batch_a);
  g_free (product->batch_b);
  g_free (product->place_c);
  g_free (product->alpha);
  g_free (product->beta);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Product, product_clear)

static char *
signed_number (gint64 value, const char *suffix)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT "%s", value, suffix);
}

/* Text of a function that gives the place of operand 0 of @loop. */
static char *
place_text (GpuLoop *loop)
{
  GString *text = g_string_new (NULL);

  gpu_loop_join (loop);
  gpu_loop_print (loop, "i", text);
  g_string_append (text, "  return o0;\n");
  return g_string_free (text, FALSE);
}

static char *
result_text (const Product *product, const GpuElement *c)
{
  gboolean is_real = gpu_is_real (product->element->compute);
  const char *sum = "sum[i * 4 + j]";

  if (!is_real)
    return g_strdup (sum);
  if (!product->has_c)
    return g_strdup_printf ("%s * %s", product->alpha, sum);
  return g_strdup_printf ("%s * %s + %s * %s (K_LOAD (c, c_$name (o)))", product->alpha, sum,
                          product->beta, c->load);
}

static const char *
add_product (const Product *p, IrGpuProgram *program)
{
  const GpuElement *e = p->element;
  gint64 tiles_m = (p->m + TILE - 1) / TILE, tiles_n = (p->n + TILE - 1) / TILE, blocks;
  gboolean wide = (double) p->batch * (double) MAX (p->m * p->n, MAX (p->m * p->k, p->k * p->n)) >
                  G_MAXINT32;
  const char *suffix = wide ? "ull" : "u";
  IrGpuLaunch *launch;

  if (p->batch * p->m * p->n == 0)
    return NULL;
  if (__builtin_mul_overflow (p->batch, tiles_m * tiles_n, &blocks) || blocks > G_MAXINT32)
    return "it has more tiles than a launch has blocks";
  g_autofree char *tm = signed_number (tiles_m, "u");
  g_autofree char *tn = signed_number (tiles_n, "u");
  g_autofree char *m = signed_number (p->m, suffix);
  g_autofree char *n = signed_number (p->n, suffix);
  g_autofree char *k = signed_number (p->k, suffix);
  g_autofree char *step_m = signed_number (p->step_m, suffix);
  g_autofree char *step_ka = signed_number (p->step_ka, suffix);
  g_autofree char *step_kb = signed_number (p->step_kb, suffix);
  g_autofree char *step_n = signed_number (p->step_n, suffix);
  g_autofree char *result = result_text (p, e);
  g_autofree char *parameters = g_strdup_printf (
      "const %s *x, const %s *w, %s%s%s%s *y", e->storage, e->storage, p->has_c ? "const " : "",
      p->has_c ? e->storage : "", p->has_c ? " *c, " : "", e->storage);

  launch = gpu_launch (program, "product",
                       gpu_fill ("product", "alpha", p->alpha, "beta", p->beta, "index",
                                 wide ? "unsigned long long" : "unsigned int", "batch_a",
                                 p->batch_a, "batch_b", p->batch_b, "place_c", p->place_c,
                                 "parameters", parameters, "compute", e->compute, "tiles_m", tm,
                                 "tiles_n", tn, "m", m, "n", n, "k", k, "step_m", step_m, "step_ka",
                                 step_ka, "step_kb", step_kb, "step_n", step_n, "load", e->load,
                                 "store", e->store, "result", result, NULL),
                       (guint64) blocks, GPU_THREADS);
  for (guint slot = 0; slot < 2 + (guint) p->has_c; slot++)
    gpu_launch_arg (launch, IR_GPU_INPUT, slot);
  gpu_launch_arg (launch, IR_GPU_OUTPUT, 0);
  return NULL;
}

/* The element type of inputs 0 and 1, which is that of the output. */
static const char *
read_element (Product *p, const IrCall *call)
{
  p->element = gpu_element (ir_call_input_dtype (call, 0));
  if (p->element == NULL || p->element != gpu_element (ir_call_input_dtype (call, 1)) ||
      p->element != gpu_element (call->outputs[0].type->dtype) ||
      p->element->dtype == IR_DTYPE_BOOL)
    return "no GPU kernel takes its element type";
  /* Sums of signed ones may wrap around, which C leaves open. */
  return g_str_equal (p->element->compute, "k_i64")
             ? "no GPU kernel takes products of signed integers"
             : NULL;
}

static void
batch_loop (GpuLoop *loop, const GpuShape *out, const GpuShape *operand)
{
  GpuShape batch = { .n = 1 };
  gint64 own[IR_MAX_RANK], strides[IR_MAX_RANK] = { 0 };
  guint n = out->rank, operand_n = operand->rank - 2;

  gpu_contiguous_strides (operand, own);
  for (guint i = 0; i < n; i++)
    {
      batch.dims[batch.rank++] = out->dims[i];
      batch.n *= (guint64) out->dims[i];
    }
  for (guint i = 0; i < operand_n; i++)
    strides[n - operand_n + i] = operand->dims[i] == 1 ? 0 : own[i];
  gpu_loop_init (loop, &batch);
  gpu_loop_add (loop, strides, 0);
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

static const char *
emit_matmul (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (Product) p = { 0 };
  GpuShape a, b, out, batch = { .n = 1 };
  GpuLoop loop;
  const char *why = read_element (&p, call);

  if (why != NULL)
    return why;
  if (!gpu_shape (ir_call_input_type (call, 0), &a) ||
      !gpu_shape (ir_call_input_type (call, 1), &b) || !gpu_shape (call->outputs[0].type, &out) ||
      a.rank > 32 || b.rank > 32)
    return "a shape is not known before the run";
  /* What is left of the output's axes are those of the batch. */
  batch.rank = out.rank - (a.rank > 1) - (b.rank > 1);
  memcpy (batch.dims, out.dims, batch.rank * sizeof out.dims[0]);
  as_matrix (&a, TRUE);
  as_matrix (&b, FALSE);
  for (guint i = 0; i < batch.rank; i++)
    batch.n *= (guint64) batch.dims[i];
  p.m = a.dims[a.rank - 2];
  p.k = a.dims[a.rank - 1];
  p.n = b.dims[b.rank - 1];
  p.batch = (gint64) batch.n;
  p.step_m = p.k;
  p.step_ka = 1;
  p.step_kb = p.n;
  p.step_n = 1;
  batch_loop (&loop, &batch, &a);
  p.batch_a = place_text (&loop);
  batch_loop (&loop, &batch, &b);
  p.batch_b = place_text (&loop);
  p.place_c = g_strdup ("  return i;\n");
  p.alpha = g_strdup ("1");
  p.beta = g_strdup ("0");
  return add_product (&p, program);
}

static const char *
emit_gemm (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  g_auto (Product) p = { .batch = 1 };
  GpuShape a, b, c, out;
  GpuLoop loop;
  gboolean ta = ir_call_int (call, "transA", 0) != 0, tb = ir_call_int (call, "transB", 0) != 0;
  const char *why = read_element (&p, call);

  if (why != NULL)
    return why;
  if (!gpu_is_real (p.element->compute))
    return "no GPU kernel takes its element type";
  if (!gpu_shape (ir_call_input_type (call, 0), &a) ||
      !gpu_shape (ir_call_input_type (call, 1), &b) || !gpu_shape (call->outputs[0].type, &out))
    return "a shape is not known before the run";
  p.m = out.dims[0];
  p.n = out.dims[1];
  p.k = a.dims[!ta];
  p.step_m = ta ? 1 : p.k;
  p.step_ka = ta ? p.m : 1;
  p.step_kb = tb ? 1 : p.n;
  p.step_n = tb ? p.k : 1;
  p.has_c = ir_call_has_input (call, 2);
  p.place_c = NULL;
  if (p.has_c)
    {
      if (!gpu_shape (ir_call_input_type (call, 2), &c) || c.rank > 2 ||
          gpu_element (ir_call_input_dtype (call, 2)) != p.element)
        return "C is of another type, or its shape is not known before the run";
      gpu_loop_init (&loop, &out);
      gpu_loop_add_broadcast (&loop, &c);
      p.place_c = place_text (&loop);
    }
  else
    p.place_c = g_strdup ("  return i;\n");
  p.batch_a = g_strdup ("  return 0;\n");
  p.batch_b = g_strdup ("  return 0;\n");
  p.alpha = gpu_number (ir_call_float (call, "alpha", 1),
                        g_str_equal (p.element->compute, "double"));
  p.beta = gpu_number (ir_call_float (call, "beta", 1), g_str_equal (p.element->compute, "double"));
  return add_product (&p, program);
}

const IrGpuKernel gpu_matmul = { "matmul", emit_matmul };
const IrGpuKernel gpu_gemm = { "gemm", emit_gemm };
