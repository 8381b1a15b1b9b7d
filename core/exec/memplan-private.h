/* What the algorithms that place blocks one by one share: finding a gap among those that stand. */
#pragma once

#include "core/exec/memplan.h"

typedef struct _IrMemGaps IrMemGaps;

guint64 ir_mem_align (guint64 size, guint64 align_bytes);
IrMemGaps *ir_mem_gaps_new (IrMemBlock *blocks, guint n, guint64 align_bytes);
guint64 ir_mem_gaps_place (IrMemGaps *gaps, guint index);
guint64 ir_mem_place_in_order (IrMemBlock *blocks,
                               guint n,
                               guint64 align_bytes,
                               GCompareDataFunc compare);
void ir_mem_gaps_free (IrMemGaps *gaps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrMemGaps, ir_mem_gaps_free)
