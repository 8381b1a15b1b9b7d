/* The row of the back end: a call is run in the layouts that its kernel declares. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

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

  if (node->op == NULL)
    return "irscope does not know this operator";
  if (kernel == NULL)
    return "the operator has no CPU kernel";
  return kernel->refuses != NULL ? kernel->refuses (node) : NULL;
}

/* -- kernels that know nothing of blocks -- */

static gboolean
lies_in_scratch (const IrCall *call, const IrTensor *tensor)
{
  const guint8 *data = ir_tensor_data (tensor);

  for (guint i = 0; call->scratch != NULL && i < IR_SCRATCH_PARTS; i++)
    {
      const IrScratchPart *part = &call->scratch->parts[i];
      const guint8 *start = part->data;
      if (start != NULL && data >= start && data < start + part->bytes)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_view (const IrCall *call)
{
  const IrValue *value = ir_node_output (call->node, 0);
  const IrType *out = value != NULL ? value->type : NULL;
  gsize before, after;

  return (call->op->flags & IR_OP_VIEW) && call->node->n_outputs == 1 && out != NULL &&
         out->dtype == IR_DTYPE_FLOAT && ir_type_is_static (out) && ir_type_n_bytes (out, &after) &&
         ir_type_n_bytes (call->inputs[0].type, &before) && before == after;
}

static gboolean
run_plain (const IrCpuKernel *kernel, IrCall *call, GError **error)
{
  if (call->inputs[0].block != 0 && is_view (call))
    return cpu_plain_view (call, error);
  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].block != 0 && !cpu_plain_in (call, i, error))
      return FALSE;
  if (!call->op->infer (call, error))
    return FALSE;
  ir_call_ready (call, FALSE);
  if (!kernel->run (call, error))
    return FALSE;
  /* Some kernels give their input where there is nothing to do. */
  for (guint i = 0; i < call->n_outputs; i++)
    {
      IrTensor *tensor = call->outputs[i].tensor;
      if (tensor == NULL || !lies_in_scratch (call, tensor))
        continue;
      tensor = ir_call_new_copy (call, tensor, error);
      if (tensor == NULL)
        return FALSE;
      ir_call_take_output (call, i, tensor);
    }
  return TRUE;
}

/* -- kernels over blocks -- */

/* What the kernel over blocks reads input @slot in; asked for once where calls do not change. */
static guint8
layouts_of (IrCall *call, guint slot)
{
  guint8 *layouts = &call->inputs[slot].layouts;

  if (*layouts == 0 || !call->settled)
    *layouts = (guint8) cpu_input_terms (call->node, slot, TRUE).layouts;
  return *layouts;
}

/* Where nothing is wanted in blocks, the kernel for plain values runs unless the other one reads
 * every input that is in blocks so. */
static gboolean
runs_over_blocks (const IrCpuKernel *kernel, IrCall *call)
{
  if (call->outputs[0].block != 0)
    return TRUE;
  for (guint i = 0; kernel->blocks != NULL && i < call->n_inputs; i++)
    if (call->inputs[i].block != 0 && !(layouts_of (call, i) & IR_LAYOUT_BLOCKS))
      return FALSE;
  return kernel->blocks != NULL;
}

/* Brings input @slot into a layout that is declared. */
static gboolean
bring_input (IrCall *call, guint slot, GError **error)
{
  const IrCallInput *input = &call->inputs[slot];
  guint8 layouts = layouts_of (call, slot);
  gint64 dims[4] = { 1, 1, 1, 1 };

  if (input->block != 0)
    return (layouts & IR_LAYOUT_BLOCKS) != 0 || cpu_plain_in (call, slot, error);
  if (layouts & IR_LAYOUT_PLAIN)
    return TRUE;
  for (int k = 0; k < input->type->rank; k++)
    dims[4 - input->type->rank + k] = input->type->dims[k];
  return cpu_blocks_in (call, slot, dims, 1, cpu_lanes (), error) != NULL;
}

/* Runs the kernel on blocks, if it can, and else on plain copies: this is the one place that
 * decides what an input is brought into, from what the kernel declares of it. */
static gboolean
run_blocks (const IrCpuKernel *kernel, IrCall *call, GError **error)
{
  if (!runs_over_blocks (kernel, call))
    return run_plain (kernel, call, error);
  for (guint i = 0; i < call->n_inputs; i++)
    {
      IrCallInput *input = &call->inputs[i];
      if (!input->present)
        continue;
      if (!bring_input (call, i, error))
        return FALSE;
      /* To kernels element by element blocks are one more axis. */
      if (kernel->blocks == NULL && input->block != 0)
        input->type = ir_tensor_type (ir_call_input (call, i), call->context);
    }
  if ((kernel->blocks == NULL || !call->settled) && !call->op->infer (call, error))
    return FALSE;
  ir_call_ready (call, TRUE);
  return kernel->blocks != NULL ? kernel->blocks->run (call, error) : kernel->run (call, error);
}

/* -- calls -- */

static gboolean
run_as_is (const IrCpuKernel *kernel, IrCall *call, GError **error)
{
  if (!call->settled && !call->op->infer (call, error))
    return FALSE;
  ir_call_ready (call, FALSE);
  return kernel->run (call, error);
}

/* Operands may be replaced by copies in another layout: the call is as before when it returns. */
static gboolean
run_in_blocks (const IrCpuKernel *kernel, IrCall *call, GError **error)
{
  IrCallInput few[8],
      *inputs = call->n_inputs <= G_N_ELEMENTS (few) ? few : g_new (IrCallInput, call->n_inputs);
  const IrType *type = call->outputs[0].type;
  guint8 block = call->outputs[0].block;
  guint n_inputs = call->n_inputs;
  gboolean done;

  memcpy (inputs, call->inputs, n_inputs * sizeof *inputs);
  if (cpu_call_has_blocks (call))
    done = run_blocks (kernel, call, error);
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

  if (!ir_call_align_others (call, kernel->loose - 1, error))
    return FALSE;
  call->kernel_state = state != NULL ? state->state : NULL;
  if (kernel->blocks != NULL || cpu_call_has_blocks (call))
    done = run_in_blocks (kernel, call, error);
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
  .falls_back = TRUE,
  .plan_blocks = cpu_plan_blocks,
  .explain_blocks = cpu_explain_blocks,
  .candidates = candidates,
  .explain_choice = explain_choice,
  .input_terms = cpu_input_terms,
  .output_terms = cpu_output_terms,
};
