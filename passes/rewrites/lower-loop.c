/* Loop, Scan and SequenceMap as data flow. One frame each:
 *
 *     Loop (M, c, v) { f }     i, c and v go round while i < M and c
 *     Scan (v, x) { f }        i and v go round while i < the size of x; f reads Gather (x, i)
 *     SequenceMap (s) { f }    i goes round while i < SequenceLength (s); f reads SequenceAt (s, i)
 *
 * What iterations give goes round too: SequenceEmpty at first, SequenceInsert in each. Its only owner appends in
 * place. Stack makes one tensor of it behind the loop.
 *
 * Source: Yu et al., Dynamic control flow in large-scale machine learning, EuroSys 2018; TensorFlow's
 * lower_while_op, and its TensorArrays, which are such sequences. */
#include "config.h"

#include "passes/rewrites/lower-private.h"
#include "passes/rewrites/trips.h"

/* What goes round. */
typedef struct
{
  IrNode *merge, *exit_switch; /* @exit_switch: its Switch */
} Variable;

typedef struct
{
  IrLowerConstruct *c;
  const IrLowerForm *form;
  const char *frame;
  GArray *variables;  /* of Variable: counter, condition, states, then what is collected */
  GPtrArray *results; /* of IrValue: of the body */
  IrValue *next;      /* (nullable) the number of the next iteration */
} Loop;

static IrValue *
add_enter (Loop *loop, IrValue *value, gboolean is_constant)
{
  IrLowerConstruct *c = loop->c;
  IrContext *context = c->l->context->model->context;
  IrNode *node = ir_lower_add_node (c, "Enter", IR_LOWER_DOMAIN, 1, &value, 1, value->type);

  ir_edit_set_attr (c->l->edit, node, ir_attr_string (context, "frame_name", loop->frame, -1));
  if (is_constant)
    ir_edit_set_attr (c->l->edit, node, ir_attr_int (context, "is_constant", 1));
  ir_lower_guard (c, node);
  return node->outputs[0];
}

/* What all iterations see of @value */
static IrValue *
bring (Loop *loop, IrValue *value)
{
  return ir_value_is_token (value, loop->c->graph) ? add_enter (loop, value, TRUE) : value;
}

/* -- what goes round -- */

static Variable *
variable_at (const Loop *loop, guint i)
{
  return &g_array_index (loop->variables, Variable, i);
}

static void
add_variable (Loop *loop, IrValue *first, const IrType *type)
{
  IrValue *inputs[] = { add_enter (loop, first, FALSE), NULL };
  const Variable variable = { .merge = ir_lower_add_node (loop->c, "Merge", IR_LOWER_DOMAIN, 2,
                                                          inputs, 1, type) };

  g_array_append_val (loop->variables, variable);
}

static void
close_variable (Loop *loop, guint i, IrValue *next)
{
  IrNode *node = ir_lower_add_node (loop->c, "NextIteration", IR_LOWER_DOMAIN, 1, &next, 1,
                                    next->type);

  ir_edit_set_input (loop->c->l->edit, variable_at (loop, i)->merge, 1, node->outputs[0]);
}

/* The variable in the body */
static IrValue *
inside (const Loop *loop, guint i)
{
  return variable_at (loop, i)->exit_switch->outputs[1];
}

static guint
n_own (const IrLowerForm *form)
{
  return form->is_loop ? 2 : 1; /* the counter, and the condition */
}

static gboolean
is_output_read (const IrNode *node, guint i)
{
  return node->outputs[i] != NULL && node->outputs[i]->n_uses > 0;
}

static void
add_variables (Loop *loop)
{
  const IrLowerForm *form = loop->form;
  const IrNode *node = loop->c->node;
  IrValue *condition = form->is_loop ? ir_node_input (node, 1) : NULL;

  IrValue *first = ir_lower_add_scalar (loop->c, "first", IR_DTYPE_INT64, 0);
  add_variable (loop, first, ir_lower_scalar_type (loop->c, IR_DTYPE_INT64));
  if (form->is_loop)
    add_variable (loop, condition != NULL ? condition : ir_lower_add_true (loop->c, first),
                  ir_graph_input (form->body, 1)->type);
  for (guint i = 0; i < form->n_states; i++)
    add_variable (loop, node->inputs[form->input + i],
                  ir_graph_input (form->body, form->inner + i)->type);
  for (guint i = form->n_states; i < node->n_outputs; i++)
    if (ir_lower_is_collected (form, node, i))
      {
        IrValue *empty = ir_lower_add_empty (loop->c, loop->results->pdata[form->result + i]);
        add_variable (loop, empty, empty->type);
      }
}

/* Reads the variables of the body from their Switches. */
static void
add_switches (Loop *loop, IrValue *predicate)
{
  const IrLowerForm *form = loop->form;

  for (guint i = 0; i < loop->variables->len; i++)
    {
      IrValue *value = variable_at (loop, i)->merge->outputs[0];
      IrValue *inputs[] = { value, predicate };
      variable_at (loop, i)->exit_switch = ir_lower_add_node (loop->c, "Switch", IR_LOWER_DOMAIN, 2,
                                                              inputs, 2, value->type);
      ir_lower_mark (loop->c, inside (loop, i));
      guint slot = form->is_loop ? i : i - 1 + form->inner;
      if ((i == 0 && !form->is_loop) || i >= n_own (form) + form->n_states)
        continue;
      IrValue *input = ir_graph_input (form->body, slot);
      ir_edit_replace_uses (loop->c->l->edit, input, inside (loop, i));
      ir_lower_swap_result (loop->results, input, inside (loop, i));
    }
}

/* What says whether the body runs once more. (nullable) @limit */
static IrValue *
add_condition (Loop *loop, IrValue *limit)
{
  IrLowerConstruct *c = loop->c;
  IrValue *test = ir_lower_add_test (
      c, variable_at (loop, 0)->merge->outputs[0], limit != NULL ? bring (loop, limit) : NULL,
      loop->form->is_loop ? variable_at (loop, 1)->merge->outputs[0] : NULL);
  const IrType *type = ir_type_tensor (c->l->context->model->context, IR_DTYPE_BOOL,
                                       IR_RANK_UNKNOWN, NULL);

  return ir_lower_add_node (c, "LoopCond", IR_LOWER_DOMAIN, 1, &test, 1, type)->outputs[0];
}

/* -- what the body reads -- */

/* Values that the body reads of around come in for all iterations. */
static void
bring_invariants (Loop *loop, const GPtrArray *captures)
{
  for (guint i = 0; i < captures->len; i++)
    {
      IrValue *value = captures->pdata[i], *with = bring (loop, value);
      if (with == value)
        continue;
      ir_lower_read_instead (loop->c->l, loop->form->body, value, with);
      ir_lower_swap_result (loop->results, value, with);
    }
}

static IrValue *
next_number (Loop *loop)
{
  if (loop->next == NULL)
    {
      loop->next = ir_lower_add_next (loop->c, inside (loop, 0));
      ir_lower_mark (loop->c, loop->next);
    }
  return loop->next;
}

static void
bring_items (Loop *loop)
{
  const IrLowerForm *form = loop->form;

  for (guint i = 0; i < form->n_items; i++)
    {
      IrValue *input = ir_graph_input (form->body, form->inner + form->n_states + i);
      IrValue *whole = bring (loop, loop->c->node->inputs[form->input + form->n_states + i]);
      IrValue *next = ir_lower_is_backward (loop->c, form, i) ? next_number (loop) : NULL;
      IrValue *part = ir_lower_add_part (loop->c, form, i, whole, input->type, inside (loop, 0),
                                         next);
      if (part != whole)
        ir_lower_mark (loop->c, part);
      ir_edit_replace_uses (loop->c->l->edit, input, part);
      ir_lower_swap_result (loop->results, input, part);
    }
}

/* -- what the loop gives -- */

static void
close_variables (Loop *loop, IrNode *pivot)
{
  const IrLowerForm *form = loop->form;
  const IrNode *node = loop->c->node;
  guint at = 0;

  close_variable (loop, at++, next_number (loop));
  for (guint i = 0; i < form->n_states + (form->is_loop ? 1 : 0); i++)
    close_variable (loop, at++, ir_lower_hold_back (loop->c, loop->results->pdata[i], pivot));
  for (guint i = form->n_states; i < node->n_outputs; i++)
    {
      if (!ir_lower_is_collected (form, node, i))
        continue;
      IrValue *longer = ir_lower_add_insert (loop->c, inside (loop, at),
                                             loop->results->pdata[form->result + i]);
      ir_lower_mark (loop->c, longer);
      close_variable (loop, at++, longer);
    }
}

/* @collected: of IrValue: results of the body by output of the node, as they were called there */
static gboolean
give_out (Loop *loop, const GPtrArray *collected)
{
  IrLowerConstruct *c = loop->c;
  const IrLowerForm *form = loop->form;
  IrNode *node = c->node;
  g_autofree IrValue **out = g_new0 (IrValue *, node->n_outputs + 1);
  guint at = n_own (form);

  for (guint i = 0; i < node->n_outputs; i++)
    {
      gboolean is_state = i < form->n_states;
      if (!is_state && !ir_lower_is_collected (form, node, i))
        continue;
      const Variable *variable = variable_at (loop, at++);
      if (is_state && !is_output_read (node, i))
        continue;
      out[i] = ir_lower_add_node (c, "Exit", IR_LOWER_DOMAIN, 1, &variable->exit_switch->outputs[0],
                                  1,
                                  is_state || form->is_map ? node->outputs[i]->type
                                                           : variable->merge->outputs[0]->type)
                   ->outputs[0];
      if (!is_state && !form->is_map)
        out[i] = ir_lower_add_stack (c, form, out[i], i - form->n_states,
                                     collected->pdata[form->result + i]);
    }
  return ir_lower_hand_over (c, out);
}

static void
note_frames (IrLowering *l)
{
  const IrModel *model = l->context->model;

  l->frames = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (IrNodeId id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      if (node != NULL && ir_node_tokens (node) == IR_TOKENS_ENTER)
        g_hash_table_add (l->frames, g_strdup (ir_node_attr_string (node, "frame_name", "")));
    }
}

/* What its iterations are called already: by its name, or what it gives first. (transfer none) */
static const char *
name_frame (IrLowering *l, const IrNode *node)
{
  const char *output = ir_node_output (node, 0) != NULL ? node->outputs[0]->name : "loop",
             *name = *node->name != '\0' ? node->name : output;
  char *unique = NULL;

  if (l->frames == NULL)
    note_frames (l);
  unique = g_strdup (g_hash_table_contains (l->frames, name) ? output : name);
  for (guint i = 2; g_hash_table_contains (l->frames, unique); i++)
    {
      g_free (unique);
      unique = g_strdup_printf ("%s_%u", name, i);
    }
  g_hash_table_add (l->frames, unique);
  return unique;
}

static gboolean
lower_into (IrLowerConstruct *c, const IrLowerForm *form)
{
  IrLowering *l = c->l;
  g_autoptr (GPtrArray) captures = g_ptr_array_new (), collected = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) variables = g_array_new (FALSE, TRUE, sizeof (Variable));
  Loop loop = { .c = c, .form = form, .frame = name_frame (l, c->node), .variables = variables };

  ir_lower_find_captures (l, form->body, c->graph, captures, seen);
  g_autoptr (GPtrArray) results = loop.results = ir_lower_take_outputs (l, form->body);
  for (guint i = 0; i < results->len; i++)
    g_ptr_array_add (collected, results->pdata[i]);
  IrValue *limit = ir_lower_add_limit (c, form);
  add_variables (&loop);
  ir_lower_keep_around (c, variable_at (&loop, 0)->merge->inputs[0]->producer);
  IrValue *predicate = add_condition (&loop, limit);
  bring_invariants (&loop, captures);
  add_switches (&loop, predicate);
  bring_items (&loop);
  IrValue *number = inside (&loop, 0);
  IrNode *pivot = ir_lower_add_node (c, "Identity", NULL, 1, &number, 1, number->type);
  ir_lower_move_in (c, form->body, pivot);
  close_variables (&loop, pivot);
  ir_lower_drop_unread (c, pivot);
  return give_out (&loop, collected);
}

void
ir_lower_loop (IrLowering *l, IrNode *node, const char *rule)
{
  IrLowerForm form;
  const char *why = ir_lower_find_form (l, node, &form);
  IrLowerConstruct c;

  if (why != NULL)
    ir_lower_refuse (l, rule, node, why);
  else if (ir_lower_begin (&c, l, rule, node))
    ir_lower_end (&c, rule, lower_into (&c, &form) ? NULL : IR_LOWER_LESS_KNOWN);
}
