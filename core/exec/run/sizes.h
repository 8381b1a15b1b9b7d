/* Sizes of free dims that follow from the graph. */
#pragma once

#include "core/exec/run/run.h"

#define IR_PICTURE_SIZE 64 /* by default: networks may halve it a few times */

/* @dims: of IrFreeDim, with defaults and what was asked for; @conflicts (nullable): of
 * IrSizeConflict, which is added to */
void ir_sizes_solve (IrModel *model, GArray *dims, GArray *conflicts);
