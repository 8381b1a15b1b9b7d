#include "config.h"

#include "core/exec/schedule/kernel-choice.h"

#include "core/exec/kernel/backend.h"
#include "core/ir/history.h"
#include "core/op/check.h"

#include <string.h>

/* What @backend could run @node by; a node that does not fit its operator is asked for nothing. */
static const char *
candidates (const IrBackend *backend, const IrNode *node)
{
  return ir_node_is_valid (node) && backend->candidates != NULL ? backend->candidates (node) : NULL;
}

/* Whether @backend could fall back on one of that name, which runs @node. */
static gboolean
falls_back_on (const IrBackend *backend, const IrNode *node, const char *name)
{
  for (const IrBackend *next = backend->falls_back; next != NULL; next = next->falls_back)
    if (strcmp (next->name, name) == 0)
      return next->refuses (node) == NULL;
  return FALSE;
}

/**
 * ir_kernel_choices:
 * @backend: the back end that runs the graph
 * @node: a node
 *
 * Returns: (transfer full): the names that %IR_META_KERNEL of @node may have, in the order of the
 *   back end, then those on which it falls back, "ref" last; empty where nothing can run it
 */
GStrv
ir_kernel_choices (const IrBackend *backend, const IrNode *node)
{
  gboolean valid = ir_node_is_valid (node);
  const char *own = valid && backend->refuses (node) == NULL ? candidates (backend, node) : NULL;
  g_auto (GStrv) names = g_strsplit (own != NULL ? own : "", ", ", -1);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  g_strv_builder_addv (builder, (const char **) names);
  for (const IrBackend *next = backend->falls_back; valid && next != NULL; next = next->falls_back)
    if (next != &ir_backend_ref && next->refuses (node) == NULL)
      g_strv_builder_add (builder, next->name);
  if (valid && ir_backend_ref.refuses (node) == NULL)
    g_strv_builder_add (builder, ir_backend_ref.name);
  return g_strv_builder_end (builder);
}

/**
 * ir_kernel_is_choice:
 * @backend: the back end that runs the graph
 * @node: a node
 * @kernel: a name
 *
 * Returns: whether the back end has that kernel for @node, or could fall back on it
 */
gboolean
ir_kernel_is_choice (const IrBackend *backend, const IrNode *node, const char *kernel)
{
  const char *known = candidates (backend, node);
  g_auto (GStrv) names = g_strsplit (known != NULL ? known : "", ", ", -1);

  return strcmp (kernel, ir_backend_ref.name) == 0 || falls_back_on (backend, node, kernel) ||
         g_strv_contains ((const char *const *) names, kernel);
}

/**
 * ir_kernel_taken:
 * @backend: the back end that runs the graph
 * @node: a node
 * @why: (out) (nullable): why it is not the back end's own kernel, or which of its own it is
 *
 * Returns: (transfer none) (nullable): the kernel that would run @node, as the schedule names it;
 *   %NULL: none can
 */
const char *
ir_kernel_taken (const IrBackend *backend, const IrNode *node, const char **why)
{
  const IrBackend *chosen;
  IrKernelFunc kernel;

  *why = NULL;
  if (!ir_backend_choose (backend, node, &kernel, &chosen, why, NULL))
    {
      *why = ir_node_is_well_formed (node) ? backend->refuses (node)
                                           : "the node does not fit its operator";
      return NULL;
    }
  if (*why == NULL && chosen->explain_choice != NULL)
    *why = chosen->explain_choice (node);
  return ir_backend_kernel_name (chosen, node, kernel);
}

/* @old with @key as @value says, or (nullable) without it. */
static const IrProps *
props_with (IrContext *context, const IrProps *old, const char *key, const char *value)
{
  g_autoptr (GPtrArray) keys = g_ptr_array_new ();
  g_autoptr (GPtrArray) values = g_ptr_array_new ();

  for (guint i = 0; old != NULL && i < old->n; i++)
    if (strcmp (old->pairs[i].key, key) != 0)
      {
        g_ptr_array_add (keys, (gpointer) old->pairs[i].key);
        g_ptr_array_add (values, (gpointer) old->pairs[i].value);
      }
  if (value != NULL)
    {
      g_ptr_array_add (keys, (gpointer) key);
      g_ptr_array_add (values, (gpointer) value);
    }
  return ir_props_new (context, keys->len, (const char *const *) keys->pdata,
                       (const char *const *) values->pdata);
}

/**
 * ir_edit_ask_for_kernel:
 * @edit: an edit in which a pass run is open, or of an import
 * @node: a node of its model
 * @kernel: (nullable): a name of ir_kernel_choices(); %NULL: the back end chooses
 *
 * Makes one step, in which the property %IR_META_KERNEL of @node changes.
 */
void
ir_edit_ask_for_kernel (IrEdit *edit, IrNode *node, const char *kernel)
{
  IrContext *context = ir_edit_model (edit)->context;
  const IrExtra *old = node->extra;
  const IrProps *props = props_with (context, old != NULL ? old->props : NULL, IR_META_KERNEL,
                                     kernel);

  ir_edit_begin_step (edit, "ask-for-kernel", IR_CLASS_ROUNDING, node->id);
  ir_edit_set_node_extra (edit, node,
                          ir_extra_new (context, old != NULL ? old->doc : NULL, props,
                                        old != NULL ? old->unknown : NULL));
  ir_edit_end_step (edit);
}

/* -- all nodes, one after the other -- */

/* Nodes of @graph and of the subgraphs in it that have kernels of the back end's own, in the order
 * of execution. */
static void
add_choosing (const IrGraph *graph, const IrBackend *backend, GArray *ids)
{
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (graph, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    {
      g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (nodes[i]);
      for (guint k = 0; subgraphs != NULL && k < subgraphs->len; k++)
        add_choosing (g_ptr_array_index (subgraphs, k), backend, ids);
      if (backend->refuses (nodes[i]) == NULL && ir_backend_ref.kernel (nodes[i]) != NULL)
        g_array_append_val (ids, nodes[i]->id);
    }
}

/**
 * ir_kernel_history:
 * @model: a model
 * @backend: the back end that is to run it
 *
 * A search through the steps finds the node whose kernel makes something fail. Nodes in bodies of
 * functions ask for nothing.
 *
 * Returns: (transfer full): a copy of what @model is now, with a history of its own: at step 0
 * every node asks for the reference kernel, and each step lets one of them have its own again, in
 * the order of execution
 */
IrModel *
ir_kernel_history (IrModel *model, const IrBackend *backend)
{
  g_autoptr (IrModel) frozen = ir_history_snapshot (model, ir_history_cursor (model));
  g_autoptr (IrModel) asking = ir_model_clone (frozen);
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  IrEdit *edit = ir_edit_new (asking);

  add_choosing (frozen->main, backend, ids);
  ir_edit_begin_pass (edit, "kernels");
  for (guint i = 0; i < ids->len; i++)
    ir_edit_ask_for_kernel (edit, ir_model_live_node (asking, g_array_index (ids, IrNodeId, i)),
                            ir_backend_ref.name);
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  g_autoptr (IrModel) all = ir_model_snapshot (asking);
  IrModel *history = ir_model_clone (all);
  edit = ir_edit_new (history);
  ir_edit_begin_pass (edit, "kernels");
  for (guint i = 0; i < ids->len; i++)
    {
      IrNodeId id = g_array_index (ids, IrNodeId, i);
      ir_edit_ask_for_kernel (edit, ir_model_live_node (history, id),
                              ir_node_wanted_kernel (ir_model_live_node (frozen, id)));
    }
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  return history;
}

/* -- nodes in bodies of functions -- */

#define META_SOURCE "irscope.kernel-source" /* in private copies of models only */

static gboolean
is_in_function (const IrNode *node)
{
  const IrGraph *graph = node->graph;

  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
    graph = ir_graph_outer (graph);
  return graph != NULL && graph->kind == IR_GRAPH_FUNCTION;
}

/**
 * ir_kernel_marked:
 * @model: a model
 *
 * Returns: (transfer full): a copy of @model in which nodes of bodies of functions say which they
 *   are; what is made of them, as by ir_exec_expand(), says so, too: see ir_kernel_asker()
 */
IrModel *
ir_kernel_marked (IrModel *model)
{
  g_autoptr (IrModel) copy = ir_model_clone (model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (copy);

  for (guint i = 1; i < copy->nodes->len; i++)
    {
      IrNode *node = copy->nodes->pdata[i];
      const IrExtra *old = node->extra;
      char id[16];

      if (node->state != IR_STATE_LIVE || !is_in_function (node))
        continue;
      g_snprintf (id, sizeof id, "%u", node->id);
      const IrProps *props = props_with (copy->context, old != NULL ? old->props : NULL,
                                         META_SOURCE, id);
      ir_edit_set_node_extra (edit, node,
                              ir_extra_new (copy->context, old != NULL ? old->doc : NULL, props,
                                            old != NULL ? old->unknown : NULL));
    }
  return g_steal_pointer (&copy);
}

/**
 * ir_kernel_asker:
 * @model: a model
 * @running: a node of what was made of ir_kernel_marked() of @model
 *
 * Returns: (transfer none) (nullable): the node of @model whose %IR_META_KERNEL @running has; %NULL
 *   if it is in none of its bodies, as where an operator runs as the body that its row has, or if
 *   it does not run, being the body itself
 */
IrNode *
ir_kernel_asker (const IrModel *model, const IrNode *running)
{
  const char *source = running->extra != NULL && running->extra->props != NULL
                           ? ir_props_get (running->extra->props, META_SOURCE)
                           : NULL;

  if (is_in_function (running))
    return NULL;
  return ir_model_live_node (model, source != NULL ? (IrNodeId) g_ascii_strtoull (source, NULL, 10)
                                                   : running->id);
}
