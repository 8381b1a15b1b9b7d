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

/* What a kernel prepared, with the way to free it. */
typedef struct
{
  const IrCpuKernel *kernel;
  gpointer state;
} State;

static const IrCpuKernel *
kernel_of (const IrNode *node)
{
  return node->op != NULL ? rows[node->op->id].kernel : NULL;
}

static const char *
refuses (const IrNode *node)
{
  const IrCpuKernel *kernel = kernel_of (node);

  if (node->op == NULL)
    return "irscope does not know this operator";
  if (kernel == NULL)
    return "the operator has no CPU kernel";
  return kernel->refuses != NULL ? kernel->refuses (node) : NULL;
}

/* Inference with all shapes known refuses what does not fit, so that no kernel reads beyond an
 * operand: shapes that a graph leaves open meet for the first time here. */
static gboolean
run (IrCall *call, GError **error)
{
  const IrCpuKernel *kernel = kernel_of (call->node);
  State *state = call->kernel_state;
  gboolean done;

  if (!call->settled && !call->op->infer (call, error))
    return FALSE;
  call->kernel_state = state != NULL ? state->state : NULL;
  done = kernel->run (call, error);
  call->kernel_state = state; /* whose it is: the caller releases it */
  return done;
}

static IrKernelFunc
kernel (const IrNode *node)
{
  return kernel_of (node) != NULL ? run : NULL;
}

static const char *
kernel_name (const IrNode *node)
{
  return kernel_of (node)->name;
}

static gpointer
prepare (IrCall *call, GError **error)
{
  const IrCpuKernel *found = kernel_of (call->node);
  g_autoptr (GError) local = NULL;
  gpointer prepared = found->prepare != NULL ? found->prepare (call, &local) : NULL;
  State *state;

  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  if (prepared == NULL)
    return NULL;
  state = g_new (State, 1);
  *state = (State){ found, prepared };
  return state;
}

static void
release (gpointer data)
{
  State *state = data;

  state->kernel->release (state->state);
  g_free (state);
}

const IrBackend ir_backend_cpu = {
  .name = "cpu",
  .title = "CPU kernels",
  .refuses = refuses,
  .kernel = kernel,
  .kernel_name = kernel_name,
  .prepare = prepare,
  .release = release,
  .falls_back = TRUE,
};
