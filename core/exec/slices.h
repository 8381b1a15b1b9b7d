/* Values that lie within others, as the memory plan and the runner see them. */
#pragma once

#include "core/exec/exec.h"

gboolean ir_slice_is_possible (const IrNode *node);
gboolean ir_slice_of_whole (const IrSchedule *schedule,
                            const IrNode *node,
                            guint slot,
                            guint64 *at);
gboolean ir_slice_of_input (const IrSchedule *schedule,
                            const IrNode *node,
                            guint slot,
                            guint64 *at);
