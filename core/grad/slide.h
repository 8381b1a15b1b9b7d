/* Windows that slide, of convolutions and pools: with attributes and sizes resolved, and backwards. */
#pragma once

#include "core/grad/vjp.h"

typedef struct
{
  guint n; /* spatial axes */
  gint64 group;
  gint64 kernel[IR_MAX_RANK], strides[IR_MAX_RANK], dilations[IR_MAX_RANK];
  gint64 pads[2 * IR_MAX_RANK]; /* before each axis, then after each */
  gboolean sizes_known;
  gint64 in[IR_MAX_RANK], out[IR_MAX_RANK]; /* if known */
} IrSlide;

/* Of the node derived, whose window slides over @in and gives @out; @w (nullable) has the kernel. */
gboolean ir_slide_read (const IrVjp *vjp,
                        const IrValue *in,
                        const IrValue *out,
                        const IrValue *w,
                        IrSlide *window,
                        GError **error);
void ir_slide_set_attrs (const IrVjp *vjp, const IrSlide *window, IrNode *node, gboolean back);
/* (nullable) By what W slid over: a transposed convolution of exactly that size. */
IrValue *ir_slide_back (
    const IrVjp *vjp, const IrSlide *window, IrValue *dy, IrValue *w, GError **error);
