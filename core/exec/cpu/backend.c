/* The row of the back end, and how it runs a call. */
#include "config.h"

#include "core/exec/cpu/half.h"

#include <string.h>

/* What a kernel prepared, with the way to free it. */
typedef struct
{
  const IrCpuKernel *kernel;
  gpointer state;
} State;

static const char *
refuses (const IrNode *node)
{
  const IrCpuKernel *kernel = cpu_kernel_of (node);
  const char *why;

  if (node->op == NULL)
    return "irscope does not know this operator";
  if (kernel == NULL)
    return "the operator has no CPU kernel";
  why = kernel->refuses != NULL ? kernel->refuses (node) : NULL;
  return why != cpu_half ? why : NULL;
}

static gboolean
run_as_is (const IrCpuKernel *kernel, IrCall *call, GError **error)
{
  if (!call->shape_static && !call->op->infer (call, error))
    return FALSE;
  ir_call_ready (call, FALSE);
  return kernel->run (call, error);
}

/* Nothing of 16 bits lies in blocks; what a kernel like that has in float32 beside may. */
static gboolean
run_widened (const IrCpuKernel *kernel, IrCall *call, GError **error)
{
  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].block != 0 && !cpu_plain_in (call, i, error))
      return FALSE;
  if (!call->shape_static && !call->op->infer (call, error))
    return FALSE;
  ir_call_ready (call, FALSE);
  return cpu_half_run (kernel, call, error);
}

/* Operands may be replaced by copies in another layout: the call is as before when it returns. */
static gboolean
run_with_copies (const IrCpuKernel *kernel, IrCall *call, GError **error)
{
  IrCallInput few[8],
      *inputs = call->n_inputs <= G_N_ELEMENTS (few) ? few : g_new (IrCallInput, call->n_inputs);
  const IrType *type = call->outputs[0].type;
  guint8 block = call->outputs[0].block;
  guint n_inputs = call->n_inputs;
  gboolean done;

  memcpy (inputs, call->inputs, n_inputs * sizeof *inputs);
  if (cpu_half_is_widened (kernel, call))
    done = run_widened (kernel, call, error);
  else if (cpu_call_has_blocks (call))
    done = cpu_run_blocks (kernel, call, error);
  else
    done = run_as_is (kernel, call, error);
  memcpy (call->inputs, inputs, n_inputs * sizeof *inputs);
  call->outputs[0].block = block;
  if (block != 0)
    call->outputs[0].type = type;
  if (inputs != few)
    g_free (inputs);
  return done;
}

/* Inference with all shapes known refuses what does not fit, so that no kernel reads beyond an
 * operand: shapes that a graph leaves open meet for the first time here. */
static gboolean
run (IrCall *call, GError **error)
{
  const IrCpuKernel *kernel = cpu_kernel_of (call->node);
  State *state = call->kernel_state;
  gboolean done;

  call->kernel_state = state != NULL ? state->state : NULL;
  if (kernel->blocks != NULL || cpu_call_has_blocks (call) || cpu_half_is_widened (kernel, call))
    done = run_with_copies (kernel, call, error);
  else
    done = run_as_is (kernel, call, error);
  call->kernel_state = state; /* whose it is: the caller releases it */
  return done;
}

static IrKernelFunc
kernel (const IrNode *node)
{
  return cpu_kernel_of (node) != NULL ? run : NULL;
}

static const char *
kernel_name (const IrNode *node)
{
  const IrCpuKernel *found = cpu_kernel_of (node);
  const char *why;

  return found->variant != NULL ? found->variant (node, &why) : found->name;
}

static const char *
candidates (const IrNode *node)
{
  const IrCpuKernel *found = cpu_kernel_of (node);

  if (found == NULL)
    return NULL;
  return found->candidates_for != NULL ? found->candidates_for (node) : found->candidates;
}

static const char *
explain_choice (const IrNode *node)
{
  const IrCpuKernel *found = cpu_kernel_of (node);
  const char *why = NULL;

  if (found != NULL && found->refuses != NULL && found->refuses (node) == cpu_half)
    return cpu_half;
  if (found != NULL && found->variant != NULL)
    found->variant (node, &why);
  return why;
}

static gpointer
prepare (IrCall *call, GError **error)
{
  const IrCpuKernel *found = cpu_kernel_of (call->node);
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

static gboolean
shares_state (const IrNode *node)
{
  return cpu_kernel_of (node) != NULL && cpu_kernel_of (node)->shares_state;
}

const IrBackend ir_backend_cpu = {
  .name = "cpu",
  .title = "CPU kernels",
  .refuses = refuses,
  .kernel = kernel,
  .kernel_name = kernel_name,
  .prepare = prepare,
  .release = release,
  .shares_state = shares_state,
  .falls_back = &ir_backend_ref,
  .plan_blocks = cpu_plan_blocks,
  .explain_blocks = cpu_explain_blocks,
  .candidates = candidates,
  .explain_choice = explain_choice,
  .input_terms = cpu_input_terms,
  .output_terms = cpu_output_terms,
};
