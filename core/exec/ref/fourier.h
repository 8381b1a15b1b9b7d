/* What DFT and STFT transform: lines of a tensor into lines of another, for the kernels of both back ends. */
#pragma once

#include "core/op/call.h"

/* Distances between numbers (of @parts elements each) of a tensor: from one part of it to the next, from line to
 * line of a part, and from number to number of a line. */
typedef struct
{
  gint64 part, line, number;
} IrFourierStrides;

typedef struct
{
  gint64 length;             /* of the transforms */
  gint64 n_lines, per_part;  /* line i is that of number i % per_part in part i / per_part */
  gint64 n_in, n_out;        /* numbers of a line that are read, before zeros, and written */
  guint parts_in, parts_out; /* 1: real, 2: complex */
  IrFourierStrides in, out;
  double *window;   /* (nullable) [n_in] factors of what is read */
  gboolean inverse; /* divided by @length */
  gboolean half; /* what is read is the first half of a spectrum whose rest is its mirror image */
} IrFourier;

/* Infers the call, reads its inputs and makes no output. FALSE with an error of the call, or of memory. Source: ONNX
 * DFT 20 and STFT 17. */
gboolean ir_fourier_init_dft (IrFourier *fourier, IrCall *call, GError **error);
gboolean ir_fourier_init_stft (IrFourier *fourier, IrCall *call, GError **error);
void ir_fourier_clear (IrFourier *fourier);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrFourier, ir_fourier_clear)

/* Where line @line begins, in numbers. */
static inline gint64
ir_fourier_place (const IrFourier *fourier, const IrFourierStrides *strides, gint64 line)
{
  return line / fourier->per_part * strides->part + line % fourier->per_part * strides->line;
}
