/* --kernel: which nodes are meant, and whether the kernel fits them. */
#include "config.h"

#include "app/cli/kernel-requests.h"

#include "app/cli/plans.h"
#include "core/exec/schedule/kernel-choice.h"
#include "core/query/query.h"

#include <string.h>

/* What is asked for is written to @model; whether it fits is seen at the nodes of @sized. */
typedef struct
{
  const IrBackend *backend;
  IrModel *model;
  IrModel *sized; /* (nullable) as it runs: bodies of functions in place of their calls */
  IrEdit *edit;
} KernelRequest;

/* Of those of @only, or (nullable) of all. Of a node that runs nowhere by itself, such as a call, what it says of itself
 * counts. */
static void
find_askers (const KernelRequest *request, GHashTable *only, const char *kernel, GPtrArray *found)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) running = g_hash_table_new (NULL, NULL);
  guint n_nodes;

  for (guint i = 1; request->sized != NULL && i < request->sized->nodes->len; i++)
    {
      const IrNode *node = request->sized->nodes->pdata[i];
      IrNode *asker = node->state == IR_STATE_LIVE ? ir_kernel_asker (request->model, node) : NULL;

      if (asker == NULL || (only != NULL && !g_hash_table_contains (only, asker)))
        continue;
      g_hash_table_add (running, asker);
      if (ir_kernel_is_choice (request->backend, node, kernel) && g_hash_table_add (seen, asker))
        g_ptr_array_add (found, asker);
    }
  g_autofree IrNode **nodes = (IrNode **) (only != NULL
                                               ? g_hash_table_get_keys_as_array (only, &n_nodes)
                                               : NULL);
  IrNode *const *asked = only != NULL ? nodes : ir_graph_order (request->model->main, &n_nodes);
  for (guint i = 0; i < n_nodes; i++)
    if (!g_hash_table_contains (running, asked[i]) &&
        ir_kernel_is_choice (request->backend, asked[i], kernel))
      g_ptr_array_add (found, asked[i]);
}

static guint
n_running (const KernelRequest *request, const IrNode *asker)
{
  guint n = 0;

  for (guint i = 1; i < request->sized->nodes->len; i++)
    {
      const IrNode *node = request->sized->nodes->pdata[i];
      n += node->state == IR_STATE_LIVE && ir_kernel_asker (request->model, node) == asker;
    }
  return n;
}

/* Nodes of bodies are called as where they run: by the call and their name. */
static IrNode *
find_asker (const KernelRequest *request, const char *name, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_auto (IrIterationName) iteration = { 0 };
  IrNode *node = cli_find_node_in (request->model, name, &iteration, &local), *asker = NULL;
  const IrNode *running = node == NULL && request->sized != NULL && name[0] != '#'
                              ? cli_find_node (request->sized, name, NULL)
                              : NULL;

  if (iteration.frame != NULL && (iteration.iteration >= 0 || iteration.outermost >= 0))
    {
      g_set_error (
          error, CLI_ERROR, 0,
          "--kernel: %s is one iteration, and a node has one kernel for all of them; leave out what stands "
          "behind @",
          name);
      return NULL;
    }
  if (running != NULL)
    asker = ir_kernel_asker (request->model, running);
  if (node == NULL && running == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  else if (node == NULL && asker == NULL)
    g_set_error (
        error, CLI_ERROR, 0,
        "--kernel: %s is there only while the graph runs, for an operator that runs as the "
        "nodes of its definition; no kernel can be asked for there",
        name);
  else if (node == NULL && n_running (request, asker) > 1)
    {
      g_set_error (error, CLI_ERROR, 0,
                   "--kernel: %s is node #%u in the body of a function, which runs in %u places; "
                   "ask for it in all of them by '#%u=NAME', or make them nodes of their own by "
                   "--pass inline-functions",
                   name, asker->id, n_running (request, asker), asker->id);
      asker = NULL;
    }
  return node != NULL ? node : asker;
}

/* A question as of irscope find, that no node is called. */
static gboolean
add_found_by_query (const KernelRequest *request,
                    const char *text,
                    GHashTable *only,
                    GError **error)
{
  const IrQueryFacts facts = { NULL };
  IrQuery *query = ir_query_new (text, error);

  if (query == NULL)
    return FALSE;
  for (guint i = 1; i < request->model->nodes->len; i++)
    {
      IrNode *node = ir_model_live_node (request->model, i);
      if (node != NULL && ir_query_matches_node (query, node, &facts))
        g_hash_table_add (only, node);
    }
  ir_query_free (query);
  if (g_hash_table_size (only) > 0)
    return TRUE;
  g_set_error (
      error, CLI_ERROR, 0,
      "--kernel: no node is called %s, and as a question nothing fits it; 'irscope find' says what does",
      text);
  return FALSE;
}

/* Into @only: the nodes that @text means, which is not *. */
static gboolean
add_meant (const KernelRequest *request, const char *text, GHashTable *only, GError **error)
{
  g_autoptr (GError) local = NULL;
  IrNode *node = find_asker (request, text, &local);

  if (node == NULL && cli_find_node (request->model, text, NULL) == NULL &&
      strpbrk (text, ":<>") != NULL)
    return add_found_by_query (request, text, only, error);
  if (node == NULL)
    g_propagate_error (error, g_steal_pointer (&local));
  else
    g_hash_table_add (only, node);
  return node != NULL;
}

static gboolean
ask_for_kernel (const KernelRequest *request, const char *text, GError **error)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  g_autoptr (GHashTable) only = NULL;
  g_autofree char *name = NULL;
  const char *kernel;

  if (!cli_split_assignment (text, "kernel", &name, &kernel, error))
    return FALSE;
  if (strcmp (name, "*") != 0)
    {
      only = g_hash_table_new (NULL, NULL);
      if (!add_meant (request, name, only, error))
        return FALSE;
    }
  find_askers (request, only, kernel, found);
  for (guint i = 0; i < found->len; i++)
    ir_edit_ask_for_kernel (request->edit, found->pdata[i], kernel);
  if (found->len > 0)
    return TRUE;
  g_set_error (error, CLI_ERROR, 0,
               "--kernel %s: device %s has no such kernel there, or it does not fit; 'irscope "
               "schedule' names those that do",
               text, request->backend->name);
  return FALSE;
}

/* Returns FALSE if a node or a kernel of it is not there */
gboolean
cli_ask_for_kernels (const CliModelOptions *options, IrModel *model, GError **error)
{
  const IrBackend *backend = options->kernels != NULL ? cli_backend (options, error) : NULL;

  if (options->kernels == NULL || backend == NULL)
    return options->kernels == NULL;
  g_autoptr (IrModel) marked = ir_kernel_marked (model);
  g_autoptr (IrModel) sized = cli_sized_model (options, marked, NULL);
  g_autoptr (IrEdit) edit = ir_edit_new (model);
  const KernelRequest request = { backend, model, sized, edit };
  for (guint i = 0; options->kernels[i] != NULL; i++)
    if (!ask_for_kernel (&request, options->kernels[i], error))
      return FALSE;
  return TRUE;
}
