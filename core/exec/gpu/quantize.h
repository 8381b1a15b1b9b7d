/* Inside this folder: rounding to whole numbers of a type. */
#pragma once

#include "core/exec/gpu/writer.h"

/* $name stands for the function q_$name(): of a real number and a zero point, in the range of @dtype. */
void gpu_put_quantize (GpuWriter *w, const char *name, IrDtype dtype);
