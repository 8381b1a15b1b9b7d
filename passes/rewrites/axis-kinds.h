/* Where operators name axes of what they read, for passes that change these axes. */
#pragma once

#include "core/ir/model.h"

typedef enum
{
  KIND_NONE,
  KIND_ELEMENTWISE, /* all inputs broadcast to the output */
  KIND_AXIS,        /* one attribute "axis"; all inputs are data */
  KIND_SPLIT,       /* the same; input 0 is data */
  KIND_REDUCE,      /* axes as attribute or input 1 */
  KIND_SLICE,       /* axes as input 3, may be left out */
  KIND_PAD,         /* pads as input 1, axes as input 3 */
} Kind;

Kind ir_axis_kind_of (const IrNode *node);
/* The axis of KIND_AXIS and KIND_SPLIT, from the front; FALSE: not one of @rank axes */
gboolean ir_axis_of (const IrNode *node, guint rank, gint64 *axis);
/* Negative ones become those from the front. */
gboolean ir_axis_in_range (gint64 *axis, guint rank);
gboolean ir_axes_in_range (gint64 *axes, guint n, guint rank);
/* Those that attribute @attr (nullable), or a constant input @slot gives; FALSE: there, but not known */
gboolean ir_axis_constant_ints (
    const IrNode *node, const char *attr, guint slot, gint64 **numbers, guint *n);
