/* Parts of a graph: copied, pasted, wrapped as a function, extracted as a model. */
#include "config.h"

#include "core/act/act-private.h"
#include "core/io/io.h"
#include "core/ir/reconcile.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#include <string.h>

#define LARGE_ELEMENTS 1024 /* of a constant in copied text: more is written as base64 */

/* -- cutting a model down to some of its nodes -- */

static void
drop_controls (IrEdit *edit, IrNode *node)
{
  while (node->controls != NULL && node->controls->n > 0)
    ir_edit_remove_control (edit, node,
                            ir_model_node (ir_edit_model (edit), node->controls->ids[0]));
}

/* What is left of the main graph has no uses by what goes: users go first. */
static void
remove_others (IrEdit *edit, GHashTable *kept)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (ir_edit_model (edit)->main);

  for (guint i = nodes->len; i > 0; i--)
    {
      IrNode *node = nodes->pdata[i - 1];

      drop_controls (edit, node);
      if (g_hash_table_contains (kept, node))
        continue;
      ir_edit_set_n_inputs (edit, node, 0);
    }
  for (guint i = nodes->len; i > 0; i--)
    {
      IrNode *node = nodes->pdata[i - 1];

      if (g_hash_table_contains (kept, node))
        continue;
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL && node->outputs[k]->n_uses > 0)
          ir_edit_set_output (edit, node, k, NULL);
      ir_edit_remove_node (edit, node);
    }
}

static void
remove_unused (IrEdit *edit)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GPtrArray) unused = g_ptr_array_new ();
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  for (guint i = 0; i < n; i++)
    if (values[i]->producer == NULL && values[i]->n_uses == 0 &&
        !ir_value_is_graph_input (values[i]))
      g_ptr_array_add (unused, values[i]);
  for (guint i = 0; i < unused->len; i++)
    ir_edit_remove_value (edit, unused->pdata[i]);
}

static void mark_called (const IrGraph *graph, GHashTable *called);

static void
mark_called_by (const IrNode *node, GHashTable *called)
{
  const IrGraph *function = node->op == NULL
                                ? ir_model_find_function (node->graph->model, node->domain,
                                                          node->op_type, node->overload)
                                : NULL;
  g_autoptr (GPtrArray) bodies = ir_node_subgraphs (node);

  if (function != NULL && g_hash_table_add (called, (gpointer) function))
    mark_called (function, called);
  for (guint i = 0; i < bodies->len; i++)
    mark_called (bodies->pdata[i], called);
}

static void
mark_called (const IrGraph *graph, GHashTable *called)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

  for (guint i = 0; i < nodes->len; i++)
    mark_called_by (nodes->pdata[i], called);
}

/**
 * ir_act_remove_functions:
 * @edit: an edit
 *
 * Removes the functions of the model that are not called from its main graph, directly or by others.
 */
void
ir_act_remove_functions (IrEdit *edit)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GHashTable) called = g_hash_table_new (NULL, NULL);

  mark_called (model->main, called);
  for (guint i = 1; i < model->graphs->len; i++)
    {
      IrGraph *graph = model->graphs->pdata[i];

      if (graph->state == IR_STATE_LIVE && graph->function != NULL &&
          !g_hash_table_contains (called, graph))
        ir_edit_remove_graph (edit, graph);
    }
}

/* A value that comes from outside is an input, with the type that it had. */
static void
make_input (IrEdit *edit, IrValue *value)
{
  const IrType *type = ir_value_shown_type (value);

  if (value->producer != NULL)
    ir_edit_set_output (edit, value->producer, value->output_slot, NULL);
  if (value->initializer != NULL)
    ir_edit_set_initializer (edit, value, NULL);
  ir_edit_set_claim (edit, value, NULL);
  ir_edit_set_type (edit, value, type);
  ir_edit_set_flags (edit, value, value->flags | IR_VALUE_DECLARED);
}

static void
set_rim (IrEdit *edit, const GPtrArray *inputs, const GPtrArray *outputs)
{
  IrGraph *main = ir_edit_model (edit)->main;

  ir_edit_set_graph_inputs (edit, main, (IrValue *const *) inputs->pdata, inputs->len);
  ir_edit_set_graph_outputs (edit, main, (IrValue *const *) outputs->pdata, outputs->len);
}

/* -- what a node reads, its bodies included -- */

typedef void (*ReadFunc) (IrValue *value, gpointer data);

static void
each_read (const IrNode *node, const IrGraph *home, ReadFunc func, gpointer data)
{
  g_autoptr (GPtrArray) bodies = ir_node_subgraphs (node);

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && act_in_scope (node->inputs[i], home))
      func (node->inputs[i], data);
  for (guint i = 0; i < bodies->len; i++)
    {
      const IrGraph *body = bodies->pdata[i];
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (body);

      for (guint k = 0; k < nodes->len; k++)
        each_read (nodes->pdata[k], home, func, data);
      for (guint k = 0; k < ir_graph_n_outputs (body); k++)
        if (ir_graph_output (body, k) != NULL && act_in_scope (ir_graph_output (body, k), home))
          func (ir_graph_output (body, k), data);
    }
}

/* The node of @graph that the user is, or lies in. (nullable) */
static IrNode *
node_in (const IrGraph *graph, const IrUse *use)
{
  const IrModel *model = graph->model;
  const IrGraph *at = use->graph;
  IrNode *node = use->node;

  while (at != graph && at != NULL)
    {
      node = ir_model_live_node (model, at->owner);
      at = node != NULL ? node->graph : NULL;
    }
  return at == graph ? node : NULL;
}

static gboolean
is_read_outside (const IrValue *value, GHashTable *nodes)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrUse use = ir_value_use (value, i);
      const IrNode *node = node_in (value->graph, &use);

      if (node == NULL || !g_hash_table_contains (nodes, node))
        return TRUE;
    }
  return FALSE;
}

/* -- extracting -- */

typedef struct
{
  GHashTable *from;  /* values that end the walk */
  GHashTable *nodes; /* found */
  GPtrArray *inputs; /* of the model, met on the way */
  GPtrArray *stack;
} Walk;

static void
walk_value (IrValue *value, gpointer data)
{
  Walk *walk = data;

  if (g_hash_table_contains (walk->from, value))
    g_hash_table_insert (walk->from, value, value); /* met */
  else if (value->producer != NULL)
    {
      if (g_hash_table_add (walk->nodes, value->producer))
        g_ptr_array_add (walk->stack, value->producer);
    }
  else if (ir_value_is_graph_input (value) && !g_ptr_array_find (walk->inputs, value, NULL))
    g_ptr_array_add (walk->inputs, value);
}

static gboolean
find_values (const IrModel *model, const char *const *names, GPtrArray *values, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      IrValue *value = act_value (model, names[i], error);

      if (value == NULL)
        return FALSE;
      if (value->graph != model->main)
        return act_refuse (error, "%s lies in graph %s; a part ends at values of the main graph",
                           value->name, value->graph->name);
      if (!g_ptr_array_find (values, value, NULL))
        g_ptr_array_add (values, value);
    }
  return TRUE;
}

static void
add_outputs (const IrModel *model, GPtrArray *values)
{
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    if (!g_ptr_array_find (values, ir_graph_output (model->main, i), NULL))
      g_ptr_array_add (values, ir_graph_output (model->main, i));
}

static gboolean
check_walk (const Walk *walk, const GPtrArray *from, const GPtrArray *to, GError **error)
{
  for (guint i = 0; i < from->len; i++)
    if (g_hash_table_lookup (walk->from, from->pdata[i]) == NULL)
      return act_refuse (error,
                         "%s: none of the values that the part ends with is computed from it alone "
                         "or with others; leave it out, or end the part behind it",
                         ((IrValue *) from->pdata[i])->name);
  for (guint i = 0; i < to->len; i++)
    if (((IrValue *) to->pdata[i])->producer == NULL ||
        g_hash_table_contains (walk->from, to->pdata[i]))
      return act_refuse (error,
                         "%s is computed by no node of the part; end it with a value that is",
                         ((IrValue *) to->pdata[i])->name);
  return TRUE;
}

/**
 * ir_act_extract:
 * @model: a model, may be frozen
 * @from: (nullable) (array zero-terminated=1): names or #ids of the values that the part takes;
 *   inputs of the model that it needs beside them are inputs of it, too
 * @to: (nullable) (array zero-terminated=1): those that it gives; none: the outputs of the model
 * @error: return location for an error
 *
 * Makes the nodes between chosen values a model of their own, with the constants and functions that
 * they need, and the ids that they have.
 *
 * Returns: (transfer full) (nullable): the part; %NULL with @error: a value is not there, or nothing
 *   lies between them
 */
IrModel *
ir_act_extract (const IrModel *model,
                const char *const *from,
                const char *const *to,
                GError **error)
{
  g_autoptr (IrModel) part = ir_model_clone ((IrModel *) model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (part);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new (), outputs = g_ptr_array_new ();
  g_autoptr (GPtrArray) met = g_ptr_array_new (), stack = g_ptr_array_new ();
  g_autoptr (GHashTable) ends = g_hash_table_new (NULL, NULL),
                         nodes = g_hash_table_new (NULL, NULL);
  Walk walk = { ends, nodes, met, stack };

  if (!find_values (part, from, inputs, error) || !find_values (part, to, outputs, error))
    return NULL;
  if (outputs->len == 0)
    add_outputs (part, outputs);
  for (guint i = 0; i < inputs->len; i++)
    g_hash_table_insert (ends, inputs->pdata[i], NULL);
  for (guint i = 0; i < outputs->len; i++)
    {
      IrValue *value = outputs->pdata[i];

      if (value->producer != NULL && !g_hash_table_contains (ends, value))
        walk_value (value, &walk);
    }
  while (stack->len > 0)
    each_read (g_ptr_array_steal_index_fast (stack, stack->len - 1), part->main, walk_value, &walk);
  if (!check_walk (&walk, inputs, outputs, error))
    return NULL;
  for (guint i = 0; i < inputs->len; i++)
    make_input (edit, inputs->pdata[i]);
  for (guint i = 0; i < met->len; i++)
    g_ptr_array_add (inputs, met->pdata[i]);
  set_rim (edit, inputs, outputs);
  remove_others (edit, nodes);
  remove_unused (edit);
  ir_act_remove_functions (edit);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return g_steal_pointer (&part);
}

/* -- copying -- */

static void
collect_outside (IrValue *value, gpointer data)
{
  GPtrArray **lists = data; /* nodes of the part; what comes from outside */

  if ((value->producer == NULL || !g_ptr_array_find (lists[0], value->producer, NULL)) &&
      !g_ptr_array_find (lists[1], value, NULL))
    g_ptr_array_add (lists[1], value);
}

/* The nodes of one graph, in order. (transfer container) (nullable) */
static GPtrArray *
chosen_nodes (const IrModel *model, const IrNodeId *ids, guint n, GError **error)
{
  g_autoptr (GPtrArray) chosen = g_ptr_array_new (), order = NULL;
  GPtrArray *nodes;

  for (guint i = 0; i < n; i++)
    {
      IrNode *node = ir_model_live_node (model, ids[i]);

      if (node == NULL)
        continue;
      if (chosen->len > 0 && ((IrNode *) chosen->pdata[0])->graph != node->graph)
        {
          g_autofree char *label = ir_node_label (node);

          act_refuse (error,
                      "%s lies in graph %s, and other nodes of the selection do not; choose "
                      "nodes of one graph",
                      label, node->graph->name);
          return NULL;
        }
      g_ptr_array_add (chosen, node);
    }
  if (chosen->len == 0)
    {
      act_refuse (error, "no node is chosen");
      return NULL;
    }
  nodes = g_ptr_array_new ();
  order = ir_graph_nodes (((IrNode *) chosen->pdata[0])->graph);
  for (guint i = 0; i < order->len; i++)
    if (g_ptr_array_find (chosen, order->pdata[i], NULL))
      g_ptr_array_add (nodes, order->pdata[i]);
  return nodes;
}

/* Out of a branch or body into the main graph, which loses all else. */
static void
bring_to_main (IrEdit *edit, const GPtrArray *nodes, const GPtrArray *outside)
{
  IrGraph *main = ir_edit_model (edit)->main;

  for (guint i = 0; i < nodes->len; i++)
    ir_edit_move_node (edit, nodes->pdata[i], main);
  for (guint i = 0; i < outside->len; i++)
    if (((IrValue *) outside->pdata[i])->graph != main)
      ir_edit_move_value (edit, outside->pdata[i], main);
}

/**
 * ir_act_copy:
 * @model: a model, may be frozen
 * @nodes: (array length=n): nodes of one graph
 * @n: how many
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the nodes as a model, which takes what they read, has the
 *   constants of theirs, and gives what nothing of them reads
 */
IrModel *
ir_act_copy (const IrModel *model, const IrNodeId *nodes, guint n, GError **error)
{
  g_autoptr (IrModel) part = ir_model_clone ((IrModel *) model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (part);
  g_autoptr (GPtrArray) own = chosen_nodes (part, nodes, n, error);
  g_autoptr (GPtrArray) outside = g_ptr_array_new (), inputs = g_ptr_array_new (),
                        outputs = g_ptr_array_new ();
  g_autoptr (GHashTable) set = g_hash_table_new (NULL, NULL);
  GPtrArray *lists[] = { own, outside };

  if (own == NULL)
    return NULL;
  for (guint i = 0; i < own->len; i++)
    {
      const IrNode *node = own->pdata[i];

      g_hash_table_add (set, own->pdata[i]);
      each_read (node, node->graph, collect_outside, lists);
    }
  for (guint i = 0; i < own->len; i++)
    for (guint k = 0; k < ((IrNode *) own->pdata[i])->n_outputs; k++)
      {
        IrValue *value = ((IrNode *) own->pdata[i])->outputs[k];

        if (value != NULL && is_read_outside (value, set))
          g_ptr_array_add (outputs, value);
        else if (value != NULL && value->n_uses == 0)
          g_ptr_array_add (outputs, value);
      }
  for (guint i = 0; i < outside->len; i++)
    if (((IrValue *) outside->pdata[i])->initializer == NULL ||
        ir_value_constant (outside->pdata[i]) == NULL)
      {
        make_input (edit, outside->pdata[i]);
        g_ptr_array_add (inputs, outside->pdata[i]);
      }
  bring_to_main (edit, own, outside);
  set_rim (edit, inputs, outputs);
  remove_others (edit, set);
  remove_unused (edit);
  ir_act_remove_functions (edit);
  return g_steal_pointer (&part);
}

/**
 * ir_act_copy_text:
 * @model: a model, may be frozen
 * @nodes: (array length=n): nodes of one graph
 * @n: how many
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): as ir_act_copy(), in ONNX text, as "paste" takes it
 */
char *
ir_act_copy_text (const IrModel *model, const IrNodeId *nodes, guint n, GError **error)
{
  const IrTextOptions options = { .large = IR_TEXT_BASE64, .max_elements = LARGE_ELEMENTS };
  g_autoptr (IrModel) part = ir_act_copy (model, nodes, n, error);

  return part != NULL ? ir_text_write_options (part, &options) : NULL;
}

/* -- placing a part -- */

static gboolean
is_same_constant (const IrValue *a, const IrValue *b)
{
  return a->initializer != NULL && b->initializer != NULL &&
         ir_tensor_equal (a->initializer, b->initializer);
}

/* Names that are taken get others, before the part is copied. */
static void
rename_part (IrActing *acting, IrModel *part, GHashTable *given)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (part);

  for (IrValueId id = 1; id < part->values->len; id++)
    {
      IrValue *value = ir_model_live_value (part, id);

      if (value == NULL || g_hash_table_contains (given, value) || value->graph->function != NULL)
        continue;
      if (!ir_edit_name_is_free (acting->edit, value->name))
        ir_edit_rename_value (edit, value, ir_edit_unique_name (acting->edit, value->name));
    }
  for (IrNodeId id = 1; id < part->nodes->len; id++)
    {
      IrNode *node = ir_model_live_node (part, id);
      g_autofree char *name = NULL;

      if (node == NULL || node->name[0] == '\0' || node->graph->function != NULL ||
          act_node (acting->model, node->name, NULL) == NULL)
        continue;
      for (guint i = 2; name == NULL || act_node (acting->model, name, NULL) != NULL; i++)
        {
          g_free (name);
          name = g_strdup_printf ("%s_%u", node->name, i);
        }
      ir_edit_rename_node (edit, node, name);
    }
}

/* Copies the part into the graph; @given: what its inputs are there. (transfer container) */
GPtrArray *
act_place_part (IrActing *acting, IrGraph *graph, IrModel *part, GHashTable *given)
{
  rename_part (acting, part, given);
  return ir_reconcile_into (acting->edit, graph, part, given);
}

/* Inputs and equal constants that the graph has under the same names; inputs that a body lacks are
 * left open. */
static void
give_inputs (IrGraph *graph, const IrModel *part, GHashTable *given)
{
  guint n;
  IrValue *const *values = ir_graph_values (part->main, &n);

  for (guint i = 0; i < n; i++)
    {
      IrValue *own = ir_graph_find_value_in_scope (graph, values[i]->name);

      if (values[i]->producer != NULL)
        continue;
      if (own != NULL && (values[i]->initializer == NULL || is_same_constant (own, values[i])))
        g_hash_table_insert (given, values[i], own);
      else if (values[i]->initializer == NULL && graph->kind != IR_GRAPH_MAIN)
        g_hash_table_insert (given, values[i], NULL);
    }
}

/* Inputs that nothing stands for are inputs of the graph. */
static void
add_missing_inputs (IrActing *acting, const IrModel *part, GHashTable *given, GHashTable *known)
{
  IrGraph *main = acting->model->main;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_inputs (main); i++)
    g_ptr_array_add (inputs, ir_graph_input (main, i));
  for (guint i = 0; i < ir_graph_n_inputs (part->main); i++)
    {
      IrValue *own = g_hash_table_lookup (given, ir_graph_input (part->main, i));

      if (own != NULL && !g_hash_table_contains (known, own))
        g_ptr_array_add (inputs, own);
    }
  ir_edit_set_graph_inputs (acting->edit, main, (IrValue *const *) inputs->pdata, inputs->len);
}

static void
add_its_outputs (IrActing *acting, const IrModel *part, GHashTable *given)
{
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (part->main); i++)
    g_ptr_array_add (outputs, g_hash_table_lookup (given, ir_graph_output (part->main, i)));
  ir_edit_set_graph_outputs (acting->edit, acting->model->main, (IrValue *const *) outputs->pdata,
                             outputs->len);
}

static gboolean
paste (IrActing *acting, IrGraph *graph, IrModel *part)
{
  g_autoptr (GHashTable) given = g_hash_table_new (NULL, NULL),
                         known = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) made = NULL;
  const gboolean is_first = graph->kind == IR_GRAPH_MAIN && ir_model_n_nodes (acting->model) == 0;
  GHashTableIter iter;
  gpointer own;

  give_inputs (graph, part, given);
  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, NULL, &own))
    g_hash_table_add (known, own);
  made = act_place_part (acting, graph, part, given);
  if (graph->kind == IR_GRAPH_MAIN)
    add_missing_inputs (acting, part, given, known);
  if (is_first)
    add_its_outputs (acting, part, given);
  for (guint i = 0; i < made->len; i++)
    act_show_node (acting, made->pdata[i]);
  return TRUE;
}

gboolean
act_paste (IrActing *acting, GError **error)
{
  const char *in = acting->n_words > 1 ? act_option (acting->words[1], "in") : "";
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) why = NULL;
  g_autoptr (IrModel) part = NULL;
  IrGraph *graph;

  if (in == NULL)
    return act_misread (error, "'%s': needs in=NODE:ATTR, or nothing", acting->words[1]);
  graph = act_graph (acting->model, in, error);
  if (graph == NULL)
    return FALSE;
  part = ir_text_read (acting->words[0], -1, problems, &why);
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];

      if (problem->severity >= IR_SEVERITY_ERROR && problem->line > 0)
        return act_misread (error, "the text cannot be pasted: line %u, column %u: %s",
                            problem->line, problem->column, problem->message);
    }
  if (part == NULL || ir_model_n_nodes (part) == 0)
    return act_misread (error, "the text cannot be pasted: %s",
                        why != NULL ? why->message : "it is no graph with nodes in ONNX text");
  return paste (acting, graph, part);
}

gboolean
act_duplicate (IrActing *acting, GError **error)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  g_autoptr (IrModel) part = NULL;
  IrGraph *graph = NULL;

  for (guint i = 0; i < acting->n_words; i++)
    {
      const IrNode *node = act_node (acting->model, acting->words[i], error);

      if (node == NULL)
        return FALSE;
      graph = node->graph;
      g_array_append_val (ids, node->id);
    }
  part = ir_act_copy (acting->model, (const IrNodeId *) ids->data, ids->len, error);
  return part != NULL && paste (acting, graph, part);
}

/* -- wrapping -- */

/* A way out of the nodes and back in: a call of a function would be in a circle with itself. */
static gboolean
is_convex (const GPtrArray *nodes, GHashTable *set, const IrNode **through)
{
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < nodes->len; i++)
    g_ptr_array_add (stack, nodes->pdata[i]);
  while (stack->len > 0)
    {
      const IrNode *node = g_ptr_array_steal_index_fast (stack, stack->len - 1);
      const gboolean inside = g_hash_table_contains (set, node);

      for (guint i = 0; i < node->n_outputs; i++)
        for (guint k = 0; node->outputs[i] != NULL && k < node->outputs[i]->n_uses; k++)
          {
            const IrUse use = ir_value_use (node->outputs[i], k);
            IrNode *user = node_in (node->graph, &use);

            if (user != NULL && !inside && g_hash_table_contains (set, user))
              {
                *through = node;
                return FALSE;
              }
            if (user != NULL && !g_hash_table_contains (set, user) && g_hash_table_add (seen, user))
              g_ptr_array_add (stack, user);
          }
    }
  return TRUE;
}

typedef struct
{
  GHashTable *set;
  GPtrArray *inputs;
} Rim;

static void
collect_input (IrValue *value, gpointer data)
{
  Rim *rim = data;

  if ((value->producer == NULL || !g_hash_table_contains (rim->set, value->producer)) &&
      !g_ptr_array_find (rim->inputs, value, NULL))
    g_ptr_array_add (rim->inputs, value);
}

/* Uses of @old within the nodes of @graph become uses of @with. */
static void
redirect (IrEdit *edit, IrValue *old, IrValue *with, const IrGraph *graph)
{
  for (guint i = old->n_uses; i > 0; i--)
    {
      const IrUse use = ir_value_use (old, i - 1);
      const IrGraph *at = use.graph;

      while (at != graph && at != NULL)
        at = ir_graph_outer (at);
      if (at == graph && use.node != NULL)
        ir_edit_set_input (edit, use.node, use.slot, with);
    }
}

static IrGraph *
make_function (IrActing *acting, const char *name, const GPtrArray *nodes)
{
  IrGraph *body = ir_edit_add_graph (acting->edit, IR_GRAPH_FUNCTION, name);
  const IrFunctionInfo info = { .domain = ir_context_intern (acting->model->context, "local"),
                                .name = ir_context_intern (acting->model->context, name),
                                .overload = ir_context_intern (acting->model->context, ""),
                                .opsets = acting->model->opsets };

  ir_edit_set_function_info (acting->edit, body, &info);
  for (guint i = 0; i < nodes->len; i++)
    {
      drop_controls (acting->edit, nodes->pdata[i]);
      ir_edit_move_node (acting->edit, nodes->pdata[i], body);
    }
  return body;
}

/* The values of the nodes go into the function; outside others take their places. */
static void
wrap (IrActing *acting, const char *name, GPtrArray *nodes, GPtrArray *inputs, GPtrArray *outputs)
{
  IrGraph *graph = ((IrNode *) nodes->pdata[0])->graph;
  const guint64 rank = ((IrNode *) nodes->pdata[nodes->len - 1])->rank;
  IrGraph *body = make_function (acting, name, nodes);
  g_autoptr (GPtrArray) formal = g_ptr_array_new ();
  IrNode *call;

  for (guint i = 0; i < inputs->len; i++)
    {
      IrValue *outer = inputs->pdata[i];
      IrValue *value = ir_edit_add_value (acting->edit, body, outer->name, NULL);

      g_ptr_array_add (formal, value);
      redirect (acting->edit, outer, value, body);
    }
  ir_edit_set_graph_inputs (acting->edit, body, (IrValue *const *) formal->pdata, formal->len);
  call = ir_edit_add_node (acting->edit, graph, name, "local", name, inputs->len,
                           (IrValue *const *) inputs->pdata, outputs->len);
  ir_edit_set_rank (acting->edit, call, rank);
  for (guint i = 0; i < outputs->len; i++)
    {
      IrValue *inner = outputs->pdata[i], *outer = call->outputs[i];
      const char *known = inner->name;

      for (guint k = inner->n_uses; k > 0; k--)
        {
          const IrUse use = ir_value_use (inner, k - 1);

          if (use.node != NULL && use.node->graph == body)
            continue;
          if (use.node != NULL)
            ir_edit_set_input (acting->edit, use.node, use.slot, outer);
        }
      while (ir_value_is_graph_output (inner))
        {
          const IrUse use = ir_value_use (inner, inner->n_uses - 1);
          g_autoptr (GPtrArray) list = g_ptr_array_new ();

          for (guint k = 0; k < ir_graph_n_outputs (use.graph); k++)
            g_ptr_array_add (list, ir_graph_output (use.graph, k) == inner
                                       ? outer
                                       : ir_graph_output (use.graph, k));
          ir_edit_set_graph_outputs (acting->edit, use.graph, (IrValue *const *) list->pdata,
                                     list->len);
        }
      ir_edit_rename_value (acting->edit, inner, ir_edit_unique_name (acting->edit, known));
      ir_edit_rename_value (acting->edit, outer, known);
      ir_edit_set_flags (acting->edit, outer, inner->flags);
    }
  ir_edit_set_graph_outputs (acting->edit, body, (IrValue *const *) outputs->pdata, outputs->len);
  for (guint i = 0; i < nodes->len; i++)
    ir_edit_step_map_node (acting->edit, ((IrNode *) nodes->pdata[i])->id, call->id);
  act_show_node (acting, call);
}

static gboolean
check_wrap (IrActing *acting, const char *name, GPtrArray *nodes, GHashTable *set, GError **error)
{
  const IrNode *through = NULL;

  if (ir_model_find_function (acting->model, "local", name, "") != NULL || name[0] == '\0')
    return act_refuse (error, "'%s': there is such a function already, or no name; give it another",
                       name);
  if (((IrNode *) nodes->pdata[0])->graph->function != NULL)
    return act_refuse (error, "the nodes lie in a function already");
  if (!is_convex (nodes, set, &through))
    {
      g_autofree char *label = ir_node_label (through);

      return act_refuse (error,
                         "%s reads what the nodes give, and they read what follows from it: a "
                         "function cannot be left and come back to; choose it too",
                         label);
    }
  return TRUE;
}

gboolean
act_wrap (IrActing *acting, GError **error)
{
  const char *name = acting->words[0];
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  g_autoptr (GHashTable) set = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) nodes = NULL, inputs = g_ptr_array_new (), outputs = g_ptr_array_new ();
  Rim rim = { set, inputs };

  for (guint i = 1; i < acting->n_words; i++)
    {
      IrNode *node = act_node (acting->model, acting->words[i], error);

      if (node == NULL)
        return FALSE;
      g_array_append_val (ids, node->id);
      g_hash_table_add (set, node);
    }
  nodes = chosen_nodes (acting->model, (const IrNodeId *) ids->data, ids->len, error);
  if (nodes == NULL || !check_wrap (acting, name, nodes, set, error))
    return FALSE;
  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];

      each_read (node, node->graph, collect_input, &rim);
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL && is_read_outside (node->outputs[k], set))
          g_ptr_array_add (outputs, node->outputs[k]);
    }
  if (outputs->len == 0)
    return act_refuse (error, "nothing reads what the nodes give; make it an output first");
  if (ir_model_opset (acting->model, "local") == 0)
    ir_edit_set_opset (acting->edit, "local", 1);
  wrap (acting, name, nodes, inputs, outputs);
  return TRUE;
}
