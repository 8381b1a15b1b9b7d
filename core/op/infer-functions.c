/* Types inside the bodies of model-local functions, for passes that rewrite these bodies.
 *
 * A body has no types of its own: it is applied to whatever its calls give it. But a model is all
 * that can call its functions, so what all calls agree on holds in the body. That is written into
 * the values of the body as their types, beside what is declared of them, which files are written with.
 * Who calls a closure is not known, but what a function declares of its inputs is looked at in each call.
 * Callers come before what they call; a function that calls itself is left alone. */
#include "config.h"

#include "core/op/infer-private.h"

#include "core/ir/inline.h"

typedef struct
{
  IrEdit *edit;
  IrContext *context;
  GHashTable *made_in; /* main graph or function -> GPtrArray of the calls in it */
  GHashTable *calls;   /* function -> GPtrArray of the nodes that call it, directly reachable */
  GHashTable *open;    /* function -> how many of them give what is not known yet */
  GHashTable *named;   /* set of functions that closures name */
} Joiner;

/* -- what two types have in common -- */

static const IrType *
join_tensors (IrContext *context, const IrType *a, const IrType *b)
{
  IrDim dims[IR_MAX_RANK];
  IrDtype dtype = a->dtype == b->dtype ? a->dtype : IR_DTYPE_UNDEFINED;

  if (!ir_type_has_rank (a) || !ir_type_has_rank (b) || a->rank != b->rank)
    return ir_type_tensor (context, dtype, IR_RANK_UNKNOWN, NULL);
  for (int i = 0; i < a->rank; i++)
    dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : IR_DIM_UNKNOWN;
  return ir_type_tensor (context, dtype, a->rank, dims);
}

static const IrType *
join (IrContext *context, const IrType *a, const IrType *b)
{
  if (a == b)
    return a;
  return ir_type_is_tensor (a) && ir_type_is_tensor (b) ? join_tensors (context, a, b) : NULL;
}

/* What all calls give for parameter @slot; NULL: nothing in common. */
static const IrType *
joined_argument (const Joiner *joiner, const IrGraph *function, guint slot)
{
  const GPtrArray *calls = g_hash_table_lookup (joiner->calls, function);
  const gboolean is_named = g_hash_table_contains (joiner->named, function);
  const IrType *type = is_named ? ir_function_declared_type (ir_graph_input (function, slot))
                                : NULL;

  if (is_named && type == NULL)
    return NULL;
  for (guint i = 0; i < calls->len; i++)
    {
      const IrValue *given = ir_node_input (calls->pdata[i], slot);

      if (given == NULL)
        return NULL;
      type = i == 0 && !is_named ? given->type : join (joiner->context, type, given->type);
      if (type == NULL)
        return NULL;
    }
  return type;
}

/* -- which body first -- */

static const IrGraph *
root_of (const IrGraph *graph)
{
  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
    graph = ir_graph_outer (graph);
  return graph;
}

static void
add_to (GHashTable *lists, gconstpointer key, gpointer item)
{
  GPtrArray *list = g_hash_table_lookup (lists, key);

  if (list == NULL)
    {
      list = g_ptr_array_new ();
      g_hash_table_insert (lists, (gpointer) key, list);
    }
  g_ptr_array_add (list, item);
}

static GHashTable *
new_lists (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
}

static void
note_calls (Joiner *joiner, const IrModel *model)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = ir_model_live_node (model, i);
      const IrGraph *named = node != NULL ? ir_node_named_function (node) : NULL;
      if (named != NULL && g_hash_table_add (joiner->named, (gpointer) named))
        g_hash_table_insert (joiner->calls, (gpointer) named, g_ptr_array_new ());
      const IrGraph *root = node != NULL && ir_node_function (node) != NULL ? root_of (node->graph)
                                                                            : NULL;
      if (root != NULL)
        add_to (joiner->made_in, root, node);
    }
}

/* Which functions @root calls, or closures, and those in turn: what nothing calls says nothing. */
static void
reach (Joiner *joiner, const IrGraph *root)
{
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();

  g_ptr_array_add (stack, (gpointer) root);
  for (guint i = 1; i < root->model->graphs->len; i++)
    if (g_hash_table_contains (joiner->named, root->model->graphs->pdata[i]))
      g_ptr_array_add (stack, root->model->graphs->pdata[i]);
  while (stack->len > 0)
    {
      const IrGraph *caller = g_ptr_array_steal_index_fast (stack, stack->len - 1);
      const GPtrArray *made = g_hash_table_lookup (joiner->made_in, caller);

      for (guint i = 0; made != NULL && i < made->len; i++)
        {
          const IrGraph *function = ir_node_function (made->pdata[i]);
          guint n = GPOINTER_TO_UINT (g_hash_table_lookup (joiner->open, function));

          if (!g_hash_table_contains (joiner->calls, function))
            g_ptr_array_add (stack, (gpointer) function);
          add_to (joiner->calls, function, made->pdata[i]);
          g_hash_table_insert (joiner->open, (gpointer) function, GUINT_TO_POINTER (n + 1));
        }
    }
}

/* What only closures call waits for nobody. */
static void
find_ready (const Joiner *joiner, const IrModel *model, GPtrArray *ready)
{
  for (guint i = 1; i < model->graphs->len; i++)
    if (g_hash_table_contains (joiner->named, model->graphs->pdata[i]) &&
        !g_hash_table_contains (joiner->open, model->graphs->pdata[i]))
      g_ptr_array_add (ready, model->graphs->pdata[i]);
}

/* What @caller gives to its calls is known now. */
static void
close_calls (Joiner *joiner, const IrGraph *caller, GPtrArray *ready)
{
  const GPtrArray *made = g_hash_table_lookup (joiner->made_in, caller);

  for (guint i = 0; made != NULL && i < made->len; i++)
    {
      gpointer function = (gpointer) ir_node_function (made->pdata[i]);
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (joiner->open, function));

      g_hash_table_insert (joiner->open, function, GUINT_TO_POINTER (n - 1));
      if (n == 1)
        g_ptr_array_add (ready, function);
    }
}

/* -- one body -- */

/* Of values in @graph and the graphs inside it. What is declared of them are claims, which stay. */
static void
forget_types (IrEdit *edit, const IrGraph *graph)
{
  guint n;
  IrValue *const *live = ir_graph_values (graph, &n);
  g_autofree IrValue **values = g_memdup2 (live, MAX (n, 1) * sizeof (IrValue *));
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

  for (guint i = 0; i < n; i++)
    if (values[i]->type != NULL && values[i]->initializer == NULL)
      ir_edit_set_type (edit, values[i], NULL);
  for (guint i = 0; i < nodes->len; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes->pdata[i]);
      for (guint k = 0; k < inner->len; k++)
        forget_types (edit, inner->pdata[k]);
    }
}

static gboolean
still_holds (const Joiner *joiner, const IrGraph *function)
{
  for (guint i = 0; i < ir_graph_n_inputs (function); i++)
    {
      const IrValue *parameter = ir_graph_input (function, i);
      const IrType *given = parameter != NULL ? joined_argument (joiner, function, i) : NULL;

      if (parameter != NULL && parameter->type != NULL &&
          (given == NULL || !ir_type_at_least (given, parameter->type)))
        return FALSE;
    }
  return TRUE;
}

static void
infer_body (const Joiner *joiner, IrGraph *function)
{
  g_autoptr (GPtrArray) nodes = NULL;

  if (ir_graph_is_cyclic (function))
    return;
  if (!still_holds (joiner, function))
    forget_types (joiner->edit, function);
  for (guint i = 0; i < ir_graph_n_inputs (function); i++)
    {
      IrValue *parameter = ir_graph_input (function, i);
      const IrType *type = parameter != NULL ? joined_argument (joiner, function, i) : NULL;

      if (type != NULL && type != parameter->type)
        ir_edit_set_type (joiner->edit, parameter, type);
    }
  nodes = ir_graph_nodes (function);
  for (guint i = 0; i < nodes->len; i++)
    ir_infer_node (joiner->edit, nodes->pdata[i], NULL);
}

/**
 * ir_infer_functions:
 * @edit: an edit of the model, within a step
 *
 * Gives the values in bodies of functions the types that all calls agree on, and in those that closures name
 * the types that the function declares. Nodes whose attributes are those of the call are not inferred.
 *
 * Complexity: O(nodes + calls): each body once, however often it is called.
 */
void
ir_infer_functions (IrEdit *edit)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GHashTable) open = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) calls = new_lists ();
  g_autoptr (GHashTable) made_in = new_lists ();
  g_autoptr (GHashTable) named = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) ready = g_ptr_array_new ();
  Joiner joiner = { edit, model->context, made_in, calls, open, named };

  note_calls (&joiner, model);
  reach (&joiner, model->main);
  find_ready (&joiner, model, ready);
  close_calls (&joiner, model->main, ready);
  for (guint i = 0; i < ready->len; i++)
    {
      infer_body (&joiner, ready->pdata[i]);
      close_calls (&joiner, ready->pdata[i], ready);
    }
}
