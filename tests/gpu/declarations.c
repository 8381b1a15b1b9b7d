/* The rows of core/exec/gpu/functions.def against the headers of a toolkit: this compiles only where
 * each symbol is a function of just these parameters. An enumeration of the headers is an unsigned int.
 * It is never run. */
#include "config.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <nvrtc.h>

typedef cublasLtMatmulDescOpaque_t IrGpuMatmulDesc;
typedef cublasLtMatmulAlgo_t IrGpuMatmulAlgo;
typedef cublasLtMatrixLayoutOpaque_t IrGpuMatrixLayout;

typedef struct
{
#define GPU_FUNCTION(LIBRARY, symbol, since, ...)      unsigned int (*symbol) (__VA_ARGS__);
#define GPU_TEXT_FUNCTION(LIBRARY, symbol, since, ...) const char *(*symbol) (__VA_ARGS__);
#define GPU_SIZE_FUNCTION(LIBRARY, symbol, since, ...) size_t (*symbol) (__VA_ARGS__);
#include "core/exec/gpu/functions.def"
} Functions;

extern const Functions gpu_declarations;
const Functions gpu_declarations = {
#define GPU_FUNCTION(LIBRARY, symbol, ...)      .symbol = symbol,
#define GPU_TEXT_FUNCTION(LIBRARY, symbol, ...) .symbol = symbol,
#define GPU_SIZE_FUNCTION(LIBRARY, symbol, ...) .symbol = symbol,
#include "core/exec/gpu/functions.def"
};
