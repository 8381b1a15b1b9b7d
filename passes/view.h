/* What changes of shape, transposes and selections make of the axes of a tensor, followed atom by
 * atom. */
#pragma once

#include "core/ir/model.h"

#define IR_VIEW_RANK  8
#define IR_VIEW_ATOMS 16

typedef struct
{
  guint n;
  guint8 atoms[IR_VIEW_ATOMS]; /* outer ones first */
} IrViewAxis;

/* Each axis of the source, and of what is made of it, is a product of atoms. Axes of size 1 have
 * none. */
typedef struct
{
  IrContext *context;
  guint n_atoms;
  IrDim sizes[IR_VIEW_ATOMS];
  gint64 selected[IR_VIEW_ATOMS]; /* -1: whole; else the one index that is left */
  guint source_rank, rank;
  IrViewAxis source[IR_VIEW_RANK], axes[IR_VIEW_RANK];
} IrView;

gboolean ir_view_start (IrView *view, IrContext *context, const IrType *type);
gboolean ir_view_is_step (const IrNode *node);
gboolean ir_view_apply (IrView *view, const IrNode *node, guint output);
gboolean ir_view_keeps_order (const IrNode *node);
