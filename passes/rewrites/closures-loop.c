/* Loop, Scan and SequenceMap as functions that call each other last. What goes round are arguments; what all
 * iterations see is captured. */
#include "config.h"

#include "passes/rewrites/closures-private.h"

typedef struct
{
  IrLowerConstruct *c;
  const IrLowerForm *form;
  IrValue *limit; /* (nullable) */
  GPtrArray
      *captures; /* of IrValue: the limit, what the body reads from around, what it gets parts of */
  GPtrArray *firsts;  /* of IrValue: number, condition, states, then what is collected */
  GPtrArray *types;   /* of IrType, nullable: the same */
  GPtrArray *gives;   /* of IrType, nullable: of states and of what is collected */
  GPtrArray *results; /* of IrValue: of the body */
} Loop;

static void
loop_clear (Loop *loop)
{
  g_ptr_array_unref (loop->captures);
  g_ptr_array_unref (loop->firsts);
  g_ptr_array_unref (loop->types);
  g_ptr_array_unref (loop->gives);
  g_ptr_array_unref (loop->results);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Loop, loop_clear)

/* Number and condition, which nobody reads behind the loop */
static guint
n_own (const Loop *loop)
{
  return loop->form->is_loop ? 2 : 1;
}

/* -- in front of the loop -- */

static void
add_first (Loop *loop, IrValue *first, const IrType *type)
{
  g_ptr_array_add (loop->firsts, first);
  g_ptr_array_add (loop->types, (gpointer) type);
}

static void
find_firsts (Loop *loop)
{
  const IrLowerForm *form = loop->form;
  const IrNode *node = loop->c->node;
  IrValue *number = ir_lower_add_scalar (loop->c, "first", IR_DTYPE_INT64, 0);
  IrValue *condition = form->is_loop ? ir_node_input (node, 1) : NULL;

  add_first (loop, number, ir_lower_scalar_type (loop->c, IR_DTYPE_INT64));
  if (form->is_loop)
    add_first (loop, condition != NULL ? condition : ir_lower_add_true (loop->c, number),
               ir_graph_input (form->body, 1)->type);
  for (guint i = 0; i < form->n_states; i++)
    {
      add_first (loop, node->inputs[form->input + i],
                 ir_graph_input (form->body, form->inner + i)->type);
      g_ptr_array_add (loop->gives,
                       node->outputs[i] != NULL ? (gpointer) node->outputs[i]->type : NULL);
    }
  for (guint i = form->n_states; i < node->n_outputs; i++)
    if (ir_lower_is_collected (form, node, i))
      {
        IrValue *empty = ir_lower_add_empty (loop->c, loop->results->pdata[form->result + i]);
        add_first (loop, empty, empty->type);
        g_ptr_array_add (loop->gives, (gpointer) empty->type);
      }
}

static void
find_captures (Loop *loop)
{
  const IrLowerForm *form = loop->form;
  const IrNode *node = loop->c->node;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  if (loop->limit != NULL && g_hash_table_add (seen, loop->limit))
    g_ptr_array_add (loop->captures, loop->limit);
  ir_lower_find_captures (loop->c->l, form->body, node->graph, loop->captures, seen);
  for (guint i = 0; i < form->n_items; i++)
    {
      IrValue *whole = node->inputs[form->input + form->n_states + i];
      if (g_hash_table_add (seen, whole))
        g_ptr_array_add (loop->captures, whole);
    }
}

/* -- the three functions -- */

/* Inputs of header, body and after for what goes round, from @first on */
static void
add_variables (Loop *loop, IrClosureFunction *f, guint first)
{
  const IrLowerForm *form = loop->form;

  for (guint i = first; i < loop->firsts->len; i++)
    {
      const guint state = i - n_own (loop);
      const char *name = i == 0             ? "number"
                         : i < n_own (loop) ? "condition"
                         : state < form->n_states
                             ? ir_graph_input (form->body, form->inner + state)->name
                             : "collected";
      ir_closure_add_input (f, loop->c, name, loop->types->pdata[i]);
    }
}

/* Of @f, a header or a body: what @value of around is there */
static IrValue *
captured (const Loop *loop, const IrClosureFunction *f, const IrValue *value)
{
  guint i;

  return g_ptr_array_find (loop->captures, value, &i) ? f->inputs->pdata[i] : NULL;
}

static IrValue *
variable (const Loop *loop, const IrClosureFunction *f, guint i)
{
  return f->inputs->pdata[loop->captures->len + i];
}

/* What the function ends with: a call whose results are its own. */
static void
end_with_call (Loop *loop, IrClosureFunction *f, IrValue *closure, const GPtrArray *arguments)
{
  IrNode *call = ir_closure_add_call (loop->c, closure, arguments, loop->gives->len, loop->gives);

  ir_closure_set_outputs (f, loop->c, call->outputs, call->n_outputs, loop->gives);
}

static void
fill_header (Loop *loop, IrClosureFunction *header, const IrGraph *body, const IrGraph *after)
{
  IrLowerConstruct *c = loop->c;
  g_autoptr (GPtrArray) ends = g_ptr_array_new ();

  c->graph = header->graph;
  IrValue *limit = loop->limit != NULL ? captured (loop, header, loop->limit) : NULL;
  IrValue *test = ir_lower_add_test (c, variable (loop, header, 0), limit,
                                     loop->form->is_loop ? variable (loop, header, 1) : NULL);
  for (guint i = n_own (loop); i < loop->firsts->len; i++)
    g_ptr_array_add (ends, variable (loop, header, i));
  IrValue *again = ir_closure_add_partial (c, body, header->inputs);
  IrValue *done = ir_closure_add_partial (c, after, ends);
  end_with_call (loop, header, ir_closure_add_switch (c, test, again, done), NULL);
}

static void
read_instead (Loop *loop, IrValue *input, IrValue *with)
{
  ir_edit_replace_uses (loop->c->l->edit, input, with);
  ir_lower_swap_result (loop->results, input, with);
}

/* What the body is given is an input of its function, or a part that is read there. (nullable) @next */
static void
bring_inputs (Loop *loop, const IrClosureFunction *body, IrValue *next)
{
  IrLowerConstruct *c = loop->c;
  const IrLowerForm *form = loop->form;

  for (guint i = 0; form->is_loop && i < 2; i++)
    read_instead (loop, ir_graph_input (form->body, i), variable (loop, body, i));
  for (guint i = 0; i < form->n_states; i++)
    read_instead (loop, ir_graph_input (form->body, form->inner + i),
                  variable (loop, body, n_own (loop) + i));
  for (guint i = 0; i < form->n_items; i++)
    {
      IrValue *input = ir_graph_input (form->body, form->inner + form->n_states + i);
      IrValue *whole = captured (loop, body, c->node->inputs[form->input + form->n_states + i]);
      read_instead (
          loop, input,
          ir_lower_add_part (c, form, i, whole, input->type, variable (loop, body, 0), next));
    }
}

static void
fill_body (Loop *loop, IrClosureFunction *body, const IrGraph *header)
{
  IrLowerConstruct *c = loop->c;
  const IrLowerForm *form = loop->form;
  g_autoptr (GPtrArray) invariants = g_ptr_array_new (), arguments = g_ptr_array_new ();
  guint at = n_own (loop) + form->n_states;

  c->graph = body->graph;
  IrValue *next = ir_lower_add_next (c, variable (loop, body, 0));
  bring_inputs (loop, body, next);
  ir_lower_move_in (c, form->body, NULL);
  g_ptr_array_add (arguments, next);
  for (guint i = 0; i < form->n_states + (form->is_loop ? 1 : 0); i++)
    g_ptr_array_add (arguments, loop->results->pdata[i]);
  for (guint i = form->n_states; i < c->node->n_outputs; i++)
    if (ir_lower_is_collected (form, c->node, i))
      g_ptr_array_add (arguments, ir_lower_add_insert (c, variable (loop, body, at++),
                                                       loop->results->pdata[form->result + i]));
  for (guint i = 0; i < loop->captures->len; i++)
    g_ptr_array_add (invariants, body->inputs->pdata[i]);
  end_with_call (loop, body, ir_closure_add_partial (c, header, invariants), arguments);
}

/* (transfer none) The header */
static const IrGraph *
add_functions (Loop *loop)
{
  IrLowerConstruct *c = loop->c;
  g_auto (IrClosureFunction) header = { 0 }, body = { 0 }, after = { 0 };

  ir_closure_function_init (&header, c, "header");
  ir_closure_function_init (&body, c, "body");
  ir_closure_function_init (&after, c, "after");
  ir_closure_add_captures (&body, c, loop->captures, loop->form->body, loop->results);
  for (guint i = 0; i < loop->captures->len; i++)
    {
      const IrValue *value = loop->captures->pdata[i];
      ir_closure_add_input (&header, c, value->name, value->type);
    }
  add_variables (loop, &header, 0);
  add_variables (loop, &body, 0);
  add_variables (loop, &after, n_own (loop));
  ir_closure_set_inputs (&header, c);
  ir_closure_set_inputs (&body, c);
  ir_closure_set_inputs (&after, c);
  ir_closure_set_outputs (&after, c, (IrValue *const *) after.inputs->pdata, after.inputs->len,
                          NULL);
  fill_body (loop, &body, header.graph);
  fill_header (loop, &header, body.graph, after.graph);
  IrNode *back = ir_graph_output (body.graph, 0)->producer;
  ir_infer_node (c->l->edit, back->inputs[0]->producer, NULL);
  ir_infer_node (c->l->edit, back, NULL);
  c->graph = c->node->graph;
  return header.graph;
}

/* -- the call -- */

/* @collected: of IrValue: results of the body, as they were called there */
static gboolean
give_out (Loop *loop, const IrNode *call, const GPtrArray *collected)
{
  IrLowerConstruct *c = loop->c;
  const IrLowerForm *form = loop->form;
  g_autofree IrValue **out = g_new0 (IrValue *, c->node->n_outputs + 1);
  guint at = form->n_states;

  for (guint i = 0; i < c->node->n_outputs; i++)
    if (i < form->n_states)
      out[i] = call->outputs[i];
    else if (ir_lower_is_collected (form, c->node, i))
      {
        out[i] = call->outputs[at++];
        if (form->is_map)
          continue;
        ir_pass_import (c->l->context, c->graph, IR_LOWER_DOMAIN);
        out[i] = ir_lower_add_stack (c, form, out[i], i - form->n_states,
                                     collected->pdata[form->result + i]);
      }
  return ir_lower_hand_over (c, out);
}

static gboolean
close_loop (IrLowerConstruct *c, const IrLowerForm *form)
{
  g_autoptr (GPtrArray) collected = g_ptr_array_new ();
  g_auto (Loop) loop = { .c = c,
                         .form = form,
                         .captures = g_ptr_array_new (),
                         .firsts = g_ptr_array_new (),
                         .types = g_ptr_array_new (),
                         .gives = g_ptr_array_new () };

  loop.limit = ir_lower_add_limit (c, form);
  find_captures (&loop);
  loop.results = ir_lower_take_outputs (c->l, form->body);
  g_ptr_array_extend (collected, loop.results, NULL, NULL);
  find_firsts (&loop);
  const IrGraph *header = add_functions (&loop);
  IrValue *start = ir_closure_add_partial (c, header, loop.captures);
  IrNode *call = ir_closure_add_call (c, start, loop.firsts, loop.gives->len, loop.gives);
  ir_closure_be_construct (c, call);
  return give_out (&loop, call, collected);
}

void
ir_closure_loop (IrLowering *l, IrNode *node, const char *rule)
{
  IrLowerForm form;
  const char *why = ir_lower_find_form (l, node, &form);
  IrLowerConstruct c;

  if (why != NULL)
    ir_lower_refuse (l, rule, node, why);
  else if (ir_lower_begin (&c, l, rule, node))
    ir_lower_end (&c, rule, close_loop (&c, &form) ? NULL : IR_LOWER_LESS_KNOWN);
}
