/* Which values are kept in blocks of channels, and how kernels that know nothing of it get along.
 * A convolution gives blocks and likes to read them; poolings, sums and activations pass them on.
 * Whatever else reads such a value gets a plain copy of it. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

#include <string.h>

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

/* -- operators element by element: any layout is right, as long as all operands share it -- */

typedef enum
{
  OPERAND_UNFIT,
  OPERAND_FULL,    /* every element has its own */
  OPERAND_CHANNEL, /* one for each channel, perhaps of each sample */
  OPERAND_ONE
} Operand;

static Operand
operand_of (const IrType *type, const IrType *out)
{
  guint64 n = 1;

  if (type == NULL || !ir_type_is_tensor (type) || type->dtype != IR_DTYPE_FLOAT ||
      !ir_type_is_static (type) || type->rank > 4)
    return OPERAND_UNFIT;
  for (int i = 0; i < type->rank; i++)
    n *= (guint64) type->dims[i];
  if (n == 1)
    return OPERAND_ONE;
  if (type->rank == 4 && memcmp (type->dims, out->dims, 4 * sizeof *type->dims) == 0)
    return OPERAND_FULL;
  for (int i = 1; i <= type->rank; i++)
    {
      gint64 size = type->dims[type->rank - i], wanted = out->dims[4 - i];

      if (i <= 2 ? size != 1 : i == 3 ? size != wanted : size != 1 && size != wanted)
        return OPERAND_UNFIT;
    }
  return type->rank >= 3 ? OPERAND_CHANNEL : OPERAND_UNFIT;
}

/* A single element is read plain, and so is what comes of nothing else. */
static gboolean
is_elementwise (const IrNode *node)
{
  CpuPlanes planes;

  if (node->op == NULL || !(node->op->flags & IR_OP_ELEMENTWISE) ||
      (node->op->flags & IR_OP_VIEW) || node->n_outputs != 1 || node->n_inputs == 0 ||
      node->n_inputs > 3 || !cpu_planes_of (node->outputs[0], &planes) ||
      (planes.batch == 1 && planes.channels == 1 && planes.plane == 1))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL &&
        operand_of (node->inputs[i]->type, node->outputs[0]->type) == OPERAND_UNFIT)
      return FALSE;
  return TRUE;
}

/* -- planning -- */

typedef struct
{
  const IrGraph *graph;
  const IrKernels *kernels;
  guint lanes;
  guint8 *blocks;
  guint8 *wanted; /* by value id: somebody gains if it is in blocks */
} Planner;

/* Whether a kernel of this back end runs @node, and not a reference kernel in its place. */
static gboolean
runs_here (const Planner *planner, const IrNode *node)
{
  return ir_kernels_is_own (planner->kernels, node);
}

static const IrCpuBlocks *
blocks_of (const Planner *planner, const IrNode *node)
{
  return runs_here (planner, node) ? cpu_kernel_of (node)->blocks : NULL;
}

/* Whether @node gains from having input @slot in blocks. */
static gboolean
takes (const Planner *planner, const IrNode *node, guint slot)
{
  const IrCpuBlocks *own = blocks_of (planner, node);

  if (own != NULL)
    return (own->reads (node, slot, planner->lanes) & IR_LAYOUT_BLOCKS) != 0;
  return runs_here (planner, node) && is_elementwise (node) &&
         operand_of (node->inputs[slot]->type, node->outputs[0]->type) == OPERAND_FULL;
}

/* Concat, Gather and operators element by element gain nothing themselves. */
static gboolean
gains (const Planner *planner, const IrNode *node)
{
  const IrCpuBlocks *own = blocks_of (planner, node);

  if (own != NULL && !own->carries)
    return TRUE;
  return node->n_outputs > 0 && node->outputs[0] != NULL &&
         planner->wanted[node->outputs[0]->id] != 0;
}

/* Outputs of the graph, and what subgraphs and reference kernels see, stay plain. */
static gboolean
may_be_blocks (const Planner *planner, const IrValue *value)
{
  CpuPlanes planes;

  if (value == NULL || ir_value_constant (value) != NULL || !cpu_planes_of (value, &planes))
    return FALSE;
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node == NULL || use.node->graph != planner->graph || !runs_here (planner, use.node))
        return FALSE;
    }
  return TRUE;
}

static void
find_wanted (Planner *planner, const IrNode *node)
{
  if (!gains (planner, node))
    return;
  for (guint slot = 0; slot < node->n_inputs; slot++)
    if (node->inputs[slot] != NULL && takes (planner, node, slot))
      planner->wanted[node->inputs[slot]->id] = TRUE;
}

static gboolean
any_in_blocks (const Planner *planner, const IrNode *node)
{
  for (guint slot = 0; slot < node->n_inputs; slot++)
    if (node->inputs[slot] != NULL && planner->blocks[node->inputs[slot]->id] != 0)
      return TRUE;
  return FALSE;
}

/* Whether half of what the kernel reads in blocks is so already, by channels. */
static gboolean
most_in_blocks (const Planner *planner, const IrNode *node)
{
  gint64 in_blocks = 0, all = 0;

  for (guint slot = 0; slot < node->n_inputs; slot++)
    if (node->inputs[slot] != NULL && takes (planner, node, slot))
      {
        gint64 channels = node->inputs[slot]->type->dims[1];
        all += channels;
        in_blocks += planner->blocks[node->inputs[slot]->id] != 0 ? channels : 0;
      }
  return all > 0 && 2 * in_blocks >= all;
}

static void
decide (Planner *planner, const IrNode *node)
{
  const IrCpuBlocks *own = blocks_of (planner, node);
  const IrValue *out = node->n_outputs > 0 ? node->outputs[0] : NULL;

  if (out == NULL || !runs_here (planner, node) || !planner->wanted[out->id] ||
      !may_be_blocks (planner, out))
    return;
  if (!(cpu_output_terms (node).gives & IR_LAYOUT_BLOCKS))
    return;
  if (own != NULL ? own->makes || most_in_blocks (planner, node) : any_in_blocks (planner, node))
    planner->blocks[out->id] = (guint8) planner->lanes;
}

/* Chooses the values that are kept in blocks of channels: those that a convolution or pooling
 * reads or that lead to one, where what makes them can give them so. Cost: O(nodes + uses). */
void
cpu_plan_blocks (const IrGraph *graph, const IrKernels *kernels, guint8 *blocks)
{
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (graph, &n_nodes);
  Planner planner = { .graph = graph, .kernels = kernels, .lanes = cpu_lanes (), .blocks = blocks };

  if (planner.lanes == 0)
    return;
  planner.wanted = g_new0 (guint8, graph->model->values->len + 1);
  for (guint i = n_nodes; i-- > 0;)
    find_wanted (&planner, nodes[i]);
  for (guint i = 0; i < n_nodes; i++)
    decide (&planner, nodes[i]);
  g_free (planner.wanted);
}

/* @format with the names of two layouts, of @from and @to channels a block, for the rank of @node. */
static const char *
name_layouts (const IrNode *node, const char *format, guint from, guint to)
{
  const IrType *type = node->n_outputs > 0 && node->outputs[0] != NULL ? node->outputs[0]->type
                                                                       : NULL;
  guint rank = type != NULL && type->rank > 0 ? (guint) type->rank : 4;
  g_autofree char *text = g_strdup_printf (format, ir_nchwc_name (rank, from),
                                           ir_nchwc_name (rank, to));

  return g_intern_string (text);
}

/* What that means for @node, in words */
const char *
cpu_explain_blocks (const IrNode *node, const guint8 *blocks)
{
  const IrCpuKernel *kernel = cpu_kernel_of (node);
  const IrCpuBlocks *own = kernel != NULL ? kernel->blocks : NULL;
  const char *why = NULL;
  gboolean in = FALSE, out = node->n_outputs > 0 && node->outputs[0] != NULL &&
                             blocks[node->outputs[0]->id] != 0;

  for (guint slot = 0; slot < node->n_inputs; slot++)
    in |= node->inputs[slot] != NULL && blocks[node->inputs[slot]->id] != 0;
  if (out && own != NULL && !(own->reads (node, 0, cpu_lanes ()) & IR_LAYOUT_BLOCKS))
    return name_layouts (node,
                         blocks[node->inputs[0]->id] != 0 ? "reorders its input to %s, "
                                                            "writes %s"
                                                          : "reads %s, writes %s",
                         0, cpu_lanes ());
  if (in && out)
    return name_layouts (node, "reads %s, writes %s", cpu_lanes (), cpu_lanes ());
  if (out)
    return name_layouts (node, "reorders its input to %s, writes %s", cpu_lanes (), cpu_lanes ());
  if (in && own != NULL)
    return name_layouts (node, "reads %s, writes %s", cpu_lanes (), 0);
  if (in)
    return "knows plain layouts only: inputs in NCHWc are reordered first";
  if (kernel != NULL && kernel->variant != NULL)
    kernel->variant (node, &why);
  return why;
}

/* -- running -- */

/* Whether any operand is in blocks of channels */
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
  ir_blocks_from_plain (call, from, ir_tensor_data_writable (tensor), planes.batch, planes.channels,
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
    ir_blocks_to_plain (call, ir_tensor_data (blocks), ir_tensor_data_writable (plain),
                        planes.batch, planes.channels, planes.plane, ir_tensor_dims (blocks)[4],
                        n_threads_of (call, &planes));
  ir_tensor_unref (blocks);
  return plain != NULL;
}

/* -- kernels that know nothing of blocks -- */

static gboolean
bring_into_order (IrCall *call, guint slot, GError **error)
{
  const IrTensor *from = ir_call_input (call, slot);
  const IrType *type = call->inputs[slot].type;
  CpuPlanes planes = { type->dims[0], type->dims[1], type->dims[2] * type->dims[3] };
  IrTensor *tensor = tensor_for (call, part_of_input (slot, FALSE), 4, type->dims, error);

  if (tensor == NULL)
    return FALSE;
  ir_blocks_to_plain (call, ir_tensor_data (from), ir_tensor_data_writable (tensor), planes.batch,
                      planes.channels, planes.plane, ir_tensor_dims (from)[4],
                      n_threads_of (call, &planes));
  ir_call_set_input_tensor (call, slot, tensor);
  call->inputs[slot].block = 0;
  return TRUE;
}

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

/* The bytes of the input under another shape: brought into order where the output belongs. */
static gboolean
run_view (IrCall *call, GError **error)
{
  const IrTensor *from = ir_call_input (call, 0);
  const IrType *in = call->inputs[0].type, *out = call->node->outputs[0]->type;
  CpuPlanes planes = { in->dims[0], in->dims[1], in->dims[2] * in->dims[3] };
  IrTensor *to = ir_call_new_output (call, 0, out->dtype, (guint) out->rank, out->dims, error);

  if (to != NULL)
    ir_blocks_to_plain (call, ir_tensor_data (from), ir_tensor_data_writable (to), planes.batch,
                        planes.channels, planes.plane, ir_tensor_dims (from)[4],
                        n_threads_of (call, &planes));
  return to != NULL;
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
    return run_view (call, error);
  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].block != 0 && !bring_into_order (call, i, error))
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

/* -- kernels over blocks, and what they are given -- */

/* Of operators element by element, to whose kernel blocks are one more axis. A single element
 * stands for every lane, which it does not where it lies at the head of a block. */
static IrLayouts
elementwise_reads (const IrNode *node, guint slot)
{
  const IrValue *value = ir_node_input (node, slot);
  Operand operand = value != NULL ? operand_of (value->type, node->outputs[0]->type)
                                  : OPERAND_UNFIT;

  return operand == OPERAND_FULL || operand == OPERAND_CHANNEL ? IR_LAYOUT_BLOCKS : IR_LAYOUT_PLAIN;
}

/* What the kernel declares of the input */
IrInputTerms
cpu_input_terms (const IrNode *node, guint slot, gboolean blocks)
{
  const IrCpuKernel *kernel = cpu_kernel_of (node);
  IrInputTerms terms = { .layouts = IR_LAYOUT_PLAIN };

  if (kernel == NULL)
    return terms;
  if (blocks)
    terms.layouts = kernel->blocks != NULL ? kernel->blocks->reads (node, slot, cpu_lanes ())
                                           : elementwise_reads (node, slot);
  terms.any_address = kernel->loose == slot + 1;
  terms.overwritten = kernel->overwrites != NULL && kernel->overwrites (node) == (int) slot;
  return terms;
}

/* What the kernel of this back end declares of output 0 */
IrOutputTerms
cpu_output_terms (const IrNode *node)
{
  const IrCpuKernel *kernel = cpu_kernel_of (node);
  const IrCpuBlocks *own = kernel != NULL ? kernel->blocks : NULL;
  IrOutputTerms terms = { .gives = IR_LAYOUT_PLAIN };
  guint lanes = cpu_lanes ();

  if (kernel == NULL)
    return terms;
  if (own != NULL && own->gives != NULL && lanes != 0)
    terms.gives |= own->gives (node, lanes);
  else if (own == NULL && lanes != 0 && is_elementwise (node))
    terms.gives |= IR_LAYOUT_BLOCKS;
  terms.in_pieces = kernel->in_pieces && own == NULL && cpu_needs_float (node) == NULL;
  return terms;
}

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
    return (layouts & IR_LAYOUT_BLOCKS) != 0 || bring_into_order (call, slot, error);
  if (layouts & IR_LAYOUT_PLAIN)
    return TRUE;
  for (int k = 0; k < input->type->rank; k++)
    dims[4 - input->type->rank + k] = input->type->dims[k];
  return bring_into_blocks (call, slot, dims, 1, cpu_lanes (), error);
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
  if ((kernel->blocks == NULL || !call->settled) && !call->op->infer (call, error))
    return FALSE;
  ir_call_ready (call, TRUE);
  return kernel->blocks != NULL ? kernel->blocks->run (call, error) : kernel->run (call, error);
}

/* For what a kernel over blocks finds out too late that it cannot do: runs @run on plain copies,
 * and brings the output into blocks if it is wanted so. */
gboolean
cpu_run_in_order (IrKernelFunc run, IrCall *call, GError **error)
{
  IrCallOutput wanted = call->outputs[0];
  const gint64 *dims;

  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].block != 0 && !bring_into_order (call, i, error))
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
  ir_blocks_from_plain (call, ir_tensor_data (plain), ir_tensor_data_writable (out), dims[0],
                        dims[1], dims[2] * dims[3], wanted.block, 1);
  return TRUE;
}
