/* What the files of the schedule share. */
#pragma once

#include "core/exec/exec.h"

#define IR_NODE_OVERHEAD_MS 0.005 /* finding inputs, giving memory, bookkeeping */

void ir_schedule_place (IrSchedule *schedule);
