/* Moving nodes to a graph around theirs.
 *
 * A name that was legal inside may not be so outside: another branch may use it for its own value,
 * which would then hide the one that moved. Any name that two live values of the model have is
 * therefore replaced when one of them moves. That is more than needed, and needs no scopes. */
#include "config.h"

#include "passes/rule/move.h"

#include "passes/rule/step.h"

struct _IrPassNames
{
  GHashTable *values, *nodes; /* interned name -> how many had it when counted */
};

static void
count_name (GHashTable *counts, const char *name)
{
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, name));

  g_hash_table_insert (counts, (gpointer) name, GUINT_TO_POINTER (n + 1));
}

/**
 * ir_pass_names_new:
 * @model: a model
 *
 * Counts the names of live values and nodes. Names that are made up later are unique by themselves.
 * O(model).
 *
 * Returns: (transfer full): the counts
 */
IrPassNames *
ir_pass_names_new (const IrModel *model)
{
  IrPassNames *names = g_new0 (IrPassNames, 1);

  names->values = g_hash_table_new (NULL, NULL);
  names->nodes = g_hash_table_new (NULL, NULL);
  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = model->values->pdata[i];
      if (value->state == IR_STATE_LIVE)
        count_name (names->values, value->name);
    }
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      if (node->state == IR_STATE_LIVE && node->name[0] != '\0')
        count_name (names->nodes, node->name);
    }
  return names;
}

/**
 * ir_pass_names_free:
 * @names: (transfer full): counts
 */
void
ir_pass_names_free (IrPassNames *names)
{
  g_hash_table_unref (names->values);
  g_hash_table_unref (names->nodes);
  g_free (names);
}

static gboolean
is_shared (GHashTable *counts, const char *name)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (counts, name)) > 1;
}

static void
make_unique (IrPassContext *context, IrPassNames *names, IrValue *value)
{
  if (is_shared (names->values, value->name))
    ir_edit_rename_value (context->edit, value, ir_edit_unique_name (context->edit, value->name));
}

/**
 * ir_pass_move_value:
 * @context: a run of passes with an open step
 * @names: names of the model
 * @value: a value without producer
 * @to: a graph around its own
 */
void
ir_pass_move_value (IrPassContext *context, IrPassNames *names, IrValue *value, IrGraph *to)
{
  make_unique (context, names, value);
  ir_edit_move_value (context->edit, value, to);
  ir_pass_make_constant (context, value);
}

/**
 * ir_pass_move_node:
 * @context: a run of passes with an open step
 * @names: names of the model
 * @node: a node; what it reads must be visible in @to
 * @to: a graph around its own
 *
 * Moves @node with its outputs; graphs that it owns go with it.
 */
void
ir_pass_move_node (IrPassContext *context, IrPassNames *names, IrNode *node, IrGraph *to)
{
  if (is_shared (names->nodes, node->name))
    ir_edit_rename_node (context->edit, node, ir_edit_unique_name (context->edit, node->name));
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      make_unique (context, names, node->outputs[i]);
  ir_edit_move_node (context->edit, node, to);
}

/**
 * ir_pass_is_local_constant:
 * @context: a run of passes
 * @graph: a graph
 * @value: what a node of it reads
 *
 * Returns: %TRUE if @value is a constant of @graph that can go along with its reader
 */
gboolean
ir_pass_is_local_constant (IrPassContext *context, const IrGraph *graph, const IrValue *value)
{
  return value->graph == graph && ir_value_constant (value) != NULL &&
         !ir_graph_has_input (graph, value) && !ir_value_is_graph_output (value) &&
         (value->producer == NULL || !ir_pass_has_control (context, value->producer));
}

/**
 * ir_pass_move_constant:
 * @context: a run of passes with an open step
 * @names: names of the model
 * @value: a constant, as of ir_pass_is_local_constant()
 * @beside: the node around its graph: it comes to where that one is
 */
void
ir_pass_move_constant (IrPassContext *context,
                       IrPassNames *names,
                       IrValue *value,
                       const IrNode *beside)
{
  if (value->producer != NULL)
    {
      ir_edit_set_rank (context->edit, value->producer, beside->rank);
      ir_pass_move_node (context, names, value->producer, beside->graph);
    }
  else
    ir_pass_move_value (context, names, value, beside->graph);
}

/**
 * ir_pass_hand_names:
 * @context: a run of passes with an open step
 * @names: names of the model, from when @old was there
 * @old: a node that is gone
 * @fresh: the one that does in its place what it did
 *
 * Names and scope of @old, and names of its outputs, go to @fresh, but for names that others in the model have too.
 */
void
ir_pass_hand_names (IrPassContext *context, IrPassNames *names, const IrNode *old, IrNode *fresh)
{
  if (old->state == IR_STATE_LIVE || fresh->state != IR_STATE_LIVE)
    return;
  if (!is_shared (names->nodes, old->name))
    ir_edit_rename_node (context->edit, fresh, old->name);
  ir_edit_set_scope (context->edit, fresh, old->scope);
  for (guint i = 0; i < old->n_outputs; i++)
    if (old->outputs[i] != NULL && fresh->outputs[i] != NULL &&
        !ir_value_is_graph_output (fresh->outputs[i]) &&
        !is_shared (names->values, old->outputs[i]->name))
      ir_edit_rename_value (context->edit, fresh->outputs[i], old->outputs[i]->name);
}

/**
 * ir_pass_make_names_unique:
 * @context: a run of passes with an open step
 * @names: names of the model
 * @graph: a graph that is about to get other neighbours
 *
 * For graphs of nodes that move to where they were not visible before.
 */
void
ir_pass_make_names_unique (IrPassContext *context, IrPassNames *names, const IrGraph *graph)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph), values = g_ptr_array_new ();
  IrValue *const *live;
  guint n;

  live = ir_graph_values (graph, &n);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (values, live[i]);
  for (guint i = 0; i < values->len; i++)
    make_unique (context, names, values->pdata[i]);
  for (guint i = 0; i < nodes->len; i++)
    {
      IrNode *node = nodes->pdata[i];
      if (is_shared (names->nodes, node->name))
        ir_edit_rename_node (context->edit, node, ir_edit_unique_name (context->edit, node->name));
    }
}

/**
 * ir_pass_fit_type:
 * @context: a run of passes with an open step
 * @old: a value
 * @with: the value that is to stand for it
 *
 * What is known of @old holds for @with too; it is written there if a node makes @with, and must be
 * known already if a caller gives it.
 *
 * Returns: %FALSE if the types contradict each other, or less would be known
 */
gboolean
ir_pass_fit_type (IrPassContext *context, const IrValue *old, IrValue *with)
{
  const IrType *both;

  if (old->type == NULL || (with->type != NULL && ir_type_at_least (with->type, old->type)))
    return TRUE;
  both = with->type != NULL ? ir_type_merge (context->model->context, with->type, old->type)
                            : old->type;
  if (both == NULL || with->producer == NULL)
    return FALSE;
  ir_edit_set_type (context->edit, with, both);
  return TRUE;
}
