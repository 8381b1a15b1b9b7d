/* What quantized matrix products and convolutions share. */
#pragma once

#include "core/op/call.h"

double ir_ref_quantize (IrDtype dtype, double x, double zero);
