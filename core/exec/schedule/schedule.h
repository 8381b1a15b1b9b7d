/* What the files of the schedule share. */
#pragma once

#include "core/exec/exec.h"

#define IR_NODE_OVERHEAD_MS 0.005 /* finding inputs, giving memory, bookkeeping */

/* Waking the workers for nodes beside each other and waiting for the last of them, awake as they
 * are while a graph runs; more on a busy machine. */
#define IR_FORK_MS 0.005

gboolean ir_schedule_stopped (const IrStop *stop, GError **error);
IrSchedule *ir_schedule_copy (const IrSchedule *schedule);
gboolean ir_schedule_place (IrSchedule *schedule, const IrStop *stop);
