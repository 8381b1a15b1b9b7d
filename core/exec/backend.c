/* The table of back ends, and the reference back end, which is the op table's own column. A new
 * back end is one folder and one line here. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/kernel/backend.h"

/**
 * ir_exec_error_quark:
 *
 * Returns: the domain of errors in planning and running, %IR_EXEC_ERROR
 */
GQuark
ir_exec_error_quark (void)
{
  return g_quark_from_static_string ("ir-exec-error-quark");
}

static const char *
ref_refuses (const IrNode *node)
{
  if (node->op == NULL)
    return "irscope does not know this operator";
  if ((node->op->flags & IR_OP_SUBGRAPHS) && ir_subgraph_runs (node))
    return NULL;
  return node->op->ref != NULL ? NULL : "the operator has no reference kernel";
}

/* Not all of them see to it themselves that what is read has been copied from an odd address. */
static gboolean
run_ref (IrCall *call, GError **error)
{
  return ir_call_align (call, error) && call->op->ref (call, error);
}

static IrKernelFunc
ref_kernel (const IrNode *node)
{
  return node->op != NULL && node->op->ref != NULL ? run_ref : NULL;
}

const IrBackend ir_backend_ref = {
  .name = "ref",
  .title = "Reference kernels",
  .refuses = ref_refuses,
  .kernel = ref_kernel,
};

/* In the order in which they are offered; the first is the fastest that is built. */
static const IrBackend *const backends[] = {
  &ir_backend_cpu,
  &ir_backend_ref,
};

/**
 * ir_backends:
 * @n: (out): how many
 *
 * Returns: (transfer none): the back ends that are built, the default one first
 */
const IrBackend *const *
ir_backends (guint *n)
{
  *n = G_N_ELEMENTS (backends);
  return backends;
}

/**
 * ir_backend_find:
 * @name: "ref", "cpu"
 *
 * Returns: (transfer none) (nullable): the back end, or %NULL if it is unknown or not built
 */
const IrBackend *
ir_backend_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    if (g_strcmp0 (backends[i]->name, name) == 0)
      return backends[i];
  return NULL;
}

/**
 * ir_backend_require:
 * @name: (nullable): name of a device as a user gives it; %NULL: the default one
 * @error: return location for an error
 *
 * Like ir_backend_find(), with %IR_EXEC_ERROR_DEVICE where there is none of that name.
 *
 * Returns: (transfer none) (nullable): the back end
 */
const IrBackend *
ir_backend_require (const char *name, GError **error)
{
  const IrBackend *backend = name != NULL ? ir_backend_find (name) : backends[0];

  if (backend != NULL)
    return backend;
  g_autoptr (GString) known = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    g_string_append_printf (known, "%s%s", i > 0 ? ", " : "", backends[i]->name);
  if (g_strcmp0 (name, "gpu") == 0)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
                 "device gpu: this build of irscope has no GPU back end; use one of: %s",
                 known->str);
  else
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
                 "device %s: there is no such device; use one of: %s", name, known->str);
  return NULL;
}

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
 * ir_backend_choose:
 * @backend: the back end that was asked for
 * @node: a node
 * @kernel: (out): its kernel; %NULL for nodes that the runner itself executes
 * @chosen: (out): the back end that has the kernel
 * @why: (out) (nullable): why it is not @backend
 * @error: return location for an error
 *
 * Finds the kernel for @node: the back end's own or, where it falls back, the reference one. Fails
 * with %IR_EXEC_ERROR_UNSUPPORTED, naming the node and the reason.
 *
 * Returns: %TRUE if @node can run
 */
gboolean
ir_backend_choose (const IrBackend *backend,
                   const IrNode *node,
                   IrKernelFunc *kernel,
                   const IrBackend **chosen,
                   const char **why,
                   GError **error)
{
  const char *refusal = backend->refuses (node);

  *why = NULL;
  *chosen = backend;
  if (refusal == NULL && backend != &ir_backend_ref && ref_refuses (node) == NULL &&
      g_strcmp0 (ir_node_wanted_kernel (node), ir_backend_ref.name) == 0)
    refusal = "a property of the node asks for the reference kernel";
  if (refusal != NULL && backend->falls_back && ref_refuses (node) == NULL)
    {
      *why = refusal;
      *chosen = &ir_backend_ref;
      refusal = NULL;
    }
  if (refusal == NULL)
    {
      *kernel = (*chosen)->kernel (node);
      return TRUE;
    }
  g_autofree char *label = ir_node_label (node);
  const char *domain = *node->domain != '\0' ? node->domain : "ai.onnx";
  if (node->op == NULL)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
                 "%s: no operator %s of domain %s is known and the model defines no function of "
                 "that name; “irscope ops” lists the operators that can run",
                 label, node->op_type, domain);
  else
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
                 "%s: cannot run on device %s: %s; the graph can still be shown and edited", label,
                 backend->name, refusal);
  return FALSE;
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
