/* A loop of functions as a Loop, a Scan or a SequenceMap. The functions become a frame of tokens in a graph of
 * its own, as lower-control-flow makes it, and that is raised as raise-control-flow does it:
 *
 *     header    Enter -> Merge -> what the header computes -> LoopCond -> Switch
 *     body      Switch : 1 -> what the body computes -> NextIteration -> Merge
 *     after     Switch : 0 -> Exit -> what comes after, which stays behind the loop
 *
 * so forms are found in one place. All is one step. */
#include "config.h"

#include "core/ir/inline.h"
#include "passes/rewrites/closures-raise.h"
#include "passes/rewrites/raise-private.h"
#include "passes/rewrites/trips.h"

#include <string.h>

typedef struct
{
  IrLowerConstruct *c;
  const IrClosureLoop *loop;
  IrNode *start;        /* Partial of the header, which the construct calls */
  IrGraph *frame;       /* where the tokens are */
  GHashTable *framed;   /* set of IrValue: of the frame, not of around */
  GHashTable *switches; /* IrValue of the frame -> its Switch */
  GPtrArray *merges;    /* of IrNode: by input of the header; %NULL: the same in all iterations */
  GArray *places;       /* of guint: of results that the outputs of the frame are */
  IrValue *condition;
} Frame;

/* -- the form -- */

/* (nullable) The Call whose results are those of @function */
static IrNode *
tail_of (const IrGraph *function)
{
  const IrValue *first = ir_graph_n_outputs (function) > 0 ? ir_graph_output (function, 0) : NULL;
  IrNode *node = first != NULL ? first->producer : NULL;

  if (node == NULL || node->graph != function || !ir_op_is (node, IR_OP_CLOSURE_CALL) ||
      node->n_outputs != ir_graph_n_outputs (function) || ir_node_has_control_uses (node))
    return NULL;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] == NULL || node->outputs[i] != ir_graph_output (function, i) ||
        node->outputs[i]->n_uses != 1)
      return NULL;
  return node;
}

static IrGraph *
function_of (const IrNode *partial)
{
  return (IrGraph *) ir_node_named_function (partial);
}

/* Whether @loop goes round by the function that @again names */
static gboolean
goes_round (IrClosureLoop *loop)
{
  loop->body = function_of (loop->again);
  loop->after = function_of (loop->done);
  loop->back_call = tail_of (loop->body);
  loop->back = loop->back_call != NULL ? ir_closure_partial_of (loop->back_call->inputs[0]) : NULL;
  return loop->back != NULL && loop->back->graph == loop->body &&
         function_of (loop->back) == loop->header;
}

/**
 * ir_closure_find_loop:
 * @header: a function
 * @loop: (out): what it consists of
 *
 * Returns: whether @header calls a body or what comes after last, and the body @header
 */
gboolean
ir_closure_find_loop (const IrGraph *header, IrClosureLoop *loop)
{
  *loop = (IrClosureLoop){ .header = (IrGraph *) header, .tail = tail_of (header) };
  loop->choose = loop->tail != NULL ? loop->tail->inputs[0]->producer : NULL;
  if (loop->choose == NULL || !ir_op_is (loop->choose, IR_OP_CLOSURE_SWITCH) ||
      loop->choose->graph != header)
    return FALSE;
  for (guint i = 0; i < 2; i++)
    {
      loop->again = ir_closure_partial_of (loop->choose->inputs[1 + i]);
      loop->done = ir_closure_partial_of (loop->choose->inputs[2 - i]);
      loop->is_until = i == 1;
      if (loop->again != NULL && loop->done != NULL && loop->again->graph == header &&
          loop->done->graph == header && goes_round (loop))
        return TRUE;
    }
  return FALSE;
}

/* (nullable) (transfer full) */
static char *
why_not (const IrClosureLoop *loop)
{
  const IrGraph *const functions[] = { loop->header, loop->body, loop->after };

  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    if (ir_pass_draws_itself (functions[i]))
      return g_strdup_printf ("%s draws random numbers, which depend on names", functions[i]->name);
  if (ir_graph_n_inputs (loop->header) != loop->back->n_inputs + loop->back_call->n_inputs - 1 ||
      ir_graph_n_inputs (loop->body) != loop->again->n_inputs + loop->tail->n_inputs - 1 ||
      ir_graph_n_inputs (loop->after) != loop->done->n_inputs + loop->tail->n_inputs - 1 ||
      ir_graph_n_outputs (loop->after) < loop->tail->n_outputs)
    return g_strdup ("what the functions of the loop are given does not fit them");
  return loop->choose->outputs[0]->n_uses != 1 || loop->again->outputs[0]->n_uses != 1 ||
                 loop->done->outputs[0]->n_uses != 1 || loop->back->outputs[0]->n_uses != 1
             ? g_strdup ("a closure by which it goes round is read by more than one")
             : NULL;
}

/* -- tokens -- */

static IrNode *
add_node (Frame *f, const char *op, guint n_inputs, IrValue *const *inputs, guint n_outputs)
{
  return ir_lower_add_node (f->c, op, IR_LOWER_DOMAIN, n_inputs, inputs, n_outputs,
                            inputs[0]->type);
}

/* Whether the body hands input @i of the header on by its Partial, as it was given */
static gboolean
is_invariant (const Frame *f, guint i)
{
  const IrClosureLoop *loop = f->loop;
  const IrValue *input = ir_graph_input (loop->header, i);

  if (i >= f->start->n_inputs || i >= loop->back->n_inputs)
    return FALSE;
  for (guint k = 0; k < ir_graph_n_inputs (loop->body); k++)
    if (ir_graph_input (loop->body, k) == loop->back->inputs[i])
      return ir_closure_given (loop->again, loop->tail, k) == input;
  return FALSE;
}

/* What goes round begins with what the call gives; what does not is read as it is. */
static void
add_merges (Frame *f)
{
  IrLowerConstruct *c = f->c;
  IrContext *context = c->l->context->model->context;
  const guint n = ir_graph_n_inputs (f->loop->header);
  g_autofree IrValue **with = g_new0 (IrValue *, n + 1);

  for (guint i = 0; i < n; i++)
    {
      IrValue *input = ir_graph_input (f->loop->header, i);
      with[i] = ir_closure_given (f->start, c->node, i);
      g_ptr_array_add (f->merges, NULL);
      if (is_invariant (f, i))
        continue;
      IrNode *enter = add_node (f, "Enter", 1, &with[i], 1);
      ir_edit_set_attr (c->l->edit, enter, ir_attr_string (context, "frame_name", "loop", -1));
      IrValue *inputs[] = { enter->outputs[0], NULL };
      IrNode *merge = ir_lower_add_node (c, "Merge", IR_LOWER_DOMAIN, 2, inputs, 1, input->type);
      f->merges->pdata[i] = merge;
      with[i] = merge->outputs[0];
      g_hash_table_add (f->framed, with[i]);
    }
  for (guint i = 0; i < n; i++)
    ir_edit_replace_uses (c->l->edit, ir_graph_input (f->loop->header, i), with[i]);
}

static gboolean
reads_framed (const Frame *f, const IrNode *node)
{
  g_autoptr (GPtrArray) values = ir_node_captures (node);

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      g_ptr_array_add (values, node->inputs[i]);
  for (guint i = 0; i < values->len; i++)
    if (g_hash_table_contains (f->framed, values->pdata[i]))
      return TRUE;
  return FALSE;
}

/* What a function computes comes to where new nodes go, but for the calls by which the loop goes round. */
static void
move_in (Frame *f, IrGraph *function, IrNode *pivot)
{
  const IrClosureLoop *loop = f->loop;
  IrNode *const own[] = { loop->tail, loop->choose,    loop->again,
                          loop->done, loop->back_call, loop->back };
  IrLowering *l = f->c->l;

  ir_lower_note_members (l, function);
  const IrLowerMembers *members = g_hash_table_lookup (l->members, function);
  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    g_ptr_array_remove (members->nodes, own[i]);
  ir_lower_move_in (f->c, function, pivot);
}

static void
move_header (Frame *f)
{
  const IrLowerMembers *members;
  IrGraph *header = f->loop->header;

  move_in (f, header, NULL);
  members = g_hash_table_lookup (f->c->l->members, header);
  for (guint i = 0; i < members->nodes->len; i++)
    {
      const IrNode *node = members->nodes->pdata[i];
      for (guint k = 0; reads_framed (f, node) && k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          g_hash_table_add (f->framed, node->outputs[k]);
    }
}

static void
add_condition (Frame *f)
{
  IrValue *value = f->loop->choose->inputs[0];

  if (f->loop->is_until)
    value = ir_lower_add_node (f->c, "Not", NULL, 1, &value, 1, value->type)->outputs[0];
  f->condition = add_node (f, "LoopCond", 1, &value, 1)->outputs[0];
}

/* What @value of the header is where the loop goes on (@side 1), or ends */
static IrValue *
through_switch (Frame *f, IrValue *value, guint side)
{
  IrValue *inputs[] = { value, f->condition };
  IrNode *node = g_hash_table_lookup (f->switches, value);

  if (!g_hash_table_contains (f->framed, value))
    return value;
  if (node == NULL)
    {
      node = add_node (f, "Switch", 2, inputs, 2);
      g_hash_table_insert (f->switches, value, node);
      ir_lower_mark (f->c, node->outputs[1]);
    }
  return node->outputs[side];
}

/* Inputs of @function are what @partial holds, and what the header's last call gives. */
static void
give_inputs (Frame *f, IrGraph *function, const IrNode *partial, guint side, GPtrArray *results)
{
  g_autoptr (GHashTable) exits = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < ir_graph_n_inputs (function); i++)
    {
      IrValue *input = ir_graph_input (function, i);
      IrValue *given = ir_closure_given (partial, f->loop->tail, i);
      const gboolean leaves = side == 0 && g_hash_table_contains (f->framed, given);
      IrValue *with = g_hash_table_lookup (exits, given);
      if (with == NULL)
        with = through_switch (f, given, side);
      if (leaves && !g_hash_table_contains (exits, given))
        {
          with = add_node (f, "Exit", 1, &with, 1)->outputs[0];
          g_hash_table_insert (exits, given, with);
        }
      ir_edit_replace_uses (f->c->l->edit, input, with);
      ir_lower_swap_result (results, input, with);
    }
}

static void
fill_body (Frame *f)
{
  const IrClosureLoop *loop = f->loop;
  IrLowerConstruct *c = f->c;
  g_autoptr (GPtrArray) none = g_ptr_array_new ();
  IrNode *pivot = NULL;

  for (guint i = 0; i < f->merges->len && pivot == NULL; i++)
    if (f->merges->pdata[i] != NULL)
      {
        IrValue *value = through_switch (f, ((IrNode *) f->merges->pdata[i])->outputs[0], 1);
        pivot = ir_lower_add_node (c, "Identity", NULL, 1, &value, 1, value->type);
      }
  give_inputs (f, loop->body, loop->again, 1, none);
  move_in (f, loop->body, pivot);
  for (guint i = 0; i < f->merges->len; i++)
    {
      if (f->merges->pdata[i] == NULL)
        continue;
      IrValue *value = ir_closure_given (loop->back, loop->back_call, i);
      value = ir_lower_hold_back (c, value, pivot);
      IrNode *next = add_node (f, "NextIteration", 1, &value, 1);
      ir_edit_set_input (c->l->edit, f->merges->pdata[i], 1, next->outputs[0]);
    }
  ir_lower_drop_unread (c, pivot);
}

/* (transfer container) What the functions after the loop give, which stand behind it */
static GPtrArray *
fill_after (Frame *f)
{
  IrLowerConstruct *c = f->c;
  IrGraph *after = f->loop->after;
  GPtrArray *results = ir_lower_take_outputs (c->l, after);

  give_inputs (f, after, f->loop->done, 0, results);
  c->graph = c->node->graph;
  move_in (f, after, NULL);
  return results;
}

/* -- back -- */

/* (nullable) The Stack that alone reads @value: it is looked for beside the Exit whose sequence it reads. */
static IrNode *
stack_of (const Frame *f, const IrValue *value)
{
  IrNode *stack = value->n_uses == 1 ? ir_value_use (value, 0).node : NULL;

  return stack != NULL && stack->graph == f->c->node->graph && ir_op_is (stack, IR_OP_STACK) &&
                 stack->controls == NULL && !ir_node_has_control_uses (stack)
             ? stack
             : NULL;
}

/* What the construct gives comes from the frame, which becomes a node: its outputs name it until then. */
static void
leave_results (Frame *f, const GPtrArray *results)
{
  IrEdit *edit = f->c->l->edit;
  const IrNode *call = f->c->node;
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < call->n_outputs; i++)
    {
      IrValue *result = results->pdata[i];
      IrNode *stack = call->outputs[i] != NULL ? stack_of (f, call->outputs[i]) : NULL;
      if (result->graph != f->frame)
        continue;
      if (stack == NULL)
        {
          g_ptr_array_add (outputs, result);
          g_array_append_val (f->places, i);
          continue;
        }
      ir_edit_set_input (edit, stack, 0, result);
      ir_edit_move_node (edit, stack, f->frame);
    }
  ir_edit_set_graph_outputs (edit, f->frame, (IrValue *const *) outputs->pdata, outputs->len);
  /* What stood in front of the loop for it alone may go. */
  ir_edit_set_n_inputs (edit, f->c->node, 0);
  ir_edit_set_n_inputs (edit, f->start, 0);
}

static void
find_results (Frame *f, GPtrArray *results)
{
  for (guint i = 0; i < f->places->len; i++)
    results->pdata[g_array_index (f->places, guint, i)] = ir_graph_output (f->frame, i);
  ir_edit_set_graph_outputs (f->c->l->edit, f->frame, NULL, 0);
}

static void
note_waiting (IrRaise *raise)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (raise->graph);

  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      for (guint k = 0; node->controls != NULL && k < node->controls->n; k++)
        ir_raise_note_waiting (raise, nodes->pdata[i],
                               ir_model_node (raise->graph->model, node->controls->ids[k]));
    }
}

/* (nullable) (transfer full): why the frame has no form */
static char *
raise_frame (Frame *f)
{
  IrLowering *l = f->c->l;
  guint n_left = ir_raise_count_primitives (l->context->model);
  IrRaise raise = {
    .context = l->context, .edit = l->edit, .graph = f->frame, .n_left = &n_left, .in_step = TRUE
  };
  IrNodeId node;
  char *why = ir_raise_why_unsound (f->frame, &node);

  if (why != NULL)
    return why;
  raise.frames = ir_frames_new (f->frame);
  raise.waiting = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  note_waiting (&raise);
  why = raise.frames->frames->len == 2 ? ir_raise_loop (&raise, 1)
                                       : g_strdup ("it has no LoopCond, or more than one");
  g_hash_table_unref (raise.waiting);
  ir_frames_free (raise.frames);
  return why;
}

/* What the frame became comes to where the call was. (nullable) (transfer full): why it cannot */
static char *
move_out (Frame *f)
{
  IrLowerConstruct *c = f->c;
  char *why = NULL;
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (f->frame);

  for (guint i = 0; i < nodes->len; i++)
    {
      g_autoptr (GPtrArray) graphs = ir_node_subgraphs (nodes->pdata[i]);
      ir_edit_move_node (c->l->edit, nodes->pdata[i], c->graph);
      if (graphs->len > 0)
        ir_closure_take_place (c, nodes->pdata[i]);
    }
  for (guint i = 0; i < nodes->len && why == NULL; i++)
    why = ir_closure_why_ill_typed (c->l, nodes->pdata[i]);
  return why;
}

/* (nullable) (transfer full) */
static char *
open_loop (Frame *f)
{
  IrLowerConstruct *c = f->c;
  IrLowering *l = c->l;
  IrGraph *functions[] = { f->loop->header, f->loop->body, f->loop->after };

  f->frame = ir_edit_add_graph (l->edit, IR_GRAPH_SUBGRAPH, "frame");
  ir_edit_set_graph_owner (l->edit, f->frame, f->start);
  c->graph = f->frame;
  add_merges (f);
  move_header (f);
  add_condition (f);
  fill_body (f);
  g_autoptr (GPtrArray) results = fill_after (f);
  leave_results (f, results);
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    ir_edit_remove_graph (l->edit, functions[i]);
  char *why = raise_frame (f);
  if (why != NULL)
    return why;
  find_results (f, results);
  if ((why = move_out (f)) != NULL)
    return why;
  if (!ir_lower_hand_over (c, (IrValue *const *) results->pdata))
    return g_strdup (IR_LOWER_LESS_KNOWN);
  ir_edit_set_graph_owner (l->edit, f->frame, NULL);
  ir_edit_remove_graph (l->edit, f->frame);
  ir_closure_drop (l, f->start);
  ir_closure_drop_imports (l, functions, G_N_ELEMENTS (functions), c->graph);
  ir_pass_drop_import (l->context, c->graph, IR_LOWER_DOMAIN);
  return NULL;
}

static void
name_instead (IrLowering *l, IrNode *partial, const IrGraph *function)
{
  ir_edit_set_attr (
      l->edit, partial,
      ir_attr_string (l->context->model->context, "function", function->function->name, -1));
}

/* Others begin the same loop, or name a function of it: this one is of functions of its own. FALSE: they cannot be
 * copied */
static gboolean
own_functions (Frame *f, IrClosureLoop *own)
{
  IrLowering *l = f->c->l;
  IrGraph *header = ir_closure_copy (l, f->loop->header),
          *body = ir_closure_copy (l, f->loop->body), *after = ir_closure_copy (l, f->loop->after);
  g_autoptr (GPtrArray) captured = g_ptr_array_new ();
  IrNode *shared = f->start, *call = f->c->node;

  if (header == NULL || body == NULL || after == NULL)
    return FALSE;
  const IrNode *choose = tail_of (header)->inputs[0]->producer;
  const guint again = f->loop->is_until ? 2 : 1;
  name_instead (l, choose->inputs[again]->producer, body);
  name_instead (l, choose->inputs[3 - again]->producer, after);
  name_instead (l, ir_closure_partial_of (tail_of (body)->inputs[0]), header);
  for (guint i = 0; i < shared->n_inputs; i++)
    g_ptr_array_add (captured, shared->inputs[i]);
  ir_edit_set_input (l->edit, call, 0, ir_closure_add_partial (f->c, header, captured));
  f->start = call->inputs[0]->producer;
  f->loop = own;
  ir_closure_drop (l, shared);
  return ir_closure_find_loop (header, own) && own->body == body && own->after == after;
}

char *
ir_closure_raise_loop (IrLowering *l, IrNode *call, const IrClosureLoop *loop, const char *rule)
{
  IrLowerConstruct c;
  Frame f = { .c = &c, .loop = loop, .start = ir_closure_partial_of (call->inputs[0]) };
  IrNode *const partials[] = { f.start, loop->back, loop->again, loop->done };
  const gboolean are_shared = ir_closure_are_shared (partials, G_N_ELEMENTS (partials));
  IrClosureLoop own;
  char *why = why_not (loop);

  if (why != NULL || !ir_lower_begin (&c, l, rule, call))
    return why;
  f.framed = g_hash_table_new (NULL, NULL);
  f.switches = g_hash_table_new (NULL, NULL);
  f.merges = g_ptr_array_new ();
  f.places = g_array_new (FALSE, FALSE, sizeof (guint));
  why = are_shared && !own_functions (&f, &own)
            ? g_strdup ("its functions, which others name, too, cannot be copied")
            : open_loop (&f);
  g_hash_table_unref (f.framed);
  g_hash_table_unref (f.switches);
  g_ptr_array_unref (f.merges);
  g_array_unref (f.places);
  ir_lower_finish (&c, why);
  return why;
}
