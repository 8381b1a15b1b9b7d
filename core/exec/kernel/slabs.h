/* Cutting tensors into pieces along an axis and putting pieces together: what Loop, Scan and the
 * operators on sequences share. Elements of every type are moved, strings and packed ones too. */
#pragma once

#include "core/op/call.h"

/* Places [start, start + length) of @axis. @keep_axis FALSE: length is 1 and the axis goes. */
IrTensor *ir_slab_cut (const IrTensor *whole,
                       guint axis,
                       gint64 start,
                       gint64 length,
                       gboolean keep_axis,
                       gsize max_bytes,
                       GError **error);
/* Another part of @whole in the memory of one that ir_slab_cut() has given. */
void ir_slab_refill (
    IrTensor *piece, const IrTensor *whole, guint axis, gint64 start, gint64 length);
typedef struct
{
  gint64 axis;       /* negative: from the end, of the result */
  gboolean new_axis; /* pieces of one shape lie behind each other along a new axis */
  gboolean backward; /* the last piece first */
  gsize max_bytes;   /* of the result; 0: no limit */
} IrSlabJoin;
IrTensor *ir_slabs_join (IrTensor *const *pieces, guint n, const IrSlabJoin *how, GError **error);
/* A tensor without an element: strings too. */
IrTensor *ir_slab_none (IrDtype dtype, guint rank, const gint64 *dims, GError **error);
