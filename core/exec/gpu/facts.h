/* What is known of how a device runs a node. */
#pragma once

#include "core/exec/gpu/compile.h"
#include "core/exec/gpu/program.h"

char *ir_gpu_facts_text (const IrGpuLaunch *launch,
                         const IrGpuKernelFacts *facts,
                         int architecture);
GPtrArray *ir_gpu_facts (const IrGpuProgram *program);
