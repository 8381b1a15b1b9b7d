/* What quantized matrix products and convolutions share. */
#pragma once

#include "core/op/call.h"

double ir_ref_quantize (IrDtype dtype, double x, double zero);
double ir_ref_joint_scale (double a, double b, double y);
double ir_ref_requantize (IrDtype dtype, double sum, double scale, double zero);
