/* Elements of tensors as what plots draw: a row of them as a line, two tensors against each other. Of any
 * number of elements as much as a plot can show. */
#pragma once

#include "core/ir/tensor.h"

#include <gio/gio.h>

#define IR_CURVE_PIECES  1024
#define IR_SCATTER_CELLS 64 /* of a side */

/* A row of elements in pieces, each of one element where they are no more than pieces. */
typedef struct
{
  guint64 first, step, n; /* which elements: first + i * step */
  guint n_pieces;
  guint64 n_not_finite;
  double least[IR_CURVE_PIECES], largest[IR_CURVE_PIECES]; /* NAN: nothing finite in it */
  gboolean broken[IR_CURVE_PIECES];                        /* a NaN or an infinity is in it */
} IrTensorCurve;

/* How many pairs of elements lie where: both axes have one range. */
typedef struct
{
  guint64 n, n_left_out; /* pairs; those that are not finite on either side */
  double low, high;
  guint64 counts[IR_SCATTER_CELLS * IR_SCATTER_CELLS]; /* row by row, from the least y on */
  guint64 at[IR_SCATTER_CELLS * IR_SCATTER_CELLS];     /* the first element of each */
} IrTensorScatter;

/* @minus: (nullable): of the same shape: then it is the difference */
IrTensorCurve *ir_tensor_curve_new (const IrTensor *tensor,
                                    const IrTensor *minus,
                                    guint64 first,
                                    guint64 step,
                                    guint64 n,
                                    guint samples, /* of a piece; 0: all of its elements */
                                    GCancellable *cancellable);
guint64 ir_tensor_curve_begin (const IrTensorCurve *curve, guint piece);
IrTensorScatter *ir_tensor_scatter_new (const IrTensor *x,
                                        const IrTensor *y,
                                        GCancellable *cancellable);
double ir_tensor_minus (const IrTensor *tensor, const IrTensor *minus, guint64 index);
