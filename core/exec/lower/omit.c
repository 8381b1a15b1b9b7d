/* Leaving out what cannot run: nodes that do not fit their operators or have no kernel, and all
 * that waits for their outputs. What is left is an ordinary graph, so that no planner knows of it.
 */
#include "config.h"

#include "core/exec/lower/lower.h"
#include "core/exec/kernel/backend.h"

typedef struct
{
  const IrBackend *backend;
  GHashTable *failed;   /* (nullable) IrNodeId -> text: nodes that a run was stopped by */
  IrNodeId *stopped_by; /* by node id: the node because of which it cannot run; 0: it can */
  GHashTable *reasons;  /* IrNodeId -> text, of those that are the cause themselves */
} Omitter;

/* Why @node itself cannot run, a node inside of it included, or NULL. (transfer full) */
static GError *
refusal_of (const Omitter *omitter, const IrNode *node)
{
  GError *error = NULL;
  const IrBackend *chosen;
  IrKernelFunc kernel;
  const char *why = omitter->failed != NULL
                        ? g_hash_table_lookup (omitter->failed, GUINT_TO_POINTER (node->id))
                        : NULL;

  if (why != NULL)
    return g_error_new_literal (IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL, why);
  if (!ir_backend_choose (omitter->backend, node, &kernel, &chosen, &why, &error))
    return error;
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);
  for (guint i = 0; i < graphs->len && error == NULL; i++)
    {
      guint n;
      IrNode *const *nodes = ir_graph_order (graphs->pdata[i], &n);
      for (guint k = 0; k < n && error == NULL; k++)
        error = refusal_of (omitter, nodes[k]);
    }
  return error;
}

static IrNodeId
cause_of_value (const Omitter *omitter, const IrValue *value)
{
  return value != NULL && value->producer != NULL ? omitter->stopped_by[value->producer->id] : 0;
}

/* The node that stops what @node reads, itself or in its subgraphs; 0: none. */
static IrNodeId
cause_of_inputs (const Omitter *omitter, const IrNode *node)
{
  IrNodeId cause = 0;

  for (guint i = 0; i < node->n_inputs && cause == 0; i++)
    cause = cause_of_value (omitter, node->inputs[i]);
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);
  for (guint i = 0; i < graphs->len && cause == 0; i++)
    {
      guint n;
      IrNode *const *nodes = ir_graph_order (graphs->pdata[i], &n);
      for (guint k = 0; k < n && cause == 0; k++)
        cause = cause_of_inputs (omitter, nodes[k]);
      for (guint k = 0; k < ir_graph_n_outputs (graphs->pdata[i]) && cause == 0; k++)
        cause = cause_of_value (omitter, ir_graph_output (graphs->pdata[i], k));
    }
  return cause;
}

/* Returns: whether any cannot run */
static gboolean
find_causes (Omitter *omitter, IrNode *const *nodes, guint n)
{
  gboolean any = FALSE;

  for (guint i = 0; i < n; i++)
    {
      IrNodeId id = nodes[i]->id;
      g_autoptr (GError) error = refusal_of (omitter, nodes[i]);
      if (error != NULL)
        {
          omitter->stopped_by[id] = id;
          g_hash_table_insert (omitter->reasons, GUINT_TO_POINTER (id), g_strdup (error->message));
        }
      else if (any)
        omitter->stopped_by[id] = cause_of_inputs (omitter, nodes[i]);
      any = any || omitter->stopped_by[id] != 0;
    }
  return any;
}

static void
missing_clear (gpointer data)
{
  IrMissing *missing = data;
  g_free (missing->why);
}

static void
add_missing (GArray *list, const Omitter *omitter, const IrValue *output)
{
  IrNodeId cause = cause_of_value (omitter, output);
  const char *why = g_hash_table_lookup (omitter->reasons, GUINT_TO_POINTER (cause));
  IrMissing missing = { .output = output->id, .node = cause };

  missing.failed = omitter->failed != NULL &&
                   g_hash_table_contains (omitter->failed, GUINT_TO_POINTER (cause));
  missing.why = cause != 0 ? g_strdup (why)
                           : g_strdup_printf ("%s has no contents: no node computes it, and no "
                                              "data of an initializer could be read",
                                              output->name);
  g_array_append_val (list, missing);
}

/* The outputs that are left; the others go to @missing. */
static GPtrArray *
split_outputs (const Omitter *omitter, const IrGraph *graph, GArray *missing)
{
  GPtrArray *left = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    {
      IrValue *output = ir_graph_output (graph, i);
      if (output == NULL)
        continue;
      if (cause_of_value (omitter, output) == 0 &&
          (output->producer != NULL || output->initializer != NULL ||
           ir_value_is_graph_input (output)))
        g_ptr_array_add (left, output);
      else
        add_missing (missing, omitter, output);
    }
  return left;
}

/**
 * ir_exec_omit:
 * @model: a private copy of a model, without function calls, not being edited
 * @backend: which kernels are wanted
 * @failed: (nullable): IrNodeId -> why, of nodes whose kernels have failed in a run
 *
 * Removes the nodes of the main graph that cannot run, those that wait for them, and the outputs of
 * the graph that they would give. A graph with a cycle stays as it is.
 *
 * Returns: (transfer full) (nullable) (element-type IrMissing): these outputs; %NULL: all are left
 */
GArray *
ir_exec_omit (IrModel *model, const IrBackend *backend, GHashTable *failed)
{
  g_autoptr (GHashTable) reasons = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_autofree IrNodeId *stopped_by = g_new0 (IrNodeId, (gsize) model->nodes->len + 1);
  g_autoptr (GArray) missing = g_array_new (FALSE, FALSE, sizeof (IrMissing));
  Omitter omitter = { backend, failed, stopped_by, reasons };

  g_array_set_clear_func (missing, missing_clear);
  if (ir_graph_is_cyclic (model->main))
    return NULL;
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);
  gboolean any = find_causes (&omitter, (IrNode *const *) nodes->pdata, nodes->len);
  g_autoptr (GPtrArray) left = split_outputs (&omitter, model->main, missing);
  if (!any && missing->len == 0)
    return NULL;
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  if (missing->len > 0)
    ir_edit_set_graph_outputs (edit, model->main, (IrValue *const *) left->pdata, left->len);
  for (guint i = nodes->len; i-- > 0;)
    if (stopped_by[((IrNode *) nodes->pdata[i])->id] != 0)
      ir_edit_remove_node (edit, nodes->pdata[i]);
  return missing->len > 0 ? g_steal_pointer (&missing) : NULL;
}
