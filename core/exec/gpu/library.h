/* The libraries of CUDA, which are looked for when they are wanted: nothing of them is needed to build
 * or to start. This folder alone knows them. */
#pragma once

#include "core/exec/kernel/backend.h"
#include "core/exec/gpu/places.h"

#include <stdint.h>

#define IR_GPU_MAX_STREAMS 8

typedef unsigned int IrGpuResult; /* of each library by itself; 0: all is well */
/* The libraries' names: nvrtcProgram, CUcontext and so on are pointers to them. */
struct _nvrtcProgram;
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUmod_st;
struct CUfunc_st;
struct cublasContext;
struct cublasLtContext;
typedef struct _IrGpuMatmulDesc IrGpuMatmulDesc;
typedef struct _IrGpuMatmulAlgo IrGpuMatmulAlgo;
typedef struct _IrGpuMatrixLayout IrGpuMatrixLayout;

typedef enum
{
  IR_GPU_DRIVER,
  IR_GPU_NVRTC,
  IR_GPU_CUBLASLT, /* before what needs it */
  IR_GPU_CUBLAS,
  IR_GPU_NVTX,
  IR_GPU_N_LIBRARIES
} IrGpuLibraryId;

typedef enum
{
  IR_GPU_USABLE,
  IR_GPU_MISSING,  /* no file of its name is where it was looked for */
  IR_GPU_UNLOADED, /* the loader refuses it */
  IR_GPU_TOO_OLD,  /* it lacks a function */
  IR_GPU_STUB,     /* the toolkit's stand-in for linking, which is no driver */
  IR_GPU_FAILED    /* it says that it cannot work here */
} IrGpuLibraryState;

typedef struct
{
  const char *name, *title; /* "driver", "CUDA driver" */
  const char *without;      /* what it means that it is not there */
  IrGpuLibraryState state;
  char *path;    /* (nullable) of what was found */
  char *version; /* (nullable) as it says */
  char *reason;  /* (nullable) in words: why it cannot be used */
  gpointer handle;
} IrGpuLibrary;

/* Which function: the row in functions.def. */
typedef enum
{
#define GPU_FUNCTION(LIBRARY, symbol, ...)       IR_GPU_FUNCTION_##symbol,
#define GPU_TEXT_FUNCTION(LIBRARY, symbol, ...)  IR_GPU_FUNCTION_##symbol,
#define GPU_SIZE_FUNCTION(LIBRARY, symbol, ...)  IR_GPU_FUNCTION_##symbol,
#define GPU_LEVEL_FUNCTION(LIBRARY, symbol, ...) IR_GPU_FUNCTION_##symbol,
#include "core/exec/gpu/functions.def"
  IR_GPU_N_FUNCTIONS
} IrGpuFunction;

typedef struct
{
#define GPU_FUNCTION(LIBRARY, symbol, since, ...)       IrGpuResult (*symbol) (__VA_ARGS__);
#define GPU_TEXT_FUNCTION(LIBRARY, symbol, since, ...)  const char *(*symbol) (__VA_ARGS__);
#define GPU_SIZE_FUNCTION(LIBRARY, symbol, since, ...)  size_t (*symbol) (__VA_ARGS__);
#define GPU_LEVEL_FUNCTION(LIBRARY, symbol, since, ...) int (*symbol) (__VA_ARGS__);
#include "core/exec/gpu/functions.def"
} IrGpuFunctions;

typedef struct
{
  IrGpuLibrary libraries[IR_GPU_N_LIBRARIES];
  IrGpuFunctions functions; /* those of libraries that are usable */
  int driver_version;       /* 13000: CUDA 13.0; 0: no driver */
  gboolean stand_in;        /* the driver is one that imitates a device on the processor */
  GPtrArray *places;        /* of IrGpuPlace */
} IrGpu;

IrGpu *ir_gpu_open (GPtrArray *places);
void ir_gpu_free (IrGpu *gpu);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrGpu, ir_gpu_free)
const char *ir_gpu_state_name (IrGpuLibraryState state);
gboolean ir_gpu_check (const IrGpu *gpu,
                       IrGpuFunction function,
                       IrGpuResult result,
                       GError **error);

/* Calls a function of functions.def and checks what it returns: FALSE with an error. */
#define IR_GPU_CALL(gpu, symbol, error, ...)                                                       \
  ir_gpu_check (gpu, IR_GPU_FUNCTION_##symbol, (gpu)->functions.symbol (__VA_ARGS__), error)
