/* How many bytes live at each step, changed and asked in logarithmic time. */
#pragma once

#include "core/exec/memory/place/place.h"

/* How many bytes live at each step: peak-tree.c. */
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
