/* The list of back ends, and which of them runs a node: a new one is a folder and a line here. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/gpu/backend.h"
#include "core/exec/gpu/stats.h"
#include "core/exec/kernel/backend.h"
#include "core/op/check.h"

#include <string.h>

/* In the order in which they are offered; the first one is taken where nobody asks for another. */
static const IrBackend *const backends[] = {
  &ir_backend_cpu,
  &ir_backend_ref,
  &ir_backend_gpu,
};

/* Those of their memories whose devices count. */
static const IrDeviceStats *const counting[] = { &ir_gpu_stats };

/**
 * ir_device_stats_of:
 * @memory: (nullable): a memory
 *
 * Returns: (transfer none) (nullable): how its device counts what lies there; %NULL: it does not
 */
const IrDeviceStats *
ir_device_stats_of (const IrMemory *memory)
{
  for (guint i = 0; i < G_N_ELEMENTS (counting); i++)
    if (counting[i]->memory == memory)
      return counting[i];
  return NULL;
}

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

/* Whether @name is that of @backend, alone or, where there are several, with a number behind it. */
static gboolean
is_named (const IrBackend *backend, const char *name, guint64 *index)
{
  gsize length = strlen (backend->name);

  *index = 0;
  if (name == NULL || strncmp (name, backend->name, length) != 0)
    return FALSE;
  return name[length] == '\0' ||
         (name[length] == ':' && backend->take != NULL &&
          g_ascii_string_to_unsigned (name + length + 1, 10, 0, G_MAXINT32, index, NULL));
}

/**
 * ir_backend_find:
 * @name: (nullable): "ref", "cpu", "gpu", "gpu:1"
 *
 * Returns: (transfer none) (nullable): the back end, or %NULL if it is unknown or not built
 */
const IrBackend *
ir_backend_find (const char *name)
{
  guint64 index;

  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    if (is_named (backends[i], name, &index))
      return backends[i];
  return NULL;
}

/**
 * ir_backend_require:
 * @name: (nullable): name of a device as a user gives it; %NULL: the default one
 * @error: return location for an error
 *
 * Like ir_backend_find(), with %IR_EXEC_ERROR_DEVICE where there is none of that name, and where it cannot be
 * used on this machine. Of several devices, the one that the name has is used from now on, the first without
 * a number.
 *
 * Returns: (transfer none) (nullable): the back end
 */
const IrBackend *
ir_backend_require (const char *name, GError **error)
{
  const IrBackend *backend = name != NULL ? ir_backend_find (name) : backends[0];

  guint64 index;

  if (backend != NULL && backend->take != NULL && is_named (backend, name, &index))
    backend->take ((guint) index);
  if (backend != NULL)
    return backend->available == NULL || backend->available (error) ? backend : NULL;
  g_autoptr (GString) known = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (backends); i++)
    g_string_append_printf (known, "%s%s%s", i > 0 ? ", " : "", backends[i]->name,
                            backends[i]->take != NULL ? "[:N]" : "");
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
               "device %s: there is no such device; use one of: %s", name, known->str);
  return NULL;
}

static gboolean
refuse_malformed (const IrNode *node, GError **error)
{
  g_autoptr (GError) local = NULL;

  if (!ir_node_check_form (node, &local))
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED, "%s", local->message);
  return FALSE;
}

/* (nullable) The first one on which @backend falls back that runs @node; @name: (nullable): of that name */
static const IrBackend *
find_fallback (const IrBackend *backend, const IrNode *node, const char *name)
{
  const IrBackend *next = backend->falls_back;

  while (next != NULL &&
         ((name != NULL && strcmp (next->name, name) != 0) || next->refuses (node) != NULL))
    next = next->falls_back;
  return next;
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
 * Finds the kernel for @node: the back end's own or that of one on which it falls back. Fails
 * with %IR_EXEC_ERROR_UNSUPPORTED, naming the node and the reason; what does not fit the row of its
 * operator is refused.
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
  const char *refusal, *wanted = ir_node_wanted_kernel (node);
  const IrBackend *next;

  *why = NULL;
  *chosen = backend;
  /* Before anything of a back end is asked, all of which may rely on it. */
  if (!ir_node_is_well_formed (node))
    return refuse_malformed (node, error);
  refusal = backend->refuses (node);
  next = wanted != NULL ? find_fallback (backend, node, wanted) : NULL;
  if (refusal == NULL && next != NULL)
    refusal = next == &ir_backend_ref ? "a property of the node asks for the reference kernel"
                                      : "a property of the node asks for another device";
  if (refusal != NULL && next == NULL)
    next = find_fallback (backend, node, NULL);
  if (refusal != NULL && next != NULL)
    {
      *why = refusal;
      *chosen = next;
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
    g_set_error (
        error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
        "%s: no operator %s of domain %s is known and the model defines no function of "
        "that name; the operators that can run are in the list of “Add Node” in the window, and of "
        "“irscope ops”",
        label, node->op_type, domain);
  else
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
                 "%s: cannot run on device %s: %s; the graph can still be shown and edited", label,
                 backend->name, refusal);
  return FALSE;
}

/* -- of all nodes -- */

/* %FALSE: nothing can run @node. */
static gboolean
choose_row (IrKernels *kernels, const IrNode *node, GError **error)
{
  IrKernelChoice *row = &kernels->rows[node->id];

  if (!ir_backend_choose (kernels->backend, node, &row->kernel, &row->backend, &row->why, error))
    {
      *row = (IrKernelChoice){ 0 };
      return FALSE;
    }
  row->name = ir_backend_kernel_name (row->backend, node, row->kernel);
  return TRUE;
}

/* For the nodes in the subgraphs of @node. */
static void
choose_within (IrKernels *kernels, const IrNode *node)
{
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);

  for (guint i = 0; subgraphs != NULL && i < subgraphs->len; i++)
    {
      guint n_nodes;
      IrNode *const *nodes = ir_graph_order (g_ptr_array_index (subgraphs, i), &n_nodes);
      for (guint k = 0; k < n_nodes; k++)
        {
          if (!choose_row (kernels, nodes[k], NULL) && kernels->refused == 0)
            kernels->refused = nodes[k]->id;
          choose_within (kernels, nodes[k]);
        }
    }
}

/* Of functions that closures name: what calls them may be anywhere. */
static void
choose_called (IrKernels *kernels, const IrModel *model)
{
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      const IrNode *owner = graph->state == IR_STATE_LIVE && graph->owner != 0
                                ? ir_model_live_node (model, graph->owner)
                                : NULL;
      if (owner != NULL && ir_op_is (owner, IR_OP_FUNCTIONS))
        {
          choose_within (kernels, owner);
          return;
        }
    }
}

static IrKernels *
kernels_new (const IrModel *model, const IrBackend *backend)
{
  IrKernels *kernels = g_new0 (IrKernels, 1);

  g_atomic_ref_count_init (&kernels->ref_count);
  kernels->copy = *backend;
  kernels->backend = backend == &ir_backend_ref ? backend : &kernels->copy;
  kernels->n = model->nodes->len;
  kernels->rows = g_new0 (IrKernelChoice, (gsize) kernels->n + 1);
  return kernels;
}

/**
 * ir_kernels_new:
 * @model: a model whose nodes have an order
 * @backend: which kernels are wanted
 * @error: return location for an error
 *
 * Chooses a kernel for every node of the main graph and of the subgraphs in it.
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED at the first node of the main graph that nothing can run.
 * What holds of nodes in subgraphs says ir_kernels_check().
 *
 * Returns: (transfer full) (nullable): the choices
 */
IrKernels *
ir_kernels_new (const IrModel *model, const IrBackend *backend, GError **error)
{
  g_autoptr (IrKernels) kernels = kernels_new (model, backend);
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (model->main, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    if (!choose_row (kernels, nodes[i], error))
      return NULL;
  for (guint i = 0; i < n_nodes; i++)
    choose_within (kernels, nodes[i]);
  return g_steal_pointer (&kernels);
}

/**
 * ir_kernels_new_within:
 * @node: a node that owns subgraphs
 * @backend: which kernels are wanted
 * @error: return location for an error
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED where nothing can run one of them.
 *
 * Returns: (transfer full) (nullable): the choices for the nodes in the subgraphs of @node
 */
IrKernels *
ir_kernels_new_within (const IrNode *node, const IrBackend *backend, GError **error)
{
  g_autoptr (IrKernels) kernels = kernels_new (node->graph->model, backend);

  choose_within (kernels, node);
  choose_called (kernels, node->graph->model);
  return ir_kernels_check (kernels, node->graph->model, error) ? g_steal_pointer (&kernels) : NULL;
}

/**
 * ir_kernels_check:
 * @kernels: the choices for a model
 * @model: that model
 * @error: return location for an error
 *
 * Returns: %FALSE with an %IR_EXEC_ERROR_UNSUPPORTED if nothing can run a node of a subgraph
 */
gboolean
ir_kernels_check (const IrKernels *kernels, const IrModel *model, GError **error)
{
  IrKernelChoice row;

  return kernels->refused == 0 ||
         ir_backend_choose (kernels->backend, ir_model_node (model, kernels->refused), &row.kernel,
                            &row.backend, &row.why, error);
}

/**
 * ir_kernels_ref:
 * @kernels: choices
 *
 * Returns: (transfer full): @kernels
 */
IrKernels *
ir_kernels_ref (IrKernels *kernels)
{
  g_atomic_ref_count_inc (&kernels->ref_count);
  return kernels;
}

/**
 * ir_kernels_unref:
 * @kernels: (transfer full) (nullable): choices
 */
void
ir_kernels_unref (IrKernels *kernels)
{
  if (kernels == NULL || !g_atomic_ref_count_dec (&kernels->ref_count))
    return;
  g_free (kernels->rows);
  g_free (kernels);
}
