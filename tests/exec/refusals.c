#include "config.h"

#include "tests/exec/refusals.h"

#include <errno.h>
#include <oneapi/dnnl/dnnl.h>

Refusals allocations = { .of = "allocation" }, primitives = { .of = "primitive" };

void
refusals_begin (Refusals *refusals, int fails)
{
  g_atomic_int_set (&refusals->n, 0);
  g_atomic_int_set (&refusals->fails, fails);
}

gboolean
refusals_end (Refusals *refusals)
{
  int fails = g_atomic_int_get (&refusals->fails);

  g_atomic_int_set (&refusals->fails, 0);
  return fails > 0 && g_atomic_int_get (&refusals->n) >= fails;
}

static gboolean
refused (Refusals *refusals)
{
  return g_atomic_int_add (&refusals->n, 1) + 1 == g_atomic_int_get (&refusals->fails);
}

#define WRAP(refusals, type, refusal, name, parameters, arguments)                                 \
  type __real_##name parameters;                                                                   \
  type __wrap_##name parameters;                                                                   \
  type __wrap_##name parameters { return refused (&refusals) ? refusal : __real_##name arguments; }
#define MEMORY(name, parameters, arguments)                                                        \
  WRAP (allocations, gpointer, NULL, name, parameters, arguments)
#define PRIMITIVE(name, parameters, arguments)                                                     \
  WRAP (primitives, dnnl_status_t, dnnl_out_of_memory, name, parameters, arguments)

MEMORY (calloc, (size_t n, size_t size), (n, size))
MEMORY (g_try_malloc, (gsize size), (size))
MEMORY (g_try_malloc0, (gsize size), (size))
MEMORY (g_try_malloc_n, (gsize n, gsize size), (n, size))
MEMORY (g_try_malloc0_n, (gsize n, gsize size), (n, size))
MEMORY (g_try_realloc, (gpointer old, gsize size), (old, size))
MEMORY (g_try_realloc_n, (gpointer old, gsize n, gsize size), (old, n, size))
WRAP (allocations,
      int,
      ENOMEM,
      posix_memalign,
      (void **memory, size_t align, size_t size),
      (memory, align, size))

PRIMITIVE (dnnl_engine_create,
           (dnnl_engine_t * engine, dnnl_engine_kind_t kind, size_t index),
           (engine, kind, index))
PRIMITIVE (dnnl_stream_create,
           (dnnl_stream_t * stream, dnnl_engine_t engine, unsigned flags),
           (stream, engine, flags))
PRIMITIVE (dnnl_primitive_attr_create, (dnnl_primitive_attr_t * attr), (attr))
PRIMITIVE (dnnl_primitive_attr_set_scratchpad_mode,
           (dnnl_primitive_attr_t attr, dnnl_scratchpad_mode_t mode),
           (attr, mode))
PRIMITIVE (dnnl_memory_desc_init_by_tag,
           (dnnl_memory_desc_t * desc,
            int n,
            const dnnl_dims_t dims,
            dnnl_data_type_t type,
            dnnl_format_tag_t tag),
           (desc, n, dims, type, tag))
PRIMITIVE (dnnl_memory_desc_init_by_strides,
           (dnnl_memory_desc_t * desc,
            int n,
            const dnnl_dims_t dims,
            dnnl_data_type_t type,
            const dnnl_dims_t strides),
           (desc, n, dims, type, strides))
PRIMITIVE (
    dnnl_memory_create,
    (dnnl_memory_t * memory, const dnnl_memory_desc_t *desc, dnnl_engine_t engine, void *handle),
    (memory, desc, engine, handle))
PRIMITIVE (dnnl_memory_set_data_handle, (dnnl_memory_t memory, void *handle), (memory, handle))
PRIMITIVE (dnnl_dilated_convolution_forward_desc_init,
           (dnnl_convolution_desc_t * desc,
            dnnl_prop_kind_t kind,
            dnnl_alg_kind_t algorithm,
            const dnnl_memory_desc_t *x,
            const dnnl_memory_desc_t *w,
            const dnnl_memory_desc_t *b,
            const dnnl_memory_desc_t *y,
            const dnnl_dims_t strides,
            const dnnl_dims_t dilates,
            const dnnl_dims_t begin,
            const dnnl_dims_t end),
           (desc, kind, algorithm, x, w, b, y, strides, dilates, begin, end))
PRIMITIVE (dnnl_dilated_convolution_backward_weights_desc_init,
           (dnnl_convolution_desc_t * desc,
            dnnl_alg_kind_t algorithm,
            const dnnl_memory_desc_t *x,
            const dnnl_memory_desc_t *w,
            const dnnl_memory_desc_t *b,
            const dnnl_memory_desc_t *y,
            const dnnl_dims_t strides,
            const dnnl_dims_t dilates,
            const dnnl_dims_t begin,
            const dnnl_dims_t end),
           (desc, algorithm, x, w, b, y, strides, dilates, begin, end))
PRIMITIVE (dnnl_primitive_desc_create,
           (dnnl_primitive_desc_t * desc,
            const_dnnl_op_desc_t op,
            const_dnnl_primitive_attr_t attr,
            dnnl_engine_t engine,
            const_dnnl_primitive_desc_t hint),
           (desc, op, attr, engine, hint))
PRIMITIVE (dnnl_reorder_primitive_desc_create,
           (dnnl_primitive_desc_t * desc,
            const dnnl_memory_desc_t *from,
            dnnl_engine_t from_engine,
            const dnnl_memory_desc_t *to,
            dnnl_engine_t to_engine,
            const_dnnl_primitive_attr_t attr),
           (desc, from, from_engine, to, to_engine, attr))
PRIMITIVE (dnnl_primitive_create,
           (dnnl_primitive_t * primitive, const_dnnl_primitive_desc_t desc),
           (primitive, desc))
PRIMITIVE (
    dnnl_primitive_execute,
    (const_dnnl_primitive_t primitive, dnnl_stream_t stream, int n, const dnnl_exec_arg_t *args),
    (primitive, stream, n, args))
PRIMITIVE (dnnl_stream_wait, (dnnl_stream_t stream), (stream))
PRIMITIVE (dnnl_sgemm,
           (char transa,
            char transb,
            dnnl_dim_t m,
            dnnl_dim_t n,
            dnnl_dim_t k,
            float alpha,
            const float *a,
            dnnl_dim_t lda,
            const float *b,
            dnnl_dim_t ldb,
            float beta,
            float *c,
            dnnl_dim_t ldc),
           (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
