/* What became of nodes that are gone and that no node stands for: folded into a constant, or into
 * what was computed behind them. */
#pragma once

#include "core/ir/history.h"

typedef struct _IrFates IrFates;

IrFates *ir_fates_new (IrModel *model); /* at its cursor; until the next edit or jump */
void ir_fates_free (IrFates *fates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrFates, ir_fates_free)
/* The step that removed @node; 0: it is there. */
guint ir_fates_step (const IrFates *fates, IrNodeId node);
/* Live values that hold what @node computed, or the nearest ones behind it. (element-type guint32);
 * empty: nothing needed it. */
GArray *ir_fates_of_node (IrFates *fates, IrNodeId node);
GArray *ir_fates_of_value (IrFates *fates, IrValueId value); /* of the model at step 0 */
