/* Operands of a kernel in NCHWc or NCHW: as they are, or copies in the scratch
 * memory. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

/* Parts of the scratch memory: inputs in blocks, inputs in order, and the output in blocks. A
 * kernel may want blocks of what has just been brought in order. */
#define MOST_PARTS ((IR_SCRATCH_KERNEL - 1) / 2)
#define OUT_PART   (IR_SCRATCH_KERNEL - 1)

/* Whether it has four axes of known sizes and float32 elements */
gboolean
cpu_planes_of (const IrValue *value, CpuPlanes *planes)
{
  const IrType *type = value != NULL ? value->type : NULL;

  if (type == NULL || !ir_type_is_tensor (type) || type->dtype != IR_DTYPE_FLOAT ||
      type->rank != 4 || !ir_type_is_static (type))
    return FALSE;
  *planes = (CpuPlanes){ type->dims[0], type->dims[1], type->dims[2] * type->dims[3] };
  return planes->batch > 0 && planes->channels > 0 && planes->plane > 0;
}

/* Whether any operand is in NCHWc */
gboolean
cpu_call_has_blocks (const IrCall *call)
{
  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].block != 0)
      return TRUE;
  return call->n_outputs > 0 && call->outputs[0].block != 0;
}

/* A tensor over memory of the runner where there is some, else over its own. (nullable) */
static IrTensor *
tensor_for (IrCall *call, guint part, guint rank, const gint64 *dims, GError **error)
{
  gsize bytes = sizeof (float);
  gpointer data;

  if (call->scratch == NULL || part >= IR_SCRATCH_PARTS)
    return ir_tensor_new_alloc (IR_DTYPE_FLOAT, rank, dims, error);
  for (guint i = 0; i < rank; i++)
    bytes *= (gsize) dims[i];
  data = ir_scratch_get (call->scratch, part, bytes);
  if (data == NULL)
    {
      ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "a copy in another layout finds no memory");
      return NULL;
    }
  return ir_tensor_new_static (IR_DTYPE_FLOAT, rank, dims, data, bytes);
}

static int
n_threads_of (const IrCall *call, const CpuPlanes *planes)
{
  return cpu_n_threads (call, (guint64) (planes->batch * planes->channels * planes->plane));
}

static guint
part_of_input (guint slot, gboolean blocks)
{
  if (slot >= MOST_PARTS)
    return IR_SCRATCH_PARTS; /* none */
  return blocks ? slot : MOST_PARTS + slot;
}

/* Replaces input @slot by a copy in blocks of @block channels. */
static gboolean
bring_into_blocks (
    IrCall *call, guint slot, const gint64 *dims, gint64 parts, guint block, GError **error)
{
  CpuPlanes planes = { dims[0] * parts, dims[1] / parts, dims[2] * dims[3] };
  gint64 blocked[] = { planes.batch, (planes.channels + block - 1) / block, dims[2], dims[3],
                       block };
  const float *from = ir_tensor_data (ir_call_input (call, slot));
  const IrType *type = call->inputs[slot].type;
  IrTensor *tensor = tensor_for (call, part_of_input (slot, TRUE), 5, blocked, error);

  if (tensor == NULL)
    return FALSE;
  ir_nchwc_from_plain (from, ir_tensor_data_writable (tensor), planes.batch, planes.channels,
                       planes.plane, block, n_threads_of (call, &planes));
  ir_call_set_input_tensor (call, slot, tensor);
  call->inputs[slot].type = type;
  call->inputs[slot].block = (guint8) block;
  return TRUE;
}

/* Its contents in blocks: as they are, or a copy. @parts: into how many parts the channels are
 * cut, each in blocks by itself; 1: none. */
const float *
cpu_blocks_in (
    IrCall *call, guint slot, const gint64 *dims, gint64 parts, guint block, GError **error)
{
  if (call->inputs[slot].block != block &&
      !bring_into_blocks (call, slot, dims, parts, block, error))
    return NULL;
  return ir_tensor_data (ir_call_input (call, slot));
}

/* Where the kernel may write output 0 in blocks. @parts: as in cpu_blocks_in(); more than 1
 * where the output is wanted plain only. */
float *
cpu_blocks_out (
    IrCall *call, const gint64 *dims, gint64 parts, guint block, IrTensor **blocks, GError **error)
{
  gint64 channels = dims[1] / parts;
  gint64 blocked[] = { dims[0] * parts, (channels + block - 1) / block, dims[2], dims[3], block };

  if (call->outputs[0].block != 0)
    *blocks = ir_call_new_output (call, 0, IR_DTYPE_FLOAT, 5, blocked, error);
  else
    *blocks = tensor_for (call, OUT_PART, 5, blocked, error);
  return *blocks != NULL ? ir_tensor_data_writable (*blocks) : NULL;
}

/* Brings output 0 into the order of the graph where it is wanted so. Returns FALSE if there is
 * no memory. */
gboolean
cpu_blocks_done (IrCall *call, const gint64 *dims, gint64 parts, IrTensor *blocks, GError **error)
{
  CpuPlanes planes = { dims[0] * parts, dims[1] / parts, dims[2] * dims[3] };
  IrTensor *plain;

  if (call->outputs[0].block != 0)
    return TRUE; /* the call owns it */
  plain = ir_call_new_output (call, 0, IR_DTYPE_FLOAT, 4, dims, error);
  if (plain != NULL)
    ir_nchwc_to_plain (ir_tensor_data (blocks), ir_tensor_data_writable (plain), planes.batch,
                       planes.channels, planes.plane, ir_tensor_dims (blocks)[4],
                       n_threads_of (call, &planes));
  ir_tensor_unref (blocks);
  return plain != NULL;
}

/* Replaces input @slot, which is in blocks, by a copy in order. */
gboolean
cpu_plain_in (IrCall *call, guint slot, GError **error)
{
  const IrTensor *from = ir_call_input (call, slot);
  const IrType *type = call->inputs[slot].type;
  CpuPlanes planes = { type->dims[0], type->dims[1], type->dims[2] * type->dims[3] };
  IrTensor *tensor = tensor_for (call, part_of_input (slot, FALSE), 4, type->dims, error);

  if (tensor == NULL)
    return FALSE;
  ir_nchwc_to_plain (ir_tensor_data (from), ir_tensor_data_writable (tensor), planes.batch,
                     planes.channels, planes.plane, ir_tensor_dims (from)[4],
                     n_threads_of (call, &planes));
  ir_call_set_input_tensor (call, slot, tensor);
  call->inputs[slot].block = 0;
  return TRUE;
}

/* The bytes of the input under another shape: brought into order where the output belongs. */
gboolean
cpu_plain_view (IrCall *call, GError **error)
{
  const IrTensor *from = ir_call_input (call, 0);
  const IrType *in = call->inputs[0].type, *out = call->node->outputs[0]->type;
  CpuPlanes planes = { in->dims[0], in->dims[1], in->dims[2] * in->dims[3] };
  IrTensor *to = ir_call_new_output (call, 0, out->dtype, (guint) out->rank, out->dims, error);

  if (to != NULL)
    ir_nchwc_to_plain (ir_tensor_data (from), ir_tensor_data_writable (to), planes.batch,
                       planes.channels, planes.plane, ir_tensor_dims (from)[4],
                       n_threads_of (call, &planes));
  return to != NULL;
}

/* For what a kernel over blocks finds out too late that it cannot do: runs @run on plain copies,
 * and brings the output into blocks if it is wanted so. */
gboolean
cpu_run_in_order (IrKernelFunc run, IrCall *call, GError **error)
{
  IrCallOutput wanted = call->outputs[0];
  const gint64 *dims;

  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].block != 0 && !cpu_plain_in (call, i, error))
      return FALSE;
  if (wanted.block == 0)
    return run (call, error);
  call->outputs[0].memory = NULL;
  call->outputs[0].block = 0;
  if (!run (call, error))
    return FALSE;
  g_autoptr (IrTensor) plain = g_steal_pointer (&call->outputs[0].tensor);
  call->outputs[0].memory = wanted.memory;
  call->outputs[0].block = wanted.block;
  dims = ir_tensor_dims (plain);
  gint64 blocked[] = { dims[0], (dims[1] + wanted.block - 1) / wanted.block, dims[2], dims[3],
                       wanted.block };
  IrTensor *out = ir_call_new_output (call, 0, IR_DTYPE_FLOAT, 5, blocked, error);
  if (out == NULL)
    return FALSE;
  ir_nchwc_from_plain (ir_tensor_data (plain), ir_tensor_data_writable (out), dims[0], dims[1],
                       dims[2] * dims[3], wanted.block, 1);
  return TRUE;
}
