/* Which values are kept in NCHWc.
 * A convolution gives blocks and likes to read them; poolings, sums and activations pass them on.
 * Whatever else reads such a value gets a plain copy of it. */
#include "config.h"

#include "core/exec/cpu/cpu.h"

#include <string.h>

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
    return (own->reads (node, slot, planner->lanes) & IR_LAYOUT_NCHWC) != 0;
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
  if (!(cpu_output_terms (node).gives & IR_LAYOUT_NCHWC))
    return;
  if (own != NULL ? own->makes || most_in_blocks (planner, node) : any_in_blocks (planner, node))
    planner->blocks[out->id] = (guint8) planner->lanes;
}

/* Chooses the values that are kept in NCHWc: those that a convolution or pooling
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
  if (out && own != NULL && !(own->reads (node, 0, cpu_lanes ()) & IR_LAYOUT_NCHWC))
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

/* -- what kernels declare of their operands -- */

/* Of operators element by element, to whose kernel blocks are one more axis. A single element
 * stands for every lane, which it does not where it lies at the head of a block. */
static IrLayouts
elementwise_reads (const IrNode *node, guint slot)
{
  const IrValue *value = ir_node_input (node, slot);
  Operand operand = value != NULL ? operand_of (value->type, node->outputs[0]->type)
                                  : OPERAND_UNFIT;

  return operand == OPERAND_FULL || operand == OPERAND_CHANNEL ? IR_LAYOUT_NCHWC : IR_LAYOUT_PLAIN;
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
  terms.any_address = kernel->unaligned == slot + 1 || cpu_is_half (cpu_dtype (node, slot));
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
    terms.gives |= IR_LAYOUT_NCHWC;
  terms.tiled = kernel->tiled && own == NULL && cpu_needs_float (node) == NULL;
  return terms;
}
