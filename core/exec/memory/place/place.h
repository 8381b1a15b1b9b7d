/* What planners share: how much lives at each step, and, for the algorithms that place blocks one
 * by one, finding a gap among those that stand. */
#pragma once

#include "core/exec/memory/memory.h"

typedef struct _IrMemGaps IrMemGaps;

/* How many bytes live at each step: memplan-live.c. */
typedef struct
{
  gint64
      *added;  /* (nullable) by node of the tree; 1 is the root, the children of i are 2i, 2i + 1 */
  gint64 *top; /* by node: the most bytes at one of its steps, without what is added above it */
  guint n_leaves;
  gint64 most; /* bytes at one step, when it was made */
} IrMemLive;

void ir_mem_live_init (IrMemLive *live, const GArray *blocks, guint n_steps, guint64 align_bytes);
void ir_mem_live_clear (IrMemLive *live);
void ir_mem_live_add (IrMemLive *live, guint first, guint last, gint64 bytes);
gboolean ir_mem_live_is_low (const IrMemLive *live, guint first, guint last);

guint64 ir_mem_align (guint64 size, guint64 align_bytes);
/* Looks whether the plan is still wanted; (nullable) @options. Planners ask for each block, step of
 * a search, or run. */
gboolean ir_mem_stopped (const IrMemOptions *options);
IrMemGaps *ir_mem_gaps_new (IrMemBlock *blocks, guint n, guint64 align_bytes);
guint64 ir_mem_gaps_place (IrMemGaps *gaps, guint index);
guint64 ir_mem_place_in_order (IrMemBlock *blocks,
                               guint n,
                               const IrMemOptions *options,
                               GCompareDataFunc compare);
void ir_mem_gaps_free (IrMemGaps *gaps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrMemGaps, ir_mem_gaps_free)
