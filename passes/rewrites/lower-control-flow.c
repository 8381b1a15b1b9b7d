/* Control flow as data flow:
 *
 *     If (c) { f } else { g }     Merge (g (Switch (x, c) : 0), f (Switch (x, c) : 1))
 *     Loop (M, c, v) { f }        Enter -> Merge -> Switch -> f -> NextIteration -> Merge; Switch -> Exit
 *     Scan (x) { f }              a loop whose f reads Gather (x, i), i < the size of x
 *     SequenceMap (s) { f }       a loop whose f reads SequenceAt (s, i), i < SequenceLength (s)
 *
 * Each captured value goes through one Switch for each condition, or one Enter for all iterations of a loop.
 * Nodes that would read nothing of their branch or body wait for its pivot, so that they are dead with it.
 * Nodes move, so they stay the nodes that they are; constructs inside of others come after those. Loops are in
 * lower-loop.c. Random operators draw by names, so what has some stays.
 *
 * Source: Yu et al., Dynamic control flow in large-scale machine learning, EuroSys 2018; TensorFlow's
 * lower_if_op and lower_while_op. */
#include "config.h"

#include "core/ir/inline.h"
#include "passes/rewrites/lower-private.h"
#include "passes/rewrites/trips.h"
#include "passes/rule/rule.h"

#define RULE_IF   "lower-if"
#define RULE_LOOP "lower-loop"
#define RULE_SCAN "lower-scan"
#define RULE_MAP  "lower-sequence-map"

static const IrLowerWay *find_way (const IrLowering *l, const IrNode *node);
static void look_inside (IrLowering *l, const IrNode *node);

static void
members_free (gpointer data)
{
  IrLowerMembers *members = data;

  g_ptr_array_unref (members->nodes);
  g_ptr_array_unref (members->free);
  g_free (members);
}

static const IrLowerMembers *
members_of (const IrLowering *l, const IrGraph *graph)
{
  return g_hash_table_lookup (l->members, graph);
}

static gboolean
is_open (const IrGraph *graph)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);
  gboolean open = FALSE;

  for (guint i = 0; i < n && !open; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes[i]);

      for (guint k = 0; k < nodes[i]->n_attrs && !open; k++)
        open = nodes[i]->attrs[k]->ref_name != NULL;
      for (guint k = 0; k < inner->len && !open; k++)
        open = is_open (inner->pdata[k]);
    }
  return open;
}

static void
note_own_members (IrLowering *l, IrGraph *graph)
{
  IrLowerMembers *members = g_new0 (IrLowerMembers, 1);
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  members->nodes = ir_graph_nodes (graph);
  members->free = g_ptr_array_new ();
  members->is_open = l->everywhere && is_open (graph);
  members->draws = l->everywhere ? ir_pass_draws_itself (graph) : ir_pass_draws (graph);
  for (guint i = 0; i < n; i++)
    if (values[i]->producer == NULL && !ir_graph_has_input (graph, values[i]))
      g_ptr_array_add (members->free, values[i]);
  g_hash_table_replace (l->members, graph, members);
}

void
ir_lower_note_members (IrLowering *l, IrGraph *graph)
{
  note_own_members (l, graph);
  const GPtrArray *nodes = members_of (l, graph)->nodes;
  for (guint i = 0; i < nodes->len; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes->pdata[i]);
      for (guint k = 0; k < inner->len; k++)
        ir_lower_note_members (l, inner->pdata[k]);
    }
}

/* -- what is read from around -- */

/* Whether @graph is @inner or lies around it. */
static gboolean
is_around (const IrGraph *graph, const IrGraph *inner)
{
  while (inner != NULL && inner != graph)
    inner = ir_graph_outer (inner);
  return inner != NULL;
}

static void
add_capture (IrValue *value, const IrGraph *graph, GPtrArray *values, GHashTable *seen)
{
  if (value != NULL && is_around (value->graph, graph) && g_hash_table_add (seen, value))
    g_ptr_array_add (values, value);
}

void
ir_lower_find_captures (const IrLowering *l,
                        const IrGraph *inner,
                        const IrGraph *graph,
                        GPtrArray *values,
                        GHashTable *seen)
{
  const IrLowerMembers *members = members_of (l, inner);

  for (guint i = 0; members != NULL && i < members->nodes->len; i++)
    {
      const IrNode *node = members->nodes->pdata[i];
      g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);
      for (guint k = 0; k < node->n_inputs; k++)
        add_capture (node->inputs[k], graph, values, seen);
      for (guint k = 0; k < graphs->len; k++)
        ir_lower_find_captures (l, graphs->pdata[k], graph, values, seen);
    }
  for (guint i = 0; i < ir_graph_n_outputs (inner); i++)
    add_capture (ir_graph_output (inner, i), graph, values, seen);
}

/* (transfer container) What @node reads, its graphs included */
static GPtrArray *
all_inputs (const IrLowering *l, const IrNode *node)
{
  GPtrArray *values = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  for (guint i = 0; i < node->n_inputs; i++)
    add_capture (node->inputs[i], node->graph, values, seen);
  for (guint i = 0; i < graphs->len; i++)
    ir_lower_find_captures (l, graphs->pdata[i], node->graph, values, seen);
  return values;
}

/* What is inside of @inner reads @with in place of @value. */
void
ir_lower_read_instead (IrLowering *l, const IrGraph *inner, IrValue *value, IrValue *with)
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

IrNode *
ir_lower_add_node (IrLowerConstruct *c,
                   const char *op,
                   const char *domain,
                   guint n_inputs,
                   IrValue *const *inputs,
                   guint n_outputs,
                   const IrType *type)
{
  IrLowering *l = c->l;
  IrNode *node = ir_edit_add_node (l->edit, c->graph, op, domain, NULL, n_inputs, inputs,
                                   n_outputs);

  ir_edit_set_rank (l->edit, node, c->node->rank);
  for (guint i = 0; type != NULL && i < n_outputs; i++)
    ir_edit_set_type (l->edit, node->outputs[i], type);
  ir_edit_step_map_node (l->edit, c->node->id, node->id);
  return node;
}

static gint
count_waiting (IrLowering *l, IrNode *before, gint more)
{
  const gint n = GPOINTER_TO_INT (g_hash_table_lookup (l->waited_for, before)) + more;

  g_hash_table_insert (l->waited_for, before, GINT_TO_POINTER (n));
  return n;
}

static void
let_wait (IrLowering *l, IrNode *node, IrNode *before)
{
  ir_edit_add_control (l->edit, node, before);
  count_waiting (l, before, 1);
}

/* What reads nothing that is dead with the construct waits for what is. */
void
ir_lower_guard (IrLowerConstruct *c, IrNode *node)
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
add_switch (IrLowerConstruct *c, IrValue *value, IrValue *predicate)
{
  IrValue *inputs[] = { value, predicate };
  IrNode *node = ir_lower_add_node (c, "Switch", IR_LOWER_DOMAIN, 2, inputs, 2, value->type);

  ir_lower_guard (c, node);
  return node;
}

/* (nullable) Something that is live when the construct is, if it may be dead, or is in a frame */
static IrNode *
make_gate (IrLowerConstruct *c)
{
  g_autoptr (GPtrArray) inputs = all_inputs (c->l, c->node);

  for (guint i = 0; c->node->controls == NULL && i < inputs->len; i++)
    if (g_hash_table_contains (c->l->conditional, inputs->pdata[i]))
      {
        IrValue *value = inputs->pdata[i];
        return ir_lower_add_node (c, "Identity", NULL, 1, &value, 1, value->type);
      }
  return NULL;
}

/* Whether the graphs of @node alone read it. */
static gboolean
is_read_inside (const IrNode *node, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrGraph *graph = ir_value_use (value, i).graph;
      while (graph != NULL && ir_graph_outer (graph) != node->graph)
        graph = ir_graph_outer (graph);
      if (graph == NULL || graph->owner != node->id)
        return FALSE;
    }
  return TRUE;
}

static void
find_around (IrLowerConstruct *c)
{
  g_autoptr (GPtrArray) inputs = all_inputs (c->l, c->node);

  for (guint i = 0; i < inputs->len; i++)
    {
      const IrValue *value = inputs->pdata[i];
      if (value->producer != NULL && value->graph == c->graph &&
          ir_node_is_free_constant (value->producer) && is_read_inside (c->node, value))
        g_ptr_array_add (c->around, value->producer);
    }
}

void
ir_lower_keep_around (IrLowerConstruct *c, IrNode *node)
{
  for (guint i = 0; i < c->around->len; i++)
    let_wait (c->l, node, c->around->pdata[i]);
}

/* One that was made in case that somebody needs it. (nullable) @node */
void
ir_lower_drop_unread (IrLowerConstruct *c, IrNode *node)
{
  const IrIdList *controls = node != NULL ? node->controls : NULL;

  if (node == NULL || count_waiting (c->l, node, 0) > 0)
    return;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]->n_uses > 0)
      return;
  for (guint i = 0; controls != NULL && i < controls->n; i++)
    count_waiting (c->l, c->l->context->model->nodes->pdata[controls->ids[i]], -1);
  ir_edit_remove_node (c->l->edit, node);
}

/* -- what moves -- */

void
ir_lower_mark (IrLowerConstruct *c, IrValue *value)
{
  g_hash_table_add (c->inside, value);
  g_hash_table_add (c->l->conditional, value);
}

static gboolean
reads_inside (const IrLowerConstruct *c, const IrNode *node)
{
  g_autoptr (GPtrArray) inputs = all_inputs (c->l, node);

  for (guint i = 0; i < inputs->len; i++)
    if (g_hash_table_contains (c->inside, inputs->pdata[i]))
      return TRUE;
  return FALSE;
}

void
ir_lower_move_in (IrLowerConstruct *c, const IrGraph *from, IrNode *pivot)
{
  IrLowering *l = c->l;
  const IrLowerMembers *members = members_of (l, from);

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
      if (find_way (l, node) != NULL)
        g_queue_push_tail (&l->waiting, node);
      if (is_constant || pivot == NULL)
        continue;
      if (!reads_inside (c, node))
        let_wait (l, node, pivot);
      for (guint k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          ir_lower_mark (c, node->outputs[k]);
    }
}

/* Of the branch or body, and read by nothing in it */
static gboolean
is_own_constant (const IrLowerConstruct *c, const IrValue *value)
{
  return value->producer != NULL && value->graph == c->graph && value->n_uses == 0 &&
         ir_node_is_free_constant (value->producer) &&
         !g_ptr_array_find (c->around, value->producer, NULL);
}

/* A result that is there whether or not the branch or body runs is held back until it does. */
IrValue *
ir_lower_hold_back (IrLowerConstruct *c, IrValue *value, IrNode *pivot)
{
  if (g_hash_table_contains (c->inside, value))
    return value;
  if (is_own_constant (c, value))
    {
      let_wait (c->l, value->producer, pivot);
      ir_lower_mark (c, value);
      return value;
    }
  IrNode *node = ir_lower_add_node (c, "Identity", NULL, 1, &value, 1, value->type);
  let_wait (c->l, node, pivot);
  ir_lower_mark (c, node->outputs[0]);
  return node->outputs[0];
}

GPtrArray *
ir_lower_take_outputs (IrLowering *l, IrGraph *graph)
{
  GPtrArray *outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    g_ptr_array_add (outputs, ir_graph_output (graph, i));
  ir_edit_set_graph_outputs (l->edit, graph, NULL, 0);
  return outputs;
}

void
ir_lower_swap_result (GPtrArray *results, IrValue *value, IrValue *with)
{
  for (guint i = 0; i < results->len; i++)
    if (results->pdata[i] == value)
      results->pdata[i] = with;
}

/* @results stand for the outputs of the node, and it goes. */
gboolean
ir_lower_hand_over (IrLowerConstruct *c, IrValue *const *results)
{
  IrLowering *l = c->l;
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

gboolean
ir_lower_begin (IrLowerConstruct *c, IrLowering *l, const char *rule, IrNode *node)
{
  if (!ir_pass_begin (l->context, rule, IR_CLASS_EXACT, node))
    {
      look_inside (l, node);
      return FALSE;
    }
  *c = (IrLowerConstruct){ .l = l, .node = node, .graph = node->graph };
  c->inside = g_hash_table_new (NULL, NULL);
  c->brought = g_hash_table_new (NULL, NULL);
  c->switches = g_ptr_array_new ();
  c->around = g_ptr_array_new ();
  find_around (c);
  ir_pass_import (l->context, node->graph, l->domain);
  c->gate = make_gate (c);
  return TRUE;
}

void
ir_lower_finish (IrLowerConstruct *c, const char *why)
{
  if (why == NULL)
    ir_lower_drop_unread (c, c->gate);
  g_hash_table_unref (c->inside);
  g_hash_table_unref (c->brought);
  g_ptr_array_unref (c->switches);
  g_ptr_array_unref (c->around);
  if (why == NULL)
    ir_pass_end (c->l->context);
  else
    ir_pass_abort (c->l->context);
}

void
ir_lower_end (IrLowerConstruct *c, const char *rule, const char *why)
{
  const IrNode *node = c->node;
  IrLowering *l = c->l;

  ir_lower_finish (c, why);
  if (why != NULL)
    ir_lower_refuse (l, rule, node, why);
}

/* -- If -- */

/* The Switch by which @value comes into the branches. */
static IrNode *
brought_by_switch (IrLowerConstruct *c, IrValue *value, IrValue *predicate)
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
lower_branch (IrLowerConstruct *c, IrGraph *branch, IrValue *predicate, guint side)
{
  IrLowering *l = c->l;
  g_autoptr (GPtrArray) captures = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  IrValue *through = predicate;

  ir_lower_find_captures (l, branch, c->graph, captures, seen);
  GPtrArray *results = ir_lower_take_outputs (l, branch);
  for (guint i = 0; i < captures->len; i++)
    {
      IrValue *value = captures->pdata[i];
      if (!ir_value_is_token (value, c->graph))
        continue;
      IrNode *node = brought_by_switch (c, value, predicate);
      ir_lower_mark (c, node->outputs[side]);
      ir_lower_read_instead (l, branch, value, node->outputs[side]);
      ir_lower_swap_result (results, value, node->outputs[side]);
      if (!ir_value_is_token (through, c->graph))
        through = value;
    }
  IrNode *way = brought_by_switch (c, through, predicate);
  IrNode *pivot = ir_lower_add_node (c, "Identity", NULL, 1, &way->outputs[side], 1, through->type);
  ir_lower_mark (c, way->outputs[side]);
  ir_lower_move_in (c, branch, pivot);
  for (guint i = 0; i < results->len; i++)
    results->pdata[i] = ir_lower_hold_back (c, results->pdata[i], pivot);
  ir_lower_drop_unread (c, pivot);
  return results;
}

/* One that no other If has, so that raise-control-flow tells them apart. */
static IrValue *
own_predicate (IrLowerConstruct *c)
{
  IrValue *predicate = c->node->inputs[0];

  if (predicate->n_uses == 1 &&
      (predicate->producer == NULL || !ir_node_is (predicate->producer, "Identity")))
    return predicate;
  IrNode *node = ir_lower_add_node (c, "Identity", NULL, 1, &predicate, 1, predicate->type);
  ir_lower_guard (c, node);
  if (node->controls != NULL || g_hash_table_contains (c->l->conditional, predicate))
    g_hash_table_add (c->l->conditional, node->outputs[0]);
  return node->outputs[0];
}

static gboolean
lower_if_into (IrLowerConstruct *c, IrGraph *then_graph, IrGraph *else_graph)
{
  IrValue *predicate = own_predicate (c);
  g_autoptr (GPtrArray) then_results = lower_branch (c, then_graph, predicate, 1);
  g_autoptr (GPtrArray) else_results = lower_branch (c, else_graph, predicate, 0);
  g_autofree IrValue **merged = g_new0 (IrValue *, c->node->n_outputs + 1);

  for (guint i = 0; i < c->switches->len; i++)
    ir_lower_drop_unread (c, c->switches->pdata[i]);
  for (guint i = 0; i < c->switches->len; i++)
    if (((IrNode *) c->switches->pdata[i])->state == IR_STATE_LIVE)
      {
        ir_lower_keep_around (c, c->switches->pdata[i]);
        break;
      }
  for (guint i = 0; i < c->node->n_outputs; i++)
    {
      IrValue *inputs[] = { else_results->pdata[i], then_results->pdata[i] };
      if (c->node->outputs[i] != NULL && c->node->outputs[i]->n_uses > 0)
        merged[i] = ir_lower_add_node (c, "Merge", IR_LOWER_DOMAIN, 2, inputs, 1,
                                       c->node->outputs[i]->type)
                        ->outputs[0];
    }
  return ir_lower_hand_over (c, merged);
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
const char *
ir_lower_why_not_moved (const IrLowering *l, const IrGraph *graph)
{
  if (graph == NULL || members_of (l, graph) == NULL || !are_all_there (graph))
    return "the graph is missing or is not well-formed";
  if (members_of (l, graph)->is_open)
    return "an attribute in it is given by calls of the function around it";
  if (members_of (l, graph)->has_tokens)
    return "tokens move through a graph in it, which stays";
  return members_of (l, graph)->draws ? "it draws random numbers, which depend on names" : NULL;
}

const char *
ir_lower_why_not_if (const IrLowering *l, const IrNode *node)
{
  const IrGraph *then_graph = ir_node_attr_graph (node, "then_branch");
  const IrGraph *else_graph = ir_node_attr_graph (node, "else_branch");
  const char *why = ir_lower_why_not_moved (l, then_graph);

  why = why != NULL ? why : ir_lower_why_not_moved (l, else_graph);
  if (why == NULL && (ir_graph_n_outputs (then_graph) != node->n_outputs ||
                      ir_graph_n_outputs (else_graph) != node->n_outputs ||
                      ir_graph_n_inputs (then_graph) + ir_graph_n_inputs (else_graph) > 0))
    why = "its branches do not fit it";
  return why;
}

static void
lower_if (IrLowering *l, IrNode *node, const char *rule)
{
  const char *why = ir_lower_why_not_if (l, node);
  IrLowerConstruct c;

  if (why != NULL)
    ir_lower_refuse (l, rule, node, why);
  else if (ir_lower_begin (&c, l, rule, node))
    ir_lower_end (&c, rule,
                  lower_if_into (&c, ir_node_attr_graph (node, "then_branch"),
                                 ir_node_attr_graph (node, "else_branch"))
                      ? NULL
                      : IR_LOWER_LESS_KNOWN);
}

/* -- the pass -- */

/* (nullable) */
static const IrLowerWay *
find_way (const IrLowering *l, const IrNode *node)
{
  for (const IrLowerWay *way = l->ways; way->rule != NULL; way++)
    if (way->op != IR_OP_NONE ? ir_op_is (node, way->op)
                              : node->op == NULL && ir_node_function (node) != NULL)
      return way;
  return NULL;
}

static void
wait_for_constructs (IrLowering *l, const IrGraph *graph)
{
  const GPtrArray *nodes = members_of (l, graph)->nodes;

  for (guint i = 0; i < nodes->len; i++)
    if (find_way (l, nodes->pdata[i]) != NULL)
      g_queue_push_tail (&l->waiting, nodes->pdata[i]);
}

/* @node stays; what is in it may still become something else. */
static void
look_inside (IrLowering *l, const IrNode *node)
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  for (guint i = 0; l->everywhere && i < graphs->len; i++)
    if (members_of (l, graphs->pdata[i]) != NULL)
      wait_for_constructs (l, graphs->pdata[i]);
}

void
ir_lower_refuse (IrLowering *l, const char *rule, const IrNode *node, const char *why)
{
  ir_edit_refuse (l->edit, rule, node->id, why);
  look_inside (l, node);
}

static void
lower (IrLowering *l, IrNode *node)
{
  const IrLowerWay *way = find_way (l, node);

  if (ir_pass_is_open (node))
    look_inside (l, node);
  else if (ir_pass_is_control_source (l->context, node))
    ir_lower_refuse (l, way->rule, node, "another node waits for it");
  else if (g_hash_table_contains (l->apart, node))
    ir_lower_refuse (
        l, way->rule, node,
        "what it reads is of several frames or conditions: where one is dead, some of it would live");
  else
    way->lower (l, node, way->rule);
}

/* A construct is dead where anything that it reads is; a part of it may read only some. So all has to live and
 * die together. */
static gboolean
is_of_one_place (const IrLowering *l, const IrFrames *frames, const IrNode *node)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new (), graphs = ir_node_subgraphs (node);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      g_ptr_array_add (values, node->inputs[i]);
  for (guint i = 0; i < graphs->len; i++)
    ir_lower_find_captures (l, graphs->pdata[i], node->graph, values, seen);
  for (guint i = 0; i < values->len; i++)
    if (ir_value_is_token (values->pdata[i], node->graph) &&
        (ir_frames_value_frame (frames, values->pdata[i]) != frames->frame_of[node->id] ||
         ir_frames_value_condition (frames, values->pdata[i]) != frames->conditions[node->id]))
      return FALSE;
  return TRUE;
}

/* Of a graph that tokens move through already */
static void
note_places (IrLowering *l, const IrGraph *graph)
{
  const IrFrames *frames = ir_pass_frames (l->context, graph);
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrCondition *condition = ir_frames_value_condition (frames, values[i]);
      if (ir_value_is_token (values[i], graph) && (ir_frames_value_frame (frames, values[i]) > 0 ||
                                                   (condition != NULL && condition->n > 0)))
        g_hash_table_add (l->conditional, values[i]);
    }
  for (GList *link = l->waiting.head; link != NULL; link = link->next)
    if (((IrNode *) link->data)->graph == graph && !is_of_one_place (l, frames, link->data))
      g_hash_table_add (l->apart, link->data);
}

/* What is around a graph that is left alone, as tokens move through it */
static void
note_tokens (const IrLowering *l)
{
  const IrModel *model = l->context->model;

  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      if (graph->state != IR_STATE_LIVE || !ir_graph_has_tokens (graph))
        continue;
      while ((graph = ir_graph_outer (graph)) != NULL)
        {
          IrLowerMembers *members = g_hash_table_lookup (l->members, graph);
          if (members != NULL)
            members->has_tokens = TRUE;
        }
    }
}

static void
find_constructs (IrLowering *l, const GPtrArray *graphs)
{
  for (guint i = 0; i < graphs->len; i++)
    note_own_members (l, graphs->pdata[i]);
  note_tokens (l);
  for (guint i = 0; i < graphs->len; i++)
    {
      const IrGraph *graph = graphs->pdata[i];
      if (graph->kind == IR_GRAPH_MAIN || (graph->kind == IR_GRAPH_FUNCTION && l->everywhere))
        wait_for_constructs (l, graph);
      if (graph->kind == IR_GRAPH_MAIN && ir_graph_has_tokens (graph))
        note_places (l, graph);
    }
}

void
ir_lowering_init (IrLowering *l,
                  IrPassContext *context,
                  const IrLowerWay *ways,
                  const char *domain,
                  gboolean everywhere)
{
  *l = (IrLowering){ .context = context,
                     .ways = ways,
                     .domain = domain,
                     .everywhere = everywhere,
                     .edit = context->edit,
                     .waiting = G_QUEUE_INIT };
  l->members = g_hash_table_new_full (NULL, NULL, NULL, members_free);
  l->conditional = g_hash_table_new (NULL, NULL);
  l->apart = g_hash_table_new (NULL, NULL);
  l->waited_for = g_hash_table_new (NULL, NULL);
}

void
ir_lowering_clear (IrLowering *l)
{
  g_queue_clear (&l->waiting);
  g_hash_table_unref (l->members);
  g_hash_table_unref (l->conditional);
  g_hash_table_unref (l->apart);
  g_hash_table_unref (l->waited_for);
  g_clear_pointer (&l->frames, g_hash_table_unref);
  g_clear_pointer (&l->names, ir_pass_names_free);
}

gboolean
ir_lower_run (IrPassContext *context,
              const IrLowerWay *ways,
              const char *domain,
              gboolean everywhere,
              GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);
  IrLowering l;
  gboolean good = TRUE;

  ir_lowering_init (&l, context, ways, domain, everywhere);
  find_constructs (&l, graphs);
  l.names = l.waiting.length > 0 ? ir_pass_names_new (context->model) : NULL;
  while (good && l.waiting.length > 0 && !context->stopped)
    {
      good = !ir_pass_cancelled (context, error);
      if (good)
        lower (&l, g_queue_pop_head (&l.waiting));
    }
  ir_lowering_clear (&l);
  return good;
}

static gboolean
run (IrPassContext *context, GError **error)
{
  static const IrLowerWay ways[] = { { IR_OP_IF, RULE_IF, lower_if },
                                     { IR_OP_LOOP, RULE_LOOP, ir_lower_loop },
                                     { IR_OP_SCAN, RULE_SCAN, ir_lower_loop },
                                     { IR_OP_SEQUENCE_MAP, RULE_MAP, ir_lower_loop },
                                     { 0 } };

  return ir_lower_run (context, ways, IR_LOWER_DOMAIN, FALSE, error);
}

static const IrRule rules[] = {
  { RULE_IF, "an If", "Switches, the nodes of both branches, Merges", IR_CLASS_EXACT,
    "Each branch gets its values by Switches, and runs where they are live." },
  { RULE_LOOP, "a Loop",
    "Enters, Merges, Switches, the nodes of the body, NextIterations, Exits, and Stack",
    IR_CLASS_EXACT,
    "What is carried goes round by NextIteration, what is captured is there in all iterations. What is "
    "stacked is put behind a sequence that goes round, and made one tensor by Stack." },
  { RULE_SCAN, "a Scan", "the same, as long as the axis is; slices by Gather", IR_CLASS_EXACT,
    "What is scanned is there in all iterations, and read by their number." },
  { RULE_MAP, "a SequenceMap", "the same, as long as the sequence is; items by SequenceAt",
    IR_CLASS_EXACT, "Items are read by the number of the iteration, and put behind a sequence." },
  { NULL },
};

const IrPass ir_pass_lower_control_flow = {
  .name = "lower-control-flow",
  .title = "Lower control flow to tokens",
  .doc =
      "If, Loop, Scan and SequenceMap become Switch, Merge, Enter, Exit, NextIteration and LoopCond, a step for "
      "each. Bodies that draw random numbers stay.",
  .source = "Yu et al. 2018; TensorFlow lower_if_op, lower_while_op",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x, c -> If { f } else { g } -> y\nx, c -> Switch -> f, g -> Merge -> y",
  .run = run,
  .documented_rules = rules,
  .once = TRUE,
  .tokens = TRUE,
};
