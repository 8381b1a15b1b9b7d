/* What a driver that does nothing has beside fake-driver.c: every function of the table succeeds. */
#include <stddef.h>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUmod_st;
struct CUfunc_st;

/* The driver that lacks a function lacks it here, too. */
#define cuDeviceTotalMem_v2 rest_of_cuDeviceTotalMem_v2

#define DRIVER(result, symbol, ...)                                                                \
  __attribute__ ((weak)) result symbol (__VA_ARGS__);                                              \
  __attribute__ ((weak)) result symbol (__VA_ARGS__) { return 0; }
#define NVRTC(...)
#define CUBLAS(...)
#define CUBLASLT(...)
#define GPU_FUNCTION(LIBRARY, symbol, since, ...)      LIBRARY (unsigned int, symbol, __VA_ARGS__)
#define GPU_TEXT_FUNCTION(LIBRARY, symbol, since, ...) LIBRARY (const char *, symbol, __VA_ARGS__)
#define GPU_SIZE_FUNCTION(LIBRARY, symbol, since, ...) LIBRARY (size_t, symbol, __VA_ARGS__)
#include "core/exec/gpu/functions.def"
