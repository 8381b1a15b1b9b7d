/* Discrete Fourier transforms of one length, of doubles, in O(n log n) for every n. */
#pragma once

#include "core/op/call.h"

typedef struct
{
  double re, im;
} IrComplex;

typedef struct _IrFft IrFft;

IrFft *ir_fft_new (const IrCall *call, guint64 n);
void ir_fft_free (IrFft *fft);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrFft, ir_fft_free)

IrComplex ir_fft_root (guint64 k, guint64 n); /* exp (-2 pi i k / n) */
void ir_fft_run (IrFft *fft, IrComplex *signal, gboolean inverse);
