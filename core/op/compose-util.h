/* What compositions of several files share. */
#pragma once

#include "core/op/compose.h"
#include "core/op/infer-util.h"
#include "core/op/rows.h"

/* -- compose-fused.c -- */
IrPart *ir_compose_transpose (IrCompose *c, IrPart *x, guint n, const gint64 *perm);
IrPart *ir_compose_channels_first (IrCompose *c, IrPart *x); /* [N, ..., C] to [N, C, ...] */
IrPart *ir_compose_channels_last (IrCompose *c, IrPart *x);
IrPart *ir_compose_reshape (IrCompose *c, IrPart *x, guint n, const gint64 *dims);
/* Elements [start, end) of an axis. */
IrPart *ir_compose_slice (IrCompose *c, IrPart *x, gint64 axis, gint64 start, gint64 end);
IrPart *ir_compose_times (IrCompose *c, IrPart *x, double factor); /* @x itself for 1 */

/* -- compose-quantize.c -- */
IrPart *ir_compose_scaled_product (IrCompose *c,
                                   IrPart *a,
                                   IrPart *b,
                                   IrPart *a_zero,
                                   IrPart *b_zero,
                                   IrPart *scale,
                                   IrPart *bias);
