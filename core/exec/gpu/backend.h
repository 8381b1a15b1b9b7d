/* The row of the back end. */
#pragma once

#include "core/exec/kernel/backend.h"

extern const IrBackend ir_backend_gpu;
