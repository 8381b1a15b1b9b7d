/* The reference back end: the REF column of the op table. */
#include "config.h"

#include "core/exec/ref/ref.h"

typedef struct
{
  IrOpId op;
  IrKernelFunc kernel; /* (nullable) */
  gboolean control;    /* the runner executes it: its row has a CONTROL column */
} Row;

/* clang-format off */
static const Row rows[IR_N_OPS] = { [IR_OP_NONE] = { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define REF(function) , .kernel = function
#define CONTROL(run) , .control = TRUE
#include "core/op/ops.def"
} };
/* clang-format on */

/**
 * ir_ref_kernel:
 * @op: an operator
 *
 * Returns: (nullable): its reference kernel; %NULL: it runs by its function body, by the runner, or
 *   not at all
 */
IrKernelFunc
ir_ref_kernel (const IrOp *op)
{
  return rows[op->id].kernel;
}

/**
 * ir_ref_run:
 * @call: a call of an operator that has a reference kernel
 * @error: return location for an error
 *
 * What kernels of other back ends hand on to where they do not take a call, which says so.
 *
 * Returns: %TRUE if the outputs were computed
 */
gboolean
ir_ref_run (IrCall *call, GError **error)
{
  call->by_ref = TRUE;
  return rows[call->op->id].kernel (call, error);
}

static const char *
ref_refuses (const IrNode *node)
{
  if (node->op == NULL)
    return "irscope does not know this operator";
  if (rows[node->op->id].control)
    return NULL;
  return rows[node->op->id].kernel != NULL ? NULL : "the operator has no reference kernel";
}

static gboolean
run_ref (IrCall *call, GError **error)
{
  ir_call_ready (call, FALSE);
  return rows[call->op->id].kernel (call, error);
}

static IrKernelFunc
ref_kernel (const IrNode *node)
{
  return node->op != NULL && rows[node->op->id].kernel != NULL ? run_ref : NULL;
}

const IrBackend ir_backend_ref = {
  .name = "ref",
  .title = "Reference kernels",
  .refuses = ref_refuses,
  .kernel = ref_kernel,
};
