/* Inside this folder: sliding windows as text, for convolutions and poolings. */
#pragma once

#include "core/exec/gpu/writer.h"
#include "core/op/infer-window.h"

/* Known sizes, or a reason in @w. */
gboolean gpu_windows_check (GpuWriter *w, const IrWindow *window);
gint64 gpu_windows_product (const IrDim *sizes, guint n);
/* The index within a plane of @sizes of the place whose coordinates are @letter 0, 1 .. */
char *gpu_windows_place (const IrWindow *window, char letter, const IrDim *sizes);
/* Puts $digits, which splits i into sample b, channel c of @channels and the start p0, p1 .. of the window;
 * $loops over its taps q0, q1 .. at places a0, a1 .. of the input, only those inside, with $closings; and
 * $place and $tap, the indices of a and q. @transposed: the window slides over the result. */
void gpu_windows_put (GpuWriter *w, const IrWindow *window, gint64 channels, gboolean transposed);

/* Whether a convolution of @channels of the input to @outputs of the result, of one group, is done by tiles. */
gboolean gpu_conv_tiles_fit (const GpuElement *element,
                             const IrWindow *window,
                             gint64 channels,
                             gint64 outputs);
/* Launches it: parameters x, w and y, what is behind the sum and $bias are there. */
const char *gpu_conv_tiles_write (GpuWriter *w,
                                  const IrWindow *window,
                                  gint64 batch,
                                  gint64 groups,
                                  gint64 channels,
                                  gint64 outputs);
