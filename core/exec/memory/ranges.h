/* Values that lie within others, as the memory plan and the runner see them. */
#pragma once

#include "core/exec/memory/memory.h"

gboolean ir_slice_is_possible (const IrNode *node);
#define IR_SLICE_NOWHERE G_MAXUINT64

guint64 *ir_slices_of_whole (const IrSchedule *schedule, const IrNode *node);
guint64 *ir_slices_of_input (const IrSchedule *schedule, const IrNode *node);
