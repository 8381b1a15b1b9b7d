/* cuBLAS and cuBLASLt: products on the processor, done when the stream gets there. What a call says of its
 * matrices is looked at as the libraries do; where they lie, by the driver's stand-in. */
#define _GNU_SOURCE
#include "tests/gpu/stand-in/stand-in.h"

#include <dlfcn.h>
#include <string.h>

enum
{
  NOT_INITIALIZED = 1,
  INVALID = 7,
  EXECUTION_FAILED = 13,
  NOT_SUPPORTED = 15
};

struct cublasContext
{
  struct CUstream_st *stream;
  gboolean has_workspace;
};

struct cublasLtContext
{
  int unused;
};

struct _IrGpuMatmulDesc
{
  unsigned int compute, scale;
  gint32 turned_a, turned_b;
  guint32 epilogue;
  guint64 bias;
};

struct _IrGpuMatrixLayout
{
  unsigned int type;
  guint64 rows, columns;
  gint64 ld;
};

/* -- the driver's stand-in -- */

static gpointer
symbol_of_driver (const char *name)
{
  static gpointer driver;
  static char here;
  Dl_info self;

  if (driver == NULL && dladdr (&here, &self) != 0)
    {
      g_autofree char *folder = g_path_get_dirname (self.dli_fname);
      g_autofree char *path = g_build_filename (folder, "libcuda.so.1", NULL);
      driver = dlopen (path, RTLD_NOW | RTLD_LOCAL);
    }
  return driver != NULL ? dlsym (driver, name) : NULL;
}

static unsigned int
enqueue (struct CUstream_st *stream,
         const char *name,
         void (*call) (gpointer data),
         gpointer data,
         gsize data_bytes,
         const StandInTouch *touches,
         guint n)
{
  unsigned int (*function) (struct CUstream_st *, const char *, void (*) (gpointer), gpointer,
                            gsize, const StandInTouch *, guint);

  *(gpointer *) &function = symbol_of_driver ("stand_in_enqueue");
  return function != NULL && function (stream, name, call, data, data_bytes, touches, n) == OK
             ? OK
             : EXECUTION_FAILED;
}

/* -- numbers -- */

static guint
bytes_of (unsigned int type)
{
  return type == 0 ? 4 : type == 1 ? 8 : type == 2 || type == 14 ? 2 : 0;
}

__extension__ typedef _Float16 Half;

static double
load (const void *data, unsigned int type, gint64 i)
{
  guint32 wide;
  float value;

  if (type == 0)
    return (double) ((const float *) data)[i];
  if (type == 1)
    return ((const double *) data)[i];
  if (type == 2)
    return (double) ((const Half *) data)[i];
  wide = (guint32) ((const guint16 *) data)[i] << 16;
  memcpy (&value, &wide, sizeof value);
  return (double) value;
}

static void
store (void *data, unsigned int type, gint64 i, double value)
{
  float f = (float) value;
  guint32 u;

  if (type == 0)
    ((float *) data)[i] = f;
  else if (type == 1)
    ((double *) data)[i] = value;
  else if (type == 2)
    ((Half *) data)[i] = (Half) f;
  else
    {
      memcpy (&u, &f, sizeof u);
      ((guint16 *) data)[i] = f != f ? 0x7fc0 : (guint16) ((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
}

/* What fast ways of computing make of an operand in float32. */
static double
rounded (double value, unsigned int compute)
{
  float f = (float) value;
  guint32 u;

  if (compute == 74)
    return (double) (Half) f;
  if (compute != 77 || f != f)
    return value;
  memcpy (&u, &f, sizeof u);
  u = (u + 0x1000) & ~(guint32) 0x1fff; /* 10 bits of mantissa */
  memcpy (&f, &u, sizeof f);
  return (double) f;
}

/* Which ways of computing there are for a type. */
static gboolean
fits (unsigned int type, unsigned int compute)
{
  if (type == 0)
    return compute == 68 || compute == 69 || compute == 74 || compute == 77;
  if (type == 1)
    return compute == 70 || compute == 71;
  return compute == 68 || compute == 69;
}

/* -- a product, by columns -- */

typedef struct
{
  gboolean turned_a, turned_b;
  int m, n, k, batch;
  double alpha, beta;
  const void *a, *b, *bias;
  void *c;
  unsigned int type, compute;
  gint64 ld_a, ld_b, ld_c, stride_a, stride_b, stride_c;
} Product;

static void
run_product (gpointer data)
{
  const Product *p = data;

  for (gint64 q = 0; q < p->batch; q++)
    for (gint64 j = 0; j < p->n; j++)
      for (gint64 i = 0; i < p->m; i++)
        {
          double sum = 0;
          gint64 at = q * p->stride_c + j * p->ld_c + i;
          for (gint64 l = 0; l < p->k; l++)
            sum += rounded (
                       load (p->a, p->type,
                             q * p->stride_a + (p->turned_a ? i * p->ld_a + l : l * p->ld_a + i)),
                       p->compute) *
                   rounded (
                       load (p->b, p->type,
                             q * p->stride_b + (p->turned_b ? l * p->ld_b + j : j * p->ld_b + l)),
                       p->compute);
          sum = p->alpha * sum + (p->beta != 0 ? p->beta * load (p->c, p->type, at) : 0) +
                (p->bias != NULL ? load (p->bias, p->type, i) : 0);
          store (p->c, p->type, at, sum);
        }
}

static gsize
extent (const Product *p, gint64 rows, gint64 columns, gint64 ld, gint64 stride)
{
  return (gsize) ((p->batch - 1) * stride + (columns - 1) * ld + rows) * bytes_of (p->type);
}

static unsigned int
ask (struct CUstream_st *stream, const char *name, const Product *p)
{
  const gint64 rows_a = p->turned_a ? p->k : p->m, rows_b = p->turned_b ? p->n : p->k;
  StandInTouch touches[] = {
    { p->a, extent (p, rows_a, p->turned_a ? p->m : p->k, p->ld_a, p->stride_a), FALSE },
    { p->b, extent (p, rows_b, p->turned_b ? p->k : p->n, p->ld_b, p->stride_b), FALSE },
    { p->c, extent (p, p->m, p->n, p->ld_c, p->stride_c), TRUE },
    { p->bias, (gsize) p->m * bytes_of (p->type), FALSE },
  };
  const guint n = p->bias != NULL ? 4 : 3;

  if (p->m <= 0 || p->n <= 0 || p->k <= 0 || p->batch <= 0 || p->ld_a < rows_a ||
      p->ld_b < rows_b || p->ld_c < p->m || p->stride_a < 0 || p->stride_b < 0)
    return INVALID;
  if (p->batch > 1 && p->stride_c < (p->n - 1) * p->ld_c + p->m)
    return INVALID; /* results lie over each other */
  if (bytes_of (p->type) == 0 || !fits (p->type, p->compute))
    return NOT_SUPPORTED;
  for (guint i = 0; i < n; i++)
    if ((gsize) touches[i].at % bytes_of (p->type) != 0)
      return INVALID;
  return enqueue (stream, name, run_product, g_memdup2 (p, sizeof *p), sizeof *p, touches, n);
}

static double
factor (const void *value, unsigned int compute)
{
  return compute == 70 || compute == 71 ? *(const double *) value : (double) *(const float *) value;
}

/* -- cuBLAS -- */

unsigned int
cublasGetProperty (unsigned int property, int *value)
{
  *value = property == 0 ? 13 : 0;
  return stand_in_fails (__func__);
}

const char *
cublasGetStatusString (unsigned int result)
{
  return result == INVALID         ? "an argument is out of range"
         : result == NOT_SUPPORTED ? "these types do not go together"
                                   : "an error of the stand-in";
}

unsigned int
cublasCreate_v2 (struct cublasContext **handle)
{
  unsigned int fails = stand_in_fails (__func__);

  *handle = fails == 0 ? g_new0 (struct cublasContext, 1) : NULL;
  return fails;
}

unsigned int
cublasDestroy_v2 (struct cublasContext *handle)
{
  g_free (handle);
  return stand_in_fails (__func__);
}

unsigned int
cublasSetStream_v2 (struct cublasContext *handle, struct CUstream_st *stream)
{
  handle->stream = stream;
  return stand_in_fails (__func__);
}

unsigned int
cublasSetWorkspace_v2 (struct cublasContext *handle, void *workspace, size_t bytes)
{
  unsigned int fails = stand_in_fails (__func__);

  handle->has_workspace = TRUE;
  return fails != 0 ? fails : (gsize) workspace % 256 != 0 || bytes == 0 ? INVALID : OK;
}

unsigned int
cublasGemmStridedBatchedEx (struct cublasContext *handle,
                            unsigned int turned_a,
                            unsigned int turned_b,
                            int m,
                            int n,
                            int k,
                            const void *alpha,
                            const void *a,
                            unsigned int type_a,
                            int ld_a,
                            long long stride_a,
                            const void *b,
                            unsigned int type_b,
                            int ld_b,
                            long long stride_b,
                            const void *beta,
                            void *c,
                            unsigned int type_c,
                            int ld_c,
                            long long stride_c,
                            int batch,
                            unsigned int compute,
                            int algo)
{
  unsigned int fails = stand_in_fails (__func__);

  if (fails != 0)
    return fails;
  if (handle == NULL || handle->stream == NULL || !handle->has_workspace)
    return NOT_INITIALIZED;
  if (type_a != type_c || type_b != type_c || turned_a > 1 || turned_b > 1 || algo != -1)
    return NOT_SUPPORTED;
  return ask (handle->stream, "a product of cuBLAS",
              &(Product){ turned_a != 0,
                          turned_b != 0,
                          m,
                          n,
                          k,
                          batch,
                          factor (alpha, compute),
                          factor (beta, compute),
                          a,
                          b,
                          NULL,
                          c,
                          type_c,
                          compute,
                          ld_a,
                          ld_b,
                          ld_c,
                          stride_a,
                          stride_b,
                          stride_c });
}

/* -- cuBLASLt -- */

size_t
cublasLtGetVersion (void)
{
  return 130000;
}

const char *
cublasLtGetStatusString (unsigned int result)
{
  return cublasGetStatusString (result);
}

unsigned int
cublasLtCreate (struct cublasLtContext **handle)
{
  unsigned int fails = stand_in_fails (__func__);

  *handle = fails == 0 ? g_new0 (struct cublasLtContext, 1) : NULL;
  return fails;
}

unsigned int
cublasLtDestroy (struct cublasLtContext *handle)
{
  g_free (handle);
  return stand_in_fails (__func__);
}

unsigned int
cublasLtMatmulDescCreate (IrGpuMatmulDesc **desc, unsigned int compute, unsigned int scale)
{
  unsigned int fails = stand_in_fails (__func__);

  if (fails != 0)
    return fails;
  *desc = g_new0 (IrGpuMatmulDesc, 1);
  **desc = (IrGpuMatmulDesc){ .compute = compute, .scale = scale, .epilogue = 1 };
  return OK;
}

unsigned int
cublasLtMatmulDescDestroy (IrGpuMatmulDesc *desc)
{
  g_free (desc);
  return stand_in_fails (__func__);
}

unsigned int
cublasLtMatmulDescSetAttribute (IrGpuMatmulDesc *desc,
                                unsigned int attribute,
                                const void *value,
                                size_t bytes)
{
  const struct
  {
    unsigned int attribute;
    void *to;
    gsize bytes;
  } rows[] = { { 3, &desc->turned_a, sizeof desc->turned_a },
               { 4, &desc->turned_b, sizeof desc->turned_b },
               { 7, &desc->epilogue, sizeof desc->epilogue },
               { 8, &desc->bias, sizeof desc->bias } };
  unsigned int fails = stand_in_fails (__func__);

  if (fails != 0)
    return fails;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (rows[i].attribute == attribute && rows[i].bytes == bytes)
      {
        memcpy (rows[i].to, value, bytes);
        return OK;
      }
  return INVALID;
}

unsigned int
cublasLtMatrixLayoutCreate (
    IrGpuMatrixLayout **layout, unsigned int type, uint64_t rows, uint64_t columns, int64_t ld)
{
  unsigned int fails = stand_in_fails (__func__);

  if (fails != 0)
    return fails;
  *layout = g_new0 (IrGpuMatrixLayout, 1);
  **layout = (IrGpuMatrixLayout){ type, rows, columns, ld };
  return OK;
}

unsigned int
cublasLtMatrixLayoutDestroy (IrGpuMatrixLayout *layout)
{
  g_free (layout);
  return stand_in_fails (__func__);
}

unsigned int
cublasLtMatmul (struct cublasLtContext *handle,
                IrGpuMatmulDesc *desc,
                const void *alpha,
                const void *a,
                IrGpuMatrixLayout *layout_a,
                const void *b,
                IrGpuMatrixLayout *layout_b,
                const void *beta,
                const void *c,
                IrGpuMatrixLayout *layout_c,
                void *d,
                IrGpuMatrixLayout *layout_d,
                const IrGpuMatmulAlgo *algo,
                void *workspace,
                size_t bytes,
                struct CUstream_st *stream)
{
  unsigned int fails = stand_in_fails (__func__);
  const guint64 rows_a = desc->turned_a ? layout_a->columns : layout_a->rows,
                k = desc->turned_a ? layout_a->rows : layout_a->columns,
                k_b = desc->turned_b ? layout_b->columns : layout_b->rows,
                columns_b = desc->turned_b ? layout_b->rows : layout_b->columns;

  if (fails != 0)
    return fails;
  if (handle == NULL || stream == NULL || workspace == NULL || (gsize) workspace % 256 != 0 ||
      c != d || layout_c != layout_d || algo != NULL || k != k_b || rows_a != layout_d->rows ||
      columns_b != layout_d->columns || desc->epilogue != 4 || desc->bias == 0)
    return INVALID;
  if (layout_a->type != layout_d->type || layout_b->type != layout_d->type ||
      desc->scale != (layout_d->type == 1 ? 1 : 0))
    return NOT_SUPPORTED;
  return ask (stream, "a product of cuBLASLt",
              &(Product){ desc->turned_a != 0,
                          desc->turned_b != 0,
                          (int) rows_a,
                          (int) columns_b,
                          (int) k,
                          1,
                          factor (alpha, desc->compute),
                          factor (beta, desc->compute),
                          a,
                          b,
                          (const void *) (gsize) desc->bias,
                          d,
                          layout_d->type,
                          desc->compute,
                          layout_a->ld,
                          layout_b->ld,
                          layout_d->ld,
                          0,
                          0,
                          0 });
}
