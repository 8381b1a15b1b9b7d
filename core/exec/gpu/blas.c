/* cuBLAS has matrices by columns: a matrix by rows is its transpose there, so that y = a b by rows is y' = b' a'.
 * Each stream has a workspace, which is given to it: with one of its own, results may depend on the stream, and
 * one for two of them would be written by both at once. */
#include "config.h"

#include "core/exec/gpu/blas.h"

#include <string.h>

#define WORKSPACE_BYTES (32 << 20) /* what cuBLAS asks for on its largest devices */

/* Of the headers of CUDA: cublas_api.h, cublasLt.h, library_types.h. */
enum
{
  OP_N = 0,
  OP_T = 1,
  GEMM_DEFAULT = -1,
  DESC_TRANSA = 3,
  DESC_TRANSB = 4,
  DESC_EPILOGUE = 7,
  DESC_BIAS_POINTER = 8,
  EPILOGUE_BIAS = 4
};

struct _GpuBlas
{
  const IrGpu *gpu;
  struct cublasContext *handle;
  struct cublasLtContext *lt; /* (nullable) without cuBLASLt */
  guint stream;               /* of the handle: which has its workspace */
  unsigned long long workspaces[IR_GPU_MAX_STREAMS];
};

/* cublasComputeType_t, of float32 */
static const unsigned int computes[IR_GPU_N_PRECISIONS] = {
  [IR_GPU_STRICT] = 69, /* 32F_PEDANTIC */
  [IR_GPU_TF32] = 77,   /* 32F_FAST_TF32 */
  [IR_GPU_HALF] = 74,   /* 32F_FAST_16F */
};

/* Element types that there are products of. */
static const struct
{
  IrDtype dtype;
  unsigned int type;    /* cudaDataType */
  unsigned int compute; /* 0: as the precision says */
  gboolean is_double;   /* so are the factors */
} types[] = {
  { IR_DTYPE_FLOAT, 0, 0, FALSE },
  { IR_DTYPE_DOUBLE, 1, 71 /* 64F_PEDANTIC */, TRUE },
  { IR_DTYPE_FLOAT16, 2, 69, FALSE },
  { IR_DTYPE_BFLOAT16, 14, 69, FALSE },
};

void
gpu_blas_free (GpuBlas *blas)
{
  if (blas == NULL)
    return;
  if (blas->lt != NULL)
    blas->gpu->functions.cublasLtDestroy (blas->lt);
  if (blas->handle != NULL)
    blas->gpu->functions.cublasDestroy_v2 (blas->handle);
  for (guint i = 0; i < IR_GPU_MAX_STREAMS; i++)
    if (blas->workspaces[i] != 0)
      blas->gpu->functions.cuMemFree_v2 (blas->workspaces[i]);
  g_free (blas);
}

/* From now on the handle works in @stream. Giving it one takes its workspace away, so that comes behind. */
static gboolean
take_stream (GpuBlas *blas, struct CUstream_st *stream, guint number, GError **error)
{
  if (blas->workspaces[number] != 0 && blas->stream == number)
    return TRUE;
  if (blas->workspaces[number] == 0 &&
      !IR_GPU_CALL (blas->gpu, cuMemAlloc_v2, error, &blas->workspaces[number], WORKSPACE_BYTES))
    return FALSE;
  blas->stream = number;
  return IR_GPU_CALL (blas->gpu, cublasSetStream_v2, error, blas->handle, stream) &&
         IR_GPU_CALL (blas->gpu, cublasSetWorkspace_v2, error, blas->handle,
                      (void *) (gsize) blas->workspaces[number], WORKSPACE_BYTES);
}

GpuBlas *
gpu_blas_new (const IrGpu *gpu, struct CUstream_st *stream, GError **error)
{
  const IrGpuLibrary *library = &gpu->libraries[IR_GPU_CUBLAS];
  GpuBlas *blas;

  if (library->state != IR_GPU_USABLE)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE, "%s: %s", library->title,
                   library->reason);
      return NULL;
    }
  blas = g_new0 (GpuBlas, 1);
  blas->gpu = gpu;
  if (IR_GPU_CALL (gpu, cublasCreate_v2, error, &blas->handle) &&
      take_stream (blas, stream, 0, error) &&
      (gpu->libraries[IR_GPU_CUBLASLT].state != IR_GPU_USABLE ||
       IR_GPU_CALL (gpu, cublasLtCreate, error, &blas->lt)))
    return blas;
  gpu_blas_free (blas);
  return NULL;
}

static int
find_type (IrDtype dtype)
{
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (types[i].dtype == dtype)
      return (int) i;
  return -1;
}

gboolean
gpu_blas_has (const IrGpuProduct *product)
{
  return find_type (product->dtype) >= 0 && product->k > 0 &&
         MAX (MAX (product->m, product->n), MAX (product->k, product->batch)) <= G_MAXINT32 &&
         (product->bias < 0 || product->batch == 1);
}

gboolean
gpu_blas_takes (const GpuBlas *blas, const IrGpuProduct *product)
{
  return blas != NULL && product != NULL && (product->bias < 0 || blas->lt != NULL);
}

/* A factor as the library wants it. */
typedef union
{
  float single;
  double wide;
} Factor;

static Factor
factor (double value, gboolean is_double)
{
  return is_double ? (Factor){ .wide = value } : (Factor){ .single = (float) value };
}

static gboolean
run_plain (GpuBlas *blas,
           const IrGpuProduct *p,
           guint type,
           unsigned int compute,
           const unsigned long long at[4],
           GError **error)
{
  const Factor alpha = factor (p->alpha, types[type].is_double),
               beta = factor (0, types[type].is_double);

  return IR_GPU_CALL (blas->gpu, cublasGemmStridedBatchedEx, error, blas->handle,
                      p->turned_b ? OP_T : OP_N, p->turned_a ? OP_T : OP_N, (int) p->n, (int) p->m,
                      (int) p->k, &alpha, (const void *) (gsize) at[1], types[type].type,
                      (int) (p->turned_b ? p->k : p->n), p->stride_b, (const void *) (gsize) at[0],
                      types[type].type, (int) (p->turned_a ? p->m : p->k), p->stride_a, &beta,
                      (void *) (gsize) at[2], types[type].type, (int) p->n, p->m * p->n,
                      (int) p->batch, compute, GEMM_DEFAULT);
}

/* What describes a product to cuBLASLt; all nullable. */
typedef struct
{
  IrGpuMatmulDesc *desc;
  IrGpuMatrixLayout *b, *a, *y;
} Described;

static gboolean
describe (const IrGpu *gpu,
          const IrGpuProduct *p,
          guint type,
          unsigned int compute,
          unsigned long long bias,
          Described *d,
          GError **error)
{
  const gint32 ops[] = { OP_N, OP_T };
  const guint32 epilogue = EPILOGUE_BIAS;
  const unsigned int t = types[type].type, scale = types[type].is_double ? 1 : 0;
  const guint64 m = (guint64) p->m, n = (guint64) p->n, k = (guint64) p->k;

  return IR_GPU_CALL (gpu, cublasLtMatmulDescCreate, error, &d->desc, compute, scale) &&
         IR_GPU_CALL (gpu, cublasLtMatmulDescSetAttribute, error, d->desc, DESC_TRANSA,
                      &ops[p->turned_b], sizeof ops[0]) &&
         IR_GPU_CALL (gpu, cublasLtMatmulDescSetAttribute, error, d->desc, DESC_TRANSB,
                      &ops[p->turned_a], sizeof ops[0]) &&
         IR_GPU_CALL (gpu, cublasLtMatmulDescSetAttribute, error, d->desc, DESC_EPILOGUE, &epilogue,
                      sizeof epilogue) &&
         IR_GPU_CALL (gpu, cublasLtMatmulDescSetAttribute, error, d->desc, DESC_BIAS_POINTER, &bias,
                      sizeof bias) &&
         IR_GPU_CALL (gpu, cublasLtMatrixLayoutCreate, error, &d->b, t, p->turned_b ? k : n,
                      p->turned_b ? n : k, (gint64) (p->turned_b ? k : n)) &&
         IR_GPU_CALL (gpu, cublasLtMatrixLayoutCreate, error, &d->a, t, p->turned_a ? m : k,
                      p->turned_a ? k : m, (gint64) (p->turned_a ? m : k)) &&
         IR_GPU_CALL (gpu, cublasLtMatrixLayoutCreate, error, &d->y, t, n, m, p->n);
}

static gboolean
run_with_bias (GpuBlas *blas,
               const IrGpuProduct *p,
               guint type,
               unsigned int compute,
               struct CUstream_st *stream,
               const unsigned long long at[4],
               GError **error)
{
  const IrGpu *gpu = blas->gpu;
  const Factor alpha = factor (p->alpha, types[type].is_double),
               beta = factor (0, types[type].is_double);
  Described d = { NULL };
  gboolean done = describe (gpu, p, type, compute, at[3], &d, error) &&
                  IR_GPU_CALL (gpu, cublasLtMatmul, error, blas->lt, d.desc, &alpha,
                               (const void *) (gsize) at[1], d.b, (const void *) (gsize) at[0], d.a,
                               &beta, (const void *) (gsize) at[2], d.y, (void *) (gsize) at[2],
                               d.y, NULL, (void *) (gsize) blas->workspaces[blas->stream],
                               WORKSPACE_BYTES, stream);

  if (d.y != NULL)
    gpu->functions.cublasLtMatrixLayoutDestroy (d.y);
  if (d.a != NULL)
    gpu->functions.cublasLtMatrixLayoutDestroy (d.a);
  if (d.b != NULL)
    gpu->functions.cublasLtMatrixLayoutDestroy (d.b);
  if (d.desc != NULL)
    gpu->functions.cublasLtMatmulDescDestroy (d.desc);
  return done;
}

gboolean
gpu_blas_run (GpuBlas *blas,
              struct CUstream_st *stream,
              guint number,
              const IrGpuProduct *product,
              IrGpuPrecision precision,
              const unsigned long long addresses[4],
              GError **error)
{
  const guint type = (guint) find_type (product->dtype);
  const unsigned int compute = types[type].compute != 0 ? types[type].compute : computes[precision];

  if (!take_stream (blas, stream, number, error))
    return FALSE;
  return product->bias < 0 ? run_plain (blas, product, type, compute, addresses, error)
                           : run_with_bias (blas, product, type, compute, stream, addresses, error);
}
