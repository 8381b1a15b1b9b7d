/* Functions that are values as control flow again: what to-closures does, backwards, and such graphs as others
 * write.
 *
 *     Call (Switch (c, Partial (f, x..), Partial (g, z..)), a..)     If (c) { f (x.., a..) } else { g (z.., a..) }
 *     Call (SwitchLayer (i, Partial.., Partial..), a..)              Ifs in each other
 *     Call (Partial (header, x..), v..), a loop                      Loop, Scan or SequenceMap
 *     Call (Partial (f, x..), a..), any other                        f (x.., a..)
 *
 * Inner constructs come before those around them. What has no such form stays, with the reason; only the
 * operators and what functions name are read, no names of nodes and no metadata. Loops are in closures-raise.c.
 *
 * Source: MindSpore, functional control flow; ONNX, If and Loop. */
#include "config.h"

#include "core/ir/inline.h"
#include "passes/rewrites/closures-raise.h"
#include "passes/rewrites/raise.h"
#include "passes/rewrites/trips.h"
#include "passes/rule/rule.h"

#include <string.h>

#define RULE_IF   "if-from-closures"
#define RULE_LOOP "loop-from-closures"
#define RULE_CALL "call-from-closure"

#define MAX_CHOICES 40 /* branches and choices: bodies may stand 48 deep in files */

typedef struct
{
  IrLowering l;
  GHashTable
      *uses; /* main graph or function -> GPtrArray of the functions that it names or calls */
  GHashTable *seen; /* set of IrGraph: of which the calls have been looked at */
  IrNodeId left;    /* (nullable) the first that stays, once one does, and why */
  char *why;
} Raising;

/* -- functions -- */

static IrGraph *
root_of (IrGraph *graph)
{
  while (graph->kind == IR_GRAPH_SUBGRAPH && ir_graph_outer (graph) != NULL)
    graph = ir_graph_outer (graph);
  return graph;
}

/**
 * ir_closure_partial_of:
 * @value: (nullable): a value
 *
 * Returns: (transfer none) (nullable): the Partial that makes it, of a function that there is
 */
IrNode *
ir_closure_partial_of (const IrValue *value)
{
  IrNode *node = value != NULL ? value->producer : NULL;

  return node != NULL && ir_op_is (node, IR_OP_PARTIAL) && ir_node_named_function (node) != NULL
             ? node
             : NULL;
}

IrValue *
ir_closure_given (const IrNode *partial, const IrNode *call, guint i)
{
  return i < partial->n_inputs ? partial->inputs[i]
                               : ir_node_input (call, i - partial->n_inputs + 1);
}

/* Whether all inputs of the function of @partial are given, and no more, and it gives what is read of @call */
static gboolean
fits (const IrNode *partial, const IrNode *call)
{
  const IrGraph *function = ir_node_named_function (partial);
  const guint n = partial->n_inputs + call->n_inputs - 1;

  if (n != ir_graph_n_inputs (function) || call->n_outputs > ir_graph_n_outputs (function))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (ir_closure_given (partial, call, i) == NULL || ir_graph_input (function, i) == NULL)
      return FALSE;
  for (guint i = 0; i < ir_graph_n_outputs (function); i++)
    if (ir_graph_output (function, i) == NULL)
      return FALSE;
  return TRUE;
}

static guint
count_uses (const IrGraph *function)
{
  const IrModel *model = function->model;
  guint n = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      n += node != NULL && ir_node_used_function (node) == function;
    }
  return n;
}

gboolean
ir_closure_are_shared (IrNode *const *partials, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      const IrGraph *function = ir_node_named_function (partials[i]);
      guint n_own = 0;
      for (guint k = 0; k < n; k++)
        n_own += ir_node_named_function (partials[k]) == function;
      if (partials[i]->outputs[0]->n_uses != 1 || ir_node_has_control_uses (partials[i]) ||
          count_uses (function) != n_own)
        return TRUE;
    }
  return FALSE;
}

static IrValue *
copy_end (IrLowering *l, IrGraph *to, const IrValue *end)
{
  const IrType *type = ir_function_declared_type (end);
  IrValue *value = ir_edit_add_value (l->edit, to, ir_edit_unique_name (l->edit, end->name), type);

  if (type != NULL)
    {
      ir_edit_set_claim (l->edit, value, type);
      ir_edit_set_flags (l->edit, value, value->flags | IR_VALUE_DECLARED);
    }
  return value;
}

/* A function that calls @function, which then comes to where the call is. */
IrGraph *
ir_closure_copy (IrLowering *l, const IrGraph *function)
{
  IrModel *model = l->context->model;
  IrFunctionInfo info = *function->function;
  const guint n_inputs = ir_graph_n_inputs (function), n_outputs = ir_graph_n_outputs (function);
  const guint first = model->nodes->len;
  g_autofree IrValue **inputs = g_new0 (IrValue *, n_inputs + 1);
  g_autofree IrValue **outputs = g_new0 (IrValue *, n_outputs + 1);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autofree char *name = NULL;

  for (guint i = 2;
       name == NULL || ir_model_find_function (model, info.domain, name, info.overload); i++)
    {
      g_free (name);
      name = g_strdup_printf ("%s_%u", info.name, i);
    }
  info.name = ir_context_intern (model->context, name);
  IrGraph *copy = ir_edit_add_graph (l->edit, IR_GRAPH_FUNCTION, info.name);
  ir_edit_set_function_info (l->edit, copy, &info);
  for (guint i = 0; i < n_inputs; i++)
    inputs[i] = copy_end (l, copy, ir_graph_input (function, i));
  for (guint i = 0; i < n_outputs; i++)
    outputs[i] = copy_end (l, copy, ir_graph_output (function, i));
  ir_edit_set_graph_inputs (l->edit, copy, inputs, n_inputs);
  ir_edit_set_graph_outputs (l->edit, copy, outputs, n_outputs);
  IrNode *call = ir_edit_add_node_with_outputs (l->edit, copy, function->function->name,
                                                info.domain, NULL, n_inputs, inputs, n_outputs,
                                                outputs);
  if (info.overload != NULL && info.overload[0] != '\0')
    ir_edit_set_op (l->edit, call, function->function->name, info.domain, info.overload);
  if (!ir_inline_call (l->edit, call, problems))
    return NULL;
  for (guint i = first; i < model->nodes->len; i++)
    if (ir_model_live_node (model, i) != NULL)
      ir_infer_node (l->edit, model->nodes->pdata[i], NULL);
  return copy;
}

void
ir_closure_drop (IrLowering *l, IrNode *node)
{
  if (node->state == IR_STATE_LIVE && node->outputs[0]->n_uses == 0 &&
      !ir_node_has_control_uses (node))
    ir_pass_remove_node (l->context, node);
}

void
ir_closure_drop_imports (IrLowering *l, IrGraph *const *functions, guint n, IrGraph *graph)
{
  for (guint i = 0; i < n; i++)
    ir_pass_drop_import (l->context, graph, functions[i]->function->domain);
  ir_pass_drop_import (l->context, graph, IR_CLOSURE_DOMAIN);
}

void
ir_closure_take_place (IrLowerConstruct *c, IrNode *node)
{
  ir_edit_rename_node (c->l->edit, node, c->node->name);
  ir_edit_set_scope (c->l->edit, node, c->node->scope);
  ir_edit_set_device (c->l->edit, node, c->node->device);
  ir_lower_guard (c, node);
}

char *
ir_closure_why_ill_typed (IrLowering *l, IrNode *node)
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);
  g_autoptr (GError) error = NULL;
  char *why = NULL;

  for (guint i = 0; i < graphs->len; i++)
    {
      guint n;
      IrNode *const *nodes = ir_graph_order (graphs->pdata[i], &n);
      g_autofree IrNode **all = g_memdup2 (nodes, n * sizeof (IrNode *));
      for (guint k = 0; k < n && why == NULL; k++)
        why = ir_closure_why_ill_typed (l, all[k]);
    }
  if (why != NULL)
    return why;
  ir_infer_node (l->edit, node, NULL);
  return ir_node_check (node, &error)
             ? NULL
             : g_strdup_printf ("%s; as it is, it may never be called", error->message);
}

/* -- If -- */

/* What @function does, as a branch of @node; it takes what @partial and @call give. */
static void
add_branch (IrLowerConstruct *c,
            IrNode *node,
            const char *name,
            IrGraph *function,
            const IrNode *partial,
            const IrNode *call)
{
  IrEdit *edit = c->l->edit;
  IrGraph *branch = ir_edit_add_graph (edit, IR_GRAPH_SUBGRAPH, name);
  g_autoptr (GPtrArray) results = ir_lower_take_outputs (c->l, function);

  ir_edit_set_attr (edit, node, ir_attr_graph (c->l->context->model->context, name, branch->id));
  ir_lower_note_members (c->l, function);
  for (guint i = 0; i < ir_graph_n_inputs (function); i++)
    {
      IrValue *input = ir_graph_input (function, i), *given = ir_closure_given (partial, call, i);
      ir_edit_replace_uses (edit, input, given);
      ir_lower_swap_result (results, input, given);
    }
  c->graph = branch;
  ir_lower_move_in (c, function, NULL);
  g_ptr_array_set_size (results, (int) node->n_outputs);
  for (guint i = 0; i < results->len; i++)
    {
      IrValue *value = results->pdata[i];
      if (value->graph != branch)
        results->pdata[i] = ir_lower_add_node (c, "Identity", NULL, 1, &value, 1, value->type)
                                ->outputs[0];
    }
  c->graph = node->graph;
  ir_edit_set_graph_outputs (edit, branch, (IrValue *const *) results->pdata, results->len);
  ir_edit_remove_graph (edit, function);
}

/* A call of what is chosen of closures, by Switch and SwitchLayer, also in each other. */
typedef struct
{
  GPtrArray *makers;   /* of IrNode: what chooses, the outermost first */
  GPtrArray *partials; /* of IrNode: what there is to choose of */
  gboolean are_shared; /* something else has to do with them, too */
} Choice;

static void
choice_clear (Choice *choice)
{
  g_ptr_array_unref (choice->makers);
  g_ptr_array_unref (choice->partials);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Choice, choice_clear)

static gboolean
chooses (const IrNode *node)
{
  return ir_op_is (node, IR_OP_CLOSURE_SWITCH) || ir_op_is (node, IR_OP_SWITCH_LAYER);
}

/* (nullable) (transfer full) Why not */
static char *
find_choice (Choice *choice, IrNode *maker)
{
  char *why = NULL;

  choice->are_shared |= maker->outputs[0]->n_uses != 1;
  g_ptr_array_add (choice->makers, maker);
  if (ir_op_is (maker, IR_OP_SWITCH_LAYER) && maker->n_inputs < 3)
    return g_strdup ("SwitchLayer chooses of one alone");
  if (choice->makers->len + choice->partials->len + maker->n_inputs > MAX_CHOICES)
    return g_strdup_printf ("it chooses of more than %d", MAX_CHOICES);
  for (guint i = 1; i < maker->n_inputs && why == NULL; i++)
    {
      IrNode *partial = ir_closure_partial_of (maker->inputs[i]);
      IrNode *other = maker->inputs[i] != NULL ? maker->inputs[i]->producer : NULL;
      if (partial != NULL)
        g_ptr_array_add (choice->partials, partial);
      else if (other != NULL && other->graph == maker->graph && chooses (other))
        why = find_choice (choice, other);
      else
        why = g_strdup ("what is chosen does not come from Partial");
    }
  return why;
}

/* The same by Switches: SwitchLayer takes numbers from the end, too, and so does Gather, which refuses others. */
static void
split_layer (IrLowerConstruct *c, IrNode *layer, IrNode *reader, guint slot, GPtrArray *makers)
{
  const guint n = layer->n_inputs - 1, first = makers->len;
  g_autofree gint64 *numbers = g_new (gint64, n);
  IrContext *context = c->l->context->model->context;
  IrValue *index = layer->inputs[0], *chosen = layer->inputs[n];

  for (guint i = 0; i < n; i++)
    numbers[i] = i;
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (numbers, n);
  IrNode *cast = ir_lower_add_node (c, "Cast", NULL, 1, &index, 1, NULL);
  ir_edit_set_attr (c->l->edit, cast, ir_attr_int (context, "to", IR_DTYPE_INT64));
  IrValue *const gathered[] = { ir_pass_add_constant (c->l->context, c->graph, "branches", tensor),
                                cast->outputs[0] };
  IrValue *number = ir_lower_add_node (c, "Gather", NULL, 2, gathered, 1, NULL)->outputs[0];
  for (guint i = n - 1; i > 0; i--)
    {
      IrValue *const compared[] = { number,
                                    ir_lower_add_scalar (c, "branch", IR_DTYPE_INT64, i - 1) };
      IrValue *const choice[] = {
        ir_lower_add_node (c, "Equal", NULL, 2, compared, 1, NULL)->outputs[0], layer->inputs[i],
        chosen
      };
      IrNode *one = ir_lower_add_node (c, "Switch", IR_CLOSURE_DOMAIN, 3, choice, 1,
                                       layer->outputs[0]->type);
      g_ptr_array_insert (makers, (gint) first, one);
      chosen = one->outputs[0];
    }
  ir_edit_set_input (c->l->edit, reader, slot, chosen);
}

/* SwitchLayer is not read any more, neither by the call nor by what it is a choice of. */
static void
split_layers (IrLowerConstruct *c, Choice *choice, IrNode *reader, guint slot)
{
  IrNode *maker = reader->inputs[slot]->producer;

  if (ir_op_is (maker, IR_OP_SWITCH_LAYER))
    split_layer (c, maker, reader, slot, choice->makers);
  maker = reader->inputs[slot]->producer;
  for (guint i = 1; i < maker->n_inputs; i++)
    if (chooses (maker->inputs[i]->producer))
      split_layers (c, choice, maker, i);
}

static gboolean add_if (IrLowerConstruct *c, IrNode *choose, gboolean are_shared, IrNode **made);

/* What @closure does, as a branch of @node: a function, or another choice */
static gboolean
add_side (
    IrLowerConstruct *c, IrNode *node, const char *name, IrValue *closure, gboolean are_shared)
{
  IrNode *partial = ir_closure_partial_of (closure), *inner;
  IrEdit *edit = c->l->edit;

  if (partial != NULL)
    {
      IrGraph *function = (IrGraph *) ir_node_named_function (partial);
      if (are_shared && (function = ir_closure_copy (c->l, function)) == NULL)
        return FALSE;
      add_branch (c, node, name, function, partial, c->node);
      return TRUE;
    }
  IrGraph *branch = ir_edit_add_graph (edit, IR_GRAPH_SUBGRAPH, name);
  ir_edit_set_attr (edit, node, ir_attr_graph (c->l->context->model->context, name, branch->id));
  c->graph = branch;
  const gboolean done = add_if (c, closure->producer, are_shared, &inner);
  c->graph = node->graph;
  if (!done)
    return FALSE;
  for (guint i = 0; i < inner->n_outputs; i++)
    if (c->node->outputs[i] != NULL)
      ir_edit_set_type (edit, inner->outputs[i], c->node->outputs[i]->type);
  ir_edit_set_graph_outputs (edit, branch, inner->outputs, inner->n_outputs);
  return TRUE;
}

/* FALSE: a function that others name, too, cannot be copied */
static gboolean
add_if (IrLowerConstruct *c, IrNode *choose, gboolean are_shared, IrNode **made)
{
  *made = ir_lower_add_node (c, "If", NULL, 1, &choose->inputs[0], c->node->n_outputs, NULL);
  return add_side (c, *made, "then_branch", choose->inputs[1], are_shared) &&
         add_side (c, *made, "else_branch", choose->inputs[2], are_shared);
}

/* (nullable) (transfer full) Why not */
static char *
open_if (IrLowerConstruct *c, Choice *choice)
{
  g_autoptr (GPtrArray) functions = g_ptr_array_new ();
  IrNode *node;

  for (guint i = 0; i < choice->partials->len; i++)
    g_ptr_array_add (functions, (gpointer) ir_node_named_function (choice->partials->pdata[i]));
  split_layers (c, choice, c->node, 0);
  if (!add_if (c, c->node->inputs[0]->producer, choice->are_shared, &node))
    return g_strdup ("a function that others name, too, cannot be copied");
  ir_closure_take_place (c, node);
  char *why = ir_closure_why_ill_typed (c->l, node);
  if (why != NULL)
    return why;
  if (!ir_lower_hand_over (c, node->outputs))
    return g_strdup (IR_LOWER_LESS_KNOWN);
  for (guint i = 0; i < choice->makers->len; i++)
    ir_closure_drop (c->l, choice->makers->pdata[i]);
  for (guint i = 0; i < choice->partials->len; i++)
    ir_closure_drop (c->l, choice->partials->pdata[i]);
  ir_closure_drop_imports (c->l, (IrGraph *const *) functions->pdata, functions->len, c->graph);
  return NULL;
}

static gboolean calls_itself (const Raising *r, const IrGraph *function);

/* (nullable) (transfer full) */
static char *
why_not_if (const Raising *r, const IrNode *call, const Choice *choice)
{
  for (guint i = 0; i < choice->partials->len; i++)
    {
      const IrNode *partial = choice->partials->pdata[i];
      const IrGraph *function = ir_node_named_function (partial);
      if (!fits (partial, call))
        return g_strdup_printf ("what is given does not fit the function %s", function->name);
      if (function == root_of (call->graph))
        return g_strdup_printf ("%s calls itself", function->name);
      if (ir_pass_draws_itself (function))
        return g_strdup_printf ("%s draws random numbers, which depend on names", function->name);
      if (choice->are_shared && calls_itself (r, function))
        return g_strdup_printf ("%s calls itself, and others name it, too", function->name);
    }
  return NULL;
}

static gboolean
names_one_twice (const Choice *choice)
{
  for (guint i = 1; i < choice->partials->len; i++)
    for (guint k = 0; k < i; k++)
      if (ir_node_named_function (choice->partials->pdata[i]) ==
          ir_node_named_function (choice->partials->pdata[k]))
        return TRUE;
  return FALSE;
}

static char *
raise_if (Raising *r, IrNode *call, IrNode *choose)
{
  g_auto (Choice) choice = { g_ptr_array_new (), g_ptr_array_new (), FALSE };
  IrLowerConstruct c;
  char *why = find_choice (&choice, choose);

  if (why != NULL)
    return why;
  choice.are_shared = choice.are_shared || names_one_twice (&choice) ||
                      ir_closure_are_shared ((IrNode *const *) choice.partials->pdata,
                                             choice.partials->len);
  if ((why = why_not_if (r, call, &choice)) != NULL)
    return why;
  r->l.domain = "";
  if (!ir_lower_begin (&c, &r->l, RULE_IF, call))
    return NULL;
  why = open_if (&c, &choice);
  ir_lower_finish (&c, why);
  return why;
}

/* -- calls -- */

static gboolean
open_call (IrLowerConstruct *c, IrNode *partial, const IrGraph *function)
{
  IrNode *call = c->node;
  const IrFunctionInfo *info = function->function;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_inputs (function); i++)
    g_ptr_array_add (inputs, ir_closure_given (partial, call, i));
  IrNode *node = ir_lower_add_node (c, info->name, info->domain, inputs->len,
                                    (IrValue *const *) inputs->pdata, call->n_outputs, NULL);
  if (info->overload != NULL && info->overload[0] != '\0')
    ir_edit_set_op (c->l->edit, node, info->name, info->domain, info->overload);
  ir_closure_take_place (c, node);
  if (!ir_lower_hand_over (c, node->outputs))
    return FALSE;
  ir_closure_drop (c->l, partial);
  ir_pass_drop_import (c->l->context, c->graph, IR_CLOSURE_DOMAIN);
  return TRUE;
}

/* Whether @function comes to itself by what it names and calls. */
static gboolean
calls_itself (const Raising *r, const IrGraph *function)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();

  g_ptr_array_add (stack, (gpointer) function);
  while (stack->len > 0 && !g_hash_table_contains (seen, function))
    {
      const GPtrArray *uses = g_hash_table_lookup (
          r->uses, g_ptr_array_steal_index_fast (stack, stack->len - 1));
      for (guint i = 0; uses != NULL && i < uses->len; i++)
        if (g_hash_table_add (seen, uses->pdata[i]))
          g_ptr_array_add (stack, uses->pdata[i]);
    }
  return g_hash_table_contains (seen, function);
}

static char *
raise_call (Raising *r, IrNode *call, IrNode *partial)
{
  const IrGraph *function = ir_node_named_function (partial);
  IrLowerConstruct c;

  if (!fits (partial, call))
    return g_strdup_printf ("what is given does not fit the function %s", function->name);
  if (calls_itself (r, function))
    return g_strdup_printf (
        "%s calls itself, and is no loop of a header and a body that calls it last",
        function->name);
  if (ir_pass_draws_itself (function))
    return g_strdup_printf ("%s draws random numbers, which depend on names", function->name);
  r->l.domain = function->function->domain;
  if (!ir_lower_begin (&c, &r->l, RULE_CALL, call))
    return NULL;
  char *why = open_call (&c, partial, function) ? NULL : g_strdup (IR_LOWER_LESS_KNOWN);
  ir_lower_finish (&c, why);
  return why;
}

/* -- what is there -- */

/* Whether @call is one of those by which a loop goes round */
static gboolean
is_in_loop (const IrNode *call)
{
  const IrNode *maker = call->inputs[0]->producer;
  const IrNode *partial = ir_closure_partial_of (call->inputs[0]);
  IrClosureLoop loop;

  if (partial != NULL && ir_closure_find_loop (ir_node_named_function (partial), &loop))
    return loop.back_call == call;
  return maker != NULL && call->graph->kind == IR_GRAPH_FUNCTION &&
         ir_closure_find_loop (call->graph, &loop) && loop.tail == call;
}

static char *
raise_one (Raising *r, IrNode *call, const char **rule)
{
  IrNode *maker = call->inputs[0]->producer, *partial = ir_closure_partial_of (call->inputs[0]);
  IrClosureLoop loop;

  *rule = RULE_CALL;
  if (ir_pass_is_control_source (r->l.context, call))
    return g_strdup ("another node waits for it");
  if (partial != NULL && ir_closure_find_loop (ir_node_named_function (partial), &loop))
    {
      *rule = RULE_LOOP;
      r->l.domain = IR_LOWER_DOMAIN;
      return fits (partial, call) ? ir_closure_raise_loop (&r->l, call, &loop, RULE_LOOP)
                                  : g_strdup ("what is given does not fit its header");
    }
  if (partial != NULL)
    return raise_call (r, call, partial);
  *rule = RULE_IF;
  if (maker != NULL && chooses (maker))
    return raise_if (r, call, maker);
  g_autofree char *label = maker != NULL ? ir_node_label (maker) : NULL;
  return g_strdup_printf ("what it calls comes from %s, not from Partial, Switch or SwitchLayer",
                          label != NULL ? label : call->inputs[0]->name);
}

static void
look_at_call (Raising *r, IrNode *call)
{
  const char *rule;

  if (call->inputs[0] == NULL || ir_pass_is_open (call) || is_in_loop (call))
    return;
  g_autofree char *why = raise_one (r, call, &rule);
  if (why == NULL)
    return;
  ir_edit_refuse (r->l.edit, rule, call->id, why);
  if (r->why == NULL)
    {
      r->left = call->id;
      r->why = g_steal_pointer (&why);
    }
}

/* Calls in @graph and in those inside of it, in order */
static void
find_calls (const IrGraph *graph, GPtrArray *calls)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

  for (guint i = 0; i < nodes->len; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes->pdata[i]);
      for (guint k = 0; k < inner->len; k++)
        find_calls (inner->pdata[k], calls);
      if (ir_op_is (nodes->pdata[i], IR_OP_CLOSURE_CALL))
        g_ptr_array_add (calls, nodes->pdata[i]);
    }
}

static gboolean
look_at (Raising *r, const IrGraph *graph, GError **error)
{
  g_autoptr (GPtrArray) calls = g_ptr_array_new ();

  if (graph->state != IR_STATE_LIVE || ir_graph_is_cyclic (graph))
    return TRUE;
  find_calls (graph, calls);
  for (guint i = 0; i < calls->len && !r->l.context->stopped; i++)
    {
      IrNode *call = calls->pdata[i];
      if (ir_pass_cancelled (r->l.context, error))
        return FALSE;
      g_hash_table_remove_all (r->l.conditional);
      g_hash_table_remove_all (r->l.waited_for);
      if (call->state == IR_STATE_LIVE)
        look_at_call (r, call);
    }
  return TRUE;
}

/* Looks at @root behind all functions that it comes to. */
static gboolean
look_from (Raising *r, const IrGraph *root, GError **error)
{
  typedef struct
  {
    const IrGraph *graph;
    guint next;
  } Place;
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (Place));
  Place place = { root, 0 };
  gboolean good = TRUE;

  if (g_hash_table_add (r->seen, (gpointer) root))
    g_array_append_val (stack, place);
  while (stack->len > 0 && good)
    {
      Place *top = &g_array_index (stack, Place, stack->len - 1);
      const GPtrArray *uses = g_hash_table_lookup (r->uses, top->graph);
      if (uses == NULL || top->next == uses->len)
        {
          good = look_at (r, top->graph, error);
          g_array_set_size (stack, stack->len - 1);
          continue;
        }
      place.graph = uses->pdata[top->next++];
      if (g_hash_table_add (r->seen, (gpointer) place.graph))
        g_array_append_val (stack, place);
    }
  return good;
}

/**
 * ir_pass_find_closure:
 * @model: a model
 *
 * Returns: (transfer none) (nullable): the first node that makes, takes or calls closures
 */
const IrNode *
ir_pass_find_closure (const IrModel *model)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node != NULL && strcmp (node->domain, IR_CLOSURE_DOMAIN) == 0)
        return node;
    }
  return NULL;
}

static void
find_uses (Raising *r)
{
  const IrModel *model = r->l.context->model;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      const IrGraph *used = node != NULL ? ir_node_used_function (node) : NULL;
      IrGraph *root = used != NULL ? root_of (node->graph) : NULL;
      GPtrArray *list = root != NULL ? g_hash_table_lookup (r->uses, root) : NULL;
      if (used == NULL)
        continue;
      if (list == NULL)
        g_hash_table_insert (r->uses, root, list = g_ptr_array_new ());
      g_ptr_array_add (list, (gpointer) used);
    }
}

/* @left, @why: (out): of what stays the first, and the reason */
static gboolean
raise_all (IrPassContext *context, IrNodeId *left, char **why, GError **error)
{
  static const IrLowerWay none[] = { { 0 } };
  const GPtrArray *graphs = context->model->graphs;
  Raising r = { 0 };
  gboolean good = TRUE;

  ir_lowering_init (&r.l, context, none, IR_LOWER_DOMAIN, FALSE);
  r.uses = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  r.seen = g_hash_table_new (NULL, NULL);
  if (ir_pass_find_closure (context->model) != NULL)
    {
      find_uses (&r);
      r.l.names = ir_pass_names_new (context->model);
      for (guint i = 1; i < graphs->len && good; i++)
        {
          IrGraph *graph = graphs->pdata[i];
          if (graph->state == IR_STATE_LIVE && graph->kind != IR_GRAPH_SUBGRAPH)
            good = look_from (&r, graph, error);
        }
    }
  g_hash_table_unref (r.uses);
  g_hash_table_unref (r.seen);
  ir_lowering_clear (&r.l);
  *left = r.left;
  *why = r.why;
  return good;
}

/* -- the pass -- */

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autofree char *why = NULL;
  IrNodeId left;

  return raise_all (context, &left, &why, error);
}

/**
 * ir_raise_closures:
 * @context: a run of passes
 * @who: the pass, for errors
 * @error: return location for an error
 *
 * As ir_raise_control_flow(), closures alone.
 *
 * Returns: %FALSE if some has no form as control flow; the error names it and says why
 */
gboolean
ir_raise_closures (IrPassContext *context, const char *who, GError **error)
{
  g_autofree char *why = NULL;
  IrNodeId left;

  if (!raise_all (context, &left, &why, error))
    return FALSE;
  const IrNode *node = ir_pass_find_closure (context->model);
  if (node == NULL || context->stopped)
    return TRUE;
  node = why != NULL && ir_model_live_node (context->model, left) != NULL
             ? ir_model_live_node (context->model, left)
             : node;
  g_autofree char *label = ir_node_label (node);
  return ir_pass_refuse (
      error, who,
      "closures have no derivatives, and %s has no form as If, Loop, Scan, SequenceMap or a "
      "call of a function: %s",
      label, why != NULL ? why : "nothing calls it");
}

static const IrRule rules[] = {
  { RULE_IF, "a call of what Switch or SwitchLayer chooses of Partials",
    "an If, or Ifs in each other", IR_CLASS_EXACT,
    "Each function becomes a branch, which reads what its inputs were given; where others name it, too, a copy of "
    "it does. Of SwitchLayer the branches are compared with its index one after the other." },
  { RULE_LOOP,
    "a call of a header that calls body or after last, where the body calls the header last",
    "a Loop, a Scan or a SequenceMap", IR_CLASS_EXACT,
    "What the body hands to the header unchanged by its Partial is read from around, all else is carried; what "
    "raise-control-flow says of frames holds." },
  { RULE_CALL, "a call of a Partial of any other function", "a call of that function",
    IR_CLASS_EXACT, "What the closure holds and what the call gives are its inputs." },
  { NULL },
};

const IrPass ir_pass_from_closures = {
  .name = "from-closures",
  .title = "Turn closures into control flow",
  .doc =
      "Calls of closures become If, Loop, Scan, SequenceMap and calls of functions again, inner ones first, a step "
      "for each. What has no such form stays, with the reason.",
  .source = "MindSpore, functional control flow",
  .step_class = IR_CLASS_EXACT,
  .before_after =
      "x, c -> Partial (f), Partial (g) -> Switch -> Call -> y\nx, c -> If { f } else { g } -> y",
  .run = run,
  .documented_rules = rules,
  .once = TRUE,
};
