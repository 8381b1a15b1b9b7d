/* What the files of the runtime know of the device together. Inside of this folder alone. */
#pragma once

#include "core/exec/gpu/blas.h"
#include "core/exec/gpu/runtime.h"

#define GPU_STAGING_BYTES (4 << 20)          /* of one half */
#define GPU_STREAM_FLAGS  1                  /* does not wait for the default stream */
#define GPU_LATE_STREAM   IR_GPU_MAX_STREAMS /* behind those of kernels */
#define GPU_N_STREAMS     (GPU_LATE_STREAM + 1)

typedef struct
{
  GMutex lock; /* of all below */
  guint index; /* of the device that is wanted: as in gpu:N */
  IrGpuPrecision precision;
  IrGpu *gpu; /* (nullable) NULL: closed */
  int device, architecture;
  struct CUctx_st *context;
  struct CUstream_st *streams[GPU_N_STREAMS]; /* (nullable), but the first: once it was asked */
  guint n_streams;                            /* that plans may use */
  struct CUevent_st *joins[GPU_N_STREAMS];    /* (nullable) of graphs.c */
  GThread *capturing;                         /* (nullable) whose calls are written down */
  GCond captured;                             /* that is over */
  void *staging;                              /* pinned memory of the host */
  GHashTable *pinned;                         /* set of memory of the host that is so, too */
  unsigned long long fault;                   /* one word */
  GHashTable *kernels;                        /* name -> CUfunc_st, of those that are loaded */
  GHashTable *waiting;                        /* name -> text, of what is to be loaded */
  GHashTable *kept;  /* (nullable) name -> key of a program on disk; NULL: there is a compiler */
  GHashTable *facts; /* name -> IrGpuKernelFacts, of those that are loaded */
  GPtrArray *modules;
  IrGpuProgram *stats[IR_N_DTYPES]; /* (nullable) of stats.c: what counts elements of a type */
  GpuBlas *blas;                    /* (nullable) once a product was wanted, unless there is none */
  char *no_blas;                    /* (nullable) why */
  int without_compiler;             /* atomic: kernels are those of @kept */
  gboolean lost;                    /* no call of it can succeed any more */
  guint generation;
} GpuState;

extern GpuState gpu_state;
extern __thread guint gpu_stream; /* that this thread asks */

/* With the lock held: opens the device where it is closed, and makes it the one of this thread. */
gboolean gpu_enter (GError **error);
/* Looks at what a library has returned, and remembers when the device is of no use any more. */
gboolean gpu_look (IrGpuFunction function, IrGpuResult result, GError **error);

/* With the lock held, and the device open: to memory of the host, which may be read when it returns. */
gboolean gpu_copy_out (gpointer to, gconstpointer from, gsize bytes, GError **error);
/* Of a kernel that is loaded. */
gboolean gpu_launch_kernel (const IrGpuLaunch *launch,
                            gpointer const *inputs,
                            gpointer const *outputs,
                            GError **error);

#define GPU_CALL(symbol, error, ...)                                                               \
  gpu_look (IR_GPU_FUNCTION_##symbol, gpu_state.gpu->functions.symbol (__VA_ARGS__), error)
