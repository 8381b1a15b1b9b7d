/* Control flow as data flow:
 *
 *     If (c) { f } else { g }     Merge (g (Switch (x, c) : 0), f (Switch (x, c) : 1))
 *     Loop (M, c, v) { f }        Enter -> Merge -> Switch -> f -> NextIteration -> Merge; Switch -> Exit
 *
 * Each captured value goes through one Switch for each condition, or one Enter for all iterations of a loop.
 * Nodes that would read nothing of their branch or body wait for its pivot, so that they are dead with it.
 * Nodes move, so they stay the nodes that they are; constructs inside of others come after those. What a
 * Loop stacks, Scan and SequenceMap have no such form here yet, and random operators draw by names.
 *
 * Source: Yu et al., Dynamic control flow in large-scale machine learning, EuroSys 2018; TensorFlow's
 * lower_if_op and lower_while_op. */
#include "config.h"

#include "core/ir/frames.h"
#include "core/op/check.h"
#include "core/op/op.h"
#include "passes/rewrites/trips.h"
#include "passes/rule/move.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE_IF   "lower-if"
#define RULE_LOOP "lower-loop"
#define DOMAIN    "irscope.flow"

/* What a graph had before anything changed: orders are not found again at each step. */
typedef struct
{
  GPtrArray *nodes; /* of IrNode, in order */
  GPtrArray *free;  /* of IrValue: initializers */
  gboolean draws;   /* random numbers */
} Members;

typedef struct
{
  IrPassContext *context;
  IrEdit *edit;
  IrPassNames *names;
  GHashTable *members;     /* IrGraph -> Members */
  GHashTable *conditional; /* set of IrValue: dead where their branch or body is not run */
  GHashTable *waited_for;  /* set of IrNode: others were made to wait for them here */
  GQueue waiting;          /* of IrNode: constructs to come */
} Lowering;

/* One construct under way. */
typedef struct
{
  Lowering *l;
  IrNode *node;
  IrGraph *graph;      /* of @node */
  IrNode *gate;        /* (nullable) what is dead with @node, where it has no controls of its own */
  GHashTable *inside;  /* set of IrValue: dead where the branch or body is not run */
  GHashTable *brought; /* IrValue of @graph -> the Switch that brings it in */
  GPtrArray *switches; /* of IrNode: these */
} Construct;

static void
members_free (gpointer data)
{
  Members *members = data;

  g_ptr_array_unref (members->nodes);
  g_ptr_array_unref (members->free);
  g_free (members);
}

static const Members *
members_of (const Lowering *l, const IrGraph *graph)
{
  return g_hash_table_lookup (l->members, graph);
}

static void
note_members (Lowering *l, IrGraph *graph)
{
  Members *members = g_new0 (Members, 1);
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  members->nodes = ir_graph_nodes (graph);
  members->free = g_ptr_array_new ();
  members->draws = ir_pass_draws (graph);
  for (guint i = 0; i < n; i++)
    if (values[i]->producer == NULL && !ir_graph_has_input (graph, values[i]))
      g_ptr_array_add (members->free, values[i]);
  g_hash_table_insert (l->members, graph, members);
}

/* -- what is read from around -- */

static void
add_capture (IrValue *value, const IrGraph *graph, GPtrArray *values, GHashTable *seen)
{
  if (value != NULL && value->graph == graph && g_hash_table_add (seen, value))
    g_ptr_array_add (values, value);
}

/* What the nodes of @inner, and of graphs inside of it, read of @graph. */
static void
find_captures (const Lowering *l,
               const IrGraph *inner,
               const IrGraph *graph,
               GPtrArray *values,
               GHashTable *seen)
{
  const Members *members = members_of (l, inner);

  for (guint i = 0; members != NULL && i < members->nodes->len; i++)
    {
      const IrNode *node = members->nodes->pdata[i];
      g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);
      for (guint k = 0; k < node->n_inputs; k++)
        add_capture (node->inputs[k], graph, values, seen);
      for (guint k = 0; k < graphs->len; k++)
        find_captures (l, graphs->pdata[k], graph, values, seen);
    }
  for (guint i = 0; i < ir_graph_n_outputs (inner); i++)
    add_capture (ir_graph_output (inner, i), graph, values, seen);
}

/* (transfer container) What @node reads, its graphs included */
static GPtrArray *
all_inputs (const Lowering *l, const IrNode *node)
{
  GPtrArray *values = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  for (guint i = 0; i < node->n_inputs; i++)
    add_capture (node->inputs[i], node->graph, values, seen);
  for (guint i = 0; i < graphs->len; i++)
    find_captures (l, graphs->pdata[i], node->graph, values, seen);
  return values;
}

/* Whether @graph is @inner or lies around it. */
static gboolean
is_around (const IrGraph *graph, const IrGraph *inner)
{
  while (inner != NULL && inner != graph)
    inner = ir_graph_outer (inner);
  return inner != NULL;
}

/* What is inside of @inner reads @with in place of @value. */
static void
read_instead (Lowering *l, const IrGraph *inner, IrValue *value, IrValue *with)
{
  g_autoptr (GArray) uses = g_array_new (FALSE, FALSE, sizeof (IrUse));

  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (is_around (inner, use.graph))
        g_array_append_val (uses, use);
    }
  for (guint i = 0; i < uses->len; i++)
    {
      IrUse use = g_array_index (uses, IrUse, i);
      g_autoptr (GPtrArray) outputs = NULL;
      if (use.node != NULL)
        {
          ir_edit_set_input (l->edit, use.node, use.slot, with);
          continue;
        }
      outputs = g_ptr_array_new ();
      for (guint k = 0; k < ir_graph_n_outputs (use.graph); k++)
        {
          IrValue *output = ir_graph_output (use.graph, k);
          g_ptr_array_add (outputs, output == value ? with : output);
        }
      ir_edit_set_graph_outputs (l->edit, use.graph, (IrValue *const *) outputs->pdata,
                                 outputs->len);
    }
}

/* -- new nodes -- */

static IrNode *
add_node (Construct *c,
          const char *op,
          const char *domain,
          guint n_inputs,
          IrValue *const *inputs,
          guint n_outputs,
          const IrType *type)
{
  Lowering *l = c->l;
  IrNode *node = ir_edit_add_node (l->edit, c->graph, op, domain, NULL, n_inputs, inputs,
                                   n_outputs);

  ir_edit_set_rank (l->edit, node, c->node->rank);
  for (guint i = 0; type != NULL && i < n_outputs; i++)
    ir_edit_set_type (l->edit, node->outputs[i], type);
  ir_edit_step_map_node (l->edit, c->node->id, node->id);
  return node;
}

static void
let_wait (Lowering *l, IrNode *node, IrNode *before)
{
  ir_edit_add_control (l->edit, node, before);
  g_hash_table_add (l->waited_for, before);
}

/* What reads nothing that is dead with the construct waits for what is. */
static void
guard (Construct *c, IrNode *node)
{
  const IrIdList *controls = c->node->controls;

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && g_hash_table_contains (c->l->conditional, node->inputs[i]))
      return;
  for (guint i = 0; controls != NULL && i < controls->n; i++)
    let_wait (c->l, node, ir_model_node (c->l->context->model, controls->ids[i]));
  if (controls == NULL && c->gate != NULL)
    let_wait (c->l, node, c->gate);
}

static IrNode *
add_switch (Construct *c, IrValue *value, IrValue *predicate)
{
  IrValue *inputs[] = { value, predicate };
  IrNode *node = add_node (c, "Switch", DOMAIN, 2, inputs, 2, value->type);

  guard (c, node);
  return node;
}

static IrNode *
add_enter (Construct *c, const char *frame, IrValue *value, gboolean is_constant)
{
  IrContext *context = c->l->context->model->context;
  IrNode *node = add_node (c, "Enter", DOMAIN, 1, &value, 1, value->type);

  ir_edit_set_attr (c->l->edit, node, ir_attr_string (context, "frame_name", frame, -1));
  if (is_constant)
    ir_edit_set_attr (c->l->edit, node, ir_attr_int (context, "is_constant", 1));
  guard (c, node);
  return node;
}

/* (nullable) Something that is live when the construct is, if it may be dead, or is in a frame */
static IrNode *
make_gate (Construct *c)
{
  g_autoptr (GPtrArray) inputs = all_inputs (c->l, c->node);

  for (guint i = 0; c->node->controls == NULL && i < inputs->len; i++)
    if (g_hash_table_contains (c->l->conditional, inputs->pdata[i]))
      {
        IrValue *value = inputs->pdata[i];
        return add_node (c, "Identity", NULL, 1, &value, 1, value->type);
      }
  return NULL;
}

/* One that was made in case that somebody needs it. (nullable) @node */
static void
drop_unread (Construct *c, IrNode *node)
{
  if (node == NULL || g_hash_table_contains (c->l->waited_for, node))
    return;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]->n_uses > 0)
      return;
  ir_edit_remove_node (c->l->edit, node);
}

/* -- what moves -- */

static void
mark (Construct *c, IrValue *value)
{
  g_hash_table_add (c->inside, value);
  g_hash_table_add (c->l->conditional, value);
}

static gboolean
reads_inside (const Construct *c, const IrNode *node)
{
  g_autoptr (GPtrArray) inputs = all_inputs (c->l, node);

  for (guint i = 0; i < inputs->len; i++)
    if (g_hash_table_contains (c->inside, inputs->pdata[i]))
      return TRUE;
  return FALSE;
}

/* A branch or a body comes to where its node is. @pivot: what is live when it runs */
static void
move_in (Construct *c, const IrGraph *from, IrNode *pivot)
{
  Lowering *l = c->l;
  const Members *members = members_of (l, from);

  for (guint i = 0; i < members->free->len; i++)
    ir_pass_move_value (l->context, l->names, members->free->pdata[i], c->graph);
  for (guint i = 0; i < members->nodes->len; i++)
    {
      IrNode *node = members->nodes->pdata[i];
      gboolean is_constant = node->controls == NULL && node->n_outputs == 1 &&
                             node->outputs[0] != NULL &&
                             ir_value_constant (node->outputs[0]) != NULL;
      ir_pass_move_node (l->context, l->names, node, c->graph);
      ir_edit_set_rank (l->edit, node, c->node->rank);
      ir_edit_step_map_node (l->edit, c->node->id, node->id);
      if (ir_op_is (node, IR_OP_IF) || ir_op_is (node, IR_OP_LOOP))
        g_queue_push_tail (&l->waiting, node);
      if (is_constant)
        continue;
      if (!reads_inside (c, node))
        let_wait (l, node, pivot);
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          mark (c, node->outputs[k]);
    }
}

/* A result that is there whether or not the branch or body runs is held back until it does. */
static IrValue *
hold_back (Construct *c, IrValue *value, IrNode *pivot)
{
  if (g_hash_table_contains (c->inside, value))
    return value;
  IrNode *node = add_node (c, "Identity", NULL, 1, &value, 1, value->type);
  let_wait (c->l, node, pivot);
  mark (c, node->outputs[0]);
  return node->outputs[0];
}

static GPtrArray *
take_outputs (Lowering *l, IrGraph *graph)
{
  GPtrArray *outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    g_ptr_array_add (outputs, ir_graph_output (graph, i));
  ir_edit_set_graph_outputs (l->edit, graph, NULL, 0);
  return outputs;
}

static void
swap_result (GPtrArray *results, IrValue *value, IrValue *with)
{
  for (guint i = 0; i < results->len; i++)
    if (results->pdata[i] == value)
      results->pdata[i] = with;
}

/* @results stand for the outputs of the node, and it goes. */
static gboolean
hand_over (Construct *c, IrValue *const *results)
{
  Lowering *l = c->l;
  IrNode *node = c->node;
  guint n = node->n_outputs;
  g_autofree IrValue **old = g_memdup2 (node->outputs, n * sizeof (IrValue *));

  for (guint i = 0; i < n; i++)
    {
      if (old[i] == NULL || old[i]->n_uses == 0)
        continue;
      if (!ir_pass_fit_type (l->context, old[i], results[i]))
        return FALSE;
      if (g_hash_table_contains (l->conditional, old[i]))
        g_hash_table_add (l->conditional, results[i]);
      else
        g_hash_table_remove (l->conditional, results[i]);
      ir_edit_replace_uses (l->edit, old[i], results[i]);
    }
  ir_pass_remove_node (l->context, node);
  for (guint i = 0; i < n; i++)
    if (old[i] != NULL && results[i] != NULL)
      ir_pass_take_name (l->context, old[i], results[i]);
  return TRUE;
}

static void
construct_begin (Construct *c, Lowering *l, IrNode *node)
{
  *c = (Construct){ .l = l, .node = node, .graph = node->graph };
  c->inside = g_hash_table_new (NULL, NULL);
  c->brought = g_hash_table_new (NULL, NULL);
  c->switches = g_ptr_array_new ();
  ir_pass_import (l->context, node->graph, DOMAIN);
  c->gate = make_gate (c);
}

static void
construct_end (Construct *c, const char *rule, gboolean done)
{
  Lowering *l = c->l;
  IrNodeId id = c->node->id;

  if (done)
    drop_unread (c, c->gate);
  g_hash_table_unref (c->inside);
  g_hash_table_unref (c->brought);
  g_ptr_array_unref (c->switches);
  if (done)
    {
      ir_pass_end (l->context);
      return;
    }
  ir_pass_abort (l->context);
  ir_edit_refuse (l->edit, rule, id, "less would be known of the type of an output");
}

/* -- If -- */

/* The Switch by which @value comes into the branches. */
static IrNode *
brought_by_switch (Construct *c, IrValue *value, IrValue *predicate)
{
  IrNode *node = g_hash_table_lookup (c->brought, value);

  if (node == NULL)
    {
      node = add_switch (c, value, predicate);
      g_hash_table_insert (c->brought, value, node);
      g_ptr_array_add (c->switches, node);
    }
  return node;
}

static GPtrArray *
lower_branch (Construct *c, IrGraph *branch, IrValue *predicate, guint side)
{
  Lowering *l = c->l;
  g_autoptr (GPtrArray) captures = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  IrValue *through = predicate;

  find_captures (l, branch, c->graph, captures, seen);
  GPtrArray *results = take_outputs (l, branch);
  for (guint i = 0; i < captures->len; i++)
    {
      IrValue *value = captures->pdata[i];
      if (!ir_value_is_token (value, c->graph))
        continue;
      IrNode *node = brought_by_switch (c, value, predicate);
      mark (c, node->outputs[side]);
      read_instead (l, branch, value, node->outputs[side]);
      swap_result (results, value, node->outputs[side]);
      if (!ir_value_is_token (through, c->graph))
        through = value;
    }
  IrNode *way = brought_by_switch (c, through, predicate);
  IrNode *pivot = add_node (c, "Identity", NULL, 1, &way->outputs[side], 1, through->type);
  mark (c, way->outputs[side]);
  move_in (c, branch, pivot);
  for (guint i = 0; i < results->len; i++)
    results->pdata[i] = hold_back (c, results->pdata[i], pivot);
  drop_unread (c, pivot);
  return results;
}

/* One that no other If has, so that raise-control-flow tells them apart. */
static IrValue *
own_predicate (Construct *c)
{
  IrValue *predicate = c->node->inputs[0];

  if (predicate->n_uses == 1 &&
      (predicate->producer == NULL || !ir_node_is (predicate->producer, "Identity")))
    return predicate;
  IrNode *node = add_node (c, "Identity", NULL, 1, &predicate, 1, predicate->type);
  guard (c, node);
  if (node->controls != NULL || g_hash_table_contains (c->l->conditional, predicate))
    g_hash_table_add (c->l->conditional, node->outputs[0]);
  return node->outputs[0];
}

static gboolean
lower_if_into (Construct *c, IrGraph *then_graph, IrGraph *else_graph)
{
  IrValue *predicate = own_predicate (c);
  g_autoptr (GPtrArray) then_results = lower_branch (c, then_graph, predicate, 1);
  g_autoptr (GPtrArray) else_results = lower_branch (c, else_graph, predicate, 0);
  g_autofree IrValue **merged = g_new0 (IrValue *, c->node->n_outputs + 1);

  for (guint i = 0; i < c->switches->len; i++)
    drop_unread (c, c->switches->pdata[i]);
  for (guint i = 0; i < c->node->n_outputs; i++)
    {
      IrValue *inputs[] = { else_results->pdata[i], then_results->pdata[i] };
      if (c->node->outputs[i] != NULL && c->node->outputs[i]->n_uses > 0)
        merged[i] = add_node (c, "Merge", DOMAIN, 2, inputs, 1, c->node->outputs[i]->type)
                        ->outputs[0];
    }
  return hand_over (c, merged);
}

static gboolean
are_all_there (const IrGraph *graph)
{
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (ir_graph_output (graph, i) == NULL)
      return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    if (ir_graph_input (graph, i) == NULL || ir_graph_input (graph, i)->initializer != NULL)
      return FALSE;
  return TRUE;
}

/* (nullable) Why a branch or a body stays where it is */
static const char *
why_not_moved (const Lowering *l, const IrGraph *graph)
{
  if (graph == NULL || members_of (l, graph) == NULL || !are_all_there (graph))
    return "the graph is missing or is not well-formed";
  return members_of (l, graph)->draws ? "it draws random numbers, which depend on names" : NULL;
}

static void
lower_if (Lowering *l, IrNode *node)
{
  IrGraph *then_graph = ir_node_attr_graph (node, "then_branch");
  IrGraph *else_graph = ir_node_attr_graph (node, "else_branch");
  const char *why = why_not_moved (l, then_graph);
  Construct c;

  why = why != NULL ? why : why_not_moved (l, else_graph);
  if (why == NULL && (ir_graph_n_outputs (then_graph) != node->n_outputs ||
                      ir_graph_n_outputs (else_graph) != node->n_outputs ||
                      ir_graph_n_inputs (then_graph) + ir_graph_n_inputs (else_graph) > 0))
    why = "its branches do not fit it";
  if (why != NULL)
    {
      ir_edit_refuse (l->edit, RULE_IF, node->id, why);
      return;
    }
  if (!ir_pass_begin (l->context, RULE_IF, IR_CLASS_EXACT, node))
    return;
  construct_begin (&c, l, node);
  construct_end (&c, RULE_IF, lower_if_into (&c, then_graph, else_graph));
}

/* -- Loop -- */

/* What a loop carries. */
typedef struct
{
  IrNode *merge, *exit_switch; /* @exit_switch: its Switch */
} LoopVariable;

static LoopVariable
add_variable (Construct *c, const char *frame, IrValue *first, const IrType *type)
{
  IrValue *inputs[] = { add_enter (c, frame, first, FALSE)->outputs[0], NULL };

  return (LoopVariable){ .merge = add_node (c, "Merge", DOMAIN, 2, inputs, 1, type) };
}

static void
close_variable (Construct *c, const LoopVariable *variable, IrValue *next)
{
  IrNode *node = add_node (c, "NextIteration", DOMAIN, 1, &next, 1, next->type);

  ir_edit_set_input (c->l->edit, variable->merge, 1, node->outputs[0]);
}

static IrValue *
add_scalar (Construct *c, const char *name, IrDtype dtype, gint64 number)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (dtype, (double) number);

  return ir_pass_add_constant (c->l->context, c->graph, name, tensor);
}

/* What says whether the body runs once more: i < M, and the condition. */
static IrValue *
add_condition (Construct *c, const char *frame, IrValue *limit, IrValue *i, IrValue *loop_condition)
{
  IrContext *context = c->l->context->model->context;
  const IrType *type = ir_type_tensor (context, IR_DTYPE_BOOL, IR_RANK_UNKNOWN, NULL);
  IrValue *both = loop_condition;

  if (limit != NULL)
    {
      gboolean token = ir_value_is_token (limit, c->graph);
      IrValue *less_inputs[] = { i, token ? add_enter (c, frame, limit, TRUE)->outputs[0] : limit };
      IrNode *less = add_node (c, "Less", NULL, 2, less_inputs, 1, type);
      IrValue *and_inputs[] = { less->outputs[0], loop_condition };
      both = add_node (c, "And", NULL, 2, and_inputs, 1, type)->outputs[0];
    }
  return add_node (c, "LoopCond", DOMAIN, 1, &both, 1, type)->outputs[0];
}

/* Values that the body reads of around come in for all iterations. */
static void
bring_invariants (
    Construct *c, IrGraph *body, const char *frame, GPtrArray *captures, GPtrArray *results)
{
  for (guint i = 0; i < captures->len; i++)
    {
      IrValue *value = captures->pdata[i];
      if (!ir_value_is_token (value, c->graph))
        continue;
      IrValue *inside = add_enter (c, frame, value, TRUE)->outputs[0];
      read_instead (c->l, body, value, inside);
      swap_result (results, value, inside);
    }
}

static gboolean
lower_loop_into (Construct *c, IrGraph *body, guint n_carried)
{
  Lowering *l = c->l;
  IrContext *context = l->context->model->context;
  const IrType *counter = ir_type_tensor (context, IR_DTYPE_INT64, 0, NULL);
  IrValue *limit = ir_node_input (c->node, 0), *condition = ir_node_input (c->node, 1);
  g_autofree char *frame = g_strdup (c->node->outputs[0] != NULL ? c->node->outputs[0]->name
                                                                 : "loop");
  g_autofree LoopVariable *variables = g_new0 (LoopVariable, n_carried + 2);
  g_autoptr (GPtrArray) captures = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  guint n = n_carried + 2;

  find_captures (l, body, c->graph, captures, seen);
  g_autoptr (GPtrArray) results = take_outputs (l, body);
  for (guint i = 0; i < n; i++)
    {
      IrValue *input = ir_graph_input (body, i);
      IrValue *first = i == 0   ? add_scalar (c, "first", IR_DTYPE_INT64, 0)
                       : i == 1 ? condition != NULL ? condition
                                                    : add_scalar (c, "true", IR_DTYPE_BOOL, 1)
                                : c->node->inputs[i];
      variables[i] = add_variable (c, frame, first, i == 0 ? counter : input->type);
    }
  IrValue *predicate = add_condition (c, frame, limit, variables[0].merge->outputs[0],
                                      variables[1].merge->outputs[0]);
  bring_invariants (c, body, frame, captures, results);
  for (guint i = 0; i < n; i++)
    {
      IrValue *input = ir_graph_input (body, i), *value = variables[i].merge->outputs[0];
      IrValue *inputs[] = { value, predicate };
      variables[i].exit_switch = add_node (c, "Switch", DOMAIN, 2, inputs, 2, value->type);
      IrValue *inside = variables[i].exit_switch->outputs[1];
      mark (c, inside);
      ir_edit_replace_uses (l->edit, input, inside);
      swap_result (results, input, inside);
    }
  IrNode *pivot = add_node (c, "Identity", NULL, 1, &variables[0].exit_switch->outputs[1], 1,
                            counter);
  move_in (c, body, pivot);
  IrValue *sum[] = { variables[0].exit_switch->outputs[1],
                     add_scalar (c, "one", IR_DTYPE_INT64, 1) };
  close_variable (c, &variables[0], add_node (c, "Add", NULL, 2, sum, 1, counter)->outputs[0]);
  for (guint i = 1; i < n; i++)
    close_variable (c, &variables[i], hold_back (c, results->pdata[i - 1], pivot));
  drop_unread (c, pivot);
  g_autofree IrValue **out = g_new0 (IrValue *, c->node->n_outputs + 1);
  for (guint i = 0; i < n_carried; i++)
    {
      IrValue **last = &variables[i + 2].exit_switch->outputs[0];
      if (c->node->outputs[i] != NULL && c->node->outputs[i]->n_uses > 0)
        out[i] = add_node (c, "Exit", DOMAIN, 1, last, 1, c->node->outputs[i]->type)->outputs[0];
    }
  return hand_over (c, out);
}

static gboolean
is_scalar_for_sure (const IrValue *value)
{
  return value == NULL || (value->type != NULL && value->type->rank == 0);
}

/* (nullable) Why a Loop stays as it is */
static const char *
why_not_lowered (const Lowering *l, const IrNode *node, const IrGraph *body, guint n_carried)
{
  const char *why = why_not_moved (l, body);

  if (why != NULL)
    return why;
  if (ir_graph_n_inputs (body) != n_carried + 2 || node->n_outputs < n_carried ||
      ir_graph_n_outputs (body) < MAX (n_carried, node->n_outputs) + 1)
    return "its body does not fit it";
  for (guint i = 0; i < n_carried; i++)
    if (node->inputs[i + 2] == NULL)
      return "a carried value is left out";
  for (guint i = n_carried; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && node->outputs[i]->n_uses > 0)
      return "it stacks values, which has no form as tokens yet";
  if (ir_graph_opset (node->graph, "") < 9)
    return "Less takes integers from opset 9 on";
  /* A body is given a scalar, whatever the condition's shape is. */
  if (ir_graph_input (body, 1)->n_uses > 0 && (!is_scalar_for_sure (ir_node_input (node, 1)) ||
                                               !is_scalar_for_sure (ir_graph_output (body, 0))))
    return "the body reads a condition that may not be a scalar";
  return NULL;
}

static void
lower_loop (Lowering *l, IrNode *node)
{
  IrGraph *body = ir_node_attr_graph (node, "body");
  guint n_carried = MAX (node->n_inputs, 2) - 2;
  const char *why = why_not_lowered (l, node, body, n_carried);
  Construct c;

  if (why != NULL)
    {
      ir_edit_refuse (l->edit, RULE_LOOP, node->id, why);
      return;
    }
  if (!ir_pass_begin (l->context, RULE_LOOP, IR_CLASS_EXACT, node))
    return;
  construct_begin (&c, l, node);
  construct_end (&c, RULE_LOOP, lower_loop_into (&c, body, n_carried));
}

/* -- the pass -- */

static void
lower (Lowering *l, IrNode *node)
{
  gboolean is_if = ir_op_is (node, IR_OP_IF);

  if (ir_pass_is_open (node))
    return;
  if (ir_pass_is_control_source (l->context, node))
    ir_edit_refuse (l->edit, is_if ? RULE_IF : RULE_LOOP, node->id, "another node waits for it");
  else if (is_if)
    lower_if (l, node);
  else
    lower_loop (l, node);
}

static void
find_constructs (Lowering *l, const GPtrArray *graphs)
{
  for (guint i = 0; i < graphs->len; i++)
    note_members (l, graphs->pdata[i]);
  for (guint i = 0; i < graphs->len; i++)
    {
      const IrGraph *graph = graphs->pdata[i];
      const Members *members = members_of (l, graph);
      for (guint k = 0; graph->kind != IR_GRAPH_FUNCTION && k < members->nodes->len; k++)
        {
          IrNode *node = members->nodes->pdata[k];
          if ((ir_op_is (node, IR_OP_IF) || ir_op_is (node, IR_OP_LOOP)) &&
              graph->kind == IR_GRAPH_MAIN)
            g_queue_push_tail (&l->waiting, node);
        }
    }
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);
  Lowering l = { .context = context, .edit = context->edit, .waiting = G_QUEUE_INIT };
  gboolean good = TRUE;

  l.members = g_hash_table_new_full (NULL, NULL, NULL, members_free);
  l.conditional = g_hash_table_new (NULL, NULL);
  l.waited_for = g_hash_table_new (NULL, NULL);
  find_constructs (&l, graphs);
  l.names = l.waiting.length > 0 ? ir_pass_names_new (context->model) : NULL;
  while (good && l.waiting.length > 0 && !context->stopped)
    {
      good = !ir_pass_cancelled (context, error);
      if (good)
        lower (&l, g_queue_pop_head (&l.waiting));
    }
  g_queue_clear (&l.waiting);
  g_hash_table_unref (l.members);
  g_hash_table_unref (l.conditional);
  g_hash_table_unref (l.waited_for);
  g_clear_pointer (&l.names, ir_pass_names_free);
  return good;
}

static const IrRule rules[] = {
  { RULE_IF, "an If", "Switches, the nodes of both branches, Merges", IR_CLASS_EXACT,
    "Each branch gets its values by Switches, and runs where they are live." },
  { RULE_LOOP, "a Loop that stacks nothing",
    "Enters, Merges, Switches, the nodes of the body, NextIterations, Exits", IR_CLASS_EXACT,
    "What is carried goes round by NextIteration, what is captured is there in all iterations." },
  { NULL },
};

const IrPass ir_pass_lower_control_flow = {
  .name = "lower-control-flow",
  .title = "Lower control flow to tokens",
  .doc =
      "If and Loop become Switch, Merge, Enter, Exit, NextIteration and LoopCond, a step for each. Loops that "
      "stack values, Scan and SequenceMap stay, as do bodies that draw random numbers.",
  .source = "Yu et al. 2018; TensorFlow lower_if_op, lower_while_op",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x, c -> If { f } else { g } -> y\nx, c -> Switch -> f, g -> Merge -> y",
  .run = run,
  .documented_rules = rules,
  .once = TRUE,
};
