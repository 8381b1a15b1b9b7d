/* Inside this folder: products of matrices by cuBLAS, and by cuBLASLt where a bias is added. */
#pragma once

#include "core/exec/gpu/library.h"
#include "core/exec/gpu/precision.h"
#include "core/exec/gpu/program.h"

typedef struct _GpuBlas GpuBlas;
/* Of the device that is open in this thread, and its first stream; NULL with an error where cuBLAS is missing, or does not work. */
GpuBlas *gpu_blas_new (const IrGpu *gpu, struct CUstream_st *stream, GError **error);
void gpu_blas_free (GpuBlas *blas);
/* Whether the libraries have such products. */
gboolean gpu_blas_has (const IrGpuProduct *product);
/* Of one that they have; both nullable. FALSE: a library is missing. */
gboolean gpu_blas_takes (const GpuBlas *blas, const IrGpuProduct *product);
/* Asks for a product that it takes, in @stream, which has the number @number; @addresses: of a, b, y, and the bias,
 * on the device. */
gboolean gpu_blas_run (GpuBlas *blas,
                       struct CUstream_st *stream,
                       guint number,
                       const IrGpuProduct *product,
                       IrGpuPrecision precision,
                       const unsigned long long addresses[4],
                       GError **error);
