/* Running a call of which some operands are in NCHWc: by the kernel over blocks if there
 * is one that can, each operand brought into a layout that it declares, else on plain copies. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

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
      tensor = ir_tensor_copy (tensor, error);
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

  if (*layouts == 0 || !call->shape_static)
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
    if (call->inputs[i].block != 0 && !(layouts_of (call, i) & IR_LAYOUT_NCHWC))
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
    return (layouts & IR_LAYOUT_NCHWC) != 0 || cpu_plain_in (call, slot, error);
  if (layouts & IR_LAYOUT_PLAIN)
    return TRUE;
  for (int k = 0; k < input->type->rank; k++)
    dims[4 - input->type->rank + k] = input->type->dims[k];
  return cpu_blocks_in (call, slot, dims, 1, cpu_lanes (), error) != NULL;
}

/* Runs the kernel on blocks, if it can, and else on plain copies: this is the one place that
 * decides what an input is brought into, from what the kernel declares of it. */
gboolean
cpu_run_blocks (const IrCpuKernel *kernel, IrCall *call, GError **error)
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
  if ((kernel->blocks == NULL || !call->shape_static) && !call->op->infer (call, error))
    return FALSE;
  ir_call_ready (call, TRUE);
  return kernel->blocks != NULL ? kernel->blocks->run (call, error) : kernel->run (call, error);
}
