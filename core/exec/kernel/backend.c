/* What a node asks for, and what schedules call its kernel. */
#include "config.h"

#include "core/ir/edit.h"
#include "core/exec/kernel/backend.h"

/**
 * ir_node_wanted_kernel:
 * @node: a node
 *
 * Returns: (transfer none) (nullable): the kernel that its property %IR_META_KERNEL asks for
 */
const char *
ir_node_wanted_kernel (const IrNode *node)
{
  return node->extra != NULL && node->extra->props != NULL
             ? ir_props_get (node->extra->props, IR_META_KERNEL)
             : NULL;
}

/**
 * ir_backend_kernel_name:
 * @backend: the back end that was chosen
 * @node: a node
 * @kernel: (nullable): its kernel; %NULL for nodes that the runner itself executes
 *
 * Returns: (transfer none): what the schedule calls the kernel
 */
const char *
ir_backend_kernel_name (const IrBackend *backend, const IrNode *node, IrKernelFunc kernel)
{
  if (kernel == NULL)
    return "runner";
  return backend->kernel_name != NULL ? backend->kernel_name (node) : backend->name;
}

/**
 * ir_node_is_inplace:
 * @node: a node
 * @slot: one of its inputs
 *
 * Of the first input, and of both where there are two and it works element by element.
 *
 * Returns: whether the table promises of every kernel that it may write output 0 over the input
 */
gboolean
ir_node_is_inplace (const IrNode *node, guint slot)
{
  const guint both = IR_OP_INPLACE | IR_OP_ELEMENTWISE;

  if (node->op == NULL)
    return FALSE;
  return (slot == 0 && (node->op->flags & IR_OP_INPLACE)) ||
         (slot == 1 && (node->op->flags & both) == both && node->n_inputs == 2 &&
          node->n_outputs == 1);
}

/**
 * ir_backend_input_terms:
 * @backend: the back end that was chosen
 * @node: a node
 * @slot: one of its inputs
 * @blocks: whether the kernel works on values in NCHWc
 *
 * Returns: what the kernel declares of the input
 */
IrInputTerms
ir_backend_input_terms (const IrBackend *backend, const IrNode *node, guint slot, gboolean blocks)
{
  IrInputTerms terms = { .layouts = IR_LAYOUT_PLAIN };

  if (backend->input_terms != NULL)
    terms = backend->input_terms (node, slot, blocks);
  terms.overwritten = terms.overwritten || ir_node_is_inplace (node, slot);
  return terms;
}

/**
 * ir_kernel_fact_free:
 * @fact: (transfer full): an #IrKernelFact
 */
void
ir_kernel_fact_free (gpointer fact)
{
  IrKernelFact *own = fact;

  g_free (own->title);
  g_free (own->text);
  g_free (own->code);
  g_free (own);
}

/**
 * ir_backend_output_terms:
 * @backend: the back end that was chosen
 * @node: a node
 *
 * Returns: what the kernel declares of output 0
 */
IrOutputTerms
ir_backend_output_terms (const IrBackend *backend, const IrNode *node)
{
  return backend->output_terms != NULL ? backend->output_terms (node)
                                       : (IrOutputTerms){ .gives = IR_LAYOUT_PLAIN };
}
