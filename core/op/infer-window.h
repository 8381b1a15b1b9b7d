/* Sliding windows: the geometry that convolutions and poolings share, for inference, kernels and
 * back ends. Attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode come from
 * the call; sizes may be symbols. */
#pragma once

#include "core/op/call.h"
#include "core/op/infer-util.h"

#define IR_WINDOW_MAX_AXES 16 /* spatial axes; more is refused */

typedef struct
{
  guint n_axes; /* spatial axes; every array below has that many entries */
  IrDim in[IR_WINDOW_MAX_AXES], kernel[IR_WINDOW_MAX_AXES], out[IR_WINDOW_MAX_AXES]; /* elements */
  gint64 stride[IR_WINDOW_MAX_AXES], dilation[IR_WINDOW_MAX_AXES];
  /* Elements added before and after; valid where in and kernel are known, or pads are explicit. */
  gint64 pad_begin[IR_WINDOW_MAX_AXES], pad_end[IR_WINDOW_MAX_AXES];
} IrWindow;

gboolean ir_window_init (IrWindow *window,
                         const IrCall *call,
                         guint n_axes,
                         const IrDim *in,
                         const IrDim *kernel,
                         GError **error);
gboolean ir_window_init_transposed (IrWindow *window,
                                    const IrCall *call,
                                    guint n_axes,
                                    const IrDim *in,
                                    const IrDim *kernel,
                                    GError **error);
gboolean ir_window_of_conv (IrWindow *window, const IrCall *call, GError **error);
gboolean ir_window_of_conv_transpose (IrWindow *window, const IrCall *call, GError **error);
gboolean ir_window_of_pool (IrWindow *window, const IrCall *call, GError **error);

/* -- convolutions of integers: core/op/infer-quantize.c -- */
void ir_call_as_conv (const IrCall *call, guint w, guint bias, IrCallInput inputs[3], IrCall *view);

/* -- matrix products: core/op/infer-linear.c -- */
gboolean ir_matmul_dims (
    const IrCall *call, const IrType *a, const IrType *b, int *rank, IrDim *dims, GError **error);
