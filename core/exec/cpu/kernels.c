/* The table of CPU kernels, read from the CPU column of the op table. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

typedef struct
{
  IrOpId op;
  const IrCpuKernel *kernel; /* (nullable) */
} Row;

/* Each row closes the one before it, so that rows without the column have no kernel. */
/* clang-format off */
static const Row rows[IR_N_OPS] = { [IR_OP_NONE] = { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define CPU(name) , .kernel = &name
#include "core/op/ops.def"
} };
/* clang-format on */

/* The kernel of its operator */
const IrCpuKernel *
cpu_kernel_of (const IrNode *node)
{
  return node->op != NULL ? rows[node->op->id].kernel : NULL;
}
