/* What changes of shape, transposes and selections make of the axes of a tensor, followed atom by
 * atom. */
#pragma once

#include "core/ir/model.h"

#define IR_AXES_RANK  8
#define IR_AXES_ATOMS 16

typedef struct
{
  guint n;
  guint8 atoms[IR_AXES_ATOMS]; /* outer ones first */
} IrAxis;

/* Each axis of the source, and of what is made of it, is a product of atoms. Axes of size 1 have
 * none. */
typedef struct
{
  IrContext *context;
  guint n_atoms;
  IrDim sizes[IR_AXES_ATOMS];
  gint64 selected[IR_AXES_ATOMS]; /* -1: whole; else the one index that is left */
  guint source_rank, rank;
  IrAxis source[IR_AXES_RANK], made[IR_AXES_RANK];
} IrAxes;

gboolean ir_axes_start (IrAxes *axes, IrContext *context, const IrType *type);
gboolean ir_axes_is_step (const IrNode *node);
gboolean ir_axes_apply (IrAxes *axes, const IrNode *node, guint output);
gboolean ir_axes_keeps_order (const IrNode *node);
