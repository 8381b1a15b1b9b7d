/* What became of nodes that are gone and that no node stands for: folded into a constant, or into
 * what was computed behind them. */
#pragma once

#include "core/ir/history.h"

typedef struct _IrFolded IrFolded;

IrFolded *ir_folded_new (IrModel *model); /* at its cursor; until the next edit or jump */
void ir_folded_free (IrFolded *folded);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrFolded, ir_folded_free)
/* The step that removed @node; 0: it is there. */
guint ir_folded_step (const IrFolded *folded, IrNodeId node);
/* Live values that hold what @node computed, or the nearest ones behind it. (element-type guint32);
 * empty: nothing needed it. */
GArray *ir_folded_of_node (IrFolded *folded, IrNodeId node);
GArray *ir_folded_of_value (IrFolded *folded, IrValueId value); /* of the model at step 0 */
